//! A parallel sort.
use rayon::prelude::*;

fn main() {
    kernels::kernel(2_000_000, |count| {
        let mut numbers = kernels::numbers(count);
        numbers.par_sort_unstable();
        numbers[count / 2]
    });
}
