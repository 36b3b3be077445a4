//! What a report in JSON says, as far as the tests compare it.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// A line of a source file, named without its folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A finding that is reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    pub(super) rule: String,
    pub(super) verdict: String,
    /// Why it is no more than suspected.
    doubt: Option<String>,
    /// Of each step, the innermost place in the program's own files.
    pub(super) places: Vec<Place>,
    /// The kinds of the steps.
    kinds: Vec<String>,
    /// The names of what the steps access.
    targets: Vec<String>,
    /// The labels of the blocks that are refuted.
    pub(super) refuted: Vec<String>,
    /// What was to be whole, if a region of a task is torn: a block, a step, or the gap between two holds of a lock.
    pub(super) whole: Option<String>,
    /// The name of the memory that it is about.
    pub(super) location: Option<String>,
}

impl Finding {
    /// The same without what may differ between a run and its trace: names of memory.
    pub(super) fn without_location(mut self) -> Self {
        self.location = None;
        self.targets.clear();
        self
    }

    /// The variables that its steps access, without offsets: which of the places of an array or which member of a group a
    /// finding tells of depends on the run. Memory that has no name of its own is left out.
    pub(super) fn memory(&self) -> BTreeSet<&str> {
        self.targets.iter().filter_map(|name| variable(name)).collect()
    }

    /// Whether some schedule of the run shows it, as far as anybody looked. An analysis of tasks is exact but for orders of
    /// locks, which only the search for a schedule looks at.
    pub(super) fn is_sure(&self) -> bool {
        self.verdict != "suspected" || self.doubt.as_deref() == Some("not-examined")
    }
}

/// The variable that a name of memory begins with, if it is one.
fn variable(name: &str) -> Option<&str> {
    let variable = name.rsplit_once('+').map_or(name, |(variable, _)| variable);
    let unnamed = variable.is_empty() || variable.starts_with("0x") || variable == "heap block";
    (!unnamed).then_some(variable)
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.rule, self.verdict)?;
        for (place, kind) in self.places.iter().zip(&self.kinds) {
            write!(f, ", {kind} at {place}")?;
        }
        self.refuted.iter().try_for_each(|label| write!(f, ", refutes `{label}`"))?;
        self.location.iter().try_for_each(|name| write!(f, ", of `{name}`"))
    }
}

/// Reads the reported findings. `own` are the names of the program's files: what the C++ library does in its headers
/// is told as a place of the program that called it.
pub(super) fn read(path: &Path, own: &[String]) -> Result<Vec<Finding>, String> {
    let text = std::fs::read(path).map_err(|error| format!("no report: {error}"))?;
    let report: Value =
        serde_json::from_slice(&text).map_err(|error| format!("the report is no JSON: {error}"))?;
    let findings = report["findings"].as_array().ok_or("the report has no findings")?;
    let reported = findings.iter().filter(|finding| finding["status"]["kind"] == "reported");
    Ok(reported.map(|finding| self::finding(finding, own)).collect())
}

fn finding(value: &Value, own: &[String]) -> Finding {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let steps = list(&value["steps"]);
    Finding {
        rule: text(&value["rule"]),
        verdict: text(&value["verdict"]),
        doubt: value["doubt"].as_str().map(str::to_owned),
        whole: value["whole"].as_str().map(str::to_owned),
        places: steps.iter().map(|step| place(&list(&step["stack"]), own)).collect(),
        kinds: steps.iter().map(|step| text(&step["operation"]["kind"])).collect(),
        targets: steps.iter().map(|step| text(&step["operation"]["target"]["name"])).collect(),
        refuted: list(&value["refuted"]).iter().map(|block| text(&block["region"])).collect(),
        location: value["location"]["name"].as_str().map(str::to_owned),
    }
}

fn place(stack: &[Value], own: &[String]) -> Place {
    let places = stack.iter().map(|frame| {
        let file = Path::new(frame["place"]["file"].as_str().unwrap_or("?"));
        let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Place { file, line: frame["place"]["line"].as_u64().unwrap_or(0) }
    });
    let places: Vec<_> = places.collect();
    let mine = places.iter().find(|place| own.contains(&place.file)).or(places.first());
    mine.cloned().unwrap_or(Place { file: "?".to_owned(), line: 0 })
}
