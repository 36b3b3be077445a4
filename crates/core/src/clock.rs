//! When something was done: a thread and a time of that thread, in one word.

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
