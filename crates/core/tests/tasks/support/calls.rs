//! Calls of functions that are open at the operations of a program.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

use super::program::{OpId, Program};
use super::random::Random;
use keirin_core::analysis::tasks::Calls;

/// For each operation of each task the open calls, by their numbers, the outermost first; and its instruction.
#[derive(Clone, Debug)]
pub(crate) struct OpenCalls(Vec<Vec<(Vec<u32>, u64)>>);

impl OpenCalls {
    /// Nothing is known of them.
    pub(crate) fn unknown(program: &Program) -> Self {
        Self(program.tasks.iter().map(|ops| vec![(Vec::new(), 0); ops.len()]).collect())
    }

    /// Functions are entered and left at random.
    pub(crate) fn random(program: &Program, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut last = 0;
        let mut open_at = |ops: usize| {
            let mut open = Vec::new();
            let mut all = Vec::with_capacity(ops);
            for _ in 0..ops {
                let left = if random.percent(40) { random.below(3) } else { 0 };
                open.truncate(open.len().saturating_sub(left).max(1));
                let entered = if open.is_empty() || random.percent(40) { random.between(1, 3) } else { 0 };
                for _ in 0..entered {
                    last += 1;
                    open.push(last);
                }
                // Few, so that some are executed again.
                let code = random.between(1, 3) as u64;
                all.push((open.clone(), code));
            }
            all
        };
        Self(program.tasks.iter().map(|ops| open_at(ops.len())).collect())
    }

    fn open(&self, id: OpId) -> &[u32] {
        &self.0[id.task()][id.index()].0
    }

    /// The instruction; 0 if it is not known.
    pub(crate) fn code(&self, id: OpId) -> u64 {
        self.0[id.task()][id.index()].1
    }

    /// What a driver tells of them: the innermost ones.
    pub(crate) fn innermost(&self, id: OpId) -> Calls {
        let mut calls = Calls::default();
        calls.iter_mut().zip(self.open(id).iter().rev()).for_each(|(to, from)| *to = *from);
        calls
    }

    /// True if one call holds both, and neither is more than three calls further in; or if nothing is known.
    pub(crate) fn are_near(&self, one: OpId, other: OpId) -> bool {
        let (one, other) = (self.open(one), self.open(other));
        let common = one.iter().zip(other).take_while(|(one, other)| one == other).count();
        let is_near = |calls: &[u32]| calls.len() - common <= 3;
        one.is_empty() || other.is_empty() || (common > 0 && is_near(one) && is_near(other))
    }
}
