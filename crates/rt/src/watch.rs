//! What happens in the program, told by compiler hooks and interceptors; the one way into the analyses.
//!
//! All functions may be called at any time: before the start, in a signal handler, in a thread that nobody announced.
//! They do nothing when the runtime is off or the thread is already inside of it. `pc` is the return address of the hook
//! or interceptor: the place in the program.
//!
//! Order of telling: what publishes (a release, a fork, a notification) is told *before* it takes effect, what takes over
//! (an acquire, a join, the end of a wait) *after* it has taken effect.

mod atomics;
mod branches;
mod forks;
mod ranges;
mod synchronization;
mod tasks;

pub use atomics::{atomic, load, modify};
pub use branches::{
    SideStep, atomic_of_library, branch, loop_entered, loop_iterated, loop_left, other_access, other_end,
    other_lock, other_side, other_value, read_value, write_value,
};
pub(crate) use branches::{StepOfSide, minds_other_sides, order_decides};
pub(crate) use forks::{fork, join, leave_task, take_task};
pub(crate) use ranges::{
    Ranges, accesses, has_read_few, minds_repetitions, read_compared, read_range, write_range,
};
pub(crate) use synchronization::{atomic_awaited, lock_changed};
pub use synchronization::{
    barrier_arrived, barrier_left, condition_notified, condition_waited, fence, happens_after,
    happens_before, lock_acquired, lock_awaited, lock_released, object_forgotten,
};
pub(crate) use tasks::is_stack_known_below;
pub use tasks::{
    calls_left, calls_resumed, new_task, open_calls, stack_left, stack_left_from, structure, task_waits,
    tasks_are_order, within_calls, worker_started,
};
pub(crate) use tasks::{task_begun, task_ended};

use crate::driver::Driver;
use crate::options::Options;
use crate::rust::sections::{self, Sections, ToWatcher};
use crate::rust::{joins, tasks::tell_untold};
use crate::shadow::Word;
use crate::thread::{BUSY, ENDED, Inside, Look, MISSED, Registry, Thread, is_inside, is_known};
use crate::watcher::Watcher;
use crate::{
    layout, learned, modules, openmp, regions, start, steering, tasks as tasks_of_program, tbb, telling, tls,
};
use keirin_core::analysis::fasttrack::{Compact, FastTrack};
use keirin_core::event::{AccessKind, Op, RegionId, ThreadId};
use keirin_core::handover::End;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// A thread that was announced by the one that creates it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(pub u32);

impl Ticket {
    /// No thread: nothing is watched.
    pub const NONE: Ticket = Ticket(u32::MAX);
}

static ON: AtomicBool = AtomicBool::new(false);
/// The end was told.
static FINISHED: AtomicBool = AtomicBool::new(false);
static OUT_OF_MEMORY: AtomicBool = AtomicBool::new(false);
/// Threads that were announced and have not begun. A signal handler may run in one of them before we do: it must not be
/// taken for a thread that nobody announces.
static AWAITED: AtomicUsize = AtomicUsize::new(0);
/// Threads that were not watched.
pub(crate) static UNWATCHED: AtomicU64 = AtomicU64::new(0);
/// Somebody wants to hear of plain accesses.
static ACCESSES: AtomicBool = AtomicBool::new(false);
/// Somebody wants to hear of locks and the like.
static SYNCHRONIZATION: AtomicBool = AtomicBool::new(false);
/// See [`hooks_only`].
static HOOKS_ONLY: AtomicBool = AtomicBool::new(false);
static LIBRARY_LOCKS: AtomicBool = AtomicBool::new(false);
/// Functions are told, because they are recorded or may be atomic.
static FUNCTIONS: AtomicBool = AtomicBool::new(false);
/// See [`tasks_are_order`].
static TASKS_ARE_ORDER: AtomicBool = AtomicBool::new(false);
/// Threads may be paused, so that it is worth to tell what they are about to do.
static ADVERSARY: AtomicBool = AtomicBool::new(false);
/// Points to a leaked reference; null before the start.
static WATCHER: AtomicPtr<&'static dyn Watcher> = AtomicPtr::new(std::ptr::null_mut());

/// True if the program is watched at all.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Begins to watch: the calling thread is the first one.
pub(crate) fn switch_on(watcher: &'static dyn Watcher, options: &Options, functions: bool) {
    LIBRARY_LOCKS.store(options.library_locks, Ordering::Relaxed);
    HOOKS_ONLY.store(options.hooks_only, Ordering::Relaxed);
    ADVERSARY.store(options.adversary.is_some(), Ordering::Relaxed);
    FUNCTIONS.store(functions, Ordering::Relaxed);
    ACCESSES.store(watcher.minds_accesses() && !options.objects_only, Ordering::Relaxed);
    SYNCHRONIZATION.store(watcher.minds_synchronization(), Ordering::Relaxed);
    branches::set_minds_other_sides(watcher.minds_other_sides());
    let tasks_are_known = options.record.is_some() || tasks_of_program::short_access().is_some();
    TASKS_ARE_ORDER.store(!tasks_are_known, Ordering::Relaxed);
    let in_program = options.record.is_none() && tasks_are_known;
    let objects_of_rust = in_program && options.objects_only && !options.hooks_only;
    sections::switch(objects_of_rust);
    joins::switch(objects_of_rust);
    WATCHER.store(Box::leak(Box::new(watcher)), Ordering::Release);
    attach(watcher);
    let thread = current();
    if !thread.is_null() {
        // SAFETY: the thread's own, and it is not inside.
        unsafe { (*thread).stack_end = start::stack_end() };
    }
    ON.store(true, Ordering::Release);
}

/// True if calls and accesses are told by the compiler's hooks alone.
#[inline]
pub(crate) fn hooks_only() -> bool {
    HOOKS_ONLY.load(Ordering::Relaxed)
}

/// As if a program were watched, so that who meets another waits; nothing is told to anybody.
#[cfg(test)]
pub(crate) fn pretend_on(on: bool) {
    ON.store(on, Ordering::Release);
}

fn watcher() -> Option<&'static dyn Watcher> {
    let watcher = WATCHER.load(Ordering::Acquire);
    // SAFETY: it is null or points to a reference that lives for ever.
    unsafe { watcher.as_ref() }.copied()
}

/// The calling thread, if it can be watched now. What it has held back is told.
#[inline]
fn enter() -> Option<Inside> {
    tell_untold();
    let mut inside = enter_anyhow()?;
    settle(&mut inside);
    Some(inside)
}

/// The same, for what does not concern what it has held back.
#[inline]
fn enter_anyhow() -> Option<Inside> {
    if !is_on() {
        return None;
    }
    if tls::thread().is_null() {
        if AWAITED.load(Ordering::Relaxed) > 0 {
            MISSED.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        attach(watcher()?);
    }
    Inside::enter()
}

/// Tells what a thread has held back.
#[inline]
fn settle(thread: &mut Thread) {
    thread.signalled = 0;
    if thread.sections.is_some() {
        on_sections_of(thread, |sections, teller| sections.settle(teller));
    }
}

/// Makes the calling thread known, which nobody has announced.
#[cold]
fn attach(watcher: &dyn Watcher) {
    // A signal handler must not try the same at the same time.
    tls::set_thread(BUSY);
    if watcher.attach().is_null() {
        leave_out();
    }
}

/// The calling thread is not watched: without its creation in mind, races would be made up.
#[cold]
fn leave_out() {
    tls::set_thread(ENDED);
    UNWATCHED.fetch_add(1, Ordering::Relaxed);
}

/// The kernel gives no more memory.
#[cold]
pub(crate) fn out_of_memory() {
    OUT_OF_MEMORY.store(true, Ordering::Relaxed);
    ON.store(false, Ordering::Release);
}

/// Something in the runtime has failed: it steps aside, and the program goes on unwatched.
#[cold]
fn step_aside() {
    ON.store(false, Ordering::Release);
    telling::note(
        "keirin has failed and watches no longer; what was found until then is reported. Please report this",
    );
}

/// Does something inside of the runtime. A failure of ours must not reach the program.
#[inline]
fn guarded(act: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(act)).is_err() {
        step_aside();
    }
}

#[inline]
fn with(act: impl FnOnce(&'static dyn Watcher, &mut Thread)) {
    if let Some(mut inside) = enter()
        && let Some(watcher) = watcher()
    {
        guarded(|| act(watcher, &mut inside));
    }
}

/// The same for what orders threads.
#[inline]
fn with_synchronization(act: impl FnOnce(&'static dyn Watcher, &mut Thread)) {
    if SYNCHRONIZATION.load(Ordering::Relaxed) {
        with(act);
    }
}

/// Looks at what is kept of the calling thread, or changes it.
pub(crate) fn on_thread(act: impl FnOnce(&mut Thread)) {
    with(|_, thread| act(thread));
}

/// The same, for what does not concern what the thread has held back.
pub(crate) fn on_thread_anyhow(act: impl FnOnce(&mut Thread)) {
    if let Some(mut inside) = enter_anyhow() {
        guarded(|| act(&mut inside));
    }
}

/// Does something with the critical sections of the calling thread.
#[inline]
pub(crate) fn on_sections(act: impl FnOnce(&mut Sections, &mut ToWatcher<'_>)) {
    tell_untold();
    if let Some(mut inside) = enter_anyhow() {
        if inside.sections.is_none() {
            inside.sections = Some(Box::default());
        }
        on_sections_of(&mut inside, act);
    }
}

/// The same without telling anything, if the calling thread has sections. `act` says whether that was all.
#[inline]
pub(crate) fn on_sections_alone(act: impl FnOnce(&mut Sections, &Look) -> bool) -> bool {
    let Some(mut inside) = Inside::enter_quietly().filter(|_| is_on()) else { return false };
    let Thread { sections, look, .. } = &mut *inside;
    sections.as_deref_mut().is_some_and(|sections| act(sections, look))
}

#[inline]
fn on_sections_of(thread: &mut Thread, act: impl FnOnce(&mut Sections, &mut ToWatcher<'_>)) {
    thread.signalled = 0;
    if let Some(mut sections) = thread.sections.take() {
        if let Some(watcher) = watcher() {
            guarded(|| act(&mut sections, &mut ToWatcher { watcher, thread }));
        }
        thread.sections = Some(sections);
    }
}

/// True if a synchronization that was called from `pc` counts: it stands in a module that is instrumented, or the user
/// wants that of all libraries.
pub fn is_watched_caller(pc: usize) -> bool {
    modules::is_instrumented(pc) || LIBRARY_LOCKS.load(Ordering::Relaxed)
}

/// True if `pc` stands in the C++ standard library, which creates threads and waits for conditions for the program.
pub fn is_standard_library(pc: usize) -> bool {
    modules::is_standard_library(pc)
}

/// True if `pc` stands in a library that runs tasks on threads of its own, and whose tasks are told.
pub fn is_task_library(pc: usize) -> bool {
    match modules::task_library(pc) {
        Some(modules::TaskLibrary::OpenMp) => openmp::is_told(),
        Some(modules::TaskLibrary::OneTbb) => true,
        None => false,
    }
}

/// The driver of the default analysis, if that is what runs: its commonest accesses take a shorter way.
static RACES: AtomicPtr<Driver<FastTrack<Compact>>> = AtomicPtr::new(std::ptr::null_mut());

/// Lets the commonest accesses take a shorter way.
pub(crate) fn set_shortcut(driver: &'static Driver<FastTrack<Compact>>) {
    RACES.store(std::ptr::from_ref(driver).cast_mut(), Ordering::Release);
}

/// The commonest accesses of all, of at most sixteen bytes: what a hook does first if the memory was not accessed in this epoch. True if that
/// was all. (A thread that has an epoch is watched by the default analysis, and nothing is recorded.)
#[inline(always)]
pub(crate) fn shortest(kind: AccessKind, addr: usize, size: usize, pc: usize) -> bool {
    let epoch = tls::epoch();
    if epoch == 0 {
        return false;
    }
    let Some(mut inside) = Inside::enter_quietly() else { return false };
    Driver::<FastTrack<Compact>>::shortest(&mut inside, epoch, kind, addr, size, pc)
}

/// True if eight bytes are a word that nobody but the calling thread accesses.
#[inline(always)]
pub(crate) fn is_own(addr: usize) -> bool {
    let epoch = tls::epoch();
    epoch != 0 && addr.is_multiple_of(layout::WORD_BYTES) && Word::of(addr).own_cell(epoch).is_some()
}

/// The same as [`shortest`] for such a word, and nothing else.
#[inline(always)]
pub(crate) fn shortest_own(kind: AccessKind, addr: usize, pc: usize) -> bool {
    let epoch = tls::epoch();
    if epoch == 0 {
        return false;
    }
    let Some(mut inside) = Inside::enter_quietly() else { return false };
    Driver::<FastTrack<Compact>>::shortest_own(&mut inside, epoch, kind, addr, pc)
}

/// An access, mostly of at most sixteen bytes. True if that was all. (Nothing in here can fail, so nothing is guarded.)
#[inline(always)]
fn shortcut(kind: AccessKind, addr: usize, size: usize, pc: usize) -> bool {
    let driver = RACES.load(Ordering::Relaxed);
    if driver.is_null() || !is_on() {
        return task_shortcut(kind, addr, size, pc);
    }
    let Some(mut inside) = Inside::enter_quietly() else { return false };
    // SAFETY: the driver lives for ever.
    unsafe { &*driver }.shortcut(&mut inside, kind, addr, size, pc)
}

/// The same, if tasks are watched.
#[inline(always)]
fn task_shortcut(kind: AccessKind, addr: usize, size: usize, pc: usize) -> bool {
    task_shortcut_of(kind, addr, size, pc, pc)
}

/// The same for one of several accesses of an instruction: `run_at` tells it from the others.
#[inline(always)]
fn task_shortcut_of(kind: AccessKind, addr: usize, size: usize, pc: usize, run_at: usize) -> bool {
    let (Some(access), true) = (tasks_of_program::short_access(), is_on()) else { return false };
    let Some(mut inside) = Inside::enter_quietly() else { return false };
    access(&mut inside, kind, (addr, size), pc, run_at)
}

/// A plain read of 1, 2, 4, 8 or 16 bytes.
#[inline(always)]
pub(crate) fn short_read(addr: usize, size: usize, pc: usize) {
    if !shortcut(AccessKind::Read, addr, size, pc) {
        read(addr, size, pc);
    }
}

/// A plain write of 1, 2, 4, 8 or 16 bytes.
#[inline(always)]
pub(crate) fn short_write(addr: usize, size: usize, pc: usize) {
    if !shortcut(AccessKind::Write, addr, size, pc) {
        write(addr, size, pc);
    }
}

/// A plain read and then a write of the same bytes.
#[inline(always)]
pub(crate) fn short_read_write(addr: usize, size: usize, pc: usize) {
    // Races of the read are races of the write; only an analysis of atomicity needs both.
    if RACES.load(Ordering::Relaxed).is_null() {
        if task_shortcut(AccessKind::Write, addr, size, pc) {
            return;
        }
        read(addr, size, pc);
    }
    short_write(addr, size, pc);
}

/// Runs what the runtime does for itself in a thread that is not announced yet, before [`thread_started`]: nothing that
/// happens in it is told, and the thread is not taken for one that nobody announces.
pub fn aside<R>(act: impl FnOnce() -> R) -> R {
    if !tls::thread().is_null() {
        return act();
    }
    tls::set_thread(BUSY);
    let result = act();
    tls::set_thread(std::ptr::null_mut());
    result
}

/// Tells the user something about the run that limits what can be found. Each text is told once.
pub fn note(text: &'static str) {
    with(|_, _| telling::note(text));
}

#[inline]
fn access(watcher: &dyn Watcher, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
    let counts = thread.ignoring == 0;
    learned::follow(watcher, thread, pc, counts, |thread| watcher.access(thread, kind, addr, size, pc));
}

/// True if somebody wants to hear of plain accesses.
#[inline]
pub(crate) fn minds_memory() -> bool {
    ACCESSES.load(Ordering::Relaxed) || steering::is_on()
}

/// A plain read of any number of bytes.
#[inline]
pub fn read(addr: usize, size: usize, pc: usize) {
    if steering::is_on() {
        steering::access(AccessKind::Read, false, addr, size, pc);
    }
    if ACCESSES.load(Ordering::Relaxed) {
        with(|watcher, thread| access(watcher, thread, AccessKind::Read, addr, size, pc));
    }
}

/// A plain write of any number of bytes.
#[inline]
pub fn write(addr: usize, size: usize, pc: usize) {
    if steering::is_on() {
        steering::access(AccessKind::Write, false, addr, size, pc);
    }
    if ACCESSES.load(Ordering::Relaxed) {
        with(|watcher, thread| access(watcher, thread, AccessKind::Write, addr, size, pc));
    }
}

/// An object is used, which is told by its first byte, whether or not other accesses are of interest.
pub(crate) fn object_used(kind: AccessKind, addr: usize, pc: usize) {
    if steering::is_on() {
        steering::access(kind, false, addr, 1, pc);
    }
    with(|watcher, thread| watcher.access(thread, kind, addr, 1, pc));
}

/// The thread is about to create another one.
pub fn thread_forked(pc: usize) -> Ticket {
    let mut ticket = Ticket::NONE;
    if is_on() {
        AWAITED.fetch_add(1, Ordering::Relaxed);
    }
    with(|watcher, thread| ticket = watcher.forked(thread, pc).map_or(Ticket::NONE, |id| Ticket(id.0)));
    ticket
}

/// The creation of the thread has failed.
pub fn thread_fork_failed(ticket: Ticket) {
    arrived();
    with(|_, _| {
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(ThreadId(ticket.0)) {
                // What was prepared for it stays: it is little, and happens rarely.
                entry.ended = true;
                entry.joined = true;
            }
        });
    });
}

/// An announced thread is there, or will never be.
fn arrived() {
    let less = |awaited: usize| Some(awaited.saturating_sub(1));
    let _ = AWAITED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

/// Called first thing in the new thread. `stack` is the memory of its stack (lowest address, size).
pub fn thread_started(ticket: Ticket, stack: (usize, usize)) {
    if !is_on() {
        return;
    }
    tls::set_thread(BUSY);
    let prepared = Registry::with(|registry| registry.entry(ThreadId(ticket.0)).map(|entry| entry.thread));
    if let (Some(watcher), Some(thread)) = (watcher(), prepared.filter(|thread| !thread.is_null())) {
        // SAFETY: it was prepared for the calling thread, and nobody else uses it.
        unsafe { (*thread).stack_end = stack.0.saturating_add(stack.1) };
        guarded(|| watcher.started(thread, stack));
    } else {
        leave_out();
    }
    arrived();
}

/// Called last thing in a thread, also if it was cancelled. May be called more than once.
pub fn thread_ended() {
    if steering::is_on() {
        steering::step_ends();
    }
    if let Some(mut inside) = Inside::enter() {
        settle(&mut inside);
        tls::set_thread(BUSY);
        tls::set_epoch(0, 0);
        if let Some(watcher) = watcher() {
            guarded(|| {
                learned::thread_ends(watcher, &mut inside);
                watcher.ended(&mut inside);
            });
        }
        drop(inside);
        tls::set_thread(ENDED);
    }
}

/// The calling thread has waited for the end of another.
pub fn thread_joined(ticket: Ticket, pc: usize) {
    with(|watcher, thread| watcher.joined(thread, ThreadId(ticket.0), pc));
}

/// A thread has a name now: the calling one, or that of a ticket.
pub fn thread_named(ticket: Option<Ticket>, name: &[u8]) {
    with(|_, thread| {
        let id = ticket.map_or(thread.id, |ticket| ThreadId(ticket.0));
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(id) {
                entry.name = Some(name.into());
            }
        });
    });
}

/// What a thread has held back of memory whose life begins or ends is told.
#[inline]
fn settle_memory(thread: &mut Thread, addr: usize, size: usize) {
    if thread.sections.is_some() {
        on_sections_of(thread, |sections, teller| sections.settle_memory(teller, addr, size));
    }
}

/// Memory is handed out.
#[inline]
pub fn allocated(addr: usize, size: usize, pc: usize) {
    if let Some(mut inside) = enter_anyhow()
        && let Some(watcher) = watcher()
    {
        settle_memory(&mut inside, addr, size);
        guarded(|| watcher.allocated(&mut inside, addr, size, pc));
    }
}

/// Memory is about to be given back, or is new to the program (`mmap`): what is known about it is void.
#[inline]
pub fn forgotten(addr: usize, size: usize) {
    // Also for a thread that has ended: the memory may be used by others at once.
    if !is_on() {
        return;
    }
    let mut inside = enter_anyhow();
    if let Some(inside) = &mut inside {
        settle_memory(inside, addr, size);
    }
    if let Some(watcher) = watcher() {
        guarded(|| watcher.forgotten(inside.as_deref_mut(), addr, size));
    }
}

/// An atomic region begins; regions nest. The label lives as long as the program.
pub fn region_begin(label: &'static [u8], pc: usize) {
    if steering::is_on() {
        steering::block_begins(regions::labelled(label));
    }
    if !learned::is_on() {
        with(|watcher, thread| watcher.region_begin(thread, regions::labelled(label), pc, true));
    }
}

/// The innermost atomic region ends.
pub fn region_end(pc: usize) {
    if steering::is_on() {
        steering::block_ends();
    }
    if !learned::is_on() {
        with(|watcher, thread| watcher.region_end(thread, pc));
    }
}

/// From here on the thread's accesses are disregarded. Nests.
pub fn ignore_begin() {
    with(|watcher, thread| {
        thread.ignoring += 1;
        thread.tell_calls();
        tls::set_counts_calls(std::ptr::null_mut());
        if let Some(recorder) = watcher.recorder() {
            recorder.event(thread, Op::IgnoreBegin, 0, false);
        }
    });
}

/// The end of what [`ignore_begin`] began.
pub fn ignore_end() {
    with(|watcher, thread| {
        if thread.ignoring > 0 {
            thread.ignoring -= 1;
            thread.tell_calls();
            if let Some(recorder) = watcher.recorder() {
                recorder.event(thread, Op::IgnoreEnd, 0, false);
            }
        }
    });
}

/// Memory gets a name for reports.
pub fn memory_named(addr: usize, size: usize, name: &[u8]) {
    with(|_, _| telling::name_memory(addr, size, name));
}

/// Stretches of memory (address, size) that must be seen together.
pub fn grouped(members: &[(usize, usize)]) {
    // What is seen together is one thing under several addresses.
    sections::switch(false);
    with(|watcher, thread| watcher.grouped(thread, members));
}

/// The set of loaded modules may have changed.
pub fn modules_changed() {
    with(|_, _| {
        modules::update();
        steering::modules_changed();
    });
}

/// A function was entered: the address of its first hook, of the call, and the stack pointer.
#[inline(never)]
pub(crate) fn function_entered(function: usize, call: usize, stack_pointer: usize) {
    tbb::note_stack(stack_pointer);
    if steering::is_on() {
        steering::passed();
    }
    if FUNCTIONS.load(Ordering::Relaxed) {
        return function_told(function, call, stack_pointer);
    }
    let thread = current();
    if !thread.is_null() {
        // SAFETY: the thread's own; a signal handler that comes in between leaves the stack of calls as it found it.
        unsafe { (*thread).enter_function(call, stack_pointer, false) };
        // SAFETY: as above.
        if !steering::is_on() && !tbb::is_known() && unsafe { (*thread).ignoring } == 0 {
            tls::set_counts_calls(thread);
        }
    }
}

/// A function is about to return.
#[inline(never)]
pub(crate) fn function_left(stack_pointer: usize, pc: usize) {
    if steering::is_on() {
        steering::passed();
    }
    let thread = current();
    if thread.is_null() {
        return;
    }
    // SAFETY: as in `function_entered`.
    let (depth, regions) = unsafe {
        let depth = (*thread).depth();
        (depth, (*thread).leave_function(stack_pointer, pc))
    };
    if FUNCTIONS.load(Ordering::Relaxed) {
        // SAFETY: as above.
        let left = depth - unsafe { (*thread).depth() };
        with(|watcher, thread| {
            (0..regions).for_each(|_| watcher.region_end(thread, pc));
            (0..tbb::leave_calls(left)).for_each(|_| watcher.function_left(thread));
        });
        steer_blocks(regions, None);
    }
}

#[inline]
fn current() -> *mut Thread {
    let thread = tls::thread();
    if is_known(thread) { thread } else { std::ptr::null_mut() }
}

#[cold]
fn function_told(function: usize, call: usize, stack_pointer: usize) {
    let (mut blocks_ended, mut block_begun) = (0, None);
    with(|watcher, thread| {
        let depth = thread.depth();
        let region = regions::function(function, depth == 0);
        let ended = thread.enter_function(call, stack_pointer, region.is_some());
        // Calls that were left without notice, by `longjmp` or an exception.
        let left = (depth + 1).saturating_sub(thread.depth());
        (0..tbb::leave_calls(left)).for_each(|_| watcher.function_left(thread));
        (0..ended).for_each(|_| watcher.region_end(thread, call));
        watcher.function_entered(thread, function, call);
        tbb::enter_call();
        if let Some(region) = region {
            watcher.region_begin(thread, region, function, false);
        }
        (blocks_ended, block_begun) = (ended, region);
    });
    steer_blocks(blocks_ended, block_begun);
}

/// Functions that are blocks have ended, and one has begun.
fn steer_blocks(ended: u32, begun: Option<RegionId>) {
    if steering::is_on() {
        (0..ended).for_each(|_| steering::block_ends());
        if let Some(region) = begun {
            steering::block_begins(region);
        }
    }
}

/// After a fork, in the parent or in the child.
pub fn forked(in_child: bool) {
    if in_child && is_on() {
        start::in_child();
    }
}

/// In a child process that goes on being watched: what the parent has told is the parent's.
pub(crate) fn after_fork() {
    with(|watcher, thread| {
        thread.findings = keirin_core::finding::Findings::new();
        thread.told.clear();
        thread.writer = None;
        if let Some(recorder) = watcher.recorder() {
            recorder.abandon();
            telling::note("this process was forked from one that is recorded; it is not recorded itself");
        }
    });
}

/// Watches no longer, in a child process that has no threads but the calling one.
pub(crate) fn switch_off() {
    ON.store(false, Ordering::Release);
    FINISHED.store(true, Ordering::Release);
    tls::set_epoch(0, 0);
}

/// The process is about to end with a status, without running its exit handlers.
pub fn process_ending(status: i32) {
    finish(End::Exit(status));
}

/// The process is about to become another program. If that fails it goes on.
pub fn process_replaced() {
    with(|watcher, _| {
        watcher.flush();
        telling::summarize(watcher, End::Exec);
    });
}

/// The run is over: tells what is left.
pub(crate) fn finish(end: End) {
    let Some(watcher) = watcher() else { return };
    if FINISHED.swap(true, Ordering::AcqRel) {
        return;
    }
    if is_inside() {
        // A signal handler ends the process. This thread may hold any lock, so that nothing may be waited for.
        ON.store(false, Ordering::Release);
        return telling::finish_at_once(end);
    }
    let to_the_end = is_on();
    let mut inside = Inside::enter();
    if let Some(inside) = &mut inside {
        settle(inside);
    }
    guarded(|| {
        if OUT_OF_MEMORY.load(Ordering::Relaxed) {
            telling::note("memory was used up; what the program did from then on was not watched");
        }
        if to_the_end {
            watcher.finish(inside.as_deref_mut());
        } else {
            watcher.flush();
        }
        telling::finish(watcher, if to_the_end { end } else { End::Stopped });
    });
    ON.store(false, Ordering::Release);
}
