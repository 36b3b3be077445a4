//! The table of warnings: which blocks Atomizer warns about and Velodrome blames, on traces of which the truth is known.

use crate::child::run_with_findings;
use crate::programs::Programs;
use crate::table::{Table, count};
use crate::workload::Trace;
use anyhow::{Context, Result, ensure};
use keirin_core::event::{Op, RegionId, SiteId};
use keirin_core::generate::Family;
use keirin_core::trace::native;
use keirin_core::trace::{Batch, Source};
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
    /// Regions that were torn.
    torn: Labels,
    /// Regions that were in the middle of something when their thread was sent to tear another one. They then did what
    /// does not belong to them and may well be torn by that: to blame them is no mistake, not to blame them neither.
    drawn_in: Labels,
}

/// How right an analysis was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Judged {
    torn: usize,
    drawn_in: usize,
    false_alarms: usize,
    missed: usize,
}

impl Truth {
    fn judge(&self, labels: &Labels) -> Judged {
        let torn = labels.intersection(&self.torn).count();
        let drawn_in = labels.intersection(&self.drawn_in).count();
        Judged {
            torn,
            drawn_in,
            false_alarms: labels.len() - torn - drawn_in,
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
        "drawn in",
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
            let report = run_with_findings(&mut command, folder)?.output;
            let labels = refuted(&report).with_context(|| format!("{family}: {analysis}"))?;
            let judged = truth.judge(&labels);
            let number = |number: usize| count(number as u64);
            table.row(vec![
                format!("`{family}`"),
                share.to_string(),
                number(truth.torn.len()),
                number(truth.drawn_in.len()),
                title.to_owned(),
                number(labels.len()),
                number(judged.torn),
                number(judged.drawn_in),
                number(judged.false_alarms),
                number(judged.missed),
            ]);
        }
    }
    Ok(table)
}

/// The labels of all blocks that a report in JSON speaks against.
fn refuted(report: &str) -> Result<Labels> {
    let report: Value = serde_json::from_str(report).context("the report is no JSON")?;
    let mut labels = Labels::new();
    for finding in report["findings"].as_array().context("a report without findings")? {
        for block in finding["refuted"].as_array().context("a finding that does not tell what it refutes")? {
            labels.insert(block["region"].as_str().context("a block without a label")?.to_owned());
        }
    }
    Ok(labels)
}

/// Takes from a generated trace which labels are torn, and which are drawn in.
///
/// Who tears does so at a place outside of all regions: it shows as an event within a region at a place that other threads
/// pass outside of regions.
fn truth(trace: &Path) -> Result<Truth> {
    let file = File::open(trace).with_context(|| trace.display().to_string())?;
    let mut reader = native::Reader::new(file)?;
    let mut batch = Batch::new();
    let mut open: BTreeMap<u32, Vec<RegionId>> = BTreeMap::new();
    let mut outside: BTreeSet<SiteId> = BTreeSet::new();
    let mut inside: BTreeMap<RegionId, BTreeSet<SiteId>> = BTreeMap::new();
    loop {
        let more = reader.fill(&mut batch)?;
        for event in batch.events() {
            let regions = open.entry(event.thread.0).or_default();
            match event.op {
                Op::Begin { region } => {
                    inside.entry(region).or_default();
                    regions.push(region);
                }
                Op::End => {
                    regions.pop();
                }
                _ if regions.is_empty() => {
                    outside.insert(event.site);
                }
                _ => {
                    for region in regions.iter() {
                        inside.entry(*region).or_default().insert(event.site);
                    }
                }
            }
        }
        if !more {
            break;
        }
    }
    let mut truth = Truth::default();
    for (region, sites) in inside {
        let label = reader.tables().region_name(region);
        if label.starts_with(TORN) {
            truth.torn.insert(label);
        } else if !sites.is_disjoint(&outside) {
            truth.drawn_in.insert(label);
        }
    }
    Ok(truth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Labels {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn labels_are_judged() {
        let truth =
            Truth { torn: labels(&["torn1", "torn2", "torn3"]), drawn_in: labels(&["region1", "region2"]) };
        let judged = truth.judge(&labels(&["torn1", "torn3", "region2", "region9"]));
        assert_eq!(judged, Judged { torn: 2, drawn_in: 1, false_alarms: 1, missed: 1 });
    }

    #[test]
    fn refuted_blocks_are_taken_from_a_report() {
        let report = r#"{"findings": [{"refuted": [{"region": "a"}, {"region": "b"}]}, {"refuted": [{"region": "a"}]}]}"#;
        assert_eq!(refuted(report).ok(), Some(labels(&["a", "b"])));
        assert!(refuted("{}").is_err());
        assert!(refuted("").is_err());
    }
}
