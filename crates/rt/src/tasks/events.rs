//! What can happen, one function for each.

use super::order::MOST_KNOWN;
use super::records::LockedWord;
use super::words::{self, TaskWord};
use super::{TaskDriver, Worker, WorkerOf, origins, step};
use crate::driver::token_address;
use crate::layout;
use crate::objects::ObjectsAt;
use crate::record::Recorder;
use crate::shadow::pages;
use crate::thread::{Registry, SpawnsAt, Thread};
use crate::watch::SideStep;
use crate::watcher::{OtherSides, Watcher};
use crate::{own, tbb, telling, tls};
use keirin_core::analysis::Statistic;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::analysis::tasks::{Block, Calls, Flagged, LastUse, Questions};
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, GroupId, LockId, LockMode, MemoryOrder, Op, RegionId, TaskId, ThreadId,
};
use keirin_core::finding::RawStep;
use keirin_core::lockset::LocksetId;
use keirin_core::replay::Fault;
use keirin_core::sptree::StepId;
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::verdicts::Verdicts;
use keirin_core::tasks::{Actor, Effect, Hand, Known, Running, Slot};
use std::sync::atomic::{AtomicU32, Ordering};

impl Worker {
    fn new(hand: Hand<Labels>) -> Self {
        Self {
            slot: None,
            running: Running::default(),
            hand,
            actor: Actor::Thread(ThreadId::NONE),
            step: StepId::NONE,
            plain: false,
            known: Known::default(),
            data: Box::default(),
            answers: super::Answers::new(),
            among: super::Among::new(),
            past: super::Answers::new(),
            recent: super::Recent::new(),
            pending: super::Pending::new(),
            questions: Questions { verdicts: Some(Verdicts::default()), ..Questions::default() },
            flagged: Flagged::default(),
            calls: Calls::default(),
            code: 0,
            sets: None,
            exclusive: LocksetId::EMPTY,
            reads_under_locks: Vec::new(),
            origins: origins::Asked::new(),
            sweeps: 0,
            side: None,
            beside: super::Beside::default(),
        }
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    pub(super) fn new_thread(&self, id: ThreadId) -> Box<Thread> {
        let hand = self.tasks.another_hand(&self.hand.lock());
        let worker = Box::into_raw(Box::new(Worker::new(hand)));
        self.workers.lock().push(WorkerOf(worker));
        Thread::new(id, id, 1, worker.cast())
    }

    /// Gives the state of a thread back that will not be used any more.
    pub(super) fn drop_state(&self, thread: &mut Thread) {
        if !thread.state.is_null() {
            let worker = WorkerOf(thread.state.cast());
            self.workers.lock().retain(|other| *other != worker);
            // SAFETY: made by `Box::into_raw` in `new_thread`; the pointer is cleared.
            let worker = unsafe { Box::from_raw(thread.state.cast::<Worker>()) };
            thread.state = std::ptr::null_mut();
            self.tasks.give_back(worker.hand);
        }
    }

    pub(super) fn on_object<R>(
        &self,
        address: usize,
        act: impl FnOnce(&mut ObjectsAt<'_, Known, Actor>) -> R,
    ) -> Option<R> {
        let mut locked = TaskWord::of(address).lock::<A>(address & !7, self.era.load(Ordering::Relaxed))?;
        Some(act(&mut locked.record().objects.at(address)))
    }

    /// Does something with the cell of one byte, if it is in a record and about no other byte.
    fn on_known_cell<R>(&self, address: usize, act: impl FnOnce(&mut A::Cell) -> R) -> Option<R> {
        if !layout::is_program(address, 1) {
            return None;
        }
        let mut locked = TaskWord::of(address).lock_record::<A>(address & !7)?;
        locked.record().cells.of(bytes_of(address, 1)).map(act)
    }

    /// Something happened to the tasks that cannot be; it is left out.
    #[cold]
    fn fault(&self, fault: &Fault) {
        telling::note(&format!(
            "something that the library for tasks has told cannot be, and was left out: {}",
            fault.kind()
        ));
    }

    /// The thread's task has met a task construct.
    fn construct(&self, thread: &mut Thread, act: impl FnOnce(Slot, &mut Worker) -> Result<Effect, Fault>) {
        self.tell_held(thread);
        let (worker, _) = self.acting(thread);
        let Some(slot) = worker.slot else { return };
        if !worker.data.history.locks().is_empty() {
            self.sets.lock().discipline.hazard();
        }
        let mut is_alone = false;
        match act(slot, worker) {
            Ok(effect) => {
                is_alone = effect == Effect::Serial;
                self.new_step(worker);
                if is_alone {
                    self.era.fetch_add(1, Ordering::Relaxed);
                    self.dropped.store(false, Ordering::Relaxed);
                }
                self.note_edges();
                self.set_serial(if is_alone { self.tasks.step(slot) } else { StepId::NONE });
                self.refresh(worker);
                if worker.step.0 >= words::MOST_STEPS {
                    self.overflown.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(fault) => self.fault(&fault),
        }
        if is_alone {
            self.possible.renew();
        }
    }

    /// The same for the end of a scope or a wait, after which all others may wait for the task, and steps may be forgotten.
    fn construct_end(
        &self,
        thread: &mut Thread,
        act: impl FnOnce(Slot, &mut Worker) -> Result<Effect, Fault>,
    ) {
        self.construct(thread, |slot, worker| {
            let effect = act(slot, worker)?;
            self.note_alone(slot);
            Ok(effect)
        });
        if self.is_sweep_due() {
            self.sweep(thread);
        }
    }

    fn change_locks(&self, worker: &mut Worker, lock: LockId, mode: LockMode, acquire: bool) {
        let before = worker.data.history.locks();
        let sets = worker.sets.get_or_insert_default();
        sets.change(&self.sets, &mut worker.data.history, (lock, mode), acquire);
        self.tell_hooks_of_locks(worker, before);
    }

    /// An atomic operation has been done on a word that is locked. None: it is to be disregarded.
    fn atomic_done(
        &self,
        thread: &mut Thread,
        (kind, order): (AtomicKind, MemoryOrder),
        (addr, size): (usize, usize),
        pc: usize,
        locked: &mut LockedWord<'_, A>,
    ) -> Option<RawStep> {
        if thread.ignoring > 0 {
            return None;
        }
        let op = Op::Atomic { kind, order, size: size as u8, addr: Addr(addr as u64) };
        let place = thread.place(pc, size as u32);
        let at = step(thread, op, place);
        let (worker, findings) = Self::parts_at_once(thread);
        // What it acquires comes before it, what it releases after it.
        if kind != AtomicKind::Store
            && let Some(known) = locked.record().objects.at(addr).known_atomic().cloned()
            && !known.is_empty()
        {
            if order.acquires() {
                self.learn(worker, &known, tbb::counts_parts(addr));
            } else {
                worker.data.seen.learn(&*self.labels, &known);
            }
        }
        let (word, mask) = (addr & !7, bytes_of(addr, size));
        let cells = self.cells_of(worker, locked);
        self.access_in_full(worker, findings, &at, (kind.access_kind(), word, mask), true, cells);
        if kind == AtomicKind::Load {
            return Some(at);
        }
        let published = if order.releases() { self.publish(worker) } else { worker.data.fenced.clone() };
        let mut objects = locked.record().objects.at(addr);
        match kind {
            // It goes on with the release sequence that it has read from.
            AtomicKind::ReadModifyWrite if published.is_empty() => {}
            AtomicKind::ReadModifyWrite => {
                let labels = &*self.labels;
                let sync = objects.atomic();
                sync.learn(labels, &published);
                if sync.steps().len() > MOST_KNOWN {
                    sync.limit(MOST_KNOWN);
                    self.order_dropped();
                }
            }
            _ if published.is_empty() => {
                if let Some(known) = objects.known_atomic() {
                    *known = Known::default();
                }
            }
            _ => *objects.atomic() = published,
        }
        Some(at)
    }
}

/// The bytes of a word that an atomic operation touches.
fn bytes_of(addr: usize, size: usize) -> u8 {
    let offset = addr % 8;
    (((1u32 << size.min(8 - offset)) - 1) << offset) as u8
}

impl<A: KeepsPlain + Sync> Watcher for TaskDriver<A> {
    fn minds_accesses(&self) -> bool {
        true
    }

    fn attach(&self) -> *mut Thread {
        let id = Registry::with(|registry| registry.add(None));
        let thread = Box::into_raw(self.new_thread(id));
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(id) {
                entry.thread = thread;
            }
        });
        tls::set_thread(thread);
        thread
    }

    fn access(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
        thread.accesses += 1;
        if size == 0 || !layout::is_program(addr, size) {
            return;
        }
        if own::may_be(addr) {
            own::accessed(thread, addr, size, |_| self.forget(addr, size));
        }
        self.access_range(thread, kind, addr, size, pc);
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
        if !layout::is_program(addr, size) {
            return;
        }
        let of_library = std::mem::take(&mut thread.atomic_of_library) == addr;
        self.tell_held(thread);
        let (worker, _) = self.acting(thread);
        let word = TaskWord::of(addr);
        let Some(mut locked) = word.lock::<A>(addr & !7, self.era.load(Ordering::Relaxed)) else { return };
        let done = perform();
        if done.0 != AtomicKind::Store && !of_library {
            self.order_decides(worker);
        }
        let at = self.atomic_done(thread, done, (addr, size), pc, &mut locked);
        drop(locked);
        if let Some(at) = at.filter(|_| self.possible.is_any()) {
            let (worker, findings) = Self::parts_at_once(thread);
            let what = (done.0.access_kind(), addr & !7, bytes_of(addr, size));
            self.meet_possible(worker, findings, &at, what, true);
        }
        self.after(thread);
    }

    fn minds_other_sides(&self) -> OtherSides {
        OtherSides::OnceOrderDecides
    }

    fn other_access(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
        if !self.step_of_shown(thread, Some((kind, addr, size)), pc)
            && size > 0
            && layout::is_program(addr, size)
            && !own::is_of(thread, addr)
        {
            self.possible_access(thread, kind, addr, size, pc);
        }
    }

    fn other_lock(&self, thread: &mut Thread, lock: usize, mode: LockMode, acquire: bool, pc: usize) {
        if !self.step_of_shown(thread, None, pc) && layout::is_program(lock, 1) {
            self.possible_lock(thread, lock, mode, acquire);
        }
    }

    fn other_side(&self, thread: &mut Thread, side: &[SideStep], at: &[usize]) -> bool {
        self.side_adds_nothing(thread, side, at)
    }

    fn other_end(&self, thread: &mut Thread) {
        self.end_of_side(thread);
    }

    fn fence(&self, thread: &mut Thread, order: MemoryOrder, _: usize) {
        self.tell_held(thread);
        let (worker, _) = self.acting(thread);
        if order.acquires() {
            let seen = std::mem::take(&mut worker.data.seen);
            self.learn(worker, &seen, false);
        }
        if order.releases() {
            worker.data.fenced = self.publish(worker);
        }
    }

    fn atomic_awaited(&self, _: &mut Thread, _: AccessKind, _: usize, _: usize, _: usize) {}

    fn lock_awaited(&self, _: &mut Thread, _: usize) {}

    fn lock_acquired(&self, thread: &mut Thread, lock: usize, mode: LockMode, _: usize) {
        let (worker, _) = self.acting(thread);
        self.order_decides(worker);
        let actor = worker.actor;
        let taken = self.on_object(lock, |objects| {
            let (id, state, new) = objects.lock();
            if new {
                telling::new_lock(id, lock);
            }
            if state.conflicting_holder(actor, mode).is_some() {
                // Code that is not watched has released it.
                state.take_holders();
            }
            state.acquire(actor, mode).then_some(id)
        });
        if let Some(id) = taken.flatten() {
            self.change_locks(worker, id, mode, true);
        }
    }

    fn lock_released(&self, thread: &mut Thread, lock: usize, _: usize) {
        let (worker, _) = self.acting(thread);
        let actor = worker.actor;
        let released = self.on_object(lock, |objects| {
            let (id, state) = objects.known_lock()?;
            let mode = state.mode_of(actor)?;
            (state.release(actor, mode) == Some(true)).then_some((id, mode))
        });
        if let Some((id, mode)) = released.flatten() {
            self.change_locks(worker, id, mode, false);
        }
    }

    fn lock_changed(&self, thread: &mut Thread, lock: usize, mode: LockMode, _: usize) {
        let (worker, _) = self.acting(thread);
        let actor = worker.actor;
        let changed = self.on_object(lock, |objects| {
            let (id, state) = objects.known_lock()?;
            let before = state.mode_of(actor)?;
            // If it is held more than once it stays as it is: the other holds go on.
            let changes = state.release(actor, before) == Some(true);
            state.acquire(actor, if changes { mode } else { before });
            (changes && mode != before).then_some((id, before))
        });
        if let Some((id, before)) = changed.flatten() {
            let sets = worker.sets.get_or_insert_default();
            sets.exchange(&self.sets, &mut worker.data.history, id, (before, mode));
            self.tell_hooks(worker);
        }
    }

    fn last_read(&self, thread: &mut Thread, object: usize) -> Option<LastUse> {
        let instance = self.acting(thread).0.data.step_instance;
        self.on_known_cell(object, |cell| A::last_read(cell, instance)).flatten()
    }

    fn set_last_read(&self, thread: &mut Thread, object: usize, read: Option<LastUse>) -> bool {
        let instance = self.acting(thread).0.data.step_instance;
        let era = self.era.load(Ordering::Relaxed);
        self.on_known_cell(object, |cell| A::set_last_read(cell, era, instance, read)).unwrap_or(false)
    }

    fn object_forgotten(&self, object: usize) {
        if layout::is_program(object, 1)
            && let Some(mut locked) = TaskWord::of(object).lock_record::<A>(object & !7)
        {
            locked.record().objects.at(object).forget();
        }
    }

    fn condition_waited(&self, thread: &mut Thread, condition: usize, _: usize) {
        self.order_decides(self.acting(thread).0);
        self.receive(thread, condition, |objects| Some(objects.condition().1.clone()));
    }

    fn condition_notified(&self, thread: &mut Thread, condition: usize, _: bool, _: usize) {
        self.signal(thread, condition, |objects, publish| publish(objects.condition().1));
    }

    fn barrier_arrived(&self, thread: &mut Thread, barrier: usize, _: usize) {
        let id = thread.id;
        self.signal(thread, barrier, |objects, publish| {
            if let Some(sync) = objects.barrier().1.arrive(id) {
                publish(sync);
            }
        });
    }

    fn barrier_left(&self, thread: &mut Thread, barrier: usize, _: usize) {
        let id = thread.id;
        self.receive(thread, barrier, |objects| {
            let (_, state) = objects.barrier();
            let known = state.leave(id).cloned();
            state.drop_finished();
            known
        });
    }

    fn happens_before(&self, thread: &mut Thread, token: usize, _: usize) {
        self.signal(thread, token_address(token), |objects, publish| publish(objects.token()));
    }

    fn happens_after(&self, thread: &mut Thread, token: usize, _: usize) {
        self.order_decides(self.acting(thread).0);
        let mut learned = Known::default();
        self.receive(thread, token_address(token), |objects| {
            learned = objects.token().clone();
            Some(learned.clone())
        });
        self.parts(thread).0.data.received = (token, learned);
    }

    fn has_learned(&self, thread: &mut Thread, token: usize) -> bool {
        let data = &self.acting(thread).0.data;
        data.received.0 == token
            && data.history.locks().is_empty()
            && self.on_object(token_address(token), |objects| objects.token().same(&data.received.1))
                == Some(true)
    }

    fn forked(&self, thread: &mut Thread, pc: usize) -> Option<ThreadId> {
        let place = thread.place(pc, 0);
        let parent = thread.id;
        let id = Registry::with(|registry| registry.add(Some((parent, place))));
        let child = Box::into_raw(self.new_thread(id));
        thread.note_stack(&raw const place as usize);
        self.construct(thread, |slot, worker| {
            let child = self.tasks.spawn(&mut worker.hand, slot, Actor::Thread(id))?;
            let origin = origins::child(worker.data.origin, place, Some(id));
            self.tasks.with_data(child, |data| data.origin = origin);
            Ok(Effect::NewStep)
        });
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(id) {
                entry.thread = child;
            }
        });
        Some(id)
    }

    fn started(&self, thread: *mut Thread, stack: (usize, usize)) {
        // What an earlier thread left on this stack is void.
        self.forget(stack.0, stack.1);
        tls::set_thread(thread);
    }

    fn ended(&self, thread: &mut Thread) {
        let id = thread.id;
        self.tell_held(thread);
        let (worker, _) = self.parts(thread);
        self.put_down(worker);
        self.tasks.end_thread(&mut worker.hand, id);
        telling::final_counts(thread);
        tls::set_task(0);
        tls::set_pending(super::Pending::none());
        tls::set_recent(0, 0);
        let own = tls::TellsLess::of_this_thread();
        self.tells_less.lock().take_if(|hooks| *hooks == own);
        // Nobody who joins it needs anything of that, and not all threads are joined: those of a scope are waited for in another way.
        self.drop_state(thread);
        thread.shrink();
        Registry::with(|registry| {
            if let Some(entry) = registry.entry(id) {
                entry.ended = true;
            }
        });
    }

    fn joined(&self, thread: &mut Thread, child: ThreadId, _: usize) {
        let Some(mut ended) = Registry::take_ended(child) else { return };
        self.drop_state(&mut ended);
        self.construct_end(thread, |slot, worker| {
            self.tasks.join(&mut worker.hand, slot, Actor::Thread(child))
        });
    }

    fn allocated(&self, thread: &mut Thread, addr: usize, size: usize, pc: usize) {
        self.block_allocated(thread, addr, size, pc);
    }

    fn forgotten(&self, thread: Option<&mut Thread>, addr: usize, size: usize) {
        self.block_freed(thread, addr, size);
    }

    fn stack_left(&self, thread: &mut Thread, place: usize, top: usize) {
        thread.note_stack(place);
        // What is pending may be about lower addresses.
        let _ = self.parts(thread);
        let (from, size) = thread.leave_stack(top);
        self.tell_held_of(thread, from, size);
        Self::take_out_of_recent(thread, from, size);
        self.forget(from, size);
    }

    fn region_begin(&self, thread: &mut Thread, region: RegionId, _: usize, marked: bool) {
        thread.regions.push(marked);
        let (worker, _) = self.acting(thread);
        worker.data.blocks += 1;
        if worker.data.blocks == 1 {
            worker.data.block = Some(Block { instance: self.regions.open(), region });
            self.tell_hooks(worker);
        }
    }

    fn region_end(&self, thread: &mut Thread, _: usize) {
        if thread.regions.pop().is_none() {
            return;
        }
        let (worker, _) = self.acting(thread);
        worker.data.blocks = worker.data.blocks.saturating_sub(1);
        if worker.data.blocks == 0
            && let Some(block) = worker.data.block.take()
        {
            self.regions.close(block.instance);
            self.tell_hooks(worker);
        }
    }

    fn function_entered(&self, _: &mut Thread, _: usize, _: usize) {}

    fn function_left(&self, _: &mut Thread) {}

    fn structure(&self, thread: &mut Thread, op: Op, pc: usize) {
        let id = thread.id;
        self.tell_held(thread);
        match op {
            Op::TaskBegin { .. } => {
                own::task_changes(thread);
                thread.enter_task();
            }
            Op::TaskSuspend { .. } | Op::TaskEnd { .. } => {
                own::task_changes(thread);
                thread.leave_task();
            }
            _ => {}
        }
        match op {
            Op::Spawn { task } => {
                let place = match thread.spawns_at {
                    SpawnsAt::Instruction => Some(thread.place_alone(pc)),
                    SpawnsAt::Calls => Some(thread.place(pc, 0)),
                    SpawnsAt::Parent => None,
                };
                thread.note_stack(&raw const place as usize);
                self.construct(thread, |slot, worker| {
                    let child = self.tasks.spawn(&mut worker.hand, slot, Actor::Task(task))?;
                    let parent = worker.data.origin;
                    let origin = place.map_or(parent, |place| worker.origins.child(parent, place));
                    self.tasks.with_data(child, |data| data.origin = origin);
                    Ok(Effect::NewStep)
                });
            }
            Op::TaskWait => {
                self.construct_end(thread, |slot, worker| self.tasks.wait(&mut worker.hand, slot));
            }
            Op::TaskJoin { task } => self.construct_end(thread, |slot, worker| {
                let effect = self.tasks.join(&mut worker.hand, slot, Actor::Task(task));
                self.limit(slot);
                effect
            }),
            Op::FinishBegin => self.construct(thread, |slot, worker| {
                self.tasks.finish_begin(&mut worker.hand, slot);
                Ok(Effect::NewStep)
            }),
            Op::FinishEnd => {
                self.construct_end(thread, |slot, worker| self.tasks.finish_end(&mut worker.hand, slot));
            }
            Op::TaskBegin { task } => {
                let (worker, _) = self.parts(thread);
                self.put_down(worker);
                match self.tasks.begin(&mut worker.running, task) {
                    Ok(slot) => self.take_up(worker, slot),
                    Err(fault) => {
                        self.fault(&fault);
                        self.resume(worker);
                    }
                }
            }
            Op::TaskSuspend { task } | Op::TaskEnd { task } => {
                let (worker, _) = self.parts(thread);
                if matches!(op, Op::TaskEnd { .. }) {
                    let data = &mut worker.data;
                    self.regions.close(std::mem::take(&mut data.step_instance));
                    if let Some(block) = data.block.take() {
                        self.regions.close(block.instance);
                    }
                }
                self.put_down(worker);
                let Worker { hand, running, .. } = worker;
                let left = match op {
                    Op::TaskEnd { .. } => self.tasks.end(hand, running, id, task),
                    _ => self.tasks.suspend(running, id, task),
                };
                if let Err(fault) = left {
                    self.fault(&fault);
                }
                self.note_edges();
                self.resume(worker);
            }
            Op::TaskOrder { before, after } => {
                let (worker, _) = self.parts(thread);
                if let Err(fault) = self.tasks.order(&mut worker.hand, before, after) {
                    self.fault(&fault);
                }
            }
            _ => {}
        }
    }

    fn task_waits(&self, thread: &mut Thread, task: Option<TaskId>, waits: bool) {
        self.tell_held(thread);
        let (worker, _) = self.parts(thread);
        let slot = match task {
            Some(id) => self.tasks.slot(Actor::Task(id)),
            None => worker.slot,
        };
        if let Some(slot) = slot {
            self.tasks.set_waiting(slot, waits);
        }
        if let Some(slot) = worker.slot {
            self.note_alone(slot);
        }
    }

    fn grouped(&self, thread: &mut Thread, members: &[(usize, usize)]) {
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let group = GroupId(GROUPS.fetch_add(1, Ordering::Relaxed));
        for (addr, size) in members {
            self.analysis.group(group, Addr(*addr as u64), u32::try_from(*size).unwrap_or(u32::MAX));
        }
        // What the hooks pass over may mean more now.
        let (worker, _) = self.parts(thread);
        self.tell_hooks(worker);
    }

    fn flush(&self) {}

    fn finish(&self, thread: Option<&mut Thread>) {
        if let Some(thread) = thread {
            self.tell_pending(thread);
            self.tell_held(thread);
            self.count_accesses(Self::parts_at_once(thread).0);
            self.analysis.end_of_run(&mut thread.findings);
            self.after(thread);
        }
        let refused = self.possible.counts().1;
        if refused > 0 {
            telling::note(&format!(
                "{refused} accesses that other sides of branches would do were not looked at: there were too many of them"
            ));
        }
        let overflown = self.overflown.load(Ordering::Relaxed);
        if overflown > 0 {
            telling::note(&format!(
                "{overflown} steps of tasks were not watched: there were too many at the same time"
            ));
        }
    }

    fn thread_of(&self, actor: ThreadId, _: u64) -> ThreadId {
        actor
    }

    fn confused_threads(&self) -> u64 {
        0
    }

    fn tasks(&self) -> u64 {
        self.tasks.counts().spawned
    }

    fn statistics(&self) -> Vec<Statistic> {
        let figure = |name, value| Statistic { analysis: "tasks", name, value };
        let (counts, steps, kept) = (self.tasks.counts(), self.labels.made(), self.labels.remembered());
        let mut locations = 0;
        pages::for_each(|page| locations += TaskWord::used_in_page(page));
        let sets = self.sets.lock();
        vec![
            figure("tasks", counts.spawned),
            figure("steps", steps),
            figure("locations", locations),
            figure("most tasks at the same time", counts.most_live),
            figure("orders beside the tree", counts.edges),
            figure("steps remembered at the end", kept),
            figure("times that finished steps were forgotten", u64::from(self.sweep.count())),
            figure("locks that could block each other", sets.discipline.blocking()),
            figure("accesses of other branches", self.possible.counts().0),
        ]
    }

    fn recorder(&self) -> Option<&Recorder> {
        None
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    /// The thread goes on with what it did before it began its last task.
    fn resume(&self, worker: &mut Worker) {
        match worker.running.current() {
            Some(slot) => self.take_up(worker, slot),
            None => self.tell_hooks(worker),
        }
    }
}
