//! Where in the program the accesses stand that a word of the shadow remembers: two places for each word.
//!
//! Words that lie side by side were mostly accessed by the same instructions. So there are sixteen bytes for each line of 64
//! bytes of the program, a number for the first places of its eight words and one for the second ones:
//!
//! | bits | content |
//! |---|---|
//! | 0 to 21 | an older place |
//! | 22 to 43 | a newer one |
//! | 44 to 51 | for each word whether its place is the newer one |
//! | 63 | there are more than two: the other bits are the address of a table with one for each word |
//!
//! **Who may touch what.** Everybody at any time, by exchanging the number. Tables belong to the line until the memory is
//! forgotten, and are then leaked into the next use of the line: they are never given back, so that nobody meets one that is
//! gone.

use crate::layout::{ADDRESS_MASK, SHADOW, WORD_BYTES};
use crate::places::PlaceNumber;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The places lie behind the words in what is reserved for shadow memory.
const BASE: usize = SHADOW.base + (1 << 45);
const LINE_BYTES: usize = 64;
const PLACE_BITS: u32 = 22;
const PLACE: u64 = (1 << PLACE_BITS) - 1;
const NEWER_SHIFT: u32 = 2 * PLACE_BITS;
const TABLE: u64 = 1 << 63;

type Table = [AtomicU32; LINE_BYTES / WORD_BYTES];

fn line(addr: usize, second: bool) -> (&'static AtomicU64, u32) {
    let line = (addr & ADDRESS_MASK) / LINE_BYTES;
    let entry = BASE + line * 16 + usize::from(second) * 8;
    // SAFETY: this part of the shadow is mapped, aligned and zeroed at the start, and only accessed as such numbers.
    (unsafe { &*(entry as *const AtomicU64) }, (addr / WORD_BYTES % 8) as u32)
}

fn table(number: u64) -> &'static Table {
    // SAFETY: a number with the bit holds the address of a table that was leaked in `put`.
    unsafe { &*((number & !TABLE) as *const Table) }
}

/// One of the two places of a word.
pub(super) fn get(addr: usize, second: bool) -> PlaceNumber {
    let (entry, word) = line(addr, second);
    let number = entry.load(Ordering::Acquire);
    if number & TABLE != 0 {
        return table(number)[word as usize].load(Ordering::Relaxed);
    }
    let newer = number >> NEWER_SHIFT >> word & 1 != 0;
    (if newer { number >> PLACE_BITS & PLACE } else { number & PLACE }) as PlaceNumber
}

/// Sets it. `used` tells which words of the line have something to remember.
#[inline]
pub(super) fn put(addr: usize, second: bool, place: PlaceNumber, used: impl Fn() -> u8) {
    let (entry, word) = line(addr, second);
    let place = u64::from(place) & PLACE;
    let mut number = entry.load(Ordering::Acquire);
    loop {
        if number & TABLE != 0 {
            return table(number)[word as usize].store(place as u32, Ordering::Relaxed);
        }
        let (older, newer, mut mask) =
            (number & PLACE, number >> PLACE_BITS & PLACE, number >> NEWER_SHIFT & 0xff);
        let bit = 1u64 << word;
        let changed = if place == newer && mask != 0 {
            number | bit << NEWER_SHIFT
        } else if place == older {
            number & !(bit << NEWER_SHIFT)
        } else if mask & !bit == 0 {
            older | place << PLACE_BITS | bit << NEWER_SHIFT
        } else if mask | bit == 0xff {
            newer | place << PLACE_BITS | bit << NEWER_SHIFT
        } else {
            // A third place. Words that have nothing to remember do not count.
            let used = u64::from(used());
            mask &= used;
            if mask & !bit == 0 {
                older | place << PLACE_BITS | bit << NEWER_SHIFT
            } else if (mask | bit) & used == used {
                newer | place << PLACE_BITS | bit << NEWER_SHIFT
            } else {
                spread(number, word, place)
            }
        };
        if changed == number {
            return;
        }
        match entry.compare_exchange_weak(number, changed, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(now) => number = now,
        }
    }
}

/// A table with one place for each word.
#[cold]
fn spread(number: u64, word: u32, place: u64) -> u64 {
    let places: Table = std::array::from_fn(|index| {
        let newer = number >> NEWER_SHIFT >> index & 1 != 0;
        let known = if newer { number >> PLACE_BITS & PLACE } else { number & PLACE };
        AtomicU32::new(if index == word as usize { place } else { known } as u32)
    });
    std::ptr::from_ref(Box::leak(Box::new(places))) as u64 | TABLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any places of any words are found again.
        #[test]
        fn places_are_found_again(writes in proptest::collection::vec((0usize..24, any::<bool>(), 1u32..6), 1..200)) {
            crate::start::map_for_tests();
            static NEXT: AtomicU64 = AtomicU64::new(0x7100_0000_0000);
            let base = NEXT.fetch_add(4096, Ordering::Relaxed) as usize;
            let mut expected = [[0; 2]; 24];
            for (word, second, place) in writes {
                expected[word][usize::from(second)] = place;
                let used = || {
                    let line = &expected[word / 8 * 8..word / 8 * 8 + 8];
                    line.iter().enumerate().filter(|(_, places)| places[usize::from(second)] != 0)
                        .fold(0u8, |mask, (index, _)| mask | 1 << index)
                };
                put(base + word * 8, second, place, used);
                for (word, places) in expected.iter().enumerate() {
                    for second in [false, true] {
                        let known = places[usize::from(second)];
                        prop_assert!(known == 0 || get(base + word * 8, second) == known);
                    }
                }
            }
        }
    }
}
