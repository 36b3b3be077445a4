//! An unbounded history of accesses: what ALL-SETS keeps, for comparison.
//!
//! **Paper.** Cheng, Feng, Leiserson, Randall, Stark: Detecting data races in Cilk programs that use locks (SPAA 1998).
//!
//! Every access is remembered with its step and its locks, and every access is compared with all of them. An access is
//! not remembered twice if step, kind and locks are the same. (ALL-SETS runs a program serially and drops what a newer,
//! serial access with fewer locks makes superfluous. That is done here as well.)
//!
//! **Misses and false alarms.** None against the definition of an apparent race, with order beside the tree or without:
//! it is the measure for PTRacer, not meant for daily use.
//!
//! **Cost.** Time and memory grow with the number of parallel accesses of a location.
//!
//! **State.** Only cells, each handed in exclusively.

use super::kept::Entry;
use super::{Present, TaskAnalysis};
use crate::analysis::Part;
use crate::event::AccessKind;
use crate::finding::Findings;
use crate::lockset::LocksetId;
use crate::sptree::{Relations, StepId};

/// The unbounded history.
#[derive(Debug, Default)]
pub struct AllSets;

#[derive(Clone, Copy, Debug)]
struct Past {
    entry: Entry,
    locks: LocksetId,
    kind: AccessKind,
}

/// What is remembered about a location.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    past: Vec<Past>,
    /// A race was told.
    told: bool,
}

impl super::plain::KeepsPlain for AllSets {}

impl TaskAnalysis for AllSets {
    const ONLY_RACES: bool = true;

    type Cell = Cell;

    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Cell,
        part: Part,
        findings: &mut Findings,
    ) -> bool {
        if cell.told {
            return true;
        }
        let locks = now.race_locks();
        let step = now.order.step;
        let same = |past: &Past| past.entry.step == step && past.locks == locks && past.kind == part.kind;
        if cell.past.iter().any(same) {
            return true;
        }
        for past in &cell.past {
            if (past.kind == AccessKind::Write || part.kind == AccessKind::Write)
                && !now.locksets.excludes(past.locks, locks)
                && now.order.is_parallel(past.entry.step)
            {
                let (entry, kind) = (past.entry, past.kind);
                *cell = Cell { past: Vec::new(), told: true };
                now.race(part, entry, kind, findings);
                return true;
            }
        }
        let entry = now.entry();
        let (order, locksets) = (&mut now.order, &mut now.locksets);
        cell.past.retain(|past| {
            let superfluous = (past.kind == AccessKind::Read || part.kind == AccessKind::Write)
                && locksets.is_subset(locks, past.locks)
                && !order.is_parallel(past.entry.step);
            !superfluous
        });
        cell.past.push(Past { entry, locks, kind: part.kind });
        true
    }

    fn visit_steps(cell: &mut Cell, visit: &mut impl FnMut(&mut StepId)) {
        for past in &mut cell.past {
            visit(&mut past.entry.step);
        }
    }

    fn bytes_beside(cell: &Cell) -> usize {
        cell.past.capacity() * size_of::<Past>()
    }
}
