//! The events of all threads in one order.

use super::decode::Decoded;
use super::scan::BlockReference;
use crate::trace::{BATCH_EVENTS, Batch};

/// The place of a lane in the order: stamp, then lane. Lanes are sorted by thread.
///
/// One number instead of a pair, because it is compared for every switch between threads.
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

    /// Moves on to the block after the one that was skipped or used up; returns its stamp. None at the end.
    pub(super) fn advance(&mut self) -> Option<u64> {
        let stamp = self.next_stamp();
        self.stamp = stamp.unwrap_or(self.stamp);
        stamp
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

/// The key of a lane that has no more events; larger than that of any event.
const DONE: Key = Key::MAX >> 32;

/// Which lane comes next: a tournament in which every inner node remembers the loser of its match.
///
/// A heap would do as well, but its branches depend on the data. Here a change costs one match for each level, without
/// a branch that could be mispredicted; on traces that switch threads every few events that is most of the time.
pub(super) struct Schedule {
    /// The winner of all, then the loser at each inner node. The parent of node `n` is `n / 2`; the leaves, which are
    /// not stored, follow the inner nodes.
    nodes: Vec<Key>,
}

impl Schedule {
    /// A schedule of lanes with the given first stamps.
    pub(super) fn new(stamps: impl ExactSizeIterator<Item = u64>) -> Self {
        let size = stamps.len().next_power_of_two();
        // First the winner of every node, from the leaves up.
        let mut winners = vec![DONE; 2 * size];
        for (lane, stamp) in stamps.enumerate() {
            winners[size + lane] = key(stamp, lane as u32);
        }
        for node in (1..size).rev() {
            winners[node] = winners[2 * node].min(winners[2 * node + 1]);
        }
        let mut nodes = vec![DONE; size];
        for node in 1..size {
            nodes[node] = winners[2 * node].max(winners[2 * node + 1]);
        }
        nodes[0] = winners[1];
        Schedule { nodes }
    }

    /// The lane that comes next.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.nodes[0] != DONE).then_some(self.nodes[0] as u32)
    }

    /// The key of the lane that comes after the first, which is one of those that lost against it.
    #[inline]
    pub(super) fn limit(&self, first: u32) -> Key {
        let mut limit = DONE;
        let mut node = (first as usize + self.nodes.len()) / 2;
        while node > 0 {
            limit = limit.min(self.nodes[node]);
            node /= 2;
        }
        limit
    }

    /// Tells the next stamp of the lane that was first; none if it is at its end.
    #[inline]
    pub(super) fn update(&mut self, first: u32, stamp: Option<u64>) {
        let mut winner = stamp.map_or(DONE, |stamp| key(stamp, first));
        let mut node = (first as usize + self.nodes.len()) / 2;
        while node > 0 {
            let other = self.nodes[node];
            self.nodes[node] = winner.max(other);
            winner = winner.min(other);
            node /= 2;
        }
        self.nodes[0] = winner;
    }
}
