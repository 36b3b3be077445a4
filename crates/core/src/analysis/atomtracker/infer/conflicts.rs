//! With which earlier accesses each access of a run conflicts.
//!
//! That does not depend on what is known of regions, so it is the same in every reading of a run. Fetching what was done to
//! memory is what takes most of the time; so the first reading writes down what it finds, and the passes look there. Two
//! exceptions: where there are outer regions, it does depend on what is known which of a thread's two regions an access belongs to; and
//! what takes more than [`MOST_BYTES`] is not kept, for a trace may be of any length.

use crate::trace::native::varint::{Cursor, PADDING, put};

/// More is not written down.
const MOST_BYTES: usize = 64 << 20;

/// All conflicts of a run: for each access that has some how many accesses they are, with thread and distance.
#[derive(Debug, Default)]
pub(super) struct Conflicts {
    bytes: Vec<u8>,
    /// The position of the access that was written last, or is to be read next; none is at 0.
    next: u64,
    /// How far it was read.
    read: usize,
}

impl Conflicts {
    /// Writes down the conflicts of an access, each as a thread and a position. False if there is no room.
    pub(super) fn write(&mut self, now: u64, conflicts: impl ExactSizeIterator<Item = (u32, u64)>) -> bool {
        put(&mut self.bytes, now - self.next);
        put(&mut self.bytes, conflicts.len() as u64);
        for (thread, position) in conflicts {
            put(&mut self.bytes, u64::from(thread));
            put(&mut self.bytes, now - position);
        }
        self.next = now;
        self.bytes.len() <= MOST_BYTES
    }

    /// The same, to be read from the beginning.
    pub(super) fn rewound(mut self) -> Self {
        if !self.bytes.ends_with(&[0; PADDING]) {
            self.bytes.extend([0; PADDING]);
        }
        (self.next, self.read) = (0, 0);
        self.turn();
        self
    }

    /// The conflicts of an access. They are to be asked for in their order.
    #[inline]
    pub(super) fn at(&mut self, now: u64, conflicts: &mut Vec<(u32, u64)>) {
        if self.next == now {
            self.read(conflicts);
        }
    }

    /// The conflicts of the access at `next`; goes on to the next one.
    fn read(&mut self, conflicts: &mut Vec<(u32, u64)>) {
        let now = self.next;
        let mut cursor = Cursor::starting_at(&self.bytes, self.read);
        for _ in 0..cursor.varint().unwrap_or(0) {
            if let (Some(thread), Some(distance)) = (cursor.varint_u32(), cursor.varint()) {
                conflicts.push((thread, now - distance));
            }
        }
        self.read = cursor.at();
        self.turn();
    }

    fn turn(&mut self) {
        let mut cursor = Cursor::starting_at(&self.bytes, self.read);
        // Behind the last one is padding: a distance of 0.
        self.next = match cursor.varint() {
            Some(distance) if distance > 0 => self.next + distance,
            _ => u64::MAX,
        };
        self.read = cursor.at();
    }
}
