//! A block that does something, after it has committed, that others may interrupt.

use super::super::model::{Block, Graph, GraphBox, GraphEdge, Line, Operation, Outline, Role, Step};
use super::super::operation::phrase;
use super::super::text::quoted;
use super::{Identity, PROVED_BY_TASKS, SUSPECTED_FROM_LOCKS, Scene, Told, capital, is_access, nested_note};
use keirin_core::event::RegionId;
use keirin_core::finding::Reduction;

/// Tells a finding about a block that is not reducible.
pub(super) fn tell(reduction: &Reduction, scene: &mut Scene<'_>) -> Told {
    for (index, role) in [(reduction.commit, Role::Commits), (reduction.broken, Role::Breaks)] {
        if let Some(step) = scene.steps.get_mut(index) {
            step.role = Some(role);
        }
    }
    let names = scene.names;
    let blocks: Vec<Block> = reduction.blocks.iter().map(|block| names.block(block)).collect();
    let transaction = scene.step(reduction.broken).map(|step| step.thread).map(|thread| {
        let own = scene.steps.iter_mut().filter(|step| step.thread == thread);
        let steps = own.map(|step| {
            step.transaction = Some(0);
            step.number
        });
        let steps = steps.collect();
        let region = reduction.blocks.first().map_or(RegionId::NONE, |block| block.region);
        names.transaction(thread, region, true, scene.verdict, steps)
    });
    let name = blocks.first().map_or_else(|| "a block".to_owned(), |block| quoted(&block.region));
    let pair = scene.step(reduction.commit).zip(scene.step(reduction.broken));
    let begins = blocks.iter().map(|block| block.begin.clone());
    Told {
        kind: "reduction",
        title: format!("{name} may not be atomic"),
        reason: pair.map_or_else(|| unexplained(&name), |(commit, broken)| reason(&name, commit, broken)),
        suspicion: SUSPECTED_FROM_LOCKS,
        proof: PROVED_BY_TASKS,
        edges: Vec::new(),
        whole: None,
        location: None,
        notes: nested_note(&blocks, true).into_iter().collect(),
        graph: graph(blocks.first(), pair, scene),
        identity: Identity { steps: vec![reduction.commit, reduction.broken], ..Identity::default() },
        places: begins.chain(scene.places_backwards()).collect(),
        transactions: transaction.into_iter().collect(),
        blocks,
    }
}

fn unexplained(name: &str) -> String {
    capital(&format!("{name} does something, after it has committed, that others may interrupt."))
}

fn reason(name: &str, commit: &Step, broken: &Step) -> String {
    let between = "another thread may come in between";
    let (first, second) = (&commit.operation, &broken.operation);
    let (one, two) = (commit.number, broken.number);
    if let (true, true, Some(target)) = (is_access(first), is_access(second), &first.target) {
        let accesses = if first.target == second.target {
            format!(
                "{}, which no lock protects, more than once, first at ({one}) and again at ({two})",
                phrase(target)
            )
        } else {
            let other = second.target.as_ref().map(phrase).unwrap_or_default();
            format!("{} ({one}) and then {other} ({two}), which no lock protects", phrase(target))
        };
        return capital(&format!("{name} accesses {accesses}: {between}."));
    }
    let unprotected = |operation| if is_access(operation) { ", which no lock protects" } else { "" };
    let same = first.target.is_some() && first.target == second.target;
    let goes_on = match (infinitive(second.kind), &second.target) {
        (Some(verb), Some(_)) if same => format!("goes on to {verb} it again ({two})"),
        (Some(verb), Some(target)) => format!("goes on to {verb} {} ({two})", phrase(target)),
        _ => format!("went on and {} ({two})", second.text),
    };
    format!(
        "After it {} ({one}){}, {name} {goes_on}{}: {between}.",
        first.text,
        unprotected(first),
        unprotected(second),
    )
}

/// The verb for what a block goes on to do; none for what it rarely does, which is told in the past.
fn infinitive(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "acquire" | "acquire-shared" => "acquire",
        "read" => "read",
        "write" => "write",
        "atomic-load" => "atomically read",
        "atomic-store" => "atomically write",
        "atomic-update" => "atomically update",
        _ => return None,
    })
}

/// The block, and another thread that comes in between.
fn graph(block: Option<&Block>, pair: Option<(&Step, &Step)>, scene: &Scene<'_>) -> Graph {
    let Some((commit, broken)) = pair else { return Graph::default() };
    let name = block.map_or("a block", |block| &block.region);
    let mut lines = vec![format!("{}: in {name}", scene.threads.name(broken.thread))];
    lines.extend(scene.steps.iter().filter(|step| step.thread == broken.thread).map(|step| {
        let role = match step.role {
            Some(Role::Commits) => ", commits the block",
            Some(Role::Breaks) => ", breaks it",
            None => "",
        };
        format!("({}) {}{role}", step.number, step.operation.short)
    }));
    let other = vec!["another thread, perhaps".to_owned()];
    let told =
        |word: &str, number: usize, operation: &Operation| format!("{word} ({number}) {}", operation.short);
    let edge = |from, to, label| GraphEdge { from, to, label, line: Line::DashedArrow };
    Graph {
        boxes: vec![
            GraphBox { lines, outline: Outline::Double },
            GraphBox { lines: other, outline: Outline::Dashed },
        ],
        edges: vec![
            edge(0, 1, told("after", commit.number, &commit.operation)),
            edge(1, 0, told("before", broken.number, &broken.operation)),
        ],
    }
}
