//! The analyses together with the search for schedules, against all schedules: nothing is missed, and nothing is told that
//! no schedule shows.

use crate::support::generate::{Discipline, generate};
use crate::support::observe::{Observed, location, observe, op_at};
use crate::support::oracle::{Oracle, racy_locations, torn_locations};
use crate::support::program::{OpId, Program, Regions};
use crate::support::random::Random;
use crate::support::shrink::shrink;
use crate::support::{cases, for_all_disciplines, seed};
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::{Flagged, TaskAnalysis};
use keirin_core::event::{Addr, GroupId, Op, SiteId};
use keirin_core::finding::{Doubt, Evidence, RawFinding, Rule, Verdict};
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Outcome, ReplayOptions};
use keirin_core::sptree::ranks::Ranks;
use keirin_core::witness::{Examination, Examine};
use std::collections::BTreeSet;

fn replay<A: TaskAnalysis>(observed: &Observed, analysis: &A, keep_all: bool) -> Outcome {
    let options = ReplayOptions { keep_all, ..ReplayOptions::default() };
    let mut replay = TaskReplay::<A, Ranks>::new(analysis, "test", options, TaskOptions::default());
    for (position, event) in (1..).zip(&observed.events) {
        replay.event(position, event).unwrap_or_else(|fault| panic!("event {position}: {fault:?}"));
    }
    replay.finish()
}

/// Both passes, as the command line makes them.
fn find<A: TaskAnalysis>(observed: &Observed, analysis: impl Fn() -> A, examine: Examine) -> Vec<RawFinding> {
    let mut outcome = replay(observed, &analysis(), false);
    if outcome.needs_all {
        outcome = replay(observed, &analysis(), true);
    }
    let flagged: &Flagged = &outcome.flagged;
    if flagged.ranges().is_empty() {
        return Vec::new();
    }
    replay(observed, &Examination::new(flagged, examine), true).findings
}

/// What a finding is about: its rule and its places, as operations of the program.
type Key = (Rule, Vec<OpId>);

fn key(finding: &RawFinding) -> Key {
    let mut ops: Vec<OpId> = finding.steps.iter().map(|step| op_at(step.moment.site)).collect();
    if finding.rule == Rule::DataRace {
        ops.sort_unstable();
    }
    (finding.rule, ops)
}

fn shown(findings: &[RawFinding]) -> impl Iterator<Item = &RawFinding> {
    findings.iter().filter(|finding| !matches!(finding.verdict, Verdict::Suspected(_)))
}

fn locations(findings: &[RawFinding], rule: Rule) -> BTreeSet<u8> {
    let address = |finding: &RawFinding| match &finding.evidence {
        Evidence::Race(race) => race.addr,
        Evidence::Torn(torn) => torn.addr,
        _ => Addr(0),
    };
    shown(findings).filter(|finding| finding.rule == rule).map(|finding| location(address(finding))).collect()
}

/// Every finding that claims a schedule must be one of those that there are.
fn claims(findings: &[RawFinding], oracle: &Oracle<'_>, regions: Regions) -> Option<String> {
    let races = oracle.races();
    let violations = oracle.violations(regions);
    for finding in shown(findings) {
        let ops = key(finding).1;
        let is_true = match (finding.rule, &ops[..]) {
            (Rule::DataRace, [a, b]) => races.iter().any(|(_, first, second)| (first, second) == (a, b)),
            (Rule::AtomicityViolation, [a1, a2, a3]) => {
                violations.iter().any(|(_, first, second, third)| (first, second, third) == (a1, a2, a3))
            }
            _ => false,
        };
        if !is_true {
            return Some(format!("claims {finding:?}"));
        }
    }
    let given_up = |finding: &&RawFinding| finding.verdict == Verdict::Suspected(Doubt::SearchGivenUp);
    findings.iter().find(given_up).map(|finding| format!("given up: {finding:?}"))
}

/// What is wrong with what is found in two observed runs of a program, if anything.
fn wrong(program: &Program, seed: u64) -> Option<String> {
    let observed = [observe(program, seed)?, observe(program, seed ^ 1)?];
    let oracle = Oracle::new(program);
    let racy = racy_locations(&oracle.races());
    let examine = |races, steps, blocks| Examine { races, blocks, steps, gaps: false, groups: false };
    let races = observed.each_ref().map(|run| find(run, PtRacer::default, examine(true, false, false)));
    for findings in &races {
        let said = locations(findings, Rule::DataRace);
        if said != racy {
            return Some(format!("races: said {said:?}, truth {racy:?}; {findings:?}"));
        }
        if let Some(message) = claims(findings, &oracle, Regions::Steps) {
            return Some(message);
        }
    }
    if let Some(message) = different(&races) {
        return Some(message);
    }
    for (regions, steps) in [(Regions::Steps, true), (Regions::Blocks, false)] {
        let modes = Modes { blocks: !steps, steps, gaps: false };
        let found = observed
            .each_ref()
            .map(|run| find(run, || TaskAtomicity::new(modes), examine(false, steps, !steps)));
        let torn = torn_locations(&oracle.violations(regions));
        for findings in &found {
            let said = locations(findings, Rule::AtomicityViolation);
            if said != torn {
                return Some(format!("{regions:?}: said {said:?}, truth {torn:?}; {findings:?}"));
            }
            if let Some(message) = claims(findings, &oracle, regions) {
                return Some(message);
            }
        }
        if let Some(message) = different(&found) {
            return Some(message);
        }
    }
    groups(program, &observed, &oracle)
}

/// Two observed runs of one program must give the same findings.
fn different(found: &[Vec<RawFinding>; 2]) -> Option<String> {
    let keys = found.each_ref().map(|findings| shown(findings).map(key).collect::<BTreeSet<Key>>());
    (keys[0] != keys[1]).then(|| format!("two orders: {:?} and {:?}", keys[0], keys[1]))
}

/// The first two locations as a group, and the first one as a group of its own.
fn groups(program: &Program, observed: &[Observed; 2], oracle: &Oracle<'_>) -> Option<String> {
    for members in [BTreeSet::from([0, 1]), BTreeSet::from([0])] {
        for (regions, steps) in [(Regions::Steps, true), (Regions::Marked, false)] {
            let truth = !oracle.group_violations(&members, regions).is_empty();
            // Locations that are not marked must be whole in blocks only.
            let unmarked = if steps { Regions::Steps } else { Regions::Blocks };
            let mut torn = torn_locations(&oracle.violations(regions));
            torn.retain(|location| members.contains(location));
            let elsewhere = torn_locations(&oracle.violations(unmarked));
            torn.extend(elsewhere.difference(&members));
            let modes = Modes { blocks: !steps, steps, gaps: false };
            let examine = Examine { races: false, blocks: !steps, steps, gaps: false, groups: true };
            let found = observed
                .each_ref()
                .map(|run| find(&declared(run, &members), || TaskAtomicity::new(modes), examine));
            for findings in &found {
                let of_a_group = |finding: &RawFinding| match &finding.evidence {
                    Evidence::Torn(torn) => torn.group.is_some(),
                    _ => false,
                };
                let mut single = findings.clone();
                single.retain(|finding| !of_a_group(finding));
                let said = locations(&single, Rule::AtomicityViolation);
                if said != torn {
                    return Some(format!(
                        "marked {members:?}, {regions:?}: said {said:?}, truth {torn:?}; {program}; {findings:?}"
                    ));
                }
                let said = shown(findings).any(of_a_group) || !said.is_disjoint(&members);
                if said != truth {
                    return Some(format!(
                        "group {members:?}, {regions:?}: said {said}, truth {truth}; {program}; {findings:?}"
                    ));
                }
                let of_members = |finding: &RawFinding| match &finding.evidence {
                    Evidence::Torn(torn) => members.contains(&location(torn.addr)),
                    _ => false,
                };
                let (marked, others): (Vec<_>, Vec<_>) = single.into_iter().partition(of_members);
                let message = claims(&marked, oracle, regions).or_else(|| claims(&others, oracle, unmarked));
                if message.is_some() {
                    return message;
                }
            }
            if let Some(message) = different(&found) {
                return Some(message);
            }
        }
    }
    None
}

/// A run with the declaration of a group in front.
fn declared(run: &Observed, members: &BTreeSet<u8>) -> Observed {
    let declare = |location: &u8| keirin_core::event::Event {
        thread: keirin_core::event::ThreadId(0),
        site: SiteId::NONE,
        op: Op::Group { size: 8, group: GroupId(0), addr: crate::support::observe::address(*location) },
    };
    let mut run = Observed { events: run.events.clone(), origins: run.origins.clone(), threads: run.threads };
    run.events.splice(0..0, members.iter().map(declare));
    run.origins.splice(0..0, members.iter().map(|_| None));
    run
}

fn check(discipline: Discipline) {
    for case in 0..cases() {
        let seed = seed(case);
        let program = generate(discipline, &mut Random::new(seed));
        if wrong(&program, 2 * seed).is_some() {
            let small = shrink(&program, |program| wrong(program, 2 * seed).is_some());
            let message = wrong(&small, 2 * seed).unwrap_or_default();
            panic!("{discipline:?} {case}: {small}\n{message}");
        }
    }
}

for_all_disciplines!(check);
