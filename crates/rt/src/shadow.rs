//! Shadow memory: what is known about the program's memory, found by address without a search.
//!
//! Each word of eight bytes has a [`Word`] of four numbers. An analysis whose cell is small enough
//! ([`Shadowed::COMPACT`]) keeps it there, one cell for each half of the word:
//!
//! | number | content |
//! |---|---|
//! | 0 | lower half: the cell's first 60 bits; above them the bytes of the half that the cell is about |
//! | 1 | lower half: the cell's second 60 bits; above them three bits: the word is locked; it has a record; it has a table of bytes |
//! | 2, 3 | upper half, in the same way (the three bits are unused) |
//!
//! The highest bits of number 1 tell of two other forms in which the cells are in the word:
//!
//! | form | numbers |
//! |---|---|
//! | one cell of all eight bytes, with more to remember | the write; the last read; one or two further reads, or the atomic load of one thread |
//! | two cells, each of any bytes ([`SPLIT`]) | those of the first, which has all bytes of the lower half that the shape of number 0 tells; those of the second, which has all bytes of the upper half that the shape of number 2 tells |
//!
//! (In the second form the bytes that neither shape tells belong to the other cell: together they have all eight.)
//!
//! Whatever does not fit (an atomic variable that is written, a lock or a condition at this address, a fourth reader)
//! goes into a [`Record`]; number 1 is then its address. If only the bytes of a word differ too much, number 1 is the address of a small
//! table of them (`cells::ByteTable`). In both cases the other numbers are notes: which thread has accessed, or written,
//! which bytes in which epoch, with nothing in between by others that it would have to hear of. An analysis with large cells
//! has records only. When all of a record fits again, it is given back. (In a word
//! with a record the bit of the first form tells that threads keep operations for themselves, see `quiet`.)
//!
//! **Who may touch what.** Who has set the lock bit owns the word and its record. Others may read the numbers and compare
//! them with what they themselves would have put there (see `abi::access`). Memory that the program gives back is reset
//! without the lock unless there is a record: a thread that uses such memory at the same time may then leave a cell behind,
//! or lose one, but never touches a record that is gone.

mod cells;
mod forget;
mod notes;
pub(crate) mod pages;
mod shadowed;
mod shortcut;
#[cfg(test)]
mod tests;

pub(crate) use forget::forget;
pub(crate) use notes::{NOTED_WRITES, place_of_note};
pub(crate) use shadowed::Shadowed;

use crate::layout::{WORD_BYTES, shadow_of};
use crate::objects::Objects;
use crate::quiet;
use crate::spin::pause;
use cells::ByteTable;
pub(crate) use cells::Cells;
use keirin_core::event::{AtomicKind, ThreadId};
use std::sync::atomic::{AtomicU64, Ordering};

const LOCKED: u64 = 1 << 63;
const RECORD: u64 = 1 << 62;
const BYTES: u64 = 1 << 61;
/// In a word without: it has one cell, with a write, a read, and up to two further reads or an atomic load, one in each number.
pub(crate) const SHARED: u64 = 1 << 60;
/// In a word without a record: it has two cells, each about some of its bytes.
const SPLIT: u64 = BYTES | SHARED;
/// In a word with a record: threads keep for themselves what they do here (see `quiet`).
const QUIET: u64 = 1 << 60;
const CELL_BITS: u64 = (1 << 60) - 1;
const SHAPE_SHIFT: u32 = 60;
/// The shape of a half all of whose bytes a cell is about.
const ALL_OF_HALF: u64 = 0xf << SHAPE_SHIFT;

/// True if the cells are not in the numbers of a word, of which number 1 is given, but in a record or a table.
#[inline(always)]
fn is_elsewhere(head: u64) -> bool {
    head & RECORD != 0 || head & SPLIT == BYTES
}

/// The shadow of eight bytes.
#[repr(C, align(32))]
#[derive(Debug)]
pub(crate) struct Word([AtomicU64; 4]);

/// What does not fit into a word.
pub(crate) struct Record<A: Shadowed> {
    cells: Cells<A::Cell>,
    /// Locks and the like that lie at this address.
    pub(crate) objects: Objects<A::Sync, ThreadId>,
    /// Loads since anything else was done to an atomic variable here, up to [`MANY_LOADS`].
    loads: u8,
}

/// So many loads in turn, and more may follow: it is worth that each thread keeps its own for itself, though whoever does something else must take
/// them from all. (In tests few are enough, so that it happens.)
const MANY_LOADS: u8 = if cfg!(test) { 2 } else { 8 };

impl<A: Shadowed> Default for Record<A> {
    fn default() -> Self {
        Self { cells: Cells::default(), objects: Objects::default(), loads: 0 }
    }
}

impl Word {
    /// The shadow of the word that holds an address. The shadow must be mapped.
    #[inline]
    pub(crate) fn of(addr: usize) -> &'static Word {
        // SAFETY: the whole shadow is mapped, aligned and zeroed at the start and never unmapped; it is only ever accessed
        // as words of atomics.
        unsafe { &*(shadow_of(addr) as *const Word) }
    }

    /// Where it lies.
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Takes the word, and all that threads have kept for themselves. None if the runtime is being switched off, so that
    /// nobody waits for one who has failed.
    #[inline]
    pub(crate) fn lock<A: Shadowed>(&self) -> Option<Locked<'_, A>> {
        let mut locked = self.lock_quietly()?;
        locked.end_quiet();
        Some(locked)
    }

    /// Takes the word for something that threads need not know of that keep what they do for themselves.
    #[inline(always)]
    pub(crate) fn lock_quietly<A: Shadowed>(&self) -> Option<Locked<'_, A>> {
        let head = self.0[1].load(Ordering::Relaxed);
        let free = head & LOCKED == 0
            && self.0[1].compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok();
        let head = if free { head } else { self.await_lock()? };
        Some(Locked { word: self, head, marker: std::marker::PhantomData })
    }

    /// Takes the word as soon as it is free. Gives what number 1 was.
    #[cold]
    fn await_lock(&self) -> Option<u64> {
        let mut tries = 0;
        loop {
            let head = self.0[1].load(Ordering::Relaxed);
            let free = head & LOCKED == 0;
            if free
                && self.0[1]
                    .compare_exchange_weak(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return Some(head);
            }
            if !crate::watch::is_on() {
                return None;
            }
            pause(tries);
            tries = tries.wrapping_add(1);
        }
    }
}

/// A word that the calling thread owns.
pub(crate) struct Locked<'a, A: Shadowed> {
    word: &'a Word,
    /// What number 1 will be when the word is let go.
    head: u64,
    marker: std::marker::PhantomData<A>,
}

impl<A: Shadowed> Drop for Locked<'_, A> {
    #[inline]
    fn drop(&mut self) {
        self.word.0[1].store(self.head, Ordering::Release);
    }
}

impl<A: Shadowed> Locked<'_, A> {
    #[inline]
    fn numbers(&self) -> [u64; 4] {
        let number = |index: usize| self.word.0[index].load(Ordering::Relaxed);
        [number(0), self.head, number(2), number(3)]
    }

    #[inline]
    fn set_numbers(&mut self, numbers: [u64; 4]) {
        for index in [0, 2, 3] {
            self.word.0[index].store(numbers[index], Ordering::Relaxed);
        }
        self.head = numbers[1];
    }

    /// The record, if there is one.
    #[inline]
    pub(crate) fn record(&mut self) -> Option<&mut Record<A>> {
        if self.head & RECORD == 0 {
            return None;
        }
        // SAFETY: a word with this bit holds the address of a record of this analysis, the only one of the run, made by
        // `put_record`; it belongs to who holds the word's lock.
        Some(unsafe { &mut *((self.head & CELL_BITS) as *mut Record<A>) })
    }

    fn put_record(&mut self, record: Box<Record<A>>) -> &mut Record<A> {
        pages::mark_record(self.word.address());
        for index in [0, 2, 3] {
            self.word.0[index].store(0, Ordering::Relaxed);
        }
        #[cfg(test)]
        tests::made();
        let record = Box::into_raw(record);
        self.head = record as u64 | RECORD;
        // SAFETY: it was just made, and belongs to who holds the lock.
        unsafe { &mut *record }
    }

    fn take_record(&mut self) -> Option<Box<Record<A>>> {
        let record: *mut Record<A> = self.record()?;
        self.head = 0;
        #[cfg(test)]
        tests::given_back();
        // SAFETY: it was made by `Box::into_raw` in `put_record`, and nothing refers to it any more.
        Some(unsafe { Box::from_raw(record) })
    }

    /// The four numbers of the one cell, if it is in the word.
    #[inline]
    fn shared(&self) -> Option<[u64; 4]> {
        let is_shared = A::COMPACT && self.head & (RECORD | BYTES | SHARED) == SHARED;
        is_shared.then(|| {
            let [write, read, third, fourth] = self.numbers();
            [write & CELL_BITS, read & CELL_BITS, third, fourth]
        })
    }

    #[inline]
    fn set_shared(&mut self, [write, read, first, second]: [u64; 4]) {
        self.set_numbers([write | ALL_OF_HALF, read | SHARED, first, second]);
    }

    /// Puts a cell of all eight bytes where it fits.
    fn put_cell(&mut self, cell: A::Cell) {
        if let Some([first, second]) = A::pack(&cell) {
            let first = first | ALL_OF_HALF;
            self.set_numbers([first, second, first, second]);
        } else if let Some(numbers) = A::pack_shared(&cell) {
            self.set_shared(numbers);
        } else {
            self.put_cells([(0xff, cell)].into_iter().collect());
        }
    }

    /// The table of bytes, if there is one.
    #[inline]
    fn bytes(&mut self) -> Option<&mut ByteTable> {
        if self.head & (RECORD | SPLIT) != BYTES {
            return None;
        }
        // SAFETY: a word with this bit alone holds the address of a table made by `put_bytes`, which belongs to who holds the lock.
        Some(unsafe { &mut *((self.head & CELL_BITS & !BYTES) as *mut ByteTable) })
    }

    fn put_bytes(&mut self, table: ByteTable) {
        pages::mark_record(self.word.address());
        #[cfg(test)]
        tests::made();
        self.set_numbers([0, Box::into_raw(Box::new(table)) as u64 | BYTES, 0, 0]);
    }

    fn drop_bytes(&mut self) {
        if let Some(table) = self.bytes() {
            let table: *mut ByteTable = table;
            self.head = 0;
            #[cfg(test)]
            tests::given_back();
            // SAFETY: it was made by `Box::into_raw` in `put_bytes`, and nothing refers to it any more.
            drop(unsafe { Box::from_raw(table) });
        }
    }

    /// The cells of a word without a record.
    fn cells(&mut self) -> Cells<A::Cell> {
        match self.bytes() {
            Some(table) => table.unpack::<A>(),
            None => ByteTable::of_numbers(self.numbers()).unpack::<A>(),
        }
    }

    /// From now on threads may keep what they do to these bytes for themselves.
    pub(crate) fn begin_quiet(
        &mut self,
        kind: AtomicKind,
        mask: u8,
        entries: &quiet::Table,
        operation: u64,
    ) -> bool {
        let key = match kind {
            AtomicKind::Load => quiet::key_of_loads(self.word, mask),
            _ => quiet::key(self.word, mask),
        };
        let begun = entries.entry(key).make(key, operation);
        self.head |= if begun { QUIET } else { 0 };
        begun
    }

    /// True if a thread may keep for itself what it does to these bytes, and has just done, or is about to do. Loads only if they are all that the
    /// word is used for: what is done to a lock would take them away from beside it each time.
    #[inline]
    pub(crate) fn may_be_quiet(&mut self, thread: &A::Thread, new: u64, kind: AtomicKind, mask: u8) -> bool {
        self.record().is_some_and(|record| {
            let many = record.loads == MANY_LOADS;
            let is_load = kind == AtomicKind::Load;
            (!is_load || record.cells.is_single())
                && record.cells.of(mask).is_some_and(|cell| {
                    A::is_quiet(cell) || (is_load && many && A::is_quiet_for(thread, new, cell))
                })
        })
    }

    /// Counts what is done to an atomic variable.
    #[inline(always)]
    pub(crate) fn count_loads(&mut self, kind: AtomicKind) {
        if let Some(record) = self.record() {
            record.loads = if kind == AtomicKind::Load { (record.loads + 1).min(MANY_LOADS) } else { 0 };
        }
    }

    /// True if threads may keep for themselves what they do here.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.head & (RECORD | QUIET) == RECORD | QUIET
    }

    /// Puts what threads have kept for themselves where it belongs.
    #[inline]
    pub(crate) fn end_quiet(&mut self) {
        if A::COMPACT && self.is_quiet() {
            self.take_entries();
        }
    }

    #[cold]
    fn take_entries(&mut self) {
        self.head &= !QUIET;
        let word = self.word;
        let Some(record) = self.record() else { return };
        for (mask, cell) in record.cells.iter_mut() {
            quiet::take(quiet::key(word, mask), |operation| A::remember_quiet(cell, operation));
        }
    }

    /// The cell of these bytes and no others, if it is in a record.
    #[inline(always)]
    pub(crate) fn cell(&mut self, mask: u8) -> Option<&mut A::Cell> {
        self.record()?.cells.of(mask)
    }

    /// True if there is a record.
    #[inline]
    pub(crate) fn has_record(&self) -> bool {
        self.head & RECORD != 0
    }

    /// The record; if there is none the cells move into a new one.
    pub(crate) fn make_record(&mut self) -> &mut Record<A> {
        if self.head & RECORD == 0 {
            let cells = self.cells();
            self.drop_bytes();
            return self.put_record(Box::new(Record { cells, ..Record::default() }));
        }
        // SAFETY: as in `record`.
        unsafe { &mut *((self.head & CELL_BITS) as *mut Record<A>) }
    }

    /// Gives the record back if all of it fits into the word.
    fn settle(&mut self) {
        if !A::COMPACT {
            return;
        }
        let Some(record) = self.record() else { return };
        if !record.objects.is_empty() {
            return;
        }
        if let Some(numbers) = record.cells.only().and_then(A::pack_shared) {
            drop(self.take_record());
            return self.set_shared(numbers);
        }
        let Some(table) = ByteTable::of_cells::<A>(&record.cells) else { return };
        drop(self.take_record());
        match table.numbers() {
            Some(numbers) => self.set_numbers(numbers),
            None => self.put_bytes(table),
        }
    }

    /// Shows each cell of some bytes of the word.
    #[inline(always)]
    pub(crate) fn touch(&mut self, mask: u8, mut visit: impl FnMut(&mut A::Cell, u8)) {
        if mask == 0xff
            && let Some(numbers) = self.shared()
        {
            let mut cell = A::unpack_four(numbers);
            visit(&mut cell, mask);
            return self.put_cell(cell);
        }
        if A::COMPACT && self.head & (RECORD | BYTES | SHARED) == 0 {
            let numbers = self.numbers();
            let [low, low_second, high, high_second] = numbers;
            let shape = low >> SHAPE_SHIFT;
            if mask == 0xff && low == high && low_second == high_second && (shape == 0xf || shape == 0) {
                // Nearly always all eight bytes are alike, and were accessed together.
                let mut cell = A::unpack([low & CELL_BITS, low_second]);
                visit(&mut cell, mask);
                return self.put_cell(cell);
            }
            let fits = |half: usize| {
                let (bytes, shape) = (mask >> (4 * half) & 0xf, (numbers[2 * half] >> SHAPE_SHIFT) as u8);
                bytes == shape || bytes & shape == 0
            };
            if fits(0) && fits(1) {
                return self.touch_halves(numbers, mask, visit);
            }
        }
        self.touch_record(mask, visit);
    }

    /// Each half has one cell, and the bytes are all of it, or others.
    #[inline]
    fn touch_halves(&mut self, mut numbers: [u64; 4], mask: u8, mut visit: impl FnMut(&mut A::Cell, u8)) {
        let mut too_large = Vec::new();
        for half in 0..2 {
            let bytes = mask >> (4 * half) & 0xf;
            if bytes == 0 {
                continue;
            }
            let shape = (numbers[2 * half] >> SHAPE_SHIFT) as u8;
            let before = [numbers[2 * half] & CELL_BITS, numbers[2 * half + 1]];
            let mut cell = if shape == bytes { A::unpack(before) } else { A::Cell::default() };
            visit(&mut cell, bytes << (4 * half));
            match A::pack(&cell) {
                // Bytes with the same history share a cell: a loop over bytes leaves one.
                Some(after) if shape == bytes || shape == 0 || after == before => {
                    numbers[2 * half] = after[0] | u64::from(shape | bytes) << SHAPE_SHIFT;
                    numbers[2 * half + 1] = after[1];
                }
                _ => {
                    if shape == bytes {
                        numbers[2 * half] = 0;
                        numbers[2 * half + 1] = 0;
                    }
                    too_large.push((bytes << (4 * half), cell));
                }
            }
        }
        if too_large.is_empty() {
            self.set_numbers(numbers);
        } else {
            let mut cells: Cells<A::Cell> = too_large.into_iter().collect();
            cells.extend(ByteTable::of_numbers(numbers).unpack::<A>());
            self.put_cells(cells);
        }
    }

    #[cold]
    fn put_cells(&mut self, cells: Cells<A::Cell>) {
        self.put_record(Box::new(Record { cells, ..Record::default() }));
    }

    #[inline(never)]
    fn touch_record(&mut self, mask: u8, mut visit: impl FnMut(&mut A::Cell, u8)) {
        let record = self.make_record();
        if let Some(cell) = record.cells.of(mask) {
            // Atomic variables, and what several threads read.
            visit(cell, mask);
            if A::pack(cell).is_none() && !(mask == 0xff && A::pack_shared(cell).is_some()) {
                return;
            }
        } else {
            record.cells.touch(mask, visit);
        }
        self.settle();
    }

    /// True if one of the cells of some bytes is such a one. Nothing is changed.
    pub(crate) fn any(&mut self, mask: u8, mut is: impl FnMut(&A::Cell, u8) -> bool) -> bool {
        let unpacked;
        let cells = if self.has_record() {
            let Some(record) = self.record() else { return false };
            &record.cells
        } else {
            unpacked = self.cells();
            &unpacked
        };
        let covered = cells.iter().fold(0, |covered, cell| covered | cell.0);
        let rest = mask & !covered;
        (rest != 0 && is(&A::Cell::default(), rest))
            || cells.iter().any(|(bytes, cell)| bytes & mask != 0 && is(cell, bytes & mask))
    }

    /// Forgets what is known about some bytes, and what lies there.
    fn forget(&mut self, mask: u8) {
        if mask == 0xff {
            drop(self.take_record());
            self.drop_bytes();
            return self.set_numbers([0; 4]);
        }
        if self.numbers() == [0; 4] {
            return;
        }
        // Who reads these bytes again must tell it, whatever was noted.
        self.forget_notes(mask);
        let record = self.make_record();
        record.cells.forget(mask);
        record.objects.forget(mask);
        if record.cells.is_empty() && record.objects.is_empty() {
            drop(self.take_record());
            return self.set_numbers([0; 4]);
        }
        self.settle();
    }
}

/// The words of a range, each with the bytes that belong to it: (address of the word, mask).
#[inline(always)]
pub(crate) fn words(addr: usize, size: usize) -> Words {
    Words { addr, end: addr + size }
}

/// See [`words`]. (An adapter of the library's is not always inlined, in what every copy and comparison of bytes goes through.)
pub(crate) struct Words {
    /// The first byte that remains.
    addr: usize,
    end: usize,
}

impl Words {
    /// What comes next.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<(usize, u8)> {
        if self.addr >= self.end {
            return None;
        }
        let word = self.addr & !(WORD_BYTES - 1);
        let from = self.addr - word;
        let to = (self.end - word).min(WORD_BYTES);
        Some((word, (0xff << from) as u8 & (0xff >> (WORD_BYTES - to)) as u8))
    }

    /// The next word, if what remains begins with all of it.
    #[inline(always)]
    pub(crate) fn next_whole(&mut self) -> Option<usize> {
        let word = self.addr;
        let is_whole = word.is_multiple_of(WORD_BYTES) && word + WORD_BYTES <= self.end;
        is_whole.then(|| {
            self.addr = word + WORD_BYTES;
            word
        })
    }
}

impl Iterator for Words {
    type Item = (usize, u8);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, u8)> {
        let next = self.peek()?;
        self.addr = next.0 + WORD_BYTES;
        Some(next)
    }
}

impl Word {
    /// True if nothing was ever put here, and there is no room for it.
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        let empty = self.0[0].load(Ordering::Relaxed) == 0
            && self.0[2].load(Ordering::Relaxed) == 0
            && self.0[1].load(Ordering::Relaxed) == 0;
        empty && !pages::admit(self.address())
    }
}
