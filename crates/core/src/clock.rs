//! When something was done, and what is known to have been done: epochs and vector clocks.

use crate::event::ThreadId;

/// Threads that a run may have in all: their numbers must fit into an [`Epoch`].
pub const MAX_THREADS: u32 = 1 << 20;

const TIME_BITS: u32 = 44;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// A thread and one of its times. Times start at 1; the default is "never".
///
/// 44 bits of time last for 17 million million operations, 20 bits for [`MAX_THREADS`] threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch of a thread at a time.
    #[inline]
    pub fn new(thread: ThreadId, time: u64) -> Self {
        debug_assert!(thread.0 < MAX_THREADS && time <= TIME_MASK);
        Self(u64::from(thread.0) << TIME_BITS | time)
    }

    /// The thread.
    #[inline]
    pub fn thread(self) -> ThreadId {
        ThreadId((self.0 >> TIME_BITS) as u32)
    }

    /// The time.
    #[inline]
    pub fn time(self) -> u64 {
        self.0 & TIME_MASK
    }

    /// True if `other` is of the same thread, later than the time `after` and no later than this epoch. (No epoch of the
    /// same thread may be later than this one.)
    #[inline]
    pub fn is_same_thread_within(self, other: Epoch, after: u64) -> bool {
        // Epochs of other threads are further away than any two times.
        self.0.wrapping_sub(other.0) < self.time() - after
    }

    /// True if this stands for something that never happened.
    #[inline]
    pub fn is_never(self) -> bool {
        self.time() == 0
    }
}

impl std::fmt::Debug for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_never() { f.write_str("never") } else { write!(f, "{}@{}", self.time(), self.thread().0) }
    }
}

/// For each thread how far it is known: all that the thread did up to this time comes before.
///
/// Threads are numbered densely, so that this is a plain list; what is behind its end is not known at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VectorClock(Vec<u64>);

impl VectorClock {
    /// Later than all that a thread can ever do: for a thread that is finished.
    pub const ALL: u64 = TIME_MASK;

    /// How far a thread is known; 0 if not at all.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> u64 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    /// Sets how far a thread is known.
    #[inline]
    pub fn set(&mut self, thread: ThreadId, time: u64) {
        if self.0.len() <= thread.index() {
            self.0.resize(thread.index() + 1, 0);
        }
        self.0[thread.index()] = time;
    }

    /// True if what was done in an epoch is known. What was never done is always known.
    #[inline]
    pub fn includes(&self, epoch: Epoch) -> bool {
        epoch.time() <= self.get(epoch.thread())
    }

    /// Adds all that another clock knows.
    pub fn join(&mut self, other: &VectorClock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Becomes equal to another clock; keeps its own memory.
    pub fn assign(&mut self, other: &VectorClock) {
        self.0.clone_from(&other.0);
    }

    /// True if it knows nothing of any thread, and never had to.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closeness_of_epochs_is_that_of_one_thread() {
        let now = Epoch::new(ThreadId(3), 20);
        let within =
            |thread, time, after| now.is_same_thread_within(Epoch::new(ThreadId(thread), time), after);
        assert!(within(3, 20, 10) && within(3, 11, 10) && !within(3, 10, 10));
        assert!(!within(2, 20, 0) && !within(2, TIME_MASK, 0) && !within(4, 1, 0) && !within(4, 15, 10));
        let first = Epoch::new(ThreadId(0), 5);
        assert!(!first.is_same_thread_within(Epoch::default(), 0));
        assert!(first.is_same_thread_within(Epoch::new(ThreadId(0), 1), 0));
    }

    #[test]
    fn a_join_knows_what_either_side_knew() {
        let (first, second, third) = (ThreadId(0), ThreadId(1), ThreadId(2));
        let mut clock = VectorClock::default();
        clock.set(first, 5);
        let mut other = VectorClock::default();
        other.set(first, 3);
        other.set(third, 7);
        clock.join(&other);
        assert_eq!([first, second, third].map(|thread| clock.get(thread)), [5, 0, 7]);
        assert!(clock.includes(Epoch::new(third, 7)) && !clock.includes(Epoch::new(third, 8)));
        assert!(clock.includes(Epoch::default()) && !clock.includes(Epoch::new(ThreadId(9), 1)));
        assert_eq!(clock.get(ThreadId(9)), 0);
        other.assign(&clock);
        assert_eq!(other, clock);
        other.clear();
        assert_eq!(other, VectorClock::default());
    }
}
