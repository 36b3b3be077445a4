//! Locks, critical and ordered regions, reductions: what excludes, and in which order it is told.
//!
//! The runtime calls back when a lock is free already: another thread may have it by then, and the trace would have two
//! holders. So the functions with which programs give something back are defined again, and tell it before they do it. What
//! was told then is not in the list of what the thread holds any more when the runtime calls back.
//!
//! A critical region is told by the variable that the compiler has made for its name: the lock behind it is the runtime's own, and
//! not known before somebody has entered it.

use super::ompt::mutex;
use crate::intercept::arch::intercept;
use crate::real;
use crate::tls;
use crate::watch;
use keirin_core::event::LockMode;
use libc::{c_int, c_uint, c_void};

/// What stands for the lock that the runtime holds while a thread adds its part to the result of a reduction.
static REDUCTION: u64 = 0;
/// Its kind, beside those of the interface for tools.
const REDUCES: c_int = 0x100;

/// Something that a thread holds.
struct Held {
    kind: c_int,
    /// As the runtime names it.
    lock: u64,
    /// As it is told.
    told: u64,
    /// How often it was taken, if it is a nested lock.
    times: u32,
}

/// What is kept for a thread.
#[derive(Default)]
struct Local {
    /// What it holds, in the order in which it was taken.
    held: Vec<Held>,
    /// The name of the critical region that it is about to enter; 0 if there is none.
    entering: u64,
}

/// What is kept for the calling thread.
fn local() -> &'static mut Local {
    let mut local = tls::openmp().cast::<Local>();
    if local.is_null() {
        local = Box::into_raw(Box::default());
        tls::set_openmp(local.cast());
    }
    // SAFETY: it lives for ever, and is used by its own thread only, for the length of one of the functions below.
    unsafe { &mut *local }
}

/// The calling thread has got something.
pub(super) fn acquired(kind: c_int, lock: u64, place: usize) {
    let local = local();
    let told = if kind == mutex::CRITICAL && local.entering != 0 { local.entering } else { lock };
    local.held.push(Held { kind, lock, told, times: 1 });
    if kind == mutex::ORDERED {
        watch::happens_after(told as usize, place);
    } else {
        watch::lock_acquired(told as usize, LockMode::Exclusive, place);
    }
}

/// A nested lock was taken again.
pub(super) fn acquired_again(lock: u64) {
    if let Some(held) = local().held.iter_mut().rev().find(|held| held.lock == lock) {
        held.times += 1;
    }
}

/// It has given it back: to be told, unless it was told before.
pub(super) fn released(kind: c_int, lock: u64, place: usize) {
    release(place, |held| held.lock == lock && (held.kind == mutex::ORDERED) == (kind == mutex::ORDERED));
}

/// The thread adds its part to the result of a reduction.
pub(super) fn reduction_begins(place: usize) {
    acquired(REDUCES, &raw const REDUCTION as u64, place);
}

/// The end of [`reduction_begins`].
pub(super) fn reduction_ends(place: usize) {
    release(place, |held| held.kind == REDUCES);
}

/// Tells that the latest one is given back of those that are meant.
fn release(place: usize, is_meant: impl Fn(&Held) -> bool) {
    let list = &mut local().held;
    let Some(at) = list.iter().rposition(is_meant) else { return };
    if list[at].times > 1 {
        list[at].times -= 1;
        return;
    }
    let Held { kind, told, .. } = list.remove(at);
    if kind == mutex::ORDERED {
        watch::happens_before(told as usize, place);
    } else {
        watch::lock_released(told as usize, place);
    }
}

/// Enters a critical region with a name.
fn enter(name: *mut c_void, enter: impl FnOnce()) {
    if !super::is_told() {
        return enter();
    }
    local().entering = name as u64;
    enter();
    local().entering = 0;
}

intercept! {
    fn __kmpc_critical(place: *mut c_void, thread: c_int, name: *mut c_void; _pc) {
        enter(name, || real::__kmpc_critical(place, thread, name));
    }

    fn __kmpc_critical_with_hint(place: *mut c_void, thread: c_int, name: *mut c_void, hint: c_uint; _pc) {
        enter(name, || real::__kmpc_critical_with_hint(place, thread, name, hint));
    }
}

fn is_critical(held: &Held) -> bool {
    held.kind == mutex::CRITICAL
}

fn is_atomic(held: &Held) -> bool {
    held.kind == mutex::ATOMIC
}

/// Defines functions again that give something back.
macro_rules! giving_back {
    ($(fn $name:ident($($argument:ident: $type:ty),*) by $is_meant:expr;)*) => {
        intercept! {$(
            fn $name($($argument: $type),*; pc) {
                if super::is_told() {
                    release(pc, $is_meant);
                }
                real::$name($($argument),*);
            }
        )*}
    };
}

giving_back! {
    fn omp_unset_lock(lock: *mut c_void) by |held| held.lock == lock as u64;
    fn omp_unset_nest_lock(lock: *mut c_void) by |held| held.lock == lock as u64;
    fn __kmpc_end_critical(place: *mut c_void, thread: c_int, name: *mut c_void) by is_critical;
    fn __kmpc_atomic_end() by is_atomic;
    fn GOMP_atomic_end() by is_atomic;
    fn GOMP_critical_end() by is_critical;
    fn GOMP_critical_name_end(name: *mut c_void) by is_critical;
    fn __kmpc_end_ordered(place: *mut c_void, thread: c_int) by |held| held.kind == mutex::ORDERED;
    fn GOMP_ordered_end() by |held| held.kind == mutex::ORDERED;
    fn __kmpc_end_reduce(place: *mut c_void, thread: c_int, lock: *mut c_void) by |held| held.kind == REDUCES;
    fn __kmpc_end_reduce_nowait(place: *mut c_void, thread: c_int, lock: *mut c_void) by |held| held.kind == REDUCES;
}
