//! What our own pass of the compiler calls: values of what is read and written, conditions of branches, what their other sides
//! would do, and loops.
//!
//! The calls stand behind the accesses that they are about, whose own hooks have told them. Numbers of reads are told to
//! the program, which hands them back with what it has computed from these reads.

use crate::intercept::arch::hooks;
use crate::intercept::plain;
use crate::passes::{self, Pass};
use crate::watch::{self, SideStep};
use keirin_core::event::{AccessKind, LockMode};
use libc::{c_char, c_void};

/// What something was computed from: a text of the program, and numbers of reads.
///
/// # Safety
/// `formula` is null or a string of the module, `reads` so many numbers.
unsafe fn computed<'a>(
    formula: *const c_char,
    count: u32,
    reads: *const u32,
) -> Option<(&'a [u8], &'a [u32])> {
    if formula.is_null() {
        return None;
    }
    // SAFETY: by the contract of this function.
    unsafe {
        let text = std::slice::from_raw_parts(formula.cast(), plain::strlen(formula));
        let reads = if count == 0 { &[] } else { std::slice::from_raw_parts(reads, count as usize) };
        Some((text, reads))
    }
}

fn mode(shared: u32) -> LockMode {
    if shared == 0 { LockMode::Exclusive } else { LockMode::Shared }
}

hooks! {
    fn __keirin_read_value(address: *const c_void, value: u64, size: u32; _pc) -> u32 {
        watch::read_value(address as usize, value, size)
    }

    fn __keirin_branch(taken: u32, formula: *const c_char, count: u32, reads: *const u32; pc) {
        if watch::is_on() {
            let (formula, reads) = computed(formula, count, reads).unwrap_or_default();
            watch::branch(taken != 0, formula, reads, pc);
        }
    }

    fn __keirin_other_read(address: *const c_void, size: u64; pc) {
        watch::other_access(AccessKind::Read, address as usize, size as usize, pc);
    }

    fn __keirin_other_write(address: *const c_void, size: u64; pc) {
        watch::other_access(AccessKind::Write, address as usize, size as usize, pc);
    }

    fn __keirin_other_value(value: u64; _pc) {
        watch::other_value(value);
    }

    fn __keirin_other_acquire(lock: *const c_void, shared: u32; pc) {
        watch::other_lock(lock as usize, mode(shared), true, pc);
    }

    fn __keirin_other_release(lock: *const c_void, shared: u32; pc) {
        watch::other_lock(lock as usize, mode(shared), false, pc);
    }

    fn __keirin_other_end(; _pc) {
        watch::other_end();
    }

    fn __keirin_atomic_of_library(address: *const c_void; _pc) {
        watch::atomic_of_library(address as usize);
    }

    fn __keirin_loop_enter(number: u64; pc) {
        watch::loop_entered(number, pc);
    }

    fn __keirin_loop_iteration(number: u64; pc) {
        watch::loop_iterated(number, pc);
    }

    fn __keirin_loop_exit(number: u64; pc) {
        watch::loop_left(number, pc);
    }

    fn __keirin_pass(about: *const Pass; _pc) {
        if !about.is_null() {
            passes::add(&*about);
        }
    }
}

/// A side that was not taken, as a whole: what it would do, and where. Gives 1 if it need not be told one by one. (It has no place of its own, so that
/// no return address is needed.)
///
/// # Safety
/// `side` and `addresses` are so many.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __keirin_other_side(
    side: *const SideStep,
    addresses: *const usize,
    count: u32,
) -> u32 {
    // SAFETY: by the contract of this function.
    let (side, at) = unsafe {
        (
            std::slice::from_raw_parts(side, count as usize),
            std::slice::from_raw_parts(addresses, count as usize),
        )
    };
    u32::from(watch::other_side(side, at))
}

/// A value was written. (Its place is that of the access, so that no return address is needed.)
///
/// # Safety
/// `formula` is null or a string of the module, `reads` so many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __keirin_write_value(
    address: *const c_void,
    value: u64,
    size: u32,
    formula: *const c_char,
    count: u32,
    reads: *const u32,
) {
    if watch::is_on() {
        // SAFETY: by the contract of this function.
        watch::write_value(address as usize, value, size, unsafe { computed(formula, count, reads) });
    }
}
