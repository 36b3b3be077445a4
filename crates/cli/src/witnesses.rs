//! Witness files: the schedule that shows a finding, one file each, to be kept, sent around and read again.
//!
//! A file stands for itself: everything in it is resolved, so that it can be read without the trace. Its name is the
//! fingerprint of the finding, with a number where several have the same. The version in it changes when an old reader would misunderstand a new file.

use crate::input::read_small;
use crate::output::Output;
use crate::report::Finding;
use crate::report::model::{Frame, HeldLock, Step, Thread};
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The version of the files.
const VERSION: u64 = 1;

/// A schedule that people can follow is short; whatever is larger is something else.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A witness file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct WitnessFile {
    pub(crate) version: u64,
    /// The trace whose operations the schedule puts into another order.
    pub(crate) trace: String,
    pub(crate) rule: String,
    pub(crate) fingerprint: String,
    pub(crate) title: String,
    pub(crate) reason: String,
    /// What positions count: `line` or `event`.
    pub(crate) unit: String,
    /// Who takes part.
    pub(crate) threads: Vec<Thread>,
    /// Everything up to this position happens as observed.
    pub(crate) as_observed_until: u64,
    /// What follows.
    pub(crate) segments: Vec<FileSegment>,
}

/// Consecutive operations of one thread or task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct FileSegment {
    /// Index of the thread.
    pub(crate) thread: usize,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// How many operations that are.
    pub(crate) operations: u64,
    /// Those that are worth showing.
    pub(crate) steps: Vec<FileStep>,
}

/// One operation of a schedule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct FileStep {
    /// From 1, through the whole schedule.
    pub(crate) number: usize,
    /// The kind of operation, as a stable word.
    pub(crate) kind: String,
    /// The operation in words, for after a name.
    pub(crate) text: String,
    /// Where in the trace.
    pub(crate) position: Option<String>,
    /// The locks held after it, if locks matter.
    pub(crate) held: Option<Vec<HeldLock>>,
    /// The place and the open calls, innermost first.
    pub(crate) stack: Vec<Frame>,
}

impl WitnessFile {
    /// The file of a finding, if a schedule shows it.
    fn of(finding: &Finding) -> Option<Self> {
        let schedule = finding.schedule.as_ref()?;
        let shown = |numbers: &[usize]| {
            let steps = numbers.iter().filter_map(|number| finding.witness.get(number.checked_sub(1)?));
            steps.map(file_step).collect()
        };
        let segments = schedule.segments.iter().map(|segment| FileSegment {
            thread: segment.thread,
            first: segment.first,
            last: segment.last,
            operations: segment.operations,
            steps: shown(&segment.steps),
        });
        Some(WitnessFile {
            version: VERSION,
            trace: schedule.trace.clone(),
            rule: finding.rule.to_owned(),
            fingerprint: finding.fingerprint.clone(),
            title: finding.title.clone(),
            reason: finding.reason.clone(),
            unit: schedule.unit.to_owned(),
            threads: finding.threads.clone(),
            as_observed_until: schedule.as_observed_until,
            segments: segments.collect(),
        })
    }

    /// Reads a file. Whatever is wrong with it is told in one line.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = read_small(path, "the witness", MAX_FILE_BYTES)?;
        let name = path.display();
        let value: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| anyhow!("{name} is no witness: it is not JSON: {error}"))?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(VERSION) => {}
            Some(other) => bail!(
                "{name} is a witness of version {other}; this keirin reads version {VERSION}: check the trace again"
            ),
            None => bail!("{name} is no witness: it has no version"),
        }
        let file: Self =
            serde_json::from_value(value).map_err(|error| anyhow!("{name} is no witness: {error}"))?;
        if file.segments.iter().any(|segment| segment.thread >= file.threads.len()) {
            bail!("{name} is no witness: it names a thread that it does not list");
        }
        Ok(file)
    }
}

fn file_step(step: &Step) -> FileStep {
    FileStep {
        number: step.number,
        kind: step.operation.kind.to_owned(),
        text: step.operation.text.clone(),
        position: step.position.clone(),
        held: step.held.clone(),
        stack: step.stack.clone(),
    }
}

/// Makes the folder, before the work: a wrong name should not cost an hour.
pub(crate) fn prepare(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// Writes a file for each finding that a schedule shows, and tells where they are.
pub(crate) fn write(folder: &Path, findings: &[Finding]) -> Result<()> {
    let mut first = None;
    let mut count = 0;
    let mut known: HashMap<String, u64> = HashMap::new();
    for file in findings.iter().filter_map(WitnessFile::of) {
        // Findings at different lines of the same functions share a fingerprint.
        let same: &mut u64 = known.entry(file.fingerprint.clone()).or_default();
        *same += 1;
        let number = if *same == 1 { String::new() } else { format!("-{same}") };
        let path = folder.join(format!("{}{number}.json", file.fingerprint));
        let mut out = Output::open(Some(&path))?;
        serde_json::to_writer_pretty(&mut out, &file)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out))
            .with_context(|| format!("cannot write {}", path.display()))?;
        out.finish()?;
        count += 1;
        first.get_or_insert(path);
    }
    if let Some(first) = first {
        let what = if count == 1 { "1 schedule".to_owned() } else { format!("{count} schedules") };
        crate::tell(&format!("{what} in {}; show one: keirin explain {}", folder.display(), first.display()));
    }
    Ok(())
}

/// The file of the only finding in a folder whose fingerprint starts as given.
pub(crate) fn find(folder: &Path, start: &str) -> Result<PathBuf> {
    let failed =
        |error: std::io::Error| anyhow!("cannot read the folder of witnesses {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let fingerprint = name.strip_suffix(".json").unwrap_or_default();
        // The version of the recipe is the same for all, so nobody need type it.
        let digits = fingerprint.split_once('-').map_or("", |(_, digits)| digits);
        if !start.is_empty() && (fingerprint.starts_with(start) || digits.starts_with(start)) {
            names.push(name);
        }
    }
    names.sort_unstable();
    match &names[..] {
        [] => bail!("there is no witness in {} whose fingerprint starts with `{start}`", folder.display()),
        [only] => Ok(folder.join(only)),
        // Those behind it have the same fingerprint and a number.
        [first, ..] if first.strip_suffix(".json").is_some_and(|whole| whole.ends_with(start)) => {
            Ok(folder.join(first))
        }
        several => bail!(
            "{} witnesses in {} have a fingerprint that starts with `{start}`: {}; give more of it",
            several.len(),
            folder.display(),
            several.iter().take(4).map(|name| name.trim_end_matches(".json")).collect::<Vec<_>>().join(", ")
        ),
    }
}
