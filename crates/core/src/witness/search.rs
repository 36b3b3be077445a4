//! The search for a schedule in which nobody has to keep a lock while others go on.
//!
//! **What takes part.** The operations that the goal needs, by program order and by what must have happened before; and,
//! of each task that holds locks where its needed part ends, what follows until it holds none, with all that this needs.
//! Whatever else a schedule does can be left out of it.
//!
//! **What is tried.** An operation that takes no lock can be done as soon as it is possible: it only lets others go on. The
//! same is true of a stretch of one task that begins with taking a lock, ends when the task holds no more locks than before,
//! and can be done without a stop. So all that is left to be chosen is who takes a lock and keeps it while others go on: that
//! is a [question](super::question), which is put only if this search comes to no end. A lock that only one task takes, or that
//! all take in shared mode, is no choice.
//!
//! **Cost.** Linear in what the goal needs.

use super::locks::Lock;
use super::recording::{Effect, Place, Recording};
use crate::event::LockMode;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a schedule is to show.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Goal {
    /// Both operations are the next ones of their tasks.
    Both(Place, Place),
    /// The first of each pair comes before the second, and all of them happen.
    Sequence(Vec<(Place, Place)>),
}

impl Goal {
    /// The operations that it is about.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let (both, pairs) = match self {
            Goal::Both(a, b) => (Some([*a, *b]), &[][..]),
            Goal::Sequence(pairs) => (None, &pairs[..]),
        };
        let pairs = pairs.iter().flat_map(|(earlier, later)| [*earlier, *later]);
        both.into_iter().flatten().chain(pairs)
    }
}

/// Consecutive operations of one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub(super) actor: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// What a search found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// This schedule reaches the goal.
    Schedule(Vec<Run>),
    /// No schedule does, even without locks.
    Ordered,
    /// Locks are in the way, unless somebody takes one and keeps it while others go on.
    Stuck,
}

/// Why a task cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Obstacle {
    /// Another task must go on first.
    Task(u32),
    /// A lock must be released first.
    Lock(u32),
    /// It must not go on.
    Stop,
}

/// A task in a search.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// How many of its operations have been done.
    done: u32,
    /// How many may be done.
    limit: u32,
    /// How many of the next operation's needs are known to be met.
    met: u32,
    /// It takes part.
    touched: bool,
    queued: bool,
    /// Tasks to be looked at when this one has gone on.
    waiting: Vec<u32>,
}

/// Searches in one recording.
#[derive(Debug)]
pub(super) struct Search<'r> {
    recording: &'r Recording,
    tasks: Vec<Progress>,
    touched: Vec<u32>,
    locks: Vec<Lock>,
    /// Locks that what takes part will take.
    used: Vec<u32>,
    /// Tasks to be looked at when a lock is released.
    waiting: Vec<Vec<u32>>,
    waited_for: Vec<u32>,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    schedule: Vec<Run>,
    sequence: Vec<(Place, Place)>,
    stops: Vec<Place>,
    /// How far tasks must come.
    targets: Vec<Place>,
    ignore_locks: bool,
    work: u64,
}

impl<'r> Search<'r> {
    pub(super) fn new(recording: &'r Recording) -> Self {
        let mut locks = vec![Lock::default(); recording.locks()];
        for (holder, lock, mode) in &recording.held_before {
            locks[*lock as usize].take(*mode, *holder);
        }
        Self {
            recording,
            tasks: vec![Progress::default(); recording.actors.len()],
            touched: Vec::new(),
            waiting: vec![Vec::new(); locks.len()],
            locks,
            used: Vec::new(),
            waited_for: Vec::new(),
            queue: BinaryHeap::new(),
            schedule: Vec::new(),
            sequence: Vec::new(),
            stops: Vec::new(),
            targets: Vec::new(),
            ignore_locks: false,
            work: 0,
        }
    }

    /// How much was done since this was asked last.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// Looks for a schedule that reaches a goal.
    pub(super) fn find(&mut self, goal: &Goal) -> Found {
        let found = if self.prepare(goal) { self.find_prepared() } else { Found::Ordered };
        self.reset();
        found
    }

    fn find_prepared(&mut self) -> Found {
        // What is needed often suffices, and then the schedule has nothing else.
        self.queue_all();
        if self.saturate() {
            return Found::Schedule(self.merged());
        }
        self.undo(0);
        if self.extend() {
            self.queue_all();
            if self.saturate() {
                return Found::Schedule(self.merged());
            }
            self.undo(0);
        }
        self.ignore_locks = true;
        self.queue_all();
        let reached = self.saturate();
        self.undo(0);
        self.ignore_locks = false;
        if reached { Found::Stuck } else { Found::Ordered }
    }

    /// Works out what the goal needs. False if it needs something that must not happen.
    fn prepare(&mut self, goal: &Goal) -> bool {
        let mut work = Vec::new();
        match goal {
            Goal::Both(a, b) => {
                self.stops = vec![*a, *b];
                for stop in [a, b] {
                    work.push((stop.actor, stop.index));
                    self.targets.push(Place { actor: stop.actor, index: stop.index });
                    let needs = self.recording.needs(self.recording.operation(*stop));
                    work.extend(needs.iter().map(|need| (need.actor, need.index + 1)));
                    self.targets
                        .extend(needs.iter().map(|need| Place { actor: need.actor, index: need.index + 1 }));
                }
            }
            Goal::Sequence(pairs) => {
                self.sequence.clone_from(pairs);
                for (_, later) in pairs {
                    work.push((later.actor, later.index + 1));
                    self.targets.push(Place { actor: later.actor, index: later.index + 1 });
                }
            }
        }
        self.close(work);
        self.stops.iter().all(|stop| self.tasks[stop.actor as usize].limit <= stop.index)
    }

    /// Lets tasks come so far, and all others as far as is needed for that.
    fn close(&mut self, mut work: Vec<(u32, u32)>) {
        let recording = self.recording;
        loop {
            while let Some((actor, count)) = work.pop() {
                let task = &mut self.tasks[actor as usize];
                if !task.touched {
                    task.touched = true;
                    self.touched.push(actor);
                }
                let operations = &recording.actors[actor as usize].operations;
                let from = task.limit;
                task.limit = from.max(count);
                for operation in operations.get(from as usize..count as usize).unwrap_or_default() {
                    self.work += 1;
                    if let Effect::Acquire(lock, mode) = operation.effect {
                        self.locks[lock as usize].will_be_taken(mode, actor);
                        self.used.push(lock);
                    }
                    work.extend(recording.needs(operation).iter().map(|need| (need.actor, need.index + 1)));
                }
            }
            for (earlier, later) in &self.sequence {
                let happens = self.tasks[later.actor as usize].limit > later.index;
                if happens && self.tasks[earlier.actor as usize].limit <= earlier.index {
                    work.push((earlier.actor, earlier.index + 1));
                }
            }
            if work.is_empty() {
                return;
            }
        }
    }

    /// Lets tasks go on that hold locks, until they hold none. False if there are none.
    fn extend(&mut self) -> bool {
        let recording = self.recording;
        let (mut extended, mut again) = (false, true);
        while again {
            again = false;
            for number in 0.. {
                let Some(&actor) = self.touched.get(number) else { break };
                self.work += 1;
                let record = &recording.actors[actor as usize];
                let stop = self.stops.iter().find(|stop| stop.actor == actor);
                let most = stop.map_or(record.operations.len() as u32, |stop| stop.index);
                let mut count = self.tasks[actor as usize].limit;
                while count < most && record.held_after(count) > 0 {
                    count += 1;
                }
                if count > self.tasks[actor as usize].limit {
                    (extended, again) = (true, true);
                    self.close(vec![(actor, count)]);
                }
            }
        }
        // What lies behind a stop may be wished for, but cannot be had.
        for stop in &self.stops {
            let task = &mut self.tasks[stop.actor as usize];
            task.limit = task.limit.min(stop.index);
        }
        extended
    }

    fn next_position(&self, actor: u32) -> Option<u64> {
        let task = &self.tasks[actor as usize];
        let operations = &self.recording.actors[actor as usize].operations;
        (task.done < task.limit).then(|| operations[task.done as usize].step.moment.position)
    }

    fn queue(&mut self, actor: u32) {
        if !self.tasks[actor as usize].queued
            && let Some(position) = self.next_position(actor)
        {
            self.tasks[actor as usize].queued = true;
            self.queue.push(Reverse((position, actor)));
        }
    }

    fn queue_all(&mut self) {
        self.work += self.touched.len() as u64;
        for number in 0..self.touched.len() {
            self.queue(self.touched[number]);
        }
    }

    /// Does all that can only help. True if the goal is reached.
    fn saturate(&mut self) -> bool {
        if self.is_reached() {
            return true;
        }
        while let Some(Reverse((_, actor))) = self.queue.pop() {
            self.tasks[actor as usize].queued = false;
            if self.run(actor) && self.is_reached() {
                return true;
            }
        }
        false
    }

    fn is_reached(&self) -> bool {
        self.targets.iter().all(|target| self.tasks[target.actor as usize].done >= target.index)
    }

    /// Lets a task go on as far as that can only help. True if it did.
    fn run(&mut self, actor: u32) -> bool {
        let from = self.tasks[actor as usize].done;
        loop {
            match self.obstacle(actor) {
                Some(obstacle) => {
                    self.wait_for(actor, obstacle);
                    break;
                }
                None if self.takes_lock(actor) => {
                    if let Err(obstacle) = self.run_section(actor) {
                        self.wait_for(actor, obstacle);
                        break;
                    }
                }
                None => self.advance(actor),
            }
        }
        self.note(actor, from)
    }

    /// True if the next operation takes a lock that others could want.
    fn takes_lock(&self, actor: u32) -> bool {
        let done = self.tasks[actor as usize].done as usize;
        let operation = &self.recording.actors[actor as usize].operations[done];
        match operation.effect {
            Effect::Acquire(lock, _) => !self.ignore_locks && self.locks[lock as usize].is_contended(),
            _ => false,
        }
    }

    /// Takes a lock and goes on until no more locks are held than before; or does nothing.
    fn run_section(&mut self, actor: u32) -> Result<(), Obstacle> {
        let from = self.tasks[actor as usize].done;
        let mut taken: Vec<(u32, LockMode)> = Vec::new();
        loop {
            if let Some(obstacle) = self.obstacle(actor) {
                self.take_back(actor, from);
                return Err(obstacle);
            }
            let done = self.tasks[actor as usize].done as usize;
            match self.recording.actors[actor as usize].operations[done].effect {
                Effect::Acquire(lock, mode) => taken.push((lock, mode)),
                Effect::Release(lock, mode) => taken.retain(|other| *other != (lock, mode)),
                Effect::Nothing => {}
            }
            self.advance(actor);
            if taken.is_empty() {
                return Ok(());
            }
        }
    }

    /// Why a task cannot do its next operation.
    fn obstacle(&mut self, actor: u32) -> Option<Obstacle> {
        let recording = self.recording;
        let task = &self.tasks[actor as usize];
        if task.done >= task.limit {
            return Some(Obstacle::Stop);
        }
        let place = Place { actor, index: task.done };
        let operation = recording.operation(place);
        let needs = recording.needs(operation);
        let mut met = task.met as usize;
        while let Some(need) = needs.get(met) {
            self.work += 1;
            if self.tasks[need.actor as usize].done <= need.index {
                self.tasks[actor as usize].met = met as u32;
                return Some(Obstacle::Task(need.actor));
            }
            met += 1;
        }
        self.tasks[actor as usize].met = met as u32;
        for (earlier, later) in &self.sequence {
            if *later == place && self.tasks[earlier.actor as usize].done <= earlier.index {
                return Some(Obstacle::Task(earlier.actor));
            }
        }
        match operation.effect {
            Effect::Acquire(lock, mode)
                if !self.ignore_locks && !self.locks[lock as usize].is_free(mode, actor) =>
            {
                Some(Obstacle::Lock(lock))
            }
            _ => None,
        }
    }

    fn wait_for(&mut self, actor: u32, obstacle: Obstacle) {
        match obstacle {
            Obstacle::Task(other) => self.tasks[other as usize].waiting.push(actor),
            Obstacle::Lock(lock) => {
                self.waiting[lock as usize].push(actor);
                self.waited_for.push(lock);
            }
            Obstacle::Stop => {}
        }
    }

    fn advance(&mut self, actor: u32) {
        self.work += 1;
        let task = &mut self.tasks[actor as usize];
        let effect = self.recording.actors[actor as usize].operations[task.done as usize].effect;
        task.done += 1;
        task.met = 0;
        match effect {
            _ if self.ignore_locks => {}
            Effect::Nothing => {}
            Effect::Acquire(lock, mode) => self.locks[lock as usize].take(mode, actor),
            Effect::Release(lock, mode) => self.locks[lock as usize].give_back(mode, actor),
        }
    }

    /// Takes back what a task did since it had done so many operations.
    fn take_back(&mut self, actor: u32, to: u32) {
        let operations = &self.recording.actors[actor as usize].operations;
        let task = &mut self.tasks[actor as usize];
        self.work += u64::from(task.done - to);
        if !self.ignore_locks {
            for operation in operations[to as usize..task.done as usize].iter().rev() {
                match operation.effect {
                    Effect::Nothing => {}
                    Effect::Acquire(lock, mode) => self.locks[lock as usize].give_back(mode, actor),
                    Effect::Release(lock, mode) => self.locks[lock as usize].take(mode, actor),
                }
            }
        }
        task.done = to;
        task.met = 0;
    }

    /// A task has gone on: notes that, and who can go on because of it. False if it has not.
    fn note(&mut self, actor: u32, from: u32) -> bool {
        let to = self.tasks[actor as usize].done;
        if to == from {
            return false;
        }
        self.schedule.push(Run { actor, from, to });
        for waiting in std::mem::take(&mut self.tasks[actor as usize].waiting) {
            self.queue(waiting);
        }
        if !self.waited_for.is_empty() {
            let recording = self.recording;
            for operation in &recording.actors[actor as usize].operations[from as usize..to as usize] {
                if let Effect::Release(lock, _) = operation.effect {
                    for waiting in std::mem::take(&mut self.waiting[lock as usize]) {
                        self.queue(waiting);
                    }
                }
            }
        }
        true
    }

    /// Goes back to when the schedule had so many parts.
    fn undo(&mut self, runs: usize) {
        while self.schedule.len() > runs {
            if let Some(Run { actor, from, .. }) = self.schedule.pop() {
                self.take_back(actor, from);
            }
        }
        self.work += self.touched.len() as u64;
        for actor in &self.touched {
            let task = &mut self.tasks[*actor as usize];
            task.waiting.clear();
            task.queued = false;
            task.met = 0;
        }
        for lock in self.waited_for.drain(..) {
            self.waiting[lock as usize].clear();
        }
        self.queue.clear();
    }

    fn reset(&mut self) {
        self.undo(0);
        for actor in self.touched.drain(..) {
            self.tasks[actor as usize] = Progress::default();
        }
        for lock in self.used.drain(..) {
            self.locks[lock as usize].forget_users();
        }
        self.stops.clear();
        self.sequence.clear();
        self.targets.clear();
    }

    fn merged(&self) -> Vec<Run> {
        let mut merged: Vec<Run> = Vec::new();
        for run in &self.schedule {
            match merged.last_mut() {
                Some(last) if last.actor == run.actor && last.to == run.from => last.to = run.to,
                _ => merged.push(*run),
            }
        }
        merged
    }
}
