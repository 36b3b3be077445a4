//! Gaps between two holds of a lock, against their definition.

use crate::support::calls::OpenCalls;
use crate::support::generate::{Discipline, generate};
use crate::support::observe::{location, observe};
use crate::support::oracle::{Apparent, torn_locations};
use crate::support::program::Program;
use crate::support::random::Random;
use crate::support::shrink::shrink;
use crate::support::{cases, for_all_disciplines, seed};
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::finding::Rule;
use keirin_core::replay::ReplayOptions;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::sptree::ranks::Ranks;
use std::collections::BTreeSet;

/// The locations with a gap, as the analysis says in a run that was observed; none if there is no such run.
fn said(program: &Program, calls: &OpenCalls, seed: u64, options: TaskOptions) -> Option<BTreeSet<u8>> {
    let observed = observe(program, seed)?;
    let replay = |keep_all| {
        let analysis = TaskAtomicity::new(Modes { blocks: false, steps: false, gaps: true });
        let replay_options = ReplayOptions { keep_all, ..ReplayOptions::default() };
        let mut replay = TaskReplay::<TaskAtomicity, Ranks>::new(&analysis, "test", replay_options, options);
        for (position, (event, origin)) in (1..).zip(observed.events.iter().zip(&observed.origins)) {
            if let Some(id) = origin {
                replay.set_calls(calls.innermost(*id), calls.code(*id));
            }
            replay.event(position, event).unwrap_or_else(|fault| panic!("event {position}: {fault:?}"));
        }
        replay.finish()
    };
    let mut outcome = replay(false);
    if outcome.needs_all {
        outcome = replay(true);
    }
    let gaps = outcome.flagged.ranges().iter().filter(|(_, _, rule)| *rule == Rule::LockGap);
    Some(gaps.map(|(addr, _, _)| location(*addr)).collect())
}

#[test]
fn gaps_of_small_programs() {
    let table = [
        ("async{+L Rx -L +L Wx -L} async{+L Wx -L}", true),
        ("async{+L Rx -L +L Rx Wx -L} async{+L Wx -L}", false),
        ("async{+L Rx Wx -L} async{+L Wx -L}", false),
        ("async{+L Rx -L +L Wx -L} async{+L Rx -L}", false),
        ("async{+L Rx -L +M Wx -M} async{+L Wx -L}", false),
        ("async{+M +L Rx -L +L Wx -L -M} async{+M +L Wx -L -M}", false),
        ("async{+M +L Rx -L +L Wx -L -M} async{+L Wx -L}", true),
        ("async{r+L Rx r-L +L Wx -L} async{+L Wx -L}", true),
        ("async{+L Rx -L +L Wx -L +L Wx -L} sync async{+L Wx -L}", false),
        // The write of another one that was there before is not in between.
        ("async{+L Wx -L} sync +L Rx -L +L Wx -L", false),
    ];
    for (text, gap) in table {
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let unknown = OpenCalls::unknown(&program);
        let expected = if gap { BTreeSet::from([0]) } else { BTreeSet::new() };
        assert_eq!(torn_locations(&Apparent::new(&program).gaps(&unknown)), expected, "{text}");
        let options = TaskOptions::default();
        assert_eq!(said(&program, &unknown, 1, options), Some(expected), "{text}");
    }
}

/// What is wrong with what the analysis says about a program, if anything; and whether there is something to find.
fn wrong(program: &Program, seed: u64) -> Option<String> {
    let apparent = Apparent::new(program);
    for calls in [OpenCalls::unknown(program), OpenCalls::random(program, seed)] {
        let truth = torn_locations(&apparent.gaps(&calls));
        for caches in [false, true] {
            let options =
                TaskOptions { access_cache: caches, verdict_cache: caches, count: false, possible: false };
            let said = said(program, &calls, seed, options)?;
            // What a task learns in the middle of a region is left to the search for a schedule: see `apparent`.
            let right = if program.uses_edges() { said.is_superset(&truth) } else { said == truth };
            if !right {
                return Some(format!("said {said:?}, truth {truth:?}, caches: {caches}, {calls:?}"));
            }
        }
    }
    None
}

fn check(discipline: Discipline) {
    let mut found = [0, 0];
    for case in 0..cases() / 3 {
        let seed = seed(case);
        let program = generate(discipline, &mut Random::new(seed));
        if wrong(&program, seed).is_some() {
            let small = shrink(&program, |program| wrong(program, seed).is_some());
            panic!("{discipline:?} {case}: {small}\n{}", wrong(&small, seed).unwrap_or_default());
        }
        let apparent = Apparent::new(&program);
        let both = [OpenCalls::unknown(&program), OpenCalls::random(&program, seed)];
        for (found, calls) in found.iter_mut().zip(both) {
            *found += u32::from(!apparent.gaps(&calls).is_empty());
        }
    }
    if discipline == Discipline::AnyOrder {
        assert!(
            found[0] > found[1] && found[1] > 0,
            "calls make a difference, and leave something: {found:?}"
        );
    }
}

for_all_disciplines!(check);
