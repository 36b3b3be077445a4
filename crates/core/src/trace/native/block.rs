//! The frame of a native trace: the header of the file and the header of a block.

use crate::trace::MAX_THREADS;

/// The first bytes of every native trace.
///
/// The first byte is not ASCII and the last two end a line, so that a text tool, or a transfer that rewrites line ends,
/// is found out at once.
pub const MAGIC: [u8; 8] = *b"\x89KTRC\r\n\x00";

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// Length of the file's header.
pub const FILE_HEADER_BYTES: usize = 16;

/// Length of a block's header.
pub const BLOCK_HEADER_BYTES: usize = 48;

/// What every block begins with, so that a reader can find the next block behind a damaged one.
pub const BLOCK_MARKER: [u8; 4] = [0xF1, b'K', b'B', b'\n'];

/// The largest payload, before and after compression.
pub const MAX_BLOCK_BYTES: u32 = 1 << 20;

/// How many events a block may hold. A reader keeps one decoded block per running thread, so this bounds its memory.
pub const MAX_BLOCK_EVENTS: u32 = 4096;

/// Kinds from this one on may be skipped by a reader that does not know them.
pub(super) const FIRST_SKIPPABLE_KIND: u8 = 128;

const FLAG_COMPRESSED: u8 = 1;
const FLAG_THREAD_ENDS: u8 = 2;

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockKind {
    /// Events of one thread.
    Events,
    /// Names, sites, modules and locations.
    Tables,
    /// Nothing; all events below its stamp stand before it in the file.
    Checkpoint,
    /// Nothing; the trace is complete.
    End,
    /// Something of a later keirin that can be skipped.
    Skippable(u8),
}

impl BlockKind {
    fn code(self) -> u8 {
        match self {
            BlockKind::Events => 1,
            BlockKind::Tables => 2,
            BlockKind::Checkpoint => 3,
            BlockKind::End => 4,
            BlockKind::Skippable(code) => code,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(BlockKind::Events),
            2 => Some(BlockKind::Tables),
            3 => Some(BlockKind::Checkpoint),
            4 => Some(BlockKind::End),
            FIRST_SKIPPABLE_KIND.. => Some(BlockKind::Skippable(code)),
            _ => None,
        }
    }
}

/// The header of a block, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlockHeader {
    pub(super) kind: BlockKind,
    /// The payload is compressed with LZ4.
    pub(super) compressed: bool,
    /// The last event of the block is the last one of its thread.
    pub(super) thread_ends: bool,
    pub(super) thread: u32,
    /// Number of events, or of table entries.
    pub(super) count: u32,
    pub(super) first_stamp: u64,
    pub(super) last_stamp: u64,
    pub(super) raw_length: u32,
    pub(super) stored_length: u32,
    pub(super) payload_checksum: u32,
}

/// Why bytes are no block header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BadHeader {
    /// The bytes are damaged: nothing in them can be relied on, not even the length.
    Damaged(&'static str),
    /// The bytes are what was written, but break the format; the length can be relied on.
    Impossible {
        /// What is wrong.
        message: String,
        /// Where the next block begins, counted from this one.
        length: u64,
        /// The least stamp that may be lost with the block.
        first_stamp: u64,
    },
}

impl BlockHeader {
    /// A header of a block without payload.
    pub(super) fn empty(kind: BlockKind, stamp: u64) -> Self {
        BlockHeader {
            kind,
            compressed: false,
            thread_ends: false,
            thread: 0,
            count: 0,
            first_stamp: stamp,
            last_stamp: stamp,
            raw_length: 0,
            stored_length: 0,
            payload_checksum: crc32fast::hash(&[]),
        }
    }

    /// Length of the whole block.
    pub(super) fn block_length(&self) -> u64 {
        BLOCK_HEADER_BYTES as u64 + u64::from(self.stored_length)
    }

    pub(super) fn encode(&self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        bytes[0..4].copy_from_slice(&BLOCK_MARKER);
        bytes[4] = self.kind.code();
        bytes[5] =
            u8::from(self.compressed) * FLAG_COMPRESSED + u8::from(self.thread_ends) * FLAG_THREAD_ENDS;
        bytes[8..12].copy_from_slice(&self.thread.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_stamp.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.last_stamp.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.raw_length.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.stored_length.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.payload_checksum.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..44]);
        bytes[44..48].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; BLOCK_HEADER_BYTES]) -> Result<Self, BadHeader> {
        if bytes[0..4] != BLOCK_MARKER {
            return Err(BadHeader::Damaged("no block begins here"));
        }
        if crc32fast::hash(&bytes[..44]) != read_u32(bytes, 44) {
            return Err(BadHeader::Damaged("the checksum of the block's header is wrong"));
        }
        let raw_length = read_u32(bytes, 32);
        let stored_length = read_u32(bytes, 36);
        let first_stamp = read_u64(bytes, 16);
        let impossible = |message: String| BadHeader::Impossible {
            message,
            length: BLOCK_HEADER_BYTES as u64 + u64::from(stored_length),
            first_stamp,
        };
        let Some(kind) = BlockKind::from_code(bytes[4]) else {
            return Err(impossible(format!("block kind {} is unknown", bytes[4])));
        };
        let flags = bytes[5];
        let header = BlockHeader {
            kind,
            compressed: flags & FLAG_COMPRESSED != 0,
            thread_ends: flags & FLAG_THREAD_ENDS != 0,
            thread: read_u32(bytes, 8),
            count: read_u32(bytes, 12),
            first_stamp,
            last_stamp: read_u64(bytes, 24),
            raw_length,
            stored_length,
            payload_checksum: read_u32(bytes, 40),
        };
        if matches!(kind, BlockKind::Skippable(_)) {
            return Ok(header);
        }
        if flags & !(FLAG_COMPRESSED | FLAG_THREAD_ENDS) != 0 || bytes[6..8] != [0, 0] {
            return Err(impossible("the block's header has unknown flags".to_owned()));
        }
        header.check().map_err(impossible)?;
        Ok(header)
    }

    /// Checks what is known without the payload, before anything is allocated for it.
    fn check(&self) -> Result<(), String> {
        if self.raw_length > MAX_BLOCK_BYTES || self.stored_length > MAX_BLOCK_BYTES {
            return Err(format!(
                "a block of {} bytes ({} stored) is larger than the {MAX_BLOCK_BYTES} that are allowed",
                self.raw_length, self.stored_length
            ));
        }
        if !self.compressed && self.raw_length != self.stored_length {
            return Err("the two lengths of an uncompressed block differ".to_owned());
        }
        match self.kind {
            BlockKind::Events => {
                if self.thread >= MAX_THREADS {
                    return Err(format!(
                        "thread number {} is out of range; a trace has at most {MAX_THREADS} threads",
                        self.thread
                    ));
                }
                if self.count == 0 || self.count > MAX_BLOCK_EVENTS {
                    return Err(format!(
                        "a block of {} events; 1 to {MAX_BLOCK_EVENTS} are allowed",
                        self.count
                    ));
                }
                let span = u64::from(self.count - 1);
                if self.last_stamp.checked_sub(self.first_stamp).is_none_or(|distance| distance < span) {
                    return Err(format!(
                        "{} events do not fit between the stamps {} and {}",
                        self.count, self.first_stamp, self.last_stamp
                    ));
                }
            }
            BlockKind::Checkpoint | BlockKind::End => {
                if self.raw_length != 0 {
                    return Err("a block of this kind has no payload".to_owned());
                }
            }
            BlockKind::Tables | BlockKind::Skippable(_) => {}
        }
        Ok(())
    }
}

/// The header of the file.
pub(super) fn file_header() -> [u8; FILE_HEADER_BYTES] {
    let mut bytes = [0; FILE_HEADER_BYTES];
    bytes[0..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..12]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// What the header of a file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FileHeader {
    /// The magic number is missing.
    Foreign,
    /// The magic number is there, the rest is damaged.
    Damaged,
    /// A good header with its version.
    Version(u32),
}

pub(super) fn decode_file_header(bytes: &[u8; FILE_HEADER_BYTES]) -> FileHeader {
    if bytes[0..8] != MAGIC {
        FileHeader::Foreign
    } else if crc32fast::hash(&bytes[..12]) != read_u32(bytes, 12) {
        FileHeader::Damaged
    } else {
        FileHeader::Version(read_u32(bytes, 8))
    }
}

fn read_u32<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn read_u64<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    u64::from(read_u32(bytes, at)) | u64::from(read_u32(bytes, at + 4)) << 32
}
