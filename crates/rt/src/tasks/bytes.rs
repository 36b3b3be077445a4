//! Words whose bytes were accessed by different steps: plain accesses that fit into no form.
//!
//! Such a word has a table of what its bytes remember, on which the rules of [`super::plain`] work for each of them, without the
//! analysis and its cells. When the bytes are alike again they go back into the word; when an access must be looked at in full, the word
//! gets a record.
//!
//! **Who may touch what.** Who has locked the word changes its table. Everybody may look: each change gives the table another version, which
//! is odd meanwhile, so that what was seen at one even version belongs together. Who looks without the lock may hold on to a table that
//! its word has lost; so a table is never anything but a table: those that are given back wait in a [`Pool`] for the next word.

use super::plain::past;
use super::words::{LOCKED, RECORD, STRETCHES_TABLE, TABLE, TaskWord, number_of, step_of};
use super::{TaskDriver, Worker};
use crate::layout::WORD_BYTES;
use crate::places::PlaceNumber;
use crate::spin::Spin;
use crate::tls;
use keirin_core::analysis::tasks::kept::Entry;
use keirin_core::analysis::tasks::plain::{KeepsPlain, Plain};
use keirin_core::event::{AccessKind, SiteId};
use keirin_core::sptree::{Relation, StepId};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// An access: the number of its step, as words have it, and its place. All zeros is none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Stamp {
    step: u32,
    place: PlaceNumber,
}

impl Stamp {
    fn of(entry: Entry) -> Self {
        Self { step: number_of(entry.step) as u32, place: entry.site.0 }
    }

    fn entry(self) -> Option<Entry> {
        (self.step != 0).then(|| Entry { step: step_of(u64::from(self.step)), site: SiteId(self.place) })
    }

    fn load(from: &AtomicU64) -> Self {
        let number = from.load(Ordering::Relaxed);
        Self { step: (number >> 32) as u32, place: number as u32 }
    }

    fn store(self, to: &AtomicU64) {
        to.store(u64::from(self.step) << 32 | u64::from(self.place), Ordering::Relaxed);
    }
}

/// What a byte remembers: see [`Plain`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Byte {
    write: Stamp,
    english: Stamp,
    hebrew: Stamp,
}

impl Byte {
    fn of(plain: Plain) -> Self {
        let (english, hebrew) = plain.reads.unzip();
        let stamp = |entry: Option<Entry>| entry.map(Stamp::of).unwrap_or_default();
        Self { write: stamp(plain.write), english: stamp(english), hebrew: stamp(hebrew) }
    }

    fn plain(self) -> Plain {
        Plain { write: self.write.entry(), reads: self.english.entry().zip(self.hebrew.entry()) }
    }
}

/// The stamps of a [`Byte`].
#[derive(Default)]
struct Unit([AtomicU64; 3]);

impl Unit {
    #[inline(always)]
    fn load(&self) -> Byte {
        let [write, english, hebrew] = &self.0;
        Byte { write: Stamp::load(write), english: Stamp::load(english), hebrew: Stamp::load(hebrew) }
    }

    fn store(&self, byte: Byte) {
        let stamps = [byte.write, byte.english, byte.hebrew];
        self.0.iter().zip(stamps).for_each(|(unit, stamp)| stamp.store(unit));
    }
}

/// What two stretches of a word remember, or its bytes.
#[repr(C)]
struct Table<const UNITS: usize> {
    version: AtomicU64,
    /// If there are two units: the bytes of the first one. All others are those of the second. In the upper half when what is past was forgotten
    /// last: see [`super::TaskDriver::note_alone`].
    first: AtomicU64,
    units: [Unit; UNITS],
}

const _: () = assert!(size_of::<Table<2>>() == 64);

/// Tables that no word has, in parts so that threads seldom meet.
struct Pool<const UNITS: usize>([Spin<Vec<&'static Table<UNITS>>>; POOL_PARTS]);

const POOL_PARTS: usize = 8;
static STRETCHES: Pool<2> = Pool([const { Spin::new(Vec::new()) }; POOL_PARTS]);
static BYTES: Pool<WORD_BYTES> = Pool([const { Spin::new(Vec::new()) }; POOL_PARTS]);

impl<const UNITS: usize> Pool<UNITS> {
    /// The part of the calling thread.
    fn part(&self) -> &Spin<Vec<&'static Table<UNITS>>> {
        &self.0[(tls::thread() as usize >> 4).wrapping_mul(0x9e37_79b9) >> 16 & (POOL_PARTS - 1)]
    }

    fn take(&self) -> &'static Table<UNITS> {
        if let Some(table) = self.part().lock().pop() {
            return table;
        }
        // One thread may make what another one gives back.
        let all = |part: &Spin<Vec<_>>| part.try_lock().map(|mut part| std::mem::take(&mut *part));
        let mut others = self.0.iter().filter_map(all).find(|part| !part.is_empty()).unwrap_or_default();
        let table = others.pop();
        self.part().lock().append(&mut others);
        table.unwrap_or_else(|| {
            let units = std::array::from_fn(|_| Unit::default());
            Box::leak(Box::new(Table { version: AtomicU64::new(0), first: AtomicU64::new(0), units }))
        })
    }
}

/// The table of a word.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    version: &'static AtomicU64,
    first: &'static AtomicU64,
    /// Two, or one for each byte.
    units: &'static [Unit],
}

/// True if some bytes are all, none, or one of two stretches of which these are the first.
fn are_stretches(mask: u8, first: u8) -> bool {
    mask == 0 || mask == 0xff || mask == first || mask == !first
}

impl Bytes {
    /// The table that a word leads to.
    #[inline(always)]
    pub(super) fn at(number: u64) -> Self {
        let address = (number & !(LOCKED | TABLE | STRETCHES_TABLE)) >> 2;
        if number & STRETCHES_TABLE != 0 {
            // SAFETY: the address is that of a table for stretches, see `number`; they are never given back.
            let table = unsafe { &*(address as *const Table<2>) };
            Self { version: &table.version, first: &table.first, units: &table.units }
        } else {
            // SAFETY: the same for tables for bytes.
            let table = unsafe { &*(address as *const Table<WORD_BYTES>) };
            Self { version: &table.version, first: &table.first, units: &table.units }
        }
    }

    /// What the word is that leads to it.
    pub(super) fn number(self) -> u64 {
        let stretches = if self.is_of_stretches() { STRETCHES_TABLE } else { 0 };
        (std::ptr::from_ref(self.version) as u64) << 2 | RECORD | TABLE | stretches
    }

    fn is_of_stretches(self) -> bool {
        self.units.len() == 2
    }

    /// True if an access of some bytes can be put into it.
    pub(super) fn has_room_for(self, mask: u8) -> bool {
        !self.is_of_stretches() || are_stretches(mask, self.first_bytes())
    }

    fn first_bytes(self) -> u8 {
        self.first.load(Ordering::Relaxed) as u8
    }

    /// A table in which the bytes of each part have that to remember, all others nothing, and with room for an access of some bytes.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = (u8, Plain)>, mask: u8) -> Self {
        let parts: Vec<(u8, Plain)> = parts.into_iter().collect();
        let mut masks = parts.iter().map(|part| part.0).chain([mask]);
        let first = masks.clone().find(|mask| !matches!(mask, 0 | 0xff)).unwrap_or(0x0f);
        if !masks.all(|mask| are_stretches(mask, first)) {
            return Self::of_bytes(parts);
        }
        let table = STRETCHES.take();
        Self { version: &table.version, first: &table.first, units: &table.units }.filled(first, parts)
    }

    /// The same with room for any access.
    pub(super) fn of_bytes(parts: impl IntoIterator<Item = (u8, Plain)>) -> Self {
        let table = BYTES.take();
        Self { version: &table.version, first: &table.first, units: &table.units }.filled(0, parts)
    }

    fn filled(self, first: u8, parts: impl IntoIterator<Item = (u8, Plain)>) -> Self {
        self.change(|units| {
            self.first.store(u64::from(first), Ordering::Relaxed);
            units.iter().for_each(|unit| unit.store(Byte::default()));
            for (mask, plain) in parts {
                self.units_of(mask).for_each(|(_, unit)| unit.store(Byte::of(plain)));
            }
        });
        self
    }

    /// The table is no word's any more.
    pub(super) fn give_back(self) {
        let address = std::ptr::from_ref(self.version);
        if self.is_of_stretches() {
            // SAFETY: the version is the first member of such a table, which is never anything else.
            STRETCHES.part().lock().push(unsafe { &*address.cast::<Table<2>>() });
        } else {
            // SAFETY: the same for tables for bytes.
            BYTES.part().lock().push(unsafe { &*address.cast::<Table<WORD_BYTES>>() });
        }
    }

    /// Changes it, for who has locked its word.
    fn change(self, change: impl FnOnce(&[Unit])) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        change(self.units);
        self.version.store(version + 2, Ordering::Release);
    }

    /// The bytes of a unit.
    fn bytes_of(self, unit: usize) -> u8 {
        match (self.is_of_stretches(), unit) {
            (true, 0) => self.first_bytes(),
            (true, _) => !self.first_bytes(),
            (false, _) => 1 << unit,
        }
    }

    /// The units of some bytes.
    #[inline(always)]
    fn units_of(self, mask: u8) -> impl Iterator<Item = (usize, &'static Unit)> {
        let units = self.units.iter().enumerate();
        units.filter(move |(index, _)| self.bytes_of(*index) & mask != 0)
    }

    /// Bytes that remember the same, with that.
    pub(super) fn parts(self) -> impl Iterator<Item = (u8, Plain)> {
        let mut left = !0u8;
        std::iter::from_fn(move || {
            let first = self.units_of(left).find(|(_, unit)| unit.load() != Byte::default());
            let byte = first?.1.load();
            let alike = self.units_of(left).filter(|(_, unit)| unit.load() == byte);
            let mask = alike.fold(0, |mask, (index, _)| mask | self.bytes_of(index));
            left &= !mask;
            Some((mask, byte.plain()))
        })
    }

    /// Forgets what need not be remembered any more, if that was not done in this phase.
    #[inline]
    fn forget_past(self, phase: u32, mut is_past: impl FnMut(StepId) -> bool) {
        let first = self.first.load(Ordering::Relaxed);
        if (first >> 32) as u32 == phase {
            return;
        }
        self.first.store(u64::from(phase) << 32 | u64::from(first as u32), Ordering::Relaxed);
        let mut is_past = |stamp: Stamp| stamp.entry().is_none_or(|Entry { step, .. }| is_past(step));
        for unit in self.units {
            let Byte { mut write, mut english, mut hebrew } = unit.load();
            if is_past(write) {
                write = Stamp::default();
            }
            if is_past(english) && is_past(hebrew) {
                (english, hebrew) = Default::default();
            }
            let left = Byte { write, english, hebrew };
            if left != unit.load() {
                self.change(|_| unit.store(left));
            }
        }
    }

    /// Forgets some bytes.
    pub(super) fn forget(self, mask: u8) {
        self.change(|_| self.units_of(mask).for_each(|(_, unit)| unit.store(Byte::default())));
    }

    pub(super) fn is_empty(self) -> bool {
        self.units.iter().all(|unit| unit.load() == Byte::default())
    }

    /// Puts other steps in the place of all.
    pub(super) fn resolve(self, resolve: impl Fn(StepId) -> StepId) {
        self.change(|units| {
            for unit in units {
                let mut byte = unit.load();
                for stamp in [&mut byte.write, &mut byte.english, &mut byte.hebrew] {
                    if stamp.step != 0 {
                        stamp.step = number_of(resolve(step_of(u64::from(stamp.step)))) as u32;
                    }
                }
                unit.store(byte);
            }
        });
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// A plain access of some bytes of a word that has, or had, a table. None: it has none any more. False: it must be looked at in full.
    pub(super) fn access_of_bytes(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        (addr, mask): (usize, u8),
        place: PlaceNumber,
        number: u64,
    ) -> Option<bool> {
        let word = TaskWord::of(addr);
        if kind == AccessKind::Read && self.are_covered(worker, word, mask, number) {
            return Some(true);
        }
        let mut locked = word.lock_bytes()?;
        locked.bytes().forget_past(self.phase.load(Ordering::Acquire), |step| self.has_passed(worker, step));
        if locked.bytes().is_empty() {
            locked.forget(0xff);
            return None;
        }
        if !locked.bytes().has_room_for(mask) {
            locked.spread();
        }
        let done = self.put_into_bytes(worker, kind, mask, place, locked.bytes());
        if done {
            locked.settle_after((kind, addr, mask), |step| self.is_past(step));
        }
        Some(done)
    }

    /// True if a read of some bytes need not be remembered in the table that a word leads to: others that are there tell as much.
    #[inline(always)]
    pub(super) fn are_covered(&self, worker: &mut Worker, word: &TaskWord, mask: u8, number: u64) -> bool {
        Bytes::at(number).has_room_for(mask) && self.covered_of(worker, word, mask, number) == mask
    }

    /// Of some bytes those of which a read need not be remembered there. The word is not locked for that, so that many can read what many read.
    #[inline(always)]
    pub(super) fn covered_of(&self, worker: &mut Worker, word: &TaskWord, mask: u8, number: u64) -> u8 {
        // Its place does not matter as long as nothing is remembered.
        let here = Stamp { step: number_of(worker.step) as u32, place: 0 };
        let table = Bytes::at(number);
        let version = table.version.load(Ordering::Acquire);
        // It may have come to another word since the word was looked at; from here on its version would tell.
        if !version.is_multiple_of(2) || (word.load() ^ number) & !LOCKED != 0 {
            return 0;
        }
        let (mut covered, mut alike) = (0, Byte::default());
        for (index, unit) in table.units_of(mask) {
            let byte = unit.load();
            if byte == Byte::default() {
                continue;
            }
            if byte == alike || self.after_byte(worker, AccessKind::Read, byte, here) == Some(byte) {
                covered |= table.bytes_of(index) & mask;
                alike = byte;
            }
        }
        fence(Ordering::Acquire);
        if table.version.load(Ordering::Relaxed) == version { covered } else { 0 }
    }

    /// Has some bytes remember an access. False: it must be looked at in full, for the bytes that were left as they were.
    pub(super) fn put_into_bytes(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        mask: u8,
        place: PlaceNumber,
        table: Bytes,
    ) -> bool {
        let here = Stamp { step: number_of(worker.step) as u32, place };
        let mut all = true;
        // What lies side by side is mostly alike.
        let mut last = None;
        for (_, unit) in table.units_of(mask) {
            let byte = unit.load();
            let new = match last {
                Some((alike, new)) if alike == byte => new,
                _ => self.after_byte(worker, kind, byte, here),
            };
            last = Some((byte, new));
            match new {
                Some(new) if new != byte => table.change(|_| unit.store(new)),
                Some(_) => {}
                None => all = false,
            }
        }
        all
    }

    /// How an access that a byte remembers, if it is one, stands to the present one.
    #[inline]
    fn relation_of(&self, worker: &mut Worker, stamp: Stamp, here: Stamp) -> Relation {
        match stamp.step {
            0 => Relation::Before,
            step if step == here.step => Relation::Before,
            step => self.relation(worker, past(u64::from(step))),
        }
    }

    /// What a byte remembers after an access. None: it must be looked at in full.
    #[inline]
    fn after_byte(&self, worker: &mut Worker, kind: AccessKind, byte: Byte, here: Stamp) -> Option<Byte> {
        let mut relation = |stamp: Stamp| self.relation_of(worker, stamp, here);
        let Byte { write, english, hebrew } = byte;
        if relation(write).is_parallel() {
            return None;
        }
        if kind == AccessKind::Write {
            let ordered = !relation(english).is_parallel() && !relation(hebrew).is_parallel();
            return ordered.then(|| Byte { write: here, ..Byte::default() });
        }
        if [write, english, hebrew].iter().any(|stamp| stamp.step == here.step) {
            return Some(byte);
        }
        // Who looks without the lock may see one of both before a change and the other one behind it: then one may be none.
        let two = english.step != hebrew.step && english.step != 0 && hebrew.step != 0;
        let keeps_all = self.keep_all.load(Ordering::Relaxed);
        // This is asked first, as it is mostly so: then not both come before.
        if two
            && !keeps_all
            && self.is_among(worker, past(u64::from(english.step)), past(u64::from(hebrew.step)))
        {
            self.note_dropped();
            return Some(byte);
        }
        let mut relation = |stamp: Stamp| self.relation_of(worker, stamp, here);
        let (in_english, in_hebrew) = (relation(english), relation(hebrew));
        if in_english == Relation::Before && in_hebrew == Relation::Before {
            return Some(Byte { write, english: here, hebrew: here });
        }
        if two {
            if keeps_all {
                return None;
            }
            self.note_dropped();
        }
        Some(Byte {
            write,
            english: if in_english == Relation::Right { english } else { here },
            hebrew: if in_hebrew == Relation::Left { hebrew } else { here },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::analysis::tasks::ptracer::PtRacer;
    use keirin_core::event::{TaskId, ThreadId};
    use keirin_core::tasks::Actor;

    fn byte(number: u32) -> Byte {
        let stamp = Stamp { step: number, place: number };
        Byte { write: stamp, english: stamp, hebrew: stamp }
    }

    /// A look without the lock may meet a byte of which one read is there and the other one not yet. What comes of it is void, but it must come to an end.
    #[test]
    fn half_of_a_change_may_be_seen() {
        crate::start::map_for_tests();
        let driver = TaskDriver::new(PtRacer { goes_on: true });
        let mut thread = driver.new_thread(ThreadId(0));
        let (worker, _) = driver.acting(&mut thread);
        let here = Stamp { step: number_of(worker.step) as u32, place: 1 };
        let slot = worker.slot.expect("it acts");
        let child = driver.tasks.spawn(&mut worker.hand, slot, Actor::Task(TaskId(1))).expect("a task");
        let other = Stamp { step: number_of(driver.tasks.step(child)) as u32, place: 2 };
        assert_ne!(here.step, other.step);
        for (english, hebrew) in [(other, Stamp::default()), (Stamp::default(), other)] {
            let byte = Byte { write: Stamp::default(), english, hebrew };
            assert!(driver.after_byte(worker, AccessKind::Read, byte, here).is_some());
        }
        driver.drop_state(&mut thread);
        tls::set_task(0);
    }

    /// What is seen at one version belongs together, whoever changes the table meanwhile, gives it back and takes it again.
    #[test]
    fn what_is_seen_at_one_version_belongs_together() {
        const CHANGES: u32 = 100_000;
        let parts = [(0x01, byte(1).plain())];
        let table = Bytes::of_parts(parts, 0xff);
        let look = || {
            let version = table.version.load(Ordering::Acquire);
            let seen = [0, 1].map(|unit| table.units[unit].load());
            fence(Ordering::Acquire);
            let settled = version.is_multiple_of(2) && table.version.load(Ordering::Relaxed) == version;
            settled.then_some(seen)
        };
        assert_eq!(look(), Some([byte(1), Byte::default()]));
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                for number in 1..CHANGES {
                    table.change(|units| units.iter().for_each(|unit| unit.store(byte(number))));
                    if number.is_multiple_of(1000) {
                        table.give_back();
                        let again = Bytes::of_parts([(0xff, byte(number).plain())], 0x0f);
                        assert!(std::ptr::eq(again.version, table.version), "the last one is taken first");
                    }
                }
            });
            let mut settled = 0;
            while !changes.is_finished() || settled == 0 {
                let Some([first, second]) = look() else { continue };
                settled += 1;
                if second != Byte::default() {
                    assert_eq!((first, first.english), (second, first.write));
                }
            }
        });
        assert_eq!(look(), Some([byte(CHANGES - 1); 2]));
    }
}
