//! oneTBB: the tasks of a program that uses it, without a change in the program.
//!
//! The library's entry points (`tbb::detail::r1`, by their mangled names) are defined again in front of its own. The
//! headers of oneTBB put the rest of the library into the program, where the compiler's hooks see it.
//!
//! - `tasks` follows task objects from their spawn to their end; `crate::groups` makes a tree of them.
//! - `pipeline`, `arena` and `graph` tell the order that is made within the library.
//! - `locks` tells the library's mutexes, `references` its counts of references, `memory` what it hands out.
//!
//! The layout of what crosses between headers and library is that of the binary interface of oneTBB 2021, `libtbb.so.12`.

// Without their names nobody calls them.
#![cfg_attr(not(feature = "interpose"), allow(dead_code))]

mod arena;
mod graph;
pub(crate) mod local;
mod locks;
mod memory;
mod originals;
mod pipeline;
mod references;
mod tasks;

pub(crate) use local::{Heard, after_silence, enter_call, hears, is_known, is_used, leave_calls, note_stack};
pub(crate) use locks::upgraded;
pub(crate) use references::{count_to_tell, counts_parts};
