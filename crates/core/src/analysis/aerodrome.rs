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
//! **Who touches what.** Cells and locks belong to the driver. Records are shared between cells and are touched only
//! from within a call of this analysis. Records are not shared between threads of the checker: offline use only.

use super::{Analysis, Part, Statistic};
use crate::event::{AccessKind, LockMode, RegionId, ThreadId};
use crate::finding::{Findings, Moment, RawStep};
use std::cell::{Cell as Slot, RefCell};
use std::rc::{Rc, Weak};

/// The analysis.
#[derive(Debug, Default)]
pub struct AeroDrome {
    /// For each thread its open transaction.
    open: RefCell<Vec<Open>>,
    violation: Slot<Option<Moment>>,
    records: Slot<u64>,
    transactions: Slot<u64>,
    joins: Slot<u64>,
}

/// The open transaction of a thread.
#[derive(Debug, Default)]
struct Open {
    /// Its number; [`NOT_OPEN`] if there is none.
    number: u64,
    /// The records that know it.
    known_by: Vec<Weak<Record>>,
    /// How long the list may get before it is swept.
    sweep_at: usize,
}

/// No transaction has this number, and none is known by it.
const NOT_OPEN: u64 = u64::MAX;

/// The clock of a transaction, or of operations outside any.
#[derive(Debug)]
pub struct Record {
    owner: ThreadId,
    /// The open transactions that come before, by thread and number. (Some have ended meanwhile; they do no harm.)
    clock: RefCell<Vec<(ThreadId, u64)>>,
    /// How many open transactions this one knows, itself included. At zero it can be forgotten.
    knows_open: Slot<u32>,
    /// Grows whenever the clock does.
    version: Slot<u64>,
    /// Unlike an address, never used again.
    number: u64,
    /// The transaction has not ended.
    open: Slot<bool>,
}

impl Record {
    fn time_of(&self, thread: ThreadId) -> u64 {
        let clock = self.clock.borrow();
        clock.iter().find(|(known, _)| *known == thread).map_or(0, |(_, number)| *number)
    }

    fn is_live(&self) -> bool {
        self.knows_open.get() > 0
    }
}

/// What is kept for a thread.
#[derive(Debug, Default)]
pub struct Thread {
    current: Option<Rc<Record>>,
    /// The fork of this thread, until its first operation.
    fork: Option<Rc<Record>>,
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
pub struct PerThread {
    one: Option<Rc<Record>>,
    more: Vec<Rc<Record>>,
}

impl PerThread {
    #[inline]
    fn insert(&mut self, record: Option<&Rc<Record>>) {
        let Some(record) = record else { return };
        match &self.one {
            Some(one) if Rc::ptr_eq(one, record) => {}
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

    fn iter(&self) -> impl Iterator<Item = &Rc<Record>> {
        self.one.iter().chain(&self.more)
    }
}

/// What is kept for a piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    write: Option<Rc<Record>>,
    /// Since the last write.
    reads: PerThread,
}

/// What is kept for a lock or another object that orders threads.
#[derive(Clone, Debug, Default)]
pub struct Sync {
    exclusive: Option<Rc<Record>>,
    /// Shared releases since the last exclusive one, or signals.
    shared: PerThread,
}

impl AeroDrome {
    /// The operation at which it was noticed that the run is not serializable.
    pub fn violation(&self) -> Option<Moment> {
        self.violation.get()
    }

    /// The end of the run: what open transactions have learned is passed on.
    pub fn end_of_run(&self, moment: Moment) {
        let threads = self.open.borrow().len();
        for index in 0..threads {
            let record = {
                let open = self.open.borrow();
                if open[index].number == NOT_OPEN {
                    continue;
                }
                // The transaction knows itself, so its record is in its own list.
                open[index]
                    .known_by
                    .iter()
                    .filter_map(Weak::upgrade)
                    .find(|record| record.open.get() && record.owner.index() == index)
            };
            if let Some(record) = record {
                self.end_transaction(&record, moment);
            }
        }
    }

    fn violated(&self, moment: Moment) {
        if self.violation.get().is_none() {
            self.violation.set(Some(moment));
        }
    }

    fn open_number(&self, thread: ThreadId) -> u64 {
        self.open.borrow().get(thread.index()).map_or(NOT_OPEN, |open| open.number)
    }

    /// A record that knows nothing yet.
    fn new_record(&self, owner: ThreadId, open: bool) -> Rc<Record> {
        self.records.set(self.records.get() + 1);
        Rc::new(Record {
            owner,
            clock: RefCell::default(),
            knows_open: Slot::new(0),
            version: Slot::new(0),
            number: self.records.get(),
            open: Slot::new(open),
        })
    }

    /// A record has come to know the open transaction of a thread.
    fn register(&self, record: &Rc<Record>, thread: ThreadId) {
        let mut open = self.open.borrow_mut();
        let open = &mut open[thread.index()];
        if open.known_by.len() >= open.sweep_at {
            open.known_by.retain(|known| known.strong_count() > 0);
            open.sweep_at = (open.known_by.len() * 2).max(16);
        }
        record.knows_open.set(record.knows_open.get() + 1);
        open.known_by.push(Rc::downgrade(record));
    }

    /// Adds what `from` knows of open transactions to a record. True if that was news.
    fn join(&self, into: &Rc<Record>, from: &Record) -> bool {
        self.joins.set(self.joins.get() + 1);
        let mut news = false;
        for &(thread, number) in from.clock.borrow().iter() {
            // What has ended meanwhile can be forgotten.
            if number == self.open_number(thread) {
                news |= self.learn(into, thread, number);
            }
        }
        if news {
            into.version.set(into.version.get() + 1);
        }
        news
    }

    /// Adds one open transaction to what a record knows. True if that was news.
    fn learn(&self, record: &Rc<Record>, thread: ThreadId, number: u64) -> bool {
        let mut clock = record.clock.borrow_mut();
        match clock.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, known)) if *known == number => return false,
            Some((_, known)) => *known = number,
            None => clock.push((thread, number)),
        }
        drop(clock);
        self.register(record, thread);
        true
    }

    /// The record that stands for the thread's present; made when the thread does its first operation.
    fn current<'a>(&self, at: &RawStep, thread: &'a mut Thread) -> &'a Rc<Record> {
        if thread.current.is_none() {
            thread.current = Some(self.new_record(at.moment.thread, false));
        }
        if let Some(fork) = thread.fork.take() {
            self.after(at, thread, &fork);
        }
        thread.current.get_or_insert_with(|| self.new_record(at.moment.thread, false))
    }

    /// The operation comes after a record.
    #[inline]
    fn after(&self, at: &RawStep, thread: &mut Thread, record: &Rc<Record>) {
        if record.is_live() && thread.current.as_ref().is_none_or(|current| !Rc::ptr_eq(current, record)) {
            self.after_live(at, thread, record);
        }
    }

    fn after_live(&self, at: &RawStep, thread: &mut Thread, record: &Rc<Record>) {
        let seen = &mut thread.joined[record.number as usize % 8];
        let now = (record.number, record.version.get());
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
            record.clock.borrow().iter().any(|&(thread, number)| {
                number == self.open_number(thread) && current.time_of(thread) != number
            });
        if knows_more {
            let next = self.new_record(id, false);
            self.join(&next, current);
            self.join(&next, record);
            thread.current = Some(next);
        }
    }

    /// What to remember of the thread's last operation: nothing if it can never matter.
    #[inline]
    fn remembered<'a>(at: &RawStep, thread: &'a Thread) -> Option<&'a Rc<Record>> {
        let in_parts = thread.parts_at == at.moment.position;
        thread.current.as_ref().filter(|record| record.is_live() || in_parts)
    }

    /// An access outside any transaction is told in parts; this is one of them.
    fn start_part(&self, at: &RawStep, thread: &mut Thread) {
        if thread.parts_at != at.moment.position {
            let before = self.current(at, thread).clone();
            let record = self.new_record(at.moment.thread, false);
            self.join(&record, &before);
            thread.current = Some(record);
            thread.parts_at = at.moment.position;
        }
    }

    fn end_transaction(&self, record: &Rc<Record>, moment: Moment) {
        let id = record.owner;
        record.open.set(false);
        let (number, known_by) = {
            let mut open = self.open.borrow_mut();
            let open = &mut open[id.index()];
            (std::mem::replace(&mut open.number, NOT_OPEN), std::mem::take(&mut open.known_by))
        };
        for other in known_by.iter().filter_map(Weak::upgrade) {
            debug_assert!(other.time_of(id) >= number);
            other.knows_open.set(other.knows_open.get() - 1);
            if Rc::ptr_eq(&other, record) {
                continue;
            }
            if other.open.get() && record.time_of(other.owner) >= self.open_number(other.owner) {
                self.violated(moment);
            }
            self.join(&other, record);
        }
        let mut open = self.open.borrow_mut();
        let open = &mut open[id.index()];
        open.known_by = known_by;
        open.known_by.clear();
        open.sweep_at = 16;
    }
}

impl Analysis for AeroDrome {
    type Thread = Thread;
    type Cell = Cell;
    type Sync = Sync;

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
                    (Some(old), Some(new)) => Rc::ptr_eq(old, new),
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
        self.transactions.set(self.transactions.get() + 1);
        {
            let mut open = self.open.borrow_mut();
            while open.len() <= id.index() {
                open.push(Open { number: NOT_OPEN, known_by: Vec::new(), sweep_at: 16 });
            }
            open[id.index()].number = thread.number;
        }
        let record = self.new_record(id, true);
        self.join(&record, &before);
        self.learn(&record, id, thread.number);
        thread.current = Some(record);
    }

    fn end(&self, at: &RawStep, thread: &mut Self::Thread, _findings: &mut Findings) {
        thread.depth -= 1;
        if thread.depth == 0
            && let Some(record) = thread.current.clone()
        {
            self.end_transaction(&record, at.moment);
        }
    }

    fn is_decided(&self) -> bool {
        self.violation.get().is_some()
    }

    fn wants_blame(&self) -> bool {
        self.violation.get().is_some()
    }

    fn end_of_run(&self, moment: Moment, _findings: &mut Findings) {
        AeroDrome::end_of_run(self, moment);
    }

    fn statistics(&self) -> Vec<Statistic> {
        let statistic =
            |name, value: &Slot<u64>| Statistic { analysis: "aerodrome", name, value: value.get() };
        vec![
            statistic("transactions", &self.transactions),
            statistic("records", &self.records),
            statistic("joins of clocks", &self.joins),
        ]
    }
}
