//! Recorded runs: where events come from when the program is not at hand.
//!
//! Every reader is a [`Source`]: it fills batches of events in their global order and keeps the [`Tables`] of names
//! behind the ids. Every writer is a [`Sink`]. Nothing outside this folder knows how a format looks.

mod error;
pub mod native;
pub mod std_format;
mod tables;

pub use crate::clock::MAX_THREADS;
pub use error::{Loss, TraceError};
pub use tables::{
    FileId, Location, MemoryBlock, Module, ModuleId, NameKind, Place, Site, Tables, ThreadOrigin,
};

use crate::event::Event;
use std::io;

/// How many events a source puts into one batch, roughly.
pub const BATCH_EVENTS: usize = 4096;

/// Some consecutive events of a trace, with their positions.
///
/// A position tells a person where the event stands: the line of a text trace, the ordinal of a native one. Positions
/// start at 1 and grow; they mostly grow by one, so only the jumps are stored.
#[derive(Default, Debug)]
pub struct Batch {
    events: Vec<Event>,
    /// (index of an event, its position), wherever the position is not the previous one plus one.
    jumps: Vec<(u32, u64)>,
    next_position: u64,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the events, keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.jumps.clear();
        self.next_position = 0;
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, position: u64, event: Event) {
        if position != self.next_position {
            self.jumps.push((self.events.len() as u32, position));
        }
        self.next_position = position + 1;
        self.events.push(event);
    }

    /// Adds events whose positions follow each other.
    #[inline]
    pub fn extend(&mut self, first_position: u64, events: &[Event]) {
        if events.is_empty() {
            return;
        }
        if first_position != self.next_position {
            self.jumps.push((self.events.len() as u32, first_position));
        }
        self.next_position = first_position + events.len() as u64;
        self.events.extend_from_slice(events);
    }

    /// Adds the first `count` of some events whose positions follow each other.
    ///
    /// Few events are copied as a fixed number, the surplus of which is dropped: a copy of unknown length costs more
    /// than a wider one, and it is done for every switch between threads.
    #[inline]
    pub(crate) fn extend_with_first(&mut self, first_position: u64, events: &[Event], count: usize) {
        const FEW: usize = 4;
        match events.first_chunk::<FEW>() {
            Some(few) if count <= FEW => {
                let length = self.events.len() + count;
                self.extend(first_position, few);
                self.events.truncate(length);
                self.next_position = first_position + count as u64;
            }
            _ => self.extend(first_position, &events[..count]),
        }
    }

    /// The events without their positions.
    #[inline]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Stretches of events whose positions follow each other, each with the position of its first event.
    pub fn runs(&self) -> impl Iterator<Item = (u64, &[Event])> {
        let ends = self.jumps.iter().skip(1).map(|jump| jump.0 as usize).chain([self.events.len()]);
        self.jumps
            .iter()
            .zip(ends)
            .map(|(&(start, position), end)| (position, &self.events[start as usize..end]))
    }

    /// The events with their positions.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Event)> {
        self.runs().flat_map(|(first, events)| (first..).zip(events))
    }
}

/// What the positions of a source count, for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PositionUnit {
    /// Lines of a text.
    Line,
    /// Events in their global order.
    Event,
    /// Nothing that a person could look up: the run was watched, not recorded.
    Nothing,
}

impl PositionUnit {
    /// The word for a message: `line 12`, `event 12`.
    pub fn noun(self) -> &'static str {
        match self {
            PositionUnit::Line => "line",
            PositionUnit::Event => "event",
            PositionUnit::Nothing => "moment",
        }
    }
}

/// A reader of a trace.
pub trait Source {
    /// Puts the next events into `batch`, which is cleared first. False when the trace is at its end (the batch may
    /// still hold the last events).
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, TraceError>;

    /// The names behind the ids of all events given so far.
    fn tables(&self) -> &Tables;

    /// What the positions count.
    fn unit(&self) -> PositionUnit;

    /// How much of the input has been consumed, for a progress display: bytes of a file, events of a generator.
    fn consumed(&self) -> u64;

    /// What could not be read, if the trace is incomplete. Complete once [`Source::fill`] has returned false.
    fn loss(&self) -> Option<&Loss> {
        None
    }
}

/// A writer of a trace.
pub trait Sink {
    /// Writes the events of one batch. `tables` has at least the names that they use.
    fn write(&mut self, batch: &Batch, tables: &Tables) -> io::Result<()>;

    /// Writes what is still held back. Nothing may be written afterwards.
    fn finish(&mut self, tables: &Tables) -> io::Result<()>;
}
