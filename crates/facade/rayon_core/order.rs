//! What is told to the runtime with `--races`, in the place of `tell`: nothing but what is ordered.
//!
//! The code of the original has none of the sanitizer's calls then, so that what its queues and latches order is not seen. It is told here:
//! that a task comes after what its spawner did before, and what follows a wait after the tasks that were waited for. A task begins, as far as the
//! runtime knows, with [`Task::run`], and a half of a join with [`Fork::run`]; all that is done before it in the thread that runs it must be done by this
//! crate's own functions, which have none of the calls either. So closures are handed over by functions that are not generic (`erased`).

use keirin_original as original;
use std::mem::MaybeUninit;

unsafe extern "C" {
    safe fn __keirin_rust_forks(fork: usize);
    safe fn __keirin_rust_fork_taken(fork: usize);
    safe fn __keirin_rust_fork_left(fork: usize, which: usize);
    safe fn __keirin_rust_joins(fork: usize, taken: usize);
    safe fn __keirin_rust_group_over(group: usize);
    safe fn __keirin_rust_stack_left(place: usize);
    safe fn __keirin_happens_before(token: usize);
    safe fn __keirin_happens_after(token: usize);
}

/// Tasks that are waited for together. It is known by its address, so that it must stay where it is until it is dropped. What drops it
/// has waited, also if it panics.
pub(crate) struct Group {
    /// An object without a size need not have an address of its own.
    _place: u8,
}

impl Group {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Group { _place: 0 }
    }

    #[inline(always)]
    pub(crate) fn name(&self) -> GroupName {
        GroupName(self as *const Self as usize)
    }
}

impl Drop for Group {
    #[inline(always)]
    fn drop(&mut self) {
        __keirin_rust_group_over(self.name().0);
    }
}

/// A group, for those that spawn into it while it is waited for.
#[derive(Clone, Copy)]
pub(crate) struct GroupName(usize);

impl GroupName {
    #[inline(always)]
    pub(crate) fn spawn(self) -> Task {
        Task { group: self.0, token: std::ptr::null_mut() }
    }

    #[inline(always)]
    pub(crate) fn spawn_first(self) -> Task {
        self.spawn()
    }
}

/// A task that is run once.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    /// 0: nobody waits for it.
    group: usize,
    /// The number by which it comes after what its spawner did: an address of its own, until it runs. Null until it is handed over.
    token: *mut u64,
}

// SAFETY: the token is used by who hands the task over, and then by who runs it.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

impl Task {
    #[inline(always)]
    pub(crate) fn detached() -> Self {
        GroupName(0).spawn()
    }

    /// The caller has made all that the task needs, and hands it over.
    pub(crate) fn handed_over(self) -> Self {
        let token = Box::into_raw(Box::new(0));
        __keirin_happens_before(token as usize);
        Task { token, ..self }
    }

    /// Runs it.
    pub(crate) fn run<R>(self, body: impl FnOnce() -> R) -> R {
        /// Told however it ends.
        struct Running(usize);

        impl Drop for Running {
            fn drop(&mut self) {
                if self.0 != 0 {
                    __keirin_happens_before(self.0);
                }
            }
        }

        __keirin_happens_after(self.token as usize);
        // SAFETY: made of a box when it was handed over; it is run once. Memory that is given back orders nothing any more.
        drop(unsafe { Box::from_raw(self.token) });
        let _running = Running(self.group);
        body()
    }
}

/// What is noted of a join; known to the runtime only.
type ForkNotes = [usize; 4];

/// A call of `join`. It must stay where it is.
pub(crate) struct Fork {
    notes: MaybeUninit<ForkNotes>,
    /// Halves that another thread may have run.
    taken: [bool; 2],
}

impl Fork {
    pub(crate) fn new() -> Self {
        Fork { notes: MaybeUninit::uninit(), taken: [false; 2] }
    }

    /// Its halves may be taken from now on. They are known by what this gives.
    pub(crate) fn begin(&mut self) -> ForkName {
        let notes = self.notes.as_mut_ptr() as usize;
        __keirin_rust_forks(notes);
        ForkName { notes, taken: self.taken.as_mut_ptr() }
    }
}

/// What drops it has waited for both halves, also if it panics.
pub(crate) struct Joined(ForkName);

impl Drop for Joined {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the call has not returned, and nobody else runs any more.
        let taken = unsafe { self.0.taken.read() | self.0.taken.add(1).read() };
        __keirin_rust_joins(self.0.notes, usize::from(taken));
    }
}

/// A call of `join`, for those who run its halves.
#[derive(Clone, Copy)]
pub(crate) struct ForkName {
    notes: usize,
    taken: *mut bool,
}

// SAFETY: who runs a half uses what is its own, while the call waits for that.
unsafe impl Send for ForkName {}
// SAFETY: as above.
unsafe impl Sync for ForkName {}

impl ForkName {
    /// To be dropped when both halves have ended.
    #[inline]
    pub(crate) fn joined(self) -> Joined {
        Joined(self)
    }

    /// Runs a half, 0 or 1, which may have been forked by another thread if it has migrated.
    #[inline]
    pub(crate) fn run(self, which: usize, migrated: bool, body: impl FnOnce()) {
        /// Told however it ends.
        struct Running(ForkName, usize);

        impl Drop for Running {
            fn drop(&mut self) {
                __keirin_rust_fork_left(self.0.notes, self.1);
            }
        }

        if !migrated {
            return body();
        }
        // SAFETY: each half has a place of its own, in the frame of the call, which waits for it.
        unsafe { self.taken.add(which).write(true) };
        __keirin_rust_fork_taken(self.notes);
        let _running = Running(self, which);
        body();
    }
}

/// Threads that are created by `create` are workers: nothing special, they come after their creation as others do.
pub(crate) fn creating_workers<R>(create: impl FnOnce() -> R) -> R {
    create()
}

/// Has the original do something that waits. Who is no thread of a pool waits by means of the library, which has its atomic operations told,
/// but not all that orders them: where these lie, on the stack below here, is new memory for whoever uses it next.
#[inline(never)]
pub(crate) fn waiting<R>(wait: impl FnOnce() -> R) -> R {
    struct Waited(usize);

    impl Drop for Waited {
        fn drop(&mut self) {
            __keirin_rust_stack_left(self.0);
        }
    }

    /// In a frame that lies below.
    #[inline(never)]
    fn below<R>(wait: impl FnOnce() -> R) -> R {
        wait()
    }

    if original::current_thread_index().is_some() {
        return wait();
    }
    let place = 0u8;
    let _waited = Waited(&raw const place as usize);
    below(wait)
}

/// What the caller did so far comes before whatever follows an [`after`] of the same number.
pub(crate) fn before(token: usize) {
    __keirin_happens_before(token);
}

/// The other side of [`before`].
pub(crate) fn after(token: usize) {
    __keirin_happens_after(token);
}

/// A handler of a pool, which its threads call, and which the last one of them drops.
pub(crate) struct Handler<H> {
    /// Dropped first.
    end: HandlerEnd,
    handler: H,
}

/// Whoever drops a handler comes after all calls of it.
struct HandlerEnd(Box<u64>);

impl<H> Handler<H> {
    pub(crate) fn new(handler: H) -> Self {
        Handler { end: HandlerEnd(Box::new(0)), handler }
    }

    pub(crate) fn call<R>(&self, call: impl FnOnce(&H) -> R) -> R {
        let result = call(&self.handler);
        before(&raw const *self.end.0 as usize);
        result
    }
}

impl Drop for HandlerEnd {
    fn drop(&mut self) {
        after(&raw const *self.0 as usize);
    }
}
