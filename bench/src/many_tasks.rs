//! The table `many-tasks`: memory does not grow with the number of tasks.
//!
//! The events are made as they are needed, so that nothing but the replay itself can need memory.

use crate::child::run_to_end;
use crate::programs::Programs;
use crate::table::{Table, count, goal, mebibytes, nothing, seconds};
use anyhow::{Context, Result, bail};
use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::event::{AccessKind, Addr, Event, Op, SiteId, TaskId, ThreadId};
use keirin_core::replay::ReplayOptions;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::sptree::Structure;
use keirin_core::sptree::ranks::Ranks;

/// Tasks of one phase of siblings.
const WIDTH: u64 = 1000;
/// Depth of one recursion: it has two tasks less than twice as many leaves.
const DEPTH: u32 = 9;
/// Memory is flat if ten times the tasks need at most this much more of it.
const FLAT: f64 = 1.25;
/// Even a small run is given that much, for what gathers before it is looked through for the first time.
const ALLOWED: u64 = 64 << 20;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of tasks of the longest run; a tenth and a hundredth are run as well.
    pub tasks: u64,
}

/// What a run looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Fork-join recursions; otherwise loops of siblings.
    pub recursive: bool,
    /// The phases lie within a scope, beside a task that goes on all the time; otherwise nothing is left after each.
    pub nested: bool,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 4] = [
        Self { recursive: false, nested: false },
        Self { recursive: true, nested: false },
        Self { recursive: false, nested: true },
        Self { recursive: true, nested: true },
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match (self.recursive, self.nested) {
            (false, false) => "flat",
            (true, false) => "fork-join",
            (false, true) => "flat-nested",
            (true, true) => "fork-join-nested",
        }
    }

    /// The shape with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    fn description(self) -> &'static str {
        match (self.recursive, self.nested) {
            (false, false) => "loops of siblings, outermost",
            (true, false) => "fork-join recursions, outermost",
            (false, true) => "loops of siblings, beside a live task",
            (true, true) => "fork-join recursions, beside a live task",
        }
    }
}

/// The analyses that are run.
const ANALYSES: [&str; 2] = ["ptracer", "task-atomicity"];

/// Measures all shapes with all analyses.
pub fn tables(programs: &Programs, settings: &Settings, mut print: impl FnMut(&str)) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let sizes = [settings.tasks / 100, settings.tasks / 10, settings.tasks].map(|tasks| tasks.max(1));
    for analysis in ANALYSES {
        let mut table = Table::new(&[
            "shape",
            "tasks",
            "events",
            "CPU s",
            "million tasks/s",
            "peak MiB",
            "steps remembered",
            "sweeps",
            "goal",
        ]);
        for shape in Shape::ALL {
            let mut smaller = None;
            for tasks in sizes {
                let mut command = programs.many_tasks(shape.name(), analysis, tasks);
                let cost = run_to_end(&mut command, folder.path())?;
                let figures = Figures::from_line(&cost.output)?;
                let flat = |smaller: u64| cost.memory as f64 <= FLAT * smaller.max(ALLOWED) as f64;
                table.row(vec![
                    shape.description().to_owned(),
                    count(figures.tasks),
                    count(figures.events),
                    seconds(cost.processor),
                    format!("{:.1}", figures.tasks as f64 / 1e6 / cost.processor.as_secs_f64()),
                    mebibytes(cost.memory),
                    count(figures.steps),
                    count(figures.sweeps),
                    smaller.map_or_else(nothing, |smaller| goal("flat memory", flat(smaller))),
                ]);
                smaller = Some(cost.memory);
            }
        }
        print(&format!("### {analysis}\n\n{table}\n"));
    }
    Ok(())
}

/// What a child found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figures {
    /// Tasks that were spawned.
    pub tasks: u64,
    /// Events of any kind.
    pub events: u64,
    /// Steps that the structure had at the end.
    pub steps: u64,
    /// How often finished steps were looked for in all cells and forgotten.
    pub sweeps: u64,
}

impl Figures {
    /// As a line for whoever started the child.
    pub fn line(&self) -> String {
        format!("{} {} {} {}\n", self.tasks, self.events, self.steps, self.sweeps)
    }

    fn from_line(line: &str) -> Result<Self> {
        let fields: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        match fields.as_deref() {
            Ok(&[tasks, events, steps, sweeps]) => Ok(Self { tasks, events, steps, sweeps }),
            _ => bail!("a child printed `{}`", line.trim()),
        }
    }
}

/// Makes a run and analyses it. To be called in a child.
pub fn measure(shape: Shape, analysis: &str, tasks: u64) -> Result<Figures> {
    match analysis {
        "ptracer" => run(&PtRacer::default(), shape, tasks),
        "task-atomicity" => {
            run(&TaskAtomicity::new(Modes { blocks: true, steps: true, gaps: true }), shape, tasks)
        }
        _ => bail!("`{analysis}` is no analysis of this table"),
    }
}

fn run<A: TaskAnalysis>(analysis: &A, shape: Shape, tasks: u64) -> Result<Figures> {
    let replay = TaskReplay::new(analysis, "many-tasks", ReplayOptions::default(), TaskOptions::default());
    let mut run = Run { replay, position: 0, tasks: 0 };
    run.access(0, AccessKind::Read, 0)?;
    if shape.nested {
        run.event(0, Op::FinishBegin)?;
        let live = run.spawn(0)?;
        run.event(2, Op::TaskBegin { task: live })?;
        run.access(2, AccessKind::Read, 1 << 20)?;
        // The phases are those of a task, since waiting for children would end the other one.
        let task = run.spawn(0)?;
        run.event(0, Op::TaskBegin { task })?;
    }
    while u64::from(run.tasks) < tasks {
        if shape.recursive {
            run.recursion(DEPTH, 1)?;
        } else {
            run.phase()?;
        }
    }
    let figures = Figures {
        tasks: u64::from(run.tasks),
        events: run.position,
        steps: run.replay.structure().steps() as u64,
        sweeps: 0,
    };
    let outcome = run.replay.finish();
    if !outcome.findings.is_empty() {
        bail!("there is nothing to find in this run");
    }
    let swept = |name: &str| name == "times that finished steps were forgotten";
    let sweeps = outcome.statistics.iter().find(|figure| swept(figure.name)).map_or(0, |figure| figure.value);
    Ok(Figures { sweeps, ..figures })
}

/// Feeds events to a replay as they are made.
struct Run<'a, A: TaskAnalysis> {
    replay: TaskReplay<'a, A, Ranks>,
    position: u64,
    tasks: u32,
}

impl<A: TaskAnalysis> Run<'_, A> {
    fn event(&mut self, thread: u32, op: Op) -> Result<()> {
        self.position += 1;
        let event = Event { thread: ThreadId(thread), site: SiteId(0), op };
        match self.replay.event(self.position, &event) {
            Ok(()) => Ok(()),
            Err(fault) => bail!("event {}: {fault:?}", self.position),
        }
    }

    fn access(&mut self, thread: u32, kind: AccessKind, word: u64) -> Result<()> {
        self.event(thread, Op::Access { kind, size: 8, addr: Addr(0x1000 + 8 * word) })
    }

    fn spawn(&mut self, thread: u32) -> Result<TaskId> {
        self.tasks += 1;
        let task = TaskId(self.tasks);
        self.event(thread, Op::Spawn { task })?;
        Ok(task)
    }

    /// Siblings, each of which works on a word of its own and reads a common one.
    fn phase(&mut self) -> Result<()> {
        self.event(0, Op::FinishBegin)?;
        for word in 1..=WIDTH {
            let task = self.spawn(0)?;
            self.event(1, Op::TaskBegin { task })?;
            self.access(1, AccessKind::Read, 0)?;
            self.access(1, AccessKind::Write, word)?;
            self.event(1, Op::TaskEnd { task })?;
        }
        self.event(0, Op::FinishEnd)
    }

    /// Two halves, a wait, and a step that combines them.
    fn recursion(&mut self, depth: u32, first: u64) -> Result<()> {
        if depth == 0 {
            self.access(0, AccessKind::Read, first)?;
            return self.access(0, AccessKind::Write, first);
        }
        let half = 1 << (depth - 1);
        for first in [first, first + half] {
            let task = self.spawn(0)?;
            self.event(0, Op::TaskBegin { task })?;
            self.recursion(depth - 1, first)?;
            self.event(0, Op::TaskEnd { task })?;
        }
        self.event(0, Op::TaskWait)?;
        self.access(0, AccessKind::Read, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_back_from_a_child() {
        let figures = Figures { tasks: 1, events: 2, steps: 3, sweeps: 4 };
        assert_eq!(Figures::from_line(&figures.line()).expect("a line of figures"), figures);
        assert!(Figures::from_line("1 2").is_err());
    }

    #[test]
    fn all_shapes_can_have_happened() {
        for shape in Shape::ALL {
            for analysis in ANALYSES {
                let figures = measure(shape, analysis, 5000).expect("no finding and no fault");
                assert!(figures.tasks >= 5000);
            }
        }
    }
}
