//! Accesses of loops, told all at once by our pass of the compiler.
//!
//! Within a step plain accesses have no order, so that what lies side by side is told as whole words ([`super::pending`]). Before
//! that, without entering the runtime, the thread's memory and the shadow are asked whether the step has done all of it: then that is all.

use super::TaskDriver;
use super::pending::{self, Run};
use super::plain::Done;
use super::recent;
use super::words::{self, TaskWord};
use crate::layout::{self, PAGE_BYTES, WORD_BYTES};
use crate::shadow::words as words_of;
use crate::thread::Thread;
use crate::watch::Ranges;
use crate::{own, tls};
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::event::AccessKind;

/// No word is that.
const NONE: u64 = u64::MAX;

/// Bytes of a few words.
const FEW: usize = 64;

/// After so many bytes, or accesses that do not lie side by side, others that wait for this thread have their turn.
const STRETCH: usize = 16 * PAGE_BYTES;

/// True if the running step has accessed all words from one address to another one, in a way that makes these accesses nothing new.
#[inline(always)]
fn are_known(kind: AccessKind, from: usize, to: usize, step: u64, last: &mut u64) -> bool {
    let mut addr = from & !(WORD_BYTES - 1);
    while addr < to {
        let word = TaskWord::of(addr).load();
        if word != *last && !words::is_known(word, kind, step) {
            *last = NONE;
            return false;
        }
        *last = word;
        addr += WORD_BYTES;
    }
    true
}

/// True if the running step has done all that before, as the shadow tells.
#[inline(always)]
pub(crate) fn is_known(ranges: &Ranges) -> bool {
    let step = tls::task();
    if step == 0 || step == tls::SERIAL {
        return step != 0;
    }
    // A few words are looked at faster than what was told.
    if ranges.is_within(FEW) {
        let first = ranges.lowest(ranges.addr);
        return are_known(ranges.kind, first, first + ranges.count * ranges.size, step, &mut { NONE })
            || recent::is_recent(ranges);
    }
    if recent::is_recent(ranges) {
        return true;
    }
    let ranges = ranges.joined();
    // A word that is known: what lies side by side is mostly alike.
    let mut last = NONE;
    ranges.rows().all(|row| {
        if ranges.is_dense() {
            let first = ranges.lowest(row);
            return are_known(ranges.kind, first, first + ranges.count * ranges.size, step, &mut last);
        }
        (0..ranges.count).all(|index| {
            let addr = ranges.address(row, index);
            are_known(ranges.kind, addr, addr + ranges.size, step, &mut last)
        })
    })
}

/// What the hooks look for, for an access of any size that no hook of an access tells: that the running step has done it, or that it goes on
/// where it was expected to.
#[inline(always)]
pub(crate) fn is_known_or_expected(kind: AccessKind, addr: usize, size: usize, run_at: usize) -> bool {
    let step = tls::task();
    if step == 0 || step == tls::SERIAL {
        return step != 0;
    }
    are_known(kind, addr, addr + size, step, &mut { NONE }) || pending::goes_on(addr, size, run_at)
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// Accesses of a loop, if they are plain. False: they must be told one by one.
    pub(crate) fn range_access(&self, thread: &mut Thread, ranges: &Ranges, pc: usize) -> bool {
        if thread.ignoring > 0 || own::may_be(ranges.addr) {
            return false;
        }
        if !Self::parts_at_once(thread).0.plain {
            return self.range_under_locks(thread, ranges, pc);
        }
        thread.accesses += (ranges.count * ranges.rows) as u64;
        let (told, ranges) = (*ranges, ranges.joined());
        let Ranges { kind, size, count, .. } = ranges;
        Self::parts_at_once(thread).0.recent.add_ranges(&told);
        let run = Run::of_many(kind, size as u32, thread.place(pc, size as u32));
        let step = tls::task();
        for row in ranges.rows() {
            let first = ranges.lowest(row);
            thread.note_stack(first);
            if ranges.is_dense() && size <= WORD_BYTES {
                let end = first + count * size;
                for from in (first..end).step_by(STRETCH) {
                    self.tell_at(thread, &run, from, STRETCH.min(end - from));
                }
                continue;
            }
            let mut last = NONE;
            for addr in (0..count).map(|index| ranges.address(row, index)) {
                if !are_known(kind, addr, addr + size, step, &mut last) {
                    self.tell_alone(thread, &run, addr);
                }
            }
        }
        true
    }

    /// One access of any size, if it is plain and needs no record. False: it must be looked at in full; what was told of it already may be told
    /// again.
    pub(crate) fn copy_access(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        (addr, size): (usize, usize),
        pc: usize,
    ) -> bool {
        if thread.ignoring > 0 || own::may_be(addr) || !Self::parts_at_once(thread).0.plain {
            return false;
        }
        thread.note_stack(addr);
        let place = Self::place_of(thread, size, pc);
        let (worker, _) = self.at_gate(thread);
        let run = Run::of_many(kind, u32::try_from(size).unwrap_or(u32::MAX), place);
        let (mut next, end) = (addr, addr + size);
        while next < end {
            let whole_end = end & !(WORD_BYTES - 1);
            if next.is_multiple_of(WORD_BYTES) && next < whole_end {
                next = self.whole_accesses(worker, &run, (next, whole_end));
            }
            let to = end.min((next | (WORD_BYTES - 1)) + 1);
            for part in words_of(next, to - next) {
                if self.plain_access(worker, kind, part, &mut || place) == Done::No {
                    return false;
                }
            }
            next = to;
        }
        self.told_meets_possible(thread, &run, addr, size);
        thread.accesses += 1;
        true
    }

    /// Accesses of a loop under locks: each is looked at, and all need not be told again under the same locks, if that is all about races.
    fn range_under_locks(&self, thread: &mut Thread, ranges: &Ranges, pc: usize) -> bool {
        let step = tls::task();
        if !A::ONLY_RACES || step == 0 {
            return false;
        }
        let Ranges { kind, size, .. } = *ranges;
        let run = Run::of_many(kind, size as u32, thread.place(pc, size as u32));
        let calls = thread.innermost_calls();
        thread.accesses += (ranges.count * ranges.rows) as u64;
        let (worker, _) = self.accessing(thread);
        worker.calls = calls;
        worker.code = if calls[0] == 0 { 0 } else { pc as u64 };
        let mut last = NONE;
        ranges.one_by_one(false, |addr| {
            if layout::is_program(addr, size) && !are_known(kind, addr, addr + size, step, &mut last) {
                thread.note_stack(addr);
                self.tell_under_locks(thread, &run, addr);
            }
        });
        Self::parts_at_once(thread).0.recent.add_ranges(ranges);
        true
    }
}
