//! What can happen, one function for each: the state that belongs to it is found and locked, and the analysis is told.

use super::*;
use crate::watcher::OtherSides;

impl<A: Shadowed> Driver<A> {
    /// The thread publishes what it did through an object that is locked.
    fn signal(&self, thread: &mut Thread, op: Op, pc: usize, sync: &mut A::Sync) {
        self.record(thread, op, pc);
        let at = self.step(thread, op, pc, 0);
        let (mine, findings) = Self::parts(thread);
        self.analysis.signal(&at, mine, sync, findings);
        self.next_epoch(thread);
    }

    /// The thread takes over what was published through an object that is locked.
    fn receive(&self, thread: &mut Thread, op: Op, pc: usize, sync: &mut A::Sync) {
        self.record(thread, op, pc);
        let at = self.step(thread, op, pc, 0);
        let (mine, findings) = Self::parts(thread);
        self.analysis.receive(&at, mine, sync, findings);
    }
}

impl<A: Shadowed> Watcher for Driver<A> {
    fn minds_accesses(&self) -> bool {
        A::WATCHES_MEMORY || self.recorder.is_some()
    }

    fn minds_synchronization(&self) -> bool {
        A::WATCHES_SYNCHRONIZATION || self.recorder.is_some() || self.watching.critical_sections
    }

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
        if self.recorder.is_some() {
            thread.note_stack(addr);
            if own::may_be(addr) {
                own::accessed(thread, addr, size, |thread| self.forgotten(Some(thread), addr, size));
            }
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
        self.atomic_by(thread, addr, size, pc, None, perform);
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

    fn minds_other_sides(&self) -> OtherSides {
        if self.recorder.is_some() { OtherSides::Always } else { OtherSides::Never }
    }

    fn minds_repetitions(&self) -> bool {
        self.recorder.is_some() || (A::WATCHES_MEMORY && A::COUNTS_ACCESSES)
    }

    fn other_access(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
        if size == 0 || !layout::is_program(addr, size) || own::is_of(thread, addr) {
            return;
        }
        if let Some(recorder) = &self.recorder {
            let size = u32::try_from(size).unwrap_or(u32::MAX);
            recorder.event(thread, Op::OtherPath { kind, size, addr: Addr(addr as u64) }, pc, false);
        }
    }

    fn other_lock(&self, thread: &mut Thread, lock: usize, mode: LockMode, acquire: bool, pc: usize) {
        let Some(recorder) = self.recorder.as_ref().filter(|_| layout::is_program(lock, 1)) else { return };
        self.on_object(lock, |objects| {
            let (lock_id, _, new) = objects.lock();
            if new {
                telling::new_lock(lock_id, lock);
            }
            recorder.event(thread, Op::OtherPathLock { lock: lock_id, mode, acquire }, pc, false);
        });
    }

    fn atomic_awaited(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
        if layout::is_program(addr, size) {
            self.provoke_access(thread, kind, addr, size, pc);
        }
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
        self.on_object(object, |objects| objects.forget());
    }

    fn condition_waited(&self, thread: &mut Thread, condition: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(condition, |objects| {
            let (id, sync) = objects.condition();
            let op = Op::Wait { condition: id };
            self.receive(thread, op, pc, sync);
        });
        self.after(thread);
    }

    fn condition_notified(&self, thread: &mut Thread, condition: usize, all: bool, pc: usize) {
        let _order = self.in_order();
        self.on_object(condition, |objects| {
            let (id, sync) = objects.condition();
            let op = Op::Notify { condition: id, all };
            self.signal(thread, op, pc, sync);
        });
        self.after(thread);
    }

    fn barrier_arrived(&self, thread: &mut Thread, barrier: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(barrier, |objects| {
            let (id, state) = objects.barrier();
            let op = Op::BarrierArrive { barrier: id };
            if let Some(sync) = state.arrive(thread.id) {
                self.signal(thread, op, pc, sync);
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
                self.receive(thread, op, pc, sync);
                state.drop_finished();
            }
        });
        self.after(thread);
    }

    fn happens_before(&self, thread: &mut Thread, token: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(token_address(token), |objects| {
            let op = Op::HappensBefore { token: token as u64 };
            self.signal(thread, op, pc, objects.token());
        });
        self.after(thread);
    }

    fn happens_after(&self, thread: &mut Thread, token: usize, pc: usize) {
        let _order = self.in_order();
        self.on_object(token_address(token), |objects| {
            let op = Op::HappensAfter { token: token as u64 };
            self.receive(thread, op, pc, objects.token());
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
        if let Some(recorder) = &self.recorder {
            recorder.end_thread(thread);
        }
        telling::final_counts(thread);
        tls::set_epoch(0, 0);
        if let Some(entries) = thread.quiet.take() {
            entries.release(|word, mask| Self::keep_quiet(entries, word, mask));
        }
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
        let Some(mut ended) = Registry::take_ended(child) else { return };
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

    fn statistics(&self) -> Vec<keirin_core::analysis::Statistic> {
        self.analysis.statistics()
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

    fn learned_begin(&self, thread: &mut Thread, region: RegionId, pc: usize) {
        thread.regions.push(false);
        // It has the time of the access before: the clock is dear.
        let site = SiteId(thread.place(pc, 0));
        let moment = Moment { position: thread.position, thread: thread.actor, site, stack: StackId::NONE };
        let (mine, findings) = Self::parts(thread);
        self.analysis.begin(&RawStep { moment, op: Op::Begin { region } }, mine, region, findings);
    }

    fn learned_end(&self, thread: &mut Thread) {
        thread.regions.pop();
        let moment = Moment { position: thread.position, thread: thread.actor, ..Moment::default() };
        let (mine, findings) = Self::parts(thread);
        self.analysis.end(&RawStep { moment, op: Op::End }, mine, findings);
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

    fn structure(&self, thread: &mut Thread, op: Op, pc: usize) {
        let _order = self.in_order();
        self.record(thread, op, pc);
        let changes = matches!(op, Op::TaskBegin { .. } | Op::TaskSuspend { .. } | Op::TaskEnd { .. });
        if changes && self.recorder.is_some() {
            own::task_changes(thread);
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
            recorder.write_all(live_threads);
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
