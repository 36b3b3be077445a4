//! What the other sides of branches would access: *possible* accesses, beside the real ones.
//!
//! A possible access must not take the place of a real one, and what is found with it is no more than suspected. So each word
//! that a possible access touches gets a second set of cells.
//!
//! - **Races** are between two accesses, so that it is enough to keep the possible ones there: a possible access is compared with both sets
//!   of cells and kept in the second one, a real one is compared with both and kept in the first one.
//! - Other analyses look at more than two. For them the second set starts with what is known about the word and then sees all of
//!   its accesses, real and possible ones. What they find there is told if a possible access takes part; else the
//!   word's own cells tell it.
//!
//! The guarantee is that of the analysis: if accesses of the word conflict, real or possible, one of the two sets of cells tells.
//!
//! Whether a word has such accesses is told by a bit for each word (words far apart may share one), at which real accesses look
//! after they were remembered. It is set before the word is looked at, with its line or its record in hand: a real access at the same time is in
//! the word by then, or sees the bit. For races it is of no use to look further if the steps with possible accesses in that stretch of memory all come before the
//! running one, which is asked about the last of them in English and in Hebrew order.
//!
//! **Races**, further: possible accesses are held back until their step ends ([`held`]). As long as one step alone has some in a stretch of
//! memory, without locks, they are a list there, which becomes second cells when somebody else comes. What precedes all that is still to come is forgotten.
//!
//! **Locks** that the other side would take are in a copy of the history of the task's locks, which is dropped at the end of the side. They say
//! nothing about the order in which the run takes its locks.
//!
//! **Left out:** what a step does that all others come before or after; what the step has done itself without locks, as then the
//! real access says it all; what it has told before ([`told`], and [`sides`] for a whole side at once); groups of locations; more than [`MOST_WORDS`] words.
//!
//! **Cost.** Nothing for programs that tell no possible accesses but the look at one flag for each access that is told in full. A word
//! with possible accesses of several steps, or under locks, has cells twice.
//!
//! **Who may touch what.** The words and their second cells: see [`table`]. The copy of the history: its thread.

mod held;
mod sides;
mod table;
mod told;

pub(super) use table::Possible;

use super::plain::past;
use super::sites::LINE_BYTES;
use super::words::{self, Form, TaskWord, number_of};
use super::{Look, TaskDriver, Worker, step, under_locks};
use crate::layout::{self, WORD_BYTES};
use crate::places::{self, PlaceNumber};
use crate::shadow::{Cells, words as words_of};
use crate::thread::Thread;
use crate::watch;
use held::Held;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::{AccessKind, Addr, LockMode, Op};
use keirin_core::family::History;
use keirin_core::finding::{Doubt, FindingKey, Findings, RawFinding, RawStep, Verdict};
use keirin_core::lockset::LocksetId;
use keirin_core::sptree::{Relation, Relations, StepId};
use sides::{Shown, Supposed};
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;
use table::{Block, LastStep, MOST_WORDS, Stretch};
use told::{Access, By, Told};

/// Part of the size in a place: it is a possible access.
pub(crate) const POSSIBLE: u32 = 0x80;

/// True if some step of a finding is a possible access.
fn takes_part(steps: &[RawStep]) -> bool {
    let is_possible =
        |step: &RawStep| places::place(step.moment.site.0).is_some_and(|place| place.size & POSSIBLE != 0);
    steps.iter().any(is_possible)
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// The running task has met something that lets the order of tasks decide what it reads from now on; unless it runs alone.
    #[inline]
    pub(super) fn order_decides(&self, worker: &Worker) {
        if !self.is_serial(worker) {
            watch::order_decides();
        }
    }

    /// An access that the other side of a branch would do.
    pub(super) fn possible_access(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        addr: usize,
        size: usize,
        pc: usize,
    ) {
        if thread.ignoring > 0 {
            return;
        }
        let worker = self.supposing(thread);
        worker.beside.accesses += 1;
        if self.is_alone(worker) {
            return;
        }
        let by = self.by(worker);
        let under = Self::under(worker, by, worker.side.as_ref().map(History::locks));
        if self.adds_nothing(worker, under, (kind, addr, size)) {
            return;
        }
        let what = What { kind, addr, size, place: place_of(thread, size, pc) };
        match by {
            Some(by) if A::ONLY_RACES && size <= held::LARGEST => {
                let (worker, _) = Self::parts_at_once(thread);
                self.note_held(worker, (kind, addr, size), by);
                self.hold_back(thread, what, LocksetId::of_number(by.under));
            }
            _ => {
                self.tell_possible(thread, what, by, Memory::Stays);
                self.after(thread);
            }
        }
    }

    /// True if possible accesses of the running step matter to nobody, or cannot be kept.
    #[inline]
    fn is_alone(&self, worker: &Worker) -> bool {
        self.is_serial(worker) || worker.step.0 >= words::MOST_STEPS
    }

    /// Tells an access that a side would do, under the locks of the side if it has some.
    fn tell_possible(&self, thread: &mut Thread, what: What, by: Option<By>, memory: Memory) {
        let What { kind, addr, size, place } = what;
        self.possible.is_any_now();
        let told_size = u32::try_from(size).unwrap_or(u32::MAX);
        let at = step(thread, Op::Access { kind, size: told_size, addr: Addr(addr as u64) }, place);
        let (worker, findings) = Self::parts_at_once(thread);
        worker.swap_side();
        for stretch in Possible::<A>::stretches(addr, size) {
            let Stretch { from, to, .. } = stretch;
            // Nobody comes later to memory that vanishes.
            let vanishes = memory == Memory::Vanishes && !self.may_meet_possible(worker, from, to - from);
            if vanishes && self.is_clearly_apart(worker, kind, (from, to)) {
                continue;
            }
            let needs_no_cells = vanishes || self.keep_alone(worker, kind, stretch, place);
            if needs_no_cells {
                self.compare_with_real(worker, findings, &at, kind, (from, to));
            } else {
                for (word, mask) in words_of(from, to - from) {
                    self.keep_possible(worker, findings, &at, (kind, word, mask), by);
                }
            }
        }
        worker.swap_side();
    }

    /// Keeps a possible access of words in one block, if nobody else has some there, and it would hold no locks.
    fn keep_alone(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        stretch: Stretch,
        place: PlaceNumber,
    ) -> bool {
        if !A::ONLY_RACES || !self.analysis.keeps_plain() || !worker.data.history.locks().is_empty() {
            return false;
        }
        let Stretch { from, to, mask } = stretch;
        let mut part = self.possible.part(from).lock();
        self.forget_if_past(worker, &mut part, from);
        let is_alone = self.possible.add_alone(&mut part, worker.step, kind, (from, to), place);
        if is_alone {
            self.note_step(worker, from);
            self.possible.block(from).bits.fetch_or(mask, Ordering::SeqCst);
        }
        is_alone
    }

    /// Keeps a possible access of a word in its second cells, and compares it.
    fn keep_possible(
        &self,
        worker: &mut Worker,
        findings: &mut Findings,
        at: &RawStep,
        what: (AccessKind, usize, u8),
        by: Option<By>,
    ) {
        let (kind, word, mask) = what;
        let mut part = self.possible.part(word).lock();
        self.forget_if_past(worker, &mut part, word);
        self.possible.spread(&mut part, word, self.era.load(Ordering::Relaxed));
        self.note_step(worker, word);
        self.possible.block(word).bits.fetch_or(Possible::<A>::bit(word), Ordering::SeqCst);
        let cells = match part.cells.entry(word) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(_) if self.possible.counts.words.load(Ordering::Relaxed) >= MOST_WORDS => {
                self.possible.counts.refused.fetch_add(1, Ordering::Relaxed);
                None
            }
            Entry::Vacant(place) => self.second_cells(word).map(|cells| place.insert(cells)),
        };
        let Some(cells) = cells else { return };
        let nothing_new = self.access_beside(worker, findings, at, what, false, Look::Keep(cells));
        drop(part);
        if A::ONLY_RACES {
            self.compare_with_real(worker, findings, at, kind, word_part(word, mask));
        }
        if let Some(by) = by.filter(|_| nothing_new) {
            worker.beside.told.add(Access { kind, word, mask, is_possible: true }, by, &self.possible);
        }
    }

    /// Compares a possible access with the real ones, after it can be seen by others: who comes at the same time sees it, or is seen.
    fn compare_with_real(
        &self,
        worker: &mut Worker,
        findings: &mut Findings,
        at: &RawStep,
        kind: AccessKind,
        (from, to): (usize, usize),
    ) {
        let mut next = from;
        while next < to {
            let end = to.min((next | (LINE_BYTES - 1)) + 1);
            let (numbers, of_line) = TaskWord::load_settled(next, end);
            for ((word, mask), number) in words_of(next, end - next).zip(numbers) {
                if !self.is_apart(worker, (kind, mask), number, Some(of_line)) {
                    self.on_cells(word, |cells| {
                        let what = (kind, word, mask);
                        self.access_beside(worker, findings, at, what, false, Look::Compare(cells));
                    });
                }
            }
            next = end;
        }
    }

    /// True if a look at the words tells, without taking their lines, that a possible access is apart from all real ones. (Nobody is thought to
    /// access them at the same time.)
    #[inline]
    fn is_clearly_apart(&self, worker: &mut Worker, kind: AccessKind, (from, to): (usize, usize)) -> bool {
        words_of(from, to - from).all(|(word, mask)| {
            let number = TaskWord::of(word).load();
            // The word and what its line has of its locks need not belong together.
            self.is_apart(worker, (kind, mask), number, None)
        })
    }

    /// Under what a possible access would happen, by who does it; `locks` if the side takes or releases some.
    #[inline]
    fn under(worker: &Worker, by: Option<By>, locks: Option<LocksetId>) -> Under {
        let now = worker.data.history.locks();
        let turn = if A::ONLY_RACES { worker.recent.turn_under((now, locks.unwrap_or(now))) } else { None };
        Under { by, locks, turn }
    }

    /// True if a possible access of the running step has nothing to say, for the step has told as much before, or has done as much.
    #[inline]
    fn adds_nothing(&self, worker: &Worker, under: Under, access: (AccessKind, usize, usize)) -> bool {
        let (kind, addr, size) = access;
        let told = &worker.beside.told;
        let has = |by| words_of(addr, size).all(|part| told.has_any::<A>(kind, part, by, &self.possible));
        under.by.is_some_and(has) || self.has_done(worker, under, access)
    }

    /// The same, as far as it can be told at once of an access within one word. True may be said of what is no memory of the program as well.
    #[inline(always)]
    fn clearly_adds_nothing(
        &self,
        told: &Told,
        by: By,
        (kind, addr, size): (AccessKind, usize, usize),
    ) -> bool {
        let offset = addr % WORD_BYTES;
        if offset + size > WORD_BYTES {
            return false;
        }
        let (word, mask) = (addr - offset, (((1u32 << size) - 1) << offset) as u8);
        told.has_any::<A>(kind, (word, mask), by, &self.possible)
            // Of races, what was done without locks says it all.
            || (A::ONLY_RACES
                && layout::is_program(word, WORD_BYTES)
                && words::is_known(TaskWord::of(word).load(), kind, number_of(StepId(by.step))))
    }

    /// True if the running step has done as much as a possible access would do, under the same locks or without any.
    #[inline]
    fn has_done(
        &self,
        worker: &Worker,
        under: Under,
        (kind, addr, size): (AccessKind, usize, usize),
    ) -> bool {
        let lately = |turn: u64| {
            worker.recent.has(turn, kind, addr, size)
                // Whatever races with a read races with a write.
                || (A::ONLY_RACES
                    && kind == AccessKind::Read
                    && worker.recent.has(turn, AccessKind::Write, addr, size))
        };
        under.turn.is_some_and(lately) || self.has_done_all(worker, under, (kind, addr, size))
    }

    /// True if the words tell that the running step has done as much without locks, or under the same.
    #[inline]
    fn has_done_all(
        &self,
        worker: &Worker,
        under: Under,
        (kind, addr, size): (AccessKind, usize, usize),
    ) -> bool {
        // That says it all, whatever locks others hold, if it is all about races.
        let plain = if A::ONLY_RACES {
            self.analysis.keeps_plain()
        } else {
            under.locks.is_none() && self.is_plain(worker)
        };
        let me = number_of(worker.step);
        let locks = under.locks.unwrap_or_else(|| worker.data.history.locks());
        plain && words_of(addr, size).all(|(word, mask)| is_done((word, mask), kind, me, locks))
    }

    /// True if the word tells, without a record, that all in it that an access may conflict with comes before the running step, or is kept from
    /// it by locks; `of_line` is what its line has of these, if that is known.
    #[inline]
    fn is_apart(
        &self,
        worker: &mut Worker,
        (kind, mask): (AccessKind, u8),
        number: u64,
        of_line: Option<u32>,
    ) -> bool {
        let me = number_of(worker.step);
        let mut is_before = |step: u64| step == me || self.relation(worker, past(step)) == Relation::Before;
        let is_write = kind == AccessKind::Write;
        match Form::of(number) {
            Some(Form::Plain { write, written, read, read_bytes }) => {
                (written & mask == 0 || is_before(write))
                    && (!is_write || read_bytes & mask == 0 || is_before(read))
            }
            Some(Form::Readers { english, hebrew, bytes, behind: false }) => {
                !is_write || bytes & mask == 0 || (is_before(english) && is_before(hebrew))
            }
            Some(Form::Halves { steps, kind, behind: false }) => {
                (!is_write && kind == AccessKind::Read)
                    || ((mask & 0x0f == 0 || is_before(steps[0]))
                        && (mask & 0xf0 == 0 || is_before(steps[1])))
            }
            Some(Form::Part { rest, part, bytes }) => {
                (mask & !bytes == 0 || is_before(rest)) && (mask & bytes == 0 || is_before(part))
            }
            Some(Form::UnderLocks { english, hebrew, kind, locks }) => {
                (!is_write && kind == AccessKind::Read)
                    || (is_before(english) && is_before(hebrew))
                    || of_line.is_some_and(|of_line| {
                        let (locksets, _) = worker.sets.get_or_insert_default().up_to_date(&self.sets);
                        locksets.excludes(under_locks::locks_of(locks, of_line), worker.data.history.locks())
                    })
            }
            _ => false,
        }
    }

    /// The other side was told.
    pub(super) fn end_of_side(&self, thread: &mut Thread) {
        let (worker, _) = Self::parts_at_once(thread);
        worker.beside.shown.clear();
        if let Some(side) = worker.side.take() {
            worker.beside.side_before = side;
        }
    }

    /// What the thread keeps of its task, for something that the task would do. What is pending is told later, and compared then.
    #[inline]
    fn supposing<'a>(&self, thread: &'a mut Thread) -> &'a mut Worker {
        if Self::parts_at_once(thread).0.slot.is_none() {
            return self.acting(thread).0;
        }
        self.at_gate(thread).0
    }

    /// The running step has a possible access of a word; the caller holds the lock of its part, and sets the bit of the word afterwards.
    fn note_step(&self, worker: &mut Worker, word: usize) {
        let Block { english, hebrew, .. } = self.possible.block(word);
        let me = worker.step;
        let (first, second) = (english.get(), hebrew.get());
        // As plain reads are kept.
        if first != me && (first == StepId::NONE || self.relation_in_tree(worker, first) != Relation::Right) {
            english.set(me);
        }
        if second != me && (second == StepId::NONE || self.relation_in_tree(worker, second) != Relation::Left)
        {
            hebrew.set(me);
        }
    }

    /// Forgets what is known about the possible accesses of a block if that precedes all that is still to come.
    fn forget_if_past(&self, worker: &Worker, part: &mut table::Part<A>, addr: usize) {
        let Block { english, hebrew, .. } = self.possible.block(addr);
        let is_past = |step: StepId| step != worker.step && step.is_some() && self.is_past(step);
        if A::ONLY_RACES && is_past(english.get()) && is_past(hebrew.get()) {
            self.possible.forget_past(part, addr);
        }
    }

    /// False if a real access of the running step, of a range, has nothing to do with possible ones.
    #[inline(always)]
    pub(super) fn may_meet_possible(&self, worker: &mut Worker, addr: usize, size: usize) -> bool {
        self.possible.may_be_there(addr, size, |block| {
            let mut is_nothing = |step: &LastStep| self.is_mine_or_before(worker, step.get());
            // Of races: whatever comes before this step is nothing to it. Other analyses want to see what it does beside its own ones.
            !A::ONLY_RACES || !is_nothing(&block.english) || !is_nothing(&block.hebrew)
        })
    }

    #[inline]
    fn is_mine_or_before(&self, worker: &mut Worker, step: StepId) -> bool {
        step == StepId::NONE || self.relation_in_tree(worker, step) == Relation::Before
    }

    /// How a past step stands to the running one in the tree. Of order beside it the last steps in both orders say nothing about others.
    #[inline]
    fn relation_in_tree(&self, worker: &mut Worker, past: StepId) -> Relation {
        if worker.known.is_empty() {
            self.relation(worker, past)
        } else {
            self.labels.relation(past, worker.step)
        }
    }

    /// New second cells of a word, if it can be looked at.
    fn second_cells(&self, word: usize) -> Option<Cells<A::Cell>> {
        let known = if A::ONLY_RACES {
            Cells::default()
        } else {
            self.on_cells(word, |cells| cells.iter().map(|(bytes, cell)| (bytes, cell.clone())).collect())?
        };
        self.possible.own(word);
        Some(known)
    }

    /// Does something with the cells of a word.
    fn on_cells<R>(&self, word: usize, act: impl FnOnce(&Cells<A::Cell>) -> R) -> Option<R> {
        let mut locked = TaskWord::of(word).lock::<A>(word, self.era.load(Ordering::Relaxed))?;
        let result = act(&locked.record().cells);
        locked.settle(word, |step| self.is_past(step));
        Some(result)
    }

    /// Who does what the thread does now, as far as what it told before depends on it; none if it must tell all.
    #[inline]
    fn by(&self, worker: &mut Worker) -> Option<By> {
        let Worker { data, side, step, beside, .. } = worker;
        beside.told.renew(&self.possible);
        let under = if A::ONLY_RACES {
            side.as_ref().unwrap_or(&data.history).locks().number()
        } else if side.is_none() && data.block.is_none() {
            data.history.version()
        } else {
            return None;
        };
        Some(By { step: step.0, under })
    }

    /// What the thread has counted for itself, as long as it ran one task, is counted for all.
    pub(super) fn count_accesses(&self, worker: &mut Worker) {
        let accesses = std::mem::take(&mut worker.beside.accesses);
        if accesses > 0 {
            self.possible.counts.accesses.fetch_add(accesses, Ordering::Relaxed);
        }
    }

    /// A real access was remembered: it is compared with the possible ones of its word.
    #[inline]
    pub(super) fn meet_possible(
        &self,
        worker: &mut Worker,
        findings: &mut Findings,
        at: &RawStep,
        (kind, word, mask): (AccessKind, usize, u8),
        atomic: bool,
    ) {
        if !self.may_meet_possible(worker, word, WORD_BYTES) {
            return;
        }
        // Atomic operations exclude each other as well.
        let by = if atomic { None } else { self.by(worker) };
        let access = Access { kind, word, mask, is_possible: false };
        if by.is_some_and(|by| worker.beside.told.has(access, by, &self.possible)) {
            return;
        }
        let mut part = self.possible.part(word).lock();
        self.possible.spread(&mut part, word, self.era.load(Ordering::Relaxed));
        if let Some(cells) = part.cells.get_mut(&word) {
            let look = if A::ONLY_RACES { Look::Compare(cells) } else { Look::Keep(cells) };
            let nothing_new = self.access_beside(worker, findings, at, (kind, word, mask), atomic, look);
            if let Some(by) = by.filter(|_| nothing_new) {
                worker.beside.told.add(access, by, &self.possible);
            }
        }
    }

    /// An access that is compared with possible ones, or is one. True if another one of the kind would tell and change nothing.
    fn access_beside(
        &self,
        worker: &mut Worker,
        findings: &mut Findings,
        at: &RawStep,
        what: (AccessKind, usize, u8),
        atomic: bool,
        look: Look<'_, A::Cell>,
    ) -> bool {
        let mut found = std::mem::take(&mut worker.beside.findings);
        std::mem::swap(&mut worker.flagged, &mut worker.beside.flagged);
        worker.beside.is_on = true;
        let nothing_new = self.look_in_full(worker, &mut found, at, what, atomic, look);
        worker.beside.is_on = false;
        std::mem::swap(&mut worker.flagged, &mut worker.beside.flagged);
        let new = &found.list()[worker.beside.seen..];
        for finding in new.iter().filter(|finding| takes_part(&finding.steps)) {
            let sites = finding.steps.iter().map(|step| step.moment.site).collect();
            let key = FindingKey::new(finding.rule, Vec::new(), sites, at.op);
            let verdict = Verdict::Suspected(Doubt::OtherSide);
            findings.add(key, at.moment, || RawFinding { verdict, ..finding.clone() });
        }
        worker.beside.seen = found.list().len();
        worker.beside.findings = found;
        nothing_new
    }

    /// A lock that the other side of a branch would take or release.
    pub(super) fn possible_lock(&self, thread: &mut Thread, lock: usize, mode: LockMode, acquire: bool) {
        let worker = self.supposing(thread);
        let mut side = worker.side.take().unwrap_or_else(|| {
            let mut side = std::mem::take(&mut worker.beside.side_before);
            side.clone_from(&worker.data.history);
            side
        });
        if let Some(locks) = self.suppose(worker, side.locks(), (lock, mode), acquire) {
            side.change(worker.sets.get_or_insert_default().up_to_date(&self.sets).0, locks);
        }
        worker.side = Some(side);
    }
}

/// The place of a possible access.
fn place_of(thread: &mut Thread, size: usize, pc: usize) -> PlaceNumber {
    let size = if size <= 16 { size as u32 } else { 0 };
    thread.place(pc, POSSIBLE | size)
}

/// From where to where some bytes of a word are that lie side by side.
fn word_part(word: usize, mask: u8) -> (usize, usize) {
    (word + mask.trailing_zeros() as usize, word + WORD_BYTES - mask.leading_zeros() as usize)
}

/// An access that a side would do.
#[derive(Clone, Copy)]
struct What {
    kind: AccessKind,
    addr: usize,
    size: usize,
    place: PlaceNumber,
}

/// What becomes of the memory of a possible access when it has been told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Stays,
    /// All of it is forgotten.
    Vanishes,
}

/// Under what a possible access would happen.
#[derive(Clone, Copy)]
struct Under {
    /// Who would do it, as far as what was told before depends on it; none if all must be told.
    by: Option<By>,
    /// The locks, if the side takes or releases some.
    locks: Option<LocksetId>,
    /// The turn of the step under these locks, if it had one.
    turn: Option<u64>,
}

/// True if the word tells that a step has done as much itself, without locks or under the same.
fn is_done((word, mask): (usize, u8), kind: AccessKind, me: u64, locks: LocksetId) -> bool {
    let is_read = kind == AccessKind::Read;
    match Form::of(TaskWord::of(word).load()) {
        Some(Form::Plain { write, written, read, read_bytes }) => {
            (write == me && written & mask == mask) || (is_read && read == me && read_bytes & mask == mask)
        }
        Some(Form::Readers { english, hebrew, bytes, .. }) => {
            is_read && (english == me || hebrew == me) && bytes & mask == mask
        }
        Some(Form::Halves { steps, kind: done, .. }) => {
            (is_read || done == AccessKind::Write)
                && (mask & 0x0f == 0 || steps[0] == me)
                && (mask & 0xf0 == 0 || steps[1] == me)
        }
        Some(Form::Part { rest, part, bytes }) => {
            (mask & !bytes == 0 || rest == me) && (mask & bytes == 0 || part == me)
        }
        Some(Form::UnderLocks { english, hebrew, .. }) if english == me || hebrew == me => {
            // The line has a part of the number of its locks.
            let ([number, ..], of_line) = TaskWord::load_settled(word, word + WORD_BYTES);
            matches!(Form::of(number), Some(Form::UnderLocks { kind: done, locks: of_word, .. })
                if under_locks::locks_of(of_word, of_line) == locks && (is_read || done == AccessKind::Write))
        }
        Some(Form::UnderLocks { .. }) | None => false,
    }
}

/// What a thread keeps of second cells.
pub(super) struct Beside {
    findings: Findings,
    /// So many of them were looked at.
    seen: usize,
    pub(super) flagged: keirin_core::analysis::tasks::Flagged,
    /// It is about second cells now.
    pub(super) is_on: bool,
    told: Told,
    held: Held,
    supposed: Supposed,
    shown: Shown,
    /// The locks of the side that was told last, for the memory of its list.
    side_before: History,
    /// Possible accesses of the running task that were not counted for all yet.
    accesses: u64,
}

impl Beside {
    /// Steps have other numbers from now on.
    pub(super) fn steps_changed(&mut self) {
        self.told.clear();
    }
}

impl Default for Beside {
    fn default() -> Self {
        Self {
            findings: Findings::new(),
            seen: 0,
            flagged: keirin_core::analysis::tasks::Flagged::default(),
            is_on: false,
            told: Told::default(),
            held: Held::default(),
            supposed: Supposed::default(),
            shown: Shown::default(),
            side_before: History::default(),
            accesses: 0,
        }
    }
}

impl Worker {
    /// Puts the locks of the other side of a branch in the place of those that are held, or back.
    fn swap_side(&mut self) {
        if let Some(side) = &mut self.side {
            std::mem::swap(&mut self.data.history, side);
        }
    }
}
