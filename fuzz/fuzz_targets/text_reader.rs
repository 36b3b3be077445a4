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

fuzz_target!(|text: &[u8]| {
    match read(text) {
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
