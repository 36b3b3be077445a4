//! `Barrier`.

use super::BarrierWaitResult;
use crate::tell;
use real::sync as original;

/// `std::sync::Barrier`.
#[derive(Debug)]
pub struct Barrier(original::Barrier);

impl Barrier {
    #[inline]
    pub const fn new(n: usize) -> Self {
        Barrier(original::Barrier::new(n))
    }

    #[inline(always)]
    pub fn wait(&self) -> BarrierWaitResult {
        let barrier = self as *const Self as usize;
        tell::arrived(barrier);
        let result = self.0.wait();
        tell::left(barrier);
        result
    }
}
