//! FastTrack against the definition of a race, on random runs.
//!
//! `KEIRIN_CASES` sets the number of runs for each property (the long mode of `./test` does).

use crate::support::races::Races;
use crate::support::random::{Shape, build, choices, shapes_with_atomics};
use keirin_core::analysis::fasttrack::{Cell, Compact, Exact, FastTrack, Remembered, Sync, Thread};
use keirin_core::analysis::{Analysis, AtomicOperation, Part};
use keirin_core::event::*;
use keirin_core::finding::{Evidence, Findings, Race, RawFinding, RawStep, Verdict};
use keirin_core::replay::{Replay, ReplayOptions};
use proptest::prelude::*;
use proptest::test_runner::Config;
use std::collections::{BTreeMap, BTreeSet};

fn config() -> Config {
    let cases = std::env::var("KEIRIN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6_000);
    Config { cases, ..Config::default() }
}

fn findings<A: Analysis>(analysis: &A, events: &[Event]) -> Vec<RawFinding> {
    let mut replay = Replay::new(analysis, ReplayOptions::default());
    for (index, event) in events.iter().enumerate() {
        replay.event(index as u64 + 1, event).expect("random runs are well-formed");
    }
    replay.finish().findings
}

/// The same, but the position is the thread's own time, which grows only after an operation that publishes.
fn findings_of_sparse_times<A: Analysis>(analysis: &A, events: &[Event]) -> Vec<RawFinding> {
    let mut times: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let mut replay = Replay::new(analysis, ReplayOptions::default());
    for event in events {
        let time = times.entry(event.thread).or_insert(1);
        replay.event(*time, event).expect("random runs are well-formed");
        *time += u64::from(match event.op {
            Op::Release { .. } | Op::Fork { .. } => true,
            Op::Notify { .. } | Op::HappensBefore { .. } | Op::BarrierArrive { .. } => true,
            Op::Fence { order } => order.releases(),
            Op::Atomic { kind, order, .. } => kind != AtomicKind::Load && order.releases(),
            _ => false,
        });
    }
    replay.finish().findings
}

/// Every report is a race and shows it exactly; the first race of the run, and of each byte, is reported.
fn check(events: &[Event]) -> Result<(), TestCaseError> {
    let oracle = Races::new(events);
    let findings = findings(&FastTrack::exact(), events);
    let index = |finding: &RawFinding, step: usize| finding.steps[step].moment.position as usize - 1;
    prop_assert_eq!(findings.first().map(|finding| index(finding, 1)), oracle.first(), "first report");

    let mut reported: BTreeSet<(u64, usize)> = BTreeSet::new();
    for finding in &findings {
        let (earlier, later) = (index(finding, 0), index(finding, 1));
        prop_assert!(oracle.is_race(earlier, later), "{} and {} are no race", earlier, later);
        prop_assert_eq!(&finding.verdict, &Verdict::Observed);
        prop_assert_eq!(finding.count, 1, "every pair of operations has sites of its own");
        for (step, event) in finding.steps.iter().zip([earlier, later]) {
            let event = &events[event];
            prop_assert_eq!(step.op, event.op);
            prop_assert_eq!((step.moment.thread, step.moment.site), (event.thread, event.site));
        }
        let Evidence::Race(race) = finding.evidence else { panic!("no race: {finding:?}") };
        reported.extend((race.addr.0..race.addr.0 + u64::from(race.size)).map(|byte| (byte, later)));
    }
    for (byte, first) in oracle.first_by_byte() {
        prop_assert!(reported.contains(&(byte, first)), "byte {}: no race reported at {}", byte, first);
    }
    Ok(())
}

fn event(thread: u32, site: u32, op: Op) -> Event {
    Event { thread: ThreadId(thread), site: SiteId(site), op }
}

fn access(kind: AccessKind, addr: u64, size: u32) -> Op {
    Op::Access { kind, size, addr: Addr(addr) }
}

#[test]
fn each_pair_of_sites_is_told_once_with_a_count() {
    let write = access(AccessKind::Write, 64, 8);
    let events: Vec<Event> = (0..10).map(|index| event(index % 2, index % 2, write)).collect();
    let findings = findings(&FastTrack::exact(), &events);
    let told: Vec<_> =
        findings.iter().map(|finding| (finding.steps[0].moment.site.0, finding.count)).collect();
    assert_eq!(told, [(0, 5), (1, 4)]);
}

#[test]
fn both_accesses_are_told_with_calls_and_bytes() {
    let call = |function| Op::Call { function: FunctionId(function) };
    let (copy, store) = (access(AccessKind::Read, 0x1003, 100), access(AccessKind::Write, 0x1010, 4));
    let events = [event(0, 1, call(1)), event(0, 2, copy), event(1, 3, call(2)), event(1, 4, store)];
    let findings = findings(&FastTrack::exact(), &events);
    let [finding] = findings.as_slice() else { panic!("one race: {findings:?}") };
    let [earlier, later] = finding.steps.as_slice() else { panic!("two steps: {finding:?}") };
    assert_eq!((earlier.op, later.op), (copy, store));
    assert_eq!((earlier.moment.stack, later.moment.stack), (StackId(0), StackId(1)));
    assert_eq!((earlier.moment.position, later.moment.position), (2, 4));
    assert_eq!(finding.evidence, Evidence::Race(Race { addr: Addr(0x1010), size: 4 }));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_first_race_of_each_byte_is_found(shape in shapes_with_atomics(2..6), choices in choices(5..60)) {
        check(&build(shape, &choices))?;
    }

    #[test]
    fn atomics_follow_the_memory_model(choices in choices(10..80)) {
        let shape = Shape {
            threads: 3, variables: 24, locks: 1, synchronization: false, overlapping: false, atomics: true,
        };
        check(&build(shape, &choices))?;
    }

    #[test]
    fn overlapping_atomics_follow_the_memory_model(choices in choices(10..60)) {
        let shape = Shape {
            threads: 3, variables: 8, locks: 1, synchronization: true, overlapping: true, atomics: true,
        };
        check(&build(shape, &choices))?;
    }

    #[test]
    fn many_threads(shape in shapes_with_atomics(5..65), choices in choices(40..160)) {
        check(&build(shape, &choices))?;
    }

    /// Two analyses in one pass say what each says alone.
    #[test]
    fn together_with_itself(shape in shapes_with_atomics(2..6), choices in choices(5..60)) {
        let events = build(shape, &choices);
        prop_assert_eq!(findings(&(FastTrack::exact(), FastTrack::exact()), &events), findings(&FastTrack::exact(), &events));
    }

    #[test]
    fn the_fast_path_skips_only_what_changes_nothing(
        shape in shapes_with_atomics(2..6),
        choices in choices(5..80),
    ) {
        let events = build(shape, &choices);
        findings(&Watched(FastTrack::exact()), &events);
        findings_of_sparse_times(&Watched(FastTrack::compact()), &events);
    }

    /// One word for each access, and times that grow only where something is published, make no difference.
    #[test]
    fn compact_accesses_tell_the_same_races(
        shape in shapes_with_atomics(2..8),
        choices in choices(5..100),
    ) {
        let events = build(shape, &choices);
        let told = |findings: Vec<RawFinding>| -> Vec<_> {
            let step = |step: &RawStep| (step.moment.thread, step.moment.site);
            let steps = |finding: &RawFinding| finding.steps.iter().map(step).collect::<Vec<_>>();
            findings.iter().map(|finding| (finding.rule, finding.count, steps(finding))).collect()
        };
        let exact = told(findings(&FastTrack::exact(), &events));
        prop_assert_eq!(&told(findings_of_sparse_times(&FastTrack::exact(), &events)), &exact);
        prop_assert_eq!(&told(findings_of_sparse_times(&FastTrack::compact(), &events)), &exact);
    }
}

/// FastTrack that asks the fast path but always takes the slow one, and compares.
struct Watched<R: Remembered>(FastTrack<R>);

/// What holds for each cell.
trait Checked: Remembered {
    fn check(cell: &Cell<Self>);
}

impl Checked for Exact {
    fn check(_: &Cell<Self>) {}
}

impl Checked for Compact {
    fn check(cell: &Cell<Self>) {
        if let Some(words) = cell.plain() {
            assert_eq!(&Cell::from_plain(words), cell);
            assert_eq!(words == [0, 0], *cell == Cell::default());
        }
    }
}

impl<R: Checked> Watched<R> {
    fn unchanged(before: &(Cell<R>, Thread, usize), cell: &Cell<R>, thread: &Thread, findings: &Findings) {
        let count = findings.list().iter().map(|finding| finding.count as usize).sum::<usize>();
        assert_eq!((&before.0, &before.1, before.2), (cell, thread, count));
    }
}

impl<R: Checked> Analysis for Watched<R> {
    type Thread = Thread;
    type Cell = Cell<R>;
    type Sync = Sync;

    fn access(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell<R>,
        part: Part,
        findings: &mut Findings,
    ) {
        let count = findings.list().iter().map(|finding| finding.count as usize).sum();
        let before = (cell.clone(), thread.clone(), count);
        let fast = self.0.nothing_to_do(at, thread, cell, part);
        self.0.access(at, thread, cell, part, findings);
        R::check(cell);
        if fast {
            Self::unchanged(&before, cell, thread, findings);
        }
    }

    fn before_atomic_parts(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell<R>,
        operation: AtomicOperation,
    ) {
        self.0.before_atomic_parts(at, thread, cell, operation);
    }

    fn atomic(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell<R>,
        part: Part,
        operation: AtomicOperation,
        findings: &mut Findings,
    ) {
        self.0.atomic(at, thread, cell, part, operation, findings);
    }

    fn fence(&self, at: &RawStep, thread: &mut Thread, order: MemoryOrder, findings: &mut Findings) {
        self.0.fence(at, thread, order, findings);
    }

    fn acquire(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        lock: &mut Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        self.0.acquire(at, thread, lock, mode, findings);
    }

    fn release(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        lock: &mut Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        self.0.release(at, thread, lock, mode, findings);
    }

    fn signal(&self, at: &RawStep, thread: &mut Thread, sync: &mut Sync, findings: &mut Findings) {
        self.0.signal(at, thread, sync, findings);
    }

    fn receive(&self, at: &RawStep, thread: &mut Thread, sync: &mut Sync, findings: &mut Findings) {
        self.0.receive(at, thread, sync, findings);
    }

    fn fork(&self, at: &RawStep, thread: &mut Thread, child: &mut Thread, findings: &mut Findings) {
        self.0.fork(at, thread, child, findings);
    }

    fn join(&self, at: &RawStep, thread: &mut Thread, child: &mut Thread, findings: &mut Findings) {
        self.0.join(at, thread, child, findings);
    }

    fn begin(&self, _: &RawStep, _: &mut Thread, _: RegionId, _: &mut Findings) {}

    fn end(&self, _: &RawStep, _: &mut Thread, _: &mut Findings) {}
}
