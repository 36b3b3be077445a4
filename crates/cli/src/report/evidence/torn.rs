//! A region into which operations of another task fit that conflict with what comes before and after them.

use super::super::model::{
    Block, Edge, Frame, Graph, GraphBox, GraphEdge, Line, Outline, Step, Transaction, Verdict, Whole,
};
use super::super::operation::{self, named, phrase};
use super::super::text::{list, quoted};
use super::{Identity, PROVED_BY_TASKS, Scene, Told, capital};
use keirin_core::event::RegionId;
use keirin_core::finding::{self, Torn};
use keirin_core::trace::NameKind;

/// Operations between that are told one by one.
const MOST_BETWEEN: usize = 3;

/// Tells a finding about a region that is torn.
pub(super) fn tell(torn: &Torn, scene: &mut Scene<'_>) -> Told {
    let (location, target) = scene.location(torn.addr, torn.size);
    let region = Region::new(torn, scene);
    let transactions = transactions(torn, &region, scene);
    let edges = edges(scene);
    let parts = Parts { scene, region: &region, name: phrase(&target) };
    Told {
        kind: "torn",
        title: parts.title(),
        reason: parts.reason(torn),
        suspicion: Verdict::Suspected.text(),
        proof: PROVED_BY_TASKS,
        notes: vec![region.why()],
        graph: parts.graph(),
        identity: Identity { steps: (0..scene.steps.len()).collect(), ..Identity::default() },
        places: parts.places(),
        blocks: region.block(),
        whole: Some(region.whole),
        location: Some(location),
        transactions,
        edges,
    }
}

/// What was to be whole, with its name.
struct Region {
    whole: Whole,
    /// The label of the block, the name of the function or of the lock; empty for a step.
    name: String,
    /// What of the name stays the same in another run.
    stable: String,
}

impl Region {
    fn new(torn: &Torn, scene: &Scene<'_>) -> Self {
        let names = scene.names;
        match torn.whole {
            finding::Whole::Block(region) => {
                let name = names.region_name(region);
                let is_function = region.function().is_some();
                let whole = if is_function { Whole::Function } else { Whole::Block };
                let stable = if is_function { name.clone() } else { names.region_label(region) };
                Region { whole, name, stable }
            }
            finding::Whole::Step => Region { whole: Whole::Step, name: String::new(), stable: String::new() },
            finding::Whole::Holds(lock) => {
                let lock = operation::lock(lock, names.tables);
                // A number, or a place on the heap, would tell nobody which lock it is; the places do.
                let name = if lock.named { lock.name } else { String::new() };
                Region { whole: Whole::Gap, stable: name.clone(), name }
            }
        }
    }

    /// The region as the head of its column.
    fn label(&self) -> String {
        match self.whole {
            Whole::Block | Whole::Function => self.name.clone(),
            Whole::Step => "one step".to_owned(),
            Whole::Gap if self.name.is_empty() => "two holds of one lock".to_owned(),
            Whole::Gap => format!("two holds of {}", self.name),
        }
    }

    /// Which of the ways to say what must be whole applied.
    fn why(&self) -> String {
        let name = quoted(&self.name);
        let lock = if self.name.is_empty() { "a lock" } else { &name };
        match self.whole {
            Whole::Block => {
                format!("It is looked at because the program marks {name} as atomic (--check annotated).")
            }
            Whole::Function => format!(
                "It is looked at because a rule says that the function {name} is atomic (--check functions)."
            ),
            Whole::Step => {
                // Which of the two it was is not known here: a step is a region for marked locations as well.
                "It is looked at because whatever a task does between two task constructs is taken to be \
                            atomic (--check steps), or what it does there to locations that the program \
                            marks (--check annotated)."
                    .to_owned()
            }
            Whole::Gap => format!(
                "It is looked at because one hold of {lock} reads what a later hold writes (--check gaps)."
            ),
        }
    }

    /// The block that the finding speaks against. Where it begins is not known.
    fn block(&self) -> Vec<Block> {
        match self.whole {
            Whole::Block | Whole::Function => {
                let (region, stable) = (self.name.clone(), self.stable.clone());
                vec![Block { region, stable, begin: Frame::default() }]
            }
            Whole::Step | Whole::Gap => Vec::new(),
        }
    }
}

/// The region, and what comes between.
fn transactions(torn: &Torn, region: &Region, scene: &mut Scene<'_>) -> Vec<Transaction> {
    for (index, step) in scene.steps.iter_mut().enumerate() {
        step.transaction = Some(usize::from(!torn.inside.contains(&index)));
    }
    let side = |side: usize| {
        let own = scene.steps.iter().filter(move |step| step.transaction == Some(side));
        let numbers: Vec<usize> = own.clone().map(|step| step.number).collect();
        own.map(|step| step.thread).next().map(|thread| (thread, numbers))
    };
    let Some((thread, steps)) = side(0) else {
        // Indices that point nowhere: without a region there are no two sides.
        scene.steps.iter_mut().for_each(|step| step.transaction = None);
        return Vec::new();
    };
    let names = scene.names;
    let other =
        side(1).map(|(thread, steps)| names.transaction(thread, RegionId::NONE, false, scene.verdict, steps));
    let blame = if scene.suspected() { "perhaps torn" } else { "torn" };
    let torn = Transaction {
        thread,
        region: Some(region.label()),
        stable: region.stable.clone(),
        blamed: true,
        blame,
        steps,
    };
    std::iter::once(torn).chain(other).collect()
}

/// The first access comes before what is between, and that before the last access.
fn edges(scene: &Scene<'_>) -> Vec<Edge> {
    let crossing = scene.steps.windows(2).filter_map(|pair| {
        let (from, to) = (pair[0].transaction?, pair[1].transaction?);
        (from != to).then(|| Edge {
            from,
            to,
            from_step: Some(pair[0].number),
            to_step: Some(pair[1].number),
            label: pair[1].operation.short.clone(),
            closing: to == 0,
        })
    });
    crossing.collect()
}

/// What is known about a torn region.
struct Parts<'a, 'n> {
    scene: &'a Scene<'n>,
    region: &'a Region,
    /// What the conflict is about.
    name: String,
}

impl Parts<'_, '_> {
    fn side(&self, side: usize) -> Vec<&Step> {
        self.scene.steps.iter().filter(|step| step.transaction == Some(side)).collect()
    }

    /// What is wrong, in a few words.
    fn title(&self) -> String {
        let verdict = self.scene.verdict;
        let name = quoted(&self.region.name);
        match self.region.whole {
            Whole::Block | Whole::Function => match verdict {
                Verdict::Observed => format!("{name} was interrupted"),
                Verdict::OtherSchedule => format!("{name} can be interrupted"),
                Verdict::Suspected => format!("{name} may be interrupted"),
            },
            Whole::Step => {
                let who = self.side(0).first().map(|step| self.scene.thread(step.thread));
                let who = who.unwrap_or_else(|| "a task".to_owned());
                let be = if self.scene.suspected() { "may not be" } else { "is not" };
                format!("a step of {who} {be} atomic")
            }
            Whole::Gap => {
                let lock = if self.region.name.is_empty() { "one lock" } else { &name };
                format!("{} may be stale: read and written under two holds of {lock}", self.name)
            }
        }
    }

    /// Which access of whom falls between which two, and what follows from that.
    fn reason(&self, torn: &Torn) -> String {
        let (inside, between) = (self.side(0), self.side(1));
        let conclusion = match self.region.whole {
            Whole::Gap => "what was read no longer holds when it is written back",
            _ if self.scene.suspected() => {
                "perhaps no order of the two, one after the other, gives this result"
            }
            _ => "no order of the two, one after the other, gives this result",
        };
        let ([first, .., last], [other, ..]) = (&inside[..], &between[..]) else {
            return format!("Something that conflicts with it may come in between: {conclusion}.");
        };
        let verb = match (self.scene.verdict, between.len()) {
            (Verdict::Observed, _) => "came",
            (Verdict::OtherSchedule, 1) => "fits",
            (Verdict::OtherSchedule, _) => "fit",
            (Verdict::Suspected, _) => "may come",
        };
        let group = torn.group.map_or_else(String::new, |group| {
            let group = named(NameKind::Group, "group", group.0, self.scene.names.tables);
            format!(" of {}, which must be seen together", phrase(&group))
        });
        let one_target = first.operation.target == last.operation.target;
        let ends = match &last.operation.target {
            Some(target) if one_target => format!(
                "the {} ({}) and the {} ({}) of {}",
                first.operation.noun,
                first.number,
                last.operation.noun,
                last.number,
                phrase(target)
            ),
            _ => format!("{} and {}", told(first), told(last)),
        };
        format!(
            "{} by {} {verb} between {ends} by {}{group}: {conclusion}.",
            capital(&told_all(&between)),
            self.scene.thread(other.thread),
            self.scene.thread(first.thread),
        )
    }

    /// The region's places, then the others.
    fn places(&self) -> Vec<Frame> {
        let all = self.side(0).into_iter().chain(self.side(1)).chain(&self.scene.steps);
        all.filter_map(Step::site).cloned().collect()
    }

    fn graph(&self) -> Graph {
        let scene = self.scene;
        let boxes = [0, 1].map(|side| {
            let steps = self.side(side);
            let who =
                steps.first().map_or_else(|| "nobody".to_owned(), |step| scene.threads.name(step.thread));
            let head = if side == 0 { format!("{who}: {}", self.region.label()) } else { who };
            let mut lines = vec![head];
            lines.extend(steps.iter().map(|step| format!("({}) {}", step.number, step.operation.short)));
            GraphBox { lines, outline: if side == 0 { Outline::Double } else { Outline::Plain } }
        });
        let edges = edges(scene).into_iter().map(|edge| GraphEdge {
            from: edge.from,
            to: edge.to,
            label: edge.to_step.map_or_else(String::new, |step| format!("({step}) {}", edge.label)),
            line: if edge.closing { Line::DashedArrow } else { Line::Arrow },
        });
        Graph { boxes: boxes.to_vec(), edges: edges.collect() }
    }
}

/// An operation as a noun: ``the write (2) of `x` ``.
fn told(step: &Step) -> String {
    let noun = format!("the {} ({})", step.operation.noun, step.number);
    match &step.operation.target {
        Some(target) => format!("{noun} of {}", phrase(target)),
        None => noun,
    }
}

fn told_all(steps: &[&Step]) -> String {
    let mut parts: Vec<String> = steps.iter().take(MOST_BETWEEN).map(|step| told(step)).collect();
    if steps.len() > MOST_BETWEEN {
        parts.push(format!("{} more", steps.len() - MOST_BETWEEN));
    }
    list(&parts)
}
