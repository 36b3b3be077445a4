//! The analyses, and what they have in common.
//!
//! **State belongs to the driver, transitions to the algorithm.** An [`Analysis`] says which state it wants to have
//! for each thread, each piece of memory and each synchronization object; the driver keeps that state and hands it in,
//! exclusively, with each operation. Offline the driver is [`crate::replay`]; online it is the runtime, with the cells
//! in shadow memory. The text of the algorithm is the same in both. What is global to an algorithm sits in `&self`.
//!
//! Calls are dispatched statically: which analysis runs is chosen once per run. A runtime that leaves the choice to its user
//! runs [`any::Any`].
//!
//! **Many threads at once.** Each analysis comes in a form for one caller and in one for many ([`global`]). The latter are
//! [`Online`]: a driver calls them from all threads of a program at the same time. It hands in the state of the calling
//! thread, a cell or an object that nobody else has meanwhile (for a fork or a join the other thread's state as well), and
//! the calling thread's own [`Findings`]. The order in which cells and objects are handed in is the order of the run.
//! Positions then need not be dense, but grow within a thread, and can be compared between threads as far as reports are
//! to be in order.

pub mod aerodrome;
pub mod any;
pub mod atomizer;
pub mod atomtracker;
pub mod avio;
mod both;
pub mod empty;
pub mod eraser;
pub mod fasttrack;
pub mod global;
pub mod maybe;
pub mod tasks;
pub mod velodrome;

use crate::event::{AccessKind, Addr, AtomicKind, LockMode, MemoryOrder, RegionId};
use crate::finding::{Findings, Moment, RawStep};

/// The part of an access that falls into one cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Read or write.
    pub kind: AccessKind,
    /// First byte of the part.
    pub addr: Addr,
    /// Number of bytes of the part.
    pub size: u32,
    /// The access has no other part.
    pub whole: bool,
}

/// What an atomic operation does beside touching memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicOperation {
    /// Load, store or both.
    pub kind: AtomicKind,
    /// Its memory order.
    pub order: MemoryOrder,
}

/// A figure that an analysis tells about its own work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statistic {
    /// The name of the analysis.
    pub analysis: &'static str,
    /// What is counted, as a short phrase.
    pub name: &'static str,
    /// How many.
    pub value: u64,
}

/// One algorithm.
///
/// The driver guarantees: events of one thread come in program order; a lock is released by its holder; regions are
/// balanced; a thread's first operation comes after its fork; nothing comes after its join. Re-entrant acquires and
/// releases of a lock are not told.
pub trait Analysis {
    /// False if accesses need not be told, so that no cells are kept.
    const WATCHES_MEMORY: bool = true;

    /// False if locks, and whatever else orders threads but their creation and their end, need not be told.
    const WATCHES_SYNCHRONIZATION: bool = true;

    /// True if the positions of a thread's accesses must grow: two that have the same position are parts of one. An
    /// analysis for which this is false needs growing positions only where a thread publishes something, so that the driver
    /// may count synchronization alone.
    const COUNTS_ACCESSES: bool = true;

    /// What is kept for each thread.
    type Thread: Default;
    /// What is kept for each stretch of memory whose bytes were always accessed together. The driver clones a cell
    /// when a smaller access splits it, and forgets it when the memory is freed.
    type Cell: Clone + Default;
    /// What is kept for each lock, and for anything else that orders threads.
    type Sync: Default;

    /// True only if [`Analysis::access`] would change nothing and tell nothing: then it need not be called. This is for a
    /// runtime, which can ask without locking the cell. Offline nothing is gained by it, so [`crate::replay`] does not
    /// ask. By default there is always something to do.
    #[inline]
    fn nothing_to_do(&self, at: &RawStep, thread: &Self::Thread, cell: &Self::Cell, part: Part) -> bool {
        let _ = (at, thread, cell, part);
        false
    }

    /// True if an access, plain or atomic, would complete what looks like a violation of atomicity: a scheduler that wants
    /// to see one lets other threads run first. Nothing is changed by asking. Only Atomizer has an opinion.
    #[inline]
    fn would_break(&self, at: &RawStep, thread: &Self::Thread, cell: &Self::Cell, part: Part) -> bool {
        let _ = (at, thread, cell, part);
        false
    }

    /// The same for an operation that waits for others: acquire, receive, join.
    #[inline]
    fn would_break_waiting(&self, at: &RawStep, thread: &Self::Thread) -> bool {
        let _ = (at, thread);
        false
    }

    /// A plain access touches a cell.
    fn access(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        part: Part,
        findings: &mut Findings,
    );

    /// An atomic operation is about to touch several cells; told for each of them before [`Analysis::atomic`] is told
    /// for the first. By default it does nothing.
    #[inline]
    fn before_atomic_parts(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        operation: AtomicOperation,
    ) {
        let _ = (at, thread, cell, operation);
    }

    /// An atomic operation touches a cell. By default it is like a plain access.
    #[inline]
    fn atomic(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        part: Part,
        operation: AtomicOperation,
        findings: &mut Findings,
    ) {
        let _ = operation;
        self.access(at, thread, cell, part, findings);
    }

    /// A fence. By default it does nothing.
    #[inline]
    fn fence(&self, at: &RawStep, thread: &mut Self::Thread, order: MemoryOrder, findings: &mut Findings) {
        let _ = (at, thread, order, findings);
    }

    /// A lock was acquired.
    fn acquire(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        findings: &mut Findings,
    );

    /// A lock is about to be released.
    fn release(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        findings: &mut Findings,
    );

    /// What the thread did so far comes before whatever follows a later [`Analysis::receive`] of the same object.
    /// Notifications, arrivals at a barrier and happens-before annotations are told this way.
    fn signal(&self, at: &RawStep, thread: &mut Self::Thread, sync: &mut Self::Sync, findings: &mut Findings);

    /// What follows comes after all earlier [`Analysis::signal`]s of the same object.
    fn receive(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        findings: &mut Findings,
    );

    /// The thread starts another one.
    fn fork(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        findings: &mut Findings,
    );

    /// The thread has waited for the end of another one.
    fn join(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        findings: &mut Findings,
    );

    /// An atomic region begins.
    fn begin(&self, at: &RawStep, thread: &mut Self::Thread, region: RegionId, findings: &mut Findings);

    /// The innermost atomic region ends.
    fn end(&self, at: &RawStep, thread: &mut Self::Thread, findings: &mut Findings);

    /// True if no further event can change what this analysis says: the driver may stop.
    #[inline]
    fn is_decided(&self) -> bool {
        false
    }

    /// The run is over; the last event was at `moment`.
    fn end_of_run(&self, moment: Moment, findings: &mut Findings) {
        let _ = (moment, findings);
    }

    /// True if a violation was noticed that only Velodrome, on the same run, can explain.
    fn wants_blame(&self) -> bool {
        false
    }

    /// Figures about the work done, for `--stats`.
    fn statistics(&self) -> Vec<Statistic> {
        Vec::new()
    }
}

/// An analysis that many threads may call at once.
pub trait Online: Analysis<Thread: Send, Cell: Send, Sync: Send> + Send + Sync {}

impl<A: Analysis<Thread: Send, Cell: Send, Sync: Send> + Send + Sync> Online for A {}
