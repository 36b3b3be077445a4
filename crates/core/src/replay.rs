//! The offline driver: feeds a recorded run to an analysis, in one pass.
//!
//! It owns all state that belongs to threads, memory and locks, checks that the order of the events can have happened,
//! and interns call stacks. Memory is bounded by what is live in the run (locations, locks, threads, stacks), not by its
//! length.

mod faults;
pub mod tasks;
mod threads;

pub use faults::{Fault, Repairs};

use crate::analysis::tasks::Flagged;
use crate::analysis::{Analysis, AtomicOperation, Part, Statistic};
use crate::event::{BarrierId, Event, LockId, Op, RegionId, StackId, ThreadId};
use crate::finding::{Findings, Moment, RawFinding, RawStep};
use crate::shadow::Shadow;
use crate::stack::{Frame, Stacks};
use crate::tasks::Actor;
use crate::trace::{Batch, Source, TraceError};
use rustc_hash::{FxHashMap, FxHashSet};
pub use threads::{Barrier, Lock};
use threads::{Locks, ThreadSlot, Threads};

/// How a run is replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReplayOptions {
    /// Repair what cannot have happened, and count it, instead of giving up.
    pub lenient: bool,
    /// Analyses of tasks keep all accesses that are not ordered, because there is order beside the tree.
    pub keep_all: bool,
}

/// How much was watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Events of any kind.
    pub events: u64,
    /// Accesses, plain and atomic.
    pub accesses: u64,
    /// Threads that did something or were forked.
    pub threads: u64,
    /// Locks that were used.
    pub locks: u64,
    /// Acquires and releases of locks that the thread held anyway; the analyses do not see them.
    pub reentrant: u64,
    /// Tasks that were spawned.
    pub tasks: u64,
    /// Events that the analysis does not use: tasks, branches, loops, annotations of other analyses.
    pub unused: u64,
}

/// What a replay gives.
#[derive(Debug)]
pub struct Outcome {
    /// The findings in the order in which they were first seen.
    pub findings: Vec<RawFinding>,
    /// How many sightings of further findings were not kept, because there were too many.
    pub dropped: u64,
    /// The call stacks that the findings refer to.
    pub stacks: Stacks,
    /// How much was watched.
    pub counts: Counts,
    /// What had to be repaired.
    pub repairs: Repairs,
    /// The labels of the regions that were entered.
    pub regions: Vec<RegionId>,
    /// Memory about which an analysis of tasks has something to tell.
    pub flagged: Flagged,
    /// Order beside the tree came when accesses had already been dropped: to be exact, the run must be replayed with
    /// [`ReplayOptions::keep_all`].
    pub needs_all: bool,
    /// Figures about the work of the driver.
    pub statistics: Vec<Statistic>,
}

/// Feeds a whole trace to an analysis. `progress` is called now and then with how much of the source has been
/// consumed.
pub fn replay<A: Analysis>(
    source: &mut dyn Source,
    analysis: &A,
    options: ReplayOptions,
    progress: impl FnMut(u64),
) -> Result<Outcome, TraceError> {
    let mut passes = [Checker::start(analysis, options)];
    replay_passes(source, &mut passes, progress)?;
    let [pass] = passes;
    Ok(pass.finish())
}

/// A replay whose analysis is not known to the caller. Calls are per batch, so that they cost nothing.
pub trait Pass {
    /// The next events. `incomplete_from` is the position from which on events may be missing. An error has the position
    /// of an event that cannot have happened there.
    fn batch(&mut self, batch: &Batch, incomplete_from: u64) -> Result<(), (u64, Fault)>;

    /// True if no further event can change the result.
    fn is_decided(&self) -> bool;

    /// The end of the run.
    fn finish(self: Box<Self>) -> Outcome;
}

/// An analysis, or several in one pass, whose type is not known to the caller.
pub trait Checker {
    /// Starts a pass over a trace.
    fn start(&self, options: ReplayOptions) -> Box<dyn Pass + '_>;

    /// See [`Analysis::wants_blame`].
    fn wants_blame(&self) -> bool;

    /// See [`Analysis::statistics`].
    fn statistics(&self) -> Vec<Statistic>;
}

impl<A: Analysis> Checker for A {
    fn start(&self, options: ReplayOptions) -> Box<dyn Pass + '_> {
        Box::new(Replay::new(self, options))
    }

    fn wants_blame(&self) -> bool {
        Analysis::wants_blame(self)
    }

    fn statistics(&self) -> Vec<Statistic> {
        Analysis::statistics(self)
    }
}

/// Feeds a whole trace to several passes at once: it is read once, batch by batch.
pub fn replay_passes(
    source: &mut dyn Source,
    passes: &mut [Box<dyn Pass + '_>],
    mut progress: impl FnMut(u64),
) -> Result<(), TraceError> {
    let mut batch = Batch::new();
    loop {
        let more = source.fill(&mut batch)?;
        let incomplete_from = source.loss().map_or(u64::MAX, |loss| loss.incomplete_from);
        for pass in passes.iter_mut().filter(|pass| !pass.is_decided()) {
            pass.batch(&batch, incomplete_from).map_err(|(position, fault)| TraceError::Order {
                unit: source.unit().noun(),
                position,
                message: fault.message(source.tables()),
            })?;
        }
        if !more || passes.iter().all(|pass| pass.is_decided()) {
            return Ok(());
        }
        progress(source.consumed());
    }
}

impl<A: Analysis> Pass for Replay<'_, A> {
    fn batch(&mut self, batch: &Batch, incomplete_from: u64) -> Result<(), (u64, Fault)> {
        self.incomplete_from = incomplete_from;
        for (first, events) in batch.runs() {
            for (position, event) in (first..).zip(events) {
                self.step(position, event).map_err(|fault| (position, fault))?;
            }
            if let Some(event) = events.last() {
                self.note_last(first + events.len() as u64 - 1, event);
            }
        }
        Ok(())
    }

    fn is_decided(&self) -> bool {
        self.analysis.is_decided()
    }

    fn finish(self: Box<Self>) -> Outcome {
        Replay::finish(*self)
    }
}

/// The state of a replay, for callers that bring the events themselves.
#[derive(Debug)]
pub struct Replay<'a, A: Analysis> {
    analysis: &'a A,
    options: ReplayOptions,
    /// From here on events may be missing, so that what looks impossible is repaired.
    incomplete_from: u64,
    threads: Threads<A::Thread>,
    shadow: Shadow<A::Cell>,
    locks: Locks<A::Sync, ThreadId>,
    conditions: FxHashMap<u32, A::Sync>,
    tokens: FxHashMap<u64, A::Sync>,
    barriers: FxHashMap<BarrierId, Barrier<A::Sync>>,
    stacks: Stacks,
    findings: Findings,
    counts: Counts,
    repairs: Repairs,
    regions: EnteredRegions,
    /// The latest event.
    last: Moment,
}

impl<'a, A: Analysis> Replay<'a, A> {
    /// A replay that has seen nothing yet.
    pub fn new(analysis: &'a A, options: ReplayOptions) -> Self {
        Self {
            analysis,
            options,
            incomplete_from: u64::MAX,
            threads: Threads::default(),
            shadow: Shadow::new(),
            locks: Locks::default(),
            conditions: FxHashMap::default(),
            tokens: FxHashMap::default(),
            barriers: FxHashMap::default(),
            stacks: Stacks::new(),
            findings: Findings::new(),
            counts: Counts::default(),
            repairs: Repairs::default(),
            regions: EnteredRegions::default(),
            last: Moment::default(),
        }
    }

    /// What was found so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The end of the run.
    pub fn finish(mut self) -> Outcome {
        self.analysis.end_of_run(self.last, &mut self.findings);
        self.counts.threads = self.threads.known();
        self.counts.locks = self.locks.used();
        Outcome {
            dropped: self.findings.dropped(),
            findings: self.findings.into_list(),
            stacks: self.stacks,
            counts: self.counts,
            repairs: self.repairs,
            regions: self.regions.list(),
            flagged: Flagged::default(),
            needs_all: false,
            statistics: Vec::new(),
        }
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

    /// The next event of the run. An error is an order that cannot have happened and was not repaired.
    pub fn event(&mut self, position: u64, event: &Event) -> Result<(), Fault> {
        self.note_last(position, event);
        self.step(position, event)
    }

    fn note_last(&mut self, position: u64, event: &Event) {
        self.last = Moment { position, thread: event.thread, site: event.site, stack: StackId::NONE };
    }

    // Called for every event from one loop for each analysis; as a call of its own it costs some per cent.
    #[inline(always)]
    fn step(&mut self, position: u64, event: &Event) -> Result<(), Fault> {
        self.counts.events += 1;
        let slot = match self.threads.acting(event.thread) {
            Ok(slot) => slot,
            Err(fault) => return self.fault(position, fault),
        };
        let moment = Moment { position, thread: event.thread, site: event.site, stack: slot.stack };
        let at = RawStep { moment, op: event.op };
        let analysis = self.analysis;
        match event.op {
            Op::Access { kind, size, addr } => {
                self.counts.accesses += 1;
                if slot.ignoring > 0 || !A::WATCHES_MEMORY {
                    return Ok(());
                }
                let findings = &mut self.findings;
                let total = size;
                self.shadow.touch(addr, size, |cell, addr, size| {
                    let part = Part { kind, addr, size, whole: size == total };
                    analysis.access(&at, &mut slot.state, cell, part, findings);
                });
                Ok(())
            }
            Op::Atomic { kind, order, size, addr } => {
                self.counts.accesses += 1;
                if !A::WATCHES_MEMORY {
                    return Ok(());
                }
                let findings = &mut self.findings;
                let operation = AtomicOperation { kind, order };
                let total = u32::from(size);
                let mut split = false;
                self.shadow.touch(addr, total, |cell, addr, size| {
                    if size == total {
                        let part = Part { kind: kind.access_kind(), addr, size, whole: true };
                        analysis.atomic(&at, &mut slot.state, cell, part, operation, findings);
                    } else {
                        split = true;
                        analysis.before_atomic_parts(&at, &mut slot.state, cell, operation);
                    }
                });
                if split {
                    // The cells are the same ones now, for they are split already.
                    self.shadow.touch(addr, total, |cell, addr, size| {
                        let part = Part { kind: kind.access_kind(), addr, size, whole: false };
                        analysis.atomic(&at, &mut slot.state, cell, part, operation, findings);
                    });
                }
                Ok(())
            }
            Op::Begin { region } => {
                slot.regions += 1;
                self.regions.note(region);
                analysis.begin(&at, &mut slot.state, region, &mut self.findings);
                Ok(())
            }
            Op::End => {
                if slot.regions == 0 {
                    return self.fault(position, Fault::EndWithoutBegin(event.thread));
                }
                slot.regions -= 1;
                analysis.end(&at, &mut slot.state, &mut self.findings);
                Ok(())
            }
            Op::Acquire { .. } | Op::Release { .. } => self.lock_event(&at),
            _ => self.rare_event(&at),
        }
    }

    fn lock_event(&mut self, at: &RawStep) -> Result<(), Fault> {
        let (position, thread) = (at.moment.position, at.moment.thread);
        let analysis = self.analysis;
        match at.op {
            Op::Acquire { lock: id, mode } => {
                if let Some(holder) = self.locks.get(id).conflicting_holder(thread, mode) {
                    let (holder, acting) = (Actor::Thread(holder), Actor::Thread(thread));
                    self.fault(position, Fault::LockHeld { lock: id, holder, acting })?;
                    self.make_up_releases(at, id);
                }
                let lock = self.locks.get(id);
                if !lock.acquire(thread, mode) {
                    self.counts.reentrant += 1;
                } else {
                    let slot = self.threads.slot(thread);
                    analysis.acquire(at, &mut slot.state, &mut lock.sync, mode, &mut self.findings);
                }
                Ok(())
            }
            Op::Release { lock: id, mode } => {
                let lock = self.locks.get(id);
                match lock.release(thread, mode) {
                    Some(true) => {
                        let slot = self.threads.slot(thread);
                        analysis.release(at, &mut slot.state, &mut lock.sync, mode, &mut self.findings);
                        Ok(())
                    }
                    Some(false) => {
                        self.counts.reentrant += 1;
                        Ok(())
                    }
                    None => {
                        let acting = Actor::Thread(thread);
                        self.fault(position, Fault::LockNotHeld { lock: id, mode, acting })
                    }
                }
            }
            _ => Ok(()),
        }
    }

    /// The releases that must have come before an acquire are missing from the trace.
    #[cold]
    fn make_up_releases(&mut self, at: &RawStep, id: LockId) {
        let lock = self.locks.get(id);
        for (thread, mode) in lock.take_holders() {
            let moment = Moment { thread, ..at.moment };
            let release = RawStep { moment, op: Op::Release { lock: id, mode } };
            let slot = self.threads.slot(thread);
            self.analysis.release(&release, &mut slot.state, &mut lock.sync, mode, &mut self.findings);
        }
    }

    fn rare_event(&mut self, at: &RawStep) -> Result<(), Fault> {
        let Moment { position, thread, site, stack } = at.moment;
        let analysis = self.analysis;
        let findings = &mut self.findings;
        match at.op {
            Op::Fork { child } => {
                match self.threads.fork(thread, child) {
                    Ok((slot, child)) => analysis.fork(at, &mut slot.state, &mut child.state, findings),
                    Err(fault) => return self.fault(position, fault),
                }
                Ok(())
            }
            Op::Join { child } => {
                match self.threads.join(thread, child) {
                    Ok((slot, child)) => analysis.join(at, &mut slot.state, &mut child.state, findings),
                    Err(fault) => return self.fault(position, fault),
                }
                Ok(())
            }
            Op::ThreadEnd => {
                self.threads.end(thread);
                Ok(())
            }
            Op::Wait { condition } => {
                let sync = self.conditions.entry(condition.0).or_default();
                analysis.receive(at, &mut self.threads.slot(thread).state, sync, findings);
                Ok(())
            }
            Op::Notify { condition, .. } => {
                let sync = self.conditions.entry(condition.0).or_default();
                analysis.signal(at, &mut self.threads.slot(thread).state, sync, findings);
                Ok(())
            }
            Op::HappensBefore { token } => {
                let sync = self.tokens.entry(token).or_default();
                analysis.signal(at, &mut self.threads.slot(thread).state, sync, findings);
                Ok(())
            }
            Op::HappensAfter { token } => {
                let sync = self.tokens.entry(token).or_default();
                analysis.receive(at, &mut self.threads.slot(thread).state, sync, findings);
                Ok(())
            }
            Op::BarrierArrive { barrier } => {
                let state = self.barriers.entry(barrier).or_default();
                match state.arrive(thread) {
                    Some(sync) => {
                        analysis.signal(at, &mut self.threads.slot(thread).state, sync, findings);
                        Ok(())
                    }
                    None => self.fault(position, Fault::ArrivedTwice { barrier, thread }),
                }
            }
            Op::BarrierLeave { barrier } => {
                let state = self.barriers.entry(barrier).or_default();
                match state.leave(thread) {
                    Some(sync) => {
                        analysis.receive(at, &mut self.threads.slot(thread).state, sync, findings);
                        state.drop_finished();
                        Ok(())
                    }
                    None => self.fault(position, Fault::LeaveWithoutArrive { barrier, thread }),
                }
            }
            Op::Call { function } => {
                self.threads.slot(thread).stack =
                    self.stacks.push(stack, Frame { function, call_site: site });
                Ok(())
            }
            Op::Return => {
                if stack == StackId::NONE {
                    return self.fault(position, Fault::ReturnWithoutCall(thread));
                }
                self.threads.slot(thread).stack = self.stacks.caller(stack);
                Ok(())
            }
            Op::Alloc { size, addr } | Op::Free { size, addr } => {
                self.shadow.forget(addr, size);
                Ok(())
            }
            Op::IgnoreBegin => {
                self.threads.slot(thread).ignoring += 1;
                Ok(())
            }
            Op::IgnoreEnd => {
                let slot: &mut ThreadSlot<_> = self.threads.slot(thread);
                if slot.ignoring == 0 {
                    return self.fault(position, Fault::IgnoreEndWithoutBegin(thread));
                }
                slot.ignoring -= 1;
                Ok(())
            }
            Op::Fence { order } => {
                analysis.fence(at, &mut self.threads.slot(thread).state, order, findings);
                Ok(())
            }
            _ => {
                self.counts.tasks += u64::from(matches!(at.op, Op::Spawn { .. }));
                self.counts.unused += 1;
                Ok(())
            }
        }
    }
}

/// The labels of the regions that were entered.
#[derive(Debug, Default)]
struct EnteredRegions {
    small: Vec<bool>,
    large: FxHashSet<RegionId>,
}

impl EnteredRegions {
    /// Labels are small numbers unless they come from functions or from a strange trace.
    const SMALL: usize = 1 << 16;

    #[inline]
    fn note(&mut self, region: RegionId) {
        match self.small.get_mut(region.index()) {
            Some(entered) => *entered = true,
            None => self.note_new(region),
        }
    }

    fn note_new(&mut self, region: RegionId) {
        if region.index() < Self::SMALL {
            self.small.resize(region.index() + 1, false);
            self.small[region.index()] = true;
        } else {
            self.large.insert(region);
        }
    }

    fn list(&self) -> Vec<RegionId> {
        let small = self.small.iter().enumerate().filter(|(_, entered)| **entered);
        let mut regions: Vec<RegionId> = small.map(|(index, _)| RegionId(index as u32)).collect();
        regions.extend(&self.large);
        regions.sort_unstable();
        regions
    }
}
