//! What can be wrong with a trace, told so that its owner can act on it.

use std::io;

/// A trace that cannot be read, or whose order cannot be.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Reading failed.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),

    /// The input holds nothing at all.
    #[error("the trace is empty")]
    Empty,

    /// A line of a text trace does not parse.
    #[error("line {line}, column {column}: {message}")]
    Parse {
        /// Line, from 1.
        line: u64,
        /// Column in bytes, from 1.
        column: u64,
        /// What is wrong and what was expected.
        message: String,
    },

    /// A native trace breaks its format.
    #[error("byte {byte}: {message}")]
    Format {
        /// Offset of the damaged part in the file.
        byte: u64,
        /// What is wrong and what can be done.
        message: String,
    },

    /// The trace was written by a later keirin.
    #[error("format version {found} is newer than this keirin reads ({supported}); use a newer keirin")]
    Version {
        /// The version in the file's header.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },

    /// The input is no trace in any known format.
    #[error("not a trace: {0}")]
    Unknown(String),

    /// The events cannot have happened in this order.
    #[error("{unit} {position}: {message} (--lenient repairs what it can and counts it)")]
    Order {
        /// `line` or `event`.
        unit: &'static str,
        /// Which one.
        position: u64,
        /// What is wrong.
        message: String,
    },
}

/// What is missing from a trace that was cut off or damaged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loss {
    /// Blocks that are incomplete or damaged. Zero if the trace only lacks its end mark.
    pub blocks: u64,
    /// Bytes of the file that could not be used.
    pub bytes: u64,
    /// Byte offset of the first loss.
    pub first_byte: u64,
    /// From this position on, events of some threads may be missing, so that the order may look wrong.
    pub incomplete_from: u64,
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.blocks == 0 && self.bytes > 0 {
            return write!(
                f,
                "the header of the trace ({} bytes) is damaged, so its version is a guess; all blocks were read",
                self.bytes
            );
        }
        if self.blocks == 0 {
            return write!(
                f,
                "the trace is incomplete: it stops at byte {} without an end mark, so its last events may be missing; \
                 all blocks were read",
                self.first_byte
            );
        }
        write!(
            f,
            "the trace is incomplete: {} block{} ({} bytes) lost from byte {} on; all complete blocks were read",
            self.blocks,
            if self.blocks == 1 { "" } else { "s" },
            self.bytes,
            self.first_byte
        )
    }
}
