//! Futures of Rust programs that are tasks, as the copy of `tokio` tells them that `cargo keirin` makes.
//!
//! A task is spawned, polled again and again, by one thread or another, and ends; who awaits its handle has waited for it. Between two
//! polls it is suspended, and what belongs to it goes with it: its locks, its open regions, and its calls. Nobody but who holds
//! the handle waits for it, so that it is detached, and waited for as a single task.
//!
//! **Calls.** A function that awaits returns, and is called again to go on. What makes the two calls one is that they are at the same
//! place of the stack, seen from where the task is polled, and come from the same place of the program: the same rule by which a loop's calls of one
//! function are one, for a thread (`Thread::look_at_stack`).

use super::look_at;
use crate::groups::{self, Task};
use crate::thread::{KeptCall, SpawnsAt, Thread};
use crate::watch;
use keirin_core::event::{Op, TaskId};
use std::arch::naked_asm;

/// A task that is polled. It belongs to who polls it, and is given back when nobody has a handle any more.
struct Polled {
    /// Null if it has ended.
    task: *mut Task,
    id: TaskId,
    /// The rest is about the time between two polls, or of whoever polls it.
    calls: Vec<KeptCall>,
    regions: Vec<bool>,
    /// What the thread ran before, during a poll; the frame of who polls.
    before: *mut Task,
    stack_end: usize,
    frame: usize,
}

/// The numbers by which the ends of tasks are told where tasks are order: behind those of parked threads, and where no memory is.
const FIRST_END: usize = 1 << 31;

impl Polled {
    /// The thread goes on with the task. False: it has ended.
    fn begin(&mut self, frame: usize, pc: usize) -> bool {
        if self.task.is_null() {
            return false;
        }
        watch::stack_left(frame);
        self.before = groups::begin(self.task, pc);
        self.frame = frame;
        watch::on_thread(|thread: &mut Thread| {
            self.stack_end = std::mem::replace(&mut thread.stack_end, frame);
            std::mem::swap(&mut self.regions, &mut thread.regions);
            thread.restore_calls(&self.calls, frame);
        });
        if watch::tasks_are_order() {
            watch::happens_after(self.task as usize, pc);
        }
        true
    }

    /// The thread leaves the task, for a time or for good.
    fn leave(&mut self, ends: bool, pc: usize) {
        if watch::tasks_are_order() {
            let token = if ends { self.end_token() } else { self.task as usize };
            watch::happens_before(token, pc);
        }
        // What was held back of a section is told with the calls that are open.
        watch::on_thread(|thread: &mut Thread| {
            thread.keep_calls(&mut self.calls, self.frame);
            std::mem::swap(&mut self.regions, &mut thread.regions);
        });
        if ends {
            groups::end(self.before, pc);
            self.task = std::ptr::null_mut();
            self.calls = Vec::new();
        } else {
            groups::suspend(self.before, pc);
        }
        watch::on_thread(|thread: &mut Thread| thread.stack_end = self.stack_end);
        watch::stack_left(self.frame);
    }

    fn end_token(&self) -> usize {
        FIRST_END + 8 * self.id.0 as usize
    }
}

/// The task of a handle.
fn polled(handle: usize) -> &'static mut Polled {
    // SAFETY: made by `__keirin_rust_future_spawned`; only who may use the future calls these hooks, one after the other, and none of
    // them calls the program.
    unsafe { &mut *(handle as *mut Polled) }
}

rust_hooks! {
    /// A future becomes a task that is polled by itself. Gives a handle of it, 0 if nothing is watched.
    fn __keirin_rust_future_spawned(_object, _detail, _third, _fourth; pc, frame) -> usize {
        if !watch::is_on() {
            return 0;
        }
        watch::on_thread(|thread: &mut Thread| {
            look_at(thread, frame);
            thread.spawns_at = SpawnsAt::Calls;
        });
        let task = groups::spawn_detached(pc);
        watch::on_thread(|thread: &mut Thread| {
            thread.spawns_at = SpawnsAt::Instruction;
            thread.look_away();
        });
        if watch::tasks_are_order() {
            watch::happens_before(task as usize, pc);
        }
        // SAFETY: it was just made, and nobody runs it.
        let id = unsafe { (*task).id() };
        Box::into_raw(Box::new(Polled {
            task,
            id,
            calls: Vec::new(),
            regions: Vec::new(),
            before: std::ptr::null_mut(),
            stack_end: 0,
            frame: 0,
        })) as usize
    }

    /// The thread begins to poll a task, or to drop what it is made of. Gives 0 if the task has ended: then it goes on as what it was.
    fn __keirin_rust_future_begins(handle, _detail, _third, _fourth; pc, frame) -> usize {
        usize::from(polled(handle).begin(frame, pc))
    }

    /// The thread leaves a task that it has begun to poll. The task will go on.
    fn __keirin_rust_future_rests(handle, _detail, _third, _fourth; pc, _frame) {
        polled(handle).leave(false, pc);
    }

    /// A task, which nobody polls, has ended.
    fn __keirin_rust_future_ends(handle, _detail, _third, _fourth; pc, frame) {
        let polled = polled(handle);
        if polled.begin(frame, pc) {
            polled.leave(true, pc);
        }
    }

    /// Somebody takes the result of a task that has ended.
    fn __keirin_rust_future_joined(handle, _detail, _third, _fourth; pc, _frame) {
        if watch::is_on() {
            let polled = polled(handle);
            watch::structure(Op::TaskJoin { task: polled.id }, pc);
            if watch::tasks_are_order() {
                watch::happens_after(polled.end_token(), pc);
            }
        }
    }

    /// Nobody has a handle of the task any more. One that was never finished ends.
    fn __keirin_rust_future_forgotten(handle, _detail, _third, _fourth; pc, frame) {
        let polled = polled(handle);
        if polled.begin(frame, pc) {
            polled.leave(true, pc);
        }
        // SAFETY: made by `Box::into_raw`, and not used any more.
        drop(unsafe { Box::from_raw(handle as *mut Polled) });
    }
}
