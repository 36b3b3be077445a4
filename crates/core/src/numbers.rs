//! Numbers of records in a table that several hands share, used again and again.
//!
//! A hand takes numbers in blocks and keeps those that it gives back, so that mostly nobody else is asked. What it has too many of goes
//! to a heap from which all take, so that a hand that only takes and one that only gives back do not make the table grow.
//!
//! **Who may touch what.** The numbers in a hand belong to that; the heap is entered by one at a time.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many numbers are taken at once.
const BLOCK: usize = 64;
/// Of more than this a hand puts those back that came first.
const MOST: usize = 64 * BLOCK;

/// A value in lines of the processor of its own: who changes it does not hold up those who use what lies beside it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

impl<T> Deref for Apart<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The numbers that were ever taken, and those that nobody has.
#[derive(Debug)]
pub(crate) struct Numbers {
    made: AtomicU32,
    heap: Mutex<Vec<u32>>,
    in_heap: AtomicUsize,
}

impl Numbers {
    /// The numbers from one on.
    pub(crate) const fn from(first: u32) -> Self {
        Self { made: AtomicU32::new(first), heap: Mutex::new(Vec::new()), in_heap: AtomicUsize::new(0) }
    }

    fn heap(&self) -> MutexGuard<'_, Vec<u32>> {
        // What it holds is whole whenever somebody can have failed.
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that nobody has. `make` makes the record of one that there never was.
    #[inline]
    pub(crate) fn take(&self, hand: &mut Vec<u32>, make: impl Fn(u32)) -> u32 {
        match hand.pop() {
            Some(number) => number,
            None => self.take_block(hand, make),
        }
    }

    #[cold]
    fn take_block(&self, hand: &mut Vec<u32>, make: impl Fn(u32)) -> u32 {
        if self.in_heap.load(Ordering::Relaxed) > 0 {
            let mut heap = self.heap();
            let left = heap.len().saturating_sub(BLOCK);
            hand.extend(heap.drain(left..));
            self.in_heap.store(heap.len(), Ordering::Relaxed);
        }
        if let Some(number) = hand.pop() {
            return number;
        }
        let first = self.made.fetch_add(BLOCK as u32, Ordering::Relaxed);
        for number in (first..first + BLOCK as u32).rev() {
            make(number);
            hand.push(number);
        }
        hand.pop().unwrap_or(first)
    }

    /// A number that nobody has any more.
    #[inline]
    pub(crate) fn give_back(&self, hand: &mut Vec<u32>, number: u32) {
        hand.push(number);
        if hand.len() > MOST {
            self.put_down(hand, MOST / 2);
        }
    }

    /// A hand keeps so many numbers.
    #[cold]
    pub(crate) fn put_down(&self, hand: &mut Vec<u32>, kept: usize) {
        if let Some(surplus) = hand.len().checked_sub(kept).filter(|surplus| *surplus > 0) {
            let mut heap = self.heap();
            // What was given back last is at hand, in the caches of the processor too.
            heap.extend(hand.drain(..surplus));
            self.in_heap.store(heap.len(), Ordering::Relaxed);
        }
    }

    /// The first number that was never taken.
    pub(crate) fn end(&self) -> u32 {
        self.made.load(Ordering::Relaxed)
    }

    /// How many numbers are in the heap.
    pub(crate) fn idle(&self) -> usize {
        self.in_heap.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_number_is_in_two_hands_and_what_is_given_back_is_used_again() {
        let numbers = Numbers::from(1);
        let (mut giver, mut taker) = (Vec::new(), Vec::new());
        let mut out = BTreeSet::new();
        for _ in 0..100 {
            (0..1000).for_each(|_| assert!(out.insert(numbers.take(&mut taker, |_| ()))));
            std::mem::take(&mut out).into_iter().for_each(|number| numbers.give_back(&mut giver, number));
        }
        assert!(numbers.end() as usize <= 2 * MOST + 2000);
        numbers.put_down(&mut giver, 0);
        assert_eq!(numbers.idle() + taker.len(), numbers.end() as usize - 1);
    }
}
