//! Rust's `std`, with locks, threads and channels that tell keirin what happens to them.
//!
//! `cargo keirin` compiles this crate with the user's own compiler, under the name `std`, and passes it to every crate of the
//! program (`--extern std=…`). Each `std` that a crate names, the implicit one too, is then this crate; the real one is an
//! ordinary dependency of it. All that is not shadowed here is the real thing, of the same type.
//!
//! Rules:
//!
//! - A program must not notice: same types of errors, same traits, same behaviour in panics. What cannot be kept so is not shadowed.
//!   `std::sync::atomic` and `Arc` are also in `core` and `alloc`, where they would be other types.
//! - What publishes is told before it takes effect, what takes over after it has.
//! - Functions that tell something are inlined always: the place that is told is then that of the program, and the frame that of
//!   the function that uses the lock.

#![no_std]

extern crate std as real;

pub use real::*;

mod tell;

pub mod sync;
pub mod thread;

/// The real one, for crates of which something else is told than their locks.
#[doc(hidden)]
pub mod __keirin {
    pub use real::sync;
}
