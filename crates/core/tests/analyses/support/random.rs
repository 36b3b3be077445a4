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
}

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
        },
    )
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
        let op = choose(shape, &mut threads, thread, what, which, &mut regions);
        if let Some(op) = op {
            threads[thread as usize].started = true;
            events.push(Event { thread: ThreadId(thread), site: SiteId(events.len() as u32), op });
        }
    }
    events
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
    let variable = u64::from(which) % shape.variables;
    let (addr, size) = if shape.overlapping {
        let size = [1u32, 2, 4, 8][usize::from(which >> 6)];
        (Addr(variable * 8 + u64::from(which >> 3 & 7) / u64::from(size) * u64::from(size)), size)
    } else {
        (Addr(variable * 8), 8)
    };
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
        230..=234 => {
            let child = u32::from(which) % shape.threads;
            let state = &mut threads[child as usize];
            if child == thread || state.started {
                return None;
            }
            state.started = true;
            Some(Op::Fork { child: ThreadId(child) })
        }
        235..=239 => {
            let child = u32::from(which) % shape.threads;
            let state = &mut threads[child as usize];
            if child == thread || !state.started || state.joined || !state.held.is_empty() || state.waiting {
                return None;
            }
            state.joined = true;
            Some(Op::Join { child: ThreadId(child) })
        }
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
