//! Small task-parallel programs: what each task does, as a list of operations.
//!
//! A program has no branches: every run of it does the same operations, in an order that the program leaves open.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

use keirin_core::event::{AccessKind, LockMode};

/// At most so many tasks, so that a position in each of them fits into a word.
pub(crate) const MAX_TASKS: usize = 8;
/// A task has at most so many operations, for the same reason.
pub(crate) const MAX_OPS: usize = 120;

/// What a task can do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Op {
    /// Reads a location.
    Read(u8),
    /// Writes a location.
    Write(u8),
    /// Reads a location atomically, without any memory order.
    AtomicRead(u8),
    /// Writes a location atomically, without any memory order.
    AtomicWrite(u8),
    /// Takes a lock; waits while another task holds it in a mode that excludes this one. Locks are re-entrant.
    Acquire(u8, LockMode),
    /// Gives a lock back, which this task took in the same mode.
    Release(u8, LockMode),
    /// Creates a task.
    Spawn(u8),
    /// Waits for the tasks that this task has spawned so far; not for the tasks which those spawned.
    Wait,
    /// Opens a scope.
    FinishBegin,
    /// Closes the innermost scope: waits for all tasks that this task spawned in it, and for all their descendants.
    FinishEnd,
    /// Opens an annotated block, with its label.
    Begin(u8),
    /// Closes the innermost annotated block.
    End,
    /// Waits for one task, wherever it was spawned (a future).
    Join(u8),
    /// The second task may start only when the first has ended. Both are children of this task, the first the older one;
    /// it stands right behind the spawn of the second, which cannot start before it.
    Order(u8, u8),
    /// What comes before this happens before whatever follows an `Await` of the same token. One for each token.
    Signal(u8),
    /// Waits for the `Signal` of the token.
    Await(u8),
}

impl Op {
    /// The access that this operation is, if it is one.
    pub(crate) fn access(self) -> Option<Access> {
        let (location, kind, atomic) = match self {
            Op::Read(location) => (location, AccessKind::Read, false),
            Op::Write(location) => (location, AccessKind::Write, false),
            Op::AtomicRead(location) => (location, AccessKind::Read, true),
            Op::AtomicWrite(location) => (location, AccessKind::Write, true),
            _ => return None,
        };
        Some(Access { location, kind, atomic })
    }

    /// True if a step ends here and another one begins behind it.
    pub(crate) fn is_construct(self) -> bool {
        matches!(self, Op::Spawn(_) | Op::Wait | Op::FinishBegin | Op::FinishEnd | Op::Join(_))
    }
}

/// What an operation that accesses memory does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    pub(crate) location: u8,
    pub(crate) kind: AccessKind,
    pub(crate) atomic: bool,
}

impl Access {
    /// True if the order of the two matters: the same location, and one of them writes.
    pub(crate) fn conflicts(self, other: Access) -> bool {
        self.location == other.location && (self.writes() || other.writes())
    }

    pub(crate) fn writes(self) -> bool {
        self.kind == AccessKind::Write
    }
}

/// One operation of a program: the task that does it, and its place there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OpId {
    pub(crate) task: u8,
    pub(crate) index: u8,
}

impl OpId {
    pub(crate) fn new(task: usize, index: usize) -> Self {
        Self { task: task as u8, index: index as u8 }
    }

    pub(crate) fn task(self) -> usize {
        usize::from(self.task)
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.index)
    }
}

impl std::fmt::Debug for OpId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.task, self.index)
    }
}

/// Which parts of a task are to be seen as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Regions {
    /// Every step: the longest stretches without a task construct.
    Steps,
    /// The outermost annotated blocks, as far as they lie in one step.
    Blocks,
    /// These blocks, and of each step all that is outside of them: what marked locations belong to.
    Marked,
}

/// The locks a task holds at some point, one bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Held {
    pub(crate) exclusive: u16,
    pub(crate) shared: u16,
}

impl Held {
    /// The locks, however they are held.
    pub(crate) fn any(self) -> u16 {
        self.exclusive | self.shared
    }

    /// True if two tasks cannot hold these locks at the same time.
    pub(crate) fn excludes(self, other: Held) -> bool {
        self.exclusive & (other.exclusive | other.shared) != 0 || self.shared & other.exclusive != 0
    }
}

/// A program. Task 0 is the root; every other task is spawned by exactly one operation.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Program {
    pub(crate) tasks: Vec<Vec<Op>>,
}

impl Program {
    /// All operations, task by task.
    pub(crate) fn ops(&self) -> impl Iterator<Item = (OpId, Op)> + '_ {
        self.tasks.iter().enumerate().flat_map(|(task, ops)| {
            ops.iter().enumerate().map(move |(index, op)| (OpId::new(task, index), *op))
        })
    }

    /// All accesses, task by task.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = (OpId, Access)> + '_ {
        self.ops().filter_map(|(id, op)| Some((id, op.access()?)))
    }

    pub(crate) fn op(&self, id: OpId) -> Op {
        self.tasks[id.task()][id.index()]
    }

    /// The operation that spawns a task; none for the root.
    pub(crate) fn spawn_of(&self, task: usize) -> Option<OpId> {
        self.ops().find(|(_, op)| *op == Op::Spawn(task as u8)).map(|(id, _)| id)
    }

    /// The children that a task spawns in a part of its operations.
    pub(crate) fn children(
        &self,
        task: usize,
        range: std::ops::Range<usize>,
    ) -> impl Iterator<Item = usize> + '_ {
        self.tasks[task][range].iter().filter_map(|op| match op {
            Op::Spawn(child) => Some(usize::from(*child)),
            _ => None,
        })
    }

    /// Adds a task and all its descendants to a list.
    pub(crate) fn descendants(&self, task: usize, into: &mut Vec<usize>) {
        into.push(task);
        for child in self.children(task, 0..self.tasks[task].len()) {
            self.descendants(child, into);
        }
    }

    /// The `FinishBegin` that belongs to a `FinishEnd`.
    pub(crate) fn opening(&self, end: OpId) -> usize {
        let mut depth = 0;
        for index in (0..end.index()).rev() {
            match self.tasks[end.task()][index] {
                Op::FinishEnd => depth += 1,
                Op::FinishBegin if depth == 0 => return index,
                Op::FinishBegin => depth -= 1,
                _ => {}
            }
        }
        panic!("a scope is closed that was never opened: {self}")
    }

    /// The tasks that an operation waits for. (A task's start and awaited signals are not operations of this kind.)
    pub(crate) fn waits_for(&self, id: OpId) -> Vec<usize> {
        match self.op(id) {
            Op::Wait => self.children(id.task(), 0..id.index()).collect(),
            Op::FinishEnd => {
                let mut all = Vec::new();
                for child in self.children(id.task(), self.opening(id)..id.index()) {
                    self.descendants(child, &mut all);
                }
                all
            }
            Op::Join(task) => vec![usize::from(task)],
            _ => Vec::new(),
        }
    }

    /// The locks that a task holds before each of its operations, and at its end.
    pub(crate) fn held(&self, task: usize) -> Vec<Held> {
        let mut counts = [[0u8; 2]; 16];
        let mut all = vec![Held::default()];
        for op in &self.tasks[task] {
            match op {
                Op::Acquire(lock, mode) => counts[usize::from(*lock)][*mode as usize] += 1,
                Op::Release(lock, mode) => counts[usize::from(*lock)][*mode as usize] -= 1,
                _ => {}
            }
            let mut held = Held::default();
            for (lock, [exclusive, shared]) in counts.iter().enumerate() {
                held.exclusive |= u16::from(*exclusive > 0) << lock;
                held.shared |= u16::from(*shared > 0) << lock;
            }
            all.push(held);
        }
        all
    }

    /// The region instance that each operation of a task lies in, if any. Numbers are unique within the task.
    pub(crate) fn regions(&self, task: usize, regions: Regions) -> Vec<Option<usize>> {
        let (mut number, mut depth) = (0, 0usize);
        let (mut step, mut block) = (0, 0);
        let mut all = Vec::with_capacity(self.tasks[task].len());
        for op in &self.tasks[task] {
            // A block that lies in several steps is as many regions.
            match op {
                Op::Begin(_) => {
                    depth += 1;
                    if depth == 1 {
                        number += 1;
                        block = number;
                    }
                }
                Op::End => depth = depth.saturating_sub(1),
                other if other.is_construct() => {
                    number += 2;
                    (step, block) = (number - 1, number);
                }
                _ => {}
            }
            let region = match regions {
                Regions::Steps => Some(step),
                Regions::Blocks => (depth > 0).then_some(block),
                Regions::Marked => Some(if depth > 0 { block } else { step }),
            };
            all.push(region.filter(|_| op.access().is_some()));
        }
        all
    }

    /// True if a task takes a lock anywhere.
    pub(crate) fn uses_locks(&self) -> bool {
        self.ops().any(|(_, op)| matches!(op, Op::Acquire(..)))
    }

    /// True if some access is atomic.
    pub(crate) fn uses_atomics(&self) -> bool {
        self.accesses().any(|(_, access)| access.atomic)
    }

    /// True if there is an annotated block.
    pub(crate) fn uses_blocks(&self) -> bool {
        self.ops().any(|(_, op)| matches!(op, Op::Begin(_)))
    }

    /// True if there is an order beside the tree: futures, dependences, tokens.
    pub(crate) fn uses_edges(&self) -> bool {
        self.ops().any(|(_, op)| matches!(op, Op::Join(_) | Op::Order(..) | Op::Await(_)))
    }

    /// The same program with tasks and labels numbered in the order of the text form.
    pub(crate) fn renumbered(&self) -> Program {
        let mut order = Vec::new();
        self.descendants(0, &mut order);
        let mut number = vec![0u8; self.tasks.len()];
        for (new, old) in order.iter().enumerate() {
            number[*old] = new as u8;
        }
        let task = |old: u8| number[usize::from(old)];
        let mut tasks: Vec<Vec<Op>> = order.iter().map(|old| self.tasks[*old].clone()).collect();
        for op in tasks.iter_mut().flatten() {
            match op {
                Op::Spawn(other) | Op::Join(other) => *other = task(*other),
                Op::Order(before, after) => (*before, *after) = (task(*before), task(*after)),
                _ => {}
            }
        }
        let mut program = Program { tasks };
        let mut labels = 0;
        program.label(0, &mut labels);
        program
    }

    /// Gives the blocks of a task and of its descendants their labels, in the order of the text form.
    fn label(&mut self, task: usize, labels: &mut u8) {
        for index in 0..self.tasks[task].len() {
            match self.tasks[task][index] {
                Op::Begin(_) => {
                    self.tasks[task][index] = Op::Begin(*labels);
                    *labels += 1;
                }
                Op::Spawn(child) => self.label(usize::from(child), labels),
                _ => {}
            }
        }
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
