//! Any choice of analyses says what each of them says alone; and what Atomizer foresees comes true.

use crate::support::locking::busy_choices;
use crate::support::random::{build, choices, config, shapes, shapes_with_atomics};
use keirin_core::analysis::aerodrome::AeroDrome;
use keirin_core::analysis::any::Choice;
use keirin_core::analysis::atomizer::Atomizer;
use keirin_core::analysis::eraser::Eraser;
use keirin_core::analysis::fasttrack::FastTrack;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::analysis::{Analysis, AtomicOperation, Part};
use keirin_core::event::*;
use keirin_core::finding::{Findings, RawFinding, RawStep, Rule};
use keirin_core::replay::{Replay, ReplayOptions};
use proptest::prelude::*;

fn findings<A: Analysis>(analysis: &A, events: &[Event]) -> Vec<RawFinding> {
    let mut replay = Replay::new(analysis, ReplayOptions::default());
    for (index, event) in events.iter().enumerate() {
        replay.event(index as u64 + 1, event).expect("random runs are well-formed");
    }
    replay.finish().findings
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_choice_says_what_its_analyses_say(
        shape in shapes_with_atomics(2..6),
        choices in choices(5..60),
        [velodrome, aerodrome, fasttrack, eraser, atomizer] in any::<[bool; 5]>(),
    ) {
        let events = build(shape, &choices);
        let any = Choice { velodrome, aerodrome, fasttrack, eraser, atomizer }.analysis();
        let all = findings(&any, &events);
        let of_rule = |rule: Rule| -> Vec<&RawFinding> {
            all.iter().filter(|finding| finding.rule == rule).collect()
        };
        let alone = [
            (velodrome, Rule::AtomicityViolation, findings(&Velodrome::new(Reach::default()), &events)),
            (fasttrack, Rule::DataRace, findings(&FastTrack::exact(), &events)),
            (eraser, Rule::InconsistentLocking, findings(&Eraser::new(), &events)),
            (atomizer, Rule::IrreducibleBlock, findings(&Atomizer::new(), &events)),
        ];
        let mut expected = 0;
        for (wanted, rule, found) in &alone {
            let found: Vec<&RawFinding> = found.iter().filter(|_| *wanted).collect();
            prop_assert_eq!(of_rule(*rule), &found[..]);
            expected += found.len();
        }
        prop_assert_eq!(all.len(), expected);
        let verdict = AeroDrome::new();
        findings(&verdict, &events);
        prop_assert_eq!(any.wants_blame(), aerodrome && verdict.wants_blame());
    }

    #[test]
    fn what_would_break_a_block_is_known_beforehand(
        shape in shapes_with_atomics(2..6),
        choices in choices(5..80),
        [fasttrack, atomizer] in any::<[bool; 2]>(),
    ) {
        let events = build(shape, &choices);
        let told = findings(&Foreseen(Atomizer::new()), &events);
        prop_assert_eq!(told, findings(&Atomizer::new(), &events));
        findings(&Foreseen(Choice { fasttrack, atomizer, ..Choice::default() }.analysis()), &events);
    }

    #[test]
    fn what_would_break_a_block_is_known_beforehand_when_locks_are_taken_often(
        shape in shapes(),
        choices in busy_choices(2..20),
    ) {
        findings(&Foreseen(Atomizer::new()), &build(shape, &choices));
    }
}

/// Asks before each operation whether it would break a block, and compares with what is told then.
struct Foreseen<A>(A);

impl<A: Analysis> Foreseen<A> {
    /// Each operation tells its findings to an empty collection, so that none is left out as known.
    fn compare(foreseen: bool, findings: &mut Findings, tell: impl FnOnce(&mut Findings)) {
        let mut new = Findings::new();
        tell(&mut new);
        let broken = new.list().iter().any(|finding| finding.rule == Rule::IrreducibleBlock);
        assert_eq!(foreseen, broken);
        findings.merge(new);
    }
}

impl<A: Analysis> Analysis for Foreseen<A> {
    type Thread = A::Thread;
    type Cell = A::Cell;
    type Sync = A::Sync;

    fn access(
        &self,
        at: &RawStep,
        thread: &mut A::Thread,
        cell: &mut A::Cell,
        part: Part,
        findings: &mut Findings,
    ) {
        let foreseen = self.0.would_break(at, thread, cell, part);
        Self::compare(foreseen, findings, |new| self.0.access(at, thread, cell, part, new));
    }

    fn atomic(
        &self,
        at: &RawStep,
        thread: &mut A::Thread,
        cell: &mut A::Cell,
        part: Part,
        operation: AtomicOperation,
        findings: &mut Findings,
    ) {
        let foreseen = self.0.would_break(at, thread, cell, part);
        Self::compare(foreseen, findings, |new| self.0.atomic(at, thread, cell, part, operation, new));
    }

    fn acquire(
        &self,
        at: &RawStep,
        thread: &mut A::Thread,
        lock: &mut A::Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        let foreseen = self.0.would_break_waiting(at, thread);
        Self::compare(foreseen, findings, |new| self.0.acquire(at, thread, lock, mode, new));
    }

    fn release(
        &self,
        at: &RawStep,
        thread: &mut A::Thread,
        lock: &mut A::Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        Self::compare(false, findings, |new| self.0.release(at, thread, lock, mode, new));
    }

    fn signal(&self, at: &RawStep, thread: &mut A::Thread, sync: &mut A::Sync, findings: &mut Findings) {
        Self::compare(false, findings, |new| self.0.signal(at, thread, sync, new));
    }

    fn receive(&self, at: &RawStep, thread: &mut A::Thread, sync: &mut A::Sync, findings: &mut Findings) {
        let foreseen = self.0.would_break_waiting(at, thread);
        Self::compare(foreseen, findings, |new| self.0.receive(at, thread, sync, new));
    }

    fn fork(&self, at: &RawStep, thread: &mut A::Thread, child: &mut A::Thread, findings: &mut Findings) {
        Self::compare(false, findings, |new| self.0.fork(at, thread, child, new));
    }

    fn join(&self, at: &RawStep, thread: &mut A::Thread, child: &mut A::Thread, findings: &mut Findings) {
        let foreseen = self.0.would_break_waiting(at, thread);
        Self::compare(foreseen, findings, |new| self.0.join(at, thread, child, new));
    }

    fn begin(&self, at: &RawStep, thread: &mut A::Thread, region: RegionId, findings: &mut Findings) {
        Self::compare(false, findings, |new| self.0.begin(at, thread, region, new));
    }

    fn end(&self, at: &RawStep, thread: &mut A::Thread, findings: &mut Findings) {
        Self::compare(false, findings, |new| self.0.end(at, thread, new));
    }
}
