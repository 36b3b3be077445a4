//! Order beside the tree: what a task knows to be finished through something that is not series-parallel.
//!
//! Dependences, futures, conditions, barriers, synchronizing atomics and happens-before annotations put a step before
//! another one although the tree calls them parallel. A task *knows* a step if that step, and so all that comes before it,
//! is finished at this point of the task in every schedule. Only the latest known steps are kept: none of them comes
//! before another by the tree.
//!
//! A step that somebody may know must end at the moment that is known about (the task goes on with a new one), and its
//! scope must not be collapsed; [`super::Tasks`] takes care of both.
//!
//! **Cost.** Nothing where there is no such order. Otherwise a question looks at each known step; there are seldom more
//! of them than tasks at the same time.

use crate::sptree::{Relation, Relations, StepId, Structure};
use std::sync::Arc;

/// The known steps. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct Known(Option<Arc<[StepId]>>);

impl Known {
    /// True if nothing is known but the tree.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The latest known steps.
    #[inline]
    pub fn steps(&self) -> &[StepId] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// True if this is the very same list.
    pub fn same(&self, other: &Known) -> bool {
        match (&self.0, &other.0) {
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            (mine, theirs) => mine.is_none() && theirs.is_none(),
        }
    }

    /// Keeps no more than so many of the latest learned.
    pub fn limit(&mut self, most: usize) {
        if let Some(left) = self.steps().len().checked_sub(most).filter(|left| *left > 0) {
            self.0 = Some(self.steps()[left..].into());
        }
    }

    /// True if a step is among what is known to be finished.
    pub fn covers<S: Relations>(&self, structure: &S, step: StepId) -> bool {
        self.steps().iter().any(|known| structure.relation(step, *known) == Relation::Before)
    }

    /// Adds a step that is finished.
    pub fn learn_step<S: Relations>(&mut self, structure: &S, step: StepId) {
        self.learn_all(structure, &[step]);
    }

    /// Adds what another task knew.
    pub fn learn<S: Relations>(&mut self, structure: &S, other: &Known) {
        match (&self.0, &other.0) {
            (_, None) => {}
            (None, Some(_)) => *self = other.clone(),
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => {}
            (Some(_), Some(theirs)) => {
                let theirs = Arc::clone(theirs);
                self.learn_all(structure, &theirs);
            }
        }
    }

    fn learn_all<S: Relations>(&mut self, structure: &S, steps: &[StepId]) {
        let mut latest = self.steps().to_vec();
        for &step in steps {
            if latest.iter().any(|known| structure.relation(step, *known) == Relation::Before) {
                continue;
            }
            latest.retain(|known| structure.relation(*known, step) != Relation::Before);
            latest.push(step);
        }
        self.0 = Some(latest.into());
    }

    /// Forgets what the tree says anyway to a task that is at `step`.
    pub fn simplify<S: Relations>(&mut self, structure: &S, step: StepId) {
        let by_tree = |known: &StepId| structure.relation(*known, step) == Relation::Before;
        if self.steps().iter().any(by_tree) {
            let left: Vec<StepId> = self.steps().iter().copied().filter(|known| !by_tree(known)).collect();
            self.0 = (!left.is_empty()).then(|| left.into());
        }
    }

    /// Replaces each step by what the structure gives for it since scopes were collapsed.
    pub fn resolve<S: Structure>(&mut self, structure: &S) {
        if self.steps().iter().any(|step| structure.resolve(*step) != *step) {
            self.0 = Some(self.steps().iter().map(|step| structure.resolve(*step)).collect());
        }
    }
}
