//! `operator new`, and what C++ runs once: static variables of functions, and `std::call_once` of LLVM's library.
//!
//! The compiler looks at the first byte of the guard by an atomic load before it calls anything. That load is told by its
//! hook; what it must find is the store, which is done in the C++ library, so it is told here as an atomic store.
//!
//! `std::thread`, `std::mutex`, `std::condition_variable`, `std::call_once` of GNU's library and `std::future` end in
//! functions that are intercepted elsewhere or in atomic operations in headers; so do the latches, barriers and semaphores of
//! C++20.

use super::arch::intercept;
use super::counts;
use crate::real::guards;
use crate::watch;
use keirin_core::event::AtomicKind::{Load, Store};
use keirin_core::event::MemoryOrder::{Acquire, Release};
use libc::{c_int, c_void, timespec};
use std::ptr::null;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The guards of static variables, for programs whose C++ library is linked statically: then the functions here stand for
/// its own. The states are those of GNU's library, so that a shared library with its own functions may use the same guard.
mod own {
    use super::*;

    const DONE: u32 = 1;
    const RUNNING: u32 = 1 << 8;
    const AWAITED: u32 = 1 << 16;

    /// # Safety
    /// `guard` is the guard of a static variable.
    unsafe fn word<'a>(guard: *mut u8) -> &'a AtomicU32 {
        // SAFETY: guards have eight bytes and are aligned to them; all accesses are atomic.
        unsafe { AtomicU32::from_ptr(guard.cast()) }
    }

    /// True if the caller is to initialize the variable.
    ///
    /// # Safety
    /// `guard` is the guard of a static variable.
    pub(super) unsafe fn acquire(guard: *mut u8) -> c_int {
        // SAFETY: by the contract of this function.
        let word = unsafe { word(guard) };
        loop {
            match word.compare_exchange(0, RUNNING, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return 1,
                Err(DONE) => return 0,
                Err(state) => {
                    let awaited = RUNNING | AWAITED;
                    if state == RUNNING
                        && word.compare_exchange(state, awaited, Ordering::AcqRel, Ordering::Acquire).is_err()
                    {
                        continue;
                    }
                    // SAFETY: the word lives as long as the program.
                    unsafe {
                        libc::syscall(
                            libc::SYS_futex,
                            word.as_ptr(),
                            libc::FUTEX_WAIT,
                            awaited,
                            null::<timespec>(),
                        )
                    };
                }
            }
        }
    }

    /// # Safety
    /// `guard` was acquired by this thread.
    pub(super) unsafe fn release(guard: *mut u8, done: bool) {
        // SAFETY: by the contract of this function.
        let word = unsafe { word(guard) };
        if word.swap(if done { DONE } else { 0 }, Ordering::AcqRel) & AWAITED != 0 {
            // SAFETY: the word lives as long as the program.
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, c_int::MAX) };
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn one_of_many_threads_initializes() {
            let guard = std::sync::atomic::AtomicU64::new(0);
            let runs = AtomicU32::new(0);
            let at = guard.as_ptr() as usize;
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let guard = at as *mut u8;
                        // SAFETY: the guard has eight bytes and outlives the scope.
                        unsafe {
                            if acquire(guard) == 1 {
                                // The first attempt fails.
                                let first = runs.fetch_add(1, Ordering::Relaxed) == 0;
                                std::thread::sleep(std::time::Duration::from_millis(5));
                                release(guard, !first);
                            }
                        }
                    });
                }
            });
            assert_eq!(runs.load(Ordering::Relaxed), 2);
            assert_eq!(guard.load(Ordering::Relaxed), u64::from(DONE));
        }
    }
}

/// What LLVM's `std::call_once` runs.
type Callback = unsafe extern "C-unwind" fn(*mut c_void);

/// The states of LLVM's flags, in their lower half.
mod flag {
    pub(super) const NEW: u32 = 0;
    pub(super) const RUNNING: u32 = 1;
    pub(super) const DONE: u64 = u64::MAX;
}

/// Ends a run of a callback: with success, or as if it had never been tried if it throws.
struct Attempt<'a> {
    flag: &'a AtomicU64,
    end: u64,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.flag.store(self.end, Ordering::Release);
        // SAFETY: waking needs only the address.
        unsafe { libc::syscall(libc::SYS_futex, self.flag.as_ptr(), libc::FUTEX_WAKE, c_int::MAX) };
    }
}

/// `std::call_once` of LLVM's library, whose flag the headers look at by an atomic load. The original cannot be used: if it is
/// linked statically, there is none beside this one.
///
/// # Safety
/// `at` is a flag, and `callback` can be called with `argument`.
unsafe fn call_once(at: *mut u64, argument: *mut c_void, callback: Callback, pc: usize) {
    // SAFETY: flags are aligned, live while they are used, and all accesses are atomic.
    let (flag, lower) = unsafe { (AtomicU64::from_ptr(at), AtomicU32::from_ptr(at.cast())) };
    loop {
        match lower.compare_exchange(flag::NEW, flag::RUNNING, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                let mut attempt = Attempt { flag, end: u64::from(flag::NEW) };
                // SAFETY: by the contract of this function.
                unsafe { callback(argument) };
                attempt.end = flag::DONE;
                let publish = || (Store, Release, drop(attempt));
                if counts(pc) {
                    watch::atomic(at as usize, 8, pc, publish)
                } else {
                    publish().2
                }
                return;
            }
            Err(flag::RUNNING) => {
                // SAFETY: the flag lives while it is used.
                unsafe {
                    libc::syscall(
                        libc::SYS_futex,
                        lower.as_ptr(),
                        libc::FUTEX_WAIT,
                        flag::RUNNING,
                        null::<timespec>(),
                    )
                };
            }
            Err(_) => break,
        }
    }
    if counts(pc) {
        watch::atomic(at as usize, 8, pc, || (Load, Acquire, ()));
    }
}

intercept! {
    fn __cxa_guard_acquire(guard: *mut u8; pc) -> c_int {
        let result = match guards::acquire() {
            Some(acquire) => acquire(guard),
            None => own::acquire(guard),
        };
        if result == 0 && counts(pc) {
            watch::atomic(guard as usize, 1, pc, || (Load, Acquire, ()));
        }
        result
    }

    fn __cxa_guard_release(guard: *mut u8; pc) {
        let release = || match guards::release() {
            Some(release) => release(guard),
            None => own::release(guard, true),
        };
        if counts(pc) {
            watch::atomic(guard as usize, 1, pc, || (Store, Release, release()));
        } else {
            release();
        }
    }

    fn __cxa_guard_abort(guard: *mut u8; _pc) {
        match guards::abort() {
            Some(abort) => abort(guard),
            None => own::release(guard, false),
        }
    }

    fn _ZNSt3__111__call_onceERVmPvPFvS2_E(flag: *mut u64, argument: *mut c_void, callback: Callback; pc) {
        call_once(flag, argument, callback, pc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C-unwind" fn count(argument: *mut c_void) {
        // SAFETY: the test passes a counter.
        unsafe { &*argument.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
    }

    unsafe extern "C-unwind" fn fail(_: *mut c_void) {
        std::panic::resume_unwind(Box::new(()));
    }

    #[test]
    fn a_callback_runs_once_and_again_if_it_failed() {
        let mut flag = 0u64;
        let at = &raw mut flag;
        let runs = AtomicU32::new(0);
        let argument = (&raw const runs).cast_mut().cast();
        // SAFETY: the flag and the counter live.
        unsafe {
            assert!(std::panic::catch_unwind(|| call_once(at, argument, fail, 0)).is_err());
            assert_eq!(*at, 0);
            for _ in 0..3 {
                call_once(at, argument, count, 0);
            }
            assert_eq!(*at, flag::DONE);
        }
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }
}

/// Memory for `operator new`. The library's own would do the same, but then the place of the request would be in the library.
/// `otherwise` is asked if there is no memory.
unsafe fn new(size: usize, pc: usize, otherwise: unsafe fn(usize) -> *mut c_void) -> *mut c_void {
    // SAFETY: a request for memory, by the function that `free` belongs to, whosever it is.
    let memory = unsafe { libc::malloc(size.max(1)) };
    if memory.is_null() {
        // SAFETY: by the contract of `operator new`.
        return unsafe { otherwise(size) };
    }
    if watch::is_on() {
        watch::allocated(memory as usize, size, pc);
    }
    memory
}

unsafe fn nothing(_size: usize) -> *mut c_void {
    std::ptr::null_mut()
}

intercept! {
    fn _Znwm(size: usize; pc) -> *mut c_void {
        new(size, pc, crate::real::_Znwm)
    }

    fn _Znam(size: usize; pc) -> *mut c_void {
        new(size, pc, crate::real::_Znam)
    }

    fn _ZnwmRKSt9nothrow_t(size: usize, _nothrow: *const c_void; pc) -> *mut c_void {
        new(size, pc, nothing)
    }

    fn _ZnamRKSt9nothrow_t(size: usize, _nothrow: *const c_void; pc) -> *mut c_void {
        new(size, pc, nothing)
    }
}
