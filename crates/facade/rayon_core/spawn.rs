//! Tasks without a scope, and tasks for each thread.

use crate::erased::{self, Queue};
use crate::pool::threads_of;
use crate::tell::{Group, Task};
use keirin_original as original;
use keirin_original::BroadcastContext;

/// `rayon_core::spawn`.
#[inline(always)]
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_in(Queue::Global, func);
}

/// `rayon_core::spawn_fifo`.
#[inline(always)]
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_in(Queue::GlobalFifo, func);
}

#[inline(always)]
pub(crate) fn spawn_in<F>(queue: Queue<'_>, func: F)
where
    F: FnOnce() + Send + 'static,
{
    queue.start();
    let body: Box<dyn FnOnce() + Send> = Box::new(func);
    erased::spawn(queue, Task::detached(), body);
}

/// `rayon_core::broadcast`.
#[inline(always)]
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_in(None, op)
}

#[inline(always)]
pub(crate) fn broadcast_in<OP, R>(pool: Option<&original::ThreadPool>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    /// Places for what the threads give. Each of them has one for itself.
    struct Places<R>(*mut Option<R>);

    // SAFETY: each thread uses a place of its own, and leaves there what may be sent.
    unsafe impl<R: Send> Sync for Places<R> {}

    impl<R> Places<R> {
        /// # Safety
        /// There is such a place, and nobody else uses it.
        unsafe fn put(&self, index: usize, result: R) {
            // SAFETY: by the contract.
            unsafe { *self.0.add(index) = Some(result) };
        }
    }

    let threads = threads_of(pool);
    let mut results: Vec<Option<R>> = (0..threads).map(|_| None).collect();
    {
        let places = Places(results.as_mut_ptr());
        let group = Group::new();
        let tasks: Vec<Task> = (0..threads).map(|_| group.name().spawn_first()).collect();
        erased::broadcast(pool, tasks, &|context: BroadcastContext<'_>| {
            let index = context.index();
            let result = op(context);
            assert!(index < threads);
            // SAFETY: it is called once in each thread, whose index that is, and waited for while the results stay where they are.
            unsafe { places.put(index, result) };
        });
    }
    results.into_iter().flatten().collect()
}

/// `rayon_core::spawn_broadcast`.
#[inline(always)]
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(None, op);
}

#[inline(always)]
pub(crate) fn spawn_broadcast_in<OP>(pool: Option<&original::ThreadPool>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let tasks: Vec<Task> = (0..threads_of(pool)).map(|_| Task::detached()).collect();
    erased::spawn_broadcast(pool, tasks, Box::new(op));
}
