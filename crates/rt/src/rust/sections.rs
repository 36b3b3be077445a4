//! Critical sections of Rust programs that need not be told again.
//!
//! A loop that takes a lock, uses what it guards and releases it does the same to the analyses of tasks each time, as long as the task does
//! nothing else: they look at all schedules, so the order in which tasks come to a lock is nothing to them. What a section
//! leaves behind is, for its object, the last read if no write came after it, with its place and calls: the *state*. A section
//! is *known* in a state if it was told once in that state since the task did something else. It is passed over if it is known and leaves the
//! state as it was.
//!
//! Whether a section is one of these is known only at its end. So the section of a lock whose last section could have been passed over is *held
//! back*: neither the lock nor the uses are told until the lock is released, or until the thread tells something else. All other
//! sections are told at once.
//!
//! "Something else" is all that a thread tells but sections and memory: it ends the *turn*, in which all that is kept here is true. So does
//! memory that was known to the analysis and is given back, by whichever thread: what lies there next is another object. Within a turn
//! locks around the sections stay the same.
//!
//! **Who may touch what.** [`Sections`]: its thread. [`LIVES`]: everyone.

use crate::thread::{Thread, mix};
use crate::watch;
use crate::watcher::Watcher;
use keirin_core::event::{AccessKind, LockMode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A section with more uses is not kept.
const MOST_USES: usize = 8;
/// Objects, and locks, that are remembered.
const OBJECTS: usize = 1 << 6;
/// Sections that are known.
const KNOWN: usize = 1 << 8;

/// Sections are passed over: the analyses are those of tasks, and they run in the program.
static ON: AtomicBool = AtomicBool::new(false);
/// How often memory has begun another life that was known to the analysis.
static LIVES: AtomicU64 = AtomicU64::new(0);

/// Begins, or ends, to pass over sections.
pub(crate) fn switch(on: bool) {
    ON.store(on, Ordering::Relaxed);
}

#[inline(always)]
pub(super) fn are_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Memory that was known to the analysis begins another life.
#[inline]
pub(crate) fn memory_forgotten() {
    if are_on() {
        LIVES.fetch_add(1, Ordering::Relaxed);
    }
}

/// A use of the object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(super) pc: usize,
    pub(super) kind: AccessKind,
    /// In which calls.
    pub(super) calls: u64,
}

const NO_USE: Use = Use { pc: 0, kind: AccessKind::Read, calls: 0 };

/// What a section has left behind for an object, in a turn.
#[derive(Clone, Copy, Default)]
struct Left {
    object: usize,
    turn: u64,
    state: u64,
}

/// Uses of a section that is found again without reckoning.
const FEW_USES: usize = 2;
/// So many of these.
const PASSED: usize = 1 << 4;

/// A section that was passed over: one that is the same, in the same turn, is passed over as well if no other one of its lock came
/// between.
#[derive(Clone, Copy)]
struct Passed {
    turn: u64,
    lives: u64,
    lock: usize,
    mode: LockMode,
    object: usize,
    used: usize,
    uses: [Use; FEW_USES],
}

/// What a thread keeps of its sections.
pub(crate) struct Sections {
    /// Changes with all that is told beside sections.
    turn: u64,
    /// A section is open; the rest is about it.
    open: bool,
    /// Nothing of it was told so far.
    held_back: bool,
    lock: usize,
    mode: LockMode,
    acquired_at: usize,
    object: usize,
    uses: [Use; MOST_USES],
    used: usize,
    passed: [Passed; PASSED],
    left: [Left; OBJECTS],
    known: [u64; KNOWN],
    /// Locks whose last section could have been passed over.
    likely: [usize; OBJECTS],
}

impl Default for Sections {
    fn default() -> Self {
        Self {
            turn: 1,
            open: false,
            held_back: false,
            lock: 0,
            mode: LockMode::Exclusive,
            acquired_at: 0,
            object: 0,
            uses: [NO_USE; MOST_USES],
            used: 0,
            passed: [Passed {
                turn: 0,
                lives: 0,
                lock: 0,
                mode: LockMode::Exclusive,
                object: 0,
                used: 0,
                uses: [NO_USE; FEW_USES],
            }; PASSED],
            left: [Left::default(); OBJECTS],
            known: [0; KNOWN],
            likely: [0; OBJECTS],
        }
    }
}

/// Where a lock's section is kept that was passed over.
#[inline]
fn place(lock: usize) -> usize {
    (lock >> 3 ^ lock >> 9) % PASSED
}

#[inline]
fn slot(address: usize) -> usize {
    (mix(0, address as u64) >> 40) as usize % OBJECTS
}

impl Sections {
    /// The turn of now: another one if memory was forgotten since.
    #[inline]
    fn now(&self) -> u64 {
        mix(self.turn, LIVES.load(Ordering::Relaxed)) | 1
    }

    /// The thread is about to tell something else. What was held back comes first.
    #[inline]
    pub(crate) fn settle(&mut self, teller: &mut impl Teller) {
        self.tell(teller);
        self.open = false;
        self.turn += 1;
    }

    /// Memory is handed out or given back.
    #[inline]
    pub(crate) fn settle_memory(&mut self, teller: &mut impl Teller, addr: usize, size: usize) {
        if self.held_back && (self.object.wrapping_sub(addr) < size || self.lock.wrapping_sub(addr) < size) {
            self.settle(teller);
        }
    }

    /// Tells what was held back of the open section.
    #[inline]
    fn tell(&mut self, teller: &mut impl Teller) {
        if std::mem::take(&mut self.held_back) {
            self.tell_all(teller);
        }
    }

    #[cold]
    fn tell_all(&mut self, teller: &mut impl Teller) {
        teller.acquired(self.lock, self.mode, self.acquired_at);
        for used in &self.uses[..self.used] {
            teller.used(*used, self.object);
        }
        self.likely[slot(self.lock)] = 0;
    }

    /// All that makes the open section, as a number.
    fn signature(&self) -> u64 {
        self.uses[..self.used].iter().fold(mix(self.lock as u64, self.mode as u64), |number, used| {
            mix(mix(number, used.pc as u64 ^ (used.kind as u64) << 63), used.calls)
        })
    }

    /// The open section is one that is passed over.
    fn keep_passed(&mut self) {
        if self.used <= FEW_USES {
            let mut uses = [NO_USE; FEW_USES];
            uses[..self.used].copy_from_slice(&self.uses[..self.used]);
            self.passed[place(self.lock)] = Passed {
                turn: self.turn,
                lives: LIVES.load(Ordering::Relaxed),
                lock: self.lock,
                mode: self.mode,
                object: self.object,
                used: self.used,
                uses,
            };
        }
    }

    /// A lock was acquired whose last section was passed over. False if it is not one of these.
    #[inline]
    pub(super) fn acquired_again(&mut self, lock: usize, mode: LockMode, pc: usize) -> bool {
        if self.open || self.passed[place(lock)].lock != lock {
            return false;
        }
        (self.open, self.held_back, self.used) = (true, true, 0);
        (self.lock, self.mode, self.acquired_at) = (lock, mode, pc);
        true
    }

    /// The object of a section that is held back is used, in calls that were looked at. False if it has to be looked at more closely.
    #[inline]
    pub(super) fn used_again(&mut self, object: usize, used: Use) -> bool {
        if !self.held_back || self.used >= FEW_USES || (self.used > 0 && self.object != object) {
            return false;
        }
        self.object = object;
        self.uses[self.used] = used;
        self.used += 1;
        true
    }

    /// A lock is about to be released. True if its section is the one that was passed over last.
    #[inline]
    pub(super) fn released_again(&mut self, lock: usize) -> bool {
        let passed = &self.passed[place(lock)];
        let same = self.held_back
            && (self.lock, passed.lock) == (lock, lock)
            && self.used == passed.used
            && self.uses[..passed.used] == passed.uses[..passed.used]
            && (self.object, self.mode) == (passed.object, passed.mode)
            && self.turn == passed.turn
            && LIVES.load(Ordering::Relaxed) == passed.lives;
        if same {
            (self.open, self.held_back) = (false, false);
        }
        same
    }

    /// A lock was acquired.
    #[inline]
    pub(super) fn acquired(&mut self, teller: &mut impl Teller, lock: usize, mode: LockMode, pc: usize) {
        if self.open {
            self.settle(teller);
        }
        (self.open, self.lock, self.mode, self.acquired_at) = (true, lock, mode, pc);
        self.used = 0;
        self.held_back = self.likely[slot(lock)] == lock;
        if !self.held_back {
            teller.acquired(lock, mode, pc);
        }
    }

    /// The object that a lock guards is used. `frame` is that of the function that uses it.
    #[inline]
    pub(super) fn used(
        &mut self,
        teller: &mut impl Teller,
        object: usize,
        kind: AccessKind,
        (pc, frame): (usize, usize),
    ) {
        let looks_on = teller.is_still_at(frame);
        if !looks_on || !self.open || self.used == MOST_USES || (self.used > 0 && self.object != object) {
            return self.used_elsewhere(teller, object, kind, (pc, frame), looks_on);
        }
        let calls = teller.calls();
        self.add(teller, object, Use { pc, kind, calls });
    }

    #[inline]
    fn add(&mut self, teller: &mut impl Teller, object: usize, used: Use) {
        if self.uses[..self.used].last() == Some(&used) {
            return;
        }
        self.uses[self.used] = used;
        self.used += 1;
        self.object = object;
        if !self.held_back {
            teller.used(used, object);
        }
    }

    /// The same from another place in the stack, or where there are too many, or several objects, or no section.
    #[cold]
    fn used_elsewhere(
        &mut self,
        teller: &mut impl Teller,
        object: usize,
        kind: AccessKind,
        (pc, frame): (usize, usize),
        looks_on: bool,
    ) {
        if self.used > 0 {
            self.tell(teller);
        }
        if !looks_on {
            teller.look_at(frame);
        }
        let used = Use { pc, kind, calls: teller.calls() };
        if self.open && (self.used == 0 || (self.object == object && self.used < MOST_USES)) {
            return self.add(teller, object, used);
        }
        self.settle(teller);
        teller.used(used, object);
    }

    /// A lock is about to be released.
    #[inline]
    pub(super) fn released(&mut self, teller: &mut impl Teller, lock: usize, pc: usize) {
        if !self.open || self.lock != lock {
            self.settle(teller);
            return teller.released(lock, pc);
        }
        self.open = false;
        if self.used == 0 {
            // It changes nothing.
            if !std::mem::take(&mut self.held_back) {
                teller.released(lock, pc);
            }
            return;
        }
        let (now, signature) = (self.now(), self.signature());
        let left = &mut self.left[slot(self.object)];
        let before = if (left.object, left.turn) == (self.object, now) { left.state } else { 0 };
        let after = match self.uses[self.used - 1] {
            Use { kind: AccessKind::Write, .. } => 1,
            _ => signature | 2,
        };
        *left = Left { object: self.object, turn: now, state: after };
        let key = mix(mix(mix(now, self.object as u64), before), signature);
        let place_of_key = (key >> 32) as usize % KNOWN;
        if self.known[place_of_key] == key && before == after {
            self.keep_passed();
            if !std::mem::take(&mut self.held_back) {
                self.likely[slot(lock)] = lock;
                teller.released(lock, pc);
            }
            return;
        }
        self.known[place_of_key] = if before == 0 { 0 } else { key };
        let object = self.object;
        self.passed.iter_mut().filter(|passed| passed.object == object).for_each(|passed| passed.lock = 0);
        self.tell(teller);
        self.likely[slot(lock)] = 0;
        teller.released(lock, pc);
    }
}

// What the hooks do if the quick way is not enough, in functions of their own: the quick way needs few registers.

/// A lock was acquired.
#[cold]
#[inline(never)]
pub(super) fn tell_acquired(lock: usize, mode: LockMode, pc: usize) {
    watch::on_sections(|sections, teller| sections.acquired(teller, lock, mode, pc));
}

/// The object that a lock guards is used.
#[cold]
#[inline(never)]
pub(super) fn tell_used(object: usize, kind: AccessKind, place: (usize, usize)) {
    watch::on_sections(|sections, teller| sections.used(teller, object, kind, place));
}

/// A lock is about to be released.
#[cold]
#[inline(never)]
pub(super) fn tell_released(lock: usize, pc: usize) {
    watch::on_sections(|sections, teller| sections.released(teller, lock, pc));
}

/// To whom sections are told, and who knows the open calls.
pub(crate) trait Teller {
    fn acquired(&mut self, lock: usize, mode: LockMode, pc: usize);
    /// With the calls that were looked at last.
    fn used(&mut self, used: Use, object: usize);
    fn released(&mut self, lock: usize, pc: usize);
    /// True if the calls are those that were looked at last.
    fn is_still_at(&self, frame: usize) -> bool;
    fn look_at(&mut self, frame: usize);
    /// A number for the calls that were looked at last.
    fn calls(&self) -> u64;
}

/// Tells the analysis what the calling thread does.
pub(crate) struct ToWatcher<'a> {
    pub(crate) watcher: &'static dyn Watcher,
    pub(crate) thread: &'a mut Thread,
}

impl Teller for ToWatcher<'_> {
    fn acquired(&mut self, lock: usize, mode: LockMode, pc: usize) {
        self.watcher.lock_acquired(self.thread, lock, mode, pc);
    }

    fn used(&mut self, used: Use, object: usize) {
        self.thread.look_again();
        self.watcher.access(self.thread, used.kind, object, 1, used.pc);
        self.thread.look_away();
    }

    fn released(&mut self, lock: usize, pc: usize) {
        self.watcher.lock_released(self.thread, lock, pc);
    }

    #[inline]
    fn is_still_at(&self, frame: usize) -> bool {
        self.thread.look.is_still_at(frame)
    }

    fn look_at(&mut self, frame: usize) {
        super::look_at(self.thread, frame);
        self.thread.look_away();
    }

    #[inline]
    fn calls(&self) -> u64 {
        self.thread.look.number()
    }
}

#[cfg(test)]
mod tests;
