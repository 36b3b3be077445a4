//! The words with possible accesses: which they are, and their second cells.
//!
//! **Who may touch what.** A word's second cells: who holds the lock of their part of the table, which is taken before that of
//! the word. Bits, their owners and the last steps are changed under the same lock, and read by everyone.

use crate::layout::WORD_BYTES;
use crate::shadow::{Cells, words as words_of};
use crate::spin::Spin;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::sptree::StepId;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes whose words have their bits in one number.
const BLOCK_BYTES: usize = 64 * WORD_BYTES;
/// Log2 of how many such numbers there are.
const BLOCKS_BITS: u32 = 16;
/// Parts of the table.
const PARTS: usize = 64;
/// In place of a stretch of memory: there is none, or there are several.
const NOBODY: usize = 0;
const OWNERS: usize = usize::MAX;
/// In place of a step: there are several, of which none comes after all others.
pub(super) const SEVERAL: u32 = StepId::NONE.0 - 1;
/// So many words can have second cells.
pub(super) const MOST_WORDS: usize = 1 << 20;

/// The words with possible accesses, each with its second cells.
pub(super) type Part<A> = FxHashMap<usize, Cells<<A as keirin_core::analysis::tasks::TaskAnalysis>::Cell>>;

/// All possible accesses.
pub(in crate::tasks) struct Possible<A: KeepsPlain> {
    pub(super) any: AtomicBool,
    bits: Box<[AtomicU64]>,
    /// For each of these numbers the one stretch of memory whose words have their bits there; or [`NOBODY`], or [`OWNERS`].
    owners: Box<[AtomicUsize]>,
    /// For each of them the step that all others with possible accesses there come before; or [`SEVERAL`].
    pub(super) last_steps: Box<[AtomicU32]>,
    parts: Box<[Spin<Part<A>>]>,
    pub(super) words: AtomicUsize,
    /// How often words were forgotten that have some.
    pub(super) forgotten: AtomicU32,
    /// Accesses that were told, and those for which there was no room.
    pub(super) accesses: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl<A: KeepsPlain> Default for Possible<A> {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            bits: (0..1usize << BLOCKS_BITS).map(|_| AtomicU64::new(0)).collect(),
            owners: (0..1usize << BLOCKS_BITS).map(|_| AtomicUsize::new(NOBODY)).collect(),
            last_steps: (0..1usize << BLOCKS_BITS).map(|_| AtomicU32::new(StepId::NONE.0)).collect(),
            parts: (0..PARTS).map(|_| Spin::new(Part::<A>::default())).collect(),
            words: AtomicUsize::new(0),
            forgotten: AtomicU32::new(0),
            accesses: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }
}

impl<A: KeepsPlain> Possible<A> {
    /// Where the words around an address have their bits.
    #[inline(always)]
    pub(super) fn block_index(addr: usize) -> usize {
        let hash = ((addr / BLOCK_BYTES) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (64 - BLOCKS_BITS)) as usize
    }

    /// The bits of the words around an address.
    #[inline(always)]
    pub(super) fn block(&self, addr: usize) -> &AtomicU64 {
        &self.bits[Self::block_index(addr)]
    }

    /// The bit of the word that holds an address.
    #[inline(always)]
    pub(super) fn bit(addr: usize) -> u64 {
        1 << (addr % BLOCK_BYTES / WORD_BYTES)
    }

    /// The part that has the words around an address.
    pub(super) fn part(&self, addr: usize) -> &Spin<Part<A>> {
        &self.parts[Self::block_index(addr) % PARTS]
    }

    /// A word gets second cells; the caller holds the lock of its part.
    pub(super) fn own(&self, word: usize) {
        self.words.fetch_add(1, Ordering::Relaxed);
        let owner = &self.owners[Self::block_index(word)];
        let block = word / BLOCK_BYTES;
        if owner.load(Ordering::Relaxed) != block {
            let is_free = owner.load(Ordering::Relaxed) == NOBODY;
            owner.store(if is_free { block } else { OWNERS }, Ordering::Relaxed);
        }
    }

    /// A word has no second cells any more; the caller holds the lock of its part. If its bit is its own, nobody looks there any more.
    fn disown(&self, word: usize) {
        self.words.fetch_sub(1, Ordering::Relaxed);
        let index = Self::block_index(word);
        if self.owners[index].load(Ordering::Relaxed) != word / BLOCK_BYTES {
            return;
        }
        let bit = Self::bit(word);
        if self.bits[index].fetch_and(!bit, Ordering::SeqCst) == bit {
            self.owners[index].store(NOBODY, Ordering::Relaxed);
            self.last_steps[index].store(StepId::NONE.0, Ordering::SeqCst);
        }
    }

    /// False if no possible access was told since one task was alone.
    #[inline(always)]
    pub(in crate::tasks) fn is_any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// False if a word has no possible accesses.
    #[inline(always)]
    pub(in crate::tasks) fn may_have(&self, addr: usize) -> bool {
        self.block(addr).load(Ordering::Relaxed) & Self::bit(addr) != 0
    }

    /// False if no word of a range has possible accesses.
    fn may_be_in(&self, addr: usize, size: usize) -> bool {
        self.may_be_there(addr, size, |_| true)
    }

    /// The same, as far as some steps matter.
    #[inline(always)]
    pub(super) fn may_be_there(
        &self,
        addr: usize,
        size: usize,
        mut matters: impl FnMut(&AtomicU32) -> bool,
    ) -> bool {
        let (mut from, end) = (addr, addr + size);
        while from < end {
            let to = end.min((from | (BLOCK_BYTES - 1)) + 1);
            // All bits from the first word on, up to the last one.
            let mask = (u64::MAX << Self::bit(from).trailing_zeros())
                & (u64::MAX >> (63 - Self::bit(to - 1).trailing_zeros()));
            let index = Self::block_index(from);
            if self.bits[index].load(Ordering::Relaxed) & mask != 0 && matters(&self.last_steps[index]) {
                return true;
            }
            from = to;
        }
        false
    }

    /// Forgets a range.
    pub(in crate::tasks) fn forget(&self, addr: usize, size: usize) {
        const LONG: usize = 1 << 16;
        if !self.is_any() || size == 0 {
            return;
        }
        if size > LONG {
            for part in &self.parts {
                part.lock().retain(|word, cells| {
                    let mask = bytes_within(*word, addr, size);
                    if mask != 0 {
                        self.forgotten.fetch_add(1, Ordering::Relaxed);
                        cells.forget(mask);
                        if cells.is_empty() {
                            self.disown(*word);
                        }
                    }
                    !cells.is_empty()
                });
            }
            return;
        }
        if !self.may_be_in(addr, size) {
            return;
        }
        for (word, mask) in words_of(addr, size).filter(|(word, _)| self.may_have(*word)) {
            let mut part = self.part(word).lock();
            if let Some(cells) = part.get_mut(&word) {
                self.forgotten.fetch_add(1, Ordering::Relaxed);
                cells.forget(mask);
                if cells.is_empty() {
                    part.remove(&word);
                    self.disown(word);
                }
            }
        }
    }

    /// One task is alone: what was told so far comes before all that follows.
    pub(in crate::tasks) fn renew(&self) {
        if !self.is_any() {
            return;
        }
        self.any.store(false, Ordering::Relaxed);
        self.forgotten.fetch_add(1, Ordering::Relaxed);
        for part in &self.parts {
            let mut part = part.lock();
            for word in part.keys() {
                let index = Self::block_index(*word);
                self.bits[index].store(0, Ordering::Relaxed);
                self.owners[index].store(NOBODY, Ordering::Relaxed);
                self.last_steps[index].store(StepId::NONE.0, Ordering::Relaxed);
            }
            self.words.fetch_sub(part.len(), Ordering::Relaxed);
            part.clear();
        }
    }

    /// Shows all steps, while nobody else is at work.
    pub(in crate::tasks) fn visit_steps(&self, mut visit: impl FnMut(&mut StepId)) {
        if !self.is_any() {
            return;
        }
        for last in &self.last_steps {
            let mut step = StepId(last.load(Ordering::Relaxed));
            if step.is_some() && step.0 != SEVERAL {
                visit(&mut step);
                last.store(step.0, Ordering::Relaxed);
            }
        }
        for part in &self.parts {
            for (_, cell) in part.lock().values_mut().flat_map(Cells::iter_mut) {
                A::visit_steps(cell, &mut visit);
            }
        }
    }

    /// How many accesses were told, and how many of them were not looked at for lack of room.
    pub(in crate::tasks) fn counts(&self) -> (u64, u64) {
        (self.accesses.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed))
    }
}

/// The bytes of a word that lie in a range.
fn bytes_within(word: usize, addr: usize, size: usize) -> u8 {
    let end = addr.saturating_add(size);
    (0..WORD_BYTES).filter(|byte| (addr..end).contains(&(word + byte))).fold(0, |mask, byte| mask | 1 << byte)
}
