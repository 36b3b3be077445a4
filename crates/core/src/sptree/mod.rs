//! The series-parallel structure of a run with tasks: which steps may run in parallel in some schedule.
//!
//! **The tree** (DPST; Raman et al. 2012, and both task papers). A run is an ordered tree. Its leaves are *steps*: what a
//! task does between two task constructs. Inner nodes are *async* nodes (a spawned task) and *finish* nodes (a scope whose
//! end waits for all tasks spawned within). Children stand in the order in which their task came to them. Of two steps
//! let A be the child of their least common ancestor that leads to the left one: they are parallel if and only if A is an
//! async node.
//!
//! **Two orders tell the same** (English and Hebrew). In English order the children are visited from left to right; in
//! Hebrew order an async child is visited after all its later siblings. One step comes before another in every schedule
//! if and only if it does in both orders.
//!
//! Three structures answer the same questions behind one interface, [`Structure`]:
//!
//! | structure | is | question | for |
//! |---|---|---|---|
//! | [`ranks::Ranks`] | two lists, English and Hebrew, with numbers kept in order while steps are put in | two comparisons | offline, the default |
//! | [`labels::Labels`] | an immutable path for each step | leading zeros of an exclusive or | online: each thread makes its own |
//! | [`tree::Tree`] | the tree in an array | walk to the common ancestor | the papers' way, for comparison |
//!
//! In front of any of them a cache of answers can stand, [`verdicts::Verdicts`].
//!
//! **Memory.** When a scope has been closed and nobody can refer to single steps of it any more, it is *collapsed*: all
//! its steps are seen by outsiders as the step before it. See [`Structure::collapse`].

pub mod label;
pub mod labels;
pub mod ranks;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod verdicts;

/// A step: what a task does between two task constructs. Ids are used again when nobody refers to them any more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepId(pub u32);

impl StepId {
    /// No step.
    pub const NONE: Self = Self(u32::MAX);

    /// True unless this is [`Self::NONE`].
    #[inline]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// The step as an index into a table.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Default for StepId {
    fn default() -> Self {
        Self::NONE
    }
}

/// How a step stands to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// It comes before in every schedule, or is the same step.
    Before,
    /// It comes after in every schedule.
    After,
    /// They are parallel, and it stands to the left: earlier in English order, later in Hebrew order.
    Left,
    /// They are parallel, and it stands to the right: later in English order, earlier in Hebrew order.
    Right,
}

impl Relation {
    /// True if some schedule has the two at the same time.
    #[inline]
    pub fn is_parallel(self) -> bool {
        matches!(self, Relation::Left | Relation::Right)
    }
}

/// How the steps of a run stand to each other. It may be asked while the structure grows, also by others.
pub trait Relations {
    /// How one step stands to another, in any order of creation. Equal steps: [`Relation::Before`].
    fn relation(&self, step: StepId, other: StepId) -> Relation;
}

/// A series-parallel structure under construction.
///
/// A *place* is where a task is: it holds the task's current step and whatever the structure needs to go on from there.
/// The caller keeps one for each task, and for each scope that is open what [`Structure::open`] gave it.
pub trait Structure: Relations + Default {
    /// Where a task is.
    type Place: Copy + std::fmt::Debug + Default;
    /// An open finish scope.
    type Scope: Copy + std::fmt::Debug + Default;

    /// The structure's name, for options and figures.
    const NAME: &'static str;

    /// The first step of the run. To be called once.
    fn root(&mut self) -> Self::Place;

    /// The current step of a place.
    fn step(place: &Self::Place) -> StepId;

    /// A task is spawned: gives the place of the new task, at its first step. The spawning task goes on with a new step.
    fn spawn(&mut self, place: &mut Self::Place) -> Self::Place;

    /// A finish scope opens; the task goes on with a new step, within.
    fn open(&mut self, place: &mut Self::Place) -> Self::Scope;

    /// A finish scope opens and a task is spawned in it at once.
    fn open_and_spawn(&mut self, place: &mut Self::Place) -> (Self::Scope, Self::Place) {
        let scope = self.open(place);
        (scope, self.spawn(place))
    }

    /// A finish scope of this task ends: the task goes on with a new step that comes after everything within. Scopes of
    /// one task are closed in the reverse order of their opening.
    fn close(&mut self, place: &mut Self::Place, scope: Self::Scope);

    /// The task goes on with a new step that comes after its current one, although there was no task construct.
    fn advance(&mut self, place: &mut Self::Place);

    /// A scope that has been closed needs no longer be told apart from the outside: from now on [`Structure::resolve`]
    /// may give, for each step within, the step that came before the scope. No task is within any more, and scopes
    /// within, if at all, were collapsed before. By default nothing happens.
    ///
    /// The step before the scope and those within may from now on count as equal. Nobody can mind: that step is over,
    /// and a question is always about the present one.
    fn collapse(&mut self, scope: Self::Scope) {
        let _ = scope;
    }

    /// A scope has been closed, and now everything but the steps `kept` comes before the last of them in every schedule:
    /// from now on [`Structure::resolve`] may give that step for all others. By default the scope is collapsed.
    fn restart(&mut self, scope: Self::Scope, kept: &[StepId]) {
        let _ = kept;
        self.collapse(scope);
    }

    /// The step that stands for this one since a collapse; the step itself if there was none.
    fn resolve(&self, step: StepId) -> StepId {
        step
    }

    /// How many steps were collapsed and are still remembered because somebody may refer to them.
    fn collapsed(&self) -> usize {
        0
    }

    /// How many steps are remembered, with the collapsed ones.
    fn steps(&self) -> usize;

    /// How many nodes the structure has made in its life.
    fn nodes(&self) -> u64;

    /// How many bytes the structure's records take, without what places and scopes hold. Tables that grow may have set
    /// aside up to twice that.
    fn bytes(&self) -> usize;

    /// Forgets the collapsed steps, after every reference to a step was replaced by what [`Structure::resolve`] gives.
    fn forget_collapsed(&mut self) {}
}

/// A structure that several threads let grow at the same time, each with a hand of its own.
///
/// What belongs to a place is done by one thread at a time, which knows what those before it have done there; a scope is closed by
/// one that knows of the ends of all tasks within. Steps are forgotten while nobody else does anything, by all hands one after the other.
pub trait Hands: Structure {
    /// Another hand for the same structure.
    fn another(&self) -> Self;

    /// What was set aside here may be used by others. To be called when the hand is used no more.
    fn give_back(&mut self);
}
