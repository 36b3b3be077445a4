//! The tasks of a run that one thread tells of.

use super::records::Life;
use super::{Actor, Effect, Hand, Kept, Known, Running, Single, Slot, TaskCounts, TaskState, TaskTree};
use crate::event::{TaskId, ThreadId};
use crate::replay::Fault;
use crate::sptree::{StepId, Structure};

/// A tree of tasks with its only hand, and what all threads of the run are doing.
#[derive(Debug)]
pub struct Tasks<S: Structure, T: TaskState> {
    tree: TaskTree<S, T, Single>,
    hand: Hand<S>,
    /// For each thread the tasks that it runs.
    running: Vec<Running>,
}

impl<S: Structure, T: TaskState> Default for Tasks<S, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Structure, T: TaskState> Tasks<S, T> {
    /// No task has acted yet.
    pub fn new() -> Self {
        let (tree, hand) = TaskTree::new();
        Self { tree, hand, running: Vec::new() }
    }

    /// The structure.
    #[inline]
    pub fn structure(&self) -> &S {
        self.hand.structure()
    }

    /// How many tasks there were.
    pub fn counts(&self) -> TaskCounts {
        self.tree.counts()
    }

    /// How many orders beside the tree there are.
    #[inline]
    pub fn edges(&self) -> u64 {
        self.tree.edges()
    }

    /// The task that a thread runs now, if it has acted before.
    #[inline]
    pub fn current(&self, thread: ThreadId) -> Option<Slot> {
        self.running.get(thread.index())?.current()
    }

    fn running(&mut self, thread: ThreadId) -> &mut Running {
        if self.running.len() <= thread.index() {
            self.running.resize_with(thread.index() + 1, Running::default);
        }
        &mut self.running[thread.index()]
    }

    /// The task of an actor that is remembered.
    pub fn slot(&self, actor: Actor) -> Option<Slot> {
        self.tree.slot(actor)
    }

    /// Who a task is.
    #[inline]
    pub fn actor(&self, task: Slot) -> Actor {
        self.tree.actor(task)
    }

    /// The task's current step.
    #[inline]
    pub fn step(&self, task: Slot) -> StepId {
        self.tree.step(task)
    }

    /// What the task knows beside the tree.
    #[inline]
    pub fn known(&self, task: Slot) -> Known {
        self.tree.known(task)
    }

    /// The driver's own data.
    #[inline]
    pub fn data(&mut self, task: Slot) -> &mut T {
        self.tree.parts(task).0
    }

    /// The driver's own data, the structure, what the task knows and its step.
    #[inline]
    pub fn parts(&mut self, task: Slot) -> (&mut T, &S, &Known, StepId) {
        let (data, known, step) = self.tree.parts(task);
        (data, &self.hand.structure, known, step)
    }

    /// The task that a thread runs. A thread that has done nothing yet gets one of its own.
    pub fn acting(&mut self, thread: ThreadId) -> Slot {
        self.running(thread);
        self.tree.acting(&mut self.hand, &mut self.running[thread.index()], thread)
    }

    /// A task is spawned by another one, or a thread forked.
    pub fn spawn(&mut self, by: Slot, actor: Actor) -> Result<Slot, Fault> {
        self.tree.spawn(&mut self.hand, by, actor)
    }

    /// A thread starts a task or goes on with it.
    pub fn begin(&mut self, thread: ThreadId, id: TaskId) -> Result<Slot, Fault> {
        self.running(thread);
        self.tree.begin(&mut self.running[thread.index()], id)
    }

    /// A thread leaves a task that is not finished.
    pub fn suspend(&mut self, thread: ThreadId, id: TaskId) -> Result<(), Fault> {
        self.running(thread);
        self.tree.suspend(&mut self.running[thread.index()], thread, id)
    }

    /// A thread has finished a task.
    pub fn end(&mut self, thread: ThreadId, id: TaskId) -> Result<(), Fault> {
        self.running(thread);
        self.tree.end(&mut self.hand, &mut self.running[thread.index()], thread, id)
    }

    /// A thread has ended: so has what it did outside of tasks.
    pub fn end_thread(&mut self, thread: ThreadId) {
        self.tree.end_thread(&mut self.hand, thread);
    }

    /// A finish scope opens.
    pub fn finish_begin(&mut self, by: Slot) {
        self.tree.finish_begin(&mut self.hand, by);
    }

    /// The innermost finish scope ends.
    pub fn finish_end(&mut self, by: Slot) -> Result<Effect, Fault> {
        self.tree.finish_end(&mut self.hand, by)
    }

    /// The task has waited for all its children.
    pub fn wait(&mut self, by: Slot) -> Result<Effect, Fault> {
        self.tree.wait(&mut self.hand, by)
    }

    /// A task has waited for another one.
    pub fn join(&mut self, by: Slot, other: Actor) -> Result<Effect, Fault> {
        self.tree.join(&mut self.hand, by, other)
    }

    /// One task may start only when another one has ended.
    pub fn order(&mut self, before: TaskId, after: TaskId) -> Result<(), Fault> {
        self.tree.order(&mut self.hand, before, after)
    }

    /// What the acting task did so far will be known to others: gives what they will know. The task goes on with a new
    /// step.
    pub fn publish(&mut self, by: Slot) -> Known {
        self.tree.publish(&mut self.hand, by)
    }

    /// The acting task learns what others have published.
    pub fn learn(&mut self, by: Slot, known: &Known) {
        self.tree.learn(&self.hand, by, known);
    }

    /// Adds to what will be known to others.
    pub fn merge(&self, into: &mut Known, known: &Known) {
        into.learn(&self.hand.structure, known);
    }

    /// Shows the data of all tasks that have not ended, with the structure.
    pub fn resolve_live_data(&mut self, mut visit: impl FnMut(&mut T, &S)) {
        let structure = &self.hand.structure;
        self.tree.for_each_task(|task| {
            if task.life() != Life::Ended {
                task.data.with(|data| visit(data, structure));
            }
        });
    }

    /// Forgets collapsed steps. Before, every reference to a step outside of this structure must have been resolved.
    pub fn forget_collapsed(&mut self) {
        self.tree.resolve(&self.hand);
        self.hand.structure.forget_collapsed();
    }
}
