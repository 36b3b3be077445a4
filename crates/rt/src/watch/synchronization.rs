//! What orders threads and tasks, or keeps them apart: locks, conditions, barriers, fences, and whatever else lets one know what another did.

use super::{ADVERSARY, RACES, guarded, is_on, watcher, with, with_synchronization};
use crate::rust::sections;
use crate::thread::{Inside, Thread};
use crate::watcher::Watcher;
use crate::{steering, tls};
use keirin_core::event::{AccessKind, LockMode, MemoryOrder};
use std::sync::atomic::Ordering;

/// A fence that was just executed.
pub fn fence(order: MemoryOrder, pc: usize) {
    let driver = RACES.load(Ordering::Relaxed);
    if !driver.is_null()
        && is_on()
        && let Some(mut inside) = Inside::enter_quietly()
        // SAFETY: the driver lives for ever.
        && unsafe { &*driver }.fence_shortcut(&mut inside, order)
    {
        inside.signalled = 0;
        return;
    }
    with(|watcher, thread| watcher.fence(thread, order, pc));
}

/// A lock is about to be waited for. 0: it is not known which.
#[inline]
pub fn lock_awaited(lock: usize, pc: usize) {
    if steering::is_on() {
        steering::lock_awaited(lock, pc);
    }
    if ADVERSARY.load(Ordering::Relaxed) {
        with(|watcher, thread| watcher.lock_awaited(thread, pc));
    }
}

/// An atomic operation is about to be done: a read, or one that writes.
#[inline(always)]
pub(crate) fn atomic_awaited(kind: AccessKind, addr: usize, size: usize, pc: usize) {
    if steering::is_on() || ADVERSARY.load(Ordering::Relaxed) {
        atomic_may_wait(kind, addr, size, pc);
    }
}

#[cold]
fn atomic_may_wait(kind: AccessKind, addr: usize, size: usize, pc: usize) {
    if steering::is_on() {
        steering::access(kind, true, addr, size, pc);
    }
    if ADVERSARY.load(Ordering::Relaxed) {
        with(|watcher, thread| watcher.atomic_awaited(thread, kind, addr, size, pc));
    }
}

/// A lock was acquired. Locks that are held already by the thread may be told again.
pub fn lock_acquired(lock: usize, mode: LockMode, pc: usize) {
    if steering::is_on() {
        steering::lock_acquired(lock, pc);
    }
    with_synchronization(|watcher, thread| watcher.lock_acquired(thread, lock, mode, pc));
}

/// A lock is about to be released; how the thread held it is known.
pub fn lock_released(lock: usize, pc: usize) {
    if steering::is_on() {
        steering::lock_released(lock, pc);
    }
    with_synchronization(|watcher, thread| watcher.lock_released(thread, lock, pc));
}

/// A lock that the thread holds is held in another way from now on, and was not let go meanwhile: nobody has written what it guards.
pub(crate) fn lock_changed(lock: usize, mode: LockMode, pc: usize) {
    with_synchronization(|watcher, thread| watcher.lock_changed(thread, lock, mode, pc));
}

/// A lock, condition or barrier is initialized or destroyed: an object at the same address is another one.
pub fn object_forgotten(object: usize) {
    with_synchronization(|watcher, _| watcher.object_forgotten(object));
}

/// A wait for a condition was ended by a notification (not by a timeout); the mutex is told by itself.
pub fn condition_waited(condition: usize, pc: usize) {
    with_synchronization(|watcher, thread| watcher.condition_waited(thread, condition, pc));
}

/// A condition is about to be notified.
pub fn condition_notified(condition: usize, all: bool, pc: usize) {
    with_synchronization(|watcher, thread| watcher.condition_notified(thread, condition, all, pc));
}

/// The thread is about to wait at a barrier.
pub fn barrier_arrived(barrier: usize, pc: usize) {
    with_synchronization(|watcher, thread| watcher.barrier_arrived(thread, barrier, pc));
}

/// The thread goes on from a barrier.
pub fn barrier_left(barrier: usize, pc: usize) {
    with_synchronization(|watcher, thread| watcher.barrier_left(thread, barrier, pc));
}

/// What the thread did so far comes before whatever follows a [`happens_after`] of the same token: semaphores, `once`,
/// annotations.
pub fn happens_before(token: usize, pc: usize) {
    if is_told(|_, thread| thread.signalled == token) {
        return;
    }
    with_synchronization(|watcher, thread| {
        watcher.happens_before(thread, token, pc);
        thread.signalled = token;
    });
}

/// The other side of [`happens_before`].
pub fn happens_after(token: usize, pc: usize) {
    if is_told(|watcher, thread| watcher.has_learned(thread, token)) {
        return;
    }
    with_synchronization(|watcher, thread| watcher.happens_after(thread, token, pc));
}

/// Order that a thread tells again, having told nothing else meanwhile, is no news: what it did in between was nothing. Asks whether it is such,
/// of the calling thread. Only where all that it does is told by calls, and not in the midst of a section.
fn is_told(ask: impl FnOnce(&'static dyn Watcher, &mut Thread) -> bool) -> bool {
    if !sections::are_on() || !tls::untold().is_null() {
        return false;
    }
    let mut told = false;
    if let Some(mut inside) = Inside::enter_quietly().filter(|_| is_on())
        && !inside.sections.as_ref().is_some_and(|sections| sections.is_open())
        && let Some(watcher) = watcher()
    {
        guarded(|| told = ask(watcher, &mut inside));
    }
    told
}
