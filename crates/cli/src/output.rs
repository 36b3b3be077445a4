//! Where results go: standard output, or a file that appears only when it is complete.

use anyhow::{Context, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StderrLock, StdoutLock, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// An open destination.
pub(crate) enum Output {
    Standard(BufWriter<StdoutLock<'static>>),
    /// Standard error, because standard output belongs to the program that runs.
    Error(BufWriter<StderrLock<'static>>),
    File {
        partial: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
    /// A pipe or a device, which can only be written to, not replaced.
    Special {
        out: BufWriter<File>,
        path: PathBuf,
    },
}

/// What people type for standard output.
const STANDARD_OUTPUT: &str = "-";
/// How many symbolic links may lead to a file that is yet to be made; as many as Linux follows.
const MAX_LINKS: usize = 40;

impl Output {
    /// Opens a file, or standard output if there is none.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| path.as_os_str() != STANDARD_OUTPUT) else {
            return Ok(Output::standard());
        };
        let opened = match destination(path) {
            Ok(Destination::Special) => OpenOptions::new()
                .write(true)
                .open(path)
                .map(|file| Output::Special { out: buffered(file), path: path.to_owned() }),
            Ok(Destination::File(path)) => partial_file(folder_of(&path))
                .map(|partial| Output::File { partial: buffered(partial), path }),
            Err(error) => Err(error),
        };
        opened.with_context(|| format!("cannot write {}", path.display()))
    }

    /// Standard output.
    pub(crate) fn standard() -> Self {
        Output::Standard(buffered(io::stdout().lock()))
    }

    /// Standard error.
    pub(crate) fn error() -> Self {
        Output::Error(buffered(io::stderr().lock()))
    }

    /// Tells beforehand what can be told of why opening would fail: a wrong name should not cost an hour of work.
    pub(crate) fn check(path: Option<&Path>) -> Result<()> {
        if let Some(path) = path.filter(|path| path.as_os_str() != STANDARD_OUTPUT) {
            destination(path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// True if a person is looking.
    pub(crate) fn is_terminal(&self) -> bool {
        match self {
            Output::Standard(_) => io::stdout().is_terminal(),
            Output::Error(_) => io::stderr().is_terminal(),
            Output::File { .. } | Output::Special { .. } => false,
        }
    }

    /// Completes the output. Before this, a file does not appear under its name.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Output::Standard(mut out) => tolerate_closed(out.flush()).context("cannot write standard output"),
            Output::Error(mut out) => tolerate_closed(out.flush()).context("cannot write standard error"),
            Output::File { partial, path } => {
                let context = || format!("cannot write {}", path.display());
                let partial =
                    partial.into_inner().map_err(|error| error.into_error()).with_context(context)?;
                partial.persist(&path).map_err(|error| error.error).with_context(context)?;
                Ok(())
            }
            Output::Special { mut out, path } => {
                tolerate_closed(out.flush()).with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Standard(out) => out.write(bytes),
            Output::Error(out) => out.write(bytes),
            Output::File { partial, .. } => partial.write(bytes),
            Output::Special { out, .. } => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Standard(out) => out.flush(),
            Output::Error(out) => out.flush(),
            Output::File { partial, .. } => partial.flush(),
            Output::Special { out, .. } => out.flush(),
        }
    }
}

enum Destination {
    Special,
    File(PathBuf),
}

/// What stands, or will stand, under the name of an output.
fn destination(path: &Path) -> io::Result<Destination> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory; name a file in it"));
        }
        Ok(metadata) if !metadata.is_file() => return Ok(Destination::Special),
        _ => {}
    }
    let path = behind_links(path)?;
    let folder = folder_of(&path);
    if !folder.is_dir() {
        let problem = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(ErrorKind::NotFound, problem));
    }
    Ok(Destination::File(path))
}

fn partial_file(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".keirin-").permissions(permissions()).tempfile_in(folder)
}

fn buffered<W: Write>(out: W) -> BufWriter<W> {
    BufWriter::with_capacity(1 << 16, out)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that symbolic links lead to: it is the file that shall change, not the link to it.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "its symbolic links lead nowhere"))
}

/// Writes a whole text to standard output.
pub(crate) fn print(text: &[u8]) -> Result<()> {
    let mut out = Output::open(None)?;
    tolerate_closed(out.write_all(text)).context("cannot write standard output")?;
    out.finish()
}

/// True if an error only says that the reader of our output has gone.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.into_iter().any(|kind| kind == ErrorKind::BrokenPipe)
}

/// A reader that has gone, as in `keirin check … | head`, is no failure of ours.
pub(crate) fn tolerate_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// What a new file may be used for; temporary files are otherwise their owner's alone.
fn permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o666)
}
