//! Accesses of many bytes: those of a loop, told all at once, and those of one operation.

use super::{
    RACES, is_on, read, short_read, short_write, shortcut, task_shortcut_of, tasks_of_program, watcher, write,
};
use crate::driver::Driver;
use crate::shadow::{Word, Words, words};
use crate::thread::Inside;
use crate::watcher::Watcher;
use crate::{layout, tls};
use keirin_core::analysis::fasttrack::{Compact, FastTrack};
use keirin_core::event::AccessKind;
use std::sync::atomic::Ordering;

/// Accesses at equal distances, in rows at equal distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ranges {
    pub(crate) kind: AccessKind,
    pub(crate) addr: usize,
    pub(crate) size: usize,
    pub(crate) count: usize,
    pub(crate) distance: isize,
    pub(crate) rows: usize,
    pub(crate) row_distance: isize,
    /// All of it happens more than once.
    pub(crate) repeated: bool,
}

impl Ranges {
    const SIZE: u64 = 31;
    const WRITES: u64 = 32;
    const REPEATED: u64 = 64;
    const COUNT_SHIFT: u32 = 8;

    /// As the pass tells it. None if nothing happens.
    #[inline(always)]
    pub(crate) fn of(
        addr: usize,
        what: u64,
        distance: isize,
        rows: usize,
        row_distance: isize,
    ) -> Option<Self> {
        let kind = if what & Self::WRITES == 0 { AccessKind::Read } else { AccessKind::Write };
        let (size, count) = ((what & Self::SIZE) as usize, (what >> Self::COUNT_SHIFT) as usize);
        if size == 0 || count == 0 || rows == 0 {
            return None;
        }
        let repeated = what & Self::REPEATED != 0;
        let told = Self { kind, addr, size, count, distance, rows, row_distance, repeated };
        Some(told.simplified())
    }

    /// The same with as few rows as possible, and with nothing more than twice.
    #[inline(always)]
    fn simplified(mut self) -> Self {
        if self.count == 1 || self.distance == 0 {
            self.repeated |= self.count > 1;
            (self.count, self.distance) = (self.rows, self.row_distance);
            (self.rows, self.row_distance) = (1, 0);
        } else if self.rows > 1 && (self.count as isize).checked_mul(self.distance) == Some(self.row_distance)
        {
            self.count *= self.rows;
            (self.rows, self.row_distance) = (1, 0);
        }
        if self.rows > 1 && self.row_distance == 0 {
            (self.rows, self.repeated) = (1, true);
        }
        if self.count > 1 && self.distance == 0 {
            (self.count, self.repeated) = (1, true);
        }
        self
    }

    /// True if the accesses of a row lie side by side.
    #[inline(always)]
    pub(crate) fn is_dense(&self) -> bool {
        self.count == 1 || self.distance.unsigned_abs() == self.size
    }

    /// True if it is one row that lies side by side, of no more than so many bytes.
    #[inline(always)]
    pub(crate) fn is_within(&self, bytes: usize) -> bool {
        self.rows == 1 && self.is_dense() && self.count * self.size <= bytes
    }

    /// The same bytes, for who does not mind how often they are accessed: rows that lie close together are one.
    #[inline(always)]
    pub(crate) fn joined(mut self) -> Self {
        let length = self.count * self.size;
        if self.rows > 1 && self.is_dense() && self.size <= 8 && self.row_distance.unsigned_abs() <= length {
            let all = (self.rows - 1) * self.row_distance.unsigned_abs() + length;
            if all.is_multiple_of(self.size) {
                let last =
                    self.addr.wrapping_add_signed(self.row_distance.wrapping_mul(self.rows as isize - 1));
                self.addr = self.lowest(self.addr).min(self.lowest(last));
                (self.count, self.distance) = (all / self.size, self.size as isize);
                (self.rows, self.row_distance) = (1, 0);
            }
        }
        self
    }

    /// Where each row begins: at its first access.
    #[inline(always)]
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { addr, row_distance, .. } = *self;
        (0..self.rows).map(move |row| addr.wrapping_add_signed(row_distance.wrapping_mul(row as isize)))
    }

    /// The lowest address of a row.
    #[inline(always)]
    pub(crate) fn lowest(&self, row: usize) -> usize {
        if self.distance >= 0 { row } else { self.address(row, self.count - 1) }
    }

    /// The addresses of all accesses, in the order of the program; all of it twice, if that matters.
    pub(crate) fn one_by_one(&self, twice: bool, mut act: impl FnMut(usize)) {
        for row in (0..=usize::from(twice)).flat_map(|_| self.rows()) {
            (0..self.count).for_each(|index| act(self.address(row, index)));
        }
    }

    /// The address of an access.
    #[inline(always)]
    pub(crate) fn address(&self, row: usize, index: usize) -> usize {
        row.wrapping_add_signed(self.distance.wrapping_mul(index as isize))
    }
}

/// True if it matters to the run when, and how often, a step does what it has done already.
pub(crate) fn minds_repetitions() -> bool {
    watcher().is_some_and(Watcher::minds_repetitions)
}

/// Plain accesses, all from one place.
pub(crate) fn accesses(ranges: &Ranges, pc: usize) {
    if !is_on() {
        return;
    }
    if let Some(tell) = tasks_of_program::range_access()
        && let Some(mut inside) = Inside::enter_quietly()
        && tell(&mut inside, ranges, pc)
    {
        return;
    }
    let only_races = !RACES.load(Ordering::Relaxed).is_null();
    if only_races && ranges.is_dense() && ranges.count > 1 {
        for row in ranges.rows() {
            let (first, size) = (ranges.lowest(row), ranges.count * ranges.size);
            match ranges.kind {
                AccessKind::Read => read(first, size, pc),
                AccessKind::Write => write(first, size, pc),
            }
        }
        return;
    }
    ranges.one_by_one(ranges.repeated && !only_races, |addr| match ranges.kind {
        AccessKind::Read => short_read(addr, ranges.size, pc),
        AccessKind::Write => short_write(addr, ranges.size, pc),
    });
}

/// A plain read of any number of bytes, told by no hook of an access.
#[inline]
pub(crate) fn read_range(addr: usize, size: usize, pc: usize) {
    if tls::epoch() != 0 {
        return range_of_races::<true>(addr, size, pc);
    }
    if !range_shortcut(AccessKind::Read, addr, size, pc) {
        read(addr, size, pc);
    }
}

/// True if at most eight bytes were read by the calling thread in its epoch, which the default analysis watches, with nothing in between that it would
/// have to hear of.
#[inline(always)]
pub(crate) fn has_read_few(addr: usize, size: usize) -> bool {
    let (epoch, place) = (tls::epoch(), tls::note() / size_of::<u64>());
    if epoch == 0 || size > layout::WORD_BYTES {
        return false;
    }
    let offset = addr % layout::WORD_BYTES;
    let bytes = ((1u32 << size) - 1) << offset;
    let (mask, mask_of_next) = (bytes as u8, (bytes >> layout::WORD_BYTES) as u8);
    let has_read = |word: &Word, mask: u8| {
        word.notes(place, epoch, AccessKind::Read, mask) || word.knows(epoch, AccessKind::Read, mask)
    };
    has_read(Word::of(addr), mask)
        && (mask_of_next == 0 || has_read(Word::of(addr + layout::WORD_BYTES), mask_of_next))
}

/// A read of some bytes that [`has_read_few`] does not know.
#[inline]
pub(crate) fn read_compared(addr: usize, size: usize, pc: usize) {
    if tls::epoch() == 0 || size > layout::WORD_BYTES || !layout::is_program(addr, size) {
        return read_range(addr, size, pc);
    }
    short_read(addr, size, pc);
}

/// The same for a write.
#[inline]
pub(crate) fn write_range(addr: usize, size: usize, pc: usize) {
    if tls::epoch() != 0 {
        return range_of_races::<false>(addr, size, pc);
    }
    if !range_shortcut(AccessKind::Write, addr, size, pc) {
        write(addr, size, pc);
    }
}

/// What the hooks of accesses do first, for other accesses of a thread that the default analysis does not watch, or not yet. True if that was all.
#[inline]
fn range_shortcut(kind: AccessKind, addr: usize, size: usize, pc: usize) -> bool {
    if !is_on() || !layout::is_program(addr, size) {
        return false;
    }
    if !RACES.load(Ordering::Relaxed).is_null() {
        return shortcut(kind, addr, size, pc);
    }
    // What is copied is read and written by one call.
    let run_at = pc + usize::from(kind == AccessKind::Read);
    if tasks_of_program::is_known_or_expected(kind, addr, size, run_at) {
        return true;
    }
    if matches!(size, 1 | 2 | 4 | 8 | 16) {
        return task_shortcut_of(kind, addr, size, pc, run_at);
    }
    let Some(tell) = tasks_of_program::copy_access().filter(|_| size > 0) else { return false };
    Inside::enter_quietly().is_some_and(|mut inside| tell(&mut inside, kind, (addr, size), pc))
}

/// A range of the default analysis, of reads or of writes. (Written out for each: copies are made at every turn. A thread that has an epoch is watched by
/// it, and nothing is recorded.)
#[inline(never)]
fn range_of_races<const READS: bool>(addr: usize, size: usize, pc: usize) {
    let kind = if READS { AccessKind::Read } else { AccessKind::Write };
    let (epoch, place) = (tls::epoch(), tls::note() / size_of::<u64>());
    let mut rest = words(addr, size);
    while let Some((word, mask)) = rest.peek() {
        // Mostly bytes that are compared again and again.
        let word = Word::of(word);
        if !word.notes(place, epoch, kind, mask) && !word.knows(epoch, kind, mask) {
            return tell_range::<READS>(rest, addr, size, pc);
        }
        rest.next();
    }
}

/// The same for words that tell something new; `rest` are those that remain.
#[inline(never)]
fn tell_range<const READS: bool>(rest: Words, addr: usize, size: usize, pc: usize) {
    let kind = if READS { AccessKind::Read } else { AccessKind::Write };
    let is_watched = is_on() && layout::is_program(addr, size);
    let done = is_watched
        && Inside::enter_quietly().is_some_and(|mut inside| {
            Driver::<FastTrack<Compact>>::shortcut_range(&mut inside, (tls::epoch(), kind, pc), size, rest)
        });
    match kind {
        _ if done => {}
        AccessKind::Read => read(addr, size, pc),
        AccessKind::Write => write(addr, size, pc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addresses(ranges: &Ranges) -> Vec<usize> {
        let mut all = Vec::new();
        ranges.one_by_one(false, |addr| all.push(addr));
        all
    }

    #[test]
    fn what_does_not_happen_is_nothing() {
        assert_eq!(Ranges::of(64, 8, 8, 1, 0), None);
        assert_eq!(Ranges::of(64, 8 | 3 << 8, 8, 0, 0), None);
        let one = Ranges::of(64, 8 | 32 | 3 << 8, 8, 1, 0).expect("three writes");
        assert_eq!((one.kind, one.size, one.count, one.repeated), (AccessKind::Write, 8, 3, false));
    }

    proptest! {
        /// Joined, the same bytes are accessed.
        #[test]
        fn joined_are_the_same_bytes(
            count in 1usize..5,
            distance in -9isize..10,
            rows in 1usize..5,
            row_distance in -20isize..20,
        ) {
            let ranges = Ranges::of(1 << 20, 4 | (count as u64) << 8, distance, rows, row_distance);
            let ranges = ranges.expect("something");
            let bytes = |ranges: &Ranges| -> std::collections::BTreeSet<usize> {
                addresses(ranges).into_iter().flat_map(|addr| addr..addr + ranges.size).collect()
            };
            prop_assert_eq!(bytes(&ranges), bytes(&ranges.joined()));
        }

        /// Simplified, the same memory is accessed, and as often if that is once or never.
        #[test]
        fn simplified_is_the_same(
            count in 1usize..5,
            distance in -20isize..20,
            rows in 1usize..5,
            row_distance in -80isize..80,
            repeated: bool,
        ) {
            let what = 4 | u64::from(repeated) << 6 | (count as u64) << 8;
            let simple = Ranges::of(1 << 20, what, distance, rows, row_distance).expect("something");
            let mut told: Vec<usize> = Vec::new();
            for row in 0..rows as isize {
                told.extend((0..count as isize).map(|index| {
                    (1usize << 20).wrapping_add_signed(row * row_distance + index * distance)
                }));
            }
            let times = |all: &[usize], one: usize| all.iter().filter(|addr| **addr == one).count();
            let simple_addresses = addresses(&simple);
            prop_assert!(simple_addresses.iter().all(|addr| told.contains(addr)));
            for addr in &told {
                let (before, after) = (times(&told, *addr), times(&simple_addresses, *addr));
                let twice = |times: usize, repeated| times > 1 || (times == 1 && repeated);
                prop_assert_eq!(twice(before, repeated), twice(after, simple.repeated));
                prop_assert!(after >= 1);
            }
        }
    }
}
