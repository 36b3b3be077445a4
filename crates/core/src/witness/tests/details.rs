//! Windows, lineages, bytes, lives of memory and limits.

use super::super::{Examination, Examine};
use super::program::Program;
use super::{RACES, STEPS};
use crate::analysis::tasks::Flagged;
use crate::event::{AccessKind, Addr, Event, LockId, LockMode, Op, SiteId, TaskId, ThreadId};
use crate::finding::{Doubt, RawFinding, Rule, Verdict};
use crate::replay::tasks::{TaskOptions, TaskReplay};
use crate::replay::{Pass, ReplayOptions};
use crate::sptree::ranks::Ranks;
use crate::tasks::Actor;
use crate::trace::Batch;

const LIMITS: [u64; 2] = [Examination::WORK, Examination::TOTAL_WORK];

fn findings(events: &[Event], flagged: &[(u64, u32)], what: Examine, limits: [u64; 2]) -> Vec<RawFinding> {
    let mut all = Flagged::default();
    for (addr, size) in flagged {
        all.add(Addr(*addr), *size, Rule::DataRace);
        all.add(Addr(*addr), *size, Rule::AtomicityViolation);
    }
    let [work, total] = limits;
    let examination = Examination::with_limits(&all, what, work, total);
    let mut replay: TaskReplay<'_, _, Ranks> =
        TaskReplay::new(&examination, "witness", ReplayOptions::default(), TaskOptions::default());
    let mut batch = Batch::new();
    batch.extend(1, events);
    replay.batch(&batch, u64::MAX).expect("a run that can happen");
    replay.finish().findings
}

/// Events of tasks, each on a thread of its own; places are numbered.
#[derive(Default)]
struct Trace(Vec<Event>);

impl Trace {
    fn op(&mut self, task: u32, op: Op) -> &mut Self {
        let site = SiteId(self.0.len() as u32);
        self.at(task, site.0, op)
    }

    fn at(&mut self, task: u32, site: u32, op: Op) -> &mut Self {
        self.0.push(Event { thread: ThreadId(task), site: SiteId(site), op });
        self
    }

    fn spawn(&mut self, by: u32, task: u32) -> &mut Self {
        self.op(by, Op::Spawn { task: TaskId(task) }).op(task, Op::TaskBegin { task: TaskId(task) })
    }

    fn end(&mut self, task: u32) -> &mut Self {
        self.op(task, Op::TaskEnd { task: TaskId(task) })
    }

    fn write(&mut self, task: u32, addr: u64, size: u32) -> &mut Self {
        self.op(task, Op::Access { kind: AccessKind::Write, size, addr: Addr(addr) })
    }
}

#[test]
fn a_window_ends_where_nothing_else_is_left() {
    let program = Program::parse("async{Wx} sync +L async{Ry} sync async{+M Wx -M} +M -M Wx -L");
    let events = program.observe(0).expect("no deadlock");
    let addr = u64::from(b'x') * 8;
    let list = findings(&events, &[(addr, 8)], RACES, LIMITS);
    let [race] = &list[..] else { panic!("{list:?}") };
    let last_wait = events.iter().rposition(|event| event.op == Op::TaskWait).expect("there is one");
    match &race.verdict {
        Verdict::OtherSchedule { witness: Some(witness) } => {
            assert_eq!(witness.as_observed_until, last_wait as u64 + 1)
        }
        Verdict::Observed => {}
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn lineages_lead_from_the_common_task_to_those_that_did_it() {
    let program = Program::parse("async{Rx} sync async{async{Wx} async{async{Rx} sync}} sync");
    let addr = u64::from(b'x') * 8;
    for seed in 0..8 {
        let events = program.observe(seed).expect("no deadlock");
        let list = findings(&events, &[(addr, 8)], RACES, LIMITS);
        let [race] = &list[..] else { panic!("{list:?}") };
        let lineage = race.lineage.as_ref().expect("tasks did it");
        assert_eq!(lineage.common.actor, Actor::Task(TaskId(2)));
        for (step, path) in race.steps.iter().zip(&lineage.paths) {
            let tasks: Vec<Actor> = path.iter().map(|task| task.actor).collect();
            let expected: &[u32] = match step.op {
                Op::Access { kind: AccessKind::Write, .. } => &[3],
                _ => &[4, 5],
            };
            assert_eq!(tasks, expected.iter().map(|task| Actor::Task(TaskId(*task))).collect::<Vec<_>>());
            for task in path {
                let Actor::Task(id) = task.actor else { panic!("a task") };
                let spawn = events[task.spawned.position as usize - 1].op;
                assert_eq!(spawn, Op::Spawn { task: id });
            }
        }
    }
}

#[test]
fn only_common_bytes_count() {
    let mut trace = Trace::default();
    trace.op(0, Op::Spawn { task: TaskId(1) });
    trace.op(1, Op::TaskBegin { task: TaskId(1) }).write(1, 64, 4).write(1, 68, 4).end(1);
    // Two writes of different halves, and one across both: there is a race with each, but nothing is torn.
    trace.write(0, 64, 8);
    let list = findings(&trace.0, &[(64, 8)], RACES, LIMITS);
    assert_eq!(list.len(), 2);
    assert!(findings(&trace.0, &[(64, 8)], STEPS, LIMITS).is_empty());
    // What is not flagged is not looked at.
    assert_eq!(findings(&trace.0, &[(68, 2)], RACES, LIMITS).len(), 1);
    assert!(findings(&trace.0, &[(72, 8)], RACES, LIMITS).is_empty());
}

#[test]
fn memory_that_is_handed_out_again_is_other_memory() {
    let mut trace = Trace::default();
    trace.spawn(0, 1).write(1, 64, 8).op(1, Op::Free { size: 8, addr: Addr(64) }).end(1);
    trace.op(0, Op::Alloc { size: 8, addr: Addr(64) }).write(0, 64, 8);
    assert!(findings(&trace.0, &[(64, 8)], RACES, LIMITS).is_empty());
}

#[test]
fn a_task_number_can_be_used_again() {
    let mut trace = Trace::default();
    trace.spawn(0, 9);
    trace.spawn(9, 1).write(1, 64, 8).end(1).op(9, Op::TaskWait);
    trace.spawn(9, 1).write(1, 64, 8).end(1).op(9, Op::TaskWait).end(9);
    trace.write(0, 64, 8);
    assert_eq!(findings(&trace.0, &[(64, 8)], RACES, LIMITS).len(), 2);
}

#[test]
fn one_long_loop_leaves_room_for_others() {
    let mut trace = Trace::default();
    let (lock, mode) = (LockId(0), LockMode::Exclusive);
    for task in 1..=4 {
        trace.op(0, Op::Spawn { task: TaskId(task) });
    }
    for task in 1..=4 {
        trace.op(task, Op::TaskBegin { task: TaskId(task) });
        for _ in 0..3000 {
            trace.at(task, 1, Op::Acquire { lock, mode });
            trace.at(task, 2, Op::Access { kind: AccessKind::Write, size: 8, addr: Addr(64) });
            trace.at(task, 3, Op::Release { lock, mode });
        }
        trace.end(task);
    }
    let list = findings(&trace.0, &[(64, 8)], STEPS, LIMITS);
    assert_eq!(list.len(), 1);
    assert!(matches!(list[0].verdict, Verdict::OtherSchedule { .. }));
}

#[test]
fn searches_are_given_up_at_their_limits() {
    let program = Program::parse("async{+L +M -M Wx -L} async{+M +L -L Wx -M}");
    let events = program.observe(0).expect("no deadlock");
    let addr = u64::from(b'x') * 8;
    let verdict = |limits| {
        let list = findings(&events, &[(addr, 8)], RACES, limits);
        assert_eq!(list.len(), 1);
        list[0].verdict.clone()
    };
    assert_eq!(verdict(LIMITS), Verdict::Suspected(Doubt::LocksForbid));
    assert_eq!(verdict([1, LIMITS[1]]), Verdict::Suspected(Doubt::SearchGivenUp));
    assert_eq!(verdict([LIMITS[0], 0]), Verdict::Suspected(Doubt::SearchGivenUp));
}
