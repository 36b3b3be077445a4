//! The file through which a watched program hands its findings over.
//!
//! It is a sequence of records, appended while the program runs. Each has its own checksums and can be used by itself, so
//! that a program that is killed, or a full disk, costs no more than the last record. `docs/handover-format.md` tells every
//! byte.

mod codec;
mod frame;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use frame::{MAGIC, MAX_RECORD_BYTES, RECORD_HEADER_BYTES, RECORD_MARKER, VERSION};
pub use reader::{Figure, Handover, HandoverError, Loss, read};
pub use writer::Writer;

/// How a watched program ended, as far as it knows itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It exits with a status.
    Exit(i32),
    /// A signal that ends it was noticed.
    Signal(i32),
    /// It becomes another program.
    Exec,
    /// Nothing is told any more, though the program goes on.
    Stopped,
}
