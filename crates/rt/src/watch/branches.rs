//! What the compiler's pass tells beside accesses: values, conditions of branches, what their other sides would do, loops.
//!
//! Values and conditions are for traces only. What other sides would do is for analyses of tasks as well.
//!
//! In a schedule of the same run a branch can go the other way only if it depends on something that was read while, or after, the order
//! of tasks decided what is there: under a lock, by an atomic operation, after a wait for another task's signal; or
//! by a read that races. Until the first of these, analyses in the program are not told what other sides would do, and programs
//! do not work it out. What hides behind a read that races is missed so if nothing else came before; the race itself is told. Traces have
//! all of it.

use super::{is_on, watcher, with};
use crate::watcher::OtherSides;
use keirin_core::event::{AccessKind, LockMode, Op};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Not 0 while somebody wants to hear what the other sides of branches would do. Programs look at it themselves.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
static __keirin_other_sides: AtomicU32 = AtomicU32::new(0);
/// Somebody will, once [`order_decides`].
static AWAITED: AtomicBool = AtomicBool::new(false);

pub(super) fn set_minds_other_sides(when: OtherSides) {
    __keirin_other_sides.store(u32::from(when == OtherSides::Always), Ordering::Relaxed);
    AWAITED.store(when == OtherSides::OnceOrderDecides, Ordering::Relaxed);
}

/// True if the run looks, or will look, at what the other sides of branches would do.
pub(crate) fn minds_other_sides() -> bool {
    are_other_sides_told() || AWAITED.load(Ordering::Relaxed)
}

#[inline]
fn are_other_sides_told() -> bool {
    __keirin_other_sides.load(Ordering::Relaxed) != 0
}

/// What the calling thread reads from now on may depend on the order of tasks. (Others are told the same when they meet something of the
/// kind, or come after this thread: so that nobody needs to look out for it.)
#[inline]
pub(crate) fn order_decides() {
    if AWAITED.load(Ordering::Relaxed) {
        __keirin_other_sides.store(1, Ordering::Relaxed);
        AWAITED.store(false, Ordering::Relaxed);
    }
}

/// The calling thread's next operation on an atomic variable is one by which a library hands out tasks: that order decides nothing.
pub fn atomic_of_library(addr: usize) {
    if AWAITED.load(Ordering::Relaxed) {
        with(|_, thread| thread.atomic_of_library = addr);
    }
}

fn is_recorded() -> bool {
    is_on() && watcher().is_some_and(|watcher| watcher.recorder().is_some())
}

/// What the thread's last access has read. Gives the number of the read in the running task; 0 if it is not told.
pub fn read_value(addr: usize, bits: u64, size: u32) -> u32 {
    let mut number = 0;
    if is_recorded() {
        with(|watcher, thread| {
            if let Some(recorder) = watcher.recorder() {
                number = recorder.read_value(thread, addr, bits, size);
            }
        });
    }
    number
}

/// What the thread's last access has written, and how that was computed: by a formula, which may be empty, from reads with these
/// numbers; or it depends on nothing that was read.
pub fn write_value(addr: usize, bits: u64, size: u32, computed: Option<(&[u8], &[u32])>) {
    if is_recorded() {
        with(|watcher, thread| {
            if let Some(recorder) = watcher.recorder() {
                recorder.write_value(thread, addr, bits, size, computed);
            }
        });
    }
}

/// A branch, with its condition; the formula is empty if that is not known.
pub fn branch(taken: bool, formula: &[u8], reads: &[u32], pc: usize) {
    if is_recorded() {
        with(|watcher, thread| {
            if let Some(recorder) = watcher.recorder() {
                recorder.event(thread, Op::Branch { taken }, pc, false);
                if !formula.is_empty() {
                    recorder.computed(thread, formula, reads);
                }
            }
        });
    }
}

/// An access that the side would do that the last branch did not take.
pub fn other_access(kind: AccessKind, addr: usize, size: usize, pc: usize) {
    if are_other_sides_told() {
        with(|watcher, thread| watcher.other_access(thread, kind, addr, size, pc));
    }
}

/// One thing that the other side of a branch would do, as the pass has it in the program: what in the lowest two bits, then whether a lock
/// is taken together with others, and from the eighth bit on the size of an access.
#[repr(transparent)]
pub struct SideStep(u64);

/// The same as the analyses see it.
pub(crate) enum StepOfSide {
    Access(AccessKind, usize),
    /// A lock, and whether it is acquired.
    Lock(LockMode, bool),
}

impl SideStep {
    /// As the pass would have it.
    #[cfg(test)]
    pub(crate) fn of(op: Op) -> Self {
        let shared = |mode: LockMode| u64::from(mode == LockMode::Shared) << 2;
        Self(match op {
            Op::Access { kind, size, .. } => u64::from(kind == AccessKind::Write) | u64::from(size) << 8,
            Op::Acquire { mode, .. } => 2 | shared(mode),
            Op::Release { mode, .. } => 3 | shared(mode),
            _ => unreachable!("a side does nothing else"),
        })
    }

    #[inline]
    pub(crate) fn what(&self) -> StepOfSide {
        let size = (self.0 >> 8) as usize;
        let mode = if self.0 & 4 == 0 { LockMode::Exclusive } else { LockMode::Shared };
        match self.0 & 3 {
            0 => StepOfSide::Access(AccessKind::Read, size),
            1 => StepOfSide::Access(AccessKind::Write, size),
            2 => StepOfSide::Lock(mode, true),
            _ => StepOfSide::Lock(mode, false),
        }
    }
}

/// A side that the last branch did not take, with the addresses of its memory and locks. True if all of it tells nothing new; else it must be told
/// one by one.
pub fn other_side(side: &[SideStep], at: &[usize]) -> bool {
    let mut is_all = false;
    if are_other_sides_told() {
        with(|watcher, thread| is_all = watcher.other_side(thread, side, at));
    }
    is_all
}

/// What the last such access would write.
pub fn other_value(bits: u64) {
    if is_recorded() {
        with(|watcher, thread| {
            if let Some(recorder) = watcher.recorder() {
                recorder.other_value(thread, bits);
            }
        });
    }
}

/// A lock that the side would acquire or release that the last branch did not take.
pub fn other_lock(lock: usize, mode: LockMode, acquire: bool, pc: usize) {
    if are_other_sides_told() {
        with(|watcher, thread| watcher.other_lock(thread, lock, mode, acquire, pc));
    }
}

/// All that is known of the other side was told.
pub fn other_end() {
    if are_other_sides_told() {
        with(|watcher, thread| watcher.other_end(thread));
    }
}

fn in_loop(number: u64, pc: usize, op: fn(keirin_core::event::LoopId) -> Op) {
    if is_recorded() {
        with(|watcher, thread| {
            if let Some(recorder) = watcher.recorder() {
                let loop_id = recorder.loop_id(number);
                recorder.event(thread, op(loop_id), pc, false);
            }
        });
    }
}

/// A loop is entered. The number is the same in every run.
pub fn loop_entered(number: u64, pc: usize) {
    in_loop(number, pc, |loop_id| Op::LoopEnter { loop_id });
}

/// An iteration of a loop begins.
pub fn loop_iterated(number: u64, pc: usize) {
    in_loop(number, pc, |loop_id| Op::LoopIteration { loop_id });
}

/// A loop is left.
pub fn loop_left(number: u64, pc: usize) {
    in_loop(number, pc, |loop_id| Op::LoopExit { loop_id });
}
