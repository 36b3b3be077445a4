//! The names behind the ids of events.

use crate::event::{Addr, FunctionId, RegionId, SiteId, StackId, ThreadId};
use std::collections::BTreeMap;

/// A source file, as an index into the names of kind [`NameKind::File`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileId(pub u32);

/// A loaded module, as an index into [`Tables::modules`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleId(pub u32);

/// What an id names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // each is the kind of id of the same name
pub enum NameKind {
    Thread,
    Lock,
    Condition,
    Barrier,
    Region,
    Function,
    Task,
    Group,
    Loop,
    File,
    Formula,
}

impl NameKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [NameKind; 11] = [
        NameKind::Thread,
        NameKind::Lock,
        NameKind::Condition,
        NameKind::Barrier,
        NameKind::Region,
        NameKind::Function,
        NameKind::Task,
        NameKind::Group,
        NameKind::Loop,
        NameKind::File,
        NameKind::Formula,
    ];

    /// What such a thing is called, for messages and made-up names.
    pub fn noun(self) -> &'static str {
        match self {
            NameKind::Thread => "thread",
            NameKind::Lock => "lock",
            NameKind::Condition => "condition",
            NameKind::Barrier => "barrier",
            NameKind::Region => "region",
            NameKind::Function => "function",
            NameKind::Task => "task",
            NameKind::Group => "group",
            NameKind::Loop => "loop",
            NameKind::File => "file",
            NameKind::Formula => "formula",
        }
    }
}

/// Where a site is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Place {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Some text that the trace gave for it.
    Label(Box<str>),
    /// A position in a source file.
    Source {
        /// The file.
        file: FileId,
        /// Line, from 1.
        line: u32,
        /// Column, from 1; 0 if not known.
        column: u32,
    },
    /// An instruction, to be symbolized.
    Code {
        /// The module that holds it.
        module: ModuleId,
        /// Its offset from the module's base.
        offset: u64,
    },
}

/// A place in the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Site {
    /// Where it is.
    pub place: Place,
    /// The function around it, if the trace tells.
    pub function: FunctionId,
}

/// A module that was loaded when the trace was recorded.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Module {
    /// Path of the file.
    pub path: Box<str>,
    /// Address at which it was loaded.
    pub base: u64,
    /// Number of bytes it took.
    pub size: u64,
    /// The linker's build id; empty if there is none.
    pub build_id: Box<[u8]>,
}

/// A named stretch of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// Number of bytes.
    pub size: u32,
    /// Its name.
    pub name: Box<str>,
}

/// A block of memory from the heap, and who asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryBlock {
    /// Number of bytes.
    pub size: u64,
    /// The thread that allocated it.
    pub thread: ThreadId,
    /// Where.
    pub site: SiteId,
    /// Under which calls.
    pub stack: StackId,
}

/// Who created a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadOrigin {
    /// The thread that created it; none if that is not known.
    pub parent: ThreadId,
    /// Where.
    pub site: SiteId,
    /// Under which calls.
    pub stack: StackId,
}

/// All names of a trace. Tables only grow while a trace is read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tables {
    names: [Vec<Box<str>>; NameKind::ALL.len()],
    /// The sites; a [`SiteId`] is an index.
    pub sites: Vec<Site>,
    /// The modules; a [`ModuleId`] is an index.
    pub modules: Vec<Module>,
    /// The named memory, by first address.
    pub locations: BTreeMap<u64, Location>,
    /// For each function, by id, a place inside of it, from which a name can be found. May be shorter than there are
    /// functions, and a place may be missing.
    pub functions: Vec<SiteId>,
    /// Who created each thread, by id. May be shorter than there are threads. A recorded trace tells it by its events.
    pub threads: Vec<ThreadOrigin>,
    /// Blocks of the heap that findings speak of, by first address.
    pub blocks: BTreeMap<u64, MemoryBlock>,
}

impl Tables {
    /// All names of one kind, by id. A name that was not told is empty.
    pub fn names(&self, kind: NameKind) -> &[Box<str>] {
        &self.names[kind as usize]
    }

    /// The name with an id, if there is one.
    pub fn name(&self, kind: NameKind, id: u32) -> Option<&str> {
        self.names[kind as usize].get(id as usize).map(|name| &**name).filter(|name| !name.is_empty())
    }

    /// Adds a name with the next free id, which is returned. The same name may get several ids.
    pub fn add_name(&mut self, kind: NameKind, name: &str) -> u32 {
        let names = &mut self.names[kind as usize];
        names.push(name.into());
        (names.len() - 1) as u32
    }

    /// Names an id. Ids below it that have no name yet stay unnamed. The caller bounds the id.
    pub fn set_name(&mut self, kind: NameKind, id: u32, name: &str) {
        let names = &mut self.names[kind as usize];
        if names.len() <= id as usize {
            names.resize(id as usize + 1, Box::from(""));
        }
        names[id as usize] = name.into();
    }

    /// The site with an id, if it is known.
    pub fn site(&self, id: SiteId) -> Option<&Site> {
        self.sites.get(id.index())
    }

    /// The name of a thread, made up from its number if the trace gives none.
    pub fn thread_name(&self, thread: ThreadId) -> String {
        self.name(NameKind::Thread, thread.0).map_or_else(|| format!("thread {}", thread.0), str::to_owned)
    }

    /// The label of an atomic region, or the name of the function that it is; made up from its number if the trace gives
    /// none.
    pub fn region_name(&self, region: RegionId) -> String {
        if let Some(name) = region.function().and_then(|function| self.function_name(function)) {
            return name.to_owned();
        }
        if region.critical_section().is_some() {
            return "critical section".to_owned();
        }
        self.name(NameKind::Region, region.0).map_or_else(|| format!("region {}", region.0), str::to_owned)
    }

    /// The name of a function, if it is known.
    pub fn function_name(&self, function: FunctionId) -> Option<&str> {
        self.name(NameKind::Function, function.0)
    }

    /// The named memory that holds an address, with the offset into it.
    pub fn location(&self, addr: Addr) -> Option<(&Location, u64)> {
        let (base, location) = self.locations.range(..=addr.0).next_back()?;
        let offset = addr.0 - base;
        (offset < u64::from(location.size)).then_some((location, offset))
    }

    /// The heap block that holds an address, with the offset into it.
    pub fn block(&self, addr: Addr) -> Option<(&MemoryBlock, u64)> {
        let (base, block) = self.blocks.range(..=addr.0).next_back()?;
        let offset = addr.0 - base;
        (offset < block.size).then_some((block, offset))
    }
}
