//! Random raw findings, sensible or not: whatever a trace makes an analysis say, a report comes out.

use super::resolve::{Names, resolve};
use super::support::rule_of;
use super::terminal::{self, Layout};
use super::text::is_dangerous;
use super::{Report, Watched, arrange, cap_per_site, dot, json, sarif};
use crate::sources::Sources;
use crate::symbols::Symbols;
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, FunctionId, GroupId, LockId, LockMode, MemoryOrder, Op, RegionId, SiteId,
    StackId, TaskId, ThreadId,
};
use keirin_core::finding::{
    Cycle, Doubt, Evidence, Lineage, Locking, Moment, Proof, Race, RawEdge, RawFinding, RawStep, RawTask,
    RawTransaction, Reduction, Refuted, Segment, Torn, Verdict, Whole, Witness,
};
use keirin_core::stack::{Frame, Stacks};
use keirin_core::tasks::Actor;
use keirin_core::trace::{FileId, Location, Module, ModuleId, NameKind, Place, PositionUnit, Site, Tables};

const PIECES: [&str; 20] = [
    "",
    "a",
    "x y",
    "\n",
    "\r\n",
    "\t",
    "\u{1b}[2J",
    "\u{0}",
    "é",
    "漢字",
    "🦀",
    "👩\u{200d}👧",
    "e\u{301}",
    "\u{202e}",
    "\"",
    "\\",
    "{0}",
    "[a](b)",
    "`",
    "name::of<T>",
];

/// A xorshift generator: the same findings on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }

    /// Mostly a small id, now and then none or a wild one.
    fn id(&mut self) -> u32 {
        match self.below(12) {
            0 => u32::MAX,
            1 => self.below(1 << 32) as u32,
            _ => self.below(5) as u32,
        }
    }

    fn text(&mut self) -> String {
        (0..self.below(6)).map(|_| PIECES[self.below(PIECES.len() as u64) as usize]).collect()
    }

    fn op(&mut self) -> Op {
        let addr = Addr(match self.below(8) {
            0 => u64::MAX,
            _ => self.below(64),
        });
        let (lock, mode) = (LockId(self.id()), LockMode::Exclusive);
        match self.below(8) {
            0 | 1 => Op::Access { kind: AccessKind::Read, size: 4, addr },
            2 | 3 => Op::Access { kind: AccessKind::Write, size: 4, addr },
            4 => Op::Atomic { kind: AtomicKind::Store, order: MemoryOrder::Relaxed, size: 4, addr },
            5 => Op::Acquire { lock, mode },
            6 => Op::Release { lock, mode },
            _ => Op::Fork { child: ThreadId(self.id()) },
        }
    }

    fn moment(&mut self) -> Moment {
        Moment {
            position: self.below(100),
            thread: ThreadId(self.id()),
            site: SiteId(self.id()),
            stack: StackId(self.id()),
        }
    }

    fn steps(&mut self) -> Vec<RawStep> {
        (0..self.below(16)).map(|_| RawStep { moment: self.moment(), op: self.op() }).collect()
    }

    fn index(&mut self) -> usize {
        if self.below(20) == 0 { usize::MAX } else { self.below(16) as usize }
    }

    fn blocks(&mut self) -> Vec<Refuted> {
        let block = |random: &mut Self| Refuted { region: RegionId(random.id()), begin: random.moment() };
        (0..self.below(3)).map(|_| block(self)).collect()
    }

    fn cycle(&mut self) -> Cycle {
        let transaction = |random: &mut Self| RawTransaction {
            thread: ThreadId(random.id()),
            region: RegionId(random.id()),
            steps: (0..random.below(4)).map(|_| random.index()).collect(),
        };
        Cycle {
            transactions: (0..self.below(5)).map(|_| transaction(self)).collect(),
            edges: (0..self.below(6)).map(|_| RawEdge { from: self.index(), to: self.index() }).collect(),
            blamed: self.below(2) == 0,
            refuted: self.blocks(),
        }
    }

    fn locking(&mut self) -> Locking {
        let lock = |random: &mut Self| {
            let mode = if random.below(2) == 0 { LockMode::Shared } else { LockMode::Exclusive };
            (LockId(random.id()), mode)
        };
        let held = |random: &mut Self| (0..random.below(6)).map(|_| lock(random)).collect();
        Locking {
            addr: Addr(self.below(64)),
            size: self.below(9) as u32,
            held: (0..self.below(4)).map(|_| held(self)).collect(),
        }
    }

    fn torn(&mut self) -> Torn {
        Torn {
            addr: Addr(self.below(64)),
            size: self.below(9) as u32,
            whole: match self.below(3) {
                0 => Whole::Block(RegionId(self.id())),
                1 => Whole::Step,
                _ => Whole::Holds(LockId(self.id())),
            },
            group: (self.below(3) == 0).then(|| GroupId(self.id())),
            inside: (0..self.below(4)).map(|_| self.index()).collect(),
        }
    }

    fn actor(&mut self) -> Actor {
        if self.below(3) == 0 { Actor::Thread(ThreadId(self.id())) } else { Actor::Task(TaskId(self.id())) }
    }

    fn task(&mut self) -> RawTask {
        RawTask { actor: self.actor(), spawned: self.moment() }
    }

    fn lineage(&mut self) -> Lineage {
        let path = |random: &mut Self| (0..random.below(12)).map(|_| random.task()).collect();
        Lineage { common: self.task(), paths: (0..self.below(5)).map(|_| path(self)).collect() }
    }

    fn witness(&mut self) -> Witness {
        let segment = |random: &mut Self| Segment {
            actor: random.actor(),
            first: random.below(100),
            last: random.below(100),
            operations: random.below(100),
            shown: random.steps(),
        };
        let as_observed_until = self.below(3) * self.below(100);
        let proof = [Proof::Operations, Proof::Branches, Proof::Values][self.below(3) as usize];
        Witness { as_observed_until, segments: (0..self.below(5)).map(|_| segment(self)).collect(), proof }
    }

    fn evidence(&mut self) -> Evidence {
        match self.below(5) {
            0 => Evidence::Cycle(self.cycle()),
            1 => Evidence::Race(Race { addr: Addr(self.below(64)), size: self.below(9) as u32 }),
            2 => Evidence::Locking(self.locking()),
            3 => Evidence::Torn(self.torn()),
            _ => Evidence::Reduction(Reduction {
                blocks: self.blocks(),
                commit: self.index(),
                broken: self.index(),
            }),
        }
    }

    fn finding(&mut self) -> RawFinding {
        let evidence = self.evidence();
        let verdict = match self.below(3) {
            0 => Verdict::Observed,
            1 => Verdict::OtherSchedule { witness: (self.below(3) > 0).then(|| Box::new(self.witness())) },
            _ => Verdict::Suspected(match self.below(7) {
                0 => Doubt::Heuristic,
                1 => Doubt::NotExamined,
                2 => Doubt::LocksForbid,
                3 => Doubt::ValuesUnknown,
                4 => Doubt::NeedsSolver,
                5 => Doubt::OtherSide,
                _ => Doubt::SearchGivenUp,
            }),
        };
        let mut steps = self.steps();
        // Most findings but cycles have one or two steps.
        if !matches!(evidence, Evidence::Cycle(_)) && self.below(4) > 0 {
            steps.truncate(1 + self.below(2) as usize);
        }
        let lineage = (self.below(2) == 0).then(|| self.lineage());
        RawFinding { rule: rule_of(&evidence), verdict, steps, evidence, lineage, count: self.below(3) }
    }

    fn tables(&mut self) -> Tables {
        let mut tables = Tables::default();
        for kind in NameKind::ALL {
            for _ in 0..4 {
                let name = self.text();
                tables.add_name(kind, &name);
            }
        }
        tables.modules.push(Module { path: self.text().into(), base: 0, size: 1, build_id: Box::default() });
        for _ in 0..5 {
            let place = match self.below(8) {
                0 => Place::Unknown,
                1 => Place::Label(self.text().into()),
                2 => Place::Code { module: ModuleId(self.id()), offset: self.below(u64::MAX) },
                _ => {
                    let line = if self.below(10) == 0 { u32::MAX } else { self.below(9) as u32 };
                    let column = if self.below(10) == 0 { u32::MAX } else { self.below(20) as u32 };
                    Place::Source { file: FileId(self.id()), line, column }
                }
            };
            tables.sites.push(Site { place, function: FunctionId(self.id()) });
        }
        for _ in 0..3 {
            let location = Location { size: self.below(20) as u32, name: self.text().into() };
            tables.locations.insert(self.below(64), location);
        }
        tables
    }
}

#[test]
fn every_finding_makes_a_report() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut snippets = 0;
    for _ in 0..1500 {
        let tables = random.tables();
        let mut stacks = Stacks::new();
        for _ in 0..4 {
            let caller = StackId(random.id());
            stacks.push(caller, Frame { function: FunctionId(random.id()), call_site: SiteId(random.id()) });
        }
        let mut sources = Sources::none();
        for file in tables.names(NameKind::File) {
            let text: String = (0..random.below(9)).map(|_| random.text() + "\n").collect();
            sources.embed(file, &text);
        }
        let raw: Vec<_> = (0..random.below(4)).map(|_| random.finding()).collect();
        let symbols = Symbols::new();
        let names = Names {
            trace: "a",
            tables: &tables,
            stacks: &stacks,
            unit: PositionUnit::Event,
            sources: &sources,
            symbols: &symbols,
        };
        let mut findings = resolve(&raw, names);
        snippets += findings.iter().map(|finding| finding.snippets.len()).sum::<usize>();
        arrange(&mut findings);
        let hidden = cap_per_site(&mut findings, 2);
        let report =
            Report::new(findings, Watched { hidden, notes: vec![random.text()], ..Watched::default() });
        let width = random.below(200) as usize;
        let mut out = Vec::new();
        terminal::write(&report, Layout { color: false, width }, &mut out).unwrap();
        let plain = String::from_utf8(out.clone()).unwrap();
        assert!(!plain.chars().any(|character| character != '\n' && is_dangerous(character)), "{plain:?}");
        terminal::write(&report, Layout { color: true, width }, &mut out).unwrap();
        json::write(&report, &mut out).unwrap();
        sarif::write(&report, &mut out).unwrap();
        dot::write(&report, &mut out).unwrap();
        assert!(String::from_utf8(out).is_ok());
    }
    assert!(snippets > 500, "the sources were found: {snippets}");
}
