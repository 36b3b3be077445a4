//! Which regions are open: steps and blocks that have begun and not ended.

use crate::analysis::tasks::OpenRegions;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// A set of numbers that are given in growing order and mostly taken back soon.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// 64 numbers each, the latest ones.
    words: VecDeque<u64>,
    /// The number of the first bit.
    first: u64,
    /// Older ones that are still open.
    old: FxHashSet<u32>,
}

impl Regions {
    /// So many words are kept: those of a hundred thousand regions.
    const WORDS: usize = 1 << 11;

    /// A region begins.
    pub(super) fn open(&mut self, number: u32) {
        let wide = u64::from(number);
        if self.words.is_empty() {
            self.first = wide / 64 * 64;
        }
        let Some(offset) = wide.checked_sub(self.first) else {
            self.old.insert(number);
            return;
        };
        let mut word = (offset / 64) as usize;
        while word >= Self::WORDS {
            // The oldest ones make room.
            match self.words.pop_front() {
                Some(mut bits) => {
                    while bits != 0 {
                        self.old.insert((self.first + u64::from(bits.trailing_zeros())) as u32);
                        bits &= bits - 1;
                    }
                    self.first += 64;
                }
                None => self.first = wide / 64 * 64,
            }
            word = ((wide - self.first) / 64) as usize;
        }
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (wide % 64);
    }

    /// A region ends.
    pub(super) fn close(&mut self, number: u32) {
        match u64::from(number).checked_sub(self.first) {
            Some(offset) => {
                if let Some(word) = self.words.get_mut((offset / 64) as usize) {
                    *word &= !(1 << (offset % 64));
                }
            }
            None => {
                self.old.remove(&number);
            }
        }
    }
}

impl OpenRegions for Regions {
    #[inline]
    fn is_open(&self, number: u32) -> bool {
        match u64::from(number).checked_sub(self.first) {
            Some(offset) => {
                let word = self.words.get((offset / 64) as usize);
                word.is_some_and(|word| word >> (offset % 64) & 1 == 1)
            }
            None => self.old.contains(&number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_regions_are_not_forgotten_and_take_little_room() {
        let mut regions = Regions::default();
        for number in 1..1_000_000u32 {
            regions.open(number);
            if number % 1000 != 0 {
                regions.close(number);
            }
        }
        assert!((1..1_000_000).all(|number| regions.is_open(number) == (number % 1000 == 0)));
        assert!(regions.words.len() <= Regions::WORDS);
        for number in (1000..1_000_000).step_by(1000) {
            regions.close(number);
        }
        assert!(!(1..1_000_000).any(|number| regions.is_open(number)));
        assert!(regions.old.is_empty());
    }
}
