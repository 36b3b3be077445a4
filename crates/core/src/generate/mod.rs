//! Random traces, to measure with and to test against.
//!
//! A trace is made event by event: a scheduler picks threads at random, and each goes on with what it is doing. Without
//! violations every trace is serializable, by construction:
//!
//! - *Workers* (`worker.rs`) follow strict two-phase locking. Every variable belongs to one block, a region takes all
//!   its blocks before it touches any variable, and gives none back before it has touched the last. The order of the
//!   moments at which the regions had all their blocks is a serial order. What a worker does outside of regions has
//!   the blocks as well; a single operation's moment is its own. A block is a lock of the trace, or, in the family
//!   without locks, only known to the scheduler.
//! - The *open transaction* (`open.rs`) only writes what nobody has touched yet, and takes a lock that nobody else
//!   takes. So it comes before all others.
//! - Of a *pair* of long transactions (`mutual.rs`) only one ever sees what the other wrote. Both end before the next two
//!   begin.
//!
//! A torn region has a read and a write of one variable with another thread's write forced in between: a cycle of two.
//! Its label starts with `torn`, so that a reader of a report can tell what was meant to be found.
//!
//! Traces of tasks are made in `tasks/`, after the same plans.

mod mutual;
mod open;
mod plan;
mod random;
mod tasks;
#[cfg(test)]
mod tests;
mod worker;

pub use plan::{Discipline, Family, Plan, PlanError};

use crate::event::{AccessKind, Addr, Event, FunctionId, Op, SiteId, ThreadId};
use crate::trace::std_format::{VARIABLE_BASE, VARIABLE_SIZE};
use crate::trace::{
    BATCH_EVENTS, Batch, FileId, Location, NameKind, Place, PositionUnit, Site, Source, Tables, TraceError,
};
use random::Random;

/// Labels of regions that are whole, and as many of torn ones behind them.
const LABELS: u32 = 32;
/// Sites of each region.
const SITES: u32 = 16;
/// A thread goes on for this many events on average before another one's turn.
const TURN: u32 = 4;

/// Makes a trace after a [`Plan`].
#[derive(Debug)]
pub struct Generator {
    plan: Plan,
    tables: Tables,
    random: Random,
    stage: Stage,
    position: u64,
    current: u32,
    workers: worker::Workers,
    open: Option<open::Open>,
    pairs: Vec<mutual::Pair>,
    tasks: Option<tasks::Tasks>,
}

/// How far the trace is.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The thread is to be forked next.
    Fork(u32),
    Run,
    /// Nothing new is begun; for so many threads in a row there was nothing left to do.
    Drain(u32),
    /// The threads from this one on are joined.
    Join(u32),
    Done,
}

impl Generator {
    /// A generator of the trace that the plan describes.
    pub fn new(plan: Plan) -> Result<Self, PlanError> {
        plan.check()?;
        let open = (plan.family == Family::OpenTransaction).then(|| open::Open::new(&plan));
        let pairs = match plan.family {
            Family::Mutual => mutual::Pair::all(&plan),
            _ => Vec::new(),
        };
        let tasks = plan.family.has_tasks().then(|| tasks::Tasks::new(&plan));
        Ok(Generator {
            tables: if tasks.is_some() { tasks::tables(&plan) } else { tables(&plan) },
            random: Random::new(plan.seed),
            stage: Stage::Fork(1),
            position: 0,
            current: 0,
            workers: worker::Workers::new(&plan),
            open,
            pairs,
            tasks,
            plan,
        })
    }

    /// The next event, or the next few.
    fn step(&mut self, batch: &mut Batch) {
        if let Some(tasks) = &mut self.tasks {
            let mut output = Output { batch, position: &mut self.position };
            if !tasks.step(&mut output, &mut self.random) {
                self.stage = Stage::Done;
            }
            return;
        }
        match self.stage {
            Stage::Fork(child) if child < self.plan.threads => {
                let parent = self.parent(child);
                self.stage = Stage::Fork(child + 1);
                self.output(batch).push(parent, outside(0), Op::Fork { child: ThreadId(child) });
            }
            Stage::Fork(_) => self.stage = Stage::Run,
            Stage::Run if self.position >= self.plan.events => self.stage = Stage::Drain(0),
            Stage::Run => {
                if self.random.one_in(TURN) || !self.advance(batch, self.current, false) {
                    self.current = self.random.below(self.plan.threads);
                }
            }
            Stage::Drain(idle) if idle < self.plan.threads => {
                let moved = self.advance(batch, self.current, true);
                if !moved {
                    self.current = (self.current + 1) % self.plan.threads;
                }
                self.stage = Stage::Drain(if moved { 0 } else { idle + 1 });
            }
            // The open transaction would be torn by a join with a thread that saw its writes.
            Stage::Drain(_) if self.open.is_some() => self.stage = Stage::Done,
            Stage::Drain(_) => self.stage = Stage::Join(self.plan.threads),
            Stage::Join(next) if next > 1 => {
                let child = next - 1;
                let parent = self.parent(child);
                self.stage = Stage::Join(child);
                let ends = self.plan.family == Family::Mixed;
                let mut output = self.output(batch);
                if ends {
                    output.push(child, outside(1), Op::ThreadEnd);
                }
                output.push(parent, outside(2), Op::Join { child: ThreadId(child) });
            }
            Stage::Join(_) => self.stage = Stage::Done,
            Stage::Done => {}
        }
    }

    /// Lets a thread go on. False if there is nothing that it can do now.
    fn advance(&mut self, batch: &mut Batch, thread: u32, draining: bool) -> bool {
        let mut output = Output { batch, position: &mut self.position };
        if let Some(pair) = self.pairs.get_mut(thread as usize / 2) {
            return pair.advance(&mut output, &mut self.random, thread, draining);
        }
        match &mut self.open {
            Some(open) if thread == 0 => open.advance(&mut output, &mut self.random, draining),
            open => {
                let published = open.as_ref().map_or(0..0, |open| open.published());
                self.workers.advance(&mut output, &mut self.random, thread, draining, published)
            }
        }
    }

    /// The thread that forks another one and joins it.
    fn parent(&self, child: u32) -> u32 {
        if self.plan.family == Family::Mixed { (child - 1) / 2 } else { 0 }
    }

    fn output<'a>(&'a mut self, batch: &'a mut Batch) -> Output<'a> {
        Output { batch, position: &mut self.position }
    }
}

impl Source for Generator {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        while batch.events().len() < BATCH_EVENTS {
            if matches!(self.stage, Stage::Done) {
                return Ok(false);
            }
            self.step(batch);
        }
        Ok(true)
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn unit(&self) -> PositionUnit {
        PositionUnit::Event
    }

    fn consumed(&self) -> u64 {
        self.position
    }
}

/// Where events go.
struct Output<'a> {
    batch: &'a mut Batch,
    position: &'a mut u64,
}

impl Output<'_> {
    #[inline]
    fn push(&mut self, thread: u32, site: SiteId, op: Op) {
        *self.position += 1;
        self.batch.push(*self.position, Event { thread: ThreadId(thread), site, op });
    }

    #[inline]
    fn access(&mut self, thread: u32, site: SiteId, kind: AccessKind, variable: u32) {
        self.push(thread, site, Op::Access { kind, size: VARIABLE_SIZE, addr: address(variable) });
    }
}

fn address(variable: u32) -> Addr {
    Addr(VARIABLE_BASE + u64::from(variable) * u64::from(VARIABLE_SIZE))
}

/// The site of a region's step.
#[inline]
fn inside(label: u32, step: u32) -> SiteId {
    SiteId(label * SITES + step % SITES)
}

/// The site of a step outside of regions.
#[inline]
fn outside(step: u32) -> SiteId {
    inside(2 * LABELS, step)
}

/// All names, made up front: the memory that a trace needs does not grow with its length.
fn tables(plan: &Plan) -> Tables {
    let mut tables = Tables::default();
    for thread in 0..plan.threads {
        tables.add_name(NameKind::Thread, &format!("T{thread}"));
    }
    for lock in 0..plan.locks {
        tables.add_name(NameKind::Lock, &format!("L{lock}"));
    }
    for variable in 0..plan.variables {
        let location = Location { size: VARIABLE_SIZE, name: format!("V{variable}").into() };
        tables.locations.insert(address(variable).0, location);
    }
    for label in 0..LABELS {
        tables.add_name(NameKind::Region, &format!("region{label}"));
    }
    for label in 0..LABELS {
        tables.add_name(NameKind::Region, &format!("torn{label}"));
    }
    let sourced = plan.family == Family::Mixed;
    if sourced {
        for file in 0..4 {
            tables.add_name(NameKind::File, &format!("src/part{file}.c"));
        }
    }
    for site in 0..(2 * LABELS + 1) * SITES {
        let place = if sourced {
            Place::Source { file: FileId(site % 4), line: site + 1, column: 0 }
        } else {
            Place::Label(format!("{}", site + 1).into())
        };
        tables.sites.push(Site { place, function: FunctionId::NONE });
    }
    tables
}
