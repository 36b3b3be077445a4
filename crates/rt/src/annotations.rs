//! The functions behind `include/keirin.h`.

use crate::intercept::arch::hooks;
use crate::intercept::plain;
use crate::watch;
use libc::{c_char, c_void, size_t};

/// A stretch of memory, as the header has it.
#[repr(C)]
struct Member {
    address: usize,
    size: usize,
}

/// More members than these are left out of a group.
const MEMBERS: usize = 64;

/// The bytes of a string of the program; none at all if it is null.
///
/// # Safety
/// `text` is null or a string that lives long enough.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(text.cast(), plain::strlen(text)) }
}

hooks! {
    fn __keirin_atomic_begin(label: *const c_char; pc) {
        if watch::is_on() {
            watch::region_begin(bytes(label), pc);
        }
    }

    fn __keirin_atomic_end(; pc) {
        if watch::is_on() {
            watch::region_end(pc);
        }
    }

    fn __keirin_group(members: *const Member, count: size_t; _pc) {
        if watch::is_on() {
            let mut group = [(0, 0); MEMBERS];
            let count = count.min(MEMBERS);
            for (place, member) in group.iter_mut().zip(std::slice::from_raw_parts(members, count)) {
                *place = (member.address, member.size);
            }
            watch::grouped(&group[..count]);
        }
    }

    fn __keirin_name(memory: *const c_void, size: size_t, name: *const c_char; _pc) {
        if watch::is_on() {
            watch::memory_named(memory as usize, size, bytes(name));
        }
    }

    fn __keirin_happens_before(token: *const c_void; pc) {
        watch::happens_before(token as usize, pc);
    }

    fn __keirin_happens_after(token: *const c_void; pc) {
        watch::happens_after(token as usize, pc);
    }

    fn __keirin_ignore_begin(; _pc) {
        watch::ignore_begin();
    }

    fn __keirin_ignore_end(; _pc) {
        watch::ignore_end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_the_program() {
        // SAFETY: the argument is a string or null.
        unsafe {
            assert_eq!(bytes(c"label".as_ptr()), b"label");
            assert_eq!(bytes(c"".as_ptr()), b"");
            assert_eq!(bytes(std::ptr::null()), b"");
        }
    }
}
