//! `keirin confirm`: runs a program again and makes its threads wait at the places of a finding, until the program itself shows it.
//!
//! Nothing is analysed in these runs: that two threads are about to access the same bytes at the same time, or that the
//! operations of a torn region happened in their order, is seen as it happens (`steering` in the runtime).

mod plan;
mod wanted;

use super::check::Filters;
use super::run::{
    self, Program, Settings, atomic_functions, collect, exchange_folder, launch, never_started,
};
use super::{Ending, Exit};
use crate::atomic::Looking;
use crate::input;
use crate::options::{Format, Options};
use crate::output::{Output, tolerate_closed};
use crate::report::model::Confirmation;
use crate::report::text::{counted, printable};
use anyhow::{Context, Result, bail};
use plan::Plan;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use wanted::Wanted;

/// The name and version of what `--format json` writes.
const SCHEMA: &str = "keirin-confirm/1";

/// A report is no larger than this.
const MAX_REPORT_BYTES: u64 = 1 << 30;

/// The figures of the runtime: the point at which a thread waited when the goal was reached, from 1, and how often each point was
/// come to.
const CONFIRMED: (&str, &str) = ("steering", "confirmed at a point");
const ARRIVALS: (&str, &str) = ("steering", "arrivals at a point");
const GATE: (&str, &str) = ("steering", "gate of a point");

/// What has come of a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Outcome {
    /// The program has shown it, in a try; a thread waited at a point meanwhile.
    Confirmed { attempt: u64, waited: usize },
    /// All places were reached, but never as they must be.
    NotReproduced,
    /// Points that the program never came to.
    Diverged(Vec<usize>),
    /// There is nothing to steer to.
    Impossible(String),
}

/// One finding and what has come of it.
struct Tried<'a> {
    wanted: &'a Wanted,
    plan: Option<Plan>,
    outcome: Outcome,
}

/// Confirms the findings that are meant, on the program of the command line.
pub(crate) fn run(meant: &str, words: &[OsString], options: &Options) -> Result<Ending> {
    check_options(options)?;
    let mut baseline = Filters::load(options)?.into_baseline();
    Output::check(options.output.as_deref())?;
    Output::check(options.write_baseline.as_deref())?;
    let looking = Looking::load(options)?;
    let program = Program::find(words)?;
    let report = match &options.report {
        Some(path) => input::read_small(path, "the report", MAX_REPORT_BYTES)?,
        None => match watch(words, options)? {
            Ok(report) => report,
            Err(ending) => return Ok(ending),
        },
    };
    let name = options.report.as_ref().map_or("the report".to_owned(), |path| path.display().to_string());
    let findings = wanted::read(&name, &report)?;
    if findings.is_empty() {
        crate::tell("there are no findings to confirm");
        return Ok(Exit::Clean.into());
    }
    let findings = wanted::choose(findings, meant)?;
    let trying = Trying { program: &program, words, options, looking: &looking, noted: RefCell::default() };
    let mut tried = Vec::new();
    for wanted in &findings {
        let lines = |code: &_, file: &str, line| looking.symbols().line(code, file, line);
        let (plan, outcome) = match Plan::of(wanted, &lines) {
            Ok(mut plan) => match trying.all(&mut plan)? {
                Ok(outcome) => (Some(plan), outcome),
                Err(ending) => return Ok(ending),
            },
            Err(why) => (None, Outcome::Impossible(why)),
        };
        if let Outcome::Confirmed { attempt, .. } = outcome {
            let confirmation = Confirmation { program: program.name(), attempt };
            baseline.confirm(&wanted.fingerprint, &wanted.rule, &wanted.title, confirmation);
        }
        tried.push(Tried { wanted, plan, outcome });
    }
    tell(&tried, options)?;
    if let Some(path) = &options.write_baseline {
        let mut out = Output::open(Some(path))?;
        out.write_all(baseline.to_text().as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        out.finish()?;
    }
    let confirmed = tried.iter().any(|tried| matches!(tried.outcome, Outcome::Confirmed { .. }));
    Ok(if confirmed { Exit::Findings } else { Exit::Clean }.into())
}

fn check_options(options: &Options) -> Result<()> {
    if !matches!(options.format, Format::Terminal | Format::Json) {
        bail!(
            "what has come of a finding is told as `terminal` or `json`, not as --format {}",
            options.format.text()
        );
    }
    if options.tries == 0 {
        bail!("--tries 0 would run nothing: 1 or more");
    }
    if options.regions.is_some() {
        bail!(
            "--regions looks for what was learned; a finding of `keirin run --regions` cannot be confirmed"
        );
    }
    Ok(())
}

/// Runs and watches the program, as `keirin run` does, and gives the report.
fn watch(words: &[OsString], options: &Options) -> Result<Result<String, Ending>> {
    let folder = exchange_folder()?;
    let path = folder.path().join("report.json");
    let mut options = options.clone();
    options.format = Format::Json;
    options.output = Some(path.clone());
    (options.write_baseline, options.max_per_site) = (None, 0);
    let ending = run::run(words, &options)?;
    if !path.exists() {
        return Ok(Err(ending));
    }
    Ok(Ok(input::read_small(&path, "the report", MAX_REPORT_BYTES)?))
}

/// How a program is run again and again.
struct Trying<'a> {
    program: &'a Program,
    words: &'a [OsString],
    options: &'a Options,
    looking: &'a Looking,
    noted: RefCell<BTreeSet<String>>,
}

/// What one try has shown.
struct Shown {
    /// The point at which a thread waited when the goal was reached.
    waited: Option<usize>,
    /// How often each point was come to.
    arrivals: Vec<u64>,
    gates: Vec<u64>,
}

impl Trying<'_> {
    /// Tells what the user should know about a try, once.
    fn note(&self, note: &str) {
        // Processes are told by numbers, which differ from try to try.
        if !note.starts_with("process ") && self.noted.borrow_mut().insert(note.to_owned()) {
            crate::tell(&format!("note: {note}"));
        }
    }

    /// Tries until the finding is confirmed, or often enough. The other way to end is that the program cannot be watched.
    fn all(&self, plan: &mut Plan) -> Result<Result<Outcome, Ending>> {
        let mut arrivals = vec![0; plan.points.len()];
        for attempt in 1..=self.options.tries {
            let shown = match self.once(plan, attempt)? {
                Ok(shown) => shown,
                Err(ending) => return Ok(Err(ending)),
            };
            if let Some(waited) = shown.waited {
                return Ok(Ok(Outcome::Confirmed { attempt, waited }));
            }
            shown.gates.into_iter().for_each(|gate| plan.learn(gate));
            arrivals.iter_mut().zip(shown.arrivals).for_each(|(sum, count)| *sum += count);
        }
        let never: Vec<usize> = (0..arrivals.len()).filter(|point| arrivals[*point] == 0).collect();
        Ok(Ok(if never.is_empty() { Outcome::NotReproduced } else { Outcome::Diverged(never) }))
    }

    fn once(&self, plan: &Plan, attempt: u64) -> Result<Result<Shown, Ending>> {
        let folder = exchange_folder()?;
        let put = |name: &str, text: String| -> Result<_> {
            let path = folder.path().join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            Ok(path)
        };
        let mut plain = Options::default();
        (plain.memory_cap, plain.library_locks) = (self.options.memory_cap, self.options.library_locks);
        let mut settings = Settings::new(folder.path(), &["empty"], &plain)?;
        settings.set("steering", put("plan", plan.text(attempt, self.options.patience))?);
        if let Some(ranges) = atomic_functions(self.program, self.looking.rules()) {
            settings.set("atomic-functions", put("functions", ranges)?);
        }
        let status = launch(self.program, self.words, settings)?;
        let collected = collect(folder.path())?;
        if collected.processes.is_empty() {
            return Ok(Err(never_started(self.program, status, &collected.notes)));
        }
        for note in &collected.notes {
            self.note(note);
        }
        let mut shown = Shown { waited: None, arrivals: vec![0; plan.points.len()], gates: Vec::new() };
        for process in &collected.processes {
            let of = |(analysis, name): (&str, &str)| {
                let meant = move |figure: &&keirin_core::handover::Figure| {
                    (&*figure.analysis, &*figure.name) == (analysis, name)
                };
                process.statistics.iter().filter(meant).map(|figure| figure.value).collect::<Vec<u64>>()
            };
            let waited = of(CONFIRMED).first().and_then(|point| usize::try_from(*point).ok()?.checked_sub(1));
            shown.waited = shown.waited.or(waited.filter(|point| *point < plan.points.len()));
            shown.gates.extend(of(GATE));
            shown.arrivals.iter_mut().zip(of(ARRIVALS)).for_each(|(sum, count)| *sum += count);
        }
        Ok(Ok(shown))
    }
}

impl Outcome {
    /// As a stable word.
    fn word(&self) -> &'static str {
        match self {
            Outcome::Confirmed { .. } => "confirmed",
            Outcome::NotReproduced => "not-reproduced",
            Outcome::Diverged(_) => "diverged",
            Outcome::Impossible(_) => "impossible",
        }
    }
}

impl Tried<'_> {
    /// What has come of it: the first line says it all.
    fn lines(&self, tries: u64) -> Vec<String> {
        let Wanted { title, fingerprint, .. } = self.wanted;
        let tries = if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
        let point = |plan: &Plan, index: usize| {
            let point = &plan.points[index];
            let number = point.number.map_or("before".to_owned(), |number| format!("({number})"));
            format!("  {number} {}", point.told)
        };
        match (&self.outcome, &self.plan) {
            (Outcome::Confirmed { attempt, waited }, Some(plan)) => {
                let mut lines = vec![format!("confirmed in try {attempt}: {title} ({fingerprint})")];
                let all = 0..plan.points.len();
                if plan.is_together() {
                    lines.extend((0..plan.before()).map(|index| point(plan, index)));
                    let other = all.rev().find(|index| index != waited).unwrap_or(*waited);
                    lines.push(format!("{}: it was stopped right before that, when", point(plan, *waited)));
                    lines.push(format!("{}: it was about to do so, to the same bytes", point(plan, other)));
                } else {
                    lines
                        .push("  this happened one after the other, to the same memory or locks:".to_owned());
                    lines.extend(all.map(|index| point(plan, index)));
                }
                lines
            }
            (Outcome::Diverged(never), Some(plan)) => {
                let mut lines = vec![format!(
                    "diverged: {title} ({fingerprint}): in {tries} the program never came to, or was built again since:"
                )];
                lines.extend(never.iter().map(|index| point(plan, *index)));
                lines
            }
            (Outcome::Impossible(why), _) => {
                vec![format!("cannot be confirmed: {title} ({fingerprint}): {why}")]
            }
            _ => vec![format!(
                "not reproduced in {tries}: {title} ({fingerprint}); the program came to all its places, but never so; \
                 --tries and --patience give it more"
            )],
        }
    }
}

/// What is told of one finding.
#[derive(Serialize)]
struct Told<'a> {
    rule: &'a str,
    fingerprint: &'a str,
    title: &'a str,
    outcome: &'static str,
    /// In which try it was confirmed.
    #[serde(rename = "try", skip_serializing_if = "Option::is_none")]
    attempt: Option<u64>,
    /// Numbers of the steps of the finding that the program never came to.
    never_reached: Vec<usize>,
    /// All of that in words.
    text: String,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tries: u64,
    results: Vec<Told<'a>>,
}

/// Tells what has come of all findings.
fn tell(tried: &[Tried<'_>], options: &Options) -> Result<()> {
    let lines = |tried: &Tried<'_>| tried.lines(options.tries);
    let confirmed = tried.iter().filter(|tried| matches!(tried.outcome, Outcome::Confirmed { .. })).count();
    let summary = format!("{confirmed} of {} confirmed", counted(tried.len() as u64, "finding"));
    let text = match options.format {
        Format::Json => {
            let results = tried.iter().map(|one| Told {
                rule: &one.wanted.rule,
                fingerprint: &one.wanted.fingerprint,
                title: &one.wanted.title,
                outcome: one.outcome.word(),
                attempt: match one.outcome {
                    Outcome::Confirmed { attempt, .. } => Some(attempt),
                    _ => None,
                },
                never_reached: match (&one.outcome, &one.plan) {
                    (Outcome::Diverged(never), Some(plan)) => {
                        never.iter().filter_map(|index| plan.points[*index].number).collect()
                    }
                    _ => Vec::new(),
                },
                text: lines(one).join("\n"),
            });
            let document = Document { schema: SCHEMA, tries: options.tries, results: results.collect() };
            // Strings and numbers always have a JSON form, so there is nothing to fail.
            serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
        }
        _ => {
            let mut text = String::new();
            for line in tried.iter().flat_map(lines) {
                let head = if line.starts_with(' ') { "" } else { "keirin: " };
                text += &format!("{head}{}\n", printable(&line));
            }
            if tried.len() > 1 {
                text += &format!("keirin: {summary}\n");
            }
            text
        }
    };
    let mut out = open(options.output.as_deref(), options.format)?;
    tolerate_closed(out.write_all(text.as_bytes())).context("cannot write what has come of it")?;
    out.finish()?;
    if options.output.is_some() || options.format != Format::Terminal {
        crate::tell(&summary);
    }
    Ok(())
}

/// Standard output is the program's own, unless it is asked for.
fn open(path: Option<&Path>, format: Format) -> Result<Output> {
    match (path, format) {
        (None, Format::Terminal) => Ok(Output::error()),
        (path, _) => Output::open(path),
    }
}
