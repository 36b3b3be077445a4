//! Sets of locks: those of the run, and what each thread has of them.
//!
//! A set has one number in the whole run, so new ones are made under a lock. But most accesses and most locks that are taken ask
//! about sets that were there before. For these each thread has a copy, which catches up when somebody has made a set, and
//! remembers which set came of taking or releasing a lock.
//!
//! **Who may touch what.** [`Sets`]: who holds its lock. [`OwnSets`]: its thread.

use super::discipline::Discipline;
use crate::spin::{Guard, Spin};
use keirin_core::event::{LockId, LockMode};
use keirin_core::family::{Families, History};
use keirin_core::lockset::{LocksetId, Locksets};
use rustc_hash::FxHashMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// More changes of its locks a thread does not remember.
const MOST_CHANGES: usize = 1 << 12;

/// Sets of locks, and how they were come by.
#[derive(Default)]
pub(super) struct Sets {
    pub(super) locksets: Locksets,
    pub(super) families: Families,
    pub(super) discipline: Discipline,
}

/// The sets of the run.
#[derive(Default)]
pub(super) struct SharedSets {
    sets: Spin<Sets>,
    /// How much there is in them: what a thread may meet in memory is counted here before.
    nodes: AtomicUsize,
}

impl SharedSets {
    pub(super) fn lock(&self) -> LockedSets<'_> {
        LockedSets { sets: self.sets.lock(), nodes: &self.nodes }
    }
}

/// The sets of the run while the calling thread has them.
pub(super) struct LockedSets<'a> {
    sets: Guard<'a, Sets>,
    nodes: &'a AtomicUsize,
}

impl Deref for LockedSets<'_> {
    type Target = Sets;

    fn deref(&self) -> &Sets {
        &self.sets
    }
}

impl DerefMut for LockedSets<'_> {
    fn deref_mut(&mut self) -> &mut Sets {
        &mut self.sets
    }
}

impl Drop for LockedSets<'_> {
    fn drop(&mut self) {
        // All ask for it, again and again; it seldom changes.
        let nodes = self.sets.locksets.nodes();
        if self.nodes.load(Ordering::Relaxed) != nodes {
            self.nodes.store(nodes, Ordering::Release);
        }
    }
}

/// A lock is taken or released by who holds some.
type Change = (LocksetId, LockId, LockMode, bool);

/// What a thread has of the sets.
#[derive(Default)]
pub(super) struct OwnSets {
    locksets: Locksets,
    /// Nobody asks for families but with the sets of the run.
    families: Families,
    changes: FxHashMap<Change, LocksetId>,
    supposed: FxHashMap<Change, LocksetId>,
}

impl OwnSets {
    /// The thread's copy, which knows all sets that the thread may have met.
    #[inline]
    pub(super) fn up_to_date(&mut self, shared: &SharedSets) -> (&mut Locksets, &mut Families) {
        if self.locksets.nodes() < shared.nodes.load(Ordering::Acquire) {
            self.locksets.catch_up(&shared.sets.lock().locksets);
        }
        (&mut self.locksets, &mut self.families)
    }

    /// A lock is taken or released.
    pub(super) fn change(
        &mut self,
        shared: &SharedSets,
        history: &mut History,
        (lock, mode): (LockId, LockMode),
        acquire: bool,
    ) {
        let before = history.locks();
        let change = (before, lock, mode, acquire);
        let known = self.changes.get(&change).copied();
        let locks = known.unwrap_or_else(|| {
            let mut sets = shared.lock();
            let Sets { locksets, discipline, .. } = &mut *sets;
            if acquire {
                discipline.acquired(before, lock, locksets);
                locksets.add(before, lock, mode)
            } else {
                locksets.remove(before, lock, mode)
            }
        });
        if known.is_none() {
            if self.changes.len() >= MOST_CHANGES {
                self.changes.clear();
            }
            self.changes.insert(change, locks);
        }
        history.change(self.up_to_date(shared).0, locks);
    }

    /// A lock that is held is held in another way from now on, without having been released.
    pub(super) fn exchange(
        &mut self,
        shared: &SharedSets,
        history: &mut History,
        lock: LockId,
        (before, now): (LockMode, LockMode),
    ) {
        let mut sets = shared.lock();
        let others = sets.locksets.remove(history.locks(), lock, before);
        let locks = sets.locksets.add(others, lock, now);
        drop(sets);
        history.change(self.up_to_date(shared).0, locks);
    }

    /// What would be held if a lock were taken or released: nothing is said about the order in which locks are taken.
    pub(super) fn supposed(
        &mut self,
        shared: &SharedSets,
        before: LocksetId,
        (lock, mode): (LockId, LockMode),
        acquire: bool,
    ) -> LocksetId {
        if self.supposed.len() >= MOST_CHANGES {
            self.supposed.clear();
        }
        *self.supposed.entry((before, lock, mode, acquire)).or_insert_with(|| {
            let locksets = &mut shared.lock().locksets;
            let held = locksets.locks(before).iter().any(|(held, _)| *held == lock);
            match (acquire, held) {
                (true, false) => locksets.add(before, lock, mode),
                (false, true) => locksets.remove(before, lock, mode),
                // Taken once more, or not its own.
                _ => before,
            }
        })
    }
}
