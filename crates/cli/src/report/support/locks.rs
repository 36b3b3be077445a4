//! Findings made by hand: races, locking and reduction.

use super::{Builder, Finding};
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, LockId, LockMode, MemoryOrder, Op, RegionId, SiteId, StackId, ThreadId,
};
use keirin_core::finding::{Doubt, Evidence, Locking, Moment, Race, RawStep, Reduction, Refuted, Verdict};
use keirin_core::trace::NameKind;

const FLAG: &str = "\
static int data, ready;
void produce(void) {
    data = 42;
    atomic_store(&ready, 1);
}
void consume(void) {
    while (!ready) {}
    print(data);
}
";

/// An atomic store and a plain load, with the sources at hand and a stack on both sides.
pub(crate) fn flag_race() -> Finding {
    let mut builder = Builder::new();
    builder.sources.embed("src/flag.c", FLAG);
    let store = builder.site("produce", "src/flag.c", 4, 18);
    let load = builder.site("consume", "src/flag.c", 7, 13);
    let start = builder.site("main", "src/main.c", 20, 5);
    let producing = builder.stack(&[("produce", start)]);
    let consuming = builder.stack(&[("consume", start)]);
    let addr = builder.addr("ready");
    let order = MemoryOrder::SequentiallyConsistent;
    builder.step("producer", Op::Atomic { kind: AtomicKind::Store, order, size: 8, addr }, store, producing);
    let read = builder.read("ready");
    builder.step("consumer", read, load, consuming);
    builder.finding(Verdict::Observed, Evidence::Race(Race { addr, size: 8 }), 7)
}

/// Two accesses that share some bytes only; what led to the first is not known.
pub(crate) fn overlap_race() -> Finding {
    let mut builder = Builder::new();
    let clear = builder.site("reset", "src/header.c", 11, 5);
    let start = builder.site("main", "src/main.c", 20, 5);
    let bump = builder.site("bump", "src/header.c", 30, 9);
    let bumping = builder.stack(&[("bump", start)]);
    let addr = builder.addr("header");
    let half = Addr(addr.0 + 4);
    let write = builder.write("header");
    builder.step("T1", write, clear, StackId::NONE);
    builder.step("T2", Op::Access { kind: AccessKind::Write, size: 4, addr: half }, bump, bumping);
    builder.finding(Verdict::Observed, Evidence::Race(Race { addr: half, size: 4 }), 1)
}

/// A race whose first side was forgotten, in another schedule.
pub(crate) fn lost_stack() -> Finding {
    let mut builder = Builder::new();
    let site = builder.site("poll", "src/poll.c", 8, 0);
    let (read, write) = (builder.read("stop"), builder.write("stop"));
    builder.step("T1", write, SiteId::NONE, StackId::NONE);
    builder.step("T2", read, site, StackId::NONE);
    builder.steps[0].moment.position = 0;
    let addr = builder.addr("stop");
    let verdict = builder.shown_by_its_steps();
    builder.finding(verdict, Evidence::Race(Race { addr, size: 8 }), 1)
}

fn lock(builder: &mut Builder, name: &str) -> LockId {
    LockId(builder.id(NameKind::Lock, name))
}

/// One access under a lock, the other under none.
pub(crate) fn hits_locking() -> Finding {
    let mut builder = Builder::new();
    let load = builder.site("worker", "src/counter.c", 4, 21);
    let store = builder.site("worker", "src/counter.c", 5, 9);
    let (read, write) = (builder.read("hits"), builder.write("hits"));
    builder.step("worker 1", write, store, StackId::NONE);
    builder.step("worker 2", read, load, StackId::NONE);
    let guard = lock(&mut builder, "guard");
    let addr = builder.addr("hits");
    let held = vec![vec![(guard, LockMode::Exclusive)], Vec::new()];
    builder.finding(
        Verdict::Suspected(Doubt::Heuristic),
        Evidence::Locking(Locking { addr, size: 8, held }),
        12,
    )
}

/// Many locks, some of them shared, and the earlier access forgotten.
pub(crate) fn total_locking() -> Finding {
    let mut builder = Builder::new();
    let site = builder.site("audit", "src/audit.rs", 12, 9);
    let write = builder.write("total");
    builder.step("auditor", write, site, StackId::NONE);
    let addr = builder.addr("total");
    let locks = ["a", "b", "c", "d", "e"].map(|name| (lock(&mut builder, name), LockMode::Shared));
    let held = vec![locks.to_vec()];
    builder.finding(
        Verdict::Suspected(Doubt::Heuristic),
        Evidence::Locking(Locking { addr, size: 8, held }),
        1,
    )
}

fn block(builder: &mut Builder, region: &str, site: SiteId) -> Refuted {
    let region = builder.region(region);
    Refuted { region, begin: Moment { position: 3, thread: ThreadId(0), site, stack: StackId::NONE } }
}

/// The example of the Velodrome paper as the locks alone show it.
pub(crate) fn set_add_suspected() -> Finding {
    let mut builder = Builder::new();
    let contains = builder.site("Vector.contains", "src/Vector.java", 4, 2);
    let add = builder.site("Vector.add", "src/Vector.java", 6, 2);
    let first_call = builder.site("Set.add", "src/Set.java", 6, 21);
    let second_call = builder.site("Set.add", "src/Set.java", 7, 18);
    let outer = builder.site("Set.add", "src/Set.java", 4, 3);
    let inner = builder.site("Set.add", "src/Set.java", 5, 5);
    let checking = builder.stack(&[("Vector.contains", first_call)]);
    let adding = builder.stack(&[("Vector.add", second_call)]);
    let (acquire, release) = (builder.acquire("elements"), builder.release("elements"));
    builder.step("T1", release, contains, checking);
    builder.step("T1", acquire, add, adding);
    let blocks = vec![block(&mut builder, "Set.add", outer), block(&mut builder, "Set.add inner", inner)];
    builder.finding(
        Verdict::Suspected(Doubt::Heuristic),
        Evidence::Reduction(Reduction { blocks, commit: 0, broken: 1 }),
        5,
    )
}

/// Two accesses of what no lock protects, with a step of another thread between them.
pub(crate) fn racy_block() -> Finding {
    let mut builder = Builder::new();
    let begin = builder.site("worker", "src/counter.c", 3, 5);
    let load = builder.site("worker", "src/counter.c", 4, 21);
    let store = builder.site("worker", "src/counter.c", 5, 9);
    let (read, write) = (builder.read("hits"), builder.write("hits"));
    builder.step("worker 1", read, load, StackId::NONE);
    builder.step("worker 2", write, store, StackId::NONE);
    builder.step("worker 1", write, store, StackId::NONE);
    let blocks = vec![block(&mut builder, "count a hit", begin)];
    builder.finding(
        Verdict::Suspected(Doubt::Heuristic),
        Evidence::Reduction(Reduction { blocks, commit: 0, broken: 2 }),
        1,
    )
}

/// A block without a name that reads what no lock protects and then takes a lock; nothing has a place.
pub(crate) fn lazy_block() -> Finding {
    let mut builder = Builder::new();
    let moment = Moment { thread: ThreadId(2), ..Moment::default() };
    let read = builder.read("instance");
    let acquire = builder.acquire("once");
    builder.steps = vec![RawStep { moment, op: read }, RawStep { moment, op: acquire }];
    let blocks = vec![Refuted { region: RegionId(9), begin: Moment::default() }];
    builder.finding(
        Verdict::Suspected(Doubt::Heuristic),
        Evidence::Reduction(Reduction { blocks, commit: 0, broken: 1 }),
        1,
    )
}
