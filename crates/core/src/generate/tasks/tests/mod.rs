//! The promises of the generator of task programs, checked on its traces.

mod model;

use crate::event::{Event, LockMode, Op, SiteId};
use crate::generate::{Discipline, Family, Generator, LABELS, Plan, PlanError};
use crate::trace::{Batch, Sink, Source, Tables, native, std_format};
use model::Model;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::Cursor;

fn events(plan: &Plan) -> (Vec<Event>, Tables) {
    let mut generator = Generator::new(plan.clone()).unwrap();
    let events = drain(&mut generator);
    (events, generator.tables().clone())
}

fn drain(source: &mut dyn Source) -> Vec<Event> {
    let mut batch = Batch::new();
    let mut events = Vec::new();
    loop {
        let more = source.fill(&mut batch).unwrap();
        events.extend_from_slice(batch.events());
        if !more {
            return events;
        }
    }
}

/// A plan with much contention in a trace small enough for the definitions.
fn small(family: Family, discipline: Discipline, seed: u64) -> Plan {
    let usual = Plan::new(family);
    Plan {
        events: 300,
        threads: 1 + (seed % 5) as u32,
        locks: 2 + (seed % 3) as u32,
        variables: 32 + (seed % 40) as u32,
        region_length: 1 + (seed % 7) as u32,
        tasks: usual.tasks.map(|_| 1 + (seed % 16) as u32),
        depth: usual.depth.map(|_| 1 + (seed % 4) as u32),
        discipline: Some(discipline),
        seed,
        ..usual
    }
}

fn all_small(seeds: u64) -> impl Iterator<Item = Plan> {
    Family::TASKS.into_iter().flat_map(move |family| {
        Discipline::ALL
            .into_iter()
            .flat_map(move |discipline| (0..seeds).map(move |seed| small(family, discipline, seed)))
    })
}

fn function(tables: &Tables, site: SiteId) -> &str {
    tables.function_name(tables.site(site).expect("a known site").function).expect("a named function")
}

#[test]
fn without_violations_there_are_none() {
    for plan in all_small(25) {
        let (events, _) = events(&plan);
        let model = Model::of(&events);
        assert!(events.len() >= 300 && events.len() < 1000, "{plan:?}: {} events", events.len());
        assert!(model.races().is_empty(), "{plan:?}");
        assert!(model.torn().is_empty(), "{plan:?}");
        assert!(model.blocks.iter().all(|label| *label < LABELS));
    }
}

#[test]
fn what_is_planted_can_be_found_and_nothing_else() {
    let (mut races, mut torn) = (0, 0);
    for plan in all_small(25) {
        let plan = Plan { violations: 0.4, ..plan };
        let unlocked = plan.discipline == Some(Discipline::None);
        let (events, tables) = events(&plan);
        let model = Model::of(&events);
        let is_in = |site, what: &str| function(&tables, site).starts_with(what);
        let found: Vec<_> = model.races();
        for (a, b) in &found {
            let racy = is_in(a.site, "racy") && is_in(b.site, "racy");
            let planted = |site| is_in(site, "torn") || is_in(site, "intruder");
            assert!(racy || (unlocked && planted(a.site) && planted(b.site)), "{plan:?}");
        }
        for access in model.accesses.iter().filter(|access| is_in(access.site, "racy")) {
            assert!(
                found.iter().any(|(a, b)| std::ptr::eq(*a, access) || std::ptr::eq(*b, access)),
                "{plan:?}"
            );
            races += 1;
        }
        let found: BTreeSet<Option<usize>> = model
            .torn()
            .iter()
            .map(|(first, third)| {
                assert_eq!(first.block, third.block, "{plan:?}");
                first.block
            })
            .collect();
        let planted: BTreeSet<Option<usize>> =
            (0..model.blocks.len()).filter(|block| model.blocks[*block] >= LABELS).map(Some).collect();
        assert_eq!(found, planted, "{plan:?}");
        torn += planted.len();
    }
    assert!(races > 1000 && torn > 1000, "{races} racy accesses, {torn} torn regions");
}

#[test]
fn about_the_wanted_share_of_tasks_is_at_fault() {
    for family in Family::TASKS {
        let plan = Plan { events: 200_000, violations: 0.1, ..Plan::new(family) };
        let (events, tables) = events(&plan);
        let spawns = events.iter().filter(|event| matches!(event.op, Op::Spawn { .. })).count();
        let torn = events
            .iter()
            .filter(|event| matches!(event.op, Op::Begin { region } if region.0 >= LABELS))
            .count();
        let racy = events.iter().filter(|event| function(&tables, event.site).starts_with("racy")).count();
        let share = (torn + racy / 2) as f64 / spawns as f64;
        assert!((0.08..0.12).contains(&share), "{family}: {share}");
        assert!(torn > 0 && racy > 0);
    }
}

#[test]
fn usual_plans_are_sound_and_use_all_there_is() {
    for family in Family::TASKS {
        for discipline in Discipline::ALL {
            let plan = Plan { events: 8_000, discipline: Some(discipline), ..Plan::new(family) };
            let (events, _) = events(&plan);
            let model = Model::of(&events);
            let size = events.len() as u64;
            assert!(size >= plan.events && size < plan.events + 2000, "{family}, {discipline}: {size}");
            let has = |test: fn(&Op) -> bool| events.iter().any(|event| test(&event.op));
            assert!(has(|op| matches!(op, Op::TaskSuspend { .. })) && model.resumed > 0);
            assert!(has(|op| matches!(op, Op::TaskWait)));
            assert_eq!(has(|op| matches!(op, Op::FinishBegin)), family != Family::TaskTree);
            assert_eq!(model.unwaited > 0, family == Family::TaskNested);
            assert_eq!(has(|op| matches!(op, Op::Acquire { .. })), discipline != Discipline::None);
            let shared = has(|op| matches!(op, Op::Acquire { mode: LockMode::Shared, .. }));
            assert_eq!(shared, discipline == Discipline::ReaderWriter);
            let threads: BTreeSet<u32> = events.iter().map(|event| event.thread.0).collect();
            assert_eq!(threads.len(), 4);
            assert!((8..200).contains(&model.most_live), "{} live tasks", model.most_live);
        }
    }
}

#[test]
fn disciplines_differ_as_their_names_say() {
    for family in Family::TASKS {
        for discipline in Discipline::ALL {
            let plan = Plan { events: 30_000, threads: 1, discipline: Some(discipline), ..Plan::new(family) };
            let (mut held, mut seen): (Vec<u32>, BTreeSet<&str>) = Default::default();
            for event in events(&plan).0 {
                match event.op {
                    Op::Acquire { lock, .. } => {
                        if held.contains(&lock.0) {
                            seen.insert("again");
                        } else if held.iter().any(|other| *other > lock.0) {
                            seen.insert("descending");
                        }
                        held.push(lock.0);
                    }
                    Op::Release { lock, .. } => {
                        let place = held.iter().rposition(|other| *other == lock.0).unwrap();
                        if place + 1 < held.len() {
                            seen.insert("not the last");
                        }
                        held.remove(place);
                    }
                    Op::Spawn { .. } if !held.is_empty() => {
                        seen.insert("spawn");
                    }
                    _ => {}
                }
            }
            let expected: &[&str] = match discipline {
                Discipline::HandOverHand => &["not the last"],
                Discipline::AnyOrder => &["descending", "not the last"],
                Discipline::AcrossSpawns => &["spawn"],
                Discipline::Recursive => &["again", "not the last"],
                _ => &[],
            };
            let expected: BTreeSet<&str> = expected.iter().copied().collect();
            if discipline == Discipline::Recursive {
                assert!(seen.contains("again") && seen.is_subset(&expected), "{family}: {seen:?}");
            } else {
                assert_eq!(seen, expected, "{family}, {discipline}");
            }
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_trace() {
    for family in Family::TASKS {
        let mut rooms = Vec::new();
        for events in [100_000, 3_000_000] {
            let plan = Plan { events, region_length: 2, violations: 0.01, ..Plan::new(family) };
            let mut generator = Generator::new(plan).unwrap();
            let mut batch = Batch::new();
            let mut names = 0;
            while generator.fill(&mut batch).unwrap() {
                names = generator.tables().sites.len();
            }
            assert_eq!(names, generator.tables().sites.len());
            rooms.push(generator.tasks.as_ref().unwrap().room());
        }
        assert!(rooms[1] < rooms[0] + 100 && rooms[1] < 1000, "{family}: {rooms:?}");
    }
}

#[test]
fn a_phase_of_a_million_tasks_keeps_few_of_them() {
    for (family, threads) in [(Family::TaskLoop, 1), (Family::TaskLoop, 8), (Family::TaskNested, 8)] {
        let plan = Plan {
            events: 5_000_000,
            threads,
            tasks: Some(1_000_000),
            variables: 2_000_000,
            region_length: 1,
            ..Plan::new(family)
        };
        let mut generator = Generator::new(plan).unwrap();
        let mut batch = Batch::new();
        while generator.fill(&mut batch).unwrap() {}
        let room = generator.tasks.as_ref().unwrap().room();
        assert!(room < 2000, "{family}: room for {room} tasks and scopes");
    }
}

#[test]
fn a_seed_gives_one_trace() {
    for family in Family::TASKS {
        let trace = |seed| events(&Plan { events: 3000, seed, violations: 0.1, ..Plan::new(family) }).0;
        assert!(trace(1) == trace(1) && trace(1) != trace(2));
    }
}

#[test]
fn plans_are_checked() {
    let tree = Plan::new(Family::TaskTree);
    let nested = Plan::new(Family::TaskNested);
    let bad = [
        Plan { tasks: Some(3), ..Plan::new(Family::Mixed) },
        Plan { depth: Some(3), ..Plan::new(Family::FewThreads) },
        Plan { discipline: Some(Discipline::Nested), ..Plan::new(Family::Mutual) },
        Plan { depth: Some(3), ..Plan::new(Family::TaskLoop) },
        Plan { tasks: Some(3), ..tree.clone() },
        Plan { depth: Some(0), ..tree.clone() },
        Plan { depth: Some(23), ..tree.clone() },
        Plan { depth: Some(20), ..tree.clone() },
        Plan { depth: Some(65), ..nested.clone() },
        Plan { tasks: Some(0), ..nested.clone() },
        Plan { variables: 31, ..nested.clone() },
        Plan { locks: 0, ..nested.clone() },
        Plan { locks: 1, discipline: Some(Discipline::HandOverHand), ..nested.clone() },
        Plan { threads: 0, ..nested.clone() },
        Plan { tasks: Some(3000), ..Plan::new(Family::TaskLoop) },
    ];
    for plan in bad {
        assert!(Generator::new(plan.clone()).is_err(), "{plan:?}");
    }
    let error = Generator::new(Plan { tasks: Some(3), ..tree }).unwrap_err();
    assert_eq!(error.to_string(), "the number of tasks cannot be chosen for the family `task-tree`");
    assert!(Generator::new(Plan { locks: 0, discipline: Some(Discipline::None), ..nested }).is_ok());
    for discipline in Discipline::ALL {
        assert_eq!(discipline.name().parse(), Ok(discipline));
    }
    assert!(matches!("other".parse::<Discipline>(), Err(PlanError::UnknownDiscipline(_))));
    for plan in all_small(3) {
        Model::of(&events(&Plan { events: 0, ..plan }).0);
    }
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let family = proptest::sample::select(Family::TASKS.to_vec());
    let discipline = proptest::sample::select(Discipline::ALL.to_vec());
    // A trace without any event is refused by the readers.
    (family, discipline, any::<u64>(), 1..3000_u64, 0..2_u32).prop_map(
        |(family, discipline, seed, events, planted)| Plan {
            events,
            violations: f64::from(planted) * 0.2,
            ..small(family, discipline, seed)
        },
    )
}

fn write(sink: &mut impl Sink, events: &[Event], tables: &Tables) {
    let mut batch = Batch::new();
    for (position, event) in (1..).zip(events) {
        batch.push(position, *event);
    }
    sink.write(&batch, tables).unwrap();
    sink.finish(tables).unwrap();
}

proptest! {
    #[test]
    fn native_traces_come_back(plan in any_plan()) {
        let (events, tables) = events(&plan);
        Model::of(&events);
        let mut writer = native::Writer::new(Vec::new()).unwrap();
        write(&mut writer, &events, &tables);
        let bytes = writer.into_inner();
        let mut reader = native::Reader::new(Cursor::new(bytes)).unwrap();
        prop_assert_eq!(&drain(&mut reader), &events);
        prop_assert_eq!(reader.tables(), &tables);
    }

    #[test]
    fn text_comes_back(plan in any_plan()) {
        let (events, tables) = events(&plan);
        let text = |events: &[Event], tables: &Tables| {
            let mut writer = std_format::Writer::new(Vec::new());
            write(&mut writer, events, tables);
            writer.into_inner()
        };
        let bytes = text(&events, &tables);
        let mut reader = std_format::Reader::new(Cursor::new(bytes.clone()));
        let again = drain(&mut reader);
        // Text has names and no numbers: things are numbered in the order of their appearance. Tasks are, and so stay.
        let tasks = |events: &[Event]| -> Vec<Op> {
            events.iter().map(|event| event.op).filter(is_about_tasks).collect()
        };
        prop_assert_eq!(again.len(), events.len());
        prop_assert_eq!(tasks(&again), tasks(&events));
        prop_assert_eq!(text(&again, reader.tables()), bytes);
    }
}

fn is_about_tasks(op: &Op) -> bool {
    matches!(
        op,
        Op::Spawn { .. }
            | Op::TaskBegin { .. }
            | Op::TaskSuspend { .. }
            | Op::TaskEnd { .. }
            | Op::TaskWait
            | Op::FinishBegin
            | Op::FinishEnd
    )
}
