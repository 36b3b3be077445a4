//! Transactions that each must come before the next, and the last before the first.

use super::super::model::{
    Block, Edge, Frame, Graph, GraphBox, GraphEdge, Line, Outline, Step, Transaction, Verdict,
};
use super::super::operation::phrase;
use super::super::text::{list, quoted};
use super::{Identity, PROVED_BY_TASKS, Scene, Told, capital, nested_note};
use keirin_core::finding::{Cycle, RawEdge, RawTransaction};
use keirin_core::tasks::Actor;
use std::collections::HashMap;

/// Edges told one by one; a longer cycle is told by its first ones.
const MOST_EDGES: usize = 4;

/// Regions named in a title.
const MOST_REGIONS: usize = 3;

/// Tells a finding that is a cycle.
pub(super) fn tell(cycle: &Cycle, scene: &mut Scene<'_>) -> Told {
    for (index, transaction) in cycle.transactions.iter().enumerate() {
        for &step in &transaction.steps {
            if let Some(step) = scene.steps.get_mut(step) {
                step.transaction = Some(index);
            }
        }
    }
    let transactions = transactions(cycle, scene);
    let edges = edges(cycle, &scene.steps);
    let blocks: Vec<Block> = cycle.refuted.iter().map(|block| scene.names.block(block)).collect();
    let blamed = cycle.blamed;
    let parts = Parts { scene, transactions: &transactions, edges: &edges, blocks: &blocks, blamed };
    Told {
        kind: "cycle",
        title: parts.title(),
        reason: parts.reason(),
        suspicion: Verdict::Suspected.text(),
        proof: PROVED_BY_TASKS,
        whole: None,
        location: None,
        notes: nested_note(&blocks, scene.suspected()).into_iter().collect(),
        graph: parts.graph(),
        identity: Identity { steps: (0..scene.steps.len()).collect(), ..Identity::default() },
        places: parts.places(),
        transactions,
        edges,
        blocks,
    }
}

fn transactions(cycle: &Cycle, scene: &mut Scene<'_>) -> Vec<Transaction> {
    let (names, steps) = (scene.names, scene.steps.len());
    let transaction = |(index, raw): (usize, &RawTransaction)| {
        let steps = raw.steps.iter().filter(|&&step| step < steps).map(|step| step + 1).collect();
        let blamed = cycle.blamed && index == 0;
        let thread = scene.threads.index(Actor::Thread(raw.thread));
        names.transaction(thread, raw.region, blamed, scene.verdict, steps)
    };
    cycle.transactions.iter().enumerate().map(transaction).collect()
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

/// What is known about a cycle.
struct Parts<'a, 'n> {
    scene: &'a Scene<'n>,
    transactions: &'a [Transaction],
    edges: &'a [Edge],
    blocks: &'a [Block],
    blamed: bool,
}

impl Parts<'_, '_> {
    /// What is wrong, in a few words.
    pub(crate) fn title(&self) -> String {
        let mut regions: Vec<String> = Vec::new();
        for region in self.transactions.iter().filter_map(|transaction| transaction.region.as_ref()) {
            let region = quoted(region);
            if !regions.contains(&region) {
                regions.push(region);
            }
        }
        if self.blamed {
            let blamed = self.blocks.first().map(|block| quoted(&block.region));
            let first = self.transactions.first().and_then(|transaction| transaction.region.as_deref());
            let region = blamed.or_else(|| first.map(quoted));
            let region = region.unwrap_or_else(|| "a block".to_owned());
            let be = if self.scene.suspected() { "may not be" } else { "is not" };
            return format!("{region} {be} atomic");
        }
        let more = regions.len().saturating_sub(MOST_REGIONS);
        regions.truncate(MOST_REGIONS);
        if more > 0 {
            regions.push(format!("{more} more blocks"));
        }
        let can = if self.scene.suspected() { "can perhaps not" } else { "cannot" };
        match regions.len() {
            0 if self.scene.suspected() => "the transactions may have no serial order".to_owned(),
            0 => "the transactions cannot be put into a serial order".to_owned(),
            1 if self.scene.suspected() => format!("perhaps not every run of {} can be atomic", regions[0]),
            1 => format!("not every run of {} can be atomic", regions[0]),
            2 => format!("{} {can} both be atomic", list(&regions)),
            _ => format!("{} {can} all be atomic", list(&regions)),
        }
    }

    /// Why that is wrong, in one sentence.
    pub(crate) fn reason(&self) -> String {
        let conclusion = if self.scene.suspected() {
            "perhaps no serial order of the transactions gives this result"
        } else {
            "no serial order of the transactions gives this result"
        };
        let chain = self.chain();
        if !self.blamed {
            let together = "Every block could run uninterrupted on its own, but not all of them together";
            return if chain.is_empty() { format!("{together}.") } else { format!("{together}: {chain}.") };
        }
        if let Some(between) = self.between() {
            return format!("{}, so {conclusion}.", capital(&between));
        }
        if chain.is_empty() {
            return format!("The transactions form a cycle, so {conclusion}.");
        }
        let circle = if self.transactions.len() <= 2 {
            "each must come before the other"
        } else {
            "each must come before the next, and the last before the first"
        };
        format!("{}: {circle}, so {conclusion}.", capital(&chain))
    }

    /// The simplest case: one operation came between two others on the same thing.
    fn between(&self) -> Option<String> {
        let [out, back] = self.edges else { return None };
        let first = self.step(out.from_step)?;
        let middle = self.step(out.to_step)?;
        let last = self.step(back.to_step)?;
        let target = middle.operation.target.as_ref()?;
        let same = |step: &Step| step.operation.target.as_ref() == Some(target);
        if back.from_step != out.to_step || first.number == last.number || !same(first) || !same(last) {
            return None;
        }
        let owner = self.scene.thread(first.thread);
        let pair = if first.operation.noun == last.operation.noun {
            format!("two {}s ({}) and ({})", first.operation.noun, first.number, last.number)
        } else {
            let (one, other) = (&first.operation.noun, &last.operation.noun);
            format!("{one} ({}) and {other} ({})", first.number, last.number)
        };
        Some(format!(
            "{} {} {} ({}) between {owner}'s {pair} of it",
            self.scene.subject(middle.thread),
            middle.operation.past,
            phrase(target),
            middle.number,
        ))
    }

    /// The edges of the cycle, told one after the other.
    fn chain(&self) -> String {
        let told = self.edges.iter().filter_map(|edge| {
            let (from, to) = (self.step(edge.from_step)?, self.step(edge.to_step)?);
            let later = match &to.operation.target {
                Some(target) if from.operation.target.as_ref() == Some(target) => {
                    format!("{} it", to.operation.past)
                }
                _ => to.operation.text.clone(),
            };
            Some((
                from.thread,
                format!(
                    "{} ({}) before {} {later} ({})",
                    from.operation.text,
                    from.number,
                    self.scene.thread(to.thread),
                    to.number
                ),
            ))
        });
        let told: Vec<_> = told.collect();
        let more = told.len().saturating_sub(MOST_EDGES);
        let mut parts: Vec<String> = told
            .into_iter()
            .take(MOST_EDGES)
            .enumerate()
            .map(|(index, (thread, text))| {
                // Only the start of the sentence says "Thread T1"; later on the name alone is clear.
                let who = if index == 0 && self.blamed {
                    self.scene.subject(thread)
                } else {
                    self.scene.thread(thread)
                };
                format!("{who} {text}")
            })
            .collect();
        if more > 0 {
            parts.push(format!("so on over {more} more"));
        }
        match parts.as_slice() {
            [] | [_] => parts.concat(),
            [rest @ .., last] => format!("{}, and {last}", rest.join(", ")),
        }
    }

    fn step(&self, number: Option<usize>) -> Option<&Step> {
        self.scene.step(number?.checked_sub(1)?)
    }

    /// Where the block begins, then the steps of the first transaction, then all others.
    fn places(&self) -> Vec<Frame> {
        let begin = self.blocks.first().map(|block| &block.begin);
        let own = self.transactions.first().map_or(&[][..], |transaction| &transaction.steps[..]);
        let own = own.iter().filter_map(|&number| self.step(Some(number)));
        begin.into_iter().chain(own.chain(&self.scene.steps).filter_map(Step::site)).cloned().collect()
    }

    /// The error graph of the Velodrome paper: a box for each transaction with its operations, an edge for each
    /// conflict with the operation that made it, and the closing edge dashed.
    fn graph(&self) -> Graph {
        let boxes = self.transactions.iter().map(|transaction| {
            let thread = self.scene.threads.name(transaction.thread);
            let mut lines = vec![match &transaction.region {
                Some(region) => format!("{thread}: in {region}"),
                None => format!("{thread}: outside any block"),
            }];
            let steps = transaction.steps.iter().filter_map(|&number| self.step(Some(number)));
            lines.extend(steps.map(|step| format!("({}) {}", step.number, step.operation.short)));
            GraphBox { lines, outline: if transaction.blamed { Outline::Double } else { Outline::Plain } }
        });
        let edges = self.edges.iter().map(|edge| GraphEdge {
            from: edge.from,
            to: edge.to,
            label: match edge.to_step {
                Some(step) => format!("({step}) {}", edge.label),
                None => edge.label.clone(),
            },
            line: if edge.closing { Line::DashedArrow } else { Line::Arrow },
        });
        Graph { boxes: boxes.collect(), edges: edges.collect() }
    }
}
