//! Forgetting the steps of finished scopes, so that memory is bounded by what the program touches, not by how many tasks it
//! has had.
//!
//! The shadow refers to steps by their numbers. Before numbers are used again, all of it is looked through, and what refers to
//! a step of a finished scope is made to refer to the one that stands for it. Meanwhile nobody else may have a number in
//! hand: all threads that come into the runtime wait at a [`Gate`], and those inside are waited for. (The hooks' own checks do
//! not matter: they compare with the number of the running step only, which is never forgotten.)

use super::words::{Form, TaskWord, number_of};
use super::{TaskDriver, Worker, sites};
use crate::layout::PAGE_BYTES;
use crate::shadow::pages;
use crate::spin::pause;
use crate::thread::{Registry, Thread};
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::sptree::{StepId, Structure};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

/// So many steps are not worth the trouble. (What is kept of more does not stay in the caches of a processor until it is used again.)
const LEAST: usize = 1 << 14;

/// Where threads wait while steps are forgotten.
#[derive(Default)]
pub(super) struct Gate {
    closed: AtomicBool,
    count: AtomicU32,
}

impl Gate {
    /// How often steps were forgotten.
    #[inline(always)]
    pub(super) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Waits until nobody forgets steps. To be called by a thread that is inside of the runtime and holds no lock.
    #[inline(always)]
    pub(super) fn pass(&self, thread: &mut Thread) {
        if self.closed.load(Ordering::Acquire) {
            self.wait(thread);
        }
    }

    #[cold]
    fn wait(&self, thread: &mut Thread) {
        let mut tries = 0;
        while self.closed.load(Ordering::Acquire) {
            thread.set_waiting(true);
            while self.closed.load(Ordering::Acquire) {
                pause(tries);
                tries = tries.wrapping_add(1);
            }
            thread.set_waiting(false);
            // The next one may have begun, and taken this thread for one that waits.
            fence(Ordering::SeqCst);
        }
    }
}

const MEMBARRIER_PRIVATE_EXPEDITED: i32 = 8;
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: i32 = 16;
const MEMBARRIER_GLOBAL: i32 = 1;

fn membarrier(command: i32) -> bool {
    // SAFETY: the call has no preconditions.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// To be called once before the first sweep.
pub(super) fn prepare() {
    membarrier(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED);
}

/// All threads see what was written before, and what they have written is seen.
fn fence_everywhere() {
    fence(Ordering::SeqCst);
    if !membarrier(MEMBARRIER_PRIVATE_EXPEDITED) {
        membarrier(MEMBARRIER_GLOBAL);
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// True if there are enough steps of finished scopes to forget them.
    #[inline]
    pub(super) fn is_sweep_due(&self) -> bool {
        let collapsed = self.labels.collapsed();
        collapsed >= LEAST && collapsed >= pages::used() / 16
    }

    /// Forgets the steps of finished scopes. The thread holds no lock.
    #[cold]
    pub(super) fn sweep(&self, thread: &mut Thread) {
        if self.sweep.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        fence_everywhere();
        self.wait_for_others(thread);
        let mut hand = self.hand.lock();
        let labels = hand.structure();
        let resolve = |step: StepId| labels.resolve(step);
        pages::for_each(|page| self.sweep_page(page, &resolve, labels));
        self.possible.visit_steps(|step| *step = resolve(*step));
        self.analysis.visit_own_steps(&mut |step| *step = resolve(*step));
        let alone = StepId(self.alone.load(Ordering::Relaxed));
        if alone.is_some() {
            self.alone.store(resolve(alone).0, Ordering::Relaxed);
        }
        // If nobody runs it any more its number may be another step's from now on.
        let serial = StepId(self.serial.load(Ordering::Relaxed));
        let mut goes_on = false;
        self.for_each_worker(|worker| goes_on |= worker.step == serial);
        if !goes_on {
            self.set_serial(StepId::NONE);
        }
        self.for_each_worker(|worker| {
            worker.known.resolve(labels);
            let data = &mut worker.data;
            let before = data.known_before.iter_mut().map(|(_, known)| known);
            before.chain([&mut data.fenced, &mut data.seen]).for_each(|known| known.resolve(labels));
        });
        self.tasks.for_each_data(|data| {
            let before = data.known_before.iter_mut().map(|(_, known)| known);
            before.chain([&mut data.fenced, &mut data.seen]).for_each(|known| known.resolve(labels));
        });
        self.tasks.resolve(&hand);
        // No number is used again before all that refer to it were replaced.
        hand.structure_mut().forget_collapsed();
        self.for_each_worker(|worker| worker.hand.structure_mut().forget_collapsed());
        drop(hand);
        self.sweep.count.fetch_add(1, Ordering::Relaxed);
        self.sweep.closed.store(false, Ordering::Release);
    }

    /// Waits until no other thread is inside, or only at the gate.
    fn wait_for_others(&self, thread: &Thread) {
        let me = thread.id;
        let mut tries = 0;
        loop {
            let busy = Registry::with(|registry| {
                registry.entries().iter().enumerate().any(|(id, entry)| {
                    // SAFETY: a thread that has not ended is not given back while the registry is held.
                    id as u32 != me.0
                        && !entry.ended
                        && !entry.thread.is_null()
                        && unsafe { (*entry.thread).is_at_work() }
                })
            });
            if !busy || !crate::watch::is_on() {
                return;
            }
            pause(tries);
            tries = tries.wrapping_add(1);
        }
    }

    fn for_each_worker(&self, mut visit: impl FnMut(&mut Worker)) {
        for worker in self.workers.lock().iter() {
            // SAFETY: nobody is at work, so that what a thread keeps is ours for the moment; it is on the list as long as it is
            // there.
            visit(unsafe { &mut *worker.0 });
        }
    }

    fn sweep_page(&self, page: usize, resolve: &impl Fn(StepId) -> StepId, labels: &impl Structure) {
        let stand_in =
            |number: u64| if number == 0 { 0 } else { number_of(resolve(StepId(number as u32 - 1))) };
        for shadow in (page..page + PAGE_BYTES).step_by(64) {
            let known = TaskWord::at(shadow).is_behind() || TaskWord::at(shadow).others_behind();
            let replace = |number: u64| if known { stand_in(number) } else { 0 };
            sites::replace_behind(TaskWord::program_address(shadow), replace);
        }
        for shadow in (page..page + PAGE_BYTES).step_by(8) {
            let word = TaskWord::at(shadow);
            let old = word.load();
            if old == 0 {
                continue;
            }
            let form = match Form::of(old) {
                Some(Form::Plain { write, written, read, read_bytes }) => {
                    Form::Plain { write: stand_in(write), written, read: stand_in(read), read_bytes }
                }
                Some(Form::Readers { english, hebrew, bytes, behind }) => {
                    let (english, hebrew) = (stand_in(english), stand_in(hebrew));
                    Form::Readers { english, hebrew, bytes, behind }
                }
                Some(Form::Halves { steps, kind, behind }) => {
                    Form::Halves { steps: steps.map(stand_in), kind, behind }
                }
                Some(Form::Part { rest, part, bytes }) => {
                    Form::Part { rest: stand_in(rest), part: stand_in(part), bytes }
                }
                Some(Form::UnderLocks { english, hebrew, kind, locks }) => {
                    let (english, hebrew) = (stand_in(english), stand_in(hebrew));
                    Form::UnderLocks { english, hebrew, kind, locks }
                }
                None => {
                    if let Some(locked) = word.lock_bytes() {
                        locked.bytes().resolve(resolve);
                    } else if let Some(mut locked) = word.lock_record::<A>(0) {
                        let record = locked.record();
                        for (_, cell) in record.cells.iter_mut() {
                            A::visit_steps(cell, &mut |step| *step = resolve(*step));
                        }
                        record.objects.for_each(|known| known.resolve(labels));
                    }
                    continue;
                }
            };
            // Nobody else is at work.
            if let Some(new) = form.number() {
                word.set(new);
            }
        }
    }
}
