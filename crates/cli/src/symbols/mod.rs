//! From instructions to source: names the places of programs that were watched by their machine code.
//!
//! Places are looked up when a report or a rule asks for them, because most places of a run are never spoken of. The files
//! are those that the run had loaded; a file that has changed since would give wrong names, so its build id is compared.

mod elf;
mod variables;

pub(crate) use elf::Elf;
pub(crate) use variables::Variables;

use crate::report::model::Code;
use addr2line::Loader;
use keirin_core::event::{Addr, FunctionId, Op, RegionId};
use keirin_core::finding::{Evidence, RawFinding, Verdict, Whole};
use keirin_core::trace::{Location, ModuleId, NameKind, Place, Tables};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where debug information lies that is not in the program itself.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// Where libraries lie that nobody builds again for a report.
const SYSTEM_LIBRARIES: [&str; 3] = ["/usr/lib", "/lib", "/usr/libexec"];

/// How far before an instruction without a line one is looked for: what prepares a call takes so many bytes.
const BYTES_BEFORE: u64 = 24;

/// How far behind it.
const BYTES_BEHIND: u64 = 12;

/// One function around an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CodeFrame {
    /// The name of the function.
    pub(crate) function: Option<Rc<str>>,
    /// File, line and column; 0 if not known.
    pub(crate) source: Option<(Rc<str>, u32, u32)>,
    /// The compiler has put this function into the next one.
    pub(crate) inlined: bool,
}

/// Path and build id: a file may be another one in the next process.
type ModuleKey = (Box<str>, Box<[u8]>);

/// The functions around an instruction, the innermost first.
type Frames = Rc<[CodeFrame]>;

/// True if a function is one of the runtime's own, which is linked into the program.
pub(crate) fn is_runtime(function: &str) -> bool {
    function.starts_with("keirin_rt::") || function.starts_with("<keirin_rt::")
}

/// The modules that were looked at so far.
#[derive(Default)]
pub(crate) struct Symbols {
    modules: RefCell<HashMap<ModuleKey, Option<Rc<Loaded>>>>,
    frames: RefCell<HashMap<(ModuleKey, u64), Frames>>,
    /// What the reader should know about modules, each once.
    notes: RefCell<BTreeSet<String>>,
    told: RefCell<BTreeSet<String>>,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Symbols")
    }
}

/// The file of a module.
struct Loaded {
    elf: Elf,
    lines: Option<Loader>,
}

impl Symbols {
    /// Nothing is known yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// What the reader should know about the files of the program and was not told yet.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        let mut told = self.told.borrow_mut();
        let notes = self.notes.take().into_iter().filter(|note| told.insert(note.clone()));
        notes.collect()
    }

    fn note(&self, note: String) {
        self.notes.borrow_mut().insert(note);
    }

    /// The functions around an instruction, the innermost first. Empty if nothing is known. The offset is that of the
    /// instruction behind a call, as a return address is.
    pub(crate) fn frames(&self, tables: &Tables, module: ModuleId, offset: u64) -> Frames {
        let Some(known) = tables.modules.get(module.0 as usize) else { return Rc::default() };
        let key = ((known.path.clone(), known.build_id.clone()), offset);
        if let Some(frames) = self.frames.borrow().get(&key) {
            return frames.clone();
        }
        let address = offset.saturating_sub(1);
        let loaded = self.module(&known.path, &known.build_id);
        // Parts of a program may be without lines for good: our runtime is.
        let advisable = (loaded.as_ref().is_some_and(|loaded| loaded.elf.instrumented)
            || !SYSTEM_LIBRARIES.iter().any(|folder| known.path.starts_with(folder)))
            && !loaded.as_ref().is_some_and(|loaded| loaded.elf.has_lines());
        let frames: Frames = loaded.map_or_else(Rc::default, |loaded| loaded.frames(address).into());
        let of_program = |frame: &CodeFrame| !frame.function.as_deref().is_some_and(is_runtime);
        if frames.iter().any(of_program) && frames.iter().all(|frame| frame.source.is_none()) && advisable {
            let name = file_name(&known.path);
            self.note(format!("{name} tells no source lines: build it with -g"));
        }
        self.frames.borrow_mut().insert(key, frames.clone());
        frames
    }

    /// Where the instructions of a source line are in a file, as return addresses: a call in the line is behind its start.
    pub(crate) fn line(&self, code: &Code, file: &str, line: u32) -> Vec<Range<u64>> {
        let digits = code.build_id.as_bytes().chunks(2).filter_map(|digits| std::str::from_utf8(digits).ok());
        let build_id: Vec<u8> = digits.filter_map(|digits| u8::from_str_radix(digits, 16).ok()).collect();
        let Some(loaded) = self.module(&code.module, &build_id) else { return Vec::new() };
        let Some(Ok(locations)) = loaded.lines.as_ref().map(|lines| lines.find_location_range(0, u64::MAX))
        else {
            return Vec::new();
        };
        let meant = |location: &addr2line::Location<'_>| {
            let named = location.file.is_some_and(|known| Path::new(known).ends_with(file));
            named && location.line == Some(line)
        };
        let found = locations.filter(|(.., location)| meant(location));
        found.map(|(start, size, _)| start + 1..start.saturating_add(size) + 1).collect()
    }

    /// The name of a function: the one that the tables give, or the one around the place that they give.
    pub(crate) fn function_name(&self, tables: &Tables, function: FunctionId) -> Option<Rc<str>> {
        if let Some(name) = tables.function_name(function) {
            return Some(name.into());
        }
        let site = tables.site(*tables.functions.get(function.index())?)?;
        let &Place::Code { module, offset } = &site.place else { return None };
        // What is inlined at the entry is not the function that was entered.
        self.frames(tables, module, offset).last()?.function.clone()
    }

    /// Names what findings speak of and only the program's files can name: functions that are blocks, global variables.
    /// `entered` are further blocks that are spoken of.
    pub(crate) fn name_all(&self, tables: &mut Tables, findings: &[RawFinding], entered: &[RegionId]) {
        if tables.modules.is_empty() {
            return;
        }
        let mut addresses = BTreeSet::new();
        let mut regions: BTreeSet<RegionId> = entered.iter().copied().collect();
        for finding in findings {
            mentioned(finding, &mut addresses, &mut regions);
        }
        for function in regions.into_iter().filter_map(RegionId::function) {
            if let Some(name) = self.function_name(tables, function) {
                tables.set_name(NameKind::Function, function.0, &name);
            }
        }
        // The runtime knows locks by their addresses.
        let locks = tables.names(NameKind::Lock).iter().filter_map(|name| parse_address(name));
        addresses.extend(locks.collect::<Vec<_>>());
        for address in addresses {
            if tables.location(Addr(address)).is_none()
                && let Some((start, location)) = self.variable(tables, address)
            {
                tables.locations.entry(start).or_insert(location);
            }
        }
    }

    /// The global variable that holds an address.
    fn variable(&self, tables: &Tables, address: u64) -> Option<(u64, Location)> {
        let holds = |base: u64, size: u64| address >= base && address - base < size;
        let module = tables.modules.iter().find(|module| holds(module.base, module.size))?;
        let loaded = self.module(&module.path, &module.build_id)?;
        let symbol = loaded.elf.variable(address - module.base)?;
        let size = u32::try_from(symbol.size).ok()?;
        Some((module.base + symbol.address, Location { size, name: demangled(&symbol.name).into() }))
    }

    fn module(&self, path: &str, build_id: &[u8]) -> Option<Rc<Loaded>> {
        let key = (path.into(), build_id.into());
        if let Some(known) = self.modules.borrow().get(&key) {
            return known.clone();
        }
        let loaded = self.load(path, build_id).map(Rc::new);
        self.modules.borrow_mut().insert(key, loaded.clone());
        loaded
    }

    fn load(&self, path: &str, build_id: &[u8]) -> Option<Loaded> {
        let name = file_name(path);
        let elf = match Elf::read(Path::new(path)) {
            Ok(elf) => elf,
            Err(problem) => {
                // The kernel's own code has no file, and nobody misses it.
                if path.starts_with('/') {
                    self.note(format!("places in {name} have no names: {problem}"));
                }
                return None;
            }
        };
        if !build_id.is_empty() && elf.build_id() != build_id {
            self.note(format!(
                "places in {name} have no names: {path} was built again since the run; watch the new program to see them"
            ));
            return None;
        }
        // A file that the library cannot read still has its symbols.
        let lines = Loader::new(debug_file(&elf).unwrap_or_else(|| PathBuf::from(path))).ok();
        Some(Loaded { elf, lines })
    }
}

impl Loaded {
    /// The functions around an address of the file. Compilers give some instructions no line, among them calls of the
    /// runtime; then the line is taken from what stands around: the access itself, which follows the call, what prepares the
    /// call, and what comes after. It must be in the same function.
    fn frames(&self, address: u64) -> Vec<CodeFrame> {
        let frames = self.frames_at(address);
        let without_line = |frame: &CodeFrame| frame.source.as_ref().is_some_and(|(_, line, _)| *line == 0);
        if !frames.first().is_some_and(without_line) {
            return frames;
        }
        let function = |frame: &CodeFrame| frame.function.clone();
        let around = |other: &Vec<CodeFrame>| {
            !other.first().is_some_and(without_line)
                && other.iter().map(function).eq(frames.iter().map(function))
        };
        let before = (1..=BYTES_BEFORE).map(|distance| address.saturating_sub(distance));
        let behind = (2..=BYTES_BEHIND).map(|distance| address.saturating_add(distance));
        let near = std::iter::once(address.saturating_add(1)).chain(before).chain(behind);
        near.map(|address| self.frames_at(address)).find(around).unwrap_or(frames)
    }

    /// The functions around an address of the file, as its tables have it.
    fn frames_at(&self, address: u64) -> Vec<CodeFrame> {
        let mut frames = Vec::new();
        if let Some(lines) = &self.lines
            && let Ok(mut found) = lines.find_frames(address)
        {
            while let Ok(Some(frame)) = found.next() {
                let function = frame.function.as_ref().and_then(|function| function.demangle().ok());
                let source = frame.location.as_ref().and_then(|location| {
                    let file = location.file.filter(|file| !file.is_empty())?;
                    Some((file.into(), location.line.unwrap_or(0), location.column.unwrap_or(0)))
                });
                frames.push(CodeFrame {
                    function: function.map(|name| (*name).into()),
                    source,
                    inlined: true,
                });
            }
        }
        let symbol = || self.elf.function(address).map(|symbol| demangled(&symbol.name).into());
        match frames.last_mut() {
            Some(outermost) => {
                outermost.inlined = false;
                outermost.function = outermost.function.take().or_else(symbol);
            }
            None => frames.extend(symbol().map(|function| CodeFrame {
                function: Some(function),
                source: None,
                inlined: false,
            })),
        }
        frames
    }
}

/// The addresses and regions that a finding names.
fn mentioned(finding: &RawFinding, addresses: &mut BTreeSet<u64>, regions: &mut BTreeSet<RegionId>) {
    let witness = match &finding.verdict {
        Verdict::OtherSchedule { witness } => witness.as_deref(),
        _ => None,
    };
    let schedule = witness.iter().flat_map(|witness| &witness.segments).flat_map(|segment| &segment.shown);
    for step in finding.steps.iter().chain(schedule) {
        match step.op {
            Op::Access { addr, .. } | Op::Atomic { addr, .. } | Op::OtherPath { addr, .. } => {
                addresses.insert(addr.0);
            }
            Op::Begin { region } => {
                regions.insert(region);
            }
            _ => {}
        }
    }
    match &finding.evidence {
        Evidence::Cycle(cycle) => {
            regions.extend(cycle.transactions.iter().map(|transaction| transaction.region));
            regions.extend(cycle.refuted.iter().map(|block| block.region));
        }
        Evidence::Reduction(reduction) => regions.extend(reduction.blocks.iter().map(|block| block.region)),
        Evidence::Race(race) => drop(addresses.insert(race.addr.0)),
        Evidence::Locking(locking) => drop(addresses.insert(locking.addr.0)),
        Evidence::Torn(torn) => {
            addresses.insert(torn.addr.0);
            if let Whole::Block(region) = torn.whole {
                regions.insert(region);
            }
        }
    }
}

/// The separate file with the debug information, where the system keeps it and the program has none.
fn debug_file(elf: &Elf) -> Option<PathBuf> {
    if elf.has_lines() {
        return None;
    }
    let digits: String = elf.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
    let (folder, name) = digits.split_at_checked(2)?;
    let path = Path::new(DEBUG_FILES).join(folder).join(format!("{name}.debug"));
    path.is_file().then_some(path)
}

/// The address that stands for a name, as the runtime writes it.
pub(crate) fn parse_address(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix("0x")?, 16).ok()
}

/// The name as it stands in the source.
pub(crate) fn demangled(name: &str) -> String {
    // A variable `x` of a C program is no `long long`, as that letter means in mangled names.
    if !["_Z", "_R"].iter().any(|start| name.starts_with(start)) {
        return name.to_owned();
    }
    addr2line::demangle_auto(name.into(), None).into_owned()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
