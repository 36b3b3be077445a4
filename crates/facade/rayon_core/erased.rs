//! Calls of the original, with closures whose types it does not know: its own code is made here, and not in the program. (But for `join`, which
//! does so little that it would cost more than all else. With `--races` it is made here as well: what it does would be told.)

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
    let task = task.handed_over();
    tell::waiting(|| pool.install(move || task.run(op)));
}

/// What is known of the halves of a call of `join`: functions that get the address of the call.
#[cfg(keirin_races)]
pub(crate) struct Halves {
    /// Runs a half, once. It is told whether another thread may have forked it.
    pub(crate) run: [unsafe fn(*mut (), bool); 2],
    /// Drops the closure of a half that was not run.
    pub(crate) drop_closure: [unsafe fn(*mut ()); 2],
    /// Drops what a half has given.
    pub(crate) drop_result: [unsafe fn(*mut ()); 2],
}

/// Runs both halves of a call. When it returns both have given something; what is not given back to a call that panics is dropped.
///
/// # Safety
/// The halves are those of the call, whose closures were not run, and whose parts may be sent to other threads.
#[cfg(keirin_races)]
#[inline(never)]
pub(crate) unsafe fn join(pool: Option<&original::ThreadPool>, call: *mut (), halves: &'static Halves) {
    /// How far a half has come.
    #[derive(Clone, Copy)]
    enum State {
        Waiting,
        Running,
        Done,
    }

    struct Running {
        call: *mut (),
        halves: &'static Halves,
        /// Each is changed by who runs the half, while the call waits for that.
        states: [std::cell::Cell<State>; 2],
        fork: tell::ForkName,
        /// Both halves are run where the caller is not.
        elsewhere: bool,
    }

    /// Dropped only if a half has panicked. The original has waited for both.
    struct Panicked<'a>(&'a Running);

    impl Drop for Panicked<'_> {
        fn drop(&mut self) {
            let Running { call, halves, states, .. } = self.0;
            for which in 0..2 {
                // SAFETY: each half is dropped as far as it is there.
                match states[which].get() {
                    State::Waiting => unsafe { (halves.drop_closure[which])(*call) },
                    State::Running => {}
                    State::Done => unsafe { (halves.drop_result[which])(*call) },
                }
            }
        }
    }

    /// What goes to the threads that run halves: no more than an address, so that it is copied by instructions, and not by functions that are told.
    #[derive(Clone, Copy)]
    struct Shared(*const Running);

    // SAFETY: as the caller of `join` says; the rest is used by one thread for each half.
    unsafe impl Send for Shared {}

    impl Shared {
        #[inline]
        fn run(self, which: usize, migrated: bool) {
            // SAFETY: it lies in the frame of the call, which waits. The original runs each half once.
            let running = unsafe { &*self.0 };
            running.fork.run(which, migrated | running.elsewhere, || {
                running.states[which].set(State::Running);
                // SAFETY: as the caller of `join` says.
                unsafe { (running.halves.run[which])(running.call, migrated) };
                running.states[which].set(State::Done);
            });
        }
    }

    if pool.is_none() {
        start_global_pool();
    }
    let mut fork = tell::Fork::new();
    let states = [const { std::cell::Cell::new(State::Waiting) }; 2];
    let running = Running { call, halves, states, fork: fork.begin(), elsewhere: pool.is_some() };
    let panicked = Panicked(&running);
    let joined = running.fork.joined();
    let shared = Shared(&raw const running);
    let both = move || {
        original::join_context(
            move |context| shared.run(0, context.migrated()),
            move |context| shared.run(1, context.migrated()),
        )
    };
    match pool {
        Some(pool) => tell::waiting(|| pool.install(both)),
        None => both(),
    };
    drop(joined);
    std::mem::forget(panicked);
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
    let task = task.handed_over();
    let body = move || task.run(body);
    match queue {
        Queue::Global => original::spawn(body),
        Queue::GlobalFifo => original::spawn_fifo(body),
        Queue::Pool(pool) => pool.spawn(body),
        Queue::PoolFifo(pool) => pool.spawn_fifo(body),
    }
}

/// The tasks of a broadcast, one for each thread of a pool.
fn handed_over(tasks: Vec<Task>) -> Vec<Task> {
    tasks.into_iter().map(Task::handed_over).collect()
}

/// Runs the task of the calling thread.
fn run_own(tasks: &[Task], context: BroadcastContext<'_>, op: impl FnOnce(BroadcastContext<'_>)) {
    match tasks.get(context.index()) {
        Some(task) => task.run(|| op(context)),
        None => op(context),
    }
}

#[inline(never)]
pub(crate) fn broadcast(
    pool: Option<&original::ThreadPool>,
    tasks: Vec<Task>,
    op: &(dyn Fn(BroadcastContext<'_>) + Sync),
) {
    let tasks = handed_over(tasks);
    let op = |context: BroadcastContext<'_>| run_own(&tasks, context, op);
    tell::waiting(|| match pool {
        Some(pool) => pool.broadcast(op),
        None => original::broadcast(op),
    });
}

#[inline(never)]
pub(crate) fn spawn_broadcast(
    pool: Option<&original::ThreadPool>,
    tasks: Vec<Task>,
    op: Box<dyn Fn(BroadcastContext<'_>) + Send + Sync>,
) {
    let tasks = handed_over(tasks);
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
            let task = task.handed_over();
            let op = move |scope: &original::$name<'scope>| task.run(|| op(&$name::of(scope, within)));
            tell::waiting(|| match pool {
                Some(pool) => pool.$scope(op),
                None => original::$scope(op),
            });
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
            tell::waiting(|| match pool {
                Some(pool) => pool.$in_place(op),
                None => original::$in_place(op),
            });
        }

        #[inline(never)]
        pub(crate) fn $spawn_into<'scope>(
            scope: &original::$name<'scope>,
            (within, task): (Within, Task),
            body: Box<dyn FnOnce(&$name<'scope>) + Send + 'scope>,
        ) {
            let task = task.handed_over();
            scope.$spawn(move |scope| task.run(|| body(&$name::of(scope, within))));
        }

        #[inline(never)]
        pub(crate) fn $broadcast_into<'scope>(
            scope: &original::$name<'scope>,
            (within, tasks): (Within, Vec<Task>),
            body: Box<dyn Fn(&$name<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope>,
        ) {
            let tasks = handed_over(tasks);
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
