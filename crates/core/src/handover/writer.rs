//! Makes the records; the runtime takes the bytes and appends them to its file.

use super::End;
use super::codec::Encode;
use super::frame::{
    KIND_BEGIN, KIND_COUNTS, KIND_END, KIND_FINDING, KIND_NOTE, KIND_STACKS, KIND_STATISTICS, KIND_TABLES,
    MAGIC, MAX_RECORD_BYTES, VERSION, put_record,
};
use crate::analysis::Statistic;
use crate::finding::RawFinding;
use crate::replay::Counts;
use crate::stack::Stacks;
use crate::trace::Tables;
use crate::trace::native::names::{TableOutput, TableProgress, put_text};
use crate::trace::native::varint::put;
use std::io;

/// How many stacks one record holds at most.
const STACKS_PER_RECORD: usize = 4096;

/// Makes the records of one process.
pub struct Writer {
    records: Records,
    progress: TableProgress,
    stacks: usize,
}

/// Finished records that nobody has taken yet.
struct Records {
    bytes: Vec<u8>,
    content: Vec<u8>,
}

impl Records {
    fn add(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        self.content.clear();
        fill(&mut self.content)?;
        if self.content.len() > MAX_RECORD_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a record is too long"));
        }
        put_record(&mut self.bytes, kind, &self.content);
        Ok(())
    }

    /// For content that is never refused.
    fn add_sound(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        let added = self.add(kind, |content| {
            fill(content);
            Ok(())
        });
        debug_assert!(added.is_ok());
    }
}

impl TableOutput for Records {
    fn table_block(&mut self, count: u32, payload: &[u8]) -> io::Result<()> {
        self.add(KIND_TABLES, |content| {
            put(content, u64::from(count));
            content.extend_from_slice(payload);
            Ok(())
        })
    }
}

impl Writer {
    /// Begins the file of a process.
    pub fn new(pid: u32, program: &str) -> Self {
        let mut records = Records { bytes: Vec::new(), content: Vec::new() };
        records.add_sound(KIND_BEGIN, |content| {
            content.extend_from_slice(&MAGIC);
            put(content, u64::from(VERSION));
            put(content, u64::from(pid));
            put_text(content, program);
        });
        Writer { records, progress: TableProgress::default(), stacks: 0 }
    }

    /// Adds what is new in the tables and stacks since the last call. To be called before a finding that uses them.
    pub fn update(&mut self, tables: &Tables, stacks: &Stacks) -> io::Result<()> {
        self.progress.write_new(tables, &mut self.records)?;
        self.progress.write_late(tables, &mut self.records)?;
        self.progress.write_origins(tables, &mut self.records)?;
        for chunk in stacks.since(self.stacks).chunks(STACKS_PER_RECORD) {
            let first = self.stacks;
            self.records.add(KIND_STACKS, |content| {
                put(content, first as u64);
                chunk.encode(content)
            })?;
            self.stacks += chunk.len();
        }
        Ok(())
    }

    /// Adds a finding. One with the same number replaces it: it was seen more often.
    pub fn finding(&mut self, number: u32, finding: &RawFinding) -> io::Result<()> {
        self.records.add(KIND_FINDING, |content| {
            put(content, u64::from(number));
            finding.encode(content)
        })
    }

    /// Tells how much was watched so far; the last one holds.
    pub fn counts(&mut self, counts: &Counts) {
        self.records.add_sound(KIND_COUNTS, |content| {
            let Counts { events, accesses, threads, locks, reentrant, tasks, unused } = *counts;
            for number in [events, accesses, threads, locks, reentrant, tasks, unused] {
                put(content, number);
            }
        });
    }

    /// Tells figures about the work of the analyses; the last ones hold.
    pub fn statistics(&mut self, statistics: &[Statistic]) {
        self.records.add_sound(KIND_STATISTICS, |content| {
            put(content, statistics.len() as u64);
            for statistic in statistics {
                put_text(content, statistic.analysis);
                put_text(content, statistic.name);
                put(content, statistic.value);
            }
        });
    }

    /// Adds something that a person should know: what was repaired, lost or not watched.
    pub fn note(&mut self, note: &str) {
        self.records.add_sound(KIND_NOTE, |content| put_text(content, note));
    }

    /// Tells that nothing follows, and why.
    pub fn end(&mut self, end: End) {
        let (how, number) = match end {
            End::Exit(status) => (0, status),
            End::Signal(signal) => (1, signal),
            End::Exec => (2, 0),
            End::Stopped => (3, 0),
        };
        self.records.add_sound(KIND_END, |content| {
            content.push(how);
            put(content, u64::from(number as u32));
        });
    }

    /// The records that have not been taken.
    pub fn bytes(&self) -> &[u8] {
        &self.records.bytes
    }

    /// Forgets the records that [`Writer::bytes`] gave, because they are in the file. Keeps the memory.
    pub fn clear(&mut self) {
        self.records.bytes.clear();
    }

    /// Gives the records away that have not been taken.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.records.bytes)
    }
}
