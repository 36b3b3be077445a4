//! What the tests of task analyses share: small programs, random ones, observed runs of them, and the oracle.
//!
//! No file here but this one knows a test framework, and the files refer to each other as siblings only: another crate
//! can take them in with `#[path]`, all into one module.

pub(crate) mod execute;
pub(crate) mod explore;
pub(crate) mod generate;
pub(crate) mod notation;
pub(crate) mod observe;
pub(crate) mod oracle;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod shrink;
