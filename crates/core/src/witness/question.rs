//! Makes a [question](crate::diagnose::Problem) of a goal.
//!
//! **What takes part.** What the goal needs, by program order and by what must have happened before; of each task that holds
//! locks where its part ends, what follows until it holds none; if values matter, the writes that a read may get its value from;
//! and, again, all that this needs. What the goal does not need may happen or not: it comes before the end of the schedule or
//! after it. Whatever else a schedule does can be left out of it.
//!
//! **Events.** Only what orders, locks, reads or writes something that matters becomes an event; the operations before it
//! happen with it.
//!
//! **Values.** See [`Care`]. That a value is told without a formula means that it does not depend on what was read. Accesses
//! are taken to be of the same memory whatever was read.

mod hidden;
mod values;

use super::recording::{Effect, NONE, Operation, Place, Recording, Told, touched};
use super::search::{Goal, Run};
use super::window::Initial;
use crate::diagnose::Formula;
use crate::diagnose::problem::{Problem, Section};
use crate::diagnose::solver::Literal;
use crate::event::{FormulaId, LockMode, Op};
use hidden::Hold;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// How much of what tasks have read must be as it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Care {
    /// Nothing: the same operations in another order.
    Operations,
    /// As much as makes all branches go the way they went, but for those that lead to possible accesses of the goal, which go the
    /// other way.
    Branches,
    /// All of it.
    Values,
}

/// The formulas of a trace, by id. One that could not be read is none.
pub(super) type Formulas = Vec<Option<Rc<Formula>>>;

/// A part of memory that is looked up at once.
const STRETCH: u64 = 8;

/// So many writes that come before a read are looked at for what they overwrite.
const FEW_WRITES: usize = 64;

/// Of so many operations it is worked out what must come before them.
const MOST_NEEDS: usize = 4096;

/// Which operations write to which memory.
#[derive(Debug, Default)]
pub(super) struct Writes {
    /// By stretches of memory.
    to: FxHashMap<u64, Vec<Place>>,
    /// For each task how many of its operations come before all that it reads of what others may have written otherwise. Up to there
    /// it does the same in every schedule.
    settled: Vec<u32>,
    /// What writes whose values were not told have left, as the next read found it.
    seen: FxHashMap<Place, u64>,
    /// What memory held at first, where it is read.
    initial: FxHashMap<(u64, u64), u64>,
}

impl Writes {
    pub(super) fn new(recording: &Recording, initial: Option<&Initial>) -> Self {
        let mut writes = Self::default();
        for (actor, record) in (0..).zip(&recording.actors) {
            for (index, operation) in (0..).zip(&record.operations) {
                if let Some(does) = touched(operation).filter(|does| does.writes) {
                    for stretch in does.bytes.0 / STRETCH..does.bytes.1.div_ceil(STRETCH) {
                        writes.to.entry(stretch).or_default().push(Place { actor, index });
                    }
                }
            }
        }
        writes.settle(recording);
        writes.look_at_reads(recording, initial);
        writes
    }

    /// Finds out what reads tell about writes before them, and what there is to know about memory that was not written.
    fn look_at_reads(&mut self, recording: &Recording, initial: Option<&Initial>) {
        let mut all: Vec<(u64, Place)> = Vec::new();
        for (actor, record) in (0..).zip(&recording.actors).filter(|(_, record)| record.side_of.is_none()) {
            let places = (0..).zip(&record.operations).filter(|(_, operation)| touched(operation).is_some());
            all.extend(
                places.map(|(index, operation)| (operation.step.moment.position, Place { actor, index })),
            );
        }
        all.sort_unstable();
        let mut last: FxHashMap<u64, Place> = FxHashMap::default();
        for (_, place) in all {
            let operation = recording.operation(place);
            let Some(does) = touched(operation) else { continue };
            if does.reads && does.bytes.1 - does.bytes.0 <= STRETCH {
                let bits = recording.told(operation).and_then(|told| told.bits);
                let before = last.get(&(does.bytes.0 / STRETCH)).copied();
                let whole = |write: &Place| {
                    touched(recording.operation(*write))
                        .is_some_and(|did| did.bytes == does.bytes && !did.reads)
                };
                if let (Some(bits), Some(write)) = (bits, before.filter(whole)) {
                    self.seen.entry(write).or_insert(bits);
                }
                if let (Some(initial), Op::Access { addr, size, .. } | Op::OtherPath { addr, size, .. }) =
                    (initial.filter(|_| operation.is_of_first_life()), operation.step.op)
                    && let Some(bits) = initial(addr.0, size)
                {
                    self.initial.insert(does.bytes, bits);
                }
            }
            if does.writes {
                let stretches = does.bytes.0 / STRETCH..does.bytes.1.div_ceil(STRETCH);
                stretches.for_each(|stretch| _ = last.insert(stretch, place));
            }
        }
    }

    /// Finds out how far each task does the same in every schedule. Parents come before their children.
    fn settle(&mut self, recording: &Recording) {
        // What the first task does before it spawns another one comes before all others.
        let is_spawn =
            |operation: &Operation| matches!(operation.step.op, Op::Spawn { .. } | Op::Fork { .. });
        let alone = recording.actors.first().map_or(0, |first| {
            first.operations.iter().position(is_spawn).unwrap_or(first.operations.len()) as u32
        });
        let mut settled: Vec<u32> = Vec::with_capacity(recording.actors.len());
        for (actor, record) in (0u32..).zip(&recording.actors) {
            let task = record.side_of.map_or(actor, |(task, _)| task);
            let start = match (record.side_of, record.spawned_at) {
                (Some((task, before)), _) => {
                    settled.get(task as usize).is_some_and(|settled| before <= *settled)
                }
                (None, Some(at)) => settled.get(at.actor as usize).is_some_and(|settled| at.index < *settled),
                (None, None) => true,
            };
            let by_others = |operation: &Operation| {
                let Some(does) = touched(operation).filter(|does| does.reads) else { return false };
                self.to(recording, does.bytes).iter().any(|write| {
                    recording.task_of(*write) != task && !(write.actor == 0 && write.index < alone)
                })
            };
            let count = if start {
                record.operations.iter().position(by_others).unwrap_or(record.operations.len())
            } else {
                0
            };
            settled.push(count as u32);
        }
        self.settled = settled;
    }

    /// True if an operation is done in the same way in every schedule, once it is done.
    fn is_settled(&self, place: Place) -> bool {
        self.settled.get(place.actor as usize).is_some_and(|settled| place.index < *settled)
    }

    /// Those that change some bytes.
    fn to(&self, recording: &Recording, bytes: (u64, u64)) -> Vec<Place> {
        let mut found: Vec<Place> = Vec::new();
        for stretch in bytes.0 / STRETCH..bytes.1.div_ceil(STRETCH) {
            found.extend(self.to.get(&stretch).into_iter().flatten().filter(|place| {
                touched(recording.operation(**place))
                    .is_some_and(|does| does.bytes.0 < bytes.1 && bytes.0 < does.bytes.1)
            }));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// How far a task takes part.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// So many operations happen.
    needed: u32,
    /// So many may happen.
    within: u32,
    /// No more than so many can.
    most: u32,
    /// So many were looked at for branches and reads.
    scanned: u32,
}

/// A question that is being put.
pub(super) struct Question<'q> {
    recording: &'q Recording,
    formulas: &'q [Option<Rc<Formula>>],
    writes: &'q Writes,
    care: Care,
    goal: &'q Goal,
    parts: FxHashMap<u32, Part>,
    /// For each task that goes the other way at a branch, that side.
    sides: FxHashMap<u32, u32>,
    /// What is read and matters.
    reads: Vec<Place>,
    known_reads: FxHashSet<Place>,
    /// What must have happened when an operation has, for some: so many operations of each task.
    needs: FxHashMap<Place, FxHashMap<u32, u32>>,
    /// The locks that tasks hold, for those that were asked for.
    holds: FxHashMap<u32, Rc<[Hold]>>,
    /// Branches whose conditions matter.
    branches: Vec<Place>,
    impossible: bool,
    /// Something is missing that the question would need.
    unanswerable: bool,
    events: FxHashMap<Place, u32>,
    places: Vec<Place>,
    problem: Problem,
}

/// What can be asked about a goal.
pub(super) enum Asked {
    /// This, with the operations behind the events, and whether branches take part.
    Question(Box<(Problem, Vec<Place>, bool)>),
    /// Nothing: what the goal needs excludes it.
    Impossible,
    /// Nothing: what was told does not suffice.
    Unanswerable,
}

impl<'q> Question<'q> {
    pub(super) fn ask(
        recording: &'q Recording,
        formulas: &'q [Option<Rc<Formula>>],
        writes: &'q Writes,
        care: Care,
        goal: &'q Goal,
    ) -> Asked {
        let mut question = Self {
            recording,
            formulas,
            writes,
            care,
            goal,
            parts: FxHashMap::default(),
            sides: FxHashMap::default(),
            reads: Vec::new(),
            known_reads: FxHashSet::default(),
            needs: FxHashMap::default(),
            holds: FxHashMap::default(),
            branches: Vec::new(),
            impossible: false,
            unanswerable: false,
            events: FxHashMap::default(),
            places: Vec::new(),
            problem: Problem::new(),
        };
        question.gather();
        let branches = !question.branches.is_empty();
        if !question.impossible {
            question.build();
        }
        match (question.impossible, question.unanswerable) {
            (true, _) => Asked::Impossible,
            (_, true) => Asked::Unanswerable,
            _ => Asked::Question(Box::new((question.problem, question.places, branches))),
        }
    }

    /// Works out what takes part.
    fn gather(&mut self) {
        let recording = self.recording;
        for place in self.goal.places() {
            if recording.is_possible(place) {
                let other = self.sides.insert(recording.task_of(place), place.actor);
                self.impossible |= other.is_some_and(|other| other != place.actor);
            }
        }
        let mut needed = Vec::new();
        match self.goal {
            Goal::Both(a, b) => {
                for stop in [a, b] {
                    needed.push((stop.actor, stop.index));
                    let needs = recording.needs(recording.operation(*stop));
                    needed.extend(needs.iter().map(|need| (need.actor, need.index + 1)));
                }
            }
            Goal::Sequence(pairs) => {
                for place in pairs.iter().flat_map(|(earlier, later)| [earlier, later]) {
                    needed.push((place.actor, place.index + 1));
                }
            }
        }
        self.close(needed, true);
        while !self.impossible
            && (self.finish_sections() || (self.care > Care::Operations && self.look_at_values()))
        {}
    }

    fn part(&mut self, actor: u32) -> &mut Part {
        let (recording, goal, sides) = (self.recording, self.goal, &self.sides);
        self.parts.entry(actor).or_insert_with(|| {
            let record = &recording.actors[actor as usize];
            let mut most = record.operations.len() as u32;
            match (record.side_of, sides.get(&actor)) {
                (Some((task, _)), _) if sides.get(&task) != Some(&actor) => most = 0,
                (None, Some(side)) => {
                    let before = recording.actors[*side as usize].side_of.map_or(0, |(_, before)| before);
                    most = most.min(before);
                }
                _ => {}
            }
            if let Goal::Both(a, b) = goal {
                let stops = [a, b].into_iter().filter(|stop| stop.actor == actor);
                most = stops.fold(most, |most, stop| most.min(stop.index));
            }
            Part { needed: 0, within: 0, most, scanned: 0 }
        })
    }

    /// Lets tasks come so far, and all others as far as is needed for that.
    fn close(&mut self, mut work: Vec<(u32, u32)>, needed: bool) {
        let recording = self.recording;
        while let Some((actor, count)) = work.pop() {
            let part = self.part(actor);
            if needed && count > part.most {
                self.impossible = true;
                return;
            }
            let count = count.min(part.most);
            let from = if needed { &mut part.needed } else { &mut part.within };
            let first = *from;
            *from = first.max(count);
            part.within = part.within.max(part.needed);
            let operations = &recording.actors[actor as usize].operations;
            for operation in operations.get(first as usize..count as usize).unwrap_or_default() {
                work.extend(recording.needs(operation).iter().map(|need| (need.actor, need.index + 1)));
            }
        }
    }

    /// Lets tasks go on that hold locks, until they hold none. False if there are none.
    fn finish_sections(&mut self) -> bool {
        let mut actors: Vec<u32> = self.parts.keys().copied().collect();
        actors.sort_unstable();
        let mut extended = false;
        for actor in actors {
            let record = &self.recording.actors[actor as usize];
            let part = *self.part(actor);
            let mut count = part.within;
            while count < part.most && record.held_after(count) > 0 {
                count += 1;
            }
            if count > part.within {
                extended = true;
                self.close(vec![(actor, count)], false);
            }
        }
        extended
    }

    /// Looks at branches and reads that were not looked at before. False if there are none.
    fn look_at_values(&mut self) -> bool {
        let recording = self.recording;
        let mut actors: Vec<u32> = self.parts.keys().copied().collect();
        actors.sort_unstable();
        let mut new: Vec<Place> = Vec::new();
        let mut changed = false;
        for actor in actors {
            let part = self.part(actor);
            let (from, to) = (part.scanned, part.within);
            part.scanned = to;
            changed |= from < to;
            for index in from..to {
                let place = Place { actor, index };
                let operation = recording.operation(place);
                if let Op::Branch { .. } = operation.step.op
                    && self.care == Care::Branches
                {
                    self.branches.push(place);
                    match self.formula(operation) {
                        Some((_, operands)) => new.extend(operands),
                        None if self.writes.is_settled(place) => {}
                        None => new.extend(self.reads_before(place)),
                    }
                }
                if self.care == Care::Values && touched(operation).is_some_and(|does| does.reads) {
                    new.push(place);
                }
            }
        }
        while let Some(read) = new.pop() {
            let is_read = |read: Place| touched(recording.operation(read)).is_some_and(|does| does.reads);
            if read.actor == NONE || !is_read(read) || !self.known_reads.insert(read) {
                continue;
            }
            changed = true;
            self.reads.push(read);
            for write in self.sources(read) {
                if self.care == Care::Branches
                    && let Some((_, operands)) = self.formula(recording.operation(write))
                {
                    new.extend(operands);
                }
                self.close(vec![(write.actor, write.index + 1)], false);
            }
        }
        changed
    }

    /// What was told about how a value, or a condition, was computed.
    fn formula(&self, operation: &'q Operation) -> Option<(Rc<Formula>, &'q [Place])> {
        let told: &'q Told = self.recording.told(operation)?;
        let FormulaId(id) = told.formula?;
        let formula = self.formulas.get(id as usize)?.as_ref()?;
        (formula.reads() <= told.operands.len()).then_some((Rc::clone(formula), &told.operands[..]))
    }

    /// All that a task has read before it came to an operation.
    fn reads_before(&self, place: Place) -> Vec<Place> {
        let reads = |actor: u32, until: u32| {
            (0..until).map(move |index| Place { actor, index }).filter(|place| {
                let operation = self.recording.operation(*place);
                touched(operation).is_some_and(|does| does.reads)
            })
        };
        reads(place.actor, place.index).collect()
    }

    /// The writes from which a read may get its value.
    fn sources(&mut self, read: Place) -> Vec<Place> {
        let recording = self.recording;
        let Some(does) = touched(recording.operation(read)) else { return Vec::new() };
        let observed = self.observed_source(read, does.bytes);
        let wanted = recording.told(recording.operation(read)).and_then(|told| told.bits);
        let mut writes = self.writes.to(recording, does.bytes);
        writes.retain(|write| {
            let possible = self.part(write.actor).most > write.index && *write != read;
            possible
                && !recording.precedes(read, *write)
                && match self.care {
                    Care::Values => {
                        Some(*write) == observed || self.observed_value(*write, does.bytes, wanted)
                    }
                    _ => true,
                }
        });
        writes.retain(|write| !self.comes_before(read, *write));
        self.drop_hidden(read, does.bytes, &mut writes);
        // One that another one always overwrites before the read is not seen by it.
        let over = self.always_before(read, does.bytes);
        writes.retain(|write| !over.iter().any(|other| self.comes_before(*write, *other)));
        writes
    }

    /// The last writes of all the bytes of a read that come before it in every schedule, as far as that is looked into.
    fn always_before(&mut self, read: Place, bytes: (u64, u64)) -> Vec<Place> {
        let recording = self.recording;
        let covers = |write: &Place| {
            touched(recording.operation(*write))
                .is_some_and(|does| does.bytes.0 <= bytes.0 && bytes.1 <= does.bytes.1)
        };
        let mut writes = self.writes.to(recording, bytes);
        writes.retain(|write| covers(write) && *write != read && self.comes_before(*write, read));
        // Of each task the last one; those before it say no more.
        writes.reverse();
        writes.dedup_by_key(|write| write.actor);
        writes.truncate(FEW_WRITES);
        writes
    }

    /// True if one operation comes before another in every schedule, as far as that is looked into.
    fn comes_before(&mut self, one: Place, other: Place) -> bool {
        if !self.needs.contains_key(&other) && self.needs.len() < MOST_NEEDS {
            let recording = self.recording;
            let mut needs: FxHashMap<u32, u32> = FxHashMap::default();
            let mut work = vec![(other.actor, other.index)];
            work.extend(
                recording.needs(recording.operation(other)).iter().map(|need| (need.actor, need.index + 1)),
            );
            while let Some((actor, count)) = work.pop() {
                let known = needs.entry(actor).or_insert(0);
                let from = *known;
                *known = from.max(count);
                let operations = &recording.actors[actor as usize].operations;
                for operation in operations.get(from as usize..count as usize).unwrap_or_default() {
                    work.extend(recording.needs(operation).iter().map(|need| (need.actor, need.index + 1)));
                }
            }
            self.needs.insert(other, needs);
        }
        self.needs.get(&other).and_then(|needs| needs.get(&one.actor)).is_some_and(|count| one.index < *count)
    }

    /// True if a write has written just what a read has read.
    fn observed_value(&self, write: Place, bytes: (u64, u64), wanted: Option<u64>) -> bool {
        let operation = self.recording.operation(write);
        touched(operation).is_some_and(|does| does.bytes == bytes && !does.reads)
            && wanted.is_some()
            && self.recording.told(operation).and_then(|told| told.bits) == wanted
    }

    /// The last write that came before a read in the observed run.
    fn observed_source(&self, read: Place, bytes: (u64, u64)) -> Option<Place> {
        let position = |place: &Place| self.recording.operation(*place).step.moment.position;
        let now = position(&read);
        let done = |place: &Place| !self.recording.is_possible(*place) && position(place) < now;
        self.writes.to(self.recording, bytes).into_iter().filter(done).max_by_key(position)
    }

    /// True if an operation surely happens.
    fn is_needed(&self, place: Place) -> bool {
        self.parts.get(&place.actor).is_some_and(|part| place.index < part.needed)
    }

    /// Unless an operation surely happens, the literal that says so.
    fn happens(&mut self, place: Place) -> Option<Literal> {
        if self.is_needed(place) {
            return None;
        }
        let event = self.events[&place];
        Some(self.problem.before(event, Problem::END))
    }

    /// The operations that become events, in the observed order.
    fn kept(&self) -> Vec<Place> {
        let recording = self.recording;
        let mut kept: FxHashSet<Place> = FxHashSet::default();
        let mut actors: Vec<(&u32, &Part)> = self.parts.iter().collect();
        actors.sort_unstable_by_key(|(actor, _)| **actor);
        for &(&actor, part) in &actors {
            for index in 0..part.within {
                let place = Place { actor, index };
                let operation = recording.operation(place);
                let needs = recording.needs(operation);
                if operation.effect != Effect::Nothing || !needs.is_empty() {
                    kept.insert(place);
                }
                kept.extend(needs);
            }
            let last = |count: u32| count.checked_sub(1).map(|index| Place { actor, index });
            kept.extend(last(part.needed));
        }
        if let Goal::Sequence(_) = self.goal {
            kept.extend(self.goal.places());
        }
        kept.extend(&self.branches);
        kept.extend(&self.reads);
        for read in &self.reads {
            if let Some(does) = touched(recording.operation(*read)) {
                kept.extend(self.writes.to(recording, does.bytes));
            }
        }
        kept.retain(|place| self.parts.get(&place.actor).is_some_and(|part| place.index < part.within));
        let mut kept: Vec<Place> = kept.into_iter().collect();
        kept.sort_unstable_by_key(|place| {
            (recording.operation(*place).step.moment.position, place.actor, place.index)
        });
        kept
    }

    fn build(&mut self) {
        let recording = self.recording;
        let held_before: Vec<_> = recording.held_before.clone();
        // What is held when the window begins is taken by an event before all others.
        let start = (!held_before.is_empty()).then(|| self.problem.event());
        if let Some(start) = start {
            self.problem.edge(start, Problem::END);
            self.places.push(Place { actor: NONE, index: NONE });
        }
        for place in self.kept() {
            let event = self.problem.event();
            self.events.insert(place, event);
            self.places.push(place);
        }
        let mut ways: FxHashMap<u32, Vec<Place>> = FxHashMap::default();
        for place in &self.places[usize::from(start.is_some())..] {
            ways.entry(place.actor).or_default().push(*place);
        }
        let mut actors: Vec<u32> = ways.keys().copied().collect();
        actors.sort_unstable();
        for actor in &actors {
            let Some(way) = ways.get_mut(actor) else { continue };
            way.sort_unstable();
            self.order(way, start);
        }
        self.lock(&ways, &actors, start);
        if let Goal::Sequence(pairs) = self.goal {
            for (earlier, later) in pairs {
                self.problem.edge(self.events[earlier], self.events[later]);
            }
        }
        if self.care > Care::Operations {
            self.values();
        }
    }

    /// The order of one task's events, and what they need.
    fn order(&mut self, way: &[Place], start: Option<u32>) {
        let recording = self.recording;
        for pair in way.windows(2) {
            self.problem.edge(self.events[&pair[0]], self.events[&pair[1]]);
        }
        for place in way {
            let event = self.events[place];
            for need in recording.needs(recording.operation(*place)) {
                match self.events.get(need) {
                    Some(need) => self.problem.edge(*need, event),
                    // What it needs cannot happen.
                    None => self.problem.edge(Problem::END, event),
                }
            }
            if let Some(start) = start {
                self.problem.edge(start, event);
            }
        }
        if let Some(last) = way.iter().rev().find(|place| self.is_needed(**place)) {
            self.problem.edge(self.events[last], Problem::END);
        }
    }

    /// The sections of all locks.
    fn lock(&mut self, ways: &FxHashMap<u32, Vec<Place>>, actors: &[u32], start: Option<u32>) {
        let recording = self.recording;
        let mut locks: FxHashMap<u32, Vec<Section>> = FxHashMap::default();
        for &actor in actors.iter().filter(|actor| recording.actors[**actor as usize].side_of.is_none()) {
            let side = self.sides.get(&actor).and_then(|side| ways.get(side));
            let way: Vec<Place> = ways.get(&actor).into_iter().chain(side).flatten().copied().collect();
            let mut open: Vec<(u32, LockMode, Section)> = Vec::new();
            for (holder, lock, mode) in &recording.held_before {
                if let Some(start) = start.filter(|_| *holder == actor) {
                    open.push((*lock, *mode, section(start, *mode, actor, None)));
                }
            }
            for place in way {
                if self.known_reads.contains(&place) {
                    open.iter_mut().for_each(|(_, _, section)| section.reads = true);
                }
                match recording.operation(place).effect {
                    Effect::Acquire(lock, mode) => {
                        let happens = self.happens(place);
                        open.push((lock, mode, section(self.events[&place], mode, actor, happens)));
                    }
                    Effect::Release(lock, mode) => {
                        if let Some(at) = open.iter().rposition(|open| (open.0, open.1) == (lock, mode)) {
                            let (_, _, mut section) = open.remove(at);
                            section.release = Some(self.events[&place]);
                            locks.entry(lock).or_default().push(section);
                        }
                    }
                    Effect::Nothing => {}
                }
            }
            for (lock, _, section) in open {
                locks.entry(lock).or_default().push(section);
            }
        }
        if let Some(start) = start {
            // Who holds locks from the beginning and does nothing here keeps them.
            for (holder, lock, mode) in recording.held_before.iter().filter(|held| !actors.contains(&held.0))
            {
                locks.entry(*lock).or_default().push(section(start, *mode, *holder, None));
            }
        }
        let mut locks: Vec<(u32, Vec<Section>)> = locks.into_iter().collect();
        locks.sort_unstable_by_key(|(lock, _)| *lock);
        for (_, sections) in locks {
            let owner = sections.first().map(|section| section.owner);
            if sections.iter().any(|section| Some(section.owner) != owner || !section.shared) {
                self.problem.lock(sections);
            }
        }
    }
}

fn section(acquire: u32, mode: LockMode, owner: u32, happens: Option<Literal>) -> Section {
    Section { acquire, release: None, shared: mode == LockMode::Shared, owner, happens, reads: false }
}

/// The schedule that has these operations in this order, each with all that its task does before.
pub(super) fn schedule(goal: &Goal, places: &[Place], events: &[u32]) -> Vec<Run> {
    let mut done: FxHashMap<u32, u32> = FxHashMap::default();
    let mut runs: Vec<Run> = Vec::new();
    let mut advance = |actor: u32, to: u32| {
        let done = done.entry(actor).or_insert(0);
        if *done >= to {
            return;
        }
        match runs.last_mut() {
            Some(last) if last.actor == actor && last.to == *done => last.to = to,
            _ => runs.push(Run { actor, from: *done, to }),
        }
        *done = to;
    };
    for event in events {
        let place = places[*event as usize - 1];
        if place.actor != NONE {
            advance(place.actor, place.index + 1);
        }
    }
    if let Goal::Both(a, b) = goal {
        advance(a.actor, a.index);
        advance(b.actor, b.index);
    }
    runs
}
