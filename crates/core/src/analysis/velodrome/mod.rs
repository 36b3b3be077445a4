//! Velodrome: is the observed run serializable, and if not, which block is to blame?
//!
//! **Paper.** Flanagan, Freund, Yi: *Velodrome: A Sound and Complete Dynamic Atomicity Checker for Multithreaded
//! Programs*, PLDI 2008.
//!
//! A *transaction* is an outermost atomic region of one thread, or a single operation outside any region. Conflicting
//! operations of two transactions put one before the other; the run is serializable iff this order has no cycle. The
//! rules, for an operation of thread `t` in transaction `n` (figure 2 of the paper):
//!
//! | operation | comes after | is remembered as |
//! |---|---|---|
//! | read `x` | last write of `x` | last read of `x` by `t` |
//! | write `x` | last write of `x`, last reads of `x` since | last write of `x` |
//! | acquire `m` | last release of `m` (exclusive: all shared releases since, too) | |
//! | release `m` | | last release of `m` (shared: last shared release by `t`) |
//! | first operation of `t` | the fork of `t` | |
//! | join `u` | last operation of `u` | |
//! | receive | all earlier signals of the same object | |
//!
//! This file turns operations into predecessors; what is done with them, and how a cycle is noticed, is up to an
//! [`Order`]. There are two:
//!
//! - [`reach::Reach`] (the default) keeps, for each open transaction, how early in each thread it is followed by
//!   something. Time and memory do not depend on how long a transaction stays open.
//! - [`graph::Graph`] (`--algorithm published`) is the paper's: the graph of transactions, with garbage collection by
//!   counts, merging of operations outside transactions, and blame by increasing cycles.
//!
//! **Promises.** The first report comes exactly at the first operation that closes a cycle; a serializable run gives
//! none. Later reports: every one is a cycle of the full order. A block is blamed only if no equivalent run executes
//! it without interruption; with [`reach::Reach`] also whenever that is so.
//!
//! **Deviations.** Reads that a write has seen are forgotten: whatever must follow them follows the write;
//! so are those that a later read is known to come after. Shared
//! acquires do not conflict with each other. Regions still open at the end of the run need no special care.
//!
//! **Misses.** Violations of other schedules of the same run.
//!
//! **Who touches what.** Cells and locks belong to the driver and are handed in exclusively. The order is global to
//! the analysis; it is entered only for an operation that has a predecessor in another thread which is not yet known to
//! come before, and at the two ends of a region. An operation that enters it stays inside until all its predecessors are
//! told. Nothing is called back from it. So with [`Shared`] many threads may call at once, each with its own state and with a
//! cell or an object that nobody else has at this time.

pub mod graph;
pub mod reach;

use super::global::{Alone, Global, Shared, Users};
use super::{Analysis, Part, Statistic};
use crate::clock::Epoch;
use crate::event::{AccessKind, LockMode, Op, RegionId, SiteId, StackId, ThreadId};
use crate::finding::{
    Cycle, Evidence, FindingKey, Findings, Moment, RawEdge, RawFinding, RawStep, RawTransaction, Refuted,
    Rule, Verdict,
};
use std::fmt::Debug;

/// Where an operation comes from: all that a report needs to show it later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    epoch: Epoch,
    site: SiteId,
    stack: StackId,
    /// The outermost region around the operation; `NONE` outside any.
    region: RegionId,
    /// How far into the transaction the operation is, in positions; saturates.
    since_begin: u32,
}

// A cell of three of these fits into one line of the cache, nearly.
const _: () = assert!(size_of::<Origin>() == 24);

impl Origin {
    fn thread(&self) -> ThreadId {
        self.epoch.thread()
    }

    fn position(&self) -> u64 {
        self.epoch.time()
    }

    /// The position at which the operation's transaction began.
    fn transaction_begin(&self) -> u64 {
        self.position() - u64::from(self.since_begin)
    }

    fn moment(&self) -> Moment {
        Moment { position: self.position(), thread: self.thread(), site: self.site, stack: self.stack }
    }
}

/// A conflict between operations of two threads: the source comes before the target.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    source: Origin,
    source_op: Op,
    target: Origin,
    target_op: Op,
}

/// A cycle that an operation has closed.
#[derive(Debug)]
pub struct Closed {
    /// From the transaction of the operation through others and back, in order. The last hop closed the cycle.
    hops: Vec<Hop>,
    /// The path holds for the operations themselves, not only for their transactions (the paper: it is increasing).
    increasing: bool,
}

/// How the order of transactions is kept, and how it is noticed that it has a cycle.
pub trait Order: Debug + Default {
    /// What is remembered of an operation.
    type Step: Copy + Default;

    /// An operation without a predecessor in another thread can be remembered without asking the order.
    const LOCAL: bool;

    /// The origin of a remembered operation.
    fn origin(step: &Self::Step) -> &Origin;

    /// True if a remembered operation can still be on a cycle. One that cannot need not be remembered.
    fn is_live(&self, step: &Self::Step) -> bool;

    /// A step for an operation that the order need not know ([`Order::LOCAL`]).
    fn local_step(origin: Origin) -> Self::Step;

    /// A region begins; the operation itself follows with [`Order::start`]. `depth` regions are open around it.
    fn begin(&mut self, thread: ThreadId, position: u64, depth: usize);

    /// The innermost region ends at `origin`; `depth` regions remain open.
    fn end(&mut self, thread: ThreadId, origin: Origin, depth: usize) -> Self::Step;

    /// An operation starts. `inside` tells whether it is in a region, or is one part of an access outside any: the
    /// parts, which have the same origin, are one transaction.
    fn start(&mut self, origin: Origin, op: Op, inside: bool);

    /// The operation that was started comes after `step`, where `op` was done.
    fn predecessor(&mut self, step: &Self::Step, op: Op);

    /// All predecessors are told: gives what to remember, and a cycle if the operation closed one.
    fn commit(&mut self) -> (Self::Step, Option<Closed>);

    /// Figures about the work done.
    fn statistics(&self) -> Vec<Statistic>;
}

/// The analysis.
#[derive(Debug, Default)]
pub struct Velodrome<O: Order = reach::Reach, U: Users = Alone> {
    order: U::Global<O>,
}

/// What is kept for a thread.
#[derive(Debug, Default)]
pub struct Thread<S> {
    /// The open regions, outermost first.
    blocks: Vec<Refuted>,
    /// The fork of this thread, until its first operation.
    fork: Option<S>,
    last: S,
    seen: Seen,
}

/// The predecessors that a thread has lately been ordered after, or that can no longer be on a cycle, to skip them when they
/// come again: an order that is known already cannot close a cycle now. What holds for an operation in one of these ways
/// holds for all earlier ones of its thread, and from then on.
#[derive(Debug, Default)]
struct Seen([Epoch; Seen::SLOTS]);

impl Seen {
    const SLOTS: usize = 16;

    /// True if the epoch, or a later one of the same thread, was noted.
    #[inline]
    fn covers(&self, epoch: Epoch) -> bool {
        let slot = self.0[epoch.thread().index() % Self::SLOTS];
        slot.thread() == epoch.thread() && slot.time() >= epoch.time()
    }

    #[inline]
    fn note(&mut self, epoch: Epoch) {
        self.0[epoch.thread().index() % Self::SLOTS] = epoch;
    }
}

/// The last operation of each thread of some kind: last readers of a cell, last shared holders of a lock, signals.
#[derive(Clone, Debug, Default)]
pub struct PerThread<S> {
    one: S,
    /// Rarely used: the second indirection keeps cells small.
    #[allow(clippy::box_collection)]
    more: Option<Box<Vec<S>>>,
}

impl<S: Copy + Default> PerThread<S> {
    /// Remembers an operation in place of an earlier one of the same thread, one that can no longer matter, or one that
    /// it comes after: whatever must follow that one follows this one.
    #[inline]
    fn insert<O: Order<Step = S>>(&mut self, step: S, seen: &Seen, order: &impl Global<O>) {
        let thread = O::origin(&step).thread();
        let replaces = |other: &S| {
            let epoch = O::origin(other).epoch;
            epoch.is_never()
                || epoch.thread() == thread
                || (O::LOCAL && seen.covers(epoch))
                || !order.enter().is_live(other)
        };
        if self.more.is_none() && replaces(&self.one) {
            self.one = step;
        } else {
            self.insert_more(step, replaces);
        }
    }

    fn insert_more(&mut self, step: S, replaces: impl Fn(&S) -> bool) {
        let more = self.more.get_or_insert_default();
        more.retain(|other| !replaces(other));
        if replaces(&self.one) {
            self.one = step;
        } else {
            more.push(step);
        }
        if more.is_empty() {
            self.more = None;
        }
    }

    #[inline]
    fn clear(&mut self) {
        self.one = S::default();
        self.more = None;
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = &S> {
        std::iter::once(&self.one).chain(self.more.iter().flat_map(|more| more.iter()))
    }
}

/// What is kept for a piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Cell<S> {
    write: S,
    /// Since the last write.
    reads: PerThread<S>,
}

/// What is kept for a lock or another object that orders threads.
#[derive(Clone, Debug, Default)]
pub struct Sync<S> {
    exclusive: S,
    /// Shared releases since the last exclusive one, or signals.
    shared: PerThread<S>,
}

/// Collects the predecessors of one operation; enters the order only if there is one in another thread that matters, and
/// stays inside until the end of the operation.
struct Operation<'a, O: Order, U: Users> {
    velodrome: &'a Velodrome<O, U>,
    at: &'a RawStep,
    origin: Origin,
    inside: bool,
    entered: Option<<U::Global<O> as Global<O>>::Entered<'a>>,
}

impl<'a, O: Order, U: Users> Operation<'a, O, U> {
    #[inline]
    fn new(velodrome: &'a Velodrome<O, U>, at: &'a RawStep, thread: &mut Thread<O::Step>) -> Self {
        Self::of_part(velodrome, at, thread, true)
    }

    /// An operation that is the `whole` of what happens at this moment, or a part of it.
    #[inline]
    fn of_part(
        velodrome: &'a Velodrome<O, U>,
        at: &'a RawStep,
        thread: &mut Thread<O::Step>,
        whole: bool,
    ) -> Self {
        let origin = velodrome.origin(at, thread);
        let inside = !thread.blocks.is_empty() || !whole;
        let mut operation = Self { velodrome, at, origin, inside, entered: None };
        if !O::LOCAL {
            let mut order = velodrome.order.enter();
            order.start(origin, at.op, inside);
            operation.entered = Some(order);
        }
        if let Some(fork) = thread.fork.take() {
            operation.after(thread, &fork, Op::Fork { child: at.moment.thread });
        }
        operation
    }

    #[inline]
    fn after(&mut self, thread: &mut Thread<O::Step>, step: &O::Step, op: Op) {
        let epoch = O::origin(step).epoch;
        if epoch.is_never() || epoch.thread() == self.at.moment.thread {
            return;
        }
        if O::LOCAL {
            if thread.seen.covers(epoch) {
                return;
            }
            thread.seen.note(epoch);
        }
        let order = match &mut self.entered {
            Some(order) => order,
            None => {
                let mut order = self.velodrome.order.enter();
                if !order.is_live(step) {
                    return;
                }
                order.start(self.origin, self.at.op, self.inside);
                self.entered.insert(order)
            }
        };
        if order.is_live(step) {
            order.predecessor(step, op);
        }
    }

    #[inline]
    fn commit(self, thread: &mut Thread<O::Step>, findings: &mut Findings) -> O::Step {
        let step = match self.entered {
            Some(mut order) => {
                let (step, closed) = order.commit();
                drop(order);
                if let Some(closed) = closed {
                    report(closed, &thread.blocks, findings);
                }
                step
            }
            None => O::local_step(self.origin),
        };
        thread.last = step;
        step
    }
}

impl<O: Order> Velodrome<O, Alone> {
    /// An analysis with a given order, for the offline driver.
    pub fn new(order: O) -> Self {
        Self { order: Global::new(order) }
    }
}

impl<O: Order> Velodrome<O, Shared> {
    /// An analysis with a given order, for many threads at once.
    pub fn shared(order: O) -> Self {
        Self { order: Global::new(order) }
    }
}

impl<O: Order, U: Users> Velodrome<O, U> {
    #[inline]
    fn origin(&self, at: &RawStep, thread: &Thread<O::Step>) -> Origin {
        let Moment { position, thread: id, site, stack } = at.moment;
        let (region, since_begin) = match thread.blocks.first() {
            Some(block) => (block.region, u32::try_from(position - block.begin.position).unwrap_or(u32::MAX)),
            None => (RegionId::NONE, 0),
        };
        Origin { epoch: Epoch::new(id, position), site, stack, region, since_begin }
    }

    /// An operation that only remembers itself: a release or a signal.
    fn publish(&self, at: &RawStep, thread: &mut Thread<O::Step>, findings: &mut Findings) -> O::Step {
        Operation::new(self, at, thread).commit(thread, findings)
    }
}

/// The operation of a remembered access, as far as it is still known.
#[inline]
fn access_op(kind: AccessKind, part: Part) -> Op {
    Op::Access { kind, size: part.size, addr: part.addr }
}

impl<O: Order, U: Users> Analysis for Velodrome<O, U> {
    type Thread = Thread<O::Step>;
    type Cell = Cell<O::Step>;
    type Sync = Sync<O::Step>;

    #[inline]
    fn access(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        part: Part,
        findings: &mut Findings,
    ) {
        let mut operation = Operation::of_part(self, at, thread, part.whole);
        operation.after(thread, &cell.write, access_op(AccessKind::Write, part));
        match part.kind {
            AccessKind::Read => {
                let step = operation.commit(thread, findings);
                cell.reads.insert(step, &thread.seen, &self.order);
            }
            AccessKind::Write => {
                for read in cell.reads.iter() {
                    operation.after(thread, read, access_op(AccessKind::Read, part));
                }
                cell.write = operation.commit(thread, findings);
                cell.reads.clear();
            }
        }
    }

    fn acquire(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        let Op::Acquire { lock: id, .. } = at.op else { return };
        let mut operation = Operation::new(self, at, thread);
        operation.after(thread, &lock.exclusive, Op::Release { lock: id, mode: LockMode::Exclusive });
        if mode == LockMode::Exclusive {
            for release in lock.shared.iter() {
                operation.after(thread, release, Op::Release { lock: id, mode: LockMode::Shared });
            }
        }
        operation.commit(thread, findings);
    }

    fn release(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        let step = self.publish(at, thread, findings);
        match mode {
            LockMode::Exclusive => {
                lock.exclusive = step;
                lock.shared.clear();
            }
            LockMode::Shared => lock.shared.insert(step, &thread.seen, &self.order),
        }
    }

    fn signal(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        findings: &mut Findings,
    ) {
        let step = self.publish(at, thread, findings);
        sync.shared.insert(step, &thread.seen, &self.order);
    }

    fn receive(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        findings: &mut Findings,
    ) {
        let mut operation = Operation::new(self, at, thread);
        for signal in sync.shared.iter() {
            operation.after(thread, signal, signal_op(at.op));
        }
        operation.commit(thread, findings);
    }

    fn fork(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        findings: &mut Findings,
    ) {
        child.fork = Some(self.publish(at, thread, findings));
    }

    fn join(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        findings: &mut Findings,
    ) {
        let mut operation = Operation::new(self, at, thread);
        // A thread that did nothing still passes on the order from its fork.
        match child.fork.take() {
            Some(fork) => operation.after(thread, &fork, at.op),
            None => operation.after(thread, &child.last, Op::ThreadEnd),
        }
        operation.commit(thread, findings);
    }

    fn begin(&self, at: &RawStep, thread: &mut Self::Thread, region: RegionId, findings: &mut Findings) {
        self.order.enter().begin(at.moment.thread, at.moment.position, thread.blocks.len());
        thread.blocks.push(Refuted { region, begin: at.moment });
        self.publish(at, thread, findings);
    }

    fn end(&self, at: &RawStep, thread: &mut Self::Thread, _findings: &mut Findings) {
        let origin = self.origin(at, thread);
        thread.blocks.pop();
        thread.last = self.order.enter().end(at.moment.thread, origin, thread.blocks.len());
    }

    fn statistics(&self) -> Vec<Statistic> {
        self.order.enter().statistics()
    }
}

/// What the other side of a receiving operation did.
fn signal_op(receiver: Op) -> Op {
    match receiver {
        Op::Wait { condition } => Op::Notify { condition, all: false },
        Op::BarrierLeave { barrier } => Op::BarrierArrive { barrier },
        Op::HappensAfter { token } => Op::HappensBefore { token },
        other => other,
    }
}

/// Turns a cycle into a finding.
fn report(closed: Closed, blocks: &[Refuted], findings: &mut Findings) {
    let Closed { hops, increasing } = closed;
    let (Some(first), Some(last)) = (hops.first(), hops.last()) else { return };
    let root = first.source.position();
    let refuted: Vec<Refuted> =
        blocks.iter().filter(|block| increasing && block.begin.position <= root).copied().collect();
    let regions = if increasing {
        refuted.iter().map(|block| block.region).collect()
    } else {
        hops.iter().map(|hop| hop.source.region).collect()
    };
    let sites = vec![first.source.site, last.source.site, last.target.site];
    let key = FindingKey::new(Rule::AtomicityViolation, regions, sites, last.target_op);
    findings.add(key, last.target.moment(), || finding(&hops, increasing, refuted));
}

fn finding(hops: &[Hop], blamed: bool, refuted: Vec<Refuted>) -> RawFinding {
    // The operations in the order of the interleaving; one that ends a hop often starts the next.
    let mut operations: Vec<(Origin, Op)> =
        hops.iter().flat_map(|hop| [(hop.source, hop.source_op), (hop.target, hop.target_op)]).collect();
    operations.sort_by_key(|(origin, _)| (origin.position(), origin.thread()));
    // The operation that ends a hop is known exactly; where it starts one, only what kind it was.
    operations.dedup_by(|later, earlier| {
        let same = later.0.epoch == earlier.0.epoch;
        if same && hops.iter().any(|hop| hop.target == later.0 && hop.target_op == later.1) {
            earlier.1 = later.1;
        }
        same
    });
    let index = |origin: &Origin| {
        operations.iter().position(|other| other.0.epoch == origin.epoch).unwrap_or_default()
    };
    let edges: Vec<RawEdge> =
        hops.iter().map(|hop| RawEdge { from: index(&hop.source), to: index(&hop.target) }).collect();

    let mut transactions: Vec<(u64, RawTransaction)> = Vec::new();
    let visits = hops.iter().flat_map(|hop| [&hop.source, &hop.target]);
    for origin in visits {
        let begin = origin.transaction_begin();
        let step = index(origin);
        let known = transactions
            .iter_mut()
            .find(|(other, transaction)| *other == begin && transaction.thread == origin.thread());
        let steps = match known {
            Some((_, transaction)) => &mut transaction.steps,
            None => {
                let (thread, region) = (origin.thread(), origin.region);
                transactions.push((begin, RawTransaction { thread, region, steps: Vec::new() }));
                &mut transactions.last_mut().expect("just pushed").1.steps
            }
        };
        if !steps.contains(&step) {
            steps.push(step);
            steps.sort_unstable();
        }
    }

    RawFinding {
        rule: Rule::AtomicityViolation,
        verdict: Verdict::Observed,
        steps: operations.iter().map(|(origin, op)| RawStep { moment: origin.moment(), op: *op }).collect(),
        evidence: Evidence::Cycle(Cycle {
            transactions: transactions.into_iter().map(|(_, transaction)| transaction).collect(),
            edges,
            blamed,
            refuted,
        }),
        lineage: None,
        count: 1,
    }
}
