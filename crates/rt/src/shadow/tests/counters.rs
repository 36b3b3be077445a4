//! Counters, and loads of flags, that threads keep for themselves.

use super::alone;
use super::machine::{ACTORS, Deed, Machine};
use crate::layout::WORD_BYTES;
use crate::quiet;
use crate::shadow::Word;
use keirin_core::event::{AccessKind, AtomicKind, MemoryOrder};
use proptest::prelude::*;

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

const LOOK: Deed = Deed::Atomic { kind: AtomicKind::Load, order: MemoryOrder::Acquire, byte: 8, size: 4 };

/// A machine in which two threads keep loads of a flag for themselves, in an epoch that began after the first one.
fn looking() -> Machine {
    let mut machine = Machine::new(BASE, WORDS);
    for actor in [0, 1, 0, 1] {
        machine.perform(actor, LOOK);
    }
    for actor in [0, 1] {
        assert!(machine.threads[actor].quiet.is_some());
        machine.perform(actor, Deed::Fence { order: MemoryOrder::Release });
        machine.perform(actor, LOOK);
        machine.perform(actor, LOOK);
    }
    machine
}

/// Who writes the flag plainly races with the loads that were kept, who reads it with none.
#[test]
fn a_plain_write_takes_loads_that_threads_keep() {
    for (kind, expected) in [(AccessKind::Read, 0), (AccessKind::Write, 2)] {
        let _alone = alone();
        let mut machine = looking();
        let verdict = machine.perform(2, Deed::Access { kind, byte: 8, size: 4 });
        assert!(verdict.iter().all(|(_, races)| races.len() == expected), "{verdict:?}");
        machine.check();
    }
}

/// What is published through the flag is taken over by the next load, though the thread has kept those before.
#[test]
fn a_store_ends_the_loads_that_threads_keep() {
    let _alone = alone();
    let mut machine = looking();
    machine.perform(2, Deed::Access { kind: AccessKind::Write, byte: 16, size: 4 });
    let store = AtomicKind::Store;
    machine.perform(2, Deed::Atomic { kind: store, order: MemoryOrder::Release, byte: 8, size: 4 });
    machine.perform(0, LOOK);
    let verdict = machine.perform(0, Deed::Access { kind: AccessKind::Write, byte: 16, size: 4 });
    assert!(verdict.iter().all(|(_, races)| races.is_empty()), "{verdict:?}");
    machine.check();
}

/// A counter that is looked at as well: both are remembered.
#[test]
fn loads_and_counts_of_one_thread_are_both_kept() {
    let _alone = alone();
    let mut machine = looking();
    for deed in [COUNT, LOOK, COUNT, LOOK] {
        machine.perform(0, deed);
        machine.perform(1, deed);
    }
    let verdict = machine.perform(2, Deed::Access { kind: AccessKind::Write, byte: 8, size: 4 });
    assert!(verdict.iter().all(|(_, races)| races.len() == 4), "{verdict:?}");
    machine.check();
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

/// A variable whose place was taken by another one gets it now and then; what is kept about a third one stays where it is.
#[test]
fn who_has_a_place_keeps_it() {
    let _alone = alone();
    // So many words further on a variable has the same place.
    const FURTHER: usize = 512 * WORD_BYTES;
    let mut machine = Machine::new(BASE, FURTHER / WORD_BYTES + WORDS);
    let look =
        |byte: usize| Deed::Atomic { kind: AtomicKind::Load, order: MemoryOrder::Acquire, byte, size: 4 };
    let [first, crowded, other] = [8, 8 + FURTHER, 16];
    for byte in [first, first, first, crowded, crowded, crowded, other, other, other] {
        machine.perform(0, look(byte));
    }
    let entries = machine.threads[0].quiet.expect("the thread keeps something");
    let is_kept = |byte: usize| {
        let word = Word::of(machine.address(byte));
        let key = quiet::key_of_loads(word, 0xf);
        entries.entry(key).is_about(key)
    };
    assert_eq!(machine.threads[0].crowded, 1, "two have the same place");
    assert_eq!([first, crowded, other].map(is_kept), [false, true, true]);
}

/// What threads do to a flag of so many bytes, and to data beside it: mostly they look at the flag.
fn deed_with_flag(size: usize) -> impl Strategy<Value = (usize, Deed)> {
    use MemoryOrder::{Acquire, AcquireRelease, Relaxed, Release};
    let flag = move |kind, order| Just(Deed::Atomic { kind, order, byte: 8, size });
    let access = |kind, byte, size| Just(Deed::Access { kind, byte, size });
    let deed = prop_oneof![
        20 => flag(AtomicKind::Load, Acquire),
        6 => flag(AtomicKind::Load, Relaxed),
        2 => flag(AtomicKind::Store, Release),
        1 => flag(AtomicKind::Store, Relaxed),
        2 => flag(AtomicKind::ReadModifyWrite, AcquireRelease),
        1 => flag(AtomicKind::ReadModifyWrite, Relaxed),
        1 => access(AccessKind::Read, 8, size),
        1 => access(AccessKind::Write, 8, size),
        4 => access(AccessKind::Write, 16, 8),
        1 => Just(Deed::Fence { order: Acquire }),
        1 => Just(Deed::Fence { order: Release }),
    ];
    (0..ACTORS, deed)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    /// Whether or not threads keep their loads for themselves, they take over what is published, and are remembered. (To look at the cells ends
    /// what is kept, so that is done last.)
    #[test]
    fn flags_that_are_mostly_looked_at(
        deeds in prop::sample::select(&[4usize, 8][..])
            .prop_flat_map(|size| prop::collection::vec(deed_with_flag(size), 1..80)),
    ) {
        let _alone = alone();
        let mut machine = Machine::new(BASE, WORDS);
        for (actor, deed) in deeds {
            machine.perform(actor, deed);
        }
        machine.check();
    }
}
