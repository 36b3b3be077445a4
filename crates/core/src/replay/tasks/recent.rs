//! The papers' access cache.

use crate::analysis::Part;
use crate::event::{AccessKind, Addr};

/// Accesses of a thread that need not be looked at again: the papers' access cache.
#[derive(Debug, Default)]
pub(super) struct RecentAccesses {
    entries: Vec<Recent>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    addr: u64,
    turn: u32,
    /// The size, and one bit for each kind, plain and atomic. (Accesses of more bytes than fit are not remembered.)
    size_and_kinds: u32,
}

const KIND_BITS: u32 = 4;

impl RecentAccesses {
    /// Few enough to stay close to the processor for several threads.
    const ENTRIES: usize = 1 << 8;

    #[inline]
    fn index(addr: Addr) -> usize {
        // Neighbouring words have neighbouring entries.
        ((addr.0 >> 3) ^ (addr.0 >> 11)) as usize % Self::ENTRIES
    }

    #[inline]
    fn bit(part: Part, atomic: bool) -> u32 {
        1 << (u32::from(part.kind == AccessKind::Write) + 2 * u32::from(atomic))
    }

    #[inline]
    pub(super) fn has(&self, turn: u32, part: Part, atomic: bool) -> bool {
        self.entries.get(Self::index(part.addr)).is_some_and(|recent| {
            recent.turn == turn
                && recent.addr == part.addr.0
                && recent.size_and_kinds >> KIND_BITS == part.size
                && recent.size_and_kinds & Self::bit(part, atomic) != 0
        })
    }

    #[inline]
    pub(super) fn add(&mut self, turn: u32, part: Part, atomic: bool) {
        if self.entries.is_empty() {
            self.entries.resize(Self::ENTRIES, Recent::default());
        }
        let size = part.size << KIND_BITS;
        if size >> KIND_BITS != part.size {
            return;
        }
        let recent = &mut self.entries[Self::index(part.addr)];
        let same = recent.turn == turn
            && recent.addr == part.addr.0
            && recent.size_and_kinds >> KIND_BITS == part.size;
        let kinds = if same { recent.size_and_kinds } else { size };
        *recent = Recent { addr: part.addr.0, turn, size_and_kinds: kinds | Self::bit(part, atomic) };
    }

    /// From here on every access counts as new.
    pub(super) fn forget_all(&mut self) {
        self.entries.clear();
    }

    /// Memory was freed.
    pub(super) fn forget(&mut self, addr: Addr, size: u32) {
        let last = addr.0.saturating_add(u64::from(size));
        for recent in &mut self.entries {
            let end = recent.addr.saturating_add(u64::from(recent.size_and_kinds >> KIND_BITS));
            if recent.addr < last && end > addr.0 {
                *recent = Recent::default();
            }
        }
    }
}
