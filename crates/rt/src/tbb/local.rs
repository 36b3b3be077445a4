//! What is kept for each thread that has to do with oneTBB.

use super::tree::Task;
use crate::tls;
use keirin_core::event::AtomicKind;
use std::ptr::null;

/// Atomic operations that are not told: those by which a mutex or a count of references works. What they order by chance is
/// no order of the program.
struct Silence {
    /// Waits for mutexes that are going on; all operations are silent.
    waits: u32,
    /// So many operations on the range that follows are silent.
    left: u32,
    from: usize,
    to: usize,
}

/// A thread.
pub(super) struct Local {
    /// What it runs: a task, or what it does outside of tasks.
    pub(super) task: *mut Task,
    /// The table of virtual functions of the task object.
    pub(super) table: *const usize,
    /// A table that was looked at, and whether it is that of a task of `parallel_scan`.
    pub(super) scan: (*const usize, bool),
    /// The lowest place on the stack that a function was seen at since the task began.
    pub(super) lowest: usize,
    /// Mutexes of the library that it holds.
    pub(super) held: Vec<Held>,
    silence: Silence,
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
    pub(super) fn get() -> *mut Local {
        let known = tls::tbb().cast::<Local>();
        if !known.is_null() {
            return known;
        }
        let silence = Silence { waits: 0, left: 0, from: 0, to: 0 };
        let local = Box::into_raw(Box::new(Local {
            task: Task::of_thread(),
            table: null(),
            scan: (null(), false),
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

/// Whether an atomic operation of this thread shall be told.
#[inline(always)]
pub(crate) fn hears(addr: usize) -> Heard {
    match known() {
        None => Heard::Yes,
        Some(local) => local.hears(addr),
    }
}

impl Local {
    fn hears(&mut self, addr: usize) -> Heard {
        let silence = &mut self.silence;
        if silence.waits > 0 {
            return Heard::No;
        }
        if silence.left > 0 && (silence.from..silence.to).contains(&addr) {
            silence.left -= 1;
            return Heard::No;
        }
        if self.held.iter().any(|held| held.shared && held.mutex == addr) {
            return Heard::Afterwards;
        }
        Heard::Yes
    }
}

/// An atomic operation was done to a mutex that the thread holds as a reader. True if it is the writer now.
#[cold]
pub(crate) fn after_silence(addr: usize, kind: AtomicKind) -> bool {
    let Some(local) = known() else { return false };
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

/// A wait for a mutex begins, or ends.
pub(super) fn silence_wait(begins: bool) {
    // SAFETY: as in `known`.
    let silence = unsafe { &mut (*Local::get()).silence };
    silence.waits = if begins { 1 } else { 0 };
    silence.left = 0;
}

/// The next operations on a range are silent.
pub(super) fn silence_next(count: u32, from: usize, size: usize) {
    // SAFETY: as in `known`.
    let silence = unsafe { &mut (*Local::get()).silence };
    (silence.left, silence.from, silence.to) = (count, from, from.saturating_add(size));
}

/// What the calling thread runs.
pub(super) fn current() -> *mut Task {
    // SAFETY: as in `known`.
    unsafe { (*Local::get()).task }
}

/// The calling thread runs something else. Gives what it ran before.
pub(super) fn set_current(task: *mut Task) -> *mut Task {
    debug_assert!(!task.is_null());
    // SAFETY: as in `known`.
    unsafe { std::mem::replace(&mut (*Local::get()).task, task) }
}
