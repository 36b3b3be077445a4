//! Races by definition: synchronization as the C++20 standard puts it, transitive closure, all pairs of accesses. Slow and
//! plain on purpose; it has no clocks, and shares nothing with the analyses but the event type.

use super::oracle::generations;
use keirin_core::event::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The definition's view of a run.
pub(crate) struct Races {
    events: Vec<Event>,
    generation: Vec<Option<usize>>,
    /// For each operation the operations that happen before it.
    before: Vec<Vec<bool>>,
    /// The racing pairs, with the bytes they race on; the later access decides the order.
    pairs: Vec<(usize, usize, Vec<u64>)>,
}

impl Races {
    pub(crate) fn new(events: &[Event]) -> Self {
        let mut oracle = Self {
            events: events.to_vec(),
            generation: generations(events),
            before: Vec::new(),
            pairs: Vec::new(),
        };
        let synchronizes = oracle.synchronizing_atomics();
        for later in 0..events.len() {
            let mut before = vec![false; events.len()];
            for earlier in 0..later {
                if oracle.is_ordered_directly(earlier, later) || synchronizes.contains(&(earlier, later)) {
                    before[earlier] = true;
                    for (mine, theirs) in before.iter_mut().zip(&oracle.before[earlier]) {
                        *mine |= theirs;
                    }
                }
            }
            oracle.before.push(before);
        }
        for later in 0..events.len() {
            for earlier in 0..later {
                let bytes = oracle.conflict(earlier, later);
                if !bytes.is_empty() && !oracle.before[later][earlier] {
                    oracle.pairs.push((earlier, later, bytes));
                }
            }
        }
        oracle
    }

    /// The first operation with which the run has a race.
    pub(crate) fn first(&self) -> Option<usize> {
        self.pairs.first().map(|(_, later, _)| *later)
    }

    /// True if two operations are a race.
    pub(crate) fn is_race(&self, earlier: usize, later: usize) -> bool {
        self.pairs.iter().any(|pair| (pair.0, pair.1) == (earlier, later))
    }

    /// For each racy byte the first operation with which there is a race on it.
    pub(crate) fn first_by_byte(&self) -> BTreeMap<u64, usize> {
        let mut first = BTreeMap::new();
        for (_, later, bytes) in &self.pairs {
            for byte in bytes {
                first.entry(*byte).or_insert(*later);
            }
        }
        first
    }

    /// The bytes on which two accesses conflict.
    fn conflict(&self, earlier: usize, later: usize) -> Vec<u64> {
        let (Some(a), Some(b)) = (access(self.events[earlier].op), access(self.events[later].op)) else {
            return Vec::new();
        };
        if !(a.writes || b.writes) || a.atomic && b.atomic {
            return Vec::new();
        }
        a.bytes.filter(|byte| b.bytes.contains(byte) && self.is_same_object(earlier, later, *byte)).collect()
    }

    /// A byte is neither freed nor handed out between two operations.
    fn is_same_object(&self, earlier: usize, later: usize, byte: u64) -> bool {
        !self.events[earlier..later].iter().any(|event| match event.op {
            Op::Free { size, addr } | Op::Alloc { size, addr } => {
                (addr.0..addr.0 + u64::from(size)).contains(&byte)
            }
            _ => false,
        })
    }

    /// Program order, locks, forks and joins, signals.
    fn is_ordered_directly(&self, earlier: usize, later: usize) -> bool {
        let (a, b) = (&self.events[earlier], &self.events[later]);
        if a.thread == b.thread {
            return true;
        }
        if let Op::Fork { child } = a.op
            && (b.thread == child || b.op == (Op::Join { child }))
        {
            return true;
        }
        match (a.op, b.op) {
            (_, Op::Join { child }) => a.thread == child,
            (Op::Release { lock: a, mode: a_mode }, Op::Acquire { lock: b, mode: b_mode }) => {
                a == b && (a_mode == LockMode::Exclusive || b_mode == LockMode::Exclusive)
            }
            (Op::Notify { condition: a, .. }, Op::Wait { condition: b }) => a == b,
            (Op::HappensBefore { token: a }, Op::HappensAfter { token: b }) => a == b,
            (Op::BarrierArrive { barrier: a }, Op::BarrierLeave { barrier: b }) => {
                a == b && self.generation[earlier] == self.generation[later]
            }
            _ => false,
        }
    }

    /// The pairs that synchronize by atomics and fences ([intro.races], [atomics.order], [atomics.fences]).
    fn synchronizing_atomics(&self) -> BTreeSet<(usize, usize)> {
        let mut pairs = BTreeSet::new();
        for read in 0..self.events.len() {
            if !matches!(self.events[read].op, Op::Atomic { kind, .. } if kind != AtomicKind::Store) {
                continue;
            }
            for head in self.heads(read) {
                for release in self.releases(head) {
                    for acquire in self.acquires(read) {
                        pairs.insert((release, acquire));
                    }
                }
            }
        }
        pairs
    }

    /// The atomic writes whose release sequence, were they releases, holds what an operation reads in some byte.
    fn heads(&self, read: usize) -> BTreeSet<usize> {
        let mut heads = BTreeSet::new();
        for byte in access(self.events[read].op).into_iter().flat_map(|access| access.bytes) {
            // Backwards in the modification order of the byte, which is the order of the run.
            for write in (0..read).rev() {
                if !self.is_same_object(write, read, byte) {
                    break;
                }
                let Some(other) = access(self.events[write].op) else { continue };
                if !other.writes || !other.bytes.contains(&byte) {
                    continue;
                }
                if other.atomic {
                    heads.insert(write);
                }
                // Only read-modify-writes continue a sequence that an earlier write heads.
                if !matches!(self.events[write].op, Op::Atomic { kind: AtomicKind::ReadModifyWrite, .. }) {
                    break;
                }
            }
        }
        heads
    }

    /// The operations that release by a given write: itself, or fences before it in its thread.
    fn releases(&self, write: usize) -> Vec<usize> {
        let releases = |order| {
            use MemoryOrder::*;
            matches!(order, Release | AcquireRelease | SequentiallyConsistent)
        };
        let thread = self.events[write].thread;
        (0..=write)
            .filter(|&index| self.events[index].thread == thread)
            .filter(|&index| match self.events[index].op {
                Op::Atomic { order, .. } => index == write && releases(order),
                Op::Fence { order } => releases(order),
                _ => false,
            })
            .collect()
    }

    /// The operations that acquire by a given read: itself, or fences after it in its thread.
    fn acquires(&self, read: usize) -> Vec<usize> {
        let acquires = |order| {
            use MemoryOrder::*;
            matches!(order, Consume | Acquire | AcquireRelease | SequentiallyConsistent)
        };
        let thread = self.events[read].thread;
        (read..self.events.len())
            .filter(|&index| self.events[index].thread == thread)
            .filter(|&index| match self.events[index].op {
                Op::Atomic { order, .. } => index == read && acquires(order),
                Op::Fence { order } => acquires(order),
                _ => false,
            })
            .collect()
    }
}

struct AccessOf {
    writes: bool,
    atomic: bool,
    bytes: Range<u64>,
}

fn access(op: Op) -> Option<AccessOf> {
    match op {
        Op::Access { kind, size, addr } => Some(AccessOf {
            writes: kind == AccessKind::Write,
            atomic: false,
            bytes: addr.0..addr.0 + u64::from(size),
        }),
        Op::Atomic { kind, size, addr, .. } => Some(AccessOf {
            writes: kind != AtomicKind::Load,
            atomic: true,
            bytes: addr.0..addr.0 + u64::from(size),
        }),
        _ => None,
    }
}
