//! Which accesses of a schedule come in another order than in the observed run, and touch the same memory: what a reader, or who
//! wants the program to go that way, must look at beside the finding itself.

use super::recording::{Place, Recording};
use super::search::Run;
use crate::event::{AccessKind, Addr, AtomicKind, Op};
use crate::finding::accessed;
use rustc_hash::{FxHashMap, FxHashSet};

/// The last write of some bytes in the schedule, and what has read them since.
#[derive(Default)]
struct Latest {
    write: Option<Place>,
    reads: Vec<Place>,
}

/// Bytes that are looked at together.
const WORD: u64 = 8;
/// Longer accesses are looked at by their first bytes.
const LONGEST: u64 = 64;

/// The accesses that are on the other side of a conflicting one of another task than they were in the observed run.
pub(super) fn reordered(recording: &Recording, schedule: &[Run]) -> FxHashSet<Place> {
    let mut latest: FxHashMap<u64, Latest> = FxHashMap::default();
    let mut found = FxHashSet::default();
    let position = |place: Place| recording.operation(place).step.moment.position;
    for run in schedule {
        for index in run.from..run.to {
            let place = Place { actor: run.actor, index };
            let op = recording.operation(place).step.op;
            let writes = match op {
                Op::Access { kind, .. } | Op::OtherPath { kind, .. } => kind == AccessKind::Write,
                Op::Atomic { kind, .. } => kind != AtomicKind::Load,
                _ => continue,
            };
            let (addr, size) = accessed(op);
            let last = addr.0.saturating_add(u64::from(size).clamp(1, LONGEST) - 1);
            let mine = recording.task_of(place);
            for word in addr.0 / WORD..=last / WORD {
                let latest = latest.entry(word).or_default();
                let reads = latest.reads.iter().filter(|_| writes);
                for &earlier in latest.write.iter().chain(reads) {
                    let overlap = overlap(accessed(recording.operation(earlier).step.op), (addr, size));
                    if overlap && recording.task_of(earlier) != mine && position(earlier) > position(place) {
                        found.extend([earlier, place]);
                    }
                }
                if writes {
                    *latest = Latest { write: Some(place), reads: Vec::new() };
                } else {
                    latest.reads.push(place);
                }
            }
        }
    }
    found
}

fn overlap(one: (Addr, u32), other: (Addr, u32)) -> bool {
    let end = |(addr, size): (Addr, u32)| addr.0.saturating_add(u64::from(size.max(1)));
    one.0.0 < end(other) && other.0.0 < end(one)
}
