//! What must hold for all programs, and that random programs are worth looking at.

use crate::support::cases;
use crate::support::explore::{Locks, States};
use crate::support::generate::{Discipline, generate};
use crate::support::oracle::{Apparent, Oracle, racy_locations, torn_locations};
use crate::support::program::{Held, Op, Program, Regions};
use crate::support::random::Random;
use std::collections::BTreeSet;

/// How many programs have something.
#[derive(Default, Debug)]
struct Shares {
    programs: u64,
    racy: u64,
    /// No race, not even an apparent one, and no violation.
    clean: u64,
    /// A step is torn.
    torn: u64,
    torn_without_race: u64,
    torn_blocks: u64,
    torn_groups: u64,
    /// An apparent race that no schedule shows.
    infeasible: u64,
    /// An apparent violation that no schedule shows.
    infeasible_torn: u64,
    /// A lock is held at a task construct.
    held_across: u64,
    blocks: u64,
    edges: u64,
    locks: u64,
    atomics: u64,
    /// Some schedule runs into a deadlock.
    stuck: u64,
    /// A task goes on beside a grandchild although it has waited for the child.
    escaping: u64,
}

impl Shares {
    /// Looks at a program, and checks the laws for it.
    fn add(&mut self, discipline: Discipline, program: &Program) {
        assert_eq!(program.to_string().parse().as_ref(), Ok(program), "the text form must lead back");
        let oracle = Oracle::new(program);
        let appearance = Apparent::new(program);
        let (races, apparent) = (oracle.races(), appearance.races());
        assert!(races.is_subset(&apparent), "{program}: {races:?} {apparent:?}");
        let steps = oracle.violations(Regions::Steps);
        let blocks = oracle.violations(Regions::Blocks);
        let apparent_steps = appearance.violations(Regions::Steps);
        assert!(blocks.is_subset(&steps), "{program}: {blocks:?} {steps:?}");
        assert!(steps.is_subset(&apparent_steps), "{program}: {steps:?} {apparent_steps:?}");
        if !program.uses_locks() || discipline.apparent_is_feasible() {
            assert_eq!(races, apparent, "{program}");
            assert_eq!(steps, apparent_steps, "{program}");
            assert_eq!(blocks, appearance.violations(Regions::Blocks), "{program}");
        }
        let marked = oracle.violations(Regions::Marked);
        assert!(blocks.is_subset(&marked) && marked.is_subset(&steps), "{program}: {marked:?}");
        if !program.uses_blocks() {
            assert!(blocks.is_empty(), "{program}: {blocks:?}");
            assert_eq!(marked, steps, "{program}");
        }
        // What is torn on one location is torn in the group of that location alone, and the other way round.
        for location in 0..3 {
            let group = oracle.group_violations(&BTreeSet::from([location]), Regions::Steps);
            assert_eq!(!group.is_empty(), torn_locations(&steps).contains(&location), "{program}: {group:?}");
        }
        let groups = oracle.group_violations(&BTreeSet::from([0, 1]), Regions::Steps);
        let both = torn_locations(&steps).iter().any(|location| *location < 2);
        assert!(!both || !groups.is_empty(), "{program}");

        self.programs += 1;
        self.racy += u64::from(!racy_locations(&races).is_empty());
        self.clean += u64::from(apparent.is_empty() && steps.is_empty());
        self.torn += u64::from(!steps.is_empty());
        self.torn_without_race += u64::from(!steps.is_empty() && races.is_empty());
        self.torn_blocks += u64::from(!blocks.is_empty());
        self.torn_groups += u64::from(!groups.is_empty() && !both);
        self.infeasible += u64::from(apparent != races);
        self.infeasible_torn += u64::from(apparent_steps != steps);
        self.held_across += u64::from(
            program
                .ops()
                .any(|(id, op)| op.is_construct() && program.held(id.task())[id.index()] != Held::default()),
        );
        self.blocks += u64::from(program.uses_blocks());
        self.edges += u64::from(program.uses_edges());
        self.locks += u64::from(program.uses_locks());
        self.atomics += u64::from(program.uses_atomics());
        self.escaping += u64::from(discipline == Discipline::Escaping && lets_escape(program));
        self.stuck += u64::from(oracle.can_get_stuck());
        assert!(!oracle.can_get_stuck() || discipline.can_get_stuck(), "{program}");
    }
}

/// True if a task can do something after a wait before a descendant of a child that it waited for does something.
fn lets_escape(program: &Program) -> bool {
    let states = States::new(program, Locks::Respected);
    program.ops().filter(|(_, op)| *op == Op::Wait).any(|(wait, _)| {
        let mut within = Vec::new();
        for child in program.waits_for(wait) {
            program.descendants(child, &mut within);
        }
        program.accesses().filter(|(id, _)| id.task == wait.task && *id > wait).any(|(later, _)| {
            let mut escaped = program.accesses().filter(|(id, _)| within.contains(&id.task()));
            escaped.any(|(id, _)| states.has_execution(&[(later, id)]))
        })
    })
}

/// The shares of a discipline over so many programs, all laws checked.
fn shares(discipline: Discipline, programs: u64) -> Shares {
    let mut shares = Shares::default();
    for seed in 0..programs {
        shares.add(discipline, &generate(discipline, &mut Random::new(seed)));
    }
    shares
}

/// Checks the laws on programs of a discipline, and that enough of these have something to find, or nothing.
fn check(discipline: Discipline) {
    let shares = shares(discipline, cases());
    let at_least = |what: &str, count: u64, permille: u64| {
        assert!(count * 1000 >= permille * shares.programs, "too few {what}: {shares:?}");
    };
    at_least("racy", shares.racy, 200);
    at_least("clean", shares.clean, 200);
    at_least("torn", shares.torn, 300);
    at_least("torn blocks", shares.torn_blocks, 30);
    at_least("with blocks", shares.blocks, 250);
    at_least("with atomics", shares.atomics, 20);
    match discipline {
        Discipline::NoLocks => return,
        Discipline::Groups => at_least("torn groups", shares.torn_groups, 40),
        Discipline::Edges => at_least("with edges", shares.edges, 600),
        Discipline::Escaping => at_least("escaping", shares.escaping, 200),
        Discipline::AnyOrder | Discipline::AcrossSpawns => {
            at_least("infeasible", shares.infeasible, 5);
            at_least("infeasible violations", shares.infeasible_torn, 5);
            at_least("stuck", shares.stuck, 40);
        }
        _ => {}
    }
    if discipline == Discipline::AcrossSpawns {
        at_least("held across", shares.held_across, 300);
    } else {
        assert_eq!(shares.held_across, 0, "{shares:?}");
    }
    at_least("with locks", shares.locks, 300);
    at_least("torn without a race", shares.torn_without_race, 10);
}

/// One test for each discipline, so that they run side by side.
macro_rules! laws {
    ($($name:ident: $discipline:ident,)*) => {
        $(
            #[test]
            fn $name() {
                check(Discipline::$discipline);
            }
        )*

        #[test]
        fn no_discipline_is_forgotten() {
            assert_eq!(Discipline::ALL, [$(Discipline::$discipline),*]);
        }
    };
}

laws! {
    without_locks: NoLocks,
    nested_and_ordered: NestedOrdered,
    hand_over_hand: HandOverHand,
    any_order: AnyOrder,
    across_spawns: AcrossSpawns,
    reader_and_writer: ReaderWriter,
    recursive: Recursive,
    edges: Edges,
    escaping: Escaping,
    groups: Groups,
}
