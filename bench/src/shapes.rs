//! Runs of tasks of simple shapes, on any structure.

use keirin_core::sptree::{StepId, Structure};

/// What a run looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Fibonacci numbers by recursion: each task opens a scope and spawns two.
    Fibonacci,
    /// One loop that spawns a task in each turn.
    Flat,
    /// Loops one after the other, each in a scope.
    Phases,
    /// A scope in which a task is spawned, in which a scope opens, and so on.
    Nested,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 4] = [Self::Fibonacci, Self::Flat, Self::Phases, Self::Nested];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fibonacci => "fibonacci",
            Self::Flat => "flat",
            Self::Phases => "phases",
            Self::Nested => "nested",
        }
    }

    /// The shape with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// What it is, in a few words. Sizes are those of a full run.
    pub fn description(self) -> &'static str {
        match self {
            Self::Fibonacci => "Fibonacci numbers by recursion, 25 deep, 392,835 tasks",
            Self::Flat => "a loop of 3,000,000 tasks",
            Self::Phases => "400 loops of 4096 tasks each, one after the other",
            Self::Nested => "100,000 tasks, each in a scope within the one before",
        }
    }

    /// Builds the run, so many times smaller than a full one.
    pub fn build<S: Structure>(self, shrink: u32) -> Built<S> {
        let mut structure = S::default();
        let place = structure.root();
        let mut built = Built { structure, steps: Vec::new() };
        built.run(&place);
        match self {
            Self::Fibonacci => built.fibonacci(place, 26 - shrink.ilog2().min(16)),
            Self::Flat => {
                let mut place = place;
                built.phase(&mut place, 3_000_000 / shrink);
            }
            Self::Phases => {
                let mut place = place;
                let outer = built.open(&mut place);
                for _ in 0..(400 / shrink).max(4) {
                    built.phase(&mut place, 4096 / shrink);
                }
                built.close(&mut place, outer);
            }
            Self::Nested => built.nested(place, 100_000 / shrink),
        }
        built
    }
}

/// A run on a structure.
#[derive(Debug)]
pub struct Built<S> {
    /// The structure.
    pub structure: S,
    /// All steps in the order in which one worker would run them: a spawned task first, then what follows the spawn.
    pub steps: Vec<StepId>,
}

impl<S: Structure> Built<S> {
    fn run(&mut self, place: &S::Place) {
        self.steps.push(S::step(place));
    }

    fn open(&mut self, place: &mut S::Place) -> S::Scope {
        let scope = self.structure.open(place);
        self.run(place);
        scope
    }

    fn close(&mut self, place: &mut S::Place, scope: S::Scope) {
        self.structure.close(place, scope);
        self.run(place);
    }

    fn phase(&mut self, place: &mut S::Place, tasks: u32) {
        let scope = self.open(place);
        for _ in 0..tasks {
            let task = self.structure.spawn(place);
            self.run(&task);
            self.run(place);
        }
        self.close(place, scope);
    }

    fn fibonacci(&mut self, mut place: S::Place, number: u32) {
        if number < 2 {
            return;
        }
        let scope = self.open(&mut place);
        for less in [1, 2] {
            let task = self.structure.spawn(&mut place);
            self.run(&task);
            self.fibonacci(task, number - less);
            self.run(&place);
        }
        self.close(&mut place, scope);
    }

    fn nested(&mut self, mut place: S::Place, depth: u32) {
        let mut outer = Vec::new();
        for _ in 0..depth {
            let scope = self.open(&mut place);
            let task = self.structure.spawn(&mut place);
            self.run(&task);
            outer.push((place, scope));
            place = task;
        }
        while let Some((mut place, scope)) = outer.pop() {
            self.run(&place);
            self.close(&mut place, scope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::sptree::ranks::Ranks;

    #[test]
    fn every_step_is_run_once() {
        for shape in Shape::ALL {
            let built = shape.build::<Ranks>(512);
            assert_eq!(built.steps.len(), built.structure.steps(), "{}", shape.name());
            let mut steps = built.steps;
            steps.sort();
            steps.dedup();
            assert_eq!(steps.len(), built.structure.steps(), "{}", shape.name());
        }
    }
}
