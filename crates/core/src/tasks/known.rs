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
//! **Form.** None of the known steps comes before another one, so that what is later in English order is earlier in Hebrew
//! order. They are kept in English order. Then a step is known if and only if it comes before the first of them that is not
//! earlier than it in English order: that one is the latest in Hebrew order of all that could do.
//!
//! **Cost.** Nothing where there is no such order. Otherwise a question takes the logarithm of the number of known steps, and
//! to learn what another task knew takes their number; those that both know cost next to nothing.

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

    /// Keeps no more than so many, those that are latest in English order.
    pub fn limit(&mut self, most: usize) {
        if let Some(left) = self.steps().len().checked_sub(most).filter(|left| *left > 0) {
            self.0 = Some(self.steps()[left..].into());
        }
    }

    /// True if a step is among what is known to be finished.
    pub fn covers<S: Relations>(&self, structure: &S, step: StepId) -> bool {
        let steps = self.steps();
        let is_earlier =
            |known: &StepId| matches!(structure.relation(step, *known), Relation::Right | Relation::After);
        let first = steps.get(steps.partition_point(is_earlier));
        first.is_some_and(|known| structure.relation(step, *known) == Relation::Before)
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

    fn learn_all<S: Relations>(&mut self, structure: &S, theirs: &[StepId]) {
        let mine = self.steps();
        let mut latest = Vec::with_capacity(mine.len() + theirs.len());
        let (mut left, mut right) = (mine.iter().copied().peekable(), theirs.iter().copied().peekable());
        while let (Some(&one), Some(&other)) = (left.peek(), right.peek()) {
            // Who comes first in English order, and not before the head of the other list, comes before none of that list.
            if one == other {
                // It comes before none of either list.
                latest.extend(left.next());
                right.next();
                continue;
            }
            match structure.relation(one, other) {
                Relation::Before => _ = left.next(),
                Relation::After => _ = right.next(),
                Relation::Left => latest.extend(left.next()),
                Relation::Right => latest.extend(right.next()),
            }
        }
        latest.extend(left);
        latest.extend(right);
        if latest != mine {
            self.0 = Some(latest.into());
        }
    }

    /// Forgets what the tree says anyway to a task that is at `step`.
    pub fn simplify<S: Relations>(&mut self, structure: &S, step: StepId) {
        // In English order those that are earlier come first, and the later one of these is in it, the earlier it is in Hebrew order.
        let steps = self.steps();
        let earlier =
            |known: &StepId| matches!(structure.relation(*known, step), Relation::Before | Relation::Left);
        let end = steps.partition_point(earlier);
        let parallel = |known: &StepId| structure.relation(*known, step) == Relation::Left;
        let start = steps[..end].partition_point(parallel);
        if start < end {
            let left = [&steps[..start], &steps[end..]].concat();
            self.0 = (!left.is_empty()).then(|| left.into());
        }
    }

    /// Replaces each step by what the structure gives for it since scopes were collapsed.
    pub fn resolve<S: Structure>(&mut self, structure: &S) {
        if self.steps().iter().any(|step| structure.resolve(*step) != *step) {
            let mut steps: Vec<StepId> = self.steps().iter().map(|step| structure.resolve(*step)).collect();
            // What stands for a scope lies where the scope was.
            steps.dedup();
            self.0 = Some(steps.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Steps by their places in English and in Hebrew order.
    struct Orders(Vec<(usize, usize)>);

    impl Relations for Orders {
        fn relation(&self, step: StepId, other: StepId) -> Relation {
            let (one, two) = (self.0[step.0 as usize], self.0[other.0 as usize]);
            match (one.0 <= two.0, one.1 <= two.1) {
                (true, true) => Relation::Before,
                (false, false) => Relation::After,
                (true, false) => Relation::Left,
                (false, true) => Relation::Right,
            }
        }
    }

    proptest! {
        /// What the tree says to a task is forgotten, and nothing else.
        #[test]
        fn only_what_the_tree_says_is_forgotten(
            hebrew in Just((0..24).collect::<Vec<usize>>()).prop_shuffle(),
            learned in proptest::collection::vec(0u32..24, 0..16),
            at in 0u32..24,
        ) {
            let orders = Orders(hebrew.into_iter().enumerate().collect());
            let mut known = Known::default();
            learned.iter().for_each(|step| known.learn_step(&orders, StepId(*step)));
            let expected: Vec<StepId> = known
                .steps()
                .iter()
                .copied()
                .filter(|step| orders.relation(*step, StepId(at)) != Relation::Before)
                .collect();
            known.simplify(&orders, StepId(at));
            prop_assert_eq!(known.steps(), &expected[..]);
            prop_assert_eq!(known.is_empty(), expected.is_empty());
        }

        /// What two tasks know together is what one of them knows.
        #[test]
        fn learning_keeps_all_and_adds_nothing(
            hebrew in Just((0..24).collect::<Vec<usize>>()).prop_shuffle(),
            learned in proptest::collection::vec((any::<bool>(), 0u32..24), 0..16),
        ) {
            let orders = Orders(hebrew.into_iter().enumerate().collect());
            let (mut first, mut second) = (Known::default(), Known::default());
            for (by_first, step) in &learned {
                let known = if *by_first { &mut first } else { &mut second };
                known.learn_step(&orders, StepId(*step));
            }
            let mut both = first.clone();
            both.learn(&orders, &second);
            for step in (0..24).map(StepId) {
                let comes_before = |by: bool| {
                    let mut steps = learned.iter().filter(|(by_first, _)| *by_first == by);
                    steps.any(|(_, known)| orders.relation(step, StepId(*known)) == Relation::Before)
                };
                prop_assert_eq!(first.covers(&orders, step), comes_before(true));
                prop_assert_eq!(second.covers(&orders, step), comes_before(false));
                prop_assert_eq!(both.covers(&orders, step), comes_before(true) || comes_before(false));
            }
            for (index, step) in both.steps().iter().enumerate() {
                for other in &both.steps()[index + 1..] {
                    prop_assert_eq!(orders.relation(*step, *other), Relation::Left);
                }
            }
        }
    }
}
