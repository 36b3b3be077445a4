//! Where in the program the accesses stand that a word of the shadow remembers: two places for each half of a word.
//!
//! Words that lie side by side were mostly accessed by the same instructions. So there are 24 bytes for each line of 64
//! bytes of the program, a number for the first places of its sixteen halves and one for the second ones:
//!
//! | bits | content |
//! |---|---|
//! | 0 to 21 | an older place |
//! | 22 to 43 | a newer one |
//! | 44 to 59 | for each half whether its place is the newer one |
//! | 62 | of the first places: somebody owns the line |
//! | 63 | there are more than two: the other bits are the address of a table with one for each half |
//!
//! A third number for each line is what there is no room for in the words, the same for all of the line:
//!
//! | bits | content |
//! |---|---|
//! | 0 to 21 | the place of the write that stands behind the reads of those words that remember two reads and say so |
//! | 22 to 46 | its step |
//! | 47 to 63 | the upper bits of the number of the locks of those words that remember accesses under some |
//!
//! **Who may touch what.** Everybody reads. Who has set the bit of the line ([`own`]) changes its numbers, and those words of the line that are
//! no records: so that one locked instruction is enough for many words that lie side by side. Tables belong to the line until
//! the memory is forgotten, and are then leaked into the next use of the line: they are never given back, so that nobody meets one that is
//! gone.

use crate::layout::{ADDRESS_MASK, PAGE_BYTES, SHADOW, WORD_BYTES};
use crate::places::PlaceNumber;
use crate::spin::pause;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The places lie behind the words in what is reserved for shadow memory.
const BASE: usize = SHADOW.base + (1 << 45);
pub(super) const LINE_BYTES: usize = 64;
/// Bytes for each line: two numbers for places, one for the write behind readers and for locks.
const ENTRY_BYTES: usize = 24;
const PLACE_BITS: u32 = 22;
const PLACE: u64 = (1 << PLACE_BITS) - 1;
const NEWER_SHIFT: u32 = 2 * PLACE_BITS;
const OWNED: u64 = 1 << 62;
/// Of the third number.
const LOCKS_SHIFT: u32 = 47;
pub(super) const LOCKS_BITS: u32 = 64 - LOCKS_SHIFT;
const BEHIND: u64 = (1 << LOCKS_SHIFT) - 1;
const TABLE: u64 = 1 << 63;

/// Bytes that have places of their own.
const HALF_BYTES: usize = WORD_BYTES / 2;
const HALVES: u64 = (1 << (LINE_BYTES / HALF_BYTES)) - 1;

/// In one line of the processor's.
#[repr(align(64))]
struct Table([AtomicU32; LINE_BYTES / HALF_BYTES]);

fn line(addr: usize, second: bool) -> (&'static AtomicU64, u32) {
    let line = (addr & ADDRESS_MASK) / LINE_BYTES;
    let entry = BASE + line * ENTRY_BYTES + usize::from(second) * 8;
    // SAFETY: this part of the shadow is mapped, aligned and zeroed at the start, and only accessed as such numbers.
    (unsafe { &*(entry as *const AtomicU64) }, (addr / HALF_BYTES % 16) as u32)
}

fn table(number: u64) -> &'static Table {
    // SAFETY: a number with the bit holds the address of a table that was leaked in `spread`.
    unsafe { &*((number & !(TABLE | OWNED)) as *const Table) }
}

/// The places of some halves of a line, which are few of sixteen.
#[inline(always)]
fn in_table(number: u64, bits: u64) -> impl Iterator<Item = &'static AtomicU32> {
    let (table, mut left) = (table(number), bits);
    std::iter::from_fn(move || {
        let known = table.0.get(left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(known)
    })
}

/// Asks the kernel for the places of a stretch of memory whose words are about to be used, one after the other.
#[cold]
pub(super) fn ask_ahead(addr: usize, size: usize) {
    let lines = (addr & ADDRESS_MASK) / LINE_BYTES;
    let first = (BASE + lines * ENTRY_BYTES) & !(PAGE_BYTES - 1);
    let end = BASE + (lines + size / LINE_BYTES) * ENTRY_BYTES;
    // SAFETY: the range lies in this part of the shadow, whose content does not change. Where the kernel does not know how, the pages come
    // when they are needed.
    unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_POPULATE_WRITE) };
}

/// Has the processor fetch where a place of the half word at an address is, which is about to be asked for.
#[inline(always)]
pub(super) fn approach(addr: usize, second: bool) {
    let (entry, half) = line(addr, second);
    let number = entry.load(Ordering::Relaxed);
    if number & TABLE != 0 {
        let place = ((number & !(TABLE | OWNED)) as *const AtomicU32).wrapping_add(half as usize);
        // SAFETY: nothing is accessed by it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
}

/// One of the two places of the half word at an address.
pub(super) fn get(addr: usize, second: bool) -> PlaceNumber {
    let (entry, half) = line(addr, second);
    let number = entry.load(Ordering::Acquire);
    if number & TABLE != 0 {
        return table(number).0[half as usize].load(Ordering::Relaxed);
    }
    let newer = number >> NEWER_SHIFT >> half & 1 != 0;
    (if newer { number >> PLACE_BITS & PLACE } else { number & PLACE }) as PlaceNumber
}

/// The halves of whole words from one address to another one, in the same line or at its end.
#[inline(always)]
fn halves_of(from: usize, to: usize) -> u64 {
    let count = (to - from) / HALF_BYTES;
    ((1 << count) - 1) << (from / HALF_BYTES % 16)
}

/// The halves of a word in which some bytes are.
#[inline(always)]
fn halves_with(bytes: u8) -> u64 {
    u64::from(bytes & 0x0f != 0) | u64::from(bytes & 0xf0 != 0) << 1
}

/// True if both halves of all words from one address to another one, in the same line or at its end, have a place.
#[inline(always)]
pub(super) fn is_whole(from: usize, to: usize, second: bool, place: PlaceNumber) -> bool {
    are_in(line(from, second).0.load(Ordering::Acquire), halves_of(from, to), place)
}

#[inline(always)]
fn are_in(number: u64, bits: u64, place: PlaceNumber) -> bool {
    if number & TABLE != 0 {
        return in_table(number, bits).all(|known| known.load(Ordering::Relaxed) == place);
    }
    let newer = number >> NEWER_SHIFT & bits;
    let known = if newer == 0 { number & PLACE } else { number >> PLACE_BITS & PLACE };
    (newer == 0 || newer == bits) && known == u64::from(place)
}

/// A line that the calling thread owns until this is dropped.
pub(super) struct OwnedLine {
    /// The number of its first places, as it shall be.
    first: u64,
    entry: &'static AtomicU64,
    second: &'static AtomicU64,
}

impl Drop for OwnedLine {
    #[inline(always)]
    fn drop(&mut self) {
        self.entry.store(self.first, Ordering::Release);
    }
}

/// Takes the line of an address, for a few instructions. None: the runtime is being switched off.
#[inline(always)]
pub(super) fn own(addr: usize) -> Option<OwnedLine> {
    let (entry, second) = (line(addr, false).0, line(addr, true).0);
    let first = entry.load(Ordering::Relaxed) & !OWNED;
    match entry.compare_exchange(first, first | OWNED, Ordering::Acquire, Ordering::Relaxed) {
        Ok(_) => Some(OwnedLine { first, entry, second }),
        Err(_) => wait_for(entry, second),
    }
}

#[cold]
fn wait_for(entry: &'static AtomicU64, second: &'static AtomicU64) -> Option<OwnedLine> {
    let mut tries = 0;
    while crate::watch::is_on() {
        let first = entry.load(Ordering::Relaxed);
        if first & OWNED == 0
            && entry.compare_exchange(first, first | OWNED, Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            return Some(OwnedLine { first, entry, second });
        }
        pause(tries);
        tries = tries.wrapping_add(1);
    }
    None
}

impl OwnedLine {
    /// Sets the place of both halves of all words from one address to another one, in this line or at its end. `used` as below.
    #[inline(always)]
    pub(super) fn put_whole(
        &mut self,
        (from, to): (usize, usize),
        second: bool,
        place: PlaceNumber,
        used: impl Fn() -> u8,
    ) {
        self.put_halves(halves_of(from, to), second, place, used);
    }

    /// Sets it for the halves of a word in which some bytes are. `used` tells which words of the line have something to remember.
    #[inline(always)]
    pub(super) fn put(
        &mut self,
        (addr, bytes): (usize, u8),
        second: bool,
        place: PlaceNumber,
        used: impl Fn() -> u8,
    ) {
        let half = line(addr & !(WORD_BYTES - 1), second).1;
        let bits = halves_with(bytes) << half;
        if bits != 0 {
            self.put_halves(bits, second, place, used);
        }
    }

    #[inline(always)]
    fn put_halves(&mut self, bits: u64, second: bool, place: PlaceNumber, used: impl Fn() -> u8) {
        let number = if second { self.second.load(Ordering::Relaxed) } else { self.first };
        if are_in(number, bits, place) {
            return;
        }
        let changed = with_place(number, bits, u64::from(place) & PLACE, used);
        if second {
            self.second.store(changed, Ordering::Release);
        } else {
            self.first = changed;
        }
    }

    /// Sets the write behind the readers of a word. False: other words of the line have another one; `used` tells whether there are any.
    pub(super) fn put_behind(
        &mut self,
        addr: usize,
        step: u64,
        place: PlaceNumber,
        used: impl Fn() -> bool,
    ) -> bool {
        self.put_for_line(addr, BEHIND, step << PLACE_BITS | u64::from(place) & PLACE, used)
    }

    /// Sets what the line has of the locks of a word that remembers accesses under some, in the same way.
    pub(super) fn put_locks(&mut self, addr: usize, upper: u32, used: impl Fn() -> bool) -> bool {
        self.put_for_line(addr, !BEHIND, u64::from(upper) << LOCKS_SHIFT, used)
    }

    /// Sets some bits of the third number.
    fn put_for_line(&mut self, addr: usize, bits: u64, new: u64, used: impl Fn() -> bool) -> bool {
        let entry = behind(addr);
        let old = entry.load(Ordering::Relaxed);
        if old & bits != new {
            if used() {
                return false;
            }
            entry.store(old & !bits | new, Ordering::Release);
        }
        true
    }
}

/// The number of a line in which some halves have another place.
#[inline(never)]
fn with_place(number: u64, bits: u64, place: u64, used: impl Fn() -> u8) -> u64 {
    if number & TABLE != 0 {
        in_table(number, bits).for_each(|known| known.store(place as u32, Ordering::Relaxed));
        return number;
    }
    let (older, newer, mut mask) =
        (number & PLACE, number >> PLACE_BITS & PLACE, number >> NEWER_SHIFT & HALVES);
    if place == newer && mask != 0 {
        number | bits << NEWER_SHIFT
    } else if place == older {
        number & !(bits << NEWER_SHIFT)
    } else if mask & !bits == 0 {
        older | place << PLACE_BITS | bits << NEWER_SHIFT
    } else if mask | bits == HALVES {
        newer | place << PLACE_BITS | bits << NEWER_SHIFT
    } else {
        // A third place. Words that have nothing to remember do not count.
        let used = halves(used());
        mask &= used;
        if mask & !bits == 0 {
            older | place << PLACE_BITS | bits << NEWER_SHIFT
        } else if (mask | bits) & used == used {
            newer | place << PLACE_BITS | bits << NEWER_SHIFT
        } else {
            spread(number, bits, place)
        }
    }
}

/// The third number of a line.
fn behind(addr: usize) -> &'static AtomicU64 {
    let entry = BASE + (addr & ADDRESS_MASK) / LINE_BYTES * ENTRY_BYTES + 16;
    // SAFETY: as in `line`.
    unsafe { &*(entry as *const AtomicU64) }
}

/// The number of the step of the write behind the readers of a word, and its place.
#[inline(always)]
pub(super) fn write_behind(addr: usize) -> (u64, PlaceNumber) {
    let number = behind(addr).load(Ordering::Acquire);
    ((number & BEHIND) >> PLACE_BITS, (number & PLACE) as PlaceNumber)
}

/// What a line has of the locks of those words that remember accesses under some.
#[inline(always)]
pub(super) fn locks(addr: usize) -> u32 {
    (behind(addr).load(Ordering::Acquire) >> LOCKS_SHIFT) as u32
}

/// Puts another step in the place of that of the write behind the readers of a line.
pub(super) fn replace_behind(addr: usize, stand_in: impl Fn(u64) -> u64) {
    let entry = behind(addr);
    let old = entry.load(Ordering::Acquire);
    if old & BEHIND != 0 {
        let step = stand_in((old & BEHIND) >> PLACE_BITS);
        let new = if step == 0 { 0 } else { step << PLACE_BITS | old & PLACE };
        entry.store(old & !BEHIND | new, Ordering::Release);
    }
}

/// Each word's bit twice.
fn halves(words: u8) -> u64 {
    let spread = u64::from(words);
    let spread = (spread | spread << 4) & 0x0f0f;
    let spread = (spread | spread << 2) & 0x3333;
    let spread = (spread | spread << 1) & 0x5555;
    spread | spread << 1
}

/// A table with one place for each half.
#[cold]
fn spread(number: u64, bits: u64, place: u64) -> u64 {
    let places = std::array::from_fn(|index| {
        let newer = number >> NEWER_SHIFT >> index & 1 != 0;
        let known = if newer { number >> PLACE_BITS & PLACE } else { number & PLACE };
        AtomicU32::new(if bits >> index & 1 != 0 { place } else { known } as u32)
    });
    std::ptr::from_ref(Box::leak(Box::new(Table(places)))) as u64 | TABLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_word_has_two_halves() {
        for words in 0..=255u8 {
            let expected =
                (0..16).filter(|half| words >> (half / 2) & 1 != 0).fold(0, |all, half| all | 1 << half);
            assert_eq!(halves(words), expected, "{words:08b}");
        }
    }

    proptest! {
        /// Any places of any halves are found again.
        #[test]
        fn places_are_found_again(writes in proptest::collection::vec((0usize..48, any::<bool>(), 1u32..6, any::<bool>()), 1..200)) {
            crate::start::map_for_tests();
            static NEXT: AtomicU64 = AtomicU64::new(0x20_0000_0000);
            let base = NEXT.fetch_add(4096, Ordering::Relaxed) as usize;
            let mut expected = [[0; 2]; 48];
            for (half, second, place, whole) in writes {
                let word = half / 2 * 2;
                let (first, last, bytes) =
                    if whole { (word, word + 1, 0xff) } else { (half, half, [0x0f, 0xf0][half % 2]) };
                (first..=last).for_each(|half| expected[half][usize::from(second)] = place);
                let used = || {
                    let line = &expected[half / 16 * 16..half / 16 * 16 + 16];
                    (0..8).filter(|word| line[2 * word] != [0; 2] || line[2 * word + 1] != [0; 2])
                        .fold(0u8, |mask, word| mask | 1 << word)
                };
                own(base + word * 4).expect("nobody else").put((base + word * 4, bytes), second, place, used);
                for (half, places) in expected.iter().enumerate() {
                    for second in [false, true] {
                        let known = places[usize::from(second)];
                        prop_assert!(known == 0 || get(base + half * 4, second) == known);
                    }
                }
            }
        }
    }
}
