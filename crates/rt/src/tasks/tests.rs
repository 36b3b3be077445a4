//! The online driver against the offline one: the same events, the same memory flagged, whatever is random about them. The accesses
//! go through the hooks, so that what those pass over is tested as well.

mod possible;
mod sections;
mod together;

use super::TaskDriver;
use super::words::{self, TaskWord};
use crate::abi::access::{self, SLOW, SLOW_AT};
use crate::thread::{Registry, Thread};
use crate::watch::Ranges;
use crate::watcher::Watcher;
use crate::{start, tls};
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::several::Both;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::analysis::tasks::{Calls, Flagged};
use keirin_core::event::{AccessKind, Addr, Event, LockId, LockMode, Op, RegionId, SiteId, TaskId, ThreadId};
use keirin_core::finding::Rule;
use keirin_core::replay::ReplayOptions;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::sptree::ranks::Ranks;
use possible::Side;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of memory that the tasks share. Locks lie behind them.
const BYTES: usize = 40;
const LOCKS: usize = 2;

/// Something that the thread does.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Access {
        kind: AccessKind,
        byte: usize,
        size: usize,
    },
    Spawn,
    /// Begins one of the tasks that were spawned.
    Begin(usize),
    /// Leaves the task that runs, to be resumed by a later begin.
    Suspend,
    End,
    Wait,
    FinishBegin,
    FinishEnd,
    Acquire(usize, LockMode),
    Release(usize),
    BlockBegin,
    BlockEnd,
    Free {
        byte: usize,
        size: usize,
    },
    Sweep,
    /// What the other side of a branch would do.
    Other(Side),
    /// Accesses of a loop, or of two, one in the other: numbers and distances.
    Range {
        kind: AccessKind,
        byte: usize,
        size: usize,
        inner: (usize, isize),
        outer: (usize, isize),
        repeated: bool,
    },
    /// Enters so many functions, after so many were left.
    Call {
        left: usize,
        entered: usize,
    },
}

/// What is done, with accesses of at least so many bytes, as a power of two.
fn deeds(least: u32) -> impl Strategy<Value = Vec<Deed>> {
    deeds_with_locks(least, 1, BYTES)
}

/// The same with locks that are taken and released so often, and accesses of so many bytes of the memory.
fn deeds_with_locks(least: u32, often: u32, bytes: usize) -> impl Strategy<Value = Vec<Deed>> {
    let kind = prop_oneof![Just(AccessKind::Read), Just(AccessKind::Write)];
    let access = (kind, 0..bytes, least..5).prop_map(|(kind, byte, size)| {
        let size = 1 << size;
        // Those of two words need not begin at an even one.
        let unit = size.min(8);
        Deed::Access { kind, byte: byte / unit * unit, size }
    });
    let mode = prop_oneof![Just(LockMode::Exclusive), Just(LockMode::Shared)];
    let deed = prop_oneof![
        12 => access,
        3 => Just(Deed::Spawn),
        4 => (0usize..4).prop_map(Deed::Begin),
        1 => Just(Deed::Suspend),
        3 => Just(Deed::End),
        2 => Just(Deed::Wait),
        1 => Just(Deed::FinishBegin),
        1 => Just(Deed::FinishEnd),
        often => (0..LOCKS, mode).prop_map(|(lock, mode)| Deed::Acquire(lock, mode)),
        often => (0..LOCKS).prop_map(Deed::Release),
        1 => Just(Deed::BlockBegin),
        1 => Just(Deed::BlockEnd),
        1 => (0..BYTES, 1usize..12).prop_map(move |(byte, size)| {
            let unit = 1 << least;
            let byte = byte / unit * unit;
            Deed::Free { byte, size: size.next_multiple_of(unit).min(BYTES - byte) }
        }),
        1 => Just(Deed::Sweep),
    ];
    proptest::collection::vec(deed, 1..120)
}

/// The same with accesses of loops, most of which are told side by side.
fn deeds_with_ranges(least: u32) -> impl Strategy<Value = Vec<Deed>> {
    let kind = prop_oneof![Just(AccessKind::Read), Just(AccessKind::Write)];
    let distance = || prop_oneof![3 => Just(1isize), 1 => Just(-1), 1 => -3isize..4];
    let number = || prop_oneof![2 => Just(1usize), 3 => 1usize..6];
    let outer = (number(), -4isize..5);
    let range = (kind, 0..BYTES, least..5, (number(), distance()), outer, any::<bool>()).prop_map(
        |(kind, byte, size, inner, outer, repeated)| {
            let size = 1usize << size;
            let unit = size.min(8);
            let (inner, outer) = ((inner.0, inner.1 * unit as isize), (outer.0, outer.1 * unit as isize));
            Deed::Range { kind, byte: byte / unit * unit, size, inner, outer, repeated }
        },
    );
    let ranges = proptest::collection::vec((0..1000usize, range), 1..20);
    (deeds(least), ranges).prop_map(|(mut deeds, ranges)| {
        for (at, range) in ranges {
            deeds.insert(at % (deeds.len() + 1), range);
        }
        deeds
    })
}

/// What is done by code that tells nothing but locks and what they guard, and whose open calls are read from the stack.
fn deeds_within_calls() -> impl Strategy<Value = Vec<Deed>> {
    let kind = prop_oneof![Just(AccessKind::Read), Just(AccessKind::Write)];
    let deed = prop_oneof![
        8 => (kind, 0..2usize).prop_map(|(kind, object)| Deed::Access { kind, byte: object * 8, size: 1 }),
        2 => Just(Deed::Spawn),
        4 => (0usize..4).prop_map(Deed::Begin),
        2 => Just(Deed::End),
        1 => Just(Deed::Wait),
        6 => (0..LOCKS).prop_map(|lock| Deed::Acquire(lock, LockMode::Exclusive)),
        6 => (0..LOCKS).prop_map(Deed::Release),
        4 => (0usize..3, 0usize..4).prop_map(|(left, entered)| Deed::Call { left, entered }),
    ];
    proptest::collection::vec(deed, 1..160)
}

/// The open calls of a thread, for each of the tasks that it has begun and for what it did before: the number of each, the
/// outermost first.
#[derive(Default)]
struct OpenCalls {
    of_tasks: Vec<Vec<u32>>,
    last: u32,
}

impl OpenCalls {
    /// Those of what runs now.
    fn current(&mut self, running: usize) -> &mut Vec<u32> {
        self.of_tasks.resize_with(running + 1, Vec::new);
        &mut self.of_tasks[running]
    }

    fn change(&mut self, running: usize, left: usize, entered: usize) {
        let numbers = self.last + 1..=self.last + entered as u32;
        self.last += entered as u32;
        let open = self.current(running);
        open.truncate(open.len().saturating_sub(left));
        open.extend(numbers);
    }

    /// As the stack has them: return addresses and frames, the innermost first.
    fn on_stack(&mut self, running: usize) -> Vec<(usize, usize)> {
        let calls = self.current(running).iter().enumerate();
        let frame = |depth: usize| 0x7000_0000 - 0x10_0000 * running - 0x100 * depth;
        calls.map(|(depth, call)| (0x5000 + *call as usize, frame(depth))).rev().collect()
    }

    /// As the offline driver is told.
    fn innermost(&mut self, running: usize) -> Calls {
        let mut calls = Calls::default();
        calls.iter_mut().zip(self.current(running).iter().rev()).for_each(|(to, from)| *to = *from);
        calls
    }
}

/// The event of a deed, or None if there is nothing to do. `waiting` are tasks that can begin, `running` those that the thread
/// has begun, `held` the locks with their modes.
fn op_of(
    deed: Deed,
    memory: usize,
    tasks: u32,
    (waiting, running): (&[TaskId], &[TaskId]),
    held: [Option<LockMode>; LOCKS],
) -> Option<Op> {
    let address = |byte: usize| Addr((memory + byte) as u64);
    Some(match deed {
        Deed::Access { kind, byte, size } => Op::Access { kind, size: size as u32, addr: address(byte) },
        Deed::Spawn => Op::Spawn { task: TaskId(tasks) },
        Deed::Begin(which) => Op::TaskBegin { task: *waiting.get(which % waiting.len().max(1))? },
        Deed::Suspend => Op::TaskSuspend { task: *running.last()? },
        Deed::End => Op::TaskEnd { task: *running.last()? },
        Deed::Wait => Op::TaskWait,
        Deed::FinishBegin => Op::FinishBegin,
        Deed::FinishEnd => Op::FinishEnd,
        // Recursion in two modes is a matter of its own.
        Deed::Acquire(lock, _) if held[lock].is_some() => return None,
        Deed::Acquire(lock, mode) => Op::Acquire { lock: LockId(lock as u32), mode },
        Deed::Release(lock) => Op::Release { lock: LockId(lock as u32), mode: held[lock]? },
        Deed::BlockBegin => Op::Begin { region: RegionId(0) },
        Deed::BlockEnd => Op::End,
        Deed::Free { byte, size } => Op::Free { size: size as u32, addr: address(byte) },
        Deed::Sweep | Deed::Call { .. } | Deed::Other(_) | Deed::Range { .. } => return None,
    })
}

/// What was flagged, in pieces of so many bytes, with the rule. (Of a cell with gaps in it only the number of bytes is told.)
fn flagged(list: &Flagged, memory: usize, piece: usize) -> BTreeSet<(usize, Rule)> {
    let bytes = |&(addr, size, rule): &(Addr, u32, Rule)| {
        (0..size as usize).map(move |byte| ((addr.0 as usize + byte - memory) / piece, rule))
    };
    list.ranges().iter().flat_map(bytes).collect()
}

/// The instruction of an access, as both drivers are told where calls are known: the same for accesses of one kind and size.
fn code_of(op: Op) -> u64 {
    match op {
        Op::Access { kind, size, .. } => {
            1 + u64::from(size.min(16)) * 2 + u64::from(kind == AccessKind::Write)
        }
        _ => 0,
    }
}

/// Calls the hook of an access. Gives the instruction if that was not all.
fn call_hook(kind: AccessKind, addr: usize, size: usize) -> Option<usize> {
    let before = SLOW.get();
    match (kind, size) {
        (AccessKind::Read, 1) => access::__tsan_read1(addr),
        (AccessKind::Read, 2) => access::__tsan_read2(addr),
        (AccessKind::Read, 4) => access::__tsan_read4(addr),
        (AccessKind::Read, 8) => access::__tsan_read8(addr),
        (AccessKind::Read, _) => access::__tsan_read16(addr),
        (AccessKind::Write, 1) => access::__tsan_write1(addr),
        (AccessKind::Write, 2) => access::__tsan_write2(addr),
        (AccessKind::Write, 4) => access::__tsan_write4(addr),
        (AccessKind::Write, 8) => access::__tsan_write8(addr),
        (AccessKind::Write, _) => access::__tsan_write16(addr),
    }
    (SLOW.get() != before).then(|| SLOW_AT.get())
}

fn act<A: KeepsPlain + Sync>(
    driver: &TaskDriver<A>,
    thread: &mut Thread,
    op: Op,
    place: usize,
    memory: usize,
) {
    let lock = |lock: LockId| memory + BYTES + 8 + lock.index() * 8;
    match op {
        Op::Access { kind, size, addr } => {
            let (addr, size) = (addr.0 as usize, size as usize);
            if place.is_multiple_of(2) {
                // Told by no hook of an access, as what is copied.
                let run_at = 0x80 + usize::from(kind == AccessKind::Read);
                let copied = place.is_multiple_of(4);
                let told = super::is_known_or_expected(kind, addr, size, run_at)
                    || (copied && driver.copy_access(thread, kind, (addr, size), 0x80))
                    || driver.short_access(thread, kind, (addr, size), 0x80, run_at);
                if !told {
                    driver.access(thread, kind, addr, size, 0x80);
                }
                return;
            }
            if let Some(pc) = call_hook(kind, addr, size)
                && !driver.short_access(thread, kind, (addr, size), pc, pc)
            {
                driver.access(thread, kind, addr, size, pc);
            }
        }
        Op::Acquire { lock: id, mode } => driver.lock_acquired(thread, lock(id), mode, place),
        Op::Release { lock: id, .. } => driver.lock_released(thread, lock(id), place),
        Op::Begin { region } => driver.region_begin(thread, region, place, true),
        Op::End => driver.region_end(thread, place),
        Op::Free { size, addr } => driver.forgotten(Some(thread), addr.0 as usize, size as usize),
        _ => driver.structure(thread, op, place),
    }
}

/// Accesses of a loop, for both drivers: one after the other, and all at once.
fn range<A: KeepsPlain + Sync>(
    driver: &TaskDriver<A>,
    thread: &mut Thread,
    replay: &mut TaskReplay<'_, A, Ranks>,
    deed: Deed,
    place: usize,
    memory: usize,
) {
    let Deed::Range { kind, byte, size, inner, outer, repeated } = deed else { return };
    let what = size as u64
        | u64::from(kind == AccessKind::Write) << 5
        | u64::from(repeated) << 6
        | (inner.0 as u64) << 8;
    let told = |addr: usize| (memory..memory + BYTES).contains(&addr) && addr + size <= memory + BYTES;
    let rows = (0..outer.0 as isize).map(|row| row * outer.1);
    let all: Vec<usize> = rows
        .flat_map(|row| (0..inner.0 as isize).map(move |index| row + index * inner.1))
        .map(|offset| (memory + byte).wrapping_add_signed(offset))
        .collect();
    if !all.iter().all(|addr| told(*addr)) {
        return;
    }
    for addr in (0..=usize::from(repeated)).flat_map(|_| all.iter()) {
        let op = Op::Access { kind, size: size as u32, addr: Addr(*addr as u64) };
        let event = Event { thread: ThreadId(0), site: SiteId(place as u32), op };
        assert!(replay.event(place as u64, &event).is_ok());
    }
    let ranges = Ranges::of(memory + byte, what, inner.1, outer.0, outer.1).expect("something happens");
    if super::is_known(&ranges) || driver.range_access(thread, &ranges, place) {
        return;
    }
    ranges.one_by_one(ranges.repeated, |addr| {
        if !driver.short_access(thread, kind, (addr, size), place, place) {
            driver.access(thread, kind, addr, size, place);
        }
    });
}

/// A page of memory for one case; nothing is known about it, and nobody of that case is there, afterwards.
struct Memory {
    address: usize,
    thread: ThreadId,
}

impl Drop for Memory {
    fn drop(&mut self) {
        words::forget_all(self.address, 4096);
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(self.thread) {
                entry.ended = true;
            }
        });
        tls::set_task(0);
        tls::set_recent(0, 0);
        tls::set_pending(0);
        tls::set_thread(std::ptr::null_mut());
    }
}

/// A driver for one case, with a thread and memory. What the thread keeps is given back in the end: of many cases it would be too much.
struct Case<A: KeepsPlain + Sync> {
    memory: Memory,
    driver: TaskDriver<A>,
    thread: *mut Thread,
    _alone: MutexGuard<'static, ()>,
}

impl<A: KeepsPlain + Send + Sync> Case<A> {
    fn new(analysis: A) -> Self {
        // A sweep goes through all of the shadow.
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        start::map_for_tests();
        // Large tables come from the kernel one by one: the C library's allocator would find no room for those of one case after
        // the other between what is left of them.
        // SAFETY: has no preconditions.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20) };
        static NEXT: AtomicUsize = AtomicUsize::new(0x10_0000_0000);
        let address = NEXT.fetch_add(4096, Ordering::Relaxed);
        let driver = TaskDriver::new(analysis);
        let thread = driver.attach();
        // SAFETY: it was just made.
        let id = unsafe { (*thread).id };
        Self { memory: Memory { address, thread: id }, driver, thread, _alone: alone }
    }
}

impl<A: KeepsPlain + Sync> Drop for Case<A> {
    fn drop(&mut self) {
        // SAFETY: it was made in `new` and is used by nobody else.
        self.driver.drop_state(unsafe { &mut *self.thread });
    }
}

/// Follows which tasks there are.
fn follow(op: Op, tasks: &mut u32, waiting: &mut Vec<TaskId>, running: &mut Vec<TaskId>) {
    match op {
        Op::Spawn { task } => {
            *tasks += 1;
            waiting.push(task);
        }
        Op::TaskBegin { task } => {
            waiting.retain(|other| *other != task);
            running.push(task);
        }
        Op::TaskSuspend { task } => {
            running.pop();
            waiting.push(task);
        }
        Op::TaskEnd { .. } => _ = running.pop(),
        _ => {}
    }
}

/// Does everything with both drivers and compares what they flag. Gives how much that is.
fn compare<A: KeepsPlain + Send + Sync>(
    deeds: &[Deed],
    online: A,
    offline: &A,
    piece: usize,
) -> Result<usize, TestCaseError> {
    compare_with(deeds, online, offline, None, piece)
}

/// The same with an analysis that takes possible accesses for real ones, if there are some: what it flags is flagged online, by the
/// real accesses or beside them.
fn compare_with<A: KeepsPlain + Send + Sync>(
    deeds: &[Deed],
    online: A,
    offline: &A,
    joint: Option<&A>,
    piece: usize,
) -> Result<usize, TestCaseError> {
    let case = Case::new(online);
    let (driver, memory) = (&case.driver, case.memory.address);
    // SAFETY: it was just made, and belongs to this thread until the end of the test.
    let thread = unsafe { &mut *case.thread };
    let mut replay: TaskReplay<'_, A, Ranks> =
        TaskReplay::new(offline, "test", ReplayOptions::default(), TaskOptions::default());
    let mut joint: Option<TaskReplay<'_, A, Ranks>> =
        joint.map(|joint| TaskReplay::new(joint, "test", ReplayOptions::default(), TaskOptions::default()));
    let (mut tasks, mut waiting, mut running) = (0, Vec::new(), Vec::new());
    let mut held: Vec<(usize, [Option<LockMode>; LOCKS])> = vec![(usize::MAX, [None; LOCKS])];
    let mut calls = OpenCalls::default();
    for (position, deed) in (1..).zip(deeds) {
        if let Deed::Call { left, entered } = deed {
            calls.change(running.len(), *left, *entered);
        }
        if matches!(deed, Deed::Sweep) {
            driver.sweep(thread);
        }
        if let Deed::Other(side) = *deed {
            let is_free = |lock: usize| held.iter().all(|held| held.1[lock].is_none());
            possible::tell(
                driver,
                thread,
                joint.as_mut(),
                side.with_locks(is_free),
                position as usize,
                memory,
            );
        }
        if matches!(deed, Deed::Range { .. }) {
            range(driver, thread, &mut replay, *deed, position as usize, memory);
        }
        let mine = held.last().map_or([None; LOCKS], |held| held.1);
        let Some(op) = op_of(*deed, memory, tasks, (&waiting, &running), mine) else { continue };
        let event = Event { thread: ThreadId(0), site: SiteId(position as u32), op };
        let innermost = calls.innermost(running.len());
        replay.set_calls(innermost, if innermost[0] == 0 { 0 } else { code_of(op) });
        if replay.event(position, &event).is_err() {
            continue;
        }
        if let Some(joint) = &mut joint {
            prop_assert!(joint.event(position, &event).is_ok());
        }
        follow(op, &mut tasks, &mut waiting, &mut running);
        match (op, deed) {
            (Op::TaskBegin { task }, _) => {
                let known = held.iter().position(|held| held.0 == task.index());
                let known = known.map_or((task.index(), [None; LOCKS]), |index| held.remove(index));
                held.push(known);
            }
            (Op::TaskSuspend { .. } | Op::TaskEnd { .. }, _) => {
                let left = held.pop();
                if matches!(op, Op::TaskSuspend { .. }) {
                    held.splice(0..0, left);
                }
            }
            (Op::Acquire { mode, .. }, Deed::Acquire(lock, _)) => {
                held.last_mut().into_iter().for_each(|held| held.1[*lock] = Some(mode));
            }
            (Op::Release { .. }, Deed::Release(lock)) => {
                held.last_mut().into_iter().for_each(|held| held.1[*lock] = None);
            }
            _ => {}
        }
        match (op, calls.on_stack(running.len())) {
            (Op::Access { kind, addr, .. }, open) if !open.is_empty() => {
                thread.look_at_stack(&open, 0);
                driver.access(thread, kind, addr.0 as usize, 1, code_of(op) as usize);
                thread.look_away();
            }
            _ => act(driver, thread, op, 0x1000 + position as usize, memory),
        }
    }
    let outcome = replay.finish();
    let mut possible_found = 0;
    driver.tell_held(thread);
    let (worker, _) = driver.parts(thread);
    let found = flagged(&worker.flagged, memory, piece);
    let expected = flagged(&outcome.flagged, memory, piece);
    // Either of the two may have to start again (see below), also the one that takes possible accesses for real ones.
    let joint = joint.map(TaskReplay::finish).filter(|joint| !joint.needs_all && !outcome.needs_all);
    if let Some(joint) = joint {
        let all = flagged(&joint.flagged, memory, piece);
        let beside = flagged(&worker.beside.flagged, memory, piece);
        let told: BTreeSet<_> = found.union(&beside).copied().collect();
        // A gap is none if the value was read again, so that a possible read hides some; the real accesses tell them.
        let all: BTreeSet<_> = all.union(&expected).copied().collect();
        prop_assert_eq!(&told, &all, "{:?}", beside);
        possible_found = beside.difference(&found).count();
    }
    // With order beside the tree the offline driver would have to start again.
    if !outcome.needs_all {
        prop_assert_eq!(&found, &expected, "{:?} {:?}", worker.flagged.ranges(), outcome.flagged.ranges());
    }
    Ok(found.len() + possible_found)
}

fn config() -> ProptestConfig {
    let cases = std::env::var("KEIRIN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

#[test]
fn gaps_within_calls_online_are_those_offline() {
    let modes = Modes { blocks: false, steps: false, gaps: true };
    let found = Cell::new(0);
    let compared = TestRunner::new(config()).run(&deeds_within_calls(), |deeds| {
        found.set(found.get() + compare(&deeds, TaskAtomicity::new(modes), &TaskAtomicity::new(modes), 8)?);
        Ok(())
    });
    compared.unwrap_or_else(|difference| panic!("{difference}"));
    assert!(found.get() > 0, "there is something to find");
}

/// Not all threads are joined, and those of a scope never are.
#[test]
fn a_thread_that_has_ended_keeps_nothing() {
    let case = Case::new(PtRacer { goes_on: true });
    // SAFETY: it was just made, and belongs to this thread until the end of the test.
    let thread = unsafe { &mut *case.thread };
    for is_joined in [false, true, false] {
        let id = case.driver.forked(thread, 1).expect("there is room for it");
        let child =
            Registry::with(|registry| registry.entry(id).map(|entry| entry.thread)).expect("an entry");
        assert_eq!(case.driver.workers.lock().len(), 2);
        // SAFETY: it was just made; nobody else uses it.
        case.driver.ended(unsafe { &mut *child });
        assert_eq!(case.driver.workers.lock().len(), 1);
        if is_joined {
            case.driver.joined(thread, id, 2);
        }
    }
}

/// A write under a lock, and the same again in the next step, to which a task is parallel that takes no lock. The second one is told by a
/// hook, which every other deed is.
#[test]
fn the_same_locks_in_another_step_are_told_again() {
    let write = || Deed::Access { kind: AccessKind::Write, byte: 0, size: 8 };
    let (take, leave) = (|| Deed::Acquire(0, LockMode::Exclusive), || Deed::Release(0));
    let first = [take(), write(), leave(), Deed::Spawn];
    let second = [take(), Deed::Sweep, write(), leave(), Deed::Begin(0), write()];
    let deeds: Vec<Deed> = first.into_iter().chain(second).collect();
    let races = || PtRacer { goes_on: true };
    let found = compare(&deeds, races(), &races(), 8).unwrap_or_else(|difference| panic!("{difference}"));
    assert_eq!(found, 1);
}

/// Words of a line that are accessed under a lock each remember that themselves; so many sets of locks that their numbers differ in the part that the
/// line has need a record.
#[test]
fn neighbours_with_a_lock_each_need_no_records() {
    let case = Case::new(PtRacer { goes_on: true });
    let (driver, memory) = (&case.driver, case.memory.address);
    // SAFETY: it was just made, and belongs to this thread until the end of the test.
    let thread = unsafe { &mut *case.thread };
    driver.structure(thread, Op::Spawn { task: TaskId(1) }, 1);
    let locks = 1 << words::LOCKS_BITS;
    for index in 0..=locks {
        let (lock, word) = (memory + 0x800 + index * 8, memory + index % 8 * 8);
        driver.lock_acquired(thread, lock, LockMode::Exclusive, 1);
        assert_eq!(driver.short_access(thread, AccessKind::Write, (word, 8), 0x80, 0x80), index + 1 < locks);
        driver.lock_released(thread, lock, 1);
        assert_eq!(TaskWord::of(word).is_under_locks(), index + 1 < locks);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn races_online_are_those_offline(deeds in deeds(0)) {
        compare(&deeds, PtRacer { goes_on: true }, &PtRacer { goes_on: true }, 8)?;
    }

    #[test]
    fn races_of_halves_online_are_those_offline(deeds in deeds(2)) {
        compare(&deeds, PtRacer { goes_on: true }, &PtRacer { goes_on: true }, 1)?;
    }

    #[test]
    fn races_under_the_same_locks_again_are_those_offline(deeds in deeds_with_locks(3, 6, BYTES)) {
        compare(&deeds, PtRacer { goes_on: true }, &PtRacer { goes_on: true }, 1)?;
    }

    #[test]
    fn tears_under_the_same_locks_again_are_those_offline(deeds in deeds_with_locks(0, 6, 16)) {
        let modes = Modes { blocks: true, steps: false, gaps: true };
        let both = || Both(PtRacer { goes_on: true }, TaskAtomicity::new(modes));
        compare(&deeds, both(), &both(), 8)?;
    }

    #[test]
    fn races_without_locks_online_are_those_offline(deeds in deeds(2)) {
        compare(&deeds, Spd3, &Spd3, 1)?;
    }

    #[test]
    fn races_of_ranges_are_those_of_single_accesses(deeds in deeds_with_ranges(0)) {
        compare(&deeds, PtRacer { goes_on: true }, &PtRacer { goes_on: true }, 8)?;
    }

    #[test]
    fn races_of_ranges_of_words_are_those_of_single_accesses(deeds in deeds_with_ranges(2)) {
        compare(&deeds, Spd3, &Spd3, 1)?;
    }

    #[test]
    fn tears_by_ranges_are_those_of_single_accesses(deeds in deeds_with_ranges(0)) {
        let modes = Modes { blocks: true, steps: false, gaps: true };
        let both = || Both(PtRacer { goes_on: true }, TaskAtomicity::new(modes));
        compare(&deeds, both(), &both(), 8)?;
    }

    #[test]
    fn steps_torn_by_ranges_are_those_of_single_accesses(deeds in deeds_with_ranges(2)) {
        let modes = Modes { blocks: false, steps: true, gaps: false };
        compare(&deeds, TaskAtomicity::new(modes), &TaskAtomicity::new(modes), 1)?;
    }

    #[test]
    fn torn_regions_online_are_those_offline(deeds in deeds(0)) {
        let modes = Modes { blocks: true, steps: false, gaps: true };
        let both = || Both(PtRacer { goes_on: true }, TaskAtomicity::new(modes));
        compare(&deeds, both(), &both(), 8)?;
    }

    #[test]
    fn torn_steps_online_are_those_offline(deeds in deeds(2)) {
        let modes = Modes { blocks: false, steps: true, gaps: false };
        compare(&deeds, TaskAtomicity::new(modes), &TaskAtomicity::new(modes), 1)?;
    }
}
