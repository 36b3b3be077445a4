//! A run of a program as keirin would see it: one random schedule, on one to three threads.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

use super::execute::{Execution, Move};
use super::program::{Op as ProgramOp, OpId, Program};
use super::random::Random;
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, Event, LockId, MemoryOrder, Op, RegionId, SiteId, TaskId, ThreadId,
};
use std::collections::HashSet;

/// The address of location 0; the others follow, eight bytes each.
pub(crate) const BASE: u64 = 0x1000;
/// The value of token 0 of a program. Apart from all addresses, for tokens often are addresses.
pub(crate) const TOKENS: u64 = 0x1_0000;

/// The address of a location.
pub(crate) fn address(location: u8) -> Addr {
    Addr(BASE + 8 * u64::from(location))
}

/// The location at an address.
pub(crate) fn location(address: Addr) -> u8 {
    ((address.0 - BASE) / 8) as u8
}

/// The site of an operation: no two operations of a program have the same.
pub(crate) fn site(id: OpId) -> SiteId {
    SiteId(u32::from(id.task) << 8 | u32::from(id.index))
}

/// The operation at a site.
pub(crate) fn op_at(site: SiteId) -> OpId {
    OpId { task: (site.0 >> 8) as u8, index: site.0 as u8 }
}

/// An observed run.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) events: Vec<Event>,
    /// For each event the operation of the program that it tells; none where a thread turns to another task, or a task
    /// ends. Such events have no site.
    pub(crate) origins: Vec<Option<OpId>>,
    /// How many threads took part.
    pub(crate) threads: usize,
}

/// A random complete schedule of a program, as a list of moves; none if every schedule gets stuck.
pub(crate) fn schedule(program: &Program, random: &mut Random) -> Option<Vec<Move>> {
    let mut search = Search {
        execution: Execution::new(program),
        moves: Vec::new(),
        stuck: HashSet::new(),
        // From runs that change the task at every operation to such that hardly do.
        stay: random.pick(&[0, 30, 60, 90]),
    };
    search.go_on(random).then_some(search.moves)
}

struct Search<'p> {
    execution: Execution<'p>,
    moves: Vec<Move>,
    /// States from which no way leads to the end.
    stuck: HashSet<(Vec<usize>, Vec<bool>)>,
    /// In so many of a hundred cases the task that moved last moves again if it can.
    stay: usize,
}

impl Search<'_> {
    fn go_on(&mut self, random: &mut Random) -> bool {
        if self.execution.complete() {
            return true;
        }
        // The memory of dead ends is asked only once there is one.
        let key = |execution: &Execution<'_>| (execution.positions.clone(), execution.ended.clone());
        if !self.stuck.is_empty() && self.stuck.contains(&key(&self.execution)) {
            return false;
        }
        let tasks = 0..self.execution.positions.len();
        let mut choices: Vec<Move> = tasks.filter_map(|task| self.execution.next(task)).collect();
        random.shuffle(&mut choices);
        if random.percent(self.stay)
            && let Some(last) = self.moves.last().map(|last| task_of(*last))
            && let Some(same) = choices.iter().position(|choice| task_of(*choice) == last)
        {
            choices.swap(0, same);
        }
        for choice in choices {
            self.execution.make(choice);
            self.moves.push(choice);
            if self.go_on(random) {
                return true;
            }
            self.moves.pop();
            self.execution.unmake(choice);
        }
        self.stuck.insert(key(&self.execution));
        false
    }
}

fn task_of(choice: Move) -> usize {
    match choice {
        Move::Operation(id) => id.task(),
        Move::End(task) => task,
    }
}

/// A random complete run of a program; none if every schedule gets stuck.
pub(crate) fn observe(program: &Program, seed: u64) -> Option<Observed> {
    let mut random = Random::new(seed);
    let moves = schedule(program, &mut random)?;
    Some(tell(program, &moves, &mut random))
}

/// Gives the tasks of a schedule to threads, and tells what these do.
pub(crate) fn tell(program: &Program, moves: &[Move], random: &mut Random) -> Observed {
    let mut teller = Teller {
        threads: vec![vec![0]],
        limit: random.between(1, 3),
        observed: Observed { events: Vec::new(), origins: Vec::new(), threads: 1 },
    };
    for choice in moves {
        match *choice {
            Move::Operation(id) => {
                let thread = teller.bring_up(id.task(), random);
                teller.tell(thread, event_op(program.op(id)), Some(id));
            }
            // The root has no end of its own: it is what its thread does.
            Move::End(0) => {}
            Move::End(task) => {
                let thread = teller.bring_up(task, random);
                teller.tell(thread, Op::TaskEnd { task: TaskId(task as u32) }, None);
                teller.threads[thread].pop();
            }
        }
    }
    teller.observed.threads = teller.threads.len();
    teller.observed
}

struct Teller {
    /// The tasks that each thread has on its stack, the current one last. The root is always the first of thread 0.
    threads: Vec<Vec<usize>>,
    /// At most so many threads take part.
    limit: usize,
    observed: Observed,
}

impl Teller {
    fn tell(&mut self, thread: usize, op: Op, origin: Option<OpId>) {
        let site = origin.map_or(SiteId::NONE, site);
        self.observed.events.push(Event { thread: ThreadId(thread as u32), site, op });
        self.observed.origins.push(origin);
    }

    fn suspend(&mut self, thread: usize) {
        let task = self.threads[thread].pop().expect("a task is suspended that is there");
        self.tell(thread, Op::TaskSuspend { task: TaskId(task as u32) }, None);
    }

    /// Makes a task the current one of a thread, and says of which.
    fn bring_up(&mut self, task: usize, random: &mut Random) -> usize {
        if let Some(thread) = self.threads.iter().position(|stack| stack.contains(&task)) {
            while self.threads[thread].last() != Some(&task) {
                self.suspend(thread);
            }
            return thread;
        }
        // Threads are numbered in the order in which they first do something.
        let thread = random.below(self.limit.min(self.threads.len() + 1));
        if thread == self.threads.len() {
            self.threads.push(Vec::new());
        }
        // What the thread ran before either stays below, or is left for any thread to resume.
        while self.threads[thread].last().is_some_and(|current| *current != 0) && random.percent(40) {
            self.suspend(thread);
        }
        self.threads[thread].push(task);
        self.tell(thread, Op::TaskBegin { task: TaskId(task as u32) }, None);
        thread
    }
}

/// What keirin is told of an operation.
fn event_op(op: ProgramOp) -> Op {
    let access = |kind, which| Op::Access { kind, size: 8, addr: address(which) };
    let atomic =
        |kind, which| Op::Atomic { kind, order: MemoryOrder::Relaxed, size: 8, addr: address(which) };
    let task = |which: u8| TaskId(u32::from(which));
    match op {
        ProgramOp::Read(which) => access(AccessKind::Read, which),
        ProgramOp::Write(which) => access(AccessKind::Write, which),
        ProgramOp::AtomicRead(which) => atomic(AtomicKind::Load, which),
        ProgramOp::AtomicWrite(which) => atomic(AtomicKind::Store, which),
        ProgramOp::Acquire(lock, mode) => Op::Acquire { lock: LockId(u32::from(lock)), mode },
        ProgramOp::Release(lock, mode) => Op::Release { lock: LockId(u32::from(lock)), mode },
        ProgramOp::Spawn(child) => Op::Spawn { task: task(child) },
        ProgramOp::Wait => Op::TaskWait,
        ProgramOp::FinishBegin => Op::FinishBegin,
        ProgramOp::FinishEnd => Op::FinishEnd,
        ProgramOp::Begin(label) => Op::Begin { region: RegionId(u32::from(label)) },
        ProgramOp::End => Op::End,
        ProgramOp::Join(other) => Op::TaskJoin { task: task(other) },
        ProgramOp::Order(before, after) => Op::TaskOrder { before: task(before), after: task(after) },
        ProgramOp::Signal(token) => Op::HappensBefore { token: TOKENS + u64::from(token) },
        ProgramOp::Await(token) => Op::HappensAfter { token: TOKENS + u64::from(token) },
    }
}
