//! Reductions by tasks (`task_reduction`, `in_reduction`, `taskloop reduction`).
//!
//! Each thread has a private copy of the variable, and all tasks that it runs add to that copy. Which tasks share a copy is
//! luck, and they come one after the other: so what is known about a copy is forgotten whenever a task asks for it. The
//! copies are combined after the end of the group, which is order enough.

use crate::intercept::arch::intercept;
use crate::real;
use crate::spin::Spin;
use crate::watch;
use libc::{c_int, c_uint, c_void};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sizes of variables, by their addresses.
static SIZES: Spin<FxHashMap<usize, usize>> = Spin::new(FxHashMap::with_hasher(FxBuildHasher));

/// A variable whose size is not known is taken for one of these many bytes; copies lie far apart.
const USUAL_SIZE: usize = 64;

/// Sizes of more variables are not remembered: it is time to forget those that are no more.
const MOST: usize = 1 << 16;

/// One item, as clang passes it: variable, original variable, size, three functions, flags.
type Item = [usize; 7];

/// What gcc describes of the reductions of a group: in these words stand where the copies begin and end.
struct Description(*mut usize);
const COPIES: usize = 2;
const COPIES_END: usize = 6;

// SAFETY: it is read under the lock of the list, and lives until it is taken out of it.
unsafe impl Send for Description {}

/// The descriptions of groups that are open, and how many there are.
static GCC: Spin<Vec<Description>> = Spin::new(Vec::new());
static GCC_NUMBER: AtomicUsize = AtomicUsize::new(0);

/// Flags of gcc's loops of tasks.
const NO_GROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;

/// Larger copies than this are none: the description is not one that is known here.
const LARGEST: usize = 1 << 30;

/// A task has ended: another one on the same thread uses the same copies, which gcc's code finds by itself.
pub(super) fn task_ended() {
    if GCC_NUMBER.load(Ordering::Relaxed) == 0 {
        return;
    }
    for Description(words) in GCC.lock().iter() {
        // SAFETY: the group is open, so its description is there.
        let (copies, end) = unsafe { (*words.add(COPIES), *words.add(COPIES_END)) };
        if copies != 0 && copies < end && end - copies <= LARGEST {
            watch::forgotten(copies, end - copies);
        }
    }
}

fn unregister(description: *mut usize) {
    let mut open = GCC.lock();
    if let Some(at) = open.iter().rposition(|other| other.0 == description) {
        open.swap_remove(at);
        GCC_NUMBER.fetch_sub(1, Ordering::Relaxed);
    }
}

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
        real::GOMP_taskgroup_reduction_register(description);
        GCC.lock().push(Description(description));
        GCC_NUMBER.fetch_add(1, Ordering::Relaxed);
    }

    fn GOMP_taskgroup_reduction_unregister(description: *mut usize; _pc) {
        unregister(description);
        real::GOMP_taskgroup_reduction_unregister(description);
    }
}

/// Defines the loop of tasks again. Most of its arguments are passed on as they are.
macro_rules! taskloop {
    ($($name:ident)*) => {$(
        #[cfg_attr(feature = "interpose", unsafe(no_mangle))]
        #[allow(non_snake_case)]
        unsafe extern "C-unwind" fn $name(
            function: usize,
            data: *mut *mut usize,
            copy: usize,
            size: usize,
            alignment: usize,
            flags: c_uint,
            tasks: usize,
            priority: c_int,
            start: usize,
            end: usize,
            step: usize,
        ) {
            // SAFETY: the contract of the function, kept by the program that calls it.
            unsafe {
                let reduces = flags & (REDUCTION | NO_GROUP) == REDUCTION && !data.is_null();
                let description = if reduces { *data.add(2) } else { std::ptr::null_mut() };
                if !description.is_null() {
                    // It is set when the copies are made.
                    *description.add(COPIES) = 0;
                    GCC.lock().push(Description(description));
                    GCC_NUMBER.fetch_add(1, Ordering::Relaxed);
                }
                real::$name(function, data, copy, size, alignment, flags, tasks, priority, start, end, step);
                if !description.is_null() {
                    unregister(description);
                }
            }
        }
    )*};
}

taskloop! { GOMP_taskloop GOMP_taskloop_ull }
