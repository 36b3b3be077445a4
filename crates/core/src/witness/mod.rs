//! The second pass: which of the apparent findings some schedule of the same operations really shows.
pub use candidates::Examine;

mod candidates;
mod decide;
mod flagged;
mod recording;
mod search;
#[cfg(test)]
mod tests;
mod validate;

use crate::analysis::tasks::{Flagged, Present, TaskAnalysis};
use crate::analysis::{Part, Statistic};
use crate::event::{Addr, GroupId};
use crate::finding::{Findings, RawStep};
use crate::sptree::{StepId, Structure};
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
    /// So many states are looked at for one candidate.
    pub const STATES: u64 = 200_000;
    /// So much work (operations done or taken back, and tasks looked at) is done for one candidate.
    pub const WORK: u64 = 50_000_000;
    /// So much work is done for the whole run.
    pub const TOTAL_WORK: u64 = 2_000_000_000;

    /// An examination of what an earlier pass has flagged.
    pub fn new(flagged: &Flagged, examine: Examine) -> Self {
        Self::with_limits(flagged, examine, Self::STATES, Self::WORK, Self::TOTAL_WORK)
    }

    /// The same with other limits: states and work for each candidate, and work for the whole run.
    pub fn with_limits(flagged: &Flagged, examine: Examine, states: u64, work: u64, total_work: u64) -> Self {
        let state = State {
            places: Places::new(flagged),
            recording: Recording::default(),
            locations: FxHashMap::default(),
            conflicts_left: candidates::MOST_CONFLICTS,
            lives: 0,
            verdicts: Verdicts::new(states, work, total_work),
        };
        Self { examine, state: RefCell::new(state) }
    }
}

impl State {
    fn decide(&mut self, examine: &Examine) {
        let places = &self.places;
        let rules = |key, rule| places.has(key, rule);
        self.verdicts.decide(&self.recording, &self.locations, rules, examine);
        self.locations.clear();
        self.conflicts_left = candidates::MOST_CONFLICTS;
    }
}

impl TaskAnalysis for Examination {
    const RECORDS: bool = true;

    type Cell = Cell;

    fn access<S: Structure>(
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
        found.retain(|(key, ..)| state.locations.entry(*key).or_default().wants(class));
        if found.is_empty() {
            return false;
        }
        let place = state.recording.access(now.at, now.actor);
        for (key, bytes, member) in found {
            let touch = Touch {
                place,
                site,
                bytes,
                member,
                life: cell.life,
                kind: part.kind,
                atomic: now.atomic,
                step: now.order.step,
                step_instance: now.step_instance,
                block: now.block,
                held: state.recording.held(place.actor),
            };
            state.locations.entry(key).or_default().add(touch, &now.order, &mut state.conflicts_left);
        }
        false
    }

    fn group(&self, group: GroupId, addr: Addr, size: u32) {
        if self.examine.groups {
            self.state.borrow_mut().places.declare(group, addr, size);
        }
    }

    fn operation(&self, at: &RawStep, actor: Actor) {
        self.state.borrow_mut().recording.record(at, actor);
    }

    fn serial(&self, _: &mut Findings) {
        let state = &mut *self.state.borrow_mut();
        state.decide(&self.examine);
        state.recording.clear();
    }

    fn end_of_run(&self, findings: &mut Findings) {
        let state = &mut *self.state.borrow_mut();
        state.decide(&self.examine);
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
        let verdicts = &self.state.borrow().verdicts;
        let figure = |name, value| Statistic { analysis: "witness", name, value };
        vec![
            figure("windows with candidates", verdicts.windows),
            figure("searches for a schedule", verdicts.searches),
            figure("searches given up", verdicts.given_up),
        ]
    }
}
