//! What was done to memory so far, for a pass: with which earlier accesses the current one conflicts.
//!
//! That does not depend on what is known of regions, so it is the same in every reading of a run. Fetching the cells is what takes
//! most of the time; so the first reading writes down what it finds, and the further ones look there. Two exceptions:
//! where there are outer regions, it does depend on what is known which of a thread's two regions an access belongs to; and
//! what takes more than [`MOST_BYTES`] is not kept, for a trace may be of any length.

use crate::event::{AccessKind, Addr};
use crate::shadow::Shadow;
use crate::trace::native::varint::{Cursor, PADDING, put};

/// More is not written down.
const MOST_BYTES: usize = 64 << 20;

/// An access of an outer region, in the number of a thread.
pub(super) const OUTER: u32 = 1 << 31;

/// Who has accessed a cell, and when: 21 bits for the thread and whether an outer region did it, 43 for the position. Cells
/// are what memory is needed for, and most of the time is spent on fetching them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Done(u64);

impl Done {
    const POSITION_BITS: u32 = 43;
    const NEVER: Done = Done(0);

    #[inline]
    fn new(thread: u32, position: u64) -> Self {
        let who = u64::from(thread & !OUTER) << 1 | u64::from(thread & OUTER != 0);
        Done(who << Self::POSITION_BITS | position & ((1 << Self::POSITION_BITS) - 1))
    }

    /// The same thread, and the same kind of region.
    #[inline]
    fn is_by(self, other: Done) -> bool {
        (self.0 ^ other.0) >> Self::POSITION_BITS == 0
    }

    /// The thread, with [`OUTER`] if it is so, and the position.
    #[inline]
    fn parts(self) -> (u32, u64) {
        let who = self.0 >> Self::POSITION_BITS;
        let outer = if who & 1 == 1 { OUTER } else { 0 };
        ((who >> 1) as u32 | outer, self.0 & ((1 << Self::POSITION_BITS) - 1))
    }
}

#[derive(Clone, Debug, Default)]
pub(in super::super) struct Cell {
    write: Done,
    read: Done,
    /// Reads of further threads since the write.
    reads: Vec<Done>,
}

/// An access touches a cell; the earlier ones that it conflicts with are put into `conflicts`.
#[inline]
fn touch(cell: &mut Cell, thread: u32, now: u64, kind: AccessKind, conflicts: &mut Vec<(u32, u64)>) {
    let done = Done::new(thread, now);
    // An outer region and one in it are two, though they are of the same thread.
    let conflicting = |earlier: Done| earlier != Done::NEVER && !earlier.is_by(done);
    if conflicting(cell.write) {
        conflicts.push(cell.write.parts());
    }
    match kind {
        AccessKind::Read => {
            if cell.read == Done::NEVER || cell.read.is_by(done) {
                cell.read = done;
                return;
            }
            match cell.reads.iter_mut().find(|read| read.is_by(done)) {
                Some(read) => *read = done,
                None => cell.reads.push(done),
            }
        }
        AccessKind::Write => {
            // The list keeps its memory: what many have read once they will read again.
            let reads = std::iter::once(cell.read).chain(cell.reads.drain(..));
            conflicts.extend(reads.filter(|&read| conflicting(read)).map(Done::parts));
            (cell.write, cell.read) = (done, Done::NEVER);
        }
    }
}

/// What was done to memory.
#[derive(Debug)]
pub(in super::super) enum Memory {
    /// The last accesses of each cell are kept, and perhaps what was found is written down.
    Cells { cells: Shadow<Cell>, writes: Option<Conflicts> },
    /// It was written down.
    Known { conflicts: Conflicts },
}

impl Memory {
    /// The memory of the first reading. `depends` is true if it depends on what is known who has done an access.
    pub(in super::super) fn new(depends: bool) -> Self {
        Memory::Cells { cells: Shadow::new(), writes: (!depends).then(Conflicts::default) }
    }

    /// An access of a thread, at a position; what it conflicts with is put into `conflicts`.
    #[inline]
    pub(super) fn touch(
        &mut self,
        who: u32,
        now: u64,
        (kind, size, addr): (AccessKind, u32, Addr),
        conflicts: &mut Vec<(u32, u64)>,
    ) {
        match self {
            Memory::Cells { cells, writes } => {
                cells.touch(addr, size, |cell, _, _| touch(cell, who, now, kind, conflicts));
                if !conflicts.is_empty()
                    && let Some(written) = writes
                    && !written.write(now, conflicts)
                {
                    *writes = None;
                }
            }
            Memory::Known { conflicts: known } => {
                if known.next == now {
                    known.read(conflicts);
                }
            }
        }
    }

    /// Memory is another one from now on.
    pub(super) fn forget(&mut self, addr: Addr, size: u32) {
        if let Memory::Cells { cells, .. } = self {
            cells.forget(addr, size);
        }
    }

    /// True if it does not matter any more where accesses were.
    pub(super) fn is_known(&self) -> bool {
        matches!(self, Memory::Known { .. })
    }

    /// The memory of the next reading of the same run.
    pub(super) fn again(self) -> Self {
        match self {
            Memory::Cells { writes: None, .. } => Memory::new(true),
            Memory::Cells { writes: Some(conflicts), .. } | Memory::Known { conflicts } => {
                Memory::Known { conflicts: conflicts.rewound() }
            }
        }
    }
}

/// All conflicts of a run: for each access that has some how many accesses they are, with thread and distance.
#[derive(Debug, Default)]
pub(in super::super) struct Conflicts {
    bytes: Vec<u8>,
    /// The position of the access that was written last, or is to be read next; none is at 0.
    next: u64,
    /// How far it was read.
    at: usize,
}

impl Conflicts {
    /// Writes down the conflicts of an access. False if there is no room.
    fn write(&mut self, now: u64, conflicts: &[(u32, u64)]) -> bool {
        put(&mut self.bytes, now - self.next);
        put(&mut self.bytes, conflicts.len() as u64);
        for &(thread, position) in conflicts {
            put(&mut self.bytes, u64::from(thread));
            put(&mut self.bytes, now - position);
        }
        self.next = now;
        self.bytes.len() <= MOST_BYTES
    }

    /// The same, to be read.
    fn rewound(mut self) -> Self {
        if !self.bytes.ends_with(&[0; PADDING]) {
            self.bytes.extend([0; PADDING]);
        }
        (self.next, self.at) = (0, 0);
        self.turn();
        self
    }

    /// The conflicts of the access at `next`; goes on to the next one.
    fn read(&mut self, conflicts: &mut Vec<(u32, u64)>) {
        let now = self.next;
        let mut cursor = Cursor::starting_at(&self.bytes, self.at);
        for _ in 0..cursor.varint().unwrap_or(0) {
            if let (Some(thread), Some(distance)) = (cursor.varint_u32(), cursor.varint()) {
                conflicts.push((thread, now - distance));
            }
        }
        self.at = cursor.at();
        self.turn();
    }

    fn turn(&mut self) {
        let mut cursor = Cursor::starting_at(&self.bytes, self.at);
        // Behind the last one is padding: a distance of 0.
        self.next = match cursor.varint() {
            Some(distance) if distance > 0 => self.next + distance,
            _ => u64::MAX,
        };
        self.at = cursor.at();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_down_is_what_the_cells_say(
            accesses in prop::collection::vec((0..4u32, any::<bool>(), 1..=12u32, 0..24u64, 1..300u64), 0..60),
        ) {
            let mut memory = Memory::new(false);
            let mut readings = Vec::new();
            for _ in 0..3 {
                let mut now = 0;
                let mut found = Vec::new();
                for &(thread, writes, size, addr, distance) in &accesses {
                    now += distance;
                    if size == 12 {
                        memory.forget(Addr(0x1000 + addr), 8);
                        continue;
                    }
                    let kind = if writes { AccessKind::Write } else { AccessKind::Read };
                    let mut conflicts = Vec::new();
                    memory.touch(thread, now, (kind, size, Addr(0x1000 + addr)), &mut conflicts);
                    found.push(conflicts);
                }
                readings.push(found);
                memory = memory.again();
                prop_assert!(memory.is_known());
            }
            prop_assert_eq!(&readings[0], &readings[1]);
            prop_assert_eq!(&readings[0], &readings[2]);
        }
    }

    #[test]
    fn what_depends_on_what_is_known_is_looked_at_again() {
        let mut memory = Memory::new(true);
        for _ in 0..2 {
            let mut conflicts = Vec::new();
            memory.touch(0, 1, (AccessKind::Write, 8, Addr(0x1000)), &mut conflicts);
            memory.touch(1 | OUTER, 2, (AccessKind::Read, 8, Addr(0x1000)), &mut conflicts);
            assert_eq!(conflicts, [(0, 1)]);
            memory = memory.again();
            assert!(matches!(memory, Memory::Cells { writes: None, .. }));
        }
    }
}
