//! Findings made by hand, for the tests of everything that handles findings: the cycles here, the rest in `locks`, `tasks` and `online`.

mod locks;
mod online;
mod tasks;

pub(crate) use locks::{
    flag_race, hits_locking, lazy_block, lost_stack, overlap_race, racy_block, set_add_suspected,
    total_locking,
};
pub(crate) use online::{fib_race, open_gap, torn_sale};
pub(crate) use tasks::{
    apparent_race, lock_gap, task_race, torn_function, torn_step, torn_transfer, unexamined_race,
};

use super::model::Finding;
use super::resolve::{Names, resolve};
use crate::sources::Sources;
use crate::symbols::Symbols;
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, FunctionId, LockId, LockMode, MemoryOrder, Op, RegionId, SiteId, StackId,
    ThreadId,
};
use keirin_core::finding::{
    Cycle, Doubt, Evidence, Lineage, Moment, Proof, RawEdge, RawFinding, RawStep, RawTransaction, Refuted,
    Rule, Segment, Verdict, Whole, Witness,
};
use keirin_core::stack::{Frame, Stacks};
use keirin_core::tasks::Actor;
use keirin_core::trace::{FileId, Location, NameKind, Place, PositionUnit, Site, Tables};

const SET: &str = "\
class Set {
  final Vector elements = new Vector();

  atomic void add(Object x) {
    atomic {
      if (!elements.contains(x)) {
        elements.add(x);
      }
    }
  }
}
";

const VECTOR: &str = "\
class Vector {
\tsynchronized boolean contains(Object o) {
\t\treturn indexOf(o) >= 0;
\t}

\tsynchronized boolean add(Object o) {
\t\tgrow(count + 1);
\t\tdata[count++] = o;
\t}
}
";

const COUNTER: &str = "\
static long hits;
void *worker(void *unused) {
    KEIRIN_ATOMIC(\"count a hit\") {
        long seen = hits; /* naïve */
        hits = seen + 1;
    }
}
";

/// Builds one raw finding with its names.
struct Builder {
    tables: Tables,
    stacks: Stacks,
    sources: Sources,
    steps: Vec<RawStep>,
    lineage: Option<Lineage>,
    /// The trace or the program, and what positions in it count.
    input: (&'static str, PositionUnit),
}

/// The names of things that an operation can be done to are made on first use, so that a test reads as a story.
impl Builder {
    fn new() -> Self {
        let mut sources = Sources::none();
        sources.embed("src/Set.java", SET);
        sources.embed("src/Vector.java", VECTOR);
        sources.embed("src/counter.c", COUNTER);
        Builder {
            tables: Tables::default(),
            stacks: Stacks::new(),
            sources,
            steps: Vec::new(),
            lineage: None,
            input: ("traces/set add.std", PositionUnit::Line),
        }
    }

    fn id(&mut self, kind: NameKind, name: &str) -> u32 {
        let known = self.tables.names(kind).iter().position(|known| &**known == name);
        known.map_or_else(|| self.tables.add_name(kind, name), |index| index as u32)
    }

    fn thread(&mut self, name: &str) -> ThreadId {
        ThreadId(self.id(NameKind::Thread, name))
    }

    fn region(&mut self, name: &str) -> RegionId {
        RegionId(self.id(NameKind::Region, name))
    }

    fn function(&mut self, name: &str) -> FunctionId {
        FunctionId(self.id(NameKind::Function, name))
    }

    fn lock(&mut self, name: &str) -> LockId {
        LockId(self.id(NameKind::Lock, name))
    }

    fn acquire(&mut self, lock: &str) -> Op {
        Op::Acquire { lock: self.lock(lock), mode: LockMode::Exclusive }
    }

    fn release(&mut self, lock: &str) -> Op {
        Op::Release { lock: self.lock(lock), mode: LockMode::Exclusive }
    }

    fn addr(&mut self, variable: &str) -> Addr {
        let known = self.tables.locations.iter().find(|(_, location)| &*location.name == variable);
        let addr = known.map_or(0x1000 + 16 * self.tables.locations.len() as u64, |(addr, _)| *addr);
        self.tables.locations.insert(addr, Location { size: 8, name: variable.into() });
        Addr(addr)
    }

    fn read(&mut self, variable: &str) -> Op {
        Op::Access { kind: AccessKind::Read, size: 8, addr: self.addr(variable) }
    }

    fn write(&mut self, variable: &str) -> Op {
        Op::Access { kind: AccessKind::Write, size: 8, addr: self.addr(variable) }
    }

    /// A site: `function@file:line:column`, with any part but the function left out.
    fn site(&mut self, function: &str, file: &str, line: u32, column: u32) -> SiteId {
        let function = self.function(function);
        let file = FileId(self.id(NameKind::File, file));
        self.tables.sites.push(Site { place: Place::Source { file, line, column }, function });
        SiteId(self.tables.sites.len() as u32 - 1)
    }

    fn stack(&mut self, calls: &[(&str, SiteId)]) -> StackId {
        let mut stack = StackId::NONE;
        for &(function, call_site) in calls {
            let function = self.function(function);
            stack = self.stacks.push(stack, Frame { function, call_site });
        }
        stack
    }

    fn step(&mut self, thread: &str, op: Op, site: SiteId, stack: StackId) {
        let thread = self.thread(thread);
        let position = 10 + self.steps.len() as u64 * 3;
        self.steps.push(RawStep { moment: Moment { position, thread, site, stack }, op });
    }

    fn transaction(&mut self, thread: &str, region: Option<&str>, steps: &[usize]) -> RawTransaction {
        let thread = self.thread(thread);
        let region = region.map_or(RegionId::NONE, |region| self.region(region));
        RawTransaction { thread, region, steps: steps.to_vec() }
    }

    fn finish(self, verdict: Verdict, cycle: Cycle, count: u64) -> Finding {
        self.finding(verdict, Evidence::Cycle(cycle), count)
    }

    fn finding(mut self, verdict: Verdict, evidence: Evidence, count: u64) -> Finding {
        let steps = std::mem::take(&mut self.steps);
        let lineage = self.lineage.take();
        let rule = rule_of(&evidence);
        self.resolve(&[RawFinding { rule, verdict, steps, evidence, lineage, count }]).remove(0)
    }

    /// The verdict that another schedule shows it: one in which the steps follow each other as they stand.
    fn shown_by_its_steps(&self) -> Verdict {
        let segment = |step: &RawStep| Segment {
            actor: Actor::Thread(step.moment.thread),
            first: step.moment.position,
            last: step.moment.position,
            operations: 1,
            shown: vec![*step],
        };
        let segments = self.steps.iter().map(segment).collect();
        Verdict::OtherSchedule {
            witness: Some(Box::new(Witness { as_observed_until: 0, segments, proof: Proof::Operations })),
        }
    }

    fn resolve(&self, raw: &[RawFinding]) -> Vec<Finding> {
        let (trace, unit) = self.input;
        resolve(
            raw,
            Names {
                trace,
                tables: &self.tables,
                stacks: &self.stacks,
                unit,
                sources: &self.sources,
                symbols: &Symbols::new(),
            },
        )
    }
}

/// The rule that goes with a kind of evidence.
pub(crate) fn rule_of(evidence: &Evidence) -> Rule {
    match evidence {
        Evidence::Cycle(_) => Rule::AtomicityViolation,
        Evidence::Race(_) => Rule::DataRace,
        Evidence::Locking(_) => Rule::InconsistentLocking,
        Evidence::Reduction(_) => Rule::IrreducibleBlock,
        Evidence::Torn(torn) => match torn.whole {
            Whole::Holds(_) => Rule::LockGap,
            Whole::Block(_) | Whole::Step => Rule::AtomicityViolation,
        },
    }
}

fn edges(pairs: &[(usize, usize)]) -> Vec<RawEdge> {
    pairs.iter().map(|&(from, to)| RawEdge { from, to }).collect()
}

/// The example of the Velodrome paper: each call locks the vector, but nothing keeps the two calls together. The block
/// and the one nested in it are refuted; a third, around `contains` alone, is not.
pub(crate) fn set_add() -> Finding {
    let mut builder = Builder::new();
    let contains = builder.site("Vector.contains", "src/Vector.java", 4, 2);
    let add = builder.site("Vector.add", "src/Vector.java", 6, 2);
    let added = builder.site("Vector.add", "src/Vector.java", 9, 2);
    let first_call = builder.site("Set.add", "src/Set.java", 6, 21);
    let second_call = builder.site("Set.add", "src/Set.java", 7, 18);
    let caller = builder.site("Worker.run", "src/Worker.java", 31, 9);
    let outer = builder.site("Set.add", "src/Set.java", 4, 3);
    let inner = builder.site("Set.add", "src/Set.java", 5, 5);
    let checking = builder.stack(&[("Set.add", caller), ("Vector.contains", first_call)]);
    let adding = builder.stack(&[("Set.add", caller), ("Vector.add", second_call)]);
    let (acquire, release) = (builder.acquire("elements"), builder.release("elements"));
    builder.step("T1", release, contains, checking);
    builder.step("T2", acquire, add, adding);
    builder.step("T2", release, added, adding);
    builder.step("T1", acquire, add, adding);
    let refuted = [("Set.add", outer), ("Set.add inner", inner)].map(|(region, site)| Refuted {
        region: builder.region(region),
        begin: Moment { position: 3, thread: ThreadId(0), site, stack: StackId::NONE },
    });
    let cycle = Cycle {
        transactions: vec![
            builder.transaction("T1", Some("Set.add"), &[0, 3]),
            builder.transaction("T2", Some("Set.add"), &[1, 2]),
        ],
        edges: edges(&[(0, 1), (2, 3)]),
        blamed: true,
        refuted: refuted.to_vec(),
    };
    builder.finish(Verdict::Observed, cycle, 3)
}

/// Three transactions over a lock and two variables, and a program order edge besides. The sources are not at hand.
pub(crate) fn three() -> Finding {
    let mut builder = Builder::new();
    let transfer = builder.site("bank::transfer", "src/bank.rs", 40, 9);
    let later = builder.site("bank::transfer", "src/bank.rs", 47, 0);
    let audit = builder.site("bank::audit", "src/audit.rs", 12, 0);
    let journal = builder.site("journal::append", "/opt/journal/src/lib.rs", 88, 13);
    let start = builder.site("main", "src/main.rs", 5, 5);
    let under_main = builder.stack(&[("bank::audit", start)]);
    let operations = [
        builder.write("balance"),
        builder.read("balance"),
        builder.release("journal"),
        builder.acquire("journal"),
        builder.write("total"),
        builder.read("total"),
    ];
    builder.step("teller", operations[0], transfer, StackId::NONE);
    builder.step("auditor", operations[1], audit, under_main);
    builder.step("auditor", operations[2], audit, under_main);
    builder.step("clerk", operations[3], journal, StackId::NONE);
    builder.step("clerk", operations[4], journal, StackId::NONE);
    builder.step("teller", operations[5], later, StackId::NONE);
    let region = builder.region("transfer");
    let begin = Moment { position: 4, thread: ThreadId(0), site: transfer, stack: StackId::NONE };
    let cycle = Cycle {
        transactions: vec![
            builder.transaction("teller", Some("transfer"), &[0, 5]),
            builder.transaction("auditor", Some("audit"), &[1, 2]),
            builder.transaction("clerk", None, &[3]),
            builder.transaction("clerk", None, &[4]),
        ],
        edges: edges(&[(0, 1), (2, 3), (4, 5)]),
        blamed: true,
        refuted: vec![Refuted { region, begin }],
    };
    builder.finish(Verdict::Observed, cycle, 1)
}

/// A cycle that is not increasing: each of the two could be left in peace, but not both.
pub(crate) fn blameless() -> Finding {
    let mut builder = Builder::new();
    let publish = builder.site("publish", "src/queue.c", 30, 0);
    let consume = builder.site("consume", "src/queue.c", 70, 0);
    let operations =
        [builder.write("tail"), builder.write("head"), builder.read("head"), builder.read("tail")];
    builder.step("T2", operations[0], consume, StackId::NONE);
    builder.step("T1", operations[1], publish, StackId::NONE);
    builder.step("T2", operations[2], consume, StackId::NONE);
    builder.step("T1", operations[3], publish, StackId::NONE);
    let cycle = Cycle {
        transactions: vec![
            builder.transaction("T1", Some("publish"), &[1, 3]),
            builder.transaction("T2", Some("consume"), &[0, 2]),
        ],
        edges: edges(&[(1, 2), (0, 3)]),
        blamed: false,
        refuted: Vec::new(),
    };
    builder.finish(Verdict::Observed, cycle, 1)
}

/// One write between a read and a write, in another schedule than the watched one, with the sources at hand.
pub(crate) fn counter() -> Finding {
    let mut builder = Builder::new();
    let begin = builder.site("worker", "./src/counter.c", 3, 5);
    let load = builder.site("worker", "src/counter.c", 4, 21);
    let store = builder.site("worker", "src/counter.c", 5, 0);
    let (read, write) = (builder.read("hits"), builder.write("hits"));
    builder.step("worker 1", read, load, StackId::NONE);
    builder.step("worker 2", write, store, StackId::NONE);
    builder.step("worker 1", write, store, StackId::NONE);
    let region = builder.region("count a hit");
    let begin = Moment { position: 2, thread: ThreadId(0), site: begin, stack: StackId::NONE };
    let cycle = Cycle {
        transactions: vec![
            builder.transaction("worker 1", Some("count a hit"), &[0, 2]),
            builder.transaction("worker 2", None, &[1]),
        ],
        edges: edges(&[(0, 1), (1, 2)]),
        blamed: true,
        refuted: vec![Refuted { region, begin }],
    };
    let verdict = builder.shown_by_its_steps();
    builder.finish(verdict, cycle, 1)
}

/// Names that try to break out of whatever they are printed in.
pub(crate) fn hostile() -> Finding {
    let mut builder = Builder::new();
    let region = "</script><b>&amp; {0} \"q\" \\l |x|\n\u{1b}[31mred\u{1b}[0m [link](http://evil) `tick`";
    let site = builder.site("f<T>::{closure#0}\r\n\"", "src/dir with space/a#b?c%41|\"ü\".c", 3, 1);
    let rtl = "\u{202e}משתנה\u{202c} 🦀\u{0}";
    let operations = [builder.read(rtl), builder.write(rtl), builder.write(rtl)];
    let one = "T\u{1b}]0;title\u{7}1 🧵";
    let other = "T2\u{9b}2J\t漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字";
    builder.step(one, operations[0], site, StackId::NONE);
    builder.step(other, operations[1], site, StackId::NONE);
    builder.step(one, operations[2], site, StackId::NONE);
    let cycle = Cycle {
        transactions: vec![
            builder.transaction(one, Some(region), &[0, 2]),
            builder.transaction(other, Some(&"long".repeat(300)), &[1]),
        ],
        edges: edges(&[(0, 1), (1, 2)]),
        blamed: true,
        refuted: Vec::new(),
    };
    let file = "src/dir with space/a#b?c%41|\"ü\".c";
    builder.sources.embed(file, "one\ntwo\nth\u{1b}[31mree \u{9b}2J \u{202e}evil\n");
    builder.finish(Verdict::Observed, cycle, u64::MAX)
}

/// Nothing has a name or a place, and some indices point nowhere.
pub(crate) fn nameless() -> Finding {
    let mut builder = Builder::new();
    let moment = |thread, position| Moment { position, thread: ThreadId(thread), ..Moment::default() };
    let addr = Addr(0x7fff_0010);
    let load = Op::Atomic { kind: AtomicKind::Load, order: MemoryOrder::Relaxed, size: 4, addr };
    let update = Op::Atomic { kind: AtomicKind::ReadModifyWrite, order: MemoryOrder::Relaxed, size: 4, addr };
    builder.steps = vec![
        RawStep { moment: moment(1, 0), op: load },
        RawStep { moment: moment(7, 0), op: update },
        RawStep { moment: moment(1, 0), op: load },
        RawStep { moment: moment(u32::MAX, 9), op: Op::Acquire { lock: LockId(4), mode: LockMode::Shared } },
    ];
    let transaction = |thread, region, steps: &[usize]| RawTransaction {
        thread: ThreadId(thread),
        region,
        steps: steps.to_vec(),
    };
    let cycle = Cycle {
        transactions: vec![
            transaction(1, RegionId(3), &[0, 2, 99]),
            transaction(7, RegionId::NONE, &[1]),
            transaction(7, RegionId::NONE, &[]),
        ],
        edges: edges(&[(0, 1), (1, 2), (usize::MAX, 0), (3, 3)]),
        blamed: true,
        refuted: vec![Refuted { region: RegionId(3), begin: Moment::default() }],
    };
    builder.finish(Verdict::Suspected(Doubt::Heuristic), cycle, 0)
}

/// A finding that was seen twice and then, elsewhere in the same function, three times and four times.
pub(crate) fn sighted_twice() -> Vec<Finding> {
    let mut builder = Builder::new();
    let thread = builder.thread("T1");
    let mut raw = Vec::new();
    for (line, count) in [(3, 2), (30, 3), (30, 4)] {
        let site = builder.site("f", "src/f.c", line, 1);
        let op = builder.write("x");
        builder.step("T1", op, site, StackId::NONE);
        let transaction = RawTransaction { thread, region: RegionId::NONE, steps: vec![0] };
        let cycle =
            Cycle { transactions: vec![transaction], edges: Vec::new(), blamed: false, refuted: Vec::new() };
        raw.push(RawFinding {
            rule: Rule::AtomicityViolation,
            verdict: Verdict::Observed,
            steps: std::mem::take(&mut builder.steps),
            evidence: Evidence::Cycle(cycle),
            lineage: None,
            count,
        });
    }
    builder.resolve(&raw)
}

/// All of them, each once.
pub(crate) fn all() -> Vec<Finding> {
    let mut findings = vec![set_add(), three(), blameless(), counter(), hostile(), nameless()];
    findings.extend([flag_race(), overlap_race(), lost_stack(), hits_locking(), total_locking()]);
    findings.extend([set_add_suspected(), racy_block(), lazy_block()]);
    findings.extend([task_race(), apparent_race(), unexamined_race(), torn_transfer(), torn_step()]);
    findings.extend([torn_function(), lock_gap(), fib_race(), open_gap(), torn_sale()]);
    findings
}
