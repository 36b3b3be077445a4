//! Which thread of the C library is which of ours.
//!
//! The C library uses an identity again as soon as the thread was joined, or has ended if it was detached. So a thread is
//! entered when it starts, which makes older entries with the same identity void, and taken out by identity *and* ticket.

use crate::watch::Ticket;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Threads that can be joined.
pub(crate) struct Threads {
    locked: AtomicBool,
    entries: UnsafeCell<Vec<(usize, Ticket)>>,
}

// SAFETY: the entries are touched by the holder of the lock only.
unsafe impl Sync for Threads {}

impl Threads {
    pub(crate) const fn new() -> Self {
        Threads { locked: AtomicBool::new(false), entries: UnsafeCell::new(Vec::new()) }
    }

    /// A thread has started that can be joined.
    pub(crate) fn insert(&self, thread: usize, ticket: Ticket) {
        self.with(|entries| {
            entries.retain(|&(other, _)| other != thread);
            entries.push((thread, ticket));
        });
    }

    /// The ticket of a thread that can be joined.
    pub(crate) fn find(&self, thread: usize) -> Option<Ticket> {
        self.with(|entries| entries.iter().find(|entry| entry.0 == thread).map(|entry| entry.1))
    }

    /// The thread was joined. Nothing happens if its identity belongs to another one already.
    pub(crate) fn remove(&self, thread: usize, ticket: Ticket) {
        self.with(|entries| {
            if let Some(at) = entries.iter().position(|&entry| entry == (thread, ticket)) {
                entries.swap_remove(at);
            }
        });
    }

    /// The thread cannot be joined any more, its identity may be used again at any time.
    pub(crate) fn detach(&self, thread: usize) {
        self.with(|entries| entries.retain(|&(other, _)| other != thread));
    }

    /// Before a fork: no other thread is within the table until [`Threads::unlock`].
    pub(crate) fn lock(&self) {
        while self.locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // SAFETY: has no preconditions.
            unsafe { libc::sched_yield() };
        }
    }

    /// After [`Threads::lock`], in the parent and in the child.
    pub(crate) fn unlock(&self) {
        self.locked.store(false, Ordering::Release);
    }

    fn with<R>(&self, act: impl FnOnce(&mut Vec<(usize, Ticket)>) -> R) -> R {
        self.lock();
        // SAFETY: the lock is held; `act` does not come back here.
        let result = act(unsafe { &mut *self.entries.get() });
        self.unlock();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_that_is_used_again_belongs_to_the_new_thread() {
        let threads = Threads::new();
        threads.insert(7, Ticket(1));
        threads.insert(7, Ticket(2));
        assert_eq!(threads.find(7), Some(Ticket(2)));
        // The join of the first returns late.
        threads.remove(7, Ticket(1));
        assert_eq!(threads.find(7), Some(Ticket(2)));
        threads.remove(7, Ticket(2));
        assert_eq!(threads.find(7), None);
    }

    #[test]
    fn detached_threads_are_gone() {
        let threads = Threads::new();
        threads.insert(7, Ticket(1));
        threads.insert(8, Ticket(2));
        threads.detach(7);
        assert_eq!(threads.find(7), None);
        assert_eq!(threads.find(8), Some(Ticket(2)));
    }

    #[test]
    fn threads_enter_and_leave_at_once() {
        let threads = Threads::new();
        std::thread::scope(|scope| {
            for number in 0..4u32 {
                let threads = &threads;
                scope.spawn(move || {
                    for round in 0..500 {
                        let id = (number * 1000 + round) as usize;
                        threads.insert(id, Ticket(number));
                        assert_eq!(threads.find(id), Some(Ticket(number)));
                        threads.remove(id, Ticket(number));
                        assert_eq!(threads.find(id), None);
                    }
                });
            }
        });
    }
}
