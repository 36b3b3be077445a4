//! Which pages of the shadow are in use: bounds its memory, and makes giving it back cheap.

use crate::layout::{PAGE_BYTES, PAGES_IN_USE, SHADOW};
use crate::spin::Spin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const IN_USE: u64 = 1;
const RECORDS: u64 = 2;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Bytes of shadow memory in use, about.
pub(crate) fn used() -> usize {
    USED.load(Ordering::Relaxed) * PAGE_BYTES
}

/// Bounds the shadow memory.
pub(crate) fn set_most(bytes: usize) {
    MOST.store(bytes / PAGE_BYTES, Ordering::Relaxed);
}

/// `shadow` is an address in the shadow, here and below.
fn bits(shadow: usize) -> (&'static AtomicU64, u32) {
    let page = (shadow - SHADOW.base) / PAGE_BYTES;
    let address = PAGES_IN_USE.base + page / 32 * 8;
    // SAFETY: the table is mapped, aligned and zeroed at the start, and only accessed as atomics.
    (unsafe { &*(address as *const AtomicU64) }, (page % 32 * 2) as u32)
}

/// True if something was put into the page since it was taken last.
#[inline]
pub(crate) fn is_in_use(shadow: usize) -> bool {
    let (bits, shift) = bits(shadow);
    bits.load(Ordering::Relaxed) >> shift & IN_USE != 0
}

/// True if something may be put into a word that was never used. False: the memory is used up.
#[inline]
pub(crate) fn admit(shadow: usize) -> bool {
    let (bits, shift) = bits(shadow);
    bits.load(Ordering::Relaxed) >> shift & IN_USE != 0 || admit_page(shadow, bits, shift, false)
}

/// The same, and the page is put on the list of [`for_each`].
#[inline]
pub(crate) fn admit_listed(shadow: usize) -> bool {
    let (bits, shift) = bits(shadow);
    bits.load(Ordering::Relaxed) >> shift & IN_USE != 0 || admit_page(shadow, bits, shift, true)
}

/// The end of the pages that were last asked for from the kernel, and how many.
static AHEAD: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(1));
/// So many pages are asked for at once, if they are used one after the other.
const MOST_AHEAD: usize = 2048;

/// From so many pages at once on, large ones are asked for.
const LARGE_AHEAD: usize = 1024;

/// Asks the kernel for a page before it is touched, and for the next ones as well if the program goes through memory in
/// order: that is several times cheaper than to have each one come when it is needed.
fn ask_ahead(page: usize) {
    let next = AHEAD.0.load(Ordering::Relaxed) == page;
    let count = if next { (AHEAD.1.load(Ordering::Relaxed) * 2).min(MOST_AHEAD) } else { 1 };
    AHEAD.0.store(page + count, Ordering::Relaxed);
    AHEAD.1.store(count, Ordering::Relaxed);
    if count > 1 {
        let (first, bytes) = (SHADOW.base + page * PAGE_BYTES, count * PAGE_BYTES);
        let first = first as *mut libc::c_void;
        // SAFETY: the range lies in the shadow, whose content does not change. Where the kernel does not know how, the
        // pages come when they are needed.
        unsafe {
            if count >= LARGE_AHEAD {
                libc::madvise(first, bytes, libc::MADV_HUGEPAGE);
            }
            libc::madvise(first, bytes, libc::MADV_POPULATE_WRITE);
        }
    }
}

#[cold]
fn admit_page(shadow: usize, bits: &AtomicU64, shift: u32, listed: bool) -> bool {
    if USED.load(Ordering::Relaxed) >= MOST.load(Ordering::Relaxed) {
        return false;
    }
    if bits.fetch_or(IN_USE << shift, Ordering::Relaxed) >> shift & IN_USE == 0 {
        USED.fetch_add(1, Ordering::Relaxed);
        if listed {
            LIST.lock().push(shadow / PAGE_BYTES * PAGE_BYTES);
        }
        let page = (shadow - SHADOW.base) / PAGE_BYTES;
        if page >= AHEAD.0.load(Ordering::Relaxed) || page + MOST_AHEAD < AHEAD.0.load(Ordering::Relaxed) {
            ask_ahead(page);
        }
    }
    true
}

/// A word of the page gets a record.
pub(crate) fn mark_record(shadow: usize) {
    let (bits, shift) = bits(shadow);
    if bits.load(Ordering::Relaxed) >> shift & RECORDS == 0 {
        bits.fetch_or(RECORDS << shift, Ordering::Relaxed);
    }
}

/// The page is no longer in use; false if it was not. `records` is called if there may be records.
pub(crate) fn take(shadow: usize, records: impl FnOnce()) -> bool {
    let (bits, shift) = bits(shadow);
    let old = bits.load(Ordering::Relaxed) >> shift & (IN_USE | RECORDS);
    if old == 0 {
        return false;
    }
    if old & RECORDS != 0 {
        records();
    }
    if bits.fetch_and(!((IN_USE | RECORDS) << shift), Ordering::Relaxed) >> shift & IN_USE != 0 {
        USED.fetch_sub(1, Ordering::Relaxed);
    }
    true
}

/// The pages that were ever in use, if somebody wants to go through them. Some may be there twice.
static LIST: Spin<Vec<usize>> = Spin::new(Vec::new());

/// Calls `visit` with the address of each page of the list that is in use. Others may take pages into use meanwhile.
pub(crate) fn for_each(mut visit: impl FnMut(usize)) {
    let mut list = std::mem::take(&mut *LIST.lock());
    list.sort_unstable();
    list.dedup();
    list.retain(|page| {
        let (bits, shift) = bits(*page);
        bits.load(Ordering::Relaxed) >> shift & IN_USE != 0
    });
    list.iter().for_each(|page| visit(*page));
    LIST.lock().append(&mut list);
}
