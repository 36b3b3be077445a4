//! Plain accesses, which need no record: what a word remembers is worked out here, without the analysis.
//!
//! | access | goes on here if | then remembered |
//! |---|---|---|
//! | read | no parallel step has written the bytes | beside the write; with an unordered read of the same bytes as one of two |
//! | write | no parallel step has read or written the bytes | in place of all that comes before it, if it covers that |
//!
//! A write makes earlier reads superfluous: whoever is parallel to such a read and comes later is parallel to the write as
//! well. Of reads the last in English and in Hebrew order are kept, as by `keirin_core::analysis::tasks::kept`.

use super::words::{Form, TaskWord, number_of};
use super::{TaskDriver, Worker, sites};
use crate::places::PlaceNumber;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::AccessKind;
use keirin_core::sptree::{Relation, StepId};
use std::sync::atomic::Ordering;

/// How past steps stand to the running one: answers that were given before.
pub(super) struct Answers(Box<[(u64, Relation); Self::PLACES]>);

impl Answers {
    const PLACES: usize = 256;
    /// No step is asked about itself.
    const EMPTY: (u64, Relation) = (0, Relation::Before);

    pub(super) fn new() -> Self {
        Self(Box::new([Self::EMPTY; Self::PLACES]))
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(Self::EMPTY);
    }

    #[inline(always)]
    pub(super) fn relation(
        &mut self,
        past: StepId,
        present: StepId,
        ask: impl FnOnce() -> Relation,
    ) -> Relation {
        let key = u64::from(past.0) << 32 | u64::from(present.0);
        let place = &mut self.0[past.0 as usize % Self::PLACES];
        if place.0 != key {
            *place = (key, ask());
        }
        place.1
    }
}

/// What becomes of a word.
enum Change {
    /// All of it is there already.
    Nothing,
    /// A new form, and at which of the two places the access stands: the first, the second or both.
    To(Form, bool, bool),
    /// A second reader, behind the first: that one's place moves to the front.
    Behind(Form),
    /// It must be looked at in full.
    Full,
}

/// True if one place for each half of a word is enough when new bytes are put beside others.
#[inline(always)]
fn fits_beside(addr: usize, bytes: u8, new: u8, second: bool, place: PlaceNumber) -> bool {
    let other = bytes & !new;
    let fits = |half: u8, offset: usize| {
        other & half == 0 || new & half == 0 || sites::get(addr + offset, second) == place
    };
    fits(0x0f, 0) && fits(0xf0, 4)
}

fn past(number: u64) -> StepId {
    StepId(number as u32 - 1)
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// A plain access of a part of a word. False: it must be looked at in full.
    #[inline(always)]
    pub(super) fn plain_access(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        (addr, mask): (usize, u8),
        place: PlaceNumber,
    ) -> bool {
        let word = TaskWord::of(addr);
        loop {
            let old = word.load();
            let Some(form) = Form::of(old) else {
                if TaskWord::is_busy(old) {
                    std::hint::spin_loop();
                    continue;
                }
                return false;
            };
            if old == 0 && !word.admit() {
                return false;
            }
            let change = match kind {
                AccessKind::Read => self.read(worker, form, (addr, mask), place),
                AccessKind::Write => self.write(worker, form, (addr, mask), place),
            };
            let mut moved = None;
            let (form, first, second) = match change {
                Change::Nothing => return true,
                Change::Full => return false,
                Change::To(form, first, second) => (form, first, second),
                Change::Behind(form) => {
                    moved = Some([sites::get(addr, true), sites::get(addr + 4, true)]);
                    (form, false, true)
                }
            };
            let Some(new) = form.number() else { return false };
            if word.exchange(old, TaskWord::BUSY) {
                if let Some([low, high]) = moved {
                    sites::put(addr, mask & 0x0f, false, low, || word.used_in_line());
                    sites::put(addr, mask & 0xf0, false, high, || word.used_in_line());
                } else if first {
                    sites::put(addr, mask, false, place, || word.used_in_line());
                }
                if second {
                    sites::put(addr, mask, true, place, || word.used_in_line());
                }
                word.set(new);
                return true;
            }
        }
    }

    #[inline(always)]
    fn read(&self, worker: &mut Worker, form: Form, (addr, mask): (usize, u8), place: PlaceNumber) -> Change {
        let me = number_of(worker.step);
        match form {
            Form::Plain { write, written, read, read_bytes } => {
                if (write == me && written & mask == mask) || (read == me && read_bytes & mask == mask) {
                    return Change::Nothing;
                }
                if write != me && written & mask != 0 && self.relation(worker, past(write)).is_parallel() {
                    return Change::Full;
                }
                if read == 0 || (read == me && fits_beside(addr, read_bytes, mask, true, place)) {
                    let read_bytes = read_bytes | mask;
                    return Change::To(Form::Plain { write, written, read: me, read_bytes }, false, true);
                }
                match self.relation(worker, past(read)) {
                    Relation::Before if read_bytes & !mask == 0 => {
                        Change::To(Form::Plain { write, written, read: me, read_bytes: mask }, false, true)
                    }
                    Relation::Before | Relation::After => Change::Full,
                    side if read_bytes == mask && (write == 0 || self.is_past(past(write))) => {
                        if side == Relation::Left {
                            Change::To(Form::Readers { english: me, hebrew: read, bytes: mask }, true, false)
                        } else {
                            Change::Behind(Form::Readers { english: read, hebrew: me, bytes: mask })
                        }
                    }
                    _ => Change::Full,
                }
            }
            Form::Readers { english, hebrew, bytes } => {
                if (english == me || hebrew == me) && bytes & mask == mask {
                    return Change::Nothing;
                }
                if bytes != mask || self.keep_all.load(Ordering::Relaxed) {
                    return Change::Full;
                }
                let in_english = self.relation(worker, past(english));
                let in_hebrew = self.relation(worker, past(hebrew));
                if in_english == Relation::Before && in_hebrew == Relation::Before {
                    let form = Form::Plain { write: 0, written: 0, read: me, read_bytes: mask };
                    return Change::To(form, false, true);
                }
                let (first, second) = (in_english != Relation::Right, in_hebrew != Relation::Left);
                if !self.dropped.load(Ordering::Relaxed) {
                    self.dropped.store(true, Ordering::Relaxed);
                }
                if !first && !second {
                    return Change::Nothing;
                }
                let english = if first { me } else { english };
                let hebrew = if second { me } else { hebrew };
                Change::To(Form::Readers { english, hebrew, bytes }, first, second)
            }
        }
    }

    #[inline(always)]
    fn write(
        &self,
        worker: &mut Worker,
        form: Form,
        (addr, mask): (usize, u8),
        place: PlaceNumber,
    ) -> Change {
        let me = number_of(worker.step);
        match form {
            Form::Plain { write, written, read, read_bytes } => {
                if write == me && written & mask == mask {
                    return Change::Nothing;
                }
                if write != me && written & mask != 0 && self.relation(worker, past(write)).is_parallel() {
                    return Change::Full;
                }
                if read != 0
                    && read != me
                    && read_bytes & mask != 0
                    && self.relation(worker, past(read)).is_parallel()
                {
                    return Change::Full;
                }
                let written = if write == 0 || (write == me && fits_beside(addr, written, mask, false, place))
                {
                    written | mask
                } else if written & !mask == 0 {
                    mask
                } else {
                    return Change::Full;
                };
                // A read that this write covers, and that comes before it, is superfluous.
                let covered = read_bytes & !mask == 0 && (read_bytes & mask != 0 || read == me);
                let (read, read_bytes) = if covered { (0, 0) } else { (read, read_bytes) };
                Change::To(Form::Plain { write: me, written, read, read_bytes }, true, false)
            }
            Form::Readers { english, hebrew, bytes } => {
                let before = |number: u64, worker: &mut Worker| {
                    number == me || self.relation(worker, past(number)) == Relation::Before
                };
                if bytes & !mask != 0 || !before(english, worker) || !before(hebrew, worker) {
                    return Change::Full;
                }
                let form = Form::Plain { write: me, written: mask, read: 0, read_bytes: 0 };
                Change::To(form, true, false)
            }
        }
    }
}
