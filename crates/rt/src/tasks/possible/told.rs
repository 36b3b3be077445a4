//! What a thread has told lately where possible accesses are: whoever does the same again has nothing to tell.
//!
//! Of races, a step that has accessed some bytes has nothing to add by another access of the kind under the same locks, whatever it did
//! between ([`TaskAnalysis::ONLY_RACES`]): a real one nothing to a real one, and a possible one to neither. (What a real access
//! races with is more than what a possible one does, for one branch less has to go the other way.) Other analyses say whether there is more to
//! tell as long as neither locks nor blocks change; they have entries outside of blocks only.
//!
//! **Who may touch what.** [`Told`]: its thread.
//!
//! [`TaskAnalysis::ONLY_RACES`]: keirin_core::analysis::tasks::TaskAnalysis::ONLY_RACES

use crate::layout::WORD_BYTES;
use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::event::AccessKind;

/// Accesses that a thread remembers.
const ENTRIES: usize = 1 << 13;

/// An address has 47 bits, of which a word needs three less.
const NUMBER_BITS: u32 = 44 + 10;
/// Above these an entry says how much was forgotten by then, as far as there is room.
const ERAS: u32 = 1 << (u64::BITS - NUMBER_BITS);

/// An access of some bytes of a word.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) kind: AccessKind,
    pub(super) word: usize,
    pub(super) mask: u8,
    pub(super) is_possible: bool,
}

impl Access {
    /// A number that no other one has, of at most [`NUMBER_BITS`], and where it is kept.
    #[inline]
    fn number(self) -> (u64, usize) {
        let word = self.word / WORD_BYTES;
        let kind = usize::from(self.kind == AccessKind::Write) << 1 | usize::from(self.is_possible);
        // Stretches of memory begin at different places; the four kinds of a word have places side by side, in one line of the cache.
        let place = (word << 2).wrapping_add((word >> 9).wrapping_mul(0x9e37 << 2)) | kind;
        ((word as u64) << 10 | u64::from(self.mask) << 2 | kind as u64, place % ENTRIES)
    }
}

/// Who does something: the step, and its set of locks, or the version of their history.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct By {
    pub(super) step: u32,
    pub(super) under: u32,
}

const NOTHING: (u64, By) = (0, By { step: 0, under: 0 });

/// What a thread has told.
pub(super) struct Told {
    entries: Box<[(u64, By)]>,
    /// How much was forgotten by then.
    forgotten: u32,
}

impl Default for Told {
    fn default() -> Self {
        Self { entries: vec![NOTHING; ENTRIES].into(), forgotten: 0 }
    }
}

impl Told {
    #[inline]
    pub(super) fn has(&self, access: Access, by: By) -> bool {
        let (number, place) = access.number();
        self.entries[place] == (self.dated(number), by)
    }

    /// True if an access that is possible, or a real one of the kind, was told; or a write, whatever the kind is, if it is all about races: what
    /// races with a read races with a write.
    #[inline]
    pub(super) fn has_any<A: TaskAnalysis>(
        &self,
        kind: AccessKind,
        (word, mask): (usize, u8),
        by: By,
    ) -> bool {
        let of_kind = |kind| {
            let (number, place) = Access { kind, word, mask, is_possible: false }.number();
            let number = self.dated(number);
            self.entries[place] == (number, by) || self.entries[place | 1] == (number | 1, by)
        };
        of_kind(kind) || (A::ONLY_RACES && kind == AccessKind::Read && of_kind(AccessKind::Write))
    }

    #[inline]
    pub(super) fn add(&mut self, access: Access, by: By) {
        let (number, place) = access.number();
        self.entries[place] = (self.dated(number), by);
    }

    #[inline]
    fn dated(&self, number: u64) -> u64 {
        number | u64::from(self.forgotten) << NUMBER_BITS
    }

    /// Memory with possible accesses was forgotten so often: what was told before counts no more.
    #[inline]
    pub(super) fn renew(&mut self, forgotten: u32) {
        if self.forgotten / ERAS != forgotten / ERAS {
            self.clear();
        }
        self.forgotten = forgotten;
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

    #[test]
    fn nothing_but_the_same_access_of_a_step_under_the_same_locks_was_told() {
        let mut told = Told::default();
        assert!(!told.has(ACCESS, BY));
        told.add(ACCESS, BY);
        assert!(told.has(ACCESS, BY));
        assert!(told.has_any::<PtRacer>(ACCESS.kind, (ACCESS.word, ACCESS.mask), BY), "a real one");
        assert!(!told.has(ACCESS, By { step: 4, ..BY }), "another step");
        assert!(!told.has(ACCESS, By { under: 6, ..BY }), "other locks");
        assert!(!told.has(Access { kind: AccessKind::Write, ..ACCESS }, BY), "another kind");
        assert!(!told.has(Access { mask: 0xff, ..ACCESS }, BY), "more bytes");
        assert!(!told.has(Access { is_possible: true, ..ACCESS }, BY), "a possible one");
        assert!(!told.has(Access { word: ACCESS.word + ENTRIES * WORD_BYTES, ..ACCESS }, BY), "other memory");
    }

    #[test]
    fn a_possible_access_was_told_by_itself_or_by_a_real_one() {
        for is_possible in [false, true] {
            for kind in [AccessKind::Read, AccessKind::Write] {
                let mut told = Told::default();
                let at = (ACCESS.word, ACCESS.mask);
                told.add(Access { kind, is_possible, ..ACCESS }, BY);
                assert!(told.has_any::<PtRacer>(kind, at, BY));
                let other = if kind == AccessKind::Read { AccessKind::Write } else { AccessKind::Read };
                assert!(!told.has_any::<TaskAtomicity>(other, at, BY), "another kind");
                let is_write = kind == AccessKind::Write;
                assert_eq!(told.has_any::<PtRacer>(other, at, BY), is_write, "a read of what was written");
                assert!(!told.has_any::<PtRacer>(kind, (ACCESS.word, 0xff), BY), "more bytes");
                let next = (ACCESS.word + WORD_BYTES, ACCESS.mask);
                assert!(!told.has_any::<PtRacer>(kind, next, BY), "another word");
                assert!(!told.has_any::<PtRacer>(kind, at, By { under: 6, ..BY }), "other locks");
            }
        }
    }

    #[test]
    fn what_was_told_before_memory_was_forgotten_counts_no_more() {
        for forgotten in [1, ERAS - 1, ERAS, ERAS + 1, 7 * ERAS] {
            let mut told = Told::default();
            told.add(ACCESS, BY);
            told.renew(forgotten);
            assert!(!told.has(ACCESS, BY), "forgotten {forgotten} times");
            told.add(ACCESS, BY);
            told.renew(forgotten);
            assert!(told.has(ACCESS, BY), "nothing was forgotten since");
        }
    }
}
