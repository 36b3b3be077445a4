//! Atomic operations that compilers leave to a library (libatomic): on memory of any size, at any address.
//!
//! With 16 aligned bytes the processor does it, as the library has it done: programs mix both. All else is done by the library,
//! under locks of its own. A program whose calls are all ours may run without the library, since linkers leave out what
//! nobody needs: then it is done here, under a lock.

use super::arch::{intercept, with_stacked_address};
use super::{counts, tell_read, tell_write};
use crate::abi::atomics::{library_compare, library_exchange, library_load, library_store, memory_order};
use crate::layout::WORD_BYTES;
use crate::real::atomics as real;
use crate::spin::Spin;
use crate::watch;
use keirin_core::event::AtomicKind::{self, Load, ReadModifyWrite, Store};
use keirin_core::event::MemoryOrder;
use libc::{c_int, c_void, size_t};
use std::ptr::copy_nonoverlapping;

const LOCKS: usize = 64;

/// Held from an operation on more than two words until it is told, so that both have one order. By address.
static TELLING: [Spin<()>; LOCKS] = [const { Spin::new(()) }; LOCKS];

/// Held during operations that are done here.
static OPERATION: Spin<()> = Spin::new(());

/// True if the processor does it.
fn is_of_processor(at: *const c_void, size: usize) -> bool {
    size == 16 && at.addr().is_multiple_of(16)
}

/// Does an operation, and tells it: at once, or word by word.
fn tell<T>(
    (at, size): (*const c_void, usize),
    pc: usize,
    perform: impl FnOnce() -> (AtomicKind, MemoryOrder, T),
) -> T {
    let at = at.addr();
    if size == 0 || !counts(pc) {
        return perform().2;
    }
    if at % WORD_BYTES + size <= 2 * WORD_BYTES {
        return watch::atomic(at, size, pc, perform);
    }
    let _order = TELLING[at / WORD_BYTES % LOCKS].lock();
    let (kind, order, value) = perform();
    let mut first = at;
    while first < at + size {
        let next = (first + 1).next_multiple_of(WORD_BYTES).min(at + size);
        watch::atomic(first, next - first, pc, || (kind, order, ()));
        first = next;
    }
    value
}

/// True if the bytes are the same.
unsafe fn equal(a: *const c_void, b: *const c_void, size: usize) -> bool {
    // SAFETY: the program passes so many bytes.
    unsafe {
        let bytes = |memory: *const c_void| std::slice::from_raw_parts(memory.cast::<u8>(), size);
        bytes(a) == bytes(b)
    }
}

/// Copies bytes.
unsafe fn copy(from: *const c_void, to: *mut c_void, size: usize) {
    // SAFETY: the program passes different places of so many bytes.
    unsafe { copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), size) }
}

/// Compares, and puts the desired value there or tells the one that was found.
unsafe fn compare_exchange(
    size: usize,
    at: *mut c_void,
    expected: *mut c_void,
    desired: *const c_void,
    orders: (c_int, c_int),
) -> bool {
    // SAFETY: the contract of the operation.
    unsafe {
        if let Some(compare) = real::compare() {
            return compare(size, at, expected, desired, orders.0, orders.1);
        }
        let _alone = OPERATION.lock();
        let same = equal(at, expected, size);
        if same {
            copy(desired, at, size);
        } else {
            copy(at, expected, size);
        }
        same
    }
}

unsafe extern "C-unwind" fn compare_exchange_from(
    size: size_t,
    at: *mut c_void,
    expected: *mut c_void,
    desired: *const c_void,
    success: c_int,
    failure: c_int,
    pc: usize,
) -> bool {
    // SAFETY: the contract of the operation.
    unsafe {
        if is_of_processor(at, size) {
            let wanted = expected.cast::<u128>().read_unaligned();
            let desired = desired.cast::<u128>().read_unaligned();
            let found = library_compare(at.cast(), wanted, desired, (success, failure), pc);
            if found != wanted {
                expected.cast::<u128>().write_unaligned(found);
            }
            return found == wanted;
        }
        tell((at, size), pc, || {
            if compare_exchange(size, at, expected, desired, (success, failure)) {
                (ReadModifyWrite, memory_order(success), true)
            } else {
                (Load, memory_order(failure), false)
            }
        })
    }
}

with_stacked_address! {
    fn __atomic_compare_exchange => compare_exchange_from;
}

intercept! {
    fn __atomic_load(size: size_t, at: *mut c_void, to: *mut c_void, order: c_int; pc) {
        if is_of_processor(at, size) {
            to.cast::<u128>().write_unaligned(library_load(at.cast(), order, pc));
        } else {
            tell((at, size), pc, || {
                if let Some(load) = real::load() {
                    load(size, at, to, order);
                } else {
                    let _alone = OPERATION.lock();
                    copy(at, to, size);
                }
                (Load, memory_order(order), ())
            });
        }
        if counts(pc) {
            tell_write(to, size, pc);
        }
    }

    fn __atomic_store(size: size_t, at: *mut c_void, from: *const c_void, order: c_int; pc) {
        if counts(pc) {
            tell_read(from, size, pc);
        }
        if is_of_processor(at, size) {
            return library_store(at.cast(), from.cast::<u128>().read_unaligned(), order, pc);
        }
        tell((at, size), pc, || {
            if let Some(store) = real::store() {
                store(size, at, from, order);
            } else {
                let _alone = OPERATION.lock();
                copy(from, at, size);
            }
            (Store, memory_order(order), ())
        });
    }

    fn __atomic_exchange(size: size_t, at: *mut c_void, from: *const c_void, to: *mut c_void, order: c_int; pc) {
        if counts(pc) {
            tell_read(from, size, pc);
        }
        if is_of_processor(at, size) {
            let found = library_exchange(at.cast(), from.cast::<u128>().read_unaligned(), order, pc);
            to.cast::<u128>().write_unaligned(found);
        } else {
            tell((at, size), pc, || {
                if let Some(exchange) = real::exchange() {
                    exchange(size, at, from, to, order);
                } else {
                    let _alone = OPERATION.lock();
                    copy(at, to, size);
                    copy(from, at, size);
                }
                (ReadModifyWrite, memory_order(order), ())
            });
        }
        if counts(pc) {
            tell_write(to, size, pc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_and_exchange_without_the_library() {
        let mut memory = [1u8, 2, 3, 4, 5];
        let mut expected = [1u8, 2, 3, 4, 6];
        let desired = [9u8; 5];
        let mut attempt = |memory: &mut [u8; 5]| {
            let (at, expected) = (memory.as_mut_ptr().cast(), expected.as_mut_ptr().cast());
            // SAFETY: all have five bytes.
            unsafe { compare_exchange(5, at, expected, desired.as_ptr().cast(), (5, 5)) }
        };
        assert!(!attempt(&mut memory));
        assert_eq!(memory, [1, 2, 3, 4, 5]);
        // Now it expects what was found.
        assert!(attempt(&mut memory));
        assert_eq!(memory, [9; 5]);
    }

    #[test]
    fn what_the_processor_does() {
        let at = |address: usize| std::ptr::without_provenance(address);
        assert!(is_of_processor(at(32), 16));
        assert!(!is_of_processor(at(40), 16) && !is_of_processor(at(32), 24));
    }
}
