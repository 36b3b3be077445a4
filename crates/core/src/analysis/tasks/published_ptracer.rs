//! PTRacer's figure 5 as printed, for comparison.
//!
//! **Paper.** Yoga, Nagarakatte, Gupta: Parallel data race detection for task parallel programs with locks (FSE 2016),
//! figure 5. See [`super::ptracer`] for the algorithm that is meant.
//!
//! As printed, the second read and the second write of a set of locks are only ever emptied: both are replaced when the
//! new access is parallel to neither, and the first one is replaced by common ancestors when it is parallel to both; but
//! nothing fills the second one. So one read and one write are kept for each set of locks, and a parallel one is not kept
//! beside it: races are missed.
//!
//! **State.** Only cells, each handed in exclusively.

use super::kept::Entry;
use super::{Present, TaskAnalysis};
use crate::analysis::Part;
use crate::event::AccessKind;
use crate::finding::Findings;
use crate::lockset::LocksetId;
use crate::sptree::{Relations, StepId};

/// The published race detector.
#[derive(Debug, Default)]
pub struct PublishedPtRacer;

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    locks: LocksetId,
    read: Entry,
    write: Entry,
}

/// What is remembered about a location.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    classes: Vec<Class>,
    told: bool,
}

impl super::plain::KeepsPlain for PublishedPtRacer {}

impl TaskAnalysis for PublishedPtRacer {
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
        let (locks, entry) = (now.race_locks(), now.entry());
        for class in &cell.classes {
            if now.locksets.excludes(class.locks, locks) {
                continue;
            }
            let past = [(class.write, AccessKind::Write), (class.read, AccessKind::Read)];
            for (past, kind) in past {
                if (kind == AccessKind::Write || part.kind == AccessKind::Write)
                    && past.step.is_some()
                    && now.order.is_parallel(past.step)
                {
                    cell.told = true;
                    now.race(part, past, kind, findings);
                    return true;
                }
            }
        }
        let index = cell.classes.iter().position(|class| class.locks == locks).unwrap_or_else(|| {
            cell.classes.push(Class { locks, ..Class::default() });
            cell.classes.len() - 1
        });
        let first = match part.kind {
            AccessKind::Read => &mut cell.classes[index].read,
            AccessKind::Write => &mut cell.classes[index].write,
        };
        if !first.step.is_some() || !now.order.is_parallel(first.step) {
            *first = entry;
        }
        true
    }

    fn visit_steps(cell: &mut Cell, visit: &mut impl FnMut(&mut StepId)) {
        for class in &mut cell.classes {
            for entry in [&mut class.read, &mut class.write] {
                if entry.step.is_some() {
                    visit(&mut entry.step);
                }
            }
        }
    }

    fn bytes_beside(cell: &Cell) -> usize {
        cell.classes.capacity() * size_of::<Class>()
    }
}
