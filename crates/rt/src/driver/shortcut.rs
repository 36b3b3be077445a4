//! The commonest accesses, without asking the analysis in full. The state of the thread is its own, that of memory is changed under the lock of
//! its word (see `shadow::shortcut`).

use super::Driver;
use crate::layout;
use crate::shadow::{Shadowed, Word, Words, words};
use crate::thread::Thread;
use keirin_core::event::{AccessKind, MemoryOrder, Op};
use keirin_core::finding::{Moment, RawStep};

impl<A: Shadowed> Driver<A> {
    /// The commonest accesses of all, in the epoch whose bits are given: see [`Word::shortest`]. Calls nothing. False: nothing was done, or the
    /// first of two words, which changes nothing when it is told again. Only if nothing is recorded.
    #[inline(always)]
    pub(crate) fn shortest(
        thread: &mut Thread,
        epoch: u64,
        kind: AccessKind,
        addr: usize,
        size: usize,
        pc: usize,
    ) -> bool {
        let (Some(place), 0) = (thread.recent_place(pc, size as u32), thread.ignoring) else { return false };
        let new = epoch | u64::from(place);
        let state = Self::state(thread);
        let half_bytes = layout::WORD_BYTES / 2;
        let word = |addr: usize| Word::of(addr).shortest::<A>(state, new, kind);
        let done = if size <= half_bytes {
            let offset = addr % half_bytes;
            let bytes = (((1u32 << size) - 1) << offset) as u8;
            let is_upper = addr % layout::WORD_BYTES >= half_bytes;
            offset + size <= half_bytes
                && Word::of(addr).shortest_half::<A>(state, new, kind, is_upper, bytes)
        } else {
            addr.is_multiple_of(layout::WORD_BYTES)
                && match size {
                    8 => word(addr),
                    16 => word(addr) && word(addr + layout::WORD_BYTES),
                    _ => false,
                }
        };
        thread.accesses += u64::from(done);
        done
    }

    /// The same for a word with a cell that nobody else has accessed.
    #[inline(always)]
    pub(crate) fn shortest_own(
        thread: &mut Thread,
        epoch: u64,
        kind: AccessKind,
        addr: usize,
        pc: usize,
    ) -> bool {
        let word = Word::of(addr);
        let Some(cell) = word.own_cell(epoch) else { return false };
        let size = layout::WORD_BYTES as u32;
        let (Some(place), 0) = (thread.recent_place(pc, size), thread.ignoring) else { return false };
        let done = word.access_own(epoch | u64::from(place), kind, cell);
        thread.accesses += u64::from(done);
        done
    }

    /// The commonest accesses, without asking the analysis in full. False: it must be asked.
    #[inline(always)]
    pub(crate) fn shortcut(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        addr: usize,
        size: usize,
        pc: usize,
    ) -> bool {
        if !A::COMPACT || self.recorder.is_some() || thread.ignoring > 0 {
            return false;
        }
        // As in `Watcher::access`: ranges have no size in their place.
        let told_size = if size <= 16 { size as u32 } else { 0 };
        let new = thread.epoch_bits() | u64::from(thread.place(pc, told_size));
        let state = Self::state(thread);
        let offset = addr % layout::WORD_BYTES;
        let done = if offset + size <= layout::WORD_BYTES {
            let mask = (((1u32 << size) - 1) << offset) as u8;
            Word::of(addr).shortcut::<A>(state, new, kind, mask)
        } else {
            Self::shortcut_words(state, new, kind, addr, size)
        };
        thread.accesses += u64::from(done);
        done
    }

    /// The same for words of a range of so many bytes, in an epoch whose bits are given. Only if nothing is recorded.
    #[inline(always)]
    pub(crate) fn shortcut_range(
        thread: &mut Thread,
        (epoch, kind, pc): (u64, AccessKind, usize),
        size: usize,
        mut words: Words,
    ) -> bool {
        if thread.ignoring > 0 {
            return false;
        }
        let new = epoch | u64::from(thread.place(pc, if size <= 16 { size as u32 } else { 0 }));
        let state = Self::state(thread);
        // Mostly whole words, one after the other.
        let done = loop {
            let Some((word, mask)) = words.peek() else { break true };
            let short = mask == 0xff && Word::of(word).shortest::<A>(state, new, kind);
            if !short && !Self::shortcut_word(state, new, kind, Word::of(word), mask) {
                break false;
            }
            words.next();
            while let Some(word) = words.next_whole() {
                let shadow = Word::of(word);
                if !shadow.shortest::<A>(state, new, kind)
                    && !Self::shortcut_word(state, new, kind, shadow, 0xff)
                {
                    return false;
                }
            }
        };
        thread.accesses += u64::from(done);
        done
    }

    /// A fence, which concerns nobody but the thread, and needs no place. False: nothing was done.
    #[inline(always)]
    pub(crate) fn fence_shortcut(&self, thread: &mut Thread, order: MemoryOrder) -> bool {
        if !A::COMPACT || self.recorder.is_some() || self.watching.exact_order || thread.sections.is_some() {
            return false;
        }
        let moment = Moment { position: thread.position, thread: thread.actor, ..Moment::default() };
        let (state, findings) = Self::parts(thread);
        self.analysis.fence(&RawStep { moment, op: Op::Fence { order } }, state, order, findings);
        if order.releases() {
            self.next_epoch(thread);
        }
        true
    }

    /// The same for one word. (Not inlined into a loop whose words mostly take the shortest way.)
    #[inline(never)]
    fn shortcut_word(state: &A::Thread, new: u64, kind: AccessKind, word: &Word, mask: u8) -> bool {
        word.shortcut::<A>(state, new, kind, mask)
    }

    /// The same for several words. If one of them is not simple, those before it are told again, which changes nothing in the same epoch.
    #[inline(never)]
    fn shortcut_words(state: &A::Thread, new: u64, kind: AccessKind, addr: usize, size: usize) -> bool {
        words(addr, size).all(|(word, mask)| Word::of(word).shortcut::<A>(state, new, kind, mask))
    }
}
