//! From one observed run, no finding is missed that some run shows, and none is told that none shows.

use crate::generate::generate;
use crate::observe::{Observed, observe, place};
use crate::oracle::{self, Site, Truth};
use crate::program::{Program, access};
use crate::random::Random;
use keirin_core::analysis::tasks::Flagged;
use keirin_core::event::{Addr, Op};
use keirin_core::finding::{Doubt, Proof, RawFinding, Rule, Verdict};
use keirin_core::replay::ReplayOptions;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::sptree::ranks::Ranks;
use keirin_core::witness::{Diagnosis, Examination, Examine};
use std::collections::BTreeSet;
use std::time::Duration;

fn findings(observed: &Observed) -> Vec<RawFinding> {
    let mut flagged = Flagged::default();
    for variable in 0..crate::program::VARIABLES as u64 {
        for rule in [Rule::DataRace, Rule::AtomicityViolation] {
            flagged.add(Addr(0x1000 + 8 * variable), 8, rule);
        }
    }
    let examine = Examine { races: true, steps: true, ..Examine::default() };
    let diagnosis = Diagnosis {
        formulas: observed.formulas.clone(),
        ask: None,
        initial: None,
        time: Duration::from_secs(60),
    };
    let examination = Examination::new(&flagged, examine).diagnosing(diagnosis);
    let options = ReplayOptions { keep_all: true, ..ReplayOptions::default() };
    let mut replay =
        TaskReplay::<_, Ranks>::new(&examination, "examination", options, TaskOptions::default());
    for (position, event) in (1..).zip(&observed.events) {
        replay.event(position, event).unwrap_or_else(|fault| panic!("event {position}: {fault:?}"));
    }
    replay.finish().findings
}

/// What was counted.
#[derive(Default, Debug)]
struct Counts {
    programs: u64,
    branches: u64,
    feasible: u64,
    possible: u64,
    same_values: u64,
    dropped: u64,
    missed: u64,
    wrong: u64,
    unsure: u64,
}

/// What is wrong with the findings of a run, if anything is.
fn compare(program: &Program, observed: &Observed, counts: &mut Counts) -> Option<String> {
    let list = findings(observed);
    let mut told = Truth::default();
    let mut unsure = Vec::new();
    for finding in &list {
        let places: Vec<Site> = finding.steps.iter().map(|step| place(step.moment.site)).collect();
        match &finding.verdict {
            Verdict::Suspected(Doubt::LocksForbid) => continue,
            Verdict::Suspected(_) => {
                counts.unsure += 1;
                unsure.push((finding.rule, places));
                continue;
            }
            Verdict::OtherSchedule { witness: Some(witness) } => {
                counts.same_values += u64::from(witness.proof == Proof::Values);
            }
            Verdict::OtherSchedule { witness: None } => panic!("no schedule for {finding:?}"),
            Verdict::Observed => {}
        }
        counts.possible +=
            u64::from(finding.steps.iter().any(|step| matches!(step.op, Op::OtherPath { .. })));
        match finding.rule {
            Rule::DataRace => {
                told.races.insert((places[0].min(places[1]), places[0].max(places[1])));
            }
            _ => {
                let (task, at) = places[0];
                told.tears.insert((places[1], task, program.region(task, at)));
            }
        }
    }
    let mut truth = oracle::races(program, &observed.branches);
    for (task, steps) in program.tasks.iter().enumerate() {
        for (at, step) in steps.iter().enumerate() {
            if access(*step).is_some() {
                oracle::tears(program, &observed.branches, (task, at), &mut truth);
            }
        }
    }
    counts.programs += 1;
    counts.branches += observed.branches.iter().map(Vec::len).sum::<usize>() as u64;
    counts.feasible += (truth.races.len() + truth.tears.len()) as u64;
    let missed = truth.races.difference(&told.races).count() + truth.tears.difference(&told.tears).count();
    let wrong = told.races.difference(&truth.races).count() + told.tears.difference(&truth.tears).count();
    counts.dropped += apparent(program, observed).difference(&truth.races).count() as u64;
    counts.missed += missed as u64;
    counts.wrong += wrong as u64;
    (missed + wrong + unsure.len() > 0).then(|| {
        format!(
            "{}undecided {unsure:?}; races missed {:?}, wrong {:?}; tears missed {:?}, wrong {:?}\n{}",
            program.text(),
            truth.races.difference(&told.races).collect::<Vec<_>>(),
            told.races.difference(&truth.races).collect::<Vec<_>>(),
            truth.tears.difference(&told.tears).collect::<Vec<_>>(),
            told.tears.difference(&truth.tears).collect::<Vec<_>>(),
            observed.text()
        )
    })
}

/// Pairs of accesses of different tasks that conflict, whether done or possible: what there would be to tell if nothing were
/// decided.
fn apparent(program: &Program, observed: &Observed) -> BTreeSet<(Site, Site)> {
    let mut places: Vec<Site> = observed
        .events
        .iter()
        .filter(|event| matches!(event.op, Op::Access { .. } | Op::OtherPath { .. }))
        .map(|event| place(event.site))
        .collect();
    places.sort_unstable();
    places.dedup();
    let mut pairs = BTreeSet::new();
    for (number, one) in places.iter().enumerate() {
        for other in &places[..number] {
            let step = |site: &Site| program.tasks[site.0][site.1];
            if one.0 != other.0 && crate::program::conflict(step(one), step(other)) {
                pairs.insert((*other, *one));
            }
        }
    }
    pairs
}

/// As many programs as the environment says, or a thousand.
#[test]
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn nothing_is_missed_and_nothing_is_wrong() {
    let cases: u64 = std::env::var("KEIRIN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1000);
    // The longest runs are for those that ask for very many.
    let cases = if cases > 50_000 { 50_000 } else { cases };
    let seed: u64 = std::env::var("KEIRIN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut counts = Counts::default();
    let mut number = 0;
    let mut shortest: Option<String> = None;
    while counts.programs < cases {
        number += 1;
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let program = generate(&mut random);
        if let Some(observed) = observe(&program, &mut random) {
            let fault = compare(&program, &observed, &mut counts);
            let shorter = |fault: &String| shortest.as_ref().is_none_or(|other| fault.len() < other.len());
            if let Some(fault) = fault.filter(shorter) {
                shortest = Some(fault);
            }
        }
    }
    println!("programs {}, branches {}", counts.programs, counts.branches);
    println!("findings that some run shows: {}", counts.feasible);
    println!("  of them told with possible accesses: {}", counts.possible);
    println!("  told with a schedule in which all values are the same: {}", counts.same_values);
    println!("conflicting pairs that no run shows as a race, all dropped: {}", counts.dropped);
    println!("missed {}, false {}, undecided {}", counts.missed, counts.wrong, counts.unsure);
    assert_eq!(shortest, None, "{}", shortest.as_deref().unwrap_or_default());
    assert_eq!((counts.missed, counts.wrong, counts.unsure), (0, 0, 0));
    assert!(counts.possible > counts.programs / 4, "{counts:?}");
    assert!(counts.dropped > counts.programs, "{counts:?}");
}
