//! The shadow against a model with one cell for each byte.
//!
//! The addresses are made up: only their shadow is touched. What the shadow counts is the same for all tests, so they run
//! one at a time ([`alone`]), each on memory of its own.

mod actors;
mod counters;
mod forgetting;
mod hooks;
mod machine;
mod sequences;
mod stress;

use super::Word;
use crate::layout::WORD_BYTES;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Records and tables that are there.
static KEPT: AtomicIsize = AtomicIsize::new(0);

/// A record or a table is made.
pub(super) fn made() {
    KEPT.fetch_add(1, Ordering::Relaxed);
}

/// A record or a table is given back.
pub(super) fn given_back() {
    KEPT.fetch_sub(1, Ordering::Relaxed);
}

/// How many records and tables there are.
fn kept() -> isize {
    KEPT.load(Ordering::Relaxed)
}

/// Waits until no other test uses the shadow.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    crate::start::map_for_tests();
    turn
}

/// How many words of a range have a record or a table.
fn words_with_more(base: usize, size: usize) -> isize {
    let more = |word: &usize| super::is_elsewhere(Word::of(*word).0[1].load(Ordering::Relaxed));
    (base..base + size).step_by(WORD_BYTES).filter(more).count() as isize
}
