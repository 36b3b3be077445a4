//! AeroDrome: is the observed run serializable? By vector clocks, in time linear in the run.
//!
//! **Paper.** Mathur, Viswanathan: *Atomicity Checking in Linear Time using Vector Clocks*, ASPLOS 2020.
//!
//! Every transaction has a clock: for each thread the number of the latest transaction of that thread that comes before
//! it. Only `begin` advances a thread's own number. The rules, for an operation of thread `t`, in transaction `m`, that
//! comes after transaction `r`:
//!
//! | what | rule |
//! |---|---|
//! | violation | `r` knows `m`: `clock(r)[t] ≥ number(m)`, and `m` is open |
//! | otherwise | `clock(m) = clock(m) ⊔ clock(r)` |
//! | end of `m` | what `m` knows is passed on to every transaction that knows `m`; an open one that `m` knows, and that knows `m`, is a violation |
//! | end of the run | the open transactions are ended, one after the other |
//!
//! **Shape.** Only what is known of open transactions can matter, so a clock is a short list of those, whatever the number
//! of threads. It is not copied into the locations but shared: a [`Record`] is the clock of one transaction, or of a
//! stretch of operations outside any, and cells refer to records. A record that knows no open transaction can never be
//! part of a violation any more, whatever comes, and is forgotten; nearly all are at once. Each open transaction keeps a
//! list of the records that know it, for its end; the list is swept of forgotten ones whenever it has doubled, so a
//! transaction that stays open keeps only live records alive.
//!
//! **Promises.** The same verdict as [`super::velodrome`]; the violation may be noticed later in the run than there, since
//! what an open transaction learns is passed on only when it ends. After the verdict nothing more is looked at: who is to
//! blame, and why, is left to Velodrome on the same run.
//!
//! **Deviations.** The published optimizations are not used. Operations outside transactions have no number of their own
//! and share a record until the clock of their thread changes.
//!
//! **Cost.** An operation whose predecessor is forgotten costs a comparison. Otherwise a join, linear in the number of
//! open transactions that are known; each record is joined once in each state of its clock by each thread.
//!
//! **Who touches what.** Cells and locks belong to the driver. Records are shared between cells. What they know changes only
//! while the run, which is global to the analysis, is entered: at both ends of a transaction, and for an operation that
//! comes after a live record of another transaction. Nothing is called back from it. So with [`Shared`] many threads may call
//! at once.

use super::global::{Alone, Counted, Global, Shared, Users};
use super::{Analysis, Part, Statistic};
use crate::event::{AccessKind, LockMode, RegionId, ThreadId};
use crate::finding::{Findings, Moment, RawStep};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The analysis.
#[derive(Debug, Default)]
pub struct AeroDrome<U: Users = Alone> {
    run: U::Global<Run<U>>,
}

/// What is known about the run as a whole.
#[derive(Debug, Default)]
struct Run<U: Users> {
    /// For each thread its open transaction.
    open: Vec<Open<U>>,
    violation: Option<Moment>,
    records: u64,
    transactions: u64,
    joins: u64,
}

/// Points to a record.
type Pointer<U> = <U as Users>::Counted<Record<U>>;

/// Points to a record that may be forgotten.
type Weak<U> = <Pointer<U> as Counted<Record<U>>>::Weak;

/// The open transaction of a thread.
#[derive(Debug)]
struct Open<U: Users> {
    /// Its number; [`NOT_OPEN`] if there is none.
    number: u64,
    /// The records that know it.
    known_by: Vec<Weak<U>>,
    /// How long the list may get before it is swept.
    sweep_at: usize,
}

/// No transaction has this number, and none is known by it.
const NOT_OPEN: u64 = u64::MAX;

/// The clock of a transaction, or of operations outside any. It changes only while the run is entered; whether it is live
/// may be asked at any time.
#[derive(Debug)]
pub struct Record<U: Users> {
    owner: ThreadId,
    /// The open transactions that come before, by thread and number. (Some have ended meanwhile; they do no harm.)
    clock: U::Global<Vec<(ThreadId, u64)>>,
    /// How many open transactions this one knows, itself included. At zero it can be forgotten, and stays at zero.
    knows_open: AtomicU32,
    /// Grows whenever the clock does.
    version: AtomicU64,
    /// Unlike an address, never used again.
    number: u64,
    /// The transaction has not ended.
    open: AtomicBool,
}

impl<U: Users> Record<U> {
    fn time_of(&self, thread: ThreadId) -> u64 {
        let clock = self.clock.enter();
        clock.iter().find(|(known, _)| *known == thread).map_or(0, |(_, number)| *number)
    }

    #[inline]
    fn is_live(&self) -> bool {
        self.knows_open.load(Relaxed) > 0
    }
}

/// What is kept for a thread.
#[derive(Debug, Default)]
pub struct Thread<U: Users> {
    current: Option<Pointer<U>>,
    /// The fork of this thread, until its first operation.
    fork: Option<Pointer<U>>,
    depth: u32,
    /// The number of the latest transaction.
    number: u64,
    /// The position of an access outside any transaction that is told in parts. They are one operation, so what one
    /// part learns holds for all: they share a record that grows.
    parts_at: u64,
    /// Records that were joined lately: (number, version).
    joined: [(u64, u64); 8],
}

/// The records of the last operations of some kind, one for each thread at most.
#[derive(Clone, Debug, Default)]
pub struct PerThread<U: Users> {
    one: Option<Pointer<U>>,
    more: Vec<Pointer<U>>,
}

impl<U: Users> PerThread<U> {
    #[inline]
    fn insert(&mut self, record: Option<&Pointer<U>>) {
        let Some(record) = record else { return };
        match &self.one {
            Some(one) if one.is_same(record) => {}
            Some(one) if one.is_live() && one.owner != record.owner => {
                self.more.retain(|other| other.is_live() && other.owner != record.owner);
                self.more.push(record.clone());
            }
            _ => self.one = Some(record.clone()),
        }
    }

    fn clear(&mut self) {
        self.one = None;
        self.more = Vec::new();
    }

    fn iter(&self) -> impl Iterator<Item = &Pointer<U>> {
        self.one.iter().chain(&self.more)
    }
}

/// What is kept for a piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Cell<U: Users> {
    write: Option<Pointer<U>>,
    /// Since the last write.
    reads: PerThread<U>,
}

/// What is kept for a lock or another object that orders threads.
#[derive(Clone, Debug, Default)]
pub struct Sync<U: Users> {
    exclusive: Option<Pointer<U>>,
    /// Shared releases since the last exclusive one, or signals.
    shared: PerThread<U>,
}

impl<U: Users> Run<U> {
    fn violated(&mut self, moment: Moment) {
        self.violation.get_or_insert(moment);
    }

    fn open_number(&self, thread: ThreadId) -> u64 {
        self.open.get(thread.index()).map_or(NOT_OPEN, |open| open.number)
    }

    /// A record that knows nothing yet.
    fn new_record(&mut self, owner: ThreadId, open: bool) -> Pointer<U> {
        self.records += 1;
        Pointer::<U>::new(Record {
            owner,
            clock: Global::new(Vec::new()),
            knows_open: AtomicU32::new(0),
            version: AtomicU64::new(0),
            number: self.records,
            open: AtomicBool::new(open),
        })
    }

    /// A record has come to know the open transaction of a thread.
    fn register(&mut self, record: &Pointer<U>, thread: ThreadId) {
        let open = &mut self.open[thread.index()];
        if open.known_by.len() >= open.sweep_at {
            open.known_by.retain(|known| !Pointer::<U>::is_gone(known));
            open.sweep_at = (open.known_by.len() * 2).max(16);
        }
        record.knows_open.store(record.knows_open.load(Relaxed) + 1, Relaxed);
        open.known_by.push(record.downgrade());
    }

    /// Adds what `from` knows of open transactions to a record. True if that was news.
    fn join(&mut self, into: &Pointer<U>, from: &Record<U>) -> bool {
        self.joins += 1;
        let mut news = false;
        for &(thread, number) in from.clock.enter().iter() {
            // What has ended meanwhile can be forgotten.
            if number == self.open_number(thread) {
                news |= self.learn(into, thread, number);
            }
        }
        if news {
            into.version.store(into.version.load(Relaxed) + 1, Relaxed);
        }
        news
    }

    /// Adds one open transaction to what a record knows. True if that was news.
    fn learn(&mut self, record: &Pointer<U>, thread: ThreadId, number: u64) -> bool {
        let mut clock = record.clock.enter();
        match clock.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, known)) if *known == number => return false,
            Some((_, known)) => *known = number,
            None => clock.push((thread, number)),
        }
        drop(clock);
        self.register(record, thread);
        true
    }

    fn after_live(&mut self, at: &RawStep, thread: &mut Thread<U>, record: &Pointer<U>) {
        let seen = &mut thread.joined[record.number as usize % 8];
        let now = (record.number, record.version.load(Relaxed));
        if *seen == now {
            return;
        }
        *seen = now;
        let id = at.moment.thread;
        let Some(current) = &thread.current else { return };
        if record.owner != id && thread.depth > 0 && record.time_of(id) >= self.open_number(id) {
            self.violated(at.moment);
            return;
        }
        if thread.depth > 0 || thread.parts_at == at.moment.position {
            self.join(current, record);
            return;
        }
        // Earlier operations outside any transaction keep the clock that they had.
        let knows_more =
            record.clock.enter().iter().any(|&(thread, number)| {
                number == self.open_number(thread) && current.time_of(thread) != number
            });
        if knows_more {
            let next = self.new_record(id, false);
            self.join(&next, current);
            self.join(&next, record);
            thread.current = Some(next);
        }
    }

    fn end_transaction(&mut self, record: &Pointer<U>, moment: Moment) {
        let id = record.owner;
        record.open.store(false, Relaxed);
        let open = &mut self.open[id.index()];
        let number = std::mem::replace(&mut open.number, NOT_OPEN);
        let known_by = std::mem::take(&mut open.known_by);
        for other in known_by.iter().filter_map(Pointer::<U>::upgrade) {
            debug_assert!(other.time_of(id) >= number);
            if !other.is_same(record) {
                if other.open.load(Relaxed) && record.time_of(other.owner) >= self.open_number(other.owner) {
                    self.violated(moment);
                }
                self.join(&other, record);
            }
            // Only now: one that learns of others by this must not look forgotten in between.
            other.knows_open.store(other.knows_open.load(Relaxed) - 1, Relaxed);
        }
        let open = &mut self.open[id.index()];
        open.known_by = known_by;
        open.known_by.clear();
        open.sweep_at = 16;
    }

    /// The end of the run: what open transactions have learned is passed on.
    fn end(&mut self, moment: Moment) {
        for index in 0..self.open.len() {
            let open = &self.open[index];
            if open.number == NOT_OPEN {
                continue;
            }
            // The transaction knows itself, so its record is in its own list.
            let record = open
                .known_by
                .iter()
                .filter_map(Pointer::<U>::upgrade)
                .find(|record| record.open.load(Relaxed) && record.owner.index() == index);
            if let Some(record) = record {
                self.end_transaction(&record, moment);
            }
        }
    }
}

impl AeroDrome<Alone> {
    /// An analysis that has seen nothing yet, for the offline driver.
    pub fn new() -> Self {
        Self::default()
    }
}

impl AeroDrome<Shared> {
    /// An analysis that has seen nothing yet, for many threads at once.
    pub fn shared() -> Self {
        Self::default()
    }
}

impl<U: Users> AeroDrome<U> {
    /// The operation at which it was noticed that the run is not serializable.
    pub fn violation(&self) -> Option<Moment> {
        self.run.enter().violation
    }

    /// The record that stands for the thread's present; made when the thread does its first operation.
    #[inline]
    fn current<'a>(&self, at: &RawStep, thread: &'a mut Thread<U>) -> &'a Pointer<U> {
        if thread.current.is_none() || thread.fork.is_some() {
            self.first_operation(at, thread);
        }
        let new = || self.run.enter().new_record(at.moment.thread, false);
        thread.current.get_or_insert_with(new)
    }

    #[cold]
    fn first_operation(&self, at: &RawStep, thread: &mut Thread<U>) {
        if thread.current.is_none() {
            thread.current = Some(self.run.enter().new_record(at.moment.thread, false));
        }
        if let Some(fork) = thread.fork.take() {
            self.after(at, thread, &fork);
        }
    }

    /// The operation comes after a record.
    #[inline]
    fn after(&self, at: &RawStep, thread: &mut Thread<U>, record: &Pointer<U>) {
        if record.is_live() && thread.current.as_ref().is_none_or(|current| !current.is_same(record)) {
            self.run.enter().after_live(at, thread, record);
        }
    }

    /// What to remember of the thread's last operation: nothing if it can never matter.
    #[inline]
    fn remembered<'a>(at: &RawStep, thread: &'a Thread<U>) -> Option<&'a Pointer<U>> {
        let in_parts = thread.parts_at == at.moment.position;
        thread.current.as_ref().filter(|record| record.is_live() || in_parts)
    }

    /// An access outside any transaction is told in parts; this is one of them.
    fn start_part(&self, at: &RawStep, thread: &mut Thread<U>) {
        if thread.parts_at != at.moment.position {
            let before = self.current(at, thread).clone();
            let mut run = self.run.enter();
            let record = run.new_record(at.moment.thread, false);
            run.join(&record, &before);
            thread.current = Some(record);
            thread.parts_at = at.moment.position;
        }
    }
}

impl<U: Users> Analysis for AeroDrome<U> {
    type Thread = Thread<U>;
    type Cell = Cell<U>;
    type Sync = Sync<U>;

    #[inline]
    fn access(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        part: Part,
        _findings: &mut Findings,
    ) {
        self.current(at, thread);
        if !part.whole && thread.depth == 0 {
            self.start_part(at, thread);
        }
        if let Some(write) = &cell.write {
            self.after(at, thread, write);
        }
        match part.kind {
            AccessKind::Read => cell.reads.insert(Self::remembered(at, thread)),
            AccessKind::Write => {
                for read in cell.reads.iter() {
                    self.after(at, thread, read);
                }
                cell.reads.clear();
                let record = Self::remembered(at, thread);
                let same = match (&cell.write, record) {
                    (Some(old), Some(new)) => old.is_same(new),
                    (None, None) => true,
                    _ => false,
                };
                if !same {
                    cell.write = record.cloned();
                }
            }
        }
    }

    fn acquire(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        _findings: &mut Findings,
    ) {
        self.current(at, thread);
        if let Some(release) = &lock.exclusive {
            self.after(at, thread, release);
        }
        if mode == LockMode::Exclusive {
            for release in lock.shared.iter() {
                self.after(at, thread, release);
            }
        }
    }

    fn release(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        _findings: &mut Findings,
    ) {
        self.current(at, thread);
        match mode {
            LockMode::Exclusive => {
                lock.exclusive = Self::remembered(at, thread).cloned();
                lock.shared.clear();
            }
            LockMode::Shared => lock.shared.insert(Self::remembered(at, thread)),
        }
    }

    fn signal(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        _findings: &mut Findings,
    ) {
        self.current(at, thread);
        sync.shared.insert(Self::remembered(at, thread));
    }

    fn receive(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        _findings: &mut Findings,
    ) {
        self.current(at, thread);
        for signal in sync.shared.iter() {
            self.after(at, thread, signal);
        }
    }

    fn fork(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        _findings: &mut Findings,
    ) {
        child.fork = Some(self.current(at, thread).clone());
    }

    fn join(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        _findings: &mut Findings,
    ) {
        self.current(at, thread);
        // A thread that did nothing still passes on the order from its fork.
        if let Some(last) = child.fork.take().or_else(|| child.current.clone()) {
            self.after(at, thread, &last);
        }
    }

    fn begin(&self, at: &RawStep, thread: &mut Self::Thread, _region: RegionId, _findings: &mut Findings) {
        let id = at.moment.thread;
        thread.depth += 1;
        if thread.depth > 1 {
            return;
        }
        thread.depth = 0;
        let before = self.current(at, thread).clone();
        thread.depth = 1;
        thread.number += 1;
        let mut run = self.run.enter();
        run.transactions += 1;
        while run.open.len() <= id.index() {
            run.open.push(Open { number: NOT_OPEN, known_by: Vec::new(), sweep_at: 16 });
        }
        run.open[id.index()].number = thread.number;
        let record = run.new_record(id, true);
        run.join(&record, &before);
        run.learn(&record, id, thread.number);
        thread.current = Some(record);
    }

    fn end(&self, at: &RawStep, thread: &mut Self::Thread, _findings: &mut Findings) {
        thread.depth -= 1;
        if thread.depth == 0
            && let Some(record) = thread.current.clone()
        {
            self.run.enter().end_transaction(&record, at.moment);
        }
    }

    fn is_decided(&self) -> bool {
        self.violation().is_some()
    }

    fn wants_blame(&self) -> bool {
        self.violation().is_some()
    }

    fn end_of_run(&self, moment: Moment, _findings: &mut Findings) {
        self.run.enter().end(moment);
    }

    fn statistics(&self) -> Vec<Statistic> {
        let run = self.run.enter();
        let statistic = |name, value| Statistic { analysis: "aerodrome", name, value };
        vec![
            statistic("transactions", run.transactions),
            statistic("records", run.records),
            statistic("joins of clocks", run.joins),
        ]
    }
}
