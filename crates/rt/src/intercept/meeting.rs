//! Barriers, semaphores, and what is run once.

use super::arch::intercept;
use super::counts;
use crate::real::{self, OnceRoutine};
use crate::watch;
use libc::{c_int, c_uint, clockid_t, pthread_barrier_t, pthread_barrierattr_t, sem_t, timespec};
use std::cell::Cell;

/// After a wait for a semaphore. Passes the result on.
#[inline]
fn taken(semaphore: *mut sem_t, pc: usize, result: c_int) -> c_int {
    if result == 0 && counts(pc) {
        watch::happens_after(semaphore as usize, pc);
    }
    result
}

/// What a thread is about to run once: the flag, the place of the call, and the routine. `pthread_once` passes no argument.
type Pending = (usize, usize, Option<OnceRoutine>);

thread_local! {
    static PENDING: Cell<Pending> = const { Cell::new((0, 0, None)) };
}

/// Puts back what was pending before, also if the routine throws.
struct Outer(Pending);

impl Drop for Outer {
    fn drop(&mut self) {
        PENDING.set(self.0);
    }
}

/// Runs what is pending, and tells that it was run before any call for the same flag returns.
unsafe extern "C-unwind" fn run_pending() {
    let (flag, pc, routine) = PENDING.get();
    if let Some(routine) = routine {
        // SAFETY: the program passed it as the routine to run.
        unsafe { routine() };
        watch::happens_before(flag, pc);
    }
}

/// `pthread_once` and its like: `call` has the routine run that it gets, if it was not run yet.
pub(super) fn once(
    flag: usize,
    routine: OnceRoutine,
    pc: usize,
    call: impl FnOnce(OnceRoutine) -> c_int,
) -> c_int {
    if !counts(pc) {
        return call(routine);
    }
    let outer = Outer(PENDING.replace((flag, pc, Some(routine))));
    let result = call(run_pending);
    drop(outer);
    if result == 0 {
        watch::happens_after(flag, pc);
    }
    result
}

intercept! {
    fn pthread_barrier_init(barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, count: c_uint; _pc) -> c_int {
        watch::object_forgotten(barrier as usize);
        real::pthread_barrier_init(barrier, attributes, count)
    }

    fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t; _pc) -> c_int {
        // The original waits until all have left.
        let result = real::pthread_barrier_destroy(barrier);
        watch::object_forgotten(barrier as usize);
        result
    }

    fn pthread_barrier_wait(barrier: *mut pthread_barrier_t; pc) -> c_int {
        let counts = counts(pc);
        if counts {
            watch::barrier_arrived(barrier as usize, pc);
        }
        let result = real::pthread_barrier_wait(barrier);
        if counts {
            watch::barrier_left(barrier as usize, pc);
        }
        result
    }

    fn sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint; _pc) -> c_int {
        watch::object_forgotten(semaphore as usize);
        real::sem_init(semaphore, shared, value)
    }

    fn sem_destroy(semaphore: *mut sem_t; _pc) -> c_int {
        watch::object_forgotten(semaphore as usize);
        real::sem_destroy(semaphore)
    }

    fn sem_post(semaphore: *mut sem_t; pc) -> c_int {
        if counts(pc) {
            watch::happens_before(semaphore as usize, pc);
        }
        real::sem_post(semaphore)
    }

    fn sem_wait(semaphore: *mut sem_t; pc) -> c_int {
        taken(semaphore, pc, real::sem_wait(semaphore))
    }

    fn sem_trywait(semaphore: *mut sem_t; pc) -> c_int {
        taken(semaphore, pc, real::sem_trywait(semaphore))
    }

    fn sem_timedwait(semaphore: *mut sem_t, until: *const timespec; pc) -> c_int {
        taken(semaphore, pc, real::sem_timedwait(semaphore, until))
    }

    fn sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec; pc) -> c_int {
        taken(semaphore, pc, real::sem_clockwait(semaphore, clock, until))
    }

    fn pthread_once(flag: *mut c_int, routine: OnceRoutine; pc) -> c_int {
        once(flag as usize, routine, pc, |routine| real::pthread_once(flag, routine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static RUNS: AtomicU32 = AtomicU32::new(0);

    extern "C-unwind" fn inner() {
        RUNS.fetch_add(10, Ordering::Relaxed);
    }

    extern "C-unwind" fn outer() {
        let before = PENDING.get().0;
        let pending = Outer(PENDING.replace((2, 0, Some(inner))));
        // SAFETY: `inner` has no preconditions.
        unsafe { run_pending() };
        drop(pending);
        assert_eq!(PENDING.get().0, before);
        RUNS.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn routines_that_run_within_each_other_run_once_each() {
        let pending = Outer(PENDING.replace((1, 0, Some(outer))));
        // SAFETY: `outer` has no preconditions.
        unsafe { run_pending() };
        drop(pending);
        assert_eq!(RUNS.load(Ordering::Relaxed), 11);
        assert!(PENDING.get().2.is_none());
    }
}
