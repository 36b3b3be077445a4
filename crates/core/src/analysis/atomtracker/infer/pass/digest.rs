//! What a pass looks at in a run, in four bytes for most deeds: further readings need not decode the trace again.
//!
//! It can stand for the trace where memory does not matter any more, that is beside the conflicts that the first reading has
//! written down ([`super::Memory`]). What takes more than [`MOST_WORDS`] is not kept, for a trace may be of any length.

use super::super::knowledge::SectionKind;

/// More is not written down: 64 MiB.
const MOST_WORDS: usize = 16 << 20;

/// What a thread does, as far as a pass looks at it. It depends on what is known of sections and loops, which stays the same in
/// all readings of a run, and not on what is known of regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    /// Reads memory; the operand is the key of the place.
    Read,
    /// Writes memory, at a key.
    Write,
    /// Is at a key, and does nothing to memory.
    Visit,
    /// Acquires a lock, whose section is of this kind; the operand is the lock.
    Acquire(SectionKind),
    /// Releases a lock.
    Release,
    /// Calls a function.
    Call,
    /// Returns from a function.
    Return,
    /// Enters a loop that the trace tells; the operand is the loop.
    LoopEnter { divisible: bool },
    /// Begins the next iteration of it.
    LoopIteration,
    /// Leaves it.
    LoopExit,
    /// Ends.
    ThreadEnd,
}

impl Deed {
    /// By their numbers.
    const ALL: [Deed; 14] = [
        Deed::Read,
        Deed::Write,
        Deed::Visit,
        Deed::Acquire(SectionKind::Indivisible),
        Deed::Acquire(SectionKind::Outer),
        Deed::Acquire(SectionKind::Divisible),
        Deed::Release,
        Deed::Call,
        Deed::Return,
        Deed::LoopEnter { divisible: false },
        Deed::LoopEnter { divisible: true },
        Deed::LoopIteration,
        Deed::LoopExit,
        Deed::ThreadEnd,
    ];

    fn number(self) -> u32 {
        match self {
            Deed::Read => 0,
            Deed::Write => 1,
            Deed::Visit => 2,
            Deed::Acquire(SectionKind::Indivisible) => 3,
            Deed::Acquire(SectionKind::Outer) => 4,
            Deed::Acquire(SectionKind::Divisible) => 5,
            Deed::Release => 6,
            Deed::Call => 7,
            Deed::Return => 8,
            Deed::LoopEnter { divisible: false } => 9,
            Deed::LoopEnter { divisible: true } => 10,
            Deed::LoopIteration => 11,
            Deed::LoopExit => 12,
            Deed::ThreadEnd => 13,
        }
    }
}

/// All deeds of a run, in their order.
///
/// A word has four bits for what it is, eight for the thread and twenty for the operand. What does not fit has [`LONG`] there, and
/// two words more for the thread and the operand.
#[derive(Debug, Default)]
pub(in super::super) struct Digest {
    words: Vec<u32>,
}

const THREAD_BITS: u32 = 8;
const OPERAND_SHIFT: u32 = 4 + THREAD_BITS;
const OPERAND_BITS: u32 = 32 - OPERAND_SHIFT;
/// In place of a thread: two words follow.
const LONG: u32 = (1 << THREAD_BITS) - 1;

impl Digest {
    /// Writes down a deed. False if there is no room.
    #[inline]
    pub(super) fn write(&mut self, deed: Deed, thread: u32, operand: u32) -> bool {
        let number = deed.number();
        if thread < LONG && operand >> OPERAND_BITS == 0 {
            self.words.push(number | thread << 4 | operand << OPERAND_SHIFT);
        } else {
            self.words.extend([number | LONG << 4, thread, operand]);
        }
        self.words.len() <= MOST_WORDS
    }

    /// Tells all deeds.
    #[inline]
    pub(super) fn read(&self, mut each: impl FnMut(Deed, u32, u32)) {
        let mut words = self.words.iter();
        while let Some(&word) = words.next() {
            let Some(&deed) = Deed::ALL.get((word & 15) as usize) else { continue };
            match word >> 4 & LONG {
                LONG => {
                    if let (Some(&thread), Some(&operand)) = (words.next(), words.next()) {
                        each(deed, thread, operand);
                    }
                }
                thread => each(deed, thread, word >> OPERAND_SHIFT),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(
            deeds in prop::collection::vec(
                (
                    0..Deed::ALL.len(),
                    prop_oneof![0..4u32, 250..260u32, any::<u32>()],
                    prop_oneof![0..4u32, (1 << 20) - 2..(1 << 20) + 2u32, any::<u32>(), Just(u32::MAX)],
                ),
                0..40,
            ),
        ) {
            let deeds: Vec<_> = deeds.into_iter().map(|(deed, thread, operand)| (Deed::ALL[deed], thread, operand)).collect();
            let mut digest = Digest::default();
            for &(deed, thread, operand) in &deeds {
                prop_assert!(digest.write(deed, thread, operand));
            }
            let mut read = Vec::new();
            digest.read(|deed, thread, operand| read.push((deed, thread, operand)));
            prop_assert_eq!(read, deeds);
        }
    }

    #[test]
    fn a_run_that_is_too_long_is_not_written_down() {
        let mut digest = Digest { words: vec![0; MOST_WORDS - 1] };
        assert!(digest.write(Deed::Read, 0, 0));
        assert!(!digest.write(Deed::Read, 0, 0));
    }
}
