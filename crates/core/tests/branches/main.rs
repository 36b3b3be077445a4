//! Programs with branches on shared values: what is told from one run, against all runs.

mod generate;
mod observe;
mod oracle;
mod program;
#[path = "../tasks/support/random.rs"]
mod random;
mod table;
mod traces;
