//! How long it takes to decide whether a branch can go the other way.
//!
//! A task reads a variable under a lock and branches on it; many others write it under the same lock, first another value and
//! then the old one. So the branch always goes the same way; or, in the other half of the questions, one of them forgets to put
//! the old value back, and a schedule has to be found. With ten locks nine tenths of the others take a lock of their own, and
//! write something else.

use crate::table::{Table, count, seconds};
use keirin_core::analysis::tasks::Flagged;
use keirin_core::diagnose::Formula;
use keirin_core::event::{
    AccessKind, Addr, Event, FormulaId, LockId, LockMode, Op, SiteId, TaskId, ThreadId,
};
use keirin_core::finding::{Doubt, Rule, Verdict};
use keirin_core::replay::ReplayOptions;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::sptree::ranks::Ranks;
use keirin_core::witness::{Diagnosis, Examination, Examine};
use std::time::{Duration, Instant};

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time limit for one question.
    pub limit: Duration,
}

const SIZES: [u64; 4] = [100, 1_000, 5_000, 50_000];

/// Events of one task that writes.
const EVENTS: u64 = 4;

#[derive(Default)]
struct Run(Vec<Event>);

impl Run {
    fn push(&mut self, task: u64, op: Op) {
        let site = SiteId(self.0.len() as u32);
        self.0.push(Event { thread: ThreadId(task as u32), site, op });
    }

    fn access(&mut self, task: u64, kind: AccessKind, addr: u64, bits: u64) {
        self.push(task, Op::Access { kind, size: 8, addr: Addr(addr) });
        self.push(task, Op::Value { bits });
    }

    fn lock(&mut self, task: u64, lock: u64, acquire: bool) {
        let (lock, mode) = (LockId(lock as u32), LockMode::Exclusive);
        self.push(task, if acquire { Op::Acquire { lock, mode } } else { Op::Release { lock, mode } });
    }
}

const BRANCHED_ON: u64 = 0x1000;
const RACY: u64 = 0x2000;
const ELSE: u64 = 0x3000;

/// A run with about so many events in which order matters.
fn run(variables: u64, locks: u64, feasible: bool) -> Vec<Event> {
    let writers = (variables / EVENTS).max(2);
    let mut run = Run::default();
    run.access(0, AccessKind::Write, BRANCHED_ON, 1);
    let tasks = writers + 1;
    for task in 1..=tasks {
        run.push(0, Op::Spawn { task: TaskId(task as u32) });
    }
    for task in 1..=writers {
        run.push(task, Op::TaskBegin { task: TaskId(task as u32) });
        let lock = task % locks;
        let addr = if lock == 0 { BRANCHED_ON } else { ELSE };
        run.lock(task, lock, true);
        run.access(task, AccessKind::Write, addr, 0);
        // The last one that could forget it, if it is to be found.
        let forgets = feasible && lock == 0 && task + locks > writers / 2 && task <= writers / 2;
        if !forgets {
            run.access(task, AccessKind::Write, addr, 1);
        }
        run.lock(task, lock, false);
        run.push(task, Op::TaskEnd { task: TaskId(task as u32) });
    }
    run.push(tasks, Op::TaskBegin { task: TaskId(tasks as u32) });
    run.lock(tasks, 0, true);
    run.access(tasks, AccessKind::Read, BRANCHED_ON, 1);
    run.lock(tasks, 0, false);
    run.push(tasks, Op::Branch { taken: true });
    run.push(tasks, Op::Operand { back: 1 });
    run.push(tasks, Op::Formula { formula: FormulaId(0) });
    run.push(tasks, Op::OtherPath { kind: AccessKind::Write, size: 8, addr: Addr(RACY) });
    run.push(tasks, Op::TaskEnd { task: TaskId(tasks as u32) });
    run.access(0, AccessKind::Write, RACY, 1);
    run.push(0, Op::TaskWait);
    run.0
}

/// The outcome in words, and how long it took.
fn decide(events: &[Event], limit: Duration) -> (&'static str, Duration) {
    let mut flagged = Flagged::default();
    flagged.add(Addr(RACY), 8, Rule::DataRace);
    let diagnosis =
        Diagnosis { formulas: vec![Formula::parse("eq $1 1").ok()], ask: None, initial: None, time: limit };
    let examine = Examine { races: true, ..Examine::default() };
    let examination =
        Examination::with_limits(&flagged, examine, u64::MAX / 4, u64::MAX / 2).diagnosing(diagnosis);
    let mut replay = TaskReplay::<_, Ranks>::new(
        &examination,
        "examination",
        ReplayOptions { lenient: true, keep_all: true },
        TaskOptions::default(),
    );
    for (position, event) in (1..).zip(events) {
        if replay.event(position, event).is_err() {
            return ("wrong run", Duration::ZERO);
        }
    }
    let started = Instant::now();
    let findings = replay.finish().findings;
    let outcome = match findings.first().map(|finding| &finding.verdict) {
        None => "infeasible",
        Some(Verdict::Suspected(Doubt::SearchGivenUp)) => "given up",
        Some(Verdict::Suspected(_)) => "undecided",
        Some(_) => "feasible",
    };
    (outcome, started.elapsed())
}

/// The table.
pub fn table(settings: &Settings) -> Table {
    let mut table = Table::new(&["order variables", "locks", "outcome", "seconds", "within the limit"]);
    for variables in SIZES {
        for locks in [1, 10] {
            for feasible in [true, false] {
                let (outcome, time) = decide(&run(variables, locks, feasible), settings.limit);
                let within = time <= settings.limit + Duration::from_secs(1);
                table.row(vec![
                    count(variables),
                    locks.to_string(),
                    outcome.to_owned(),
                    seconds(time),
                    if within { "yes" } else { "no" }.to_owned(),
                ]);
            }
        }
    }
    table
}
