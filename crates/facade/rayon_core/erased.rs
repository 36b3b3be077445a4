//! Calls of the original, with closures whose types it does not know: its own code is made here, and not in the program. (But for `join`, which
//! does so little that it would cost more than all else.)

use crate::scope::{Scope, ScopeFifo, Within};
use crate::tell::{self, Task};
use keirin_original as original;
use keirin_original::BroadcastContext;
use std::sync::atomic::{AtomicBool, Ordering};

/// The global pool is started by whoever needs it first. Its threads are workers, which must be known when they are created.
#[inline]
pub(crate) fn start_global_pool() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if !STARTED.load(Ordering::Relaxed) && original::current_thread_index().is_none() {
        tell::creating_workers(original::current_num_threads);
        STARTED.store(true, Ordering::Relaxed);
    }
}

#[inline(never)]
pub(crate) fn install(pool: &original::ThreadPool, task: Task, op: &mut (dyn FnMut() + Send)) {
    pool.install(move || task.run(op));
}

/// Where a closure is run that nobody waits for.
#[derive(Clone, Copy)]
pub(crate) enum Queue<'a> {
    Global,
    GlobalFifo,
    Pool(&'a original::ThreadPool),
    PoolFifo(&'a original::ThreadPool),
}

impl Queue<'_> {
    /// Starts the pool that it belongs to.
    #[inline]
    pub(crate) fn start(self) {
        if matches!(self, Queue::Global | Queue::GlobalFifo) {
            start_global_pool();
        }
    }
}

#[inline(never)]
pub(crate) fn spawn(queue: Queue<'_>, task: Task, body: Box<dyn FnOnce() + Send>) {
    let body = move || task.run(body);
    match queue {
        Queue::Global => original::spawn(body),
        Queue::GlobalFifo => original::spawn_fifo(body),
        Queue::Pool(pool) => pool.spawn(body),
        Queue::PoolFifo(pool) => pool.spawn_fifo(body),
    }
}

/// Runs the task of the calling thread.
fn run_own<R>(tasks: &[Task], context: BroadcastContext<'_>, op: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
    match tasks.get(context.index()) {
        Some(task) => task.run(|| op(context)),
        None => op(context),
    }
}

pub(crate) fn broadcast<R: Send>(
    pool: Option<&original::ThreadPool>,
    tasks: &[Task],
    op: &(dyn Fn(BroadcastContext<'_>) -> R + Sync),
) -> Vec<R> {
    let op = |context: BroadcastContext<'_>| run_own(tasks, context, op);
    match pool {
        Some(pool) => pool.broadcast(op),
        None => original::broadcast(op),
    }
}

#[inline(never)]
pub(crate) fn spawn_broadcast(
    pool: Option<&original::ThreadPool>,
    tasks: Vec<Task>,
    op: Box<dyn Fn(BroadcastContext<'_>) + Send + Sync>,
) {
    let op = move |context: BroadcastContext<'_>| run_own(&tasks, context, &op);
    match pool {
        Some(pool) => pool.spawn_broadcast(op),
        None => original::spawn_broadcast(op),
    }
}

/// What is passed to a closure that runs in the calling thread, whether that can be passed to another one or not.
struct InPlace<T>(T);

// SAFETY: used only for closures that the original runs in the thread that calls it.
unsafe impl<T> Send for InPlace<T> {}

macro_rules! scopes {
    ($name:ident, $scope:ident, $in_place:ident, $spawn:ident, $run:ident, $run_in_place:ident, $spawn_into:ident, $broadcast_into:ident) => {
        #[inline(never)]
        pub(crate) fn $run<'scope>(
            pool: Option<&original::ThreadPool>,
            (within, task): (Within, Task),
            op: &mut (dyn FnMut(&$name<'scope>) + Send),
        ) {
            let op = move |scope: &original::$name<'scope>| task.run(|| op(&$name::of(scope, within)));
            match pool {
                Some(pool) => pool.$scope(op),
                None => original::$scope(op),
            }
        }

        #[inline(never)]
        pub(crate) fn $run_in_place<'scope>(
            pool: Option<&original::ThreadPool>,
            within: Within,
            op: &mut dyn FnMut(&$name<'scope>),
        ) {
            let op = InPlace(op);
            let op = move |scope: &original::$name<'scope>| {
                let op = op;
                (op.0)(&$name::of(scope, within))
            };
            match pool {
                Some(pool) => pool.$in_place(op),
                None => original::$in_place(op),
            }
        }

        #[inline(never)]
        pub(crate) fn $spawn_into<'scope>(
            scope: &original::$name<'scope>,
            (within, task): (Within, Task),
            body: Box<dyn FnOnce(&$name<'scope>) + Send + 'scope>,
        ) {
            scope.$spawn(move |scope| task.run(|| body(&$name::of(scope, within))));
        }

        #[inline(never)]
        pub(crate) fn $broadcast_into<'scope>(
            scope: &original::$name<'scope>,
            (within, tasks): (Within, Vec<Task>),
            body: Box<dyn Fn(&$name<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope>,
        ) {
            scope.spawn_broadcast(move |scope, context| {
                run_own(&tasks, context, |context| body(&$name::of(scope, within), context))
            });
        }
    };
}

scopes!(
    Scope, scope, in_place_scope, spawn, scope, in_place_scope, spawn_into, broadcast_into
);
scopes!(
    ScopeFifo,
    scope_fifo,
    in_place_scope_fifo,
    spawn_fifo,
    scope_fifo,
    in_place_scope_fifo,
    spawn_into_fifo,
    broadcast_into_fifo
);
