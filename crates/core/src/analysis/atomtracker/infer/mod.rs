//! AtomTracker-I: which stretches of code behaved atomically in all runs that were looked at.
//!
//! Paper: section 3 of "AtomTracker", MICRO 2010. Each run is read once to see which critical sections and loops are taken
//! whole (`prepare`), then again and again until the regions that it shows are stable (`pass`). What was known before
//! goes into every run, so that regions only become smaller. After the last run all are read once more with all
//! that is known, until none of them shows anything new: so no region is torn in any of the runs.
//!
//! Deviations from the paper:
//! - All threads are gone through together, not one after the other (`pass` says why that is as good).
//! - A loop that others interfere with ends regions where it is entered and left as well, not only between iterations.
//! - An exit that a run has added and that its last, stable reading does not use is discarded, as in Figure 4; what
//!   other runs have added stays, until after the last reading of all runs. So regions only split as runs are added: an
//!   entry's exits are never fewer than before.
//! - A region that lasts until the end of its thread has no exit there.
//! - With a threshold above 1 each run is looked at by itself, for what a bad run splits would be split in all later ones.
//! - Atomic operations are accesses; locks, conditions and barriers are the synchronization that is disregarded.
//! - Nested regions (section 7): see `knowledge::SectionKind::Outer`. What a critical section does under no further lock
//!   is a region of its own, around those in it, if all that others touch meanwhile is touched under further locks. It may
//!   be wrong in both directions: what is done under inner locks is taken apart as soon as one run shows it apart, though
//!   it may be meant to be one with the outer; and accesses between inner sections are kept together that need not be.
//!
//! Misses: what no run shows. A region that only looks atomic because the runs were few gives false alarms later.
//!
//! Cost: three to eleven readings of each run; the first one some tens of nanoseconds an event, the others less: they go by what
//! that has written down, and need neither the trace nor its memory. Room for the cells that the run touches, and at most 64 MiB each
//! for its conflicts and for its deeds.

mod conflicts;
mod digest;
mod keys;
mod knowledge;
mod pass;
mod prepare;
#[cfg(test)]
pub(super) mod tests;

use super::regions::{LearnedModule, Region, Regions, Run};
use crate::trace::{Batch, Source, TraceError};
use knowledge::{Database, Knowledge, Used};
use pass::{Memory, Pass};
use prepare::{Prepare, Prepared, Written};
use std::collections::{BTreeMap, BTreeSet};

/// A run whose regions are not stable after so many readings is left as it is.
const MOST_READINGS: u32 = 64;

/// All runs are read again so often at most.
const MOST_ROUNDS: u32 = 64;

/// How to infer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Critical sections with whose data nobody interferes are taken whole.
    pub critical_sections: bool,
    /// Outermost loops are taken whole, or end regions at each iteration.
    pub loops: bool,
    /// Locks do not conflict with each other.
    pub disregard_synchronization: bool,
    /// Critical sections around others may be regions around others.
    pub nested: bool,
    /// In how many runs a region must be seen to count.
    pub threshold: u32,
    /// Stop after so many runs that show nothing new; 0 is never.
    pub stop_after: u32,
    /// How many traces to read at the same time. The result does not depend on it.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            critical_sections: true,
            loops: true,
            disregard_synchronization: true,
            nested: true,
            threshold: 1,
            stop_after: 0,
            threads: 1,
        }
    }
}

/// The runs to learn from.
pub trait Training: Sync {
    /// What can go wrong when a trace is opened or read.
    type Error: From<TraceError> + Send;

    /// How the user names a run.
    fn name(&self, run: usize) -> String;

    /// Opens the trace of a run from its beginning. It may be asked for several times.
    fn open(&self, run: usize) -> Result<Box<dyn Source>, Self::Error>;

    /// Puts the place into words at which reading has failed.
    fn failed(&self, run: usize, error: TraceError) -> Self::Error {
        let _ = run;
        error.into()
    }

    /// Part of the work is done: so many events were read.
    fn read(&self, events: u64) {
        let _ = events;
    }
}

/// What one run added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Which run.
    pub run: usize,
    /// How many regions are known after it: pairs of an entry and an exit.
    pub regions: usize,
    /// It showed something new.
    pub changed: bool,
    /// How often it was read until its regions were stable, after the first look at its critical sections and loops.
    pub readings: u32,
    /// How many events it has.
    pub events: u64,
}

/// What was learned, and how.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Learned {
    /// The regions.
    pub regions: Regions,
    /// One step for each run that was used. The others were not needed.
    pub steps: Vec<Step>,
    /// How often all runs were read again afterwards.
    pub rounds: u32,
    /// The regions are stable: no run tears any of them.
    pub is_stable: bool,
    /// Paths of the modules that the names of places speak of.
    pub module_paths: BTreeMap<Box<str>, Box<str>>,
    /// Runs whose accesses have no places: nothing can be learned from them.
    pub without_places: Vec<usize>,
}

/// What one run shows under what is known.
struct Shown {
    events: u64,
    /// It has accesses, but none of them has a place.
    without_places: bool,
    used: Used,
    knowledge: Knowledge,
    modules: BTreeMap<LearnedModule, Box<str>>,
    readings: u32,
    is_stable: bool,
}

/// Learns from runs; `old` is what was learned before. `tell` is told each step as soon as it is done.
pub fn infer<T: Training>(
    training: &T,
    runs: usize,
    old: &Regions,
    settings: &Settings,
    mut tell: impl FnMut(&Step),
) -> Result<Learned, T::Error> {
    let mut learner = Learner {
        training,
        settings,
        known: Knowledge::of(old),
        states: (0..runs).map(|_| None).collect(),
        learned: Learned { is_stable: true, ..Learned::default() },
    };
    if settings.threshold > 1 {
        learner.each_by_itself(runs, &mut tell)?;
    } else {
        let used = learner.one_after_the_other(runs, &mut tell)?;
        learner.all_again(used)?;
    }
    Ok(learner.finish(old))
}

struct Learner<'a, T: Training> {
    training: &'a T,
    settings: &'a Settings,
    known: Knowledge,
    states: Vec<Option<Shown>>,
    learned: Learned,
}

impl<T: Training> Learner<'_, T> {
    /// Each run under what those before it have shown. Several are read at the same time; what is read in vain because
    /// one before it showed something new is read again. Returns how many runs were used.
    fn one_after_the_other(&mut self, runs: usize, tell: &mut impl FnMut(&Step)) -> Result<usize, T::Error> {
        let (mut next, mut at_once, mut unchanged) = (0, 1, 0);
        while next < runs {
            let last = runs.min(next + at_once);
            let shown = self.look_at(next..last)?;
            // While runs show something new, reading ahead is in vain.
            at_once = (2 * at_once).min(self.settings.threads.max(1));
            let mut in_vain = false;
            for (run, shown) in (next..last).zip(shown) {
                if in_vain {
                    break;
                }
                next = run + 1;
                in_vain = self.take(run, shown, tell);
                unchanged = if in_vain { 0 } else { unchanged + 1 };
                if self.settings.stop_after > 0 && unchanged >= self.settings.stop_after {
                    return Ok(next);
                }
            }
            if in_vain {
                at_once = 1;
            }
        }
        Ok(next)
    }

    /// All runs under all that is known, until that does not change.
    fn all_again(&mut self, used: usize) -> Result<(), T::Error> {
        // The last run was already read under all that is known.
        let mut unchanged = self.learned.steps.iter().rev().take_while(|step| !step.changed).count() + 1;
        let mut next = 0;
        let most = used * MOST_ROUNDS as usize;
        let mut read = 0;
        while unchanged < used && read < most {
            let last = used.min(next + self.settings.threads.max(1)).min(next + used - unchanged);
            let mut in_vain = false;
            for (run, shown) in (next..last).zip(self.look_at(next..last)?) {
                if !in_vain {
                    next = (run + 1) % used;
                    read += 1;
                    self.learned.is_stable &= shown.is_stable;
                    in_vain = self.known.add(&shown.knowledge);
                    unchanged = if in_vain { 1 } else { unchanged + 1 };
                }
                self.states[run] = Some(shown);
            }
        }
        self.learned.rounds = read.div_ceil(used.max(1)) as u32;
        self.learned.is_stable &= unchanged >= used;
        Ok(())
    }

    /// Each run under what was known before all of them. What too few of them show is dropped.
    fn each_by_itself(&mut self, runs: usize, tell: &mut impl FnMut(&Step)) -> Result<(), T::Error> {
        let mut kept = self.known.clone();
        let mut counts: BTreeMap<(Box<str>, Option<Box<str>>), u32> = BTreeMap::new();
        let (mut next, mut unchanged) = (0, 0);
        while next < runs {
            let last = runs.min(next + self.settings.threads.max(1));
            for (run, shown) in (next..last).zip(self.look_at(next..last)?) {
                next = run + 1;
                let before = kept.pairs();
                for (entry, (exits, thread_end)) in &shown.used.by_entry {
                    let exits = exits.iter().cloned().map(Some).chain(thread_end.then_some(None));
                    for exit in exits {
                        let count = counts.entry((entry.clone(), exit.clone())).or_default();
                        *count += 1;
                        if *count >= self.settings.threshold {
                            kept.exits.entry(entry.clone()).or_default().extend(exit);
                        }
                    }
                }
                let changed = kept.pairs() != before;
                self.note(run, &shown, kept.pairs(), changed, tell);
                self.learned.is_stable &= shown.is_stable;
                self.states[run] = Some(shown);
                unchanged = if changed { 0 } else { unchanged + 1 };
                // Before the threshold can be reached nothing changes.
                let enough = next as u32 >= self.settings.threshold + self.settings.stop_after;
                if self.settings.stop_after > 0 && unchanged >= self.settings.stop_after && enough {
                    next = runs;
                    break;
                }
            }
        }
        // What was known stays; of what is new only that which was seen often enough.
        for shown in self.states.iter().flatten() {
            kept.outer.extend(shown.knowledge.outer.iter().cloned());
            kept.never_outer.extend(shown.knowledge.never_outer.iter().cloned());
        }
        for shown in self.states.iter_mut().flatten() {
            shown.used.by_entry.retain(|entry, (exits, thread_end)| {
                let enough = |exit: Option<Box<str>>| {
                    let old = exit.as_ref().is_some_and(|exit| {
                        self.known.exits.get(entry).is_some_and(|exits| exits.contains(exit))
                    });
                    old || counts
                        .get(&(entry.clone(), exit))
                        .is_some_and(|&count| count >= self.settings.threshold)
                };
                exits.retain(|exit| enough(Some(exit.clone())));
                *thread_end &= enough(None);
                !exits.is_empty() || *thread_end
            });
        }
        self.known = kept;
        Ok(())
    }

    fn take(&mut self, run: usize, shown: Shown, tell: &mut impl FnMut(&Step)) -> bool {
        let changed = self.known.add(&shown.knowledge);
        self.learned.is_stable &= shown.is_stable;
        self.note(run, &shown, self.known.pairs(), changed, tell);
        self.states[run] = Some(shown);
        changed
    }

    fn note(
        &mut self,
        run: usize,
        shown: &Shown,
        regions: usize,
        changed: bool,
        tell: &mut impl FnMut(&Step),
    ) {
        let Shown { readings, events, .. } = *shown;
        let step = Step { run, regions, changed, readings, events };
        self.learned.steps.push(step);
        if shown.without_places {
            self.learned.without_places.push(run);
        } else if events > 0 {
            tell(&step);
        }
    }

    /// Looks at runs under what is known, all at the same time. The first error counts, so that it does not depend on who
    /// was faster.
    fn look_at(&mut self, runs: std::ops::Range<usize>) -> Result<Vec<Shown>, T::Error> {
        let (training, known, settings) = (self.training, &self.known, self.settings);
        let work = |run: usize| look(training, run, known, settings);
        let results: Vec<Result<Shown, T::Error>> = if runs.len() == 1 {
            runs.map(work).collect()
        } else {
            std::thread::scope(|scope| {
                let workers: Vec<_> = runs.map(|run| scope.spawn(move || work(run))).collect();
                workers
                    .into_iter()
                    .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                    .collect()
            })
        };
        results.into_iter().collect()
    }

    /// The regions as they are used by the runs, added to the old ones.
    fn finish(self, old: &Regions) -> Learned {
        let mut learned = self.learned;
        let mut regions = old.clone();
        // Only regions that the new runs were looked at for can have become others.
        for (entry, region) in &mut regions.by_entry {
            region.outer &= !self.known.never_outer.contains(entry);
        }
        for (run, shown) in self.states.into_iter().enumerate() {
            let Some(shown) = shown.filter(|_| learned.steps.iter().any(|step| step.run == run)) else {
                continue;
            };
            let number = regions.runs.len() as u32;
            regions.runs.push(Run { name: self.training.name(run).into() });
            for (entry, (exits, thread_end)) in shown.used.by_entry {
                let outer = self.known.outer.contains(&entry) && !self.known.never_outer.contains(&entry);
                let region =
                    regions.by_entry.entry(entry).or_insert_with(|| Region { outer, ..Region::default() });
                for exit in exits {
                    region.exits.entry(exit).or_default().insert(number);
                }
                if thread_end {
                    region.thread_end.insert(number);
                }
            }
            for (module, path) in shown.modules {
                learned.module_paths.insert(module.name.clone(), path);
                regions.modules.insert(module);
            }
        }
        learned.regions = regions;
        learned
    }
}

/// Looks at one run under what is known.
fn look<T: Training>(
    training: &T,
    run: usize,
    known: &Knowledge,
    settings: &Settings,
) -> Result<Shown, T::Error> {
    let (prepared, written) = first_reading(training, run)?;
    read_until_stable(training, run, prepared, written, known, settings)
}

/// Goes through a run until its regions are stable: by what was written down, where that is possible.
fn read_until_stable<T: Training>(
    training: &T,
    run: usize,
    mut prepared: Prepared,
    written: Written,
    known: &Knowledge,
    settings: &Settings,
) -> Result<Shown, T::Error> {
    let around = known.has_outer_sections() || prepared.shown.has_outer_sections();
    // Whose access it is depends on what is known then; and of conflicts of locks nothing is written down.
    let Written { conflicts, digest } = written;
    let conflicts = conflicts.filter(|_| settings.disregard_synchronization && !(settings.nested && around));
    let digest = digest.filter(|_| conflicts.is_some());
    let mut memory = Memory::new(conflicts);
    let mut database = Database::default();
    let mut is_stable = false;
    let mut readings = 0;
    while readings < MOST_READINGS && !is_stable {
        readings += 1;
        let mut pass = Pass::new(settings, known, &mut prepared, &mut database, memory);
        match &digest {
            Some(digest) => pass.all(digest),
            None => {
                let mut source = training.open(run)?;
                read(training, run, &mut *source, |batch, source| {
                    pass.events(batch.events(), source.tables())
                })?;
            }
        }
        memory = pass.finish();
        if digest.is_some() {
            training.read(prepared.events);
        }
        is_stable = !database.is_dirty();
    }
    let (used, mut knowledge) = database.result(&prepared.keys);
    knowledge.sections = prepared.shown.sections.clone();
    knowledge.divisible_loops = prepared.shown.divisible_loops.clone();
    let module = |key| prepared.keys.module(key).map(|(module, path)| (module.clone(), path.into()));
    let modules = database.used_keys().into_iter().filter_map(module).collect();
    let without_places = prepared.accesses > 0 && prepared.placed == 0;
    Ok(Shown { events: prepared.events, without_places, used, knowledge, modules, readings, is_stable })
}

/// The first reading of a run.
fn first_reading<T: Training>(training: &T, run: usize) -> Result<(Prepared, Written), T::Error> {
    let mut prepare = Prepare::default();
    let mut source = training.open(run)?;
    read(training, run, &mut *source, |batch, source| prepare.events(batch.events(), source.tables()))?;
    Ok(prepare.finish())
}

/// Reads a trace to its end.
fn read<T: Training>(
    training: &T,
    run: usize,
    source: &mut dyn Source,
    mut each: impl FnMut(&Batch, &dyn Source),
) -> Result<(), T::Error> {
    let mut batch = Batch::new();
    loop {
        let more = source.fill(&mut batch).map_err(|error| training.failed(run, error))?;
        each(&batch, source);
        training.read(batch.events().len() as u64);
        if !more {
            return Ok(());
        }
    }
}

/// The names of all entries and exits.
pub fn names(regions: &Regions) -> BTreeSet<&str> {
    let exits = regions.by_entry.values().flat_map(|region| region.exits.keys());
    regions.by_entry.keys().chain(exits).map(|name| &**name).collect()
}
