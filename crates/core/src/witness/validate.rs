//! Checks a schedule by what the operations mean. Nothing here is shared with the search, so that a mistake in one of them
//! is seen by the other. Only what atomic operations, fences and barriers wait for is taken from the recording.

use super::recording::{Place, Recording};
use super::search::{Goal, Run};
use crate::event::{LockId, LockMode, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Who signals a token (true) or a condition, when, in the observed order.
type Signals = FxHashMap<(bool, u64), Vec<(u64, Place)>>;

/// Checks schedules of one recording.
#[derive(Debug)]
pub(super) struct Validator<'r> {
    recording: &'r Recording,
    signals: Signals,
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
        there && self.done(actor) as usize == record.operations.len()
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
    pub(super) fn new(recording: &'r Recording) -> Self {
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
        Self { recording, signals }
    }

    /// True if the schedule can happen and shows the goal.
    pub(super) fn is_valid(&self, goal: &Goal, schedule: &[Run]) -> bool {
        let mut run = Simulation::default();
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
            || (record.spawned_at.is_none() || run.spawned.contains(&place.actor))
                && record.after.iter().all(|before| run.has_ended(self.recording, *before));
        let position = operation.step.moment.position;
        starts
            && match operation.step.op {
                Op::Acquire { lock, mode } => run.holders.get(&lock).is_none_or(|holders| {
                    holders.iter().all(|(holder, held)| {
                        *holder == place.actor || (mode, *held) == (LockMode::Shared, LockMode::Shared)
                    })
                }),
                Op::TaskWait => {
                    run.children(place.actor).iter().all(|child| run.has_ended(self.recording, *child))
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

    fn happen(&self, run: &mut Simulation, place: Place) {
        run.time += 1;
        run.done.insert(place.actor, place.index + 1);
        let operation = self.recording.operation(place);
        match operation.step.op {
            Op::Acquire { lock, mode } => run.holders.entry(lock).or_default().push((place.actor, mode)),
            Op::Release { lock, mode } => {
                run.holders.entry(lock).or_default().retain(|holder| *holder != (place.actor, mode));
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
