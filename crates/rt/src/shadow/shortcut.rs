//! The commonest accesses, without a cell and without asking the analysis in full.

use super::cells::{ByteTable, bytes_of_numbers, pack_bytes};
use super::notes::{NOTED, NOTED_WRITES};
use super::{BYTES, CELL_BITS, LOCKED, Locked, RECORD, SHAPE_SHIFT, SHARED, Shadowed, Word, pages};
use keirin_core::analysis::fasttrack::Compact;
use keirin_core::event::AccessKind;
use std::sync::atomic::Ordering;

impl Word {
    /// True if an access of some bytes tells nothing new: what the hooks look for (see `abi::access`), without the lock, for accesses that
    /// did not come through them. `epoch` is that of the calling thread, as a packed cell has it.
    #[inline]
    pub(crate) fn knows(&self, epoch: u64, kind: AccessKind, mask: u8) -> bool {
        const ALL: u64 = 0xf << SHAPE_SHIFT;
        let same = |number: u64, other: u64| (number ^ other) >> Compact::SITE_BITS == 0;
        let [low, head, high, high_second] = self.0.each_ref().map(|number| number.load(Ordering::Relaxed));
        let half = |bytes: u8, first: u64, second: u64| {
            let wrote = same(first, epoch | ALL);
            bytes == 0
                || match kind {
                    AccessKind::Write => wrote && second >> Compact::SITE_BITS == 0,
                    AccessKind::Read => wrote || (same(second, epoch) && first & ALL == ALL),
                }
        };
        if half(mask & 0xf, low, head) && half(mask >> 4, high, high_second) {
            return true;
        }
        if kind == AccessKind::Read && head >> SHAPE_SHIFT == SHARED >> SHAPE_SHIFT {
            return same(head, epoch | SHARED) || same(high, epoch) || same(high_second, epoch);
        }
        let noted = match kind {
            AccessKind::Read => u64::from(mask),
            AccessKind::Write => u64::from(mask) << NOTED_WRITES,
        };
        [low, high, high_second].iter().any(|note| (note ^ epoch) & (!NOTED | noted) == noted)
    }

    /// What most accesses of all bytes find: one cell in the word that is about all of them, or nothing yet, and nobody else at the word.
    /// Calls nothing, so that a hook which needs nothing more need not save anything for later. False: nothing was done.
    #[inline(always)]
    pub(crate) fn shortest<A: Shadowed>(&self, thread: &A::Thread, new: u64, kind: AccessKind) -> bool {
        let [low, head, high, high_second] = self.0.each_ref().map(|number| number.load(Ordering::Relaxed));
        if head >> SHAPE_SHIFT != 0 {
            return kind == AccessKind::Read
                && head >> SHAPE_SHIFT == SHARED >> SHAPE_SHIFT
                && self.shortcut_shared::<A>(thread, new, head);
        }
        if low != high || head != high_second || !self.is_of(low, head, 0xf) {
            return false;
        }
        let Some([first, second]) = A::shortcut(thread, new, kind, [low & CELL_BITS, head]) else {
            return false;
        };
        if self.0[1].compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // They were looked at before. From now on nobody changes them.
        let same = self.0[0].load(Ordering::Relaxed) == low
            && self.0[2].load(Ordering::Relaxed) == high
            && self.0[3].load(Ordering::Relaxed) == high_second;
        if same {
            self.0[0].store(first | 0xf << SHAPE_SHIFT, Ordering::Relaxed);
            self.0[2].store(first | 0xf << SHAPE_SHIFT, Ordering::Relaxed);
            self.0[3].store(second, Ordering::Relaxed);
        }
        self.0[1].store(if same { second } else { head }, Ordering::Release);
        same
    }

    /// The same for some bytes of a half, the lower one or the upper.
    #[inline(always)]
    pub(crate) fn shortest_half<A: Shadowed>(
        &self,
        thread: &A::Thread,
        new: u64,
        kind: AccessKind,
        is_upper: bool,
        bytes: u8,
    ) -> bool {
        let half = &self.0[2 * usize::from(is_upper)..][..2];
        let head = self.0[1].load(Ordering::Relaxed);
        let [first, second] = [half[0].load(Ordering::Relaxed), half[1].load(Ordering::Relaxed)];
        if (head | second) >> SHAPE_SHIFT != 0 || !self.is_of(first, second, bytes) {
            return false;
        }
        let after = A::shortcut(thread, new, kind, [first & CELL_BITS, second]);
        let Some([first_after, second_after]) = after else { return false };
        if self.0[1].compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // Of the lower half the second number is the one that is locked: it is as it was.
        let same = half[0].load(Ordering::Relaxed) == first
            && (!is_upper || half[1].load(Ordering::Relaxed) == second);
        if same {
            half[0].store(first_after | u64::from(bytes) << SHAPE_SHIFT, Ordering::Relaxed);
        }
        if is_upper && same {
            half[1].store(second_after, Ordering::Relaxed);
        }
        self.0[1].store(if same && !is_upper { second_after } else { head }, Ordering::Release);
        same
    }

    /// True if the two numbers of a half are about these bytes and no others, or about nothing. (A page that is written to is there.)
    #[inline(always)]
    fn is_of(&self, first: u64, second: u64, bytes: u8) -> bool {
        first >> SHAPE_SHIFT == u64::from(bytes) || (first | second == 0 && pages::is_in_use(self.address()))
    }

    /// The commonest accesses: the cells are in the word, and what becomes of them is simple. False: nothing was done.
    #[inline(always)]
    pub(crate) fn shortcut<A: Shadowed>(
        &self,
        thread: &A::Thread,
        new: u64,
        kind: AccessKind,
        mask: u8,
    ) -> bool {
        let head = self.0[1].load(Ordering::Relaxed);
        if head & (LOCKED | RECORD | BYTES | SHARED) != 0 {
            if head & (LOCKED | RECORD | BYTES) == 0 && kind == AccessKind::Read && mask == 0xff {
                return self.shortcut_shared::<A>(thread, new, head);
            }
            return self.shortcut_elsewhere::<A>(thread, new, kind, mask);
        }
        // Asked before anything is written: a page that is written to is there.
        let is_empty = head == 0 && self.0[0].load(Ordering::Relaxed) == 0;
        if (is_empty && self.is_refused())
            || self.0[1].compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return false;
        }
        let low = self.0[0].load(Ordering::Relaxed);
        let high = self.0[2].load(Ordering::Relaxed);
        let high_second = self.0[3].load(Ordering::Relaxed);
        let alike = mask == 0xff && low == high && head == high_second;
        if alike
            && (low >> SHAPE_SHIFT == 0xf || low == 0)
            && let Some([first, second]) = A::shortcut(thread, new, kind, [low & CELL_BITS, head])
        {
            // Nearly always.
            self.0[0].store(first | 0xf << SHAPE_SHIFT, Ordering::Relaxed);
            self.0[2].store(first | 0xf << SHAPE_SHIFT, Ordering::Relaxed);
            self.0[3].store(second, Ordering::Relaxed);
            self.0[1].store(second, Ordering::Release);
            return true;
        }
        let mut locked: Locked<'_, A> = Locked { word: self, head, marker: std::marker::PhantomData };
        locked.shortcut_halves(thread, new, kind, mask)
    }

    /// The same for a read of a word with one cell, which several threads read; `head` is what number 1 was.
    #[inline(always)]
    fn shortcut_shared<A: Shadowed>(&self, thread: &A::Thread, new: u64, head: u64) -> bool {
        if self.0[1].compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let mut locked: Locked<'_, A> = Locked { word: self, head, marker: std::marker::PhantomData };
        let numbers = locked.numbers().map(|number| number & CELL_BITS);
        A::read_shared(thread, new, numbers).map(|after| locked.set_shared(after)).is_some()
    }

    /// The same for a word whose cells are elsewhere.
    fn shortcut_elsewhere<A: Shadowed>(
        &self,
        thread: &A::Thread,
        new: u64,
        kind: AccessKind,
        mask: u8,
    ) -> bool {
        let Some(mut locked) = self.lock::<A>() else { return false };
        if !locked.has_record() {
            return match locked.shared() {
                Some(numbers) if mask == 0xff && kind == AccessKind::Read => {
                    A::read_shared(thread, new, numbers).map(|after| locked.set_shared(after)).is_some()
                }
                Some(_) => false,
                None => locked.shortcut_by_bytes(thread, new, kind, mask),
            };
        }
        let again = kind == AccessKind::Read
            && locked.cell(mask).is_some_and(|cell| A::read_again(thread, new, cell));
        if again {
            locked.note(new >> Compact::SITE_BITS << Compact::SITE_BITS, kind, mask);
        }
        again
    }
}

impl<A: Shadowed> Locked<'_, A> {
    /// The same for a word whose halves differ, or are accessed by parts.
    #[inline]
    fn shortcut_halves(&mut self, thread: &A::Thread, new: u64, kind: AccessKind, mask: u8) -> bool {
        let [low, head, high, high_second] = self.numbers();
        let first = half_shortcut::<A>(thread, new, kind, mask & 0xf, low, head);
        let second = half_shortcut::<A>(thread, new, kind, mask >> 4, high, high_second);
        if !(first.0 && second.0) {
            return self.shortcut_by_bytes(thread, new, kind, mask);
        }
        self.set_numbers([first.1, first.2, second.1, second.2]);
        true
    }

    /// The same, byte by byte, for a word without a record.
    fn shortcut_by_bytes(&mut self, thread: &A::Thread, new: u64, kind: AccessKind, mask: u8) -> bool {
        if self.has_record() {
            return false;
        }
        if self.head & BYTES == 0 {
            // What becomes of the bytes may be that they are alike again; else there is a table from now on.
            let mut table = bytes_of_numbers(self.numbers());
            if !shortcut_table::<A>(&mut table, thread, new, kind, mask) {
                return false;
            }
            match pack_bytes(&table) {
                Some(numbers) => self.set_numbers(numbers),
                None => self.put_bytes(table),
            }
        } else if let Some(table) = self.bytes() {
            if !shortcut_table::<A>(table, thread, new, kind, mask) {
                return false;
            }
            // A loop over bytes makes them alike again, at the last byte of a half.
            if mask & 0x88 != 0
                && let Some(numbers) = pack_bytes(table)
            {
                self.drop_bytes();
                self.set_numbers(numbers);
            }
        }
        self.note(new >> Compact::SITE_BITS << Compact::SITE_BITS, kind, mask);
        true
    }
}

/// The commonest accesses of some bytes. False if one is not simple; those before it are then done already, which does no harm: done again in the
/// same epoch they change nothing.
#[inline]
fn shortcut_table<A: Shadowed>(
    table: &mut ByteTable,
    thread: &A::Thread,
    new: u64,
    kind: AccessKind,
    mask: u8,
) -> bool {
    let mut remaining = mask;
    // Neighbours are mostly alike.
    let mut last = None;
    while remaining != 0 {
        let byte = &mut table[remaining.trailing_zeros() as usize];
        match last {
            Some((before, after)) if before == *byte => *byte = after,
            _ => match A::shortcut(thread, new, kind, *byte) {
                Some(after) => {
                    last = Some((*byte, after));
                    *byte = after;
                }
                None => return false,
            },
        }
        remaining &= remaining - 1;
    }
    true
}

/// What an access of some bytes of a half makes of its two numbers. False: it is not simple.
#[inline(always)]
fn half_shortcut<A: Shadowed>(
    thread: &A::Thread,
    new: u64,
    kind: AccessKind,
    bytes: u8,
    first: u64,
    second: u64,
) -> (bool, u64, u64) {
    if bytes == 0 {
        return (true, first, second);
    }
    let shape = (first >> SHAPE_SHIFT) as u8;
    if shape != bytes && shape != 0 {
        // Other bytes with the same history share a cell: a loop over bytes leaves one.
        let after = A::shortcut(thread, new, kind, [0, 0]);
        let alike = shape & bytes == 0 && after == Some([first & CELL_BITS, second]);
        return (alike, first | u64::from(bytes) << SHAPE_SHIFT, second);
    }
    match A::shortcut(thread, new, kind, [first & CELL_BITS, second]) {
        Some([first, second]) => (true, first | u64::from(bytes) << SHAPE_SHIFT, second),
        None => (false, 0, 0),
    }
}
