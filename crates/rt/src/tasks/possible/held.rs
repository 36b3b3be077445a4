//! Possible accesses that are held back until their step ends.
//!
//! Of races it does not matter in which order the accesses of a step come, and what a step does itself says all that a possible access of the
//! kind under the same locks would say. So a step tells its possible accesses when it ends, and leaves out which of them it has done meanwhile: most of
//! them, where a loop goes one way for some of its elements and the other way for others that share memory with them.
//!
//! They are told before anything of what the step knows, or others know of it, changes: before it ends, lets others know what it did, or
//! learns what others did; and before its thread gives back some of the memory: that is compared with what others have done, and not kept, as
//! nobody comes there later. Memory that another thread gives back meanwhile is another's when the
//! step ends: what was held back of it is dropped (its [versions](super::Possible::versions_of) tell). Words far apart may share a version, and then what is
//! held back of one is dropped when the other one is given back. What a thread holds back that still runs when the program ends is not told.
//!
//! **Who may touch what.** [`Held`]: its thread.

use super::super::{TaskDriver, Worker};
use super::told::{Access, By};
use super::{Memory, What};
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
    /// The versions of its memory by then.
    versions: u32,
    /// The one before that begins in a stretch of memory of the same number, if there is one.
    before: Option<u32>,
}

/// Stretches of memory have so many numbers, and so many bytes.
const STRETCHES: usize = 1 << 8;
const STRETCH_BYTES: usize = 1 << 9;
/// Of more memory that is given back all is told: it would take as long to look for what is there.
const MUCH: usize = 32 * STRETCH_BYTES;

/// What a thread holds back.
pub(super) struct Held {
    list: Vec<HeldBack>,
    /// The last one of each stretch of memory.
    last: Box<[Option<u32>; STRETCHES]>,
}

impl Default for Held {
    fn default() -> Self {
        Self { list: Vec::new(), last: Box::new([None; STRETCHES]) }
    }
}

impl Held {
    fn number(addr: usize) -> usize {
        addr / STRETCH_BYTES % STRETCHES
    }

    fn push(&mut self, what: What, locks: LocksetId, versions: u32) {
        let last = &mut self.last[Self::number(what.addr)];
        let before = last.replace(self.list.len() as u32);
        self.list.push(HeldBack { what, locks, versions, before });
    }

    fn take_all(&mut self) -> Vec<HeldBack> {
        self.last.fill(None);
        std::mem::take(&mut self.list)
    }

    /// Takes those that access something between two addresses, which are not far from each other. Nothing is left in their places.
    fn take_of(&mut self, from: usize, to: usize) -> Vec<HeldBack> {
        let mut taken = Vec::new();
        let first = from.saturating_sub(LARGEST) / STRETCH_BYTES;
        for stretch in first..=(to - 1) / STRETCH_BYTES {
            let mut next = self.last[stretch % STRETCHES];
            while let Some(held) = next.and_then(|index| self.list.get_mut(index as usize)) {
                next = held.before;
                if held.what.addr < to && from < held.what.addr + held.what.size {
                    taken.push(*held);
                    held.what.size = 0;
                }
            }
        }
        taken
    }
}

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
            let access = Access { kind, word, mask, is_possible: true };
            worker.beside.told.add(access, by, &self.possible);
        }
    }

    /// Keeps a possible access until the step ends.
    pub(super) fn hold_back(&self, thread: &mut Thread, what: What, locks: LocksetId) {
        let (worker, _) = Self::parts_at_once(thread);
        worker.beside.held.push(what, locks, self.possible.versions_of(what.addr, what.size));
        if worker.beside.held.list.len() == MOST {
            self.tell_all_held(thread);
        }
    }

    /// Tells what the running step holds back, for it ends, or something else changes for it.
    #[inline(always)]
    pub(in super::super) fn tell_held(&self, thread: &mut Thread) {
        if A::ONLY_RACES && !Self::parts_at_once(thread).0.beside.held.list.is_empty() {
            // What was really done is known by then.
            self.tell_pending(thread);
            self.tell_all_held(thread);
        }
    }

    /// The same, of a range of memory that the thread gives back, or gets.
    #[inline(always)]
    pub(in super::super) fn tell_held_of(&self, thread: &mut Thread, addr: usize, size: usize) {
        if A::ONLY_RACES
            && !Self::parts_at_once(thread).0.beside.held.list.is_empty()
            && self.possible.may_be_held(addr, size)
        {
            self.tell_part_of_held(thread, addr, size);
        }
    }

    #[inline(never)]
    fn tell_part_of_held(&self, thread: &mut Thread, addr: usize, size: usize) {
        if size > MUCH {
            return self.tell_held(thread);
        }
        // All of the words: what is held back of them is void afterwards.
        let (from, to) = (addr & !(WORD_BYTES - 1), (addr + size).next_multiple_of(WORD_BYTES));
        let taken = Self::parts_at_once(thread).0.beside.held.take_of(from, to);
        if !taken.is_empty() {
            self.tell_pending(thread);
            self.tell_these(thread, &taken, |what| {
                let is_within = addr <= what.addr && what.addr + what.size <= addr + size;
                if is_within { Memory::Vanishes } else { Memory::Stays }
            });
        }
    }

    #[inline(never)]
    fn tell_all_held(&self, thread: &mut Thread) {
        let (worker, _) = Self::parts_at_once(thread);
        let mut all = worker.beside.held.take_all();
        self.tell_these(thread, &all, |_| Memory::Stays);
        // Its memory is used again.
        all.clear();
        Self::parts_at_once(thread).0.beside.held.list = all;
    }

    /// Tells what was held back; `memory` says what becomes of its memory.
    fn tell_these(&self, thread: &mut Thread, these: &[HeldBack], memory: impl Fn(What) -> Memory) {
        let (worker, _) = self.at_gate(thread);
        // A side may be just being told.
        let open = worker.side.take();
        for held in these {
            let (worker, _) = Self::parts_at_once(thread);
            if held.what.size > 0 && !self.is_void_or_done(worker, *held) {
                self.tell_possible_under(thread, held.what, held.locks, memory(held.what));
            }
        }
        Self::parts_at_once(thread).0.side = open;
        self.after(thread);
    }

    /// Tells a possible access under some locks, while no side is being told.
    pub(super) fn tell_possible_under(
        &self,
        thread: &mut Thread,
        what: What,
        locks: LocksetId,
        memory: Memory,
    ) {
        let (worker, _) = Self::parts_at_once(thread);
        if worker.data.history.locks() != locks {
            let mut side = std::mem::take(&mut worker.beside.side_before);
            side.renew_with(locks);
            worker.side = Some(side);
        }
        self.tell_possible(thread, what, None, memory);
        let (worker, _) = Self::parts_at_once(thread);
        if let Some(side) = worker.side.take() {
            worker.beside.side_before = side;
        }
    }

    /// True if what is held back is about memory of which nothing is known any more, or the step has done it itself.
    #[inline]
    fn is_void_or_done(&self, worker: &mut Worker, held: HeldBack) -> bool {
        let HeldBack { what: What { kind, addr, size, .. }, locks, versions, .. } = held;
        if self.possible.versions_of(addr, size) != versions {
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

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: usize = 0x10_0000;

    fn addresses(taken: &[HeldBack]) -> Vec<usize> {
        taken.iter().map(|held| held.what.addr - BASE).collect()
    }

    #[test]
    fn what_is_taken_of_a_range_is_what_accesses_it() {
        let mut held = Held::default();
        // One reaches over the end of its stretch, and one has the number of the first stretch although it lies elsewhere.
        let far = STRETCH_BYTES * STRETCHES;
        for (offset, size) in [(0, 8), (STRETCH_BYTES - 8, 16), (STRETCH_BYTES + 8, 8), (far, 8), (4, 4)] {
            let what = What { kind: AccessKind::Read, addr: BASE + offset, size, place: 0 };
            held.push(what, LocksetId::EMPTY, 0);
        }
        let second = BASE + STRETCH_BYTES;
        assert_eq!(addresses(&held.take_of(second, second + 8)), [STRETCH_BYTES - 8]);
        assert_eq!(addresses(&held.take_of(second, second + 8)), [0; 0], "it was taken");
        assert_eq!(addresses(&held.take_of(BASE + 4, BASE + 8)), [4, 0]);
        assert_eq!(addresses(&held.take_of(second, second + 16)), [STRETCH_BYTES + 8]);
        let left: Vec<_> = held.take_all().into_iter().filter(|held| held.what.size > 0).collect();
        assert_eq!(addresses(&left), [far]);
        assert_eq!(addresses(&held.take_of(BASE + far, BASE + far + 8)), [0; 0], "all were taken");
    }
}
