//! What tasks do under locks, and the violations that are planted.

use super::NONE;
use super::names::Function;
use crate::event::{AccessKind, LockMode, RegionId, SiteId};
use crate::generate::random::Random;
use crate::generate::worker::{kind, pick};
use crate::generate::{Discipline, LABELS, Plan};

/// A step uses no more locks than this.
const MOST_USED: usize = 8;
/// A section uses no more locks than this.
const MOST_LOCKS: usize = 4;

/// One operation of something that a task does without a look at its script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) site: SiteId,
    pub(super) act: Act,
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Begin {
        region: RegionId,
    },
    End,
    /// If the lock is not yet reserved, it may have to be waited for; nothing else is held then.
    Acquire {
        lock: u32,
        mode: LockMode,
        reserved: bool,
    },
    /// The last release of a lock gives it back.
    Release {
        lock: u32,
        mode: LockMode,
        last: bool,
    },
    Access {
        kind: AccessKind,
        variable: u32,
    },
    Spawn,
}

/// A task's part in a planted violation. Without locks, `lock` is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plant {
    None,
    /// An access without a lock.
    Racy {
        variable: u32,
        kind: AccessKind,
        label: u32,
    },
    /// A region that reads in one section and writes in the next.
    Torn {
        lock: u32,
        variable: u32,
        label: u32,
    },
    /// A write that may come between.
    Intruder {
        lock: u32,
        variable: u32,
        label: u32,
    },
}

/// The locks that a step has used.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Used {
    locks: [u32; MOST_USED],
    count: u8,
}

impl Used {
    fn room(&self) -> usize {
        MOST_USED - usize::from(self.count)
    }

    fn has(&self, lock: u32) -> bool {
        self.locks[..usize::from(self.count)].contains(&lock)
    }

    fn add(&mut self, lock: u32) {
        if let Some(place) = self.locks.get_mut(usize::from(self.count)) {
            *place = lock;
            self.count += 1;
        }
    }
}

/// All locks of the trace.
#[derive(Debug)]
pub(super) struct Locks {
    pub(super) discipline: Discipline,
    /// For each lock, how many have reserved it to share it, or -1 if one has for itself.
    reserved: Vec<i32>,
    /// The variables below this one are guarded, each by the lock with the same remainder.
    guarded: u32,
    /// Empty; its room is used again and again.
    scratch: Vec<(u32, LockMode)>,
}

impl Locks {
    pub(super) fn new(plan: &Plan, discipline: Discipline, guarded: u32) -> Self {
        let count = if discipline == Discipline::None { 0 } else { plan.locks.min(guarded) };
        Locks { discipline, reserved: vec![0; count as usize], guarded, scratch: Vec::new() }
    }

    fn count(&self) -> u32 {
        self.reserved.len() as u32
    }

    fn is_free(&self, lock: u32, mode: LockMode) -> bool {
        match mode {
            LockMode::Exclusive => self.reserved[lock as usize] == 0,
            LockMode::Shared => self.reserved[lock as usize] >= 0,
        }
    }

    /// Takes a lock for a section to come. False if it is not free.
    pub(super) fn reserve(&mut self, lock: u32, mode: LockMode) -> bool {
        let free = self.is_free(lock, mode);
        if free {
            self.reserved[lock as usize] += if mode == LockMode::Shared { 1 } else { -1 };
        }
        free
    }

    /// The opposite of [`Self::reserve`].
    pub(super) fn give_back(&mut self, lock: u32, mode: LockMode) {
        self.reserved[lock as usize] -= if mode == LockMode::Shared { 1 } else { -1 };
    }

    /// Makes a section with locks that the step has not used and nobody has, all reserved. False if there are none.
    pub(super) fn section(
        &mut self,
        random: &mut Random,
        parts: &mut Vec<Part>,
        used: &mut Used,
        spawns: bool,
    ) -> bool {
        if self.reserved.is_empty() {
            return false;
        }
        let wanted = match self.discipline {
            Discipline::HandOverHand => 2 + random.below(3) as usize,
            Discipline::AnyOrder => 1 + random.below(3) as usize,
            _ => 1 + random.below(4).saturating_sub(1) as usize,
        };
        let mut chosen = [(0, LockMode::Exclusive); MOST_LOCKS];
        let mut count = 0;
        for _ in 0..wanted.min(used.room()) {
            let lock = random.below(self.count());
            let shared = self.discipline == Discipline::ReaderWriter && random.one_in(2);
            let mode = if shared { LockMode::Shared } else { LockMode::Exclusive };
            if !used.has(lock) && self.reserve(lock, mode) {
                used.add(lock);
                chosen[count] = (lock, mode);
                count += 1;
            }
        }
        let chosen = &mut chosen[..count];
        if chosen.is_empty() {
            return false;
        }
        if self.discipline != Discipline::AnyOrder {
            chosen.sort_unstable_by_key(|(lock, _)| *lock);
        }
        let label = random.below(LABELS);
        let block = !spawns && random.one_in(2);
        let function = if block { Function::region(label) } else { Function::section(label) };
        let held = std::mem::take(&mut self.scratch);
        let mut section = Section { locks: self, random, parts, function, held };
        if block {
            section.push(Act::Begin { region: RegionId(label) });
        }
        section.fill(chosen, spawns);
        if block {
            section.push(Act::End);
        }
        self.scratch = section.held;
        true
    }

    /// Makes a task's part in a violation. False if its lock is not free.
    pub(super) fn planted(&mut self, plant: Plant, parts: &mut Vec<Part>, used: &mut Used) -> bool {
        let (lock, variable, function) = match plant {
            Plant::None => return true,
            Plant::Racy { variable, kind, label } => {
                let site = Function::racy(label).step(0);
                parts.push(Part { site, act: Act::Access { kind, variable } });
                return true;
            }
            Plant::Torn { lock, variable, label } => (lock, variable, Function::torn(label)),
            Plant::Intruder { lock, variable, label } => (lock, variable, Function::intruder(label)),
        };
        if lock != NONE {
            if !self.reserve(lock, LockMode::Exclusive) {
                return false;
            }
            used.add(lock);
        }
        let mut push = |act| {
            let site = function.step(1 + parts.len() as u32);
            parts.push(Part { site, act });
        };
        let mut access = |kind, reserved| {
            let mode = LockMode::Exclusive;
            if lock == NONE {
                return push(Act::Access { kind, variable });
            }
            push(Act::Acquire { lock, mode, reserved });
            push(Act::Access { kind, variable });
            push(Act::Release { lock, mode, last: true });
        };
        if let Plant::Torn { label, .. } = plant {
            // The second section has to take its lock anew, so that the intruder can come in this very run.
            access(AccessKind::Read, true);
            access(AccessKind::Write, false);
            let begin = Act::Begin { region: RegionId(LABELS + label) };
            parts.insert(0, Part { site: function.step(0), act: begin });
            parts.push(Part { site: function.step(parts.len() as u32), act: Act::End });
        } else {
            access(AccessKind::Write, true);
        }
        true
    }

    /// A violation to be planted: the part of the new task, and that of the task that spawns it. One half are
    /// races, the other torn regions.
    pub(super) fn violation(&self, random: &mut Random, planted: u32, task: u32) -> (Plant, Plant) {
        let label = random.below(LABELS);
        if random.one_in(2) {
            let variable = planted + task % 2;
            let other = kind(random);
            return (
                Plant::Racy { variable, kind: AccessKind::Write, label },
                Plant::Racy { variable, kind: other, label },
            );
        }
        let (lock, variable) = match self.count() {
            // Not those of the races, so that each is found for its own sake.
            0 => (NONE, planted + 2 + task % 2),
            count => {
                let lock = random.below(count);
                (lock, pick(random, lock, count, self.guarded))
            }
        };
        (Plant::Torn { lock, variable, label }, Plant::Intruder { lock, variable, label })
    }
}

/// A section under construction.
struct Section<'a> {
    locks: &'a Locks,
    random: &'a mut Random,
    parts: &'a mut Vec<Part>,
    function: Function,
    held: Vec<(u32, LockMode)>,
}

impl Section<'_> {
    fn push(&mut self, act: Act) {
        let site = self.function.step(self.parts.len() as u32);
        self.parts.push(Part { site, act });
    }

    /// Takes the locks, works with what they guard, and gives them back.
    fn fill(&mut self, chosen: &[(u32, LockMode)], spawns: bool) {
        let discipline = self.locks.discipline;
        for (index, lock) in chosen.iter().enumerate() {
            self.acquire(*lock);
            if discipline == Discipline::HandOverHand && index > 0 {
                self.release(0);
            }
        }
        self.access();
        if spawns {
            self.push(Act::Spawn);
            self.access();
        }
        if discipline == Discipline::Recursive {
            let (lock, mode) = self.held[self.random.below(self.held.len() as u32) as usize];
            self.push(Act::Acquire { lock, mode, reserved: true });
            self.access();
            self.push(Act::Release { lock, mode, last: false });
        }
        while !self.held.is_empty() {
            let count = self.held.len();
            let index = match discipline {
                Discipline::AnyOrder => self.random.below(count as u32) as usize,
                _ => count - 1,
            };
            self.release(index);
        }
    }

    fn acquire(&mut self, (lock, mode): (u32, LockMode)) {
        self.push(Act::Acquire { lock, mode, reserved: true });
        self.held.push((lock, mode));
        if self.random.one_in(2) {
            self.access();
        }
    }

    fn release(&mut self, index: usize) {
        let (lock, mode) = self.held.remove(index);
        self.push(Act::Release { lock, mode, last: true });
        if !self.held.is_empty() && self.random.one_in(4) {
            self.access();
        }
    }

    /// Works with a variable that a held lock guards.
    fn access(&mut self) {
        let (lock, mode) = self.held[self.random.below(self.held.len() as u32) as usize];
        let variable = pick(self.random, lock, self.locks.count(), self.locks.guarded);
        let kind = if mode == LockMode::Shared { AccessKind::Read } else { kind(self.random) };
        self.push(Act::Access { kind, variable });
        // Reads are often followed by a write that makes use of them.
        if kind == AccessKind::Read && mode == LockMode::Exclusive && self.random.one_in(2) {
            self.push(Act::Access { kind: AccessKind::Write, variable });
        }
    }
}
