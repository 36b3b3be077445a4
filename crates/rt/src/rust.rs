//! What the `std` that `cargo keirin` puts in front of Rust's own tells of a program.
//!
//! Rust programs are not instrumented: their locks, and what is done to the objects that the locks guard, come as calls of the
//! functions below. An object is told as its first byte: it is one thing, whatever its size. What functions of the C library read and
//! write is left out (`objects-only`): it would be a part of the accesses, and the others are not seen. Threads are seen by `intercept`, and
//! order beside locks (conditions, channels, `Once`) by what `include/keirin.h` calls.
//!
//! Nobody tells which functions are entered, but all code has frame pointers. So the open calls are read from the stack
//! whenever something is told. What lies there is not believed: a frame must be on the stack of the thread, above the last one.

use crate::spin::Spin;
use crate::thread::Thread;
use crate::{tls, watch};
use keirin_core::event::{AccessKind, LockMode};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::arch::naked_asm;
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls further out than so many are not looked at.
const MOST_CALLS: usize = 128;

/// The open calls of the calling thread: return addresses and frames, the innermost first.
struct Stack {
    /// The first ones are set.
    calls: [MaybeUninit<(usize, usize)>; MOST_CALLS],
    depth: usize,
    /// Where the outermost frame leads to.
    beyond: usize,
}

impl Stack {
    /// Follows the chain of frames from the one of the function that has called a hook. All lie above a `place` on the stack. `end` is the
    /// end of the stack, 0 if it is not known.
    fn walk(mut frame: usize, place: usize, end: usize) -> Self {
        const ENTRY: usize = 2 * size_of::<usize>();
        let mut last = place;
        let mut stack = Stack { calls: [const { MaybeUninit::uninit() }; MOST_CALLS], depth: 0, beyond: 0 };
        while stack.depth < MOST_CALLS
            && frame > last
            && frame.is_multiple_of(align_of::<usize>())
            && frame.checked_add(ENTRY).is_some_and(|behind| behind <= end)
        {
            // SAFETY: it lies on the stack, between a place where something is and its end, which is mapped.
            let (next, call) = unsafe { *(frame as *const (usize, usize)) };
            if call == 0 {
                break;
            }
            stack.calls[stack.depth].write((call, frame));
            stack.depth += 1;
            last = frame;
            frame = next;
        }
        stack.beyond = frame;
        stack
    }

    fn calls(&self) -> &[(usize, usize)] {
        // SAFETY: so many were written, and it has the layout of what was written.
        unsafe { std::slice::from_raw_parts(self.calls.as_ptr().cast(), self.depth) }
    }
}

/// Tells something with the calls that are open. `frame` is the frame of the function that has called the hook.
fn with_calls(frame: usize, tell: impl FnOnce()) {
    if !watch::is_on() {
        return;
    }
    if watch::hooks_only() {
        return tell();
    }
    watch::on_thread(|thread: &mut Thread| look_at(thread, frame));
    tell();
    watch::on_thread(Thread::look_away);
}

/// Finds the open calls of a thread, the calling one, until it looks away.
fn look_at(thread: &mut Thread, frame: usize) {
    let here = 0u8;
    let stack = Stack::walk(frame, &raw const here as usize, thread.stack_end);
    thread.look_at_stack(stack.calls(), stack.beyond);
}

/// Tells something that orders. The analyses of tasks do not remember where that was done.
fn with_calls_if_told(frame: usize, tell: impl FnOnce()) {
    if watch::tasks_are_order() { with_calls(frame, tell) } else { tell() }
}

/// The types of guarded objects. Code is made for each type apart, so that the place of a use says which it is.
struct Types {
    /// The places that are known, as far as there is room.
    seen: [AtomicUsize; SEEN],
    names: Spin<FxHashMap<usize, &'static [u8]>>,
}

/// Places that are found without looking into the table.
const SEEN: usize = 1 << 10;

static TYPES: Types = Types {
    seen: [const { AtomicUsize::new(0) }; SEEN],
    names: Spin::new(HashMap::with_hasher(FxBuildHasher)),
};

impl Types {
    #[inline(always)]
    fn note(&self, pc: usize, name: *const u8, length: usize) {
        if self.seen[Self::place(pc)].load(Ordering::Relaxed) != pc {
            self.add(pc, name, length);
        }
    }

    #[inline(always)]
    fn place(pc: usize) -> usize {
        (pc ^ pc >> 10) % SEEN
    }

    #[cold]
    #[inline(never)]
    fn add(&self, pc: usize, name: *const u8, length: usize) {
        self.seen[Self::place(pc)].store(pc, Ordering::Relaxed);
        watch::on_thread_anyhow(|_| {
            // SAFETY: the program passes the name of a type, which is constant.
            let name = unsafe { std::slice::from_raw_parts(name, length) };
            self.names.lock().insert(pc, name);
        });
    }
}

// What the hooks do if all sections are told, in functions of their own as well.

#[inline(never)]
fn tell_acquired(lock: usize, mode: LockMode, (pc, frame): (usize, usize)) {
    with_calls_if_told(frame, || watch::lock_acquired(lock, mode, pc));
}

#[inline(never)]
fn tell_released(lock: usize, (pc, frame): (usize, usize)) {
    with_calls_if_told(frame, || watch::lock_released(lock, pc));
}

#[inline(never)]
fn tell_used(object: usize, kind: AccessKind, (pc, frame): (usize, usize), name: *const u8, length: usize) {
    if watch::hooks_only() {
        return;
    }
    if watch::is_on() {
        TYPES.note(pc, name, length);
    }
    with_calls(frame, || watch::object_used(kind, object, pc));
}

/// The type of the object that is used at a place, as people write it.
pub(crate) fn type_used_at(pc: usize) -> Option<String> {
    let name = TYPES.names.lock().get(&pc).copied()?;
    Some(without_modules(&String::from_utf8_lossy(name)))
}

/// The name of a type without the modules that its parts are in: `HashMap<String, u32>`.
fn without_modules(name: &str) -> String {
    let mut short = String::new();
    let mut part = 0;
    for character in name.chars() {
        match character {
            ':' => short.truncate(part),
            _ => {
                short.push(character);
                if !character.is_alphanumeric() && character != '_' {
                    part = short.len();
                }
            }
        }
    }
    short
}

/// Defines hooks whose bodies know the address they return to and the frame of the function that calls them. Of the four
/// arguments a hook uses the first ones; the others may be anything.
macro_rules! rust_hooks {
    ($($(#[$attribute:meta])* fn $name:ident($object:ident, $detail:ident, $name_of:ident, $length:ident; $pc:ident, $frame:ident) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$attribute])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(object: usize, detail: usize, name: *const u8, length: usize) $(-> $result)? {
            #[allow(unused_variables)]
            extern "C" fn body($object: usize, $detail: usize, $name_of: *const u8, $length: usize, $pc: usize, $frame: usize) $(-> $result)? $body
            naked_asm!("mov r8, qword ptr [rsp]", "mov r9, rbp", "jmp {body}", body = sym body)
        }
    )*};
}

pub mod forks;
pub mod futures;
pub(crate) mod joins;
pub(crate) mod sections;
pub mod tasks;

use sections::Use;

rust_hooks! {
    /// A lock was acquired; `shared` is 1 if others may hold it as well.
    fn __keirin_rust_acquired(lock, shared, _third, _fourth; pc, frame) {
        let mode = if shared == 1 { LockMode::Shared } else { LockMode::Exclusive };
        if sections::are_on() {
            // In an untold task no section is held back but by this.
            let told = tls::untold().is_null();
            if told && watch::on_sections_alone(|sections, _| sections.acquired_again(lock, mode, pc)) {
                return;
            }
            return sections::tell_acquired(lock, mode, pc);
        }
        tell_acquired(lock, mode, (pc, frame));
    }

    /// A lock is about to be released.
    fn __keirin_rust_released(lock, _detail, _third, _fourth; pc, frame) {
        if sections::are_on() {
            if watch::on_sections_alone(|sections, _| sections.released_again(lock)) {
                return;
            }
            return sections::tell_released(lock, pc);
        }
        tell_released(lock, (pc, frame));
    }

    /// A lock that is held is held in another way from now on: `shared` is 1 if others may hold it as well. It was not let go.
    fn __keirin_rust_changed(lock, shared, _third, _fourth; pc, frame) {
        let mode = if shared == 1 { LockMode::Shared } else { LockMode::Exclusive };
        with_calls_if_told(frame, || watch::lock_changed(lock, mode, pc));
    }

    /// The object that a lock guards is used: `written` is 1 if it can be changed. The name is that of its type, and lives as long as
    /// the program.
    fn __keirin_rust_used(object, written, name, length; pc, frame) {
        let kind = if written == 1 { AccessKind::Write } else { AccessKind::Read };
        if sections::are_on() {
            TYPES.note(pc, name, length);
            let done = watch::on_sections_alone(|sections, look| {
                let used = Use { pc, kind, calls: look.number() };
                look.is_still_at(frame) && sections.used_again(object, used)
            });
            if done {
                return;
            }
            return sections::tell_used(object, kind, (pc, frame));
        }
        tell_used(object, kind, (pc, frame), name, length);
    }

    /// A condition is about to be notified; `all` is 1 if all who wait shall go on.
    fn __keirin_rust_notified(condition, all, _third, _fourth; pc, frame) {
        with_calls_if_told(frame, || watch::condition_notified(condition, all == 1, pc));
    }

    /// A wait for a condition was ended by a notification.
    fn __keirin_rust_waited(condition, _detail, _third, _fourth; pc, frame) {
        with_calls_if_told(frame, || watch::condition_waited(condition, pc));
    }

    /// The thread is about to wait at a barrier.
    fn __keirin_rust_arrived(barrier, _detail, _third, _fourth; pc, frame) {
        with_calls_if_told(frame, || watch::barrier_arrived(barrier, pc));
    }

    /// The thread goes on from a barrier.
    fn __keirin_rust_left(barrier, _detail, _third, _fourth; pc, frame) {
        with_calls_if_told(frame, || watch::barrier_left(barrier, pc));
    }

    /// A region that must be atomic begins; the label, which lives as long as the program, has so many bytes.
    fn __keirin_rust_region_begin(label, length, _third, _fourth; pc, frame) {
        // SAFETY: the program passes a string constant.
        let label = unsafe { std::slice::from_raw_parts(label as *const u8, length) };
        with_calls(frame, || watch::region_begin(label, pc));
    }

    /// Memory gets a name for reports.
    fn __keirin_rust_name(memory, size, name, length; _pc, _frame) {
        if watch::is_on() {
            // SAFETY: the program passes a string.
            watch::memory_named(memory, size, unsafe { std::slice::from_raw_parts(name, length) });
        }
    }

    /// A thread is about to be created, by a call that is made at once. (A thread is told by `pthread_create`, which is called from
    /// within Rust's library: here is where the program has asked for it.)
    fn __keirin_rust_spawns(_object, _detail, _third, _fourth; pc, frame) {
        if watch::is_on() && !watch::hooks_only() {
            watch::on_thread(|thread: &mut Thread| {
                look_at(thread, frame);
                thread.enter_function(pc, frame.saturating_sub(1), false);
            });
        }
    }

    /// The thread was created, or not.
    fn __keirin_rust_spawned(_object, _detail, _third, _fourth; _pc, _frame) {
        if watch::is_on() && !watch::hooks_only() {
            watch::on_thread(Thread::look_away);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_without_their_modules() {
        for (name, short) in [
            ("std::collections::hash::map::HashMap<alloc::string::String, u32>", "HashMap<String, u32>"),
            ("alloc::vec::Vec<(usize, a::B)>", "Vec<(usize, B)>"),
            ("dyn a::b::Trait + core::marker::Send", "dyn Trait + Send"),
            ("[u8; 4]", "[u8; 4]"),
            ("()", "()"),
        ] {
            assert_eq!(without_modules(name), short);
        }
    }

    #[test]
    fn a_stack_is_followed_as_long_as_it_can_be_one() {
        // The array lies above the frames of the functions that are called.
        let mut memory = [0usize; 16];
        let at = |index: usize, memory: &[usize; 16]| &raw const memory[index] as usize;
        let end = at(0, &memory) + size_of_val(&memory);
        (memory[0], memory[1]) = (at(4, &memory), 0x100);
        (memory[4], memory[5]) = (at(8, &memory), 0x200);
        (memory[8], memory[9]) = (at(2, &memory), 0x300);
        let place = at(0, &memory) - 1;
        let calls = |frame: usize, end: usize| -> Vec<usize> {
            Stack::walk(frame, place, end).calls().iter().map(|(call, _)| *call).collect()
        };
        assert_eq!(calls(at(0, &memory), end), [0x100, 0x200, 0x300], "a frame that lies below ends it");
        assert_eq!(calls(at(0, &memory), at(9, &memory)), [0x100, 0x200], "so does the end of the stack");
        assert_eq!(calls(at(0, &memory) + 1, end), [0; 0]);
        assert_eq!(calls(at(0, &memory), 0), [0; 0]);
        assert_eq!(calls(usize::MAX - 7, usize::MAX), [0; 0]);
        memory[5] = 0;
        assert_eq!(calls(at(0, &memory), end), [0x100], "so does a frame without a return address");
    }
}
