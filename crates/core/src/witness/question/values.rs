//! The part of a question that is about values: what reads may get, and which conditions must hold.

use super::{Care, Question};
use crate::diagnose::Formula;
use crate::diagnose::problem::{Condition, Operand, Read, Source, Value};
use crate::diagnose::solver::Literal;
use crate::event::Op;
use crate::witness::recording::{NONE, Place, touched};
use rustc_hash::FxHashMap;
use std::rc::Rc;

impl Question<'_> {
    /// What is read, and which conditions must hold.
    pub(super) fn values(&mut self) {
        let recording = self.recording;
        let mut reads = std::mem::take(&mut self.reads);
        reads.retain(|read| self.events.contains_key(read));
        reads.sort_unstable();
        let numbers: FxHashMap<Place, u32> =
            (0..).zip(&reads).map(|(number, read)| (*read, number)).collect();
        // Which source is the observed one, for each read.
        let mut observed: FxHashMap<Place, Option<Literal>> = FxHashMap::default();
        for read in &reads {
            let chosen = self.read(*read, &numbers);
            observed.insert(*read, chosen);
        }
        let mut sides: Vec<u32> = self.sides.values().copied().collect();
        sides.sort_unstable();
        for side in sides {
            // A side that belongs to no branch: nobody knows when it is done.
            let (task, before) = recording.actors[side as usize].side_of.unwrap_or_default();
            let operations = &recording.actors[task as usize].operations[..before as usize];
            let last = operations.last().map(|operation| operation.step.op);
            if !matches!(last, Some(Op::Branch { .. })) {
                self.nobody_knows();
            }
        }
        let mut branches = std::mem::take(&mut self.branches);
        branches.sort_unstable();
        for branch in branches {
            let operation = recording.operation(branch);
            let Op::Branch { taken } = operation.step.op else { continue };
            let side = self.sides.get(&branch.actor).map(|side| &recording.actors[*side as usize]);
            let turned =
                side.and_then(|side| side.side_of).is_some_and(|(_, before)| before == branch.index + 1);
            let if_all: Vec<Literal> = self.happens(branch).into_iter().collect();
            match self.formula(operation) {
                Some((formula, operands)) => {
                    let operands = operands.iter().map(|place| self.operand(&numbers, place)).collect();
                    let wanted = taken != turned;
                    self.problem.condition(Condition { if_all, formula, operands, wanted });
                }
                // Nobody knows what would turn it.
                None if turned => self.nobody_knows(),
                // It goes this way in every schedule.
                None if self.writes.is_settled(branch) => {}
                None => {
                    for read in self.reads_before(branch) {
                        self.as_observed(read, &numbers, &if_all, observed.get(&read).copied().flatten());
                    }
                }
            }
        }
    }

    fn nobody_knows(&mut self) {
        let sure = self.problem.sure();
        self.problem.clause(vec![!sure]);
    }

    /// A read must get what it got in the observed run, as far as a schedule is to be shown for sure.
    fn as_observed(
        &mut self,
        read: Place,
        numbers: &FxHashMap<Place, u32>,
        if_all: &[Literal],
        observed: Option<Literal>,
    ) {
        let sure = self.problem.sure();
        let bits = self.recording.told(self.recording.operation(read)).and_then(|told| told.bits);
        let mut if_all = if_all.to_vec();
        if_all.push(sure);
        match (bits, Formula::parse("eq $1 $2")) {
            (Some(bits), Ok(formula)) => {
                let operands = vec![self.operand(numbers, &read), Operand::Known(bits)];
                self.problem.condition(Condition {
                    if_all,
                    formula: Rc::new(formula),
                    operands,
                    wanted: true,
                });
            }
            _ => {
                let mut clause: Vec<Literal> = if_all.iter().map(|literal| !*literal).collect();
                clause.extend(observed);
                self.problem.clause(clause);
            }
        }
    }

    /// A read and its sources. Gives the one that was observed.
    fn read(&mut self, read: Place, numbers: &FxHashMap<Place, u32>) -> Option<Literal> {
        let recording = self.recording;
        let does = touched(recording.operation(read))?;
        let bytes = does.bytes;
        let from = self.observed_source(read, bytes);
        let wanted = recording.told(recording.operation(read)).and_then(|told| told.bits);
        let mut observed = None;
        let mut sources = Vec::new();
        // The next write of the same task, except for the reader's own ones, which are in order anyway.
        let all = self.writes.to(recording, bytes);
        let task = recording.task_of(read);
        let next: FxHashMap<Place, Place> = all
            .windows(2)
            .filter(|pair| pair[0].actor == pair[1].actor && recording.task_of(pair[0]) != task)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        for write in self.sources(read) {
            let Some(&event) = self.events.get(&write) else { continue };
            let chosen = self.problem.choice(Some(write) == from, None, None);
            if Some(write) == from {
                observed = Some(chosen);
            }
            let value = self.value(write, bytes, numbers);
            let until = next.get(&write).and_then(|next| self.events.get(next)).copied();
            sources.push(Source { chosen, write: Some(event), until, value });
        }
        let at_first = self.first_value(read, bytes);
        let is_wanted =
            self.care != Care::Values || from.is_none() || (wanted.is_some() && at_first == wanted);
        if is_wanted && self.always_before(read, bytes).is_empty() {
            let chosen = self.problem.choice(from.is_none(), None, None);
            if from.is_none() {
                observed = Some(chosen);
            }
            let value = at_first.map_or(Value::Unknown, Value::Known);
            sources.push(Source { chosen, write: None, until: None, value });
        }
        let mut writes = self.writes.to(recording, bytes);
        writes.retain(|write| self.events.contains_key(write) && *write != read);
        // A write of only a part of it leaves a value that was put together.
        let whole = |write: &Place| {
            touched(recording.operation(*write))
                .is_some_and(|does| does.bytes.0 <= bytes.0 && bytes.1 <= does.bytes.1)
        };
        self.unanswerable |= self.care == Care::Values && !writes.iter().all(whole);
        self.unanswerable |= self.is_contradicted(from, bytes, wanted);
        let writes: Vec<u32> = writes.iter().map(|write| self.events[write]).collect();
        let happens = self.happens(read);
        self.problem.read(Read { event: self.events[&read], sources, writes }, happens);
        observed
    }

    /// True if a read did not get what the last write before it wrote, or what the first read found if there is none: somebody else
    /// has written, unseen, or the two are told in the wrong order. Then nothing that follows from it is sure.
    fn is_contradicted(&self, from: Option<Place>, bytes: (u64, u64), read: Option<u64>) -> bool {
        let alone = |write: &Place| {
            touched(self.recording.operation(*write)).is_some_and(|does| does.bytes == bytes && !does.reads)
        };
        let before = match from {
            Some(write) => Some(write).filter(alone),
            None => self.recording.first_read(bytes),
        };
        matches!((before, read), (Some(before), Some(bits)) if self.recording.left_otherwise(before, bytes, bits))
    }

    /// What a read of some memory got in the observed run before anything was written there.
    fn first_value(&self, read: Place, bytes: (u64, u64)) -> Option<u64> {
        if self.observed_source(read, bytes).is_none() {
            return self.recording.told(self.recording.operation(read))?.bits;
        }
        let same = |other: &Place| {
            touched(self.recording.operation(*other)).is_some_and(|does| does.bytes == bytes)
                && self.observed_source(*other, bytes).is_none()
        };
        let first = self.known_reads.iter().filter(|other| same(other)).min();
        let read = first.and_then(|first| self.recording.told(self.recording.operation(*first))?.bits);
        read.or_else(|| self.writes.initial.get(&bytes).copied())
    }

    /// What was read, in a formula.
    fn operand(&self, numbers: &FxHashMap<Place, u32>, place: &Place) -> Operand {
        if let Some(number) = numbers.get(place) {
            return Operand::Read(*number);
        }
        let unseen = |place: &Place| {
            let operation = self.recording.operation(*place);
            operation.unseen.then(|| self.recording.told(operation).and_then(|told| told.bits)).flatten()
        };
        Some(place)
            .filter(|place| place.actor != NONE)
            .and_then(unseen)
            .map_or(Operand::Unknown, Operand::Known)
    }

    /// What a write writes, as far as a read of some bytes sees it.
    fn value(&self, write: Place, bytes: (u64, u64), numbers: &FxHashMap<Place, u32>) -> Value {
        let operation = self.recording.operation(write);
        let Some(does) = touched(operation).filter(|does| does.bytes == bytes) else {
            return Value::Unknown;
        };
        let size = bytes.1 - bytes.0;
        if !(1..=8).contains(&size) {
            return Value::Unknown;
        }
        let mask = u64::MAX >> (64 - 8 * size);
        if let Some((formula, operands)) = self.formula(operation) {
            let operands = operands.iter().map(|place| self.operand(numbers, place)).collect();
            return Value::Computed(formula, operands, mask);
        }
        let told = self.recording.told(operation);
        let is_told = told.is_some_and(|told| told.bits.is_some());
        if !is_told && !does.reads && self.writes.is_settled(write) {
            return self.writes.seen.get(&write).map_or(Value::Unknown, |bits| Value::Known(bits & mask));
        }
        match told {
            // Whatever it is computed from is the same in every schedule.
            Some(told) if !does.reads && self.writes.is_settled(write) => {
                told.bits.map_or(Value::Unknown, |bits| Value::Known(bits & mask))
            }
            // There is a formula, and nobody knows it; or what is told is what was read.
            Some(told) if told.formula.is_some() || does.reads => Value::Unknown,
            Some(told) => told.bits.map_or(Value::Unknown, |bits| Value::Known(bits & mask)),
            None => Value::Unknown,
        }
    }
}
