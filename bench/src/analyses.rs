//! The tables `analyses`: how fast each analysis is, alone and with others in one pass; what that is in terms of the
//! Velodrome paper; and which of their warnings are right.

use crate::child::{Cost, improve, run_to_end, run_with_findings};
use crate::programs::Programs;
use crate::readers::{Reader, events_printed};
use crate::table::{Table, count, goal, mebibytes, nothing, seconds};
pub use crate::traces::Settings;
use crate::workload::Trace;
use crate::{transactions, warnings};
use anyhow::{Context, Result};
use keirin_core::generate::Family;
use std::fmt::Write;
use std::path::Path;

/// The families that are measured unless others are named.
pub const DEFAULT_FAMILIES: [Family; 4] =
    [Family::FewThreads, Family::ManyThreads, Family::OpenTransaction, Family::Mutual];

/// The analyses, in the order of the paper's table and then those that are newer.
const ANALYSES: [&str; 6] = ["empty", "eraser", "atomizer", "velodrome", "aerodrome", "fasttrack"];
/// The analyses that also run together, in one pass.
const TOGETHER: [&str; 3] = ["velodrome", "fasttrack", "eraser"];
/// One pass should take at most this share of what its analyses take one by one.
const MOST_OF_SUM: f64 = 0.8;
/// The published algorithm is quadratic on some traces, so that its nodes are counted on traces shorter by this factor.
const SHORTER: u64 = 10;
/// The shortest trace of which there is something to count.
const LEAST_EVENTS: u64 = 100;

/// The summary of a report is at its end and shorter than this.
const SUMMARY_BYTES: u64 = 1024;

/// What was measured on one family.
struct Measured {
    family: Family,
    events: u64,
    decoding: Cost,
    alone: Vec<(&'static str, Cost)>,
    together: Cost,
}

impl Measured {
    fn time_of(&self, analysis: &str) -> f64 {
        let found = self.alone.iter().find(|(name, _)| *name == analysis);
        found.map_or(0.0, |(_, cost)| cost.processor.as_secs_f64())
    }

    /// The time of one pass as a share of what its analyses take one by one.
    fn share_of_sum(&self) -> f64 {
        let sum: f64 = TOGETHER.into_iter().map(|analysis| self.time_of(analysis)).sum();
        self.together.processor.as_secs_f64() / sum
    }
}

/// Makes all tables; gives each to `show` as soon as it is there.
pub fn tables(programs: &Programs, settings: &Settings, mut show: impl FnMut(&str)) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    show("## Speed\n\n");
    let mut all = Vec::new();
    for &family in &settings.families {
        let measured = measure(programs, settings, folder.path(), family)?;
        show(&speed(&measured)?);
        all.push(measured);
    }
    show(&format!("## One pass\n\n{}\n", one_pass(&all)));
    show(&format!("## The paper's comparison\n\n{}\n", comparison(programs, settings, folder.path(), &all)?));
    // At the end, since it reads traces and reports in this process, whose memory its children would start with.
    let events = settings.events.min(warnings::EVENTS);
    show(&format!("## Warnings\n\n{}", warnings::table(programs, folder.path(), events)?));
    Ok(())
}

/// Runs everything on one family in turn, several times.
fn measure(programs: &Programs, settings: &Settings, folder: &Path, family: Family) -> Result<Measured> {
    let trace = Trace::generate(programs, folder, family, settings.events, "ktrace")?;
    let check = |analyses: &str| {
        let mut command = programs.keirin(&["check", "--analysis", analyses]);
        command.arg(trace.path());
        // The traces are serializable, but not free of what the other analyses look for.
        run_with_findings(&mut command, folder, SUMMARY_BYTES)
    };
    let (mut decoding, mut together) = (None, None);
    let mut alone = ANALYSES.map(|_| None);
    for _ in 0..settings.rounds {
        improve(&mut decoding, run_to_end(&mut programs.reader(Reader::Native, trace.path()), folder)?);
        for (analysis, best) in ANALYSES.into_iter().zip(&mut alone) {
            improve(best, check(analysis)?);
        }
        improve(&mut together, check(&TOGETHER.join(","))?);
    }
    let none = "nothing was run";
    let decoding = decoding.context(none)?;
    let alone = ANALYSES.into_iter().zip(alone).map(|(analysis, best)| Ok((analysis, best.context(none)?)));
    Ok(Measured {
        family,
        events: events_printed(&decoding.output)?,
        alone: alone.collect::<Result<_>>()?,
        together: together.context(none)?,
        decoding,
    })
}

/// Million events a second that an analysis should check at least.
fn least_speed(family: Family, analysis: &str) -> Option<f64> {
    match (family, analysis) {
        (_, "empty") => None,
        (Family::FewThreads, "fasttrack") => Some(20.0),
        (Family::FewThreads, "velodrome" | "aerodrome") => Some(10.0),
        (Family::OpenTransaction | Family::Mutual, "fasttrack") => Some(10.0),
        (Family::OpenTransaction | Family::Mutual, "velodrome" | "aerodrome") => Some(5.0),
        (Family::ManyThreads, _) => Some(4.0),
        _ => None,
    }
}

fn speed(measured: &Measured) -> Result<String> {
    let Measured { family, events, .. } = measured;
    let mut table =
        Table::new(&["analysis", "CPU s", "million events/s", "× Empty", "peak MiB", "findings", "goal"]);
    let empty = measured.time_of("empty");
    for (analysis, cost) in &measured.alone {
        let time = cost.processor.as_secs_f64();
        let million_a_second = *events as f64 / 1e6 / time;
        table.row(vec![
            title(analysis).to_owned(),
            seconds(cost.processor),
            format!("{million_a_second:.1}"),
            format!("{:.2}", time / empty),
            mebibytes(cost.memory),
            count(findings(&cost.output)?),
            least_speed(*family, analysis).map_or_else(nothing, |least| {
                goal(&format!("≥ {least} million/s"), million_a_second >= least)
            }),
        ]);
    }
    let mut text = String::new();
    writeln!(text, "### `{family}`: {}\n\n{} events.\n\n{table}", family.about(), count(*events))?;
    Ok(text)
}

fn one_pass(all: &[Measured]) -> Table {
    let mut table = Table::new(&["family", "one by one, CPU s", "in one pass, CPU s", "share", "goal"]);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let judged = |share| goal(&format!("≤ {:.0} %", 100.0 * MOST_OF_SUM), share <= MOST_OF_SUM);
    let mut logarithms = 0.0;
    for measured in all {
        let share = measured.share_of_sum();
        logarithms += share.ln();
        table.row(vec![
            format!("`{}`", measured.family),
            format!("{:.2}", TOGETHER.into_iter().map(|analysis| measured.time_of(analysis)).sum::<f64>()),
            seconds(measured.together.processor),
            percent(share),
            judged(share),
        ]);
    }
    let mean = (logarithms / all.len() as f64).exp();
    table.row(vec!["geometric mean".to_owned(), nothing(), nothing(), percent(mean), judged(mean)]);
    table
}

fn comparison(programs: &Programs, settings: &Settings, folder: &Path, all: &[Measured]) -> Result<Table> {
    let mut heads = vec!["family", "decoding, CPU s"];
    heads.extend(ANALYSES.map(title));
    heads.extend([
        "transactions",
        "nodes, no merging",
        "with merging",
        "alive at once, no merging",
        "with merging",
    ]);
    let mut table = Table::new(&heads);
    let events = (settings.events / SHORTER).max(LEAST_EVENTS);
    for measured in all {
        let decoding = measured.decoding.processor;
        let mut row = vec![format!("`{}`", measured.family), seconds(decoding)];
        row.extend(
            measured
                .alone
                .iter()
                .map(|(_, cost)| format!("{:.2} ×", cost.processor.as_secs_f64() / decoding.as_secs_f64())),
        );
        let figures = transactions::figures(programs, folder, measured.family, events, settings.limit)?;
        // The last ones are about our own algorithm, which the paper does not have.
        row.extend(figures.into_iter().take(5));
        table.row(row);
    }
    Ok(table)
}

fn title(analysis: &str) -> &'static str {
    match analysis {
        "empty" => "Empty",
        "eraser" => "Eraser",
        "atomizer" => "Atomizer",
        "velodrome" => "Velodrome",
        "aerodrome" => "AeroDrome",
        _ => "FastTrack",
    }
}

/// How much was found by one analysis, told or not, after the last line of a report.
fn findings(report: &str) -> Result<u64> {
    let line = report.lines().rev().find_map(|line| line.strip_prefix("keirin: "));
    let line = line.with_context(|| "a report without a summary")?;
    let words: Vec<&str> = line.split([' ', '(', ';']).filter(|word| !word.is_empty()).collect();
    let number = |word: &str| word.replace(',', "").parse::<u64>().ok();
    let told = match words.first() {
        Some(&"no") => Some(0),
        first => first.and_then(|word| number(word)),
    };
    let hidden = words.windows(2).find(|pair| pair[1] == "hidden").and_then(|pair| number(pair[0]));
    Ok(told.with_context(|| format!("no number in `{line}`"))? + hidden.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn cost(milliseconds: u64) -> Cost {
        let output = "keirin: no findings in 9 events of 2 threads by empty\n".to_owned();
        Cost {
            processor: Duration::from_millis(milliseconds),
            memory: 1 << 20,
            output,
            messages: String::new(),
        }
    }

    fn measured(family: Family, alone: u64, together: u64) -> Measured {
        let alone = ANALYSES.into_iter().map(|analysis| (analysis, cost(alone))).collect();
        Measured { family, events: 10_000_000, decoding: cost(100), alone, together: cost(together) }
    }

    #[test]
    fn goals_of_speed_depend_on_family_and_analysis() {
        let text = speed(&measured(Family::FewThreads, 1000, 0)).expect("the report has a summary");
        assert!(
            text.contains("| Velodrome | 1.00 | 10.0 | 1.00 | 1.0 | 0 | ≥ 10 million/s: met |"),
            "{text}"
        );
        assert!(
            text.contains("| FastTrack | 1.00 | 10.0 | 1.00 | 1.0 | 0 | ≥ 20 million/s: **missed** |"),
            "{text}"
        );
        assert!(text.contains("| Eraser | 1.00 | 10.0 | 1.00 | 1.0 | 0 | – |"), "{text}");
    }

    #[test]
    fn one_pass_is_compared_with_the_sum() {
        let all = [measured(Family::FewThreads, 1000, 1500), measured(Family::Mutual, 1000, 3000)];
        let text = one_pass(&all).to_string();
        assert!(text.contains("| `few-threads` | 3.00 | 1.50 | 50.0 % | ≤ 80 %: met |"), "{text}");
        assert!(text.contains("| `mutual` | 3.00 | 3.00 | 100.0 % | ≤ 80 %: **missed** |"), "{text}");
        assert!(text.contains("| geometric mean | – | – | 70.7 % | ≤ 80 %: met |"), "{text}");
    }

    #[test]
    fn findings_are_counted_with_those_that_were_hidden() {
        let of = |line: &str| findings(&format!("a report\n\nkeirin: {line}\n")).ok();
        assert_eq!(of("no findings in 1,000 events of 4 threads by empty"), Some(0));
        assert_eq!(of("1 suspected finding in 1,000 events of 8 threads by atomizer; next: x"), Some(1));
        assert_eq!(of("4,986 findings (2396 hidden by the cap per site) in 9 events"), Some(7382));
        assert_eq!(findings("nothing").ok(), None);
    }
}
