//! A side of a branch as a whole: mostly its step has told all of it before, as in the turns of a loop, and then one call is all.
//!
//! The steps of a side are walked through with what would be held at each, without a copy of the history of locks, and each access is
//! asked about as it is when it is told alone. If one of them says something new, the side is told one by one.
//!
//! What is held after a lock would be taken or released is remembered by the address of the lock: that counts as long as no lock
//! vanished with its memory, for then another one may lie there.
//!
//! **Who may touch what.** [`Supposed`]: its thread.

use super::super::{TaskDriver, Worker};
use super::told::By;
use crate::layout;
use crate::thread::Thread;
use crate::watch::{SideStep, StepOfSide};
use crate::{objects, own};
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::LockMode;
use keirin_core::lockset::LocksetId;

/// So many changes of locks are remembered.
const ENTRIES: usize = 1 << 8;

/// A lock, by its address, that would be taken or released by who holds some.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Change {
    lock: usize,
    before: LocksetId,
    mode: LockMode,
    acquire: bool,
    /// How many locks had vanished.
    vanished: u32,
}

/// What would be held after locks are taken or released, as far as a thread has asked lately.
pub(super) struct Supposed(Box<[(Change, LocksetId)]>);

impl Default for Supposed {
    fn default() -> Self {
        // There is no lock at this address.
        let none =
            Change { lock: 0, before: LocksetId::EMPTY, mode: LockMode::Shared, acquire: false, vanished: 0 };
        Self(vec![(none, LocksetId::EMPTY); ENTRIES].into())
    }
}

impl Supposed {
    #[inline]
    fn place(change: Change) -> usize {
        let spread = (change.lock >> 3).wrapping_mul(0x9e37_79b1) >> 12;
        (spread ^ change.before.number() as usize ^ usize::from(change.acquire)) % ENTRIES
    }

    #[inline]
    fn get(&self, change: Change) -> Option<LocksetId> {
        let (known, after) = self.0[Self::place(change)];
        (known == change).then_some(after)
    }

    fn put(&mut self, change: Change, after: LocksetId) {
        self.0[Self::place(change)] = (change, after);
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// What would be held after a lock is taken or released; none if the runtime is being switched off.
    #[inline]
    pub(super) fn suppose(
        &self,
        worker: &mut Worker,
        before: LocksetId,
        (lock, mode): (usize, LockMode),
        acquire: bool,
    ) -> Option<LocksetId> {
        let change = Change { lock, before, mode, acquire, vanished: objects::vanished_locks() };
        if let Some(known) = worker.beside.supposed.get(change) {
            return Some(known);
        }
        let id = self.on_object(lock, |objects| {
            let (id, _, new) = objects.lock();
            if new {
                crate::telling::new_lock(id, lock);
            }
            id
        })?;
        let sets = worker.sets.get_or_insert_default();
        let after = sets.supposed(&self.sets, before, (id, mode), acquire);
        worker.beside.supposed.put(change, after);
        Some(after)
    }

    /// True if all that a side would do tells nothing new. False: it must be told one by one.
    pub(crate) fn side_adds_nothing(&self, thread: &mut Thread, side: &[SideStep], at: &[usize]) -> bool {
        if thread.ignoring > 0 {
            return true;
        }
        let mut worker = self.supposing(thread);
        let by = self.by(worker);
        let mut locks = worker.data.history.locks();
        let mut under = Self::under(worker, by, None);
        let is_alone = self.is_serial(worker) || worker.step.0 >= super::super::words::MOST_STEPS;
        let mut accesses = 0;
        for (step, &address) in side.iter().zip(at) {
            match step.what() {
                StepOfSide::Access(kind, size) => {
                    accesses += 1;
                    let is_nothing = is_alone || size == 0 || !layout::is_program(address, size);
                    if is_nothing || self.adds_nothing(worker, under, (kind, address, size)) {
                        continue;
                    }
                    if !own::is_of(thread, address) {
                        return false;
                    }
                    worker = Self::parts_at_once(thread).0;
                }
                // Other analyses than of races want to see the history of the locks.
                StepOfSide::Lock(..) if !A::ONLY_RACES => return false,
                StepOfSide::Lock(mode, acquire) => {
                    if is_alone || !layout::is_program(address, 1) {
                        continue;
                    }
                    let Some(after) = self.suppose(worker, locks, (address, mode), acquire) else {
                        return false;
                    };
                    locks = after;
                    let by = by.map(|by| By { under: locks.number(), ..by });
                    under = Self::under(worker, by, Some(locks));
                }
            }
        }
        worker.beside.accesses += accesses;
        true
    }
}
