//! What a run is steered to, for the runtime: see `steering/plan.rs` there for the format.

use super::wanted::{Step, Wanted};
use crate::report::model::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

/// As many points as the runtime takes.
const MOST_POINTS: usize = 64;

/// A gate that the runtime tells has the number of its point above so many bits.
const GATE_BITS: u32 = 48;

/// What the program is steered to.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    together: bool,
    /// What must be whole, as the runtime reads it.
    whole: String,
    /// In the order of the schedule.
    pub(super) points: Vec<Point>,
    /// So many of them come before the goal.
    before: usize,
}

/// One operation.
#[derive(Clone, Debug)]
pub(super) struct Point {
    kind: &'static str,
    actor: Option<usize>,
    memory: Option<usize>,
    code: Code,
    places: Vec<Range<u64>>,
    /// Where threads take their first lock before it, as earlier tries have shown.
    gates: BTreeSet<u64>,
    /// In words.
    pub(super) told: String,
    /// Its number in the finding; none if it is of the schedule before.
    pub(super) number: Option<usize>,
}

/// Where in a file the instructions of a source line are, for operations that were not done in the run that was watched.
pub(super) type Lines<'a> = &'a dyn Fn(&Code, &str, u32) -> Vec<Range<u64>>;

/// How one try differs from the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Variation {
    /// Which side of a race waits, or who of a torn region: 0 all, 1 and 2 one side only.
    waits: u64,
    skip: u64,
    patience: u64,
}

impl Variation {
    fn of(attempt: u64, patience: u64) -> Self {
        let (round, waits) = ((attempt - 1) / 3, (attempt - 1) % 3);
        // The first instances, then later ones, further and further apart.
        let skip = (1u64 << round.min(20)) - 1;
        Variation { waits, skip, patience: patience.saturating_mul(round + 1) }
    }
}

impl Plan {
    /// The plan for a finding, or why there is none.
    pub(super) fn of(wanted: &Wanted, lines: Lines<'_>) -> Result<Self, String> {
        let together = match wanted.evidence.as_str() {
            "race" | "locking" if wanted.steps.len() == 2 => true,
            "torn" | "cycle" => false,
            "locking" => return Err("only one of its accesses is known".to_owned()),
            _ => {
                return Err(
                    "it is about one block alone and names nothing that could come between; look for it with --analysis \
                     velodrome"
                        .to_owned(),
                );
            }
        };
        let memory = classes(wanted);
        let mut points = before(wanted, lines);
        let before = points.len();
        for step in &wanted.steps {
            let Some(kind) = kind(&step.operation.kind) else { continue };
            let (code, places) =
                places(step, lines).map_err(|why| format!("{why} ({})", wanted.told(step)))?;
            points.push(Point {
                kind,
                actor: Some(step.thread),
                memory: if together { Some(0) } else { memory.get(&step.number).copied() },
                code,
                places,
                gates: BTreeSet::new(),
                told: wanted.told(step),
                number: Some(step.number),
            });
        }
        let goal = &points[before..];
        let torn =
            goal.len() >= 3 && goal.first().map(|point| point.actor) == goal.last().map(|point| point.actor);
        if !(torn || together && goal.len() == 2) || points.len() > MOST_POINTS {
            return Err("its operations are not such that a thread could be made to wait at them".to_owned());
        }
        number_actors(&mut points);
        Ok(Plan { together, whole: whole(wanted), points, before })
    }

    /// The plan as the runtime reads it, for one try.
    pub(super) fn text(&self, attempt: u64, patience: u64) -> String {
        let Variation { mut waits, mut skip, patience } = Variation::of(attempt, patience);
        if self.before > 0 {
            // What comes before is to happen once; what an earlier try has shown is what differs.
            (waits, skip) = (0, (attempt - 1) / 4);
        }
        let goal = if self.together { "together" } else { "ordered" };
        let mut text = format!("goal\t{goal}\nwhole\t{}\nskip\t{skip}\npatience\t{patience}\n", self.whole);
        let owner = self.points.last().and_then(|point| point.actor);
        for (index, point) in self.points.iter().enumerate() {
            let side = (index.wrapping_sub(self.before) as u64).wrapping_add(1);
            let holds = match waits {
                _ if index < self.before => true,
                0 => true,
                waits if self.together => side == waits,
                // Those that come between do not wait for the region to begin.
                1 => point.actor == owner,
                _ => true,
            };
            let part = if index < self.before { "before" } else { "goal" };
            let number = |number: Option<usize>| number.map_or("-".to_owned(), |number| number.to_string());
            let module = point.code.module.rsplit('/').next().unwrap_or_default().replace(['\t', '\n'], "?");
            let places: Vec<String> =
                point.places.iter().map(|place| format!("{:x}-{:x}", place.start, place.end)).collect();
            let gates: Vec<String> = point.gates.iter().map(|gate| format!("{gate:x}")).collect();
            let _ = writeln!(
                text,
                "point\t{part}\t{}\t{}\t{}\t{}\t{module}\t{}\t{}\t{}",
                point.kind,
                number(point.actor),
                number(point.memory),
                if holds { "hold" } else { "pass" },
                point.code.build_id,
                places.join(","),
                gates.join(","),
            );
        }
        text
    }

    /// Takes up what a try has shown: where threads take locks before a point.
    pub(super) fn learn(&mut self, gate: u64) {
        if let Some(point) = self.points.get_mut((gate >> GATE_BITS) as usize) {
            point.gates.insert(gate & ((1 << GATE_BITS) - 1));
        }
    }

    /// True if two accesses are to come at the same time.
    pub(super) fn is_together(&self) -> bool {
        self.together
    }

    /// So many points come before the goal.
    pub(super) fn before(&self) -> usize {
        self.before
    }
}

/// What the runtime calls an operation; none if threads cannot be made to wait there.
fn kind(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "read" | "write" | "atomic-load" | "atomic-store" | "atomic-update" => "access",
        // A line may have other accesses beside the one that is meant.
        "other-path-read" => "read",
        "other-path-write" => "write",
        "acquire" | "acquire-shared" => "acquire",
        "release" | "release-shared" => "release",
        _ => return None,
    })
}

/// Where an operation is: what was done, by its instruction; what the other side of a branch would do, by its line, since that is
/// told by instructions of this side.
fn places(step: &Step, lines: Lines<'_>) -> Result<(Code, Vec<Range<u64>>), String> {
    let Some(code) = &step.code else {
        return Err("it does not say at which instruction: take the report of a program that ran, or of its recording, \
                    not of a trace in text"
            .to_owned());
    };
    if !step.is_possible() {
        let instruction = code.offset..code.offset + 1;
        return Ok((code.clone(), [instruction].into()));
    }
    let line = step.place().and_then(|place| Some((place.file.as_deref()?, place.line?)));
    let places = line.map(|(file, line)| lines(code, file, line)).unwrap_or_default();
    if places.is_empty() {
        return Err("no instruction is known for its line: build the program with -g".to_owned());
    }
    Ok((code.clone(), places))
}

/// What must be whole.
fn whole(wanted: &Wanted) -> String {
    // The innermost block that is refuted; without blame that of the thread that closes the cycle.
    let refuted = wanted.refuted.last().map(|block| &block.region);
    let block = refuted.or_else(|| wanted.transactions.first()?.region.as_ref());
    match (block, wanted.whole.as_deref()) {
        (_, Some("step" | "gap")) => "step".to_owned(),
        (Some(region), _) if region.starts_with("critical section") => "section".to_owned(),
        (Some(region), _) => format!("block\t{}", region.replace(['\t', '\n'], " ")),
        (None, _) => "free".to_owned(),
    }
}

/// Which steps are about the same memory or lock, by their numbers: those that an edge joins, or those that have one name.
fn classes(wanted: &Wanted) -> BTreeMap<usize, usize> {
    let name = |step: &Step| step.operation.target.as_ref().map(|target| target.name.clone());
    let numbers = wanted.steps.iter().map(|step| (step.number, step.number));
    let mut classes: BTreeMap<usize, usize> = numbers.collect();
    let mut join = |one: usize, other: usize| {
        let (Some(&from), Some(&to)) = (classes.get(&one), classes.get(&other)) else { return };
        classes.values_mut().filter(|class| **class == from).for_each(|class| *class = to);
    };
    for edge in &wanted.edges {
        if let (Some(from), Some(to)) = (edge.from_step, edge.to_step) {
            join(from, to);
        }
    }
    for (index, step) in wanted.steps.iter().enumerate() {
        for other in &wanted.steps[..index] {
            if name(step).is_some() && name(step) == name(other) {
                join(step.number, other.number);
            }
        }
    }
    classes
}

/// The accesses of the schedule that come before those of the finding.
fn before(wanted: &Wanted, lines: Lines<'_>) -> Vec<Point> {
    let is_of_finding = |step: &Step| {
        let same = |other: &&Step| other.position == step.position && other.code == step.code;
        wanted.steps.iter().find(same).is_some_and(|other| other.thread == step.thread)
    };
    let mut names: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for step in &wanted.witness {
        let kind = kind(&step.operation.kind).filter(|kind| ["access", "read", "write"].contains(kind));
        let Some(kind) = kind.filter(|_| !is_of_finding(step)) else { continue };
        let (Ok((code, places)), Some(target)) = (places(step, lines), &step.operation.target) else {
            continue;
        };
        let class = names.iter().position(|name| *name == target.name).unwrap_or_else(|| {
            names.push(&target.name);
            names.len() - 1
        });
        points.push(Point {
            kind,
            // A thread may run several tasks one after the other.
            actor: None,
            memory: Some(wanted.steps.len() + 1 + class),
            code,
            places,
            gates: BTreeSet::new(),
            told: wanted.told(step),
            number: None,
        });
    }
    // The nearest ones matter most.
    let most = MOST_POINTS / 2;
    points.split_off(points.len().saturating_sub(most))
}

/// Gives actors and memory small numbers.
fn number_actors(points: &mut [Point]) {
    fn renumber<'a>(numbers: impl Iterator<Item = &'a mut usize>) {
        let mut known: Vec<usize> = Vec::new();
        for number in numbers {
            let at = known.iter().position(|other| other == number).unwrap_or_else(|| {
                known.push(*number);
                known.len() - 1
            });
            *number = at;
        }
    }
    renumber(points.iter_mut().filter_map(|point| point.actor.as_mut()));
    renumber(points.iter_mut().filter_map(|point| point.memory.as_mut()));
}

#[cfg(test)]
mod tests {
    use super::super::wanted::tests::as_reported;
    use super::*;
    use crate::report::Finding;
    use crate::report::support;

    /// A finding as if its operations were instructions: number n at n times 0x10.
    fn with_code(mut finding: Finding) -> Wanted {
        let code = |number: usize| Code {
            module: "/bin/prog".to_owned(),
            build_id: "0a".to_owned(),
            offset: number as u64 * 0x10,
        };
        finding.steps.iter_mut().for_each(|step| step.code = Some(code(step.number)));
        as_reported(vec![finding]).remove(0)
    }

    fn no_lines(_: &Code, _: &str, _: u32) -> Vec<Range<u64>> {
        Vec::new()
    }

    fn text(finding: Finding, attempt: u64) -> String {
        Plan::of(&with_code(finding), &no_lines).unwrap().text(attempt, 200)
    }

    #[test]
    fn both_sides_of_a_race_wait_and_then_one_of_them() {
        let plan = |attempt| text(support::flag_race(), attempt);
        let first = "goal\ttogether\nwhole\tfree\nskip\t0\npatience\t200\n\
                     point\tgoal\taccess\t0\t0\thold\tprog\t0a\t10-11\t\n\
                     point\tgoal\taccess\t1\t0\thold\tprog\t0a\t20-21\t\n";
        assert_eq!(plan(1), first);
        assert_eq!(plan(2), first.replace("1\t0\thold", "1\t0\tpass"));
        assert_eq!(plan(3), first.replace("0\t0\thold", "0\t0\tpass"));
        assert_eq!(plan(7), first.replace("skip\t0", "skip\t3").replace("patience\t200", "patience\t600"));
    }

    #[test]
    fn a_cycle_of_lock_operations_has_its_locks_in_common() {
        let plan = text(support::set_add(), 1);
        assert!(plan.starts_with("goal\tordered\nwhole\tblock\tSet.add inner\n"), "{plan}");
        let kinds: Vec<&str> = plan.lines().skip(4).filter_map(|line| line.split('\t').nth(2)).collect();
        assert!(kinds.contains(&"acquire") && kinds.contains(&"release"), "{plan}");
        let owners: Vec<&str> = plan.lines().skip(4).filter_map(|line| line.split('\t').nth(3)).collect();
        assert_eq!(owners.first(), owners.last(), "{plan}");
    }

    #[test]
    fn what_cannot_be_steered_to_is_told() {
        let told = |wanted: &Wanted| Plan::of(wanted, &no_lines).unwrap_err();
        let of_trace = as_reported(vec![support::flag_race()]).remove(0);
        assert!(told(&of_trace).contains("at which instruction"));
        assert!(told(&with_code(support::lazy_block())).contains("--analysis velodrome"));
    }

    #[test]
    fn tries_differ() {
        let all: Vec<Variation> = (1..=30).map(|attempt| Variation::of(attempt, 100)).collect();
        for (index, one) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other != one), "{one:?}");
        }
        assert_eq!(Variation::of(1000, 1).skip, (1 << 20) - 1);
    }
}
