//! The part of the task tree that a finding needs, as a picture: the common task, the ways down, the operations.

use super::super::model::{
    Ancestor, Descent, Frame, Graph, GraphBox, GraphEdge, Line, Lineage, Outline, spawned_recursively,
};
use super::{Scene, Told};
use keirin_core::tasks::Actor;

/// Tasks drawn on one way down; of a longer way the middle is left out.
const MOST_TASKS: usize = 8;

/// Draws it. Tasks that are on several ways are drawn once; the operations are the leaves, and dashed lines between
/// them are the conflicts.
pub(in super::super) fn graph(lineage: &Lineage, told: &Told, scene: &Scene<'_>) -> Graph {
    let mut drawing = Drawing { graph: Graph::default(), tasks: Vec::new() };
    let common = drawing.add(task_box(&lineage.common, "all of it is within"));
    let mut leaves: Vec<Option<usize>> = vec![None; scene.steps.len()];
    for side in &lineage.sides {
        let mut parent = common;
        let path = side.folded();
        let left_out = path.len().saturating_sub(MOST_TASKS);
        for (depth, part) in path.iter().enumerate() {
            if left_out > 0 && depth == MOST_TASKS / 2 {
                let lines = vec![format!("… {left_out} more tasks …")];
                parent = drawing.below(parent, GraphBox { lines, outline: Outline::Dashed }, "spawned");
            }
            if left_out == 0 || depth < MOST_TASKS / 2 || depth >= MOST_TASKS / 2 + left_out {
                parent = match part {
                    Descent::One(task) => drawing.task(parent, task),
                    Descent::Many(tasks) => drawing.below(parent, recursion_box(tasks), "spawned"),
                };
            }
        }
        for &number in &side.steps {
            let Some(step) = number.checked_sub(1).and_then(|index| scene.step(index)) else { continue };
            let mut lines = vec![format!("({number}) {}", step.operation.short)];
            lines.extend(step.place().map(|place| format!("at {}", place.text)));
            let blamed = step.transaction.and_then(|index| told.transactions.get(index));
            let blamed = blamed.is_some_and(|transaction| transaction.blamed);
            let outline = if blamed { Outline::Double } else { Outline::Plain };
            leaves[number - 1] = Some(drawing.below(parent, GraphBox { lines, outline }, ""));
        }
    }
    let leaf = |number: Option<usize>| *leaves.get(number?.checked_sub(1)?)?;
    let mut conflicts = Vec::new();
    if told.edges.is_empty() {
        if let [Some(from), Some(to)] = leaves[..] {
            conflicts.push(GraphEdge { from, to, label: "unordered".to_owned(), line: Line::Dashed });
        }
    } else {
        for edge in &told.edges {
            if let (Some(from), Some(to)) = (leaf(edge.from_step), leaf(edge.to_step)) {
                conflicts.push(GraphEdge { from, to, label: "then".to_owned(), line: Line::Then });
            }
        }
    }
    drawing.graph.edges.extend(conflicts);
    drawing.graph
}

struct Drawing {
    graph: Graph,
    /// The tasks drawn so far: the box above each, who it is and where it was spawned, its box.
    tasks: Vec<(usize, (Actor, Option<Frame>), usize)>,
}

impl Drawing {
    fn add(&mut self, new: GraphBox) -> usize {
        self.graph.boxes.push(new);
        self.graph.boxes.len() - 1
    }

    fn below(&mut self, parent: usize, new: GraphBox, label: &str) -> usize {
        let child = self.add(new);
        self.graph.edges.push(GraphEdge {
            from: parent,
            to: child,
            label: label.to_owned(),
            line: Line::Arrow,
        });
        child
    }

    fn task(&mut self, parent: usize, task: &Ancestor) -> usize {
        // Tasks that have no numbers are taken to be the same if they were spawned at the same place.
        let who = (task.actor, task.spawned.clone());
        let known = self.tasks.iter().find(|(above, known, _)| *above == parent && *known == who);
        if let Some(&(_, _, known)) = known {
            return known;
        }
        let child = self.below(parent, task_box(task, ""), "spawned");
        self.tasks.push((parent, who, child));
        child
    }
}

fn task_box(task: &Ancestor, otherwise: &str) -> GraphBox {
    let mut lines = vec![task.short.clone()];
    match &task.spawned {
        Some(Frame { function, place, .. }) => {
            lines.extend(place.as_ref().map(|place| format!("spawned at {}", place.text)));
            lines.extend(function.as_ref().map(|function| format!("in {function}")));
        }
        None => lines.extend((!otherwise.is_empty()).then(|| otherwise.to_owned())),
    }
    GraphBox { lines, outline: Outline::Plain }
}

/// Tasks of a recursion, one below the other.
fn recursion_box(tasks: &[Ancestor]) -> GraphBox {
    let (places, function) = spawned_recursively(tasks);
    let mut lines = vec![format!("{} tasks, one below the other", tasks.len())];
    lines.extend(places.iter().map(|place| format!("spawned at {place}")));
    lines.extend(function.map(|function| format!("in {function}")));
    GraphBox { lines, outline: Outline::Dashed }
}
