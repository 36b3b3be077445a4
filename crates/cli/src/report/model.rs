//! What a report says, with every decision taken: the renderers only lay it out.
//!
//! The JSON output is this model as it stands, so a change here that a reader could notice is a change of the schema
//! (`docs/report.schema.json`) and needs a new version of it.

use serde::Serialize;

/// Everything one run of keirin has to tell.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// Who made the report.
    pub(crate) tool: Tool,
    /// What was watched and how much was found.
    pub(crate) summary: Summary,
    /// The findings, in the order of [`super::arrange()`]: the surest first.
    pub(crate) findings: Vec<Finding>,
}

/// Who made the report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tool {
    /// Always `keirin`.
    pub(crate) name: &'static str,
    /// The version of keirin.
    pub(crate) version: String,
}

/// What the caller knows about the run that was watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    /// The traces or programs, as the user named them.
    pub(crate) inputs: Vec<String>,
    /// The names of the analyses that ran.
    pub(crate) analyses: Vec<String>,
    /// How many events they saw.
    pub(crate) events: u64,
    /// How many threads took part.
    pub(crate) threads: u64,
    /// What the reader of the report should know beside the findings: lost events, repairs, unused suppressions.
    pub(crate) notes: Vec<String>,
    /// How many findings the cap per site left out.
    pub(crate) hidden: u64,
    /// Whether the findings were compared with a baseline.
    pub(crate) baseline: bool,
    /// What to type next when nothing was found.
    pub(crate) next_when_clean: Option<String>,
}

/// What was watched and how much was found. Nothing here depends on the clock, so equal runs give equal reports.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    /// The traces or programs.
    pub(crate) inputs: Vec<String>,
    /// The analyses that ran.
    pub(crate) analyses: Vec<String>,
    /// How many events were seen.
    pub(crate) events: u64,
    /// How many threads took part.
    pub(crate) threads: u64,
    /// How many findings of each status.
    pub(crate) counts: Counts,
    /// How many of the reported findings are of each kind, in the order of the findings.
    pub(crate) kinds: Vec<Kind>,
    /// Whether the findings were compared with a baseline.
    pub(crate) baseline: bool,
    /// What the reader should know beside the findings.
    pub(crate) notes: Vec<String>,
    /// The whole summary in one line.
    pub(crate) line: String,
    /// The next command to type.
    pub(crate) next: Option<String>,
}

/// How many findings there are of each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Told to the user; these decide the exit code.
    pub(crate) reported: u64,
    /// Matched by an entry of the suppression file.
    pub(crate) suppressed: u64,
    /// Known from the baseline.
    pub(crate) in_baseline: u64,
    /// Suspected, and covered by a surer finding.
    pub(crate) confirmed: u64,
    /// Left out by the cap per site.
    pub(crate) hidden: u64,
}

/// How many reported findings there are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Kind {
    /// The stable name of the rule.
    pub(crate) rule: &'static str,
    /// How sure they are.
    pub(crate) verdict: Verdict,
    /// How many.
    pub(crate) count: u64,
}

/// How sure a finding is, the surest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// It happened in the run that was watched.
    Observed,
    /// Another schedule of the same run shows it.
    OtherSchedule,
    /// A heuristic thinks so.
    Suspected,
}

impl Verdict {
    /// The verdict in words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Verdict::Observed => "observed in this run",
            Verdict::OtherSchedule => "shown by another schedule of this run",
            Verdict::Suspected => "suspected, not observed",
        }
    }

    /// How loudly to tell it.
    pub(crate) fn level(self) -> Level {
        match self {
            Verdict::Observed => Level::Error,
            Verdict::OtherSchedule => Level::Warning,
            Verdict::Suspected => Level::Note,
        }
    }
}

/// How loudly a finding is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Level {
    /// Something is wrong.
    Error,
    /// Something can go wrong.
    Warning,
    /// Something looks wrong.
    Note,
}

/// What becomes of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Status {
    /// It is told, and counts.
    Reported,
    /// An entry of the suppression file matched.
    Suppressed {
        /// Why the entry is there.
        reason: String,
    },
    /// The baseline has it.
    InBaseline,
    /// It is only suspected, and a surer finding says the same.
    Confirmed {
        /// The fingerprint of the surer finding.
        by: String,
    },
}

/// One finding, with names.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// The stable name of the rule.
    pub(crate) rule: &'static str,
    /// How sure.
    pub(crate) verdict: Verdict,
    /// The verdict in words.
    pub(crate) verdict_text: &'static str,
    /// How loudly to tell it.
    pub(crate) level: Level,
    /// The analyses of this run that look for such findings.
    pub(crate) analyses: Vec<String>,
    /// What becomes of it.
    pub(crate) status: Status,
    /// What makes it the same finding in another run; see [`super::fingerprint`].
    pub(crate) fingerprint: String,
    /// What is wrong, in a few words.
    pub(crate) title: String,
    /// Why that is wrong, in one sentence.
    pub(crate) reason: String,
    /// What else the reader should know, a sentence each.
    pub(crate) notes: Vec<String>,
    /// How often it was seen.
    pub(crate) count: u64,
    /// The place to look at first.
    pub(crate) primary: Frame,
    /// The threads that take part, in order of appearance.
    pub(crate) threads: Vec<Thread>,
    /// The operations in the order of the interleaving, numbered from 1.
    pub(crate) steps: Vec<Step>,
    /// The kind of evidence: `cycle`, `race`, `locking` or `reduction`.
    pub(crate) evidence: &'static str,
    /// The memory that it is about, for a race or for locking.
    pub(crate) location: Option<Location>,
    /// The transactions of the cycle, the blamed one first; for a reduction, the block.
    pub(crate) transactions: Vec<Transaction>,
    /// What puts each transaction before the next.
    pub(crate) edges: Vec<Edge>,
    /// The blocks that the finding speaks against, outermost first.
    pub(crate) refuted: Vec<Block>,
    /// The schedule that shows the finding, if it is not the watched one.
    pub(crate) witness: Vec<Step>,
    /// The suspicions that this finding makes superfluous.
    pub(crate) confirms: Vec<Suspicion>,
    /// The finding as a picture. Not in the JSON, where everything it shows can be found elsewhere.
    #[serde(skip)]
    pub(crate) graph: Graph,
    /// The source text around the operations. Not in the JSON: it is in the user's files.
    #[serde(skip)]
    pub(crate) snippets: Vec<Snippet>,
}

/// A suspicion that a surer finding confirms.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Suspicion {
    /// The stable name of its rule.
    pub(crate) rule: &'static str,
    /// Its fingerprint.
    pub(crate) fingerprint: String,
}

/// A stretch of memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Location {
    /// Its name, or its address if it has none.
    pub(crate) name: String,
    /// How many bytes.
    pub(crate) size: u32,
    /// Whether the trace gave the name, so that it means the same in the next run.
    #[serde(skip)]
    pub(crate) named: bool,
}

/// A thread that takes part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Thread {
    /// Its name, made up from its number if it has none.
    pub(crate) name: String,
}

/// One operation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    /// Its number in the interleaving, from 1.
    pub(crate) number: usize,
    /// Index of the thread.
    pub(crate) thread: usize,
    /// Index of the transaction it belongs to.
    pub(crate) transaction: Option<usize>,
    /// What it does to the block that the finding is about.
    pub(crate) role: Option<Role>,
    /// What was done.
    pub(crate) operation: Operation,
    /// The locks that the thread held, if they matter to the finding.
    pub(crate) held: Option<Vec<HeldLock>>,
    /// Where in the trace, in words: `line 12`.
    pub(crate) position: Option<String>,
    /// The place and the open calls, innermost first; never empty, but perhaps without names.
    pub(crate) stack: Vec<Frame>,
}

impl Step {
    /// Where the operation itself is.
    pub(crate) fn site(&self) -> Option<&Frame> {
        self.stack.first()
    }

    /// The place of the operation itself.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.site().and_then(|site| site.place.as_ref())
    }
}

/// What an operation does to a block that cannot be moved together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// From here on nothing of the block can be moved further back.
    Commits,
    /// It would have to be moved back nevertheless.
    Breaks,
}

/// A lock that is held.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct HeldLock {
    /// Its name, made up if it has none.
    pub(crate) lock: String,
    /// Whether others may hold it at the same time.
    pub(crate) shared: bool,
}

/// What was done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Operation {
    /// The kind of operation, as a stable word.
    pub(crate) kind: &'static str,
    /// What it was done to.
    pub(crate) target: Option<Target>,
    /// The operation in words, for after a name: ``wrote `x` ``.
    pub(crate) text: String,
    /// The operation in short: `write x`.
    pub(crate) short: String,
    /// The operation as a verb of the past.
    #[serde(skip)]
    pub(crate) past: &'static str,
    /// The operation as a noun.
    #[serde(skip)]
    pub(crate) noun: &'static str,
}

/// What an operation is done to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Target {
    /// What kind of thing.
    pub(crate) kind: &'static str,
    /// Its name, made up if it has none.
    pub(crate) name: String,
    /// Whether the trace gave the name, so that it means the same in the next run.
    #[serde(skip)]
    pub(crate) named: bool,
}

/// A function and a place in it; either may be unknown.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct Frame {
    /// The function.
    pub(crate) function: Option<String>,
    /// The place.
    pub(crate) place: Option<Place>,
}

/// A place in the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Place {
    /// The place in words: `src/set.c:12:5`.
    pub(crate) text: String,
    /// The source file, relative to the folders that were searched if it is below one of them.
    pub(crate) file: Option<String>,
    /// Line, from 1.
    pub(crate) line: Option<u32>,
    /// Column, from 1.
    pub(crate) column: Option<u32>,
    /// What of it stays the same when the program is edited elsewhere or loaded at another address.
    #[serde(skip)]
    pub(crate) stable: String,
}

/// A transaction of a cycle.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Transaction {
    /// Index of the thread.
    pub(crate) thread: usize,
    /// The label of its block; none for an operation outside any block.
    pub(crate) region: Option<String>,
    /// The label as the trace gave it, empty if it was made up from a number that the next run may not repeat.
    #[serde(skip)]
    pub(crate) stable: String,
    /// Whether the finding blames it.
    pub(crate) blamed: bool,
    /// The blame in one word, empty if there is none.
    #[serde(skip)]
    pub(crate) blame: &'static str,
    /// Numbers of its steps, in program order.
    pub(crate) steps: Vec<usize>,
}

/// What puts one transaction before another.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Edge {
    /// Index of the earlier transaction.
    pub(crate) from: usize,
    /// Index of the later transaction.
    pub(crate) to: usize,
    /// Number of the earlier step; none for program order.
    pub(crate) from_step: Option<usize>,
    /// Number of the later step; none for program order.
    pub(crate) to_step: Option<usize>,
    /// The operation that made the edge.
    pub(crate) label: String,
    /// Whether this edge closed the cycle.
    pub(crate) closing: bool,
}

/// A block that a finding speaks against.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Block {
    /// Its label.
    pub(crate) region: String,
    /// The label as the trace gave it, empty if it was made up from a number that the next run may not repeat.
    #[serde(skip)]
    pub(crate) stable: String,
    /// Where it begins.
    pub(crate) begin: Frame,
}

/// A finding as a picture of boxes and lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Graph {
    /// The boxes.
    pub(crate) boxes: Vec<GraphBox>,
    /// The lines between them.
    pub(crate) edges: Vec<GraphEdge>,
}

/// A box with some lines of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GraphBox {
    /// The text.
    pub(crate) lines: Vec<String>,
    /// The outline.
    pub(crate) outline: Outline,
}

/// How a box is outlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outline {
    /// Once.
    Plain,
    /// Twice: the finding speaks against it.
    Double,
    /// Dashed: it did not happen, but may.
    Dashed,
}

/// A line between two boxes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GraphEdge {
    /// Index of the box where it starts.
    pub(crate) from: usize,
    /// Index of the box where it ends.
    pub(crate) to: usize,
    /// What to write beside it.
    pub(crate) label: String,
    /// How it is drawn.
    pub(crate) line: Line,
}

/// How a line is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// One comes before the other.
    Arrow,
    /// So does it here, against all the others.
    DashedArrow,
    /// Neither comes before the other.
    Dashed,
}

/// Some consecutive lines of a source file, with the marks of the operations in them.
#[derive(Clone, Debug)]
pub(crate) struct Snippet {
    /// The file.
    pub(crate) file: String,
    /// Number of the first line.
    pub(crate) first_line: usize,
    /// The lines, each ended by a line feed.
    pub(crate) text: String,
    /// The marks, in the order of the interleaving.
    pub(crate) marks: Vec<Mark>,
}

/// A marked stretch of a snippet.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// The marked bytes of the snippet's text.
    pub(crate) span: std::ops::Range<usize>,
    /// What to write beside it.
    pub(crate) label: String,
    /// Whether it belongs to the blamed transaction.
    pub(crate) primary: bool,
}
