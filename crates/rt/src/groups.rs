//! Tasks of libraries that spawn them into groups, oneTBB and rayon: who runs what, and which tasks are waited for together.
//!
//! The library tells which context a task belongs to (a `task_group_context` of oneTBB, a `join` or `scope` of rayon), and which
//! context is waited for. That makes a *group*: all tasks spawned with a context until it is waited for. Mostly groups nest as finish scopes do, and are told as such: one
//! opens at the first spawn, the task that spawned goes on within it, and it closes when the wait returns.
//!
//! Nothing makes a program keep to that. Groups may overlap (`a.run`, `b.run`, `a.wait`, `b.wait`), a task may spawn into a
//! group of an outer one from within an inner scope, somebody else may wait. Then a scope holds tasks that do not belong to
//! its group (*strangers*). The end of the wait is then told as a join of each task of the group, which is as exact, and the
//! scope stays open until its strangers were waited for too.

// Without the names of the library's entry points nobody calls some of them.
#![cfg_attr(not(feature = "interpose"), allow(dead_code))]

use crate::spin::{self, Spin};
use crate::tbb::local::{self, Local};
use crate::watch;
use keirin_core::event::{Op, TaskId};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A task, or what a thread does outside of tasks. It belongs to the thread that runs it.
pub(crate) struct Task {
    id: TaskId,
    serial: u64,
    /// The innermost scope in which it was spawned.
    home: Option<Arc<Scope>>,
    /// With which it is waited for.
    group: Option<Arc<Scope>>,
    /// Its open scopes, innermost last.
    scopes: Vec<Arc<Scope>>,
    /// It is run for the first time since it was spawned, and has not asked whether another thread has spawned it.
    pub(crate) fresh: bool,
    /// It has asked for what belongs to the thread that runs it.
    has_own: bool,
}

/// A group of tasks and the scope that was opened for it.
pub(crate) struct Scope {
    context: usize,
    /// The next scope outside.
    enclosing: Option<Arc<Scope>>,
    /// Tasks of the group that have not ended.
    alive: AtomicUsize,
    state: Spin<State>,
}

#[derive(Default)]
struct State {
    /// Tasks of the group that have ended and were not waited for.
    ended: Vec<TaskId>,
    /// Groups that have tasks within this scope without belonging to it.
    strangers: Vec<Arc<Scope>>,
    waited: Option<Waited>,
}

/// Who has waited for a group.
struct Waited {
    by: u64,
    /// The innermost scope around that task.
    within: Option<Arc<Scope>>,
}

/// Groups that were not waited for, by their contexts.
static GROUPS: [Spin<FxHashMap<usize, Arc<Scope>>>; 64] =
    [const { Spin::new(HashMap::with_hasher(FxBuildHasher)) }; 64];

fn groups(context: usize) -> &'static Spin<FxHashMap<usize, Arc<Scope>>> {
    // Contexts lie apart by more than a line of the cache.
    &GROUPS[(context >> 6 ^ context >> 12) % 64]
}

/// The group of a context that was not waited for.
fn registered(context: usize) -> Option<Arc<Scope>> {
    groups(context).lock().get(&context).cloned()
}

fn unregister(group: &Arc<Scope>) {
    let mut groups = groups(group.context).lock();
    let removed = match groups.get(&group.context) {
        Some(known) if Arc::ptr_eq(known, group) => groups.remove(&group.context),
        _ => None,
    };
    drop(groups);
    drop(removed);
}

/// All tasks that nobody can wait for.
fn detached() -> &'static Arc<Scope> {
    static DETACHED: OnceLock<Arc<Scope>> = OnceLock::new();
    DETACHED.get_or_init(|| Scope::new(0, None))
}

impl Scope {
    fn new(context: usize, enclosing: Option<Arc<Scope>>) -> Arc<Self> {
        Arc::new(Scope { context, enclosing, alive: AtomicUsize::new(0), state: Spin::default() })
    }

    fn is_waited(&self) -> bool {
        self.state.lock().waited.is_some()
    }

    /// Tasks of a group are within this scope and do not belong to it.
    fn add_stranger(&self, group: &Arc<Scope>) {
        let mut state = self.state.lock();
        if !state.strangers.iter().any(|known| Arc::ptr_eq(known, group)) {
            state.strangers.push(Arc::clone(group));
        }
    }

    /// True if a group was waited for by a task, or by one that is within this scope.
    fn has_seen(self: &Arc<Self>, group: &Scope, task: &Task) -> bool {
        group.state.lock().waited.as_ref().is_some_and(|waited| {
            waited.by == task.serial || around(&waited.within).any(|scope| Arc::ptr_eq(scope, self))
        })
    }

    /// True if all strangers were waited for, so that the task that has opened this scope may close it.
    fn is_clean(self: &Arc<Self>, task: &Task) -> bool {
        let strangers = self.state.lock().strangers.clone();
        strangers.iter().all(|stranger| self.has_seen(stranger, task))
    }

    /// Waits until the tasks of the group have told their end: the library lets a waiting task go on just before. False if
    /// some go on running, which is so if groups share a context.
    fn settle(&self) -> bool {
        static PATIENT: AtomicBool = AtomicBool::new(true);
        let mut tries = 0;
        let mut until = None;
        while self.alive.load(Ordering::Acquire) > 0 {
            tries += 1;
            spin::pause(tries);
            if tries % 1024 == 0 {
                let patience = if PATIENT.load(Ordering::Relaxed) { 2000 } else { 20 };
                let until = until.get_or_insert_with(|| Instant::now() + Duration::from_millis(patience));
                if Instant::now() > *until {
                    PATIENT.store(false, Ordering::Relaxed);
                    return false;
                }
            }
        }
        true
    }
}

/// A scope and all that are around it.
fn around(innermost: &Option<Arc<Scope>>) -> impl Iterator<Item = &Arc<Scope>> {
    std::iter::successors(innermost.as_ref(), |scope| scope.enclosing.as_ref())
}

impl Task {
    fn new(id: TaskId, home: Option<Arc<Scope>>, group: Option<Arc<Scope>>) -> *mut Task {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Box::into_raw(Box::new(Task {
            id,
            serial,
            home,
            group,
            scopes: Vec::new(),
            fresh: false,
            has_own: false,
        }))
    }

    /// What a thread does outside of tasks.
    pub(crate) fn of_thread() -> *mut Task {
        Task::new(TaskId::NONE, None, None)
    }

    pub(crate) fn id(&self) -> TaskId {
        self.id
    }

    fn innermost(&self) -> Option<Arc<Scope>> {
        self.scopes.last().or(self.home.as_ref()).cloned()
    }

    /// Opens a scope for the group of a context that begins.
    fn open(&mut self, context: usize, pc: usize) -> Arc<Scope> {
        let scope = Scope::new(context, self.innermost());
        groups(context).lock().entry(context).or_insert_with(|| Arc::clone(&scope));
        self.scopes.push(Arc::clone(&scope));
        watch::structure(Op::FinishBegin, pc);
        scope
    }

    /// The group that a task with a context belongs to. `fresh`: it is waited for by the same call, so that it does not
    /// belong to a group further out, even if that has the same context.
    fn group_of(&mut self, context: usize, fresh: bool, pc: usize) -> Arc<Scope> {
        if fresh {
            return match self.scopes.last() {
                Some(last) if last.context == context && !last.is_waited() => Arc::clone(last),
                _ => self.open(context, pc),
            };
        }
        let innermost = self.innermost();
        let mut depth = 0;
        let mut found = None;
        for scope in around(&innermost) {
            if scope.context == context && !scope.is_waited() {
                found = Some(Arc::clone(scope));
                break;
            }
            depth += 1;
        }
        let Some(group) = found.or_else(|| registered(context)) else { return self.open(context, pc) };
        around(&innermost).take(depth).for_each(|scope| scope.add_stranger(&group));
        group
    }

    /// Closes the innermost scopes that are over.
    fn close_finished(&mut self, pc: usize) {
        while let Some(scope) = self.scopes.last()
            && scope.has_seen(scope, self)
            && scope.is_clean(self)
        {
            if let Some(scope) = self.scopes.pop() {
                // Groups may refer to each other.
                scope.state.lock().strangers.clear();
            }
            watch::structure(Op::FinishEnd, pc);
        }
    }

    /// Before the task ends: scopes that it leaves open go on in those around it.
    fn leave_scopes(&mut self) {
        for scope in std::mem::take(&mut self.scopes) {
            let strangers = std::mem::take(&mut scope.state.lock().strangers);
            let own = (!scope.is_waited()).then_some(&scope);
            for group in strangers.iter().chain(own) {
                around(&self.home).for_each(|outer| outer.add_stranger(group));
            }
        }
    }
}

/// The task that the calling thread runs.
fn current() -> &'static mut Task {
    // SAFETY: a thread's current task lives until the thread leaves it, and is used by this thread only. Each function here
    // that takes it calls none of the others before it is done with it.
    unsafe { &mut *local::current() }
}

fn spawn_into(task: &Task, group: Arc<Scope>, pc: usize) -> *mut Task {
    let id = watch::new_task();
    group.alive.fetch_add(1, Ordering::Relaxed);
    let child = Task::new(id, task.innermost(), Some(group));
    watch::structure(Op::Spawn { task: id }, pc);
    child
}

/// The current task spawns another one.
pub(crate) fn spawn(context: usize, fresh: bool, pc: usize) -> *mut Task {
    let task = current();
    let group = task.group_of(context, fresh, pc);
    let child = spawn_into(task, group, pc);
    // SAFETY: it was just made.
    unsafe { (*child).fresh = !fresh };
    child
}

/// The current task spawns another one that nobody waits for.
pub(crate) fn spawn_detached(pc: usize) -> *mut Task {
    let task = current();
    let innermost = task.innermost();
    around(&innermost).for_each(|scope| scope.add_stranger(detached()));
    spawn_into(task, Arc::clone(detached()), pc)
}

/// The current task creates a thread: that may outlive all scopes.
pub(crate) fn thread_forked() {
    if crate::tbb::is_known() {
        let innermost = current().innermost();
        around(&innermost).for_each(|scope| scope.add_stranger(detached()));
    }
}

/// A name for what belongs to the calling thread.
fn own_token() -> usize {
    Local::get() as usize
}

/// The current task asks for something that belongs to its thread alone (`enumerable_thread_specific`). Tasks that do so
/// in one thread do it one after the other, whatever the tree says.
pub(crate) fn uses_own(pc: usize) {
    current().has_own = true;
    watch::happens_after(own_token(), pc);
}

/// The current task, which may have asked for what belongs to the thread, leaves it to others for a time.
fn lend_own(pc: usize) {
    if current().has_own {
        watch::happens_before(own_token(), pc);
    }
}

/// The calling thread begins to run a task. Gives what it ran before.
pub(crate) fn begin(task: *mut Task, pc: usize) -> *mut Task {
    lend_own(pc);
    let before = local::set_current(task);
    watch::structure(Op::TaskBegin { task: current().id }, pc);
    before
}

/// The calling thread leaves a task that will go on, and returns to what it ran before.
pub(crate) fn suspend(before: *mut Task, pc: usize) {
    lend_own(pc);
    let task = current();
    task.fresh = false;
    watch::structure(Op::TaskSuspend { task: task.id }, pc);
    return_to(before, pc);
}

/// The calling thread goes on with what it ran before. Gives what it ran until now.
fn return_to(before: *mut Task, pc: usize) -> *mut Task {
    let left = local::set_current(before);
    if current().has_own {
        watch::happens_after(own_token(), pc);
    }
    left
}

/// The calling thread has finished a task, and returns to what it ran before.
pub(crate) fn end(before: *mut Task, pc: usize) {
    lend_own(pc);
    let task = current();
    task.leave_scopes();
    watch::structure(Op::TaskEnd { task: task.id }, pc);
    if let Some(group) = &task.group
        && watch::tasks_are_order()
    {
        watch::happens_before(group.context, pc);
    }
    let ended = return_to(before, pc);
    // SAFETY: it was made by `Task::new`, and nobody knows it any more.
    let ended = unsafe { Box::from_raw(ended) };
    if let Some(group) = &ended.group {
        if !Arc::ptr_eq(group, detached()) {
            group.state.lock().ended.push(ended.id);
        }
        group.alive.fetch_sub(1, Ordering::Release);
    }
}

/// The current task has waited for a context.
pub(crate) fn waited(context: usize, pc: usize) {
    let task = current();
    let own = task.scopes.iter().rposition(|scope| scope.context == context && !scope.is_waited());
    let group = match own {
        Some(index) => Some(Arc::clone(&task.scopes[index])),
        // Others have spawned; but not those that this task belongs to.
        None => registered(context)
            .filter(|group| !around(&task.innermost()).any(|scope| Arc::ptr_eq(scope, group))),
    };
    if let Some(group) = group {
        let all = group.settle();
        if all {
            wait_for_strangers(&group, task, pc);
        }
        let innermost = own.is_some_and(|index| index + 1 == task.scopes.len());
        let closes = all && innermost && group.is_clean(task);
        let within = task.innermost();
        let ended = {
            let mut state = group.state.lock();
            if all {
                state.waited = Some(Waited { by: task.serial, within });
            }
            std::mem::take(&mut state.ended)
        };
        if all {
            unregister(&group);
        }
        if !closes {
            ended.into_iter().for_each(|task| watch::structure(Op::TaskJoin { task }, pc));
        }
    }
    task.close_finished(pc);
    if watch::tasks_are_order() {
        watch::happens_after(context, pc);
    }
}

/// A task has waited for a group. With it has it waited for groups of the same context within its scope, which were not done
/// when those waited who have opened them: what is fed to a `parallel_for_each`.
fn wait_for_strangers(group: &Arc<Scope>, task: &Task, pc: usize) {
    let strangers = group.state.lock().strangers.clone();
    for stranger in strangers {
        if stranger.context != group.context || stranger.is_waited() || !stranger.settle() {
            continue;
        }
        let ended = {
            let mut state = stranger.state.lock();
            state.waited = Some(Waited { by: task.serial, within: task.innermost() });
            std::mem::take(&mut state.ended)
        };
        unregister(&stranger);
        ended.into_iter().for_each(|task| watch::structure(Op::TaskJoin { task }, pc));
    }
}

/// A context is gone; another one may be in its place.
pub(crate) fn forget(context: usize) {
    let forgotten = groups(context).lock().remove(&context);
    drop(forgotten);
}
