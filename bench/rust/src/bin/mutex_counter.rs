//! A small critical section that all threads want.
use std::sync::Mutex;

fn main() {
    kernels::kernel(10_000_000, |steps| {
        let counter = Mutex::new([0u64; 4]);
        kernels::in_all(|number| {
            for step in 0..steps {
                let mut counter = counter.lock().unwrap();
                counter[(step + number) % 4] += 1;
            }
        });
        counter.into_inner().unwrap().iter().sum::<u64>()
    });
}
