//! AeroDrome against the definition of serializability, on random runs: the same verdict, though perhaps later.

use crate::support::oracle::Serializability;
use crate::support::random::{Shape, build, choices, config, shapes, shapes_with_atomics};
use keirin_core::analysis::aerodrome::AeroDrome;
use keirin_core::event::Event;
use keirin_core::replay::{Replay, ReplayOptions};
use proptest::prelude::*;

fn check(events: &[Event]) -> Result<(), TestCaseError> {
    let first = Serializability::new(events).first_violation();
    let analysis = AeroDrome::new();
    let mut replay = Replay::new(&analysis, ReplayOptions::default());
    for (index, event) in events.iter().enumerate() {
        replay.event(index as u64 + 1, event).expect("random runs are well-formed");
    }
    replay.finish();
    let noticed = analysis.violation().map(|moment| moment.position as usize - 1);
    prop_assert_eq!(
        noticed.is_some(),
        first.is_some(),
        "verdict: definition {:?}, noticed {:?}",
        first,
        noticed
    );
    prop_assert!(noticed >= first, "noticed at {:?}, before the first violation at {:?}", noticed, first);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_verdict_follows_the_definition(shape in shapes(), choices in choices(5..60)) {
        check(&build(shape, &choices))?;
    }

    #[test]
    fn the_verdict_follows_the_definition_on_long_runs_of_three_threads(choices in choices(40..120)) {
        let shape =
            Shape { threads: 3, variables: 3, locks: 2, synchronization: false, overlapping: false, atomics: false };
        check(&build(shape, &choices))?;
    }

    #[test]
    fn the_verdict_follows_the_definition_with_many_threads_and_atomics(
        shape in shapes_with_atomics(5..65),
        choices in choices(10..120),
    ) {
        check(&build(shape, &choices))?;
    }

    #[test]
    fn runs_cut_while_transactions_are_open(shape in shapes(), choices in choices(5..50), cut in 0.0..1.0f64) {
        let events = build(shape, &choices);
        check(&events[..(events.len() as f64 * cut) as usize])?;
    }
}
