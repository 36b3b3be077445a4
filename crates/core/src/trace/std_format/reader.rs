//! Reading: chunks of text into lines, and common lines into events without further ado.

use super::line::{Fault, Parser};
use super::names::{Names, word};
use super::{DECLARED, MAXIMAL_LINE, VARIABLE_BASE, VARIABLE_SIZE};
use crate::event::{AccessKind, Addr, Event, LockId, LockMode, Op, RegionId, SiteId, ThreadId};
use crate::trace::{BATCH_EVENTS, Batch, NameKind, PositionUnit, Source, Tables, TraceError};
use std::io::{self, Read};

/// How much is read at once. Small enough to stay in a second-level cache until it is parsed.
const CHUNK: usize = 256 * 1024;

/// Reads a trace in RAPID's STD format, with our extensions.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    parser: Parser,
    /// At least [`CHUNK`] bytes of room behind a started line, and a byte for the end of the last one.
    buffer: Vec<u8>,
    /// The next line.
    start: usize,
    /// Behind the last complete line.
    complete: usize,
    /// Behind the last byte read.
    filled: usize,
    /// The number of the line at `start`, from 1.
    line: u64,
    consumed: u64,
    events: u64,
    at_end: bool,
    /// An error that came after events of its batch, to be told when those have been taken.
    failure: Option<TraceError>,
}

impl<R: Read> Reader<R> {
    /// A reader of `input`, which need not be buffered.
    pub fn new(input: R) -> Self {
        Reader {
            input,
            parser: Parser::default(),
            buffer: vec![0; MAXIMAL_LINE + CHUNK + 1],
            start: 0,
            complete: 0,
            filled: 0,
            line: 1,
            consumed: 0,
            events: 0,
            at_end: false,
            failure: None,
        }
    }

    /// Reads until there is a complete line. False at the end of the input.
    fn refill(&mut self) -> Result<bool, TraceError> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        self.complete = 0;
        loop {
            // A line's end may be a carriage return and a newline, so one byte more is let in.
            if self.filled > MAXIMAL_LINE + 1 {
                return Err(self.too_long());
            }
            if self.at_end {
                if self.filled == 0 {
                    return Ok(false);
                }
                self.buffer[self.filled] = b'\n';
                self.filled += 1;
                self.complete = self.filled;
                return Ok(true);
            }
            let room = self.buffer.len() - 1;
            let count = match self.input.read(&mut self.buffer[self.filled..room]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(TraceError::Io(error)),
            };
            self.at_end = count == 0;
            let new = self.filled;
            self.filled += count;
            if self.consumed == 0 && self.buffer[..self.filled].starts_with(b"\xef\xbb\xbf") {
                // A byte order mark is no part of the first thread's name.
                self.buffer[..3].fill(b' ');
            }
            self.consumed += count as u64;
            if let Some(index) = memchr::memrchr(b'\n', &self.buffer[new..self.filled]) {
                self.complete = new + index + 1;
                return Ok(true);
            }
        }
    }

    fn too_long(&self) -> TraceError {
        TraceError::Parse {
            line: self.line,
            column: MAXIMAL_LINE as u64 + 1,
            message: format!(
                "the line is longer than {MAXIMAL_LINE} bytes: this is no text trace, or a damaged one"
            ),
        }
    }

    /// Reads the line at `start` in full.
    fn full_line(&mut self) -> Result<Option<Event>, TraceError> {
        let lines = &self.buffer[self.start..self.complete];
        let length = memchr::memchr(b'\n', lines).unwrap_or(lines.len());
        let line = &lines[..length];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > MAXIMAL_LINE {
            return Err(self.too_long());
        }
        let event = self.parser.parse(line).map_err(|Fault { offset, message }| TraceError::Parse {
            line: self.line,
            column: offset as u64 + 1,
            message,
        })?;
        self.start = (self.start + length + 1).min(self.complete);
        Ok(event)
    }

    fn fill_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        while batch.events().len() < BATCH_EVENTS {
            if self.start == self.complete && !self.refill()? {
                if self.events == 0 && batch.events().is_empty() {
                    return Err(TraceError::Empty);
                }
                return Ok(false);
            }
            let lines = &self.buffer[..self.complete];
            let mut start = self.start;
            let mut line = self.line;
            while let Some((event, next)) = common_line(&mut self.parser, lines, start) {
                batch.push(line, event);
                line += 1;
                start = next;
                if batch.events().len() >= BATCH_EVENTS {
                    break;
                }
            }
            self.start = start;
            self.line = line;
            if batch.events().len() < BATCH_EVENTS && self.start < self.complete {
                if let Some(event) = self.full_line()? {
                    batch.push(self.line, event);
                }
                self.line += 1;
            }
        }
        Ok(true)
    }
}

impl<R: Read> Source for Reader<R> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let result = self.fill_batch(batch);
        self.events += batch.events().len() as u64;
        match result {
            Err(error) => {
                // Nothing behind an error can be trusted to be a line.
                self.start = self.filled;
                self.complete = self.filled;
                self.at_end = true;
                if batch.events().is_empty() {
                    return Err(error);
                }
                self.failure = Some(error);
                Ok(true)
            }
            more => more,
        }
    }

    fn tables(&self) -> &Tables {
        &self.parser.tables
    }

    fn unit(&self) -> PositionUnit {
        PositionUnit::Line
    }

    fn consumed(&self) -> u64 {
        self.consumed
    }
}

const fn letters(text: &[u8]) -> u64 {
    let mut word = 0;
    let mut index = text.len();
    while index > 0 {
        index -= 1;
        word = word << 8 | text[index] as u64;
    }
    word
}

const READ: u64 = letters(b"r(");
const WRITE: u64 = letters(b"w(");
const ACQUIRE: u64 = letters(b"acq(");
const RELEASE: u64 = letters(b"rel(");
const BEGIN: u64 = letters(b"begin(");
const END: u64 = letters(b"end(");
const UNLABELLED: u64 = letters(b")|");
const ADDRESS: u64 = letters(b"(0x");
const BARE_BEGIN: u64 = letters(b"begin|");
const BARE_END: u64 = letters(b"end|");

fn mask(length: usize) -> u64 {
    u64::MAX >> (64 - 8 * length)
}

/// Recognises a line of a plain operation whose names are all known, with the start of the next line. Gives up on all
/// others, of which [`Parser::parse`] makes sense; what is accepted here means the same there.
#[inline]
fn common_line(parser: &mut Parser, lines: &[u8], start: usize) -> Option<(Event, usize)> {
    let (thread, bar) =
        field(&mut parser.names[NameKind::Thread as usize], lines, start, |byte| byte == b'|')?;
    let verb_at = bar + 1;
    let verb = word(lines, verb_at);
    let pair = verb & mask(2);
    let quad = verb & mask(4);
    let (op, end) = if (pair == READ) | (pair == WRITE) {
        let (number, end) = operand(&mut parser.variables, lines, verb_at + 2)?;
        if number >= DECLARED {
            return None;
        }
        let kind = if pair == READ { AccessKind::Read } else { AccessKind::Write };
        let addr = Addr(VARIABLE_BASE + u64::from(number) * u64::from(VARIABLE_SIZE));
        (Op::Access { kind, size: VARIABLE_SIZE, addr }, end)
    } else if (quad == ACQUIRE) | (quad == RELEASE) {
        let (lock, end) = operand(&mut parser.names[NameKind::Lock as usize], lines, verb_at + 4)?;
        let (lock, mode) = (LockId(lock), LockMode::Exclusive);
        (if quad == ACQUIRE { Op::Acquire { lock, mode } } else { Op::Release { lock, mode } }, end)
    } else if verb & mask(6) == BEGIN {
        let (region, end) = operand(&mut parser.names[NameKind::Region as usize], lines, verb_at + 6)?;
        (Op::Begin { region: RegionId(region) }, end)
    } else if quad == END {
        let end = match word(lines, verb_at + 4) & mask(2) {
            UNLABELLED => verb_at + 5,
            _ => operand(&mut parser.names[NameKind::Region as usize], lines, verb_at + 4)?.1,
        };
        (Op::End, end)
    } else if quad == BARE_END {
        (Op::End, verb_at + 3)
    } else if verb & mask(6) == BARE_BEGIN {
        (Op::Begin { region: RegionId::NONE }, verb_at + 5)
    } else {
        sized_access(lines, verb_at)?
    };
    let (site, end) = match lines.get(end)? {
        b'\n' => (SiteId::NONE, end),
        b'|' if matches!(lines.get(end + 1), Some(b'\n' | b'\r')) => (SiteId::NONE, end + 1),
        b'|' => {
            let (site, end) =
                field(&mut parser.sites, lines, end + 1, |byte| byte == b'\n' || byte == b'\r')?;
            (SiteId(site), end)
        }
        _ => return None,
    };
    let end = match lines.get(end)? {
        b'\n' => end,
        b'\r' if lines.get(end + 1) == Some(&b'\n') => end + 1,
        _ => return None,
    };
    (end - start <= MAXIMAL_LINE).then_some((Event { thread: ThreadId(thread), site, op }, end + 1))
}

/// Recognises an access like `r4(0x7ffe10)`, of which the traces of recorded programs are full; with the index behind it.
#[inline]
fn sized_access(lines: &[u8], at: usize) -> Option<(Op, usize)> {
    let kind = match lines.get(at)? {
        b'r' => AccessKind::Read,
        b'w' => AccessKind::Write,
        _ => return None,
    };
    let mut index = at + 1;
    let mut size = 0;
    while let Some(digit) = lines.get(index).filter(|byte| byte.is_ascii_digit())
        && size < 100_000
    {
        size = size * 10 + u32::from(digit - b'0');
        index += 1;
    }
    if size == 0 || word(lines, index) & mask(3) != ADDRESS {
        return None;
    }
    index += 3;
    let start = index;
    let mut addr = 0;
    while let Some(digit) = lines.get(index).and_then(|byte| char::from(*byte).to_digit(16)) {
        addr = addr << 4 | u64::from(digit);
        index += 1;
    }
    let closed = lines.get(index) == Some(&b')') && matches!(lines.get(index + 1), Some(b'|' | b'\n'));
    // With fewer than 16 digits nothing has been lost, and all addresses below the variables are free.
    let free = (1..16).contains(&(index - start)) && addr + u64::from(size) <= VARIABLE_BASE;
    (closed && free).then_some((Op::Access { kind, size, addr: Addr(addr) }, index + 1))
}

/// The id of a known name that is followed by a byte that `ends` accepts, with the index of that byte.
#[inline]
fn field(
    names: &mut Names,
    lines: &[u8],
    at: usize,
    ends: impl Fn(u8) -> bool + Copy,
) -> Option<(u32, usize)> {
    if let Some(found) = names.numbered(lines, at, ends) {
        return Some(found);
    }
    let text = lines.get(at..)?;
    let length = memchr::memchr2(b'|', b'\n', text)?;
    let length = length - usize::from(length > 0 && text[length - 1] == b'\r');
    if !ends(text[length]) {
        return None;
    }
    Some((names.get(&text[..length])?, at + length))
}

/// The id of a known name that is followed by the `)` that closes the operation, with the index behind that.
#[inline]
fn operand(names: &mut Names, lines: &[u8], at: usize) -> Option<(u32, usize)> {
    if let Some((id, end)) = names.numbered(lines, at, |byte| byte == b')')
        && matches!(lines.get(end + 1), Some(b'|' | b'\n'))
    {
        return Some((id, end + 1));
    }
    let text = lines.get(at..)?;
    let length = memchr::memchr2(b'|', b'\n', text)?;
    let name = text[..length].strip_suffix(b")")?;
    Some((names.get(name)?, at + length))
}
