//! Findings made by hand: what tasks do to each other in some schedule.

use super::{Builder, Finding};
use keirin_core::event::{GroupId, Op, SiteId, StackId, TaskId, ThreadId};
use keirin_core::finding::{
    Doubt, Evidence, Lineage, Moment, Proof, Race, RawStep, RawTask, Segment, Torn, Verdict, Whole, Witness,
};
use keirin_core::tasks::Actor;
use keirin_core::trace::NameKind;

const SORT: &str = "\
static int pivots;
static void partition(int *from, int *to) {
    pivots++;
}
static void quicksort(int *from, int *to) {
    partition(from, to);
    int *middle = split(from, to);
    cilk_spawn quicksort(from, middle);
    cilk_spawn quicksort(middle, to);
}
";

const ACCOUNT: &str = "\
void transfer(long amount) {
    KEIRIN_ATOMIC(\"Account::transfer\") {
        long seen = get(&balance);
        set(&balance, seen - amount);
    }
}
void close(void) {
    group.run([] { transfer(10); });
    group.run([] { set(&balance, 0); });
}
";

/// The way to a task, and the task itself.
struct Spawned {
    actor: Actor,
    site: SiteId,
}

impl Builder {
    fn task(&mut self, name: &str, site: SiteId) -> Spawned {
        Spawned { actor: Actor::Task(TaskId(self.id(NameKind::Task, name))), site }
    }

    fn main(&mut self) -> Spawned {
        Spawned { actor: Actor::Thread(self.thread("main")), site: SiteId::NONE }
    }

    /// Says how the tasks of the steps descend from the first one given.
    fn descend(&mut self, common: &Spawned, paths: &[&[&Spawned]]) {
        let raw = |task: &Spawned| RawTask {
            actor: task.actor,
            spawned: Moment { position: 5, thread: ThreadId(0), site: task.site, stack: StackId::NONE },
        };
        let path = |path: &&[&Spawned]| path.iter().map(|task| raw(task)).collect();
        self.lineage = Some(Lineage { common: raw(common), paths: paths.iter().map(path).collect() });
    }

    /// Some operations of one task in a row.
    fn segment(&mut self, actor: Actor, first: u64, ops: &[(Op, SiteId)]) -> Segment {
        let shown = ops.iter().zip(first..).map(|(&(op, site), position)| {
            let moment = Moment { position, thread: ThreadId(1), site, stack: StackId::NONE };
            RawStep { moment, op }
        });
        let last = first + ops.len() as u64;
        Segment { actor, first, last, operations: ops.len() as u64 + 1, shown: shown.collect() }
    }
}

fn shown_by(as_observed_until: u64, segments: Vec<Segment>) -> Verdict {
    Verdict::OtherSchedule {
        witness: Some(Box::new(Witness { as_observed_until, segments, proof: Proof::Operations })),
    }
}

/// Two tasks, one of them two spawns down, that count without a lock; the sources are at hand.
pub(crate) fn task_race() -> Finding {
    let mut builder = Builder::new();
    builder.sources.embed("src/sort.cpp", SORT);
    let count = builder.site("partition", "src/sort.cpp", 3, 5);
    let left = builder.site("quicksort", "src/sort.cpp", 8, 9);
    let right = builder.site("quicksort", "src/sort.cpp", 9, 9);
    let call = builder.site("quicksort", "src/sort.cpp", 6, 5);
    let counting = builder.stack(&[("quicksort", right), ("partition", call)]);
    let write = builder.write("pivots");
    builder.step("worker 0", write, count, counting);
    builder.step("worker 0", write, count, counting);
    let (main, one) = (builder.main(), builder.task("left", left));
    let (two, three) = (builder.task("right", right), builder.task("inner", left));
    builder.descend(&main, &[&[&one, &three], &[&two]]);
    let segments = vec![
        builder.segment(one.actor, 10, &[(Op::Spawn { task: TaskId(2) }, left)]),
        builder.segment(three.actor, 20, &[(write, count)]),
        builder.segment(two.actor, 30, &[(write, count)]),
    ];
    let addr = builder.addr("pivots");
    builder.finding(shown_by(4, segments), Evidence::Race(Race { addr, size: 8 }), 3)
}

/// Two accesses without a common lock that the locks keep apart nevertheless.
pub(crate) fn apparent_race() -> Finding {
    let mut builder = Builder::new();
    let one = builder.site("produce", "src/pipe.c", 14, 9);
    let other = builder.site("consume", "src/pipe.c", 31, 9);
    let (read, write) = (builder.read("slot"), builder.write("slot"));
    builder.step("T1", write, one, StackId::NONE);
    builder.step("T2", read, other, StackId::NONE);
    let (main, spawn) = (builder.main(), builder.site("main", "src/pipe.c", 50, 5));
    let task = builder.task("7", spawn);
    builder.descend(&main, &[&[&task], &[]]);
    let addr = builder.addr("slot");
    let verdict = Verdict::Suspected(Doubt::LocksForbid);
    builder.finding(verdict, Evidence::Race(Race { addr, size: 8 }), 1)
}

/// A race that nobody looked at more closely: only the place of the earlier access is known.
pub(crate) fn unexamined_race() -> Finding {
    let mut builder = Builder::new();
    let one = builder.site("fill", "src/table.c", 14, 9);
    let other = builder.site("drain", "src/table.c", 31, 9);
    let (read, write) = (builder.read("rows"), builder.write("rows"));
    builder.step("T1", write, one, StackId::NONE);
    builder.step("T2", read, other, StackId::NONE);
    builder.steps[0].moment = Moment { position: 0, thread: ThreadId::NONE, ..builder.steps[0].moment };
    let addr = builder.addr("rows");
    let verdict = Verdict::Suspected(Doubt::NotExamined);
    builder.finding(verdict, Evidence::Race(Race { addr, size: 8 }), 1)
}

/// A withdrawal between whose two holds another task writes: its steps, its lineage and the sites of its operations.
fn account(builder: &mut Builder) -> (Spawned, Spawned, [SiteId; 3]) {
    builder.sources.embed("src/account.cpp", ACCOUNT);
    let load = builder.site("transfer", "src/account.cpp", 3, 21);
    let store = builder.site("transfer", "src/account.cpp", 4, 9);
    let clear = builder.site("close", "src/account.cpp", 9, 20);
    let first = builder.site("close", "src/account.cpp", 8, 11);
    let second = builder.site("close", "src/account.cpp", 9, 11);
    let (read, write) = (builder.read("balance"), builder.write("balance"));
    builder.step("worker 1", read, load, StackId::NONE);
    builder.step("worker 1", write, clear, StackId::NONE);
    builder.step("worker 1", write, store, StackId::NONE);
    let (main, one, two) = (builder.main(), builder.task("3", first), builder.task("4", second));
    builder.descend(&main, &[&[&one], &[&two], &[&one]]);
    (one, two, [load, clear, store])
}

/// The schedule that shows it, with the lock of the account.
fn account_schedule(
    builder: &mut Builder,
    one: &Spawned,
    two: &Spawned,
    [load, clear, store]: [SiteId; 3],
) -> Verdict {
    let (acquire, release) = (builder.acquire("account"), builder.release("account"));
    let (read, write) = (builder.read("balance"), builder.write("balance"));
    let segments = vec![
        builder.segment(one.actor, 12, &[(acquire, load), (read, load), (release, load)]),
        builder.segment(two.actor, 30, &[(acquire, clear), (write, clear), (release, clear)]),
        builder.segment(one.actor, 16, &[(acquire, store), (write, store)]),
    ];
    shown_by(11, segments)
}

fn torn(builder: &mut Builder, whole: Whole, group: Option<GroupId>) -> Evidence {
    let addr = builder.addr("balance");
    Evidence::Torn(Torn { addr, size: 8, whole, group, inside: vec![0, 2] })
}

/// A block that is marked, with the schedule that tears it.
pub(crate) fn torn_transfer() -> Finding {
    let mut builder = Builder::new();
    let (one, two, sites) = account(&mut builder);
    let verdict = account_schedule(&mut builder, &one, &two, sites);
    let region = builder.region("Account::transfer");
    let evidence = torn(&mut builder, Whole::Block(region), None);
    builder.finding(verdict, evidence, 1)
}

/// The same under two holds of the lock.
pub(crate) fn lock_gap() -> Finding {
    let mut builder = Builder::new();
    let (one, two, sites) = account(&mut builder);
    let verdict = account_schedule(&mut builder, &one, &two, sites);
    let lock = builder.lock("account");
    let evidence = torn(&mut builder, Whole::Holds(lock), None);
    builder.finding(verdict, evidence, 2)
}

/// A step of the main thread that sees half of a group; the search for a schedule was given up.
pub(crate) fn torn_step() -> Finding {
    let mut builder = Builder::new();
    let show = builder.site("show", "src/point.rs", 20, 9);
    let move_to = builder.site("move_to", "src/point.rs", 33, 9);
    let spawn = builder.site("main", "src/point.rs", 50, 5);
    let operations = [
        builder.read("point.x"),
        builder.write("point.x"),
        builder.write("point.y"),
        builder.read("point.y"),
    ];
    let threads = ["main", "worker 1", "worker 1", "main"];
    for ((op, thread), site) in operations.into_iter().zip(threads).zip([show, move_to, move_to, show]) {
        builder.step(thread, op, site, StackId::NONE);
    }
    let (main, mover) = (builder.main(), builder.task("mover", spawn));
    builder.descend(&main, &[&[], &[&mover], &[&mover], &[]]);
    let group = Some(GroupId(builder.id(NameKind::Group, "point")));
    let addr = builder.addr("point.y");
    let evidence = Evidence::Torn(Torn { addr, size: 8, whole: Whole::Step, group, inside: vec![0, 3] });
    builder.finding(Verdict::Suspected(Doubt::SearchGivenUp), evidence, 1)
}

/// A function of a thread that was interrupted in the run itself; nothing is known of tasks.
pub(crate) fn torn_function() -> Finding {
    let mut builder = Builder::new();
    let site = builder.site("refill", "src/pool.c", 12, 5);
    let (read, write) = (builder.read("free"), builder.write("free"));
    builder.step("T1", read, site, StackId::NONE);
    builder.step("T2", write, site, StackId::NONE);
    builder.step("T1", read, site, StackId::NONE);
    let function = builder.function("refill");
    let addr = builder.addr("free");
    let whole = Whole::Block(keirin_core::event::RegionId::of_function(function));
    let evidence = Evidence::Torn(Torn { addr, size: 8, whole, group: None, inside: vec![0, 2] });
    builder.finding(Verdict::Observed, evidence, 1)
}
