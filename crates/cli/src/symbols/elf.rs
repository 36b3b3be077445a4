//! What an ELF file says of itself: symbols, build id, what it is linked to.

use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, ReadCache, ReadRef, SymbolKind};
use std::path::Path;

/// Larger files are no programs that anybody watches, and reading one would take the memory of the machine.
const LARGEST_FILE: u64 = 8 << 30;

/// A function or a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) name: Box<str>,
}

/// An ELF file, as far as keirin is concerned.
#[derive(Debug, Default)]
pub(crate) struct Elf {
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
    build_id: Vec<u8>,
    has_lines: bool,
    /// Names of libraries that it wants.
    pub(crate) needed: Vec<String>,
    /// Folders where to look for them.
    pub(crate) search: Vec<String>,
    /// It calls the hooks that `-fsanitize=thread` puts in.
    pub(crate) instrumented: bool,
    /// Our runtime is linked in.
    pub(crate) has_runtime: bool,
    /// Some runtime for the hooks is linked in, ours or the compiler's.
    pub(crate) has_any_runtime: bool,
}

impl Elf {
    /// Reads a file. An error says what is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let about = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !about.is_file() || about.len() > LARGEST_FILE {
            return Err(format!("{} is no program", path.display()));
        }
        let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        // Most of a program is code, and what is said about lines: that is not read.
        Self::parse(&ReadCache::new(file)).ok_or_else(|| format!("{} is no ELF file", path.display()))
    }

    fn parse<'a>(bytes: impl ReadRef<'a>) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let mut elf = Elf {
            build_id: file.build_id().ok().flatten().unwrap_or_default().to_vec(),
            has_lines: [".debug_line", ".zdebug_line"]
                .iter()
                .any(|name| file.section_by_name(name).is_some()),
            ..Elf::default()
        };
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            elf.add(&symbol);
        }
        for table in [&mut elf.functions, &mut elf.variables] {
            // Of several names for one place the shortest is the one that people know.
            table.sort_by(|a, b| (a.address, a.name.len(), &a.name).cmp(&(b.address, b.name.len(), &b.name)));
            table.dedup_by_key(|symbol| symbol.address);
        }
        if let object::File::Elf64(file) = &file {
            elf.read_links(file.endian(), file.elf_header(), bytes);
        }
        Some(elf)
    }

    fn add<'a>(&mut self, symbol: &impl ObjectSymbol<'a>) {
        let Ok(name) = symbol.name() else { return };
        match name {
            "__tsan_func_entry" => self.instrumented = true,
            "__keirin_start" => self.has_runtime |= symbol.is_definition(),
            "__tsan_init" => self.has_any_runtime |= symbol.is_definition(),
            _ => {}
        }
        if symbol.is_undefined() || symbol.size() == 0 || name.is_empty() {
            return;
        }
        let table = match symbol.kind() {
            SymbolKind::Text => &mut self.functions,
            SymbolKind::Data => &mut self.variables,
            _ => return,
        };
        table.push(Symbol { address: symbol.address(), size: symbol.size(), name: name.into() });
    }

    /// What the dynamic linker is told.
    fn read_links<'a>(
        &mut self,
        endian: Endianness,
        header: &object::elf::FileHeader64<Endianness>,
        bytes: impl ReadRef<'a>,
    ) -> Option<()> {
        let segments = header.program_headers(endian, bytes).ok()?;
        let sections = header.sections(endian, bytes).ok()?;
        let entries = segments.iter().find_map(|segment| segment.dynamic(endian, bytes).ok().flatten())?;
        let (_, link) = sections.dynamic(endian, bytes).ok().flatten()?;
        let strings = sections.strings(endian, bytes, link).ok()?;
        for entry in entries {
            let text = || {
                let text = entry.string(endian, strings).ok()?;
                Some(String::from_utf8_lossy(text).into_owned())
            };
            match entry.tag(endian) {
                object::elf::DT_NEEDED => self.needed.extend(text()),
                object::elf::DT_RUNPATH | object::elf::DT_RPATH => {
                    let folders = text().unwrap_or_default();
                    self.search.extend(folders.split(':').map(str::to_owned));
                }
                _ => {}
            }
        }
        Some(())
    }

    /// It is linked against a shared library with the compiler's own runtime for the hooks.
    pub(crate) fn needs_sanitizer(&self) -> bool {
        self.needed.iter().any(|name| name.starts_with("libtsan.so") || name.starts_with("libclang_rt.tsan"))
    }

    /// It is linked against a shared library of this name.
    pub(crate) fn needs(&self, library: &str) -> bool {
        self.needed.iter().any(|name| name == library)
    }

    /// The linker's build id; empty if there is none.
    pub(crate) fn build_id(&self) -> &[u8] {
        &self.build_id
    }

    /// Whether it has information about source lines.
    pub(super) fn has_lines(&self) -> bool {
        self.has_lines
    }

    /// All functions, by address.
    pub(crate) fn functions(&self) -> &[Symbol] {
        &self.functions
    }

    /// The function that holds an address.
    pub(super) fn function(&self, address: u64) -> Option<&Symbol> {
        holding(&self.functions, address)
    }

    /// The variable that holds an address.
    pub(super) fn variable(&self, address: u64) -> Option<&Symbol> {
        holding(&self.variables, address)
    }
}

fn holding(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let behind = symbols.partition_point(|symbol| symbol.address <= address);
    let symbol = symbols.get(behind.checked_sub(1)?)?;
    (address - symbol.address < symbol.size).then_some(symbol)
}
