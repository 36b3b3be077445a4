//! The transaction that stays open throughout.

use super::random::Random;
use super::{Output, Plan, inside};
use crate::event::{AccessKind, LockId, LockMode, Op, RegionId};
use std::ops::Range;

/// The first thread of its family: one region from the start to the end of the trace.
#[derive(Debug)]
pub(super) struct Open {
    begun: bool,
    locked: bool,
    /// The lock that only this thread takes.
    lock: LockId,
    /// Variables that all others may read, up to `next`; none behind has been touched by anyone.
    pool: Range<u32>,
    next: u32,
    /// Variables of this thread alone.
    own: Range<u32>,
    /// One in so many operations writes a variable of the pool, so that the pool lasts to the end of the trace.
    pace: u32,
}

impl Open {
    /// The variables of the workers: those below the pool.
    pub(super) fn workers_variables(plan: &Plan) -> u32 {
        plan.variables / 2
    }

    pub(super) fn new(plan: &Plan) -> Self {
        let start = Self::workers_variables(plan);
        let end = start + plan.variables / 4;
        let operations = plan.events / u64::from(plan.threads);
        let pace = (operations / u64::from(end - start)).clamp(4, 1 << 20) as u32;
        Open {
            begun: false,
            locked: false,
            lock: LockId(plan.locks - 1),
            pool: start..end,
            next: start,
            own: end..plan.variables,
            pace,
        }
    }

    /// The variables that others may read.
    pub(super) fn published(&self) -> Range<u32> {
        self.pool.start..self.next
    }

    pub(super) fn advance(&mut self, output: &mut Output<'_>, random: &mut Random, draining: bool) -> bool {
        let mode = LockMode::Exclusive;
        let step = 1 + random.below(15);
        if !self.begun {
            self.begun = true;
            output.push(0, inside(0, 0), Op::Begin { region: RegionId(0) });
        } else if draining {
            if !self.locked {
                return false;
            }
            self.locked = false;
            output.push(0, inside(0, 2), Op::Release { lock: self.lock, mode });
        } else if self.next < self.pool.end && random.one_in(self.pace) {
            output.access(0, inside(0, step), AccessKind::Write, self.next);
            self.next += 1;
        } else if random.one_in(8) {
            let op = if self.locked {
                Op::Release { lock: self.lock, mode }
            } else {
                Op::Acquire { lock: self.lock, mode }
            };
            self.locked = !self.locked;
            output.push(0, inside(0, 1 + u32::from(!self.locked)), op);
        } else if self.next > self.pool.start && random.one_in(4) {
            // Nobody else writes it, so that reading it again is safe.
            let variable = self.pool.start + random.below(self.next - self.pool.start);
            output.access(0, inside(0, step), AccessKind::Read, variable);
        } else {
            let variable = self.own.start + random.below(self.own.end - self.own.start);
            let kind = if random.one_in(2) { AccessKind::Read } else { AccessKind::Write };
            output.access(0, inside(0, step), kind, variable);
        }
        true
    }
}
