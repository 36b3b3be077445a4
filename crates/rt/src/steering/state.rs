//! How far a steered run has come, and who must wait.
//!
//! The points before the goal, and those of an ordered goal, happen one after the other: who comes to a later one waits for its
//! turn. Of a goal that is to come together, whoever comes first waits for the other.
//!
//! Who waits at a point while it holds a lock may keep the others from getting there. So the place is remembered where such a thread
//! took its first lock, the *gate* of the point: from then on, and in the next try, threads wait there.
//!
//! A plain access is told right before it is done. It has happened when its thread is seen again, or after a while: a thread may go
//! on where nothing is told.

use super::plan::{Goal, Kind, Plan, Whole};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// At one point threads are held no more often than this: what has not shown itself by then will not, and the program is to end.
pub(super) const MOST_HOLDS: u32 = 20;

/// Gates of one point.
const MOST_GATES: usize = 4;

/// After so long an access that was about to be done has happened.
const HAPPENED_AFTER: Duration = Duration::from_millis(20);

/// What a thread is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Go,
    /// Ask again soon.
    Wait,
}

/// Something that a thread is about to do at a place of the plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Arrival {
    /// The points that have the place: a bit each.
    pub(super) points: u64,
    /// The memory, or the first byte of a lock.
    pub(super) bytes: Range<usize>,
    pub(super) writes: bool,
    pub(super) atomic: bool,
}

impl Arrival {
    fn is_at(&self, point: usize) -> bool {
        self.points >> point & 1 == 1
    }
}

/// How far the run has come.
#[derive(Debug, Default)]
pub(super) struct State {
    /// So many points have happened.
    next: usize,
    /// What a thread was about to do when it was seen last.
    under_way: Option<UnderWay>,
    happened_after: Duration,
    /// The thread of each actor.
    actors: Vec<Option<u32>>,
    memory: Vec<Option<Range<usize>>>,
    /// Who waits for another to come together.
    waiting: Vec<(u32, Arrival)>,
    /// How often somebody came to each point.
    pub(super) arrivals: Vec<u64>,
    /// How often somebody was held at each point, and in the midst of the goal.
    holds: Vec<u32>,
    holds_between: u32,
    /// Arrivals at the goal.
    attempts: u64,
    /// The locks that each thread holds, with where it took them.
    locks: FxHashMap<u32, Vec<(usize, usize)>>,
    /// The lock that each thread was about to take last, and where: it may be told from another place that it has it.
    awaited: FxHashMap<u32, (usize, usize)>,
    /// Where threads took their first lock before each point.
    pub(super) gates: Vec<Vec<usize>>,
    /// The thread that was let through the gate of the next point.
    let_through: Option<u32>,
    /// The open blocks of each thread: for each whether it is the one that was to be whole.
    blocks: FxHashMap<u32, Vec<bool>>,
    /// What was so when the first point of the goal happened.
    locks_at_first: usize,
    blocks_at_first: usize,
    held_at_lock: bool,
    held_outside: bool,
    /// The point at which a thread waited when the goal was reached.
    pub(super) confirmed: Option<usize>,
}

/// What a thread was about to do.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    thread: u32,
    point: usize,
    since: Instant,
}

impl State {
    pub(super) fn new(plan: &Plan) -> Self {
        let count = plan.points.len();
        let numbers = plan.points.iter().flat_map(|point| [point.actor, point.memory]).flatten();
        let most = numbers.max().map_or(0, |most| most + 1);
        Self {
            actors: vec![None; most],
            memory: vec![None; most],
            arrivals: vec![0; count],
            holds: vec![0; count],
            gates: plan.points.iter().map(|point| point.gates.clone()).collect(),
            happened_after: HAPPENED_AFTER,
            ..Self::default()
        }
    }

    /// True if it matters what a thread does beside the points.
    pub(super) fn is_attentive(&self, plan: &Plan) -> bool {
        self.confirmed.is_none() && (self.under_way.is_some() || self.is_inside(plan))
    }

    /// The same if two are to come together: who takes a lock for it comes when the other waits.
    fn at_gate_of_meeting(&mut self, plan: &Plan, me: u32, place: usize, again: bool) -> Order {
        let sides = [(plan.before, plan.before + 1), (plan.before + 1, plan.before)];
        let is_gate = |point: usize| self.gates[point].contains(&place);
        let gated: Vec<(usize, usize)> =
            sides.into_iter().filter(|(mine, other)| is_gate(*mine) && plan.points[*other].holds).collect();
        let Some(&(point, _)) = gated.first() else { return Order::Go };
        let is_awaited =
            |other: usize| self.waiting.iter().any(|(thread, there)| *thread != me && there.is_at(other));
        if gated.iter().any(|(_, other)| is_awaited(*other)) {
            return Order::Go;
        }
        if gated.len() == 2 && self.let_through.is_none_or(|thread| thread == me) {
            // All take it here: one of them must come first.
            self.let_through = Some(me);
            return Order::Go;
        }
        if self.may_wait(point, again) { Order::Wait } else { Order::Go }
    }

    /// True if an ordered goal has begun.
    fn is_inside(&self, plan: &Plan) -> bool {
        plan.goal == Goal::Ordered && self.next > plan.before
    }

    /// The thread whose region is torn, as far as it is known.
    fn owner(&self, plan: &Plan) -> Option<u32> {
        self.actors[plan.points[plan.last()].actor?]
    }

    /// A thread goes on: what it was about to do has happened.
    pub(super) fn seen(&mut self, me: u32) {
        if self.under_way.is_some_and(|under_way| under_way.thread == me) {
            self.happened();
        }
    }

    /// What was under way has happened.
    fn happened(&mut self) {
        if let Some(UnderWay { point, .. }) = self.under_way.take() {
            self.advance(point + 1);
        }
    }

    fn advance(&mut self, next: usize) {
        (self.next, self.let_through) = (next, None);
    }

    /// The same if it was long ago, for a thread that waits.
    fn may_have_happened(&mut self) {
        if self.under_way.is_some_and(|under_way| under_way.since.elapsed() >= self.happened_after) {
            self.happened();
        }
    }

    /// A thread is about to access memory, to wait for a lock or to release one. `again`: it waits already.
    pub(super) fn arrive(&mut self, plan: &Plan, me: u32, arrival: &Arrival, again: bool) -> Order {
        if !again {
            self.seen(me);
            self.count(plan, arrival, |kind| kind != Kind::Acquire);
            self.note_gate(me, arrival);
        } else {
            self.may_have_happened();
        }
        if self.confirmed.is_some() {
            return Order::Go;
        }
        if plan.goal == Goal::Together && self.next == plan.before && self.under_way.is_none() {
            return self.meet(plan, me, arrival, again);
        }
        self.in_turn(plan, me, arrival, again)
    }

    fn count(&mut self, plan: &Plan, arrival: &Arrival, counts: impl Fn(Kind) -> bool) {
        for (point, count) in self.arrivals.iter_mut().enumerate() {
            *count += u64::from(arrival.is_at(point) && counts(plan.points[point].kind));
        }
    }

    /// Remembers where a thread that comes to points took its first lock.
    fn note_gate(&mut self, me: u32, arrival: &Arrival) {
        let Some(&(_, gate)) = self.locks.get(&me).and_then(|locks| locks.first()) else { return };
        for (point, gates) in self.gates.iter_mut().enumerate() {
            if arrival.is_at(point) && !gates.contains(&gate) && gates.len() < MOST_GATES {
                gates.push(gate);
            }
        }
    }

    /// A thread is about to take a lock, at a place: it waits if it is the first one, and the gate of a later point.
    pub(super) fn at_gate(
        &mut self,
        plan: &Plan,
        me: u32,
        (lock, place): (usize, usize),
        again: bool,
    ) -> Order {
        if again {
            self.may_have_happened();
        } else {
            self.seen(me);
            self.awaited.insert(me, (lock, place));
        }
        let next = self.next;
        let holds_none = self.locks.get(&me).is_none_or(Vec::is_empty);
        if self.confirmed.is_some() || !holds_none {
            return Order::Go;
        }
        if plan.goal == Goal::Together && next >= plan.before {
            return self.at_gate_of_meeting(plan, me, place, again);
        }
        let is_gate = |point: usize| self.gates[point].contains(&place);
        if is_gate(next)
            && self.let_through.is_none_or(|thread| thread == me)
            && self.is_actor(plan, next, me)
        {
            // It may be the one that comes next.
            self.let_through = Some(me);
            return Order::Go;
        }
        let first = if self.under_way.is_some() { next } else { next + 1 };
        let later = (first..plan.points.len())
            .find(|&point| is_gate(point) && plan.points[point].holds && self.is_actor(plan, point, me));
        match later {
            Some(point) if self.may_wait(point, again) => Order::Wait,
            _ => Order::Go,
        }
    }

    /// The two points of the goal are to come together.
    fn meet(&mut self, plan: &Plan, me: u32, arrival: &Arrival, again: bool) -> Order {
        let sides = [(plan.before, plan.before + 1), (plan.before + 1, plan.before)];
        for (_, other) in sides.into_iter().filter(|(mine, _)| arrival.is_at(*mine)) {
            let conflicts = |(thread, there): &&(u32, Arrival)| {
                *thread != me
                    && there.is_at(other)
                    && overlap(&there.bytes, &arrival.bytes)
                    && (there.writes || arrival.writes)
                    && !(there.atomic && arrival.atomic)
            };
            if self.waiting.iter().any(|waiting| conflicts(&waiting)) {
                self.confirmed = Some(other);
                return Order::Go;
            }
        }
        if self.waiting.iter().any(|(thread, _)| *thread == me) {
            return Order::Wait;
        }
        let held =
            sides.iter().map(|side| side.0).find(|&point| arrival.is_at(point) && plan.points[point].holds);
        let Some(point) = held else { return Order::Go };
        self.attempts += 1;
        if self.attempts <= plan.skip || !self.may_wait(point, again) {
            return Order::Go;
        }
        self.waiting.push((me, arrival.clone()));
        Order::Wait
    }

    /// The points come one after the other.
    fn in_turn(&mut self, plan: &Plan, me: u32, arrival: &Arrival, again: bool) -> Order {
        let next = self.next;
        let ordered = plan.goal == Goal::Ordered;
        if self.under_way.is_none() && arrival.is_at(next) && self.fits(plan, next, me, &arrival.bytes) {
            if plan.points[next].kind == Kind::Acquire {
                // It is done when the lock is had.
                return Order::Go;
            }
            if ordered && next == plan.before && !again {
                self.attempts += 1;
                if self.attempts <= plan.skip {
                    return Order::Go;
                }
            }
            self.take(plan, next, me, &arrival.bytes);
            return Order::Go;
        }
        if self.is_inside(plan)
            && self.owner(plan) == Some(me)
            && self.under_way.is_none()
            && arrival.is_at(plan.before)
            && plan.points[plan.before].kind != Kind::Acquire
        {
            // The region is left and entered anew.
            self.reset(plan);
            self.take(plan, plan.before, me, &arrival.bytes);
            return Order::Go;
        }
        let first = if self.under_way.is_some() { next } else { next + 1 };
        let later = (first..plan.points.len()).find(|&point| {
            arrival.is_at(point) && plan.points[point].holds && self.fits(plan, point, me, &arrival.bytes)
        });
        match later {
            Some(point) if self.may_wait(point, again) => {
                let known = self.waiting.iter().any(|(thread, _)| *thread == me);
                if !ordered && point >= plan.before && !known {
                    // It may be met as soon as all before has happened, whoever notices that first.
                    self.waiting.push((me, arrival.clone()));
                }
                Order::Wait
            }
            _ => Order::Go,
        }
    }

    fn may_wait(&mut self, point: usize, again: bool) -> bool {
        if again {
            return true;
        }
        self.holds[point] += 1;
        self.holds[point] <= MOST_HOLDS
    }

    /// True if a thread, with memory, can be the one of a point.
    fn fits(&self, plan: &Plan, point: usize, me: u32, bytes: &Range<usize>) -> bool {
        let by_actor = self.is_actor(plan, point, me);
        let point = &plan.points[point];
        let known = point.memory.and_then(|memory| self.memory[memory].as_ref());
        by_actor && known.is_none_or(|known| overlap(known, bytes))
    }

    /// True if a thread can be the one of a point.
    fn is_actor(&self, plan: &Plan, point: usize, me: u32) -> bool {
        plan.points[point].actor.is_none_or(|actor| match self.actors[actor] {
            Some(thread) => thread == me,
            None => !self.actors.contains(&Some(me)),
        })
    }

    /// A thread is about to do a point, or has done it.
    fn take(&mut self, plan: &Plan, point: usize, me: u32, bytes: &Range<usize>) {
        let Plan { points, goal, before, .. } = plan;
        if let Some(actor) = points[point].actor {
            self.actors[actor] = Some(me);
        }
        if let Some(memory) = points[point].memory {
            self.memory[memory].get_or_insert_with(|| bytes.clone());
        }
        if *goal == Goal::Ordered && point == *before {
            self.locks_at_first = self.locks_held(me);
            self.blocks_at_first = self.blocks.get(&me).map_or(0, Vec::len);
            (self.held_at_lock, self.held_outside) = (false, false);
        }
        if point == plan.last() {
            self.confirmed = Some(point);
        } else if points[point].kind == Kind::Acquire {
            self.advance(point + 1);
        } else {
            self.under_way = Some(UnderWay { thread: me, point, since: Instant::now() });
        }
    }

    /// The goal begins anew.
    fn reset(&mut self, plan: &Plan) {
        self.advance(self.next.min(plan.before));
        self.under_way = None;
        for point in &plan.points[plan.before..] {
            point.actor.into_iter().for_each(|actor| self.actors[actor] = None);
            point.memory.into_iter().for_each(|memory| self.memory[memory] = None);
        }
    }

    /// A thread has waited long enough.
    pub(super) fn give_up(&mut self, plan: &Plan, me: u32, between: bool) {
        self.waiting.retain(|(thread, _)| *thread != me);
        self.let_through = None;
        if !between && self.is_inside(plan) && self.owner(plan) == Some(me) {
            self.reset(plan);
        }
    }

    /// A thread does something beside the points; `at_lock`: it is about to wait for a lock. If it is in the midst of the goal
    /// and does not hold any more what it held at the first point, or is about to hold what the others may need, they come now.
    pub(super) fn between(&mut self, plan: &Plan, me: u32, at_lock: bool, again: bool) -> Order {
        if again {
            self.may_have_happened();
        } else {
            self.seen(me);
        }
        let waits = self.confirmed.is_none()
            && self.is_inside(plan)
            && self.owner(plan) == Some(me)
            && plan.points[self.next].actor != plan.points[plan.last()].actor
            && plan.points[plan.last()].holds;
        if !waits {
            return Order::Go;
        }
        if again {
            return Order::Wait;
        }
        let locks = self.locks_held(me);
        let held = match at_lock {
            true if locks <= self.locks_at_first => &mut self.held_at_lock,
            false if locks < self.locks_at_first => &mut self.held_outside,
            _ => return Order::Go,
        };
        if std::mem::replace(held, true) || self.holds_between >= MOST_HOLDS {
            return Order::Go;
        }
        self.holds_between += 1;
        Order::Wait
    }

    fn locks_held(&self, me: u32) -> usize {
        self.locks.get(&me).map_or(0, Vec::len)
    }

    /// A thread has a lock, which it took at a place.
    pub(super) fn acquired(&mut self, plan: &Plan, me: u32, arrival: &Arrival, place: usize) {
        self.seen(me);
        self.note_gate(me, arrival);
        let lock = arrival.bytes.start;
        let awaited = self.awaited.remove(&me).filter(|awaited| awaited.0 == lock);
        self.locks.entry(me).or_default().push(awaited.unwrap_or((lock, place)));
        self.count(plan, arrival, |kind| kind == Kind::Acquire);
        if self.confirmed.is_some() || self.next >= plan.points.len() {
            return;
        }
        if let Some(UnderWay { point, .. }) = self.under_way
            && plan.points[point].kind == Kind::Release
            && plan.points[point].memory.and_then(|memory| self.memory[memory].clone())
                == Some(arrival.bytes.clone())
        {
            // It could not be had before that.
            self.happened();
        }
        let next = self.next;
        let is_next = self.under_way.is_none()
            && arrival.is_at(next)
            && plan.points[next].kind == Kind::Acquire
            && self.fits(plan, next, me, &arrival.bytes);
        if is_next {
            self.take(plan, next, me, &arrival.bytes);
        }
    }

    /// A thread is about to release a lock: to be told before it arrives at a point where it does so.
    pub(super) fn releases(&mut self, plan: &Plan, me: u32, lock: usize) {
        self.seen(me);
        let locks = self.locks.entry(me).or_default();
        if let Some(at) = locks.iter().rposition(|(held, _)| *held == lock) {
            locks.remove(at);
        }
        if locks.is_empty() {
            self.left(plan, me, Whole::Section);
        }
    }

    /// A thread has begun an atomic block; `meant`: that was to be whole.
    pub(super) fn block_begins(&mut self, me: u32, meant: bool) {
        self.seen(me);
        self.blocks.entry(me).or_default().push(meant);
    }

    /// A thread ends its innermost atomic block.
    pub(super) fn block_ends(&mut self, plan: &Plan, me: u32) {
        let blocks = self.blocks.entry(me).or_default();
        let meant = blocks.pop() == Some(true);
        let left = blocks.len();
        self.seen(me);
        if left < self.blocks_at_first && self.owner(plan) == Some(me) {
            // It was open then.
            self.blocks_at_first = left;
            if meant {
                self.left(plan, me, Whole::Block);
            }
        }
    }

    /// A thread leaves what was to be whole, if that was of this kind.
    pub(super) fn left(&mut self, plan: &Plan, me: u32, whole: Whole) {
        self.seen(me);
        let inside = self.confirmed.is_none() && self.is_inside(plan);
        if plan.whole == whole && inside && self.owner(plan) == Some(me) {
            self.reset(plan);
        }
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests;
