//! Functions are entered and left.

use crate::watch;
use std::arch::naked_asm;

/// A function is entered; the argument is the return address of its call.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_entry(call: usize) {
    // The stack pointer tells later which functions were left without notice; the return address which one this is.
    naked_asm!("mov rsi, rsp", "mov rdx, [rsp]", "jmp {entered}", entered = sym entered)
}

extern "C" fn entered(call: usize, stack_pointer: usize, function: usize) {
    watch::function_entered(function, call, stack_pointer);
}

/// A function is about to return.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_exit() {
    naked_asm!("mov rdi, rsp", "mov rsi, [rsp]", "jmp {left}", left = sym left)
}

extern "C" fn left(stack_pointer: usize, pc: usize) {
    watch::function_left(stack_pointer, pc);
}
