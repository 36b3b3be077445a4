//! Two analyses in one pass: each sees every event and has its own part of every state. Pairs of pairs make three, and
//! so on. The driver's work, and the look-up of cells, is done once.

use super::{Analysis, AtomicOperation, Part, Statistic};
use crate::event::{LockMode, MemoryOrder, RegionId};
use crate::finding::{Findings, Moment, RawStep};

/// Passes one operation on to both.
macro_rules! both {
    ($self:ident, $method:ident($at:ident, $thread:ident $(, $state:ident)?; $($value:ident),*)) => {{
        $self.0.$method($at, &mut $thread.0, $(&mut $state.0,)? $($value),*);
        $self.1.$method($at, &mut $thread.1, $(&mut $state.1,)? $($value),*);
    }};
}

impl<A: Analysis, B: Analysis> Analysis for (A, B) {
    const WATCHES_MEMORY: bool = A::WATCHES_MEMORY || B::WATCHES_MEMORY;
    const WATCHES_SYNCHRONIZATION: bool = A::WATCHES_SYNCHRONIZATION || B::WATCHES_SYNCHRONIZATION;
    const COUNTS_ACCESSES: bool = A::COUNTS_ACCESSES || B::COUNTS_ACCESSES;

    type Thread = (A::Thread, B::Thread);
    type Cell = (A::Cell, B::Cell);
    type Sync = (A::Sync, B::Sync);

    #[inline]
    fn nothing_to_do(&self, at: &RawStep, thread: &Self::Thread, cell: &Self::Cell, part: Part) -> bool {
        self.0.nothing_to_do(at, &thread.0, &cell.0, part)
            && self.1.nothing_to_do(at, &thread.1, &cell.1, part)
    }

    fn would_break(&self, at: &RawStep, thread: &Self::Thread, cell: &Self::Cell, part: Part) -> bool {
        self.0.would_break(at, &thread.0, &cell.0, part) || self.1.would_break(at, &thread.1, &cell.1, part)
    }

    fn would_break_waiting(&self, at: &RawStep, thread: &Self::Thread) -> bool {
        self.0.would_break_waiting(at, &thread.0) || self.1.would_break_waiting(at, &thread.1)
    }

    #[inline]
    fn access(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        part: Part,
        findings: &mut Findings,
    ) {
        both!(self, access(at, thread, cell; part, findings));
    }

    fn before_atomic_parts(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        operation: AtomicOperation,
    ) {
        both!(self, before_atomic_parts(at, thread, cell; operation));
    }

    #[inline]
    fn atomic(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        part: Part,
        operation: AtomicOperation,
        findings: &mut Findings,
    ) {
        both!(self, atomic(at, thread, cell; part, operation, findings));
    }

    fn fence(&self, at: &RawStep, thread: &mut Self::Thread, order: MemoryOrder, findings: &mut Findings) {
        both!(self, fence(at, thread; order, findings));
    }

    fn acquire(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        both!(self, acquire(at, thread, lock; mode, findings));
    }

    fn release(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        both!(self, release(at, thread, lock; mode, findings));
    }

    fn signal(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        findings: &mut Findings,
    ) {
        both!(self, signal(at, thread, sync; findings));
    }

    fn receive(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        findings: &mut Findings,
    ) {
        both!(self, receive(at, thread, sync; findings));
    }

    fn fork(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        findings: &mut Findings,
    ) {
        both!(self, fork(at, thread, child; findings));
    }

    fn join(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        findings: &mut Findings,
    ) {
        both!(self, join(at, thread, child; findings));
    }

    fn begin(&self, at: &RawStep, thread: &mut Self::Thread, region: RegionId, findings: &mut Findings) {
        both!(self, begin(at, thread; region, findings));
    }

    fn end(&self, at: &RawStep, thread: &mut Self::Thread, findings: &mut Findings) {
        both!(self, end(at, thread; findings));
    }

    fn is_decided(&self) -> bool {
        self.0.is_decided() && self.1.is_decided()
    }

    fn wants_blame(&self) -> bool {
        self.0.wants_blame() || self.1.wants_blame()
    }

    fn end_of_run(&self, moment: Moment, findings: &mut Findings) {
        self.0.end_of_run(moment, findings);
        self.1.end_of_run(moment, findings);
    }

    fn statistics(&self) -> Vec<Statistic> {
        let mut statistics = self.0.statistics();
        statistics.extend(self.1.statistics());
        statistics
    }
}
