//! Finished blocks on their way to the file.

use super::block::{BLOCK_HEADER_BYTES, BlockHeader, BlockKind, file_header};
use super::names::{TableOutput, TableProgress};
use crate::trace::Tables;
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use std::io::{self, Write};

/// Makes a whole block out of a payload.
#[derive(Default)]
pub(super) struct Packer {
    table: CompressTable,
}

impl Packer {
    /// Compresses the payload if that makes it smaller, completes the header and puts both into `block`.
    pub(super) fn pack(&mut self, header: BlockHeader, payload: &[u8], block: &mut Vec<u8>) {
        block.clear();
        block.resize(BLOCK_HEADER_BYTES + get_maximum_output_size(payload.len()), 0);
        let compressed = compress_into_with_table(payload, &mut block[BLOCK_HEADER_BYTES..], &mut self.table);
        let compressed = compressed.ok().filter(|length| *length < payload.len());
        match compressed {
            Some(length) => block.truncate(BLOCK_HEADER_BYTES + length),
            None => {
                block.truncate(BLOCK_HEADER_BYTES);
                block.extend_from_slice(payload);
            }
        }
        let stored = &block[BLOCK_HEADER_BYTES..];
        let header = BlockHeader {
            compressed: compressed.is_some(),
            raw_length: payload.len() as u32,
            stored_length: stored.len() as u32,
            payload_checksum: crc32fast::hash(stored),
            ..header
        };
        block[..BLOCK_HEADER_BYTES].copy_from_slice(&header.encode());
    }
}

/// The file, of which only whole blocks are written.
pub(super) struct Output<W> {
    file: BlockFile<W>,
    progress: TableProgress,
}

/// The file without the knowledge of which tables it has.
struct BlockFile<W> {
    destination: W,
    state: State,
    packer: Packer,
    block: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// A block may have been written in part; whatever followed it could not be read.
    Broken,
    Finished,
}

impl<W: Write> BlockFile<W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.state {
            State::Open => {}
            State::Broken => return Err(io::Error::other("an earlier write to the trace has failed")),
            State::Finished => return Err(io::Error::other("the trace is finished")),
        }
        self.state = State::Broken;
        self.destination.write_all(bytes)?;
        self.state = State::Open;
        Ok(())
    }

    fn write_payload(&mut self, header: BlockHeader, payload: &[u8]) -> io::Result<()> {
        let mut block = std::mem::take(&mut self.block);
        self.packer.pack(header, payload, &mut block);
        let result = self.write_all(&block);
        self.block = block;
        result
    }
}

impl<W: Write> TableOutput for BlockFile<W> {
    fn table_block(&mut self, count: u32, payload: &[u8]) -> io::Result<()> {
        let header = BlockHeader { count, ..BlockHeader::empty(BlockKind::Tables, 0) };
        self.write_payload(header, payload)
    }
}

impl<W: Write> Output<W> {
    /// Writes the header of the file.
    pub(super) fn new(destination: W) -> io::Result<Self> {
        let mut file =
            BlockFile { destination, state: State::Open, packer: Packer::default(), block: Vec::new() };
        file.write_all(&file_header())?;
        Ok(Output { file, progress: TableProgress::default() })
    }

    /// Writes a block that is packed already.
    pub(super) fn write_block(&mut self, block: &[u8]) -> io::Result<()> {
        self.file.write_all(block)
    }

    /// Packs a payload and writes it.
    pub(super) fn write_payload(&mut self, header: BlockHeader, payload: &[u8]) -> io::Result<()> {
        self.file.write_payload(header, payload)
    }

    /// Writes the table entries that are new since the last call.
    pub(super) fn write_tables(&mut self, tables: &Tables) -> io::Result<()> {
        self.progress.write_new(tables, &mut self.file)
    }

    /// Tells that all events with smaller stamps have been written.
    pub(super) fn write_checkpoint(&mut self, stamp: u64) -> io::Result<()> {
        self.file.write_all(&BlockHeader::empty(BlockKind::Checkpoint, stamp).encode())
    }

    /// Writes the last table entries and the end mark.
    pub(super) fn finish(&mut self, tables: &Tables) -> io::Result<()> {
        self.write_tables(tables)?;
        self.progress.write_late(tables, &mut self.file)?;
        self.file.write_all(&BlockHeader::empty(BlockKind::End, 0).encode())?;
        self.file.state = State::Finished;
        self.file.destination.flush()
    }

    pub(super) fn into_inner(self) -> W {
        self.file.destination
    }
}
