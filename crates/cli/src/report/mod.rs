//! From raw findings to what people and machines read.
//!
//! The way through: [`resolve`] gives names, [`crate::suppress`] and [`crate::baseline`] set each finding's status,
//! [`cap_per_site`] leaves out repetitions, [`Report::new`] counts, and a renderer lays the result out. The renderers
//! decide nothing; what a report says is all in [`model`].

pub(crate) mod dot;
pub(crate) mod fingerprint;
pub(crate) mod json;
pub(crate) mod model;
mod operation;
pub(crate) mod resolve;
pub(crate) mod rules;
pub(crate) mod sarif;
mod snippet;
pub(crate) mod terminal;
pub(crate) mod text;
mod wording;

#[cfg(test)]
mod published_schema;
#[cfg(test)]
mod random;
#[cfg(test)]
pub(crate) mod support;
#[cfg(test)]
mod tests;

pub(crate) use model::{Finding, Report, Watched};

use model::{Counts, Status, Summary, Tool};
use std::collections::HashMap;
use text::{counted, list};

impl Report {
    /// A report on what was watched.
    pub(crate) fn new(findings: Vec<Finding>, watched: Watched) -> Self {
        let mut counts = Counts { hidden: watched.hidden, ..Counts::default() };
        for finding in &findings {
            match finding.status {
                Status::Reported => counts.reported += 1,
                Status::Suppressed { .. } => counts.suppressed += 1,
                Status::InBaseline => counts.in_baseline += 1,
            }
        }
        let first = findings.iter().find(|finding| finding.status == Status::Reported);
        let next = first
            .map(|finding| format!("keirin explain {}", finding.rule))
            .or_else(|| watched.next_when_clean.clone());
        let line = summary_line(&counts, &watched, next.as_deref());
        Report {
            tool: Tool { name: "keirin", version: env!("CARGO_PKG_VERSION").to_owned() },
            summary: Summary {
                inputs: watched.inputs,
                analyses: watched.analyses,
                events: watched.events,
                threads: watched.threads,
                counts,
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
        self.summary.counts.reported > 0
    }

    /// The findings that are told to the user.
    pub(crate) fn reported(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status == Status::Reported)
    }
}

/// What was found, how much was watched, the next command to type.
fn summary_line(counts: &Counts, watched: &Watched, next: Option<&str>) -> String {
    let found =
        if counts.reported == 0 { "no findings".to_owned() } else { counted(counts.reported, "finding") };
    let beside = [
        (counts.suppressed, "suppressed"),
        (counts.in_baseline, "in the baseline"),
        (counts.hidden, "hidden by the cap per site"),
    ];
    let beside: Vec<String> = beside
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let beside = if beside.is_empty() { String::new() } else { format!(" ({})", list(&beside)) };
    let amount = format!("{} of {}", counted(watched.events, "event"), counted(watched.threads, "thread"));
    let analyses = list(&watched.analyses);
    let by = if analyses.is_empty() { String::new() } else { format!(" by {analyses}") };
    let next = next.map_or_else(String::new, |command| format!("; next: {command}"));
    format!("keirin: {found}{beside} in {amount}{by}{next}")
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
