//! `join` and `join_context`.

use crate::erased;
use crate::tell::{Half, Join, JoinPlace};
use keirin_original as original;
use std::any::type_name;
use std::cell::Cell;
use std::marker::PhantomData;

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

/// So often halves of a parallel iterator are divided again as if another thread had taken them. How often they are depends on
/// threads and chance; what can run in parallel is then seen with one thread, too. (It is what rayon may do at any time.)
const DIVIDED: u32 = 2;

/// A call of `join_context`: the name of the type of its closures stands for the code that calls it, which calls itself again if it
/// divides something.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Division {
    caller: *const u8,
    depth: u32,
}

thread_local! {
    /// The innermost one whose closure the thread runs.
    static INNERMOST: Cell<Division> = const { Cell::new(Division { caller: std::ptr::null(), depth: 0 }) };
}

impl Division {
    fn of<A>() -> Self {
        let caller = type_name::<A>().as_ptr();
        let around = INNERMOST.get();
        let depth = if around.caller == caller { around.depth.saturating_add(1) } else { 0 };
        Division { caller, depth }
    }

    /// Runs one of its closures.
    #[inline(always)]
    fn run<R>(self, migrated: bool, closure: impl FnOnce(FnContext) -> R) -> R {
        struct Restored(Division);

        impl Drop for Restored {
            fn drop(&mut self) {
                INNERMOST.set(self.0);
            }
        }

        let _restored = Restored(INNERMOST.replace(self));
        closure(FnContext { migrated: migrated || self.depth < DIVIDED, _marker: PhantomData })
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
    let division = Division::of::<A>();
    // The pointer in it is an address, and nothing else.
    let (caller, depth) = (division.caller as usize, division.depth);
    let division = move || Division { caller: caller as *const u8, depth };
    join_in(
        None,
        depth > 0,
        move |migrated| division().run(migrated, oper_a),
        move |migrated| division().run(migrated, oper_b),
    )
}

/// Both at once, in a pool or where the caller is. `divides`: they are parts of what the calling task was spawned for.
#[inline(always)]
pub(crate) fn join_in<A, B, RA, RB>(
    pool: Option<&original::ThreadPool>,
    divides: bool,
    a: A,
    b: B,
) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if pool.is_none() {
        erased::start_global_pool();
    }
    let mut place = JoinPlace::new();
    let join = Join::begin(&mut place, divides);
    let [first, second] = join.halves();
    let both = move || {
        original::join_context(
            move |context| run(first, context.migrated(), a),
            move |context| run(second, context.migrated(), b),
        )
    };
    match pool {
        Some(pool) => pool.install(both),
        None => both(),
    }
}

/// Runs a half, in a frame of its own: what lies below that belongs to the half, and what lies above to who called it.
#[inline(never)]
fn run<R>(half: Half, migrated: bool, body: impl FnOnce(bool) -> R) -> R {
    half.run(|| called(migrated, body))
}

/// What the half does is a call in it, the outermost one: without a function of its own it would be none.
#[inline(never)]
fn called<R>(migrated: bool, body: impl FnOnce(bool) -> R) -> R {
    body(migrated)
}
