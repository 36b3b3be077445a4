//! The analyses, which look at structure and locks only, against what is apparent by definition.

use crate::support::generate::{Discipline, generate};
use crate::support::observe::{Observed, location, observe};
use crate::support::oracle::{Apparent, racy_locations, torn_locations};
use crate::support::program::{Program, Regions};
use crate::support::random::Random;
use crate::support::shrink::shrink;
use crate::support::{cases, for_all_disciplines, seed};
use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::analysis::tasks::all_sets::AllSets;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::finding::Rule;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Outcome, ReplayOptions};
use keirin_core::sptree::Structure;
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::ranks::Ranks;
use keirin_core::sptree::tree::Tree;
use std::collections::BTreeSet;

fn replay<A: TaskAnalysis, S: Structure>(
    observed: &Observed,
    analysis: &A,
    options: TaskOptions,
    keep_all: bool,
) -> Outcome {
    let replay_options = ReplayOptions { keep_all, ..ReplayOptions::default() };
    let mut replay = TaskReplay::<A, S>::new(analysis, "test", replay_options, options);
    for (position, event) in (1..).zip(&observed.events) {
        replay.event(position, event).unwrap_or_else(|fault| panic!("event {position}: {fault:?}"));
    }
    replay.finish()
}

/// The locations that an analysis flags.
fn flagged<A: TaskAnalysis, S: Structure>(
    observed: &Observed,
    analysis: impl Fn() -> A,
    options: TaskOptions,
    rule: Rule,
) -> BTreeSet<u8> {
    let mut outcome = replay::<A, S>(observed, &analysis(), options, false);
    if outcome.needs_all {
        outcome = replay::<A, S>(observed, &analysis(), options, true);
        assert!(!outcome.needs_all);
    }
    let ranges = outcome.flagged.ranges().iter();
    ranges.filter(|(_, _, flagged)| *flagged == rule).map(|(addr, _, _)| location(*addr)).collect()
}

fn modes(steps: bool) -> Modes {
    Modes { blocks: !steps, steps, gaps: false }
}

/// What is wrong with what the analyses say about a program, if anything.
fn wrong(program: &Program, seed: u64) -> Option<String> {
    let observed = observe(program, seed)?;
    let apparent = Apparent::new(program);
    // A task that learns, in the middle of a region, that another one is finished could be interrupted by that only at
    // the points before. The analyses look at all points of the region, and leave that to the search for a schedule.
    let more_is_wrong = |rule| rule == Rule::DataRace || !program.uses_edges();
    let compare = |rule: Rule, what: &str, said: BTreeSet<u8>, truth: &BTreeSet<u8>| {
        let right = if more_is_wrong(rule) { said == *truth } else { said.is_superset(truth) };
        (!right).then(|| format!("{what}: said {said:?}, truth {truth:?}"))
    };
    let plain = TaskOptions { access_cache: false, verdict_cache: false, count: false, possible: false };
    let cached = TaskOptions { access_cache: true, verdict_cache: true, count: true, possible: true };
    let races = racy_locations(&apparent.races());
    let race = Rule::DataRace;
    let torn = Rule::AtomicityViolation;
    let ptracer = flagged::<_, Ranks>(&observed, PtRacer::default, plain, race);
    let all_sets = flagged::<_, Tree>(&observed, || AllSets, plain, race);
    compare(race, "PTRacer", ptracer, &races)
        .or_else(|| compare(race, "all sets", all_sets, &races))
        .or_else(|| {
            let said = flagged::<_, Labels>(&observed, PtRacer::default, cached, race);
            compare(race, "PTRacer with labels and caches", said, &races)
        })
        .or_else(|| {
            if program.uses_locks() || program.uses_atomics() {
                return None;
            }
            let said = flagged::<_, Tree>(&observed, || Spd3, cached, race);
            compare(race, "SPD3", said, &races)
        })
        .or_else(|| {
            for (regions, steps) in [(Regions::Steps, true), (Regions::Blocks, false)] {
                let truth = torn_locations(&apparent.violations(regions));
                for options in [plain, cached] {
                    let analysis = || TaskAtomicity::new(modes(steps));
                    let said = flagged::<_, Ranks>(&observed, analysis, options, torn);
                    let wrong =
                        compare(torn, &format!("task atomicity, {regions:?}, {options:?}"), said, &truth);
                    if wrong.is_some() {
                        return wrong;
                    }
                }
            }
            None
        })
}

fn check(discipline: Discipline) {
    for case in 0..cases() {
        let seed = seed(case);
        let program = generate(discipline, &mut Random::new(seed));
        for order in 0..2 {
            if wrong(&program, seed ^ order).is_some() {
                let small = shrink(&program, |program| wrong(program, seed ^ order).is_some());
                let message = wrong(&small, seed ^ order).unwrap_or_default();
                let observed = observe(&small, seed ^ order).map(|observed| observed.events);
                panic!("{discipline:?} {case}: {small}\n{message}\n{observed:#?}");
            }
        }
    }
}

for_all_disciplines!(check);
