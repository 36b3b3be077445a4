//! Checks a schedule by what the operations mean. Nothing here is shared with the search, so that a mistake in one of them
//! is seen by the other. Only what atomic operations, fences and barriers wait for is taken from the recording.

use super::question::Care;
use super::recording::{Operation, Place, Recording, touched};
use super::search::{Goal, Run};
use super::window::Initial;
use crate::diagnose::Formula;
use crate::event::{LockId, LockMode, Op};
use crate::tasks::Actor;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Who signals a token (true) or a condition, when, in the observed order.
type Signals = FxHashMap<(bool, u64), Vec<(u64, Place)>>;

/// Checks schedules of one recording.
#[derive(Debug)]
pub(super) struct Validator<'r> {
    recording: &'r Recording,
    signals: Signals,
    observed: Observed,
}

/// What was read in the observed run.
#[derive(Debug, Default)]
struct Observed {
    /// For bytes that were read before anybody wrote them: the first byte of that read, and its value.
    first_reads: FxHashMap<u64, (u64, u64)>,
    /// From whom reads have read whose values were not told.
    writers: FxHashMap<Place, Vec<Option<Place>>>,
    /// What writes have left, as the next read found it.
    left: FxHashMap<Place, u64>,
}

/// A run that follows a schedule.
#[derive(Debug, Default)]
struct Simulation {
    done: FxHashMap<u32, u32>,
    /// Who was spawned so far, by whom.
    spawned: FxHashSet<u32>,
    children: FxHashMap<u32, Vec<u32>>,
    /// How many children a task had when it opened each of its scopes.
    scopes: FxHashMap<u32, Vec<usize>>,
    holders: FxHashMap<LockId, Vec<(u32, LockMode)>>,
    /// How many of the first signals have been given.
    given: FxHashMap<(bool, u64), usize>,
    time: u64,
    /// When the operations of the goal were done.
    times: FxHashMap<Place, u64>,
    /// The bytes of memory that were written, and by whom; none if nobody knows them.
    memory: FxHashMap<u64, (Option<u8>, Place)>,
    /// What was read, if it is known.
    read: FxHashMap<Place, Option<u64>>,
    /// Tasks that have read something else than in the observed run, or perhaps so.
    changed: FxHashSet<u32>,
}

impl Simulation {
    fn done(&self, actor: u32) -> u32 {
        self.done.get(&actor).copied().unwrap_or(0)
    }

    fn has_happened(&self, place: &Place) -> bool {
        self.done(place.actor) > place.index
    }

    fn has_ended(&self, recording: &Recording, actor: u32) -> bool {
        let record = &recording.actors[actor as usize];
        let there = record.spawned_at.is_none() || self.spawned.contains(&actor);
        // What was made up behind its end need not have happened when others have waited for it.
        there && (self.done(actor) + record.made_up) as usize >= record.operations.len()
    }

    fn children(&self, actor: u32) -> &[u32] {
        self.children.get(&actor).map_or(&[], Vec::as_slice)
    }

    /// True if all these tasks and all that descend from them have ended.
    fn have_all_ended(&self, recording: &Recording, tasks: &[u32]) -> bool {
        let mut left = tasks.to_vec();
        while let Some(task) = left.pop() {
            if !self.has_ended(recording, task) {
                return false;
            }
            left.extend(self.children(task));
        }
        true
    }
}

impl<'r> Validator<'r> {
    pub(super) fn new(recording: &'r Recording, initial: Option<&Initial>) -> Self {
        let mut signals = Signals::default();
        for (actor, record) in (0..).zip(&recording.actors) {
            for (index, operation) in (0..).zip(&record.operations) {
                let key = match operation.step.op {
                    Op::HappensBefore { token } => (true, token),
                    Op::Notify { condition, .. } => (false, u64::from(condition.0)),
                    _ => continue,
                };
                let signal = (operation.step.moment.position, Place { actor, index });
                signals.entry(key).or_default().push(signal);
            }
        }
        for signals in signals.values_mut() {
            signals.sort_unstable_by_key(|(position, _)| *position);
        }
        Self { recording, signals, observed: Observed::new(recording, initial) }
    }

    /// True if the schedule can happen and shows the goal, with as much care for values as is said.
    pub(super) fn is_valid(
        &self,
        goal: &Goal,
        schedule: &[Run],
        care: Care,
        formulas: &[Option<Rc<Formula>>],
    ) -> bool {
        let mut run = Simulation::default();
        let turned: FxHashSet<Place> = goal
            .places()
            .filter_map(|place| {
                let (actor, before) = self.recording.actors[place.actor as usize].side_of?;
                Some(Place { actor, index: before.checked_sub(1)? })
            })
            .collect();
        for (holder, lock, mode) in &self.recording.held_before {
            run.holders.entry(self.recording.lock_id(*lock)).or_default().push((*holder, *mode));
        }
        let watched: FxHashSet<Place> = match goal {
            Goal::Both(..) => FxHashSet::default(),
            Goal::Sequence(pairs) => pairs.iter().flat_map(|(earlier, later)| [*earlier, *later]).collect(),
        };
        for part in schedule {
            if run.done(part.actor) != part.from {
                return false;
            }
            for index in part.from..part.to {
                let place = Place { actor: part.actor, index };
                if !self.can_happen(&mut run, place) {
                    return false;
                }
                self.happen(&mut run, place);
                if care > Care::Operations && !self.follow(&mut run, place, care, formulas, &turned) {
                    return false;
                }
                if watched.contains(&place) {
                    run.times.insert(place, run.time);
                }
            }
        }
        match goal {
            Goal::Both(a, b) => [a, b]
                .into_iter()
                .all(|place| run.done(place.actor) == place.index && self.can_happen(&mut run, *place)),
            Goal::Sequence(pairs) => {
                pairs.iter().all(|(earlier, later)| match (run.times.get(earlier), run.times.get(later)) {
                    (Some(earlier), Some(later)) => earlier < later,
                    _ => false,
                })
            }
        }
    }

    fn can_happen(&self, run: &mut Simulation, place: Place) -> bool {
        let record = &self.recording.actors[place.actor as usize];
        let Some(operation) = record.operations.get(place.index as usize) else { return false };
        let starts = place.index > 0
            || match record.side_of {
                // The side of a branch begins where the task stands then.
                Some((task, before)) => run.done(task) == before,
                None => {
                    (record.spawned_at.is_none() || run.spawned.contains(&place.actor))
                        && record.after.iter().all(|before| run.has_ended(self.recording, *before))
                }
            };
        let position = operation.step.moment.position;
        starts
            && match operation.step.op {
                Op::Acquire { lock, mode } | Op::OtherPathLock { lock, mode, acquire: true } => {
                    run.holders.get(&lock).is_none_or(|holders| {
                        holders.iter().all(|(holder, held)| {
                            *holder == self.recording.task_of(place)
                                || (mode, *held) == (LockMode::Shared, LockMode::Shared)
                        })
                    })
                }
                Op::TaskWait => {
                    let is_task = |child: &&u32| {
                        matches!(self.recording.actors[**child as usize].actor, Actor::Task(_))
                    };
                    let mut children = run.children(place.actor).iter().filter(is_task);
                    children.all(|child| run.has_ended(self.recording, *child))
                }
                Op::FinishEnd => {
                    let first = run.scopes.get(&place.actor).and_then(|scopes| scopes.last());
                    let children = run.children(place.actor);
                    let within = children.get(first.copied().unwrap_or(0)..).unwrap_or_default();
                    run.have_all_ended(self.recording, within)
                }
                Op::TaskJoin { .. } | Op::Join { .. } => {
                    operation.other as usize >= self.recording.actors.len()
                        || run.has_ended(self.recording, operation.other)
                }
                Op::HappensAfter { token } => self.were_signalled(run, (true, token), position),
                Op::Wait { condition } => self.were_signalled(run, (false, u64::from(condition.0)), position),
                Op::Atomic { .. } | Op::Fence { .. } | Op::BarrierLeave { .. } => {
                    self.recording.needs(operation).iter().all(|need| run.has_happened(need))
                }
                _ => true,
            }
    }

    /// True if all signals were given that the observed run had given at a position.
    fn were_signalled(&self, run: &mut Simulation, key: (bool, u64), position: u64) -> bool {
        let signals = self.signals.get(&key).map_or(&[][..], Vec::as_slice);
        let mut given = run.given.get(&key).copied().unwrap_or(0);
        while signals.get(given).is_some_and(|(_, place)| run.has_happened(place)) {
            given += 1;
        }
        run.given.insert(key, given);
        given >= signals.partition_point(|(given, _)| *given < position)
    }

    /// What an operation reads, writes or decides. False if it is not what it should be.
    fn follow(
        &self,
        run: &mut Simulation,
        place: Place,
        care: Care,
        formulas: &[Option<Rc<Formula>>],
        turned: &FxHashSet<Place>,
    ) -> bool {
        let operation = self.recording.operation(place);
        let told = self.recording.told(operation);
        let mut value = told.and_then(|told| told.bits);
        if let Op::Branch { taken } = operation.step.op {
            let wanted = taken != turned.contains(&place);
            return match self.computed(run, operation, formulas) {
                Some(value) => (value != 0) == wanted,
                None => wanted == taken && !run.changed.contains(&place.actor),
            };
        }
        let Some(does) = touched(operation) else { return true };
        let size = does.bytes.1 - does.bytes.0;
        if does.reads {
            let mut read = (size <= 8).then_some(0);
            for byte in (does.bytes.0..does.bytes.1).rev() {
                let known = run.memory.get(&byte).map_or_else(|| self.first_byte(byte), |known| known.0);
                read = read.zip(known).map(|(read, byte): (u64, u8)| read.wrapping_shl(8) | u64::from(byte));
            }
            run.read.insert(place, read);
            let from = |byte: u64| run.memory.get(&byte).map(|known| known.1);
            let same = match self.observed.writers.get(&place) {
                Some(writers) => writers.iter().copied().eq((does.bytes.0..does.bytes.1).map(from)),
                None => value.is_none() || read == value,
            };
            if !same {
                run.changed.insert(place.actor);
                if care == Care::Values {
                    return false;
                }
            }
        }
        if does.writes {
            if value.is_none() && !does.reads && !run.changed.contains(&self.recording.task_of(place)) {
                value = self.observed.left.get(&place).copied();
            }
            let has_formula = told.is_some_and(|told| told.formula.is_some());
            if operation.unseen {
                run.read.insert(place, value);
            } else if has_formula || does.reads {
                let computed = self.computed(run, operation, formulas);
                // Who has read the same so far writes the same, however that is computed.
                let same = !does.reads && !run.changed.contains(&self.recording.task_of(place));
                value = computed.or(value.filter(|_| same));
            }
            for (at, byte) in (0u32..).zip(does.bytes.0..does.bytes.1) {
                let byte_of = |value: u64| value.checked_shr(8 * at).unwrap_or(0) as u8;
                run.memory.insert(byte, (value.filter(|_| size <= 8).map(byte_of), place));
            }
        }
        true
    }

    /// What was computed from what was read.
    fn computed(
        &self,
        run: &Simulation,
        operation: &Operation,
        formulas: &[Option<Rc<Formula>>],
    ) -> Option<u64> {
        let told = self.recording.told(operation)?;
        let formula = formulas.get(told.formula?.index())?.as_ref()?;
        let read = |place: &Place| run.read.get(place).copied().flatten();
        let operands: Option<Vec<u64>> = told.operands.iter().take(formula.reads()).map(read).collect();
        let operands = operands.filter(|operands| operands.len() == formula.reads())?;
        Some(formula.value(&operands))
    }

    /// What memory had at first: as it was read in the observed run before anybody had written it.
    fn first_byte(&self, byte: u64) -> Option<u8> {
        let (first, bits) = self.observed.first_reads.get(&byte)?;
        Some(bits.checked_shr(8 * (byte - first) as u32).unwrap_or(0) as u8)
    }

    fn happen(&self, run: &mut Simulation, place: Place) {
        run.time += 1;
        run.done.insert(place.actor, place.index + 1);
        let operation = self.recording.operation(place);
        let task = self.recording.task_of(place);
        match operation.step.op {
            Op::Acquire { lock, mode } => run.holders.entry(lock).or_default().push((task, mode)),
            Op::Release { lock, mode } => {
                run.holders.entry(lock).or_default().retain(|holder| *holder != (task, mode));
            }
            Op::OtherPathLock { lock, mode, acquire } => {
                let holders = run.holders.entry(lock).or_default();
                match acquire {
                    true if holders.iter().any(|(holder, _)| *holder == task) => {}
                    true => holders.push((task, mode)),
                    false => holders.retain(|holder| *holder != (task, mode)),
                }
            }
            Op::Spawn { .. } | Op::Fork { .. } => {
                run.spawned.insert(operation.other);
                run.children.entry(place.actor).or_default().push(operation.other);
            }
            Op::FinishBegin => {
                let children = run.children(place.actor).len();
                run.scopes.entry(place.actor).or_default().push(children);
            }
            Op::FinishEnd => {
                run.scopes.entry(place.actor).or_default().pop();
            }
            _ => {}
        }
    }
}

impl Observed {
    fn new(recording: &Recording, initial: Option<&Initial>) -> Self {
        let mut observed = Self::default();
        if !recording.records_all {
            return observed;
        }
        let mut operations: Vec<(u64, Place)> = Vec::new();
        for (actor, record) in (0..).zip(&recording.actors).filter(|(_, record)| record.side_of.is_none()) {
            for (index, operation) in (0..).zip(&record.operations) {
                if touched(operation).is_some() {
                    operations.push((operation.step.moment.position, Place { actor, index }));
                }
            }
        }
        operations.sort_unstable();
        let mut writers: FxHashMap<u64, Place> = FxHashMap::default();
        for (_, place) in operations {
            let operation = recording.operation(place);
            let Some(does) = touched(operation) else { continue };
            let bytes = does.bytes.0..does.bytes.1;
            match recording.told(operation).and_then(|told| told.bits) {
                Some(bits) if does.reads => {
                    for byte in bytes.clone().filter(|byte| !writers.contains_key(byte)) {
                        observed.first_reads.entry(byte).or_insert((does.bytes.0, bits));
                    }
                    let from = writers.get(&does.bytes.0).filter(|from| {
                        bytes.clone().all(|byte| writers.get(&byte) == Some(from))
                            && touched(recording.operation(**from)).is_some_and(|did| did.bytes == does.bytes)
                    });
                    if let Some(from) = from {
                        observed.left.entry(*from).or_insert(bits);
                    }
                }
                None if does.reads => {
                    let from = bytes.clone().map(|byte| writers.get(&byte).copied()).collect();
                    observed.writers.insert(place, from);
                }
                _ => {}
            }
            if does.writes {
                writers.extend(bytes.map(|byte| (byte, place)));
            }
        }
        if let Some(initial) = initial {
            let mut reads = recording.actors.iter().flat_map(|record| &record.operations);
            while let Some(operation) = reads.find(|operation| operation.is_of_first_life()) {
                if let (Op::Access { addr, size, .. }, Some(does)) = (operation.step.op, touched(operation))
                    && let Some(bits) = initial(addr.0, size).filter(|_| does.reads)
                {
                    for byte in does.bytes.0..does.bytes.1 {
                        observed.first_reads.entry(byte).or_insert((does.bytes.0, bits));
                    }
                }
            }
        }
        observed
    }
}
