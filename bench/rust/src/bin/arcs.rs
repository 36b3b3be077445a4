//! References that are counted: cloned and dropped by all threads.
use std::sync::Arc;

fn main() {
    kernels::kernel(10_000_000, |steps| {
        let shared: Vec<Arc<u64>> = (0..64).map(Arc::new).collect();
        let total = std::sync::atomic::AtomicU64::new(0);
        kernels::in_all(|number| {
            let mut held: Vec<Arc<u64>> = shared.clone();
            let mut sum = 0;
            for step in 0..steps {
                let from = (step * 7 + number) % 64;
                held[step % 64] = shared[from].clone();
                sum += *held[(step * 3) % 64];
            }
            total.fetch_add(sum, std::sync::atomic::Ordering::Relaxed);
        });
        total.into_inner()
    });
}
