//! The instances of regions that are open or kept, and which of them come before which.
//!
//! Most regions meet no other. Such a region is begun and ended by its thread alone, in a slot that the thread owns;
//! others see there, without a lock, whether it still counts. Two that meet are linked: that is written into lists which
//! one thread at a time may enter, and from then on their slots are given back there as well.

use crate::event::{RegionId, SiteId, StackId, ThreadId};
use crate::finding::{Moment, RawStep};
use crate::segments::Segments;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// So many regions that are done are kept for one that is open.
pub const MOST_KEPT: u32 = 256;

/// An instance of a region: its slot, and a number that tells it from others in the same slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Name {
    slot: u32,
    serial: u32,
}

impl Name {
    pub(super) const NONE: Name = Name { slot: u32::MAX, serial: 0 };
}

/// The region is open.
const OPEN: u64 = 1;
/// The region is in the lists.
const LINKED: u64 = 2;
/// The serial number stands above these.
const SERIAL_SHIFT: u32 = 2;

/// Where a region is while it counts. What it is changes only together with its serial number.
#[derive(Debug, Default)]
struct Slot {
    /// The serial number, and whether the region is open and linked. The number goes on as soon as the region counts no longer.
    state: AtomicU64,
    thread: AtomicU32,
    region: AtomicU32,
    position: AtomicU64,
    site: AtomicU32,
    stack: AtomicU32,
    /// How many regions with a name were in here.
    entered: AtomicU64,
}

/// All slots, for whoever wants to look.
#[derive(Debug, Default)]
pub(super) struct Slots(Segments<Slot>);

impl Slots {
    /// A region begins in a slot that the calling thread owns and that is not in use.
    pub(super) fn open(&self, slot: u32, region: RegionId, begin: Moment) -> Name {
        let place = self.0.get(slot);
        place.thread.store(begin.thread.0, Ordering::Relaxed);
        place.region.store(region.0, Ordering::Relaxed);
        place.position.store(begin.position, Ordering::Relaxed);
        place.site.store(begin.site.0, Ordering::Relaxed);
        place.stack.store(begin.stack.0, Ordering::Relaxed);
        if region.is_some() {
            // Nobody else writes to it.
            place.entered.store(place.entered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        let state = place.state.load(Ordering::Relaxed);
        place.state.store(state | OPEN, Ordering::Release);
        Name { slot, serial: (state >> SERIAL_SHIFT) as u32 }
    }

    /// The calling thread's region is done. Gives the slot back, unless the region is linked: then [`Pairs::leave`] has to
    /// be told.
    pub(super) fn close(&self, name: Name) -> Option<u32> {
        let state = &self.0.get(name.slot).state;
        let now = state.load(Ordering::Relaxed);
        let closed = (now & LINKED == 0)
            && state.compare_exchange(now, after(now), Ordering::AcqRel, Ordering::Relaxed).is_ok();
        closed.then_some(name.slot)
    }

    /// The state of a region, if it counts.
    #[inline]
    fn state(&self, name: Name) -> Option<u64> {
        if name == Name::NONE {
            return None;
        }
        let state = self.0.get(name.slot).state.load(Ordering::Acquire);
        ((state >> SERIAL_SHIFT) as u32 == name.serial).then_some(state)
    }

    /// True if a region is open or kept.
    #[inline]
    pub(super) fn counts(&self, name: Name) -> bool {
        self.state(name).is_some()
    }

    fn is_open(&self, name: Name) -> bool {
        self.state(name).is_some_and(|state| state & OPEN != 0)
    }

    /// Makes sure that a region does not end without the lists being told. False if it is not open any more.
    pub(super) fn link(&self, name: Name) -> bool {
        let place = self.0.get(name.slot);
        while let Some(state) = self.state(name).filter(|state| state & OPEN != 0) {
            let linked = state | LINKED;
            if place.state.compare_exchange(state, linked, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return true;
            }
        }
        false
    }

    /// Who runs, or ran, a region that counts.
    #[inline]
    pub(super) fn thread(&self, name: Name) -> ThreadId {
        ThreadId(self.0.get(name.slot).thread.load(Ordering::Relaxed))
    }

    /// Which region it is, and where it began.
    pub(super) fn region(&self, name: Name) -> (RegionId, Moment) {
        let place = self.0.get(name.slot);
        let begin = Moment {
            position: place.position.load(Ordering::Relaxed),
            thread: self.thread(name),
            site: SiteId(place.site.load(Ordering::Relaxed)),
            stack: StackId(place.stack.load(Ordering::Relaxed)),
        };
        (RegionId(place.region.load(Ordering::Relaxed)), begin)
    }
}

/// The state of a slot once its region counts no longer.
fn after(state: u64) -> u64 {
    ((state >> SERIAL_SHIFT) + 1) << SERIAL_SHIFT
}

/// Two accesses that put one region before another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dependence {
    pub(super) to: Name,
    pub(super) earlier: RawStep,
    pub(super) later: RawStep,
    told: bool,
}

/// What is known of a region that is linked.
#[derive(Clone, Debug, Default)]
struct Links {
    /// For how many open regions it is kept, once it is done.
    kept_by: u32,
    /// What it comes before.
    before: VecDeque<Dependence>,
    /// How many of these are done.
    keeps: u32,
    /// What it comes after, or came after.
    after: Vec<Name>,
}

/// The lists.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    links: Vec<Links>,
    free: Vec<u32>,
    pub(super) dependences: u64,
    pub(super) torn: u64,
    pub(super) dropped: u64,
}

impl Pairs {
    /// A slot for the calling thread to own.
    pub(super) fn slot(&mut self, slots: &Slots) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let slot = self.links.len() as u32;
            self.links.push(Links::default());
            slots.0.make(slot);
            slot
        })
    }

    /// A thread has no use for a slot any more.
    pub(super) fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// True if all slots were given back.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        let mut free = self.free.clone();
        free.sort_unstable();
        free.into_iter().eq(0..self.links.len() as u32)
    }

    /// How many regions with a name there were.
    pub(super) fn entered(&self, slots: &Slots) -> u64 {
        let entered = |slot| slots.0.get(slot).entered.load(Ordering::Relaxed);
        (0..self.links.len() as u32).map(entered).sum()
    }

    /// A linked region is done. It is kept for the open ones that it comes after.
    pub(super) fn leave(&mut self, slots: &Slots, name: Name) {
        let at = name.slot as usize;
        slots.0.get(name.slot).state.fetch_and(!OPEN, Ordering::AcqRel);
        let before = std::mem::take(&mut self.links[at].before);
        self.links[at].keeps = 0;
        for dependence in &before {
            self.release(slots, dependence.to);
        }
        let mut after = std::mem::take(&mut self.links[at].after);
        after.retain(|&keeper| slots.is_open(keeper));
        // Somebody who keeps too many may drop this very region, while there are others to keep it still.
        self.links[at].kept_by += 1;
        for &keeper in &after {
            self.keep(slots, keeper, name);
        }
        let links = &mut self.links[at];
        // The lists keep their memory for the next region.
        (links.before, links.after) = (before, after);
        links.before.clear();
        links.kept_by -= 1;
        if links.kept_by == 0 {
            self.forget(slots, name.slot);
        }
    }

    fn keep(&mut self, slots: &Slots, keeper: Name, kept: Name) {
        self.links[kept.slot as usize].kept_by += 1;
        let keeper = &mut self.links[keeper.slot as usize];
        keeper.keeps += 1;
        if keeper.keeps > MOST_KEPT {
            let is_done =
                |dependence: &Dependence| slots.counts(dependence.to) && !slots.is_open(dependence.to);
            if let Some(oldest) = keeper.before.iter().position(is_done) {
                let dropped = keeper.before.remove(oldest);
                keeper.keeps -= 1;
                self.dropped += 1;
                dropped.into_iter().for_each(|dropped| self.release(slots, dropped.to));
            }
        }
    }

    /// One that kept a region does so no longer.
    fn release(&mut self, slots: &Slots, kept: Name) {
        if !slots.counts(kept) || slots.is_open(kept) {
            return;
        }
        let links = &mut self.links[kept.slot as usize];
        if links.kept_by > 0 {
            links.kept_by -= 1;
            if links.kept_by == 0 {
                self.forget(slots, kept.slot);
            }
        }
    }

    fn forget(&mut self, slots: &Slots, slot: u32) {
        let state = &slots.0.get(slot).state;
        state.store(after(state.load(Ordering::Relaxed)), Ordering::Release);
        self.links[slot as usize].after.clear();
        self.free.push(slot);
    }

    /// An access of `me` comes after one of `other`; both are linked.
    pub(super) fn depend(&mut self, other: Name, me: Name, earlier: RawStep, later: RawStep) {
        let after = &mut self.links[me.slot as usize].after;
        if !after.contains(&other) {
            after.push(other);
            let before = &mut self.links[other.slot as usize].before;
            before.push_back(Dependence { to: me, earlier, later, told: false });
            self.dependences += 1;
        }
    }

    /// True if a region that is done is kept only for regions that a later one comes after as well, both of them instances of
    /// one region and of one thread: what the later one has done again need not be kept of the first.
    pub(super) fn is_repeated(&self, slots: &Slots, done: Name, later: Name) -> bool {
        let after = &self.links[later.slot as usize].after;
        let is_after = |keeper: &Name| !slots.is_open(*keeper) || after.contains(keeper);
        done != later
            && !slots.is_open(done)
            && slots.thread(done) == slots.thread(later)
            && slots.region(done).0 == slots.region(later).0
            && self.links[done.slot as usize].after.iter().all(is_after)
    }

    /// Why an open region comes before another, if it does, and whether that is asked for the first time.
    pub(super) fn dependence(&mut self, me: Name, other: Name) -> Option<(Dependence, bool)> {
        let before = &mut self.links[me.slot as usize].before;
        let found = before.iter_mut().find(|dependence| dependence.to == other)?;
        let first = !std::mem::replace(&mut found.told, true);
        Some((*found, first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Op;

    #[test]
    fn a_region_that_is_dropped_when_it_ends_is_given_back_once() {
        let (slots, mut pairs) = (Slots::default(), Pairs::default());
        let step = RawStep { moment: Moment::default(), op: Op::End };
        let enter = |pairs: &mut Pairs| {
            let slot = pairs.slot(&slots);
            slots.open(slot, RegionId(1), Moment::default())
        };
        let come_after = |pairs: &mut Pairs, other: Name, me: Name| {
            assert!(slots.link(other) && slots.link(me));
            pairs.depend(other, me, step, step);
        };
        let (open, also_open) = (enter(&mut pairs), enter(&mut pairs));
        let long = enter(&mut pairs);
        come_after(&mut pairs, open, long);
        come_after(&mut pairs, also_open, long);
        for _ in 0..MOST_KEPT {
            let short = enter(&mut pairs);
            come_after(&mut pairs, open, short);
            pairs.leave(&slots, short);
        }
        // For the first one it is the oldest of too many; the second one keeps it.
        pairs.leave(&slots, long);
        assert_eq!((pairs.dropped, slots.counts(long)), (1, true));
        pairs.leave(&slots, also_open);
        assert!(!slots.counts(long));
        pairs.leave(&slots, open);
        assert!(pairs.is_idle(), "{:?}", pairs.free);
    }
}
