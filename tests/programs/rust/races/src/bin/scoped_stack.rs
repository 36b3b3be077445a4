//! Scoped threads write into parts of an array on the stack of their creator, which reads them after the end of the scope.
use races::threads;
use std::thread;

#[inline(never)]
fn fill(part: &mut [u64], number: u64) {
    for value in part {
        *value += number;
    }
}

#[inline(never)]
fn round(base: u64) -> u64 {
    let mut values = [base; 64];
    thread::scope(|scope| {
        for (part, number) in values.chunks_mut(64 / threads()).zip(1..) {
            scope.spawn(move || fill(part, number));
        }
    });
    let mut total = values.iter().sum();
    // The same stack again, by this thread alone, and by others.
    thread::scope(|scope| {
        let handle = scope.spawn(|| total += 1);
        handle.join().unwrap();
    });
    total
}

fn main() {
    let sum: u64 = (0..20).map(round).sum();
    println!("{}", sum > 0);
}
