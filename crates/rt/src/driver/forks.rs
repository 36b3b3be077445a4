//! Tasks that other threads may take (see `rust::forks`).

use super::Driver;
use crate::rust::forks::{Fork, Kept, Left};
use crate::thread::Thread;
use keirin_core::analysis::fasttrack::{Compact, FastTrack};
use keirin_core::clock::{Epoch, VectorClock};

impl Driver<FastTrack<Compact>> {
    /// The thread forks tasks: what it does from now on they do not know.
    #[inline]
    pub(crate) fn fork_tasks(&self, thread: &mut Thread, fork: &mut Fork) {
        let now = Epoch::new(thread.actor, thread.position);
        let kept = thread.forked.take();
        let (state, _) = Self::parts(thread);
        let changed = state.fork_task(now, kept.as_ref().map(Kept::clock));
        let kept = match changed {
            Some(clock) => Some(Kept::new(clock)),
            None => kept,
        };
        fork.known = kept.clone();
        fork.by = now;
        thread.forked = kept;
        self.next_epoch(thread);
    }

    /// The thread goes on with what another one has left to it.
    pub(crate) fn take_task(thread: &mut Thread, known: &VectorClock, by: Epoch) {
        let me = thread.actor;
        Self::parts(thread).0.take_task(me, known, by);
    }

    /// The thread leaves what it did to whoever takes it.
    pub(crate) fn leave_task(&self, thread: &mut Thread) -> Box<Left> {
        let by = Epoch::new(thread.actor, thread.position);
        let (state, _) = Self::parts(thread);
        let clock = state.fork_task(by, None).unwrap_or_default();
        self.next_epoch(thread);
        Box::new(Left { clock, by })
    }
}
