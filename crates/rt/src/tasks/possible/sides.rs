//! A side of a branch as a whole: mostly its step has told all of it before, as in the turns of a loop, and then one call is all.
//!
//! The steps of a side are walked through with what would be held at each, without a copy of the history of locks, and each access is
//! asked about as it is when it is told alone. If one of them says something new, the side is told one by one, for then the program says where each
//! step stands; which of them are new, and under which locks they would be done, is known by then ([`Shown`]).
//!
//! What is held after a lock would be taken or released is remembered by the address of the lock: that counts as long as no lock
//! vanished with its memory, for then another one may lie there.
//!
//! **Who may touch what.** [`Supposed`], [`Shown`]: their thread.

use super::super::{TaskDriver, Worker};
use super::told::By;
use super::{Memory, What, held, place_of};
use crate::layout;
use crate::thread::Thread;
use crate::watch::{SideStep, StepOfSide};
use crate::{objects, own};
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::{AccessKind, LockMode};
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
        let worker = self.supposing(thread);
        worker.beside.shown.clear();
        if self.is_alone(worker) {
            let is_access = |step: &&SideStep| matches!(step.what(), StepOfSide::Access(..));
            worker.beside.accesses += side.iter().filter(is_access).count() as u64;
            return true;
        }
        let mut by = self.by(worker);
        let before = worker.data.history.locks();
        let mut locks = before;
        let mut accesses = 0;
        for (index, (step, &address)) in side.iter().zip(at).enumerate() {
            match step.what() {
                StepOfSide::Access(kind, size) => {
                    accesses += 1;
                    let access = (kind, address, size);
                    let (worker, _) = Self::parts_at_once(thread);
                    if by.is_some_and(|by| self.clearly_adds_nothing(&worker.beside.told, by, access)) {
                        continue;
                    }
                    let of_side = Some(locks).filter(|locks| *locks != before);
                    if self.is_new_of_side(thread, access, (by, of_side)) {
                        let Some(by) = by.filter(|_| A::ONLY_RACES) else { return false };
                        let (worker, _) = Self::parts_at_once(thread);
                        self.note_held(worker, access, by);
                        worker.beside.shown.is_new(index, locks);
                    }
                }
                // Other analyses than of races want to see the history of the locks.
                StepOfSide::Lock(..) if !A::ONLY_RACES => return false,
                StepOfSide::Lock(mode, acquire) => {
                    if !layout::is_program(address, 1) {
                        continue;
                    }
                    let (worker, _) = Self::parts_at_once(thread);
                    let Some(after) = self.suppose(worker, locks, (address, mode), acquire) else {
                        return false;
                    };
                    locks = after;
                    by = by.map(|by| By { under: locks.number(), ..by });
                }
            }
        }
        let (worker, _) = Self::parts_at_once(thread);
        worker.beside.accesses += accesses;
        worker.beside.shown.is_told(side.len())
    }

    /// True if an access of a side says something new; `locks` if the side has taken or released some.
    #[inline(never)]
    fn is_new_of_side(
        &self,
        thread: &mut Thread,
        access: (AccessKind, usize, usize),
        (by, locks): (Option<By>, Option<LocksetId>),
    ) -> bool {
        let (_, addr, size) = access;
        if size == 0 || !layout::is_program(addr, size) {
            return false;
        }
        let (worker, _) = Self::parts_at_once(thread);
        let under = Self::under(worker, by, locks);
        !self.adds_nothing(worker, under, access) && !own::is_of(thread, addr)
    }

    /// Takes what the next step of a side tells that was shown as a whole. True if it was one.
    #[inline]
    pub(crate) fn step_of_shown(
        &self,
        thread: &mut Thread,
        access: Option<(AccessKind, usize, usize)>,
        pc: usize,
    ) -> bool {
        let (worker, _) = Self::parts_at_once(thread);
        let Some(step) = worker.beside.shown.next() else { return false };
        if let (Some(locks), Some((kind, addr, size))) = (step, access) {
            let what = What { kind, addr, size, place: place_of(thread, size, pc) };
            if size <= held::LARGEST {
                self.hold_back(thread, what, locks);
            } else {
                let _ = self.at_gate(thread);
                self.tell_possible_under(thread, what, locks, Memory::Stays);
                self.after(thread);
            }
        }
        true
    }
}

/// What is new of the side that was shown last, while its steps are told one by one.
#[derive(Default)]
pub(super) struct Shown {
    /// Which steps are new, and under which locks they would be done.
    new: Vec<(usize, LocksetId)>,
    /// The step that is told next, and how many there are; nothing was shown if there are none.
    next: usize,
    steps: usize,
}

impl Shown {
    /// Nothing is shown.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.new.clear();
        (self.next, self.steps) = (0, 0);
    }

    fn is_new(&mut self, step: usize, locks: LocksetId) {
        self.new.push((step, locks));
    }

    /// All steps were looked at. True if none is new.
    #[inline]
    fn is_told(&mut self, steps: usize) -> bool {
        if !self.new.is_empty() {
            self.steps = steps;
        }
        self.new.is_empty()
    }

    /// The next step is told: the locks under which it is new, if it is. None: it is none of a side that was shown.
    #[inline]
    fn next(&mut self) -> Option<Option<LocksetId>> {
        if self.next == self.steps {
            return None;
        }
        let step = self.next;
        self.next += 1;
        let at = self.new.iter().find(|(new, _)| *new == step);
        Some(at.map(|(_, locks)| *locks))
    }
}
