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
    size: u32,
    /// One bit for each kind, plain and atomic.
    kinds: u8,
}

impl RecentAccesses {
    const ENTRIES: usize = 1 << 9;

    #[inline]
    fn index(addr: Addr) -> usize {
        // Neighbouring words have neighbouring entries.
        ((addr.0 >> 3) ^ (addr.0 >> 12)) as usize % Self::ENTRIES
    }

    #[inline]
    fn bit(part: Part, atomic: bool) -> u8 {
        1 << (u8::from(part.kind == AccessKind::Write) + 2 * u8::from(atomic))
    }

    #[inline]
    pub(super) fn has(&self, turn: u32, part: Part, atomic: bool) -> bool {
        self.entries.get(Self::index(part.addr)).is_some_and(|recent| {
            recent.turn == turn
                && recent.addr == part.addr.0
                && recent.size == part.size
                && recent.kinds & Self::bit(part, atomic) != 0
        })
    }

    #[inline]
    pub(super) fn add(&mut self, turn: u32, part: Part, atomic: bool) {
        if self.entries.is_empty() {
            self.entries.resize(Self::ENTRIES, Recent::default());
        }
        let recent = &mut self.entries[Self::index(part.addr)];
        if recent.turn != turn || recent.addr != part.addr.0 || recent.size != part.size {
            *recent = Recent { addr: part.addr.0, turn, size: part.size, kinds: 0 };
        }
        recent.kinds |= Self::bit(part, atomic);
    }

    /// Memory was freed.
    pub(super) fn forget(&mut self, addr: Addr, size: u32) {
        let last = addr.0.saturating_add(u64::from(size));
        for recent in &mut self.entries {
            if recent.addr < last && recent.addr.saturating_add(u64::from(recent.size)) > addr.0 {
                *recent = Recent::default();
            }
        }
    }
}
