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
    let mut at = 0;
    // Several bytes at once, as long as there are as many.
    // SAFETY: by the contract of this function.
    while at + 8 <= size && unsafe { is_same::<u64>(a.add(at), b.add(at)) } {
        at += 8;
    }
    // SAFETY: as above.
    if at + 4 <= size && unsafe { is_same::<u32>(a.add(at), b.add(at)) } {
        at += 4;
    }
    while at < size {
        // SAFETY: as above.
        let (a, b) = unsafe { (*a.add(at), *b.add(at)) };
        at += 1;
        if a != b {
            return (at, c_int::from(a) - c_int::from(b));
        }
    }
    (size, 0)
}

/// True if the same numbers are at two addresses.
#[inline(always)]
unsafe fn is_same<T: Copy + PartialEq>(a: *const u8, b: *const u8) -> bool {
    // SAFETY: both are memory of that size.
    unsafe { a.cast::<T>().read_unaligned() == b.cast::<T>().read_unaligned() }
}

/// Tells a comparison, and does it.
#[inline]
unsafe fn tell_comparison(a: *const c_void, b: *const c_void, size: usize, pc: usize) -> c_int {
    if !counts_for_memory(pc) {
        // SAFETY: the program compares this memory.
        return unsafe { plain::memcmp(a, b, size) };
    }
    // SAFETY: as above.
    let (looked_at, difference) = unsafe { compared(a.cast(), b.cast(), size) };
    tell_read(a, looked_at, pc);
    tell_read(b, looked_at, pc);
    difference
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
