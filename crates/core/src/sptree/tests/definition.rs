//! The tree to the letter of its definition.

use crate::sptree::{Relation, Relations, StepId, Structure};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Async,
    Finish,
    Step,
}

#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    children: usize,
    /// Which child of its parent it is.
    position: usize,
    kind: Kind,
}

/// An ordered tree of async, finish and step nodes.
#[derive(Debug, Default)]
pub(super) struct Definition {
    nodes: Vec<Node>,
}

/// The innermost async or finish node a task is in, and its step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    node: usize,
    step: usize,
}

impl Definition {
    fn add(&mut self, parent: usize, kind: Kind) -> usize {
        let position = self.nodes[parent].children;
        self.nodes[parent].children += 1;
        self.nodes.push(Node { parent: Some(parent), children: 0, position, kind });
        self.nodes.len() - 1
    }

    /// The nodes from the root to a node.
    fn way(&self, node: usize) -> Vec<usize> {
        let mut way: Vec<usize> =
            std::iter::successors(Some(node), |&node| self.nodes[node].parent).collect();
        way.reverse();
        way
    }
}

impl Relations for Definition {
    fn relation(&self, step: StepId, other: StepId) -> Relation {
        if step == other {
            return Relation::Before;
        }
        let (a, b) = (self.way(step.index()), self.way(other.index()));
        // The children of the least common ancestor that lead to the two.
        let apart = a.iter().zip(&b).position(|(a, b)| a != b).expect("steps are leaves");
        let (a, b) = (&self.nodes[a[apart]], &self.nodes[b[apart]]);
        match (a.position < b.position, a.kind, b.kind) {
            (true, Kind::Async, _) => Relation::Left,
            (true, _, _) => Relation::Before,
            (false, _, Kind::Async) => Relation::Right,
            (false, _, _) => Relation::After,
        }
    }
}

impl Structure for Definition {
    type Place = Place;
    type Scope = usize;

    const NAME: &'static str = "definition";

    fn root(&mut self) -> Place {
        self.nodes.push(Node { parent: None, children: 0, position: 0, kind: Kind::Finish });
        Place { node: 0, step: self.add(0, Kind::Step) }
    }

    fn step(place: &Place) -> StepId {
        StepId(place.step as u32)
    }

    fn spawn(&mut self, place: &mut Place) -> Place {
        let node = self.add(place.node, Kind::Async);
        let task = Place { node, step: self.add(node, Kind::Step) };
        place.step = self.add(place.node, Kind::Step);
        task
    }

    fn open(&mut self, place: &mut Place) -> usize {
        place.node = self.add(place.node, Kind::Finish);
        place.step = self.add(place.node, Kind::Step);
        place.node
    }

    fn close(&mut self, place: &mut Place, finish: usize) {
        assert_eq!(place.node, finish, "scopes are closed from the innermost outwards");
        place.node = self.nodes[finish].parent.expect("the root is not closed");
        place.step = self.add(place.node, Kind::Step);
    }

    fn advance(&mut self, place: &mut Place) {
        place.step = self.add(place.node, Kind::Step);
    }

    fn steps(&self) -> usize {
        self.nodes.iter().filter(|node| node.kind == Kind::Step).count()
    }

    fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }
}
