//! `keirin completions`: completion scripts for shells, made from the definition of the command line.

use super::Exit;
use crate::output::tolerate_closed;
use anyhow::{Context, Result};
use clap_complete::Shell;
use std::io::Write;

/// Prints the script for a shell.
pub(crate) fn run(mut command: clap::Command, shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "keirin", &mut script);
    tolerate_closed(std::io::stdout().write_all(&script)).context("cannot write standard output")?;
    Ok(Exit::Clean)
}
