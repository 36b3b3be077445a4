//! Arbitrary bytes as a native trace: no panic, no endless loop, no more events than the file could hold.
#![no_main]

use keirin_core::trace::native::{BLOCK_HEADER_BYTES, MAX_BLOCK_EVENTS, Reader, ReaderOptions};
use keirin_core::trace::{Batch, Source};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    for skip_damaged in [false, true] {
        let Ok(mut reader) = Reader::with_options(Cursor::new(bytes), ReaderOptions { skip_damaged }) else {
            continue;
        };
        let mut batch = Batch::new();
        let mut events = 0;
        while let Ok(more) = reader.fill(&mut batch) {
            events += batch.events().len();
            if !more {
                break;
            }
        }
        assert!(events <= (bytes.len() / BLOCK_HEADER_BYTES + 1) * MAX_BLOCK_EVENTS as usize);
    }
});
