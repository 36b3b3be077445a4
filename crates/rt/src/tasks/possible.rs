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
//! after they were remembered. It is set before the word is looked at: a real access at the same time is in the word by then, or
//! sees the bit. For races it is of no use to look further if the steps with possible accesses in that stretch of memory all come before the
//! running one, which is asked about the last of them, if there is one that all others come before.
//!
//! **Locks** that the other side would take are in a copy of the history of the task's locks, which is dropped at the end of the side. They say
//! nothing about the order in which the run takes its locks.
//!
//! **Left out:** what a step does that all others come before or after; what the step has done itself without locks, as then the
//! real access says it all; what it has told before ([`told`]); groups of locations; more than [`MOST_WORDS`] words.
//!
//! **Cost.** Nothing for programs that tell no possible accesses but the look at one flag for each access that is told in full. A word
//! with possible accesses has cells twice.
//!
//! **Who may touch what.** A word's second cells: who holds the lock of their part of the table, which is taken before that of
//! the word. Bits, their owners and the last steps are changed under the same lock, and read by everyone. The copy of the history: its thread.

mod told;

use super::words::{Form, TaskWord, number_of};
use super::{Look, TaskDriver, Worker, step};
use crate::layout::WORD_BYTES;
use crate::places;
use crate::shadow::{Cells, words as words_of};
use crate::spin::Spin;
use crate::thread::Thread;
use crate::watch;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::{AccessKind, Addr, LockMode, Op};
use keirin_core::family::History;
use keirin_core::finding::{Doubt, FindingKey, Findings, RawFinding, RawStep, Verdict};
use keirin_core::sptree::{Relation, StepId};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use told::{Access, By, Told};

/// Part of the size in a place: it is a possible access.
pub(crate) const POSSIBLE: u32 = 0x80;

/// Bytes whose words have their bits in one number.
const BLOCK_BYTES: usize = 64 * WORD_BYTES;
/// Log2 of how many such numbers there are.
const BLOCKS_BITS: u32 = 16;
/// Parts of the table.
const PARTS: usize = 64;
/// In place of a stretch of memory: there is none, or there are several.
const NOBODY: usize = 0;
const OWNERS: usize = usize::MAX;
/// In place of a step: there are several, of which none comes after all others.
const SEVERAL: u32 = StepId::NONE.0 - 1;
/// So many words can have second cells.
const MOST_WORDS: usize = 1 << 20;

/// The words with possible accesses, each with its second cells.
type Part<A> = FxHashMap<usize, Cells<<A as keirin_core::analysis::tasks::TaskAnalysis>::Cell>>;

/// All possible accesses.
pub(super) struct Possible<A: KeepsPlain> {
    any: AtomicBool,
    bits: Box<[AtomicU64]>,
    /// For each of these numbers the one stretch of memory whose words have their bits there; or [`NOBODY`], or [`OWNERS`].
    owners: Box<[AtomicUsize]>,
    /// For each of them the step that all others with possible accesses there come before; or [`SEVERAL`].
    last_steps: Box<[AtomicU32]>,
    parts: Box<[Spin<Part<A>>]>,
    words: AtomicUsize,
    /// How often words were forgotten that have some.
    forgotten: AtomicU32,
    /// Accesses that were told, and those for which there was no room.
    accesses: AtomicU64,
    refused: AtomicU64,
}

impl<A: KeepsPlain> Default for Possible<A> {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            bits: (0..1usize << BLOCKS_BITS).map(|_| AtomicU64::new(0)).collect(),
            owners: (0..1usize << BLOCKS_BITS).map(|_| AtomicUsize::new(NOBODY)).collect(),
            last_steps: (0..1usize << BLOCKS_BITS).map(|_| AtomicU32::new(StepId::NONE.0)).collect(),
            parts: (0..PARTS).map(|_| Spin::new(Part::<A>::default())).collect(),
            words: AtomicUsize::new(0),
            forgotten: AtomicU32::new(0),
            accesses: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }
}

impl<A: KeepsPlain> Possible<A> {
    /// Where the words around an address have their bits.
    #[inline(always)]
    fn block_index(addr: usize) -> usize {
        let hash = ((addr / BLOCK_BYTES) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (64 - BLOCKS_BITS)) as usize
    }

    /// The bits of the words around an address.
    #[inline(always)]
    fn block(&self, addr: usize) -> &AtomicU64 {
        &self.bits[Self::block_index(addr)]
    }

    /// The bit of the word that holds an address.
    #[inline(always)]
    fn bit(addr: usize) -> u64 {
        1 << (addr % BLOCK_BYTES / WORD_BYTES)
    }

    /// The part that has the words around an address.
    fn part(&self, addr: usize) -> &Spin<Part<A>> {
        &self.parts[Self::block_index(addr) % PARTS]
    }

    /// A word gets second cells; the caller holds the lock of its part.
    fn own(&self, word: usize) {
        self.words.fetch_add(1, Ordering::Relaxed);
        let owner = &self.owners[Self::block_index(word)];
        let block = word / BLOCK_BYTES;
        if owner.load(Ordering::Relaxed) != block {
            let is_free = owner.load(Ordering::Relaxed) == NOBODY;
            owner.store(if is_free { block } else { OWNERS }, Ordering::Relaxed);
        }
    }

    /// A word has no second cells any more; the caller holds the lock of its part. If its bit is its own, nobody looks there any more.
    fn disown(&self, word: usize) {
        self.words.fetch_sub(1, Ordering::Relaxed);
        let index = Self::block_index(word);
        if self.owners[index].load(Ordering::Relaxed) != word / BLOCK_BYTES {
            return;
        }
        let bit = Self::bit(word);
        if self.bits[index].fetch_and(!bit, Ordering::SeqCst) == bit {
            self.owners[index].store(NOBODY, Ordering::Relaxed);
            self.last_steps[index].store(StepId::NONE.0, Ordering::SeqCst);
        }
    }

    /// False if no possible access was told since one task was alone.
    #[inline(always)]
    pub(super) fn is_any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// False if a word has no possible accesses.
    #[inline(always)]
    pub(super) fn may_have(&self, addr: usize) -> bool {
        self.block(addr).load(Ordering::Relaxed) & Self::bit(addr) != 0
    }

    /// False if no word of a range has possible accesses.
    fn may_be_in(&self, addr: usize, size: usize) -> bool {
        self.may_be_there(addr, size, |_| true)
    }

    /// The same, as far as some steps matter.
    #[inline(always)]
    fn may_be_there(&self, addr: usize, size: usize, mut matters: impl FnMut(&AtomicU32) -> bool) -> bool {
        let (mut from, end) = (addr, addr + size);
        while from < end {
            let to = end.min((from | (BLOCK_BYTES - 1)) + 1);
            // All bits from the first word on, up to the last one.
            let mask = (u64::MAX << Self::bit(from).trailing_zeros())
                & (u64::MAX >> (63 - Self::bit(to - 1).trailing_zeros()));
            let index = Self::block_index(from);
            if self.bits[index].load(Ordering::Relaxed) & mask != 0 && matters(&self.last_steps[index]) {
                return true;
            }
            from = to;
        }
        false
    }

    /// Forgets a range.
    pub(super) fn forget(&self, addr: usize, size: usize) {
        const LONG: usize = 1 << 16;
        if !self.is_any() || size == 0 {
            return;
        }
        if size > LONG {
            for part in &self.parts {
                part.lock().retain(|word, cells| {
                    let mask = bytes_within(*word, addr, size);
                    if mask != 0 {
                        self.forgotten.fetch_add(1, Ordering::Relaxed);
                        cells.forget(mask);
                        if cells.is_empty() {
                            self.disown(*word);
                        }
                    }
                    !cells.is_empty()
                });
            }
            return;
        }
        if !self.may_be_in(addr, size) {
            return;
        }
        for (word, mask) in words_of(addr, size).filter(|(word, _)| self.may_have(*word)) {
            let mut part = self.part(word).lock();
            if let Some(cells) = part.get_mut(&word) {
                self.forgotten.fetch_add(1, Ordering::Relaxed);
                cells.forget(mask);
                if cells.is_empty() {
                    part.remove(&word);
                    self.disown(word);
                }
            }
        }
    }

    /// One task is alone: what was told so far comes before all that follows.
    pub(super) fn renew(&self) {
        if !self.is_any() {
            return;
        }
        self.any.store(false, Ordering::Relaxed);
        self.forgotten.fetch_add(1, Ordering::Relaxed);
        for part in &self.parts {
            let mut part = part.lock();
            for word in part.keys() {
                let index = Self::block_index(*word);
                self.bits[index].store(0, Ordering::Relaxed);
                self.owners[index].store(NOBODY, Ordering::Relaxed);
                self.last_steps[index].store(StepId::NONE.0, Ordering::Relaxed);
            }
            self.words.fetch_sub(part.len(), Ordering::Relaxed);
            part.clear();
        }
    }

    /// Shows all steps, while nobody else is at work.
    pub(super) fn visit_steps(&self, mut visit: impl FnMut(&mut StepId)) {
        if !self.is_any() {
            return;
        }
        for last in &self.last_steps {
            let mut step = StepId(last.load(Ordering::Relaxed));
            if step.is_some() && step.0 != SEVERAL {
                visit(&mut step);
                last.store(step.0, Ordering::Relaxed);
            }
        }
        for part in &self.parts {
            for (_, cell) in part.lock().values_mut().flat_map(Cells::iter_mut) {
                A::visit_steps(cell, &mut visit);
            }
        }
    }

    /// How many accesses were told, and how many of them were not looked at for lack of room.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.accesses.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed))
    }
}

/// The bytes of a word that lie in a range.
fn bytes_within(word: usize, addr: usize, size: usize) -> u8 {
    let end = addr.saturating_add(size);
    (0..WORD_BYTES).filter(|byte| (addr..end).contains(&(word + byte))).fold(0, |mask, byte| mask | 1 << byte)
}

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
        if self.is_serial(worker) || worker.step.0 >= super::words::MOST_STEPS {
            return;
        }
        let by = self.by(worker);
        let told = |(word, mask), by| {
            let has = |is_possible| worker.beside.told.has(Access { kind, word, mask, is_possible }, by);
            has(true) || has(false)
        };
        if by.is_some_and(|by| words_of(addr, size).all(|part| told(part, by))) {
            return;
        }
        let plain = worker.side.is_none() && self.is_plain(worker);
        let me = number_of(worker.step);
        if plain && words_of(addr, size).all(|(word, mask)| has_done(word, mask, kind, me)) {
            return;
        }
        if A::ONLY_RACES && size <= 16 && size.is_power_of_two() {
            let now = worker.data.history.locks();
            let locks = worker.side.as_ref().map_or(now, History::locks);
            if worker.recent.has((now, locks), kind, addr, size) {
                return;
            }
        }
        self.possible.any.store(true, Ordering::Relaxed);
        let told_size = u32::try_from(size).unwrap_or(u32::MAX);
        let place = thread.place(pc, POSSIBLE | if size <= 16 { told_size } else { 0 });
        let at = step(thread, Op::Access { kind, size: told_size, addr: Addr(addr as u64) }, place);
        for (word, mask) in words_of(addr, size) {
            let (worker, findings) = Self::parts_at_once(thread);
            worker.swap_side();
            let mut part = self.possible.part(word).lock();
            self.note_step(worker, word);
            self.possible.block(word).fetch_or(Possible::<A>::bit(word), Ordering::SeqCst);
            let cells = match part.entry(word) {
                Entry::Occupied(known) => Some(known.into_mut()),
                Entry::Vacant(_) if self.possible.words.load(Ordering::Relaxed) >= MOST_WORDS => {
                    self.possible.refused.fetch_add(1, Ordering::Relaxed);
                    None
                }
                Entry::Vacant(place) => self.second_cells(word).map(|cells| place.insert(cells)),
            };
            if let Some(cells) = cells {
                let what = (kind, word, mask);
                let nothing_new = self.access_beside(worker, findings, &at, what, false, Look::Keep(cells));
                drop(part);
                if A::ONLY_RACES {
                    // After it can be seen by others: who comes at the same time sees it, or is seen.
                    self.on_cells(word, |cells| {
                        self.access_beside(worker, findings, &at, what, false, Look::Compare(cells));
                    });
                }
                if let Some(by) = by.filter(|_| nothing_new) {
                    worker.beside.told.add(Access { kind, word, mask, is_possible: true }, by);
                }
            }
            worker.swap_side();
        }
        self.after(thread);
    }

    /// The other side was told.
    pub(super) fn end_of_side(&self, thread: &mut Thread) {
        let (worker, _) = Self::parts_at_once(thread);
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

    /// The running step has a possible access of a word; the caller holds the lock of its part.
    fn note_step(&self, worker: &mut Worker, word: usize) {
        let last = &self.possible.last_steps[Possible::<A>::block_index(word)];
        let before = last.load(Ordering::Relaxed);
        if before != worker.step.0 && before != SEVERAL {
            let now = if self.is_mine_or_before(worker, before) { worker.step.0 } else { SEVERAL };
            last.store(now, Ordering::SeqCst);
        }
    }

    /// False if a real access of the running step, of a range, has nothing to do with possible ones.
    #[inline(always)]
    pub(super) fn may_meet_possible(&self, worker: &mut Worker, addr: usize, size: usize) -> bool {
        self.possible.may_be_there(addr, size, |last| {
            let last = last.load(Ordering::Relaxed);
            // Of races: whatever comes before this step is nothing to it. Other analyses want to see what it does beside its own ones.
            !A::ONLY_RACES || last == SEVERAL || !self.is_mine_or_before(worker, last)
        })
    }

    #[inline]
    fn is_mine_or_before(&self, worker: &mut Worker, step: u32) -> bool {
        step == StepId::NONE.0 || self.relation(worker, StepId(step)) == Relation::Before
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
        beside.told.renew(self.possible.forgotten.load(Ordering::Relaxed));
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
            self.possible.accesses.fetch_add(accesses, Ordering::Relaxed);
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
        if by.is_some_and(|by| worker.beside.told.has(access, by)) {
            return;
        }
        let mut part = self.possible.part(word).lock();
        if let Some(cells) = part.get_mut(&word) {
            let look = if A::ONLY_RACES { Look::Compare(cells) } else { Look::Keep(cells) };
            let nothing_new = self.access_beside(worker, findings, at, (kind, word, mask), atomic, look);
            if let Some(by) = by.filter(|_| nothing_new) {
                worker.beside.told.add(access, by);
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
        let Some(id) = self.on_object(lock, |objects| {
            let (id, _, new) = objects.lock();
            if new {
                crate::telling::new_lock(id, lock);
            }
            id
        }) else {
            return;
        };
        let mut side = worker.side.take().unwrap_or_else(|| {
            let mut side = std::mem::take(&mut worker.beside.side_before);
            side.clone_from(&worker.data.history);
            side
        });
        worker.sets.get_or_insert_default().suppose(&self.sets, &mut side, (id, mode), acquire);
        worker.side = Some(side);
    }
}

/// True if the word tells that a step has done as much itself.
fn has_done(word: usize, mask: u8, kind: AccessKind, me: u64) -> bool {
    match Form::of(TaskWord::of(word).load()) {
        Some(Form::Plain { write, written, read, read_bytes }) => {
            (write == me && written & mask == mask)
                || (kind == AccessKind::Read && read == me && read_bytes & mask == mask)
        }
        _ => false,
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
