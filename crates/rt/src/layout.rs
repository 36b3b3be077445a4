//! Where things lie in the address space of a watched program. All that depends on the architecture and the operating
//! system (x86-64 Linux) stands here, in `tls`, in `abi::access`, in `abi::functions` and in `intercept::arch`.
//!
//! | from | to | what |
//! |---|---|---|
//! | `0x0000_0000_0000` | `0x0700_0000_0000` | the program, if it is not position-independent, and its heap |
//! | `0x0700_0000_0000` | `0x0701_0000_0000` | for each page of shadow memory two bits: it is in use, it has records |
//! | `0x0800_0000_0000` | `0x1000_0000_0000` | heap blocks: eight bytes for each sixteen of the program |
//! | `0x1000_0000_0000` | `0x5000_0000_0000` | shadow memory: 32 bytes for each word of eight |
//! | `0x5500_0000_0000` | `0x8000_0000_0000` | the program if it is position-independent, libraries, stacks |
//!
//! Of an address 44 bits count: the three parts of a program differ in them, so that no two of its addresses share a
//! shadow. All of this is reserved, not used: the kernel gives memory when it is touched.

/// The bits of an address that count.
const ADDRESS_BITS: u32 = 44;
pub(crate) const ADDRESS_MASK: usize = (1 << ADDRESS_BITS) - 1;

/// Bytes of program memory that one [`crate::shadow::Word`] stands for.
pub(crate) const WORD_BYTES: usize = 8;
/// Log2 of shadow bytes for each byte of the program.
pub(crate) const SHADOW_SHIFT: u32 = 2;

/// A stretch of the address space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) base: usize,
    pub(crate) size: usize,
}

/// Shadow memory.
pub(crate) const SHADOW: Region = Region { base: 0x1000_0000_0000, size: 1 << (ADDRESS_BITS + SHADOW_SHIFT) };
/// What is known about heap blocks.
pub(crate) const BLOCKS: Region = Region { base: 0x0800_0000_0000, size: 1 << (ADDRESS_BITS - 1) };
/// Which pages of the shadow are in use, and which have records.
pub(crate) const PAGES_IN_USE: Region = Region { base: 0x0700_0000_0000, size: SHADOW.size / PAGE_BYTES / 4 };

/// The address space that all of it takes, and room for data that the runtime needs later.
pub(crate) const RESERVED_BYTES: usize = SHADOW.size + BLOCKS.size + PAGES_IN_USE.size + (1 << 30);

/// Bytes of a page of memory.
pub(crate) const PAGE_BYTES: usize = 4096;

/// The address of the shadow of the word that holds an address.
#[inline(always)]
pub(crate) fn shadow_of(addr: usize) -> usize {
    SHADOW.base + ((addr & ADDRESS_MASK & !(WORD_BYTES - 1)) << SHADOW_SHIFT)
}

/// The address of what is known about the heap block that begins at an address.
#[inline(always)]
pub(crate) fn block_of(addr: usize) -> usize {
    BLOCKS.base + ((addr & ADDRESS_MASK) >> 4) * 8
}

/// True if no part of a range lies in what is ours, so that it may be told about.
#[inline]
pub(crate) fn is_program(addr: usize, size: usize) -> bool {
    let end = addr.saturating_add(size);
    addr >= PAGE_BYTES && end <= 1 << 47 && (end <= PAGES_IN_USE.base || addr >= SHADOW.base + SHADOW.size)
}

/// True if what lies around two addresses may share shadow memory: they differ in the bits that do not count, and hardly in
/// those that do. Kernels that scatter programs over the whole address space (`vm.mmap_rnd_bits` of 32) do that to some runs.
pub(crate) fn may_share_shadow(addr: usize, other: usize) -> bool {
    const NEAR: usize = 1 << 40;
    let distance = (addr & ADDRESS_MASK).abs_diff(other & ADDRESS_MASK);
    addr >> ADDRESS_BITS != other >> ADDRESS_BITS && distance < NEAR
}

/// The processor's clock: grows at a constant rate, the same on all cores.
#[inline]
pub(crate) fn processor_clock() -> u64 {
    // SAFETY: the instruction has no preconditions.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_do_not_overlap_and_hold_what_belongs_there() {
        let regions = [PAGES_IN_USE, BLOCKS, SHADOW];
        for pair in regions.windows(2) {
            assert!(pair[0].base + pair[0].size <= pair[1].base);
        }
        for addr in [0x1000, 0x40_0000, 0x5555_5555_4000, 0x7fff_ffff_fff8] {
            assert!(is_program(addr, 8));
            let (shadow, block) = (shadow_of(addr), block_of(addr));
            assert!(shadow >= SHADOW.base && shadow + 32 <= SHADOW.base + SHADOW.size);
            assert!(block >= BLOCKS.base && block + 8 <= BLOCKS.base + BLOCKS.size);
        }
        assert!(!may_share_shadow(0x5555_5555_4000, 0x7fff_ffff_f000));
        assert!(!may_share_shadow(0x40_0000, 0x7eff_0000_0000));
        assert!(may_share_shadow(0x5fff_ff00_0000, 0x7fff_ffff_f000));
        assert!(!may_share_shadow(0x7fff_0000_0000, 0x7fff_ffff_f000), "not the same part");
        assert_eq!(shadow_of(0x1007) - shadow_of(0x1000), 0);
        assert_eq!(shadow_of(0x1008) - shadow_of(0x1000), 32);
        assert!(!is_program(SHADOW.base, 8) && !is_program(0, 8));
    }
}
