//! What FastTrack keeps for threads, memory and locks.

use super::remembered::{Compact, CompactAtomic, Exact, Remembered};
use crate::clock::{Epoch, VectorClock};
use crate::event::{AccessKind, Addr, Op, SiteId, StackId, ThreadId};
use crate::finding::{Moment, RawStep};

/// Something that a thread did at a time.
pub trait Dated: Copy + PartialEq + std::fmt::Debug {
    /// Room for a few of them, in one piece.
    type Few: AsRef<[Self]> + AsMut<[Self]> + Default + Clone + PartialEq + std::fmt::Debug;

    /// Who did it, and when.
    fn epoch(&self) -> Epoch;
}

/// An atomic operation as a cell remembers it. Whether it may write is known from where it is kept.
pub trait RememberedAtomic: Dated + Default {
    /// Remembers an operation.
    fn new(at: &RawStep) -> Self;

    /// The operation again, from its first byte.
    fn step(&self, kind: AccessKind, byte: Addr) -> RawStep;
}

/// An atomic operation, with all that there is to know about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExactAtomic {
    epoch: Epoch,
    site: SiteId,
    stack: StackId,
    op: Op,
}

impl Default for ExactAtomic {
    fn default() -> Self {
        Self { epoch: Epoch::default(), site: SiteId::NONE, stack: StackId::NONE, op: Op::End }
    }
}

impl Dated for ExactAtomic {
    type Few = [Self; 1];

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl RememberedAtomic for ExactAtomic {
    fn new(at: &RawStep) -> Self {
        let Moment { site, stack, .. } = at.moment;
        Self { epoch: now(at), site, stack, op: at.op }
    }

    fn step(&self, _kind: AccessKind, _byte: Addr) -> RawStep {
        RawStep { moment: moment(self.epoch, self.site, self.stack), op: self.op }
    }
}

/// The epoch of the operation that happens.
#[inline]
pub(super) fn now(at: &RawStep) -> Epoch {
    Epoch::new(at.moment.thread, at.moment.position)
}

fn moment(epoch: Epoch, site: SiteId, stack: StackId) -> Moment {
    Moment { position: epoch.time(), thread: epoch.thread(), site, stack }
}

/// At most one operation of each thread, sorted by thread.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum PerThread<D: Dated> {
    Few(u8, D::Few),
    Many(Vec<D>),
}

impl<D: Dated> Default for PerThread<D> {
    fn default() -> Self {
        Self::Few(0, D::Few::default())
    }
}

impl<D: Dated> PerThread<D> {
    /// Puts an operation in the place of an earlier one of the same thread. If there is none, those that are superseded
    /// make room, so that the list does not grow with the threads that come and go.
    #[inline]
    pub(super) fn insert(&mut self, new: D, superseded: impl Fn(Epoch) -> bool) {
        if !self.replace(new) {
            self.add(new, superseded);
        }
    }

    /// Puts an operation in the place of an earlier one of the same thread, if there is one.
    #[inline]
    pub(super) fn replace(&mut self, new: D) -> bool {
        self.of(new.epoch().thread()).map(|old| *old = new).is_some()
    }

    /// The operation of a thread, if there is one.
    #[inline]
    pub(super) fn of(&mut self, thread: ThreadId) -> Option<&mut D> {
        self.list_mut().iter_mut().find(|old| old.epoch().thread() == thread)
    }

    #[inline(never)]
    fn add(&mut self, new: D, superseded: impl Fn(Epoch) -> bool) {
        if let Self::Few(count, few) = self {
            // Mostly there is room in place.
            let mut after = D::Few::default();
            let room = after.as_mut();
            let (mut kept, mut smaller) = (0, 0);
            for old in &few.as_ref()[..usize::from(*count)] {
                if !superseded(old.epoch()) {
                    room[kept] = *old;
                    kept += 1;
                    smaller += usize::from(old.epoch().thread() < new.epoch().thread());
                }
            }
            if kept < room.len() {
                room.copy_within(smaller..kept, smaller + 1);
                room[smaller] = new;
                *self = Self::Few(kept as u8 + 1, after);
                return;
            }
        }
        let mut list: Vec<D> = self.iter().filter(|old| !superseded(old.epoch())).copied().collect();
        let index = list.partition_point(|old| old.epoch().thread() < new.epoch().thread());
        list.insert(index, new);
        let mut few = D::Few::default();
        *self = match few.as_mut().get_mut(..list.len()) {
            Some(room) => {
                room.copy_from_slice(&list);
                Self::Few(list.len() as u8, few)
            }
            None => Self::Many(list),
        };
    }

    #[inline]
    fn list_mut(&mut self) -> &mut [D] {
        match self {
            Self::Few(count, few) => &mut few.as_mut()[..usize::from(*count)],
            Self::Many(list) => list,
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &D> {
        match self {
            Self::Few(count, few) => few.as_ref()[..usize::from(*count)].iter(),
            Self::Many(list) => list.iter(),
        }
    }
}

/// A clock that was given away, for others to take over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Published {
    clock: VectorClock,
    /// If the clock is that of one thread at one time: which. Who knows this epoch knows the whole clock, because a
    /// thread's own time is never given away without all else that it knows.
    by: Epoch,
}

impl Published {
    /// Replaces what was published.
    pub(super) fn assign(&mut self, clock: &VectorClock, by: Epoch) {
        self.clock.assign(clock);
        self.clock.set(by.thread(), by.time());
        self.by = by;
    }

    /// Adds to what was published.
    pub(super) fn join(&mut self, clock: &VectorClock, by: Epoch) {
        let all_known = if self.by.is_never() {
            self.clock.is_empty()
        } else {
            self.by.thread() == by.thread() || clock.includes(self.by)
        };
        if all_known {
            self.assign(clock, by);
        } else {
            self.clock.join(clock);
            self.clock.set(by.thread(), by.time());
            self.by = Epoch::default();
        }
    }

    /// True if nothing was published.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.clock.is_empty()
    }

    pub(super) fn join_published(&mut self, other: &Published) {
        self.clock.join(&other.clock);
        self.by = Epoch::default();
    }

    pub(super) fn assign_published(&mut self, other: &Published) {
        self.clock.assign(&other.clock);
        self.by = other.by;
    }

    pub(super) fn clear(&mut self) {
        self.clock.clear();
        self.by = Epoch::default();
    }
}

/// What is kept for a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// When the thread last gave its clock away. What it did later nobody else knows.
    published: u64,
    /// What the thread knows of others. (Its own entry means nothing.)
    clock: VectorClock,
    /// Rarely used: a thread that never has a fence, and no relaxed load of what was released, has none.
    fences: Option<Box<Fences>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Fences {
    /// What the thread knew at its last release fence.
    released: Published,
    /// What loads have seen that did not acquire: it waits for an acquire fence.
    pending: VectorClock,
}

impl Thread {
    /// True if an operation was done by this thread after it last gave its clock away: in its current epoch, in the
    /// words of the paper.
    #[inline]
    pub(super) fn is_current(&self, now: Epoch, epoch: Epoch) -> bool {
        now.is_same_thread_within(epoch, self.published)
    }

    /// True if an operation comes before what the thread, which is `me`, does now.
    #[inline]
    pub fn knows(&self, me: ThreadId, epoch: Epoch) -> bool {
        // Without a branch: whose the last access was is hard to predict.
        (epoch.thread() == me) | self.clock.includes(epoch)
    }

    /// The same for the access that happens and an earlier one.
    #[inline(always)]
    pub(super) fn knows_compact(&self, now: Compact, earlier: Compact) -> bool {
        earlier.is_of_same_thread(now) || earlier.time() <= self.clock.get(earlier.thread())
    }

    /// What is done from now on is unknown to those who take over the clock that is given away now.
    pub(super) fn give(&mut self, now: Epoch) -> &VectorClock {
        self.published = now.time();
        &self.clock
    }

    #[inline]
    pub(super) fn take(&mut self, me: ThreadId, from: &Published) {
        if from.by.is_never() || !self.knows(me, from.by) {
            self.clock.join(&from.clock);
        }
    }

    /// True if there is nothing to take over from a clock, and it is known at once.
    #[inline]
    pub(super) fn has_taken(&self, me: ThreadId, from: &Published) -> bool {
        from.is_empty() || (!from.by.is_never() && self.knows(me, from.by))
    }

    /// Remembers a published clock for an acquire fence.
    #[inline]
    pub(super) fn take_later(&mut self, me: ThreadId, from: &Published) {
        if !from.clock.is_empty() && (from.by.is_never() || !self.knows(me, from.by)) {
            self.fences.get_or_insert_default().pending.join(&from.clock);
        }
    }

    pub(super) fn acquire_fence(&mut self) {
        if let Some(fences) = &mut self.fences {
            self.clock.join(&fences.pending);
            fences.pending.clear();
        }
    }

    pub(super) fn release_fence(&mut self, now: Epoch) {
        self.published = now.time();
        self.fences.get_or_insert_default().released.assign(&self.clock, now);
    }

    /// What the last release fence gave away, if there was one.
    pub(super) fn released(&self) -> Option<&Published> {
        self.fences.as_ref().map(|fences| &fences.released).filter(|released| !released.by.is_never())
    }

    /// A task was forked by the thread, at a time, and somebody runs it. What the thread knows goes to whoever that is by [`Thread::take_task`].
    /// Gives a copy of that, unless `kept` is one.
    #[inline]
    pub fn fork_task(&mut self, now: Epoch, kept: Option<&VectorClock>) -> Option<VectorClock> {
        self.published = now.time();
        (kept != Some(&self.clock)).then(|| self.clock.clone())
    }

    /// The thread, which is `me`, goes on with what another one has left to it at a time, knowing so much.
    pub fn take_task(&mut self, me: ThreadId, known: &VectorClock, by: Epoch) {
        // Who knows this epoch knows all that the thread knew then.
        if !self.knows(me, by) {
            self.clock.join(known);
            self.clock.set(by.thread(), by.time());
        }
    }

    /// The first thing that a forked thread knows.
    pub(super) fn start(&mut self, parent: &VectorClock, fork: Epoch) {
        self.clock.join(parent);
        self.clock.set(fork.thread(), fork.time());
    }

    /// Takes over all that a finished thread did and knew.
    pub(super) fn take_all(&mut self, child: ThreadId, state: &Thread) {
        self.clock.join(&state.clock);
        self.clock.set(child, VectorClock::ALL);
    }
}

/// What is kept for a piece of memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cell<R: Remembered = Exact> {
    /// The last plain write.
    pub(super) write: R,
    /// The last plain read since, unless it is the writer's own in the same epoch.
    pub(super) read: R,
    /// Further plain reads, by other threads, if reads were not ordered.
    pub(super) reads: Option<Box<PerThread<R>>>,
    /// Atomic operations since the last plain write.
    pub(super) atomics: Option<Box<Atomics<R>>>,
}

// One line of the cache; for the runtime, half of one.
const _: () = assert!(size_of::<Cell>() == 64 && size_of::<Cell<Compact>>() == 32);

impl Cell<Compact> {
    /// The last write and the last read since, as [`Compact::bits`] has them, if they are all that the cell knows: no
    /// further reads, no atomic operations. Then the driver need not keep more than these two words.
    #[inline]
    pub fn plain(&self) -> Option<[u64; 2]> {
        let plain = self.reads.is_none() & self.atomics.is_none();
        plain.then_some([self.write.bits(), self.read.bits()])
    }

    /// The cell of two words that [`Cell::plain`] gave. Two zeros are a cell that was never touched.
    #[inline]
    pub fn from_plain([write, read]: [u64; 2]) -> Self {
        let (write, read) = (Compact::from_bits(write), Compact::from_bits(read));
        Self { write, read, reads: None, atomics: None }
    }
}

impl Cell<Compact> {
    /// The last write, the last read and one or two further ones, as [`Compact::bits`] has them, if they are all that the cell
    /// knows.
    #[inline]
    pub fn shared(&self) -> Option<[u64; 4]> {
        let Some(PerThread::Few(count @ 1..=2, reads)) = self.reads.as_deref() else { return None };
        if self.atomics.is_some() {
            return None;
        }
        let second = if *count == 2 { reads[1].bits() } else { 0 };
        Some([self.write.bits(), self.read.bits(), reads[0].bits(), second])
    }

    /// The same, or the last write, the last read and an atomic load of one thread (`CompactAtomic::in_cell`), if they are all that the
    /// cell knows: a variable that one thread has made and looks at.
    #[inline]
    pub fn loaded(&self) -> Option<[u64; 4]> {
        let Some(atomics) = self.atomics.as_deref() else { return self.shared() };
        let (PerThread::Few(0, _), PerThread::Few(1, loads)) = (&atomics.writes, &atomics.reads) else {
            return None;
        };
        let nothing_else = self.reads.is_none() && atomics.published.is_empty();
        nothing_else.then(|| [self.write.bits(), self.read.bits(), loads[0].in_cell(), 0])
    }

    /// The cell as four numbers: what [`Cell::plain`] gives and zeros, or what [`Cell::shared`] gives.
    #[inline]
    pub fn four(&self) -> Option<[u64; 4]> {
        self.plain().map(|[write, read]| [write, read, 0, 0]).or_else(|| self.shared())
    }

    /// The cell of four words that [`Cell::four`], or [`Cell::loaded`], gave.
    pub fn from_four([write, read, third, fourth]: [u64; 4]) -> Self {
        let mut cell = Self::from_plain([write, read]);
        if CompactAtomic::is_load_of_cell(third) {
            let mut atomics = Box::<Atomics<Compact>>::default();
            atomics.reads.insert(CompactAtomic::load_of_cell(third), |_| false);
            cell.atomics = Some(atomics);
        } else if third != 0 {
            let mut reads = <Compact as Dated>::Few::default();
            (reads[0], reads[1]) = (Compact::from_bits(third), Compact::from_bits(fourth));
            let count = if fourth == 0 { 1 } else { 2 };
            cell.reads = Some(Box::new(PerThread::Few(count, reads)));
        }
        cell
    }
}

/// What is kept for a piece of memory that is used by atomic operations.
#[derive(Clone, PartialEq, Debug, Default)]
#[repr(C, align(64))] // with compact operations, one that writes needs the first two lines of the cache
pub(super) struct Atomics<R: Remembered> {
    pub(super) writes: PerThread<R::Atomic>,
    /// What one who reads the current value takes over.
    pub(super) published: Published,
    pub(super) reads: PerThread<R::Atomic>,
}

/// What is kept for a lock or another object that orders threads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sync {
    /// What the last exclusive holder knew, or what all signals told.
    pub(super) published: Published,
    /// What the shared holders since then knew.
    pub(super) shared: Option<Box<Published>>,
}

#[cfg(test)]
mod tests {
    use super::super::FastTrack;
    use super::*;
    use crate::analysis::Analysis;
    use crate::finding::Findings;
    use proptest::prelude::*;

    fn read(thread: u32, position: u64) -> Exact {
        let moment = Moment { position, thread: ThreadId(thread), ..Moment::default() };
        Exact::new(&RawStep { moment, op: Op::End })
    }

    #[test]
    fn what_is_superseded_makes_room() {
        let mut reads = PerThread::default();
        // Each thread knows all that came before, as if it had been joined.
        for thread in 0..1000 {
            reads.insert(read(thread, u64::from(thread) + 1), |_| true);
        }
        assert_eq!(reads.list_mut(), [read(999, 1000)]);
        reads.insert(read(5, 1001), |_| false);
        reads.insert(read(999, 1002), |_| false);
        assert_eq!(reads.list_mut(), [read(5, 1001), read(999, 1002)]);
    }

    proptest! {
        /// What goes from thread to thread by tasks is what an object gives that one of them signals and the other receives from.
        #[test]
        fn tasks_order_as_objects_do(deeds in prop::collection::vec((0u32..4, 0usize..6, any::<bool>()), 1..60)) {
            let races = FastTrack::compact();
            let at = |thread: u32, position: u64| {
                let moment = Moment { position, thread: ThreadId(thread), ..Moment::default() };
                RawStep { moment, op: Op::End }
            };
            let mut positions = [1u64; 4];
            let mut by_objects: [Thread; 4] = Default::default();
            let mut by_tasks: [Thread; 4] = Default::default();
            let mut kept: [Option<VectorClock>; 4] = Default::default();
            let mut forked: Vec<(Sync, VectorClock, Epoch)> = Vec::new();
            for (thread, which, forks) in deeds {
                let me = thread as usize;
                let (at, now) = (at(thread, positions[me]), Epoch::new(ThreadId(thread), positions[me]));
                let mut findings = Findings::new();
                if forks {
                    let mut object = Sync::default();
                    races.signal(&at, &mut by_objects[me], &mut object, &mut findings);
                    if let Some(clock) = by_tasks[me].fork_task(now, kept[me].as_ref()) {
                        kept[me] = Some(clock);
                    }
                    forked.push((object, kept[me].clone().expect("it is kept"), now));
                    positions[me] += 1;
                } else if let Some((object, clock, by)) = forked.get_mut(which) {
                    races.receive(&at, &mut by_objects[me], object, &mut findings);
                    by_tasks[me].take_task(ThreadId(thread), clock, *by);
                }
                for (one, other) in by_objects.iter().zip(&by_tasks) {
                    prop_assert_eq!(one.published, other.published);
                }
                for (of, one) in by_objects.iter().enumerate() {
                    for (thread, time) in (0..4).flat_map(|thread| (1..70).map(move |time| (thread, time))) {
                        let epoch = Epoch::new(ThreadId(thread), time);
                        let me = ThreadId(of as u32);
                        prop_assert_eq!(one.knows(me, epoch), by_tasks[of].knows(me, epoch));
                    }
                }
            }
        }
    }
}
