//! Tasks of Rust programs, as the crate tells them that `cargo keirin` puts in front of `rayon-core`.
//!
//! A group is a `join`, `scope`, `install` or `broadcast`: its context is an address in the frame of that call. What is waited for
//! by nobody (`rayon::spawn`) is detached. `groups` makes a tree of them, the same as of the tasks of oneTBB.
//!
//! A task's calls are those from its own beginning on: where it runs, and what its worker was about to do, is not its own. So the
//! end of the stack is moved there while it runs, and what earlier tasks had below is forgotten.

use super::look_at;
use crate::groups::{self, Task};
use crate::thread::{SpawnsAt, Thread};
use crate::{tls, watch};
use std::arch::naked_asm;

/// What the thread ran before, kept by the caller while a task runs.
#[repr(C)]
#[derive(Debug)]
pub struct Before {
    task: *mut (),
    stack_end: usize,
}

/// True if the threads that the calling thread creates now are workers, which do nothing but run tasks.
pub(crate) fn creates_workers() -> bool {
    tls::creates_workers()
}

rust_hooks! {
    /// A task is spawned into a group, or into none if that is 0. `how`: bit 0 if nobody but the caller can spawn into the group so
    /// far, bit 1 if the task that spawns divides what it was spawned for. Gives 0 if nothing is watched.
    fn __keirin_rust_task_spawned(group, how, _third, _fourth; pc, frame) -> usize {
        if !watch::is_on() {
            return 0;
        }
        watch::on_thread(|thread: &mut Thread| {
            look_at(thread, frame);
            thread.spawns_at = if how & 2 == 0 { SpawnsAt::Calls } else { SpawnsAt::Parent };
        });
        let task = match group {
            0 => groups::spawn_detached(pc),
            _ => groups::spawn(group, how & 1 == 1, pc),
        };
        watch::on_thread(|thread: &mut Thread| {
            thread.spawns_at = SpawnsAt::Instruction;
            thread.look_away();
        });
        if watch::tasks_are_order() {
            watch::happens_before(task as usize, pc);
        }
        task as usize
    }

    /// The thread begins to run a task. What it ran before is put where `before` points to, until the end of the task.
    fn __keirin_rust_task_begins(task, before, _third, _fourth; pc, frame) {
        watch::stack_left(frame);
        let ran = groups::begin(task as *mut Task, pc);
        let mut stack_end = 0;
        watch::on_thread(|thread: &mut Thread| stack_end = std::mem::replace(&mut thread.stack_end, frame));
        if watch::tasks_are_order() {
            watch::happens_after(task, pc);
        }
        // SAFETY: the caller passes memory for it.
        unsafe { (before as *mut Before).write(Before { task: ran.cast(), stack_end }) };
    }

    /// The thread has run a task to its end.
    fn __keirin_rust_task_ends(before, _detail, _third, _fourth; pc, frame) {
        // SAFETY: the caller passes what it has got when the task began.
        let Before { task, stack_end } = unsafe { (before as *const Before).read() };
        groups::end(task.cast(), pc);
        watch::on_thread(|thread: &mut Thread| thread.stack_end = stack_end);
        watch::stack_left(frame);
    }

    /// All tasks of a group have ended, and were waited for. Its context is gone.
    fn __keirin_rust_group_ends(group, _detail, _third, _fourth; pc, _frame) {
        if watch::is_on() {
            groups::waited(group, pc);
            groups::forget(group);
        }
    }

    /// From now on, or no longer (0), what the thread creates are workers.
    fn __keirin_rust_workers(begin, _detail, _third, _fourth; _pc, _frame) {
        tls::set_creates_workers(begin == 1);
    }
}
