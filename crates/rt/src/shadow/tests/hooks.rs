//! What the hooks leave out, judged by the model.

use super::alone;
use super::machine::{Deed, Machine, Told, Verdict, deed, remembered};
use crate::abi::access::*;
use crate::shadow::{Word, place_of_note, words};
use crate::tls;
use keirin_core::event::AccessKind;
use proptest::prelude::*;
use std::collections::BTreeSet;

const BASE: usize = 0x2100_0000;
const WORDS: usize = 4;

type Hook = extern "C" fn(usize);

const READS: [(usize, &[Hook]); 5] = [
    (1, &[__tsan_read1, __tsan_volatile_read1]),
    (2, &[__tsan_read2, __tsan_volatile_read2, __tsan_unaligned_read2, __tsan_unaligned_volatile_read2]),
    (4, &[__tsan_read4, __tsan_volatile_read4, __tsan_unaligned_read4, __tsan_unaligned_volatile_read4]),
    (8, &[__tsan_read8, __tsan_volatile_read8, __tsan_unaligned_read8, __tsan_vptr_read]),
    (16, &[__tsan_read16, __tsan_volatile_read16, __tsan_unaligned_read16, __tsan_unaligned_volatile_read16]),
];
const WRITES: [(usize, &[Hook]); 5] = [
    (1, &[__tsan_write1, __tsan_volatile_write1, __tsan_read_write1]),
    (2, &[__tsan_write2, __tsan_volatile_write2, __tsan_unaligned_write2, __tsan_read_write2]),
    (4, &[__tsan_write4, __tsan_volatile_write4, __tsan_unaligned_write4, __tsan_read_write4]),
    (8, &[__tsan_write8, __tsan_volatile_write8, __tsan_unaligned_write8, __tsan_unaligned_read_write8]),
    (16, &[__tsan_write16, __tsan_volatile_write16, __tsan_unaligned_write16, __tsan_read_write16]),
];

fn hooks(kind: AccessKind, size: usize) -> &'static [Hook] {
    let all = if kind == AccessKind::Read { &READS } else { &WRITES };
    all.iter().find(|(of, _)| *of == size).map_or(&[], |(_, hooks)| hooks)
}

/// For words that are not aligned as such: the other hooks tell these in full.
const UNALIGNED_READS: &[Hook] = &[__tsan_unaligned_read8, __tsan_unaligned_volatile_read8];

/// True if all hooks of a kind leave out the access of an actor; they must agree.
fn is_left_out(machine: &Machine, actor: usize, kind: AccessKind, byte: usize, size: usize) -> bool {
    machine.threads[actor].begin_epoch();
    let left_out = |hook: &Hook| {
        let before = SLOW.get();
        hook(machine.address(byte));
        SLOW.get() == before
    };
    let unaligned = kind == AccessKind::Read && size == 8 && !byte.is_multiple_of(8);
    let hooks = if unaligned { UNALIGNED_READS } else { hooks(kind, size) };
    let answers: Vec<bool> = hooks.iter().map(left_out).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    answers.first() == Some(&true)
}

/// True if the access is left out where no hook tells it. A look at a note alone says so of no other.
fn is_known(machine: &Machine, actor: usize, kind: AccessKind, byte: usize, size: usize) -> bool {
    let thread = &machine.threads[actor];
    let (epoch, place) = (thread.epoch_bits(), place_of_note(thread.actor));
    let is_known = |(word, mask): (usize, u8)| {
        let (word, known) = (Word::of(word), Word::of(word).knows(epoch, kind, mask));
        assert!(known || !word.notes(place, epoch, kind, mask), "it is noted and not known");
        known
    };
    words(machine.address(byte), size).all(is_known)
}

/// A race as it was told: byte, later thread and time, earlier thread and time.
type Race = (usize, u32, u64, u32, u64);

fn races(machine: &Machine, actor: usize, position: u64, verdict: &Verdict) -> Vec<Race> {
    let later = machine.threads[actor].actor.0;
    let race = |byte: usize, (thread, time, _): &Told| (byte, later, position, *thread, *time);
    verdict.iter().flat_map(|(byte, races)| races.iter().map(|told| race(*byte, told))).collect()
}

/// What is left out would change nothing and tell nothing new. Of readers at the same time the last one stands apart in the
/// cell; that need not be who reads again. It is enough that the reader is remembered and that its races were told in this
/// epoch. Reads that it has heard of meanwhile stay remembered: they race only with what races with it.
fn check_left_out(
    machine: &mut Machine,
    told: &BTreeSet<Race>,
    actor: usize,
    kind: AccessKind,
    byte: usize,
    size: usize,
) {
    let (at, _) = machine.access_step(actor, kind, byte, size);
    for (byte, after, again) in machine.try_access(actor, &at, kind, byte, size) {
        let before = &machine.model.cells[byte];
        if kind == AccessKind::Write || before.plain().is_some() {
            assert_eq!(&after, before, "byte {byte} would change");
            assert!(again.is_empty(), "byte {byte} has a race: {again:?}");
        } else {
            let (before, after) = (remembered(before), remembered(&after));
            assert!(after.is_subset(&before), "byte {byte} would have another reader");
            for (thread, time) in before.difference(&after) {
                assert!(machine.knows(actor, *thread, *time), "byte {byte} would lose {thread} at {time}");
            }
            for race in races(machine, actor, at.moment.position, &vec![(byte, again)]) {
                assert!(told.contains(&race), "{race:?} was not told");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6000) })]

    #[test]
    fn hooks_leave_out_what_changes_nothing(deeds in prop::collection::vec(deed(WORDS), 1..80)) {
        let _alone = alone();
        let mut machine = Machine::new(BASE, WORDS);
        let mut told = BTreeSet::new();
        for (actor, deed) in deeds {
            if let Deed::Access { kind, byte, size } = deed {
                let known = is_known(&machine, actor, kind, byte, size);
                let left_out = is_left_out(&machine, actor, kind, byte, size);
                prop_assert!(known || !left_out, "{:?} is left out by the hooks alone", deed);
                if known {
                    check_left_out(&mut machine, &told, actor, kind, byte, size);
                }
                if left_out {
                    continue;
                }
            }
            let position = machine.threads[actor].position;
            let verdict = machine.perform(actor, deed);
            told.extend(races(&machine, actor, position, &verdict));
            machine.check();
        }
    }
}

/// Sizes with bytes at which they are aligned for the hooks.
const PLAIN: [(usize, &[usize]); 5] =
    [(1, &[0, 3, 4, 7]), (2, &[0, 2, 4, 6]), (4, &[0, 4, 8]), (8, &[0, 4, 8]), (16, &[0, 4, 8])];

/// The bytes that must have been accessed for the hooks to know an access: whole halves.
fn halves(byte: usize, size: usize) -> (usize, usize) {
    let first = byte / 4 * 4;
    (first, (byte + size).next_multiple_of(4) - first)
}

fn plain_cases(mut case: impl FnMut(&mut Machine, usize, usize)) {
    let _alone = alone();
    for (size, bytes) in PLAIN {
        for byte in bytes {
            case(&mut Machine::new(BASE, WORDS), *byte, size);
        }
    }
}

fn access(kind: AccessKind, (byte, size): (usize, usize)) -> Deed {
    Deed::Access { kind, byte, size }
}

#[test]
fn what_was_written_in_this_epoch_is_neither_written_nor_read_again() {
    plain_cases(|machine, byte, size| {
        assert!(!is_left_out(machine, 1, AccessKind::Write, byte, size), "the first one is told");
        machine.perform(1, access(AccessKind::Write, halves(byte, size)));
        for kind in [AccessKind::Write, AccessKind::Read] {
            assert!(is_left_out(machine, 1, kind, byte, size), "{kind:?} of {size} at {byte}");
            assert!(!is_left_out(machine, 2, kind, byte, size), "another thread");
        }
        machine.perform(1, Deed::Signal { word: WORDS - 1 });
        for kind in [AccessKind::Write, AccessKind::Read] {
            assert!(!is_left_out(machine, 1, kind, byte, size), "another epoch");
        }
    });
}

#[test]
fn what_was_read_in_this_epoch_is_not_read_again() {
    plain_cases(|machine, byte, size| {
        machine.perform(0, access(AccessKind::Read, halves(byte, size)));
        assert!(is_left_out(machine, 0, AccessKind::Read, byte, size), "{size} at {byte}");
        assert!(!is_left_out(machine, 0, AccessKind::Write, byte, size), "{size} at {byte}");
        assert!(!is_left_out(machine, 3, AccessKind::Read, byte, size), "another thread");
        machine.perform(0, Deed::Signal { word: WORDS - 1 });
        assert!(!is_left_out(machine, 0, AccessKind::Read, byte, size), "another epoch");
    });
}

/// Three readers at the same time find room; each is noted when it has told its read of memory that others read as well.
#[test]
fn readers_at_the_same_time_are_noted() {
    plain_cases(|machine, byte, size| {
        // Two words are looked at only if the access begins with one of them.
        if size >= 8 && byte % 8 != 0 {
            return;
        }
        let read = access(AccessKind::Read, halves(byte, size));
        for actor in [0, 1, 2, 0, 1, 2] {
            machine.perform(actor, read);
        }
        for actor in 0..3 {
            assert!(is_left_out(machine, actor, AccessKind::Read, byte, size), "{size} at {byte} by {actor}");
            assert!(!is_left_out(machine, actor, AccessKind::Write, byte, size));
        }
        machine.perform(3, access(AccessKind::Write, (byte, 1)));
        for actor in 0..3 {
            assert!(!is_left_out(machine, actor, AccessKind::Read, byte, size), "it was written since");
        }
    });
}

/// Memory that is forgotten in part is read anew, also by those who were noted.
#[test]
fn forgetting_a_byte_forgets_its_readers() {
    let _alone = alone();
    let mut machine = Machine::new(BASE, WORDS);
    for actor in [0, 1, 0, 1] {
        machine.perform(actor, access(AccessKind::Read, (0, 8)));
    }
    assert!(is_left_out(&machine, 0, AccessKind::Read, 0, 8));
    machine.perform(2, Deed::Forget { byte: 3, size: 1 });
    assert!(!is_left_out(&machine, 0, AccessKind::Read, 0, 8));
}

#[test]
fn a_thread_without_an_epoch_tells_everything() {
    let _alone = alone();
    let mut machine = Machine::new(BASE, WORDS);
    machine.perform(0, access(AccessKind::Write, (0, 16)));
    tls::set_epoch(0, 0);
    for (size, hooks) in READS.iter().chain(&WRITES) {
        for hook in *hooks {
            let before = SLOW.get();
            hook(machine.address(0));
            hook(machine.address(8 * WORDS));
            assert_eq!(SLOW.get(), before + 2, "{size}");
        }
    }
}

/// An access of several halves is told if one of them, whichever it is, has changed.
#[test]
fn each_half_is_looked_at() {
    let _alone = alone();
    let (read, write) = (AccessKind::Read, AccessKind::Write);
    // Who does what before, what is left out then, and by what that ends.
    let cases: [(&[usize], AccessKind, AccessKind, &[AccessKind]); 4] = [
        (&[1], write, write, &[read, write]),
        (&[1], write, read, &[write]),
        (&[1], read, read, &[read, write]),
        (&[0, 1, 2, 0, 1, 2], read, read, &[write]),
    ];
    for (size, byte) in PLAIN.iter().flat_map(|(size, bytes)| bytes.iter().map(move |byte| (*size, *byte))) {
        let (first, length) = halves(byte, size);
        for (actors, before, kind, ends) in cases {
            if actors.len() > 1 && size >= 8 && byte % 8 != 0 {
                continue;
            }
            let forget = |half: usize| Deed::Forget { byte: half.max(byte), size: 1 };
            for half in (first..first + length).step_by(4) {
                let by_access = ends.iter().map(|end| access(*end, (half, 4)));
                for end in by_access.chain([forget(half)]) {
                    let mut machine = Machine::new(BASE, WORDS);
                    for actor in actors {
                        machine.perform(*actor, access(before, (first, length)));
                    }
                    let what =
                        format!("{kind:?} of {size} at {byte} after {before:?} by {actors:?}, {end:?}");
                    assert!(is_left_out(&machine, 1, kind, byte, size), "before: {what}");
                    machine.perform(3, end);
                    assert!(!is_left_out(&machine, 1, kind, byte, size), "after: {what}");
                }
            }
        }
    }
}
