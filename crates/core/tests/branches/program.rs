//! Small programs of tasks with locks, shared variables and branches on what was read, and what each of their tasks does next.

use std::fmt::Write;

/// What a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Reads a variable. What was read last is what branches and sums look at.
    Read(u8),
    /// Writes a number.
    Write(u8, u64),
    /// Writes a number more than what was read last.
    WriteSum(u8, u64),
    Acquire(u8),
    Release(u8),
    /// Goes on, if what was read last is this number; otherwise goes to another step.
    Branch(u64, usize),
    Jump(usize),
    Spawn(usize),
    /// Waits for all that it has spawned.
    Wait,
}

/// A task: its steps.
pub(crate) type Task = Vec<Step>;

/// A program. The first task is there from the beginning.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) tasks: Vec<Task>,
}

pub(crate) const VARIABLES: usize = 3;
pub(crate) const LOCKS: usize = 2;

/// How a task stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Way {
    /// It does not run yet.
    Unborn,
    /// It goes as it was observed; so many branches are behind it.
    Observed(u8),
    /// It has gone the other way at its last branch.
    Other,
    /// It has left what is known about it.
    Left,
}

/// A task in a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Place {
    pub(crate) at: u8,
    pub(crate) last: u64,
    pub(crate) way: Way,
}

/// A run so far.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) tasks: Vec<Place>,
    pub(crate) memory: [u64; VARIABLES],
    pub(crate) owners: [u8; LOCKS],
}

const NOBODY: u8 = u8::MAX;

impl Program {
    pub(crate) fn start(&self) -> State {
        let place = |number: usize| Place {
            at: 0,
            last: 0,
            way: if number == 0 { Way::Observed(0) } else { Way::Unborn },
        };
        State {
            tasks: (0..self.tasks.len()).map(place).collect(),
            memory: [0; VARIABLES],
            owners: [NOBODY; LOCKS],
        }
    }

    /// The next step of a task, past all jumps; none at its end.
    pub(crate) fn next(&self, task: usize, at: u8) -> Option<(usize, Step)> {
        let mut at = usize::from(at);
        loop {
            match self.tasks[task].get(at)? {
                Step::Jump(to) => at = *to,
                step => return Some((at, *step)),
            }
        }
    }

    pub(crate) fn has_ended(&self, state: &State, task: usize) -> bool {
        let place = state.tasks[task];
        matches!(place.way, Way::Observed(_)) && self.next(task, place.at).is_none()
    }

    /// The next step of a task, if it can be done now.
    pub(crate) fn enabled(&self, state: &State, task: usize) -> Option<(usize, Step)> {
        let place = state.tasks[task];
        if matches!(place.way, Way::Unborn | Way::Left) {
            return None;
        }
        let (at, step) = self.next(task, place.at)?;
        let possible = match step {
            Step::Acquire(lock) => state.owners[usize::from(lock)] == NOBODY,
            Step::Wait => self.tasks[task][..at].iter().all(|step| match step {
                Step::Spawn(child) => self.has_ended(state, *child),
                _ => true,
            }),
            _ => true,
        };
        possible.then_some((at, step))
    }

    /// Does the next step of a task. `observed` has for each task how its branches went: where a task goes another way, it is
    /// known only until its side ends, or branches again.
    pub(crate) fn advance(&self, state: &mut State, task: usize, observed: Option<&[Vec<bool>]>) {
        let Some((at, step)) = self.next(task, state.tasks[task].at) else { return };
        let place = state.tasks[task];
        let mut next = at + 1;
        let mut way = place.way;
        let mut last = place.last;
        match step {
            Step::Read(variable) => last = state.memory[usize::from(variable)],
            Step::Write(variable, value) => state.memory[usize::from(variable)] = value,
            Step::WriteSum(variable, more) => state.memory[usize::from(variable)] = last + more,
            Step::Acquire(lock) => state.owners[usize::from(lock)] = task as u8,
            Step::Release(lock) => state.owners[usize::from(lock)] = NOBODY,
            Step::Branch(wanted, otherwise) => {
                let taken = last == wanted;
                if !taken {
                    next = otherwise;
                }
                if let Way::Observed(branches) = way {
                    let same = observed
                        .is_none_or(|observed| observed[task].get(usize::from(branches)) == Some(&taken));
                    way = if same { Way::Observed(branches + 1) } else { Way::Other };
                }
            }
            Step::Spawn(child) => state.tasks[child].way = Way::Observed(0),
            Step::Wait | Step::Jump(_) => {}
        }
        state.tasks[task] = Place { at: next as u8, last, way };
        if way == Way::Other && !self.goes_on(task, next) {
            state.tasks[task].way = Way::Left;
        }
    }

    /// True if the side of a branch goes on with a step that is told beforehand.
    pub(crate) fn goes_on(&self, task: usize, at: usize) -> bool {
        !matches!(
            self.tasks[task].get(at),
            None | Some(Step::Jump(_) | Step::Branch(..) | Step::Spawn(_) | Step::Wait)
        ) && !self.is_join(task, at)
    }

    /// True if both sides of some branch come together here.
    fn is_join(&self, task: usize, at: usize) -> bool {
        self.tasks[task].iter().enumerate().any(|(from, step)| match step {
            Step::Jump(to) => *to == at && from < at,
            // A branch without another side.
            Step::Branch(_, to) => *to == at && !matches!(self.tasks[task].get(*to - 1), Some(Step::Jump(_))),
            _ => false,
        })
    }

    /// The number of task constructs before a step.
    pub(crate) fn region(&self, task: usize, at: usize) -> usize {
        self.tasks[task][..at].iter().filter(|step| matches!(step, Step::Spawn(_) | Step::Wait)).count()
    }

    /// For messages.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (number, task) in self.tasks.iter().enumerate() {
            let _ = writeln!(text, "task {number}:");
            for (at, step) in task.iter().enumerate() {
                let _ = writeln!(text, "  {at}: {step:?}");
            }
        }
        text
    }
}

/// What a step accesses: the variable, and whether it writes.
pub(crate) fn access(step: Step) -> Option<(u8, bool)> {
    match step {
        Step::Read(variable) => Some((variable, false)),
        Step::Write(variable, _) | Step::WriteSum(variable, _) => Some((variable, true)),
        _ => None,
    }
}

pub(crate) fn conflict(one: Step, other: Step) -> bool {
    match (access(one), access(other)) {
        (Some((x, writes)), Some((y, also))) => x == y && (writes || also),
        _ => false,
    }
}
