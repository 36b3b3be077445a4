//! The truth about a program: what some schedule of it shows, by looking at all schedules.
//!
//! Every schedule counts that respects the order within a task, spawns, waits, scopes, futures, dependences, tokens and
//! the exclusion of locks. That it may run into a deadlock later does not matter: what it has shown, it has shown.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

use super::calls::OpenCalls;
use super::explore::{Locks, State, States, byte};
use super::program::{Access, Held, MAX_TASKS, OpId, Program, Regions};
use keirin_core::event::AccessKind;
use std::collections::BTreeSet;

/// A location and two accesses of it by different tasks, the smaller one first.
pub(crate) type Race = (u8, OpId, OpId);
/// A location, two accesses of one region in their order, and, in the middle, the access that comes between them.
pub(crate) type Violation = (u8, OpId, OpId, OpId);

/// Two regions that cannot be put one after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct GroupViolation {
    /// An access of the first region,
    pub(crate) a1: OpId,
    /// and a later one.
    pub(crate) a3: OpId,
    /// The access of the second region that conflicts with `a1` and comes after it.
    pub(crate) b1: OpId,
    /// The access of the second region that conflicts with `a3` and comes before it; may be `b1`.
    pub(crate) b2: OpId,
}

/// The oracle for one program: its states are found once, then all questions can be asked.
pub(crate) struct Oracle<'p> {
    program: &'p Program,
    states: States,
    between: Between,
}

impl<'p> Oracle<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let states = States::new(program, Locks::Respected);
        let between = Between::new(program, &states);
        Self { program, states, between }
    }

    /// How many states the program can reach.
    pub(crate) fn states(&self) -> usize {
        self.states.all.len()
    }

    /// True if some schedule cannot bring the program to its end.
    pub(crate) fn can_get_stuck(&self) -> bool {
        self.states.all.iter().any(|state| {
            let stands = state.after.iter().all(|after| *after == State::NONE);
            let tasks = 0..self.program.tasks.len();
            stands && tasks.into_iter().any(|task| byte(state.positions, task) < self.states.length(task))
        })
    }

    /// The pairs of conflicting accesses, not both atomic, that are the next operations of their tasks at the same time
    /// in a state that can be reached.
    pub(crate) fn races(&self) -> BTreeSet<Race> {
        let mut races = BTreeSet::new();
        let mut next = Vec::with_capacity(MAX_TASKS);
        for state in &self.states.all {
            next.clear();
            next.extend(
                (0..self.program.tasks.len()).filter_map(|task| self.states.next_access(state, task)),
            );
            for (index, first) in next.iter().enumerate() {
                for second in &next[index + 1..] {
                    races.extend(race(self.program, *first, *second));
                }
            }
        }
        races
    }

    /// The unserializable triples that some execution shows. The regions are those of the first and the third access;
    /// the one between them may be any access of another task.
    pub(crate) fn violations(&self, regions: Regions) -> BTreeSet<Violation> {
        let mut violations = BTreeSet::new();
        for_each_triple(self.program, regions, |location, a1, a2, a3| {
            if self.between.holds(&self.states, a1, a2, a3) {
                violations.insert((location, a1, a2, a3));
            }
        });
        violations
    }

    /// The pairs of regions that violate a group of locations, with the accesses that show it. Members of a group are
    /// marked, so what is inside of blocks only is [`Regions::Marked`], which has a region for every access.
    pub(crate) fn group_violations(
        &self,
        group: &BTreeSet<u8>,
        regions: Regions,
    ) -> BTreeSet<GroupViolation> {
        assert!(regions != Regions::Blocks, "members of a group have a region outside of blocks too");
        let mut violations = BTreeSet::new();
        let accesses: Vec<_> =
            self.program.accesses().filter(|(_, access)| group.contains(&access.location)).collect();
        let of_tasks: Vec<_> =
            (0..self.program.tasks.len()).map(|task| self.program.regions(task, regions)).collect();
        let region = |id: OpId| of_tasks[id.task()][id.index()];
        for_each_pair(self.program, regions, |a1, a3| {
            let (first, third) = (self.access(a1), self.access(a3));
            if !group.contains(&first.location) || !group.contains(&third.location) {
                return;
            }
            for (b1, after_first) in &accesses {
                if b1.task == a1.task || !after_first.conflicts(first) {
                    continue;
                }
                for (b2, before_third) in &accesses {
                    if b2.task == b1.task
                        && region(*b1) == region(*b2)
                        && before_third.conflicts(third)
                        && self.tears(a1, a3, *b1, *b2)
                    {
                        violations.insert(GroupViolation { a1, a3, b1: *b1, b2: *b2 });
                    }
                }
            }
        });
        violations
    }

    /// True if some execution has `a1` before `b1` and `b2` before `a3`.
    fn tears(&self, a1: OpId, a3: OpId, b1: OpId, b2: OpId) -> bool {
        let between = |first, second, third| self.between.holds(&self.states, first, second, third);
        if b2 <= b1 {
            // Either `b1` comes before `a3`, and then so does `b2`; or it comes after, and then after `a1` too.
            between(a1, b1, a3) || (b2 < b1 && between(b2, a3, b1))
        } else {
            between(a1, b1, a3) && between(a1, b2, a3) && self.states.has_execution(&[(a1, b1), (b2, a3)])
        }
    }

    fn access(&self, id: OpId) -> Access {
        self.program.op(id).access().expect("only accesses are asked for")
    }
}

/// What seems possible in one program to those who know of locks only which ones each task holds itself: all schedules
/// count that the program has without its locks.
pub(crate) struct Apparent<'p> {
    program: &'p Program,
    states: States,
    between: Between,
    /// The locks that each task holds before each of its operations.
    held: Vec<Vec<Held>>,
}

impl<'p> Apparent<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let states = States::new(program, Locks::Ignored);
        let between = Between::new(program, &states);
        let held = (0..program.tasks.len()).map(|task| program.held(task)).collect();
        Self { program, states, between, held }
    }

    fn held(&self, id: OpId) -> Held {
        self.held[id.task()][id.index()]
    }

    /// Conflicting accesses, not both atomic, whose tasks hold no locks at them that exclude each other, and that occur in
    /// both orders.
    pub(crate) fn races(&self) -> BTreeSet<Race> {
        let accesses: Vec<OpId> = self.program.accesses().map(|(id, _)| id).collect();
        let ordered = |first, second| self.between.ordered(&self.states, first, second);
        let mut races = BTreeSet::new();
        for (index, first) in accesses.iter().enumerate() {
            for second in &accesses[index + 1..] {
                if let Some(race) = race(self.program, *first, *second)
                    && !self.held(*first).excludes(self.held(*second))
                    && ordered(*first, *second)
                    && ordered(*second, *first)
                {
                    races.insert(race);
                }
            }
        }
        races
    }

    /// Unserializable triples whose second access can be done at a point between the two others where the locks that the
    /// region holds do not exclude those held at the access.
    pub(crate) fn violations(&self, regions: Regions) -> BTreeSet<Violation> {
        let mut violations = BTreeSet::new();
        for_each_triple(self.program, regions, |location, a1, a2, a3| {
            let last = self.states.position(a3);
            let fits = (a1.index() + 1..=a3.index()).map(|index| OpId::new(a1.task(), index)).any(|pause| {
                let reach = self.between.furthest(a2, a1.task(), self.states.position(pause));
                reach > last && !self.held(pause).excludes(self.held(a2))
            });
            if fits {
                violations.insert((location, a1, a2, a3));
            }
        });
        violations
    }

    /// Gaps: a step reads a location under locks and writes it later under one of them, which it did not hold all the time; it
    /// has neither read nor written the location under locks in between, one call that is not far out holds both, and a write of
    /// another task fits in between. The hold of the read has not begun with the very write.
    pub(crate) fn gaps(&self, calls: &OpenCalls) -> BTreeSet<Violation> {
        let access = |id: OpId| self.program.op(id).access();
        let is = |id: OpId, kind: AccessKind, location: u8| {
            access(id)
                .is_some_and(|access| access.kind == kind && !access.atomic && access.location == location)
                && self.held(id).any() != 0
        };
        let mut gaps = self.violations(Regions::Steps);
        gaps.retain(|(location, a1, a2, a3)| {
            let between = || (a1.index() + 1..a3.index()).map(|index| OpId::new(a1.task(), index));
            let again = between()
                .any(|id| is(id, AccessKind::Read, *location) || is(id, AccessKind::Write, *location));
            let common = self.held(*a1).any() & self.held(*a3).any();
            let released = between().any(|id| common & !self.held(id).any() != 0);
            is(*a1, AccessKind::Read, *location)
                && is(*a3, AccessKind::Write, *location)
                && access(*a2).is_some_and(Access::writes)
                && !again
                && common != 0
                && released
                && calls.are_near(*a1, *a3)
                && !self.repeats(calls, *a1, *a3)
        });
        gaps
    }

    /// True if the first access of its location in the hold that a read is in was a write by the same instruction as another one.
    fn repeats(&self, calls: &OpenCalls, read: OpId, write: OpId) -> bool {
        let access = |id: OpId| self.program.op(id).access().filter(|access| !access.atomic);
        let Some(location) = access(read).map(|access| access.location) else { return false };
        let steps = self.program.regions(read.task(), Regions::Steps);
        let mut first = read;
        loop {
            let before = (0..first.index()).rev().map(|index| OpId::new(read.task(), index)).find(|id| {
                access(*id).is_some_and(|access| access.location == location) && self.held(*id).any() != 0
            });
            let Some(before) = before.filter(|id| steps[id.index()] == steps[read.index()]) else { break };
            let common = self.held(before).any() & self.held(first).any();
            let mut between = (before.index() + 1..first.index()).map(|index| OpId::new(read.task(), index));
            if common == 0 || between.any(|id| common & !self.held(id).any() != 0) {
                break;
            }
            first = before;
        }
        let begins_with_write = access(first).is_some_and(|access| access.kind == AccessKind::Write);
        begins_with_write && calls.code(first) != 0 && calls.code(first) == calls.code(write)
    }
}

/// The race that two accesses of different tasks are, if they conflict.
fn race(program: &Program, one: OpId, other: OpId) -> Option<Race> {
    let (first, second) = (program.op(one).access()?, program.op(other).access()?);
    let both_atomic = first.atomic && second.atomic;
    (one.task != other.task && first.conflicts(second) && !both_atomic).then_some((
        first.location,
        one.min(other),
        one.max(other),
    ))
}

/// Calls back for each two accesses of one region instance, in their order. They need not be of the same location.
fn for_each_pair(program: &Program, regions: Regions, mut call: impl FnMut(OpId, OpId)) {
    for task in 0..program.tasks.len() {
        let of_task = program.regions(task, regions);
        for first in 0..of_task.len() {
            for second in first + 1..of_task.len() {
                if of_task[first].is_some() && of_task[first] == of_task[second] {
                    call(OpId::new(task, first), OpId::new(task, second));
                }
            }
        }
    }
}

/// Calls back for each unserializable triple of accesses, possible or not: its location, the first, the second and the
/// third access.
fn for_each_triple(program: &Program, regions: Regions, mut call: impl FnMut(u8, OpId, OpId, OpId)) {
    let accesses: Vec<(OpId, Access)> = program.accesses().collect();
    for_each_pair(program, regions, |a1, a3| {
        let access = |id: OpId| program.op(id).access().expect("regions are made of accesses");
        let (first, third) = (access(a1), access(a3));
        for (a2, second) in &accesses {
            if a2.task != a1.task && second.conflicts(first) && second.conflicts(third) {
                call(first.location, a1, *a2, a3);
            }
        }
    });
}

/// For each access, each other task and each position of that task: how far the task can come after the access was done
/// while the task stood at the position. Zero if that cannot be.
struct Between {
    furthest: Vec<u8>,
    /// Where the entries of each operation begin.
    start: Vec<Vec<usize>>,
    /// Where, among the entries of an operation, those of a task begin.
    offset: Vec<usize>,
}

impl Between {
    fn new(program: &Program, states: &States) -> Self {
        let (mut offset, mut width) = (Vec::new(), 0);
        for task in 0..program.tasks.len() {
            offset.push(width);
            width += states.length(task) + 1;
        }
        let (mut start, mut total) = (Vec::new(), 0);
        for ops in &program.tasks {
            start.push((0..ops.len()).map(|index| total + index * width).collect::<Vec<_>>());
            total += ops.len() * width;
        }
        let mut between = Between { furthest: vec![0; total], start, offset };
        for state in &states.all {
            for task in 0..program.tasks.len() {
                let Some(access) = states.next_access(state, task) else { continue };
                let after: &State = &states.all[state.after[task] as usize];
                for other in (0..program.tasks.len()).filter(|other| *other != task) {
                    let entry = between.entry(access, other, byte(state.positions, other));
                    let reach = byte(after.furthest, other) as u8;
                    between.furthest[entry] = between.furthest[entry].max(reach);
                }
            }
        }
        between
    }

    fn entry(&self, access: OpId, task: usize, position: usize) -> usize {
        self.start[access.task()][access.index()] + self.offset[task] + position
    }

    fn furthest(&self, access: OpId, task: usize, position: usize) -> usize {
        usize::from(self.furthest[self.entry(access, task, position)])
    }

    /// True if some execution does the second access after the first and before the third one. The first and the third
    /// are of one task, the second is of another.
    fn holds(&self, states: &States, first: OpId, second: OpId, third: OpId) -> bool {
        let last = states.position(third);
        let mut pauses = states.position(first) + 1..=last;
        pauses.any(|position| self.furthest(second, first.task(), position) > last)
    }

    /// True if some execution does both accesses, of different tasks, in this order.
    fn ordered(&self, states: &States, first: OpId, second: OpId) -> bool {
        let last = states.position(second);
        (0..=last).any(|position| self.furthest(first, second.task(), position) > last)
    }
}

/// The feasible races of a program: see [`Oracle::races`].
pub(crate) fn races(program: &Program) -> BTreeSet<Race> {
    Oracle::new(program).races()
}

/// The apparent races of a program: see [`Apparent::races`].
pub(crate) fn apparent_races(program: &Program) -> BTreeSet<Race> {
    Apparent::new(program).races()
}

/// The apparent atomicity violations of a program: see [`Apparent::violations`].
pub(crate) fn apparent_violations(program: &Program, regions: Regions) -> BTreeSet<Violation> {
    Apparent::new(program).violations(regions)
}

/// The feasible atomicity violations of a program: see [`Oracle::violations`].
pub(crate) fn violations(program: &Program, regions: Regions) -> BTreeSet<Violation> {
    Oracle::new(program).violations(regions)
}

/// The feasible violations of a group of locations: see [`Oracle::group_violations`].
pub(crate) fn group_violations(
    program: &Program,
    group: &BTreeSet<u8>,
    regions: Regions,
) -> BTreeSet<GroupViolation> {
    Oracle::new(program).group_violations(group, regions)
}

/// The locations that have a race.
pub(crate) fn racy_locations(races: &BTreeSet<Race>) -> BTreeSet<u8> {
    races.iter().map(|race| race.0).collect()
}

/// The locations that have an atomicity violation.
pub(crate) fn torn_locations(violations: &BTreeSet<Violation>) -> BTreeSet<u8> {
    violations.iter().map(|violation| violation.0).collect()
}
