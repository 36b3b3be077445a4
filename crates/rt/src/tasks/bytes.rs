//! Words whose bytes were accessed by different steps: plain accesses that fit into no form.
//!
//! Such a word has a table of what its bytes remember, on which the rules of [`super::plain`] work for each stretch of them, without the
//! analysis and its cells. When the bytes are alike again they go back into the word; when an access must be looked at in full, the word
//! gets a record.

use super::plain::past;
use super::words::{TaskWord, number_of, step_of};
use super::{TaskDriver, Worker};
use crate::places::PlaceNumber;
use crate::shadow::Cells;
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

/// What a stretch of bytes remembers: see [`Plain`].
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
pub(super) struct Bytes(Cells<Byte>);

impl Bytes {
    /// The bytes of each part have that to remember, all others nothing.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = (u8, Plain)>) -> Self {
        Self(parts.into_iter().map(|(bytes, plain)| (bytes, Byte::of(plain))).collect())
    }

    /// Bytes that remember the same, with that.
    pub(super) fn parts(&self) -> impl Iterator<Item = (u8, Plain)> {
        self.0.iter().map(|(bytes, byte)| (bytes, byte.plain()))
    }

    pub(super) fn forget(&mut self, bytes: u8) {
        self.0.forget(bytes);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts other steps in the place of all.
    pub(super) fn resolve(&mut self, resolve: impl Fn(StepId) -> StepId) {
        for (_, byte) in self.0.iter_mut() {
            for stamp in [&mut byte.write, &mut byte.english, &mut byte.hebrew] {
                if stamp.step != 0 {
                    stamp.step = number_of(resolve(step_of(u64::from(stamp.step)))) as u32;
                }
            }
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

    /// Has some bytes remember an access. False: it must be looked at in full, for the bytes that were left as they were.
    pub(super) fn put_into_bytes(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        mask: u8,
        place: PlaceNumber,
        table: &mut Bytes,
    ) -> bool {
        let here = Stamp { step: number_of(worker.step) as u32, place };
        let mut all = true;
        table.0.touch(mask, |byte, _| match self.after_byte(worker, kind, *byte, here) {
            Some(new) => *byte = new,
            None => all = false,
        });
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
