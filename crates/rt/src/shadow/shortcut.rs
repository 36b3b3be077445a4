//! The commonest accesses, without a cell and without asking the analysis in full.

use super::cells::{ByteTable, split_bytes, split_cells, split_numbers};
use super::notes::{NOTED, NOTED_WRITES};
use super::{
    ALL_OF_HALF, CELL_BITS, LOCKED, Locked, RECORD, SHAPE_SHIFT, SHARED, SPLIT, Shadowed, Word, pages,
};
use keirin_core::analysis::AtomicOperation;
use keirin_core::analysis::fasttrack::{Compact, CompactAtomic};
use keirin_core::event::AccessKind;
use std::sync::atomic::Ordering;

/// Where the actor of an access is, in a number of a cell.
const ACTOR_SHIFT: u32 = Compact::SITE_BITS + Compact::TIME_BITS;

/// The bits of such a number that tell the place.
const PLACE: u64 = (1 << Compact::SITE_BITS) - 1;

/// True if two numbers are a cell of all bytes that nobody but the thread has accessed.
#[inline(always)]
fn is_own(new: u64, [first, second]: [u64; 2]) -> bool {
    // Its shape and its actor are looked at together.
    (first ^ new) >> ACTOR_SHIFT == ALL_OF_HALF >> ACTOR_SHIFT
        && (second == 0 || (second ^ new) >> ACTOR_SHIFT == 0)
}

/// What an access makes of such a cell. None: nothing changes.
#[inline(always)]
fn own_access(new: u64, kind: AccessKind, [first, second]: [u64; 2]) -> Option<[u64; 2]> {
    let wrote = (first ^ new) >> Compact::SITE_BITS == ALL_OF_HALF >> Compact::SITE_BITS;
    match kind {
        // The hooks have seen that it was not accessed in this epoch. It was by the first of two words, told again.
        AccessKind::Read if wrote || (second ^ new) >> Compact::SITE_BITS == 0 => None,
        AccessKind::Read => Some([first, new]),
        AccessKind::Write if wrote => Some([first, 0]),
        AccessKind::Write => Some([new | ALL_OF_HALF, 0]),
    }
}

impl Word {
    /// True if the thread that has its usual note at a place (`tls::note`) is noted there as having accessed some bytes in its epoch: what
    /// [`Word::knows`] finds as well, if it looks at more.
    #[inline(always)]
    pub(crate) fn notes(&self, place: usize, epoch: u64, kind: AccessKind, mask: u8) -> bool {
        let noted = noted(kind, mask);
        (self.0[place].load(Ordering::Acquire) ^ epoch) & (!NOTED | noted) == noted
    }

    /// True if an access of some bytes tells nothing new: what the hooks look for (see `abi::access`), without the lock, for accesses that
    /// did not come through them. `epoch` is that of the calling thread, as a packed cell has it.
    #[inline]
    pub(crate) fn knows(&self, epoch: u64, kind: AccessKind, mask: u8) -> bool {
        let same = |number: u64, other: u64| (number ^ other) >> Compact::SITE_BITS == 0;
        // In this order.
        let numbers = self.0.each_ref().map(|number| number.load(Ordering::Acquire));
        let [low, head, high, high_second] = numbers;
        // What a cell, or half of one, tells of some bytes that it is about.
        let cell = |bytes: u8, shape: u8, write: u64, read: u64| {
            let wrote = same(write & CELL_BITS, epoch);
            bytes == 0
                || (bytes & !shape == 0
                    && match kind {
                        AccessKind::Write => wrote && read >> Compact::SITE_BITS == 0,
                        AccessKind::Read => wrote || same(read, epoch),
                    })
        };
        let is_known = match head & (LOCKED | RECORD | SPLIT) {
            0 => {
                cell(mask & 0xf, (low >> SHAPE_SHIFT) as u8, low, head)
                    && cell(mask >> 4, (high >> SHAPE_SHIFT) as u8, high, high_second)
            }
            SPLIT => {
                let (bytes, [first, second]) = (split_bytes(numbers), split_cells(numbers));
                cell(mask & bytes, bytes, first[0], first[1])
                    && cell(mask & !bytes, !bytes, second[0], second[1])
            }
            SHARED => {
                kind == AccessKind::Read
                    && (same(low & CELL_BITS, epoch)
                        || same(head, epoch | SHARED)
                        || same(high, epoch)
                        || same(high_second, epoch))
            }
            _ => {
                let noted = noted(kind, mask);
                [low, high, high_second].iter().any(|note| (note ^ epoch) & (!NOTED | noted) == noted)
            }
        };
        // Which bytes a cell is about may be told by two numbers: they must be of one time. Who changes them holds the lock before.
        is_known && self.0[0].load(Ordering::Acquire) == low && self.0[1].load(Ordering::Acquire) == head
    }

    /// What most accesses of all bytes find: one cell in the word that is about all of them, or nothing yet, and nobody else at the word.
    /// Calls nothing, so that a hook which needs nothing more need not save anything for later. False: nothing was done.
    #[inline(always)]
    pub(crate) fn shortest<A: Shadowed>(&self, thread: &A::Thread, new: u64, kind: AccessKind) -> bool {
        let [low, head, high, high_second] = self.0.each_ref().map(|number| number.load(Ordering::Relaxed));
        if low != high || head != high_second || head >> SHAPE_SHIFT != 0 {
            return head >> SHAPE_SHIFT == SHARED >> SHAPE_SHIFT
                && ((kind == AccessKind::Read
                    && self.read_among_others::<A>(thread, new, [low, head, high, high_second]))
                    || self.shortcut_shared::<A>(thread, new, kind, head));
        }
        // A cell that nobody else has accessed, mostly.
        let [first, second] = if is_own(new, [low, head]) {
            let Some(after) = own_access(new, kind, [low, head]) else { return true };
            after
        } else {
            if !self.is_of(low, head, 0xf) {
                return false;
            }
            let after = A::shortcut(thread, new, kind, [low & CELL_BITS, head]);
            let Some([first, second]) = after else { return false };
            [first | ALL_OF_HALF, second]
        };
        self.put_alike([low, head], [first, second])
    }

    /// A read of all bytes of a word with one cell that several threads read, if it takes the place of an earlier one: what [`Word::shortcut_shared`]
    /// makes of it, without the lock. False: nothing was done, or it must be done again.
    ///
    /// Who changes the word otherwise takes the lock, looks at the reads, and puts others; this one puts its read, and then looks whether the word is
    /// locked, or has been since. Taking the lock and putting the read are fences, so that one of the two sees the other: he the new read, or this one
    /// that it must do it again, under the lock.
    #[inline(always)]
    fn read_among_others<A: Shadowed>(
        &self,
        thread: &A::Thread,
        new: u64,
        [low, head, third, fourth]: [u64; 4],
    ) -> bool {
        let is_mine = |read: u64| read != 0 && (read ^ new) >> ACTOR_SHIFT == 0;
        let is_now = |number: u64| (number ^ new) >> Compact::SITE_BITS == 0;
        let replaces = |place: usize, before: u64, after: u64| {
            self.0[place].compare_exchange(before, after, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        };
        let (write, read) = (low & CELL_BITS, head & CELL_BITS);
        if CompactAtomic::is_load_of_cell(third) || is_now(write) || !A::is_known(thread, new, write) {
            return false;
        }
        if A::is_known(thread, new, read) {
            // The lock is in that number. What was written meanwhile would have taken the read away.
            return is_now(read) || replaces(1, head, new | SHARED);
        }
        let (place, before) = if is_mine(third) { (2, third) } else { (3, fourth) };
        is_mine(before)
            && (is_now(before)
                || (replaces(place, before, new)
                    && self.0[1].load(Ordering::SeqCst) == head
                    && self.0[place].load(Ordering::Relaxed) == new))
    }

    /// The two numbers of the one cell of all bytes, if it is nobody's but that of the thread whose epoch is given.
    #[inline(always)]
    pub(crate) fn own_cell(&self, epoch: u64) -> Option<[u64; 2]> {
        let [low, head, high, high_second] = self.0.each_ref().map(|number| number.load(Ordering::Relaxed));
        (low == high && head == high_second && is_own(epoch, [low, head])).then_some([low, head])
    }

    /// An access of all bytes of a word of which [`Word::own_cell`] gave the numbers. False: nothing was done, they are no longer the same.
    #[inline(always)]
    pub(crate) fn access_own(&self, new: u64, kind: AccessKind, cell: [u64; 2]) -> bool {
        own_access(new, kind, cell).is_none_or(|after| self.put_alike(cell, after))
    }

    /// Puts the two numbers of a cell of all bytes in the place of others, if they are still there, and nobody is at the word.
    #[inline(always)]
    fn put_alike(&self, [low, head]: [u64; 2], [first, second]: [u64; 2]) -> bool {
        if self.0[1].compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // They were looked at before. From now on nobody changes them.
        let same = self.0[0].load(Ordering::Relaxed) == low
            && self.0[2].load(Ordering::Relaxed) == low
            && self.0[3].load(Ordering::Relaxed) == head;
        if same {
            self.0[0].store(first, Ordering::Relaxed);
            self.0[2].store(first, Ordering::Relaxed);
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
            // The hooks do not look at cells that are about other bytes than all of a half.
            let is_in_word = head & (LOCKED | RECORD) == 0 && matches!(head & SPLIT, 0 | SPLIT);
            return is_in_word && self.knows(new & !PLACE, kind, bytes << (4 * u8::from(is_upper)));
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
        if head >> SHAPE_SHIFT != 0 {
            return match head & (LOCKED | RECORD | SPLIT) {
                SHARED if mask == 0xff => self.shortcut_shared::<A>(thread, new, kind, head),
                SPLIT => self.shortcut_split::<A>(thread, new, kind, mask, head),
                _ => self.shortcut_elsewhere::<A>(thread, new, kind, mask),
            };
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
        let alike = low == high && head == high_second && (low >= ALL_OF_HALF || low == 0);
        if alike && let Some([first, second]) = A::shortcut(thread, new, kind, [low & CELL_BITS, head]) {
            if mask == 0xff {
                // Nearly always.
                self.0[0].store(first | ALL_OF_HALF, Ordering::Relaxed);
                self.0[2].store(first | ALL_OF_HALF, Ordering::Relaxed);
                self.0[3].store(second, Ordering::Relaxed);
                self.0[1].store(second, Ordering::Release);
                return true;
            }
            let is_whole = |bytes: u8| bytes == 0 || bytes == 0xf;
            if low != 0 && !(is_whole(mask & 0xf) && is_whole(mask >> 4)) {
                // Some bytes of those that were alike.
                let mut locked: Locked<'_, A> = Locked { word: self, head, marker: std::marker::PhantomData };
                let before = [low & CELL_BITS, head];
                if [first, second] != before {
                    locked.set_numbers(split_numbers(mask, [[first, second], before]));
                }
                return true;
            }
        }
        let mut locked: Locked<'_, A> = Locked { word: self, head, marker: std::marker::PhantomData };
        locked.shortcut_halves(thread, new, kind, mask)
    }

    /// The same for a word with one cell, which several threads read; `head` is what number 1 was.
    #[inline(always)]
    fn shortcut_shared<A: Shadowed>(
        &self,
        thread: &A::Thread,
        new: u64,
        kind: AccessKind,
        head: u64,
    ) -> bool {
        if self.0[1].compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let mut locked: Locked<'_, A> = Locked { word: self, head, marker: std::marker::PhantomData };
        let Some(numbers) = locked.shared() else { return false };
        A::shortcut_four(thread, new, kind, numbers).map(|after| locked.put_four(after)).is_some()
    }

    /// The same for a word with two cells.
    #[inline]
    fn shortcut_split<A: Shadowed>(
        &self,
        thread: &A::Thread,
        new: u64,
        kind: AccessKind,
        mask: u8,
        head: u64,
    ) -> bool {
        if self.0[1].compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let mut locked: Locked<'_, A> = Locked { word: self, head, marker: std::marker::PhantomData };
        let numbers = locked.numbers();
        let (first_bytes, [first, second]) = (split_bytes(numbers), split_cells(numbers));
        let after = |bytes: u8, cell: [u64; 2]| {
            if mask & bytes == 0 { Some(cell) } else { A::shortcut(thread, new, kind, cell) }
        };
        let (Some(first_after), Some(second_after)) =
            (after(first_bytes, first), after(!first_bytes, second))
        else {
            return locked.shortcut_by_bytes(thread, new, kind, mask);
        };
        let is_whole = |bytes: u8| mask & bytes == 0 || mask & bytes == bytes;
        let numbers = if is_whole(first_bytes) && is_whole(!first_bytes) {
            if first_after == second_after {
                let [first, second] = first_after;
                [first | ALL_OF_HALF, second, first | ALL_OF_HALF, second]
            } else {
                split_numbers(first_bytes, [first_after, second_after])
            }
        } else if mask & !first_bytes == 0 && first_after == second {
            // A loop over bytes: one after the other becomes as those before it.
            split_numbers(first_bytes & !mask, [first, second])
        } else if mask & first_bytes == 0 && second_after == first {
            split_numbers(first_bytes | mask, [first, second])
        } else if first_after == first && second_after == second {
            return true;
        } else {
            return locked.shortcut_by_bytes(thread, new, kind, mask);
        };
        locked.set_numbers(numbers);
        true
    }

    /// The same for a word whose cells are elsewhere, or that somebody else is at.
    fn shortcut_elsewhere<A: Shadowed>(
        &self,
        thread: &A::Thread,
        new: u64,
        kind: AccessKind,
        mask: u8,
    ) -> bool {
        let Some(mut locked) = self.lock::<A>() else { return false };
        if !locked.has_record() {
            return locked.shortcut_by_bytes(thread, new, kind, mask);
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
    /// Puts the numbers of a cell of all bytes where they belong.
    #[inline(always)]
    fn put_four(&mut self, numbers: [u64; 4]) {
        let [write, read, third, _] = numbers;
        if third == 0 {
            self.set_numbers([write | ALL_OF_HALF, read, write | ALL_OF_HALF, read]);
        } else {
            self.set_shared(numbers);
        }
    }

    /// What an atomic load of all bytes makes of the one cell of a word without a record, if that is simple. Of one that is done again in the same
    /// epoch there is a record from now on.
    #[inline]
    pub(crate) fn load(
        &mut self,
        thread: &A::Thread,
        new: u64,
        operation: AtomicOperation,
    ) -> Option<[u64; 4]> {
        let [low, head, high, high_second] = self.numbers();
        let numbers = match head >> SHAPE_SHIFT {
            0 if low >= ALL_OF_HALF && low == high && head == high_second => [low & CELL_BITS, head, 0, 0],
            form if form == SHARED >> SHAPE_SHIFT => [low & CELL_BITS, head & CELL_BITS, high, high_second],
            _ => return None,
        };
        if CompactAtomic::is_load_of_cell(high) && A::is_same_epoch(high & CELL_BITS, new) {
            self.make_record();
            return None;
        }
        A::load_four(thread, new, operation, numbers)
    }

    /// Puts what [`Locked::load`] gave.
    #[inline]
    pub(crate) fn put_load(&mut self, numbers: [u64; 4]) {
        self.set_shared(numbers);
    }

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
        if let Some(table) = self.bytes() {
            if !table.access::<A>(thread, new, kind, mask) {
                return false;
            }
            if let Some(numbers) = table.numbers() {
                self.drop_bytes();
                self.set_numbers(numbers);
            }
        } else {
            // What becomes of the bytes may be few cells again; else there is a table from now on.
            let mut table = ByteTable::of_numbers(self.numbers());
            if !table.access::<A>(thread, new, kind, mask) {
                return false;
            }
            match table.numbers() {
                Some(numbers) => self.set_numbers(numbers),
                None => self.put_bytes(table),
            }
        }
        self.note(new >> Compact::SITE_BITS << Compact::SITE_BITS, kind, mask);
        true
    }
}

/// The bits that a note must have so that it tells of an access of some bytes.
#[inline(always)]
fn noted(kind: AccessKind, mask: u8) -> u64 {
    match kind {
        AccessKind::Read => u64::from(mask),
        AccessKind::Write => u64::from(mask) << NOTED_WRITES,
    }
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
