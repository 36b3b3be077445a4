//! From ids to names: makes [`Finding`]s of the raw findings of an analysis.
//!
//! Raw findings may come from a damaged or hostile trace. An id without a name gets a made-up one, and an index that
//! points nowhere is left out; nothing here fails.

use super::fingerprint::fingerprint;
use super::model::{Block, Edge, Finding, Frame, Place, Status, Step, Thread, Transaction, Verdict};
use super::operation::describe;
use super::snippet::snippets;
use super::wording::CycleParts;
use crate::sources::Sources;
use keirin_core::event::{FunctionId, RegionId, SiteId, ThreadId};
use keirin_core::finding::{self, Cycle, Evidence, Moment, RawEdge, RawFinding, RawStep};
use keirin_core::stack::Stacks;
use keirin_core::trace::{self, NameKind, PositionUnit, Tables};
use std::collections::HashMap;

/// Deeper calls than this are left out of a report.
const MOST_FRAMES: usize = 64;

/// Everything that names are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    /// The names of the trace.
    pub(crate) tables: &'a Tables,
    /// The call stacks of the run.
    pub(crate) stacks: &'a Stacks,
    /// What the positions count.
    pub(crate) unit: PositionUnit,
    /// Where source text comes from.
    pub(crate) sources: &'a Sources,
}

/// Resolves the findings. Those with the same fingerprint become one, the first, with the counts added up.
pub(crate) fn resolve(raw: &[RawFinding], names: Names<'_>) -> Vec<Finding> {
    let mut findings = merge(raw.iter().map(|raw| names.finding(raw)));
    for finding in &mut findings {
        finding.snippets = snippets(finding, names.sources);
    }
    findings
}

/// Makes one of the findings with the same fingerprint: the first, with the counts added up.
pub(crate) fn merge(findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    let mut index = HashMap::new();
    for finding in findings {
        match index.get(&finding.fingerprint) {
            Some(&at) => {
                let first: &mut Finding = &mut merged[at];
                first.count = first.count.saturating_add(finding.count);
            }
            None => {
                index.insert(finding.fingerprint.clone(), merged.len());
                merged.push(finding);
            }
        }
    }
    merged
}

/// The threads of a finding, numbered in the order of their appearance.
struct Threads<'a> {
    tables: &'a Tables,
    ids: Vec<ThreadId>,
}

impl Threads<'_> {
    fn index(&mut self, thread: ThreadId) -> usize {
        self.ids.iter().position(|&known| known == thread).unwrap_or_else(|| {
            self.ids.push(thread);
            self.ids.len() - 1
        })
    }

    fn names(&self) -> Vec<Thread> {
        let name = |&id: &ThreadId| {
            if id.is_some() { self.tables.thread_name(id) } else { "an unknown thread".to_owned() }
        };
        self.ids.iter().map(|id| Thread { name: name(id) }).collect()
    }
}

impl Names<'_> {
    fn finding(self, raw: &RawFinding) -> Finding {
        let mut threads = Threads { tables: self.tables, ids: Vec::new() };
        let Evidence::Cycle(cycle) = &raw.evidence else { unreachable!("only velodrome is wired so far") };
        let mut owners = vec![None; raw.steps.len()];
        for (index, transaction) in cycle.transactions.iter().enumerate() {
            for &step in &transaction.steps {
                if let Some(owner) = owners.get_mut(step) {
                    *owner = Some(index);
                }
            }
        }
        let steps: Vec<Step> = raw
            .steps
            .iter()
            .enumerate()
            .map(|(index, step)| self.step(step, index, owners[index], &mut threads))
            .collect();
        let transactions = self.transactions(cycle, steps.len(), &mut threads);
        let edges = edges(cycle, &steps);
        let refuted: Vec<Block> = cycle
            .refuted
            .iter()
            .map(|block| Block {
                region: self.tables.region_name(block.region),
                stable: self.region_label(block.region),
                begin: self.frame(block.begin.site, FunctionId::NONE),
            })
            .collect();
        let (verdict, witness) = match &raw.verdict {
            finding::Verdict::Observed => (Verdict::Observed, &[][..]),
            finding::Verdict::OtherSchedule { witness } => (Verdict::OtherSchedule, &witness[..]),
            finding::Verdict::Suspected => (Verdict::Suspected, &[][..]),
        };
        let witness = witness
            .iter()
            .enumerate()
            .map(|(index, step)| self.step(step, index, None, &mut threads))
            .collect();
        let threads = threads.names();
        let parts = CycleParts {
            threads: &threads,
            steps: &steps,
            transactions: &transactions,
            edges: &edges,
            refuted: &refuted,
            blamed: cycle.blamed,
        };
        let (title, reason) = (parts.title(), parts.reason());
        Finding {
            rule: raw.rule.name(),
            verdict,
            verdict_text: verdict.text(),
            level: verdict.level(),
            status: Status::Reported,
            fingerprint: fingerprint(raw.rule.name(), &transactions, &refuted, &steps),
            title,
            reason,
            count: raw.count,
            primary: primary(&refuted, &transactions, &steps),
            threads,
            steps,
            transactions,
            edges,
            refuted,
            witness,
            snippets: Vec::new(),
        }
    }

    fn step(self, raw: &RawStep, index: usize, owner: Option<usize>, threads: &mut Threads<'_>) -> Step {
        let Moment { position, thread, .. } = raw.moment;
        Step {
            number: index + 1,
            thread: threads.index(thread),
            transaction: owner,
            operation: describe(raw.op, self.tables),
            position: (position > 0).then(|| format!("{} {position}", self.unit.noun())),
            stack: self.stack(raw.moment),
        }
    }

    /// The place of an operation and, outwards from it, the places of the calls that led there.
    fn stack(self, moment: Moment) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut site = moment.site;
        for call in self.stacks.frames(moment.stack).take(MOST_FRAMES) {
            frames.push(self.frame(site, call.function));
            site = call.call_site;
        }
        let outermost = self.frame(site, FunctionId::NONE);
        if frames.is_empty() || outermost != Frame::default() {
            frames.push(outermost);
        }
        frames
    }

    /// A site with the function around it. The site knows better than the call: it also sees inlined functions.
    fn frame(self, site: SiteId, called: FunctionId) -> Frame {
        let known = self.tables.site(site);
        let inner = known.and_then(|site| self.tables.function_name(site.function));
        let function = inner.or_else(|| self.tables.function_name(called)).map(str::to_owned);
        Frame { function, place: known.and_then(|site| self.place(&site.place)) }
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
                let file = self.sources.relative(self.tables.name(NameKind::File, file.0)?);
                let line = Some(line).filter(|&line| line > 0);
                let column = line.and(Some(column)).filter(|&column| column > 0);
                let numbers = [line, column].into_iter().flatten().map(|number| format!(":{number}"));
                let text = format!("{file}{}", numbers.collect::<String>());
                Some(Place { text, stable: file.clone(), file: Some(file), line, column })
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

    /// The label of a region if the trace gives one, else nothing.
    fn region_label(self, region: RegionId) -> String {
        self.tables.name(NameKind::Region, region.0).unwrap_or_default().to_owned()
    }

    fn transactions(self, cycle: &Cycle, steps: usize, threads: &mut Threads<'_>) -> Vec<Transaction> {
        let transaction = |(index, raw): (usize, &finding::RawTransaction)| Transaction {
            thread: threads.index(raw.thread),
            region: raw.region.is_some().then(|| self.tables.region_name(raw.region)),
            stable: self.region_label(raw.region),
            blamed: cycle.blamed && index == 0,
            steps: raw.steps.iter().filter(|&&step| step < steps).map(|step| step + 1).collect(),
        };
        cycle.transactions.iter().enumerate().map(transaction).collect()
    }
}

/// One edge for each neighbouring pair of transactions on the cycle: the conflict, or else program order.
fn edges(cycle: &Cycle, steps: &[Step]) -> Vec<Edge> {
    let length = cycle.transactions.len();
    let owner = |step: usize| steps.get(step).and_then(|step| step.transaction);
    let between = |edge: &&RawEdge| Some((owner(edge.from)?, owner(edge.to)?));
    let conflicts: HashMap<_, _> =
        cycle.edges.iter().filter_map(|edge| Some((between(&edge)?, edge))).collect();
    let mut edges = Vec::new();
    for from in 0..length {
        let to = (from + 1) % length;
        let closing = to == 0;
        let same_thread = cycle.transactions[from].thread == cycle.transactions[to].thread;
        match conflicts.get(&(from, to)) {
            Some(edge) => edges.push(Edge {
                from,
                to,
                from_step: Some(edge.from + 1),
                to_step: Some(edge.to + 1),
                label: steps[edge.to].operation.short.clone(),
                closing,
            }),
            None if same_thread && from != to => edges.push(Edge {
                from,
                to,
                from_step: None,
                to_step: None,
                label: "program order".to_owned(),
                closing,
            }),
            None => {}
        }
    }
    edges
}

/// The place to look at first: where the refuted block begins, or else the best known place of a step, those of the
/// first transaction before others.
fn primary(refuted: &[Block], transactions: &[Transaction], steps: &[Step]) -> Frame {
    let begin = refuted.first().map(|block| &block.begin);
    let own = transactions.first().map_or(&[][..], |transaction| &transaction.steps[..]);
    let own = own.iter().filter_map(|number| steps.get(number - 1));
    let candidates = || begin.into_iter().chain(own.clone().chain(steps).filter_map(Step::site));
    let in_file = candidates().find(|frame| frame.place.as_ref().is_some_and(|place| place.file.is_some()));
    let any_place = || candidates().find(|frame| frame.place.is_some());
    let any = || candidates().find(|frame| frame.function.is_some());
    in_file.or_else(any_place).or_else(any).cloned().unwrap_or_default()
}
