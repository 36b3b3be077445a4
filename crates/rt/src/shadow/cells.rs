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

pub(super) fn unpack_bytes<A: Shadowed>(table: &ByteTable) -> Vec<(u8, A::Cell)> {
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
pub(super) fn bytes_of_cells<A: Shadowed>(cells: &[(u8, A::Cell)]) -> Option<ByteTable> {
    let mut table = [[0; 2]; WORD_BYTES];
    for (mask, cell) in cells {
        let packed = A::pack(cell)?;
        for (index, byte) in table.iter_mut().enumerate() {
            if mask >> index & 1 != 0 {
                *byte = packed;
            }
        }
    }
    Some(table)
}

/// Shows each cell of some bytes, split so that it covers none but these.
pub(super) fn touch_cells<C: Clone + Default>(
    cells: &mut Vec<(u8, C)>,
    mask: u8,
    mut visit: impl FnMut(&mut C, u8),
) {
    let mut remaining = mask;
    let mut index = 0;
    while remaining != 0 && index < cells.len() {
        let shared = cells[index].0 & remaining;
        if shared == cells[index].0 {
            visit(&mut cells[index].1, shared);
        } else if shared != 0 {
            let mut half = cells[index].1.clone();
            cells[index].0 &= !shared;
            visit(&mut half, shared);
            cells.push((shared, half));
        }
        remaining &= !shared;
        index += 1;
    }
    if remaining != 0 {
        let mut fresh = C::default();
        visit(&mut fresh, remaining);
        cells.push((remaining, fresh));
    }
}

pub(super) fn forget_cells<C>(cells: &mut Vec<(u8, C)>, mask: u8) {
    for cell in cells.iter_mut() {
        cell.0 &= !mask;
    }
    cells.retain(|cell| cell.0 != 0);
}

/// The four numbers that stand for some cells, if they can: in each half all cells must be the same.
pub(super) fn pack_cells<A: Shadowed>(cells: &[(u8, A::Cell)]) -> Option<[u64; 4]> {
    let mut numbers = [0; 4];
    for half in 0..2 {
        let mut content = None;
        let mut shape = 0;
        for (mask, cell) in cells {
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

pub(super) fn unpack_cells<A: Shadowed>(numbers: [u64; 4]) -> Vec<(u8, A::Cell)> {
    let mut cells = Vec::new();
    for half in 0..2 {
        let shape = (numbers[2 * half] >> SHAPE_SHIFT) as u8;
        if shape != 0 {
            let cell = A::unpack([numbers[2 * half] & CELL_BITS, numbers[2 * half + 1] & CELL_BITS]);
            cells.push((shape << (4 * half), cell));
        }
    }
    cells
}
