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

/// The runtime's own record of a task, with the tool's word, lies right before the descriptor, and is not longer.
const LONGEST_RECORD: usize = 512;
/// The block of shared variables begins not farther behind what stands before it.
const MOST_BETWEEN: usize = 64;

/// The memory of the task with this word, with its block of shared variables, if it is the one that the calling thread has got last. It was
/// forgotten then, and the program alone has written there since. It is told once: the runtime may use the memory for others without telling.
pub(super) fn take(word: usize) -> Option<(usize, usize)> {
    let (start, size) = latest();
    let is_it = start > word && start - word < LONGEST_RECORD;
    is_it.then(|| {
        tls::set_descriptor(0, 0);
        (start, size)
    })
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
            let (start, shared) = (descriptor as usize, *descriptor as usize);
            let end = start + size;
            if shared_size > 0 && shared >= end && shared - end < MOST_BETWEEN {
                // The block of shared variables is a part of it.
                let size = shared + shared_size - start;
                watch::forgotten(start, size);
                tls::set_descriptor(start, size);
            } else {
                watch::forgotten(start, size);
                tls::set_descriptor(start, size);
                if shared_size > 0 && shared != 0 {
                    watch::forgotten(shared, shared_size);
                }
            }
        }
        descriptor
    }
}
