//! Traces that were cut off, damaged or made up.

use super::*;
use crate::trace::native::block::{BlockHeader, BlockKind, FILE_HEADER_BYTES, file_header};
use crate::trace::native::output::Packer;
use crate::trace::native::{MAGIC, MAX_BLOCK_BYTES};
use crate::trace::{NameKind, Place, Site};

/// A small trace with several blocks of three threads, tables in between, and checkpoints.
fn small_trace() -> (Vec<u8>, Vec<Event>, Tables) {
    let mut tables = Tables::default();
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.set_checkpoint_events(8);
    let mut events = Vec::new();
    for number in 0..30u32 {
        if number % 10 == 0 {
            tables.add_name(NameKind::Region, "region");
            tables.sites.push(Site { place: Place::Label("place".into()), function: FunctionId::NONE });
        }
        let thread = if number < 20 { number % 3 } else { number % 2 };
        let op = match (number, thread) {
            (0, _) => Op::Fork { child: ThreadId(1) },
            (1, _) => Op::Fork { child: ThreadId(2) },
            (17, 2) | (28, 0) | (29, 1) => Op::ThreadEnd,
            _ => Op::Access { kind: AccessKind::Write, size: 4, addr: Addr(u64::from(number) * 4) },
        };
        events.push(event(thread, number / 10, op));
        writer.write(&batch_of(&events[number as usize..]), &tables).unwrap();
    }
    writer.finish(&tables).unwrap();
    (writer.into_inner(), events, tables)
}

/// The blocks of a good trace with their offsets.
fn blocks_of(bytes: &[u8]) -> Vec<(usize, BlockHeader)> {
    let mut blocks = Vec::new();
    let mut at = FILE_HEADER_BYTES;
    while let Some(header) = bytes[at..].first_chunk() {
        let header = BlockHeader::decode(header).unwrap();
        blocks.push((at, header));
        at += header.block_length() as usize;
    }
    blocks
}

/// The events that the first blocks hold, in order; in these traces the stamp is the index.
fn events_of(blocks: &[(usize, BlockHeader)], events: &[Event]) -> Vec<Event> {
    let holds = |stamp: u64, event: &Event| {
        blocks.iter().any(|(_, header)| {
            header.kind == BlockKind::Events
                && header.thread == event.thread.0
                && (header.first_stamp..=header.last_stamp).contains(&stamp)
        })
    };
    (0..).zip(events).filter(|(stamp, event)| holds(*stamp, event)).map(|(_, event)| *event).collect()
}

#[test]
fn cut_at_every_byte() {
    let (bytes, events, _) = small_trace();
    let blocks = blocks_of(&bytes);
    assert!(blocks.len() > 15);
    assert!(matches!(read(&[], STRICT), Err(TraceError::Empty)));
    for length in 1..bytes.len() {
        let whole: Vec<_> = blocks
            .iter()
            .filter(|(at, header)| at + header.block_length() as usize <= length)
            .copied()
            .collect();
        let used = whole
            .last()
            .map_or(FILE_HEADER_BYTES.min(length), |(at, header)| at + header.block_length() as usize);
        for options in [STRICT, LENIENT] {
            let read = read(&bytes[..length], options).unwrap();
            assert_eq!(read.events, events_of(&whole, &events), "cut at {length}");
            let loss = read.loss.expect("the loss is told");
            if length < FILE_HEADER_BYTES {
                assert_eq!((loss.blocks, loss.bytes, loss.first_byte), (1, length as u64, 0));
                continue;
            }
            assert_eq!(loss.bytes, (length - used) as u64);
            assert_eq!(loss.blocks, u64::from(length != used));
            assert_eq!(loss.first_byte, used as u64);
            assert_eq!(loss.to_string().contains("without an end mark"), length == used);
            // Up to the position told, the trace is the same as the whole one.
            let complete = loss.incomplete_from as usize - 1;
            assert_eq!(read.events[..complete], events[..complete], "cut at {length}");
            let checkpoint = whole
                .iter()
                .filter(|(_, header)| header.kind == BlockKind::Checkpoint)
                .map(|(_, header)| header.first_stamp)
                .max();
            assert!(complete as u64 >= checkpoint.unwrap_or(0), "a checkpoint vouches for what is before it");
        }
    }
}

#[test]
fn a_cut_without_checkpoints_tells_where_it_matters() {
    let ends = |thread| event(thread, 0, Op::ThreadEnd);
    let fork = |thread, child| event(thread, 0, Op::Fork { child: ThreadId(child) });
    // Each thread's events are one block, in the order of the threads.
    let cut = |events: &[Event], kept_threads: usize| {
        let bytes = written(events, &Tables::default(), u32::MAX);
        let (at, header) = blocks_of(&bytes)[kept_threads - 1];
        let read = read(&bytes[..at + header.block_length() as usize], STRICT).unwrap();
        read.loss.unwrap().incomplete_from
    };
    // Thread 1 is known from its fork only, so its events may be missing right after that.
    let events = [write_access(0, 1), fork(0, 1), write_access(1, 5), write_access(0, 2), ends(0), ends(1)];
    assert_eq!(cut(&events, 1), 3);
    // All threads have ended: nothing seems to be missing.
    assert_eq!(cut(&events, 2), 7);
    // Thread 1 has not ended, so events may be missing after its last one.
    let events = [fork(0, 1), write_access(1, 5), write_access(0, 2), write_access(0, 3), ends(0)];
    assert_eq!(cut(&events, 2), 3);
}

#[test]
fn every_single_bit() {
    let (bytes, events, tables) = small_trace();
    let mut damaged = bytes.clone();
    for bit in 0..bytes.len() * 8 {
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&damaged, STRICT).is_err(), "bit {bit} is not noticed");
        match read(&damaged, LENIENT) {
            Err(error) => assert!(bit / 8 < MAGIC.len(), "bit {bit}: {error}"),
            Ok(read) => {
                let loss = read.loss.expect("the loss is told");
                let complete = loss.incomplete_from as usize - 1;
                assert_eq!(read.events[..complete], events[..complete], "bit {bit}");
                let mut rest = events.iter();
                let is_part = read.events.iter().all(|event| rest.any(|other| other == event));
                assert!(is_part, "bit {bit}: only whole events of the trace");
                assert!(loss.bytes > 0 && loss.first_byte <= bit as u64 / 8, "bit {bit}: {loss:?}");
                assert!(read.tables.sites.len() <= tables.sites.len());
            }
        }
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn strict_errors_tell_the_place_and_what_to_do() {
    let (mut bytes, ..) = small_trace();
    let (at, header) =
        blocks_of(&bytes).into_iter().find(|(_, block)| block.kind == BlockKind::Events).unwrap();
    bytes[at + header.block_length() as usize - 1] ^= 1;
    match read(&bytes, STRICT).unwrap_err() {
        TraceError::Format { byte, message } => {
            assert_eq!(byte, at as u64);
            assert!(message.contains("--lenient"), "{message}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn zeros_at_the_end_are_a_cut() {
    let (bytes, events, _) = small_trace();
    let blocks = blocks_of(&bytes);
    let mut cut = bytes[..blocks[9].0].to_vec();
    cut.resize(200_000, 0);
    for options in [STRICT, LENIENT] {
        let read = read(&cut, options).unwrap();
        assert_eq!(read.events, events_of(&blocks[..9], &events));
        assert_eq!(read.loss.unwrap().first_byte, blocks[9].0 as u64);
    }
}

#[test]
fn bytes_after_the_end() {
    let (mut bytes, events, _) = small_trace();
    bytes.push(0);
    assert!(read(&bytes, STRICT).is_err());
    let read = read(&bytes, LENIENT).unwrap();
    assert_eq!((read.events, read.loss.unwrap().bytes), (events, 1));
}

#[test]
fn other_files_and_versions() {
    assert!(matches!(read(b"T0|w(x)|1\nT1|r(x)|2\n", STRICT), Err(TraceError::Unknown(_))));
    assert!(matches!(read(b"T", STRICT), Err(TraceError::Unknown(_))));
    let version = |number: u32| {
        let mut header = file_header();
        header[8..12].copy_from_slice(&number.to_le_bytes());
        let checksum = crc32fast::hash(&header[..12]);
        header[12..].copy_from_slice(&checksum.to_le_bytes());
        read(&header, LENIENT)
    };
    assert!(matches!(version(2), Err(TraceError::Version { found: 2, supported: 1 })));
    assert!(matches!(version(u32::MAX), Err(TraceError::Version { found: u32::MAX, .. })));
    assert!(matches!(version(0), Err(TraceError::Format { .. })));
    assert!(version(1).is_ok());
}

/// A file with one made-up block and an end mark.
fn with_block(header: BlockHeader, payload: &[u8]) -> Vec<u8> {
    let mut bytes = file_header().to_vec();
    bytes.extend_from_slice(&header.encode());
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&BlockHeader::empty(BlockKind::End, 0).encode());
    bytes
}

/// A file with one block whose checksums are right, whatever it holds.
fn with_payload(header: BlockHeader, payload: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    Packer::default().pack(header, payload, &mut block);
    let mut bytes = file_header().to_vec();
    bytes.extend_from_slice(&block);
    bytes.extend_from_slice(&BlockHeader::empty(BlockKind::End, 0).encode());
    bytes
}

fn message_of(bytes: &[u8]) -> String {
    let lenient = read(bytes, LENIENT).unwrap();
    assert_eq!(lenient.events, []);
    assert!(lenient.loss.is_some());
    read(bytes, STRICT).unwrap_err().to_string()
}

#[test]
fn impossible_headers() {
    let good = BlockHeader { count: 1, ..BlockHeader::empty(BlockKind::Events, 5) };
    let message = message_of(&with_block(BlockHeader { thread: 4_000_000_000, ..good }, &[]));
    assert!(message.contains("thread number 4000000000 is out of range"), "{message}");
    let huge = BlockHeader { raw_length: u32::MAX, stored_length: 0, compressed: true, ..good };
    assert!(message_of(&with_block(huge, &[])).contains("larger than"));
    let huge = BlockHeader { raw_length: u32::MAX, stored_length: u32::MAX, ..good };
    // The stored length reaches over the end of the file, so strictly this looks like a cut; but no block is so long.
    assert!(message_of(&with_block(huge, &[])).contains("larger than"));
    for impossible in [
        BlockHeader { count: 0, ..good },
        BlockHeader { count: 5000, last_stamp: 100_000, ..good },
        BlockHeader { count: 3, last_stamp: 6, ..good },
        BlockHeader { last_stamp: 4, ..good },
        BlockHeader { last_stamp: u64::MAX, first_stamp: u64::MAX, ..good },
        BlockHeader { kind: BlockKind::Skippable(77), ..good },
        BlockHeader { raw_length: MAX_BLOCK_BYTES, ..good },
    ] {
        message_of(&with_block(impossible, &[]));
    }
    // Kinds that may be skipped are.
    let later = BlockHeader { kind: BlockKind::Skippable(200), stored_length: 4, ..good };
    assert_eq!(read(&with_block(later, b"news"), STRICT).unwrap().loss, None);
}

#[test]
fn impossible_payloads() {
    let events = BlockHeader { count: 2, last_stamp: 1, ..BlockHeader::empty(BlockKind::Events, 0) };
    let end = 0x80 | 27;
    assert_eq!(read(&with_payload(events, &[1, 0, 2, end, end]), STRICT).unwrap().events.len(), 2);
    let payloads: [&[u8]; 13] = [
        &[],
        &[1, 0, 2, end],
        &[1, 0, 2, end, end, end],
        &[1, 0, 1, end, end],
        &[1, 0, 3, end, end],
        &[1, 1, 2, end, end],
        &[3, 0, 1, 0, 1, end, end],
        &[2, 0, 0, 0, 2, end, end],
        &[1, 0, 2, end, 0x80 | 56],
        &[1, 0, 2, end, 0x80 | 18],
        &[1, 0, 2, end, 0x80 | 16, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
        &[1, 0, 2, end, 0x80 | 12, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
        &[1, 0, 2, end, 27, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
    ];
    for payload in payloads {
        message_of(&with_payload(events, payload));
    }
    let tables = |count| BlockHeader { count, ..BlockHeader::empty(BlockKind::Tables, 0) };
    assert_eq!(
        read(&with_payload(tables(1), &[1, 0, 1, 1, b'x']), STRICT)
            .unwrap()
            .tables
            .names(NameKind::Lock)
            .len(),
        1
    );
    let payloads: [&[u8]; 9] = [
        &[1, 0, 1, 2, b'x'],
        &[1, 0, 2, 1, b'x'],
        &[1, 1, 1, 1, b'x'],
        &[11, 0, 1, 1, b'x'],
        &[18, 1, 1, 0, 0, 0],
        &[1, 0xFF, 0xFF, 0xFF, 0x7F, 1, 0],
        &[1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
        &[17, 0, 1, 3, 0, 0, 0],
        &[17, 0, 1, 9, 0],
    ];
    for payload in payloads {
        assert!(read(&with_payload(tables(1), payload), STRICT).is_err(), "{payload:?}");
        let read = read(&with_payload(tables(1), payload), LENIENT);
        assert!(read.unwrap().tables.names(NameKind::Lock).len() <= 1 << 20);
    }
}

#[test]
fn stamps_that_go_back() {
    let good = written(&[write_access(0, 1), write_access(0, 2)], &Tables::default(), 10);
    let (at, header) = blocks_of(&good)[0];
    let block = &good[at..at + header.block_length() as usize];
    let mut bytes = good[..at].to_vec();
    bytes.extend_from_slice(block);
    bytes.extend_from_slice(&good[at..]);
    assert!(read(&bytes, STRICT).unwrap_err().to_string().contains("go back"));
    let read = read(&bytes, LENIENT).unwrap();
    assert_eq!((read.events.len(), read.loss.unwrap().blocks), (2, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutations_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
        garbage in prop::collection::vec(any::<u8>(), 0..200),
        insert in any::<bool>(),
    ) {
        let (mut bytes, ..) = small_trace();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let cut = cut.index(bytes.len());
        if insert {
            bytes.splice(cut..cut, garbage);
        } else {
            bytes.truncate(cut);
            bytes.extend_from_slice(&garbage);
        }
        let _ = read(&bytes, STRICT);
        let _ = read(&bytes, LENIENT);
    }

    /// Behind right checksums nothing but the codec stands between garbage and the analyses.
    #[test]
    fn garbage_payloads_do_no_harm(
        payload in prop::collection::vec(prop_oneof![any::<u8>(), 0u8..20], 0..100),
        count in 0u32..100,
        span in 0u64..200,
        tables: bool,
        runs: bool,
    ) {
        let kind = if tables { BlockKind::Tables } else { BlockKind::Events };
        let header = BlockHeader { count, last_stamp: span, ..BlockHeader::empty(kind, 0) };
        let mut bytes = Vec::new();
        if runs {
            bytes.extend_from_slice(&[1, 0, count as u8]);
        }
        bytes.extend_from_slice(&payload);
        let bytes = with_payload(header, &bytes);
        let _ = read(&bytes, STRICT);
        let _ = read(&bytes, LENIENT);
    }
}
