//! From ids to names: makes [`Finding`]s of the raw findings of an analysis.
//!
//! Raw findings may come from a damaged or hostile trace. An id without a name gets a made-up one, and an index that
//! points nowhere is left out; nothing here fails.

use super::actors::{Threads, actor_of};
use super::evidence::{self, Scene};
use super::fingerprint::Identity;
use super::frames;
use super::gaps;
use super::model::{
    Block, Code, Doubt, Finding, Frame, Level, Place, Proof, Status, Step, Transaction, Verdict,
};
use super::operation::describe;
use super::origins;
use super::schedule;
use super::snippet::snippets;
use super::text::list;
use crate::sources::Sources;
use crate::symbols::{self, CodeFrame, Symbols};
use keirin_core::event::{FunctionId, RegionId, SiteId, StackId};
use keirin_core::finding::{self, Moment, RawFinding, RawStep, Refuted};
use keirin_core::stack::Stacks;
use keirin_core::tasks::Actor;
use keirin_core::trace::{self, NameKind, PositionUnit, Tables};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Deeper calls than this are left out of a report.
const MOST_FRAMES: usize = 64;

/// Verdicts that say what a schedule keeps of the observed run.
const WITH_BRANCHES: &str = "in another schedule of the same run; a schedule that shows it was found and checked, with values for which all branches go as they must";
const WITH_VALUES: &str = "in another schedule of the same run; a schedule that shows it was found and checked, in which all that is read is the same";

/// What is missing if a finding about tasks was not examined.
const UNEXAMINED: &str = "Which tasks did it is not known: the search for a schedule, which would tell, was left out (--no-witness).";

/// The verdict if it is known that some schedule shows a finding, and not which.
const PROVED: &str = "in another schedule of the same run, as its tasks and locks prove";

/// Everything that names are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    /// What the user calls the trace.
    pub(crate) trace: &'a str,
    /// The names of the trace.
    pub(crate) tables: &'a Tables,
    /// The call stacks of the run.
    pub(crate) stacks: &'a Stacks,
    /// What the positions count.
    pub(crate) unit: PositionUnit,
    /// Where source text comes from.
    pub(crate) sources: &'a Sources,
    /// What names instructions.
    pub(crate) symbols: &'a Symbols,
}

/// Resolves the findings. Those that are the same become one, with the counts added up.
pub(crate) fn resolve(raw: &[RawFinding], names: Names<'_>) -> Vec<Finding> {
    let mut findings = merge(raw.iter().map(|raw| names.finding(raw)), u64::saturating_add);
    for finding in &mut findings {
        finding.snippets = snippets(finding, names.sources);
        gaps::look(finding, names.sources);
    }
    findings
}

/// Makes one of the findings with the same fingerprint at the same places: the surest, of equally sure ones the one with
/// most writes, and of these the first. `counted` makes one count of two: sightings in different runs add up, those of
/// different analyses of one run do not.
pub(crate) fn merge(
    findings: impl IntoIterator<Item = Finding>,
    counted: fn(u64, u64) -> u64,
) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    let mut index = HashMap::new();
    for finding in findings {
        let key = key(&finding);
        match index.get(&key) {
            Some(&at) => {
                let first: &mut Finding = &mut merged[at];
                let count = counted(first.count, finding.count);
                if strength(&finding) < strength(first) {
                    *first = finding;
                }
                first.count = count;
            }
            None => {
                index.insert(key, merged.len());
                merged.push(finding);
            }
        }
    }
    merged
}

/// What two findings of one report must have in common to be one. A fingerprint knows no lines, so that it outlives edits;
/// within one report they tell different mistakes apart.
fn key(finding: &Finding) -> (String, Vec<String>) {
    let race = finding.evidence == "race";
    let place = |step: &Step| {
        let Some(place) = step.place() else { return String::new() };
        match (&place.file, place.line) {
            // The read and the write of one statement are one race, and have different columns.
            (Some(file), Some(line)) if race => format!("{file}:{line}"),
            (Some(_), Some(_)) => place.text.clone(),
            _ => place.stable.clone(),
        }
    };
    let mut places: Vec<String> = finding.steps.iter().map(place).collect();
    if race {
        places.sort_unstable();
    }
    (finding.fingerprint.clone(), places)
}

/// The strongest finding is the least.
fn strength(finding: &Finding) -> (Verdict, Option<Doubt>, Reverse<usize>) {
    let writes = |step: &&Step| !matches!(step.operation.kind, "read" | "atomic-load");
    let writes = if finding.evidence == "race" { finding.steps.iter().filter(writes).count() } else { 0 };
    (finding.verdict, finding.doubt, Reverse(writes))
}

impl Names<'_> {
    fn finding(self, raw: &RawFinding) -> Finding {
        let (verdict, doubt, witness) = match &raw.verdict {
            finding::Verdict::Observed => (Verdict::Observed, None, None),
            finding::Verdict::OtherSchedule { witness } => (Verdict::OtherSchedule, None, witness.as_deref()),
            finding::Verdict::Suspected(doubt) => (Verdict::Suspected, Some(doubt_of(*doubt)), None),
        };
        let mut threads = Threads::new(self, raw.lineage.as_ref());
        let steps = raw.steps.iter().enumerate().map(|(index, step)| {
            let actor = actor_of(raw, index).unwrap_or(Actor::Thread(step.moment.thread));
            self.step(step, index, threads.index(actor))
        });
        let steps = steps.collect();
        let mut scene = Scene { names: self, verdict, threads, steps };
        let mut told = evidence::tell(&raw.evidence, &mut scene);
        let lineage = raw.lineage.as_ref().map(|lineage| scene.threads.lineage(lineage));
        if let Some(lineage) = &lineage {
            told.graph = evidence::descent::graph(lineage, &told, &scene);
        }
        let two_sides = told.transactions.is_empty();
        told.notes.extend(unknown_places(&raw.steps, two_sides));
        told.notes.extend(origins::notes(raw, self));
        if doubt == Some(Doubt::NotExamined) && lineage.is_none() {
            told.notes.push(UNEXAMINED.to_owned());
        }
        let proof = (verdict == Verdict::OtherSchedule).then(|| match witness.map(|witness| witness.proof) {
            None => Proof::Structure,
            Some(finding::Proof::Operations) => Proof::Operations,
            Some(finding::Proof::Branches) => Proof::Branches,
            Some(finding::Proof::Values) => Proof::Values,
        });
        if proof == Some(Proof::Structure) {
            told.notes.push(format!("{} {}", told.proof, self.examined()));
        }
        let Scene { mut threads, steps, .. } = scene;
        let witness = witness.map(|witness| schedule::resolve(witness, self, &mut threads));
        let (schedule, witness) = witness.unzip();
        let rule = raw.rule.name();
        let identity = Identity {
            rule,
            transactions: &told.transactions,
            blocks: &told.blocks,
            variable: told.identity.variable.as_deref(),
            steps: told.identity.steps.iter().filter_map(|&step| steps.get(step)).collect(),
            any_order: told.identity.any_order,
            any_kind: told.identity.any_kind,
        };
        Finding {
            rule,
            verdict,
            doubt,
            proof,
            verdict_text: match (doubt, proof) {
                (Some(doubt), _) => doubt.text(told.suspicion),
                (None, Some(Proof::Structure)) => PROVED,
                (None, Some(Proof::Branches)) => WITH_BRANCHES,
                (None, Some(Proof::Values)) => WITH_VALUES,
                (None, Some(Proof::Operations) | None) => verdict.text(),
            },
            level: if doubt == Some(Doubt::LocksForbid) { Level::Note } else { verdict.level() },
            analyses: Vec::new(),
            status: Status::Reported,
            fingerprint: identity.fingerprint(),
            title: told.title,
            reason: told.reason,
            notes: told.notes,
            count: raw.count,
            primary: primary(&told.places),
            threads: threads.list(),
            lineage,
            steps,
            evidence: told.kind,
            whole: told.whole,
            location: told.location,
            transactions: told.transactions,
            edges: told.edges,
            refuted: told.blocks,
            witness: witness.unwrap_or_default(),
            schedule,
            confirms: Vec::new(),
            confirmation: None,
            graph: told.graph,
            snippets: Vec::new(),
            often_meant: false,
        }
    }

    /// The command that works out schedules.
    fn examined(self) -> String {
        format!("Such a schedule is worked out by: keirin run --examine -- {}", self.trace)
    }

    /// True if tasks have no numbers that the next run would give them again: those of a program that ran, not of a trace.
    pub(super) fn numbers_are_chance(self) -> bool {
        self.unit == PositionUnit::Nothing
    }

    /// An operation that a thread or task with an index did.
    pub(super) fn step(self, raw: &RawStep, index: usize, thread: usize) -> Step {
        let position = raw.moment.position;
        Step {
            number: index + 1,
            thread,
            transaction: None,
            role: None,
            held: None,
            operation: describe(raw.op, self.tables),
            position: (position > 0 && self.unit != PositionUnit::Nothing)
                .then(|| format!("{} {position}", self.unit.noun())),
            code: self.code(raw.moment.site),
            stack: self.stack(raw.moment),
        }
    }

    /// The instruction of a site.
    fn code(self, site: SiteId) -> Option<Code> {
        let &trace::Place::Code { module, offset } = &self.tables.site(site)?.place else { return None };
        let module = self.tables.modules.get(module.0 as usize)?;
        let build_id = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Code { module: module.path.to_string(), build_id, offset })
    }

    /// The place of an operation and, outwards from it, the places of the calls that led there.
    fn stack(self, moment: Moment) -> Vec<Frame> {
        self.stack_of(moment.site, moment.stack)
    }

    /// A place and, outwards from it, the places of calls.
    pub(super) fn stack_of(self, mut site: SiteId, stack: StackId) -> Vec<Frame> {
        let mut frames = Vec::new();
        for call in self.stacks.frames(stack).take(MOST_FRAMES) {
            frames.extend(self.frames(site, call.function));
            site = call.call_site;
        }
        let outermost = self.frames(site, FunctionId::NONE);
        if frames.is_empty() || outermost[0] != Frame::default() {
            frames.extend(outermost);
        }
        // Calls that go through the runtime are the program's and its library's for who reads this.
        let of_program = |frame: &Frame| !frame.function.as_deref().is_some_and(symbols::is_runtime);
        if frames.iter().any(of_program) {
            frames.retain(of_program);
        }
        frames
    }

    /// A site and, if it is in functions that were put into others, these from the inside out. Never empty.
    fn frames(self, site: SiteId, called: FunctionId) -> Vec<Frame> {
        if let Some(trace::Place::Code { module, offset }) = self.tables.site(site).map(|site| &site.place) {
            let code = self.symbols.frames(self.tables, *module, *offset);
            if !code.is_empty() {
                let unknown = || self.tables.site(site).and_then(|site| self.place(&site.place));
                return code.iter().map(|frame| self.code_frame(frame).or_place(unknown)).collect();
            }
        }
        vec![self.frame_of_tables(site, called)]
    }

    fn code_frame(self, frame: &CodeFrame) -> Frame {
        let place = frame.source.as_ref().map(|(file, line, column)| self.source_place(file, *line, *column));
        Frame { function: frame.function.as_deref().map(str::to_owned), place, inlined: frame.inlined }
    }

    /// A site with the function around it. The site knows better than the call: it also sees inlined functions. Of these
    /// it is the innermost that is the user's.
    pub(super) fn frame(self, site: SiteId, called: FunctionId) -> Frame {
        let mut frames = self.frames(site, called);
        let told = frames::telling(&frames).unwrap_or(0);
        frames.swap_remove(told)
    }

    fn frame_of_tables(self, site: SiteId, called: FunctionId) -> Frame {
        let known = self.tables.site(site);
        let inner = known.and_then(|site| self.tables.function_name(site.function));
        let function = inner.or_else(|| self.tables.function_name(called)).map(str::to_owned);
        Frame { function, place: known.and_then(|site| self.place(&site.place)), inlined: false }
    }

    fn place(self, place: &trace::Place) -> Option<Place> {
        match place {
            trace::Place::Unknown => None,
            trace::Place::Label(text) if text.is_empty() => None,
            trace::Place::Label(text) => Some(Place {
                text: text.to_string(),
                file: None,
                line: None,
                column: None,
                stable: text.to_string(),
            }),
            &trace::Place::Source { file, line, column } => {
                Some(self.source_place(self.tables.name(NameKind::File, file.0)?, line, column))
            }
            &trace::Place::Code { module, offset } => {
                let path = self
                    .tables
                    .modules
                    .get(module.0 as usize)
                    .map_or("unknown module", |module| &module.path);
                let name = path.rsplit('/').next().unwrap_or(path).to_owned();
                let text = format!("{name}+{offset:#x}");
                Some(Place { text, file: None, line: None, column: None, stable: name })
            }
        }
    }

    fn source_place(self, file: &str, line: u32, column: u32) -> Place {
        let file = self.sources.relative(file);
        let line = Some(line).filter(|&line| line > 0);
        let column = line.and(Some(column)).filter(|&column| column > 0);
        let numbers = [line, column].into_iter().flatten().map(|number| format!(":{number}"));
        let text = format!("{file}{}", numbers.collect::<String>());
        Place { text, stable: file.clone(), file: Some(file), line, column }
    }

    /// What a region is called.
    pub(super) fn region_name(self, region: RegionId) -> String {
        let Some(site) = region.critical_section() else { return self.tables.region_name(region) };
        match self.frame(site, FunctionId::NONE).place {
            Some(place) => format!("critical section at {}", place.text),
            None => "critical section".to_owned(),
        }
    }

    /// The label of a region if the trace gives one, else nothing.
    pub(super) fn region_label(self, region: RegionId) -> String {
        if let Some(site) = region.critical_section() {
            let frame = self.frame(site, FunctionId::NONE);
            let place = frame.place.map(|place| place.stable);
            let around: Vec<String> = [frame.function, place].into_iter().flatten().collect();
            return format!("critical section {}", around.join(" "));
        }
        self.tables.name(NameKind::Region, region.0).unwrap_or_default().to_owned()
    }

    /// A block that a finding speaks against.
    pub(super) fn block(self, block: &Refuted) -> Block {
        Block {
            region: self.region_name(block.region),
            stable: self.region_label(block.region),
            begin: self.frame(block.begin.site, FunctionId::NONE),
        }
    }

    /// A transaction of the thread with an index.
    pub(super) fn transaction(
        self,
        thread: usize,
        region: RegionId,
        blamed: bool,
        verdict: Verdict,
        steps: Vec<usize>,
    ) -> Transaction {
        Transaction {
            thread,
            region: region.is_some().then(|| self.region_name(region)),
            stable: self.region_label(region),
            blamed,
            blame: match (blamed, verdict) {
                (false, _) => "",
                (true, Verdict::Suspected) => "suspected",
                (true, Verdict::Observed | Verdict::OtherSchedule) => "blamed",
            },
            steps,
        }
    }
}

impl Frame {
    /// The frame, with another place if its own is not known.
    fn or_place(mut self, place: impl FnOnce() -> Option<Place>) -> Self {
        self.place = self.place.or_else(place);
        self
    }
}

fn doubt_of(doubt: finding::Doubt) -> Doubt {
    match doubt {
        finding::Doubt::Heuristic => Doubt::Heuristic,
        finding::Doubt::NotExamined => Doubt::NotExamined,
        finding::Doubt::LocksForbid => Doubt::LocksForbid,
        finding::Doubt::SearchGivenUp => Doubt::SearchGivenUp,
        finding::Doubt::ValuesUnknown => Doubt::ValuesUnknown,
        finding::Doubt::NeedsSolver => Doubt::NeedsSolver,
        finding::Doubt::OtherSide => Doubt::OtherSide,
    }
}

/// The first frame that is in a file, or else has any place, or else a function.
fn primary(candidates: &[Frame]) -> Frame {
    let in_file = |frame: &&Frame| frame.place.as_ref().is_some_and(|place| place.file.is_some());
    let in_file = candidates.iter().find(in_file);
    let any_place = || candidates.iter().find(|frame| frame.place.is_some());
    let any = || candidates.iter().find(|frame| frame.function.is_some());
    in_file.or_else(any_place).or_else(any).cloned().unwrap_or_default()
}

/// What the report owes its reader about places: both sides always, or the reason why not. That only one side has a
/// stack is remarkable if there are just two; of many operations some are often outside of any call.
fn unknown_places(steps: &[RawStep], two_sides: bool) -> Vec<String> {
    let placeless = |step: &RawStep| !step.moment.site.is_some() && !step.moment.stack.is_some();
    if steps.is_empty() {
        return Vec::new();
    }
    if steps.iter().all(placeless) {
        return vec!["The trace does not say where in the program the operations are.".to_owned()];
    }
    let has_calls = two_sides && steps.iter().any(|step| step.moment.stack.is_some());
    let numbers = |wanted: &dyn Fn(&RawStep) -> bool| -> Vec<String> {
        let wanted = steps.iter().enumerate().filter(|(_, step)| wanted(step));
        wanted.map(|(index, _)| format!("({})", index + 1)).collect()
    };
    let lost = numbers(&placeless);
    let without_calls =
        numbers(&|step: &RawStep| has_calls && !placeless(step) && !step.moment.stack.is_some());
    let mut notes = Vec::new();
    if !lost.is_empty() {
        notes.push(format!("The place and the stack of {} are no longer known.", list(&lost)));
    }
    if !without_calls.is_empty() {
        notes.push(format!("No calls that led to {} are known, only its place.", list(&without_calls)));
    }
    notes
}
