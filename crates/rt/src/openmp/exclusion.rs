//! Locks, critical and ordered regions, reductions: what excludes, and in which order it is told.
//!
//! The runtime calls back when a lock is free already: another thread may have it by then, and the trace would have two
//! holders. So the functions with which programs give something back are defined again, and tell it before they do it. What
//! was told then is not in the list of what the thread holds any more when the runtime calls back.

use super::ompt::mutex;
use crate::intercept::arch::intercept;
use crate::real;
use crate::tls;
use crate::watch;
use keirin_core::event::LockMode;
use libc::{c_int, c_void};

/// What stands for the lock that the runtime holds while a thread adds its part to the result of a reduction.
static REDUCTION: u64 = 0;
/// Its kind, beside those of the interface for tools.
const REDUCES: c_int = 0x100;

/// Something that a thread holds.
struct Held {
    kind: c_int,
    /// As the runtime names it.
    lock: u64,
    /// How often it was taken, if it is a nested lock.
    times: u32,
}

/// What the calling thread holds, in the order in which it was taken.
fn held() -> &'static mut Vec<Held> {
    let mut list = tls::openmp().cast::<Vec<Held>>();
    if list.is_null() {
        list = Box::into_raw(Box::default());
        tls::set_openmp(list.cast());
    }
    // SAFETY: it lives for ever, and is used by its own thread only, for the length of one of the functions below.
    unsafe { &mut *list }
}

/// The calling thread has got something.
pub(super) fn acquired(kind: c_int, lock: u64, place: usize) {
    held().push(Held { kind, lock, times: 1 });
    if kind == mutex::ORDERED {
        watch::happens_after(lock as usize, place);
    } else {
        watch::lock_acquired(lock as usize, LockMode::Exclusive, place);
    }
}

/// A nested lock was taken again.
pub(super) fn acquired_again(lock: u64) {
    if let Some(held) = held().iter_mut().rev().find(|held| held.lock == lock) {
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
    let list = held();
    let Some(at) = list.iter().rposition(is_meant) else { return };
    if list[at].times > 1 {
        list[at].times -= 1;
        return;
    }
    let Held { kind, lock, .. } = list.remove(at);
    if kind == mutex::ORDERED {
        watch::happens_before(lock as usize, place);
    } else {
        watch::lock_released(lock as usize, place);
    }
}

fn is_critical(held: &Held) -> bool {
    held.kind == mutex::CRITICAL
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
    fn GOMP_critical_end() by is_critical;
    fn GOMP_critical_name_end(name: *mut c_void) by is_critical;
    fn __kmpc_end_ordered(place: *mut c_void, thread: c_int) by |held| held.kind == mutex::ORDERED;
    fn GOMP_ordered_end() by |held| held.kind == mutex::ORDERED;
    fn __kmpc_end_reduce(place: *mut c_void, thread: c_int, lock: *mut c_void) by |held| held.kind == REDUCES;
    fn __kmpc_end_reduce_nowait(place: *mut c_void, thread: c_int, lock: *mut c_void) by |held| held.kind == REDUCES;
}
