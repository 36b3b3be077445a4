//! `cargo keirin`: builds and runs what cargo builds and runs, watched, and reports what all of its programs found.
//!
//! Cargo itself does the work. It is told, by its environment, to call keirin in place of the compiler ([`wrapper`]), to keep what it
//! builds in a folder of its own, and the programs that it runs find the settings of their runtime in their environment. Nothing
//! of the user's is changed: manifests, lock file, configuration, flags, the folder for what is built.

mod amend;
mod arguments;
mod crates;
mod sanitizer;
mod toolchain;
mod wrapper;

pub(crate) use wrapper::asked;

use super::check::Filters;
use super::run::{self, Reported, Settings, Shown, Way};
use super::{Ending, Exit};
use crate::atomic::{Looking, Rule};
use crate::options::{AnalysisName, Options};
use crate::output::Output;
use crate::process;
use crate::runtime_files::{self, RuntimeFiles};
use anyhow::{Context, Result, bail};
use arguments::Arguments;
use sanitizer::Sanitizer;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolchain::Toolchain;

/// What is checked if nothing is named: the accesses of safe Rust do not race.
const ANALYSIS: AnalysisName = AnalysisName::TaskAtomicity;
/// What is checked with `--races`.
const ANALYSIS_OF_RACES: AnalysisName = AnalysisName::FastTrack;

/// Runs cargo with the words of the command line.
pub(crate) fn run(words: &[OsString], options: &Options) -> Result<Ending> {
    let mut options = options.clone();
    if options.analysis.0.is_empty() {
        options.analysis.0.push(if options.races { ANALYSIS_OF_RACES } else { ANALYSIS });
    }
    check_options(&options)?;
    let filters = Filters::load(&options)?;
    let looking = Looking::load(&options)?;
    Output::check(options.output.as_deref())?;
    Output::check(options.write_baseline.as_deref())?;
    let files = runtime_files::unpack()?;
    let arguments = Arguments::of(words);
    let toolchain = Toolchain::find()?;
    let folder = run::exchange_folder()?;
    let analyses: Vec<&str> = options.analysis.0.iter().map(|name| name.text()).collect();
    let mut settings = Settings::new(folder.path(), &analyses, &options)?;
    let way = Way::of(&options);
    run::set_way(&mut settings, way, &options);
    let sanitizer = if options.races { Some(Sanitizer::prepare(&toolchain, &files)?) } else { None };
    if sanitizer.as_ref().is_some_and(|sanitizer| !sanitizer.has_library()) {
        settings.set("hooks-only", "1");
    }
    if sanitizer.is_none() {
        // Threads that are joined in any order, scopes, channels.
        settings.set("order-beside-tree", "1");
        settings.set("objects-only", "1");
    }
    if looking.critical_sections() {
        settings.set("critical-sections", "1");
    }
    let mut command = cargo(&arguments);
    command.env("CARGO_TARGET_DIR", target_folder(&arguments, &toolchain, &files, sanitizer.as_ref())?);
    if !arguments.has_target() {
        // What runs while it is built, build scripts and macros, is told apart by not having a target.
        command.env("CARGO_BUILD_TARGET", toolchain.host());
    }
    wrapper::set(&mut command, &toolchain, &files, sanitizer.as_ref())?;
    command.env("KEIRIN_RUNTIME", settings.into_text());
    let status = process::run(&mut command).context("cannot run cargo")?;
    let mut collected = run::collect(folder.path())?;
    if collected.processes.is_empty() {
        // Cargo has said what is wrong, or there was nothing to run.
        if status.success() && arguments.runs_programs() {
            crate::tell("note: nothing was watched: cargo has run no program");
        }
        return Ok(run::ending_of(status));
    }
    if way == Way::Tasks {
        run::judge(&mut collected, &options);
    }
    let shown = Shown {
        options: &options,
        filters: &filters,
        looking: &looking,
        learned: None,
        terminal: Output::error,
    };
    let exit = run::report(&reported(&collected), &collected, &shown)?;
    Ok(if exit == Exit::Findings { exit.into() } else { run::ending_of(status) })
}

/// Refuses what cannot be done for several programs, or not without knowing their functions.
fn check_options(options: &Options) -> Result<()> {
    if Way::of(options) == Way::Examined || options.record.is_some() {
        bail!(
            "cargo keirin checks programs while they run: to record or examine one, build it with `cargo keirin build`, and \
             use `keirin run --examine` on it"
        );
    }
    if options.races && options.analysis.0 != [ANALYSIS_OF_RACES] {
        bail!(
            "--races is about data races, which fasttrack finds: leave out --analysis, or run it a second time without --races"
        );
    }
    let of_functions = |rule: &Rule| !matches!(rule, Rule::CriticalSections);
    if options.atomic.iter().any(of_functions) || !options.atomic_file.is_empty() {
        bail!(
            "cargo keirin does not know the functions of programs that are not built yet: mark them with \
             #[keirin::atomic], or use --atomic critical-sections"
        );
    }
    run::check_options(options)
}

/// What a report says of the programs that ran.
fn reported(collected: &run::Collected) -> Reported<'static> {
    let name = |path: &str| {
        Path::new(path).file_name().map_or(path.to_owned(), |name| name.to_string_lossy().into())
    };
    let mut names: Vec<String> = Vec::new();
    for process in &collected.processes {
        let name = name(&process.program);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Reported { names, word: None, elf: None }
}

fn cargo(arguments: &Arguments) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments.words());
    command
}

/// The folder for what is built: below the one that cargo would use, so that it goes with `cargo clean`, and another one for
/// each version of keirin and of the compiler. (Cargo does not build again what another compiler has built in its name.)
fn target_folder(
    arguments: &Arguments,
    toolchain: &Toolchain,
    files: &RuntimeFiles,
    sanitizer: Option<&Sanitizer>,
) -> Result<PathBuf> {
    let kind = match sanitizer.map(Sanitizer::has_library) {
        None => "",
        Some(true) => "-races",
        Some(false) => "-races-without-library",
    };
    let name = format!("keirin-{}-{}{kind}", files.digest(), toolchain.digest());
    if let Some(folder) = arguments.target_folder() {
        return Ok(std::path::absolute(folder)?.join(name));
    }
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    if let Some(manifest) = arguments.manifest() {
        command.arg("--manifest-path").arg(manifest);
    }
    let output = command.output().context("cannot run cargo")?;
    if !output.status.success() {
        // Cargo will say it again when it is asked to build: better than we could.
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("error: "));
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata has told something else")?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata tells no target directory")?;
    Ok(Path::new(folder).join(name))
}
