//! The traces to measure on.

use crate::child::run_to_end;
use crate::programs::Programs;
use anyhow::{Context, Result};
use keirin_core::generate::Family;
use std::path::{Path, PathBuf};

/// One generated trace in one format. The file is removed when this is dropped, since a folder for all the traces of
/// a table would need gigabytes.
#[derive(Debug)]
pub(crate) struct Trace {
    path: PathBuf,
}

impl Trace {
    /// Generates a trace. The seed is always the same, and so is the trace.
    pub(crate) fn generate(
        programs: &Programs,
        folder: &Path,
        family: Family,
        events: u64,
        extension: &str,
    ) -> Result<Self> {
        Self::generate_torn(programs, folder, family, events, 0.0, extension)
    }

    /// Generates a trace of tasks that take no locks.
    pub(crate) fn generate_without_locks(
        programs: &Programs,
        folder: &Path,
        family: Family,
        events: u64,
        extension: &str,
    ) -> Result<Self> {
        Self::generate_with(programs, folder, family, events, &["--discipline", "none"], extension)
    }

    /// Generates a trace of which a share of the regions is torn by another thread.
    pub(crate) fn generate_torn(
        programs: &Programs,
        folder: &Path,
        family: Family,
        events: u64,
        violations: f64,
        extension: &str,
    ) -> Result<Self> {
        let share = violations.to_string();
        Self::generate_with(programs, folder, family, events, &["--violations", &share], extension)
    }

    /// Generates a trace of a number of threads.
    pub(crate) fn generate_of_threads(
        programs: &Programs,
        folder: &Path,
        family: Family,
        events: u64,
        threads: u32,
        extension: &str,
    ) -> Result<Self> {
        let threads = threads.to_string();
        Self::generate_with(programs, folder, family, events, &["--threads", &threads], extension)
    }

    fn generate_with(
        programs: &Programs,
        folder: &Path,
        family: Family,
        events: u64,
        options: &[&str],
        extension: &str,
    ) -> Result<Self> {
        let path = folder.join(format!("{family}-{events}.{extension}"));
        let mut command =
            programs.keirin(&["gen", "--family", family.name(), "--events", &events.to_string()]);
        let trace = Self { path };
        run_to_end(command.args(options).arg("--output").arg(&trace.path), folder)?;
        Ok(trace)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(&self.path).with_context(|| self.path.display().to_string())?.len())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // The whole folder is removed at the end anyway.
        let _ = std::fs::remove_file(&self.path);
    }
}
