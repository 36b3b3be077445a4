//! The functions that compilers call in instrumented code.
