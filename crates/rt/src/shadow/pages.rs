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
    bits.load(Ordering::Relaxed) >> shift & IN_USE != 0 || admit_page(shadow, bits, shift, None)
}

/// The same, and the page is put on the list of [`for_each`]. If the kernel is asked for pages ahead, `ahead` is called with the address of the
/// first one and their bytes.
#[inline]
pub(crate) fn admit_listed(shadow: usize, ahead: fn(usize, usize)) -> bool {
    let (bits, shift) = bits(shadow);
    bits.load(Ordering::Relaxed) >> shift & IN_USE != 0 || admit_page(shadow, bits, shift, Some(ahead))
}

/// So many pages are asked for at once at least: a group, whose first page has a number that is a multiple of that. A page that is first read and then
/// written comes in two steps, and the second one interrupts all threads.
const LEAST_AHEAD: usize = 8;
/// So many pages are asked for at once at most. They make one large page, which is what the kernel is asked for then.
const MOST_AHEAD: usize = 512;

/// How many pages to ask the kernel for when the first page of a group is used that so many pages in use lie before, side by side: as many as there are
/// before it, rounded down to a power of two and to what its number is a multiple of, but at least the group. None, if they were asked for with an
/// earlier page.
///
/// Programs go through several arrays at the same time, so that this depends on nothing but the neighbours.
fn ahead(page: usize, before: usize) -> Option<usize> {
    let sizes = || {
        std::iter::successors(Some(LEAST_AHEAD), |size| Some(size * 2)).take_while(|size| *size <= MOST_AHEAD)
    };
    let asked_at = |start: usize, before: usize| {
        let fits = |size: &usize| start.is_multiple_of(*size) && (before >= *size || *size == LEAST_AHEAD);
        sizes().filter(fits).last()
    };
    let count = asked_at(page, before)?;
    let asked_before = sizes().filter(|size| *size > count).any(|size| {
        let inside = page % size;
        before >= inside && asked_at(page - inside, before - inside) >= Some(size)
    });
    (!asked_before).then_some(count)
}

/// How many pages in use lie before one, side by side. More than matter to [`ahead`] are not counted.
fn in_use_before(page: usize) -> usize {
    let in_use =
        |page: usize| page.checked_sub(1).is_some_and(|before| is_in_use(SHADOW.base + before * PAGE_BYTES));
    (0..2 * MOST_AHEAD).take_while(|count| *count < page && in_use(page - count)).count()
}

/// Asks the kernel for the group of a page, and for the next ones before they are touched if the program goes through memory in order:
/// that is several times cheaper than to have each one come when it is needed.
fn ask_ahead(page: usize, ahead_as_well: Option<fn(usize, usize)>) {
    let group = page / LEAST_AHEAD * LEAST_AHEAD;
    let others = (group..group + LEAST_AHEAD).filter(|other| *other != page);
    if others.map(|other| SHADOW.base + other * PAGE_BYTES).any(is_in_use) {
        // It came with that.
        return;
    }
    let asked = if page == group { ahead(page, in_use_before(page)) } else { Some(LEAST_AHEAD) };
    if let Some(count) = asked {
        let (first, bytes) = (SHADOW.base + group * PAGE_BYTES, count * PAGE_BYTES);
        if let Some(more) = ahead_as_well {
            more(first, bytes);
        }
        let first = first as *mut libc::c_void;
        // SAFETY: the range lies in the shadow, whose content does not change. Where the kernel does not know how, the
        // pages come when they are needed.
        unsafe {
            if count == MOST_AHEAD {
                libc::madvise(first, bytes, libc::MADV_HUGEPAGE);
            }
            libc::madvise(first, bytes, libc::MADV_POPULATE_WRITE);
        }
    }
}

#[cold]
fn admit_page(shadow: usize, bits: &AtomicU64, shift: u32, listed: Option<fn(usize, usize)>) -> bool {
    if USED.load(Ordering::Relaxed) >= MOST.load(Ordering::Relaxed) {
        return false;
    }
    if bits.fetch_or(IN_USE << shift, Ordering::Relaxed) >> shift & IN_USE == 0 {
        USED.fetch_add(1, Ordering::Relaxed);
        if listed.is_some() {
            LIST.lock().push(shadow / PAGE_BYTES * PAGE_BYTES);
        }
        ask_ahead((shadow - SHADOW.base) / PAGE_BYTES, listed);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Who goes through memory in order asks for each page once, for as many as were used before at most, and seldom.
    #[test]
    fn pages_are_asked_for_once_and_ahead() {
        for first in [0_usize, 1, 5, 8, 100, 1000] {
            let (mut asked, mut calls) = (BTreeSet::new(), 0);
            for page in (first..first + 5000).filter(|page: &usize| page.is_multiple_of(LEAST_AHEAD)) {
                if let Some(count) = ahead(page, page - first) {
                    calls += 1;
                    assert!(count <= LEAST_AHEAD.max(page - first), "{count} pages at {page}");
                    (page..page + count)
                        .for_each(|page| assert!(asked.insert(page), "{page} is asked for again"));
                }
            }
            assert!((first + 16..first + 5000).all(|page| asked.contains(&page)));
            assert!(calls < 40, "{calls} calls");
        }
    }
}
