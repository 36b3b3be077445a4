//! What is remembered about the operations of a window: for each task the sequence of those that matter, and for each of
//! them what must have happened before it in every schedule.

mod told;

pub(super) use told::{Told, touched};

use told::Lives;

use crate::event::{AtomicKind, BarrierId, LockId, LockMode, Op};
use crate::finding::{Moment, RawStep};
use crate::replay::Barrier;
use crate::tasks::Actor;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// In place of a number: none.
pub(super) const NONE: u32 = u32::MAX;

/// An operation of the recording: whose, and which of its operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Place {
    pub(super) actor: u32,
    pub(super) index: u32,
}

/// What an operation does to locks, which have small numbers here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    Nothing,
    Acquire(u32, LockMode),
    Release(u32, LockMode),
}

#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) step: RawStep,
    pub(super) effect: Effect,
    /// The task that is spawned or joined, if it is known.
    pub(super) other: u32,
    /// How many locks its task holds afterwards.
    pub(super) held: u32,
    /// What was told about its value or its condition: a number of [`Recording::told`], or [`NONE`].
    told: u32,
    /// Which life of its memory it touches.
    life: u16,
    /// It has read what nobody was seen to write.
    pub(super) unseen: bool,
    /// Which stretch of [`Recording::needs`] tells what must have happened.
    needs: (u32, u32),
}

impl Operation {
    /// True if its memory has been neither handed out nor given back.
    pub(super) fn is_of_first_life(&self) -> bool {
        self.life == 0
    }
}

/// The locks that are held at some point, with modes.
pub(super) type Held = Rc<[(u32, LockMode)]>;

/// A task.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) actor: Actor,
    pub(super) parent: Option<u32>,
    pub(super) spawned: Moment,
    /// The operation that spawned it, if that is in this window.
    pub(super) spawned_at: Option<Place>,
    /// Tasks that must have ended before it starts.
    pub(super) after: Vec<u32>,
    pub(super) operations: Vec<Operation>,
    /// How many releases stand at its end that were made up since an incomplete trace did not tell them.
    pub(super) made_up: u32,
    /// How many locks it held when the window began.
    pub(super) held_before: u32,
    /// If this is what a task would have done on the other side of a branch: the task, and how many of its operations come
    /// before, the branch among them.
    pub(super) side_of: Option<(u32, u32)>,
    /// The side that is being told.
    side: u32,
    /// Its reads whose values were told.
    valued: Vec<Place>,
    /// What goes into the next formula.
    operands: Vec<Place>,
    held: Held,
    /// For each open finish scope, and outside of all, the descendants whose end its own operations do not imply yet, and
    /// whether they are children.
    scopes: Vec<Vec<(u32, bool)>>,
    /// What a release fence has published, for later stores.
    fenced: Vec<Place>,
    /// What loads without order have seen, for a later acquire fence.
    seen: Vec<Place>,
}

impl Record {
    fn new(actor: Actor, parent: Option<u32>, spawned: Moment, spawned_at: Option<Place>) -> Self {
        Self {
            actor,
            parent,
            spawned,
            spawned_at,
            after: Vec::new(),
            operations: Vec::new(),
            made_up: 0,
            held_before: 0,
            side_of: None,
            side: NONE,
            valued: Vec::new(),
            operands: Vec::new(),
            held: Rc::new([]),
            scopes: Vec::new(),
            fenced: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// How many locks it holds when it has done so many operations.
    pub(super) fn held_after(&self, operations: u32) -> u32 {
        match operations.checked_sub(1) {
            Some(last) => self.operations[last as usize].held,
            None => self.held_before,
        }
    }

    fn scope(&mut self) -> &mut Vec<(u32, bool)> {
        if self.scopes.is_empty() {
            self.scopes.push(Vec::new());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }
}

/// The operations of a window.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) actors: Vec<Record>,
    /// Locks that were held when the window began: by whom, which, and how.
    pub(super) held_before: Vec<(u32, u32, LockMode)>,
    /// The last position before the window.
    pub(super) before: u64,
    /// All operations are recorded, not only those that order others and those to be examined.
    pub(super) records_all: bool,
    told: Vec<Told>,
    lives: Lives,
    last_writes: FxHashMap<u64, Place>,
    first_reads: FxHashMap<(u64, u64), Place>,
    needs: Vec<Place>,
    by_actor: FxHashMap<Actor, u32>,
    locks: FxHashMap<LockId, u32>,
    lock_ids: Vec<LockId>,
    holders: Vec<Vec<(u32, LockMode)>>,
    conditions: FxHashMap<u32, Vec<Place>>,
    tokens: FxHashMap<u64, Vec<Place>>,
    atomics: FxHashMap<u64, Vec<Place>>,
    barriers: FxHashMap<BarrierId, Barrier<Vec<Place>>>,
    /// Who acted last, and the position.
    latest: u32,
    position: u64,
}

/// Adds a signal; of each task the latest suffices.
fn signal(signals: &mut Vec<Place>, place: Place) {
    match signals.iter_mut().find(|other| other.actor == place.actor) {
        Some(other) => other.index = other.index.max(place.index),
        None => signals.push(place),
    }
}

fn signal_all(signals: &mut Vec<Place>, places: &[Place]) {
    places.iter().for_each(|place| signal(signals, *place));
}

impl Recording {
    #[inline]
    pub(super) fn operation(&self, place: Place) -> &Operation {
        &self.actors[place.actor as usize].operations[place.index as usize]
    }

    /// What must have happened before an operation.
    #[inline]
    pub(super) fn needs(&self, operation: &Operation) -> &[Place] {
        &self.needs[operation.needs.0 as usize..operation.needs.1 as usize]
    }

    /// How many different locks there are.
    pub(super) fn locks(&self) -> usize {
        self.lock_ids.len()
    }

    pub(super) fn lock_id(&self, lock: u32) -> LockId {
        self.lock_ids[lock as usize]
    }

    /// The number of a task; one that was never heard of came from nowhere.
    fn number(&mut self, actor: Actor) -> u32 {
        if let Some(record) = self.actors.get(self.latest as usize)
            && record.actor == actor
            && self.by_actor.get(&actor) == Some(&self.latest)
        {
            return self.latest;
        }
        if let Some(known) = self.by_actor.get(&actor) {
            return *known;
        }
        self.add(Record::new(actor, None, Moment::default(), None))
    }

    fn add(&mut self, record: Record) -> u32 {
        let number = self.actors.len() as u32;
        self.by_actor.insert(record.actor, number);
        self.actors.push(record);
        number
    }

    fn push(&mut self, actor: u32, step: &RawStep, effect: Effect, other: u32, needs: &[Place]) -> Place {
        let first = self.needs.len() as u32;
        if self.actors[actor as usize].operations.is_empty() {
            self.needs.extend(self.actors[actor as usize].spawned_at);
            for before in self.actors[actor as usize].after.clone() {
                let end = self.end_of(before);
                self.needs.extend(end);
            }
        }
        // What it did itself comes before anyway.
        self.needs.extend(needs.iter().filter(|need| need.actor != actor));
        let needs = (first, self.needs.len() as u32);
        let life = self.life_of(step.op);
        let record = &mut self.actors[actor as usize];
        let held = record.held.len() as u32;
        record.made_up = 0;
        record.side = NONE;
        record.operands.clear();
        let unseen = false;
        record.operations.push(Operation {
            step: *step,
            effect,
            other,
            held,
            told: NONE,
            life,
            unseen,
            needs,
        });
        let place = Place { actor, index: record.operations.len() as u32 - 1 };
        self.note_write(place);
        place
    }

    /// The last operation of a task that has ended.
    fn end_of(&self, actor: u32) -> Option<Place> {
        let record = &self.actors[actor as usize];
        match record.operations.len() as u32 {
            0 => record.spawned_at,
            count => Some(Place { actor, index: count - 1 }),
        }
    }

    /// An access that is to be remembered. If the driver has told it as an operation already, it is there.
    pub(super) fn access(&mut self, at: &RawStep, actor: Actor) -> Place {
        let number = self.number(actor);
        (self.latest, self.position) = (number, at.moment.position);
        let operations = &self.actors[number as usize].operations;
        if let Some(last) = operations.last()
            && last.step.moment.position == at.moment.position
            && last.step.op == at.op
        {
            return Place { actor: number, index: operations.len() as u32 - 1 };
        }
        self.push(number, at, Effect::Nothing, NONE, &[])
    }

    /// The locks that a task holds.
    pub(super) fn held(&self, actor: u32) -> Held {
        Rc::clone(&self.actors[actor as usize].held)
    }

    /// The locks that a task holds, if it is known.
    pub(super) fn held_by(&self, actor: Actor) -> Held {
        self.by_actor.get(&actor).map_or_else(|| Rc::new([]) as Held, |number| self.held(*number))
    }

    /// Something other than a plain access was done.
    pub(super) fn record(&mut self, at: &RawStep, actor: Actor) {
        let number = self.number(actor);
        (self.latest, self.position) = (number, at.moment.position);
        match at.op {
            Op::Acquire { lock, mode } => self.acquire(number, at, lock, mode),
            Op::Release { lock, mode } => {
                let lock = self.lock_number(lock);
                self.change(number, at, Effect::Release(lock, mode));
            }
            Op::Spawn { task } => self.spawn(number, at, Actor::Task(task)),
            Op::Fork { child } => self.spawn(number, at, Actor::Thread(child)),
            Op::TaskBegin { .. } | Op::TaskEnd { .. } | Op::ThreadEnd | Op::Begin { .. } | Op::End => {
                self.push(number, at, Effect::Nothing, NONE, &[]);
            }
            Op::TaskWait => self.wait(number, at),
            Op::TaskJoin { task } => self.join(number, at, Actor::Task(task)),
            Op::Join { child } => self.join(number, at, Actor::Thread(child)),
            Op::FinishBegin => {
                self.actors[number as usize].scope();
                self.actors[number as usize].scopes.push(Vec::new());
                self.push(number, at, Effect::Nothing, NONE, &[]);
            }
            Op::FinishEnd => self.finish(number, at),
            Op::TaskOrder { before, after } => {
                let both = (self.by_actor.get(&Actor::Task(before)), self.by_actor.get(&Actor::Task(after)));
                if let (Some(&before), Some(&after)) = both {
                    self.actors[after as usize].after.push(before);
                }
            }
            Op::Atomic { .. } => self.atomic(number, at),
            Op::Access { .. } | Op::Branch { .. } => {
                self.push(number, at, Effect::Nothing, NONE, &[]);
            }
            Op::OtherPathLock { lock, mode, acquire } => {
                let lock = self.lock_number(lock);
                self.possible_lock(number, at, lock, mode, acquire);
            }
            Op::Value { .. } | Op::Operand { .. } | Op::Formula { .. } => self.tell(number, at.op),
            Op::Alloc { size, addr } | Op::Free { size, addr } => self.lives.renew(addr, size),
            _ => self.order(number, at),
        }
    }

    fn lock_number(&mut self, lock: LockId) -> u32 {
        if let Some(known) = self.locks.get(&lock) {
            return *known;
        }
        let number = self.lock_ids.len() as u32;
        self.locks.insert(lock, number);
        self.lock_ids.push(lock);
        self.holders.push(Vec::new());
        number
    }

    fn acquire(&mut self, actor: u32, at: &RawStep, lock: LockId, mode: LockMode) {
        let number = self.lock_number(lock);
        // If others hold it, the driver has repaired an incomplete trace: their release was lost.
        let excluded = |(holder, held): &&(u32, LockMode)| {
            *holder != actor && (mode == LockMode::Exclusive || *held == LockMode::Exclusive)
        };
        let lost: Vec<_> = self.holders[number as usize].iter().filter(excluded).copied().collect();
        for (holder, mode) in lost {
            let release = RawStep { moment: at.moment, op: Op::Release { lock, mode } };
            let made_up = self.actors[holder as usize].made_up + 1;
            self.change(holder, &release, Effect::Release(number, mode));
            self.actors[holder as usize].made_up = made_up;
        }
        self.change(actor, at, Effect::Acquire(number, mode));
    }

    fn change(&mut self, actor: u32, at: &RawStep, effect: Effect) {
        let record = &mut self.actors[actor as usize];
        let mut held = record.held.to_vec();
        match effect {
            Effect::Nothing => {}
            Effect::Acquire(lock, mode) => {
                held.push((lock, mode));
                self.holders[lock as usize].push((actor, mode));
            }
            Effect::Release(lock, mode) => {
                held.retain(|other| *other != (lock, mode));
                self.holders[lock as usize].retain(|other| *other != (actor, mode));
            }
        }
        record.held = held.into();
        self.push(actor, at, effect, NONE, &[]);
    }

    fn spawn(&mut self, parent: u32, at: &RawStep, child: Actor) {
        let number = self.actors.len() as u32;
        let place = self.push(parent, at, Effect::Nothing, number, &[]);
        self.add(Record::new(child, Some(parent), at.moment, Some(place)));
        // A wait is for tasks; threads are joined one by one.
        self.actors[parent as usize].scope().push((number, matches!(child, Actor::Task(_))));
    }

    /// The descendants whose end a task that has ended does not imply.
    fn left_behind(&mut self, actor: u32) -> Vec<(u32, bool)> {
        let scopes = std::mem::take(&mut self.actors[actor as usize].scopes);
        scopes.into_iter().flatten().map(|(left, _)| (left, false)).collect()
    }

    fn wait(&mut self, actor: u32, at: &RawStep) {
        let mut needs = Vec::new();
        let scopes = std::mem::take(&mut self.actors[actor as usize].scopes);
        let mut rest = Vec::with_capacity(scopes.len());
        for scope in scopes {
            let mut left = Vec::new();
            for (descendant, child) in scope {
                if child {
                    needs.extend(self.end_of(descendant));
                    left.append(&mut self.left_behind(descendant));
                } else {
                    left.push((descendant, false));
                }
            }
            rest.push(left);
        }
        self.actors[actor as usize].scopes = rest;
        self.push(actor, at, Effect::Nothing, NONE, &needs);
    }

    fn finish(&mut self, actor: u32, at: &RawStep) {
        let mut needs = Vec::new();
        let mut within = self.actors[actor as usize].scopes.pop().unwrap_or_default();
        while let Some((descendant, _)) = within.pop() {
            needs.extend(self.end_of(descendant));
            within.append(&mut self.left_behind(descendant));
        }
        self.push(actor, at, Effect::Nothing, NONE, &needs);
    }

    fn join(&mut self, actor: u32, at: &RawStep, other: Actor) {
        let other = self.by_actor.get(&other).copied().filter(|other| *other != actor);
        let needs: Vec<Place> = other.and_then(|other| self.end_of(other)).into_iter().collect();
        self.push(actor, at, Effect::Nothing, other.unwrap_or(NONE), &needs);
    }

    /// The same rules as in [`crate::replay::tasks`].
    fn atomic(&mut self, actor: u32, at: &RawStep) {
        let Op::Atomic { kind, order, addr, .. } = at.op else { return };
        let mut needs = Vec::new();
        if kind != AtomicKind::Store
            && let Some(seen) = self.atomics.get(&addr.0)
        {
            if order.acquires() {
                needs.clone_from(seen);
            } else {
                signal_all(&mut self.actors[actor as usize].seen, seen);
            }
        }
        let publishes = kind != AtomicKind::Load && order.releases();
        let mut published = Vec::new();
        if publishes || !needs.is_empty() || self.records_all {
            let place = self.push(actor, at, Effect::Nothing, NONE, &needs);
            if publishes || !needs.is_empty() {
                published.push(place);
            }
        }
        if !publishes {
            published.clone_from(&self.actors[actor as usize].fenced);
        }
        match kind {
            AtomicKind::Load => {}
            AtomicKind::ReadModifyWrite if published.is_empty() => {}
            AtomicKind::ReadModifyWrite => signal_all(self.atomics.entry(addr.0).or_default(), &published),
            AtomicKind::Store if published.is_empty() => {
                self.atomics.remove(&addr.0);
            }
            AtomicKind::Store => {
                self.atomics.insert(addr.0, published);
            }
        }
    }

    /// Operations that put tasks in order beside the tree.
    fn order(&mut self, actor: u32, at: &RawStep) {
        let needs = match at.op {
            Op::Wait { condition } => self.conditions.get(&condition.0).cloned().unwrap_or_default(),
            Op::HappensAfter { token } => self.tokens.get(&token).cloned().unwrap_or_default(),
            Op::BarrierLeave { barrier } => {
                let state = self.barriers.entry(barrier).or_default();
                let needs = state.leave(at.moment.thread).cloned().unwrap_or_default();
                state.drop_finished();
                needs
            }
            Op::Fence { order } if order.acquires() => std::mem::take(&mut self.actors[actor as usize].seen),
            Op::Notify { .. } | Op::HappensBefore { .. } | Op::BarrierArrive { .. } | Op::Fence { .. } => {
                Vec::new()
            }
            _ => return,
        };
        let place = self.push(actor, at, Effect::Nothing, NONE, &needs);
        match at.op {
            Op::Notify { condition, .. } => {
                signal(self.conditions.entry(condition.0).or_default(), place);
            }
            Op::HappensBefore { token } => signal(self.tokens.entry(token).or_default(), place),
            Op::BarrierArrive { barrier } => {
                if let Some(signals) = self.barriers.entry(barrier).or_default().arrive(at.moment.thread) {
                    signal(signals, place);
                }
            }
            Op::Fence { order } if order.releases() => {
                self.actors[actor as usize].fenced = vec![place];
            }
            _ => {}
        }
    }

    /// All that is recorded comes before all that follows, which the task that acted last goes on with.
    pub(super) fn clear(&mut self) {
        let kept = std::mem::take(self);
        self.before = kept.position;
        self.position = kept.position;
        let mut ancestors = Vec::new();
        let mut at = (!kept.actors.is_empty()).then_some(kept.latest);
        while let Some(number) = at {
            ancestors.push(number);
            at = kept.actors[number as usize].parent;
        }
        let mut parent = None;
        for number in ancestors.into_iter().rev() {
            let record = &kept.actors[number as usize];
            parent = Some(self.add(Record::new(record.actor, parent, record.spawned, None)));
        }
        let Some(acting) = parent else { return };
        self.latest = acting;
        let mut held = Vec::new();
        // A lock that an ended task has never released can be taken only if its release was lost.
        for (lock, mode) in kept.actors[kept.latest as usize].held.iter() {
            let lock = self.lock_number(kept.lock_ids[*lock as usize]);
            self.holders[lock as usize].push((acting, *mode));
            self.held_before.push((acting, lock, *mode));
            held.push((lock, *mode));
        }
        self.actors[acting as usize].held_before = held.len() as u32;
        self.actors[acting as usize].held = held.into();
    }
}
