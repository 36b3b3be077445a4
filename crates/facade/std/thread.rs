//! `std::thread`. Threads are seen when they are created and joined, whoever does that; here is what cannot be seen so: where the
//! program asks for a thread, the end of a scope, and parking.

use crate::tell;
use real::fmt;
use real::hash::{Hash, Hasher};
use real::io;
use real::string::String;
use real::thread as original;
use real::time::Duration;

pub use real::thread::*;

/// `std::thread::Thread`.
#[derive(Clone)]
#[repr(transparent)]
pub struct Thread(original::Thread);

/// The numbers of threads that are parked begin here: behind those of [`tell::token`].
const FIRST_THREAD: usize = 1 << 30;

/// The number by which the parking of a thread is told.
fn parking(id: ThreadId) -> usize {
    /// Takes what a thread's identity is made of.
    struct Number(u64);

    impl Hasher for Number {
        fn write(&mut self, bytes: &[u8]) {
            bytes.iter().for_each(|byte| self.0 = self.0 << 8 ^ u64::from(*byte));
        }

        fn write_u64(&mut self, number: u64) {
            self.0 ^= number;
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }

    let mut number = Number(0);
    id.hash(&mut number);
    FIRST_THREAD + 8 * (number.finish() as usize % (1 << 24))
}

impl Thread {
    fn of(thread: &original::Thread) -> &Thread {
        // SAFETY: a `Thread` is nothing but the real one.
        unsafe { &*(thread as *const original::Thread).cast() }
    }

    pub fn unpark(&self) {
        tell::before(parking(self.0.id()));
        self.0.unpark();
    }

    pub fn id(&self) -> ThreadId {
        self.0.id()
    }

    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `std::thread::current`.
pub fn current() -> Thread {
    Thread(original::current())
}

/// `std::thread::park`.
pub fn park() {
    original::park();
    tell::after(parking(original::current().id()));
}

/// `std::thread::park_timeout`. Whether it was the time is not known: then it is told with too much order.
pub fn park_timeout(duration: Duration) {
    original::park_timeout(duration);
    tell::after(parking(original::current().id()));
}

/// `std::thread::park_timeout_ms`.
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::park_timeout`")]
pub fn park_timeout_ms(milliseconds: u32) {
    park_timeout(Duration::from_millis(u64::from(milliseconds)));
}

/// `std::thread::JoinHandle`.
pub struct JoinHandle<T>(original::JoinHandle<T>);

impl<T> JoinHandle<T> {
    pub fn thread(&self) -> &Thread {
        Thread::of(self.0.thread())
    }

    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> real::os::unix::thread::JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> real::os::unix::thread::RawPthread {
        self.0.as_pthread_t()
    }

    fn into_pthread_t(self) -> real::os::unix::thread::RawPthread {
        self.0.into_pthread_t()
    }
}

/// `std::thread::spawn`.
#[inline(always)]
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    JoinHandle(tell::spawning(|| original::spawn(f)))
}

/// `std::thread::Builder`.
#[must_use = "must eventually spawn the thread"]
#[derive(Debug)]
pub struct Builder(original::Builder);

impl Builder {
    pub fn new() -> Builder {
        Builder(original::Builder::new())
    }

    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size))
    }

    #[inline(always)]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        tell::spawning(|| self.0.spawn(f)).map(JoinHandle)
    }

    /// # Safety
    /// As for the real one.
    #[inline(always)]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        // SAFETY: by the contract of this function.
        tell::spawning(|| unsafe { self.0.spawn_unchecked(f) }).map(JoinHandle)
    }

    #[inline(always)]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let told = scope.end_told();
        let body = move || {
            // Told however the thread ends.
            let _told = told;
            f()
        };
        tell::spawning(|| self.0.spawn_scoped(&scope.0, body)).map(ScopedJoinHandle)
    }
}

/// `std::thread::Scope`.
#[repr(transparent)]
pub struct Scope<'scope, 'env: 'scope>(original::Scope<'scope, 'env>);

/// Tells the end of a thread to those who wait for its scope.
struct EndTold(usize);

impl Drop for EndTold {
    fn drop(&mut self) {
        tell::before(self.0);
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    fn address(&self) -> usize {
        self as *const Self as usize
    }

    fn end_told(&self) -> EndTold {
        EndTold(self.address())
    }

    #[inline(always)]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("failed to spawn thread")
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `std::thread::scope`.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    /// Told also if a thread has panicked, and the scope with it.
    struct Waited(real::cell::Cell<usize>);

    impl Drop for Waited {
        fn drop(&mut self) {
            if self.0.get() != 0 {
                tell::after(self.0.get());
            }
        }
    }

    let waited = Waited(real::cell::Cell::new(0));
    original::scope(|scope| {
        // SAFETY: a `Scope` is nothing but the real one.
        let scope: &Scope<'_, 'env> = unsafe { &*(scope as *const original::Scope<'_, 'env>).cast() };
        waited.0.set(scope.address());
        f(scope)
    })
}

/// `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T>(original::ScopedJoinHandle<'scope, T>);

impl<T> ScopedJoinHandle<'_, T> {
    pub fn thread(&self) -> &Thread {
        Thread::of(self.0.thread())
    }

    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
