//! The second pass: which of the apparent findings some schedule of the same operations really shows.
//!
//! The first pass looks at structure and locks, tells what is *apparent*, and [flags](Flagged) the memory. Then the same
//! trace is replayed with an [`Examination`], which remembers what was done to the flagged memory and around it, and decides
//! everything that is apparent there:
//!
//! ```
//! # use keirin_core::analysis::tasks::Flagged;
//! # use keirin_core::replay::{ReplayOptions, tasks::{TaskOptions, TaskReplay}};
//! # use keirin_core::sptree::ranks::Ranks;
//! # use keirin_core::witness::{Examination, Examine};
//! # let flagged = Flagged::default(); // that of the first pass' outcome
//! let examination = Examination::new(&flagged, Examine { races: true, ..Examine::default() });
//! let pass: TaskReplay<'_, _, Ranks> =
//!     TaskReplay::new(&examination, "witness", ReplayOptions::default(), TaskOptions::default());
//! // … feed the trace …
//! let findings = pass.finish().findings;
//! # assert!(findings.is_empty());
//! ```
//!
//! **Definitions.** A *schedule* is an order of the recorded operations, or of those that the tasks do first, in which each
//! task keeps its own order; a task starts after it was spawned, and after the end of the tasks that it depends on; a wait
//! comes after the end of the task's children (not of theirs), the end of a finish scope after that of all descendants
//! spawned within, a join after the end of the joined task; what receives a signal comes after the signals that it had
//! received in the observed run; and locks exclude each other by their modes. That it may lead into a deadlock later does
//! not matter. A schedule shows
//! - a race if both accesses are the next operations of their tasks at some point;
//! - a torn region if the other task's access comes after the region's first access and before its second one;
//! - a torn group if the other region's access comes after the first access of this one that it conflicts with, and
//!   another one, of another location, before a later access of this one that it conflicts with;
//! - for the two before, a region is a step or an annotated block, as [`Examine`] says;
//! - a gap if a write comes between the last read under one hold of a lock and the write under a later hold.
//!
//! **Verdicts.** `Observed` if the observed run shows it; `OtherSchedule` if the search finds a schedule and an independent
//! check agrees; `Suspected(LocksForbid)` if structure and locks held at the accesses allow it but no schedule shows it;
//! `Suspected(SearchGivenUp)` if the limits did not suffice. For groups, what no schedule shows is not told at all. The
//! verdicts do not depend on the observed order, except for whether something was observed. The last two operations of a
//! race's witness are the two accesses.
//!
//! **What is told.** Each finding is told by its places. Of the pairs of accesses of one region instance between which the
//! same access fits, only the nearest is told, so that one defect is one finding. A place that has been shown is not
//! searched again.
//!
//! **Diagnosis.** With a [`Diagnosis`] branches and values take part as well: all branches of a schedule must go as they went, by
//! their conditions and what is read. Accesses that the other side of a branch would have done are *possible* ones: they are
//! compared with all others, the task goes the other way there for them, and what it would do behind that side is not known. Only
//! branches that lead to accesses of a finding are turned. What no schedule shows is dropped and counted; what depends on
//! something that was not told stays suspected. There are no windows then, since another schedule may leave other values behind. The
//! verdict says what a schedule keeps ([`Proof`](crate::finding::Proof)).
//!
//! **Windows.** When the driver says that all that came before comes before all that follows, the candidates so far are
//! decided and the operations forgotten. A witness goes as observed up to there.
//!
//! **Cost.** 64 bytes for each recorded operation of a window, about 100 for each access of flagged memory and 12 for each
//! two that conflict. A candidate costs time linear in the operations that it needs if no lock is kept while others must
//! go on; otherwise a question to the solver ([`crate::diagnose`]), in the worst case exponential in the number of such locks (it
//! must be: the question is as hard as satisfiability). What has no flagged memory costs one look-up for each stretch of memory.
//!
//! **Limits.** Exact within these bounds, and `SearchGivenUp` in place of `LocksForbid` beyond the first two of them:
//! - [`Examination::WORK`] for each candidate, [`Examination::TOTAL_WORK`] for the run, [`Diagnosis::time`] when diagnosing;
//! - 512 accesses of a location in each window (128 in a row by one step); then two of each place, kind, block and set of
//!   locks for each step, and from 2048 on one of them in all; 2²⁴ conflicts in all locations together;
//! - after 256 regions whose nearest accesses are at the same places, and shown, further ones are taken to be like them;
//! - 4096 combinations of accesses of two regions of a group;
//! - a thread that nobody forked and that appears only after a window was closed is not compared with that window;
//! - what an atomic operation, a fence or a barrier waits for is not checked independently;
//! - where one token is signalled and received by very many tasks, the recording grows with the product of both.

pub use candidates::Examine;
pub use window::{Ask, Diagnosis, Initial};

mod candidates;
mod decide;
mod flagged;
mod locks;
mod question;
mod recording;
mod reordered;
mod search;
#[cfg(test)]
mod tests;
mod validate;
mod window;

use crate::analysis::tasks::{Flagged, Present, TaskAnalysis};
use crate::analysis::{Part, Statistic};
use crate::event::{Addr, GroupId, Op};
use crate::finding::{Findings, RawStep};
use crate::sptree::{Relations, StepId};
use crate::tasks::Actor;
use candidates::{Location, Touch};
use decide::{LocationKey, Verdicts};
use flagged::Places;
use recording::Recording;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// The analysis of the second pass.
#[derive(Debug)]
pub struct Examination {
    examine: Examine,
    diagnosis: Option<Diagnosis>,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    places: Places,
    recording: Recording,
    locations: FxHashMap<LocationKey, Location>,
    conflicts_left: usize,
    /// The last number given to memory that was handed out anew.
    lives: u32,
    verdicts: Verdicts,
}

/// What is kept for each stretch of memory: whether it is to be examined, and which life of the memory it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    /// 0 if it has not been looked up since the memory was handed out.
    life: u32,
    /// The memory to examine was that of this version, and this was none of it.
    skip: u32,
}

impl Examination {
    /// So much work (operations done or taken back, and what the solver looks at) is done for one candidate.
    pub const WORK: u64 = 50_000_000;
    /// So much work is done for the whole run.
    pub const TOTAL_WORK: u64 = 1_000_000_000;

    /// The figure that tells how many claims were dropped because no schedule shows them with what branches need.
    pub const INFEASIBLE: &'static str = "claims that branches forbid";

    /// An examination of what an earlier pass has flagged.
    pub fn new(flagged: &Flagged, examine: Examine) -> Self {
        Self::with_limits(flagged, examine, Self::WORK, Self::TOTAL_WORK)
    }

    /// The same with other limits: work for each candidate, and for the whole run.
    pub fn with_limits(flagged: &Flagged, examine: Examine, work: u64, total_work: u64) -> Self {
        let state = State {
            places: Places::new(flagged),
            recording: Recording::default(),
            locations: FxHashMap::default(),
            conflicts_left: candidates::MOST_CONFLICTS,
            lives: 0,
            verdicts: Verdicts::new(work, total_work),
        };
        Self { examine, diagnosis: None, state: RefCell::new(state) }
    }

    /// Looks at values and branches too, and at what the other sides of branches would have done.
    pub fn diagnosing(mut self, diagnosis: Diagnosis) -> Self {
        self.diagnosis = Some(diagnosis);
        self.state.get_mut().recording.records_all = true;
        self
    }
}

impl State {
    fn decide(&mut self, examine: &Examine, diagnosis: Option<&Diagnosis>) {
        let places = &self.places;
        let rules = |key, rule| places.has(key, rule);
        self.verdicts.decide(&self.recording, diagnosis, &self.locations, rules, examine);
        self.locations.clear();
        self.conflicts_left = candidates::MOST_CONFLICTS;
    }
}

impl TaskAnalysis for Examination {
    const RECORDS: bool = true;

    type Cell = Cell;

    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Cell,
        part: Part,
        _: &mut Findings,
    ) -> bool {
        let state = &mut *self.state.borrow_mut();
        if cell.skip == state.places.version {
            return true;
        }
        let bytes = (part.addr.0, part.addr.0.saturating_add(u64::from(part.size)));
        let mut found: Vec<(LocationKey, (u64, u64), u32)> = Vec::new();
        state.places.find(bytes, self.examine.groups, |key, bytes, member| found.push((key, bytes, member)));
        if found.is_empty() {
            cell.skip = state.places.version;
            return true;
        }
        if cell.life == 0 {
            state.lives += 1;
            cell.life = state.lives;
        }
        let (site, region) = (now.at.moment.site, now.block.map(|block| block.region));
        let recording = &state.recording;
        let class = || (site, part.kind, now.atomic, recording.held_by(now.actor), region);
        found.retain(|(key, ..)| state.locations.entry(*key).or_default().wants(class, now.step_instance));
        if found.is_empty() {
            return false;
        }
        let place = match now.at.op {
            Op::OtherPath { .. } => state.recording.possible_access(now.at, now.actor),
            _ => state.recording.access(now.at, now.actor),
        };
        for (key, bytes, member) in found {
            let touch = Touch {
                place,
                site,
                bytes,
                marked: state.places.marked(bytes),
                member,
                life: cell.life,
                kind: part.kind,
                atomic: now.atomic,
                step: now.order.step,
                step_instance: now.step_instance,
                block: now.block,
                held: state.recording.held(place.actor),
            };
            let location = state.locations.entry(key).or_default();
            location.add(&state.recording, touch, &now.order, &mut state.conflicts_left);
        }
        false
    }

    fn group(&self, group: GroupId, addr: Addr, size: u32) {
        if self.examine.groups {
            self.state.borrow_mut().places.declare(group, addr, size);
        }
    }

    fn records_all(&self) -> bool {
        self.diagnosis.is_some()
    }

    fn operation(&self, at: &RawStep, actor: Actor) {
        self.state.borrow_mut().recording.record(at, actor);
    }

    fn serial(&self, _: &mut Findings) {
        if self.diagnosis.is_some() {
            // What was written before may differ in another schedule.
            return;
        }
        let state = &mut *self.state.borrow_mut();
        state.decide(&self.examine, self.diagnosis.as_ref());
        state.recording.clear();
    }

    fn end_of_run(&self, findings: &mut Findings) {
        let state = &mut *self.state.borrow_mut();
        state.decide(&self.examine, self.diagnosis.as_ref());
        state.verdicts.tell_all(findings);
    }

    fn visit_steps(_: &mut Cell, _: &mut impl FnMut(&mut StepId)) {}

    fn visit_own_steps(&self, visit: &mut impl FnMut(&mut StepId)) {
        let state = &mut *self.state.borrow_mut();
        for location in state.locations.values_mut() {
            location.touches.iter_mut().for_each(|touch| visit(&mut touch.step));
        }
    }

    fn statistics(&self) -> Vec<Statistic> {
        let verdicts = self.state.borrow().verdicts.figures;
        let figure = |name, value| Statistic { analysis: "witness", name, value };
        vec![
            figure("windows with candidates", verdicts.windows),
            figure("searches for a schedule", verdicts.searches),
            figure("questions to the solver", verdicts.questions),
            figure("searches given up", verdicts.given_up),
            figure(Self::INFEASIBLE, verdicts.infeasible),
        ]
    }
}
