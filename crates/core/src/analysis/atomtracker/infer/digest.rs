//! What a pass looks at in a run, in four bytes for most deeds: the passes need not decode the trace again.
//!
//! It can stand for the trace where memory does not matter, that is beside the [conflicts](super::conflicts) of the run. What takes
//! more than [`MOST_WORDS`] is not kept, for a trace may be of any length.

use super::keys::Key;
use crate::event::LockId;

/// More is not written down: 64 MiB.
const MOST_WORDS: usize = 16 << 20;

/// What a thread does, as far as a pass looks at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    /// Reads memory, at a place.
    Read(Key),
    /// Writes memory.
    Write(Key),
    /// Acquires a lock. The section is named by the place (`placed`), or by the lock.
    Acquire { lock: LockId, section: Key, placed: bool },
    /// Releases a lock.
    Release(LockId),
    /// Calls a function, at a place.
    Call(Key),
    /// Returns from a function.
    Return,
    /// Enters a loop that the trace tells.
    LoopEnter(u32),
    /// Begins the next iteration of it.
    LoopIteration(u32),
    /// Leaves it.
    LoopExit(u32),
    /// Ends.
    ThreadEnd,
}

/// All deeds of a run, in their order.
///
/// A word has four bits for what it is, eight for the thread and twenty for the operand. What does not fit has [`LONG`] there, and
/// two words more for the thread and the operand. The section of an acquire is a word behind it.
#[derive(Debug, Default)]
pub(super) struct Digest {
    words: Vec<u32>,
}

const THREAD_BITS: u32 = 8;
const OPERAND_SHIFT: u32 = 4 + THREAD_BITS;
const OPERAND_BITS: u32 = 32 - OPERAND_SHIFT;
/// In place of a thread: two words follow.
const LONG: u32 = (1 << THREAD_BITS) - 1;

impl Digest {
    /// Writes down what a thread does. False if there is no room.
    #[inline]
    pub(super) fn write(&mut self, thread: u32, deed: Deed) -> bool {
        let (number, operand) = match deed {
            Deed::Read(key) => (0, key.0),
            Deed::Write(key) => (1, key.0),
            Deed::Acquire { lock, placed: true, .. } => (2, lock.0),
            Deed::Acquire { lock, placed: false, .. } => (3, lock.0),
            Deed::Release(lock) => (4, lock.0),
            Deed::Call(key) => (5, key.0),
            Deed::Return => (6, 0),
            Deed::LoopEnter(which) => (7, which),
            Deed::LoopIteration(which) => (8, which),
            Deed::LoopExit(which) => (9, which),
            Deed::ThreadEnd => (10, 0),
        };
        if thread < LONG && operand >> OPERAND_BITS == 0 {
            self.words.push(number | thread << 4 | operand << OPERAND_SHIFT);
        } else {
            self.words.extend([number | LONG << 4, thread, operand]);
        }
        if let Deed::Acquire { section, .. } = deed {
            self.words.push(section.0);
        }
        self.words.len() <= MOST_WORDS
    }

    /// Tells all deeds, each with its thread.
    #[inline]
    pub(super) fn read(&self, mut each: impl FnMut(u32, Deed)) {
        let mut words = self.words.iter().copied();
        while let Some(word) = words.next() {
            let mut next = || words.next().unwrap_or_default();
            let (thread, operand) = match word >> 4 & LONG {
                LONG => (next(), next()),
                thread => (thread, word >> OPERAND_SHIFT),
            };
            let lock = LockId(operand);
            let deed = match word & 15 {
                0 => Deed::Read(Key(operand)),
                1 => Deed::Write(Key(operand)),
                2 => Deed::Acquire { lock, section: Key(next()), placed: true },
                3 => Deed::Acquire { lock, section: Key(next()), placed: false },
                4 => Deed::Release(lock),
                5 => Deed::Call(Key(operand)),
                6 => Deed::Return,
                7 => Deed::LoopEnter(operand),
                8 => Deed::LoopIteration(operand),
                9 => Deed::LoopExit(operand),
                _ => Deed::ThreadEnd,
            };
            each(thread, deed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn deed() -> impl Strategy<Value = Deed> {
        let number = prop_oneof![0..4u32, (1 << 20) - 2..(1 << 20) + 2u32, any::<u32>(), Just(u32::MAX)];
        (0..10u32, number, any::<u32>(), any::<bool>()).prop_map(|(which, number, section, placed)| {
            match which {
                0 => Deed::Read(Key(number)),
                1 => Deed::Write(Key(number)),
                2 => Deed::Acquire { lock: LockId(number), section: Key(section), placed },
                3 => Deed::Release(LockId(number)),
                4 => Deed::Call(Key(number)),
                5 => Deed::Return,
                6 => Deed::LoopEnter(number),
                7 => Deed::LoopIteration(number),
                8 => Deed::LoopExit(number),
                _ => Deed::ThreadEnd,
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(
            deeds in prop::collection::vec((prop_oneof![0..4u32, 250..260u32, any::<u32>()], deed()), 0..40),
        ) {
            let mut digest = Digest::default();
            for &(thread, deed) in &deeds {
                prop_assert!(digest.write(thread, deed));
            }
            let mut read = Vec::new();
            digest.read(|thread, deed| read.push((thread, deed)));
            prop_assert_eq!(read, deeds);
        }
    }

    #[test]
    fn a_run_that_is_too_long_is_not_written_down() {
        let mut digest = Digest { words: vec![0; MOST_WORDS - 1] };
        assert!(digest.write(0, Deed::Return));
        assert!(!digest.write(0, Deed::Return));
    }
}
