//! Analyses that many threads call at once, as the runtime does: a small program is run by real threads, with a lock for
//! each cell. If all its operations are done one at a time, and the order is written down, the findings are those of the
//! replay of what was written down.

use keirin_core::analysis::aerodrome::AeroDrome;
use keirin_core::analysis::any::{Any, Choice};
use keirin_core::analysis::atomizer::Atomizer;
use keirin_core::analysis::eraser::Eraser;
use keirin_core::analysis::fasttrack::{Compact, FastTrack};
use keirin_core::analysis::global::Shared;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::graph::Graph;
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::analysis::{Analysis, AtomicOperation, Online, Part};
use keirin_core::event::*;
use keirin_core::finding::{Findings, Moment, RawFinding, RawStep};
use keirin_core::replay::{Replay, ReplayOptions};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const THREADS: u32 = 4;
const CELLS: u64 = 6;
const LOCKS: u32 = 3;
const TOKENS: u64 = 2;
/// Bytes of a cell.
const SIZE: u32 = 8;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What is written down when operations are done one at a time.
#[derive(Default)]
struct Written {
    events: Vec<Event>,
    findings: Findings,
}

struct World<A: Online> {
    analysis: A,
    cells: Vec<Mutex<A::Cell>>,
    /// Whether each lock is held.
    taken: Vec<AtomicBool>,
    locks: Vec<Mutex<A::Sync>>,
    tokens: Vec<Mutex<A::Sync>>,
    clock: AtomicU64,
    written: Option<Mutex<Written>>,
}

/// A thread of the program.
struct Worker<'a, A: Online> {
    world: &'a World<A>,
    id: ThreadId,
    state: A::Thread,
    held: [bool; LOCKS as usize],
    regions: u32,
    operations: u32,
    findings: Findings,
}

impl<A: Online> World<A> {
    fn new(analysis: A, one_at_a_time: bool) -> Self {
        fn many<T: Default>(count: u64) -> Vec<Mutex<T>> {
            (0..count).map(|_| Mutex::default()).collect()
        }
        Self {
            analysis,
            cells: many(CELLS),
            taken: (0..LOCKS).map(|_| AtomicBool::new(false)).collect(),
            locks: many(u64::from(LOCKS)),
            tokens: many(TOKENS),
            clock: AtomicU64::new(1),
            written: one_at_a_time.then(Mutex::default),
        }
    }

    /// Runs the program: the first thread touches every cell, starts the others and waits for them.
    fn run(&self, work: impl Fn(&mut Worker<'_, A>) + Sync) -> Findings {
        let mut first = Worker::new(self, 0);
        for cell in 0..CELLS {
            first.access(AccessKind::Write, cell, 1);
        }
        let mut workers: Vec<Worker<'_, A>> = (1..=THREADS).map(|id| Worker::new(self, id)).collect();
        for worker in &mut workers {
            first.step(Op::Fork { child: worker.id }, |first, at, findings| {
                self.analysis.fork(at, &mut first.state, &mut worker.state, findings);
            });
        }
        std::thread::scope(|scope| {
            for worker in &mut workers {
                scope.spawn(|| {
                    work(worker);
                    worker.finish();
                });
            }
        });
        for worker in &mut workers {
            first.step(Op::Join { child: worker.id }, |first, at, findings| {
                self.analysis.join(at, &mut first.state, &mut worker.state, findings);
            });
        }
        let position = self.clock.load(Ordering::Relaxed);
        let mut findings = first.findings;
        self.analysis.end_of_run(Moment { position, ..Moment::default() }, &mut findings);
        for worker in workers {
            findings.merge(worker.findings);
        }
        findings
    }
}

impl<'a, A: Online> Worker<'a, A> {
    fn new(world: &'a World<A>, id: u32) -> Self {
        Self {
            world,
            id: ThreadId(id),
            state: A::Thread::default(),
            held: [false; LOCKS as usize],
            regions: 0,
            operations: 0,
            findings: Findings::new(),
        }
    }

    /// Does one operation; if they are done one at a time, nobody else does one meanwhile.
    fn step(&mut self, op: Op, tell: impl FnOnce(&mut Self, &RawStep, &mut Findings)) {
        let mut written = self.world.written.as_ref().map(|written| written.lock().unwrap());
        let position = match &written {
            Some(written) => written.events.len() as u64 + 1,
            None => self.world.clock.fetch_add(1, Ordering::Relaxed),
        };
        let site = SiteId(self.id.0 * 1000 + self.operations % 1000);
        self.operations += 1;
        let at = RawStep { moment: Moment { position, thread: self.id, site, stack: StackId::NONE }, op };
        match &mut written {
            Some(written) => {
                tell(self, &at, &mut written.findings);
                written.events.push(Event { thread: self.id, site, op });
            }
            None => {
                let mut findings = std::mem::take(&mut self.findings);
                tell(self, &at, &mut findings);
                self.findings = findings;
            }
        }
    }

    /// An access of one cell or of several next to each other.
    fn access(&mut self, kind: AccessKind, first: u64, cells: u64) {
        let addr = |cell: u64| Addr(cell * u64::from(SIZE));
        let op = Op::Access { kind, size: SIZE * cells as u32, addr: addr(first) };
        self.step(op, |worker, at, findings| {
            for index in first..first + cells {
                let part = Part { kind, addr: addr(index), size: SIZE, whole: cells == 1 };
                let mut cell = worker.world.cells[index as usize].lock().unwrap();
                let analysis = &worker.world.analysis;
                let state = &mut worker.state;
                if !analysis.nothing_to_do(at, state, &cell, part) {
                    analysis.access(at, state, &mut cell, part, findings);
                }
            }
        });
    }

    fn atomic(&mut self, kind: AtomicKind, order: MemoryOrder, index: u64) {
        let addr = Addr(index * u64::from(SIZE));
        self.step(Op::Atomic { kind, order, size: SIZE as u8, addr }, |worker, at, findings| {
            let part = Part { kind: kind.access_kind(), addr, size: SIZE, whole: true };
            let mut cell = worker.world.cells[index as usize].lock().unwrap();
            let operation = AtomicOperation { kind, order };
            worker.world.analysis.atomic(at, &mut worker.state, &mut cell, part, operation, findings);
        });
    }

    /// Takes a lock. If somebody has it, waits or does without.
    fn acquire(&mut self, lock: u32, wait: bool) {
        while self.world.taken[lock as usize].swap(true, Ordering::Acquire) {
            if !wait {
                return;
            }
            std::thread::yield_now();
        }
        self.held[lock as usize] = true;
        let mode = LockMode::Exclusive;
        self.step(Op::Acquire { lock: LockId(lock), mode }, |worker, at, findings| {
            let mut sync = worker.world.locks[lock as usize].lock().unwrap();
            worker.world.analysis.acquire(at, &mut worker.state, &mut sync, mode, findings);
        });
    }

    fn release(&mut self, lock: u32) {
        if !std::mem::take(&mut self.held[lock as usize]) {
            return;
        }
        let mode = LockMode::Exclusive;
        self.step(Op::Release { lock: LockId(lock), mode }, |worker, at, findings| {
            let mut sync = worker.world.locks[lock as usize].lock().unwrap();
            worker.world.analysis.release(at, &mut worker.state, &mut sync, mode, findings);
        });
        self.world.taken[lock as usize].store(false, Ordering::Release);
    }

    fn token(&mut self, token: u64, before: bool) {
        let op = if before { Op::HappensBefore { token } } else { Op::HappensAfter { token } };
        self.step(op, |worker, at, findings| {
            let mut sync = worker.world.tokens[token as usize].lock().unwrap();
            if before {
                worker.world.analysis.signal(at, &mut worker.state, &mut sync, findings);
            } else {
                worker.world.analysis.receive(at, &mut worker.state, &mut sync, findings);
            }
        });
    }

    fn begin(&mut self, region: u32) {
        self.regions += 1;
        let region = RegionId(region);
        self.step(Op::Begin { region }, |worker, at, findings| {
            worker.world.analysis.begin(at, &mut worker.state, region, findings);
        });
    }

    fn end(&mut self) {
        self.regions -= 1;
        self.step(Op::End, |worker, at, findings| {
            worker.world.analysis.end(at, &mut worker.state, findings);
        });
    }

    /// Leaves all regions and gives all locks back.
    fn finish(&mut self) {
        while self.regions > 0 {
            self.end();
        }
        for lock in 0..LOCKS {
            self.release(lock);
        }
    }

    /// Does random things.
    fn wander(&mut self, seed: u64, operations: u32) {
        let mut dice = Dice(seed * 1000 + u64::from(self.id.0));
        for _ in 0..operations {
            let cell = dice.below(CELLS);
            let lock = dice.below(u64::from(LOCKS)) as u32;
            let kind = if dice.below(2) == 0 { AccessKind::Read } else { AccessKind::Write };
            match dice.below(20) {
                0..=6 => self.access(kind, cell, 1),
                7 | 8 if cell + 1 < CELLS => self.access(kind, cell, 2),
                9 => self.atomic(AtomicKind::ReadModifyWrite, MemoryOrder::AcquireRelease, cell),
                10 => self.atomic(AtomicKind::Load, MemoryOrder::Relaxed, cell),
                11 | 12 if self.regions < 3 => self.begin(self.id.0 * 100 + dice.below(3) as u32),
                13 | 14 if self.regions > 0 => self.end(),
                15 | 16 if !self.held[lock as usize] => self.acquire(lock, false),
                15..=17 => self.release(lock),
                18 => self.token(dice.below(TOKENS), true),
                19 => self.token(dice.below(TOKENS), false),
                _ => std::thread::yield_now(),
            }
        }
    }

    /// Does nothing that any analysis may object to: every location has a lock, and blocks take it once.
    fn behave(&mut self, seed: u64, operations: u32) {
        let mut dice = Dice(seed * 1000 + u64::from(self.id.0));
        for _ in 0..operations / 6 {
            let lock = dice.below(u64::from(LOCKS)) as u32;
            self.begin(1);
            self.acquire(lock, true);
            self.access(AccessKind::Read, u64::from(lock), 1);
            self.access(AccessKind::Write, u64::from(lock), 1);
            self.release(lock);
            self.end();
        }
    }
}

/// One at a time: says what the replay of the same order says.
fn check_order<A: Online, B: Analysis>(online: impl Fn() -> A, alone: impl Fn() -> B) {
    let mut found = false;
    for seed in 0..20 {
        let world = World::new(online(), true);
        world.run(|worker| worker.wander(seed, 200));
        let written = world.written.unwrap().into_inner().unwrap();
        let analysis = alone();
        let mut replay = Replay::new(&analysis, ReplayOptions::default());
        for (index, event) in written.events.iter().enumerate() {
            replay.event(index as u64 + 1, event).expect("the order of what happened");
        }
        let findings = replay.finish().findings;
        assert!(written.events.len() > 100 * THREADS as usize);
        assert_eq!(written.findings.list(), findings, "seed {seed}");
        assert_eq!(world.analysis.wants_blame(), analysis.wants_blame(), "seed {seed}");
        assert_eq!(world.analysis.statistics(), analysis.statistics(), "seed {seed}");
        found |= !findings.is_empty() || analysis.wants_blame();
    }
    assert!(found, "the programs are too tame");
}

/// All at once: what each thread does is seen to its end, and what is in order is not objected to.
fn check_crowd<A: Online>(online: impl Fn() -> A) {
    for seed in 0..4 {
        let world = World::new(online(), false);
        let findings = world.run(|worker| worker.wander(seed, 5_000));
        let sound = |finding: &RawFinding| finding.steps.len() >= 2 && finding.count > 0;
        assert!(findings.list().iter().all(sound));
        let told = !findings.list().is_empty() || world.analysis.wants_blame();
        assert!(told, "the program is too tame");

        let world = World::new(online(), false);
        let findings = world.run(|worker| worker.behave(seed, 5_000));
        assert_eq!((findings.list(), world.analysis.wants_blame()), (&[][..], false));
    }
}

#[test]
fn velodrome() {
    let online = || Velodrome::shared(Reach::default());
    check_order(online, || Velodrome::new(Reach::default()));
    check_crowd(online);
}

#[test]
fn velodrome_as_published() {
    let online = || Velodrome::shared(Graph::default());
    check_order(online, || Velodrome::new(Graph::default()));
    check_crowd(online);
}

#[test]
fn aerodrome() {
    check_order(AeroDrome::shared, AeroDrome::new);
    check_crowd(AeroDrome::shared);
}

#[test]
fn fasttrack() {
    check_order(FastTrack::exact, FastTrack::exact);
    check_crowd(FastTrack::exact);
    check_crowd(FastTrack::compact);
}

#[test]
fn eraser() {
    check_order(Eraser::shared, Eraser::new);
    check_crowd(Eraser::shared);
}

#[test]
fn atomizer() {
    check_order(Atomizer::shared, Atomizer::new);
    check_crowd(Atomizer::shared);
}

#[test]
fn all_at_once() {
    let all = Choice { velodrome: true, aerodrome: true, fasttrack: true, eraser: true, atomizer: true };
    let alone = || {
        let (order, rest) = (Velodrome::new(Reach::default()), (Eraser::new(), Atomizer::new()));
        (order, (AeroDrome::new(), (FastTrack::exact(), rest)))
    };
    check_order(|| all.analysis(), alone);
    check_crowd(|| all.analysis());
}

#[test]
fn what_many_threads_may_call() {
    fn online<A: Online>() {}
    online::<Any>();
    online::<FastTrack<Compact>>();
    online::<Velodrome<Graph, Shared>>();
}
