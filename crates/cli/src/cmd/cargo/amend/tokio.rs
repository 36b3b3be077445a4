//! What is changed in `tokio`: its tasks are told as tasks, its locks as locks, and all else in `sync` as order.
//!
//! The texts are the same in all versions that are known. What only runs inside of its runtime is left out: its own locks are those of the
//! real `std`, also where it would take those of `parking_lot`.

use super::{Amendment, Rule};

/// `tokio` 1.47 to 1.54.
pub(in crate::cmd::cargo) const TOKIO: Amendment = Amendment {
    hidden: true,
    real_std: true,
    files: &[
        ("lib.rs", &[Rule::End("mod told;")]),
        (
            "loom/std/mod.rs",
            &[Rule::Text(
                "all(feature = \"parking_lot\", not(miri))",
                "all(feature = \"parking_lot\", miri)",
                (3, 8),
            )],
        ),
        (
            "runtime/task/core.rs",
            &[
                Rule::Text(
                    "    pub(super) stage: CoreStage<T>,",
                    "    pub(super) told: crate::told::Task, pub(super) stage: CoreStage<T>,",
                    (1, 1),
                ),
                Rule::Text("core: Core {", "core: Core { told: crate::told::Task::spawned(),", (1, 1)),
                Rule::Text(
                    "                future.poll(&mut cx)",
                    "                self.told.run(|| future.poll(&mut cx))",
                    (1, 1),
                ),
                Rule::Text(
                    "self.stage.stage.with_mut(|ptr| *ptr = stage);",
                    "self.told.run(|| self.stage.stage.with_mut(|ptr| *ptr = stage));",
                    (1, 1),
                ),
                Rule::Text(
                    "self.set_stage(Stage::Finished(output));",
                    "self.set_stage(Stage::Finished(output)); self.told.ended();",
                    (1, 1),
                ),
                Rule::Text(
                    "Stage::Finished(output) => output,",
                    "Stage::Finished(output) => { self.told.joined(); output }",
                    (1, 1),
                ),
            ],
        ),
        (
            // What a worker does is poll tasks.
            "runtime/scheduler/multi_thread/worker.rs",
            &[Rule::Text(
                "runtime::spawn_blocking(move || run(worker));",
                "crate::told::untold(|| runtime::spawn_blocking(move || run(worker)));",
                (2, 2),
            )],
        ),
        (
            "runtime/blocking/pool.rs",
            &[
                Rule::Text(
                    "        builder.spawn(move || {",
                    "        let _workers = crate::told::Workers::begin(); if self.inner.after_start.is_some() || self.inner.before_stop.is_some() { crate::told::before(&*self.inner); } builder.spawn(move || {",
                    (1, 1),
                ),
                Rule::Text(
                    "if let Some(f) = &self.after_start {",
                    "if let Some(f) = &self.after_start { crate::told::after(self);",
                    (1, 1),
                ),
                Rule::Text(
                    "if let Some(f) = &self.before_stop {",
                    "if let Some(f) = &self.before_stop { crate::told::after(self);",
                    (1, 1),
                ),
            ],
        ),
        (
            "sync/mutex.rs",
            &[
                Rule::Text(
                    "self.s.acquire(1).await",
                    "crate::told::locked(&self.s, self.s.acquire(1).await)",
                    (1, 1),
                ),
                Rule::Text(
                    "match self.s.try_acquire(1) {",
                    "match crate::told::locked(&self.s, self.s.try_acquire(1)) {",
                    (2, 2),
                ),
                Rule::Text(
                    "self.lock.s.release(1);",
                    "crate::told::unlocking(&self.lock.s); self.lock.s.release(1);",
                    (3, 3),
                ),
                Rule::Text(
                    " self.s.release(1);",
                    " crate::told::unlocking(self.s); self.s.release(1);",
                    (1, 1),
                ),
                Rule::Text(
                    "unsafe { &*self.lock.c.get() }",
                    "crate::told::read(unsafe { &*self.lock.c.get() })",
                    (2, 2),
                ),
                Rule::Text(
                    "unsafe { &mut *self.lock.c.get() }",
                    "crate::told::written(unsafe { &mut *self.lock.c.get() })",
                    (2, 2),
                ),
                Rule::Text("unsafe { &*self.data }", "crate::told::read(unsafe { &*self.data })", (2, 2)),
                Rule::Text(
                    "unsafe { &mut *self.data }",
                    "crate::told::written(unsafe { &mut *self.data })",
                    (2, 2),
                ),
                Rule::Text("    fn deref", "    #[inline(always)] fn deref", (8, 8)),
            ],
        ),
        (
            "sync/rwlock.rs",
            &[
                Rule::Text(
                    "self.s.acquire(1).await",
                    "crate::told::shared(&self.s, self.s.acquire(1).await)",
                    (2, 2),
                ),
                Rule::Text(
                    "self.s.acquire(self.mr as usize).await",
                    "crate::told::alone(&self.s, self.s.acquire(self.mr as usize).await)",
                    (2, 2),
                ),
                Rule::Text(
                    "match self.s.try_acquire(1) {",
                    "match crate::told::shared(&self.s, self.s.try_acquire(1)) {",
                    (2, 2),
                ),
                Rule::Text(
                    "match self.s.try_acquire(self.mr as usize) {",
                    "match crate::told::alone(&self.s, self.s.try_acquire(self.mr as usize)) {",
                    (2, 2),
                ),
            ],
        ),
        (
            "sync/rwlock/read_guard.rs",
            &[
                Rule::Text(
                    " self.s.release(1);",
                    " crate::told::releasing_shared(self.s); self.s.release(1);",
                    (1, 1),
                ),
                Rule::Text("unsafe { &*self.data }", "crate::told::read(unsafe { &*self.data })", (1, 1)),
                Rule::Text("    fn deref", "    #[inline(always)] fn deref", (1, 1)),
            ],
        ),
        (
            "sync/rwlock/owned_read_guard.rs",
            &[
                Rule::Text(
                    " self.lock.s.release(1);",
                    " crate::told::releasing_shared(&self.lock.s); self.lock.s.release(1);",
                    (1, 1),
                ),
                Rule::Text("unsafe { &*self.data }", "crate::told::read(unsafe { &*self.data })", (1, 1)),
                Rule::Text("    fn deref", "    #[inline(always)] fn deref", (1, 1)),
            ],
        ),
        (
            "sync/rwlock/write_guard.rs",
            &[
                Rule::Text(
                    " self.s.release(self.permits_acquired as usize);",
                    " crate::told::releasing_alone(self.s); self.s.release(self.permits_acquired as usize);",
                    (1, 1),
                ),
                Rule::Text(
                    " this.s.release(to_release);",
                    " crate::told::lowering(this.s); this.s.release(to_release);",
                    (3, 3),
                ),
                Rule::Text("unsafe { &*self.data }", "crate::told::read(unsafe { &*self.data })", (1, 1)),
                Rule::Text(
                    "unsafe { &mut *self.data }",
                    "crate::told::written(unsafe { &mut *self.data })",
                    (1, 1),
                ),
                Rule::Text("    fn deref", "    #[inline(always)] fn deref", (2, 2)),
            ],
        ),
        (
            "sync/rwlock/write_guard_mapped.rs",
            &[
                Rule::Text(
                    " self.s.release(self.permits_acquired as usize);",
                    " crate::told::releasing_alone(self.s); self.s.release(self.permits_acquired as usize);",
                    (1, 1),
                ),
                Rule::Text("unsafe { &*self.data }", "crate::told::read(unsafe { &*self.data })", (1, 1)),
                Rule::Text(
                    "unsafe { &mut *self.data }",
                    "crate::told::written(unsafe { &mut *self.data })",
                    (1, 1),
                ),
                Rule::Text("    fn deref", "    #[inline(always)] fn deref", (2, 2)),
            ],
        ),
        (
            "sync/rwlock/owned_write_guard.rs",
            &[
                Rule::Text(
                    " self.lock.s.release(self.permits_acquired as usize);",
                    " crate::told::releasing_alone(&self.lock.s); self.lock.s.release(self.permits_acquired as usize);",
                    (1, 1),
                ),
                Rule::Text(
                    " guard.lock.s.release(to_release);",
                    " crate::told::lowering(&guard.lock.s); guard.lock.s.release(to_release);",
                    (3, 3),
                ),
                Rule::Text("unsafe { &*self.data }", "crate::told::read(unsafe { &*self.data })", (1, 1)),
                Rule::Text(
                    "unsafe { &mut *self.data }",
                    "crate::told::written(unsafe { &mut *self.data })",
                    (1, 1),
                ),
                Rule::Text("    fn deref", "    #[inline(always)] fn deref", (2, 2)),
            ],
        ),
        (
            "sync/rwlock/owned_write_guard_mapped.rs",
            &[
                Rule::Text(
                    " self.lock.s.release(self.permits_acquired as usize);",
                    " crate::told::releasing_alone(&self.lock.s); self.lock.s.release(self.permits_acquired as usize);",
                    (1, 1),
                ),
                Rule::Text("unsafe { &*self.data }", "crate::told::read(unsafe { &*self.data })", (1, 1)),
                Rule::Text(
                    "unsafe { &mut *self.data }",
                    "crate::told::written(unsafe { &mut *self.data })",
                    (1, 1),
                ),
                Rule::Text("    fn deref", "    #[inline(always)] fn deref", (2, 2)),
            ],
        ),
        (
            "sync/oneshot.rs",
            &[
                Rule::Text(
                    "let prev = State::set_complete(&self.state);",
                    "crate::told::before(self); let prev = State::set_complete(&self.state);",
                    (1, 1),
                ),
                Rule::Text(
                    "unsafe fn consume_value(&self) -> Option<T> {",
                    "unsafe fn consume_value(&self) -> Option<T> { crate::told::after(self);",
                    (1, 1),
                ),
                Rule::Text(
                    "let prev = State::set_closed(&self.state);",
                    "crate::told::before(&self.state); let prev = State::set_closed(&self.state);",
                    (1, 1),
                ),
                Rule::Text(
                    "pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {",
                    "pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> { if let Some(inner) = &self.inner { crate::told::after(&inner.state); }",
                    (1, 1),
                ),
            ],
        ),
        (
            "sync/mpsc/block.rs",
            &[
                Rule::Text(
                    "let value = self.values[offset].with(|ptr|",
                    "crate::told::after(&self.values[offset]); let value = self.values[offset].with(|ptr|",
                    (1, 1),
                ),
                Rule::Text(
                    "self.values[slot_offset].with_mut(|ptr| {",
                    "crate::told::before(&self.values[slot_offset]); self.values[slot_offset].with_mut(|ptr| {",
                    (1, 1),
                ),
            ],
        ),
        (
            "sync/mpsc/chan.rs",
            &[
                Rule::Text(
                    "if self.inner.tx_count.fetch_sub(1, AcqRel) != 1 {",
                    "crate::told::before(&self.inner.tx_count); if self.inner.tx_count.fetch_sub(1, AcqRel) != 1 {",
                    (1, 1),
                ),
                Rule::Text(
                    "Some(Read::Closed) => {",
                    "Some(Read::Closed) => { crate::told::after(&self.inner.tx_count);",
                    (2, 2),
                ),
                Rule::Text(
                    "TryPopResult::Closed => return Err(TryRecvError::Disconnected),",
                    "TryPopResult::Closed => { crate::told::after(&self.inner.tx_count); return Err(TryRecvError::Disconnected) }",
                    (1, 1),
                ),
            ],
        ),
        (
            "sync/watch.rs",
            &[
                Rule::Text(
                    "self.shared.state.increment_version_while_locked();",
                    "crate::told::before(&self.shared.state); self.shared.state.increment_version_while_locked();",
                    (1, 1),
                ),
                Rule::Text(
                    "let inner = self.shared.value.read();",
                    "let inner = self.shared.value.read(); crate::told::after(&self.shared.state);",
                    (4, 4),
                ),
                Rule::Text(
                    "let state = shared.state.load();",
                    "let state = shared.state.load(); crate::told::after(&shared.state);",
                    (1, 1),
                ),
                Rule::Text(
                    "let state = self.shared.state.load();",
                    "let state = self.shared.state.load(); crate::told::after(&self.shared.state);",
                    (1, 1),
                ),
                Rule::Text(
                    "if self.shared.ref_count_tx.fetch_sub(1, AcqRel) == 1 {",
                    "crate::told::before(&self.shared.state); if self.shared.ref_count_tx.fetch_sub(1, AcqRel) == 1 {",
                    (1, 1),
                ),
            ],
        ),
        (
            "sync/notify.rs",
            &[
                Rule::Text(
                    "fn notify_with_strategy(&self, strategy: NotifyOneStrategy) {",
                    "fn notify_with_strategy(&self, strategy: NotifyOneStrategy) { crate::told::before(self);",
                    (1, 1),
                ),
                Rule::Text(
                    "atomic_inc_num_notify_waiters_calls(&self.state);",
                    "crate::told::before(self); atomic_inc_num_notify_waiters_calls(&self.state);",
                    (1, 1),
                ),
                Rule::Text(
                    "let new_state = set_state(inc_num_notify_waiters_calls(curr), EMPTY);",
                    "crate::told::before(self); let new_state = set_state(inc_num_notify_waiters_calls(curr), EMPTY);",
                    (1, 1),
                ),
                Rule::Text(
                    "return Poll::Ready(());",
                    "crate::told::after(notify); return Poll::Ready(());",
                    (3, 3),
                ),
            ],
        ),
        (
            "sync/broadcast.rs",
            &[
                Rule::Text(
                    "    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {",
                    "    pub fn send(&self, value: T) -> Result<usize, SendError<T>> { crate::told::before(&*self.shared);",
                    (1, 1),
                ),
                Rule::Text(
                    "Ok(RecvGuard { slot })",
                    "{ crate::told::after(&*self.shared); Ok(RecvGuard { slot }) }",
                    (2, 2),
                ),
                Rule::Text(
                    "return Err(TryRecvError::Closed);",
                    "{ crate::told::after(&*self.shared); return Err(TryRecvError::Closed); }",
                    (1, 1),
                ),
                Rule::Text(
                    "if 1 == self.shared.num_tx.fetch_sub(1, AcqRel) {",
                    "crate::told::before(&*self.shared); if 1 == self.shared.num_tx.fetch_sub(1, AcqRel) {",
                    (1, 1),
                ),
            ],
        ),
        (
            "sync/semaphore.rs",
            &[
                Rule::Text(
                    "self.ll_sem.release(n);",
                    "crate::told::before(self); self.ll_sem.release(n);",
                    (1, 1),
                ),
                Rule::Text(
                    "        inner.await?;",
                    "        inner.await?; crate::told::after(&*self);",
                    (3, 3),
                ),
                Rule::Text(
                    "        self.ll_sem.acquire(n as usize).await?;",
                    "        self.ll_sem.acquire(n as usize).await?; crate::told::after(&*self);",
                    (1, 1),
                ),
                Rule::Text(
                    "match self.ll_sem.try_acquire(1) {",
                    "match crate::told::received(&*self, self.ll_sem.try_acquire(1)) {",
                    (2, 2),
                ),
                Rule::Text(
                    "match self.ll_sem.try_acquire(n as usize) {",
                    "match crate::told::received(&*self, self.ll_sem.try_acquire(n as usize)) {",
                    (2, 2),
                ),
            ],
        ),
        (
            "sync/barrier.rs",
            &[
                Rule::Text(
                    "    async fn wait_internal(&self) -> BarrierWaitResult {",
                    "    async fn original_wait(&self) -> BarrierWaitResult {",
                    (1, 1),
                ),
                Rule::End(
                    "impl Barrier {\n    async fn wait_internal(&self) -> BarrierWaitResult {\n        crate::told::before(self);\n        let result = self.original_wait().await;\n        crate::told::after(self);\n        result\n    }\n}",
                ),
            ],
        ),
        (
            "sync/once_cell.rs",
            &[
                Rule::Text(
                    "self.value_set.store(true, Ordering::Release);",
                    "crate::told::before(self); self.value_set.store(true, Ordering::Release);",
                    (1, 1),
                ),
                Rule::Text(
                    "unsafe fn get_unchecked(&self) -> &T {",
                    "unsafe fn get_unchecked(&self) -> &T { crate::told::after(self);",
                    (1, 1),
                ),
            ],
        ),
        (
            "sync/set_once.rs",
            &[
                Rule::Text(
                    "self.value_set.store(true, Ordering::Release);",
                    "crate::told::before(self); self.value_set.store(true, Ordering::Release);",
                    (1, 1),
                ),
                Rule::Text(
                    "unsafe fn get_unchecked(&self) -> &T {",
                    "unsafe fn get_unchecked(&self) -> &T { crate::told::after(self);",
                    (1, 1),
                ),
            ],
        ),
    ],
};
