//! How the cells of a word are written: as four numbers, in one of their forms, as a table of bytes, or as a list of cells with their bytes.

use super::{ALL_OF_HALF, CELL_BITS, SHAPE_SHIFT, SHARED, SPLIT, Shadowed};
use crate::layout::WORD_BYTES;
use keirin_core::analysis::fasttrack::Compact;
use keirin_core::event::AccessKind;

/// What is remembered of the bytes of a word, if that are accesses of few threads: writes and reads apart, each with the bytes that it is
/// about. No byte has two writes, or two entries of reads. Apart, because a read of all bytes comes after writes of each.
pub(super) struct ByteTable {
    writes: Entries<u64>,
    /// The last read, and one or two further ones, as the last three numbers of [`Shadowed::pack_four`].
    reads: Entries<[u64; 3]>,
}

/// Something for each of some bytes.
struct Entries<T> {
    /// Of each entry; 0 behind the last one.
    bytes: [u8; WORD_BYTES],
    content: [T; WORD_BYTES],
}

impl<T: Copy + PartialEq + Default> Entries<T> {
    #[inline(always)]
    fn empty() -> Self {
        Self { bytes: [0; WORD_BYTES], content: [T::default(); WORD_BYTES] }
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (u8, T)> {
        self.bytes
            .iter()
            .zip(&self.content)
            .take_while(|(bytes, _)| **bytes != 0)
            .map(|(bytes, it)| (*bytes, *it))
    }

    /// Adds bytes that no entry has. What is the same as that of others goes to them.
    #[inline]
    fn put(&mut self, bytes: u8, content: T) {
        let mut index = 0;
        while self.bytes[index] != 0 {
            if self.content[index] == content {
                self.bytes[index] |= bytes;
                return;
            }
            index += 1;
        }
        (self.bytes[index], self.content[index]) = (bytes, content);
    }

    /// Takes bytes away. An entry without bytes makes room for the last one.
    #[inline]
    fn take(&mut self, bytes: u8) {
        let mut index = 0;
        while index < WORD_BYTES && self.bytes[index] != 0 {
            self.bytes[index] &= !bytes;
            if self.bytes[index] != 0 {
                index += 1;
                continue;
            }
            let last = self.bytes[index + 1..].iter().take_while(|bytes| **bytes != 0).count() + index;
            (self.bytes[index], self.content[index]) = (self.bytes[last], self.content[last]);
            self.bytes[last] = 0;
        }
    }
}

impl ByteTable {
    #[inline(always)]
    fn empty() -> Self {
        Self { writes: Entries::empty(), reads: Entries::empty() }
    }

    /// Adds a cell of bytes that no other has.
    #[inline(always)]
    fn put(&mut self, bytes: u8, [write, reads @ ..]: [u64; 4]) {
        if write != 0 {
            self.writes.put(bytes, write);
        }
        // (Without a last read there may be an atomic load.)
        if reads != [0; 3] {
            self.reads.put(bytes, reads);
        }
    }

    /// The cells of a word that are in its numbers, in whatever form.
    #[inline]
    pub(super) fn of_numbers(numbers: [u64; 4]) -> Self {
        let [low, low_second, high, high_second] = numbers;
        let mut table = Self::empty();
        match low_second >> SHAPE_SHIFT {
            0 => {
                for (half, first, second) in [(0, low, low_second), (4, high, high_second)] {
                    let bytes = (first >> SHAPE_SHIFT << half) as u8;
                    if bytes != 0 {
                        table.put(bytes, [first & CELL_BITS, second, 0, 0]);
                    }
                }
            }
            form if form == SPLIT >> SHAPE_SHIFT => {
                let (first_bytes, [first, second]) = (split_bytes(numbers), split_cells(numbers));
                table.put(first_bytes, [first[0], first[1], 0, 0]);
                table.put(!first_bytes, [second[0], second[1], 0, 0]);
            }
            _ => table.put(0xff, [low & CELL_BITS, low_second & CELL_BITS, high, high_second]),
        }
        table
    }

    /// The table that stands for some cells, if all of them are small.
    pub(super) fn of_cells<A: Shadowed>(cells: &Cells<A::Cell>) -> Option<Self> {
        let mut table = Self::empty();
        for (mask, cell) in cells.iter() {
            table.put(mask, A::pack_four(cell)?);
        }
        Some(table)
    }

    /// The cells, each with its bytes.
    #[inline(always)]
    fn for_each(&self, mut each: impl FnMut(u8, [u64; 4])) {
        let mut written = 0;
        for (bytes, write) in self.writes.iter() {
            written |= bytes;
            let mut unread = bytes;
            for (read, [last, first, second]) in self.reads.iter().filter(|(read, _)| read & bytes != 0) {
                unread &= !read;
                each(read & bytes, [write, last, first, second]);
            }
            if unread != 0 {
                each(unread, [write, 0, 0, 0]);
            }
        }
        for (read, [last, first, second]) in self.reads.iter().filter(|(read, _)| read & !written != 0) {
            each(read & !written, [0, last, first, second]);
        }
    }

    pub(super) fn unpack<A: Shadowed>(&self) -> Cells<A::Cell> {
        let mut cells = Cells::default();
        self.for_each(|bytes, numbers| cells.push(bytes, A::unpack_four(numbers)));
        cells
    }

    /// An access of some bytes. False if it is not simple; nothing was done then that would change anything when it is done again.
    #[inline]
    pub(super) fn access<A: Shadowed>(
        &mut self,
        thread: &A::Thread,
        new: u64,
        kind: AccessKind,
        mask: u8,
    ) -> bool {
        let is_now = |number: u64| (number ^ new) >> Compact::SITE_BITS == 0;
        // Bytes that the thread has written in this epoch.
        let mut own = 0;
        for (bytes, write) in self.writes.iter() {
            if bytes & mask != 0 {
                if is_now(write) {
                    own |= bytes & mask;
                } else if !A::is_known(thread, new, write) {
                    return false;
                }
            }
        }
        match kind {
            AccessKind::Read => self.read::<A>(thread, new, mask & !own),
            AccessKind::Write => {
                let known = |number: &u64| A::is_known(thread, new, *number);
                if !self.reads.iter().all(|(bytes, reads)| bytes & mask == 0 || reads.iter().all(known)) {
                    return false;
                }
                self.reads.take(mask);
                if mask != own {
                    self.writes.take(mask & !own);
                    self.writes.put(mask & !own, new);
                }
                true
            }
        }
    }

    /// A read of bytes whose writes it does not race with.
    #[inline]
    fn read<A: Shadowed>(&mut self, thread: &A::Thread, new: u64, mask: u8) -> bool {
        let mut remaining = mask;
        let mut index = 0;
        while remaining != 0 && index < WORD_BYTES && self.reads.bytes[index] != 0 {
            let (bytes, before) = (self.reads.bytes[index], self.reads.content[index]);
            let read = bytes & remaining;
            if read == 0 {
                index += 1;
                continue;
            }
            let Some(after) = A::add_read(thread, new, before) else { return false };
            remaining &= !read;
            if after == before {
                index += 1;
            } else if read == bytes && self.reads.bytes[1] == 0 {
                self.reads.content[0] = after;
                index += 1;
            } else {
                // What was put is not met again: none of its bytes remain.
                self.reads.take(read);
                self.reads.put(read, after);
                index = 0;
            }
        }
        if remaining != 0 {
            self.reads.put(remaining, [new, 0, 0]);
        }
        true
    }

    /// The numbers of the word, if they are enough.
    #[inline]
    pub(super) fn numbers(&self) -> Option<[u64; 4]> {
        if self.writes.bytes[2] != 0 || self.reads.bytes[2] != 0 {
            return None;
        }
        let mut cells = [(0u8, [0; 4]); 2];
        let mut count = 0;
        self.for_each(|bytes, numbers| {
            if let Some(cell) = cells.get_mut(count) {
                *cell = (bytes, numbers);
            }
            count += 1;
        });
        if count > cells.len() {
            return None;
        }
        let [(bytes, cell), (other_bytes, other)] = cells;
        let [first, second, third, fourth] = cell;
        if third != 0 {
            // (If there are others, they have bytes.)
            return (bytes == 0xff).then_some([first | ALL_OF_HALF, second | SHARED, third, fourth]);
        }
        if other_bytes == 0 {
            let half = |shape: u8| match shape {
                0 => [0; 2],
                _ => [first | u64::from(shape) << SHAPE_SHIFT, second],
            };
            let [[low, low_second], [high, high_second]] = [half(bytes & 0xf), half(bytes >> 4)];
            return Some([low, low_second, high, high_second]);
        }
        if other[2] != 0 {
            return None;
        }
        let is_lower = |bytes: u8| bytes & 0xf0 == 0;
        let is_upper = |bytes: u8| bytes & 0x0f == 0;
        let half = |bytes: u8, [first, second, ..]: [u64; 4]| {
            [first | u64::from(bytes >> 4 | bytes & 0xf) << SHAPE_SHIFT, second]
        };
        let [here, there] = [half(bytes, cell), half(other_bytes, other)];
        if is_lower(bytes) && is_upper(other_bytes) {
            return Some([here[0], here[1], there[0], there[1]]);
        }
        if is_upper(bytes) && is_lower(other_bytes) {
            return Some([there[0], there[1], here[0], here[1]]);
        }
        (bytes | other_bytes == 0xff).then(|| split_numbers(bytes, [[first, second], [other[0], other[1]]]))
    }
}

/// The numbers of a word with two different cells, the first of which is about these bytes, the second about all others.
///
/// The one that is about the last byte comes second. So a cell that was about bytes of the lower half alone is never moved to where that of the upper
/// half is: the hooks look at numbers 2 and 3 one after the other, without the lock, and would take the read of one for that of the other.
#[inline(always)]
pub(super) fn split_numbers(first_bytes: u8, [first, second]: [[u64; 2]; 2]) -> [u64; 4] {
    let is_second = first_bytes & 0x80 != 0;
    let (bytes, [first, second]) =
        if is_second { (!first_bytes, [second, first]) } else { (first_bytes, [first, second]) };
    // If the halves are one cell each, they need no form of their own.
    let form = if bytes == 0x0f { 0 } else { SPLIT };
    // If one of these shapes is that of a whole half, the cell is about all of that half: what the hooks take it for.
    let (low, high) = (u64::from(bytes & 0xf), u64::from(!bytes >> 4));
    [first[0] | low << SHAPE_SHIFT, first[1] | form, second[0] | high << SHAPE_SHIFT, second[1]]
}

/// The bytes of the first cell of such a word.
#[inline(always)]
pub(super) fn split_bytes(numbers: [u64; 4]) -> u8 {
    (numbers[0] >> SHAPE_SHIFT) as u8 | !((numbers[2] >> SHAPE_SHIFT) as u8) << 4
}

/// Its two cells.
#[inline(always)]
pub(super) fn split_cells(numbers: [u64; 4]) -> [[u64; 2]; 2] {
    let [first, second, other_first, other_second] = numbers.map(|number| number & CELL_BITS);
    [[first, second], [other_first, other_second]]
}

/// Cells with the bytes that they cover; no two have a byte in common. The first is kept in place, and mostly it is the only
/// one. The bytes of all lie together, so that the others need not be looked at for them.
pub(crate) struct Cells<C> {
    /// Of the first cell and of the others; 0 behind the last one.
    bytes: [u8; WORD_BYTES],
    first: C,
    others: Vec<C>,
}

impl<C: Default> Default for Cells<C> {
    fn default() -> Self {
        Self { bytes: [0; WORD_BYTES], first: C::default(), others: Vec::new() }
    }
}

impl<C: Default> FromIterator<(u8, C)> for Cells<C> {
    fn from_iter<I: IntoIterator<Item = (u8, C)>>(cells: I) -> Self {
        let mut list = Self::default();
        cells.into_iter().for_each(|(mask, cell)| list.push(mask, cell));
        list
    }
}

impl<C: Default> Cells<C> {
    /// The bytes of each, and the cells.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, &C)> {
        let cells = std::iter::once(&self.first).chain(&self.others);
        self.bytes.iter().copied().take_while(|bytes| *bytes != 0).zip(cells)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u8, &mut C)> {
        let cells = std::iter::once(&mut self.first).chain(&mut self.others);
        self.bytes.iter().copied().take_while(|bytes| *bytes != 0).zip(cells)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes[0] == 0
    }

    /// True if there is not more than one.
    pub(crate) fn is_single(&self) -> bool {
        self.bytes[1] == 0
    }

    fn count(&self) -> usize {
        self.bytes.iter().take_while(|bytes| **bytes != 0).count()
    }

    #[inline(always)]
    fn cell(&mut self, index: usize) -> &mut C {
        if index == 0 { &mut self.first } else { &mut self.others[index - 1] }
    }

    pub(crate) fn push(&mut self, mask: u8, cell: C) {
        let count = self.count();
        self.bytes[count] = mask;
        if count == 0 {
            self.first = cell;
            return;
        }
        if self.others.len() == self.others.capacity() {
            // One, three or seven: a word has room for no more.
            self.others.reserve_exact(self.others.len() + 1);
        }
        self.others.push(cell);
    }

    pub(crate) fn extend(&mut self, cells: Self) {
        let others = cells.bytes.into_iter().zip(std::iter::once(cells.first).chain(cells.others));
        others.filter(|(bytes, _)| *bytes != 0).for_each(|(mask, cell)| self.push(mask, cell));
    }

    /// The cell that is about these bytes and no others, if it is easily found.
    #[inline(always)]
    pub(crate) fn of(&mut self, mask: u8) -> Option<&mut C> {
        if self.bytes[0] == mask {
            return Some(&mut self.first);
        }
        let index = self.bytes.iter().position(|bytes| *bytes == mask)?;
        Some(self.cell(index))
    }

    /// The cell of all eight bytes, if there is no other.
    pub(crate) fn only(&self) -> Option<&C> {
        (self.bytes[0] == 0xff).then_some(&self.first)
    }

    /// Forgets some bytes.
    pub(crate) fn forget(&mut self, mask: u8) {
        for index in (0..self.count()).rev() {
            self.bytes[index] &= !mask;
            if self.bytes[index] == 0 {
                self.remove(index);
            }
        }
    }

    /// Takes a cell out; the last one comes to its place.
    fn remove(&mut self, index: usize) {
        match index.checked_sub(1) {
            None => self.first = self.others.pop().unwrap_or_default(),
            Some(other) => _ = self.others.swap_remove(other),
        }
        let last = self.others.len() + 1;
        let moved = std::mem::take(self.bytes.get_mut(last).unwrap_or(&mut 0));
        if index < last {
            self.bytes[index] = moved;
        }
    }
}

impl<C: Clone + Default> Cells<C> {
    /// Shows each cell of some bytes, split so that it covers none but these.
    #[inline]
    pub(crate) fn touch(&mut self, mask: u8, mut visit: impl FnMut(&mut C, u8)) {
        match self.of(mask) {
            Some(cell) if mask != 0 => visit(cell, mask),
            _ => self.touch_parts(mask, visit),
        }
    }

    fn touch_parts(&mut self, mask: u8, mut visit: impl FnMut(&mut C, u8)) {
        let mut remaining = mask;
        for index in 0..self.count() {
            let shared = self.bytes[index] & remaining;
            if shared == 0 {
                continue;
            }
            if shared == self.bytes[index] {
                visit(self.cell(index), shared);
            } else {
                let mut part = self.cell(index).clone();
                self.bytes[index] &= !shared;
                visit(&mut part, shared);
                self.push(shared, part);
            }
            remaining &= !shared;
        }
        if remaining != 0 {
            let mut fresh = C::default();
            visit(&mut fresh, remaining);
            self.push(remaining, fresh);
        }
    }
}
