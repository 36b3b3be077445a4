//! Locks, conditions, barriers and tokens: things that order threads and are known by their address. They are kept in the
//! record of the word at that address, so that they are found without a search and vanish with the memory.

use crate::shadow::Shadowed;
use keirin_core::event::{BarrierId, ConditionId, LockId, ThreadId};
use keirin_core::replay::{Barrier, Lock};
use std::sync::atomic::{AtomicU32, Ordering};

/// The things at one address. Mostly there is one.
pub(crate) struct Objects<A: Shadowed>(Vec<Object<A>>);

enum Object<A: Shadowed> {
    Lock(LockId, Lock<A::Sync, ThreadId>),
    Condition(ConditionId, A::Sync),
    Barrier(BarrierId, Barrier<A::Sync>),
    Token(A::Sync),
}

impl<A: Shadowed> Default for Objects<A> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

static LOCKS: AtomicU32 = AtomicU32::new(0);
static CONDITIONS: AtomicU32 = AtomicU32::new(0);
static BARRIERS: AtomicU32 = AtomicU32::new(0);

/// How many locks there were so far.
pub(crate) fn locks() -> u32 {
    LOCKS.load(Ordering::Relaxed)
}

/// Finds a thing of one kind, or makes one with the next number.
macro_rules! find_or_make {
    ($list:expr, $kind:ident($($part:ident),+), $make:expr) => {{
        let list = &mut $list;
        let index = match list.iter().position(|object| matches!(object, Object::$kind(..))) {
            Some(index) => index,
            None => {
                list.push($make);
                list.len() - 1
            }
        };
        match &mut list[index] {
            Object::$kind($($part),+) => ($($part),+),
            _ => unreachable!("it was found by its kind"),
        }
    }};
}

impl<A: Shadowed> Objects<A> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lock at this address. True if it is new.
    pub(crate) fn lock(&mut self) -> (LockId, &mut Lock<A::Sync, ThreadId>, bool) {
        let known = self.0.iter().any(|object| matches!(object, Object::Lock(..)));
        let make = || Object::Lock(LockId(LOCKS.fetch_add(1, Ordering::Relaxed)), Lock::default());
        let (id, lock) = find_or_make!(self.0, Lock(id, lock), make());
        (*id, lock, !known)
    }

    /// The lock at this address, if it was ever taken.
    pub(crate) fn known_lock(&mut self) -> Option<(LockId, &mut Lock<A::Sync, ThreadId>)> {
        self.0.iter_mut().find_map(|object| match object {
            Object::Lock(id, lock) => Some((*id, lock)),
            _ => None,
        })
    }

    /// The condition at this address.
    pub(crate) fn condition(&mut self) -> (ConditionId, &mut A::Sync) {
        let make = || ConditionId(CONDITIONS.fetch_add(1, Ordering::Relaxed));
        let (id, sync) =
            find_or_make!(self.0, Condition(id, sync), Object::Condition(make(), A::Sync::default()));
        (*id, sync)
    }

    /// The barrier at this address.
    pub(crate) fn barrier(&mut self) -> (BarrierId, &mut Barrier<A::Sync>) {
        let make = || BarrierId(BARRIERS.fetch_add(1, Ordering::Relaxed));
        let (id, barrier) =
            find_or_make!(self.0, Barrier(id, barrier), Object::Barrier(make(), Barrier::default()));
        (*id, barrier)
    }

    /// What two sides agreed on by this address.
    pub(crate) fn token(&mut self) -> &mut A::Sync {
        find_or_make!(self.0, Token(sync), Object::Token(A::Sync::default()))
    }
}
