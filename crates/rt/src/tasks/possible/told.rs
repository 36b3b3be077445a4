//! What a thread has told lately where possible accesses are: whoever does the same again has nothing to tell.
//!
//! Of races, a step that has accessed some bytes has nothing to add by another access of the kind under the same locks, whatever it did
//! between ([`TaskAnalysis::ONLY_RACES`]): a real one nothing to a real one, and a possible one to neither. (What a real access
//! races with is more than what a possible one does, for one branch less has to go the other way.) Other analyses say whether there is more to
//! tell as long as neither locks nor blocks change.
//!
//! **Who may touch what.** [`Told`]: its thread.
//!
//! [`TaskAnalysis::ONLY_RACES`]: keirin_core::analysis::tasks::TaskAnalysis::ONLY_RACES

use crate::layout::WORD_BYTES;
use keirin_core::event::AccessKind;

/// Accesses that a thread remembers.
const ENTRIES: usize = 1 << 12;

/// An access of some bytes of a word.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) kind: AccessKind,
    pub(super) word: usize,
    pub(super) mask: u8,
    pub(super) is_possible: bool,
}

impl Access {
    /// A number that no other one has, and where it is kept.
    #[inline]
    fn number(self) -> (u64, usize) {
        let word = self.word / WORD_BYTES;
        let kind = usize::from(self.kind == AccessKind::Write) << 1 | usize::from(self.is_possible);
        // Stretches of memory begin at different places; the four kinds of a word have places side by side.
        let place = (word << 2 | kind).wrapping_add((word >> 9).wrapping_mul(0x9e37));
        ((word as u64) << 10 | u64::from(self.mask) << 2 | kind as u64, place % ENTRIES)
    }
}

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
    #[inline]
    pub(super) fn has(&self, access: Access, by: By) -> bool {
        let (number, place) = access.number();
        self.0[place] == (number, by)
    }

    #[inline]
    pub(super) fn add(&mut self, access: Access, by: By) {
        let (number, place) = access.number();
        self.0[place] = (number, by);
    }

    /// Steps have other numbers from now on.
    pub(super) fn clear(&mut self) {
        self.0.fill((0, NOBODY));
    }
}
