//! Mutexes, reader/writer locks, spin locks.

use super::arch::intercept;
use super::counts_for_locks;
use crate::{real, watch};
use keirin_core::event::LockMode::{self, Exclusive, Shared};
use libc::{
    c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t, pthread_rwlock_t, pthread_rwlockattr_t,
    pthread_spinlock_t, timespec,
};

/// After an attempt to take a lock. Passes the result on.
///
/// The owner of a robust mutex may have died: the thread that is told so holds it.
#[inline]
pub(super) fn acquired<L>(lock: *mut L, mode: LockMode, pc: usize, result: c_int) -> c_int {
    if (result == 0 || result == libc::EOWNERDEAD) && counts_for_locks(pc) {
        watch::lock_acquired(lock as usize, mode, pc);
    }
    result
}

/// Before a wait for a lock.
#[inline]
fn awaited<L>(lock: *mut L, pc: usize) {
    if counts_for_locks(pc) {
        watch::lock_awaited(lock as usize, pc);
    }
}

/// Before a release.
#[inline]
pub(super) fn released<L>(lock: *mut L, pc: usize) {
    if counts_for_locks(pc) {
        watch::lock_released(lock as usize, pc);
    }
}

intercept! {
    fn pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t; _pc) -> c_int {
        watch::object_forgotten(mutex as usize);
        real::pthread_mutex_init(mutex, attributes)
    }

    fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t; _pc) -> c_int {
        let result = real::pthread_mutex_destroy(mutex);
        if result == 0 {
            watch::object_forgotten(mutex as usize);
        }
        result
    }

    fn pthread_mutex_lock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        awaited(mutex, pc);
        acquired(mutex, Exclusive, pc, real::pthread_mutex_lock(mutex))
    }

    fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        acquired(mutex, Exclusive, pc, real::pthread_mutex_trylock(mutex))
    }

    fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec; pc) -> c_int {
        acquired(mutex, Exclusive, pc, real::pthread_mutex_timedlock(mutex, until))
    }

    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec; pc) -> c_int {
        acquired(mutex, Exclusive, pc, real::pthread_mutex_clocklock(mutex, clock, until))
    }

    fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        released(mutex, pc);
        real::pthread_mutex_unlock(mutex)
    }

    fn pthread_spin_init(lock: *mut pthread_spinlock_t, shared: c_int; _pc) -> c_int {
        watch::object_forgotten(lock as usize);
        real::pthread_spin_init(lock, shared)
    }

    fn pthread_spin_destroy(lock: *mut pthread_spinlock_t; _pc) -> c_int {
        watch::object_forgotten(lock as usize);
        real::pthread_spin_destroy(lock)
    }

    fn pthread_spin_lock(lock: *mut pthread_spinlock_t; pc) -> c_int {
        awaited(lock, pc);
        acquired(lock, Exclusive, pc, real::pthread_spin_lock(lock))
    }

    fn pthread_spin_trylock(lock: *mut pthread_spinlock_t; pc) -> c_int {
        acquired(lock, Exclusive, pc, real::pthread_spin_trylock(lock))
    }

    fn pthread_spin_unlock(lock: *mut pthread_spinlock_t; pc) -> c_int {
        released(lock, pc);
        real::pthread_spin_unlock(lock)
    }

    fn pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t; _pc) -> c_int {
        watch::object_forgotten(lock as usize);
        real::pthread_rwlock_init(lock, attributes)
    }

    fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t; _pc) -> c_int {
        let result = real::pthread_rwlock_destroy(lock);
        if result == 0 {
            watch::object_forgotten(lock as usize);
        }
        result
    }

    fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        awaited(lock, pc);
        acquired(lock, Shared, pc, real::pthread_rwlock_rdlock(lock))
    }

    fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        acquired(lock, Shared, pc, real::pthread_rwlock_tryrdlock(lock))
    }

    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec; pc) -> c_int {
        acquired(lock, Shared, pc, real::pthread_rwlock_timedrdlock(lock, until))
    }

    fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec; pc) -> c_int {
        acquired(lock, Shared, pc, real::pthread_rwlock_clockrdlock(lock, clock, until))
    }

    fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        awaited(lock, pc);
        acquired(lock, Exclusive, pc, real::pthread_rwlock_wrlock(lock))
    }

    fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        acquired(lock, Exclusive, pc, real::pthread_rwlock_trywrlock(lock))
    }

    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec; pc) -> c_int {
        acquired(lock, Exclusive, pc, real::pthread_rwlock_timedwrlock(lock, until))
    }

    fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec; pc) -> c_int {
        acquired(lock, Exclusive, pc, real::pthread_rwlock_clockwrlock(lock, clock, until))
    }

    fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        released(lock, pc);
        real::pthread_rwlock_unlock(lock)
    }
}
