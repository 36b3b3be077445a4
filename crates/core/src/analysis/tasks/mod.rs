//! Analyses of tasks: what some schedule of the same operations shows, whatever order was observed.
//!
//! They differ from the [analyses of threads](super::Analysis) in what they need: not the order in which things happened
//! but the structure of the run. The driver ([`crate::replay::tasks`]) builds the series-parallel tree, keeps the locks of
//! each task and the order beside the tree, and hands a [`Present`] to the analysis with each access: who may run in
//! parallel with this step, which locks are held, and which locks were held since some earlier access. An analysis adds what
//! it remembers about memory, and nothing else.
//!
//! Threads are tasks here: a fork spawns, a join waits. So the same analyses work on programs with threads.
//!
//! What these analyses tell is *apparent*: they look at structure and locks. Whether a schedule really shows it is decided
//! afterwards by [`crate::witness`], for the memory that they [flag](Present::flag).

pub mod all_sets;
pub mod atomicity;
pub mod kept;
pub mod plain;
pub mod ptracer;
pub mod published_ptracer;
pub mod several;
pub mod spd3;

use crate::analysis::{Part, Statistic};
use crate::event::{AccessKind, Addr, GroupId, LockId, Op, RegionId, SiteId, StackId, ThreadId};
use crate::family::{Families, FamilyId, History};
use crate::finding::{
    Doubt, Evidence, FindingKey, Findings, Lineage, Moment, Race, RawFinding, RawStep, Rule, Verdict,
};
use crate::lockset::{LocksetId, Locksets};
use crate::sptree::verdicts::Verdicts;
use crate::sptree::{Relation, Relations, StepId};
use crate::tasks::{Actor, Known};
use std::cell::Cell;

/// All atomic operations exclude each other, as if they held this lock.
pub const ATOMIC: LockId = LockId::NONE;

/// One algorithm for tasks.
pub trait TaskAnalysis {
    /// True if [`TaskAnalysis::operation`] is to be called.
    const RECORDS: bool = false;

    /// True if [`TaskAnalysis::operation`] is to be called for plain accesses, branches and values too, before
    /// [`TaskAnalysis::access`]; and that for accesses that the other side of a branch would have done.
    fn records_all(&self) -> bool {
        false
    }

    /// True if only races are told. Then an access that is no atomic operation makes no new set of locks; and it adds nothing to one
    /// of the same step and the same kind under a part of its locks.
    const ONLY_RACES: bool = false;

    /// What is kept for each stretch of memory whose bytes were always accessed together.
    type Cell: Clone + Default;

    /// An access touches a cell. True if another access of the same kind would tell and change nothing, as long as the
    /// task neither changes its locks nor comes to another step or block, and the memory is not freed.
    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Self::Cell,
        part: Part,
        findings: &mut Findings,
    ) -> bool;

    /// Tells what [`TaskAnalysis::access`] would, and keeps nothing.
    fn compare<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &Self::Cell,
        part: Part,
        findings: &mut Findings,
    ) {
        self.access(now, &mut cell.clone(), part, findings);
    }

    /// A location is declared to belong to a group. By default nothing happens.
    fn group(&self, group: GroupId, addr: Addr, size: u32) {
        let _ = (group, addr, size);
    }

    /// Something other than a plain access was done and can have happened: a lock was taken or released (not: taken again
    /// by its holder), a task was spawned, started for the first time, ended or waited for, a scope or a block begins or
    /// ends, or something orders tasks beside the tree. An atomic operation is told here before it is told as an access.
    fn operation(&self, at: &RawStep, actor: Actor) {
        let _ = (at, actor);
    }

    /// A task construct has left the acting task as the only one: all that came before it, in any schedule, comes before
    /// all that follows.
    fn serial(&self, findings: &mut Findings) {
        let _ = findings;
    }

    /// The run is over.
    fn end_of_run(&self, findings: &mut Findings) {
        let _ = findings;
    }

    /// What a cell keeps of the last access of a step under locks, if that is kept and was a read.
    fn last_read(cell: &Self::Cell, step_instance: u32) -> Option<LastUse> {
        let _ = (cell, step_instance);
        None
    }

    /// Puts back what [`TaskAnalysis::last_read`] has given in the same step, or takes away what is kept: for a step that does under its locks
    /// what it has done there before, so that all else is known. False if that is not enough.
    fn set_last_read(cell: &mut Self::Cell, era: u32, step_instance: u32, read: Option<LastUse>) -> bool {
        let _ = (cell, era, step_instance, read);
        false
    }

    /// Shows all steps that a cell refers to, so that they can be replaced.
    fn visit_steps(cell: &mut Self::Cell, visit: &mut impl FnMut(&mut StepId));

    /// Forgets accesses by steps that come before all that is still to come, and what belongs to regions that are not open any more. By
    /// default they are kept, which costs no more than time and memory.
    fn forget_past(cell: &mut Self::Cell, is_past: &mut impl FnMut(StepId) -> bool, open: &dyn OpenRegions) {
        let _ = (cell, is_past, open);
    }

    /// Shows all steps that the analysis refers to beside those in cells. By default there are none.
    fn visit_own_steps(&self, visit: &mut impl FnMut(&mut StepId)) {
        let _ = visit;
    }

    /// Bytes that a cell occupies outside of itself, for figures.
    fn bytes_beside(cell: &Self::Cell) -> usize {
        let _ = cell;
        0
    }

    /// Figures about the work done, for `--stats`.
    fn statistics(&self) -> Vec<Statistic> {
        Vec::new()
    }
}

/// The acting task at the moment of an access.
#[derive(Debug)]
pub struct Present<'a, S: Relations> {
    /// The access.
    pub at: &'a RawStep,
    /// Who acts.
    pub actor: Actor,
    /// The access is an atomic operation.
    pub atomic: bool,
    /// It is shown a second time, with another cell, beside accesses that the run did not do: nothing is remembered elsewhere.
    pub beside: bool,
    /// The task's current step and how others stand to it.
    pub order: Order<'a, S>,
    /// The locks that the task holds.
    pub locks: LocksetId,
    /// The number of the step as a region: each step of each task has another one.
    pub step_instance: u32,
    /// The outermost annotated block within the step, if one is open.
    pub block: Option<Block>,
    /// The innermost calls that are open, if they are known.
    pub calls: Calls,
    /// The instruction, as a number, if the calls are known; else 0.
    pub code: u64,
    /// What was held before.
    pub history: &'a History,
    /// What the task knew beside the tree at earlier points of this step, each until a version of the history.
    pub known_before: &'a [(u32, Known)],
    /// Changes when a task is left as the only one: what was done in another era comes before everything that follows,
    /// in every schedule.
    pub era: u32,
    /// The steps and blocks that have not ended.
    pub open_regions: &'a dyn OpenRegions,
    /// Who did what, if that is known at once.
    pub descent: Option<&'a dyn Descent>,
    /// All locksets.
    pub locksets: &'a mut Locksets,
    /// All families of locksets.
    pub families: &'a mut Families,
    /// Memory about which there is something to tell.
    pub flagged: &'a mut Flagged,
}

/// Numbers of the innermost open calls of functions, the innermost first: each call has another one. 0: there is none, or it is
/// not known.
pub type Calls = [u32; 4];

/// The last access of a location under locks, by a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastUse {
    /// The number of the step as a region.
    pub step_instance: u32,
    /// The version of its history of locks.
    pub version: u32,
    /// Whether it was a read.
    pub kind: AccessKind,
    /// The locks.
    pub locks: LocksetId,
    /// Where.
    pub site: SiteId,
    /// The open calls.
    pub calls: Calls,
    /// The instruction of the write with which this hold of the locks has begun to use the location; 0 if it has begun with a read, or if
    /// instructions are not known.
    pub begun: u64,
}

/// Who did what.
pub trait Descent: std::fmt::Debug {
    /// How the tasks of some steps descend from each other.
    fn lineage(&self, steps: &[StepId]) -> Option<Lineage>;
}

/// Which regions have begun and not ended.
pub trait OpenRegions: std::fmt::Debug {
    /// True if a region has begun and not ended; also if that is not known.
    fn is_open(&self, number: u32) -> bool;
}

/// An outermost annotated block within a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Each block of each step has another number.
    pub instance: u32,
    /// Its label.
    pub region: RegionId,
}

impl<S: Relations> Present<'_, S> {
    /// The locks that keep other accesses from being at the same time: those held, and that of all atomic operations.
    #[inline]
    pub fn race_locks(&mut self) -> LocksetId {
        if self.atomic {
            self.locksets.add(self.locks, ATOMIC, crate::event::LockMode::Exclusive)
        } else {
            self.locks
        }
    }

    /// The smallest locksets that the task held since a version of its history.
    #[inline]
    pub fn family_since(&mut self, version: u32) -> FamilyId {
        self.history.family_since(version, self.families, self.locksets)
    }

    /// True if some of the given locks was released since a version of the task's history. Modes do not matter.
    pub fn released_since(&mut self, version: u32, locks: LocksetId) -> bool {
        let family = self.family_since(version);
        self.families.some_member(family, |member| {
            let member = self.locksets.for_reads(member);
            !self.locksets.is_subset(locks, member)
        })
    }

    /// True if an access with the given locks fits in at some point of a family.
    #[inline]
    pub fn fits(&mut self, family: FamilyId, locks: LocksetId) -> bool {
        self.families.fits(self.locksets, family, locks)
    }

    /// How others stand to this step as it was at a version of the history: what is between that point and now, by order
    /// beside the tree, is parallel then and not now.
    #[inline]
    pub fn order_at(&mut self, version: u32) -> Order<'_, S> {
        let known = match self.known_before {
            [] => self.order.known,
            before => {
                let then = before.iter().find(|(until, _)| *until > version);
                then.map_or(self.order.known, |(_, known)| known)
            }
        };
        Order {
            step: self.order.step,
            structure: self.order.structure,
            known,
            questions: self.order.questions,
        }
    }

    /// This access as an entry to remember.
    #[inline]
    pub fn entry(&self) -> kept::Entry {
        kept::Entry { step: self.order.step, site: self.at.moment.site }
    }

    /// Remembers that there is something to tell about this memory.
    #[cold]
    pub fn flag(&mut self, part: Part, rule: Rule) {
        self.flagged.add(part.addr, part.size, rule);
    }

    /// Tells a race between this access and a remembered one.
    #[cold]
    pub fn race(&mut self, part: Part, past: kept::Entry, kind: AccessKind, findings: &mut Findings) {
        self.flag(part, Rule::DataRace);
        let earlier = remembered(past.site, kind, part);
        let steps = vec![earlier, *self.at];
        self.suspect(
            Rule::DataRace,
            steps,
            &[past.step, self.order.step],
            Evidence::Race(Race { addr: part.addr, size: part.size }),
            findings,
        );
    }

    /// Tells a finding that has not been examined yet. `by` has for each operation the step that did it.
    pub fn suspect(
        &self,
        rule: Rule,
        steps: Vec<RawStep>,
        by: &[StepId],
        evidence: Evidence,
        findings: &mut Findings,
    ) {
        let mut sites: Vec<SiteId> = steps.iter().map(|step| step.moment.site).collect();
        if rule == Rule::DataRace {
            sites.sort_unstable();
        }
        let key = FindingKey::new(rule, Vec::new(), sites, self.at.op);
        findings.add(key, self.at.moment, || RawFinding {
            rule,
            verdict: Verdict::Suspected(Doubt::NotExamined),
            steps,
            evidence,
            lineage: self.descent.and_then(|descent| descent.lineage(by)),
            count: 1,
        });
    }
}

/// An access that is remembered only by its place.
pub(crate) fn remembered(site: SiteId, kind: AccessKind, part: Part) -> RawStep {
    let moment = Moment { position: 0, thread: ThreadId::NONE, site, stack: StackId::NONE };
    RawStep { moment, op: Op::Access { kind, size: part.size, addr: part.addr } }
}

/// How other steps stand to the current one.
#[derive(Debug)]
pub struct Order<'a, S: Relations> {
    /// The current step.
    pub step: StepId,
    pub(crate) structure: &'a S,
    pub(crate) known: &'a Known,
    pub(crate) questions: &'a mut Questions,
}

/// What is asked about the structure, and how it is answered.
#[derive(Debug, Default)]
pub struct Questions {
    /// All accesses that are not ordered must be kept, because there is order beside the tree.
    pub keep_all: bool,
    /// Something was dropped that would have to be kept if there were order beside the tree.
    pub dropped: Cell<bool>,
    /// Answers to remember, if wanted.
    pub verdicts: Option<Verdicts>,
    /// How many questions there were.
    pub asked: u64,
    /// The different questions, if they are to be counted.
    pub different: Option<rustc_hash::FxHashSet<(StepId, StepId)>>,
}

impl<'a, S: Relations> Order<'a, S> {
    /// How others stand to a step of a task that knows something beside the tree.
    pub fn new(step: StepId, structure: &'a S, known: &'a Known, questions: &'a mut Questions) -> Self {
        Self { step, structure, known, questions }
    }

    /// How a past step stands to the current one.
    #[inline]
    pub fn relation(&mut self, past: StepId) -> Relation {
        if past == self.step {
            return Relation::Before;
        }
        self.questions.asked += 1;
        if let Some(different) = &mut self.questions.different {
            different.insert((past, self.step));
        }
        let relation = match &mut self.questions.verdicts {
            Some(verdicts) => verdicts.relation(self.structure, past, self.step),
            None => self.structure.relation(past, self.step),
        };
        if relation.is_parallel() && !self.known.is_empty() && self.known.covers(self.structure, past) {
            return Relation::Before;
        }
        relation
    }

    /// True if some schedule has a past step and the current one at the same time.
    #[inline]
    pub fn is_parallel(&mut self, past: StepId) -> bool {
        past != self.step && self.relation(past).is_parallel()
    }

    /// True if accesses must be kept that the tree alone would not need.
    #[inline]
    pub fn keep_all(&self) -> bool {
        self.questions.keep_all
    }

    /// Something was dropped that would be needed if there were order beside the tree.
    #[inline]
    pub fn note_dropped(&self) {
        self.questions.dropped.set(true);
    }
}

/// Memory about which there is something to tell, to be examined more closely.
#[derive(Clone, Debug, Default)]
pub struct Flagged {
    ranges: Vec<(Addr, u32, Rule)>,
    dropped: u64,
}

impl Flagged {
    /// How many stretches of memory are remembered.
    pub const MOST: usize = 1 << 20;

    /// Adds a stretch of memory.
    pub fn add(&mut self, addr: Addr, size: u32, rule: Rule) {
        if self.ranges.len() < Self::MOST {
            self.ranges.push((addr, size, rule));
        } else {
            self.dropped += 1;
        }
    }

    /// The stretches of memory, with what is to be told about each.
    pub fn ranges(&self) -> &[(Addr, u32, Rule)] {
        &self.ranges
    }

    /// How many were not remembered.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds what another pass has flagged.
    pub fn append(&mut self, mut other: Flagged) {
        self.ranges.append(&mut other.ranges);
        self.dropped += other.dropped;
    }
}
