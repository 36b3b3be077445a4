//! Memory that the program gets, and gives back.
//!
//! Programs do that at every turn, and most of it nothing is known of: a program that tells objects and nothing else has something in few
//! pages. So it is looked first whether there is anything to do at all.

use super::words::{self, TaskWord};
use super::{TaskDriver, Worker};
use crate::blocks;
use crate::layout::{self, PAGE_BYTES};
use crate::shadow::pages;
use crate::thread::Thread;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use std::sync::atomic::Ordering;

impl Worker {
    /// True if nothing was put off that may be about any memory, but for what other sides of branches would do.
    #[inline(always)]
    fn has_told_all(&self) -> bool {
        self.pending.is_empty() && self.reads_under_locks.is_empty()
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// True if nothing is known of some memory, and the calling thread has nothing to tell that could be about it. (Who accesses it
    /// while its life begins or ends races with that in the program itself.)
    #[inline(always)]
    fn is_unknown(&self, thread: &mut Thread, addr: usize, size: usize) -> bool {
        // At most two pages: that of the first byte, and that of the last one.
        let in_use = |addr: usize| pages::is_in_use(TaskWord::of(addr).address());
        (1..=PAGE_BYTES).contains(&size)
            && layout::is_program(addr, size)
            && !in_use(addr)
            && !in_use(addr + size - 1)
            && !self.possible.is_any()
            && !self.possible.is_any_held()
            && Self::parts_at_once(thread).0.has_told_all()
    }

    /// A block is handed out.
    #[inline(always)]
    pub(super) fn block_allocated(&self, thread: &mut Thread, addr: usize, size: usize, pc: usize) {
        if self.is_unknown(thread, addr, size) {
            Self::pass_over(thread, addr, size);
        } else {
            // Some allocators do not tell when memory is given back.
            self.forget_known(thread, addr, size);
        }
        blocks::allocated(addr, size, thread.id, thread.place(pc, 0));
    }

    /// A block is given back, by a thread or by one that is not watched any more.
    #[inline(always)]
    pub(super) fn block_freed(&self, thread: Option<&mut Thread>, addr: usize, size: usize) {
        match thread {
            None => self.forget(addr, size),
            Some(thread) => {
                if self.is_unknown(thread, addr, size) {
                    Self::pass_over(thread, addr, size);
                } else {
                    let _ = self.at_gate(thread);
                    self.forget_known(thread, addr, size);
                }
            }
        }
        // What was told until now may name it.
        blocks::freed(addr);
    }

    /// Memory of which nothing is known begins another life.
    #[inline(always)]
    fn pass_over(thread: &mut Thread, addr: usize, size: usize) {
        #[cfg(test)]
        for (word, _) in crate::shadow::words(addr, size) {
            assert_eq!(TaskWord::of(word).load(), 0, "something is known of {word:#x}");
        }
        Self::take_out_of_recent(thread, addr, size);
    }

    /// What the thread has to tell of some memory is told, and all that is known of it forgotten.
    #[inline(never)]
    fn forget_known(&self, thread: &mut Thread, addr: usize, size: usize) {
        self.tell_pending(thread);
        self.tell_held_of(thread, addr, size);
        Self::take_out_of_recent(thread, addr, size);
        self.forget(addr, size);
    }

    /// What the thread has accessed lately of a range was other memory.
    #[inline]
    pub(super) fn take_out_of_recent(thread: &mut Thread, addr: usize, size: usize) {
        let (worker, _) = Self::parts_at_once(thread);
        if worker.recent.remove(addr, size) {
            worker.recent.tell_hooks();
        }
    }

    /// Forgets all that is known about a range.
    pub(super) fn forget(&self, addr: usize, size: usize) {
        let era = self.era.load(Ordering::Relaxed);
        words::forget::<A>(addr, size, era);
        self.possible.forget(addr, size, era);
    }
}
