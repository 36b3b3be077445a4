//! How hooks and interceptors learn where they were called from. All that depends on the processor stands here.
//!
//! A hook is a few instructions that load the return address, which lies on top of the stack, into the register of the
//! next argument, and jump to the body. The body is an ordinary function with one argument more, `pc`. No frame is added:
//! exceptions, cancellation and backtraces see only the body, and the body returns to the program.
//!
//! Functions with six arguments in registers have no register left; they do without `pc` or are written by hand.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the runtime is for Linux on x86-64");

/// The register of the argument that follows the given ones.
macro_rules! pc_register {
    () => {
        "rdi"
    };
    ($a:tt) => {
        "rsi"
    };
    ($a:tt $b:tt) => {
        "rdx"
    };
    ($a:tt $b:tt $c:tt) => {
        "rcx"
    };
    ($a:tt $b:tt $c:tt $d:tt) => {
        "r8"
    };
    ($a:tt $b:tt $c:tt $d:tt $e:tt) => {
        "r9"
    };
}

/// Defines functions whose bodies know the address they return to: `fn name(arguments; pc) -> result { body }`.
///
/// The bodies are unsafe blocks: an interceptor has the contract of the function it stands for, and its caller keeps it.
macro_rules! with_return_address {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident($($argument:ident: $type:ty),*; $pc:ident) $(-> $result:ty)? $body:block
    )*) => {$(
        const _: () = {
            // Some bodies need nothing unsafe.
            #[allow(unused_unsafe)]
            unsafe extern "C-unwind" fn body($($argument: $type,)* $pc: usize) $(-> $result)? {
                // SAFETY: the contract of the function, kept by the program that calls it.
                unsafe { $body }
            }
            $(#[$attribute])*
            #[unsafe(naked)]
            #[allow(non_snake_case)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
                core::arch::naked_asm!(
                    concat!("mov ", $crate::intercept::arch::pc_register!($($argument)*), ", qword ptr [rsp]"),
                    "jmp {body}",
                    body = sym body,
                )
            }
        };
    )*};
}

/// Defines functions of the C library again, under their own names in the runtime that is linked into programs.
macro_rules! intercept {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $pc:ident) $(-> $result:ty)? $body:block)*) => {
        $crate::intercept::arch::with_return_address! {$(
            #[cfg_attr(feature = "interpose", unsafe(no_mangle))]
            fn $name($($argument: $type),*; $pc) $(-> $result)? $body
        )*}
    };
}

/// Defines functions that compilers and headers know by name.
macro_rules! hooks {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $pc:ident) $(-> $result:ty)? $body:block)*) => {
        $crate::intercept::arch::with_return_address! {$(
            #[unsafe(no_mangle)]
            fn $name($($argument: $type),*; $pc) $(-> $result)? $body
        )*}
    };
}

/// Defines functions with any number of arguments, which call `before` and go on in the function that it returns. That one
/// sees the program as its caller: `dlopen` looks at it, and the arguments of `execl` cannot be passed on otherwise.
macro_rules! announce {
    ($(fn $name:ident => $before:path;)*) => {$(
        #[cfg_attr(feature = "interpose", unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "call {before}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                before = sym $before,
            )
        }
    )*};
}

/// Defines a function that a library calls back, and whose body knows the stack pointer at its start.
macro_rules! with_stack_pointer {
    ($visible:vis fn $name:ident($a:ident: $first:ty, $b:ident: $second:ty, $c:ident: $third:ty; $stack:ident) $body:block) => {
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name($a: $first, $b: $second, $c: $third) {
            unsafe extern "C" fn body($a: $first, $b: $second, $c: $third, $stack: usize) {
                // SAFETY: the contract of the callback, kept by the library that calls it.
                unsafe { $body }
            }
            core::arch::naked_asm!("mov rcx, rsp", "jmp {body}", body = sym body)
        }
    };
}

pub(crate) use {announce, hooks, intercept, pc_register, with_return_address, with_stack_pointer};
