//! The words with possible accesses: which they are, and their second cells.
//!
//! **Who may touch what.** A word's second cells: who holds the lock of their part of the table, which is taken before that of
//! the word. Bits, their owners and the last steps are changed under the same lock, and read by everyone. Everyone sets the bits of words whose
//! accesses are held back, and clears them when the memory is forgotten.

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
/// Ranges of more bytes are not looked through word by word when they are forgotten.
const LONG: usize = 1 << 16;
/// So many words can have second cells.
pub(super) const MOST_WORDS: usize = 1 << 20;

/// The words with possible accesses, each with its second cells.
pub(super) type Part<A> = FxHashMap<usize, Cells<<A as keirin_core::analysis::tasks::TaskAnalysis>::Cell>>;

/// A stretch of memory with possible accesses, and all others that have the same number. In one line of the cache, for who asks about one
/// thing mostly asks about the others.
#[repr(align(32))]
pub(super) struct Block {
    /// The words that have second cells.
    pub(super) bits: AtomicU64,
    /// The words of which some thread holds an access back, or has held one back; [`super::held`].
    held: AtomicU64,
    /// The one stretch of memory whose words have their bits here; or [`NOBODY`], or [`OWNERS`].
    owner: AtomicUsize,
    /// The step that all others with possible accesses here come before; or [`SEVERAL`].
    pub(super) last_step: AtomicU32,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            bits: AtomicU64::new(0),
            held: AtomicU64::new(0),
            owner: AtomicUsize::new(NOBODY),
            last_step: AtomicU32::new(StepId::NONE.0),
        }
    }
}

/// All possible accesses.
pub(in crate::tasks) struct Possible<A: KeepsPlain> {
    pub(super) any: AtomicBool,
    blocks: Box<[Block]>,
    parts: Box<[Spin<Part<A>>]>,
    pub(super) words: AtomicUsize,
    /// How often words were forgotten that have some, or of which some are held back.
    pub(super) forgotten: AtomicU32,
    /// An access was held back, at some time.
    any_held: AtomicBool,
    /// For words, by a hash, the number above from which on what was held back before is void.
    forgotten_at: Box<[AtomicU32]>,
    /// Accesses that were told, and those for which there was no room.
    pub(super) accesses: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl<A: KeepsPlain> Default for Possible<A> {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            any_held: AtomicBool::new(false),
            blocks: (0..1usize << BLOCKS_BITS).map(|_| Block::default()).collect(),
            forgotten_at: (0..1usize << BLOCKS_BITS).map(|_| AtomicU32::new(0)).collect(),
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
    fn block_index(addr: usize) -> usize {
        let hash = ((addr / BLOCK_BYTES) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (64 - BLOCKS_BITS)) as usize
    }

    /// What is known of the words around an address.
    #[inline(always)]
    pub(super) fn block(&self, addr: usize) -> &Block {
        &self.blocks[Self::block_index(addr)]
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
        let owner = &self.block(word).owner;
        let block = word / BLOCK_BYTES;
        if owner.load(Ordering::Relaxed) != block {
            let is_free = owner.load(Ordering::Relaxed) == NOBODY;
            owner.store(if is_free { block } else { OWNERS }, Ordering::Relaxed);
        }
    }

    /// A word has no second cells any more; the caller holds the lock of its part. If its bit is its own, nobody looks there any more.
    fn disown(&self, word: usize) {
        self.words.fetch_sub(1, Ordering::Relaxed);
        let block = self.block(word);
        if block.owner.load(Ordering::Relaxed) != word / BLOCK_BYTES {
            return;
        }
        let bit = Self::bit(word);
        if block.bits.fetch_and(!bit, Ordering::SeqCst) == bit {
            block.owner.store(NOBODY, Ordering::Relaxed);
            block.last_step.store(StepId::NONE.0, Ordering::SeqCst);
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
        self.block(addr).bits.load(Ordering::Relaxed) & Self::bit(addr) != 0
    }

    /// False if no word of a range has possible accesses.
    fn may_be_in(&self, addr: usize, size: usize) -> bool {
        self.may_be_there(addr, size, |_| true)
    }

    /// False if nothing is held back of a range, by any thread.
    #[inline]
    pub(super) fn may_be_held(&self, addr: usize, size: usize) -> bool {
        self.any_held.load(Ordering::Relaxed)
            && (size > LONG
                || Self::stretches(addr, size)
                    .any(|(at, mask)| self.block(at).held.load(Ordering::Relaxed) & mask != 0))
    }

    /// An access of some words is held back from now on, which all that give memory back shall know.
    #[inline]
    pub(super) fn hold(&self, addr: usize, size: usize) {
        if !self.any_held.load(Ordering::Relaxed) {
            self.any_held.store(true, Ordering::Relaxed);
        }
        for (at, mask) in Self::stretches(addr, size) {
            let held = &self.block(at).held;
            if held.load(Ordering::Relaxed) & mask != mask {
                held.fetch_or(mask, Ordering::SeqCst);
            }
        }
    }

    /// True if memory that was held back when so much was forgotten is other memory by now.
    #[inline]
    pub(super) fn is_void(&self, addr: usize, size: usize, forgotten: u32) -> bool {
        self.forgotten.load(Ordering::Relaxed) != forgotten
            && words_of(addr, size).any(|(word, _)| {
                let at = self.forgotten_at[Self::word_index(word)].load(Ordering::Relaxed);
                (at.wrapping_sub(forgotten) as i32) > 0
            })
    }

    fn word_index(word: usize) -> usize {
        let hash = ((word / WORD_BYTES) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (64 - BLOCKS_BITS)) as usize
    }

    /// What threads hold back of a range is void.
    fn forget_held(&self, addr: usize, size: usize) {
        if !self.may_be_held(addr, size) {
            return;
        }
        let now = self.forgotten.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        if size > LONG {
            // Seldom, so that it may be void of other memory as well.
            self.forgotten_at.iter().for_each(|at| at.store(now, Ordering::SeqCst));
            return;
        }
        for (word, _) in words_of(addr, size) {
            let (held, bit) = (&self.block(word).held, Self::bit(word));
            if held.load(Ordering::Relaxed) & bit != 0 {
                self.forgotten_at[Self::word_index(word)].store(now, Ordering::SeqCst);
                held.fetch_and(!bit, Ordering::SeqCst);
            }
        }
    }

    /// The blocks of a range: an address in each, and the bits of its words.
    #[inline(always)]
    fn stretches(addr: usize, size: usize) -> impl Iterator<Item = (usize, u64)> {
        let (mut from, end) = (addr, addr + size);
        std::iter::from_fn(move || {
            if from >= end {
                return None;
            }
            let (at, to) = (from, end.min((from | (BLOCK_BYTES - 1)) + 1));
            from = to;
            // All bits from the first word on, up to the last one.
            let mask = (u64::MAX << Self::bit(at).trailing_zeros())
                & (u64::MAX >> (63 - Self::bit(to - 1).trailing_zeros()));
            Some((at, mask))
        })
    }

    /// The same, as far as some steps matter.
    #[inline(always)]
    pub(super) fn may_be_there(
        &self,
        addr: usize,
        size: usize,
        mut matters: impl FnMut(&AtomicU32) -> bool,
    ) -> bool {
        Self::stretches(addr, size).any(|(at, mask)| {
            let block = self.block(at);
            block.bits.load(Ordering::Relaxed) & mask != 0 && matters(&block.last_step)
        })
    }

    /// Forgets a range.
    pub(in crate::tasks) fn forget(&self, addr: usize, size: usize) {
        self.forget_held(addr, size);
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
                let block = self.block(*word);
                block.bits.store(0, Ordering::Relaxed);
                block.owner.store(NOBODY, Ordering::Relaxed);
                block.last_step.store(StepId::NONE.0, Ordering::Relaxed);
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
        for last in self.blocks.iter().map(|block| &block.last_step) {
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
