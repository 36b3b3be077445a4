//! Forks, ends of the process, modules that come and go.

use super::arch::{announce, intercept};
use super::threads::THREADS;
use crate::real::{self, Continuation};
use crate::watch;
use libc::{c_char, c_int, c_void, pid_t};

/// A fork, done by `call`: the child has only the thread that calls.
fn fork_by(call: impl FnOnce() -> pid_t) -> pid_t {
    if !watch::is_on() {
        return call();
    }
    THREADS.lock();
    let result = call();
    let errno = real::errno();
    THREADS.unlock();
    watch::forked(result == 0);
    real::set_errno(errno);
    result
}

/// Defines what is called before `$name` is gone on to.
macro_rules! before {
    ($(fn $before:ident: $name:literal { $told:expr })*) => {$(
        extern "C" fn $before() -> *mut c_void {
            static ORIGINAL: Continuation = Continuation::new(concat!($name, "\0"));
            if watch::is_on() {
                $told;
            }
            ORIGINAL.address()
        }
    )*};
}

before! {
    fn before_execl: "execl" { watch::process_replaced() }
    fn before_execlp: "execlp" { watch::process_replaced() }
    fn before_execle: "execle" { watch::process_replaced() }
    fn before_dlopen: "dlopen" { watch::modules_changed() }
}

announce! {
    fn execl => before_execl;
    fn execlp => before_execlp;
    fn execle => before_execle;
    // Looks for libraries where its caller says: it must see the program. Instrumented code of a new library runs before the
    // call returns in any case, and announces itself first.
    fn dlopen => before_dlopen;
}

intercept! {
    fn fork(; _pc) -> pid_t {
        fork_by(|| real::fork())
    }

    fn _Fork(; _pc) -> pid_t {
        fork_by(|| real::_Fork())
    }

    // The child of a real vfork uses the memory of its parent, and the runtime's with it.
    fn vfork(; _pc) -> pid_t {
        fork_by(|| real::fork())
    }

    fn _exit(status: c_int; _pc) {
        if watch::is_on() {
            watch::process_ending(status);
        }
        real::_exit(status)
    }

    fn _Exit(status: c_int; _pc) {
        if watch::is_on() {
            watch::process_ending(status);
        }
        real::_exit(status)
    }

    fn quick_exit(status: c_int; _pc) {
        if watch::is_on() {
            watch::process_ending(status);
        }
        real::quick_exit(status)
    }

    fn execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char; _pc) -> c_int {
        if watch::is_on() {
            watch::process_replaced();
        }
        real::execve(path, arguments, environment)
    }

    fn execv(path: *const c_char, arguments: *const *const c_char; _pc) -> c_int {
        if watch::is_on() {
            watch::process_replaced();
        }
        real::execv(path, arguments)
    }

    fn execvp(file: *const c_char, arguments: *const *const c_char; _pc) -> c_int {
        if watch::is_on() {
            watch::process_replaced();
        }
        real::execvp(file, arguments)
    }

    fn execvpe(file: *const c_char, arguments: *const *const c_char, environment: *const *const c_char; _pc) -> c_int {
        if watch::is_on() {
            watch::process_replaced();
        }
        real::execvpe(file, arguments, environment)
    }

    fn fexecve(descriptor: c_int, arguments: *const *const c_char, environment: *const *const c_char; _pc) -> c_int {
        if watch::is_on() {
            watch::process_replaced();
        }
        real::fexecve(descriptor, arguments, environment)
    }

    fn dlclose(handle: *mut c_void; _pc) -> c_int {
        let result = real::dlclose(handle);
        if watch::is_on() {
            watch::modules_changed();
        }
        result
    }
}
