//! Any bytes as the events of a run of tasks, eight bytes each: in lenient mode every analysis, with every structure, and the
//! search for schedules get through, without a panic and without an end that does not come.
#![no_main]

use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::analysis::tasks::{Flagged, TaskAnalysis};
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, BarrierId, ConditionId, Event, GroupId, LockId, LockMode, MemoryOrder, Op,
    RegionId, SiteId, TaskId, ThreadId,
};
use keirin_core::finding::Rule;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Outcome, ReplayOptions};
use keirin_core::sptree::Structure;
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::ranks::Ranks;
use keirin_core::sptree::tree::Tree;
use keirin_core::witness::{Examination, Examine};
use libfuzzer_sys::fuzz_target;

const EVENT_BYTES: usize = 8;
/// More events find nothing that fewer do not, and take long.
const MOST_EVENTS: usize = 400;
const ALL: Examine = Examine { races: true, blocks: true, steps: true, gaps: true, groups: true };

/// The last number of a byte stands for the largest of all.
fn id(byte: u8) -> u32 {
    if byte == u8::MAX { u32::MAX } else { u32::from(byte % 8) }
}

fn addr(bytes: [u8; 2]) -> Addr {
    let offset = u64::from(bytes[0] % 64);
    Addr(if bytes[1] == u8::MAX { u64::MAX - offset } else { 0x1000 + offset })
}

fn event(bytes: &[u8; EVENT_BYTES]) -> Event {
    let [thread, what, a, b, c, d, e, site] = *bytes;
    let kind = if b % 2 == 0 { AccessKind::Read } else { AccessKind::Write };
    let mode = if b % 4 == 0 { LockMode::Shared } else { LockMode::Exclusive };
    let order = [
        MemoryOrder::Relaxed,
        MemoryOrder::Consume,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcquireRelease,
        MemoryOrder::SequentiallyConsistent,
    ][usize::from(c % 6)];
    let atomic = [AtomicKind::Load, AtomicKind::Store, AtomicKind::ReadModifyWrite][usize::from(b % 3)];
    let (addr, size, task) = (addr([d, e]), u32::from(c) % 40, TaskId(id(a)));
    let op = match what % 32 {
        0..=4 => Op::Access { kind, size, addr },
        5 => Op::Atomic { kind: atomic, order, size: a % 17, addr },
        6 => Op::Fence { order },
        7 | 8 => Op::Acquire { lock: LockId(id(a)), mode },
        9 | 10 => Op::Release { lock: LockId(id(a)), mode },
        11 => Op::Fork { child: ThreadId(id(a)) },
        12 => Op::Join { child: ThreadId(id(a)) },
        13 => Op::ThreadEnd,
        14 => Op::Wait { condition: ConditionId(id(a)) },
        15 => Op::Notify { condition: ConditionId(id(a)), all: b % 2 == 0 },
        16 => Op::BarrierArrive { barrier: BarrierId(id(a)) },
        17 => Op::BarrierLeave { barrier: BarrierId(id(a)) },
        18 => Op::HappensBefore { token: u64::from(a % 4) },
        19 => Op::HappensAfter { token: u64::from(a % 4) },
        20 => Op::Begin { region: RegionId(id(a)) },
        21 => Op::End,
        22 => Op::Spawn { task },
        23 => Op::TaskBegin { task },
        24 => Op::TaskSuspend { task },
        25 => Op::TaskEnd { task },
        26 => Op::TaskWait,
        27 => Op::TaskJoin { task },
        28 => Op::TaskOrder { before: task, after: TaskId(id(b)) },
        29 => Op::FinishBegin,
        30 => Op::FinishEnd,
        _ if b % 2 == 0 => Op::Free { size, addr },
        _ => Op::Group { size: u16::from(c), group: GroupId(id(a)), addr },
    };
    Event { thread: ThreadId(id(thread)), site: SiteId(u32::from(site)), op }
}

fn replay<A: TaskAnalysis, S: Structure>(events: &[Event], analysis: &A, keep_all: bool) -> Outcome {
    let options = ReplayOptions { lenient: true, keep_all };
    let mut replay = TaskReplay::<A, S>::new(analysis, "fuzz", options, TaskOptions::default());
    for (position, event) in (1..).zip(events) {
        assert_eq!(replay.event(position, event), Ok(()), "everything can be repaired");
    }
    replay.finish()
}

/// The three structures answer alike, so the analysis flags the same memory.
fn flagged<A: TaskAnalysis>(events: &[Event], analysis: impl Fn() -> A, all: &mut Flagged) {
    let ranks = replay::<A, Ranks>(events, &analysis(), true).flagged;
    let labels = replay::<A, Labels>(events, &analysis(), true).flagged;
    let tree = replay::<A, Tree>(events, &analysis(), true).flagged;
    assert_eq!(ranks.ranges(), labels.ranges());
    assert_eq!(ranks.ranges(), tree.ranges());
    replay::<A, Ranks>(events, &analysis(), false);
    all.append(ranks);
}

fuzz_target!(|bytes: &[u8]| {
    let (chunks, _) = bytes.as_chunks::<EVENT_BYTES>();
    let events: Vec<Event> = chunks.iter().take(MOST_EVENTS).map(event).collect();
    let mut all = Flagged::default();
    flagged(&events, || Spd3, &mut all);
    flagged(&events, || PtRacer, &mut all);
    flagged(&events, || TaskAtomicity::new(Modes { blocks: true, steps: false, gaps: true }), &mut all);
    flagged(&events, || TaskAtomicity::new(Modes { blocks: false, steps: true, gaps: false }), &mut all);
    all.add(Addr(0x1000), 16, Rule::AtomicityViolation);
    replay::<_, Ranks>(&events, &Examination::with_limits(&all, ALL, 300, 20_000, 1_000_000), true);
});
