//! The order of transactions, kept as what each *open* transaction reaches.
//!
//! A cycle can only be closed by an operation of an open transaction `T`, and only by coming after something that
//! already comes after `T`. So nothing has to be known about finished transactions but which open ones reach them. In
//! each thread that is a suffix of its operations, because program order is part of the order: one number for each open
//! transaction and thread, the begin of the earliest transaction there that `T` reaches. The test for a cycle is one
//! comparison, and the memory needed is bounded by (open transactions) × (threads), however long a transaction stays
//! open and whatever happens meanwhile. Finished transactions need not be collected since they are never stored.
//!
//! For an operation of thread `t`, in transaction `m` (or alone), that comes after position `k` of thread `v`:
//!
//! | what | rule |
//! |---|---|
//! | who reaches it | `S` = open `T` with `reach(T, v) ≤ k`, and `v`'s own open transaction if `k` is in it |
//! | cycle | iff `m ∈ S` |
//! | update | each `T ∈ S` reaches `m`, and all that `m` reaches: `reach(T, ·) = min(reach(T, ·), reach(m, ·))` |
//! | end of `T` | its numbers are dropped: who reached `T` reaches the same by the update rule |
//!
//! *Blame.* A transaction is not self-serializable iff one of its operations comes, operation by operation, before some
//! foreign one that comes before a later one of its own. Beside `reach` each entry keeps from which position of `v` on
//! this holds, and for which operation of `T` (the root, the latest there is). Roots matter only by the innermost block
//! that is still open around them, so at most as many are kept as blocks are open. Blame is therefore exact: it does not
//! depend on which of several cycles was noticed, and nothing is lost by merging.
//!
//! *Cost.* O(1) for an operation whose predecessor no open transaction reaches; otherwise linear in the number of open
//! transactions that reach it. A newly reached `m` costs one step for each thread that `m` reaches.

use super::{Closed, Hop, Order, Origin, Statistic};
use crate::event::{Op, ThreadId};

/// Later than any position.
const NOTHING_LIVE: u64 = u64::MAX;

/// See the module's documentation.
#[derive(Debug)]
pub struct Reach {
    lanes: Vec<Lane>,
    /// For each thread the first position that any open transaction reaches; what came before can never be on a cycle.
    live_from: Vec<u64>,
    open: usize,
    entries: usize,
    /// The operation that was started last.
    target: Origin,
    target_op: Op,
    /// The best way found so far in which the started operation closes a cycle.
    closing: Option<Closing>,
    /// Who reaches a predecessor; kept only for its memory.
    reaching: Vec<(ThreadId, Option<u64>)>,
    transactions: u64,
    most_open: usize,
    most_entries: usize,
}

#[derive(Clone, Copy, Debug)]
struct Closing {
    source: Origin,
    source_op: Op,
    /// Position of the root operation, if the cycle holds operation by operation.
    root: Option<u64>,
}

/// What is known about one thread.
#[derive(Debug, Default)]
struct Lane {
    /// Positions at which the open regions began, outermost first. The first is the begin of the open transaction.
    blocks: Vec<u64>,
    /// The threads with an entry for this thread's open transaction.
    reaches: Vec<ThreadId>,
    /// The open transactions that reach into this thread. (Its own, too, once a cycle leads back to what came before
    /// that.)
    reached_by: Vec<Entry>,
}

/// One open transaction that reaches into a thread.
#[derive(Debug)]
struct Entry {
    /// The thread of the open transaction.
    by: ThreadId,
    /// Begin of the earliest transaction that is reached.
    from: u64,
    /// How the thread was first reached.
    first: Way,
    /// How earlier transactions of the thread were found to be reached afterwards, each earlier than the one before.
    /// At most one for each thread, since only a transaction that is newly reached can bring one.
    earlier: Vec<Way>,
    /// From which position on an operation of the open transaction comes before, operation by operation. Later entries
    /// have later roots.
    roots: Vec<Root>,
}

/// How a thread is reached from the transaction that begins at `from` on.
#[derive(Clone, Copy, Debug)]
struct Way {
    from: u64,
    hop: Hop,
}

#[derive(Clone, Copy, Debug)]
struct Root {
    from: u64,
    root: u64,
    hop: Hop,
}

impl Lane {
    /// How many of the open blocks began at or before a position: what a root at that position can refute.
    fn blocks_around(&self, root: u64) -> usize {
        self.blocks.iter().rev().skip_while(|begin| **begin > root).count()
    }

    /// The first position that any open transaction reaches.
    fn live_from(&self) -> u64 {
        let own = self.blocks.first().copied().unwrap_or(NOTHING_LIVE);
        self.reached_by.iter().map(|entry| entry.from).fold(own, u64::min)
    }

    fn entry(&self, by: ThreadId) -> Option<&Entry> {
        self.reached_by.iter().find(|entry| entry.by == by)
    }
}

impl Entry {
    /// The ways, in the order in which they were found.
    fn ways(&self) -> impl Iterator<Item = &Way> {
        std::iter::once(&self.first).chain(&self.earlier)
    }

    /// How a position is reached: the way that was found first. It rests only on ways found before it, so following
    /// such ways comes to an end even when the order has cycles.
    fn way_to(&self, position: u64) -> &Way {
        self.ways().find(|way| way.from <= position).unwrap_or(&self.first)
    }

    /// The latest root whose operation comes before a position of the thread.
    fn root_at(&self, position: u64) -> Option<&Root> {
        self.roots.iter().rev().find(|root| root.from <= position)
    }
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            lanes: Vec::new(),
            live_from: Vec::new(),
            open: 0,
            entries: 0,
            target: Origin::default(),
            target_op: Op::End,
            closing: None,
            reaching: Vec::new(),
            transactions: 0,
            most_open: 0,
            most_entries: 0,
        }
    }
}

impl Reach {
    fn lane(&mut self, thread: ThreadId) -> &mut Lane {
        if self.lanes.len() <= thread.index() {
            self.lanes.resize_with(thread.index() + 1, Lane::default);
            self.live_from.resize(thread.index() + 1, NOTHING_LIVE);
        }
        &mut self.lanes[thread.index()]
    }

    /// Where the transaction of the started operation begins. (The operation itself may tell it too late, if positions
    /// are far apart.)
    fn target_begin(&self) -> u64 {
        let begin = self.lanes.get(self.target.thread().index()).and_then(|lane| lane.blocks.first());
        begin.copied().unwrap_or_else(|| self.target.position())
    }

    /// The open transaction of `by` reaches the started operation.
    fn reach(&mut self, by: ThreadId, root: Option<u64>, hop: Hop) {
        let thread = self.target.thread();
        let from = self.target_begin();
        if self.lane(thread).entry(by).is_none() {
            self.insert(thread, by, Way { from, hop });
            // What comes after this transaction comes after `by`, too.
            for index in 0..self.lanes[thread.index()].reaches.len() {
                let follower = self.lanes[thread.index()].reaches[index];
                let Some(known) = self.lanes[follower.index()].entry(thread) else { continue };
                for way in known.ways().copied().collect::<Vec<_>>() {
                    self.insert(follower, by, way);
                }
            }
        }
        let Some(root) = root else { return };
        let refutable = self.lanes[by.index()].blocks_around(root);
        let blocks = self.lanes[by.index()].blocks.len();
        let position = self.target.position();
        let (source, target) = disjoint(&mut self.lanes, by, thread);
        let Some(entry) = target.reached_by.iter_mut().find(|entry| entry.by == by) else { return };
        if entry.roots.last().is_some_and(|last| source.blocks_around(last.root) >= refutable) {
            return;
        }
        if entry.roots.len() > 2 * blocks {
            // Blocks have ended since: roots that refute the same blocks now are one.
            entry.roots.dedup_by_key(|root| source.blocks_around(root.root));
        }
        entry.roots.push(Root { from: position, root, hop });
    }

    /// The open transaction of `by` reaches into `thread`.
    fn insert(&mut self, thread: ThreadId, by: ThreadId, way: Way) {
        let live_from = &mut self.live_from[thread.index()];
        *live_from = way.from.min(*live_from);
        let lane = &mut self.lanes[thread.index()];
        match lane.reached_by.iter_mut().find(|entry| entry.by == by) {
            Some(entry) if entry.from <= way.from => {}
            Some(entry) => {
                entry.from = way.from;
                entry.earlier.push(way);
            }
            None => {
                let entry = Entry { by, from: way.from, first: way, earlier: Vec::new(), roots: Vec::new() };
                lane.reached_by.push(entry);
                self.lanes[by.index()].reaches.push(thread);
                self.entries += 1;
                self.most_entries = self.most_entries.max(self.entries);
            }
        }
    }

    /// The way from the open transaction of the started operation to the operation and thus back to itself.
    fn cycle(&self, closing: Closing) -> Closed {
        let thread = self.target.thread();
        let increasing = closing.root.is_some();
        let mut hops = vec![Hop {
            source: closing.source,
            source_op: closing.source_op,
            target: self.target,
            target_op: self.target_op,
        }];
        let begin = self.target_begin();
        let mut current = closing.source;
        while current.thread() != thread || current.position() < begin {
            let Some(entry) = self.lanes[current.thread().index()].entry(thread) else { break };
            let hop = match entry.root_at(current.position()) {
                Some(root) if increasing => root.hop,
                _ => entry.way_to(current.position()).hop,
            };
            hops.push(hop);
            current = hop.source;
        }
        hops.reverse();
        Closed { hops, increasing }
    }
}

/// Two different lanes at once; the order is that of the arguments.
fn disjoint(lanes: &mut [Lane], first: ThreadId, second: ThreadId) -> (&Lane, &mut Lane) {
    let (low, high) = lanes.split_at_mut(first.index().max(second.index()));
    if first < second { (&low[first.index()], &mut high[0]) } else { (&high[0], &mut low[second.index()]) }
}

impl Order for Reach {
    type Step = Origin;

    const LOCAL: bool = true;

    #[inline]
    fn origin(step: &Origin) -> &Origin {
        step
    }

    #[inline]
    fn is_live(&self, step: &Origin) -> bool {
        self.live_from.get(step.thread().index()).is_some_and(|from| *from <= step.position())
    }

    #[inline]
    fn local_step(origin: Origin) -> Origin {
        origin
    }

    fn begin(&mut self, thread: ThreadId, position: u64, depth: usize) {
        self.lane(thread).blocks.push(position);
        if depth == 0 {
            let live_from = &mut self.live_from[thread.index()];
            *live_from = position.min(*live_from);
            self.open += 1;
            self.transactions += 1;
            self.most_open = self.most_open.max(self.open);
        }
    }

    fn end(&mut self, thread: ThreadId, origin: Origin, depth: usize) -> Origin {
        let lane = self.lane(thread);
        lane.blocks.pop();
        if depth == 0 {
            let reaches = std::mem::take(&mut lane.reaches);
            self.open -= 1;
            self.entries -= reaches.len();
            for &follower in &reaches {
                let entries = &mut self.lanes[follower.index()].reached_by;
                if let Some(index) = entries.iter().position(|entry| entry.by == thread) {
                    entries.swap_remove(index);
                }
                self.live_from[follower.index()] = self.lanes[follower.index()].live_from();
            }
            self.live_from[thread.index()] = self.lanes[thread.index()].live_from();
            // Handed back for its memory.
            let lane = self.lane(thread);
            lane.reaches = reaches;
            lane.reaches.clear();
        }
        origin
    }

    #[inline]
    fn start(&mut self, origin: Origin, op: Op, _inside: bool) {
        self.target = origin;
        self.target_op = op;
        self.closing = None;
    }

    fn predecessor(&mut self, step: &Origin, op: Op) {
        let (thread, position) = (step.thread(), step.position());
        let Some(lane) = self.lanes.get(thread.index()) else { return };
        let mut reaching = std::mem::take(&mut self.reaching);
        reaching.clear();
        if lane.blocks.first().is_some_and(|begin| *begin <= position) {
            reaching.push((thread, Some(position)));
        }
        for entry in lane.reached_by.iter().filter(|entry| entry.from <= position) {
            reaching.push((entry.by, entry.root_at(position).map(|root| root.root)));
        }
        let hop = Hop { source: *step, source_op: op, target: self.target, target_op: self.target_op };
        for &(by, root) in &reaching {
            if by != self.target.thread() {
                self.reach(by, root, hop);
            } else if self.closing.is_none_or(|best| best.root < root) {
                self.closing = Some(Closing { source: *step, source_op: op, root });
            }
        }
        self.reaching = reaching;
    }

    fn commit(&mut self) -> (Origin, Option<Closed>) {
        (self.target, self.closing.map(|closing| self.cycle(closing)))
    }

    fn statistics(&self) -> Vec<Statistic> {
        let statistic = |name, value| Statistic { analysis: "velodrome", name, value };
        vec![
            statistic("transactions", self.transactions),
            statistic("transactions open at once, at most", self.most_open as u64),
            statistic("orders remembered at once, at most", self.most_entries as u64),
        ]
    }
}
