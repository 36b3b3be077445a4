//! Descriptors of tasks, in which private copies of variables lie: the runtime uses their memory again and again. A new one
//! is told before the program writes its copies into it.

use crate::real;
use crate::tls;
use crate::watch;
use libc::{c_int, c_void};

/// The memory of the descriptor that the calling thread has got last: address and size.
pub(super) fn latest() -> (usize, usize) {
    tls::descriptor()
}

/// Defines the allocation of descriptors again, as clang's code calls it. The first word of a descriptor points to the
/// block of shared variables.
#[cfg_attr(feature = "interpose", unsafe(no_mangle))]
unsafe extern "C-unwind" fn __kmpc_omp_task_alloc(
    place: *mut c_void,
    thread: c_int,
    flags: c_int,
    size: usize,
    shared_size: usize,
    entry: *mut c_void,
) -> *mut *mut c_void {
    // SAFETY: the contract of the function, kept by the program that calls it; the descriptor is new.
    unsafe {
        let descriptor = real::__kmpc_omp_task_alloc(place, thread, flags, size, shared_size, entry);
        if watch::is_on() && !descriptor.is_null() {
            watch::forgotten(descriptor as usize, size);
            tls::set_descriptor(descriptor as usize, size);
            if shared_size > 0 && !(*descriptor).is_null() {
                watch::forgotten(*descriptor as usize, shared_size);
            }
        }
        descriptor
    }
}
