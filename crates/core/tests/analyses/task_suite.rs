//! What the analyses of tasks must say about the traces of `testdata/traces` and `testdata/task_traces`.
//!
//! To these analyses threads are tasks: a fork spawns, a join waits. A trace tells all findings, in the order of their lines,
//! separated by semicolons:
//!
//! | expectation | analysis | a finding |
//! |---|---|---|
//! | `# expect spd3` | SPD3, first pass only | `race 6 11`: the first race of a location; locks are not looked at |
//! | `# expect ptracer` | PTRacer | `race 6 11 other-schedule` |
//! | `# expect task-atomicity` | every step must be whole | `step 6 11 8 observed`: line 11 between lines 6 and 8 of a step |
//! | `# expect task-gaps` | blocks must be whole, and steps for members of groups; no gap may be between two holds of a lock | `block add 6 11 8 observed`, `gap l 6 11 8 observed` |
//!
//! `group point 6 11 12 8 observed` is about locations that must be seen together. The verdict is `observed`,
//! `other-schedule` or `locks-forbid`; all of them are held to the definition by trying every schedule
//! ([`crate::support::schedules`]). Every line of a trace counts as a place of its own here.
//!
//! `name_2.std` is the program of `name.std` in another observed order: the findings must be the same, place by place.

use crate::suite::{Case, cases_in, events, text};
use crate::support::schedules::{Regions, Schedules};
use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::event::{Event, SiteId};
use keirin_core::finding::{Doubt, Evidence, RawFinding, Verdict, Whole};
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Outcome, ReplayOptions};
use keirin_core::sptree::Structure;
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::ranks::Ranks;
use keirin_core::sptree::tree::Tree;
use keirin_core::trace::{NameKind, Source, Tables};
use keirin_core::witness::{Examination, Examine};
use std::collections::{BTreeMap, BTreeSet};

const STEPS: Modes = Modes { blocks: false, steps: true, gaps: false };
const GAPS: Modes = Modes { blocks: true, steps: false, gaps: true };
const RACES: Examine = Examine { races: true, blocks: false, steps: false, gaps: false, groups: false };
const TORN_STEPS: Examine = Examine { races: false, blocks: false, steps: true, gaps: false, groups: true };
const TORN_BLOCKS: Examine = Examine { races: false, blocks: true, steps: false, gaps: true, groups: true };

/// A trace with each line as a place of its own.
struct Trace {
    case: Case,
    events: Vec<(u64, Event)>,
    tables: Tables,
}

fn traces() -> Vec<Trace> {
    let mut cases = cases_in("traces");
    cases.append(&mut cases_in("task_traces"));
    let trace = |case: Case| {
        let mut source = text(&case);
        let mut events = events(&mut source);
        let tables = source.tables().clone();
        for (line, event) in &mut events {
            event.site = SiteId(*line as u32);
        }
        Trace { case, events, tables }
    };
    cases.into_iter().map(trace).collect()
}

fn replay<A: TaskAnalysis, S: Structure>(trace: &Trace, analysis: &A, keep_all: bool) -> Outcome {
    let options = ReplayOptions { keep_all, ..ReplayOptions::default() };
    let mut replay = TaskReplay::<A, S>::new(analysis, "test", options, TaskOptions::default());
    for (line, event) in &trace.events {
        if let Err(fault) = replay.event(*line, event) {
            panic!("{}: line {line}: {}", trace.case.name, fault.message(&trace.tables));
        }
    }
    replay.finish()
}

fn first_pass<A: TaskAnalysis, S: Structure>(trace: &Trace, analysis: impl Fn() -> A) -> Outcome {
    let outcome = replay::<A, S>(trace, &analysis(), false);
    if outcome.needs_all { replay::<A, S>(trace, &analysis(), true) } else { outcome }
}

/// Both passes; the structure of the tree must not matter.
fn both_passes<A: TaskAnalysis>(
    trace: &Trace,
    analysis: impl Fn() -> A,
    examine: Examine,
) -> Vec<RawFinding> {
    fn examined<S: Structure>(trace: &Trace, outcome: &Outcome, examine: Examine) -> Vec<RawFinding> {
        replay::<_, S>(trace, &Examination::new(&outcome.flagged, examine), true).findings
    }
    let found = examined::<Ranks>(trace, &first_pass::<A, Ranks>(trace, &analysis), examine);
    let labels = examined::<Labels>(trace, &first_pass::<A, Labels>(trace, &analysis), examine);
    let tree = examined::<Tree>(trace, &first_pass::<A, Tree>(trace, &analysis), examine);
    assert_eq!(found, labels, "{}", trace.case.name);
    assert_eq!(found, tree, "{}", trace.case.name);
    found
}

fn verdict(finding: &RawFinding) -> &'static str {
    match finding.verdict {
        Verdict::Observed => "observed",
        Verdict::OtherSchedule { .. } => "other-schedule",
        Verdict::Suspected(Doubt::LocksForbid) => "locks-forbid",
        Verdict::Suspected(Doubt::SearchGivenUp) => "given-up",
        Verdict::Suspected(Doubt::ValuesUnknown | Doubt::NeedsSolver) => "values-unknown",
        Verdict::Suspected(Doubt::NotExamined) => "",
        Verdict::Suspected(Doubt::OtherSide) => "other-side",
        Verdict::Suspected(Doubt::Heuristic) => "heuristic",
    }
}

fn lines(finding: &RawFinding) -> Vec<u64> {
    finding.steps.iter().map(|step| u64::from(step.moment.site.0)).collect()
}

/// What a finding is about, without its lines.
fn subject(finding: &RawFinding, tables: &Tables) -> String {
    match &finding.evidence {
        Evidence::Torn(torn) => match (torn.group, torn.whole) {
            (Some(group), _) => format!("group {}", tables.name(NameKind::Group, group.0).unwrap_or("")),
            (None, Whole::Step) => "step".to_owned(),
            (None, Whole::Block(region)) => format!("block {}", tables.region_name(region)),
            (None, Whole::Holds(lock)) => {
                format!("gap {}", tables.name(NameKind::Lock, lock.0).unwrap_or(""))
            }
        },
        _ => "race".to_owned(),
    }
}

fn described(findings: &[RawFinding], tables: &Tables) -> String {
    let mut all: Vec<(Vec<u64>, String)> = findings
        .iter()
        .map(|finding| {
            let lines = lines(finding);
            let mut words = vec![subject(finding, tables)];
            words.extend(lines.iter().map(u64::to_string));
            words.push(verdict(finding).to_owned());
            (lines, words.join(" ").trim_end().to_owned())
        })
        .collect();
    all.sort();
    let all: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    if all.is_empty() { "none".to_owned() } else { all.join("; ") }
}

fn is_shown(finding: &&RawFinding) -> bool {
    matches!(finding.verdict, Verdict::Observed | Verdict::OtherSchedule { .. })
}

/// Compares with what the trace expects. Every difference is told, so that one run shows them all.
fn compare(wrong: &mut Vec<String>, trace: &Trace, analysis: &str, found: &str) {
    let expected = trace.case.expected.get(analysis).map_or("(nothing)", String::as_str);
    if found != expected {
        wrong.push(format!("{}: {analysis}: {found}\n    expected: {expected}", trace.case.name));
    }
}

fn check(wrong: &mut Vec<String>, is_right: bool, what: impl FnOnce() -> String) {
    if !is_right {
        wrong.push(what());
    }
}

fn all_right(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn spd3_says_what_each_trace_expects() {
    let mut wrong = Vec::new();
    for trace in traces() {
        let findings = first_pass::<_, Ranks>(&trace, || Spd3).findings;
        compare(&mut wrong, &trace, "spd3", &described(&findings, &trace.tables));
        // Without locks, and without atomic operations, which it does not look at.
        let races = Schedules::new(&trace.events).plain_races_without_locks();
        let name = &trace.case.name;
        check(&mut wrong, findings.is_empty() == races.is_empty(), || format!("{name}: {races:?}"));
        for lines in findings.iter().map(lines) {
            check(&mut wrong, races.contains(&(lines[0], lines[1])), || format!("{name}: {lines:?}"));
        }
    }
    all_right(&wrong);
}

#[test]
fn ptracer_says_what_each_trace_expects() {
    let mut wrong = Vec::new();
    for trace in traces() {
        let name = &trace.case.name;
        let findings = both_passes(&trace, PtRacer::default, RACES);
        compare(&mut wrong, &trace, "ptracer", &described(&findings, &trace.tables));
        let schedules = Schedules::new(&trace.events);
        let pair = |finding: &RawFinding| (lines(finding)[0], lines(finding)[1]);
        let shown: BTreeSet<_> = findings.iter().filter(is_shown).map(pair).collect();
        let races = schedules.races(true);
        check(&mut wrong, shown == races, || format!("{name}: {shown:?}, by definition {races:?}"));
        let apparent = schedules.races(false);
        for finding in findings.iter().filter(|finding| !is_shown(finding)) {
            let right = verdict(finding) == "locks-forbid" && apparent.contains(&pair(finding));
            check(&mut wrong, right, || format!("{name}: {finding:?}"));
        }
    }
    all_right(&wrong);
}

#[test]
fn task_atomicity_says_what_each_trace_expects() {
    let mut wrong = Vec::new();
    for trace in traces() {
        let findings = both_passes(&trace, || TaskAtomicity::new(STEPS), TORN_STEPS);
        compare(&mut wrong, &trace, "task-atomicity", &described(&findings, &trace.tables));
        torn_by_definition(&mut wrong, &trace, &findings, Regions::Steps);
    }
    all_right(&wrong);
}

#[test]
fn task_gaps_are_as_each_trace_expects() {
    let mut wrong = Vec::new();
    for trace in traces() {
        let findings = both_passes(&trace, || TaskAtomicity::new(GAPS), TORN_BLOCKS);
        compare(&mut wrong, &trace, "task-gaps", &described(&findings, &trace.tables));
        torn_by_definition(&mut wrong, &trace, &findings, Regions::Marked);
        let is_gap = |finding: &&RawFinding| subject(finding, &trace.tables).starts_with("gap ");
        let shown = findings.iter().filter(is_shown).filter(is_gap);
        let shown: BTreeSet<Vec<u64>> = shown.map(lines).collect();
        let gaps: BTreeSet<Vec<u64>> =
            Schedules::new(&trace.events).gaps().into_iter().map(|lines| lines.to_vec()).collect();
        let name = &trace.case.name;
        check(&mut wrong, shown == gaps, || format!("{name}: gaps {shown:?}, by definition {gaps:?}"));
    }
    all_right(&wrong);
}

/// What is claimed is so, and of each region and each access that tears it something is claimed.
fn torn_by_definition(wrong: &mut Vec<String>, trace: &Trace, findings: &[RawFinding], regions: Regions) {
    let name = &trace.case.name;
    let schedules = Schedules::new(&trace.events);
    let subjects = |start: &'static str| {
        findings.iter().filter(move |finding| subject(finding, &trace.tables).starts_with(start))
    };
    let single = || subjects("step").chain(subjects("block"));
    let tears = schedules.tears(regions);
    let all: BTreeSet<Vec<u64>> = tears.values().flatten().map(|lines| lines.to_vec()).collect();
    for finding in single() {
        let right = verdict(finding) != "given-up" && is_shown(&finding) == all.contains(&lines(finding));
        check(wrong, right, || format!("{name}: {:?}, {}", lines(finding), verdict(finding)));
    }
    let shown: BTreeSet<Vec<u64>> = single().filter(is_shown).map(lines).collect();
    for ((_, other), possible) in tears {
        let told = possible.iter().any(|lines| shown.contains(lines.as_slice()));
        check(wrong, told, || format!("{name}: nothing is told about line {other} in {possible:?}"));
    }
    let groups = schedules.group_tears(regions);
    for finding in subjects("group").filter(is_shown) {
        let lines = lines(finding);
        let four = match lines[..] {
            [first, other, last] => [first, other, other, last],
            [first, other, another, last] => [first, other.min(another), other.max(another), last],
            _ => panic!("{name}: {lines:?}"),
        };
        check(wrong, groups.contains(&four), || format!("{name}: {four:?} of {groups:?}"));
    }
    let told = subjects("group").any(|finding| is_shown(&finding));
    check(wrong, told != groups.is_empty(), || format!("{name}: group: {told}, by definition {groups:?}"));
}

/// The findings of a trace by the places that the trace itself gives.
fn by_places(trace: &Trace, findings: &[RawFinding]) -> BTreeSet<(String, Vec<String>)> {
    let all: Vec<&str> = trace.case.text.lines().collect();
    let place = |line: &u64| all[*line as usize - 1].rsplit('|').next().unwrap_or_default().to_owned();
    let found = findings.iter().map(|finding| {
        let subject = subject(finding, &trace.tables);
        let mut places: Vec<String> = lines(finding).iter().map(place).collect();
        if subject == "race" {
            places.sort();
        }
        (format!("{subject} {}", if is_shown(&finding) { "shown" } else { "suspected" }), places)
    });
    found.collect()
}

#[test]
fn another_observed_order_has_the_same_findings() {
    let traces: BTreeMap<String, Trace> =
        traces().into_iter().map(|trace| (trace.case.name.clone(), trace)).collect();
    let mut compared = 0;
    for (name, first) in &traces {
        for order in 2.. {
            let Some(other) = traces.get(&name.replace(".std", &format!("_{order}.std"))) else { break };
            let all = |trace: &Trace| {
                let races = by_places(trace, &both_passes(trace, PtRacer::default, RACES));
                let steps = by_places(trace, &both_passes(trace, || TaskAtomicity::new(STEPS), TORN_STEPS));
                let gaps = by_places(trace, &both_passes(trace, || TaskAtomicity::new(GAPS), TORN_BLOCKS));
                (races, steps, gaps)
            };
            assert_eq!(all(first), all(other), "{name}, order {order}");
            compared += 1;
        }
    }
    assert!(compared >= 30);
}
