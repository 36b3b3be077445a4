//! What supports a finding: one module for each kind of evidence says what the finding is called, why it is wrong, what
//! identifies it, where to look first and how it is drawn. Nothing else in the report asks for the kind.

mod cycle;
pub(super) mod descent;
mod locking;
mod race;
mod reduction;
mod torn;

use super::actors::Threads;
use super::model::{
    Block, Edge, Frame, Graph, GraphBox, Location, Operation, Outline, Step, Target, Transaction, Verdict,
    Whole,
};
use super::resolve::Names;
use super::text::cut;
use keirin_core::event::Addr;
use keirin_core::finding::Evidence;

/// A thread is named several times in a sentence, so its name is cut shorter than others.
const LONGEST_THREAD: usize = 40;

/// What a heuristic over locks says of itself.
const SUSPECTED_FROM_LOCKS: &str = "suspected from the locks, not observed";

/// Why some schedule shows what was found about the tasks of a run.
const PROVED_BY_TASKS: &str = "Nothing in the structure of the tasks orders it otherwise, and no lock keeps the other task out: another schedule of the same run shows it.";

/// What all kinds of evidence start from.
pub(super) struct Scene<'a> {
    pub(super) names: Names<'a>,
    pub(super) verdict: Verdict,
    pub(super) threads: Threads<'a>,
    pub(super) steps: Vec<Step>,
}

/// What a kind of evidence makes of it.
pub(super) struct Told {
    /// The stable word for the kind.
    pub(super) kind: &'static str,
    pub(super) title: String,
    pub(super) reason: String,
    /// How to say that it is only suspected.
    pub(super) suspicion: &'static str,
    /// Why some schedule shows it, if none was worked out.
    pub(super) proof: &'static str,
    pub(super) transactions: Vec<Transaction>,
    pub(super) edges: Vec<Edge>,
    pub(super) blocks: Vec<Block>,
    pub(super) whole: Option<Whole>,
    pub(super) location: Option<Location>,
    pub(super) notes: Vec<String>,
    pub(super) graph: Graph,
    pub(super) identity: Identity,
    /// Where to look, best first.
    pub(super) places: Vec<Frame>,
}

/// What, beside the rule and the labels of transactions and blocks, makes it the same finding in another run.
#[derive(Default)]
pub(super) struct Identity {
    /// The variable, if it has a name that means the same in the next run.
    pub(super) variable: Option<String>,
    /// Indices of the steps that matter otherwise.
    pub(super) steps: Vec<usize>,
    /// Whether the steps may come the other way round next time.
    pub(super) any_order: bool,
    /// Whether a step may be a read in one run and a write in the next.
    pub(super) any_kind: bool,
}

/// Asks the module for the kind of evidence.
pub(super) fn tell(evidence: &Evidence, scene: &mut Scene<'_>) -> Told {
    match evidence {
        Evidence::Cycle(cycle) => cycle::tell(cycle, scene),
        Evidence::Race(race) => race::tell(race, scene),
        Evidence::Locking(locking) => locking::tell(locking, scene),
        Evidence::Reduction(reduction) => reduction::tell(reduction, scene),
        Evidence::Torn(torn) => torn::tell(torn, scene),
    }
}

impl Scene<'_> {
    fn suspected(&self) -> bool {
        self.verdict == Verdict::Suspected
    }

    /// A thread within a sentence.
    fn thread(&self, index: usize) -> String {
        cut(&self.threads.name(index), LONGEST_THREAD).into_owned()
    }

    /// A thread as the first word of a sentence.
    fn subject(&self, index: usize) -> String {
        let name = self.thread(index);
        if self.threads.is_task(index) {
            return capital(&name);
        }
        if name.to_lowercase().contains("thread") { capital(&name) } else { format!("Thread {name}") }
    }

    /// The step of an index that came with the finding.
    fn step(&self, index: usize) -> Option<&Step> {
        self.steps.get(index)
    }

    /// The places of the steps, the latest first: there most is known.
    fn places_backwards(&self) -> Vec<Frame> {
        self.steps.iter().rev().filter_map(Step::site).cloned().collect()
    }

    fn location(&self, addr: Addr, size: u32) -> (Location, Target) {
        let target = super::operation::variable(addr, self.names.tables);
        (Location { name: target.name.clone(), size, named: target.named }, target)
    }

    /// A step as a box of its own.
    fn step_box(&self, step: &Step) -> GraphBox {
        let mut lines =
            vec![format!("{}: ({}) {}", self.threads.name(step.thread), step.number, step.operation.short)];
        lines.extend(step.place().map(|place| format!("at {}", place.text)));
        GraphBox { lines, outline: Outline::Plain }
    }
}

/// True for operations on memory.
fn is_access(operation: &Operation) -> bool {
    operation.target.as_ref().is_some_and(|target| target.kind == "variable")
}

fn is_atomic(operation: &Operation) -> bool {
    operation.kind.starts_with("atomic-")
}

/// A text as the start of a sentence.
pub(super) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// What to say of the blocks within the one that the title names.
fn nested_note(blocks: &[Block], suspected: bool) -> Option<String> {
    let nested: Vec<String> = blocks.iter().skip(1).map(|block| super::text::quoted(&block.region)).collect();
    let be = match (suspected, nested.len()) {
        (_, 0) => return None,
        (true, _) => "may not be",
        (false, 1) => "is not",
        (false, _) => "are not",
    };
    Some(format!("Inside it {} {be} atomic either.", super::text::list(&nested)))
}
