//! What the other sides of branches would access: *possible* accesses, beside the real ones.
//!
//! A possible access must not take the place of a real one, and what is found with it is no more than suspected. So each word
//! that a possible access touches gets a second set of cells, which starts with what is known about the word and then sees all of
//! its accesses, real and possible ones. What the analysis finds there is told if a possible access takes part; else the
//! word's own cells tell it. The guarantee is that of the analysis: if accesses of the word conflict, real or possible,
//! one of the two sets of cells tells.
//!
//! Whether a word has such accesses is told by a bit for each word (words far apart may share one), at which real accesses look
//! after they were remembered. It is set before the word is looked at: a real access at the same time is in the word by then, or
//! sees the bit.
//!
//! **Locks** that the other side would take are in a copy of the history of the task's locks, which is dropped at the end of the side. They say
//! nothing about the order in which the run takes its locks.
//!
//! **Left out:** what a step does that all others come before or after; what the step has done itself without locks, as then the
//! real access says it all; groups of locations; more than [`MOST_WORDS`] words.
//!
//! **Cost.** Nothing for programs that tell no possible accesses but the look at one flag for each access that is told in full. A word
//! with possible accesses has its cells twice.
//!
//! **Who may touch what.** A word's second cells: who holds the lock of their part of the table, which is taken before that of
//! the word. The copy of the history: its thread.

use super::words::{Form, TaskWord, number_of};
use super::{TaskDriver, Worker, step};
use crate::layout;
use crate::places;
use crate::shadow::{Cells, words as words_of};
use crate::spin::Spin;
use crate::thread::Thread;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::{AccessKind, Addr, LockMode, Op};
use keirin_core::finding::{Doubt, FindingKey, Findings, RawFinding, RawStep, Verdict};
use keirin_core::sptree::StepId;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Part of the size in a place: it is a possible access.
pub(crate) const POSSIBLE: u32 = 0x80;

/// Bytes whose words have their bits in one number.
const BLOCK_BYTES: usize = 64 * layout::WORD_BYTES;
/// Log2 of how many such numbers there are.
const BLOCKS_BITS: u32 = 16;
/// Possible accesses that a thread remembers to have told.
const RECENT: usize = 1 << 10;
/// Parts of the table.
const PARTS: usize = 64;
/// So many words can have second cells.
const MOST_WORDS: usize = 1 << 20;

/// The words with possible accesses, each with its second cells.
type Part<A> = FxHashMap<usize, Cells<<A as keirin_core::analysis::tasks::TaskAnalysis>::Cell>>;

/// All possible accesses.
pub(super) struct Possible<A: KeepsPlain> {
    any: AtomicBool,
    bits: Box<[AtomicU64]>,
    parts: Box<[Spin<Part<A>>]>,
    words: AtomicUsize,
    /// Accesses that were told, and those for which there was no room.
    accesses: AtomicU64,
    refused: AtomicU64,
}

impl<A: KeepsPlain> Default for Possible<A> {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            bits: (0..1usize << BLOCKS_BITS).map(|_| AtomicU64::new(0)).collect(),
            parts: (0..PARTS).map(|_| Spin::new(Part::<A>::default())).collect(),
            words: AtomicUsize::new(0),
            accesses: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }
}

impl<A: KeepsPlain> Possible<A> {
    /// The bits of the words around an address.
    #[inline(always)]
    fn block(&self, addr: usize) -> &AtomicU64 {
        let hash = ((addr / BLOCK_BYTES) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.bits[(hash >> (64 - BLOCKS_BITS)) as usize]
    }

    /// The bit of the word that holds an address.
    #[inline(always)]
    fn bit(addr: usize) -> u64 {
        1 << (addr % BLOCK_BYTES / layout::WORD_BYTES)
    }

    fn part(&self, addr: usize) -> &Spin<Part<A>> {
        let hash = ((addr / layout::WORD_BYTES) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.parts[(hash >> 32) as usize % PARTS]
    }

    /// False if the run has told no possible access yet.
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
    #[inline(always)]
    pub(super) fn may_be_in(&self, addr: usize, size: usize) -> bool {
        let (mut from, end) = (addr, addr + size);
        while from < end {
            let to = end.min((from | (BLOCK_BYTES - 1)) + 1);
            // All bits from the first word on, up to the last one.
            let mask = (u64::MAX << Self::bit(from).trailing_zeros())
                & (u64::MAX >> (63 - Self::bit(to - 1).trailing_zeros()));
            if self.block(from).load(Ordering::Relaxed) & mask != 0 {
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
                let mut part = part.lock();
                let before = part.len();
                part.retain(|word, cells| {
                    let mask = bytes_within(*word, addr, size);
                    cells.forget(mask);
                    !cells.is_empty()
                });
                self.words.fetch_sub(before - part.len(), Ordering::Relaxed);
            }
            return;
        }
        if !self.may_be_in(addr, size) {
            return;
        }
        for (word, mask) in words_of(addr, size).filter(|(word, _)| self.may_have(*word)) {
            let mut part = self.part(word).lock();
            if let Some(cells) = part.get_mut(&word) {
                cells.forget(mask);
                if cells.is_empty() {
                    part.remove(&word);
                    self.words.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Shows all steps, while nobody else is at work.
    pub(super) fn visit_steps(&self, mut visit: impl FnMut(&mut StepId)) {
        if !self.is_any() {
            return;
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
    (0..layout::WORD_BYTES)
        .filter(|byte| (addr..end).contains(&(word + byte)))
        .fold(0, |mask, byte| mask | 1 << byte)
}

/// True if some step of a finding is a possible access.
fn takes_part(steps: &[RawStep]) -> bool {
    let is_possible =
        |step: &RawStep| places::place(step.moment.site.0).is_some_and(|place| place.size & POSSIBLE != 0);
    steps.iter().any(is_possible)
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
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
        self.possible.accesses.fetch_add(1, Ordering::Relaxed);
        // What is pending is told later, and compared then.
        let (worker, _) = self.at_gate(thread);
        let worker = if worker.slot.is_some() { worker } else { self.acting(thread).0 };
        if worker.step.0 == self.serial.load(Ordering::Relaxed) || worker.step.0 >= super::words::MOST_STEPS {
            return;
        }
        let plain = worker.side.is_none() && self.is_plain(worker);
        let me = number_of(worker.step);
        if plain && words_of(addr, size).all(|(word, mask)| has_done(word, mask, kind, me)) {
            return;
        }
        let recent = (worker.side.is_none() && size <= 16 && size.is_power_of_two())
            .then(|| worker.recent.stamp(kind, addr, size));
        if recent == Some(worker.beside.told[(addr >> 2) % RECENT]) {
            return;
        }
        self.possible.any.store(true, Ordering::Relaxed);
        let told_size = u32::try_from(size).unwrap_or(u32::MAX);
        let place = thread.place(pc, POSSIBLE | if size <= 16 { told_size } else { 0 });
        let at = step(thread, Op::Access { kind, size: told_size, addr: Addr(addr as u64) }, place);
        let mut nothing_new = true;
        for (word, mask) in words_of(addr, size) {
            let (worker, findings) = Self::parts_at_once(thread);
            worker.swap_side();
            self.possible.block(word).fetch_or(Possible::<A>::bit(word), Ordering::SeqCst);
            let mut part = self.possible.part(word).lock();
            let cells = match part.entry(word) {
                Entry::Occupied(known) => Some(known.into_mut()),
                Entry::Vacant(_) if self.possible.words.load(Ordering::Relaxed) >= MOST_WORDS => {
                    self.possible.refused.fetch_add(1, Ordering::Relaxed);
                    None
                }
                Entry::Vacant(place) => {
                    let locked = TaskWord::of(word).lock::<A>(word, self.era.load(Ordering::Relaxed));
                    locked.map(|mut locked| {
                        let cells = locked.record().cells.iter();
                        let known = cells.map(|(bytes, cell)| (bytes, cell.clone())).collect();
                        locked.settle(word, |step| self.is_past(step));
                        self.possible.words.fetch_add(1, Ordering::Relaxed);
                        place.insert(known)
                    })
                }
            };
            if let Some(cells) = cells {
                nothing_new &= self.access_beside(worker, findings, &at, (kind, word, mask), false, cells);
            }
            drop(part);
            worker.swap_side();
        }
        if let Some(recent) = recent.filter(|_| nothing_new) {
            Self::parts_at_once(thread).0.beside.told[(addr >> 2) % RECENT] = recent;
        }
        self.after(thread);
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
        if !self.possible.may_have(word) {
            return;
        }
        let mut part = self.possible.part(word).lock();
        if let Some(cells) = part.get_mut(&word) {
            self.access_beside(worker, findings, at, (kind, word, mask), atomic, cells);
        }
    }

    /// An access, of second cells. True if another one of the kind would tell and change nothing.
    fn access_beside(
        &self,
        worker: &mut Worker,
        findings: &mut Findings,
        at: &RawStep,
        what: (AccessKind, usize, u8),
        atomic: bool,
        cells: &mut Cells<A::Cell>,
    ) -> bool {
        let mut found = std::mem::take(&mut worker.beside.findings);
        std::mem::swap(&mut worker.flagged, &mut worker.beside.flagged);
        worker.beside.is_on = true;
        let nothing_new = self.access_in_full(worker, &mut found, at, what, atomic, cells);
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
        let (worker, _) = self.acting(thread);
        let Some(id) = self.on_object(lock, |objects| {
            let (id, _, new) = objects.lock();
            if new {
                crate::telling::new_lock(id, lock);
            }
            id
        }) else {
            return;
        };
        let mut side = worker.side.take().unwrap_or_else(|| worker.data.history.clone());
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
    /// Possible accesses that it has told lately, as they are noted for the hooks.
    told: Box<[u64; RECENT]>,
}

impl Default for Beside {
    fn default() -> Self {
        Self {
            findings: Findings::new(),
            seen: 0,
            flagged: keirin_core::analysis::tasks::Flagged::default(),
            is_on: false,
            told: Box::new([0; RECENT]),
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
