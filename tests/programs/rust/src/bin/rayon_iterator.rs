//! Each item of a parallel iterator looks whether something is there and puts it in.
// expect: lock-gap (A) (B)
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;

fn main() {
    let first = Mutex::new(HashMap::new());
    (0..8).into_par_iter().for_each(|number: u32| {
        if !first.lock().unwrap().contains_key(&(number % 4)) { // (A)
            first.lock().unwrap().insert(number % 4, number); // (B)
        }
    });
}
