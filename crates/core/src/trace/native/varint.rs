//! Numbers of variable length: seven bits a byte, least first, the high bit set on all but the last byte (LEB128).

/// Appends a number.
#[inline]
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Maps small negative numbers to small numbers: 0, -1, 1, -2 … become 0, 1, 2, 3 …
#[inline]
pub(crate) fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ (((difference as i64) >> 63) as u64)
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

/// How many bytes must follow the last number in a cursor's buffer, so that a number can be loaded as one word.
pub(crate) const PADDING: usize = 8;

/// Reads numbers from a buffer that ends with [`PADDING`] bytes of no meaning.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(padded: &'a [u8]) -> Self {
        Cursor { bytes: padded, at: 0 }
    }

    /// Goes on where another one was ([`Cursor::at`]).
    #[inline]
    pub(crate) fn starting_at(padded: &'a [u8], at: usize) -> Self {
        Cursor { bytes: padded, at }
    }

    /// How far it was read.
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left before the padding. None if a number has run into it.
    #[inline]
    pub(crate) fn left(&self) -> Option<usize> {
        self.bytes.len().checked_sub(self.at + PADDING)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Some bytes in a row; never from the padding.
    pub(crate) fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        if length > self.left()? {
            return None;
        }
        let slice = self.bytes.get(self.at..self.at + length)?;
        self.at += length;
        Some(slice)
    }

    /// All that is left, with the padding.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    /// A number. None if it does not fit into 64 bits or runs over the end of the buffer.
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let word = u64::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk::<8>()?);
        if word & 0x80 == 0 {
            self.at += 1;
            return Some(word & 0x7F);
        }
        // The bytes of one number are gathered without a branch for each: how long a number is, is hard to predict.
        let ends = !word & 0x8080_8080_8080_8080;
        if ends == 0 {
            return self.long_varint();
        }
        self.at += (ends.trailing_zeros() as usize >> 3) + 1;
        let sevens = word & (ends ^ ends.wrapping_sub(1)) & 0x7F7F_7F7F_7F7F_7F7F;
        let fourteens = (sevens & 0x007F_007F_007F_007F) | (sevens & 0x7F00_7F00_7F00_7F00) >> 1;
        let twenty_eights = (fourteens & 0x0000_3FFF_0000_3FFF) | (fourteens & 0x3FFF_0000_3FFF_0000) >> 2;
        Some((twenty_eights & 0x0FFF_FFFF) | (twenty_eights & 0x0FFF_FFFF_0000_0000) >> 4)
    }

    #[cold]
    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = u64::from(self.byte()?);
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= (byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A number of at most 32 bits.
    #[inline(always)]
    pub(crate) fn varint_u32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Option<(u64, usize)> {
        let mut padded = bytes.to_vec();
        padded.extend_from_slice(&[0xFF; PADDING]);
        let mut cursor = Cursor::new(&padded);
        let value = cursor.varint()?;
        Some((value, cursor.left()?))
    }

    proptest! {
        #[test]
        fn numbers_survive(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            prop_assert_eq!(read(&bytes), Some((value, 0)));
            prop_assert_eq!(unzigzag(zigzag(value)), value);
        }

        #[test]
        fn garbage_is_read_like_a_plain_reader_would(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut expected = None;
            let mut value = 0u128;
            for (index, byte) in bytes.iter().take(10).enumerate() {
                value |= u128::from(byte & 0x7F) << (7 * index);
                if byte & 0x80 == 0 {
                    expected = u64::try_from(value).ok().map(|value| (value, bytes.len() - index - 1));
                    break;
                }
            }
            prop_assert_eq!(read(&bytes), expected);
        }
    }

    #[test]
    fn zigzag_keeps_small_differences_small() {
        assert_eq!([0u64, u64::MAX, 1, u64::MAX - 1].map(zigzag), [0, 1, 2, 3]);
    }
}
