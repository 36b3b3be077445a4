//! Task programs, and an order in which workers ran them.
//!
//! A scheduler lets workers go on at random. Each has a stack of tasks and runs the one on top: what that does next
//! comes from its family (`script.rs`), what it does under locks from the discipline (`section.rs`). Only tasks that
//! were spawned and have not ended are remembered, and a worker that spawns faster than others begin runs the new tasks
//! itself, so that the memory is bounded by workers and nesting, not by the length of the trace.
//!
//! **Without violations no schedule of the program has an apparent race or a torn step**, by construction. A variable
//! is one of:
//!
//! - *own*: every task has a range of its own. A task that spawns gives a part of its range away and does not touch it
//!   before it has waited for the child and all that the child may have left behind. So of two parallel steps at most
//!   one touches the variable.
//! - *common*: never written.
//! - *guarded*: belongs to one lock and is only accessed while the acting task holds that, and only read while it holds
//!   it with others. So two conflicting accesses have a lock in common: no race. And a step takes a lock in one
//!   section at most: between two accesses of the variable the lock is held without a gap, and whoever wants to come
//!   between them needs it. The annotated blocks `region…` lie within one step each, so they are whole as well. (Locks
//!   that are held across a spawn belong to the spawning task; the child takes its own.)
//!
//! **A violation is planted at a spawn**, between the new task's first step and the spawning task's step after the spawn,
//! which are parallel in every program. Either both write a variable `racy…`, once each: a race, at sites in functions
//! `racy…`. Or the new task has a region `torn…` that reads a guarded variable in one section and writes it in the next
//! one, and the spawning task writes it, with the lock, in a function `intruder…`. Without locks a torn region is a race
//! as well.
//!
//! **The scheduler always comes to an end.** A section begins only when all its locks are free, and reserves them; while
//! it lasts the task waits for nothing and its worker does nothing else. So whoever has a lock goes on, whatever the
//! order of the locks. A task that waits for others never keeps its worker: it lets it begin another task, or leaves it.
//!
//! **The run is series-parallel**, also for a reader who takes a wait to be one for all descendants: a task whose children
//! have left tasks behind does not wait for children alone, but leaves it to the finish scope around; and tasks wait
//! for children of the innermost open scope only.

mod names;
mod schedule;
mod script;
mod section;
#[cfg(test)]
mod tests;

pub(super) use names::tables;

use super::random::Random;
use super::worker::kind;
use super::{Discipline, Family, Output, Plan, TURN};
use crate::event::{AccessKind, LockId, Op};
use names::{Function, Line};
use schedule::Turns;
use section::{Act, Locks, Part, Plant, Used};
use std::ops::Range;

/// No task, or no scope.
const NONE: u32 = u32::MAX;
/// What stands in the id of a slot that is free.
const FREE: u32 = u32::MAX - 1;
/// A trace comes to its end when tasks have got this far: those that have begun may still spawn a few.
const LAST: u32 = FREE - (1 << 24);
/// Variables that only planted violations touch.
const PLANTED: u32 = 4;

/// All tasks of a trace that are not finished, and the workers that run them.
#[derive(Debug)]
pub(super) struct Tasks {
    family: Family,
    events: u64,
    region_length: u32,
    violations: f64,
    /// Tasks of a phase or a round.
    size: u32,
    /// How many tasks the phase or round may still spawn.
    budget: u32,
    round: u32,
    layout: Layout,
    locks: Locks,
    workers: Vec<Worker>,
    turns: Turns,
    current: u32,
    /// The first is the root.
    tasks: Vec<Task>,
    free_tasks: Vec<u32>,
    scopes: Vec<Scope>,
    free_scopes: Vec<u32>,
    /// Spawned, not begun.
    pending: Vec<u32>,
    /// Suspended, and nothing that they wait for is left.
    ready: Vec<u32>,
    next_id: u32,
    /// More pending tasks than this, and whoever spawns runs one.
    most_pending: usize,
    /// The most tasks on one worker.
    highest_stack: usize,
}

/// Which variables are for what.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The guarded ones are all below.
    guarded: u32,
    common: Range<u32>,
    planted: Range<u32>,
    own: Range<u32>,
}

impl Layout {
    fn new(plan: &Plan) -> Self {
        let guarded = plan.variables / 4;
        let common = guarded..guarded + plan.variables / 8;
        let planted = common.end..common.end + PLANTED;
        Layout { guarded, own: planted.end..plan.variables, common, planted }
    }
}

/// A thread of the trace.
#[derive(Default, Debug)]
struct Worker {
    /// The task that runs is on top.
    stack: Vec<u32>,
    /// What that is in the middle of, from `at` on. Nothing else happens on this worker before it is done.
    parts: Vec<Part>,
    at: usize,
}

/// A task that has not ended.
#[derive(Clone, Debug)]
struct Task {
    id: u32,
    /// The slot and the id of the parent, which may have ended.
    parent: u32,
    parent_id: u32,
    /// The finish scope that waits for it.
    scope: u32,
    /// Its own innermost open scope.
    open: u32,
    open_scopes: u32,
    /// Children that have not ended.
    children: u32,
    /// In the innermost open scope, there may be children that it has not waited for.
    unwaited: bool,
    /// In the innermost open scope, children have ended that left tasks behind.
    leaked: bool,
    suspended: bool,
    /// What it may access of its own; what it has given away is in front,
    own: Range<u32>,
    /// and began here.
    start: u32,
    function: Function,
    /// How many levels of tasks may still come below.
    depth: u32,
    doing: Doing,
    plant: Plant,
    /// Where it is in its script, and how many things are left to be done there.
    place: u8,
    left: u32,
    used: Used,
}

/// A finish scope that is open, with what its task will go back to at its end.
#[derive(Clone, Debug)]
struct Scope {
    /// Tasks within that have not ended.
    tasks: u32,
    owner: u32,
    outer: u32,
    /// Start of the owner's range.
    start: u32,
    unwaited: bool,
    leaked: bool,
    /// The owner has children outside of the scope that it has not waited for.
    outside: bool,
}

/// What a task is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    /// It looks into its script.
    Next,
    /// So many accesses are left.
    Work(u32),
    /// It waits for its children.
    Wait,
    /// It waits for all tasks of its innermost scope.
    Close,
}

impl Tasks {
    pub(super) fn new(plan: &Plan) -> Self {
        let layout = Layout::new(plan);
        let discipline = plan.discipline.unwrap_or(Discipline::Nested);
        let depth = plan.depth.unwrap_or(1);
        let root = Task {
            id: NONE,
            parent: NONE,
            parent_id: NONE,
            scope: NONE,
            open: NONE,
            open_scopes: 0,
            children: 0,
            unwaited: false,
            leaked: false,
            suspended: false,
            own: layout.own.clone(),
            start: layout.own.start,
            function: Function::MAIN,
            depth,
            doing: Doing::Next,
            plant: Plant::None,
            place: 0,
            left: 0,
            used: Used::default(),
        };
        let mut workers: Vec<Worker> = Vec::new();
        workers.resize_with(plan.threads as usize, Worker::default);
        workers[0].stack.push(0);
        Tasks {
            family: plan.family,
            events: plan.events,
            region_length: plan.region_length,
            violations: plan.violations,
            size: plan.tasks.unwrap_or(1),
            budget: 0,
            round: 0,
            locks: Locks::new(plan, discipline, layout.guarded),
            layout,
            turns: Turns::new(plan.threads),
            workers,
            current: 0,
            tasks: vec![root],
            free_tasks: Vec::new(),
            scopes: Vec::new(),
            free_scopes: Vec::new(),
            pending: Vec::new(),
            ready: Vec::new(),
            next_id: 0,
            most_pending: 16 + 4 * plan.threads as usize,
            highest_stack: 16 + 2 * depth as usize,
        }
    }

    /// Lets some worker go on. False when the root has come to its end: then all tasks have.
    pub(super) fn step(&mut self, output: &mut Output<'_>, random: &mut Random) -> bool {
        let moved = !random.one_in(TURN) && self.advance(output, random);
        if !moved {
            let some = !self.ready.is_empty() || !self.pending.is_empty();
            self.current = self.turns.next(random, some);
        }
        !self.workers[0].stack.is_empty()
    }

    /// True when nothing new is to be begun.
    fn draining(&self, output: &Output<'_>) -> bool {
        *output.position >= self.events || self.next_id >= LAST
    }

    /// Lets the current worker go on. False if there is nothing that it can do now.
    #[inline]
    fn advance(&mut self, output: &mut Output<'_>, random: &mut Random) -> bool {
        let worker = &mut self.workers[self.current as usize];
        if worker.at < worker.parts.len() {
            return self.part(output, random);
        }
        match worker.stack.last() {
            None => self.find_task(output, random),
            Some(&task) => self.run(output, random, task),
        }
    }

    /// Lets the task on top go on; it is not in the middle of anything.
    fn run(&mut self, output: &mut Output<'_>, random: &mut Random, slot: u32) -> bool {
        let task = &mut self.tasks[slot as usize];
        if !matches!(task.plant, Plant::None) {
            return self.plant(output, random, slot);
        }
        match task.doing {
            Doing::Work(0) => {
                task.doing = Doing::Next;
                self.follow(output, random, slot)
            }
            Doing::Work(left) => {
                let left = if *output.position >= self.events { 0 } else { left - 1 };
                task.doing = Doing::Work(left);
                self.work(output, random, slot)
            }
            Doing::Next => self.follow(output, random, slot),
            Doing::Wait if task.children > 0 => self.blocked(output, random, slot),
            Doing::Wait => {
                task.doing = Doing::Next;
                if task.leaked {
                    // It has seen its children end; a wait would promise more.
                    return true;
                }
                let (thread, site) = (self.current, task.function.site(Line::Wait));
                if task.unwaited {
                    task.used = Used::default();
                }
                task.unwaited = false;
                task.own.start = match task.open {
                    NONE => task.start,
                    scope => self.scopes[scope as usize].start,
                };
                output.push(thread, site, Op::TaskWait);
                true
            }
            Doing::Close if self.scopes[task.open as usize].tasks > 0 => self.blocked(output, random, slot),
            Doing::Close => {
                task.doing = Doing::Next;
                self.close(output, slot);
                true
            }
        }
    }

    /// One access of a step, or the start of a section.
    fn work(&mut self, output: &mut Output<'_>, random: &mut Random, slot: u32) -> bool {
        let task = &mut self.tasks[slot as usize];
        let choice = random.below(16);
        if choice < 2 {
            let worker = &mut self.workers[self.current as usize];
            if self.locks.section(random, worker.start(), &mut task.used, false) {
                return self.part(output, random);
            }
        }
        let site = task.function.site(Line::Access(choice));
        if choice >= 5 && !task.own.is_empty() {
            let variable = task.own.start + random.below(task.own.end - task.own.start);
            output.access(self.current, site, kind(random), variable);
        } else {
            let common = &self.layout.common;
            let variable = common.start + random.below(common.end - common.start);
            output.access(self.current, site, AccessKind::Read, variable);
        }
        true
    }

    /// The part of a planted violation that is this task's.
    fn plant(&mut self, output: &mut Output<'_>, random: &mut Random, slot: u32) -> bool {
        let task = &mut self.tasks[slot as usize];
        let worker = &mut self.workers[self.current as usize];
        if !self.locks.planted(task.plant, worker.start(), &mut task.used) {
            return false;
        }
        task.plant = Plant::None;
        self.part(output, random)
    }

    /// The next part of what the current worker is in the middle of. False if it has to wait for a lock.
    fn part(&mut self, output: &mut Output<'_>, random: &mut Random) -> bool {
        let thread = self.current;
        let worker = &mut self.workers[thread as usize];
        let Part { site, act } = worker.parts[worker.at];
        let op = match act {
            Act::Begin { region } => Op::Begin { region },
            Act::End => Op::End,
            Act::Acquire { lock, mode, reserved } => {
                if !reserved && !self.locks.reserve(lock, mode) {
                    return false;
                }
                Op::Acquire { lock: LockId(lock), mode }
            }
            Act::Release { lock, mode, last } => {
                if last {
                    self.locks.give_back(lock, mode);
                }
                Op::Release { lock: LockId(lock), mode }
            }
            Act::Access { kind, variable } => {
                worker.at += 1;
                output.access(thread, site, kind, variable);
                return true;
            }
            Act::Spawn => {
                worker.at += 1;
                let task = worker.stack.last().copied().unwrap_or(0);
                self.spawn(output, random, task, true);
                return true;
            }
        };
        worker.at += 1;
        output.push(thread, site, op);
        true
    }
}

impl Worker {
    /// Makes room for something new.
    fn start(&mut self) -> &mut Vec<Part> {
        self.parts.clear();
        self.at = 0;
        &mut self.parts
    }
}
