//! Tasks of OpenMP as those of the trace.
//!
//! A deferred task is spawned by its parent. One that is not deferred (`if(0)`, within a `final` task, in a team of one
//! thread) is *serial*: what it does belongs to its parent. Only when it creates a deferred task of its own must it be told
//! from its parent, since a `taskwait` of one does not wait for the children of the other: then the rest of it becomes a
//! task, which the parent joins at its end.
//!
//! A `taskgroup` is a finish scope. It is told when something is spawned in it.

use super::dependences::{Dependences, SetLock};
use super::teams::Region;
use crate::spin;
use crate::watch;
use keirin_core::event::{LockMode, Op, TaskId};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Above the stack pointer at which the runtime tells the start of a task is nothing but its own frames.
const STACK_SLACK: usize = 64;

/// How often to pause before a thread goes on with an untied task that another one has just left.
const GRACE: u32 = 4096;

/// As whom a task acts in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// What a thread does outside of parallel regions.
    Thread,
    /// As its parent.
    Serial,
    /// As a task of its own. Of an implicit task, the piece between two barriers.
    Own(TaskId),
    /// Not at all: between its pieces, or at the end.
    Nobody,
    /// A wait for dependences, which the runtime treats as a task.
    Wait,
}

/// What the tool remembers of a task of the runtime.
pub(super) struct Task {
    pub(super) role: Role,
    /// The thread that runs it, or has interrupted it for another task; 0 if there is none.
    runner: AtomicUsize,
    /// Who created it: used while it is serial or a wait, as then its parent lives.
    pub(super) parent: *mut Task,
    /// Of an implicit task: its team, which one it is, and how many barriers it has passed.
    pub(super) region: *mut Region,
    pub(super) index: u32,
    pub(super) phase: u32,
    /// The thread that has suspended it last; 0 if none has.
    suspender: usize,
    /// It was serial once: its parent joins it.
    joins: bool,
    /// It has deferred children that it has not waited for.
    spawned: bool,
    /// Task groups that were not told, and that were.
    silent_groups: u32,
    told_groups: u32,
    /// The end of the innermost group was told; the runtime will tell it again.
    group_closed: bool,
    /// What its children depend on.
    pub(super) dependences: Dependences,
    /// The locks that it holds while it runs.
    locks: Vec<Arc<SetLock>>,
    /// Of a wait: the tasks that it waits for.
    waits_for: Vec<TaskId>,
    /// The place where it is created.
    pub(super) place: usize,
    /// The place of the `taskloop` that creates tasks now, and the memory of the task that it copies.
    pub(super) loop_place: usize,
    pub(super) loop_memory: (usize, usize),
    /// How many loops were shared so far: which one an iteration belongs to.
    pub(super) loops: u32,
    /// It shares a loop of which threads get chunk after chunk, or sections.
    pub(super) deals_chunks: bool,
    /// The chunks that it has got, and whether it is in the last of them.
    pub(super) chunks: Vec<TaskId>,
    pub(super) in_chunk: bool,
    /// Its children that belong to chunks, and how many of them were there when the last chunk began.
    pub(super) chunk_children: Vec<TaskId>,
    pub(super) earlier_children: usize,
    /// How many calls were open when it started, on the thread that runs it.
    pub(super) calls: usize,
    /// The stack pointer at its start.
    stack: usize,
    /// Its descriptor, with its private copies of variables: start and size, if they are known and nobody has used it before. Else zeros.
    pub(super) memory: (usize, usize),
    /// Somebody has fulfilled an event for it, perhaps while another thread runs it.
    event: AtomicBool,
}

impl Task {
    #[inline]
    pub(super) fn new(role: Role, parent: *mut Task, place: usize) -> Self {
        Task {
            role,
            runner: AtomicUsize::new(0),
            parent,
            region: null_mut(),
            index: 0,
            phase: 0,
            suspender: 0,
            joins: false,
            spawned: false,
            silent_groups: 0,
            told_groups: 0,
            group_closed: false,
            dependences: Dependences::default(),
            locks: Vec::new(),
            waits_for: Vec::new(),
            place,
            loop_place: 0,
            loop_memory: (0, 0),
            loops: 0,
            deals_chunks: false,
            chunks: Vec::new(),
            in_chunk: false,
            chunk_children: Vec::new(),
            earlier_children: 0,
            calls: 0,
            stack: 0,
            memory: (0, 0),
            event: AtomicBool::new(false),
        }
    }

    /// The same, made where it stays.
    #[inline]
    pub(super) fn boxed(role: Role, parent: *mut Task, place: usize) -> Box<Self> {
        Box::write(Box::new_uninit(), Self::new(role, parent, place))
    }

    /// A task is created and will run some time.
    pub(super) fn spawn(&mut self, place: usize) -> Box<Task> {
        self.tell_groups();
        let id = watch::new_task();
        if self.in_chunk {
            self.chunk_children.push(id);
        } else {
            self.spawned = true;
        }
        watch::structure(Op::Spawn { task: id }, place);
        Task::boxed(Role::Own(id), self, place)
    }

    /// What is created next must be within all groups that are open, and within this task itself.
    pub(super) fn tell_groups(&mut self) {
        if self.role == Role::Serial {
            self.become_own();
        }
        self.told_groups += self.silent_groups;
        for _ in 0..std::mem::take(&mut self.silent_groups) {
            watch::structure(Op::FinishBegin, self.place);
        }
    }

    /// A serial task goes on as a task of its own.
    fn become_own(&mut self) {
        // SAFETY: the parent of a serial task waits for its end, on this thread.
        if let Some(parent) = unsafe { self.parent.as_mut() } {
            parent.tell_outer_groups();
        }
        let id = watch::new_task();
        watch::within_calls(self.calls, || {
            watch::structure(Op::Spawn { task: id }, self.place);
            watch::structure(Op::TaskBegin { task: id }, self.place);
        });
        self.role = Role::Own(id);
        self.joins = true;
    }

    /// Groups that are open around a serial task hold what it spawns.
    fn tell_outer_groups(&mut self) {
        if self.role != Role::Serial || self.silent_groups > 0 {
            self.tell_groups();
        // SAFETY: as in `become_own`.
        } else if let Some(parent) = unsafe { self.parent.as_mut() } {
            parent.tell_outer_groups();
        }
    }

    /// It needs others to be finished before it starts, and may not run at the same time as some.
    pub(super) fn needs(&mut self, tasks: Vec<TaskId>, locks: Vec<Arc<SetLock>>, place: usize) {
        match self.role {
            Role::Own(id) => {
                for before in tasks {
                    watch::structure(Op::TaskOrder { before, after: id }, place);
                }
                self.locks = locks;
            }
            _ => self.waits_for = tasks,
        }
    }

    /// Its number, for those that depend on it.
    pub(super) fn id(&self) -> Option<TaskId> {
        match self.role {
            Role::Own(id) => Some(id),
            _ => None,
        }
    }

    /// The calling thread runs it.
    pub(super) fn set_runner(&self) {
        self.runner.store(this_thread(), Ordering::Relaxed);
    }

    /// True if the calling thread runs it, or has interrupted it. If another one is just about to leave it, waits for that:
    /// an untied task may be taken up again a moment before.
    pub(super) fn is_running_here(&self) -> bool {
        let mut tries = 0;
        loop {
            match self.runner.load(Ordering::Acquire) {
                0 => return false,
                runner if runner == this_thread() => return true,
                _ => spin::pause(tries),
            }
            tries = tries.wrapping_add(1);
        }
    }

    /// True if it was not started yet.
    pub(super) fn is_new(&self) -> bool {
        self.suspender == 0 && matches!(self.role, Role::Own(_))
    }

    /// A thread starts it or goes on with it.
    pub(super) fn begin(&mut self, stack: usize) {
        if self.suspender != 0 && self.suspender != this_thread() {
            // That thread has yet to return from the function of an untied task. If this one came to the end of the task
            // before, the runtime would tell nobody here, but there.
            (0..GRACE).for_each(spin::pause);
        }
        self.set_runner();
        if let Role::Own(task) = self.role {
            // What the thread has called before, in an interrupted task, has left its frames where this one will have its own.
            self.stack = stack + STACK_SLACK;
            self.calls = watch::task_begun(task, self.stack, self.place);
            for lock in &self.locks {
                watch::lock_acquired(lock.address(), LockMode::Exclusive, self.place);
            }
        } else {
            self.calls = watch::open_calls();
        }
    }

    /// The thread leaves it; it goes on later, perhaps elsewhere, or waits for an event.
    pub(super) fn suspend(&mut self) {
        if let Role::Own(task) = self.role {
            self.release_locks();
            // The runtime tells it before the function of the task has returned.
            watch::within_calls(self.calls, || watch::structure(Op::TaskSuspend { task }, 0));
            self.leave_stack();
        }
        self.suspender = this_thread();
        self.runner.store(0, Ordering::Release);
    }

    /// It is finished, and so is what lies in its memory. False if it has never run, as it was cancelled.
    pub(super) fn end(&mut self, memory: (usize, usize)) -> bool {
        let runner = self.runner.load(Ordering::Relaxed);
        let ran = runner != 0;
        let memory = if ran { memory } else { (0, 0) };
        let Role::Own(task) = std::mem::replace(&mut self.role, Role::Nobody) else {
            forget(memory);
            return ran;
        };
        if ran && runner != this_thread() {
            watch::note(
                "the end of an untied task was told by a thread that did not run it; it is taken for unfinished, and the \
                 trace of tasks is broken from there on",
            );
            return false;
        }
        if ran {
            self.release_locks();
        } else {
            watch::structure(Op::TaskBegin { task }, self.place);
        }
        if self.event.load(Ordering::Acquire) {
            watch::happens_after(event_token(task), 0);
        }
        if self.joins {
            watch::structure(Op::TaskEnd { task }, 0);
            watch::structure(Op::TaskJoin { task }, self.place);
            forget(memory);
        } else {
            watch::task_ended(task, std::mem::take(&mut self.stack), memory);
        }
        ran
    }

    fn release_locks(&mut self) {
        for lock in self.locks.iter().rev() {
            watch::lock_released(lock.address(), 0);
        }
    }

    /// The next task of this thread, or what goes on in it, uses the same stack.
    fn leave_stack(&mut self) {
        let top = std::mem::take(&mut self.stack);
        if top != 0 {
            watch::stack_left(top);
        }
    }

    /// An event that it waits for is fulfilled before it has come to its end.
    pub(super) fn fulfilled_early(&self) {
        if let Role::Own(task) = self.role {
            watch::happens_before(event_token(task), 0);
            self.event.store(true, Ordering::Release);
        }
    }

    /// The event is fulfilled that a task has been waiting for: now it is finished.
    pub(super) fn fulfilled_late(&mut self) {
        if let Role::Own(task) = self.role {
            watch::happens_before(event_token(task), 0);
            self.event.store(true, Ordering::Release);
            self.end((0, 0));
        }
    }

    /// True if it has children, not those of chunks, that it has not waited for.
    pub(super) fn has_children(&self) -> bool {
        self.spawned
    }

    /// It has waited for its children.
    pub(super) fn waited(&mut self, place: usize) {
        self.wait_for_chunk_children(place);
        if !self.in_chunk && std::mem::take(&mut self.spawned) {
            watch::structure(Op::TaskWait, place);
        }
        self.dependences.clear();
    }

    /// A wait for dependences is over; it belongs to its parent.
    pub(super) fn dependences_waited(&mut self) {
        for task in std::mem::take(&mut self.waits_for) {
            watch::structure(Op::TaskJoin { task }, self.place);
        }
    }

    /// A group opens.
    pub(super) fn group_begin(&mut self) {
        self.silent_groups += 1;
    }

    /// A group is finished; `last`: the runtime tells it no more.
    pub(super) fn group_end(&mut self, place: usize, last: bool) {
        if !std::mem::replace(&mut self.group_closed, !last) {
            if self.silent_groups > 0 {
                self.silent_groups -= 1;
            } else if self.told_groups > 0 {
                self.told_groups -= 1;
                watch::structure(Op::FinishEnd, place);
            }
        }
    }

    /// All tasks of the team are finished.
    pub(super) fn at_barrier(&mut self) {
        self.spawned = false;
        self.chunk_children.clear();
        self.dependences.clear();
    }
}

/// The private memory of a task was that of another one, or will be.
pub(super) fn forget((memory, size): (usize, usize)) {
    if size > 0 {
        watch::forgotten(memory, size);
    }
}

fn this_thread() -> usize {
    // SAFETY: has no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// The token for the event of a detached task: numbers of tasks are given once.
fn event_token(task: TaskId) -> usize {
    0x6576_0000_0000_0000 | task.index()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_group_is_told_twice_and_counts_once() {
        let mut task = Task::new(Role::Thread, null_mut(), 0);
        task.group_begin();
        task.group_begin();
        task.group_end(0, false);
        assert_eq!(task.silent_groups, 1);
        task.group_end(0, true);
        assert_eq!(task.silent_groups, 1);
        // In a team of one thread there is nothing to wait for, and just one end.
        task.group_end(0, true);
        assert_eq!((task.silent_groups, task.told_groups), (0, 0));
    }

    #[test]
    fn a_serial_task_becomes_one_when_it_has_a_child() {
        let mut parent = Task::new(Role::Thread, null_mut(), 0);
        parent.group_begin();
        let mut serial = Task::new(Role::Serial, &mut parent, 0);
        let mut inner = Task::new(Role::Serial, &mut serial, 0);
        inner.spawn(0);
        assert!(matches!(inner.role, Role::Own(_)));
        assert_eq!(serial.role, Role::Serial);
        assert_eq!((parent.silent_groups, parent.told_groups), (0, 1));
        inner.end((0, 0));
        assert_eq!(inner.role, Role::Nobody);
    }
}
