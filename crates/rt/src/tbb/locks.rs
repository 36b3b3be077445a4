//! The library's mutexes.
//!
//! Most are code of the headers. A few lines that `keirin c++` puts in front of every C++ source have them call
//! `__keirin_tbb_mutex`, with the name of the function that does so, which tells readers from writers. The others are in the
//! library.
//!
//! Containers and flow graphs hand things from task to task under mutexes of their own. That is an order which every schedule
//! keeps, so these mutexes are told as order as well. Which they are is found out when they are made: in memory that the
//! library has just handed out for a container, or the two that lie within a `concurrent_hash_map` itself.
//!
//! The atomic operations by which a mutex works are not told: a lock excludes, but orders nothing.

use super::local::{self, Class, Held, Local};
use super::originals::originals;
use crate::groups;
use crate::intercept::arch::{hooks, intercept};
use crate::intercept::plain;
use crate::spin::Spin;
use crate::watch;
use keirin_core::event::{AtomicKind, LockMode, MemoryOrder};
use libc::{c_char, c_int, c_void, size_t};
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::collections::HashSet;

/// What the headers tell.
const PREPARE: c_int = 0;
const CANCEL: c_int = 1;
pub(super) const ACQUIRED: c_int = 2;
pub(super) const RELEASING: c_int = 3;

/// Operations by which a mutex is released at most; its waiters may be told elsewhere.
const RELEASES: u32 = 1;

fn held() -> &'static mut Vec<Held> {
    // SAFETY: the thread's own, which lives for ever; nothing below keeps it while it calls another function here.
    unsafe { &mut (*Local::get()).held }
}

/// Mutexes of containers. One that is gone may stay here: another one in its place orders more than it should.
static OF_CONTAINERS: [Spin<FxHashSet<usize>>; 64] =
    [const { Spin::new(HashSet::with_hasher(FxBuildHasher)) }; 64];

fn of_containers(mutex: usize) -> &'static Spin<FxHashSet<usize>> {
    &OF_CONTAINERS[(mutex >> 4 ^ mutex >> 10) % 64]
}

/// The mutexes of two neighbours in a table of buckets lie so far apart.
const BUCKET: usize = 16;

/// A mutex was made, with or without readers.
fn made(mutex: usize, readers: bool) {
    // SAFETY: the thread's own, which lives for ever.
    let local = unsafe { &mut *Local::get() };
    let [first, second] = local.last_made;
    local.last_made = [second, mutex];
    let (block, size) = local.last_block;
    if (block..block + size).contains(&mutex) {
        of_containers(mutex).lock().insert(mutex);
    } else if readers && second + BUCKET == mutex {
        if first + BUCKET == second {
            // More than two are the program's.
            of_containers(first).lock().remove(&first);
            of_containers(second).lock().remove(&second);
        } else {
            of_containers(second).lock().insert(second);
            of_containers(mutex).lock().insert(mutex);
        }
    }
}

/// True if a mutex orders what happens under it.
fn orders(mutex: usize) -> bool {
    // SAFETY: the thread's own, which lives for ever.
    let local = unsafe { &mut *Local::get() };
    local.bodies == 0 && local.class() == Class::Graph || of_containers(mutex).lock().contains(&mutex)
}

/// What readers of a mutex that orders hand over to writers; what writers hand over has the address of the mutex.
fn by_readers(mutex: usize) -> usize {
    mutex | 1 << 62
}

/// False if it was told before: some are told by two functions, one of which calls the other.
fn acquired(mutex: usize, shared: bool, pc: usize) -> bool {
    local::silence_wait(false);
    if held().iter().any(|held| held.mutex == mutex) {
        return false;
    }
    held().push(Held { mutex, shared, changes: 0 });
    let mode = if shared { LockMode::Shared } else { LockMode::Exclusive };
    watch::lock_acquired(mutex, mode, pc);
    if orders(mutex) {
        watch::happens_after(mutex, pc);
        if !shared {
            watch::happens_after(by_readers(mutex), pc);
        }
    }
    true
}

fn released(mutex: usize, pc: usize) {
    let shared = held().iter().any(|held| held.mutex == mutex && held.shared);
    if orders(mutex) {
        watch::happens_before(if shared { by_readers(mutex) } else { mutex }, pc);
    }
    held().retain(|held| held.mutex != mutex);
    watch::lock_released(mutex, pc);
}

/// A reader has become the writer, or the other way round.
fn changed(mutex: usize, shared: bool, pc: usize) {
    released(mutex, pc);
    acquired(mutex, shared, pc);
}

/// What an attempt to take the mutex has published, which was not told of before, is taken back.
fn unpublish(mutex: usize, pc: usize) {
    watch::atomic(mutex, 1, pc, || (AtomicKind::Store, MemoryOrder::Relaxed, ()));
}

/// After an atomic operation by which a reader has become the writer.
#[cold]
pub(crate) fn upgraded(mutex: usize, pc: usize) {
    held().iter_mut().filter(|held| held.mutex == mutex).for_each(|held| held.shared = false);
    watch::lock_released(mutex, pc);
    watch::lock_acquired(mutex, LockMode::Exclusive, pc);
    if orders(mutex) {
        // Other readers have given it up before.
        watch::happens_after(mutex, pc);
        watch::happens_after(by_readers(mutex), pc);
    }
}

/// True if a name has this at its end.
unsafe fn ends_with(name: *const c_char, end: &[u8]) -> bool {
    // SAFETY: the compiler passes a string with an end.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), plain::strlen(name)) };
    name.ends_with(end)
}

hooks! {
    fn __keirin_tbb_mutex(what: c_int, mutex: *mut c_void, size: size_t, function: *const c_char; pc) {
        if !watch::is_on() {
            return;
        }
        let address = mutex as usize;
        match what {
            PREPARE => {
                watch::lock_awaited(address, pc);
                local::silence_wait(true);
            }
            CANCEL => local::silence_wait(false),
            ACQUIRED => {
                let waited = local::is_waiting();
                if acquired(address, ends_with(function, b"shared"), pc) && !waited {
                    unpublish(address, pc);
                }
            }
            RELEASING => {
                if ends_with(function, b"downgrade") {
                    changed(address, true, pc);
                } else {
                    released(address, pc);
                }
                // Only a mutex with a queue is released by a function of its guard.
                if ends_with(function, b"release") {
                    local::silence_queue();
                } else {
                    local::silence_next(RELEASES, address, size);
                }
            }
            _ => {}
        }
    }

    fn __keirin_tbb_made(mutex: *mut c_void, readers: c_int; _pc) {
        if watch::is_on() {
            made(mutex as usize, readers != 0);
        }
    }

    // The program asks for what belongs to the calling thread.
    fn __keirin_tbb_own(; pc) {
        if watch::is_on() {
            groups::uses_own(pc);
        }
    }
}

/// The mutex of one of the library's guards, which begins with a pointer to it.
unsafe fn mutex_of(guard: *mut c_void) -> usize {
    // SAFETY: the program passes a guard that holds a mutex.
    unsafe { *guard.cast::<usize>() }
}

fn told(result: bool, mutex: *mut c_void, shared: bool, pc: usize) -> bool {
    if result && watch::is_on() {
        acquired(mutex as usize, shared, pc);
    }
    result
}

unsafe fn tell_release(guard: *mut c_void, pc: usize) {
    if watch::is_on() {
        // SAFETY: as for the caller.
        released(unsafe { mutex_of(guard) }, pc);
    }
}

/// Around a change from reader to writer or back by the library.
unsafe fn tell_change(guard: *mut c_void, shared: bool, pc: usize, change: impl FnOnce() -> bool) -> bool {
    // SAFETY: as for the caller.
    let mutex = unsafe { mutex_of(guard) };
    let on = watch::is_on();
    if on {
        released(mutex, pc);
    }
    let result = change();
    if on {
        acquired(mutex, shared, pc);
    }
    result
}

originals! {
    fn _ZN3tbb6detail2r17acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, write: bool);
    fn _ZN3tbb6detail2r111try_acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, write: bool) -> bool;
    fn _ZN3tbb6detail2r17releaseERNS0_2d116queuing_rw_mutex11scoped_lockE(guard: *mut c_void);
    fn _ZN3tbb6detail2r117upgrade_to_writerERNS0_2d116queuing_rw_mutex11scoped_lockE(guard: *mut c_void) -> bool;
    fn _ZN3tbb6detail2r119downgrade_to_readerERNS0_2d116queuing_rw_mutex11scoped_lockE(guard: *mut c_void) -> bool;
    fn _ZN3tbb6detail2r17acquireERNS0_2d19rtm_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, speculate: bool);
    fn _ZN3tbb6detail2r111try_acquireERNS0_2d19rtm_mutexERNS3_11scoped_lockE(mutex: *mut c_void, guard: *mut c_void) -> bool;
    fn _ZN3tbb6detail2r17releaseERNS0_2d19rtm_mutex11scoped_lockE(guard: *mut c_void);
    fn _ZN3tbb6detail2r114acquire_writerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, speculate: bool);
    fn _ZN3tbb6detail2r114acquire_readerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, speculate: bool);
    fn _ZN3tbb6detail2r118try_acquire_writerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockE(mutex: *mut c_void, guard: *mut c_void) -> bool;
    fn _ZN3tbb6detail2r118try_acquire_readerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockE(mutex: *mut c_void, guard: *mut c_void) -> bool;
    fn _ZN3tbb6detail2r17releaseERNS0_2d112rtm_rw_mutex11scoped_lockE(guard: *mut c_void);
    fn _ZN3tbb6detail2r17upgradeERNS0_2d112rtm_rw_mutex11scoped_lockE(guard: *mut c_void) -> bool;
    fn _ZN3tbb6detail2r19downgradeERNS0_2d112rtm_rw_mutex11scoped_lockE(guard: *mut c_void) -> bool;
}

intercept! {
    fn _ZN3tbb6detail2r17acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, write: bool; pc) {
        self::_ZN3tbb6detail2r17acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb(mutex, guard, write);
        told(true, mutex, !write, pc);
    }

    fn _ZN3tbb6detail2r111try_acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, write: bool; pc) -> bool {
        told(self::_ZN3tbb6detail2r111try_acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb(mutex, guard, write), mutex, !write, pc)
    }

    fn _ZN3tbb6detail2r17releaseERNS0_2d116queuing_rw_mutex11scoped_lockE(guard: *mut c_void; pc) {
        tell_release(guard, pc);
        self::_ZN3tbb6detail2r17releaseERNS0_2d116queuing_rw_mutex11scoped_lockE(guard)
    }

    fn _ZN3tbb6detail2r117upgrade_to_writerERNS0_2d116queuing_rw_mutex11scoped_lockE(guard: *mut c_void; pc) -> bool {
        tell_change(guard, false, pc, || self::_ZN3tbb6detail2r117upgrade_to_writerERNS0_2d116queuing_rw_mutex11scoped_lockE(guard))
    }

    fn _ZN3tbb6detail2r119downgrade_to_readerERNS0_2d116queuing_rw_mutex11scoped_lockE(guard: *mut c_void; pc) -> bool {
        tell_change(guard, true, pc, || self::_ZN3tbb6detail2r119downgrade_to_readerERNS0_2d116queuing_rw_mutex11scoped_lockE(guard))
    }

    fn _ZN3tbb6detail2r17acquireERNS0_2d19rtm_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, speculate: bool; pc) {
        self::_ZN3tbb6detail2r17acquireERNS0_2d19rtm_mutexERNS3_11scoped_lockEb(mutex, guard, speculate);
        told(true, mutex, false, pc);
    }

    fn _ZN3tbb6detail2r111try_acquireERNS0_2d19rtm_mutexERNS3_11scoped_lockE(mutex: *mut c_void, guard: *mut c_void; pc) -> bool {
        told(self::_ZN3tbb6detail2r111try_acquireERNS0_2d19rtm_mutexERNS3_11scoped_lockE(mutex, guard), mutex, false, pc)
    }

    fn _ZN3tbb6detail2r17releaseERNS0_2d19rtm_mutex11scoped_lockE(guard: *mut c_void; pc) {
        tell_release(guard, pc);
        self::_ZN3tbb6detail2r17releaseERNS0_2d19rtm_mutex11scoped_lockE(guard)
    }

    fn _ZN3tbb6detail2r114acquire_writerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, speculate: bool; pc) {
        self::_ZN3tbb6detail2r114acquire_writerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockEb(mutex, guard, speculate);
        told(true, mutex, false, pc);
    }

    fn _ZN3tbb6detail2r114acquire_readerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockEb(mutex: *mut c_void, guard: *mut c_void, speculate: bool; pc) {
        self::_ZN3tbb6detail2r114acquire_readerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockEb(mutex, guard, speculate);
        told(true, mutex, true, pc);
    }

    fn _ZN3tbb6detail2r118try_acquire_writerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockE(mutex: *mut c_void, guard: *mut c_void; pc) -> bool {
        told(self::_ZN3tbb6detail2r118try_acquire_writerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockE(mutex, guard), mutex, false, pc)
    }

    fn _ZN3tbb6detail2r118try_acquire_readerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockE(mutex: *mut c_void, guard: *mut c_void; pc) -> bool {
        told(self::_ZN3tbb6detail2r118try_acquire_readerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockE(mutex, guard), mutex, true, pc)
    }

    fn _ZN3tbb6detail2r17releaseERNS0_2d112rtm_rw_mutex11scoped_lockE(guard: *mut c_void; pc) {
        tell_release(guard, pc);
        self::_ZN3tbb6detail2r17releaseERNS0_2d112rtm_rw_mutex11scoped_lockE(guard)
    }

    fn _ZN3tbb6detail2r17upgradeERNS0_2d112rtm_rw_mutex11scoped_lockE(guard: *mut c_void; pc) -> bool {
        tell_change(guard, false, pc, || self::_ZN3tbb6detail2r17upgradeERNS0_2d112rtm_rw_mutex11scoped_lockE(guard))
    }

    fn _ZN3tbb6detail2r19downgradeERNS0_2d112rtm_rw_mutex11scoped_lockE(guard: *mut c_void; pc) -> bool {
        tell_change(guard, true, pc, || self::_ZN3tbb6detail2r19downgradeERNS0_2d112rtm_rw_mutex11scoped_lockE(guard))
    }

    // What the headers tell of objects that are no mutexes: their atomic operations say it all.
    fn _ZN3tbb6detail2r115call_itt_notifyEiPv(_what: c_int, _object: *mut c_void; _pc) {}
}
