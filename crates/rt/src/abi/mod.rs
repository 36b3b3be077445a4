//! What the compilers call: a placeholder that does what the program asks for and tells nothing.

use std::sync::atomic::{AtomicI8, AtomicI16, AtomicI32, AtomicI64, Ordering::SeqCst};

macro_rules! silent {
    ($($name:ident)+) => { $(
        /// Tells nothing.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )+ };
}
silent! {
    __tsan_init __tsan_func_entry __tsan_func_exit __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
    __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16 __tsan_read_range __tsan_write_range
    __tsan_unaligned_read2 __tsan_unaligned_read4 __tsan_unaligned_read8 __tsan_unaligned_read16
    __tsan_unaligned_write2 __tsan_unaligned_write4 __tsan_unaligned_write8 __tsan_unaligned_write16
    __tsan_vptr_update __tsan_vptr_read __tsan_ignore_thread_begin __tsan_ignore_thread_end
    __tsan_atomic_thread_fence __tsan_atomic_signal_fence __keirin_start
}

macro_rules! atomics {
    ($($type:ty, $plain:ty: $load:ident $store:ident $exchange:ident $add:ident $sub:ident $strong:ident $val:ident;)+) => { $(
        /// # Safety
        /// `at` is valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(at: &$type) -> $plain { at.load(SeqCst) }
        /// # Safety
        /// `at` is valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(at: &$type, value: $plain) { at.store(value, SeqCst) }
        /// # Safety
        /// `at` is valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $exchange(at: &$type, value: $plain) -> $plain { at.swap(value, SeqCst) }
        /// # Safety
        /// `at` is valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $add(at: &$type, value: $plain) -> $plain { at.fetch_add(value, SeqCst) }
        /// # Safety
        /// `at` is valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $sub(at: &$type, value: $plain) -> $plain { at.fetch_sub(value, SeqCst) }
        /// # Safety
        /// `at` is valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $strong(at: &$type, expected: &mut $plain, value: $plain) -> bool {
            at.compare_exchange(*expected, value, SeqCst, SeqCst).map_err(|found| *expected = found).is_ok()
        }
        /// # Safety
        /// `at` is valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $val(at: &$type, expected: $plain, value: $plain) -> $plain {
            at.compare_exchange(expected, value, SeqCst, SeqCst).unwrap_or_else(|found| found)
        }
    )+ };
}
atomics! {
    AtomicI8, i8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add
        __tsan_atomic8_fetch_sub __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_val;
    AtomicI16, i16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add
        __tsan_atomic16_fetch_sub __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_val;
    AtomicI32, i32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add
        __tsan_atomic32_fetch_sub __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_val;
    AtomicI64, i64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add
        __tsan_atomic64_fetch_sub __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_val;
}

unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8;
    fn memset(to: *mut u8, byte: i32, size: usize) -> *mut u8;
}

/// # Safety
/// As memcpy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __keirin_intercept_memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { memcpy(to, from, size) }
}

/// # Safety
/// As memcpy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { memcpy(to, from, size) }
}

/// # Safety
/// As memset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memset(to: *mut u8, byte: i32, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { memset(to, byte, size) }
}
