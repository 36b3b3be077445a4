//! Atomizer: can the operations of each atomic block be moved together, by what is known about its locks?
//!
//! **Paper.** Flanagan, Freund: *Atomizer: A Dynamic Atomicity Checker for Multithreaded Programs*, POPL 2004; described
//! again in the introduction of the Velodrome paper (PLDI 2008). The idea is Lipton's reduction (1975).
//!
//! An operation is a *right mover* if it can change places with whatever another thread does next, a *left mover* if with
//! whatever another thread did just before. A block is reducible if it is a sequence of right movers, at most one
//! operation that is no mover, and left movers: then all of it can be moved to one point.
//!
//! | operation | moves | why |
//! |---|---|---|
//! | acquire a lock, in either mode | right | nobody else can take or release it next |
//! | release a lock | left | nobody else can have taken or released it just before |
//! | acquire or release of a lock that the thread keeps | both | it does nothing; the driver does not tell it |
//! | access that Eraser thinks is protected | both | nobody else accesses the location meanwhile |
//! | access that Eraser thinks is not protected | not | |
//! | atomic operation | as an access | Eraser's rules with atomic operations counted as accesses |
//! | fork, notify, arrive at a barrier, `HappensBefore` | left | they publish, as a release does |
//! | join, end of a wait, leave a barrier, `HappensAfter` | right | they wait for others, as an acquire does |
//! | begin, end, fence | both | |
//!
//! Each open block has a phase of its own, and [`effect`] decides:
//!
//! | phase | right | both | left, not |
//! |---|---|---|---|
//! | before the commit | | | this operation commits the block |
//! | after the commit | breaks it | | left: nothing; not: breaks it |
//!
//! An operation refutes all open blocks that it breaks; they hold both their commit and the operation. An instance of
//! a block is refuted at most once. The shown commit is that of the innermost one: it lies in all of them, and is a reason
//! for each (if it was no mover, the blocks that were committed before it were refuted by it already).
//!
//! **Deviations.** The paper's refinements for locks that only one thread uses, or that another lock protects, are left
//! out. Atomic operations cannot race, but other threads can come in between two of them; so for the knowledge about a
//! location they count as accesses (in Eraser's own reports they do not). An atomic counter that two threads use without
//! a lock does not move; one that only one thread has used so far (the reference count of something that was not handed
//! over) does. Memory orders make no difference.
//!
//! **Misses and false alarms.** Both exist: findings are `Suspected`. Only what Eraser knows *at the time* counts: an access
//! that seemed protected is not judged again when its location turns out not to be. All of Eraser's false alarms make
//! operations look immovable (see [`super::eraser`]), and what cannot be moved by this reasoning may be atomic for
//! another reason. In return a block is refuted whether or not another thread came in between in this run: also when the
//! run was serial.
//!
//! **Cost.** Eraser's, with 12 bytes a location. Each open block is committed and refuted at most once; beyond that an
//! operation takes O(1) time, however deep blocks are nested.
//!
//! **Who touches what.** As in [`super::eraser`], whose knowledge about a location is all that a cell holds. Blocks belong
//! to their thread.

use super::eraser::{Held, Knowledge};
use super::global::{Alone, Global, Shared, Users};
use super::{Analysis, Part, Statistic};
use crate::event::{LockMode, RegionId};
use crate::finding::{
    Doubt, Evidence, FindingKey, Findings, RawFinding, RawStep, Reduction, Refuted, Rule, Verdict,
};
use crate::lockset::Locksets;

/// Past which operations of other threads an operation can be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mover {
    /// Past those that follow.
    Right,
    /// Past those that came before.
    Left,
    /// Past all.
    Both,
    /// Past none.
    Not,
}

/// How far a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// All its operations so far move to the right.
    BeforeCommit,
    /// What follows must move to the left.
    AfterCommit,
}

/// What an operation does to a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The block stays in its phase.
    Nothing,
    /// The operation is the block's commit.
    Commits,
    /// The block is not reducible.
    Breaks,
}

/// What an operation does to a block in a phase.
#[inline]
pub fn effect(phase: Phase, mover: Mover) -> Effect {
    match (phase, mover) {
        (_, Mover::Both) | (Phase::BeforeCommit, Mover::Right) | (Phase::AfterCommit, Mover::Left) => {
            Effect::Nothing
        }
        (Phase::BeforeCommit, Mover::Left | Mover::Not) => Effect::Commits,
        (Phase::AfterCommit, Mover::Right | Mover::Not) => Effect::Breaks,
    }
}

/// An open block.
#[derive(Clone, Copy, Debug)]
struct Block {
    label: Refuted,
    commit: Option<RawStep>,
}

/// What is kept for a thread.
#[derive(Debug, Default)]
pub struct Thread {
    held: Held,
    /// The open blocks, outermost first. What commits or breaks a block does so to all around it, so they are, in this
    /// order: those that were refuted, about which nothing more is said; those after their commit; those before it.
    blocks: Vec<Block>,
    /// How many are refuted.
    refuted: usize,
    /// How many are refuted or after their commit.
    committed: usize,
}

impl Thread {
    #[inline]
    fn step(&mut self, at: &RawStep, mover: Mover, findings: &mut Findings) {
        if !self.blocks.is_empty() {
            self.move_blocks(at, mover, findings);
        }
    }

    /// True if there is a block that the operation would break.
    #[inline]
    fn would_break(&self, at: &RawStep, mover: Mover) -> bool {
        self.refuted < self.committed
            && effect(Phase::AfterCommit, mover) == Effect::Breaks
            && !self.is_told_in_parts(at)
    }

    /// True for another part of an access that touches several cells and has committed the innermost block: it is one
    /// operation.
    fn is_told_in_parts(&self, at: &RawStep) -> bool {
        let innermost = self.blocks.last().and_then(|block| block.commit);
        innermost.is_some_and(|commit| commit.moment == at.moment)
    }

    fn move_blocks(&mut self, at: &RawStep, mover: Mover, findings: &mut Findings) {
        if self.is_told_in_parts(at) {
            return;
        }
        if effect(Phase::AfterCommit, mover) == Effect::Breaks {
            let broken = &self.blocks[self.refuted..self.committed];
            if let Some(commit) = broken.last().and_then(|block| block.commit) {
                report(broken.iter().map(|block| block.label).collect(), commit, at, findings);
            }
            self.refuted = self.committed;
        }
        if effect(Phase::BeforeCommit, mover) == Effect::Commits {
            for block in &mut self.blocks[self.committed..] {
                block.commit = Some(*at);
            }
            self.committed = self.blocks.len();
        }
    }
}

fn report(blocks: Vec<Refuted>, commit: RawStep, at: &RawStep, findings: &mut Findings) {
    let regions = blocks.iter().map(|block| block.region).collect();
    let sites = vec![commit.moment.site, at.moment.site];
    let key = FindingKey::new(Rule::IrreducibleBlock, regions, sites, at.op);
    findings.add(key, at.moment, || RawFinding {
        rule: Rule::IrreducibleBlock,
        verdict: Verdict::Suspected(Doubt::Heuristic),
        steps: vec![commit, *at],
        evidence: Evidence::Reduction(Reduction { blocks, commit: 0, broken: 1 }),
        lineage: None,
        count: 1,
    });
}

/// The analysis.
#[derive(Debug, Default)]
pub struct Atomizer<U: Users = Alone> {
    locksets: U::Global<Locksets>,
}

impl Atomizer<Alone> {
    /// An analysis that has seen nothing yet, for the offline driver.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Atomizer<Shared> {
    /// An analysis that has seen nothing yet, for many threads at once.
    pub fn shared() -> Self {
        Self::default()
    }
}

impl<U: Users> Analysis for Atomizer<U> {
    type Thread = Thread;
    type Cell = Knowledge;
    type Sync = ();

    /// True if the access would break the reduction of an open block that is not refuted yet.
    #[inline]
    fn would_break(&self, at: &RawStep, thread: &Thread, cell: &Knowledge, part: Part) -> bool {
        thread.would_break(at, Mover::Not)
            && cell.would_be(at.moment.thread, part.kind, &thread.held, &self.locksets).is_racy()
    }

    #[inline]
    fn would_break_waiting(&self, at: &RawStep, thread: &Thread) -> bool {
        thread.would_break(at, Mover::Right)
    }

    #[inline]
    fn access(
        &self,
        at: &RawStep,
        thread: &mut Thread,
        cell: &mut Knowledge,
        part: Part,
        findings: &mut Findings,
    ) {
        let protection = cell.learn(at.moment.thread, part.kind, &mut thread.held, &self.locksets);
        if protection.is_racy() {
            thread.step(at, Mover::Not, findings);
        }
    }

    fn acquire(&self, at: &RawStep, thread: &mut Thread, (): &mut (), _: LockMode, findings: &mut Findings) {
        thread.held.change(at.op, &self.locksets);
        thread.step(at, Mover::Right, findings);
    }

    fn release(&self, at: &RawStep, thread: &mut Thread, (): &mut (), _: LockMode, findings: &mut Findings) {
        thread.held.change(at.op, &self.locksets);
        thread.step(at, Mover::Left, findings);
    }

    fn signal(&self, at: &RawStep, thread: &mut Thread, (): &mut (), findings: &mut Findings) {
        thread.step(at, Mover::Left, findings);
    }

    fn receive(&self, at: &RawStep, thread: &mut Thread, (): &mut (), findings: &mut Findings) {
        thread.step(at, Mover::Right, findings);
    }

    fn fork(&self, at: &RawStep, thread: &mut Thread, _: &mut Thread, findings: &mut Findings) {
        thread.step(at, Mover::Left, findings);
    }

    fn join(&self, at: &RawStep, thread: &mut Thread, _: &mut Thread, findings: &mut Findings) {
        thread.step(at, Mover::Right, findings);
    }

    fn begin(&self, at: &RawStep, thread: &mut Thread, region: RegionId, _: &mut Findings) {
        let label = Refuted { region, begin: at.moment };
        thread.blocks.push(Block { label, commit: None });
    }

    fn end(&self, _: &RawStep, thread: &mut Thread, _: &mut Findings) {
        thread.blocks.pop();
        thread.committed = thread.committed.min(thread.blocks.len());
        thread.refuted = thread.refuted.min(thread.blocks.len());
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic {
            analysis: "atomizer",
            name: "nodes of locksets",
            value: self.locksets.enter().nodes() as u64,
        }]
    }
}
