//! The commands, one file each.

pub(crate) mod cargo;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod confirm;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod detect;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod infer;
pub(crate) mod record;
pub(crate) mod run;
pub(crate) mod simulate;
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

/// How a command that runs a program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// As keirin decides.
    Keirin(Exit),
    /// As the program did.
    Program(u8),
}

impl Ending {
    /// The exit status of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Ending::Keirin(exit) => exit as u8,
            Ending::Program(code) => code,
        }
    }
}

impl From<Exit> for Ending {
    fn from(exit: Exit) -> Self {
        Ending::Keirin(exit)
    }
}
