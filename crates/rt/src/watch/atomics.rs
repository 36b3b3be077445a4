//! Atomic operations: each is done by us, at the moment at which it is told.

use super::{RACES, enter, guarded, is_on, with};
use crate::driver::COUNTING;
use crate::thread::Inside;
use crate::{learned, steering, tbb};
use keirin_core::analysis::AtomicOperation;
use keirin_core::event::{AtomicKind, MemoryOrder};
use std::sync::atomic::Ordering;

/// An atomic operation. `perform` does it, and says what it was: a compare-and-exchange that failed is a load. No other
/// thread does an atomic operation on the same bytes meanwhile, unless both order nothing.
#[inline(always)]
pub fn atomic<T>(
    addr: usize,
    size: usize,
    pc: usize,
    perform: impl FnOnce() -> (AtomicKind, MemoryOrder, T),
) -> T {
    atomic_of(addr, size, pc, None, perform)
}

/// A load, which `perform` does.
#[inline]
pub fn load<T>(addr: usize, size: usize, pc: usize, order: MemoryOrder, perform: impl Fn() -> T) -> T {
    let operation = AtomicOperation { kind: AtomicKind::Load, order };
    let driver = RACES.load(Ordering::Relaxed);
    if !driver.is_null()
        && !tbb::is_known()
        && is_on()
        && let Some(mut inside) = Inside::enter_quietly()
    {
        // SAFETY: the driver lives for ever.
        let driver = unsafe { &*driver };
        if let Some(result) = driver.load_quietly(&mut inside, addr, size, pc, order, &perform) {
            return result;
        }
        if !steering::is_on() {
            inside.signalled = 0;
            let load = || (AtomicKind::Load, order, perform());
            if let Ok(result) = driver.atomic_shortcut(&mut inside, addr, size, pc, Some(operation), load) {
                return result;
            }
        }
    }
    atomic_in_full(addr, size, pc, Some(operation), || (AtomicKind::Load, order, perform()))
}

/// A read-modify-write, which `perform` does. It is a fence for the processor.
#[inline]
pub fn modify<T>(
    addr: usize,
    size: usize,
    pc: usize,
    order: MemoryOrder,
    mut perform: impl FnOnce() -> T,
) -> T {
    let quiet = Some(COUNTING).filter(|counting| counting.order == order);
    let driver = RACES.load(Ordering::Relaxed);
    if quiet.is_some()
        && !tbb::is_known()
        && !driver.is_null()
        && is_on()
        && let Some(mut inside) = Inside::enter_quietly()
    {
        // SAFETY: the driver lives for ever.
        match unsafe { &*driver }.modify_quietly(&mut inside, addr, size, pc, perform) {
            Ok(result) => return result,
            Err(back) => perform = back,
        }
    }
    atomic_of(addr, size, pc, quiet, || (AtomicKind::ReadModifyWrite, order, perform()))
}

#[inline(always)]
fn atomic_of<T>(
    addr: usize,
    size: usize,
    pc: usize,
    quiet: Option<AtomicOperation>,
    mut perform: impl FnOnce() -> (AtomicKind, MemoryOrder, T),
) -> T {
    let driver = RACES.load(Ordering::Relaxed);
    if !driver.is_null()
        && !tbb::is_known()
        && is_on()
        && !steering::is_on()
        && let Some(mut inside) = Inside::enter_quietly()
    {
        inside.signalled = 0;
        // SAFETY: the driver lives for ever.
        match unsafe { &*driver }.atomic_shortcut(&mut inside, addr, size, pc, quiet, perform) {
            Ok(result) => return result,
            Err(back) => perform = back,
        }
    }
    atomic_in_full(addr, size, pc, quiet, perform)
}

#[inline(never)]
fn atomic_in_full<T>(
    addr: usize,
    size: usize,
    pc: usize,
    quiet: Option<AtomicOperation>,
    perform: impl FnOnce() -> (AtomicKind, MemoryOrder, T),
) -> T {
    match tbb::hears(addr) {
        tbb::Heard::Yes => {}
        tbb::Heard::No => return perform().2,
        tbb::Heard::Afterwards => {
            let (kind, _, value) = perform();
            if tbb::after_silence(addr, kind) {
                tbb::upgraded(addr, pc);
            }
            return value;
        }
    }
    let mut perform = Some(perform);
    let mut result = None;
    let mut once = || match perform.take() {
        Some(perform) => {
            let (kind, order, value) = perform();
            result = Some(value);
            (kind, order)
        }
        None => unreachable!("an operation is done once"),
    };
    let driver = RACES.load(Ordering::Relaxed);
    if driver.is_null() {
        with(|watcher, thread| {
            learned::follow(watcher, thread, pc, true, |thread| {
                watcher.atomic(thread, addr, size, pc, &mut once);
            });
        });
    } else if let Some(mut inside) = enter() {
        // SAFETY: the driver lives for ever.
        guarded(|| unsafe { &*driver }.atomic_by(&mut inside, addr, size, pc, quiet, &mut once));
    }
    let result = match (result, perform) {
        (Some(value), _) => value,
        (None, Some(perform)) => perform().2,
        (None, None) => unreachable!("an operation that was begun has a result"),
    };
    if steering::is_on() {
        steering::passed();
    }
    result
}
