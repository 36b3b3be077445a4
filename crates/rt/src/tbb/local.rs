//! What is kept for each thread that has to do with oneTBB.

use crate::groups::Task;
use crate::intercept::plain;
use crate::tls;
use keirin_core::event::AtomicKind;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

/// Atomic operations that are not told: those by which a mutex or a count of references works. What they order by chance is
/// no order of the program.
struct Silence {
    /// Waits for mutexes that are going on; all operations are silent.
    waits: u32,
    /// A mutex with a queue is being released: all operations are silent until the next one in the queue was told, or the
    /// queue found empty, which is the first change to memory.
    queue: bool,
    /// So many operations on the range that follows are silent.
    left: u32,
    from: usize,
    to: usize,
}

/// A thread.
pub(crate) struct Local {
    /// What it runs: a task, or what it does outside of tasks.
    pub(super) task: *mut Task,
    /// The table of virtual functions of the task object.
    pub(super) table: *const usize,
    /// A table that was looked at, and what it is the table of.
    class: (*const usize, Class),
    /// Calls that were told and are open in the task. Unknown, and many, outside of tasks.
    pub(super) calls: usize,
    /// Bodies of nodes of a flow graph that the task is within.
    pub(super) bodies: u32,
    /// Memory that the library has handed out last, and the two mutexes that were made last: see `locks`.
    pub(super) last_block: (usize, usize),
    pub(super) last_made: [usize; 2],
    /// The lowest place on the stack that a function was seen at since the task began.
    pub(super) lowest: usize,
    /// Mutexes of the library that it holds.
    pub(super) held: Vec<Held>,
    silence: Silence,
}

/// Classes of task objects for which more is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A range of `parallel_for`.
    For,
    /// A range of `parallel_reduce`, or of `parallel_deterministic_reduce`.
    Reduce,
    /// A range of `parallel_scan`.
    Scan,
    /// Work of a node of a flow graph.
    Graph,
    /// All others.
    Other,
}

impl Class {
    unsafe fn of(table: *const usize) -> Self {
        // SAFETY: a table has the description of its class before it, whose second word is the name.
        let name = unsafe {
            let description =
                table.as_ref().map_or(null(), |table| *std::ptr::from_ref(table).sub(1) as *const usize);
            match description.as_ref() {
                Some(description) => *std::ptr::from_ref(description).add(1) as *const libc::c_char,
                None => return Class::Other,
            }
        };
        // SAFETY: the name of a class has an end.
        let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), plain::strlen(name)) };
        // gcc marks the names of classes that belong to one source.
        let name = name.strip_prefix(b"*").unwrap_or(name);
        let begins = |start: &[u8]| name.starts_with(start);
        if begins(b"N3tbb6detail2d19start_for") {
            Class::For
        } else if begins(b"N3tbb6detail2d112start_reduce")
            || begins(b"N3tbb6detail2d126start_deterministic_reduce")
        {
            Class::Reduce
        } else if begins(b"N3tbb6detail2d110start_scan") {
            Class::Scan
        } else if begins(b"N3tbb6detail2d1") && name.windows(11).any(|part| part == b"task_bypass") {
            Class::Graph
        } else {
            Class::Other
        }
    }
}

/// A mutex that a thread holds.
pub(super) struct Held {
    pub(super) mutex: usize,
    /// As one of several readers.
    pub(super) shared: bool,
    /// Changes that the thread has made to it since it is a reader: two make it the writer, without further notice.
    pub(super) changes: u32,
}

/// Whether an atomic operation shall be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// As every other.
    Yes,
    /// Not at all.
    No,
    /// Not at all; but [`after_silence`] wants to know what it was.
    Afterwards,
}

impl Local {
    /// That of the calling thread. It stays when the thread has ended: it is small, and its destructors may come late.
    pub(crate) fn get() -> *mut Local {
        let known = tls::tbb().cast::<Local>();
        if !known.is_null() {
            return known;
        }
        USED.store(true, Ordering::Relaxed);
        let silence = Silence { waits: 0, queue: false, left: 0, from: 0, to: 0 };
        let local = Box::into_raw(Box::new(Local {
            task: Task::of_thread(),
            table: null(),
            class: (null(), Class::Other),
            calls: usize::MAX / 2,
            bodies: 0,
            last_block: (0, 0),
            last_made: [0; 2],
            lowest: usize::MAX,
            held: Vec::new(),
            silence,
        }));
        tls::set_tbb(local.cast());
        local
    }
}

/// That of the calling thread, if it had to do with oneTBB before.
#[inline(always)]
fn known() -> Option<&'static mut Local> {
    let local = tls::tbb().cast::<Local>();
    // SAFETY: it lives for ever, and is used by its own thread only, for the length of one of the functions below.
    unsafe { local.as_mut() }
}

/// Some thread has had to do with oneTBB.
static USED: AtomicBool = AtomicBool::new(false);

/// True if any thread has had to do with oneTBB.
#[inline(always)]
pub(crate) fn is_used() -> bool {
    USED.load(Ordering::Relaxed)
}

/// True if the calling thread has had to do with oneTBB.
#[inline(always)]
pub(crate) fn is_known() -> bool {
    !tls::tbb().is_null()
}

/// Whether an atomic operation of this thread shall be told.
#[inline(always)]
pub(crate) fn hears(addr: usize) -> Heard {
    match known() {
        None => Heard::Yes,
        Some(local) => local.hears(addr),
    }
}

impl Local {
    /// What the task object is that the thread runs.
    pub(super) fn class(&mut self) -> Class {
        if self.class.0 != self.table {
            // SAFETY: the table of an object that is run.
            self.class = (self.table, unsafe { Class::of(self.table) });
        }
        self.class.1
    }

    fn hears(&mut self, addr: usize) -> Heard {
        let silence = &mut self.silence;
        if silence.waits > 0 {
            return Heard::No;
        }
        if silence.left > 0 && (silence.from..silence.to).contains(&addr) {
            silence.left -= 1;
            return Heard::No;
        }
        if silence.queue {
            return Heard::Afterwards;
        }
        if self.held.iter().any(|held| held.shared && held.mutex == addr) {
            return Heard::Afterwards;
        }
        Heard::Yes
    }
}

/// An atomic operation was done that is part of a release, or to a mutex that the thread holds as a reader. True if it is the
/// writer now.
#[cold]
pub(crate) fn after_silence(addr: usize, kind: AtomicKind) -> bool {
    let Some(local) = known() else { return false };
    if local.silence.queue {
        local.silence.queue = kind == AtomicKind::Load;
        return false;
    }
    let Some(held) = local.held.iter_mut().find(|held| held.shared && held.mutex == addr) else {
        return false;
    };
    held.changes += u32::from(kind == AtomicKind::ReadModifyWrite);
    if held.changes == 2 {
        (held.shared, held.changes) = (false, 0);
        return true;
    }
    false
}

/// A function was entered.
#[inline(always)]
pub(crate) fn note_stack(stack_pointer: usize) {
    if let Some(local) = known()
        && stack_pointer < local.lowest
    {
        local.lowest = stack_pointer;
    }
}

/// So many calls are left. Gives how many of them the current task has made itself: a task does not leave functions in which
/// it was not, even if the stack of calls lost count of them.
#[inline]
pub(crate) fn leave_calls(left: usize) -> usize {
    match known() {
        None => left,
        Some(local) => {
            let own = left.min(local.calls);
            local.calls -= own;
            own
        }
    }
}

/// A call is told.
#[inline]
pub(crate) fn enter_call() {
    if let Some(local) = known() {
        local.calls += 1;
    }
}

/// True if a wait for a mutex goes on.
pub(super) fn is_waiting() -> bool {
    known().is_some_and(|local| local.silence.waits > 0)
}

/// A wait for a mutex begins, or ends.
pub(super) fn silence_wait(begins: bool) {
    // SAFETY: as in `known`.
    let silence = unsafe { &mut (*Local::get()).silence };
    silence.waits = if begins { 1 } else { 0 };
    silence.left = 0;
}

/// A mutex with a queue is about to be released.
pub(super) fn silence_queue() {
    // SAFETY: as in `known`.
    unsafe { (*Local::get()).silence.queue = true };
}

/// The next operations on a range are silent.
pub(super) fn silence_next(count: u32, from: usize, size: usize) {
    // SAFETY: as in `known`.
    let silence = unsafe { &mut (*Local::get()).silence };
    (silence.left, silence.from, silence.to) = (count, from, from.saturating_add(size));
}

/// What the calling thread runs.
pub(crate) fn current() -> *mut Task {
    // SAFETY: as in `known`.
    unsafe { (*Local::get()).task }
}

/// The calling thread runs something else. Gives what it ran before.
pub(crate) fn set_current(task: *mut Task) -> *mut Task {
    debug_assert!(!task.is_null());
    // SAFETY: as in `known`.
    unsafe { std::mem::replace(&mut (*Local::get()).task, task) }
}
