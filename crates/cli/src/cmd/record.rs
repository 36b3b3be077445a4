//! `keirin record`: runs a program with our runtime in it and records what it does.

use super::run::{
    Program, Settings, collect, ending_of, exchange_folder, launch, never_started, told_end, told_trace,
};
use super::{Ending, Exit};
use crate::options::Options;
use crate::report::text::counted;
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::path::Path;

/// Runs the program of the command line, with its arguments.
pub(crate) fn run(words: &[OsString], options: &Options) -> Result<Ending> {
    let Some(path) = &options.output else { bail!("where to? keirin record -o FILE.ktrace -- PROGRAM") };
    if path.as_path() == Path::new("-") {
        bail!("standard output is the program's own: name a file, as in -o run.ktrace");
    }
    let program = Program::find(words)?;
    let folder = exchange_folder()?;
    let mut settings = Settings::new(folder.path(), &["empty"], options)?;
    settings.record(path)?;
    let status = launch(&program, words, settings)?;
    let collected = collect(folder.path())?;
    if collected.processes.is_empty() && !path.exists() {
        return Ok(never_started(&program, status, &collected.notes));
    }
    for note in collected.notes.iter().cloned().chain(told_end(status)) {
        crate::tell(&format!("note: {note}"));
    }
    let counts = collected.counts();
    let (events, threads) = (counted(counts.events, "event"), counted(counts.threads, "thread"));
    crate::tell(&format!("{events} of {threads}; {}", told_trace(path)));
    Ok(if path.exists() { ending_of(status) } else { Exit::Failed.into() })
}
