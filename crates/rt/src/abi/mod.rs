//! The functions that compilers call in instrumented code.

pub mod access;
mod atomics;
pub mod functions;
mod memory;
