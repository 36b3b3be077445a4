//! PTRacer: races between tasks that use locks.
//!
//! **Paper.** Yoga, Nagarakatte, Gupta: Parallel data race detection for task parallel programs with locks (FSE 2016),
//! section 3.2 and figure 5.
//!
//! For each location and each set of locks that was held at some access of it two reads and two writes are kept. An access
//! is compared with those under locks that do not exclude its own, and then kept under its own.
//!
//! **Deviations.**
//! - Figure 5 as printed never fills the second entry: the case "the second is empty and the first is parallel" is
//!   missing. [`super::published_ptracer`] is the figure as printed, for comparison.
//! - The two are kept by English and Hebrew order ([`super::kept`]).
//! - Reader and writer modes: two sets exclude each other if some lock is in both and in one of them exclusively.
//! - All atomic operations exclude each other, as if they held a lock of their own.
//! - An access is left out if the step has done the same under a part of its locks.
//! - Sets that a newer access makes superfluous are dropped when a further one is added: a write under a subset of the
//!   locks, ordered after all that is kept.
//!
//! **Misses and false alarms.** None against the definition of an apparent race; whether the locks let some schedule show
//! it is decided by [`crate::witness`]. The first race of a location is told here, or at each access one with a write and
//! one with a read for each set of locks ([`PtRacer::goes_on`], online); the witness search looks at all.
//!
//! **Cost.** 64 bytes for a location with one set of locks; 56 more for each further one. At most four questions for each
//! set of locks of the location.
//!
//! **State.** Only cells, each handed in exclusively.

use super::kept::{Entry, Kept};
use super::plain::{KeepsPlain, Plain, UnderLocks};
use super::{OpenRegions, Order, Present, TaskAnalysis};
use crate::analysis::Part;
use crate::event::AccessKind;
use crate::finding::Findings;
use crate::lockset::LocksetId;
use crate::sptree::{Relations, StepId};

/// The PTRacer race detector.
#[derive(Debug, Default)]
pub struct PtRacer {
    /// A location with a race is looked at further, for races of other places.
    pub goes_on: bool,
}

/// The accesses under one set of locks.
#[derive(Clone, Debug, Default)]
struct Class {
    locks: LocksetId,
    /// Of the location's first class: when the location was touched last.
    era: u32,
    reads: Kept,
    writes: Kept,
}

/// What is remembered about a location.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    first: Class,
    others: Option<Box<Others>>,
}

/// The accesses under further sets of locks.
#[derive(Clone, Debug, Default)]
struct Others {
    /// In the order of the numbers of their sets. What is read under each of many locks has as many of them.
    classes: Vec<Class>,
    /// Some class has a write. Otherwise who reads need not look at any but its own.
    written: bool,
}

impl Others {
    /// The class of a set of locks, or where it would be.
    #[inline]
    fn find(&self, locks: LocksetId) -> Result<usize, usize> {
        self.classes.binary_search_by_key(&locks, |class| class.locks)
    }
}

/// In so many classes something is looked for that only saves work.
const FEW: usize = 4;

/// In place of a set of locks: a race was told, and nothing more is looked at.
const TOLD: LocksetId = LocksetId::ABSENT;

const _: () = assert!(size_of::<Cell>() == 64);

impl Class {
    /// A kept write and a kept read that race with the current access.
    #[inline]
    fn races<S: Relations>(
        &self,
        order: &mut Order<'_, S>,
        kind: AccessKind,
    ) -> impl Iterator<Item = (Entry, AccessKind)> + use<S> {
        let write = self.writes.parallel(order);
        let read = if kind == AccessKind::Write { self.reads.parallel(order) } else { None };
        let pair = |kind| move |entry| (entry, kind);
        write.map(pair(AccessKind::Write)).into_iter().chain(read.map(pair(AccessKind::Read)))
    }

    #[inline]
    fn kept(&mut self, kind: AccessKind) -> &mut Kept {
        match kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        }
    }

    fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }
}

impl TaskAnalysis for PtRacer {
    const ONLY_RACES: bool = true;

    type Cell = Cell;

    #[inline]
    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Cell,
        part: Part,
        findings: &mut Findings,
    ) -> bool {
        if cell.first.locks == TOLD {
            return true;
        }
        if cell.first.era != now.era {
            // Nothing that is remembered can be parallel to anything that follows.
            cell.first = Class { era: now.era, ..Class::default() };
            if let Some(others) = &mut cell.others {
                others.classes.clear();
                others.written = false;
            }
        }
        let locks = now.race_locks();
        if is_superfluous(now, cell, part.kind, locks) {
            return true;
        }
        if self.find_races(now, cell, part, locks, findings) {
            *cell = Cell::default();
            cell.first.locks = TOLD;
            return true;
        }
        let entry = now.entry();
        if cell.first.locks == locks {
            cell.first.kept(part.kind).add(&mut now.order, entry);
        } else if cell.first.is_empty() {
            cell.first.locks = locks;
            cell.first.kept(part.kind).add(&mut now.order, entry);
        } else {
            keep_in_others(now, cell, part.kind, locks, entry);
        }
        true
    }

    fn compare<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &Cell,
        part: Part,
        findings: &mut Findings,
    ) {
        if cell.first.locks != TOLD && cell.first.era == now.era {
            let locks = now.race_locks();
            self.find_races(now, cell, part, locks, findings);
        }
    }

    fn visit_steps(cell: &mut Cell, visit: &mut impl FnMut(&mut StepId)) {
        let others = cell.others.iter_mut().flat_map(|others| others.classes.iter_mut());
        for class in std::iter::once(&mut cell.first).chain(others) {
            class.reads.visit_steps(visit);
            class.writes.visit_steps(visit);
        }
    }

    fn forget_past(cell: &mut Cell, is_past: &mut impl FnMut(StepId) -> bool, _: &dyn OpenRegions) {
        if cell.first.locks == TOLD {
            return;
        }
        let mut is_left = |class: &mut Class| {
            class.reads.forget_past(is_past);
            class.writes.forget_past(is_past);
            !class.is_empty()
        };
        let first_is_left = is_left(&mut cell.first);
        if let Some(others) = &mut cell.others {
            others.classes.retain_mut(is_left);
            others.written = others.classes.iter().any(|class| !class.writes.is_empty());
            if !first_is_left && let Some(class) = others.classes.pop() {
                cell.first = Class { era: cell.first.era, ..class };
            }
            if others.classes.is_empty() {
                cell.others = None;
            }
        }
    }

    fn bytes_beside(cell: &Cell) -> usize {
        let others = cell.others.as_deref().map_or(&[][..], |others| &others.classes);
        let beside = |class: &Class| class.reads.bytes_beside() + class.writes.bytes_beside();
        let vector = cell
            .others
            .as_ref()
            .map_or(0, |others| size_of::<Others>() + others.classes.capacity() * size_of::<Class>());
        vector + beside(&cell.first) + others.iter().map(beside).sum::<usize>()
    }
}

impl PtRacer {
    /// Tells races of the current access with what is kept. True if the location is done with.
    #[inline]
    fn find_races<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &Cell,
        part: Part,
        locks: LocksetId,
        findings: &mut Findings,
    ) -> bool {
        let others = cell.others.as_deref().filter(|others| part.kind == AccessKind::Write || others.written);
        let others = others.map_or(&[][..], |others| &others.classes);
        for class in std::iter::once(&cell.first).chain(others) {
            if now.locksets.excludes(class.locks, locks) {
                continue;
            }
            for (past, kind) in class.races(&mut now.order, part.kind) {
                now.race(part, past, kind, findings);
                if !self.goes_on {
                    return true;
                }
            }
        }
        false
    }
}

impl KeepsPlain for PtRacer {
    fn keeps_plain(&self) -> bool {
        true
    }

    fn minds_serial_steps(&self) -> bool {
        false
    }

    fn of_plain(plain: Plain, era: u32) -> Cell {
        let writes = Kept::of(plain.write.map(|write| (write, write)));
        Cell {
            first: Class { locks: LocksetId::EMPTY, era, reads: Kept::of(plain.reads), writes },
            others: None,
        }
    }

    fn plain(cell: &Cell) -> Option<Plain> {
        let others = cell.others.as_ref().is_none_or(|others| others.classes.is_empty());
        if !others || !cell.first.locks.is_empty() {
            return None;
        }
        Some(Plain { write: cell.first.writes.only_one()?, reads: cell.first.reads.only_two()? })
    }

    const KEEPS_UNDER_LOCKS: bool = true;

    fn of_under_locks(accesses: UnderLocks, era: u32) -> Cell {
        let mut first = Class { locks: accesses.locks, era, ..Class::default() };
        *first.kept(accesses.kind) = Kept::of(Some(accesses.two));
        Cell { first, others: None }
    }

    fn under_locks(cell: &Cell) -> Option<UnderLocks> {
        let Cell { first, others } = cell;
        if first.locks.is_empty() || first.locks == TOLD || others.is_some() {
            return None;
        }
        let (kind, kept) = match (first.reads.is_empty(), first.writes.is_empty()) {
            (true, false) => (AccessKind::Write, &first.writes),
            (false, true) => (AccessKind::Read, &first.reads),
            _ => return None,
        };
        Some(UnderLocks { locks: first.locks, kind, two: kept.only_two()?? })
    }
}

/// True if the step has done the same under a part of the locks: whoever races with the access races with what is kept there.
#[inline]
fn is_superfluous<S: Relations>(
    now: &mut Present<'_, S>,
    cell: &Cell,
    kind: AccessKind,
    locks: LocksetId,
) -> bool {
    let step = now.order.step;
    let mut covers = |class: &Class| {
        let kept = if kind == AccessKind::Write { &class.writes } else { &class.reads };
        kept.has(step) && now.locksets.is_subset(class.locks, locks)
    };
    if covers(&cell.first) {
        return true;
    }
    let Some(others) = &cell.others else { return false };
    let own = others.find(locks).ok().map(|index| &others.classes[index]);
    own.is_some_and(&mut covers) || (others.classes.len() <= FEW && others.classes.iter().any(covers))
}

/// Keeps an access under locks that are not those of the first class.
fn keep_in_others<S: Relations>(
    now: &mut Present<'_, S>,
    cell: &mut Cell,
    kind: AccessKind,
    locks: LocksetId,
    entry: Entry,
) {
    let others = cell.others.get_or_insert_default();
    others.written |= kind == AccessKind::Write;
    if let Ok(index) = others.find(locks) {
        others.classes[index].kept(kind).add(&mut now.order, entry);
        return;
    }
    if kind == AccessKind::Write {
        // What comes before this write, under the same locks or more, can only race with what this write races with.
        let (order, locksets) = (&mut now.order, &mut now.locksets);
        others.classes.retain(|class| {
            !(locksets.is_subset(locks, class.locks)
                && class.writes.parallel(order).is_none()
                && class.reads.parallel(order).is_none())
        });
    }
    let mut class = Class { locks, ..Class::default() };
    class.kept(kind).add(&mut now.order, entry);
    if let Err(index) = others.find(locks) {
        others.classes.insert(index, class);
    }
}
