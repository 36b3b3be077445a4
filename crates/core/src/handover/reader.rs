//! Reads what a watched program has handed over, as far as it is sound.

use super::End;
use super::codec::Decode;
use super::frame::{
    KIND_BEGIN, KIND_COUNTS, KIND_END, KIND_FINDING, KIND_NOTE, KIND_STACKS, KIND_STATISTICS, KIND_TABLES,
    MAGIC, RECORD_MARKER, VERSION, record,
};
use crate::event::{FunctionId, SiteId, StackId};
use crate::finding::RawFinding;
use crate::replay::Counts;
use crate::stack::{Frame, Stacks};
use crate::trace::Tables;
use crate::trace::native::names::{TableReader, id_of, text};
use crate::trace::native::varint::{Cursor, PADDING};
use std::collections::BTreeMap;

/// How many stacks may be made up for records that are lost.
const MAX_LOST_STACKS: usize = 1 << 20;

/// How many notes are kept, so that a damaged or hostile file does not make a report of nothing else.
const MAX_NOTES: usize = 1000;

/// A figure about the work of an analysis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    /// The name of the analysis.
    pub analysis: Box<str>,
    /// What is counted.
    pub name: Box<str>,
    /// How many.
    pub value: u64,
}

/// What one process has handed over.
#[derive(Debug, Default)]
pub struct Handover {
    /// Its process id.
    pub pid: u32,
    /// The program, as the process calls itself.
    pub program: Box<str>,
    /// The names behind the ids.
    pub tables: Tables,
    /// The call stacks.
    pub stacks: Stacks,
    /// The findings in the order of their numbers.
    pub findings: Vec<RawFinding>,
    /// How much was watched.
    pub counts: Counts,
    /// Figures about the work of the analyses.
    pub statistics: Vec<Figure>,
    /// What a person should know.
    pub notes: Vec<Box<str>>,
    /// How the process ended, if it came to tell it.
    pub end: Option<End>,
    /// What could not be read.
    pub loss: Option<Loss>,
}

impl Handover {
    /// Nothing is missing: all was read, and the process has told its end.
    pub fn complete(&self) -> bool {
        self.end.is_some() && self.loss.is_none()
    }
}

/// What is damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loss {
    /// Stretches that are no sound record.
    pub places: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Byte offset of the first one.
    pub first_byte: u64,
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} bytes from byte {} on are cut off or damaged; the rest was read",
            self.bytes, self.first_byte
        )
    }
}

/// Why a file is not used at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HandoverError {
    /// It holds nothing.
    #[error("nothing was handed over: the file is empty")]
    Empty,
    /// It does not begin like a handover, nor hold any sound record.
    #[error("not a file of findings")]
    Unknown,
    /// The program was built with a runtime that this keirin does not know.
    #[error(
        "the runtime in the program writes version {found}, this keirin reads version {supported}; build the program again"
    )]
    Version {
        /// The version of the runtime.
        found: u32,
        /// The version that is read.
        supported: u32,
    },
}

/// Reads the file of a process. What is cut off or damaged is skipped and told.
pub fn read(bytes: &[u8]) -> Result<Handover, HandoverError> {
    if bytes.is_empty() {
        return Err(HandoverError::Empty);
    }
    let mut reader = Reader::new();
    let mut loss = Loss::default();
    let mut at = 0;
    let mut sound = 0u64;
    while at < bytes.len() {
        let taken = match record(&bytes[at..]) {
            Some((kind, content, length)) => reader.take(kind, content)?.map(|()| length),
            None => None,
        };
        match taken {
            Some(length) => {
                sound += 1;
                at += length;
            }
            None => {
                let next = next_marker(bytes, at + 1);
                if loss.places == 0 {
                    loss.first_byte = at as u64;
                }
                loss.places += 1;
                loss.bytes += (next - at) as u64;
                at = next;
            }
        }
    }
    if sound == 0 {
        return Err(HandoverError::Unknown);
    }
    let mut handover = reader.finish();
    handover.loss = (loss.places > 0).then_some(loss);
    Ok(handover)
}

/// Where the next record may begin.
fn next_marker(bytes: &[u8], from: usize) -> usize {
    memchr::memmem::find(&bytes[from..], &RECORD_MARKER).map_or(bytes.len(), |found| from + found)
}

struct Reader {
    handover: Handover,
    tables: TableReader,
    findings: BTreeMap<u32, RawFinding>,
    padded: Vec<u8>,
}

impl Reader {
    fn new() -> Self {
        Reader {
            handover: Handover::default(),
            tables: TableReader::new(true),
            findings: BTreeMap::new(),
            padded: Vec::new(),
        }
    }

    fn finish(self) -> Handover {
        Handover {
            tables: self.tables.into_tables(),
            findings: self.findings.into_values().collect(),
            ..self.handover
        }
    }

    /// Takes one record over. None if its content breaks the format, although it is what was written.
    fn take(&mut self, kind: u8, content: &[u8]) -> Result<Option<()>, HandoverError> {
        let mut padded = std::mem::take(&mut self.padded);
        padded.clear();
        padded.extend_from_slice(content);
        padded.resize(content.len() + PADDING, 0);
        let mut cursor = Cursor::new(&padded);
        let taken = if kind == KIND_BEGIN {
            match begin(&mut cursor) {
                Some((version, ..)) if version != VERSION => {
                    return Err(HandoverError::Version { found: version, supported: VERSION });
                }
                Some((_, pid, program)) => {
                    (self.handover.pid, self.handover.program) = (pid, program);
                    Some(())
                }
                None => None,
            }
        } else {
            self.content(kind, &mut cursor)
        };
        // Tables check their end themselves.
        let whole = kind == KIND_TABLES || cursor.left() == Some(0);
        self.padded = padded;
        Ok(taken.filter(|()| whole))
    }

    fn content(&mut self, kind: u8, cursor: &mut Cursor<'_>) -> Option<()> {
        let handover = &mut self.handover;
        match kind {
            KIND_TABLES => {
                let count = cursor.varint_u32()?;
                let length = cursor.left()?;
                // The table reader wants its own padding, which is what follows here as well.
                let rest = cursor.rest();
                debug_assert_eq!(rest.len(), length + PADDING);
                self.tables.read(count, rest)?;
            }
            KIND_STACKS => {
                let first = usize::try_from(cursor.varint()?).ok()?;
                let count = cursor.varint()?;
                let lost =
                    first.checked_sub(handover.stacks.len()).filter(|lost| *lost <= MAX_LOST_STACKS)?;
                for _ in 0..lost {
                    handover
                        .stacks
                        .add(StackId::NONE, Frame { function: FunctionId::NONE, call_site: SiteId::NONE });
                }
                for _ in 0..count {
                    let caller = StackId(id_of(cursor)?);
                    let frame =
                        Frame { function: FunctionId(id_of(cursor)?), call_site: SiteId(id_of(cursor)?) };
                    cursor.left()?;
                    handover.stacks.add(caller, frame);
                }
            }
            KIND_FINDING => {
                let number = cursor.varint_u32()?;
                let finding = RawFinding::decode(cursor)?;
                cursor.left().filter(|left| *left == 0)?;
                self.findings.insert(number, finding);
            }
            KIND_COUNTS => {
                handover.counts = Counts {
                    events: cursor.varint()?,
                    accesses: cursor.varint()?,
                    threads: cursor.varint()?,
                    locks: cursor.varint()?,
                    reentrant: cursor.varint()?,
                    tasks: cursor.varint()?,
                    unused: cursor.varint()?,
                };
            }
            KIND_STATISTICS => {
                let count = cursor.varint()?;
                let mut figures = Vec::new();
                for _ in 0..count {
                    cursor.left()?;
                    figures.push(Figure {
                        analysis: text(cursor)?,
                        name: text(cursor)?,
                        value: cursor.varint()?,
                    });
                }
                handover.statistics = figures;
            }
            KIND_NOTE => {
                let note = text(cursor)?;
                if handover.notes.len() < MAX_NOTES {
                    handover.notes.push(note);
                }
            }
            KIND_END => {
                let how = cursor.byte()?;
                let number = cursor.varint_u32()? as i32;
                handover.end = Some(match how {
                    0 => End::Exit(number),
                    1 => End::Signal(number),
                    2 => End::Exec,
                    3 => End::Stopped,
                    _ => return None,
                });
            }
            _ => return None,
        }
        Some(())
    }
}

fn begin(cursor: &mut Cursor<'_>) -> Option<(u32, u32, Box<str>)> {
    if cursor.slice(MAGIC.len())? != MAGIC {
        return None;
    }
    Some((cursor.varint_u32()?, cursor.varint_u32()?, text(cursor)?))
}
