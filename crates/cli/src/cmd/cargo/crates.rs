//! Crates that bring their own concurrency: what is compiled in their place.
//!
//! Either the program's own crate is compiled as it is, with the real `std`, under another file name, where it does the work; in its
//! place comes one of ours (`crates/facade`), of the same name and with the same functions and types, that tells what happens. Or the
//! crate is compiled from a changed copy of its own source ([`amend`]). Cargo knows nothing of it, nor do the crates that use it.
//!
//! A version that is not known, or that ours does not fit, stays as it is, and the user is told.

use super::amend::{self, Amendment};
use super::sanitizer;
use crate::cmd::Exit;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a crate without the sanitizer's calls copies, functions of the C library must not copy, which tell it.
const OPTIMIZED: &str = "-Copt-level=3";

/// The condition for ours with `--races`.
const RACES: &str = "keirin_races";

/// The folder with the sources of ours.
pub(super) const SOURCES: &str = "KEIRIN_FACADES";

/// A crate that is replaced.
struct Replaced {
    package: &'static str,
    name: &'static str,
    /// The first and the last known version, without what changes nothing for those who use it.
    known: (Version, Version),
    by: By,
    /// What the user is told if it is another one.
    otherwise: &'static str,
}

/// What takes the place of a crate.
enum By {
    /// One of ours, that calls it.
    Facade,
    /// Its own source, changed.
    Amended(&'static Amendment),
}

type Version = (u64, u64);

const REPLACED: [Replaced; 7] = [
    Replaced {
        package: "rayon-core",
        name: "rayon_core",
        known: ((1, 12), (1, 13)),
        by: By::Facade,
        otherwise: "its workers are watched as threads, and which of its tasks can run in parallel is not known",
    },
    Replaced {
        package: "lock_api",
        name: "lock_api",
        known: ((0, 4), (0, 4)),
        by: By::Amended(&amend::LOCK_API),
        otherwise: "its locks are not watched",
    },
    Replaced {
        package: "parking_lot",
        name: "parking_lot",
        known: ((0, 11), (0, 12)),
        by: By::Amended(&amend::PARKING_LOT),
        otherwise: "its conditions are not watched",
    },
    Replaced {
        package: "crossbeam-channel",
        name: "crossbeam_channel",
        known: ((0, 5), (0, 5)),
        by: By::Amended(&amend::CROSSBEAM_CHANNEL),
        otherwise: "what its channels order is not known",
    },
    Replaced {
        package: "crossbeam-utils",
        name: "crossbeam_utils",
        known: ((0, 8), (0, 8)),
        by: By::Amended(&amend::CROSSBEAM_UTILS),
        otherwise: "what WaitGroup and Parker order is not known",
    },
    Replaced {
        package: "dashmap",
        name: "dashmap",
        known: ((5, 0), (6, u64::MAX)),
        by: By::Amended(&amend::DASHMAP),
        otherwise: "some gaps between calls of it are not found",
    },
    Replaced {
        package: "tokio",
        name: "tokio",
        known: ((1, 47), (1, 54)),
        by: By::Amended(&amend::TOKIO),
        otherwise: "its tasks are seen as what the threads do that run them, and its locks and channels are not watched",
    },
];

/// Crates whose own locks and order mean nothing to the program: queues of rayon's workers, and the memory of those.
const WITH_REAL_STD: [&str; 2] = ["crossbeam_deque", "crossbeam_epoch"];

/// Compiles ours in place of a crate, and the crate beside it, if it is one of those. None: it is to be compiled as it is, with the
/// words that it gets. `told`: these have the sanitizer's calls put in. What most crates do is seen by those; of the others none has such
/// calls, neither ours nor the one beside it.
pub(super) fn compile(program: &OsStr, words: &mut Vec<OsString>, told: bool) -> Result<Option<Exit>> {
    let name = value(words, "--crate-name");
    let Some(name) = name.as_deref().and_then(OsStr::to_str) else { return Ok(None) };
    let (package, version) = (std::env::var("CARGO_PKG_NAME"), std::env::var("CARGO_PKG_VERSION"));
    let (package, version) = (package.unwrap_or_default(), version.unwrap_or_default());
    if !told && WITH_REAL_STD.contains(&name) {
        *words = without_our_std(words);
    }
    let Some(replaced) =
        REPLACED.iter().find(|replaced| replaced.name == name && replaced.package == package)
    else {
        return Ok(None);
    };
    let sources = std::env::var_os(SOURCES).filter(|folder| !folder.is_empty());
    let Some(sources) = sources else { return Ok(None) };
    if matches!(replaced.by, By::Facade) && words.iter().any(|word| word == "--test") {
        // The crate's own tests are about the crate itself.
        return Ok(None);
    }
    if told {
        return match replaced.by {
            By::Facade if replaced.knows(&version) => {
                let mut words: Vec<OsString> =
                    words.iter().filter(|word| !sanitizer::puts_calls(word)).cloned().collect();
                words.extend(["--cfg", RACES, sanitizer::NOT_SHARED, OPTIMIZED].map(OsString::from));
                let source = Path::new(&sources).join(name);
                // Else it has the calls as all others.
                let ours = beside(program, &words, &source, name)?.filter(|ours| ours.status.success());
                ours.map(|ours| finished(&ours)).transpose()
            }
            _ => Ok(None),
        };
    }
    if !replaced.knows(&version) {
        replaced.warn(&version, "is not known");
        return Ok(None);
    }
    let ours = match replaced.by {
        By::Facade => beside(program, words, &Path::new(&sources).join(name), name)?,
        By::Amended(amendment) => {
            amended(program, words, (amendment, &Path::new(&sources).join(name)), name)?
        }
    };
    let Some(ours) = ours else {
        replaced.warn(&version, "is built in a way that is not known");
        return Ok(None);
    };
    if !ours.status.success() {
        replaced.warn(&version, "does not fit");
        return Ok(None);
    }
    finished(&ours).map(Some)
}

/// Cargo reads what was told: what was written, and warnings.
fn finished(ours: &Output) -> Result<Exit> {
    std::io::stderr().write_all(&ours.stderr)?;
    Ok(Exit::Clean)
}

/// Compiles a crate and ours in front of it.
fn beside(program: &OsStr, words: &[OsString], source: &Path, name: &str) -> Result<Option<Output>> {
    let Some(calls) = Calls::of(words, source, name) else { return Ok(None) };
    let original = run(program, &calls.original)?;
    // If it does not compile, the same will happen to the user's own call, which tells it as the user wants it.
    Ok(Some(if original.status.success() { run(program, &calls.ours)? } else { original }))
}

/// Compiles a crate from its changed source.
fn amended(
    program: &OsStr,
    words: &[OsString],
    (amendment, ours): (&Amendment, &Path),
    name: &str,
) -> Result<Option<Output>> {
    let Some(file) = words.iter().find(|word| is_source(word)).map(Path::new) else { return Ok(None) };
    let (Some(out), Some(source)) = (value(words, "--out-dir"), file.parent()) else { return Ok(None) };
    let extra = extra_name(words).unwrap_or_default();
    let folder = Path::new(&out).join(format!("{name}{extra}-told"));
    let changed = amendment.write(source, ours, &folder);
    if !changed.is_ok_and(|known| known) {
        return Ok(None);
    }
    // Who works on the crate itself wants to see it.
    let hidden = amendment.hidden && std::env::var_os("CARGO_PRIMARY_PACKAGE").is_none();
    let called = if hidden { own_folder(name) } else { source.to_owned() };
    let words = if amendment.real_std { without_our_std(words) } else { words.to_vec() };
    let output = run(program, &from_source(&words, &folder, &called))?;
    let list = Path::new(&out).join(format!("{name}{extra}.d"));
    if let Ok(text) = std::fs::read_to_string(&list) {
        std::fs::write(&list, with_source(&text, &folder, source))?;
    }
    Ok(Some(output))
}

/// What cargo adds to the names of the files of a crate, so that there is one for each way to build it.
fn extra_name(words: &[OsString]) -> Option<String> {
    words.iter().filter_map(|word| word.to_str()).find_map(|word| {
        Some(word.strip_prefix("-C").unwrap_or(word).strip_prefix("extra-filename=")?.to_owned())
    })
}

fn is_source(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| word.ends_with(".rs") && !word.starts_with('-'))
}

/// The list of files that a crate was made of, by which cargo finds out whether it is up to date: those that were changed, and not the
/// copies.
fn with_source(list: &str, copy: &Path, source: &Path) -> String {
    let (copy, source) = (copy.to_string_lossy(), source.to_string_lossy());
    let own = format!("{copy}/told.rs");
    let lines = list.lines().filter(|line| !line.starts_with(&own));
    lines.map(|line| line.replace(&format!(" {own}"), "").replace(&*copy, &source) + "\n").collect()
}

/// What folder the source of ours is called in what is told of it.
fn own_folder(name: &str) -> PathBuf {
    Path::new("/keirin").join(name)
}

/// The words for a crate whose source is in another folder, which is called so in what is told of it.
fn from_source(words: &[OsString], source: &Path, called: &Path) -> Vec<OsString> {
    let of_word = |word: &OsString| match is_source(word) {
        true => source.join("lib.rs").into_os_string(),
        false => word.clone(),
    };
    let mut changed: Vec<OsString> = words.iter().map(of_word).collect();
    let mut remapped = OsString::from("--remap-path-prefix=");
    remapped.push(source);
    remapped.push("=");
    remapped.push(called);
    changed.push(remapped);
    changed
}

fn run(program: &OsStr, words: &[OsString]) -> Result<Output> {
    let mut command = Command::new(program);
    if sanitizer::words().is_some() {
        command.env(sanitizer::UNSTABLE.0, sanitizer::UNSTABLE.1);
    }
    let output = command.args(words).output();
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
        let out = PathBuf::from(value(words, "--out-dir")?);
        let extra = extra_name(words)?;
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
        let kind = if links { "rlib" } else { "rmeta" };
        let mut path = OsString::from("keirin_original=");
        path.push(out.join(format!("lib{name}{extra}-original.{kind}")));
        let mut ours = from_source(words, source, &own_folder(name));
        for word in
            ours.iter_mut().filter(|word| word.to_str().is_some_and(|word| word.starts_with("--edition=")))
        {
            *word = "--edition=2024".into();
        }
        ours.extend(["--extern".into(), path]);
        let sources = words.iter().filter(|word| is_source(word)).count();
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
             --extern a=/o/a.rmeta --extern std=/k/libstd.rlib --remap-path-prefix=/k/rayon_core=/keirin/rayon_core \
             --extern keirin_original=/o/librayon_core-34-original.rlib"
        );
        assert!(
            Calls::of(&words("--crate-name rayon_core src/lib.rs"), Path::new("/k"), "rayon_core").is_none()
        );
    }

    #[test]
    fn cargo_looks_at_the_source_that_was_changed() {
        let list = "/o/a.d: /o/a-told/lib.rs /o/a-told/told.rs /o/a-told/b.rs\n\n/o/a-told/lib.rs:\n/o/a-told/told.rs:\n";
        assert_eq!(
            with_source(list, Path::new("/o/a-told"), Path::new("/r/a/src")),
            "/o/a.d: /r/a/src/lib.rs /r/a/src/b.rs\n\n/r/a/src/lib.rs:\n"
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
