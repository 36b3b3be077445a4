//! Eraser against its definition, on random runs.

use crate::support::locking::{Locking, Locks, busy_choices};
use crate::support::random::{build, choices, shapes};
use keirin_core::analysis::eraser::Eraser;
use keirin_core::event::Event;
use keirin_core::finding::{Doubt, Evidence, Rule, Verdict};
use keirin_core::generate::{Family, Generator, Plan};
use keirin_core::replay::{Replay, ReplayOptions, replay};
use proptest::prelude::*;
use proptest::test_runner::Config;
use std::collections::BTreeSet;

fn config() -> Config {
    let cases = std::env::var("KEIRIN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6_000);
    Config { cases, ..Config::default() }
}

/// At each event exactly the locations that lose their last lock are reported, with the right accesses and locks.
fn check(events: &[Event]) -> Result<(), TestCaseError> {
    let oracle = Locking::new(events, false);
    let eraser = Eraser::new();
    let mut replay = Replay::new(&eraser, ReplayOptions::default());
    for (index, event) in events.iter().enumerate() {
        let known = replay.findings().list().len();
        replay.event(index as u64 + 1, event).expect("random runs are well-formed");
        let mut reported = BTreeSet::new();
        for finding in &replay.findings().list()[known..] {
            prop_assert_eq!(finding.rule, Rule::InconsistentLocking);
            prop_assert_eq!(&finding.verdict, &Verdict::Suspected(Doubt::Heuristic));
            let [earlier, current] = finding.steps[..] else { panic!("two steps: {finding:?}") };
            prop_assert_eq!(current.moment.position, index as u64 + 1);
            let earlier_index = earlier.moment.position as usize - 1;
            prop_assert_eq!(earlier.moment.thread, events[earlier_index].thread);
            prop_assert_eq!(earlier.moment.site, events[earlier_index].site);
            prop_assert!(reported.insert(earlier_index), "each finding is new");
            let Evidence::Locking(locking) = &finding.evidence else { panic!("no locking: {finding:?}") };
            let held: Vec<Locks> = locking.held.iter().map(|locks| locks.iter().copied().collect()).collect();
            prop_assert_eq!(held, vec![oracle.held(earlier_index), oracle.held(index)]);
        }
        prop_assert_eq!(reported, oracle.lost_at(index), "event {}", index);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn eraser_follows_the_definition(shape in shapes(), choices in choices(5..60)) {
        check(&build(shape, &choices))?;
    }

    #[test]
    fn eraser_follows_the_definition_when_locks_are_taken_often(shape in shapes(), choices in busy_choices(2..20)) {
        check(&build(shape, &choices))?;
    }
}

/// In the generated runs every variable has a lock of its own.
#[test]
fn a_run_that_locks_consistently_is_quiet() {
    for family in [Family::FewThreads, Family::ManyThreads, Family::Mixed] {
        for seed in 0..4 {
            let plan = Plan { events: 50_000, seed, ..Plan::new(family) };
            let mut generator = Generator::new(plan).unwrap();
            let outcome = replay(&mut generator, &Eraser::new(), ReplayOptions::default(), |_| {}).unwrap();
            assert!(outcome.findings.is_empty(), "{family} {seed}: {:?}", outcome.findings[0]);
        }
    }
}
