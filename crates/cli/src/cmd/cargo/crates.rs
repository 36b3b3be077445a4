//! Crates that bring their own concurrency: what is compiled in their place.
//!
//! The program's own crate is compiled as it is, with the real `std`, under another file name: it does the work. In its place comes
//! one of ours (`crates/facade`), of the same name and with the same functions and types, that tells what happens. Cargo
//! knows nothing of it, nor do the crates that use it.
//!
//! A version that is not known, or that ours does not fit, stays as it is, and the user is told.

use crate::cmd::Exit;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder with the sources of ours.
pub(super) const SOURCES: &str = "KEIRIN_FACADES";

/// A crate that is replaced.
struct Replaced {
    package: &'static str,
    name: &'static str,
    /// The first and the last known version, without what changes nothing for those who use it.
    known: (Version, Version),
    /// What the user is told if it is another one.
    otherwise: &'static str,
}

type Version = (u64, u64);

const REPLACED: [Replaced; 1] = [Replaced {
    package: "rayon-core",
    name: "rayon_core",
    known: ((1, 12), (1, 13)),
    otherwise: "its workers are watched as threads, and which of its tasks can run in parallel is not known",
}];

/// Crates whose own locks and order mean nothing to the program: queues of rayon's workers, and the memory of those.
const WITH_REAL_STD: [&str; 2] = ["crossbeam_deque", "crossbeam_epoch"];

/// Compiles ours in place of a crate, and the crate beside it, if it is one of those. None: it is to be compiled as it is, with the
/// words that it gets.
pub(super) fn compile(program: &OsStr, words: &mut Vec<OsString>) -> Result<Option<Exit>> {
    let name = value(words, "--crate-name");
    let Some(name) = name.as_deref().and_then(OsStr::to_str) else { return Ok(None) };
    let (package, version) = (std::env::var("CARGO_PKG_NAME"), std::env::var("CARGO_PKG_VERSION"));
    let (package, version) = (package.unwrap_or_default(), version.unwrap_or_default());
    if WITH_REAL_STD.contains(&name) {
        *words = without_our_std(words);
    }
    let Some(replaced) =
        REPLACED.iter().find(|replaced| replaced.name == name && replaced.package == package)
    else {
        return Ok(None);
    };
    let sources = std::env::var_os(SOURCES).filter(|folder| !folder.is_empty());
    // The crate's own tests are about the crate itself.
    let (Some(sources), false) = (sources, words.iter().any(|word| word == "--test")) else {
        return Ok(None);
    };
    if !replaced.knows(&version) {
        replaced.warn(&version, "is not known");
        return Ok(None);
    }
    let Some(calls) = Calls::of(words, &Path::new(&sources).join(name), name) else {
        replaced.warn(&version, "is built in a way that is not known");
        return Ok(None);
    };
    let original = run(program, &calls.original)?;
    if !original.status.success() {
        // The same will happen to the user's own call, which tells it as the user wants it.
        return Ok(None);
    }
    let ours = run(program, &calls.ours)?;
    if !ours.status.success() {
        replaced.warn(&version, "does not fit");
        return Ok(None);
    }
    // Cargo reads it: what was written, and warnings.
    std::io::stderr().write_all(&ours.stderr)?;
    Ok(Some(Exit::Clean))
}

fn run(program: &OsStr, words: &[OsString]) -> Result<Output> {
    let output = Command::new(program).args(words).output();
    output.with_context(|| format!("cannot run {}", program.display()))
}

impl Replaced {
    fn knows(&self, version: &str) -> bool {
        let mut parts = version.split('.').map(str::parse::<u64>);
        let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else { return false };
        (self.known.0..=self.known.1).contains(&(major, minor))
    }

    fn warn(&self, version: &str, why: &str) {
        crate::tell(&format!("warning: {} {version} {why} to keirin: {}", self.package, self.otherwise));
    }
}

/// The calls of the compiler for a crate that is replaced.
#[derive(Debug)]
struct Calls {
    original: Vec<OsString>,
    ours: Vec<OsString>,
}

impl Calls {
    /// None if it is not called as cargo calls it.
    fn of(words: &[OsString], source: &Path, name: &str) -> Option<Self> {
        let text = |word: &OsString| word.to_str().map(str::to_owned);
        let is_source = |word: &str| word.ends_with(".rs") && !word.starts_with('-');
        let out = PathBuf::from(value(words, "--out-dir")?);
        let extra = words.iter().filter_map(text).find_map(|word| {
            Some(word.strip_prefix("-C").unwrap_or(&word).strip_prefix("extra-filename=")?.to_owned())
        })?;
        let links =
            words.iter().filter_map(text).any(|word| word.starts_with("--emit") && word.contains("link"));
        let mut original = Vec::new();
        for word in without_our_std(words) {
            let text = word.to_str().unwrap_or_default();
            let option = text.strip_prefix("-C").unwrap_or(text);
            if ["--error-format", "--json", "--diagnostic-width"].iter().any(|flag| text.starts_with(flag)) {
                // What cargo reads from the compiler is told by the other call.
                continue;
            }
            let renamed = option.starts_with("extra-filename=") || option.starts_with("metadata=");
            original.push(if renamed { format!("{text}-original").into() } else { word });
        }
        original.extend(["--cap-lints", "allow"].map(OsString::from));
        let mut ours = Vec::new();
        let mut sources = 0;
        for word in words {
            let text = word.to_str().unwrap_or_default();
            if is_source(text) {
                sources += 1;
                ours.push(source.join("lib.rs").into_os_string());
            } else if text.starts_with("--edition=") {
                ours.push("--edition=2024".into());
            } else {
                ours.push(word.clone());
            }
        }
        let kind = if links { "rlib" } else { "rmeta" };
        let mut path = OsString::from("keirin_original=");
        path.push(out.join(format!("lib{name}{extra}-original.{kind}")));
        ours.extend(["--extern".into(), path]);
        let mut remapped = OsString::from("--remap-path-prefix=");
        remapped.push(source);
        remapped.push(format!("=/keirin/{name}"));
        ours.push(remapped);
        (sources == 1).then_some(Calls { original, ours })
    }
}

/// The words without our `std`.
fn without_our_std(words: &[OsString]) -> Vec<OsString> {
    let is_std = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with("std="));
    let mut kept = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--extern" && words.peek().is_some_and(|next| is_std(next)) {
            words.next();
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

/// The value of a flag that cargo passes as two words.
fn value(words: &[OsString], flag: &str) -> Option<OsString> {
    let index = words.iter().position(|word| word == flag)?;
    words.get(index + 1).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn line(words: &[OsString]) -> String {
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn a_crate_is_compiled_beside_ours() {
        let called = words(
            "--crate-name rayon_core --edition=2021 /r/src/lib.rs --error-format=json --json=artifacts \
             --crate-type lib --emit=dep-info,metadata,link -C metadata=12 -C extra-filename=-34 --out-dir /o \
             --extern a=/o/a.rmeta --extern std=/k/libstd.rlib",
        );
        let calls = Calls::of(&called, Path::new("/k/rayon_core"), "rayon_core").unwrap();
        assert_eq!(
            line(&calls.original),
            "--crate-name rayon_core --edition=2021 /r/src/lib.rs --crate-type lib --emit=dep-info,metadata,link \
             -C metadata=12-original -C extra-filename=-34-original --out-dir /o --extern a=/o/a.rmeta --cap-lints allow"
        );
        assert_eq!(
            line(&calls.ours),
            "--crate-name rayon_core --edition=2024 /k/rayon_core/lib.rs --error-format=json --json=artifacts \
             --crate-type lib --emit=dep-info,metadata,link -C metadata=12 -C extra-filename=-34 --out-dir /o \
             --extern a=/o/a.rmeta --extern std=/k/libstd.rlib \
             --extern keirin_original=/o/librayon_core-34-original.rlib --remap-path-prefix=/k/rayon_core=/keirin/rayon_core"
        );
        assert!(
            Calls::of(&words("--crate-name rayon_core src/lib.rs"), Path::new("/k"), "rayon_core").is_none()
        );
    }

    #[test]
    fn only_known_versions_are_replaced() {
        for (version, known) in [
            ("1.12.0", true),
            ("1.13.7", true),
            ("1.11.0", false),
            ("1.14.0-alpha", false),
            ("2.0.0", false),
            ("", false),
        ] {
            assert_eq!(REPLACED[0].knows(version), known, "{version}");
        }
    }
}
