//! The functions that compilers call in instrumented code.

mod atomics;
mod memory;
