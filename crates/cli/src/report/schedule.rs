//! The schedule that shows a finding, with names: who goes on from where to where, and what is worth showing of it.

use super::actors::Threads;
use super::model::{HeldLock, Schedule, Segment, Step};
use super::operation::lock as lock_target;
use super::resolve::Names;
use keirin_core::event::{LockId, LockMode, Op};
use keirin_core::finding::{RawStep, Witness};
use keirin_core::tasks::Actor;

/// Resolves a witness: the schedule, and the operations of it that are shown, numbered from 1.
pub(super) fn resolve(raw: &Witness, names: Names<'_>, threads: &mut Threads<'_>) -> (Schedule, Vec<Step>) {
    let mut steps = Vec::new();
    let segments = raw.segments.iter().map(|segment| {
        let thread = threads.index(segment.actor);
        let first = steps.len();
        for shown in &segment.shown {
            let mut step = names.step(shown, steps.len(), thread);
            // Who starts or ends is named already.
            let own = match shown.op {
                Op::TaskBegin { task } if segment.actor == Actor::Task(task) => Some("started"),
                Op::TaskEnd { task } if segment.actor == Actor::Task(task) => Some("ended"),
                _ => None,
            };
            if let Some(own) = own {
                step.operation.text = own.to_owned();
            }
            steps.push(step);
        }
        let numbers = (first + 1..=steps.len()).collect();
        let (first, last, operations) = (segment.first, segment.last, segment.operations);
        Segment { thread, first, last, operations, steps: numbers }
    });
    let schedule = Schedule {
        trace: names.trace.to_owned(),
        unit: names.unit.noun(),
        as_observed_until: raw.as_observed_until,
        segments: segments.collect(),
    };
    note_locks(raw, names, &mut steps);
    (schedule, steps)
}

/// Notes at each step the locks that whoever did it holds afterwards, if locks matter at all. Locks that were taken
/// before the schedule leaves the observed order are not known here.
fn note_locks(raw: &Witness, names: Names<'_>, steps: &mut [Step]) {
    let shown: Vec<(Actor, &RawStep)> = raw
        .segments
        .iter()
        .flat_map(|segment| segment.shown.iter().map(|step| (segment.actor, step)))
        .collect();
    if !shown.iter().any(|(_, step)| matches!(step.op, Op::Acquire { .. } | Op::Release { .. })) {
        return;
    }
    let mut held: Vec<(Actor, HeldLock)> = Vec::new();
    for (step, (actor, raw)) in steps.iter_mut().zip(shown) {
        let lock_of = |id: u32, mode| HeldLock {
            lock: lock_target(LockId(id), names.tables).name,
            shared: mode == LockMode::Shared,
        };
        match raw.op {
            Op::Acquire { lock, mode } | Op::OtherPathLock { lock, mode, acquire: true } => {
                held.push((actor, lock_of(lock.0, mode)))
            }
            Op::Release { lock, mode } | Op::OtherPathLock { lock, mode, acquire: false } => {
                let released = lock_of(lock.0, mode);
                if let Some(at) = held.iter().rposition(|(by, lock)| *by == actor && *lock == released) {
                    held.remove(at);
                }
            }
            _ => {}
        }
        step.held = Some(held.iter().filter(|(by, _)| *by == actor).map(|(_, lock)| lock.clone()).collect());
    }
}
