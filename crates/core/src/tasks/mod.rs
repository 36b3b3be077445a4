//! Who runs what: the tasks of a run, their scopes, and the series-parallel structure that follows from them.
//!
//! A thread runs one task at a time; under it stand the tasks that it has left without finishing them. What a thread does
//! outside of any task belongs to a task of the thread's own: that of the first thread is the root of the tree, that of a
//! forked thread is a child of the task that forked it, and that of a thread nobody forked is parallel to everything.
//!
//! **Scopes.** `FinishBegin` and `FinishEnd` delimit one. Another one is opened by the first spawn after a wait, for a later
//! wait to close: then the wait is the end of a finish scope, as the tree wants it. That holds only if nothing outlives
//! the children: a wait does not wait for grandchildren, so a child that ended without waiting for its own children leaves
//! some behind (they *escape*). Then the scope stays open, and the waiting task just learns that its children are
//! finished, as order beside the tree ([`Known`]). Joins of single tasks are learned the same way, unless the joined
//! task was the last one of its scope. A wait is for tasks, not for threads; therefore tasks that are spawned beside forked
//! threads get a scope of their own.
//!
//! **Faults.** An order of events that cannot have happened is told as a [`Fault`], and the event is without effect.

mod by_id;
mod known;
mod order;
mod scopes;

pub use known::Known;

use crate::event::{TaskId, ThreadId};
use crate::replay::Fault;
use crate::sptree::{StepId, Structure};
use by_id::ById;
use rustc_hash::FxHashMap;

/// Who acts: a task, or what a thread does outside of any task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Actor {
    /// A thread outside of any task.
    Thread(ThreadId),
    /// A task.
    Task(TaskId),
}

/// What the driver keeps for a task.
pub trait TaskState: Default {
    /// Makes it as new, for another task; memory that it has is used again.
    fn renew(&mut self);
}

/// A task that is remembered: an index, used again when the task is forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u32);

/// A scope that is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ScopeIndex(u32);

const NO_SCOPE: ScopeIndex = ScopeIndex(u32::MAX);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Spawned,
    Running,
    /// Left by its thread without being finished.
    Suspended,
    Ended,
}

/// A task: its place in the tree and the driver's own data.
#[derive(Debug)]
struct Task<S: Structure, T> {
    actor: Actor,
    place: S::Place,
    known: Known,
    life: Life,
    /// Somebody has waited for its end.
    joined: bool,
    /// It does nothing until tasks below it have ended.
    waiting: bool,
    /// Who spawned it.
    parent: Option<Slot>,
    /// Its open scopes, innermost last.
    scopes: Vec<ScopeIndex>,
    /// The scope in which it was spawned.
    home: ScopeIndex,
    /// Tasks that may start only when this one has ended.
    dependents: Vec<Slot>,
    /// How many tasks must end before this one may start.
    waits_for: u32,
    data: T,
}

#[derive(Debug)]
struct Scope<S: Structure> {
    scope: S::Scope,
    /// Opened by a spawn, for a later wait.
    implicit: bool,
    /// The scope around it.
    outer: ScopeIndex,
    /// Its task has ended without closing it: what is within belongs to the scope around it.
    left_open: bool,
    /// Tasks spawned here, or left behind by such tasks, that have not ended.
    alive: u32,
    /// Children that nobody has waited for.
    unjoined: u32,
    /// How many of those are threads, for which a wait does not wait.
    threads: u32,
    children: Vec<Slot>,
    /// So many of the first children were waited for although the scope goes on.
    waited: usize,
    /// Scopes that tasks left open when they ended.
    inherited: Vec<ScopeIndex>,
    /// Some child ended without waiting for its own children.
    escaped: bool,
    /// Somebody may know a step within.
    referred_to: bool,
    /// What the finished children knew.
    known: Known,
}

/// The tasks of a run. `T` is what the driver keeps for each.
#[derive(Debug)]
pub struct Tasks<S: Structure, T> {
    structure: S,
    tasks: Vec<Task<S, T>>,
    free_tasks: Vec<Slot>,
    by_id: ById,
    by_thread: FxHashMap<ThreadId, Slot>,
    scopes: Vec<Scope<S>>,
    free_scopes: Vec<ScopeIndex>,
    /// For each thread the tasks that it runs, the current one last.
    running: Vec<Vec<Slot>>,
    /// From here the threads branch off that nobody forked.
    strangers: Option<S::Place>,
    /// Threads that nobody forked, with the first one.
    roots: u32,
    /// Tasks that have not ended.
    live: usize,
    /// How many of those are waiting, and the numbers of the others, one folded into the other.
    waiting: usize,
    active: u32,
    counts: TaskCounts,
}

/// How many tasks there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskCounts {
    /// Tasks that were spawned.
    pub spawned: u64,
    /// Most tasks that were spawned and not yet ended at the same time.
    pub most_live: u64,
    /// Orders beside the tree.
    pub edges: u64,
}

/// What a task construct did to the acting task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It goes on with a new step.
    NewStep,
    /// It goes on with a new step, and there is nothing else in the run: whatever was known beside the tree is void.
    Serial,
}

impl<S: Structure, T: TaskState> Default for Tasks<S, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Structure, T: TaskState> Tasks<S, T> {
    /// No task has acted yet.
    pub fn new() -> Self {
        Self {
            structure: S::default(),
            tasks: Vec::new(),
            free_tasks: Vec::new(),
            by_id: ById::default(),
            by_thread: FxHashMap::default(),
            scopes: Vec::new(),
            free_scopes: Vec::new(),
            running: Vec::new(),
            strangers: None,
            roots: 0,
            live: 0,
            waiting: 0,
            active: 0,
            counts: TaskCounts::default(),
        }
    }

    /// The structure.
    #[inline]
    pub fn structure(&self) -> &S {
        &self.structure
    }

    /// How many tasks there were.
    pub fn counts(&self) -> TaskCounts {
        self.counts
    }

    /// The task that a thread runs now, if it has acted before.
    #[inline]
    pub fn current(&self, thread: ThreadId) -> Option<Slot> {
        self.running.get(thread.index())?.last().copied()
    }

    /// The task of an actor that is remembered.
    pub fn slot(&self, actor: Actor) -> Option<Slot> {
        match actor {
            Actor::Task(id) => self.by_id.get(id),
            Actor::Thread(id) => self.by_thread.get(&id).copied(),
        }
    }

    /// Who a task is.
    #[inline]
    pub fn actor(&self, task: Slot) -> Actor {
        self.tasks[task.0 as usize].actor
    }

    /// The task's current step.
    #[inline]
    pub fn step(&self, task: Slot) -> StepId {
        S::step(&self.tasks[task.0 as usize].place)
    }

    /// What the task knows beside the tree.
    #[inline]
    pub fn known(&self, task: Slot) -> &Known {
        &self.tasks[task.0 as usize].known
    }

    /// The driver's own data.
    #[inline]
    pub fn data(&self, task: Slot) -> &T {
        &self.tasks[task.0 as usize].data
    }

    /// The driver's own data, the structure and what the task knows.
    #[inline]
    pub fn parts(&mut self, task: Slot) -> (&mut T, &S, &Known, StepId) {
        let task = &mut self.tasks[task.0 as usize];
        (&mut task.data, &self.structure, &task.known, S::step(&task.place))
    }

    /// Shows the driver's own data of all tasks, with the structure.
    pub fn resolve_data(&mut self, mut visit: impl FnMut(&mut T, &S)) {
        self.tasks.iter_mut().for_each(|task| visit(&mut task.data, &self.structure));
    }

    /// The data of all tasks that have not ended.
    pub fn live_data(&mut self) -> impl Iterator<Item = &mut T> {
        self.tasks.iter_mut().filter(|task| task.life != Life::Ended).map(|task| &mut task.data)
    }

    fn task(&mut self, task: Slot) -> &mut Task<S, T> {
        &mut self.tasks[task.0 as usize]
    }

    fn scope(&mut self, scope: ScopeIndex) -> &mut Scope<S> {
        &mut self.scopes[scope.0 as usize]
    }

    fn new_task(&mut self, actor: Actor, place: S::Place, known: Known, home: ScopeIndex) -> Slot {
        self.live += 1;
        let slot = self.free_tasks.pop().unwrap_or(Slot(self.tasks.len() as u32));
        self.active ^= slot.0;
        match self.tasks.get_mut(slot.0 as usize) {
            Some(former) => {
                former.scopes.clear();
                former.dependents.clear();
                former.actor = actor;
                former.place = place;
                former.known = known;
                former.life = Life::Spawned;
                former.joined = false;
                former.waiting = false;
                former.parent = None;
                former.home = home;
                former.waits_for = 0;
                former.data.renew();
            }
            None => self.tasks.push(Task {
                actor,
                place,
                known,
                life: Life::Spawned,
                joined: false,
                waiting: false,
                parent: None,
                scopes: Vec::new(),
                home,
                dependents: Vec::new(),
                waits_for: 0,
                data: T::default(),
            }),
        }
        match actor {
            Actor::Task(id) => self.by_id.insert(id, slot),
            Actor::Thread(id) => {
                self.by_thread.insert(id, slot);
            }
        }
        slot
    }

    /// The task that a thread runs. A thread that has done nothing yet gets one of its own.
    pub fn acting(&mut self, thread: ThreadId) -> Slot {
        match self.current(thread) {
            Some(task) => task,
            None => self.first_act(thread),
        }
    }

    #[cold]
    fn first_act(&mut self, thread: ThreadId) -> Slot {
        let task = match self.by_thread.get(&thread) {
            Some(forked) => *forked,
            None => {
                let place = match &mut self.strangers {
                    None => {
                        let mut root = self.structure.root();
                        self.strangers = Some(self.structure.spawn(&mut root));
                        root
                    }
                    Some(strangers) => self.structure.spawn(strangers),
                };
                self.roots += 1;
                self.new_task(Actor::Thread(thread), place, Known::default(), NO_SCOPE)
            }
        };
        self.task(task).life = Life::Running;
        self.run(thread, task);
        task
    }

    fn run(&mut self, thread: ThreadId, task: Slot) {
        if self.running.len() <= thread.index() {
            self.running.resize_with(thread.index() + 1, Vec::new);
        }
        self.running[thread.index()].push(task);
    }

    /// A task is spawned by another one, or a thread forked.
    pub fn spawn(&mut self, by: Slot, actor: Actor) -> Result<Slot, Fault> {
        match actor {
            Actor::Task(id) if self.by_id.get(id).is_some() => return Err(Fault::SpawnOfKnown(id)),
            Actor::Thread(id) if self.by_thread.contains_key(&id) => return Err(Fault::ForkOfKnown(id)),
            _ => {}
        }
        let innermost = self.task(by).scopes.last().copied();
        let (scope, place) = match innermost {
            // Tasks get a scope of their own, so that a wait can close it while threads go on.
            Some(scope)
                if self.scope(scope).implicit
                    && (self.scope(scope).threads == 0 || matches!(actor, Actor::Thread(_))) =>
            {
                (scope, self.structure.spawn(&mut self.tasks[by.0 as usize].place))
            }
            _ => {
                let opened = self.structure.open_and_spawn(&mut self.tasks[by.0 as usize].place);
                (self.add_scope(by, opened.0, true), opened.1)
            }
        };
        let known = self.task(by).known.clone();
        let child = self.new_task(actor, place, known, scope);
        self.task(child).parent = Some(by);
        let scope = self.scope(scope);
        scope.alive += 1;
        scope.unjoined += 1;
        scope.threads += u32::from(matches!(actor, Actor::Thread(_)));
        scope.children.push(child);
        self.counts.spawned += 1;
        self.counts.most_live = self.counts.most_live.max(self.live as u64);
        Ok(child)
    }

    /// A task does nothing from now on until tasks below it have ended, or it goes on.
    pub fn set_waiting(&mut self, slot: Slot, waiting: bool) {
        let task = &mut self.tasks[slot.0 as usize];
        if task.waiting != waiting && task.life != Life::Ended {
            task.waiting = waiting;
            self.active ^= slot.0;
            if waiting {
                self.waiting += 1;
            } else {
                self.waiting -= 1;
            }
        }
    }

    /// The only task that can do something, if there is just one: all others wait for it. What comes before its current step
    /// comes before everything that is still to come.
    pub fn alone(&self) -> Option<Slot> {
        if self.live - self.waiting != 1 || self.roots > 1 {
            return None;
        }
        let slot = Slot(self.active);
        let above = std::iter::successors(Some(slot), |slot| self.tasks[slot.0 as usize].parent);
        let waiting = above.filter(|slot| self.tasks[slot.0 as usize].waiting).count();
        (waiting == self.waiting).then_some(slot)
    }

    /// A thread starts a task or goes on with it.
    pub fn begin(&mut self, thread: ThreadId, id: TaskId) -> Result<Slot, Fault> {
        let Some(slot) = self.by_id.get(id) else { return Err(Fault::UnknownTask(id)) };
        let task = self.task(slot);
        match task.life {
            Life::Spawned if task.waits_for > 0 => return Err(Fault::StartTooEarly(id)),
            Life::Spawned | Life::Suspended => {}
            Life::Running => return Err(Fault::TaskIsRunning(id)),
            Life::Ended => return Err(Fault::TaskHasEnded(id)),
        }
        task.life = Life::Running;
        self.run(thread, slot);
        Ok(slot)
    }

    /// A thread leaves a task that is not finished.
    pub fn suspend(&mut self, thread: ThreadId, id: TaskId) -> Result<(), Fault> {
        let slot = self.leave(thread, id)?;
        self.task(slot).life = Life::Suspended;
        Ok(())
    }

    /// A thread has finished a task.
    pub fn end(&mut self, thread: ThreadId, id: TaskId) -> Result<(), Fault> {
        let slot = self.leave(thread, id)?;
        self.finish_task(slot);
        Ok(())
    }

    /// A thread has ended: so has what it did outside of tasks.
    pub fn end_thread(&mut self, thread: ThreadId) {
        if let Some(&slot) = self.by_thread.get(&thread)
            && self.task(slot).life != Life::Ended
        {
            self.finish_task(slot);
        }
    }

    fn leave(&mut self, thread: ThreadId, id: TaskId) -> Result<Slot, Fault> {
        let running = self.running.get_mut(thread.index());
        let slot = self.by_id.get(id);
        match (running, slot) {
            (Some(running), Some(slot)) if running.last() == Some(&slot) => {
                running.pop();
                Ok(slot)
            }
            (_, None) => Err(Fault::UnknownTask(id)),
            _ => Err(Fault::NotRunningHere { task: id, thread }),
        }
    }

    fn finish_task(&mut self, slot: Slot) {
        self.set_waiting(slot, false);
        self.live -= 1;
        self.active ^= slot.0;
        let task = &mut self.tasks[slot.0 as usize];
        task.life = Life::Ended;
        let mut scopes = std::mem::take(&mut task.scopes);
        let mut dependents = std::mem::take(&mut task.dependents);
        let (own_home, known) = (task.home, task.known.clone());
        let home = self.enclosing(own_home);
        for index in scopes.drain(..) {
            let scope = self.scope(index);
            scope.left_open = true;
            scope.outer = home;
            let (alive, left_behind) = (scope.alive, scope.unjoined > 0 || scope.escaped);
            let (scope_known, referred_to) = (std::mem::take(&mut scope.known), scope.referred_to);
            if home != NO_SCOPE {
                let structure = &self.structure;
                let home = &mut self.scopes[home.0 as usize];
                home.alive += alive;
                home.escaped |= left_behind;
                home.referred_to |= referred_to;
                home.known.learn(structure, &scope_known);
                home.inherited.push(index);
            }
        }
        if home != NO_SCOPE {
            let structure = &self.structure;
            let home = &mut self.scopes[home.0 as usize];
            home.alive -= 1;
            home.known.learn(structure, &known);
        }
        for dependent in dependents.drain(..) {
            self.task(dependent).waits_for -= 1;
            self.depend(dependent, slot);
        }
        // Their memory is used again.
        let task = self.task(slot);
        task.scopes = scopes;
        task.dependents = dependents;
    }

    /// Forgets collapsed steps. Before, every reference to a step outside of this structure must have been resolved.
    pub fn forget_collapsed(&mut self) {
        for task in &mut self.tasks {
            task.known.resolve(&self.structure);
        }
        for scope in &mut self.scopes {
            scope.known.resolve(&self.structure);
        }
        self.structure.forget_collapsed();
    }
}
