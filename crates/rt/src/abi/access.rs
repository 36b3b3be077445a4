//! Plain accesses. Here nearly all time is spent, so the common case is written out in assembly: the memory was accessed by
//! this thread in its current epoch, and nothing has changed since.
//!
//! The shadow of a half word (see `shadow`) holds, for an analysis with compact cells, the last write and the last read:
//! the epoch above, the place below. The thread's own epoch is in its thread-local words, in the form that a write or a read
//! of now would have left behind:
//!
//! | access | nothing to do if |
//! |---|---|
//! | write | all halves were last written in this epoch, as a whole, and not read since |
//! | read | all halves were last written in this epoch, as a whole; or last read in it |
//! | read of a word with one cell | the thread is among its readers in this epoch |
//! | either, of memory whose cells do not fit | the thread is noted there as having read or written the bytes in this epoch |
//!
//! The first two are the conditions of `Analysis::nothing_to_do` of FastTrack, or imply them. By the third, a reader among
//! several is not put in front of the others again; it stays remembered all the same. The numbers are looked at without the
//! lock: only this thread can have put its own epoch there. A thread that changes them at the same time races with this
//! one, and finds that out itself from what this thread had left there. If the thread's words are zero, everything is told.
//!
//! In programs with tasks the shadow looks otherwise, and the words above are zero: see `of_tasks`.
//!
//! The return address is the place; it is taken only if there is something to tell.

#[macro_use]
mod of_tasks;

use crate::layout::{ADDRESS_MASK, SHADOW, SHADOW_SHIFT};
use crate::shadow::NOTED_WRITES;
use crate::tasks;
use crate::tls::{CALLS, NOTE, PENDING, READ, READ_AMONG_OTHERS, RECENT, RECENT_TURN, TASK, WROTE};
use crate::watch;
use keirin_core::event::AccessKind;
use std::arch::naked_asm;

/// Bits of a number in the shadow that tell the place: see `keirin_core::analysis::fasttrack::Compact`.
const PLACE_BITS: u32 = keirin_core::analysis::fasttrack::Compact::SITE_BITS;
/// The bits of an address that say which half word it is in.
const HALF_MASK: usize = ADDRESS_MASK & !3;
const _: () = assert!(PLACE_BITS == 22 && SHADOW_SHIFT == 2);
const _: () = assert!(NOTED_WRITES == 8);

/// Puts the address of the shadow of the half word into `rcx` and the thread's write pattern into `rdx`, `rax` pointing at
/// the thread's words. Goes to `2:` if nothing is watched or the address is not aligned. `$unaligned`: bits of the address
/// that must be zero.
macro_rules! prepare {
    ($unaligned:literal) => {
        concat!(
            "mov rax, qword ptr [rip + __keirin_tls@GOTTPOFF]\n",
            "mov rdx, qword ptr fs:[rax + {wrote}]\n",
            "test rdx, rdx\n",
            "jz 2f\n",
            "test dil, ",
            $unaligned,
            "\n",
            "jnz 2f\n",
            "movabs rcx, {half}\n",
            "movabs r8, {base}\n",
            "and rcx, rdi\n",
            "lea rcx, [r8 + rcx * 4]\n",
        )
    };
}

/// Defines hooks: a fast check in assembly, and the slow way. The constants are those that the check uses.
macro_rules! hook {
    ($($name:ident)+, $slow:ident, $constants:tt, $check:expr, $task_check:expr) => {
        $(hook!(@one $name, $slow, $constants, $check, $task_check);)+
    };
    (@one $name:ident, $slow:ident, { $($constant:ident = $value:expr),* }, $check:expr, $task_check:expr) => {
        #[allow(missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(addr: usize) {
            naked_asm!(
                $check,
                "2:",
                $task_check,
                "mov rsi, [rsp]",
                "jmp {slow}",
                recent = const RECENT,
                recent_turn = const RECENT_TURN,
                recent_last = const tasks::RECENT_ENTRIES - 1,
                recent_spread = const tasks::RECENT_SPREAD,
                recent_writes = const tasks::RECENT_WRITES,
                recent_line = const tasks::RECENT_LINE_SHIFT,
                recent_stretch = const tasks::RECENT_STRETCH_SHIFT,
                recent_spread_shift = const tasks::RECENT_SPREAD_SHIFT,
                task = const TASK,
                calls = const CALLS,
                pending = const PENDING,
                run_key = const tasks::RUN_KEY,
                run_next = const tasks::RUN_NEXT,
                run_from = const tasks::RUN_FROM,
                run_distance = const tasks::RUN_DISTANCE,
                words = const ADDRESS_MASK & !7,
                runs = sym tasks::RUNS,
                first = const tasks::FIRST_SHIFT,
                second = const tasks::SECOND_SHIFT,
                first_bytes = const tasks::FIRST_BYTES_SHIFT,
                second_bytes = const tasks::SECOND_BYTES_SHIFT,
                readers = const tasks::READERS,
                wrote = const WROTE,
                base = const SHADOW.base,
                half = const HALF_MASK,
                $($constant = const $value,)*
                slow = sym $slow,
            )
        }
    };
}

/// Puts the head of a word, which is at `$head`, into `r11`, and its highest four bits into `rsi`: zero, if the cells are one
/// for each half.
macro_rules! look_at_head {
    ($head:literal) => {
        concat!("mov r11, qword ptr [rcx + ", $head, "]\n", "mov rsi, r11\n", "shr rsi, 60\n")
    };
}

/// Goes to `$found` if the thread is noted in the shadow of a word, `$at` bytes after `rcx`: first where its note is put if
/// there is room. `$bits` puts the bits that the note must have into `rsi`, and all that must be equal into `r11`.
macro_rules! find_noted {
    ($found:literal, $at:literal, $bits:expr $(, $first:expr)?) => {
        concat!(
            "mov rdx, qword ptr fs:[rax + {read}]\n",
            "mov r10, qword ptr fs:[rax + {note}]\n",
            $($first,)?
            $bits,
            find_noted!(@slot $found, $at, "r10"),
            find_noted!(@slot $found, $at, "0"),
            find_noted!(@slot $found, $at, "16"),
            find_noted!(@slot $found, $at, "24"),
        )
    };
    (@slot $found:literal, $at:literal, $slot:literal) => {
        concat!(
            "mov r9, qword ptr [rcx + ",
            $at,
            " + ",
            $slot,
            "]\n",
            "xor r9, rdx\n",
            "and r9, r11\n",
            "cmp r9, rsi\n",
            "je ",
            $found,
            "\n",
        )
    };
}

/// Goes to `$found` if the thread is among the readers of a word with one cell, `$at` bytes after `rcx`, and to `$other` if it
/// is no such word. The head is in `r11`, and its highest four bits in `rsi`.
macro_rules! find_shared {
    ($found:literal, $other:literal, $at:literal) => {
        concat!(
            "cmp esi, 1\n",
            "jne ",
            $other,
            "\n",
            "xor r11, qword ptr fs:[rax + {read_among}]\n",
            "shr r11, 22\n",
            "jz ",
            $found,
            "\n",
            "mov rdx, qword ptr fs:[rax + {read}]\n",
            find_shared!(@further $found, $at, "16"),
            find_shared!(@further $found, $at, "24"),
            "jmp 2f\n",
        )
    };
    (@further $found:literal, $at:literal, $number:literal) => {
        concat!(
            "mov r11, qword ptr [rcx + ",
            $at,
            " + ",
            $number,
            "]\n",
            "xor r11, rdx\n",
            "shr r11, 22\n",
            "jz ",
            $found,
            "\n",
        )
    };
}

/// The bits of a note that tells that all bytes of a word were read.
macro_rules! all_read {
    () => {
        "mov esi, 255\nmov r11, -65281\n"
    };
}

/// Goes to `$found` if the note at its usual place tells that all bytes of a word were read, and none was written: what
/// several threads read.
macro_rules! only_read {
    ($found:literal) => {
        concat!("mov r9, qword ptr [rcx + r10]\n", "xor r9, rdx\n", "cmp r9, 255\n", "je ", $found, "\n",)
    };
}

/// The bits of a note that tells that all bytes of a word were written.
macro_rules! all_written {
    () => {
        "mov esi, 65280\nmov r11, -256\n"
    };
}

/// Looks for a note about a part of a word: `$mask` is the mask of the bytes if they were the first ones, eight bits higher
/// for a write.
macro_rules! find_part_noted {
    ($found:literal, $mask:literal) => {
        concat!(
            "mov r8, rcx\n",
            "mov ecx, edi\n",
            "and ecx, 7\n",
            "mov esi, ",
            $mask,
            "\n",
            "shl esi, cl\n",
            "mov r11, -65536\n",
            "or r11, rsi\n",
            "mov rcx, r8\n",
            "and rcx, -32\n",
            find_noted!($found, "0", ""),
        )
    };
}

/// A write within one half word.
macro_rules! check_write {
    ($unaligned:literal, $mask:literal) => {
        concat!(
            prepare!($unaligned),
            "xor rdx, qword ptr [rcx]\n",
            "mov r9, qword ptr [rcx + 8]\n",
            "or rdx, r9\n",
            "shr rdx, 22\n",
            "jnz 3f\n",
            "4:\n",
            "ret\n",
            "3:\n",
            find_part_noted!("4b", $mask),
        )
    };
}

/// A write of two half words.
macro_rules! check_write_8 {
    () => {
        concat!(
            prepare!("3"),
            "mov r9, qword ptr [rcx]\n",
            "mov r10, qword ptr [rcx + 16]\n",
            "xor r9, rdx\n",
            "xor r10, rdx\n",
            "or r9, r10\n",
            "or r9, qword ptr [rcx + 8]\n",
            "or r9, qword ptr [rcx + 24]\n",
            "shr r9, 22\n",
            "jnz 3f\n",
            "4:\n",
            "ret\n",
            "3:\n",
            "test dil, 4\n",
            "jnz 2f\n",
            find_noted!("4b", "0", all_written!()),
        )
    };
}

/// A write of four half words.
macro_rules! check_write_16 {
    () => {
        concat!(
            prepare!("3"),
            "mov r9, qword ptr [rcx]\n",
            "mov r10, qword ptr [rcx + 16]\n",
            "xor r9, rdx\n",
            "xor r10, rdx\n",
            "or r9, r10\n",
            "mov r10, qword ptr [rcx + 32]\n",
            "xor r10, rdx\n",
            "xor rdx, qword ptr [rcx + 48]\n",
            "or r9, r10\n",
            "or r9, rdx\n",
            "or r9, qword ptr [rcx + 8]\n",
            "or r9, qword ptr [rcx + 24]\n",
            "or r9, qword ptr [rcx + 40]\n",
            "or r9, qword ptr [rcx + 56]\n",
            "shr r9, 22\n",
            "jnz 3f\n",
            "4:\n",
            "ret\n",
            "3:\n",
            "test dil, 4\n",
            "jnz 2f\n",
            find_noted!("5f", "0", all_written!()),
            "jmp 2f\n",
            "5:\n",
            find_noted!("4b", "32", all_written!()),
        )
    };
}

/// A read within one half word.
macro_rules! check_read {
    ($unaligned:literal, $mask:literal) => {
        concat!(
            prepare!($unaligned),
            "mov r9, qword ptr [rcx]\n",
            "xor rdx, r9\n",
            "shr rdx, 22\n",
            "jz 4f\n",
            "mov r10, qword ptr [rcx + 8]\n",
            "xor r10, qword ptr fs:[rax + {read}]\n",
            "shr r10, 22\n",
            "jnz 3f\n",
            "shr r9, 60\n",
            "cmp r9d, 15\n",
            "jne 3f\n",
            "4:\n",
            "ret\n",
            "3:\n",
            find_part_noted!("4b", $mask),
        )
    };
}

/// A read of two half words. `$within_a_word` goes to `2:` if they are of two words.
macro_rules! check_read_8 {
    ($unaligned:literal, $within_a_word:literal) => {
        concat!(
            prepare!($unaligned),
            look_at_head!("8"),
            "jnz 3f\n",
            "mov r9, qword ptr [rcx]\n",
            "mov r10, qword ptr [rcx + 16]\n",
            "mov rsi, r9\n",
            "and rsi, r10\n",
            "xor r9, rdx\n",
            "xor r10, rdx\n",
            "or r9, r10\n",
            "shr r9, 22\n",
            "jz 4f\n",
            "mov rdx, qword ptr fs:[rax + {read}]\n",
            "mov r10, qword ptr [rcx + 24]\n",
            "xor r11, rdx\n",
            "xor r10, rdx\n",
            "or r10, r11\n",
            "shr r10, 22\n",
            "jnz 2f\n",
            "shr rsi, 60\n",
            "cmp esi, 15\n",
            "jne 2f\n",
            "4:\n",
            "ret\n",
            "3:\n",
            $within_a_word,
            find_shared!("4b", "5f", "0"),
            "5:\n",
            find_noted!("4b", "0", all_read!(), only_read!("4b")),
        )
    };
}

/// A read of four half words. What several threads read is looked for first.
macro_rules! check_read_16 {
    () => {
        concat!(
            prepare!("3"),
            look_at_head!("8"),
            "jnz 3f\n",
            "mov r9, qword ptr [rcx]\n",
            "mov r10, qword ptr [rcx + 16]\n",
            "mov r8, r9\n",
            "and r8, r10\n",
            "xor r9, rdx\n",
            "xor r10, rdx\n",
            "or r9, r10\n",
            "mov r10, qword ptr [rcx + 32]\n",
            "and r8, r10\n",
            "xor r10, rdx\n",
            "or r9, r10\n",
            "mov r10, qword ptr [rcx + 48]\n",
            "and r8, r10\n",
            "xor r10, rdx\n",
            "or r9, r10\n",
            "shr r9, 22\n",
            "jz 4f\n",
            "mov rdx, qword ptr fs:[rax + {read}]\n",
            "mov r10, qword ptr [rcx + 24]\n",
            "xor r11, rdx\n",
            "xor r10, rdx\n",
            "or r11, r10\n",
            "mov r10, qword ptr [rcx + 40]\n",
            "xor r10, rdx\n",
            "xor rdx, qword ptr [rcx + 56]\n",
            "or r11, r10\n",
            "or r11, rdx\n",
            "shr r11, 22\n",
            "jnz 2f\n",
            "shr r8, 60\n",
            "cmp r8d, 15\n",
            "jne 2f\n",
            "4:\n",
            "ret\n",
            "3:\n",
            "test dil, 4\n",
            "jnz 2f\n",
            find_shared!("7f", "6f", "0"),
            "6:\n",
            find_noted!("7f", "0", all_read!()),
            "jmp 2f\n",
            "7:\n",
            look_at_head!("40"),
            find_shared!("4b", "8f", "32"),
            "8:\n",
            find_noted!("4b", "32", all_read!()),
        )
    };
}

#[cfg(test)]
thread_local! {
    /// How often the calling thread took the slow way, and from where the last time.
    pub(crate) static SLOW: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    pub(crate) static SLOW_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
fn note_slow(pc: usize) {
    SLOW.set(SLOW.get() + 1);
    SLOW_AT.set(pc);
}

/// What follows if there may be something to do: the shortest way, which calls nothing, and else the others, in functions of their own.
macro_rules! slow {
    ($($read:ident $write:ident $both:ident $size:tt $read_on:ident $write_on:ident $both_on:ident;)+) => {
        $(
            slow!(@one $read, Read, $size, $read_on, short_read);
            slow!(@one $write, Write, $size, $write_on, short_write);
            // Races of the read are races of the write.
            slow!(@one $both, Write, $size, $both_on, short_read_write);
        )+
    };
    // Those of a word try one way more. Which one is seen in a function that need not save anything.
    (@one $name:ident, $kind:ident, 8, $on:ident, $tell:ident) => {
        extern "C" fn $name(addr: usize, pc: usize) {
            #[inline(never)]
            extern "C" fn own(addr: usize, pc: usize) {
                if !watch::shortest_own(AccessKind::$kind, addr, pc) {
                    $on(addr, pc);
                }
            }
            #[inline(never)]
            extern "C" fn not_own(addr: usize, pc: usize) {
                if !watch::shortest(AccessKind::$kind, addr, 8, pc) {
                    $on(addr, pc);
                }
            }
            #[cfg(test)]
            note_slow(pc);
            if watch::is_own(addr) { own(addr, pc) } else { not_own(addr, pc) }
        }

        #[inline(never)]
        extern "C" fn $on(addr: usize, pc: usize) {
            watch::$tell(addr, 8, pc);
        }
    };
    (@one $name:ident, $kind:ident, $size:tt, $on:ident, $tell:ident) => {
        extern "C" fn $name(addr: usize, pc: usize) {
            #[cfg(test)]
            note_slow(pc);
            if !watch::shortest(AccessKind::$kind, addr, $size, pc) {
                $on(addr, pc);
            }
        }

        #[inline(never)]
        extern "C" fn $on(addr: usize, pc: usize) {
            watch::$tell(addr, $size, pc);
        }
    };
}

slow! {
    read_1 write_1 read_write_1 1 read_on_1 write_on_1 read_write_on_1;
    read_2 write_2 read_write_2 2 read_on_2 write_on_2 read_write_on_2;
    read_4 write_4 read_write_4 4 read_on_4 write_on_4 read_write_on_4;
    read_8 write_8 read_write_8 8 read_on_8 write_on_8 read_write_on_8;
    read_16 write_16 read_write_16 16 read_on_16 write_on_16 read_write_on_16;
}

hook!(__tsan_read1 __tsan_volatile_read1, read_1, { read = READ, note = NOTE }, check_read!("0", "1"), task_read!("1", "1"));
hook!(__tsan_read2 __tsan_volatile_read2 __tsan_unaligned_read2 __tsan_unaligned_volatile_read2,
    read_2, { read = READ, note = NOTE }, check_read!("1", "3"), task_read!("3", "2"));
hook!(__tsan_read4 __tsan_volatile_read4 __tsan_unaligned_read4 __tsan_unaligned_volatile_read4,
    read_4, { read = READ, note = NOTE }, check_read!("3", "15"), task_read!("15", "4"));
hook!(
    __tsan_read8 __tsan_volatile_read8 __tsan_vptr_read,
    read_8,
    { read = READ, read_among = READ_AMONG_OTHERS, note = NOTE },
    check_read_8!("7", ""), task_read_8!());
hook!(
    __tsan_unaligned_read8 __tsan_unaligned_volatile_read8,
    read_8,
    { read = READ, read_among = READ_AMONG_OTHERS, note = NOTE },
    check_read_8!("3", "test dil, 4\njnz 2f\n"), task_read_8!());
hook!(__tsan_write1 __tsan_volatile_write1, write_1, { read = READ, note = NOTE }, check_write!("0", "256"), task_write!("1", "1"));
hook!(__tsan_write2 __tsan_volatile_write2 __tsan_unaligned_write2 __tsan_unaligned_volatile_write2,
    write_2, { read = READ, note = NOTE }, check_write!("1", "768"), task_write!("3", "2"));
hook!(__tsan_write4 __tsan_volatile_write4 __tsan_unaligned_write4 __tsan_unaligned_volatile_write4,
    write_4, { read = READ, note = NOTE }, check_write!("3", "3840"), task_write!("15", "4"));
hook!(__tsan_write8 __tsan_volatile_write8 __tsan_unaligned_write8 __tsan_unaligned_volatile_write8,
    write_8, { read = READ, note = NOTE }, check_write_8!(), task_write_8!());
// What was written in this epoch, and not read since by others, need be neither read nor written again.
hook!(__tsan_read_write1, read_write_1, { read = READ, note = NOTE }, check_write!("0", "256"), task_write!("1", "1"));
hook!(__tsan_read_write2 __tsan_unaligned_read_write2, read_write_2, { read = READ, note = NOTE }, check_write!("1", "768"), task_write!("3", "2"));
hook!(__tsan_read_write4 __tsan_unaligned_read_write4, read_write_4, { read = READ, note = NOTE }, check_write!("3", "3840"), task_write!("15", "4"));
hook!(__tsan_read_write8 __tsan_unaligned_read_write8, read_write_8, { read = READ, note = NOTE }, check_write_8!(), task_write_8!());

hook!(__tsan_read16 __tsan_volatile_read16 __tsan_unaligned_read16 __tsan_unaligned_volatile_read16,
    read_16, { read = READ, read_among = READ_AMONG_OTHERS, note = NOTE }, check_read_16!(), task_read_16!());
hook!(__tsan_write16 __tsan_volatile_write16 __tsan_unaligned_write16 __tsan_unaligned_volatile_write16,
    write_16, { read = READ, note = NOTE }, check_write_16!(), task_write_16!());
hook!(__tsan_read_write16 __tsan_unaligned_read_write16, read_write_16, { read = READ, note = NOTE }, check_write_16!(), task_write_16!());

/// Hooks that are told the place.
macro_rules! hook_with_place {
    ($($name:ident $tell:ident $size:literal;)+) => {
        $(
            #[allow(missing_docs)]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(addr: usize, pc: usize) {
                watch::$tell(addr, $size, pc);
            }
        )+
    };
}

hook_with_place! {
    __tsan_read1_pc read 1;
    __tsan_read2_pc read 2;
    __tsan_read4_pc read 4;
    __tsan_read8_pc read 8;
    __tsan_read16_pc read 16;
    __tsan_write1_pc write 1;
    __tsan_write2_pc write 2;
    __tsan_write4_pc write 4;
    __tsan_write8_pc write 8;
    __tsan_write16_pc write 16;
}

/// The pointer to the virtual functions of an object is written, mostly by a constructor or a destructor with the value that
/// is there already.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_vptr_update(addr: usize, value: usize) {
    naked_asm!("mov rdx, [rsp]", "jmp {update}", update = sym vptr_update)
}

extern "C" fn vptr_update(addr: usize, value: usize, pc: usize) {
    // SAFETY: the program is about to write a pointer here, so it can be read; others may do so at the same time.
    let present = unsafe {
        (*(addr as *const std::sync::atomic::AtomicUsize)).load(std::sync::atomic::Ordering::Relaxed)
    };
    if present != value {
        watch::write(addr, 8, pc);
    }
}
