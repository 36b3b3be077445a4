//! `keirin infer`: learns atomic regions from the traces of good runs.

use super::Exit;
use crate::input::{self, STANDARD_INPUT};
use crate::options::Options;
use crate::output::{Output, tolerate_closed};
use crate::progress::{Progress, Unit};
use crate::regions;
use crate::report::text::counted;
use crate::sources::Sources;
use crate::symbols::Symbols;
use anyhow::{Context, Result, anyhow, bail};
use keirin_core::analysis::atomtracker::infer::{Learned, Settings, Step, Training, infer, names};
use keirin_core::analysis::atomtracker::regions::{LearnedModule, Regions};
use keirin_core::trace::{Module, ModuleId, Source, Tables, TraceError};
use keirin_plot::Series;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Learns from traces.
pub(crate) fn run(paths: &[PathBuf], options: &Options) -> Result<Exit> {
    for path in paths {
        check(path)?;
    }
    let old = match &options.regions {
        // What is to be written for the first time is empty.
        Some(path) if options.output.as_ref() == Some(path) && !path.exists() => Regions::default(),
        Some(path) => regions::load(path)?,
        None => Regions::default(),
    };
    let settings = settings(options)?;
    Output::check(options.output.as_deref())?;
    Output::check(options.plot.as_deref())?;
    let traces = Traces {
        paths,
        lenient: options.lenient,
        read: AtomicU64::new(0),
        progress: Mutex::new(Progress::new(options.progress, "learning", None, Unit::Events)),
    };
    let tell = |step: &Step| tell(step, &traces.name(step.run), paths.len());
    let mut learned = infer(&traces, paths.len(), &old, &settings, tell)?;
    drop(traces);
    if let Some(empty) = learned.steps.iter().find(|step| step.events == 0) {
        return Err(anyhow::Error::from(TraceError::Empty).context(paths[empty.run].display().to_string()));
    }
    if let Some(&run) = learned.without_places.first() {
        bail!(
            "{}: the trace does not tell where its accesses are, so that no region can be named; record the program \
             again, or give the lines of the trace a third field",
            paths[run].display()
        );
    }
    place_names(&mut learned);
    let text = regions::text(&learned.regions);
    let mut out = Output::open(options.output.as_deref())?;
    tolerate_closed(out.write_all(text.as_bytes())).context("cannot write the regions")?;
    out.finish()?;
    if let Some(path) = &options.plot {
        draw(path, &learned)?;
    }
    conclude(&learned, paths.len());
    Ok(Exit::Clean)
}

/// Refuses what cannot be read several times, or at all, before the work.
fn check(path: &Path) -> Result<()> {
    let several = "a trace is read several times to learn from it; write it to a file first";
    if path.as_os_str() == STANDARD_INPUT {
        bail!("standard input: {several}");
    }
    let metadata =
        std::fs::metadata(path).with_context(|| format!("{}: cannot be opened", path.display()))?;
    if !metadata.is_file() && !metadata.is_dir() {
        bail!("{}: {several}", path.display());
    }
    Ok(())
}

fn settings(options: &Options) -> Result<Settings> {
    let small = |value: u64, option: &str| {
        u32::try_from(value).map_err(|_| anyhow!("--{option} {value} is more runs than there can be"))
    };
    if options.threshold == 0 {
        bail!("--threshold 0: a region has to be seen in one run at least");
    }
    let machine = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = options.jobs.map_or_else(machine, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX));
    Ok(Settings {
        critical_sections: !options.no_critical_sections,
        loops: !options.no_loops,
        disregard_synchronization: !options.count_synchronization,
        nested: !options.no_nested,
        threshold: small(options.threshold, "threshold")?,
        stop_after: small(options.stop_after, "stop-after")?,
        // More threads than traces have nothing to do, and each has memory of its own.
        threads: jobs.clamp(1, 64),
    })
}

/// The traces to learn from.
struct Traces<'a> {
    paths: &'a [PathBuf],
    lenient: bool,
    read: AtomicU64,
    progress: Mutex<Progress>,
}

impl Training for Traces<'_> {
    type Error = anyhow::Error;

    fn name(&self, run: usize) -> String {
        self.paths[run].display().to_string()
    }

    fn open(&self, run: usize) -> Result<Box<dyn Source>> {
        Ok(input::open(&self.paths[run], self.lenient, false)?.source)
    }

    fn failed(&self, run: usize, error: TraceError) -> anyhow::Error {
        anyhow::Error::from(error).context(self.name(run))
    }

    fn read(&self, events: u64) {
        let read = self.read.fetch_add(events, Relaxed) + events;
        // Who finds another one drawing need not wait.
        if let Ok(mut progress) = self.progress.try_lock() {
            progress.at(read);
        }
    }
}

/// What one run has added.
fn tell(step: &Step, name: &str, runs: usize) {
    let Step { run, regions, changed, readings, .. } = *step;
    let news = if changed { "something new" } else { "nothing new" };
    let times = if readings == 1 { "once".to_owned() } else { format!("{readings} times") };
    crate::tell(&format!(
        "run {} of {runs}, {name}: {news}, {} so far; stable after it was read {times}",
        run + 1,
        counted(regions as u64, "region")
    ));
}

/// Draws how many regions were known after each run.
fn draw(path: &Path, learned: &Learned) -> Result<()> {
    let figures = learned.steps.iter().map(|step| step.regions as f64).collect();
    let regions = Series { name: "regions".to_owned(), figures };
    let svg = keirin_plot::curves("regions known after each run", "runs", &[regions]);
    std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}

/// What came of it.
fn conclude(learned: &Learned, runs: usize) {
    let used = learned.steps.len();
    let quiet = learned.steps.iter().rev().take_while(|step| !step.changed).count();
    let pairs = counted(learned.regions.pairs() as u64, "region");
    let mut text = format!("{pairs} from {}", counted(learned.regions.runs.len() as u64, "run"));
    if quiet > 0 {
        text += &format!("; the last {quiet} showed nothing new");
    }
    if used < runs {
        text += &format!(
            ", so that {} not used",
            match runs - used {
                1 => "1 trace was".to_owned(),
                left => format!("{left} traces were"),
            }
        );
    }
    crate::tell(&text);
    if learned.steps.last().is_some_and(|step| step.changed) && used > 1 {
        crate::tell("the last run showed something new: learn from more runs, or there will be false alarms");
    }
    if !learned.is_stable {
        crate::tell(
            "the regions are not stable: some of these runs would tear them; learn from shorter runs",
        );
    }
    for notes in rebuilt(&learned.regions) {
        crate::tell(&notes);
    }
}

/// Modules that were built again between runs.
fn rebuilt(regions: &Regions) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<&str> =
        regions.modules.iter().map(|module| &*module.name).filter(|name| !seen.insert(*name)).collect();
    let note = |name: &str| {
        format!(
            "{name} was built again between the runs: places of the one mean others in the other; learn anew"
        )
    };
    twice.into_iter().map(note).collect()
}

/// Adds what a person would call the places.
fn place_names(learned: &mut Learned) {
    let symbols = Symbols::new();
    let sources = Sources::new(&std::env::current_dir().unwrap_or_default(), &[]);
    let mut places = Vec::new();
    for name in names(&learned.regions) {
        let known = name.rsplit_once("+0x").and_then(|(module, offset)| {
            let offset = u64::from_str_radix(offset, 16).ok()?;
            let path = learned.module_paths.get(module)?;
            let module = learned.regions.modules.iter().rfind(|known| &*known.name == module)?;
            place(&symbols, &sources, module, path, offset)
        });
        places.extend(known.map(|place| (Box::from(name), place)));
    }
    learned.regions.places.extend(places);
}

/// The function and the line of an instruction.
fn place(
    symbols: &Symbols,
    sources: &Sources,
    module: &LearnedModule,
    path: &str,
    offset: u64,
) -> Option<Box<str>> {
    let digits = module.build_id.as_bytes().chunks(2);
    let build_id: Option<Vec<u8>> =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    let module = Module { path: path.into(), base: 0, size: 0, build_id: build_id?.into() };
    let mut tables = Tables::default();
    tables.modules.push(module);
    let frames = symbols.frames(&tables, ModuleId(0), offset);
    let frame = frames.iter().find(|frame| frame.source.is_some())?;
    let (file, line, column) = frame.source.as_ref()?;
    let function = frame.function.as_deref().map_or(String::new(), |name| format!("{name} "));
    let column = if *column == 0 { String::new() } else { format!(":{column}") };
    Some(format!("{function}{}:{line}{column}", sources.relative(file)).into())
}
