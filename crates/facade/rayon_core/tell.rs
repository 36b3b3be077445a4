//! What is told to the runtime.

use std::mem::MaybeUninit;

unsafe extern "C" {
    safe fn __keirin_rust_task_spawned(group: usize, first: usize) -> usize;
    safe fn __keirin_rust_task_begins(task: usize, before: *mut Before);
    safe fn __keirin_rust_task_ends(before: *mut Before);
    safe fn __keirin_rust_group_ends(group: usize);
    safe fn __keirin_rust_join_begins(join: usize, how: usize) -> usize;
    safe fn __keirin_rust_half_begins(join: usize, which: usize);
    safe fn __keirin_rust_half_ends(join: usize, which: usize);
    safe fn __keirin_rust_join_ends(join: usize);
    safe fn __keirin_rust_workers(begin: usize);
    safe fn __keirin_happens_before(token: usize);
    safe fn __keirin_happens_after(token: usize);
}

/// What a thread ran before it began a task; known to the runtime only.
type Before = [usize; 3];

/// What is noted of a join; known to the runtime only.
type JoinNotes = [usize; 20];

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

    /// The name by which tasks of the group spawn others into it.
    #[inline(always)]
    pub(crate) fn name(&self) -> GroupName {
        GroupName(self as *const Self as usize)
    }
}

impl Drop for Group {
    #[inline(always)]
    fn drop(&mut self) {
        __keirin_rust_group_ends(self.name().0);
    }
}

/// A group, for those that spawn into it while it is waited for.
#[derive(Clone, Copy)]
pub(crate) struct GroupName(usize);

impl GroupName {
    /// A task of the group, which others may spawn into at the same time.
    #[inline(always)]
    pub(crate) fn spawn(self) -> Task {
        Task(__keirin_rust_task_spawned(self.0, 0))
    }

    /// A task of a group that only the caller knows so far.
    #[inline(always)]
    pub(crate) fn spawn_first(self) -> Task {
        Task(__keirin_rust_task_spawned(self.0, 1))
    }
}

/// A task that was spawned and is run once. 0 if nothing is watched.
#[derive(Clone, Copy)]
pub(crate) struct Task(usize);

impl Task {
    /// A task that nobody waits for.
    #[inline(always)]
    pub(crate) fn detached() -> Self {
        Task(__keirin_rust_task_spawned(0, 0))
    }

    /// The caller has made all that the task needs, and hands it over.
    #[inline(always)]
    pub(crate) fn handed_over(self) -> Self {
        self
    }

    /// Runs it.
    #[inline(always)]
    pub(crate) fn run<R>(self, body: impl FnOnce() -> R) -> R {
        /// Told however it ends.
        struct Running(MaybeUninit<Before>);

        impl Drop for Running {
            #[inline(always)]
            fn drop(&mut self) {
                __keirin_rust_task_ends(self.0.as_mut_ptr());
            }
        }

        if self.0 == 0 {
            return body();
        }
        let mut running = Running(MaybeUninit::uninit());
        __keirin_rust_task_begins(self.0, running.0.as_mut_ptr());
        body()
    }
}

/// Memory for a [`Join`]: it must stay where it is until that is dropped.
pub(crate) struct JoinPlace(MaybeUninit<JoinNotes>);

impl JoinPlace {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        JoinPlace(MaybeUninit::uninit())
    }
}

/// A call of `join`. What drops it has waited for both halves, also if it panics. 0 if nothing is watched.
pub(crate) struct Join<'a>(usize, std::marker::PhantomData<&'a mut JoinPlace>);

impl<'a> Join<'a> {
    /// `divides`: the halves are parts of what the calling task was spawned for.
    #[inline(always)]
    pub(crate) fn begin(place: &'a mut JoinPlace, divides: bool) -> Self {
        let join = place.0.as_mut_ptr() as usize;
        let told = __keirin_rust_join_begins(join, usize::from(divides)) != 0;
        Join(if told { join } else { 0 }, std::marker::PhantomData)
    }

    #[inline(always)]
    pub(crate) fn halves(&self) -> [Half; 2] {
        [Half { join: self.0, which: 0 }, Half { join: self.0, which: 1 }]
    }
}

impl Drop for Join<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0 != 0 {
            __keirin_rust_join_ends(self.0);
        }
    }
}

/// One of the two tasks of a join, which is run once.
#[derive(Clone, Copy)]
pub(crate) struct Half {
    join: usize,
    which: usize,
}

impl Half {
    /// Runs it.
    #[inline(always)]
    pub(crate) fn run<R>(self, body: impl FnOnce() -> R) -> R {
        /// Told however it ends.
        struct Running(Half);

        impl Drop for Running {
            #[inline(always)]
            fn drop(&mut self) {
                __keirin_rust_half_ends(self.0.join, self.0.which);
            }
        }

        if self.join == 0 {
            return body();
        }
        __keirin_rust_half_begins(self.join, self.which);
        let _running = Running(self);
        body()
    }
}

/// Threads that are created by `create` are workers: they do nothing but run tasks.
pub(crate) fn creating_workers<R>(create: impl FnOnce() -> R) -> R {
    struct Done;

    impl Drop for Done {
        fn drop(&mut self) {
            __keirin_rust_workers(0);
        }
    }

    __keirin_rust_workers(1);
    let _done = Done;
    create()
}

/// Has the original do something that waits.
#[inline(always)]
pub(crate) fn waiting<R>(wait: impl FnOnce() -> R) -> R {
    wait()
}

/// What the caller did so far comes before whatever follows an [`after`] of the same number.
pub(crate) fn before(token: usize) {
    __keirin_happens_before(token);
}

/// The other side of [`before`].
pub(crate) fn after(token: usize) {
    __keirin_happens_after(token);
}

/// A handler of a pool.
pub(crate) struct Handler<H>(H);

impl<H> Handler<H> {
    pub(crate) fn new(handler: H) -> Self {
        Handler(handler)
    }

    pub(crate) fn call<R>(&self, call: impl FnOnce(&H) -> R) -> R {
        call(&self.0)
    }
}
