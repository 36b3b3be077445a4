//! Reductions by tasks (`task_reduction`, `in_reduction`, `taskloop reduction`).
//!
//! Each thread has a private copy of the variable, and all tasks that it runs add to that copy. Which tasks share a copy is
//! luck, and they come one after the other: so what is known about a copy is forgotten whenever a task asks for it. The
//! copies are combined after the end of the group, which is order enough.

use crate::intercept::arch::intercept;
use crate::real;
use crate::spin::Spin;
use crate::watch;
use libc::{c_int, c_void, size_t};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The sizes of variables, by their addresses.
static SIZES: Spin<FxHashMap<usize, usize>> = Spin::new(FxHashMap::with_hasher(FxBuildHasher));

/// A variable whose size is not known is taken for one of these many bytes; copies lie far apart.
const USUAL_SIZE: usize = 64;

/// Sizes of more variables are not remembered: it is time to forget those that are no more.
const MOST: usize = 1 << 16;

/// One item, as clang passes it: variable, original variable, size, three functions, flags.
type Item = [usize; 7];

/// The words before the variables in the description that gcc passes; then three words for each.
const GCC_HEADER: usize = 7;

fn remember(variable: usize, size: usize) {
    let mut sizes = SIZES.lock();
    if sizes.len() >= MOST {
        sizes.clear();
    }
    sizes.insert(variable, size);
}

fn size_of_variable(variable: usize) -> usize {
    SIZES.lock().get(&variable).copied().unwrap_or(USUAL_SIZE)
}

/// # Safety
/// `items` points to so many of them.
unsafe fn remember_items(number: c_int, items: *const c_void) {
    if watch::is_on() && !items.is_null() {
        // SAFETY: by the contract.
        let items =
            unsafe { std::slice::from_raw_parts(items.cast::<Item>(), usize::try_from(number).unwrap_or(0)) };
        items.iter().for_each(|item| remember(item[0], item[2]));
    }
}

/// What gcc describes: the number of variables, the size of a thread's copies, and where each lies among them.
fn sizes_of_copies(count: usize, whole: usize, entries: &[usize]) -> Vec<(usize, usize)> {
    let offsets = || entries.chunks_exact(3).take(count).map(|entry| entry[1]);
    let end = |offset: usize| offsets().filter(|other| *other > offset).min().unwrap_or(whole);
    let entries = entries.chunks_exact(3).take(count);
    entries.map(|entry| (entry[0], end(entry[1]).saturating_sub(entry[1]))).collect()
}

intercept! {
    fn __kmpc_taskred_init(thread: c_int, number: c_int, items: *mut c_void; _pc) -> *mut c_void {
        remember_items(number, items);
        real::__kmpc_taskred_init(thread, number, items)
    }

    fn __kmpc_taskred_modifier_init(place: *mut c_void, thread: c_int, shared: c_int, number: c_int, items: *mut c_void; _pc) -> *mut c_void {
        remember_items(number, items);
        real::__kmpc_taskred_modifier_init(place, thread, shared, number, items)
    }

    fn __kmpc_task_reduction_get_th_data(thread: c_int, group: *mut c_void, variable: *mut c_void; _pc) -> *mut c_void {
        let copy = real::__kmpc_task_reduction_get_th_data(thread, group, variable);
        if watch::is_on() && !copy.is_null() {
            watch::forgotten(copy as usize, size_of_variable(variable as usize));
        }
        copy
    }

    fn GOMP_taskgroup_reduction_register(description: *mut usize; _pc) {
        if watch::is_on() && !description.is_null() {
            let count = *description;
            let whole = *description.add(1);
            let entries = std::slice::from_raw_parts(description.add(GCC_HEADER), 3 * count);
            for (variable, size) in sizes_of_copies(count, whole, entries) {
                remember(variable, size);
            }
        }
        real::GOMP_taskgroup_reduction_register(description);
    }

    fn GOMP_task_reduction_remap(count: size_t, originals: size_t, pointers: *mut *mut c_void; _pc) {
        let sizes: Vec<usize> = if watch::is_on() {
            (0..count).map(|index| size_of_variable(*pointers.add(index) as usize)).collect()
        } else {
            Vec::new()
        };
        real::GOMP_task_reduction_remap(count, originals, pointers);
        for (index, size) in sizes.into_iter().enumerate() {
            watch::forgotten(*pointers.add(index) as usize, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_offsets() {
        let entries = [0x1000, 8, 0, 0x2000, 0, 0, 0x3000, 16, 0];
        assert_eq!(sizes_of_copies(3, 64, &entries), [(0x1000, 8), (0x2000, 8), (0x3000, 48)]);
        assert_eq!(sizes_of_copies(0, 64, &[]), []);
    }
}
