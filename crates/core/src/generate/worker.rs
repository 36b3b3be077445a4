//! Threads that work in short regions under two-phase locking.

use super::open::Open;
use super::random::Random;
use super::{Family, LABELS, Output, Plan, address, inside, outside};
use crate::event::{AccessKind, Addr, AtomicKind, LockId, LockMode, MemoryOrder, Op, RegionId, SiteId};
use std::ops::Range;

/// All workers, and the blocks that they share.
#[derive(Debug)]
pub(super) struct Workers {
    threads: Vec<Worker>,
    /// For each block: 0 if it is free, -1 if a thread has it alone, else the number of its readers.
    blocks: Vec<i32>,
    variables: u32,
    /// Whether blocks are locks of the trace.
    locks: bool,
    mixed: bool,
    /// The first worker; a thread before it does something else.
    first: u32,
    region_length: u32,
    violations: f64,
}

/// What a thread does.
#[derive(Clone, Debug)]
struct Worker {
    phase: Phase,
    /// The blocks of the current work, in the order in which they are taken, and how many there are.
    blocks: [u32; 2],
    wanted: u8,
    held: u8,
    /// False for work outside of any region.
    region: bool,
    label: u32,
    step: u32,
    /// Accesses still to be done.
    remaining: u32,
    /// Regions open within the outermost one.
    nested: u8,
    /// Whether the last block's lock is held twice.
    again: bool,
    torn: bool,
    /// The variable that is torn.
    variable: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Idle,
    Locking,
    Body,
    /// The first half of a torn region is done and its block given back.
    Torn,
    Unlocking,
    Ending,
    /// Has a block together with other readers.
    Reading,
}

impl Workers {
    pub(super) fn new(plan: &Plan) -> Self {
        let locks = plan.family != Family::Unlocked;
        let variables = match plan.family {
            Family::OpenTransaction => Open::workers_variables(plan),
            _ => plan.variables,
        };
        let blocks = match plan.family {
            // Few enough that a conflict is likely, many enough that all threads can work.
            Family::Unlocked => plan.threads.saturating_mul(8),
            Family::OpenTransaction => plan.locks - 1,
            _ => plan.locks,
        };
        let idle = Worker {
            phase: Phase::Idle,
            blocks: [0; 2],
            wanted: 1,
            held: 0,
            region: false,
            label: 0,
            step: 0,
            remaining: 0,
            nested: 0,
            again: false,
            torn: false,
            variable: 0,
        };
        Workers {
            threads: vec![idle; plan.threads as usize],
            blocks: vec![0; blocks.min(variables).max(1) as usize],
            variables,
            locks,
            mixed: plan.family == Family::Mixed,
            first: u32::from(plan.family == Family::OpenTransaction),
            region_length: plan.region_length,
            violations: plan.violations,
        }
    }

    /// Lets a thread go on; `published` are variables that are read only. False if it has to wait, or to stop.
    pub(super) fn advance(
        &mut self,
        output: &mut Output<'_>,
        random: &mut Random,
        thread: u32,
        draining: bool,
        published: Range<u32>,
    ) -> bool {
        loop {
            let worker = &mut self.threads[thread as usize];
            match worker.phase {
                Phase::Idle if draining => return false,
                Phase::Idle => match self.start(output, random, thread) {
                    Start::Emitted => return true,
                    Start::Busy => return false,
                    Start::Silent => {}
                },
                Phase::Locking => {
                    let block = worker.blocks[usize::from(worker.held)];
                    if self.blocks[block as usize] != 0 {
                        return false;
                    }
                    self.blocks[block as usize] = -1;
                    worker.held += 1;
                    if worker.held == worker.wanted {
                        worker.phase = Phase::Body;
                    }
                    if self.locks {
                        let op = Op::Acquire { lock: LockId(block), mode: LockMode::Exclusive };
                        output.push(thread, worker.site(), op);
                        return true;
                    }
                }
                Phase::Body => {
                    if self.body(output, random, thread, &published) {
                        return true;
                    }
                }
                Phase::Torn => {
                    let block = worker.blocks[0];
                    if self.blocks[block as usize] != 0 {
                        return false;
                    }
                    self.blocks[block as usize] = -1;
                    worker.held = 1;
                    worker.phase = Phase::Body;
                    if self.locks {
                        output.push(
                            thread,
                            worker.site(),
                            Op::Acquire { lock: LockId(block), mode: LockMode::Exclusive },
                        );
                    }
                    output.access(thread, worker.site(), AccessKind::Write, worker.variable);
                    return true;
                }
                Phase::Unlocking => {
                    worker.held -= 1;
                    let block = worker.blocks[usize::from(worker.held)];
                    self.blocks[block as usize] = 0;
                    if worker.held == 0 {
                        worker.phase = Phase::Ending;
                    }
                    if self.locks {
                        let op = Op::Release { lock: LockId(block), mode: LockMode::Exclusive };
                        output.push(thread, worker.site(), op);
                        return true;
                    }
                }
                Phase::Ending => {
                    worker.phase = Phase::Idle;
                    if worker.region {
                        output.push(thread, worker.site(), Op::End);
                        return true;
                    }
                }
                Phase::Reading => {
                    let block = worker.blocks[0];
                    if worker.remaining > 0 {
                        worker.remaining -= 1;
                        let variable = pick(random, block, self.blocks.len() as u32, self.variables);
                        output.access(thread, outside(4), AccessKind::Read, variable);
                    } else {
                        worker.phase = Phase::Idle;
                        self.blocks[block as usize] -= 1;
                        let op = Op::Release { lock: LockId(block), mode: LockMode::Shared };
                        output.push(thread, outside(5), op);
                    }
                    return true;
                }
            }
        }
    }

    /// Begins something new.
    fn start(&mut self, output: &mut Output<'_>, random: &mut Random, thread: u32) -> Start {
        let count = self.blocks.len() as u32;
        let block = random.below(count);
        let choice = random.below(8);
        let threads = self.threads.len() as u32 - self.first;
        if choice == 0 && !self.locks {
            // A single access. Nobody may have the block at this moment, but nobody needs to be told either.
            if self.blocks[block as usize] != 0 {
                return Start::Busy;
            }
            let variable = pick(random, block, count, self.variables);
            output.access(thread, outside(3), kind(random), variable);
            return Start::Emitted;
        }
        let worker = &mut self.threads[thread as usize];
        worker.remaining = random.below(2 * self.region_length - 1) + 1;
        if choice == 1 && self.mixed {
            if self.blocks[block as usize] < 0 {
                return Start::Busy;
            }
            self.blocks[block as usize] += 1;
            worker.blocks[0] = block;
            worker.phase = Phase::Reading;
            output.push(thread, outside(6), Op::Acquire { lock: LockId(block), mode: LockMode::Shared });
            return Start::Emitted;
        }
        worker.region = choice != 0;
        worker.torn = worker.region && threads > 1 && random.chance(self.violations);
        // In one order, so that no two threads wait for each other; and a torn region gives its only block back.
        let other = random.below(count);
        worker.wanted = if choice >= 6 && other > block && !worker.torn { 2 } else { 1 };
        worker.blocks = [block, other];
        worker.held = 0;
        worker.step = 0;
        worker.phase = Phase::Locking;
        if !worker.region {
            return Start::Silent;
        }
        worker.label = random.below(LABELS) + if worker.torn { LABELS } else { 0 };
        output.push(thread, worker.site(), Op::Begin { region: RegionId(worker.label) });
        Start::Emitted
    }

    /// One step within the blocks. False if they are to be given back.
    fn body(
        &mut self,
        output: &mut Output<'_>,
        random: &mut Random,
        thread: u32,
        published: &Range<u32>,
    ) -> bool {
        let count = self.blocks.len() as u32;
        let worker = &mut self.threads[thread as usize];
        let site = worker.site();
        let lock = LockId(worker.blocks[usize::from(worker.wanted) - 1]);
        let mode = LockMode::Exclusive;
        if worker.torn
            && worker.remaining <= self.region_length / 2 + 1
            && !worker.again
            && worker.nested == 0
        {
            self.tear(output, random, thread);
            return true;
        }
        let last = worker.remaining == 0 || worker.torn && worker.remaining <= self.region_length / 2 + 1;
        if worker.again && (last || random.one_in(4)) {
            worker.again = false;
            output.push(thread, site, Op::Release { lock, mode });
            return true;
        }
        if worker.nested > 0 && (last || random.one_in(4)) {
            worker.nested -= 1;
            output.push(thread, site, Op::End);
            return true;
        }
        if worker.remaining == 0 {
            worker.phase = Phase::Unlocking;
            return false;
        }
        worker.remaining -= 1;
        if self.mixed {
            match random.below(16) {
                0 if worker.region && worker.nested < 3 => {
                    worker.nested += 1;
                    output.push(thread, site, Op::Begin { region: RegionId(random.below(LABELS)) });
                    return true;
                }
                1 if !worker.again => {
                    worker.again = true;
                    output.push(thread, site, Op::Acquire { lock, mode });
                    return true;
                }
                _ => {}
            }
        }
        if !published.is_empty() && random.one_in(4) {
            let variable = published.start + random.below(published.end - published.start);
            output.access(thread, site, AccessKind::Read, variable);
            return true;
        }
        let block = worker.blocks[random.below(u32::from(worker.wanted)) as usize];
        let variable = pick(random, block, count, self.variables);
        let kind = kind(random);
        if !self.mixed {
            output.access(thread, site, kind, variable);
            return true;
        }
        let op = mixed_access(random, kind, address(variable));
        output.push(thread, site, op);
        true
    }

    /// Reads a variable, gives its block back and lets another thread write to it at once.
    fn tear(&mut self, output: &mut Output<'_>, random: &mut Random, thread: u32) {
        let count = self.blocks.len() as u32;
        let intruder = self.intruder(random, thread);
        let worker = &mut self.threads[thread as usize];
        worker.torn = false;
        let block = worker.blocks[0];
        let variable = pick(random, block, count, self.variables);
        output.access(thread, worker.site(), AccessKind::Read, variable);
        let Some(intruder) = intruder else { return };
        let (lock, mode) = (LockId(block), LockMode::Exclusive);
        worker.variable = variable;
        worker.phase = Phase::Torn;
        worker.held = 0;
        self.blocks[block as usize] = 0;
        if self.locks {
            output.push(thread, worker.site(), Op::Release { lock, mode });
            output.push(intruder, outside(7), Op::Acquire { lock, mode });
        }
        output.access(intruder, outside(8), AccessKind::Write, variable);
        if self.locks {
            output.push(intruder, outside(9), Op::Release { lock, mode });
        }
    }

    /// A worker other than the given one; outside of any region, if that is easily found.
    fn intruder(&self, random: &mut Random, thread: u32) -> Option<u32> {
        let others = (self.threads.len() as u32 - self.first).checked_sub(1).filter(|count| *count > 0)?;
        let mut found = None;
        for _ in 0..8 {
            let index = self.first + random.below(others);
            let other = if index >= thread { index + 1 } else { index };
            found = Some(other);
            if self.threads[other as usize].phase == Phase::Idle {
                break;
            }
        }
        found
    }
}

impl Worker {
    /// The place of the next operation.
    #[inline]
    fn site(&mut self) -> SiteId {
        self.step += 1;
        if self.region { inside(self.label, self.step - 1) } else { outside(10 + self.step % 6) }
    }
}

/// What came of beginning something.
enum Start {
    Emitted,
    /// Begun without an event.
    Silent,
    /// Not now.
    Busy,
}

pub(super) fn kind(random: &mut Random) -> AccessKind {
    if random.below(8) < 5 { AccessKind::Read } else { AccessKind::Write }
}

/// A variable of a block.
#[inline]
pub(super) fn pick(random: &mut Random, block: u32, blocks: u32, variables: u32) -> u32 {
    let size = (variables - block - 1) / blocks + 1;
    block + blocks * random.below(size)
}

/// An access of some size, or an atomic operation.
fn mixed_access(random: &mut Random, kind: AccessKind, addr: Addr) -> Op {
    let choice = random.below(16);
    let order = match (kind, choice) {
        (_, 0) => MemoryOrder::Relaxed,
        (_, 1) => MemoryOrder::SequentiallyConsistent,
        (AccessKind::Read, 2 | 3) => MemoryOrder::Acquire,
        (AccessKind::Write, 2) => MemoryOrder::Release,
        (AccessKind::Write, 3) => {
            let (kind, order) = (AtomicKind::ReadModifyWrite, MemoryOrder::AcquireRelease);
            return Op::Atomic { kind, order, size: 8, addr };
        }
        (_, 4) => return Op::Access { kind, size: 4, addr },
        (_, 5) => return Op::Access { kind, size: 4, addr: Addr(addr.0 + 4) },
        _ => return Op::Access { kind, size: 8, addr },
    };
    let kind = match kind {
        AccessKind::Read => AtomicKind::Load,
        AccessKind::Write => AtomicKind::Store,
    };
    Op::Atomic { kind, order, size: 8, addr }
}
