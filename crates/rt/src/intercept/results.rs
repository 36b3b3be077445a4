//! Functions that write what they have computed into memory of the program: text, times, elements in order.

use super::arch::{List, intercept, variadic, with_stacked_address};
use super::{counts, tell_read, tell_write};
use crate::real::{self, Comparison};
use libc::{c_char, c_int, c_void, clockid_t, size_t, time_t, timespec, timeval, tm};

/// After text was written, with its end, if there is room. `result` is the length of the whole text. Passes it on.
fn printed(to: *const c_char, room: usize, result: c_int, pc: usize) -> c_int {
    if let Ok(length) = usize::try_from(result)
        && counts(pc)
    {
        tell_write(to, room.min(length + 1), pc);
    }
    result
}

variadic! {
    fn sprintf(to: *mut c_char, format: *const c_char; list) -> c_int {
        printed(to, usize::MAX, real::vsprintf(to, format, list), (*list).pc)
    }

    fn snprintf(to: *mut c_char, size: size_t, format: *const c_char; list) -> c_int {
        printed(to, size, real::vsnprintf(to, size, format, list), (*list).pc)
    }

    fn __sprintf_chk(to: *mut c_char, flag: c_int, room: size_t, format: *const c_char; list) -> c_int {
        printed(to, usize::MAX, real::__vsprintf_chk(to, flag, room, format, list), (*list).pc)
    }

    fn __snprintf_chk(to: *mut c_char, size: size_t, flag: c_int, room: size_t, format: *const c_char; list) -> c_int {
        printed(to, size, real::__vsnprintf_chk(to, size, flag, room, format, list), (*list).pc)
    }
}

unsafe extern "C-unwind" fn vsnprintf_checked(
    to: *mut c_char,
    size: size_t,
    flag: c_int,
    room: size_t,
    format: *const c_char,
    list: List,
    pc: usize,
) -> c_int {
    // SAFETY: the contract of the function, kept by the program.
    printed(to, size, unsafe { real::__vsnprintf_chk(to, size, flag, room, format, list) }, pc)
}

with_stacked_address! {
    fn __vsnprintf_chk => vsnprintf_checked;
}

intercept! {
    fn vsprintf(to: *mut c_char, format: *const c_char, list: List; pc) -> c_int {
        printed(to, usize::MAX, real::vsprintf(to, format, list), pc)
    }

    fn vsnprintf(to: *mut c_char, size: size_t, format: *const c_char, list: List; pc) -> c_int {
        printed(to, size, real::vsnprintf(to, size, format, list), pc)
    }

    fn __vsprintf_chk(to: *mut c_char, flag: c_int, room: size_t, format: *const c_char, list: List; pc) -> c_int {
        printed(to, usize::MAX, real::__vsprintf_chk(to, flag, room, format, list), pc)
    }

    fn clock_gettime(clock: clockid_t, time: *mut timespec; pc) -> c_int {
        let result = real::clock_gettime(clock, time);
        if result == 0 && counts(pc) {
            tell_write(time, size_of::<timespec>(), pc);
        }
        result
    }

    fn gettimeofday(time: *mut timeval, zone: *mut c_void; pc) -> c_int {
        let result = real::gettimeofday(time, zone);
        if result == 0 && !time.is_null() && counts(pc) {
            tell_write(time, size_of::<timeval>(), pc);
        }
        result
    }

    fn localtime_r(time: *const time_t, parts: *mut tm; pc) -> *mut tm {
        let result = real::localtime_r(time, parts);
        if !result.is_null() && counts(pc) {
            tell_read(time, size_of::<time_t>(), pc);
            tell_write(parts, size_of::<tm>(), pc);
        }
        result
    }

    fn gmtime_r(time: *const time_t, parts: *mut tm; pc) -> *mut tm {
        let result = real::gmtime_r(time, parts);
        if !result.is_null() && counts(pc) {
            tell_read(time, size_of::<time_t>(), pc);
            tell_write(parts, size_of::<tm>(), pc);
        }
        result
    }

    // All elements are compared, and put back in order.
    fn qsort(elements: *mut c_void, count: size_t, size: size_t, compare: Comparison; pc) {
        if count > 1 && counts(pc) {
            tell_write(elements, count.saturating_mul(size), pc);
        }
        real::qsort(elements, count, size, compare);
    }
}
