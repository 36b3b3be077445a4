//! What a thread has told lately where possible accesses are: whoever does the same again has nothing to tell.
//!
//! Of races, a step that has accessed some bytes has nothing to add by another access of the kind under the same locks, whatever it did
//! between ([`TaskAnalysis::ONLY_RACES`]), and be one of them possible and the other one real: the second cells that have one of them do without
//! the other one. Other analyses say whether there is more to tell as long as neither locks nor blocks change.
//!
//! **Who may touch what.** [`Told`]: its thread.
//!
//! [`TaskAnalysis::ONLY_RACES`]: keirin_core::analysis::tasks::TaskAnalysis::ONLY_RACES

use crate::layout::WORD_BYTES;
use keirin_core::event::AccessKind;

/// Accesses that a thread remembers.
const ENTRIES: usize = 1 << 11;

/// Who does something: the step, and its locks or whatever else must be the same; and in which life of the memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct By {
    pub(super) step: u32,
    /// The set of locks; or the version of their history, and the block.
    pub(super) under: (u32, u32),
    pub(super) lives: u32,
}

const NOBODY: By = By { step: 0, under: (0, 0), lives: 0 };

/// What a thread has told.
pub(super) struct Told(Box<[(u64, By)]>);

impl Default for Told {
    fn default() -> Self {
        Self(vec![(0, NOBODY); ENTRIES].into())
    }
}

impl Told {
    /// A number for an access of some bytes of a word, and where it is kept.
    #[inline]
    fn number(kind: AccessKind, word: usize, mask: u8) -> (u64, usize) {
        let word = word / WORD_BYTES;
        let number = (word as u64) << 9 | u64::from(mask) << 1 | u64::from(kind == AccessKind::Write);
        // Stretches of memory begin at different places; reads and writes of a word have two of them.
        let place = (word << 1 | usize::from(kind == AccessKind::Write))
            .wrapping_add((word >> 10).wrapping_mul(0x9e37));
        (number, place % ENTRIES)
    }

    #[inline]
    pub(super) fn has(&self, (kind, word, mask): (AccessKind, usize, u8), by: By) -> bool {
        let (number, place) = Self::number(kind, word, mask);
        self.0[place] == (number, by)
    }

    #[inline]
    pub(super) fn add(&mut self, (kind, word, mask): (AccessKind, usize, u8), by: By) {
        let (number, place) = Self::number(kind, word, mask);
        self.0[place] = (number, by);
    }

    /// Steps have other numbers from now on.
    pub(super) fn clear(&mut self) {
        self.0.fill((0, NOBODY));
    }
}
