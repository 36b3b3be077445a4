//! An analysis of tasks behind the interface that the caller of any analysis knows.

use super::{TaskOptions, TaskReplay};
use crate::analysis::Statistic;
use crate::analysis::tasks::TaskAnalysis;
use crate::replay::{Checker, Pass, ReplayOptions};
use crate::sptree::Structure;
use std::marker::PhantomData;

/// An analysis of tasks with the structure it asks.
#[derive(Debug)]
pub struct TaskChecker<A, S> {
    analysis: A,
    name: &'static str,
    options: TaskOptions,
    structure: PhantomData<S>,
}

impl<A: TaskAnalysis, S: Structure> TaskChecker<A, S> {
    /// A checker for one run. `name` is what the analysis is called in figures.
    pub fn new(analysis: A, name: &'static str, options: TaskOptions) -> Self {
        Self { analysis, name, options, structure: PhantomData }
    }
}

impl<A: TaskAnalysis, S: Structure> Checker for TaskChecker<A, S> {
    fn start(&self, options: ReplayOptions) -> Box<dyn Pass + '_> {
        Box::new(TaskReplay::<A, S>::new(&self.analysis, self.name, options, self.options))
    }

    fn wants_blame(&self) -> bool {
        false
    }

    fn statistics(&self) -> Vec<Statistic> {
        self.analysis.statistics()
    }
}
