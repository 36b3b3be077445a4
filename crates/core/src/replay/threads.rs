//! What the driver keeps for threads, locks and barriers: whether an event can happen, and the analysis' own state.

use super::Fault;
use crate::clock::MAX_THREADS;
use crate::event::{LockId, LockMode, StackId, ThreadId};
use rustc_hash::FxHashMap;

/// How far a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Life {
    #[default]
    Unknown,
    Forked,
    Running,
    Ended,
    Joined,
}

/// A thread: the driver's part and the analysis' part.
#[derive(Debug, Default)]
pub(super) struct ThreadSlot<T> {
    pub(super) state: T,
    pub(super) stack: StackId,
    /// Open atomic regions.
    pub(super) regions: u32,
    /// Open ignore annotations.
    pub(super) ignoring: u32,
    life: Life,
}

#[derive(Debug)]
pub(super) struct Threads<T>(Vec<ThreadSlot<T>>);

impl<T> Default for Threads<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> Threads<T> {
    /// The thread of an event, which must not have ended.
    #[inline]
    pub(super) fn acting(&mut self, thread: ThreadId) -> Result<&mut ThreadSlot<T>, Fault> {
        if self.0.get(thread.index()).is_none_or(|slot| slot.life != Life::Running) {
            self.wake(thread)?;
        }
        Ok(&mut self.0[thread.index()])
    }

    #[cold]
    fn wake(&mut self, thread: ThreadId) -> Result<(), Fault> {
        self.grow(thread)?;
        let slot = &mut self.0[thread.index()];
        if matches!(slot.life, Life::Ended | Life::Joined) {
            return Err(Fault::EventAfterEnd(thread));
        }
        slot.life = Life::Running;
        Ok(())
    }

    fn grow(&mut self, thread: ThreadId) -> Result<(), Fault> {
        if thread.0 >= MAX_THREADS {
            return Err(Fault::ThreadNumber(thread));
        }
        if self.0.len() <= thread.index() {
            self.0.resize_with(thread.index() + 1, ThreadSlot::default);
        }
        Ok(())
    }

    /// A thread that is known to be there.
    pub(super) fn slot(&mut self, thread: ThreadId) -> &mut ThreadSlot<T> {
        &mut self.0[thread.index()]
    }

    pub(super) fn fork(
        &mut self,
        thread: ThreadId,
        child: ThreadId,
    ) -> Result<(&mut ThreadSlot<T>, &mut ThreadSlot<T>), Fault> {
        self.grow(child)?;
        if self.0[child.index()].life != Life::Unknown {
            return Err(Fault::ForkOfKnown(child));
        }
        self.0[child.index()].life = Life::Forked;
        self.both(thread, child).ok_or(Fault::ForkOfKnown(child))
    }

    pub(super) fn join(
        &mut self,
        thread: ThreadId,
        child: ThreadId,
    ) -> Result<(&mut ThreadSlot<T>, &mut ThreadSlot<T>), Fault> {
        match self.0.get(child.index()).map(|slot| slot.life) {
            None | Some(Life::Unknown) => return Err(Fault::JoinOfUnknown(child)),
            Some(Life::Joined) => return Err(Fault::JoinedTwice(child)),
            Some(Life::Forked | Life::Running | Life::Ended) => {}
        }
        if thread == child {
            return Err(Fault::JoinOfSelf(child));
        }
        self.0[child.index()].life = Life::Joined;
        self.both(thread, child).ok_or(Fault::JoinOfSelf(child))
    }

    fn both(
        &mut self,
        first: ThreadId,
        second: ThreadId,
    ) -> Option<(&mut ThreadSlot<T>, &mut ThreadSlot<T>)> {
        let [first, second] = self.0.get_disjoint_mut([first.index(), second.index()]).ok()?;
        Some((first, second))
    }

    pub(super) fn end(&mut self, thread: ThreadId) {
        self.0[thread.index()].life = Life::Ended;
    }

    /// Threads that did something or were forked.
    pub(super) fn known(&self) -> u64 {
        self.0.iter().filter(|slot| slot.life != Life::Unknown).count() as u64
    }
}

/// A lock: who holds it (threads, or tasks), and the analysis' part.
#[derive(Debug)]
pub struct Lock<S, H> {
    /// What the analysis keeps for it.
    pub sync: S,
    used: bool,
    /// Who holds it exclusively, and how often.
    owner: Option<(H, u32)>,
    /// Who holds it in shared mode, and how often.
    sharers: Vec<(H, u32)>,
}

impl<S: Default, H> Default for Lock<S, H> {
    fn default() -> Self {
        Self { sync: S::default(), used: false, owner: None, sharers: Vec::new() }
    }
}

impl<S, H: Copy + PartialEq> Lock<S, H> {
    /// Another one whose hold excludes an acquire.
    pub fn conflicting_holder(&self, by: H, mode: LockMode) -> Option<H> {
        let owner = self.owner.map(|(owner, _)| owner).filter(|owner| *owner != by);
        let sharer = || self.sharers.iter().map(|(sharer, _)| *sharer).find(|sharer| *sharer != by);
        owner.or_else(|| if mode == LockMode::Exclusive { sharer() } else { None })
    }

    /// How it is held by someone; exclusively, if in both ways.
    pub fn mode_of(&self, by: H) -> Option<LockMode> {
        if self.owner.is_some_and(|(owner, _)| owner == by) {
            return Some(LockMode::Exclusive);
        }
        self.sharers.iter().any(|(sharer, _)| *sharer == by).then_some(LockMode::Shared)
    }

    /// Nobody holds the lock any more; gives who did.
    pub fn take_holders(&mut self) -> Vec<(H, LockMode)> {
        let owner = self.owner.take().map(|(owner, _)| (owner, LockMode::Exclusive));
        let sharers = self.sharers.drain(..).map(|(sharer, _)| (sharer, LockMode::Shared));
        owner.into_iter().chain(sharers).collect()
    }

    /// True if the lock was not held by it in this mode before.
    pub fn acquire(&mut self, by: H, mode: LockMode) -> bool {
        self.used = true;
        match mode {
            LockMode::Exclusive => {
                let depth = self.owner.map_or(0, |(_, depth)| depth);
                self.owner = Some((by, depth + 1));
                depth == 0
            }
            LockMode::Shared => match self.sharers.iter_mut().find(|(sharer, _)| *sharer == by) {
                Some((_, depth)) => {
                    *depth += 1;
                    false
                }
                None => {
                    self.sharers.push((by, 1));
                    true
                }
            },
        }
    }

    /// Some(true) if it holds the lock no longer in this mode, None if it never did.
    pub fn release(&mut self, by: H, mode: LockMode) -> Option<bool> {
        match mode {
            LockMode::Exclusive => {
                let (_, depth) = self.owner.as_mut().filter(|(owner, _)| *owner == by)?;
                *depth -= 1;
                let last = *depth == 0;
                if last {
                    self.owner = None;
                }
                Some(last)
            }
            LockMode::Shared => {
                let index = self.sharers.iter().position(|(sharer, _)| *sharer == by)?;
                self.sharers[index].1 -= 1;
                let last = self.sharers[index].1 == 0;
                if last {
                    self.sharers.swap_remove(index);
                }
                Some(last)
            }
        }
    }
}

/// All locks, by id. Ids are small numbers in most traces, so most locks are found without hashing.
#[derive(Debug)]
pub(super) struct Locks<S, H> {
    near: Vec<Lock<S, H>>,
    far: FxHashMap<LockId, Lock<S, H>>,
}

impl<S, H> Default for Locks<S, H> {
    fn default() -> Self {
        Self { near: Vec::new(), far: FxHashMap::default() }
    }
}

impl<S: Default, H> Locks<S, H> {
    /// Ids below this are found by index.
    const NEAR: usize = 1 << 16;

    #[inline]
    pub(super) fn get(&mut self, id: LockId) -> &mut Lock<S, H> {
        if id.index() < self.near.len() { &mut self.near[id.index()] } else { self.get_new(id) }
    }

    fn get_new(&mut self, id: LockId) -> &mut Lock<S, H> {
        if id.index() >= Self::NEAR {
            return self.far.entry(id).or_default();
        }
        self.near.resize_with(id.index() + 1, Lock::default);
        &mut self.near[id.index()]
    }

    /// How many were used.
    pub(super) fn used(&self) -> u64 {
        self.near.iter().chain(self.far.values()).filter(|lock| lock.used).count() as u64
    }
}

/// A barrier: all arrivals of a generation come before all departures of the same generation. A thread may arrive for
/// the next generation while others have not yet left this one.
#[derive(Debug, Default)]
pub struct Barrier<S> {
    /// The generations that somebody still has to leave, oldest first, and the one that is gathering.
    generations: Vec<Generation<S>>,
    first: u64,
    /// Who arrived in which generation and has not left.
    waiting: FxHashMap<ThreadId, u64>,
}

#[derive(Debug, Default)]
struct Generation<S> {
    sync: S,
    waiting: u32,
    /// Somebody has left: it is complete.
    opened: bool,
}

impl<S: Default> Barrier<S> {
    /// The object to signal; None if the thread is waiting here already.
    pub fn arrive(&mut self, thread: ThreadId) -> Option<&mut S> {
        if self.generations.last().is_none_or(|generation| generation.opened) {
            self.generations.push(Generation::default());
        }
        let number = self.first + self.generations.len() as u64 - 1;
        if self.waiting.contains_key(&thread) {
            return None;
        }
        self.waiting.insert(thread, number);
        let generation = self.generations.last_mut()?;
        generation.waiting += 1;
        Some(&mut generation.sync)
    }

    /// The object to receive from; None if the thread is not waiting here.
    pub fn leave(&mut self, thread: ThreadId) -> Option<&mut S> {
        let number = self.waiting.remove(&thread)?;
        let generation = self.generations.get_mut((number - self.first) as usize)?;
        generation.opened = true;
        generation.waiting -= 1;
        Some(&mut generation.sync)
    }

    /// Shows what is kept for each generation.
    pub fn for_each(&mut self, visit: impl FnMut(&mut S)) {
        self.generations.iter_mut().map(|generation| &mut generation.sync).for_each(visit);
    }

    /// Forgets the generations that all have left.
    pub fn drop_finished(&mut self) {
        while self.generations.first().is_some_and(|generation| generation.opened && generation.waiting == 0)
        {
            self.generations.remove(0);
            self.first += 1;
        }
    }
}
