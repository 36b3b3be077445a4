//! keirin in place of the compiler: what cargo asks the compiler to do, with our `std` in it and the runtime.
//!
//! Cargo calls a wrapper by its name only, so keirin is called through a link whose name says what is asked for. Only what is
//! built for a target is changed. Build scripts, macros and what they need have none: they run while the program is built.

use super::crates;
use super::sanitizer::{self, Sanitizer};
use super::toolchain::Toolchain;
use crate::runtime_files::RuntimeFiles;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names of keirin as the compiler and as the documentation tool, which compiles examples.
const COMPILER: &str = "keirin-rustc";
const DOCUMENTATION: &str = "keirin-rustdoc";

/// The folder of our `std`; not set if there is none.
const FACADE: &str = "KEIRIN_STD";
/// The runtime and the list of its hooks.
const OBJECT: &str = "KEIRIN_OBJECT";
const HOOKS: &str = "KEIRIN_HOOKS";
/// The documentation tool in whose place we are called.
const REAL_DOCUMENTATION: &str = "KEIRIN_RUSTDOC";

/// Which tool keirin is called in place of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    /// The compiler, whose name is the first argument.
    Compiler,
    /// The documentation tool.
    Documentation,
}

/// The tool that keirin is called in place of, if the name by which it is called says so.
pub(crate) fn asked(words: &[OsString]) -> Option<(Tool, &[OsString])> {
    let (name, rest) = words.split_first()?;
    match Path::new(name).file_name()?.to_str()? {
        COMPILER => Some((Tool::Compiler, rest)),
        DOCUMENTATION => Some((Tool::Documentation, rest)),
        _ => None,
    }
}

impl Tool {
    /// Goes on as the real tool. Returns only if that cannot be run.
    pub(crate) fn run(self, words: &[OsString]) -> Result<crate::cmd::Exit> {
        let real = std::env::var_os(REAL_DOCUMENTATION).unwrap_or_else(|| "rustdoc".into());
        let (program, words) = match (self, words.split_first()) {
            (Tool::Compiler, Some((program, words))) => (program, words),
            (Tool::Compiler, None) => return Ok(crate::cmd::Exit::Usage),
            (Tool::Documentation, _) => (&real, words),
        };
        let mut command = Command::new(program);
        match Additions::of(self, words) {
            Some(additions) => {
                let sanitizer = sanitizer::words();
                let is_sanitized = sanitizer.is_some();
                let kept = kept(words, is_sanitized).into_iter().cloned();
                let mut words: Vec<OsString> = kept.chain(additions.words(sanitizer)).collect();
                if is_sanitized {
                    command.env(sanitizer::UNSTABLE.0, sanitizer::UNSTABLE.1);
                }
                if self == Tool::Compiler
                    && let Some(exit) = crates::compile(program, &mut words, is_sanitized)?
                {
                    return Ok(exit);
                }
                command.args(words)
            }
            None => command.args(words),
        };
        let error = command.exec();
        Err(error).with_context(|| format!("cannot run {}", program.display()))
    }
}

/// Has cargo call us.
pub(super) fn set(
    command: &mut Command,
    toolchain: &Toolchain,
    files: &RuntimeFiles,
    sanitizer: Option<&Sanitizer>,
) -> Result<()> {
    let folder = files.folder().join("bin");
    let own = std::env::current_exe().context("cannot find keirin itself")?;
    command.env("RUSTC_WRAPPER", link(&folder, COMPILER, &own)?);
    command.env(REAL_DOCUMENTATION, toolchain.documentation_tool());
    command.env("RUSTDOC", link(&folder, DOCUMENTATION, &own)?);
    command.env(OBJECT, files.object()).env(HOOKS, files.hooks());
    command.env_remove(FACADE).env_remove(crates::SOURCES);
    match sanitizer {
        Some(sanitizer) => sanitizer.set(command),
        None => sanitizer::unset(command),
    }
    // What is seen in the library itself need not be told.
    if sanitizer.is_some_and(Sanitizer::has_library) {
        command.env(crates::SOURCES, files.facades());
    } else if let Some(folder) = toolchain.facade(files, sanitizer.is_some())? {
        command.env(FACADE, folder);
        // Where only ours tells what is ordered, that of other crates is seen by their own accesses.
        if sanitizer.is_none() {
            command.env(crates::SOURCES, files.facades());
        }
    }
    Ok(())
}

/// A link to keirin. One that leads elsewhere is replaced at once: others may be using it.
fn link(folder: &Path, name: &str, own: &Path) -> Result<PathBuf> {
    let path = folder.join(name);
    let context = || format!("cannot make {}", path.display());
    if std::fs::read_link(&path).is_ok_and(|target| target == own) {
        return Ok(path);
    }
    std::fs::create_dir_all(folder).with_context(context)?;
    let place = tempfile::tempdir_in(folder).with_context(context)?;
    let new = place.path().join(name);
    symlink(own, &new).and_then(|()| std::fs::rename(&new, &path)).with_context(context)?;
    Ok(path)
}

/// What is added to a call of the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Additions {
    /// The runtime, for what becomes a program.
    links: bool,
    /// The names of functions and lines, if the user does not want more.
    lines: bool,
    /// The code is optimized.
    optimized: bool,
}

impl Additions {
    /// None: nothing is added.
    fn of(tool: Tool, words: &[OsString]) -> Option<Self> {
        // A build script tries what the compiler can do.
        if std::env::var_os("CARGO_CFG_TARGET_ARCH").is_some() {
            return None;
        }
        let text: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        Self::of_words(tool, &text)
    }

    fn of_words(tool: Tool, words: &[&str]) -> Option<Self> {
        let has = |flag: &str| {
            words.iter().any(|word| {
                word == &flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
            })
        };
        if tool == Tool::Documentation {
            let additions = Additions { links: true, lines: true, optimized: is_optimized(words) };
            return (has("--test") && has("--target")).then_some(additions);
        }
        let name = values(words, "--crate-name").next();
        // Cargo asks what the compiler can do by a crate of this name; the user builds the library itself.
        let left_alone = matches!(name, None | Some("___" | "std" | "core" | "alloc"));
        if left_alone || !has("--target") || has("--print") {
            return None;
        }
        let program = values(words, "--crate-type").any(|kind| kind == "bin");
        let lines = codegen(words, "debuginfo").last().is_none_or(|level| matches!(level, "0" | "none"));
        Some(Additions { links: program || has("--test"), lines, optimized: is_optimized(words) })
    }

    fn words(self, sanitizer: Option<Vec<OsString>>) -> Vec<OsString> {
        let mut words = match sanitizer {
            // It tells which calls are open.
            Some(mut words) => {
                words.extend(self.optimized.then(|| sanitizer::ONE_UNIT.into()));
                words
            }
            // They are read from the stack.
            None => vec!["-Cforce-frame-pointers=yes".into()],
        };
        words.extend(["--cfg", "keirin", "--check-cfg=cfg(keirin)"].map(OsString::from));
        if self.lines {
            words.push("-Cdebuginfo=1".into());
        }
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(folder) = variable(FACADE) {
            words.extend(["--extern".into(), join("std=", &Path::new(&folder).join("libstd.rlib"))]);
            words.extend(["-L".into(), join("dependency=", Path::new(&folder))]);
        }
        if let (true, Some(object), Some(hooks)) = (self.links, variable(OBJECT), variable(HOOKS)) {
            words.push(join("-Clink-arg=", Path::new(&object)));
            words.push(join("-Clink-arg=-Wl,--dynamic-list=", Path::new(&hooks)));
        }
        words
    }
}

/// The words without those that would take the names of functions out of a program, and without what does not go together with
/// the sanitizer.
fn kept(words: &[OsString], sanitizer: bool) -> Vec<&OsString> {
    let mut kept = Vec::new();
    let mut words = words.iter().peekable();
    let goes = |option: &OsStr| {
        option.to_str().is_some_and(|option| {
            option.starts_with("strip=") || sanitizer && sanitizer::is_whole_program(option)
        })
    };
    while let Some(word) = words.next() {
        if word == "-C" && words.peek().is_some_and(|next| goes(next)) {
            words.next();
        } else if !word
            .to_str()
            .and_then(|word| word.strip_prefix("-C"))
            .is_some_and(|option| goes(OsStr::new(option)))
        {
            kept.push(word);
        }
    }
    kept
}

/// True if the compiler is asked to optimize.
fn is_optimized(words: &[&str]) -> bool {
    let short = words.contains(&"-O");
    codegen(words, "opt-level").last().map_or(short, |level| level != "0")
}

/// The values of a flag: `--flag value` and `--flag=value`.
fn values<'a>(words: &'a [&'a str], flag: &'a str) -> impl Iterator<Item = &'a str> {
    words.iter().enumerate().filter_map(move |(index, word)| {
        if *word == flag {
            return words.get(index + 1).copied();
        }
        word.strip_prefix(flag)?.strip_prefix('=')
    })
}

/// The values of an option for the generation of code: `-C name=value` and `-Cname=value`.
fn codegen<'a>(words: &'a [&'a str], name: &'a str) -> impl Iterator<Item = &'a str> {
    words.iter().enumerate().filter_map(move |(index, word)| {
        let option = match word.strip_prefix("-C") {
            Some("") => words.get(index + 1).copied()?,
            option => option?,
        };
        option.strip_prefix(name)?.strip_prefix('=')
    })
}

pub(super) fn join(before: &str, path: &Path) -> OsString {
    let mut word = OsString::from(before);
    word.push(path);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tool: Tool, line: &str) -> Option<(bool, bool)> {
        let words: Vec<&str> = line.split(' ').collect();
        Additions::of_words(tool, &words).map(|additions| (additions.links, additions.lines))
    }

    #[test]
    fn only_what_is_built_for_a_target_is_changed() {
        let compiler = |line: &str| of(Tool::Compiler, line);
        assert_eq!(
            compiler("--crate-name a src/lib.rs --crate-type lib --target x -C debuginfo=2"),
            Some((false, false))
        );
        assert_eq!(
            compiler("--crate-name a src/main.rs --crate-type bin --target x -C opt-level=3"),
            Some((true, true))
        );
        assert_eq!(compiler("--crate-name a src/lib.rs --test --target x -Cdebuginfo=0"), Some((true, true)));
        for untouched in [
            "--crate-name build_script_build build.rs --crate-type bin",
            "--crate-name m src/lib.rs --crate-type proc-macro",
            "- --crate-name ___ --print=file-names --crate-type bin --target x",
            "--crate-name std library/std/src/lib.rs --crate-type lib --target x",
            "-vV",
        ] {
            assert_eq!(compiler(untouched), None, "{untouched}");
        }
        assert_eq!(
            of(Tool::Documentation, "--crate-type lib --crate-name a src/lib.rs --test --target x"),
            Some((true, true))
        );
        assert_eq!(of(Tool::Documentation, "--crate-type lib --crate-name a src/lib.rs --target x"), None);
    }

    #[test]
    fn optimized_code_with_calls_is_one_unit() {
        let added = |line: &str, sanitizer: Option<Vec<OsString>>| {
            let words: Vec<&str> = line.split(' ').collect();
            let additions = Additions::of_words(Tool::Compiler, &words).expect("it is for a target");
            additions.words(sanitizer).contains(&sanitizer::ONE_UNIT.into())
        };
        let line = "--crate-name a src/lib.rs --crate-type lib --target x";
        let sanitizer = || Some(vec!["-Zsanitizer=thread".into()]);
        for optimized in ["-C opt-level=3", "-Copt-level=s", "-O", "-C opt-level=0 -C opt-level=1"] {
            assert!(added(&format!("{line} {optimized}"), sanitizer()), "{optimized}");
            assert!(!added(&format!("{line} {optimized}"), None), "{optimized}, without the sanitizer");
        }
        for not in ["-C debuginfo=2", "-C opt-level=0", "-Copt-level=2 -Copt-level=0"] {
            assert!(!added(&format!("{line} {not}"), sanitizer()), "{not}");
        }
    }

    #[test]
    fn names_of_functions_stay_in_programs() {
        let words: Vec<OsString> = "-C strip=debuginfo -C opt-level=3 -Clto -Cstrip=symbols a.rs"
            .split(' ')
            .map(OsString::from)
            .collect();
        let kept = |sanitizer: bool| -> Vec<_> {
            kept(&words, sanitizer).into_iter().map(|word| word.to_str().unwrap()).collect()
        };
        assert_eq!(kept(false).join(" "), "-C opt-level=3 -Clto a.rs");
        assert_eq!(kept(true).join(" "), "-C opt-level=3 a.rs");
    }

    #[test]
    fn keirin_is_known_by_its_name() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            asked(&words("/c/keirin-rustc rustc -vV")).map(|(tool, rest)| (tool, rest.len())),
            Some((Tool::Compiler, 2))
        );
        assert_eq!(asked(&words("keirin-rustdoc --test")).map(|(tool, _)| tool), Some(Tool::Documentation));
        assert!(asked(&words("keirin run")).is_none());
    }
}
