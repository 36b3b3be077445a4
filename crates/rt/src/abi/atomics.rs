//! Atomic operations and fences.
//!
//! Compilers call one function for each operation and size. They pass 8 and 16 bits without saying what the rest of the
//! register holds, so these are taken as 32 bits and cut. gcc compares and exchanges by `_strong` and `_weak`, which return
//! whether it was done, clang by `_val`, which returns the value that was found.
//!
//! The operation is done with at least the order that the program asks for: on this processor that costs nothing but for
//! stores.

use crate::intercept::arch::hooks;
use crate::{tbb, watch};
use keirin_core::event::{
    AccessKind,
    AtomicKind::{Load, ReadModifyWrite, Store},
    MemoryOrder,
};
use libc::c_int;
use std::arch::{asm, global_asm};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

/// The memory order that a compiler passes. Higher bits are hints for the processor.
pub(crate) fn memory_order(order: c_int) -> MemoryOrder {
    match order & 0xffff {
        0 => MemoryOrder::Relaxed,
        1 => MemoryOrder::Consume,
        2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcquireRelease,
        _ => MemoryOrder::SequentiallyConsistent,
    }
}

/// Memory that is operated on at once. The functions take pointers to aligned memory that lives, as the program promises.
trait Word: Copy + Eq {
    /// As which type compilers pass it.
    type Passed: Copy;

    fn cut(passed: Self::Passed) -> Self;
    unsafe fn load(at: *mut Self) -> Self;
    unsafe fn store(at: *mut Self, value: Self, order: MemoryOrder);
    unsafe fn exchange(at: *mut Self, value: Self) -> Self;
    unsafe fn add(at: *mut Self, value: Self) -> Self;
    unsafe fn sub(at: *mut Self, value: Self) -> Self;
    unsafe fn and(at: *mut Self, value: Self) -> Self;
    unsafe fn or(at: *mut Self, value: Self) -> Self;
    unsafe fn xor(at: *mut Self, value: Self) -> Self;
    unsafe fn nand(at: *mut Self, value: Self) -> Self;
    /// The value that was found; if it is `expected`, `desired` is there now.
    unsafe fn compare_exchange(at: *mut Self, expected: Self, desired: Self) -> Self;
}

macro_rules! words {
    ($($type:ident as $passed:ident by $atomic:ident;)*) => {$(
        impl Word for $type {
            type Passed = $passed;

            #[inline]
            fn cut(passed: $passed) -> $type {
                passed as $type
            }

            #[inline]
            unsafe fn store(at: *mut $type, value: $type, order: MemoryOrder) {
                // SAFETY: by the contract of the trait.
                let word = unsafe { $atomic::from_ptr(at) };
                match order {
                    MemoryOrder::SequentiallyConsistent => word.store(value, Ordering::SeqCst),
                    _ => word.store(value, Ordering::Release),
                }
            }

            #[inline]
            unsafe fn load(at: *mut $type) -> $type {
                // SAFETY: by the contract of the trait.
                unsafe { $atomic::from_ptr(at) }.load(Ordering::SeqCst)
            }

            #[inline]
            unsafe fn compare_exchange(at: *mut $type, expected: $type, desired: $type) -> $type {
                // SAFETY: by the contract of the trait.
                let word = unsafe { $atomic::from_ptr(at) };
                match word.compare_exchange(expected, desired, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(found) | Err(found) => found,
                }
            }

            words!(@changes $type $atomic: exchange swap, add fetch_add, sub fetch_sub, and fetch_and, or fetch_or,
                xor fetch_xor, nand fetch_nand);
        }
    )*};
    (@changes $type:ident $atomic:ident: $($name:ident $operation:ident),*) => {$(
        #[inline]
        unsafe fn $name(at: *mut $type, value: $type) -> $type {
            // SAFETY: by the contract of the trait.
            unsafe { $atomic::from_ptr(at) }.$operation(value, Ordering::SeqCst)
        }
    )*};
}

words! {
    u8 as u32 by AtomicU8;
    u16 as u32 by AtomicU16;
    u32 as u32 by AtomicU32;
    u64 as u64 by AtomicU64;
}

/// Changes 128 bits by `change`. Returns what was there before.
unsafe fn change(at: *mut u128, change: impl Fn(u128) -> u128) -> u128 {
    // SAFETY: by the contract of `Word`.
    unsafe {
        let mut found = u128::load(at);
        loop {
            let expected = found;
            found = u128::compare_exchange(at, expected, change(expected));
            if found == expected {
                return found;
            }
        }
    }
}

impl Word for u128 {
    type Passed = u128;

    fn cut(passed: u128) -> u128 {
        passed
    }

    unsafe fn compare_exchange(at: *mut u128, expected: u128, desired: u128) -> u128 {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        // SAFETY: by the contract of the trait. rbx, which the instruction uses, belongs to the compiler: it is put back. The
        // others are named, as the compiler might choose rbx for one of them.
        unsafe {
            asm!(
                "xchg rbx, rsi",
                "lock cmpxchg16b [rdi]",
                "mov rbx, rsi",
                in("rdi") at,
                inout("rsi") desired as u64 => _,
                in("rcx") (desired >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                options(nostack),
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }

    /// Writes back what it finds, for there is no other way: memory that can only be read cannot be loaded from.
    unsafe fn load(at: *mut u128) -> u128 {
        // SAFETY: by the contract of the trait.
        unsafe { u128::compare_exchange(at, 0, 0) }
    }

    unsafe fn store(at: *mut u128, value: u128, _: MemoryOrder) {
        // SAFETY: by the contract of the trait.
        unsafe { change(at, |_| value) };
    }

    unsafe fn exchange(at: *mut u128, value: u128) -> u128 {
        // SAFETY: by the contract of the trait.
        unsafe { change(at, |_| value) }
    }

    unsafe fn add(at: *mut u128, value: u128) -> u128 {
        // SAFETY: by the contract of the trait.
        unsafe { change(at, |found| found.wrapping_add(value)) }
    }

    unsafe fn sub(at: *mut u128, value: u128) -> u128 {
        // SAFETY: by the contract of the trait.
        unsafe { change(at, |found| found.wrapping_sub(value)) }
    }

    unsafe fn and(at: *mut u128, value: u128) -> u128 {
        // SAFETY: by the contract of the trait.
        unsafe { change(at, |found| found & value) }
    }

    unsafe fn or(at: *mut u128, value: u128) -> u128 {
        // SAFETY: by the contract of the trait.
        unsafe { change(at, |found| found | value) }
    }

    unsafe fn xor(at: *mut u128, value: u128) -> u128 {
        // SAFETY: by the contract of the trait.
        unsafe { change(at, |found| found ^ value) }
    }

    unsafe fn nand(at: *mut u128, value: u128) -> u128 {
        // SAFETY: by the contract of the trait.
        unsafe { change(at, |found| !(found & value)) }
    }
}

unsafe extern "C-unwind" fn load<T: Word>(at: *mut T, order: c_int, pc: usize) -> T {
    // SAFETY: the program loads from there.
    let load = || unsafe { T::load(at) };
    if !watch::is_on() {
        return load();
    }
    if size_of::<T>() == size_of::<u32>()
        && let Some(told) = tbb::count_to_tell(at as usize)
    {
        // SAFETY: it is as large, and stays.
        return unsafe { T::load(told.cast()) };
    }
    watch::atomic_awaited(AccessKind::Read, at as usize, size_of::<T>(), pc);
    watch::load(at as usize, size_of::<T>(), pc, memory_order(order), load)
}

unsafe extern "C-unwind" fn store<T: Word>(at: *mut T, value: T::Passed, order: c_int, pc: usize) {
    let order = memory_order(order);
    // SAFETY: the program stores there.
    let store = || unsafe { T::store(at, T::cut(value), order) };
    if !watch::is_on() {
        return store();
    }
    watch::atomic_awaited(AccessKind::Write, at as usize, size_of::<T>(), pc);
    watch::atomic(at as usize, size_of::<T>(), pc, || (Store, order, store()))
}

/// An operation that reads and writes.
#[inline(always)]
fn modify<T: Word>(at: *mut T, order: c_int, pc: usize, operation: impl FnOnce() -> T) -> T {
    if !watch::is_on() {
        return operation();
    }
    watch::atomic_awaited(AccessKind::Write, at as usize, size_of::<T>(), pc);
    watch::modify(at as usize, size_of::<T>(), pc, memory_order(order), operation)
}

macro_rules! modifications {
    ($($name:ident)*) => {$(
        unsafe extern "C-unwind" fn $name<T: Word>(at: *mut T, value: T::Passed, order: c_int, pc: usize) -> T {
            // SAFETY: the program changes what is there.
            modify(at, order, pc, || unsafe { T::$name(at, T::cut(value)) })
        }
    )*};
}

modifications! { exchange add sub and or xor nand }

/// Compares and exchanges. Returns the value that was found.
#[inline(always)]
unsafe fn compare<T: Word>(at: *mut T, expected: T, desired: T, orders: (c_int, c_int), pc: usize) -> T {
    // SAFETY: the program compares and exchanges there.
    let perform = || unsafe { T::compare_exchange(at, expected, desired) };
    if !watch::is_on() {
        return perform();
    }
    watch::atomic_awaited(AccessKind::Write, at as usize, size_of::<T>(), pc);
    watch::atomic(at as usize, size_of::<T>(), pc, || {
        let found = perform();
        if found == expected {
            (ReadModifyWrite, memory_order(orders.0), found)
        } else {
            (Load, memory_order(orders.1), found)
        }
    })
}

/// The same with the expected value in memory, which gets the value that was found.
#[inline(always)]
unsafe fn compare_at<T: Word>(
    at: *mut T,
    expected: *mut T,
    desired: T,
    orders: (c_int, c_int),
    pc: usize,
) -> bool {
    // SAFETY: the program compares and exchanges there; `expected` is its variable.
    unsafe {
        let wanted = *expected;
        let found = compare(at, wanted, desired, orders, pc);
        if found != wanted {
            *expected = found;
        }
        found == wanted
    }
}

unsafe extern "C-unwind" fn compare_exchange<T: Word>(
    at: *mut T,
    expected: *mut T,
    desired: T::Passed,
    success: c_int,
    failure: c_int,
    pc: usize,
) -> bool {
    // SAFETY: the contract of the operation.
    unsafe { compare_at(at, expected, T::cut(desired), (success, failure), pc) }
}

unsafe extern "C-unwind" fn compare_exchange_val<T: Word>(
    at: *mut T,
    expected: T::Passed,
    desired: T::Passed,
    success: c_int,
    failure: c_int,
    pc: usize,
) -> T {
    // SAFETY: the contract of the operation.
    unsafe { compare(at, T::cut(expected), T::cut(desired), (success, failure), pc) }
}

/// Two orders in one register: success below, failure above.
fn unpacked(orders: u64) -> (c_int, c_int) {
    (orders as c_int, (orders >> 32) as c_int)
}

unsafe extern "C-unwind" fn compare_exchange_128(
    at: *mut u128,
    expected: *mut u128,
    desired: u128,
    orders: u64,
    pc: usize,
) -> bool {
    // SAFETY: the contract of the operation.
    unsafe { compare_at(at, expected, desired, unpacked(orders), pc) }
}

unsafe extern "C-unwind" fn compare_exchange_val_128(
    at: *mut u128,
    expected: u128,
    desired: u128,
    orders: u64,
    pc: usize,
) -> u128 {
    // SAFETY: the contract of the operation.
    unsafe { compare(at, expected, desired, unpacked(orders), pc) }
}

/// Exports a body with `pc` in the given register; see `intercept::arch`.
macro_rules! export {
    ($name:expr, $register:literal, $body:expr) => {
        global_asm!(
            ".pushsection .text",
            concat!(".globl ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            concat!("mov ", $register, ", qword ptr [rsp]"),
            "jmp {body}",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            body = sym $body,
        );
    };
}

/// Exports the operations on one size. `$modify` is the register behind an address, a value and an order.
macro_rules! operations {
    ($type:ty, $prefix:literal, $modify:literal) => {
        export!(concat!($prefix, "_load"), "rdx", load::<$type>);
        export!(concat!($prefix, "_store"), $modify, store::<$type>);
        export!(concat!($prefix, "_exchange"), $modify, exchange::<$type>);
        export!(concat!($prefix, "_fetch_add"), $modify, add::<$type>);
        export!(concat!($prefix, "_fetch_sub"), $modify, sub::<$type>);
        export!(concat!($prefix, "_fetch_and"), $modify, and::<$type>);
        export!(concat!($prefix, "_fetch_or"), $modify, or::<$type>);
        export!(concat!($prefix, "_fetch_xor"), $modify, xor::<$type>);
        export!(concat!($prefix, "_fetch_nand"), $modify, nand::<$type>);
    };
}

/// Exports comparison and exchange on one size.
macro_rules! comparisons {
    ($type:ty, $prefix:literal) => {
        export!(concat!($prefix, "_compare_exchange_strong"), "r9", compare_exchange::<$type>);
        export!(concat!($prefix, "_compare_exchange_weak"), "r9", compare_exchange::<$type>);
        export!(concat!($prefix, "_compare_exchange_val"), "r9", compare_exchange_val::<$type>);
    };
}

operations!(u8, "__tsan_atomic8", "rcx");
operations!(u16, "__tsan_atomic16", "rcx");
operations!(u32, "__tsan_atomic32", "rcx");
operations!(u64, "__tsan_atomic64", "rcx");
operations!(u128, "__tsan_atomic128", "r8");
comparisons!(u8, "__tsan_atomic8");
comparisons!(u16, "__tsan_atomic16");
comparisons!(u32, "__tsan_atomic32");
comparisons!(u64, "__tsan_atomic64");

/// What the library for atomic operations has for 128 bits, where a compiler does not use the processor's: the arguments are
/// the same.
#[cfg(feature = "interpose")]
mod library {
    use super::*;

    export!("__atomic_load_16", "rdx", load::<u128>);
    export!("__atomic_store_16", "r8", store::<u128>);
    export!("__atomic_exchange_16", "r8", exchange::<u128>);
    export!("__atomic_fetch_add_16", "r8", add::<u128>);
    export!("__atomic_fetch_sub_16", "r8", sub::<u128>);
    export!("__atomic_fetch_and_16", "r8", and::<u128>);
    export!("__atomic_fetch_or_16", "r8", or::<u128>);
    export!("__atomic_fetch_xor_16", "r8", xor::<u128>);
    export!("__atomic_fetch_nand_16", "r8", nand::<u128>);
    global_asm!(
        ".globl __atomic_compare_exchange_16",
        ".type __atomic_compare_exchange_16, @function",
        ".set __atomic_compare_exchange_16, __tsan_atomic128_compare_exchange_strong",
    );
}

/// A load of 128 bits that a program wants from the library.
pub(crate) unsafe fn library_load(at: *mut u128, order: c_int, pc: usize) -> u128 {
    // SAFETY: the contract of the operation.
    unsafe { load(at, order, pc) }
}

/// The same for a store.
pub(crate) unsafe fn library_store(at: *mut u128, value: u128, order: c_int, pc: usize) {
    // SAFETY: the contract of the operation.
    unsafe { store(at, value, order, pc) }
}

/// The same for an exchange.
pub(crate) unsafe fn library_exchange(at: *mut u128, value: u128, order: c_int, pc: usize) -> u128 {
    // SAFETY: the contract of the operation.
    unsafe { exchange(at, value, order, pc) }
}

/// The same for a comparison with the value that is found: the value that was found.
pub(crate) unsafe fn library_compare(
    at: *mut u128,
    expected: u128,
    desired: u128,
    orders: (c_int, c_int),
    pc: usize,
) -> u128 {
    // SAFETY: the contract of the operation.
    unsafe { compare(at, expected, desired, orders, pc) }
}

// With 128 bits the arguments fill all registers. Both orders go into one, which leaves one for the place of the call; the
// value that is expected, if it is passed by itself, pushes the failure order onto the stack, and its place there, which is
// ours, is free then.
global_asm!(
    ".pushsection .text",
    ".globl __tsan_atomic128_compare_exchange_strong",
    ".globl __tsan_atomic128_compare_exchange_weak",
    ".globl __tsan_atomic128_compare_exchange_val",
    ".type __tsan_atomic128_compare_exchange_strong, @function",
    ".type __tsan_atomic128_compare_exchange_weak, @function",
    ".type __tsan_atomic128_compare_exchange_val, @function",
    "__tsan_atomic128_compare_exchange_strong:",
    "__tsan_atomic128_compare_exchange_weak:",
    "shl r9, 32",
    "mov r8d, r8d",
    "or r8, r9",
    "mov r9, qword ptr [rsp]",
    "jmp {at}",
    "__tsan_atomic128_compare_exchange_val:",
    "mov eax, dword ptr [rsp + 8]",
    "shl rax, 32",
    "mov r9d, r9d",
    "or r9, rax",
    "mov rax, qword ptr [rsp]",
    "mov qword ptr [rsp + 8], rax",
    "jmp {value}",
    ".popsection",
    at = sym compare_exchange_128,
    value = sym compare_exchange_val_128,
);

hooks! {
    fn __tsan_atomic_thread_fence(order: c_int; pc) {
        let order = memory_order(order);
        match order {
            MemoryOrder::Relaxed => {}
            MemoryOrder::SequentiallyConsistent => fence(Ordering::SeqCst),
            _ => fence(Ordering::AcqRel),
        }
        if watch::is_on() {
            watch::fence(order, pc);
        }
    }

    // Orders a thread with its own signal handlers only.
    fn __tsan_atomic_signal_fence(_order: c_int; _pc) {
        compiler_fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn __tsan_atomic8_compare_exchange_val(
            at: *mut u8,
            expected: u32,
            desired: u32,
            success: c_int,
            failure: c_int,
        ) -> u8;
        fn __tsan_atomic16_fetch_nand(at: *mut u16, value: u32, order: c_int) -> u16;
        fn __tsan_atomic32_compare_exchange_strong(
            at: *mut u32,
            expected: *mut u32,
            desired: u32,
            success: c_int,
            failure: c_int,
        ) -> bool;
        fn __tsan_atomic64_fetch_sub(at: *mut u64, value: u64, order: c_int) -> u64;
        fn __tsan_atomic128_load(at: *mut u128, order: c_int) -> u128;
        fn __tsan_atomic128_store(at: *mut u128, value: u128, order: c_int);
        fn __tsan_atomic128_fetch_add(at: *mut u128, value: u128, order: c_int) -> u128;
        fn __tsan_atomic128_compare_exchange_val(
            at: *mut u128,
            expected: u128,
            desired: u128,
            success: c_int,
            failure: c_int,
        ) -> u128;
        fn __tsan_atomic128_compare_exchange_weak(
            at: *mut u128,
            expected: *mut u128,
            desired: u128,
            success: c_int,
            failure: c_int,
        ) -> bool;
        fn __tsan_atomic_thread_fence(order: c_int);
    }

    #[test]
    fn orders_are_those_of_the_standards() {
        let orders = [0, 1, 2, 3, 4, 5, 1 << 16 | 2, 77].map(memory_order);
        use MemoryOrder::*;
        let expected = [
            Relaxed,
            Consume,
            Acquire,
            Release,
            AcquireRelease,
            SequentiallyConsistent,
            Acquire,
            SequentiallyConsistent,
        ];
        assert_eq!(orders, expected);
        assert_eq!(unpacked(5 | 2 << 32), (5, 2));
    }

    #[test]
    fn small_values_are_cut() {
        let mut byte = 7u8;
        let mut half = 0xff0fu16;
        // SAFETY: the variables live.
        unsafe {
            assert_eq!(__tsan_atomic8_compare_exchange_val(&mut byte, 0xabcd_ef07, 0xffff_ff09, 5, 5), 7);
            assert_eq!(byte, 9);
            assert_eq!(__tsan_atomic16_fetch_nand(&mut half, 0xffff_00ff, 5), 0xff0f);
            assert_eq!(half, !0x000f);
            __tsan_atomic_thread_fence(5);
        }
    }

    #[test]
    fn a_failed_exchange_gives_the_value_that_is_there() {
        let mut word = 5u32;
        let mut expected = 4u32;
        let mut long = 1u64;
        // SAFETY: the variables live.
        unsafe {
            assert!(!__tsan_atomic32_compare_exchange_strong(&mut word, &mut expected, 6, 5, 0));
            assert_eq!((word, expected), (5, 5));
            assert!(__tsan_atomic32_compare_exchange_strong(&mut word, &mut expected, 6, 5, 0));
            assert_eq!((word, expected), (6, 5));
            assert_eq!(__tsan_atomic64_fetch_sub(&mut long, 2, 4), 1);
        }
        assert_eq!(long, u64::MAX);
    }

    #[test]
    fn all_128_bits_are_changed_at_once() {
        let big = 3u128 << 64 | 5;
        let mut word = 0u128;
        let mut expected = 1u128 << 127;
        // SAFETY: the variables live and are aligned to 16 bytes.
        unsafe {
            __tsan_atomic128_store(&mut word, big, 5);
            assert_eq!(__tsan_atomic128_load(&mut word, 2), big);
            assert_eq!(__tsan_atomic128_fetch_add(&mut word, u128::from(u64::MAX), 0), big);
            assert_eq!(word, big + u128::from(u64::MAX));
            assert_eq!(
                __tsan_atomic128_compare_exchange_val(&mut word, 0, 1, 4, 2),
                big + u128::from(u64::MAX)
            );
            assert!(!__tsan_atomic128_compare_exchange_weak(&mut word, &mut expected, 1, 4, 2));
            assert_eq!(expected, word);
            assert!(__tsan_atomic128_compare_exchange_weak(&mut word, &mut expected, big << 3, 4, 2));
            assert_eq!(__tsan_atomic128_compare_exchange_val(&mut word, big << 3, 9, 4, 2), big << 3);
        }
        assert_eq!(word, 9);
    }
}
