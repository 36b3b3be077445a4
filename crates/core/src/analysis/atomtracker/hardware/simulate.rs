//! A trace drives the machine: one with the detector, and one without it for comparison.
//!
//! | event | machine | detector |
//! |---|---|---|
//! | begin of a region | `atomic_enter`: fence, FirstAccess bits in use | a region with empty sets |
//! | access | its lines, one after the other | those that can be seen, if the thread is in a region |
//! | end of a region | `atomic_exit`: fence, FirstAccess bits cleared | the region ends |
//! | lock, fork, join, barrier, condition | a line of the lock; time | nothing |
//!
//! Where regions begin and end says [`Follow`](crate::analysis::atomtracker::follow::Follow): an entry inside of a region, and an
//! exit that does not belong to it, have no effect, and after too many of the latter the region is over.

use super::Configuration;
use super::clock::{Clocks, Cost};
use super::coherence::Caches;
use super::detector::{Alarm, Detector, Exact, Instance, Piece, Place};
use super::signature::Signature;
use crate::event::{AccessKind, Addr, Event, LockId, Op, RegionId, SiteId, ThreadId};
use crate::shadow::words;
use crate::trace::{Batch, MAX_THREADS, Source, TraceError};
use rustc_hash::{FxHashMap, FxHashSet};

/// Locks have lines of their own in the model: their addresses are not in the trace.
const LOCKS: u64 = 1 << 60;

/// What synchronizes, as far as time goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Meeting {
    Lock(LockId),
    Condition(u32),
    Barrier(u32),
    Token(u64),
    Address(u64),
    Thread(ThreadId),
}

/// A multicore in the course of a run.
#[derive(Debug)]
struct Machine {
    caches: Caches,
    clocks: Clocks,
    /// Which thread each core runs.
    running: Vec<ThreadId>,
    /// When something was last published.
    published: FxHashMap<Meeting, u64>,
}

impl Machine {
    fn new(configuration: &Configuration) -> Self {
        Self {
            caches: Caches::new(configuration),
            clocks: Clocks::new(configuration),
            running: vec![ThreadId::NONE; configuration.cores as usize],
            published: FxHashMap::default(),
        }
    }

    /// The core of a thread, which it runs from now on.
    fn core(&mut self, thread: ThreadId) -> usize {
        let core = thread.index() % self.running.len();
        if self.running[core] != thread {
            self.running[core] = thread;
            self.caches.clear_first_accesses(core);
        }
        core
    }

    /// One line is accessed. True if the detector could see it.
    fn access(&mut self, thread: ThreadId, line: u64, kind: AccessKind, watched: bool) -> bool {
        let core = self.core(thread);
        let served = self.caches.access(core, line, kind, watched);
        self.clocks.access(core, &served);
        served.is_visible()
    }

    /// A region begins or ends.
    fn cross(&mut self, thread: ThreadId) {
        let core = self.core(thread);
        self.clocks.fence(core);
        self.caches.clear_first_accesses(core);
    }

    fn publish(&mut self, thread: ThreadId, meeting: Meeting) {
        let core = self.core(thread);
        let now = self.clocks.now(core);
        let last = self.published.entry(meeting).or_default();
        *last = now.max(*last);
    }

    fn await_published(&mut self, thread: ThreadId, meeting: Meeting) {
        let core = self.core(thread);
        if let Some(&moment) = self.published.get(&meeting) {
            self.clocks.wait_until(core, moment);
        }
    }
}

/// What the run of a machine with the detector has shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Simulated {
    /// Events of the trace, without beginnings and ends of regions.
    pub events: u64,
    /// Accesses, plain and atomic.
    pub accesses: u64,
    /// Regions that were entered.
    pub regions: u64,
    /// What the run costs on the machine without the detector.
    pub plain: Cost,
    /// The same with it.
    pub watched: Cost,
    /// Alarms of exact software.
    pub software: Vec<Alarm>,
    /// Alarms of hardware with a buffer that never ends.
    pub unbounded: Vec<Alarm>,
    /// Alarms of hardware with signatures.
    pub signatures: Vec<Alarm>,
    /// How often a region found all shadows of its thread in use.
    pub shared_shadows: u64,
}

/// Where an alarm of the hardware comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// Exact software says the same.
    Real,
    /// Two regions use different bytes of one line.
    FalseSharing,
    /// An address that is not there looks as if it were in a signature.
    Aliasing,
    /// Two regions have shared a shadow.
    SharedShadow,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Real, Self::FalseSharing, Self::Aliasing, Self::SharedShadow];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "in software as well",
            Self::FalseSharing => "false sharing",
            Self::Aliasing => "aliasing",
            Self::SharedShadow => "shared shadows",
        }
    }
}

impl Simulated {
    /// Where each alarm of the signatures comes from.
    pub fn origins(&self) -> Vec<Origin> {
        let pairs = |alarms: &[Alarm]| -> FxHashSet<(u64, u64)> { alarms.iter().flat_map(pairs).collect() };
        let (software, unbounded) = (pairs(&self.software), pairs(&self.unbounded));
        let origin = |alarm: &Alarm| {
            let told_by = |told: &FxHashSet<(u64, u64)>| self::pairs(alarm).any(|pair| told.contains(&pair));
            if told_by(&software) {
                Origin::Real
            } else if told_by(&unbounded) {
                Origin::FalseSharing
            } else if alarm.others.len() > 1 {
                Origin::SharedShadow
            } else {
                Origin::Aliasing
            }
        };
        self.signatures.iter().map(origin).collect()
    }
}

/// How many pairs of regions of the program some alarms are about, each counted once.
pub fn different(alarms: &[Alarm]) -> usize {
    let regions = alarms.iter().flat_map(|alarm| {
        let acting = alarm.acting.region;
        alarm.others.iter().map(move |other| (acting.min(other.region), acting.max(other.region)))
    });
    regions.collect::<FxHashSet<_>>().len()
}

/// The pairs of executions of regions that an alarm may mean.
fn pairs(alarm: &Alarm) -> impl Iterator<Item = (u64, u64)> {
    let acting = alarm.acting.number;
    alarm.others.iter().map(move |other| (acting.min(other.number), acting.max(other.number)))
}

/// The state of a simulation, for callers that bring the events themselves.
#[derive(Debug)]
pub struct Simulator {
    line: u64,
    threads: Vec<Thread>,
    plain: Machine,
    watched: Machine,
    software: Detector<Exact>,
    unbounded: Detector<Exact>,
    signatures: Detector<Signature>,
    events: u64,
    accesses: u64,
    regions: u64,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    started: bool,
    /// In how many regions it is.
    depth: u32,
    ignoring: u32,
}

impl Thread {
    /// The region that the next access belongs to.
    fn place(&self, thread: ThreadId) -> Option<Place> {
        self.depth.checked_sub(1).map(|depth| Place { thread, depth })
    }
}

impl Simulator {
    /// A machine at rest. An error says what is wrong with the configuration.
    pub fn new(configuration: &Configuration) -> Result<Self, String> {
        configuration.check()?;
        Ok(Self {
            line: u64::from(configuration.line),
            threads: Vec::new(),
            plain: Machine::new(configuration),
            watched: Machine::new(configuration),
            software: Detector::unbounded(),
            unbounded: Detector::unbounded(),
            signatures: Detector::with_signatures(configuration.signature, configuration.shadows),
            events: 0,
            accesses: 0,
            regions: 0,
        })
    }

    fn both(&mut self, mut act: impl FnMut(&mut Machine)) {
        act(&mut self.plain);
        act(&mut self.watched);
    }

    /// The next event of the run.
    pub fn event(&mut self, position: u64, event: &Event) {
        let (thread, site) = (event.thread, event.site);
        let at = thread.index();
        if at >= MAX_THREADS as usize {
            return;
        }
        // Beginnings and ends of regions are made up.
        self.events += u64::from(!matches!(event.op, Op::Begin { .. } | Op::End));
        if self.threads.len() <= at {
            self.threads.resize(at + 1, Thread::default());
        }
        if !std::mem::replace(&mut self.threads[at].started, true) {
            self.both(|machine| machine.await_published(thread, Meeting::Thread(thread)));
        }
        match event.op {
            Op::Begin { region } => self.begin(thread, region),
            Op::End => self.end(thread),
            Op::Access { kind, size, addr } => {
                self.accesses += 1;
                if self.threads[at].ignoring == 0 {
                    self.access(thread, (position, site), kind, addr, size);
                }
            }
            Op::Atomic { kind, order, size, addr } => {
                self.accesses += 1;
                let meeting = Meeting::Address(addr.0);
                if order.acquires() {
                    self.both(|machine| machine.await_published(thread, meeting));
                }
                self.access(thread, (position, site), kind.access_kind(), addr, u32::from(size));
                if order.releases() {
                    self.both(|machine| machine.publish(thread, meeting));
                }
            }
            Op::Acquire { lock, .. } => {
                let line = (LOCKS / self.line) + u64::from(lock.0);
                self.both(|machine| {
                    machine.await_published(thread, Meeting::Lock(lock));
                    machine.access(thread, line, AccessKind::Write, false);
                });
            }
            Op::Release { lock, .. } => {
                let line = (LOCKS / self.line) + u64::from(lock.0);
                self.both(|machine| {
                    machine.access(thread, line, AccessKind::Write, false);
                    machine.publish(thread, Meeting::Lock(lock));
                });
            }
            Op::Fork { child } => self.both(|machine| machine.publish(thread, Meeting::Thread(child))),
            Op::Join { child } => {
                self.both(|machine| machine.await_published(thread, Meeting::Thread(child)))
            }
            Op::Notify { condition, .. } => {
                self.both(|machine| machine.publish(thread, Meeting::Condition(condition.0)));
            }
            Op::Wait { condition } => {
                self.both(|machine| machine.await_published(thread, Meeting::Condition(condition.0)));
            }
            Op::BarrierArrive { barrier } => {
                self.both(|machine| machine.publish(thread, Meeting::Barrier(barrier.0)));
            }
            Op::BarrierLeave { barrier } => {
                self.both(|machine| machine.await_published(thread, Meeting::Barrier(barrier.0)));
            }
            Op::HappensBefore { token } => {
                self.both(|machine| machine.publish(thread, Meeting::Token(token)))
            }
            Op::HappensAfter { token } => {
                self.both(|machine| machine.await_published(thread, Meeting::Token(token)));
            }
            Op::ThreadEnd => self.both(|machine| machine.publish(thread, Meeting::Thread(thread))),
            Op::IgnoreBegin => self.threads[at].ignoring += 1,
            Op::IgnoreEnd => {
                let ignoring = &mut self.threads[at].ignoring;
                *ignoring = ignoring.saturating_sub(1);
            }
            _ => {}
        }
    }

    fn begin(&mut self, thread: ThreadId, region: RegionId) {
        let depth = &mut self.threads[thread.index()].depth;
        let instance = Instance { number: self.regions, thread, depth: *depth, region };
        *depth += 1;
        self.regions += 1;
        self.software.enter(instance);
        self.unbounded.enter(instance);
        self.signatures.enter(instance);
        self.watched.cross(thread);
    }

    fn end(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        let Some(place) = state.place(thread) else { return };
        state.depth -= 1;
        self.software.exit(place);
        self.unbounded.exit(place);
        self.signatures.exit(place);
        self.watched.cross(thread);
    }

    fn access(&mut self, thread: ThreadId, moment: (u64, SiteId), kind: AccessKind, addr: Addr, size: u32) {
        let place = self.threads[thread.index()].place(thread);
        if let Some(place) = place {
            for (word, bytes) in words(addr, size) {
                let piece = Piece { number: word, parts: bytes };
                self.software.access(place, moment, kind, piece, word * 8);
            }
        }
        let last = addr.0.saturating_add(u64::from(size.max(1)) - 1);
        for line in addr.0 / self.line..=last / self.line {
            self.plain.access(thread, line, kind, false);
            let visible = self.watched.access(thread, line, kind, place.is_some());
            if let Some(place) = place.filter(|_| visible) {
                let piece = Piece { number: line, parts: u8::MAX };
                self.unbounded.access(place, moment, kind, piece, line * self.line);
                self.signatures.access(place, moment, kind, piece, line * self.line);
            }
        }
    }

    /// The end of the run.
    pub fn finish(self) -> Simulated {
        let (software, _) = self.software.finish();
        let (unbounded, _) = self.unbounded.finish();
        let (signatures, shared_shadows) = self.signatures.finish();
        Simulated {
            events: self.events,
            accesses: self.accesses,
            regions: self.regions,
            plain: self.plain.clocks.cost(),
            watched: self.watched.clocks.cost(),
            software,
            unbounded,
            signatures,
            shared_shadows,
        }
    }
}

/// Feeds a whole trace, with the beginnings and ends of regions, to a simulator. `progress` is called now and then with how much of the source has been consumed.
pub fn simulate(
    source: &mut dyn Source,
    simulator: &mut Simulator,
    mut progress: impl FnMut(u64),
) -> Result<(), TraceError> {
    let mut batch = Batch::new();
    loop {
        let more = source.fill(&mut batch)?;
        for (position, event) in batch.iter() {
            simulator.event(position, event);
        }
        if !more {
            return Ok(());
        }
        progress(source.consumed());
    }
}

#[cfg(test)]
mod tests;
