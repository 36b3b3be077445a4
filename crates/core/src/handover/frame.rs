//! The frame of a record: marker, kind, length and checksums.

/// The content of the first record begins with this.
pub const MAGIC: [u8; 8] = *b"KEIRINHO";

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// What every record begins with, so that the next one can be found behind a damaged one.
pub const RECORD_MARKER: [u8; 3] = [0xF2, b'K', b'H'];

/// Length of what stands before the content of a record.
pub const RECORD_HEADER_BYTES: usize = 16;

/// The longest content of a record.
pub const MAX_RECORD_BYTES: usize = 1 << 24;

pub(super) const KIND_BEGIN: u8 = 1;
pub(super) const KIND_TABLES: u8 = 2;
pub(super) const KIND_STACKS: u8 = 3;
pub(super) const KIND_FINDING: u8 = 4;
pub(super) const KIND_COUNTS: u8 = 5;
pub(super) const KIND_STATISTICS: u8 = 6;
pub(super) const KIND_NOTE: u8 = 7;
pub(super) const KIND_END: u8 = 8;

/// Appends a record. The content must not be longer than [`MAX_RECORD_BYTES`].
pub(super) fn put_record(bytes: &mut Vec<u8>, kind: u8, content: &[u8]) {
    debug_assert!(content.len() <= MAX_RECORD_BYTES);
    let start = bytes.len();
    bytes.extend_from_slice(&RECORD_MARKER);
    bytes.push(kind);
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
    let checksum = crc32fast::hash(&bytes[start..]);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(content);
}

/// The record that begins at the first byte, and its length with the header. None if there is no whole and sound one.
pub(super) fn record(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let (header, rest) = bytes.split_first_chunk::<RECORD_HEADER_BYTES>()?;
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if header[..3] != RECORD_MARKER || word(12) != crc32fast::hash(&header[..12]) {
        return None;
    }
    let length = word(4) as usize;
    let content = rest.get(..length).filter(|_| length <= MAX_RECORD_BYTES)?;
    (crc32fast::hash(content) == word(8)).then_some((header[3], content, RECORD_HEADER_BYTES + length))
}
