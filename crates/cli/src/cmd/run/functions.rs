//! Which functions are meant to be atomic, as addresses: the runtime knows no names.

use super::Program;
use crate::atomic::{Rule, atomic_rule};
use crate::symbols::{Elf, demangled};
use keirin_core::select::Block;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// How many libraries are looked at; a program has far fewer.
const MOST_LIBRARIES: usize = 500;

/// One line for each function that the rules make atomic: the file, where it starts, where it ends, its name. A name with
/// a `*` in front is not atomic where a thread begins with it. None if no rule is about functions.
pub(crate) fn ranges(program: &Program, rules: &[Rule]) -> Option<String> {
    if rules.iter().all(|rule| matches!(rule, Rule::CriticalSections)) {
        return None;
    }
    let is_atomic = atomic_rule(rules.to_vec());
    let mut text = String::new();
    let Some(elf) = program.elf() else { return Some(text) };
    let mut add = |path: &Path, elf: &Elf| {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let path = path.to_string_lossy().replace('%', "%25").replace(' ', "%20").replace('\n', "%0A");
        for function in elf.functions() {
            let name = demangled(&function.name);
            let inner = is_atomic(Block::Function { name: &name, entry: false });
            if inner && !name.contains('\n') {
                let always = is_atomic(Block::Function { name: &name, entry: true });
                let mark = if always { "" } else { "*" };
                let end = function.address.saturating_add(function.size);
                text += &format!("{path} {:#x} {end:#x} {mark}{name}\n", function.address);
            }
        }
    };
    add(program.path(), elf);
    for (path, library) in libraries(program.path(), elf) {
        if library.instrumented {
            add(&path, &library);
        }
    }
    Some(text)
}

/// The libraries that a program is linked to and that are not the system's own, which are never instrumented.
fn libraries(program: &Path, elf: &Elf) -> Vec<(PathBuf, Elf)> {
    let variable = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let everywhere: Vec<PathBuf> =
        std::env::split_paths(&variable).chain([PathBuf::from("/usr/local/lib")]).collect();
    let mut found: Vec<(PathBuf, Elf)> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut wanted = wishes(program, elf);
    while let Some((name, mut folders)) = wanted.pop() {
        if found.len() >= MOST_LIBRARIES || !known.insert(name.clone()) {
            continue;
        }
        folders.extend_from_slice(&everywhere);
        let candidates = folders.iter().map(|folder| folder.join(&name));
        let library =
            candidates.filter_map(|path| Elf::read(&path).ok().map(|library| (path, library))).next();
        if let Some((path, library)) = library {
            wanted.extend(wishes(&path, &library));
            found.push((path, library));
        }
    }
    found
}

/// What a file wants to be linked to, and where it says to look.
fn wishes(path: &Path, elf: &Elf) -> Vec<(String, Vec<PathBuf>)> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let origin = real.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let folder =
        |text: &String| PathBuf::from(text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin));
    let folders: Vec<PathBuf> = elf.search.iter().map(folder).collect();
    elf.needed.iter().map(|name| (name.clone(), folders.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::process::Command;

    fn lines(rules: &[&str]) -> Option<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/programs/places.c");
        let path = folder.path().join("a program");
        assert!(Command::new("gcc").args([source, "-o"]).arg(&path).status().unwrap().success());
        let program = Program::find(&[OsString::from(&path)]).unwrap();
        let rules: Vec<Rule> = rules.iter().map(|rule| Rule::parse(rule).unwrap()).collect();
        let text = ranges(&program, &rules)?;
        let real = std::fs::canonicalize(&path).unwrap().display().to_string().replace(' ', "%20");
        Some(text.lines().map(|line| line.replace(&real, "PATH")).collect())
    }

    #[test]
    fn functions_are_told_by_their_addresses() {
        let found = lines(&["+^work"]).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let words: Vec<&str> = found[0].split(' ').collect();
        let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap();
        assert_eq!((words.len(), words[0], words[3]), (4, "PATH", "worker"));
        assert!(number(words[1]) < number(words[2]));
    }

    #[test]
    fn entry_points_are_marked_and_critical_sections_are_no_functions() {
        let all = lines(&["functions"]).unwrap();
        let names: Vec<&str> = all.iter().filter_map(|line| line.split(' ').next_back()).collect();
        assert!(names.contains(&"*worker") && !names.iter().any(|name| name.ends_with("main")), "{names:?}");
        assert_eq!(lines(&["critical-sections"]), None);
        assert_eq!(lines(&[]), None);
    }
}
