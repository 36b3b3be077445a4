//! The runtime's own allocator, on memory from the kernel: it never enters the program's `malloc`.
//!
//! Small blocks come from free lists by size class, in several shards so that threads rarely meet; large ones are mapped
//! and unmapped. A freed block goes to the shard of the thread that frees it; a shard that runs out looks now and then for what has
//! gathered in the others, as when one thread makes what another one gives back.

use crate::spin::{Guard, Spin};
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The allocator.
#[derive(Debug)]
pub struct Arena;

#[cfg(feature = "interpose")]
#[global_allocator]
static ARENA: Arena = Arena;

/// Blocks of more bytes are mapped one by one.
const LARGE: usize = 1 << 17;
/// Memory is taken from the kernel in such pieces.
const CHUNK_BYTES: usize = 1 << 20;
const SHARDS: usize = 16;
/// Two classes for each power of two.
const CLASSES: usize = 2 * LARGE.trailing_zeros() as usize + 2;

struct Shard {
    /// The unused rest of the current chunk.
    next: usize,
    end: usize,
    /// For each class the first free block, which holds the address of the next one.
    free: [usize; CLASSES],
    /// How often there was no free block.
    misses: u32,
    /// A bit for each class: other shards had some when they were looked at last.
    found: u64,
}
const _: () = assert!(CLASSES <= u64::BITS as usize);

/// After so many times the other shards are looked at. Each time, if that has helped before: where one thread takes blocks that another one gives back,
/// their number would grow without end. And each time for blocks of more bytes: to have their pages from the kernel takes longer.
const LOOK_AROUND: u32 = 64;
const MANY_BYTES: usize = 4096;

static SHARD: [Spin<Shard>; SHARDS] =
    [const { Spin::new(Shard { next: 0, end: 0, free: [0; CLASSES], misses: 0, found: 0 }) }; SHARDS];

/// Bytes that were taken from the kernel and not given back.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Bytes that the runtime has taken from the kernel for its own data, without shadow memory.
pub(crate) fn taken() -> usize {
    TAKEN.load(Ordering::Relaxed)
}

/// Bytes of address space that the runtime has for its own data, used or not.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// The address space that the runtime has for its own data.
pub(crate) fn mapped() -> usize {
    MAPPED.load(Ordering::Relaxed)
}

/// Memory for the time when the kernel gives no more: what is begun can be brought to its end.
const RESERVE_BYTES: usize = 1 << 28;
static RESERVE: AtomicUsize = AtomicUsize::new(0);
static RESERVE_USED: AtomicUsize = AtomicUsize::new(0);

/// Sets memory aside. It counts when it is touched.
pub(crate) fn prepare() {
    if RESERVE.load(Ordering::Relaxed) == 0 {
        RESERVE.store(map(RESERVE_BYTES) as usize, Ordering::Relaxed);
    }
}

/// The kernel gives no more memory: the program goes on unwatched. Null if even what was set aside is used up.
#[cold]
fn from_reserve(size: usize) -> *mut u8 {
    crate::watch::out_of_memory();
    let reserve = RESERVE.load(Ordering::Relaxed);
    let size = size.next_multiple_of(4096);
    let start = RESERVE_USED.fetch_add(size, Ordering::Relaxed);
    if reserve == 0 || start.saturating_add(size) > RESERVE_BYTES {
        return null_mut();
    }
    (reserve + start) as *mut u8
}

/// Memory from the kernel, zeroed; null if there is none. Pages count when they are touched.
pub(crate) fn map(size: usize) -> *mut u8 {
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing that exists. (The function of
    // the C library may be intercepted, by ourselves.)
    let memory = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            0,
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if memory == -1 {
        return null_mut();
    }
    MAPPED.fetch_add(size, Ordering::Relaxed);
    memory as *mut u8
}

/// Gives memory from [`map`] back.
///
/// # Safety
/// Nothing of it may be in use.
pub(crate) unsafe fn unmap(memory: *mut u8, size: usize) {
    // SAFETY: by the contract of this function.
    unsafe { libc::syscall(libc::SYS_munmap, memory, size) };
    MAPPED.fetch_sub(size, Ordering::Relaxed);
}

/// The class of a block, and the size of the blocks of this class.
#[inline]
fn class_of(layout: Layout) -> (usize, usize) {
    let size = layout.size().max(16);
    let power = size.next_power_of_two();
    let middle = power / 4 * 3;
    // A block of three quarters of a power of two is aligned to a quarter of it.
    if size <= middle && power / 4 >= layout.align() && power > 32 {
        (2 * power.trailing_zeros() as usize - 1, middle)
    } else {
        let power = power.max(layout.align());
        (2 * power.trailing_zeros() as usize, power)
    }
}

fn shard() -> Guard<'static, Shard> {
    let here = 0u8;
    // Stacks of threads lie far apart.
    let start = (&raw const here as usize >> 16).wrapping_mul(0x9e37_79b9) >> 8;
    let mut tries = 0;
    loop {
        if let Some(shard) = SHARD[(start + tries as usize) % SHARDS].try_lock() {
            return shard;
        }
        crate::spin::pause(tries);
        tries = tries.wrapping_add(1);
    }
}

/// The free blocks of a class that some other shard has. None is waited for.
fn gathered(class: usize) -> usize {
    let taken =
        |shard: &Spin<Shard>| shard.try_lock().map(|mut shard| std::mem::take(&mut shard.free[class]));
    SHARD.iter().filter_map(taken).find(|list| *list != 0).unwrap_or(0)
}

impl Shard {
    fn take(&mut self, class: usize, size: usize) -> *mut u8 {
        if self.free[class] == 0 {
            self.misses = self.misses.wrapping_add(1);
            let bit = 1 << class;
            if self.found & bit != 0 || size >= MANY_BYTES || self.misses.is_multiple_of(LOOK_AROUND) {
                self.free[class] = gathered(class);
                self.found = if self.free[class] == 0 { self.found & !bit } else { self.found | bit };
            }
        }
        let free = self.free[class];
        if free != 0 {
            // SAFETY: a free block of at least 16 bytes holds the address of the next one.
            self.free[class] = unsafe { *(free as *const usize) };
            return free as *mut u8;
        }
        let align = (1 << size.trailing_zeros()).min(CHUNK_BYTES);
        let mut start = self.next.next_multiple_of(align);
        if self.next == 0 || start + size > self.end {
            let mut chunk = map(CHUNK_BYTES) as usize;
            if chunk == 0 {
                chunk = from_reserve(CHUNK_BYTES) as usize;
            }
            if chunk == 0 {
                return null_mut();
            }
            TAKEN.fetch_add(CHUNK_BYTES, Ordering::Relaxed);
            self.end = chunk + CHUNK_BYTES;
            start = chunk.next_multiple_of(align);
            if start + size > self.end {
                return null_mut();
            }
        }
        self.next = start + size;
        start as *mut u8
    }
}

/// A type of which all bytes may be zero.
///
/// # Safety
/// They may.
pub(crate) unsafe trait MayBeZero {}

// SAFETY: it is a number.
unsafe impl MayBeZero for std::sync::atomic::AtomicU32 {}

/// So many values of zeros. Many of them take no memory before they are touched.
pub(crate) fn zeros<T: MayBeZero>(count: usize) -> Box<[T]> {
    // SAFETY: zeros are values of the type.
    unsafe { Box::new_zeroed_slice(count).assume_init() }
}

// SAFETY: blocks are disjoint, large enough and aligned: a class holds blocks of one size, a multiple of its alignment;
// mapped ones are pages of their own.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGE || layout.align() > 4096 {
            if layout.align() > 4096 {
                return null_mut();
            }
            let mut memory = map(layout.size());
            if memory.is_null() {
                memory = from_reserve(layout.size());
            }
            if !memory.is_null() {
                TAKEN.fetch_add(layout.size(), Ordering::Relaxed);
            }
            return memory;
        }
        let (class, size) = class_of(layout);
        shard().take(class, size)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGE && layout.align() <= 4096 {
            // What the kernel gives is zero, and takes no memory before it is touched.
            let memory = map(layout.size());
            if !memory.is_null() {
                TAKEN.fetch_add(layout.size(), Ordering::Relaxed);
                return memory;
            }
        }
        // SAFETY: by the contract of this function.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // SAFETY: it has so many bytes, and is nobody else's.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() > LARGE {
            TAKEN.fetch_sub(layout.size(), Ordering::Relaxed);
            // SAFETY: it was mapped by `alloc` with this size, and the caller gives it up.
            unsafe { unmap(block, layout.size()) };
            return;
        }
        let (class, _) = class_of(layout);
        let mut shard = shard();
        // SAFETY: the caller gives the block up; it has at least 16 bytes and is aligned for a word.
        unsafe { *block.cast::<usize>() = shard.free[class] };
        shard.free[class] = block as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_disjoint_and_reused() {
        let mut blocks = Vec::new();
        for size in (1..400).chain([1000, 5000, 70_000, LARGE, LARGE + 1, 1 << 20]) {
            for align in [1, 8, 16, 64, 4096] {
                let layout = Layout::from_size_align(size, align).expect("a layout");
                // SAFETY: the size is not zero.
                let block = unsafe { Arena.alloc(layout) };
                assert!(!block.is_null() && (block as usize).is_multiple_of(align), "{layout:?}");
                // SAFETY: the block has so many bytes.
                unsafe { block.write_bytes(0xa5, size) };
                blocks.push((block as usize, layout));
            }
        }
        blocks.sort_by_key(|block| block.0);
        for pair in blocks.windows(2) {
            assert!(pair[0].0 + pair[0].1.size() <= pair[1].0, "{pair:?}");
        }
        for (block, layout) in blocks {
            // SAFETY: it was allocated above with this layout.
            unsafe { Arena.dealloc(block as *mut u8, layout) };
        }
        let layout = Layout::from_size_align(48, 16).expect("a layout");
        // SAFETY: the size is not zero, and the block is given back at once.
        let again = unsafe {
            let first = Arena.alloc(layout);
            Arena.dealloc(first, layout);
            (first, Arena.alloc(layout))
        };
        assert_eq!(again.0, again.1);
    }

    #[test]
    fn who_takes_what_another_gives_back_needs_no_more_than_are_in_use() {
        const AT_ONCE: usize = 50;
        let layout = Layout::from_size_align(3_000, 8).expect("a layout");
        let (give, given) = std::sync::mpsc::channel::<Vec<usize>>();
        let (done, ready) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            for blocks in given {
                // SAFETY: they were allocated with this layout, and are nobody's any more.
                blocks.iter().for_each(|block| unsafe { Arena.dealloc(*block as *mut u8, layout) });
                done.send(()).expect("somebody waits");
            }
        });
        let mut different = std::collections::BTreeSet::new();
        for _ in 0..500 {
            // SAFETY: the size is not zero.
            let blocks: Vec<usize> = (0..AT_ONCE).map(|_| unsafe { Arena.alloc(layout) } as usize).collect();
            different.extend(blocks.iter().copied());
            give.send(blocks).expect("somebody listens");
            ready.recv().expect("they are given back");
        }
        drop(give);
        other.join().expect("it ends");
        // Some more, as long as nobody knows that others have some.
        assert!(different.len() <= 4 * AT_ONCE, "{} blocks", different.len());
    }

    #[test]
    fn many_bytes_are_used_again_wherever_they_were_given_back() {
        let layout = Layout::from_size_align(20_000, 8).expect("a layout");
        let blocks = (0..32).map(|_| {
            // SAFETY: the size is not zero.
            let block = unsafe { Arena.alloc(layout) } as usize;
            // SAFETY: it was just allocated with this layout.
            let give_back = move || unsafe { Arena.dealloc(block as *mut u8, layout) };
            std::thread::spawn(give_back).join().expect("it is given back");
            block
        });
        let different: std::collections::BTreeSet<usize> = blocks.collect();
        assert!(different.len() <= 2, "{different:x?}");
    }
}
