//! The events of all threads in one order.

use super::decode::Decoded;
use super::scan::BlockReference;
use crate::trace::{BATCH_EVENTS, Batch};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The place of a lane in the order: stamp, then lane. Lanes are sorted by thread.
///
/// One number instead of a pair, because the heap compares it for every switch between threads.
pub(super) type Key = u128;

pub(super) fn key(stamp: u64, lane: u32) -> Key {
    Key::from(stamp) << 32 | Key::from(lane)
}

/// The events of one thread.
pub(super) struct Lane {
    /// Stamp of the next event.
    stamp: u64,
    /// How many events are left in the current run. Zero if the next block is still to be decoded.
    left: u32,
    /// Index of the next event in the decoded block.
    event: usize,
    /// Index of the current run in the decoded block.
    run: usize,
    decoded: Decoded,
    blocks: std::vec::IntoIter<BlockReference>,
}

/// Why a lane has stopped.
pub(super) enum Stop {
    /// The batch is full.
    Full,
    /// Another lane's turn.
    Switch,
    /// The decoded block is used up, or there was none.
    BlockNeeded,
}

impl Lane {
    /// A lane that starts with the first of its blocks.
    pub(super) fn new(blocks: Vec<BlockReference>) -> Self {
        let mut lane = Lane {
            stamp: 0,
            left: 0,
            event: 0,
            run: 0,
            decoded: Decoded::default(),
            blocks: blocks.into_iter(),
        };
        lane.stamp = lane.next_stamp().unwrap_or(0);
        lane
    }

    fn next_stamp(&self) -> Option<u64> {
        self.blocks.as_slice().first().map(|block| block.first_stamp)
    }

    pub(super) fn next_block(&mut self) -> Option<BlockReference> {
        self.blocks.next()
    }

    /// Moves on to the block after the one that was skipped or used up. False if there is none.
    pub(super) fn advance(&mut self) -> bool {
        let stamp = self.next_stamp();
        self.stamp = stamp.unwrap_or(self.stamp);
        stamp.is_some()
    }

    /// Begins with a decoded block.
    pub(super) fn start(&mut self, decoded: Decoded) {
        self.event = 0;
        self.run = 0;
        if let Some(run) = decoded.runs.first() {
            self.stamp = run.stamp;
            self.left = run.length;
        }
        self.decoded = decoded;
    }

    /// Takes the used block away, for its memory.
    pub(super) fn take_decoded(&mut self) -> Decoded {
        std::mem::take(&mut self.decoded)
    }

    /// Copies events into the batch for as long as this lane comes before `limit`, another lane's key.
    ///
    /// `complete_below` is a stamp; the position of the first event at or above it is put into `incomplete_from`.
    #[inline]
    pub(super) fn copy(
        &mut self,
        lane: u32,
        limit: Key,
        position: &mut u64,
        batch: &mut Batch,
        complete_below: &mut u64,
        incomplete_from: &mut Option<u64>,
    ) -> Stop {
        loop {
            if key(self.stamp, lane) > limit {
                return Stop::Switch;
            }
            if self.left == 0 {
                return Stop::BlockNeeded;
            }
            let room = BATCH_EVENTS.saturating_sub(batch.events().len());
            if room == 0 {
                return Stop::Full;
            }
            // How many stamps of this lane come before the other lane's.
            let limit_stamp = (limit >> 32) as u64;
            let ahead = (limit_stamp - self.stamp).saturating_add(u64::from(lane < limit as u32));
            let count = ahead.min(u64::from(self.left)).min(room as u64) as usize;
            if self.stamp + count as u64 > *complete_below {
                *incomplete_from = Some(*position + complete_below.saturating_sub(self.stamp));
                *complete_below = u64::MAX;
            }
            batch.extend_with_first(*position, &self.decoded.events[self.event..], count);
            *position += count as u64;
            self.event += count;
            self.stamp += count as u64;
            self.left -= count as u32;
            if self.left == 0 {
                self.run += 1;
                match self.decoded.runs.get(self.run) {
                    Some(run) => {
                        self.stamp = run.stamp;
                        self.left = run.length;
                    }
                    None => return Stop::BlockNeeded,
                }
            }
        }
    }

    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }
}

/// Which lane comes next. The current one is not in the heap, so that nothing is moved while it goes on.
///
/// A tournament tree without data-dependent branches was measured too: equal for up to four threads, slower by a tenth
/// for eight and by a third for a hundred, because it always walks all levels, twice.
#[derive(Default)]
pub(super) struct Schedule {
    waiting: BinaryHeap<Reverse<Key>>,
}

impl Schedule {
    pub(super) fn add(&mut self, stamp: u64, lane: u32) {
        self.waiting.push(Reverse(key(stamp, lane)));
    }

    /// The key of the next lane; larger than any if there is none.
    #[inline]
    pub(super) fn limit(&self) -> Key {
        self.waiting.peek().map_or(Key::MAX >> 32, |key| key.0)
    }

    /// Puts a lane back and takes the next one.
    #[inline]
    pub(super) fn exchange(&mut self, stamp: u64, lane: u32) -> u32 {
        match self.waiting.peek_mut() {
            Some(mut top) => {
                let next = top.0 as u32;
                *top = Reverse(key(stamp, lane));
                next
            }
            None => lane,
        }
    }

    /// Takes the next lane.
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.waiting.pop().map(|key| key.0 as u32)
    }
}
