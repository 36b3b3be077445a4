//! Plain accesses of whole words that lie side by side: what becomes of words that are alike is worked out once.
//!
//! The rules are those of [`super::plain`]. A word that is not like those around it, or whose places are not, is left to that.

use super::pending::Run;
use super::plain::{Change, past};
use super::sites::{self, OwnedLine};
use super::words::{self, Form, TaskWord, number_of, whole, with_read, written_only};
use super::{TaskDriver, Worker};
use crate::layout::WORD_BYTES;
use crate::places::PlaceNumber;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::AccessKind;
use keirin_core::sptree::Relation;

/// What becomes of words that are accessed as a whole, all alike, in one line.
#[derive(Clone, Copy)]
struct Whole {
    new: u64,
    first: First,
    /// The access stands at the second place.
    second: bool,
    /// The step of the write that goes behind, with the first place.
    behind: Option<u64>,
}

/// What stands at the first place then.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// What was there.
    Same,
    /// The access.
    Here,
    /// What was at the second place.
    Second,
    /// The write that was behind.
    Behind,
}

impl Whole {
    fn same(number: u64) -> Self {
        Self { new: number, first: First::Same, second: false, behind: None }
    }

    /// Puts the places where they belong. False: they are not all alike, or there is no room for the write behind.
    #[inline(always)]
    fn put_places(
        &self,
        line: &mut OwnedLine,
        word: &TaskWord,
        (addr, end): (usize, usize),
        place: PlaceNumber,
    ) -> bool {
        let first = match self.first {
            First::Same => None,
            First::Here => Some(place),
            First::Second => Some(sites::get(addr, true)),
            First::Behind => Some(sites::write_behind(addr).1),
        };
        if self.first == First::Second && first.is_some_and(|first| !sites::is_whole(addr, end, true, first))
        {
            return false;
        }
        if let Some(write) = self.behind {
            let place = sites::get(addr, false);
            if !sites::is_whole(addr, end, false, place)
                || !line.put_behind(addr, write, place, || word.others_behind())
            {
                return false;
            }
        }
        let mut put = |second: bool, place| {
            line.put_whole((addr, end), second, place, || word.used_in_line());
        };
        if let Some(first) = first {
            put(false, first);
        }
        if self.second {
            put(true, place);
        }
        true
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// True if a step is the running one or comes before it.
    #[inline(always)]
    pub(super) fn is_before(&self, worker: &mut Worker, number: u64) -> bool {
        number == number_of(worker.step) || self.relation(worker, past(number)) == Relation::Before
    }

    /// What becomes of a word that is accessed as a whole. None: it must be looked at alone.
    #[inline(always)]
    fn after_whole(&self, worker: &mut Worker, run: &Run, addr: usize, old: u64) -> Option<Whole> {
        let (is_read, me) = (run.kind == AccessKind::Read, number_of(worker.step));
        if let Some((write, read)) = whole(old) {
            if write == me || (read == me && is_read) {
                return Some(Whole::same(old));
            }
            if (write == 0 || self.is_before(worker, write)) && (read == 0 || self.is_before(worker, read)) {
                let new = if is_read { with_read(old, me) } else { written_only(me) };
                let first = if is_read { First::Same } else { First::Here };
                return Some(Whole { new, first, second: is_read, behind: None });
            }
        }
        self.after_unordered(worker, run, addr, old)
    }

    /// The same for a word that unordered steps access, or have accessed.
    #[inline(never)]
    fn after_unordered(&self, worker: &mut Worker, run: &Run, addr: usize, old: u64) -> Option<Whole> {
        let form = Form::of(old)?;
        if whole(old).is_none() && !matches!(form, Form::Readers { bytes: 0xff, .. }) {
            return None;
        }
        let change = match run.kind {
            AccessKind::Read => self.read(worker, form, (addr, 0xff), &mut || run.place),
            AccessKind::Write => self.write(worker, form, (addr, 0xff), &mut || run.place),
        };
        let (form, first, second, behind) = match change {
            // Who tells single accesses wants to know of it, so that this one is not told again.
            Change::Unknown if !run.is_of_many() => return None,
            Change::Nothing | Change::Unknown => return Some(Whole::same(old)),
            Change::To(form, first, second) => {
                (form, if first { First::Here } else { First::Same }, second, None)
            }
            Change::Second { form, front: true, behind } => (form, First::Here, false, behind),
            Change::Second { form, front: false, behind } => (form, First::Second, true, behind),
            Change::Front(form) => (form, First::Behind, true, None),
            Change::Full => return None,
        };
        Some(Whole { new: form.number()?, first, second, behind })
    }

    /// Plain accesses of whole words, from one address to another one, from the place of a run, as far as they need not be looked at
    /// alone. Gives where it has stopped.
    #[inline(always)]
    pub(super) fn whole_accesses(&self, worker: &mut Worker, run: &Run, (from, to): (usize, usize)) -> usize {
        // Words that lie side by side are mostly alike: what becomes of such a word. (No word is a record without an address.)
        let (mut known, mut after) = (words::RECORD, Whole::same(0));
        let mut addr = from;
        while addr < to {
            let word = TaskWord::of(addr);
            let old = word.load();
            if old != known {
                match self.after_whole(worker, run, addr, old) {
                    Some(changed) => after = changed,
                    None => return addr,
                }
                // What is behind is another thing in each line.
                known = if words::has_behind(old) { words::RECORD } else { old };
            }
            let mut end = addr + WORD_BYTES;
            let line_end = to.min((addr | 63) + 1);
            while end < line_end && TaskWord::of(end).load() == old {
                end += WORD_BYTES;
            }
            if after.new != old {
                if old == 0 && !word.admit() {
                    return addr;
                }
                // Others may have changed some of them before the line was ours.
                let Some(mut line) = word.own_as(old) else { return addr };
                let changed = (addr..end).step_by(WORD_BYTES).find(|addr| TaskWord::of(*addr).load() != old);
                end = changed.unwrap_or(end);
                if !after.put_places(&mut line, word, (addr, end), run.place) {
                    return addr;
                }
                (addr..end).step_by(WORD_BYTES).for_each(|addr| TaskWord::of(addr).set(after.new));
            }
            addr = end;
        }
        to
    }
}
