//! Writing: events as lines, with names that can be read back.

use super::place;
use super::verb::Verb;
use super::{VARIABLE_SIZE, VARIABLE_SPACE, is_blank};
use crate::diagnose::Formula;
use crate::event::{Addr, Event, Op, SiteId};
use crate::trace::{Batch, NameKind, Place, Sink, Site, Tables};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// How much text is collected before it is handed on.
const CHUNK: usize = 256 * 1024;

/// Names are cut off here, so that no line gets too long to be read.
const LONGEST_NAME: usize = 8 * 1024;

/// Writes a trace in RAPID's STD format, with our extensions where that has no words.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    text: Vec<u8>,
    names: [Spellings; NameKind::ALL.len()],
    variables: Variables,
    sites: Vec<Option<Box<str>>>,
}

/// The names of one kind as they are written.
#[derive(Default, Debug)]
struct Spellings {
    by_id: Vec<Option<Box<str>>>,
    /// For ids too great to be an index; no sound trace has any.
    strays: FxHashMap<u32, Box<str>>,
    taken: FxHashSet<Box<str>>,
}

/// The named locations that have been written.
#[derive(Default, Debug)]
struct Variables {
    /// By first address.
    known: FxHashMap<u64, Variable>,
    /// Those with an address of their own: first address, and the one behind the last.
    declared: BTreeMap<u64, u64>,
    taken: FxHashSet<Box<str>>,
}

#[derive(Debug)]
struct Variable {
    name: Box<str>,
    size: u32,
}

impl<W: Write> Writer<W> {
    /// A writer to `output`, which need not be buffered.
    pub fn new(output: W) -> Self {
        Writer {
            output,
            text: Vec::with_capacity(CHUNK + 4096),
            names: Default::default(),
            variables: Variables::default(),
            sites: Vec::new(),
        }
    }

    /// Gives the output back. What [`Sink::finish`] has not written is lost.
    pub fn into_inner(self) -> W {
        self.output
    }

    fn event(&mut self, event: &Event, tables: &Tables) -> io::Result<()> {
        // A declaration is a line of its own, so that it must stand before this one.
        let memory = match memory(&event.op) {
            Some((addr, size)) => Some(self.variables.operand(&mut self.text, addr, size, tables)?),
            None => None,
        };
        self.name(NameKind::Thread, event.thread.0, tables);
        self.text.push(b'|');
        let (head, tail) = Verb::of(&event.op).spelling();
        self.text.extend_from_slice(head.as_bytes());
        if let Some(Operand { size: Some(size), .. }) = &memory {
            number(&mut self.text, u64::from(*size));
        }
        self.text.extend_from_slice(tail.as_bytes());
        self.operand(&event.op, memory.as_ref(), tables);
        self.text.push(b'|');
        self.site(event.site, tables);
        self.text.push(b'\n');
        Ok(())
    }

    /// The operand in its parentheses, if the operation has one.
    fn operand(&mut self, op: &Op, memory: Option<&Operand>, tables: &Tables) {
        let named = match *op {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } | Op::OtherPathLock { lock, .. } => {
                (NameKind::Lock, lock.0)
            }
            Op::Fork { child } | Op::Join { child } => (NameKind::Thread, child.0),
            Op::Wait { condition } | Op::Notify { condition, .. } => (NameKind::Condition, condition.0),
            Op::BarrierArrive { barrier } | Op::BarrierLeave { barrier } => (NameKind::Barrier, barrier.0),
            Op::Spawn { task }
            | Op::TaskBegin { task }
            | Op::TaskSuspend { task }
            | Op::TaskEnd { task }
            | Op::TaskJoin { task } => (NameKind::Task, task.0),
            Op::LoopEnter { loop_id } | Op::LoopIteration { loop_id } | Op::LoopExit { loop_id } => {
                (NameKind::Loop, loop_id.0)
            }
            Op::Begin { region } if region.is_some() => (NameKind::Region, region.0),
            Op::Call { function } if function.is_some() => (NameKind::Function, function.0),
            // Other readers of the format expect the parentheses here.
            Op::Begin { .. } | Op::End => return self.text.extend_from_slice(b"()"),
            Op::HappensBefore { token } | Op::HappensAfter { token } => return self.parenthesis(token),
            Op::Value { bits } => return self.parenthesis(bits),
            Op::Operand { back } => return self.parenthesis(u64::from(back)),
            Op::Formula { formula } => {
                // Not a name of its own: two with the same text are the same.
                let text =
                    tables.name(NameKind::Formula, formula.0).filter(|text| Formula::parse(text).is_ok());
                self.text.push(b'(');
                self.text.extend_from_slice(text.unwrap_or_default().trim().as_bytes());
                return self.text.push(b')');
            }
            Op::Branch { taken } => {
                let word = if taken { "(taken)" } else { "(not_taken)" };
                return self.text.extend_from_slice(word.as_bytes());
            }
            Op::TaskOrder { before, after } => {
                self.text.push(b'(');
                self.name(NameKind::Task, before.0, tables);
                self.text.push(b',');
                self.name(NameKind::Task, after.0, tables);
                return self.text.push(b')');
            }
            Op::Group { group, .. } => {
                self.text.push(b'(');
                self.name(NameKind::Group, group.0, tables);
                self.text.push(b',');
                self.memory(memory);
                return self.text.push(b')');
            }
            Op::Access { .. }
            | Op::Atomic { .. }
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::OtherPath { .. } => {
                self.text.push(b'(');
                self.memory(memory);
                return self.text.push(b')');
            }
            Op::Fence { .. }
            | Op::ThreadEnd
            | Op::Call { .. }
            | Op::Return
            | Op::TaskWait
            | Op::FinishBegin
            | Op::FinishEnd
            | Op::IgnoreBegin
            | Op::IgnoreEnd => return,
        };
        self.text.push(b'(');
        self.name(named.0, named.1, tables);
        self.text.push(b')');
    }

    fn parenthesis(&mut self, value: u64) {
        self.text.push(b'(');
        number(&mut self.text, value);
        self.text.push(b')');
    }

    fn memory(&mut self, memory: Option<&Operand>) {
        let Some(operand) = memory else { return };
        match operand.base {
            None => self.text.extend_from_slice(format!("{:#x}", operand.offset).as_bytes()),
            Some(base) => {
                let name = self.variables.known.get(&base).map_or("", |variable| &variable.name);
                self.text.extend_from_slice(name.as_bytes());
                if operand.size.is_some() && (operand.offset > 0 || looks_like_more(name)) {
                    self.text.push(b'+');
                    number(&mut self.text, operand.offset);
                }
            }
        }
    }

    fn name(&mut self, kind: NameKind, id: u32, tables: &Tables) {
        let name = self.names[kind as usize].get(kind, id, tables);
        self.text.extend_from_slice(name.as_bytes());
    }

    fn site(&mut self, id: SiteId, tables: &Tables) {
        if let Some(Some(text)) = self.sites.get(id.index()) {
            return self.text.extend_from_slice(text.as_bytes());
        }
        let Some(site) = tables.site(id) else { return };
        let text = self.location(id, site, tables);
        self.text.extend_from_slice(text.as_bytes());
        if self.sites.len() <= id.index() {
            self.sites.resize(id.index() + 1, None);
        }
        self.sites[id.index()] = Some(text);
    }

    /// The location field of a site.
    fn location(&mut self, id: SiteId, site: &Site, tables: &Tables) -> Box<str> {
        let function = match tables.function_name(site.function) {
            Some(_) => self.names[NameKind::Function as usize]
                .get(NameKind::Function, site.function.0, tables)
                .replace('@', "%40"),
            None => String::new(),
        };
        let place = match &site.place {
            Place::Source { file, line, column } => {
                let path = tables.name(NameKind::File, file.0).unwrap_or("?");
                return source(&function, path, *line, *column);
            }
            Place::Unknown if function.is_empty() => format!("site {}", id.0),
            Place::Unknown => "?".to_owned(),
            Place::Label(label) if label.is_empty() => format!("site {}", id.0),
            Place::Label(label) => label.to_string(),
            Place::Code { module, offset } => {
                let path = tables.modules.get(module.0 as usize).map_or("?", |module| &module.path);
                format!("{path}+{offset:#x}")
            }
        };
        let text = if function.is_empty() { place } else { format!("{function}@{place}") };
        escaped(&text, |_| false).into()
    }
}

/// The location field of a position in a source file: what is read back as the same parts.
fn source(function: &str, path: &str, line: u32, column: u32) -> Box<str> {
    let path = escaped(path, |_| false);
    let at = if function.is_empty() && !path.contains('@') { "" } else { "@" };
    let number = if column > 0 { format!("{line}:{column}") } else { line.to_string() };
    let text = format!("{function}{at}{path}:{number}");
    let expected = place::Position { function, path: &path, line, column };
    if place::position(&text) == Some(expected) || line == 0 {
        return escaped(&text, |_| false).into();
    }
    // The path ends like a position itself.
    format!("{function}{at}{}:{number}", path.replace(':', "%3A")).into()
}

/// Memory as the operand of an operation.
struct Operand {
    /// The size to write; none if it goes without saying.
    size: Option<u32>,
    /// The first address of the named location, if it has a name.
    base: Option<u64>,
    /// From the start of the location, or of all memory.
    offset: u64,
}

/// The memory that an operation touches.
fn memory(op: &Op) -> Option<(Addr, u32)> {
    match *op {
        Op::Access { size, addr, .. }
        | Op::Alloc { size, addr }
        | Op::Free { size, addr }
        | Op::OtherPath { size, addr, .. } => Some((addr, size)),
        Op::Atomic { size, addr, .. } => Some((addr, u32::from(size))),
        Op::Group { size, addr, .. } => Some((addr, u32::from(size))),
        _ => None,
    }
}

impl Variables {
    /// How to write some memory. Declares its location first, if that is new and has an address of its own.
    fn operand(&mut self, text: &mut Vec<u8>, addr: Addr, size: u32, tables: &Tables) -> io::Result<Operand> {
        if let Some(variable) = self.known.get(&addr.0)
            && size <= variable.size
        {
            let size = (size != VARIABLE_SIZE).then_some(size);
            return Ok(Operand { size, base: Some(addr.0), offset: 0 });
        }
        let inside = VARIABLE_SPACE.contains(&addr.0);
        let (base, room, name) = match tables.location(addr) {
            Some((location, offset)) if !inside || location.size == VARIABLE_SIZE => {
                (addr.0 - offset, location.size, &*location.name)
            }
            _ if inside => (addr.0 & !7, VARIABLE_SIZE, ""),
            _ => (0, 0, ""),
        };
        let offset = addr.0 - base;
        let fits = room > 0 && offset + u64::from(size) <= u64::from(room);
        if !fits || !(self.known.contains_key(&base) || self.add(text, base, room, name)) {
            if !is_free(addr.0, size) {
                let message = format!(
                    "{size} bytes at {:#x} cannot be written: the address belongs to named variables",
                    addr.0
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            return Ok(Operand { size: Some(size), base: None, offset: addr.0 });
        }
        let plain = offset == 0 && size == VARIABLE_SIZE;
        Ok(Operand { size: (!plain).then_some(size), base: Some(base), offset })
    }

    /// Makes a location known by its name. False if that is not possible.
    fn add(&mut self, text: &mut Vec<u8>, base: u64, size: u32, name: &str) -> bool {
        let wanted = if name.is_empty() { format!("memory at {base:#x}") } else { escaped(name, |_| false) };
        if !VARIABLE_SPACE.contains(&base) {
            let end = base.saturating_add(u64::from(size));
            let before = self.declared.range(..end).next_back();
            if !is_free(base, size) || before.is_some_and(|(_, other_end)| *other_end > base) {
                return false;
            }
            self.declared.insert(base, end);
        }
        let name = unique(&mut self.taken, wanted);
        if !VARIABLE_SPACE.contains(&base) {
            text.extend_from_slice(format!("|location{size}({base:#x},{name})|\n").as_bytes());
        }
        self.known.insert(base, Variable { name, size });
        true
    }
}

/// True if an address may be written as one.
fn is_free(addr: u64, size: u32) -> bool {
    addr.checked_add(u64::from(size))
        .is_some_and(|end| addr >= VARIABLE_SPACE.end || end <= VARIABLE_SPACE.start)
}

impl Spellings {
    fn get(&mut self, kind: NameKind, id: u32, tables: &Tables) -> &str {
        let Spellings { by_id, strays, taken } = self;
        let index = id as usize;
        let make = |taken: &mut FxHashSet<Box<str>>| {
            let wanted = match tables.name(kind, id) {
                None => format!("{} {id}", kind.noun()),
                Some(name) => match kind {
                    NameKind::Task | NameKind::Group => escaped(name, |byte| byte == b','),
                    NameKind::Thread if name.starts_with('#') => {
                        escaped(&format!("%23{}", &name[1..]), |_| false)
                    }
                    _ => escaped(name, |_| false),
                },
            };
            unique(taken, wanted)
        };
        // Tables that hold the id vouch for its being an index; a made-up one could be anything.
        if index >= tables.names(kind).len() && index >= by_id.len() + 4096 {
            return strays.entry(id).or_insert_with(|| make(taken));
        }
        if by_id.len() <= index {
            by_id.resize(index + 1, None);
        }
        by_id[index].get_or_insert_with(|| make(taken))
    }
}

/// The name itself, or with a number behind it if it is taken.
fn unique(taken: &mut FxHashSet<Box<str>>, wanted: String) -> Box<str> {
    let mut name: Box<str> = wanted.as_str().into();
    let mut count = 1;
    while !taken.insert(name.clone()) {
        count += 1;
        name = format!("{wanted}#{count}").into();
    }
    name
}

/// The text with a percent sign and two hexadecimal digits for every byte that cannot stand in a name: those that
/// end a field, and blanks at either end. There is no way back; a reader sees the escaped name.
fn escaped(name: &str, also: impl Fn(u8) -> bool) -> String {
    let inner = name.bytes().take_while(|byte| is_blank(*byte)).count();
    let outer = name.len() - name.bytes().rev().take_while(|byte| is_blank(*byte)).count();
    let mut text = String::with_capacity(name.len());
    for (index, character) in name.char_indices() {
        if text.len() >= LONGEST_NAME {
            break;
        }
        let hidden = u8::try_from(character).is_ok_and(|byte| {
            matches!(byte, b'|' | b'\n' | 0)
                || also(byte)
                || (is_blank(byte) && (index < inner || index >= outer))
        });
        if hidden {
            text.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            text.push(character);
        }
    }
    text
}

/// True if a name would be taken for an address, or for a name with an offset.
fn looks_like_more(name: &str) -> bool {
    let hexadecimal =
        name.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let offset =
        name.rsplit_once('+').is_some_and(|(_, rest)| rest.bytes().all(|byte| byte.is_ascii_digit()));
    hexadecimal || offset
}

fn number(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return text.extend_from_slice(&digits[start..]);
        }
    }
}

impl<W: Write> Sink for Writer<W> {
    fn write(&mut self, batch: &Batch, tables: &Tables) -> io::Result<()> {
        for event in batch.events() {
            self.event(event, tables)?;
            if self.text.len() >= CHUNK {
                self.output.write_all(&self.text)?;
                self.text.clear();
            }
        }
        Ok(())
    }

    fn finish(&mut self, _tables: &Tables) -> io::Result<()> {
        self.output.write_all(&self.text)?;
        self.text.clear();
        self.output.flush()
    }
}
