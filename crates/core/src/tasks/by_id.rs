//! Tasks by their numbers, for several threads at once.
//!
//! Numbers are mostly given one after the other, and tasks forgotten soon. So a task is found at the last digits of its number,
//! unless another one is there: then it is put aside, where it is found by hashing.
//!
//! **Who may touch what.** A place that is empty may be taken by anybody; who forgets a task empties its place. What was put aside is entered by one at a time.

use super::Slot;
use crate::event::TaskId;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// How many places there are, in parts that are made when they are needed.
const PLACES: usize = PART * PARTS;
const PART: usize = 512;
const PARTS: usize = 64;
const SHARDS: usize = 64;

#[derive(Debug)]
pub(super) struct ById {
    /// In each place the number of a task and one, and the slot; 0 if it is empty.
    places: [OnceLock<Box<[AtomicU64]>>; PARTS],
    aside: [Mutex<FxHashMap<TaskId, Slot>>; SHARDS],
    /// How many were put aside.
    others: AtomicUsize,
}

impl Default for ById {
    fn default() -> Self {
        Self {
            places: [const { OnceLock::new() }; PARTS],
            aside: [const { Mutex::new(FxHashMap::with_hasher(rustc_hash::FxBuildHasher)) }; SHARDS],
            others: AtomicUsize::new(0),
        }
    }
}

impl ById {
    #[inline]
    fn place(&self, id: TaskId) -> &AtomicU64 {
        let number = id.0 as usize % PLACES;
        let part = self.places[number / PART].get_or_init(|| (0..PART).map(|_| AtomicU64::new(0)).collect());
        &part[number % PART]
    }

    #[inline]
    fn entry(id: TaskId, slot: Slot) -> u64 {
        (u64::from(id.0) + 1) << 32 | u64::from(slot.0)
    }

    /// The slot in an entry, if it is about this task.
    #[inline]
    fn slot_in(entry: u64, id: TaskId) -> Option<Slot> {
        (entry >> 32 == u64::from(id.0) + 1).then_some(Slot(entry as u32))
    }

    fn aside(&self, id: TaskId) -> MutexGuard<'_, FxHashMap<TaskId, Slot>> {
        // Nothing fails in between.
        self.aside[id.0 as usize / 64 % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn get(&self, id: TaskId) -> Option<Slot> {
        let found = Self::slot_in(self.place(id).load(Ordering::Acquire), id);
        if found.is_some() || self.others.load(Ordering::Relaxed) == 0 {
            return found;
        }
        self.aside(id).get(&id).copied()
    }

    /// Puts a task where it is found. To be called once for each until it is removed.
    #[inline]
    pub(super) fn insert(&self, id: TaskId, slot: Slot) {
        let (place, entry) = (self.place(id), Self::entry(id, slot));
        let taken = place.load(Ordering::Relaxed) != 0
            || place.compare_exchange(0, entry, Ordering::Release, Ordering::Relaxed).is_err();
        if taken {
            self.others.fetch_add(1, Ordering::Relaxed);
            self.aside(id).insert(id, slot);
        }
    }

    #[inline]
    pub(super) fn remove(&self, id: TaskId) {
        let place = self.place(id);
        if Self::slot_in(place.load(Ordering::Relaxed), id).is_some() {
            place.store(0, Ordering::Relaxed);
        } else if self.aside(id).remove(&id).is_some() {
            self.others.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_map() {
        let (table, mut map) = (ById::default(), FxHashMap::default());
        let mut state = 1u64;
        for round in 0..20_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let far = (state >> 60) == 0;
            let id = TaskId(if far {
                (state >> 32) as u32 % 7 * PLACES as u32 + round % 64
            } else {
                round / 2 + (state >> 58) as u32
            });
            if (state >> 40) & 1 == 0 && !map.contains_key(&id) {
                table.insert(id, Slot(round));
                map.insert(id, Slot(round));
            } else {
                table.remove(id);
                map.remove(&id);
            }
            assert_eq!(table.get(id), map.get(&id).copied());
        }
        assert!(map.iter().all(|(id, slot)| table.get(*id) == Some(*slot)));
        assert!(table.others.load(Ordering::Relaxed) > 0);
    }
}
