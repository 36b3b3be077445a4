//! Two accesses that nothing orders.

use super::super::model::{Graph, GraphEdge, Line, Step, Verdict};
use super::super::operation::phrase;
use super::{Identity, Scene, Told, is_atomic};
use keirin_core::finding::Race;

/// Tells a finding that is a race.
pub(super) fn tell(race: &Race, scene: &mut Scene<'_>) -> Told {
    let (location, target) = scene.location(race.addr, race.size);
    let name = phrase(&target);
    // The offset within it is left out: it may be the index of an element, which differs from run to run.
    let whole = scene.names.tables.location(race.addr).map(|(whole, _)| whole.name.to_string());
    let possible = if scene.suspected() { "possible " } else { "" };
    Told {
        kind: "race",
        title: format!("{possible}data race on {name}"),
        reason: reason(&name, scene),
        suspicion: Verdict::Suspected.text(),
        proof: "Nothing orders the two accesses, and no lock keeps them apart: another schedule of the same run has them at the same time.",
        transactions: Vec::new(),
        edges: Vec::new(),
        blocks: Vec::new(),
        whole: None,
        location: Some(location),
        notes: Vec::new(),
        graph: graph(scene),
        identity: Identity {
            variable: whole,
            steps: (0..scene.steps.len()).collect(),
            any_order: true,
            any_kind: true,
        },
        places: scene.places_backwards(),
    }
}

fn reason(name: &str, scene: &Scene<'_>) -> String {
    let nothing = if scene.suspected() { "nothing known" } else { "nothing" };
    let [first, second] = &scene.steps[..] else {
        return format!("Accesses of {name} were made with {nothing} that orders them.");
    };
    let later = if first.operation.target == second.operation.target {
        format!("{} it ({})", second.operation.past, second.number)
    } else {
        format!("{} ({}), which shares bytes with it", second.operation.text, second.number)
    };
    let atomic = if is_atomic(&first.operation) != is_atomic(&second.operation) {
        "; an atomic operation does not protect against a plain access"
    } else {
        ""
    };
    format!(
        "{} {} ({}) and {} {later}, with {nothing} that orders the two{atomic}.",
        scene.subject(first.thread),
        first.operation.text,
        first.number,
        scene.thread(second.thread),
    )
}

fn graph(scene: &Scene<'_>) -> Graph {
    let boxes = scene.steps.iter().map(|step: &Step| scene.step_box(step)).collect();
    let edge = GraphEdge { from: 0, to: 1, label: "unordered".to_owned(), line: Line::Dashed };
    Graph { boxes, edges: (scene.steps.len() == 2).then_some(edge).into_iter().collect() }
}
