//! Atomizer against its definition, on random runs.

use crate::support::locking::{Locking, busy_choices};
use crate::support::random::{build, choices, shapes};
use keirin_core::analysis::atomizer::Atomizer;
use keirin_core::event::Event;
use keirin_core::finding::{Doubt, Evidence, Rule, Verdict};
use keirin_core::generate::{Family, Generator, Plan};
use keirin_core::replay::{Replay, ReplayOptions, replay};
use proptest::prelude::*;
use proptest::test_runner::Config;

fn config() -> Config {
    let cases = std::env::var("KEIRIN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6_000);
    Config { cases, ..Config::default() }
}

/// At each event exactly the blocks are refuted whose word stops being reducible there.
fn check(events: &[Event]) -> Result<(), TestCaseError> {
    let expected = Locking::new(events, true).irreducible();
    let atomizer = Atomizer::new();
    let mut replay = Replay::new(&atomizer, ReplayOptions::default());
    for (index, event) in events.iter().enumerate() {
        let known = replay.findings().list().len();
        replay.event(index as u64 + 1, event).expect("random runs are well-formed");
        let new = &replay.findings().list()[known..];
        let Some((commit_index, labels)) = expected.get(&index) else {
            prop_assert!(new.is_empty(), "event {}: {:?}", index, new);
            continue;
        };
        let [finding] = new else { panic!("one finding at event {index}: {new:?}") };
        prop_assert_eq!(finding.rule, Rule::IrreducibleBlock);
        prop_assert_eq!(&finding.verdict, &Verdict::Suspected(Doubt::Heuristic));
        let Evidence::Reduction(reduction) = &finding.evidence else { panic!("no reduction: {finding:?}") };
        let refuted: Vec<u32> = reduction.blocks.iter().map(|block| block.region.0).collect();
        prop_assert_eq!(&refuted, labels, "event {}", index);
        let (commit, broken) = (finding.steps[reduction.commit], finding.steps[reduction.broken]);
        prop_assert_eq!(commit.moment.position as usize - 1, *commit_index, "event {}", index);
        prop_assert_eq!(commit.op, events[*commit_index].op);
        prop_assert_eq!(broken.moment.position as usize - 1, index);
        prop_assert_eq!(broken.op, event.op);
        prop_assert!(reduction.blocks.iter().all(|block| block.begin.position < commit.moment.position));
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn atomizer_follows_the_definition(shape in shapes(), choices in choices(5..60)) {
        check(&build(shape, &choices))?;
    }

    #[test]
    fn atomizer_follows_the_definition_when_locks_are_taken_often(
        shape in shapes(),
        choices in busy_choices(2..20),
    ) {
        check(&build(shape, &choices))?;
    }
}

/// The generated runs lock in two phases.
#[test]
fn a_run_that_locks_in_two_phases_is_quiet() {
    for family in [Family::FewThreads, Family::ManyThreads, Family::Mixed] {
        for seed in 0..4 {
            let plan = Plan { events: 50_000, seed, ..Plan::new(family) };
            let mut generator = Generator::new(plan).unwrap();
            let outcome = replay(&mut generator, &Atomizer::new(), ReplayOptions::default(), |_| {}).unwrap();
            assert!(outcome.findings.is_empty(), "{family} {seed}: {:?}", outcome.findings[0]);
        }
    }
}
