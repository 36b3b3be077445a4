//! A location that is not protected by one lock.

use super::super::model::{Graph, GraphEdge, HeldLock, Line, Step};
use super::super::operation::{self, phrase};
use super::super::text::{counted, list, quoted};
use super::{Identity, PROVED_BY_TASKS, SUSPECTED_FROM_LOCKS, Scene, Told, capital};
use keirin_core::event::{LockId, LockMode};
use keirin_core::finding::Locking;

/// Locks named in a sentence.
const MOST_LOCKS: usize = 3;

/// Tells a finding about locks that do not match.
pub(super) fn tell(locking: &Locking, scene: &mut Scene<'_>) -> Told {
    let tables = scene.names.tables;
    let held_lock = |&(lock, mode): &(LockId, LockMode)| HeldLock {
        lock: operation::lock(lock, tables).name,
        shared: mode == LockMode::Shared,
    };
    for (step, held) in scene.steps.iter_mut().zip(&locking.held) {
        let held: Vec<HeldLock> = held.iter().map(held_lock).collect();
        // The locks are part of what was done here, and so every output tells them with it.
        step.operation.text = format!("{} {}", step.operation.text, under(&held, quoted));
        step.operation.short = format!("{} {}", step.operation.short, under(&held, str::to_owned));
        step.held = Some(held);
    }
    let (location, target) = scene.location(locking.addr, locking.size);
    let name = phrase(&target);
    // Which accesses are remembered is a matter of chance, and all that touch one variable have one cause.
    let whole = tables.location(locking.addr).map(|(whole, _)| whole.name.to_string());
    let steps = if whole.is_some() { Vec::new() } else { (0..scene.steps.len()).collect() };
    let forgotten = (scene.steps.len() == 1)
        .then(|| "The stacks of the earlier accesses are no longer known.".to_owned());
    Told {
        kind: "locking",
        title: format!("no lock protects {name} consistently"),
        reason: reason(&name, scene),
        suspicion: SUSPECTED_FROM_LOCKS,
        proof: PROVED_BY_TASKS,
        transactions: Vec::new(),
        edges: Vec::new(),
        blocks: Vec::new(),
        whole: None,
        location: Some(location),
        notes: forgotten.into_iter().collect(),
        graph: graph(scene),
        identity: Identity { variable: whole, steps, any_order: true, any_kind: false },
        places: scene.places_backwards(),
    }
}

fn reason(name: &str, scene: &Scene<'_>) -> String {
    let conclusion = "no lock was held at all accesses, so two of them may race";
    let access = |step: &Step| {
        let under = step.held.as_deref().map_or_else(String::new, |held| format!(" {}", under(held, quoted)));
        let verb = participle(step.operation.kind);
        format!("{verb}{under} by {} ({})", scene.thread(step.thread), step.number)
    };
    let accesses: Vec<String> = scene.steps.iter().map(access).collect();
    let name = capital(name);
    match &accesses[..] {
        [] => format!("{name} was accessed by several threads: {conclusion}."),
        [only] => format!("{name} was {only}, and earlier in another way: {conclusion}."),
        several => format!("{name} was {}: {conclusion}.", several.join(", then ")),
    }
}

fn participle(kind: &str) -> &'static str {
    match kind {
        "read" => "read",
        "write" => "written",
        "atomic-load" => "atomically read",
        "atomic-store" => "atomically written",
        "atomic-update" => "atomically updated",
        _ => "accessed",
    }
}

/// The locks, with their names as `name` writes them.
fn under(held: &[HeldLock], name: fn(&str) -> String) -> String {
    let mut names: Vec<String> = held
        .iter()
        .take(MOST_LOCKS)
        .map(|held| format!("{}{}", if held.shared { "shared " } else { "" }, name(&held.lock)))
        .collect();
    if held.len() > MOST_LOCKS {
        names.push(counted((held.len() - MOST_LOCKS) as u64, "more lock"));
    }
    if names.is_empty() { "without any lock".to_owned() } else { format!("under {}", list(&names)) }
}

fn graph(scene: &Scene<'_>) -> Graph {
    let boxes = scene.steps.iter().map(|step| scene.step_box(step)).collect();
    let label = "no lock common to all accesses".to_owned();
    let edge = GraphEdge { from: 0, to: 1, label, line: Line::Dashed };
    Graph { boxes, edges: (scene.steps.len() == 2).then_some(edge).into_iter().collect() }
}
