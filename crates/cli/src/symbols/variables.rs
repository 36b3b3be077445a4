//! What variables of a program hold when it starts, from its files.

use keirin_core::trace::{Module, Tables};
use object::{Object, ObjectSection, RelocationTarget};
use std::path::Path;

/// Larger files are not read for this.
const LARGEST_FILE: u64 = 1 << 30;

/// A section with variables of a module.
#[derive(Debug)]
struct Section {
    /// Where it was in memory.
    start: u64,
    size: u64,
    /// Its content; all zero if there is none.
    content: Option<Vec<u8>>,
    /// Words that the linker has changed when it loaded the module.
    changed: Vec<u64>,
}

/// The variables of all modules of a recorded program.
#[derive(Debug)]
pub(crate) struct Variables(Vec<Section>);

/// Bytes of what the linker changes.
const WORD: u64 = 8;

impl Variables {
    /// Those of the modules of a trace. None if it is not one of a program, or its files are gone or others.
    pub(crate) fn of(tables: &Tables) -> Option<Self> {
        let sections: Vec<Section> = tables.modules.iter().filter_map(read).flatten().collect();
        (!sections.is_empty()).then_some(Self(sections))
    }

    /// The value of up to eight bytes.
    pub(crate) fn value(&self, addr: u64, size: u32) -> Option<u64> {
        let size = u64::from(size);
        let end = addr.checked_add(size).filter(|_| (1..=8).contains(&size))?;
        let section =
            self.0.iter().find(|section| section.start <= addr && end <= section.start + section.size)?;
        let changed = |word: &u64| *word < end && addr < word + WORD;
        if section.changed.iter().any(changed) {
            return None;
        }
        let Some(content) = &section.content else { return Some(0) };
        let from = (addr - section.start) as usize;
        let bytes = content.get(from..from + size as usize)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

/// The sections of one module, if its file is still the one that was loaded.
fn read(module: &Module) -> Option<Vec<Section>> {
    let path = Path::new(&*module.path);
    std::fs::metadata(path).ok().filter(|about| about.is_file() && about.len() <= LARGEST_FILE)?;
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let build_id = file.build_id().ok().flatten().unwrap_or_default();
    if *build_id != *module.build_id {
        return None;
    }
    let relocated: Vec<u64> = file
        .dynamic_relocations()
        .into_iter()
        .flatten()
        .filter(|(_, relocation)| {
            matches!(relocation.target(), RelocationTarget::Symbol(_) | RelocationTarget::Absolute)
        })
        .map(|(address, _)| address)
        .collect();
    let section = |name: &str| {
        let section = file.section_by_name(name)?;
        let (address, size) = (section.address(), section.size());
        let content = section.data().ok().filter(|_| name == ".data").map(<[u8]>::to_vec);
        let within = |word: &u64| (address..address + size).contains(word);
        let changed = relocated.iter().filter(|word| within(word)).map(|word| word + module.base).collect();
        Some(Section { start: address + module.base, size, content, changed })
    };
    Some([".data", ".bss"].into_iter().filter_map(section).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::ObjectSymbol;

    static ZERO: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    static SEVEN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(7);

    #[test]
    fn variables_of_this_program_have_their_first_values() {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let build_id = file.build_id().ok().flatten().unwrap_or_default().into();
        let module = Module { path: path.to_str().unwrap().into(), base: 0, size: 0, build_id };
        let mut tables = Tables::default();
        tables.modules.push(module);
        let variables = Variables::of(&tables).expect("this program has variables");
        std::hint::black_box((&ZERO, &SEVEN));
        for (name, value) in [("ZERO", 0), ("SEVEN", 7)] {
            let is_it = |known: &str| known.contains("variables") && known.contains(name);
            let mut symbols = file.symbols();
            let symbol = symbols.find(|symbol| symbol.name().is_ok_and(is_it)).expect("it is in the file");
            assert_eq!(variables.value(symbol.address(), 4), Some(value), "{name}");
        }
        assert_eq!(variables.value(1, 4), None);
        tables.modules[0].build_id = [1, 2, 3].into();
        assert!(Variables::of(&tables).is_none());
    }
}
