//! The threads of C11. The C library has them call its functions for POSIX threads by internal names, so they are
//! intercepted by themselves. A `thrd_t` is a `pthread_t`, a `mtx_t` lies where its `pthread_mutex_t` lies.

use super::arch::intercept;
use super::conditions::wait;
use super::counts;
use super::locks::{acquired, released};
use super::meeting::once;
use super::threads::{Start, THREADS, join, run_c11, tell_end_of_this_thread};
use crate::real::{self, OnceRoutine, RoutineC11};
use crate::watch;
use keirin_core::event::LockMode::Exclusive;
use libc::{c_int, c_void, pthread_cond_t, pthread_mutex_t, pthread_t, timespec};

intercept! {
    fn thrd_create(thread: *mut pthread_t, routine: RoutineC11, argument: *mut c_void; pc) -> c_int {
        if !watch::is_on() {
            return real::thrd_create(thread, routine, argument);
        }
        let start = Start::new(routine, argument, true, pc);
        let result = real::thrd_create(thread, run_c11, (&raw const start).cast_mut().cast());
        start.created(result == 0);
        result
    }

    fn thrd_join(thread: pthread_t, result: *mut c_int; pc) -> c_int {
        join(thread, pc, || real::thrd_join(thread, result))
    }

    fn thrd_detach(thread: pthread_t; _pc) -> c_int {
        THREADS.detach(thread as usize);
        real::thrd_detach(thread)
    }

    fn thrd_exit(result: c_int; _pc) {
        if watch::is_on() {
            tell_end_of_this_thread();
        }
        real::thrd_exit(result)
    }

    fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int; _pc) -> c_int {
        watch::object_forgotten(mutex as usize);
        real::mtx_init(mutex, kind)
    }

    fn mtx_destroy(mutex: *mut pthread_mutex_t; _pc) {
        watch::object_forgotten(mutex as usize);
        real::mtx_destroy(mutex)
    }

    fn mtx_lock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        acquired(mutex, Exclusive, pc, real::mtx_lock(mutex))
    }

    fn mtx_trylock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        acquired(mutex, Exclusive, pc, real::mtx_trylock(mutex))
    }

    fn mtx_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec; pc) -> c_int {
        acquired(mutex, Exclusive, pc, real::mtx_timedlock(mutex, until))
    }

    fn mtx_unlock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        released(mutex, pc);
        real::mtx_unlock(mutex)
    }

    fn cnd_init(condition: *mut pthread_cond_t; _pc) -> c_int {
        watch::object_forgotten(condition as usize);
        real::cnd_init(condition)
    }

    fn cnd_destroy(condition: *mut pthread_cond_t; _pc) {
        watch::object_forgotten(condition as usize);
        real::cnd_destroy(condition)
    }

    fn cnd_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t; pc) -> c_int {
        wait(condition, mutex, pc, || real::cnd_wait(condition, mutex))
    }

    fn cnd_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec; pc) -> c_int {
        wait(condition, mutex, pc, || real::cnd_timedwait(condition, mutex, until))
    }

    fn cnd_signal(condition: *mut pthread_cond_t; pc) -> c_int {
        if counts(pc) {
            watch::condition_notified(condition as usize, false, pc);
        }
        real::cnd_signal(condition)
    }

    fn cnd_broadcast(condition: *mut pthread_cond_t; pc) -> c_int {
        if counts(pc) {
            watch::condition_notified(condition as usize, true, pc);
        }
        real::cnd_broadcast(condition)
    }

    fn call_once(flag: *mut c_int, routine: OnceRoutine; pc) {
        once(flag as usize, routine, pc, |routine| {
            real::call_once(flag, routine);
            0
        });
    }
}
