//! A small generator of random numbers: the same seed gives the same programs everywhere, without any dependency.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

/// Marsaglia's xorshift with a multiplication at the end (xorshift64*).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Seeds that differ in one bit give unrelated sequences.
    pub(crate) fn new(seed: u64) -> Self {
        // Two rounds of mixing, for the first numbers of xorshift show the seed; zero would stay zero for ever.
        let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        for factor in [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB] {
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(factor);
        }
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`, which must not be zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// One of the values.
    pub(crate) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Puts the values into a random order.
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            values.swap(end, self.below(end + 1));
        }
    }
}
