//! Builds programs as users do, and keeps them until a source or keirin itself changes.

use super::directives::{self, Directives, Need};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The program under test.
pub(super) const KEIRIN: &str = env!("CARGO_BIN_EXE_keirin");
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");

/// A compiler that must be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compiler {
    Gcc,
    Clang,
    /// Clang with the pass that leaves accesses out.
    Lean,
}

impl Compiler {
    /// As it is called in messages, and the folder of what it builds.
    pub(super) fn name(self) -> &'static str {
        match self {
            Compiler::Lean => "clang-19-lean",
            _ => self.cc(),
        }
    }

    fn cc(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang | Compiler::Lean => "clang-19",
        }
    }

    /// Whether it can build a program.
    fn knows(self, directives: &Directives) -> bool {
        let family = match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang | Compiler::Lean => "clang",
        };
        directives.compilers.is_empty() || directives.compilers.iter().any(|name| name == family)
    }

    fn cxx(self) -> &'static str {
        match self {
            Compiler::Gcc => "g++",
            Compiler::Clang | Compiler::Lean => "clang++-19",
        }
    }
}

/// A program that was built.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) directives: Directives,
    pub(super) executable: PathBuf,
    /// Paths of its libraries.
    pub(super) arguments: Vec<PathBuf>,
    /// The names of its source files.
    pub(super) files: Vec<String>,
}

/// The programs of a folder, without the libraries that some of them load.
pub(super) fn sources(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(PROGRAMS).join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("can be listed").path());
    let is_program = |path: &PathBuf| {
        let library = path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_plugin"));
        !library && path.extension().is_some_and(|extension| extension == "c" || extension == "cpp")
    };
    let mut sources: Vec<_> = paths.filter(is_program).collect();
    sources.sort();
    sources
}

/// The path of a program within the folder of all programs.
pub(super) fn name(source: &Path) -> &Path {
    source.strip_prefix(PROGRAMS).unwrap_or(source)
}

/// Builds a program and its libraries, unless that was done since anything changed. None if it is not for this compiler.
pub(super) fn program(source: &Path, compiler: Compiler) -> Result<Option<Program>, String> {
    let directives = directives::read(source)?;
    if !compiler.knows(&directives) {
        return Ok(None);
    }
    let folder = name(source).parent().unwrap_or(Path::new(""));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(compiler.name()).join(folder);
    std::fs::create_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    let mut files = vec![source.to_owned()];
    let mut arguments = Vec::new();
    for library in &directives.libraries {
        let built = target.join(library.file_name().unwrap_or_default()).with_extension("so");
        compile(library, &built, compiler, &directives, &["-shared", "-fPIC"])?;
        files.push(library.clone());
        arguments.push(built);
    }
    let mut name = OsString::from(source.file_stem().unwrap_or_default());
    name.push(".program");
    let executable = target.join(name);
    compile(source, &executable, compiler, &directives, &[])?;
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Some(Program { directives, executable, arguments, files: files.iter().map(name).collect() }))
}

fn compile(
    source: &Path,
    target: &Path,
    compiler: Compiler,
    directives: &Directives,
    more: &[&str],
) -> Result<(), String> {
    if is_fresh(source, target) {
        return Ok(());
    }
    let cpp = source.extension() == Some(OsStr::new("cpp"));
    // Other tests may build the same program at the same time; each puts its result in place at once.
    let unfinished = target.with_extension(format!("{}.part", unique()));
    let mut command = Command::new(KEIRIN);
    command
        .env_remove("KEIRIN_OPTIONS")
        .env("KEIRIN_CC", compiler.cc())
        .env("KEIRIN_CXX", compiler.cxx())
        .arg(if cpp { "c++" } else { "cc" })
        .arg(if cpp { "-std=gnu++20" } else { "-std=gnu17" })
        .args(["-g", "-O1", "-pthread", "-I"])
        .arg(Path::new(PROGRAMS).join("support"))
        .args(directives.diagnose.as_ref().map(|_| ["--diagnose", "-Wno-pass-failed"]).into_iter().flatten())
        .args((compiler == Compiler::Lean).then_some("--lean"))
        .args(&directives.flags)
        .args(more)
        .arg(source)
        .args(directives.needs.map(Need::flag))
        .arg("-o")
        .arg(&unfinished);
    let output = command.output().map_err(|error| format!("{KEIRIN}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("does not build ({}): {said}", output.status));
    }
    std::fs::rename(&unfinished, target).map_err(|error| format!("{}: {error}", target.display()))
}

/// A name that no other test process and thread has.
pub(super) fn unique() -> String {
    format!("{}-{:?}", std::process::id(), std::thread::current().id()).replace(['(', ')'], "")
}

/// Whether a built file is newer than its source, the headers and keirin, whose runtime is in it.
fn is_fresh(source: &Path, target: &Path) -> bool {
    let time = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let Some(built) = time(target) else { return false };
    let older = |path: &Path| time(path).is_some_and(|changed: SystemTime| changed < built);
    let headers = ["schedule.h", "tbb_tasks.h"].map(|name| Path::new(PROGRAMS).join("support").join(name));
    older(source) && headers.iter().all(|header| older(header)) && older(Path::new(KEIRIN))
}
