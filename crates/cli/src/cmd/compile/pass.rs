//! The compiler pass behind `--branches`, `--diagnose`, `--loops` and `--lean`.
//!
//! It is carried as source (`crates/pass`) and built for the LLVM of the compiler that loads it, since no two versions of LLVM load
//! the same plugin. That takes some seconds, once: the result is kept beside the runtime, in a folder whose name changes with the
//! source and with LLVM. The folder appears at once, by a rename; of many compilers that start at the same time one builds.

use super::Language;
use super::compiler::{Compiler, Make, everywhere, look_up};
use crate::runtime_files::RuntimeFiles;
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first version of LLVM that can load it.
pub(crate) const OLDEST: u32 = 16;

/// Versions that are looked for when no compiler is named, the preferred one first.
const VERSIONS: std::ops::RangeInclusive<u32> = OLDEST..=21;

/// What the pass shall tell.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tells {
    /// What the other sides of branches would do.
    branches: bool,
    /// Values and conditions.
    values: bool,
    loops: bool,
    /// Less: no access that tells nothing new.
    lean: bool,
}

impl Tells {
    /// Takes the options out of the words of a user. No compiler knows them, so they may stand anywhere, among the flags of a
    /// project as well.
    pub(crate) fn take(words: &[OsString]) -> Result<(Self, Vec<OsString>)> {
        let mut tells = Self::default();
        let files = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let mut rest = Vec::new();
        for (index, word) in words.iter().enumerate() {
            match word.to_str() {
                Some("--branches") if index < files => tells.branches = true,
                Some("--diagnose") if index < files => (tells.branches, tells.values) = (true, true),
                Some("--loops") if index < files => tells.loops = true,
                Some("--lean") if index < files => tells.lean = true,
                _ => rest.push(word.clone()),
            }
        }
        if tells.lean && tells != (Self { lean: true, ..Self::default() }) {
            bail!(
                "--lean leaves out accesses, and --branches, --diagnose and --loops tell more about each; choose one"
            );
        }
        Ok((tells, rest))
    }

    pub(crate) fn anything(self) -> bool {
        self != Self::default()
    }

    /// The pass reads from the name of its file what it shall do.
    fn file(self) -> String {
        let words = [
            (self.branches, "-branches"),
            (self.values, "-values"),
            (self.loops, "-loops"),
            (self.lean, "-lean"),
        ];
        let words: String = words.iter().filter(|(asked, _)| *asked).map(|(_, word)| *word).collect();
        format!("pass{words}.so")
    }

    fn all() -> impl Iterator<Item = Self> {
        let more = (1..8).map(|bits| Self {
            branches: bits & 1 != 0,
            values: bits & 2 != 0,
            loops: bits & 4 != 0,
            lean: false,
        });
        more.chain([Self { lean: true, ..Self::default() }])
    }
}

/// The first compiler on PATH that can load the pass, for when the user names none.
pub(crate) fn find_clang(language: Language) -> Option<OsString> {
    let name = match language {
        Language::C => "clang",
        Language::Cxx => "clang++",
    };
    let versions = VERSIONS.rev().map(|version| (Some(version), OsString::from(format!("{name}-{version}"))));
    let plain = std::iter::once((None, OsString::from(name)));
    // With its development files, if there is such a one.
    let found: Vec<_> = versions.chain(plain).filter(|(_, name)| look_up(name).is_some()).collect();
    let ready = found.iter().find(|(version, name)| {
        version.is_some_and(|version| llvm_config(&look_up(name).unwrap_or_default(), version).is_some())
    });
    ready.or(found.first()).map(|(_, name)| name.clone())
}

/// The plugin, built if that was not done before.
pub(crate) fn plugin(compiler: &Compiler, make: Make, tells: Tells, files: &RuntimeFiles) -> Result<PathBuf> {
    let version = version(compiler, make)?;
    let folder = install(compiler, version, files)?;
    Ok(folder.join(tells.file()))
}

/// What there is of the pass for the compiler that would be taken; it is built if that is asked for.
pub(crate) fn state(files: &RuntimeFiles, build: bool) -> Result<String> {
    let compiler = match find_clang(Language::Cxx) {
        Some(name) if !super::is_named(Language::Cxx) => super::named(&name)?,
        _ => super::find(Language::Cxx)?,
    };
    let version = version(&compiler, compiler.make(files.folder().parent())?)?;
    let folder =
        if build { install(&compiler, version, files)? } else { place(&compiler, version, files)?.0 };
    Ok(if is_whole(&folder) {
        format!(
            "the pass for --branches, --diagnose, --loops and --lean is built for {compiler} (LLVM {version})"
        )
    } else {
        format!(
            "the pass for --branches, --diagnose, --loops and --lean can be built for {compiler} (LLVM {version}), at its first use or by \
             keirin doctor --install-pass"
        )
    })
}

/// The version of LLVM that a compiler has.
fn version(compiler: &Compiler, make: Make) -> Result<u32> {
    match make {
        Make::Clang(version) if version >= OLDEST => Ok(version),
        Make::Clang(version) => {
            bail!(
                "{compiler} is clang {version}; --branches, --diagnose, --loops and --lean need clang {OLDEST} or newer"
            )
        }
        _ => bail!(
            "{compiler} cannot load the pass behind --branches, --diagnose, --loops and --lean: it is for clang {OLDEST} or newer \
             (name one with --cc, KEIRIN_CC or KEIRIN_CXX; Debian: apt install clang-19 llvm-19-dev)"
        ),
    }
}

/// The folder of the plugin, and the `llvm-config` it is built with.
fn place(compiler: &Compiler, version: u32, files: &RuntimeFiles) -> Result<(PathBuf, PathBuf)> {
    let binary = compiler.words().iter().rev().find_map(|word| look_up(word)).unwrap_or_default();
    let Some(config) = llvm_config(&binary, version) else {
        bail!(
            "the pass behind --branches, --diagnose, --loops and --lean is built for the LLVM of {compiler}, whose development files \
             are not there (Debian: apt install llvm-{version}-dev)"
        );
    };
    Ok((files.folder().join("passes").join(format!("llvm-{version}-{}", digest(&config)?)), config))
}

/// Builds the plugin for a version of LLVM, unless it is there.
fn install(compiler: &Compiler, version: u32, files: &RuntimeFiles) -> Result<PathBuf> {
    let (folder, config) = place(compiler, version, files)?;
    let built = folder.parent().unwrap_or(&folder);
    if is_whole(&folder) {
        return Ok(folder);
    }
    fs::create_dir_all(built).with_context(|| format!("cannot write to {}", built.display()))?;
    // The others wait, and find it done. Where locks do not work each builds its own.
    let lock = File::create(built.join(".lock")).ok();
    let _waited = lock.as_ref().map(File::lock);
    if is_whole(&folder) {
        return Ok(folder);
    }
    crate::tell(&format!("building the pass for LLVM {version}, once"));
    let partial = tempfile::Builder::new()
        .prefix(".building-")
        .tempdir_in(built)
        .with_context(|| format!("cannot write to {}", built.display()))?;
    fs::set_permissions(partial.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    build(compiler, version, &config, &files.pass(), &partial.path().join(LIBRARY))?;
    for tells in Tells::all() {
        symlink(LIBRARY, partial.path().join(tells.file()))?;
    }
    if let Err(error) = fs::rename(partial.path(), &folder)
        && !is_whole(&folder)
    {
        return Err(error).with_context(|| format!("cannot write {}", folder.display()));
    }
    Ok(folder)
}

/// The plugin itself; the names by which it is loaded are links to it.
const LIBRARY: &str = "plugin.so";

fn is_whole(folder: &Path) -> bool {
    folder.join(LIBRARY).is_file()
}

/// Changes when LLVM does.
fn digest(config: &Path) -> Result<String> {
    let metadata = fs::metadata(config).with_context(|| format!("cannot look at {}", config.display()))?;
    let mut hasher = DefaultHasher::new();
    (config, metadata.len(), metadata.mtime(), metadata.mtime_nsec()).hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

/// The `llvm-config` that belongs to a compiler: beside it, or by its version.
fn llvm_config(compiler: &Path, version: u32) -> Option<PathBuf> {
    let beside = compiler.canonicalize().ok().and_then(|path| Some(path.parent()?.join("llvm-config")));
    let versioned = everywhere(OsStr::new(&format!("llvm-config-{version}")));
    let plain = everywhere(OsStr::new("llvm-config"));
    let all = beside.into_iter().filter(|path| path.is_file()).chain(versioned).chain(plain);
    all.filter_map(|path| path.canonicalize().ok()).find(|path| {
        let said =
            Command::new(path).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
        let major =
            String::from_utf8_lossy(&said).split('.').next().and_then(|word| word.trim().parse().ok());
        major == Some(version)
    })
}

fn build(compiler: &Compiler, version: u32, config: &Path, source: &Path, into: &Path) -> Result<()> {
    let output = Command::new(config)
        .args(["--cppflags"])
        .output()
        .with_context(|| format!("cannot run {}", config.display()))?;
    let flags = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut command = super::started(compiler, Vec::new());
    command.args([
        "-shared",
        "-fPIC",
        "-O1",
        "-std=c++17",
        "-fno-rtti",
        "-fno-exceptions",
        "-fvisibility=hidden",
        "-w",
    ]);
    command.args(flags.split_whitespace()).arg(source).arg("-o").arg(into);
    let output = command.output().with_context(|| format!("cannot run the compiler {compiler}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.contains("error")).unwrap_or("it says nothing");
    let hint = if line.contains("'llvm/") {
        format!("Debian: apt install llvm-{version}-dev")
    } else {
        "Debian: apt install g++".to_owned()
    };
    bail!("{compiler} cannot build the pass: {line} ({hint})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn take(line: &str) -> (Tells, Vec<OsString>) {
        Tells::take(&words(line)).expect("these go together")
    }

    #[test]
    fn options_are_taken_from_anywhere_but_the_names_of_files() {
        let (tells, rest) = take("-O2 --diagnose a.c -o a --loops");
        assert_eq!(tells, Tells { branches: true, values: true, loops: true, lean: false });
        assert_eq!(rest, words("-O2 a.c -o a"));
        let (tells, rest) = take("--branches -- --loops");
        assert_eq!(tells, Tells { branches: true, ..Tells::default() });
        assert_eq!(rest, words("-- --loops"));
        assert_eq!(take("--lean a.c").0, Tells { lean: true, ..Tells::default() });
        assert!(!take("-c a.c").0.anything());
    }

    #[test]
    fn less_and_more_do_not_go_together() {
        assert!(Tells::take(&words("--lean -O2 --loops a.c")).is_err());
        assert!(Tells::take(&words("--lean -- --loops")).is_ok());
    }

    #[test]
    fn each_wish_has_a_file_of_its_own() {
        let mut files: Vec<String> = Tells::all().map(Tells::file).collect();
        assert_eq!(files[2], "pass-branches-values.so");
        files.sort();
        files.dedup();
        assert_eq!(files.len(), 8);
    }
}
