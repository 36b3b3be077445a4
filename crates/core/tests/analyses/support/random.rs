//! Random well-formed runs, made from bytes so that proptest can shrink them.

use keirin_core::event::*;
use proptest::prelude::*;
use proptest::test_runner::Config;

/// How many runs each property looks at: `KEIRIN_CASES`, which the long mode of `./test` sets, or some thousands.
pub(crate) fn config() -> Config {
    let cases = std::env::var("KEIRIN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6_000);
    Config { cases, ..Config::default() }
}

/// The shape of random runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) threads: u32,
    pub(crate) variables: u64,
    pub(crate) locks: u32,
    /// Forks, joins, barriers, conditions and tokens occur.
    pub(crate) synchronization: bool,
    /// Accesses of different sizes overlap.
    pub(crate) overlapping: bool,
    /// Atomics of all memory orders, fences and freed memory occur, and forks and joins more often.
    pub(crate) atomics: bool,
}

/// Where the atomics are that are not accessed otherwise.
const FLAGS: u64 = 1 << 20;

/// A choice that [`build`] turns into an event, if there is one that fits.
pub(crate) type Choice = (u8, u8, u8);

pub(crate) fn choices(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Choice>> {
    prop::collection::vec(any::<Choice>(), length)
}

pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    (2u32..6, 1u64..4, 1u32..3, any::<bool>(), prop::bool::weighted(0.3)).prop_map(
        |(threads, variables, locks, synchronization, overlapping)| Shape {
            threads,
            variables,
            locks,
            synchronization,
            overlapping,
            atomics: false,
        },
    )
}

/// Shapes with atomics, for analyses that look at memory orders.
pub(crate) fn shapes_with_atomics(threads: std::ops::Range<u32>) -> impl Strategy<Value = Shape> {
    (threads, shapes(), prop::bool::weighted(0.7)).prop_map(|(threads, shape, atomics)| Shape {
        threads,
        atomics,
        ..shape
    })
}

#[derive(Clone, Default)]
struct Thread {
    regions: u32,
    /// Locks held, with the mode.
    held: Vec<(u32, LockMode)>,
    started: bool,
    joined: bool,
    waiting: bool,
}

/// A well-formed run. Every event has a site of its own, and every region a label of its own, so that each finding is
/// told from all others.
pub(crate) fn build(shape: Shape, choices: &[Choice]) -> Vec<Event> {
    let mut threads = vec![Thread::default(); shape.threads as usize];
    let mut events: Vec<Event> = Vec::new();
    let mut regions = 0;
    for &(who, what, which) in choices {
        let thread = u32::from(who) % shape.threads;
        if threads[thread as usize].joined {
            continue;
        }
        let op = if shape.atomics && what.is_multiple_of(3) && !threads[thread as usize].waiting {
            choose_atomic(shape, &mut threads, thread, who, what, which)
        } else {
            choose(shape, &mut threads, thread, what, which, &mut regions)
        };
        if let Some(op) = op {
            threads[thread as usize].started = true;
            events.push(Event { thread: ThreadId(thread), site: SiteId(events.len() as u32), op });
        }
    }
    events
}

/// The bytes of an access.
fn location(shape: Shape, which: u8) -> (Addr, u32) {
    let variable = u64::from(which) % shape.variables;
    if shape.overlapping {
        let size = [1u32, 2, 4, 8][usize::from(which >> 6)];
        (Addr(variable * 8 + u64::from(which >> 3 & 7) / u64::from(size) * u64::from(size)), size)
    } else {
        (Addr(variable * 8), 8)
    }
}

fn fork(threads: &mut [Thread], thread: u32, child: u32) -> Option<Op> {
    let state = &mut threads[child as usize];
    if child == thread || state.started {
        return None;
    }
    state.started = true;
    Some(Op::Fork { child: ThreadId(child) })
}

fn join(threads: &mut [Thread], thread: u32, child: u32) -> Option<Op> {
    let state = &mut threads[child as usize];
    if child == thread || !state.started || state.joined || !state.held.is_empty() || state.waiting {
        return None;
    }
    state.joined = true;
    Some(Op::Join { child: ThreadId(child) })
}

/// What [`Shape::atomics`] adds. The order and the kind come from all three bytes, for none has room to spare.
fn choose_atomic(
    shape: Shape,
    threads: &mut [Thread],
    thread: u32,
    who: u8,
    what: u8,
    which: u8,
) -> Option<Op> {
    const ORDERS: [MemoryOrder; 6] = [
        MemoryOrder::Relaxed,
        MemoryOrder::Consume,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcquireRelease,
        MemoryOrder::SequentiallyConsistent,
    ];
    const KINDS: [AtomicKind; 3] = [AtomicKind::Load, AtomicKind::Store, AtomicKind::ReadModifyWrite];
    let mixed = u32::from(who) / shape.threads + u32::from(what) * 31 + u32::from(which) * 17;
    let order = ORDERS[(mixed % 6) as usize];
    let (addr, size) = location(shape, which);
    match what {
        0..=174 => {
            let kind = KINDS[(mixed / 6 % 3) as usize];
            // Mostly flags that no plain access touches: what they publish is of interest, not how they race.
            let addr = if mixed.is_multiple_of(5) { addr } else { Addr(FLAGS + addr.0 % 16) };
            Some(Op::Atomic { kind, order, size: size as u8, addr })
        }
        175..=214 => Some(Op::Fence { order }),
        215..=229 => fork(threads, thread, mixed % shape.threads),
        230..=244 => join(threads, thread, mixed % shape.threads),
        _ if which < 128 => Some(Op::Free { size, addr }),
        _ => Some(Op::Alloc { size, addr }),
    }
}

fn choose(
    shape: Shape,
    threads: &mut [Thread],
    thread: u32,
    what: u8,
    which: u8,
    regions: &mut u32,
) -> Option<Op> {
    let me = thread as usize;
    if threads[me].waiting {
        threads[me].waiting = false;
        return Some(Op::BarrierLeave { barrier: BarrierId(0) });
    }
    let (addr, size) = location(shape, which);
    let lock = u32::from(which) % shape.locks;
    let mode = if which >= 200 { LockMode::Shared } else { LockMode::Exclusive };
    match what {
        0..=69 => Some(Op::Access { kind: AccessKind::Read, size, addr }),
        70..=129 => Some(Op::Access { kind: AccessKind::Write, size, addr }),
        130..=139 => {
            let kind =
                [AtomicKind::Load, AtomicKind::Store, AtomicKind::ReadModifyWrite][usize::from(which % 3)];
            Some(Op::Atomic { kind, order: MemoryOrder::AcquireRelease, size: size as u8, addr })
        }
        140..=164 => {
            threads[me].regions += 1;
            *regions += 1;
            Some(Op::Begin { region: RegionId(*regions) })
        }
        165..=184 => {
            threads[me].regions = threads[me].regions.checked_sub(1)?;
            Some(Op::End)
        }
        185..=204 => {
            let held_by_other = threads.iter().enumerate().any(|(other, state)| {
                other != me
                    && state.held.iter().any(|(held, held_mode)| {
                        *held == lock && (mode == LockMode::Exclusive || *held_mode == LockMode::Exclusive)
                    })
            });
            // A thread takes a lock again only in the same mode.
            let in_other_mode = threads[me].held.iter().any(|(held, other)| *held == lock && *other != mode);
            if held_by_other || in_other_mode {
                return None;
            }
            threads[me].held.push((lock, mode));
            Some(Op::Acquire { lock: LockId(lock), mode })
        }
        205..=229 => {
            let index = threads[me].held.iter().rposition(|(held, _)| *held == lock)?;
            let (_, mode) = threads[me].held.remove(index);
            Some(Op::Release { lock: LockId(lock), mode })
        }
        _ if !shape.synchronization => None,
        230..=234 => fork(threads, thread, u32::from(which) % shape.threads),
        235..=239 => join(threads, thread, u32::from(which) % shape.threads),
        240..=242 => Some(Op::Notify { condition: ConditionId(0), all: which > 99 }),
        243..=245 => Some(Op::Wait { condition: ConditionId(0) }),
        246..=248 => Some(Op::HappensBefore { token: u64::from(which % 2) }),
        249..=251 => Some(Op::HappensAfter { token: u64::from(which % 2) }),
        _ => {
            threads[me].waiting = true;
            Some(Op::BarrierArrive { barrier: BarrierId(0) })
        }
    }
}
