//! `keirin convert`: reads a trace in any format and writes it in another.

use super::Exit;
use crate::input;
use crate::options::{Options, TraceFormat};
use crate::output::Output;
use crate::progress::{Progress, Unit};
use anyhow::{Context, Result};
use keirin_core::trace::{Batch, Sink, Source, native, std_format};
use std::path::Path;

/// Converts the trace with the given name.
pub(crate) fn run(name: &Path, options: &Options) -> Result<Exit> {
    let mut input = input::open(name, options.lenient, false)?;
    let progress = Progress::new(options.progress, "converting", input.bytes, Unit::Bytes);
    copy(&mut *input.source, options, progress).with_context(|| input.name.clone())?;
    if let Some(loss) = input.source.loss() {
        crate::tell(&format!("{}: {loss}", input.name));
    }
    Ok(Exit::Clean)
}

/// The format to write: as the user says, else as the name of the output says, else text.
pub(crate) fn output_format(options: &Options) -> TraceFormat {
    options.to.unwrap_or_else(|| match options.output.as_deref().and_then(Path::extension) {
        Some(extension) if extension == "ktrace" => TraceFormat::Ktrace,
        _ => TraceFormat::Std,
    })
}

/// Writes all events of a source to the output.
pub(crate) fn copy(source: &mut dyn Source, options: &Options, progress: Progress) -> Result<()> {
    let out = Output::open(options.output.as_deref())?;
    match output_format(options) {
        TraceFormat::Std => {
            let mut sink = std_format::Writer::new(out);
            pump(source, &mut sink, progress)?;
            sink.into_inner().finish()
        }
        TraceFormat::Ktrace => {
            let mut sink = native::Writer::new(out)?;
            pump(source, &mut sink, progress)?;
            sink.into_inner().finish()
        }
    }
}

fn pump(source: &mut dyn Source, sink: &mut impl Sink, mut progress: Progress) -> Result<()> {
    let mut batch = Batch::new();
    loop {
        let more = source.fill(&mut batch)?;
        sink.write(&batch, source.tables()).context("cannot write the trace")?;
        if !more {
            break;
        }
        progress.at(source.consumed());
    }
    sink.finish(source.tables()).context("cannot write the trace")
}
