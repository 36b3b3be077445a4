//! The table of warnings: which blocks Atomizer warns about and Velodrome blames, on traces of which the truth is known.

use crate::child::run_with_findings;
use crate::programs::Programs;
use crate::table::{Table, count};
use crate::workload::Trace;
use anyhow::{Context, Result, ensure};
use keirin_core::event::{Event, Op, SiteId, ThreadId};
use keirin_core::generate::Family;
use keirin_core::trace::native;
use keirin_core::trace::{Batch, Source, Tables};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

/// Number of events of each trace, about; more would only repeat the same labels.
pub const EVENTS: u64 = 100_000;
/// The share of regions that are torn where there are any.
const SHARE: f64 = 0.01;
/// The labels of regions that are torn start so.
const TORN: &str = "torn";

/// The traces. Those with torn regions first, then serializable ones.
const TRACES: [(Family, f64); 9] = [
    (Family::FewThreads, SHARE),
    (Family::Mixed, SHARE),
    (Family::Unlocked, SHARE),
    (Family::FewThreads, 0.0),
    (Family::ManyThreads, 0.0),
    (Family::OpenTransaction, 0.0),
    (Family::Mutual, 0.0),
    (Family::Unlocked, 0.0),
    (Family::Mixed, 0.0),
];

/// Labels of blocks.
type Labels = BTreeSet<String>;

/// What is true of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Truth {
    /// Labels of the regions that were torn.
    torn: Labels,
    /// Transactions that were in the middle of something when their thread was sent to tear another one: the positions
    /// of all their events. They then did what does not belong to them and may well be torn
    /// by that: to blame them is no mistake, and not to blame them is none either.
    drawn_in: BTreeSet<u64>,
}

/// A block that an analysis speaks against.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Refuted {
    label: String,
    /// The position of one of its operations.
    position: u64,
}

/// How right an analysis was: numbers of labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Judged {
    all: usize,
    torn: usize,
    drawn_in: usize,
    false_alarms: usize,
    missed: usize,
}

impl Truth {
    fn judge(&self, refuted: &[Refuted]) -> Judged {
        let (mut all, mut wrong) = (Labels::new(), Labels::new());
        for Refuted { label, position } in refuted {
            all.insert(label.clone());
            if !self.torn.contains(label) && !self.drawn_in.contains(position) {
                // One false alarm is enough, whatever is true of another instance of the block.
                wrong.insert(label.clone());
            }
        }
        let torn = all.intersection(&self.torn).count();
        Judged {
            all: all.len(),
            torn,
            drawn_in: all.len() - torn - wrong.len(),
            false_alarms: wrong.len(),
            missed: self.torn.len() - torn,
        }
    }
}

/// Judges both analyses on all traces.
pub fn table(programs: &Programs, folder: &Path, events: u64) -> Result<Table> {
    let mut table = Table::new(&[
        "family",
        "share torn",
        "torn labels",
        "analysis",
        "labels told",
        "of them torn",
        "drawn in",
        "false alarms",
        "torn, but missed",
    ]);
    for (family, share) in TRACES {
        let trace = Trace::generate_torn(programs, folder, family, events, share, "ktrace")?;
        let truth = truth(trace.path())?;
        if share == 0.0 {
            ensure!(truth == Truth::default(), "{family}: torn without being asked to");
        }
        for (title, analysis) in [("Atomizer", "atomizer"), ("Velodrome", "velodrome")] {
            let mut command = programs.keirin(&["check", "--analysis", analysis, "--format", "json"]);
            command.args(["--max-per-site", "0"]).arg(trace.path());
            let report = run_with_findings(&mut command, folder, u64::MAX)?.output;
            let refuted = refuted(&report).with_context(|| format!("{family}: {analysis}"))?;
            let judged = truth.judge(&refuted);
            let number = |number: usize| count(number as u64);
            table.row(vec![
                format!("`{family}`"),
                share.to_string(),
                number(truth.torn.len()),
                title.to_owned(),
                number(judged.all),
                number(judged.torn),
                number(judged.drawn_in),
                number(judged.false_alarms),
                number(judged.missed),
            ]);
        }
    }
    Ok(table)
}

/// All blocks that a report in JSON speaks against.
fn refuted(report: &str) -> Result<Vec<Refuted>> {
    let report: Value = serde_json::from_str(report).context("the report is no JSON")?;
    let mut refuted = Vec::new();
    for finding in report["findings"].as_array().context("a report without findings")? {
        for block in finding["refuted"].as_array().context("a finding that does not tell what it refutes")? {
            let label = block["region"].as_str().context("a block without a label")?.to_owned();
            refuted.push(Refuted { label, position: position(finding)? });
        }
    }
    Ok(refuted)
}

/// The position of an operation of the transaction that is blamed, which is the first one.
fn position(finding: &Value) -> Result<u64> {
    let mut steps = finding["steps"].as_array().context("a finding without steps")?.iter();
    let step = steps.find(|step| step["transaction"] == 0).context("a transaction without a step")?;
    let position = step["position"].as_str().and_then(|position| position.strip_prefix("event "));
    let position = position.and_then(|number| number.replace(',', "").parse().ok());
    position.with_context(|| format!("no position: {}", step["position"]))
}

/// Takes from a generated trace which labels are torn, and which transactions are drawn in.
///
/// Who tears does so at a place outside of all regions: it shows as an event within a region at a place that others pass
/// outside of regions.
fn truth(trace: &Path) -> Result<Truth> {
    let mut outside: BTreeSet<SiteId> = BTreeSet::new();
    let tables = for_each_event(trace, |_, event, depth| {
        if depth == 0 && !matches!(event.op, Op::Begin { .. } | Op::End) {
            outside.insert(event.site);
        }
    })?;
    let mut truth = Truth::default();
    // For each thread the positions of its latest transaction, and whether that was drawn in.
    let mut latest: BTreeMap<ThreadId, (Vec<u64>, bool)> = BTreeMap::new();
    for_each_event(trace, |position, event, depth| {
        if let Op::Begin { region } = event.op {
            let label = tables.region_name(region);
            if label.starts_with(TORN) {
                truth.torn.insert(label);
            }
        }
        let (positions, drawn_in) = latest.entry(event.thread).or_default();
        if depth == 0 {
            positions.clear();
            *drawn_in = false;
        }
        positions.push(position);
        *drawn_in |= depth > 0 && outside.contains(&event.site);
        if *drawn_in {
            truth.drawn_in.extend(positions.drain(..));
        }
    })?;
    Ok(truth)
}

/// Reads a trace and tells of each event its position and how many regions its thread is in, itself not counted.
fn for_each_event(trace: &Path, mut tell: impl FnMut(u64, &Event, usize)) -> Result<Tables> {
    let file = File::open(trace).with_context(|| trace.display().to_string())?;
    let mut reader = native::Reader::new(file)?;
    let mut batch = Batch::new();
    let mut depths: BTreeMap<ThreadId, usize> = BTreeMap::new();
    loop {
        let more = reader.fill(&mut batch)?;
        for (position, event) in batch.iter() {
            let depth = depths.entry(event.thread).or_default();
            tell(position, event, *depth);
            match event.op {
                Op::Begin { .. } => *depth += 1,
                Op::End => *depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if !more {
            return Ok(reader.tables().clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refute(label: &str, position: u64) -> Refuted {
        Refuted { label: label.to_owned(), position }
    }

    #[test]
    fn labels_are_judged() {
        let torn = ["torn1", "torn2", "torn3"].map(str::to_owned).into();
        let truth = Truth { torn, drawn_in: [12, 45, 46].into() };
        let told = [
            ("torn1", 1),
            ("torn1", 12),
            ("torn3", 2),
            ("a", 12),
            ("b", 45),
            ("b", 46),
            ("c", 30),
            ("a", 30),
        ];
        let judged = truth.judge(&told.map(|(label, position)| refute(label, position)));
        assert_eq!(judged, Judged { all: 5, torn: 2, drawn_in: 1, false_alarms: 2, missed: 1 });
    }

    #[test]
    fn refuted_blocks_are_taken_from_a_report() {
        let report = r#"{"findings": [{
            "refuted": [{"region": "a"}, {"region": "b"}],
            "steps": [{"transaction": 1, "position": "event 7"}, {"transaction": 0, "position": "event 1,008"}]
        }]}"#;
        assert_eq!(refuted(report).ok(), Some(vec![refute("a", 1008), refute("b", 1008)]));
        assert!(refuted("{}").is_err());
        assert!(refuted("").is_err());
    }
}
