//! Random programs, observed runs of them and the truth about them, as the tests of the core have them.

#[path = "../../../crates/core/tests/tasks/support/calls.rs"]
pub(crate) mod calls;
#[path = "../../../crates/core/tests/tasks/support/execute.rs"]
pub(crate) mod execute;
#[path = "../../../crates/core/tests/tasks/support/explore.rs"]
pub(crate) mod explore;
#[path = "../../../crates/core/tests/tasks/support/generate.rs"]
pub(crate) mod generate;
#[path = "../../../crates/core/tests/tasks/support/notation.rs"]
pub(crate) mod notation;
#[path = "../../../crates/core/tests/tasks/support/observe.rs"]
pub(crate) mod observe;
#[path = "../../../crates/core/tests/tasks/support/program.rs"]
pub(crate) mod program;
#[path = "../../../crates/core/tests/tasks/support/random.rs"]
pub(crate) mod random;
#[path = "../../../crates/core/tests/tasks/support/shrink.rs"]
pub(crate) mod shrink;
#[path = "../../../crates/core/tests/tasks/support/oracle.rs"]
pub(crate) mod truth;
