//! The order of the findings, and which of them need not be told because a surer one says the same.
//!
//! The surest come first: observed, then shown by another schedule, then suspected, and last what no schedule shows. Of equally sure ones data races come
//! before atomicity violations, since a race is the smaller claim and often the cause, and both before gaps between holds
//! of a lock and what the locks make suspect; gaps that look as if they were meant come after the others, else of one rule the first
//! seen comes first.
//!
//! Two analyses may see one mistake, one of them observing it and the other suspecting it from the locks. The reader
//! wants to hear of it once, from the one that can show it. So a suspicion is folded into a surer finding if
//! - all blocks that it suspects are blocks that the surer finding refutes, or
//! - it is about the locking of a location on which the surer finding is a data race.
//!
//! A gap between two holds of a lock is folded in the same way into a torn block that is about the same accesses.
//!
//! It stays in the report for machines, with the status `confirmed`, and the surer finding names it. A finding that is
//! suppressed confirms nothing: a suppression should hide no more than what it matches.

use super::model::{Doubt, Finding, Status, Step, Suspicion, Verdict};
use keirin_core::finding::Rule;

/// The rules in the order in which equally sure findings are told.
const ORDER: [Rule; 5] = [
    Rule::DataRace,
    Rule::AtomicityViolation,
    Rule::LockGap,
    Rule::InconsistentLocking,
    Rule::IrreducibleBlock,
];

/// Orders the findings and folds suspicions into surer ones. To be done after each one's status is known, and before
/// the cap per site, so that the cap leaves the surest.
pub(crate) fn arrange(findings: &mut [Finding]) {
    let rank = |finding: &Finding| ORDER.iter().position(|rule| rule.name() == finding.rule);
    let apparent = |finding: &Finding| finding.doubt == Some(Doubt::LocksForbid);
    findings.sort_by_key(|finding| (finding.verdict, apparent(finding), rank(finding), finding.often_meant));
    for index in 0..findings.len() {
        let suspicion = &findings[index];
        if suspicion.verdict != Verdict::Suspected || suspicion.status != Status::Reported {
            continue;
        }
        let Some(by) = findings.iter().position(|surer| confirms(surer, suspicion)) else { continue };
        let Finding { rule, fingerprint, .. } = suspicion;
        let (rule, fingerprint) = (*rule, fingerprint.clone());
        findings[index].status = Status::Confirmed { by: findings[by].fingerprint.clone() };
        let surer = &mut findings[by];
        surer.notes.push(format!("The locks alone make it suspect as well ({rule} {fingerprint})."));
        surer.confirms.push(Suspicion { rule, fingerprint });
    }
    fold_gaps(findings);
}

/// Folds gaps between two holds of a lock into torn blocks that are about the same accesses: they are one mistake, and the
/// block says more about it.
fn fold_gaps(findings: &mut [Finding]) {
    for index in 0..findings.len() {
        let gap = &findings[index];
        if gap.rule != Rule::LockGap.name() || gap.status != Status::Reported {
            continue;
        }
        let covers = |block: &Finding| {
            block.rule == Rule::AtomicityViolation.name()
                && block.verdict <= gap.verdict
                && matches!(block.status, Status::Reported | Status::InBaseline)
                && same_accesses(block, gap)
        };
        let Some(by) = findings.iter().position(covers) else { continue };
        let (rule, fingerprint) = (gap.rule, gap.fingerprint.clone());
        findings[index].status = Status::Confirmed { by: findings[by].fingerprint.clone() };
        let block = &mut findings[by];
        block.notes.push(format!("It is a gap between two holds of a lock as well ({rule} {fingerprint})."));
        block.confirms.push(Suspicion { rule, fingerprint });
    }
}

/// True if two findings have the same operations, at the same places, on the same memory. Of operations that were done many
/// times the findings may show different instances; they count only where the places are not known.
fn same_accesses(one: &Finding, other: &Finding) -> bool {
    let same = |(one, other): (&Step, &Step)| {
        one.operation == other.operation
            && one.place() == other.place()
            && (one.place().is_some() || one.position == other.position)
    };
    one.location == other.location
        && one.steps.len() == other.steps.len()
        && one.steps.iter().zip(&other.steps).all(same)
}

fn confirms(surer: &Finding, suspicion: &Finding) -> bool {
    surer.verdict != Verdict::Suspected
        && matches!(surer.status, Status::Reported | Status::InBaseline)
        && (same_blocks(surer, suspicion) || same_location(surer, suspicion))
}

/// True if the surer finding refutes every block that the other suspects. Blocks without a label are not compared: what
/// has the same number in two traces need not be the same.
fn same_blocks(surer: &Finding, suspicion: &Finding) -> bool {
    let refuted = |label: &str| surer.refuted.iter().any(|block| block.stable == label);
    !suspicion.refuted.is_empty()
        && suspicion.refuted.iter().all(|block| !block.stable.is_empty() && refuted(&block.stable))
}

/// True for a race on the location whose locking is suspect. An address alone may be another thing in another trace, so
/// there the two must also have a place in common.
fn same_location(surer: &Finding, suspicion: &Finding) -> bool {
    let (Some(raced), Some(suspect)) = (&surer.location, &suspicion.location) else { return false };
    let in_common = || {
        let places = || suspicion.steps.iter().filter_map(|step| step.place());
        surer.steps.iter().filter_map(|step| step.place()).any(|place| places().any(|other| other == place))
    };
    raced.name == suspect.name && (raced.named && suspect.named || in_common())
}
