//! Of many tasks two use the account, deep inside of joins that do nothing else: they can run at the same time, whoever runs them.
// expect: lock-gap (A) (B)
use std::sync::Mutex;

fn add(balance: &Mutex<u32>) {
    let before = *balance.lock().unwrap(); // (A)
    *balance.lock().unwrap() = before + 1; // (B)
}

/// Leaves are numbered from the left.
fn walk(depth: u32, leaf: u32, balance: &Mutex<u32>) {
    match depth {
        0 if leaf == 77 || leaf == 900 => add(balance),
        0 => {}
        _ => {
            let depth = depth - 1;
            rayon::join(|| walk(depth, 2 * leaf, balance), || walk(depth, 2 * leaf + 1, balance));
        }
    }
}

fn main() {
    let balance = Mutex::new(0);
    walk(10, 0, &balance);
}
