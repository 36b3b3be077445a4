//! What does not fit into a word: records with cells of the analysis, and tables of bytes. Taking them, giving them back, and putting what they
//! hold into the word again when it fits.
//!
//! **Who may touch what.** Who has set the lock bit of the word.

use super::bytes::Bytes;
use super::sites;
use super::under_locks;
use super::words::{Form, LEAD, LOCKED, RECORD, TABLE, TaskWord, number_of};
use crate::objects::Objects;
use crate::shadow::{Cells, pages};
use crate::spin::pause;
use keirin_core::analysis::tasks::kept::Entry;
use keirin_core::analysis::tasks::plain::{KeepsPlain, Plain};
use keirin_core::event::{AccessKind, SiteId};
use keirin_core::sptree::StepId;
use keirin_core::tasks::{Actor, Known};
use std::marker::PhantomData;

/// What the analysis remembers of a word, and the objects that lie there.
pub(super) struct Record<A: KeepsPlain> {
    /// When what is past was forgotten last: see [`super::TaskDriver::note_alone`].
    pub(super) phase: u32,
    pub(super) cells: Cells<A::Cell>,
    pub(super) objects: Objects<Known, Actor>,
}

impl<A: KeepsPlain> Record<A> {
    /// A new one, on the heap, with a cell for each part.
    fn of_parts(parts: impl IntoIterator<Item = (u8, Plain)>, era: u32) -> *mut Self {
        Self::of_cells(parts.into_iter().map(|(bytes, plain)| (bytes, A::of_plain(plain, era))))
    }

    fn of_cells(cells: impl IntoIterator<Item = (u8, A::Cell)>) -> *mut Self {
        let cells = cells.into_iter().collect();
        Box::into_raw(Box::new(Self { phase: 0, cells, objects: Objects::default() }))
    }
}

impl TaskWord {
    /// Takes the word's record, which is made if there is none. None if the runtime is being switched off or the memory is
    /// used up. `addr` is the address in the program.
    pub(super) fn lock<A: KeepsPlain>(&self, addr: usize, era: u32) -> Option<LockedWord<'_, A>> {
        let mut tries = 0;
        loop {
            let old = self.load();
            let form = match Form::of(old) {
                None if old & LOCKED == 0 && Self::is_table(old) => {
                    if let Some(locked) = self.lock_bytes() {
                        return Some(locked.into_record(era));
                    }
                    continue;
                }
                None if old & LOCKED == 0 => {
                    if self.take_record(old) {
                        return Some(LockedWord { word: self, after: old, marker: PhantomData });
                    }
                    continue;
                }
                None => {
                    if !crate::watch::is_on() {
                        return None;
                    }
                    pause(tries);
                    tries = tries.wrapping_add(1);
                    continue;
                }
                Some(form) => form,
            };
            if old == 0 && !self.admit() {
                return None;
            }
            pages::mark_record(self.address());
            let record = match under_locks::accesses(form, addr) {
                Some(accesses) => Record::<A>::of_cells([(0xff, A::of_under_locks(accesses, era))]),
                None => Record::<A>::of_parts(if old == 0 { Vec::new() } else { form.parts(addr) }, era),
            };
            let after = (record as u64) << 2 | RECORD;
            if self.exchange(old, after | LOCKED) {
                return Some(LockedWord { word: self, after, marker: PhantomData });
            }
            // SAFETY: it was just made, and nobody has seen it.
            drop(unsafe { Box::from_raw(record) });
            if !crate::watch::is_on() {
                return None;
            }
        }
    }

    /// Takes the record if there is one.
    pub(super) fn lock_record<A: KeepsPlain>(&self, addr: usize) -> Option<LockedWord<'_, A>> {
        if self.load() & (LEAD | TABLE) == RECORD { self.lock(addr, 0) } else { None }
    }

    /// Takes the table of bytes. None if there is none, or the runtime is being switched off.
    pub(super) fn lock_bytes(&self) -> Option<LockedBytes<'_>> {
        let mut tries = 0;
        loop {
            let old = self.load();
            if !Self::is_table(old) {
                return None;
            }
            if old & LOCKED == 0 && self.take_record(old) {
                return Some(LockedBytes { word: self, after: old });
            }
            if !crate::watch::is_on() {
                return None;
            }
            pause(tries);
            tries = tries.wrapping_add(1);
        }
    }

    /// Puts a table of bytes in the place of what is there. False: it is something else.
    pub(super) fn exchange_for_bytes(&self, old: u64, bytes: Bytes) -> bool {
        pages::mark_record(self.address());
        let done = self.exchange(old, bytes.number());
        if !done {
            bytes.give_back();
        }
        done
    }
}

/// A word with a record that the calling thread owns.
pub(super) struct LockedWord<'a, A: KeepsPlain> {
    word: &'a TaskWord,
    /// What the word will be when it is let go.
    after: u64,
    marker: PhantomData<A>,
}

impl<A: KeepsPlain> Drop for LockedWord<'_, A> {
    fn drop(&mut self) {
        self.word.set(self.after);
    }
}

impl<A: KeepsPlain> LockedWord<'_, A> {
    /// The record.
    pub(super) fn record(&mut self) -> &mut Record<A> {
        // SAFETY: while the word is locked, and before it is settled, its number is the address of a record that was made in
        // `lock` and belongs to who holds the lock.
        unsafe { &mut *((self.after >> 2) as *mut Record<A>) }
    }

    /// Forgets some bytes, and the record if nothing is left.
    pub(super) fn forget(mut self, mask: u8) {
        let record = self.record();
        record.cells.forget(mask);
        record.objects.forget(mask);
        if record.cells.is_empty() && record.objects.is_empty() {
            self.replace(0);
        }
    }

    /// Puts the record's content into the word if it may fit after an access: if there are several cells, and they were read, that is not
    /// looked at for each of them.
    #[inline(always)]
    pub(super) fn settle_after(
        mut self,
        (kind, addr, bytes): (AccessKind, usize, u8),
        is_past: impl FnMut(StepId) -> bool,
    ) {
        const LAST: u8 = 0x80;
        if kind == AccessKind::Write || bytes & LAST != 0 || self.record().cells.is_single() {
            self.settle(addr, is_past);
        }
    }

    /// Puts the record's content into the word if it fits. `is_past`: a step precedes all that is still to come, so that it need
    /// not be remembered.
    pub(super) fn settle(mut self, addr: usize, is_past: impl FnMut(StepId) -> bool) {
        let record = self.record();
        if !record.objects.is_empty() {
            return;
        }
        if A::KEEPS_UNDER_LOCKS
            && let Some(accesses) = record.cells.only().and_then(A::under_locks)
        {
            if let Some(number) = under_locks::put_packed(self.word, addr, accesses) {
                self.replace(number);
            }
            return;
        }
        let plain = record.cells.iter().map(|(bytes, cell)| A::plain(cell).map(|plain| (bytes, plain)));
        let Some(parts) = plain.collect::<Option<Vec<_>>>() else { return };
        if let Some(number) = put_packed(self.word, addr, parts.iter().copied(), is_past) {
            self.replace(number);
        } else {
            self.replace(Bytes::of_parts(parts, 0xff).number());
        }
    }

    fn replace(mut self, number: u64) {
        let record: *mut Record<A> = self.record();
        self.after = number;
        // SAFETY: it was made by `Box::into_raw` in `lock`, and nothing refers to it any more.
        drop(unsafe { Box::from_raw(record) });
    }
}

/// A word with a table of bytes that the calling thread owns.
pub(super) struct LockedBytes<'a> {
    word: &'a TaskWord,
    /// What the word will be when it is let go.
    after: u64,
}

impl Drop for LockedBytes<'_> {
    fn drop(&mut self) {
        self.word.set(self.after);
    }
}

impl<'a> LockedBytes<'a> {
    /// The table.
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::at(self.after)
    }

    /// Forgets some bytes, and the table if nothing is left.
    pub(super) fn forget(mut self, mask: u8) {
        if !self.bytes().has_room_for(mask) {
            self.spread();
        }
        self.bytes().forget(mask);
        if self.bytes().is_empty() {
            self.replace(0);
        }
    }

    /// Makes room for accesses of any bytes.
    pub(super) fn spread(&mut self) {
        let table = self.bytes();
        self.after = Bytes::of_bytes(table.parts()).number();
        // Whoever waits for the word looks at it again.
        self.word.set(self.after | LOCKED);
        table.give_back();
    }

    /// Puts the bytes into the word if they may fit after an access; after reads that is not looked at for each of them.
    pub(super) fn settle_after(
        self,
        (kind, addr, bytes): (AccessKind, usize, u8),
        is_past: impl FnMut(StepId) -> bool,
    ) {
        const LAST: u8 = 0x80;
        if kind == AccessKind::Write || bytes & LAST != 0 {
            let word = self.word;
            if let Some(number) = put_packed(word, addr, self.bytes().parts(), is_past) {
                self.replace(number);
            }
        }
    }

    fn replace(mut self, number: u64) {
        let table = self.bytes();
        self.after = number;
        table.give_back();
    }

    /// Puts a record in the place of the table.
    fn into_record<A: KeepsPlain>(self, era: u32) -> LockedWord<'a, A> {
        let after = (Record::<A>::of_parts(self.bytes().parts(), era) as u64) << 2 | RECORD;
        let word = self.word;
        // It stays locked.
        self.replace(after | LOCKED);
        LockedWord { word, after, marker: PhantomData }
    }
}

/// One of the two accesses of a word, with its bytes and the place for each half.
#[derive(Default)]
struct Access {
    step: Option<StepId>,
    bytes: u8,
    places: [Option<SiteId>; 2],
}

impl Access {
    /// Adds an access of some bytes. None: it does not fit.
    fn add(&mut self, entry: Entry, bytes: u8) -> Option<()> {
        if self.step.is_some_and(|step| step != entry.step) {
            return None;
        }
        for (place, half) in self.places.iter_mut().zip([0x0f, 0xf0]).filter(|(_, half)| bytes & half != 0) {
            // A half that was accessed in parts may have one place for each.
            if self.bytes & half != 0 && *place != Some(entry.site) {
                return None;
            }
            *place = Some(entry.site);
        }
        (self.step, self.bytes) = (Some(entry.step), self.bytes | bytes);
        Some(())
    }

    fn number(&self) -> u64 {
        self.step.map_or(0, number_of)
    }
}

/// A word, the places that go with it, and the write behind it with its place.
type Packed = (u64, [[Option<SiteId>; 2]; 2], Option<(u64, u32)>);

/// The number that stands for some bytes of a word which the caller owns, if they fit. Their places are where they belong then.
/// `is_past`: a step precedes all that is still to come, so that it need not be remembered.
fn put_packed(
    word: &TaskWord,
    addr: usize,
    parts: impl Iterator<Item = (u8, Plain)>,
    is_past: impl FnMut(StepId) -> bool,
) -> Option<u64> {
    let (number, places, behind) = pack(parts, is_past)?;
    let mut line = sites::own(addr)?;
    if behind.is_some_and(|(step, place)| !line.put_behind(addr, step, place, || word.others_behind())) {
        return None;
    }
    for (places, second) in places.into_iter().zip([false, true]) {
        for (place, bytes) in places.into_iter().zip([0x0f, 0xf0]) {
            if let Some(place) = place {
                line.put((addr, bytes), second, place.0, || word.used_in_line());
            }
        }
    }
    Some(number)
}

/// The word that stands for some bytes.
fn pack(parts: impl Iterator<Item = (u8, Plain)>, mut is_past: impl FnMut(StepId) -> bool) -> Option<Packed> {
    let (mut write, mut english, mut hebrew) = (Access::default(), Access::default(), Access::default());
    for (bytes, plain) in parts {
        if let Some((in_english, in_hebrew)) = plain.reads {
            english.add(in_english, bytes)?;
            hebrew.add(in_hebrew, bytes)?;
        }
        if let Some(entry) = plain.write {
            write.add(entry, bytes)?;
        }
    }
    if english.step == hebrew.step {
        let (written, read_bytes) = (write.bytes, hebrew.bytes);
        let form = Form::Plain { write: write.number(), written, read: hebrew.number(), read_bytes };
        return Some((form.number()?, [write.places, hebrew.places], None));
    }
    let (english_step, hebrew_step, bytes) = (english.number(), hebrew.number(), english.bytes);
    let behind = match write.step.filter(|step| !is_past(*step)) {
        None => None,
        Some(step) if write.bytes == bytes => {
            let place = write.places.iter().flatten().next()?;
            let one_place = write.places.iter().flatten().all(|other| other == place);
            Some((number_of(step), one_place.then_some(place.0)?))
        }
        Some(_) => return None,
    };
    let form = Form::Readers { english: english_step, hebrew: hebrew_step, bytes, behind: behind.is_some() };
    Some((form.number()?, [english.places, hebrew.places], behind))
}
