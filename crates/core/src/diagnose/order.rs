//! Which orders have been chosen: a graph without cycles, into which edges are put and from which they are taken back.
//!
//! **Algorithm.** The events have ranks by which all edges go upwards. An edge that goes upwards already costs nothing; for
//! another one the events between its ends that are reachable are given new ranks among each other (Pearce and Kelly, *A dynamic
//! topological sort algorithm for directed acyclic graphs*, 2006). Edges that are taken back leave the ranks as they are. As the
//! ranks start with the observed order, what was observed costs nothing.
//!
//! **Cost.** An edge against the ranks: linear in the events between its ends that it reaches.

use super::solver::Literal;

/// An edge that is there whatever is chosen.
const ALWAYS: Literal = Literal::NONE;

/// The events and what comes before what.
#[derive(Debug, Default)]
pub(super) struct Order {
    after: Vec<Vec<(u32, Literal)>>,
    before: Vec<Vec<u32>>,
    rank: Vec<u32>,
    /// Edges that may be taken back, in the order in which they were put in.
    chosen: Vec<(u32, u32)>,
    /// When an event was seen last, and by which edge.
    seen: Vec<u32>,
    by: Vec<(u32, Literal)>,
    round: u32,
    /// How many events and edges were looked at.
    pub(super) work: u64,
}

impl Order {
    /// A further event, ranked behind all others.
    pub(super) fn add_event(&mut self) -> u32 {
        let event = self.rank.len() as u32;
        self.after.push(Vec::new());
        self.before.push(Vec::new());
        self.rank.push(event);
        self.seen.push(0);
        self.by.push((event, ALWAYS));
        event
    }

    pub(super) fn events(&self) -> usize {
        self.rank.len()
    }

    /// Puts in an edge that stays. False if it closes a cycle of such edges.
    pub(super) fn always(&mut self, from: u32, to: u32) -> bool {
        self.insert(from, to, ALWAYS).is_ok()
    }

    /// Puts in an edge because of a literal. The error is the literals of a cycle, this one among them.
    pub(super) fn choose(&mut self, from: u32, to: u32, because: Literal) -> Result<(), Vec<Literal>> {
        self.insert(from, to, because)?;
        self.chosen.push((from, to));
        Ok(())
    }

    /// How many edges were chosen.
    pub(super) fn chosen(&self) -> usize {
        self.chosen.len()
    }

    /// Takes back all chosen edges but the first ones.
    pub(super) fn take_back(&mut self, keep: usize) {
        while self.chosen.len() > keep {
            if let Some((from, to)) = self.chosen.pop() {
                // Always those that were put in last.
                self.after[from as usize].pop();
                self.before[to as usize].pop();
            }
        }
    }

    fn insert(&mut self, from: u32, to: u32, because: Literal) -> Result<(), Vec<Literal>> {
        self.work += 1;
        if from == to {
            return Err(vec![because]);
        }
        let (low, high) = (self.rank[to as usize], self.rank[from as usize]);
        if low < high {
            let forward = self.forward(from, to, high, because)?;
            let backward = self.backward(from, low);
            self.rank_anew(backward, forward);
        }
        self.after[from as usize].push((to, because));
        self.before[to as usize].push(from);
        Ok(())
    }

    fn mark(&mut self, event: u32) -> bool {
        let seen = &mut self.seen[event as usize];
        let new = *seen != self.round;
        *seen = self.round;
        self.work += u64::from(new);
        new
    }

    /// All that comes after `to`, up to a rank. If `from` is among it, there is a cycle.
    fn forward(&mut self, from: u32, to: u32, high: u32, because: Literal) -> Result<Vec<u32>, Vec<Literal>> {
        self.round += 1;
        self.mark(to);
        let mut found = vec![to];
        let mut next = 0;
        while let Some(&event) = found.get(next) {
            next += 1;
            for at in 0..self.after[event as usize].len() {
                let (later, literal) = self.after[event as usize][at];
                self.work += 1;
                if later == from {
                    return Err(self.cycle(event, to, [because, literal]));
                }
                if self.rank[later as usize] < high && self.mark(later) {
                    self.by[later as usize] = (event, literal);
                    found.push(later);
                }
            }
        }
        Ok(found)
    }

    /// The literals of the way from `start` to `event`, and some more.
    fn cycle(&self, mut event: u32, start: u32, more: [Literal; 2]) -> Vec<Literal> {
        let mut literals = more.to_vec();
        while event != start {
            let (earlier, literal) = self.by[event as usize];
            literals.push(literal);
            event = earlier;
        }
        literals.retain(|literal| *literal != ALWAYS);
        literals.sort_unstable();
        literals.dedup();
        literals
    }

    /// All that comes before `from`, down to a rank.
    fn backward(&mut self, from: u32, low: u32) -> Vec<u32> {
        self.round += 1;
        self.mark(from);
        let mut found = vec![from];
        let mut next = 0;
        while let Some(&event) = found.get(next) {
            next += 1;
            for at in 0..self.before[event as usize].len() {
                let earlier = self.before[event as usize][at];
                self.work += 1;
                if self.rank[earlier as usize] > low && self.mark(earlier) {
                    found.push(earlier);
                }
            }
        }
        found
    }

    /// Gives the ranks that both have to those that come before, and then to those that come after.
    fn rank_anew(&mut self, mut before: Vec<u32>, mut after: Vec<u32>) {
        before.sort_unstable_by_key(|event| self.rank[*event as usize]);
        after.sort_unstable_by_key(|event| self.rank[*event as usize]);
        before.append(&mut after);
        let mut ranks: Vec<u32> = before.iter().map(|event| self.rank[*event as usize]).collect();
        ranks.sort_unstable();
        for (event, rank) in before.into_iter().zip(ranks) {
            self.rank[event as usize] = rank;
        }
    }

    /// All events in an order that has all edges.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let mut events: Vec<u32> = (0..self.rank.len() as u32).collect();
        events.sort_unstable_by_key(|event| self.rank[*event as usize]);
        events
    }

    /// For each event whether it is this one or comes before it, by edges.
    pub(super) fn that_come_before(&self, event: u32) -> Vec<bool> {
        let mut needed = vec![false; self.rank.len()];
        needed[event as usize] = true;
        let mut left = vec![event];
        while let Some(event) = left.pop() {
            for &earlier in &self.before[event as usize] {
                if !std::mem::replace(&mut needed[earlier as usize], true) {
                    left.push(earlier);
                }
            }
        }
        needed
    }

    /// What comes right before an event, by edges.
    pub(super) fn before(&self, event: u32) -> &[u32] {
        &self.before[event as usize]
    }

    /// What comes right after an event, by edges.
    pub(super) fn after(&self, event: u32) -> impl Iterator<Item = u32> + '_ {
        self.after[event as usize].iter().map(|(later, _)| *later)
    }
}
