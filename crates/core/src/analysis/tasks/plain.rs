//! What is remembered about most memory: accesses without locks, outside of blocks, by few steps.
//!
//! All analyses of tasks keep the same of such accesses, so that the online driver can keep it in a few bits without asking
//! them. Only when there is more to remember the cell of the analysis takes over, made of what was plain.

use super::kept::Entry;
use crate::event::AccessKind;
use crate::lockset::LocksetId;

/// Accesses without locks and outside of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Plain {
    /// The last write: all others come before it.
    pub write: Option<Entry>,
    /// The reads that are last in English and in Hebrew order. A read before the write need not be among them.
    pub reads: Option<(Entry, Entry)>,
}

/// Accesses of one kind under one set of locks, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnderLocks {
    /// The locks.
    pub locks: LocksetId,
    /// What they do.
    pub kind: AccessKind,
    /// Those that are last in English and in Hebrew order.
    pub two: (Entry, Entry),
}

/// An analysis that may keep no more than that of plain accesses, from all threads at once. By default it looks at all accesses itself.
pub trait KeepsPlain: super::TaskAnalysis<Cell: Send> {
    /// True if plain accesses need not be looked at by the analysis itself as long as they fit.
    fn keeps_plain(&self) -> bool {
        false
    }

    /// False if accesses of a step need not be looked at while which nothing else can happen: all that was remembered before comes before
    /// them, and they come before all that follows.
    fn minds_serial_steps(&self) -> bool {
        true
    }

    /// A cell that remembers just this. `era` is the present one. Called only if [`KeepsPlain::keeps_plain`].
    fn of_plain(plain: Plain, era: u32) -> Self::Cell {
        let _ = (plain, era);
        Self::Cell::default()
    }

    /// What a cell remembers, if there is nothing else in it.
    fn plain(cell: &Self::Cell) -> Option<Plain> {
        let _ = cell;
        None
    }

    /// Accesses under locks need not be looked at by the analysis itself either, as long as all of them are under the same ones, which exclude
    /// each other, and no order beside the tree is known: of such accesses it keeps the last in both orders, and of a step that writes nothing
    /// but that.
    const KEEPS_UNDER_LOCKS: bool = false;

    /// A cell that remembers just this. `era` is the present one. Called only if [`KeepsPlain::KEEPS_UNDER_LOCKS`].
    fn of_under_locks(accesses: UnderLocks, era: u32) -> Self::Cell {
        let _ = (accesses, era);
        Self::Cell::default()
    }

    /// What a cell remembers of accesses under locks, if there is nothing else in it.
    fn under_locks(cell: &Self::Cell) -> Option<UnderLocks> {
        let _ = cell;
        None
    }
}
