//! `std::sync`, with our own locks and channels.

pub use real::sync::*;

pub use self::barrier::Barrier;
pub use self::condvar::Condvar;
pub use self::lazy::LazyLock;
pub use self::mutex::{Mutex, MutexGuard};
#[allow(deprecated)]
pub use self::once::ONCE_INIT;
pub use self::once::{Once, OnceLock};
pub use self::rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

mod barrier;
mod condvar;
mod lazy;
pub mod mpsc;
mod mutex;
mod once;
mod rwlock;

/// The same result with another guard in it.
#[inline(always)]
fn map_result<A, B>(result: LockResult<A>, change: impl FnOnce(A) -> B) -> LockResult<B> {
    match result {
        Ok(guard) => Ok(change(guard)),
        Err(poisoned) => Err(PoisonError::new(change(poisoned.into_inner()))),
    }
}

/// The same for an attempt.
#[inline(always)]
fn map_attempt<A, B>(result: TryLockResult<A>, change: impl FnOnce(A) -> B) -> TryLockResult<B> {
    match result {
        Ok(guard) => Ok(change(guard)),
        Err(TryLockError::Poisoned(poisoned)) => {
            Err(TryLockError::Poisoned(PoisonError::new(change(poisoned.into_inner()))))
        }
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}
