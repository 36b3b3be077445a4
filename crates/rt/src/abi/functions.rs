//! Functions are entered and left.
//!
//! Mostly that changes nothing but which calls are open, and a function that is called is the same that was called last from where the program is. That is
//! written out in assembly, and is what `thread::calls` does: the frame of that call is still there. All else goes the way through [`watch`].

use crate::thread::calls::offsets::*;
use crate::thread::{MIX_FACTOR, MIX_ROTATION};
use crate::{tls, watch};
use std::arch::naked_asm;

/// A function is entered; the argument is the return address of its call.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_entry(call: usize) {
    naked_asm!(
        "mov rax, qword ptr [rip + __keirin_tls@GOTTPOFF]",
        "mov rcx, qword ptr fs:[rax + {counts_calls}]",
        "test rcx, rcx",
        "jz 2f",
        // Within the innermost call, if one is open. (Those around the task may have been left without notice.)
        "mov rdx, qword ptr [rcx + {depth}]",
        "test rdx, rdx",
        "jz 2f",
        "cmp rdx, qword ptr [rcx + {base}]",
        "jb 2f",
        "mov r8, rdx",
        "shl r8, {frame_shift}",
        "add r8, qword ptr [rcx + {frames}]",
        "cmp qword ptr [r8 - {innermost} + {frame_stack_pointer}], rsp",
        "jbe 2f",
        // The same call as the last one from here, in the same calls.
        "cmp qword ptr [r8 + {frame_call}], rdi",
        "jne 2f",
        "mov r9d, dword ptr [r8 + {frame_told_as}]",
        "cmp r9, rdx",
        "jne 3f",
        "xor r9d, r9d",
        "cmp rdx, qword ptr [rcx + {base}]",
        "cmova r9, qword ptr [r8 - {innermost} + {frame_hash}]",
        "xor r9, rdi",
        "movabs r10, {factor}",
        "imul r9, r10",
        "rol r9, {rotation}",
        "4:",
        "cmp qword ptr [r8 + {frame_hash}], r9",
        "jne 2f",
        "mov qword ptr [r8 + {frame_stack_pointer}], rsp",
        "inc rdx",
        "mov qword ptr [rcx + {depth}], rdx",
        "mov qword ptr [rcx + {calls}], r9",
        "mov qword ptr fs:[rax + {tls_calls}], r9",
        "ret",
        // It calls itself: it is told as the outermost call of the task from there, if that is still open. (What is greater was a region.)
        "3:",
        "ja 2f",
        "cmp r9, qword ptr [rcx + {base}]",
        "jb 2f",
        "mov r10, r9",
        "shl r10, {frame_shift}",
        "add r10, qword ptr [rcx + {frames}]",
        "cmp qword ptr [r10 + {frame_call}], rdi",
        "jne 2f",
        "cmp dword ptr [r10 + {frame_told_as}], r9d",
        "jne 2f",
        "mov r9, qword ptr [r10 + {frame_hash}]",
        "jmp 4b",
        // The stack pointer tells later which functions were left without notice; the return address which one this is.
        "2:",
        "mov rsi, rsp",
        "mov rdx, [rsp]",
        "jmp {entered}",
        counts_calls = const tls::COUNTS_CALLS,
        tls_calls = const tls::CALLS,
        depth = const DEPTH,
        base = const BASE,
        frames = const FRAMES,
        calls = const CALLS,
        frame_shift = const FRAME_SHIFT,
        frame_call = const CALL,
        frame_stack_pointer = const STACK_POINTER,
        frame_hash = const HASH,
        frame_told_as = const TOLD_AS,
        innermost = const INNERMOST,
        factor = const MIX_FACTOR,
        rotation = const MIX_ROTATION,
        entered = sym entered,
    )
}

extern "C" fn entered(call: usize, stack_pointer: usize, function: usize) {
    watch::function_entered(function, call, stack_pointer);
}

/// A function is about to return.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_exit() {
    naked_asm!(
        "mov rax, qword ptr [rip + __keirin_tls@GOTTPOFF]",
        "mov rcx, qword ptr fs:[rax + {counts_calls}]",
        "test rcx, rcx",
        "jz 2f",
        "mov rdx, qword ptr [rcx + {depth}]",
        "cmp rdx, 2",
        "jb 2f",
        "mov r8, rdx",
        "shl r8, {frame_shift}",
        "add r8, qword ptr [rcx + {frames}]",
        // None but the innermost one is left: with the pointer that it began with,
        "mov r9, qword ptr [r8 - {innermost} + {frame_stack_pointer}]",
        "cmp r9, rsp",
        "jne 3f",
        "cmp qword ptr [r8 - {outer} + {frame_stack_pointer}], rsp",
        "jbe 2f",
        "4:",
        "cmp dword ptr [r8 - {innermost} + {frame_told_as}], 0",
        "js 2f",
        "dec rdx",
        "xor r9d, r9d",
        "cmp rdx, qword ptr [rcx + {base}]",
        "cmova r9, qword ptr [r8 - {outer} + {frame_hash}]",
        "mov qword ptr [rcx + {depth}], rdx",
        "mov qword ptr [rcx + {calls}], r9",
        "mov qword ptr fs:[rax + {tls_calls}], r9",
        "ret",
        // or by a jump to the hook: then it is the caller's, and so is the return address.
        "3:",
        "ja 2f",
        "cmp qword ptr [r8 - {outer} + {frame_stack_pointer}], rsp",
        "jb 2f",
        "mov r9, [rsp]",
        "cmp qword ptr [r8 - {innermost} + {frame_call}], r9",
        "je 4b",
        "2:",
        "mov rdi, rsp",
        "mov rsi, [rsp]",
        "jmp {left}",
        counts_calls = const tls::COUNTS_CALLS,
        tls_calls = const tls::CALLS,
        depth = const DEPTH,
        base = const BASE,
        frames = const FRAMES,
        calls = const CALLS,
        frame_shift = const FRAME_SHIFT,
        frame_call = const CALL,
        frame_stack_pointer = const STACK_POINTER,
        frame_hash = const HASH,
        frame_told_as = const TOLD_AS,
        innermost = const INNERMOST,
        outer = const OUTER,
        left = sym left,
    )
}

extern "C" fn left(stack_pointer: usize, pc: usize) {
    watch::function_left(stack_pointer, pc);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places;
    use crate::thread::Thread;
    use keirin_core::event::ThreadId;
    use proptest::prelude::*;

    /// Calls a hook with an argument and a stack pointer, below which there is room.
    #[unsafe(naked)]
    extern "C" fn call_at(hook: usize, argument: usize, stack_pointer: usize) {
        naked_asm!(
            "push rbx",
            "mov rbx, rsp",
            "lea rsp, [rdx + 8]",
            "mov rax, rdi",
            "mov rdi, rsi",
            "call rax",
            "mov rsp, rbx",
            "pop rbx",
            "ret",
        )
    }

    #[derive(Clone, Copy, Debug)]
    enum Deed {
        /// One of a few calls is made.
        Enters(usize),
        /// The innermost function returns.
        Leaves,
        /// It does so by a jump to the hook.
        Jumps,
        /// So many functions are left without notice.
        Loses(usize),
        BeginsTask,
        EndsTask,
    }

    fn deed() -> impl Strategy<Value = Deed> {
        prop_oneof![
            8 => (0usize..4).prop_map(Deed::Enters),
            6 => Just(Deed::Leaves),
            2 => Just(Deed::Jumps),
            1 => (1usize..4).prop_map(Deed::Loses),
            1 => Just(Deed::BeginsTask),
            1 => Just(Deed::EndsTask),
        ]
    }

    const SLOTS: usize = 12;
    /// The frames of the functions, which begin at addresses that are aligned as the compiler has it.
    const SLOT_BYTES: usize = 64;
    /// For what a hook needs itself.
    const ROOM_BYTES: usize = 1 << 18;

    proptest! {
        /// The hooks count calls as a thread does that is told of them.
        #[test]
        fn calls_are_counted_as_they_are_told(deeds in proptest::collection::vec(deed(), 1..400)) {
            let new = || Thread::new(ThreadId(0), ThreadId(0), 1, std::ptr::null_mut());
            let mut told = new();
            let counted = Box::into_raw(new());
            tls::set_thread(counted);
            let mut stack = vec![0u64; (ROOM_BYTES + (SLOTS + 2) * SLOT_BYTES) / 8];
            let stack = stack.as_mut_ptr().addr().next_multiple_of(SLOT_BYTES) + ROOM_BYTES;
            // Where the hooks return to is the place of one of the calls.
            let at = stack + SLOTS * SLOT_BYTES - 8;
            call_at(__tsan_func_exit as *const () as usize, 0, at);
            // SAFETY: the hook was called with this stack pointer.
            let pc = unsafe { *(at as *const usize) };
            let calls = [pc, 0x11, 0x22, 0x33];
            let (mut depth, mut tasks) = (0, 0);
            for deed in deeds {
                let at = |depth: usize| stack + (SLOTS - depth) * SLOT_BYTES - 8;
                match deed {
                    Deed::Enters(call) if depth < SLOTS => {
                        depth += 1;
                        told.enter_function(calls[call], at(depth), false);
                        call_at(__tsan_func_entry as *const () as usize, calls[call], at(depth));
                    }
                    Deed::Leaves if depth > 0 => {
                        told.leave_function(at(depth), pc);
                        call_at(__tsan_func_exit as *const () as usize, 0, at(depth));
                        depth -= 1;
                    }
                    Deed::Jumps if depth > 0 => {
                        told.leave_function(at(depth) + SLOT_BYTES / 2, pc);
                        call_at(__tsan_func_exit as *const () as usize, 0, at(depth) + SLOT_BYTES / 2);
                        depth -= 1;
                    }
                    Deed::Loses(count) => depth -= count.min(depth),
                    Deed::BeginsTask => {
                        told.enter_task();
                        // SAFETY: made above; no hook is running.
                        unsafe { (*counted).enter_task() };
                        tasks += 1;
                    }
                    Deed::EndsTask if tasks > 0 => {
                        told.leave_task();
                        // SAFETY: as above.
                        unsafe { (*counted).leave_task() };
                        tasks -= 1;
                    }
                    _ => continue,
                }
                // SAFETY: as above.
                let counted = unsafe { &mut *counted };
                prop_assert_eq!(tls::calls(), told.stack_hash());
                prop_assert_eq!((counted.depth(), counted.stack_hash()), (told.depth(), told.stack_hash()));
                let places = [counted.place(0x99, 8), told.place(0x99, 8)];
                let stacks = places.map(|number| places::place(number).map(|place| places::calls(place.stack)));
                prop_assert_eq!(&stacks[0], &stacks[1]);
            }
            tls::set_thread(std::ptr::null_mut());
            // SAFETY: made above, and nobody refers to it any more.
            drop(unsafe { Box::from_raw(counted) });
        }
    }
}
