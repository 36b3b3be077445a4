//! How the cells of a word are written: as four numbers, as a table of bytes, or as a list of cells with their bytes.

use super::{CELL_BITS, SHAPE_SHIFT, Shadowed};
use crate::layout::WORD_BYTES;

/// The two numbers of each byte of a word; zeros if it was never accessed.
pub(super) type ByteTable = [[u64; 2]; WORD_BYTES];

/// The numbers of a word whose halves are each of one kind.
#[inline]
pub(super) fn pack_bytes(table: &ByteTable) -> Option<[u64; 4]> {
    let mut numbers = [0; 4];
    for half in 0..2 {
        let bytes = &table[4 * half..4 * half + 4];
        if bytes[1..].iter().any(|byte| *byte != bytes[0]) {
            return None;
        }
        if bytes[0] != [0; 2] {
            numbers[2 * half] = bytes[0][0] | 0xf << SHAPE_SHIFT;
            numbers[2 * half + 1] = bytes[0][1];
        }
    }
    Some(numbers)
}

/// The table that stands for the cells of two halves.
pub(super) fn bytes_of_numbers(numbers: [u64; 4]) -> ByteTable {
    std::array::from_fn(|index| {
        let half = index / 4;
        let shape = numbers[2 * half] >> SHAPE_SHIFT;
        let covered = shape >> (index % 4) & 1 != 0;
        if covered { [numbers[2 * half] & CELL_BITS, numbers[2 * half + 1]] } else { [0; 2] }
    })
}

pub(super) fn unpack_bytes<A: Shadowed>(table: &ByteTable) -> Cells<A::Cell> {
    let mut cells: Vec<(u8, [u64; 2])> = Vec::new();
    for (index, byte) in table.iter().enumerate().filter(|(_, byte)| **byte != [0; 2]) {
        match cells.iter_mut().find(|(_, other)| other == byte) {
            Some((mask, _)) => *mask |= 1 << index,
            None => cells.push((1 << index, *byte)),
        }
    }
    cells.into_iter().map(|(mask, numbers)| (mask, A::unpack(numbers))).collect()
}

/// The table that stands for some cells, if all of them are small.
pub(super) fn bytes_of_cells<A: Shadowed>(cells: &Cells<A::Cell>) -> Option<ByteTable> {
    let mut table = [[0; 2]; WORD_BYTES];
    for (mask, cell) in cells.iter() {
        let packed = A::pack(cell)?;
        for (index, byte) in table.iter_mut().enumerate() {
            if mask >> index & 1 != 0 {
                *byte = packed;
            }
        }
    }
    Some(table)
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

/// The four numbers that stand for some cells, if they can: in each half all cells must be the same.
pub(super) fn pack_cells<A: Shadowed>(cells: &Cells<A::Cell>) -> Option<[u64; 4]> {
    let mut numbers = [0; 4];
    for half in 0..2 {
        let mut content = None;
        let mut shape = 0;
        for (mask, cell) in cells.iter() {
            let bytes = mask >> (4 * half) & 0xf;
            if bytes == 0 {
                continue;
            }
            let packed = A::pack(cell)?;
            if content.is_some_and(|content| content != packed) {
                return None;
            }
            content = Some(packed);
            shape |= u64::from(bytes);
        }
        if let Some([first, second]) = content {
            numbers[2 * half] = first | shape << SHAPE_SHIFT;
            numbers[2 * half + 1] = second;
        }
    }
    Some(numbers)
}

pub(super) fn unpack_cells<A: Shadowed>(numbers: [u64; 4]) -> Cells<A::Cell> {
    let mut cells = Cells::default();
    for half in 0..2 {
        let shape = (numbers[2 * half] >> SHAPE_SHIFT) as u8;
        if shape != 0 {
            let cell = A::unpack([numbers[2 * half] & CELL_BITS, numbers[2 * half + 1] & CELL_BITS]);
            cells.push(shape << (4 * half), cell);
        }
    }
    cells
}
