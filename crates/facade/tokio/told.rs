//! What `tokio` tells. This file becomes a module of the program's own `tokio`.
//!
//! A task runs as itself while it is polled and while its future is dropped, whichever thread does that. `Mutex` and `RwLock` tell who holds
//! them and what is done to the object that they guard; a lock is known by the address of its semaphore, and one for readers and writers
//! has a *turn* beside it, as those of `lock_api`. All else in `sync` tells order: what is published before it is, what is received
//! after it was.

#![allow(dead_code)]

unsafe extern "C" {
    safe fn __keirin_rust_acquired(lock: usize, shared: usize);
    safe fn __keirin_rust_released(lock: usize, detail: usize);
    safe fn __keirin_rust_used(object: usize, written: usize, name: *const u8, length: usize);
    safe fn __keirin_rust_future_spawned(object: usize, detail: usize) -> usize;
    safe fn __keirin_rust_future_begins(handle: usize, detail: usize) -> usize;
    safe fn __keirin_rust_future_rests(handle: usize, detail: usize);
    safe fn __keirin_rust_future_ends(handle: usize, detail: usize);
    safe fn __keirin_rust_future_joined(handle: usize, detail: usize);
    safe fn __keirin_rust_future_forgotten(handle: usize, detail: usize);
    safe fn __keirin_rust_workers(begin: usize);
    safe fn __keirin_happens_before(token: usize);
    safe fn __keirin_happens_after(token: usize);
}

/// A task, as the runtime knows it. 0 if nothing is watched.
pub(crate) struct Task(usize);

std::thread_local! {
    /// What is spawned now is no task of the program.
    static UNTOLD: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// Spawns something that does nothing itself.
pub(crate) fn untold<R>(spawn: impl FnOnce() -> R) -> R {
    let before = UNTOLD.replace(true);
    let result = spawn();
    UNTOLD.set(before);
    result
}

/// While it lives, the threads that are created are workers: they do nothing but run tasks.
pub(crate) struct Workers(());

impl Workers {
    pub(crate) fn begin() -> Self {
        __keirin_rust_workers(1);
        Workers(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        __keirin_rust_workers(0);
    }
}

impl Task {
    #[inline(always)]
    pub(crate) fn spawned() -> Self {
        Task(if UNTOLD.get() { 0 } else { __keirin_rust_future_spawned(0, 0) })
    }

    /// Polls the task, or drops what it is made of.
    #[inline(always)]
    pub(crate) fn run<R>(&self, body: impl FnOnce() -> R) -> R {
        /// Told also if it panics.
        struct Running(usize);

        impl Drop for Running {
            #[inline(always)]
            fn drop(&mut self) {
                __keirin_rust_future_rests(self.0, 0);
            }
        }

        if self.0 == 0 || __keirin_rust_future_begins(self.0, 0) == 0 {
            return body();
        }
        let _running = Running(self.0);
        within(body)
    }

    /// Its result is there, and nothing of it runs any more.
    #[inline(always)]
    pub(crate) fn ended(&self) {
        if self.0 != 0 {
            __keirin_rust_future_ends(self.0, 0);
        }
    }

    /// Somebody takes its result.
    #[inline(always)]
    pub(crate) fn joined(&self) {
        if self.0 != 0 {
            __keirin_rust_future_joined(self.0, 0);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.0 != 0 {
            __keirin_rust_future_forgotten(self.0, 0);
        }
    }
}

/// The outermost call of a task: it has a frame of its own, also where the future's code is put into the function that polls.
#[inline(never)]
fn within<R>(body: impl FnOnce() -> R) -> R {
    body()
}

#[inline(always)]
fn address<T: ?Sized>(thing: &T) -> usize {
    thing as *const T as *const () as usize
}

/// What was done so far comes before whatever follows an [`after`] of the same thing.
pub(crate) fn before<T: ?Sized>(thing: &T) {
    __keirin_happens_before(address(thing));
}

/// The other side of [`before`].
pub(crate) fn after<T: ?Sized>(thing: &T) {
    __keirin_happens_after(address(thing));
}

/// An attempt to get something that others have given back.
pub(crate) fn received<T: ?Sized, E>(thing: &T, result: Result<(), E>) -> Result<(), E> {
    if result.is_ok() {
        after(thing);
    }
    result
}

/// An attempt to acquire a lock alone.
pub(crate) fn alone<L, E>(lock: &L, result: Result<(), E>) -> Result<(), E> {
    if result.is_ok() {
        __keirin_rust_acquired(address(lock) + 1, 0);
        __keirin_rust_acquired(address(lock), 0);
    }
    result
}

/// An attempt to acquire a lock together with others.
pub(crate) fn shared<L, E>(lock: &L, result: Result<(), E>) -> Result<(), E> {
    if result.is_ok() {
        __keirin_rust_acquired(address(lock), 1);
    }
    result
}

/// Who holds a lock alone is about to release it.
pub(crate) fn releasing_alone<L>(lock: &L) {
    __keirin_rust_released(address(lock), 0);
    __keirin_rust_released(address(lock) + 1, 0);
}

/// Who holds a lock together with others is about to release it.
pub(crate) fn releasing_shared<L>(lock: &L) {
    __keirin_rust_released(address(lock), 0);
}

/// Who held a lock alone lets others in, and goes on as one of them.
pub(crate) fn lowering<L>(lock: &L) {
    __keirin_rust_released(address(lock), 0);
    __keirin_rust_acquired(address(lock), 1);
    __keirin_rust_released(address(lock) + 1, 0);
}

/// A mutex, to be told as one lock.
pub(crate) fn locked<L, E>(lock: &L, result: Result<(), E>) -> Result<(), E> {
    if result.is_ok() {
        __keirin_rust_acquired(address(lock), 0);
    }
    result
}

/// A mutex is about to be released.
pub(crate) fn unlocking<L>(lock: &L) {
    __keirin_rust_released(address(lock), 0);
}

#[inline(always)]
fn used<T: ?Sized>(object: &T, written: usize) {
    // An object without a size has no address of its own, and cannot change.
    if size_of_val(object) > 0 {
        let name = core::any::type_name::<T>();
        __keirin_rust_used(address(object), written, name.as_ptr(), name.len());
    }
}

/// What a guard guards is read.
#[inline(always)]
pub(crate) fn read<T: ?Sized>(object: &T) -> &T {
    used(object, 0);
    object
}

/// What a guard guards can be changed.
#[inline(always)]
pub(crate) fn written<T: ?Sized>(object: &mut T) -> &mut T {
    used(object, 1);
    object
}
