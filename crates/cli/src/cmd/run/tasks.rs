//! Programs with tasks: what they do is recorded while they run and checked after their end, as `keirin check` would.
//!
//! What an analysis of tasks finds is looked at again, to find a schedule that shows it: for that it needs the whole run.

use super::{Collected, Program, Settings, Shown};
use crate::atomic::Blocks;
use crate::cmd::Exit;
use crate::cmd::check::{check_one, finish_to};
use crate::input;
use crate::openmp;
use crate::options::{AnalysisName, Options};
use crate::report::resolve::merge;
use crate::report::{Finding, Watched};
use crate::sources::Sources;
use crate::symbols::Elf;
use anyhow::Result;
use keirin_core::trace::TraceError;
use std::path::{Path, PathBuf};

/// The default of `--analysis` for a program with tasks.
pub(super) const ANALYSIS: AnalysisName = AnalysisName::PtRacer;

/// The name of a trace that nobody has asked for.
const TRACE: &str = "run.ktrace";

/// True if a program is linked against a library whose tasks are known.
pub(super) fn are_in(elf: &Elf) -> bool {
    let is_library = |name: &String| {
        name == openmp::GCC_RUNTIME
            || ["libomp.so", "libiomp5.so", "libtbb.so"].iter().any(|start| name.starts_with(start))
    };
    elf.needed.iter().any(is_library)
}

/// Where the run is recorded to: a file that the user has named, or one that goes away with the folder.
pub(super) fn record(folder: &Path, options: &Options, settings: &mut Settings) -> Result<PathBuf> {
    let path = options.record.clone().unwrap_or_else(|| folder.join(TRACE));
    settings.record(&path)?;
    Ok(path)
}

/// Checks what all processes have recorded, and writes the report.
pub(super) fn report(
    program: &Program,
    collected: &Collected,
    shown: &Shown<'_>,
    path: &Path,
) -> Result<Exit> {
    let options = shown.options;
    let folder = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&folder, &options.source_root);
    let mut notes = collected.notes.clone();
    if options.record.is_none() {
        // Where traces are that nobody will find is of no interest.
        let place = path.display().to_string();
        notes.retain(|note| !note.contains(&place));
    }
    let mut watched = Watched { notes, ..Watched::default() };
    let mut findings: Vec<Finding> = Vec::new();
    let mut blocks = Blocks::default();
    for trace in traces(path, collected.processes.iter().map(|process| process.pid)) {
        let mut input = input::open(&trace, false, true)?;
        input.name = program.name();
        match check_one(input, options, shown.looking, &sources, &mut watched, &mut blocks) {
            Ok(found) => findings.extend(found),
            Err(error) if is_empty(&error) => {}
            Err(error) => return Err(error),
        }
    }
    watched.inputs.dedup();
    if watched.inputs.is_empty() {
        watched.inputs.push(program.name());
        watched.analyses = options.analysis.0.iter().map(|name| name.text().to_owned()).collect();
        watched.notes.push("nothing was recorded: the program did nothing that is watched".to_owned());
    }
    if options.analysis.0 == [ANALYSIS] {
        let next = format!("keirin run --analysis ptracer,task-atomicity -- {}", program.name());
        watched.next_when_clean = Some(next);
    }
    if options.record.is_some() {
        watched.notes.push(super::told_trace(path));
    }
    finish_to(merge(findings, u64::saturating_add), watched, options, shown.filters, || shown.open())
}

/// True if there was nothing in a trace: some processes do nothing before they become another program.
fn is_empty(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(TraceError::Empty))
}

/// The traces of a run: that of the first process has the given name, the others have their numbers behind it.
fn traces(path: &Path, processes: impl Iterator<Item = u32>) -> Vec<PathBuf> {
    let numbered = processes.map(|process| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{process}"));
        PathBuf::from(name)
    });
    std::iter::once(path.to_owned()).chain(numbered).filter(|path| path.exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_all_processes_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["run.ktrace", "run.ktrace.12", "run.ktrace.13"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let expected = ["run.ktrace", "run.ktrace.12"].map(|name| folder.path().join(name));
        assert_eq!(traces(&folder.path().join(TRACE), [11, 12].into_iter()), expected);
    }

    #[test]
    fn libraries_for_tasks_are_known() {
        let needs = |name: &str| {
            let mut elf = Elf::default();
            elf.needed = vec!["libc.so.6".to_owned(), name.to_owned()];
            elf
        };
        for name in ["libomp.so.5", "libgomp.so.1", "libiomp5.so", "libtbb.so.12"] {
            assert!(are_in(&needs(name)), "{name}");
        }
        for name in ["libtbbmalloc.so.2", "libm.so.6"] {
            assert!(!are_in(&needs(name)), "{name}");
        }
    }
}
