//! Which accesses are kept: two for all.
//!
//! Of all accesses of one kind under the same locks it is enough to keep the one that is last in English order and the one
//! that is last in Hebrew order (the papers keep two by their common ancestor, which is
//! equivalent): a later step is parallel to some access if and only if it is parallel to one of these two. For let `a` be
//! any access and `n` a step that `a` does not precede: then `a` is behind `n` in one of the orders, and so is the last one
//! in that order, which does not precede `n` either; nor does it follow `n`, for it was observed earlier.
//!
//! That is so while the tree tells all order. With order beside the tree it is not: then the others that are not ordered
//! before a newer one are kept as well.

use super::Order;
use crate::event::SiteId;
use crate::sptree::{Relation, Relations, StepId};

/// A remembered access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// By which step.
    pub step: StepId,
    /// Where in the program.
    pub site: SiteId,
}

/// What is kept of all accesses of one kind; `E` is how one of them is remembered.
#[derive(Clone, Debug, Default)]
pub struct Kept<E = Entry> {
    /// Last in English order.
    english: E,
    /// Last in Hebrew order.
    hebrew: E,
    /// All others that are needed because of order beside the tree.
    #[allow(clippy::box_collection)] // eight bytes instead of 24, for what is nearly always absent
    others: Option<Box<Vec<E>>>,
}

/// Something that was done by a step.
pub trait ByStep: Copy + Default {
    /// The step.
    fn step(&self) -> StepId;
    /// The step, to be replaced.
    fn step_mut(&mut self) -> &mut StepId;
}

impl ByStep for Entry {
    #[inline]
    fn step(&self) -> StepId {
        self.step
    }

    fn step_mut(&mut self) -> &mut StepId {
        &mut self.step
    }
}

impl<E: ByStep> Kept<E> {
    /// True if nothing is kept.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.english.step().is_some()
    }

    /// True if only an access by this step is kept.
    #[inline]
    pub fn is_only(&self, step: StepId) -> bool {
        self.english.step() == step && self.hebrew.step() == step && self.others.is_none()
    }

    /// True if an access by this step is one of the two.
    #[inline]
    pub fn has(&self, step: StepId) -> bool {
        self.english.step() == step || self.hebrew.step() == step
    }

    /// A kept access by a step that is parallel to the current one.
    #[inline]
    pub fn parallel<S: Relations>(&self, order: &mut Order<'_, S>) -> Option<E> {
        if self.is_empty() {
            return None;
        }
        if order.is_parallel(self.english.step()) {
            return Some(self.english);
        }
        if self.hebrew.step() != self.english.step() && order.is_parallel(self.hebrew.step()) {
            return Some(self.hebrew);
        }
        match &self.others {
            None => None,
            Some(others) => others.iter().find(|other| order.is_parallel(other.step())).copied(),
        }
    }

    /// A list of the two.
    pub fn of(kept: Option<(E, E)>) -> Self {
        let (english, hebrew) = kept.unwrap_or_default();
        Self { english, hebrew, others: None }
    }

    /// The two, if there are no others. None in it: there are none at all.
    pub fn only_two(&self) -> Option<Option<(E, E)>> {
        self.others.is_none().then(|| (!self.is_empty()).then_some((self.english, self.hebrew)))
    }

    /// The only access, if there is no other. None in it: there is none at all.
    pub fn only_one(&self) -> Option<Option<E>> {
        match self.only_two()? {
            Some((english, hebrew)) => (english.step() == hebrew.step()).then_some(Some(english)),
            None => Some(None),
        }
    }

    /// Adds an access by the current step.
    #[inline]
    pub fn add<S: Relations>(&mut self, order: &mut Order<'_, S>, new: E) {
        if self.is_empty() || self.is_only(order.step) {
            self.english = new;
            self.hebrew = new;
            return;
        }
        let english = order.relation(self.english.step());
        let hebrew = if self.hebrew.step() == self.english.step() {
            english
        } else {
            order.relation(self.hebrew.step())
        };
        let is_last_in_english = english != Relation::Right;
        let is_last_in_hebrew = hebrew != Relation::Left;
        if english == Relation::Before && hebrew == Relation::Before && self.others.is_none() {
            self.english = new;
            self.hebrew = new;
            return;
        }
        let before = (self.english, self.hebrew);
        if is_last_in_english {
            self.english = new;
        }
        if is_last_in_hebrew {
            self.hebrew = new;
        }
        self.let_go(order, before, (english, hebrew), new);
    }

    /// Some of the former two, or the new one, is kept no longer: keeps those that are not ordered, if that is wanted.
    fn let_go<S: Relations>(
        &mut self,
        order: &mut Order<'_, S>,
        former: (E, E),
        relations: (Relation, Relation),
        new: E,
    ) {
        let is_kept = |kept: &Self, step: StepId| kept.english.step() == step || kept.hebrew.step() == step;
        let candidates = [
            (former.0, relations.0.is_parallel()),
            (former.1, relations.1.is_parallel() && former.1.step() != former.0.step()),
            (new, true),
        ];
        let let_go = candidates.into_iter().filter(|(entry, needed)| *needed && !is_kept(self, entry.step()));
        if !order.keep_all() {
            if let_go.count() > 0 {
                order.note_dropped();
            }
            return;
        }
        let let_go: Vec<E> = let_go.map(|(entry, _)| entry).collect();
        let others = self.others.get_or_insert_default();
        others.retain(|other| order.is_parallel(other.step()));
        others.extend(let_go);
        if others.is_empty() {
            self.others = None;
        }
    }

    /// Forgets accesses by steps that come before all that is still to come.
    pub fn forget_past(&mut self, is_past: &mut impl FnMut(StepId) -> bool) {
        if self.is_empty() {
            return;
        }
        if let Some(others) = &mut self.others {
            others.retain(|other| !is_past(other.step()));
            if others.is_empty() {
                self.others = None;
            }
        }
        let (english, hebrew) = (self.english.step(), self.hebrew.step());
        match (is_past(english), is_past(hebrew)) {
            (false, false) => {}
            // What is still to come is behind the former in that order, and so behind all others.
            (true, false) => self.english = self.hebrew,
            (false, true) => self.hebrew = self.english,
            (true, true) if self.others.is_none() => *self = Self::default(),
            (true, true) => {}
        }
    }

    /// Shows all kept steps, so that they can be replaced.
    pub fn visit_steps(&mut self, visit: &mut impl FnMut(&mut StepId)) {
        if !self.is_empty() {
            visit(self.english.step_mut());
            visit(self.hebrew.step_mut());
        }
        for other in self.others.iter_mut().flat_map(|others| others.iter_mut()) {
            visit(other.step_mut());
        }
    }

    /// Bytes outside of this value.
    pub fn bytes_beside(&self) -> usize {
        self.others.as_ref().map_or(0, |others| size_of::<Vec<E>>() + others.capacity() * size_of::<E>())
    }
}
