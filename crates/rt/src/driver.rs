//! The online driver: hands what happens in the program to an analysis, from all threads at once.
//!
//! It owns the state of threads (`thread`), of memory (`shadow`) and of locks and the like (`objects`), each handed in
//! exclusively: a thread's by the thread itself, the others under the lock of their word. What the analysis finds goes to
//! `telling`. Beside it, or without any analysis, everything can be recorded (`record`).
//!
//! Positions: an analysis that counts accesses gets the processor's clock, so that positions of different threads can be
//! compared; another one gets the number of times that the thread has published something, so that all its accesses in
//! between are in one epoch.

use crate::actors::Actors;
use crate::adversary::Adversary;
use crate::places::PlaceNumber;
use crate::record::Recorder;
use crate::shadow::{self, Locked, Shadowed, Word, words};
use crate::thread::{Entry, Registry, Thread};
use crate::watcher::Watcher;
use crate::{blocks, layout, objects, telling, tls};
use keirin_core::analysis::{AtomicOperation, Part};
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, GroupId, LockId, LockMode, MemoryOrder, Op, RegionId, SiteId, StackId,
    ThreadId,
};
use keirin_core::finding::{Findings, Moment, RawStep};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Accesses that were not looked at because the memory for them was used up.
pub(crate) static REFUSED: AtomicU64 = AtomicU64::new(0);

/// How a run is watched.
#[derive(Default)]
pub(crate) struct Watching {
    /// One operation after the other, in the order of the trace.
    pub(crate) exact_order: bool,
    /// Outermost critical sections are atomic regions.
    pub(crate) critical_sections: bool,
    /// Threads are paused where that may show a violation.
    pub(crate) adversary: Option<Adversary>,
}

/// The driver of one analysis.
pub(crate) struct Driver<A: Shadowed> {
    analysis: A,
    actors: Actors,
    recorder: Option<Recorder>,
    watching: Watching,
    /// Held during every operation if the order must be exact.
    order: crate::spin::Spin<()>,
}

/// The processor's clock in steps of sixteen, from the start of the run: 44 bits last for a day.
fn clock() -> u64 {
    static START: AtomicU64 = AtomicU64::new(0);
    let now = layout::processor_clock();
    let start = START.load(Ordering::Relaxed);
    if start == 0 {
        START.store(now, Ordering::Relaxed);
        return 1;
    }
    (now.wrapping_sub(start) >> 4) + 1
}

/// Tokens that are small numbers, such as descriptors, do not share words.
fn token_address(token: usize) -> usize {
    if token < layout::PAGE_BYTES * 2 { token * layout::WORD_BYTES } else { token }
}

impl<A: Shadowed> Driver<A> {
    pub(crate) fn new(analysis: A, recorder: Option<Recorder>, watching: Watching) -> Self {
        let most = if A::COMPACT { A::MOST_ACTORS } else { u32::MAX };
        Self { analysis, actors: Actors::new(most), recorder, watching, order: crate::spin::Spin::new(()) }
    }

    /// Lets one thread at a time pass if the order must be exact.
    fn in_order(&self) -> Option<crate::spin::Guard<'_, ()>> {
        self.watching.exact_order.then(|| self.order.lock())
    }

    /// The analysis' state of a thread, to look at.
    #[inline]
    fn state(thread: &Thread) -> &A::Thread {
        // SAFETY: `state` points to a box of this type, made in `new_thread`, which belongs to the thread.
        unsafe { &*thread.state.cast::<A::Thread>() }
    }

    /// The analysis' state of a thread, and where its findings go.
    #[inline]
    fn parts(thread: &mut Thread) -> (&mut A::Thread, &mut Findings) {
        // SAFETY: as in `state`; the box is not part of what the other reference leads to.
        (unsafe { &mut *thread.state.cast::<A::Thread>() }, &mut thread.findings)
    }

    /// The operation that happens now.
    #[inline]
    fn step(&self, thread: &mut Thread, op: Op, pc: usize, size: u32) -> RawStep {
        if A::COUNTS_ACCESSES {
            thread.position = clock().max(thread.position + 1);
        }
        let site = SiteId(thread.place(pc, size));
        let moment = Moment { position: thread.position, thread: thread.actor, site, stack: StackId::NONE };
        RawStep { moment, op }
    }

    /// The thread has published what it did: what follows is another epoch.
    #[inline]
    fn next_epoch(&self, thread: &mut Thread) {
        if A::COUNTS_ACCESSES || !A::WATCHES_MEMORY {
            return;
        }
        thread.position += 1;
        if A::COMPACT && thread.position >= A::LAST_POSITION {
            self.change_actor(thread);
        }
        self.begin_epoch(thread);
    }

    fn begin_epoch(&self, thread: &Thread) {
        if A::COMPACT && self.recorder.is_none() {
            thread.begin_epoch();
        }
    }

    /// The time of the thread's actor is used up: it goes on as another one, which knows all that the old one did.
    #[cold]
    fn change_actor(&self, thread: &mut Thread) {
        let me = thread.actor;
        let Some((actor, position)) =
            self.actors.assign(thread.id, |actor, last| A::knows(Self::state(thread), me, actor, last))
        else {
            // Its time stands still: races may be missed, none is made up.
            thread.position -= 1;
            return;
        };
        let mut fresh = self.new_state(actor, position);
        let moment = Moment { position: thread.position, thread: me, site: SiteId(0), stack: StackId::NONE };
        let at = RawStep { moment, op: Op::Fork { child: actor } };
        let (mine, findings) = Self::parts(thread);
        self.analysis.fork(&at, mine, &mut fresh, findings);
        *Self::parts(thread).0 = fresh;
        (thread.actor, thread.position) = (actor, position);
    }

    /// The state of a thread that goes on as an actor from a time on: what the actor did before is of other epochs.
    fn new_state(&self, actor: ThreadId, position: u64) -> A::Thread {
        let mut state = A::Thread::default();
        if A::COMPACT {
            let moment = Moment { position: position - 1, thread: actor, ..Moment::default() };
            let at = RawStep { moment, op: Op::ThreadEnd };
            self.analysis.signal(&at, &mut state, &mut A::Sync::default(), &mut Findings::new());
        }
        state
    }

    fn new_thread(&self, id: ThreadId, actor: ThreadId, position: u64) -> Box<Thread> {
        let state = Box::new(self.new_state(actor, position));
        let mut thread = Thread::new(id, actor, position, Box::into_raw(state).cast());
        thread.writer = self.recorder.as_ref().and_then(|recorder| recorder.thread(id));
        thread
    }

    /// Gives the state of a thread back that will not be used any more.
    fn drop_state(thread: &mut Thread) {
        if !thread.state.is_null() {
            // SAFETY: made by `Box::into_raw` in `new_thread`; the pointer is cleared.
            drop(unsafe { Box::from_raw(thread.state.cast::<A::Thread>()) });
            thread.state = std::ptr::null_mut();
        }
    }

    /// An actor for a new thread that `parent` creates.
    fn new_actor(&self, id: ThreadId, parent: Option<&Thread>) -> Option<(ThreadId, u64)> {
        if !A::COMPACT {
            return Some((id, 1));
        }
        self.actors.assign(id, |actor, last| {
            parent.is_some_and(|parent| A::knows(Self::state(parent), parent.actor, actor, last))
        })
    }

    /// Tells new findings, if the last operation brought some.
    #[inline]
    fn after(&self, thread: &mut Thread) {
        if thread.findings.list().len() > thread.told.len() {
            telling::new_findings(self, thread);
        }
    }

    /// Records an event that takes part in the order of threads.
    #[inline]
    fn record(&self, thread: &mut Thread, op: Op, pc: usize) {
        if let Some(recorder) = &self.recorder {
            recorder.event(thread, op, pc, true);
        }
    }

    #[inline(always)]
    fn access_word(
        &self,
        thread: &mut Thread,
        at: &RawStep,
        kind: AccessKind,
        (word, mask): (usize, u8),
        whole: bool,
    ) {
        let shadow = Word::of(word);
        if shadow.is_refused() {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let Some(mut locked) = shadow.lock::<A>() else { return };
        let epoch = thread.epoch_bits();
        let (state, findings) = Self::parts(thread);
        locked.touch(mask, |cell, covered| {
            let part = Part {
                kind,
                addr: first_of(word, covered),
                size: covered.count_ones(),
                whole: whole && covered == mask,
            };
            self.analysis.access(at, state, cell, part, findings);
        });
        match kind {
            AccessKind::Read => locked.note_reader(epoch, mask),
            AccessKind::Write => locked.forget_readers(),
        }
    }

    /// The commonest accesses, without asking the analysis in full. False: it must be asked.
    #[inline(always)]
    pub(crate) fn shortcut(
        &self,
        thread: &mut Thread,
        kind: AccessKind,
        addr: usize,
        size: usize,
        pc: usize,
    ) -> bool {
        if !A::COMPACT || size > 16 || self.recorder.is_some() || thread.ignoring > 0 {
            return false;
        }
        let new = thread.epoch_bits() | u64::from(thread.place(pc, size as u32));
        let state = Self::state(thread);
        let one = |word: usize, mask: u8| Word::of(word).shortcut::<A>(state, new, kind, mask);
        let offset = addr % layout::WORD_BYTES;
        let done = if offset + size <= layout::WORD_BYTES {
            one(addr - offset, (((1u32 << size) - 1) << offset) as u8)
        } else if offset == 0 {
            one(addr, 0xff) && one(addr + layout::WORD_BYTES, 0xff)
        } else {
            words(addr, size).all(|(word, mask)| one(word, mask))
        };
        thread.accesses += u64::from(done);
        done
    }

    /// Gives others time before an access that would break a block, so that one of them may come between.
    #[cold]
    fn provoke_access(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
        let Some(adversary) = &self.watching.adversary else { return };
        if thread.regions.is_empty() || thread.ignoring > 0 || !A::WATCHES_MEMORY || !adversary.minds(kind) {
            return;
        }
        let told_size = u32::try_from(size).unwrap_or(u32::MAX);
        let op = Op::Access { kind, size: told_size, addr: Addr(addr as u64) };
        let at = self.step(thread, op, pc, told_size);
        let state = Self::state(thread);
        let breaks = words(addr, size).any(|(word, mask)| {
            let Some(mut locked) = Word::of(word).lock::<A>() else { return false };
            locked.any(mask, |cell, covered| {
                let part =
                    Part { kind, addr: first_of(word, covered), size: covered.count_ones(), whole: false };
                self.analysis.would_break(&at, state, cell, part)
            })
        });
        if breaks {
            adversary.pause(thread.id, at.moment.site.0);
        }
    }

    fn on_object<R>(&self, address: usize, act: impl FnOnce(&mut objects::Objects<A>) -> R) -> Option<R> {
        let mut locked: Locked<'_, A> = Word::of(address).lock()?;
        Some(act(&mut locked.make_record().objects))
    }

    fn atomic_parts(
        &self,
        thread: &mut Thread,
        at: &RawStep,
        operation: AtomicOperation,
        locked: &mut [Option<(usize, u8, Locked<'_, A>)>; 2],
    ) {
        let (state, findings) = Self::parts(thread);
        let kind = operation.kind.access_kind();
        let one_word = locked[1].is_none();
        let mut split = false;
        for (word, mask, locked) in locked.iter_mut().flatten() {
            locked.touch(*mask, |cell, covered| {
                if one_word && covered == *mask {
                    let part = Part {
                        kind,
                        addr: first_of(*word, covered),
                        size: covered.count_ones(),
                        whole: true,
                    };
                    self.analysis.atomic(at, state, cell, part, operation, findings);
                } else {
                    split = true;
                    self.analysis.before_atomic_parts(at, state, cell, operation);
                }
            });
        }
        for (_, _, locked) in locked.iter_mut().flatten() {
            locked.forget_readers();
        }
        if split {
            for (word, mask, locked) in locked.iter_mut().flatten() {
                locked.touch(*mask, |cell, covered| {
                    let part = Part {
                        kind,
                        addr: first_of(*word, covered),
                        size: covered.count_ones(),
                        whole: false,
                    };
                    self.analysis.atomic(at, state, cell, part, operation, findings);
                });
            }
        }
    }
}

fn first_of(word: usize, covered: u8) -> Addr {
    Addr(word as u64 + u64::from(covered.trailing_zeros()))
}

impl<A: Shadowed> Watcher for Driver<A> {
    fn attach(&self) -> *mut Thread {
        let id = Registry::with(|registry| registry.add(None));
        let Some((actor, position)) = self.new_actor(id, None) else {
            never_came(id);
            return std::ptr::null_mut();
        };
        let thread = Box::into_raw(self.new_thread(id, actor, position));
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(id) {
                entry.thread = thread;
            }
        });
        tls::set_thread(thread);
        // SAFETY: it was just made; only the calling thread knows it.
        self.begin_epoch(unsafe { &*thread });
        thread
    }

    #[inline]
    fn access(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
        thread.accesses += 1;
        if size == 0 || !layout::is_program(addr, size) {
            return;
        }
        if self.watching.adversary.is_some() {
            self.provoke_access(thread, kind, addr, size, pc);
        }
        let told_size = u32::try_from(size).unwrap_or(u32::MAX);
        let op = Op::Access { kind, size: told_size, addr: Addr(addr as u64) };
        let _order = self.in_order();
        if let Some(recorder) = &self.recorder {
            recorder.event(thread, op, pc, self.watching.exact_order);
        }
        if !A::WATCHES_MEMORY || thread.ignoring > 0 {
            return;
        }
        // The size of a range varies from one time to the next; as part of the place it would make many of one.
        let at = self.step(thread, op, pc, if size <= 16 { told_size } else { 0 });
        let offset = addr % layout::WORD_BYTES;
        if offset + size <= layout::WORD_BYTES {
            let mask = (((1u32 << size) - 1) << offset) as u8;
            self.access_word(thread, &at, kind, (addr - offset, mask), true);
        } else {
            words(addr, size).for_each(|word| self.access_word(thread, &at, kind, word, false));
        }
        self.after(thread);
    }

    fn atomic(
        &self,
        thread: &mut Thread,
        addr: usize,
        size: usize,
        pc: usize,
        perform: &mut dyn FnMut() -> (AtomicKind, MemoryOrder),
    ) {
        thread.accesses += 1;
        let _order = self.in_order();
        if !A::WATCHES_MEMORY && self.recorder.is_none() {
            perform();
            return;
        }
        // In the order of addresses, so that two threads never wait for each other.
        let mut locked = [None, None];
        for ((word, mask), place) in words(addr, size).zip(&mut locked) {
            match Word::of(word).lock::<A>() {
                Some(guard) => *place = Some((word, mask, guard)),
                None => return,
            }
        }
        let (kind, order) = perform();
        let op = Op::Atomic { kind, order, size: size as u8, addr: Addr(addr as u64) };
        self.record(thread, op, pc);
        if A::WATCHES_MEMORY {
            let at = self.step(thread, op, pc, size as u32);
            self.atomic_parts(thread, &at, AtomicOperation { kind, order }, &mut locked);
        }
        drop(locked);
        if order.releases() && kind != AtomicKind::Load {
            self.next_epoch(thread);
        }
        self.after(thread);
    }

    fn fence(&self, thread: &mut Thread, order: MemoryOrder, pc: usize) {
        let _order = self.in_order();
        self.record(thread, Op::Fence { order }, pc);
        let at = self.step(thread, Op::Fence { order }, pc, 0);
        let (mine, findings) = Self::parts(thread);
        self.analysis.fence(&at, mine, order, findings);
        if order.releases() {
            self.next_epoch(thread);
        }
        self.after(thread);
    }

    fn lock_awaited(&self, thread: &mut Thread, pc: usize) {
        let Some(adversary) = &self.watching.adversary else { return };
        if thread.regions.is_empty() || !adversary.minds(AccessKind::Read) {
            return;
        }
        let op = Op::Acquire { lock: LockId::NONE, mode: LockMode::Exclusive };
        let at = self.step(thread, op, pc, 0);
        if self.analysis.would_break_waiting(&at, Self::state(thread)) {
            adversary.pause(thread.id, at.moment.site.0);
        }
    }

    fn lock_acquired(&self, thread: &mut Thread, lock: usize, mode: LockMode, pc: usize) {
        if self.watching.critical_sections && thread.locks_held == 0 {
            self.region_begin(thread, crate::regions::critical_section(pc), pc, false);
        }
        thread.locks_held += 1;
        let _order = self.in_order();
        self.on_object(lock, |objects| {
            let (id, state, new) = objects.lock();
            if new {
                telling::new_lock(id, lock);
            }
            if state.conflicting_holder(thread.id, mode).is_some() {
                // Code that is not watched has released it.
                state.take_holders();
            }
            let op = Op::Acquire { lock: id, mode };
            self.record(thread, op, pc);
            if state.acquire(thread.id, mode) {
                let at = self.step(thread, op, pc, 0);
                let (mine, findings) = Self::parts(thread);
                self.analysis.acquire(&at, mine, &mut state.sync, mode, findings);
            }
        });
        self.after(thread);
    }

    fn lock_released(&self, thread: &mut Thread, lock: usize, pc: usize) {
        let order = self.in_order();
        let released = self.on_object(lock, |objects| {
            let (id, state) = objects.known_lock()?;
            let mode = state.mode_of(thread.id)?;
            let op = Op::Release { lock: id, mode };
            self.record(thread, op, pc);
            if state.release(thread.id, mode) == Some(true) {
                let at = self.step(thread, op, pc, 0);
                let (mine, findings) = Self::parts(thread);
                self.analysis.release(&at, mine, &mut state.sync, mode, findings);
                self.next_epoch(thread);
            }
            Some(())
        });
        drop(order);
        if released.flatten().is_some() {
            thread.locks_held = thread.locks_held.saturating_sub(1);
            if self.watching.critical_sections && thread.locks_held == 0 {
                self.region_end(thread, pc);
            }
        }
        self.after(thread);
    }

    fn object_forgotten(&self, object: usize) {
        self.on_object(object, |objects| *objects = objects::Objects::default());
    }

    fn condition_waited(&self, thread: &mut Thread, condition: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(condition, |objects| {
            let (id, sync) = objects.condition();
            let op = Op::Wait { condition: id };
            self.record(thread, op, pc);
            let at = self.step(thread, op, pc, 0);
            let (mine, findings) = Self::parts(thread);
            self.analysis.receive(&at, mine, sync, findings);
        });
        self.after(thread);
    }

    fn condition_notified(&self, thread: &mut Thread, condition: usize, all: bool, pc: usize) {
        let _order = self.in_order();
        self.on_object(condition, |objects| {
            let (id, sync) = objects.condition();
            let op = Op::Notify { condition: id, all };
            self.record(thread, op, pc);
            let at = self.step(thread, op, pc, 0);
            let (mine, findings) = Self::parts(thread);
            self.analysis.signal(&at, mine, sync, findings);
            self.next_epoch(thread);
        });
        self.after(thread);
    }

    fn barrier_arrived(&self, thread: &mut Thread, barrier: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(barrier, |objects| {
            let (id, state) = objects.barrier();
            let op = Op::BarrierArrive { barrier: id };
            if let Some(sync) = state.arrive(thread.id) {
                self.record(thread, op, pc);
                let at = self.step(thread, op, pc, 0);
                let (mine, findings) = Self::parts(thread);
                self.analysis.signal(&at, mine, sync, findings);
                self.next_epoch(thread);
            }
        });
        self.after(thread);
    }

    fn barrier_left(&self, thread: &mut Thread, barrier: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(barrier, |objects| {
            let (id, state) = objects.barrier();
            let op = Op::BarrierLeave { barrier: id };
            if let Some(sync) = state.leave(thread.id) {
                self.record(thread, op, pc);
                let at = self.step(thread, op, pc, 0);
                let (mine, findings) = Self::parts(thread);
                self.analysis.receive(&at, mine, sync, findings);
                state.drop_finished();
            }
        });
        self.after(thread);
    }

    fn happens_before(&self, thread: &mut Thread, token: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(token_address(token), |objects| {
            let op = Op::HappensBefore { token: token as u64 };
            self.record(thread, op, pc);
            let at = self.step(thread, op, pc, 0);
            let (mine, findings) = Self::parts(thread);
            self.analysis.signal(&at, mine, objects.token(), findings);
            self.next_epoch(thread);
        });
        self.after(thread);
    }

    fn happens_after(&self, thread: &mut Thread, token: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(token_address(token), |objects| {
            let op = Op::HappensAfter { token: token as u64 };
            self.record(thread, op, pc);
            let at = self.step(thread, op, pc, 0);
            let (mine, findings) = Self::parts(thread);
            self.analysis.receive(&at, mine, objects.token(), findings);
        });
        self.after(thread);
    }

    fn forked(&self, thread: &mut Thread, pc: usize) -> Option<ThreadId> {
        let place: PlaceNumber = thread.place(pc, 0);
        let parent = thread.id;
        let id = Registry::with(|registry| registry.add(Some((parent, place))));
        let Some((actor, position)) = self.new_actor(id, Some(thread)) else {
            never_came(id);
            return None;
        };
        let child = Box::into_raw(self.new_thread(id, actor, position));
        // SAFETY: it was just made; nobody else knows it.
        let child_thread = unsafe { &mut *child };
        let order = self.in_order();
        self.record(thread, Op::Fork { child: id }, pc);
        let at = self.step(thread, Op::Fork { child: actor }, pc, 0);
        let (mine, findings) = Self::parts(thread);
        self.analysis.fork(&at, mine, Self::parts(child_thread).0, findings);
        child_thread.position =
            child_thread.position.max(if A::COUNTS_ACCESSES { at.moment.position } else { 0 });
        drop(order);
        self.next_epoch(thread);
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(id) {
                entry.thread = child;
            }
        });
        self.after(thread);
        Some(id)
    }

    fn started(&self, thread: *mut Thread, stack: (usize, usize)) {
        // SAFETY: the thread was prepared by the one that created it, and belongs to the calling thread from now on.
        let started = unsafe { &mut *thread };
        // What an earlier thread left on this stack is void.
        self.forgotten(Some(started), stack.0, stack.1);
        tls::set_thread(thread);
        self.begin_epoch(started);
    }

    fn ended(&self, thread: &mut Thread) {
        let _order = self.in_order();
        self.record(thread, Op::ThreadEnd, 0);
        if let (Some(recorder), Some(writer)) = (&self.recorder, thread.writer.take()) {
            recorder.end_thread(&writer);
        }
        telling::final_counts(thread);
        tls::set_epoch(0, 0);
        if A::COMPACT {
            self.actors.end(thread.actor, thread.position, A::LAST_POSITION);
        }
        thread.shrink();
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(thread.id) {
                entry.ended = true;
            }
        });
    }

    fn joined(&self, thread: &mut Thread, child: ThreadId, pc: usize) {
        let taken = Registry::with(|registry| {
            let entry = registry.entry(child)?;
            if !entry.ended || entry.joined {
                return None;
            }
            entry.joined = true;
            Some(std::mem::replace(&mut entry.thread, std::ptr::null_mut()))
        });
        let Some(ended) = taken.filter(|ended| !ended.is_null()) else { return };
        // SAFETY: the thread has ended and nobody else joins it; it was made by `Box::into_raw`.
        let mut ended = unsafe { Box::from_raw(ended) };
        let _order = self.in_order();
        self.record(thread, Op::Join { child }, pc);
        let at = self.step(thread, Op::Join { child: ended.actor }, pc, 0);
        if A::COMPACT {
            // Known up to its last time only: its actor may go on as another thread.
            let moment = Moment {
                position: ended.position,
                thread: ended.actor,
                site: SiteId(0),
                stack: StackId::NONE,
            };
            let mut end = A::Sync::default();
            let last = RawStep { moment, op: Op::ThreadEnd };
            self.analysis.signal(&last, Self::parts(&mut ended).0, &mut end, &mut thread.findings);
            let (mine, findings) = Self::parts(thread);
            self.analysis.receive(&at, mine, &mut end, findings);
        } else {
            let (mine, findings) = Self::parts(thread);
            self.analysis.join(&at, mine, Self::parts(&mut ended).0, findings);
        }
        Self::drop_state(&mut ended);
        self.after(thread);
    }

    fn allocated(&self, thread: &mut Thread, addr: usize, size: usize, pc: usize) {
        if A::WATCHES_MEMORY {
            blocks::allocated(addr, size, thread.id, thread.place(pc, 0));
        }
        if self.recorder.is_some() {
            for (addr, size) in told_ranges(addr, size) {
                self.record(thread, Op::Alloc { size, addr }, pc);
            }
        }
    }

    fn forgotten(&self, thread: Option<&mut Thread>, addr: usize, size: usize) {
        if A::WATCHES_MEMORY {
            blocks::freed(addr);
        }
        shadow::forget::<A>(addr, size);
        if let (Some(_), Some(thread)) = (&self.recorder, thread) {
            let _order = self.in_order();
            for (addr, size) in told_ranges(addr, size) {
                self.record(thread, Op::Free { size, addr }, 0);
            }
        }
    }

    fn region_begin(&self, thread: &mut Thread, region: RegionId, pc: usize, marked: bool) {
        let _order = self.in_order();
        thread.regions.push(marked);
        if marked {
            self.record(thread, Op::Begin { region }, pc);
        }
        let at = self.step(thread, Op::Begin { region }, pc, 0);
        let (mine, findings) = Self::parts(thread);
        self.analysis.begin(&at, mine, region, findings);
        self.after(thread);
    }

    fn region_end(&self, thread: &mut Thread, pc: usize) {
        let Some(marked) = thread.regions.pop() else { return };
        let _order = self.in_order();
        if marked {
            self.record(thread, Op::End, pc);
        }
        let at = self.step(thread, Op::End, pc, 0);
        let (mine, findings) = Self::parts(thread);
        self.analysis.end(&at, mine, findings);
        self.after(thread);
    }

    fn function_entered(&self, thread: &mut Thread, function: usize, call: usize) {
        if let Some(recorder) = &self.recorder {
            recorder.call(thread, function, call);
        }
    }

    fn function_left(&self, thread: &mut Thread) {
        if let Some(recorder) = &self.recorder {
            recorder.event(thread, Op::Return, 0, false);
        }
    }

    fn grouped(&self, thread: &mut Thread, members: &[(usize, usize)]) {
        // The analyses of threads know no groups; those of tasks find them in the trace.
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let group = GroupId(GROUPS.fetch_add(1, Ordering::Relaxed));
        for (addr, size) in members {
            let size = u16::try_from(*size).unwrap_or(u16::MAX);
            self.record(thread, Op::Group { size, group, addr: Addr(*addr as u64) }, 0);
        }
    }

    fn finish(&self, thread: Option<&mut Thread>) {
        let moment = thread.as_ref().map_or_else(Moment::default, |thread| Moment {
            position: thread.position,
            thread: thread.actor,
            site: SiteId(0),
            stack: StackId::NONE,
        });
        if let Some(thread) = thread {
            self.analysis.end_of_run(moment, &mut thread.findings);
            self.after(thread);
        }
        self.flush();
        if let Some(recorder) = &self.recorder {
            recorder.finish();
        }
    }

    fn flush(&self) {
        if let Some(recorder) = &self.recorder {
            for entry in live_threads() {
                // SAFETY: a thread that has not ended is not given back; what it records with is behind a lock. (That it
                // gives up recording just now is possible only if writing has failed.)
                let writer = unsafe { entry.thread.as_ref() }.and_then(|thread| thread.writer.as_ref());
                if let Some(writer) = writer {
                    recorder.end_thread(writer);
                }
            }
        }
    }

    fn thread_of(&self, actor: ThreadId, time: u64) -> ThreadId {
        if A::COMPACT { self.actors.thread(actor, time) } else { actor }
    }

    fn confused_threads(&self) -> u64 {
        self.actors.confused()
    }

    fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }
}

/// There is no room for a thread: it is not watched.
fn never_came(id: ThreadId) {
    Registry::with(|registry| {
        if let Some(entry) = registry.entry(id) {
            (entry.ended, entry.joined) = (true, true);
        }
    });
}

/// A range in pieces that an event can tell.
fn told_ranges(addr: usize, size: usize) -> impl Iterator<Item = (Addr, u32)> {
    let most = 1usize << 31;
    (0..size.div_ceil(most)).map(move |piece| {
        let start = piece * most;
        (Addr((addr + start) as u64), (size - start).min(most) as u32)
    })
}

/// The threads that are there, for the end of the run.
pub(crate) fn live_threads() -> Vec<Entry> {
    Registry::with(|registry| registry.entries().iter().filter(|entry| !entry.ended).cloned().collect())
}
