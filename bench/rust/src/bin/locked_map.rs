//! A map in parts, each behind a lock.
use std::collections::HashMap;
use std::sync::Mutex;

fn main() {
    kernels::kernel(2_000_000, |steps| {
        let parts: Vec<Mutex<HashMap<u64, u64>>> = (0..16).map(|_| Mutex::default()).collect();
        let numbers = kernels::numbers(steps);
        kernels::in_all(|number| {
            for x in &numbers {
                let key = (x >> 8) % 10_000;
                let mut part = parts[(key % 16) as usize].lock().unwrap();
                *part.entry(key).or_insert(0) += number as u64 + 1;
            }
        });
        parts.iter().map(|part| part.lock().unwrap().values().sum::<u64>()).sum::<u64>()
    });
}
