//! What a program may do next, told in the plainest way: one check for each operation, nothing compiled beforehand.
//!
//! Observed runs are made with it, and the oracle, which has the same rules in another form, is compared with it.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

use super::program::{Held, Op, OpId, Program};
use keirin_core::event::LockMode;
use std::rc::Rc;

/// How far a program has come.
#[derive(Clone, Debug)]
pub(crate) struct Execution<'p> {
    pub(crate) program: &'p Program,
    /// The next operation of each task.
    pub(crate) positions: Vec<usize>,
    /// Whether each task has ended, which it does in a move of its own after its last operation.
    pub(crate) ended: Vec<bool>,
    /// The locks that each task holds before each of its operations.
    held: Rc<[Vec<Held>]>,
}

/// What a task does in one move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    Operation(OpId),
    End(usize),
}

impl<'p> Execution<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let tasks = program.tasks.len();
        let held = (0..tasks).map(|task| program.held(task)).collect();
        Self { program, positions: vec![0; tasks], ended: vec![false; tasks], held }
    }

    fn done(&self, id: OpId) -> bool {
        self.positions[id.task()] > id.index()
    }

    /// True if a task may begin: it was spawned, and what it depends on has ended.
    pub(crate) fn startable(&self, task: usize) -> bool {
        let spawned = task == 0 || self.program.spawn_of(task).is_some_and(|spawn| self.done(spawn));
        let orders = self.program.ops().all(|(id, op)| match op {
            Op::Order(before, after) if usize::from(after) == task => {
                self.done(id) && self.ended[usize::from(before)]
            }
            _ => true,
        });
        spawned && orders
    }

    /// The move that a task can make now, if it can make one.
    pub(crate) fn next(&self, task: usize) -> Option<Move> {
        if self.ended[task] || !self.startable(task) {
            return None;
        }
        let id = OpId::new(task, self.positions[task]);
        let Some(op) = self.program.tasks[task].get(id.index()) else { return Some(Move::End(task)) };
        let possible = match op {
            Op::Acquire(lock, mode) => {
                let wanted = match mode {
                    LockMode::Exclusive => Held { exclusive: 1 << lock, shared: 0 },
                    LockMode::Shared => Held { exclusive: 0, shared: 1 << lock },
                };
                let mut others = (0..self.positions.len()).filter(|other| *other != task);
                others.all(|other| !self.held[other][self.positions[other]].excludes(wanted))
            }
            Op::Await(token) => self.program.ops().any(|(id, op)| op == Op::Signal(*token) && self.done(id)),
            _ => self.program.waits_for(id).iter().all(|other| self.ended[*other]),
        };
        possible.then_some(Move::Operation(id))
    }

    /// Makes a move that [`Self::next`] has allowed.
    pub(crate) fn make(&mut self, choice: Move) {
        match choice {
            Move::Operation(id) => self.positions[id.task()] += 1,
            Move::End(task) => self.ended[task] = true,
        }
    }

    /// Takes back the last move.
    pub(crate) fn unmake(&mut self, choice: Move) {
        match choice {
            Move::Operation(id) => self.positions[id.task()] -= 1,
            Move::End(task) => self.ended[task] = false,
        }
    }

    /// Makes all ends that are possible: a task that has nothing left to do hinders nobody by ending.
    pub(crate) fn end_all(&mut self) {
        while let Some(choice) = (0..self.positions.len())
            .filter_map(|task| self.next(task))
            .find(|choice| matches!(choice, Move::End(_)))
        {
            self.make(choice);
        }
    }

    pub(crate) fn complete(&self) -> bool {
        self.ended.iter().all(|ended| *ended)
    }
}

/// True if the operations, in this order, are the beginning of an execution of the program: the test of a witness.
pub(crate) fn is_execution(program: &Program, order: &[OpId]) -> bool {
    let mut execution = Execution::new(program);
    for id in order {
        execution.end_all();
        if execution.next(id.task()) != Some(Move::Operation(*id)) {
            return false;
        }
        execution.make(Move::Operation(*id));
    }
    true
}
