//! `keirin cc` and `keirin c++`: the compiler, with what a program needs to be watched.
//!
//! The words of the command line are passed on as they are and in their order. Before them come the flags for
//! compiling, so that a project can switch them off for a file (`-fno-sanitize=thread`); after them the runtime, so that
//! the program's own archives come first. The compiler takes the place of this process: its status, signals and streams
//! are its own.

mod arguments;
mod compiler;
mod pass;

pub(crate) use compiler::{Compiler, Make, find, is_named, look_up, named};

use super::Exit;
use crate::openmp;
use crate::runtime_files::{self, RuntimeFiles};
use anyhow::{Context, Result, bail};
use arguments::{Arguments, Place, Produces};
use pass::Tells;
pub(crate) use pass::state as pass_state;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Set while the compiler runs, to notice that it is keirin again.
const COMPILING: &str = "KEIRIN_COMPILING";

/// The language that a compiler is for, unless its arguments say something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    C,
    Cxx,
}

impl Language {
    /// By the name of the command, or of the link that keirin was started through.
    pub(crate) fn of_command(name: &str) -> Option<Self> {
        match name {
            "cc" => Some(Language::C),
            "c++" => Some(Language::Cxx),
            _ => None,
        }
    }
}

/// What the command line of a process asks to compile, if it does: `keirin cc …`, or `keirin-cc …` by a link.
pub(crate) fn asked(words: &[OsString]) -> Option<(Language, &[OsString])> {
    let (program, rest) = words.split_first()?;
    let name = Path::new(program).file_name()?.to_str()?;
    if let Some(language) = name.strip_prefix("keirin-").and_then(Language::of_command) {
        return Some((language, rest));
    }
    let (command, rest) = rest.split_first()?;
    Language::of_command(command.to_str()?).map(|language| (language, rest))
}

/// Runs the compiler. Returns only if that cannot be done.
pub(crate) fn run(language: Language, words: &[OsString]) -> Result<Exit> {
    let (tells, words) = Tells::take(words)?;
    let (name, words) = match words.as_slice() {
        [flag, name, rest @ ..] if flag == "--cc" => (Some(name.as_os_str()), rest),
        [flag] if flag == "--cc" => bail!("--cc needs the name of a compiler"),
        words => (None, words),
    };
    if let Some(compiler) = std::env::var_os(COMPILING) {
        bail!(
            "the compiler `{}` is keirin again; name another one with --cc, KEIRIN_CC or KEIRIN_CXX",
            compiler.display()
        );
    }
    let compiler = match name {
        Some(name) => named(name)?,
        None if tells.anything() && !is_named(language) => match pass::find_clang(language) {
            Some(name) => named(&name)?,
            None => find(language)?,
        },
        None => find(language)?,
    };
    let arguments = Arguments::of(words);
    let complete = if arguments.is_untouched() || !runtime_files::can_watch() {
        words.to_vec()
    } else {
        let files = runtime_files::unpack()?;
        let make = compiler.make(files.folder().parent())?;
        with_additions(&arguments, language, words, &compiler, make, tells, &files)?
    };
    let error = started(&compiler, complete).exec();
    Err(error).with_context(|| format!("cannot run the compiler {compiler}"))
}

/// The command that compiles what can be watched, for use within keirin.
pub(crate) fn command(words: &[OsString], compiler: &Compiler, files: &RuntimeFiles) -> Result<Command> {
    let make = compiler.make(files.folder().parent())?;
    let complete =
        with_additions(&Arguments::of(words), Language::Cxx, words, compiler, make, Tells::default(), files)?;
    Ok(started(compiler, complete))
}

fn started(compiler: &Compiler, words: Vec<OsString>) -> Command {
    let mut command = Command::new(&compiler.words()[0]);
    command.args(&compiler.words()[1..]).args(words).env(COMPILING, compiler.to_string());
    command
}

fn with_additions(
    arguments: &Arguments,
    language: Language,
    words: &[OsString],
    compiler: &Compiler,
    make: Make,
    tells: Tells,
    files: &RuntimeFiles,
) -> Result<Vec<OsString>> {
    let make = match make {
        Make::Other => {
            bail!("{compiler} is neither gcc nor clang; name one of them with --cc, KEIRIN_CC or KEIRIN_CXX")
        }
        Make::Foreign => None,
        _ if arguments.is_for_another_machine() => None,
        make => Some(make),
    };
    let Some(make) = make else {
        // A part of the project that runs elsewhere is built as it is.
        if arguments.produces() == Produces::Program {
            crate::tell("note: this program is for another kind of machine and is built without the runtime");
        }
        return Ok(words.to_vec());
    };
    if let Some(sanitizer) = arguments.conflict() {
        bail!(
            "{sanitizer} cannot be combined with keirin, which takes the place of -fsanitize=thread; leave it out"
        );
    }
    if arguments.produces() == Produces::Program && arguments.is_static() {
        bail!(
            "static executables cannot be watched: the runtime needs the dynamic linker; leave out -static"
        );
    }
    let (mut before, mut after) = additions(arguments, language, make, files)?;
    if tells.anything() && arguments.has_sources() {
        let plugin = pass::plugin(compiler, make, tells, files)?;
        before.push(OsString::from_iter([OsStr::new("-fpass-plugin="), plugin.as_os_str()]));
        // What cannot be followed is a warning, and never an error.
        before.push("-Wno-error=pass-failed".into());
        // Without optimization every local is memory, in which nothing can be followed.
        match arguments.optimizes() {
            None => before.push("-O1".into()),
            Some(false) => after.push("-O1".into()),
            Some(true) => {}
        }
    }
    // What follows `--` is a name of a file, whatever it looks like.
    let end = words.iter().position(|word| word == "--").filter(|_| make.is_clang()).unwrap_or(words.len());
    Ok([&before, &words[..end], &after, &words[end..]].concat())
}

/// What comes before and what comes after the words of the user.
fn additions(
    arguments: &Arguments,
    language: Language,
    make: Make,
    files: &RuntimeFiles,
) -> Result<(Vec<OsString>, Vec<OsString>)> {
    let mut before = Words::default();
    let mut after = Words::default();
    // With nothing but assembler to translate, clang would complain of a flag that it does not use.
    if arguments.has_sources() || arguments.produces() != Produces::Nothing {
        before.add("-fsanitize=thread");
    }
    if arguments.has_sources() {
        match make {
            // gcc writes out copies of known size in place and tells nobody; as calls they can be seen. Its warning
            // that it cannot model fences is not for us: keirin can.
            Make::Gcc(_) => {
                for function in ["memcpy", "memmove", "memset"] {
                    before.add(format!("-fno-builtin-{function}"));
                }
                before.add("-Wno-tsan");
            }
            // Of `a += 1` clang tells only the write, unless it is asked for both.
            _ if make.knows_read_before_write() => {
                before.add("-mllvm").add("-tsan-instrument-read-before-write=1");
            }
            _ => {}
        }
        before.add("-D__KEIRIN__=1").add("-isystem").add(files.include());
        if !arguments.has_debug_flag() {
            before.add("-g");
        }
        // The mutexes of oneTBB are code of its headers, and tell of themselves if they are asked to.
        match arguments.place_of_prelude(language) {
            Some(Place::Before) => before.add("-include").add(files.tbb_prelude()),
            Some(Place::After) => after.add("-include").add(files.tbb_prelude()),
            None => &mut before,
        };
    }
    match arguments.produces() {
        Produces::Nothing => return Ok((before.0, after.0)),
        Produces::Part | Produces::Library | Produces::Program if make.is_clang() => {
            before.add("-fno-sanitize-link-runtime");
        }
        Produces::Part | Produces::Library | Produces::Program => {
            before.add(OsString::from_iter([OsStr::new("-B"), files.for_gcc().as_os_str()]));
        }
    }
    match arguments.produces() {
        Produces::Library if arguments.forbids_undefined() => {
            // The hooks are in the program that loads the library.
            after.linker("--unresolved-symbols=ignore-in-object-files");
        }
        Produces::Program => {
            after.linker(files.object());
            after.linker(OsString::from_iter([OsStr::new("--dynamic-list="), files.hooks().as_os_str()]));
            after.linker("--push-state").linker("--as-needed");
            after.add("-lpthread").add("-ldl").add("-lm");
            if arguments.has_no_default_libraries() {
                after.add("-lgcc_s").add("-lc");
            }
            after.linker("--pop-state");
        }
        _ => {}
    }
    if arguments.has_openmp() && !make.is_clang() && arguments.produces() != Produces::Part {
        let Some(openmp) = openmp::find() else {
            bail!(
                "gcc's runtime for OpenMP cannot be watched; keirin takes LLVM's in its place, which is not there ({})",
                openmp::PACKAGE
            );
        };
        before.add(OsString::from_iter([OsStr::new("-L"), openmp.as_gcc_runtime(files)?.as_os_str()]));
        if let Some(folder) = openmp.run_path() {
            after.linker("-rpath").linker(folder);
        }
    }
    Ok((before.0, after.0))
}

#[derive(Default)]
struct Words(Vec<OsString>);

impl Words {
    fn add(&mut self, word: impl Into<OsString>) -> &mut Self {
        self.0.push(word.into());
        self
    }

    /// Past the compiler: it would look at a name of a file in the light of an earlier `-x`.
    fn linker(&mut self, word: impl Into<OsString>) -> &mut Self {
        self.add("-Xlinker").add(word)
    }
}
