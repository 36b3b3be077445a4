//! The tree itself, in an array.
//!
//! **Paper.** Raman, Zhao, Sarkar, Vechev, Yahav: Scalable and precise dynamic datarace detection for structured
//! parallelism (PLDI 2012), and after it both task papers, which put the nodes into an array.
//!
//! | happens | new nodes below the task's node or innermost scope |
//! |---|---|
//! | a task is spawned | an async node with a first step, then a step |
//! | a scope opens | a finish node with a first step |
//! | a scope ends | a step behind the finish node |
//! | the step is followed by another | a step |
//!
//! A question walks from both steps to the root until the ways meet; the two children through which they came decide.
//!
//! **Cost.** A node is made in constant time and has 16 bytes; a spawn makes three. A question takes as long as the
//! steps are deep, which is what [`super::verdicts::Verdicts`] is for, and what the other structures do better. Nothing
//! is ever forgotten.
//!
//! **State.** Nodes never change once they are made, so anybody may walk; making them belongs to one thread.

use super::{Relation, Relations, StepId, Structure};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Async,
    Finish,
    Step,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    depth: u32,
    /// The place among the siblings.
    ordinal: u32,
    kind: Kind,
}

/// The tree of all tasks, scopes and steps.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    steps: usize,
}

/// Where a task is: a node and the last child it got.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    parent: u32,
    step: StepId,
}

/// An open scope: its node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    finish: u32,
}

impl Tree {
    fn child(&mut self, parent: u32, ordinal: u32, kind: Kind) -> u32 {
        let depth = self.nodes[parent as usize].depth + 1;
        self.nodes.push(Node { parent, depth, ordinal, kind });
        self.steps += usize::from(kind == Kind::Step);
        (self.nodes.len() - 1) as u32
    }

    fn inner(&mut self, parent: u32, ordinal: u32, kind: Kind) -> Place {
        let parent = self.child(parent, ordinal, kind);
        Place { parent, step: StepId(self.child(parent, 0, Kind::Step)) }
    }

    /// The ordinal of what comes behind the current step.
    fn next(&self, place: &Place) -> u32 {
        self.nodes[place.step.index()].ordinal + 1
    }
}

impl Relations for Tree {
    fn relation(&self, step: StepId, other: StepId) -> Relation {
        if step == other {
            return Relation::Before;
        }
        // Steps are leaves, so neither is above the other and the ways meet at two different children.
        let (mut a, mut b) = (&self.nodes[step.index()], &self.nodes[other.index()]);
        while a.depth > b.depth {
            a = &self.nodes[a.parent as usize];
        }
        while b.depth > a.depth {
            b = &self.nodes[b.parent as usize];
        }
        while a.parent != b.parent {
            a = &self.nodes[a.parent as usize];
            b = &self.nodes[b.parent as usize];
        }
        if a.ordinal < b.ordinal {
            if a.kind == Kind::Async { Relation::Left } else { Relation::Before }
        } else if b.kind == Kind::Async {
            Relation::Right
        } else {
            Relation::After
        }
    }
}

impl Structure for Tree {
    type Place = Place;
    type Scope = Scope;

    const NAME: &'static str = "tree";

    fn root(&mut self) -> Place {
        self.nodes.push(Node { parent: 0, depth: 0, ordinal: 0, kind: Kind::Finish });
        Place { parent: 0, step: StepId(self.child(0, 0, Kind::Step)) }
    }

    #[inline]
    fn step(place: &Place) -> StepId {
        place.step
    }

    fn spawn(&mut self, place: &mut Place) -> Place {
        let ordinal = self.next(place);
        let task = self.inner(place.parent, ordinal, Kind::Async);
        place.step = StepId(self.child(place.parent, ordinal + 1, Kind::Step));
        task
    }

    fn open(&mut self, place: &mut Place) -> Scope {
        let ordinal = self.next(place);
        *place = self.inner(place.parent, ordinal, Kind::Finish);
        Scope { finish: place.parent }
    }

    fn close(&mut self, place: &mut Place, scope: Scope) {
        let finish = self.nodes[scope.finish as usize];
        let step = self.child(finish.parent, finish.ordinal + 1, Kind::Step);
        *place = Place { parent: finish.parent, step: StepId(step) };
    }

    fn advance(&mut self, place: &mut Place) {
        let ordinal = self.next(place);
        place.step = StepId(self.child(place.parent, ordinal, Kind::Step));
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>()
    }
}
