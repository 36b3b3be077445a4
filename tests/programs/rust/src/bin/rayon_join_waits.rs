//! What a join has waited for is over: nothing comes between what is done before it, in each of its sides, and after it.
use std::sync::Mutex;

fn add(balance: &Mutex<u32>) {
    let before = *balance.lock().unwrap();
    *balance.lock().unwrap() = before + 1;
}

/// Two accounts for each level: no two tasks that can run at the same time have one in common.
fn add_all(balances: &[Mutex<u32>]) {
    balances.iter().for_each(add);
    if let Some(half) = balances.len().checked_div(2).filter(|half| *half > 0) {
        let (left, right) = balances.split_at(half);
        rayon::join(|| add_all(left), || add_all(right));
    }
    balances.iter().for_each(add);
}

fn main() {
    let balances = [const { Mutex::new(0) }; 16];
    add_all(&balances);
    assert!(balances.iter().all(|balance| *balance.lock().unwrap() == 10));
}
