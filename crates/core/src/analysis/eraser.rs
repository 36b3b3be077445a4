//! Eraser: is every shared location protected by a lock that all its accesses hold?
//!
//! **Paper.** Savage, Burrows, Nelson, Sobalvarro, Anderson: *Eraser: A Dynamic Data Race Detector for Multithreaded
//! Programs*, SOSP 1997.
//!
//! Each location has a state and a set of *candidate* locks: those that were held at every access since a second thread
//! came. The rules, for an access of thread `t`:
//!
//! | state | access | next state | candidates | warns |
//! |---|---|---|---|---|
//! | virgin | any | exclusive to `t` | | |
//! | exclusive to `t` | any of `t` | the same | | |
//! | exclusive to another | read | shared | held by `t`, in any mode | |
//! | exclusive to another | write | shared and modified | held by `t` exclusively | if none is left |
//! | shared | read | the same | less those that `t` does not hold | |
//! | shared | write | shared and modified | less those that `t` does not hold exclusively | if none is left |
//! | shared and modified | read, write | the same | as above | if none is left |
//!
//! So memory may be initialized without a lock, and what is only read afterwards needs none. A location is reported once,
//! when it is first written (or, once written, accessed) with no candidate left; it stays without one until it is freed.
//!
//! **Deviations.** None from the state machine. What the paper leaves open:
//! - Atomic operations are synchronization, not accesses: they neither warn nor change a location's state.
//! - A report shows the last access by *another* thread next to the one that took the last candidate away, even if
//!   the acting thread came by in between: that is the pair that a reader can judge.
//! - Memory that is allocated or freed is virgin again.
//!
//! **Misses and false alarms.** Both exist: findings are `Suspected`. As in the paper, only locks are understood: what is
//! ordered by fork, join, conditions, barriers, atomics or annotations looks unprotected as soon as a second thread writes
//! after the first. The locks of the first thread do not count until the second one came, so a race between just those
//! two accesses is missed. In return a warning depends little on the schedule: the two accesses need not come close to each
//! other in this run.
//!
//! **Cost.** O(1) for each access: one compare if the location stays with its thread, otherwise a look-up of an
//! intersection, which is skipped if the candidates are what the thread holds or are gone. 64 bytes a location.
//!
//! **Who touches what.** Cells and threads belong to the driver and are handed in exclusively. The table of locksets is
//! global to the analysis; it is entered when a thread takes or releases a lock, or has to intersect candidates, in a way
//! that it has not just done before. Nothing is called back from it. So with [`Shared`] many threads may call at once.

use super::global::{Alone, Global, Shared, Users};
use super::{Analysis, AtomicOperation, Part, Statistic};
use crate::clock::Epoch;
use crate::event::{AccessKind, LockMode, Op, RegionId, SiteId, StackId, ThreadId};
use crate::finding::{
    Doubt, Evidence, FindingKey, Findings, Locking, Moment, RawFinding, RawStep, Rule, Verdict,
};
use crate::lockset::{LocksetId, Locksets};

/// The locks that a thread holds, and what they are good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Locks {
    all: LocksetId,
    for_reads: LocksetId,
    for_writes: LocksetId,
}

impl Locks {
    /// The locks that protect an access.
    #[inline]
    fn protecting(&self, kind: AccessKind) -> LocksetId {
        match kind {
            AccessKind::Read => self.for_reads,
            AccessKind::Write => self.for_writes,
        }
    }

    fn after(self, op: Op, locksets: &mut Locksets) -> Self {
        let all = match op {
            Op::Acquire { lock, mode } => locksets.add(self.all, lock, mode),
            Op::Release { lock, mode } => locksets.remove(self.all, lock, mode),
            _ => return self,
        };
        Self { all, for_reads: locksets.for_reads(all), for_writes: locksets.for_writes(all) }
    }
}

/// What is kept for a thread: its locks, and what the table of locksets lately said, so that it is not entered again and
/// again for the same few locks.
#[derive(Clone, Debug)]
pub struct Held {
    locks: Locks,
    /// The locks before an operation, the operation, and the locks after it.
    changes: [(Locks, Op, Locks); Held::CHANGES],
    /// Two sets and what is in both.
    common: [(LocksetId, LocksetId, LocksetId); Held::COMMON],
}

impl Default for Held {
    fn default() -> Self {
        Self {
            locks: Locks::default(),
            changes: [(Locks::default(), Op::End, Locks::default()); Self::CHANGES],
            common: [(LocksetId::ABSENT, LocksetId::ABSENT, LocksetId::ABSENT); Self::COMMON],
        }
    }
}

impl Held {
    const CHANGES: usize = 8;
    const COMMON: usize = 8;

    /// The locks that are held.
    #[inline]
    pub fn locks(&self) -> Locks {
        self.locks
    }

    /// The operation takes a lock, or releases one. Others change nothing.
    pub fn change(&mut self, op: Op, locksets: &impl Global<Locksets>) {
        let slot = match op {
            Op::Acquire { lock, .. } => 2 * lock.index(),
            Op::Release { lock, .. } => 2 * lock.index() + 1,
            _ => return,
        };
        let known = &mut self.changes[slot % Self::CHANGES];
        if (known.0, known.1) != (self.locks, op) {
            *known = (self.locks, op, self.locks.after(op, &mut locksets.enter()));
        }
        self.locks = known.2;
    }

    /// What two sets have in common.
    #[inline]
    fn common(&self, a: LocksetId, b: LocksetId, locksets: &impl Global<Locksets>) -> LocksetId {
        let known = &self.common[Self::common_slot(a, b)];
        if (known.0, known.1) == (a, b) { known.2 } else { locksets.enter().intersection(a, b) }
    }

    /// The same; keeps it in mind.
    #[inline]
    fn learn_common(&mut self, a: LocksetId, b: LocksetId, locksets: &impl Global<Locksets>) -> LocksetId {
        let common = self.common(a, b, locksets);
        self.common[Self::common_slot(a, b)] = (a, b, common);
        common
    }

    #[inline]
    fn common_slot(a: LocksetId, b: LocksetId) -> usize {
        (a.number() ^ b.number().rotate_left(1)) as usize % Self::COMMON
    }
}

/// How far a location is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Sharing {
    #[default]
    Virgin,
    Exclusive,
    Shared,
    SharedModified,
}

/// What Eraser thinks of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// Some lock protects the location, or it needs none so far.
    Protected,
    /// With this access no lock is left that could protect the location.
    Lost,
    /// There was none left before.
    Unprotected,
}

impl Protection {
    /// True if nothing keeps the access from racing with others, as far as is known.
    #[inline]
    pub fn is_racy(self) -> bool {
        self != Protection::Protected
    }
}

/// What Eraser knows about a location.
#[derive(Clone, Copy, Debug, Default)]
pub struct Knowledge {
    /// The last owner; matters only in the exclusive state.
    owner: ThreadId,
    /// Matters only in the shared states.
    candidates: LocksetId,
    sharing: Sharing,
}

impl Knowledge {
    /// What is known after an access, and what is thought of the access. `common` gives the intersection of two sets.
    #[inline]
    fn judge(
        self,
        thread: ThreadId,
        kind: AccessKind,
        locks: Locks,
        common: impl FnOnce(LocksetId, LocksetId) -> LocksetId,
    ) -> (Self, Protection) {
        let candidates = match self.sharing {
            Sharing::Exclusive if self.owner == thread => return (self, Protection::Protected),
            Sharing::Virgin => {
                let owned = Self { owner: thread, sharing: Sharing::Exclusive, ..self };
                return (owned, Protection::Protected);
            }
            Sharing::Exclusive => locks.protecting(kind),
            Sharing::Shared | Sharing::SharedModified => {
                let protecting = locks.protecting(kind);
                // The table need not be asked for the most common cases.
                if self.candidates == protecting || self.candidates.is_empty() {
                    self.candidates
                } else {
                    common(self.candidates, protecting)
                }
            }
        };
        let sharing = match kind {
            AccessKind::Write => Sharing::SharedModified,
            AccessKind::Read if self.sharing == Sharing::SharedModified => Sharing::SharedModified,
            AccessKind::Read => Sharing::Shared,
        };
        let after = Self { candidates, sharing, ..self };
        let protection = if !after.is_unprotected() {
            Protection::Protected
        } else if self.is_unprotected() {
            Protection::Unprotected
        } else {
            Protection::Lost
        };
        (after, protection)
    }

    /// What would be thought of an access.
    #[inline]
    pub fn would_be(
        self,
        thread: ThreadId,
        kind: AccessKind,
        held: &Held,
        locksets: &impl Global<Locksets>,
    ) -> Protection {
        self.judge(thread, kind, held.locks, |a, b| held.common(a, b, locksets)).1
    }

    /// Remembers an access, and tells what is thought of it.
    #[inline]
    pub fn learn(
        &mut self,
        thread: ThreadId,
        kind: AccessKind,
        held: &mut Held,
        locksets: &impl Global<Locksets>,
    ) -> Protection {
        let locks = held.locks;
        let (after, protection) = self.judge(thread, kind, locks, |a, b| held.learn_common(a, b, locksets));
        *self = after;
        protection
    }

    #[inline]
    fn is_unprotected(self) -> bool {
        self.sharing == Sharing::SharedModified && self.candidates.is_empty()
    }
}

/// An access that is remembered for a report.
#[derive(Clone, Copy, Debug)]
struct Access {
    epoch: Epoch,
    site: SiteId,
    stack: StackId,
    held: LocksetId,
    kind: AccessKind,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            epoch: Epoch::default(),
            site: SiteId::NONE,
            stack: StackId::NONE,
            held: LocksetId::EMPTY,
            kind: AccessKind::Read,
        }
    }
}

impl Access {
    fn moment(&self) -> Moment {
        let (position, thread) = (self.epoch.time(), self.epoch.thread());
        Moment { position, thread, site: self.site, stack: self.stack }
    }
}

/// What is kept for a piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    last: Access,
    /// The last access by another thread than that of `last`.
    other: Access,
    knowledge: Knowledge,
}

const _: () = assert!(size_of::<Cell>() <= 64);

/// The analysis.
#[derive(Debug, Default)]
pub struct Eraser<U: Users = Alone> {
    locksets: U::Global<Locksets>,
}

impl Eraser<Alone> {
    /// An analysis that has seen nothing yet, for the offline driver.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Eraser<Shared> {
    /// An analysis that has seen nothing yet, for many threads at once.
    pub fn shared() -> Self {
        Self::default()
    }
}

impl<U: Users> Eraser<U> {
    #[cold]
    fn report(&self, at: &RawStep, earlier: &Access, held: Locks, part: Part, findings: &mut Findings) {
        let sites = vec![earlier.site, at.moment.site];
        let key = FindingKey::new(Rule::InconsistentLocking, Vec::new(), sites, at.op);
        findings.add(key, at.moment, || {
            let locksets = self.locksets.enter();
            let op = Op::Access { kind: earlier.kind, size: part.size, addr: part.addr };
            RawFinding {
                rule: Rule::InconsistentLocking,
                verdict: Verdict::Suspected(Doubt::Heuristic),
                steps: vec![RawStep { moment: earlier.moment(), op }, *at],
                evidence: Evidence::Locking(Locking {
                    addr: part.addr,
                    size: part.size,
                    held: vec![locksets.locks(earlier.held), locksets.locks(held.all)],
                }),
                lineage: None,
                count: 1,
            }
        });
    }
}

impl<U: Users> Analysis for Eraser<U> {
    type Thread = Held;
    type Cell = Cell;
    type Sync = ();

    #[inline]
    fn access(&self, at: &RawStep, thread: &mut Held, cell: &mut Cell, part: Part, findings: &mut Findings) {
        let Moment { position, thread: id, site, stack } = at.moment;
        let protection = cell.knowledge.learn(id, part.kind, thread, &self.locksets);
        if cell.last.epoch.thread() != id {
            cell.other = cell.last;
        }
        cell.last =
            Access { epoch: Epoch::new(id, position), site, stack, held: thread.locks.all, kind: part.kind };
        if protection == Protection::Lost {
            self.report(at, &cell.other, thread.locks, part, findings);
        }
    }

    #[inline]
    fn atomic(&self, _: &RawStep, _: &mut Held, _: &mut Cell, _: Part, _: AtomicOperation, _: &mut Findings) {
    }

    fn acquire(&self, at: &RawStep, thread: &mut Held, (): &mut (), _: LockMode, _: &mut Findings) {
        thread.change(at.op, &self.locksets);
    }

    fn release(&self, at: &RawStep, thread: &mut Held, (): &mut (), _: LockMode, _: &mut Findings) {
        thread.change(at.op, &self.locksets);
    }

    fn signal(&self, _: &RawStep, _: &mut Held, (): &mut (), _: &mut Findings) {}
    fn receive(&self, _: &RawStep, _: &mut Held, (): &mut (), _: &mut Findings) {}
    fn fork(&self, _: &RawStep, _: &mut Held, _: &mut Held, _: &mut Findings) {}
    fn join(&self, _: &RawStep, _: &mut Held, _: &mut Held, _: &mut Findings) {}
    fn begin(&self, _: &RawStep, _: &mut Held, _: RegionId, _: &mut Findings) {}
    fn end(&self, _: &RawStep, _: &mut Held, _: &mut Findings) {}

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic {
            analysis: "eraser",
            name: "nodes of locksets",
            value: self.locksets.enter().nodes() as u64,
        }]
    }
}
