//! Properties of reading and writing, over random events and texts.

use super::tests::{read, read_pieces, write};
use super::*;
use crate::event::*;
use crate::generate::{Family, Generator, Plan};
use crate::trace::{Batch, Location, NameKind, Place, Site, Source, Tables, TraceError};
use proptest::prelude::*;
use rustc_hash::FxHashMap;

/// Renumbers all ids by their first appearance, which is all that writing and reading may change.
#[derive(Default)]
struct Renumber(FxHashMap<(u8, u64), u32>, FxHashMap<u8, u32>);

impl Renumber {
    fn id(&mut self, kind: u8, id: u32) -> u32 {
        if id == u32::MAX { id } else { self.number(kind, u64::from(id)) }
    }

    fn number(&mut self, kind: u8, key: u64) -> u32 {
        let next = self.1.entry(kind).or_default();
        *self.0.entry((kind, key)).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    fn addr(&mut self, addr: Addr) -> Addr {
        if !VARIABLE_SPACE.contains(&addr.0) {
            return addr;
        }
        Addr(VARIABLE_BASE + 8 * u64::from(self.number(100, addr.0 / 8)) + addr.0 % 8)
    }

    fn event(&mut self, event: &Event) -> Event {
        let mut event = *event;
        event.thread.0 = self.id(0, event.thread.0);
        match &mut event.op {
            Op::Access { addr, .. }
            | Op::Atomic { addr, .. }
            | Op::Alloc { addr, .. }
            | Op::Free { addr, .. }
            | Op::OtherPath { addr, .. } => *addr = self.addr(*addr),
            Op::Group { addr, group, .. } => {
                *addr = self.addr(*addr);
                group.0 = self.id(1, group.0);
            }
            Op::Acquire { lock, .. } | Op::Release { lock, .. } | Op::OtherPathLock { lock, .. } => {
                lock.0 = self.id(2, lock.0)
            }
            Op::Fork { child } | Op::Join { child } => child.0 = self.id(0, child.0),
            Op::Wait { condition } | Op::Notify { condition, .. } => condition.0 = self.id(3, condition.0),
            Op::BarrierArrive { barrier } | Op::BarrierLeave { barrier } => barrier.0 = self.id(4, barrier.0),
            Op::Begin { region } => region.0 = self.id(5, region.0),
            Op::Call { function } => function.0 = self.id(6, function.0),
            Op::Formula { formula } => formula.0 = self.id(20, formula.0),
            Op::Spawn { task }
            | Op::TaskBegin { task }
            | Op::TaskSuspend { task }
            | Op::TaskEnd { task }
            | Op::TaskJoin { task } => {
                task.0 = self.id(7, task.0);
            }
            Op::TaskOrder { before, after } => {
                before.0 = self.id(7, before.0);
                after.0 = self.id(7, after.0);
            }
            Op::LoopEnter { loop_id } | Op::LoopIteration { loop_id } | Op::LoopExit { loop_id } => {
                loop_id.0 = self.id(8, loop_id.0)
            }
            _ => {}
        }
        event.site.0 = self.id(9, event.site.0);
        event
    }
}

fn any_verb() -> impl Strategy<Value = verb::Verb> {
    proptest::sample::select(verb::Verb::all())
}

fn any_event() -> impl Strategy<Value = Event> {
    let addresses = prop_oneof![
        (0..6_u64, 1..=8_u64).prop_flat_map(|(word, size)| {
            (0..=8 - size).prop_map(move |offset| (VARIABLE_BASE + 8 * word + offset, size as u32))
        }),
        (0..6_u64).prop_map(|word| (VARIABLE_BASE + 8 * word, 8)),
        (0x1000..0x1040_u64, 1..20_u32),
        (any::<u32>(), any::<u32>()).prop_map(|(addr, size)| (u64::from(addr), size.max(1))),
    ];
    let site = prop_oneof![Just(u32::MAX), 0..8_u32];
    (any_verb(), 0..6_u32, 0..6_u32, site, any::<u64>(), addresses).prop_map(
        |(verb, thread, id, site, bits, (addr, size))| {
            let addr = Addr(addr);
            let atomic_size = if [1, 2, 4, 8, 16].contains(&size) { size as u8 } else { 1 };
            let task = TaskId(id);
            let op = match verb {
                verb::Verb::Access(kind) => Op::Access { kind, size, addr },
                verb::Verb::Atomic(kind, order) => Op::Atomic { kind, order, size: atomic_size, addr },
                verb::Verb::Fence(order) => Op::Fence { order },
                verb::Verb::Acquire(mode) => Op::Acquire { lock: LockId(id), mode },
                verb::Verb::Release(mode) => Op::Release { lock: LockId(id), mode },
                verb::Verb::Fork => Op::Fork { child: ThreadId(id) },
                verb::Verb::Join => Op::Join { child: ThreadId(id) },
                verb::Verb::ThreadEnd => Op::ThreadEnd,
                verb::Verb::Wait => Op::Wait { condition: ConditionId(id) },
                verb::Verb::Notify { all } => Op::Notify { condition: ConditionId(id), all },
                verb::Verb::BarrierArrive => Op::BarrierArrive { barrier: BarrierId(id) },
                verb::Verb::BarrierLeave => Op::BarrierLeave { barrier: BarrierId(id) },
                verb::Verb::HappensBefore => Op::HappensBefore { token: bits },
                verb::Verb::HappensAfter => Op::HappensAfter { token: bits },
                verb::Verb::Begin => {
                    Op::Begin { region: if id == 0 { RegionId::NONE } else { RegionId(id) } }
                }
                verb::Verb::End | verb::Verb::Location => Op::End,
                verb::Verb::Call => {
                    Op::Call { function: if id == 0 { FunctionId::NONE } else { FunctionId(id) } }
                }
                verb::Verb::Return => Op::Return,
                verb::Verb::Spawn => Op::Spawn { task },
                verb::Verb::TaskBegin => Op::TaskBegin { task },
                verb::Verb::TaskSuspend => Op::TaskSuspend { task },
                verb::Verb::TaskEnd => Op::TaskEnd { task },
                verb::Verb::TaskWait => Op::TaskWait,
                verb::Verb::TaskJoin => Op::TaskJoin { task },
                verb::Verb::TaskOrder => Op::TaskOrder { before: task, after: TaskId(thread) },
                verb::Verb::FinishBegin => Op::FinishBegin,
                verb::Verb::FinishEnd => Op::FinishEnd,
                verb::Verb::Alloc => Op::Alloc { size, addr },
                verb::Verb::Free => Op::Free { size, addr },
                verb::Verb::Branch => Op::Branch { taken: bits & 1 == 1 },
                verb::Verb::LoopEnter => Op::LoopEnter { loop_id: LoopId(id) },
                verb::Verb::LoopIteration => Op::LoopIteration { loop_id: LoopId(id) },
                verb::Verb::LoopExit => Op::LoopExit { loop_id: LoopId(id) },
                verb::Verb::OtherPath(kind) => Op::OtherPath { kind, size, addr },
                verb::Verb::OtherPathLock { mode, acquire } => {
                    Op::OtherPathLock { lock: LockId(id), mode, acquire }
                }
                verb::Verb::Value => Op::Value { bits },
                verb::Verb::Operand => Op::Operand { back: size },
                verb::Verb::Formula => {
                    Op::Formula { formula: if id == 0 { FormulaId::NONE } else { FormulaId(id) } }
                }
                verb::Verb::Group => Op::Group { size: size.min(8) as u16, group: GroupId(id), addr },
                verb::Verb::IgnoreBegin => Op::IgnoreBegin,
                verb::Verb::IgnoreEnd => Op::IgnoreEnd,
            };
            Event { thread: ThreadId(thread), site: SiteId(site), op }
        },
    )
}

fn any_tables() -> impl Strategy<Value = Tables> {
    let name = prop_oneof![
        "[a-z]{1,4}[0-9]{0,3}",
        "[-x0+()|#,@:%. \n\r]{0,4}",
        "\\PC{0,6}",
        Just("same".to_owned())
    ];
    let names = proptest::collection::vec((0..NameKind::ALL.len(), name.clone()), 0..30);
    let variables = proptest::collection::vec(name, 4);
    (names, variables, any::<bool>()).prop_map(|(names, variables, declare)| {
        let mut tables = Tables::default();
        for (kind, name) in names {
            if NameKind::ALL[kind] != NameKind::Formula {
                tables.add_name(NameKind::ALL[kind], &name);
            }
        }
        for formula in ["$1", "0x7", "eq $1 1", "slt32 (add32 $1 1) $2", " not $1", "select $1 $2 -3"] {
            tables.add_name(NameKind::Formula, formula);
        }
        for (word, name) in (0..).zip(&variables) {
            tables
                .locations
                .insert(VARIABLE_BASE + 8 * word, Location { size: 8, name: name.as_str().into() });
        }
        if declare {
            tables.locations.insert(0x1003, Location { size: 4, name: "small".into() });
            tables.locations.insert(0x1008, Location { size: 8, name: variables[0].as_str().into() });
            tables.locations.insert(0x1010, Location { size: 20, name: "0x10".into() });
        }
        let file = crate::trace::FileId(0);
        for (line, function) in (0..8).zip([u32::MAX, 0, 1, 2, u32::MAX, 0, 9, u32::MAX]) {
            let place = match line {
                0 => Place::Label("12".into()),
                1 => Place::Unknown,
                2 => Place::Code { module: crate::trace::ModuleId(0), offset: 16 },
                3 => Place::Label(" a|b\n".into()),
                _ => Place::Source { file, line, column: line / 6 },
            };
            tables.sites.push(Site { place, function: FunctionId(function) });
        }
        tables
    })
}

proptest! {
    #[test]
    fn what_is_written_can_be_read(
        events in proptest::collection::vec(any_event(), 1..60),
        tables in any_tables(),
        piece in 1..200_usize,
    ) {
        let text = write(&events, &tables).unwrap();
        let (again, read_tables) = read_pieces(text.as_bytes(), piece).unwrap();
        let again: Vec<Event> = again.into_iter().map(|(_, event)| event).collect();
        let mut expected = Renumber::default();
        let expected: Vec<Event> = events.iter().map(|event| expected.event(event)).collect();
        // A function may be named by a site before it is called, so ids need not follow the calls.
        let mut found = Renumber::default();
        let found: Vec<Event> = again.iter().map(|event| found.event(event)).collect();
        prop_assert_eq!(expected, found, "{}", text);
        prop_assert_eq!(write(&again, &read_tables).unwrap(), text);
    }

    #[test]
    fn both_tiers_agree(lines in proptest::collection::vec(any_line(), 1..40)) {
        // A blank before a line is all it takes to send it to the full parser.
        let plain: String = lines.concat();
        let blank: String = lines.iter().map(|line| format!(" {line}")).collect();
        match (read(&plain), read(&blank)) {
            (Ok(plain), Ok(blank)) => prop_assert_eq!(plain, blank),
            (Err(TraceError::Parse { line, message, .. }), Err(TraceError::Parse { line: other_line, message: other, .. })) => {
                prop_assert_eq!((line, message), (other_line, other));
            }
            (plain, blank) => prop_assert_eq!(format!("{plain:?}"), format!("{blank:?}")),
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in proptest::collection::vec(any::<u8>(), 0..300), piece in 1..50_usize) {
        let _ = read_pieces(&text, piece);
    }
}

/// A line of few names, so that many come again, and of all shapes.
fn any_line() -> impl Strategy<Value = String> {
    let thread =
        prop_oneof![Just("T1"), Just("T01"), Just("T2"), Just("x"), Just("#1"), Just("T1 "), Just("")];
    let verb = prop_oneof![
        Just("r"),
        Just("w"),
        Just("acq"),
        Just("rel"),
        Just("begin"),
        Just("end"),
        Just("r4"),
        Just("w0"),
        Just("w99999"),
        Just("r99999999999"),
        Just("r04"),
        Just("fork")
    ];
    let operand = prop_oneof![
        Just("(x)"),
        Just("(V1)"),
        Just("(V01)"),
        Just("(V1)1)"),
        Just("()"),
        Just(""),
        Just("(1)"),
        Just("(V1"),
        Just("(V1) "),
        Just("(longer_name_12)"),
        Just("(0x10)"),
        Just("(0x)"),
        Just("(0x4000000000000000)"),
        Just("(0x0000000000000010)"),
        Just("(0xfg)"),
        Just("(0x1F)1)"),
        Just("(V12)x)"),
    ];
    let site = prop_oneof![
        Just("|1"),
        Just("|"),
        Just(""),
        Just("|01"),
        Just("|a.c:1"),
        Just("|1|"),
        Just("|1\r"),
        Just("|\r"),
        Just("\r")
    ];
    // Most lines are sound, or hardly any text would be.
    let sound = (
        prop_oneof![Just("T1"), Just("T2"), Just("x")],
        prop_oneof![Just("r"), Just("r4"), Just("acq"), Just("begin"), Just("end")],
        prop_oneof![
            Just("(x)"),
            Just("(V1)"),
            Just("(V01)"),
            Just("(V1)1)"),
            Just("(V12)x)"),
            Just("(0x1F)")
        ],
        prop_oneof![Just("|1"), Just("|"), Just(""), Just("|a.c:1"), Just("|1\r"), Just("|\r"), Just("\r")],
    );
    prop_oneof![
        20 => sound.prop_map(|(thread, verb, operand, site)| format!("{thread}|{verb}{operand}{site}\n")),
        1 => (thread, verb, operand, site).prop_map(|(thread, verb, operand, site)| format!("{thread}|{verb}{operand}{site}\n")),
    ]
}

#[test]
fn generated_traces_come_back() {
    for family in Family::ALL {
        let plan = Plan { events: 20_000, violations: 0.01, ..Plan::new(family) };
        let mut generator = Generator::new(plan).unwrap();
        let mut batch = Batch::new();
        let mut events = Vec::new();
        let mut more = true;
        while more {
            more = generator.fill(&mut batch).unwrap();
            events.extend_from_slice(batch.events());
        }
        let text = write(&events, generator.tables()).unwrap();
        let (again, tables) = read(&text).unwrap();
        let again: Vec<Event> = again.into_iter().map(|(_, event)| event).collect();
        let (mut expected, mut found) = (Renumber::default(), Renumber::default());
        assert!(
            events.iter().map(|event| expected.event(event)).eq(again.iter().map(|event| found.event(event)))
        );
        assert_eq!(write(&again, &tables).unwrap(), text);
    }
}
