//! `--races`: the calls of the thread sanitizer in all code of a program, with our runtime behind them.
//!
//! The compiler puts them into the crates of the program if it is asked by flags that are not stable yet; it is allowed to take
//! them by a variable of its environment that is set for these calls alone. Rust's own library comes without the calls. It
//! carries its bitcode inside, though, and the compiler its LLVM: so a copy of the library is made that has those of atomic
//! operations (`crates/facade/instrument`), once for each compiler. Then all that orders threads is seen where it happens, in locks
//! and channels, and our `std` is not needed.
//!
//! If no such copy can be made the user is told. Our `std` then tells what the library orders, and what the library does to memory
//! for itself is not seen.

use super::toolchain::Toolchain;
use crate::runtime_files::RuntimeFiles;
use anyhow::{Context, Result, bail};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The words that are added to each call of the compiler, for keirin in its place.
const WORDS: &str = "KEIRIN_SANITIZER";
/// Between the words.
const SEPARATOR: u8 = 0x1f;

/// Lets a compiler take flags that are not stable.
pub(super) const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// The sanitizer's calls, and no runtime. What is read and then written is told as written: races of the read are races of the write.
const FLAGS: [&str; 2] = ["-Zsanitizer=thread", "-Zexternal-clangrt"];
/// The library was not compiled so; newer compilers ask whether that is known.
const MIXED: &str = "-Cunsafe-allow-abi-mismatch=sanitizer";
/// Functions that the library has for common types come without the calls: they are made again in each crate.
pub(super) const NOT_SHARED: &str = "-Zshare-generics=no";

/// A crate that is optimized is compiled as one unit. Of several units the compiler would inline functions into each other once more after
/// the calls were put in: functions with calls into functions with calls, so that one is entered and left where another runs, and
/// the open calls are lost count of. And what is inlined before has fewer calls: it is not told that it is entered, and accesses become one.
pub(super) const ONE_UNIT: &str = "-Ccodegen-units=1";

/// The libraries that get the calls. The others are for the unwinding and the naming of calls.
const LIBRARIES: [&str; 6] = ["std", "core", "alloc", "hashbrown", "std_detect", "test"];
/// Where a member of a library carries its bitcode.
const BITCODE: &str = ".llvmbc";

/// A program that uses what must work.
const TRIAL: &str = r#"
fn main() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || sender.send(vec![1u64; 4]).unwrap());
    let sum: u64 = receiver.iter().flatten().sum();
    thread.join().unwrap();
    println!("{sum}");
}
"#;

/// How the programs of a toolchain get the sanitizer's calls.
#[derive(Debug)]
pub(super) struct Sanitizer {
    words: Vec<OsString>,
    library: bool,
}

impl Sanitizer {
    /// Finds out, and makes what is needed. What cannot be had is told.
    pub(super) fn prepare(toolchain: &Toolchain, files: &RuntimeFiles) -> Result<Self> {
        match library(toolchain, files) {
            Ok(sysroot) => {
                let mut words = own_words(toolchain, files, Some(&sysroot))?;
                words.extend(["--sysroot".into(), sysroot.into_os_string()]);
                Ok(Sanitizer { words, library: true })
            }
            Err(error) => {
                let mut words = own_words(toolchain, files, None)?;
                crate::tell(&format!(
                    "warning: the library of Rust {} cannot be watched ({error:#}): what it does to \
                     memory for itself is not seen",
                    toolchain.release()
                ));
                words.push(NOT_SHARED.into());
                Ok(Sanitizer { words, library: false })
            }
        }
    }

    /// True if Rust's own library has the calls as well.
    pub(super) fn has_library(&self) -> bool {
        self.library
    }

    /// Has keirin, in place of the compiler, add the words.
    pub(super) fn set(&self, command: &mut Command) {
        let words: Vec<&[u8]> = self.words.iter().map(|word| word.as_bytes()).collect();
        command.env(WORDS, OsString::from_vec(words.join(&SEPARATOR)));
    }
}

/// The words that [`Sanitizer::set`] has set; none if races are not looked for.
pub(super) fn words() -> Option<Vec<OsString>> {
    let text = std::env::var_os(WORDS).filter(|text| !text.is_empty())?;
    Some(
        text.as_bytes().split(|byte| *byte == SEPARATOR).map(|word| OsStr::from_bytes(word).into()).collect(),
    )
}

/// True for a word by which the compiler puts the calls in.
pub(super) fn puts_calls(word: &OsStr) -> bool {
    FLAGS.iter().any(|flag| word == *flag)
}

/// Takes the words out of an environment that is not meant to have them.
pub(super) fn unset(command: &mut Command) {
    command.env_remove(WORDS);
}

/// True for an option that would optimize the program as a whole: for that the compiler takes the library's bitcode, not what
/// was made of it.
pub(super) fn is_whole_program(option: &str) -> bool {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    matches!(name, "lto" | "linker-plugin-lto")
}

/// The flags that the compiler takes: a program that is built by them runs.
fn own_words(toolchain: &Toolchain, files: &RuntimeFiles, sysroot: Option<&Path>) -> Result<Vec<OsString>> {
    let mut last = None;
    for mixed in [Some(MIXED), None] {
        let words: Vec<OsString> = FLAGS.into_iter().chain(mixed).map(OsString::from).collect();
        if sysroot.is_some_and(|sysroot| sysroot.join(tried(mixed)).exists()) {
            return Ok(words);
        }
        match try_words(toolchain, files, &words, sysroot) {
            Ok(()) => {
                if let Some(sysroot) = sysroot {
                    // The next time it is known.
                    let _ = fs::write(sysroot.join(tried(mixed)), "");
                }
                return Ok(words);
            }
            Err(error) => last = last.or(Some(error)),
        }
    }
    let context = format!(
        "Rust {} does not build programs that tell their memory accesses; cargo keirin without --races does not need that",
        toolchain.release()
    );
    Err(last.unwrap_or_else(|| anyhow::anyhow!("no flags")).context(context))
}

/// The name of the file that says which flags are known to work.
fn tried(mixed: Option<&str>) -> &'static str {
    if mixed.is_some() { "tried-mixed" } else { "tried" }
}

/// Builds a program by these flags and runs it.
fn try_words(
    toolchain: &Toolchain,
    files: &RuntimeFiles,
    words: &[OsString],
    sysroot: Option<&Path>,
) -> Result<()> {
    let place = tempfile::tempdir_in(files.folder()).context("no place to try a program")?;
    let (source, program) = (place.path().join("trial.rs"), place.path().join("trial"));
    fs::write(&source, TRIAL)?;
    let mut command = toolchain.command();
    command.args(["--edition", "2021", "--target", toolchain.host()]).args(words).env(UNSTABLE.0, UNSTABLE.1);
    if let Some(sysroot) = sysroot {
        command.arg("--sysroot").arg(sysroot);
    }
    command.arg(super::wrapper::join("-Clink-arg=", &files.object())).arg("-o").arg(&program).arg(source);
    printed(&mut command)?;
    let output = printed(Command::new(&program).env_remove("KEIRIN_RUNTIME"))?;
    if output.trim() != "4" {
        bail!("a program built for a trial does something else");
    }
    Ok(())
}

/// A copy of the compiler's own folder whose library has the sanitizer's calls. Several may make it at the same time.
fn library(toolchain: &Toolchain, files: &RuntimeFiles) -> Result<PathBuf> {
    let original = printed(toolchain.command().args(["--print", "sysroot"]))?;
    let original = PathBuf::from(original.trim_end_matches('\n'));
    let mut hasher = DefaultHasher::new();
    // The copy leads to the original.
    original.hash(&mut hasher);
    let name = format!("library-{}-{:016x}", toolchain.digest(), hasher.finish());
    let folder = files.folder().join(name);
    if folder.exists() {
        return Ok(folder);
    }
    let place = tempfile::Builder::new().prefix(".library-").tempdir_in(files.folder())?;
    make_library(toolchain, files, &original, &place)?;
    fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let place = place.keep();
    if fs::rename(&place, &folder).is_err() {
        // Another one was faster.
        fs::remove_dir_all(&place)?;
    }
    Ok(folder)
}

fn make_library(toolchain: &Toolchain, files: &RuntimeFiles, original: &Path, place: &TempDir) -> Result<()> {
    let libraries = Path::new("lib/rustlib").join(toolchain.host()).join("lib");
    link_all(original, place.path(), &libraries)?;
    crate::tell(&format!("the library of Rust {} is made ready to be watched, once", toolchain.release()));
    let work = tempfile::tempdir_in(files.folder())?;
    let program = work.path().join("instrument");
    compile_instrumenter(toolchain, files, original, &program)?;
    let folder = place.path().join(libraries);
    let mut found = 0;
    for name in LIBRARIES {
        for library in libraries_of(&folder, name)? {
            let members = work.path().join(name);
            instrument(&program, &library, &members)?;
            found += 1;
        }
    }
    if found < LIBRARIES.len() / 2 {
        bail!("there is no library in {}", folder.display());
    }
    Ok(())
}

/// Compiles the program that puts calls into bitcode, against the LLVM of the compiler.
fn compile_instrumenter(
    toolchain: &Toolchain,
    files: &RuntimeFiles,
    original: &Path,
    program: &Path,
) -> Result<()> {
    let folder = original.join("lib");
    let llvm = entries(&folder)?
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"libLLVM")))
        // The others lead to it.
        .max_by_key(|path| fs::metadata(path).map_or(0, |file| file.len()))
        .with_context(|| format!("there is no LLVM in {}", folder.display()))?;
    let mut command = toolchain.command();
    command.args(["--edition", "2024", "--crate-name", "instrument", "--cap-lints", "allow"]);
    command.arg(super::wrapper::join("-Clink-arg=", &llvm));
    command.arg(super::wrapper::join("-Clink-arg=-Wl,-rpath,", &folder));
    printed(command.arg("-o").arg(program).arg(files.instrumenter())).map(drop)
}

/// The libraries of a name: `libNAME-….rlib`.
fn libraries_of(folder: &Path, name: &str) -> Result<Vec<PathBuf>> {
    let is_one = |path: &PathBuf| {
        let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let rest = file.strip_prefix("lib").and_then(|file| file.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with('-') && rest.ends_with(".rlib"))
    };
    Ok(entries(folder)?.into_iter().filter(is_one).collect())
}

/// Replaces a link to a library by a copy whose code has the calls. What the compiler reads in it stays as it is.
fn instrument(program: &Path, library: &Path, work: &Path) -> Result<()> {
    fs::create_dir(work)?;
    let bytes = fs::read(library).with_context(|| format!("cannot read {}", library.display()))?;
    let not_read = || format!("{} is not understood", library.display());
    let archive = ArchiveFile::parse(&*bytes).with_context(not_read)?;
    let mut members: Vec<PathBuf> = Vec::new();
    let mut calls = Command::new(program);
    let mut has_code = false;
    for member in archive.members() {
        let member = member.with_context(not_read)?;
        let data = member.data(&*bytes).with_context(not_read)?;
        let name = Path::new(OsStr::from_bytes(member.name()));
        let path = work.join(name.file_name().with_context(not_read)?);
        match bitcode(data) {
            Some(bitcode) => {
                let input = path.with_added_extension("bc");
                fs::write(&input, bitcode)?;
                calls.arg(input).arg(&path);
                has_code = true;
            }
            None => fs::write(&path, data)?,
        }
        members.push(path);
    }
    if !has_code {
        bail!("{} carries no bitcode", library.display());
    }
    printed(&mut calls)?;
    fs::remove_file(library)?;
    printed(Command::new("ar").arg("rcs").arg(library).args(members)).map(drop)
}

/// The bitcode that an object carries.
fn bitcode(data: &[u8]) -> Option<&[u8]> {
    let file = object::File::parse(data).ok()?;
    file.section_by_name(BITCODE)?.data().ok().filter(|bitcode| !bitcode.is_empty())
}

/// Makes a folder with a link to everything in another one; along a path the folders are real ones.
fn link_all(from: &Path, to: &Path, along: &Path) -> Result<()> {
    let mut next = along.components();
    let next = (next.next(), next.as_path());
    fs::create_dir_all(to)?;
    for path in entries(from)? {
        let name = path.file_name().unwrap_or_default();
        let target = to.join(name);
        match next {
            (Some(inner), rest) if inner.as_os_str() == name => link_all(&path, &target, rest)?,
            _ => symlink(&path, &target).with_context(|| format!("cannot make {}", target.display()))?,
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    read().with_context(|| format!("cannot read {}", folder.display()))
}

/// What a command prints. What it says when it fails is the error.
fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it does not say why").trim();
        bail!("{name} has failed: {line}");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_linked_and_real_along_a_path() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("lib/host/lib")).unwrap();
        for file in ["bin", "lib/driver", "lib/host/lib/libstd-1.rlib", "lib/host/lib/libstd_detect-2.rlib"] {
            fs::write(from.join(file), file).unwrap();
        }
        link_all(&from, &to, Path::new("lib/host/lib")).unwrap();
        assert!(to.join("bin").is_symlink() && to.join("lib/driver").is_symlink());
        assert!(!to.join("lib/host").is_symlink() && !to.join("lib/host/lib").is_symlink());
        let library = to.join("lib/host/lib/libstd-1.rlib");
        assert!(library.is_symlink());
        assert_eq!(libraries_of(&to.join("lib/host/lib"), "std").unwrap(), [library]);
    }

    #[test]
    fn a_library_without_bitcode_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let library = place.path().join("libstd-1.rlib");
        for (content, says) in [(&b"!<arch>\n"[..], "carries no bitcode"), (b"text", "is not understood")] {
            fs::write(&library, content).unwrap();
            let work = tempfile::tempdir_in(place.path()).unwrap();
            let error = instrument(Path::new("none"), &library, &work.path().join("std")).unwrap_err();
            assert!(error.to_string().contains(says), "{error:#}");
            assert_eq!(fs::read(&library).unwrap(), content, "it stays as it is");
        }
    }

    #[test]
    fn words_that_put_calls_in_are_known() {
        assert!(FLAGS.iter().all(|flag| puts_calls(OsStr::new(flag))));
        // What crates without calls need to go together with the others.
        assert!(!puts_calls(OsStr::new(MIXED)) && !puts_calls(OsStr::new("--sysroot")));
    }

    #[test]
    fn what_optimizes_the_whole_program_is_known() {
        assert!(["lto", "lto=fat", "linker-plugin-lto"].into_iter().all(is_whole_program));
        assert!(!["embed-bitcode=no", "opt-level=3"].into_iter().any(is_whole_program));
    }
}
