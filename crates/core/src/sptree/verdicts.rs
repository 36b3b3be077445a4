//! Answers that were given before.
//!
//! **Paper.** Both task papers put a cache of common ancestors in front of the tree. It is one of verdicts here, since
//! that is all an analysis asks for: how a recorded step stands to the present one.
//!
//! The place of an answer depends on both steps and nothing else, and a new answer takes the place of the old one.
//! Verdicts never change while both steps live; when ids are used again ([`super::Structure::forget_collapsed`]), all of them
//! have to be dropped with [`Verdicts::clear`].
//!
//! **Cost.** 12 bytes for each place, one of them touched by a question.
//!
//! **State.** Questions write. Whoever asks has its own cache.

use super::{Relation, Relations, StepId};

/// How many answers are kept, a power of two. With 12 bytes each they stay in the second level of a processor's caches.
const PLACES: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Entry {
    past: StepId,
    present: StepId,
    relation: Relation,
}

/// Nobody asks about no step, so this is found by no question.
const EMPTY: Entry = Entry { past: StepId::NONE, present: StepId::NONE, relation: Relation::Before };

/// A cache of verdicts in front of a structure.
#[derive(Debug)]
pub struct Verdicts {
    entries: Box<[Entry; PLACES]>,
    questions: u64,
    hits: u64,
}

impl Default for Verdicts {
    fn default() -> Self {
        Self { entries: Box::new([EMPTY; PLACES]), questions: 0, hits: 0 }
    }
}

impl Verdicts {
    /// How a past step stands to the present one, as [`Relations::relation`] says.
    #[inline]
    pub fn relation<S: Relations>(&mut self, structure: &S, past: StepId, present: StepId) -> Relation {
        self.questions += 1;
        let entry = &mut self.entries[place(past, present)];
        if entry.past == past && entry.present == present {
            self.hits += 1;
            return entry.relation;
        }
        let relation = structure.relation(past, present);
        *entry = Entry { past, present, relation };
        relation
    }

    /// Drops all answers. To be called whenever ids of steps may be used again.
    pub fn clear(&mut self) {
        self.entries.fill(EMPTY);
    }

    /// How many questions were asked.
    pub fn questions(&self) -> u64 {
        self.questions
    }

    /// How many of them were answered without the structure.
    pub fn hits(&self) -> u64 {
        self.hits
    }
}

/// Steps near each other get different places; the present step, which changes seldom, moves all of them.
#[inline]
fn place(past: StepId, present: StepId) -> usize {
    (past.0 ^ present.0.wrapping_mul(0x9E37_79B1).rotate_left(12)) as usize % PLACES
}
