//! The offline driver for analyses of tasks.
//!
//! It keeps who runs what ([`Tasks`]), the locks of each task, the order beside the tree that comes from conditions,
//! barriers, annotations and synchronizing atomics, and the cells of memory; and it gives the analysis a [`Present`] with
//! each access.
//!
//! **Order beside the tree** is that of the observed run. A lock gives none: its sections could have come in another
//! order. A release that an acquire has seen (C++20, with fences and release sequences) does: what was waited for there
//! would have been waited for in every schedule.
//!
//! **Memory.** When enough steps of finished scopes have gathered, all cells are looked through once, what refers to such a
//! step is made to refer to the one that stands for it, and the steps are forgotten. So memory is bounded by what the run
//! touches and by the tasks that are not yet waited for, not by the number of tasks.

mod checker;
mod constructs;
mod order;
mod recent;
mod regions;

pub use checker::TaskChecker;

use super::threads::{Barrier, Locks};
use super::{Counts, EnteredRegions, Fault, Outcome, Pass, Repairs, ReplayOptions};
use crate::analysis::tasks::{Block, Calls, Flagged, Order, Present, Questions, TaskAnalysis};
use crate::analysis::{Part, Statistic};
use crate::clock::MAX_THREADS;
use crate::event::{AtomicKind, BarrierId, Event, LockId, LockMode, Op, StackId, ThreadId};
use crate::family::{Families, History};
use crate::finding::{Findings, Moment, RawStep};
use crate::lockset::Locksets;
use crate::shadow::Shadow;
use crate::sptree::Structure;
use crate::sptree::verdicts::Verdicts;
use crate::stack::Stacks;
use crate::tasks::{Actor, Known, Slot, TaskState, Tasks};
use crate::trace::Batch;
use recent::RecentAccesses;
use regions::Regions;
use rustc_hash::FxHashMap;

/// How a run with tasks is replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskOptions {
    /// Remember which accesses of a step need not be looked at again.
    pub access_cache: bool,
    /// Remember how steps stand to each other.
    pub verdict_cache: bool,
    /// Count what costs time to count: different questions and bytes.
    pub count: bool,
    /// Flag all memory that the other side of a branch would have accessed.
    pub possible: bool,
}

/// What the driver keeps for each task.
#[derive(Debug, Default)]
struct TaskData {
    history: History,
    stack: StackId,
    step_instance: u32,
    /// Open annotated blocks, and the outermost one.
    blocks: u32,
    block: Option<Block>,
    /// Open ignore annotations.
    ignoring: u32,
    /// Changes whenever an access may mean something else than before.
    turn: u32,
    /// What the task knew beside the tree at earlier points of its step, each until a version of the history.
    known_before: Vec<(u32, Known)>,
    /// What a release fence has published, for later stores.
    fenced: Known,
    /// What loads without order have seen, for a later acquire fence.
    seen: Known,
}

impl TaskState for TaskData {
    fn renew(&mut self) {
        self.history.renew();
        self.known_before.clear();
        let (history, known_before) =
            (std::mem::take(&mut self.history), std::mem::take(&mut self.known_before));
        *self = Self { history, known_before, ..Self::default() };
    }
}

/// What the driver keeps for each thread.
#[derive(Debug, Default)]
struct ThreadData {
    acted: bool,
    ended: bool,
    /// What the thread runs, as [`Tasks::current`] says; none before it has acted and after it has ended.
    current: Option<Slot>,
    recent: RecentAccesses,
}

/// The state of a replay.
#[derive(Debug)]
pub struct TaskReplay<'a, A: TaskAnalysis, S: Structure> {
    analysis: &'a A,
    name: &'static str,
    options: ReplayOptions,
    task_options: TaskOptions,
    /// From here on events may be missing, so that what looks impossible is repaired.
    incomplete_from: u64,
    tasks: Tasks<S, TaskData>,
    threads: Vec<ThreadData>,
    shadow: Shadow<A::Cell>,
    locks: Locks<(), Actor>,
    conditions: FxHashMap<u32, Known>,
    tokens: FxHashMap<u64, Known>,
    atomics: FxHashMap<u64, Known>,
    barriers: FxHashMap<BarrierId, Barrier<Known>>,
    stacks: Stacks,
    locksets: Locksets,
    families: Families,
    questions: Questions,
    flagged: Flagged,
    /// What [`TaskReplay::set_calls`] has set.
    calls: Calls,
    code: u64,
    findings: Findings,
    counts: Counts,
    repairs: Repairs,
    regions: EnteredRegions,
    open_regions: Regions,
    /// How often nothing but one task was left.
    era: u32,
    /// The last number given to a step or block as a region, or to a turn.
    last_number: u32,
    /// Accesses that need not be looked at because the same step had done the same.
    recent_hits: u64,
    /// Blocks that went on over a task construct.
    cut_blocks: u64,
    /// How often the cells were looked through.
    sweeps: u64,
}

impl<'a, A: TaskAnalysis, S: Structure> TaskReplay<'a, A, S> {
    /// A replay that has seen nothing yet. `name` is what the analysis is called in figures.
    pub fn new(
        analysis: &'a A,
        name: &'static str,
        options: ReplayOptions,
        task_options: TaskOptions,
    ) -> Self {
        let questions = Questions {
            keep_all: options.keep_all,
            verdicts: task_options.verdict_cache.then(Verdicts::default),
            different: task_options.count.then(Default::default),
            ..Questions::default()
        };
        Self {
            analysis,
            name,
            options,
            task_options,
            incomplete_from: u64::MAX,
            tasks: Tasks::new(),
            threads: Vec::new(),
            shadow: Shadow::new(),
            locks: Locks::default(),
            conditions: FxHashMap::default(),
            tokens: FxHashMap::default(),
            atomics: FxHashMap::default(),
            barriers: FxHashMap::default(),
            stacks: Stacks::new(),
            locksets: Locksets::new(),
            families: Families::default(),
            questions,
            flagged: Flagged::default(),
            calls: Calls::default(),
            code: 0,
            findings: Findings::new(),
            counts: Counts::default(),
            repairs: Repairs::default(),
            regions: EnteredRegions::default(),
            open_regions: Regions::default(),
            era: 0,
            last_number: 0,
            recent_hits: 0,
            cut_blocks: 0,
            sweeps: 0,
        }
    }

    /// The series-parallel structure built so far.
    pub fn structure(&self) -> &S {
        self.tasks.structure()
    }

    /// The next event of the run. An error is an order that cannot have happened and was not repaired.
    pub fn event(&mut self, position: u64, event: &Event) -> Result<(), Fault> {
        self.step(position, event)
    }

    /// The calls that are open at the events that follow, and the instruction, from a source that knows more of them than a trace
    /// tells.
    pub fn set_calls(&mut self, calls: Calls, code: u64) {
        self.calls = calls;
        self.code = code;
    }

    /// Counts a fault as repaired, or gives up.
    #[cold]
    fn fault(&mut self, position: u64, fault: Fault) -> Result<(), Fault> {
        if self.options.lenient || position >= self.incomplete_from {
            self.repairs.count(&fault);
            return Ok(());
        }
        Err(fault)
    }

    /// The thread of an event, which must not have ended, and the task that it runs.
    #[inline]
    fn acting(&mut self, thread: ThreadId) -> Result<Slot, Fault> {
        match self.threads.get(thread.index()) {
            Some(ThreadData { current: Some(task), .. }) => Ok(*task),
            _ => self.find_acting(thread),
        }
    }

    fn find_acting(&mut self, thread: ThreadId) -> Result<Slot, Fault> {
        self.wake(thread)?;
        let task = match self.tasks.current(thread) {
            Some(task) => task,
            None => self.acting_outside(thread),
        };
        self.threads[thread.index()].current = Some(task);
        Ok(task)
    }

    /// The thread runs something else than before.
    fn turned(&mut self, thread: ThreadId) {
        if let Some(data) = self.threads.get_mut(thread.index()) {
            data.current = None;
        }
    }

    fn acting_outside(&mut self, thread: ThreadId) -> Slot {
        let task = self.tasks.acting(thread);
        if self.tasks.data(task).turn == 0 {
            self.new_step(task);
        }
        task
    }

    #[cold]
    fn wake(&mut self, thread: ThreadId) -> Result<(), Fault> {
        if thread.0 >= MAX_THREADS {
            return Err(Fault::ThreadNumber(thread));
        }
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, ThreadData::default);
        }
        let data = &mut self.threads[thread.index()];
        if data.ended {
            return Err(Fault::EventAfterEnd(thread));
        }
        data.acted = true;
        Ok(())
    }

    fn next_number(&mut self) -> u32 {
        // After four thousand million of them a number could be mistaken for one that is long gone.
        self.last_number = self.last_number.checked_add(1).unwrap_or(1);
        self.last_number
    }

    /// The task has come to another step: another region, and the rest of an open block is another block.
    fn new_step(&mut self, task: Slot) {
        let step = self.next_number();
        let block = if self.tasks.data(task).block.is_some() { self.next_number() } else { 0 };
        let (data, ..) = self.tasks.parts(task);
        self.open_regions.close(data.step_instance);
        self.open_regions.open(step);
        data.step_instance = step;
        data.turn = step;
        data.history.cut();
        data.known_before.clear();
        if let Some(open) = &mut data.block {
            self.open_regions.close(open.instance);
            self.open_regions.open(block);
            open.instance = block;
            self.cut_blocks += 1;
        }
    }

    /// A task has ended.
    fn close_regions(&mut self, task: Slot) {
        let (data, ..) = self.tasks.parts(task);
        self.open_regions.close(data.step_instance);
        if let Some(block) = data.block.take() {
            self.open_regions.close(block.instance);
        }
    }

    /// The task's accesses may mean something else than before.
    fn new_turn(&mut self, task: Slot) {
        let turn = self.next_number();
        self.tasks.parts(task).0.turn = turn;
    }

    #[inline(always)]
    fn step(&mut self, position: u64, event: &Event) -> Result<(), Fault> {
        self.counts.events += 1;
        let task = match event.op {
            // A thread that starts a task need not do anything outside of it.
            Op::TaskBegin { task } => return self.begin_task(position, event, task),
            _ => match self.acting(event.thread) {
                Ok(task) => task,
                Err(fault) => return self.fault(position, fault),
            },
        };
        match event.op {
            Op::Access { kind, size, addr } => {
                self.counts.accesses += 1;
                if A::RECORDS && self.analysis.records_all() {
                    self.tell(position, event, task);
                }
                self.access(position, event, task, Part { kind, addr, size, whole: true }, false);
                Ok(())
            }
            Op::Atomic { kind, order, size, addr } => {
                self.counts.accesses += 1;
                self.tell(position, event, task);
                // What an atomic operation acquires comes before it, what it releases after it.
                if order.acquires() || kind != AtomicKind::Store {
                    self.atomic_receives(task, kind, order, addr);
                }
                let part = Part { kind: kind.access_kind(), addr, size: u32::from(size), whole: true };
                self.access(position, event, task, part, true);
                if kind != AtomicKind::Load {
                    self.atomic_publishes(task, kind, order, addr);
                }
                Ok(())
            }
            Op::Acquire { lock, mode } => self.acquire(position, event, task, lock, mode),
            Op::Release { lock, mode } => self.release(position, event, task, lock, mode),
            Op::Begin { region } => {
                self.regions.note(region);
                let instance = self.next_number();
                let (data, ..) = self.tasks.parts(task);
                data.blocks += 1;
                if data.blocks == 1 {
                    self.open_regions.open(instance);
                    data.block = Some(Block { instance, region });
                    data.turn = instance;
                }
                self.tell(position, event, task);
                Ok(())
            }
            Op::End => {
                let (data, ..) = self.tasks.parts(task);
                if data.blocks == 0 {
                    return self.fault(position, Fault::EndWithoutBegin(event.thread));
                }
                data.blocks -= 1;
                if data.blocks == 0 {
                    if let Some(block) = data.block.take() {
                        self.open_regions.close(block.instance);
                    }
                    self.new_turn(task);
                }
                self.tell(position, event, task);
                Ok(())
            }
            _ => self.rare_event(position, event, task),
        }
    }

    /// Tells an analysis that wants to know what was done.
    #[inline]
    fn tell(&mut self, position: u64, event: &Event, task: Slot) {
        if A::RECORDS {
            let stack = self.tasks.data(task).stack;
            let moment = Moment { position, thread: event.thread, site: event.site, stack };
            self.analysis.operation(&RawStep { moment, op: event.op }, self.tasks.actor(task));
        }
    }

    #[inline(always)]
    fn access(&mut self, position: u64, event: &Event, task: Slot, whole: Part, atomic: bool) {
        let analysis = self.analysis;
        let actor = self.tasks.actor(task);
        let (data, structure, known, step) = self.tasks.parts(task);
        if data.ignoring > 0 {
            return;
        }
        let recent = &mut self.threads[event.thread.index()].recent;
        if self.task_options.access_cache && recent.has(data.turn, whole, atomic) {
            self.recent_hits += 1;
            return;
        }
        let moment = Moment { position, thread: event.thread, site: event.site, stack: data.stack };
        let at = RawStep { moment, op: event.op };
        let mut nothing_new = true;
        let findings = &mut self.findings;
        let mut now = Present {
            at: &at,
            actor,
            atomic,
            beside: false,
            order: Order { step, structure, known, questions: &mut self.questions },
            locks: data.history.locks(),
            step_instance: data.step_instance,
            block: data.block,
            calls: self.calls,
            code: self.code,
            history: &data.history,
            known_before: &data.known_before,
            era: self.era,
            open_regions: &self.open_regions,
            descent: None,
            locksets: &mut self.locksets,
            families: &mut self.families,
            flagged: &mut self.flagged,
        };
        self.shadow.touch(whole.addr, whole.size, |cell, addr, size| {
            let part = Part { kind: whole.kind, addr, size, whole: size == whole.size };
            nothing_new &= analysis.access(&mut now, cell, part, findings);
        });
        if nothing_new && self.task_options.access_cache {
            recent.add(data.turn, whole, atomic);
        }
    }

    fn acquire(
        &mut self,
        position: u64,
        event: &Event,
        task: Slot,
        id: LockId,
        mode: LockMode,
    ) -> Result<(), Fault> {
        let acting = self.tasks.actor(task);
        if let Some(holder) = self.locks.get(id).conflicting_holder(acting, mode) {
            self.fault(position, Fault::LockHeld { lock: id, holder, acting })?;
            for (holder, mode) in self.locks.get(id).take_holders() {
                if let Some(holder) = self.tasks.slot(holder) {
                    self.change_locks(holder, id, mode, false);
                }
            }
        }
        if self.locks.get(id).acquire(acting, mode) {
            self.change_locks(task, id, mode, true);
            self.tell(position, event, task);
        } else {
            self.counts.reentrant += 1;
        }
        Ok(())
    }

    fn release(
        &mut self,
        position: u64,
        event: &Event,
        task: Slot,
        id: LockId,
        mode: LockMode,
    ) -> Result<(), Fault> {
        let acting = self.tasks.actor(task);
        match self.locks.get(id).release(acting, mode) {
            Some(true) => {
                self.change_locks(task, id, mode, false);
                self.tell(position, event, task);
            }
            Some(false) => self.counts.reentrant += 1,
            None => return self.fault(position, Fault::LockNotHeld { lock: id, mode, acting }),
        }
        Ok(())
    }

    fn change_locks(&mut self, task: Slot, id: LockId, mode: LockMode, acquire: bool) {
        let turn = self.next_number();
        let (data, ..) = self.tasks.parts(task);
        let before = data.history.locks();
        let locks = if acquire {
            self.locksets.add(before, id, mode)
        } else {
            self.locksets.remove(before, id, mode)
        };
        data.history.change(&mut self.locksets, locks);
        data.turn = turn;
    }

    /// If there is order beside the tree and nothing has been dropped yet, all is kept from now on.
    fn note_edges(&mut self) {
        if self.tasks.edges() > 0 && !self.questions.dropped.get() {
            self.questions.keep_all = true;
        }
    }

    /// The end of the run.
    pub fn finish(mut self) -> Outcome {
        self.analysis.end_of_run(&mut self.findings);
        self.counts.threads = self.threads.iter().filter(|data| data.acted).count() as u64;
        self.counts.locks = self.locks.used();
        self.counts.tasks = self.tasks.counts().spawned;
        Outcome {
            statistics: self.statistics(),
            needs_all: self.tasks.edges() > 0 && !self.questions.keep_all,
            flagged: self.flagged,
            dropped: self.findings.dropped(),
            findings: self.findings.into_list(),
            stacks: self.stacks,
            counts: self.counts,
            repairs: self.repairs,
            regions: self.regions.list(),
        }
    }

    /// The figures of the papers' tables, and some more.
    fn statistics(&mut self) -> Vec<Statistic> {
        let analysis = self.name;
        let figure = |name, value| Statistic { analysis, name, value };
        let tasks = self.tasks.counts();
        let questions = &self.questions;
        let hits = questions.verdicts.as_ref().map_or(0, Verdicts::hits);
        let mut list = vec![
            figure("tasks", tasks.spawned),
            figure("most tasks at the same time", tasks.most_live),
            figure("nodes of the structure", self.tasks.structure().nodes()),
            figure("steps remembered at the end", self.tasks.structure().steps() as u64),
            figure("orders beside the tree", tasks.edges),
            figure("questions about two steps", questions.asked),
            figure("questions answered by the verdict cache", hits),
            figure("accesses answered by the access cache", self.recent_hits),
            figure("blocks cut by task constructs", self.cut_blocks),
            figure("times that finished steps were forgotten", self.sweeps),
        ];
        if let Some(different) = &questions.different {
            list.push(figure("different questions", different.len() as u64));
            let (mut cells, mut bytes) = (0u64, 0u64);
            self.shadow.for_each(|cell| {
                cells += 1;
                bytes += (size_of::<A::Cell>() + A::bytes_beside(cell)) as u64;
            });
            list.push(figure("locations", cells));
            list.push(figure("bytes about locations", bytes));
        }
        list
    }
}

impl<A: TaskAnalysis, S: Structure> Pass for TaskReplay<'_, A, S> {
    fn batch(&mut self, batch: &Batch, incomplete_from: u64) -> Result<(), (u64, Fault)> {
        self.incomplete_from = incomplete_from;
        for (first, events) in batch.runs() {
            for (position, event) in (first..).zip(events) {
                self.step(position, event).map_err(|fault| (position, fault))?;
            }
        }
        Ok(())
    }

    fn is_decided(&self) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Outcome {
        TaskReplay::finish(*self)
    }
}
