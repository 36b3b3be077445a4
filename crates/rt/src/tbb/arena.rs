//! Work that is carried into an arena: if the arena is full, another thread does it for the one that waits.

use super::local::Local;
use super::originals::originals;
use crate::intercept::arch::intercept;
use crate::watch;
use libc::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

type Call = unsafe extern "C-unwind" fn(*const Delegate) -> bool;
type CallOriginal = unsafe extern "C-unwind" fn(*mut c_void) -> bool;

/// Stands in front of the object whose function the library calls.
#[repr(C)]
struct Delegate {
    table: *const Call,
    original: *mut c_void,
    /// Who waits.
    waiting: *mut Local,
    elsewhere: AtomicBool,
    pc: usize,
}

/// Our table of virtual functions, with what stands before it in memory. The library does not destroy what it is given.
#[repr(C)]
struct Table {
    offset: isize,
    type_information: usize,
    call: Call,
    destroy: [Call; 2],
}

static OURS: Table = Table { offset: 0, type_information: 0, call, destroy: [kept, kept] };

unsafe extern "C-unwind" fn kept(_delegate: *const Delegate) -> bool {
    false
}

/// Two names for the order of before and after.
fn tokens(delegate: *const Delegate) -> (usize, usize) {
    (delegate as usize, delegate as usize + size_of::<usize>())
}

unsafe extern "C-unwind" fn call(delegate: *const Delegate) -> bool {
    // SAFETY: the library passes what it was given, which lives until its call returns.
    let delegate = unsafe { &*delegate };
    struct Published(usize, usize);
    impl Drop for Published {
        fn drop(&mut self) {
            watch::happens_before(self.0, self.1);
        }
    }
    let (before, after) = tokens(delegate);
    let _published = (delegate.waiting != Local::get()).then(|| {
        watch::happens_after(before, delegate.pc);
        delegate.elsewhere.store(true, Ordering::Release);
        Published(after, delegate.pc)
    });
    // SAFETY: the original begins with its table, in which the first function has this type.
    unsafe {
        let table = *delegate.original.cast::<*const CallOriginal>();
        (*table)(delegate.original)
    }
}

/// After the call, also if it ends by an exception.
impl Drop for Delegate {
    fn drop(&mut self) {
        if self.elsewhere.load(Ordering::Acquire) {
            watch::happens_after(tokens(self).1, self.pc);
        }
    }
}

originals! {
    fn _ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE(arena: *mut c_void, delegate: *mut c_void);
}

intercept! {
    fn _ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE(arena: *mut c_void, delegate: *mut c_void; pc) {
        if !watch::is_on() {
            return self::_ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE(arena, delegate);
        }
        let ours = Delegate {
            table: &raw const OURS.call,
            original: delegate,
            waiting: Local::get(),
            elsewhere: AtomicBool::new(false),
            pc,
        };
        watch::happens_before(tokens(&ours).0, pc);
        self::_ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE(arena, (&raw const ours).cast_mut().cast())
    }
}
