//! The command line of keirin.
fn main() {}
