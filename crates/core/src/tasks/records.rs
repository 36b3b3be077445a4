//! What is remembered of tasks and scopes, and who may touch it.
//!
//! | of a task or scope | belongs to |
//! |---|---|
//! | [`Task::own`], [`Task::data`], [`Scope::handle`], the lists of children | who runs the task, or has just spawned it; when it has ended, who holds the lock for what is rare or closes the scope around it |
//! | [`Task::bonds`], [`Task::life`], the numbers of a scope | everybody: they are atomic |
//! | [`Task::dependents`], [`Task::waits_for`], [`Scope::known`], the lists of scopes left open | who holds that lock |
//! | who it is, who spawned it, where | nobody: they do not change while the record is in use |
//!
//! A thread that goes on with a task, or waits for tasks, knows what was done there before: the library through which it knows of them
//! has seen to that. Besides, [`Scope::count`] is changed last by who ends a task, and looked at first by who closes the scope.

use super::{Actor, Known, NO_SCOPE, NO_SLOT, ScopeIndex, Slot};
use crate::event::{TaskId, ThreadId};
use crate::sptree::Structure;
use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// How something is kept that several know of and one may touch at a time.
pub trait Keeping: Debug + Default + 'static {
    /// There is just one thread.
    const ALONE: bool;

    /// Keeps a value.
    type Of<T: Debug + Default>: Kept<T>;
}

/// Something that one may touch at a time.
pub trait Kept<T>: Debug + Default {
    /// Does something with it, which nobody else does then.
    fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R;

    /// The same for who has it alone.
    fn get_mut(&mut self) -> &mut T;
}

/// There is just one thread.
#[derive(Debug, Default)]
pub struct Single;

impl Keeping for Single {
    const ALONE: bool = true;

    type Of<T: Debug + Default> = RefCell<T>;
}

impl<T: Debug + Default> Kept<T> for RefCell<T> {
    #[inline]
    fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut self.borrow_mut())
    }

    fn get_mut(&mut self) -> &mut T {
        self.get_mut()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Life {
    Spawned,
    Running,
    /// Left by its thread without being finished.
    Suspended,
    Ended,
}

/// What a task has to do with others: each a bit.
pub(super) mod bond {
    /// Somebody has waited for its end.
    pub(in super::super) const JOINED: u8 = 1;
    /// It does nothing until tasks below it have ended.
    pub(in super::super) const WAITING: u8 = 2;
    /// Others may start only when it has ended.
    pub(in super::super) const HAS_DEPENDENTS: u8 = 4;
    /// It may start only when others have ended.
    pub(in super::super) const AWAITS: u8 = 8;
    /// It has ended as far as its dependents are concerned.
    pub(in super::super) const OVER: u8 = 16;
}

/// What only the task itself changes.
#[derive(Debug)]
pub(super) struct Own<P> {
    pub(super) place: P,
    pub(super) known: Known,
    /// The innermost of its open scopes.
    pub(super) innermost: ScopeIndex,
}

impl<P: Default> Default for Own<P> {
    fn default() -> Self {
        Self { place: P::default(), known: Known::default(), innermost: NO_SCOPE }
    }
}

/// A task: its place in the tree, and what is kept for the driver.
#[derive(Debug)]
pub(super) struct Task<S: Structure, T: Debug + Default, K: Keeping> {
    actor: AtomicU64,
    /// Who spawned it.
    parent: AtomicU32,
    /// The scope in which it was spawned.
    home: AtomicU32,
    /// Who was spawned before it in that scope.
    sibling: AtomicU32,
    life: AtomicU8,
    pub(super) bonds: AtomicU8,
    pub(super) own: K::Of<Own<S::Place>>,
    pub(super) data: K::Of<T>,
    /// Tasks that may start only when this one has ended.
    pub(super) dependents: K::Of<Vec<Slot>>,
    /// How many tasks must end before this one may start.
    pub(super) waits_for: AtomicU32,
}

impl<S: Structure, T: Debug + Default, K: Keeping> Default for Task<S, T, K> {
    fn default() -> Self {
        Self {
            actor: AtomicU64::new(0),
            parent: AtomicU32::new(NO_SLOT.0),
            home: AtomicU32::new(NO_SCOPE.0),
            sibling: AtomicU32::new(NO_SLOT.0),
            life: AtomicU8::new(Life::Ended as u8),
            bonds: AtomicU8::new(0),
            own: Default::default(),
            data: Default::default(),
            dependents: Default::default(),
            waits_for: AtomicU32::new(0),
        }
    }
}

impl<S: Structure, T: Debug + Default, K: Keeping> Task<S, T, K> {
    /// Makes it another task, which only the caller knows of.
    #[inline]
    pub(super) fn renew(
        &self,
        actor: Actor,
        (parent, home): (Slot, ScopeIndex),
        place: S::Place,
        known: Known,
    ) {
        let actor = match actor {
            Actor::Task(id) => u64::from(id.0),
            Actor::Thread(id) => u64::from(id.0) | 1 << 32,
        };
        self.actor.store(actor, Ordering::Relaxed);
        self.parent.store(parent.0, Ordering::Relaxed);
        self.home.store(home.0, Ordering::Relaxed);
        self.life.store(Life::Spawned as u8, Ordering::Relaxed);
        self.bonds.store(0, Ordering::Relaxed);
        self.own.with(|own| *own = Own { place, known, innermost: NO_SCOPE });
    }

    #[inline]
    pub(super) fn actor(&self) -> Actor {
        let number = self.actor.load(Ordering::Relaxed);
        if number >> 32 == 0 {
            Actor::Task(TaskId(number as u32))
        } else {
            Actor::Thread(ThreadId(number as u32))
        }
    }

    #[inline]
    pub(super) fn parent(&self) -> Slot {
        Slot(self.parent.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn home(&self) -> ScopeIndex {
        ScopeIndex(self.home.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn life(&self) -> Life {
        match self.life.load(Ordering::Acquire) {
            0 => Life::Spawned,
            1 => Life::Running,
            2 => Life::Suspended,
            _ => Life::Ended,
        }
    }

    #[inline]
    pub(super) fn set_life(&self, life: Life) {
        self.life.store(life as u8, Ordering::Release);
    }

    #[inline]
    pub(super) fn has(&self, bonds: u8) -> bool {
        self.bonds.load(Ordering::Relaxed) & bonds != 0
    }
}

/// What a scope is, and what has happened in it: each a bit.
pub(super) mod mark {
    /// Opened by a spawn, for a later wait.
    pub(in super::super) const IMPLICIT: u8 = 1;
    /// Some child ended without waiting for its own children.
    pub(in super::super) const ESCAPED: u8 = 2;
    /// Somebody may know a step within.
    pub(in super::super) const REFERRED_TO: u8 = 4;
    /// Some finished child knew something.
    pub(in super::super) const HAS_KNOWN: u8 = 8;
}

/// In the number of tasks of a scope: its task has ended without closing it, so that what is within belongs to the scope around it.
pub(super) const LEFT_OPEN: u32 = 1 << 31;

/// A scope that is open, or was left open.
#[derive(Debug)]
pub(super) struct Scope<S: Structure, K: Keeping> {
    pub(super) handle: K::Of<S::Scope>,
    /// How many tasks spawned here have not ended, and scopes left open by such tasks within which others have not; [`LEFT_OPEN`].
    count: AtomicU32,
    /// Children that nobody has waited for.
    pub(super) unjoined: AtomicU32,
    /// How many of those are threads, for which a wait does not wait.
    pub(super) threads: AtomicU32,
    marks: AtomicU8,
    /// The scope around it.
    outer: AtomicU32,
    /// Of a scope that was left open the one in which its task was spawned: there it counts as one that goes on.
    holder: AtomicU32,
    /// The next scope of the same task, or of those that were left open within the same one.
    below: AtomicU32,
    /// The last child; those up to another one were waited for although the scope goes on.
    last_child: AtomicU32,
    waited: AtomicU32,
    /// The last one of the scopes that tasks left open when they ended.
    inherited: AtomicU32,
    /// What the finished children knew.
    pub(super) known: K::Of<Known>,
}

impl<S: Structure, K: Keeping> Default for Scope<S, K> {
    fn default() -> Self {
        Self {
            handle: Default::default(),
            count: AtomicU32::new(0),
            unjoined: AtomicU32::new(0),
            threads: AtomicU32::new(0),
            marks: AtomicU8::new(0),
            outer: AtomicU32::new(NO_SCOPE.0),
            holder: AtomicU32::new(NO_SCOPE.0),
            below: AtomicU32::new(NO_SCOPE.0),
            last_child: AtomicU32::new(NO_SLOT.0),
            waited: AtomicU32::new(NO_SLOT.0),
            inherited: AtomicU32::new(NO_SCOPE.0),
            known: Default::default(),
        }
    }
}

impl<S: Structure, K: Keeping> Scope<S, K> {
    /// Makes it another scope, which only the caller knows of. What was known within the former one was taken out of it.
    #[inline]
    pub(super) fn renew(&self, handle: S::Scope, implicit: bool, (outer, below): (ScopeIndex, ScopeIndex)) {
        self.handle.with(|place| *place = handle);
        for number in [&self.count, &self.unjoined, &self.threads] {
            number.store(0, Ordering::Relaxed);
        }
        self.marks.store(if implicit { mark::IMPLICIT } else { 0 }, Ordering::Relaxed);
        self.set_outer(outer);
        self.set_holder(NO_SCOPE);
        self.below.store(below.0, Ordering::Relaxed);
        self.last_child.store(NO_SLOT.0, Ordering::Relaxed);
        self.waited.store(NO_SLOT.0, Ordering::Relaxed);
        self.inherited.store(NO_SCOPE.0, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn has(&self, marks: u8) -> bool {
        self.marks.load(Ordering::Relaxed) & marks != 0
    }

    #[inline]
    pub(super) fn mark(&self, marks: u8) {
        if !self.has(marks) {
            self.marks.fetch_or(marks, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn outer(&self) -> ScopeIndex {
        ScopeIndex(self.outer.load(Ordering::Relaxed))
    }

    pub(super) fn set_outer(&self, outer: ScopeIndex) {
        self.outer.store(outer.0, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn below(&self) -> ScopeIndex {
        ScopeIndex(self.below.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn holder(&self) -> ScopeIndex {
        ScopeIndex(self.holder.load(Ordering::Relaxed))
    }

    pub(super) fn set_holder(&self, holder: ScopeIndex) {
        self.holder.store(holder.0, Ordering::Relaxed);
    }

    /// A task within has left this scope open.
    pub(super) fn inherit(&self, index: ScopeIndex, scope: &Self) {
        scope.below.store(self.inherited.load(Ordering::Relaxed), Ordering::Relaxed);
        self.inherited.store(index.0, Ordering::Relaxed);
    }

    /// The last one of the scopes that were left open within.
    pub(super) fn last_inherited(&self) -> ScopeIndex {
        ScopeIndex(self.inherited.load(Ordering::Relaxed))
    }

    /// True if nobody within goes on any more.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.count.load(Ordering::Acquire) & !LEFT_OPEN == 0
    }

    #[inline]
    pub(super) fn is_left_open(&self) -> bool {
        self.count.load(Ordering::Acquire) & LEFT_OPEN != 0
    }

    /// One more within goes on.
    #[inline]
    pub(super) fn more(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// One within has ended. True if it was the last one of a scope that was left open. From then on the scope may be another one.
    #[inline]
    pub(super) fn less(&self) -> bool {
        self.count.fetch_sub(1, Ordering::AcqRel) == LEFT_OPEN | 1
    }

    /// Its task has ended. True if nobody within goes on.
    pub(super) fn leave_open(&self) -> bool {
        self.count.fetch_or(LEFT_OPEN, Ordering::AcqRel) == 0
    }

    /// Adds a child.
    #[inline]
    pub(super) fn add_child<T: Debug + Default>(&self, slot: Slot, child: &Task<S, T, K>) {
        child.sibling.store(self.last_child.load(Ordering::Relaxed), Ordering::Relaxed);
        self.last_child.store(slot.0, Ordering::Relaxed);
        self.more();
        self.unjoined.fetch_add(1, Ordering::Relaxed);
        if matches!(child.actor(), Actor::Thread(_)) {
            self.threads.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The last child.
    #[inline]
    pub(super) fn last_child(&self) -> Slot {
        Slot(self.last_child.load(Ordering::Relaxed))
    }

    /// Where the children begin, from the last one on, that were waited for.
    #[inline]
    pub(super) fn first_waited(&self) -> Slot {
        Slot(self.waited.load(Ordering::Relaxed))
    }

    /// All children were waited for.
    pub(super) fn set_waited(&self) {
        self.waited.store(self.last_child().0, Ordering::Relaxed);
    }
}

impl<S: Structure, T: Debug + Default, K: Keeping> Task<S, T, K> {
    /// Who was spawned before it in the same scope.
    #[inline]
    pub(super) fn sibling(&self) -> Slot {
        Slot(self.sibling.load(Ordering::Relaxed))
    }
}
