//! The compiler behind keirin: which one it is, and what it can do.

use super::Language;
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Who made a compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Make {
    /// gcc, with its main version.
    Gcc(u32),
    /// clang, with its main version.
    Clang(u32),
    /// One of them, but it makes programs for another kind of machine.
    Foreign,
    /// Something else.
    Other,
}

impl Make {
    pub(crate) fn is_clang(self) -> bool {
        matches!(self, Make::Clang(_))
    }

    /// True if it can tell the read of `a += 1`.
    pub(crate) fn knows_read_before_write(self) -> bool {
        matches!(self, Make::Clang(version) if version >= 12)
    }

    /// True if keirin was tried with it.
    pub(crate) fn is_tried(self) -> bool {
        match self {
            Make::Gcc(version) => version >= 12,
            Make::Clang(version) => (14..=19).contains(&version),
            Make::Foreign | Make::Other => false,
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (name, version) = (words.next()?, words.next().and_then(|word| word.parse().ok()));
        match (name, version) {
            ("gcc", Some(version)) => Some(Make::Gcc(version)),
            ("clang", Some(version)) => Some(Make::Clang(version)),
            ("foreign", _) => Some(Make::Foreign),
            ("other", _) => Some(Make::Other),
            _ => None,
        }
    }
}

impl fmt::Display for Make {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Make::Gcc(version) => write!(out, "gcc {version}"),
            Make::Clang(version) => write!(out, "clang {version}"),
            Make::Foreign => write!(out, "foreign"),
            Make::Other => write!(out, "other"),
        }
    }
}

/// How to start a compiler. More than one word: something in front of it, as in `ccache gcc`.
#[derive(Clone, Debug)]
pub(crate) struct Compiler(Vec<OsString>);

impl fmt::Display for Compiler {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(|word| word.to_string_lossy()).collect();
        write!(out, "{}", words.join(" "))
    }
}

impl Compiler {
    pub(crate) fn words(&self) -> &[OsString] {
        &self.0
    }

    /// Finds out who made it. That takes longer than many a compilation, so it is remembered in a folder.
    pub(crate) fn make(&self, cache: Option<&Path>) -> Result<Make> {
        let file = cache.map(|folder| folder.join("compilers").join(self.digest()));
        let known = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        if let Some(make) = known.as_deref().and_then(Make::of_text) {
            return Ok(make);
        }
        let make = self.ask()?;
        if let Some(file) = file {
            // If it cannot be written it is asked again the next time.
            let _ = remember(&file, &make.to_string());
        }
        Ok(make)
    }

    /// The compiler tells by the macros that it defines.
    fn ask(&self) -> Result<Make> {
        let output = Command::new(&self.0[0])
            .args(&self.0[1..])
            .args(["-dM", "-E", "-x", "c", "-"])
            .env(super::COMPILING, self.to_string())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run the compiler {self}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if let Some(line) = said.lines().find(|line| line.contains("is keirin again")) {
            bail!("{}", line.trim_start_matches("keirin: error: "));
        }
        let macros = String::from_utf8_lossy(&output.stdout);
        let value = |name: &str| {
            macros.lines().find_map(|line| {
                let mut words = line.strip_prefix("#define ")?.split_whitespace();
                (words.next()? == name).then(|| words.next().unwrap_or_default().to_owned())
            })
        };
        let number = |name: &str| value(name).and_then(|value| value.parse().ok());
        let ours =
            value("__x86_64__").is_some() && value("__linux__").is_some() && value("__ILP32__").is_none();
        Ok(match (number("__clang_major__"), number("__GNUC__")) {
            (None, None) => Make::Other,
            _ if !ours => Make::Foreign,
            (Some(version), _) => Make::Clang(version),
            (None, Some(version)) => Make::Gcc(version),
        })
    }

    /// Changes when the compiler does.
    fn digest(&self) -> String {
        let mut hasher = DefaultHasher::new();
        for word in &self.0 {
            word.hash(&mut hasher);
            let file = look_up(word).and_then(|path| path.canonicalize().ok());
            if let Some(metadata) = file.as_ref().and_then(|file| fs::metadata(file).ok()) {
                (file, metadata.len(), metadata.mtime(), metadata.mtime_nsec()).hash(&mut hasher);
            }
        }
        format!("{:016x}", hasher.finish())
    }
}

fn remember(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut partial = tempfile::NamedTempFile::new_in(folder)?;
    partial.write_all(text.as_bytes())?;
    partial.persist(file)?;
    Ok(())
}

/// The compiler that a user names.
pub(crate) fn named(name: &OsStr) -> Result<Compiler> {
    // A name with blanks is a file, or a command with something in front.
    let words: Vec<OsString> = match name.to_str() {
        Some(text) if look_up(name).is_none() => text.split_whitespace().map(OsString::from).collect(),
        _ => vec![name.to_owned()],
    };
    let Some(first) = words.first() else { bail!("the name of the compiler is empty") };
    match look_up(first) {
        None => bail!("there is no compiler `{}` on PATH", first.display()),
        Some(path) if is_keirin(&path) => {
            bail!("the compiler `{}` is keirin itself; name the real one", name.display())
        }
        Some(_) => Ok(Compiler(words)),
    }
}

/// The variable that names a compiler, and its value.
fn of_environment(language: Language) -> (&'static str, Option<OsString>) {
    let variable = match language {
        Language::C => "KEIRIN_CC",
        Language::Cxx => "KEIRIN_CXX",
    };
    (variable, std::env::var_os(variable).filter(|name| !name.is_empty()))
}

/// True if the environment names a compiler.
pub(crate) fn is_named(language: Language) -> bool {
    of_environment(language).1.is_some()
}

/// The compiler of the environment, or the first one that is found.
pub(crate) fn find(language: Language) -> Result<Compiler> {
    let (names, package) = match language {
        Language::C => (["cc", "gcc", "clang"], "gcc"),
        Language::Cxx => (["c++", "g++", "clang++"], "g++"),
    };
    if let (variable, Some(name)) = of_environment(language) {
        return named(&name).with_context(|| format!("{variable} is wrong"));
    }
    for name in names {
        if let Some(path) = everywhere(OsStr::new(name)).into_iter().find(|path| !is_keirin(path)) {
            return Ok(Compiler(vec![path.into_os_string()]));
        }
    }
    bail!("there is no compiler on PATH ({}); on Debian: apt install {package}", names.join(", "))
}

/// Where a command is.
pub(crate) fn look_up(name: &OsStr) -> Option<PathBuf> {
    everywhere(name).into_iter().next()
}

/// All places on PATH where a command is, in order.
pub(super) fn everywhere(name: &OsStr) -> Vec<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return is_program(path).then(|| path.to_owned()).into_iter().collect();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(path)).filter(|path| is_program(path)).collect()
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn is_keirin(path: &Path) -> bool {
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    matches!((own, path.canonicalize()), (Ok(own), Ok(path)) if own == path)
}
