//! What a thread has told lately where possible accesses are: whoever does the same again has nothing to tell.
//!
//! Of races, a step that has accessed some bytes has nothing to add by another access of the kind under the same locks, whatever it did
//! between ([`TaskAnalysis::ONLY_RACES`]): a real one nothing to a real one, and a possible one to neither. (What a real access
//! races with is more than what a possible one does, for one branch less has to go the other way.) Other analyses say whether there is more to
//! tell as long as neither locks nor blocks change; they have entries outside of blocks only.
//!
//! An entry counts for one word, step and set of locks, until the word is forgotten ([`Forgotten`]).
//!
//! **Who may touch what.** [`Told`]: its thread.
//!
//! [`TaskAnalysis::ONLY_RACES`]: keirin_core::analysis::tasks::TaskAnalysis::ONLY_RACES

use crate::arena::{self, MayBeZero};
use crate::layout::WORD_BYTES;
use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::event::AccessKind;

/// Words that a thread remembers.
const ENTRIES: usize = 1 << 13;
/// An address has 47 bits, of which a word needs three less. Above them an entry has as much of the phase as there is room for.
const PHASE_SHIFT: u32 = 44;
const PHASES: u32 = 1 << (u64::BITS - PHASE_SHIFT);

/// An access of some bytes of a word.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) kind: AccessKind,
    pub(super) word: usize,
    pub(super) mask: u8,
    pub(super) is_possible: bool,
}

/// Who does something: the step, and its set of locks, or the version of their history.
#[derive(Clone, Copy)]
pub(super) struct By {
    pub(super) step: u32,
    pub(super) under: u32,
}

impl PartialEq for By {
    /// In one comparison.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let number = |by: &Self| u64::from(by.step) << 32 | u64::from(by.under);
        number(self) == number(other)
    }
}

/// Bytes of a word that were accessed in each way, a byte for each: really read, and perhaps; really written, and perhaps.
#[derive(Clone, Copy)]
struct Bytes(u32);

impl Bytes {
    #[inline]
    fn shift(kind: AccessKind, is_possible: bool) -> u32 {
        u32::from(kind == AccessKind::Write) << 4 | u32::from(is_possible) << 3
    }

    #[inline]
    fn of(self, kind: AccessKind, is_possible: bool) -> u8 {
        (self.0 >> Self::shift(kind, is_possible)) as u8
    }

    #[inline]
    fn of_either(self, kind: AccessKind) -> u8 {
        self.of(kind, false) | self.of(kind, true)
    }
}

/// What was told of a word under some locks.
#[derive(Clone, Copy)]
struct Entry {
    /// The number of the word, and of the phase; 0 is none.
    word: u64,
    by: By,
    /// The version of the word by then.
    version: u32,
    bytes: Bytes,
}

// SAFETY: numbers, of which zero is as good as any other.
unsafe impl MayBeZero for Entry {}

const NOTHING: Entry = Entry { word: 0, by: By { step: 0, under: 0 }, version: 0, bytes: Bytes(0) };

/// What was forgotten.
pub(super) trait Forgotten {
    /// How often all that was told came before all that follows.
    fn phase(&self) -> u32;
    /// Another one each time that the word is forgotten.
    fn version(&self, word: usize) -> u32;
}

/// What a thread has told.
pub(super) struct Told {
    entries: Box<[Entry; ENTRIES]>,
    phase: u32,
}

impl Default for Told {
    fn default() -> Self {
        let entries = arena::zeros(ENTRIES).try_into().unwrap_or_else(|_| unreachable!("there are so many"));
        Self { entries, phase: 0 }
    }
}

impl Told {
    /// The number of a word, and where its entry is.
    #[inline(always)]
    fn place(&self, word: usize, by: By) -> (u64, usize) {
        let number = word / WORD_BYTES;
        // Stretches of memory begin at different places, and so do the same words under other locks.
        let place = number.wrapping_add((number >> 10 ^ by.under as usize).wrapping_mul(0x9e37));
        (number as u64 | u64::from(self.phase % PHASES) << PHASE_SHIFT, place % ENTRIES)
    }

    /// What was told of a word, if it still counts.
    #[inline(always)]
    fn bytes(&self, word: usize, by: By, forgotten: &impl Forgotten) -> Option<Bytes> {
        let (number, place) = self.place(word, by);
        let entry = &self.entries[place];
        let is_it = entry.word == number && entry.by == by && entry.version == forgotten.version(word);
        is_it.then_some(entry.bytes)
    }

    #[inline]
    pub(super) fn has(&self, access: Access, by: By, forgotten: &impl Forgotten) -> bool {
        let Access { kind, word, mask, is_possible } = access;
        self.bytes(word, by, forgotten).is_some_and(|bytes| bytes.of(kind, is_possible) & mask == mask)
    }

    /// True if an access that is possible, or a real one of the kind, was told; or a write, whatever the kind is, if it is all about races: what
    /// races with a read races with a write.
    #[inline(always)]
    pub(super) fn has_any<A: TaskAnalysis>(
        &self,
        kind: AccessKind,
        (word, mask): (usize, u8),
        by: By,
        forgotten: &impl Forgotten,
    ) -> bool {
        self.bytes(word, by, forgotten).is_some_and(|bytes| {
            let written = bytes.of_either(AccessKind::Write);
            let told = match kind {
                AccessKind::Write => written,
                AccessKind::Read if A::ONLY_RACES => written | bytes.of_either(AccessKind::Read),
                AccessKind::Read => bytes.of_either(AccessKind::Read),
            };
            told & mask == mask
        })
    }

    #[inline]
    pub(super) fn add(&mut self, access: Access, by: By, forgotten: &impl Forgotten) {
        let Access { kind, word, mask, is_possible } = access;
        let (number, place) = self.place(word, by);
        let version = forgotten.version(word);
        let entry = &mut self.entries[place];
        if entry.word != number || entry.by != by || entry.version != version {
            *entry = Entry { word: number, by, version, ..NOTHING };
        }
        entry.bytes.0 |= u32::from(mask) << Bytes::shift(kind, is_possible);
    }

    /// What was told in another phase counts no more.
    #[inline]
    pub(super) fn renew(&mut self, forgotten: &impl Forgotten) {
        let phase = forgotten.phase();
        if self.phase / PHASES != phase / PHASES {
            self.clear();
        }
        self.phase = phase;
    }

    /// Nothing of what was told counts, for steps have other numbers from now on.
    #[cold]
    pub(super) fn clear(&mut self) {
        self.entries.fill(NOTHING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::analysis::tasks::atomicity::TaskAtomicity;
    use keirin_core::analysis::tasks::ptracer::PtRacer;

    const ACCESS: Access = Access { kind: AccessKind::Read, word: 0x1000, mask: 0x0f, is_possible: false };
    const BY: By = By { step: 3, under: 5 };

    /// What was forgotten: one word, so often.
    #[derive(Default)]
    struct Last {
        word: usize,
        version: u32,
        phase: u32,
    }

    impl Forgotten for Last {
        fn phase(&self) -> u32 {
            self.phase
        }

        fn version(&self, word: usize) -> u32 {
            if word == self.word { self.version } else { 0 }
        }
    }

    #[test]
    fn nothing_but_the_same_access_of_a_step_under_the_same_locks_was_told() {
        let mut told = Told::default();
        let last = Last::default();
        let has = |told: &Told, access, by| told.has(access, by, &last);
        assert!(!has(&told, ACCESS, BY));
        told.add(ACCESS, BY, &last);
        assert!(has(&told, ACCESS, BY));
        assert!(told.has_any::<PtRacer>(ACCESS.kind, (ACCESS.word, ACCESS.mask), BY, &last), "a real one");
        assert!(!has(&told, ACCESS, By { step: 4, ..BY }), "another step");
        assert!(!has(&told, ACCESS, By { under: 6, ..BY }), "other locks");
        assert!(!has(&told, Access { kind: AccessKind::Write, ..ACCESS }, BY), "another kind");
        assert!(!has(&told, Access { mask: 0xff, ..ACCESS }, BY), "more bytes");
        assert!(!has(&told, Access { is_possible: true, ..ACCESS }, BY), "a possible one");
        for distance in 1..=2 * ENTRIES {
            let word = ACCESS.word + distance * WORD_BYTES;
            assert!(!has(&told, Access { word, ..ACCESS }, BY), "other memory");
        }
        told.add(Access { mask: 0xf0, ..ACCESS }, BY, &last);
        assert!(has(&told, Access { mask: 0xff, ..ACCESS }, BY), "all bytes by now");
    }

    #[test]
    fn a_possible_access_was_told_by_itself_or_by_a_real_one() {
        let last = Last::default();
        for is_possible in [false, true] {
            for kind in [AccessKind::Read, AccessKind::Write] {
                let mut told = Told::default();
                let at = (ACCESS.word, ACCESS.mask);
                told.add(Access { kind, is_possible, ..ACCESS }, BY, &last);
                let races = |kind, at, by| told.has_any::<PtRacer>(kind, at, by, &last);
                assert!(races(kind, at, BY));
                let other = if kind == AccessKind::Read { AccessKind::Write } else { AccessKind::Read };
                assert!(!told.has_any::<TaskAtomicity>(other, at, BY, &last), "another kind");
                let is_write = kind == AccessKind::Write;
                assert_eq!(races(other, at, BY), is_write, "a read of what was written");
                assert!(!races(kind, (ACCESS.word, 0xff), BY), "more bytes");
                assert!(!races(kind, (ACCESS.word + WORD_BYTES, ACCESS.mask), BY), "another word");
                assert!(!races(kind, at, By { under: 6, ..BY }), "other locks");
            }
        }
    }

    #[test]
    fn what_was_told_before_memory_was_forgotten_counts_no_more() {
        let other = Access { word: ACCESS.word + WORD_BYTES, ..ACCESS };
        let more = Access { mask: 0xf0, ..ACCESS };
        let mut told = Told::default();
        let mut last = Last { word: ACCESS.word, ..Last::default() };
        told.add(ACCESS, BY, &last);
        told.add(other, BY, &last);
        last.version = 1;
        assert!(!told.has(ACCESS, BY, &last), "it was forgotten");
        assert!(told.has(other, BY, &last), "other memory was not");
        told.add(more, BY, &last);
        assert!(told.has(more, BY, &last), "nothing was forgotten since");
        assert!(!told.has(ACCESS, BY, &last), "not what was told before");
    }

    #[test]
    fn what_was_told_in_another_phase_counts_no_more() {
        for phases in [1, PHASES - 1, PHASES, PHASES + 1] {
            let mut told = Told::default();
            let mut last = Last { phase: 7, ..Last::default() };
            told.renew(&last);
            told.add(ACCESS, BY, &last);
            assert!(told.has(ACCESS, BY, &last));
            last.phase += phases;
            told.renew(&last);
            assert!(!told.has(ACCESS, BY, &last), "after {phases} phases");
        }
    }
}
