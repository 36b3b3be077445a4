//! Memory does not grow with the number of tasks.

use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::event::*;
use keirin_core::replay::ReplayOptions;
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::sptree::Structure;
use keirin_core::sptree::ranks::Ranks;

/// Feeds made-up events to a replay.
struct Run<'a, A: TaskAnalysis> {
    replay: TaskReplay<'a, A, Ranks>,
    position: u64,
    tasks: u32,
}

impl<'a, A: TaskAnalysis> Run<'a, A> {
    fn new(analysis: &'a A) -> Self {
        let replay = TaskReplay::new(analysis, "test", ReplayOptions::default(), TaskOptions::default());
        Self { replay, position: 0, tasks: 0 }
    }

    fn event(&mut self, thread: u32, op: Op) {
        self.position += 1;
        let event = Event { thread: ThreadId(thread), site: SiteId(0), op };
        self.replay.event(self.position, &event).expect("it can have happened");
    }

    fn access(&mut self, thread: u32, kind: AccessKind, word: u64) {
        self.event(thread, Op::Access { kind, size: 8, addr: Addr(0x1000 + 8 * word) });
    }

    fn spawn(&mut self, thread: u32) -> TaskId {
        self.tasks += 1;
        let task = TaskId(self.tasks);
        self.event(thread, Op::Spawn { task });
        task
    }

    /// A phase of sibling tasks, each of which works on a word of its own and reads a common one.
    fn phase(&mut self, width: u64, by_scope: bool) {
        if by_scope {
            self.event(0, Op::FinishBegin);
        }
        for word in 1..=width {
            let task = self.spawn(0);
            self.event(1, Op::TaskBegin { task });
            self.access(1, AccessKind::Read, 0);
            self.access(1, AccessKind::Write, word);
            self.event(1, Op::TaskEnd { task });
        }
        self.event(0, if by_scope { Op::FinishEnd } else { Op::TaskWait });
    }

    /// Fork-join recursion on one thread.
    fn recursion(&mut self, depth: u32, first: u64) {
        if depth == 0 {
            self.access(0, AccessKind::Read, first);
            self.access(0, AccessKind::Write, first);
            return;
        }
        let half = 1 << (depth - 1);
        for first in [first, first + half] {
            let task = self.spawn(0);
            self.event(0, Op::TaskBegin { task });
            self.recursion(depth - 1, first);
            self.event(0, Op::TaskEnd { task });
        }
        self.event(0, Op::TaskWait);
        self.access(0, AccessKind::Read, first);
    }

    fn steps(&self) -> usize {
        self.replay.structure().steps()
    }
}

fn stays_flat<A: TaskAnalysis>(analysis: &A, phase: impl Fn(&mut Run<'_, A>, u64)) {
    let mut run = Run::new(analysis);
    run.access(0, AccessKind::Read, 0);
    // A thread that is parallel to everything, so that no point of the run is serial.
    run.access(2, AccessKind::Read, 1 << 20);
    let mut phases = 0;
    while run.tasks < 400_000 {
        phase(&mut run, phases);
        phases += 1;
    }
    let early = run.steps();
    while run.tasks < 3_000_000 {
        phase(&mut run, phases);
        phases += 1;
    }
    assert!(run.steps() < early.max(1 << 18), "{early} steps became {}", run.steps());
    run.access(2, AccessKind::Write, 3);
    let outcome = run.replay.finish();
    assert_eq!(outcome.findings.len(), 1, "what is parallel to forgotten steps is still found");
}

#[test]
fn phases_of_tasks_are_forgotten() {
    stays_flat(&PtRacer::default(), |run, phase| {
        run.phase(100, phase % 2 == 0);
    });
}

#[test]
fn recursions_are_forgotten() {
    let modes = Modes { blocks: true, steps: true, gaps: true };
    stays_flat(&TaskAtomicity::new(modes), |run, _| {
        run.recursion(7, 0);
    });
}
