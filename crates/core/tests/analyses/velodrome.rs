//! Velodrome against the definition of serializability, on random runs.

use crate::support::oracle::Serializability;
use crate::support::random::{build, choices, config, shapes, shapes_with_atomics};
use keirin_core::analysis::Analysis;
use keirin_core::analysis::velodrome::graph::{Graph, GraphOptions};
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::analysis::velodrome::{Order, Velodrome};
use keirin_core::event::Event;
use keirin_core::finding::{Cycle, Evidence, RawFinding};
use keirin_core::replay::{Replay, ReplayOptions};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

fn cycle(finding: &RawFinding) -> &Cycle {
    let Evidence::Cycle(cycle) = &finding.evidence else { panic!("no cycle: {finding:?}") };
    cycle
}

/// For each event the finding that was reported at it. Sites and labels are unique, so each report is a new finding.
fn reports<A: Analysis>(analysis: &A, events: &[Event]) -> Vec<Option<RawFinding>> {
    let mut replay = Replay::new(analysis, ReplayOptions::default());
    events
        .iter()
        .enumerate()
        .map(|(index, event)| {
            let known = replay.findings().list().len();
            replay.event(index as u64 + 1, event).expect("random runs are well-formed");
            let list = replay.findings().list();
            // An access over several cells may tell several cycles; the most blaming one is looked at.
            list[known..].iter().max_by_key(|finding| cycle(finding).refuted.len()).cloned()
        })
        .collect()
}

/// The first report is where the definition says; later ones are on cycles; blame is right, and complete if `exact`.
fn check<O: Order>(order: O, events: &[Event], exact: bool) -> Result<(), TestCaseError> {
    let oracle = Serializability::new(events);
    let reports = reports(&Velodrome::new(order), events);
    prop_assert_eq!(reports.iter().position(Option::is_some), oracle.first_violation(), "first report");

    let mut refuted = BTreeSet::new();
    let mut refuted_by_definition = BTreeSet::new();
    for (index, report) in reports.iter().enumerate() {
        refuted_by_definition.extend(oracle.refuted_at(index));
        let Some(finding) = report else {
            if exact {
                prop_assert_eq!(&refuted, &refuted_by_definition, "blame at event {}", index);
            }
            continue;
        };
        let cycle = cycle(finding);
        prop_assert!(
            oracle.on_cycle(index).contains(&oracle.transaction_of(index)),
            "event {} is on no cycle",
            index
        );
        prop_assert_eq!(cycle.blamed, !cycle.refuted.is_empty());
        refuted.extend(cycle.refuted.iter().map(|block| block.region.0));
        prop_assert!(refuted.is_subset(&refuted_by_definition), "wrong blame at event {}", index);
        if exact {
            prop_assert_eq!(&refuted, &refuted_by_definition, "blame at event {}", index);
            check_path(&oracle, finding, index)?;
        }
    }
    Ok(())
}

/// The edges of a cycle are conflicts, they hang together, and the last one ends at the reported operation.
fn check_path(oracle: &Serializability, finding: &RawFinding, index: usize) -> Result<(), TestCaseError> {
    let cycle = cycle(finding);
    let event = |step: usize| finding.steps[step].moment.position as usize - 1;
    let thread = |step: usize| finding.steps[step].moment.thread;
    let last = cycle.edges.last().expect("a cycle has edges");
    prop_assert_eq!(event(last.to), index);
    for edge in &cycle.edges {
        prop_assert!(event(edge.from) < event(edge.to));
        prop_assert!(oracle.conflict(event(edge.from), event(edge.to)), "edge is no conflict");
        prop_assert!(thread(edge.from) != thread(edge.to));
    }
    for (edge, next) in cycle.edges.iter().zip(cycle.edges.iter().cycle().skip(1)) {
        prop_assert_eq!(thread(edge.to), thread(next.from), "the cycle is interrupted");
        let (entered, left) = (event(edge.to), event(next.from));
        let in_order = entered <= left;
        prop_assert!(
            in_order || oracle.transaction_of(entered) == oracle.transaction_of(left),
            "a thread is left before it was entered, by another transaction"
        );
        let closing = edge.to == last.to;
        prop_assert!(in_order || closing || !cycle.blamed, "blame by a cycle that is not increasing");
    }
    prop_assert!(finding.steps.windows(2).all(|pair| pair[0].moment.position < pair[1].moment.position));
    for transaction in &cycle.transactions {
        let members: BTreeSet<usize> =
            transaction.steps.iter().map(|&step| oracle.transaction_of(event(step))).collect();
        prop_assert_eq!(members.len(), 1, "steps of one transaction belong to several");
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn reach_follows_the_definition(shape in shapes(), choices in choices(5..60)) {
        check(Reach::default(), &build(shape, &choices), true)?;
    }

    #[test]
    fn reach_follows_the_definition_on_long_runs_of_two_threads(choices in choices(60..160)) {
        let shape = crate::support::random::Shape {
            threads: 2, variables: 2, locks: 1, synchronization: false, overlapping: false, atomics: false,
        };
        check(Reach::default(), &build(shape, &choices), true)?;
    }

    #[test]
    fn reach_follows_the_definition_with_many_threads_and_atomics(
        shape in shapes_with_atomics(5..65),
        choices in choices(10..120),
    ) {
        check(Reach::default(), &build(shape, &choices), true)?;
    }

    #[test]
    fn graph_follows_the_definition(shape in shapes(), choices in choices(5..60)) {
        check(Graph::default(), &build(shape, &choices), false)?;
    }

    #[test]
    fn graph_without_merging_follows_the_definition(shape in shapes(), choices in choices(5..60)) {
        check(Graph::new(GraphOptions { merge: false, collect: true }), &build(shape, &choices), false)?;
    }

    #[test]
    fn graph_without_collection_follows_the_definition(shape in shapes(), choices in choices(5..60)) {
        check(Graph::new(GraphOptions { merge: true, collect: false }), &build(shape, &choices), false)?;
        check(Graph::new(GraphOptions { merge: false, collect: false }), &build(shape, &choices), false)?;
    }

    /// A run that is cut anywhere, with transactions open, is judged as it stands.
    #[test]
    fn runs_cut_while_transactions_are_open(shape in shapes(), choices in choices(5..50), cut in 0.0..1.0f64) {
        let events = build(shape, &choices);
        let events = &events[..(events.len() as f64 * cut) as usize];
        check(Reach::default(), events, true)?;
        check(Graph::default(), events, false)?;
    }
}

/// A comparison on random runs says little if they are all of one kind.
#[test]
fn random_runs_are_of_all_kinds() {
    let mut runner = TestRunner::deterministic();
    let (mut clean, mut blamed, mut blameless) = (0, 0, 0);
    for _ in 0..2_000 {
        let shape = shapes().new_tree(&mut runner).unwrap().current();
        let choices = choices(5..60).new_tree(&mut runner).unwrap().current();
        let first =
            reports(&Velodrome::new(Reach::default()), &build(shape, &choices)).into_iter().flatten().next();
        match first {
            None => clean += 1,
            Some(finding) if cycle(&finding).blamed => blamed += 1,
            Some(_) => blameless += 1,
        }
    }
    assert!(
        clean > 400 && blamed > 400 && blameless > 20,
        "{clean} clean, {blamed} blamed, {blameless} blameless"
    );
}
