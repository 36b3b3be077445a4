//! The two tasks of a `join` of rayon, which are told only if something happens in them.
//!
//! A `join` takes rayon some ten nanoseconds, and telling two tasks a hundred times that. Most tasks do nothing that the analysis looks at.
//! So the two halves of a join are noted in the frame of that call, where they stay until both have ended, and each thread knows the
//! half that it runs, if that is *untold*. When something is to be told in it, it is told before that the half was spawned, and by whom, and that it
//! has begun: [`tell`]. A half that ends untold has left no trace, and was of no concern to anybody.
//!
//! **Who tells for whom.** A half is spawned by the task that calls `join`. If that has begun, as far as the analysis knows, both halves are spawned at
//! once. Else it is untold itself, and it is told when the half is: that it was spawned, and for a moment it is begun, spawns the half, and is
//! suspended. So it does not matter which thread does that, the one that runs it or one that has taken its half: whoever runs in the half, what the caller was
//! told to have done is the same. In the same way it waits for its halves when the join is over. It has begun for good when something is told
//! in itself.
//!
//! Nothing is told in a task while it is within its own `join` (it may run others meanwhile, which are untold at first, or told as begun in the
//! same thread and ended before it goes on). So a task that has begun for good has no untold halves, and is never begun for a moment.
//!
//! The structure is the same as if all had been told: what the caller did before the join comes before its halves, these are parallel, and
//! what it does afterwards comes after both. Only steps are missing in which nothing was done.
//!
//! **Who may touch what.** [`Join`]: who calls `join`; its halves: who runs them. Whether a half is spawned: who holds [`TELLING`], and who has
//! ended it. Others know of a join, and of those around it, only while a half of it runs: until then none of them ends.

use crate::spin::Spin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Halves stay untold as long as nothing is told in them.
static ON: AtomicBool = AtomicBool::new(false);
/// Held by who tells for untold tasks.
static TELLING: Spin<()> = Spin::new(());
/// Tasks that have ended untold.
static UNTOLD: AtomicU64 = AtomicU64::new(0);

/// Begins, or ends, to leave halves untold.
pub(crate) fn switch(on: bool) {
    ON.store(on, Ordering::Relaxed);
}

#[inline(always)]
pub(super) fn are_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// How many tasks have ended untold.
pub(crate) fn untold_tasks() -> u64 {
    UNTOLD.load(Ordering::Relaxed)
}

/// What a thread ran before a task, as far as it was told, and where its stack ended for that.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Ran {
    pub(crate) task: usize,
    pub(crate) stack_end: usize,
}

/// A call of `join`, in memory of that call.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Join {
    call: Call,
    halves: [Half; 2],
}

/// What is known of it from the beginning, and stays as it is. It is known by the address of this.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Call {
    /// The half that has called it, if that is untold.
    pub(crate) caller: *mut Half,
    pub(crate) pc: usize,
    /// The frame of the function that calls.
    pub(crate) frame: usize,
    /// It divides what the caller was spawned for.
    pub(crate) divides: bool,
}

/// A task of a join.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Half {
    call: *const Call,
    /// 0: nobody has told that it was spawned.
    task: AtomicUsize,
    /// The untold half that the thread ran before.
    before: *mut Half,
    /// The frame of the function that runs it.
    pub(crate) frame: usize,
    /// It was told that it has begun; what the thread ran before.
    has_begun: bool,
    ran: Ran,
    /// Tasks of joins within it that have ended untold.
    untold: u64,
}

/// How many words a caller must provide for a join.
pub(crate) const JOIN_WORDS: usize = 20;
const _: () = assert!(size_of::<Join>() <= JOIN_WORDS * size_of::<usize>());

/// Who is told of tasks, for the calling thread.
pub(crate) trait Teller {
    /// Halves stay untold as long as nothing is told in them.
    fn leaves_untold(&self) -> bool;
    /// The half that the thread runs, if it is untold.
    fn untold(&self) -> *mut Half;
    fn set_untold(&mut self, half: *mut Half);
    /// What the thread runs, as far as it was told, spawns a half of a join.
    fn spawn(&mut self, call: &Call) -> usize;
    /// The thread begins a task, or goes on with it, which runs in a function with this frame.
    fn begin(&mut self, task: usize, frame: usize) -> Ran;
    fn suspend(&mut self, ran: Ran);
    fn end(&mut self, ran: Ran);
    /// What the thread runs has waited for the halves of a join.
    fn waited(&mut self, call: &Call);
}

impl Join {
    /// A call of `join` begins.
    ///
    /// # Safety
    ///
    /// There is memory for it, which stays where it is until it ends.
    #[inline(always)]
    pub(super) unsafe fn begin(
        join: *mut Join,
        teller: &mut impl Teller,
        divides: bool,
        (pc, frame): (usize, usize),
    ) {
        let caller = teller.untold();
        let half = || Half {
            call: join.cast(),
            task: AtomicUsize::new(0),
            before: std::ptr::null_mut(),
            frame: 0,
            has_begun: false,
            ran: Ran::default(),
            untold: 0,
        };
        let call = Call { caller, pc, frame, divides };
        // SAFETY: as the caller says.
        unsafe { join.write(Join { call, halves: [half(), half()] }) };
        if caller.is_null() {
            // SAFETY: nobody else knows it so far.
            unsafe { &*join }.spawn_both(teller);
        }
    }

    #[cold]
    fn spawn_both(&self, teller: &mut impl Teller) {
        for half in &self.halves {
            half.task.store(teller.spawn(&self.call), Ordering::Relaxed);
        }
    }

    /// One of its halves.
    ///
    /// # Safety
    ///
    /// It has begun and not ended.
    #[inline(always)]
    pub(super) unsafe fn half(join: *mut Join, second: bool) -> *mut Half {
        // SAFETY: as the caller says; no reference is made.
        unsafe { (&raw mut (*join).halves).cast::<Half>().add(usize::from(second)) }
    }

    /// Both halves have ended, and the call is about to return.
    #[inline(always)]
    pub(super) fn end(&self, teller: &mut impl Teller) {
        let told = self.halves.each_ref().map(|half| half.task.load(Ordering::Relaxed) != 0);
        if told != [false; 2] {
            self.tell_end(teller);
        }
        let [first, second] = &self.halves;
        let untold = first.untold + second.untold + u64::from(!told[0]) + u64::from(!told[1]);
        if self.call.caller.is_null() {
            if untold > 0 {
                UNTOLD.fetch_add(untold, Ordering::Relaxed);
            }
        } else {
            // SAFETY: it is run by the calling thread, and has not ended.
            unsafe { (*self.call.caller).untold += untold };
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_end(&self, teller: &mut impl Teller) {
        let Call { caller, .. } = self.call;
        if caller.is_null() {
            return teller.waited(&self.call);
        }
        teller.set_untold(std::ptr::null_mut());
        let telling = TELLING.lock();
        // SAFETY: as above. It was spawned when a half of it was.
        unsafe { Half::act(caller, teller, |teller| teller.waited(&self.call)) };
        drop(telling);
        teller.set_untold(caller);
    }
}

impl Half {
    /// The thread begins to run it, in a function with this frame.
    ///
    /// # Safety
    ///
    /// It belongs to a join that has begun, and nobody runs it.
    #[inline(always)]
    pub(super) unsafe fn begin(half: *mut Half, teller: &mut impl Teller, frame: usize) {
        // SAFETY: as the caller says.
        unsafe {
            (*half).before = teller.untold();
            (*half).frame = frame;
        }
        teller.set_untold(half);
        if !teller.leaves_untold() {
            // SAFETY: as above.
            unsafe { tell(half, teller) };
        }
    }

    /// The thread has run it to its end.
    ///
    /// # Safety
    ///
    /// The thread runs it.
    #[inline(always)]
    pub(super) unsafe fn end(half: *mut Half, teller: &mut impl Teller) {
        // SAFETY: as the caller says.
        let (task, before) = unsafe { ((*half).task.load(Ordering::Relaxed), (*half).before) };
        if task != 0 {
            // SAFETY: as above.
            unsafe { Self::tell_end(half, teller) };
        }
        teller.set_untold(before);
    }

    #[cold]
    #[inline(never)]
    unsafe fn tell_end(half: *mut Half, teller: &mut impl Teller) {
        teller.set_untold(std::ptr::null_mut());
        // SAFETY: as in `end`.
        let Half { task, has_begun, ran, frame, .. } = unsafe { &*half };
        let ran = if *has_begun { *ran } else { teller.begin(task.load(Ordering::Relaxed), *frame) };
        teller.end(ran);
    }

    /// Does something as an untold task that was spawned.
    ///
    /// # Safety
    ///
    /// Its join has not ended, and the caller holds [`TELLING`].
    unsafe fn act<T: Teller>(half: *mut Half, teller: &mut T, act: impl FnOnce(&mut T)) {
        // SAFETY: as the caller says.
        let (task, frame, has_begun) =
            unsafe { ((*half).task.load(Ordering::Relaxed), (*half).frame, (*half).has_begun) };
        if has_begun {
            // Something was told within its own join, which nobody does. What it has belongs to the thread that runs it.
            return act(teller);
        }
        let ran = teller.begin(task, frame);
        act(teller);
        teller.suspend(ran);
    }
}

/// Tells that the untold half which the thread runs has begun, and before that all that led to it. From now on it is no longer untold.
///
/// # Safety
///
/// The thread runs it.
#[cold]
#[inline(never)]
pub(super) unsafe fn tell(half: *mut Half, teller: &mut impl Teller) {
    // From here on something may be told.
    teller.set_untold(std::ptr::null_mut());
    let telling = TELLING.lock();
    let mut unspawned = Vec::new();
    let mut next = half;
    // SAFETY: a half that is run belongs to a join that has not ended, nor have those around it, whose halves run as well. Those of
    // a join without an untold caller were spawned at once.
    unsafe {
        while (*next).task.load(Ordering::Relaxed) == 0 {
            unspawned.push(next);
            next = (*(*next).call).caller;
        }
        for half in unspawned.into_iter().rev() {
            let call = &*(*half).call;
            Half::act(call.caller, teller, |teller| {
                (*half).task.store(teller.spawn(call), Ordering::Relaxed);
            });
        }
        (*half).ran = teller.begin((*half).task.load(Ordering::Relaxed), (*half).frame);
        (*half).has_begun = true;
    }
    drop(telling);
}

#[cfg(test)]
mod tests;
