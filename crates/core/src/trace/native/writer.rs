//! Writers of native traces: one for events in their global order, one for threads that record at once.

use super::encode::{EventEncoder, invalid};
use super::output::{Output, Packer};
use crate::event::{Event, Op, SiteId, ThreadId};
use crate::trace::{Batch, MAX_THREADS, Sink, Tables};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// After this many events all threads' blocks are written, full or not. It bounds the memory of the writer and of the
/// reader, and how much an interrupted trace lacks.
const CHECKPOINT_EVENTS: u32 = 1 << 20;

/// With more threads than this, their buffers are given back at a checkpoint.
const KEPT_BUFFERS: usize = 64;

/// Writes events that come in their global order; the stamp of an event is its ordinal.
///
/// The destination should not be buffered: whole blocks are written at once.
pub struct Writer<W: Write> {
    output: Output<W>,
    /// By thread number.
    threads: Vec<Option<Box<EventEncoder>>>,
    payload: Vec<u8>,
    next_stamp: u64,
    since_checkpoint: u32,
    checkpoint_events: u32,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    pub fn new(destination: W) -> io::Result<Self> {
        Ok(Writer {
            output: Output::new(destination)?,
            threads: Vec::new(),
            payload: Vec::new(),
            next_stamp: 0,
            since_checkpoint: 0,
            checkpoint_events: CHECKPOINT_EVENTS,
        })
    }

    /// Gives the destination back. Without a [`Sink::finish`] before, the trace lacks its end.
    pub fn into_inner(self) -> W {
        self.output.into_inner()
    }

    /// For tests of files with many blocks that are still small.
    #[cfg(test)]
    pub(super) fn set_checkpoint_events(&mut self, events: u32) {
        self.checkpoint_events = events;
    }

    #[inline]
    fn append(&mut self, event: &Event, tables: &Tables) -> io::Result<()> {
        let index = event.thread.index();
        if !matches!(self.threads.get(index), Some(Some(_))) {
            self.add_thread(event.thread)?;
        }
        let Some(Some(encoder)) = self.threads.get_mut(index) else {
            return Err(invalid(format!("thread {index} is out of range")));
        };
        encoder.push(event.site, event.op)?;
        encoder.stamp(self.next_stamp)?;
        self.next_stamp += 1;
        self.since_checkpoint += 1;
        if encoder.is_full() {
            self.output.write_tables(tables)?;
            let header = encoder.take_block(&mut self.payload)?;
            self.output.write_payload(header, &self.payload)?;
        }
        if self.since_checkpoint >= self.checkpoint_events {
            self.checkpoint(tables)?;
        }
        Ok(())
    }

    #[cold]
    fn add_thread(&mut self, thread: ThreadId) -> io::Result<()> {
        let encoder = EventEncoder::new(thread)?;
        debug_assert!(thread.0 < MAX_THREADS);
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, || None);
        }
        self.threads[thread.index()] = Some(Box::new(encoder));
        Ok(())
    }

    /// Writes what all threads hold back.
    fn checkpoint(&mut self, tables: &Tables) -> io::Result<()> {
        self.output.write_tables(tables)?;
        for encoder in self.threads.iter_mut().flatten().filter(|encoder| !encoder.is_empty()) {
            let header = encoder.take_block(&mut self.payload)?;
            self.output.write_payload(header, &self.payload)?;
        }
        if self.threads.len() > KEPT_BUFFERS {
            self.threads.clear();
        }
        self.since_checkpoint = 0;
        self.output.write_checkpoint(self.next_stamp)
    }
}

impl<W: Write> Sink for Writer<W> {
    fn write(&mut self, batch: &Batch, tables: &Tables) -> io::Result<()> {
        batch.events().iter().try_for_each(|event| self.append(event, tables))
    }

    fn finish(&mut self, tables: &Tables) -> io::Result<()> {
        if self.since_checkpoint != 0 {
            self.checkpoint(tables)?;
        }
        self.output.finish(tables)
    }
}

/// A trace that many threads write at once. Each has its own [`ThreadWriter`]; only whole blocks meet here.
///
/// The destination should not be buffered, so that blocks survive a crash of the program.
pub struct SharedWriter<W: Write> {
    output: Mutex<Output<W>>,
    clock: AtomicU64,
}

impl<W: Write> SharedWriter<W> {
    /// Begins a trace.
    pub fn new(destination: W) -> io::Result<Self> {
        Ok(SharedWriter { output: Mutex::new(Output::new(destination)?), clock: AtomicU64::new(0) })
    }

    /// A panic in another thread leaves whole blocks or a file that refuses more, so poison means nothing here.
    fn output(&self) -> MutexGuard<'_, Output<W>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `count` consecutive stamps and returns the first. Stamps taken later are larger, on all threads.
    #[inline]
    pub fn reserve_stamps(&self, count: u32) -> u64 {
        // The additions to one variable are totally ordered, and each is ordered with what its thread does before and
        // after, which is all that the clock promises.
        self.clock.fetch_add(u64::from(count), Ordering::AcqRel)
    }

    /// Writes the table entries that are new since the last call. To be called before a block is written that uses
    /// them, so that an interrupted trace has the names of all its events.
    pub fn write_tables(&self, tables: &Tables) -> io::Result<()> {
        self.output().write_tables(tables)
    }

    /// Tells that all events with smaller stamps have been written, by all threads.
    pub fn write_checkpoint(&self, stamp: u64) -> io::Result<()> {
        self.output().write_checkpoint(stamp)
    }

    /// Ends the trace. The threads must have flushed what they hold; later blocks are refused.
    pub fn finish(&self, tables: &Tables) -> io::Result<()> {
        self.output().finish(tables)
    }

    /// Gives the destination back.
    pub fn into_inner(self) -> W {
        self.output.into_inner().unwrap_or_else(PoisonError::into_inner).into_inner()
    }
}

/// The part of a trace that one thread writes. What has not been flushed is lost when it is dropped.
pub struct ThreadWriter {
    encoder: EventEncoder,
    packer: Packer,
    payload: Vec<u8>,
    block: Vec<u8>,
}

impl ThreadWriter {
    /// A writer for a thread, whose number must be below [`MAX_THREADS`]. There must be no other for the same thread.
    pub fn new(thread: ThreadId) -> io::Result<Self> {
        Ok(ThreadWriter {
            encoder: EventEncoder::new(thread)?,
            packer: Packer::default(),
            payload: Vec::new(),
            block: Vec::new(),
        })
    }

    /// Adds an event with a stamp of the caller's clock, which must be larger than the thread's last one. On an error
    /// the event is not added.
    #[inline]
    pub fn append<W: Write>(
        &mut self,
        shared: &SharedWriter<W>,
        stamp: u64,
        site: SiteId,
        op: Op,
    ) -> io::Result<()> {
        if self.encoder.unstamped() != 0 {
            self.seal(shared)?;
        }
        self.encoder.check_stamp(stamp)?;
        self.encoder.push(site, op)?;
        self.encoder.stamp(stamp)?;
        if self.encoder.is_full() { self.flush(shared) } else { Ok(()) }
    }

    /// Adds an event whose stamp is taken at the next [`ThreadWriter::seal`].
    #[inline]
    pub fn push<W: Write>(&mut self, shared: &SharedWriter<W>, site: SiteId, op: Op) -> io::Result<()> {
        self.encoder.push(site, op)?;
        if self.encoder.is_full() { self.flush(shared) } else { Ok(()) }
    }

    /// Takes stamps from the shared clock for all events that have none. To be called around every synchronizing
    /// operation: after its event was pushed, and before a release takes effect or after an acquire has.
    #[inline]
    pub fn seal<W: Write>(&mut self, shared: &SharedWriter<W>) -> io::Result<()> {
        let count = self.encoder.unstamped();
        if count == 0 {
            return Ok(());
        }
        self.encoder.stamp(shared.reserve_stamps(count))
    }

    /// Writes what is held back, as one block.
    pub fn flush<W: Write>(&mut self, shared: &SharedWriter<W>) -> io::Result<()> {
        self.seal(shared)?;
        if self.encoder.is_empty() {
            return Ok(());
        }
        let header = self.encoder.take_block(&mut self.payload)?;
        self.packer.pack(header, &self.payload, &mut self.block);
        shared.output().write_block(&self.block)
    }
}
