//! What was done to memory so far, for a pass: with which earlier accesses the current one conflicts.

use super::super::conflicts::Conflicts;
use super::super::prepare::fetch;
use super::Touched;
use crate::event::{AccessKind, Addr, Event};
use crate::shadow::Shadow;

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
    /// The last accesses of each cell are kept.
    Cells(Shadow<Cell>),
    /// It was written down.
    Known(Conflicts),
}

impl Memory {
    /// The memory of the first reading, with the conflicts if they were written down.
    pub(in super::super) fn new(conflicts: Option<Conflicts>) -> Self {
        conflicts.map_or_else(|| Memory::Cells(Shadow::new()), |conflicts| Memory::Known(conflicts.rewound()))
    }

    /// The cells of some events will be needed.
    pub(super) fn fetch(&self, events: &[Event]) {
        if let Memory::Cells(cells) = self {
            fetch(cells, events, |cell| cell.write.0 ^ cell.reads.first().map_or(0, |read| read.0));
        }
    }

    /// An access of a thread, at a position; what it conflicts with is put into `conflicts`.
    #[inline]
    pub(super) fn touch(
        &mut self,
        who: u32,
        now: u64,
        (kind, size, addr): Touched,
        conflicts: &mut Vec<(u32, u64)>,
    ) {
        match self {
            Memory::Cells(cells) => {
                cells.touch(addr, size, |cell, _, _| touch(cell, who, now, kind, conflicts));
            }
            Memory::Known(known) => known.at(now, conflicts),
        }
    }

    /// Memory is another one from now on.
    pub(super) fn forget(&mut self, addr: Addr, size: u32) {
        if let Memory::Cells(cells) = self {
            cells.forget(addr, size);
        }
    }

    /// The memory of the next reading of the same run.
    pub(super) fn again(self) -> Self {
        match self {
            Memory::Cells(_) => Memory::new(None),
            Memory::Known(conflicts) => Memory::new(Some(conflicts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::prepare::Prepare;
    use super::*;
    use crate::event::{Op, SiteId, ThreadId};
    use crate::trace::Tables;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_the_first_reading_writes_down_is_what_the_cells_say(
            accesses in prop::collection::vec((0..4u32, any::<bool>(), 1..=12u32, 0..24u64), 0..60),
        ) {
            let mut prepare = Prepare::default();
            for &(thread, writes, size, addr) in &accesses {
                let (addr, kind) = (Addr(0x1000 + addr), if writes { AccessKind::Write } else { AccessKind::Read });
                let op = if size == 12 { Op::Free { size: 8, addr } } else { Op::Access { kind, size, addr } };
                prepare.event(&Event { thread: ThreadId(thread), site: SiteId::NONE, op }, &Tables::default());
            }
            let (_, written) = prepare.finish();
            let mut readings = Vec::new();
            prop_assert!(written.conflicts.is_some());
            for mut memory in [Memory::new(None), Memory::new(written.conflicts)] {
                for _ in 0..2 {
                    let mut now = 0;
                    let mut found = Vec::new();
                    for &(thread, writes, size, addr) in &accesses {
                        let addr = Addr(0x1000 + addr);
                        if size == 12 {
                            memory.forget(addr, 8);
                            continue;
                        }
                        now += 1;
                        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
                        let mut conflicts = Vec::new();
                        memory.touch(thread, now, (kind, size, addr), &mut conflicts);
                        found.push(conflicts);
                    }
                    readings.push(found);
                    memory = memory.again();
                }
            }
            for other in &readings[1..] {
                prop_assert_eq!(&readings[0], other);
            }
        }
    }

    #[test]
    fn an_outer_region_and_one_in_it_are_two() {
        let mut memory = Memory::new(None);
        for _ in 0..2 {
            let mut conflicts = Vec::new();
            memory.touch(0, 1, (AccessKind::Write, 8, Addr(0x1000)), &mut conflicts);
            memory.touch(OUTER, 2, (AccessKind::Read, 8, Addr(0x1000)), &mut conflicts);
            assert_eq!(conflicts, [(0, 1)]);
            memory = memory.again();
        }
    }
}
