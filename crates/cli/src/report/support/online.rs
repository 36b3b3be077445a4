//! Findings made by hand: what is told of tasks while a program runs. There are no positions, and the numbers of threads and
//! tasks are chance.

use super::{Builder, Finding};
use keirin_core::event::{SiteId, StackId, TaskId, ThreadId};
use keirin_core::finding::{Doubt, Evidence, Lineage, Moment, Race, RawTask, Torn, Verdict, Whole};
use keirin_core::tasks::Actor;
use keirin_core::trace::{MemoryBlock, PositionUnit, ThreadOrigin};

const FIB: &str = "\
static long fib(long n, long *calls) {
    ++*calls;
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a)
    a = fib(n - 1, calls);
#pragma omp task shared(b)
    b = fib(n - 2, calls);
#pragma omp taskwait
    return a + b;
}
";

fn task(id: TaskId, site: SiteId) -> RawTask {
    RawTask { actor: Actor::Task(id), spawned: Moment { site, thread: ThreadId::NONE, ..Moment::default() } }
}

fn running(program: &'static str) -> Builder {
    Builder { input: (program, PositionUnit::Nothing), ..Builder::new() }
}

/// Two tasks of a recursion that count without a lock. Those above them have no numbers; which threads ran them, and which
/// allocated the counter, the tables know.
pub(crate) fn fib_race() -> Finding {
    let mut builder = running("./fib");
    builder.sources.embed("src/fib.c", FIB);
    let count = builder.site("fib", "src/fib.c", 2, 7);
    let (left, right) = (builder.site("fib", "src/fib.c", 5, 9), builder.site("fib", "src/fib.c", 7, 9));
    let start = builder.site("main", "src/fib.c", 20, 5);
    let write = builder.write("calls");
    let addr = builder.addr("calls");
    for worker in ["worker 3", "worker 1"] {
        builder.step(worker, write, count, StackId::NONE);
    }
    let origin = ThreadOrigin { parent: ThreadId(0), site: start, stack: StackId::NONE };
    builder.tables.threads = vec![origin; 2];
    let block = MemoryBlock { size: 8, thread: ThreadId(1), site: start, stack: StackId::NONE };
    builder.tables.blocks.insert(addr.0, block);
    let unnumbered = |site| task(TaskId::NONE, site);
    builder.lineage = Some(Lineage {
        common: unnumbered(start),
        paths: vec![
            vec![
                unnumbered(left),
                unnumbered(right),
                unnumbered(left),
                unnumbered(left),
                task(TaskId(90_210), right),
            ],
            vec![unnumbered(right), task(TaskId(4711), right)],
        ],
    });
    let evidence = Evidence::Race(Race { addr, size: 8 });
    builder.finding(Verdict::OtherSchedule { witness: None }, evidence, 5)
}

/// A gap of a task between two holds of a lock, into which the common task writes. Whether a schedule shows it is open.
pub(crate) fn open_gap() -> Finding {
    let mut builder = running("./stock");
    let (load, store) =
        (builder.site("sell", "src/stock.cpp", 12, 9), builder.site("sell", "src/stock.cpp", 15, 9));
    let (refill, spawn) =
        (builder.site("main", "src/stock.cpp", 33, 5), builder.site("main", "src/stock.cpp", 30, 9));
    let (read, write) = (builder.read("items"), builder.write("items"));
    for (op, site) in [(read, load), (write, refill), (write, store)] {
        builder.step("worker 1", op, site, StackId::NONE);
    }
    let seller = task(TaskId(17), spawn);
    let main = RawTask { actor: Actor::Thread(builder.thread("main")), spawned: Moment::default() };
    builder.lineage = Some(Lineage { common: main, paths: vec![vec![seller], vec![], vec![seller]] });
    let (addr, lock) = (builder.addr("items"), builder.lock("stock"));
    let torn = Torn { addr, size: 8, whole: Whole::Holds(lock), group: None, inside: vec![0, 2] };
    builder.finding(Verdict::Suspected(Doubt::NotExamined), Evidence::Torn(torn), 1)
}

/// The same as a block, of which it is proved that some schedule tears it.
pub(crate) fn torn_sale() -> Finding {
    let mut builder = running("./stock");
    let sell = builder.site("sell", "src/stock.cpp", 12, 9);
    let spawn = builder.site("main", "src/stock.cpp", 30, 9);
    let (read, write) = (builder.read("items"), builder.write("items"));
    for op in [read, write, write] {
        builder.step("worker 1", op, sell, StackId::NONE);
    }
    // Nothing is known of those above: not even where they were spawned.
    let (one, other) = (task(TaskId(8), spawn), task(TaskId(9), SiteId::NONE));
    let common = task(TaskId::NONE, SiteId::NONE);
    builder.lineage = Some(Lineage { common, paths: vec![vec![one], vec![common, other], vec![one]] });
    let (addr, region) = (builder.addr("items"), builder.region("sell one"));
    let torn = Torn { addr, size: 8, whole: Whole::Block(region), group: None, inside: vec![0, 2] };
    builder.finding(Verdict::OtherSchedule { witness: None }, Evidence::Torn(torn), 1)
}
