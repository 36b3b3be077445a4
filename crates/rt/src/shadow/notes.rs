//! Notes in words whose cells are elsewhere, so that the hooks need not ask for them each time.

use super::{Locked, Shadowed, is_elsewhere};
use keirin_core::analysis::fasttrack::Compact;
use keirin_core::event::{AccessKind, ThreadId};
use std::sync::atomic::Ordering;

/// The numbers of a word that are notes if the cells are elsewhere: an epoch, and which bytes were accessed in it and, higher
/// up, which of them were written.
const NOTES: [usize; 3] = [0, 2, 3];
/// Which bytes were written is told so many bits above those that were accessed.
pub(crate) const NOTED_WRITES: u32 = 8;
pub(super) const NOTED: u64 = 0xffff;
// A place is never taken for a note.
const _: () = assert!(crate::places::FIRST as u64 > NOTED && NOTED >> Compact::SITE_BITS == 0);

/// Which of them is the usual one of an actor.
#[inline]
pub(crate) fn place_of_note(actor: ThreadId) -> usize {
    NOTES[actor.index() % NOTES.len()]
}

impl<A: Shadowed> Locked<'_, A> {
    /// Notes in a word whose cells are elsewhere that bytes were accessed in an epoch, so that the hooks need not tell it when
    /// that is done again. What others have noted about these bytes is void if either side has written them. Who finds no room
    /// takes that of another.
    #[inline]
    pub(crate) fn note(&mut self, epoch: u64, kind: AccessKind, mask: u8) {
        if !A::COMPACT || !is_elsewhere(self.head) {
            return;
        }
        let mask = u64::from(mask);
        let (mine, void) = match kind {
            AccessKind::Read => (mask, mask << NOTED_WRITES),
            AccessKind::Write => (mask | mask << NOTED_WRITES, mask | mask << NOTED_WRITES),
        };
        let actor = |number: u64| number >> (Compact::SITE_BITS + Compact::TIME_BITS);
        let usual = place_of_note(ThreadId(actor(epoch) as u32));
        let (mut free, mut own) = (None, None);
        for place in NOTES {
            let number = self.word.0[place].load(Ordering::Relaxed);
            if number == 0 {
                if free.is_none() || place == usual {
                    free = Some(place);
                }
            } else if actor(number) == actor(epoch) {
                own = Some(place);
            } else {
                self.void_note(place, void);
            }
        }
        let place = own.or(free).unwrap_or(usual);
        let number = self.word.0[place].load(Ordering::Relaxed);
        let same = own.is_some() && number >> Compact::SITE_BITS == epoch >> Compact::SITE_BITS;
        let before = if same { number & NOTED } else { 0 };
        self.word.0[place].store(epoch | before | mine, Ordering::Relaxed);
    }

    /// Something else has happened to these bytes: who accesses them must tell.
    #[inline(always)]
    pub(crate) fn forget_notes(&mut self, mask: u8) {
        if A::COMPACT && is_elsewhere(self.head) {
            let void = u64::from(mask) | u64::from(mask) << NOTED_WRITES;
            // (A closure here is not inlined, in what is done at each atomic operation.)
            for place in NOTES {
                self.void_note(place, void);
            }
        }
    }

    /// Takes bits away from a note, and the note if none is left.
    #[inline(always)]
    fn void_note(&self, place: usize, void: u64) {
        let number = self.word.0[place].load(Ordering::Relaxed);
        if number & void != 0 {
            let left = number & !void;
            self.word.0[place].store(if left & NOTED == 0 { 0 } else { left }, Ordering::Relaxed);
        }
    }
}
