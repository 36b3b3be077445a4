//! The shadow of programs with tasks: eight bytes for each word of eight bytes.
//!
//! | lowest two bits, or three | bits 63 to 39 | bits 38 to 14 | bits 13 to 8 | bits 7 to 2 |
//! |---|---|---|---|---|
//! | 00 | the step that wrote last | a step that read | bytes that were written | bytes that were read |
//! | 01 | the step of the last read in English order | in Hebrew order | 8: there is a write behind | bytes that were read |
//! | 11 | the step that accessed the lower half last | the upper half | 8: there is a write behind; 9: they wrote | none |
//! | 11 | the step that wrote all bytes | the step that wrote some of them since then | | these bytes |
//! | 110 | the step of the last access in English order | in Hebrew order | the number of the locks, from bit 4 on | 3: they wrote |
//! | 010 | 63: locked; 62: it is [`super::bytes::Bytes`]; 61: of two stretches; below: address of these or of a [`super::records::Record`] | | | |
//!
//! A write *behind* is one for the whole line, see [`sites`], and of the same bytes. The fifth form is of accesses of all bytes under locks
//! ([`super::under_locks`]); the upper bits of the number of these are the same for the whole line as well.
//!
//! Steps are one more than their number, 0 is none; bytes are [runs]. What stands in the first four forms are accesses without
//! locks, outside of blocks, that every analysis remembers alike ([`Plain`]). What does not fit goes into a table of [`super::bytes`] if
//! it is such accesses, else into a record, with a cell of the analysis for each stretch of bytes, and comes back when it fits again.
//!
//! **Who may touch what.** A word that is no record is changed by who owns its line ([`sites::own`]), so that
//! a word, its places and the write behind it belong together; everybody reads it. A record or a table, and the word that leads to it,
//! belong to who has set the lock bit; such a word is taken without its line. Who has a record may take the line, not the other way
//! round. Memory that the program gives back is reset by its owner; who uses it at the same time may lose an
//! access.

use super::runs;
use super::sites::{self, LINE_BYTES};
use crate::layout::{self, ADDRESS_MASK, PAGE_BYTES, SHADOW, WORD_BYTES};
use crate::rust::sections;
use crate::shadow::{pages, words};
use keirin_core::analysis::tasks::kept::Entry;
use keirin_core::analysis::tasks::plain::{KeepsPlain, Plain};
use keirin_core::event::{AccessKind, SiteId};
use keirin_core::sptree::StepId;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a step.
const STEP_BITS: u32 = 25;
/// There can be so many steps at the same time.
pub(super) const MOST_STEPS: u32 = (1 << STEP_BITS) - 2;
/// Where the two steps stand.
pub(crate) const FIRST_SHIFT: u32 = 64 - STEP_BITS;
pub(crate) const SECOND_SHIFT: u32 = FIRST_SHIFT - STEP_BITS;
pub(crate) const FIRST_BYTES_SHIFT: u32 = 8;
pub(crate) const SECOND_BYTES_SHIFT: u32 = 2;
const STEP: u64 = (1 << STEP_BITS) - 1;
pub(super) const FORM: u64 = 3;
const PLAIN: u64 = 0;
pub(crate) const READERS: u64 = 1;
const HALVES: u64 = 3;
pub(super) const RECORD: u64 = 2;
const UNDER_LOCKS: u64 = 6;
/// What tells records and tables from all other forms.
pub(super) const LEAD: u64 = 7;
const WRITES_UNDER_LOCKS: u64 = 1 << 3;
/// Where a word has the lower bits of the number of its locks.
const LOCKS_SHIFT: u32 = 4;
/// So many. In tests fewer, so that few locks come to the upper ones.
pub(super) const LOCKS_BITS: u32 = if cfg!(test) { 2 } else { SECOND_SHIFT - LOCKS_SHIFT };
const BEHIND: u64 = 1 << 8;
const WRITES: u64 = 1 << 9;
pub(super) const LOCKED: u64 = 1 << 63;
/// Of the form of records: it is a table of bytes; and of such tables, one for two stretches of bytes.
pub(super) const TABLE: u64 = 1 << 62;
pub(super) const STRETCHES_TABLE: u64 = 1 << 61;

/// The shadow of eight bytes.
#[repr(transparent)]
pub(super) struct TaskWord(AtomicU64);

/// A step as a word has it.
#[inline(always)]
pub(super) fn number_of(step: StepId) -> u64 {
    u64::from(step.0) + 1
}

pub(super) fn step_of(number: u64) -> StepId {
    StepId((number as u32).wrapping_sub(1))
}

/// True if a number tells that there is a write behind.
#[inline(always)]
pub(super) fn has_behind(number: u64) -> bool {
    number & BEHIND != 0 && matches!(number & FORM, READERS | HALVES)
}

/// True if a number leads to a record or a table.
#[inline(always)]
pub(super) fn is_record(number: u64) -> bool {
    number & LEAD == RECORD
}

/// The two steps of a word in which a write and a read, if they are there, are of all bytes. None: it is something else.
#[inline(always)]
pub(super) fn whole(number: u64) -> Option<(u64, u64)> {
    let (write, read) = (number >> FIRST_SHIFT, number >> SECOND_SHIFT & STEP);
    let all = |step: u64, shift: u32| if step == 0 { 0 } else { runs::ALL << shift };
    let rest = all(write, FIRST_BYTES_SHIFT) | all(read, SECOND_BYTES_SHIFT) | PLAIN;
    (number & ((1 << SECOND_SHIFT) - 1) == rest).then_some((write, read))
}

/// The two steps of a word that remembers reads of all bytes by two steps that are not ordered, and nothing behind: in English and in Hebrew
/// order. None: it is something else.
#[inline(always)]
pub(super) fn whole_readers(number: u64) -> Option<(u64, u64)> {
    let rest = runs::ALL << SECOND_BYTES_SHIFT | READERS;
    (number & ((1 << SECOND_SHIFT) - 1) == rest)
        .then_some((number >> FIRST_SHIFT, number >> SECOND_SHIFT & STEP))
}

/// A word with two such steps.
#[inline(always)]
pub(super) fn read_by(english: u64, hebrew: u64) -> u64 {
    english << FIRST_SHIFT | hebrew << SECOND_SHIFT | runs::ALL << SECOND_BYTES_SHIFT | READERS
}

/// What a word looks like, in [`READ_MASK`] and [`WROTE_MASK`], that tells that a step has read all bytes, and that it has written them.
/// Programs that were built with `--lean` look for it themselves.
pub(crate) fn patterns(step: u64) -> [u64; 2] {
    [step << SECOND_SHIFT | runs::ALL << SECOND_BYTES_SHIFT, written_only(step)]
}

/// What counts of a word there: beside a write or as the second of two reads, and as the last write.
const READ_MASK: u64 = STEP << SECOND_SHIFT | runs::ALL << SECOND_BYTES_SHIFT | RECORD;
const WROTE_MASK: u64 = STEP << FIRST_SHIFT | runs::ALL << FIRST_BYTES_SHIFT | FORM;

/// True if a word tells that a step has done an access of all bytes, or one that makes it superfluous. The hooks look for the same.
#[inline(always)]
pub(super) fn is_known(number: u64, kind: AccessKind, step: u64) -> bool {
    let [read, wrote] = patterns(step);
    if (number ^ wrote) & WROTE_MASK == 0 {
        return true;
    }
    let all_read = runs::ALL << SECOND_BYTES_SHIFT;
    // Or the first of two reads.
    let among = STEP << FIRST_SHIFT | all_read | FORM;
    kind == AccessKind::Read
        && ((number ^ read) & READ_MASK == 0
            || (number ^ (step << FIRST_SHIFT | all_read | READERS)) & among == 0)
}

/// A word in which a write and a read, if they are there, are of the same bytes as an access.
#[derive(Clone, Copy)]
pub(super) struct Simple {
    number: u64,
    code: u64,
    pub(super) write: u64,
    pub(super) read: u64,
}

impl Simple {
    /// None: it is something else.
    #[inline(always)]
    pub(super) fn of(number: u64, bytes: u8) -> Option<Self> {
        let code = runs::code(bytes)?;
        let (written, read) =
            (number >> FIRST_BYTES_SHIFT & runs::ALL, number >> SECOND_BYTES_SHIFT & runs::ALL);
        let same = |other: u64| other == runs::NONE || other == code;
        (number & FORM == PLAIN && same(written) && same(read)).then_some(Self {
            number,
            code,
            write: number >> FIRST_SHIFT,
            read: number >> SECOND_SHIFT & STEP,
        })
    }

    /// The word after an access that comes after all that is there.
    #[inline(always)]
    pub(super) fn after(self, kind: AccessKind, step: u64) -> u64 {
        match kind {
            AccessKind::Read => {
                let write = (STEP << FIRST_SHIFT | runs::ALL << FIRST_BYTES_SHIFT) & self.number;
                write | step << SECOND_SHIFT | self.code << SECOND_BYTES_SHIFT | PLAIN
            }
            AccessKind::Write => step << FIRST_SHIFT | self.code << FIRST_BYTES_SHIFT | PLAIN,
        }
    }
}

/// The word after a read of all bytes that comes after all that is there.
#[inline(always)]
pub(super) fn with_read(number: u64, step: u64) -> u64 {
    let others = (STEP << FIRST_SHIFT | runs::ALL << FIRST_BYTES_SHIFT) & number;
    others | step << SECOND_SHIFT | runs::ALL << SECOND_BYTES_SHIFT | PLAIN
}

/// The word after a write of all bytes that comes after all that is there.
#[inline(always)]
pub(super) fn written_only(step: u64) -> u64 {
    step << FIRST_SHIFT | runs::ALL << FIRST_BYTES_SHIFT | PLAIN
}

/// A word that is no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A write and a read, with their bytes; a step of 0 has none.
    Plain { write: u64, written: u8, read: u64, read_bytes: u8 },
    /// Two reads of the same bytes, and perhaps a write of them behind.
    Readers { english: u64, hebrew: u64, bytes: u8, behind: bool },
    /// Accesses of one kind, a step for each half, and perhaps a write of all bytes behind reads.
    Halves { steps: [u64; 2], kind: AccessKind, behind: bool },
    /// A write of all bytes, and a later one of some of them. Its place is the second one.
    Part { rest: u64, part: u64, bytes: u8 },
    /// Accesses of one kind of all bytes under locks, with the lower bits of their number: see [`super::under_locks`].
    UnderLocks { english: u64, hebrew: u64, kind: AccessKind, locks: u32 },
}

impl Form {
    pub(super) const NOTHING: Self = Self::Plain { write: 0, written: 0, read: 0, read_bytes: 0 };

    /// None: it is a record.
    #[inline(always)]
    pub(super) fn of(number: u64) -> Option<Self> {
        let (first, second) = (number >> FIRST_SHIFT, number >> SECOND_SHIFT & STEP);
        let (first_bytes, bytes) =
            (runs::bytes(number >> FIRST_BYTES_SHIFT), runs::bytes(number >> SECOND_BYTES_SHIFT));
        match number & FORM {
            PLAIN => {
                Some(Self::Plain { write: first, written: first_bytes, read: second, read_bytes: bytes })
            }
            READERS => {
                Some(Self::Readers { english: first, hebrew: second, bytes, behind: number & BEHIND != 0 })
            }
            HALVES if bytes != 0 => Some(Self::Part { rest: first, part: second, bytes }),
            HALVES => {
                let kind = if number & WRITES != 0 { AccessKind::Write } else { AccessKind::Read };
                Some(Self::Halves { steps: [first, second], kind, behind: number & BEHIND != 0 })
            }
            _ if number & LEAD == UNDER_LOCKS => {
                let wrote = number & WRITES_UNDER_LOCKS != 0;
                let kind = if wrote { AccessKind::Write } else { AccessKind::Read };
                let locks = (number >> LOCKS_SHIFT) as u32 & ((1 << LOCKS_BITS) - 1);
                Some(Self::UnderLocks { english: first, hebrew: second, kind, locks })
            }
            _ => None,
        }
    }

    /// None: the bytes have gaps.
    #[inline(always)]
    pub(super) fn number(self) -> Option<u64> {
        let code = |bytes: u8| if bytes == 0 { Some(runs::NONE) } else { runs::code(bytes) };
        Some(match self {
            Self::Plain { write, written, read, read_bytes } => {
                write << FIRST_SHIFT
                    | read << SECOND_SHIFT
                    | code(written)? << FIRST_BYTES_SHIFT
                    | code(read_bytes)? << SECOND_BYTES_SHIFT
                    | PLAIN
            }
            Self::Readers { english, hebrew, bytes, behind } => {
                english << FIRST_SHIFT
                    | hebrew << SECOND_SHIFT
                    | code(bytes)? << SECOND_BYTES_SHIFT
                    | if behind { BEHIND } else { 0 }
                    | READERS
            }
            Self::Halves { steps: [low, high], kind, behind } => {
                low << FIRST_SHIFT
                    | high << SECOND_SHIFT
                    | if behind { BEHIND } else { 0 }
                    | if kind == AccessKind::Write { WRITES } else { 0 }
                    | HALVES
            }
            Self::Part { rest, part, bytes } => {
                rest << FIRST_SHIFT | part << SECOND_SHIFT | code(bytes)? << SECOND_BYTES_SHIFT | HALVES
            }
            Self::UnderLocks { english, hebrew, kind, locks } => {
                english << FIRST_SHIFT
                    | hebrew << SECOND_SHIFT
                    | u64::from(locks) << LOCKS_SHIFT
                    | if kind == AccessKind::Write { WRITES_UNDER_LOCKS } else { 0 }
                    | UNDER_LOCKS
            }
        })
    }

    /// What each stretch of bytes has to remember of plain accesses.
    pub(super) fn parts(self, addr: usize) -> Vec<(u8, Plain)> {
        // Halves are apart only if their places are: a finding tells of all bytes of an access at once.
        let alike = |second: bool| sites::get(addr, second) == sites::get(addr + 4, second);
        let parts = |bytes: u8, first: bool, second: bool| {
            let whole = (!first || alike(false)) && (!second || alike(true));
            let parts = if whole { [bytes, 0] } else { [bytes & 0x0f, bytes & 0xf0] };
            parts.into_iter().filter(|bytes| *bytes != 0)
        };
        let entry = |number: u64, second: bool, bytes: u8| Entry {
            step: step_of(number),
            site: SiteId(sites::get(addr + usize::from(bytes & 0x0f == 0) * 4, second)),
        };
        match self {
            Self::Plain { write, written, read, read_bytes } => {
                let write = |bytes: u8| (bytes & written != 0).then(|| entry(write, false, bytes));
                let reads = |bytes: u8| {
                    let entry = entry(read, true, bytes);
                    (bytes & read_bytes != 0).then_some((entry, entry))
                };
                [written & read_bytes, written & !read_bytes, read_bytes & !written]
                    .into_iter()
                    .flat_map(|bytes| parts(bytes, bytes & written != 0, bytes & read_bytes != 0))
                    .map(|bytes| (bytes, Plain { write: write(bytes), reads: reads(bytes) }))
                    .collect()
            }
            Self::Readers { english, hebrew, bytes, behind } => {
                let reads = |bytes| Some((entry(english, false, bytes), entry(hebrew, true, bytes)));
                let write = behind.then(|| entry_behind(addr));
                parts(bytes, true, true).map(|bytes| (bytes, Plain { write, reads: reads(bytes) })).collect()
            }
            Self::Halves { steps: [low, high], kind, behind } => {
                let write = behind.then(|| entry_behind(addr));
                let plain = |step: u64, bytes: u8| match kind {
                    AccessKind::Read => {
                        let entry = entry(step, true, bytes);
                        Plain { write, reads: Some((entry, entry)) }
                    }
                    AccessKind::Write => Plain { write: Some(entry(step, false, bytes)), reads: None },
                };
                vec![(0x0f, plain(low, 0x0f)), (0xf0, plain(high, 0xf0))]
            }
            Self::Part { rest, part, bytes } => {
                let plain = |entry: Entry| Plain { write: Some(entry), reads: None };
                let rest = parts(!bytes, true, false).map(|bytes| (bytes, plain(entry(rest, false, bytes))));
                rest.chain(parts(bytes, false, true).map(|bytes| (bytes, plain(entry(part, true, bytes)))))
                    .collect()
            }
            Self::UnderLocks { .. } => Vec::new(),
        }
    }
}

/// The write behind the readers of a word.
fn entry_behind(addr: usize) -> Entry {
    let (number, place) = sites::write_behind(addr);
    Entry { step: step_of(number), site: SiteId(place) }
}

impl TaskWord {
    /// True if it is a table of bytes.
    pub(super) fn is_table(number: u64) -> bool {
        number & (LEAD | TABLE) == RECORD | TABLE
    }

    /// How many words of a page of the shadow have something to remember.
    pub(super) fn used_in_page(page: usize) -> u64 {
        let words = (page..page + PAGE_BYTES).step_by(WORD_BYTES);
        words.filter(|word| Self::at(*word).0.load(Ordering::Relaxed) != 0).count() as u64
    }

    /// The words of a line that begins at an address of the shadow.
    #[inline(always)]
    fn line_at(shadow: usize) -> &'static [Self; LINE_BYTES / WORD_BYTES] {
        // SAFETY: as in `of`; lines do not cross the end of the shadow.
        unsafe { &*(shadow as *const [Self; LINE_BYTES / WORD_BYTES]) }
    }

    /// True if the word has a write behind.
    pub(super) fn is_behind(&self) -> bool {
        has_behind(self.0.load(Ordering::Relaxed))
    }

    /// True if some other word of the line has a write behind.
    pub(super) fn others_behind(&self) -> bool {
        self.others().any(Self::is_behind)
    }

    /// True if the word is about accesses under locks.
    pub(super) fn is_under_locks(&self) -> bool {
        self.0.load(Ordering::Relaxed) & LEAD == UNDER_LOCKS
    }

    /// The other words of the line.
    pub(super) fn others(&self) -> impl Iterator<Item = &'static Self> {
        let (first, own) = (self.address() & !63, self.address());
        (first..first + 64).step_by(8).filter(move |other| *other != own).map(Self::at)
    }

    /// Changes a word that the caller may change.
    #[inline(always)]
    pub(super) fn set(&self, number: u64) {
        self.0.store(number, Ordering::Release);
    }

    /// The shadow of the word that holds an address.
    #[inline(always)]
    pub(super) fn of(addr: usize) -> &'static Self {
        let shadow = SHADOW.base + (addr & ADDRESS_MASK & !(WORD_BYTES - 1));
        // SAFETY: this part of the shadow is mapped, aligned and zeroed at the start and never unmapped; it is only ever
        // accessed as such words.
        unsafe { &*(shadow as *const Self) }
    }

    /// The word at an address of the shadow itself.
    pub(super) fn at(shadow: usize) -> &'static Self {
        // SAFETY: as in `of`; the caller has got the address from there.
        unsafe { &*(shadow as *const Self) }
    }

    /// An address in the program that has the bits that count in common with that whose shadow lies there.
    pub(super) fn program_address(shadow: usize) -> usize {
        shadow - SHADOW.base
    }

    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    #[inline(always)]
    pub(super) fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// What the words of a range in one line are when nobody changes them, and what the line has of the locks of those that are about some. Who has
    /// let others see something before, and then asks this, sees all accesses of threads that have not seen it when they looked for it after their
    /// access: they had the line until their access could be seen.
    #[inline]
    pub(super) fn load_settled(from: usize, to: usize) -> ([u64; LINE_BYTES / WORD_BYTES], u32) {
        let _line = sites::own(from);
        let mut words = (from & !(WORD_BYTES - 1)..to).step_by(WORD_BYTES);
        let numbers = std::array::from_fn(|_| words.next().map_or(0, |word| Self::of(word).load()));
        (numbers, sites::locks(from))
    }

    /// Takes what a record or a table is, if it is still that.
    #[inline(always)]
    pub(super) fn take_record(&self, number: u64) -> bool {
        self.0.compare_exchange(number, number | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Changes a word that is no record, if it is still what it was.
    #[inline(always)]
    pub(super) fn exchange(&self, old: u64, new: u64) -> bool {
        self.own_as(old).map(|_line| self.set(new)).is_some()
    }

    /// Takes the line of a word that is no record, if the word is still what it was.
    #[inline(always)]
    pub(super) fn own_as(&self, old: u64) -> Option<sites::OwnedLine> {
        sites::own(Self::program_address(self.address())).filter(|_| self.load() == old)
    }

    /// True if something may be put into it. False: the memory is used up.
    #[inline(always)]
    pub(super) fn admit(&self) -> bool {
        // What lies behind the words is used as they are.
        pages::admit_listed(self.address(), |shadow, bytes| {
            sites::ask_ahead(Self::program_address(shadow), bytes);
        })
    }

    /// Which words of a line have something to remember.
    pub(super) fn used_in_line(&self) -> u8 {
        let first = self.address() & !63;
        let used =
            |index: usize| u8::from(Self::at(first + index * 8).0.load(Ordering::Relaxed) != 0) << index;
        used(0) | used(1) | used(2) | used(3) | used(4) | used(5) | used(6) | used(7)
    }

    /// Forgets some bytes of a word that is no record. False: it is one, or the rest does not fit.
    fn forget_plain(&self, mask: u8) -> bool {
        loop {
            let old = self.load();
            if old == 0 {
                return true;
            }
            let changed = match Form::of(old) {
                None if Self::is_table(old) => match self.lock_bytes() {
                    Some(locked) => {
                        locked.forget(mask);
                        return true;
                    }
                    None if crate::watch::is_on() => continue,
                    None => return true,
                },
                None => return false,
                Some(Form::Plain { write, written, read, read_bytes }) => {
                    let (written, read_bytes) = (written & !mask, read_bytes & !mask);
                    let write = if written == 0 { 0 } else { write };
                    let read = if read_bytes == 0 { 0 } else { read };
                    Form::Plain { write, written, read, read_bytes }
                }
                Some(Form::Readers { bytes, .. }) if bytes & !mask == 0 => Form::NOTHING,
                Some(Form::Readers { english, hebrew, bytes, behind }) => {
                    Form::Readers { english, hebrew, bytes: bytes & !mask, behind }
                }
                // Seldom, and a record knows how.
                Some(Form::Halves { .. } | Form::Part { .. } | Form::UnderLocks { .. }) if mask != 0xff => {
                    return false;
                }
                Some(Form::Halves { .. } | Form::Part { .. } | Form::UnderLocks { .. }) => Form::NOTHING,
            };
            let Some(new) = changed.number() else { return false };
            if self.exchange(old, new) || !crate::watch::is_on() {
                return true;
            }
        }
    }
}

/// Forgets all that is known about a range. `era` is the present one.
pub(super) fn forget<A: KeepsPlain>(addr: usize, size: usize, era: u32) {
    if size == 0 || !layout::is_program(addr, size) {
        return;
    }
    let (first_page, end_page) = (addr.next_multiple_of(PAGE_BYTES), (addr + size) / PAGE_BYTES * PAGE_BYTES);
    if first_page >= end_page {
        return forget_words::<A>(addr, size, era);
    }
    forget_words::<A>(addr, first_page - addr, era);
    let taken =
        |page: usize| pages::take(TaskWord::of(page).address(), || forget_words::<A>(page, PAGE_BYTES, era));
    let mut page = first_page;
    while page < end_page {
        // Runs of pages that are in use; what is not in use needs nothing.
        let start = page;
        while page < end_page && taken(page) {
            page += PAGE_BYTES;
        }
        clear(start, page - start);
        if page > start {
            sections::memory_forgotten();
        }
        page += PAGE_BYTES;
    }
    forget_words::<A>(end_page, addr + size - end_page, era);
}

/// Fills the shadow of whole pages with zeros.
fn clear(start: usize, size: usize) {
    // What is soon used again costs more to get from the kernel again than to fill.
    const GIVE_BACK_BYTES: usize = 256 * PAGE_BYTES;
    if size >= GIVE_BACK_BYTES {
        let shadow = TaskWord::of(start).address() as *mut libc::c_void;
        // SAFETY: the range lies in the shadow, a private anonymous mapping, and reads as zeros afterwards.
        unsafe { libc::madvise(shadow, size, libc::MADV_DONTNEED) };
        return;
    }
    for word in (start..start + size).step_by(WORD_BYTES) {
        TaskWord::of(word).0.store(0, Ordering::Relaxed);
    }
}

/// Forgets all without looking at records, which are leaked.
#[cfg(test)]
pub(super) fn forget_all(start: usize, size: usize) {
    for page in (start..start + size).step_by(PAGE_BYTES) {
        pages::take(TaskWord::of(page).address(), || ());
    }
    clear(start, size);
}

fn forget_words<A: KeepsPlain>(addr: usize, size: usize, era: u32) {
    let mut any = false;
    let (mut page, end) = (addr & !(PAGE_BYTES - 1), addr + size);
    while page < end {
        // Programs that tell objects and nothing else have little in most pages: what is not in use is not even looked at.
        if pages::is_in_use(TaskWord::of(page).address()) {
            any |= forget_in_page::<A>(addr.max(page), end.min(page + PAGE_BYTES), era);
        }
        page += PAGE_BYTES;
    }
    if any {
        sections::memory_forgotten();
    }
}

/// The same from one address to another one, in a page that is in use. True if there was something to forget.
#[inline(always)]
fn forget_in_page<A: KeepsPlain>(from: usize, to: usize, era: u32) -> bool {
    let mut any = false;
    let mut forget_part = |word: usize, mask: u8| {
        let shadow = TaskWord::of(word);
        if shadow.load() != 0 {
            any = true;
            if !shadow.forget_plain(mask)
                && let Some(locked) = shadow.lock::<A>(word, era)
            {
                locked.forget(mask);
            }
        }
    };
    let (first, last) = (from.next_multiple_of(WORD_BYTES), to & !(WORD_BYTES - 1));
    if first >= last {
        words(from, to - from).for_each(|(word, mask)| forget_part(word, mask));
        return any;
    }
    // Blocks and frames are mostly whole words, and most of these are no records.
    if from < first {
        words(from, first - from).for_each(|(word, mask)| forget_part(word, mask));
    }
    if last < to {
        words(last, to - last).for_each(|(word, mask)| forget_part(word, mask));
    }
    let mut cleared = false;
    let start = TaskWord::of(first).address();
    let (mut next, end) = (start, start + (last - first));
    while next < end {
        if next.is_multiple_of(LINE_BYTES) && end - next >= LINE_BYTES {
            let line = TaskWord::line_at(next);
            let all = line.iter().fold(0, |all, word| all | word.0.load(Ordering::Relaxed));
            if all & RECORD == 0 {
                // None is a record. Of what lies between the frames of a task and those of another one nothing at all is known.
                if all != 0 {
                    line.iter().for_each(|word| word.0.store(0, Ordering::Relaxed));
                    cleared = true;
                }
                next += LINE_BYTES;
                continue;
            }
        }
        let shadow = TaskWord::at(next);
        let old = shadow.load();
        if old & LEAD == RECORD {
            forget_part(first + (next - start), 0xff);
        } else if old != 0 {
            shadow.0.store(0, Ordering::Relaxed);
            cleared = true;
        }
        next += WORD_BYTES;
    }
    any || cleared
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compiler pass has the same numbers.
    #[test]
    fn programs_look_at_the_same_bits() {
        let pass = include_str!("../../../pass/src/known.h");
        let words = ADDRESS_MASK & !(WORD_BYTES - 1);
        assert!(pass.contains(&format!("WordsMask = {words:#x}, ShadowBase = {:#x};", SHADOW.base)));
        assert!(pass.contains(&format!("WroteMask = {WROTE_MASK:#x}, ReadMask = {READ_MASK:#x};")));
    }
}
