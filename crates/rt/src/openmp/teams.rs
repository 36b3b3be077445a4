//! Teams: parallel regions and their barriers.
//!
//! A barrier of a team is where all that came before it, tasks included, ends: it is series composition. So an implicit
//! task is told in *pieces*, one for each *phase* between two barriers:
//!
//! ```text
//! finish {                           // the parallel region, by the task that encounters it
//!     async {                        // its coordinator
//!         finish { async { piece 0 of thread 0 } async { piece 0 of thread 1 } … }
//!         finish { async { piece 1 of thread 0 } async { piece 1 of thread 1 } … }
//!     }
//! }
//! ```
//!
//! Sections, and the chunks of a loop with a `dynamic` or `guided` schedule, are parallel to each other also if one thread
//! has got them: each is a child of the thread's piece, which goes on after all of them. Chunks of a static loop are not, as
//! programs may rely on who gets them.
//!
//! The coordinator does nothing but that. It is a task of its own so that whoever leaves a barrier first can go on with it
//! for a moment, whatever thread it is.

use super::tasks::{Role, Task};
use crate::spin::{self, Spin};
use crate::watch;
use keirin_core::event::{Op, TaskId};
use std::sync::atomic::{AtomicBool, Ordering};

/// A parallel region.
pub(super) struct Region {
    /// The task that encountered it.
    pub(super) encountering: *mut Task,
    pub(super) place: usize,
    /// How many threads were asked for.
    pub(super) requested: u32,
    coordinator: TaskId,
    /// The first phase was told; the fields above do not change any more.
    open: AtomicBool,
    phases: Spin<Phases>,
}

#[derive(Default)]
struct Phases {
    /// The number of the latest phase.
    latest: u32,
    /// The pieces of the latest phase and of the one before, by its parity.
    pieces: [Vec<TaskId>; 2],
}

impl Region {
    pub(super) fn new(encountering: *mut Task, place: usize, requested: u32) -> Self {
        Region {
            encountering,
            place,
            requested,
            coordinator: TaskId::NONE,
            open: AtomicBool::new(false),
            phases: Spin::new(Phases::default()),
        }
    }

    /// The team is there: told by its first thread, which runs the encountering task.
    pub(super) fn begin(&mut self, size: u32) {
        self.coordinator = watch::new_task();
        watch::structure(Op::FinishBegin, self.place);
        watch::structure(Op::Spawn { task: self.coordinator }, self.place);
        self.resume();
        self.phases.lock().begin(size, self.place);
        self.suspend();
        watch::task_waits(None, true);
        self.open.store(true, Ordering::Release);
    }

    /// For the other threads: waits until the first one has told the region.
    pub(super) fn await_begin(&self) {
        let mut tries = 0;
        while !self.open.load(Ordering::Acquire) {
            spin::pause(tries);
            tries = tries.wrapping_add(1);
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    fn resume(&self) {
        watch::task_waits(Some(self.coordinator), false);
        watch::structure(Op::TaskBegin { task: self.coordinator }, self.place);
    }

    fn suspend(&self) {
        watch::structure(Op::TaskSuspend { task: self.coordinator }, self.place);
        watch::task_waits(Some(self.coordinator), true);
    }

    /// The piece of a thread in a phase. The first one that asks tells the phase: the one before is finished.
    fn piece(&self, phase: u32, index: u32, place: usize) -> TaskId {
        let mut phases = self.phases.lock();
        if phases.latest != phase {
            self.resume();
            watch::structure(Op::FinishEnd, place);
            let size = phases.pieces[0].len().max(phases.pieces[1].len()) as u32;
            phases.latest = phase;
            phases.begin(size, place);
            self.suspend();
        }
        phases.pieces[(phase % 2) as usize].get(index as usize).copied().unwrap_or(TaskId::NONE)
    }

    /// All threads have come to the end; told by the one that runs the encountering task.
    pub(super) fn end(&self, place: usize) {
        if self.is_open() {
            watch::task_waits(None, false);
            self.resume();
            watch::structure(Op::FinishEnd, place);
            watch::structure(Op::TaskEnd { task: self.coordinator }, place);
            watch::structure(Op::FinishEnd, place);
        }
    }
}

impl Phases {
    fn begin(&mut self, size: u32, place: usize) {
        watch::structure(Op::FinishBegin, place);
        let pieces = &mut self.pieces[(self.latest % 2) as usize];
        pieces.clear();
        for _ in 0..size {
            let task = watch::new_task();
            watch::structure(Op::Spawn { task }, place);
            pieces.push(task);
        }
    }
}

impl Task {
    /// An implicit task starts with its first piece.
    pub(super) fn join_team(&mut self, region: &mut Region, index: u32) {
        self.index = index;
        self.region = region;
        self.calls = watch::open_calls();
        self.begin_piece(region.place);
    }

    fn begin_piece(&mut self, place: usize) {
        // SAFETY: the region lives until all its threads have arrived at its last barrier, and this one has not.
        let Some(region) = (unsafe { self.region.as_ref() }) else { return };
        let task = region.piece(self.phase, self.index, place);
        self.role = Role::Own(task);
        watch::structure(Op::TaskBegin { task }, place);
        watch::calls_resumed(self.calls);
    }

    /// An implicit task arrives at a barrier: its piece ends.
    pub(super) fn arrive(&mut self, place: usize) {
        if self.region.is_null() {
            return;
        }
        // The end of a cancelled loop is not told.
        self.end_chunks(place);
        if let Role::Own(task) = std::mem::replace(&mut self.role, Role::Nobody) {
            watch::calls_left(self.calls);
            watch::structure(Op::TaskEnd { task }, place);
            self.at_barrier();
        }
    }

    /// An implicit task goes on from a barrier that is not the last one of its region.
    pub(super) fn leave(&mut self, place: usize) {
        if !self.region.is_null() && self.role == Role::Nobody {
            self.phase += 1;
            self.begin_piece(place);
        }
    }

    /// An implicit task gets a chunk of a loop that deals them out; `frame`: where its frames begin.
    pub(super) fn begin_chunk(&mut self, frame: Option<usize>) {
        if !self.deals_chunks || self.region.is_null() || !matches!(self.role, Role::Own(_)) {
            return;
        }
        self.tell_groups();
        let chunk = watch::new_task();
        let previous = self.chunks.last().copied().filter(|_| self.in_chunk);
        let place = self.place;
        watch::within_calls(self.calls, || {
            if let Some(task) = previous {
                watch::structure(Op::TaskEnd { task }, place);
            }
            watch::structure(Op::Spawn { task: chunk }, place);
            watch::structure(Op::TaskBegin { task: chunk }, place);
        });
        self.chunks.push(chunk);
        self.in_chunk = true;
        self.earlier_children = self.chunk_children.len();
        if let Some(frame) = frame {
            // Private variables are shared by the chunks that a thread gets, one after the other.
            watch::stack_left_from(&raw const chunk as usize, frame);
        }
    }

    /// There are no more chunks, or the loop is cancelled.
    pub(super) fn end_chunks(&mut self, place: usize) {
        self.deals_chunks = false;
        if !std::mem::take(&mut self.in_chunk) {
            return;
        }
        let chunks = std::mem::take(&mut self.chunks);
        // A wait for all children would be one too many if some of them are tasks that may still run.
        let one_by_one = self.has_children();
        watch::within_calls(self.calls, || {
            if let Some(&task) = chunks.last() {
                watch::structure(Op::TaskEnd { task }, place);
            }
            if one_by_one {
                chunks.iter().for_each(|&task| watch::structure(Op::TaskJoin { task }, place));
            } else {
                watch::structure(Op::TaskWait, place);
            }
        });
    }

    /// An implicit task has waited for its children: for those that belong to chunks.
    pub(super) fn wait_for_chunk_children(&mut self, place: usize) {
        let children = std::mem::take(&mut self.chunk_children);
        if self.in_chunk && self.earlier_children == 0 && !children.is_empty() {
            watch::structure(Op::TaskWait, place);
        } else {
            children.iter().for_each(|&task| watch::structure(Op::TaskJoin { task }, place));
        }
        self.earlier_children = 0;
    }

    /// True between the pieces of an implicit task.
    pub(super) fn is_between(&self) -> bool {
        self.role == Role::Nobody
    }
}
