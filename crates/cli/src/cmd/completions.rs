//! `keirin completions`: completion scripts for shells, made from the definition of the command line.

use super::Exit;
use crate::output::print;
use anyhow::Result;
use clap_complete::Shell;

/// Prints the script for a shell.
pub(crate) fn run(mut command: clap::Command, shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "keirin", &mut script);
    print(&script)?;
    Ok(Exit::Clean)
}
