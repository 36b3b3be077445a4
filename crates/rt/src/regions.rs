//! The numbers of atomic regions: marked blocks by their labels, critical sections by their places, functions by the
//! ranges of code that the command line has found for them.

use crate::modules;
use crate::options::decode;
use crate::spin::Spin;
use keirin_core::event::RegionId;
use rustc_hash::FxHashMap;

#[derive(Default)]
struct Known {
    names: Vec<Box<str>>,
    by_label: FxHashMap<Box<str>, RegionId>,
    by_place: FxHashMap<usize, RegionId>,
    /// For functions that were entered, as entry or not, whether they are atomic.
    by_function: FxHashMap<usize, RegionId>,
    /// Functions that are atomic: where they are in the file, and their names.
    functions: Vec<Function>,
}

struct Function {
    module: Box<str>,
    range: std::ops::Range<usize>,
    name: Box<str>,
    /// It is atomic where it is called, not where a thread begins with it.
    not_as_entry: bool,
}

static KNOWN: Spin<Option<Known>> = Spin::new(None);

impl Known {
    fn label(&mut self, label: &str) -> RegionId {
        if let Some(region) = self.by_label.get(label) {
            return *region;
        }
        let region = RegionId(self.names.len() as u32);
        self.names.push(label.into());
        self.by_label.insert(label.into(), region);
        region
    }
}

/// The region of a marked block.
pub(crate) fn labelled(label: &[u8]) -> RegionId {
    let label = String::from_utf8_lossy(label);
    KNOWN.lock().get_or_insert_default().label(&label)
}

/// The region of the critical sections that begin at an instruction.
pub(crate) fn critical_section(pc: usize) -> RegionId {
    let mut known = KNOWN.lock();
    let known = known.get_or_insert_default();
    if let Some(region) = known.by_place.get(&pc) {
        return *region;
    }
    let region = RegionId(known.names.len() as u32);
    known.names.push("critical section".into());
    known.by_place.insert(pc, region);
    region
}

/// The region of a function that contains an instruction, if it is to be atomic. `entry`: no other function is open.
pub(crate) fn function(pc: usize, entry: bool) -> Option<RegionId> {
    let mut known = KNOWN.lock();
    let known = known.get_or_insert_default();
    let key = pc << 1 | usize::from(entry);
    if let Some(region) = known.by_function.get(&key) {
        return region.is_some().then_some(*region);
    }
    let module = modules::find(pc);
    let region = module.and_then(|module| {
        let offset = pc - module.bias;
        let found = known
            .functions
            .iter()
            .find(|function| function.module == module.path && function.range.contains(&offset))
            .filter(|function| !(entry && function.not_as_entry))?;
        let name = found.name.clone();
        Some(known.label(&name))
    });
    known.by_function.insert(key, region.unwrap_or(RegionId::NONE));
    region
}

/// Reads the list of atomic functions: in each line the path of a module, the first offset of the code and the one behind
/// the last in hexadecimal, and the name, separated by blanks. A blank in the path is `%20`, a percent sign `%25`. A `*` before
/// the name: not where a thread begins with it. Gives the number of lines that are not understood.
pub(crate) fn load_functions(text: &str) -> usize {
    let mut known = KNOWN.lock();
    let known = known.get_or_insert_default();
    let mut strange = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut fields = line.splitn(4, ' ');
        let number = |field: Option<&str>| usize::from_str_radix(field?.trim_start_matches("0x"), 16).ok();
        match (fields.next(), number(fields.next()), number(fields.next()), fields.next()) {
            (Some(module), Some(start), Some(end), Some(name)) => known.functions.push(Function {
                module: String::from_utf8_lossy(&decode(module)).into(),
                range: start..end,
                name: name.trim_start_matches('*').into(),
                not_as_entry: name.starts_with('*'),
            }),
            _ => strange += 1,
        }
    }
    strange
}

/// True if functions may be atomic.
pub(crate) fn has_functions() -> bool {
    KNOWN.lock().as_ref().is_some_and(|known| !known.functions.is_empty())
}

/// The names of all regions, by number, from a number on.
pub(crate) fn names_from(first: usize) -> Vec<Box<str>> {
    KNOWN.lock().as_ref().and_then(|known| known.names.get(first..)).map(<[_]>::to_vec).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_code() {
        modules::update();
        let here = labelled as *const () as usize;
        let module = modules::find(here).expect("a module");
        let offset = here - module.bias;
        let text = format!("{} {offset:x} {:#x} *labelled\nnonsense\n", module.path, offset + 8);
        assert_eq!(load_functions(&text), 1);
        assert!(has_functions());
        let region = function(here + 4, false).expect("a region");
        assert_eq!(function(here + 4, false), Some(region));
        assert_eq!(labelled(b"labelled"), region);
        assert_eq!(function(here + 4, true), None);
        assert_eq!(function(here + 8, false), None);
        assert_ne!(critical_section(1), critical_section(2));
        assert_eq!(critical_section(1), critical_section(1));
        assert_eq!(&*names_from(region.index())[0], "labelled");
    }
}
