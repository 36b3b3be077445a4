//! `keirin run`: runs a program with our runtime in it and reports what it finds.

mod functions;
mod handovers;
mod learned;
mod program;
mod settings;
mod tasks;
mod verdicts;

pub(super) use functions::ranges as atomic_functions;
pub(super) use handovers::{Collected, collect};
pub(super) use program::Program;
pub(super) use settings::Settings;
pub(super) use tasks::Way;
pub(super) use verdicts::judge;

use super::check::{Filters, check_task_options, finish_to, name_analyses};
use super::detect::{self, Learned};
use super::{Ending, Exit};
use crate::atomic::{Looking, Rule, atomic_rule};
use crate::openmp;
use crate::options::{ANALYSIS_OF_RUN, AnalysisName, Format, Options};
use crate::output::Output;
use crate::process;
use crate::report::resolve::merge;
use crate::report::{Finding, Live, Watched};
use crate::runtime_files;
use crate::sources::Sources;
use crate::symbols::Elf;
use crate::witnesses;
use anyhow::{Context, Result, bail};
use keirin_core::select::Block;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread::available_parallelism;
use tempfile::TempDir;

/// What to say if nobody looks at what the other sides of branches would do.
const OTHER_SIDES_UNUSED: &str = "the program tells what the other sides of its branches would do, which the analyses of threads do not look \
                                  at: --analysis ptracer does, and --diagnose if it was built with --diagnose";

/// Runs the program of the command line, with its arguments.
pub(crate) fn run(words: &[OsString], options: &Options) -> Result<Ending> {
    // Standard output is the program's own.
    watch(words, options, Output::error)
}

/// Runs a program and writes a report for people to an output, unless the options name one.
pub(super) fn watch(words: &[OsString], options: &Options, terminal: fn() -> Output) -> Result<Ending> {
    let filters = Filters::load(options)?;
    let looking = Looking::load(options)?;
    Output::check(options.output.as_deref())?;
    Output::check(options.write_baseline.as_deref())?;
    let program = Program::find(words)?;
    let folder = exchange_folder()?;
    let shown = Shown { options, filters: &filters, looking: &looking, learned: None, terminal };
    if let Some(regions) = &options.regions {
        return learned::watch(&program, words, (folder.path(), regions), &shown);
    }
    let options = &with_analyses(options, &program);
    check_options(options)?;
    let shown = Shown { options, ..shown };
    let way = Way::of(options);
    if way == Way::Examined {
        return examine(&program, words, folder.path(), &shown);
    }
    let analyses: Vec<&str> = options.analysis.0.iter().map(|name| name.text()).collect();
    let mut settings = Settings::new(folder.path(), &analyses, options)?;
    if let Some(path) = &options.record {
        settings.record(path)?;
    }
    set_way(&mut settings, way, options);
    let mut notes = Vec::new();
    if looking.critical_sections() {
        settings.set("critical-sections", "1");
    }
    if let Some(ranges) = functions::ranges(&program, looking.rules()) {
        if ranges.is_empty() {
            notes.push("no function of the program matches the rules of --atomic".to_owned());
        }
        let path = folder.path().join("functions");
        std::fs::write(&path, ranges).with_context(|| format!("cannot write {}", path.display()))?;
        settings.set("atomic-functions", path);
    }
    let status = launch(&program, words, settings)?;
    let mut collected = collect(folder.path())?;
    if collected.processes.is_empty() {
        return Ok(never_started(&program, status, &collected.notes));
    }
    collected.notes.extend(notes);
    collected.notes.extend(told_end(status));
    if way == Way::Tasks {
        judge(&mut collected, options);
    }
    let exit = report(&Reported::of(&program), &collected, &shown)?;
    Ok(if exit == Exit::Findings { exit.into() } else { ending_of(status) })
}

/// Tells the runtime what to do on the way.
pub(super) fn set_way(settings: &mut Settings, way: Way, options: &Options) {
    if way == Way::Tasks {
        tasks::set(settings, options);
    }
}

/// Runs a program with tasks: records what it does, and checks that.
fn examine(program: &Program, words: &[OsString], folder: &Path, shown: &Shown<'_>) -> Result<Ending> {
    if let Some(folder) = &shown.options.witnesses {
        witnesses::prepare(folder)?;
    }
    let mut settings = Settings::new(folder, &["empty"], shown.options)?;
    let trace = tasks::record(folder, shown.options, &mut settings)?;
    let status = launch(program, words, settings)?;
    let mut collected = collect(folder)?;
    if collected.processes.is_empty() && !trace.exists() {
        return Ok(never_started(program, status, &collected.notes));
    }
    collected.notes.extend(told_end(status));
    let exit = tasks::report(program, &collected, shown, &trace)?;
    Ok(if exit == Exit::Findings { exit.into() } else { ending_of(status) })
}

/// The options, with the analyses that suit the program if none are named.
fn with_analyses(options: &Options, program: &Program) -> Options {
    let mut options = options.clone();
    if options.analysis.0.is_empty() {
        // A diagnosis asks about schedules, of tasks or of threads, which are tasks as well.
        let tasks = options.diagnose || program.elf().is_some_and(tasks::are_in);
        options.analysis.0.push(if tasks { tasks::ANALYSIS } else { ANALYSIS_OF_RUN });
    }
    options
}

/// Refuses what would have no effect, before the program runs.
pub(super) fn check_options(options: &Options) -> Result<()> {
    let names = &options.analysis.0;
    if options.adversarial_pause.is_some() && options.adversarial.is_none() {
        bail!("--adversarial-pause says how long threads are made to wait: add --adversarial");
    }
    if options.exact_order && options.record.is_none() && Way::of(options) != Way::Examined {
        bail!("--exact-order is about the trace: add --record FILE");
    }
    use AnalysisName::{Aerodrome, Atomizer, TaskAtomicity, Velodrome};
    let judges = [Velodrome, Aerodrome, Atomizer, TaskAtomicity];
    let rules = !options.atomic.is_empty() || !options.atomic_file.is_empty();
    if rules && !names.iter().any(|name| judges.contains(name)) {
        bail!(
            "--atomic says what must be atomic, which only velodrome, aerodrome, atomizer and task-atomicity look at: add \
             --analysis"
        );
    }
    check_task_options(options)?;
    tasks::check_options(options)
}

/// A folder through which the program hands over; it goes away with the value.
pub(super) fn exchange_folder() -> Result<TempDir> {
    tempfile::Builder::new().prefix("keirin-").tempdir().with_context(|| {
        let folder = std::env::temp_dir();
        format!(
            "cannot make a folder in {}, through which the program hands over; set TMPDIR",
            folder.display()
        )
    })
}

/// Runs the program with the settings of the runtime.
pub(super) fn launch(program: &Program, words: &[OsString], settings: Settings) -> Result<ExitStatus> {
    let mut command = Command::new(program.path());
    if let [name, arguments @ ..] = words {
        use std::os::unix::process::CommandExt;
        command.arg0(name).args(arguments);
    }
    let folders = instead_of_others(program)?;
    if !folders.is_empty() {
        command.env("LD_LIBRARY_PATH", before_others(folders)?);
    }
    if std::env::var_os("OMP_NUM_THREADS").is_none() && available_parallelism().is_ok_and(|n| n.get() == 1) {
        // With one thread OpenMP has no tasks.
        command.env("OMP_NUM_THREADS", "2");
    }
    command.env("KEIRIN_RUNTIME", settings.into_text());
    process::run(&mut command).with_context(|| format!("cannot start {}", program.path().display()))
}

/// Folders with libraries that the program shall find instead of those it was linked against.
fn instead_of_others(program: &Program) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    let Some(elf) = program.elf() else { return Ok(folders) };
    if elf.needs_sanitizer() {
        folders.push(runtime_files::unpack()?.aliases());
    }
    if elf.needs(openmp::GCC_RUNTIME) {
        match openmp::find() {
            Some(openmp) => folders.push(openmp.as_gcc_runtime(&runtime_files::unpack()?)?),
            None => crate::tell(&format!(
                "note: gcc's runtime for OpenMP, which the program uses, cannot be watched: its tasks and barriers are \
                 unknown; LLVM's would take its place ({})",
                openmp::PACKAGE
            )),
        }
    }
    Ok(folders)
}

/// Where the program finds libraries: some folders come before those it knows.
fn before_others(folders: Vec<PathBuf>) -> Result<OsString> {
    let known = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let known = std::env::split_paths(&known).filter(|path| !path.as_os_str().is_empty());
    std::env::join_paths(folders.into_iter().chain(known)).context("LD_LIBRARY_PATH cannot be set")
}

/// How keirin ends if there is nothing else to tell than how the program did.
pub(super) fn ending_of(status: ExitStatus) -> Ending {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ending::Program(u8::try_from(code).unwrap_or(1))
}

/// What to say of an end that is not the usual one.
pub(super) fn told_end(status: ExitStatus) -> Option<String> {
    if let Some(signal) = status.signal() {
        let name =
            signal_hook::low_level::signal_name(signal).map_or(String::new(), |name| format!(" ({name})"));
        return Some(format!(
            "the program was ended by signal {signal}{name}; what happened until then was watched"
        ));
    }
    status.code().filter(|code| *code != 0).map(|code| format!("the program exited with status {code}"))
}

/// That nothing was found in nothing must not look like success.
pub(super) fn never_started(program: &Program, status: ExitStatus, notes: &[String]) -> Ending {
    if notes.is_empty() {
        crate::complain(&program.why_not_watched());
    } else {
        // It has started, but could not write.
        crate::complain(&format!("{}: {}", program.path().display(), notes.join("; ")));
    }
    match ending_of(status) {
        Ending::Program(0) => Exit::Failed.into(),
        failed => {
            if let Some(told) = told_end(status) {
                // Nothing was.
                crate::tell(told.split("; what happened").next().unwrap_or(&told));
            }
            failed
        }
    }
}

/// How findings are shown.
pub(super) struct Shown<'a> {
    pub(super) options: &'a Options,
    pub(super) filters: &'a Filters,
    pub(super) looking: &'a Looking,
    /// Regions that were learned, if these were looked at.
    pub(super) learned: Option<&'a Learned<'a>>,
    /// Where a report for people goes if the options do not say so.
    pub(super) terminal: fn() -> Output,
}

impl Shown<'_> {
    fn open(&self) -> Result<Output> {
        match (&self.options.output, self.options.format) {
            (None, Format::Terminal) => Ok((self.terminal)()),
            (path, _) => Output::open(path.as_deref()),
        }
    }
}

/// What a report says of the programs that were watched.
pub(super) struct Reported<'a> {
    pub(super) names: Vec<String>,
    /// The program as a word of a command; none if there are several, and each is to be named.
    pub(super) word: Option<String>,
    pub(super) elf: Option<&'a Elf>,
}

impl<'a> Reported<'a> {
    fn of(program: &'a Program) -> Self {
        Reported { names: vec![program.name()], word: Some(program.word()), elf: program.elf() }
    }
}

/// Names, filters and writes what all processes found.
pub(super) fn report(reported: &Reported<'_>, collected: &Collected, shown: &Shown<'_>) -> Result<Exit> {
    let Shown { options, filters, looking, .. } = *shown;
    let folder = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&folder, &options.source_root);
    let word = reported.word.as_deref();
    let findings: Vec<Finding> = collected.findings(word, &sources, looking.symbols(), shown.learned);
    let word = word.unwrap_or("PROGRAM");
    let (findings, left_out) = without_excluded(findings, looking.rules());
    let counts = collected.counts();
    let mut watched = Watched {
        inputs: reported.names.clone(),
        analyses: match shown.learned {
            Some(_) => vec![detect::NAME.to_owned()],
            None => name_analyses(options),
        },
        events: counts.events,
        threads: counts.threads,
        tasks: counts.tasks,
        notes: collected.notes.clone(),
        live: Some(Live {
            accesses: counts.accesses,
            // Learned regions are looked at without regard to locks.
            locks: shown.learned.is_none().then_some(counts.locks),
            steps: collected.figure(handovers::STEPS),
            processes: collected.processes.len() as u64,
        }),
        ..Watched::default()
    };
    watched.notes.extend(looking.symbols().take_notes());
    if left_out > 0 {
        let findings = if left_out == 1 { "1 finding is" } else { &format!("{left_out} findings are") };
        watched.notes.push(format!(
            "{findings} left out, in which marked blocks take part that --atomic excludes; without these blocks there may be \
             others: keirin record -o run.ktrace -- {word}, then keirin check with the same rules"
        ));
    }
    if options.analysis.0 == [AnalysisName::FastTrack] {
        let next = match reported.word {
            Some(_) => format!("keirin run --analysis velodrome --atomic critical-sections -- {word}"),
            None => "the same without --races, for atomicity".to_owned(),
        };
        watched.next_when_clean = Some(next);
    }
    if Way::of(options) == Way::Threads && collected.figure(handovers::OTHER_SIDES) > 0 {
        watched.notes.push(OTHER_SIDES_UNUSED.to_owned());
    }
    if Way::of(options) == Way::Tasks {
        if counts.tasks == 0 {
            watched.notes.extend(reported.elf.and_then(tasks::told_none));
        }
        watched.next_when_clean = tasks::next_when_clean(word, options);
    }
    if options.stats {
        collected.tell_statistics();
    }
    if let Some(path) = &options.record {
        watched.notes.push(told_trace(path));
    }
    finish_to(merge(findings, u64::saturating_add), watched, options, filters, || shown.open())
}

/// The findings without those in which marked blocks take part that the rules exclude, and how many these are. The runtime
/// takes every marked block for atomic: what it finds then may be due to that.
fn without_excluded(mut findings: Vec<Finding>, rules: &[Rule]) -> (Vec<Finding>, usize) {
    let is_atomic = atomic_rule(rules.to_vec());
    let excluded = |label: &str| !label.is_empty() && !is_atomic(Block::Label(label));
    let before = findings.len();
    findings.retain(|finding| {
        let transactions = finding.transactions.iter().map(|transaction| &transaction.stable);
        let blocks = finding.refuted.iter().map(|block| &block.stable);
        !transactions.chain(blocks).any(|label| excluded(label))
    });
    let left_out = before - findings.len();
    (findings, left_out)
}

/// What became of the trace.
pub(super) fn told_trace(path: &Path) -> String {
    match std::fs::metadata(path) {
        Ok(about) => {
            let path = path.display();
            format!("recorded {} bytes to {path}; next: keirin check {path}", about.len())
        }
        Err(error) => format!("there is no trace in {}: {error}", path.display()),
    }
}
