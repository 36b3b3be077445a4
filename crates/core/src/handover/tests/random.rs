//! Random findings and tables.

use crate::event::{
    AccessKind, Addr, AtomicKind, FunctionId, GroupId, LockId, LockMode, MemoryOrder, Op, RegionId, SiteId,
    StackId, TaskId, ThreadId,
};
use crate::finding::{
    Cycle, Doubt, Evidence, Lineage, Locking, Moment, Proof, Race, RawEdge, RawFinding, RawStep, RawTask,
    RawTransaction, Reduction, Refuted, Rule, Segment, Torn, Verdict, Whole, Witness,
};
use crate::stack::{Frame, Stacks};
use crate::tasks::Actor;
use crate::trace::{
    FileId, Location, MemoryBlock, Module, ModuleId, NameKind, Place, Site, Tables, ThreadOrigin,
};

/// A xorshift generator.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed | 1)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 3) % bound.max(1)
    }

    fn id(&mut self) -> u32 {
        match self.below(8) {
            0 => u32::MAX,
            1 => u32::MAX - 1,
            _ => self.below(1000) as u32,
        }
    }

    fn number(&mut self) -> u64 {
        let shift = self.below(64) as u32;
        self.below(u64::MAX) >> shift
    }

    fn list<T>(&mut self, most: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most)).map(|_| make(self)).collect()
    }

    fn moment(&mut self) -> Moment {
        Moment {
            position: self.number(),
            thread: ThreadId(self.id()),
            site: SiteId(self.id()),
            stack: StackId(self.id()),
        }
    }

    fn op(&mut self) -> Op {
        let addr = Addr(self.number());
        let lock = LockId(self.below(1 << 28) as u32);
        match self.below(8) {
            0 => Op::Access { kind: AccessKind::Read, size: 1 << self.below(4), addr },
            1 => Op::Access { kind: AccessKind::Write, size: 1 + self.below(100) as u32, addr },
            2 => Op::Atomic { kind: AtomicKind::ReadModifyWrite, order: MemoryOrder::Acquire, size: 4, addr },
            3 => Op::Acquire { lock, mode: LockMode::Shared },
            4 => Op::Release { lock, mode: LockMode::Exclusive },
            5 => Op::Begin { region: RegionId::of_function(FunctionId(self.below(100) as u32)) },
            6 => Op::Begin { region: RegionId(self.below(100) as u32) },
            _ => Op::TaskWait,
        }
    }

    pub(super) fn step(&mut self) -> RawStep {
        RawStep { moment: self.moment(), op: self.op() }
    }

    fn actor(&mut self) -> Actor {
        match self.below(2) {
            0 => Actor::Thread(ThreadId(self.id())),
            _ => Actor::Task(TaskId(self.id())),
        }
    }

    fn task(&mut self) -> RawTask {
        RawTask { actor: self.actor(), spawned: self.moment() }
    }

    fn block(&mut self) -> Refuted {
        Refuted { region: RegionId(self.id()), begin: self.moment() }
    }

    fn evidence(&mut self) -> Evidence {
        let (addr, size) = (Addr(self.number()), self.id());
        match self.below(5) {
            0 => Evidence::Cycle(Cycle {
                transactions: self.list(4, |random| RawTransaction {
                    thread: ThreadId(random.id()),
                    region: RegionId(random.id()),
                    steps: random.list(4, |random| random.number() as usize),
                }),
                edges: self.list(4, |random| RawEdge { from: random.below(9) as usize, to: usize::MAX }),
                blamed: self.below(2) == 0,
                refuted: self.list(3, Self::block),
            }),
            1 => Evidence::Race(Race { addr, size }),
            2 => Evidence::Locking(Locking {
                addr,
                size,
                held: self.list(3, |random| {
                    random.list(3, |random| match random.below(2) {
                        0 => (LockId(random.id()), LockMode::Shared),
                        _ => (LockId(random.id()), LockMode::Exclusive),
                    })
                }),
            }),
            3 => Evidence::Reduction(Reduction { blocks: self.list(3, Self::block), commit: 3, broken: 0 }),
            _ => Evidence::Torn(Torn {
                addr,
                size,
                whole: match self.below(3) {
                    0 => Whole::Step,
                    1 => Whole::Block(RegionId(self.id())),
                    _ => Whole::Holds(LockId(self.id())),
                },
                group: (self.below(2) == 0).then(|| GroupId(self.id())),
                inside: self.list(4, |random| random.below(9) as usize),
            }),
        }
    }

    pub(super) fn finding(&mut self) -> RawFinding {
        RawFinding {
            rule: Rule::ALL[self.below(5) as usize],
            verdict: match self.below(10) {
                0 => Verdict::Observed,
                1 => Verdict::OtherSchedule {
                    witness: Some(Box::new(Witness {
                        as_observed_until: self.number(),
                        segments: self.list(3, |random| Segment {
                            actor: random.actor(),
                            first: random.number(),
                            last: random.number(),
                            operations: random.number(),
                            shown: random.list(3, Self::step),
                        }),
                        proof: [Proof::Operations, Proof::Branches, Proof::Values][self.below(3) as usize],
                    })),
                },
                2 => Verdict::Suspected(Doubt::Heuristic),
                3 => Verdict::Suspected(Doubt::NotExamined),
                4 => Verdict::Suspected(Doubt::LocksForbid),
                5 => Verdict::OtherSchedule { witness: None },
                6 => Verdict::Suspected(Doubt::ValuesUnknown),
                7 => Verdict::Suspected(Doubt::NeedsSolver),
                8 => Verdict::Suspected(Doubt::OtherSide),
                _ => Verdict::Suspected(Doubt::SearchGivenUp),
            },
            steps: self.list(5, Self::step),
            evidence: self.evidence(),
            lineage: (self.below(2) == 0).then(|| Lineage {
                common: self.task(),
                paths: self.list(3, |random| random.list(3, Self::task)),
            }),
            count: self.below(1 << 40),
        }
    }

    /// Adds to all tables.
    pub(super) fn grow(&mut self, tables: &mut Tables, stacks: &mut Stacks) {
        for kind in NameKind::ALL {
            for _ in 0..self.below(3) {
                let name = ["", "a", "漢字"][self.below(3) as usize];
                tables.add_name(kind, name);
            }
        }
        let build_id = self.list(20, |random| random.below(256) as u8).into();
        tables.modules.push(Module { path: "/a".into(), base: self.number(), size: self.number(), build_id });
        let files = tables.names(NameKind::File).len() as u64;
        for _ in 0..self.below(5) {
            let place = match self.below(4) {
                0 => Place::Unknown,
                1 => Place::Label("label".into()),
                2 if files > 0 => {
                    Place::Source { file: FileId(self.below(files) as u32), line: self.id(), column: 0 }
                }
                _ => Place::Code {
                    module: ModuleId(self.below(tables.modules.len() as u64) as u32),
                    offset: 77,
                },
            };
            let function = FunctionId([u32::MAX, 5][self.below(2) as usize]);
            tables.sites.push(Site { place, function });
        }
        let location = Location { size: self.id(), name: "location".into() };
        tables.locations.entry(self.number()).or_insert(location);
        tables.functions.push(SiteId(self.id()));
        tables.threads.push(ThreadOrigin {
            parent: ThreadId(self.id()),
            site: SiteId(self.id()),
            stack: StackId(self.id()),
        });
        let block = MemoryBlock {
            size: self.number(),
            thread: ThreadId(self.id()),
            site: SiteId(self.id()),
            stack: StackId(self.id()),
        };
        tables.blocks.insert(self.number(), block);
        for _ in 0..self.below(4) {
            let caller = match self.below(3) {
                0 => StackId::NONE,
                _ if stacks.is_empty() => StackId::NONE,
                _ => StackId(self.below(stacks.len() as u64) as u32),
            };
            stacks.push(caller, Frame { function: FunctionId(self.id()), call_site: SiteId(self.id()) });
        }
    }
}
