//! The tables `tasks`: how fast the analyses of tasks are, what they remember, and what their structures and caches
//! contribute.

use crate::child::{Cost, Ending, improve, run_to_end, run_with_findings_until};
use crate::programs::Programs;
use crate::readers::Reader;
use crate::statistics::Statistics;
use crate::table::{Table, count, goal, mebibytes, nothing, seconds};
use crate::workload::Trace;
use anyhow::{Context, Result};
use keirin_core::generate::Family;
use std::path::Path;
use std::time::Duration;

/// The summary of a report is at its end and shorter than this.
const SUMMARY_BYTES: u64 = 1024;
/// Million events a second that the race detectors should check at least.
const LEAST_SPEED: f64 = 15.0;
/// The atomicity checker should take at most so many times the time of the race detector.
const MOST_OF_PTRACER: f64 = 1.5;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Events of each trace.
    pub events: u64,
    /// How often everything is run.
    pub rounds: u32,
    /// The published atomicity checker is killed after so long.
    pub limit: Duration,
    /// Which families.
    pub families: Vec<Family>,
}

/// One row: what runs.
struct Contestant {
    title: &'static str,
    arguments: &'static [&'static str],
}

const fn row(title: &'static str, arguments: &'static [&'static str]) -> Contestant {
    Contestant { title, arguments }
}

/// Where the measures of the others are, in both lists of analyses.
const EMPTY: usize = 0;
const PTRACER: usize = 2;
const ANALYSES: [Contestant; 7] = [
    row("Empty", &["empty"]),
    row("PTRacer as printed", &["ptracer", "--algorithm", "published"]),
    row("PTRacer", &["ptracer"]),
    row("unbounded history", &["all-sets"]),
    row("task-atomicity, steps", &["task-atomicity", "--check", "steps"]),
    row("task-atomicity, blocks and gaps", &["task-atomicity"]),
    row("published atomicity checker", SLOW),
];
/// It looks through all tasks that have touched a location, which takes quadratic time: it is run once, with a limit.
const SLOW: &[&str] = &["task-atomicity", "--algorithm", "published"];
/// SPD3 would take every guarded variable for racy and look at it no more, so that it needs a trace without locks.
const LOCK_FREE: [Contestant; 3] =
    [row("Empty", &["empty"]), row("SPD3", &["spd3"]), row("PTRacer", &["ptracer"])];
/// All of these are PTRacer.
const VARIANTS: [Contestant; 7] = [
    row("ranks, access cache", &["ptracer", "--access-cache"]),
    row("ranks, verdict cache", &["ptracer", "--verdict-cache", "on"]),
    row("labels", &["ptracer", "--structure", "labels"]),
    row("labels, verdict cache", &["ptracer", "--structure", "labels", "--verdict-cache", "on"]),
    row("tree, both caches", &["ptracer", "--structure", "tree", "--access-cache"]),
    row("tree, verdict cache", &["ptracer", "--structure", "tree"]),
    row("tree, neither cache", &["ptracer", "--structure", "tree", "--verdict-cache", "off"]),
];

/// What one row cost, and the figures that it counted in a run of its own.
struct Measured {
    /// None if it was killed.
    cost: Option<Cost>,
    statistics: Statistics,
}

impl Measured {
    fn time(&self) -> f64 {
        self.cost.as_ref().map_or(f64::INFINITY, |cost| cost.processor.as_secs_f64())
    }
}

/// Makes the tables of all families.
pub fn tables(programs: &Programs, settings: &Settings, mut print: impl FnMut(&str)) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    for &family in &settings.families {
        print(&with_locks(programs, settings, folder.path(), family)?);
        print(&without_locks(programs, settings, folder.path(), family)?);
    }
    Ok(())
}

fn with_locks(programs: &Programs, settings: &Settings, folder: &Path, family: Family) -> Result<String> {
    let trace = Trace::generate(programs, folder, family, settings.events, "ktrace")?;
    let rows: Vec<&Contestant> = ANALYSES.iter().chain(&VARIANTS).collect();
    let (decoding, measured) = measure(programs, settings, folder, &trace, &rows)?;
    let (events, accesses) = events_and_accesses(&measured[EMPTY].statistics)?;
    Ok(format!(
        "### `{family}`: {}\n\n{} events, {} of them accesses; {} tasks.\n\n{}\nPTRacer with other structures and \
         caches:\n\n{}\n",
        family.about(),
        count(events),
        count(accesses),
        measured[PTRACER].statistics.get("tasks").map_or_else(nothing, count),
        speeds(events, settings.limit, &decoding, &ANALYSES, &measured),
        structures(events, accesses, &measured),
    ))
}

fn without_locks(programs: &Programs, settings: &Settings, folder: &Path, family: Family) -> Result<String> {
    let trace = Trace::generate_without_locks(programs, folder, family, settings.events, "ktrace")?;
    let rows: Vec<&Contestant> = LOCK_FREE.iter().collect();
    let (decoding, measured) = measure(programs, settings, folder, &trace, &rows)?;
    let (events, accesses) = events_and_accesses(&measured[EMPTY].statistics)?;
    Ok(format!(
        "The same family without locks, {} events, {} of them accesses:\n\n{}\n",
        count(events),
        count(accesses),
        speeds(events, settings.limit, &decoding, &LOCK_FREE, &measured),
    ))
}

/// Runs everything on one trace in turn, several times. Gives the cost of decoding as well.
fn measure(
    programs: &Programs,
    settings: &Settings,
    folder: &Path,
    trace: &Trace,
    rows: &[&Contestant],
) -> Result<(Cost, Vec<Measured>)> {
    let check = |contestant: &Contestant, more: &[&str]| {
        let mut command = programs.keirin(&["check"]);
        command.arg("--analysis").args(contestant.arguments).args(more).arg(trace.path());
        // There is nothing to find, but an analysis as printed may think so.
        let limit = (contestant.arguments == SLOW).then_some(settings.limit);
        run_with_findings_until(&mut command, folder, limit, SUMMARY_BYTES)
    };
    let mut decoding = None;
    let mut best: Vec<Option<Cost>> = rows.iter().map(|_| None).collect();
    for round in 0..settings.rounds {
        improve(&mut decoding, run_to_end(&mut programs.reader(Reader::Native, trace.path()), folder)?);
        for (contestant, best) in rows.iter().zip(&mut best) {
            if (round == 0 || contestant.arguments != SLOW)
                && let Ending::Done(cost) = check(contestant, &[])?
            {
                improve(best, cost);
            }
        }
    }
    let none = "nothing was run";
    let mut measured = Vec::new();
    for (contestant, best) in rows.iter().zip(best) {
        // Counting costs time and memory, so that it is done apart.
        let counted = if best.is_some() { check(contestant, &["--stats"])? } else { Ending::Killed };
        let statistics = match counted {
            Ending::Done(cost) => Statistics(cost.messages),
            Ending::Killed => Statistics(String::new()),
        };
        measured.push(Measured { cost: best, statistics });
    }
    Ok((decoding.context(none)?, measured))
}

fn million_a_second(events: u64, time: f64) -> f64 {
    events as f64 / 1e6 / time
}

fn speeds(
    events: u64,
    limit: Duration,
    decoding: &Cost,
    rows: &[Contestant],
    measured: &[Measured],
) -> Table {
    let mut table = Table::new(&[
        "analysis",
        "CPU s",
        "million events/s",
        "× Empty",
        "× PTRacer",
        "peak MiB",
        "locations",
        "bytes/location",
        "goal",
    ]);
    let (empty, ptracer) = (measured[EMPTY].time(), measured[PTRACER].time());
    let mut add = |title: &str, cost: Option<&Cost>, statistics: Option<&Statistics>, goal: String| {
        let Some(cost) = cost else {
            let mut fields = vec![title.to_owned(), format!("> {} s", limit.as_secs())];
            fields.resize_with(9, nothing);
            return table.row(fields);
        };
        let time = cost.processor.as_secs_f64();
        let figure = |name: &str| statistics.and_then(|statistics| statistics.get(name));
        let (locations, bytes) = (figure("locations"), figure("bytes about locations"));
        let share = locations.zip(bytes).map(|(locations, bytes)| bytes as f64 / locations.max(1) as f64);
        table.row(vec![
            title.to_owned(),
            seconds(cost.processor),
            format!("{:.1}", million_a_second(events, time)),
            format!("{:.2}", time / empty),
            format!("{:.2}", time / ptracer),
            mebibytes(cost.memory),
            locations.map_or_else(nothing, count),
            share.map_or_else(nothing, |share| format!("{share:.1}")),
            goal,
        ]);
    };
    add("decode only", Some(decoding), None, nothing());
    for (contestant, row) in rows.iter().zip(measured) {
        let judged = match contestant.arguments {
            ["spd3" | "ptracer"] => {
                let speed = million_a_second(events, row.time());
                goal(&format!("≥ {LEAST_SPEED} million/s"), speed >= LEAST_SPEED)
            }
            ["task-atomicity"] | ["task-atomicity", "--check", _] => {
                goal(&format!("≤ {MOST_OF_PTRACER} × PTRacer"), row.time() <= MOST_OF_PTRACER * ptracer)
            }
            _ => nothing(),
        };
        add(contestant.title, row.cost.as_ref(), Some(&row.statistics), judged);
    }
    table
}

fn structures(events: u64, accesses: u64, measured: &[Measured]) -> Table {
    let mut table = Table::new(&[
        "structure and caches",
        "CPU s",
        "million events/s",
        "× ranks",
        "peak MiB",
        "locations",
        "nodes",
        "questions",
        "different questions",
        "verdict cache hits",
        "access cache hits",
    ]);
    let usual = row("ranks", ANALYSES[PTRACER].arguments);
    let rows = [&usual].into_iter().chain(&VARIANTS);
    let figures = [&measured[PTRACER]].into_iter().chain(&measured[ANALYSES.len()..]);
    for (contestant, row) in rows.zip(figures) {
        let figure = |name: &str| row.statistics.get(name);
        let number = |name: &str| figure(name).map_or_else(nothing, count);
        let share = |part: &str, whole: Option<u64>| match (figure(part), whole) {
            (Some(part), Some(whole)) if whole > 0 => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
            _ => nothing(),
        };
        let asked = figure("questions about two steps");
        let Some(cost) = &row.cost else { continue };
        table.row(vec![
            contestant.title.to_owned(),
            seconds(cost.processor),
            format!("{:.1}", million_a_second(events, row.time())),
            format!("{:.2}", row.time() / measured[PTRACER].time()),
            mebibytes(cost.memory),
            number("locations"),
            number("nodes of the structure"),
            number("questions about two steps"),
            share("different questions", asked),
            share("questions answered by the verdict cache", asked),
            share("accesses answered by the access cache", Some(accesses)),
        ]);
    }
    table
}

/// Both are in the line about the whole trace.
fn events_and_accesses(statistics: &Statistics) -> Result<(u64, u64)> {
    let both = statistics.of_run("events").zip(statistics.of_run("accesses"));
    both.context("no figures")
}
