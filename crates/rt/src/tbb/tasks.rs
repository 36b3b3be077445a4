//! Task objects, from their spawn to their end.
//!
//! A task object begins with `{ table of virtual functions, traits, six reserved words }`, of which the library uses the first
//! and third. When a task is spawned its table is replaced by ours, so that we hear when it is run; the original goes
//! into the fifth reserved word, our own task into the sixth. Before it is run the original is put back.

use super::local::{Class, Local};
use super::originals::originals;
use crate::groups::{self, Task};
use crate::intercept::arch::intercept;
use crate::watch;
use libc::c_void;

/// A task object of the library.
#[repr(C)]
pub(super) struct Object {
    table: *const usize,
    traits: u64,
    reserved: [usize; 6],
}

/// What the library tells a task that it runs.
#[repr(C)]
pub(super) struct ExecutionData {
    context: *mut c_void,
    /// Where it was spawned.
    original_slot: u16,
}

const TABLE: usize = 4;
const TASK: usize = 5;

/// Places in the table.
const DESTROY: usize = 0;
const DELETE: usize = 1;
const EXECUTE: usize = 2;
const CANCEL: usize = 3;

type Run = unsafe extern "C-unwind" fn(*mut Object, *mut ExecutionData) -> *mut Object;
type Destroy = unsafe extern "C-unwind" fn(*mut Object);

/// Our table, with what stands before it in memory.
#[repr(C)]
struct Table {
    offset: isize,
    type_information: usize,
    destroy: Destroy,
    delete: Destroy,
    execute: Run,
    cancel: Run,
}

static OURS: Table = Table {
    offset: 0,
    type_information: 0,
    destroy: destroyed::<DESTROY>,
    delete: destroyed::<DELETE>,
    execute: run::<EXECUTE>,
    cancel: run::<CANCEL>,
};

fn ours() -> *const usize {
    (&raw const OURS.destroy).cast()
}

/// Stack below a function that was seen: frames of functions that tell nothing.
const UNSEEN_FRAMES: usize = 4096;

/// A stack is not larger. A function that was seen further down ran on another stack.
const LARGEST_STACK: usize = 8 << 20;

/// Forgets the stack of finished calls below a frame. Before a thread is known there is none.
fn forget_stack(lowest: usize, frame: usize) {
    if lowest <= frame {
        let from = lowest.max(frame.saturating_sub(LARGEST_STACK)).saturating_sub(UNSEEN_FRAMES);
        watch::forgotten(from, frame - from);
    }
}

unsafe fn is_followed(object: *const Object) -> bool {
    // SAFETY: the library passes a task object.
    unsafe { (*object).table == ours() }
}

/// From here on we hear of the object.
unsafe fn follow(object: *mut Object, task: *mut Task) {
    if watch::tasks_are_order() {
        watch::happens_before(object as usize, 0);
    }
    // SAFETY: the library passes a task object that nobody runs.
    unsafe {
        (*object).reserved[TABLE] = (*object).table as usize;
        (*object).reserved[TASK] = task as usize;
        (*object).table = ours();
    }
}

/// Puts the original table back.
unsafe fn unfollow(object: *mut Object) -> *mut Task {
    // SAFETY: the object was followed, so the words are ours.
    unsafe {
        (*object).table = (*object).reserved[TABLE] as *const usize;
        std::mem::replace(&mut (*object).reserved[TASK], 0) as *mut Task
    }
}

/// A task object is destroyed that was never run.
unsafe extern "C-unwind" fn destroyed<const SLOT: usize>(object: *mut Object) {
    // SAFETY: our table is in place, so the object was followed.
    unsafe {
        let task = unfollow(object);
        let before = groups::begin(task, 0);
        groups::end(before, 0);
        let function: Destroy = std::mem::transmute(*(*object).table.add(SLOT));
        function(object);
    }
}

/// A task that is run. If its function throws, the library calls `cancel` of the same object next: the task goes on there.
struct Running {
    object: *mut Object,
    task: *mut Task,
    before: *mut Task,
    pc: usize,
    frame: usize,
    table_before: *const usize,
    bodies_before: u32,
    calls_before: usize,
    goes_on: bool,
}

impl Running {
    /// `frame` lies above all that the task will have on the stack.
    unsafe fn begin(object: *mut Object, task: *mut Task, frame: usize, pc: usize) -> Self {
        let local = Local::get();
        // SAFETY: the thread's own.
        let (lowest_before, table_before, bodies_before, calls_before) = unsafe {
            let local = &mut *local;
            let table = (*object).table;
            (
                std::mem::replace(&mut local.lowest, frame),
                std::mem::replace(&mut local.table, table),
                std::mem::replace(&mut local.bodies, 0),
                std::mem::replace(&mut local.calls, 0),
            )
        };
        // The stack below is that of the task from here on. What others have had there is gone.
        forget_stack(lowest_before, frame);
        let before = groups::begin(task, pc);
        if watch::tasks_are_order() {
            watch::happens_after(object as usize, pc);
        }
        Running { object, task, before, pc, frame, table_before, bodies_before, calls_before, goes_on: true }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let local = Local::get();
        // SAFETY: the thread's own.
        unsafe {
            if (*local).task != self.task {
                // The task was suspended, and another thread has gone on with it, which runs something else for us.
                return;
            }
            // What the task had on the stack is gone, and the next one has its own there.
            forget_stack((*local).lowest, self.frame);
            (*local).lowest = self.frame;
            (*local).table = self.table_before;
            (*local).bodies = self.bodies_before;
            (*local).calls = self.calls_before;
            if self.goes_on {
                groups::suspend(self.before, self.pc);
                follow(self.object, self.task);
            } else {
                groups::end(self.before, self.pc);
            }
        }
    }
}

/// The library runs, or cancels, a task.
unsafe extern "C-unwind" fn run<const SLOT: usize>(
    object: *mut Object,
    data: *mut ExecutionData,
) -> *mut Object {
    // SAFETY: our table is in place, so the object was followed; the original function has this type.
    unsafe {
        let task = unfollow(object);
        let original = *(*object).table.add(SLOT);
        let function: Run = std::mem::transmute(original);
        // Places are looked up by return addresses.
        let pc = original + 1;
        let of_this_frame = 0u8;
        let mut running = Running::begin(object, task, (&raw const of_this_frame).addr(), pc);
        let next = function(object, data);
        if next == object {
            return next;
        }
        running.goes_on = false;
        // The task that is to be run next need not be spawned.
        if !next.is_null() && !is_followed(next) {
            follow(next, groups::spawn((*data).context as usize, false, pc));
        }
        next
    }
}

/// A task is spawned, if the program is watched.
unsafe fn spawned(object: *mut Object, context: *mut c_void, fresh: bool, pc: usize) {
    // SAFETY: the library passes a task object.
    unsafe {
        if watch::is_on() && !is_followed(object) {
            follow(object, groups::spawn(context as usize, fresh, pc));
        }
    }
}

/// Tells the end of a wait, also if it ends by an exception.
struct Waiting {
    context: *mut c_void,
    pc: usize,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if watch::is_on() {
            groups::waited(self.context as usize, self.pc);
        }
    }
}

/// True if the current task is one of `parallel_scan` that was spawned and asks for the first time where it runs.
///
/// If such a task runs where it was spawned it goes on with the sum of the task before it, without a word to anybody, since
/// that has ended. That is a way which other schedules do not take. So it is told that it runs elsewhere: the way that
/// can always be taken.
unsafe fn asks_for_scan() -> bool {
    // SAFETY: what is kept for a thread lives for ever, as does its current task.
    unsafe {
        let local = &mut *Local::get();
        std::mem::replace(&mut (*local.task).fresh, false) && local.class() == Class::Scan
    }
}

originals! {
    fn _ZN3tbb6detail2r114execution_slotEPKNS0_2d114execution_dataE(data: *const ExecutionData) -> u16;
    fn _ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE(task: *mut Object, context: *mut c_void);
    fn _ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt(task: *mut Object, context: *mut c_void, slot: u16);
    fn _ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm(task: *mut Object, context: *mut c_void, arena: *mut c_void, critical: usize);
    fn _ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE(task: *mut Object, arena: *mut c_void);
    fn _ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE(task: *mut Object, context: *mut c_void, arena: *mut c_void);
    fn _ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(task: *mut Object, context: *mut c_void, wait: *mut c_void, waiting: *mut c_void);
    fn _ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(wait: *mut c_void, context: *mut c_void);
    fn _ZN3tbb6detail2r17destroyERNS0_2d118task_group_contextE(context: *mut c_void);
    fn _ZN3tbb6detail2r17suspendEPFvPvPNS1_18suspend_point_typeEES2_(callback: *mut c_void, data: *mut c_void);
}

intercept! {
    fn _ZN3tbb6detail2r114execution_slotEPKNS0_2d114execution_dataE(data: *const ExecutionData; _pc) -> u16 {
        if watch::is_on() && !data.is_null() && asks_for_scan() {
            return !(*data).original_slot;
        }
        self::_ZN3tbb6detail2r114execution_slotEPKNS0_2d114execution_dataE(data)
    }

    fn _ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE(task: *mut Object, context: *mut c_void; pc) {
        spawned(task, context, false, pc);
        self::_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE(task, context)
    }

    fn _ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt(task: *mut Object, context: *mut c_void, slot: u16; pc) {
        spawned(task, context, false, pc);
        self::_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt(task, context, slot)
    }

    fn _ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm(task: *mut Object, context: *mut c_void, arena: *mut c_void, critical: usize; pc) {
        spawned(task, context, false, pc);
        self::_ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm(task, context, arena, critical)
    }

    fn _ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE(task: *mut Object, arena: *mut c_void; pc) {
        if watch::is_on() && !is_followed(task) {
            follow(task, groups::spawn_detached(pc));
        }
        self::_ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE(task, arena)
    }

    fn _ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE(task: *mut Object, context: *mut c_void, arena: *mut c_void; pc) {
        spawned(task, context, false, pc);
        self::_ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE(task, context, arena)
    }

    fn _ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(task: *mut Object, context: *mut c_void, wait: *mut c_void, waiting: *mut c_void; pc) {
        spawned(task, context, true, pc);
        let _waiting = Waiting { context: waiting, pc };
        self::_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(task, context, wait, waiting)
    }

    fn _ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(wait: *mut c_void, context: *mut c_void; pc) {
        let _waiting = Waiting { context, pc };
        self::_ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(wait, context)
    }

    fn _ZN3tbb6detail2r17destroyERNS0_2d118task_group_contextE(context: *mut c_void; _pc) {
        if watch::is_on() {
            groups::forget(context as usize);
        }
        self::_ZN3tbb6detail2r17destroyERNS0_2d118task_group_contextE(context)
    }

    fn _ZN3tbb6detail2r17suspendEPFvPvPNS1_18suspend_point_typeEES2_(callback: *mut c_void, data: *mut c_void; _pc) {
        watch::note("tasks were suspended by tbb::task::suspend; they are not followed to other threads, and what is found may be wrong");
        self::_ZN3tbb6detail2r17suspendEPFvPvPNS1_18suspend_point_typeEES2_(callback, data)
    }
}
