//! Random small programs, by what they do with locks and with orders beside the tree.
//!
//! Small enough that all schedules can be tried, and made so that something is at stake: few locations, most accesses of
//! the first of them, several of it in one step.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

use super::observe::schedule;
use super::program::{Op, OpId, Program};
use super::random::Random;
use keirin_core::event::LockMode;

/// What a program does with locks, and how its tasks wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Discipline {
    /// No locks at all.
    NoLocks,
    /// Locks are nested, in one global order, within a step.
    NestedOrdered,
    /// The next lock of a chain is taken before the last one is released.
    HandOverHand,
    /// Locks are taken and released in any order within a step. Programs may run into deadlocks.
    AnyOrder,
    /// Locks are held while tasks are spawned and waited for. Programs may run into deadlocks.
    AcrossSpawns,
    /// As nested and ordered, some of them shared.
    ReaderWriter,
    /// As nested and ordered, and taken again by those who hold them.
    Recursive,
    /// Futures, dependences and tokens, with nested locks or without. With locks, programs may run into deadlocks, for a
    /// task may wait for a token while it holds one.
    Edges,
    /// Tasks wait for their children while grandchildren go on; nested locks or none.
    Escaping,
    /// Several locations and longer steps, for groups of locations; nested locks or none.
    Groups,
}

impl Discipline {
    pub(crate) const ALL: [Discipline; 10] = [
        Discipline::NoLocks,
        Discipline::NestedOrdered,
        Discipline::HandOverHand,
        Discipline::AnyOrder,
        Discipline::AcrossSpawns,
        Discipline::ReaderWriter,
        Discipline::Recursive,
        Discipline::Edges,
        Discipline::Escaping,
        Discipline::Groups,
    ];

    /// True if locks are taken in one global order, held within a step only and by nobody who waits: then what seems possible
    /// by the locks that each task holds is possible.
    pub(crate) fn apparent_is_feasible(self) -> bool {
        !self.can_get_stuck()
    }

    /// True if some schedules of some programs run into a deadlock.
    pub(crate) fn can_get_stuck(self) -> bool {
        matches!(self, Discipline::AnyOrder | Discipline::AcrossSpawns | Discipline::Edges)
    }
}

/// A random program of a discipline. At least one schedule brings it to its end.
pub(crate) fn generate(discipline: Discipline, random: &mut Random) -> Program {
    loop {
        let mut generator = Generator::new(discipline, random);
        let program = generator.program();
        // Elsewhere a schedule that runs each step without a break comes to the end.
        let always_stuck = matches!(discipline, Discipline::AcrossSpawns | Discipline::Edges);
        if !always_stuck || schedule(&program, random).is_some() {
            return program;
        }
    }
}

struct Generator<'r> {
    discipline: Discipline,
    random: &'r mut Random,
    locations: usize,
    locks: usize,
    /// Whether there are locks in this program.
    locking: bool,
    /// Locations have locks that are mostly held: without this, hardly a program would be torn that has no race.
    guarded: bool,
    atomics: bool,
    /// In so many of a hundred cases an access writes.
    writes: usize,
    /// The locations that the next accesses are to have, the first one last, before chance decides again.
    fresh: Vec<u8>,
    tasks: Vec<Vec<Op>>,
}

impl<'r> Generator<'r> {
    fn new(discipline: Discipline, random: &'r mut Random) -> Self {
        let (fewest_locations, fewest_locks) = match discipline {
            Discipline::Groups => (2, 1),
            Discipline::HandOverHand | Discipline::AnyOrder => (1, 2),
            _ => (1, 1),
        };
        let locking = match discipline {
            Discipline::NoLocks => false,
            Discipline::Edges | Discipline::Escaping | Discipline::Groups => random.percent(50),
            _ => true,
        };
        let guarded = random.percent(50);
        let locks = random.between(fewest_locks, 3);
        let locations = match discipline {
            Discipline::HandOverHand if guarded => locks,
            _ => random.between(fewest_locations, 3),
        };
        Generator {
            discipline,
            locations,
            locks,
            locking,
            guarded,
            atomics: random.percent(8),
            random,
            writes: 48,
            fresh: Vec::new(),
            tasks: Vec::new(),
        }
    }

    fn program(&mut self) -> Program {
        let escaping = self.discipline == Discipline::Escaping;
        let count = self.random.pick(if escaping { &[3, 4, 4, 5] } else { &[2, 3, 3, 4, 5] });
        // With many tasks each does little, or there would be too many schedules. Some programs are small throughout.
        let most = if self.random.percent(35) { 1 } else { 6 / count + 1 };
        let mut sections: Vec<usize> = (0..count).map(|_| self.random.between(1, most)).collect();
        if count > 2 && !escaping && self.random.percent(30) {
            sections[0] = 0;
        }
        if self.discipline == Discipline::Groups {
            sections.iter_mut().for_each(|amount| *amount = (*amount).min(2));
        }
        for amount in sections {
            let mut ops = Vec::new();
            if self.discipline == Discipline::Groups {
                // What is torn on a single location says nothing about groups: most tasks access each of them once,
                // and as readers or as writers.
                self.fresh = (0..self.locations as u8).collect();
                self.random.shuffle(&mut self.fresh);
                self.writes = self.random.pick(&[10, 90]);
            }
            for _ in 0..amount {
                self.section(&mut ops);
                // A mark where a task construct may stand.
                ops.push(Op::Wait);
            }
            self.tasks.push(ops);
        }
        self.build_tree(count, escaping);
        if self.discipline == Discipline::AcrossSpawns {
            for task in 0..count {
                for _ in 0..self.random.between(0, 3) {
                    self.hold_across(task);
                }
            }
        }
        if self.random.percent(40) {
            for _ in 0..self.random.between(1, 3) {
                self.block();
            }
        }
        if self.discipline == Discipline::Edges {
            for token in 0..self.random.pick(&[0, 0, 1, 1, 2]) {
                self.token(token);
            }
            for _ in 0..self.random.between(0, 2) {
                self.future();
            }
            for _ in 0..self.random.between(0, 2) {
                self.dependence();
            }
        }
        Program { tasks: std::mem::take(&mut self.tasks) }.renumbered()
    }

    fn access(&mut self) -> Op {
        let location = match self.fresh.pop() {
            Some(location) => location,
            None if self.random.percent(30) => self.random.below(self.locations) as u8,
            None => 0,
        };
        let atomic = self.atomics && self.random.percent(40);
        match (self.random.percent(self.writes), atomic) {
            (true, false) => Op::Write(location),
            (false, false) => Op::Read(location),
            (true, true) => Op::AtomicWrite(location),
            (false, true) => Op::AtomicRead(location),
        }
    }

    fn accesses(&mut self, low: usize, high: usize, ops: &mut Vec<Op>) {
        for _ in 0..self.random.between(low, high) {
            let access = self.access();
            ops.push(access);
        }
    }

    /// A part of a step that leaves no lock held.
    fn section(&mut self, ops: &mut Vec<Op>) {
        let plain = !self.locking || self.random.percent(if self.guarded { 2 } else { 15 });
        match self.discipline {
            Discipline::Groups if plain => self.accesses(1, 3, ops),
            _ if plain => self.accesses(1, 2, ops),
            Discipline::HandOverHand => self.chain(ops),
            Discipline::AnyOrder => self.tangle(ops),
            // Its locks are put in later, around anything; some sections have their own as well.
            Discipline::AcrossSpawns if !self.guarded && self.random.percent(50) => self.accesses(1, 2, ops),
            _ => self.nest(0, ops),
        }
    }

    /// Critical sections one within the other, in the order of the locks.
    fn nest(&mut self, lowest: usize, ops: &mut Vec<Op>) {
        let lock = if self.guarded { lowest } else { self.random.between(lowest, self.locks - 1) };
        let shared = self.discipline == Discipline::ReaderWriter && self.random.percent(50);
        let mode = if shared { LockMode::Shared } else { LockMode::Exclusive };
        ops.push(Op::Acquire(lock as u8, mode));
        self.accesses(0, 1, ops);
        if self.discipline == Discipline::Recursive && self.random.percent(60) {
            ops.push(Op::Acquire(lock as u8, mode));
            self.accesses(0, 1, ops);
            ops.push(Op::Release(lock as u8, mode));
            self.accesses(0, 1, ops);
        }
        if lock + 1 < self.locks && self.random.percent(40) {
            self.nest(lock + 1, ops);
        } else {
            self.accesses(1, 1, ops);
        }
        if self.random.percent(20) {
            self.accesses(1, 1, ops);
        }
        ops.push(Op::Release(lock as u8, mode));
    }

    /// Hand over hand along the order of the locks. In a guarded program each location has its lock, as the nodes of a
    /// list have.
    fn chain(&mut self, ops: &mut Vec<Op>) {
        let mut held = self.random.below(self.locks);
        let start = ops.len();
        ops.push(Op::Acquire(held as u8, LockMode::Exclusive));
        self.accesses_under(held, 0, ops);
        while held + 1 < self.locks && self.random.percent(70) {
            ops.push(Op::Acquire(held as u8 + 1, LockMode::Exclusive));
            if self.random.percent(30) {
                self.accesses_under(held, 1, ops);
            }
            ops.push(Op::Release(held as u8, LockMode::Exclusive));
            held += 1;
            self.accesses_under(held, 0, ops);
        }
        if ops[start..].iter().all(|op| op.access().is_none()) {
            self.accesses_under(held, 1, ops);
        }
        ops.push(Op::Release(held as u8, LockMode::Exclusive));
    }

    /// At most one access, or one at least, while a lock of a chain is held.
    fn accesses_under(&mut self, lock: usize, fewest: usize, ops: &mut Vec<Op>) {
        if self.guarded {
            self.fresh = vec![(lock % self.locations) as u8];
        }
        self.accesses(fewest, 1, ops);
        self.fresh.clear();
    }

    /// Locks taken and released as it comes.
    fn tangle(&mut self, ops: &mut Vec<Op>) {
        let mut held: Vec<u8> = Vec::new();
        if self.guarded {
            held.push(0);
            ops.push(Op::Acquire(0, LockMode::Exclusive));
        }
        for _ in 0..self.random.between(2, 5) {
            let lock = self.random.below(self.locks) as u8;
            let mine = held.iter().position(|other| *other == lock);
            match (self.random.below(3), mine) {
                (0, _) if !self.guarded || held.contains(&0) => self.accesses(1, 1, ops),
                (_, None) => {
                    held.push(lock);
                    ops.push(Op::Acquire(lock, LockMode::Exclusive));
                }
                (_, Some(index)) => {
                    held.remove(index);
                    ops.push(Op::Release(lock, LockMode::Exclusive));
                }
            }
        }
        if !self.guarded || held.contains(&0) {
            self.accesses(1, 1, ops);
        }
        self.random.shuffle(&mut held);
        ops.extend(held.iter().map(|lock| Op::Release(*lock, LockMode::Exclusive)));
    }

    /// Gives every task but the root a parent, and replaces the marks by spawns, waits and scopes.
    fn build_tree(&mut self, count: usize, escaping: bool) {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
        for task in 1..count {
            let parent = match task {
                2 if escaping => 1,
                _ if self.random.percent(50) => 0,
                _ => self.random.below(task),
            };
            children[parent].push(task);
        }
        for (task, children) in children.iter().enumerate() {
            // For something to escape, the root waits and the tasks below it do not.
            let (waits_at_once, waits_later) = match (escaping, task) {
                (true, 0) => (60, 30),
                (true, _) => (10, 15),
                (false, _) => (15, 20),
            };
            // Pieces without a construct; the constructs come between them, before the first and behind the last.
            let pieces: Vec<Vec<Op>> =
                self.tasks[task].split(|op| *op == Op::Wait).map(<[Op]>::to_vec).collect();
            let gaps = pieces.len();
            let mut places: Vec<usize> = children.iter().map(|_| self.random.below(gaps)).collect();
            places.sort_unstable();
            if escaping && task == 0 && self.random.percent(50) {
                places[0] = 0;
            }
            let mut ops = Vec::new();
            for (gap, piece) in pieces.iter().enumerate() {
                for (child, place) in children.iter().zip(&places) {
                    if *place == gap {
                        ops.push(Op::Spawn(*child as u8));
                        if self.random.percent(waits_at_once) {
                            ops.push(Op::Wait);
                        }
                    }
                }
                ops.extend(piece);
            }
            if !children.is_empty() {
                if self.random.percent(waits_later) {
                    self.insert_outside(&mut ops, Op::Wait);
                }
                if !escaping && self.random.percent(45) {
                    self.scope(&mut ops);
                }
            }
            self.tasks[task] = ops;
        }
    }

    /// The places of a task where it holds no lock.
    fn free_places(ops: &[Op]) -> Vec<usize> {
        let mut held = 0;
        let mut places = vec![0];
        for (index, op) in ops.iter().enumerate() {
            held += match op {
                Op::Acquire(..) => 1,
                Op::Release(..) => -1,
                _ => 0,
            };
            if held == 0 {
                places.push(index + 1);
            }
        }
        places
    }

    fn insert_outside(&mut self, ops: &mut Vec<Op>, op: Op) {
        let place = self.random.pick(&Self::free_places(ops));
        ops.insert(place, op);
    }

    /// Puts a scope around at least one spawn, and sometimes another one within or around it.
    fn scope(&mut self, ops: &mut Vec<Op>) {
        for _ in 0..self.random.pick(&[1, 1, 1, 2]) {
            let spawns: Vec<usize> =
                (0..ops.len()).filter(|index| matches!(ops[*index], Op::Spawn(_))).collect();
            let spawn = self.random.pick(&spawns);
            let places = Self::free_places(ops);
            let before: Vec<usize> = places.iter().copied().filter(|place| *place <= spawn).collect();
            let behind: Vec<usize> = places.iter().copied().filter(|place| *place > spawn).collect();
            let (begin, end) = (self.random.pick(&before), self.random.pick(&behind));
            // Scopes of a task nest: the new one must not cut an old one.
            let mut depth = 0;
            let mut lowest = 0;
            for op in &ops[begin..end] {
                match op {
                    Op::FinishBegin => depth += 1,
                    Op::FinishEnd => depth -= 1,
                    _ => {}
                }
                lowest = lowest.min(depth);
            }
            if depth == 0 && lowest == 0 {
                ops.insert(end, Op::FinishEnd);
                ops.insert(begin, Op::FinishBegin);
            }
        }
    }

    /// Puts a critical section around any part of a task that does not use its lock.
    fn hold_across(&mut self, task: usize) {
        let lock = self.random.below(self.locks) as u8;
        let ops = &mut self.tasks[task];
        let begin = self.random.below(ops.len() + 1);
        let end = self.random.between(begin, ops.len());
        let uses = |op: &Op| matches!(op, Op::Acquire(other, _) | Op::Release(other, _) if *other == lock);
        if begin == end || ops[begin..end].iter().any(uses) {
            return;
        }
        let depth: i32 = ops[..begin]
            .iter()
            .filter(|op| uses(op))
            .map(|op| if matches!(op, Op::Acquire(..)) { 1 } else { -1 })
            .sum();
        if depth == 0 {
            ops.insert(end, Op::Release(lock, LockMode::Exclusive));
            ops.insert(begin, Op::Acquire(lock, LockMode::Exclusive));
        }
    }

    /// Puts an annotated block around a part of a step. Blocks nest by themselves, whatever parts are chosen, for the end
    /// of a block names none.
    fn block(&mut self) {
        let task = self.random.below(self.tasks.len());
        let ops = &mut self.tasks[task];
        let accesses: Vec<usize> = (0..ops.len()).filter(|index| ops[*index].access().is_some()).collect();
        if accesses.is_empty() {
            return;
        }
        let inside = self.random.pick(&accesses);
        let first = ops[..inside].iter().rposition(|op| op.is_construct()).map_or(0, |index| index + 1);
        let last =
            ops[inside..].iter().position(|op| op.is_construct()).map_or(ops.len(), |more| inside + more);
        let begin = self.random.between(first, inside);
        let end = self.random.between(inside + 1, last);
        ops.insert(end, Op::End);
        ops.insert(begin, Op::Begin(0));
    }

    /// Puts both sides of a token into two tasks.
    fn token(&mut self, token: u8) {
        let mut tasks: Vec<usize> = (0..self.tasks.len()).collect();
        self.random.shuffle(&mut tasks);
        let receivers = if self.random.percent(15) { 2 } else { 1 };
        for (nth, task) in tasks.into_iter().take(1 + receivers).enumerate() {
            let op = if nth == 0 { Op::Signal(token) } else { Op::Await(token) };
            let place = self.random.below(self.tasks[task].len() + 1);
            self.tasks[task].insert(place, op);
        }
    }

    /// Lets a task wait for one that it can know: spawned earlier by itself or, before the way parted, by an ancestor.
    fn future(&mut self) {
        let program = Program { tasks: self.tasks.clone() };
        let task = self.random.below(self.tasks.len());
        let place = self.random.pick(&Self::outside_blocks(&self.tasks[task]));
        let mut known = Vec::new();
        let mut way = Some(OpId::new(task, place));
        while let Some(at) = way {
            known.extend(program.children(at.task(), 0..at.index()));
            way = program.spawn_of(at.task());
        }
        if !known.is_empty() {
            let other = self.random.pick(&known);
            self.tasks[task].insert(place, Op::Join(other as u8));
        }
    }

    /// The places of a task where a task construct may stand: no lock is held, no block is open.
    fn outside_blocks(ops: &[Op]) -> Vec<usize> {
        let mut places = Self::free_places(ops);
        places.retain(|place| {
            let count = |wanted: fn(&Op) -> bool| ops[..*place].iter().filter(|op| wanted(op)).count();
            count(|op| matches!(op, Op::Begin(_))) == count(|op| matches!(op, Op::End))
        });
        places
    }

    /// Lets a task start only after an older sibling.
    fn dependence(&mut self) {
        let spawns = |ops: &Vec<Op>| ops.iter().filter(|op| matches!(op, Op::Spawn(_))).count();
        let parents: Vec<usize> =
            (0..self.tasks.len()).filter(|task| spawns(&self.tasks[*task]) > 1).collect();
        if parents.is_empty() {
            return;
        }
        let task = self.random.pick(&parents);
        let ops = &mut self.tasks[task];
        let spawns: Vec<(usize, u8)> = ops
            .iter()
            .enumerate()
            .filter_map(|(index, op)| match op {
                Op::Spawn(child) => Some((index, *child)),
                _ => None,
            })
            .collect();
        let after = self.random.between(1, spawns.len() - 1);
        let before = self.random.below(after);
        let op = Op::Order(spawns[before].1, spawns[after].1);
        if !ops.contains(&op) {
            ops.insert(spawns[after].0 + 1, op);
        }
    }
}
