//! The first look at a trace: where the blocks of each thread are, what the tables hold, and what is missing.

use super::block::{
    BLOCK_HEADER_BYTES, BLOCK_MARKER, BadHeader, BlockHeader, BlockKind, FILE_HEADER_BYTES, FileHeader,
    MAGIC, VERSION, decode_file_header, file_header,
};
use super::names::TableReader;
use super::varint::PADDING;
use crate::trace::{Loss, TraceError};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Seek, SeekFrom};

/// Where a block of events is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlockReference {
    pub(super) offset: u64,
    pub(super) first_stamp: u64,
    pub(super) stored_length: u32,
}

/// The blocks of one thread.
#[derive(Debug)]
pub(super) struct ThreadBlocks {
    pub(super) thread: u32,
    pub(super) blocks: Vec<BlockReference>,
    last_stamp: u64,
    ends: bool,
}

/// What is missing, and from where on that matters.
#[derive(Default, Debug)]
pub(super) struct Losses {
    pub(super) loss: Option<Loss>,
    /// No event with a smaller stamp is missing.
    pub(super) complete_below: Option<u64>,
    /// Set if whole threads may be missing: no event with a smaller stamp is.
    pub(super) unseen_threads_below: Option<u64>,
}

impl Losses {
    /// Counts bytes that could not be used.
    pub(super) fn count(&mut self, blocks: u64, offset: u64, bytes: u64) {
        let loss = self.loss.get_or_insert_with(|| Loss { first_byte: offset, ..Loss::default() });
        loss.blocks += blocks;
        loss.bytes += bytes;
        loss.first_byte = loss.first_byte.min(offset);
    }

    /// Events from this stamp on may be missing.
    pub(super) fn lower(&mut self, stamp: u64) {
        self.complete_below = Some(self.complete_below.map_or(stamp, |old| old.min(stamp)));
    }
}

/// What the first look has found.
pub(super) struct Scan {
    /// Sorted by thread.
    pub(super) threads: Vec<ThreadBlocks>,
    pub(super) tables: TableReader,
    pub(super) losses: Losses,
    pub(super) file_length: u64,
    /// Bytes that need not be read again.
    pub(super) consumed: u64,
}

/// Buffers to load blocks into.
#[derive(Default)]
pub(super) struct BlockBuffers {
    stored: Vec<u8>,
    raw: Vec<u8>,
}

impl BlockBuffers {
    /// Loads a block, checks it and unpacks its payload; the slice ends with the padding that a cursor needs.
    ///
    /// The outer error is one of reading, the inner one tells how the block is damaged.
    pub(super) fn load<R: Read + Seek>(
        &mut self,
        input: &mut R,
        offset: u64,
        stored_length: u32,
    ) -> io::Result<Result<(BlockHeader, &[u8]), String>> {
        let length = BLOCK_HEADER_BYTES + stored_length as usize;
        if self.stored.len() < length {
            self.stored.resize(length, 0);
        }
        input.seek(SeekFrom::Start(offset))?;
        let block = &mut self.stored[..length];
        input.read_exact(block)?;
        Ok(unpack(block, &mut self.raw))
    }
}

fn unpack<'a>(block: &[u8], raw: &'a mut Vec<u8>) -> Result<(BlockHeader, &'a [u8]), String> {
    let changed = || "the block has changed while it was read".to_owned();
    let (header, stored) = block.split_first_chunk().ok_or_else(changed)?;
    let header = BlockHeader::decode(header).map_err(|_| changed())?;
    if header.stored_length as usize != stored.len() {
        return Err(changed());
    }
    if crc32fast::hash(stored) != header.payload_checksum {
        return Err("the checksum of the block is wrong".to_owned());
    }
    let raw_length = header.raw_length as usize;
    if raw.len() < raw_length + PADDING {
        raw.resize(raw_length + PADDING, 0);
    }
    let payload = &mut raw[..raw_length];
    if !header.compressed {
        payload.copy_from_slice(stored);
    } else if lz4_flex::block::decompress_into(stored, payload).ok() != Some(raw_length) {
        return Err("the block cannot be decompressed".to_owned());
    }
    Ok((header, &raw[..raw_length + PADDING]))
}

/// An error about damage, with advice.
pub(super) fn damaged(byte: u64, message: &str) -> TraceError {
    TraceError::Format {
        byte,
        message: format!("{message} (--lenient skips damaged blocks and counts them)"),
    }
}

/// Looks through the headers of all blocks.
pub(super) fn scan<R: Read + Seek>(input: &mut R, skip_damaged: bool) -> Result<Scan, TraceError> {
    let file_length = input.seek(SeekFrom::End(0))?;
    let mut scanner = Scanner {
        input,
        skip_damaged,
        file_length,
        threads: Vec::new(),
        by_thread: FxHashMap::default(),
        tables: TableReader::new(skip_damaged),
        losses: Losses::default(),
        checkpoint: 0,
        gap_checkpoint: None,
        consumed: 0,
        buffers: BlockBuffers::default(),
    };
    if scanner.file_header()? {
        scanner.blocks()?;
    }
    let Scanner { mut threads, tables, mut losses, gap_checkpoint, consumed, .. } = scanner;
    threads.sort_unstable_by_key(|thread| thread.thread);
    losses.unseen_threads_below = gap_checkpoint;
    if let Some(checkpoint) = gap_checkpoint
        && threads.first().is_none_or(|thread| thread.thread != 0)
    {
        // Every trace has a thread 0, and nobody forks it.
        losses.lower(checkpoint);
    }
    Ok(Scan { threads, tables, losses, file_length, consumed })
}

struct Scanner<'a, R> {
    input: &'a mut R,
    skip_damaged: bool,
    file_length: u64,
    threads: Vec<ThreadBlocks>,
    /// Index into `threads`. Thread numbers may have holes, so they are no indices themselves.
    by_thread: FxHashMap<u32, usize>,
    tables: TableReader,
    losses: Losses,
    /// No event below this stamp stands in a later block.
    checkpoint: u64,
    /// The checkpoint at the first place where blocks of any thread may be missing.
    gap_checkpoint: Option<u64>,
    consumed: u64,
    buffers: BlockBuffers,
}

impl<R: Read + Seek> Scanner<'_, R> {
    /// Reads the header of the file. False if there is nothing behind it.
    fn file_header(&mut self) -> Result<bool, TraceError> {
        if self.file_length == 0 {
            return Err(TraceError::Empty);
        }
        let mut header = [0; FILE_HEADER_BYTES];
        let length = self.file_length.min(FILE_HEADER_BYTES as u64) as usize;
        self.input.seek(SeekFrom::Start(0))?;
        self.input.read_exact(&mut header[..length])?;
        self.consumed = length as u64;
        if length < FILE_HEADER_BYTES {
            if header[..length] != file_header()[..length] {
                return Err(foreign());
            }
            self.losses.count(1, 0, length as u64);
            self.gap();
            return Ok(false);
        }
        match decode_file_header(&header) {
            FileHeader::Foreign => Err(foreign()),
            FileHeader::Version(found) if found > VERSION => {
                Err(TraceError::Version { found, supported: VERSION })
            }
            FileHeader::Version(VERSION) => Ok(true),
            FileHeader::Version(found) => Err(TraceError::Format {
                byte: MAGIC.len() as u64,
                message: format!("there is no format version {found}"),
            }),
            // The version is as likely the usual one as it ever was, and every block has its own checksum.
            FileHeader::Damaged if self.skip_damaged => {
                self.losses.count(0, 0, FILE_HEADER_BYTES as u64);
                Ok(true)
            }
            FileHeader::Damaged => Err(damaged(0, "the header of the file is damaged")),
        }
    }

    fn blocks(&mut self) -> Result<(), TraceError> {
        let mut offset = FILE_HEADER_BYTES as u64;
        let mut ended = false;
        loop {
            let left = self.file_length - offset;
            if ended {
                if left != 0 && !self.skip_damaged {
                    return Err(damaged(offset, "the file goes on after the end of the trace"));
                } else if left != 0 {
                    self.losses.count(1, offset, left);
                }
                return Ok(());
            }
            if left < BLOCK_HEADER_BYTES as u64 {
                self.cut(offset);
                return Ok(());
            }
            let mut header = [0; BLOCK_HEADER_BYTES];
            self.input.seek(SeekFrom::Start(offset))?;
            self.input.read_exact(&mut header)?;
            let length = match BlockHeader::decode(&header) {
                Ok(header) if header.block_length() > left => {
                    self.cut(offset);
                    return Ok(());
                }
                Ok(header) => {
                    ended = header.kind == BlockKind::End;
                    self.block(offset, &header)?;
                    header.block_length()
                }
                Err(BadHeader::Damaged(message)) => {
                    if !self.skip_damaged {
                        if self.is_zero_from(offset)? {
                            self.cut(offset);
                            return Ok(());
                        }
                        return Err(damaged(offset, message));
                    }
                    let next = self.find_block(offset + 1)?;
                    self.losses.count(1, offset, next - offset);
                    self.gap();
                    next - offset
                }
                Err(BadHeader::Impossible { message, length, first_stamp }) => {
                    self.impossible(offset, length, first_stamp, &message)?;
                    length.min(left)
                }
            };
            offset += length;
        }
    }

    /// The trace stops here without an end mark, perhaps amid a block.
    fn cut(&mut self, offset: u64) {
        let left = self.file_length - offset;
        self.losses.count(u64::from(left != 0), offset, left);
        self.gap();
    }

    /// Blocks of any thread may be missing here.
    fn gap(&mut self) {
        if self.gap_checkpoint.is_some() {
            // What a later gap takes away comes after what the first one took.
            return;
        }
        self.gap_checkpoint = Some(self.checkpoint);
        for thread in self.threads.iter().filter(|thread| !thread.ends) {
            self.losses.lower(thread.last_stamp.saturating_add(1).max(self.checkpoint));
        }
    }

    /// A block that was written as it is, but that breaks the format.
    fn impossible(
        &mut self,
        offset: u64,
        length: u64,
        first_stamp: u64,
        message: &str,
    ) -> Result<(), TraceError> {
        if !self.skip_damaged {
            return Err(damaged(offset, message));
        }
        self.losses.count(1, offset, length.min(self.file_length - offset));
        self.losses.lower(first_stamp);
        Ok(())
    }

    /// Takes note of a complete block with a good header.
    fn block(&mut self, offset: u64, header: &BlockHeader) -> Result<(), TraceError> {
        match header.kind {
            BlockKind::Events => return self.event_block(offset, header),
            BlockKind::Tables => return self.table_block(offset, header),
            BlockKind::Checkpoint => self.checkpoint = self.checkpoint.max(header.first_stamp),
            BlockKind::End | BlockKind::Skippable(_) => {}
        }
        self.consumed += header.block_length();
        Ok(())
    }

    fn event_block(&mut self, offset: u64, header: &BlockHeader) -> Result<(), TraceError> {
        let reference =
            BlockReference { offset, first_stamp: header.first_stamp, stored_length: header.stored_length };
        match self.by_thread.get(&header.thread) {
            None => {
                if let Some(checkpoint) = self.gap_checkpoint {
                    // The thread's first blocks may be among those that are missing.
                    self.losses.lower(checkpoint);
                }
                self.by_thread.insert(header.thread, self.threads.len());
                self.threads.push(ThreadBlocks {
                    thread: header.thread,
                    blocks: vec![reference],
                    last_stamp: header.last_stamp,
                    ends: header.thread_ends,
                });
            }
            Some(&index) => {
                let thread = &mut self.threads[index];
                if header.first_stamp <= thread.last_stamp {
                    let message = format!(
                        "the stamps of thread {} go back from {} to {}",
                        header.thread, thread.last_stamp, header.first_stamp
                    );
                    return self.impossible(offset, header.block_length(), header.first_stamp, &message);
                }
                thread.blocks.push(reference);
                thread.last_stamp = header.last_stamp;
                thread.ends = header.thread_ends;
            }
        }
        Ok(())
    }

    fn table_block(&mut self, offset: u64, header: &BlockHeader) -> Result<(), TraceError> {
        let problem = match self.buffers.load(self.input, offset, header.stored_length)? {
            Ok((header, payload)) => match self.tables.read(header.count, payload) {
                Some(()) => None,
                None => Some("the table block breaks the format".to_owned()),
            },
            Err(message) => Some(message),
        };
        match problem {
            None => self.consumed += header.block_length(),
            Some(message) if !self.skip_damaged => return Err(damaged(offset, &message)),
            Some(_) => self.losses.count(1, offset, header.block_length()),
        }
        Ok(())
    }

    /// Where the next good block header is, or the end of the file.
    fn find_block(&mut self, from: u64) -> io::Result<u64> {
        const CHUNK: usize = 64 << 10;
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut start = from;
        loop {
            let length = self.read_chunk(start, CHUNK, &mut chunk)?;
            for (at, window) in chunk[..length].windows(BLOCK_HEADER_BYTES).enumerate() {
                let marked = window.starts_with(&BLOCK_MARKER);
                if marked
                    && let Some(header) = window.first_chunk()
                    && !matches!(BlockHeader::decode(header), Err(BadHeader::Damaged(_)))
                {
                    return Ok(start + at as u64);
                }
            }
            if length < CHUNK {
                return Ok(self.file_length);
            }
            // A header may lie across the end of the chunk.
            start += (CHUNK - BLOCK_HEADER_BYTES + 1) as u64;
        }
    }

    /// Whether only zeros follow: what a file system may leave of a file that was being written when the power went.
    fn is_zero_from(&mut self, from: u64) -> io::Result<bool> {
        const CHUNK: usize = 64 << 10;
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut start = from;
        loop {
            let length = self.read_chunk(start, CHUNK, &mut chunk)?;
            if chunk[..length].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            if length < CHUNK {
                return Ok(true);
            }
            start += length as u64;
        }
    }

    /// Reads a chunk, which is shorter only at the end of the file.
    fn read_chunk(&mut self, start: u64, size: usize, chunk: &mut Vec<u8>) -> io::Result<usize> {
        let length = self.file_length.saturating_sub(start).min(size as u64) as usize;
        chunk.resize(length, 0);
        self.input.seek(SeekFrom::Start(start))?;
        self.input.read_exact(chunk)?;
        Ok(length)
    }
}

fn foreign() -> TraceError {
    TraceError::Unknown("the file does not begin like a keirin trace".to_owned())
}
