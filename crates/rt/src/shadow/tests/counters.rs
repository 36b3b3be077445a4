//! Counters that threads keep for themselves.

use super::alone;
use super::machine::{Deed, Machine};
use keirin_core::event::{AccessKind, AtomicKind, MemoryOrder};

const BASE: usize = 0x2500_0000;
const WORDS: usize = 3;
const COUNT: Deed =
    Deed::Atomic { kind: AtomicKind::ReadModifyWrite, order: MemoryOrder::Relaxed, byte: 8, size: 4 };

/// A machine in which two threads keep a counter for themselves.
fn counting() -> Machine {
    let mut machine = Machine::new(BASE, WORDS);
    for actor in [0, 1, 0, 1, 0, 1] {
        machine.perform(actor, COUNT);
    }
    assert!(machine.threads[0].quiet.is_some() && machine.threads[1].quiet.is_some());
    machine
}

/// After a release fence a relaxed operation publishes; who takes that over must hear of it.
#[test]
fn a_fence_ends_what_threads_keep_for_themselves() {
    let _alone = alone();
    let mut machine = counting();
    machine.perform(1, Deed::Fence { order: MemoryOrder::Release });
    machine.perform(1, COUNT);
    machine.perform(0, COUNT);
    machine.perform(0, Deed::Fence { order: MemoryOrder::Acquire });
    machine.check();
}

/// Whoever accesses the counter plainly races with all that was kept.
#[test]
fn a_plain_access_takes_what_threads_keep() {
    for kind in [AccessKind::Read, AccessKind::Write] {
        let _alone = alone();
        let mut machine = counting();
        let verdict = machine.perform(2, Deed::Access { kind, byte: 8, size: 4 });
        assert!(verdict.iter().all(|(_, races)| races.len() == 2), "{verdict:?}");
        machine.check();
    }
}

/// Memory that is given back takes along what was kept about it.
#[test]
fn what_was_freed_is_nobodys() {
    let _alone = alone();
    let mut machine = counting();
    machine.perform(2, Deed::Forget { byte: 8, size: 4 });
    let verdict = machine.perform(2, Deed::Access { kind: AccessKind::Write, byte: 8, size: 4 });
    assert!(verdict.iter().all(|(_, races)| races.is_empty()));
    machine.check();
}
