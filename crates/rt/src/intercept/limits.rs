//! Limits of memory that the program sets for itself. Shadow memory counts for the kernel, so that the program would get no
//! more memory at all: what is ours is added to the limit, and the program is told what it has asked for.

use super::arch::intercept;
use crate::spin::Spin;
use crate::{arena, layout, real, watch};
use libc::{RLIM_INFINITY, c_int, c_uint, pid_t, rlimit};

/// A limit as the program knows it, and as the kernel does.
#[derive(Clone, Copy)]
struct Raised {
    told: rlimit,
    real: rlimit,
}

const NONE: Option<Raised> = None;

/// What the program has set: the limit of data, and that of the address space.
static RAISED: Spin<[Option<Raised>; 2]> = Spin::new([NONE; 2]);

/// Which of the limits of memory this is.
fn of_memory(resource: c_uint) -> Option<usize> {
    [libc::RLIMIT_DATA, libc::RLIMIT_AS].iter().position(|known| *known == resource)
}

/// With what is ours.
fn raise(value: u64) -> u64 {
    if value == RLIM_INFINITY {
        value
    } else {
        value.saturating_add((layout::RESERVED_BYTES + arena::mapped()) as u64)
    }
}

unsafe fn kernel(pid: pid_t, resource: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int {
    // SAFETY: by the contract of this function, which is that of the system call.
    unsafe { libc::syscall(libc::SYS_prlimit64, pid, resource, new, old) as c_int }
}

/// `prlimit`.
///
/// # Safety
/// That of the function.
unsafe fn limit(pid: pid_t, resource: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int {
    // SAFETY: has no preconditions.
    let own = pid == 0 || pid == unsafe { libc::getpid() };
    let raised = if own && watch::is_on() { of_memory(resource) } else { None };
    // A handler of a signal may have interrupted this: then the kernel answers.
    let (Some(index), Some(mut known)) = (raised, RAISED.try_lock()) else {
        // SAFETY: by the contract of this function.
        return unsafe { kernel(pid, resource, new, old) };
    };
    let mut before = rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limits live here, or are the program's.
    unsafe {
        if kernel(0, resource, std::ptr::null(), &mut before) != 0 {
            return -1;
        }
        if let Some(wanted) = new.as_ref() {
            let real = rlimit { rlim_cur: raise(wanted.rlim_cur), rlim_max: raise(wanted.rlim_max) };
            let result = kernel(0, resource, &real, std::ptr::null_mut());
            if result != 0 {
                return result;
            }
            let earlier = known[index].replace(Raised { told: *wanted, real });
            answer(earlier, before, old);
            return 0;
        }
        answer(known[index], before, old);
    }
    0
}

/// Tells the program what it believes that its limit is.
///
/// # Safety
/// `old` must be null or writable.
unsafe fn answer(raised: Option<Raised>, mut real: rlimit, old: *mut rlimit) {
    if let Some(raised) = raised {
        // If they differ, somebody else has set it.
        if raised.real.rlim_cur == real.rlim_cur {
            real.rlim_cur = raised.told.rlim_cur;
        }
        if raised.real.rlim_max == real.rlim_max {
            real.rlim_max = raised.told.rlim_max;
        }
    }
    if !old.is_null() {
        // SAFETY: by the contract of this function.
        unsafe { *old = real };
    }
}

/// A list that must not be null.
fn bad_address() -> c_int {
    real::set_errno(libc::EFAULT);
    -1
}

// Limits have 64 bits on this machine in both forms.
intercept! {
    fn setrlimit(resource: c_uint, new: *const rlimit; _pc) -> c_int {
        if new.is_null() { bad_address() } else { limit(0, resource, new, std::ptr::null_mut()) }
    }

    fn setrlimit64(resource: c_uint, new: *const rlimit; _pc) -> c_int {
        if new.is_null() { bad_address() } else { limit(0, resource, new, std::ptr::null_mut()) }
    }

    fn getrlimit(resource: c_uint, old: *mut rlimit; _pc) -> c_int {
        if old.is_null() { bad_address() } else { limit(0, resource, std::ptr::null(), old) }
    }

    fn getrlimit64(resource: c_uint, old: *mut rlimit; _pc) -> c_int {
        if old.is_null() { bad_address() } else { limit(0, resource, std::ptr::null(), old) }
    }

    fn prlimit(pid: pid_t, resource: c_uint, new: *const rlimit, old: *mut rlimit; _pc) -> c_int {
        limit(pid, resource, new, old)
    }

    fn prlimit64(pid: pid_t, resource: c_uint, new: *const rlimit, old: *mut rlimit; _pc) -> c_int {
        limit(pid, resource, new, old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_and_told_as_it_was_set() {
        let told = rlimit { rlim_cur: 1 << 30, rlim_max: RLIM_INFINITY };
        let real = rlimit { rlim_cur: raise(told.rlim_cur), rlim_max: raise(told.rlim_max) };
        assert!(real.rlim_cur > 1 << 46 && real.rlim_max == RLIM_INFINITY);
        let answered = |raised, real| {
            let mut old = rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: the place is writable.
            unsafe { answer(raised, real, &mut old) };
            (old.rlim_cur, old.rlim_max)
        };
        let raised = Some(Raised { told, real });
        assert_eq!(answered(raised, real), (1 << 30, RLIM_INFINITY));
        assert_eq!(answered(None, told), (1 << 30, RLIM_INFINITY));
        let other = rlimit { rlim_cur: 5, rlim_max: 6 };
        assert_eq!(answered(raised, other), (5, 6));
    }
}
