//! Events of one thread into the payload of a block.

use super::block::{BlockHeader, BlockKind, MAX_BLOCK_EVENTS};
use super::code::{self, MAX_ID, Prediction, stored_id};
use super::varint::{put, zigzag};
use crate::event::{AccessKind, LockMode, Op, SiteId, ThreadId};
use crate::trace::MAX_THREADS;
use std::io;

/// A block is closed when its events take this many bytes, though it might hold more of them.
const FULL_BLOCK_BYTES: usize = 64 << 10;

/// Collects the events of one thread until a block is full.
///
/// An event is added first and stamped afterwards, alone or with its neighbours, because a recorder may learn only at
/// the next synchronizing operation where a stretch of events stands in the global order.
pub(super) struct EventEncoder {
    thread: ThreadId,
    events: Vec<u8>,
    /// The finished runs of the block: distance from the run before, length.
    runs: Vec<u8>,
    run_count: u64,
    /// The last run, which may still grow.
    run_gap: u64,
    run_length: u64,
    count: u32,
    unstamped: u32,
    first_stamp: u64,
    /// The least stamp that the next event may have. Kept from block to block.
    next_stamp: u64,
    thread_ends: bool,
    prediction: Prediction,
}

impl EventEncoder {
    pub(super) fn new(thread: ThreadId) -> io::Result<Self> {
        check_thread(thread)?;
        Ok(EventEncoder {
            thread,
            events: Vec::new(),
            runs: Vec::new(),
            run_count: 0,
            run_gap: 0,
            run_length: 0,
            count: 0,
            unstamped: 0,
            first_stamp: 0,
            next_stamp: 0,
            thread_ends: false,
            prediction: Prediction::new(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.count >= MAX_BLOCK_EVENTS || self.events.len() >= FULL_BLOCK_BYTES
    }

    /// How many events wait for their stamps.
    pub(super) fn unstamped(&self) -> u32 {
        self.unstamped
    }

    /// Gives stamps to all events that have none: `first`, `first + 1` and so on.
    #[inline]
    pub(super) fn stamp(&mut self, first: u64) -> io::Result<()> {
        if self.unstamped == 0 {
            return Ok(());
        }
        self.check_stamp(first)?;
        let gap = first - self.next_stamp;
        let length = u64::from(self.unstamped);
        if self.run_length == 0 {
            self.first_stamp = first;
            self.run_gap = 0;
        } else if gap != 0 {
            self.close_run();
            self.run_gap = gap;
        }
        self.run_length += length;
        self.next_stamp = first + length;
        self.unstamped = 0;
        Ok(())
    }

    /// Whether the next event may have this stamp.
    #[inline]
    pub(super) fn check_stamp(&self, stamp: u64) -> io::Result<()> {
        // A full block must fit above the stamp, so that no sum of stamps overflows.
        if stamp >= self.next_stamp && stamp <= u64::MAX - u64::from(MAX_BLOCK_EVENTS) {
            return Ok(());
        }
        Err(invalid(format!(
            "stamp {stamp} of thread {} is too large, or not above its last one",
            self.thread.0
        )))
    }

    fn close_run(&mut self) {
        put(&mut self.runs, self.run_gap);
        put(&mut self.runs, self.run_length);
        self.run_count += 1;
        self.run_length = 0;
    }

    /// Adds an event without a stamp. On an error nothing is added.
    #[inline]
    pub(super) fn push(&mut self, site: SiteId, op: Op) -> io::Result<()> {
        check_id("site", site.0)?;
        check_op(op)?;
        let tag_at = self.events.len();
        let stored_site = site.0.wrapping_add(1);
        let difference = stored_site.wrapping_sub(self.prediction.stored_site) as i32;
        self.events.push(0);
        let mut tag = code::SAME_SITE;
        if difference != 0 {
            tag = 0;
            put(&mut self.events, zigzag(difference as i64 as u64));
            self.prediction.stored_site = stored_site;
        }
        self.events[tag_at] = tag | self.put_op(op);
        self.thread_ends = op == Op::ThreadEnd;
        self.count += 1;
        self.unstamped += 1;
        Ok(())
    }

    /// Appends the operands of an operation; returns its code.
    #[inline]
    fn put_op(&mut self, op: Op) -> u8 {
        match op {
            Op::Access { kind, size, addr } => {
                let plain = match size {
                    1 => 0,
                    2 => 1,
                    4 => 2,
                    8 => 3,
                    _ => {
                        self.put_number(size);
                        self.put_address(addr.0);
                        return match kind {
                            AccessKind::Read => code::READ_SIZED,
                            AccessKind::Write => code::WRITE_SIZED,
                        };
                    }
                };
                self.put_address(addr.0);
                plain + if kind == AccessKind::Write { code::WRITE } else { 0 }
            }
            Op::Atomic { kind, order, size, addr } => {
                self.events.push(kind as u8 | (order as u8) << 2);
                self.events.push(size);
                self.put_address(addr.0);
                code::ATOMIC
            }
            Op::Fence { order } => {
                self.events.push(order as u8);
                code::FENCE
            }
            Op::Acquire { lock, mode } => {
                self.put_id(lock.0);
                by_mode(mode, code::ACQUIRE_EXCLUSIVE, code::ACQUIRE_SHARED)
            }
            Op::Release { lock, mode } => {
                self.put_id(lock.0);
                by_mode(mode, code::RELEASE_EXCLUSIVE, code::RELEASE_SHARED)
            }
            Op::Fork { child } => {
                self.put_number(child.0);
                code::FORK
            }
            Op::Join { child } => {
                self.put_number(child.0);
                code::JOIN
            }
            Op::ThreadEnd => code::THREAD_END,
            Op::Wait { condition } => {
                self.put_id(condition.0);
                code::WAIT
            }
            Op::Notify { condition, all } => {
                self.put_id(condition.0);
                if all { code::NOTIFY_ALL } else { code::NOTIFY_ONE }
            }
            Op::BarrierArrive { barrier } => {
                self.put_id(barrier.0);
                code::BARRIER_ARRIVE
            }
            Op::BarrierLeave { barrier } => {
                self.put_id(barrier.0);
                code::BARRIER_LEAVE
            }
            Op::HappensBefore { token } => {
                self.put_address(token);
                code::HAPPENS_BEFORE
            }
            Op::HappensAfter { token } => {
                self.put_address(token);
                code::HAPPENS_AFTER
            }
            Op::Begin { region } => {
                self.put_id(region.0);
                code::BEGIN
            }
            Op::End => code::END,
            Op::Call { function } => {
                self.put_id(function.0);
                code::CALL
            }
            Op::Return => code::RETURN,
            Op::Spawn { task } => {
                self.put_id(task.0);
                code::SPAWN
            }
            Op::TaskBegin { task } => {
                self.put_id(task.0);
                code::TASK_BEGIN
            }
            Op::TaskSuspend { task } => {
                self.put_id(task.0);
                code::TASK_SUSPEND
            }
            Op::TaskEnd { task } => {
                self.put_id(task.0);
                code::TASK_END
            }
            Op::TaskWait => code::TASK_WAIT,
            Op::TaskJoin { task } => {
                self.put_id(task.0);
                code::TASK_JOIN
            }
            Op::TaskOrder { before, after } => {
                self.put_id(before.0);
                self.put_id(after.0);
                code::TASK_ORDER
            }
            Op::FinishBegin => code::FINISH_BEGIN,
            Op::FinishEnd => code::FINISH_END,
            Op::Alloc { size, addr } => {
                self.put_number(size);
                self.put_address(addr.0);
                code::ALLOC
            }
            Op::Free { size, addr } => {
                self.put_number(size);
                self.put_address(addr.0);
                code::FREE
            }
            Op::Branch { taken } => {
                if taken {
                    code::BRANCH_TAKEN
                } else {
                    code::BRANCH_NOT_TAKEN
                }
            }
            Op::LoopEnter { loop_id } => {
                self.put_id(loop_id.0);
                code::LOOP_ENTER
            }
            Op::LoopIteration { loop_id } => {
                self.put_id(loop_id.0);
                code::LOOP_ITERATION
            }
            Op::LoopExit { loop_id } => {
                self.put_id(loop_id.0);
                code::LOOP_EXIT
            }
            Op::OtherPath { kind, size, addr } => {
                self.put_number(size);
                self.put_address(addr.0);
                match kind {
                    AccessKind::Read => code::OTHER_PATH_READ,
                    AccessKind::Write => code::OTHER_PATH_WRITE,
                }
            }
            Op::OtherPathLock { lock, mode, acquire } => {
                self.put_id(lock.0);
                if acquire {
                    by_mode(mode, code::OTHER_PATH_ACQUIRE_EXCLUSIVE, code::OTHER_PATH_ACQUIRE_SHARED)
                } else {
                    by_mode(mode, code::OTHER_PATH_RELEASE_EXCLUSIVE, code::OTHER_PATH_RELEASE_SHARED)
                }
            }
            Op::Value { bits } => {
                put(&mut self.events, bits);
                code::VALUE
            }
            Op::Operand { back } => {
                self.put_number(back);
                code::OPERAND
            }
            Op::Formula { formula } => {
                self.put_id(formula.0);
                code::FORMULA
            }
            Op::Group { size, group, addr } => {
                self.put_number(u32::from(size));
                self.put_id(group.0);
                self.put_address(addr.0);
                code::GROUP
            }
            Op::IgnoreBegin => code::IGNORE_BEGIN,
            Op::IgnoreEnd => code::IGNORE_END,
        }
    }

    #[inline]
    fn put_number(&mut self, number: u32) {
        put(&mut self.events, u64::from(number));
    }

    #[inline]
    fn put_id(&mut self, id: u32) {
        put(&mut self.events, stored_id(id));
    }

    #[inline]
    fn put_address(&mut self, address: u64) {
        let expected = std::mem::replace(self.prediction.address(), address);
        put(&mut self.events, zigzag(address.wrapping_sub(expected)));
    }

    /// Puts the payload of the block into `payload` and begins a new block. Every event must have its stamp.
    ///
    /// The header still lacks what compression decides.
    pub(super) fn take_block(&mut self, payload: &mut Vec<u8>) -> io::Result<BlockHeader> {
        if self.unstamped != 0 {
            return Err(invalid(format!(
                "{} events of thread {} have no stamp",
                self.unstamped, self.thread.0
            )));
        }
        self.close_run();
        payload.clear();
        put(payload, self.run_count);
        payload.extend_from_slice(&self.runs);
        payload.extend_from_slice(&self.events);
        let header = BlockHeader {
            thread_ends: self.thread_ends,
            thread: self.thread.0,
            count: self.count,
            first_stamp: self.first_stamp,
            last_stamp: self.next_stamp.saturating_sub(1),
            ..BlockHeader::empty(BlockKind::Events, 0)
        };
        self.events.clear();
        self.runs.clear();
        self.run_count = 0;
        self.count = 0;
        self.prediction = Prediction::new();
        Ok(header)
    }
}

/// One operation by itself: its code, and its operands as in a block of its own. An error if a reader would refuse it.
pub(crate) fn encode_op(op: Op, bytes: &mut Vec<u8>) -> io::Result<()> {
    check_op(op)?;
    let mut encoder = EventEncoder::new(ThreadId(0))?;
    bytes.push(encoder.put_op(op));
    bytes.append(&mut encoder.events);
    Ok(())
}

#[inline]
fn by_mode(mode: LockMode, exclusive: u8, shared: u8) -> u8 {
    match mode {
        LockMode::Exclusive => exclusive,
        LockMode::Shared => shared,
    }
}

/// Refuses what a reader would refuse: better no trace than one that cannot be read.
#[inline]
fn check_op(op: Op) -> io::Result<()> {
    match op {
        Op::Access { .. } => Ok(()),
        Op::Acquire { lock, .. } | Op::Release { lock, .. } | Op::OtherPathLock { lock, .. } => {
            check_id("lock", lock.0)
        }
        Op::Fork { child } | Op::Join { child } => check_thread(child),
        Op::Wait { condition } | Op::Notify { condition, .. } => check_id("condition", condition.0),
        Op::BarrierArrive { barrier } | Op::BarrierLeave { barrier } => check_id("barrier", barrier.0),
        Op::Begin { region } => check_id("region", region.0),
        Op::Call { function } => check_id("function", function.0),
        Op::LoopEnter { loop_id } | Op::LoopIteration { loop_id } | Op::LoopExit { loop_id } => {
            check_id("loop", loop_id.0)
        }
        Op::Group { group, .. } => check_id("group", group.0),
        _ => Ok(()),
    }
}

#[inline]
fn check_id(noun: &str, id: u32) -> io::Result<()> {
    if id < MAX_ID || id == u32::MAX {
        return Ok(());
    }
    Err(invalid(format!("{noun} {id} is out of range; ids must be below {MAX_ID}")))
}

#[inline]
fn check_thread(thread: ThreadId) -> io::Result<()> {
    if thread.0 < MAX_THREADS {
        return Ok(());
    }
    Err(invalid(format!("thread {} is out of range; a trace has at most {MAX_THREADS} threads", thread.0)))
}

#[cold]
pub(super) fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
