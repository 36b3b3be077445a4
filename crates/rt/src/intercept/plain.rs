//! `memcpy` and its like for the runtime itself.
//!
//! The compiler makes calls of these six functions out of ordinary Rust code. In a program they would find the interceptors,
//! so the references of the runtime are renamed to the functions here when it is packaged. Each goes on through a pointer:
//! at first to a few instructions that need nothing, from the start of the program on to the C library's own.

use libc::{c_int, c_void, size_t};
use std::arch::naked_asm;
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Defines `$export`, which jumps to where `$pointer` points, first to `$simple`.
macro_rules! plain {
    ($($export:ident, $pointer:ident, $simple:ident, $name:literal, fn $call:ident($($argument:ident: $type:ty),*) -> $result:ty {
        $($instruction:literal),* $(,)?
    })*) => {
        $(
            static $pointer: AtomicPtr<c_void> = AtomicPtr::new($simple as *mut c_void);

            #[unsafe(naked)]
            unsafe extern "C" fn $simple($($argument: $type),*) -> $result {
                naked_asm!($($instruction),*)
            }

            /// What the runtime calls under this name of the C library.
            ///
            /// # Safety
            /// That of the function of the C library.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub(crate) unsafe extern "C" fn $export($($argument: $type),*) -> $result {
                naked_asm!("jmp qword ptr [rip + {pointer}]", pointer = sym $pointer)
            }

            /// The function, for interceptors.
            ///
            /// # Safety
            /// That of the function of the C library.
            #[inline]
            pub(crate) unsafe fn $call($($argument: $type),*) -> $result {
                // SAFETY: the caller keeps the contract.
                unsafe { $export($($argument),*) }
            }
        )*

        /// Takes the functions that `find` finds.
        pub(crate) fn adopt(find: impl Fn(&CStr) -> Option<*mut c_void>) {
            $(
                if let Some(address) = find($name) {
                    $pointer.store(address, Relaxed);
                }
            )*
        }
    };
}

plain! {
    __keirin_plain_memcpy, MEMCPY, simple_memcpy, c"memcpy",
    fn memcpy(to: *mut c_void, from: *const c_void, size: size_t) -> *mut c_void {
        "mov rax, rdi",
        "mov rcx, rdx",
        "rep movsb",
        "ret",
    }

    __keirin_plain_memmove, MEMMOVE, simple_memmove, c"memmove",
    fn memmove(to: *mut c_void, from: *const c_void, size: size_t) -> *mut c_void {
        "mov rax, rdi",
        "mov rcx, rdx",
        // Forwards, unless that would overwrite what is still to be read: to - from < size, without sign.
        "mov r8, rdi",
        "sub r8, rsi",
        "cmp r8, rdx",
        "jb 2f",
        "rep movsb",
        "ret",
        "2:",
        "lea rdi, [rdi + rdx - 1]",
        "lea rsi, [rsi + rdx - 1]",
        "std",
        "rep movsb",
        "cld",
        "ret",
    }

    __keirin_plain_memset, MEMSET, simple_memset, c"memset",
    fn memset(to: *mut c_void, byte: c_int, size: size_t) -> *mut c_void {
        "mov r8, rdi",
        "mov eax, esi",
        "mov rcx, rdx",
        "rep stosb",
        "mov rax, r8",
        "ret",
    }

    __keirin_plain_memcmp, MEMCMP, simple_memcmp, c"memcmp",
    fn memcmp(a: *const c_void, b: *const c_void, size: size_t) -> c_int {
        "mov rcx, rdx",
        // Sets the zero flag, for nothing is compared if the size is zero.
        "xor eax, eax",
        "repe cmpsb",
        "je 2f",
        "movzx eax, byte ptr [rdi - 1]",
        "movzx ecx, byte ptr [rsi - 1]",
        // cmpsb compares [rsi] with [rdi]: a was in rdi, b in rsi.
        "sub eax, ecx",
        "2:",
        "ret",
    }

    __keirin_plain_bcmp, BCMP, simple_bcmp, c"bcmp",
    fn bcmp(a: *const c_void, b: *const c_void, size: size_t) -> c_int {
        "mov rcx, rdx",
        "xor eax, eax",
        "repe cmpsb",
        "setne al",
        "ret",
    }

    __keirin_plain_strlen, STRLEN, simple_strlen, c"strlen",
    fn strlen(string: *const libc::c_char) -> size_t {
        "xor eax, eax",
        "mov rcx, -1",
        "repne scasb",
        "mov rax, rcx",
        "not rax",
        "dec rax",
        "ret",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pointer: &[u8]) -> *const c_void {
        pointer.as_ptr().cast()
    }

    #[test]
    fn the_simple_routines_do_what_their_names_say() {
        // SAFETY: all sizes are within the arrays.
        unsafe {
            let mut to = [9u8; 8];
            let at = to.as_mut_ptr();
            assert_eq!(simple_memcpy(at.cast(), bytes(b"abcdef"), 6), at.cast());
            assert_eq!(&to, b"abcdef\x09\x09");
            simple_memmove(at.add(1).cast(), at.cast(), 6);
            assert_eq!(&to, b"aabcdef\x09");
            simple_memmove(at.cast(), at.add(1).cast(), 6);
            assert_eq!(&to, b"abcdeff\x09");
            assert_eq!(simple_memset(at.add(1).cast(), 0x17a, 2), at.add(1).cast());
            assert_eq!(&to, b"azzdeff\x09");
            simple_memset(at.cast(), 1, 0);
            simple_memmove(at.cast(), at.add(3).cast(), 0);
            assert_eq!(&to, b"azzdeff\x09");
        }
    }

    #[test]
    fn comparisons_and_lengths() {
        // SAFETY: all sizes are within the arrays, and the strings end in zero.
        unsafe {
            assert!(simple_memcmp(bytes(b"abc"), bytes(b"abd"), 3) < 0);
            assert!(simple_memcmp(bytes(b"\xff"), bytes(b"\x01"), 1) > 0);
            assert_eq!(simple_memcmp(bytes(b"abc"), bytes(b"abd"), 2), 0);
            assert_eq!(simple_memcmp(bytes(b"a"), bytes(b"b"), 0), 0);
            assert_eq!(simple_bcmp(bytes(b"abc"), bytes(b"abc"), 3), 0);
            assert_eq!(simple_bcmp(bytes(b"abc"), bytes(b"xbc"), 3), 1);
            assert_eq!(simple_bcmp(bytes(b"a"), bytes(b"b"), 0), 0);
            assert_eq!(simple_strlen(c"".as_ptr()), 0);
            assert_eq!(simple_strlen(c"seven !".as_ptr()), 7);
        }
    }

    #[test]
    fn calls_go_through_the_pointers() {
        // SAFETY: the strings end in zero.
        unsafe {
            assert_eq!(strlen(c"four".as_ptr()), 4);
            assert_eq!(memcmp(bytes(b"same"), bytes(b"same"), 4), 0);
        }
    }
}
