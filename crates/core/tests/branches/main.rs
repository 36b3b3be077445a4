//! Programs with branches on shared values: what is told from one run, against all runs.

mod generate;
mod observe;
mod oracle;
mod program;
#[path = "../tasks/support/random.rs"]
mod random;
mod solver;
mod table;
mod traces;
