//! What a thread has accessed lately although the shadow does not tell so: one read among many, what bytes of a word were read, or what is in a
//! record. And what lies beside such a read, and need not be told either if it is read, since others have read it.
//!
//! An entry is about one line of 64 bytes of the program, one kind of access and one turn, with a bit for each byte: so an access is known if all its
//! bytes are, whatever accesses they came from. It counts for its turn: until the task's step, locks or blocks change. Memory that the
//! thread gives back or gets is taken out. Memory that another thread gives back and hands over to a third one within a turn is not noticed.
//! The hooks look here as well.
//!
//! | an entry's first number | |
//! |---|---|
//! | bits 63 to 22 | the line |
//! | bits 21 to 1 | the turn |
//! | bit 0 | it is about writes |
//!
//! **The same locks again.** For races a step's turn goes on when it holds the same locks as before: whoever is parallel to the second of two
//! equal accesses of a step under the same locks is parallel to the first one, and excluded from both or from neither. What others do in
//! between is compared with what was kept of the first one. (A region that must be whole may be torn between the two, so that with
//! atomicity each change of the locks begins another turn.)
//!
//! **State.** The entries belong to the thread; nobody else looks at them.

use super::sites::LINE_BYTES;
use crate::watch::Ranges;
use crate::{arena, tls};
use keirin_core::event::AccessKind;
use keirin_core::lockset::LocksetId;

/// How many lines a thread remembers, and where the lines begin in a number.
pub(crate) const RECENT_ENTRIES: usize = 1 << 14;
pub(crate) const RECENT_LINE_SHIFT: u32 = 22;
/// Lines of stretches of memory begin at different places, also if the distance between them is a power of two.
pub(crate) const RECENT_STRETCH_SHIFT: u32 = 20;
pub(crate) const RECENT_SPREAD: usize = 0x1e37_79b1;
pub(crate) const RECENT_SPREAD_SHIFT: u32 = 7;
/// A write is looked for so far from a read of the same memory: what is read and then written, again and again, has both.
pub(crate) const RECENT_WRITES: usize = RECENT_ENTRIES / 2;
/// The bit of a number that tells that it is about writes.
const WRITE: u64 = 1;
const TURN_SHIFT: u32 = 1;

/// A line with its turn and kind, and a bit for each byte, in the order in which the hooks look at them.
type Entry = [u64; 2];

/// How many calls for the accesses of a loop a thread remembers. They lie behind the other entries, and behind them how often memory was
/// taken out of the table.
const RECENT_RANGES: usize = 1 << 8;
const RANGES_AT: usize = RECENT_ENTRIES * size_of::<Entry>();
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
    turn | unsafe { *((entries + REMOVALS_AT) as *const u64) } << RECENT_LINE_SHIFT
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

/// What a thread remembers.
pub(super) struct Recent {
    entries: *mut Entry,
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
    const LAST_TURN: u64 = (1 << (RECENT_LINE_SHIFT - TURN_SHIFT)) - 1;

    /// Of so many sets of locks the turn is remembered.
    const LOCKSETS: usize = 256;
    /// More bytes are not taken out line by line.
    const MOST_REMOVED: usize = 1 << 12;
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

    /// The parts of some bytes, which end where lines do: where each begins, and its bits in the line.
    #[inline(always)]
    fn parts(addr: usize, size: usize) -> impl Iterator<Item = (usize, u64)> {
        let end = addr + size;
        let mut next = addr;
        std::iter::from_fn(move || {
            let from = next;
            next = end.min((from | (LINE_BYTES - 1)) + 1);
            (from < end).then(|| (from, u64::MAX >> (LINE_BYTES - (next - from)) << (from % LINE_BYTES)))
        })
    }

    /// True if the step has told an access lately, in a turn of its own.
    #[inline]
    pub(super) fn has(&self, turn: u64, kind: AccessKind, addr: usize, size: usize) -> bool {
        !self.entries.is_null()
            && Self::parts(addr, size).all(|(at, bits)| {
                // SAFETY: so many entries were mapped.
                let [key, known] = unsafe { *self.entries.add(Self::place(kind, at)) };
                key == Self::key(turn, kind, at) && known & bits == bits
            })
    }

    /// True if something of the line of an address is remembered in the present turn.
    #[inline]
    pub(super) fn has_line(&self, kind: AccessKind, addr: usize) -> bool {
        // SAFETY: so many entries were mapped.
        !self.entries.is_null()
            && unsafe { (*self.entries.add(Self::place(kind, addr)))[0] } == Self::key(self.turn, kind, addr)
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
        unsafe { *self.entries.byte_add(REMOVALS_AT).cast::<u64>() += 1 };
        if size == 0 || self.stretches & Self::stretches_of(addr, addr + size) == 0 {
            return false;
        }
        for (at, bits) in Self::parts(addr, size) {
            for kind in [AccessKind::Read, AccessKind::Write] {
                // What is lost of another line is told again. SAFETY: so many entries were mapped.
                unsafe { (*self.entries.add(Self::place(kind, at)))[1] &= !bits };
            }
        }
        false
    }

    /// Tells the hooks of the calling thread, which owns this.
    pub(super) fn tell_hooks(&self) {
        tls::set_recent(self.entries as usize, self.turn << TURN_SHIFT);
    }

    #[inline(always)]
    fn key(turn: u64, kind: AccessKind, addr: usize) -> u64 {
        let write = if kind == AccessKind::Write { WRITE } else { 0 };
        ((addr / LINE_BYTES) as u64) << RECENT_LINE_SHIFT | turn << TURN_SHIFT | write
    }

    #[inline(always)]
    fn place(kind: AccessKind, addr: usize) -> usize {
        let stretch = (addr >> RECENT_STRETCH_SHIFT).wrapping_mul(RECENT_SPREAD) >> RECENT_SPREAD_SHIFT;
        let read = (addr / LINE_BYTES).wrapping_add(stretch) & (RECENT_ENTRIES - 1);
        if kind == AccessKind::Write { read ^ RECENT_WRITES } else { read }
    }

    #[inline]
    pub(super) fn add(&mut self, kind: AccessKind, addr: usize, size: usize) {
        if !self.is_there() {
            return;
        }
        for (at, bits) in Self::parts(addr, size) {
            self.add_to_line(kind, at, bits);
        }
    }

    /// Adds bytes of a line, a bit for each, of which the lowest one stands for the byte at an address.
    #[inline]
    pub(super) fn add_bytes(&mut self, kind: AccessKind, addr: usize, bytes: u64) {
        if bytes != 0 && self.is_there() {
            self.add_to_line(kind, addr, bytes << (addr % LINE_BYTES));
        }
    }

    #[inline(always)]
    fn add_to_line(&mut self, kind: AccessKind, addr: usize, bits: u64) {
        self.stretches |= Self::stretches_of(addr, addr + 1);
        // SAFETY: so many entries were mapped.
        let entry = unsafe { &mut *self.entries.add(Self::place(kind, addr)) };
        let key = Self::key(self.turn, kind, addr);
        *entry = [key, if entry[0] == key { entry[1] | bits } else { bits }];
    }

    /// Adds accesses of a loop, all of which are told in this turn.
    pub(super) fn add_ranges(&mut self, ranges: &Ranges) {
        if self.is_there() {
            let (entries, turn) = (self.entries as usize, self.turn << TURN_SHIFT);
            // SAFETY: so many were mapped behind the entries.
            unsafe { *recent_ranges(entries, ranges) = (time_of_ranges(entries, turn), *ranges) };
        }
    }

    /// True if there is room for entries, which is made if there is none.
    #[inline(always)]
    fn is_there(&mut self) -> bool {
        !self.entries.is_null() || self.make_room()
    }

    #[cold]
    fn make_room(&mut self) -> bool {
        self.entries = arena::map(RECENT_BYTES).cast();
        if !self.entries.is_null() {
            self.tell_hooks();
        }
        !self.entries.is_null()
    }
}

const _: () = assert!(
    Recent::MOST_REMOVED >> Recent::STRETCH_SHIFT < 32 && LINE_BYTES == 64 && size_of::<Entry>() == 16
);

impl Drop for Recent {
    fn drop(&mut self) {
        if !self.entries.is_null() {
            // SAFETY: mapped in `make_room` with this size; the thread is gone.
            unsafe { arena::unmap(self.entries.cast(), RECENT_BYTES) };
        }
    }
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

    /// An access is known when all its bytes are, in whatever pieces they came; not in another turn, nor of the other kind.
    #[test]
    fn bytes_are_known_one_by_one() {
        let mut recent = Recent::new();
        let line = 0x70_0000;
        let has = |recent: &Recent, at: usize, size: usize| {
            recent.has(recent.turn, AccessKind::Read, line + at, size)
        };
        recent.add(AccessKind::Read, line + 58, 4);
        recent.add(AccessKind::Read, line + 62, 4);
        assert!(has(&recent, 58, 8) && has(&recent, 61, 3));
        assert!(!has(&recent, 57, 2) && !has(&recent, 60, 8));
        assert!(!recent.has(recent.turn, AccessKind::Write, line + 58, 1));
        recent.next_turn();
        assert!(!has(&recent, 58, 1));
        recent.add(AccessKind::Read, line + 10, 1);
        assert!(has(&recent, 10, 1) && !has(&recent, 58, 1), "what was told in the turn before is void");
        tls::set_recent(0, 0);
    }
}
