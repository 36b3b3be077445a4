//! An analysis that is switched on or off when it is made. Off it does nothing and keeps a word for each state, so that one
//! type can stand for every choice of analyses.

use super::{Analysis, AtomicOperation, Part, Statistic};
use crate::event::{LockMode, MemoryOrder, RegionId};
use crate::finding::{Findings, Moment, RawStep};

/// An analysis, or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Maybe<A>(Option<A>);

impl<A> Maybe<A> {
    /// The analysis that `make` gives, if it is wanted.
    pub fn new(wanted: bool, make: impl FnOnce() -> A) -> Self {
        Self(wanted.then(make))
    }

    /// The analysis, if it is switched on.
    pub fn get(&self) -> Option<&A> {
        self.0.as_ref()
    }
}

/// A state that is made when it is first needed.
#[derive(Clone, Debug)]
pub struct Late<T>(Option<Box<T>>);

impl<T> Default for Late<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Default> Late<T> {
    #[inline]
    fn get(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

/// Passes an operation on if the analysis is switched on.
macro_rules! if_on {
    ($self:ident, $method:ident($at:ident, $($state:ident),+; $($value:ident),*)) => {
        if let Some(analysis) = &$self.0 {
            analysis.$method($at, $($state.get(),)+ $($value),*);
        }
    };
}

impl<A: Analysis> Analysis for Maybe<A> {
    const WATCHES_MEMORY: bool = A::WATCHES_MEMORY;
    const WATCHES_SYNCHRONIZATION: bool = A::WATCHES_SYNCHRONIZATION;
    const COUNTS_ACCESSES: bool = A::COUNTS_ACCESSES;

    type Thread = Late<A::Thread>;
    type Cell = Late<A::Cell>;
    type Sync = Late<A::Sync>;

    #[inline]
    fn nothing_to_do(&self, at: &RawStep, thread: &Self::Thread, cell: &Self::Cell, part: Part) -> bool {
        match (&self.0, &thread.0, &cell.0) {
            (None, ..) => true,
            (Some(analysis), Some(thread), Some(cell)) => analysis.nothing_to_do(at, thread, cell, part),
            _ => false,
        }
    }

    fn would_break(&self, at: &RawStep, thread: &Self::Thread, cell: &Self::Cell, part: Part) -> bool {
        let (Some(analysis), Some(thread)) = (&self.0, &thread.0) else { return false };
        match &cell.0 {
            Some(cell) => analysis.would_break(at, thread, cell, part),
            None => analysis.would_break(at, thread, &A::Cell::default(), part),
        }
    }

    fn would_break_waiting(&self, at: &RawStep, thread: &Self::Thread) -> bool {
        let (Some(analysis), Some(thread)) = (&self.0, &thread.0) else { return false };
        analysis.would_break_waiting(at, thread)
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
        if_on!(self, access(at, thread, cell; part, findings));
    }

    fn before_atomic_parts(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        cell: &mut Self::Cell,
        operation: AtomicOperation,
    ) {
        if_on!(self, before_atomic_parts(at, thread, cell; operation));
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
        if_on!(self, atomic(at, thread, cell; part, operation, findings));
    }

    fn fence(&self, at: &RawStep, thread: &mut Self::Thread, order: MemoryOrder, findings: &mut Findings) {
        if_on!(self, fence(at, thread; order, findings));
    }

    fn acquire(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        if_on!(self, acquire(at, thread, lock; mode, findings));
    }

    fn release(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        lock: &mut Self::Sync,
        mode: LockMode,
        findings: &mut Findings,
    ) {
        if_on!(self, release(at, thread, lock; mode, findings));
    }

    fn signal(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        findings: &mut Findings,
    ) {
        if_on!(self, signal(at, thread, sync; findings));
    }

    fn receive(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        sync: &mut Self::Sync,
        findings: &mut Findings,
    ) {
        if_on!(self, receive(at, thread, sync; findings));
    }

    fn fork(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        findings: &mut Findings,
    ) {
        if_on!(self, fork(at, thread, child; findings));
    }

    fn join(
        &self,
        at: &RawStep,
        thread: &mut Self::Thread,
        child: &mut Self::Thread,
        findings: &mut Findings,
    ) {
        if_on!(self, join(at, thread, child; findings));
    }

    fn begin(&self, at: &RawStep, thread: &mut Self::Thread, region: RegionId, findings: &mut Findings) {
        if_on!(self, begin(at, thread; region, findings));
    }

    fn end(&self, at: &RawStep, thread: &mut Self::Thread, findings: &mut Findings) {
        if_on!(self, end(at, thread; findings));
    }

    fn is_decided(&self) -> bool {
        self.0.as_ref().is_none_or(A::is_decided)
    }

    fn wants_blame(&self) -> bool {
        self.0.as_ref().is_some_and(A::wants_blame)
    }

    fn end_of_run(&self, moment: Moment, findings: &mut Findings) {
        if let Some(analysis) = &self.0 {
            analysis.end_of_run(moment, findings);
        }
    }

    fn statistics(&self) -> Vec<Statistic> {
        self.0.as_ref().map(A::statistics).unwrap_or_default()
    }
}
