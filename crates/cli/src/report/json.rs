//! The report for programs: the model as it stands, with the name of its schema (`docs/report.schema.json`).

use super::model::Report;
use serde::Serialize;
use std::io::{self, Write};

/// The name and version of the schema. Fields may be added within a version; nothing else may change.
pub(crate) const SCHEMA: &str = "keirin-report/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'a Report,
}

/// Writes the report.
pub(crate) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document { schema: SCHEMA, report })?;
    writeln!(out)
}
