//! Flow graphs: the headers bracket the bodies of nodes for profiling tools. What is outside of them, in a task of a graph, is
//! the library's own work.

use super::local::Local;
use crate::watch;
use libc::{c_int, c_void};

/// Kinds of what is told for profiling tools.
const FLOW_GRAPH: c_int = 0;

/// The body of a node of a flow graph begins. Six arguments leave no room for the place of the call.
#[cfg_attr(feature = "interpose", unsafe(no_mangle))]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3tbb6detail2r114itt_task_beginENS0_2d115itt_domain_enumEPvyS4_yNS0_2d021string_resource_indexE(
    kind: c_int,
    _task: *mut c_void,
    _task_extra: u64,
    _parent: *mut c_void,
    _parent_extra: u64,
    _name: usize,
) {
    if kind == FLOW_GRAPH && watch::is_on() {
        // SAFETY: the thread's own, which lives for ever.
        unsafe { (*Local::get()).bodies += 1 };
    }
}

/// It ends.
#[cfg_attr(feature = "interpose", unsafe(no_mangle))]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3tbb6detail2r112itt_task_endENS0_2d115itt_domain_enumE(kind: c_int) {
    if kind == FLOW_GRAPH && watch::is_on() {
        // SAFETY: the thread's own, which lives for ever.
        let bodies = unsafe { &mut (*Local::get()).bodies };
        *bodies = bodies.saturating_sub(1);
    }
}
