//! A reader that becomes a writer without letting the lock go, and the other way round: nobody writes in between.
use parking_lot::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};

fn main() {
    let largest = RwLock::new(0);
    programs::twice(|number| {
        let known = largest.upgradable_read();
        if *known < number {
            let mut known = RwLockUpgradableReadGuard::upgrade(known);
            *known = number;
            let known = RwLockWriteGuard::downgrade_to_upgradable(known);
            assert_eq!(*known, number);
            *RwLockUpgradableReadGuard::upgrade(known) = number + 1;
        }
    });
    assert_eq!(*largest.read(), 2);
}
