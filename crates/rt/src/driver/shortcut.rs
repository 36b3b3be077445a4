//! The commonest accesses, without asking the analysis in full. The state of the thread is its own, that of memory is changed under the lock of
//! its word (see `shadow::shortcut`).

use super::Driver;
use crate::layout;
use crate::shadow::{Shadowed, Word, words};
use crate::thread::Thread;
use keirin_core::event::AccessKind;

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

    /// The same for several words. If one of them is not simple, those before it are told again, which changes nothing in the same epoch.
    #[inline(never)]
    fn shortcut_words(state: &A::Thread, new: u64, kind: AccessKind, addr: usize, size: usize) -> bool {
        words(addr, size).all(|(word, mask)| Word::of(word).shortcut::<A>(state, new, kind, mask))
    }
}
