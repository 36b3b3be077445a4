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
//! finished, as order beside the tree ([`known`]). Joins of single tasks are learned the same way, unless the joined
//! task was the last one of its scope.
//!
//! **Faults.** An order of events that cannot have happened is told as a [`Fault`], and the event is without effect.

mod known;

pub use known::Known;

use crate::event::{TaskId, ThreadId};
use crate::replay::Fault;
use crate::sptree::{StepId, Structure};
use rustc_hash::FxHashMap;

/// Who acts: a task, or what a thread does outside of any task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Actor {
    /// A thread outside of any task.
    Thread(ThreadId),
    /// A task.
    Task(TaskId),
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
    by_id: FxHashMap<TaskId, Slot>,
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

impl<S: Structure, T> Default for Tasks<S, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Structure, T> Tasks<S, T> {
    /// No task has acted yet.
    pub fn new() -> Self {
        Self {
            structure: S::default(),
            tasks: Vec::new(),
            free_tasks: Vec::new(),
            by_id: FxHashMap::default(),
            by_thread: FxHashMap::default(),
            scopes: Vec::new(),
            free_scopes: Vec::new(),
            running: Vec::new(),
            strangers: None,
            roots: 0,
            live: 0,
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
            Actor::Task(id) => self.by_id.get(&id).copied(),
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

    fn new_task(&mut self, actor: Actor, place: S::Place, known: Known, home: ScopeIndex, data: T) -> Slot {
        let task = Task {
            actor,
            place,
            known,
            life: Life::Spawned,
            joined: false,
            scopes: Vec::new(),
            home,
            dependents: Vec::new(),
            waits_for: 0,
            data,
        };
        self.live += 1;
        let slot = self.free_tasks.pop().unwrap_or(Slot(self.tasks.len() as u32));
        match self.tasks.get_mut(slot.0 as usize) {
            Some(former) => {
                let (scopes, dependents) =
                    (std::mem::take(&mut former.scopes), std::mem::take(&mut former.dependents));
                *former = Task { scopes, dependents, ..task };
            }
            None => self.tasks.push(task),
        }
        match actor {
            Actor::Task(id) => self.by_id.insert(id, slot),
            Actor::Thread(id) => self.by_thread.insert(id, slot),
        };
        slot
    }

    /// The task that a thread runs. A thread that has done nothing yet gets one of its own, with the given data.
    pub fn acting(&mut self, thread: ThreadId, data: impl FnOnce() -> T) -> Slot {
        match self.current(thread) {
            Some(task) => task,
            None => self.first_act(thread, data),
        }
    }

    #[cold]
    fn first_act(&mut self, thread: ThreadId, data: impl FnOnce() -> T) -> Slot {
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
                self.new_task(Actor::Thread(thread), place, Known::default(), NO_SCOPE, data())
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
    pub fn spawn(&mut self, by: Slot, actor: Actor, data: T) -> Result<Slot, Fault> {
        match actor {
            Actor::Task(id) if self.by_id.contains_key(&id) => return Err(Fault::SpawnOfKnown(id)),
            Actor::Thread(id) if self.by_thread.contains_key(&id) => return Err(Fault::ForkOfKnown(id)),
            _ => {}
        }
        let innermost = self.task(by).scopes.last().copied();
        let scope = match innermost {
            Some(scope) if self.scope(scope).implicit => scope,
            _ => self.open(by, true),
        };
        let place = self.structure.spawn(&mut self.tasks[by.0 as usize].place);
        let known = self.task(by).known.clone();
        let child = self.new_task(actor, place, known, scope, data);
        let scope = self.scope(scope);
        scope.alive += 1;
        scope.unjoined += 1;
        scope.children.push(child);
        self.counts.spawned += 1;
        self.counts.most_live = self.counts.most_live.max(self.live as u64);
        Ok(child)
    }

    fn open(&mut self, by: Slot, implicit: bool) -> ScopeIndex {
        let task = &mut self.tasks[by.0 as usize];
        let outer = task.scopes.last().copied().unwrap_or(task.home);
        let handle = self.structure.open(&mut task.place);
        let index = self.free_scopes.pop().unwrap_or(ScopeIndex(self.scopes.len() as u32));
        let scope = Scope {
            scope: handle,
            implicit,
            outer,
            left_open: false,
            alive: 0,
            unjoined: 0,
            children: Vec::new(),
            waited: 0,
            inherited: Vec::new(),
            escaped: false,
            referred_to: false,
            known: Known::default(),
        };
        match self.scopes.get_mut(index.0 as usize) {
            // The lists of a former scope are empty; their memory is used again.
            Some(former) => {
                let (children, inherited) =
                    (std::mem::take(&mut former.children), std::mem::take(&mut former.inherited));
                *former = Scope { children, inherited, ..scope };
            }
            None => self.scopes.push(scope),
        }
        self.task(by).scopes.push(index);
        index
    }

    /// A finish scope opens.
    pub fn finish_begin(&mut self, by: Slot) {
        self.open(by, false);
    }

    /// The innermost finish scope ends.
    pub fn finish_end(&mut self, by: Slot) -> Result<Effect, Fault> {
        let actor = self.actor(by);
        let scopes = &self.tasks[by.0 as usize].scopes;
        let Some(explicit) = scopes.iter().rposition(|scope| !self.scopes[scope.0 as usize].implicit) else {
            return Err(Fault::FinishEndWithoutBegin(actor));
        };
        let closing: Vec<ScopeIndex> = scopes[explicit..].to_vec();
        if closing.iter().any(|scope| self.scopes[scope.0 as usize].alive > 0) {
            return Err(Fault::FinishTooEarly(actor));
        }
        let mut effect = Effect::NewStep;
        for _ in closing {
            effect = self.close(by);
        }
        Ok(effect)
    }

    /// Closes the innermost scope of a task; everything within has ended.
    fn close(&mut self, by: Slot) -> Effect {
        let Some(index) = self.task(by).scopes.pop() else { return Effect::NewStep };
        self.structure.close(&mut self.tasks[by.0 as usize].place, self.scopes[index.0 as usize].scope);
        // That all others have ended is not enough: some may have done so by chance, with nobody waiting for them.
        let task = &self.tasks[by.0 as usize];
        let serial = self.live == 1 && self.roots == 1 && task.home == NO_SCOPE && task.scopes.is_empty();
        let scope = &mut self.scopes[index.0 as usize];
        let (handle, outer, referred_to) = (scope.scope, scope.outer, scope.referred_to);
        let known = std::mem::take(&mut scope.known);
        self.forget_children(index);
        let task = &mut self.tasks[by.0 as usize];
        if serial {
            task.known = Known::default();
        } else if !known.is_empty() || !task.known.is_empty() {
            task.known.learn(&self.structure, &known);
            task.known.simplify(&self.structure, S::step(&task.place));
        }
        if serial || !referred_to {
            self.structure.collapse(handle);
        } else if outer != NO_SCOPE {
            let outer = self.enclosing(outer);
            if outer != NO_SCOPE {
                self.scope(outer).referred_to = true;
            }
        }
        if serial { Effect::Serial } else { Effect::NewStep }
    }

    /// Forgets the tasks of a scope, and the scopes that they left open, and the scope itself.
    fn forget_children(&mut self, index: ScopeIndex) {
        let mut scopes = vec![index];
        while let Some(index) = scopes.pop() {
            let scope = self.scope(index);
            let mut children = std::mem::take(&mut scope.children);
            scopes.append(&mut scope.inherited);
            for child in children.drain(..) {
                match self.actor(child) {
                    Actor::Task(id) => {
                        self.by_id.remove(&id);
                        self.free_tasks.push(child);
                    }
                    // A thread's number stays known: it cannot be forked or joined again.
                    Actor::Thread(_) => self.task(child).joined = true,
                }
            }
            self.scope(index).children = children;
            self.free_scopes.push(index);
        }
    }

    /// The scope that is responsible for what was spawned in a scope: that itself unless its task has ended.
    fn enclosing(&mut self, scope: ScopeIndex) -> ScopeIndex {
        let mut at = scope;
        while at != NO_SCOPE && self.scope(at).left_open {
            at = self.scope(at).outer;
        }
        // Shorten the way for the next time.
        let mut from = scope;
        while from != at {
            from = std::mem::replace(&mut self.scope(from).outer, at);
        }
        at
    }

    /// The task has waited for all its children.
    pub fn wait(&mut self, by: Slot) -> Result<Effect, Fault> {
        let scopes = self.task(by).scopes.clone();
        for scope in &scopes {
            let running = |child: &&Slot| self.tasks[child.0 as usize].life != Life::Ended;
            let scope = &self.scopes[scope.0 as usize];
            if let Some(child) = scope.children[scope.waited..].iter().find(running) {
                return Err(Fault::WaitTooEarly { waiting: self.actor(by), running: self.actor(*child) });
            }
        }
        let Some((innermost, others)) = scopes.split_last() else { return Ok(Effect::NewStep) };
        for scope in others {
            self.learn_children(by, *scope);
        }
        if !self.scope(*innermost).implicit {
            self.structure.advance(&mut self.tasks[by.0 as usize].place);
            return Ok(Effect::NewStep);
        }
        if self.scope(*innermost).escaped {
            self.learn_children(by, *innermost);
            let task = &mut self.tasks[by.0 as usize];
            self.structure.advance(&mut task.place);
            return Ok(Effect::NewStep);
        }
        Ok(self.close(by))
    }

    /// The task learns that the children of one of its scopes are finished, though the scope goes on.
    fn learn_children(&mut self, by: Slot, scope: ScopeIndex) {
        let scope = self.scope(scope);
        let children = scope.children[scope.waited..].to_vec();
        scope.waited = scope.children.len();
        for child in children {
            if !self.task(child).joined {
                self.learn_end(by, child);
            }
        }
    }

    /// The task learns that another one is finished.
    fn learn_end(&mut self, by: Slot, finished: Slot) {
        let (known, step) = {
            let finished = self.task(finished);
            finished.joined = true;
            (finished.known.clone(), S::step(&finished.place))
        };
        let home = self.enclosing(self.tasks[finished.0 as usize].home);
        if home != NO_SCOPE {
            self.scope(home).referred_to = true;
        }
        let own_home = self.tasks[finished.0 as usize].home;
        if own_home != NO_SCOPE {
            self.scope(own_home).unjoined -= 1;
        }
        self.learn(by, &known);
        self.tasks[by.0 as usize].known.learn_step(&self.structure, step);
        self.counts.edges += 1;
    }

    /// A task has waited for another one.
    pub fn join(&mut self, by: Slot, other: Actor) -> Result<Effect, Fault> {
        let Some(finished) = self.slot(other) else {
            return match other {
                // It was forgotten since the tree says that it is finished.
                Actor::Task(_) => Ok(Effect::NewStep),
                Actor::Thread(id) => Err(Fault::JoinOfUnknown(id)),
            };
        };
        if finished == by {
            return Err(Fault::JoinOfItself(other));
        }
        if let Actor::Thread(id) = other
            && self.task(finished).joined
        {
            return Err(Fault::JoinedTwice(id));
        }
        if self.task(finished).life != Life::Ended {
            match other {
                Actor::Task(_) => {
                    return Err(Fault::WaitTooEarly { waiting: self.actor(by), running: other });
                }
                // The end of a thread need not be told.
                Actor::Thread(_) => self.finish_task(finished),
            }
        }
        let innermost = self.task(by).scopes.last().copied();
        let home = self.task(finished).home;
        if let Some(scope) = innermost
            && scope == home
            && !self.task(finished).joined
            && self.scope(scope).implicit
            && !self.scope(scope).escaped
            && self.scope(scope).unjoined == 1
        {
            return Ok(self.close(by));
        }
        if !self.task(finished).joined {
            self.learn_end(by, finished);
        } else {
            let (known, step) = (self.task(finished).known.clone(), self.step(finished));
            self.learn(by, &known);
            self.tasks[by.0 as usize].known.learn_step(&self.structure, step);
        }
        self.structure.advance(&mut self.tasks[by.0 as usize].place);
        Ok(Effect::NewStep)
    }

    /// One task may start only when another one has ended.
    pub fn order(&mut self, before: TaskId, after: TaskId) -> Result<(), Fault> {
        let Some(&after_slot) = self.by_id.get(&after) else { return Err(Fault::UnknownTask(after)) };
        if self.task(after_slot).life != Life::Spawned {
            return Err(Fault::OrderTooLate { before, after });
        }
        // One that was forgotten is finished by the tree.
        let Some(&before_slot) = self.by_id.get(&before) else { return Ok(()) };
        if before_slot == after_slot {
            return Err(Fault::OrderTooLate { before, after });
        }
        if self.task(before_slot).life == Life::Ended {
            self.depend(after_slot, before_slot);
        } else {
            self.task(before_slot).dependents.push(after_slot);
            self.task(after_slot).waits_for += 1;
        }
        Ok(())
    }

    /// A task comes after a finished one by a dependence.
    fn depend(&mut self, after: Slot, before: Slot) {
        let (known, step) = (self.task(before).known.clone(), self.step(before));
        let home = self.enclosing(self.tasks[before.0 as usize].home);
        if home != NO_SCOPE {
            self.scope(home).referred_to = true;
        }
        self.learn(after, &known);
        self.tasks[after.0 as usize].known.learn_step(&self.structure, step);
        self.counts.edges += 1;
    }

    /// A thread starts a task or goes on with it.
    pub fn begin(&mut self, thread: ThreadId, id: TaskId) -> Result<Slot, Fault> {
        let Some(&slot) = self.by_id.get(&id) else { return Err(Fault::UnknownTask(id)) };
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
        let slot = self.by_id.get(&id).copied();
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
        self.live -= 1;
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

    /// What the acting task did so far will be known to others: gives what they will know. The task goes on with a new
    /// step.
    pub fn publish(&mut self, by: Slot) -> Known {
        let task = &mut self.tasks[by.0 as usize];
        let mut known = task.known.clone();
        known.learn_step(&self.structure, S::step(&task.place));
        self.structure.advance(&mut task.place);
        let scope = task.scopes.last().copied().unwrap_or(task.home);
        let scope = self.enclosing(scope);
        if scope != NO_SCOPE {
            self.scope(scope).referred_to = true;
        }
        known
    }

    /// The acting task learns what others have published.
    pub fn learn(&mut self, by: Slot, known: &Known) {
        if !known.is_empty() {
            let task = &mut self.tasks[by.0 as usize];
            task.known.learn(&self.structure, known);
            task.known.simplify(&self.structure, S::step(&task.place));
            self.counts.edges += 1;
        }
    }

    /// Adds to what will be known to others.
    pub fn merge(&self, into: &mut Known, known: &Known) {
        into.learn(&self.structure, known);
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
