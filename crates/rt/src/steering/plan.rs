//! What a run is steered to: the operations of a finding, in the order that shows it.
//!
//! The command line writes it as lines of fields with tabs in between:
//!
//! | line | meaning |
//! |---|---|
//! | `goal`, `together` or `ordered` | what the last points must do: the last two come at the same time, or all one after the other |
//! | `whole`, `step`, `section` or `free` | what the first and the last point of the goal must be in: between two task constructs, in one critical section, or anything |
//! | `whole`, `block`, a label | the same: in one instance of this block |
//! | `skip`, a number | so many arrivals at the goal are let go first |
//! | `patience`, a number | milliseconds that a thread waits at most |
//! | `point`, part, kind, actor, memory, wait, module, build id, places, gates | an operation, in the order of the schedule |
//!
//! The part is `before` or `goal`, the kind `access` (of any kind), `read`, `write`, `acquire` or `release`. Actors and memory are numbers; points with the same
//! number are done by one thread, or touch the same bytes. `-` is a number that does not matter. `wait` is `hold` if threads wait
//! at the point for their turn, else `pass`. Places are stretches `start-end` of addresses of the file, in hexadecimal; gates (see
//! `state`) are addresses of the same file.

use std::ops::Range;
use std::time::Duration;

/// More points are not taken: they are the bits of a number.
pub(super) const MOST_POINTS: usize = 64;

/// What the last points must do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Goal {
    /// Both of them are the next operations of their threads at one moment.
    Together,
    /// They happen in their order.
    #[default]
    Ordered,
}

/// What the first and the last point of the goal must be in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Whole {
    Step,
    Block,
    Section,
    #[default]
    Free,
}

/// What is done at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An access: any, or only one that reads or writes.
    Access,
    Read,
    Write,
    Acquire,
    Release,
}

/// A point of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Point {
    pub(super) kind: Kind,
    pub(super) actor: Option<usize>,
    pub(super) memory: Option<usize>,
    /// Threads wait here for their turn.
    pub(super) holds: bool,
    /// The file name of the module.
    pub(super) module: Box<str>,
    pub(super) build_id: Box<[u8]>,
    /// Addresses of the file.
    pub(super) places: Vec<Range<usize>>,
    /// The same; from the start of the run on addresses in memory.
    pub(super) gates: Vec<usize>,
}

/// The whole plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Plan {
    pub(super) goal: Goal,
    pub(super) whole: Whole,
    /// The label of the block, if it is one.
    pub(super) block: Box<str>,
    pub(super) skip: u64,
    pub(super) patience: Duration,
    /// In the order of the schedule.
    pub(super) points: Vec<Point>,
    /// So many of them come before the goal.
    pub(super) before: usize,
}

impl Plan {
    /// Reads a plan. None if it is not one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut plan = Plan::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields[..] {
                ["goal", "together"] => plan.goal = Goal::Together,
                ["goal", "ordered"] => plan.goal = Goal::Ordered,
                ["whole", "block", label] => (plan.whole, plan.block) = (Whole::Block, label.into()),
                ["whole", name] => plan.whole = whole(name)?,
                ["skip", number] => plan.skip = number.parse().ok()?,
                ["patience", number] => plan.patience = Duration::from_millis(number.parse().ok()?),
                ["point", part, ref rest @ ..] => {
                    let in_order = plan.points.len() == plan.before;
                    match part {
                        "before" if in_order => plan.before += 1,
                        "goal" => {}
                        _ => return None,
                    }
                    plan.points.push(point(rest)?);
                }
                _ => return None,
            }
        }
        let needed = plan.before + 2;
        let complete = match plan.goal {
            Goal::Together => plan.points.len() == needed,
            Goal::Ordered => plan.points.len() >= needed,
        };
        (complete && plan.points.len() <= MOST_POINTS).then_some(plan)
    }

    /// The last point.
    pub(super) fn last(&self) -> usize {
        self.points.len() - 1
    }
}

fn whole(name: &str) -> Option<Whole> {
    Some(match name {
        "step" => Whole::Step,
        "section" => Whole::Section,
        "free" => Whole::Free,
        _ => return None,
    })
}

fn point(fields: &[&str]) -> Option<Point> {
    let &[kind, actor, memory, wait, module, build_id, places, gates] = fields else { return None };
    let kind = match kind {
        "access" => Kind::Access,
        "read" => Kind::Read,
        "write" => Kind::Write,
        "acquire" => Kind::Acquire,
        "release" => Kind::Release,
        _ => return None,
    };
    let holds = match wait {
        "hold" => true,
        "pass" => false,
        _ => return None,
    };
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    let stretch = |text: &str| {
        let (start, end) = text.split_once('-')?;
        Some(address(start)?..address(end)?)
    };
    let places = places.split(',').map(stretch).collect::<Option<Vec<_>>>()?;
    let bytes = build_id.as_bytes().chunks(2).map(|digits| {
        std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
    });
    let gates = gates.split(',').filter(|gate| !gate.is_empty()).map(address);
    Some(Point {
        kind,
        actor: number(actor)?,
        memory: number(memory)?,
        holds,
        module: module.into(),
        build_id: bytes.collect::<Option<Vec<u8>>>()?.into(),
        places,
        gates: gates.collect::<Option<Vec<_>>>()?,
    })
}

/// A number that may not matter: then it is `-`. It is one of few.
fn number(text: &str) -> Option<Option<usize>> {
    if text == "-" {
        return Some(None);
    }
    text.parse().ok().filter(|number| *number < MOST_POINTS).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RACE: &str = "goal\ttogether\nskip\t3\npatience\t50\n\
        point\tbefore\taccess\t-\t1\thold\tprog\t\t10-11\t\n\
        point\tgoal\taccess\t0\t0\thold\tprog\tab0c\t2a-2b,30-38\t50,5f\n\
        point\tgoal\taccess\t1\t0\tpass\tprog\tab0c\t40-41\t\n";

    #[test]
    fn a_plan_is_read() {
        let plan = Plan::parse(RACE).expect("it is one");
        assert_eq!((plan.goal, plan.whole, plan.skip, plan.before), (Goal::Together, Whole::Free, 3, 1));
        assert_eq!(plan.patience, Duration::from_millis(50));
        let [before, first, second] = &plan.points[..] else { panic!("{plan:?}") };
        assert_eq!((before.actor, before.memory, before.build_id.len()), (None, Some(1), 0));
        assert_eq!(
            (first.places.clone(), &*first.build_id),
            (vec![0x2a..0x2b, 0x30..0x38], &[0xab, 0x0c][..])
        );
        assert_eq!((&first.gates[..], &second.gates[..]), (&[0x50, 0x5f][..], &[][..]));
        assert!(first.holds && !second.holds && plan.last() == 2);
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        assert_eq!(Plan::parse(""), None);
        for (part, other) in [
            ("together", "apart"),
            ("skip\t3", "skip\tx"),
            ("2a-2b", "2a"),
            ("2a-2b", "2a-zz"),
            ("ab0c\t40", "a\u{e4}\t40"),
            ("access\t1\t0", "fence\t1\t0"),
            ("access\t1\t0", "access\t64\t0"),
            ("\tpass", "\tmaybe"),
            ("point\tgoal", "point\tafter"),
            (
                "point\tbefore\taccess\t-\t1\thold\tprog\t\t10-11\t\n",
                "point\tgoal\taccess\t-\t1\thold\tprog\t\t10-11\t\n",
            ),
        ] {
            let text = RACE.replacen(part, other, 1);
            assert_ne!(text, RACE);
            assert_eq!(Plan::parse(&text), None, "{text}");
        }
        let swapped: Vec<&str> = RACE.lines().collect();
        let swapped = [swapped[0], swapped[4], swapped[3], swapped[5]].join("\n");
        assert_eq!(Plan::parse(&swapped), None, "what comes before the goal stands before it");
    }
}
