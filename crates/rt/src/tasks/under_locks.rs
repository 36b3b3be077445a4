//! Accesses of whole words under locks, which need no record while all of them are under the same locks: sums that many tasks add to, cells of a
//! grid with a lock each.
//!
//! | the word remembers | access under the same locks | then remembered |
//! |---|---|---|
//! | nothing, or what comes before all that is still to come | any | the access |
//! | accesses of the same kind | any | the last in English and in Hebrew order, as by `keirin_core::analysis::tasks::kept` |
//! | writes, one of them by the step | read | as before: who races with the read races with the write |
//! | writes by others | read | pending: most such reads are followed by a write of the same, and then tell nothing |
//! | reads by the step, or before it | write | the write: who races with those reads races with it |
//!
//! All else is looked at in full, and so are reads that are still pending when the step or its locks change. The locks exclude each other, so that
//! no two of these accesses race. A word has the lower bits of their number, and its line the upper ones, for which there is no room in the words:
//! words that lie side by side may have a lock each.

use super::pending::Run;
use super::plain::{Done, past};
use super::sites;
use super::words::{self, Form, LOCKS_BITS, TaskWord, number_of, step_of};
use super::{TaskDriver, Worker};
use crate::layout::WORD_BYTES;
use crate::places::PlaceNumber;
use crate::thread::Thread;
use crate::tls;
use keirin_core::analysis::tasks::kept::Entry;
use keirin_core::analysis::tasks::plain::{KeepsPlain, UnderLocks};
use keirin_core::event::{AccessKind, SiteId};
use keirin_core::lockset::LocksetId;
use keirin_core::sptree::Relation;
use std::sync::atomic::Ordering;

/// So many reads can be pending.
const MOST_READS: usize = 64;

/// What a word remembers of accesses under locks, if that is its form.
pub(super) fn accesses(form: Form, addr: usize) -> Option<UnderLocks> {
    let Form::UnderLocks { english, hebrew, kind, locks } = form else { return None };
    let entry =
        |step: u64, second: bool| Entry { step: step_of(step), site: SiteId(sites::get(addr, second)) };
    let locks = locks_of(locks, sites::locks(addr));
    Some(UnderLocks { locks, kind, two: (entry(english, false), entry(hebrew, true)) })
}

/// The number that stands for accesses under locks, of a word which the caller owns, if they fit. Their places are where they belong then.
pub(super) fn put_packed(word: &TaskWord, addr: usize, accesses: UnderLocks) -> Option<u64> {
    let UnderLocks { locks, kind, two: (english, hebrew) } = accesses;
    let (locks, of_line) = parts_of(locks)?;
    let mut line = sites::own(addr)?;
    if !line.put_locks(addr, of_line, || others_are(word)) {
        return None;
    }
    line.put((addr, 0xff), false, english.site.0, || word.used_in_line());
    line.put((addr, 0xff), true, hebrew.site.0, || word.used_in_line());
    let (english, hebrew) = (number_of(english.step), number_of(hebrew.step));
    Form::UnderLocks { english, hebrew, kind, locks }.number()
}

/// What a word has of the number of its locks, and what its line has. None: there is no room for such a number.
#[inline]
fn parts_of(locks: LocksetId) -> Option<(u32, u32)> {
    let (of_word, of_line) = (locks.number() & ((1 << LOCKS_BITS) - 1), locks.number() >> LOCKS_BITS);
    (of_line >> sites::LOCKS_BITS == 0).then_some((of_word, of_line))
}

/// The locks of which a word has one part and its line the other one.
#[inline]
pub(super) fn locks_of(of_word: u32, of_line: u32) -> LocksetId {
    LocksetId::of_number(of_line << LOCKS_BITS | of_word)
}

/// True if other words of the line are about accesses under locks.
fn others_are(word: &TaskWord) -> bool {
    word.others().any(TaskWord::is_under_locks)
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// An access of whole words under locks, if that is all it needs. False: it must be looked at in full; a part may have been told.
    #[inline]
    pub(super) fn short_access_under_locks(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        (addr, size): (usize, usize),
        pc: usize,
    ) -> bool {
        // Nobody acts, or all is told.
        if tls::task() == 0 || !size.is_multiple_of(WORD_BYTES) || !addr.is_multiple_of(WORD_BYTES) {
            return false;
        }
        thread.note_stack(addr);
        let place = thread.place(pc, size as u32);
        let (worker, _) = self.at_gate(thread);
        let mut words = (addr..addr + size).step_by(WORD_BYTES);
        if words.any(|word| self.access_under_locks(worker, kind, word, place) == Done::No) {
            return false;
        }
        worker.recent.add(kind, addr, size);
        thread.accesses += 1;
        self.told_meets_possible(thread, &Run::of_many(kind, size as u32, place), addr, size);
        true
    }

    /// An access of a whole word under locks. [`Done::No`]: it must be looked at in full.
    pub(super) fn access_under_locks(
        &self,
        worker: &mut Worker,
        kind: AccessKind,
        addr: usize,
        place: PlaceNumber,
    ) -> Done {
        let now = worker.data.history.locks();
        let Some((locks, of_line)) = parts_of(now).filter(|_| A::KEEPS_UNDER_LOCKS) else { return Done::No };
        if worker.step.0 >= words::MOST_STEPS || !self.exclude_each_other(worker, now) {
            return Done::No;
        }
        let word = TaskWord::of(addr);
        let old = word.load();
        let Some(form) = Form::of(old) else { return Done::No };
        if kind == AccessKind::Write && !worker.reads_under_locks.is_empty() {
            worker.reads_under_locks.retain(|(read, _)| *read != addr);
        }
        let me = number_of(worker.step);
        let anew = self.is_all_past(worker, form);
        let (english, hebrew, kind) = if anew {
            if old == 0 && !word.admit() {
                return Done::No;
            }
            (me, me, kind)
        } else {
            let Form::UnderLocks { english, hebrew, kind: before, locks: others } = form else {
                return Done::No;
            };
            if others != locks || sites::locks(addr) != of_line {
                return Done::No;
            }
            let mine = english == me || hebrew == me;
            match (before, kind) {
                (AccessKind::Write, _) | (_, AccessKind::Read) if mine => return Done::Unknown,
                (AccessKind::Write, AccessKind::Read) => {
                    let has_room = worker.reads_under_locks.len() < MOST_READS;
                    if has_room {
                        worker.reads_under_locks.push((addr, place));
                    }
                    return if has_room { Done::Unknown } else { Done::No };
                }
                (AccessKind::Read, AccessKind::Write) => {
                    if !self.is_before(worker, english) || !self.is_before(worker, hebrew) {
                        return Done::No;
                    }
                    (me, me, kind)
                }
                _ => {
                    let in_english = self.relation(worker, past(english));
                    let in_hebrew = self.relation(worker, past(hebrew));
                    let (first, second) = (in_english != Relation::Right, in_hebrew != Relation::Left);
                    let all = in_english == Relation::Before && in_hebrew == Relation::Before;
                    if !all && self.keep_all.load(Ordering::Relaxed) {
                        return Done::No;
                    }
                    if !all && !self.dropped.load(Ordering::Relaxed) {
                        self.dropped.store(true, Ordering::Relaxed);
                    }
                    (if first { me } else { english }, if second { me } else { hebrew }, kind)
                }
            }
        };
        let Some(new) = (Form::UnderLocks { english, hebrew, kind, locks }).number() else { return Done::No };
        if new == old {
            return Done::Unknown;
        }
        let Some(mut line) = word.own_as(old) else { return Done::No };
        // The locks may be others than those that were seen, if the word was something else for a while.
        let fits = if anew {
            line.put_locks(addr, of_line, || others_are(word))
        } else {
            sites::locks(addr) == of_line
        };
        if !fits {
            return Done::No;
        }
        if english == me {
            line.put((addr, 0xff), false, place, || word.used_in_line());
        }
        if hebrew == me {
            line.put((addr, 0xff), true, place, || word.used_in_line());
        }
        word.set(new);
        Done::Unknown
    }

    /// Tells the reads that are pending.
    #[cold]
    pub(super) fn tell_reads_under_locks(&self, thread: &mut Thread) {
        let reads = std::mem::take(&mut Self::parts_at_once(thread).0.reads_under_locks);
        let _ = self.at_gate(thread);
        for (word, place) in &reads {
            let run = Run::of_many(AccessKind::Read, WORD_BYTES as u32, *place);
            self.tell_in_full(thread, &run, (*word, 0xff));
            self.told_meets_possible(thread, &run, *word, WORD_BYTES);
        }
        // Its memory is used again.
        let worker = Self::parts_at_once(thread).0;
        worker.reads_under_locks = reads;
        worker.reads_under_locks.clear();
    }

    /// True if all that a word remembers comes before all that is still to come.
    #[inline]
    pub(super) fn is_all_past(&self, worker: &mut Worker, form: Form) -> bool {
        match form {
            Form::Plain { write, read, .. } => self.are_past(worker, [write, read]),
            Form::Readers { english, hebrew, behind: false, .. }
            | Form::UnderLocks { english, hebrew, .. } => self.are_past(worker, [english, hebrew]),
            Form::Halves { steps, behind: false, .. } => self.are_past(worker, steps),
            Form::Part { rest, part, .. } => self.are_past(worker, [rest, part]),
            Form::Readers { .. } | Form::Halves { .. } => false,
        }
    }

    #[inline]
    fn are_past(&self, worker: &mut Worker, steps: [u64; 2]) -> bool {
        steps.into_iter().all(|step| step == 0 || self.has_passed(worker, past(step)))
    }

    /// True if accesses under some locks exclude each other.
    #[inline]
    fn exclude_each_other(&self, worker: &mut Worker, locks: LocksetId) -> bool {
        if worker.exclusive == locks {
            return !locks.is_empty();
        }
        let (locksets, _) = worker.sets.get_or_insert_default().up_to_date(&self.sets);
        let exclude = locksets.excludes(locks, locks);
        if exclude {
            worker.exclusive = locks;
        }
        exclude
    }
}
