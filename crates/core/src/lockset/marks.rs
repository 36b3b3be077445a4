//! Sets of locks as bits.

use super::{EXCLUSIVE, Modes, SHARED};

/// The locks of a set as bits, by mode. Most programs have few locks, or those that are held together have small numbers:
/// then questions about two sets need nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    exclusive: u64,
    shared: u64,
}

impl Marks {
    /// The bit for all locks that have none of their own.
    const OTHERS: u64 = 1 << 63;

    pub(super) fn of(lock: u32, modes: Modes) -> Self {
        let bit = 1u64.checked_shl(lock).unwrap_or(Self::OTHERS);
        let when = |mode: Modes| if modes & mode != 0 { bit } else { 0 };
        Self { exclusive: when(EXCLUSIVE), shared: when(SHARED) }
    }

    pub(super) fn both(self, other: Self) -> Self {
        Self { exclusive: self.exclusive | other.exclusive, shared: self.shared | other.shared }
    }

    /// Whether two threads can hold the sets at the same time; none if the bits cannot tell.
    #[inline]
    pub(super) fn excludes(self, other: Self) -> Option<bool> {
        let common = self.exclusive & (other.exclusive | other.shared) | self.shared & other.exclusive;
        match common {
            0 => Some(false),
            Self::OTHERS => None,
            _ => Some(true),
        }
    }

    /// Whether all locks are in the other set; none if the bits cannot tell.
    #[inline]
    pub(super) fn is_subset(self, other: Self) -> Option<bool> {
        if self.exclusive & !other.exclusive | self.shared & !other.shared != 0 {
            return Some(false);
        }
        if (self.exclusive | self.shared) & Self::OTHERS == 0 { Some(true) } else { None }
    }
}
