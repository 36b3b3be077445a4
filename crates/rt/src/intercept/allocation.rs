//! Memory that is handed out and given back.
//!
//! The allocator of the C library is called by its internal names, mappings go to the kernel: nothing is looked up, so all of
//! it works before the start and within the dynamic linker.

use super::arch::intercept;
use crate::real::{
    __libc_calloc, __libc_free, __libc_malloc, __libc_memalign, __libc_realloc, errno, set_errno,
};
use crate::watch;
use libc::{c_int, c_void, off_t, size_t};
use std::ptr::null_mut;

const PAGE: usize = 4096;

/// Tells of memory that was handed out. Passes it on.
#[inline]
fn allocated(memory: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    if !memory.is_null() && watch::is_on() {
        watch::allocated(memory as usize, size, pc);
    }
    memory
}

/// Tells of memory that is about to be given back.
#[inline]
unsafe fn freed(memory: *mut c_void) {
    if !memory.is_null() && watch::is_on() {
        // SAFETY: the program gives back what the allocator has handed out.
        let size = unsafe { libc::malloc_usable_size(memory) };
        watch::forgotten(memory as usize, size);
    }
}

/// The result of a request that is too large for numbers.
fn too_large() -> *mut c_void {
    set_errno(libc::ENOMEM);
    null_mut()
}

/// `realloc`.
unsafe fn reallocate(memory: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    // SAFETY: the contract of `realloc`, kept by the program.
    unsafe {
        freed(memory);
        allocated(__libc_realloc(memory, size), size, pc)
    }
}

intercept! {
    fn malloc(size: size_t; pc) -> *mut c_void {
        allocated(__libc_malloc(size), size, pc)
    }

    fn calloc(count: size_t, size: size_t; pc) -> *mut c_void {
        // Null if the product is too large: then it is not used.
        allocated(__libc_calloc(count, size), count.wrapping_mul(size), pc)
    }

    fn realloc(memory: *mut c_void, size: size_t; pc) -> *mut c_void {
        reallocate(memory, size, pc)
    }

    fn reallocarray(memory: *mut c_void, count: size_t, size: size_t; pc) -> *mut c_void {
        match count.checked_mul(size) {
            Some(size) => reallocate(memory, size, pc),
            None => too_large(),
        }
    }

    fn free(memory: *mut c_void; _pc) {
        freed(memory);
        __libc_free(memory)
    }

    fn memalign(alignment: size_t, size: size_t; pc) -> *mut c_void {
        allocated(__libc_memalign(alignment, size), size, pc)
    }

    fn aligned_alloc(alignment: size_t, size: size_t; pc) -> *mut c_void {
        allocated(__libc_memalign(alignment, size), size, pc)
    }

    fn posix_memalign(memory: *mut *mut c_void, alignment: size_t, size: size_t; pc) -> c_int {
        if !alignment.is_power_of_two() || alignment < size_of::<usize>() {
            return libc::EINVAL;
        }
        let before = errno();
        let found = allocated(__libc_memalign(alignment, size), size, pc);
        set_errno(before);
        if found.is_null() {
            return libc::ENOMEM;
        }
        *memory = found;
        0
    }

    fn valloc(size: size_t; pc) -> *mut c_void {
        allocated(__libc_memalign(PAGE, size), size, pc)
    }

    fn pvalloc(size: size_t; pc) -> *mut c_void {
        match size.checked_next_multiple_of(PAGE) {
            Some(size) => allocated(__libc_memalign(PAGE, size), size, pc),
            None => too_large(),
        }
    }

    fn munmap(memory: *mut c_void, size: size_t; _pc) -> c_int {
        if watch::is_on() {
            watch::forgotten(memory as usize, size);
        }
        libc::syscall(libc::SYS_munmap, memory, size) as c_int
    }

    // The last argument is there only with some flags; the kernel looks at it only then.
    fn mremap(memory: *mut c_void, size: size_t, new_size: size_t, flags: c_int, place: *mut c_void; _pc) -> *mut c_void {
        let result = libc::syscall(libc::SYS_mremap, memory, size, new_size, flags, place) as *mut c_void;
        if result != libc::MAP_FAILED && watch::is_on() {
            watch::forgotten(memory as usize, size);
            watch::forgotten(result as usize, new_size);
        }
        result
    }
}

/// A mapping takes six arguments: there is no room for the place of the call, nor a need.
#[cfg_attr(feature = "interpose", unsafe(no_mangle))]
unsafe extern "C" fn mmap(
    wanted: *mut c_void,
    size: size_t,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the contract of `mmap`, kept by the program.
    let result =
        unsafe { libc::syscall(libc::SYS_mmap, wanted, size, protection, flags, descriptor, offset) };
    let result = result as *mut c_void;
    if result != libc::MAP_FAILED && watch::is_on() {
        watch::forgotten(result as usize, size);
    }
    result
}

/// The same: offsets have 64 bits on this machine anyway.
#[cfg_attr(feature = "interpose", unsafe(no_mangle))]
unsafe extern "C" fn mmap64(
    wanted: *mut c_void,
    size: size_t,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the contract of `mmap`, kept by the program.
    unsafe { mmap(wanted, size, protection, flags, descriptor, offset) }
}
