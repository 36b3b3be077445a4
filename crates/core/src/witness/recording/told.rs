//! What is told for a diagnosis: values, how they were computed, and what the other sides of branches would have done.
//!
//! Such a side is kept like a task of its own, which begins where the other one branches.

use super::{Effect, NONE, Operation, Place, Record, Recording};
use crate::event::{AccessKind, Addr, AtomicKind, FormulaId, LockMode, Op};
use crate::finding::RawStep;
use crate::tasks::Actor;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What was told about a value that was read or written, or about the condition of a branch.
#[derive(Clone, Debug, Default)]
pub(in crate::witness) struct Told {
    /// The value.
    pub(in crate::witness) bits: Option<u64>,
    /// How it was computed, and from what.
    pub(in crate::witness) formula: Option<FormulaId>,
    pub(in crate::witness) operands: Vec<Place>,
}

/// What an operation does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::witness) struct Touched {
    pub(in crate::witness) bytes: (u64, u64),
    pub(in crate::witness) reads: bool,
    pub(in crate::witness) writes: bool,
}

/// The memory that an operation touches, done or not: addresses of another life of the memory are others. A read that got what
/// nobody was seen to write counts as the write.
pub(in crate::witness) fn touched(operation: &Operation) -> Option<Touched> {
    let Touched { bytes, reads, writes } = touched_by(operation.step.op)?;
    let life = u64::from(operation.life) << LIFE_SHIFT;
    let bytes = (bytes.0 ^ life, ((bytes.1 - 1) ^ life).saturating_add(1));
    let unseen = operation.unseen;
    Some(Touched { bytes, reads: reads && !unseen, writes: writes || unseen })
}

/// The first of the bits of an address that tell which life of the memory is meant: no addresses have them, neither those of programs nor
/// those that names of text traces get.
const LIFE_SHIFT: u32 = 48;
/// Lives that can be told apart.
const LIVES: u16 = 1 << 14;

/// The memory that was handed out or given back, in stretches, each with its life.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// By first address: the end, and the life.
    stretches: BTreeMap<u64, (u64, u16)>,
    last: u16,
}

impl Lives {
    /// From now on the memory is new.
    pub(super) fn renew(&mut self, addr: Addr, size: u32) {
        let (start, end) = (addr.0, addr.0.saturating_add(u64::from(size)));
        if start >= end || start >> LIFE_SHIFT & u64::from(LIVES - 1) != 0 {
            return;
        }
        let before = self.stretches.range(..start).next_back().map(|(first, stretch)| (*first, *stretch));
        if let Some((first, (until, life))) = before.filter(|(_, (until, _))| *until > start) {
            self.stretches.insert(first, (start, life));
            if until > end {
                self.stretches.insert(end, (until, life));
            }
        }
        let within: Vec<(u64, (u64, u16))> =
            self.stretches.range(start..end).map(|(first, stretch)| (*first, *stretch)).collect();
        for (first, (until, life)) in within {
            self.stretches.remove(&first);
            if until > end {
                self.stretches.insert(end, (until, life));
            }
        }
        // After so many, one could be mistaken for an old one.
        self.last = self.last % (LIVES - 1) + 1;
        self.stretches.insert(start, (end, self.last));
    }

    fn of(&self, addr: u64) -> u16 {
        let stretch = self.stretches.range(..=addr).next_back();
        stretch.filter(|(_, (end, _))| addr < *end).map_or(0, |(_, (_, life))| *life)
    }
}

fn touched_by(op: Op) -> Option<Touched> {
    let touch = |addr: Addr, size: u32, reads, writes| {
        let bytes = (addr.0, addr.0.saturating_add(u64::from(size.max(1))));
        Some(Touched { bytes, reads, writes })
    };
    match op {
        Op::Access { kind, size, addr } | Op::OtherPath { kind, size, addr } => {
            touch(addr, size, kind == AccessKind::Read, kind == AccessKind::Write)
        }
        Op::Atomic { kind, size, addr, .. } => {
            touch(addr, u32::from(size), kind != AtomicKind::Store, kind != AtomicKind::Load)
        }
        _ => None,
    }
}

/// Memory that is looked at as one, to see who wrote it last.
const STRETCH: u64 = 8;

impl Recording {
    /// Which life of its memory an operation touches.
    pub(super) fn life_of(&self, op: Op) -> u16 {
        if self.records_all { touched_by(op).map_or(0, |does| self.lives.of(does.bytes.0)) } else { 0 }
    }

    /// Remembers who wrote memory last.
    pub(super) fn note_write(&mut self, place: Place) {
        if !self.records_all || self.is_possible(place) {
            return;
        }
        if let Some(does) = touched(self.operation(place)).filter(|does| does.writes) {
            let stretches = does.bytes.0 / STRETCH..does.bytes.1.div_ceil(STRETCH);
            // A large block is not worth it: nobody tells values of it.
            stretches.take(64).for_each(|stretch| _ = self.last_writes.insert(stretch, place));
        }
    }

    /// True if a read got something else than the last write left there, or than the first read found there if nobody has written,
    /// and that comes before it in every schedule: code that is not watched has written, on behalf of the task.
    fn is_unseen(&mut self, read: Place, bits: u64) -> bool {
        let Some(does) = touched(self.operation(read)).filter(|does| does.reads && !does.writes) else {
            return false;
        };
        let before = match self.last_writes.get(&(does.bytes.0 / STRETCH)) {
            Some(write) => {
                let write = *write;
                let whole = |did: Touched| did.bytes == does.bytes && !did.reads;
                touched(self.operation(write)).is_some_and(whole).then_some(write)
            }
            // Nobody has written: then it is what the first one read.
            None => Some(*self.first_reads.entry(does.bytes).or_insert(read)).filter(|first| *first != read),
        };
        before.is_some_and(|before| {
            let spawned = self.actors[read.actor as usize].spawned.position;
            let ordered = before.actor == read.actor || self.operation(before).step.moment.position < spawned;
            ordered && self.left_otherwise(before, does.bytes, bits)
        })
    }

    /// True if an operation is told to have left something else than this where it wrote, or to have found it.
    pub(in crate::witness) fn left_otherwise(&self, before: Place, bytes: (u64, u64), bits: u64) -> bool {
        let unused = 64 - 8 * (bytes.1 - bytes.0).clamp(1, 8);
        let told = self.told(self.operation(before)).and_then(|told| told.bits);
        told.is_some_and(|told| (told ^ bits) << unused != 0)
    }

    /// The first read of memory that nobody had written before.
    pub(in crate::witness) fn first_read(&self, bytes: (u64, u64)) -> Option<Place> {
        self.first_reads.get(&bytes).copied()
    }

    /// The task whose operation it is, whichever way that went.
    pub(in crate::witness) fn task_of(&self, place: Place) -> u32 {
        self.actors[place.actor as usize].side_of.map_or(place.actor, |(task, _)| task)
    }

    /// True if it was not done, but would have been on the other side of a branch.
    pub(in crate::witness) fn is_possible(&self, place: Place) -> bool {
        self.actors[place.actor as usize].side_of.is_some()
    }

    /// Where on the way of its task an operation is.
    pub(in crate::witness) fn along(&self, place: Place) -> u64 {
        match self.actors[place.actor as usize].side_of {
            Some((_, before)) => (u64::from(before) << 32 | u64::from(place.index)) + 1,
            None => (u64::from(place.index) + 1) << 32,
        }
    }

    /// True if one operation comes before another one of the same task, on one way.
    pub(in crate::witness) fn precedes(&self, one: Place, other: Place) -> bool {
        if one.actor == other.actor {
            return one.index < other.index;
        }
        let side_of = self.actors[other.actor as usize].side_of;
        side_of.is_some_and(|(task, before)| task == one.actor && one.index < before)
    }

    /// The operations between two of the same task, on one way.
    pub(in crate::witness) fn between(&self, from: Place, until: Place) -> impl Iterator<Item = &Operation> {
        let all = |actor: u32| &self.actors[actor as usize].operations[..];
        let (mine, after) = (all(from.actor), from.index as usize + 1);
        let (first, second) = match self.actors[until.actor as usize].side_of {
            Some((_, before)) if until.actor != from.actor => {
                (&mine[after..before as usize], &all(until.actor)[..until.index as usize])
            }
            _ => (&mine[after..until.index as usize], &[][..]),
        };
        first.iter().chain(second)
    }

    /// What was told about an operation.
    pub(in crate::witness) fn told(&self, operation: &Operation) -> Option<&Told> {
        self.told.get(operation.told as usize)
    }

    /// An access that the other side of the task's last branch would have done.
    pub(in crate::witness) fn possible_access(&mut self, at: &RawStep, actor: Actor) -> Place {
        let number = self.number(actor);
        self.position = at.moment.position;
        let side = self.side(number);
        if let Some(last) = self.actors[side as usize].operations.last()
            && last.step == *at
        {
            let index = self.actors[side as usize].operations.len() as u32 - 1;
            return Place { actor: side, index };
        }
        self.push_possible(side, at, Effect::Nothing)
    }

    fn push_possible(&mut self, side: u32, at: &RawStep, effect: Effect) -> Place {
        let (task, before) = self.actors[side as usize].side_of.unwrap_or_default();
        let first = self.actors[side as usize].operations.is_empty();
        let needs: Vec<Place> = match before.checked_sub(1) {
            Some(index) if first => vec![Place { actor: task, index }],
            _ => Vec::new(),
        };
        self.push(side, at, effect, NONE, &needs)
    }

    /// The side that is being told of a task.
    fn side(&mut self, task: u32) -> u32 {
        let record = &self.actors[task as usize];
        if record.side != NONE {
            return record.side;
        }
        let mut side = Record::new(record.actor, record.parent, record.spawned, None);
        side.side_of = Some((task, record.operations.len() as u32));
        side.held = Rc::clone(&record.held);
        side.held_before = record.held.len() as u32;
        let number = self.actors.len() as u32;
        self.actors.push(side);
        self.actors[task as usize].side = number;
        number
    }

    pub(super) fn possible_lock(
        &mut self,
        task: u32,
        at: &RawStep,
        lock: u32,
        mode: LockMode,
        acquire: bool,
    ) {
        let side = self.side(task);
        let mut held = self.actors[side as usize].held.to_vec();
        let place = held.iter().rposition(|other| *other == (lock, mode));
        let effect = match (acquire, place) {
            // One that is held already is taken once more, which nobody notices.
            (true, _) if held.iter().any(|(other, _)| *other == lock) => Effect::Nothing,
            (true, _) => {
                held.push((lock, mode));
                Effect::Acquire(lock, mode)
            }
            (false, Some(place)) => {
                held.remove(place);
                Effect::Release(lock, mode)
            }
            (false, None) => Effect::Nothing,
        };
        self.actors[side as usize].held = held.into();
        self.push_possible(side, at, effect);
    }

    /// Something is told about the last operation of a task, or of its side.
    pub(super) fn tell(&mut self, task: u32, op: Op) {
        let record = &self.actors[task as usize];
        if let Op::Operand { back } = op {
            let place = record.valued.len().checked_sub(back as usize).and_then(|at| record.valued.get(at));
            // What nobody has told is nothing that a formula could be about.
            let place = place.copied().unwrap_or(Place { actor: NONE, index: NONE });
            self.actors[task as usize].operands.push(place);
            return;
        }
        let operands = std::mem::take(&mut self.actors[task as usize].operands);
        let actor = match self.actors[task as usize].side {
            NONE => task,
            side => side,
        };
        let Some(last) = self.actors[actor as usize].operations.last_mut() else { return };
        let told = match last.told {
            NONE => {
                last.told = self.told.len() as u32;
                self.told.push(Told::default());
                last.told
            }
            told => told,
        };
        let does = touched(last);
        let told = &mut self.told[told as usize];
        match op {
            Op::Value { bits } => told.bits = Some(bits),
            Op::Formula { formula } => {
                told.formula = Some(formula);
                told.operands = operands;
            }
            _ => {}
        }
        let is_value = matches!(op, Op::Value { .. });
        if is_value && actor == task && does.is_some_and(|does| does.reads) {
            let record = &mut self.actors[task as usize];
            let place = Place { actor: task, index: record.operations.len() as u32 - 1 };
            record.valued.push(place);
            if let Op::Value { bits } = op
                && self.is_unseen(place, bits)
            {
                self.actors[task as usize].operations[place.index as usize].unseen = true;
                self.note_write(place);
            }
        }
    }
}
