//! Pairs of long transactions that run at the same time.

use super::random::Random;
use super::{LABELS, Output, Plan, inside};
use crate::event::{AccessKind, Op, RegionId};
use std::ops::Range;

/// Two threads. In each round both have one region; the left one publishes, the right one looks.
#[derive(Debug)]
pub(super) struct Pair {
    sides: [Side; 2],
    /// False if there is no right thread.
    complete: bool,
    /// Never written.
    common: Range<u32>,
    /// Written by the left side, up to `next` in this round.
    pool: Range<u32>,
    next: u32,
    /// Accessed by the right side only.
    own: Range<u32>,
    region_length: u32,
    violations: f64,
    label: u32,
    torn: bool,
}

/// What one thread of a pair does in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Before,
    /// With so many accesses to go.
    Inside(u32),
    After,
}

impl Pair {
    pub(super) fn all(plan: &Plan) -> Vec<Pair> {
        let pairs = plan.threads.div_ceil(2);
        let common = 0..plan.variables / 2;
        let share = (plan.variables - common.end) / pairs;
        (0..pairs)
            .map(|index| {
                let start = common.end + index * share;
                // The plan has at least two variables for each thread, so that none of these is empty.
                let middle = start + share / 2;
                let complete = 2 * index + 1 < plan.threads;
                Pair {
                    sides: [Side::Before, if complete { Side::Before } else { Side::After }],
                    complete,
                    common: common.clone(),
                    pool: start..middle,
                    next: start,
                    own: middle..start + share,
                    region_length: plan.region_length,
                    violations: plan.violations,
                    label: 0,
                    torn: false,
                }
            })
            .collect()
    }

    pub(super) fn advance(
        &mut self,
        output: &mut Output<'_>,
        random: &mut Random,
        thread: u32,
        draining: bool,
    ) -> bool {
        let me = (thread % 2) as usize;
        if self.sides == [Side::After; 2] && !draining {
            self.sides = [Side::Before, if self.complete { Side::Before } else { Side::After }];
            self.next = self.pool.start;
            self.torn = false;
        }
        match self.sides[me] {
            Side::After => return false,
            Side::Before if draining => {
                self.sides[me] = Side::After;
                return false;
            }
            Side::Before => {
                if self.sides[1 - me] == Side::Before {
                    self.torn = self.complete && random.chance(self.violations);
                    self.label = random.below(LABELS) + if self.torn { LABELS } else { 0 };
                }
                self.sides[me] = Side::Inside(self.region_length);
                output.push(thread, inside(self.label, 0), Op::Begin { region: RegionId(self.label) });
            }
            Side::Inside(_) if draining => self.end(output, thread),
            Side::Inside(0) if self.torn => match self.sides[1 - me] {
                // There has to be an encounter first.
                Side::Before => return false,
                Side::Inside(_) => self.tear(output, thread),
                Side::After => self.end(output, thread),
            },
            Side::Inside(0) => self.end(output, thread),
            Side::Inside(left) => {
                self.sides[me] = Side::Inside(left - 1);
                self.access(output, random, thread);
            }
        }
        true
    }

    fn end(&mut self, output: &mut Output<'_>, thread: u32) {
        self.sides[(thread % 2) as usize] = Side::After;
        output.push(thread, inside(self.label, 15), Op::End);
    }

    /// The left side writes, the right side writes over it, the left side looks.
    fn tear(&mut self, output: &mut Output<'_>, thread: u32) {
        let (left, right) = (thread & !1, thread | 1);
        self.torn = false;
        output.access(left, inside(self.label, 12), AccessKind::Write, self.pool.start);
        output.access(right, inside(self.label, 13), AccessKind::Write, self.pool.start);
        output.access(left, inside(self.label, 14), AccessKind::Read, self.pool.start);
    }

    fn access(&mut self, output: &mut Output<'_>, random: &mut Random, thread: u32) {
        let mut pick = |range: Range<u32>| range.start + random.below((range.end - range.start).max(1));
        let published = self.pool.start..self.next;
        let choice = pick(0..8);
        let (kind, variable) = match (thread % 2, choice) {
            (0, 0 | 1) if self.next < self.pool.end => {
                self.next += 1;
                (AccessKind::Write, self.next - 1)
            }
            (_, 2..=4) if !published.is_empty() => (AccessKind::Read, pick(published)),
            (1, 0) => (AccessKind::Write, pick(self.own.clone())),
            _ => (AccessKind::Read, pick(self.common.clone())),
        };
        output.access(thread, inside(self.label, 1 + choice), kind, variable);
    }
}
