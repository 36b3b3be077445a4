//! A table that grows without moving: what is in it can be read while it grows, by others as well.
//!
//! Each segment is twice as long as the one before. **Cost.** A look-up takes the length of a number and one more load than
//! a vector's.

use std::sync::OnceLock;

/// No first segment is shorter than this, as a power of two.
const LEAST_BITS: u32 = 6;
const SEGMENTS: usize = (u32::BITS - LEAST_BITS) as usize + 1;

/// A table of entries that can be changed through a shared reference. `FIRST_BITS` is log2 of the length of the first segment.
#[derive(Debug)]
pub(crate) struct Segments<T, const FIRST_BITS: u32 = 10> {
    segments: [OnceLock<Box<[T]>>; SEGMENTS],
}

impl<T, const FIRST_BITS: u32> Default for Segments<T, FIRST_BITS> {
    fn default() -> Self {
        const { assert!(FIRST_BITS >= LEAST_BITS) };
        Self { segments: [const { OnceLock::new() }; SEGMENTS] }
    }
}

/// The segment of an entry, and its place there.
#[inline]
fn place<const FIRST_BITS: u32>(index: u32) -> (usize, usize) {
    let number = u64::from(index) + (1 << FIRST_BITS);
    let bits = u64::BITS - 1 - number.leading_zeros();
    ((bits - FIRST_BITS) as usize, (number - (1 << bits)) as usize)
}

impl<T: Default, const FIRST_BITS: u32> Segments<T, FIRST_BITS> {
    /// An entry that was made.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> &T {
        let (segment, offset) = place::<FIRST_BITS>(index);
        match self.segments[segment].get() {
            Some(entries) => &entries[offset],
            None => unreachable!("entries are made before anybody knows of them"),
        }
    }

    /// The same, for who has the table alone.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut T {
        let (segment, offset) = place::<FIRST_BITS>(index);
        match self.segments[segment].get_mut() {
            Some(entries) => &mut entries[offset],
            None => unreachable!("entries are made before anybody knows of them"),
        }
    }

    /// The same; if there is none it is made.
    pub(crate) fn make(&self, index: u32) -> &T {
        let (segment, offset) = place::<FIRST_BITS>(index);
        let entries = self.segments[segment]
            .get_or_init(|| (0..1usize << (segment as u32 + FIRST_BITS)).map(|_| T::default()).collect());
        &entries[offset]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn entries_are_found_where_they_were_put() {
        let table: Segments<AtomicU32> = Segments::default();
        let indices = || (0..5000).chain([1 << 20, (1 << 20) + 1]);
        indices().for_each(|index| table.make(index).store(index + 7, Ordering::Relaxed));
        assert!(indices().all(|index| table.get(index).load(Ordering::Relaxed) == index + 7));
        assert_eq!(place::<LEAST_BITS>(u32::MAX).0, SEGMENTS - 1);
    }
}
