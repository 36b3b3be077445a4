//! Opens traces: from files or standard input, in any format, told by content and not by name.

use anyhow::{Context, Result, anyhow, bail};
use keirin_core::trace::native::{self, ReaderOptions};
use keirin_core::trace::{Source, TraceError, std_format};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What people type for standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// An open trace.
pub(crate) struct Input {
    /// How the user named it.
    pub(crate) name: String,
    pub(crate) source: Box<dyn Source>,
    /// Number of bytes, if it is known.
    pub(crate) bytes: Option<u64>,
    /// The same input, for another reading.
    again: Option<File>,
}

impl Input {
    /// A trace that is built in.
    pub(crate) fn embedded(name: &str, text: &'static str) -> Self {
        let source = Box::new(std_format::Reader::new(text.as_bytes()));
        Self { name: name.to_owned(), source, bytes: None, again: None }
    }
}

/// Refuses names of which only one can be opened.
pub(crate) fn check_names(names: &[PathBuf]) -> Result<()> {
    if names.iter().filter(|name| name.as_os_str() == STANDARD_INPUT).count() > 1 {
        bail!("standard input (`{STANDARD_INPUT}`) can be read only once, but is named several times");
    }
    Ok(())
}

/// Reads a short file that the user wrote for keirin. All errors are those of a wrong configuration; `kind` says what
/// the file should be.
pub(crate) fn read_small(path: &Path, kind: &str, most_bytes: u64) -> Result<String> {
    let failed =
        |problem: &dyn std::fmt::Display| anyhow!("cannot read {kind} {}: {problem}", path.display());
    if path.is_dir() {
        return Err(failed(&"it is a directory"));
    }
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    // A device has no size that could be looked at beforehand.
    file.take(most_bytes + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > most_bytes {
        return Err(failed(&format!("it has more than {most_bytes} bytes, so it is something else")));
    }
    String::from_utf8(bytes).map_err(|_| failed(&"it is not text in UTF-8, so it is something else"))
}

/// The line, from 1, in which a byte of a text is.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
}

/// Opens a trace by the name that the user gave. If it will be read `twice`, what can be read only once is kept.
pub(crate) fn open(name: &Path, lenient: bool, twice: bool) -> Result<Input> {
    let options = ReaderOptions { skip_damaged: lenient };
    let is_standard = name.as_os_str() == STANDARD_INPUT;
    let display = if is_standard { "standard input".to_owned() } else { name.display().to_string() };
    let opened =
        if is_standard { from_stream(io::stdin(), options, twice) } else { from_file(name, options, twice) };
    let Opened { source, bytes, again } = opened.with_context(|| display.clone())?;
    Ok(Input { name: display, source, bytes, again })
}

impl Input {
    /// Starts from the beginning.
    pub(crate) fn rewind(&mut self, lenient: bool) -> Result<()> {
        let Some(file) = &self.again else { bail!("{}: cannot be read a second time", self.name) };
        let options = ReaderOptions { skip_damaged: lenient };
        let file = file.try_clone().context("cannot be opened again")?;
        self.source = from_start(file, options).with_context(|| self.name.clone())?.source;
        Ok(())
    }
}

struct Opened {
    source: Box<dyn Source>,
    bytes: Option<u64>,
    /// The same input, for another reading.
    again: Option<File>,
}

fn from_file(path: &Path, options: ReaderOptions, twice: bool) -> Result<Opened> {
    let metadata = std::fs::metadata(path).context("cannot be opened")?;
    if metadata.is_dir() {
        let problem = "is a directory; name the trace files in it";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, problem).into());
    }
    let file = File::open(path).context("cannot be opened")?;
    if metadata.is_file() {
        from_start(file, options)
    } else {
        // A pipe or a device can be read only once.
        from_stream(file, options, twice)
    }
}

/// A file of which all can be read at any time.
fn from_start(mut file: File, options: ReaderOptions) -> Result<Opened> {
    let bytes = file.metadata().context("cannot be opened")?.len();
    let again = file.try_clone().context("cannot be opened")?;
    file.seek(SeekFrom::Start(0)).context("reading failed")?;
    let start = first_bytes(&mut file)?;
    file.seek(SeekFrom::Start(0)).context("reading failed")?;
    let source: Box<dyn Source> = match format_of(&start)? {
        Content::Native => Box::new(native::Reader::with_options(file, options)?),
        Content::Text => Box::new(std_format::Reader::new(file)),
    };
    Ok(Opened { source, bytes: Some(bytes), again: Some(again) })
}

fn from_stream(mut stream: impl Read + 'static, options: ReaderOptions, twice: bool) -> Result<Opened> {
    let start = first_bytes(&mut stream)?;
    let content = format_of(&start)?;
    let mut whole = Cursor::new(start).chain(stream);
    match content {
        Content::Text if !twice => {
            Ok(Opened { source: Box::new(std_format::Reader::new(whole)), bytes: None, again: None })
        }
        // The blocks of a native trace are not in the order of the events, so it must be possible to go back.
        Content::Text | Content::Native => {
            let mut file = tempfile::tempfile().context("cannot make a temporary file")?;
            io::copy(&mut whole, &mut file).context("reading failed")?;
            from_start(file, options)
        }
    }
}

fn first_bytes(input: &mut impl Read) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    input.take(512).read_to_end(&mut start).context("reading failed")?;
    Ok(start)
}

enum Content {
    Native,
    Text,
}

fn format_of(start: &[u8]) -> Result<Content> {
    if start.is_empty() {
        return Err(TraceError::Empty.into());
    }
    if start.starts_with(&native::MAGIC) {
        return Ok(Content::Native);
    }
    if start.len() < native::MAGIC.len() && native::MAGIC.starts_with(start) {
        let message = format!("the native trace is cut off within its first {} bytes", native::MAGIC.len());
        return Err(TraceError::Format { byte: start.len() as u64, message }.into());
    }
    if let Some(byte) = start.iter().position(|byte| *byte == 0) {
        return Err(TraceError::Unknown(format!(
            "it has a zero byte at offset {byte}, so it is no text, and it does not start like a native trace"
        ))
        .into());
    }
    Ok(Content::Text)
}
