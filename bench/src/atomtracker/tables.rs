//! The tables, each figure beside the paper's, and the plots.

use super::learning::converged_after;
use super::{BugResult, KnownResult};
use crate::table::{Table, count, goal, nothing};
use anyhow::{Context, Result};
use keirin_core::analysis::atomtracker::hardware::Cost;
use keirin_core::analysis::atomtracker::hardware::simulate::{Origin, Simulated, different};
use keirin_core::analysis::atomtracker::infer::Learned;
use keirin_plot::Series;
use std::path::Path;

/// Table 8.
pub(super) fn regions(known: &[KnownResult]) -> String {
    let mut table = Table::new(&[
        "program (regions)",
        "runs until nothing new",
        "all",
        "paper",
        "without critical sections",
        "paper",
        "without loops",
        "paper",
        "without both",
        "paper",
    ]);
    let mut sums = [0.0; 4];
    let mut notes = String::new();
    for result in known {
        let shares = result.correct.each_ref().map(|correct| share(correct));
        for (sum, share) in sums.iter_mut().zip(shares) {
            *sum += share / known.len() as f64;
        }
        let named = format!("{} ({})", result.known.name, result.regions.len());
        let figures = shares.iter().zip(result.known.correct);
        let figures = figures.flat_map(|(share, paper)| [format!("{share:.1} %"), format!("{paper:.1} %")]);
        let runs = converged_after(&result.learned).to_string();
        table.row([named, runs].into_iter().chain(figures).collect());
        let missed = result.regions.iter().zip(&result.correct[0]).filter(|(_, correct)| !**correct);
        let missed: Vec<&str> = missed.map(|(region, _)| region.name.as_str()).collect();
        if !missed.is_empty() {
            notes += &format!("\nNot inferred in {}: {}.\n", result.known.name, missed.join(", "));
        }
    }
    let paper = [100.0, 79.1, 89.7, 68.8];
    let means =
        sums.iter().zip(paper).flat_map(|(sum, paper)| [format!("{sum:.1} %"), format!("{paper:.1} %")]);
    table.row(["mean".to_owned(), nothing()].into_iter().chain(means).collect());
    format!("### Regions that are inferred (Table 8)\n\n{table}{notes}\n")
}

fn share(correct: &[bool]) -> f64 {
    100.0 * correct.iter().filter(|&&correct| correct).count() as f64 / correct.len().max(1) as f64
}

/// Table 5.
pub(super) fn bugs(bugs: &[BugResult]) -> String {
    let mut table = Table::new(&[
        "bug",
        "runs until nothing new",
        "bad runs left out",
        "regions",
        "AtomTracker",
        "paper",
        "pairs (AVIO)",
        "paper",
    ]);
    for result in bugs {
        table.row(vec![
            result.bug.name.to_owned(),
            converged_after(&result.learned).to_string(),
            result.bad_runs.to_string(),
            count(result.learned.regions.pairs() as u64),
            answer(result.found),
            answer(true),
            answer(result.found_by_pairs),
            answer(result.bug.avio),
        ]);
    }
    let all = bugs.iter().all(|result| result.found);
    format!("### Bugs that are found (Table 5)\n\n{table}\n{}\n\n", goal("all eight are found", all))
}

fn answer(is_so: bool) -> String {
    String::from(if is_so { "yes" } else { "no" })
}

/// The mean of a figure of some runs.
fn mean(runs: &[Simulated], figure: impl Fn(&Simulated) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len().max(1) as f64
}

/// The different alarms of the three detectors, for each run.
fn alarms(runs: &[Simulated]) -> [f64; 3] {
    let of: [fn(&Simulated) -> usize; 3] =
        [|run| different(&run.software), |run| different(&run.unbounded), |run| different(&run.signatures)];
    of.map(|of| mean(runs, |run| of(run) as f64))
}

/// Table 6.
pub(super) fn false_alarms(bugs: &[BugResult], known: &[KnownResult]) -> String {
    let mut table = Table::new(&[
        "program",
        "software",
        "paper",
        "unbounded buffer",
        "paper",
        "signatures",
        "paper",
        "executions: false sharing",
        "aliasing",
        "shared shadows",
    ]);
    let mut row = |name: &str, runs: &[Simulated], paper: Option<[f64; 3]>| {
        let figures = alarms(runs).into_iter().enumerate().flat_map(|(number, figure)| {
            let paper = paper.map_or_else(nothing, |paper| format!("{:.1}", paper[number]));
            [format!("{figure:.1}"), paper]
        });
        let sources = [Origin::FalseSharing, Origin::Aliasing, Origin::SharedShadow].map(|wanted| {
            let of = |run: &Simulated| run.origins().iter().filter(|origin| **origin == wanted).count();
            format!("{:.1}", mean(runs, |run| of(run) as f64))
        });
        table.row([name.to_owned()].into_iter().chain(figures).chain(sources).collect());
    };
    for result in bugs {
        row(result.bug.name, &result.further, Some(result.bug.alarms));
    }
    for result in known {
        row(result.known.name, &result.further, None);
    }
    let runs = bugs.first().map_or(0, |result| result.further.len());
    format!(
        "### False alarms for each good run (Table 6)\n\nMean of {runs} runs that were not learned from. Each pair of \
         regions counts once a run; the last three columns count every execution that alarms the signatures.\n\n{table}\n"
    )
}

/// A figure of what a run costs.
type Figure = fn(&Cost) -> u64;

/// By how many per cent the detector makes a figure larger.
fn more(run: &Simulated, of: Figure) -> f64 {
    let (with, without) = (of(&run.watched), of(&run.plain).max(1));
    100.0 * (with as f64 / without as f64 - 1.0)
}

/// Table 7.
pub(super) fn costs(bugs: &[BugResult], known: &[KnownResult]) -> String {
    let mut table = Table::new(&[
        "program",
        "hardware: more time",
        "paper",
        "more bytes",
        "paper",
        "software, online",
        "recorded, then detected",
        "paper",
    ]);
    let hardware = |runs: &[Simulated]| {
        [mean(runs, |run| more(run, |cost| cost.cycles)), mean(runs, |run| more(run, |cost| cost.bytes))]
            .map(|figure| format!("{figure:.1} %"))
    };
    let times = |figure: f64| format!("{figure:.1} ×");
    for result in bugs {
        let [time, bytes] = hardware(&result.further);
        let [paper_time, paper_bytes, paper_slowdown] = result.bug.overhead;
        table.row(vec![
            result.bug.name.to_owned(),
            time,
            format!("{paper_time:.1} %"),
            bytes,
            format!("{paper_bytes:.1} %"),
            result.slowdown.online.map_or_else(nothing, times),
            times(result.slowdown.offline),
            times(paper_slowdown),
        ]);
    }
    for result in known {
        let [time, bytes] = hardware(&result.further);
        let none = nothing();
        table.row(vec![
            result.known.name.to_owned(),
            time,
            none.clone(),
            bytes,
            none.clone(),
            none.clone(),
            none.clone(),
            none,
        ]);
    }
    let online: Vec<f64> = bugs.iter().filter_map(|result| result.slowdown.online).collect();
    let goal = match online.len() {
        0 => "Detection while the program runs is not there to be measured.".to_owned(),
        count => {
            let mean = online.iter().sum::<f64>() / count as f64;
            goal(&format!("mean of {mean:.1} × online, < 10 ×"), mean < 10.0)
        }
    };
    format!("### What detection costs (Table 7)\n\n{table}\n{goal}\n\n")
}

/// Writes the plots into a folder.
pub(super) fn plots(folder: &Path, bugs: &[BugResult], known: &[KnownResult]) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let learned: Vec<(&str, &Learned)> = bugs
        .iter()
        .map(|result| (result.bug.name, &result.learned))
        .chain(known.iter().map(|result| (result.known.name, &result.learned)))
        .collect();
    let curves: Vec<Series> = learned
        .iter()
        .map(|(name, learned)| Series {
            name: (*name).to_owned(),
            figures: learned.steps.iter().map(|step| step.regions as f64).collect(),
        })
        .collect();
    let names: Vec<String> = learned.iter().map(|(name, _)| (*name).to_owned()).collect();
    let further =
        || bugs.iter().map(|result| &result.further).chain(known.iter().map(|result| &result.further));
    let titles = ["software", "unbounded buffer", "signatures"];
    let false_alarms: Vec<Series> = titles
        .iter()
        .enumerate()
        .map(|(number, &name)| Series {
            name: name.to_owned(),
            figures: further().map(|runs| alarms(runs)[number]).collect(),
        })
        .collect();
    let kinds: [(&str, Figure); 2] = [("time", |cost| cost.cycles), ("bytes on the bus", |cost| cost.bytes)];
    let costs: Vec<Series> = kinds
        .iter()
        .map(|&(name, of)| Series {
            name: name.to_owned(),
            figures: further().map(|runs| mean(runs, |run| more(run, of))).collect(),
        })
        .collect();
    let variants = ["all", "without critical sections", "without loops", "without both"];
    let correct: Vec<Series> = variants
        .iter()
        .enumerate()
        .map(|(number, &name)| Series {
            name: name.to_owned(),
            figures: known.iter().map(|result| share(&result.correct[number])).collect(),
        })
        .collect();
    let micro: Vec<String> = known.iter().map(|result| result.known.name.to_owned()).collect();
    let files = [
        ("convergence.svg", keirin_plot::curves("regions known after each run", "runs", &curves)),
        (
            "false_alarms.svg",
            keirin_plot::amounts("false alarms for each good run", "", &names, &false_alarms),
        ),
        ("hardware.svg", keirin_plot::amounts("what detection in hardware costs", " %", &names, &costs)),
        ("inferred.svg", keirin_plot::amounts("regions that are inferred", " %", &micro, &correct)),
    ];
    for (name, svg) in files {
        let path = folder.join(name);
        std::fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
