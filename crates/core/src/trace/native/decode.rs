//! The payload of a block back into events.

use super::block::BlockHeader;
use super::code::{self, MAX_ID, Prediction};
use super::varint::{Cursor, unzigzag};
use crate::event::{
    AccessKind, Addr, AtomicKind, BarrierId, ConditionId, Event, FormulaId, FunctionId, GroupId, LockId,
    LockMode, LoopId, MemoryOrder, Op, RegionId, SiteId, TaskId, ThreadId,
};
use crate::trace::MAX_THREADS;

/// Consecutive events of one thread whose stamps grow by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// The stamp of the first event.
    pub(super) stamp: u64,
    pub(super) length: u32,
}

/// A decoded block.
#[derive(Default, Debug)]
pub(super) struct Decoded {
    pub(super) events: Vec<Event>,
    pub(super) runs: Vec<Run>,
    /// Index of each `Fork` among the events, with the child.
    pub(super) forks: Vec<(u32, u32)>,
}

impl Decoded {
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.runs.clear();
        self.forks.clear();
    }

    /// The stamp of an event, found by a walk over the runs.
    pub(super) fn stamp_of(&self, index: u32) -> u64 {
        let mut first = 0;
        for run in &self.runs {
            if index - first < run.length {
                return run.stamp + u64::from(index - first);
            }
            first += run.length;
        }
        0
    }
}

/// Decodes a payload, which must be followed by the cursor's padding. None if it breaks the format.
pub(super) fn decode_events(header: &BlockHeader, padded: &[u8], decoded: &mut Decoded) -> Option<()> {
    decoded.clear();
    let mut cursor = Cursor::new(padded);
    decode_runs(header, &mut cursor, &mut decoded.runs)?;
    let thread = ThreadId(header.thread);
    let mut prediction = Prediction::new();
    // A header in range bounds the count, so the memory is bounded too.
    decoded.events.reserve(header.count as usize);
    for index in 0..header.count {
        let tag = cursor.byte()?;
        if tag & code::SAME_SITE == 0 {
            let difference = i32::try_from(unzigzag(cursor.varint()?) as i64).ok()?;
            let stored = prediction.stored_site.wrapping_add_signed(difference);
            if stored > MAX_ID {
                return None;
            }
            prediction.stored_site = stored;
        }
        let code = tag & !code::SAME_SITE;
        let op = if code < code::READ_SIZED {
            let kind = if code < code::WRITE { AccessKind::Read } else { AccessKind::Write };
            Op::Access { kind, size: 1 << (code & 3), addr: address(&mut cursor, &mut prediction)? }
        } else {
            decode_op(code, &mut cursor, &mut prediction)?
        };
        if let Op::Fork { child } = op {
            decoded.forks.push((index, child.0));
        }
        decoded.events.push(Event { thread, site: SiteId(prediction.stored_site.wrapping_sub(1)), op });
    }
    let ends = decoded.events.last().is_some_and(|event| event.op == Op::ThreadEnd);
    // Otherwise there are bytes that nobody reads, or a number ran into the padding.
    (cursor.left() == Some(0) && ends == header.thread_ends).then_some(())
}

/// What [`super::encode::encode_op`] wrote.
pub(crate) fn decode_single_op(cursor: &mut Cursor<'_>) -> Option<Op> {
    let code = cursor.byte()?;
    if code >= code::READ_SIZED {
        return decode_op(code, cursor, &mut Prediction::new());
    }
    let kind = if code < code::WRITE { AccessKind::Read } else { AccessKind::Write };
    Some(Op::Access { kind, size: 1 << (code & 3), addr: address(cursor, &mut Prediction::new())? })
}

fn decode_runs(header: &BlockHeader, cursor: &mut Cursor<'_>, runs: &mut Vec<Run>) -> Option<()> {
    let run_count = cursor.varint()?;
    if run_count > u64::from(header.count) {
        return None;
    }
    runs.reserve(run_count as usize);
    let mut left = header.count;
    let mut next_stamp = header.first_stamp;
    let mut last_stamp = header.first_stamp;
    for _ in 0..run_count {
        let gap = cursor.varint()?;
        let length = cursor.varint_u32()?;
        if length == 0 || length > left || (gap != 0 && runs.is_empty()) {
            return None;
        }
        let stamp = next_stamp.checked_add(gap)?;
        next_stamp = stamp.checked_add(u64::from(length))?;
        last_stamp = next_stamp - 1;
        left -= length;
        runs.push(Run { stamp, length });
    }
    (left == 0 && last_stamp == header.last_stamp).then_some(())
}

#[inline(always)]
fn address(cursor: &mut Cursor<'_>, prediction: &mut Prediction) -> Option<Addr> {
    let difference = unzigzag(cursor.varint()?);
    let slot = prediction.address();
    *slot = slot.wrapping_add(difference);
    Some(Addr(*slot))
}

/// An id below the bound, or none.
#[inline(always)]
fn id(cursor: &mut Cursor<'_>) -> Option<u32> {
    let stored = cursor.varint()?;
    (stored <= u64::from(MAX_ID)).then(|| (stored as u32).wrapping_sub(1))
}

#[inline(always)]
fn task(cursor: &mut Cursor<'_>) -> Option<TaskId> {
    Some(TaskId(cursor.varint_u32()?.wrapping_sub(1)))
}

fn thread(cursor: &mut Cursor<'_>) -> Option<ThreadId> {
    let number = cursor.varint_u32()?;
    (number < MAX_THREADS).then_some(ThreadId(number))
}

fn order(number: u8) -> Option<MemoryOrder> {
    Some(match number {
        0 => MemoryOrder::Relaxed,
        1 => MemoryOrder::Consume,
        2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcquireRelease,
        5 => MemoryOrder::SequentiallyConsistent,
        _ => return None,
    })
}

fn atomic(cursor: &mut Cursor<'_>, prediction: &mut Prediction) -> Option<Op> {
    let how = cursor.byte()?;
    let kind = match how & 3 {
        0 => AtomicKind::Load,
        1 => AtomicKind::Store,
        2 => AtomicKind::ReadModifyWrite,
        _ => return None,
    };
    let order = order(how >> 2)?;
    let size = cursor.byte()?;
    Some(Op::Atomic { kind, order, size, addr: address(cursor, prediction)? })
}

fn sized(cursor: &mut Cursor<'_>, prediction: &mut Prediction) -> Option<(u32, Addr)> {
    let size = cursor.varint_u32()?;
    Some((size, address(cursor, prediction)?))
}

fn other_path_lock(cursor: &mut Cursor<'_>, mode: LockMode, acquire: bool) -> Option<Op> {
    Some(Op::OtherPathLock { lock: LockId(id(cursor)?), mode, acquire })
}

#[inline]
fn decode_op(code: u8, cursor: &mut Cursor<'_>, prediction: &mut Prediction) -> Option<Op> {
    use LockMode::{Exclusive, Shared};
    Some(match code {
        code::READ_SIZED | code::WRITE_SIZED => {
            let kind = if code == code::READ_SIZED { AccessKind::Read } else { AccessKind::Write };
            let (size, addr) = sized(cursor, prediction)?;
            Op::Access { kind, size, addr }
        }
        code::ATOMIC => atomic(cursor, prediction)?,
        code::FENCE => Op::Fence { order: order(cursor.byte()?)? },
        code::ACQUIRE_EXCLUSIVE => Op::Acquire { lock: LockId(id(cursor)?), mode: Exclusive },
        code::ACQUIRE_SHARED => Op::Acquire { lock: LockId(id(cursor)?), mode: Shared },
        code::RELEASE_EXCLUSIVE => Op::Release { lock: LockId(id(cursor)?), mode: Exclusive },
        code::RELEASE_SHARED => Op::Release { lock: LockId(id(cursor)?), mode: Shared },
        code::FORK => Op::Fork { child: thread(cursor)? },
        code::JOIN => Op::Join { child: thread(cursor)? },
        code::THREAD_END => Op::ThreadEnd,
        code::WAIT => Op::Wait { condition: ConditionId(id(cursor)?) },
        code::NOTIFY_ONE => Op::Notify { condition: ConditionId(id(cursor)?), all: false },
        code::NOTIFY_ALL => Op::Notify { condition: ConditionId(id(cursor)?), all: true },
        code::BARRIER_ARRIVE => Op::BarrierArrive { barrier: BarrierId(id(cursor)?) },
        code::BARRIER_LEAVE => Op::BarrierLeave { barrier: BarrierId(id(cursor)?) },
        code::HAPPENS_BEFORE => Op::HappensBefore { token: address(cursor, prediction)?.0 },
        code::HAPPENS_AFTER => Op::HappensAfter { token: address(cursor, prediction)?.0 },
        code::BEGIN => Op::Begin { region: RegionId(id(cursor)?) },
        code::END => Op::End,
        code::CALL => Op::Call { function: FunctionId(id(cursor)?) },
        code::RETURN => Op::Return,
        code::SPAWN => Op::Spawn { task: task(cursor)? },
        code::TASK_BEGIN => Op::TaskBegin { task: task(cursor)? },
        code::TASK_SUSPEND => Op::TaskSuspend { task: task(cursor)? },
        code::TASK_END => Op::TaskEnd { task: task(cursor)? },
        code::TASK_WAIT => Op::TaskWait,
        code::TASK_JOIN => Op::TaskJoin { task: task(cursor)? },
        code::TASK_ORDER => Op::TaskOrder { before: task(cursor)?, after: task(cursor)? },
        code::FINISH_BEGIN => Op::FinishBegin,
        code::FINISH_END => Op::FinishEnd,
        code::ALLOC => {
            let (size, addr) = sized(cursor, prediction)?;
            Op::Alloc { size, addr }
        }
        code::FREE => {
            let (size, addr) = sized(cursor, prediction)?;
            Op::Free { size, addr }
        }
        code::BRANCH_NOT_TAKEN => Op::Branch { taken: false },
        code::BRANCH_TAKEN => Op::Branch { taken: true },
        code::LOOP_ENTER => Op::LoopEnter { loop_id: LoopId(id(cursor)?) },
        code::LOOP_ITERATION => Op::LoopIteration { loop_id: LoopId(id(cursor)?) },
        code::LOOP_EXIT => Op::LoopExit { loop_id: LoopId(id(cursor)?) },
        code::OTHER_PATH_READ | code::OTHER_PATH_WRITE => {
            let kind = if code == code::OTHER_PATH_READ { AccessKind::Read } else { AccessKind::Write };
            let (size, addr) = sized(cursor, prediction)?;
            Op::OtherPath { kind, size, addr }
        }
        code::OTHER_PATH_RELEASE_EXCLUSIVE => other_path_lock(cursor, Exclusive, false)?,
        code::OTHER_PATH_RELEASE_SHARED => other_path_lock(cursor, Shared, false)?,
        code::OTHER_PATH_ACQUIRE_EXCLUSIVE => other_path_lock(cursor, Exclusive, true)?,
        code::OTHER_PATH_ACQUIRE_SHARED => other_path_lock(cursor, Shared, true)?,
        code::VALUE => Op::Value { bits: cursor.varint()? },
        code::OPERAND => Op::Operand { back: u32::try_from(cursor.varint()?).ok()? },
        code::FORMULA => Op::Formula { formula: FormulaId(id(cursor)?) },
        code::GROUP => Op::Group {
            size: u16::try_from(cursor.varint()?).ok()?,
            group: GroupId(id(cursor)?),
            addr: address(cursor, prediction)?,
        },
        code::IGNORE_BEGIN => Op::IgnoreBegin,
        code::IGNORE_END => Op::IgnoreEnd,
        _ => return None,
    })
}
