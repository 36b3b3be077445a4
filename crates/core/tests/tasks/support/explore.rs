//! All states that a program can reach, by trying every move in each of them.
//!
//! A state is the position of each task, one byte for each in a word. Nothing else is needed: which tasks have been
//! spawned or have ended and which locks are held follows from the positions. All waiting but that for locks has the form
//! "these tasks have come at least so far", so a move is allowed if no byte of a word is below that of another word.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

use super::program::{Held, Op, OpId, Program};
use keirin_core::event::LockMode;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Whether locks exclude each other, or are taken as if they were not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Locks {
    Respected,
    Ignored,
}

/// The highest bit of each byte; positions are below it.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The byte of a task in a word.
#[inline]
pub(crate) fn byte(word: u64, task: usize) -> usize {
    (word >> (8 * task)) as usize & 0xFF
}

#[inline]
fn at_least(word: u64, other: u64) -> bool {
    ((word | HIGH) - other) & HIGH == HIGH
}

/// The greater one of each two bytes.
fn greater(word: u64, other: u64) -> u64 {
    let keep = ((((word | HIGH) - other) & HIGH) >> 7) * 0xFF;
    (word & keep) | (other & !keep)
}

/// A hash for states that costs one multiplication.
#[derive(Default)]
struct StateHasher(u64);

impl Hasher for StateHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// One operation as the exploration sees it.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: OpId,
    is_access: bool,
    /// How far each task must have come.
    needs: u64,
    /// The lock that nobody else may hold in an excluding mode.
    wants: Held,
}

/// A program, compiled: only operations that somebody can wait for or that access memory are left.
struct Machine {
    tasks: Vec<Vec<Step>>,
    /// The locks held by each task at each position.
    held: Vec<Vec<Held>>,
    /// For each operation of the program, how many of the operations left stand before it.
    position: Vec<Vec<usize>>,
}

fn is_kept(op: Op, locks: Locks) -> bool {
    match op {
        Op::Begin(_) | Op::End | Op::FinishBegin | Op::Order(..) => false,
        Op::Acquire(..) | Op::Release(..) => locks == Locks::Respected,
        _ => true,
    }
}

impl Machine {
    fn new(program: &Program, locks: Locks) -> Self {
        let mut position = Vec::new();
        for ops in &program.tasks {
            let mut kept = 0;
            let mut of_task = Vec::with_capacity(ops.len() + 1);
            for op in ops {
                of_task.push(kept);
                kept += usize::from(is_kept(*op, locks));
            }
            of_task.push(kept);
            position.push(of_task);
        }
        let mut machine = Machine { tasks: Vec::new(), held: Vec::new(), position };
        for (task, ops) in program.tasks.iter().enumerate() {
            let held_before = program.held(task);
            let (mut steps, mut held) = (Vec::new(), Vec::new());
            for (index, op) in ops.iter().enumerate() {
                if !is_kept(*op, locks) {
                    continue;
                }
                let id = OpId::new(task, index);
                let mut needs = if steps.is_empty() { machine.start(program, task) } else { 0 };
                for other in program.waits_for(id) {
                    needs = greater(needs, machine.end(program, other));
                }
                if let Op::Await(token) = op {
                    let signal = program.ops().find(|(_, op)| *op == Op::Signal(*token));
                    let (signal, _) = signal.expect("a token that is awaited is signalled");
                    needs = greater(needs, machine.after(program, signal));
                }
                let wants = match op {
                    Op::Acquire(lock, LockMode::Exclusive) => Held { exclusive: 1 << lock, shared: 0 },
                    Op::Acquire(lock, LockMode::Shared) => Held { exclusive: 0, shared: 1 << lock },
                    _ => Held::default(),
                };
                steps.push(Step { op: id, is_access: op.access().is_some(), needs, wants });
                held.push(held_before[index]);
            }
            held.push(held_before[ops.len()]);
            machine.tasks.push(steps);
            machine.held.push(held);
        }
        machine
    }

    /// What must have happened so that an operation is over.
    fn after(&self, program: &Program, id: OpId) -> u64 {
        let reached = self.position[id.task()][id.index() + 1] as u64;
        // A task that need not have done anything must at least have been able to begin.
        if reached == 0 { self.start(program, id.task()) } else { reached << (8 * id.task()) }
    }

    /// What must have happened so that a task can begin.
    fn start(&self, program: &Program, task: usize) -> u64 {
        let mut needs = program.spawn_of(task).map_or(0, |spawn| self.after(program, spawn));
        for (id, op) in program.ops() {
            if let Op::Order(before, after) = op
                && usize::from(after) == task
            {
                needs = greater(needs, self.after(program, id));
                needs = greater(needs, self.end(program, usize::from(before)));
            }
        }
        needs
    }

    /// What must have happened so that a task has ended.
    fn end(&self, program: &Program, task: usize) -> u64 {
        match program.tasks[task].len() {
            0 => self.start(program, task),
            length => self.after(program, OpId::new(task, length - 1)),
        }
    }

    /// The next operation of a task, if the task has begun and is not hindered.
    #[inline]
    fn next(&self, state: u64, task: usize) -> Option<&Step> {
        let step = self.tasks[task].get(byte(state, task))?;
        if !at_least(state, step.needs) {
            return None;
        }
        if step.wants != Held::default() {
            for (other, held) in self.held.iter().enumerate() {
                if other != task && held[byte(state, other)].excludes(step.wants) {
                    return None;
                }
            }
        }
        Some(step)
    }
}

/// One state that can be reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// The position of each task.
    pub(crate) positions: u64,
    /// How far each task can come from here, each for itself.
    pub(crate) furthest: u64,
    /// The states after a move of each task, or [`State::NONE`].
    pub(crate) after: [u32; super::program::MAX_TASKS],
}

impl State {
    pub(crate) const NONE: u32 = u32::MAX;
}

/// All states of a program that can be reached, each after those that can be reached from it. The last one is the start.
pub(crate) struct States {
    machine: Machine,
    pub(crate) all: Vec<State>,
}

impl States {
    pub(crate) fn new(program: &Program, locks: Locks) -> Self {
        let mut states = States { machine: Machine::new(program, locks), all: Vec::new() };
        let mut known = HashMap::with_hasher(BuildHasherDefault::<StateHasher>::default());
        states.visit(0, &mut known);
        states
    }

    fn visit(
        &mut self,
        positions: u64,
        known: &mut HashMap<u64, u32, BuildHasherDefault<StateHasher>>,
    ) -> u32 {
        if let Some(number) = known.get(&positions) {
            return *number;
        }
        let mut state = State { positions, furthest: positions, after: [State::NONE; _] };
        for task in 0..self.machine.tasks.len() {
            if self.machine.next(positions, task).is_some() {
                let after = self.visit(positions + (1 << (8 * task)), known);
                state.after[task] = after;
                state.furthest = greater(state.furthest, self.all[after as usize].furthest);
            }
        }
        let number = self.all.len() as u32;
        self.all.push(state);
        known.insert(positions, number);
        number
    }

    /// The access that a task does next in a state, if it does one and nothing hinders it.
    #[inline]
    pub(crate) fn next_access(&self, state: &State, task: usize) -> Option<OpId> {
        if state.after[task] == State::NONE {
            return None;
        }
        let step = &self.machine.tasks[task][byte(state.positions, task)];
        step.is_access.then_some(step.op)
    }

    /// A task's position when an operation is the next one to be done.
    pub(crate) fn position(&self, id: OpId) -> usize {
        self.machine.position[id.task()][id.index()]
    }

    /// The operation that a task does at a position.
    pub(crate) fn op_at(&self, task: usize, position: usize) -> OpId {
        self.machine.tasks[task][position].op
    }

    /// How many positions a task has before its end.
    pub(crate) fn length(&self, task: usize) -> usize {
        self.machine.tasks[task].len()
    }

    /// True if some execution does all these accesses, the first one of each pair before the second one.
    pub(crate) fn has_execution(&self, pairs: &[(OpId, OpId)]) -> bool {
        let mut seen = vec![false; self.all.len()];
        self.search(self.all.len() - 1, pairs, &mut seen)
    }

    fn search(&self, number: usize, pairs: &[(OpId, OpId)], seen: &mut [bool]) -> bool {
        let state = &self.all[number];
        let done = |id: OpId| byte(state.positions, id.task()) > self.position(id);
        if seen[number] || pairs.iter().any(|(first, second)| done(*second) && !done(*first)) {
            return false;
        }
        if pairs.iter().all(|(_, second)| done(*second)) {
            return true;
        }
        seen[number] = true;
        state.after.iter().any(|after| *after != State::NONE && self.search(*after as usize, pairs, seen))
    }
}
