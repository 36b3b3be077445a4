//! One window that is being decided: what becomes of a claim about it, and how a finding is told.

use super::decide::Claim;
use super::question::{Asked, Care, Formulas, Question, Writes, schedule};
use super::recording::{Place, Recording};
use super::reordered::reordered;
use super::search::{Found, Goal, Run, Search};
use super::validate::Validator;
use crate::diagnose::problem::Decision;
use crate::diagnose::smtlib::Reply;
use crate::diagnose::solver::Limits;
use crate::diagnose::{Formula, Problem};
use crate::event::Op;
use crate::finding::{Doubt, Lineage, Proof, RawFinding, RawStep, RawTask, Segment, Verdict, Witness};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// So many operations of a witness are shown.
const MOST_SHOWN: usize = 40;

/// Asks an SMT solver: its input, and its output unless that failed.
pub type Ask = dyn Fn(&str) -> Option<String>;

/// What memory of so many bytes, up to eight, holds when the program starts, if that is known.
pub type Initial = dyn Fn(u64, u32) -> Option<u64>;

/// What is needed to look at values and branches too.
pub struct Diagnosis {
    /// The formulas of the trace, by id; none for one that cannot be read.
    pub formulas: Vec<Option<Formula>>,
    /// Asks an SMT solver, if there is one, about values that are too many to be gone through.
    pub ask: Option<Box<Ask>>,
    /// What memory holds at first, if nobody has read it before it was written.
    pub initial: Option<Box<Initial>>,
    /// No longer than so long for one claim.
    pub time: Duration,
}

impl std::fmt::Debug for Diagnosis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { formulas, ask, initial, time } = self;
        f.debug_struct("Diagnosis")
            .field("formulas", formulas)
            .field("ask", &ask.is_some())
            .field("initial", &initial.is_some())
            .field("time", time)
            .finish()
    }
}

/// What is known about memory at first.
fn initial_of(diagnosis: Option<&Diagnosis>) -> Option<&Initial> {
    diagnosis.and_then(|diagnosis| diagnosis.initial.as_deref())
}

/// What became of a claim.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    Observed,
    Shown(Vec<Run>, Proof),
    LocksForbid,
    Unsure(Doubt),
    /// There is nothing to tell.
    Void,
}

/// Figures about the work done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) windows: u64,
    pub(super) searches: u64,
    pub(super) questions: u64,
    pub(super) given_up: u64,
    /// Claims that were dropped, since no schedule shows them with what the branches need.
    pub(super) infeasible: u64,
}

/// One window that is being decided.
pub(super) struct Window<'r> {
    pub(super) recording: &'r Recording,
    diagnosis: Option<&'r Diagnosis>,
    formulas: Formulas,
    search: Search<'r>,
    validator: Validator<'r>,
    writes: Option<Writes>,
    /// Goals that cannot be reached.
    hopeless: FxHashMap<Goal, Fate>,
    work: u64,
}

/// What the engine says about a goal.
enum Said {
    Schedule(Vec<Run>, Proof),
    Infeasible,
    Unsure(Doubt),
}

impl<'r> Window<'r> {
    pub(super) fn new(recording: &'r Recording, diagnosis: Option<&'r Diagnosis>) -> Self {
        let formulas = diagnosis.map_or(&[][..], |diagnosis| &diagnosis.formulas);
        Self {
            recording,
            diagnosis,
            formulas: formulas.iter().map(|formula| formula.clone().map(Rc::new)).collect(),
            search: Search::new(recording),
            validator: Validator::new(recording, initial_of(diagnosis)),
            writes: None,
            hopeless: FxHashMap::default(),
            work: 0,
        }
    }

    /// How much was done since this was asked last.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work) + self.search.take_work()
    }

    /// What becomes of a claim. `incomplete`: not everything was remembered about its location.
    pub(super) fn fate(
        &mut self,
        claim: &Claim,
        incomplete: bool,
        limits: Limits,
        figures: &mut Figures,
    ) -> Fate {
        if claim.observed {
            return Fate::Observed;
        }
        if let Some(known) = self.hopeless.get(&claim.goal) {
            return known.clone();
        }
        if limits.work == 0 {
            return Fate::Unsure(Doubt::SearchGivenUp);
        }
        let until = self.diagnosis.map(|diagnosis| Instant::now() + diagnosis.time);
        let fate = self.look(&claim.goal, Limits { until, ..limits }, figures);
        let fate = match fate {
            Fate::LocksForbid if incomplete => Fate::Unsure(Doubt::SearchGivenUp),
            fate => fate,
        };
        if let Fate::Shown(..) = fate {
            return fate;
        }
        figures.given_up += u64::from(matches!(fate, Fate::Unsure(_)));
        self.hopeless.insert(claim.goal.clone(), fate.clone());
        fate
    }

    fn look(&mut self, goal: &Goal, limits: Limits, figures: &mut Figures) -> Fate {
        let possible = goal.places().any(|place| self.recording.is_possible(place));
        figures.searches += 1;
        let mut allowed = false;
        if !possible {
            match self.search.find(goal) {
                Found::Schedule(schedule) => {
                    let shown = match self.diagnosis {
                        None => self.is_shown(goal, &schedule, Care::Operations).then_some(Proof::Operations),
                        Some(_) => self.is_shown(goal, &schedule, Care::Values).then_some(Proof::Values),
                    };
                    if let Some(proof) = shown {
                        return Fate::Shown(schedule, proof);
                    }
                    allowed = true;
                }
                Found::Ordered => return Fate::Void,
                Found::Stuck => {}
            }
        }
        figures.questions += 1;
        let care = if self.diagnosis.is_some() { Care::Branches } else { Care::Operations };
        match self.decide(goal, care, limits) {
            Said::Schedule(schedule, proof) if care == Care::Branches && !possible => {
                match self.decide(goal, Care::Values, limits) {
                    Said::Schedule(schedule, proof) => Fate::Shown(schedule, proof),
                    _ => Fate::Shown(schedule, proof),
                }
            }
            Said::Schedule(schedule, proof) => Fate::Shown(schedule, proof),
            Said::Unsure(doubt) => Fate::Unsure(doubt),
            Said::Infeasible if possible => {
                figures.infeasible += 1;
                Fate::Void
            }
            Said::Infeasible if care == Care::Operations => Fate::LocksForbid,
            // If it is not the locks that forbid it, branches do.
            Said::Infeasible => match self.decide(goal, Care::Operations, limits) {
                Said::Infeasible if !allowed => Fate::LocksForbid,
                _ => {
                    figures.infeasible += 1;
                    Fate::Void
                }
            },
        }
    }

    fn is_shown(&self, goal: &Goal, schedule: &[Run], care: Care) -> bool {
        self.validator.is_valid(goal, schedule, care, &self.formulas)
    }

    /// Looks for a schedule that reaches a goal.
    fn decide(&mut self, goal: &Goal, care: Care, limits: Limits) -> Said {
        let recording = self.recording;
        let writes = self.writes.get_or_insert_with(|| match care {
            Care::Operations => Writes::default(),
            _ => Writes::new(recording, initial_of(self.diagnosis)),
        });
        let (problem, places, branches) = match Question::ask(recording, &self.formulas, writes, care, goal) {
            Asked::Question(question) => *question,
            Asked::Impossible => return Said::Infeasible,
            Asked::Unanswerable => return Said::Unsure(Doubt::ValuesUnknown),
        };
        let (decision, size) = problem.decide(limits);
        self.work += size.work.max(places.len() as u64);
        let proof = match care {
            Care::Values => Proof::Values,
            Care::Branches if branches => Proof::Branches,
            _ => Proof::Operations,
        };
        let events = match decision {
            Decision::Feasible(events) => events,
            Decision::Infeasible => return Said::Infeasible,
            Decision::Unknown => return Said::Unsure(Doubt::ValuesUnknown),
            Decision::GivenUp => return Said::Unsure(Doubt::SearchGivenUp),
            Decision::TooManyValues => match self.ask(&problem) {
                Ok(events) => events,
                Err(said) => return said,
            },
        };
        let schedule = schedule(goal, &places, &events);
        if self.is_shown(goal, &schedule, care) {
            return Said::Schedule(schedule, proof);
        }
        debug_assert!(
            decision_is_outside(&problem, limits),
            "{goal:?} is not shown by {schedule:?} ({care:?})"
        );
        Said::Unsure(Doubt::SearchGivenUp)
    }

    /// Asks an SMT solver.
    fn ask(&self, problem: &Problem) -> Result<Vec<u32>, Said> {
        let Some(ask) = self.diagnosis.and_then(|diagnosis| diagnosis.ask.as_ref()) else {
            return Err(Said::Unsure(Doubt::NeedsSolver));
        };
        let reply = |sure: bool| ask(&problem.smtlib(sure)).map(|output| problem.understand(&output));
        match reply(true) {
            Some(Reply::Satisfiable(events)) => Ok(events),
            Some(Reply::Unsatisfiable) => match reply(false) {
                Some(Reply::Unsatisfiable) => Err(Said::Infeasible),
                _ => Err(Said::Unsure(Doubt::ValuesUnknown)),
            },
            Some(Reply::Unknown) => Err(Said::Unsure(Doubt::SearchGivenUp)),
            None => Err(Said::Unsure(Doubt::NeedsSolver)),
        }
    }

    /// True if there was a moment of the observed run at which both accesses were the next ones.
    pub(super) fn was_race_observed(&self, earlier: Place, later: Place) -> bool {
        let recording = self.recording;
        if recording.is_possible(earlier) || recording.is_possible(later) {
            return false;
        }
        let position = |place: Place| recording.operation(place).step.moment.position;
        let at = position(earlier);
        let record = &recording.actors[later.actor as usize];
        let before = match later.index.checked_sub(1) {
            Some(index) => position(Place { actor: later.actor, index }),
            None => record.spawned.position,
        };
        let needs = recording.needs(recording.operation(later));
        before < at && needs.iter().all(|need| position(*need) < at)
    }

    pub(super) fn finding(&self, claim: &Claim, fate: Fate, count: u64) -> RawFinding {
        let steps: Vec<RawStep> =
            claim.accesses.iter().map(|place| self.recording.operation(*place).step).collect();
        let lineage = self.lineage(&claim.accesses);
        let verdict = match fate {
            Fate::Observed => Verdict::Observed,
            Fate::Shown(schedule, proof) => {
                Verdict::OtherSchedule { witness: Some(Box::new(self.witness(claim, schedule, proof))) }
            }
            Fate::LocksForbid => Verdict::Suspected(Doubt::LocksForbid),
            Fate::Unsure(doubt) => Verdict::Suspected(doubt),
            Fate::Void => Verdict::Suspected(Doubt::SearchGivenUp),
        };
        RawFinding { rule: claim.rule, verdict, steps, evidence: claim.evidence.clone(), lineage, count }
    }

    /// A task and all from which it descends, the first one last.
    fn ancestors(&self, actor: u32) -> Vec<u32> {
        let next = |actor: &u32| self.recording.actors[*actor as usize].parent;
        std::iter::successors(Some(actor), next).collect()
    }

    fn lineage(&self, accesses: &[Place]) -> Option<Lineage> {
        let mut paths: Vec<Vec<u32>> = accesses
            .iter()
            .map(|place| {
                let mut path = self.ancestors(place.actor);
                path.reverse();
                path
            })
            .collect();
        let mut depth = 0;
        while let Some(actor) = paths[0].get(depth)
            && paths.iter().all(|path| path.get(depth) == Some(actor))
        {
            depth += 1;
        }
        let task = |actor: &u32| {
            let record = &self.recording.actors[*actor as usize];
            RawTask { actor: record.actor, spawned: record.spawned }
        };
        let common = task(paths[0].get(depth.checked_sub(1)?)?);
        let paths = paths.iter_mut().map(|path| path[depth..].iter().map(task).collect()).collect();
        Some(Lineage { common, paths })
    }

    fn witness(&self, claim: &Claim, mut schedule: Vec<Run>, proof: Proof) -> Witness {
        if let Goal::Both(a, b) = claim.goal {
            // Both can come next; a schedule must put one of them first.
            for place in [a, b] {
                schedule.push(Run { actor: place.actor, from: place.index, to: place.index + 1 });
            }
        }
        let involved: FxHashSet<u32> =
            claim.accesses.iter().flat_map(|place| self.ancestors(self.recording.task_of(*place))).collect();
        let accesses: FxHashSet<Place> = claim.accesses.iter().copied().collect();
        // Where values decide, so does the order of accesses that the finding is not about.
        let reordered = self.diagnosis.map(|_| reordered(self.recording, &schedule)).unwrap_or_default();
        let mut left = MOST_SHOWN;
        let mut segments: Vec<Segment> = Vec::with_capacity(schedule.len());
        // From the end, so that what is left out is the earliest.
        for run in schedule.iter().rev() {
            let record = &self.recording.actors[run.actor as usize];
            let mut shown = Vec::new();
            for index in (run.from..run.to).rev() {
                let step = record.operations[index as usize].step;
                let place = Place { actor: run.actor, index };
                let is_access = accesses.contains(&place);
                let is_construct = involved.contains(&self.recording.task_of(place))
                    && !matches!(
                        step.op,
                        Op::Access { .. } | Op::OtherPath { .. } | Op::Atomic { .. } | Op::Fence { .. }
                    );
                if is_access || (left > 0 && (is_construct || reordered.contains(&place))) {
                    left = left.saturating_sub(1);
                    shown.push(step);
                }
            }
            shown.reverse();
            let position = |index: u32| record.operations[index as usize].step.moment.position;
            segments.push(Segment {
                actor: record.actor,
                first: position(run.from),
                last: position(run.to - 1),
                operations: u64::from(run.to - run.from),
                shown,
            });
        }
        segments.reverse();
        Witness { as_observed_until: self.recording.before, segments, proof }
    }
}

/// True if the schedule may come from an SMT solver, which may have taken what is not known to be as it likes.
fn decision_is_outside(problem: &Problem, limits: Limits) -> bool {
    problem.decide(limits).0 == Decision::TooManyValues
}
