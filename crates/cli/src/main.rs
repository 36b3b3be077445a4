//! The command line of keirin.

// Used by the commands once they are there.
#[allow(dead_code)]
mod baseline;
#[allow(dead_code)]
mod report;
#[allow(dead_code)]
mod sources;
#[allow(dead_code)]
mod suppress;

fn main() {}
