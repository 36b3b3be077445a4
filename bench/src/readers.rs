//! Readers that do nothing with what they read: the floor for everything that is done with a trace.

use anyhow::{Context, Result};
use keirin_core::trace::native;
use keirin_core::trace::{Batch, Source};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A bare reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// Splits a text into lines and fields.
    Lines,
    /// Decodes a native trace.
    Native,
}

impl Reader {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Reader::Lines => "lines",
            Reader::Native => "native",
        }
    }

    /// The reader with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Reader::Lines, Reader::Native].into_iter().find(|reader| reader.name() == name)
    }

    /// Reads a whole trace.
    pub fn read(self, trace: &Path) -> Result<Contents> {
        let file = File::open(trace).with_context(|| trace.display().to_string())?;
        match self {
            Reader::Lines => read_lines(BufReader::new(file)),
            Reader::Native => read_native(file),
        }
    }
}

/// What was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    /// Number of events.
    pub events: u64,
    /// Depends on all that was read, so that reading cannot be left out by the compiler.
    pub checksum: u64,
}

impl Contents {
    fn add(&mut self, value: u64) {
        self.checksum = self.checksum.wrapping_mul(31).wrapping_add(value);
    }
}

/// The number of events in what a bare reader printed.
pub(crate) fn events_printed(output: &str) -> Result<u64> {
    let number = output.split(' ').next().unwrap_or_default();
    number.parse().with_context(|| format!("a bare reader printed `{}`", output.trim()))
}

/// What anybody would write first: one line at a time into the same buffer, cut into its three fields.
fn read_lines(mut text: impl BufRead) -> Result<Contents> {
    let mut contents = Contents::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        if text.read_until(b'\n', &mut line)? == 0 {
            return Ok(contents);
        }
        let mut fields = line.splitn(3, |byte| *byte == b'|');
        let [thread, operation, place] = std::array::from_fn(|_| fields.next().unwrap_or_default().len());
        contents.events += 1;
        contents.add((thread + (operation << 8) + (place << 16)) as u64);
    }
}

fn read_native(file: File) -> Result<Contents> {
    let mut contents = Contents::default();
    let mut reader = native::Reader::new(file)?;
    let mut batch = Batch::new();
    loop {
        let more = reader.fill(&mut batch)?;
        contents.events += batch.events().len() as u64;
        // The batches are in memory; one event of each is enough to keep the work.
        contents.add(batch.events().last().map_or(0, |event| u64::from(event.thread.0)));
        if !more {
            return Ok(contents);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_counts() {
        let read = |text: &str| read_lines(text.as_bytes()).expect("memory can be read");
        assert_eq!(read("").events, 0);
        assert_eq!(read("T0|w(x)|1\nT1|r(x)|2").events, 2);
        let checksums =
            ["T0|w(x)|1", "T10|w(x)|1", "T0|w(xx)|1", "T0|w(x)|11"].map(|text| read(text).checksum);
        for (index, checksum) in checksums.iter().enumerate() {
            assert!(!checksums[..index].contains(checksum));
        }
    }
}
