//! What happens to tasks, and to the threads and stacks that they run on.

use super::{TASKS_ARE_ORDER, attach, enter_anyhow, forgotten, is_on, watcher, with};
use crate::{steering, tls};
use keirin_core::event::{Op, TaskId};
use std::sync::atomic::{AtomicU32, Ordering};

/// Whatever lies on the stack of the calling thread below an address is of no use any more: another task has its frames
/// there next.
pub fn stack_left(top: usize) {
    stack_left_from(top, top);
}

/// The same for what lies below an address and above a place on the stack, too.
pub fn stack_left_from(place: usize, top: usize) {
    with(|watcher, thread| watcher.stack_left(thread, place, top));
}

/// True if something on the stack of the calling thread below an address may be known to the analysis.
#[inline(always)]
pub(crate) fn is_stack_known_below(top: usize) -> bool {
    let thread = super::current();
    // SAFETY: the thread's own; it is only read.
    !thread.is_null() && unsafe { &*thread }.knows_stack_below(top)
}

/// So many numbers a thread takes for its tasks at once, so that threads do not wait for each other. In a trace they follow each other.
const NUMBERS_AT_ONCE: u32 = 64;

/// A number for a task that is about to be told of. Each is given once; `TaskId::NONE` if nothing is watched.
pub fn new_task() -> TaskId {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if !is_on() {
        return TaskId::NONE;
    }
    let Some(mut inside) = enter_anyhow() else { return TaskId(NEXT.fetch_add(1, Ordering::Relaxed)) };
    if let Some(number) = inside.task_numbers.next() {
        return TaskId(number);
    }
    let is_recorded = watcher().is_some_and(|watcher| watcher.recorder().is_some());
    let count = if is_recorded { 1 } else { NUMBERS_AT_ONCE };
    let first = NEXT.fetch_add(count, Ordering::Relaxed);
    inside.task_numbers = first + 1..first + count;
    TaskId(first)
}

/// True if what runs knows threads and no tasks: the order of tasks must be told as order of threads. A trace has it as tasks.
pub fn tasks_are_order() -> bool {
    TASKS_ARE_ORDER.load(Ordering::Relaxed)
}

/// Something happened to the tasks of the program: one of the operations of [`Op`] from `Spawn` to `FinishEnd`, done by the
/// task that the calling thread runs.
pub fn structure(op: Op, pc: usize) {
    if steering::is_on() {
        steering::step_ends();
    }
    with(|watcher, thread| watcher.structure(thread, op, pc));
}

/// A task, or the one that the calling thread runs, does nothing from now on until tasks below it have ended; or it goes on.
pub fn task_waits(task: Option<TaskId>, waits: bool) {
    with(|watcher, thread| watcher.task_waits(thread, task, waits));
}

/// The calling thread begins a task, or goes on with one: what lies on its stack below an address is of no use any more. Gives how many recorded calls
/// of functions were open.
pub(crate) fn task_begun(task: TaskId, top: usize, pc: usize) -> usize {
    if steering::is_on() {
        steering::step_ends();
    }
    let mut calls = 0;
    with(|watcher, thread| {
        calls = watcher.recorder().map_or(0, |recorder| recorder.open_calls(thread));
        watcher.stack_left(thread, top, top);
        watcher.structure(thread, Op::TaskBegin { task }, pc);
    });
    calls
}

/// The calling thread has finished a task: what lies on its stack below an address, and in the memory that it had for itself, is of no use
/// any more. The address is 0 if it has none there.
pub(crate) fn task_ended(task: TaskId, top: usize, (memory, size): (usize, usize)) {
    if steering::is_on() {
        steering::step_ends();
    }
    with(|watcher, thread| {
        watcher.structure(thread, Op::TaskEnd { task }, 0);
        if top != 0 {
            watcher.stack_left(thread, top, top);
        }
        if size > 0 {
            watcher.forgotten(Some(thread), memory, size);
        }
    });
}

/// How many recorded calls of functions are open in the calling thread.
pub fn open_calls() -> usize {
    let mut number = 0;
    with(|watcher, thread| number = watcher.recorder().map_or(0, |recorder| recorder.open_calls(thread)));
    number
}

/// The calling thread goes over from one task to another in the midst of functions: tells the end of the first one's calls,
/// from the given one on; then `change`; then that the other one is within the same calls.
pub fn within_calls(from: usize, change: impl FnOnce()) {
    calls_left(from);
    change();
    calls_resumed(from);
}

/// The first half of [`within_calls`], for a thread that does something else in between.
pub fn calls_left(from: usize) {
    with(|watcher, thread| {
        if let Some(recorder) = watcher.recorder() {
            recorder.close_calls(thread, from);
        }
    });
}

/// The other half of [`calls_left`].
pub fn calls_resumed(from: usize) {
    with(|watcher, thread| {
        if let Some(recorder) = watcher.recorder() {
            recorder.reopen_calls(thread, from);
        }
    });
}

/// Called first thing in a thread of a library for tasks. Nobody has forked it: the tasks that it runs stand where they were
/// spawned, and it does nothing beside them.
pub fn worker_started(stack: (usize, usize)) {
    if let (true, Some(watcher)) = (is_on() && tls::thread().is_null(), watcher()) {
        attach(watcher);
        forgotten(stack.0, stack.1);
        super::on_thread(|thread| thread.stack_end = stack.0.saturating_add(stack.1));
    }
}
