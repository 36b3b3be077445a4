//! Functions of the C library that order threads or hand out memory, defined again in front of the library's own.
//!
//! Each calls the original ([`crate::real`]) and tells [`crate::watch`] what it did. In the runtime that is linked into
//! programs (feature `interpose`) they have the names of the originals. The functions of `plain` are called by compiled
//! code of the runtime itself: their interceptors are named `__keirin_intercept_memcpy` and so on, and get their names when
//! the runtime is packaged, after its own references were renamed to `__keirin_plain_memcpy`.
//!
//! A program must not notice any of it: results, `errno`, cancellation and exceptions are those of the originals.

// Without their names nobody calls them.
#![cfg_attr(not(feature = "interpose"), allow(dead_code))]

use crate::{modules, watch};

mod allocation;
pub(crate) mod arch;
mod atomics;
mod c11;
mod conditions;
mod cxx;
mod files;
mod limits;
mod locks;
mod meeting;
mod memory;
mod messages;
pub(crate) mod plain;
mod process;
mod results;
mod streams;
mod strings;
mod table;
mod threads;

/// True if what is called from `pc` is to be told: locks that libraries use for themselves order nothing for the program.
#[inline]
fn counts(pc: usize) -> bool {
    watch::is_on() && watch::is_watched_caller(pc)
}

/// The same for what is told as accesses of memory and nothing else: nothing where nobody minds those.
#[inline]
fn counts_for_memory(pc: usize) -> bool {
    watch::minds_memory() && counts(pc)
}

/// The same for locks. Those that LLVM's C++ library takes are the program's: its `std::mutex` is locked there, not in a header.
#[inline]
fn counts_for_locks(pc: usize) -> bool {
    watch::is_on() && (watch::is_watched_caller(pc) || modules::locks_for_program(pc))
}

/// The same for waiting on conditions, which the C++ library does in the name of the program.
#[inline]
fn counts_for_conditions(pc: usize) -> bool {
    watch::is_on() && (watch::is_watched_caller(pc) || watch::is_standard_library(pc))
}

/// Tells a read of bytes, if there are any.
#[inline]
fn tell_read<T>(memory: *const T, size: usize, pc: usize) {
    if size > 0 && !watch::hooks_only() {
        watch::read_range(memory as usize, size, pc);
    }
}

/// Tells a write of bytes, if there are any.
#[inline]
fn tell_write<T>(memory: *const T, size: usize, pc: usize) {
    if size > 0 && !watch::hooks_only() {
        watch::write_range(memory as usize, size, pc);
    }
}
