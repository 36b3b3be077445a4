//! What the OpenMP runtime calls: each callback finds the records behind the runtime's words and passes on what happened.
//!
//! The records of a task are used by one thread at a time: its creator, then the thread that runs it.

use super::dependences::{Dependences, Use};
use super::ompt::{self, Data, Dependence, endpoint, status, sync, work};
use super::tasks::{Role, Task, forget};
use super::teams::Region;
use super::{count_region, count_task, descriptors, exclusion, reductions, task_frame, task_memory};
use crate::intercept::arch::with_stack_pointer;
use crate::watch;
use libc::{c_int, c_uint, c_void};
use std::hash::{Hash, Hasher};

type Address = *const c_void;

/// The frame of an implicit task begins at most so far above that of the callback which tells its start; in between are
/// frames of the runtime.
const WORKER_STACK_SLACK: usize = 512;

/// The record behind a word.
///
/// # Safety
/// The word is null or one of the runtime for a `T`; nobody else uses the record now.
unsafe fn record<'a, T>(data: *mut Data) -> Option<&'a mut T> {
    // SAFETY: by the contract.
    unsafe { Data::get::<T>(data).as_mut() }
}

/// Puts a task behind a word.
///
/// # Safety
/// The word is null or one of the runtime for a task.
unsafe fn keep_task(data: *mut Data, task: Box<Task>) {
    if !data.is_null() {
        // SAFETY: by the contract.
        unsafe { Data::set(data, Box::into_raw(task)) };
    }
}

/// Puts a record behind a word.
///
/// # Safety
/// The word is null or one of the runtime for a `T`.
unsafe fn keep<T>(data: *mut Data, record: T) {
    if !data.is_null() {
        // SAFETY: by the contract.
        unsafe { Data::set(data, Box::into_raw(Box::new(record))) };
    }
}

/// Removes the record behind a word.
///
/// # Safety
/// As for [`record`]; it is used no more.
unsafe fn drop_record<T>(data: *mut Data) {
    // SAFETY: by the contract; it was made by `keep`.
    unsafe {
        let record = Data::get::<T>(data);
        if !record.is_null() {
            Data::set::<T>(data, std::ptr::null_mut());
            drop(Box::from_raw(record));
        }
    }
}

pub(super) unsafe extern "C" fn parallel_begin(
    encountering: *mut Data,
    _frame: *const ompt::Frame,
    parallel: *mut Data,
    requested: c_uint,
    _flags: c_int,
    place: Address,
) {
    count_region();
    // SAFETY: words of the runtime for a task and a region.
    unsafe {
        let encountering = Data::get::<Task>(encountering);
        keep(parallel, Region::new(encountering, place as usize, requested));
    }
}

pub(super) unsafe extern "C" fn parallel_end(
    parallel: *mut Data,
    _encountering: *mut Data,
    _flags: c_int,
    place: Address,
) {
    // SAFETY: the word of a region whose threads have all arrived at its end.
    unsafe {
        if let Some(region) = record::<Region>(parallel) {
            region.end(place as usize);
        }
        drop_record::<Region>(parallel);
    }
}

pub(super) unsafe extern "C" fn implicit_task(
    point: c_int,
    parallel: *mut Data,
    data: *mut Data,
    size: c_uint,
    index: c_uint,
    flags: c_int,
) {
    // SAFETY: words of the runtime for a region and a task.
    unsafe {
        if point == endpoint::BEGIN {
            begin_implicit(record::<Region>(parallel), data, size, index, flags);
        } else {
            if let Some(task) = record::<Task>(data) {
                task.end((0, 0));
            }
            drop_record::<Task>(data);
        }
    }
}

/// # Safety
/// `data` is the word of the new task.
unsafe fn begin_implicit(
    region: Option<&mut Region>,
    data: *mut Data,
    size: c_uint,
    index: c_uint,
    flags: c_int,
) {
    let task = match region {
        Some(region) if size > 1 => {
            if index == 0 {
                region.begin(size);
            } else {
                region.await_begin();
                // What an earlier implicit task has left on the stack of this worker is void.
                watch::stack_left(std::ptr::from_ref(&size) as usize + WORKER_STACK_SLACK);
            }
            let mut task = Task::new(Role::Nobody, region.encountering, region.place);
            task.join_team(region, index);
            task
        }
        Some(region) => {
            super::team_of_one(region.requested);
            let mut task = Task::new(Role::Serial, region.encountering, region.place);
            task.calls = watch::open_calls();
            task
        }
        None if flags & ompt::task::INITIAL != 0 => Task::new(Role::Thread, std::ptr::null_mut(), 0),
        None => return,
    };
    task.set_runner();
    // SAFETY: by the contract.
    unsafe { keep(data, task) };
}

pub(super) unsafe extern "C" fn task_create(
    encountering: *mut Data,
    _frame: *const ompt::Frame,
    data: *mut Data,
    flags: c_int,
    _has_dependences: c_int,
    place: Address,
) {
    // SAFETY: words of the runtime for tasks; the first one is run by this thread.
    unsafe {
        let Some(parent) = record::<Task>(encountering) else { return };
        let place = if parent.loop_place == 0 { place as usize } else { parent.loop_place };
        let task = if flags & ompt::task::TASKWAIT != 0 {
            Task::boxed(Role::Wait, parent, place)
        } else {
            let serial = flags & (ompt::task::UNDEFERRED | ompt::task::MERGED) != 0;
            count_task(serial);
            let mut task =
                if serial { Task::boxed(Role::Serial, parent, place) } else { parent.spawn(place) };
            // Those of a loop are copies that nobody has told.
            if parent.loop_place == 0 {
                task.memory = descriptors::take(data as usize).unwrap_or_default();
            }
            task
        };
        keep_task(data, task);
    }
}

with_stack_pointer! {
    pub(super) fn task_schedule(prior: *mut Data, why: c_int, next: *mut Data; stack) {
        match why {
            status::EARLY_FULFIL => {
                // Another thread may run it.
                if let Some(task) = Data::get::<Task>(prior).as_ref() {
                    task.fulfilled_early();
                }
            }
            status::LATE_FULFIL => {
                if let Some(task) = record::<Task>(prior) {
                    task.fulfilled_late();
                }
                drop_record::<Task>(prior);
            }
            status::TASKWAIT_COMPLETE => {
                if let Some(task) = record::<Task>(prior) {
                    task.dependences_waited();
                }
                drop_record::<Task>(prior);
            }
            status::COMPLETE | status::CANCEL => {
                if let Some(task) = record::<Task>(prior)
                    && task.region.is_null()
                {
                    let memory = memory_of(task);
                    if task.end(memory) {
                        reductions::task_ended();
                    }
                    drop_record::<Task>(prior);
                }
                switch_to(next, stack);
            }
            status::DETACH => {
                if let Some(task) = record::<Task>(prior) {
                    task.suspend();
                    forget(memory_of(task));
                }
                switch_to(next, stack);
            }
            _ => {
                // To a task that it has interrupted the thread goes back: then it leaves the prior one.
                if !switch_to(next, stack)
                    && let Some(prior) = record::<Task>(prior)
                {
                    prior.suspend();
                }
            }
        }
    }
}

/// The memory of the task that this thread runs. Zeros: it has none.
fn memory_of(task: &Task) -> (usize, usize) {
    if task.memory.1 > 0 { task.memory } else { task_memory().unwrap_or_default() }
}

/// Starts a task or goes on with it. False if the thread has just interrupted it.
///
/// # Safety
/// The word is null or that of a task that this thread runs from now on.
unsafe fn switch_to(next: *mut Data, stack: usize) -> bool {
    // SAFETY: by the contract. While another thread is about to leave the task, only what may be shared is looked at.
    unsafe {
        match Data::get::<Task>(next).as_ref() {
            None => return true,
            Some(task) if task.is_running_here() => return false,
            Some(_) => {}
        }
        if let Some(task) = record::<Task>(next) {
            if task.is_new() && task.memory.1 == 0 {
                // The runtime may have copied the descriptor from another one, into memory of one that was before.
                forget(task_memory().unwrap_or_default());
            }
            task.begin(stack);
        }
    }
    true
}

pub(super) unsafe extern "C" fn dependences(data: *mut Data, items: *const Dependence, count: c_int) {
    let Ok(count) = usize::try_from(count) else { return };
    if items.is_null() || count == 0 {
        return;
    }
    // SAFETY: the runtime passes so many items, and the word of a task of which only this thread knows yet, or runs it.
    unsafe {
        let items = std::slice::from_raw_parts(items, count);
        let Some(task) = record::<Task>(data) else { return };
        match items[0].kind {
            // Told before others may see it.
            ompt::dependence::SOURCE => watch::happens_before(iteration(task, items), 0),
            // Told after the wait.
            ompt::dependence::SINK => watch::happens_after(iteration(task, items), 0),
            _ => depend(task, items),
        }
    }
}

/// # Safety
/// `task` is new, and its parent is run by this thread.
unsafe fn depend(task: &mut Task, items: &[Dependence]) {
    // SAFETY: by the contract.
    let Some(parent) = (unsafe { task.parent.as_mut() }) else { return };
    let is_all =
        |item: &Dependence| matches!(item.kind, ompt::dependence::OUT_ALL | ompt::dependence::INOUT_ALL);
    // SAFETY: of these kinds it is an address; both members of the union are one word.
    let list: Vec<(u64, Use)> =
        items.iter().map(|item| (unsafe { item.variable.value }, Use::of(item.kind))).collect();
    let needs = Dependences::add(&mut parent.dependences, task.id(), &list, items.iter().any(is_all));
    let place = task.place;
    task.needs(needs.tasks, needs.locks, place);
}

/// The token of one iteration of a doacross loop of a team.
fn iteration(task: &Task, items: &[Dependence]) -> usize {
    let mut hasher = rustc_hash::FxHasher::default();
    (task.region as usize, task.phase, task.loops).hash(&mut hasher);
    for item in items {
        // SAFETY: of these kinds it is a number; both members of the union are one word.
        unsafe { item.variable.value }.hash(&mut hasher);
    }
    hasher.finish() as usize
}

pub(super) unsafe extern "C" fn work_shared(
    kind: c_int,
    point: c_int,
    _parallel: *mut Data,
    data: *mut Data,
    _count: u64,
    place: Address,
) {
    // SAFETY: the word of a task that this thread runs.
    let Some(task) = (unsafe { record::<Task>(data) }) else { return };
    if kind == work::TASKLOOP {
        // The tasks of the loop are created within the runtime, as copies of one that never runs.
        if point == endpoint::BEGIN {
            task.loop_place = place as usize;
            task.loop_memory = descriptors::latest();
        } else {
            task.loop_place = 0;
            let (memory, size) = std::mem::take(&mut task.loop_memory);
            if size > 0 {
                watch::forgotten(memory, size);
            }
        }
        return;
    }
    let chunks = matches!(kind, work::SECTIONS | work::LOOP_DYNAMIC | work::LOOP_GUIDED | work::LOOP_OTHER);
    if point == endpoint::BEGIN {
        task.loops = task.loops.wrapping_add(1);
        task.deals_chunks = chunks;
    } else if chunks {
        task.end_chunks(place as usize);
    }
}

/// A thread has got a section, or some iterations of a loop.
pub(super) unsafe extern "C" fn dispatch(
    _parallel: *mut Data,
    data: *mut Data,
    _kind: c_int,
    _instance: Data,
) {
    // SAFETY: the word of a task that this thread runs.
    if let Some(task) = unsafe { record::<Task>(data) } {
        task.begin_chunk(task_frame());
    }
}

fn is_barrier(kind: c_int) -> bool {
    matches!(
        kind,
        sync::BARRIER
            | sync::BARRIER_IMPLICIT
            | sync::BARRIER_EXPLICIT
            | sync::BARRIER_IMPLEMENTATION
            | sync::BARRIER_WORKSHARE
            | sync::BARRIER_PARALLEL
            | sync::BARRIER_TEAMS
    )
}

pub(super) unsafe extern "C" fn sync_region(
    kind: c_int,
    point: c_int,
    parallel: *mut Data,
    data: *mut Data,
    place: Address,
) {
    let place = place as usize;
    // SAFETY: the word of a task that this thread runs.
    let Some(task) = (unsafe { record::<Task>(data) }) else { return };
    match (kind, point) {
        (sync::TASKWAIT, endpoint::END) => task.waited(place),
        (sync::TASKGROUP, endpoint::BEGIN) => task.group_begin(),
        (sync::TASKGROUP, endpoint::END) => task.group_end(place, true),
        (kind, endpoint::BEGIN) if is_barrier(kind) => task.arrive(place),
        // After the last barrier of a region there is no region any more, and the end may be told late.
        (kind, endpoint::END)
            if is_barrier(kind) && kind != sync::BARRIER_PARALLEL && !parallel.is_null() =>
        {
            task.leave(place);
        }
        _ => {}
    }
}

pub(super) unsafe extern "C" fn sync_region_wait(
    kind: c_int,
    point: c_int,
    _parallel: *mut Data,
    data: *mut Data,
    place: Address,
) {
    // All tasks of the group are finished; what reduces their results comes next.
    if kind == sync::TASKGROUP && point == endpoint::END {
        // SAFETY: the word of a task that this thread runs.
        if let Some(task) = unsafe { record::<Task>(data) } {
            task.group_end(place as usize, false);
        }
    }
}

pub(super) unsafe extern "C" fn reduction(
    _kind: c_int,
    point: c_int,
    _parallel: *mut Data,
    data: *mut Data,
    place: Address,
) {
    // SAFETY: the word of a task that this thread runs.
    let Some(task) = (unsafe { record::<Task>(data) }) else { return };
    match (point, task.is_between()) {
        // Within a barrier the threads combine what others have written and wait for; the runtime orders them.
        (endpoint::BEGIN, true) => watch::ignore_begin(),
        (endpoint::END, true) => watch::ignore_end(),
        (endpoint::BEGIN, false) => exclusion::reduction_begins(place as usize),
        (endpoint::END, false) => exclusion::reduction_ends(place as usize),
        _ => {}
    }
}

pub(super) unsafe extern "C" fn mutex_acquire(
    _kind: c_int,
    _hint: c_uint,
    _implementation: c_uint,
    lock: u64,
    place: Address,
) {
    watch::lock_awaited(lock as usize, place as usize);
}

pub(super) unsafe extern "C" fn mutex_acquired(kind: c_int, lock: u64, place: Address) {
    exclusion::acquired(kind, lock, place as usize);
}

pub(super) unsafe extern "C" fn mutex_released(kind: c_int, lock: u64, place: Address) {
    exclusion::released(kind, lock, place as usize);
}

pub(super) unsafe extern "C" fn nest_lock(point: c_int, lock: u64, _place: Address) {
    // The other endpoint is told after the lock was given back once, which is known by then.
    if point == endpoint::BEGIN {
        exclusion::acquired_again(lock);
    }
}

pub(super) unsafe extern "C" fn lock_init(
    _kind: c_int,
    _hint: c_uint,
    _implementation: c_uint,
    lock: u64,
    _place: Address,
) {
    watch::object_forgotten(lock as usize);
}

pub(super) unsafe extern "C" fn lock_destroy(_kind: c_int, lock: u64, _place: Address) {
    watch::object_forgotten(lock as usize);
}

/// Code for other devices, whatever the other arguments are.
pub(super) unsafe extern "C" fn target() {
    watch::note("a target construct was met; what runs on a device is not watched");
}
