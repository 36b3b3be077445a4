//! The order of transactions, kept as the paper's graph.
//!
//! Nodes are transactions; edges carry the operations at both ends. The rules of figure 4 that are not in the table of
//! [`super`]:
//!
//! | what | rule |
//! |---|---|
//! | garbage | a finished node without incoming edges can never be on a cycle: it is collected, and its edges with it |
//! | merging | an operation outside any transaction takes the step of a predecessor that all others come before; if it has no live predecessor it takes none; only otherwise it gets a node of its own |
//! | cycle | an edge `n → m` closes one iff `m` reaches `n`; it is reported and not added |
//! | blame | `m` is blamed iff, at each other node of the cycle, the incoming operation does not come after the outgoing one |
//!
//! **Slips of the paper that are mended here.** *Merging into an active node*: as printed, an operation may be merged
//! into the open transaction of another thread, and the edge back to it is then dropped as a self-edge. Operations
//! are merged into finished nodes only. *Release outside a transaction* (figure 4): `L(t) + 1` is a step that may stand
//! for a later operation of a node into which `t`'s last operation was merged, which gives blame where there is none.
//! The step is taken as it is, as in figure 3. *One edge for each pair of nodes*: the newest, as printed; blame can
//! therefore be missed, but never be wrong.
//!
//! **Cost.** The cycle test visits what `m` reaches. While a transaction stays open all that comes after it is kept, so
//! a long one makes this quadratic; [`super::reach`] does not have that problem. This one is here for comparison, and
//! for the figures of the paper's table 1.

use super::{Closed, Hop, Order, Origin, Statistic};
use crate::clock::Epoch;
use crate::event::{Op, ThreadId};

/// The options that the paper compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphOptions {
    /// Merge operations outside transactions.
    pub merge: bool,
    /// Collect garbage.
    pub collect: bool,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { merge: true, collect: true }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Graph {
    options: GraphOptions,
    nodes: Vec<Node>,
    free: Vec<u32>,
    threads: Vec<Lane>,
    target: Origin,
    target_op: Op,
    inside: bool,
    predecessors: Vec<(Step, Op)>,
    visit: u64,
    allocated: u64,
    alive: u64,
    most_alive: u64,
    merged: u64,
}

#[derive(Debug, Default)]
struct Lane {
    current: Option<u32>,
    /// The current node is that of an access outside any region that has several parts: it ends with the next
    /// operation.
    parts: Option<Epoch>,
    last: Step,
}

/// A node and the time of one of its operations. Nodes are reused; the times of a node never are, so that a step into
/// the past of a reused node is told from a live one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    node: u32,
    time: u64,
    origin: Origin,
}

#[derive(Debug, Default)]
struct Node {
    open: bool,
    /// Time of the latest operation.
    time: u64,
    /// Operations up to this time belong to an earlier use of the node, or to none.
    dead_until: u64,
    incoming: Vec<Edge>,
    outgoing: Vec<u32>,
    visited: u64,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    from_time: u64,
    to_time: u64,
    hop: Hop,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new(GraphOptions::default())
    }
}

impl Graph {
    /// An empty graph.
    pub fn new(options: GraphOptions) -> Self {
        Self {
            options,
            nodes: Vec::new(),
            free: Vec::new(),
            threads: Vec::new(),
            target: Origin::default(),
            target_op: Op::End,
            inside: false,
            predecessors: Vec::new(),
            visit: 0,
            allocated: 0,
            alive: 0,
            most_alive: 0,
            merged: 0,
        }
    }

    fn lane(&mut self, thread: ThreadId) -> &mut Lane {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Lane::default);
        }
        &mut self.threads[thread.index()]
    }

    /// Ends the node of an access in parts, if the thread goes on to something else.
    fn end_parts(&mut self, thread: ThreadId, now: Option<Epoch>) {
        let lane = self.lane(thread);
        if lane.parts.is_some() && lane.parts != now {
            lane.parts = None;
            if let Some(node) = lane.current.take() {
                self.nodes[node as usize].open = false;
                self.collect(node);
            }
        }
    }

    fn allocate(&mut self, open: bool) -> u32 {
        self.allocated += 1;
        self.alive += 1;
        self.most_alive = self.most_alive.max(self.alive);
        let node = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node::default());
            (self.nodes.len() - 1) as u32
        });
        self.nodes[node as usize].open = open;
        node
    }

    /// Collects a node if it is garbage, and then whatever became garbage by that.
    fn collect(&mut self, node: u32) {
        if !self.options.collect {
            return;
        }
        let mut candidates = vec![node];
        while let Some(index) = candidates.pop() {
            let node = &mut self.nodes[index as usize];
            if node.open || !node.incoming.is_empty() || node.dead_until == node.time {
                continue;
            }
            node.dead_until = node.time;
            let outgoing = std::mem::take(&mut node.outgoing);
            for &to in &outgoing {
                self.nodes[to as usize].incoming.retain(|edge| edge.from != index);
            }
            candidates.extend_from_slice(&outgoing);
            self.free.push(index);
            self.alive -= 1;
        }
    }

    /// Whether there is a way from one node to another; a node reaches itself.
    fn reaches(&mut self, from: u32, to: u32) -> bool {
        if from == to {
            return true;
        }
        self.visit += 1;
        let mut stack = vec![from];
        while let Some(index) = stack.pop() {
            let visit = self.visit;
            let node = &mut self.nodes[index as usize];
            if std::mem::replace(&mut node.visited, visit) == visit {
                continue;
            }
            for &next in &node.outgoing {
                if next == to {
                    return true;
                }
                stack.push(next);
            }
        }
        false
    }

    fn add_edge(&mut self, from: Step, to: u32, to_time: u64, hop: Hop) {
        let edge = Edge { from: from.node, from_time: from.time, to_time, hop };
        let incoming = &mut self.nodes[to as usize].incoming;
        match incoming.iter_mut().find(|other| other.from == from.node) {
            Some(other) => *other = edge,
            None => {
                incoming.push(edge);
                self.nodes[from.node as usize].outgoing.push(to);
            }
        }
    }

    /// The step of a predecessor that all other predecessors come before, if there is one that may take the operation.
    fn representative(&mut self) -> Option<Step> {
        let predecessors = std::mem::take(&mut self.predecessors);
        let representative = predecessors.iter().map(|(step, _)| *step).find(|candidate| {
            !self.nodes[candidate.node as usize].open
                && predecessors.iter().all(|(other, _)| {
                    if other.node == candidate.node {
                        // Within one node the later operation comes after the earlier one.
                        other.time <= candidate.time
                    } else {
                        self.reaches(other.node, candidate.node)
                    }
                })
        });
        self.predecessors = predecessors;
        representative
    }

    /// An operation of an open transaction: an edge from each predecessor, unless it closes a cycle.
    fn commit_inside(&mut self, node: u32) -> (Step, Option<Closed>) {
        self.nodes[node as usize].time += 1;
        let step = Step { node, time: self.nodes[node as usize].time, origin: self.target };
        let mut best: Option<Closed> = None;
        for (predecessor, op) in std::mem::take(&mut self.predecessors) {
            if predecessor.node == node {
                continue;
            }
            let hop = self.hop(&predecessor, op);
            if !self.reaches(node, predecessor.node) {
                self.add_edge(predecessor, node, step.time, hop);
            } else {
                let closed = self.cycle(node, predecessor, hop);
                let better = |best: &Closed| {
                    let root = |closed: &Closed| (closed.increasing, closed.hops[0].source.position());
                    root(&closed) > root(best)
                };
                if best.as_ref().is_none_or(better) {
                    best = Some(closed);
                }
            }
        }
        (step, best)
    }

    /// An operation that is a transaction of its own.
    fn commit_outside(&mut self) -> Step {
        let nowhere = Step { node: 0, time: 0, origin: self.target };
        if self.options.merge {
            let representative =
                if self.predecessors.is_empty() { Some(nowhere) } else { self.representative() };
            if let Some(step) = representative {
                self.merged += 1;
                return Step { origin: self.target, ..step };
            }
        }
        let node = self.allocate(true);
        self.nodes[node as usize].time += 1;
        let step = Step { node, time: self.nodes[node as usize].time, origin: self.target };
        for (predecessor, op) in std::mem::take(&mut self.predecessors) {
            let hop = self.hop(&predecessor, op);
            self.add_edge(predecessor, node, step.time, hop);
        }
        self.nodes[node as usize].open = false;
        self.collect(node);
        step
    }

    fn hop(&self, predecessor: &Step, op: Op) -> Hop {
        Hop { source: predecessor.origin, source_op: op, target: self.target, target_op: self.target_op }
    }

    /// The cycle that an edge from `source` to `node` closes: an increasing one with the latest root if there is one.
    fn cycle(&mut self, node: u32, source: Step, closing: Hop) -> Closed {
        let way = self.increasing_way(node, source).map(|way| (way, true));
        let (mut hops, increasing) = way.unwrap_or_else(|| (self.any_way(node, source.node), false));
        hops.push(closing);
        // Program order needs no explanation in a report.
        hops.retain(|hop| hop.source.thread() != hop.target.thread());
        Closed { hops, increasing }
    }

    /// The way from `node` to `source` that leaves each node at an operation not before the one where it enters it,
    /// with the latest root.
    fn increasing_way(&self, node: u32, source: Step) -> Option<Vec<Hop>> {
        // For each node the latest operation from which the source can be reached, and the next edge of that way.
        let mut known: rustc_hash::FxHashMap<u32, (u64, Option<(u32, Hop)>)> = Default::default();
        known.insert(source.node, (source.time, None));
        let mut work = vec![source.node];
        while let Some(index) = work.pop() {
            let limit = known[&index].0;
            if index == node {
                continue;
            }
            for edge in self.nodes[index as usize].incoming.iter().filter(|edge| edge.to_time <= limit) {
                if known.get(&edge.from).is_none_or(|(time, _)| *time < edge.from_time) {
                    known.insert(edge.from, (edge.from_time, Some((index, edge.hop))));
                    work.push(edge.from);
                }
            }
        }
        let mut hops = Vec::new();
        let mut current = node;
        known.get(&node)?;
        while let Some((next, hop)) = known[&current].1 {
            hops.push(hop);
            current = next;
        }
        Some(hops)
    }

    fn any_way(&mut self, from: u32, to: u32) -> Vec<Hop> {
        let mut entered: rustc_hash::FxHashMap<u32, (u32, Hop)> = Default::default();
        let mut work = std::collections::VecDeque::from([to]);
        while let Some(index) = work.pop_front() {
            for edge in &self.nodes[index as usize].incoming {
                if edge.from != to && !entered.contains_key(&edge.from) {
                    entered.insert(edge.from, (index, edge.hop));
                    work.push_back(edge.from);
                }
            }
        }
        let mut hops = Vec::new();
        let mut current = from;
        while current != to {
            let Some(&(next, hop)) = entered.get(&current) else { break };
            hops.push(hop);
            current = next;
        }
        hops
    }
}

impl Order for Graph {
    type Step = Step;

    const LOCAL: bool = false;

    fn origin(step: &Step) -> &Origin {
        &step.origin
    }

    fn is_live(&self, step: &Step) -> bool {
        step.time != 0 && step.time > self.nodes[step.node as usize].dead_until
    }

    fn local_step(origin: Origin) -> Step {
        Step { node: 0, time: 0, origin }
    }

    fn begin(&mut self, thread: ThreadId, _position: u64, depth: usize) {
        if depth == 0 {
            self.end_parts(thread, None);
            let node = self.allocate(true);
            self.lane(thread).current = Some(node);
        }
    }

    fn end(&mut self, thread: ThreadId, origin: Origin, depth: usize) -> Step {
        let Some(node) = self.lane(thread).current else { return Self::local_step(origin) };
        self.nodes[node as usize].time += 1;
        let step = Step { node, time: self.nodes[node as usize].time, origin };
        let lane = self.lane(thread);
        lane.last = step;
        if depth == 0 {
            lane.current = None;
            self.nodes[node as usize].open = false;
            self.collect(node);
        }
        step
    }

    fn start(&mut self, origin: Origin, op: Op, inside: bool) {
        self.target = origin;
        self.target_op = op;
        self.inside = inside;
        self.predecessors.clear();
        self.end_parts(origin.thread(), Some(origin.epoch));
        if inside && self.lane(origin.thread()).current.is_none() {
            let node = self.allocate(true);
            let lane = self.lane(origin.thread());
            lane.current = Some(node);
            lane.parts = Some(origin.epoch);
        }
        let last = self.lane(origin.thread()).last;
        self.predecessor(&last, Op::ThreadEnd);
    }

    fn predecessor(&mut self, step: &Step, op: Op) {
        if self.is_live(step) {
            self.predecessors.push((*step, op));
        }
    }

    fn commit(&mut self) -> (Step, Option<Closed>) {
        let thread = self.target.thread();
        let current = self.lane(thread).current;
        let (step, closed) = match current {
            Some(node) if self.inside => self.commit_inside(node),
            _ => (self.commit_outside(), None),
        };
        self.lane(thread).last = step;
        (step, closed)
    }

    fn statistics(&self) -> Vec<Statistic> {
        let statistic = |name, value| Statistic { analysis: "velodrome", name, value };
        vec![
            statistic("nodes allocated", self.allocated),
            statistic("nodes alive at once, at most", self.most_alive),
            statistic("operations merged", self.merged),
        ]
    }
}
