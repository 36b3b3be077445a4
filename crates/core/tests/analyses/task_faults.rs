//! Runs of tasks that cannot have happened: what is said about them, and how they are repaired.

use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Outcome, ReplayOptions};
use keirin_core::sptree::ranks::Ranks;
use keirin_core::trace::{Source, std_format};
use keirin_core::witness::{Examination, Examine};

const RACES: Examine = Examine { races: true, blocks: false, steps: false, gaps: false, groups: false };

/// One pass; an error is the line and the message.
fn pass<A: TaskAnalysis>(text: &str, analysis: &A, lenient: bool) -> Result<Outcome, (u64, String)> {
    let mut source = std_format::Reader::new(text.as_bytes());
    let events = crate::suite::events(&mut source);
    let options = ReplayOptions { lenient, ..ReplayOptions::default() };
    let mut replay = TaskReplay::<A, Ranks>::new(analysis, "test", options, TaskOptions::default());
    for (position, event) in events {
        replay.event(position, &event).map_err(|fault| (position, fault.message(source.tables())))?;
    }
    Ok(replay.finish())
}

/// The lines of the events, one for each word.
fn trace(events: &str) -> String {
    events.split_whitespace().map(|event| format!("{}|\n", event.replacen(':', "|", 1))).collect()
}

/// A trace with one event at fault. In lenient mode the fault is counted and the run goes on: both passes see the race between
/// two more threads that stands behind it.
fn at_fault(events: &str, line: u64, message: &str, kind: &str) {
    let text = format!("{}T8|w(race)|\nT9|w(race)|\n", trace(events));
    match pass(&text, &PtRacer::default(), false) {
        Err(fault) => assert_eq!(fault, (line, message.to_owned()), "{events}"),
        Ok(_) => panic!("no fault: {events}"),
    }
    let outcome = pass(&text, &PtRacer::default(), true).expect("repaired");
    assert_eq!(outcome.repairs.iter().collect::<Vec<_>>(), [(kind, 1)], "{events}");
    assert_eq!(outcome.findings.len(), 1, "{events}");
    let examined = pass(&text, &Examination::new(&outcome.flagged, RACES), true).expect("repaired");
    assert_eq!(examined.findings.len(), 1, "{events}");
}

#[test]
fn tasks_that_are_spawned_twice() {
    at_fault("T0:spawn(a) T0:spawn(a)", 2, "task `a` is spawned a second time", "second spawn of a task");
}

#[test]
fn a_task_that_was_waited_for_may_be_spawned_again() {
    let text = trace("T0:spawn(a) T0:task_begin(a) T0:task_end(a) T0:task_wait T0:spawn(a) T0:task_begin(a)");
    assert!(pass(&text, &PtRacer::default(), false).is_ok());
}

#[test]
fn tasks_that_were_never_spawned() {
    let kind = "event of a task that was not spawned";
    let message = "task `a` was not spawned, or has been waited for";
    at_fault("T0:task_begin(a)", 1, message, kind);
    at_fault("T0:task_suspend(a)", 1, message, kind);
    at_fault("T0:task_end(a)", 1, message, kind);
    at_fault("T0:spawn(b) T0:task_order(b,a)", 2, message, kind);
    at_fault("T0:spawn(a) T0:task_begin(a) T0:task_end(a) T0:task_wait T0:task_begin(a)", 5, message, kind);
}

#[test]
fn tasks_that_are_running_already() {
    let kind = "start of a task that is running";
    let message = "task `a` is started but is running already";
    at_fault("T0:spawn(a) T1:task_begin(a) T2:task_begin(a)", 3, message, kind);
    at_fault("T0:spawn(a) T1:task_begin(a) T1:task_begin(a)", 3, message, kind);
}

#[test]
fn tasks_that_have_ended() {
    at_fault(
        "T0:spawn(a) T1:task_begin(a) T1:task_end(a) T2:task_begin(a)",
        4,
        "task `a` is started but has ended",
        "start of a task that has ended",
    );
}

#[test]
fn tasks_that_start_before_those_on_which_they_depend_have_ended() {
    at_fault(
        "T0:spawn(a) T0:spawn(b) T0:task_order(a,b) T1:task_begin(a) T2:task_begin(b)",
        5,
        "task `b` is started before a task on which it depends has ended",
        "start of a task before one on which it depends has ended",
    );
}

#[test]
fn tasks_that_another_thread_runs() {
    let kind = "end or suspension of a task by a thread that does not run it";
    let message = "task `a` is not what T2 runs";
    at_fault("T0:spawn(a) T1:task_begin(a) T2:task_end(a)", 3, message, kind);
    at_fault("T0:spawn(a) T1:task_begin(a) T2:task_suspend(a)", 3, message, kind);
    at_fault("T0:spawn(a) T2:task_end(a)", 2, message, kind);
    // It runs the task, but is in the middle of another one.
    at_fault("T0:spawn(a) T0:spawn(b) T2:task_begin(a) T2:task_begin(b) T2:task_end(a)", 5, message, kind);
}

#[test]
fn dependences_that_come_too_late() {
    let kind = "dependence of a task that has started";
    at_fault(
        "T0:spawn(a) T0:spawn(b) T1:task_begin(b) T0:task_order(a,b)",
        4,
        "task `b` is to come after task `a` but has started",
        kind,
    );
    at_fault("T0:spawn(a) T0:task_order(a,a)", 2, "task `a` is to come after task `a` but has started", kind);
}

#[test]
fn waits_that_are_over_too_early() {
    let kind = "end of a wait for a task that has not ended";
    at_fault("T0:spawn(a) T0:task_wait", 2, "T0 has waited for task `a` which has not ended", kind);
    at_fault(
        "T0:spawn(a) T1:task_begin(a) T0:task_join(a)",
        3,
        "T0 has waited for task `a` which has not ended",
        kind,
    );
    at_fault(
        "T0:spawn(a) T1:task_begin(a) T1:spawn(b) T1:task_wait",
        4,
        "task `a` has waited for task `b` which has not ended",
        kind,
    );
}

#[test]
fn tasks_that_wait_for_themselves() {
    let kind = "wait of a task for itself";
    at_fault("T0:spawn(a) T1:task_begin(a) T1:task_join(a)", 3, "task `a` waits for itself", kind);
    at_fault("T0:w(x) T0:join(T0)", 2, "T0 waits for itself", kind);
}

#[test]
fn finish_scopes_that_did_not_begin() {
    let kind = "finish_end without finish_begin";
    at_fault("T0:finish_end", 1, "T0 ends a finish scope but none is open", kind);
    // The scope is that of another task.
    at_fault(
        "T0:finish_begin T0:spawn(a) T0:task_begin(a) T0:finish_end",
        4,
        "task `a` ends a finish scope but none is open",
        kind,
    );
}

#[test]
fn finish_scopes_that_end_too_early() {
    let kind = "end of a finish scope with tasks that have not ended";
    let message = "T0 ends a finish scope although tasks within have not ended";
    at_fault("T0:finish_begin T0:spawn(a) T0:finish_end", 3, message, kind);
    // The grandchild was left behind by its parent.
    at_fault(
        "T0:finish_begin T0:spawn(a) T1:task_begin(a) T1:spawn(b) T1:task_end(a) T0:finish_end",
        6,
        message,
        kind,
    );
}

#[test]
fn threads_as_tasks() {
    at_fault(
        "T0:join(T1)",
        1,
        "T1 is joined but was neither forked nor seen before",
        "join of an unknown thread",
    );
    at_fault(
        "T0:fork(T1) T0:join(T1) T0:join(T1)",
        3,
        "T1 is joined a second time",
        "second join of a thread",
    );
    let kind = "fork of a thread that has started";
    at_fault("T0:fork(T1) T0:fork(T1)", 2, "T1 is forked but has already started", kind);
    at_fault("T1:w(x) T0:fork(T1)", 2, "T1 is forked but has already started", kind);
    at_fault("T0:fork(T0)", 1, "T0 is forked but has already started", kind);
    let kind = "event of a finished thread";
    at_fault("T1:thread_end T1:w(x)", 2, "T1 goes on although it has ended", kind);
    at_fault("T0:spawn(a) T1:thread_end T1:task_begin(a)", 3, "T1 goes on although it has ended", kind);
    at_fault("T0:fork(T1) T0:join(T1) T1:w(x)", 3, "T1 goes on although it has ended", kind);
}

#[test]
fn barriers_of_tasks() {
    at_fault(
        "T0:arrive(b) T0:arrive(b)",
        2,
        "T0 arrives at barrier `b` where it is waiting already",
        "second arrival at a barrier",
    );
    at_fault(
        "T0:leave(b)",
        1,
        "T0 leaves barrier `b` without having arrived",
        "leave of a barrier without arrival",
    );
}

#[test]
fn what_ends_without_having_begun() {
    at_fault("T0:end", 1, "T0 ends an atomic region but none is open", "end without begin");
    // The block is that of the task around it.
    at_fault(
        "T0:begin(A) T0:spawn(a) T0:task_begin(a) T0:end",
        4,
        "T0 ends an atomic region but none is open",
        "end without begin",
    );
    at_fault("T0:return", 1, "T0 returns from a function that it did not call", "return without call");
    at_fault("T0:ignore_end", 1, "T0 has ignore_end without ignore_begin", "ignore_end without ignore_begin");
}

#[test]
fn locks_that_another_task_holds() {
    let kind = "acquire of a lock that is held";
    // One thread runs both tasks: the lock is the task's, not the thread's.
    at_fault(
        "T0:spawn(a) T0:task_begin(a) T0:acq(l) T0:task_suspend(a) T0:acq(l)",
        5,
        "T0 acquires lock `l` while task `a` holds it",
        kind,
    );
    at_fault(
        "T0:spawn(a) T0:acq_shared(l) T1:task_begin(a) T1:acq(l)",
        4,
        "task `a` acquires lock `l` while T0 holds it",
        kind,
    );
    // A task that ends keeps its lock.
    at_fault(
        "T0:spawn(a) T0:task_begin(a) T0:acq(l) T0:task_end(a) T0:task_wait T0:acq(l)",
        6,
        "T0 acquires lock `l` while task `a` holds it",
        kind,
    );
    at_fault(
        "T0:fork(T1) T1:acq(l) T0:join(T1) T0:acq(l)",
        4,
        "T0 acquires lock `l` while T1 holds it",
        kind,
    );
}

#[test]
fn locks_that_another_task_releases() {
    let kind = "release of a lock that is not held";
    at_fault(
        "T0:acq(l) T0:spawn(a) T0:task_begin(a) T0:rel(l)",
        4,
        "task `a` releases lock `l` but does not hold it",
        kind,
    );
    at_fault(
        "T0:acq(l) T0:rel_shared(l)",
        2,
        "T0 releases lock `l` but does not hold it in shared mode",
        kind,
    );
}

/// How many races both passes find in a run that must be repaired.
fn races_when_repaired(events: &str) -> (usize, usize) {
    let text = trace(events);
    assert!(pass(&text, &PtRacer::default(), false).is_err());
    let outcome = pass(&text, &PtRacer::default(), true).expect("repaired");
    let examined = pass(&text, &Examination::new(&outcome.flagged, RACES), true).expect("repaired");
    (outcome.findings.len(), examined.findings.len())
}

#[test]
fn a_lock_that_another_task_takes_is_no_longer_held() {
    // Believed to be held by both, the lock would seem to protect `x`.
    let events = "T0:spawn(a) T0:spawn(b) T1:task_begin(a) T2:task_begin(b) T1:acq(l) T2:acq(l) T2:w(x) T2:rel(l) T1:w(x)";
    assert_eq!(races_when_repaired(events), (1, 1));
}

#[test]
fn a_lock_that_was_lost_with_its_thread_can_be_taken() {
    // The release is made up behind the end of T2, for which T0 has waited by then.
    let events = "T2:acq(l) T0:join(T2) T3:acq(l) T1:r(x) T0:r(y) T0:w(x)";
    assert_eq!(races_when_repaired(events), (1, 1));
}

#[test]
fn a_thread_that_joins_itself_goes_on() {
    assert_eq!(races_when_repaired("T0:w(y) T0:join(T0) T0:w(x) T1:w(x)"), (1, 1));
}

#[test]
fn a_wait_that_is_over_too_early_orders_nothing() {
    assert_eq!(races_when_repaired("T0:spawn(a) T1:task_begin(a) T0:task_wait T0:w(x) T1:w(x)"), (1, 1));
}

#[test]
fn a_task_that_starts_too_early_does_not_run() {
    // What the thread does then belongs to the thread, which nobody has forked.
    let events =
        "T0:spawn(a) T0:spawn(b) T0:task_order(a,b) T2:task_begin(b) T2:w(x) T1:task_begin(a) T1:w(x)";
    assert_eq!(races_when_repaired(events), (1, 1));
}
