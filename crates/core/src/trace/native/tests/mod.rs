//! What all tests of the format share: events of every kind, and ways to write and read them.

mod damage;
mod round_trip;
mod specification;
mod threads;

use super::{Reader, ReaderOptions, Writer};
use crate::event::*;
use crate::trace::{Batch, Loss, MAX_THREADS, Sink, Source, Tables, TraceError};
use proptest::prelude::*;
use std::io::Cursor;

/// Everything a reader told.
#[derive(Debug, PartialEq)]
struct ReadBack {
    events: Vec<Event>,
    tables: Tables,
    loss: Option<Loss>,
}

const LENIENT: ReaderOptions = ReaderOptions { skip_damaged: true };
const STRICT: ReaderOptions = ReaderOptions { skip_damaged: false };

fn read(bytes: &[u8], options: ReaderOptions) -> Result<ReadBack, TraceError> {
    let mut reader = Reader::with_options(Cursor::new(bytes), options)?;
    let mut batch = Batch::new();
    let mut events = Vec::new();
    let mut consumed = reader.consumed();
    loop {
        let more = reader.fill(&mut batch)?;
        for (position, event) in batch.iter() {
            events.push(*event);
            assert_eq!(position, events.len() as u64, "positions are ordinals");
        }
        assert!(reader.consumed() >= consumed && reader.consumed() <= bytes.len() as u64);
        consumed = reader.consumed();
        if !more {
            break;
        }
    }
    assert_eq!(consumed, bytes.len() as u64);
    Ok(ReadBack { events, tables: reader.tables().clone(), loss: reader.loss().cloned() })
}

fn batch_of(events: &[Event]) -> Batch {
    let mut batch = Batch::new();
    batch.extend(1, events);
    batch
}

/// Writes a whole trace; all threads' blocks are written after every `checkpoint_events` events.
fn written(events: &[Event], tables: &Tables, checkpoint_events: u32) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.set_checkpoint_events(checkpoint_events);
    for chunk in events.chunks(1000) {
        writer.write(&batch_of(chunk), tables).unwrap();
    }
    writer.finish(tables).unwrap();
    writer.into_inner()
}

fn event(thread: u32, site: u32, op: Op) -> Event {
    Event { thread: ThreadId(thread), site: SiteId(site), op }
}

fn write_access(thread: u32, addr: u64) -> Event {
    event(thread, 0, Op::Access { kind: AccessKind::Write, size: 4, addr: Addr(addr) })
}

fn any_id() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..100, 0u32..1 << 28, Just((1 << 28) - 1), Just(u32::MAX)]
}

fn any_addr() -> impl Strategy<Value = Addr> {
    prop_oneof![0u64..4096, any::<u64>(), (0u64..1 << 16).prop_map(|low| 0x7FFF_0000_0000 + low)]
        .prop_map(Addr)
}

fn any_size() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1u32), Just(2), Just(4), Just(8), any::<u32>()]
}

fn any_kind() -> impl Strategy<Value = AccessKind> {
    prop_oneof![Just(AccessKind::Read), Just(AccessKind::Write)]
}

fn any_mode() -> impl Strategy<Value = LockMode> {
    prop_oneof![Just(LockMode::Exclusive), Just(LockMode::Shared)]
}

fn any_order() -> impl Strategy<Value = MemoryOrder> {
    prop_oneof![
        Just(MemoryOrder::Relaxed),
        Just(MemoryOrder::Consume),
        Just(MemoryOrder::Acquire),
        Just(MemoryOrder::Release),
        Just(MemoryOrder::AcquireRelease),
        Just(MemoryOrder::SequentiallyConsistent),
    ]
}

fn any_thread() -> impl Strategy<Value = ThreadId> {
    prop_oneof![0u32..8, 0u32..MAX_THREADS].prop_map(ThreadId)
}

fn any_task() -> impl Strategy<Value = TaskId> {
    prop_oneof![0u32..100, any::<u32>()].prop_map(TaskId)
}

/// Every variant of [`Op`]. The match below does not compile when one is added, as a reminder to add it here.
fn any_op() -> impl Strategy<Value = Op> {
    let memory = prop_oneof![
        8 => (any_kind(), any_size(), any_addr()).prop_map(|(kind, size, addr)| Op::Access { kind, size, addr }),
        1 => (any_atomic_kind(), any_order(), any::<u8>(), any_addr())
            .prop_map(|(kind, order, size, addr)| Op::Atomic { kind, order, size, addr }),
        1 => any_order().prop_map(|order| Op::Fence { order }),
        1 => (any_size(), any_addr()).prop_map(|(size, addr)| Op::Alloc { size, addr }),
        1 => (any_size(), any_addr()).prop_map(|(size, addr)| Op::Free { size, addr }),
        1 => (any_kind(), any_size(), any_addr())
            .prop_map(|(kind, size, addr)| Op::OtherPath { kind, size, addr }),
        1 => any::<u64>().prop_map(|bits| Op::Value { bits }),
        1 => any::<u32>().prop_map(|back| Op::Operand { back }),
        1 => any_id().prop_map(|id| Op::Formula { formula: FormulaId(id) }),
        1 => (any::<u16>(), any_id(), any_addr())
            .prop_map(|(size, group, addr)| Op::Group { size, group: GroupId(group), addr }),
    ];
    let synchronization = prop_oneof![
        (any_id(), any_mode()).prop_map(|(lock, mode)| Op::Acquire { lock: LockId(lock), mode }),
        (any_id(), any_mode()).prop_map(|(lock, mode)| Op::Release { lock: LockId(lock), mode }),
        (any_id(), any_mode(), any::<bool>()).prop_map(|(lock, mode, acquire)| Op::OtherPathLock {
            lock: LockId(lock),
            mode,
            acquire
        }),
        any_thread().prop_map(|child| Op::Fork { child }),
        any_thread().prop_map(|child| Op::Join { child }),
        Just(Op::ThreadEnd),
        any_id().prop_map(|id| Op::Wait { condition: ConditionId(id) }),
        (any_id(), any::<bool>()).prop_map(|(id, all)| Op::Notify { condition: ConditionId(id), all }),
        any_id().prop_map(|id| Op::BarrierArrive { barrier: BarrierId(id) }),
        any_id().prop_map(|id| Op::BarrierLeave { barrier: BarrierId(id) }),
        any::<u64>().prop_map(|token| Op::HappensBefore { token }),
        any::<u64>().prop_map(|token| Op::HappensAfter { token }),
    ];
    let tasks = prop_oneof![
        any_task().prop_map(|task| Op::Spawn { task }),
        any_task().prop_map(|task| Op::TaskBegin { task }),
        any_task().prop_map(|task| Op::TaskSuspend { task }),
        any_task().prop_map(|task| Op::TaskEnd { task }),
        Just(Op::TaskWait),
        any_task().prop_map(|task| Op::TaskJoin { task }),
        (any_task(), any_task()).prop_map(|(before, after)| Op::TaskOrder { before, after }),
        Just(Op::FinishBegin),
        Just(Op::FinishEnd),
    ];
    let structure = prop_oneof![
        any_id().prop_map(|id| Op::Begin { region: RegionId(id) }),
        Just(Op::End),
        any_id().prop_map(|id| Op::Call { function: FunctionId(id) }),
        Just(Op::Return),
        any::<bool>().prop_map(|taken| Op::Branch { taken }),
        any_id().prop_map(|id| Op::LoopEnter { loop_id: LoopId(id) }),
        any_id().prop_map(|id| Op::LoopIteration { loop_id: LoopId(id) }),
        any_id().prop_map(|id| Op::LoopExit { loop_id: LoopId(id) }),
        Just(Op::IgnoreBegin),
        Just(Op::IgnoreEnd),
    ];
    prop_oneof![memory, synchronization, tasks, structure].prop_map(|op| {
        match op {
            Op::Access { .. } | Op::Atomic { .. } | Op::Fence { .. } | Op::Alloc { .. } | Op::Free { .. } => {
            }
            Op::OtherPath { .. } | Op::Value { .. } | Op::Operand { .. } | Op::Formula { .. } => {}
            Op::Group { .. } => {}
            Op::Acquire { .. } | Op::Release { .. } | Op::OtherPathLock { .. } => {}
            Op::Fork { .. } | Op::Join { .. } | Op::ThreadEnd | Op::Wait { .. } | Op::Notify { .. } => {}
            Op::BarrierArrive { .. } | Op::BarrierLeave { .. } => {}
            Op::HappensBefore { .. } | Op::HappensAfter { .. } => {}
            Op::Spawn { .. } | Op::TaskBegin { .. } | Op::TaskSuspend { .. } | Op::TaskEnd { .. } => {}
            Op::TaskWait | Op::TaskJoin { .. } | Op::TaskOrder { .. } | Op::FinishBegin | Op::FinishEnd => {}
            Op::Begin { .. } | Op::End | Op::Call { .. } | Op::Return | Op::Branch { .. } => {}
            Op::LoopEnter { .. } | Op::LoopIteration { .. } | Op::LoopExit { .. } => {}
            Op::IgnoreBegin | Op::IgnoreEnd => {}
        }
        op
    })
}

fn any_atomic_kind() -> impl Strategy<Value = AtomicKind> {
    prop_oneof![Just(AtomicKind::Load), Just(AtomicKind::Store), Just(AtomicKind::ReadModifyWrite)]
}

fn any_event(threads: u32) -> impl Strategy<Value = Event> {
    (0..threads, any_id(), any_op()).prop_map(|(thread, site, op)| event(thread, site, op))
}
