//! Memory that oneTBB hands out and takes back: for task objects, by its allocators, by `libtbbmalloc`.
//!
//! Most of it is used again without the C library's knowledge.

use super::local::Local;
use super::originals::originals;
use crate::intercept::arch::intercept;
use crate::watch;
use libc::{c_int, c_void, size_t};

/// Tells of memory that was handed out. Passes it on.
fn allocated(memory: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    if !memory.is_null() && watch::is_on() {
        watch::allocated(memory as usize, size, pc);
    }
    memory
}

/// The same for memory that containers use.
fn allocated_for_container(memory: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    if watch::is_on() {
        // SAFETY: the thread's own, which lives for ever.
        unsafe { (*Local::get()).last_block = (memory as usize, size) };
    }
    allocated(memory, size, pc)
}

/// Tells of memory that is about to be given back.
fn freed(memory: *mut c_void, size: usize) {
    if !memory.is_null() && watch::is_on() {
        watch::forgotten(memory as usize, size);
    }
}

/// The same for memory of `libtbbmalloc`, which knows its size.
unsafe fn freed_scalable(memory: *mut c_void) {
    if !memory.is_null() && watch::is_on() {
        // SAFETY: the program gives back what was handed out.
        freed(memory, unsafe { scalable_msize(memory) });
    }
}

originals! {
    fn _ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(pool: *mut c_void, size: size_t) -> *mut c_void;
    fn _ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE(pool: *mut c_void, size: size_t, data: *mut c_void) -> *mut c_void;
    fn _ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvm(pool: *mut c_void, memory: *mut c_void, size: size_t);
    fn _ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE(pool: *mut c_void, memory: *mut c_void, size: size_t, data: *mut c_void);
    fn _ZN3tbb6detail2r122cache_aligned_allocateEm(size: size_t) -> *mut c_void;
    fn _ZN3tbb6detail2r115allocate_memoryEm(size: size_t) -> *mut c_void;
    fn scalable_malloc(size: size_t) -> *mut c_void;
    fn scalable_calloc(count: size_t, size: size_t) -> *mut c_void;
    fn scalable_realloc(memory: *mut c_void, size: size_t) -> *mut c_void;
    fn scalable_free(memory: *mut c_void);
    fn scalable_msize(memory: *mut c_void) -> size_t;
    fn scalable_posix_memalign(memory: *mut *mut c_void, alignment: size_t, size: size_t) -> c_int;
    fn scalable_aligned_malloc(size: size_t, alignment: size_t) -> *mut c_void;
    fn scalable_aligned_realloc(memory: *mut c_void, size: size_t, alignment: size_t) -> *mut c_void;
    fn scalable_aligned_free(memory: *mut c_void);
}

intercept! {
    fn _ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(pool: *mut c_void, size: size_t; pc) -> *mut c_void {
        allocated(self::_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(pool, size), size, pc)
    }

    fn _ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE(pool: *mut c_void, size: size_t, data: *mut c_void; pc) -> *mut c_void {
        allocated(self::_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE(pool, size, data), size, pc)
    }

    fn _ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvm(pool: *mut c_void, memory: *mut c_void, size: size_t; _pc) {
        freed(memory, size);
        self::_ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvm(pool, memory, size)
    }

    fn _ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE(pool: *mut c_void, memory: *mut c_void, size: size_t, data: *mut c_void; _pc) {
        freed(memory, size);
        self::_ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE(pool, memory, size, data)
    }

    // How large it was is not known when it is given back; it is new when it is handed out again.
    fn _ZN3tbb6detail2r122cache_aligned_allocateEm(size: size_t; pc) -> *mut c_void {
        allocated_for_container(self::_ZN3tbb6detail2r122cache_aligned_allocateEm(size), size, pc)
    }

    fn _ZN3tbb6detail2r115allocate_memoryEm(size: size_t; pc) -> *mut c_void {
        allocated_for_container(self::_ZN3tbb6detail2r115allocate_memoryEm(size), size, pc)
    }

    fn scalable_malloc(size: size_t; pc) -> *mut c_void {
        allocated(self::scalable_malloc(size), size, pc)
    }

    fn scalable_calloc(count: size_t, size: size_t; pc) -> *mut c_void {
        allocated(self::scalable_calloc(count, size), count.wrapping_mul(size), pc)
    }

    fn scalable_realloc(memory: *mut c_void, size: size_t; pc) -> *mut c_void {
        freed_scalable(memory);
        allocated(self::scalable_realloc(memory, size), size, pc)
    }

    fn scalable_free(memory: *mut c_void; _pc) {
        freed_scalable(memory);
        self::scalable_free(memory)
    }

    fn scalable_posix_memalign(memory: *mut *mut c_void, alignment: size_t, size: size_t; pc) -> c_int {
        let result = self::scalable_posix_memalign(memory, alignment, size);
        if result == 0 {
            allocated(*memory, size, pc);
        }
        result
    }

    fn scalable_aligned_malloc(size: size_t, alignment: size_t; pc) -> *mut c_void {
        allocated(self::scalable_aligned_malloc(size, alignment), size, pc)
    }

    fn scalable_aligned_realloc(memory: *mut c_void, size: size_t, alignment: size_t; pc) -> *mut c_void {
        freed_scalable(memory);
        allocated(self::scalable_aligned_realloc(memory, size, alignment), size, pc)
    }

    fn scalable_aligned_free(memory: *mut c_void; _pc) {
        freed_scalable(memory);
        self::scalable_aligned_free(memory)
    }
}
