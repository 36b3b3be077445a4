//! Address signatures: sets of numbers in a fixed number of bits, as hardware keeps them.
//!
//! A signature is a Bloom filter. An address is hashed to one bit in each of its banks; it may be in the set if all these bits
//! are set. So what was put in is always found (no false negative), and what was not may be found as well (an alias).
//! A logical signature is made of several physical ones, and the low bits of an address say to which of them it belongs: as
//! many operations, fewer aliases.
//!
//! The module is of use by itself: it knows nothing of caches or regions.

use std::fmt;
use std::str::FromStr;

/// How an address is turned into one bit of each bank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Hash {
    /// The bits of the address are permuted and cut into fields, one for each bank. Nothing but wires in hardware, and
    /// addresses that lie near each other seldom meet.
    #[default]
    Permuted,
    /// Each bit of a field is the parity of a random half of the address: the family H3.
    Parity,
    /// The high bits of a product with an odd constant, another for each bank.
    Multiplied,
}

impl Hash {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Permuted, Self::Parity, Self::Multiplied];

    /// The name that options use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Permuted => "permuted",
            Self::Parity => "parity",
            Self::Multiplied => "multiplied",
        }
    }

    /// The place of an address in a bank of two to the power of `width` bits. `bank` counts from 0 to `banks`.
    fn place(self, address: u64, bank: u32, banks: u32, width: u32) -> u64 {
        match self {
            Self::Permuted => (0..width).fold(0, |field, bit| {
                // Neighbours differ in low bits, and these are dealt out to all banks in turn. A bank that runs out of
                // bits goes on from the lowest.
                let from = (bit * banks + bank) % u64::BITS;
                field | ((address >> from) & 1) << bit
            }),
            Self::Parity => (0..width).fold(0, |field, bit| {
                let chosen = mixed(u64::from(bank) << 32 | u64::from(bit));
                field | u64::from((address & chosen).count_ones() & 1) << bit
            }),
            Self::Multiplied => match width {
                0 => 0,
                _ => address.wrapping_mul(mixed(u64::from(bank)) | 1) >> (u64::BITS - width),
            },
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Hash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|hash| hash.name() == text).ok_or_else(|| {
            format!("`{text}` is no hash of signatures; there are permuted, parity and multiplied")
        })
    }
}

/// A number that looks random, always the same for the same seed.
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// How signatures are built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bits of one physical signature.
    pub bits: u32,
    /// Parts of a physical signature in each of which an address sets one bit.
    pub banks: u32,
    /// Physical signatures of a logical one.
    pub physical: u32,
    /// How an address becomes bits.
    pub hash: Hash,
}

impl Default for Shape {
    /// The paper's: 2 Kbit, four physical for each logical one. The number of banks is ours.
    fn default() -> Self {
        Self { bits: 2048, banks: 4, physical: 4, hash: Hash::default() }
    }
}

impl Shape {
    /// Most bits of one physical signature.
    pub const MOST_BITS: u32 = 1 << 24;

    /// Refuses what cannot be built, with the reason.
    pub fn check(&self) -> Result<(), String> {
        let power = |number: u32, what: &str| match number.is_power_of_two() {
            true => Ok(()),
            false => Err(format!("{what} of a signature must be a power of two, and {number} is none")),
        };
        power(self.bits, "the number of bits")?;
        power(self.banks, "the number of banks")?;
        power(self.physical, "the number of physical parts")?;
        if self.bits > Self::MOST_BITS {
            return Err(format!(
                "a signature of {} bits is too large: at most {}",
                self.bits,
                Self::MOST_BITS
            ));
        }
        if self.banks > self.bits || self.banks > 64 || self.physical > 1024 {
            return Err(format!(
                "a signature of {} bits cannot have {} banks and {} physical parts: at most 64 banks and 1024 parts, \
                 and no more banks than bits",
                self.bits, self.banks, self.physical
            ));
        }
        Ok(())
    }

    /// Bits of each bank.
    fn bank_bits(self) -> u32 {
        self.bits / self.banks
    }

    /// The bits that an address sets, as indices into all words of a logical signature.
    fn places(self, address: u64) -> impl Iterator<Item = usize> {
        let part = address & u64::from(self.physical - 1);
        let start = part * u64::from(self.bits);
        (0..self.banks).map(move |bank| {
            let width = self.bank_bits().trailing_zeros();
            let place = self.hash.place(address, bank, self.banks, width);
            (start + u64::from(bank * self.bank_bits()) + place) as usize
        })
    }
}

/// A set of addresses that may look larger than it is, never smaller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    shape: Shape,
    words: Vec<u64>,
}

impl Signature {
    /// An empty signature. The shape must have passed [`Shape::check`].
    pub fn new(shape: Shape) -> Self {
        let bits = shape.bits as usize * shape.physical as usize;
        Self { shape, words: vec![0; bits.div_ceil(64)] }
    }

    /// Puts an address in.
    pub fn insert(&mut self, address: u64) {
        for place in self.shape.places(address) {
            self.words[place / 64] |= 1 << (place % 64);
        }
    }

    /// False only if the address was not put in.
    pub fn may_contain(&self, address: u64) -> bool {
        self.shape.places(address).all(|place| self.words[place / 64] & 1 << (place % 64) != 0)
    }

    /// Puts in all that another signature of the same shape holds.
    pub fn add_all(&mut self, other: &Self) {
        debug_assert_eq!(self.shape, other.shape);
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// False only if two signatures of the same shape hold no address in common.
    pub fn may_intersect(&self, other: &Self) -> bool {
        debug_assert_eq!(self.shape, other.shape);
        let (bits, bank) = (self.shape.bits as usize, self.shape.bank_bits() as usize);
        let common = |place: usize| self.words[place / 64] & other.words[place / 64] & 1 << (place % 64) != 0;
        // An address that both hold has left a bit in every bank of one physical signature.
        (0..self.shape.physical as usize).any(|part| {
            let first = part * bits;
            (0..self.shape.banks as usize)
                .all(|number| (first + number * bank..first + (number + 1) * bank).any(common))
        })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// True if nothing was put in.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// How many bits are set.
    pub fn bits_set(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shapes() -> impl Strategy<Value = Shape> {
        let hash = prop::sample::select(Hash::ALL.to_vec());
        (0u32..12, 0u32..4, 0u32..4, hash).prop_map(|(bits, banks, physical, hash)| Shape {
            bits: 1 << bits,
            banks: 1 << banks.min(bits),
            physical: 1 << physical,
            hash,
        })
    }

    proptest! {
        /// Whatever was put in is found, in the signature itself, in its union with another, and in their intersection.
        #[test]
        fn there_is_no_false_negative(
            shape in shapes(),
            mine in prop::collection::vec(any::<u64>(), 0..60),
            theirs in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..64], 0..60),
        ) {
            prop_assert_eq!(shape.check(), Ok(()));
            let mut signature = Signature::new(shape);
            let mut other = Signature::new(shape);
            for &address in &mine {
                signature.insert(address);
            }
            for &address in &theirs {
                other.insert(address);
            }
            prop_assert!(mine.iter().all(|&address| signature.may_contain(address)));
            if mine.iter().any(|address| theirs.contains(address)) {
                prop_assert!(signature.may_intersect(&other));
            }
            prop_assert_eq!(signature.is_empty(), mine.is_empty());
            signature.add_all(&other);
            prop_assert!(mine.iter().chain(&theirs).all(|&address| signature.may_contain(address)));
            signature.clear();
            prop_assert!(signature.is_empty() && !signature.may_intersect(&other));
            prop_assert!(theirs.iter().all(|&address| !signature.may_contain(address)));
        }
    }

    /// Lines that lie side by side are kept apart exactly as long as the bits suffice, and random ones nearly always.
    #[test]
    fn aliases_are_rare_while_there_is_room() {
        for hash in Hash::ALL {
            let mut signature = Signature::new(Shape { hash, ..Shape::default() });
            for line in 0..200u64 {
                signature.insert(mixed(line));
            }
            let aliases = (1000..11_000u64).filter(|&line| signature.may_contain(mixed(line))).count();
            assert!(aliases < 20, "{hash}: {aliases} of 10,000");
            assert!((400..=800).contains(&signature.bits_set()), "{hash}: {}", signature.bits_set());
        }
        let mut permuted = Signature::new(Shape::default());
        (0..256u64).for_each(|line| permuted.insert(line));
        assert!((256..4096u64).all(|line| !permuted.may_contain(line)));
    }

    #[test]
    fn more_physical_signatures_have_fewer_aliases() {
        let aliases = |physical| {
            let mut signature = Signature::new(Shape { physical, hash: Hash::Parity, ..Shape::default() });
            (0..1000u64).for_each(|line| signature.insert(mixed(line)));
            (1000..11_000u64).filter(|&line| signature.may_contain(mixed(line))).count()
        };
        let counts = [1, 2, 4, 8].map(aliases);
        assert!(counts.is_sorted_by(|more, fewer| more > fewer), "{counts:?}");
    }

    #[test]
    fn what_cannot_be_built_is_refused() {
        let wrong = |shape: Shape| shape.check().unwrap_err();
        let shape = Shape::default();
        assert!(wrong(Shape { bits: 2000, ..shape }).contains("2000"));
        assert!(wrong(Shape { banks: 3, ..shape }).contains("banks"));
        assert!(wrong(Shape { physical: 0, ..shape }).contains("physical"));
        assert!(wrong(Shape { bits: 1 << 30, ..shape }).contains("too large"));
        assert!(wrong(Shape { bits: 8, banks: 16, ..shape }).contains("16 banks"));
        assert_eq!("parity".parse(), Ok(Hash::Parity));
        assert!("sha".parse::<Hash>().unwrap_err().contains("permuted"));
    }
}
