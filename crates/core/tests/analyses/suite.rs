//! The traces of `testdata/traces`, with what each analysis must say about them.
//!
//! A trace tells its own expectations in comments: `# expect velodrome: line 7 refutes add`, or `none`. The line is that
//! of the first report. `refutes nothing` is a cycle that blames nobody. `# expect oracle: line 7` is for the definition
//! of serializability; traces that use events which the oracle does not know leave it out. `# expect fasttrack: line 7`
//! is the later access of the first race; the definition of a race is held to the same line.
//!
//! `# expect eraser: line 7` is the access that left no common lock. `# expect atomizer: line 7 refutes add` is the operation
//! that broke the reduction of the blocks. Expectations that are added later stand after the last event, so that the lines of
//! the others stay as they are.

use crate::support::oracle::Serializability;
use crate::support::races::Races;
use keirin_core::analysis::Analysis;
use keirin_core::analysis::aerodrome::AeroDrome;
use keirin_core::analysis::atomizer::Atomizer;
use keirin_core::analysis::eraser::Eraser;
use keirin_core::analysis::fasttrack::FastTrack;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::graph::{Graph, GraphOptions};
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::event::Event;
use keirin_core::finding::{Evidence, RawFinding, Refuted};
use keirin_core::replay::{ReplayOptions, replay};
use keirin_core::trace::{Batch, Sink, Source, native, std_format};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) expected: BTreeMap<String, String>,
}

fn cases() -> Vec<Case> {
    cases_in("traces")
}

pub(crate) fn cases_in(folder: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder);
    let mut cases: Vec<Case> = std::fs::read_dir(&folder)
        .expect("the folder of traces is there")
        .map(|entry| {
            let path = entry.expect("an entry of the folder of traces").path();
            let text = std::fs::read_to_string(&path).expect("a readable trace");
            let expected = text
                .lines()
                .filter_map(|line| line.strip_prefix("# expect ")?.split_once(": "))
                .map(|(analysis, result)| (analysis.to_owned(), result.to_owned()))
                .collect();
            Case { name: path.file_name().unwrap().to_string_lossy().into_owned(), text, expected }
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(cases.len() >= 20, "the suite is incomplete");
    cases
}

pub(crate) fn events(source: &mut dyn Source) -> Vec<(u64, Event)> {
    let mut batch = Batch::new();
    let mut events = Vec::new();
    while source.fill(&mut batch).expect("a readable trace") {
        events.extend(batch.iter().map(|(position, event)| (position, *event)));
    }
    events.extend(batch.iter().map(|(position, event)| (position, *event)));
    events
}

/// Runs an analysis and describes its first finding as the traces do.
fn first_finding<A: Analysis>(source: &mut dyn Source, analysis: &A) -> String {
    let outcome = replay(source, analysis, ReplayOptions::default(), |_| {}).expect("a well-formed trace");
    let Some(finding) = outcome.findings.first() else { return "none".to_owned() };
    describe(finding, source)
}

fn describe(finding: &RawFinding, source: &dyn Source) -> String {
    let line = |step: usize| finding.steps[step].moment.position;
    match &finding.evidence {
        Evidence::Cycle(cycle) => {
            let refuted = labels(&cycle.refuted, source);
            format!("line {} refutes {refuted}", line(cycle.edges.last().unwrap().to))
        }
        Evidence::Reduction(reduction) => {
            format!("line {} refutes {}", line(reduction.broken), labels(&reduction.blocks, source))
        }
        Evidence::Race(_) | Evidence::Locking(_) | Evidence::Torn(_) => {
            format!("line {}", line(finding.steps.len() - 1))
        }
    }
}

fn labels(blocks: &[Refuted], source: &dyn Source) -> String {
    let names: Vec<String> = blocks.iter().map(|block| source.tables().region_name(block.region)).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(" ") }
}

/// What a trace expects of an analysis; every trace must say.
fn expected<'a>(case: &'a Case, analysis: &str) -> &'a str {
    case.expected.get(analysis).unwrap_or_else(|| panic!("{}: no expectation for {analysis}", case.name))
}

pub(crate) fn text(case: &Case) -> std_format::Reader<&[u8]> {
    std_format::Reader::new(case.text.as_bytes())
}

#[test]
fn velodrome_says_what_each_trace_expects() {
    for case in cases() {
        let expected = expected(&case, "velodrome");
        let found = first_finding(&mut text(&case), &Velodrome::new(Reach::default()));
        assert_eq!(found, expected, "{}", case.name);
        for merge in [true, false] {
            for collect in [true, false] {
                let graph = Graph::new(GraphOptions { merge, collect });
                let found = first_finding(&mut text(&case), &Velodrome::new(graph));
                assert_eq!(found, expected, "{}: published, {merge} {collect}", case.name);
            }
        }
    }
}

#[test]
fn aerodrome_has_velodromes_verdict() {
    for case in cases() {
        let analysis = AeroDrome::new();
        replay(&mut text(&case), &analysis, ReplayOptions::default(), |_| {}).expect("a well-formed trace");
        let expected = expected(&case, "velodrome") != "none";
        assert_eq!(analysis.violation().is_some(), expected, "{}", case.name);
    }
}

#[test]
fn eraser_says_what_each_trace_expects() {
    for case in cases() {
        let found = first_finding(&mut text(&case), &Eraser::new());
        assert_eq!(found, expected(&case, "eraser"), "{}", case.name);
    }
}

#[test]
fn atomizer_says_what_each_trace_expects() {
    for case in cases() {
        let found = first_finding(&mut text(&case), &Atomizer::new());
        assert_eq!(found, expected(&case, "atomizer"), "{}", case.name);
    }
}

#[test]
fn fasttrack_and_the_definition_of_a_race_say_what_each_trace_expects() {
    for case in cases() {
        let expected = expected(&case, "fasttrack");
        assert_eq!(first_finding(&mut text(&case), &FastTrack::exact()), expected, "{}", case.name);
        let (lines, events): (Vec<u64>, Vec<Event>) = events(&mut text(&case)).into_iter().unzip();
        let found = match Races::new(&events).first() {
            Some(index) => format!("line {}", lines[index]),
            None => "none".to_owned(),
        };
        assert_eq!(found, expected, "{}: by definition", case.name);
    }
}

#[test]
fn the_oracle_says_what_each_trace_expects() {
    let mut judged = 0;
    for case in cases() {
        let Some(expected) = case.expected.get("oracle") else { continue };
        let (lines, events): (Vec<u64>, Vec<Event>) = events(&mut text(&case)).into_iter().unzip();
        let found = match Serializability::new(&events).first_violation() {
            Some(index) => format!("line {}", lines[index]),
            None => "none".to_owned(),
        };
        assert_eq!(&found, expected, "{}", case.name);
        judged += 1;
    }
    assert!(judged >= 15);
}

#[test]
fn the_formats_carry_all_that_an_analysis_needs() {
    for case in cases().into_iter().chain(cases_in("task_traces")) {
        let mut source = text(&case);
        let mut batch = Batch::new();
        let mut writer = native::Writer::new(Vec::new()).unwrap();
        let mut text_writer = std_format::Writer::new(Vec::new());
        loop {
            let more = source.fill(&mut batch).unwrap();
            writer.write(&batch, source.tables()).unwrap();
            text_writer.write(&batch, source.tables()).unwrap();
            if !more {
                break;
            }
        }
        writer.finish(source.tables()).unwrap();
        text_writer.finish(source.tables()).unwrap();

        let bytes = writer.into_inner();
        let mut back = native::Reader::new(Cursor::new(&bytes)).unwrap();
        let native_events: Vec<Event> = events(&mut back).into_iter().map(|(_, event)| event).collect();
        let text_events: Vec<Event> = events(&mut text(&case)).into_iter().map(|(_, event)| event).collect();
        assert_eq!(native_events, text_events, "{}: native", case.name);
        assert_eq!(back.tables(), source.tables(), "{}: native", case.name);

        let written = text_writer.into_inner();
        let mut again = std_format::Reader::new(&*written);
        let again: Vec<Event> = events(&mut again).into_iter().map(|(_, event)| event).collect();
        assert_eq!(again, text_events, "{}: text", case.name);
    }
}
