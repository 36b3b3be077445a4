//! Accesses that are not told yet.
//!
//! Within a step it does not matter to the analyses in which order plain accesses come. So those of one instruction that follow
//! each other at equal distances are collected into a *run*, and told together: a loop over bytes comes to whole words, what the
//! words have in common is worked out once, and the program is not held up by each of them. The first access of a run is told at
//! once, and so are all that are not where the instruction is expected to go next. The hooks put the others into their run; the last one,
//! done once more, tells nothing new.
//!
//! All is told before the thread does anything else: before its step, its locks or its blocks change, before it lets another one
//! know what it did, before it gives memory back. A thread that still runs when the program ends may have a few left.
//!
//! **Who may touch what.** The runs belong to the thread and its hooks.

use super::plain::{Done, past};
use super::sites::LINE_BYTES;
use super::words::{self, Form, Simple, TaskWord, number_of};
use super::{TaskDriver, Worker, sites, step};
use crate::driver::REFUSED;
use crate::layout::{PAGE_BYTES, WORD_BYTES};
use crate::own;
use crate::places::PlaceNumber;
use crate::shadow::words as words_of;
use crate::thread::Thread;
use crate::tls;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::{AccessKind, Addr, Op};
use keirin_core::sptree::Relation;
use std::sync::atomic::Ordering;

/// So many instructions can have a run at the same time; which one has which is told by the lowest byte of its address.
const RUNS: usize = 256;
/// A distance that is not worth expecting again.
const FARTHEST: usize = PAGE_BYTES / 2;

/// Accesses of one instruction, with the same calls open, at equal distances, in one page.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Run {
    /// The instruction and the open calls; 0 if there is no run.
    key: u64,
    /// Where the next access is expected.
    next: usize,
    /// Where the first one was that is not told. Equal to the one above: there is none.
    from: usize,
    distance: isize,
    pub(super) place: PlaceNumber,
    size: u32,
    pub(super) kind: AccessKind,
    /// It is about the thread's own stack. Calls of calls go on downwards, and may have been left when it is told.
    on_stack: bool,
}

/// Offsets for the hooks.
pub(crate) const RUN_KEY: usize = std::mem::offset_of!(Run, key);
pub(crate) const RUN_NEXT: usize = std::mem::offset_of!(Run, next);
pub(crate) const RUN_FROM: usize = std::mem::offset_of!(Run, from);
pub(crate) const RUN_DISTANCE: usize = std::mem::offset_of!(Run, distance);
const _: () = assert!(size_of::<Run>() == 64);

impl Run {
    const NONE: Self = Self {
        key: 0,
        next: 0,
        from: 0,
        distance: 1,
        place: 0,
        size: 1,
        kind: AccessKind::Read,
        on_stack: false,
    };

    /// Accesses that are told at once: those of a loop, or one of many bytes.
    pub(super) fn of_many(kind: AccessKind, size: u32, place: PlaceNumber) -> Self {
        Self { place, size, kind, ..Self::NONE }
    }

    pub(super) fn is_of_many(&self) -> bool {
        self.key == 0
    }

    /// The addresses of the accesses.
    fn addresses(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { from, distance, .. } = *self;
        (0..self.count()).map(move |index| from.wrapping_add_signed(distance * index as isize))
    }

    /// The lowest address of the accesses.
    fn lowest(&self) -> usize {
        self.from.min(self.next.wrapping_sub_signed(self.distance))
    }

    fn count(&self) -> usize {
        (self.next.wrapping_sub(self.from) as isize / self.distance) as usize
    }
}

/// The runs of a thread.
pub(super) struct Pending {
    runs: Box<[Run; RUNS]>,
    /// Which of them there are.
    used: [u64; RUNS / 64],
}

impl Pending {
    pub(super) fn new() -> Self {
        Self { runs: Box::new([Run::NONE; RUNS]), used: [0; RUNS / 64] }
    }

    /// Where the hooks find the runs.
    pub(super) fn address(&self) -> usize {
        self.runs.as_ptr() as usize
    }

    /// Where the hooks find none.
    pub(super) fn none() -> usize {
        static NONE: [Run; RUNS] = [Run::NONE; RUNS];
        NONE.as_ptr() as usize
    }

    /// True if there is no run.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.used.iter().all(|group| *group == 0)
    }

    /// Takes a run out of which something is not told. Those of which all is told are given up on the way.
    #[inline(always)]
    fn take(&mut self) -> Option<Run> {
        loop {
            let group = self.used.iter().position(|group| *group != 0)?;
            let bit = self.used[group].trailing_zeros();
            self.used[group] &= !(1 << bit);
            let run = &mut self.runs[group * 64 + bit as usize];
            if run.from != run.next {
                let taken = *run;
                run.key = 0;
                return Some(taken);
            }
            run.key = 0;
        }
    }
}

/// Puts an access to the run that `run_at` stands for, if it is where that was expected to go on, or passes over it if it is the last one once
/// more. The hooks do the same.
#[inline(always)]
pub(super) fn goes_on(addr: usize, size: usize, run_at: usize) -> bool {
    let runs = tls::pending() as *mut Run;
    if runs.is_null() {
        return false;
    }
    // SAFETY: these are so many runs of the calling thread, which is not in the runtime now; or those of nobody, which have no key,
    // so that they are not changed.
    unsafe {
        let run = runs.add(run_at % RUNS);
        let is_of =
            (*run).key == run_at as u64 ^ tls::calls() && (*run).key != 0 && (*run).size as usize == size;
        let after = addr.wrapping_add_signed((*run).distance);
        let goes_on = (*run).next == addr && ((*run).from ^ addr) < PAGE_BYTES;
        if is_of && goes_on {
            (*run).next = after;
        }
        is_of && (goes_on || (*run).next == after)
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// An access of at most sixteen bytes, if it is one of the commonest. False: it must be looked at in full. `run_at` stands for its
    /// instruction where accesses are collected.
    #[inline(always)]
    pub(crate) fn short_access(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        (addr, size): (usize, usize),
        pc: usize,
        run_at: usize,
    ) -> bool {
        if tls::is_serial() {
            return true;
        }
        if thread.ignoring > 0 || own::may_be(addr) {
            return false;
        }
        if !Self::parts_at_once(thread).0.plain {
            return A::KEEPS_UNDER_LOCKS && self.short_access_under_locks(thread, kind, (addr, size), pc);
        }
        sites::approach(addr, kind == AccessKind::Read);
        let on_stack = thread.note_stack(addr);
        let place = thread.place(pc, size as u32);
        let key = run_at as u64 ^ thread.stack_hash();
        let (worker, _) = Self::parts_at_once(thread);
        let index = run_at % RUNS;
        let run = &mut worker.pending.runs[index];
        let left = (run.key != 0 && run.from != run.next).then_some(*run);
        let last = run.next.wrapping_sub_signed(run.distance);
        let same = run.key == key && run.kind == kind;
        let distance = if same { addr.wrapping_sub(last) as isize } else { size as isize };
        let distance =
            if distance != 0 && distance.unsigned_abs() <= FARTHEST { distance } else { size as isize };
        let next = addr.wrapping_add_signed(distance);
        *run = Run { key, next, from: next, distance, place, size: size as u32, kind, on_stack };
        worker.pending.used[index / 64] |= 1 << (index % 64);
        if let Some(left) = left {
            self.tell_run(thread, &left);
        }
        thread.accesses += 1;
        if self.tell_shortly(thread, kind, (addr, size), place) {
            if self.possible.is_any() {
                self.told_meets_possible(thread, &Run::of_many(kind, size as u32, place), addr, size);
            }
        } else {
            // The run is looked at only now, so that the commonest accesses do not make a copy of it.
            let run = Self::parts_at_once(thread).0.pending.runs[index];
            self.tell_in_any_way(thread, &run, addr);
        }
        true
    }

    /// Tells one access of a run.
    #[inline(always)]
    pub(super) fn tell_alone(&self, thread: &mut Thread, run: &Run, addr: usize) {
        if self.tell_shortly(thread, run.kind, (addr, run.size as usize), run.place) {
            self.told_meets_possible(thread, run, addr, run.size as usize);
        } else {
            self.tell_in_any_way(thread, run, addr);
        }
    }

    /// The same if it is one of the commonest. False: nothing was done, or a part of it.
    #[inline(always)]
    fn tell_shortly(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        (addr, size): (usize, usize),
        place: PlaceNumber,
    ) -> bool {
        if size < WORD_BYTES || !addr.is_multiple_of(WORD_BYTES) {
            return self.tell_simply(thread, kind, (addr, size), place);
        }
        if size == WORD_BYTES {
            return self.tell_words_simply::<1>(thread, kind, addr, place)
                || (kind == AccessKind::Read && self.read_among_others::<1>(thread, addr, place));
        }
        let within_line = addr % LINE_BYTES <= LINE_BYTES - 2 * WORD_BYTES;
        if within_line
            && (self.tell_words_simply::<2>(thread, kind, addr, place)
                || (kind == AccessKind::Read && self.read_among_others::<2>(thread, addr, place)))
        {
            return true;
        }
        let mut words = [addr, addr + WORD_BYTES].into_iter();
        words.all(|addr| self.tell_words_simply::<1>(thread, kind, addr, place))
    }

    /// The commonest way of [`Self::plain_access`]: all that the word remembers is about the same bytes, and comes before this access.
    /// False: nothing was done.
    #[inline(always)]
    fn tell_simply(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        (addr, size): (usize, usize),
        place: PlaceNumber,
    ) -> bool {
        let offset = addr % WORD_BYTES;
        if offset + size > WORD_BYTES {
            return false;
        }
        let (worker, _) = self.at_gate(thread);
        let word = TaskWord::of(addr);
        let old = word.load();
        let bytes = (((1u32 << size) - 1) << offset) as u8;
        let is_read = kind == AccessKind::Read;
        let without_past =
            |worker| if words::is_record(old) { None } else { self.without_past(worker, old, bytes) };
        let Some(simple) = Simple::of(old, bytes).or_else(|| without_past(worker)) else {
            return is_read && self.read_covered_bytes(thread, (addr, size), bytes, old);
        };
        let me = number_of(worker.step);
        if simple.write == me || (is_read && simple.read == me) {
            return true;
        }
        let before = |number: u64, worker: &mut Worker| number == 0 || self.is_before(worker, number);
        if !before(simple.write, worker) || !before(simple.read, worker) || (old == 0 && !word.admit()) {
            return false;
        }
        let new = simple.after(kind, me);
        let Some(mut line) = word.own_as(old) else { return false };
        line.put((addr, bytes), is_read, place, || word.used_in_line());
        word.set(new);
        true
    }

    /// What is left of a word when it has nothing to remember but what comes before all that is still to come: programs that do the same again
    /// and again, with all tasks waited for in between, access other parts of their words each time. None: there is something else.
    #[inline(never)]
    fn without_past(&self, worker: &mut Worker, old: u64, bytes: u8) -> Option<Simple> {
        let form = Form::of(old)?;
        if self.is_all_past(worker, form) { Simple::of(0, bytes) } else { None }
    }

    /// The same for whole words of a line, side by side, that remember the same.
    #[inline(always)]
    fn tell_words_simply<const WORDS: usize>(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        addr: usize,
        place: PlaceNumber,
    ) -> bool {
        let (worker, _) = self.at_gate(thread);
        let words: [&TaskWord; WORDS] = std::array::from_fn(|index| TaskWord::of(addr + index * WORD_BYTES));
        let old = words[0].load();
        let (me, is_read) = (number_of(worker.step), kind == AccessKind::Read);
        let alike = || words[1..].iter().all(|word| word.load() == old);
        let (Some((write, read)), true) = (words::whole(old), alike()) else { return false };
        if write == me || (is_read && read == me) {
            return true;
        }
        let before = |number: u64, worker: &mut Worker| number == 0 || self.is_before(worker, number);
        if !before(write, worker) || !before(read, worker) || (old == 0 && !words[0].admit()) {
            return false;
        }
        let new = if is_read { words::with_read(old, me) } else { words::written_only(me) };
        let Some(mut line) = words[0].own_as(old).filter(|_| alike()) else { return false };
        line.put_whole((addr, addr + WORDS * WORD_BYTES), is_read, place, || words[0].used_in_line());
        words.iter().for_each(|word| word.set(new));
        true
    }

    /// The same for a read of such words that two steps have read which are not ordered.
    #[inline(never)]
    fn read_among_others<const WORDS: usize>(
        &self,
        thread: &mut Thread,
        addr: usize,
        place: PlaceNumber,
    ) -> bool {
        let words: [&TaskWord; WORDS] = std::array::from_fn(|index| TaskWord::of(addr + index * WORD_BYTES));
        let old = words[0].load();
        let alike = || words[1..].iter().all(|word| word.load() == old);
        let (Some((english, hebrew)), true) = (words::whole_readers(old), alike()) else { return false };
        let (worker, _) = Self::parts_at_once(thread);
        let me = number_of(worker.step);
        if english == me || hebrew == me {
            return true;
        }
        if self.keep_all.load(Ordering::Relaxed) {
            return false;
        }
        let in_english = self.relation(worker, past(english));
        let in_hebrew = self.relation(worker, past(hebrew));
        let (first, second) = (in_english != Relation::Right, in_hebrew != Relation::Left);
        if in_english == Relation::Before && in_hebrew == Relation::Before {
            return false;
        }
        self.note_dropped();
        let end = addr + WORDS * WORD_BYTES;
        if !first && !second {
            worker.recent.add(AccessKind::Read, addr, end - addr);
            return true;
        }
        let new = words::read_by(if first { me } else { english }, if second { me } else { hebrew });
        let Some(mut line) = words[0].own_as(old).filter(|_| alike()) else { return false };
        for put in [(first, false), (second, true)].into_iter().filter_map(|(is, at)| is.then_some(at)) {
            line.put_whole((addr, end), put, place, || words[0].used_in_line());
        }
        words.iter().for_each(|word| word.set(new));
        true
    }

    /// A read of some bytes that need not be remembered beside what their table tells. False: nothing was done.
    #[inline(never)]
    fn read_covered_bytes(
        &self,
        thread: &mut Thread,
        (addr, size): (usize, usize),
        bytes: u8,
        old: u64,
    ) -> bool {
        let (worker, _) = Self::parts_at_once(thread);
        let covered = TaskWord::is_table(old) && self.are_covered(worker, TaskWord::of(addr), bytes, old);
        if covered {
            let is_first = !worker.recent.has_line(AccessKind::Read, addr);
            worker.recent.add(AccessKind::Read, addr, size);
            if !self.possible.is_any() {
                self.note_covered_around(worker, addr, is_first);
            }
        }
        covered
    }

    /// Notes which bytes around an address the running step need not tell that it reads, because others have read them. Who reads some bytes of a
    /// picture or a text reads others as well.
    fn note_covered_around(&self, worker: &mut Worker, addr: usize, whole_line: bool) {
        let bytes = if whole_line { LINE_BYTES } else { WORD_BYTES };
        let first = addr & !(bytes - 1);
        let mut covered = 0;
        for offset in (0..bytes).step_by(WORD_BYTES) {
            let word = TaskWord::of(first + offset);
            let number = word.load();
            let here = match words::whole_readers(number) {
                Some(_) if self.keep_all.load(Ordering::Relaxed) => 0,
                Some((one, other)) if self.is_among(worker, past(one), past(other)) => {
                    self.note_dropped();
                    0xff
                }
                None if TaskWord::is_table(number) => self.covered_of(worker, word, 0xff, number),
                _ => 0,
            };
            covered |= u64::from(here) << offset;
        }
        worker.recent.add_bytes(AccessKind::Read, first, covered);
    }

    /// The same, in whatever way.
    #[inline(never)]
    fn tell_in_any_way(&self, thread: &mut Thread, run: &Run, addr: usize) {
        self.tell_at(thread, run, addr, run.size as usize);
    }

    /// Tells all runs.
    #[inline(always)]
    pub(super) fn tell_pending(&self, thread: &mut Thread) {
        while let Some(run) = Self::parts_at_once(thread).0.pending.take() {
            self.tell_run(thread, &run);
        }
        if A::KEEPS_UNDER_LOCKS && !Self::parts_at_once(thread).0.reads_under_locks.is_empty() {
            self.tell_reads_under_locks(thread);
        }
    }

    /// Tells a run.
    #[inline(never)]
    fn tell_run(&self, thread: &mut Thread, run: &Run) {
        if run.next.abs_diff(run.from) > 2 * PAGE_BYTES {
            // A signal handler came between two instructions of a hook and changed it.
            return;
        }
        thread.accesses += run.count() as u64;
        if run.on_stack {
            thread.note_on_stack(run.lowest());
        }
        // Of larger ones all that lies side by side must be whole words.
        let side_by_side = run.size as usize <= WORD_BYTES || run.from.is_multiple_of(WORD_BYTES);
        if run.distance.unsigned_abs() == run.size as usize && side_by_side {
            self.tell_at(thread, run, run.lowest(), run.count() * run.size as usize);
        } else {
            for addr in run.addresses() {
                self.tell_alone(thread, run, addr);
            }
        }
    }

    /// Tells accesses of a run that lie side by side: one, or several none of which is larger than a word.
    #[inline(always)]
    pub(super) fn tell_at(&self, thread: &mut Thread, run: &Run, addr: usize, size: usize) {
        let _ = self.at_gate(thread);
        let end = addr + size;
        let is_one = size == run.size as usize;
        let mut all = Done::Known;
        let mut next = addr;
        while next < end {
            if next.is_multiple_of(WORD_BYTES) && end - next >= WORD_BYTES {
                let (worker, _) = Self::parts_at_once(thread);
                let whole = (next, end & !(WORD_BYTES - 1));
                next = self.whole_accesses(worker, run, whole);
                if next == whole.1 {
                    continue;
                }
            }
            let to = end.min((next | (WORD_BYTES - 1)) + 1);
            match self.tell_word(thread, run, next, to) {
                Done::Known => {}
                Done::No => all = Done::No,
                Done::Unknown if !is_one => {
                    Self::parts_at_once(thread).0.recent.add(run.kind, next, to - next);
                }
                Done::Unknown if all == Done::Known => all = Done::Unknown,
                Done::Unknown => {}
            }
            next = to;
        }
        self.told_meets_possible(thread, run, addr, size);
        // The hooks pass over an access only if they may pass over all words of it.
        if is_one && all == Done::Unknown {
            Self::parts_at_once(thread).0.recent.add(run.kind, addr, size);
        }
    }

    /// Accesses of a run that lie side by side were told: they are compared with possible ones, if there are any.
    #[inline(always)]
    pub(super) fn told_meets_possible(&self, thread: &mut Thread, run: &Run, addr: usize, size: usize) {
        if self.possible.is_any() && self.may_meet_possible(Self::parts_at_once(thread).0, addr, size) {
            self.run_meets_possible(thread, run, addr, size);
        }
    }

    /// The same, where there are some.
    #[cold]
    fn run_meets_possible(&self, thread: &mut Thread, run: &Run, addr: usize, size: usize) {
        for (word, mask) in words_of(addr, size).filter(|(word, _)| self.possible.may_have(*word)) {
            let first = word + mask.trailing_zeros() as usize;
            let op = Op::Access { kind: run.kind, size: run.size, addr: Addr(first as u64) };
            let at = step(thread, op, run.place);
            let (worker, findings) = Self::parts_at_once(thread);
            self.meet_possible(worker, findings, &at, (run.kind, word, mask), false);
        }
        self.after(thread);
    }

    /// Tells the part of a run between two addresses of a word. [`Done::No`]: another one might have something to tell.
    #[inline(never)]
    fn tell_word(&self, thread: &mut Thread, run: &Run, from: usize, to: usize) -> Done {
        let (worker, _) = Self::parts_at_once(thread);
        let mut all = Done::Known;
        for part in words_of(from, to - from) {
            all = match self.plain_access(worker, run.kind, part, &mut || run.place) {
                Done::No => return self.tell_in_full(thread, run, part),
                done => done,
            };
        }
        all
    }

    /// Tells one access of those that are told at once, under locks.
    pub(super) fn tell_under_locks(&self, thread: &mut Thread, run: &Run, addr: usize) {
        let _ = self.at_gate(thread);
        for (word, mask) in words_of(addr, run.size as usize) {
            let (worker, _) = Self::parts_at_once(thread);
            if mask != 0xff || self.access_under_locks(worker, run.kind, word, run.place) == Done::No {
                self.tell_in_full(thread, run, (word, mask));
            }
        }
        if self.possible.is_any() {
            self.run_meets_possible(thread, run, addr, run.size as usize);
        }
    }

    /// Tells the part of a run that is in a word, if it does not fit there.
    #[inline(never)]
    pub(super) fn tell_in_full(&self, thread: &mut Thread, run: &Run, (word, mask): (usize, u8)) -> Done {
        let addr = word + mask.trailing_zeros() as usize;
        let op = Op::Access { kind: run.kind, size: run.size, addr: Addr(addr as u64) };
        let at = step(thread, op, run.place);
        let (worker, findings) = Self::parts_at_once(thread);
        let Some(mut locked) = TaskWord::of(word).lock::<A>(word, self.era.load(Ordering::Relaxed)) else {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return Done::No;
        };
        let cells = self.cells_of(worker, &mut locked);
        let nothing_new = self.access_in_full(worker, findings, &at, (run.kind, word, mask), false, cells);
        locked.settle_after((run.kind, word, mask), |step| self.is_past(step));
        self.after(thread);
        if nothing_new { Done::Unknown } else { Done::No }
    }
}
