//! The reader of native traces.

use super::decode::{Decoded, decode_events};
use super::merge::{Lane, Schedule, Stop};
use super::scan::{BlockBuffers, BlockReference, Losses, Scan, damaged, scan};
use super::{BLOCK_HEADER_BYTES, MAX_BLOCK_EVENTS};
use crate::trace::{Batch, Loss, PositionUnit, Source, Tables, TraceError};
use std::io::{Read, Seek};

/// How many events may be decoded and not yet given, of all threads together. Only a trace in which tens of thousands
/// of threads run at once could need more.
const MAX_DECODED_EVENTS: usize = 1 << 27;

/// How many buffers are kept for the next blocks.
const KEPT_BUFFERS: usize = 16;

/// How a trace is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReaderOptions {
    /// Skip damaged blocks and count them, rather than fail.
    pub skip_damaged: bool,
}

/// Reads a native trace.
///
/// The headers of all blocks and the tables are read first. Then one decoded block is held for each thread that is
/// amid its events, so the memory depends on the number of threads, not on the length of the trace (apart from
/// 24 bytes for each block). A trace that was cut off is read up to there, and [`Source::loss`] tells it.
///
/// The input need not be buffered: whole blocks are read at once.
pub struct Reader<R> {
    input: R,
    options: ReaderOptions,
    scan: Scan,
    /// The blocks of each thread, in the order of their numbers; parallel to `scan.threads`.
    lanes: Vec<Lane>,
    schedule: Schedule,
    current: Option<u32>,
    next_position: u64,
    /// The stamp from which on events may be missing, until its position is known.
    complete_below: u64,
    incomplete_from: Option<u64>,
    consumed: u64,
    decoded_events: usize,
    buffers: BlockBuffers,
    spare: Vec<Decoded>,
}

impl<R: Read + Seek> Reader<R> {
    /// Opens a trace; damage is an error.
    pub fn new(input: R) -> Result<Self, TraceError> {
        Self::with_options(input, ReaderOptions::default())
    }

    /// Opens a trace.
    pub fn with_options(mut input: R, options: ReaderOptions) -> Result<Self, TraceError> {
        let mut scan = scan(&mut input, options.skip_damaged)?;
        let mut schedule = Schedule::default();
        let mut lanes = Vec::with_capacity(scan.threads.len());
        for (index, thread) in scan.threads.iter_mut().enumerate() {
            let lane = Lane::new(std::mem::take(&mut thread.blocks));
            schedule.add(lane.stamp(), index as u32);
            lanes.push(lane);
        }
        let current = schedule.pop();
        let mut reader = Reader {
            input,
            options,
            lanes,
            schedule,
            current,
            next_position: 1,
            complete_below: scan.losses.complete_below.unwrap_or(u64::MAX),
            incomplete_from: None,
            consumed: scan.consumed,
            decoded_events: 0,
            scan,
            buffers: BlockBuffers::default(),
            spare: Vec::new(),
        };
        if reader.current.is_none() {
            reader.finish();
        }
        Ok(reader)
    }

    /// Copies events until the batch is full. False at the end of the trace.
    fn merge(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        while let Some(current) = self.current {
            let limit = self.schedule.limit();
            let lane = &mut self.lanes[current as usize];
            let stop = lane.copy(
                current,
                limit,
                &mut self.next_position,
                batch,
                &mut self.complete_below,
                &mut self.incomplete_from,
            );
            match stop {
                Stop::Full => return Ok(true),
                Stop::Switch => self.current = Some(self.schedule.exchange(lane.stamp(), current)),
                Stop::BlockNeeded => self.next_block(current)?,
            }
        }
        Ok(false)
    }

    /// Decodes the next block of a lane if it is its turn; at the end of the lane goes on to the next one.
    fn next_block(&mut self, current: u32) -> Result<(), TraceError> {
        let lane = &mut self.lanes[current as usize];
        let used = lane.take_decoded();
        if !used.events.is_empty() {
            // The lane may have to wait for a long time before its next block is due: others can use the memory.
            self.decoded_events -= used.events.len();
            if self.spare.len() < KEPT_BUFFERS {
                self.spare.push(used);
            }
            if !lane.advance() {
                self.current = self.schedule.pop();
            }
            return Ok(());
        }
        let Some(block) = lane.next_block() else {
            self.current = self.schedule.pop();
            return Ok(());
        };
        if self.decoded_events + MAX_BLOCK_EVENTS as usize > MAX_DECODED_EVENTS {
            return Err(TraceError::Format {
                byte: block.offset,
                message: format!("more than {MAX_DECODED_EVENTS} events of different threads overlap"),
            });
        }
        self.consumed += BLOCK_HEADER_BYTES as u64 + u64::from(block.stored_length);
        match self.decode(block)? {
            Ok(decoded) => {
                self.decoded_events += decoded.events.len();
                self.note_unseen_threads(&decoded);
                self.lanes[current as usize].start(decoded);
            }
            Err(message) if !self.options.skip_damaged => return Err(damaged(block.offset, &message)),
            Err(_) => {
                let length = BLOCK_HEADER_BYTES as u64 + u64::from(block.stored_length);
                self.scan.losses.count(1, block.offset, length);
                self.lower(block.first_stamp);
                if !self.lanes[current as usize].advance() {
                    self.current = self.schedule.pop();
                }
            }
        }
        Ok(())
    }

    fn decode(&mut self, block: BlockReference) -> Result<Result<Decoded, String>, TraceError> {
        let mut decoded = self.spare.pop().unwrap_or_default();
        let loaded = self.buffers.load(&mut self.input, block.offset, block.stored_length)?;
        Ok(loaded.and_then(|(header, payload)| match decode_events(&header, payload, &mut decoded) {
            Some(()) => Ok(decoded),
            None => Err("the events of the block break the format".to_owned()),
        }))
    }

    /// A thread that was forked but has no block may have lost all its events.
    fn note_unseen_threads(&mut self, decoded: &Decoded) {
        let Some(floor) = self.scan.losses.unseen_threads_below else { return };
        for &(index, child) in &decoded.forks {
            if self.scan.threads.binary_search_by_key(&child, |thread| thread.thread).is_err() {
                self.lower((decoded.stamp_of(index) + 1).max(floor));
            }
        }
    }

    /// Events from this stamp on may be missing.
    fn lower(&mut self, stamp: u64) {
        if self.incomplete_from.is_none() {
            self.complete_below = self.complete_below.min(stamp);
        }
    }

    /// All events have been given.
    fn finish(&mut self) {
        self.consumed = self.scan.file_length;
        let incomplete_from = self.incomplete_from.unwrap_or(self.next_position);
        if let Losses { loss: Some(loss), .. } = &mut self.scan.losses {
            loss.incomplete_from = incomplete_from;
        }
    }
}

impl<R: Read + Seek> Source for Reader<R> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        match self.merge(batch) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.finish();
                Ok(false)
            }
            Err(error) => {
                // What follows a failure would be out of order.
                self.current = None;
                Err(error)
            }
        }
    }

    fn tables(&self) -> &Tables {
        self.scan.tables.tables()
    }

    fn unit(&self) -> PositionUnit {
        PositionUnit::Event
    }

    fn consumed(&self) -> u64 {
        self.consumed
    }

    fn loss(&self) -> Option<&Loss> {
        self.scan.losses.loss.as_ref()
    }
}
