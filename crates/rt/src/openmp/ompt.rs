//! The interface between an OpenMP runtime and a tool (OMPT), as far as it is used here: types and numbers of version 5
//! of the OpenMP specification.

use libc::{c_char, c_int, c_void, size_t};

/// A word that the tool may use as it likes, one for each thread, task and parallel region.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union Data {
    pub(super) value: u64,
    pub(super) pointer: *mut c_void,
}

impl Data {
    /// What the tool has put into a word; null if there is no word.
    ///
    /// # Safety
    /// `data` is null or a word of the runtime that the tool fills with pointers to `T` only.
    pub(super) unsafe fn get<T>(data: *mut Data) -> *mut T {
        // SAFETY: by the contract; the runtime has set it to zero.
        if data.is_null() { std::ptr::null_mut() } else { unsafe { (*data).pointer.cast() } }
    }

    /// Puts a pointer into a word, if there is one.
    ///
    /// # Safety
    /// `data` is null or a word of the runtime.
    pub(super) unsafe fn set<T>(data: *mut Data, pointer: *mut T) {
        if !data.is_null() {
            // SAFETY: by the contract.
            unsafe { (*data).pointer = pointer.cast() };
        }
    }
}

/// One item of a `depend` clause.
#[repr(C)]
pub(super) struct Dependence {
    /// The address of the storage; of doacross loops a component of the iteration's vector.
    pub(super) variable: Data,
    pub(super) kind: c_int,
}

/// Where the frames of a task are.
#[repr(C)]
pub(super) struct Frame {
    /// That of the runtime's function from which the task was called: all frames of the task are below.
    pub(super) exit: *mut c_void,
    pub(super) enter: *mut c_void,
    pub(super) exit_flags: c_int,
    pub(super) enter_flags: c_int,
}

/// Any function of the runtime or the tool.
pub(super) type Function = unsafe extern "C" fn();
pub(super) type Lookup = unsafe extern "C" fn(*const c_char) -> Option<Function>;
pub(super) type SetCallback = unsafe extern "C" fn(c_int, Function) -> c_int;
pub(super) type GetTaskInfo = unsafe extern "C" fn(
    c_int,
    *mut c_int,
    *mut *mut Data,
    *mut *mut Frame,
    *mut *mut Data,
    *mut c_int,
) -> c_int;
pub(super) type GetTaskMemory = unsafe extern "C" fn(*mut *mut c_void, *mut size_t, c_int) -> c_int;

/// What `ompt_start_tool` returns.
#[repr(C)]
pub(super) struct StartResult {
    pub(super) initialize: unsafe extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    pub(super) finalize: unsafe extern "C" fn(*mut Data),
    pub(super) tool_data: Data,
}

// SAFETY: it holds no more than addresses of functions and a word for the runtime, which has the only copy.
unsafe impl Sync for StartResult {}

/// Numbers of the callbacks.
pub(super) mod callback {
    use super::c_int;
    pub(crate) const PARALLEL_BEGIN: c_int = 3;
    pub(crate) const PARALLEL_END: c_int = 4;
    pub(crate) const TASK_CREATE: c_int = 5;
    pub(crate) const TASK_SCHEDULE: c_int = 6;
    pub(crate) const IMPLICIT_TASK: c_int = 7;
    pub(crate) const TARGET: c_int = 8;
    pub(crate) const SYNC_REGION_WAIT: c_int = 16;
    pub(crate) const MUTEX_RELEASED: c_int = 17;
    pub(crate) const DEPENDENCES: c_int = 18;
    pub(crate) const WORK: c_int = 20;
    pub(crate) const SYNC_REGION: c_int = 23;
    pub(crate) const LOCK_INIT: c_int = 24;
    pub(crate) const LOCK_DESTROY: c_int = 25;
    pub(crate) const MUTEX_ACQUIRE: c_int = 26;
    pub(crate) const MUTEX_ACQUIRED: c_int = 27;
    pub(crate) const NEST_LOCK: c_int = 28;
    pub(crate) const REDUCTION: c_int = 31;
    pub(crate) const DISPATCH: c_int = 32;
    pub(crate) const TARGET_EMI: c_int = 33;
}

/// The beginning or the end of something that takes time.
pub(super) mod endpoint {
    use super::c_int;
    pub(crate) const BEGIN: c_int = 1;
    pub(crate) const END: c_int = 2;
}

/// Kinds of regions in which tasks wait for each other.
pub(super) mod sync {
    use super::c_int;
    pub(crate) const BARRIER: c_int = 1;
    pub(crate) const BARRIER_IMPLICIT: c_int = 2;
    pub(crate) const BARRIER_EXPLICIT: c_int = 3;
    pub(crate) const BARRIER_IMPLEMENTATION: c_int = 4;
    pub(crate) const TASKWAIT: c_int = 5;
    pub(crate) const TASKGROUP: c_int = 6;
    pub(crate) const BARRIER_WORKSHARE: c_int = 8;
    pub(crate) const BARRIER_PARALLEL: c_int = 9;
    pub(crate) const BARRIER_TEAMS: c_int = 10;
}

/// Kinds of work that is shared.
pub(super) mod work {
    use super::c_int;
    pub(crate) const SECTIONS: c_int = 2;
    pub(crate) const TASKLOOP: c_int = 7;
    pub(crate) const LOOP_DYNAMIC: c_int = 11;
    pub(crate) const LOOP_GUIDED: c_int = 12;
    pub(crate) const LOOP_OTHER: c_int = 13;
}

/// Kinds of mutual exclusion.
pub(super) mod mutex {
    use super::c_int;
    pub(crate) const CRITICAL: c_int = 5;
    /// What a compiler cannot do by one instruction it does under a lock of the runtime.
    pub(crate) const ATOMIC: c_int = 6;
    pub(crate) const ORDERED: c_int = 7;
}

/// Flags of tasks.
pub(super) mod task {
    use super::c_int;
    pub(crate) const INITIAL: c_int = 0x1;
    pub(crate) const TASKWAIT: c_int = 0x10;
    pub(crate) const UNDEFERRED: c_int = 0x0800_0000;
    pub(crate) const MERGED: c_int = c_int::MIN;
}

/// Why a thread leaves a task.
pub(super) mod status {
    use super::c_int;
    pub(crate) const COMPLETE: c_int = 1;
    pub(crate) const CANCEL: c_int = 3;
    pub(crate) const DETACH: c_int = 4;
    pub(crate) const EARLY_FULFIL: c_int = 5;
    pub(crate) const LATE_FULFIL: c_int = 6;
    pub(crate) const TASKWAIT_COMPLETE: c_int = 8;
}

/// Kinds of dependences.
pub(super) mod dependence {
    use super::c_int;
    pub(crate) const IN: c_int = 1;
    pub(crate) const MUTEX_SET: c_int = 4;
    pub(crate) const SOURCE: c_int = 5;
    pub(crate) const SINK: c_int = 6;
    pub(crate) const INOUT_SET: c_int = 7;
    pub(crate) const OUT_ALL: c_int = 34;
    pub(crate) const INOUT_ALL: c_int = 35;
}
