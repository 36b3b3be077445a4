//! The program that is to run: where it is, and whether it can be watched.

use crate::symbols::Elf;
use anyhow::{Context, Result, anyhow, bail};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What a program is, as far as its file says.
#[derive(Debug)]
enum Kind {
    Script,
    Elf(Box<Elf>),
    Unknown,
}

/// A program that was found.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    kind: Kind,
}

impl Program {
    /// Finds the program that the first word names, as a shell would.
    pub(crate) fn find(words: &[OsString]) -> Result<Self> {
        let name = words.first().ok_or_else(|| anyhow!("which program? keirin run -- PROGRAM"))?;
        let path = locate(name)?;
        let kind = look_at(&path);
        let program = Program { path, kind };
        if let Kind::Elf(elf) = &program.kind
            && elf.has_any_runtime
            && !elf.has_runtime
        {
            bail!(
                "{} was linked with the compiler's own runtime for -fsanitize=thread; link it again with `keirin cc` or \
                 `keirin c++`",
                program.path.display()
            );
        }
        Ok(program)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The program as a word of a command.
    pub(crate) fn word(&self) -> String {
        self.path.display().to_string()
    }

    /// The name without its folder.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The contents of the file, if it is machine code.
    pub(crate) fn elf(&self) -> Option<&Elf> {
        match &self.kind {
            Kind::Elf(elf) => Some(elf),
            Kind::Script | Kind::Unknown => None,
        }
    }

    /// What to say when the runtime did not start in any process.
    pub(crate) fn why_not_watched(&self) -> String {
        let path = self.path.display();
        let build = "build it with `keirin cc` or `keirin c++` in place of the compiler (CC=\"keirin cc\" CXX=\"keirin c++\")";
        match &self.kind {
            Kind::Script => {
                format!(
                    "nothing was watched: {path} is a script, and no program that it ran was built with keirin"
                )
            }
            Kind::Elf(elf) if elf.has_runtime => format!(
                "nothing was watched: {path} has keirin's runtime, but it did not start; did the program end before its \
                 start, or remove KEIRIN_RUNTIME from its environment?"
            ),
            Kind::Elf(elf) if elf.instrumented => {
                format!(
                    "nothing was watched: {path} is instrumented, but was linked without keirin's runtime; {build}"
                )
            }
            Kind::Elf(_) | Kind::Unknown => {
                format!("nothing was watched: {path} was not built with keirin; {build}")
            }
        }
    }
}

/// The file of a program: a path as it stands, or a name in one of the folders of `PATH`.
fn locate(name: &OsStr) -> Result<PathBuf> {
    let plain = Path::new(name);
    if plain.as_os_str().as_encoded_bytes().contains(&b'/') {
        return match runnable(plain) {
            Ok(()) => Ok(plain.to_owned()),
            Err(error) => Err(error).with_context(|| format!("cannot run {}", plain.display())),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&folders).map(|folder| folder.join(plain)).find(|path| runnable(path).is_ok());
    found.ok_or_else(|| {
        let here =
            if plain.is_file() { format!("; did you mean ./{}?", plain.display()) } else { String::new() };
        let problem = format!("there is no such program in PATH{here}");
        anyhow::Error::from(io::Error::new(ErrorKind::NotFound, problem))
            .context(format!("cannot run {}", plain.display()))
    })
}

fn runnable(path: &Path) -> io::Result<()> {
    let about = std::fs::metadata(path)?;
    if about.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder"));
    }
    if about.permissions().mode() & 0o111 == 0 {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it is not executable"));
    }
    Ok(())
}

fn look_at(path: &Path) -> Kind {
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_err() {
        return Kind::Unknown;
    }
    match &start {
        b"\x7fELF" => Elf::read(path).map_or(Kind::Unknown, |elf| Kind::Elf(Box::new(elf))),
        [b'#', b'!', ..] => Kind::Script,
        _ => Kind::Unknown,
    }
}
