//! The published atomicity checker for tasks, as printed, for comparison.
//!
//! **Paper.** Yoga, Nagarakatte: Atomicity violation checker for task parallel programs (CGO 2016), figures 6 to 9 and
//! section 3.3.
//!
//! | remembered | what |
//! |---|---|
//! | for a location | R1, R2, W1, W2 (steps), and one pair of accesses each: RR, RW, WR, WW |
//! | for a location and a task | its first read and its first write, with the locks held |
//!
//! A pair is entered only if no lock was held from its first to its second access (the paper gives a lock another name each
//! time it is taken again), and only if the pair that is there is not parallel to the current step.
//!
//! **Known slips, kept on purpose**: figure 9 enters the first read where WW needs the first write; it does not update the
//! task's first accesses, does not check the current access as the middle one, and checks a pair only when it enters it;
//! the task's first accesses are not those of the step (section 3.2), so pairs span two steps. So it misses violations and
//! tells false ones: `docs/analyses/tasks.md` has the figures. The locks of the middle access are not looked at, as in the
//! paper.
//!
//! **Cost.** 12 entries for each location, two for each task that touched it.
//!
//! **State.** Only cells, each handed in exclusively.

use super::super::{Order, Present, TaskAnalysis, remembered};
use crate::analysis::Part;
use crate::event::{AccessKind, SiteId};
use crate::finding::{Evidence, Findings, Rule, Torn, Whole};
use crate::lockset::LocksetId;
use crate::sptree::{Relations, StepId};
use crate::tasks::Actor;

/// The published checker. Every step is a region, for all locations.
#[derive(Debug, Default)]
pub struct Published;

#[derive(Clone, Copy, Debug)]
struct History {
    step: StepId,
    kind: AccessKind,
    site: SiteId,
}

/// A first access of a task, with what is needed to tell whether a lock was held since.
#[derive(Clone, Copy, Debug)]
struct First {
    history: History,
    locks: LocksetId,
    version: u32,
    step_instance: u32,
}

#[derive(Clone, Copy, Debug)]
struct Local {
    task: Actor,
    read: Option<First>,
    write: Option<First>,
}

/// Two accesses of one task. As printed, the first one of WW may be missing.
type Pair = Option<(Option<History>, History)>;

/// What is remembered about a location.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    reads: [Option<History>; 2],
    writes: [Option<History>; 2],
    read_read: Pair,
    read_write: Pair,
    write_read: Pair,
    write_write: Pair,
    locals: Vec<Local>,
    told: bool,
}

impl super::super::plain::KeepsPlain for Published {}

impl TaskAnalysis for Published {
    type Cell = Cell;

    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Cell,
        part: Part,
        findings: &mut Findings,
    ) -> bool {
        if cell.told {
            return true;
        }
        let current = History { step: now.order.step, kind: part.kind, site: now.at.moment.site };
        let task = now.actor;
        let torn = match cell.locals.iter().position(|local| local.task == task) {
            None => {
                let first = First {
                    history: current,
                    locks: now.locks,
                    version: now.history.version(),
                    step_instance: now.step_instance,
                };
                let is_read = part.kind == AccessKind::Read;
                let read = is_read.then_some(first);
                let write = (!is_read).then_some(first);
                cell.locals.push(Local { task, read, write });
                cell.first_access_of_task(&mut now.order, current)
            }
            Some(index) => {
                let local = cell.locals[index];
                let read = local.read.filter(|first| may_be_torn(now, first));
                let write = local.write.filter(|first| may_be_torn(now, first));
                cell.further_access(&mut now.order, current, read, write)
            }
        };
        if let Some(steps) = torn {
            cell.told = true;
            tell(now, part, steps, findings);
        }
        false
    }

    fn visit_steps(cell: &mut Cell, visit: &mut impl FnMut(&mut StepId)) {
        let pairs = [&mut cell.read_read, &mut cell.read_write, &mut cell.write_read, &mut cell.write_write];
        for (first, second) in pairs.into_iter().flatten() {
            first.iter_mut().for_each(|history| visit(&mut history.step));
            visit(&mut second.step);
        }
        for history in cell.reads.iter_mut().chain(&mut cell.writes).flatten() {
            visit(&mut history.step);
        }
        for local in &mut cell.locals {
            for first in [&mut local.read, &mut local.write].into_iter().flatten() {
                visit(&mut first.history.step);
            }
        }
    }

    fn bytes_beside(cell: &Cell) -> usize {
        cell.locals.capacity() * size_of::<Local>()
    }
}

/// True if no lock was held from a first access to now. Names of locks are unique within a step only.
fn may_be_torn<S: Relations>(now: &mut Present<'_, S>, first: &First) -> bool {
    let common = now.locksets.intersection(first.locks, now.locks);
    if common.is_empty() {
        return true;
    }
    if first.step_instance != now.step_instance {
        return false;
    }
    let mut still_held = common;
    let family = now.family_since(first.version);
    let (families, locksets) = (&mut *now.families, &mut *now.locksets);
    families.some_member(family, |member| {
        still_held = locksets.intersection(still_held, member);
        false
    });
    still_held.is_empty()
}

fn is_parallel<S: Relations>(order: &mut Order<'_, S>, history: Option<History>) -> bool {
    history.is_some_and(|history| order.is_parallel(history.step))
}

fn pair_is_parallel<S: Relations>(order: &mut Order<'_, S>, pair: &Pair) -> bool {
    is_parallel(order, pair.as_ref().map(|(_, second)| *second))
}

/// The three accesses of a violation.
type Triple = [History; 3];

/// The paper's Check: a pair and a single access of a parallel step that form an unserializable triple. One of the two is
/// by the current step.
fn check<S: Relations>(order: &mut Order<'_, S>, pair: &Pair, single: Option<History>) -> Option<Triple> {
    let (Some((Some(first), second)), Some(single)) = (pair, single) else { return None };
    let other = if second.step == order.step { single.step } else { second.step };
    let conflicts = |one: &History| one.kind == AccessKind::Write || single.kind == AccessKind::Write;
    (conflicts(first) && conflicts(second) && order.is_parallel(other)).then_some([*first, single, *second])
}

impl Cell {
    /// Figures 7 and 8.
    fn first_access_of_task<S: Relations>(
        &mut self,
        order: &mut Order<'_, S>,
        current: History,
    ) -> Option<Triple> {
        let torn = match current.kind {
            AccessKind::Read => check(order, &self.write_write, Some(current)),
            AccessKind::Write => [&self.write_write, &self.read_write, &self.read_read, &self.write_read]
                .into_iter()
                .find_map(|pair| check(order, pair, Some(current))),
        };
        let singles = match current.kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        };
        if !is_parallel(order, singles[0]) {
            singles[0] = Some(current);
        } else if !is_parallel(order, singles[1]) {
            singles[1] = Some(current);
        }
        torn
    }

    /// Figure 9. `read` and `write` are the task's first accesses, if no lock was held since.
    fn further_access<S: Relations>(
        &mut self,
        order: &mut Order<'_, S>,
        current: History,
        read: Option<First>,
        write: Option<First>,
    ) -> Option<Triple> {
        let mut torn = None;
        let histories = (read.map(|first| first.history), write.map(|first| first.history));
        match current.kind {
            AccessKind::Read => {
                if read.is_some() && !pair_is_parallel(order, &self.read_read) {
                    self.read_read = Some((histories.0, current));
                    torn = torn.or(self.check_writes(order, self.read_read));
                }
                if write.is_some() && !pair_is_parallel(order, &self.write_read) {
                    self.write_read = Some((histories.1, current));
                    torn = torn.or(self.check_writes(order, self.write_read));
                }
            }
            AccessKind::Write => {
                if read.is_some() && !pair_is_parallel(order, &self.read_write) {
                    self.read_write = Some((histories.0, current));
                    torn = torn.or(self.check_writes(order, self.read_write));
                }
                if write.is_some() && !pair_is_parallel(order, &self.write_write) {
                    // As printed: the first read, not the first write.
                    self.write_write = Some((histories.0, current));
                    torn = torn.or(self.check_writes(order, self.write_write));
                    let reads = self.reads;
                    torn = torn.or(reads.into_iter().find_map(|read| check(order, &self.write_write, read)));
                }
            }
        }
        let singles = match current.kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        };
        if let Some(free) = singles.iter_mut().find(|single| !is_parallel(order, **single)) {
            *free = Some(current);
        }
        torn
    }

    fn check_writes<S: Relations>(&self, order: &mut Order<'_, S>, pair: Pair) -> Option<Triple> {
        self.writes.into_iter().find_map(|write| check(order, &pair, write))
    }
}

#[cold]
fn tell<S: Relations>(now: &mut Present<'_, S>, part: Part, triple: Triple, findings: &mut Findings) {
    now.flag(part, Rule::AtomicityViolation);
    let steps = triple.map(|history| remembered(history.site, history.kind, part)).to_vec();
    let torn = Torn { addr: part.addr, size: part.size, whole: Whole::Step, group: None, inside: vec![0, 2] };
    let by = triple.map(|history| history.step);
    now.suspect(Rule::AtomicityViolation, steps, &by, Evidence::Torn(torn), findings);
}
