//! Where results go: standard output, or a file that appears only when it is complete.

use anyhow::{Context, Result};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// An open destination.
pub(crate) enum Output {
    Standard(BufWriter<StdoutLock<'static>>),
    File { partial: BufWriter<NamedTempFile>, path: PathBuf },
}

impl Output {
    /// Opens a file, or standard output if there is none.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Output::Standard(BufWriter::with_capacity(1 << 16, io::stdout().lock())));
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let partial = tempfile::Builder::new()
            .prefix(".keirin-")
            .permissions(permissions())
            .tempfile_in(folder)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Output::File { partial: BufWriter::with_capacity(1 << 16, partial), path: path.to_owned() })
    }

    /// True if a person is looking.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Output::Standard(_)) && io::stdout().is_terminal()
    }

    /// Completes the output. Before this, a file does not appear under its name.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Output::Standard(mut out) => tolerate_closed(out.flush()).context("cannot write standard output"),
            Output::File { partial, path } => {
                let context = || format!("cannot write {}", path.display());
                let partial =
                    partial.into_inner().map_err(|error| error.into_error()).with_context(context)?;
                partial.persist(&path).map_err(|error| error.error).with_context(context)?;
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Standard(out) => out.write(bytes),
            Output::File { partial, .. } => partial.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Standard(out) => out.flush(),
            Output::File { partial, .. } => partial.flush(),
        }
    }
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
