//! What an analysis must offer so that its cells can be kept in shadow memory.

use keirin_core::analysis::any::Any;
use keirin_core::analysis::atomtracker::detect::Detector;
use keirin_core::analysis::empty::Empty;
use keirin_core::analysis::fasttrack::{Compact, CompactAtomic, FastTrack};
use keirin_core::analysis::global::Shared;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::analysis::{AtomicOperation, Online};
use keirin_core::clock::Epoch;
use keirin_core::event::{AccessKind, AtomicKind, ThreadId};

/// An analysis whose cells are kept in shadow memory.
pub(crate) trait Shadowed: Online + 'static {
    /// Cells fit into two numbers of 60 bits, mostly.
    const COMPACT: bool = false;

    /// How many threads can be told apart, if cells are compact.
    const MOST_ACTORS: u32 = u32::MAX;

    /// The last position of a thread, if cells are compact.
    const LAST_POSITION: u64 = u64::MAX;

    /// True if a thread knows all that an actor did up to a position.
    fn knows(thread: &Self::Thread, me: ThreadId, actor: ThreadId, position: u64) -> bool {
        let _ = (thread, me, actor, position);
        false
    }

    /// What an access makes of a packed cell, if that is simple. `new` is the access as a packed cell remembers it.
    #[inline(always)]
    fn shortcut(thread: &Self::Thread, new: u64, kind: AccessKind, numbers: [u64; 2]) -> Option<[u64; 2]> {
        let _ = (thread, new, kind, numbers);
        None
    }

    /// The cell as four numbers, if it fits into that and not into two. The highest four bits of the first two are zero.
    fn pack_shared(cell: &Self::Cell) -> Option<[u64; 4]> {
        let _ = cell;
        None
    }

    /// The cell as four numbers, if it fits into that or into two: then the last two are zeros. Less fits than into those of
    /// [`Shadowed::pack_shared`]: no atomic operations.
    fn pack_four(cell: &Self::Cell) -> Option<[u64; 4]> {
        let _ = cell;
        None
    }

    /// The cell that [`Shadowed::pack_shared`] or [`Shadowed::pack_four`] made numbers of.
    fn unpack_four(numbers: [u64; 4]) -> Self::Cell {
        let _ = numbers;
        Self::Cell::default()
    }

    /// What an access makes of the four numbers of a cell, if that is simple.
    #[inline(always)]
    fn shortcut_four(
        thread: &Self::Thread,
        new: u64,
        kind: AccessKind,
        numbers: [u64; 4],
    ) -> Option<[u64; 4]> {
        let _ = (thread, new, kind, numbers);
        None
    }

    /// True if an access that is remembered as a number comes before `new`, or is none.
    #[inline(always)]
    fn is_known(thread: &Self::Thread, new: u64, number: u64) -> bool {
        let _ = (thread, new, number);
        false
    }

    /// What a read makes of the last three of four numbers, if it does not race with the first, and that is simple.
    #[inline(always)]
    fn add_read(thread: &Self::Thread, new: u64, reads: [u64; 3]) -> Option<[u64; 3]> {
        let _ = (thread, new, reads);
        None
    }

    /// What an atomic load makes of the four numbers of a cell, if that is simple.
    #[inline(always)]
    fn load_four(
        thread: &Self::Thread,
        new: u64,
        operation: AtomicOperation,
        numbers: [u64; 4],
    ) -> Option<[u64; 4]> {
        let _ = (thread, new, operation, numbers);
        None
    }

    /// A read of a cell that does not fit, by a thread that has read it before, if what becomes of it is simple.
    #[inline(always)]
    fn read_again(thread: &Self::Thread, new: u64, cell: &mut Self::Cell) -> bool {
        let _ = (thread, new, cell);
        false
    }

    /// True if an atomic operation on such a cell, of whatever kind, is simple: then [`Shadowed::atomic_again`] tells it.
    #[inline(always)]
    fn is_atomic(thread: &Self::Thread, new: u64, cell: &Self::Cell) -> bool {
        let _ = (thread, new, cell);
        false
    }

    /// A simple atomic operation.
    #[inline(always)]
    fn atomic_again(thread: &mut Self::Thread, new: u64, cell: &mut Self::Cell, operation: AtomicOperation) {
        let _ = (thread, new, cell, operation);
    }

    /// A load, or a relaxed read-modify-write, as a cell remembers it, if a thread may keep it for itself (see `quiet`).
    #[inline(always)]
    fn quiet(thread: &Self::Thread, new: u64, operation: AtomicOperation) -> Option<u64> {
        let _ = (thread, new, operation);
        None
    }

    /// True if what [`Shadowed::quiet`] gave is of the epoch of an access.
    #[inline(always)]
    fn is_same_epoch(operation: u64, new: u64) -> bool {
        let _ = (operation, new);
        false
    }

    /// True if the cell remembers an operation of this kind by the thread.
    #[inline(always)]
    fn has_done(cell: &mut Self::Cell, new: u64, kind: AtomicKind) -> bool {
        let _ = (cell, new, kind);
        false
    }

    /// True if threads may keep what they do to a cell for themselves, as long as it is nothing else.
    fn is_quiet(cell: &Self::Cell) -> bool {
        let _ = cell;
        false
    }

    /// The same for loads of a thread that has taken over what there is.
    fn is_quiet_for(thread: &Self::Thread, new: u64, cell: &Self::Cell) -> bool {
        let _ = (thread, new, cell);
        false
    }

    /// Remembers what [`Shadowed::quiet`] gave.
    fn remember_quiet(cell: &mut Self::Cell, operation: u64) {
        let _ = (cell, operation);
    }

    /// The cell as two numbers, if it fits.
    fn pack(cell: &Self::Cell) -> Option<[u64; 2]> {
        let _ = cell;
        None
    }

    /// The cell that [`Shadowed::pack`] made numbers of. Zeros are the default cell.
    fn unpack(numbers: [u64; 2]) -> Self::Cell {
        let _ = numbers;
        Self::Cell::default()
    }
}

impl Shadowed for Empty {}

impl Shadowed for Velodrome<Reach, Shared> {}

impl Shadowed for Detector<Shared> {}

impl Shadowed for Any {}

impl Shadowed for FastTrack<Compact> {
    const COMPACT: bool = true;
    const MOST_ACTORS: u32 = Compact::MOST_THREADS;
    const LAST_POSITION: u64 = Compact::LAST_TIME;

    fn knows(thread: &Self::Thread, me: ThreadId, actor: ThreadId, position: u64) -> bool {
        thread.knows(me, Epoch::new(actor, position))
    }

    #[inline(always)]
    fn shortcut(thread: &Self::Thread, new: u64, kind: AccessKind, numbers: [u64; 2]) -> Option<[u64; 2]> {
        let after = Self::shortcut(thread, Compact::from_bits(new), kind, numbers.map(Compact::from_bits))?;
        Some(after.map(Compact::bits))
    }

    fn pack_shared(cell: &Self::Cell) -> Option<[u64; 4]> {
        cell.loaded()
    }

    fn pack_four(cell: &Self::Cell) -> Option<[u64; 4]> {
        cell.four()
    }

    fn unpack_four(numbers: [u64; 4]) -> Self::Cell {
        Self::Cell::from_four(numbers)
    }

    #[inline(always)]
    fn shortcut_four(
        thread: &Self::Thread,
        new: u64,
        kind: AccessKind,
        numbers: [u64; 4],
    ) -> Option<[u64; 4]> {
        Self::shortcut_four(thread, Compact::from_bits(new), kind, numbers)
    }

    #[inline(always)]
    fn is_known(thread: &Self::Thread, new: u64, number: u64) -> bool {
        Self::is_known(thread, Compact::from_bits(new), Compact::from_bits(number))
    }

    #[inline(always)]
    fn add_read(thread: &Self::Thread, new: u64, reads: [u64; 3]) -> Option<[u64; 3]> {
        Self::add_read(thread, Compact::from_bits(new), reads)
    }

    #[inline(always)]
    fn load_four(
        thread: &Self::Thread,
        new: u64,
        operation: AtomicOperation,
        numbers: [u64; 4],
    ) -> Option<[u64; 4]> {
        Self::load_four(thread, Compact::from_bits(new), operation, numbers)
    }

    #[inline(always)]
    fn read_again(thread: &Self::Thread, new: u64, cell: &mut Self::Cell) -> bool {
        Self::read_again(thread, Compact::from_bits(new), cell)
    }

    #[inline(always)]
    fn is_atomic(thread: &Self::Thread, new: u64, cell: &Self::Cell) -> bool {
        Self::is_atomic(thread, Compact::from_bits(new), cell)
    }

    #[inline(always)]
    fn atomic_again(thread: &mut Self::Thread, new: u64, cell: &mut Self::Cell, operation: AtomicOperation) {
        Self::atomic_again(thread, Compact::from_bits(new), cell, operation);
    }

    #[inline(always)]
    fn quiet(thread: &Self::Thread, new: u64, operation: AtomicOperation) -> Option<u64> {
        Self::quiet(thread, Compact::from_bits(new), operation).map(CompactAtomic::bits)
    }

    #[inline(always)]
    fn is_same_epoch(operation: u64, new: u64) -> bool {
        Self::is_same_epoch(CompactAtomic::from_bits(operation), Compact::from_bits(new))
    }

    #[inline(always)]
    fn has_done(cell: &mut Self::Cell, new: u64, kind: AtomicKind) -> bool {
        Self::has_done(cell, Compact::from_bits(new), kind)
    }

    fn is_quiet(cell: &Self::Cell) -> bool {
        Self::is_quiet(cell)
    }

    #[inline]
    fn is_quiet_for(thread: &Self::Thread, new: u64, cell: &Self::Cell) -> bool {
        Self::is_quiet_for(thread, Compact::from_bits(new), cell)
    }

    fn remember_quiet(cell: &mut Self::Cell, operation: u64) {
        Self::remember_quiet(cell, CompactAtomic::from_bits(operation));
    }

    #[inline]
    fn pack(cell: &Self::Cell) -> Option<[u64; 2]> {
        cell.plain()
    }

    #[inline]
    fn unpack(numbers: [u64; 2]) -> Self::Cell {
        Self::Cell::from_plain(numbers)
    }
}
