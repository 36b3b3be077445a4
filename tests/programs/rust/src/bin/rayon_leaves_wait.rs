//! Leaves of many joins use accounts, their own and one that tasks around them have used before and use afterwards, again and again: all of
//! that is in order, in whichever tasks nothing else happens.
use std::sync::Mutex;

fn add(balance: &Mutex<u32>) {
    let before = *balance.lock().unwrap();
    *balance.lock().unwrap() = before + 1;
}

/// All leaves are the first, or the second one of two: only those on one way down use the account.
fn walk(depth: u32, used: bool, own: bool, balance: &Mutex<u32>) {
    let on_stack = Mutex::new(0);
    if depth == 0 {
        if used {
            add(balance);
        }
        if own {
            rayon::join(|| add(&on_stack), || ());
            add(&on_stack);
        }
        return;
    }
    let depth = depth - 1;
    rayon::join(|| walk(depth, false, own, balance), || walk(depth, used, !own, balance));
    if used && depth % 2 == 0 {
        add(balance);
    }
    rayon::join(|| walk(depth / 2, used, !own, balance), || walk(depth / 2, false, own, balance));
}

fn main() {
    let balance = Mutex::new(0);
    for round in 0..3 {
        walk(6, true, round % 2 == 0, &balance);
        add(&balance);
    }
    assert!(*balance.lock().unwrap() > 10);
}
