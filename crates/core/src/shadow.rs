//! What is known about memory, by address: the offline counterpart of the runtime's shadow memory.
//!
//! Memory is divided into words of eight bytes. Each word is partitioned into cells such that the bytes of a cell were
//! always accessed together; an access that touches only some bytes of a cell splits it, and both halves keep the
//! history. So the analyses are exact to the byte although nearly every word has a single cell.

use crate::event::Addr;
use rustc_hash::FxHashMap;

const WORD_BYTES: u64 = 8;
const PAGE_WORDS: usize = 64;
const PAGE_BYTES: u64 = WORD_BYTES * PAGE_WORDS as u64;
/// Pages this close behind the first one are found by an index instead of a hash: the variables of a text trace, the
/// heap of a small program.
const NEAR_PAGES: u64 = 1 << 16;
/// So many pages before the first one may be near as well.
const BELOW: u64 = 1 << 13;
const ABSENT: u32 = u32::MAX;

/// Cells for memory.
#[derive(Debug)]
pub struct Shadow<C> {
    pages: Vec<Box<Page<C>>>,
    /// Pages that were given back and can be used again.
    free: Vec<u32>,
    near_base: Option<u64>,
    near: Vec<u32>,
    far: FxHashMap<u64, u32>,
    /// The page that was found last: (page number, index).
    last: (u64, u32),
}

// Aligned, and in this order, so that a cell of 64 bytes is one line of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Page<C> {
    /// For each word the bytes that its first cell covers, as a mask; 0 if the word was never touched.
    shapes: [u8; PAGE_WORDS],
    cells: [C; PAGE_WORDS],
    /// The further cells of words that were split.
    splits: Option<Box<[Split<C>; PAGE_WORDS]>>,
}

/// Cells with the bytes that they cover.
type Split<C> = Vec<(u8, C)>;

impl<C: Clone + Default> Page<C> {
    fn new() -> Self {
        Self { shapes: [0; PAGE_WORDS], cells: std::array::from_fn(|_| C::default()), splits: None }
    }

    fn touch(&mut self, word: usize, mask: u8, mut visit: impl FnMut(&mut C, u8)) {
        if self.shapes[word] == 0 || self.shapes[word] == mask {
            self.shapes[word] = mask;
            visit(&mut self.cells[word], mask);
            return;
        }
        let splits =
            &mut self.splits.get_or_insert_with(|| Box::new(std::array::from_fn(|_| Vec::new())))[word];
        let mut remaining = mask;
        let shared = self.shapes[word] & mask;
        if shared == self.shapes[word] {
            visit(&mut self.cells[word], shared);
        } else if shared != 0 {
            let mut half = self.cells[word].clone();
            self.shapes[word] &= !shared;
            visit(&mut half, shared);
            splits.push((shared, half));
        }
        remaining &= !shared;
        let mut index = 0;
        while remaining != 0 && index < splits.len() {
            let shared = splits[index].0 & remaining;
            if shared != 0 {
                if shared == splits[index].0 {
                    visit(&mut splits[index].1, shared);
                } else {
                    let mut half = splits[index].1.clone();
                    splits[index].0 &= !shared;
                    visit(&mut half, shared);
                    splits.push((shared, half));
                }
                remaining &= !shared;
            }
            index += 1;
        }
        if remaining != 0 {
            let mut fresh = C::default();
            visit(&mut fresh, remaining);
            splits.push((remaining, fresh));
        }
    }

    fn forget(&mut self, word: usize, mask: u8) {
        let kept = self.shapes[word] & !mask;
        let splits = self.splits.as_mut().map(|splits| &mut splits[word]);
        if let Some(splits) = splits {
            for split in splits.iter_mut() {
                split.0 &= !mask;
            }
            splits.retain(|split| split.0 != 0);
            if kept == 0
                && let Some((shape, cell)) = splits.pop()
            {
                self.shapes[word] = shape;
                self.cells[word] = cell;
                return;
            }
        }
        self.shapes[word] = kept;
        if kept == 0 {
            self.cells[word] = C::default();
        }
    }
}

/// The bytes of each word that a range covers: (word number, mask).
pub(crate) fn words(addr: Addr, size: u32) -> impl Iterator<Item = (u64, u8)> {
    // A range that would run past the end of memory ends there.
    let last = addr.0.saturating_add(u64::from(size.max(1)) - 1);
    (addr.0 / WORD_BYTES..=last / WORD_BYTES).map(move |word| {
        let from = addr.0.max(word * WORD_BYTES) % WORD_BYTES;
        let to = last.min(word * WORD_BYTES + 7) % WORD_BYTES;
        (word, (0xff << from) & (0xff >> (7 - to)))
    })
}

impl<C: Clone + Default> Default for Shadow<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clone + Default> Shadow<C> {
    /// Nothing is known about any memory.
    pub fn new() -> Self {
        Self {
            pages: Vec::new(),
            free: Vec::new(),
            near_base: None,
            near: Vec::new(),
            far: FxHashMap::default(),
            last: (u64::MAX, ABSENT),
        }
    }

    /// Calls `visit` for each cell of a range, with the address and the size of the bytes that it covers.
    #[inline]
    pub fn touch(&mut self, addr: Addr, size: u32, mut visit: impl FnMut(&mut C, Addr, u32)) {
        let (word, offset) = (addr.0 / WORD_BYTES, addr.0 % WORD_BYTES);
        if size != 0 && offset + u64::from(size) <= WORD_BYTES {
            // Nearly all accesses stay within a word, and touch the same bytes as always.
            let mask = (((1u32 << size) - 1) << offset) as u8;
            let page = self.page(word / PAGE_WORDS as u64);
            let index = (word % PAGE_WORDS as u64) as usize;
            if page.shapes[index] == mask {
                visit(&mut page.cells[index], addr, size);
                return;
            }
        }
        self.touch_parts(addr, size, visit);
    }

    fn touch_parts(&mut self, addr: Addr, size: u32, mut visit: impl FnMut(&mut C, Addr, u32)) {
        for (word, mask) in words(addr, size) {
            self.page(word / PAGE_WORDS as u64).touch(
                (word % PAGE_WORDS as u64) as usize,
                mask,
                |cell, mask| {
                    let first = Addr(word * WORD_BYTES + u64::from(mask.trailing_zeros()));
                    visit(cell, first, mask.count_ones());
                },
            );
        }
    }

    /// Forgets all that is known about a range.
    pub fn forget(&mut self, addr: Addr, size: u32) {
        let last = addr.0.saturating_add(u64::from(size.max(1)) - 1);
        for page in addr.0 / PAGE_BYTES..=last / PAGE_BYTES {
            let Some(index) = self.find(page) else { continue };
            let page_first = page * PAGE_BYTES;
            if addr.0 <= page_first && last >= page_first + (PAGE_BYTES - 1) {
                self.remove(page, index);
                continue;
            }
            let from = addr.0.max(page_first);
            let to = last.min(page_first + (PAGE_BYTES - 1));
            for (word, mask) in words(Addr(from), (to - from + 1) as u32) {
                self.pages[index as usize].forget((word % PAGE_WORDS as u64) as usize, mask);
            }
        }
    }

    /// Shows each cell that was touched.
    pub fn for_each(&mut self, mut visit: impl FnMut(&mut C)) {
        for page in &mut self.pages {
            for word in 0..PAGE_WORDS {
                if page.shapes[word] != 0 {
                    visit(&mut page.cells[word]);
                }
                for (_, cell) in page.splits.iter_mut().flat_map(|splits| &mut splits[word]) {
                    visit(cell);
                }
            }
        }
    }

    /// A number that is not much exceeded by that of the cells.
    pub fn cells_at_most(&self) -> usize {
        self.pages() * PAGE_WORDS
    }

    /// Pages in use, of 512 bytes of program memory each.
    pub fn pages(&self) -> usize {
        self.pages.len() - self.free.len()
    }

    /// What is known about the word that holds an address, or a part of it; for who will need it soon.
    #[inline]
    pub fn peek(&self, addr: Addr) -> Option<&C> {
        let word = addr.0 / WORD_BYTES;
        let page = self.find(word / PAGE_WORDS as u64)?;
        Some(&self.pages[page as usize].cells[word as usize % PAGE_WORDS])
    }

    fn find(&self, page: u64) -> Option<u32> {
        let index = match self.near_base {
            Some(base) if page.wrapping_sub(base) < NEAR_PAGES => {
                self.near.get((page - base) as usize).copied().unwrap_or(ABSENT)
            }
            _ => self.far.get(&page).copied().unwrap_or(ABSENT),
        };
        (index != ABSENT).then_some(index)
    }

    #[inline(always)]
    fn page(&mut self, page: u64) -> &mut Page<C> {
        if self.last.0 != page {
            self.turn_to(page);
        }
        &mut self.pages[self.last.1 as usize]
    }

    #[inline(never)]
    fn turn_to(&mut self, page: u64) {
        let index = self.find(page).unwrap_or_else(|| self.insert(page));
        self.last = (page, index);
    }

    fn slot(&mut self, page: u64) -> &mut u32 {
        // What is touched first need not have the lowest address of its neighbourhood.
        let base = *self.near_base.get_or_insert(page / BELOW * BELOW);
        match page.wrapping_sub(base) {
            near if near < NEAR_PAGES => {
                if self.near.len() <= near as usize {
                    self.near.resize(near as usize + 1, ABSENT);
                }
                &mut self.near[near as usize]
            }
            _ => self.far.entry(page).or_insert(ABSENT),
        }
    }

    #[cold]
    fn insert(&mut self, page: u64) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.pages.push(Box::new(Page::new()));
            (self.pages.len() - 1) as u32
        });
        *self.slot(page) = index;
        index
    }

    fn remove(&mut self, page: u64, index: u32) {
        *self.pages[index as usize] = Page::new();
        self.free.push(index);
        self.last = (u64::MAX, ABSENT);
        if self.far.remove(&page).is_none() {
            *self.slot(page) = ABSENT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_is_cut_at_word_boundaries() {
        assert_eq!(words(Addr(6), 4).collect::<Vec<_>>(), [(0, 0b1100_0000), (1, 0b0000_0011)]);
        assert_eq!(words(Addr(8), 8).collect::<Vec<_>>(), [(1, 0xff)]);
        assert_eq!(words(Addr(u64::MAX), 8).collect::<Vec<_>>(), [(u64::MAX / 8, 0x80)]);
    }

    proptest! {
        /// The history that the cells keep is, byte by byte, the one that a map of bytes keeps.
        #[test]
        fn cells_are_exact_to_the_byte(
            operations in prop::collection::vec((0u64..1200, 1u32..20, any::<bool>(), 0u8..8), 1..60)
        ) {
            let far = 1u64 << 40;
            let mut shadow: Shadow<Vec<usize>> = Shadow::new();
            let mut bytes: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
            for (number, &(offset, size, is_far, kind)) in operations.iter().enumerate() {
                let addr = if is_far { far + offset } else { offset };
                let size = if kind == 1 { size * 40 } else { size };
                if kind < 2 {
                    shadow.forget(Addr(addr), size);
                    for byte in addr..addr + u64::from(size) {
                        bytes.remove(&byte);
                    }
                } else {
                    let mut covered = Vec::new();
                    shadow.touch(Addr(addr), size, |cell, first, count| {
                        for byte in first.0..first.0 + u64::from(count) {
                            // Cells need not be contiguous; only the count and the first byte are promised.
                            if count == 1 { assert_eq!(bytes.get(&byte).cloned().unwrap_or_default(), *cell); }
                        }
                        cell.push(number);
                        covered.push(count);
                    });
                    prop_assert_eq!(covered.iter().sum::<u32>(), size);
                    for byte in addr..addr + u64::from(size) {
                        bytes.entry(byte).or_default().push(number);
                    }
                }
            }
            for (&byte, history) in &bytes {
                shadow.touch(Addr(byte), 1, |cell, _, _| assert_eq!(cell, history, "byte {byte}"));
            }
        }
    }
}
