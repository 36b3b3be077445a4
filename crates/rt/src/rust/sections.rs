//! Critical sections of Rust programs that need not be told again.
//!
//! A loop that takes a lock, uses what it guards and releases it does the same to the analyses of tasks each time, as long as the task does
//! nothing else: they look at all schedules, so the order in which tasks come to a lock is nothing to them. What a section
//! leaves behind is, for its object, the last read if no write came after it, with its place and calls: the *state*. A section
//! is *known* in a state if it was told in that state since the task did something else: once if it leaves the state as it was, for then
//! there was another one before it that did the same, else twice. (What is learned of two sections of a kind, the second tells.)
//!
//! A known section is passed over. If it leaves another state behind than it has found, as the first read after a write does and the first
//! write after a read, only that is told ([`Teller::leaves`]): what the analysis had kept when the section was told last is put back, or
//! taken away. That is the same, but for the number of locks that the task had taken and released until then; and all that is asked of that number
//! is what was held between two sections: within a turn always the same, the locks around both.
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
use keirin_core::analysis::tasks::LastUse;
use keirin_core::event::{AccessKind, LockMode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A section with more uses is not kept.
const MOST_USES: usize = 8;
/// Locks, and objects, that are remembered.
const LOCKS: usize = 1 << 6;
const OBJECTS: usize = 1 << 8;
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
pub(crate) fn are_on() -> bool {
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
    pub(crate) pc: usize,
    pub(crate) kind: AccessKind,
    /// In which calls.
    pub(crate) calls: u64,
}

const NO_USE: Use = Use { pc: 0, kind: AccessKind::Read, calls: 0 };

/// What a section has left behind for an object, in a turn.
#[derive(Clone, Copy, Default)]
struct Left {
    object: usize,
    turn: u64,
    state: u64,
}

/// The state of an object whose last use was a write.
const WRITTEN: u64 = 1;

/// A section that was told.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The section, its turn and the state that it has found, as a number.
    key: u64,
    /// It was told more than once.
    again: bool,
    /// What the analysis has kept of it.
    read: Option<LastUse>,
}

/// What is done between taking a lock and releasing it.
#[derive(Clone, Copy)]
struct Section {
    lock: usize,
    mode: LockMode,
    object: usize,
    used: usize,
    /// The first ones are set.
    uses: [Use; MOST_USES],
}

const NO_SECTION: Section =
    Section { lock: 0, mode: LockMode::Exclusive, object: 0, used: 0, uses: [NO_USE; MOST_USES] };

impl Section {
    #[inline]
    fn uses(&self) -> &[Use] {
        &self.uses[..self.used]
    }

    /// All that makes it, as a number.
    fn signature(&self) -> u64 {
        self.uses().iter().fold(mix(self.lock as u64, self.mode as u64), |number, used| {
            mix(mix(number, used.pc as u64 ^ (used.kind as u64) << 63), used.calls)
        })
    }

    #[inline]
    fn is(&self, other: &Section) -> bool {
        (self.lock, self.object, self.mode) == (other.lock, other.object, other.mode)
            && self.uses() == other.uses()
    }
}

/// A section that was passed over. One that is the same, in the same turn, is passed over as well if it finds the same state.
#[derive(Clone, Copy)]
struct Passed {
    section: Section,
    /// 0: it is kept only to know that sections of the lock are worth to be held back.
    turn: u64,
    lives: u64,
    state: u64,
}

/// What a thread keeps of its sections.
pub(crate) struct Sections {
    /// Changes with all that is told beside sections.
    turn: u64,
    /// A section is open: this one.
    open: bool,
    section: Section,
    acquired_at: usize,
    /// Nothing of it was told so far.
    held_back: bool,
    /// For each lock whose last section could be passed over that section.
    passed: Box<[Passed; LOCKS]>,
    left: Box<[Left; OBJECTS]>,
    known: Box<[Known; KNOWN]>,
}

/// So many of one, not made on the stack, of which the program may have little.
fn many<T: Clone, const N: usize>(one: T) -> Box<[T; N]> {
    match vec![one; N].try_into() {
        Ok(many) => many,
        Err(_) => unreachable!("there are as many"),
    }
}

impl Default for Sections {
    fn default() -> Self {
        Self {
            turn: 1,
            open: false,
            section: NO_SECTION,
            acquired_at: 0,
            held_back: false,
            passed: many(Passed { section: NO_SECTION, turn: 0, lives: 0, state: 0 }),
            left: many(Left::default()),
            known: many(Known::default()),
        }
    }
}

/// Where it is kept, of so many places, what is known of an address. Those of neighbours are far from each other.
#[inline(always)]
fn place<const PLACES: usize>(address: usize) -> usize {
    const { assert!(PLACES.is_power_of_two() && PLACES > 1) };
    ((address >> 3) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize
        >> (usize::BITS - PLACES.trailing_zeros())
}

impl Sections {
    /// The turn of now: another one if memory was forgotten since.
    #[inline]
    fn now(&self) -> u64 {
        mix(self.turn, LIVES.load(Ordering::Relaxed)) | 1
    }

    /// True if a lock is held whose section has not ended.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.open
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
        let Section { lock, object, .. } = self.section;
        if self.held_back && (object.wrapping_sub(addr) < size || lock.wrapping_sub(addr) < size) {
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
        let Section { lock, mode, object, .. } = self.section;
        teller.acquired(lock, mode, self.acquired_at);
        for used in self.section.uses() {
            teller.used(*used, object);
        }
        self.passed[place::<LOCKS>(lock)].section.lock = 0;
    }

    /// A lock was acquired whose last section could be passed over. False if it is not one of these.
    #[inline]
    pub(crate) fn acquired_again(&mut self, lock: usize, mode: LockMode, pc: usize) -> bool {
        if self.open || self.passed[place::<LOCKS>(lock)].section.lock != lock {
            return false;
        }
        (self.open, self.held_back, self.section.used) = (true, true, 0);
        (self.section.lock, self.section.mode, self.acquired_at) = (lock, mode, pc);
        true
    }

    /// The object of a section that is held back is used, in calls that were looked at. False if it has to be looked at more closely.
    #[inline]
    pub(crate) fn used_again(&mut self, object: usize, used: Use) -> bool {
        let section = &mut self.section;
        if !self.held_back || section.used >= MOST_USES || (section.used > 0 && section.object != object) {
            return false;
        }
        if section.uses().last() != Some(&used) {
            section.object = object;
            section.uses[section.used] = used;
            section.used += 1;
        }
        true
    }

    /// A lock is about to be released. True if its section is the one that was passed over last.
    #[inline]
    pub(crate) fn released_again(&mut self, lock: usize) -> bool {
        let passed = &self.passed[place::<LOCKS>(lock)];
        let left = &self.left[place::<OBJECTS>(self.section.object)];
        let same = self.held_back
            && self.section.lock == lock
            && self.turn == passed.turn
            && self.section.is(&passed.section)
            && (left.object, left.state) == (self.section.object, passed.state)
            && LIVES.load(Ordering::Relaxed) == passed.lives;
        if same {
            (self.open, self.held_back) = (false, false);
        }
        same
    }

    /// A lock was acquired.
    #[inline]
    pub(crate) fn acquired(&mut self, teller: &mut impl Teller, lock: usize, mode: LockMode, pc: usize) {
        if self.open {
            self.settle(teller);
        }
        if !self.acquired_again(lock, mode, pc) {
            (self.open, self.section.used) = (true, 0);
            (self.section.lock, self.section.mode, self.acquired_at) = (lock, mode, pc);
            teller.acquired(lock, mode, pc);
        }
    }

    /// The object that a lock guards is used. `frame` is that of the function that uses it.
    #[inline]
    pub(crate) fn used(
        &mut self,
        teller: &mut impl Teller,
        object: usize,
        kind: AccessKind,
        (pc, frame): (usize, usize),
    ) {
        let looks_on = teller.is_still_at(frame);
        if !looks_on || !self.has_room(object) {
            return self.used_elsewhere(teller, object, kind, (pc, frame), looks_on);
        }
        let calls = teller.calls();
        self.add(teller, object, Use { pc, kind, calls });
    }

    /// True if a use of an object can be part of the open section.
    #[inline]
    fn has_room(&self, object: usize) -> bool {
        let used = self.section.used;
        self.open && (used == 0 || (self.section.object == object && used < MOST_USES))
    }

    #[inline]
    fn add(&mut self, teller: &mut impl Teller, object: usize, used: Use) {
        let section = &mut self.section;
        if section.uses().last() == Some(&used) {
            return;
        }
        section.uses[section.used] = used;
        section.used += 1;
        section.object = object;
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
        if self.section.used > 0 {
            self.tell(teller);
        }
        if !looks_on {
            teller.look_at(frame);
        }
        let used = Use { pc, kind, calls: teller.calls() };
        if self.has_room(object) {
            return self.add(teller, object, used);
        }
        self.settle(teller);
        teller.used(used, object);
    }

    /// A lock is about to be released.
    #[inline]
    pub(crate) fn released(&mut self, teller: &mut impl Teller, lock: usize, pc: usize) {
        if !self.open || self.section.lock != lock {
            self.settle(teller);
            return teller.released(lock, pc);
        }
        self.open = false;
        if self.section.used == 0 {
            // It changes nothing.
            if !std::mem::take(&mut self.held_back) {
                teller.released(lock, pc);
            }
            return;
        }
        let object = self.section.object;
        let (now, signature) = (self.now(), self.section.signature());
        let left = &mut self.left[place::<OBJECTS>(object)];
        let before = if (left.object, left.turn) == (object, now) { left.state } else { 0 };
        let after = match self.section.uses[self.section.used - 1] {
            Use { kind: AccessKind::Write, .. } => WRITTEN,
            _ => signature | 2,
        };
        *left = Left { object, turn: now, state: after };
        let key = mix(mix(mix(now, object as u64), before), signature);
        let known = &mut self.known[(key >> 32) as usize % KNOWN];
        let is_known = known.key == key && (before == after || known.again);
        if is_known && (!self.held_back || before == after || teller.leaves(object, known.read)) {
            let turn = if before == after { self.turn } else { 0 };
            let lives = LIVES.load(Ordering::Relaxed);
            self.passed[place::<LOCKS>(lock)] = Passed { section: self.section, turn, lives, state: after };
            if !std::mem::take(&mut self.held_back) {
                teller.released(lock, pc);
            }
            return;
        }
        let again = known.key == key;
        self.tell(teller);
        teller.released(lock, pc);
        let read = if after == WRITTEN { None } else { teller.last_read(object) };
        let told = if before == 0 { Known::default() } else { Known { key, again, read } };
        self.known[(key >> 32) as usize % KNOWN] = told;
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
    /// What the analysis has of the last read of an object, by the running task.
    fn last_read(&mut self, object: usize) -> Option<LastUse>;
    /// The analysis has this instead from now on. False if it must be told in full.
    fn leaves(&mut self, object: usize, read: Option<LastUse>) -> bool;
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

    fn last_read(&mut self, object: usize) -> Option<LastUse> {
        self.watcher.last_read(self.thread, object)
    }

    fn leaves(&mut self, object: usize, read: Option<LastUse>) -> bool {
        self.watcher.set_last_read(self.thread, object, read)
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
