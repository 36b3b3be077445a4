//! Many small tasks: a recursive `join`.
fn fibonacci(n: usize) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let (a, b) = rayon::join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

fn main() {
    kernels::kernel(40, |rounds| (0..rounds).map(|_| fibonacci(25)).sum::<u64>());
}
