//! Tasks of Rust programs, as the crate tells them that `cargo keirin` puts in front of `rayon-core`.
//!
//! A group is a `join`, `scope`, `install` or `broadcast`: its context is an address in the frame of that call. What is waited for
//! by nobody (`rayon::spawn`) is detached. `groups` makes a tree of them, the same as of the tasks of oneTBB. Those of a `join` are
//! told only if something happens in them: `joins`.
//!
//! A task's calls are those from its own beginning on: where it runs, and what its worker was about to do, is not its own. So the
//! end of the stack is moved there while it runs, and what earlier tasks had below is forgotten.

use super::joins::{self, Call, Half, JOIN_WORDS, Join, Ran, Teller};
use super::{Stack, look_at};
use crate::groups::{self, Task};
use crate::thread::{SpawnsAt, Thread};
use crate::{tls, watch};
use std::arch::naked_asm;

/// What the thread ran before, kept by the caller while a task runs.
#[repr(C)]
#[derive(Debug)]
pub struct Before {
    ran: Ran,
    /// The half of a join, if that is untold.
    untold: *mut Half,
}

/// True if the threads that the calling thread creates now are workers, which do nothing but run tasks.
pub(crate) fn creates_workers() -> bool {
    tls::creates_workers()
}

/// Spawns a task, of a thread whose open calls are found by `look`.
fn spawn(
    look: impl FnOnce(&mut Thread),
    divides: bool,
    pc: usize,
    spawn: impl FnOnce() -> *mut Task,
) -> usize {
    watch::on_thread(|thread: &mut Thread| {
        look(thread);
        thread.spawns_at = if divides { SpawnsAt::Parent } else { SpawnsAt::Calls };
    });
    let task = spawn();
    watch::on_thread(|thread: &mut Thread| {
        thread.spawns_at = SpawnsAt::Instruction;
        thread.look_away();
    });
    if watch::tasks_are_order() {
        watch::happens_before(task as usize, pc);
    }
    task as usize
}

/// The thread begins a task, or goes on with it.
fn begin(task: usize, frame: usize, pc: usize) -> Ran {
    let ran = groups::begin(task as *mut Task, pc);
    let mut stack_end = 0;
    watch::on_thread(|thread: &mut Thread| stack_end = std::mem::replace(&mut thread.stack_end, frame));
    if watch::tasks_are_order() {
        watch::happens_after(task, pc);
    }
    Ran { task: ran as usize, stack_end }
}

/// The thread has ended a task, and goes on with what it ran before.
fn end(ran: Ran, pc: usize) {
    groups::end(ran.task as *mut Task, pc);
    watch::on_thread(|thread: &mut Thread| thread.stack_end = ran.stack_end);
}

/// Tells the analysis what the calling thread does.
struct ToGroups {
    pc: usize,
}

impl Teller for ToGroups {
    #[inline(always)]
    fn leaves_untold(&self) -> bool {
        joins::are_on()
    }

    #[inline(always)]
    fn untold(&self) -> *mut Half {
        tls::untold().cast()
    }

    #[inline(always)]
    fn set_untold(&mut self, half: *mut Half) {
        tls::set_untold(half.cast());
    }

    fn spawn(&mut self, call: &Call) -> usize {
        let place = std::ptr::from_ref(call) as usize;
        let look = |thread: &mut Thread| {
            let end = match call.caller.is_null() {
                true => thread.stack_end,
                // SAFETY: the half that has called the join has not ended, and its frame stays as it is.
                false => unsafe { (*call.caller).frame },
            };
            // Perhaps it is the stack of another thread: that is within the join.
            let stack = Stack::walk(call.frame, place, end);
            thread.look_at_stack(stack.calls(), stack.beyond);
        };
        spawn(look, call.divides, call.pc, || groups::spawn(place, true, call.pc))
    }

    fn begin(&mut self, task: usize, frame: usize) -> Ran {
        begin(task, frame, self.pc)
    }

    fn suspend(&mut self, ran: Ran) {
        groups::suspend(ran.task as *mut Task, self.pc);
        watch::on_thread(|thread: &mut Thread| thread.stack_end = ran.stack_end);
    }

    fn end(&mut self, ran: Ran) {
        end(ran, self.pc);
    }

    fn waited(&mut self, call: &Call) {
        let place = std::ptr::from_ref(call) as usize;
        groups::waited(place, self.pc);
        groups::forget(place);
    }
}

/// Something is about to be told: if the thread runs an untold task, that is told first.
#[inline(always)]
pub(crate) fn tell_untold() {
    if !tls::untold().is_null() {
        tell_now();
    }
}

#[cold]
#[inline(never)]
fn tell_now() {
    // A signal handler may come while something is being told.
    if watch::is_on() && !crate::thread::is_inside() {
        // SAFETY: the thread runs it.
        unsafe { joins::tell(tls::untold().cast(), &mut ToGroups { pc: 0 }) };
    }
}

/// What others had below a frame is forgotten, if anything of it is known.
#[inline(always)]
fn leave_stack(frame: usize) {
    if watch::is_stack_known_below(frame) {
        leave_known_stack(frame);
    }
}

#[cold]
#[inline(never)]
fn leave_known_stack(frame: usize) {
    let untold = tls::untold();
    tls::set_untold(std::ptr::null_mut());
    watch::stack_left(frame);
    tls::set_untold(untold);
}

rust_hooks! {
    /// A task is spawned into a group, or into none if that is 0. `first` is 1 if nobody but the caller can spawn into the group so
    /// far. Gives 0 if nothing is watched.
    fn __keirin_rust_task_spawned(group, first, _third, _fourth; pc, frame) -> usize {
        if !watch::is_on() {
            return 0;
        }
        spawn(|thread| look_at(thread, frame), false, pc, || match group {
            0 => groups::spawn_detached(pc),
            _ => groups::spawn(group, first == 1, pc),
        })
    }

    /// The thread begins to run a task. What it ran before is put where `before` points to, until the end of the task.
    fn __keirin_rust_task_begins(task, before, _third, _fourth; pc, frame) {
        let untold = tls::untold().cast();
        tls::set_untold(std::ptr::null_mut());
        watch::stack_left(frame);
        let ran = begin(task, frame, pc);
        // SAFETY: the caller passes memory for it.
        unsafe { (before as *mut Before).write(Before { ran, untold }) };
    }

    /// The thread has run a task to its end.
    fn __keirin_rust_task_ends(before, _detail, _third, _fourth; pc, frame) {
        // SAFETY: the caller passes what it has got when the task began.
        let Before { ran, untold } = unsafe { (before as *const Before).read() };
        end(ran, pc);
        watch::stack_left(frame);
        tls::set_untold(untold.cast());
    }

    /// All tasks of a group have ended, and were waited for. Its context is gone.
    fn __keirin_rust_group_ends(group, _detail, _third, _fourth; pc, _frame) {
        if watch::is_on() {
            groups::waited(group, pc);
            groups::forget(group);
        }
    }

    /// A join begins; `how` is 1 if it divides what the task that calls it was spawned for. It is noted in memory that the caller provides, and leaves as
    /// it is until the end of the join. Gives 0 if nothing is watched.
    fn __keirin_rust_join_begins(join, how, _third, _fourth; pc, frame) -> usize {
        if !watch::is_on() {
            return 0;
        }
        // SAFETY: as the caller promises.
        unsafe { Join::begin(join as *mut Join, &mut ToGroups { pc }, how == 1, (pc, frame)) };
        JOIN_WORDS
    }

    /// The thread begins to run one of the two tasks of a join: 0 or 1.
    fn __keirin_rust_half_begins(join, which, _third, _fourth; pc, frame) {
        leave_stack(frame);
        // SAFETY: the caller runs each half once, during the join.
        unsafe {
            let half = Join::half(join as *mut Join, which == 1);
            Half::begin(half, &mut ToGroups { pc }, frame);
        }
    }

    /// The thread has run it to its end.
    fn __keirin_rust_half_ends(join, which, _third, _fourth; pc, frame) {
        // SAFETY: the caller has told that it runs it.
        unsafe { Half::end(Join::half(join as *mut Join, which == 1), &mut ToGroups { pc }) };
        leave_stack(frame);
    }

    /// A join ends.
    fn __keirin_rust_join_ends(join, _detail, _third, _fourth; pc, _frame) {
        if watch::is_on() {
            // SAFETY: the caller has told its beginning, and both halves have ended.
            unsafe { &*(join as *const Join) }.end(&mut ToGroups { pc });
        }
    }

    /// From now on, or no longer (0), what the thread creates are workers.
    fn __keirin_rust_workers(begin, _detail, _third, _fourth; _pc, _frame) {
        tls::set_creates_workers(begin == 1);
    }
}
