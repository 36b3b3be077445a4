//! Which steps and blocks have begun and not ended, among those that somebody remembers.

use crate::spin::Spin;
use keirin_core::analysis::tasks::OpenRegions;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicU32, Ordering};

const SHARDS: usize = 64;

/// All open regions.
pub(super) struct Regions {
    next: AtomicU32,
    open: [Spin<FxHashSet<u32>>; SHARDS],
}

impl Default for Regions {
    fn default() -> Self {
        Self { next: AtomicU32::new(1), open: std::array::from_fn(|_| Spin::default()) }
    }
}

impl std::fmt::Debug for Regions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Regions up to {}", self.next.load(Ordering::Relaxed))
    }
}

impl Regions {
    fn shard(&self, number: u32) -> &Spin<FxHashSet<u32>> {
        &self.open[number as usize % SHARDS]
    }

    /// A number for a region that begins.
    pub(super) fn open(&self) -> u32 {
        let number = self.next.fetch_add(1, Ordering::Relaxed).max(1);
        self.shard(number).lock().insert(number);
        number
    }

    /// A region ends; 0 is none.
    pub(super) fn close(&self, number: u32) {
        if number != 0 {
            self.shard(number).lock().remove(&number);
        }
    }
}

impl OpenRegions for Regions {
    fn is_open(&self, number: u32) -> bool {
        self.shard(number).lock().contains(&number)
    }
}
