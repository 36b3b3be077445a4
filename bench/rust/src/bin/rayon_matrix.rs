//! Rows of a product of matrices, in parallel.
use rayon::prelude::*;

const SIZE: usize = 192;

fn main() {
    kernels::kernel(80, |rounds| {
        let numbers: Vec<f64> = kernels::numbers(SIZE * SIZE).iter().map(|x| (x % 100) as f64).collect();
        let mut result = vec![0.0; SIZE * SIZE];
        for _ in 0..rounds {
            result.par_chunks_mut(SIZE).enumerate().for_each(|(row, out)| {
                out.fill(0.0);
                for (inner, factor) in numbers[row * SIZE..][..SIZE].iter().enumerate() {
                    for (out, other) in out.iter_mut().zip(&numbers[inner * SIZE..][..SIZE]) {
                        *out += factor * other;
                    }
                }
            });
        }
        result.iter().sum::<f64>()
    });
}
