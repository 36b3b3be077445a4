//! rayon-core, with tasks that tell keirin when they are spawned, run and waited for.
//!
//! `cargo keirin` compiles this crate in place of the program's `rayon-core`, which it compiles beside it, untouched and under
//! another file name, as `keirin_original`. That does all the work. Here each closure that the program hands over is put between the
//! beginning and the end of a task, so that keirin knows the tree of tasks as the program has made it, whoever runs them:
//!
//! | call | tasks |
//! |---|---|
//! | `join(a, b)` | two, and the caller waits for both |
//! | `scope(op)` | `op`, and one for each `spawn` in the scope; the caller waits for all |
//! | `in_place_scope(op)` | one for each `spawn`; `op` is part of the caller |
//! | `install(op)` | one |
//! | `broadcast(op)` | one for each thread of the pool |
//! | `spawn(f)` | one that nobody waits for |
//!
//! Rules:
//!
//! - A program must not notice: same types of errors, same traits, same behaviour in panics.
//! - A task is told before it can run, and its end before anybody can know of it.
//! - What calls the original with closures of the program is not generic in them: the code of the original is then made here.
//! - Functions that tell something are inlined always: the place that is told is that of the program.

#![allow(deprecated)]

mod builder;
mod erased;
#[cfg(not(keirin_races))]
mod join;
#[cfg(keirin_races)]
#[path = "join_in_order.rs"]
mod join;
mod pool;
mod scope;
mod spawn;
#[cfg(not(keirin_races))]
mod tell;
#[cfg(keirin_races)]
#[path = "order.rs"]
mod tell;

pub use builder::{Configuration, ThreadPoolBuilder, initialize};
pub use join::{FnContext, join, join_context};
pub use keirin_original::{
    BroadcastContext, ThreadBuilder, ThreadPoolBuildError, Yield, current_thread_has_pending_tasks,
    current_thread_index, max_num_threads, yield_local, yield_now,
};
pub use pool::{ThreadPool, current_num_threads};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{broadcast, spawn, spawn_broadcast, spawn_fifo};
