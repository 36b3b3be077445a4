//! What other sides of branches would do: the same is found as if they did it, whether a side is told one by one or shown as a whole.

use super::*;
use crate::watch::SideStep;

/// An access of the other side of a branch, perhaps under a lock that this side takes for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    kind: AccessKind,
    byte: usize,
    size: usize,
    lock: Option<(usize, LockMode)>,
}

/// What the other side of a branch would do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side([Option<Access>; 3]);

impl Side {
    /// The same with those locks only that can be taken.
    pub(super) fn with_locks(self, is_free: impl Fn(usize) -> bool) -> Self {
        let taken =
            |access: Access| Access { lock: access.lock.filter(|(lock, _)| is_free(*lock)), ..access };
        Self(self.0.map(|access| access.map(taken)))
    }
}

fn kinds() -> impl Strategy<Value = AccessKind> {
    prop_oneof![Just(AccessKind::Read), Just(AccessKind::Write)]
}

fn modes() -> impl Strategy<Value = LockMode> {
    prop_oneof![Just(LockMode::Exclusive), Just(LockMode::Shared)]
}

/// Sides with accesses of at least so many bytes, as a power of two, in so many bytes of memory; under locks of their own if that is wanted.
fn sides(least: u32, bytes: usize, locks: bool) -> impl Strategy<Value = Side> {
    let access = move || {
        let lock = proptest::option::of((0..LOCKS, modes())).prop_map(move |lock| lock.filter(|_| locks));
        (kinds(), 0..bytes, least..5, lock).prop_map(|(kind, byte, size, lock)| {
            let size = 1 << size;
            let unit = size.min(8);
            Access { kind, byte: byte / unit * unit, size, lock }
        })
    };
    let more = move || proptest::option::weighted(0.3, access());
    (access(), more(), more()).prop_map(|(first, second, third)| Side([Some(first), second, third]))
}

/// What is done, with other sides of branches between.
fn deeds_with_others(least: u32, locks: bool) -> impl Strategy<Value = Vec<Deed>> {
    let others = proptest::collection::vec((0..1000usize, sides(least, BYTES, locks)), 1..20);
    (deeds(least), others).prop_map(|(mut deeds, others)| {
        for (at, other) in others {
            deeds.insert(at % (deeds.len() + 1), Deed::Other(other));
        }
        deeds
    })
}

/// Steps that do the same again and again, or would do it: under other locks, or in memory that was given back in between.
fn deeds_with_others_again(locks: bool) -> impl Strategy<Value = Vec<Deed>> {
    let word = || (0..2usize).prop_map(|word| word * 8);
    let deed = prop_oneof![
        6 => (kinds(), word()).prop_map(|(kind, byte)| Deed::Access { kind, byte, size: 8 }),
        12 => sides(3, 16, locks).prop_map(Deed::Other),
        2 => Just(Deed::Spawn),
        3 => (0usize..4).prop_map(Deed::Begin),
        2 => Just(Deed::End),
        1 => Just(Deed::Suspend),
        1 => Just(Deed::Wait),
        3 => (0..LOCKS, modes()).prop_map(|(lock, mode)| Deed::Acquire(lock, mode)),
        3 => (0..LOCKS).prop_map(Deed::Release),
        2 => word().prop_map(|byte| Deed::Free { byte, size: 8 }),
        1 => Just(Deed::BlockBegin),
        1 => Just(Deed::BlockEnd),
        1 => Just(Deed::Sweep),
    ];
    proptest::collection::vec(deed, 1..80)
}

/// What a side would do, for both drivers.
pub(super) fn tell<A: KeepsPlain + Sync>(
    driver: &TaskDriver<A>,
    thread: &mut Thread,
    mut joint: Option<&mut TaskReplay<'_, A, Ranks>>,
    side: Side,
    place: usize,
    memory: usize,
) {
    let pc = 0x9000 + place;
    let mut event = |op| {
        let event = Event { thread: ThreadId(0), site: SiteId(pc as u32), op };
        joint.as_mut().is_none_or(|joint| joint.event(place as u64, &event).is_ok())
    };
    let id = |lock: usize| LockId(lock as u32);
    let address = |lock: usize| memory + BYTES + 8 + lock * 8;
    let mut steps: Vec<(Op, usize)> = Vec::new();
    for Access { kind, byte, size, lock } in side.0.into_iter().flatten() {
        let addr = memory + byte;
        // Somebody who has ended may still hold it.
        let lock = lock.filter(|(lock, mode)| event(Op::Acquire { lock: id(*lock), mode: *mode }));
        let access = Op::Access { kind, size: size as u32, addr: Addr(addr as u64) };
        assert!(event(access));
        if let Some((lock, mode)) = lock {
            assert!(event(Op::Release { lock: id(lock), mode }));
            steps.push((Op::Acquire { lock: id(lock), mode }, address(lock)));
        }
        steps.push((access, addr));
        if let Some((lock, mode)) = lock {
            steps.push((Op::Release { lock: id(lock), mode }, address(lock)));
        }
    }
    let whole: Vec<SideStep> = steps.iter().map(|(op, _)| SideStep::of(*op)).collect();
    let at: Vec<usize> = steps.iter().map(|(_, address)| *address).collect();
    if !place.is_multiple_of(3) && driver.other_side(thread, &whole, &at) {
        return;
    }
    for (op, at) in steps {
        match op {
            Op::Access { kind, size, .. } => driver.other_access(thread, kind, at, size as usize, pc),
            Op::Acquire { mode, .. } => driver.other_lock(thread, at, mode, true, pc),
            Op::Release { mode, .. } => driver.other_lock(thread, at, mode, false, pc),
            _ => {}
        }
    }
    driver.other_end(thread);
}

/// A possible write under a lock, and the same again without it, to which a task is parallel that takes the lock: shown as a whole, the second one is
/// not taken for the first one.
#[test]
fn a_side_with_other_locks_is_told_again() {
    let side = |lock| {
        let access = Access { kind: AccessKind::Write, byte: 0, size: 8, lock };
        Deed::Other(Side([Some(access), None, None]))
    };
    let locked = || side(Some((0, LockMode::Exclusive)));
    let (take, leave) = (|| Deed::Acquire(0, LockMode::Exclusive), || Deed::Release(0));
    let write = Deed::Access { kind: AccessKind::Write, byte: 0, size: 8 };
    let races = || PtRacer { goes_on: true };
    for (second, expected) in [(side(None), 1), (locked(), 0)] {
        let deeds = [Deed::Spawn, locked(), locked(), second, Deed::Begin(0), take(), write, leave()];
        let found = compare_with(&deeds, races(), &races(), Some(&races()), 8);
        assert_eq!(found.unwrap_or_else(|difference| panic!("{difference}")), expected);
    }
}

/// A possible write without a lock, and the same really done under one, which the step still holds when it ends. A task that takes the lock is
/// parallel to both: the real write does not stand for the possible one, unless that would be done under the lock as well.
#[test]
fn what_is_done_under_other_locks_is_not_what_is_held_back() {
    let side = |lock| {
        let access = Access { kind: AccessKind::Write, byte: 0, size: 8, lock };
        Deed::Other(Side([Some(access), None, None]))
    };
    let (take, leave) = (|| Deed::Acquire(0, LockMode::Exclusive), || Deed::Release(0));
    let write = || Deed::Access { kind: AccessKind::Write, byte: 0, size: 8 };
    let races = || PtRacer { goes_on: true };
    for (held, expected) in [(side(None), 1), (side(Some((0, LockMode::Exclusive))), 0)] {
        let first = [Deed::Spawn, held, take(), write(), Deed::Spawn, leave()];
        let deeds: Vec<Deed> = first.into_iter().chain([Deed::Begin(0), take(), write(), leave()]).collect();
        let found = compare_with(&deeds, races(), &races(), Some(&races()), 8);
        assert_eq!(found.unwrap_or_else(|difference| panic!("{difference}")), expected);
    }
}

/// A step has read half of a word, of which another one has read the other half: that stands for a possible read, and not for a possible write.
#[test]
fn a_half_that_was_read_stands_for_a_read() {
    let half = |byte| Deed::Access { kind: AccessKind::Read, byte, size: 4 };
    let races = || PtRacer { goes_on: true };
    for (kind, expected) in [(AccessKind::Write, 1), (AccessKind::Read, 0)] {
        let access = Access { kind, byte: 4, size: 4, lock: None };
        let side = Deed::Other(Side([Some(access), None, None]));
        let deeds = [half(0), Deed::Spawn, side, half(4), Deed::Begin(0), half(4)];
        let found = compare_with(&deeds, races(), &races(), Some(&races()), 4);
        assert_eq!(found.unwrap_or_else(|difference| panic!("{difference}")), expected);
    }
}

/// A possible write that is held back while another thread gives the memory back is not one of who gets the memory next.
#[test]
fn what_is_held_back_of_memory_that_others_give_back_is_dropped() {
    for is_given_back in [false, true] {
        let case = Case::new(PtRacer { goes_on: true });
        let (driver, memory) = (&case.driver, case.memory.address);
        // SAFETY: it was just made, and belongs to this thread until the end of the test.
        let thread = unsafe { &mut *case.thread };
        driver.structure(thread, Op::Spawn { task: TaskId(0) }, 0x1000);
        for word in [0, 8] {
            driver.other_access(thread, AccessKind::Write, memory + word, 8, 0x1001);
        }
        driver.other_end(thread);
        if is_given_back {
            driver.forgotten(None, memory, 8);
        }
        driver.structure(thread, Op::TaskBegin { task: TaskId(0) }, 0x1002);
        for word in [0, 8] {
            driver.access(thread, AccessKind::Write, memory + word, 8, 0x1003);
        }
        let beside = flagged(&driver.parts(thread).0.beside.flagged, memory, 8);
        let expected: &[usize] = if is_given_back { &[1] } else { &[0, 1] };
        assert_eq!(beside.iter().map(|(word, _)| *word).collect::<Vec<_>>(), expected);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn possible_races_online_are_those_offline(deeds in deeds_with_others(0, true)) {
        let races = || PtRacer { goes_on: true };
        compare_with(&deeds, races(), &races(), Some(&races()), 8)?;
    }

    #[test]
    fn possible_tears_online_are_those_offline(deeds in deeds_with_others(2, false)) {
        let modes = Modes { blocks: true, steps: false, gaps: true };
        let both = || Both(PtRacer { goes_on: true }, TaskAtomicity::new(modes));
        compare_with(&deeds, both(), &both(), Some(&both()), 8)?;
    }

    #[test]
    fn possible_races_again_are_those_offline(deeds in deeds_with_others_again(true)) {
        let races = || PtRacer { goes_on: true };
        compare_with(&deeds, races(), &races(), Some(&races()), 8)?;
    }

    #[test]
    fn possible_tears_again_are_those_offline(deeds in deeds_with_others_again(false)) {
        let modes = Modes { blocks: true, steps: false, gaps: true };
        let both = || Both(PtRacer { goes_on: true }, TaskAtomicity::new(modes));
        compare_with(&deeds, both(), &both(), Some(&both()), 8)?;
    }
}
