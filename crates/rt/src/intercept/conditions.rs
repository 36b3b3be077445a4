//! Condition variables.

use super::arch::intercept;
use super::counts_for_conditions;
use crate::{real, watch};
use keirin_core::event::LockMode::Exclusive;
use libc::{c_int, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};

/// Tells that the mutex is held again when a wait ends: by a notification, by a timeout, or because the thread is
/// cancelled. Then the stack is unwound from within the wait, and the program's cleanup runs with the mutex held.
struct Waiting {
    mutex: usize,
    pc: usize,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        watch::lock_acquired(self.mutex, Exclusive, self.pc);
    }
}

/// A wait on a condition, done by `call`.
pub(super) fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    pc: usize,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if !counts_for_conditions(pc) {
        return call();
    }
    watch::lock_released(mutex as usize, pc);
    let waiting = Waiting { mutex: mutex as usize, pc };
    let result = call();
    drop(waiting);
    if result == 0 || result == libc::EOWNERDEAD {
        watch::condition_waited(condition as usize, pc);
    }
    result
}

intercept! {
    fn pthread_cond_init(condition: *mut pthread_cond_t, attributes: *const pthread_condattr_t; _pc) -> c_int {
        watch::object_forgotten(condition as usize);
        real::pthread_cond_init(condition, attributes)
    }

    fn pthread_cond_destroy(condition: *mut pthread_cond_t; _pc) -> c_int {
        watch::object_forgotten(condition as usize);
        real::pthread_cond_destroy(condition)
    }

    fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t; pc) -> c_int {
        wait(condition, mutex, pc, || real::pthread_cond_wait(condition, mutex))
    }

    fn pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec; pc) -> c_int {
        wait(condition, mutex, pc, || real::pthread_cond_timedwait(condition, mutex, until))
    }

    fn pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec; pc) -> c_int {
        wait(condition, mutex, pc, || real::pthread_cond_clockwait(condition, mutex, clock, until))
    }

    fn pthread_cond_signal(condition: *mut pthread_cond_t; pc) -> c_int {
        if counts_for_conditions(pc) {
            watch::condition_notified(condition as usize, false, pc);
        }
        real::pthread_cond_signal(condition)
    }

    fn pthread_cond_broadcast(condition: *mut pthread_cond_t; pc) -> c_int {
        if counts_for_conditions(pc) {
            watch::condition_notified(condition as usize, true, pc);
        }
        real::pthread_cond_broadcast(condition)
    }
}
