//! Small programs, written as text, with a scheduler and an oracle that looks at all schedules.
//!
//! `async{…}` spawns a task (they are numbered from 1 in the order of the text), `sync` waits for the children, `join2` for
//! task 2, `finish{…}` for all descendants. `Rx` and `Wx` access, `Ax` is an atomic write, `+L` and `-L` take and release
//! a lock, `+sL` and `-sL` in shared mode, `[` and `]` delimit a block, `>t` and `<t` are the two sides of an order.

use crate::event::{
    AccessKind, Addr, AtomicKind, Event, LockId, LockMode, MemoryOrder, Op, RegionId, SiteId, TaskId,
    ThreadId,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// For each task its operations, each at a place of its own.
    pub(super) tasks: Vec<Vec<(Op, SiteId)>>,
}

/// An operation: its task and its number there.
type At = (usize, usize);

/// The end of a task.
pub(super) const END: Op = Op::ThreadEnd;

impl Program {
    pub(super) fn parse(text: &str) -> Self {
        let spaced = text.replace('{', " { ").replace('}', " } ");
        let mut program = Self { tasks: vec![Vec::new()] };
        let mut sites = 0;
        let mut open: Vec<(usize, bool)> = vec![(0, false)];
        let mut words = spaced.split_whitespace();
        while let Some(word) = words.next() {
            let (task, _) = *open.last().expect("balanced");
            let (head, tail) = word.split_at(1);
            let (mode, lock) = match tail.strip_prefix('s') {
                Some(lock) => (LockMode::Shared, lock),
                None => (LockMode::Exclusive, tail),
            };
            let number = |name: &str| u32::from(name.bytes().next().expect("a name"));
            let addr = |name: &str| Addr(u64::from(number(name)) * 8);
            let op = match (head, word) {
                (_, "async") => {
                    assert_eq!(words.next(), Some("{"));
                    let child = program.tasks.len();
                    program.tasks.push(Vec::new());
                    open.push((child, false));
                    sites += 1;
                    program.tasks[task].push((Op::Spawn { task: TaskId(child as u32) }, SiteId(sites)));
                    continue;
                }
                (_, "finish") => {
                    assert_eq!(words.next(), Some("{"));
                    open.push((task, true));
                    Op::FinishBegin
                }
                (_, "}") => match open.pop() {
                    Some((_, true)) => Op::FinishEnd,
                    _ => continue,
                },
                (_, "sync") => Op::TaskWait,
                (_, "[") => Op::Begin { region: RegionId(7) },
                (_, "]") => Op::End,
                ("j", _) => Op::TaskJoin { task: TaskId(word[4..].parse().expect("a number")) },
                ("R", _) => Op::Access { kind: AccessKind::Read, size: 8, addr: addr(tail) },
                ("W", _) => Op::Access { kind: AccessKind::Write, size: 8, addr: addr(tail) },
                ("A", _) => Op::Atomic {
                    kind: AtomicKind::ReadModifyWrite,
                    order: MemoryOrder::Relaxed,
                    size: 8,
                    addr: addr(tail),
                },
                ("+", _) => Op::Acquire { lock: LockId(number(lock)), mode },
                ("-", _) => Op::Release { lock: LockId(number(lock)), mode },
                (">", _) => Op::HappensBefore { token: u64::from(number(tail)) },
                ("<", _) => Op::HappensAfter { token: u64::from(number(tail)) },
                _ => panic!("{word}"),
            };
            sites += 1;
            program.tasks[task].push((op, SiteId(sites)));
        }
        for task in &mut program.tasks {
            sites += 1;
            task.push((END, SiteId(sites)));
        }
        program
    }

    /// The operation of a task that comes next, if it can happen.
    pub(super) fn enabled(&self, done: &[usize], task: usize) -> Option<Op> {
        let &(op, _) = self.tasks[task].get(done[task])?;
        let spawned = |task: usize| {
            task == 0
                || (0..self.tasks.len()).any(|by| {
                    self.tasks[by][..done[by]]
                        .iter()
                        .any(|(op, _)| *op == Op::Spawn { task: TaskId(task as u32) })
                })
        };
        if !spawned(task) {
            return None;
        }
        let ended = |task: usize| done[task] == self.tasks[task].len();
        let children = |task: usize, from: usize| -> Vec<usize> {
            let spawns = self.tasks[task][from..done[task]].iter();
            spawns
                .filter_map(|(op, _)| if let Op::Spawn { task } = op { Some(task.index()) } else { None })
                .collect()
        };
        let can = match op {
            Op::Acquire { lock, mode } => (0..self.tasks.len()).all(|other| {
                other == task
                    || self.held(done, other).iter().all(|(held, held_mode)| {
                        *held != lock || (mode, *held_mode) == (LockMode::Shared, LockMode::Shared)
                    })
            }),
            Op::TaskWait => children(task, 0).into_iter().all(ended),
            Op::TaskJoin { task } => spawned(task.index()) && ended(task.index()),
            Op::FinishEnd => {
                let mut depth = 0;
                let begin = (0..done[task]).rev().find(|at| {
                    depth += match self.tasks[task][*at].0 {
                        Op::FinishEnd => 1,
                        Op::FinishBegin => -1,
                        _ => 0,
                    };
                    depth < 0
                });
                let mut left = children(task, begin.expect("balanced"));
                let mut all = true;
                while let Some(task) = left.pop() {
                    all &= ended(task);
                    left.extend(children(task, 0));
                }
                all
            }
            Op::HappensAfter { token } => self
                .tasks
                .iter()
                .zip(done)
                .all(|(ops, done)| ops[*done..].iter().all(|(op, _)| *op != Op::HappensBefore { token })),
            _ => true,
        };
        can.then_some(op)
    }

    fn held(&self, done: &[usize], task: usize) -> Vec<(LockId, LockMode)> {
        let mut held = Vec::new();
        for (op, _) in &self.tasks[task][..done[task]] {
            match *op {
                Op::Acquire { lock, mode } => held.push((lock, mode)),
                Op::Release { lock, mode } => held.retain(|other| *other != (lock, mode)),
                _ => {}
            }
        }
        held
    }

    /// One observed order; the seed decides who goes on. None if it ends in a deadlock.
    pub(super) fn observe(&self, seed: u64) -> Option<Vec<Event>> {
        let mut done = vec![0; self.tasks.len()];
        let mut events = Vec::new();
        let mut state = seed;
        loop {
            let able: Vec<usize> =
                (0..self.tasks.len()).filter(|task| self.enabled(&done, *task).is_some()).collect();
            if able.is_empty() {
                let finished = done.iter().zip(&self.tasks).all(|(done, ops)| *done == ops.len());
                return finished.then_some(events);
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Even seeds run a task as long as possible, from the first or the last on.
            let task = match seed % 4 {
                0 => able[0],
                2 => able[able.len() - 1],
                _ => able[(state >> 33) as usize % able.len()],
            };
            let thread = ThreadId(task as u32);
            let id = TaskId(task as u32);
            let (op, site) = self.tasks[task][done[task]];
            if task != 0 && done[task] == 0 {
                events.push(Event { thread, site, op: Op::TaskBegin { task: id } });
            }
            done[task] += 1;
            match op {
                END if task == 0 => {}
                END => events.push(Event { thread, site, op: Op::TaskEnd { task: id } }),
                op => events.push(Event { thread, site, op }),
            }
        }
    }

    /// All states that some schedule reaches.
    fn states(&self) -> Vec<Vec<usize>> {
        let mut seen: HashSet<Vec<usize>> = HashSet::new();
        let mut left = vec![vec![0; self.tasks.len()]];
        while let Some(done) = left.pop() {
            if seen.insert(done.clone()) {
                for task in 0..done.len() {
                    if self.enabled(&done, task).is_some() {
                        let mut next = done.clone();
                        next[task] += 1;
                        left.push(next);
                    }
                }
            }
        }
        seen.into_iter().collect()
    }

    /// The pairs of places that race in some schedule.
    pub(super) fn races(&self) -> BTreeSet<Vec<u32>> {
        let mut races = BTreeSet::new();
        for done in self.states() {
            let next: Vec<_> = (0..done.len())
                .filter(|task| self.enabled(&done, *task).is_some())
                .filter_map(|task| {
                    Some((access(self.tasks[task][done[task]].0)?, self.tasks[task][done[task]].1))
                })
                .collect();
            for (number, ((kind, addr, atomic), site)) in next.iter().enumerate() {
                for ((other_kind, other_addr, other_atomic), other_site) in &next[number + 1..] {
                    let write = *kind == AccessKind::Write || *other_kind == AccessKind::Write;
                    if addr == other_addr && write && !(*atomic && *other_atomic) {
                        let mut sites = vec![site.0, other_site.0];
                        sites.sort_unstable();
                        races.insert(sites);
                    }
                }
            }
        }
        races
    }

    /// For each region and each access of another task, the nearest two accesses of the region that it comes between in
    /// some schedule.
    pub(super) fn tears(&self, blocks: bool) -> BTreeSet<Vec<u32>> {
        let mut regions: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        for (task, ops) in self.tasks.iter().enumerate() {
            let (mut step, mut depth, mut block) = (0, 0, 0);
            for (at, (op, _)) in ops.iter().enumerate() {
                match op {
                    Op::Spawn { .. }
                    | Op::TaskWait
                    | Op::TaskJoin { .. }
                    | Op::FinishBegin
                    | Op::FinishEnd => {
                        step += 1;
                        block += 1;
                    }
                    Op::Begin { .. } => {
                        block += usize::from(depth == 0);
                        depth += 1;
                    }
                    Op::End => depth -= 1,
                    op if access(*op).is_some() && (!blocks || depth > 0) => {
                        let region = if blocks { block } else { step };
                        regions.entry((task, region)).or_default().push(at);
                    }
                    _ => {}
                }
            }
        }
        let mut tears = BTreeSet::new();
        for ((task, _), inside) in regions {
            for other in (0..self.tasks.len()).filter(|other| *other != task) {
                for between in 0..self.tasks[other].len() {
                    let Some((kind, addr, _)) = access(self.tasks[other][between].0) else { continue };
                    let conflicts = |at: &&usize| {
                        access(self.tasks[task][**at].0).is_some_and(|(own, own_addr, _)| {
                            own_addr == addr && (own == AccessKind::Write || kind == AccessKind::Write)
                        })
                    };
                    let inside: Vec<usize> = inside.iter().filter(conflicts).copied().collect();
                    let mut pairs: Vec<(usize, usize)> = Vec::new();
                    for (number, first) in inside.iter().enumerate() {
                        pairs.extend(inside[number + 1..].iter().map(|last| (*first, *last)));
                    }
                    pairs.sort_by_key(|(first, last)| (last - first, *first));
                    let found = pairs.iter().find(|(first, last)| {
                        self.can_come_between((task, *first), (other, between), (task, *last))
                    });
                    if let Some((first, last)) = found {
                        let site = |task: usize, at: usize| self.tasks[task][at].1.0;
                        tears.insert(vec![site(task, *first), site(other, between), site(task, *last)]);
                    }
                }
            }
        }
        tears
    }

    /// For each two steps the nearest accesses of two locations that show that they are not seen together.
    pub(super) fn group_tears(&self) -> BTreeSet<Vec<u32>> {
        let mut regions: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (task, ops) in self.tasks.iter().enumerate() {
            let mut step = 0;
            for (at, (op, _)) in ops.iter().enumerate() {
                match op {
                    Op::Spawn { .. }
                    | Op::TaskWait
                    | Op::TaskJoin { .. }
                    | Op::FinishBegin
                    | Op::FinishEnd => {
                        step += 1;
                    }
                    op if access(*op).is_some() => regions.entry((task, step)).or_default().push(at),
                    _ => {}
                }
            }
        }
        let mut tears = BTreeSet::new();
        for ((task, _), mine) in &regions {
            for ((other, _), theirs) in regions.iter().filter(|((other, _), _)| other != task) {
                let conflict = |a: usize, b: usize| {
                    let (kind, addr, _) = access(self.tasks[*task][a].0)?;
                    let (other_kind, other_addr, _) = access(self.tasks[*other][b].0)?;
                    let write = kind == AccessKind::Write || other_kind == AccessKind::Write;
                    (addr == other_addr && write).then_some((a, b, addr))
                };
                let pairs: Vec<_> =
                    mine.iter().flat_map(|a| theirs.iter().filter_map(|b| conflict(*a, *b))).collect();
                let mut found: Vec<(usize, usize, usize, usize, usize)> = Vec::new();
                for (first, first_other, addr) in &pairs {
                    for (last, last_other, last_addr) in &pairs {
                        let sequence = [
                            ((*task, *first), (*other, *first_other)),
                            ((*other, *last_other), (*task, *last)),
                        ];
                        if first < last && addr != last_addr && self.can_follow(&sequence) {
                            let apart = first_other.abs_diff(*last_other);
                            found.push((last - first, apart, *first, *first_other, *last_other));
                        }
                    }
                }
                if let Some((length, _, first, a, b)) = found.into_iter().min() {
                    let site = |task: usize, at: usize| self.tasks[task][at].1.0;
                    let between = [site(*other, a.min(b)), site(*other, a.max(b))];
                    tears.insert(vec![
                        site(*task, first),
                        between[0],
                        between[1],
                        site(*task, first + length),
                    ]);
                }
            }
        }
        tears
    }

    fn can_come_between(&self, first: At, between: At, last: At) -> bool {
        self.can_follow(&[(first, between), (between, last)])
    }

    /// True if some schedule has the first of each pair before the second, and all of them.
    fn can_follow(&self, sequence: &[(At, At)]) -> bool {
        let mut seen: HashSet<Vec<usize>> = HashSet::new();
        let mut left = vec![vec![0; self.tasks.len()]];
        while let Some(done) = left.pop() {
            let happened = |at: (usize, usize)| done[at.0] > at.1;
            let wrong = sequence.iter().any(|(earlier, later)| happened(*later) && !happened(*earlier));
            if wrong || !seen.insert(done.clone()) {
                continue;
            }
            if sequence.iter().all(|(_, later)| happened(*later)) {
                return true;
            }
            for task in 0..done.len() {
                if self.enabled(&done, task).is_some() {
                    let mut next = done.clone();
                    next[task] += 1;
                    left.push(next);
                }
            }
        }
        false
    }
}

pub(super) fn access(op: Op) -> Option<(AccessKind, Addr, bool)> {
    match op {
        Op::Access { kind, addr, .. } => Some((kind, addr, false)),
        Op::Atomic { kind, addr, .. } => Some((kind.access_kind(), addr, true)),
        _ => None,
    }
}
