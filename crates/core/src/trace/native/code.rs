//! The numbers of the operations in an event's tag byte, and what both directions of the codec share.

/// Set in the tag if the event is at the same site as the previous one of the block.
pub(crate) const SAME_SITE: u8 = 0x80;

/// Reads of 1, 2, 4, 8 bytes are 0 to 3, writes 4 to 7: the low two bits are the logarithm of the size.
pub(crate) const WRITE: u8 = 4;
pub(crate) const READ_SIZED: u8 = 8;
pub(crate) const WRITE_SIZED: u8 = 9;
pub(crate) const ATOMIC: u8 = 10;
pub(crate) const FENCE: u8 = 11;
pub(crate) const ACQUIRE_EXCLUSIVE: u8 = 12;
pub(crate) const ACQUIRE_SHARED: u8 = 13;
pub(crate) const RELEASE_EXCLUSIVE: u8 = 14;
pub(crate) const RELEASE_SHARED: u8 = 15;
pub(crate) const FORK: u8 = 16;
pub(crate) const JOIN: u8 = 17;
pub(crate) const THREAD_END: u8 = 18;
pub(crate) const WAIT: u8 = 19;
pub(crate) const NOTIFY_ONE: u8 = 20;
pub(crate) const NOTIFY_ALL: u8 = 21;
pub(crate) const BARRIER_ARRIVE: u8 = 22;
pub(crate) const BARRIER_LEAVE: u8 = 23;
pub(crate) const HAPPENS_BEFORE: u8 = 24;
pub(crate) const HAPPENS_AFTER: u8 = 25;
pub(crate) const BEGIN: u8 = 26;
pub(crate) const END: u8 = 27;
pub(crate) const CALL: u8 = 28;
pub(crate) const RETURN: u8 = 29;
pub(crate) const SPAWN: u8 = 30;
pub(crate) const TASK_BEGIN: u8 = 31;
pub(crate) const TASK_SUSPEND: u8 = 32;
pub(crate) const TASK_END: u8 = 33;
pub(crate) const TASK_WAIT: u8 = 34;
pub(crate) const TASK_JOIN: u8 = 35;
pub(crate) const TASK_ORDER: u8 = 36;
pub(crate) const FINISH_BEGIN: u8 = 37;
pub(crate) const FINISH_END: u8 = 38;
pub(crate) const ALLOC: u8 = 39;
pub(crate) const FREE: u8 = 40;
pub(crate) const BRANCH_NOT_TAKEN: u8 = 41;
pub(crate) const BRANCH_TAKEN: u8 = 42;
pub(crate) const LOOP_ENTER: u8 = 43;
pub(crate) const LOOP_ITERATION: u8 = 44;
pub(crate) const LOOP_EXIT: u8 = 45;
pub(crate) const OTHER_PATH_READ: u8 = 46;
pub(crate) const OTHER_PATH_WRITE: u8 = 47;
pub(crate) const OTHER_PATH_RELEASE_EXCLUSIVE: u8 = 48;
pub(crate) const OTHER_PATH_RELEASE_SHARED: u8 = 49;
pub(crate) const OTHER_PATH_ACQUIRE_EXCLUSIVE: u8 = 50;
pub(crate) const OTHER_PATH_ACQUIRE_SHARED: u8 = 51;
pub(crate) const VALUE: u8 = 52;
pub(crate) const GROUP: u8 = 53;
pub(crate) const IGNORE_BEGIN: u8 = 54;
pub(crate) const IGNORE_END: u8 = 55;
pub(crate) const OPERAND: u8 = 56;
pub(crate) const FORMULA: u8 = 57;

/// Ids of sites, locks, names and so on lie below this bound, or are absent. (Task ids may be any 32-bit number: a
/// long run can have billions of tasks, and no table is indexed by them.)
pub(crate) const MAX_ID: u32 = 1 << 28;

/// An id as it is stored: one more than its number, so that "none" is zero.
#[inline]
pub(crate) fn stored_id(id: u32) -> u64 {
    u64::from(id.wrapping_add(1))
}

const ADDRESS_SLOTS: usize = 64;

/// What both sides expect of the next event of a block.
///
/// One place in the program mostly touches neighbouring addresses, while the addresses of two places have nothing in
/// common. So an address is told relative to the last one at the same site (or at one that shares its slot).
pub(crate) struct Prediction {
    /// The site of the previous event, as it is stored.
    pub(crate) stored_site: u32,
    addresses: [u64; ADDRESS_SLOTS],
}

impl Prediction {
    pub(crate) fn new() -> Self {
        Prediction { stored_site: 0, addresses: [0; ADDRESS_SLOTS] }
    }

    /// The last address at the current site.
    #[inline]
    pub(crate) fn address(&mut self) -> &mut u64 {
        &mut self.addresses[self.stored_site as usize % ADDRESS_SLOTS]
    }
}
