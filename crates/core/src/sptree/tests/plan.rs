//! Random runs of tasks: a plan says what happens, and any structure can follow it.

use crate::sptree::{StepId, Structure};

/// What happens. Tasks and scopes are numbered in the order in which they come to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    Spawn {
        task: usize,
    },
    Open {
        task: usize,
    },
    Close {
        task: usize,
        scope: usize,
    },
    Advance {
        task: usize,
    },
    Collapse {
        scope: usize,
    },
    /// All references are resolved and collapsed steps forgotten.
    Forget,
}

/// A choice that becomes an operation, or many: who, what, and how much of it.
pub(super) type Choice = (u16, u8, u8);

#[derive(Debug, Default)]
struct Task {
    /// The scope it was spawned in.
    spawned_in: Option<usize>,
    open: Vec<usize>,
    finished: bool,
}

#[derive(Debug)]
struct Scope {
    outer: Option<usize>,
    /// The step before it.
    before: usize,
    closed: bool,
    collapsed: bool,
}

#[derive(Debug)]
struct Step {
    scope: Option<usize>,
    /// The step that stands for it.
    stand_in: usize,
    /// It is to be compared with others.
    watched: bool,
}

/// A well-formed run, and what is to be expected of it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) operations: Vec<Operation>,
    tasks: Vec<Task>,
    scopes: Vec<Scope>,
    steps: Vec<Step>,
    /// The step each task is at.
    current: Vec<usize>,
}

impl Plan {
    /// Makes a plan of choices. With `long`, one choice can stand for thousands of operations, of which few steps are
    /// compared: paths get long, ordinals large.
    pub(super) fn new(choices: &[Choice], long: bool) -> Self {
        let mut plan = Self::default();
        plan.tasks.push(Task::default());
        plan.current.push(0);
        plan.step(0, true);
        for &(who, what, much) in choices {
            let alive: Vec<usize> =
                (0..plan.tasks.len()).filter(|&task| !plan.tasks[task].finished).collect();
            // The newest tasks are met more often, so that there is depth.
            let who = usize::from(who);
            let task = if who % 3 == 0 { alive[alive.len() - 1] } else { alive[who / 3 % alive.len()] };
            let times = if long { usize::from(much) } else { 1 };
            plan.choose(task, who, what, times);
        }
        plan
    }

    fn choose(&mut self, task: usize, who: usize, what: u8, times: usize) {
        match what {
            0..=79 => self.spawn(task, times.is_multiple_of(13) || times < 5),
            80..=119 => self.open(task, true),
            120..=159 => self.close(task),
            160..=184 => {
                // Up to five digits.
                for left in (0..[1, 6, 7, 8, 70, 600, 5000][times % 7]).rev() {
                    self.advance(task, left == 0);
                }
            }
            185..=204 => {
                let mut at = task;
                for left in (0..times % 60).rev() {
                    match times % 3 {
                        0 => self.open(at, left % 16 == 0),
                        1 => at = self.spawn_within(at, left % 16 == 0),
                        _ => {
                            self.open(at, left % 16 == 0);
                            at = self.spawn_within(at, left % 16 == 0);
                        }
                    }
                }
            }
            205..=219 if task != 0 => {
                while !self.tasks[task].open.is_empty() {
                    self.close(task);
                }
                self.tasks[task].finished = true;
            }
            220..=244 if !self.scopes.is_empty() => self.collapse(who % self.scopes.len()),
            _ => self.operations.push(Operation::Forget),
        }
    }

    fn innermost(&self, task: usize) -> Option<usize> {
        self.tasks[task].open.last().copied().or(self.tasks[task].spawned_in)
    }

    fn step(&mut self, task: usize, watched: bool) {
        let new = self.steps.len();
        self.steps.push(Step { scope: self.innermost(task), stand_in: new, watched });
        self.current[task] = new;
    }

    fn spawn(&mut self, task: usize, watched: bool) {
        self.operations.push(Operation::Spawn { task });
        let spawned_in = self.innermost(task);
        self.tasks.push(Task { spawned_in, ..Task::default() });
        self.current.push(0);
        self.step(self.tasks.len() - 1, watched);
        self.step(task, watched);
    }

    fn spawn_within(&mut self, task: usize, watched: bool) -> usize {
        self.spawn(task, watched);
        self.tasks.len() - 1
    }

    fn open(&mut self, task: usize, watched: bool) {
        self.operations.push(Operation::Open { task });
        let (outer, before) = (self.innermost(task), self.current[task]);
        self.scopes.push(Scope { outer, before, closed: false, collapsed: false });
        self.tasks[task].open.push(self.scopes.len() - 1);
        self.step(task, watched);
    }

    /// Ends all tasks within the innermost scope of a task, and the scope.
    fn close(&mut self, task: usize) {
        let Some(&scope) = self.tasks[task].open.last() else { return };
        for other in (task + 1..self.tasks.len()).rev() {
            if !self.tasks[other].finished && self.is_within(self.tasks[other].spawned_in, scope) {
                while !self.tasks[other].open.is_empty() {
                    self.close(other);
                }
                self.tasks[other].finished = true;
            }
        }
        self.operations.push(Operation::Close { task, scope });
        self.tasks[task].open.pop();
        self.scopes[scope].closed = true;
        self.step(task, true);
    }

    fn advance(&mut self, task: usize, watched: bool) {
        self.operations.push(Operation::Advance { task });
        self.step(task, watched);
    }

    fn collapse(&mut self, scope: usize) {
        let within_collapsed = self.enclosing(Some(scope)).any(|scope| self.scopes[scope].collapsed);
        if !self.scopes[scope].closed || within_collapsed {
            return;
        }
        self.operations.push(Operation::Collapse { scope });
        self.scopes[scope].collapsed = true;
        for step in 0..self.steps.len() {
            if self.is_within(self.steps[step].scope, scope) {
                self.steps[step].stand_in = self.scopes[scope].before;
            }
        }
    }

    fn enclosing(&self, scope: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(scope, |&scope| self.scopes[scope].outer)
    }

    fn is_within(&self, scope: Option<usize>, outer: usize) -> bool {
        self.enclosing(scope).any(|scope| scope == outer)
    }

    /// The steps to compare.
    pub(super) fn watched(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|&step| self.steps[step].watched).collect()
    }

    /// The step that stands for a step at the end.
    pub(super) fn stand_in(&self, step: usize) -> usize {
        self.steps[step].stand_in
    }

    /// How many steps are not collapsed at the end.
    pub(super) fn remembered(&self) -> usize {
        (0..self.steps.len()).filter(|&step| self.steps[step].stand_in == step).count()
    }

    /// How many scopes are open at the end.
    pub(super) fn open_scopes(&self) -> usize {
        self.tasks.iter().map(|task| task.open.len()).sum()
    }
}

/// A structure that follows a plan.
#[derive(Debug)]
pub(super) struct Run<S: Structure> {
    pub(super) structure: S,
    /// The steps as they were numbered by the plan.
    pub(super) steps: Vec<StepId>,
    places: Vec<S::Place>,
    scopes: Vec<S::Scope>,
}

impl<S: Structure> Run<S> {
    /// Follows a plan to the end; leaves out collapses unless `collapsing`.
    pub(super) fn new(plan: &Plan, collapsing: bool) -> Self {
        let mut structure = S::default();
        let place = structure.root();
        let mut run =
            Self { structure, steps: vec![S::step(&place)], places: vec![place], scopes: Vec::new() };
        for &operation in &plan.operations {
            run.follow(operation, collapsing);
        }
        run
    }

    fn follow(&mut self, operation: Operation, collapsing: bool) {
        match operation {
            Operation::Spawn { task } => {
                let spawned = self.structure.spawn(&mut self.places[task]);
                self.steps.push(S::step(&spawned));
                self.places.push(spawned);
                self.steps.push(S::step(&self.places[task]));
            }
            Operation::Open { task } => {
                let scope = self.structure.open(&mut self.places[task]);
                self.scopes.push(scope);
                self.steps.push(S::step(&self.places[task]));
            }
            Operation::Close { task, scope } => {
                self.structure.close(&mut self.places[task], self.scopes[scope]);
                self.steps.push(S::step(&self.places[task]));
            }
            Operation::Advance { task } => {
                self.structure.advance(&mut self.places[task]);
                self.steps.push(S::step(&self.places[task]));
            }
            Operation::Collapse { scope } if collapsing => self.structure.collapse(self.scopes[scope]),
            Operation::Forget if collapsing => self.forget(),
            Operation::Collapse { .. } | Operation::Forget => {}
        }
    }

    /// Replaces all references and forgets what nobody refers to any more.
    pub(super) fn forget(&mut self) {
        for step in &mut self.steps {
            *step = self.structure.resolve(*step);
        }
        self.structure.forget_collapsed();
        assert_eq!(self.structure.collapsed(), 0);
    }
}
