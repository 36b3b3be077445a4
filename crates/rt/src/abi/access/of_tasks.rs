//! The checks of accesses in programs with tasks (see `tasks::words`): there is nothing to do if the running step has written the bytes, or read them
//! and does so again; what is read may be remembered as one of two reads. Or the access is where it was expected, or the thread has
//! done the same lately.
//!
//! The constants are those of `hook!`.

/// In a program with tasks: puts the shadow of the word into `r10` and the number of the running step into `r9`. Goes to `9:` if
/// nothing is watched so, and returns if nothing need be told. `rax` points at the thread's words.
macro_rules! task_prepare {
    () => {
        concat!(
            "mov r9, qword ptr fs:[rax + {task}]\n",
            "test r9, r9\n",
            "jz 9f\n",
            "jns 4f\n",
            "ret\n",
            "4:\n",
            "movabs rcx, {words}\n",
            "movabs r8, {base}\n",
            "and rcx, rdi\n",
            "mov r10, qword ptr [r8 + rcx]\n",
        )
    };
}

/// Returns if the bytes whose code is in the lowest six bits of `rdx` hold those of the access. `$mask` is the mask of the bytes
/// if they were the first ones. Bytes beyond the word are never among them.
macro_rules! return_if_covered {
    ($mask:literal) => {
        concat!(
            "and edx, 63\n",
            "lea r8, [rip + {runs}]\n",
            "movzx edx, byte ptr [r8 + rdx]\n",
            "not edx\n",
            "mov ecx, edi\n",
            "and ecx, 7\n",
            "mov esi, ",
            $mask,
            "\n",
            "shl esi, cl\n",
            "test esi, edx\n",
            "jnz 5f\n",
            "ret\n",
        )
    };
}

/// The end of the check in a program with tasks: returns if the access is where it was expected, or if the thread has done this
/// lately (see `tasks::recent`). `$mask` is the mask of its bytes if they were the first ones of a line, `$write` 1 for a write.
macro_rules! return_if_expected {
    ($mask:literal, $size:literal, $write:literal) => {
        concat!(
            "5:\n",
            "mov rsi, qword ptr [rsp]\n",
            "mov rdx, qword ptr fs:[rax + {calls}]\n",
            "movzx ecx, sil\n",
            "shl ecx, 6\n",
            "add rcx, qword ptr fs:[rax + {pending}]\n",
            "xor rdx, rsi\n",
            "cmp rdx, qword ptr [rcx + {run_key}]\n",
            "jne 9f\n",
            "cmp rdi, qword ptr [rcx + {run_next}]\n",
            "jne 3f\n",
            "mov rdx, qword ptr [rcx + {run_from}]\n",
            "xor rdx, rdi\n",
            "shr rdx, 12\n",
            "jnz 9f\n",
            "add rdi, qword ptr [rcx + {run_distance}]\n",
            "mov qword ptr [rcx + {run_next}], rdi\n",
            "ret\n",
            // The last one once more.
            "3:\n",
            "mov rdx, qword ptr [rcx + {run_distance}]\n",
            "add rdx, rdi\n",
            "cmp rdx, qword ptr [rcx + {run_next}]\n",
            "jne 9f\n",
            "ret\n",
            "9:\n",
            "mov r8, qword ptr fs:[rax + {recent}]\n",
            "test r8, r8\n",
            "jz 6f\n",
            "mov rcx, rdi\n",
            "mov rdx, rdi\n",
            "shr rcx, 6\n",
            "shr rdx, {recent_stretch}\n",
            "imul rdx, rdx, {recent_spread}\n",
            "shr rdx, {recent_spread_shift}\n",
            "add rdx, rcx\n",
            "and edx, {recent_last}\n",
            "xor edx, ",
            $write,
            " * {recent_writes}\n",
            "shl edx, 4\n",
            "shl rcx, {recent_line}\n",
            "or rcx, qword ptr fs:[rax + {recent_turn}]\n",
            "or rcx, ",
            $write,
            "\n",
            "cmp rcx, qword ptr [r8 + rdx]\n",
            "jne 6f\n",
            "mov rdx, qword ptr [r8 + rdx + 8]\n",
            "not rdx\n",
            "mov ecx, edi\n",
            "and ecx, 63\n",
            "cmp ecx, 64 - ",
            $size,
            "\n",
            "ja 6f\n",
            "shr rdx, cl\n",
            "test edx, ",
            $mask,
            "\n",
            "jnz 6f\n",
            "ret\n",
            "6:\n",
        )
    };
}

/// A write in a program with tasks: nothing to do if the step has written the bytes.
macro_rules! task_write {
    ($mask:literal, $size:literal) => {
        concat!(
            task_prepare!(),
            "/* without {second_bytes}, {readers}, {second} */\n",
            "mov rdx, r10\n",
            "shr rdx, {first}\n",
            "cmp rdx, r9\n",
            "jne 5f\n",
            "test r10b, 3\n",
            "jnz 5f\n",
            "mov rdx, r10\n",
            "shr rdx, {first_bytes}\n",
            return_if_covered!($mask),
            return_if_expected!($mask, $size, "1"),
        )
    };
}

/// A write of a whole word. Of an unaligned one nothing is known.
macro_rules! task_write_8 {
    () => {
        concat!(
            task_prepare!(),
            "/* without {second_bytes}, {readers}, {runs}, {second} */\n",
            "test dil, 7\n",
            "jnz 5f\n",
            "shl r9, {first}\n",
            "or r9, 63 << {first_bytes}\n",
            "xor r10, r9\n",
            "movabs rdx, (0x1ffffff << {first}) | (63 << {first_bytes}) | 3\n",
            "test r10, rdx\n",
            "jnz 5f\n",
            "ret\n",
            return_if_expected!("255", "8", "1"),
        )
    };
}

/// A write of two words.
macro_rules! task_write_16 {
    () => {
        concat!(
            task_prepare!(),
            "/* without {second_bytes}, {readers}, {runs}, {second} */\n",
            "test dil, 7\n",
            "jnz 5f\n",
            "mov r11, qword ptr [r8 + rcx + 8]\n",
            "shl r9, {first}\n",
            "or r9, 63 << {first_bytes}\n",
            "xor r10, r9\n",
            "xor r11, r9\n",
            "or r10, r11\n",
            "movabs rdx, (0x1ffffff << {first}) | (63 << {first_bytes}) | 3\n",
            "test r10, rdx\n",
            "jnz 5f\n",
            "ret\n",
            return_if_expected!("65535", "16", "1"),
        )
    };
}

/// Goes to `$found` if the step, which is in `r9`, has written or read all bytes of the word in `r10`.
macro_rules! find_whole_read {
    ($found:literal) => {
        concat!(
            // A read beside a write, or the second of two reads.
            "mov rdx, r9\n",
            "shl rdx, {second}\n",
            "or rdx, 63 << {second_bytes}\n",
            "xor rdx, r10\n",
            "movabs rsi, (0x1ffffff << {second}) | (63 << {second_bytes}) | 2\n",
            "test rdx, rsi\n",
            "jz ",
            $found,
            "\n",
            // The last write.
            "mov rdx, r9\n",
            "shl rdx, {first}\n",
            "or rdx, 63 << {first_bytes}\n",
            "xor rdx, r10\n",
            "movabs rsi, (0x1ffffff << {first}) | (63 << {first_bytes}) | 3\n",
            "test rdx, rsi\n",
            "jz ",
            $found,
            "\n",
            // The first of two reads.
            "mov rdx, r9\n",
            "shl rdx, {first}\n",
            "or rdx, (63 << {second_bytes}) | {readers}\n",
            "xor rdx, r10\n",
            "movabs rsi, (0x1ffffff << {first}) | (63 << {second_bytes}) | 3\n",
            "test rdx, rsi\n",
            "jz ",
            $found,
            "\n",
        )
    };
}

/// A read of a whole word. Of an unaligned one nothing is known.
macro_rules! task_read_8 {
    () => {
        concat!(
            task_prepare!(),
            "/* without {runs} */\n",
            "test dil, 7\n",
            "jnz 5f\n",
            find_whole_read!("8f"),
            "jmp 5f\n",
            "8:\n",
            "ret\n",
            return_if_expected!("255", "8", "0"),
        )
    };
}

/// A read of two words.
macro_rules! task_read_16 {
    () => {
        concat!(
            task_prepare!(),
            "/* without {runs} */\n",
            "test dil, 7\n",
            "jnz 5f\n",
            find_whole_read!("7f"),
            "jmp 5f\n",
            "7:\n",
            "mov r10, qword ptr [r8 + rcx + 8]\n",
            find_whole_read!("8f"),
            "jmp 5f\n",
            "8:\n",
            "ret\n",
            return_if_expected!("65535", "16", "0"),
        )
    };
}

/// A read: nothing to do if the step has written or read the bytes.
macro_rules! task_read {
    ($mask:literal, $size:literal) => {
        concat!(
            task_prepare!(),
            "/* without {second} */\n",
            "mov rdx, r10\n",
            "shr rdx, {first}\n",
            "mov r11, r10\n",
            "shl r11, 64 - {first}\n",
            "shr r11, {first}\n",
            "test r10b, 3\n",
            "jnz 7f\n",
            "cmp r11, r9\n",
            "je 8f\n",
            "cmp rdx, r9\n",
            "jne 5f\n",
            "mov rdx, r10\n",
            "shr rdx, {first_bytes}\n",
            return_if_covered!($mask),
            "7:\n",
            "mov esi, r10d\n",
            "and esi, 3\n",
            "cmp esi, {readers}\n",
            "jne 5f\n",
            "cmp rdx, r9\n",
            "je 8f\n",
            "cmp r11, r9\n",
            "jne 5f\n",
            "8:\n",
            "mov rdx, r10\n",
            "shr rdx, {second_bytes}\n",
            return_if_covered!($mask),
            return_if_expected!($mask, $size, "0"),
        )
    };
}
