//! The tables `oracle`: how exact the analyses of tasks are, on random programs of which all schedules are tried.

mod judge;
mod support;
mod tally;

use anyhow::{Result, bail};
use judge::judge;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use support::generate::{Discipline, generate};
use support::program::Program;
use support::random::Random;
use support::shrink::shrink;
use tally::{Tally, name};

/// So many programs are taken by a thread at once.
const CHUNK: u64 = 200;

/// What to judge.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Programs of each discipline.
    pub programs: u64,
    /// Which disciplines, by name; all of them if there are none.
    pub disciplines: Vec<String>,
}

/// The names of all disciplines.
pub fn names() -> impl Iterator<Item = &'static str> {
    Discipline::ALL.into_iter().map(name)
}

/// A program on which something that is meant to be exact was wrong.
struct Failure {
    discipline: usize,
    case: u64,
    program: Program,
}

/// Judges all analyses; uses all cores. An error tells a program on which an analysis with the search for schedules was
/// wrong, as small as it could be made.
pub fn tables(settings: &Settings) -> Result<String> {
    let chosen = |discipline: &Discipline| {
        settings.disciplines.is_empty()
            || settings.disciplines.iter().any(|chosen| chosen == name(*discipline))
    };
    let disciplines: Vec<Discipline> = Discipline::ALL.into_iter().filter(chosen).collect();
    let chunks = settings.programs.div_ceil(CHUNK);
    let next = AtomicU64::new(0);
    let tallies = Mutex::new(vec![Tally::default(); disciplines.len()]);
    let failure = Mutex::new(None);
    let work = || {
        // The chunks of one discipline follow each other; which thread takes which does not change the sums.
        loop {
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            let (index, first) = ((chunk / chunks) as usize, chunk % chunks * CHUNK);
            let Some(discipline) = disciplines.get(index) else { return };
            let mut tally = Tally::default();
            for case in first..(first + CHUNK).min(settings.programs) {
                let program = generate(*discipline, &mut Random::new(seed(case)));
                if judge(&program, 2 * seed(case), &mut tally).is_err() {
                    let found = Failure { discipline: index, case, program };
                    let mut failure = failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    failure.get_or_insert(found);
                    // Nothing more is begun.
                    next.store(u64::MAX / 2, Ordering::Relaxed);
                    return;
                }
            }
            let mut tallies = tallies.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            tallies[index].add(&tally);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    if let Some(failure) = failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        bail!("{}", explain(&failure, disciplines[failure.discipline]));
    }
    let tallies = tallies.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let rows: Vec<(Discipline, Tally)> = disciplines.into_iter().zip(tallies).collect();
    Ok(tally::tables(&rows))
}

/// The seed of a case: zero is left to nobody.
fn seed(case: u64) -> u64 {
    case + 1
}

fn explain(failure: &Failure, discipline: Discipline) -> String {
    let seed = 2 * seed(failure.case);
    let wrong = |program: &Program| judge(program, seed, &mut Tally::default()).err();
    let small = shrink(&failure.program, |program| wrong(program).is_some());
    let message = wrong(&small).unwrap_or_default();
    format!("{}, program {}: {small}\n{message}", name(discipline), failure.case)
}
