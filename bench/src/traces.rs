//! The table `traces`: how fast traces are read and checked, and how much memory that takes.

use crate::child::{Cost, Ending, improve, run};
use crate::programs::Programs;
use crate::readers::{Reader, events_printed};
use crate::table::{Table, count, goal, mebibytes, nothing, seconds};
use crate::workload::Trace;
use anyhow::{Context, Result, ensure};
use keirin_core::generate::Family;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The families that are measured unless others are named.
pub const DEFAULT_FAMILIES: [Family; 3] = [Family::FewThreads, Family::ManyThreads, Family::OpenTransaction];

/// Checking a text may take so many times as long as splitting it into lines and fields.
const MOST_TIMES_BARE: f64 = 3.0;
/// Million events a second that the native reader should decode at least.
const LEAST_DECODED: f64 = 20.0;
/// Million events a second that Velodrome should check at least.
const LEAST_CHECKED: f64 = 8.0;
/// Memory counts as flat if ten times the events need at most so many times the memory. Not one: the allocator's
/// arenas and the pages that the kernel happens to map vary by some.
const MOST_GROWTH: f64 = 1.25;
/// The memory of the same work is also looked at for a trace that is shorter by this factor.
const SHORTER: u64 = 10;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of events of each trace, about.
    pub events: u64,
    /// How often everything is run.
    pub rounds: u32,
    /// After so long a run of the published algorithm, which takes quadratic time on some traces, is killed.
    pub limit: Duration,
    /// The families of traces.
    pub families: Vec<Family>,
}

/// Who is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Contestant {
    BareLines,
    CheckText,
    BareNative,
    CheckNative,
    CheckPublished,
}

impl Contestant {
    const ALL: [Contestant; 5] = [
        Contestant::BareLines,
        Contestant::CheckText,
        Contestant::BareNative,
        Contestant::CheckNative,
        Contestant::CheckPublished,
    ];

    fn title(self) -> &'static str {
        match self {
            Contestant::BareLines => "text: lines and fields only",
            Contestant::CheckText => "text: Velodrome",
            Contestant::BareNative => "native: decode only",
            Contestant::CheckNative => "native: Velodrome",
            Contestant::CheckPublished => "native: Velodrome as published",
        }
    }

    fn command(self, programs: &Programs, traces: &Pair) -> Command {
        let check = |options: &[&str], trace: &Trace| {
            let mut command = programs.keirin(&["check", "--analysis", "velodrome"]);
            command.args(options).arg(trace.path());
            command
        };
        match self {
            Contestant::BareLines => programs.reader(Reader::Lines, traces.text.path()),
            Contestant::CheckText => check(&[], &traces.text),
            Contestant::BareNative => programs.reader(Reader::Native, traces.native.path()),
            Contestant::CheckNative => check(&[], &traces.native),
            Contestant::CheckPublished => check(&["--algorithm", "published"], &traces.native),
        }
    }
}

/// The same events in both formats.
struct Pair {
    text: Trace,
    native: Trace,
}

impl Pair {
    fn generate(programs: &Programs, folder: &Path, family: Family, events: u64) -> Result<Self> {
        let generate = |extension| Trace::generate(programs, folder, family, events, extension);
        Ok(Self { text: generate("std")?, native: generate("ktrace")? })
    }
}

/// The best of all runs of a contestant; None if it was killed.
type Best = Option<Cost>;

/// Measures all families; gives each one's table to `show` as soon as it is there.
pub fn tables(programs: &Programs, settings: &Settings, mut show: impl FnMut(&str)) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    for &family in &settings.families {
        show(&table(programs, settings, folder.path(), family)?);
    }
    Ok(())
}

fn table(programs: &Programs, settings: &Settings, folder: &Path, family: Family) -> Result<String> {
    let short = {
        let traces = Pair::generate(programs, folder, family, settings.events / SHORTER)?;
        measure(programs, &traces, folder, 1, settings.limit)?
    };
    let traces = Pair::generate(programs, folder, family, settings.events)?;
    let long = measure(programs, &traces, folder, settings.rounds, settings.limit)?;
    let events = events_read(&long)?;

    let bytes_per_event = |trace: &Trace| -> Result<f64> { Ok(trace.bytes()? as f64 / events as f64) };
    let mut text = String::new();
    writeln!(
        text,
        "### `{family}`: {}\n\n{} events; {:.2} bytes an event as text, {:.2} in the native format.\n",
        family.about(),
        count(events),
        bytes_per_event(&traces.text)?,
        bytes_per_event(&traces.native)?,
    )?;
    let mut table = Table::new(&[
        "",
        "CPU s",
        "million events/s",
        "× bare reader",
        "peak MiB",
        "peak MiB at 1/10 length",
        "goals",
    ]);
    let bare = long[0].as_ref().map_or(Duration::ZERO, |cost| cost.processor);
    for ((contestant, long), short) in Contestant::ALL.into_iter().zip(&long).zip(&short) {
        table.row(row(contestant, family, events, bare, long, short, settings.limit));
    }
    writeln!(text, "{table}")?;
    Ok(text)
}

/// Runs all contestants in turn, several times.
fn measure(
    programs: &Programs,
    traces: &Pair,
    folder: &Path,
    rounds: u32,
    limit: Duration,
) -> Result<[Best; 5]> {
    let mut best: [Best; 5] = Default::default();
    let mut killed = false;
    for _ in 0..rounds {
        for (contestant, best) in Contestant::ALL.into_iter().zip(&mut best) {
            let limit = (contestant == Contestant::CheckPublished).then_some(limit);
            if limit.is_some() && killed {
                continue;
            }
            match run(&mut contestant.command(programs, traces), folder, limit)? {
                Ending::Done(cost) => improve(best, cost),
                Ending::Killed => {
                    killed = true;
                    *best = None;
                }
            }
        }
    }
    Ok(best)
}

/// The number of events, on which both bare readers must agree.
fn events_read(best: &[Best; 5]) -> Result<u64> {
    let events = |contestant: Contestant| -> Result<u64> {
        let cost = best[contestant as usize].as_ref().context("a bare reader did not run")?;
        events_printed(&cost.output)
    };
    let (text, native) = (events(Contestant::BareLines)?, events(Contestant::BareNative)?);
    ensure!(text == native, "{text} events in the text, but {native} in the native trace");
    Ok(text)
}

fn row(
    contestant: Contestant,
    family: Family,
    events: u64,
    bare: Duration,
    long: &Best,
    short: &Best,
    limit: Duration,
) -> Vec<String> {
    let killed = format!("> {} s", limit.as_secs_f64());
    let memory = |best: &Best| best.as_ref().map_or_else(nothing, |cost| mebibytes(cost.memory));
    let title = contestant.title().to_owned();
    let Some(cost) = long else {
        return vec![title, killed, nothing(), nothing(), memory(long), memory(short), nothing()];
    };
    let time = cost.processor.as_secs_f64();
    let million_a_second = events as f64 / 1e6 / time;
    let times_bare = time / bare.as_secs_f64();
    let is_text = matches!(contestant, Contestant::BareLines | Contestant::CheckText);

    let mut goals = Vec::new();
    match contestant {
        Contestant::CheckText => {
            goals.push(goal(&format!("≤ {MOST_TIMES_BARE} × bare"), times_bare <= MOST_TIMES_BARE));
        }
        Contestant::BareNative => {
            goals.push(goal(&format!("≥ {LEAST_DECODED} million/s"), million_a_second >= LEAST_DECODED));
        }
        Contestant::CheckNative => {
            goals.push(goal(&format!("≥ {LEAST_CHECKED} million/s"), million_a_second >= LEAST_CHECKED));
        }
        Contestant::BareLines | Contestant::CheckPublished => {}
    }
    let checked = matches!(contestant, Contestant::CheckText | Contestant::CheckNative);
    if checked
        && has_short_transactions(family)
        && let Some(short) = short
    {
        goals.push(goal("flat memory", cost.memory as f64 <= MOST_GROWTH * short.memory as f64));
    }
    let goals = if goals.is_empty() { nothing() } else { goals.join("; ") };
    vec![
        title,
        seconds(cost.processor),
        format!("{million_a_second:.1}"),
        if is_text { format!("{times_bare:.2}") } else { nothing() },
        memory(long),
        memory(short),
        goals,
    ]
}

fn has_short_transactions(family: Family) -> bool {
    !matches!(family, Family::OpenTransaction | Family::Mutual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(milliseconds: u64, memory: u64) -> Cost {
        let processor = Duration::from_millis(milliseconds);
        Cost { processor, memory, output: String::new(), messages: String::new() }
    }

    fn goals(contestant: Contestant, long: Best, short: Best) -> String {
        let (bare, limit) = (Duration::from_secs(1), Duration::from_secs(9));
        row(contestant, Family::FewThreads, 10_000_000, bare, &long, &short, limit).pop().unwrap_or_default()
    }

    #[test]
    fn goals_are_judged() {
        let small = Some(cost(1, 100));
        assert_eq!(
            goals(Contestant::CheckText, Some(cost(2900, 110)), small.clone()),
            "≤ 3 × bare: met; flat memory: met"
        );
        assert_eq!(
            goals(Contestant::CheckNative, Some(cost(2000, 500)), small.clone()),
            "≥ 8 million/s: **missed**; flat memory: **missed**"
        );
        assert_eq!(goals(Contestant::CheckPublished, None, small), "–");
    }
}
