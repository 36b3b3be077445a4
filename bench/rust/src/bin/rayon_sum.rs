//! A parallel iterator: map, filter, sum.
use rayon::prelude::*;

fn main() {
    kernels::kernel(24, |rounds| {
        let numbers = kernels::numbers(1 << 20);
        let one = |round| -> u64 {
            numbers.par_iter().filter(|x| *x % 3 != round % 3).map(|x| x.wrapping_mul(*x) >> 40).sum()
        };
        (0..rounds as u64).map(one).sum::<u64>()
    });
}
