//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod stats;

/// How keirin ends; the numbers are part of its interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Nothing was found.
    Clean = 0,
    /// There are findings (the number that ThreadSanitizer uses).
    Findings = 66,
    /// The command line or a configuration is wrong.
    Usage = 2,
    /// An input could not be read, an output not be written, or keirin itself failed.
    Failed = 3,
}
