//! Who allocated the heap blocks: for reports. Eight bytes for each sixteen of the heap, used at the start of a block.

use crate::layout::{self, block_of};
use crate::places::PlaceNumber;
use keirin_core::analysis::fasttrack::Compact;
use keirin_core::event::ThreadId;
use std::sync::atomic::{AtomicU64, Ordering};

const PLACE_BITS: u32 = Compact::SITE_BITS;
const THREAD_BITS: u32 = 14;
const SIZE_BITS: u32 = 64 - PLACE_BITS - THREAD_BITS;
/// Blocks that begin so far before an address are looked for.
const LOOK_BACK: usize = 16 << 20;

/// A heap block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) addr: usize,
    pub(crate) size: usize,
    pub(crate) thread: ThreadId,
    pub(crate) place: PlaceNumber,
}

fn entry(addr: usize) -> &'static AtomicU64 {
    // SAFETY: the whole table is mapped, aligned and zeroed at the start; it is only accessed as atomics.
    unsafe { &*(block_of(addr) as *const AtomicU64) }
}

fn pack(size: usize, thread: ThreadId, place: PlaceNumber) -> u64 {
    let size = (size as u64).min((1 << SIZE_BITS) - 1);
    let thread = u64::from(thread.0.min((1 << THREAD_BITS) - 1));
    (size << THREAD_BITS | thread) << PLACE_BITS | u64::from(place)
}

fn unpack(addr: usize, entry: u64) -> Block {
    let thread = (entry >> PLACE_BITS) as u32 & ((1 << THREAD_BITS) - 1);
    Block {
        addr,
        size: (entry >> (PLACE_BITS + THREAD_BITS)) as usize,
        thread: if thread == (1 << THREAD_BITS) - 1 { ThreadId::NONE } else { ThreadId(thread) },
        place: entry as u32 & ((1 << PLACE_BITS) - 1),
    }
}

/// A block was handed out.
#[inline]
pub(crate) fn allocated(addr: usize, size: usize, thread: ThreadId, place: PlaceNumber) {
    if layout::is_program(addr, size) {
        entry(addr).store(pack(size, thread, place), Ordering::Relaxed);
    }
}

/// A block is given back.
#[inline]
pub(crate) fn freed(addr: usize) {
    if layout::is_program(addr, 1) {
        entry(addr).store(0, Ordering::Relaxed);
    }
}

/// The block that holds an address.
pub(crate) fn find(addr: usize) -> Option<Block> {
    let mut start = addr & !15;
    let lowest = start.saturating_sub(LOOK_BACK).max(layout::PAGE_BYTES);
    while start >= lowest {
        let known = entry(start).load(Ordering::Relaxed);
        if known != 0 {
            let block = unpack(start, known);
            return (addr - start < block.size).then_some(block);
        }
        start -= 16;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_packed_with_what_fits() {
        let block = unpack(64, pack(40, ThreadId(3), 77));
        assert_eq!(block, Block { addr: 64, size: 40, thread: ThreadId(3), place: 77 });
        let large = unpack(64, pack(usize::MAX, ThreadId(1 << 19), 1));
        assert_eq!((large.size, large.thread), ((1 << SIZE_BITS) - 1, ThreadId::NONE));
    }
}
