//! Possible accesses that are held back until their step ends.
//!
//! Of races it does not matter in which order the accesses of a step come, and what a step does itself says all that a possible access of the
//! kind under the same locks would say. So a step tells its possible accesses when it ends, and leaves out which of them it has done meanwhile: most of
//! them, where a loop goes one way for some of its elements and the other way for others that share memory with them.
//!
//! They are told before anything of what the step knows, or others know of it, changes: before it ends, lets others know what it did, or
//! learns what others did; and before its thread gives back some of the memory. Memory that another thread gives back meanwhile is another's when the
//! step ends: what was held back of it is dropped ([`super::Possible::is_void`]). What a thread holds back that still runs when the
//! program ends is not told.
//!
//! **Who may touch what.** [`Held`]: its thread.

use super::super::{TaskDriver, Worker};
use super::What;
use super::told::{Access, By, Forgotten};
use crate::layout::WORD_BYTES;
use crate::shadow::words as words_of;
use crate::thread::Thread;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::AccessKind;
use keirin_core::lockset::LocksetId;

/// The largest accesses that are held back.
pub(super) const LARGEST: usize = 64;
/// So many are held back; then they are told, and others are.
const MOST: usize = 1 << 13;

/// An access that is held back.
#[derive(Clone, Copy)]
struct HeldBack {
    what: What,
    locks: LocksetId,
    /// How much was forgotten by then.
    forgotten: u32,
}

/// Of more than so many the memory is not looked at.
const FEW: usize = 1 << 10;

/// What a thread holds back.
#[derive(Default)]
pub(super) struct Held(Vec<HeldBack>);

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// A possible access of the running step will be held back: it is told as far as the step is concerned.
    #[inline]
    pub(super) fn note_held(
        &self,
        worker: &mut Worker,
        (kind, addr, size): (AccessKind, usize, usize),
        by: By,
    ) {
        self.possible.hold(addr, size);
        for (word, mask) in words_of(addr, size) {
            worker.beside.told.add(Access { kind, word, mask, is_possible: true }, by);
        }
    }

    /// Keeps a possible access until the step ends.
    pub(super) fn hold_back(&self, thread: &mut Thread, what: What, locks: LocksetId) {
        let (worker, _) = Self::parts_at_once(thread);
        worker.beside.held.0.push(HeldBack { what, locks, forgotten: self.possible.date() });
        if worker.beside.held.0.len() == MOST {
            self.tell_all_held(thread);
        }
    }

    /// Tells what the running step holds back, for it ends, or something else changes for it.
    #[inline(always)]
    pub(in super::super) fn tell_held(&self, thread: &mut Thread) {
        if A::ONLY_RACES && !Self::parts_at_once(thread).0.beside.held.0.is_empty() {
            // What was really done is known by then.
            self.tell_pending(thread);
            self.tell_all_held(thread);
        }
    }

    /// The same, of a range of memory that the thread gives back, or gets.
    #[inline(always)]
    pub(in super::super) fn tell_held_of(&self, thread: &mut Thread, addr: usize, size: usize) {
        if A::ONLY_RACES
            && !Self::parts_at_once(thread).0.beside.held.0.is_empty()
            && self.possible.may_be_held(addr, size)
        {
            self.tell_part_of_held(thread, addr, size);
        }
    }

    #[inline(never)]
    fn tell_part_of_held(&self, thread: &mut Thread, addr: usize, size: usize) {
        let (worker, _) = Self::parts_at_once(thread);
        let held = &mut worker.beside.held.0;
        if held.len() > FEW {
            // It would take as long to look for them.
            return self.tell_held(thread);
        }
        // All of the words, as they are forgotten.
        let (from, to) = (addr & !(WORD_BYTES - 1), (addr + size).next_multiple_of(WORD_BYTES));
        let is_of_it = |held: &HeldBack| held.what.addr < to && from < held.what.addr + held.what.size;
        if held.iter().any(is_of_it) {
            let (of_it, others) = held.drain(..).partition(is_of_it);
            *held = of_it;
            self.tell_held(thread);
            Self::parts_at_once(thread).0.beside.held.0 = others;
        }
    }

    #[inline(never)]
    fn tell_all_held(&self, thread: &mut Thread) {
        let (worker, _) = self.at_gate(thread);
        let mut all = std::mem::take(&mut worker.beside.held.0);
        // A side may be just being told.
        let open = worker.side.take();
        for held in all.drain(..) {
            let (worker, _) = Self::parts_at_once(thread);
            if self.is_void_or_done(worker, held) {
                continue;
            }
            self.tell_possible_under(thread, held.what, held.locks);
        }
        let (worker, _) = Self::parts_at_once(thread);
        worker.side = open;
        worker.beside.held.0 = all;
        self.after(thread);
    }

    /// Tells a possible access under some locks, while no side is being told.
    pub(super) fn tell_possible_under(&self, thread: &mut Thread, what: What, locks: LocksetId) {
        let (worker, _) = Self::parts_at_once(thread);
        if worker.data.history.locks() != locks {
            let mut side = std::mem::take(&mut worker.beside.side_before);
            side.renew_with(locks);
            worker.side = Some(side);
        }
        self.tell_possible(thread, what, None);
        let (worker, _) = Self::parts_at_once(thread);
        if let Some(side) = worker.side.take() {
            worker.beside.side_before = side;
        }
    }

    /// True if what is held back is about memory of which nothing is known any more, or the step has done it itself.
    #[inline]
    fn is_void_or_done(&self, worker: &mut Worker, held: HeldBack) -> bool {
        let HeldBack { what: What { kind, addr, size, .. }, locks, forgotten } = held;
        if self.possible.is_void(addr, size, forgotten) {
            return true;
        }
        let by = By { step: worker.step.0, under: locks.number() };
        let under = Self::under(worker, Some(by), Some(locks));
        let told = &mut worker.beside.told;
        told.renew(&self.possible);
        // A write of the same bytes was held back as well, or told: it says more than a read.
        let written = |(word, mask)| {
            let access = Access { kind: AccessKind::Write, word, mask, is_possible: true };
            told.has(access, by, &self.possible)
        };
        (kind == AccessKind::Read && words_of(addr, size).all(written))
            || self.has_done(worker, under, (kind, addr, size))
    }
}
