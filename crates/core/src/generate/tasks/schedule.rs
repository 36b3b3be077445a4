//! Which task runs where: spawning, beginning, leaving and ending tasks, and their scopes.

use super::names::{Function, Line};
use super::section::{Plant, Used};
use super::{Doing, FREE, NONE, Scope, Task, Tasks};
use crate::event::{Op, TaskId};
use crate::generate::random::Random;
use crate::generate::{Discipline, Family, Output};

/// Whose turn it is: workers without a task have one only when there is a task to take, or thousands of them would hold
/// up the few that work.
#[derive(Debug)]
pub(super) struct Turns {
    /// All workers; those that have a task come first.
    order: Vec<u32>,
    /// Where each worker stands in the order.
    places: Vec<u32>,
    busy: u32,
}

impl Turns {
    /// The first worker has the root.
    pub(super) fn new(workers: u32) -> Self {
        Turns { order: (0..workers).collect(), places: (0..workers).collect(), busy: 1 }
    }

    /// The next worker to go on; perhaps one without a task, if there is some task to take.
    pub(super) fn next(&self, random: &mut Random, some: bool) -> u32 {
        let idle = self.order.len() as u32 - self.busy;
        let place = if self.busy == 0 || (some && idle > 0 && random.one_in(2)) {
            self.busy + random.below(idle)
        } else {
            random.below(self.busy)
        };
        self.order[place as usize]
    }

    fn swap(&mut self, worker: u32, place: u32) {
        let other = self.order[place as usize];
        let here = self.places[worker as usize];
        self.order.swap(here as usize, place as usize);
        self.places.swap(worker as usize, other as usize);
    }

    /// A worker takes its first task.
    fn takes(&mut self, worker: u32) {
        self.swap(worker, self.busy);
        self.busy += 1;
    }

    /// A worker has no task any more.
    fn rests(&mut self, worker: u32) {
        self.busy -= 1;
        self.swap(worker, self.busy);
    }
}

impl Tasks {
    /// A task spawns, perhaps in the middle of a section.
    pub(super) fn spawn_somehow(&mut self, output: &mut Output<'_>, random: &mut Random, slot: u32) -> bool {
        if self.locks.discipline == Discipline::AcrossSpawns && random.one_in(4) {
            let used = &mut self.tasks[slot as usize].used;
            let worker = &mut self.workers[self.current as usize];
            if self.locks.section(random, worker.start(), used, true) {
                return self.part(output, random);
            }
        }
        self.spawn(output, random, slot, false);
        true
    }

    /// A task spawns a child, which waits for a worker unless this one takes it at once.
    pub(super) fn spawn(&mut self, output: &mut Output<'_>, random: &mut Random, slot: u32, locked: bool) {
        let gift = self.gift(slot);
        let function = self.child_function(random, slot);
        let id = self.next_id;
        self.next_id += 1;
        let task = &mut self.tasks[slot as usize];
        output.push(self.current, task.function.site(Line::Spawn(function)), Op::Spawn { task: TaskId(id) });
        let own = task.own.start..task.own.start + gift;
        task.own.start = own.end;
        task.children += 1;
        task.unwaited = true;
        let mut plants = (Plant::None, Plant::None);
        if !locked {
            task.used = Used::default();
            if random.chance(self.violations) {
                plants = self.locks.violation(random, self.layout.planted.start, id);
            }
        }
        task.plant = plants.1;
        let scope = if task.open == NONE { task.scope } else { task.open };
        if scope != NONE {
            self.scopes[scope as usize].tasks += 1;
        }
        let child = Task {
            id,
            parent: slot,
            parent_id: task.id,
            scope,
            open: NONE,
            open_scopes: 0,
            children: 0,
            unwaited: false,
            leaked: false,
            suspended: false,
            start: own.start,
            own,
            function,
            depth: task.depth.saturating_sub(1),
            doing: Doing::Next,
            plant: plants.0,
            place: 0,
            left: 0,
            used: Used::default(),
        };
        let child_slot = match self.free_tasks.pop() {
            Some(free) => {
                self.tasks[free as usize] = child;
                free
            }
            None => {
                self.tasks.push(child);
                (self.tasks.len() - 1) as u32
            }
        };
        // Whoever holds a lock stays on top: another task might want the same one.
        let room = self.workers[self.current as usize].stack.len() < self.highest_stack;
        if !locked && room && (self.pending.len() >= self.most_pending || random.one_in(8)) {
            self.begin(output, child_slot);
        } else {
            self.pending.push(child_slot);
        }
    }

    /// The current worker begins a task, or goes on with it.
    fn begin(&mut self, output: &mut Output<'_>, slot: u32) {
        let task = &self.tasks[slot as usize];
        let line = if task.doing == Doing::Next && task.place == 0 { Line::Enter } else { Line::Resume };
        output.push(self.current, task.function.site(line), Op::TaskBegin { task: TaskId(task.id) });
        let stack = &mut self.workers[self.current as usize].stack;
        stack.push(slot);
        if stack.len() == 1 {
            self.turns.takes(self.current);
        }
    }

    /// The task on top of the current worker is gone.
    fn pop(&mut self) {
        let stack = &mut self.workers[self.current as usize].stack;
        stack.pop();
        if stack.is_empty() {
            self.turns.rests(self.current);
        }
    }

    /// The current worker takes a task, if there is one that can go on.
    pub(super) fn find_task(&mut self, output: &mut Output<'_>, random: &mut Random) -> bool {
        // What has begun comes first, and then what was spawned last, so that few tasks are live.
        let slot = if !self.ready.is_empty() {
            self.ready.swap_remove(random.below(self.ready.len() as u32) as usize)
        } else if self.pending.is_empty() {
            return false;
        } else if random.one_in(8) && self.pending.len() <= self.most_pending {
            self.pending.swap_remove(random.below(self.pending.len() as u32) as usize)
        } else {
            self.pending.swap_remove(self.pending.len() - 1)
        };
        self.begin(output, slot);
        true
    }

    /// The task on top of the current worker cannot go on: the worker takes another one, or leaves this one.
    pub(super) fn blocked(&mut self, output: &mut Output<'_>, random: &mut Random, slot: u32) -> bool {
        let height = self.workers[self.current as usize].stack.len();
        let others = !self.ready.is_empty() || !self.pending.is_empty();
        let leave = slot != 0 && (height >= self.highest_stack || random.one_in(8));
        if others && !leave {
            return self.find_task(output, random);
        }
        // Sooner or later, or many that wait would hold up the few that work.
        if slot != 0 && (others || height > 1 || random.one_in(4)) {
            self.suspend(output, slot);
            self.tasks[slot as usize].suspended = true;
            return true;
        }
        false
    }

    /// The current worker leaves the task on top, which has not ended.
    fn suspend(&mut self, output: &mut Output<'_>, slot: u32) {
        let task = &self.tasks[slot as usize];
        let site = task.function.site(Line::Resume);
        output.push(self.current, site, Op::TaskSuspend { task: TaskId(task.id) });
        self.pop();
    }

    /// The current worker leaves the task on top, although it could go on.
    pub(super) fn pause(&mut self, output: &mut Output<'_>, slot: u32) {
        self.suspend(output, slot);
        self.ready.push(slot);
    }

    /// The task on top of the current worker ends.
    pub(super) fn end(&mut self, output: &mut Output<'_>, slot: u32) {
        self.pop();
        if slot == 0 {
            return;
        }
        let task = &mut self.tasks[slot as usize];
        let site = task.function.site(Line::Leave);
        output.push(self.current, site, Op::TaskEnd { task: TaskId(task.id) });
        let (parent, parent_id, scope) = (task.parent, task.parent_id, task.scope);
        let leaves_some = task.unwaited || task.leaked;
        task.id = FREE;
        self.free_tasks.push(slot);
        let task = &mut self.tasks[parent as usize];
        if task.id == parent_id {
            task.children -= 1;
            if leaves_some {
                // Told to all its scopes: which of them the child belonged to would only matter for a few more waits.
                task.leaked = true;
                let mut open = task.open;
                while open != NONE {
                    self.scopes[open as usize].leaked = true;
                    open = self.scopes[open as usize].outer;
                }
            }
            self.wake(parent);
        }
        if scope != NONE {
            self.scopes[scope as usize].tasks -= 1;
            self.wake(self.scopes[scope as usize].owner);
        }
    }

    /// A task that was left while it waited is ready when there is nothing left to wait for.
    fn wake(&mut self, slot: u32) {
        let task = &mut self.tasks[slot as usize];
        let free = match task.doing {
            Doing::Wait => task.children == 0,
            Doing::Close => self.scopes[task.open as usize].tasks == 0,
            Doing::Next | Doing::Work(_) => false,
        };
        if task.suspended && free {
            task.suspended = false;
            self.ready.push(slot);
        }
    }

    /// A task opens a finish scope.
    pub(super) fn open(&mut self, output: &mut Output<'_>, slot: u32) {
        let task = &mut self.tasks[slot as usize];
        let outer = task.open;
        let scope = Scope {
            tasks: 0,
            owner: slot,
            outer,
            start: task.own.start,
            unwaited: task.unwaited,
            leaked: task.leaked,
            outside: task.unwaited || (outer != NONE && self.scopes[outer as usize].outside),
        };
        task.unwaited = false;
        task.leaked = false;
        task.open_scopes += 1;
        task.open = match self.free_scopes.pop() {
            Some(free) => {
                self.scopes[free as usize] = scope;
                free
            }
            None => {
                self.scopes.push(scope);
                (self.scopes.len() - 1) as u32
            }
        };
        output.push(self.current, task.function.site(Line::Open), Op::FinishBegin);
    }

    /// A task closes its innermost scope, in which no task is left.
    pub(super) fn close(&mut self, output: &mut Output<'_>, slot: u32) {
        let task = &mut self.tasks[slot as usize];
        self.free_scopes.push(task.open);
        let scope = &self.scopes[task.open as usize];
        if task.unwaited {
            task.used = Used::default();
        }
        task.own.start = scope.start;
        task.unwaited = scope.unwaited;
        task.leaked = scope.leaked;
        task.open = scope.outer;
        task.open_scopes -= 1;
        output.push(self.current, task.function.site(Line::Close), Op::FinishEnd);
    }

    /// True if a task may wait for its children: there are some, and all belong to its innermost open scope.
    pub(super) fn can_wait(&self, slot: u32) -> bool {
        let task = &self.tasks[slot as usize];
        let outside = task.open != NONE && self.scopes[task.open as usize].outside;
        task.unwaited && !task.leaked && !outside
    }

    /// How many tasks there is room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.tasks.len() + self.scopes.len()
    }

    /// The function that a new child runs.
    fn child_function(&self, random: &mut Random, slot: u32) -> Function {
        match self.family {
            Family::TaskLoop => Function::task(self.round),
            Family::TaskTree => Function::task(u32::from(self.tasks[slot as usize].place > 2)),
            _ => Function::task(random.below(8)),
        }
    }
}
