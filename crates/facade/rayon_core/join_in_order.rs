//! `join` and `join_context` with `--races`, in the place of `join`.
//!
//! What a call needs, the closures and then their results, lies in its frame. The code of the original gets the address of that and functions that
//! run the halves: it is not made here, so that it has none of the sanitizer's calls. What the calling thread runs itself costs no more than a call.

use crate::erased::{self, Halves};
use keirin_original as original;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};

/// `rayon_core::FnContext`.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`.
    _marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// The closures of a call until they are run, and what they have given since.
struct Call<A, B, RA, RB> {
    a: ManuallyDrop<A>,
    b: ManuallyDrop<B>,
    result_a: MaybeUninit<RA>,
    result_b: MaybeUninit<RB>,
}

impl<A, B, RA, RB> Call<A, B, RA, RB>
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
{
    const HALVES: Halves = Halves {
        run: [Self::run_a, Self::run_b],
        drop_closure: [Self::drop_a, Self::drop_b],
        drop_result: [Self::drop_result_a, Self::drop_result_b],
    };

    unsafe fn run_a(call: *mut (), migrated: bool) {
        let call = call.cast::<Self>();
        // SAFETY: as `Halves` says: it is called once, with the address of such a call, before its closure was dropped.
        unsafe {
            let a = ManuallyDrop::into_inner((&raw const (*call).a).read());
            (&raw mut (*call).result_a).cast::<RA>().write(a(migrated));
        }
    }

    unsafe fn run_b(call: *mut (), migrated: bool) {
        let call = call.cast::<Self>();
        // SAFETY: as above.
        unsafe {
            let b = ManuallyDrop::into_inner((&raw const (*call).b).read());
            (&raw mut (*call).result_b).cast::<RB>().write(b(migrated));
        }
    }

    unsafe fn drop_a(call: *mut ()) {
        // SAFETY: as `Halves` says: of a half that was not run, once.
        unsafe { ManuallyDrop::drop(&mut (*call.cast::<Self>()).a) }
    }

    unsafe fn drop_b(call: *mut ()) {
        // SAFETY: as `Halves` says: of a half that was not run, once.
        unsafe { ManuallyDrop::drop(&mut (*call.cast::<Self>()).b) }
    }

    unsafe fn drop_result_a(call: *mut ()) {
        // SAFETY: as `Halves` says: of a half that has given something which nobody takes.
        unsafe { (*call.cast::<Self>()).result_a.assume_init_drop() }
    }

    unsafe fn drop_result_b(call: *mut ()) {
        // SAFETY: as `Halves` says: of a half that has given something which nobody takes.
        unsafe { (*call.cast::<Self>()).result_b.assume_init_drop() }
    }
}

/// `rayon_core::join`.
#[inline(always)]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_in(None, false, |_| oper_a(), |_| oper_b())
}

/// `rayon_core::join_context`.
#[inline(always)]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let context = |migrated| FnContext { migrated, _marker: PhantomData };
    join_in(None, false, move |migrated| oper_a(context(migrated)), move |migrated| oper_b(context(migrated)))
}

/// Both at once, in a pool or where the caller is. (What divides a task is of no concern here.)
#[inline(always)]
pub(crate) fn join_in<A, B, RA, RB>(
    pool: Option<&original::ThreadPool>,
    _divides: bool,
    a: A,
    b: B,
) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let mut call = Call {
        a: ManuallyDrop::new(a),
        b: ManuallyDrop::new(b),
        result_a: MaybeUninit::uninit(),
        result_b: MaybeUninit::uninit(),
    };
    // SAFETY: the halves are those of this call, whose closures and results may be sent to other threads. When it returns both were run.
    unsafe {
        erased::join(pool, (&raw mut call).cast(), const { &Call::<A, B, RA, RB>::HALVES });
        (call.result_a.assume_init(), call.result_b.assume_init())
    }
}
