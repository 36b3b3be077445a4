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
//!
//! **Threads.** A [`TaskTree`] may be told of tasks by several threads at once, each with a [`Hand`] of its own, and nobody takes a lock
//! for a spawn, a begin, an end or a wait: a child that ends touches nothing of others but the number of those that go on in its scope.
//! What is rare (the first act of a thread, tasks that depend on others, scopes that are left open, what children knew) is done one
//! after the other. Who may touch what stands in `records.rs`. Offline there is one thread, and one hand: [`Tasks`].

mod alone;
mod by_id;
mod hand;
mod known;
mod order;
mod records;
mod scopes;

pub use alone::Tasks;
pub use hand::{Hand, Running};
pub use known::Known;
pub use records::{Keeping, Kept, Single};

use crate::event::{TaskId, ThreadId};
use crate::numbers::{Apart, Numbers};
use crate::replay::Fault;
use crate::segments::Segments;
use crate::sptree::{Hands, StepId, Structure};
use by_id::ById;
use hand::{Tallies, add};
use records::{Life, Scope, Task, bond, mark};
use rustc_hash::FxHashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who acts: a task, or what a thread does outside of any task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Actor {
    /// A thread outside of any task.
    Thread(ThreadId),
    /// A task.
    Task(TaskId),
}

/// What the driver keeps for each task.
pub trait TaskState: Debug + Default {
    /// Makes it as new, for another task; memory that it has is used again.
    fn renew(&mut self);
}

impl TaskState for () {
    fn renew(&mut self) {}
}

/// A task that is remembered: an index, used again when the task is forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u32);

const NO_SLOT: Slot = Slot(u32::MAX);

/// A scope that is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ScopeIndex(u32);

const NO_SCOPE: ScopeIndex = ScopeIndex(u32::MAX);

/// The tasks of a run. `T` is what the driver keeps for each.
#[derive(Debug)]
pub struct TaskTree<S: Structure, T: TaskState, K: Keeping> {
    tasks: Segments<Task<S, T, K>, 6>,
    slots: Numbers,
    scopes: Segments<Scope<S, K>, 6>,
    scope_numbers: Numbers,
    by_id: ById,
    rare: Mutex<Rare<S>>,
    /// Threads that nobody forked, with the first one.
    roots: AtomicU32,
    /// How many tasks are waiting.
    waiting: AtomicU32,
    /// Orders beside the tree.
    edges: AtomicU64,
    tallies: Mutex<Tallies>,
    /// Tasks that have not ended, and how many there were at most, as far as that was told.
    live: Apart<AtomicI64>,
    most_live: AtomicI64,
}

/// What one at a time may touch.
#[derive(Debug)]
struct Rare<S: Structure> {
    by_thread: FxHashMap<ThreadId, Slot>,
    /// From here the threads branch off that nobody forked.
    strangers: Option<S::Place>,
}

/// How many tasks there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskCounts {
    /// Tasks that were spawned.
    pub spawned: u64,
    /// Most tasks that were spawned and not yet ended at the same time; of many told by several hands about so many.
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

impl<S: Structure, T: TaskState, K: Keeping> TaskTree<S, T, K> {
    /// So many tasks a hand counts exactly, and then so many at once.
    const COUNTED_EXACTLY: u64 = 1000;
    const COUNTED_AT_ONCE: i64 = 32;

    /// No task has acted yet. Gives the first hand as well.
    pub fn new() -> (Self, Hand<S>) {
        let tree = Self {
            tasks: Segments::default(),
            slots: Numbers::from(0),
            scopes: Segments::default(),
            scope_numbers: Numbers::from(0),
            by_id: ById::default(),
            rare: Mutex::new(Rare { by_thread: FxHashMap::default(), strangers: None }),
            roots: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            edges: AtomicU64::new(0),
            tallies: Mutex::default(),
            live: Apart::default(),
            most_live: AtomicI64::new(0),
        };
        let hand = Hand::new(S::default(), tree.tallies().add());
        (tree, hand)
    }

    /// Another hand, for another thread.
    pub fn another_hand(&self, hand: &Hand<S>) -> Hand<S>
    where
        S: Hands,
    {
        Hand::new(hand.structure.another(), self.tallies().add())
    }

    /// A hand is used no more.
    pub fn give_back(&self, mut hand: Hand<S>)
    where
        S: Hands,
    {
        self.slots.put_down(&mut hand.free_tasks, 0);
        self.scope_numbers.put_down(&mut hand.free_scopes, 0);
        self.tell_live(&mut hand);
        self.tallies().remove(&hand.tally);
        hand.structure.give_back();
    }

    fn tallies(&self) -> MutexGuard<'_, Tallies> {
        // Nothing fails in between.
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock for what is rare.
    fn rare(&self) -> MutexGuard<'_, Rare<S>> {
        // If something has failed in between, the run is no more watched.
        self.rare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many tasks there were.
    pub fn counts(&self) -> TaskCounts {
        let mut counts = TaskCounts {
            spawned: 0,
            most_live: self.most_live.load(Ordering::Relaxed).max(0).cast_unsigned(),
            edges: self.edges(),
        };
        self.tallies().count(&mut counts);
        counts
    }

    /// How many orders beside the tree there are.
    #[inline]
    pub fn edges(&self) -> u64 {
        self.edges.load(Ordering::Relaxed)
    }

    fn count_edges(&self, more: u64) {
        if more > 0 {
            self.edges.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// The task of an actor that is remembered.
    pub fn slot(&self, actor: Actor) -> Option<Slot> {
        match actor {
            Actor::Task(id) => self.by_id.get(id),
            Actor::Thread(id) => self.rare().by_thread.get(&id).copied(),
        }
    }

    /// Who a task is.
    #[inline]
    pub fn actor(&self, task: Slot) -> Actor {
        self.task(task).actor()
    }

    /// The task's current step. This and what follows is for who runs the task.
    #[inline]
    pub fn step(&self, task: Slot) -> StepId {
        self.task(task).own.with(|own| S::step(&own.place))
    }

    /// What the task knows beside the tree.
    #[inline]
    pub fn known(&self, task: Slot) -> Known {
        self.task(task).own.with(|own| own.known.clone())
    }

    /// The task's current step and what it knows.
    #[inline]
    pub fn now(&self, task: Slot) -> (StepId, Known) {
        self.task(task).own.with(|own| (S::step(&own.place), own.known.clone()))
    }

    /// The driver's own data.
    #[inline]
    pub fn with_data<R>(&self, task: Slot, act: impl FnOnce(&mut T) -> R) -> R {
        self.task(task).data.with(act)
    }

    /// The structure's step of a task, what it knows and the driver's own data, for who has all of it alone.
    #[inline]
    fn parts(&mut self, task: Slot) -> (&mut T, &Known, StepId) {
        let task = self.tasks.get_mut(task.0);
        let own = task.own.get_mut();
        (task.data.get_mut(), &own.known, S::step(&own.place))
    }

    /// Shows the driver's own data of all tasks, while nobody does anything.
    pub fn for_each_data(&self, mut visit: impl FnMut(&mut T)) {
        self.for_each_task(|task| task.data.with(&mut visit));
    }

    fn for_each_task(&self, mut visit: impl FnMut(&Task<S, T, K>)) {
        (0..self.slots.end()).for_each(|slot| visit(self.tasks.get(slot)));
    }

    #[inline]
    fn task(&self, task: Slot) -> &Task<S, T, K> {
        self.tasks.get(task.0)
    }

    #[inline]
    fn scope(&self, scope: ScopeIndex) -> &Scope<S, K> {
        self.scopes.get(scope.0)
    }

    #[inline]
    fn new_task(
        &self,
        hand: &mut Hand<S>,
        actor: Actor,
        kin: (Slot, ScopeIndex),
        place: S::Place,
        known: Known,
    ) -> (Slot, &Task<S, T, K>) {
        let slot = Slot(self.slots.take(&mut hand.free_tasks, |slot| _ = self.tasks.make(slot)));
        let task = self.task(slot);
        task.renew(actor, kin, place, known);
        task.data.with(T::renew);
        add(&hand.tally.begun, 1);
        hand.untold += 1;
        self.count_live(hand);
        if let Actor::Task(id) = actor {
            self.by_id.insert(id, slot);
        }
        (slot, task)
    }

    /// The number of tasks that go on has changed.
    #[inline]
    fn count_live(&self, hand: &mut Hand<S>) {
        let exact = hand.tally.begun.load(Ordering::Relaxed) < Self::COUNTED_EXACTLY;
        if K::ALONE || exact || hand.untold.abs() >= Self::COUNTED_AT_ONCE {
            self.tell_live(hand);
        }
    }

    fn tell_live(&self, hand: &mut Hand<S>) {
        let more = std::mem::take(&mut hand.untold);
        let live = self.live.fetch_add(more, Ordering::Relaxed) + more;
        if more > 0 && live > self.most_live.load(Ordering::Relaxed) {
            self.most_live.fetch_max(live, Ordering::Relaxed);
        }
    }

    /// The task that a thread runs. A thread that has done nothing yet gets one of its own.
    pub fn acting(&self, hand: &mut Hand<S>, running: &mut Running, thread: ThreadId) -> Slot {
        match running.current() {
            Some(task) => task,
            None => self.first_act(hand, running, thread),
        }
    }

    #[cold]
    fn first_act(&self, hand: &mut Hand<S>, running: &mut Running, thread: ThreadId) -> Slot {
        let mut rare = self.rare();
        let slot = match rare.by_thread.get(&thread) {
            Some(forked) => *forked,
            None => {
                let place = match &mut rare.strangers {
                    None => {
                        let mut root = hand.structure.root();
                        rare.strangers = Some(hand.structure.spawn(&mut root));
                        root
                    }
                    Some(strangers) => hand.structure.spawn(strangers),
                };
                self.roots.fetch_add(1, Ordering::Relaxed);
                let kin = (NO_SLOT, NO_SCOPE);
                let slot = self.new_task(hand, Actor::Thread(thread), kin, place, Known::default()).0;
                rare.by_thread.insert(thread, slot);
                slot
            }
        };
        self.task(slot).set_life(Life::Running);
        running.push(slot);
        slot
    }

    /// A task is spawned by another one, or a thread forked.
    pub fn spawn(&self, hand: &mut Hand<S>, by: Slot, actor: Actor) -> Result<Slot, Fault> {
        match actor {
            Actor::Task(id) => match self.by_id.get(id) {
                Some(_) => Err(Fault::SpawnOfKnown(id)),
                None => Ok(self.spawn_new(hand, by, actor)),
            },
            Actor::Thread(id) => {
                let mut rare = self.rare();
                if rare.by_thread.contains_key(&id) {
                    return Err(Fault::ForkOfKnown(id));
                }
                let child = self.spawn_new(hand, by, actor);
                rare.by_thread.insert(id, child);
                Ok(child)
            }
        }
    }

    #[inline]
    fn spawn_new(&self, hand: &mut Hand<S>, by: Slot, actor: Actor) -> Slot {
        let task = self.task(by);
        let is_thread = matches!(actor, Actor::Thread(_));
        task.own.with(|own| {
            let innermost = own.innermost;
            // Tasks get a scope of their own, so that a wait can close it while threads go on.
            let fits = |scope: &Scope<S, K>| {
                scope.has(mark::IMPLICIT) && (is_thread || scope.threads.load(Ordering::Relaxed) == 0)
            };
            let (scope, place) = if innermost != NO_SCOPE && fits(self.scope(innermost)) {
                (innermost, hand.structure.spawn(&mut own.place))
            } else {
                let (handle, place) = hand.structure.open_and_spawn(&mut own.place);
                (self.add_scope(hand, (task, own), handle, true), place)
            };
            let (slot, child) = self.new_task(hand, actor, (by, scope), place, own.known.clone());
            self.scope(scope).add_child(slot, child);
            add(&hand.tally.spawned, 1);
            slot
        })
    }

    /// A task does nothing from now on until tasks below it have ended, or it goes on.
    pub fn set_waiting(&self, slot: Slot, waiting: bool) {
        let task = self.task(slot);
        if task.has(bond::WAITING) == waiting || task.life() == Life::Ended {
            return;
        }
        if waiting {
            task.bonds.fetch_or(bond::WAITING, Ordering::Relaxed);
            self.waiting.fetch_add(1, Ordering::AcqRel);
        } else {
            task.bonds.fetch_and(!bond::WAITING, Ordering::Relaxed);
            self.waiting.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// True if a task is the only one that can do something: all others wait for it. What comes before its current step
    /// comes before everything that is still to come. For who runs the task.
    pub fn is_alone(&self, slot: Slot) -> bool {
        let task = self.task(slot);
        let above = || {
            let known = |slot: &Slot| *slot != NO_SLOT;
            std::iter::successors(Some(task.parent()).filter(known), move |slot| {
                Some(self.task(*slot).parent()).filter(known)
            })
            .map(|slot| self.task(slot))
        };
        // Mostly somebody above goes on, and then no more has to be asked.
        let goes_on = |task: &Task<S, T, K>| !task.has(bond::WAITING) && task.life() != Life::Ended;
        if task.has(bond::WAITING) || above().next().is_some_and(goes_on) {
            return false;
        }
        let waiting = above().filter(|task| task.has(bond::WAITING)).count() as u64;
        self.roots.load(Ordering::Relaxed) <= 1
            && waiting == u64::from(self.waiting.load(Ordering::Acquire))
            && self.live() == waiting + 1
    }

    /// How many tasks have not ended: exact, if that is the caller's own with those that wait for it.
    fn live(&self) -> u64 {
        self.tallies().live()
    }

    /// A thread starts a task or goes on with it.
    pub fn begin(&self, running: &mut Running, id: TaskId) -> Result<Slot, Fault> {
        let Some(slot) = self.by_id.get(id) else { return Err(Fault::UnknownTask(id)) };
        let task = self.task(slot);
        match task.life() {
            Life::Spawned if task.has(bond::AWAITS) => return Err(Fault::StartTooEarly(id)),
            Life::Spawned | Life::Suspended => {}
            Life::Running => return Err(Fault::TaskIsRunning(id)),
            Life::Ended => return Err(Fault::TaskHasEnded(id)),
        }
        task.set_life(Life::Running);
        running.push(slot);
        Ok(slot)
    }

    /// A thread leaves a task that is not finished.
    pub fn suspend(&self, running: &mut Running, thread: ThreadId, id: TaskId) -> Result<(), Fault> {
        let slot = self.leave(running, thread, id)?;
        self.task(slot).set_life(Life::Suspended);
        Ok(())
    }

    /// A thread has finished a task.
    pub fn end(
        &self,
        hand: &mut Hand<S>,
        running: &mut Running,
        thread: ThreadId,
        id: TaskId,
    ) -> Result<(), Fault> {
        let slot = self.leave(running, thread, id)?;
        self.finish_task(hand, slot);
        Ok(())
    }

    /// A thread has ended: so has what it did outside of tasks.
    pub fn end_thread(&self, hand: &mut Hand<S>, thread: ThreadId) {
        let slot = self.rare().by_thread.get(&thread).copied();
        if let Some(slot) = slot.filter(|slot| self.task(*slot).life() != Life::Ended) {
            self.finish_task(hand, slot);
        }
    }

    fn leave(&self, running: &mut Running, thread: ThreadId, id: TaskId) -> Result<Slot, Fault> {
        match self.by_id.get(id) {
            Some(slot) if running.current() == Some(slot) => {
                running.pop();
                Ok(slot)
            }
            None => Err(Fault::UnknownTask(id)),
            _ => Err(Fault::NotRunningHere { task: id, thread }),
        }
    }

    fn finish_task(&self, hand: &mut Hand<S>, slot: Slot) {
        self.set_waiting(slot, false);
        let task = self.task(slot);
        let home = task.home();
        let is_rare = task.own.with(|own| own.innermost != NO_SCOPE || !own.known.is_empty());
        if is_rare {
            self.leave_behind(hand, task, home);
        }
        let bonds = task.bonds.fetch_or(bond::OVER, Ordering::AcqRel);
        if bonds & bond::HAS_DEPENDENTS != 0 {
            self.release_dependents(hand, task);
        }
        add(&hand.tally.ended, 1);
        hand.untold -= 1;
        self.count_live(hand);
        // From here on the record may be another task's, and when the number of the scope has changed so may that.
        task.set_life(Life::Ended);
        if home != NO_SCOPE {
            self.one_less(home);
        }
    }

    /// One of those in a scope has ended.
    #[inline]
    fn one_less(&self, scope: ScopeIndex) {
        let mut at = scope;
        // The next one outside is read before, as then it is still what it was.
        let mut holder = self.scope(at).holder();
        while self.scope(at).less() && holder != NO_SCOPE {
            at = holder;
            holder = self.scope(at).holder();
        }
    }

    /// What a finished task knew, and the scopes that it has left open, belong to the scope around it.
    #[cold]
    fn leave_behind(&self, hand: &mut Hand<S>, task: &Task<S, T, K>, own_home: ScopeIndex) {
        let _rare = self.rare();
        let home = self.enclosing(own_home);
        let (known, mut next) =
            task.own.with(|own| (own.known.clone(), std::mem::replace(&mut own.innermost, NO_SCOPE)));
        let structure = &hand.structure;
        let learn = |home: &Scope<S, K>, known: &Known| {
            if !known.is_empty() {
                home.known.with(|of_home| of_home.learn(structure, known));
                home.mark(mark::HAS_KNOWN);
            }
        };
        while next != NO_SCOPE {
            let (index, scope) = (next, self.scope(next));
            next = scope.below();
            scope.set_outer(home);
            scope.set_holder(own_home);
            if home != NO_SCOPE {
                let home = self.scope(home);
                if scope.unjoined.load(Ordering::Relaxed) > 0 || scope.has(mark::ESCAPED) {
                    home.mark(mark::ESCAPED);
                }
                if scope.has(mark::REFERRED_TO) {
                    home.mark(mark::REFERRED_TO);
                }
                learn(home, &scope.known.with(std::mem::take));
                home.inherit(index, scope);
                // That goes on as long as one within does.
                self.scope(own_home).more();
            }
            if scope.leave_open() && home != NO_SCOPE {
                // Not the last one, as the task itself still counts.
                self.scope(own_home).less();
            }
        }
        if home != NO_SCOPE {
            learn(self.scope(home), &known);
        }
    }

    #[cold]
    fn release_dependents(&self, hand: &mut Hand<S>, task: &Task<S, T, K>) {
        let _rare = self.rare();
        for dependent in task.dependents.with(std::mem::take) {
            let after = self.task(dependent);
            let left = after.waits_for.load(Ordering::Relaxed) - 1;
            after.waits_for.store(left, Ordering::Relaxed);
            if left == 0 {
                after.bonds.fetch_and(!bond::AWAITS, Ordering::Relaxed);
            }
            self.depend(hand, after, task);
        }
    }

    /// Replaces each step that is known by what stands for it since scopes were collapsed. Nobody else does anything.
    pub fn resolve(&self, hand: &Hand<S>) {
        self.for_each_task(|task| task.own.with(|own| own.known.resolve(&hand.structure)));
        for scope in 0..self.scope_numbers.end() {
            self.scopes.get(scope).known.with(|known| known.resolve(&hand.structure));
        }
    }
}
