//! `Condvar`. A wait is told as a release, and an acquire after it.

use super::{LockResult, MutexGuard, PoisonError, WaitTimeoutResult, map_result};
use crate::tell::{self, Mode};
use real::sync as original;
use real::time::{Duration, Instant};

/// `std::sync::Condvar`.
#[derive(Default, Debug)]
pub struct Condvar(original::Condvar);

impl Condvar {
    #[inline]
    pub const fn new() -> Self {
        Condvar(original::Condvar::new())
    }

    #[inline(always)]
    fn address(&self) -> usize {
        self as *const Self as usize
    }

    #[inline(always)]
    pub fn notify_one(&self) {
        tell::notified(self.address(), false);
        self.0.notify_one();
    }

    #[inline(always)]
    pub fn notify_all(&self) {
        tell::notified(self.address(), true);
        self.0.notify_all();
    }

    #[inline(always)]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let (guard, lock) = guard.give_up();
        let result = self.0.wait(guard);
        tell::acquired(lock, Mode::Exclusive);
        // It may have been for no reason: then it is told with too much order, which finds less, and nothing wrong.
        tell::waited(self.address());
        map_result(result, |guard| MutexGuard::new(guard, lock))
    }

    #[inline(always)]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while is_met(&mut guard, &mut condition) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    #[inline(always)]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let (guard, lock) = guard.give_up();
        let result = self.0.wait_timeout(guard, duration);
        tell::acquired(lock, Mode::Exclusive);
        let result = map_result(result, |(guard, end)| (MutexGuard::new(guard, lock), end));
        let end = match &result {
            Ok((_, end)) => *end,
            Err(poisoned) => poisoned.get_ref().1,
        };
        if !end.timed_out() {
            tell::waited(self.address());
        }
        result
    }

    #[allow(deprecated)]
    #[inline(always)]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        milliseconds: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let result = self.wait_timeout(guard, Duration::from_millis(u64::from(milliseconds)));
        map_result(result, |(guard, end)| (guard, !end.timed_out()))
    }

    #[inline(always)]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        loop {
            if !is_met(&mut guard, &mut condition) {
                return Ok((guard, timed_out(false)));
            }
            let Some(left) = duration.checked_sub(start.elapsed()) else {
                return Ok((guard, timed_out(true)));
            };
            guard = match self.wait_timeout(guard, left) {
                Ok((guard, _)) => guard,
                Err(poisoned) => return Err(PoisonError::new(poisoned.into_inner())),
            };
        }
    }
}

/// Asks a condition. It could change what the mutex guards, but is meant to look at it.
#[inline(always)]
fn is_met<T>(guard: &mut MutexGuard<'_, T>, condition: &mut impl FnMut(&mut T) -> bool) -> bool {
    condition(guard.looked_at())
}

/// Nobody but the real library can make such a result: it is asked for one.
fn timed_out(after_time: bool) -> WaitTimeoutResult {
    let (mutex, condvar) = (original::Mutex::new(()), original::Condvar::new());
    let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    let result = condvar.wait_timeout_while(guard, Duration::ZERO, |_| after_time);
    result.map_or_else(|poisoned| poisoned.into_inner().1, |(_, end)| end)
}
