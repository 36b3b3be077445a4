//! Variables of threads (`thread_local`, `threadprivate`), used by tasks.
//!
//! Tasks that are parallel to each other may run on one thread, one after the other, and then they use the same variables of
//! the thread: that is no conflict, whatever the schedule is. So what is known about such a variable is forgotten when
//! another task of its thread comes to it. But if another thread, to which somebody has given its address, uses it about the
//! same time, it is a variable like others.
//!
//! Only threads that run tasks are known here.

use crate::spin::{Apart, Spin};
use crate::thread::Thread;
use keirin_core::event::ThreadId;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const WORD: usize = 8;
/// Pages are looked up by a hash, in a set that may hold others as well.
const PAGE_BITS: u32 = 12;
const SET_BITS: u32 = 12;

/// The pages on which variables of threads are.
static PAGES: [AtomicU64; 1 << (SET_BITS - 6)] = [const { AtomicU64::new(0) }; 1 << (SET_BITS - 6)];
static KNOWN: Spin<Known> =
    Spin::new(Known { blocks: Vec::new(), words: FxHashMap::with_hasher(FxBuildHasher) });

struct Known {
    blocks: Vec<Block>,
    words: FxHashMap<usize, User>,
}

/// The variables of a thread.
struct Block {
    from: usize,
    to: usize,
    owner: ThreadId,
}

/// Who has used a word last, in which stint of its thread.
#[derive(Clone, Copy)]
enum User {
    Owner(u32),
    Others(u32),
}

/// If others have used a variable in the stint in which its thread uses it, or so many before, then nothing is forgotten. From
/// the end of what a thread does before a barrier to the start of what it does then it changes its task so often.
const WINDOW: u32 = 4;

/// How often a thread went over from one task to another, by the last digits of its number.
static STINTS: [Apart<AtomicU32>; 1024] = [const { Apart(AtomicU32::new(0)) }; 1024];

fn stint_of(thread: ThreadId) -> &'static AtomicU32 {
    &STINTS[thread.0 as usize % STINTS.len()]
}

fn page(addr: usize) -> (usize, u64) {
    let hash = ((addr >> PAGE_BITS) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SET_BITS);
    ((hash >> 6) as usize, 1 << (hash % 64))
}

/// False if an address is not that of a variable of a thread.
#[inline]
pub(crate) fn may_be(addr: usize) -> bool {
    let (index, bit) = page(addr);
    PAGES[index].load(Ordering::Relaxed) & bit != 0
}

/// True if an address is that of a variable of this thread.
pub(crate) fn is_of(thread: &Thread, addr: usize) -> bool {
    let is_it = |block: &Block| block.owner == thread.id && (block.from..block.to).contains(&addr);
    may_be(addr) && KNOWN.lock().blocks.iter().any(is_it)
}

/// The calling thread goes over from one task to another.
pub(crate) fn task_changes(thread: &mut Thread) {
    if !std::mem::replace(&mut thread.runs_tasks, true)
        && let Some((from, to)) = block_of_this_thread()
    {
        let mut known = KNOWN.lock();
        // The memory of a thread that has ended may be that of another one.
        known.blocks.retain(|block| block.to <= from || block.from >= to);
        known.words.retain(|word, _| !(from..to).contains(word));
        known.blocks.push(Block { from, to, owner: thread.id });
        drop(known);
        let pages = (from >> PAGE_BITS..=(to - 1) >> PAGE_BITS).map(|number| page(number << PAGE_BITS));
        pages.for_each(|(index, bit)| _ = PAGES[index].fetch_or(bit, Ordering::Relaxed));
    }
    stint_of(thread.id).fetch_add(1, Ordering::Relaxed);
}

/// An access: calls `forget` if what is known about the memory is of no use any more. Nobody else accesses it meanwhile.
#[cold]
pub(crate) fn accessed(thread: &mut Thread, addr: usize, size: usize, forget: impl FnOnce(&mut Thread)) {
    let mut known = KNOWN.lock();
    let Some(block) = known.blocks.iter().find(|block| (block.from..block.to).contains(&addr)) else {
        return;
    };
    let own = block.owner == thread.id;
    let stint = stint_of(block.owner).load(Ordering::Relaxed);
    let mut new = false;
    for word in (addr / WORD..=(addr + size - 1) / WORD).map(|number| number * WORD) {
        let user = known.words.get(&word).copied();
        new |= own
            && match user {
                Some(User::Owner(last)) => last != stint,
                Some(User::Others(last)) => stint.wrapping_sub(last) > WINDOW,
                None => true,
            };
        known.words.insert(word, if own { User::Owner(stint) } else { User::Others(stint) });
    }
    if new {
        forget(thread);
    }
}

/// Where the variables of the calling thread are: below its control block, as the processor's ABI has it.
fn block_of_this_thread() -> Option<(usize, usize)> {
    unsafe extern "C" fn lowest(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        found: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the linker passes a description of a module, and what was passed to it.
        let (data, found) = unsafe { ((*info).dlpi_tls_data as usize, &mut *found.cast::<(usize, usize)>()) };
        // Those of libraries that were loaded later lie elsewhere.
        const FARTHEST: usize = 1 << 20;
        if data != 0 && data < found.1 && found.1 - data < FARTHEST {
            found.0 = found.0.min(data);
        }
        0
    }
    // SAFETY: has no preconditions; with glibc on this processor it is the address of the control block.
    let end = unsafe { libc::pthread_self() as usize };
    let mut found = (end, end);
    // SAFETY: the function is called with each module, and the pair, before this returns.
    unsafe { libc::dl_iterate_phdr(Some(lowest), (&raw mut found).cast()) };
    (found.0 < found.1).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn variables_of_a_thread_are_in_its_block() {
        thread_local!(static VARIABLE: Cell<u64> = const { Cell::new(0) });
        let (from, to) = block_of_this_thread().expect("this program has variables of threads");
        assert!(VARIABLE.with(|variable| (from..to).contains(&(variable.as_ptr() as usize))));
        let local = 0;
        assert!(!(from..to).contains(&(&raw const local as usize)));
    }

    #[test]
    fn another_task_of_the_thread_finds_it_new_unless_others_use_it() {
        thread_local!(static VARIABLE: Cell<u64> = const { Cell::new(0) });
        let address = VARIABLE.with(|variable| variable.as_ptr() as usize);
        let mut owner = Thread::new(ThreadId(1), ThreadId(1), 0, std::ptr::null_mut());
        let mut other = Thread::new(ThreadId(2), ThreadId(2), 0, std::ptr::null_mut());
        let is_new_to = |thread: &mut Thread, size| {
            let mut new = false;
            accessed(thread, address, size, |_| new = true);
            new
        };
        task_changes(&mut owner);
        assert!(may_be(address) && is_of(&owner, address) && !is_of(&other, address));
        assert!(is_new_to(&mut owner, 8));
        assert!(!is_new_to(&mut owner, 8));
        task_changes(&mut owner);
        assert!(is_new_to(&mut owner, 4));
        assert!(!is_new_to(&mut other, 4));
        assert!(!is_new_to(&mut owner, 4));
        assert!(!is_new_to(&mut other, 4));
        (0..WINDOW).for_each(|_| task_changes(&mut owner));
        assert!(!is_new_to(&mut owner, 4));
        assert!(!is_new_to(&mut other, 4));
        (0..=WINDOW).for_each(|_| task_changes(&mut owner));
        assert!(is_new_to(&mut owner, 4));
    }
}
