//! What a program has.

use super::Findings;
use anyhow::{Context, Result};
use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, ET_DYN, ET_EXEC, ET_REL, FileHeader64, PT_DYNAMIC, PT_INTERP,
};
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSymbol};
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Libraries that keirin knows: what they do to threads and memory is seen at their calls.
const KNOWN: [&str; 10] = [
    "libc.so",
    "libm.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "ld-linux-x86-64.so",
    "libgcc_s.so",
    "libstdc++.so",
    "libresolv.so",
    "libutil.so",
];

/// What an ELF file says about itself.
#[derive(Default, Debug)]
struct Facts {
    relocatable: bool,
    foreign: bool,
    has_interpreter: bool,
    is_dynamic: bool,
    /// It calls the hooks, or defines them.
    has_hooks: bool,
    defines_hooks: bool,
    has_keirin: bool,
    has_lines: bool,
    compiler: Option<String>,
    needed: Vec<String>,
    search: Vec<String>,
}

impl Facts {
    fn of(bytes: &[u8]) -> object::Result<Self> {
        let file = ElfFile64::<Endianness>::parse(bytes)?;
        let endian = file.endian();
        let header: &FileHeader64<Endianness> = file.elf_header();
        let kind = header.e_type(endian);
        let mut facts = Facts {
            relocatable: kind == ET_REL,
            foreign: file.architecture() != Architecture::X86_64
                || !(kind == ET_EXEC || kind == ET_DYN || kind == ET_REL),
            ..Facts::default()
        };
        for segment in file.elf_program_headers() {
            match segment.p_type(endian) {
                PT_INTERP => facts.has_interpreter = true,
                PT_DYNAMIC => facts.is_dynamic = true,
                _ => {}
            }
        }
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let Ok(name) = symbol.name() else { continue };
            if name.starts_with("__tsan_") {
                facts.has_hooks = true;
                facts.defines_hooks |= symbol.is_definition();
            }
            facts.has_keirin |= name == "__keirin_start" && symbol.is_definition();
        }
        for section in file.sections() {
            match section.name() {
                Ok(".debug_line" | ".zdebug_line" | ".gnu_debuglink") => facts.has_lines = true,
                Ok(".comment") => facts.compiler = section.data().ok().and_then(compiler),
                _ => {}
            }
        }
        facts.dynamic(&file)?;
        Ok(facts)
    }

    fn dynamic(&mut self, file: &ElfFile64<Endianness>) -> object::Result<()> {
        let endian = file.endian();
        let sections = file.elf_section_table();
        let Some((entries, link)) = sections.dynamic(endian, file.data())? else { return Ok(()) };
        let strings = sections.strings(endian, file.data(), link)?;
        for entry in entries {
            let tag = entry.tag(endian);
            let text =
                || entry.string(endian, strings).map(|text| String::from_utf8_lossy(text).into_owned());
            match tag {
                DT_NEEDED => self.needed.push(text()?),
                DT_RPATH | DT_RUNPATH => self.search.extend(text()?.split(':').map(str::to_owned)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The sanitizer's own runtime, if the program needs that.
    fn sanitizer(&self) -> Option<&String> {
        self.needed.iter().find(|name| name.starts_with("libtsan.so") || name.starts_with("libclang_rt.tsan"))
    }
}

/// The compiler that signed a file. The start files of the system are gcc's: another one is more telling.
fn compiler(comments: &[u8]) -> Option<String> {
    let comments: Vec<String> = comments
        .split(|byte| *byte == 0)
        .filter(|text| !text.is_empty())
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect();
    let other = comments.iter().find(|text| text.contains("clang") || text.contains("rustc"));
    other.or(comments.first()).cloned()
}

pub(super) fn examine(path: &Path, findings: &mut Findings) -> Result<()> {
    let name = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    if bytes.starts_with(b"#!") {
        findings.problem(format!("{name} is a script: name the program that it starts"));
        return Ok(());
    }
    let facts = match Facts::of(&bytes) {
        Ok(facts) => facts,
        Err(error) => {
            findings.problem(format!("{name} is no program that keirin knows (64-bit ELF): {error}"));
            return Ok(());
        }
    };
    if facts.foreign {
        findings.problem(format!("{name} is not for Linux on x86-64"));
        return Ok(());
    }
    if facts.relocatable {
        findings.problem(format!("{name} is an object file: link it with keirin cc or keirin c++"));
        return Ok(());
    }
    let is_program = facts.has_interpreter || !facts.is_dynamic || facts.has_keirin;
    if is_program && !facts.has_interpreter {
        findings
            .problem(format!("{name} is statically linked and cannot be watched: build it without -static"));
        return Ok(());
    }
    let by =
        facts.compiler.as_deref().map_or_else(String::new, |compiler| format!(" (compiler: {compiler})"));
    runtime(&format!("{name}{by}"), is_program, &facts, findings);
    if facts.has_hooks {
        if facts.has_lines {
            findings.good(format!("{name} has line information"));
        } else {
            findings.note(format!("{name} has no line information: build it with -g and do not strip it"));
        }
    }
    libraries(path, &facts, findings);
    Ok(())
}

fn runtime(name: &str, is_program: bool, facts: &Facts, findings: &mut Findings) {
    if facts.has_keirin {
        findings.good(format!("{name} has the runtime of keirin"));
    } else if let Some(library) = facts.sanitizer() {
        let ours =
            ["libtsan.so.2", "libclang_rt.tsan-x86_64.so", "libclang_rt.tsan.so"].contains(&library.as_str());
        if ours {
            findings
                .good(format!("{name} was linked against {library}, whose place keirin takes when it runs"));
        } else {
            findings.problem(format!(
                "{name} was linked against {library}, which keirin does not know: build it with keirin cc or keirin c++"
            ));
        }
    } else if facts.has_hooks && facts.defines_hooks {
        findings.problem(format!(
            "{name} has the runtime of ThreadSanitizer inside: link it with keirin cc or keirin c++"
        ));
    } else if facts.has_hooks {
        findings.good(format!("{name} is an instrumented library"));
    } else if is_program {
        findings.problem(format!("{name} is not instrumented: build it with keirin cc or keirin c++"));
    } else {
        findings.problem(format!("{name} is a library that is not instrumented"));
    }
}

/// Looks at all libraries that the dynamic linker would load.
fn libraries(path: &Path, facts: &Facts, findings: &mut Findings) {
    let folders = system_folders();
    let mut seen = BTreeSet::new();
    let mut plain = Vec::new();
    let mut queue: VecDeque<(String, Vec<PathBuf>)> = VecDeque::new();
    let enqueue = |queue: &mut VecDeque<_>, path: &Path, facts: &Facts| {
        let search = own_folders(path, facts);
        queue.extend(facts.needed.iter().map(|name| (name.clone(), search.clone())));
    };
    enqueue(&mut queue, path, facts);
    while let Some((name, search)) = queue.pop_front() {
        let known = KNOWN.iter().any(|known| name.starts_with(known));
        let sanitizer = name.starts_with("libtsan.so") || name.starts_with("libclang_rt.tsan");
        if known || sanitizer || !seen.insert(name.clone()) {
            continue;
        }
        let places = search.iter().chain(&folders).map(|folder| folder.join(&name));
        let found = places.filter_map(|place| Some((std::fs::read(&place).ok()?, place))).find_map(
            |(bytes, place)| {
                let facts = Facts::of(&bytes).ok().filter(|facts| !facts.foreign)?;
                Some((place, facts))
            },
        );
        match found {
            None => findings.problem(format!("{name} is needed and was not found")),
            Some((place, facts)) => {
                if !facts.has_hooks {
                    plain.push(name);
                }
                enqueue(&mut queue, &place, &facts);
            }
        }
    }
    if !plain.is_empty() {
        findings.note(format!(
            "not instrumented: {}; what happens inside of them is not seen, only that they were called",
            plain.join(", ")
        ));
    }
}

/// Where a file says that its libraries are.
fn own_folders(path: &Path, facts: &Facts) -> Vec<PathBuf> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let origin = path.parent().unwrap_or(Path::new("/")).display().to_string();
    let from_file =
        facts.search.iter().map(|folder| folder.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin));
    let variable = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let from_user = variable.split(':').map(str::to_owned);
    from_file.chain(from_user).filter(|folder| !folder.is_empty()).map(PathBuf::from).collect()
}

/// Where the system keeps libraries.
fn system_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"]
            .map(PathBuf::from)
            .into();
    let configurations = std::fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten();
    for configuration in configurations {
        let text = std::fs::read_to_string(configuration.path()).unwrap_or_default();
        folders.extend(text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(PathBuf::from));
    }
    folders
}
