//! Table blocks: names, modules, sites and locations, as they become known.

use super::code::{MAX_ID, stored_id};
use super::encode::invalid;
use super::varint::{Cursor, put};
use crate::event::{FunctionId, SiteId, StackId, ThreadId};
use crate::trace::{
    FileId, Location, MemoryBlock, Module, ModuleId, NameKind, Place, Site, Tables, ThreadOrigin,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::io;

/// A text is cut to this many bytes, so that every entry fits into a block.
pub const MAX_TEXT_BYTES: usize = 1 << 18;

/// A table block is closed when it has this many bytes.
const FULL_TABLE_BYTES: usize = 64 << 10;

/// How many entries may be made up in a whole trace for table blocks that are lost.
const MAX_LOST_ENTRIES: usize = 1 << 20;

/// Sections 0 to 10 hold the names of a [`NameKind`].
const SECTION_MODULES: u8 = 16;
const SECTION_SITES: u8 = 17;
const SECTION_LOCATIONS: u8 = 18;
const SECTION_FUNCTIONS: u8 = 19;
const SECTION_THREADS: u8 = 20;
const SECTION_BLOCKS: u8 = 21;

const PLACE_UNKNOWN: u8 = 0;
const PLACE_LABEL: u8 = 1;
const PLACE_SOURCE: u8 = 2;
const PLACE_CODE: u8 = 3;

/// Where finished table blocks go, with the number of their entries.
pub(crate) trait TableOutput {
    fn table_block(&mut self, count: u32, payload: &[u8]) -> io::Result<()>;
}

/// Remembers which part of the tables has been written.
#[derive(Default)]
pub(crate) struct TableProgress {
    names: [usize; NameKind::ALL.len()],
    /// Ids that had no name when their turn came.
    unnamed: [Vec<u32>; NameKind::ALL.len()],
    modules: usize,
    sites: usize,
    /// Sites whose place was unknown when their turn came.
    unknown_sites: Vec<u32>,
    locations: FxHashSet<u64>,
    functions: usize,
    threads: Vec<ThreadOrigin>,
    blocks: FxHashMap<u64, MemoryBlock>,
}

impl TableProgress {
    /// Writes the entries that are new since the last call. Cheap if there are none.
    pub(crate) fn write_new(&mut self, tables: &Tables, output: &mut impl TableOutput) -> io::Result<()> {
        let mut encoder = SectionEncoder::new(output);
        for kind in NameKind::ALL {
            let names = tables.names(kind);
            for (id, name) in names.iter().enumerate().skip(self.names[kind as usize]) {
                encoder.entry(kind as u8, id, |bytes| put_text(bytes, name))?;
                if name.is_empty() {
                    self.unnamed[kind as usize].push(id as u32);
                }
            }
            self.names[kind as usize] = names.len();
        }
        for (id, module) in tables.modules.iter().enumerate().skip(self.modules) {
            encoder.entry(SECTION_MODULES, id, |bytes| put_module(bytes, module))?;
        }
        self.modules = tables.modules.len();
        for (id, site) in tables.sites.iter().enumerate().skip(self.sites) {
            check_site(tables, id, site)?;
            encoder.entry(SECTION_SITES, id, |bytes| put_site(bytes, site))?;
            if site.place == Place::Unknown {
                self.unknown_sites.push(id as u32);
            }
        }
        self.sites = tables.sites.len();
        // New locations mostly have the highest addresses, so they are found without looking at the old ones.
        let mut missing = tables.locations.len().saturating_sub(self.locations.len());
        for (&address, location) in tables.locations.iter().rev() {
            if missing == 0 {
                break;
            }
            if self.locations.insert(address) {
                missing -= 1;
                encoder.entry(SECTION_LOCATIONS, 0, |bytes| {
                    put(bytes, address);
                    put(bytes, u64::from(location.size));
                    put_text(bytes, &location.name);
                })?;
            }
        }
        for (id, site) in tables.functions.iter().enumerate().skip(self.functions) {
            encoder.entry(SECTION_FUNCTIONS, id, |bytes| put(bytes, stored_id(site.0)))?;
        }
        self.functions = tables.functions.len();
        encoder.finish()
    }

    /// Writes who created threads and allocated memory, as far as it is new or has changed. Not for traces, whose events
    /// tell it.
    pub(crate) fn write_origins(&mut self, tables: &Tables, output: &mut impl TableOutput) -> io::Result<()> {
        let mut encoder = SectionEncoder::new(output);
        for (id, &origin) in tables.threads.iter().enumerate() {
            if self.threads.get(id) != Some(&origin) {
                encoder.entry(SECTION_THREADS, id, |bytes| {
                    put(bytes, stored_id(origin.parent.0));
                    put(bytes, stored_id(origin.site.0));
                    put(bytes, stored_id(origin.stack.0));
                })?;
            }
        }
        self.threads.clone_from(&tables.threads);
        for (&address, &block) in &tables.blocks {
            if self.blocks.insert(address, block) != Some(block) {
                encoder.entry(SECTION_BLOCKS, 0, |bytes| {
                    put(bytes, address);
                    put(bytes, block.size);
                    put(bytes, stored_id(block.thread.0));
                    put(bytes, stored_id(block.site.0));
                    put(bytes, stored_id(block.stack.0));
                })?;
            }
        }
        encoder.finish()
    }

    /// Writes the entries that have got a name after their turn. Those that still have none may be told by a later call.
    pub(crate) fn write_late(&mut self, tables: &Tables, output: &mut impl TableOutput) -> io::Result<()> {
        let mut encoder = SectionEncoder::new(output);
        for kind in NameKind::ALL {
            for id in std::mem::take(&mut self.unnamed[kind as usize]) {
                match tables.name(kind, id) {
                    Some(name) => encoder.entry(kind as u8, id as usize, |bytes| put_text(bytes, name))?,
                    None => self.unnamed[kind as usize].push(id),
                }
            }
        }
        for id in std::mem::take(&mut self.unknown_sites) {
            match tables.sites.get(id as usize) {
                Some(site) if *site != Site::default() => {
                    check_site(tables, id as usize, site)?;
                    encoder.entry(SECTION_SITES, id as usize, |bytes| put_site(bytes, site))?;
                }
                _ => self.unknown_sites.push(id),
            }
        }
        encoder.finish()
    }
}

/// Collects entries into sections of consecutive ids, and sections into blocks.
struct SectionEncoder<'a, O> {
    output: &'a mut O,
    payload: Vec<u8>,
    total: u32,
    section: u8,
    start: usize,
    count: usize,
    entries: Vec<u8>,
}

impl<'a, O: TableOutput> SectionEncoder<'a, O> {
    fn new(output: &'a mut O) -> Self {
        SectionEncoder {
            output,
            payload: Vec::new(),
            total: 0,
            section: 0,
            start: 0,
            count: 0,
            entries: Vec::new(),
        }
    }

    fn entry(&mut self, section: u8, id: usize, encode: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        if id >= MAX_ID as usize {
            return Err(invalid(format!("a table has more than {MAX_ID} entries")));
        }
        let follows = is_by_address(section) || id == self.start + self.count;
        if self.count != 0 && (section != self.section || !follows) {
            self.close_section();
        }
        if self.count == 0 {
            self.section = section;
            self.start = id;
        }
        encode(&mut self.entries);
        self.count += 1;
        if self.payload.len() + self.entries.len() >= FULL_TABLE_BYTES {
            self.close_block()?;
        }
        Ok(())
    }

    fn close_section(&mut self) {
        self.payload.push(self.section);
        put(&mut self.payload, self.start as u64);
        put(&mut self.payload, self.count as u64);
        self.payload.append(&mut self.entries);
        self.total += self.count as u32;
        self.count = 0;
    }

    fn close_block(&mut self) -> io::Result<()> {
        self.close_section();
        self.output.table_block(self.total, &self.payload)?;
        self.payload.clear();
        self.total = 0;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if self.count != 0 || self.total != 0 {
            self.close_block()?;
        }
        Ok(())
    }
}

/// Entries of these sections begin with an address and have no id.
fn is_by_address(section: u8) -> bool {
    matches!(section, SECTION_LOCATIONS | SECTION_BLOCKS)
}

fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    let content = &content[..content.len().min(MAX_TEXT_BYTES)];
    put(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

pub(crate) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    put_bytes(bytes, &text.as_bytes()[..end]);
}

fn put_module(bytes: &mut Vec<u8>, module: &Module) {
    put_text(bytes, &module.path);
    put(bytes, module.base);
    put(bytes, module.size);
    put_bytes(bytes, &module.build_id);
}

fn put_site(bytes: &mut Vec<u8>, site: &Site) {
    match &site.place {
        Place::Unknown => bytes.push(PLACE_UNKNOWN),
        Place::Label(text) => {
            bytes.push(PLACE_LABEL);
            put_text(bytes, text);
        }
        Place::Source { file, line, column } => {
            bytes.push(PLACE_SOURCE);
            put(bytes, u64::from(file.0));
            put(bytes, u64::from(*line));
            put(bytes, u64::from(*column));
        }
        Place::Code { module, offset } => {
            bytes.push(PLACE_CODE);
            put(bytes, u64::from(module.0));
            put(bytes, *offset);
        }
    }
    put(bytes, stored_id(site.function.0));
}

/// Refuses a site that a reader would refuse.
fn check_site(tables: &Tables, id: usize, site: &Site) -> io::Result<()> {
    if !is_resolvable(tables, &site.place) {
        return Err(invalid(format!("site {id} uses a file or module that is not in the tables")));
    }
    if site.function.is_some() && site.function.0 >= MAX_ID {
        return Err(invalid(format!("site {id} uses function {}, which is out of range", site.function.0)));
    }
    Ok(())
}

fn is_resolvable(tables: &Tables, place: &Place) -> bool {
    match place {
        Place::Unknown | Place::Label(_) => true,
        Place::Source { file, .. } => (file.0 as usize) < tables.names(NameKind::File).len(),
        Place::Code { module, .. } => (module.0 as usize) < tables.modules.len(),
    }
}

/// Reads table blocks into [`Tables`].
pub(crate) struct TableReader {
    tables: Tables,
    /// How many entries may still be made up for lost blocks; none unless damage is to be skipped.
    may_be_lost: usize,
}

impl TableReader {
    pub(crate) fn new(skip_damaged: bool) -> Self {
        TableReader {
            tables: Tables::default(),
            may_be_lost: if skip_damaged { MAX_LOST_ENTRIES } else { 0 },
        }
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(crate) fn into_tables(self) -> Tables {
        self.tables
    }

    /// Adds what a table block holds. None if it breaks the format.
    pub(crate) fn read(&mut self, count_of_entries: u32, padded: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(padded);
        let mut total = 0u64;
        while cursor.left()? > 0 {
            let section = cursor.byte()?;
            let start = cursor.varint()?;
            let count = cursor.varint()?;
            // Every entry has at least one byte, so a count from a bad file ends with the payload.
            if count > cursor.left()? as u64 || start.checked_add(count)? > u64::from(MAX_ID) {
                return None;
            }
            total += count;
            self.make_up_lost(section, start as usize)?;
            for id in start as u32..(start + count) as u32 {
                self.entry(section, id, &mut cursor)?;
            }
        }
        (total == u64::from(count_of_entries)).then_some(())
    }

    /// Fills the hole that a lost table block has left, within bounds.
    fn make_up_lost(&mut self, section: u8, start: usize) -> Option<()> {
        let length = match section {
            SECTION_MODULES => self.tables.modules.len(),
            SECTION_SITES => self.tables.sites.len(),
            SECTION_FUNCTIONS => self.tables.functions.len(),
            SECTION_THREADS => self.tables.threads.len(),
            _ if is_by_address(section) => return (start == 0).then_some(()),
            _ => self.tables.names(*NameKind::ALL.get(section as usize)?).len(),
        };
        let lost = start.saturating_sub(length);
        if lost == 0 {
            return Some(());
        }
        self.may_be_lost = self.may_be_lost.checked_sub(lost)?;
        match section {
            SECTION_MODULES => self.tables.modules.resize(start, unknown_module()),
            SECTION_SITES => self.tables.sites.resize(start, Site::default()),
            SECTION_FUNCTIONS => self.tables.functions.resize(start, SiteId::NONE),
            SECTION_THREADS => self.tables.threads.resize(start, ThreadOrigin::default()),
            _ => self.tables.set_name(*NameKind::ALL.get(section as usize)?, start as u32 - 1, ""),
        }
        Some(())
    }

    fn entry(&mut self, section: u8, id: u32, cursor: &mut Cursor<'_>) -> Option<()> {
        match section {
            SECTION_MODULES => {
                let module = Module {
                    path: text(cursor)?,
                    base: cursor.varint()?,
                    size: cursor.varint()?,
                    build_id: bytes(cursor)?.into(),
                };
                put_at(&mut self.tables.modules, id, module)
            }
            SECTION_SITES => {
                let site = self.site(cursor)?;
                put_at(&mut self.tables.sites, id, site)
            }
            SECTION_LOCATIONS => {
                let address = cursor.varint()?;
                let location = Location { size: cursor.varint_u32()?, name: text(cursor)? };
                self.tables.locations.insert(address, location);
                Some(())
            }
            SECTION_FUNCTIONS => {
                let site = SiteId(id_of(cursor)?);
                put_at(&mut self.tables.functions, id, site)
            }
            SECTION_THREADS => {
                let origin = ThreadOrigin {
                    parent: ThreadId(id_of(cursor)?),
                    site: SiteId(id_of(cursor)?),
                    stack: StackId(id_of(cursor)?),
                };
                put_at(&mut self.tables.threads, id, origin)
            }
            SECTION_BLOCKS => {
                let address = cursor.varint()?;
                let block = MemoryBlock {
                    size: cursor.varint()?,
                    thread: ThreadId(id_of(cursor)?),
                    site: SiteId(id_of(cursor)?),
                    stack: StackId(id_of(cursor)?),
                };
                self.tables.blocks.insert(address, block);
                Some(())
            }
            _ => {
                let name = text(cursor)?;
                self.tables.set_name(*NameKind::ALL.get(section as usize)?, id, &name);
                Some(())
            }
        }
    }

    fn site(&self, cursor: &mut Cursor<'_>) -> Option<Site> {
        let mut place = match cursor.byte()? {
            PLACE_UNKNOWN => Place::Unknown,
            PLACE_LABEL => Place::Label(text(cursor)?),
            PLACE_SOURCE => Place::Source {
                file: FileId(cursor.varint_u32()?),
                line: cursor.varint_u32()?,
                column: cursor.varint_u32()?,
            },
            PLACE_CODE => Place::Code { module: ModuleId(cursor.varint_u32()?), offset: cursor.varint()? },
            _ => return None,
        };
        let function = cursor.varint()?;
        if function > u64::from(MAX_ID) {
            return None;
        }
        if !is_resolvable(&self.tables, &place) {
            if self.may_be_lost == 0 {
                return None;
            }
            place = Place::Unknown;
        }
        Some(Site { place, function: FunctionId((function as u32).wrapping_sub(1)) })
    }
}

fn unknown_module() -> Module {
    Module { path: "".into(), base: 0, size: 0, build_id: Box::default() }
}

/// Replaces an entry or adds it at the end.
fn put_at<T>(table: &mut Vec<T>, id: u32, entry: T) -> Option<()> {
    if id as usize == table.len() {
        table.push(entry);
    } else {
        *table.get_mut(id as usize)? = entry;
    }
    Some(())
}

/// An id of any size, or none.
pub(crate) fn id_of(cursor: &mut Cursor<'_>) -> Option<u32> {
    Some(cursor.varint_u32()?.wrapping_sub(1))
}

fn bytes<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(cursor.varint()?).ok()?;
    cursor.slice(length)
}

/// A text. What is not UTF-8 is replaced: a strange path is no reason to refuse a trace.
pub(crate) fn text(cursor: &mut Cursor<'_>) -> Option<Box<str>> {
    Some(String::from_utf8_lossy(bytes(cursor)?).into())
}
