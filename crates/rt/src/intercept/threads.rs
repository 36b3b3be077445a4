//! Threads: creation, end, join.

use super::arch::intercept;
use super::plain;
use super::table::Threads;
use crate::groups;
use crate::real::{self, Routine, RoutineC11};
use crate::rust;
use crate::watch::{self, Ticket};
use libc::{c_char, c_int, c_void, clockid_t, pthread_attr_t, pthread_key_t, pthread_t, timespec};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

/// The threads that can be joined.
pub(super) static THREADS: Threads = Threads::new();

/// What a new thread must know. It lies on the stack of the creator, who waits until it was read: so nothing is allocated,
/// and a thread is in the table before anybody else can name it.
pub(super) struct Start<R> {
    routine: R,
    argument: *mut c_void,
    ticket: Ticket,
    /// A library creates it to run tasks, which are told by themselves.
    worker: bool,
    joinable: bool,
    /// 1 as soon as the thread needs nothing of this any more.
    taken: AtomicU32,
}

impl<R: Copy> Start<R> {
    pub(super) fn new(routine: R, argument: *mut c_void, joinable: bool, pc: usize) -> Self {
        let worker = watch::is_task_library(pc) || rust::tasks::creates_workers();
        let ticket = if worker { Ticket::NONE } else { watch::thread_forked(pc) };
        if !worker {
            groups::thread_forked();
        }
        Start { routine, argument, ticket, worker, joinable, taken: AtomicU32::new(0) }
    }

    /// After the creation, successful or not.
    pub(super) fn created(&self, success: bool) {
        if !success {
            if !self.worker {
                watch::thread_fork_failed(self.ticket);
            }
            return;
        }
        let errno = real::errno();
        while self.taken.load(Ordering::Acquire) == 0 {
            // SAFETY: the word lives; a wait that ends for no reason is repeated.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.taken.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    0,
                    null::<timespec>(),
                )
            };
        }
        real::set_errno(errno);
    }

    /// First thing in the new thread. Returns what to run.
    ///
    /// # Safety
    /// `start` is what the creator waits for in [`Start::created`].
    unsafe fn begin(start: *const Start<R>) -> (R, *mut c_void) {
        // SAFETY: the creator keeps it until it is marked as taken.
        let (routine, argument, ticket, worker, joinable) = unsafe {
            let start = &*start;
            (start.routine, start.argument, start.ticket, start.worker, start.joinable)
        };
        let stack = watch::aside(|| {
            if joinable && ticket != Ticket::NONE {
                // SAFETY: has no preconditions.
                THREADS.insert(unsafe { libc::pthread_self() } as usize, ticket);
            }
            tell_end_of_this_thread();
            // Allocates.
            stack_of_this_thread()
        });
        // SAFETY: the last use of what the creator keeps; waking needs only the address.
        unsafe {
            let taken = (*start).taken.as_ptr();
            (*start).taken.store(1, Ordering::Release);
            libc::syscall(libc::SYS_futex, taken, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
        }
        if worker {
            watch::worker_started(stack);
        } else {
            watch::thread_started(ticket, stack);
        }
        (routine, argument)
    }
}

/// The routine of every thread that was created through [`pthread_create`](libc::pthread_create).
unsafe extern "C-unwind" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: the creator passes a start of this type, and a routine with its argument.
    unsafe {
        let (routine, argument) = Start::<Routine>::begin(start.cast());
        routine(argument)
    }
}

/// The same for threads of C11.
pub(super) unsafe extern "C-unwind" fn run_c11(start: *mut c_void) -> c_int {
    // SAFETY: the creator passes a start of this type, and a routine with its argument.
    unsafe {
        let (routine, argument) = Start::<RoutineC11>::begin(start.cast());
        routine(argument)
    }
}

/// Lowest address and size of the stack of this thread; (0, 0) if it cannot be found out.
fn stack_of_this_thread() -> (usize, usize) {
    let mut attributes = MaybeUninit::<pthread_attr_t>::uninit();
    let (mut lowest, mut size) = (null_mut(), 0);
    // SAFETY: the attributes are read and destroyed only if they were filled in.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return (0, 0);
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    (lowest as usize, size)
}

/// The key whose destructor tells the end of threads, plus one; zero if there is none yet.
static KEY: AtomicU32 = AtomicU32::new(0);

/// The C library runs destructors in so many rounds.
const ROUNDS: usize = 4;

/// The key; none if the program has used all of them up.
fn key() -> Option<pthread_key_t> {
    let known = KEY.load(Ordering::Acquire);
    if known != 0 {
        return Some(known - 1);
    }
    let mut key = 0;
    // SAFETY: the destructor has the right type.
    if unsafe { libc::pthread_key_create(&mut key, Some(at_end)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(known) => {
            // Another thread was faster.
            // SAFETY: nobody else knows the key.
            unsafe { libc::pthread_key_delete(key) };
            Some(known - 1)
        }
    }
}

/// Has the end of this thread told, however it ends: return, `pthread_exit`, cancellation.
pub(super) fn tell_end_of_this_thread() {
    if let Some(key) = key() {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(key, ROUNDS as *const c_void) };
    }
}

/// The destructor of the key. It is set again until the last round, so that the program's own destructors are still seen.
unsafe extern "C" fn at_end(round: *mut c_void) {
    let left = round as usize;
    if left > 1
        && let Some(key) = key()
    {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(key, (left - 1) as *const c_void) };
    } else {
        watch::thread_ended();
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

/// True if a thread with these attributes can be joined.
unsafe fn is_joinable(attributes: *const pthread_attr_t) -> bool {
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: the program passes attributes that are set.
        unsafe { pthread_attr_getdetachstate(attributes, &mut state) };
    }
    state == libc::PTHREAD_CREATE_JOINABLE
}

/// Waits for a thread by `wait`, which returns zero if the thread has ended, and tells it.
///
/// The ticket must be known before: afterwards the identity may belong to another thread.
pub(super) fn join(thread: pthread_t, pc: usize, wait: impl FnOnce() -> c_int) -> c_int {
    let ticket = if watch::is_on() { THREADS.find(thread as usize) } else { None };
    let result = wait();
    if result == 0
        && let Some(ticket) = ticket
    {
        THREADS.remove(thread as usize, ticket);
        watch::thread_joined(ticket, pc);
    }
    result
}

// Threads are followed whoever creates them and waits for them: a library's threads run the program's code as well.
intercept! {
    fn pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, routine: Routine, argument: *mut c_void; pc) -> c_int {
        if !watch::is_on() {
            return real::pthread_create(thread, attributes, routine, argument);
        }
        let start = Start::new(routine, argument, is_joinable(attributes), pc);
        let result = real::pthread_create(thread, attributes, run, (&raw const start).cast_mut().cast());
        start.created(result == 0);
        result
    }

    fn pthread_join(thread: pthread_t, result: *mut *mut c_void; pc) -> c_int {
        join(thread, pc, || real::pthread_join(thread, result))
    }

    fn pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void; pc) -> c_int {
        join(thread, pc, || real::pthread_tryjoin_np(thread, result))
    }

    fn pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, until: *const timespec; pc) -> c_int {
        join(thread, pc, || real::pthread_timedjoin_np(thread, result, until))
    }

    fn pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec; pc) -> c_int {
        join(thread, pc, || real::pthread_clockjoin_np(thread, result, clock, until))
    }

    fn pthread_detach(thread: pthread_t; _pc) -> c_int {
        THREADS.detach(thread as usize);
        real::pthread_detach(thread)
    }

    // Only threads that we have started tell their end by themselves: not the first one.
    fn pthread_exit(result: *mut c_void; _pc) {
        if watch::is_on() {
            tell_end_of_this_thread();
        }
        real::pthread_exit(result)
    }

    fn pthread_setname_np(thread: pthread_t, name: *const c_char; _pc) -> c_int {
        let result = real::pthread_setname_np(thread, name);
        if result == 0 && watch::is_on() {
            let bytes = std::slice::from_raw_parts(name.cast::<u8>(), plain::strlen(name));
            if libc::pthread_equal(thread, libc::pthread_self()) != 0 {
                watch::thread_named(None, bytes);
            } else if let Some(ticket) = THREADS.find(thread as usize) {
                watch::thread_named(Some(ticket), bytes);
            }
        }
        result
    }
}
