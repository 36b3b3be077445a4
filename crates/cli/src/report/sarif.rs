//! The report as SARIF 2.1.0, for code review tools.
//!
//! The structs have what keirin uses of the format and no more; the tests hold the output against the published
//! schema and read it with a public crate's types. Members are named as in the specification.

use super::model::{Doubt, Finding, Frame, Level, Place, Proof, Report, Status, Step, Verdict};
use super::{fingerprint, rules};
use keirin_core::finding::Rule;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The name of the folder that relative paths are below; whoever reads the file knows where that is.
const SOURCE_ROOT: &str = "%SRCROOT%";

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    invocations: [Invocation; 1],
    column_kind: &'static str,
    results: Vec<SarifResult<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: String,
    semantic_version: String,
    rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    name: &'static str,
    short_description: Message,
    full_description: Message,
    help: Message,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Message,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    code_flows: Vec<CodeFlow>,
    partial_fingerprints: BTreeMap<String, &'a str>,
    occurrence_count: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_state: Option<&'static str>,
    properties: Properties<'a>,
}

/// What the format has no member for.
#[derive(Serialize)]
struct Properties<'a> {
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<Doubt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
    analyses: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
    justification: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    fully_qualified_name: String,
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodeFlow {
    message: Message,
    thread_flows: Vec<ThreadFlow>,
}

#[derive(Serialize)]
struct ThreadFlow {
    id: String,
    message: Message,
    locations: Vec<ThreadFlowLocation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThreadFlowLocation {
    location: Location,
    execution_order: usize,
    kinds: Vec<&'static str>,
    importance: &'static str,
    stack: Stack,
}

#[derive(Serialize)]
struct Stack {
    frames: Vec<StackFrame>,
}

#[derive(Serialize)]
struct StackFrame {
    location: Location,
}

/// Writes the report.
pub(crate) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &log(report))?;
    writeln!(out)
}

fn log(report: &Report) -> Log<'_> {
    let notification = |note: &String| Notification { level: "note", message: message(note) };
    Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: report.tool.name,
                    version: report.tool.version.clone(),
                    semantic_version: report.tool.version.clone(),
                    rules: Rule::ALL.iter().map(|&rule| descriptor(rule)).collect(),
                },
            },
            invocations: [Invocation {
                execution_successful: true,
                tool_execution_notifications: report.summary.notes.iter().map(notification).collect(),
            }],
            column_kind: "unicodeCodePoints",
            results: report.findings.iter().map(|finding| result(finding, report.summary.baseline)).collect(),
        }],
    }
}

fn descriptor(rule: Rule) -> Descriptor {
    let text = rules::text(rule);
    Descriptor {
        id: rule.name(),
        name: text.pascal,
        short_description: message(text.short),
        full_description: message(text.full),
        help: message(text.help),
        default_configuration: Configuration { level: level(text.level) },
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

fn result(finding: &Finding, baseline: bool) -> SarifResult<'_> {
    let steps = finding.steps.iter();
    SarifResult {
        rule_id: finding.rule,
        rule_index: Rule::ALL.iter().position(|rule| rule.name() == finding.rule),
        level: level(finding.level),
        message: message(&format!("{}. {} ({})", finding.title, finding.reason, finding.verdict_text)),
        properties: Properties {
            verdict: finding.verdict,
            doubt: finding.doubt.filter(|doubt| *doubt != Doubt::Heuristic),
            proof: finding.proof,
            analyses: &finding.analyses,
            notes: &finding.notes,
        },
        locations: located(&finding.primary).into_iter().collect(),
        related_locations: steps.filter_map(|step| related(finding, step)).collect(),
        code_flows: code_flow(finding).into_iter().chain(witness_flow(finding)).collect(),
        partial_fingerprints: BTreeMap::from([(
            format!("keirin/{}", fingerprint::VERSION),
            finding.fingerprint.as_str(),
        )]),
        // Readers keep it in a signed integer of perhaps no more than 32 bits.
        occurrence_count: finding.count.clamp(1, i32::MAX as u64),
        suppressions: match &finding.status {
            Status::Suppressed { reason } => {
                vec![Suppression { kind: "external", justification: reason.clone() }]
            }
            Status::Confirmed { by } => {
                let justification = format!("a surer finding says the same: {by}");
                vec![Suppression { kind: "external", justification }]
            }
            Status::Reported | Status::InBaseline => Vec::new(),
        },
        baseline_state: baseline.then_some(match finding.status {
            Status::InBaseline => "unchanged",
            Status::Reported | Status::Suppressed { .. } | Status::Confirmed { .. } => "new",
        }),
    }
}

/// A step as a location of its own, with its number as the id that messages can refer to.
fn related(finding: &Finding, step: &Step) -> Option<Location> {
    let mut location = located(step.site()?)?;
    location.id = Some(step.number);
    location.message = Some(step_message(finding, step));
    Some(location)
}

fn step_message(finding: &Finding, step: &Step) -> Message {
    let thread = finding.threads.get(step.thread).map_or("?", |thread| &thread.name);
    message(&format!("({}) {thread} {}", step.number, step.operation.text))
}

/// The interleaving of the finding's own steps.
fn code_flow(finding: &Finding) -> Option<CodeFlow> {
    flow(finding, &finding.steps, &finding.reason)
}

/// The schedule that shows the finding, if it says more than its steps do.
fn witness_flow(finding: &Finding) -> Option<CodeFlow> {
    let schedule = finding.schedule.as_ref().filter(|_| finding.witness.len() > finding.steps.len())?;
    let until = match schedule.as_observed_until {
        0 => String::new(),
        until => format!(", after all up to {} {until} went as observed", schedule.unit),
    };
    flow(finding, &finding.witness, &format!("A schedule of the same run that shows it{until}."))
}

/// One flow for each thread, joined by the execution order of their steps.
fn flow(finding: &Finding, steps: &[Step], text: &str) -> Option<CodeFlow> {
    let flows = finding.threads.iter().enumerate().filter_map(|(index, thread)| {
        let own = steps.iter().filter(|step| step.thread == index);
        let locations: Vec<_> = own.map(|step| flow_location(finding, step)).collect();
        (!locations.is_empty()).then(|| ThreadFlow {
            // Two threads may have the same name, but an id must be unique.
            id: format!("{index}: {}", thread.name),
            message: message(&thread.name),
            locations,
        })
    });
    let thread_flows: Vec<_> = flows.collect();
    (!thread_flows.is_empty()).then(|| CodeFlow { message: message(text), thread_flows })
}

fn flow_location(finding: &Finding, step: &Step) -> ThreadFlowLocation {
    let mut own = step.site().map_or_else(empty, location);
    own.message = Some(step_message(finding, step));
    ThreadFlowLocation {
        location: own,
        execution_order: step.number,
        kinds: match step.operation.kind {
            "acquire" | "acquire-shared" => vec!["acquire", "lock"],
            "release" | "release-shared" => vec!["release", "lock"],
            "call" => vec!["call", "function"],
            "return" => vec!["return", "function"],
            "branch" => vec!["branch"],
            "read" | "write" | "atomic-load" | "atomic-store" | "atomic-update" => vec!["memory"],
            _ => vec!["unknown"],
        },
        importance: "essential",
        stack: Stack {
            frames: step.stack.iter().map(|frame| StackFrame { location: location(frame) }).collect(),
        },
    }
}

/// A frame as a location, if anything is known about it.
fn located(frame: &Frame) -> Option<Location> {
    (frame != &Frame::default()).then(|| location(frame))
}

fn location(frame: &Frame) -> Location {
    let logical = |name: &String| LogicalLocation { fully_qualified_name: name.clone(), kind: "function" };
    let place = frame.place.as_ref();
    Location {
        physical_location: place.and_then(physical),
        logical_locations: frame.function.iter().map(logical).collect(),
        // A place that is no file can still be told in words.
        message: place.filter(|place| place.file.is_none()).map(|place| message(&place.text)),
        ..empty()
    }
}

fn empty() -> Location {
    Location { id: None, physical_location: None, logical_locations: Vec::new(), message: None }
}

fn physical(place: &Place) -> Option<PhysicalLocation> {
    let file = place.file.as_deref()?;
    let artifact_location = if file.starts_with('/') {
        ArtifactLocation { uri: format!("file://{}", percent_encoded(file)), uri_base_id: None }
    } else {
        ArtifactLocation { uri: percent_encoded(file), uri_base_id: Some(SOURCE_ROOT) }
    };
    let region = place.line.map(|line| Region { start_line: line, start_column: place.column });
    Some(PhysicalLocation { artifact_location, region })
}

/// A path as part of a URI: all but the unreserved characters and the slashes are encoded.
fn percent_encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

/// A message. SARIF reads `{0}` as a placeholder and `[text](target)` as a link, so both are defused in the way of the
/// specification.
fn message(text: &str) -> Message {
    let mut safe = text.replace('{', "{{").replace('}', "}}");
    if safe.contains("](") {
        safe = safe.replace('[', "\\[").replace(']', "\\]");
    }
    Message { text: safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(percent_encoded("src/a b#c?.c"), "src/a%20b%23c%3F.c");
        assert_eq!(percent_encoded("c:/ü.c"), "c%3A/%C3%BC.c");
    }

    #[test]
    fn messages_hold_no_placeholders_and_no_links() {
        assert_eq!(message("{0} a[1]").text, "{{0}} a[1]");
        assert_eq!(message("[x](http://evil)").text, "\\[x\\](http://evil)");
    }
}
