//! Words whose bytes were accessed by different steps: plain accesses that fit into no form.
//!
//! Such a word has a table of what each of its bytes remembers, on which the rules of [`super::plain`] work byte by byte, without the
//! analysis and its cells. When the bytes are alike again they go back into the word; when an access must be looked at in full, the word
//! gets a record.

use super::plain::past;
use super::words::{TaskWord, number_of, step_of};
use super::{TaskDriver, Worker};
use crate::layout::WORD_BYTES;
use crate::places::PlaceNumber;
use keirin_core::analysis::tasks::kept::Entry;
use keirin_core::analysis::tasks::plain::{KeepsPlain, Plain};
use keirin_core::event::{AccessKind, SiteId};
use keirin_core::sptree::{Relation, StepId};
use std::sync::atomic::Ordering;

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

/// What the bytes of a word remember.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Bytes([Byte; WORD_BYTES]);

impl Bytes {
    /// The bytes of each part have that to remember, all others nothing.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = (u8, Plain)>) -> Self {
        let mut table = Self::default();
        for (bytes, plain) in parts {
            table.put(bytes, Byte::of(plain));
        }
        table
    }

    /// Bytes that remember the same, with that.
    pub(super) fn parts(&self) -> impl Iterator<Item = (u8, Plain)> + use<'_> {
        let mut left = !self.alike(Byte::default());
        std::iter::from_fn(move || {
            let byte = self.0.get(left.trailing_zeros() as usize)?;
            let bytes = self.alike(*byte);
            left &= !bytes;
            Some((bytes, byte.plain()))
        })
    }

    /// The bytes that remember just this.
    #[inline(always)]
    fn alike(&self, byte: Byte) -> u8 {
        self.0.iter().enumerate().fold(0, |bytes, (index, other)| bytes | u8::from(*other == byte) << index)
    }

    #[inline(always)]
    fn put(&mut self, bytes: u8, byte: Byte) {
        let mut left = bytes;
        while let Some(place) = self.0.get_mut(left.trailing_zeros() as usize) {
            *place = byte;
            left &= left - 1;
        }
    }

    /// False if it is likely that the bytes remember different things.
    #[inline(always)]
    pub(super) fn may_be_alike(&self) -> bool {
        self.0[0] == self.0[WORD_BYTES - 1]
    }

    pub(super) fn forget(&mut self, bytes: u8) {
        self.put(bytes, Byte::default());
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Puts other steps in the place of all.
    pub(super) fn resolve(&mut self, resolve: impl Fn(StepId) -> StepId) {
        let stamps =
            self.0.iter_mut().flat_map(|byte| [&mut byte.write, &mut byte.english, &mut byte.hebrew]);
        for stamp in stamps.filter(|stamp| stamp.step != 0) {
            stamp.step = number_of(resolve(step_of(u64::from(stamp.step)))) as u32;
        }
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// A plain access of some bytes of a word that has a table. None: it has none any more. False: it must be looked at in full.
    pub(super) fn access_of_bytes(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        (addr, mask): (usize, u8),
        place: PlaceNumber,
    ) -> Option<bool> {
        let mut locked = TaskWord::of(addr).lock_bytes()?;
        let done = self.put_into_bytes(worker, kind, mask, place, locked.bytes());
        if done {
            locked.settle_after((kind, addr, mask), |step| self.is_past(step));
        }
        Some(done)
    }

    /// Has some bytes remember an access. False: it must be looked at in full, and nothing was changed.
    pub(super) fn put_into_bytes(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        mask: u8,
        place: PlaceNumber,
        table: &mut Bytes,
    ) -> bool {
        let here = Stamp { step: number_of(worker.step) as u32, place };
        let mut left = mask;
        let mut changes = Vec::new();
        // Nothing is changed before all were looked at.
        while left != 0 {
            let old = table.0[left.trailing_zeros() as usize];
            let bytes = if mask.is_power_of_two() { mask } else { table.alike(old) & left };
            let Some(new) = self.after_byte(worker, kind, old, here) else { return false };
            if bytes == mask {
                table.put(bytes, new);
                return true;
            }
            changes.push((bytes, new));
            left &= !bytes;
        }
        for (bytes, new) in changes {
            table.put(bytes, new);
        }
        true
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
