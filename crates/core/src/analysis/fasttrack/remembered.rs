//! How a plain access is remembered in a cell: exactly, or in one word.

use super::state::{Dated, ExactAtomic, RememberedAtomic};
use crate::analysis::AtomicOperation;
use crate::clock::Epoch;
use crate::event::{AccessKind, Addr, AtomicKind, MemoryOrder, Op, SiteId, StackId, ThreadId};
use crate::finding::{Moment, RawStep, accessed};

/// How a plain access is remembered. Whether it reads or writes is known from where it is kept. The default is "never".
pub trait Remembered: Dated + Default {
    /// How an atomic operation is remembered.
    type Atomic: RememberedAtomic;

    /// Remembers an access.
    fn new(at: &RawStep) -> Self;

    /// The access again, from one of its bytes.
    fn step(&self, kind: AccessKind, byte: Addr) -> RawStep;
}

/// All that there is to know about an access, in 24 bytes. For the offline driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exact {
    epoch: Epoch,
    site: SiteId,
    stack: StackId,
    /// The low half of the address of the first byte. The other half follows from any byte of the access.
    address: u32,
    size: u32,
}

impl Dated for Exact {
    type Few = [Self; 1];

    #[inline]
    fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl Remembered for Exact {
    type Atomic = ExactAtomic;

    #[inline]
    fn new(at: &RawStep) -> Self {
        let (addr, size) = accessed(at.op);
        let Moment { site, stack, .. } = at.moment;
        Self { epoch: super::state::now(at), site, stack, address: addr.0 as u32, size }
    }

    fn step(&self, kind: AccessKind, byte: Addr) -> RawStep {
        let inside = (byte.0 as u32).wrapping_sub(self.address);
        let addr = Addr(byte.0.wrapping_sub(u64::from(inside)));
        let op = Op::Access { kind, size: self.size, addr };
        let (position, thread) = (self.epoch.time(), self.epoch.thread());
        RawStep { moment: Moment { position, thread, site: self.site, stack: self.stack }, op }
    }
}

/// An access in one word: who, when, and at which site. For the runtime, whose cells must be small and whose sites stand
/// for the calls and the size as well.
///
/// From the lowest bit: the site, the time, the thread, and bits that are always zero, for the driver's own use. The word
/// zero is "never". Times start at 1. A time or a thread that does not fit must not come; a site that does not fit is
/// remembered as unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compact(u64);

impl Compact {
    /// Bits for the site. The highest number stands for [`SiteId::NONE`].
    pub const SITE_BITS: u32 = 22;
    /// Bits for the time.
    pub const TIME_BITS: u32 = 27;
    /// Bits for the thread.
    pub const THREAD_BITS: u32 = 11;
    /// Bits that are used in all. Those above are zero.
    pub const BITS: u32 = Self::SITE_BITS + Self::TIME_BITS + Self::THREAD_BITS;

    /// Sites that can be told apart.
    pub const MOST_SITES: u32 = (1 << Self::SITE_BITS) - 1;
    /// The last time that fits.
    pub const LAST_TIME: u64 = (1 << Self::TIME_BITS) - 1;
    /// Threads that can be told apart.
    pub const MOST_THREADS: u32 = 1 << Self::THREAD_BITS;

    /// An access of a thread at a time, at no site: what all its accesses at that time have in common.
    #[inline]
    pub const fn at(thread: ThreadId, time: u64) -> Self {
        Self(((thread.0 as u64) << Self::TIME_BITS | time) << Self::SITE_BITS)
    }

    /// The access as a word.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The access of a word that [`Compact::bits`] gave.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// True if both are of one thread at one time.
    #[inline]
    pub(super) fn is_at_once_with(self, other: Self) -> bool {
        self.0 >> Self::SITE_BITS == other.0 >> Self::SITE_BITS
    }

    /// True if both are of one thread.
    #[inline]
    pub(super) fn is_of_same_thread(self, other: Self) -> bool {
        (self.0 ^ other.0) >> (Self::SITE_BITS + Self::TIME_BITS) == 0
    }

    #[inline]
    pub(super) fn time(self) -> u64 {
        self.0 >> Self::SITE_BITS & Self::LAST_TIME
    }

    #[inline]
    pub(super) fn thread(self) -> ThreadId {
        ThreadId((self.0 >> (Self::SITE_BITS + Self::TIME_BITS)) as u32)
    }

    fn site(self) -> SiteId {
        match self.0 as u32 & Self::MOST_SITES {
            Self::MOST_SITES => SiteId::NONE,
            site => SiteId(site),
        }
    }
}

const _: () = assert!(Compact::BITS == 60);

impl Dated for Compact {
    type Few = [Self; 7];

    #[inline]
    fn epoch(&self) -> Epoch {
        Epoch::new(self.thread(), self.time())
    }
}

impl Remembered for Compact {
    type Atomic = CompactAtomic;

    #[inline]
    fn new(at: &RawStep) -> Self {
        let Moment { position, thread, site, .. } = at.moment;
        debug_assert!(position <= Self::LAST_TIME && thread.0 < Self::MOST_THREADS);
        let site = u64::from(site.0.min(Self::MOST_SITES));
        let thread = u64::from(thread.0) << Self::TIME_BITS;
        Self((thread | position) << Self::SITE_BITS | site)
    }

    /// The calls and the size are not known; the site stands for them.
    fn step(&self, kind: AccessKind, byte: Addr) -> RawStep {
        let moment =
            Moment { position: self.time(), thread: self.thread(), site: self.site(), stack: StackId::NONE };
        RawStep { moment, op: Op::Access { kind, size: 0, addr: byte } }
    }
}

/// An atomic operation in one word: a [`Compact`] access, and above it the memory order and whether the operation reads as
/// well as it writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompactAtomic(u64);

impl CompactAtomic {
    const ORDERS: [MemoryOrder; 6] = [
        MemoryOrder::Relaxed,
        MemoryOrder::Consume,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcquireRelease,
        MemoryOrder::SequentiallyConsistent,
    ];
    /// Set for an operation that reads and writes.
    const READS_AND_WRITES: u64 = 8;

    /// Remembers an operation.
    #[inline]
    pub fn of(access: Compact, operation: AtomicOperation) -> Self {
        let both = u64::from(operation.kind == AtomicKind::ReadModifyWrite) * Self::READS_AND_WRITES;
        Self(access.0 | (operation.order as u64 | both) << Compact::BITS)
    }

    /// The operation as a word.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The operation of a word that [`CompactAtomic::bits`] gave.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// A load as one of the four numbers of a cell: with a bit that tells it from a plain access, and that no load has by itself.
    #[inline]
    pub(super) fn in_cell(self) -> u64 {
        self.0 | Self::READS_AND_WRITES << Compact::BITS
    }

    /// True if a number of a cell is one that `CompactAtomic::in_cell` gave.
    #[inline]
    pub const fn is_load_of_cell(number: u64) -> bool {
        number >> Compact::BITS & Self::READS_AND_WRITES != 0
    }

    /// The load that [`CompactAtomic::in_cell`] was given.
    #[inline]
    pub(super) fn load_of_cell(number: u64) -> Self {
        Self(number & !(Self::READS_AND_WRITES << Compact::BITS))
    }

    /// True for a read-modify-write, if the operation is no store.
    pub(super) fn writes(self) -> bool {
        self.0 >> Compact::BITS & Self::READS_AND_WRITES != 0
    }

    #[inline]
    pub(super) fn access(self) -> Compact {
        Compact(self.0 & ((1 << Compact::BITS) - 1))
    }
}

impl Dated for CompactAtomic {
    type Few = [Self; 7];

    #[inline]
    fn epoch(&self) -> Epoch {
        self.access().epoch()
    }
}

impl RememberedAtomic for CompactAtomic {
    fn new(at: &RawStep) -> Self {
        let operation = match at.op {
            Op::Atomic { kind, order, .. } => AtomicOperation { kind, order },
            _ => AtomicOperation { kind: AtomicKind::Load, order: MemoryOrder::Relaxed },
        };
        Self::of(Compact::new(at), operation)
    }

    fn step(&self, kind: AccessKind, byte: Addr) -> RawStep {
        let RawStep { moment, .. } = self.access().step(kind, byte);
        let code = self.0 >> Compact::BITS;
        let order = Self::ORDERS[(code & !Self::READS_AND_WRITES) as usize % Self::ORDERS.len()];
        let kind = match kind {
            AccessKind::Read => AtomicKind::Load,
            AccessKind::Write if code & Self::READS_AND_WRITES != 0 => AtomicKind::ReadModifyWrite,
            AccessKind::Write => AtomicKind::Store,
        };
        RawStep { moment, op: Op::Atomic { kind, order, size: 0, addr: byte } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(position: u64, thread: u32, site: SiteId, addr: Addr, size: u32) -> RawStep {
        let moment = Moment { position, thread: ThreadId(thread), site, stack: StackId::NONE };
        RawStep { moment, op: Op::Access { kind: AccessKind::Write, size, addr } }
    }

    #[test]
    fn an_access_is_told_again_from_any_of_its_bytes() {
        let first = Addr(0x7fff_ffff_fffa);
        for (addr, size, byte) in [(first, 100, first.0 + 99), (first, 100, first.0), (Addr(0), 1, 0)] {
            let mut at = write(3, 2, SiteId(1), addr, size);
            at.moment.stack = StackId(7);
            assert_eq!(Exact::new(&at).step(AccessKind::Write, Addr(byte)), at);
        }
    }

    #[test]
    fn one_word_holds_the_largest_numbers() {
        let (last_thread, last_site) = (Compact::MOST_THREADS - 1, Compact::MOST_SITES - 1);
        for position in [1, Compact::LAST_TIME] {
            for thread in [0, 1, last_thread] {
                for site in [SiteId(0), SiteId(last_site), SiteId::NONE] {
                    let at = write(position, thread, site, Addr(64), 0);
                    let access = Compact::new(&at);
                    assert_eq!(access.bits() >> Compact::BITS, 0);
                    assert_eq!(access.epoch(), Epoch::new(ThreadId(thread), position));
                    assert_eq!(
                        Compact::from_bits(access.bits()).step(AccessKind::Write, Addr(64)),
                        at,
                        "position {position}, thread {thread}, {site:?}"
                    );
                }
            }
        }
        let unknown = Compact::new(&write(1, 0, SiteId(1 << 30), Addr(64), 0));
        assert_eq!(unknown.step(AccessKind::Write, Addr(64)).moment.site, SiteId::NONE);
    }

    #[test]
    fn one_word_holds_every_kind_of_atomic_operation() {
        for order in CompactAtomic::ORDERS {
            for kind in [AtomicKind::Load, AtomicKind::Store, AtomicKind::ReadModifyWrite] {
                let moment = Moment {
                    position: Compact::LAST_TIME,
                    thread: ThreadId(Compact::MOST_THREADS - 1),
                    site: SiteId(5),
                    stack: StackId::NONE,
                };
                let at = RawStep { moment, op: Op::Atomic { kind, order, size: 0, addr: Addr(64) } };
                let operation = CompactAtomic::new(&at);
                assert_eq!(operation.step(kind.access_kind(), Addr(64)), at);
                assert_eq!(operation.epoch(), Epoch::new(moment.thread, moment.position));
            }
        }
    }

    #[test]
    fn the_word_zero_is_never() {
        assert!(Compact::default().epoch().is_never() && Compact::default().bits() == 0);
        assert_ne!(Compact::new(&write(1, 0, SiteId(0), Addr(0), 1)).bits(), 0);
    }
}
