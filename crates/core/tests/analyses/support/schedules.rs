//! Every schedule of the operations of a trace, by brute force: what the analyses of tasks are held to.
//!
//! A schedule keeps the order of each task, starts a task after its spawn, waits where the trace waited, respects locks, and
//! lets an operation that has received something (a notification, a barrier, a token, a release) come after what it was
//! received from. Everything else may come in any order.
//!
//! **Search.** An operation that neither takes a lock nor is looked for only makes more operations possible. So it is done
//! at once wherever it can be done, and all orders of the others are tried.

use keirin_core::event::{
    AccessKind, Addr, AtomicKind, Event, GroupId, LockId, LockMode, Op, RegionId, ThreadId,
};
use keirin_core::tasks::Actor;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A task, and which of its operations.
pub(crate) type Place = (usize, usize);

struct Operation {
    needs: Vec<Place>,
    acquires: Option<(LockId, LockMode)>,
}

/// An access that is not to be disregarded.
pub(crate) struct Access {
    pub(crate) place: Place,
    pub(crate) line: u64,
    kind: AccessKind,
    atomic: bool,
    /// Each byte, with the number of times that it was handed out or freed before.
    bytes: BTreeSet<(u64, usize)>,
    step: usize,
    pub(crate) block: Option<(usize, RegionId)>,
    held: Vec<(LockId, LockMode)>,
}

/// What must be whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Regions {
    Steps,
    /// Blocks, and what a step does to members of groups outside of them.
    Marked,
}

#[derive(Default)]
struct Task {
    is_thread: bool,
    operations: Vec<Operation>,
    spawned: Option<Place>,
    /// Tasks that must have ended before it starts.
    after: Vec<usize>,
    /// The children with the number of finish scopes of this task that were open at the spawn.
    children: Vec<(usize, usize)>,
    scopes: usize,
    step: usize,
    blocks: usize,
    block: Option<(usize, RegionId)>,
    ignoring: usize,
    /// The locks held after each operation, the first entry being those held before all.
    held: Vec<Vec<(LockId, LockMode)>>,
    /// The locks with how often they were taken.
    depths: BTreeMap<(LockId, LockMode), usize>,
    fenced: Vec<Place>,
    seen: Vec<Place>,
}

#[derive(Default)]
struct Generations {
    arrivals: Vec<Vec<Place>>,
    left: bool,
    waiting: HashMap<ThreadId, usize>,
}

/// The operations of a trace.
#[derive(Default)]
pub(crate) struct Schedules {
    tasks: Vec<Task>,
    pub(crate) accesses: Vec<Access>,
    members: Vec<(GroupId, Addr, u64)>,
    numbers: HashMap<Actor, usize>,
    stacks: HashMap<ThreadId, Vec<usize>>,
    instances: usize,
    conditions: HashMap<u32, Vec<Place>>,
    tokens: HashMap<u64, Vec<Place>>,
    atomics: HashMap<u64, Vec<Place>>,
    barriers: HashMap<u32, Generations>,
    handed_out: Vec<(u64, u64)>,
}

impl Schedules {
    /// The operations of a trace that can have happened.
    pub(crate) fn new(events: &[(u64, Event)]) -> Self {
        let mut schedules = Self::default();
        for (line, event) in events {
            schedules.add(*line, event);
        }
        schedules
    }

    fn number(&mut self, actor: Actor) -> usize {
        let next = self.tasks.len();
        let number = *self.numbers.entry(actor).or_insert(next);
        if number == next {
            self.instances += 1;
            let is_thread = matches!(actor, Actor::Thread(_));
            self.tasks.push(Task {
                is_thread,
                held: vec![Vec::new()],
                step: self.instances,
                ..Task::default()
            });
        }
        number
    }

    /// The last operation so far of a task, or its spawn if there is none.
    fn end_of(&self, task: usize) -> Option<Place> {
        match self.tasks[task].operations.len() {
            0 => self.tasks[task].spawned,
            count => Some((task, count - 1)),
        }
    }

    fn push(&mut self, task: usize, mut needs: Vec<Place>, acquires: Option<(LockId, LockMode)>) -> Place {
        if self.tasks[task].operations.is_empty() {
            needs.extend(self.tasks[task].spawned);
            for before in self.tasks[task].after.clone() {
                needs.extend(self.end_of(before));
            }
        }
        let held = self.tasks[task].depths.iter().filter(|(_, depth)| **depth > 0).map(|(lock, _)| *lock);
        let held = held.collect();
        let record = &mut self.tasks[task];
        record.held.push(held);
        record.operations.push(Operation { needs, acquires });
        (task, record.operations.len() - 1)
    }

    fn construct(&mut self, task: usize) {
        self.instances += 2;
        let record = &mut self.tasks[task];
        record.step = self.instances;
        if let Some((instance, _)) = &mut record.block {
            *instance = self.instances - 1;
        }
    }

    fn descendants(&self, task: usize, into: &mut Vec<usize>) {
        into.push(task);
        for (child, _) in &self.tasks[task].children {
            self.descendants(*child, into);
        }
    }

    fn ends(&self, tasks: &[usize]) -> Vec<Place> {
        tasks.iter().filter_map(|task| self.end_of(*task)).collect()
    }

    fn add(&mut self, line: u64, event: &Event) {
        let stack = self.stacks.entry(event.thread).or_default();
        let current = stack.last().copied();
        if let Op::TaskBegin { task } = event.op {
            let number = self.number(Actor::Task(task));
            self.stacks.entry(event.thread).or_default().push(number);
            if self.tasks[number].operations.is_empty() {
                self.push(number, Vec::new(), None);
            }
            return;
        }
        let task = current.unwrap_or_else(|| self.number(Actor::Thread(event.thread)));
        match event.op {
            Op::TaskSuspend { .. } => {
                self.stacks.entry(event.thread).or_default().pop();
            }
            Op::TaskEnd { .. } => {
                self.push(task, Vec::new(), None);
                self.stacks.entry(event.thread).or_default().pop();
            }
            Op::Spawn { task: child } => self.spawn(task, Actor::Task(child)),
            Op::Fork { child } => self.spawn(task, Actor::Thread(child)),
            Op::TaskWait => {
                // Threads are joined one by one.
                let children = self.tasks[task].children.iter().map(|(child, _)| *child);
                let children: Vec<usize> = children.filter(|child| !self.tasks[*child].is_thread).collect();
                let needs = self.ends(&children);
                self.push(task, needs, None);
                self.construct(task);
            }
            Op::TaskJoin { task: other } => self.join(task, Actor::Task(other)),
            Op::Join { child } => self.join(task, Actor::Thread(child)),
            Op::TaskOrder { before, after } => {
                let (before, after) = (self.number(Actor::Task(before)), self.number(Actor::Task(after)));
                self.tasks[after].after.push(before);
            }
            Op::FinishBegin => {
                self.tasks[task].scopes += 1;
                self.push(task, Vec::new(), None);
                self.construct(task);
            }
            Op::FinishEnd => {
                let depth = self.tasks[task].scopes;
                let mut within = Vec::new();
                for (child, at) in &self.tasks[task].children {
                    if *at >= depth {
                        self.descendants(*child, &mut within);
                    }
                }
                // What the scope has waited for belongs to none any more.
                self.tasks[task].children.iter_mut().for_each(|(_, at)| *at = (*at).min(depth - 1));
                self.tasks[task].scopes -= 1;
                let needs = self.ends(&within);
                self.push(task, needs, None);
                self.construct(task);
            }
            Op::Acquire { lock, mode } => {
                let depth = self.tasks[task].depths.entry((lock, mode)).or_default();
                *depth += 1;
                if *depth == 1 {
                    self.push(task, Vec::new(), Some((lock, mode)));
                }
            }
            Op::Release { lock, mode } => {
                let depth = self.tasks[task].depths.entry((lock, mode)).or_default();
                *depth -= 1;
                if *depth == 0 {
                    self.push(task, Vec::new(), None);
                }
            }
            Op::Begin { region } => {
                self.instances += 1;
                let record = &mut self.tasks[task];
                record.blocks += 1;
                if record.blocks == 1 {
                    record.block = Some((self.instances, region));
                }
            }
            Op::End => {
                let record = &mut self.tasks[task];
                record.blocks -= 1;
                if record.blocks == 0 {
                    record.block = None;
                }
            }
            Op::Access { kind, size, addr } => {
                let place = self.push(task, Vec::new(), None);
                self.access(line, place, kind, false, addr, u64::from(size));
            }
            Op::Atomic { size, addr, kind, .. } => {
                let place = self.atomic(task, event.op);
                self.access(line, place, kind.access_kind(), true, addr, u64::from(size));
            }
            Op::Alloc { size, addr } | Op::Free { size, addr } => {
                self.handed_out.push((addr.0, addr.0 + u64::from(size)));
            }
            Op::Group { size, group, addr } => self.members.push((group, addr, u64::from(size))),
            Op::IgnoreBegin => self.tasks[task].ignoring += 1,
            Op::IgnoreEnd => self.tasks[task].ignoring -= 1,
            _ => self.synchronize(task, event),
        }
    }

    fn spawn(&mut self, task: usize, child: Actor) {
        let place = self.push(task, Vec::new(), None);
        let child = self.number(child);
        self.tasks[child].spawned = Some(place);
        let scopes = self.tasks[task].scopes;
        self.tasks[task].children.push((child, scopes));
        self.construct(task);
    }

    fn join(&mut self, task: usize, other: Actor) {
        let other = self.number(other);
        let needs = self.ends(&[other]);
        self.push(task, needs, None);
        self.construct(task);
    }

    fn access(&mut self, line: u64, place: Place, kind: AccessKind, atomic: bool, addr: Addr, size: u64) {
        let life = |byte| self.handed_out.iter().filter(|(from, to)| (*from..*to).contains(&byte)).count();
        let bytes = (addr.0..addr.0 + size).map(|byte| (byte, life(byte))).collect();
        let task = &self.tasks[place.0];
        if task.ignoring == 0 {
            let held = task.held[place.1].clone();
            let (step, block) = (task.step, task.block);
            self.accesses.push(Access { place, line, kind, atomic, bytes, step, block, held });
        }
    }

    fn atomic(&mut self, task: usize, op: Op) -> Place {
        let Op::Atomic { kind, order, addr, .. } = op else { unreachable!("called for atomic operations") };
        let available = self.atomics.get(&addr.0).cloned().unwrap_or_default();
        let mut needs = Vec::new();
        if kind != AtomicKind::Store {
            if order.acquires() {
                needs = available.clone();
            } else {
                self.tasks[task].seen.extend(&available);
            }
        }
        let place = self.push(task, needs, None);
        let published = if order.releases() { vec![place] } else { self.tasks[task].fenced.clone() };
        match kind {
            AtomicKind::Load => {}
            AtomicKind::Store => {
                self.atomics.insert(addr.0, published);
            }
            AtomicKind::ReadModifyWrite => self.atomics.entry(addr.0).or_default().extend(published),
        }
        place
    }

    fn synchronize(&mut self, task: usize, event: &Event) {
        match event.op {
            Op::Notify { condition, .. } => {
                let place = self.push(task, Vec::new(), None);
                self.conditions.entry(condition.0).or_default().push(place);
            }
            Op::Wait { condition } => {
                let needs = self.conditions.get(&condition.0).cloned().unwrap_or_default();
                self.push(task, needs, None);
            }
            Op::HappensBefore { token } => {
                let place = self.push(task, Vec::new(), None);
                self.tokens.entry(token).or_default().push(place);
            }
            Op::HappensAfter { token } => {
                let needs = self.tokens.get(&token).cloned().unwrap_or_default();
                self.push(task, needs, None);
            }
            Op::BarrierArrive { barrier } => {
                let place = self.push(task, Vec::new(), None);
                let state = self.barriers.entry(barrier.0).or_default();
                if state.arrivals.is_empty() || std::mem::take(&mut state.left) {
                    state.arrivals.push(Vec::new());
                }
                let generation = state.arrivals.len() - 1;
                state.arrivals[generation].push(place);
                state.waiting.insert(event.thread, generation);
            }
            Op::BarrierLeave { barrier } => {
                let state = self.barriers.entry(barrier.0).or_default();
                let generation = state.waiting[&event.thread];
                state.left |= generation + 1 == state.arrivals.len();
                let needs = state.arrivals[generation].clone();
                self.push(task, needs, None);
            }
            Op::Fence { order } => {
                let needs =
                    if order.acquires() { std::mem::take(&mut self.tasks[task].seen) } else { Vec::new() };
                let place = self.push(task, needs, None);
                if order.releases() {
                    self.tasks[task].fenced = vec![place];
                }
            }
            _ => {}
        }
    }

    fn is_done(positions: &[usize], place: Place) -> bool {
        positions[place.0] > place.1
    }

    /// True if a task can go on, with some operations put before others.
    fn can_go_on(&self, positions: &[usize], task: usize, before: &[(Place, Place)], locks: bool) -> bool {
        let place = (task, positions[task]);
        let Some(operation) = self.tasks[task].operations.get(place.1) else { return false };
        let excluded = |(lock, mode): &(LockId, LockMode)| {
            (0..self.tasks.len()).filter(|other| *other != task).any(|other| {
                self.tasks[other].held[positions[other]].iter().any(|(held, held_mode)| {
                    held == lock && (*mode == LockMode::Exclusive || *held_mode == LockMode::Exclusive)
                })
            })
        };
        operation.needs.iter().all(|need| Self::is_done(positions, *need))
            && before.iter().all(|(first, second)| *second != place || Self::is_done(positions, *first))
            && !(locks && operation.acquires.as_ref().is_some_and(excluded))
    }

    /// True if some schedule that keeps the given orders comes to a state for which `goal` holds. Operations in `stop` are
    /// not done.
    fn reaches(
        &self,
        before: &[(Place, Place)],
        stop: &[Place],
        locks: bool,
        goal: impl Fn(&[usize]) -> bool,
    ) -> bool {
        let mut seen: HashSet<Vec<usize>> = HashSet::new();
        let mut open = vec![vec![0; self.tasks.len()]];
        while let Some(mut positions) = open.pop() {
            // First all that does no harm.
            let mut moved = true;
            while moved {
                moved = false;
                for task in 0..self.tasks.len() {
                    while !stop.contains(&(task, positions[task]))
                        && self.tasks[task]
                            .operations
                            .get(positions[task])
                            .is_some_and(|op| op.acquires.is_none())
                        && self.can_go_on(&positions, task, before, locks)
                    {
                        positions[task] += 1;
                        moved = true;
                    }
                }
            }
            if goal(&positions) {
                return true;
            }
            if !seen.insert(positions.clone()) {
                continue;
            }
            assert!(seen.len() < 200_000, "too many schedules");
            for task in 0..self.tasks.len() {
                if !stop.contains(&(task, positions[task])) && self.can_go_on(&positions, task, before, locks)
                {
                    let mut next = positions.clone();
                    next[task] += 1;
                    open.push(next);
                }
            }
        }
        false
    }

    /// True if some schedule has all the given operations, in the given orders.
    pub(crate) fn in_order(&self, before: &[(Place, Place)], locks: bool) -> bool {
        let all = |positions: &[usize]| before.iter().all(|(_, second)| Self::is_done(positions, *second));
        self.reaches(before, &[], locks, all)
    }

    /// True if some schedule comes to a point at which both operations can be the next one.
    fn together(&self, a: Place, b: Place, locks: bool) -> bool {
        let next = |positions: &[usize], place: Place| {
            positions[place.0] == place.1 && self.can_go_on(positions, place.0, &[], locks)
        };
        self.reaches(&[], &[a, b], locks, |positions| next(positions, a) && next(positions, b))
    }

    /// The lines of all races; without locks those that there would be if nobody took any.
    pub(crate) fn races(&self, locks: bool) -> BTreeSet<(u64, u64)> {
        self.races_between(|a, b| !(a.atomic && b.atomic), locks)
    }

    /// The lines of all races between plain accesses if nobody took a lock.
    pub(crate) fn plain_races_without_locks(&self) -> BTreeSet<(u64, u64)> {
        self.races_between(|a, b| !a.atomic && !b.atomic, false)
    }

    fn races_between(&self, may: fn(&Access, &Access) -> bool, locks: bool) -> BTreeSet<(u64, u64)> {
        let mut races = BTreeSet::new();
        for (index, a) in self.accesses.iter().enumerate() {
            for b in &self.accesses[index + 1..] {
                if a.place.0 != b.place.0
                    && may(a, b)
                    && a.conflicts(b)
                    && self.together(a.place, b.place, locks)
                {
                    races.insert((a.line, b.line));
                }
            }
        }
        races
    }

    /// For each region and each access that some schedule puts between two of the region with which it conflicts: the lines
    /// of those two, and of that in between.
    pub(crate) fn tears(&self, regions: Regions) -> BTreeMap<(usize, u64), BTreeSet<[u64; 3]>> {
        let mut tears: BTreeMap<(usize, u64), BTreeSet<[u64; 3]>> = BTreeMap::new();
        for (first, last, instance) in self.pairs(regions) {
            for other in &self.accesses {
                let shared: BTreeSet<_> = first.bytes.intersection(&last.bytes).copied().collect();
                if other.place.0 != first.place.0
                    && !shared.is_disjoint(&other.bytes)
                    && first.conflicts(other)
                    && last.conflicts(other)
                    && self.in_order(&[(first.place, other.place), (other.place, last.place)], true)
                {
                    let lines = [first.line, other.line, last.line];
                    tears.entry((instance, other.line)).or_default().insert(lines);
                }
            }
        }
        tears
    }

    /// The region that an access belongs to.
    fn instance(&self, access: &Access, regions: Regions) -> Option<usize> {
        match (regions, access.block) {
            (Regions::Steps, _) => Some(access.step),
            (Regions::Marked, Some((instance, _))) => Some(instance),
            (Regions::Marked, None) => self.member(access).map(|_| access.step),
        }
    }

    /// All pairs of accesses of one region, with its number.
    fn pairs(&self, regions: Regions) -> Vec<(&Access, &Access, usize)> {
        let instance = |access: &Access| self.instance(access, regions);
        let mut pairs = Vec::new();
        for (index, first) in self.accesses.iter().enumerate() {
            let Some(number) = instance(first) else { continue };
            let same = |last: &&Access| instance(last) == Some(number);
            pairs.extend(self.accesses[index + 1..].iter().filter(same).map(|last| (first, last, number)));
        }
        pairs
    }

    /// The lines of a read under a lock, of another task's write, and of a write under a later hold of the same lock before
    /// which the step has not read again.
    pub(crate) fn gaps(&self) -> BTreeSet<[u64; 3]> {
        let mut gaps = BTreeSet::new();
        for write in self.accesses.iter().filter(|access| access.kind == AccessKind::Write) {
            let reads = |access: &&Access| {
                access.step == write.step
                    && access.kind == AccessKind::Read
                    && access.place < write.place
                    && !access.bytes.is_disjoint(&write.bytes)
            };
            let Some(read) = self.accesses.iter().rfind(reads) else { continue };
            let task = &self.tasks[read.place.0];
            let released = |(lock, _): &&(LockId, LockMode)| {
                let holds = |held: &Vec<(LockId, LockMode)>| held.iter().any(|(other, _)| other == lock);
                holds(&write.held) && task.held[read.place.1..write.place.1].iter().any(|held| !holds(held))
            };
            if !read.held.iter().any(|lock| released(&lock)) {
                continue;
            }
            for other in self.accesses.iter().filter(|access| access.kind == AccessKind::Write) {
                let shared: BTreeSet<_> = read.bytes.intersection(&write.bytes).copied().collect();
                if other.place.0 != write.place.0
                    && !shared.is_disjoint(&other.bytes)
                    && self.in_order(&[(read.place, other.place), (other.place, write.place)], true)
                {
                    gaps.insert([read.line, other.line, write.line]);
                }
            }
        }
        gaps
    }

    /// The member of a group that an access touches.
    fn member(&self, access: &Access) -> Option<(GroupId, Addr)> {
        let touches = |(_, addr, size): &&(GroupId, Addr, u64)| {
            access.bytes.iter().any(|(byte, _)| (addr.0..addr.0 + size).contains(byte))
        };
        self.members.iter().find(touches).map(|(group, addr, _)| (*group, *addr))
    }

    /// The lines of a region's access, of the first and the last access of another region in between, and of the region's
    /// access of another member of the same group.
    pub(crate) fn group_tears(&self, regions: Regions) -> BTreeSet<[u64; 4]> {
        let mut tears = BTreeSet::new();
        let instance = |access: &Access| self.instance(access, regions);
        for (first, last, _) in self.pairs(regions) {
            let (Some(a), Some(b)) = (self.member(first), self.member(last)) else { continue };
            if a.0 != b.0 || a == b {
                continue;
            }
            for x in &self.accesses {
                for y in &self.accesses {
                    let same = x.place == y.place || (instance(x) == instance(y) && instance(x).is_some());
                    if x.place.0 != first.place.0
                        && same
                        && x.conflicts(first)
                        && y.conflicts(last)
                        && self.in_order(&[(first.place, x.place), (y.place, last.place)], true)
                    {
                        let (x, y) = (x.line.min(y.line), x.line.max(y.line));
                        tears.insert([first.line, x, y, last.line]);
                    }
                }
            }
        }
        tears
    }
}

impl Access {
    fn conflicts(&self, other: &Access) -> bool {
        (self.kind == AccessKind::Write || other.kind == AccessKind::Write)
            && !self.bytes.is_disjoint(&other.bytes)
    }
}
