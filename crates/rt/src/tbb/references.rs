//! The library's counts of references: how it finds out that all parts of something are done.
//!
//! They are code of the headers, which `keirin c++` has call the functions below. Who counts down to zero comes after all others by that;
//! what follows depends on what is counted:
//!
//! | count | what then happens | order |
//! |---|---|---|
//! | of a wait, of `parallel_invoke` | a wait ends | told by the wait |
//! | of a node in the tree of a `parallel_for` | the node is gone | none |
//! | of a node of a `parallel_reduce` | the last one puts the two parts together | that of a tree |
//! | of other trees | | as of any atomic variable |
//!
//! The right part of a `parallel_reduce` looks at the count before it begins: if the left one is done it goes on with that one's result, a way
//! that other schedules do not take. So it is told that the left one is not done: the way that can always be taken. What puts
//! both together then comes after two parts of the tree as a whole, so that the order is that of another tree.

use super::local::{self, Class, Local};
use super::locks::{ACQUIRED, RELEASING};
use crate::intercept::arch::hooks;
use crate::spin::Spin;
use crate::watch;
use libc::{c_int, c_void, size_t};
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::collections::HashSet;
use std::sync::atomic::AtomicU32;

/// A node in the tree of a loop: its parent, and how many refer to it.
const NODE: usize = 16;
const COUNT: usize = 8;

/// Nodes of reductions with one part done.
static NODES: [Spin<FxHashSet<usize>>; 64] = [const { Spin::new(HashSet::with_hasher(FxBuildHasher)) }; 64];

fn nodes(node: usize) -> &'static Spin<FxHashSet<usize>> {
    &NODES[(node >> 4 ^ node >> 10) % 64]
}

fn class() -> Class {
    // SAFETY: the thread's own, which lives for ever.
    unsafe { (*Local::get()).class() }
}

/// True for the count of references of a node of a reduction one part of which is done, asked by the other one.
pub(crate) fn counts_parts(addr: usize) -> bool {
    let node = addr.wrapping_sub(COUNT);
    local::is_known() && class() == Class::Reduce && nodes(node).lock().contains(&node)
}

/// Where the right part of a reduction shall look instead of at the count of its node.
pub(crate) fn count_to_tell(addr: usize) -> Option<*mut u32> {
    static BOTH: AtomicU32 = AtomicU32::new(2);
    counts_parts(addr).then_some(BOTH.as_ptr())
}

hooks! {
    // A count is about to be changed by which the library waits.
    fn __keirin_tbb_reference(what: c_int, counted: *mut c_void, size: size_t; _pc) {
        if what == RELEASING && watch::is_on() {
            local::silence_next(1, counted as usize, size);
        }
    }

    // The count of a node of a loop is about to be changed, or was found to be zero.
    fn __keirin_tbb_node(what: c_int, node: *mut c_void; _pc) {
        if !watch::is_on() {
            return;
        }
        let node = node as usize;
        match (class(), what) {
            (Class::For, RELEASING) => local::silence_next(1, node, NODE),
            // The root has one part, and nobody looks at its count; nor is it told when that is zero.
            (Class::Reduce, RELEASING) if *(node as *const usize) != 0 => _ = nodes(node).lock().insert(node),
            (Class::Reduce, ACQUIRED) => _ = nodes(node).lock().remove(&node),
            _ => {}
        }
    }
}
