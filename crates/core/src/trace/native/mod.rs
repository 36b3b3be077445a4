//! The native trace format, `.ktrace`: compact, fast, written by many threads at once, and of use even if cut off.
//!
//! A trace is a file header and a sequence of blocks. Each block holds events of one thread (or names), has its own
//! checksum and needs no other block to be decoded. `docs/trace-format.md` tells every byte.
//!
//! # Stamps
//!
//! Every event has a stamp, and the reader gives the events in the order of (stamp, thread). The stamps of a thread
//! grow strictly. A converter numbers the events, so the order is kept exactly. A recorder must take stamps from one
//! clock that all threads share, so that an event that could have been influenced by another one has the larger stamp:
//!
//! - what publishes (a release, a fork, a notification, a store) is stamped *before* it takes effect;
//! - what takes over (an acquire, a join, the end of a wait, a load) is stamped *after* it has taken effect;
//! - an operation that does both (a read-modify-write) is stamped while no other thread can act on the same object.
//!
//! The events between two synchronizing operations of a thread may be stamped late, together with the second of them:
//! nothing orders them more narrowly. [`ThreadWriter::push`] and [`ThreadWriter::seal`] do that with one atomic
//! addition per synchronizing operation. Accesses that race may then be told in another order than they happened in;
//! it is always an order in which they could have happened. A recorder that must keep the order of racing accesses
//! seals after each one.

mod block;
mod code;
pub(crate) mod decode;
pub(crate) mod encode;
mod merge;
pub(crate) mod names;
mod output;
mod reader;
mod scan;
pub(crate) mod varint;
mod writer;

#[cfg(test)]
mod tests;

pub use block::{
    BLOCK_HEADER_BYTES, BLOCK_MARKER, FILE_HEADER_BYTES, MAGIC, MAX_BLOCK_BYTES, MAX_BLOCK_EVENTS, VERSION,
};
pub use names::MAX_TEXT_BYTES;
pub use reader::{Reader, ReaderOptions};
pub use writer::{SharedWriter, ThreadWriter, Writer};
