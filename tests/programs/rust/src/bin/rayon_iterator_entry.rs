//! The same in one critical section, counters, sums, and a sorted copy.
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;

fn main() {
    let (first, items) = (Mutex::new(HashMap::new()), Mutex::new(0));
    let sum: u32 = (0..1000)
        .into_par_iter()
        .map(|number: u32| {
            first.lock().unwrap().entry(number % 4).or_insert(number);
            *items.lock().unwrap() += 1;
            number
        })
        .sum();
    let mut numbers: Vec<u32> = (0..1000).rev().collect();
    numbers.par_sort();
    assert_eq!((sum, *items.lock().unwrap(), numbers[999]), (499_500, 1000, 999));
}
