//! Arbitrary bytes as what a watched program handed over: no panic, no stack without an end.
#![no_main]

use keirin_core::event::StackId;
use keirin_core::handover::{RECORD_HEADER_BYTES, RECORD_MARKER, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    look_at(bytes);
    look_at(&with_good_checksums(bytes));
});

fn look_at(bytes: &[u8]) {
    let Ok(handover) = read(bytes) else { return };
    let stacks = &handover.stacks;
    for step in handover.findings.iter().flat_map(|finding| &finding.steps) {
        assert!(stacks.frames(step.moment.stack).count() <= stacks.len());
    }
    if let Some(last) = stacks.len().checked_sub(1) {
        assert!(stacks.frames(StackId(last as u32)).count() <= stacks.len());
    }
}

/// Each stretch of bytes as the content of a sound record: kind and length come from its first two bytes.
fn with_good_checksums(mut bytes: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    while let [kind, length, rest @ ..] = bytes {
        let (content, after) = rest.split_at(usize::from(*length).min(rest.len()));
        let mut header = RECORD_MARKER.to_vec();
        header.push(kind % 10);
        header.extend_from_slice(&(content.len() as u32).to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        assert_eq!(header.len(), RECORD_HEADER_BYTES);
        records.append(&mut header);
        records.extend_from_slice(content);
        bytes = after;
    }
    records
}
