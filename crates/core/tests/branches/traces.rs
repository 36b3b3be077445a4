//! Traces with branches that were written by hand: what `keirin check --diagnose` must say about each.
//!
//! Lines of a trace that say so: `# expect race LINE LINE HOW`, `# expect torn FIRST BETWEEN LAST HOW`, `# expect none`, and
//! `# expect dropped N`.

use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::{Flagged, TaskAnalysis};
use keirin_core::diagnose::Formula;
use keirin_core::event::Event;
use keirin_core::finding::{Doubt, Proof, RawFinding, Rule, Verdict};
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Outcome, ReplayOptions};
use keirin_core::sptree::ranks::Ranks;
use keirin_core::trace::{Batch, NameKind, Source, std_format};
use keirin_core::witness::{Diagnosis, Examination, Examine};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

fn read(text: &'static str) -> (Vec<(u64, Event)>, Vec<Option<Formula>>) {
    let mut reader = std_format::Reader::new(text.as_bytes());
    let mut batch = Batch::new();
    let mut events = Vec::new();
    let mut more = true;
    while more {
        more = reader.fill(&mut batch).expect("a trace");
        for (first, run) in batch.runs() {
            events.extend((first..).zip(run.iter().copied()));
        }
    }
    let formulas = reader.tables().names(NameKind::Formula);
    let formulas = formulas.iter().map(|text| Some(Formula::parse(text).expect("a formula"))).collect();
    (events, formulas)
}

fn replay<A: TaskAnalysis>(events: &[(u64, Event)], analysis: &A) -> Outcome {
    let options = ReplayOptions { keep_all: true, ..ReplayOptions::default() };
    let task_options = TaskOptions { possible: true, ..TaskOptions::default() };
    let mut replay = TaskReplay::<A, Ranks>::new(analysis, "test", options, task_options);
    for (position, event) in events {
        replay.event(*position, event).unwrap_or_else(|fault| panic!("line {position}: {fault:?}"));
    }
    replay.finish()
}

fn told(finding: &RawFinding) -> String {
    let mut lines: Vec<u64> = finding.steps.iter().map(|step| step.moment.position).collect();
    let what = match finding.rule {
        Rule::DataRace => {
            lines.sort_unstable();
            "race"
        }
        _ => "torn",
    };
    let how = match &finding.verdict {
        Verdict::Observed => "observed",
        Verdict::OtherSchedule { witness } => match witness.as_ref().expect("a schedule").proof {
            Proof::Operations => "operations",
            Proof::Branches => "branches",
            Proof::Values => "values",
        },
        Verdict::Suspected(Doubt::ValuesUnknown) => "values-unknown",
        Verdict::Suspected(Doubt::NeedsSolver) => "needs-solver",
        Verdict::Suspected(Doubt::OtherSide) => "other-side",
        Verdict::Suspected(Doubt::LocksForbid) => "locks-forbid",
        Verdict::Suspected(_) => "suspected",
    };
    let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
    format!("{what} {} {how}", lines.join(" "))
}

#[test]
fn traces_with_branches() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/branch_traces");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of traces")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    names.sort();
    assert!(names.len() >= 8);
    for name in names {
        let text: &'static str = std::fs::read_to_string(&name).expect("a text").leak();
        let (events, formulas) = read(text);
        let mut flagged = Flagged::default();
        flagged.append(replay(&events, &PtRacer::default()).flagged);
        let modes = Modes { blocks: false, steps: true, gaps: false };
        flagged.append(replay(&events, &TaskAtomicity::new(modes)).flagged);
        let torn = text.contains("# expect torn");
        let examine = Examine { races: true, steps: torn, ..Examine::default() };
        let diagnosis = Diagnosis { formulas, ask: None, initial: None, time: Duration::from_secs(60) };
        let examination = Examination::new(&flagged, examine).diagnosing(diagnosis);
        let outcome = replay(&events, &examination);
        let mut found: BTreeSet<String> = outcome.findings.iter().map(told).collect();
        if found.is_empty() {
            found.insert("none".to_owned());
        }
        let figures = examination.statistics();
        let dropped = figures.iter().find(|figure| figure.name == Examination::INFEASIBLE);
        found.insert(format!("dropped {}", dropped.map_or(0, |figure| figure.value)));
        let expected: BTreeSet<String> =
            text.lines().filter_map(|line| line.strip_prefix("# expect ")).map(str::to_owned).collect();
        assert_eq!(found, expected, "{}", name.display());
    }
}
