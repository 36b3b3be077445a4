//! FastTrack: are there conflicting accesses that nothing orders?
//!
//! **Paper.** Flanagan, Freund: *FastTrack: Efficient and Precise Dynamic Race Detection*, PLDI 2009.
//!
//! Operation `a` *happens before* `b` if both are of one thread in this order, if `a` synchronizes with `b`, or by a
//! chain of these. Two accesses conflict if they share a byte, one of them writes, and they are not both atomic. A *race*
//! is a pair of conflicting accesses, neither of which happens before the other. `C` is the clock of the acting thread `t`:
//! what it knows of each thread. An access is *known* if it is in `C`, or `t`'s own.
//!
//! | operation | races with | is remembered as |
//! |---|---|---|
//! | read `x` in the epoch of `t`'s last read or write of `x` | (atomic writes, see below) | |
//! | read `x` | the last write, if not known | a read; those known are superseded |
//! | write `x` in the epoch of the last write, nothing since | | |
//! | write `x` | the last write and all reads that are not known | last write; all else is superseded |
//! | acquire `m` | | `C` takes over what the last exclusive release of `m` published, and, if exclusive, all shared ones since |
//! | release `m` | | publishes `C` (shared: beside other shared releases) |
//! | fork `u` | | `u` starts with `C` |
//! | join `u` | | `C` takes over the clock of `u` and all of `u` |
//! | signal, receive | | `C` is added to the object's clock; `C` takes over the object's clock |
//!
//! Atomic operations (C++20, as far as happens-before goes; `F` is `C` at `t`'s last release fence):
//!
//! | operation | races with | changes |
//! |---|---|---|
//! | load | last plain write | acquire: `C` takes over what the cell publishes; else it waits for an acquire fence |
//! | store | last plain write, plain reads | the cell publishes: release: `C`; else `F`; else nothing |
//! | read-modify-write | last plain write, plain reads | as a load; then the cell publishes `C` or `F` *as well* |
//! | plain read | also: atomic writes | |
//! | plain write | also: all atomic operations | the cell publishes nothing |
//! | acquire fence | | `C` takes over what waits |
//! | release fence | | `F` := `C` |
//!
//! So a read-modify-write of any order continues a release sequence, and every other store ends it, whoever's it is.
//! Consume is treated as acquire. Sequentially consistent operations and fences are acquire and release.
//!
//! **Promises.** Every report is a race. For each byte, a race is reported at the first operation with which there is
//! one on this byte, the later access of the pair. Thus the first report of a run is exact, and a run without races gives
//! none.
//!
//! **Deviations.**
//! - A thread's time is the position of the operation in the trace, not a count of releases: both accesses of a race can be
//!   shown exactly. Two operations of a thread are in one epoch if it published nothing between them. A driver that does
//!   not number all operations may give several the same time, as long as a thread's time grows after each operation
//!   that publishes: release, signal, fork, release fence, and an atomic operation that writes and releases.
//! - A read in the epoch of the thread's own last write is not remembered: who races with one races with the other.
//! - Concurrent reads are kept as a list of those that are not superseded, not as a clock for all threads, so that
//!   threads that come and go leave nothing behind. The latest one stays in the cell.
//! - Who knows the thread that published a clock, at that time, skips taking it over: the clock holds no news.
//!
//! **Misses.** Races of other schedules. After the first race on a byte, some of the later ones: what raced is superseded
//! as if it were ordered, and of the accesses in one epoch the first is kept. Memory that is freed is forgotten, so that a
//! free never races. Atomics are taken in the order of the trace: a load reads the last store before it.
//!
//! **Cost.** One comparison for a repeated access; constant time for nearly all others; time in the number of threads for
//! synchronization that brings news, and for the first read of a thread among concurrent ones. 64 bytes for each cell,
//! 24 for each further concurrent read, 8 for each thread in each lock, thread and published atomic. With [`Compact`], which
//! forgets calls and sizes, a cell has 32 bytes, of which nearly always only 16 are used ([`Cell::plain`]); further reads
//! take 64 bytes for the first seven, or 16 for two if there is nothing else ([`Cell::shared`]).
//!
//! **Who touches what.** All state belongs to the driver and is handed in exclusively; nothing is global.
//! [`Analysis::nothing_to_do`] looks at three words of the cell and one of the thread.

mod remembered;
mod state;

pub use remembered::{Compact, CompactAtomic, Exact, Remembered};
pub use state::{Cell, Dated, RememberedAtomic, Sync, Thread};

use super::{Analysis, AtomicOperation, Part};
use crate::clock::Epoch;
use crate::event::{AccessKind, Addr, AtomicKind, LockMode, MemoryOrder, RegionId, ThreadId};
use crate::finding::{Evidence, FindingKey, Findings, Race, RawFinding, RawStep, Rule, Verdict};
use state::{Published, now};
use std::marker::PhantomData;

/// The analysis. `R` is how plain accesses are remembered.
#[derive(Clone, Copy, Debug, Default)]
pub struct FastTrack<R: Remembered = Exact>(PhantomData<R>);

impl FastTrack<Exact> {
    /// With all that there is to know about each access.
    pub const fn exact() -> Self {
        Self(PhantomData)
    }
}

impl FastTrack<Compact> {
    /// With one word for each access.
    pub const fn compact() -> Self {
        Self(PhantomData)
    }
}

impl<R: Remembered> Cell<R> {
    /// Tells the races of an access with plain writes.
    #[inline]
    fn check_write(&self, at: &RawStep, thread: &Thread, byte: Addr, findings: &mut Findings) {
        if !thread.knows(at.moment.thread, self.write.epoch()) {
            report(at, self.write.step(AccessKind::Write, byte), findings);
        }
    }

    /// Tells the races of an access with plain reads.
    #[inline]
    fn check_reads(&self, at: &RawStep, thread: &Thread, byte: Addr, findings: &mut Findings) {
        if !thread.knows(at.moment.thread, self.read.epoch()) {
            report(at, self.read.step(AccessKind::Read, byte), findings);
        }
        if let Some(reads) = &self.reads {
            // The reader in the cell itself may be in the list with an earlier read.
            let last = self.read.epoch().thread();
            for read in reads.iter().filter(|read| read.epoch().thread() != last) {
                if !thread.knows(at.moment.thread, read.epoch()) {
                    report(at, read.step(AccessKind::Read, byte), findings);
                }
            }
        }
    }

    /// Tells the races of a plain access with atomic operations.
    #[cold]
    fn check_atomics(&self, at: &RawStep, thread: &Thread, part: Part, findings: &mut Findings) {
        let Some(atomics) = &self.atomics else { return };
        let mut check = |earlier: &R::Atomic, kind| {
            if !thread.knows(at.moment.thread, earlier.epoch()) {
                report(at, earlier.step(kind, part.addr), findings);
            }
        };
        atomics.writes.iter().for_each(|earlier| check(earlier, AccessKind::Write));
        if part.kind == AccessKind::Write {
            atomics.reads.iter().for_each(|earlier| check(earlier, AccessKind::Read));
        }
    }

    /// Remembers a plain read that is not in the current epoch of the last one or of the last write.
    #[inline]
    fn remember_read(&mut self, new: R, thread: &Thread) {
        let now = new.epoch();
        let known = |epoch| thread.knows(now.thread(), epoch);
        if !known(self.read.epoch()) {
            let reads = self.reads.get_or_insert_default();
            if let Some(mine) = reads.of(now.thread()) {
                if !thread.is_current(now, mine.epoch()) {
                    *mine = new;
                }
                return;
            }
            reads.insert(self.read, known);
        }
        self.read = new;
    }
}

/// The part of an atomic operation that reads.
#[inline]
fn take_over(me: ThreadId, thread: &mut Thread, published: &Published, operation: AtomicOperation) {
    match operation.kind {
        AtomicKind::Store => {}
        _ if operation.order.acquires() => thread.take(me, published),
        _ => thread.take_later(me, published),
    }
}

/// The part of an atomic operation that writes.
#[inline]
fn publish(now: Epoch, thread: &mut Thread, published: &mut Published, operation: AtomicOperation) {
    let continues = match operation.kind {
        AtomicKind::Load => return,
        AtomicKind::Store => false,
        AtomicKind::ReadModifyWrite => true,
    };
    match (operation.order.releases(), thread.released()) {
        (true, _) if continues => published.join(thread.give(now), now),
        (true, _) => published.assign(thread.give(now), now),
        (false, Some(fence)) if continues => published.join_published(fence),
        (false, Some(fence)) => published.assign_published(fence),
        (false, None) if continues => {}
        (false, None) => published.clear(),
    }
}

impl FastTrack<Compact> {
    /// The commonest accesses, without a cell: what [`Analysis::access`] makes of a cell that holds nothing but a write and a
    /// read, if no race comes of it and nothing more has to be remembered. None: the cell must be made. `new` is the access
    /// as it would be remembered. Two accesses of a thread count as of one epoch if they are at the same position, as they
    /// are if the driver counts what a thread publishes.
    #[inline(always)]
    pub fn shortcut(
        thread: &Thread,
        new: Compact,
        kind: AccessKind,
        cell: [Compact; 2],
    ) -> Option<[Compact; 2]> {
        let [write, read] = cell;
        match kind {
            AccessKind::Read if write.is_at_once_with(new) | read.is_at_once_with(new) => Some(cell),
            _ if !(thread.knows_compact(new, write) && thread.knows_compact(new, read)) => None,
            AccessKind::Read => Some([write, new]),
            AccessKind::Write if write.is_at_once_with(new) => Some([write, Compact::default()]),
            AccessKind::Write => Some([new, Compact::default()]),
        }
    }

    /// The same for a cell of four numbers, as [`Cell::four`] gives them.
    #[inline(always)]
    pub fn shortcut_four(
        thread: &Thread,
        new: Compact,
        kind: AccessKind,
        cell: [u64; 4],
    ) -> Option<[u64; 4]> {
        let [write, read, third, fourth] = cell;
        let known = |earlier| thread.knows_compact(new, Compact::from_bits(earlier));
        let wrote = Compact::from_bits(write).is_at_once_with(new);
        let is_load = CompactAtomic::is_load_of_cell(third);
        match kind {
            AccessKind::Read if wrote => Some(cell),
            AccessKind::Read if !known(write) => None,
            AccessKind::Read if is_load => {
                // There is no room for a further read.
                let [read, 0, _] = Self::add_read(thread, new, [read, 0, 0])? else { return None };
                Some([write, read, third, 0])
            }
            AccessKind::Read => {
                let [read, third, fourth] = Self::add_read(thread, new, [read, third, fourth])?;
                Some([write, read, third, fourth])
            }
            AccessKind::Write => {
                let third = if is_load { CompactAtomic::load_of_cell(third).access().bits() } else { third };
                let all_known = known(write) && known(read) && known(third) && known(fourth);
                all_known.then_some([if wrote { write } else { new.bits() }, 0, 0, 0])
            }
        }
    }

    /// True if an access that a cell remembers comes before the one that happens, or is none.
    #[inline(always)]
    pub fn is_known(thread: &Thread, new: Compact, earlier: Compact) -> bool {
        thread.knows_compact(new, earlier)
    }

    /// What a read that does not race makes of the reads that a cell remembers: the last one, and one or two further ones as in
    /// [`Cell::four`]. None: the cell must be made.
    #[inline(always)]
    pub fn add_read(thread: &Thread, new: Compact, reads: [u64; 3]) -> Option<[u64; 3]> {
        let [read, first, second] = reads.map(Compact::from_bits);
        let known = |earlier| thread.knows_compact(new, earlier);
        // Of the reads in one epoch the first is kept.
        let again = |earlier: Compact| if earlier.is_at_once_with(new) { earlier } else { new };
        let after = if read.is_at_once_with(new) {
            [read, first, second]
        } else if known(read) {
            [new, first, second]
        } else if first.bits() == 0 {
            // The first of several that nothing orders: the other one is no longer the last.
            [new, read, Compact::default()]
        } else if first.is_of_same_thread(new) {
            [read, again(first), second]
        } else if second.bits() != 0 && second.is_of_same_thread(new) {
            [read, first, again(second)]
        } else {
            return None;
        };
        Some(after.map(Compact::bits))
    }

    /// What an atomic load makes of a cell of four numbers, if it races with nothing, takes nothing over, and no other thread's load has to
    /// be remembered beside it.
    #[inline(always)]
    pub fn load_four(
        thread: &Thread,
        new: Compact,
        operation: AtomicOperation,
        cell: [u64; 4],
    ) -> Option<[u64; 4]> {
        let [write, read, third, _] = cell;
        let known = |earlier| thread.knows_compact(new, earlier);
        let alone = third == 0
            || (CompactAtomic::is_load_of_cell(third) && known(CompactAtomic::load_of_cell(third).access()));
        let load = CompactAtomic::of(new, operation).in_cell();
        (alone && known(Compact::from_bits(write))).then_some([write, read, load, 0])
    }

    /// The same for a read of a cell that holds more, if no race comes of it. False: nothing was done.
    #[inline]
    pub fn read_again(thread: &Thread, new: Compact, cell: &mut Cell<Compact>) -> bool {
        let known = |earlier| thread.knows_compact(new, earlier);
        let races_with_atomics = cell
            .atomics
            .as_ref()
            .is_some_and(|atomics| !atomics.writes.iter().all(|write| known(write.access())));
        if races_with_atomics {
            return false;
        }
        if !cell.write.is_at_once_with(new) && !cell.read.is_at_once_with(new) {
            if !known(cell.write) {
                return false;
            }
            cell.remember_read(new, thread);
        }
        true
    }

    /// True if an atomic operation, of whatever kind, races with nothing, and there was one before: then [`FastTrack::atomic_again`] tells it.
    #[inline(always)]
    pub fn is_atomic(thread: &Thread, new: Compact, cell: &Cell<Compact>) -> bool {
        let known = |earlier| thread.knows_compact(new, earlier);
        cell.atomics.is_some() && cell.reads.is_none() && known(cell.write) && known(cell.read)
    }

    /// An atomic operation on a cell of which [`FastTrack::is_atomic`] is true.
    #[inline]
    pub fn atomic_again(
        thread: &mut Thread,
        new: Compact,
        cell: &mut Cell<Compact>,
        operation: AtomicOperation,
    ) {
        let Some(atomics) = cell.atomics.as_deref_mut() else { return };
        let me = new.thread();
        take_over(me, thread, &atomics.published, operation);
        let same_kind = match operation.kind {
            AtomicKind::Load => &mut atomics.reads,
            _ => &mut atomics.writes,
        };
        same_kind.insert(CompactAtomic::of(new, operation), |epoch| thread.knows(me, epoch));
        publish(new.epoch(), thread, &mut atomics.published, operation);
    }

    /// A load, or a relaxed read-modify-write, as a cell remembers it, if it publishes nothing.
    #[inline]
    pub fn quiet(thread: &Thread, new: Compact, operation: AtomicOperation) -> Option<CompactAtomic> {
        let publishes_nothing = match operation.kind {
            AtomicKind::Load => true,
            AtomicKind::ReadModifyWrite => {
                operation.order == MemoryOrder::Relaxed && thread.released().is_none()
            }
            AtomicKind::Store => false,
        };
        publishes_nothing.then(|| CompactAtomic::of(new, operation))
    }

    /// True if what [`FastTrack::quiet`] gave is of the epoch of an access.
    #[inline(always)]
    pub fn is_same_epoch(operation: CompactAtomic, new: Compact) -> bool {
        operation.access().is_at_once_with(new)
    }

    /// True if the thread has done an operation that writes, or does not write, as this one, and the cell remembers it.
    #[inline]
    pub fn has_done(cell: &mut Cell<Compact>, new: Compact, kind: AtomicKind) -> bool {
        let Some(atomics) = cell.atomics.as_deref_mut() else { return false };
        let same_kind = match kind {
            AtomicKind::Load => &mut atomics.reads,
            _ => &mut atomics.writes,
        };
        same_kind.of(new.thread()).is_some()
    }

    /// True if a load, or a relaxed read-modify-write, by a thread that has done one before takes nothing over and races with nothing,
    /// until an operation of another kind comes: then it need only be remembered, by [`FastTrack::remember_quiet`].
    #[inline]
    pub fn is_quiet(cell: &Cell<Compact>) -> bool {
        cell.atomics.as_ref().is_some_and(|atomics| atomics.published.is_empty())
    }

    /// The same for loads, by a thread that knows all that can be taken over here: whatever their order is, they bring nothing more.
    #[inline]
    pub fn is_quiet_for(thread: &Thread, new: Compact, cell: &Cell<Compact>) -> bool {
        cell.atomics.as_ref().is_some_and(|atomics| thread.has_taken(new.thread(), &atomics.published))
    }

    /// Remembers what [`FastTrack::quiet`] gave.
    pub fn remember_quiet(cell: &mut Cell<Compact>, operation: CompactAtomic) {
        let atomics = cell.atomics.get_or_insert_default();
        let same_kind = if operation.writes() { &mut atomics.writes } else { &mut atomics.reads };
        same_kind.insert(operation, |_| false);
    }
}

impl<R: Remembered> Analysis for FastTrack<R> {
    const COUNTS_ACCESSES: bool = false;

    type Thread = Thread;
    type Cell = Cell<R>;
    type Sync = Sync;

    #[inline]
    fn nothing_to_do(&self, at: &RawStep, thread: &Thread, cell: &Cell<R>, part: Part) -> bool {
        let now = now(at);
        let wrote = thread.is_current(now, cell.write.epoch());
        let again = match part.kind {
            AccessKind::Read => wrote | thread.is_current(now, cell.read.epoch()),
            AccessKind::Write => wrote & cell.read.epoch().is_never(),
        };
        again & cell.atomics.is_none()
    }

    #[inline]
    fn access(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell<R>,
        part: Part,
        findings: &mut Findings,
    ) {
        if cell.atomics.is_some() {
            cell.check_atomics(at, thread, part, findings);
        }
        let now = now(at);
        let wrote = thread.is_current(now, cell.write.epoch());
        match part.kind {
            AccessKind::Read => {
                if !wrote && !thread.is_current(now, cell.read.epoch()) {
                    cell.check_write(at, thread, part.addr, findings);
                    cell.remember_read(R::new(at), thread);
                }
            }
            AccessKind::Write => {
                if !wrote {
                    cell.check_write(at, thread, part.addr, findings);
                }
                cell.check_reads(at, thread, part.addr, findings);
                if !wrote {
                    cell.write = R::new(at);
                }
                cell.read = R::default();
                cell.reads = None;
                cell.atomics = None;
            }
        }
    }

    fn before_atomic_parts(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell<R>,
        operation: AtomicOperation,
    ) {
        // What the operation takes over from one byte comes before what it does to the others.
        if let Some(atomics) = &cell.atomics {
            take_over(at.moment.thread, thread, &atomics.published, operation);
        }
    }

    fn atomic(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Cell<R>,
        part: Part,
        operation: AtomicOperation,
        findings: &mut Findings,
    ) {
        if let Some(atomics) = &cell.atomics {
            take_over(at.moment.thread, thread, &atomics.published, operation);
        }
        cell.check_write(at, thread, part.addr, findings);
        if part.kind == AccessKind::Write {
            cell.check_reads(at, thread, part.addr, findings);
        }
        let atomics = cell.atomics.get_or_insert_default();
        let same_kind = match part.kind {
            AccessKind::Read => &mut atomics.reads,
            AccessKind::Write => &mut atomics.writes,
        };
        same_kind.insert(R::Atomic::new(at), |epoch| thread.knows(at.moment.thread, epoch));
        publish(now(at), thread, &mut atomics.published, operation);
    }

    fn fence(&self, at: &RawStep, thread: &mut Thread, order: MemoryOrder, _findings: &mut Findings) {
        if order.acquires() {
            thread.acquire_fence();
        }
        if order.releases() {
            thread.release_fence(now(at));
        }
    }

    fn acquire(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        lock: &mut Sync,
        mode: LockMode,
        _findings: &mut Findings,
    ) {
        thread.take(at.moment.thread, &lock.published);
        if mode == LockMode::Exclusive
            && let Some(shared) = &lock.shared
        {
            thread.take(at.moment.thread, shared);
        }
    }

    fn release(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        lock: &mut Sync,
        mode: LockMode,
        _findings: &mut Findings,
    ) {
        let clock = thread.give(now(at));
        match mode {
            LockMode::Exclusive => {
                lock.published.assign(clock, now(at));
                lock.shared = None;
            }
            LockMode::Shared => lock.shared.get_or_insert_default().join(clock, now(at)),
        }
    }

    fn signal(&self, at: &RawStep, thread: &mut Thread, sync: &mut Sync, _findings: &mut Findings) {
        sync.published.join(thread.give(now(at)), now(at));
    }

    fn receive(&self, at: &RawStep, thread: &mut Thread, sync: &mut Sync, _findings: &mut Findings) {
        thread.take(at.moment.thread, &sync.published);
    }

    fn fork(&self, at: &RawStep, thread: &mut Thread, child: &mut Thread, _findings: &mut Findings) {
        child.start(thread.give(now(at)), now(at));
    }

    fn join(&self, at: &RawStep, thread: &mut Thread, child: &mut Thread, _findings: &mut Findings) {
        if let crate::event::Op::Join { child: id } = at.op {
            thread.take_all(id, child);
        }
    }

    fn begin(&self, _: &RawStep, _: &mut Thread, _: RegionId, _: &mut Findings) {}

    fn end(&self, _: &RawStep, _: &mut Thread, _: &mut Findings) {}
}

/// Tells the race of the current access with an earlier one.
#[cold]
fn report(at: &RawStep, earlier: RawStep, findings: &mut Findings) {
    let sites = vec![earlier.moment.site, at.moment.site];
    let key = FindingKey::new(Rule::DataRace, Vec::new(), sites, at.op);
    findings.add(key, at.moment, || RawFinding {
        rule: Rule::DataRace,
        verdict: Verdict::Observed,
        steps: vec![earlier, *at],
        evidence: Evidence::Race(Race::between(earlier.op, at.op)),
        lineage: None,
        count: 1,
    });
}
