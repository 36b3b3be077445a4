//! A few words for each thread that the hooks reach with one instruction: valid from the first instruction of a thread,
//! without allocation, start or destructor.
//!
//! Rust's `thread_local!` would call into the dynamic linker when this is part of a shared object; defined here by hand
//! with the initial-exec model, it does not, and in an executable the linker turns it into a constant offset.

use crate::thread::Thread;
use std::arch::{asm, global_asm};
use std::sync::atomic::Ordering;

global_asm!(
    ".section .tbss.__keirin_tls,\"awT\",@nobits",
    ".p2align 6",
    ".globl __keirin_tls",
    ".hidden __keirin_tls",
    ".type __keirin_tls,@object",
    ".size __keirin_tls,128",
    "__keirin_tls:",
    ".zero 128",
    ".globl __keirin_known_2",
    ".type __keirin_known_2,@object",
    ".size __keirin_known_2,16",
    "__keirin_known_2:",
    ".zero 16",
    ".zero 8",
    ".text",
);

/// Offset of the pointer to the [`Thread`].
const THREAD: usize = 0;
/// Offset of what the shadow of a word holds that this thread wrote in its current epoch; 0: always ask.
pub(crate) const WROTE: usize = 8;
/// The same for what it read.
pub(crate) const READ: usize = 16;
/// The same for the head of a word with one cell, which it read.
pub(crate) const READ_AMONG_OTHERS: usize = 24;
/// Offset of where in the shadow of a word, in bytes, this thread is noted as a reader if there is room.
pub(crate) const NOTE: usize = 32;
/// Offset of the step that this thread is at, as the shadow of programs with tasks has it; 0: always ask; [`SERIAL`]: never.
pub(crate) const TASK: usize = 40;
/// In the place of a step: nothing that it accesses need be told. The hooks look at the sign.
pub(crate) const SERIAL: u64 = 1 << 63;
/// Offsets of the table of what this thread has accessed lately in a program with tasks, null if there is none, and of what its
/// entries of now have in common.
pub(crate) const RECENT: usize = 48;
pub(crate) const RECENT_TURN: usize = 56;
/// Offsets of address and size of the descriptor that an OpenMP task of this thread has got last.
const DESCRIPTOR: usize = 64;
const DESCRIPTOR_SIZE: usize = 72;
/// Offset of the pointer to what a thread holds of OpenMP's locks.
const OPENMP: usize = 80;
/// Offset of the pointer to what is kept for a thread that has to do with oneTBB.
const TBB: usize = 88;

/// Offset of a number for the calls that are open in this thread.
pub(crate) const CALLS: usize = 96;
/// Offset of the pointer to the accesses of a task that are not told yet.
pub(crate) const PENDING: usize = 104;
/// Offset of 1 if the threads that this thread creates run tasks and nothing else.
const CREATES_WORKERS: usize = 112;
/// Offset of the pointer to the task of a Rust program that this thread runs, if it is untold.
const UNTOLD: usize = 120;

/// Offsets of what a word of the shadow looks like whose bytes the step has all read, or written; 0: always ask; 1: nothing need be told. Programs
/// look at them, under the name `__keirin_known_2` (`crates/pass/src/known.h`).
const KNOWN_READ: usize = 128;
const KNOWN_WROTE: usize = 136;
/// Offset of the pointer to the [`Thread`] again, behind what programs look at, if all that its calls of functions matter for is which of them are open;
/// else 0.
pub(crate) const COUNTS_CALLS: usize = 144;
/// No step has such a pattern, as no word that tells of a write alone is odd.
const ALL_KNOWN: usize = 1;

#[inline(always)]
fn get<const OFFSET: usize>() -> usize {
    let value: usize;
    // SAFETY: reads a word of the block above, which every thread has.
    unsafe {
        asm!(
            "mov {value}, qword ptr [rip + __keirin_tls@GOTTPOFF]",
            "mov {value}, qword ptr fs:[{value} + {offset}]",
            value = out(reg) value,
            offset = const OFFSET,
            options(readonly, nostack, preserves_flags),
        );
    }
    value
}

#[inline(always)]
fn set<const OFFSET: usize>(value: usize) {
    // SAFETY: writes a word of the block above, which every thread has, and which nobody else refers to.
    unsafe {
        asm!(
            "mov {base}, qword ptr [rip + __keirin_tls@GOTTPOFF]",
            "mov qword ptr fs:[{base} + {offset}], {value}",
            base = out(reg) _,
            value = in(reg) value,
            offset = const OFFSET,
            options(nostack, preserves_flags),
        );
    }
}

/// The calling thread, null until it is attached.
#[inline(always)]
pub(crate) fn thread() -> *mut Thread {
    get::<THREAD>() as *mut Thread
}

/// Attaches or detaches the calling thread.
pub(crate) fn set_thread(thread: *mut Thread) {
    set::<THREAD>(thread as usize);
    set_counts_calls(std::ptr::null_mut());
}

/// Tells the hooks the calling thread, if all that its calls of functions matter for is which of them are open, or null: perhaps they matter for more. That
/// is so again when the thread is attached or detached, or has to do with oneTBB.
pub(crate) fn set_counts_calls(thread: *mut Thread) {
    set::<COUNTS_CALLS>(thread as usize);
}

/// What is kept for the calling thread because of OpenMP's locks; null if it never had to do with one.
pub(crate) fn openmp() -> *mut () {
    get::<OPENMP>() as *mut ()
}

/// Sets it.
pub(crate) fn set_openmp(list: *mut ()) {
    set::<OPENMP>(list as usize);
}

/// What is kept for the calling thread because of oneTBB; null if it has nothing to do with it.
#[inline(always)]
pub(crate) fn tbb() -> *mut () {
    get::<TBB>() as *mut ()
}

/// Sets it.
pub(crate) fn set_tbb(local: *mut ()) {
    set::<TBB>(local as usize);
    set_counts_calls(std::ptr::null_mut());
}

/// True if the threads that the calling thread creates run tasks and nothing else.
pub(crate) fn creates_workers() -> bool {
    get::<CREATES_WORKERS>() != 0
}

/// Sets it.
pub(crate) fn set_creates_workers(creates: bool) {
    set::<CREATES_WORKERS>(usize::from(creates));
}

/// The task of a Rust program that the calling thread runs, if it is untold.
#[inline(always)]
pub(crate) fn untold() -> *mut () {
    get::<UNTOLD>() as *mut ()
}

/// Sets it.
#[inline(always)]
pub(crate) fn set_untold(half: *mut ()) {
    set::<UNTOLD>(half as usize);
}

/// Tells the hooks what the shadow of memory looks like that need not be told about again. Zeros: tell everything.
#[inline]
pub(crate) fn set_epoch(wrote: u64, read: u64) {
    set::<WROTE>(wrote as usize);
    set::<READ>(read as usize);
    set::<READ_AMONG_OTHERS>((read | crate::shadow::SHARED) as usize);
}

/// The epoch of the calling thread, as the shadow has it; 0: tell everything.
#[inline(always)]
pub(crate) fn epoch() -> u64 {
    get::<READ>() as u64
}

/// Tells the hooks where this thread is noted as a reader.
#[inline]
pub(crate) fn set_note(offset: usize) {
    set::<NOTE>(offset);
}

/// Where this thread is noted as a reader: in bytes, as [`set_note`] has told it, which is never more than the size of a word.
#[inline(always)]
pub(crate) fn note() -> usize {
    get::<NOTE>()
}

/// Tells the hooks which step the calling thread is at, if what that has done without locks need not be told again; 0: tell
/// everything.
#[inline]
pub(crate) fn set_task(step: u64) {
    set::<TASK>(step as usize);
    let [read, wrote] = if step == 0 { [0; 2] } else { crate::tasks::patterns(step) };
    set::<KNOWN_READ>(read as usize);
    set::<KNOWN_WROTE>(wrote as usize);
}

/// Tells the hooks that nothing which the calling thread accesses need be told.
#[inline]
pub(crate) fn set_serial() {
    set::<TASK>(SERIAL as usize);
    set::<KNOWN_READ>(ALL_KNOWN);
    set::<KNOWN_WROTE>(ALL_KNOWN);
}

/// What [`set_task`] or [`set_serial`] has told.
#[inline(always)]
pub(crate) fn task() -> u64 {
    get::<TASK>() as u64
}

/// True if nothing which the calling thread accesses need be told.
#[inline(always)]
pub(crate) fn is_serial() -> bool {
    task() == SERIAL
}

/// The words by which the calling thread tells its hooks what they need not tell.
#[derive(PartialEq, Eq)]
pub(crate) struct TellsLess {
    words: [*mut usize; 3],
}

// SAFETY: the words may be set to zero by anybody: see `tell_all`.
unsafe impl Send for TellsLess {}

impl TellsLess {
    /// Those of the calling thread.
    pub(crate) fn of_this_thread() -> Self {
        let block: usize;
        // SAFETY: reads where the block of this thread lies; the first word behind `fs` is its own address.
        unsafe {
            asm!(
                "mov {block}, qword ptr [rip + __keirin_tls@GOTTPOFF]",
                "add {block}, qword ptr fs:[0]",
                block = out(reg) block,
                options(readonly, nostack),
            );
        }
        Self { words: [TASK, KNOWN_READ, KNOWN_WROTE].map(|offset| (block + offset) as *mut usize) }
    }

    /// From now on its hooks tell everything, until the thread itself says otherwise.
    ///
    /// # Safety
    /// The thread must not have ended.
    pub(crate) unsafe fn tell_all(&self) {
        for word in self.words {
            // SAFETY: the words of a thread are there as long as it is. Whatever it writes there itself at the same time, one of both
            // is read then, and either is right: zero lets it tell more.
            unsafe { (*word.cast::<std::sync::atomic::AtomicUsize>()).store(0, Ordering::Relaxed) };
        }
    }
}

/// Tells the hooks where accesses are collected that are told later.
#[inline]
pub(crate) fn set_pending(runs: usize) {
    set::<PENDING>(runs);
}

/// What [`set_pending`] has told.
#[inline(always)]
pub(crate) fn pending() -> usize {
    get::<PENDING>()
}

/// What [`set_calls`] has told.
#[inline(always)]
pub(crate) fn calls() -> u64 {
    get::<CALLS>() as u64
}

/// Tells the hooks which calls are open in the calling thread.
#[inline(always)]
pub(crate) fn set_calls(hash: u64) {
    set::<CALLS>(hash as usize);
}

/// Tells the hooks what the calling thread has accessed lately.
pub(crate) fn set_recent(entries: usize, turn: u64) {
    set::<RECENT>(entries);
    set::<RECENT_TURN>(turn as usize);
}

/// What [`set_recent`] has told.
#[inline(always)]
pub(crate) fn recent() -> (usize, u64) {
    (get::<RECENT>(), get::<RECENT_TURN>() as u64)
}

/// The descriptor of a task that the runtime for OpenMP gave to this thread last: address and size.
pub(crate) fn descriptor() -> (usize, usize) {
    (get::<DESCRIPTOR>(), get::<DESCRIPTOR_SIZE>())
}

/// Sets what [`descriptor`] gives.
pub(crate) fn set_descriptor(address: usize, size: usize) {
    set::<DESCRIPTOR>(address);
    set::<DESCRIPTOR_SIZE>(size);
}
