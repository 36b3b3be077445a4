//! The functions of the C library that this runtime defines again: the original ones.
//!
//! Each is looked up once, behind the runtime in the order of search, and can be called at any time in any thread. A
//! function that this C library does not have behaves as one that is not implemented.
//!
//! Memory is taken from the C library's allocator under its internal names, which need no look-up: `dlsym` may allocate.

use crate::intercept::arch::List;
use libc::{
    FILE, c_char, c_int, c_long, c_uint, c_void, clockid_t, epoll_event, iovec, mode_t, msghdr, off_t, pid_t,
    pthread_attr_t, pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_condattr_t,
    pthread_mutex_t, pthread_mutexattr_t, pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t,
    pthread_t, sem_t, sigset_t, size_t, sockaddr, socklen_t, ssize_t, time_t, timespec, timeval, tm,
};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// What a thread starts with.
pub(crate) type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
/// The same for threads of C11.
pub(crate) type RoutineC11 = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
/// What says how two elements are ordered.
pub(crate) type Comparison = Option<unsafe extern "C-unwind" fn(*const c_void, *const c_void) -> c_int>;
/// What is to be run once.
pub(crate) type OnceRoutine = unsafe extern "C-unwind" fn();

/// The mark of a function that was looked for and is not there.
const MISSING: *mut c_void = std::ptr::dangling_mut();

/// One original function.
struct Original {
    address: AtomicPtr<c_void>,
    name: &'static CStr,
    version: Option<&'static CStr>,
}

impl Original {
    const fn new(name: &'static str, version: Option<&'static CStr>) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else { panic!("a name ends in zero") };
        Original { address: AtomicPtr::new(null_mut()), name, version }
    }

    /// Where the function is; none if the C library does not have it.
    #[inline]
    fn get(&self) -> Option<*mut c_void> {
        match self.address.load(Relaxed) {
            address if address.is_null() => self.find(),
            MISSING => None,
            address => Some(address),
        }
    }

    #[cold]
    fn find(&self) -> Option<*mut c_void> {
        let found = next(self.name, self.version);
        self.address.store(found.unwrap_or(MISSING), Relaxed);
        found
    }
}

/// The address of the function that would be called if this runtime did not define it.
fn next(name: &CStr, version: Option<&CStr>) -> Option<*mut c_void> {
    let mut found = null_mut();
    if let Some(version) = version {
        // SAFETY: both strings end in zero.
        found = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
    }
    if found.is_null() {
        // SAFETY: the string ends in zero.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    }
    if found.is_null() {
        // The program must not find the message about our look-up.
        // SAFETY: has no preconditions.
        unsafe { libc::dlerror() };
        return None;
    }
    Some(found)
}

/// The result of a function that does not exist and tells errors by `errno`.
fn not_implemented() -> c_int {
    set_errno(libc::ENOSYS);
    -1
}

/// `errno` of this thread.
pub(crate) fn errno() -> c_int {
    // SAFETY: the C library gives the address of a variable of this thread.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno` of this thread.
pub(crate) fn set_errno(error: c_int) {
    // SAFETY: the C library gives the address of a variable of this thread.
    unsafe { *libc::__errno_location() = error }
}

/// Declares original functions, grouped by what those return that the C library does not have.
macro_rules! originals {
    ($(otherwise $missing:expr => {
        $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $(= $version:literal)?;)*
    })*) => {
        /// Where the functions are.
        #[allow(non_upper_case_globals)]
        mod cells {
            use super::Original;
            $($(
                pub(super) static $name: Original =
                    Original::new(concat!(stringify!($name), "\0"), originals!(@version $($version)?));
            )*)*
        }

        $($(
            /// The function of the C library with this name.
            ///
            /// # Safety
            /// That of the function.
            #[inline]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
                match cells::$name.get() {
                    // SAFETY: the function has this type by the documentation of the C library.
                    Some(address) => unsafe {
                        let function: unsafe extern "C-unwind" fn($($type),*) $(-> $result)? =
                            std::mem::transmute(address);
                        function($($argument),*)
                    },
                    None => $missing,
                }
            }
        )*)*

        /// Looks up all functions, so that none is looked up in a signal handler. For the start of the program.
        pub fn prepare() {
            $($(cells::$name.get();)*)*
            guards::prepare();
            atomics::prepare();
            crate::intercept::plain::adopt(|name| next(name, None));
        }
    };
    (@version) => { None };
    (@version $version:literal) => { Some($version) };
}

originals! {
    // Of the OpenMP runtime, which has them if anybody calls them.
    otherwise null_mut() => {
        fn __kmpc_omp_task_alloc(place: *mut c_void, thread: c_int, flags: c_int, size: usize, shared_size: usize, entry: *mut c_void) -> *mut *mut c_void;
        fn __kmpc_taskred_init(thread: c_int, number: c_int, items: *mut c_void) -> *mut c_void;
        fn __kmpc_taskred_modifier_init(place: *mut c_void, thread: c_int, shared: c_int, number: c_int, items: *mut c_void) -> *mut c_void;
        fn __kmpc_task_reduction_get_th_data(thread: c_int, group: *mut c_void, variable: *mut c_void) -> *mut c_void;
    }
    otherwise () => {
        fn __kmpc_flush(place: *mut c_void);
        fn omp_unset_lock(lock: *mut c_void);
        fn omp_unset_nest_lock(lock: *mut c_void);
        fn __kmpc_critical(place: *mut c_void, thread: c_int, name: *mut c_void);
        fn __kmpc_critical_with_hint(place: *mut c_void, thread: c_int, name: *mut c_void, hint: c_uint);
        fn __kmpc_end_critical(place: *mut c_void, thread: c_int, name: *mut c_void);
        fn __kmpc_atomic_end();
        fn GOMP_atomic_end();
        fn GOMP_critical_end();
        fn GOMP_critical_name_end(name: *mut c_void);
        fn __kmpc_end_ordered(place: *mut c_void, thread: c_int);
        fn GOMP_ordered_end();
        fn __kmpc_end_reduce(place: *mut c_void, thread: c_int, lock: *mut c_void);
        fn __kmpc_end_reduce_nowait(place: *mut c_void, thread: c_int, lock: *mut c_void);
        fn GOMP_taskgroup_reduction_register(description: *mut usize);
        fn GOMP_taskgroup_reduction_unregister(description: *mut usize);
        fn GOMP_taskloop(function: usize, data: *mut *mut usize, copy: usize, size: usize, alignment: usize, flags: c_uint, tasks: usize, priority: c_int, start: usize, end: usize, step: usize);
        fn GOMP_taskloop_ull(function: usize, data: *mut *mut usize, copy: usize, size: usize, alignment: usize, flags: c_uint, tasks: usize, priority: c_int, start: usize, end: usize, step: usize);
    }
    // Functions on threads and locks return their error.
    otherwise libc::ENOSYS => {
        fn pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, routine: Routine, argument: *mut c_void) -> c_int;
        fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
        fn pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void) -> c_int;
        fn pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, until: *const timespec) -> c_int;
        fn pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_detach(thread: pthread_t) -> c_int;
        fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;

        fn pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t) -> c_int;
        fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int;
        fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int;
        fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int;
        fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
        fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int;

        fn pthread_spin_init(lock: *mut pthread_spinlock_t, shared: c_int) -> c_int;
        fn pthread_spin_destroy(lock: *mut pthread_spinlock_t) -> c_int;
        fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int;
        fn pthread_spin_trylock(lock: *mut pthread_spinlock_t) -> c_int;
        fn pthread_spin_unlock(lock: *mut pthread_spinlock_t) -> c_int;

        fn pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t) -> c_int;
        fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int;

        // A look-up without the version may find the functions for conditions of long ago.
        fn pthread_cond_init(condition: *mut pthread_cond_t, attributes: *const pthread_condattr_t) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_destroy(condition: *mut pthread_cond_t) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int = c"GLIBC_2.3.2";

        fn pthread_barrier_init(barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, count: c_uint) -> c_int;
        fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int;
        fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int;
        fn pthread_once(once: *mut c_int, routine: OnceRoutine) -> c_int;
    }
    // `operator new`, which calls the program's handler and throws if there is no memory.
    otherwise std::ptr::null_mut() => {
        fn _Znwm(size: size_t) -> *mut c_void;
        fn _Znam(size: size_t) -> *mut c_void;
    }
    // Those of C11 say only that there was an error.
    otherwise THRD_ERROR => {
        fn thrd_create(thread: *mut pthread_t, routine: RoutineC11, argument: *mut c_void) -> c_int;
        fn thrd_join(thread: pthread_t, result: *mut c_int) -> c_int;
        fn thrd_detach(thread: pthread_t) -> c_int;
        fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int;
        fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int;
        fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int;
        fn mtx_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
        fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int;
        fn cnd_init(condition: *mut pthread_cond_t) -> c_int;
        fn cnd_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
        fn cnd_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
        fn cnd_signal(condition: *mut pthread_cond_t) -> c_int;
        fn cnd_broadcast(condition: *mut pthread_cond_t) -> c_int;
    }
    otherwise () => {
        fn closefrom(first: c_int);
        fn qsort(elements: *mut c_void, count: size_t, size: size_t, compare: Comparison);
        fn mtx_destroy(mutex: *mut pthread_mutex_t);
        fn cnd_destroy(condition: *mut pthread_cond_t);
        fn call_once(once: *mut c_int, routine: OnceRoutine);
    }
    otherwise not_implemented() => {
        fn sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint) -> c_int;
        fn sem_destroy(semaphore: *mut sem_t) -> c_int;
        fn sem_post(semaphore: *mut sem_t) -> c_int;
        fn sem_wait(semaphore: *mut sem_t) -> c_int;
        fn sem_trywait(semaphore: *mut sem_t) -> c_int;
        fn sem_timedwait(semaphore: *mut sem_t, until: *const timespec) -> c_int;
        fn sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec) -> c_int;

        fn pipe(ends: *mut c_int) -> c_int;
        fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
        fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
        fn eventfd(value: c_uint, flags: c_int) -> c_int;
        fn dup(descriptor: c_int) -> c_int;
        fn dup2(descriptor: c_int, wanted: c_int) -> c_int;
        fn dup3(descriptor: c_int, wanted: c_int, flags: c_int) -> c_int;
        fn close(descriptor: c_int) -> c_int;
        fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
        fn accept(listener: c_int, address: *mut sockaddr, size: *mut socklen_t) -> c_int;
        fn accept4(listener: c_int, address: *mut sockaddr, size: *mut socklen_t, flags: c_int) -> c_int;
        fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;

        fn fclose(stream: *mut FILE) -> c_int;
        fn puts(string: *const c_char) -> c_int;
        fn fputs(string: *const c_char, stream: *mut FILE) -> c_int;
        fn epoll_create(size: c_int) -> c_int;
        fn epoll_create1(flags: c_int) -> c_int;
        fn epoll_ctl(set: c_int, operation: c_int, descriptor: c_int, event: *mut epoll_event) -> c_int;
        fn epoll_wait(set: c_int, events: *mut epoll_event, room: c_int, milliseconds: c_int) -> c_int;
        fn epoll_pwait(set: c_int, events: *mut epoll_event, room: c_int, milliseconds: c_int, signals: *const sigset_t) -> c_int;

        fn vsprintf(to: *mut c_char, format: *const c_char, arguments: List) -> c_int;
        fn vsnprintf(to: *mut c_char, size: size_t, format: *const c_char, arguments: List) -> c_int;
        fn __vsprintf_chk(to: *mut c_char, flag: c_int, room: size_t, format: *const c_char, arguments: List) -> c_int;
        fn __vsnprintf_chk(to: *mut c_char, size: size_t, flag: c_int, room: size_t, format: *const c_char, arguments: List) -> c_int;

        fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int;
        fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int;

        fn fork() -> pid_t;
        fn _Fork() -> pid_t;
        fn execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
        fn execv(path: *const c_char, arguments: *const *const c_char) -> c_int;
        fn execvp(file: *const c_char, arguments: *const *const c_char) -> c_int;
        fn execvpe(file: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
        fn fexecve(descriptor: c_int, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
        fn dlclose(handle: *mut c_void) -> c_int;
    }
    otherwise not_implemented() as ssize_t => {
        fn read(descriptor: c_int, buffer: *mut c_void, size: size_t) -> ssize_t;
        fn write(descriptor: c_int, buffer: *const c_void, size: size_t) -> ssize_t;
        fn pread(descriptor: c_int, buffer: *mut c_void, size: size_t, offset: off_t) -> ssize_t;
        fn pwrite(descriptor: c_int, buffer: *const c_void, size: size_t, offset: off_t) -> ssize_t;
        fn recv(descriptor: c_int, buffer: *mut c_void, size: size_t, flags: c_int) -> ssize_t;
        fn send(descriptor: c_int, buffer: *const c_void, size: size_t, flags: c_int) -> ssize_t;
        fn readv(descriptor: c_int, pieces: *const iovec, count: c_int) -> ssize_t;
        fn writev(descriptor: c_int, pieces: *const iovec, count: c_int) -> ssize_t;
        fn preadv(descriptor: c_int, pieces: *const iovec, count: c_int, offset: off_t) -> ssize_t;
        fn pwritev(descriptor: c_int, pieces: *const iovec, count: c_int, offset: off_t) -> ssize_t;
        fn recvmsg(descriptor: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
        fn sendmsg(descriptor: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
        fn recvfrom(descriptor: c_int, buffer: *mut c_void, size: size_t, flags: c_int, from: *mut sockaddr, from_size: *mut socklen_t) -> ssize_t;
        fn __recvfrom_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, room: size_t, flags: c_int, from: *mut sockaddr, from_size: *mut socklen_t) -> ssize_t;
        fn sendto(descriptor: c_int, buffer: *const c_void, size: size_t, flags: c_int, to: *const sockaddr, to_size: socklen_t) -> ssize_t;
        fn getdelim(line: *mut *mut c_char, room: *mut size_t, end: c_int, stream: *mut FILE) -> ssize_t;
        fn __pread_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, offset: off_t, room: size_t) -> ssize_t;
        fn __read_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, room: size_t) -> ssize_t;
        fn __recv_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, room: size_t, flags: c_int) -> ssize_t;
    }
    otherwise 0 => {
        fn fread(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t;
        fn __fread_chk(buffer: *mut c_void, room: size_t, size: size_t, count: size_t, stream: *mut FILE) -> size_t;
        fn fwrite(buffer: *const c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t;

        fn strnlen(string: *const c_char, limit: size_t) -> size_t;
        fn strcmp(a: *const c_char, b: *const c_char) -> c_int;
        fn strncmp(a: *const c_char, b: *const c_char, limit: size_t) -> c_int;
        fn strcasecmp(a: *const c_char, b: *const c_char) -> c_int;
        fn strncasecmp(a: *const c_char, b: *const c_char, limit: size_t) -> c_int;
    }
    otherwise null_mut() => {
        fn localtime_r(time: *const time_t, parts: *mut tm) -> *mut tm;
        fn gmtime_r(time: *const time_t, parts: *mut tm) -> *mut tm;

        fn fgets(buffer: *mut c_char, size: c_int, stream: *mut FILE) -> *mut c_char;
        fn __fgets_chk(buffer: *mut c_char, room: size_t, size: c_int, stream: *mut FILE) -> *mut c_char;

        fn memchr(memory: *const c_void, byte: c_int, size: size_t) -> *mut c_void;
        fn __memcpy_chk(to: *mut c_void, from: *const c_void, size: size_t, room: size_t) -> *mut c_void;
        fn __memmove_chk(to: *mut c_void, from: *const c_void, size: size_t, room: size_t) -> *mut c_void;
        fn __mempcpy_chk(to: *mut c_void, from: *const c_void, size: size_t, room: size_t) -> *mut c_void;
        fn __memset_chk(to: *mut c_void, byte: c_int, size: size_t, room: size_t) -> *mut c_void;

        fn strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char;
        fn stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char;
        fn strncpy(to: *mut c_char, from: *const c_char, size: size_t) -> *mut c_char;
        fn strcat(to: *mut c_char, from: *const c_char) -> *mut c_char;
        fn strncat(to: *mut c_char, from: *const c_char, limit: size_t) -> *mut c_char;
        fn __strcpy_chk(to: *mut c_char, from: *const c_char, room: size_t) -> *mut c_char;
        fn __stpcpy_chk(to: *mut c_char, from: *const c_char, room: size_t) -> *mut c_char;
        fn __strncpy_chk(to: *mut c_char, from: *const c_char, size: size_t, room: size_t) -> *mut c_char;
        fn __strcat_chk(to: *mut c_char, from: *const c_char, room: size_t) -> *mut c_char;
        fn __strncat_chk(to: *mut c_char, from: *const c_char, limit: size_t, room: size_t) -> *mut c_char;
        fn strchr(string: *const c_char, byte: c_int) -> *mut c_char;
        fn strrchr(string: *const c_char, byte: c_int) -> *mut c_char;
        fn strstr(string: *const c_char, wanted: *const c_char) -> *mut c_char;
        fn strdup(string: *const c_char) -> *mut c_char;
        fn strndup(string: *const c_char, limit: size_t) -> *mut c_char;
    }
    // Every C library has these; a process that cannot end by one of them ends all the same.
    otherwise std::process::abort() => {
        fn pthread_exit(result: *mut c_void) -> !;
        fn thrd_exit(result: c_int) -> !;
        fn _exit(status: c_int) -> !;
        fn quick_exit(status: c_int) -> !;
    }
}

/// `thrd_error` of `threads.h`.
pub(crate) const THRD_ERROR: c_int = 2;

/// A function that is gone on to instead of being called, by its address.
pub(crate) struct Continuation(Original);

impl Continuation {
    /// The function of this name, which ends in zero.
    pub(crate) const fn new(name: &'static str) -> Self {
        Continuation(Original::new(name, None))
    }

    /// Its address; that of a function that fails if the C library does not have it.
    pub(crate) fn address(&self) -> *mut c_void {
        self.0.get().unwrap_or(fails as *mut c_void)
    }
}

/// Stands for a function that the C library does not have.
extern "C" fn fails() -> c_long {
    c_long::from(not_implemented())
}

/// `__cxa_guard_acquire` and its companions; none if the C++ library is linked statically, where ours stand for its own.
pub(crate) mod guards {
    use super::Original;
    use libc::{c_int, c_void};

    type Acquire = unsafe extern "C-unwind" fn(*mut u8) -> c_int;
    type Release = unsafe extern "C-unwind" fn(*mut u8);

    static ACQUIRE: Original = Original::new("__cxa_guard_acquire\0", None);
    static RELEASE: Original = Original::new("__cxa_guard_release\0", None);
    static ABORT: Original = Original::new("__cxa_guard_abort\0", None);

    pub(super) fn prepare() {
        for original in [&ACQUIRE, &RELEASE, &ABORT] {
            original.get();
        }
    }

    pub(crate) fn acquire() -> Option<Acquire> {
        // SAFETY: the C++ library has the function with this type.
        ACQUIRE.get().map(|address| unsafe { std::mem::transmute::<*mut c_void, Acquire>(address) })
    }

    pub(crate) fn release() -> Option<Release> {
        // SAFETY: the C++ library has the function with this type.
        RELEASE.get().map(|address| unsafe { std::mem::transmute::<*mut c_void, Release>(address) })
    }

    pub(crate) fn abort() -> Option<Release> {
        // SAFETY: the C++ library has the function with this type.
        ABORT.get().map(|address| unsafe { std::mem::transmute::<*mut c_void, Release>(address) })
    }
}

/// The library for atomic operations of any size; none if nothing but the program's own calls, which are ours, needs it.
pub(crate) mod atomics {
    use super::Original;
    use libc::{c_int, c_void, size_t};

    type Load = unsafe extern "C" fn(size_t, *mut c_void, *mut c_void, c_int);
    type Store = unsafe extern "C" fn(size_t, *mut c_void, *const c_void, c_int);
    type Exchange = unsafe extern "C" fn(size_t, *mut c_void, *const c_void, *mut c_void, c_int);
    type Compare =
        unsafe extern "C" fn(size_t, *mut c_void, *mut c_void, *const c_void, c_int, c_int) -> bool;

    static LOAD: Original = Original::new("__atomic_load\0", None);
    static STORE: Original = Original::new("__atomic_store\0", None);
    static EXCHANGE: Original = Original::new("__atomic_exchange\0", None);
    static COMPARE: Original = Original::new("__atomic_compare_exchange\0", None);

    pub(super) fn prepare() {
        for original in [&LOAD, &STORE, &EXCHANGE, &COMPARE] {
            original.get();
        }
    }

    pub(crate) fn load() -> Option<Load> {
        // SAFETY: the library has the function with this type.
        LOAD.get().map(|address| unsafe { std::mem::transmute::<*mut c_void, Load>(address) })
    }

    pub(crate) fn store() -> Option<Store> {
        // SAFETY: the library has the function with this type.
        STORE.get().map(|address| unsafe { std::mem::transmute::<*mut c_void, Store>(address) })
    }

    pub(crate) fn exchange() -> Option<Exchange> {
        // SAFETY: the library has the function with this type.
        EXCHANGE.get().map(|address| unsafe { std::mem::transmute::<*mut c_void, Exchange>(address) })
    }

    pub(crate) fn compare() -> Option<Compare> {
        // SAFETY: the library has the function with this type.
        COMPARE.get().map(|address| unsafe { std::mem::transmute::<*mut c_void, Compare>(address) })
    }
}

// The allocator under the names that it uses itself.
unsafe extern "C" {
    pub(crate) fn __libc_malloc(size: size_t) -> *mut c_void;
    pub(crate) fn __libc_calloc(count: size_t, size: size_t) -> *mut c_void;
    pub(crate) fn __libc_realloc(memory: *mut c_void, size: size_t) -> *mut c_void;
    pub(crate) fn __libc_memalign(alignment: size_t, size: size_t) -> *mut c_void;
    pub(crate) fn __libc_free(memory: *mut c_void);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_missing_ones_are_not() {
        assert!(next(c"pthread_cond_wait", Some(c"GLIBC_2.3.2")).is_some());
        assert!(next(c"pthread_mutex_lock", None).is_some());
        assert!(next(c"no_such_function_anywhere", None).is_none());
        // SAFETY: has no preconditions.
        assert!(unsafe { libc::dlerror() }.is_null());
        prepare();
        // SAFETY: the argument is a string.
        assert_eq!(unsafe { strnlen(c"four".as_ptr(), 99) }, 4);
    }

    #[test]
    fn a_missing_function_is_not_implemented() {
        static NONE: Continuation = Continuation::new("no_such_function_anywhere\0");
        // SAFETY: the address is that of a function without arguments.
        let function: extern "C" fn() -> c_long = unsafe { std::mem::transmute(NONE.address()) };
        assert_eq!(function(), -1);
        assert_eq!(errno(), libc::ENOSYS);
    }
}
