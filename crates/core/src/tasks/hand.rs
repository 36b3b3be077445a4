//! What each thread that tells of tasks has of its own: the numbers that it gives to records next, and its part of the figures.

use super::{Slot, TaskCounts};
use crate::numbers::Apart;
use crate::sptree::Structure;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A hand that lets a tree of tasks grow.
#[derive(Debug)]
pub struct Hand<S: Structure> {
    pub(super) structure: S,
    pub(super) free_tasks: Vec<u32>,
    pub(super) free_scopes: Vec<u32>,
    pub(super) tally: Arc<Apart<Tally>>,
    /// How far the number of tasks has changed since it was told the others.
    pub(super) untold: i64,
}

impl<S: Structure> Hand<S> {
    pub(super) fn new(structure: S, tally: Arc<Apart<Tally>>) -> Self {
        Self { structure, free_tasks: Vec::new(), free_scopes: Vec::new(), tally, untold: 0 }
    }

    /// The structure.
    #[inline]
    pub fn structure(&self) -> &S {
        &self.structure
    }

    /// The structure, for who forgets steps.
    pub fn structure_mut(&mut self) -> &mut S {
        &mut self.structure
    }
}

/// What one hand has counted, and all may read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Tasks, with what threads do outside of tasks.
    pub(super) begun: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) spawned: AtomicU64,
}

/// Adds to what only the caller changes.
#[inline]
pub(super) fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Release);
}

/// All tallies, and what those have counted that are gone.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    pub(super) hands: Vec<Arc<Apart<Tally>>>,
    begun: u64,
    ended: u64,
    spawned: u64,
}

impl Tallies {
    pub(super) fn add(&mut self) -> Arc<Apart<Tally>> {
        let tally = Arc::<Apart<Tally>>::default();
        self.hands.push(Arc::clone(&tally));
        tally
    }

    pub(super) fn remove(&mut self, tally: &Arc<Apart<Tally>>) {
        self.hands.retain(|other| !Arc::ptr_eq(other, tally));
        self.begun += tally.begun.swap(0, Ordering::Relaxed);
        self.ended += tally.ended.swap(0, Ordering::Relaxed);
        self.spawned += tally.spawned.swap(0, Ordering::Relaxed);
    }

    pub(super) fn count(&self, counts: &mut TaskCounts) {
        let all = self.hands.iter().map(|tally| tally.spawned.load(Ordering::Relaxed));
        counts.spawned = self.spawned + all.sum::<u64>();
    }

    /// How many tasks have not ended, or more. If none but the caller's own goes on it is exact.
    pub(super) fn live(&self) -> u64 {
        // Whoever has counted an end knows that the task had begun before.
        let ended: u64 = self.hands.iter().map(|tally| tally.ended.load(Ordering::Acquire)).sum();
        let begun: u64 = self.hands.iter().map(|tally| tally.begun.load(Ordering::Acquire)).sum();
        self.begun + begun - self.ended - ended
    }
}

/// The tasks that a thread runs, the current one last; what it does outside of any comes first.
#[derive(Debug, Default)]
pub struct Running(Vec<Slot>);

impl Running {
    /// The task that the thread runs now, if it has acted before.
    #[inline]
    pub fn current(&self) -> Option<Slot> {
        self.0.last().copied()
    }

    pub(super) fn push(&mut self, task: Slot) {
        self.0.push(task);
    }

    pub(super) fn pop(&mut self) {
        self.0.pop();
    }
}
