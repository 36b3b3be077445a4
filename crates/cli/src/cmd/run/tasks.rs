//! Programs with tasks. They are checked while they run, or examined: recorded while they run, and checked after their end,
//! as `keirin check` would.
//!
//! While a program runs, an analysis of tasks tells that some schedule shows what it finds. To work such a schedule out takes
//! the whole run.

use super::{Collected, Program, Settings, Shown, handovers};
use crate::atomic::Blocks;
use crate::cmd::Exit;
use crate::cmd::check::{check_one, finish_to, name_analyses};
use crate::input;
use crate::openmp;
use crate::options::{Algorithm, AnalysisName, Options};
use crate::report::resolve::merge;
use crate::report::{Finding, Watched};
use crate::sources::Sources;
use crate::symbols::Elf;
use anyhow::{Result, bail};
use keirin_core::trace::TraceError;
use std::path::{Path, PathBuf};

/// The default of `--analysis` for a program with tasks.
pub(super) const ANALYSIS: AnalysisName = AnalysisName::PtRacer;

/// The name of a trace that nobody has asked for.
const TRACE: &str = "run.ktrace";

/// What a diagnosis lacks if the program was built without what it needs.
const WITHOUT_PASS: &str = "the program does not tell the values that it reads, nor what the other sides of its branches would do: what is \
                            reported takes no account of them; build it with keirin cc --diagnose, or keirin c++ --diagnose";
const WITHOUT_VALUES: &str = "the program tells what the other sides of its branches would do, and no values: whether a schedule leads there \
                              cannot be decided; build it with keirin cc --diagnose, or keirin c++ --diagnose";

/// How a program is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// While it runs, by analyses of threads.
    Threads,
    /// While it runs, by analyses of tasks.
    Tasks,
    /// After its end, from a trace.
    Examined,
}

impl Way {
    /// The way for options in which the analyses are named.
    pub(crate) fn of(options: &Options) -> Self {
        let names = &options.analysis.0;
        if !names.iter().any(|name| name.is_of_tasks()) {
            return Way::Threads;
        }
        // Threads and tasks are different orders of one run: only a trace can be looked at twice.
        let mixed = !names.iter().all(|name| name.is_of_tasks());
        let kept = options.record.is_some() || options.witnesses.is_some();
        if options.examine || options.diagnose || kept || mixed { Way::Examined } else { Way::Tasks }
    }
}

/// Refuses what would have no effect, or not the one that was meant.
pub(super) fn check_options(options: &Options) -> Result<()> {
    let names = &options.analysis.0;
    let way = Way::of(options);
    if options.examine && way == Way::Threads {
        bail!(
            "--examine works out schedules of tasks: add --analysis spd3, ptracer, all-sets or task-atomicity"
        );
    }
    if options.no_witness && way == Way::Tasks {
        bail!(
            "--no-witness leaves out the schedules that --examine works out: add --examine, or leave it out"
        );
    }
    if options.algorithm == Algorithm::Published {
        if way == Way::Threads {
            bail!(
                "--algorithm published is for ptracer and task-atomicity; for velodrome record the run, and keirin check \
                 --algorithm published"
            );
        }
        if !names.iter().any(|name| name.has_published()) {
            let names: Vec<&str> = names.iter().map(|name| name.text()).collect();
            bail!(
                "there is no published algorithm beside ours for {}: --analysis ptracer or task-atomicity",
                names.join(" and ")
            );
        }
    }
    Ok(())
}

/// Tells the runtime what to check while the program runs.
pub(super) fn set(settings: &mut Settings, options: &Options) {
    let published = options.algorithm == Algorithm::Published;
    if published {
        settings.set("algorithm", Algorithm::Published.text());
    }
    // The published algorithm knows nothing but steps, whether they are asked for or not.
    if options.analysis.0.contains(&AnalysisName::TaskAtomicity) && !published {
        let checks: Vec<&str> = options.check.0.iter().map(|check| check.text()).collect();
        settings.set("check", checks.join(","));
    }
}

/// True if a program is linked against a library whose tasks are known.
pub(super) fn are_in(elf: &Elf) -> bool {
    is_openmp(elf) || is_tbb(elf)
}

fn is_openmp(elf: &Elf) -> bool {
    let is_library = |name: &String| {
        name == openmp::GCC_RUNTIME
            || ["libomp.so", "libiomp5.so"].iter().any(|start| name.starts_with(start))
    };
    elf.needed.iter().any(is_library)
}

fn is_tbb(elf: &Elf) -> bool {
    elf.needed.iter().any(|name| name.starts_with("libtbb.so"))
}

/// What to say of a run in which a program that could have had tasks had none: that nothing was found in it means little.
pub(super) fn told_none(elf: &Elf) -> Option<String> {
    let mut remedies = Vec::new();
    if is_openmp(elf) {
        remedies.push(
            "OpenMP runs tasks of a single thread at once, as parts of their parents: let the parallel regions have two \
             threads or more (OMP_NUM_THREADS=2)",
        );
    }
    if is_tbb(elf) {
        remedies.push("oneTBB tells its tasks if the program is built by keirin c++ and linked with -ltbb");
    }
    (!remedies.is_empty()).then(|| {
        format!(
            "the run had no tasks, though the program is linked against a library for them: nothing in it was parallel but \
             threads, or the tasks were not told; {}",
            remedies.join("; ")
        )
    })
}

/// What to say if a program does not tell what a diagnosis needs.
fn told_values(collected: &Collected) -> Option<&'static str> {
    let told = |what| collected.figure(what) > 0;
    match (told(handovers::OTHER_SIDES), told(handovers::VALUES)) {
        (_, true) => None,
        (true, false) => Some(WITHOUT_VALUES),
        (false, false) => Some(WITHOUT_PASS),
    }
}

/// What to try next if PTRacer has found nothing.
pub(super) fn next_when_clean(word: &str, options: &Options) -> Option<String> {
    (options.analysis.0 == [ANALYSIS])
        .then(|| format!("keirin run --analysis ptracer,task-atomicity -- {word}"))
}

/// Where the run is recorded to: a file that the user has named, or one that goes away with the folder.
pub(super) fn record(folder: &Path, options: &Options, settings: &mut Settings) -> Result<PathBuf> {
    let path = options.record.clone().unwrap_or_else(|| folder.join(TRACE));
    settings.record(&path)?;
    if options.diagnose && !options.exact_order {
        // What was read tells which write it came from only if the two are in their order.
        settings.set("exact-order", "1");
    }
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
        watched.analyses = name_analyses(options);
        watched.notes.push("nothing was recorded: the program did nothing that is watched".to_owned());
    }
    if options.diagnose {
        watched.notes.extend(told_values(collected).map(str::to_owned));
    }
    if watched.tasks == 0 {
        watched.notes.extend(program.elf().and_then(told_none));
    }
    watched.next_when_clean = next_when_clean(&program.word(), options);
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

    fn options(settings: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        for (name, value) in settings {
            assert_eq!(options.set(name, value), Ok(true), "{name}");
        }
        options
    }

    #[test]
    fn programs_are_examined_if_it_is_asked_for_or_nothing_else_will_do() {
        let way = |settings: &[(&str, &str)]| Way::of(&options(settings));
        assert_eq!(way(&[("analysis", "fasttrack,eraser")]), Way::Threads);
        assert_eq!(way(&[("analysis", "fasttrack"), ("record", "x")]), Way::Threads);
        let online = "ptracer,spd3,all-sets,task-atomicity";
        assert_eq!(way(&[("analysis", online)]), Way::Tasks);
        assert_eq!(way(&[("analysis", online), ("algorithm", "published")]), Way::Tasks);
        assert_eq!(way(&[("analysis", "ptracer,fasttrack")]), Way::Examined);
        for (option, value) in
            [("examine", "true"), ("diagnose", "true"), ("record", "x"), ("witnesses", "x")]
        {
            assert_eq!(way(&[("analysis", online), (option, value)]), Way::Examined, "{option}");
        }
    }

    #[test]
    fn the_runtime_is_told_what_to_check() {
        let told = |settings: &[(&str, &str)]| {
            let options = options(settings);
            let names: Vec<&str> = options.analysis.0.iter().map(|name| name.text()).collect();
            let mut settings = Settings::new(Path::new("/f"), &names, &options).unwrap();
            set(&mut settings, &options);
            settings.into_text().into_string().unwrap()
        };
        let start = "findings=/f/findings;analysis=";
        assert_eq!(told(&[("analysis", "ptracer")]), format!("{start}ptracer"));
        let both = "ptracer,task-atomicity";
        assert_eq!(told(&[("analysis", both)]), format!("{start}{both};check=annotated,gaps"));
        let steps = [("analysis", both), ("check", "steps")];
        assert_eq!(told(&steps), format!("{start}{both};check=steps"));
        let published = [("analysis", both), ("algorithm", "published")];
        assert_eq!(told(&published), format!("{start}{both};algorithm=published"));
    }

    #[test]
    fn a_run_without_tasks_is_told_with_how_to_make_one() {
        let told = |name: &str| {
            let mut elf = Elf::default();
            elf.needed = vec![name.to_owned()];
            told_none(&elf)
        };
        assert!(told("libomp.so.5").is_some_and(|note| note.contains("OMP_NUM_THREADS=2")));
        assert!(told("libtbb.so.12").is_some_and(|note| note.contains("keirin c++")));
        assert_eq!(told("libm.so.6"), None);
    }
}
