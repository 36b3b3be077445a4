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
/// one.
pub(crate) struct Cells<C> {
    /// Covers no bytes if there is none.
    first: (u8, C),
    others: Vec<(u8, C)>,
}

impl<C: Default> Default for Cells<C> {
    fn default() -> Self {
        Self { first: (0, C::default()), others: Vec::new() }
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(u8, C)> {
        std::iter::once(&self.first).chain(&self.others).filter(|cell| cell.0 != 0)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut (u8, C)> {
        std::iter::once(&mut self.first).chain(&mut self.others).filter(|cell| cell.0 != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub(crate) fn push(&mut self, mask: u8, cell: C) {
        if self.first.0 == 0 {
            self.first = (mask, cell);
        } else {
            self.others.push((mask, cell));
        }
    }

    pub(crate) fn extend(&mut self, cells: Self) {
        let others = std::iter::once(cells.first).chain(cells.others).filter(|cell| cell.0 != 0);
        others.for_each(|(mask, cell)| self.push(mask, cell));
    }

    /// The cell that is about these bytes and no others, if it is easily found.
    #[inline(always)]
    pub(crate) fn of(&mut self, mask: u8) -> Option<&mut C> {
        if self.first.0 == mask {
            return Some(&mut self.first.1);
        }
        self.others.iter_mut().find(|(bytes, _)| *bytes == mask).map(|(_, cell)| cell)
    }

    /// The cell of all eight bytes, if there is no other.
    pub(crate) fn only(&self) -> Option<&C> {
        (self.first.0 == 0xff).then_some(&self.first.1)
    }

    /// Forgets some bytes.
    pub(crate) fn forget(&mut self, mask: u8) {
        self.iter_mut().for_each(|cell| cell.0 &= !mask);
        self.others.retain(|cell| cell.0 != 0);
        if self.first.0 == 0 {
            self.first = self.others.pop().unwrap_or_default();
        }
    }
}

impl<C: Clone + Default> Cells<C> {
    /// Shows each cell of some bytes, split so that it covers none but these.
    pub(crate) fn touch(&mut self, mask: u8, mut visit: impl FnMut(&mut C, u8)) {
        let mut remaining = mask;
        let mut split = Vec::new();
        for (bytes, cell) in self.iter_mut() {
            let shared = *bytes & remaining;
            if shared == *bytes {
                visit(cell, shared);
            } else if shared != 0 {
                let mut half = cell.clone();
                *bytes &= !shared;
                visit(&mut half, shared);
                split.push((shared, half));
            }
            remaining &= !shared;
        }
        if remaining != 0 {
            let mut fresh = C::default();
            visit(&mut fresh, remaining);
            split.push((remaining, fresh));
        }
        split.into_iter().for_each(|(bytes, cell)| self.push(bytes, cell));
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
