//! Plain accesses, which need no record: what a word remembers is worked out here, without the analysis.
//!
//! | access | goes on here if | then remembered |
//! |---|---|---|
//! | read | no parallel step has written the bytes | beside the write; with an unordered read of the same bytes as one of two |
//! | write | no parallel step has read or written the bytes | in place of all that comes before it, if it covers that |
//!
//! A write makes earlier reads superfluous: whoever is parallel to such a read and comes later is parallel to the write as
//! well. Of reads the last in English and in Hebrew order are kept, as by `keirin_core::analysis::tasks::kept`. A word that remembers only what
//! comes before all that is still to come is as good as one that remembers nothing.

use super::bytes::Bytes;
use super::sites::{self, OwnedLine};
use super::words::{Form, TaskWord, number_of};
use super::{TaskDriver, Worker};
use crate::places::PlaceNumber;
use crate::tbb;
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

/// Pairs of steps among which the running one was found.
pub(super) struct Among(Box<[(u64, StepId); Self::PLACES]>);

impl Among {
    const PLACES: usize = 64;

    pub(super) fn new() -> Self {
        Self(Box::new([(0, StepId::NONE); Self::PLACES]))
    }

    pub(super) fn clear(&mut self) {
        self.0.fill((0, StepId::NONE));
    }

    fn place([one, other]: [StepId; 2]) -> (u64, usize) {
        (u64::from(one.0) << 32 | u64::from(other.0), (one.0 ^ other.0 << 3) as usize % Self::PLACES)
    }

    #[inline(always)]
    fn has(&self, pair: [StepId; 2], present: StepId) -> bool {
        let (key, place) = Self::place(pair);
        self.0[place] == (key, present)
    }

    fn add(&mut self, pair: [StepId; 2], present: StepId) {
        let (key, place) = Self::place(pair);
        self.0[place] = (key, present);
    }
}

/// Whether a plain access was remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// The shadow tells that the step has done it.
    Known,
    /// It needs no remembering, and the shadow does not tell.
    Unknown,
    /// It must be looked at in full.
    No,
}

/// What becomes of a word.
pub(super) enum Change {
    /// All of it is there already.
    Nothing,
    /// It need not be there, and will not be.
    Unknown,
    /// A new form, and at which of the two places the access stands: the first, the second or both.
    To(Form, bool, bool),
    /// A read beside the one that is there, whose place is the second one. If the new one is not in front, that place moves there
    /// unless it is of the other half. A write may have to go behind.
    Second { form: Form, front: bool, behind: Option<u64> },
    /// The only read; and the write that was behind comes to the front again.
    Front(Form),
    /// It does not fit, or must be looked at in full.
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

pub(super) fn past(number: u64) -> StepId {
    StepId(number as u32 - 1)
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// A plain access of a part of a word.
    #[inline(never)]
    pub(super) fn plain_access(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        (addr, mask): (usize, u8),
        place: &mut dyn FnMut() -> PlaceNumber,
    ) -> Done {
        let word = TaskWord::of(addr);
        loop {
            let old = word.load();
            let Some(form) = Form::of(old) else {
                if !TaskWord::is_table(old) {
                    return Done::No;
                }
                match self.access_of_bytes(worker, kind, (addr, mask), place(), old) {
                    Some(true) => return Done::Unknown,
                    None if crate::watch::is_on() => continue,
                    _ => return Done::No,
                }
            };
            if old == 0 && !word.admit() {
                return Done::No;
            }
            let form = match form {
                Form::UnderLocks { .. } => match self.plain_after_locks(worker, kind, form, mask) {
                    Some(form) => form,
                    None => return Done::No,
                },
                _ if self.is_all_past(worker, form) => Form::NOTHING,
                _ => form,
            };
            let change = match kind {
                AccessKind::Read => self.read(worker, form, (addr, mask), place),
                AccessKind::Write => self.write(worker, form, (addr, mask), place),
            };
            let new = match change {
                // The hooks do not look at halves and parts.
                Change::Nothing if matches!(form, Form::Halves { .. } | Form::Part { .. }) => {
                    return Done::Unknown;
                }
                Change::Nothing => return Done::Known,
                Change::Unknown => return Done::Unknown,
                Change::Full => None,
                Change::To(form, ..) | Change::Second { form, .. } | Change::Front(form) => form.number(),
            };
            let here = place();
            if let Some(new) = new {
                let Some(mut line) = word.own_as(old) else {
                    if crate::watch::is_on() {
                        continue;
                    }
                    return Done::No;
                };
                if put_places(&mut line, word, &change, (addr, mask), here) {
                    word.set(new);
                    return Done::Known;
                }
            }
            let bytes = Bytes::of_parts(form.parts(addr), mask);
            if !self.put_into_bytes(worker, kind, mask, here, bytes) {
                bytes.give_back();
                return Done::No;
            }
            if word.exchange_for_bytes(old, bytes) {
                return Done::Unknown;
            }
            if !crate::watch::is_on() {
                return Done::No;
            }
        }
    }

    /// What counts for a plain access of a word that was accessed under locks. None: it must be looked at in full.
    #[cold]
    fn plain_after_locks(&self, worker: &mut Worker, kind: AccessKind, form: Form, mask: u8) -> Option<Form> {
        let Form::UnderLocks { english, hebrew, .. } = form else { return None };
        // Whoever is parallel to what this write covers, and comes later, is parallel to it as well, and no lock keeps them apart.
        let covers = kind == AccessKind::Write && mask == 0xff;
        let superfluous = self.is_all_past(worker, form)
            || (covers && self.is_before(worker, english) && self.is_before(worker, hebrew));
        superfluous.then_some(Form::NOTHING)
    }

    /// A read is not remembered that would be needed if there were order beside the tree.
    #[inline(always)]
    pub(super) fn note_dropped(&self) {
        if !self.dropped.load(Ordering::Relaxed) {
            self.dropped.store(true, Ordering::Relaxed);
        }
    }

    /// True if a read of the running step need not be remembered beside those of two parallel steps, because it stands below a node that has both of
    /// them below it. For let `w` be a later step that is parallel to it. If `w` stands elsewhere, it is parallel to all that is below the node. If it
    /// stands there as well, let the left one of the two be below the child `c` of their common ancestor, which is an async node: if `w` is right of `c`
    /// it is parallel to the left one, if it is below `c` to the right one. Left of `c` it is parallel to both, or comes before them and so is no later
    /// step. (The paper on SPD3 keeps reads by this alone.)
    ///
    /// Neither of the two may come before it: it takes the place of such a one, so that nothing is lost where the tree does not tell all order, as
    /// when a task waits for its children and not for theirs. (Of three reads that are parallel to each other one is not remembered in any case.)
    ///
    /// So as long as the tree tells all order. The parts of a reduction of oneTBB that come together in the middle of a step make another tree.
    #[inline]
    pub(super) fn is_among(&self, worker: &mut Worker, english: StepId, hebrew: StepId) -> bool {
        if !worker.known.is_empty() || tbb::is_used() {
            return false;
        }
        let (pair, present) = ([english, hebrew], worker.step);
        if worker.among.has(pair, present) {
            return true;
        }
        let is = pair.into_iter().all(|step| self.relation(worker, step).is_parallel())
            && self.labels.is_among(present, english, hebrew);
        if is {
            worker.among.add(pair, present);
        }
        is
    }

    /// What becomes of a word when a part of it is read.
    #[inline(always)]
    pub(super) fn read(
        &self,
        worker: &mut Worker,
        form: Form,
        (addr, mask): (usize, u8),
        place: &mut dyn FnMut() -> PlaceNumber,
    ) -> Change {
        let me = number_of(worker.step);
        match form {
            Form::Plain { write, written, read, read_bytes } => {
                if (write == me && written & mask == mask) || (read == me && read_bytes & mask == mask) {
                    return Change::Nothing;
                }
                if write != me && written & mask != 0 && self.relation(worker, past(write)).is_parallel() {
                    return Change::Full;
                }
                if read == 0 || (read == me && fits_beside(addr, read_bytes, mask, true, place())) {
                    let read_bytes = read_bytes | mask;
                    return Change::To(Form::Plain { write, written, read: me, read_bytes }, false, true);
                }
                if read == me {
                    return Change::Full;
                }
                let is_half = mask == 0x0f || mask == 0xf0;
                let apart = is_half && read_bytes == !mask;
                // What is about other bytes need not come before.
                let side = if apart { Relation::Before } else { self.relation(worker, past(read)) };
                match side {
                    Relation::Before if apart => {}
                    Relation::Before if read_bytes & !mask == 0 => {
                        return Change::To(
                            Form::Plain { write, written, read: me, read_bytes: mask },
                            false,
                            true,
                        );
                    }
                    Relation::Before if read_bytes == 0xff && is_half => {}
                    Relation::Left | Relation::Right if read_bytes == mask => {}
                    _ => return Change::Full,
                }
                // There is room for two reads, and the write goes behind, unless it need not be remembered.
                let all = if side == Relation::Before { 0xff } else { mask };
                let behind = write != 0 && !self.is_past(past(write));
                if behind && (written != all || !one_place(addr, written)) {
                    return Change::Full;
                }
                let form = match side {
                    Relation::Left => Form::Readers { english: me, hebrew: read, bytes: mask, behind },
                    Relation::Right => Form::Readers { english: read, hebrew: me, bytes: mask, behind },
                    _ => {
                        let steps = if mask == 0x0f { [me, read] } else { [read, me] };
                        Form::Halves { steps, kind: AccessKind::Read, behind }
                    }
                };
                let front = side == Relation::Left;
                Change::Second { form, front, behind: behind.then_some(write) }
            }
            Form::Readers { english, hebrew, bytes, behind } => {
                if (english == me || hebrew == me) && bytes & mask == mask {
                    return Change::Nothing;
                }
                if bytes & mask != mask || self.keep_all.load(Ordering::Relaxed) {
                    return Change::Full;
                }
                let write = if behind { sites::write_behind(addr).0 } else { 0 };
                if behind && self.relation(worker, past(write)).is_parallel() {
                    return Change::Full;
                }
                let in_english = self.relation(worker, past(english));
                let in_hebrew = self.relation(worker, past(hebrew));
                if bytes != mask && (in_english != Relation::Right || in_hebrew != Relation::Left) {
                    // It would be remembered for a part of the bytes.
                    return Change::Full;
                }
                if in_english == Relation::Before && in_hebrew == Relation::Before {
                    let written = if behind { bytes } else { 0 };
                    let form = Form::Plain { write, written, read: me, read_bytes: mask };
                    return if behind { Change::Front(form) } else { Change::To(form, false, true) };
                }
                let (first, second) = (in_english != Relation::Right, in_hebrew != Relation::Left);
                self.note_dropped();
                // Of whole words the hooks can tell a step's own reads if it is remembered; of other bytes most are somebody else's.
                if !first && !second || mask != 0xff && self.is_among(worker, past(english), past(hebrew)) {
                    return Change::Unknown;
                }
                let english = if first { me } else { english };
                let hebrew = if second { me } else { hebrew };
                Change::To(Form::Readers { english, hebrew, bytes, behind }, first, second)
            }
            Form::Halves { steps, kind, behind } => {
                let half = usize::from(mask & 0x0f == 0);
                if mask != 0x0f && mask != 0xf0 {
                    return Change::Full;
                }
                if steps[half] == me {
                    return Change::Nothing;
                }
                if kind == AccessKind::Write || self.relation(worker, past(steps[half])) != Relation::Before {
                    return Change::Full;
                }
                let write = if behind { sites::write_behind(addr).0 } else { 0 };
                if behind && self.relation(worker, past(write)).is_parallel() {
                    return Change::Full;
                }
                if steps[1 - half] != me {
                    let mut steps = steps;
                    steps[half] = me;
                    return Change::To(Form::Halves { steps, kind, behind }, false, true);
                }
                let written = if behind { 0xff } else { 0 };
                let form = Form::Plain { write, written, read: me, read_bytes: 0xff };
                if behind { Change::Front(form) } else { Change::To(form, false, true) }
            }
            Form::Part { rest, part, bytes } => match is_of(me, (rest, part, bytes), mask) {
                true => Change::Nothing,
                false => Change::Full,
            },
            Form::UnderLocks { .. } => Change::Full,
        }
    }

    /// The same when it is written.
    #[inline(always)]
    pub(super) fn write(
        &self,
        worker: &mut Worker,
        form: Form,
        (addr, mask): (usize, u8),
        place: &mut dyn FnMut() -> PlaceNumber,
    ) -> Change {
        let me = number_of(worker.step);
        let before = |number: u64, worker: &mut Worker| {
            number == me || self.relation(worker, past(number)) == Relation::Before
        };
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
                // A read that this write covers, and that comes before it, is superfluous.
                let covered = read_bytes & !mask == 0 && (read_bytes & mask != 0 || read == me);
                let (read, read_bytes) = if covered { (0, 0) } else { (read, read_bytes) };
                let written =
                    if write == 0 || (write == me && fits_beside(addr, written, mask, false, place())) {
                        written | mask
                    } else if written & !mask == 0 {
                        mask
                    } else if (written == 0xff || written == !mask)
                        && read == 0
                        && write != me
                        && (mask == 0x0f || mask == 0xf0)
                    {
                        let steps = if mask == 0x0f { [me, write] } else { [write, me] };
                        let form = Form::Halves { steps, kind: AccessKind::Write, behind: false };
                        return Change::To(form, true, false);
                    } else if written == 0xff && read == 0 && write != me {
                        return Change::To(Form::Part { rest: write, part: me, bytes: mask }, false, true);
                    } else {
                        return Change::Full;
                    };
                Change::To(Form::Plain { write: me, written, read, read_bytes }, true, false)
            }
            Form::Readers { english, hebrew, bytes, behind } => {
                let ordered = before(english, worker)
                    && before(hebrew, worker)
                    && (!behind || before(sites::write_behind(addr).0, worker));
                if bytes & !mask != 0 || !ordered {
                    return Change::Full;
                }
                let form = Form::Plain { write: me, written: mask, read: 0, read_bytes: 0 };
                Change::To(form, true, false)
            }
            Form::Halves { steps, kind, behind } => {
                let half = usize::from(mask & 0x0f == 0);
                if mask == 0xff {
                    let ordered = steps.iter().all(|step| before(*step, worker))
                        && (!behind || before(sites::write_behind(addr).0, worker));
                    if !ordered {
                        return Change::Full;
                    }
                    let form = Form::Plain { write: me, written: mask, read: 0, read_bytes: 0 };
                    return Change::To(form, true, false);
                }
                if (mask != 0x0f && mask != 0xf0) || (kind == AccessKind::Read && behind) {
                    return Change::Full;
                }
                if kind == AccessKind::Write && steps[half] == me {
                    return Change::Nothing;
                }
                if !before(steps[half], worker) {
                    return Change::Full;
                }
                if kind == AccessKind::Read {
                    // The read of the other half stays.
                    let (read, read_bytes) = (steps[1 - half], !mask);
                    return Change::To(
                        Form::Plain { write: me, written: mask, read, read_bytes },
                        true,
                        false,
                    );
                }
                if steps[1 - half] == me {
                    let form = Form::Plain { write: me, written: 0xff, read: 0, read_bytes: 0 };
                    return Change::To(form, true, false);
                }
                let mut steps = steps;
                steps[half] = me;
                Change::To(Form::Halves { steps, kind, behind }, true, false)
            }
            Form::Part { rest, part, bytes } => {
                if is_of(me, (rest, part, bytes), mask) {
                    return Change::Nothing;
                }
                let ordered = (mask & !bytes == 0 || before(rest, worker))
                    && (mask & bytes == 0 || before(part, worker));
                match ordered && bytes & !mask == 0 {
                    false => Change::Full,
                    true if mask == 0xff => {
                        let form = Form::Plain { write: me, written: mask, read: 0, read_bytes: 0 };
                        Change::To(form, true, false)
                    }
                    true => Change::To(Form::Part { rest, part: me, bytes: mask }, false, true),
                }
            }
            Form::UnderLocks { .. } => Change::Full,
        }
    }
}

/// True if a step has written some bytes of a word, of which one step has written a part after another one had written all.
#[inline(always)]
fn is_of(step: u64, (rest, part, bytes): (u64, u64, u8), mask: u8) -> bool {
    (mask & !bytes == 0 || rest == step) && (mask & bytes == 0 || part == step)
}

/// True if what wrote some bytes of a word stands at one place.
fn one_place(addr: usize, bytes: u8) -> bool {
    bytes & 0x0f == 0 || bytes & 0xf0 == 0 || sites::get(addr, false) == sites::get(addr + 4, false)
}

/// Puts the places of accesses where they belong. False: there is no room for the write behind.
#[inline(always)]
fn put_places(
    line: &mut OwnedLine,
    word: &TaskWord,
    change: &Change,
    (addr, mask): (usize, u8),
    place: PlaceNumber,
) -> bool {
    let put = |line: &mut OwnedLine, bytes: u8, second: bool, place| {
        line.put((addr, bytes), second, place, || word.used_in_line());
    };
    match *change {
        Change::To(_, first, second) => {
            if first {
                put(line, mask, false, place);
            }
            if second {
                put(line, mask, true, place);
            }
        }
        Change::Second { form, front, behind } => {
            if let Some(write) = behind {
                let half = if mask & 0x0f == 0 { 4 } else { 0 };
                let place = sites::get(addr + half, false);
                if !line.put_behind(addr, write, place, || word.others_behind()) {
                    return false;
                }
            }
            if matches!(form, Form::Readers { .. }) && !front {
                let [low, high] = [sites::get(addr, true), sites::get(addr + 4, true)];
                put(line, mask & 0x0f, false, low);
                put(line, mask & 0xf0, false, high);
            }
            put(line, mask, !front, place);
        }
        Change::Front(form) => {
            if let Form::Plain { written, .. } = form {
                put(line, written, false, sites::write_behind(addr).1);
            }
            put(line, mask, true, place);
        }
        Change::Nothing | Change::Unknown | Change::Full => {}
    }
    true
}
