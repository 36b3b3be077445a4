//! Locks, conditions, barriers and tokens: things that order threads and are known by their address. They are kept in the
//! record of the word at that address, so that they are found without a search and vanish with the memory. Small ones may
//! share a word.

use crate::layout::WORD_BYTES;
use keirin_core::event::{BarrierId, ConditionId, LockId};
use keirin_core::replay::{Barrier, Lock};
use std::sync::atomic::{AtomicU32, Ordering};

/// The things in one word, each with the byte of the word at which it lies. Mostly there is one.
///
/// `S` is what an analysis keeps for each, `H` who can hold a lock.
pub(crate) struct Objects<S, H>(Vec<(u8, Object<S, H>)>);

/// The things at one address.
pub(crate) struct ObjectsAt<'a, S, H> {
    list: &'a mut Vec<(u8, Object<S, H>)>,
    byte: u8,
}

enum Object<S, H> {
    Lock(LockId, Lock<S, H>, Vanishes),
    Condition(ConditionId, S),
    Barrier(BarrierId, Barrier<S>),
    Token(S),
    Atomic(S),
}

impl<S, H> Default for Objects<S, H> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Part of each lock: however it goes, that is counted.
struct Vanishes;

impl Drop for Vanishes {
    fn drop(&mut self) {
        VANISHED_LOCKS.fetch_add(1, Ordering::Relaxed);
    }
}

static LOCKS: AtomicU32 = AtomicU32::new(0);
static VANISHED_LOCKS: AtomicU32 = AtomicU32::new(0);
static CONDITIONS: AtomicU32 = AtomicU32::new(0);
static BARRIERS: AtomicU32 = AtomicU32::new(0);

/// How many locks there were so far.
pub(crate) fn locks() -> u32 {
    LOCKS.load(Ordering::Relaxed)
}

/// How many locks are no more. As long as that stays the same, what is known of a lock by its address is about the same lock.
#[inline]
pub(crate) fn vanished_locks() -> u32 {
    VANISHED_LOCKS.load(Ordering::Relaxed)
}

/// Finds a thing of one kind, or makes one with the next number.
macro_rules! find_or_make {
    ($at:expr, $kind:ident($($part:ident),+), $make:expr) => {{
        let ObjectsAt { list, byte } = $at;
        let is_it = |object: &(u8, Object<S, H>)| object.0 == *byte && matches!(object.1, Object::$kind(..));
        let index = match list.iter().position(is_it) {
            Some(index) => index,
            None => {
                list.push((*byte, $make));
                list.len() - 1
            }
        };
        match &mut list[index].1 {
            Object::$kind($($part),+) => ($($part),+),
            _ => unreachable!("it was found by its kind"),
        }
    }};
}

impl<S, H> Objects<S, H> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those at an address of the word.
    #[inline]
    pub(crate) fn at(&mut self, address: usize) -> ObjectsAt<'_, S, H> {
        ObjectsAt { list: &mut self.0, byte: (address % WORD_BYTES) as u8 }
    }

    /// Forgets those that lie at some bytes of the word.
    pub(crate) fn forget(&mut self, mask: u8) {
        self.0.retain(|(byte, _)| mask >> byte & 1 == 0);
    }
}

impl<S: Default, H: Copy + PartialEq> ObjectsAt<'_, S, H> {
    /// Forgets them.
    pub(crate) fn forget(&mut self) {
        self.list.retain(|(byte, _)| *byte != self.byte);
    }

    /// The lock at this address. True if it is new.
    pub(crate) fn lock(&mut self) -> (LockId, &mut Lock<S, H>, bool) {
        let known = self.known_lock().is_some();
        let make = || {
            let id = LockId(LOCKS.fetch_add(1, Ordering::Relaxed));
            Object::Lock(id, Lock::default(), Vanishes)
        };
        let (id, lock, _) = find_or_make!(self, Lock(id, lock, _vanishes), make());
        (*id, lock, !known)
    }

    /// The lock at this address, if it was ever taken.
    pub(crate) fn known_lock(&mut self) -> Option<(LockId, &mut Lock<S, H>)> {
        self.list.iter_mut().find_map(|object| match object {
            (byte, Object::Lock(id, lock, _)) if *byte == self.byte => Some((*id, lock)),
            _ => None,
        })
    }

    /// The condition at this address.
    pub(crate) fn condition(&mut self) -> (ConditionId, &mut S) {
        let make = || ConditionId(CONDITIONS.fetch_add(1, Ordering::Relaxed));
        let (id, sync) = find_or_make!(self, Condition(id, sync), Object::Condition(make(), S::default()));
        (*id, sync)
    }

    /// The barrier at this address.
    pub(crate) fn barrier(&mut self) -> (BarrierId, &mut Barrier<S>) {
        let make = || BarrierId(BARRIERS.fetch_add(1, Ordering::Relaxed));
        let (id, barrier) =
            find_or_make!(self, Barrier(id, barrier), Object::Barrier(make(), Barrier::default()));
        (*id, barrier)
    }

    /// What two sides agreed on by this address.
    pub(crate) fn token(&mut self) -> &mut S {
        find_or_make!(self, Token(sync), Object::Token(S::default()))
    }

    /// What the last releasing operation on an atomic variable at this address has published, if any has.
    pub(crate) fn known_atomic(&mut self) -> Option<&mut S> {
        self.list.iter_mut().find_map(|object| match object {
            (byte, Object::Atomic(sync)) if *byte == self.byte => Some(sync),
            _ => None,
        })
    }

    /// The same; if there was none it is made.
    pub(crate) fn atomic(&mut self) -> &mut S {
        find_or_make!(self, Atomic(sync), Object::Atomic(S::default()))
    }
}

impl<S: Default, H> Objects<S, H> {
    /// Shows all that an analysis keeps in them.
    pub(crate) fn for_each(&mut self, mut show: impl FnMut(&mut S)) {
        for (_, object) in &mut self.0 {
            match object {
                Object::Lock(_, lock, _) => show(&mut lock.sync),
                Object::Condition(_, sync) | Object::Token(sync) | Object::Atomic(sync) => show(sync),
                Object::Barrier(_, barrier) => barrier.for_each(&mut show),
            }
        }
    }
}
