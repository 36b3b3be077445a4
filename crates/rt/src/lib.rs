//! The runtime that is linked into a watched program, in place of the sanitizer's own.
//!
//! The compiler's `-fsanitize=thread` puts calls of `__tsan_*` functions into the program; this crate defines them
//! ([`abi`]) and the functions of the C library that order threads or hand out memory ([`intercept`]). Both tell what
//! happens to [`watch`], which passes it on to the analyses of `keirin-core` or to the recorder.
//!
//! Rules for all code in this crate:
//!
//! - It never calls the program's `malloc`: the allocator of this crate is its own (`arena`).
//! - It never brings the program down. What cannot be done is told and left out.
//! - Memory that a signal handler, another thread or a half-started program may see is touched by atomics only.

#![allow(unsafe_code)]

pub mod abi;
mod actors;
mod adversary;
pub mod annotations;
pub mod arena;
mod blocks;
mod driver;
mod files;
mod groups;
pub mod intercept;
mod layout;
mod learned;
mod modules;
mod objects;
mod openmp;
mod options;
mod own;
pub mod passes;
mod places;
mod quiet;
pub mod real;
mod record;
mod regions;
pub mod rust;
mod shadow;
mod spin;
pub mod start;
mod steering;
mod tasks;
mod tbb;
mod telling;
mod thread;
mod tls;
pub mod watch;
mod watcher;
