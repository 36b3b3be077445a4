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
use super::words::{HALVES_TABLE, LOCKED, RECORD, TABLE, TaskWord, number_of, step_of};
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

/// What the halves of a word remember, or its bytes.
#[repr(C)]
struct Table<const UNITS: usize> {
    version: AtomicU64,
    units: [Unit; UNITS],
}

/// Tables that no word has, in parts so that threads seldom meet.
struct Pool<const UNITS: usize>([Spin<Vec<&'static Table<UNITS>>>; POOL_PARTS]);

const POOL_PARTS: usize = 8;
static HALVES: Pool<2> = Pool([const { Spin::new(Vec::new()) }; POOL_PARTS]);
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
            Box::leak(Box::new(Table { version: AtomicU64::new(0), units }))
        })
    }
}

/// The table of a word.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    version: &'static AtomicU64,
    /// One for each half or one for each byte.
    units: &'static [Unit],
}

/// True if some bytes are halves of a word.
fn are_halves(mask: u8) -> bool {
    matches!(mask, 0 | 0x0f | 0xf0 | 0xff)
}

impl Bytes {
    /// The table that a word leads to.
    #[inline(always)]
    pub(super) fn at(number: u64) -> Self {
        let address = (number & !(LOCKED | TABLE | HALVES_TABLE)) >> 2;
        if number & HALVES_TABLE != 0 {
            // SAFETY: the address is that of a table for halves, see `number`; they are never given back.
            let table = unsafe { &*(address as *const Table<2>) };
            Self { version: &table.version, units: &table.units }
        } else {
            // SAFETY: the same for tables for bytes.
            let table = unsafe { &*(address as *const Table<WORD_BYTES>) };
            Self { version: &table.version, units: &table.units }
        }
    }

    /// What the word is that leads to it.
    pub(super) fn number(self) -> u64 {
        let halves = if self.is_of_halves() { HALVES_TABLE } else { 0 };
        (std::ptr::from_ref(self.version) as u64) << 2 | RECORD | TABLE | halves
    }

    fn is_of_halves(self) -> bool {
        self.units.len() == 2
    }

    /// True if an access of some bytes can be put into it.
    pub(super) fn has_room_for(self, mask: u8) -> bool {
        !self.is_of_halves() || are_halves(mask)
    }

    /// A table in which the bytes of each part have that to remember, all others nothing, and with room for an access of some bytes.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = (u8, Plain)>, mask: u8) -> Self {
        let mut bytes = [Byte::default(); WORD_BYTES];
        let mut halves = are_halves(mask);
        for (mask, plain) in parts {
            halves &= are_halves(mask);
            let byte = Byte::of(plain);
            (0..WORD_BYTES).filter(|index| mask >> index & 1 != 0).for_each(|index| bytes[index] = byte);
        }
        let table = if halves {
            let table = HALVES.take();
            Self { version: &table.version, units: &table.units }
        } else {
            let table = BYTES.take();
            Self { version: &table.version, units: &table.units }
        };
        table.change(|units| {
            let size = WORD_BYTES / units.len();
            units.iter().enumerate().for_each(|(index, unit)| unit.store(bytes[index * size]));
        });
        table
    }

    /// The table is no word's any more.
    pub(super) fn give_back(self) {
        let address = std::ptr::from_ref(self.version);
        if self.is_of_halves() {
            // SAFETY: the version is the first member of such a table, which is never anything else.
            HALVES.part().lock().push(unsafe { &*address.cast::<Table<2>>() });
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
        if self.is_of_halves() { 0x0f << (4 * unit) } else { 1 << unit }
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
        let here = Stamp { step: number_of(worker.step) as u32, place };
        if kind == AccessKind::Read && self.is_covered(worker, word, mask, here, number) {
            return Some(true);
        }
        let mut locked = word.lock_bytes()?;
        if !locked.bytes().has_room_for(mask) {
            locked.spread();
        }
        let done = self.put_into_bytes(worker, kind, mask, place, locked.bytes());
        if done {
            locked.settle_after((kind, addr, mask), |step| self.is_past(step));
        }
        Some(done)
    }

    /// True if a read of some bytes need not be remembered in the table that a word leads to: others that are there tell as much. The
    /// word is not locked for that, so that many can read what many read.
    #[inline(always)]
    fn is_covered(&self, worker: &mut Worker, word: &TaskWord, mask: u8, here: Stamp, number: u64) -> bool {
        let table = Bytes::at(number);
        if !table.has_room_for(mask) {
            return false;
        }
        let version = table.version.load(Ordering::Acquire);
        // It may have come to another word since the word was looked at; from here on its version would tell.
        if version % 2 != 0 || (word.load() ^ number) & !LOCKED != 0 {
            return false;
        }
        let mut alike = Byte::default();
        for (_, unit) in table.units_of(mask) {
            let byte = unit.load();
            if byte == Byte::default() {
                return false;
            }
            if byte != alike && self.after_byte(worker, AccessKind::Read, byte, here) != Some(byte) {
                return false;
            }
            alike = byte;
        }
        fence(Ordering::Acquire);
        table.version.load(Ordering::Relaxed) == version
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

    /// What a byte remembers after an access. None: it must be looked at in full.
    #[inline]
    fn after_byte(&self, worker: &mut Worker, kind: AccessKind, byte: Byte, here: Stamp) -> Option<Byte> {
        let mut relation = |stamp: Stamp| match stamp.step {
            0 => Relation::Before,
            step if step == here.step => Relation::Before,
            step => self.relation(worker, past(u64::from(step))),
        };
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
        let (in_english, in_hebrew) = (relation(english), relation(hebrew));
        if in_english == Relation::Before && in_hebrew == Relation::Before {
            return Some(Byte { write, english: here, hebrew: here });
        }
        if english.step != hebrew.step {
            if self.keep_all.load(Ordering::Relaxed) {
                return None;
            }
            if !self.dropped.load(Ordering::Relaxed) {
                self.dropped.store(true, Ordering::Relaxed);
            }
        }
        Some(Byte {
            write,
            english: if in_english == Relation::Right { english } else { here },
            hebrew: if in_hebrew == Relation::Left { hebrew } else { here },
        })
    }
}
