//! The order that tasks of rayon give with `--races`: what a call of `join` does before its halves, and what these do before it returns.
//!
//! rayon itself is not instrumented then: what its queues and latches order is told here, and nothing else of it. A half that the caller
//! runs itself comes after what it did before without a word. Only a half that another thread has taken needs to be told: that
//! thread takes over what the caller knew when it forked, and the caller, at the end, what the half has left.
//!
//! That a half may be taken must be known when it is forked: what the caller does from then on is in an epoch of its own. What it knows of
//! others is copied for that, once, and not again until it has learned something new: most joins are small, and nobody takes their halves.
//!
//! **Who touches what.** A `Fork` lies in the frame of the call. The caller writes it before it forks; who runs a half reads it, and writes what it has
//! left to a place of that half alone; the caller reads that when both halves have ended. rayon orders these. A `Kept` clock never changes while
//! there is a fork that refers to it; the references are counted by the thread whose it is.

use crate::watch;
use keirin_core::clock::{Epoch, VectorClock};
use std::arch::naked_asm;
use std::cell::Cell;
use std::ptr::NonNull;

/// What a thread knew when it forked tasks: a reference, counted by that thread alone.
pub(crate) struct Kept(NonNull<Clock>);

struct Clock {
    clock: VectorClock,
    references: Cell<usize>,
}

impl Kept {
    pub(crate) fn new(clock: VectorClock) -> Self {
        Kept(NonNull::from(Box::leak(Box::new(Clock { clock, references: Cell::new(1) }))))
    }

    pub(crate) fn clock(&self) -> &VectorClock {
        // SAFETY: it is there as long as it is referred to, and nobody changes the clock in it.
        unsafe { &(*self.0.as_ptr()).clock }
    }

    fn references(&self) -> &Cell<usize> {
        // SAFETY: as above; only the thread whose it is gets here.
        unsafe { &(*self.0.as_ptr()).references }
    }
}

impl Clone for Kept {
    #[inline]
    fn clone(&self) -> Self {
        self.references().set(self.references().get() + 1);
        Kept(self.0)
    }
}

impl Drop for Kept {
    #[inline]
    fn drop(&mut self) {
        let left = self.references().get() - 1;
        self.references().set(left);
        if left == 0 {
            // SAFETY: made of a box, and this was the last reference.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

/// What somebody who has run a half left to the caller.
pub(crate) struct Left {
    pub(crate) clock: VectorClock,
    pub(crate) by: Epoch,
}

/// A call of `join`, in memory of that call.
#[repr(C)]
pub(crate) struct Fork {
    /// None: it is told by objects, or nothing is watched.
    pub(crate) known: Option<Kept>,
    pub(crate) by: Epoch,
    pub(crate) left: [Option<Box<Left>>; 2],
}

/// How many words a caller must provide for it.
const FORK_WORDS: usize = 4;
const _: () = assert!(size_of::<Fork>() <= FORK_WORDS * size_of::<usize>());

/// The objects by which order is told if the analysis is another one: what comes before the halves, and what comes after them.
fn tokens(fork: usize) -> (usize, usize) {
    (fork, fork + size_of::<usize>())
}

/// The frames of rayon's functions that wait, or call what is waited for, lie within so many bytes.
const WAITING: usize = 1 << 13;

rust_hooks! {
    /// All tasks of a group have ended, and were waited for: each has told that by the same number, which will stand for others.
    fn __keirin_rust_group_over(group, _detail, _third, _fourth; pc, _frame) {
        watch::happens_after(group, pc);
        watch::object_forgotten(group);
    }

    /// The thread has waited for others in functions whose frames lay below a place on its stack: of those only a part was told.
    fn __keirin_rust_stack_left(place, _detail, _third, _fourth; _pc, _frame) {
        watch::forgotten(place.saturating_sub(WAITING), WAITING.min(place));
    }

    /// The thread calls `join`. That is noted in memory that it provides, and leaves as it is until the end of the join.
    fn __keirin_rust_forks(fork, _detail, _third, _fourth; pc, _frame) {
        let place = fork as *mut Fork;
        // SAFETY: there is memory for it, which nobody else knows yet.
        let noted = unsafe {
            place.write(Fork { known: None, by: Epoch::default(), left: [None, None] });
            watch::fork(&mut *place)
        };
        if !noted {
            watch::happens_before(tokens(fork).0, pc);
        }
    }

    /// The thread begins to run a half that another thread has forked, or may have.
    fn __keirin_rust_fork_taken(fork, _detail, _third, _fourth; pc, _frame) {
        let place = fork as *const Fork;
        // SAFETY: the join has not ended, and what is read does not change meanwhile.
        let (known, by) = unsafe { (&(*place).known, (*place).by) };
        match known {
            Some(known) => watch::take_task(known.clock(), by),
            None => watch::happens_after(tokens(fork).0, pc),
        }
    }

    /// It has run that half to its end: 0 or 1.
    fn __keirin_rust_fork_left(fork, which, _third, _fourth; pc, _frame) {
        let place = fork as *mut Fork;
        // SAFETY: as above.
        if unsafe { (*place).known.is_none() } {
            return watch::happens_before(tokens(fork).1, pc);
        }
        let left = watch::leave_task();
        // SAFETY: the place is that of the half which the calling thread runs, and its alone.
        unsafe { (&raw mut (*place).left).cast::<Option<Box<Left>>>().add(which & 1).write(left) };
    }

    /// Both halves have ended; `taken` is 0 if no other thread may have run one.
    fn __keirin_rust_joins(fork, taken, _third, _fourth; pc, _frame) {
        // SAFETY: the caller has told that it forks, and nobody else knows the place any more.
        let ended = unsafe { (fork as *mut Fork).read() };
        if ended.known.is_some() {
            return watch::join(ended);
        }
        let (before, after) = tokens(fork);
        if taken != 0 {
            watch::happens_after(after, pc);
        }
        [before, after].into_iter().for_each(watch::object_forgotten);
    }
}
