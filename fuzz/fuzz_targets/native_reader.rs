//! Arbitrary bytes as a native trace: no panic, no endless loop, no more events than the file could hold.
#![no_main]

use keirin_core::trace::native::{
    BLOCK_HEADER_BYTES, BLOCK_MARKER, FILE_HEADER_BYTES, MAGIC, MAX_BLOCK_EVENTS, Reader, ReaderOptions,
    VERSION,
};
use keirin_core::trace::{Batch, Source};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    read(&with_good_checksums(bytes));
});

fn read(bytes: &[u8]) {
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
}

/// Repairs the frame, so that the fuzzer reaches what stands behind the checksums.
fn with_good_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut trace = MAGIC.to_vec();
    trace.extend_from_slice(&VERSION.to_le_bytes());
    trace.extend_from_slice(&crc32fast::hash(&trace).to_le_bytes());
    trace.extend_from_slice(bytes);
    let mut rest = &mut trace[FILE_HEADER_BYTES..];
    while let Some((header, after)) = rest.split_first_chunk_mut::<BLOCK_HEADER_BYTES>() {
        // Two bytes of the length are enough for any input of a fuzzer.
        let length = usize::from(u16::from_le_bytes([header[36], header[37]])).min(after.len());
        let (payload, next) = after.split_at_mut(length);
        header[..4].copy_from_slice(&BLOCK_MARKER);
        header[36..40].copy_from_slice(&(length as u32).to_le_bytes());
        if header[5] & 1 == 0 {
            header.copy_within(36..40, 32);
        }
        header[40..44].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
        let checksum = crc32fast::hash(&header[..44]);
        header[44..].copy_from_slice(&checksum.to_le_bytes());
        rest = next;
    }
    trace
}
