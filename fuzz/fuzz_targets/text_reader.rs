//! Any bytes as a text trace: no panic, every error of the text with its position, and what can be read can be written
//! and read again.
#![no_main]

use keirin_core::event::Event;
use keirin_core::trace::std_format::{Reader, Writer};
use keirin_core::trace::{Batch, Sink, Source, Tables, TraceError};
use libfuzzer_sys::fuzz_target;

fn read(text: &[u8]) -> Result<(Vec<Event>, Tables), TraceError> {
    let mut reader = Reader::new(text);
    let mut batch = Batch::new();
    let mut events = Vec::new();
    loop {
        let more = reader.fill(&mut batch)?;
        events.extend_from_slice(batch.events());
        if !more {
            return Ok((events, reader.tables().clone()));
        }
    }
}

fn write(events: &[Event], tables: &Tables) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    let mut batch = Batch::new();
    for (position, event) in (1..).zip(events) {
        batch.push(position, *event);
    }
    writer.write(&batch, tables).expect("a trace that was read can be written");
    writer.finish(tables).expect("writing into memory");
    writer.into_inner()
}

/// Reading is fast for common lines and complete for the others, to which a blank in front makes any line belong: both
/// ways have to come to the same end.
fn compare(text: &[u8], result: &Result<(Vec<Event>, Tables), TraceError>) {
    let mut uncommon = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        uncommon.push(b' ');
        uncommon.extend_from_slice(line);
    }
    match (result, read(&uncommon)) {
        (Ok(common), Ok(uncommon)) => assert!(*common == uncommon),
        (Err(TraceError::Parse { line: common, .. }), Err(TraceError::Parse { line: uncommon, .. })) => {
            assert_eq!(*common, uncommon);
        }
        (Err(TraceError::Empty), Err(TraceError::Empty)) => {}
        (common, uncommon) => panic!("{common:?} is not {uncommon:?}"),
    }
}

fuzz_target!(|text: &[u8]| {
    let result = read(text);
    // A byte order mark stands in front of everything, and the longest line must not get longer.
    if !text.starts_with(b"\xef\xbb\xbf") && text.len() < 60_000 {
        compare(text, &result);
    }
    match result {
        Ok((events, tables)) => {
            let written = write(&events, &tables);
            let (again, tables) = read(&written).expect("what was written can be read");
            assert_eq!(again.len(), events.len());
            assert_eq!(write(&again, &tables), written);
        }
        Err(TraceError::Parse { line, column, message }) => {
            assert!(line > 0 && column > 0 && !message.is_empty());
        }
        Err(TraceError::Empty) => {}
        Err(error) => panic!("{error}"),
    }
});
