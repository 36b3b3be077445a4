//! Makes a program that shows something smaller, for messages that can be read.

#![allow(dead_code, reason = "taken in by several crates, each of which uses a part")]

use super::program::{Op, OpId, Program};
use std::collections::BTreeSet;

/// A program for which the question still has the answer yes, and from which nothing can be left out: no operation, no two
/// operations of one task (a lock and its release, both ends of a block), no task.
pub(crate) fn shrink(program: &Program, mut holds: impl FnMut(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    'smaller: loop {
        let ids: Vec<OpId> = smallest.ops().map(|(id, _)| id).collect();
        // What leaves out most comes first: a spawn takes its whole task with it.
        let spawns = ids.iter().filter(|id| matches!(smallest.op(**id), Op::Spawn(_)));
        let singles = spawns.chain(&ids).map(|id| BTreeSet::from([*id]));
        let pairs = ids.iter().flat_map(|first| {
            let later = ids.iter().filter(move |second| first < *second && first.task == second.task);
            later.map(move |second| BTreeSet::from([*first, *second]))
        });
        for left_out in singles.chain(pairs) {
            let candidate = without(&smallest, &left_out);
            if candidate.check().is_ok() && holds(&candidate) {
                smallest = candidate;
                continue 'smaller;
            }
        }
        return smallest;
    }
}

/// The program without some operations, and without what makes no sense any more.
fn without(program: &Program, left_out: &BTreeSet<OpId>) -> Program {
    let mut rest = program.clone();
    for (task, ops) in rest.tasks.iter_mut().enumerate() {
        let mut index = 0;
        ops.retain(|_| {
            index += 1;
            !left_out.contains(&OpId::new(task, index - 1))
        });
    }
    let mut reachable = Vec::new();
    rest.descendants(0, &mut reachable);
    let is_there = |task: u8| reachable.contains(&usize::from(task));
    let mut signals = BTreeSet::new();
    for task in &reachable {
        signals.extend(rest.tasks[*task].iter().filter_map(|op| match op {
            Op::Signal(token) => Some(*token),
            _ => None,
        }));
    }
    for ops in &mut rest.tasks {
        ops.retain(|op| match op {
            Op::Join(task) => is_there(*task),
            Op::Order(before, after) => is_there(*before) && is_there(*after),
            Op::Await(token) => signals.contains(token),
            _ => true,
        });
    }
    rest.renumbered()
}
