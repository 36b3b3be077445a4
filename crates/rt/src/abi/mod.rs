//! The functions that compilers call in instrumented code.

pub mod access;
pub mod functions;
