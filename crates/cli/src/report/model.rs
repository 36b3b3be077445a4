//! What a report says, with every decision taken: the renderers only lay it out.
//!
//! The JSON output is this model as it stands, so a change here that a reader could notice is a change of the schema
//! (`docs/report.schema.json`) and needs a new version of it.

pub(crate) use super::lineage::{Ancestor, Descent, Lineage, Side, spawned_recursively};
pub(crate) use super::picture::{Graph, GraphBox, GraphEdge, Line, Mark, Outline, Snippet};
use serde::{Deserialize, Serialize};

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
    /// How many tasks they ran, if an analysis looked at them.
    pub(crate) tasks: u64,
    /// What the reader of the report should know beside the findings: lost events, repairs, unused suppressions.
    pub(crate) notes: Vec<String>,
    /// How many findings the cap per site left out.
    pub(crate) hidden: u64,
    /// Whether the findings were compared with a baseline.
    pub(crate) baseline: bool,
    /// How much of a program that ran was watched, if it was not a trace.
    pub(crate) live: Option<Live>,
    /// What to type next when nothing was found.
    pub(crate) next_when_clean: Option<String>,
}

/// How much of a running program was watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Live {
    pub(crate) accesses: u64,
    /// How many locks it used, if these were looked at.
    pub(crate) locks: Option<u64>,
    /// What tasks did between two task constructs, if tasks were looked at.
    pub(crate) steps: u64,
    pub(crate) processes: u64,
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
    /// How many tasks they ran, if there were any and an analysis looked at them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tasks: Option<u64>,
    /// What tasks did between two task constructs, if it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) steps: Option<u64>,
    /// How many accesses of a program that ran were checked in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) accesses: Option<u64>,
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
    /// Told to the user; these, without the apparent ones, decide the exit code.
    pub(crate) reported: u64,
    /// Of the reported ones those that are apparent only: no schedule shows them.
    pub(crate) apparent: u64,
    /// Matched by an entry of the suppression file.
    pub(crate) suppressed: u64,
    /// Known from the baseline.
    pub(crate) in_baseline: u64,
    /// Covered by a finding that is surer or says more.
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
    /// Whether they are apparent only: no schedule shows them.
    pub(crate) apparent: bool,
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
    /// It may be so.
    Suspected,
}

/// Why a finding is no more than suspected, the strongest suspicion first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Doubt {
    /// The search for a schedule was given up.
    SearchGivenUp,
    /// It depends on values or conditions that were not told.
    ValuesUnknown,
    /// It depends on too many values, and there is no SMT solver.
    NeedsSolver,
    /// No schedule was looked for.
    NotExamined,
    /// It needs the other side of a branch, and nobody has asked whether a schedule leads there.
    OtherSide,
    /// The analysis is a heuristic.
    Heuristic,
    /// There is no schedule that shows it: the locks forbid it.
    LocksForbid,
}

impl Doubt {
    /// The doubt in words; a heuristic speaks for itself.
    pub(crate) fn text(self, heuristic: &'static str) -> &'static str {
        match self {
            Doubt::Heuristic => heuristic,
            Doubt::NotExamined => {
                "suspected from tasks and locks; no schedule was looked for, and it was not observed"
            }
            Doubt::OtherSide => {
                "suspected: a branch would have to go the other way than in this run, and whether it can was not asked; keirin run \
                 --diagnose settles it"
            }
            Doubt::SearchGivenUp => {
                "suspected: the search for a schedule that shows it was given up, and it was not observed"
            }
            Doubt::ValuesUnknown => {
                "suspected: whether a schedule shows it depends on values or conditions that the trace does not tell"
            }
            Doubt::NeedsSolver => {
                "suspected: whether a schedule shows it depends on more values than keirin goes through by itself, and no `z3` was \
                 found to be asked"
            }
            Doubt::LocksForbid => {
                "apparent only: no schedule of this run shows it, the locks seem to forbid it"
            }
        }
    }
}

/// What proves that another schedule shows a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Proof {
    /// The structure of the tasks and the locks: no schedule was worked out.
    Structure,
    /// A schedule of the same operations; nobody has looked at what they read.
    Operations,
    /// A schedule with values for which all branches go as they must.
    Branches,
    /// A schedule in which all that is read is the same.
    Values,
}

impl Verdict {
    /// The verdict in words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Verdict::Observed => "observed in this run",
            Verdict::OtherSchedule => {
                "in another schedule of the same run; a schedule that shows it was found and checked"
            }
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
    /// A finding that is surer, or says more, says the same.
    Confirmed {
        /// The fingerprint of that finding.
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
    /// Why it is no more than suspected.
    pub(crate) doubt: Option<Doubt>,
    /// What proves that another schedule shows it.
    pub(crate) proof: Option<Proof>,
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
    /// The threads and tasks that take part, in order of appearance.
    pub(crate) threads: Vec<Thread>,
    /// How the tasks that did the steps descend from each other.
    pub(crate) lineage: Option<Lineage>,
    /// The operations in the order of the interleaving, numbered from 1.
    pub(crate) steps: Vec<Step>,
    /// The kind of evidence: `cycle`, `race`, `locking`, `reduction` or `torn`.
    pub(crate) evidence: &'static str,
    /// What was to be whole, for a region that is torn.
    pub(crate) whole: Option<Whole>,
    /// The memory that it is about, for a race, for locking or for a torn region.
    pub(crate) location: Option<Location>,
    /// The transactions of the cycle, the blamed one first; for a reduction, the block; for a torn region, the region and
    /// what comes between.
    pub(crate) transactions: Vec<Transaction>,
    /// What puts each transaction before the next.
    pub(crate) edges: Vec<Edge>,
    /// The blocks that the finding speaks against, outermost first.
    pub(crate) refuted: Vec<Block>,
    /// The operations worth showing of the schedule that shows the finding, if it is not the watched one.
    pub(crate) witness: Vec<Step>,
    /// That schedule.
    pub(crate) schedule: Option<Schedule>,
    /// The suspicions and lock gaps that this finding makes superfluous.
    pub(crate) confirms: Vec<Suspicion>,
    /// The program itself has shown it, when `keirin confirm` steered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confirmation: Option<Confirmation>,
    /// The finding as a picture. Not in the JSON, where everything it shows can be found elsewhere.
    #[serde(skip)]
    pub(crate) graph: Graph,
    /// The source text around the operations. Not in the JSON: it is in the user's files.
    #[serde(skip)]
    pub(crate) snippets: Vec<Snippet>,
    /// It looks like something that is often meant, as a note says: others come first.
    #[serde(skip)]
    pub(crate) often_meant: bool,
}

/// A suspicion that a surer finding confirms.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Suspicion {
    /// The stable name of its rule.
    pub(crate) rule: &'static str,
    /// Its fingerprint.
    pub(crate) fingerprint: String,
}

/// How a program has shown a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Confirmation {
    /// The name of the program.
    pub(crate) program: String,
    /// In which try, from 1.
    #[serde(rename = "try")]
    pub(crate) attempt: u64,
}

impl Confirmation {
    /// The same in a sentence.
    pub(crate) fn text(&self) -> String {
        format!("Confirmed: `keirin confirm` made {} show it, in try {}.", self.program, self.attempt)
    }
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

/// A thread or a task that takes part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Thread {
    /// Its name, made up from its number if it has none. That of a task says where it was spawned.
    pub(crate) name: String,
    /// Whether it is a task.
    pub(crate) task: bool,
    /// Where it was spawned, if that is known.
    pub(crate) spawned: Option<Frame>,
}

/// What was to be whole: which of the ways to say so applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Whole {
    /// A block that the program marks.
    Block,
    /// A function that a rule names.
    Function,
    /// What a task does between two task constructs.
    Step,
    /// Two holds of a lock, the first reading what the second writes.
    Gap,
}

/// A schedule that shows a finding.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Schedule {
    /// The trace whose operations it puts into another order.
    pub(crate) trace: String,
    /// What positions count: `line` or `event`.
    pub(crate) unit: &'static str,
    /// Everything up to this position happens as observed.
    pub(crate) as_observed_until: u64,
    /// What follows.
    pub(crate) segments: Vec<Segment>,
}

/// Consecutive operations of one thread or task.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Segment {
    /// Index of the thread.
    pub(crate) thread: usize,
    /// Position of the first operation in the trace.
    pub(crate) first: u64,
    /// Position of the last one.
    pub(crate) last: u64,
    /// How many operations of the thread that are.
    pub(crate) operations: u64,
    /// Numbers of those that are shown, in the list of the witness.
    pub(crate) steps: Vec<usize>,
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
    /// The instruction, if it is known: what `keirin confirm` finds it by in another run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<Code>,
    /// The place and the open calls, innermost first; never empty, but perhaps without names.
    pub(crate) stack: Vec<Frame>,
}

impl Step {
    /// Where the operation is: the innermost frame that is the user's own, past what headers and libraries of the system do.
    pub(crate) fn site(&self) -> Option<&Frame> {
        self.stack.get(super::frames::telling(&self.stack)?)
    }

    /// The place of the operation.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.site().and_then(|site| site.place.as_ref())
    }
}

/// An instruction of a program or a library.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Code {
    /// The file.
    pub(crate) module: String,
    /// Its build id, in hexadecimal digits; empty if it has none.
    pub(crate) build_id: String,
    /// The address in the file of what follows the operation.
    pub(crate) offset: u64,
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// The function.
    pub(crate) function: Option<String>,
    /// The place.
    pub(crate) place: Option<Place>,
    /// The compiler has put the function into its caller, which is the next frame.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) inlined: bool,
}

/// A place in the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
