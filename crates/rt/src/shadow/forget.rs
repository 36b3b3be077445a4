//! Memory that the program gives back: all that is known about it is forgotten.

use super::{Shadowed, Word, is_elsewhere, pages, words};
use crate::layout::{self, PAGE_BYTES, SHADOW_SHIFT, WORD_BYTES, shadow_of};
use std::sync::atomic::Ordering;

/// Longer stretches are given back to the kernel instead of being filled with zeros.
const GIVE_BACK_BYTES: usize = 16 * PAGE_BYTES;

/// Forgets all that is known about a range.
pub(crate) fn forget<A: Shadowed>(addr: usize, size: usize) {
    if size == 0 || !layout::is_program(addr, size) {
        return;
    }
    let page_of_program = PAGE_BYTES >> SHADOW_SHIFT;
    let first_page = addr.next_multiple_of(page_of_program);
    let end_page = (addr + size) / page_of_program * page_of_program;
    if first_page >= end_page {
        return forget_words::<A>(addr, size);
    }
    forget_words::<A>(addr, first_page - addr);
    let mut page = first_page;
    while page < end_page {
        // Runs of pages that are in use; what is not in use needs nothing.
        if !pages::take(shadow_of(page), || forget_records::<A>(page, page_of_program)) {
            page += page_of_program;
            continue;
        }
        let start = page;
        page += page_of_program;
        while page < end_page && pages::take(shadow_of(page), || forget_records::<A>(page, page_of_program)) {
            page += page_of_program;
        }
        clear(start, page - start);
    }
    forget_words::<A>(end_page, addr + size - end_page);
}

/// Fills the shadow of whole pages with zeros.
fn clear(start: usize, size: usize) {
    let (shadow, bytes) = (shadow_of(start), size << SHADOW_SHIFT);
    if bytes >= GIVE_BACK_BYTES {
        // SAFETY: the range lies in the shadow, a private anonymous mapping, and reads as zeros afterwards.
        unsafe { libc::madvise(shadow as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
        return;
    }
    for word in (start..start + size).step_by(WORD_BYTES) {
        Word::of(word).0.iter().for_each(|number| number.store(0, Ordering::Relaxed));
    }
}

fn forget_words<A: Shadowed>(addr: usize, size: usize) {
    for (word, mask) in words(addr, size) {
        let shadow = Word::of(word);
        let numbers = shadow.0.each_ref().map(|number| number.load(Ordering::Relaxed));
        if numbers == [0; 4] {
            continue;
        }
        if mask == 0xff && !is_elsewhere(numbers[1]) {
            shadow.0.iter().for_each(|number| number.store(0, Ordering::Relaxed));
        } else if let Some(mut locked) = shadow.lock::<A>() {
            locked.forget(mask);
        }
    }
}

fn forget_records<A: Shadowed>(page: usize, size: usize) {
    for word in (page..page + size).step_by(WORD_BYTES) {
        let shadow = Word::of(word);
        if is_elsewhere(shadow.0[1].load(Ordering::Relaxed))
            && let Some(mut locked) = shadow.lock::<A>()
        {
            locked.forget(0xff);
        }
    }
}
