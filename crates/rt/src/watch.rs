//! What happens in the program, told by compiler hooks and interceptors; the one way into the analyses.
//!
//! All functions may be called at any time: before the start, in a signal handler, in a thread that nobody announced.
//! They do nothing when the runtime is off or the thread is already inside of it. `pc` is the return address of the hook
//! or interceptor: the place in the program.
//!
//! Order of telling: what publishes (a release, a fork, a notification) is told *before* it takes effect, what takes over
//! (an acquire, a join, the end of a wait) *after* it has taken effect.

use keirin_core::event::{AtomicKind, LockMode, MemoryOrder};

/// A thread that was announced by the one that creates it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(pub u32);

/// True if the program is watched at all.
#[inline]
pub fn is_on() -> bool {
    false
}

/// True if a synchronization that was called from `pc` counts: it stands in a module that is instrumented, or the user
/// wants that of all libraries.
pub fn is_watched_caller(pc: usize) -> bool {
    let _ = pc;
    true
}

/// True if `pc` stands in the C++ library (GNU's or LLVM's), which waits on conditions in the name of the program.
pub fn is_cxx_library(pc: usize) -> bool {
    let _ = pc;
    true
}

/// Runs what the runtime does for itself in the middle of the program: nothing that happens in it is told. May be called in a
/// thread before [`thread_started`].
pub fn aside<R>(act: impl FnOnce() -> R) -> R {
    act()
}

/// Tells the user something about the run that limits what can be found. Each text is told once.
pub fn note(text: &'static str) {
    let _ = text;
}

/// A plain read of any number of bytes.
pub fn read(addr: usize, size: usize, pc: usize) {
    let _ = (addr, size, pc);
}

/// A plain write of any number of bytes.
pub fn write(addr: usize, size: usize, pc: usize) {
    let _ = (addr, size, pc);
}

/// An atomic operation. `perform` does it, and says what it was: a compare-and-exchange that failed is a load. No other
/// thread does an atomic operation on the same bytes meanwhile.
pub fn atomic<T>(
    addr: usize,
    size: usize,
    pc: usize,
    perform: impl FnOnce() -> (AtomicKind, MemoryOrder, T),
) -> T {
    let _ = (addr, size, pc);
    perform().2
}

/// A fence that was just executed.
pub fn fence(order: MemoryOrder, pc: usize) {
    let _ = (order, pc);
}

/// A lock was acquired. Locks that are held already by the thread may be told again.
pub fn lock_acquired(lock: usize, mode: LockMode, pc: usize) {
    let _ = (lock, mode, pc);
}

/// A lock is about to be released; how the thread held it is known.
pub fn lock_released(lock: usize, pc: usize) {
    let _ = (lock, pc);
}

/// A lock, condition or barrier is initialized or destroyed: an object at the same address is another one.
pub fn object_forgotten(object: usize) {
    let _ = object;
}

/// A wait for a condition was ended by a notification (not by a timeout); the mutex is told by itself.
pub fn condition_waited(condition: usize, pc: usize) {
    let _ = (condition, pc);
}

/// A condition is about to be notified.
pub fn condition_notified(condition: usize, all: bool, pc: usize) {
    let _ = (condition, all, pc);
}

/// The thread is about to wait at a barrier.
pub fn barrier_arrived(barrier: usize, pc: usize) {
    let _ = (barrier, pc);
}

/// The thread goes on from a barrier.
pub fn barrier_left(barrier: usize, pc: usize) {
    let _ = (barrier, pc);
}

/// What the thread did so far comes before whatever follows a [`happens_after`] of the same token: semaphores, `once`,
/// annotations.
pub fn happens_before(token: usize, pc: usize) {
    let _ = (token, pc);
}

/// The other side of [`happens_before`].
pub fn happens_after(token: usize, pc: usize) {
    let _ = (token, pc);
}

/// The thread is about to create another one.
pub fn thread_forked(pc: usize) -> Ticket {
    let _ = pc;
    Ticket(0)
}

/// The creation of the thread has failed.
pub fn thread_fork_failed(ticket: Ticket) {
    let _ = ticket;
}

/// Called first thing in the new thread. `stack` is the memory of its stack (lowest address, size).
pub fn thread_started(ticket: Ticket, stack: (usize, usize)) {
    let _ = (ticket, stack);
}

/// Called last thing in a thread, also if it was cancelled. May be called more than once.
pub fn thread_ended() {}

/// The calling thread has waited for the end of another.
pub fn thread_joined(ticket: Ticket, pc: usize) {
    let _ = (ticket, pc);
}

/// The calling thread has a name now.
pub fn thread_named(ticket: Option<Ticket>, name: &[u8]) {
    let _ = (ticket, name);
}

/// Memory is handed out.
pub fn allocated(addr: usize, size: usize, pc: usize) {
    let _ = (addr, size, pc);
}

/// Memory is about to be given back, or is new to the program (`mmap`): what is known about it is void.
pub fn forgotten(addr: usize, size: usize) {
    let _ = (addr, size);
}

/// An atomic region begins; regions nest. The label lives as long as the program.
pub fn region_begin(label: &'static [u8], pc: usize) {
    let _ = (label, pc);
}

/// The innermost atomic region ends.
pub fn region_end(pc: usize) {
    let _ = pc;
}

/// From here on the thread's accesses are disregarded. Nests.
pub fn ignore_begin() {}

/// The end of what [`ignore_begin`] began.
pub fn ignore_end() {}

/// Memory gets a name for reports.
pub fn memory_named(addr: usize, size: usize, name: &[u8]) {
    let _ = (addr, size, name);
}

/// Stretches of memory (address, size) that must be seen together.
pub fn grouped(members: &[(usize, usize)]) {
    let _ = members;
}

/// The set of loaded modules may have changed.
pub fn modules_changed() {}

/// The process is about to fork. Must be followed by [`forked`] in the parent and in the child.
pub fn before_fork() {}

/// After a fork, in the parent or in the child.
pub fn forked(in_child: bool) {
    let _ = in_child;
}

/// The process is about to end without running its exit handlers.
pub fn process_ending() {}
