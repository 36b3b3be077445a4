//! Hooks for stretches of memory, and the annotations that programs make for thread sanitizers.

use crate::intercept::arch::hooks;
use crate::intercept::plain;
use crate::watch;
use keirin_core::event::LockMode;
use libc::{c_char, c_int, c_long, c_uint, c_void, size_t};
use std::sync::atomic::{AtomicUsize, Ordering};

fn read(at: *const c_void, size: usize, pc: usize) {
    if size > 0 && watch::is_on() {
        watch::read_range(at as usize, size, pc);
    }
}

fn write(at: *const c_void, size: usize, pc: usize) {
    if size > 0 && watch::is_on() {
        watch::write_range(at as usize, size, pc);
    }
}

hooks! {
    fn __tsan_memcpy(to: *mut c_void, from: *const c_void, size: size_t; pc) -> *mut c_void {
        read(from, size, pc);
        write(to, size, pc);
        plain::memcpy(to, from, size)
    }

    fn __tsan_memmove(to: *mut c_void, from: *const c_void, size: size_t; pc) -> *mut c_void {
        read(from, size, pc);
        write(to, size, pc);
        plain::memmove(to, from, size)
    }

    fn __tsan_memset(to: *mut c_void, byte: c_int, size: size_t; pc) -> *mut c_void {
        write(to, size, pc);
        plain::memset(to, byte, size)
    }

    fn __tsan_read_range(at: *const c_void, size: size_t; pc) {
        read(at, size, pc);
    }

    fn __tsan_write_range(at: *const c_void, size: size_t; pc) {
        write(at, size, pc);
    }

    fn __tsan_read_range_pc(at: *const c_void, size: size_t, place: usize; _pc) {
        read(at, size, place);
    }

    fn __tsan_write_range_pc(at: *const c_void, size: size_t, place: usize; _pc) {
        write(at, size, place);
    }
}

// Locks that a program has made itself. What it does to make them is not looked at.

/// The lock is taken for reading.
const READ_LOCK: c_uint = 1 << 3;
/// The lock was not taken.
const TRY_LOCK_FAILED: c_uint = 1 << 5;

hooks! {
    fn __tsan_mutex_create(lock: *mut c_void, _flags: c_uint; _pc) {
        watch::object_forgotten(lock as usize);
    }

    fn __tsan_mutex_destroy(lock: *mut c_void, _flags: c_uint; _pc) {
        watch::object_forgotten(lock as usize);
    }

    fn __tsan_mutex_pre_lock(_lock: *mut c_void, _flags: c_uint; _pc) {
        watch::ignore_begin();
    }

    fn __tsan_mutex_post_lock(lock: *mut c_void, flags: c_uint, _recursion: c_int; pc) {
        watch::ignore_end();
        if flags & TRY_LOCK_FAILED == 0 {
            let mode = if flags & READ_LOCK == 0 { LockMode::Exclusive } else { LockMode::Shared };
            watch::lock_acquired(lock as usize, mode, pc);
        }
    }

    // Returns how often the lock was held: the program passes it when it takes it again.
    fn __tsan_mutex_pre_unlock(lock: *mut c_void, _flags: c_uint; pc) -> c_int {
        watch::lock_released(lock as usize, pc);
        watch::ignore_begin();
        1
    }

    fn __tsan_mutex_post_unlock(_lock: *mut c_void, _flags: c_uint; _pc) {
        watch::ignore_end();
    }

    fn __tsan_mutex_pre_signal(_condition: *mut c_void, _flags: c_uint; _pc) {
        watch::ignore_begin();
    }

    fn __tsan_mutex_post_signal(_condition: *mut c_void, _flags: c_uint; _pc) {
        watch::ignore_end();
    }

    // Between these the program runs other code than that of the lock.
    fn __tsan_mutex_pre_divert(_lock: *mut c_void, _flags: c_uint; _pc) {
        watch::ignore_end();
    }

    fn __tsan_mutex_post_divert(_lock: *mut c_void, _flags: c_uint; _pc) {
        watch::ignore_begin();
    }

    fn __tsan_acquire(token: *mut c_void; pc) {
        watch::happens_after(token as usize, pc);
    }

    fn __tsan_release(token: *mut c_void; pc) {
        watch::happens_before(token as usize, pc);
    }

    fn __tsan_ignore_thread_begin(; _pc) {
        watch::ignore_begin();
    }

    fn __tsan_ignore_thread_end(; _pc) {
        watch::ignore_end();
    }
}

// Objects of libraries that tell accesses to them as a whole. Their tags are for reports of the sanitizer's own.
hooks! {
    fn __tsan_external_register_tag(_name: *const c_char; _pc) -> *mut c_void {
        static TAGS: AtomicUsize = AtomicUsize::new(1);
        TAGS.fetch_add(1, Ordering::Relaxed) as *mut c_void
    }

    fn __tsan_external_register_header(_tag: *mut c_void, _header: *const c_char; _pc) {}

    fn __tsan_external_assign_tag(_object: *mut c_void, _tag: *mut c_void; _pc) {}

    fn __tsan_external_read(object: *const c_void, place: usize, _tag: *mut c_void; _pc) {
        read(object, 1, place);
    }

    fn __tsan_external_write(object: *const c_void, place: usize, _tag: *mut c_void; _pc) {
        write(object, 1, place);
    }
}

/// Fibers have an identity, so that programs that ask for it work; more is not known about them.
const FIRST_FIBER: usize = 16;
static FIBERS: AtomicUsize = AtomicUsize::new(FIRST_FIBER + 1);

hooks! {
    fn __tsan_get_current_fiber(; _pc) -> *mut c_void {
        FIRST_FIBER as *mut c_void
    }

    fn __tsan_create_fiber(_flags: c_uint; _pc) -> *mut c_void {
        FIBERS.fetch_add(1, Ordering::Relaxed) as *mut c_void
    }

    fn __tsan_destroy_fiber(_fiber: *mut c_void; _pc) {}

    fn __tsan_switch_to_fiber(_fiber: *mut c_void, _flags: c_uint; _pc) {
        watch::note("the program uses fibers, which are not followed: each counts as the thread that it runs on");
    }

    fn __tsan_set_fiber_name(_fiber: *mut c_void, _name: *const c_char; _pc) {}
}

// The older annotations, which say where they stand in the source.
hooks! {
    fn AnnotateHappensBefore(_file: *const c_char, _line: c_int, token: usize; pc) {
        watch::happens_before(token, pc);
    }

    fn AnnotateHappensAfter(_file: *const c_char, _line: c_int, token: usize; pc) {
        watch::happens_after(token, pc);
    }

    fn AnnotateIgnoreReadsBegin(_file: *const c_char, _line: c_int; _pc) {
        watch::ignore_begin();
    }

    fn AnnotateIgnoreReadsEnd(_file: *const c_char, _line: c_int; _pc) {
        watch::ignore_end();
    }

    fn AnnotateIgnoreWritesBegin(_file: *const c_char, _line: c_int; _pc) {
        watch::ignore_begin();
    }

    fn AnnotateIgnoreWritesEnd(_file: *const c_char, _line: c_int; _pc) {
        watch::ignore_end();
    }

    fn AnnotateRWLockCreate(_file: *const c_char, _line: c_int, lock: usize; _pc) {
        watch::object_forgotten(lock);
    }

    fn AnnotateRWLockCreateStatic(_file: *const c_char, _line: c_int, lock: usize; _pc) {
        watch::object_forgotten(lock);
    }

    fn AnnotateRWLockDestroy(_file: *const c_char, _line: c_int, lock: usize; _pc) {
        watch::object_forgotten(lock);
    }

    fn AnnotateRWLockAcquired(_file: *const c_char, _line: c_int, lock: usize, exclusive: c_long; pc) {
        let mode = if exclusive == 0 { LockMode::Shared } else { LockMode::Exclusive };
        watch::lock_acquired(lock, mode, pc);
    }

    fn AnnotateRWLockReleased(_file: *const c_char, _line: c_int, lock: usize, _exclusive: c_long; pc) {
        watch::lock_released(lock, pc);
    }

    fn AnnotateNewMemory(_file: *const c_char, _line: c_int, memory: usize, size: usize; _pc) {
        watch::forgotten(memory, size);
    }

    fn AnnotateThreadName(_file: *const c_char, _line: c_int, name: *const c_char; _pc) {
        watch::thread_named(None, std::slice::from_raw_parts(name.cast::<u8>(), plain::strlen(name)));
    }
}

/// Annotations for what is not modelled: programs that make them must link.
macro_rules! without_effect {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {}
    )*};
}

without_effect! {
    AnnotateBenignRace AnnotateBenignRaceSized AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateEnableRaceDetection AnnotateExpectRace AnnotateFlushExpectedRaces AnnotateFlushState AnnotateIgnoreSyncBegin
    AnnotateIgnoreSyncEnd AnnotateMemoryIsInitialized AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar AnnotateNoOp
    AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQGet AnnotatePCQPut AnnotatePublishMemoryRange AnnotateTraceMemory
    AnnotateUnpublishMemoryRange
}
