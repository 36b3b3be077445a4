//! Functions on memory: exactly the bytes that they touch are told.

use super::arch::intercept;
use super::{counts_for_memory, plain, tell_read, tell_write};
use crate::{real, watch};
use libc::{c_int, c_void, size_t};

/// Tells a copy.
#[inline]
fn copied(to: *mut c_void, from: *const c_void, size: usize, pc: usize) {
    if counts_for_memory(pc) {
        tell_read(from, size, pc);
        tell_write(to, size, pc);
    }
}

/// Tells that memory is filled.
#[inline]
fn filled(to: *mut c_void, size: usize, pc: usize) {
    if counts_for_memory(pc) {
        tell_write(to, size, pc);
    }
}

/// How many bytes a comparison looks at, up to the first difference, and what it finds there: 0, or the difference.
///
/// # Safety
/// Both are memory of that size.
#[inline(always)]
unsafe fn compared(a: *const u8, b: *const u8, size: usize) -> (usize, c_int) {
    // The first of some bytes that differ: how many bytes that is from the first, and the difference.
    let first = |at: usize, a: u64, b: u64| {
        let bits = (a ^ b).trailing_zeros() / 8 * 8;
        let byte = |bytes: u64| c_int::from((bytes >> bits) as u8);
        (at + bits as usize / 8 + 1, byte(a) - byte(b))
    };
    // Several bytes at once, the last of them perhaps again.
    macro_rules! ends_with {
        ($type:ty, $at:expr) => {{
            let at = $at;
            // SAFETY: by the contract of this function; all that is read lies within.
            let (a, b) = unsafe { (number::<$type>(a.add(at)), number::<$type>(b.add(at))) };
            if a != b {
                return first(at, u64::from(a), u64::from(b));
            }
        }};
    }
    match size {
        0 => {}
        1 => ends_with!(u8, 0),
        2..=3 => {
            ends_with!(u16, 0);
            ends_with!(u16, size - 2);
        }
        4..=7 => {
            ends_with!(u32, 0);
            ends_with!(u32, size - 4);
        }
        _ => {
            let mut at = 0;
            while at + 8 < size {
                ends_with!(u64, at);
                at += 8;
            }
            ends_with!(u64, size - 8);
        }
    }
    (size, 0)
}

/// A number that lies at an address, which need not be a multiple of anything.
#[inline(always)]
unsafe fn number<T: Copy>(at: *const u8) -> T {
    // SAFETY: both callers and their callers know that it is there.
    unsafe { at.cast::<T>().read_unaligned() }
}

/// Tells a comparison, and does it.
#[inline]
unsafe fn tell_comparison(a: *const c_void, b: *const c_void, size: usize, pc: usize) -> c_int {
    // SAFETY: the program compares this memory.
    let (looked_at, difference) = unsafe { compared(a.cast(), b.cast(), size) };
    // Mostly a few bytes, again and again.
    for memory in [a, b] {
        if !watch::has_read_few(memory as usize, looked_at) {
            tell_compared(memory, looked_at, pc);
        }
    }
    difference
}

/// Tells what was compared, if that is to be told.
#[inline(never)]
fn tell_compared(memory: *const c_void, size: usize, pc: usize) {
    if counts_for_memory(pc) && size > 0 && !watch::hooks_only() {
        watch::read_compared(memory as usize, size, pc);
    }
}

// Compilers call the first five at every turn. Where nobody minds accesses they go on in the function itself at once: nothing need be saved
// for what would follow.
intercept! {
    fn __keirin_intercept_memcpy(to: *mut c_void, from: *const c_void, size: size_t; pc) -> *mut c_void {
        if !watch::minds_memory() {
            return plain::memcpy(to, from, size);
        }
        copied(to, from, size, pc);
        plain::memcpy(to, from, size)
    }

    fn __keirin_intercept_memmove(to: *mut c_void, from: *const c_void, size: size_t; pc) -> *mut c_void {
        if !watch::minds_memory() {
            return plain::memmove(to, from, size);
        }
        copied(to, from, size, pc);
        plain::memmove(to, from, size)
    }

    fn __keirin_intercept_memset(to: *mut c_void, byte: c_int, size: size_t; pc) -> *mut c_void {
        if !watch::minds_memory() {
            return plain::memset(to, byte, size);
        }
        filled(to, size, pc);
        plain::memset(to, byte, size)
    }

    fn __keirin_intercept_memcmp(a: *const c_void, b: *const c_void, size: size_t; pc) -> c_int {
        if !watch::minds_memory() {
            return plain::memcmp(a, b, size);
        }
        tell_comparison(a, b, size, pc)
    }

    fn __keirin_intercept_bcmp(a: *const c_void, b: *const c_void, size: size_t; pc) -> c_int {
        if !watch::minds_memory() {
            return plain::bcmp(a, b, size);
        }
        tell_comparison(a, b, size, pc)
    }

    fn mempcpy(to: *mut c_void, from: *const c_void, size: size_t; pc) -> *mut c_void {
        copied(to, from, size, pc);
        plain::memcpy(to, from, size).byte_add(size)
    }

    fn bcopy(from: *const c_void, to: *mut c_void, size: size_t; pc) {
        copied(to, from, size, pc);
        plain::memmove(to, from, size);
    }

    fn bzero(to: *mut c_void, size: size_t; pc) {
        filled(to, size, pc);
        plain::memset(to, 0, size);
    }

    fn memchr(memory: *const c_void, byte: c_int, size: size_t; pc) -> *mut c_void {
        let found = real::memchr(memory, byte, size);
        if counts_for_memory(pc) {
            let looked_at = if found.is_null() { size } else { found as usize - memory as usize + 1 };
            tell_read(memory, looked_at, pc);
        }
        found
    }

    // The functions that compilers call to have the room checked: if it is too small, the original ends the program.
    fn __memcpy_chk(to: *mut c_void, from: *const c_void, size: size_t, room: size_t; pc) -> *mut c_void {
        copied(to, from, size.min(room), pc);
        real::__memcpy_chk(to, from, size, room)
    }

    fn __memmove_chk(to: *mut c_void, from: *const c_void, size: size_t, room: size_t; pc) -> *mut c_void {
        copied(to, from, size.min(room), pc);
        real::__memmove_chk(to, from, size, room)
    }

    fn __mempcpy_chk(to: *mut c_void, from: *const c_void, size: size_t, room: size_t; pc) -> *mut c_void {
        copied(to, from, size.min(room), pc);
        real::__mempcpy_chk(to, from, size, room)
    }

    fn __memset_chk(to: *mut c_void, byte: c_int, size: size_t, room: size_t; pc) -> *mut c_void {
        filled(to, size.min(room), pc);
        real::__memset_chk(to, byte, size, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_looks_at_bytes_up_to_the_first_difference() {
        // SAFETY: the arrays are large enough.
        let compared = |a: &[u8], b: &[u8], size| unsafe { compared(a.as_ptr(), b.as_ptr(), size) };
        assert_eq!(compared(b"abc", b"abc", 3), (3, 0));
        assert_eq!(compared(b"abc", b"abd", 3), (3, -1));
        assert_eq!(compared(b"abc", b"xbc", 3), (1, -23));
        assert_eq!(compared(b"abc", b"xbc", 0), (0, 0));
        // Of each size, with each byte the first that differs, and what follows different as well.
        for size in 0..40 {
            let same = vec![7u8; size];
            assert_eq!(compared(&same, &same, size), (size, 0));
            for at in 0..size {
                let mut other = same.clone();
                other[at..].fill(200);
                assert_eq!(compared(&same, &other, size), (at + 1, -193));
                assert_eq!(compared(&other, &same, size), (at + 1, 193));
            }
        }
    }

    /// Nothing behind the memory is looked at: it may not be there.
    #[test]
    fn a_comparison_stays_within_the_memory() {
        const PAGE: usize = crate::layout::PAGE_BYTES;
        let memory = crate::arena::map(2 * PAGE);
        // SAFETY: both pages were just mapped.
        assert_eq!(unsafe { libc::mprotect(memory.add(PAGE).cast(), PAGE, libc::PROT_NONE) }, 0);
        for size in 0..40 {
            let other = vec![0; size];
            // SAFETY: the memory ends where the first page does.
            let (before_end, found) = unsafe {
                let before_end = memory.add(PAGE - size);
                (
                    before_end,
                    [compared(before_end, other.as_ptr(), size), compared(other.as_ptr(), before_end, size)],
                )
            };
            assert_eq!(found, [(size, 0); 2], "{before_end:?}");
        }
        // SAFETY: nobody uses it any more.
        unsafe { crate::arena::unmap(memory, 2 * PAGE) };
    }
}
