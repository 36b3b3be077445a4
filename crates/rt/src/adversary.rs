//! Adversarial scheduling: a thread is paused before an operation that looks as if it broke an atomic block, so that an
//! operation of another thread may come between and show it.
//!
//! **Paper.** Flanagan, Freund, Yi: *Velodrome*, PLDI 2008, where Atomizer decides when to pause, and Velodrome sees what
//! comes of it.

use crate::options::Policy;
use crate::places::PlaceNumber;
use crate::spin::Spin;
use keirin_core::event::{AccessKind, ThreadId};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// At one place no more than this many pauses: what has not shown itself by then will not, and the program is to end.
const MOST_PAUSES: u32 = 10;

/// Pauses threads.
pub(crate) struct Adversary {
    policy: Policy,
    pause: Duration,
    /// The thread that is never paused.
    spared: AtomicU32,
    /// How often a thread was paused at each place.
    paused: Spin<FxHashMap<PlaceNumber, u32>>,
}

impl Adversary {
    pub(crate) fn new(policy: Policy, pause: Duration) -> Self {
        Self {
            policy,
            pause,
            spared: AtomicU32::new(ThreadId::NONE.0),
            paused: Spin::new(FxHashMap::default()),
        }
    }

    /// True if operations of this kind may be delayed.
    pub(crate) fn minds(&self, kind: AccessKind) -> bool {
        self.policy != Policy::Writes || kind == AccessKind::Write
    }

    /// Delays the calling thread, which is about to break a block at a place.
    pub(crate) fn pause(&self, thread: ThreadId, place: PlaceNumber) {
        if self.policy == Policy::SpareOne {
            let nobody = ThreadId::NONE.0;
            let spared = self.spared.compare_exchange(nobody, thread.0, Ordering::Relaxed, Ordering::Relaxed);
            if spared.is_ok() || spared == Err(thread.0) {
                return;
            }
        }
        if self.is_worth_a_pause(place) {
            std::thread::sleep(self.pause);
        }
    }

    fn is_worth_a_pause(&self, place: PlaceNumber) -> bool {
        let mut paused = self.paused.lock();
        let count = paused.entry(place).or_insert(0);
        *count += 1;
        *count <= MOST_PAUSES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_and_the_bound() {
        let pause = Duration::from_millis(1);
        assert!(Adversary::new(Policy::All, pause).minds(AccessKind::Read));
        assert!(!Adversary::new(Policy::Writes, pause).minds(AccessKind::Read));
        assert!(Adversary::new(Policy::Writes, pause).minds(AccessKind::Write));
        let adversary = Adversary::new(Policy::SpareOne, pause);
        adversary.pause(ThreadId(1), 7);
        assert!(adversary.paused.lock().is_empty(), "the first one is spared");
        adversary.pause(ThreadId(2), 7);
        adversary.pause(ThreadId(1), 7);
        assert_eq!(adversary.paused.lock().get(&7), Some(&1));
        (0..MOST_PAUSES - 1).for_each(|_| assert!(adversary.is_worth_a_pause(7)));
        assert!(!adversary.is_worth_a_pause(7) && adversary.is_worth_a_pause(8));
    }
}
