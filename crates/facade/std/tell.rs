//! What is told to the runtime.

unsafe extern "C" {
    safe fn __keirin_rust_acquired(lock: usize, shared: usize);
    safe fn __keirin_rust_released(lock: usize, detail: usize);
    #[cfg(keirin_rwlock_downgrade)]
    safe fn __keirin_rust_changed(lock: usize, shared: usize);
    safe fn __keirin_rust_used(object: usize, written: usize, name: *const u8, length: usize);
    safe fn __keirin_rust_notified(condition: usize, all: usize);
    safe fn __keirin_rust_waited(condition: usize, detail: usize);
    safe fn __keirin_rust_arrived(barrier: usize, detail: usize);
    safe fn __keirin_rust_left(barrier: usize, detail: usize);
    safe fn __keirin_rust_spawns(object: usize, detail: usize);
    safe fn __keirin_rust_spawned(object: usize, detail: usize);
    safe fn __keirin_happens_before(token: usize);
    safe fn __keirin_happens_after(token: usize);
}

#[cfg(keirin_accesses)]
unsafe extern "C" {
    safe fn __tsan_ignore_thread_begin();
    safe fn __tsan_ignore_thread_end();
}

/// While it lives accesses of the thread are not looked at. The real library is not instrumented, but its generic code is, in the crates
/// of the program: what it does there is in an order that only the rest of the library knows. Nothing where accesses are not told at all.
pub(crate) struct Unseen(());

impl Unseen {
    #[inline(always)]
    pub(crate) fn begin() -> Self {
        #[cfg(keirin_accesses)]
        __tsan_ignore_thread_begin();
        Unseen(())
    }
}

impl Drop for Unseen {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(keirin_accesses)]
        __tsan_ignore_thread_end();
    }
}

/// Something of the real library that is dropped unseen.
pub(crate) struct DroppedUnseen<T>(real::mem::ManuallyDrop<T>);

impl<T> DroppedUnseen<T> {
    pub(crate) fn new(value: T) -> Self {
        DroppedUnseen(real::mem::ManuallyDrop::new(value))
    }
}

impl<T> real::ops::Deref for DroppedUnseen<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for DroppedUnseen<T> {
    fn drop(&mut self) {
        let _unseen = Unseen::begin();
        // SAFETY: it is not used any more.
        unsafe { real::mem::ManuallyDrop::drop(&mut self.0) };
    }
}

/// How a lock is held.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    /// By one alone.
    Exclusive,
    /// Perhaps by others as well.
    Shared,
}

#[inline(always)]
pub(crate) fn acquired(lock: usize, mode: Mode) {
    __keirin_rust_acquired(lock, matches!(mode, Mode::Shared) as usize);
}

#[inline(always)]
pub(crate) fn released(lock: usize) {
    __keirin_rust_released(lock, 0);
}

/// A writer goes on as a reader, and does not let go of the lock.
#[cfg(keirin_rwlock_downgrade)]
#[inline(always)]
pub(crate) fn becomes_reader(lock: usize) {
    __keirin_rust_changed(lock, 1);
}

/// What a lock guards is read. An object without a size has no address of its own: then it is the lock.
#[inline(always)]
pub(crate) fn read<T: ?Sized>(object: &T, lock: usize) {
    used(object, lock, 0);
}

/// What a lock guards can be changed.
#[inline(always)]
pub(crate) fn written<T: ?Sized>(object: &T, lock: usize) {
    used(object, lock, 1);
}

#[inline(always)]
fn used<T: ?Sized>(object: &T, lock: usize, written: usize) {
    let empty = real::mem::size_of_val(object) == 0;
    let address = if empty { lock } else { object as *const T as *const () as usize };
    let name = real::any::type_name::<T>();
    __keirin_rust_used(address, written, name.as_ptr(), name.len());
}

#[inline(always)]
pub(crate) fn notified(condition: usize, all: bool) {
    __keirin_rust_notified(condition, all as usize);
}

#[inline(always)]
pub(crate) fn waited(condition: usize) {
    __keirin_rust_waited(condition, 0);
}

#[inline(always)]
pub(crate) fn arrived(barrier: usize) {
    __keirin_rust_arrived(barrier, 0);
}

#[inline(always)]
pub(crate) fn left(barrier: usize) {
    __keirin_rust_left(barrier, 0);
}

/// What this thread did so far comes before whatever follows an [`after`] of the same number.
#[inline(always)]
pub(crate) fn before(token: usize) {
    __keirin_happens_before(token);
}

/// The other side of [`before`].
#[inline(always)]
pub(crate) fn after(token: usize) {
    __keirin_happens_after(token);
}

/// Creates a thread.
#[inline(always)]
pub(crate) fn spawning<R>(create: impl FnOnce() -> R) -> R {
    __keirin_rust_spawns(0, 0);
    let result = create();
    __keirin_rust_spawned(0, 0);
    result
}

/// A number for something that order is told about and that has no address which stays.
pub(crate) fn token() -> usize {
    use real::sync::atomic::{AtomicUsize, Ordering};
    // Where no memory of a program is, and eight apart: each has a word of its own.
    static NEXT: AtomicUsize = AtomicUsize::new(FIRST_TOKEN);
    NEXT.fetch_add(8, Ordering::Relaxed)
}

/// The first number of [`token`].
const FIRST_TOKEN: usize = 1 << 16;
