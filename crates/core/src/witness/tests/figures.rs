//! PTRacer's figure 7: the formula of the run of figure 6.

use super::super::question::{Asked, Care, Question, Writes, schedule};
use super::super::recording::{Place, Recording};
use super::super::search::Goal;
use super::super::validate::Validator;
use crate::diagnose::solver::Limits;
use crate::diagnose::{Decision, Formula};
use crate::event::{AccessKind, Addr, FormulaId, LockId, LockMode, Op, SiteId, StackId, TaskId, ThreadId};
use crate::finding::{Moment, RawStep};
use crate::tasks::Actor;
use std::rc::Rc;

const X: u64 = 0x10;
const Y: u64 = 0x20;
const C: u64 = 0x30;

/// Tells what the tasks do, in the order of figure 6.
struct Teller {
    recording: Recording,
    position: u64,
}

impl Teller {
    fn tell(&mut self, task: u32, op: Op) {
        self.position += 1;
        let moment = Moment {
            position: self.position,
            thread: ThreadId(task),
            site: SiteId(self.position as u32),
            stack: StackId::NONE,
        };
        let actor = if task == 1 { Actor::Thread(ThreadId(1)) } else { Actor::Task(TaskId(task)) };
        match op {
            Op::OtherPath { .. } => drop(self.recording.possible_access(&RawStep { moment, op }, actor)),
            _ => self.recording.record(&RawStep { moment, op }, actor),
        }
    }

    fn access(&mut self, task: u32, kind: AccessKind, addr: u64, bits: u64) {
        self.tell(task, Op::Access { kind, size: 8, addr: Addr(addr) });
        self.tell(task, Op::Value { bits });
    }
}

/// The run of figure 6. `set` is what C is at first.
fn figure_6(set: u64) -> Recording {
    use AccessKind::{Read, Write};
    let mut recording = Recording::default();
    recording.records_all = true;
    let mut teller = Teller { recording, position: 0 };
    let (lock, mode) = (LockId(1), LockMode::Exclusive);
    teller.access(1, Write, X, 0);
    teller.access(1, Write, Y, 0);
    teller.access(1, Write, C, set);
    teller.tell(1, Op::Spawn { task: TaskId(2) });
    teller.tell(1, Op::Spawn { task: TaskId(3) });
    teller.tell(3, Op::Acquire { lock, mode });
    teller.access(3, Write, C, 1);
    teller.access(3, Read, X, 0);
    teller.access(3, Write, Y, 1);
    teller.tell(3, Op::Release { lock, mode });
    teller.tell(2, Op::Acquire { lock, mode });
    teller.access(2, Read, C, 1);
    teller.tell(2, Op::Release { lock, mode });
    teller.tell(2, Op::Branch { taken: true });
    teller.tell(2, Op::Operand { back: 1 });
    teller.tell(2, Op::Formula { formula: FormulaId(0) });
    teller.tell(2, Op::OtherPath { kind: Read, size: 8, addr: Addr(X) });
    teller.tell(2, Op::OtherPath { kind: Write, size: 8, addr: Addr(Y) });
    teller.tell(2, Op::Acquire { lock, mode });
    teller.access(2, Read, X, 0);
    teller.access(2, Write, Y, u64::MAX);
    teller.tell(2, Op::Release { lock, mode });
    teller.tell(1, Op::TaskWait);
    teller.recording
}

/// The operation of a task, or of the side of one, that touches memory in this way for the last time.
fn last(recording: &Recording, possible: bool, task: u32, op: Op) -> Place {
    let mut found = None;
    for (actor, record) in (0..).zip(&recording.actors) {
        let whose = record.actor == Actor::Task(TaskId(task)) && record.side_of.is_some() == possible;
        for (index, operation) in (0..).zip(&record.operations) {
            if whose && operation.step.op == op {
                found = Some(Place { actor, index });
            }
        }
    }
    found.expect("it is there")
}

fn decide(set: u64) -> (String, Decision, Option<bool>) {
    let recording = figure_6(set);
    let formulas = vec![Some(Rc::new(Formula::parse("eq $1 1").expect("a formula")))];
    let write = |kind| Op::Access { kind, size: 8, addr: Addr(Y) };
    let one = last(&recording, false, 3, write(AccessKind::Write));
    let other = last(&recording, true, 2, Op::OtherPath { kind: AccessKind::Write, size: 8, addr: Addr(Y) });
    let goal = Goal::Both(one, other);
    let writes = Writes::new(&recording, None);
    let Asked::Question(question) = Question::ask(&recording, &formulas, &writes, Care::Branches, &goal)
    else {
        panic!("there is something to ask");
    };
    let (problem, places, branches) = *question;
    assert!(branches);
    let (decision, _) = problem.decide(Limits { work: 1_000_000, until: None });
    let valid = match &decision {
        Decision::Feasible(events) => {
            let schedule = schedule(&goal, &places, events);
            Some(Validator::new(&recording, None).is_valid(&goal, &schedule, Care::Branches, &formulas))
        }
        _ => None,
    };
    (problem.smtlib(true), decision, valid)
}

#[test]
fn the_formula_of_figure_7() {
    let (text, decision, valid) = decide(0);
    // One value: C at statement 2 of T2 (t is the same). It is false as T1 wrote it, or true as T3 did.
    assert_eq!(text.matches("(declare-const r").count(), 1, "{text}");
    assert_eq!(text.matches("(= r0 #x0000000000000000)))").count(), 1, "{text}");
    assert_eq!(text.matches("(= r0 #x0000000000000001)))").count(), 1, "{text}");
    // The branch is negated.
    assert!(text.contains("(assert (= (ite (= r0 #x0000000000000001) #x0000000000000001"), "{text}");
    assert!(matches!(decision, Decision::Feasible(_)), "{decision:?}");
    assert_eq!(valid, Some(true));
}

#[test]
fn the_formula_of_figure_7_without_a_schedule() {
    let (_, decision, _) = decide(1);
    assert_eq!(decision, Decision::Infeasible);
}
