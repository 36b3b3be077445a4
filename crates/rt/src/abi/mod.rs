//! The functions that compilers call in instrumented code.

pub mod access;
pub(crate) mod atomics;
pub mod branches;
pub mod functions;
mod memory;
mod ranges;
