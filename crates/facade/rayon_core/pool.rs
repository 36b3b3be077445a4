//! Pools of threads.

use crate::builder::Configuration;
use crate::erased::{self, Queue};
use crate::join::join_in;
use crate::scope::{self, Scope, ScopeFifo};
use crate::spawn;
use crate::tell::Group;
use keirin_original as original;
use keirin_original::{BroadcastContext, Yield};
use std::error::Error;
use std::fmt;

/// `rayon_core::current_num_threads`.
pub fn current_num_threads() -> usize {
    erased::start_global_pool();
    original::current_num_threads()
}

/// The number of threads of a pool, or of the one where the caller is.
#[inline]
pub(crate) fn threads_of(pool: Option<&original::ThreadPool>) -> usize {
    pool.map_or_else(current_num_threads, original::ThreadPool::current_num_threads)
}

/// `rayon_core::ThreadPool`.
pub struct ThreadPool(pub(crate) original::ThreadPool);

impl ThreadPool {
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    pub fn new(configuration: Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.build()
    }

    #[inline(always)]
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        let (mut op, mut result) = (Some(op), None);
        {
            let group = Group::new();
            let task = group.name().spawn_first();
            erased::install(&self.0, task, &mut || result = op.take().map(|op| op()));
        }
        result.unwrap_or_else(|| unreachable!("an install that returns has run"))
    }

    #[inline(always)]
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        spawn::broadcast_in(Some(&self.0), op)
    }

    pub fn current_num_threads(&self) -> usize {
        self.0.current_num_threads()
    }

    pub fn current_thread_index(&self) -> Option<usize> {
        self.0.current_thread_index()
    }

    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.0.current_thread_has_pending_tasks()
    }

    #[inline(always)]
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join_in(Some(&self.0), false, |_| oper_a(), |_| oper_b())
    }

    #[inline(always)]
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        scope::scope_in(Some(&self.0), op)
    }

    #[inline(always)]
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        scope::scope_fifo_in(Some(&self.0), op)
    }

    #[inline(always)]
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_in(Some(&self.0), op)
    }

    #[inline(always)]
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_in(Some(&self.0), op)
    }

    #[inline(always)]
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(Queue::Pool(&self.0), op);
    }

    #[inline(always)]
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(Queue::PoolFifo(&self.0), op);
    }

    #[inline(always)]
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn::spawn_broadcast_in(Some(&self.0), op);
    }

    pub fn yield_now(&self) -> Option<Yield> {
        self.0.yield_now()
    }

    pub fn yield_local(&self) -> Option<Yield> {
        self.0.yield_local()
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
