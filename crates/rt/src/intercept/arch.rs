//! How hooks and interceptors learn where they were called from. All that depends on the processor stands here.
//!
//! A hook is a few instructions that load the return address, which lies on top of the stack, into the register of the
//! next argument, and jump to the body. The body is an ordinary function with one argument more, `pc`. No frame is added:
//! exceptions, cancellation and backtraces see only the body, and the body returns to the program.
//!
//! Functions with six arguments in registers have no register left; there are other ways for them below.

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

/// What [`variadic!`] passes on: the arguments without a name, as `va_list` has them, and the address to return to.
#[repr(C)]
pub(crate) struct Arguments {
    list: [usize; 3],
    pub(crate) pc: usize,
}

/// The arguments without a name, for the functions of the C library that take a `va_list`.
pub(crate) type List = *mut Arguments;

/// Defines functions with any number of arguments behind the named ones, whose bodies get them as [`Arguments`]. Only for
/// functions that neither throw nor are cancelled: there is a frame between body and program, without notes for unwinding.
macro_rules! variadic {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $list:ident) -> $result:ty $body:block)*) => {$(
        const _: () = {
            unsafe extern "C-unwind" fn body($($argument: $type,)* $list: $crate::intercept::arch::List) -> $result {
                // SAFETY: the contract of the function, kept by the program that calls it.
                unsafe { $body }
            }
            #[cfg_attr(feature = "interpose", unsafe(no_mangle))]
            #[unsafe(naked)]
            #[allow(non_snake_case)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
                core::arch::naked_asm!(
                    // The list and the return address; behind them, at 32, all registers that may hold arguments.
                    "sub rsp, 216",
                    "mov qword ptr [rsp + 32], rdi",
                    "mov qword ptr [rsp + 40], rsi",
                    "mov qword ptr [rsp + 48], rdx",
                    "mov qword ptr [rsp + 56], rcx",
                    "mov qword ptr [rsp + 64], r8",
                    "mov qword ptr [rsp + 72], r9",
                    "test al, al",
                    "je 2f",
                    "movaps xmmword ptr [rsp + 80], xmm0",
                    "movaps xmmword ptr [rsp + 96], xmm1",
                    "movaps xmmword ptr [rsp + 112], xmm2",
                    "movaps xmmword ptr [rsp + 128], xmm3",
                    "movaps xmmword ptr [rsp + 144], xmm4",
                    "movaps xmmword ptr [rsp + 160], xmm5",
                    "movaps xmmword ptr [rsp + 176], xmm6",
                    "movaps xmmword ptr [rsp + 192], xmm7",
                    "2:",
                    // How much of the registers is used up, where the other arguments are, where the registers are.
                    "mov dword ptr [rsp], {named}",
                    "mov dword ptr [rsp + 4], 48",
                    "lea r10, [rsp + 224]",
                    "mov qword ptr [rsp + 8], r10",
                    "lea r10, [rsp + 32]",
                    "mov qword ptr [rsp + 16], r10",
                    "mov r10, qword ptr [rsp + 216]",
                    "mov qword ptr [rsp + 24], r10",
                    concat!("mov ", $crate::intercept::arch::pc_register!($($argument)*), ", rsp"),
                    "call {body}",
                    "add rsp, 216",
                    "ret",
                    named = const 8 * [$(stringify!($argument)),*].len(),
                    body = sym body,
                )
            }
        };
    )*};
}

/// Defines functions whose arguments fill all registers, but of which the first and the one in `$register` are numbers of 32
/// bits: both go into the first register, and the other one gets the address to return to.
macro_rules! with_packed_numbers {
    ($(fn $name:ident by $register:literal => $body:path;)*) => {$(
        #[cfg_attr(feature = "interpose", unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                concat!("shl ", $register, ", 32"),
                "mov edi, edi",
                concat!("or rdi, ", $register),
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {body}",
                body = sym $body,
            )
        }
    )*};
}

/// Defines functions whose arguments fill all registers: their bodies get the address to return to on the stack, behind the
/// others. Only for functions that neither throw nor are cancelled, as with [`variadic!`].
macro_rules! with_stacked_address {
    ($(fn $name:ident => $body:path;)*) => {$(
        #[cfg_attr(feature = "interpose", unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                "push qword ptr [rsp]",
                "call {body}",
                "add rsp, 8",
                "ret",
                body = sym $body,
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

pub(crate) use {
    announce, hooks, intercept, pc_register, variadic, with_packed_numbers, with_return_address,
    with_stack_pointer, with_stacked_address,
};
