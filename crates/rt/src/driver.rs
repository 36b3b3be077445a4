//! The online driver: hands what happens in the program to an analysis, from all threads at once.
//!
//! It owns the state of threads (`thread`), of memory (`shadow`) and of locks and the like (`objects`), each handed in
//! exclusively: a thread's by the thread itself, the others under the lock of their word. What the analysis finds goes to
//! `telling`. Beside it, or without any analysis, everything can be recorded (`record`).
//!
//! Positions: an analysis that counts accesses gets the processor's clock, so that positions of different threads can be
//! compared; another one gets the number of times that the thread has published something, so that all its accesses in
//! between are in one epoch.

mod events;
mod forks;
mod shortcut;

use crate::actors::Actors;
use crate::adversary::Adversary;
use crate::objects::ObjectsAt;
use crate::places::PlaceNumber;
use crate::record::Recorder;
use crate::shadow::{self, Locked, Shadowed, Word, words};
use crate::thread::{Entry, Registry, Thread};
use crate::watcher::Watcher;
use crate::{blocks, layout, own, quiet, telling, tls};
use keirin_core::analysis::{AtomicOperation, Part};
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, GroupId, LockId, LockMode, MemoryOrder, Op, RegionId, SiteId, StackId,
    ThreadId,
};
use keirin_core::finding::{Findings, Moment, RawStep};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Accesses that were not looked at because the memory for them was used up.
pub(crate) static REFUSED: AtomicU64 = AtomicU64::new(0);

/// What counters do.
pub(crate) const COUNTING: AtomicOperation =
    AtomicOperation { kind: AtomicKind::ReadModifyWrite, order: MemoryOrder::Relaxed };

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

/// Tokens that are small numbers, such as descriptors, do not share words. Two tokens of one object that differ in the highest
/// two bits are at different bytes.
pub(crate) fn token_address(token: usize) -> usize {
    const TWIN_SHIFT: u32 = usize::BITS - 2;
    let twin = token >> TWIN_SHIFT;
    let token = (token & ((1 << TWIN_SHIFT) - 1)) + twin;
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
        let new = thread.epoch_bits() | u64::from(at.moment.site.0);
        // Short accesses have tried that already.
        if A::COMPACT && !whole && shadow.shortcut::<A>(Self::state(thread), new, kind, mask) {
            return;
        }
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
        locked.note(epoch, kind, mask);
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

    fn on_object<R>(
        &self,
        address: usize,
        act: impl FnOnce(&mut ObjectsAt<'_, A::Sync, ThreadId>) -> R,
    ) -> Option<R> {
        let mut locked: Locked<'_, A> = Word::of(address).lock()?;
        Some(act(&mut locked.make_record().objects.at(address)))
    }

    /// A relaxed read-modify-write, which `perform` does, if the thread may keep it for itself (see `quiet`). Else `perform`
    /// is given back.
    #[inline(always)]
    pub(crate) fn modify_quietly<T, F: FnOnce() -> T>(
        &self,
        thread: &mut Thread,
        addr: usize,
        size: usize,
        pc: usize,
        perform: F,
    ) -> Result<T, F> {
        let offset = addr % layout::WORD_BYTES;
        let Some(entries) = thread.quiet else { return Err(perform) };
        if offset + size > layout::WORD_BYTES {
            return Err(perform);
        }
        let key = quiet::key(Word::of(addr), (((1u32 << size) - 1) << offset) as u8);
        let entry = entries.entry(key);
        if !entry.is_about(key) {
            return Err(perform);
        }
        let new = thread.epoch_bits() | u64::from(thread.place(pc, size as u32));
        let Some(operation) = A::quiet(Self::state(thread), new, COUNTING) else { return Err(perform) };
        entry.set(operation);
        let result = perform();
        if entry.is_about(key) {
            thread.accesses += 1;
        } else {
            let done = || (COUNTING.kind, COUNTING.order);
            self.atomic_by(thread, addr, size, pc, Some(COUNTING), done);
        }
        Ok(result)
    }

    /// A load, which `perform` does, if the thread may keep it for itself (see `quiet`).
    #[inline(always)]
    pub(crate) fn load_quietly<T>(
        &self,
        thread: &mut Thread,
        addr: usize,
        size: usize,
        pc: usize,
        order: MemoryOrder,
        perform: impl Fn() -> T,
    ) -> Option<T> {
        let offset = addr % layout::WORD_BYTES;
        let entries = thread.quiet.filter(|_| offset + size <= layout::WORD_BYTES)?;
        let key = quiet::key_of_loads(Word::of(addr), (((1u32 << size) - 1) << offset) as u8);
        let entry = entries.entry(key);
        if !entry.is_about(key) {
            return None;
        }
        let new = thread.epoch_bits() | u64::from(thread.place(pc, size as u32));
        let operation = AtomicOperation { kind: AtomicKind::Load, order };
        let operation = A::quiet(Self::state(thread), new, operation)?;
        entry.set_load(operation, |last| A::is_same_epoch(last, new));
        let result = perform();
        // If it was taken the load is done again, in full: the value may be one that was published.
        let kept = entry.is_about(key);
        thread.accesses += u64::from(kept);
        kept.then_some(result)
    }

    /// Remembers what a thread has kept for itself about some bytes.
    fn keep_quiet(entries: &quiet::Table, word: &'static Word, mask: u8) {
        if let Some(mut locked) = word.lock_quietly::<A>()
            && let Some(operation) = entries.take(quiet::key(word, mask))
            && let Some(cell) = locked.cell(mask)
        {
            A::remember_quiet(cell, operation);
        }
    }

    /// The thread has done what it may do again and keep for itself. True if there is no room for that, and it is time to make some.
    #[inline]
    fn begin_quiet(
        thread: &mut Thread,
        new: u64,
        operation: AtomicOperation,
        mask: u8,
        locked: &mut Locked<'_, A>,
    ) -> bool {
        // Now and then, for a variable that is used often beside others that are not.
        const CROWDED: u32 = 32;
        let kind = operation.kind;
        if !locked.may_be_quiet(Self::state(thread), new, kind, mask) {
            return false;
        }
        let Some(operation) = A::quiet(Self::state(thread), new, operation) else { return false };
        thread.quiet = thread.quiet.or_else(quiet::Table::claim);
        let Some(entries) = thread.quiet else { return false };
        if locked.begin_quiet(kind, mask, entries, operation) {
            return false;
        }
        thread.crowded = (thread.crowded + 1) % CROWDED;
        thread.crowded == 1
    }

    /// An atomic operation, which `perform` does. `quiet`: it is this load, or this relaxed read-modify-write.
    #[inline]
    pub(crate) fn atomic_by(
        &self,
        thread: &mut Thread,
        addr: usize,
        size: usize,
        pc: usize,
        quiet: Option<AtomicOperation>,
        mut perform: impl FnMut() -> (AtomicKind, MemoryOrder),
    ) {
        thread.accesses += 1;
        let _order = self.in_order();
        if !A::WATCHES_MEMORY && self.recorder.is_none() {
            perform();
            return;
        }
        let offset = addr % layout::WORD_BYTES;
        let (kind, order) = if offset + size <= layout::WORD_BYTES {
            let mask = (((1u32 << size) - 1) << offset) as u8;
            let word = Word::of(addr);
            // After a release fence it publishes: what others have kept must be taken before it is done.
            let epoch = thread.epoch_bits();
            let quiet = quiet.filter(|operation| A::quiet(Self::state(thread), epoch, *operation).is_some());
            let locked = if quiet.is_some() { word.lock_quietly::<A>() } else { word.lock() };
            let Some(mut locked) = locked else { return };
            let is_first = |cell: &mut A::Cell| quiet.is_some_and(|it| !A::has_done(cell, epoch, it.kind));
            if locked.is_quiet() && locked.cell(mask).is_none_or(is_first) {
                // Those that this one supersedes are those that the cell remembers.
                locked.end_quiet();
            }
            let simple = self.simple_atomic(thread, &mut locked, (size, mask), pc);
            let (kind, order) = perform();
            if let Some(new) = simple {
                Self::atomic_again(thread, &mut locked, new, AtomicOperation { kind, order }, mask);
                let is_crowded = quiet
                    .is_some_and(|operation| Self::begin_quiet(thread, new, operation, mask, &mut locked));
                drop(locked);
                if order.releases() && kind != AtomicKind::Load {
                    self.next_epoch(thread);
                }
                if let Some(entries) = thread.quiet.filter(|_| is_crowded) {
                    let keep = |word, mask| Self::keep_quiet(entries, word, mask);
                    entries.make_room(quiet::key(word, mask), keep);
                }
                return;
            }
            locked.end_quiet();
            if let Some(at) = self.atomic_step(thread, (kind, order), addr, size, pc) {
                self.atomic_word(thread, &at, AtomicOperation { kind, order }, mask, &mut locked);
            }
            (kind, order)
        } else {
            // In the order of addresses, so that two threads never wait for each other.
            let mut locked = [None, None];
            for ((word, mask), place) in words(addr, size).zip(&mut locked) {
                match Word::of(word).lock::<A>() {
                    Some(guard) => *place = Some((word, mask, guard)),
                    None => return,
                }
            }
            let (kind, order) = perform();
            if let Some(at) = self.atomic_step(thread, (kind, order), addr, size, pc) {
                self.atomic_parts(thread, &at, AtomicOperation { kind, order }, &mut locked);
            }
            (kind, order)
        };
        if order.releases() && kind != AtomicKind::Load {
            self.next_epoch(thread);
        }
        self.after(thread);
    }

    /// The commonest atomic operations, which `perform` does, without asking the analysis in full. Else `perform` is given back.
    /// (Nothing in here can fail.) `quiet` as in [`Driver::atomic_by`].
    #[inline(always)]
    pub(crate) fn atomic_shortcut<T, F: FnOnce() -> (AtomicKind, MemoryOrder, T)>(
        &self,
        thread: &mut Thread,
        addr: usize,
        size: usize,
        pc: usize,
        quiet: Option<AtomicOperation>,
        perform: F,
    ) -> Result<T, F> {
        let offset = addr % layout::WORD_BYTES;
        if offset + size > layout::WORD_BYTES || self.watching.exact_order {
            return Err(perform);
        }
        let mask = (((1u32 << size) - 1) << offset) as u8;
        let Some(mut locked) = Word::of(addr).lock_quietly::<A>() else { return Err(perform) };
        if !locked.has_record() {
            return self.load_in_word(thread, locked, (size, mask), pc, quiet, perform);
        }
        let (state, epoch) = (Self::state(thread), thread.epoch_bits());
        if locked.is_quiet()
            || quiet.is_some_and(|operation| locked.may_be_quiet(state, epoch, operation.kind, mask))
        {
            return Err(perform);
        }
        let Some(new) = self.simple_atomic(thread, &mut locked, (size, mask), pc) else {
            return Err(perform);
        };
        let (kind, order, result) = perform();
        Self::atomic_again(thread, &mut locked, new, AtomicOperation { kind, order }, mask);
        drop(locked);
        thread.accesses += 1;
        if order.releases() && kind != AtomicKind::Load {
            self.next_epoch(thread);
        }
        Ok(result)
    }

    /// The same for a load of a variable that is in its word: one that a thread has made and looks at now and then. If it does so again at
    /// once, it gets a record, so that the thread may keep that for itself.
    #[inline(always)]
    fn load_in_word<T, F: FnOnce() -> (AtomicKind, MemoryOrder, T)>(
        &self,
        thread: &mut Thread,
        mut locked: Locked<'_, A>,
        (size, mask): (usize, u8),
        pc: usize,
        load: Option<AtomicOperation>,
        perform: F,
    ) -> Result<T, F> {
        let Some(operation) = load.filter(|load| load.kind == AtomicKind::Load && mask == 0xff) else {
            return Err(perform);
        };
        if !A::COMPACT || self.recorder.is_some() {
            return Err(perform);
        }
        let new = thread.epoch_bits() | u64::from(thread.place(pc, size as u32));
        let Some(after) = locked.load(Self::state(thread), new, operation) else { return Err(perform) };
        let result = perform().2;
        locked.put_load(after);
        drop(locked);
        thread.accesses += 1;
        Ok(result)
    }

    /// An atomic operation that the thread is about to do, as a cell remembers it, if the analysis need not be asked in full.
    #[inline(always)]
    fn simple_atomic(
        &self,
        thread: &mut Thread,
        locked: &mut Locked<'_, A>,
        (size, mask): (usize, u8),
        pc: usize,
    ) -> Option<u64> {
        if !A::COMPACT || self.recorder.is_some() {
            return None;
        }
        let cell = locked.cell(mask)?;
        let new = thread.epoch_bits() | u64::from(thread.place(pc, size as u32));
        A::is_atomic(Self::state(thread), new, cell).then_some(new)
    }

    /// Tells what was simple.
    #[inline(always)]
    fn atomic_again(
        thread: &mut Thread,
        locked: &mut Locked<'_, A>,
        new: u64,
        operation: AtomicOperation,
        mask: u8,
    ) {
        if let Some(cell) = locked.cell(mask) {
            A::atomic_again(Self::parts(thread).0, new, cell, operation);
        }
        locked.count_loads(operation.kind);
        locked.forget_notes(mask);
    }

    /// The step of an atomic operation, if the analysis wants to hear of it; it is recorded.
    #[inline]
    fn atomic_step(
        &self,
        thread: &mut Thread,
        (kind, order): (AtomicKind, MemoryOrder),
        addr: usize,
        size: usize,
        pc: usize,
    ) -> Option<RawStep> {
        let op = Op::Atomic { kind, order, size: size as u8, addr: Addr(addr as u64) };
        self.record(thread, op, pc);
        A::WATCHES_MEMORY.then(|| self.step(thread, op, pc, size as u32))
    }

    /// An atomic operation within one word.
    #[inline]
    fn atomic_word(
        &self,
        thread: &mut Thread,
        at: &RawStep,
        operation: AtomicOperation,
        mask: u8,
        locked: &mut Locked<'_, A>,
    ) {
        let (state, findings) = Self::parts(thread);
        let kind = operation.kind.access_kind();
        let Op::Atomic { addr, .. } = at.op else { return };
        let word = addr.0 as usize & !(layout::WORD_BYTES - 1);
        let mut split = false;
        locked.touch(mask, |cell, covered| {
            if covered == mask {
                let part = Part { kind, addr, size: mask.count_ones(), whole: true };
                self.analysis.atomic(at, state, cell, part, operation, findings);
            } else {
                split = true;
                self.analysis.before_atomic_parts(at, state, cell, operation);
            }
        });
        if split {
            locked.touch(mask, |cell, covered| {
                let part =
                    Part { kind, addr: first_of(word, covered), size: covered.count_ones(), whole: false };
                self.analysis.atomic(at, state, cell, part, operation, findings);
            });
        }
        locked.forget_notes(mask);
    }

    /// An atomic operation that touches two words.
    fn atomic_parts(
        &self,
        thread: &mut Thread,
        at: &RawStep,
        operation: AtomicOperation,
        locked: &mut [Option<(usize, u8, Locked<'_, A>)>; 2],
    ) {
        let (state, findings) = Self::parts(thread);
        let kind = operation.kind.access_kind();
        for (_, mask, locked) in locked.iter_mut().flatten() {
            locked.touch(*mask, |cell, _| self.analysis.before_atomic_parts(at, state, cell, operation));
        }
        for (_, mask, locked) in locked.iter_mut().flatten() {
            locked.forget_notes(*mask);
        }
        for (word, mask, locked) in locked.iter_mut().flatten() {
            locked.touch(*mask, |cell, covered| {
                let part =
                    Part { kind, addr: first_of(*word, covered), size: covered.count_ones(), whole: false };
                self.analysis.atomic(at, state, cell, part, operation, findings);
            });
        }
    }
}

fn first_of(word: usize, covered: u8) -> Addr {
    Addr(word as u64 + u64::from(covered.trailing_zeros()))
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
