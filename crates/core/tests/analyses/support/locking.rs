//! Locking and reduction by definition: from the whole history of each byte and each block, with plain sets. Slow and
//! plain on purpose; it shares nothing with the analyses but the event type.

use keirin_core::event::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Locks = BTreeSet<(LockId, LockMode)>;

/// Choices for [`super::random::build`] in which threads stay on for a while and take locks often.
pub(crate) fn busy_choices(
    turns: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<super::random::Choice>> {
    let what = prop_oneof![
        9 => 0u8..=129,
        1 => 130u8..=139,
        2 => 140u8..=164,
        1 => 165u8..=184,
        5 => 185u8..=204,
        3 => 205u8..=229,
        1 => 230u8..=255,
    ];
    let turn = (any::<u8>(), prop::collection::vec((what, any::<u8>()), 1..8));
    prop::collection::vec(turn, turns).prop_map(|turns| {
        let steps = |(who, steps): (u8, Vec<(u8, u8)>)| steps.into_iter().map(move |(a, b)| (who, a, b));
        turns.into_iter().flat_map(steps).collect()
    })
}

/// An access of a byte.
struct Access {
    event: usize,
    thread: ThreadId,
    kind: AccessKind,
}

/// The definition's view of a run, for Eraser and Atomizer.
pub(crate) struct Locking {
    events: Vec<Event>,
    atomics: bool,
    /// For each event how often its thread holds each lock before it.
    held: Vec<BTreeMap<(LockId, LockMode), u32>>,
    /// For each byte its accesses.
    bytes: BTreeMap<u64, Vec<Access>>,
}

impl Locking {
    /// `atomics` tells whether atomic operations count as accesses.
    pub(crate) fn new(events: &[Event], atomics: bool) -> Self {
        let mut now: BTreeMap<ThreadId, BTreeMap<(LockId, LockMode), u32>> = BTreeMap::new();
        let mut held = Vec::new();
        let mut bytes: BTreeMap<u64, Vec<Access>> = BTreeMap::new();
        for (index, event) in events.iter().enumerate() {
            let own = now.entry(event.thread).or_default();
            held.push(own.clone());
            match event.op {
                Op::Acquire { lock, mode } => *own.entry((lock, mode)).or_default() += 1,
                Op::Release { lock, mode } => {
                    *own.get_mut(&(lock, mode)).unwrap() -= 1;
                    own.retain(|_, count| *count > 0);
                }
                _ => {}
            }
            let Some((kind, range)) = accessed(event.op, atomics) else { continue };
            for byte in range {
                bytes.entry(byte).or_default().push(Access { event: index, thread: event.thread, kind });
            }
        }
        Self { events: events.to_vec(), atomics, held, bytes }
    }

    /// The locks that the thread of an event holds before it.
    pub(crate) fn held(&self, event: usize) -> Locks {
        self.held[event].keys().copied().collect()
    }

    /// The locks that protect an access.
    fn protecting(&self, access: &Access) -> BTreeSet<LockId> {
        let counts = |mode: LockMode| access.kind == AccessKind::Read || mode == LockMode::Exclusive;
        self.held(access.event).into_iter().filter(|(_, mode)| counts(*mode)).map(|(lock, _)| lock).collect()
    }

    /// Whether a byte is unprotected after the first `count` of its accesses: since a second thread came, it was
    /// written, and no lock protected all accesses.
    fn is_unprotected(&self, history: &[Access], count: usize) -> bool {
        let history = &history[..count];
        let Some(second) = history.iter().position(|access| access.thread != history[0].thread) else {
            return false;
        };
        let shared = &history[second..];
        let candidates = shared
            .iter()
            .map(|access| self.protecting(access))
            .reduce(|all, next| all.intersection(&next).copied().collect())
            .unwrap();
        shared.iter().any(|access| access.kind == AccessKind::Write) && candidates.is_empty()
    }

    /// For each byte of an access its history, and how many accesses that has up to this one.
    fn histories(&self, event: usize) -> Vec<(&[Access], usize)> {
        let Some((_, range)) = accessed(self.events[event].op, self.atomics) else { return Vec::new() };
        range
            .map(|byte| {
                let history = &self.bytes[&byte][..];
                (history, 1 + history.iter().position(|access| access.event == event).unwrap())
            })
            .collect()
    }

    /// Whether an event accesses a byte that is unprotected by now.
    fn is_racy(&self, event: usize) -> bool {
        self.histories(event).into_iter().any(|(history, count)| self.is_unprotected(history, count))
    }

    /// For each byte that becomes unprotected with an event, the last access by another thread.
    pub(crate) fn lost_at(&self, event: usize) -> BTreeSet<usize> {
        let thread = self.events[event].thread;
        self.histories(event)
            .into_iter()
            .filter(|&(history, count)| {
                self.is_unprotected(history, count) && !self.is_unprotected(history, count - 1)
            })
            .map(|(history, count)| {
                history[..count].iter().rev().find(|access| access.thread != thread).unwrap().event
            })
            .collect()
    }

    /// How an operation moves: R, L, B or N.
    fn mover(&self, event: usize) -> char {
        let times = |lock, mode| self.held[event].get(&(lock, mode)).copied().unwrap_or_default();
        match self.events[event].op {
            Op::Acquire { lock, mode } if times(lock, mode) > 0 => 'B',
            Op::Release { lock, mode } if times(lock, mode) > 1 => 'B',
            Op::Acquire { .. }
            | Op::Join { .. }
            | Op::Wait { .. }
            | Op::BarrierLeave { .. }
            | Op::HappensAfter { .. } => 'R',
            Op::Release { .. }
            | Op::Fork { .. }
            | Op::Notify { .. }
            | Op::BarrierArrive { .. }
            | Op::HappensBefore { .. } => 'L',
            _ if self.is_racy(event) => 'N',
            _ => 'B',
        }
    }

    /// For each event at which blocks turn out not to be reducible: the commit of the innermost one, and their labels,
    /// outermost first.
    pub(crate) fn irreducible(&self) -> BTreeMap<usize, (usize, Vec<u32>)> {
        let mut found: BTreeMap<usize, (usize, Vec<u32>)> = BTreeMap::new();
        for (begin, event) in self.events.iter().enumerate() {
            let Op::Begin { region } = event.op else { continue };
            if let Some((commit, broken)) = self.broken(begin) {
                // Blocks of one thread come in the order of their begins; so outer ones come first.
                let (innermost, labels) = found.entry(broken).or_default();
                *innermost = commit;
                labels.push(region.0);
            }
        }
        found
    }

    /// The commit of the block that begins here, and the first operation with which its word does not match R* N? L*.
    fn broken(&self, begin: usize) -> Option<(usize, usize)> {
        let mut depth = 0;
        let mut word: Vec<(usize, char)> = Vec::new();
        for (index, event) in self.events.iter().enumerate().skip(begin) {
            if event.thread != self.events[begin].thread {
                continue;
            }
            match event.op {
                Op::Begin { .. } => depth += 1,
                Op::End => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return None;
            }
            match self.mover(index) {
                'B' => {}
                mover => word.push((index, mover)),
            }
            if !is_reducible(&word) {
                return Some((word.iter().find(|(_, mover)| *mover != 'R').unwrap().0, index));
            }
        }
        None
    }
}

/// Whether a word matches R* N? L*.
fn is_reducible(word: &[(usize, char)]) -> bool {
    (0..=word.len()).any(|split| {
        let (right, rest) = word.split_at(split);
        let left = match rest {
            [(_, 'N'), left @ ..] => left,
            left => left,
        };
        right.iter().all(|(_, mover)| *mover == 'R') && left.iter().all(|(_, mover)| *mover == 'L')
    })
}

fn accessed(op: Op, atomics: bool) -> Option<(AccessKind, std::ops::Range<u64>)> {
    match op {
        Op::Access { kind, size, addr } => Some((kind, addr.0..addr.0 + u64::from(size))),
        Op::Atomic { kind, size, addr, .. } if atomics => {
            Some((kind.access_kind(), addr.0..addr.0 + u64::from(size)))
        }
        _ => None,
    }
}
