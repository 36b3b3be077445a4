//! Which regions are open: steps and blocks that have begun and not ended.

use std::collections::VecDeque;

/// A set of numbers that are given in growing order and mostly taken back soon.
#[derive(Debug, Default)]
pub struct OpenRegions {
    /// 64 numbers each; those before are all closed.
    words: VecDeque<u64>,
    /// The number of the first bit.
    first: u64,
}

impl OpenRegions {
    /// A region begins. Numbers must not be far from each other.
    pub(super) fn open(&mut self, number: u32) {
        let number = u64::from(number);
        if self.words.is_empty() {
            self.first = number / 64 * 64;
        }
        let Some(offset) = number.checked_sub(self.first) else { return };
        let word = (offset / 64) as usize;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (offset % 64);
    }

    /// A region ends.
    pub(super) fn close(&mut self, number: u32) {
        let Some(offset) = u64::from(number).checked_sub(self.first) else { return };
        if let Some(word) = self.words.get_mut((offset / 64) as usize) {
            *word &= !(1 << (offset % 64));
        }
        while self.words.front() == Some(&0) {
            self.words.pop_front();
            self.first += 64;
        }
    }

    /// True if a region has begun and not ended.
    #[inline]
    pub fn is_open(&self, number: u32) -> bool {
        u64::from(number).checked_sub(self.first).is_some_and(|offset| {
            self.words.get((offset / 64) as usize).is_some_and(|word| word >> (offset % 64) & 1 == 1)
        })
    }
}
