//! OpenMP programs, watched through the interface for tools (OMPT) that LLVM's runtime has, libomp.
//!
//! The runtime finds [`ompt_start_tool`] in the program and calls back whenever tasks are created, scheduled, wait for each
//! other or exclude each other. That becomes the structure of tasks that [`watch::structure`] takes: see [`teams`] for
//! parallel regions and barriers, [`tasks`] for explicit tasks, [`dependences`] for `depend`. libomp has gcc's entry points
//! as well, so that programs compiled by gcc are watched the same way when they run on it.

// Without their names nobody calls the functions that programs and the OpenMP runtime look for.
#![cfg_attr(not(feature = "interpose"), allow(dead_code))]

mod callbacks;
mod dependences;
mod descriptors;
mod exclusion;
mod ompt;
mod reductions;
mod tasks;
mod teams;

use crate::intercept::arch::intercept;
use crate::real;
use crate::spin::Apart;
use crate::watch;
use keirin_core::event::MemoryOrder;
use libc::{c_char, c_int, c_uint, c_void};
use ompt::{Data, Function, GetTaskInfo, GetTaskMemory, Lookup, SetCallback, StartResult, callback};
use std::mem::transmute;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// The runtime's function that gives the memory of the current task; null if it has none.
static TASK_MEMORY: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// The runtime's function that tells of the current task; null if it has none.
static TASK_INFO: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static REGIONS: AtomicU64 = AtomicU64::new(0);
static REGIONS_OF_ONE: AtomicU64 = AtomicU64::new(0);
static TASKS: Count = Count::new();
static SERIAL_TASKS: Count = Count::new();
/// A runtime calls back.
static TOLD: AtomicBool = AtomicBool::new(false);

/// What several threads count, each mostly in a number that the others do not touch.
struct Count([Apart<AtomicU64>; Self::PARTS]);

impl Count {
    const PARTS: usize = 16;

    const fn new() -> Self {
        Self([const { Apart(AtomicU64::new(0)) }; Self::PARTS])
    }

    fn add_one(&self) {
        // Stacks of threads lie far apart.
        let here = 0u8;
        let part = (&raw const here as usize >> 16).wrapping_mul(0x9e37_79b9) >> 8;
        self.0[part % Self::PARTS].fetch_add(1, Ordering::Relaxed);
    }

    fn all(&self) -> u64 {
        self.0.iter().map(|part| part.load(Ordering::Relaxed)).sum()
    }
}

static RESULT: StartResult = StartResult { initialize, finalize, tool_data: Data { value: 0 } };

/// The OpenMP runtime asks whether there is a tool.
#[cfg_attr(feature = "interpose", unsafe(no_mangle))]
extern "C" fn ompt_start_tool(_version: c_uint, _runtime: *const c_char) -> *const StartResult {
    if watch::is_on() { &RESULT } else { std::ptr::null() }
}

unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _tool: *mut Data) -> c_int {
    // SAFETY: the runtime gives a function for looking up, and those it knows have these types.
    unsafe {
        let Some(set) = lookup(c"ompt_set_callback".as_ptr()) else { return 0 };
        let set = transmute::<Function, SetCallback>(set);
        if let Some(memory) = lookup(c"ompt_get_task_memory".as_ptr()) {
            TASK_MEMORY.store(memory as *mut c_void, Ordering::Relaxed);
        }
        if let Some(info) = lookup(c"ompt_get_task_info".as_ptr()) {
            TASK_INFO.store(info as *mut c_void, Ordering::Relaxed);
        }
        for (event, function) in [
            (callback::PARALLEL_BEGIN, callbacks::parallel_begin as *const ()),
            (callback::PARALLEL_END, callbacks::parallel_end as *const ()),
            (callback::IMPLICIT_TASK, callbacks::implicit_task as *const ()),
            (callback::TASK_CREATE, callbacks::task_create as *const ()),
            (callback::TASK_SCHEDULE, callbacks::task_schedule as *const ()),
            (callback::DEPENDENCES, callbacks::dependences as *const ()),
            (callback::WORK, callbacks::work_shared as *const ()),
            (callback::DISPATCH, callbacks::dispatch as *const ()),
            (callback::SYNC_REGION, callbacks::sync_region as *const ()),
            (callback::SYNC_REGION_WAIT, callbacks::sync_region_wait as *const ()),
            (callback::REDUCTION, callbacks::reduction as *const ()),
            (callback::MUTEX_ACQUIRE, callbacks::mutex_acquire as *const ()),
            (callback::MUTEX_ACQUIRED, callbacks::mutex_acquired as *const ()),
            (callback::MUTEX_RELEASED, callbacks::mutex_released as *const ()),
            (callback::NEST_LOCK, callbacks::nest_lock as *const ()),
            (callback::LOCK_INIT, callbacks::lock_init as *const ()),
            (callback::LOCK_DESTROY, callbacks::lock_destroy as *const ()),
            (callback::TARGET, callbacks::target as *const ()),
            (callback::TARGET_EMI, callbacks::target as *const ()),
        ] {
            set(event, transmute::<*const (), Function>(function));
        }
    }
    TOLD.store(true, Ordering::Relaxed);
    1
}

unsafe extern "C" fn finalize(_tool: *mut Data) {}

/// The memory of the task that this thread runs: its descriptor and its private copies of variables.
fn task_memory() -> Option<(usize, usize)> {
    let function = TASK_MEMORY.load(Ordering::Relaxed);
    if function.is_null() {
        return None;
    }
    let (mut memory, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: it was looked up by its name, and writes to the two variables.
    unsafe { transmute::<*mut c_void, GetTaskMemory>(function)(&mut memory, &mut size, 0) };
    (!memory.is_null() && size > 0).then_some((memory as usize, size))
}

/// Where the frames begin, on the stack of this thread, of the task that it runs.
fn task_frame() -> Option<usize> {
    let function = TASK_INFO.load(Ordering::Relaxed);
    if function.is_null() {
        return None;
    }
    let mut frame = std::ptr::null_mut();
    let nobody = std::ptr::null_mut();
    let data = std::ptr::null_mut();
    // SAFETY: it was looked up by its name, and writes where it is given a pointer; the frame is the runtime's record.
    unsafe {
        transmute::<*mut c_void, GetTaskInfo>(function)(0, nobody, data, &mut frame, data, nobody);
        frame.as_ref().map(|frame| frame.exit as usize).filter(|exit| *exit != 0)
    }
}

intercept! {
    fn __kmpc_flush(place: *mut c_void; pc) {
        real::__kmpc_flush(place);
        watch::fence(MemoryOrder::SequentiallyConsistent, pc);
    }
}

/// True if a runtime tells what happens.
pub(crate) fn is_told() -> bool {
    TOLD.load(Ordering::Relaxed)
}

/// How much there was of OpenMP, with names; nothing if there was none.
pub(crate) fn counts() -> impl Iterator<Item = (&'static str, u64)> {
    [
        ("OpenMP parallel regions", REGIONS.load(Ordering::Relaxed)),
        ("OpenMP parallel regions run by one thread", REGIONS_OF_ONE.load(Ordering::Relaxed)),
        ("OpenMP explicit tasks", TASKS.all()),
        ("OpenMP tasks that were run at once, as parts of their parents", SERIAL_TASKS.all()),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
}

fn count_region() {
    REGIONS.fetch_add(1, Ordering::Relaxed);
}

fn count_task(serial: bool) {
    TASKS.add_one();
    if serial {
        SERIAL_TASKS.add_one();
    }
}

/// A parallel region is run by one thread: it is serial, which the user may not have had in mind.
fn team_of_one(requested: c_uint) {
    REGIONS_OF_ONE.fetch_add(1, Ordering::Relaxed);
    static NESTED: AtomicBool = AtomicBool::new(false);
    static ALONE: AtomicBool = AtomicBool::new(false);
    if requested > 1 {
        if !NESTED.swap(true, Ordering::Relaxed) {
            watch::note(
                "a parallel region within another one was run by one thread, as nested parallelism is off, and was taken \
                 for serial; set OMP_MAX_ACTIVE_LEVELS=2 or more to have it checked",
            );
        }
    } else if !ALONE.swap(true, Ordering::Relaxed) {
        let by_user = std::env::var_os("OMP_NUM_THREADS").is_some_and(|number| number == "1");
        watch::note(if by_user {
            "OMP_NUM_THREADS=1: with one thread the OpenMP runtime runs every task at once, as if there were none; run the \
             program with 2 threads or more to have it checked"
        } else {
            "a parallel region was run by one thread (clause num_threads or if), and was taken for serial"
        });
    }
}
