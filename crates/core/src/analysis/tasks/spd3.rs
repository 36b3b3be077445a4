//! SPD3: races between tasks without locks.
//!
//! **Paper.** Raman, Zhao, Sarkar, Vechev, Yahav: Scalable and precise dynamic datarace detection for structured
//! parallelism (PLDI 2012); the base of both task papers of keirin.
//!
//! | access | compared with | then kept |
//! |---|---|---|
//! | read | the write | as one of two reads |
//! | write | the write, both reads | as the write |
//!
//! One write is enough, for two parallel writes are a race themselves, after which the location is done with.
//!
//! **Deviations.** The two reads are kept by English and Hebrew order instead of common ancestors ([`super::kept`]; the
//! same effect). Atomic operations are not looked at: the paper has none, and as plain accesses they would all be races.
//! The first race of a location is told, as in the paper.
//!
//! **Misses and false alarms.** Without locks none: exactly the locations with a race in some schedule. Locks are not
//! looked at, so correctly locked accesses are told as races; use PTRacer.
//!
//! **Cost.** 40 bytes for each location, at most three questions for each access.
//!
//! **State.** Only cells, each handed in exclusively.

use super::kept::{Entry, Kept};
use super::plain::{KeepsPlain, Plain};
use super::{Present, TaskAnalysis};
use crate::analysis::Part;
use crate::event::AccessKind;
use crate::finding::Findings;
use crate::sptree::{Relations, StepId};

/// The SPD3 race detector.
#[derive(Debug, Default)]
pub struct Spd3;

/// What is remembered about a location.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    reads: Kept,
    write: Entry,
    /// When the location was touched last.
    era: u32,
    /// A race was told.
    told: bool,
}

impl TaskAnalysis for Spd3 {
    const ONLY_RACES: bool = true;

    type Cell = Cell;

    #[inline]
    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Cell,
        part: Part,
        findings: &mut Findings,
    ) -> bool {
        if cell.told || now.atomic {
            return true;
        }
        if cell.era != now.era {
            // Nothing that is remembered can be parallel to anything that follows.
            *cell = Cell { era: now.era, ..Cell::default() };
        }
        let (step, entry) = (now.order.step, now.entry());
        // Whoever has come since the step did the same has been compared with that.
        let repeated = match part.kind {
            AccessKind::Read => cell.reads.is_only(step),
            AccessKind::Write => cell.write.step == step,
        };
        if repeated {
            return true;
        }
        if cell.write.step.is_some() && cell.write.step != step && now.order.is_parallel(cell.write.step) {
            cell.told = true;
            now.race(part, cell.write, AccessKind::Write, findings);
            return true;
        }
        match part.kind {
            AccessKind::Read => cell.reads.add(&mut now.order, entry),
            AccessKind::Write => {
                if let Some(read) = cell.reads.parallel(&mut now.order) {
                    cell.told = true;
                    now.race(part, read, AccessKind::Read, findings);
                    return true;
                }
                cell.write = entry;
            }
        }
        true
    }

    fn visit_steps(cell: &mut Cell, visit: &mut impl FnMut(&mut StepId)) {
        cell.reads.visit_steps(visit);
        if cell.write.step.is_some() {
            visit(&mut cell.write.step);
        }
    }

    fn bytes_beside(cell: &Cell) -> usize {
        cell.reads.bytes_beside()
    }
}

impl KeepsPlain for Spd3 {
    fn keeps_plain(&self) -> bool {
        true
    }

    fn minds_serial_steps(&self) -> bool {
        false
    }

    fn of_plain(plain: Plain, era: u32) -> Cell {
        Cell { reads: Kept::of(plain.reads), write: plain.write.unwrap_or_default(), era, told: false }
    }

    fn plain(cell: &Cell) -> Option<Plain> {
        let write = cell.write.step.is_some().then_some(cell.write);
        (!cell.told).then_some(Plain { write, reads: cell.reads.only_two()? })
    }
}
