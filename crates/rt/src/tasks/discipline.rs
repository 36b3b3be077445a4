//! Whether the locks of a run can block each other.
//!
//! If tasks take their locks in an order without cycles, hold none while they spawn or wait, and wait for nobody else while
//! they hold one, then whatever the structure and the locks allow can really come about: no schedule gets stuck. Only then
//! that is said of a finding. Otherwise it must be examined.

use keirin_core::event::LockId;
use keirin_core::lockset::{LocksetId, Locksets};
use rustc_hash::{FxHashMap, FxHashSet};

/// What was seen of the use of locks.
#[derive(Default)]
pub(super) struct Discipline {
    seen: FxHashSet<(LocksetId, LockId)>,
    /// For each lock those that were taken while it was held.
    after: FxHashMap<LockId, FxHashSet<LockId>>,
    /// Spawned or waited with a lock held, or waited for something else.
    hazards: u64,
}

/// With more different ways to take a lock than this nothing is said.
const MOST: usize = 1 << 20;

impl Discipline {
    /// A lock is taken by who holds others.
    pub(super) fn acquired(&mut self, held: LocksetId, lock: LockId, locksets: &Locksets) {
        if held.is_empty() || self.seen.len() >= MOST || !self.seen.insert((held, lock)) {
            return;
        }
        for (outer, _) in locksets.locks(held) {
            self.after.entry(outer).or_default().insert(lock);
        }
    }

    /// Something is done with a lock held that may have to wait for others who want the lock.
    pub(super) fn hazard(&mut self) {
        self.hazards += 1;
    }

    /// How much there was that could block: 0 if nothing.
    pub(super) fn blocking(&self) -> u64 {
        let full = u64::from(self.seen.len() >= MOST);
        self.hazards + full + u64::from(self.has_cycle())
    }

    fn has_cycle(&self) -> bool {
        // Locks are taken off that nobody takes while holding another one, until only cycles are left.
        let mut inner: FxHashMap<LockId, usize> = FxHashMap::default();
        for lock in self.after.values().flatten() {
            *inner.entry(*lock).or_default() += 1;
        }
        let mut free: Vec<LockId> =
            self.after.keys().copied().filter(|lock| !inner.contains_key(lock)).collect();
        while let Some(lock) = free.pop() {
            for next in self.after.get(&lock).into_iter().flatten() {
                if let Some(left) = inner.get_mut(next) {
                    *left -= 1;
                    if *left == 0 {
                        inner.remove(next);
                        free.push(*next);
                    }
                }
            }
        }
        !inner.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::event::LockMode::Exclusive;

    #[test]
    fn only_cycles_and_hazards_block() {
        let (mut locksets, mut discipline) = (Locksets::new(), Discipline::default());
        let mut take = |discipline: &mut Discipline, held: &[u32], lock: u32| {
            let set =
                held.iter().fold(LocksetId::EMPTY, |set, lock| locksets.add(set, LockId(*lock), Exclusive));
            discipline.acquired(set, LockId(lock), &locksets);
        };
        take(&mut discipline, &[], 1);
        take(&mut discipline, &[1], 2);
        take(&mut discipline, &[1, 2], 3);
        take(&mut discipline, &[2], 3);
        assert_eq!(discipline.blocking(), 0);
        take(&mut discipline, &[3], 1);
        assert_ne!(discipline.blocking(), 0);
        let mut discipline = Discipline::default();
        discipline.hazard();
        assert_ne!(discipline.blocking(), 0);
    }
}
