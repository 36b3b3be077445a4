//! Pipelines: the library calls the filters, one item after the other if they are serial, and hands items from task to
//! task.
//!
//! The nodes of the pipeline make the filters when it begins. Their tables of virtual functions are replaced by copies of
//! ours, so that we hear of each filter that is made, and by the same means of each call of a filter.

use super::originals::originals;
use crate::intercept::arch::intercept;
use crate::spin::Spin;
use crate::watch;
use keirin_core::event::LockMode;
use libc::c_void;

/// Virtual functions of nodes and of filters.
const FUNCTIONS: usize = 4;

/// A copy of a table, with one function replaced.
#[repr(C)]
struct Table {
    original: *const usize,
    offset: usize,
    type_information: usize,
    functions: [usize; FUNCTIONS],
}

/// All copies. There is one for each class, and they stay.
static TABLES: Spin<Vec<usize>> = Spin::new(Vec::new());

/// Replaces the first function of an object, unless that was done before.
unsafe fn replace(object: *mut *const usize, count: usize, function: usize) {
    // SAFETY: the object begins with its table, which has so many functions.
    unsafe {
        let original = *object;
        let mut tables = TABLES.lock();
        let of = |address: &usize| (*address as *const Table).as_ref();
        let functions = |table: &Table| (&raw const table.functions).cast::<usize>();
        if tables.iter().filter_map(of).any(|table| functions(table) == original) {
            return;
        }
        let known = tables.iter().filter_map(of).find(|table| table.original == original);
        if let Some(table) = known {
            *object = functions(table);
            return;
        }
        let mut copied = [0; FUNCTIONS];
        for (index, copy) in copied.iter_mut().enumerate().take(count) {
            *copy = *original.add(index);
        }
        copied[0] = function;
        let table = Box::leak(Box::new(Table {
            original,
            offset: *original.sub(2),
            type_information: *original.sub(1),
            functions: copied,
        }));
        *object = functions(table);
        tables.push(std::ptr::from_ref(table).addr());
    }
}

/// The function that was replaced.
unsafe fn replaced(object: *const *const usize) -> usize {
    // SAFETY: the object's table is one of our copies.
    unsafe {
        let functions = *object;
        let table = functions.cast::<u8>().sub(std::mem::offset_of!(Table, functions)).cast::<Table>();
        *(*table).original
    }
}

/// A node of a pipeline: either it has two nodes below it, or it makes a filter.
#[repr(C)]
struct Node {
    table: *const usize,
    references: usize,
    left: *mut Node,
    right: *mut Node,
}

unsafe fn follow_node(node: *mut Node) {
    // SAFETY: the program passes a node and what is below it, which live as long as the pipeline.
    unsafe {
        let Some(&mut Node { left, right, .. }) = node.as_mut() else { return };
        if left.is_null() && right.is_null() {
            let function = make_filter as unsafe extern "C-unwind" fn(*mut Node) -> *mut Filter;
            replace((&raw mut (*node).table).cast(), 3, function as usize);
        }
        follow_node(left);
        follow_node(right);
    }
}

/// A filter.
#[repr(C)]
struct Filter {
    table: *const usize,
    next: *mut Filter,
    buffer: *mut c_void,
    mode: u32,
}

const SERIAL: u32 = 1;
const OUT_OF_ORDER: u32 = 2;

type Make = unsafe extern "C-unwind" fn(*mut Node) -> *mut Filter;
type Work = unsafe extern "C-unwind" fn(*mut Filter, *mut c_void) -> *mut c_void;

unsafe extern "C-unwind" fn make_filter(node: *mut Node) -> *mut Filter {
    // SAFETY: our copy is in place; the original has this type.
    unsafe {
        let original: Make = std::mem::transmute(replaced((&raw const (*node).table).cast()));
        let filter = original(node);
        if !filter.is_null() {
            replace((&raw mut (*filter).table).cast(), 4, work as Work as usize);
        }
        filter
    }
}

/// A name for the way of an item to a filter. Items are pointers, or small values of which several may be the same.
fn token(filter: *const Filter, item: *const c_void) -> usize {
    (filter as usize).rotate_left(20) ^ (item as usize).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What a filter tells when it is done, also by an exception.
struct Working {
    filter: *mut Filter,
    ordered: bool,
    locked: bool,
    pc: usize,
}

impl Drop for Working {
    fn drop(&mut self) {
        if self.ordered {
            watch::happens_before(self.filter as usize, self.pc);
        }
        if self.locked {
            watch::lock_released(self.filter as usize, self.pc);
        }
    }
}

/// A filter is called with an item.
unsafe extern "C-unwind" fn work(filter: *mut Filter, item: *mut c_void) -> *mut c_void {
    // SAFETY: our copy is in place; the original has this type. The library has linked the filters before it calls one.
    unsafe {
        let original = replaced((&raw const (*filter).table).cast());
        let function: Work = std::mem::transmute(original);
        let (mode, next, pc) = ((*filter).mode, (*filter).next, original + 1);
        let serial = mode & SERIAL != 0;
        let working = Working {
            filter,
            ordered: serial && mode & OUT_OF_ORDER == 0,
            locked: serial && mode & OUT_OF_ORDER != 0,
            pc,
        };
        if working.ordered {
            watch::happens_after(filter as usize, pc);
        }
        if working.locked {
            watch::lock_acquired(filter as usize, LockMode::Exclusive, pc);
        }
        watch::happens_after(token(filter, item), pc);
        let result = function(filter, item);
        drop(working);
        if !next.is_null() {
            watch::happens_before(token(next, result), pc);
        }
        result
    }
}

originals! {
    fn _ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE(context: *mut c_void, tokens: usize, node: *mut c_void);
}

intercept! {
    fn _ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE(context: *mut c_void, tokens: usize, node: *mut c_void; _pc) {
        if watch::is_on() {
            follow_node(node.cast());
        }
        self::_ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE(context, tokens, node)
    }
}
