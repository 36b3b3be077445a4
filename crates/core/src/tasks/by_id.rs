//! Tasks by their numbers.
//!
//! Numbers are mostly given one after the other, and tasks forgotten soon: then those that are remembered lie within a
//! window that moves on, and are found by index. Others are found by hashing.

use super::Slot;
use crate::event::TaskId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct ById {
    /// The slots of the numbers from `first` on.
    window: VecDeque<u32>,
    first: u32,
    others: FxHashMap<TaskId, Slot>,
}

impl ById {
    /// So far apart two numbers of the window may be.
    const WIDEST: usize = 1 << 20;

    #[inline]
    pub(super) fn get(&self, id: TaskId) -> Option<Slot> {
        let offset = id.0.wrapping_sub(self.first) as usize;
        match self.window.get(offset) {
            Some(&slot) if slot != NONE => Some(Slot(slot)),
            // A number that the window has reached later may have been put aside before.
            _ if self.others.is_empty() => None,
            _ => self.others.get(&id).copied(),
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, id: TaskId, slot: Slot) {
        if self.window.is_empty() {
            self.first = id.0;
        }
        let offset = id.0.wrapping_sub(self.first) as usize;
        if offset >= Self::WIDEST {
            self.others.insert(id, slot);
            return;
        }
        if offset >= self.window.len() {
            self.window.resize(offset + 1, NONE);
        }
        self.window[offset] = slot.0;
        if !self.others.is_empty() {
            self.others.remove(&id);
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, id: TaskId) {
        let offset = id.0.wrapping_sub(self.first) as usize;
        match self.window.get_mut(offset) {
            Some(slot) if *slot != NONE => *slot = NONE,
            _ => {
                self.others.remove(&id);
            }
        }
        while self.window.front() == Some(&NONE) {
            self.window.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_map() {
        let (mut table, mut map) = (ById::default(), FxHashMap::default());
        let mut state = 1u64;
        for round in 0..20_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let far = (state >> 60) == 0;
            let id = TaskId(if far { (state >> 32) as u32 } else { round / 2 + (state >> 58) as u32 });
            if (state >> 40) & 1 == 0 {
                table.insert(id, Slot(round));
                map.insert(id, Slot(round));
            } else {
                table.remove(id);
                map.remove(&id);
            }
            assert_eq!(table.get(id), map.get(&id).copied());
        }
        assert!(map.iter().all(|(id, slot)| table.get(*id) == Some(*slot)));
    }
}
