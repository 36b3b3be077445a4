//! Plain accesses, which need no record: what a word remembers is worked out here, without the analysis.
//!
//! | access | goes on here if | then remembered |
//! |---|---|---|
//! | read | no parallel step has written the bytes | beside the write; with an unordered read of the same bytes as one of two |
//! | write | no parallel step has read or written the bytes | in place of all that comes before it, if it covers that |
//!
//! A write makes earlier reads superfluous: whoever is parallel to such a read and comes later is parallel to the write as
//! well. Of reads the last in English and in Hebrew order are kept, as by `keirin_core::analysis::tasks::kept`.

use super::bytes::Bytes;
use super::sites::{self, OwnedLine};
use super::words::{Form, TaskWord, number_of};
use super::{TaskDriver, Worker};
use crate::arena;
use crate::places::PlaceNumber;
use crate::tls;
use crate::watch::Ranges;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::AccessKind;
use keirin_core::lockset::LocksetId;
use keirin_core::sptree::{Relation, StepId};
use std::sync::atomic::Ordering;

/// How many accesses a thread remembers beside the shadow, and where their addresses begin in a number.
pub(crate) const RECENT_ENTRIES: usize = 1 << 16;
pub(crate) const RECENT_ADDRESS_SHIFT: u32 = 20;
pub(crate) const RECENT_SPREAD: usize = 0x1e37_79b1;
/// A write is looked for so far from a read of the same memory: what is read and then written, again and again, has both.
pub(crate) const RECENT_WRITES: usize = RECENT_ENTRIES / 2;
/// Accesses of a kind that begin in the same so many bytes have one entry.
const PLACE_BYTES: usize = 4;

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

/// How many calls for the accesses of a loop a thread remembers. They lie behind the other entries, and behind them how often memory was
/// taken out of the table.
const RECENT_RANGES: usize = 1 << 8;
const RANGES_AT: usize = RECENT_ENTRIES * 8;
const REMOVALS_AT: usize = RANGES_AT + RECENT_RANGES * size_of::<RecentRanges>();
const RECENT_BYTES: usize = REMOVALS_AT + 8;

/// Accesses of a loop that were told, and when: the turn as the hooks have it, and above it how often memory was taken out; 0 is none.
type RecentRanges = (u64, Ranges);

/// Where the accesses of a loop are remembered.
#[inline(always)]
fn recent_ranges(entries: usize, ranges: &Ranges) -> *mut RecentRanges {
    let spread = (ranges.addr >> 3).wrapping_mul(RECENT_SPREAD) >> 12 ^ ranges.count;
    let table = (entries + RANGES_AT) as *mut RecentRanges;
    table.wrapping_add(spread % RECENT_RANGES)
}

/// When accesses of a loop are told now.
///
/// # Safety
/// The entries must be those of the calling thread, and there must be some.
#[inline(always)]
unsafe fn time_of_ranges(entries: usize, turn: u64) -> u64 {
    // SAFETY: as the caller says; the number lies behind the entries.
    turn | unsafe { *((entries + REMOVALS_AT) as *const u64) } << RECENT_ADDRESS_SHIFT
}

/// True if the calling thread has told the same accesses in this turn.
#[inline(always)]
pub(super) fn is_recent(ranges: &Ranges) -> bool {
    let (entries, turn) = tls::recent();
    let known = recent_ranges(entries, ranges);
    // SAFETY: so many entries, and so many of these behind them, were mapped for this thread. Where the turn is the present one, the
    // rest was written with it.
    entries != 0 && unsafe { (*known).0 == time_of_ranges(entries, turn) && (*known).1 == *ranges }
}

/// What a thread has accessed lately although the shadow does not tell so: one read among many, or what is in a record.
///
/// An entry is an access of one kind, address and size, and counts for one turn: until the task's step, locks or blocks change.
/// Memory that the thread gives back or gets is taken out. Memory that another thread gives back and hands over to a third one within a
/// turn is not noticed. The hooks look here as well.
///
/// **The same locks again.** For races a step's turn goes on when it holds the same locks as before: whoever is parallel to the second of two
/// equal accesses of a step under the same locks is parallel to the first one, and excluded from both or from neither. What others do in
/// between is compared with what was kept of the first one. (A region that must be whole may be torn between the two, so that with
/// atomicity each change of the locks begins another turn.)
pub(super) struct Recent {
    entries: *mut u64,
    turn: u64,
    last_turn: u64,
    /// The first turn of this step.
    first_turn: u64,
    /// Turns under some locks, by the number of the set. Those of this step go on.
    of_locks: Box<[(LocksetId, u64); Self::LOCKSETS]>,
    /// Where the entries of this step may be: a bit for each stretch of memory, which others share. Most memory that is given back or got
    /// has none, and need not be looked for.
    stretches: u64,
}

// SAFETY: the entries belong to the value, and are reached through it only, or by the hooks of the thread that owns it.
unsafe impl Send for Recent {}

impl Recent {
    /// The lowest bits of an entry: the size, as a power of two, and whether it is a write.
    const KIND_BITS: u32 = 4;
    const LAST_TURN: u64 = (1 << (RECENT_ADDRESS_SHIFT - Self::KIND_BITS)) - 1;

    /// Of so many sets of locks the turn is remembered.
    const LOCKSETS: usize = 256;
    /// More bytes are not taken out one by one.
    const MOST_REMOVED: usize = 1 << 10;
    /// The largest access that is remembered.
    const LARGEST: usize = 16;
    /// A stretch of memory that has a bit, as a power of two: no more of them are removed one by one than there are bits.
    const STRETCH_SHIFT: u32 = 8;

    pub(super) fn new() -> Self {
        let of_locks = Box::new([(LocksetId::EMPTY, 0); Self::LOCKSETS]);
        Self { entries: std::ptr::null_mut(), turn: 1, last_turn: 1, first_turn: 1, of_locks, stretches: 0 }
    }

    /// From now on all entries are void.
    pub(super) fn next_turn(&mut self) {
        self.begin_turn();
        self.first_turn = self.turn;
        self.stretches = 0;
    }

    /// The bits of the stretches in which some bytes are, which must be few.
    #[inline(always)]
    fn stretches_of(addr: usize, end: usize) -> u64 {
        let (first, last) = (addr >> Self::STRETCH_SHIFT, (end - 1) >> Self::STRETCH_SHIFT);
        ((2 << (last - first)) - 1_u64).rotate_left((first % 64) as u32)
    }

    fn begin_turn(&mut self) {
        self.last_turn += 1;
        if self.last_turn > Self::LAST_TURN {
            (self.last_turn, self.first_turn) = (1, 1);
            self.of_locks.fill((LocksetId::EMPTY, 0));
            if !self.entries.is_null() {
                // SAFETY: so many entries were mapped; zero is none.
                unsafe { self.entries.cast::<u8>().write_bytes(0, RECENT_BYTES) };
            }
        }
        self.turn = self.last_turn;
    }

    /// The step holds other locks than before: a new turn, or the one that it had under these.
    pub(super) fn other_locks(&mut self, before: LocksetId, now: LocksetId) {
        let place = |locks: LocksetId| locks.number() as usize % Self::LOCKSETS;
        self.of_locks[place(before)] = (before, self.turn);
        let (locks, turn) = self.of_locks[place(now)];
        if locks == now && turn >= self.first_turn {
            self.turn = turn;
        } else {
            self.begin_turn();
        }
    }

    /// The turn that the step has, or had, under some locks, if it is remembered; those that it holds now are the first ones.
    #[inline]
    pub(super) fn turn_under(&self, (now, locks): (LocksetId, LocksetId)) -> Option<u64> {
        if now == locks {
            return Some(self.turn);
        }
        let (of, turn) = self.of_locks[locks.number() as usize % Self::LOCKSETS];
        (of == locks && turn >= self.first_turn).then_some(turn)
    }

    /// True if the step has told an access lately, in a turn of its own.
    #[inline]
    pub(super) fn has(&self, turn: u64, kind: AccessKind, addr: usize, size: usize) -> bool {
        let entry = Self::entry(turn, kind, addr, size);
        // SAFETY: so many entries were mapped.
        size <= Self::LARGEST
            && size.is_power_of_two()
            && !self.entries.is_null()
            && unsafe { *self.entries.add(Self::place(kind, addr)) == entry }
    }

    /// Some memory is another's from now on. True if the hooks must be told.
    pub(super) fn remove(&mut self, addr: usize, size: usize) -> bool {
        if self.entries.is_null() {
            return false;
        }
        if size > Self::MOST_REMOVED {
            self.next_turn();
            return true;
        }
        // SAFETY: the number lies behind the entries.
        unsafe { *self.entries.byte_add(REMOVALS_AT) += 1 };
        let first = addr.saturating_sub(Self::LARGEST - 1) & !(PLACE_BYTES - 1);
        if size == 0 || self.stretches & Self::stretches_of(first, addr + size) == 0 {
            return false;
        }
        // SAFETY: so many entries were mapped.
        unsafe {
            for at in (first..addr + size).step_by(PLACE_BYTES) {
                *self.entries.add(Self::place(AccessKind::Read, at)) = 0;
                *self.entries.add(Self::place(AccessKind::Write, at)) = 0;
            }
        }
        false
    }

    /// Tells the hooks of the calling thread, which owns this.
    pub(super) fn tell_hooks(&self) {
        tls::set_recent(self.entries as usize, self.turn << Self::KIND_BITS);
    }

    fn entry(turn: u64, kind: AccessKind, addr: usize, size: usize) -> u64 {
        let write = u64::from(kind == AccessKind::Write) << (Self::KIND_BITS - 1);
        (addr as u64) << RECENT_ADDRESS_SHIFT
            | turn << Self::KIND_BITS
            | write
            | u64::from(size.trailing_zeros())
    }

    #[inline(always)]
    fn place(kind: AccessKind, addr: usize) -> usize {
        // Stretches of memory begin at different places, also if the distance between them is a power of two.
        let read = (addr / PLACE_BYTES).wrapping_add((addr >> 18).wrapping_mul(RECENT_SPREAD) >> 7)
            & (RECENT_ENTRIES - 1);
        if kind == AccessKind::Write { read ^ RECENT_WRITES } else { read }
    }

    pub(super) fn add(&mut self, kind: AccessKind, addr: usize, size: usize) {
        if self.is_there() {
            self.stretches |= Self::stretches_of(addr, addr + 1);
            // SAFETY: so many entries were mapped.
            unsafe { *self.entries.add(Self::place(kind, addr)) = Self::entry(self.turn, kind, addr, size) };
        }
    }

    /// Adds accesses of a loop, all of which are told in this turn.
    pub(super) fn add_ranges(&mut self, ranges: &Ranges) {
        if self.is_there() {
            let (entries, turn) = (self.entries as usize, self.turn << Self::KIND_BITS);
            // SAFETY: so many were mapped behind the entries.
            unsafe { *recent_ranges(entries, ranges) = (time_of_ranges(entries, turn), *ranges) };
        }
    }

    /// True if there is room for entries, which is made if there is none.
    fn is_there(&mut self) -> bool {
        if self.entries.is_null() {
            self.entries = arena::map(RECENT_BYTES).cast();
            if !self.entries.is_null() {
                self.tell_hooks();
            }
        }
        !self.entries.is_null()
    }
}

const _: () = assert!(Recent::MOST_REMOVED >> Recent::STRETCH_SHIFT < 32);

impl Drop for Recent {
    fn drop(&mut self) {
        if !self.entries.is_null() {
            // SAFETY: mapped in `add` with this size; the thread is gone.
            unsafe { arena::unmap(self.entries.cast(), RECENT_BYTES) };
        }
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
                _ => form,
            };
            let change = match kind {
                AccessKind::Read => self.read(worker, form, (addr, mask), place),
                AccessKind::Write => self.write(worker, form, (addr, mask), place),
            };
            let new = match change {
                // The hooks do not look at halves.
                Change::Nothing if matches!(form, Form::Halves { .. }) => return Done::Unknown,
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
                if !self.dropped.load(Ordering::Relaxed) {
                    self.dropped.store(true, Ordering::Relaxed);
                }
                if !first && !second {
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
            Form::UnderLocks { .. } => Change::Full,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in memory that becomes another's is taken out, wherever the memory and the access begin, and nothing that is far away.
    #[test]
    fn memory_of_another_is_taken_out() {
        let border = 0x7000 << Recent::STRETCH_SHIFT;
        let far = border + (3 << Recent::STRETCH_SHIFT);
        for (addr, size) in [(border - 8, 16), (border - 1, 2), (border, 8), (border + 60, 4)] {
            for (from, bytes) in [(border, 64), (addr, 1), (addr + size - 1, 1), (border - 700, 1024)] {
                let mut recent = Recent::new();
                recent.add(AccessKind::Read, addr, size);
                recent.add(AccessKind::Write, far, 8);
                let has = |recent: &Recent, kind, at, size| recent.has(recent.turn, kind, at, size);
                assert!(has(&recent, AccessKind::Read, addr, size));
                assert!(!recent.remove(from, bytes), "it is little");
                assert!(!has(&recent, AccessKind::Read, addr, size), "{addr:#x} {size}, {from:#x} {bytes}");
                assert!(has(&recent, AccessKind::Write, far, 8));
                assert!(!recent.remove(far, 0));
                assert!(has(&recent, AccessKind::Write, far, 8), "nothing was taken");
                // What was told under other locks of the same step counts as well.
                recent.begin_turn();
                assert!(!recent.remove(far + 4, 1));
                assert!(!recent.has(recent.first_turn, AccessKind::Write, far, 8));
            }
        }
        tls::set_recent(0, 0);
    }
}
