//! What a command line for gcc or clang asks for: as much of it as decides what keirin adds.

use super::Language;
use std::ffi::OsString;
use std::fs;

/// Options whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-F",
    "-A",
    "-B",
    "-b",
    "-T",
    "-u",
    "-z",
    "-e",
    "-G",
    "-V",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-iframework",
    "-iframeworkwithsysroot",
    "-cxx-isystem",
    "-c-isystem",
    "-ivfsoverlay",
    "-include-pch",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-Xanalyzer",
    "-Xopenmp-target",
    "-mllvm",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-arch",
    "-target",
    "-gcc-toolchain",
    "-working-directory",
    "-aux-info",
    "-wrapper",
    "-dumpdir",
    "-dumpbase",
    "-dumpbase-ext",
    "-framework",
    "-Tdata",
    "-Ttext",
    "-Tbss",
    "-rpath",
    "-plugin",
    "-load",
    "-serialize-diagnostics",
    "--param",
    "--sysroot",
    "--output",
    "--language",
    "--include",
    "--imacros",
    "--define-macro",
    "--undefine-macro",
    "--include-directory",
    "--library-directory",
    "--library",
    "--entry",
    "--prefix",
    "--force-link",
    "--for-linker",
    "--for-assembler",
    "--config",
    "--serialize-diagnostics",
    "--dependent-lib",
    "-fmodule-name",
    "-fdebug-compilation-dir",
    "-fcoverage-compilation-dir",
];

/// Endings of files that are compiled, and of headers. All others, `.s` among them, are for the assembler or the linker.
const SOURCES: &[&str] = &[
    "c", "i", "ii", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "cppm", "ixx", "m", "mi", "mm", "M", "mii",
    "S", "sx", "cl", "cu", "bc", "ll",
];
const HEADERS: &[&str] = &["h", "hh", "H", "hp", "hxx", "hpp", "HPP", "h++", "tcc"];

/// Endings of sources and headers in C++, and of those that a compiler for C++ takes for such.
const CXX: &[&str] = &[
    "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "mm", "M", "hh", "H", "hp", "hxx", "hpp", "HPP", "h++",
    "tcc",
];
const C_OR_CXX: &[&str] = &["c", "h"];

/// Sanitizers that no compiler combines with the one for threads.
const CONFLICTS: &[&str] = &[
    "address",
    "kernel-address",
    "hwaddress",
    "kernel-hwaddress",
    "memory",
    "kernel-memory",
    "leak",
    "dataflow",
    "safe-stack",
    "memtag",
    "realtime",
    "type",
];

/// How deep files of arguments may name each other.
const DEPTH: usize = 20;

/// What comes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Produces {
    /// Nothing that the linker makes.
    Nothing,
    /// A relocatable object of several.
    Part,
    /// A shared library.
    Library,
    /// An executable.
    Program,
}

/// Before or after the words of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Before,
    After,
}

/// A command line that has been looked at.
#[derive(Clone, Default, Debug)]
pub(crate) struct Arguments {
    inputs: usize,
    sources: bool,
    cxx: bool,
    c_or_cxx: bool,
    includes: bool,
    modules: bool,
    headers_only: bool,
    stops_early: bool,
    shared: bool,
    relocatable: bool,
    static_program: bool,
    debug: bool,
    optimizes: Option<bool>,
    forbids_undefined: bool,
    no_default_libraries: bool,
    another_machine: bool,
    openmp: bool,
    sanitizers: Vec<String>,
}

impl Arguments {
    pub(crate) fn of(words: &[OsString]) -> Self {
        let mut expanded = Vec::new();
        for word in words {
            expand(&word.to_string_lossy(), 0, &mut expanded);
        }
        let mut arguments = Self { headers_only: true, ..Self::default() };
        arguments.look_at(&expanded);
        arguments
    }

    /// True if there is nothing to compile or to link: a question about the compiler.
    pub(crate) fn is_untouched(&self) -> bool {
        self.inputs == 0
    }

    /// True if something is compiled.
    pub(crate) fn has_sources(&self) -> bool {
        self.sources
    }

    /// Where a header belongs that is to be read before all others of a C++ source, if there is such a source.
    pub(crate) fn place_of_prelude(&self, language: Language) -> Option<Place> {
        let cxx = self.cxx || language == Language::Cxx && self.c_or_cxx;
        // Nothing may come before the declaration of a module.
        if !cxx || self.modules {
            return None;
        }
        // A header that was compiled before is used only if it comes first; it has begun with the prelude itself.
        Some(if self.includes && !self.headers_only { Place::After } else { Place::Before })
    }

    pub(crate) fn has_debug_flag(&self) -> bool {
        self.debug
    }

    /// Whether the user wants optimized code; None if nothing is said.
    pub(crate) fn optimizes(&self) -> Option<bool> {
        self.optimizes
    }

    pub(crate) fn is_static(&self) -> bool {
        self.static_program
    }

    /// True if a shared library must not leave symbols open.
    pub(crate) fn forbids_undefined(&self) -> bool {
        self.forbids_undefined
    }

    pub(crate) fn has_no_default_libraries(&self) -> bool {
        self.no_default_libraries
    }

    /// True if a program needs the compiler's runtime for OpenMP.
    pub(crate) fn has_openmp(&self) -> bool {
        self.openmp
    }

    pub(crate) fn is_for_another_machine(&self) -> bool {
        self.another_machine
    }

    /// A sanitizer that cannot be used beside keirin.
    pub(crate) fn conflict(&self) -> Option<String> {
        self.sanitizers.first().map(|name| format!("-fsanitize={name}"))
    }

    pub(crate) fn produces(&self) -> Produces {
        if self.inputs == 0 || self.stops_early || self.headers_only {
            Produces::Nothing
        } else if self.relocatable {
            Produces::Part
        } else if self.shared {
            Produces::Library
        } else {
            Produces::Program
        }
    }

    fn look_at(&mut self, words: &[String]) {
        let mut language: Option<String> = None;
        let mut for_linker = Vec::new();
        let mut words = words.iter().map(String::as_str);
        let mut only_files = false;
        while let Some(word) = words.next() {
            if only_files || word == "-" || !word.starts_with('-') {
                self.input(word, language.as_deref());
                continue;
            }
            if word == "--" {
                only_files = true;
                continue;
            }
            let value = if WITH_VALUE.contains(&word) { words.next().unwrap_or_default() } else { "" };
            match word {
                "-x" | "--language" => language = (value != "none").then(|| value.to_owned()),
                "-Xlinker" | "--for-linker" => for_linker.push(value.to_owned()),
                "-z" => for_linker.extend(["-z".to_owned(), value.to_owned()]),
                "-target" => self.target(value),
                "-l" | "--library" => self.library(value),
                "-include" | "--include" | "-include-pch" => self.includes = true,
                _ => self.option(word, &mut language, &mut for_linker),
            }
        }
        self.linker_options(&for_linker);
    }

    fn option(&mut self, word: &str, language: &mut Option<String>, for_linker: &mut Vec<String>) {
        match word {
            "-c"
            | "-S"
            | "-E"
            | "-M"
            | "-MM"
            | "-fsyntax-only"
            | "-emit-ast"
            | "--analyze"
            | "--precompile"
            | "--compile"
            | "--assemble"
            | "--preprocess"
            | "--dependencies"
            | "--user-dependencies"
            | "-fmodule-only" => {
                self.stops_early = true;
            }
            "-shared" | "--shared" | "-dynamiclib" => self.shared = true,
            "-r" => self.relocatable = true,
            "-static" | "--static" | "-static-pie" => self.static_program = true,
            "-nostdlib" | "--no-standard-libraries" | "-nodefaultlibs" | "-nolibc" => {
                self.no_default_libraries = true
            }
            "-m32" | "-mx32" | "-m16" => self.another_machine = true,
            "-m64" => self.another_machine = false,
            "-O0" => self.optimizes = Some(false),
            "-fopenmp" => self.openmp = true,
            "-fno-openmp" => self.openmp = false,
            _ => {
                if word.starts_with("-O") {
                    self.optimizes = Some(true);
                } else if let Some(list) = word.strip_prefix("-Wl,") {
                    for_linker.extend(list.split(',').map(str::to_owned));
                } else if let Some(name) =
                    word.strip_prefix("-x").or_else(|| word.strip_prefix("--language="))
                {
                    *language = (name != "none").then(|| name.to_owned());
                } else if let Some(list) = word.strip_prefix("-fsanitize=") {
                    let names = list.split(',').filter(|name| CONFLICTS.contains(name));
                    self.sanitizers.extend(names.map(str::to_owned));
                } else if let Some(list) = word.strip_prefix("-fno-sanitize=") {
                    let names: Vec<&str> = list.split(',').collect();
                    self.sanitizers.retain(|name| !names.contains(&name.as_str()) && !names.contains(&"all"));
                } else if let Some(triple) = word.strip_prefix("--target=") {
                    self.target(triple);
                } else if let Some(name) = word.strip_prefix("-l").or_else(|| word.strip_prefix("--library="))
                {
                    self.library(name);
                } else if let Some(keyword) = word.strip_prefix("-z") {
                    for_linker.extend(["-z".to_owned(), keyword.to_owned()]);
                } else if word.starts_with("-fmodule") {
                    self.modules = true;
                } else if word.starts_with("-include") || word.starts_with("--include=") {
                    self.includes = true;
                } else if is_debug_flag(word) {
                    self.debug = true;
                }
            }
        }
    }

    fn input(&mut self, name: &str, language: Option<&str>) {
        self.inputs += 1;
        // A file called `.c` has no ending.
        let file = name.rsplit('/').next().unwrap_or(name);
        let ending =
            file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, ending)| ending);
        let (source, header) = match language {
            Some("assembler") => (false, false),
            Some(language) => (true, language.ends_with("-header")),
            // gcc asks for -x or -E with standard input, and then it is a source.
            None if name == "-" => (true, false),
            None => (SOURCES.contains(&ending) || HEADERS.contains(&ending), HEADERS.contains(&ending)),
        };
        match language {
            Some(language) => self.cxx |= matches!(language, "c++" | "c++-header" | "objective-c++"),
            None => {
                self.cxx |= CXX.contains(&ending);
                self.c_or_cxx |= C_OR_CXX.contains(&ending);
            }
        }
        self.sources |= source;
        self.headers_only &= header;
    }

    /// A library is something to link, if nothing else is.
    fn library(&mut self, name: &str) {
        self.openmp |= name == "gomp";
        self.inputs += 1;
        self.headers_only = false;
    }

    fn target(&mut self, triple: &str) {
        self.another_machine = !(triple.starts_with("x86_64") && triple.contains("linux"));
    }

    fn linker_options(&mut self, words: &[String]) {
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "-shared" | "--shared" | "-Bshareable" => self.shared = true,
                "-r" | "-i" | "--relocatable" => self.relocatable = true,
                "--no-undefined" | "-no-undefined" | "-zdefs" | "--unresolved-symbols=report-all" => {
                    self.forbids_undefined = true;
                }
                "-z" => self.forbids_undefined |= words.next() == Some("defs"),
                _ => {}
            }
        }
    }
}

/// True if the user says whether there shall be debug information.
fn is_debug_flag(word: &str) -> bool {
    let about_its_form =
        ["-gz", "-gno-", "-grecord-", "-gstrict-", "-gcolumn-info", "-gas-", "-gvariable-", "-ginline-"];
    word.starts_with("-g") && !about_its_form.iter().any(|form| word.starts_with(form))
}

/// A word, or the words of the file that it names.
fn expand(word: &str, depth: usize, into: &mut Vec<String>) {
    // As the compilers do: what cannot be read is an ordinary word.
    let content = word.strip_prefix('@').filter(|_| depth < DEPTH).and_then(|name| fs::read(name).ok());
    match content {
        Some(content) => {
            for word in words_of(&String::from_utf8_lossy(&content)) {
                expand(&word, depth + 1, into);
            }
        }
        None => into.push(word.to_owned()),
    }
}

/// The words of a file of arguments: separated by blanks, with quotes, and a backslash before any character.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (_, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, None) if character.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests;
