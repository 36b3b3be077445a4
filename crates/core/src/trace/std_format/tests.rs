use super::*;
use crate::clock::MAX_THREADS;
use crate::event::*;
use crate::trace::{Batch, Location, NameKind, Place, Sink, Site, Source, Tables, TraceError};
use std::io::Read;

/// Gives its bytes in pieces, so that lines are cut anywhere.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(self.0.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

pub(super) fn read_pieces(text: &[u8], piece: usize) -> Result<(Vec<(u64, Event)>, Tables), TraceError> {
    let mut reader = Reader::new(Pieces(text, piece));
    let mut events = Vec::new();
    let mut batch = Batch::new();
    loop {
        let more = reader.fill(&mut batch)?;
        events.extend(batch.iter().map(|(position, event)| (position, *event)));
        if !more {
            return Ok((events, reader.tables().clone()));
        }
    }
}

pub(super) fn read(text: &str) -> Result<(Vec<(u64, Event)>, Tables), TraceError> {
    read_pieces(text.as_bytes(), usize::MAX)
}

fn ops(text: &str) -> Vec<Op> {
    read(text).unwrap().0.iter().map(|(_, event)| event.op).collect()
}

pub(super) fn write(events: &[Event], tables: &Tables) -> std::io::Result<String> {
    let mut writer = Writer::new(Vec::new());
    let mut batch = Batch::new();
    for (index, event) in events.iter().enumerate() {
        batch.push(index as u64 + 1, *event);
    }
    writer.write(&batch, tables)?;
    writer.finish(tables)?;
    Ok(String::from_utf8(writer.into_inner()).unwrap())
}

fn rewrite(text: &str) -> String {
    let (events, tables) = read(text).unwrap();
    write(&events.iter().map(|(_, event)| *event).collect::<Vec<_>>(), &tables).unwrap()
}

/// Line, column and message of the error.
fn fault(text: &str) -> (u64, u64, String) {
    match read(text) {
        Err(TraceError::Parse { line, column, message }) => (line, column, message),
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn plain_operations() {
    let text = "T0|begin(update)|main.c:3\n\
                T0|acq(m)|1\n\
                T0|r(x)|2\n\
                T0|w(y)|2\n\
                T0|rel(m)|\n\
                T0|end(update)\n\
                T0|fork(T1)|f@a.c:1:2\n\
                T1|r(x)|\n\
                T0|join(T1)|9\n";
    let (events, tables) = read(text).unwrap();
    let x = Addr(VARIABLE_BASE);
    let y = Addr(VARIABLE_BASE + 8);
    let access = |kind, addr| Op::Access { kind, size: 8, addr };
    let mode = LockMode::Exclusive;
    assert_eq!(
        events.iter().map(|(_, event)| event.op).collect::<Vec<_>>(),
        [
            Op::Begin { region: RegionId(0) },
            Op::Acquire { lock: LockId(0), mode },
            access(AccessKind::Read, x),
            access(AccessKind::Write, y),
            Op::Release { lock: LockId(0), mode },
            Op::End,
            Op::Fork { child: ThreadId(1) },
            access(AccessKind::Read, x),
            Op::Join { child: ThreadId(1) },
        ]
    );
    assert_eq!(events.iter().map(|(line, _)| *line).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    assert_eq!(events[2].1.site, events[3].1.site);
    assert_eq!(events[4].1.site, SiteId::NONE);
    assert_eq!(tables.names(NameKind::Thread), [Box::from("T0"), Box::from("T1")]);
    assert_eq!(tables.name(NameKind::Region, 0), Some("update"));
    assert_eq!(tables.location(y).map(|(location, _)| &*location.name), Some("y"));
    let site = &tables.sites[events[6].1.site.index()];
    assert_eq!(tables.function_name(site.function), Some("f"));
    assert!(matches!(site.place, Place::Source { line: 1, column: 2, .. }));
    assert_eq!(tables.sites[events[1].1.site.index()].place, Place::Label("1".into()));
}

#[test]
fn layout_is_free() {
    let plain = "T|r(x)|1\nT|w(x)|1\nT|r(x)|1\n";
    let (expected, _) = read(plain).unwrap();
    for text in [
        "T|r(x)|1\r\nT|w(x)|1\r\nT|r(x)|1\r\n",
        "T|r(x)|1\nT|w(x)|1\nT|r(x)|1",
        "T|r(x)|1\r\nT|w(x)|1\r\nT|r(x)|1\r",
        "  T | r( x )\t| 1 \n T|w (x)|1\nT |r(x) | 1",
        "\u{feff}T|r(x)|1\nT|w(x)|1\nT|r(x)|1\n",
    ] {
        assert_eq!(read(text).unwrap().0, expected, "{text:?}");
    }
    let (events, _) =
        read("# a comment\n\n  \t\nT|r(x)|1\n  # another | one\n\r\nT|w(x)|1\nT|r(x)|1\n\n").unwrap();
    assert_eq!(events.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 7, 8]);
    assert_eq!(
        ops("T|begin|1\nT|begin()|1\nT|begin\nT|end|1\nT|end()|1\nT|end\n")[..3],
        [Op::Begin { region: RegionId::NONE }; 3]
    );
}

#[test]
fn any_name_will_do() {
    let (events, tables) = read(
        "thread one|r(a(b)c)|1\n4000000000|w(0x10)|1\nT1|r(x+4)|1\nT01|r(x)y)|1\nT1|r(x)|1\nT1|acq(a,b)|\nü|r(日本)|ß\n",
    )
    .unwrap();
    let names: Vec<_> = tables.names(NameKind::Thread).iter().map(|name| &**name).collect();
    assert_eq!(names, ["thread one", "4000000000", "T1", "T01", "ü"]);
    let variables: Vec<_> = tables.locations.values().map(|location| &*location.name).collect();
    assert_eq!(variables, ["a(b)c", "0x10", "x+4", "x)y", "x", "日本"]);
    assert_eq!(events.len(), 7);
}

#[test]
fn sizes_and_addresses() {
    let base = VARIABLE_BASE;
    let at = |size, addr| Op::Access { kind: AccessKind::Read, size, addr: Addr(addr) };
    assert_eq!(
        ops(
            "T|r4(x)|\nT|r4(x+4)|\nT|r1(0x7ffe10)|\nT|r100(0x10)|\nT|r8(x)|\nT|r2(y+0)|\nT|r4(0x10+4)|\nT|r4(a+b)|\n"
        ),
        [
            at(4, base),
            at(4, base + 4),
            at(1, 0x7ffe10),
            at(100, 0x10),
            at(8, base),
            at(2, base + 8),
            at(4, base + 16 + 4),
            at(4, base + 24),
        ]
    );
    assert_eq!(fault("T|r4(x+5)|1").1, 6);
    assert!(fault("T|r4(x+5)|1").2.contains("use an address"));
    assert!(fault("T|r9(x)|1").2.contains("use an address"));
    assert!(fault("T|r4(0x4000000000000010)|1").2.contains("named variables"));
    assert!(fault("T|r4(0xfffffffffffffffe)|1").2.contains("end of memory"));
    assert!(fault("T|r4(0xfffffffffffffffff)|1").2.contains("64 bits"));
    assert!(fault("T|r0(x)|1").2.contains("size"));
    assert!(fault("T|r99999999999999999999(0x1)|1").2.contains("64 bits"));
    assert!(fault("T|r4294967296(0x1)|1").2.contains("size"));
    assert!(fault("T|load3_relaxed(x)|1").2.contains("atomic"));
    assert!(fault("T|acq4(l)|1").2.contains("takes no size"));
    assert_eq!(fault("T|load_relaxed4(x)|1").2, "the size of a `load_relaxed` stands here: `load4_relaxed`");
}

#[test]
fn declared_locations_keep_their_address() {
    let text = "|location4(0x601040,counter)|\n|location8(0x601050,a, b)|\n|location64(0x7000,array)|\n\
                T|r4(counter)|\nT|w(a, b)|\nT|w8(array+56)|\nT|r4(0x601044)|\nT|r(array)|\n";
    let (events, tables) = read(text).unwrap();
    assert_eq!(
        events[0],
        (
            4,
            Event { op: Op::Access { kind: AccessKind::Read, size: 4, addr: Addr(0x601040) }, ..events[0].1 }
        )
    );
    assert_eq!(
        tables.location(Addr(0x7000 + 63)).map(|(location, offset)| (&*location.name, offset)),
        Some(("array", 63))
    );
    let again = rewrite(text);
    assert_eq!(rewrite(&again), again);
    assert_eq!(read(&again).unwrap().1.locations, tables.locations);
    assert!(fault("|location4(0x10,a)|\nT|r(a)|\n").2.contains("r4(a)"));
    assert!(fault("T|r(a)|\n|location4(0x10,a)|\n").2.contains("before its first use"));
    assert!(fault("|location4(0x10,a)|\n|location4(0x13,b)|\n").2.contains("overlaps with `a`"));
    assert!(fault("|location(0x10,a)|\n").2.contains("size"));
    assert!(fault("T|location4(0x10,a)|\n").2.contains("all threads"));
    assert!(fault("|r(a)|\n").2.contains("thread is missing"));
}

#[test]
fn errors_tell_where_and_what() {
    for (text, line, column, part) in [
        ("T|r(x)|1\nT|foo(x)|1\n", 2, 3, "unknown operation `foo`"),
        ("T|read(x)|1\n", 1, 3, "did you mean `r`?"),
        ("T|acq_share(x)|1\n", 1, 3, "did you mean `acq_shared`?"),
        ("T|LOCK(x)|1\n", 1, 3, "did you mean `acq`?"),
        ("T\n", 1, 1, "expected `thread|operation(operand)|location`"),
        ("T|r(x|1\n", 1, 6, "expected `)`"),
        ("T|r()|1\n", 1, 5, "needs the name of a variable"),
        ("T|r|1\n", 1, 4, "needs the name of a variable"),
        ("T|acq|1\n", 1, 6, "needs the name of a lock"),
        ("T||1\n", 1, 3, "operation is missing"),
        ("|r(x)|1\n", 1, 1, "thread is missing"),
        ("T|r(x)|1|2\n", 1, 10, "fourth field"),
        ("T|r(x)|1\n\n  T|happens_before(x)|1\n", 3, 20, "needs a number"),
        ("T|branch(maybe)|1\n", 1, 10, "branch(not_taken)"),
        ("T|task_order(a)|1\n", 1, 14, "task_order(before,after)"),
        ("T|group(g,)|1\n", 1, 9, "group(group,variable)"),
        ("T|fork(#1)|1\n", 1, 8, "comments"),
        ("T|spawn(a,b)|1\n", 1, 9, "comma"),
        ("T|thread_end(x)|1\n", 1, 14, "takes no operand"),
        ("T|r(a\0b)|1\n", 1, 6, "zero byte"),
        ("\0\0\0\n", 1, 1, "expected `thread|operation(operand)|location`"),
    ] {
        let (at_line, at_column, message) = fault(text);
        assert_eq!((at_line, at_column), (line, column), "{text:?}: {message}");
        assert!(message.contains(part), "{text:?}: {message}");
    }
    match read_pieces(b"T|r(a\xff)|1\n", 3) {
        Err(TraceError::Parse { line: 1, column: 6, message }) => assert!(message.contains("UTF-8")),
        other => panic!("{other:?}"),
    }
    for text in ["", "\n", "# nothing\n\n  # at all", "|location4(0x10,a)|"] {
        assert!(matches!(read(text), Err(TraceError::Empty)), "{text:?}");
    }
}

#[test]
fn events_before_an_error_are_given_first() {
    let mut reader = Reader::new(&b"T|r(x)|1\nT|r(x)|1\nT|?(x)|1\nT|r(x)|1\n"[..]);
    let mut batch = Batch::new();
    assert!(reader.fill(&mut batch).unwrap());
    assert_eq!(batch.events().len(), 2);
    assert!(matches!(reader.fill(&mut batch), Err(TraceError::Parse { line: 3, .. })));
    assert!(batch.events().is_empty());
    assert!(!reader.fill(&mut batch).unwrap());
}

#[test]
fn long_lines_are_refused() {
    let name = "x".repeat(MAXIMAL_LINE - 7);
    let text = format!("T|r(x)|\nT|r({name})||\n");
    assert!(fault(&text).2.contains("fourth"));
    let text = format!("T|r(x)|\nT|r({name})|\r\nT|r(x)|");
    assert_eq!(read(&text).unwrap().0.len(), 3);
    for piece in [1000, usize::MAX] {
        for rest in ["\n", "", "\nT|r(x)|1\n"] {
            let text = format!("T|r(x)|\nT|r({name})|123{rest}");
            match read_pieces(text.as_bytes(), piece) {
                Err(TraceError::Parse { line: 2, message, .. }) => {
                    assert!(message.contains("longer than 65536"))
                }
                other => panic!("{other:?}"),
            }
        }
        let endless = vec![b'x'; 10_000_000];
        assert!(matches!(read_pieces(&endless, piece), Err(TraceError::Parse { line: 1, .. })));
    }
}

#[test]
fn too_many_threads_are_refused() {
    let mut text = String::new();
    for thread in 0..=MAX_THREADS {
        text.push_str(&format!("{thread}|end\n"));
    }
    assert_eq!(fault(&text), (u64::from(MAX_THREADS) + 1, 1, "more than 1048576 threads".into()));
}

#[test]
fn foreign_names_are_made_readable() {
    let mut tables = Tables::default();
    for name in ["#1", "a|b", "", "same", "same", " x\n"] {
        tables.add_name(NameKind::Thread, name);
    }
    tables.add_name(NameKind::Task, "a,b");
    tables.add_name(NameKind::File, "dir@1/x:7");
    let place = Place::Source { file: crate::trace::FileId(0), line: 3, column: 0 };
    tables.sites.push(Site { place, function: FunctionId::NONE });
    tables.locations.insert(0x1000, Location { size: 4, name: "n|m".into() });
    tables.locations.insert(VARIABLE_BASE, Location { size: 8, name: "n|m".into() });
    let mut events: Vec<Event> =
        (0..8).map(|thread| Event { thread: ThreadId(thread), site: SiteId::NONE, op: Op::End }).collect();
    events.push(Event { op: Op::Spawn { task: TaskId(0) }, site: SiteId(0), ..events[0] });
    for (size, addr) in [(4, 0x1000), (2, 0x1002), (4, 0x1002), (8, VARIABLE_BASE), (8, VARIABLE_BASE + 8)] {
        events.push(Event { op: Op::Access { kind: AccessKind::Read, size, addr: Addr(addr) }, ..events[0] });
    }
    let text = write(&events, &tables).unwrap();
    let expected = "%231|end()|\na%7Cb|end()|\nthread 2|end()|\nsame|end()|\nsame#2|end()|\n%20x%0A|end()|\n\
                    thread 6|end()|\nthread 7|end()|\n%231|spawn(a%2Cb)|@dir@1/x%3A7:3\n\
                    |location4(0x1000,n%7Cm)|\n%231|r4(n%7Cm)|\n%231|r2(n%7Cm+2)|\n%231|r4(0x1002)|\n\
                    %231|r(n%7Cm#2)|\n%231|r(memory at 0x4000000000000008)|\n";
    assert_eq!(text, expected);
    assert_eq!(rewrite(&text), text);
    let beyond = Event {
        op: Op::Access { kind: AccessKind::Read, size: 8, addr: Addr(VARIABLE_BASE + 4) },
        ..events[0]
    };
    assert!(write(&[beyond], &tables).is_err());
}

#[test]
fn every_operation_is_documented() {
    let page = include_str!("../../../../../docs/std-format.md");
    for verb in verb::Verb::all() {
        let (head, tail) = verb.spelling();
        let name = match verb {
            verb::Verb::Atomic(..) => format!("`{head}_ORDER("),
            verb::Verb::Fence(_) => "`fence_ORDER`".to_owned(),
            _ => format!("`{head}"),
        };
        assert!(page.contains(&name) && page.contains(tail.trim_start_matches('_')), "{name}");
    }
}

#[test]
fn damaged_texts_are_refused_with_a_position() {
    let texts = [
        "T0|begin(update)|main.c:3\nT0|acq(m)|1\nT0|r(x)|2\nT0|w4(y+4)|2\nT0|rel(m)|3\nT0|end|\nT0|fork(T1)|f@a.c:1:2\n",
        "|location4(0x601040,counter)|\nT1|load4_acquire(counter)|12\nT1|task_order(a,b)|\nT1|group2(g,x)|\nT1|value(0xff)|\n",
    ];
    // A small generator of its own keeps the mutations the same in every run.
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound.max(1) as u64) as usize
    };
    let mut refused = 0;
    for round in 0..20_000 {
        let mut text = texts[round % texts.len()].repeat(1 + next(3)).into_bytes();
        for _ in 0..1 + next(4) {
            let at = next(text.len());
            match next(5) {
                0 if !text.is_empty() => text[at] ^= 1 << next(8),
                1 if !text.is_empty() => drop(text.remove(at)),
                2 => text.insert(at, next(256) as u8),
                3 => text.insert(at, b"|()\n\r\0#+,0x"[next(11)]),
                _ => {
                    let end = at + next(text.len() - at);
                    let part = text[at..end].to_vec();
                    text.splice(at..at, part);
                }
            }
        }
        let lines = text.split(|byte| *byte == b'\n').count() as u64;
        match read_pieces(&text, 1 + next(100)) {
            Ok((events, _)) => assert!(events.iter().all(|(position, _)| (1..=lines).contains(position))),
            Err(TraceError::Parse { line, column, message }) => {
                assert!((1..=lines).contains(&line) && column >= 1 && !message.is_empty());
                refused += 1;
            }
            Err(TraceError::Empty) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 5_000);
}

#[test]
fn verbs_fit() {
    assert!(verb::Verb::all().into_iter().all(|verb| verb.name().len() <= line::LONGEST_VERB));
}
