//! AtomTracker: the tables of its paper, made anew.
//!
//! Programs are built and recorded until nothing new is learned from their good runs; then the bugs are provoked, other good
//! runs are looked at for false alarms, and the modelled hardware tells what it costs.

mod cases;
mod learning;
mod lines;
mod slowdown;
mod speed;
mod tables;

use crate::programs::Programs;
use crate::runtime::Compiler;
use crate::runtime::build::{Build, Builder};
use anyhow::{Context, Result, bail};
use cases::{BUGS, Bug, KNOWN, Known, TrueRegion, bug_lines, source, true_regions};
use keirin_core::analysis::atomtracker::detect::Detector;
use keirin_core::analysis::atomtracker::follow::Follow;
use keirin_core::analysis::atomtracker::hardware::Configuration;
use keirin_core::analysis::atomtracker::hardware::simulate::{Simulated, Simulator, simulate};
use keirin_core::analysis::atomtracker::infer::{Learned, Settings as Inference};
use keirin_core::analysis::atomtracker::regions::{Marks, Regions, site_name};
use keirin_core::finding::RawFinding;
use keirin_core::replay::{ReplayOptions, replay};
use keirin_core::trace::Source;
use learning::{Recorder, Verdict, learn, learn_pairs, line_pairs, open};
use lines::Lines;
use slowdown::Slowdown;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Good runs to learn from, at most.
    pub runs: u32,
    /// Learning stops after so many runs without anything new.
    pub stop_after: u32,
    /// Further good runs, which are looked at for false alarms.
    pub further: u32,
    /// How often times are measured; the best counts.
    pub rounds: u32,
    /// How many times the usual requests a run has whose time is measured.
    pub work: u32,
    /// Events of the traces on which the speed of inference is measured.
    pub events: u64,
    /// The compiler of the programs.
    pub compiler: Compiler,
    /// Write plots (SVG) into this folder.
    pub plots: Option<PathBuf>,
}

/// A region is given up after so many exits of others, as in `keirin simulate`.
const MISMATCHES: u32 = 1000;
/// Seeds of the further runs; those that are learned from begin with 1.
const FURTHER_SEED: u32 = 100_000;

/// What a bug has shown.
struct BugResult {
    bug: Bug,
    learned: Learned,
    bad_runs: u32,
    /// The torn run is reported, with accesses that the bug is about.
    found: bool,
    /// The same by pairs of accesses of one variable.
    found_by_pairs: bool,
    /// What the further good runs show.
    further: Vec<Simulated>,
    slowdown: Slowdown,
}

/// What a program with known regions has shown.
struct KnownResult {
    known: Known,
    learned: Learned,
    /// Which of its regions were inferred, with all information, without critical sections, without loops, without both.
    correct: [Vec<bool>; 4],
    regions: Vec<TrueRegion>,
    further: Vec<Simulated>,
}

/// Makes all tables.
pub fn tables(programs: &Programs, settings: &Settings, mut print: impl FnMut(&str)) -> Result<()> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let builder = Builder { programs, compiler: settings.compiler, folder: folder.path() };
    let known =
        KNOWN.iter().map(|&known| try_known(&builder, known, settings)).collect::<Result<Vec<_>>>()?;
    print(&tables::regions(&known));
    let bugs = BUGS.iter().map(|&bug| try_bug(&builder, bug, settings)).collect::<Result<Vec<_>>>()?;
    print(&tables::bugs(&bugs));
    print(&tables::false_alarms(&bugs, &known));
    print(&tables::costs(&bugs, &known));
    print(&speed::table(programs, folder.path(), settings)?);
    if let Some(folder) = &settings.plots {
        tables::plots(folder, &bugs, &known)?;
    }
    Ok(())
}

const FLAGS: [&str; 4] = ["-g", "-O1", "-pthread", "-lm"];

fn try_bug(builder: &Builder<'_>, bug: Bug, settings: &Settings) -> Result<BugResult> {
    let source = source("bugs", bug.program);
    let program = builder.build(&source, Build::Keirin, &FLAGS)?;
    let recorder = Recorder { programs: builder.programs, program: program.clone(), folder: builder.folder };
    let (traces, bad_runs) = recorder.good_runs(1, settings.runs)?;
    let learned = learn(&traces, &inference(settings, true, true))?;
    let used = &traces[..learned.steps.len()];
    let pairs = learn_pairs(used)?;
    let (torn, verdict) = recorder.record(1, true)?;
    if verdict == Verdict::Good {
        bail!("{}: the run that was torn is good", bug.program);
    }
    let marked = bug_lines(&source)?;
    let found = is_found(&program, &torn, &learned.regions, &marked)?;
    let told = pairs.check(&mut open(&torn)?)?;
    let lines = Lines::of(&program, told.iter().flat_map(|torn| [&*torn.pair.0, &*torn.pair.1]))?;
    let is_marked = |name: &str| lines.line(name).is_some_and(|line| marked.contains(&line));
    let found_by_pairs = told.iter().any(|torn| is_marked(&torn.pair.0) && is_marked(&torn.pair.1));
    let (further, _) = recorder.good_runs(FURTHER_SEED, settings.further)?;
    let further = simulate_all(&further, &learned.regions)?;
    let slowdown = slowdown::measure(builder, &source, &program, used, settings)?;
    Ok(BugResult { bug, learned, bad_runs, found, found_by_pairs, further, slowdown })
}

fn try_known(builder: &Builder<'_>, known: Known, settings: &Settings) -> Result<KnownResult> {
    let source = source("regions", known.program);
    let program = builder.build(&source, Build::Keirin, &FLAGS)?;
    let recorder = Recorder { programs: builder.programs, program: program.clone(), folder: builder.folder };
    let (traces, _) = recorder.good_runs(1, settings.runs)?;
    let regions = true_regions(&source)?;
    let mut correct = [const { Vec::new() }; 4];
    let mut with_all = None;
    let variants = [(true, true), (false, true), (true, false), (false, false)];
    for ((sections, loops), correct) in variants.into_iter().zip(&mut correct) {
        let learned = learn(&traces, &inference(settings, sections, loops))?;
        let pairs = line_pairs(&program, &learned.regions)?;
        *correct = regions.iter().map(|region| is_inferred(region, &pairs)).collect();
        with_all.get_or_insert(learned);
    }
    let learned = with_all.context("nothing was learned")?;
    let (further, _) = recorder.good_runs(FURTHER_SEED, settings.further)?;
    let further = simulate_all(&further, &learned.regions)?;
    Ok(KnownResult { known, learned, correct, regions, further })
}

fn inference(settings: &Settings, critical_sections: bool, loops: bool) -> Inference {
    Inference { critical_sections, loops, stop_after: settings.stop_after, ..Inference::default() }
}

/// A region that is written down counts as inferred if there is one from its first to its last line, and none that ends
/// within.
fn is_inferred(region: &TrueRegion, pairs: &BTreeSet<(u32, Option<u32>)>) -> bool {
    let within = region.enter..region.exit;
    let until_thread_end = region.thread_end && pairs.contains(&(region.enter, None));
    (until_thread_end || pairs.contains(&(region.enter, Some(region.exit))))
        && !pairs.iter().any(|(_, exit)| exit.is_some_and(|exit| within.contains(&exit)))
}

/// Simulates a run, which is read on the way.
fn simulate_one(source: &mut dyn Source, regions: &Regions) -> Result<Simulated> {
    let mut simulator = Simulator::new(&Configuration::default()).map_err(anyhow::Error::msg)?;
    let marks = Marks::new(regions);
    simulate(&mut Follow::new(source, &marks, MISMATCHES), &mut simulator, |_| ())?;
    Ok(simulator.finish())
}

fn simulate_all(traces: &[PathBuf], regions: &Regions) -> Result<Vec<Simulated>> {
    traces.iter().map(|trace| simulate_one(&mut open(trace)?, regions)).collect()
}

/// Whether the regions find the bug: two of them tear each other, by accesses that are all in marked lines.
fn is_found(program: &Path, torn: &Path, regions: &Regions, marked: &BTreeSet<u32>) -> Result<bool> {
    let mut source = open(torn)?;
    let marks = Marks::new(regions);
    let detector = Detector::new();
    let mut followed = Follow::new(&mut source, &marks, MISMATCHES);
    let outcome = replay(&mut followed, &detector, ReplayOptions::default(), |_| ())?;
    let tables = source.tables();
    let places = |finding: &RawFinding| -> Vec<String> {
        finding.steps.iter().map(|step| site_name(tables, step.moment.site).unwrap_or_default()).collect()
    };
    let findings: Vec<Vec<String>> = outcome.findings.iter().map(places).collect();
    let lines = Lines::of(program, findings.iter().flatten().map(String::as_str))?;
    let is_marked = |place: &String| lines.line(place).is_some_and(|line| marked.contains(&line));
    Ok(findings.iter().any(|places| places.iter().all(is_marked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_inferred_from_its_first_to_its_last_line() {
        let region = |thread_end| TrueRegion { name: "a".to_owned(), enter: 3, exit: 7, thread_end };
        let judge = |thread_end, pairs: &[(u32, Option<u32>)]| {
            is_inferred(&region(thread_end), &pairs.iter().copied().collect())
        };
        assert!(judge(false, &[(3, Some(7))]) && judge(false, &[(3, Some(7)), (3, Some(9)), (8, None)]));
        // Something ends within it, whether it began there or before.
        assert!(!judge(false, &[(3, Some(7)), (3, Some(5))]) && !judge(false, &[(1, Some(3)), (3, Some(7))]));
        assert!(
            !judge(false, &[(3, Some(8))]) && !judge(false, &[(3, None)]) && !judge(false, &[(2, Some(7))])
        );
        assert!(judge(true, &[(3, None)]));
    }
}
