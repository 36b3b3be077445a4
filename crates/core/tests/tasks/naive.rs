//! The oracle against a plainer one still: a list of all executions, with nothing shared between them.

use crate::support::execute::{Execution, Move, is_execution};
use crate::support::explore::{Locks, States};
use crate::support::generate::{Discipline, generate};
use crate::support::oracle::{GroupViolation, Oracle, Race, Violation, apparent_races, apparent_violations};
use crate::support::program::{Op, OpId, Program, Regions};
use crate::support::random::Random;
use std::collections::BTreeSet;

/// More executions than this are too many to list.
const LIMIT: usize = 1_500;

/// All executions that cannot go on, as orders of operations, and all pairs of accesses that were next at the same time.
#[derive(Default)]
struct Executions {
    all: Vec<Vec<OpId>>,
    together: BTreeSet<(OpId, OpId)>,
}

/// Lists them, unless there are too many.
fn list(program: &Program) -> Option<Executions> {
    fn go_on(execution: &Execution<'_>, order: &mut Vec<OpId>, executions: &mut Executions) -> bool {
        let mut execution = execution.clone();
        execution.end_all();
        let next: Vec<OpId> = (0..execution.positions.len())
            .filter_map(|task| execution.next(task))
            .filter_map(|choice| if let Move::Operation(id) = choice { Some(id) } else { None })
            .collect();
        for first in &next {
            executions.together.extend(next.iter().map(|second| (*first, *second)));
        }
        if next.is_empty() {
            executions.all.push(order.clone());
        }
        next.into_iter().all(|id| {
            let mut after = execution.clone();
            after.make(Move::Operation(id));
            order.push(id);
            let small = go_on(&after, order, executions);
            order.pop();
            small && executions.all.len() <= LIMIT
        })
    }
    let mut executions = Executions::default();
    go_on(&Execution::new(program), &mut Vec::new(), &mut executions).then_some(executions)
}

impl Executions {
    /// Some execution does all these operations in such an order that each pair is as it is given.
    fn show(&self, pairs: &[(OpId, OpId)]) -> bool {
        self.all.iter().any(|order| {
            let place = |id: OpId| order.iter().position(|other| *other == id);
            pairs.iter().all(|(first, second)| match (place(*first), place(*second)) {
                (Some(first), Some(second)) => first < second,
                _ => false,
            })
        })
    }
}

fn naive_races(program: &Program, executions: &Executions) -> BTreeSet<Race> {
    let mut races = BTreeSet::new();
    for (a, first) in program.accesses() {
        for (b, second) in program.accesses() {
            let plain = !(first.atomic && second.atomic);
            if a.task < b.task && first.conflicts(second) && plain && executions.together.contains(&(a, b)) {
                races.insert((first.location, a, b));
            }
        }
    }
    races
}

/// Whether two accesses are of one region instance, by looking at what lies between them.
fn same_region(program: &Program, a: OpId, b: OpId, regions: Regions) -> bool {
    let ops = &program.tasks[a.task()];
    let (low, high) = (a.index().min(b.index()), a.index().max(b.index()));
    let depth = |index: usize| {
        let count = |wanted: fn(&Op) -> bool| ops[..index].iter().filter(|op| wanted(op)).count();
        count(|op| matches!(op, Op::Begin(_))) - count(|op| matches!(op, Op::End))
    };
    // The end of a block itself still counts as inside, and what comes behind it as outside.
    let in_one_block = (low..=high).all(|index| depth(index) > 0);
    a.task == b.task
        && !ops[low..high].iter().any(|op| op.is_construct())
        && match regions {
            Regions::Steps => true,
            Regions::Blocks => in_one_block,
            Regions::Marked => in_one_block || (depth(low) == 0 && depth(high) == 0),
        }
}

fn naive_violations(program: &Program, executions: &Executions, regions: Regions) -> BTreeSet<Violation> {
    let mut violations = BTreeSet::new();
    for (a1, first) in program.accesses() {
        for (a3, third) in program.accesses() {
            for (a2, second) in program.accesses() {
                let unserializable = match (first.writes(), second.writes(), third.writes()) {
                    (_, true, _) | (true, false, true) => true,
                    (_, false, _) => false,
                };
                if a1 < a3
                    && same_region(program, a1, a3, regions)
                    && a2.task != a1.task
                    && first.location == second.location
                    && second.location == third.location
                    && unserializable
                    && executions.show(&[(a1, a2), (a2, a3)])
                {
                    violations.insert((first.location, a1, a2, a3));
                }
            }
        }
    }
    violations
}

fn naive_groups(
    program: &Program,
    executions: &Executions,
    group: &BTreeSet<u8>,
    regions: Regions,
) -> BTreeSet<GroupViolation> {
    let accesses: Vec<_> =
        program.accesses().filter(|(_, access)| group.contains(&access.location)).collect();
    let mut violations = BTreeSet::new();
    for (a1, first) in &accesses {
        for (a3, third) in &accesses {
            if a1 >= a3 || !same_region(program, *a1, *a3, regions) {
                continue;
            }
            for (b1, after) in &accesses {
                for (b2, before) in &accesses {
                    if b1.task != a1.task
                        && (b1 == b2 || same_region(program, *b1, *b2, regions))
                        && after.conflicts(*first)
                        && before.conflicts(*third)
                        && executions.show(&[(*a1, *b1), (*b2, *a3)])
                    {
                        violations.insert(GroupViolation { a1: *a1, a3: *a3, b1: *b1, b2: *b2 });
                    }
                }
            }
        }
    }
    violations
}

/// The program with operations instead of the locks that hinder nobody.
fn without_locks(program: &Program) -> Program {
    let mut free = program.clone();
    for (number, op) in free.tasks.iter_mut().flatten().enumerate() {
        if matches!(op, Op::Acquire(..) | Op::Release(..)) {
            // A token that nobody awaits.
            *op = Op::Signal(100 + number as u8);
        }
    }
    free
}

fn naive_apparent(program: &Program, executions: &Executions) -> BTreeSet<Race> {
    let held = |id: OpId| program.held(id.task())[id.index()];
    let mut races = BTreeSet::new();
    for (a, first) in program.accesses() {
        for (b, second) in program.accesses() {
            let plain = !(first.atomic && second.atomic);
            if a.task < b.task
                && first.conflicts(second)
                && plain
                && !held(a).excludes(held(b))
                && executions.show(&[(a, b)])
                && executions.show(&[(b, a)])
            {
                races.insert((first.location, a, b));
            }
        }
    }
    races
}

fn naive_apparent_violations(
    program: &Program,
    executions: &Executions,
    regions: Regions,
) -> BTreeSet<Violation> {
    let held: Vec<_> = (0..program.tasks.len()).map(|task| program.held(task)).collect();
    let mut violations = naive_violations(program, executions, regions);
    violations.retain(|(_, a1, a2, a3)| {
        executions.all.iter().any(|order| {
            let place = |id: &OpId| order.iter().position(|other| other == id);
            let (Some(first), Some(second), Some(third)) = (place(a1), place(a2), place(a3)) else {
                return false;
            };
            let done = order[..second].iter().filter(|id| id.task == a1.task).count();
            let apart = !held[a1.task()][done].excludes(held[a2.task()][a2.index()]);
            first < second && second < third && apart
        })
    });
    violations
}

#[test]
fn states_tell_what_executions_tell() {
    let group = BTreeSet::from([0, 1]);
    for discipline in Discipline::ALL {
        let mut compared = 0;
        for seed in 0..200 {
            let program = generate(discipline, &mut Random::new(seed));
            let Some(executions) = list(&program) else { continue };
            compared += 1;
            let oracle = Oracle::new(&program);
            assert_eq!(oracle.races(), naive_races(&program, &executions), "{program}");
            for regions in [Regions::Steps, Regions::Blocks, Regions::Marked] {
                let expected = naive_violations(&program, &executions, regions);
                assert_eq!(oracle.violations(regions), expected, "{regions:?} {program}");
                if regions == Regions::Blocks {
                    continue;
                }
                let expected = naive_groups(&program, &executions, &group, regions);
                assert_eq!(oracle.group_violations(&group, regions), expected, "{regions:?} {program}");
            }
            if let Some(executions) = list(&without_locks(&program)) {
                assert_eq!(apparent_races(&program), naive_apparent(&program, &executions), "{program}");
                for regions in [Regions::Steps, Regions::Blocks] {
                    let expected = naive_apparent_violations(&program, &executions, regions);
                    assert_eq!(apparent_violations(&program, regions), expected, "{regions:?} {program}");
                }
            }
            let states = States::new(&program, Locks::Respected);
            for (a, _) in program.accesses() {
                for (b, _) in program.accesses().filter(|(b, _)| b.task != a.task) {
                    assert_eq!(
                        states.has_execution(&[(a, b)]),
                        executions.show(&[(a, b)]),
                        "{a:?} {b:?} {program}"
                    );
                }
            }
            for order in executions.all.iter().take(5) {
                assert!(is_execution(&program, order), "{program}: {order:?}");
            }
        }
        assert!(compared > 60, "{discipline:?}: only {compared} programs were small enough");
    }
}
