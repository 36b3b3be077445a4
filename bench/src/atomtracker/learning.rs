//! Runs that are recorded, and what is learned from them.

use super::lines::Lines;
use crate::programs::Programs;
use anyhow::{Context, Result, bail};
use keirin_core::analysis::atomtracker::infer::{Learned, Settings, Training, infer};
use keirin_core::analysis::atomtracker::regions::Regions;
use keirin_core::analysis::avio::Pairs;
use keirin_core::trace::native::{Reader, ReaderOptions};
use keirin_core::trace::{Source, TraceError};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A program that can be recorded.
pub(super) struct Recorder<'a> {
    pub(super) programs: &'a Programs,
    pub(super) program: PathBuf,
    /// Where the traces go.
    pub(super) folder: &'a Path,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Good,
    Bad,
}

impl Recorder<'_> {
    /// Records a run with a seed, torn on purpose or not.
    pub(super) fn record(&self, seed: u32, tear: bool) -> Result<(PathBuf, Verdict)> {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let trace = self.folder.join(format!("{name}-{seed}{}.ktrace", if tear { "-torn" } else { "" }));
        let mut command = self.programs.bare_keirin();
        // Regions are about the order of accesses, so that has to be exact.
        command.args(["record", "--exact-order", "--output"]).arg(&trace).arg("--").arg(&self.program);
        command.arg(seed.to_string());
        if tear {
            command.arg("tear");
        }
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        match output.status.code() {
            Some(0) => Ok((trace, Verdict::Good)),
            Some(1) => Ok((trace, Verdict::Bad)),
            _ => bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// So many good runs, from a seed on, and how many bad ones were left out.
    pub(super) fn good_runs(&self, first_seed: u32, count: u32) -> Result<(Vec<PathBuf>, u32)> {
        let mut traces = Vec::new();
        let mut bad = 0;
        let mut seed = first_seed;
        while (traces.len() as u32) < count {
            match self.record(seed, false)? {
                (trace, Verdict::Good) => traces.push(trace),
                (_, Verdict::Bad) if bad > 20 * count => {
                    bail!("{} is nearly always bad: nothing can be learned from it", self.program.display())
                }
                (_, Verdict::Bad) => bad += 1,
            }
            seed += 1;
        }
        Ok((traces, bad))
    }
}

/// Opens a trace.
pub(super) fn open(trace: &Path) -> Result<Reader<File>> {
    let file = File::open(trace).with_context(|| format!("cannot read {}", trace.display()))?;
    Ok(Reader::with_options(file, ReaderOptions::default())?)
}

/// Traces to learn from.
struct Traces<'a>(&'a [PathBuf]);

impl Training for Traces<'_> {
    type Error = anyhow::Error;

    fn name(&self, run: usize) -> String {
        self.0[run].file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn open(&self, run: usize) -> Result<Box<dyn Source>> {
        Ok(Box::new(open(&self.0[run])?))
    }

    fn failed(&self, run: usize, error: TraceError) -> anyhow::Error {
        anyhow::Error::from(error).context(self.name(run))
    }
}

/// Learns regions from traces.
pub(super) fn learn(traces: &[PathBuf], settings: &Settings) -> Result<Learned> {
    infer(&Traces(traces), traces.len(), &Regions::default(), settings, |_| ())
}

/// After how many runs nothing new was learned.
pub(super) fn converged_after(learned: &Learned) -> usize {
    learned.steps.iter().rposition(|step| step.changed).map_or(0, |last| last + 1)
}

/// AVIO's pairs, learned from traces.
pub(super) fn learn_pairs(traces: &[PathBuf]) -> Result<Pairs> {
    let mut pairs = Pairs::default();
    for trace in traces {
        pairs.train(&mut open(trace)?)?;
    }
    Ok(pairs)
}

/// The entry and the exit of each learned region, in lines of the source. Those that end with their thread have no exit.
pub(super) fn line_pairs(program: &Path, regions: &Regions) -> Result<BTreeSet<(u32, Option<u32>)>> {
    let names = regions
        .by_entry
        .iter()
        .flat_map(|(entry, region)| region.exits.keys().chain([entry]).map(|name| &**name));
    let lines = Lines::of(program, names)?;
    let mut pairs = BTreeSet::new();
    for (entry, region) in &regions.by_entry {
        let Some(entry) = lines.line(entry) else { continue };
        pairs.extend(region.exits.keys().map(|exit| (entry, lines.line(exit))));
        if !region.thread_end.is_empty() {
            pairs.insert((entry, None));
        }
    }
    Ok(pairs)
}
