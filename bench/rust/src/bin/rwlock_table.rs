//! A table that is mostly read.
use std::sync::RwLock;

fn main() {
    kernels::kernel(4_000_000, |steps| {
        let table = RwLock::new(vec![1u64; 64]);
        let numbers = kernels::numbers(steps);
        let total = std::sync::atomic::AtomicU64::new(0);
        kernels::in_all(|_| {
            let mut sum = 0u64;
            for x in &numbers {
                if x % 100 == 0 {
                    table.write().unwrap()[(x >> 8) as usize % 64] += 1;
                } else {
                    let table = table.read().unwrap();
                    sum += table[..16].iter().sum::<u64>() & 1;
                }
            }
            total.fetch_add(sum & 1, std::sync::atomic::Ordering::Relaxed);
        });
        total.into_inner().min(1)
    });
}
