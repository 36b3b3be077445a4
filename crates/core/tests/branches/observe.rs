//! One run of a program, told as events, with values and formulas and what the other sides of branches would have done.

use crate::program::{Program, State, Step};
use crate::random::Random;
use keirin_core::diagnose::Formula;
use keirin_core::event::{
    AccessKind, Addr, Event, FormulaId, LockId, LockMode, Op, SiteId, TaskId, ThreadId,
};

/// A run.
pub(crate) struct Observed {
    pub(crate) events: Vec<Event>,
    /// How the branches of each task went.
    pub(crate) branches: Vec<Vec<bool>>,
    pub(crate) formulas: Vec<Option<Formula>>,
    texts: Vec<String>,
}

const MODE: LockMode = LockMode::Exclusive;

fn addr(variable: u8) -> Addr {
    Addr(0x1000 + 8 * u64::from(variable))
}

/// The place of a step as a site, and back.
pub(crate) fn site(task: usize, at: usize) -> SiteId {
    SiteId((task * 1000 + at) as u32)
}

pub(crate) fn place(site: SiteId) -> (usize, usize) {
    (site.index() / 1000, site.index() % 1000)
}

impl Observed {
    fn push(&mut self, task: usize, at: usize, op: Op) {
        self.events.push(Event { thread: ThreadId(task as u32), site: site(task, at), op });
    }

    fn formula(&mut self, text: String) -> Op {
        let known = self.texts.iter().position(|other| *other == text);
        let id = known.unwrap_or_else(|| {
            self.formulas.push(Some(Formula::parse(&text).expect("a formula")));
            self.texts.push(text);
            self.texts.len() - 1
        });
        Op::Formula { formula: FormulaId(id as u32) }
    }

    /// For messages.
    pub(crate) fn text(&self) -> String {
        let line = |(at, event): (usize, &Event)| {
            let (task, step) = place(event.site);
            format!("{}: task {task}, step {step}: {:?}\n", at + 1, event.op)
        };
        self.events.iter().enumerate().map(line).collect()
    }

    /// Tells a step that is about to be done.
    fn tell(&mut self, program: &Program, state: &State, task: usize, at: usize, step: Step) {
        let last = state.tasks[task].last;
        let access = |kind, variable| Op::Access { kind, size: 8, addr: addr(variable) };
        match step {
            Step::Read(variable) => {
                self.push(task, at, access(AccessKind::Read, variable));
                self.push(task, at, Op::Value { bits: state.memory[usize::from(variable)] });
            }
            Step::Write(variable, value) => {
                self.push(task, at, access(AccessKind::Write, variable));
                self.push(task, at, Op::Value { bits: value });
            }
            Step::WriteSum(variable, more) => {
                self.push(task, at, access(AccessKind::Write, variable));
                self.push(task, at, Op::Value { bits: last + more });
                self.push(task, at, Op::Operand { back: 1 });
                let formula = self.formula(format!("add $1 {more}"));
                self.push(task, at, formula);
            }
            Step::Acquire(lock) => self.push(task, at, Op::Acquire { lock: LockId(lock.into()), mode: MODE }),
            Step::Release(lock) => self.push(task, at, Op::Release { lock: LockId(lock.into()), mode: MODE }),
            Step::Branch(wanted, otherwise) => {
                let taken = last == wanted;
                self.branches[task].push(taken);
                self.push(task, at, Op::Branch { taken });
                self.push(task, at, Op::Operand { back: 1 });
                let formula = self.formula(format!("eq $1 {wanted}"));
                self.push(task, at, formula);
                self.tell_side(program, task, if taken { otherwise } else { at + 1 });
            }
            Step::Spawn(child) => self.push(task, at, Op::Spawn { task: TaskId(child as u32) }),
            Step::Wait => self.push(task, at, Op::TaskWait),
            Step::Jump(_) => {}
        }
    }

    /// Tells what would be done on the other side of a branch.
    fn tell_side(&mut self, program: &Program, task: usize, mut at: usize) {
        while program.goes_on(task, at) {
            let access = |kind, variable| Op::OtherPath { kind, size: 8, addr: addr(variable) };
            let lock =
                |lock: u8, acquire| Op::OtherPathLock { lock: LockId(lock.into()), mode: MODE, acquire };
            match program.tasks[task][at] {
                Step::Read(variable) => self.push(task, at, access(AccessKind::Read, variable)),
                Step::Write(variable, value) => {
                    self.push(task, at, access(AccessKind::Write, variable));
                    self.push(task, at, Op::Value { bits: value });
                }
                Step::Acquire(number) => self.push(task, at, lock(number, true)),
                Step::Release(number) => self.push(task, at, lock(number, false)),
                step => panic!("{step:?} is not told beforehand"),
            }
            at += 1;
        }
    }
}

/// A random run of a program, to its end; none if it came to a deadlock.
pub(crate) fn observe(program: &Program, random: &mut Random) -> Option<Observed> {
    let count = program.tasks.len();
    let mut observed = Observed {
        events: Vec::new(),
        branches: vec![Vec::new(); count],
        formulas: Vec::new(),
        texts: Vec::new(),
    };
    let mut state = program.start();
    let mut begun = vec![false; count];
    let mut ended = vec![false; count];
    loop {
        for task in 1..count {
            if begun[task] && !ended[task] && program.has_ended(&state, task) {
                ended[task] = true;
                observed.push(task, 999, Op::TaskEnd { task: TaskId(task as u32) });
            }
        }
        let enabled: Vec<usize> =
            (0..count).filter(|task| program.enabled(&state, *task).is_some()).collect();
        if enabled.is_empty() {
            let all = (0..count).all(|task| program.has_ended(&state, task));
            return all.then_some(observed);
        }
        let task = random.pick(&enabled);
        let (at, step) = program.enabled(&state, task)?;
        if task > 0 && !begun[task] {
            begun[task] = true;
            observed.push(task, 998, Op::TaskBegin { task: TaskId(task as u32) });
        }
        observed.tell(program, &state, task, at, step);
        program.advance(&mut state, task, None);
    }
}
