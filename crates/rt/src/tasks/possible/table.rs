//! The words with possible accesses: which they are, and their second cells; or, where one step alone has some, the list of them.
//!
//! **Who may touch what.** A word's second cells, and lists: who holds the lock of their part of the table, which is taken before that of
//! the word. Bits, their owners and the last steps are changed under the same lock, and read by everyone. Everyone sets the bits of words whose
//! accesses are held back, and clears them when the memory is forgotten.

use super::told::Forgotten;
use crate::arena::{self, MayBeZero};
use crate::layout::WORD_BYTES;
use crate::places::PlaceNumber;
use crate::shadow::{Cells, words as words_of};
use crate::spin::{Apart, Spin};
use keirin_core::analysis::tasks::kept::Entry;
use keirin_core::analysis::tasks::plain::{KeepsPlain, Plain};
use keirin_core::event::{AccessKind, SiteId};
use keirin_core::sptree::StepId;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes whose words have their bits in one number.
const BLOCK_BYTES: usize = 64 * WORD_BYTES;
/// Log2 of how many such numbers there are.
const BLOCKS_BITS: u32 = 16;
/// Log2 of how many versions of words there are.
const VERSIONS_BITS: u32 = 16;
/// Parts of the table.
const PARTS: usize = 64;
/// In place of a stretch of memory: there is none, or there are several.
const NOBODY: usize = 0;
const OWNERS: usize = usize::MAX;
/// Ranges of more bytes are not looked through word by word when they are forgotten.
const LONG: usize = 1 << 16;
/// More accesses of one step in a block are kept in cells, which need as much memory by then.
const MOST_ALONE: usize = 256;
/// So many words can have second cells.
pub(super) const MOST_WORDS: usize = 1 << 20;

/// A part of what is known.
pub(super) struct Part<A: KeepsPlain> {
    /// The words with second cells.
    pub(super) cells: FxHashMap<usize, Cells<A::Cell>>,
    /// For each block of this part what one step would do there, if nobody else has possible accesses there; then its words have no cells.
    alone: Vec<Alone>,
    /// Which of these are, or were, in use.
    used: Vec<usize>,
}

impl<A: KeepsPlain> Default for Part<A> {
    fn default() -> Self {
        Self { cells: FxHashMap::default(), alone: Vec::new(), used: Vec::new() }
    }
}

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
    /// Of the steps with possible accesses here the last ones in English and in Hebrew order: whoever comes after both comes after all.
    pub(super) english: LastStep,
    pub(super) hebrew: LastStep,
}

// SAFETY: numbers, of which zero is as good as any other.
unsafe impl MayBeZero for Block {}

/// A step, or none, which is 0.
pub(super) struct LastStep(AtomicU32);

impl LastStep {
    #[inline]
    pub(super) fn get(&self) -> StepId {
        StepId(!self.0.load(Ordering::Relaxed))
    }

    pub(super) fn set(&self, step: StepId) {
        self.0.store(!step.0, Ordering::Release);
    }
}

impl Block {
    /// Nobody has possible accesses here any more.
    fn free(&self) {
        self.bits.store(0, Ordering::SeqCst);
        self.owner.store(NOBODY, Ordering::Relaxed);
        self.english.set(StepId::NONE);
        self.hebrew.set(StepId::NONE);
    }
}

/// What one step would do in a block without locks, if it is the only one.
struct Alone {
    step: StepId,
    /// The block, and whether it is among those that are in use.
    block: usize,
    is_used: bool,
    accesses: Vec<AloneAccess>,
}

impl Default for Alone {
    fn default() -> Self {
        Self { step: StepId::NONE, block: 0, is_used: false, accesses: Vec::new() }
    }
}

/// From one byte of a block to another one.
struct AloneAccess {
    from: u16,
    to: u16,
    kind: AccessKind,
    place: PlaceNumber,
}

impl AloneAccess {
    fn from(&self) -> usize {
        usize::from(self.from)
    }

    fn to(&self) -> usize {
        usize::from(self.to)
    }
}

/// What of a range is in a block, and the bits of the words.
pub(super) struct Stretch {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) mask: u64,
}

/// All possible accesses.
pub(in crate::tasks) struct Possible<A: KeepsPlain> {
    any: AtomicBool,
    blocks: Box<[Block]>,
    parts: Box<[Spin<Part<A>>]>,
    /// How often all of them came before all that follows.
    phase: AtomicU32,
    /// An access was held back, at some time.
    any_held: AtomicBool,
    /// For words (those far apart may share one) how often they were forgotten: what was held back or told before is void.
    versions: Box<[AtomicU32]>,
    pub(super) counts: Apart<Counts>,
}

/// What is counted. It changes often, and what lies beside it is read by all.
#[derive(Default)]
pub(super) struct Counts {
    /// Words with second cells.
    pub(super) words: AtomicUsize,
    /// Accesses that were told, and those for which there was no room.
    pub(super) accesses: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl<A: KeepsPlain> Default for Possible<A> {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            any_held: AtomicBool::new(false),
            blocks: arena::zeros(1 << BLOCKS_BITS),
            versions: arena::zeros(1 << VERSIONS_BITS),
            parts: (0..PARTS).map(|_| Spin::new(Part::<A>::default())).collect(),
            phase: AtomicU32::new(0),
            counts: Apart::default(),
        }
    }
}

impl<A: KeepsPlain> Possible<A> {
    /// Where the words around an address have their bits.
    #[inline(always)]
    fn block_index(addr: usize) -> usize {
        // Blocks side by side have numbers side by side; stretches of memory begin at different places.
        let block = addr / BLOCK_BYTES;
        block.wrapping_add((block >> BLOCKS_BITS).wrapping_mul(0x9e37)) % (1 << BLOCKS_BITS)
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
        self.counts.words.fetch_add(1, Ordering::Relaxed);
        self.own_block(word);
    }

    fn own_block(&self, word: usize) {
        let owner = &self.block(word).owner;
        let block = word / BLOCK_BYTES;
        if owner.load(Ordering::Relaxed) != block {
            let is_free = owner.load(Ordering::Relaxed) == NOBODY;
            owner.store(if is_free { block } else { OWNERS }, Ordering::Relaxed);
        }
    }

    /// A word has no second cells any more; the caller holds the lock of its part. If its bit is its own, nobody looks there any more.
    fn disown(&self, word: usize) {
        self.counts.words.fetch_sub(1, Ordering::Relaxed);
        let block = self.block(word);
        if block.owner.load(Ordering::Relaxed) != word / BLOCK_BYTES {
            return;
        }
        let bit = Self::bit(word);
        if block.bits.fetch_and(!bit, Ordering::SeqCst) == bit {
            block.free();
        }
    }

    /// A possible access is told.
    pub(super) fn is_any_now(&self) {
        // All threads ask for it, again and again.
        if !self.is_any() {
            self.any.store(true, Ordering::Relaxed);
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

    /// False if nothing was held back so far, by any thread.
    #[inline(always)]
    pub(in crate::tasks) fn is_any_held(&self) -> bool {
        self.any_held.load(Ordering::Relaxed)
    }

    /// False if nothing is held back of a range, by any thread.
    #[inline]
    pub(super) fn may_be_held(&self, addr: usize, size: usize) -> bool {
        self.any_held.load(Ordering::Relaxed)
            && (size > LONG
                || Self::any_stretch(addr, size, |Stretch { from, mask, .. }| {
                    self.block(from).held.load(Ordering::Relaxed) & mask != 0
                }))
    }

    /// An access of some words is held back from now on, which all that give memory back shall know.
    #[inline]
    pub(super) fn hold(&self, addr: usize, size: usize) {
        if !self.any_held.load(Ordering::Relaxed) {
            self.any_held.store(true, Ordering::Relaxed);
        }
        for Stretch { from, mask, .. } in Self::stretches(addr, size) {
            let held = &self.block(from).held;
            if held.load(Ordering::Relaxed) & mask != mask {
                held.fetch_or(mask, Ordering::Relaxed);
            }
        }
    }

    /// Another number each time that a word of some memory is forgotten.
    #[inline]
    pub(super) fn versions_of(&self, addr: usize, size: usize) -> u32 {
        words_of(addr, size).fold(0, |sum: u32, (word, _)| sum.wrapping_add(self.version(word)))
    }

    #[inline(always)]
    fn version_at(&self, word: usize) -> &AtomicU32 {
        // As blocks have their numbers.
        let number = word / WORD_BYTES;
        &self.versions
            [number.wrapping_add((number >> VERSIONS_BITS).wrapping_mul(0x9e37)) % (1 << VERSIONS_BITS)]
    }

    /// A word is forgotten: what was held back of it, or told, is void. (What one step alone has told was all held back.)
    fn make_void(&self, word: usize) {
        self.version_at(word).fetch_add(1, Ordering::Relaxed);
    }

    /// What threads hold back of a range is void.
    fn forget_held(&self, addr: usize, size: usize) {
        if !self.any_held.load(Ordering::Relaxed) {
            return;
        }
        if size > LONG {
            // Seldom, so that it may be void of other memory as well.
            self.versions.iter().for_each(|version| _ = version.fetch_add(1, Ordering::Relaxed));
            return;
        }
        for Stretch { from, mask, .. } in Self::stretches(addr, size) {
            let held = &self.block(from).held;
            let mut left = held.load(Ordering::Relaxed) & mask;
            if left != 0 {
                held.fetch_and(!left, Ordering::Relaxed);
            }
            while left != 0 {
                let index = left.trailing_zeros() as usize;
                self.make_void(from / BLOCK_BYTES * BLOCK_BYTES + index * WORD_BYTES);
                left &= left - 1;
            }
        }
    }

    /// True if something is true of what is in some block of a range; mostly there is one.
    #[inline(always)]
    fn any_stretch(addr: usize, size: usize, mut is_it: impl FnMut(Stretch) -> bool) -> bool {
        let to = addr + size;
        if size > 0 && addr / BLOCK_BYTES == (to - 1) / BLOCK_BYTES {
            return is_it(Stretch { from: addr, to, mask: Self::bits_of(addr, to) });
        }
        Self::stretches(addr, size).any(is_it)
    }

    /// What of a range is in each block.
    #[inline(always)]
    pub(super) fn stretches(addr: usize, size: usize) -> impl Iterator<Item = Stretch> {
        let (mut next, end) = (addr, addr + size);
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let (from, to) = (next, end.min((next | (BLOCK_BYTES - 1)) + 1));
            next = to;
            Some(Stretch { from, to, mask: Self::bits_of(from, to) })
        })
    }

    /// The bits of the words from one address to another one, in the same block or at its end.
    #[inline(always)]
    fn bits_of(from: usize, to: usize) -> u64 {
        (u64::MAX << Self::bit(from).trailing_zeros())
            & (u64::MAX >> (63 - Self::bit(to - 1).trailing_zeros()))
    }

    /// False if no word of a range has possible accesses, as far as some steps matter.
    #[inline(always)]
    pub(super) fn may_be_there(
        &self,
        addr: usize,
        size: usize,
        mut matters: impl FnMut(&Block) -> bool,
    ) -> bool {
        Self::any_stretch(addr, size, |Stretch { from, mask, .. }| {
            let block = self.block(from);
            block.bits.load(Ordering::Relaxed) & mask != 0 && matters(block)
        })
    }

    /// Forgets a range. `era` is the present one.
    pub(in crate::tasks) fn forget(&self, addr: usize, size: usize, era: u32) {
        if size == 0 {
            return;
        }
        self.forget_held(addr, size);
        if !self.is_any() {
            return;
        }
        if size > LONG {
            for part in &self.parts {
                let mut part = part.lock();
                for place in 0..part.used.len() {
                    let slot = part.used[place];
                    self.forget_alone(&mut part, slot, (addr, addr + size), era);
                }
                part.cells.retain(|word, cells| {
                    let mask = bytes_within(*word, addr, size);
                    if mask != 0 {
                        self.make_void(*word);
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
        for Stretch { from, to, mask } in Self::stretches(addr, size) {
            if self.block(from).bits.load(Ordering::Relaxed) & mask == 0 {
                continue;
            }
            let mut part = self.part(from).lock();
            self.forget_alone(&mut part, Self::block_index(from) / PARTS, (addr, addr + size), era);
            for (word, mask) in words_of(from, to - from).filter(|(word, _)| self.may_have(*word)) {
                if let Some(cells) = part.cells.get_mut(&word) {
                    self.make_void(word);
                    cells.forget(mask);
                    if cells.is_empty() {
                        part.cells.remove(&word);
                        self.disown(word);
                    }
                }
            }
        }
    }

    /// Forgets what one step would do in a range, in a block that has no others; the words get cells if a part of an access is left.
    fn forget_alone(&self, part: &mut Part<A>, slot: usize, (addr, end): (usize, usize), era: u32) {
        let Some(alone) = part.alone.get_mut(slot).filter(|alone| !alone.accesses.is_empty()) else { return };
        let start = alone.block * BLOCK_BYTES;
        let is_in = |access: &AloneAccess| addr <= start + access.from() && start + access.to() <= end;
        let is_out = |access: &AloneAccess| end <= start + access.from() || start + access.to() <= addr;
        if alone.accesses.iter().all(is_out) {
            return;
        }
        if !alone.accesses.iter().all(|access| is_in(access) || is_out(access)) {
            self.spread(part, start, era);
            return;
        }
        alone.accesses.retain(is_out);
        let bits = |access: &AloneAccess| Self::bits_of(start + access.from(), start + access.to());
        let left = alone.accesses.iter().map(bits).fold(0, |all, bits| all | bits);
        let block = self.block(start);
        if left == 0 {
            block.free();
        } else {
            block.bits.store(left, Ordering::SeqCst);
        }
    }

    /// Forgets all possible accesses of a block, if it has its bits for itself: they come before all that is still to come. The caller holds the lock
    /// of the part.
    pub(super) fn forget_past(&self, part: &mut Part<A>, addr: usize) {
        let (index, number) = (Self::block_index(addr), addr / BLOCK_BYTES);
        let block = &self.blocks[index];
        if block.owner.load(Ordering::Relaxed) != number {
            return;
        }
        match part.alone.get_mut(index / PARTS).filter(|alone| !alone.accesses.is_empty()) {
            Some(alone) => alone.accesses.clear(),
            None => {
                let bits = block.bits.load(Ordering::Relaxed);
                let words = (0..BLOCK_BYTES / WORD_BYTES).filter(|index| bits >> index & 1 != 0);
                for word in words.map(|index| number * BLOCK_BYTES + index * WORD_BYTES) {
                    if part.cells.remove(&word).is_some() {
                        self.counts.words.fetch_sub(1, Ordering::Relaxed);
                        // Something may have been told there, which is void when the word is forgotten.
                        self.hold(word, WORD_BYTES);
                    }
                }
            }
        }
        block.free();
    }

    /// Keeps an access without locks of words in one block, if the step is the only one with possible accesses there. The caller holds the lock of the
    /// part.
    pub(super) fn add_alone(
        &self,
        part: &mut Part<A>,
        step: StepId,
        kind: AccessKind,
        (from, to): (usize, usize),
        place: PlaceNumber,
    ) -> bool {
        let (index, number) = (Self::block_index(from), from / BLOCK_BYTES);
        if part.alone.is_empty() {
            part.alone.resize_with((1 << BLOCKS_BITS) / PARTS, Alone::default);
        }
        let alone = &mut part.alone[index / PARTS];
        if alone.accesses.is_empty() {
            if self.blocks[index].owner.load(Ordering::Relaxed) != NOBODY {
                return false;
            }
            self.own_block(from);
            (alone.step, alone.block) = (step, number);
            if !std::mem::replace(&mut alone.is_used, true) {
                part.used.push(index / PARTS);
            }
        } else if alone.step != step || alone.block != number || alone.accesses.len() >= MOST_ALONE {
            return false;
        }
        let offset = (from % BLOCK_BYTES) as u16;
        alone.accesses.push(AloneAccess { from: offset, to: offset + (to - from) as u16, kind, place });
        true
    }

    /// The words of a block get cells, if a step was alone there. The caller holds the lock of the part.
    pub(super) fn spread(&self, part: &mut Part<A>, addr: usize, era: u32) {
        let slot = Self::block_index(addr) / PARTS;
        let Some(alone) = part.alone.get_mut(slot).filter(|alone| !alone.accesses.is_empty()) else { return };
        let start = alone.block * BLOCK_BYTES;
        let mut words: Vec<(usize, Cells<Plain>)> = Vec::new();
        for access in &alone.accesses {
            let entry = Entry { step: alone.step, site: SiteId(access.place) };
            for (word, mask) in words_of(start + access.from(), access.to() - access.from()) {
                let known = words.iter().position(|known| known.0 == word);
                let known = known.unwrap_or_else(|| {
                    words.push((word, Cells::default()));
                    words.len() - 1
                });
                words[known].1.touch(mask, |plain, _| match access.kind {
                    AccessKind::Read => _ = plain.reads.get_or_insert((entry, entry)),
                    AccessKind::Write => _ = plain.write.get_or_insert(entry),
                });
            }
        }
        alone.accesses.clear();
        for (word, plains) in words {
            self.own(word);
            let cells = plains.iter().map(|(bytes, plain)| (bytes, A::of_plain(*plain, era)));
            part.cells.insert(word, cells.collect());
        }
    }

    /// One task is alone: what was told so far comes before all that follows.
    pub(in crate::tasks) fn renew(&self) {
        if !self.is_any() {
            return;
        }
        self.any.store(false, Ordering::Relaxed);
        self.phase.fetch_add(1, Ordering::Relaxed);
        for (number, part) in self.parts.iter().enumerate() {
            let part = &mut *part.lock();
            part.cells.keys().for_each(|word| self.block(*word).free());
            for slot in part.used.drain(..) {
                let alone = &mut part.alone[slot];
                alone.is_used = false;
                if !alone.accesses.is_empty() {
                    alone.accesses.clear();
                    self.blocks[slot * PARTS + number].free();
                }
            }
            self.counts.words.fetch_sub(part.cells.len(), Ordering::Relaxed);
            part.cells.clear();
        }
    }

    /// Shows all steps, while nobody else is at work.
    pub(in crate::tasks) fn visit_steps(&self, mut visit: impl FnMut(&mut StepId)) {
        if !self.is_any() {
            return;
        }
        for last in self.blocks.iter().flat_map(|block| [&block.english, &block.hebrew]) {
            let mut step = last.get();
            if step.is_some() {
                visit(&mut step);
                last.set(step);
            }
        }
        for part in &self.parts {
            let mut part = part.lock();
            for (_, cell) in part.cells.values_mut().flat_map(Cells::iter_mut) {
                A::visit_steps(cell, &mut visit);
            }
            let alone = part.alone.iter_mut().filter(|alone| !alone.accesses.is_empty());
            alone.for_each(|alone| visit(&mut alone.step));
        }
    }

    /// How many accesses were told, and how many of them were not looked at for lack of room.
    pub(in crate::tasks) fn counts(&self) -> (u64, u64) {
        (self.counts.accesses.load(Ordering::Relaxed), self.counts.refused.load(Ordering::Relaxed))
    }
}

impl<A: KeepsPlain> Forgotten for Possible<A> {
    #[inline]
    fn phase(&self) -> u32 {
        self.phase.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn version(&self, word: usize) -> u32 {
        self.version_at(word).load(Ordering::Relaxed)
    }
}

/// The bytes of a word that lie in a range.
fn bytes_within(word: usize, addr: usize, size: usize) -> u8 {
    let end = addr.saturating_add(size);
    (0..WORD_BYTES).filter(|byte| (addr..end).contains(&(word + byte))).fold(0, |mask, byte| mask | 1 << byte)
}
