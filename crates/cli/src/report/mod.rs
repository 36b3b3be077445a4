//! From raw findings to what people and machines read.
//!
//! The way through: [`resolve`] gives names, [`crate::suppress`] and [`crate::baseline`] set each finding's status,
//! [`arrange()`] orders them and folds doubles, [`cap_per_site`] leaves out repetitions, [`Report::new`] counts, and a
//! renderer lays the result out. The renderers decide nothing; what a report says is all in [`model`].

mod actors;
mod arrange;
pub(crate) mod dot;
mod evidence;
pub(crate) mod fingerprint;
mod frames;
mod gaps;
pub(crate) mod json;
mod lineage;
pub(crate) mod model;
mod operation;
mod origins;
mod picture;
pub(crate) mod resolve;
pub(crate) mod rules;
pub(crate) mod sarif;
mod schedule;
mod snippet;
pub(crate) mod terminal;
pub(crate) mod text;

#[cfg(test)]
mod published_schema;
#[cfg(test)]
mod random;
#[cfg(test)]
pub(crate) mod support;
#[cfg(test)]
mod tests;

pub(crate) use actors::source_line;
pub(crate) use arrange::arrange;
pub(crate) use frames::telling;
pub(crate) use model::{Finding, Live, Report, Watched};

use keirin_core::finding::Rule;
use model::{Counts, Doubt, Kind, Status, Summary, Tool, Verdict};
use std::collections::HashMap;
use text::{counted, grouped, list};

impl Report {
    /// A report on what was watched.
    pub(crate) fn new(mut findings: Vec<Finding>, watched: Watched) -> Self {
        let mut counts = Counts { hidden: watched.hidden, ..Counts::default() };
        let mut kinds: Vec<Kind> = Vec::new();
        for finding in &mut findings {
            finding.analyses = analyses_of(finding.rule, &watched.analyses);
            match finding.status {
                Status::Reported => {
                    counts.reported += 1;
                    counts.apparent += u64::from(is_apparent(finding));
                    count_kind(&mut kinds, finding);
                }
                Status::Confirmed { .. } => counts.confirmed += 1,
                Status::Suppressed { .. } => counts.suppressed += 1,
                Status::InBaseline => counts.in_baseline += 1,
            }
        }
        let first = findings.iter().find(|finding| finding.status == Status::Reported);
        let next = first
            .map(|finding| format!("keirin explain {}", finding.rule))
            .or_else(|| watched.next_when_clean.clone());
        let covered = |finding: &&Finding| {
            matches!(finding.status, Status::Confirmed { .. }) && finding.rule == Rule::LockGap.name()
        };
        let covered = findings.iter().filter(covered).count() as u64;
        let line = summary_line(&counts, covered, &kinds, &watched, next.as_deref());
        Report {
            tool: Tool { name: "keirin", version: env!("CARGO_PKG_VERSION").to_owned() },
            summary: Summary {
                inputs: watched.inputs,
                analyses: watched.analyses,
                events: watched.events,
                threads: watched.threads,
                tasks: Some(watched.tasks).filter(|&tasks| tasks > 0),
                steps: watched.live.map(|live| live.steps).filter(|&steps| steps > 0),
                accesses: watched.live.map(|live| live.accesses),
                counts,
                kinds,
                baseline: watched.baseline,
                notes: watched.notes,
                line,
                next,
            },
            findings,
        }
    }

    /// Whether there is something that the exit code must tell.
    pub(crate) fn has_findings(&self) -> bool {
        // What no schedule shows is told, but it is no reason to stop a build.
        self.summary.counts.reported > self.summary.counts.apparent
    }

    /// The findings that are told to the user.
    pub(crate) fn reported(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status == Status::Reported)
    }
}

/// Those analyses that ran which look for findings of a rule.
fn analyses_of(rule: &str, ran: &[String]) -> Vec<String> {
    let known = rules::by_name(rule).map_or(&[][..], |rule| rules::text(rule).analyses);
    // What ran may be named with the variant: `velodrome (published)`.
    let looks = |name: &&String| known.iter().any(|known| name.split(' ').next() == Some(known));
    ran.iter().filter(looks).cloned().collect()
}

/// True for a finding that no schedule shows.
fn is_apparent(finding: &Finding) -> bool {
    finding.doubt == Some(Doubt::LocksForbid)
}

fn count_kind(kinds: &mut Vec<Kind>, finding: &Finding) {
    let Finding { rule, verdict, .. } = *finding;
    let apparent = is_apparent(finding);
    let same = |kind: &&mut Kind| (kind.rule, kind.verdict, kind.apparent) == (rule, verdict, apparent);
    match kinds.iter_mut().find(same) {
        Some(kind) => kind.count += 1,
        None => kinds.push(Kind { rule, verdict, apparent, count: 1 }),
    }
}

/// What was found, how much was watched, the next command to type.
fn summary_line(
    counts: &Counts,
    covered: u64,
    kinds: &[Kind],
    watched: &Watched,
    next: Option<&str>,
) -> String {
    let found = match kinds {
        [] => "no findings".to_owned(),
        [Kind { apparent: true, count, .. }] => counted(*count, "apparent finding"),
        [Kind { verdict: Verdict::Suspected, count, .. }] => counted(*count, "suspected finding"),
        _ => counted(counts.reported, "finding"),
    };
    let kinds = if kinds.len() > 1 { kinds.iter().map(told_kind).collect::<Vec<_>>() } else { Vec::new() };
    let beside = [
        (counts.suppressed, "suppressed"),
        (counts.in_baseline, "in the baseline"),
        (counts.confirmed - covered, "suspected and confirmed"),
        (covered, "covered by a torn block"),
        (counts.hidden, "hidden by the cap per site"),
    ];
    let beside: Vec<String> = beside
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let beside: Vec<String> =
        [kinds.join(", "), list(&beside)].into_iter().filter(|part| !part.is_empty()).collect();
    let beside = if beside.is_empty() { String::new() } else { format!(" ({})", beside.join("; ")) };
    let threads = counted(watched.threads, "thread");
    let amount = match watched.live {
        None if watched.tasks > 0 => {
            let tasks = counted(watched.tasks, "task");
            format!("{} of {tasks} on {threads}", counted(watched.events, "event"))
        }
        None => format!("{} of {threads}", counted(watched.events, "event")),
        Some(live) => {
            let several = live.processes != 1;
            let processes = if several { format!(" in {} processes", live.processes) } else { String::new() };
            let locks = match live.locks {
                None => String::new(),
                Some(0) => " with no locks".to_owned(),
                Some(locks) => format!(" with {}", counted(locks, "lock")),
            };
            // Most accesses are passed over, as nothing has changed since the last one of the kind.
            let accesses = if live.accesses == 1 { "access" } else { "accesses" };
            let checked = format!("{} {accesses} checked in full", grouped(live.accesses));
            let who = match (watched.tasks, live.steps) {
                (0, _) => threads,
                (tasks, 0) => format!("{} on {threads}", counted(tasks, "task")),
                (tasks, steps) => {
                    format!("{} ({}) on {threads}", counted(tasks, "task"), counted(steps, "step"))
                }
            };
            format!("a run of {who}{locks}{processes} ({checked})")
        }
    };
    let analyses = list(&watched.analyses);
    let by = if analyses.is_empty() { String::new() } else { format!(" by {analyses}") };
    let next = next.map_or_else(String::new, |command| format!("; next: {command}"));
    format!("keirin: {found}{beside} in {amount}{by}{next}")
}

/// A number of findings of one kind: `2 data races`.
fn told_kind(kind: &Kind) -> String {
    let noun = rules::by_name(kind.rule).map_or("finding", |rule| rules::text(rule).noun);
    match kind.verdict {
        _ if kind.apparent => format!("{} that no schedule shows", counted(kind.count, noun)),
        Verdict::Observed => counted(kind.count, noun),
        Verdict::OtherSchedule => format!("{} in another schedule", counted(kind.count, noun)),
        Verdict::Suspected => counted(kind.count, &format!("suspected {noun}")),
    }
}

/// Leaves at most `most` reported findings for each rule and primary site, and tells how many went. A finding that
/// is not told to the user (suppressed, in the baseline) neither counts nor goes.
pub(crate) fn cap_per_site(findings: &mut Vec<Finding>, most: usize) -> u64 {
    let mut seen: HashMap<(&'static str, String), usize> = HashMap::new();
    let before = findings.len();
    findings.retain(|finding| {
        if finding.status != Status::Reported {
            return true;
        }
        let place = finding.primary.place.as_ref().map(|place| place.text.clone());
        let site =
            place.or_else(|| finding.primary.function.clone()).unwrap_or_else(|| finding.title.clone());
        let count = seen.entry((finding.rule, site)).or_default();
        *count += 1;
        *count <= most
    });
    (before - findings.len()) as u64
}
