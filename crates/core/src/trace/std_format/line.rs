//! One line of text, with all that may stand in it.

use super::names::Names;
use super::verb::{Verb, closest};
use super::{DECLARED, VARIABLE_BASE, VARIABLE_SIZE, VARIABLE_SPACE, is_blank, place};
use crate::clock::MAX_THREADS;
use crate::diagnose::Formula;
use crate::event::{
    Addr, BarrierId, ConditionId, Event, FormulaId, FunctionId, GroupId, LockId, LoopId, Op, RegionId,
    SiteId, TaskId, ThreadId,
};
use crate::trace::{FileId, Location, NameKind, Place, Site, Tables};
use rustc_hash::FxHashMap;

/// What is wrong with a line, and where: an offset from its start.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) message: String,
}

type Result<T> = std::result::Result<T, Fault>;

/// No verb is longer.
pub(super) const LONGEST_VERB: usize = 24;

/// Makes events of lines, and ids of names.
#[derive(Debug)]
pub(super) struct Parser {
    pub(super) tables: Tables,
    pub(super) names: [Names; NameKind::ALL.len()],
    /// Up to [`DECLARED`] the position in the variables' space in units of a variable; above, an index of `declared`.
    pub(super) variables: Names,
    pub(super) sites: Names,
    declared: Vec<Declared>,
    verbs: FxHashMap<Box<[u8]>, Verb>,
}

#[derive(Clone, Copy, Debug)]
struct Declared {
    addr: u64,
    size: u32,
}

/// A part of a line.
#[derive(Clone, Copy)]
struct Field<'a> {
    text: &'a [u8],
    offset: usize,
}

impl<'a> Field<'a> {
    fn trimmed(self) -> Self {
        let front = self.text.iter().take_while(|byte| is_blank(**byte)).count();
        let text = &self.text[front..];
        let back = text.iter().rev().take_while(|byte| is_blank(**byte)).count();
        Field { text: &text[..text.len() - back], offset: self.offset + front }
    }

    /// What stands before and after the index; the byte there belongs to neither.
    fn split_at_byte(self, index: usize) -> (Self, Self) {
        let before = Field { text: &self.text[..index], offset: self.offset };
        let after = Field { text: &self.text[index + 1..], offset: self.offset + index + 1 };
        (before, after)
    }

    fn split(self, byte: u8) -> Option<(Self, Self)> {
        memchr::memchr(byte, self.text).map(|index| self.split_at_byte(index))
    }

    fn fault<T>(self, message: impl Into<String>) -> Result<T> {
        Err(Fault { offset: self.offset, message: message.into() })
    }

    /// The text for a message: printable, and not too long.
    fn shown(self) -> String {
        const LONGEST: usize = 40;
        let text = String::from_utf8_lossy(self.text);
        let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
        if text.chars().nth(LONGEST).is_some() {
            shown.push('…');
        }
        shown
    }

    /// The text as a name.
    fn name(self) -> Result<&'a str> {
        if let Some(index) = memchr::memchr(0, self.text) {
            return Field { offset: self.offset + index, ..self }
                .fault("a zero byte: this is no text trace, or a damaged one");
        }
        match std::str::from_utf8(self.text) {
            Ok(name) => Ok(name),
            Err(error) => Field { offset: self.offset + error.valid_up_to(), ..self }
                .fault("a byte that is not UTF-8: this is no text trace, or a damaged one"),
        }
    }
}

/// The operation of a line, taken apart.
struct Phrase<'a> {
    verb: Verb,
    /// The verb with its size, for messages.
    verb_field: Field<'a>,
    size: Option<u64>,
    operand: Option<Field<'a>>,
}

impl Default for Parser {
    fn default() -> Self {
        let verbs = Verb::all().into_iter().map(|verb| (verb.name().into_bytes().into(), verb)).collect();
        Parser {
            tables: Tables::default(),
            names: Default::default(),
            variables: Names::default(),
            sites: Names::default(),
            declared: Vec::new(),
            verbs,
        }
    }
}

impl Parser {
    /// The event that a line (without its end) tells. None for a line that tells no event.
    pub(super) fn parse(&mut self, line: &[u8]) -> Result<Option<Event>> {
        let line = Field { text: line, offset: 0 }.trimmed();
        if line.text.is_empty() || line.text[0] == b'#' {
            return Ok(None);
        }
        let Some((thread, rest)) = line.split(b'|') else {
            return line
                .fault(format!("expected `thread|operation(operand)|location`, found `{}`", line.shown()));
        };
        let (operation, location) = match rest.split(b'|') {
            Some((operation, location)) => (operation, Some(location.trimmed())),
            None => (rest, None),
        };
        if let Some(location) = location
            && let Some((_, more)) = location.split(b'|')
        {
            return more.fault("a fourth field: a line has at most three, and no name may contain `|`");
        }
        let phrase = self.phrase(operation.trimmed())?;
        let thread = thread.trimmed();
        if phrase.verb == Verb::Location {
            if !thread.text.is_empty() {
                return thread.fault(
                    "a `location` is declared for all threads: expected nothing before the first `|`",
                );
            }
            self.declare(&phrase)?;
            return Ok(None);
        }
        if thread.text.is_empty() {
            return thread.fault("the name of the thread is missing");
        }
        let thread = ThreadId(self.id(NameKind::Thread, thread)?);
        let op = self.op(&phrase)?;
        let site = match location {
            Some(location) if !location.text.is_empty() => self.site(location)?,
            _ => SiteId::NONE,
        };
        Ok(Some(Event { thread, site, op }))
    }

    /// Takes the operation field apart.
    fn phrase<'a>(&self, field: Field<'a>) -> Result<Phrase<'a>> {
        let (verb_field, operand) = match field.split(b'(') {
            None => (field, None),
            Some((verb, rest)) => match rest.text.split_last() {
                Some((b')', inner)) => (verb.trimmed(), Some(Field { text: inner, ..rest }.trimmed())),
                _ => {
                    let end = Field { text: &[], offset: field.offset + field.text.len() };
                    return end.fault("expected `)` at the end of the operation");
                }
            },
        };
        if verb_field.text.is_empty() {
            return verb_field.fault("the operation is missing; expected one like `r(x)`");
        }
        let (verb, size) = self.verb(verb_field)?;
        Ok(Phrase { verb, verb_field, size, operand })
    }

    /// The verb and the size that may stand within it.
    fn verb(&self, field: Field<'_>) -> Result<(Verb, Option<u64>)> {
        if let Some(&verb) = self.verbs.get(field.text) {
            return Ok((verb, None));
        }
        let unknown = || {
            let guess = closest(&String::from_utf8_lossy(field.text));
            let hint = match guess {
                Some(guess) => format!("did you mean `{guess}`?"),
                None => {
                    "the plain ones are r, w, acq, rel, fork, join, begin, end; the others are listed in \
                         docs/std-format.md"
                        .to_owned()
                }
            };
            field.fault(format!("unknown operation `{}`; {hint}", field.shown()))
        };
        let Some(start) = field.text.iter().position(u8::is_ascii_digit) else { return unknown() };
        let count = field.text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (head, tail) = (&field.text[..start], &field.text[start + count..]);
        let digits = Field { text: &field.text[start..start + count], offset: field.offset + start };
        // Joined without an allocation: most lines of a recorded program have a size.
        let mut joined = [0; LONGEST_VERB];
        let Some(whole) = joined.get_mut(..head.len() + tail.len()) else { return unknown() };
        whole[..head.len()].copy_from_slice(head);
        whole[head.len()..].copy_from_slice(tail);
        let Some(&verb) = self.verbs.get(&*whole) else { return unknown() };
        if verb.spelling().0.as_bytes() != head {
            let (head, tail) = verb.spelling();
            return digits.fault(format!(
                "the size of a `{}` stands here: `{head}{}{tail}`",
                verb.name(),
                digits.shown()
            ));
        }
        if !verb.has_size() {
            return digits.fault(format!("`{}` takes no size", verb.name()));
        }
        Ok((verb, Some(self.decimal(digits)?)))
    }

    fn op(&mut self, phrase: &Phrase<'_>) -> Result<Op> {
        Ok(match phrase.verb {
            Verb::Access(kind) => {
                let (addr, size) = self.memory(phrase)?;
                Op::Access { kind, size: size_in(phrase, size, 1, u32::MAX)?, addr }
            }
            Verb::Atomic(kind, order) => {
                let (addr, size) = self.memory(phrase)?;
                if ![1, 2, 4, 8, 16].contains(&size) {
                    return phrase
                        .verb_field
                        .fault(format!("an atomic operation has 1, 2, 4, 8 or 16 bytes, not {size}"));
                }
                Op::Atomic { kind, order, size: size as u8, addr }
            }
            Verb::Alloc => {
                let (addr, size) = self.memory(phrase)?;
                Op::Alloc { size: size_in(phrase, size, 0, u32::MAX)?, addr }
            }
            Verb::Free => {
                let (addr, size) = self.memory(phrase)?;
                Op::Free { size: size_in(phrase, size, 0, u32::MAX)?, addr }
            }
            Verb::OtherPath(kind) => {
                let (addr, size) = self.memory(phrase)?;
                Op::OtherPath { kind, size: size_in(phrase, size, 1, u32::MAX)?, addr }
            }
            Verb::Group => {
                let (group, location) = self.pair(phrase, "group,variable")?;
                let (addr, size) = self.memory_at(phrase, location)?;
                let size = size_in(phrase, size, 1, u32::from(u16::MAX))? as u16;
                Op::Group { size, group: GroupId(self.id(NameKind::Group, group)?), addr }
            }
            Verb::Fence(order) => self.bare(phrase, Op::Fence { order })?,
            Verb::Acquire(mode) => Op::Acquire { lock: LockId(self.named(phrase, NameKind::Lock)?), mode },
            Verb::Release(mode) => Op::Release { lock: LockId(self.named(phrase, NameKind::Lock)?), mode },
            Verb::OtherPathLock { mode, acquire } => {
                Op::OtherPathLock { lock: LockId(self.named(phrase, NameKind::Lock)?), mode, acquire }
            }
            Verb::Fork => Op::Fork { child: ThreadId(self.named(phrase, NameKind::Thread)?) },
            Verb::Join => Op::Join { child: ThreadId(self.named(phrase, NameKind::Thread)?) },
            Verb::ThreadEnd => self.bare(phrase, Op::ThreadEnd)?,
            Verb::Wait => Op::Wait { condition: ConditionId(self.named(phrase, NameKind::Condition)?) },
            Verb::Notify { all } => {
                Op::Notify { condition: ConditionId(self.named(phrase, NameKind::Condition)?), all }
            }
            Verb::BarrierArrive => {
                Op::BarrierArrive { barrier: BarrierId(self.named(phrase, NameKind::Barrier)?) }
            }
            Verb::BarrierLeave => {
                Op::BarrierLeave { barrier: BarrierId(self.named(phrase, NameKind::Barrier)?) }
            }
            Verb::HappensBefore => Op::HappensBefore { token: self.number(phrase)? },
            Verb::HappensAfter => Op::HappensAfter { token: self.number(phrase)? },
            Verb::Begin => Op::Begin { region: RegionId(self.optional(phrase, NameKind::Region)?) },
            // The label at the end of a region is for the reader's eyes: regions nest.
            Verb::End => Op::End,
            Verb::Call => Op::Call { function: FunctionId(self.optional(phrase, NameKind::Function)?) },
            Verb::Return => Op::Return,
            Verb::Spawn => Op::Spawn { task: TaskId(self.named(phrase, NameKind::Task)?) },
            Verb::TaskBegin => Op::TaskBegin { task: TaskId(self.named(phrase, NameKind::Task)?) },
            Verb::TaskSuspend => Op::TaskSuspend { task: TaskId(self.named(phrase, NameKind::Task)?) },
            Verb::TaskEnd => Op::TaskEnd { task: TaskId(self.named(phrase, NameKind::Task)?) },
            Verb::TaskWait => self.bare(phrase, Op::TaskWait)?,
            Verb::TaskJoin => Op::TaskJoin { task: TaskId(self.named(phrase, NameKind::Task)?) },
            Verb::TaskOrder => {
                let (before, after) = self.pair(phrase, "before,after")?;
                Op::TaskOrder {
                    before: TaskId(self.id(NameKind::Task, before)?),
                    after: TaskId(self.id(NameKind::Task, after)?),
                }
            }
            Verb::FinishBegin => self.bare(phrase, Op::FinishBegin)?,
            Verb::FinishEnd => self.bare(phrase, Op::FinishEnd)?,
            Verb::Branch => match phrase.operand.map_or(&b""[..], |operand| operand.text) {
                b"taken" => Op::Branch { taken: true },
                b"not_taken" => Op::Branch { taken: false },
                _ => return operand_field(phrase).fault("expected `branch(taken)` or `branch(not_taken)`"),
            },
            Verb::LoopEnter => Op::LoopEnter { loop_id: LoopId(self.named(phrase, NameKind::Loop)?) },
            Verb::LoopIteration => Op::LoopIteration { loop_id: LoopId(self.named(phrase, NameKind::Loop)?) },
            Verb::LoopExit => Op::LoopExit { loop_id: LoopId(self.named(phrase, NameKind::Loop)?) },
            Verb::Value => Op::Value { bits: self.number(phrase)? },
            Verb::Operand => match u32::try_from(self.number(phrase)?) {
                Ok(back @ 1..) => Op::Operand { back },
                _ => {
                    return operand_field(phrase)
                        .fault("the last read is `operand(1)`, the one before it `operand(2)`");
                }
            },
            Verb::Formula => Op::Formula { formula: self.formula(phrase)? },
            Verb::IgnoreBegin => self.bare(phrase, Op::IgnoreBegin)?,
            Verb::IgnoreEnd => self.bare(phrase, Op::IgnoreEnd)?,
            Verb::Location => return phrase.verb_field.fault("a `location` is no operation"),
        })
    }

    /// The operand as a formula, which must be one.
    fn formula(&mut self, phrase: &Phrase<'_>) -> Result<FormulaId> {
        let Some(operand) = phrase.operand.filter(|operand| !operand.text.is_empty()) else {
            return Ok(FormulaId::NONE);
        };
        if self.names[NameKind::Formula as usize].get(operand.text).is_none()
            && let Err(mistake) = Formula::parse(operand.name()?)
        {
            return Field { text: &[], offset: operand.offset + mistake.offset }.fault(mistake.message);
        }
        Ok(FormulaId(self.id(NameKind::Formula, operand)?))
    }

    /// An operation without operand.
    fn bare(&self, phrase: &Phrase<'_>, op: Op) -> Result<Op> {
        match phrase.operand {
            Some(operand) if !operand.text.is_empty() => {
                operand.fault(format!("`{}` takes no operand", phrase.verb.name()))
            }
            _ => Ok(op),
        }
    }

    /// The operand as the id of a name.
    fn named(&mut self, phrase: &Phrase<'_>, kind: NameKind) -> Result<u32> {
        match phrase.operand {
            Some(operand) if !operand.text.is_empty() => self.id(kind, operand),
            _ => operand_field(phrase).fault(format!(
                "`{}` needs the name of a {}",
                phrase.verb.name(),
                kind.noun()
            )),
        }
    }

    /// The operand as the id of a name that may be missing.
    fn optional(&mut self, phrase: &Phrase<'_>, kind: NameKind) -> Result<u32> {
        match phrase.operand {
            Some(operand) if !operand.text.is_empty() => self.id(kind, operand),
            _ => Ok(u32::MAX),
        }
    }

    /// The operand as two parts around its first comma.
    fn pair<'a>(&self, phrase: &Phrase<'a>, expected: &str) -> Result<(Field<'a>, Field<'a>)> {
        let operand = operand_field(phrase);
        match operand.split(b',').map(|(first, second)| (first.trimmed(), second.trimmed())) {
            Some((first, second)) if !first.text.is_empty() && !second.text.is_empty() => Ok((first, second)),
            _ => operand.fault(format!("expected `{}({expected})`", phrase.verb.name())),
        }
    }

    /// The operand as a number, decimal or hexadecimal.
    fn number(&self, phrase: &Phrase<'_>) -> Result<u64> {
        let operand = operand_field(phrase);
        if let Some(number) = hexadecimal(operand)? {
            return Ok(number);
        }
        if operand.text.is_empty() || !operand.text.iter().all(u8::is_ascii_digit) {
            return operand.fault(format!("`{}` needs a number, like 12 or 0xc", phrase.verb.name()));
        }
        self.decimal(operand)
    }

    fn decimal(&self, digits: Field<'_>) -> Result<u64> {
        let number = digits.text.iter().try_fold(0_u64, |sum, digit| {
            sum.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))
        });
        match number {
            Some(number) => Ok(number),
            None => digits.fault(format!("the number `{}` has more than 64 bits", digits.shown())),
        }
    }

    /// The operand as memory: its address and size.
    fn memory(&mut self, phrase: &Phrase<'_>) -> Result<(Addr, u64)> {
        self.memory_at(phrase, operand_field(phrase))
    }

    fn memory_at(&mut self, phrase: &Phrase<'_>, operand: Field<'_>) -> Result<(Addr, u64)> {
        if operand.text.is_empty() {
            return operand.fault(format!("`{}` needs the name of a variable", phrase.verb.name()));
        }
        let Some(size) = phrase.size else {
            let (addr, room) = self.variable(operand)?;
            if room < VARIABLE_SIZE {
                let (head, tail) = phrase.verb.spelling();
                return operand.fault(format!(
                    "`{}` has only {room} bytes; give the size of the access: `{head}{room}{tail}({})`",
                    operand.shown(),
                    operand.shown()
                ));
            }
            return Ok((Addr(addr), u64::from(VARIABLE_SIZE)));
        };
        if let Some(addr) = hexadecimal(operand)? {
            return self.free_address(operand, addr, size).map(|addr| (addr, size));
        }
        let (name, offset) = match memchr::memrchr(b'+', operand.text)
            .map(|index| operand.split_at_byte(index))
        {
            Some((name, offset)) if !offset.text.is_empty() && offset.text.iter().all(u8::is_ascii_digit) => {
                (name.trimmed(), self.decimal(offset)?)
            }
            _ => (operand, 0),
        };
        if name.text.is_empty() {
            return name.fault("the name of the variable is missing");
        }
        let (addr, room) = self.variable(name)?;
        match offset.checked_add(size) {
            Some(end) if end <= u64::from(room) => Ok((Addr(addr + offset), size)),
            _ => operand.fault(format!(
                "{size} bytes at offset {offset} do not fit into the {room} bytes of `{}`; use an address (`0x…`) \
                 for larger objects",
                name.shown()
            )),
        }
    }

    /// An address that was written as one, unless it belongs to the named variables.
    fn free_address(&self, field: Field<'_>, addr: u64, size: u64) -> Result<Addr> {
        match addr.checked_add(size) {
            None => field.fault(format!("{size} bytes from here go beyond the end of memory")),
            Some(end) if addr < VARIABLE_SPACE.end && end > VARIABLE_SPACE.start => field.fault(format!(
                "addresses from {:#x} to {:#x} are kept for named variables",
                VARIABLE_SPACE.start,
                VARIABLE_SPACE.end - 1
            )),
            Some(_) => Ok(Addr(addr)),
        }
    }

    /// The address and size of a variable.
    fn variable(&mut self, field: Field<'_>) -> Result<(u64, u32)> {
        if let Some(number) = self.variables.get(field.text) {
            return Ok(match number.checked_sub(DECLARED) {
                None => (VARIABLE_BASE + u64::from(number) * u64::from(VARIABLE_SIZE), VARIABLE_SIZE),
                Some(index) => self.declared.get(index as usize).map_or((0, 0), |it| (it.addr, it.size)),
            });
        }
        let name = field.name()?;
        let number = (self.variables.len() - self.declared.len()) as u32;
        if number >= DECLARED - 1 {
            return field.fault("too many variables");
        }
        self.variables.insert(field.text, number);
        let addr = VARIABLE_BASE + u64::from(number) * u64::from(VARIABLE_SIZE);
        self.tables.locations.insert(addr, Location { size: VARIABLE_SIZE, name: name.into() });
        Ok((addr, VARIABLE_SIZE))
    }

    /// `|location4(0x601040,name)`: names memory that has its own address.
    fn declare(&mut self, phrase: &Phrase<'_>) -> Result<()> {
        let (place, name_field) = self.pair(phrase, "0x601040,name")?;
        let Some(size) = phrase.size else {
            return phrase
                .verb_field
                .fault("expected the size of the location, as in `location4(0x601040,name)`");
        };
        let size = size_in(phrase, size, 1, u32::MAX)?;
        let Some(addr) = hexadecimal(place)? else {
            return place.fault("expected an address like 0x601040");
        };
        self.free_address(place, addr, u64::from(size))?;
        if self.variables.get(name_field.text).is_some() {
            return name_field.fault(format!(
                "`{}` is known already; a location is declared once, before its first use",
                name_field.shown()
            ));
        }
        let name = name_field.name()?;
        let before = self.tables.locations.range(..addr + u64::from(size)).next_back();
        if let Some((base, location)) = before
            && base + u64::from(location.size) > addr
        {
            return place.fault(format!("the location overlaps with `{}`", location.name));
        }
        if self.declared.len() as u32 >= DECLARED - 1 {
            return name_field.fault("too many locations");
        }
        self.variables.insert(name_field.text, DECLARED + self.declared.len() as u32);
        self.declared.push(Declared { addr, size });
        self.tables.locations.insert(addr, Location { size, name: name.into() });
        Ok(())
    }

    /// The id of a name, new if the name is.
    fn id(&mut self, kind: NameKind, field: Field<'_>) -> Result<u32> {
        if let Some(id) = self.names[kind as usize].get(field.text) {
            return Ok(id);
        }
        let name = field.name()?;
        match kind {
            NameKind::Thread if self.names[kind as usize].len() >= MAX_THREADS as usize => {
                return field.fault(format!("more than {MAX_THREADS} threads"));
            }
            NameKind::Thread if name.starts_with('#') => {
                return field
                    .fault("the name of a thread cannot start with `#`: its lines would be comments");
            }
            NameKind::Task | NameKind::Group if name.contains(',') => {
                return field.fault(format!("the name of a {} cannot contain a comma", kind.noun()));
            }
            _ if self.names[kind as usize].len() >= u32::MAX as usize => {
                return field.fault(format!("too many names of a {}", kind.noun()));
            }
            _ => {}
        }
        let id = self.tables.add_name(kind, name);
        self.names[kind as usize].insert(field.text, id);
        Ok(id)
    }

    /// The site that a location field tells, new if its text is.
    fn site(&mut self, field: Field<'_>) -> Result<SiteId> {
        if let Some(id) = self.sites.get(field.text) {
            return Ok(SiteId(id));
        }
        let text = field.name()?;
        if self.tables.sites.len() >= u32::MAX as usize {
            return field.fault("too many locations");
        }
        let site = match place::position(text) {
            None => Site { place: Place::Label(text.into()), function: FunctionId::NONE },
            Some(position) => {
                let file = self.id(NameKind::File, Field { text: position.path.as_bytes(), ..field })?;
                let function = match position.function {
                    "" => FunctionId::NONE,
                    name => {
                        FunctionId(self.id(NameKind::Function, Field { text: name.as_bytes(), ..field })?)
                    }
                };
                let file = FileId(file);
                Site { place: Place::Source { file, line: position.line, column: position.column }, function }
            }
        };
        let id = self.tables.sites.len() as u32;
        self.tables.sites.push(site);
        self.sites.insert(field.text, id);
        Ok(SiteId(id))
    }
}

/// The operand, or where it should stand.
fn operand_field<'a>(phrase: &Phrase<'a>) -> Field<'a> {
    let end = phrase.verb_field.offset + phrase.verb_field.text.len();
    phrase.operand.unwrap_or(Field { text: &[], offset: end })
}

/// A number like `0x1f`; nothing if the text does not look like one.
fn hexadecimal(field: Field<'_>) -> Result<Option<u64>> {
    let Some(digits) = field.text.strip_prefix(b"0x").filter(|digits| !digits.is_empty()) else {
        return Ok(None);
    };
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Ok(None);
    }
    let number = std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
    match number {
        Some(number) => Ok(Some(number)),
        None => field.fault(format!("the number `{}` has more than 64 bits", field.shown())),
    }
}

fn size_in(phrase: &Phrase<'_>, size: u64, least: u32, most: u32) -> Result<u32> {
    match u32::try_from(size) {
        Ok(size) if (least..=most).contains(&size) => Ok(size),
        _ => phrase.verb_field.fault(format!("the size {size} is not in {least} to {most}")),
    }
}
