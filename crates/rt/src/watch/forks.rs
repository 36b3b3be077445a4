//! Tasks that are forked and joined where tasks are nothing but order, and only those that another thread takes are told: see `rust::forks`.

use super::{RACES, enter, guarded, is_on};
use crate::driver::Driver;
use crate::rust::forks::{Fork, Left};
use crate::thread::{Inside, Thread};
use keirin_core::analysis::fasttrack::{Compact, FastTrack};
use keirin_core::clock::{Epoch, VectorClock};
use std::sync::atomic::Ordering;

/// Does something in the calling thread, if it is watched by the default analysis.
#[inline]
fn with_races(act: impl FnOnce(&'static Driver<FastTrack<Compact>>, &mut Thread)) {
    // SAFETY: it is null, or the driver lives for ever.
    let driver = unsafe { RACES.load(Ordering::Relaxed).as_ref() };
    if let Some(driver) = driver.filter(|_| is_on())
        && let Some(mut inside) = Inside::enter_quietly().or_else(enter)
    {
        act(driver, &mut inside);
    }
}

/// The thread forks tasks. False: nothing was noted.
#[inline]
pub(crate) fn fork(fork: &mut Fork) -> bool {
    with_races(|driver, thread| driver.fork_tasks(thread, fork));
    fork.known.is_some()
}

/// The thread begins a task that another one has forked, or goes on after one that another one has run.
pub(crate) fn take_task(known: &VectorClock, by: Epoch) {
    with_races(|_, thread| guarded(|| Driver::take_task(thread, known, by)));
}

/// The thread has run such a task.
pub(crate) fn leave_task() -> Option<Box<Left>> {
    let mut left = None;
    with_races(|driver, thread| guarded(|| left = Some(driver.leave_task(thread))));
    left
}

/// The thread goes on after all tasks of a fork.
#[inline]
pub(crate) fn join(fork: Fork) {
    // A signal handler may have ended the watch: what was noted is given back all the same, or, in one, left as it is.
    let Some(mut inside) = Inside::enter_quietly() else { return std::mem::forget(fork) };
    let Fork { known, left, .. } = fork;
    for left in left.into_iter().flatten() {
        guarded(|| Driver::take_task(&mut inside, &left.clock, left.by));
    }
    drop(known);
}
