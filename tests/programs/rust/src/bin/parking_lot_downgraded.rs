//! A writer stays in the lock as a reader, at once or by way of an upgradable one, and the next round writes again. In between nobody has
//! come into the section, and what it has read was its own. Who looks as a reader and writes in the next section has a gap.
// expect: lock-gap (read) (written)
use parking_lot::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};

/// One piece of code, which an optimizer does not repeat: it is the same write that each section begins with.
#[inline(never)]
fn add(value: &RwLock<u32>) {
    let mut guard = value.write();
    *guard += 1;
    let guard = RwLockWriteGuard::downgrade(guard);
    assert!(*guard > 0);
}

#[inline(never)]
fn add_by_way(value: &RwLock<u32>) {
    let mut guard = value.write();
    *guard += 1;
    let guard = RwLockWriteGuard::downgrade_to_upgradable(guard);
    let guard = RwLockUpgradableReadGuard::downgrade(guard);
    assert!(*guard > 0);
}

fn main() {
    let (value, by_way, looked_at) = (RwLock::new(0), RwLock::new(0), RwLock::new(0));
    programs::twice(|_| {
        for _ in 0..5 {
            add(&value);
            add_by_way(&by_way);
        }
        let guard = RwLockWriteGuard::downgrade(looked_at.write());
        let before = *guard; // (read)
        drop(guard);
        *looked_at.write() = before + 1; // (written)
    });
    assert_eq!((*value.read(), *by_way.read()), (10, 10));
}
