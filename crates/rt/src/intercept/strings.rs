//! Functions on strings: exactly the bytes that they look at and change are told.

use super::arch::intercept;
use super::{counts, plain, tell_read, tell_write};
use crate::real;
use libc::{c_char, c_int, size_t};

/// The bytes of a string that a function with a limit looks at: the end of the string is one of them, if it is within.
unsafe fn limited(string: *const c_char, limit: usize) -> usize {
    // SAFETY: the program passes a string or memory of at least that size.
    let length = unsafe { real::strnlen(string, limit) };
    if length < limit { length + 1 } else { length }
}

/// How many bytes a comparison of strings looks at: up to the first difference or the end.
///
/// # Safety
/// Both are strings, or memory of at least `limit` bytes.
unsafe fn compared(
    a: *const c_char,
    b: *const c_char,
    limit: usize,
    equal: impl Fn(u8, u8) -> bool,
) -> usize {
    let mut at = 0;
    while at < limit {
        // SAFETY: neither string has ended before, for then the bytes had differed or both had been zero.
        let (left, right) = unsafe { (*a.add(at) as u8, *b.add(at) as u8) };
        at += 1;
        if !equal(left, right) || left == 0 {
            break;
        }
    }
    at
}

/// True if the bytes are the same letter in the language of the program.
fn same_letter(a: u8, b: u8) -> bool {
    // SAFETY: takes all values of a byte.
    unsafe { libc::tolower(a.into()) == libc::tolower(b.into()) }
}

/// Tells a comparison.
unsafe fn tell_comparison(
    a: *const c_char,
    b: *const c_char,
    limit: usize,
    equal: impl Fn(u8, u8) -> bool,
    pc: usize,
) {
    if counts(pc) {
        // SAFETY: the program compares these strings.
        let size = unsafe { compared(a, b, limit, equal) };
        tell_read(a, size, pc);
        tell_read(b, size, pc);
    }
}

/// Tells a copy of a string, with its end.
unsafe fn tell_copy(to: *mut c_char, from: *const c_char, pc: usize) {
    if counts(pc) {
        // SAFETY: the program copies this string.
        let size = unsafe { plain::strlen(from) } + 1;
        tell_read(from, size, pc);
        tell_write(to, size, pc);
    }
}

/// Tells a copy that fills the whole room.
unsafe fn tell_filling_copy(to: *mut c_char, from: *const c_char, size: usize, pc: usize) {
    if counts(pc) {
        // SAFETY: the program copies this string.
        tell_read(from, unsafe { limited(from, size) }, pc);
        tell_write(to, size, pc);
    }
}

/// Tells that at most `limit` bytes and an end are put behind a string.
unsafe fn tell_appending(to: *mut c_char, from: *const c_char, limit: usize, pc: usize) {
    if counts(pc) {
        // SAFETY: the program passes these strings.
        unsafe {
            let (before, added) = (plain::strlen(to), real::strnlen(from, limit));
            tell_read(to, before + 1, pc);
            tell_read(from, limited(from, limit), pc);
            tell_write(to.add(before), added + 1, pc);
        }
    }
}

/// Tells what a search for one byte looked at.
unsafe fn tell_search(string: *const c_char, found: *const c_char, pc: usize) {
    if counts(pc) {
        let size = if found.is_null() {
            // SAFETY: the program passes a string.
            unsafe { plain::strlen(string) + 1 }
        } else {
            found as usize - string as usize + 1
        };
        tell_read(string, size, pc);
    }
}

/// Tells that a string was written into new memory.
unsafe fn tell_duplicate(copy: *mut c_char, pc: usize) {
    if !copy.is_null() && counts(pc) {
        // SAFETY: the copy is a string.
        tell_write(copy, unsafe { plain::strlen(copy) } + 1, pc);
    }
}

intercept! {
    fn __keirin_intercept_strlen(string: *const c_char; pc) -> size_t {
        let length = plain::strlen(string);
        if counts(pc) {
            tell_read(string, length + 1, pc);
        }
        length
    }

    fn strnlen(string: *const c_char, limit: size_t; pc) -> size_t {
        let length = real::strnlen(string, limit);
        if counts(pc) {
            tell_read(string, if length < limit { length + 1 } else { length }, pc);
        }
        length
    }

    fn strcpy(to: *mut c_char, from: *const c_char; pc) -> *mut c_char {
        tell_copy(to, from, pc);
        real::strcpy(to, from)
    }

    fn __strcpy_chk(to: *mut c_char, from: *const c_char, room: size_t; pc) -> *mut c_char {
        tell_copy(to, from, pc);
        real::__strcpy_chk(to, from, room)
    }

    fn stpcpy(to: *mut c_char, from: *const c_char; pc) -> *mut c_char {
        tell_copy(to, from, pc);
        real::stpcpy(to, from)
    }

    fn __stpcpy_chk(to: *mut c_char, from: *const c_char, room: size_t; pc) -> *mut c_char {
        tell_copy(to, from, pc);
        real::__stpcpy_chk(to, from, room)
    }

    fn strncpy(to: *mut c_char, from: *const c_char, size: size_t; pc) -> *mut c_char {
        tell_filling_copy(to, from, size, pc);
        real::strncpy(to, from, size)
    }

    fn __strncpy_chk(to: *mut c_char, from: *const c_char, size: size_t, room: size_t; pc) -> *mut c_char {
        tell_filling_copy(to, from, size.min(room), pc);
        real::__strncpy_chk(to, from, size, room)
    }

    fn strcat(to: *mut c_char, from: *const c_char; pc) -> *mut c_char {
        tell_appending(to, from, usize::MAX, pc);
        real::strcat(to, from)
    }

    fn __strcat_chk(to: *mut c_char, from: *const c_char, room: size_t; pc) -> *mut c_char {
        tell_appending(to, from, usize::MAX, pc);
        real::__strcat_chk(to, from, room)
    }

    fn strncat(to: *mut c_char, from: *const c_char, limit: size_t; pc) -> *mut c_char {
        tell_appending(to, from, limit, pc);
        real::strncat(to, from, limit)
    }

    fn __strncat_chk(to: *mut c_char, from: *const c_char, limit: size_t, room: size_t; pc) -> *mut c_char {
        tell_appending(to, from, limit, pc);
        real::__strncat_chk(to, from, limit, room)
    }

    fn strcmp(a: *const c_char, b: *const c_char; pc) -> c_int {
        tell_comparison(a, b, usize::MAX, |a, b| a == b, pc);
        real::strcmp(a, b)
    }

    fn strncmp(a: *const c_char, b: *const c_char, limit: size_t; pc) -> c_int {
        tell_comparison(a, b, limit, |a, b| a == b, pc);
        real::strncmp(a, b, limit)
    }

    fn strcasecmp(a: *const c_char, b: *const c_char; pc) -> c_int {
        tell_comparison(a, b, usize::MAX, same_letter, pc);
        real::strcasecmp(a, b)
    }

    fn strncasecmp(a: *const c_char, b: *const c_char, limit: size_t; pc) -> c_int {
        tell_comparison(a, b, limit, same_letter, pc);
        real::strncasecmp(a, b, limit)
    }

    fn strchr(string: *const c_char, byte: c_int; pc) -> *mut c_char {
        let found = real::strchr(string, byte);
        tell_search(string, found, pc);
        found
    }

    fn strrchr(string: *const c_char, byte: c_int; pc) -> *mut c_char {
        tell_search(string, std::ptr::null(), pc);
        real::strrchr(string, byte)
    }

    fn strstr(string: *const c_char, wanted: *const c_char; pc) -> *mut c_char {
        let found = real::strstr(string, wanted);
        if counts(pc) {
            let length = plain::strlen(wanted);
            tell_read(wanted, length + 1, pc);
            if found.is_null() {
                tell_search(string, found, pc);
            } else {
                tell_read(string, found as usize - string as usize + length, pc);
            }
        }
        found
    }

    fn strdup(string: *const c_char; pc) -> *mut c_char {
        tell_search(string, std::ptr::null(), pc);
        let copy = real::strdup(string);
        tell_duplicate(copy, pc);
        copy
    }

    fn strndup(string: *const c_char, limit: size_t; pc) -> *mut c_char {
        if counts(pc) {
            tell_read(string, limited(string, limit), pc);
        }
        let copy = real::strndup(string, limit);
        tell_duplicate(copy, pc);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn limits_count_the_end_if_it_is_within() {
        // SAFETY: the argument is a string.
        let limited = |limit| unsafe { limited(c"four".as_ptr(), limit) };
        assert_eq!((limited(0), limited(3), limited(4), limited(5), limited(9)), (0, 3, 4, 5, 5));
    }

    #[test]
    fn comparisons_stop_at_differences_ends_and_limits() {
        fn size(a: &CStr, b: &CStr, limit: usize) -> usize {
            // SAFETY: the arguments are strings.
            unsafe { compared(a.as_ptr(), b.as_ptr(), limit, |a, b| a == b) }
        }
        assert_eq!(size(c"abc", c"abc", usize::MAX), 4);
        assert_eq!(size(c"abc", c"abd", usize::MAX), 3);
        assert_eq!(size(c"abc", c"ab", usize::MAX), 3);
        assert_eq!(size(c"", c"", usize::MAX), 1);
        assert_eq!(size(c"abc", c"abc", 2), 2);
        assert_eq!(size(c"abc", c"xbc", 0), 0);
        // SAFETY: the arguments are strings.
        assert_eq!(unsafe { compared(c"aBc".as_ptr(), c"AbD".as_ptr(), 9, same_letter) }, 3);
    }
}
