//! What is counted, and the tables of it.

use super::support::generate::Discipline;
use crate::table::{Table, count, nothing};
use std::fmt::Write;

/// How wrong one analysis was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counted {
    /// Locations (or groups) with something to tell that it did not tell.
    pub(super) missed: u64,
    /// Locations (or groups) with nothing to tell that it told something about.
    pub(super) false_alarms: u64,
    /// Programs of which two observed orders gave different findings.
    pub(super) orders_differ: u64,
    /// Searches for a schedule that were given up, in both orders.
    pub(super) given_up: u64,
}

/// What was found out about one discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    pub(super) programs: u64,
    /// Locations that a program accesses.
    pub(super) locations: u64,
    /// Those with a race in some schedule.
    pub(super) racy: u64,
    /// Those on which some schedule tears a step,
    pub(super) torn_steps: u64,
    /// or an annotated block.
    pub(super) torn_blocks: u64,
    /// Programs that access both locations of the group,
    pub(super) groups: u64,
    /// and those of them in which some schedule tears a step with regard to the group.
    pub(super) torn_groups: u64,
    pub(super) published_ptracer: Counted,
    pub(super) all_sets: Counted,
    pub(super) ptracer: Counted,
    pub(super) ptracer_search: Counted,
    pub(super) spd3: Counted,
    pub(super) published_atomicity: Counted,
    pub(super) atomicity: Counted,
    pub(super) atomicity_search: Counted,
    pub(super) blocks_search: Counted,
    pub(super) groups_search: Counted,
}

impl Counted {
    fn add(&mut self, other: &Counted) {
        self.missed += other.missed;
        self.false_alarms += other.false_alarms;
        self.orders_differ += other.orders_differ;
        self.given_up += other.given_up;
    }
}

/// One analysis in the tables: its head, and its figures in a tally.
type Column = (&'static str, fn(&Tally) -> &Counted);

const RACES: [Column; 5] = [
    ("PTRacer as printed", |tally| &tally.published_ptracer),
    ("unbounded history", |tally| &tally.all_sets),
    ("PTRacer", |tally| &tally.ptracer),
    ("PTRacer + schedule search", |tally| &tally.ptracer_search),
    ("SPD3, which knows no locks", |tally| &tally.spd3),
];
const STEPS: [Column; 3] = [
    ("published checker", |tally| &tally.published_atomicity),
    ("task-atomicity", |tally| &tally.atomicity),
    ("task-atomicity + schedule search", |tally| &tally.atomicity_search),
];
const BLOCKS: [Column; 1] = [("task-atomicity + schedule search", |tally| &tally.blocks_search)];
const GROUPS: [Column; 1] = [("task-atomicity + schedule search", |tally| &tally.groups_search)];

impl Tally {
    pub(super) fn add(&mut self, other: &Tally) {
        self.programs += other.programs;
        self.locations += other.locations;
        self.racy += other.racy;
        self.torn_steps += other.torn_steps;
        self.torn_blocks += other.torn_blocks;
        self.groups += other.groups;
        self.torn_groups += other.torn_groups;
        self.published_ptracer.add(&other.published_ptracer);
        self.all_sets.add(&other.all_sets);
        self.ptracer.add(&other.ptracer);
        self.ptracer_search.add(&other.ptracer_search);
        self.spd3.add(&other.spd3);
        self.published_atomicity.add(&other.published_atomicity);
        self.atomicity.add(&other.atomicity);
        self.atomicity_search.add(&other.atomicity_search);
        self.blocks_search.add(&other.blocks_search);
        self.groups_search.add(&other.groups_search);
    }
}

/// The name of a discipline on the command line.
pub(super) fn name(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::NoLocks => "no-locks",
        Discipline::NestedOrdered => "nested-ordered",
        Discipline::HandOverHand => "hand-over-hand",
        Discipline::AnyOrder => "any-order",
        Discipline::AcrossSpawns => "across-spawns",
        Discipline::ReaderWriter => "reader-writer",
        Discipline::Recursive => "recursive",
        Discipline::Edges => "edges",
        Discipline::Escaping => "escaping",
        Discipline::Groups => "groups",
    }
}

/// A kind of finding: what is judged, how many of that are there, and how many with something to tell.
struct Kind {
    title: &'static str,
    judged_head: &'static str,
    found_head: &'static str,
    judged: fn(&Tally) -> u64,
    found: fn(&Tally) -> u64,
}

/// All tables.
pub(super) fn tables(tallies: &[(Discipline, Tally)]) -> String {
    let races = Kind {
        title: "Races",
        judged_head: "locations",
        found_head: "with a race in some schedule",
        judged: |tally| tally.locations,
        found: |tally| tally.racy,
    };
    let steps = Kind {
        title: "Atomicity of steps",
        judged_head: "locations",
        found_head: "torn in some schedule",
        judged: |tally| tally.locations,
        found: |tally| tally.torn_steps,
    };
    let blocks = Kind { title: "Atomicity of annotated blocks", found: |tally| tally.torn_blocks, ..steps };
    let groups = Kind {
        title: "Atomicity of steps with regard to a group of two locations",
        judged_head: "groups",
        found_head: "torn in some schedule",
        judged: |tally| tally.groups,
        found: |tally| tally.torn_groups,
    };
    let sections = [
        section(&races, &RACES, tallies),
        section(&steps, &STEPS, tallies),
        section(&blocks, &BLOCKS, tallies),
        section(&groups, &GROUPS, tallies),
    ];
    sections.concat()
}

fn section(kind: &Kind, columns: &[Column], tallies: &[(Discipline, Tally)]) -> String {
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let table = |before: &[&str]| Table::new(&[before, &heads[..]].concat());
    let mut missed = table(&["discipline", "programs", kind.judged_head, kind.found_head]);
    let mut false_alarms = table(&["discipline", "clean"]);
    let mut orders = Table::new(&[&["discipline"], &heads[..], &["searches given up"]].concat());
    let mut sum = Tally::default();
    for (_, tally) in tallies {
        sum.add(tally);
    }
    let rows = tallies.iter().map(|(discipline, tally)| (format!("`{}`", name(*discipline)), tally));
    for (title, tally) in rows.chain([("all".to_owned(), &sum)]) {
        let (judged, found) = ((kind.judged)(tally), (kind.found)(tally));
        let clean = judged - found;
        let figures = || columns.iter().map(|(_, figures)| figures(tally));
        let mut row = vec![title.clone(), count(tally.programs), count(judged), count(found)];
        row.extend(figures().map(|counted| with_share(counted.missed, found)));
        missed.row(row);
        let mut row = vec![title.clone(), count(clean)];
        row.extend(figures().map(|counted| with_share(counted.false_alarms, clean)));
        false_alarms.row(row);
        let mut row = vec![title];
        row.extend(figures().map(|counted| count(counted.orders_differ)));
        row.push(count(figures().map(|counted| counted.given_up).sum()));
        orders.row(row);
    }
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "## {}\n\nMissed, and the share of what there is:\n\n{missed}\nFalse alarms, and the share of what is clean:\n\n\
         {false_alarms}\nPrograms of which two observed orders gave different findings:\n\n{orders}\n",
        kind.title
    );
    text
}

/// A number and its share of another one.
fn with_share(part: u64, whole: u64) -> String {
    match (part, whole) {
        (_, 0) if part == 0 => nothing(),
        (0, _) => "0".to_owned(),
        _ => format!("{} ({:.2} %)", count(part), 100.0 * part as f64 / whole as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_could_be_wrong() {
        let mut tally = Tally { programs: 10, locations: 30, racy: 20, ..Tally::default() };
        tally.ptracer = Counted { missed: 5, false_alarms: 1, orders_differ: 2, given_up: 0 };
        let text = tables(&[(Discipline::NoLocks, tally)]);
        assert!(text.contains("| `no-locks` | 10 | 30 | 20 | 0 | 0 | 5 (25.00 %) | 0 | 0 |"), "{text}");
        assert!(text.contains("| `no-locks` | 10 | 0 | 0 | 1 (10.00 %) | 0 | 0 |"), "{text}");
        assert!(text.contains("| `no-locks` | 0 | 0 | 2 | 0 | 0 | 0 |"), "{text}");
    }
}
