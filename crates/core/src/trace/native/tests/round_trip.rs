//! What is written is read back.

use super::*;
use crate::trace::native::{BLOCK_HEADER_BYTES, FILE_HEADER_BYTES, MAX_TEXT_BYTES};
use crate::trace::{FileId, Location, Module, ModuleId, NameKind, Place, Site};

fn some_tables() -> Tables {
    let mut tables = Tables::default();
    for kind in NameKind::ALL {
        for number in 0..3 {
            tables.add_name(kind, &format!("{kind:?} {number} – ä"));
        }
        tables.set_name(kind, 7, "late");
    }
    tables.modules.push(Module {
        path: "/bin/program".into(),
        base: 0x5555_0000_0000,
        size: 4096,
        build_id: vec![1, 2, 255].into(),
    });
    tables.sites.push(Site::default());
    tables.sites.push(Site { place: Place::Label("here".into()), function: FunctionId(2) });
    tables.sites.push(Site {
        place: Place::Source { file: FileId(1), line: 12, column: u32::MAX },
        function: FunctionId::NONE,
    });
    tables
        .sites
        .push(Site { place: Place::Code { module: ModuleId(0), offset: u64::MAX }, function: FunctionId(0) });
    tables.locations.insert(16, Location { size: 4, name: "counter".into() });
    tables.locations.insert(u64::MAX, Location { size: u32::MAX, name: "".into() });
    tables
}

proptest! {
    #[test]
    fn every_operation_survives(
        events in prop::collection::vec(any_event(5), 0..400),
        checkpoint_events in 1u32..300,
    ) {
        let tables = some_tables();
        let read = read(&written(&events, &tables, checkpoint_events), STRICT).unwrap();
        prop_assert_eq!(read, ReadBack { events, tables, loss: None });
    }
}

#[test]
fn long_traces_keep_their_order() {
    let mut events = Vec::new();
    let mut random = 1u64;
    for number in 0..200_000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        events.push(write_access((random >> 33) as u32 % 7, number));
    }
    for checkpoint_events in [100, 50_000, u32::MAX] {
        let read = read(&written(&events, &Tables::default(), checkpoint_events), STRICT).unwrap();
        assert!(read.events == events, "checkpoint every {checkpoint_events}");
        assert_eq!(read.loss, None);
    }
}

#[test]
fn tables_that_grow_while_events_are_written() {
    let mut tables = Tables::default();
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.set_checkpoint_events(10);
    let mut events = Vec::new();
    for number in 0..100 {
        let name = tables.add_name(NameKind::Lock, &format!("lock {number}"));
        tables.sites.push(Site::default());
        tables.locations.insert(1000 - u64::from(name), Location { size: 1, name: "x".into() });
        tables.set_name(NameKind::Thread, name * 2, "even");
        events.push(event(0, name, Op::Acquire { lock: LockId(name), mode: LockMode::Shared }));
        writer.write(&batch_of(&events[events.len() - 1..]), &tables).unwrap();
    }
    tables.set_name(NameKind::Thread, 1, "named late");
    tables.sites[3].place = Place::Label("placed late".into());
    writer.finish(&tables).unwrap();
    assert_eq!(read(&writer.into_inner(), STRICT).unwrap(), ReadBack { events, tables, loss: None });
}

#[test]
fn large_tables_take_several_blocks() {
    let mut tables = Tables::default();
    for number in 0..20_000 {
        tables.add_name(NameKind::Function, &format!("function_{number}"));
        tables.sites.push(Site { place: Place::Unknown, function: FunctionId(number) });
    }
    let read = read(&written(&[], &tables, 10), STRICT).unwrap();
    assert_eq!(read.tables, tables);
}

#[test]
fn long_names_are_cut_at_a_character() {
    let mut tables = Tables::default();
    tables.add_name(NameKind::Function, &"ä€".repeat(MAX_TEXT_BYTES));
    let read = read(&written(&[], &tables, 10), STRICT).unwrap();
    let name = read.tables.name(NameKind::Function, 0).unwrap();
    assert!(name.len() <= MAX_TEXT_BYTES && name.len() > MAX_TEXT_BYTES - 4);
    assert!(tables.name(NameKind::Function, 0).unwrap().starts_with(name));
}

#[test]
fn a_trace_without_events_is_complete() {
    let bytes = written(&[], &Tables::default(), 10);
    assert_eq!(bytes.len(), FILE_HEADER_BYTES + BLOCK_HEADER_BYTES);
    let read = read(&bytes, STRICT).unwrap();
    assert_eq!(read, ReadBack { events: vec![], tables: Tables::default(), loss: None });
}

#[test]
fn thousands_of_threads() {
    let threads = 5000;
    let mut events = Vec::new();
    for round in 0..20 {
        for thread in 0..threads {
            events.push(write_access((thread * 7919) % threads, round));
        }
    }
    for checkpoint_events in [30_000, u32::MAX] {
        let read = read(&written(&events, &Tables::default(), checkpoint_events), STRICT).unwrap();
        assert!(read.events == events);
    }
}

#[test]
fn the_highest_thread_number_needs_no_huge_index() {
    let events = [write_access(MAX_THREADS - 1, 1)];
    assert_eq!(read(&written(&events, &Tables::default(), 10), STRICT).unwrap().events, events);
}

#[test]
fn what_cannot_be_read_is_not_written() {
    let tables = Tables::default();
    let impossible = [
        write_access(MAX_THREADS, 1),
        write_access(u32::MAX, 1),
        event(0, 0, Op::Fork { child: ThreadId::NONE }),
        event(0, 0, Op::Acquire { lock: LockId(1 << 28), mode: LockMode::Exclusive }),
        event(0, 1 << 28, Op::End),
    ];
    for event in impossible {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let error = writer.write(&batch_of(&[event]), &tables).unwrap_err();
        assert!(error.to_string().contains("out of range"), "{error}");
        // The writer can go on: nothing of the event was written.
        writer.write(&batch_of(&[write_access(3, 3)]), &tables).unwrap();
        writer.finish(&tables).unwrap();
        assert_eq!(read(&writer.into_inner(), STRICT).unwrap().events, [write_access(3, 3)]);
    }
    let mut broken = Tables::default();
    broken
        .sites
        .push(Site { place: Place::Code { module: ModuleId(0), offset: 0 }, function: FunctionId::NONE });
    assert!(Writer::new(Vec::new()).unwrap().finish(&broken).is_err());
}
