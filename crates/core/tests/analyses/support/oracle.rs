//! Serializability by definition: all pairs of operations, transitive closure, search for a cycle. Slow and plain on
//! purpose; it shares nothing with the analyses but the event type.

use keirin_core::event::*;
use std::collections::BTreeSet;

/// The definition's view of a run.
pub(crate) struct Serializability {
    events: Vec<Event>,
    /// For each event the number of its transaction.
    transaction: Vec<usize>,
    /// For each event the generation of the barrier that it belongs to, if it is an arrival or a departure.
    generation: Vec<Option<usize>>,
    /// `before[b]` has `a` if operation a happens before operation b.
    before: Vec<BTreeSet<usize>>,
    /// The conflicts, as pairs of an earlier and a later operation.
    conflicts: Vec<(usize, usize)>,
}

impl Serializability {
    pub(crate) fn new(events: &[Event]) -> Self {
        let mut oracle = Self {
            events: events.to_vec(),
            transaction: transactions(events),
            generation: generations(events),
            before: Vec::new(),
            conflicts: Vec::new(),
        };
        for later in 0..events.len() {
            let mut before = BTreeSet::new();
            for earlier in 0..later {
                if oracle.conflict(earlier, later) {
                    oracle.conflicts.push((earlier, later));
                    before.insert(earlier);
                    before.extend(oracle.before[earlier].iter().copied());
                }
            }
            oracle.before.push(before);
        }
        oracle
    }

    /// Two operations, the first earlier in the run, that may not change places.
    pub(crate) fn conflict(&self, earlier: usize, later: usize) -> bool {
        let (a, b) = (&self.events[earlier], &self.events[later]);
        if a.thread == b.thread {
            return true;
        }
        if is_silent(a.op) || is_silent(b.op) {
            return false;
        }
        if let (Some((a_write, a_bytes)), Some((b_write, b_bytes))) = (accessed(a.op), accessed(b.op)) {
            let mut common = a_bytes.start.max(b_bytes.start)..a_bytes.end.min(b_bytes.end);
            return (a_write || b_write) && common.any(|byte| !self.renewed_between(earlier, later, byte));
        }
        if let (Some((a_lock, a_mode)), Some((b_lock, b_mode))) = (locked(a.op), locked(b.op)) {
            return a_lock == b_lock && (a_mode == LockMode::Exclusive || b_mode == LockMode::Exclusive);
        }
        let forks = |child| child == b.thread || b.op == Op::Join { child };
        let joins = |child| child == a.thread;
        match (a.op, b.op) {
            (Op::Notify { condition: a, .. }, Op::Wait { condition: b }) => a == b,
            (Op::HappensBefore { token: a }, Op::HappensAfter { token: b }) => a == b,
            (Op::BarrierArrive { barrier: a }, Op::BarrierLeave { barrier: b }) => {
                a == b && self.generation[earlier] == self.generation[later]
            }
            (Op::Fork { child }, Op::Join { child: joined }) => forks(child) || joins(joined),
            (Op::Fork { child }, _) => forks(child),
            (_, Op::Join { child }) => joins(child),
            _ => false,
        }
    }

    /// The byte was given back, or handed out anew, between two operations: it is not the same memory.
    fn renewed_between(&self, earlier: usize, later: usize, byte: u64) -> bool {
        self.events[earlier..later].iter().any(|event| match event.op {
            Op::Alloc { size, addr } | Op::Free { size, addr } => {
                (addr.0..addr.0 + u64::from(size)).contains(&byte)
            }
            _ => false,
        })
    }

    /// The transactions that are on a cycle when only the operations up to `last` are looked at.
    pub(crate) fn on_cycle(&self, last: usize) -> BTreeSet<usize> {
        let edges: BTreeSet<(usize, usize)> = self
            .conflicts
            .iter()
            .filter(|(_, later)| *later <= last)
            .map(|&(earlier, later)| (self.transaction[earlier], self.transaction[later]))
            .filter(|(from, to)| from != to)
            .collect();
        let count = self.transaction.iter().max().map_or(0, |last| last + 1);
        let mut reaches = vec![vec![false; count]; count];
        for &(from, to) in &edges {
            reaches[from][to] = true;
        }
        for middle in 0..count {
            for from in 0..count {
                if reaches[from][middle] {
                    let (row, through) = (reaches[from].clone(), reaches[middle].clone());
                    reaches[from] = row.iter().zip(&through).map(|(a, b)| *a || *b).collect();
                }
            }
        }
        (0..count).filter(|&transaction| reaches[transaction][transaction]).collect()
    }

    /// The first operation with which the run is no longer serializable.
    pub(crate) fn first_violation(&self) -> Option<usize> {
        // More operations never take a cycle away, so the first one can be found by halving.
        let length = self.events.len();
        if length == 0 || self.on_cycle(length - 1).is_empty() {
            return None;
        }
        let (mut clean, mut torn) = (0, length - 1);
        while clean < torn {
            let middle = (clean + torn) / 2;
            if self.on_cycle(middle).is_empty() {
                clean = middle + 1;
            } else {
                torn = middle;
            }
        }
        Some(torn)
    }

    pub(crate) fn transaction_of(&self, event: usize) -> usize {
        self.transaction[event]
    }

    /// The labels of the regions around an operation that no equivalent run executes without interruption: some earlier
    /// operation in the region happens before a foreign one that happens before this one.
    pub(crate) fn refuted_at(&self, event: usize) -> BTreeSet<u32> {
        let thread = self.events[event].thread;
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (index, other) in
            self.events[..event].iter().enumerate().filter(|(_, other)| other.thread == thread)
        {
            match other.op {
                Op::Begin { region } => open.push((index, region.0)),
                Op::End => {
                    open.pop();
                }
                _ => {}
            }
        }
        let foreign: Vec<usize> =
            self.before[event].iter().copied().filter(|&other| self.events[other].thread != thread).collect();
        open.iter()
            .filter(|(begin, _)| {
                foreign.iter().any(|&other| {
                    self.before[other]
                        .iter()
                        .any(|&root| root >= *begin && self.events[root].thread == thread)
                })
            })
            .map(|(_, region)| *region)
            .collect()
    }
}

/// Nothing that other threads could notice.
fn is_silent(op: Op) -> bool {
    matches!(op, Op::Alloc { .. } | Op::Free { .. } | Op::Fence { .. })
}

fn accessed(op: Op) -> Option<(bool, std::ops::Range<u64>)> {
    match op {
        Op::Access { kind, size, addr } => {
            Some((kind == AccessKind::Write, addr.0..addr.0 + u64::from(size)))
        }
        Op::Atomic { kind, size, addr, .. } => {
            Some((kind != AtomicKind::Load, addr.0..addr.0 + u64::from(size)))
        }
        _ => None,
    }
}

fn locked(op: Op) -> Option<(LockId, LockMode)> {
    match op {
        Op::Acquire { lock, mode } | Op::Release { lock, mode } => Some((lock, mode)),
        _ => None,
    }
}

/// Outermost regions are transactions; so is every operation outside.
fn transactions(events: &[Event]) -> Vec<usize> {
    let mut current: std::collections::BTreeMap<u32, (usize, u32)> = Default::default();
    let mut next = 0;
    events
        .iter()
        .map(|event| {
            let (transaction, depth) = current.entry(event.thread.0).or_insert((0, 0));
            if *depth == 0 {
                *transaction = next;
                next += 1;
            }
            match event.op {
                Op::Begin { .. } => *depth += 1,
                Op::End => *depth -= 1,
                _ => {}
            }
            *transaction
        })
        .collect()
}

/// A generation of a barrier gathers arrivals until somebody leaves.
pub(crate) fn generations(events: &[Event]) -> Vec<Option<usize>> {
    let mut number = 0;
    let mut left = false;
    let mut own: std::collections::BTreeMap<u32, usize> = Default::default();
    events
        .iter()
        .map(|event| match event.op {
            Op::BarrierArrive { .. } => {
                if left {
                    number += 1;
                    left = false;
                }
                own.insert(event.thread.0, number);
                Some(number)
            }
            Op::BarrierLeave { .. } => {
                let generation = own.get(&event.thread.0).copied();
                left |= generation == Some(number);
                generation
            }
            _ => None,
        })
        .collect()
}
