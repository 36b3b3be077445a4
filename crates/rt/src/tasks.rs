//! The online driver for analyses of tasks: hands what happens in the program to an analysis, from all threads at once.
//!
//! It is to programs with tasks what [`crate::driver`] is to those with threads only, and what `keirin_core::replay::tasks` is
//! to traces. What an analysis finds does not depend on which thread comes first: it asks the structure of the run, which is
//! the same in every schedule.
//!
//! | state | where | who may touch it |
//! |---|---|---|
//! | which tasks there are, their place in the tree | [`TaskDriver`] | who holds its lock; taken at task constructs |
//! | labels of steps | `keirin_core::sptree::labels` | everybody reads; who holds that lock makes new ones |
//! | the running task: its step, locks, blocks | [`Worker`] | the thread that runs it |
//! | memory | [`words`] | who owns its line ([`sites`]), or has locked its record |
//! | sets of locks and families | [`sets`] | who holds its lock; each thread has a copy for questions |
//! | accesses that other sides of branches would do | [`possible`] | who holds the lock of a part of them |
//!
//! Order in which locks are taken: possible accesses, a word, what is rare of the tasks, the sets.
//!
//! **Memory.** Steps of finished scopes are forgotten by [`sweep`], which stops all others for a moment.

mod bytes;
mod choose;
mod discipline;
mod events;
mod memory;
mod order;
mod origins;
mod owned;
mod pending;
mod plain;
mod possible;
mod ranges;
mod recent;
mod records;
mod regions;
mod runs;
mod sets;
mod sites;
mod sweep;
#[cfg(test)]
mod tests;
mod under_locks;
mod whole;
mod words;

pub(crate) use choose::{choose, copy_access, range_access, short_access};
pub(crate) use pending::{RUN_DISTANCE, RUN_FROM, RUN_KEY, RUN_NEXT};
pub(crate) use possible::POSSIBLE;
pub(crate) use ranges::{is_known, is_known_or_expected};
pub(crate) use recent::{
    RECENT_ENTRIES, RECENT_LINE_SHIFT, RECENT_SPREAD, RECENT_SPREAD_SHIFT, RECENT_STRETCH_SHIFT,
    RECENT_WRITES,
};
pub(crate) use words::{FIRST_BYTES_SHIFT, FIRST_SHIFT, READERS, SECOND_BYTES_SHIFT, SECOND_SHIFT, patterns};

/// For each code of bytes the bytes, for the hooks.
pub(crate) static RUNS: [u8; 64] = runs::BYTES;

use crate::driver::REFUSED;
use crate::layout::WORD_BYTES;
use crate::places::PlaceNumber;
use crate::shadow::{Cells, words as words_of};
use crate::spin::{Apart, Spin};
use crate::thread::Thread;
use crate::{telling, tls};
use keirin_core::analysis::Part;
use keirin_core::analysis::tasks::plain::KeepsPlain;
use keirin_core::analysis::tasks::{Block, Calls, Descent, Flagged, Order, Present, Questions};
use keirin_core::event::{AccessKind, Addr, Op, SiteId, StackId};
use keirin_core::family::History;
use keirin_core::finding::{Findings, Lineage, Moment, RawStep, Rule};
use keirin_core::lockset::LocksetId;
use keirin_core::sptree::labels::{LabelTable, Labels};
use keirin_core::sptree::verdicts::Verdicts;
use keirin_core::sptree::{Relation, Relations, StepId};
use keirin_core::tasks::{Actor, Hand, Known, Running, Slot, TaskState};
use order::Slots;
use origins::Origin;
use pending::{Pending, Run};
use plain::{Among, Answers, Done};
use possible::{Beside, Possible};
use recent::Recent;
use records::LockedWord;
use regions::Regions;
use sets::{OwnSets, Sets, SharedSets};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use words::{TaskWord, number_of};

/// What is kept for each task.
#[derive(Debug, Default)]
struct TaskData {
    history: History,
    /// What it knew beside the tree at earlier points of its step, each until a version of the history.
    known_before: Vec<(u32, Known)>,
    /// The number of its step as a region; 0 if nobody has asked for it.
    step_instance: u32,
    /// Open annotated blocks, and the outermost one.
    blocks: u32,
    block: Option<Block>,
    /// What a release fence has published, for later stores.
    fenced: Known,
    /// What loads without order have seen, for a later acquire fence.
    seen: Known,
    /// The token by which it has learned last, and what that was. Only compared: whether it is the same list.
    received: (usize, Known),
    origin: Origin,
    /// How often it has let others know what it did, since it was spawned.
    published: u32,
}

/// In a box, as a worker takes it over and gives it back.
impl TaskState for Box<TaskData> {
    fn renew(&mut self) {
        let TaskData { history, known_before, fenced, seen, received, .. } = &mut **self;
        history.renew();
        known_before.clear();
        (*fenced, *seen, *received) = Default::default();
        (self.step_instance, self.blocks, self.block) = (0, 0, None);
        (self.origin, self.published) = (0, 0);
    }
}

/// What a thread keeps of the task that it runs.
struct Worker {
    /// None: a thread that has done nothing outside of tasks.
    slot: Option<Slot>,
    /// All that it runs, and what lets it tell of tasks.
    running: Running,
    hand: Hand<Labels>,
    actor: Actor,
    step: StepId,
    /// What it does now goes into words without records.
    plain: bool,
    known: Known,
    data: Box<TaskData>,
    answers: Answers,
    among: Among,
    /// Which steps come before all that is still to come: answers that were given before.
    past: Answers,
    recent: Recent,
    pending: Pending,
    questions: Questions,
    flagged: Flagged,
    /// The innermost calls that are open, if they are known, and then the instruction.
    calls: Calls,
    code: u64,
    /// Made when they are needed.
    sets: Option<Box<OwnSets>>,
    /// The last locks that were asked about and exclude each other.
    exclusive: LocksetId,
    /// Words that were read under locks, and the places: see [`under_locks`].
    reads_under_locks: Vec<(usize, PlaceNumber)>,
    origins: origins::Asked,
    /// After so many sweeps the answers are void.
    sweeps: u32,
    /// The locks of the other side of a branch that is being told, if it takes or releases some.
    side: Option<History>,
    /// What was found where possible accesses are.
    beside: Beside,
}

/// What becomes of an access that cells are shown.
enum Look<'a, C> {
    /// It is compared with what is there, and kept.
    Keep(&'a mut Cells<C>),
    Compare(&'a Cells<C>),
}

/// What a thread keeps, for the one who stops all others.
#[derive(Clone, Copy, PartialEq, Eq)]
struct WorkerOf(*mut Worker);

// SAFETY: the pointer is followed only by the thread itself, or while that does nothing in the runtime.
unsafe impl Send for WorkerOf {}

/// Order beside the tree is expected: all accesses that it may concern are kept from the beginning.
static KEEP_ALL: AtomicBool = AtomicBool::new(false);

/// The driver of one analysis.
pub(crate) struct TaskDriver<A: KeepsPlain> {
    analysis: A,
    tasks: Apart<Slots>,
    /// The first hand, of which those of the threads are made.
    hand: Spin<Hand<Labels>>,
    labels: Arc<LabelTable>,
    sets: Apart<SharedSets>,
    /// What all threads keep.
    workers: Spin<Vec<WorkerOf>>,
    regions: Apart<Regions>,
    /// How often nothing but one task was left; and the last step that was found to be the only one, with all others waiting for it.
    era: AtomicU32,
    alone: AtomicU32,
    /// How often another step was found alone: see [`TaskDriver::note_alone`].
    phase: AtomicU32,
    /// The step that followed when all that was done before came before it, as long as nothing was spawned since. And whose hooks were told
    /// that they need not tell its accesses, to be told otherwise if a thread appears that nobody has forked.
    serial: Apart<AtomicU32>,
    tells_less: Spin<Option<tls::TellsLess>>,
    /// There is order beside the tree.
    keep_all: AtomicBool,
    /// Accesses were dropped since the last era began that would be needed if there were such order.
    dropped: AtomicBool,
    /// Steps that were given up because the table is full.
    overflown: AtomicU64,
    sweep: sweep::Gate,
    possible: Possible<A>,
}

/// Steps by their origins, for findings.
#[derive(Debug)]
struct Origins<'a>(&'a LabelTable);

impl Descent for Origins<'_> {
    fn lineage(&self, steps: &[StepId]) -> Option<Lineage> {
        let first = |step: StepId| steps.iter().position(|other| *other == step).unwrap_or(0);
        let tasks: Vec<(Origin, usize)> =
            steps.iter().map(|step| (self.0.tag(*step), first(*step))).collect();
        Some(origins::lineage(&tasks))
    }
}

impl<A: KeepsPlain + Sync> TaskDriver<A> {
    pub(crate) fn new(analysis: A) -> Self {
        let (tasks, hand) = Slots::new();
        let labels = Arc::clone(hand.structure().table());
        sweep::prepare();
        Self {
            analysis,
            tasks: Apart(tasks),
            hand: Spin::new(hand),
            labels,
            sets: Apart::default(),
            workers: Spin::default(),
            regions: Apart::default(),
            era: AtomicU32::new(0),
            alone: AtomicU32::new(StepId::NONE.0),
            phase: AtomicU32::new(0),
            serial: Apart(AtomicU32::new(StepId::NONE.0)),
            tells_less: Spin::default(),
            keep_all: AtomicBool::new(KEEP_ALL.load(Ordering::Relaxed)),
            dropped: AtomicBool::new(false),
            overflown: AtomicU64::new(0),
            sweep: sweep::Gate::default(),
            possible: Possible::default(),
        }
    }

    /// What the thread keeps of its task, and where its findings go. All that touches steps begins here: while steps are
    /// forgotten nobody else may.
    #[inline(always)]
    fn parts<'a>(&self, thread: &'a mut Thread) -> (&'a mut Worker, &'a mut Findings) {
        self.tell_pending(thread);
        self.at_gate(thread)
    }

    /// The same without telling what is pending.
    #[inline(always)]
    fn at_gate<'a>(&self, thread: &'a mut Thread) -> (&'a mut Worker, &'a mut Findings) {
        self.sweep.pass(thread);
        let (worker, findings) = Self::parts_at_once(thread);
        if worker.sweeps != self.sweep.count() {
            worker.sweeps = self.sweep.count();
            worker.answers.clear();
            worker.among.clear();
            worker.past.clear();
            worker.beside.steps_changed();
            worker.questions.verdicts.iter_mut().for_each(Verdicts::clear);
        }
        (worker, findings)
    }

    /// The same for who holds a lock, and has passed the gate before.
    #[inline(always)]
    fn parts_at_once(thread: &mut Thread) -> (&mut Worker, &mut Findings) {
        // SAFETY: `state` points to a box of this type, made in `new_thread`, which belongs to the thread and is not part of
        // what the other reference leads to.
        (unsafe { &mut *thread.state.cast::<Worker>() }, &mut thread.findings)
    }

    /// The same for an access. What is pending under locks may still come to nothing.
    #[inline(always)]
    fn accessing<'a>(&self, thread: &'a mut Thread) -> (&'a mut Worker, &'a mut Findings) {
        let worker = Self::parts_at_once(thread).0;
        if worker.slot.is_some() && !worker.plain {
            return self.at_gate(thread);
        }
        self.acting(thread)
    }

    /// The same, for something that the thread's task does.
    #[inline(always)]
    fn acting<'a>(&self, thread: &'a mut Thread) -> (&'a mut Worker, &'a mut Findings) {
        let id = thread.id;
        let (worker, findings) = self.parts(thread);
        if worker.slot.is_none() {
            let slot = self.tasks.acting(&mut worker.hand, &mut worker.running, id);
            let is_first = id.0 == 0 && self.tasks.counts().spawned == 0;
            self.set_serial(if is_first { self.tasks.step(slot) } else { StepId::NONE });
            self.take_up(worker, slot);
        }
        (worker, findings)
    }

    /// The running step is one while which nothing else can happen; or there is none.
    #[inline]
    fn set_serial(&self, step: StepId) {
        if self.serial.load(Ordering::Relaxed) != step.0 {
            self.serial.store(step.0, Ordering::Relaxed);
            if step == StepId::NONE
                && let Some(hooks) = self.tells_less.lock().take()
            {
                // SAFETY: who ends takes its own out of there before.
                unsafe { hooks.tell_all() };
            }
        }
    }

    /// The thread goes on with a task.
    fn take_up(&self, worker: &mut Worker, slot: Slot) {
        worker.slot = Some(slot);
        worker.actor = self.tasks.actor(slot);
        self.tasks.with_data(slot, |data| std::mem::swap(&mut worker.data, data));
        self.refresh(worker);
    }

    /// The thread leaves its task, for another one or for good.
    fn put_down(&self, worker: &mut Worker) {
        self.count_accesses(worker);
        if let Some(slot) = worker.slot.take() {
            self.tasks.with_data(slot, |data| std::mem::swap(&mut worker.data, data));
            worker.step = StepId::NONE;
        }
    }

    /// The task is at another step, or knows more.
    fn refresh(&self, worker: &mut Worker) {
        let Some(slot) = worker.slot else { return };
        let (step, known) = self.tasks.now(slot);
        if !(worker.known.is_empty() && known.is_empty()) {
            worker.known = known;
            worker.answers.clear();
        }
        if step != worker.step {
            worker.step = step;
            self.labels.set_tag(step, worker.data.origin);
        }
        self.tell_hooks(worker);
    }

    /// Tells the hooks which accesses of the running task need not be told.
    fn tell_hooks(&self, worker: &mut Worker) {
        worker.recent.next_turn();
        self.tell_hooks_of_turn(worker);
    }

    /// The same when nothing but the locks has changed, which were others before.
    fn tell_hooks_of_locks(&self, worker: &mut Worker, before: LocksetId) {
        if A::ONLY_RACES {
            worker.recent.other_locks(before, worker.data.history.locks());
        } else {
            worker.recent.next_turn();
        }
        self.tell_hooks_of_turn(worker);
    }

    fn tell_hooks_of_turn(&self, worker: &mut Worker) {
        worker.recent.tell_hooks();
        let told = worker.slot.is_some() && worker.step.0 < words::MOST_STEPS;
        worker.plain = told && self.is_plain(worker);
        tls::set_pending(if worker.plain { worker.pending.address() } else { Pending::none() });
        // What comes before a serial step comes before each of its accesses, and these come before all that follows: nobody can race with them, or
        // come in between.
        if told && self.is_serial(worker) && !self.analysis.minds_serial_steps() {
            *self.tells_less.lock() = Some(tls::TellsLess::of_this_thread());
            return tls::set_serial();
        }
        // What the step has done without locks it need not tell again under some, if that is all about races.
        let known = worker.plain || (told && A::ONLY_RACES && self.analysis.keeps_plain());
        tls::set_task(if known { number_of(worker.step) } else { 0 });
    }

    /// True if what the task does now is remembered alike by all analyses.
    #[inline(always)]
    fn is_plain(&self, worker: &Worker) -> bool {
        worker.data.history.locks().is_empty() && worker.data.block.is_none() && self.analysis.keeps_plain()
    }

    /// The task has come to another step.
    fn new_step(&self, worker: &mut Worker) {
        let data = &mut worker.data;
        data.history.cut();
        data.known_before.clear();
        self.regions.close(std::mem::take(&mut data.step_instance));
        if let Some(block) = &mut data.block {
            // The rest of an open block is another region.
            self.regions.close(block.instance);
            block.instance = self.regions.open();
        }
    }

    /// How a past step stands to the running one.
    #[inline(always)]
    fn relation(&self, worker: &mut Worker, past: StepId) -> Relation {
        if past == worker.step {
            return Relation::Before;
        }
        let Worker { answers, step, known, .. } = worker;
        answers.relation(past, *step, || {
            let relation = self.labels.relation(past, *step);
            if relation.is_parallel() && !known.is_empty() && known.covers(&*self.labels, past) {
                return Relation::Before;
            }
            relation
        })
    }

    /// True if a step precedes all that is still to come.
    fn is_past(&self, step: StepId) -> bool {
        let alone = StepId(self.alone.load(Ordering::Relaxed));
        alone.is_some() && (step == alone || self.labels.relation(step, alone) == Relation::Before)
    }

    /// The same; answers are remembered.
    #[inline]
    fn has_passed(&self, worker: &mut Worker, step: StepId) -> bool {
        let alone = StepId(self.alone.load(Ordering::Relaxed));
        let relation = worker.past.relation(step, alone, || match self.is_past(step) {
            true => Relation::Before,
            false => Relation::Right,
        });
        relation == Relation::Before
    }

    /// The cells of a word, without what need not be remembered any more.
    #[inline]
    fn cells_of<'a>(&self, worker: &mut Worker, locked: &'a mut LockedWord<'_, A>) -> &'a mut Cells<A::Cell> {
        let phase = self.phase.load(Ordering::Acquire);
        let record = locked.record();
        if record.phase != phase {
            record.phase = phase;
            let mut is_past = |step: StepId| self.has_passed(worker, step);
            for (_, cell) in record.cells.iter_mut() {
                A::forget_past(cell, &mut is_past, &*self.regions);
            }
        }
        &mut record.cells
    }

    /// An access that is not plain, or does not fit, of a part of a word, whose cells these are. `atomic`: it is an atomic operation. True if another one
    /// of the kind would tell and change nothing.
    fn access_in_full(
        &self,
        worker: &mut Worker,
        findings: &mut Findings,
        at: &RawStep,
        what: (AccessKind, usize, u8),
        atomic: bool,
        cells: &mut Cells<A::Cell>,
    ) -> bool {
        self.look_in_full(worker, findings, at, what, atomic, Look::Keep(cells))
    }

    /// The same, or the access is only compared.
    #[inline]
    fn look_in_full(
        &self,
        worker: &mut Worker,
        findings: &mut Findings,
        at: &RawStep,
        (kind, word, mask): (AccessKind, usize, u8),
        atomic: bool,
        look: Look<'_, A::Cell>,
    ) -> bool {
        if worker.step.0 >= words::MOST_STEPS {
            // There is no room for such a number in a word.
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        let needs_region = worker.data.block.is_some()
            || !worker.data.history.locks().is_empty()
            || !self.analysis.keeps_plain();
        if needs_region && worker.data.step_instance == 0 {
            worker.data.step_instance = self.regions.open();
        }
        worker.questions.keep_all = self.keep_all.load(Ordering::Relaxed);
        let origins = Origins(&self.labels);
        let holds_some = !worker.data.history.locks().is_empty();
        let mut sets = (atomic || (holds_some && !A::ONLY_RACES)).then(|| self.sets.lock());
        let (locksets, families) = match &mut sets {
            Some(sets) => {
                let Sets { locksets, families, .. } = &mut **sets;
                (locksets, families)
            }
            None => worker.sets.get_or_insert_default().up_to_date(&self.sets),
        };
        let data = &worker.data;
        let mut now = Present {
            at,
            actor: worker.actor,
            atomic,
            beside: worker.beside.is_on,
            order: Order::new(worker.step, &*self.labels, &worker.known, &mut worker.questions),
            locks: data.history.locks(),
            step_instance: data.step_instance,
            block: data.block,
            calls: worker.calls,
            code: worker.code,
            history: &data.history,
            known_before: &data.known_before,
            era: self.era.load(Ordering::Relaxed),
            open_regions: &*self.regions,
            descent: Some(&origins),
            locksets,
            families,
            flagged: &mut worker.flagged,
        };
        let mut nothing_new = true;
        match look {
            Look::Keep(cells) => cells.touch(mask, |cell, covered| {
                let Some((part, rest)) = parts_of(kind, word, (covered, mask)) else { return };
                let before = now.flagged.ranges().len();
                nothing_new &= self.analysis.access(&mut now, cell, part, findings);
                flag_rest(now.flagged, before, rest);
            }),
            Look::Compare(cells) => {
                for (bytes, cell) in cells.iter() {
                    let Some((part, rest)) = parts_of(kind, word, (bytes & mask, mask)) else { continue };
                    let before = now.flagged.ranges().len();
                    self.analysis.compare(&mut now, cell, part, findings);
                    flag_rest(now.flagged, before, rest);
                }
            }
        }
        drop(sets);
        if worker.questions.dropped.take() {
            self.dropped.store(true, Ordering::Relaxed);
        }
        nothing_new
    }

    /// The place of an access.
    fn place_of(thread: &mut Thread, size: usize, pc: usize) -> PlaceNumber {
        // The size of a range varies from one time to the next; as part of the place it would make many of one.
        thread.place(pc, if size <= 16 { size as u32 } else { 0 })
    }

    /// A plain access of any size.
    fn access_range(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
        if thread.ignoring > 0 {
            return;
        }
        let told_size = u32::try_from(size).unwrap_or(u32::MAX);
        let place = Self::place_of(thread, size, pc);
        thread.note_stack(addr);
        let op = Op::Access { kind, size: told_size, addr: Addr(addr as u64) };
        let at = step(thread, op, place);
        let calls = thread.innermost_calls();
        let (worker, findings) = self.accessing(thread);
        worker.calls = calls;
        worker.code = if calls[0] == 0 { 0 } else { pc as u64 };
        let plain = self.is_plain(worker) && worker.step.0 < words::MOST_STEPS;
        let run = Run::of_many(kind, told_size, place);
        let mut nothing_new = true;
        let (mut next, end) = (addr, addr + size);
        while next < end {
            if plain && next.is_multiple_of(WORD_BYTES) && end - next >= WORD_BYTES {
                let from = next;
                next = self.whole_accesses(worker, &run, (next, end & !(WORD_BYTES - 1)));
                if self.possible.is_any() {
                    for (word, mask) in words_of(from, next - from) {
                        self.meet_possible(worker, findings, &at, (kind, word, mask), false);
                    }
                }
                if next == end & !(WORD_BYTES - 1) {
                    continue;
                }
            }
            let from = next;
            next = end.min((next | (WORD_BYTES - 1)) + 1);
            let Some((word, mask)) = words_of(from, next - from).next() else { break };
            let done = if plain {
                self.plain_access(worker, kind, (word, mask), &mut || place)
            } else if mask == 0xff {
                self.access_under_locks(worker, kind, word, place)
            } else {
                Done::No
            };
            if done == Done::No {
                let Some(mut locked) = TaskWord::of(word).lock::<A>(word, self.era.load(Ordering::Relaxed))
                else {
                    REFUSED.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                let cells = self.cells_of(worker, &mut locked);
                nothing_new &= self.access_in_full(worker, findings, &at, (kind, word, mask), false, cells);
                locked.settle_after((kind, word, mask), |step| self.is_past(step));
            }
            if self.possible.is_any() {
                self.meet_possible(worker, findings, &at, (kind, word, mask), false);
            }
        }
        if nothing_new && size <= 16 {
            worker.recent.add(kind, addr, size);
        }
        self.after(thread);
    }

    /// Tells new findings, if the last operation brought some.
    #[inline]
    fn after(&self, thread: &mut Thread) {
        if thread.findings.list().len() > thread.told.len() {
            telling::new_findings(self, thread);
        }
    }
}

/// The first stretch of the bytes of a word that an access covers, of all that it is about, and the others: a cell may be about bytes with others
/// between them.
#[inline]
fn parts_of(
    kind: AccessKind,
    word: usize,
    (covered, all): (u8, u8),
) -> Option<(Part, impl Iterator<Item = (Addr, u32)>)> {
    let mut runs = runs::of(covered).map(move |(first, size)| (Addr((word + first) as u64), size));
    let (addr, size) = runs.next()?;
    Some((Part { kind, addr, size, whole: covered == all }, runs))
}

/// What was flagged of the first stretch since then is flagged of the others.
#[inline]
fn flag_rest(flagged: &mut Flagged, before: usize, rest: impl Iterator<Item = (Addr, u32)>) {
    if flagged.ranges().len() > before {
        let rules: Vec<Rule> = flagged.ranges()[before..].iter().map(|range| range.2).collect();
        rest.for_each(|(addr, size)| rules.iter().for_each(|rule| flagged.add(addr, size, *rule)));
    }
}

/// The operation that happens now.
fn step(thread: &Thread, op: Op, place: u32) -> RawStep {
    let moment =
        Moment { position: thread.accesses, thread: thread.id, site: SiteId(place), stack: StackId::NONE };
    RawStep { moment, op }
}
