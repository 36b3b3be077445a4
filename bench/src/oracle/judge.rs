//! What each analysis says about one program, against what some schedule of it shows.

use super::support::observe::{Observed, address, location, observe, op_at};
use super::support::program::{OpId, Program, Regions};
use super::support::truth::{Oracle, Race, Violation, racy_locations, torn_locations};
use super::tally::{Counted, Tally};
use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::analysis::tasks::all_sets::AllSets;
use keirin_core::analysis::tasks::atomicity::published::Published;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::published_ptracer::PublishedPtRacer;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::event::{Addr, Event, GroupId, Op, SiteId, ThreadId};
use keirin_core::finding::{Doubt, Evidence, RawFinding, Rule, Verdict};
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Outcome, ReplayOptions};
use keirin_core::sptree::ranks::Ranks;
use keirin_core::witness::{Examination, Examine};
use std::collections::BTreeSet;

/// A set of locations.
type Locations = BTreeSet<u8>;
/// What a finding is about: its rule and its places, as operations of the program.
type Key = (Rule, Vec<OpId>);
/// Both observed runs.
type Runs = [Observed; 2];

/// Two locations that belong together.
const GROUP: [u8; 2] = [0, 1];

/// Judges all analyses on one program and adds that to the tally. Tells what is wrong with what is meant to be exact.
pub(super) fn judge(program: &Program, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let runs = [seed, seed ^ 1].map(|seed| observe(program, seed));
    let [Some(first), Some(second)] = runs else {
        // The generator leaves out programs that no schedule brings to their end.
        return Ok(());
    };
    let runs = [first, second];
    let oracle = Oracle::new(program);
    let locations: Locations = program.accesses().map(|(_, access)| access.location).collect();
    tally.programs += 1;
    tally.locations += locations.len() as u64;
    let judging = Judging {
        oracle: &oracle,
        runs: &runs,
        locations: &locations,
        races: oracle.races(),
        torn_steps: oracle.violations(Regions::Steps),
        torn_blocks: oracle.violations(Regions::Blocks),
    };
    judging.races(tally)?;
    judging.steps(tally)?;
    judging.blocks(tally)?;
    judging.group(tally)
}

struct Judging<'a> {
    oracle: &'a Oracle<'a>,
    runs: &'a Runs,
    locations: &'a Locations,
    races: BTreeSet<Race>,
    torn_steps: BTreeSet<Violation>,
    torn_blocks: BTreeSet<Violation>,
}

impl Judging<'_> {
    fn races(&self, tally: &mut Tally) -> Result<(), String> {
        let truth = racy_locations(&self.races);
        tally.racy += truth.len() as u64;
        let rule = Rule::DataRace;
        self.apparent(|| PublishedPtRacer, rule, &truth, &mut tally.published_ptracer);
        self.apparent(|| AllSets, rule, &truth, &mut tally.all_sets);
        self.apparent(PtRacer::default, rule, &truth, &mut tally.ptracer);
        self.apparent(|| Spd3, rule, &truth, &mut tally.spd3);
        let examine = Examine { races: true, ..NOTHING };
        self.examined(PtRacer::default, examine, Regions::Steps, &truth, &mut tally.ptracer_search)
    }

    fn steps(&self, tally: &mut Tally) -> Result<(), String> {
        let truth = torn_locations(&self.torn_steps);
        tally.torn_steps += truth.len() as u64;
        let rule = Rule::AtomicityViolation;
        let analysis = || TaskAtomicity::new(STEPS);
        self.apparent(|| Published, rule, &truth, &mut tally.published_atomicity);
        self.apparent(analysis, rule, &truth, &mut tally.atomicity);
        let examine = Examine { steps: true, ..NOTHING };
        self.examined(analysis, examine, Regions::Steps, &truth, &mut tally.atomicity_search)
    }

    fn blocks(&self, tally: &mut Tally) -> Result<(), String> {
        let truth = torn_locations(&self.torn_blocks);
        tally.torn_blocks += truth.len() as u64;
        let examine = Examine { blocks: true, ..NOTHING };
        let analysis = || TaskAtomicity::new(BLOCKS);
        self.examined(analysis, examine, Regions::Blocks, &truth, &mut tally.blocks_search)
    }

    /// The first two locations as a group, once with steps as regions.
    fn group(&self, tally: &mut Tally) -> Result<(), String> {
        let members = Locations::from(GROUP);
        let truth = !self.oracle.group_violations(&members, Regions::Steps).is_empty();
        tally.groups += u64::from(members.is_subset(self.locations));
        tally.torn_groups += u64::from(members.is_subset(self.locations) && truth);
        let examine = Examine { steps: true, groups: true, ..NOTHING };
        let mut keys = Vec::new();
        for (index, run) in self.runs.iter().enumerate() {
            let findings = find(&declared(run, &members), || TaskAtomicity::new(STEPS), examine);
            let of_members = |finding: &&RawFinding| match &finding.evidence {
                Evidence::Torn(torn) => torn.group.is_some() || members.contains(&location(torn.addr)),
                _ => false,
            };
            let said = shown(&findings).any(|finding| of_members(&finding));
            let counted = &mut tally.groups_search;
            counted.given_up += given_up(&findings);
            if index == 0 {
                counted.missed += u64::from(truth && !said);
                counted.false_alarms += u64::from(said && !truth);
            }
            if said != truth {
                return Err(format!("group: said {said}, truth {truth}; {findings:?}"));
            }
            keys.push(keys_of(&findings));
        }
        tally.groups_search.orders_differ += u64::from(keys[0] != keys[1]);
        if keys[0] == keys[1] { Ok(()) } else { Err(format!("groups, two orders: {keys:?}")) }
    }

    /// An analysis without the search for schedules.
    fn apparent<A: TaskAnalysis>(
        &self,
        analysis: impl Fn() -> A,
        rule: Rule,
        truth: &Locations,
        counted: &mut Counted,
    ) {
        let said = self.runs.each_ref().map(|run| flagged(run, &analysis, rule));
        counted.missed += truth.difference(&said[0]).count() as u64;
        counted.false_alarms += said[0].difference(truth).count() as u64;
        counted.orders_differ += u64::from(said[0] != said[1]);
    }

    /// An analysis with the search for schedules.
    fn examined<A: TaskAnalysis>(
        &self,
        analysis: impl Fn() -> A,
        examine: Examine,
        regions: Regions,
        truth: &Locations,
        counted: &mut Counted,
    ) -> Result<(), String> {
        let found = self.runs.each_ref().map(|run| find(run, &analysis, examine));
        let keys = found.each_ref().map(|findings| keys_of(findings));
        let said = locations(&found[0]);
        counted.missed += truth.difference(&said).count() as u64;
        counted.false_alarms += said.difference(truth).count() as u64;
        counted.orders_differ += u64::from(keys[0] != keys[1]);
        counted.given_up += found.iter().map(|findings| given_up(findings)).sum::<u64>();
        for findings in &found {
            let said = locations(findings);
            if said != *truth {
                return Err(format!(
                    "{regions:?}, {examine:?}: said {said:?}, truth {truth:?}; {findings:?}"
                ));
            }
            self.claims(findings, regions)?;
        }
        if keys[0] == keys[1] { Ok(()) } else { Err(format!("{examine:?}, two orders: {keys:?}")) }
    }

    /// Every finding that claims a schedule must be one of those that there are.
    fn claims(&self, findings: &[RawFinding], regions: Regions) -> Result<(), String> {
        let violations = match regions {
            Regions::Steps => &self.torn_steps,
            Regions::Blocks => &self.torn_blocks,
            Regions::Marked => return Err("nothing is marked here".to_owned()),
        };
        for finding in shown(findings) {
            let (rule, ops) = key(finding);
            let is_true = match (rule, &ops[..]) {
                (Rule::DataRace, [a, b]) => {
                    self.races.iter().any(|(_, first, second)| (first, second) == (a, b))
                }
                (Rule::AtomicityViolation, [a1, a2, a3]) => {
                    violations.iter().any(|(_, first, second, third)| (first, second, third) == (a1, a2, a3))
                }
                _ => false,
            };
            if !is_true {
                return Err(format!("claims {finding:?}"));
            }
        }
        Ok(())
    }
}

const STEPS: Modes = Modes { blocks: false, steps: true, gaps: false };
const BLOCKS: Modes = Modes { blocks: true, steps: false, gaps: false };
const NOTHING: Examine = Examine { races: false, blocks: false, steps: false, gaps: false, groups: false };

fn replay<A: TaskAnalysis>(run: &Observed, analysis: &A, keep_all: bool) -> Outcome {
    let options = ReplayOptions { keep_all, ..ReplayOptions::default() };
    let mut replay = TaskReplay::<A, Ranks>::new(analysis, "oracle", options, TaskOptions::default());
    for (position, event) in (1..).zip(&run.events) {
        // Faults are for runs that cannot have happened; these are made from schedules.
        replay.event(position, event).unwrap_or_else(|fault| panic!("event {position}: {fault:?}"));
    }
    replay.finish()
}

/// The passes that the command line makes before the search.
fn first_passes<A: TaskAnalysis>(run: &Observed, analysis: impl Fn() -> A) -> Outcome {
    let outcome = replay(run, &analysis(), false);
    if outcome.needs_all { replay(run, &analysis(), true) } else { outcome }
}

/// The locations that an analysis flags.
fn flagged<A: TaskAnalysis>(run: &Observed, analysis: impl Fn() -> A, rule: Rule) -> Locations {
    let outcome = first_passes(run, analysis);
    let ranges = outcome.flagged.ranges().iter();
    ranges.filter(|(_, _, flagged)| *flagged == rule).map(|(addr, _, _)| location(*addr)).collect()
}

/// All passes, as the command line makes them.
fn find<A: TaskAnalysis>(run: &Observed, analysis: impl Fn() -> A, examine: Examine) -> Vec<RawFinding> {
    let outcome = first_passes(run, analysis);
    if outcome.flagged.ranges().is_empty() {
        return Vec::new();
    }
    replay(run, &Examination::new(&outcome.flagged, examine), true).findings
}

/// The findings that claim that a schedule shows them.
fn shown(findings: &[RawFinding]) -> impl Iterator<Item = &RawFinding> {
    findings.iter().filter(|finding| !matches!(finding.verdict, Verdict::Suspected(_)))
}

fn given_up(findings: &[RawFinding]) -> u64 {
    let doubt = Verdict::Suspected(Doubt::SearchGivenUp);
    findings.iter().filter(|finding| finding.verdict == doubt).count() as u64
}

fn locations(findings: &[RawFinding]) -> Locations {
    let address = |finding: &RawFinding| match &finding.evidence {
        Evidence::Race(race) => race.addr,
        Evidence::Torn(torn) => torn.addr,
        _ => Addr(0),
    };
    shown(findings).map(|finding| location(address(finding))).collect()
}

fn key(finding: &RawFinding) -> Key {
    let mut ops: Vec<OpId> = finding.steps.iter().map(|step| op_at(step.moment.site)).collect();
    if finding.rule == Rule::DataRace {
        ops.sort_unstable();
    }
    (finding.rule, ops)
}

fn keys_of(findings: &[RawFinding]) -> BTreeSet<Key> {
    shown(findings).map(key).collect()
}

/// A run with the declaration of a group in front.
fn declared(run: &Observed, members: &Locations) -> Observed {
    let declare = |location: &u8| Event {
        thread: ThreadId(0),
        site: SiteId::NONE,
        op: Op::Group { size: 8, group: GroupId(0), addr: address(*location) },
    };
    let mut run = run.clone();
    run.events.splice(0..0, members.iter().map(declare));
    run.origins.splice(0..0, members.iter().map(|_| None));
    run
}
