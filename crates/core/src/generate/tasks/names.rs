//! Functions, lines and all other names of a task program.

use super::{Layout, PLANTED};
use crate::event::{FunctionId, SiteId};
use crate::generate::{LABELS, Plan, VARIABLE_SIZE, address};
use crate::trace::{FileId, Location, NameKind, Place, Site, Tables};

/// Functions that tasks run.
const TASKS: u32 = 8;
/// Lines of each function.
const LINES: u32 = 24;
/// Source files.
const FILES: u32 = 4;
/// What the functions behind those of the tasks are called, [`LABELS`] of each.
const KINDS: [&str; 5] = ["section", "region", "torn", "racy", "intruder"];

/// A function of the program: its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Function(u32);

/// A line of the function that a task runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Line {
    Enter,
    /// One of several accesses.
    Access(u32),
    /// Where tasks with this function are spawned.
    Spawn(Function),
    Wait,
    Open,
    Close,
    /// Where it may leave its worker.
    Resume,
    Leave,
}

impl Function {
    /// What the root runs.
    pub(super) const MAIN: Self = Self(0);

    /// What a task runs.
    pub(super) fn task(number: u32) -> Self {
        Self(1 + number % TASKS)
    }

    fn of_kind(kind: u32, label: u32) -> Self {
        Self(1 + TASKS + kind * LABELS + label)
    }

    /// Works under locks.
    pub(super) fn section(label: u32) -> Self {
        Self::of_kind(0, label)
    }

    /// Works under locks in a block that is marked as atomic.
    pub(super) fn region(label: u32) -> Self {
        Self::of_kind(1, label)
    }

    /// Has a block that is marked as atomic and is not.
    pub(super) fn torn(label: u32) -> Self {
        Self::of_kind(2, label)
    }

    /// Has an access that takes part in a race.
    pub(super) fn racy(label: u32) -> Self {
        Self::of_kind(3, label)
    }

    /// Writes what a torn block of another task works with.
    pub(super) fn intruder(label: u32) -> Self {
        Self::of_kind(4, label)
    }

    /// A line of the function that a task runs.
    #[inline]
    pub(super) fn site(self, line: Line) -> SiteId {
        let line = match line {
            Line::Enter => 0,
            Line::Access(number) => 1 + number % 8,
            Line::Spawn(function) => 8 + function.0,
            Line::Wait => 17,
            Line::Open => 18,
            Line::Close => 19,
            Line::Resume => 20,
            Line::Leave => 21,
        };
        SiteId(self.0 * LINES + line)
    }

    /// A line of another function, by what it did before.
    #[inline]
    pub(super) fn step(self, number: u32) -> SiteId {
        SiteId(self.0 * LINES + number % LINES)
    }
}

/// All names, made up front. Tasks have numbers only: names would grow with the trace.
pub(in crate::generate) fn tables(plan: &Plan) -> Tables {
    let mut tables = Tables::default();
    for thread in 0..plan.threads {
        tables.add_name(NameKind::Thread, &format!("worker{thread}"));
    }
    for lock in 0..plan.locks {
        tables.add_name(NameKind::Lock, &format!("L{lock}"));
    }
    let planted = Layout::new(plan).planted;
    for variable in 0..plan.variables {
        let name = if planted.contains(&variable) {
            // The first half is for races, the second for regions that are torn without locks.
            let what = if variable - planted.start < PLANTED / 2 { "racy" } else { "torn" };
            format!("{what}{}", (variable - planted.start) % (PLANTED / 2))
        } else {
            format!("V{variable}")
        };
        let location = Location { size: VARIABLE_SIZE, name: name.into() };
        tables.locations.insert(address(variable).0, location);
    }
    for kind in ["region", "torn"] {
        for label in 0..LABELS {
            tables.add_name(NameKind::Region, &format!("{kind}{label}"));
        }
    }
    for file in 0..FILES {
        tables.add_name(NameKind::File, &format!("src/part{file}.c"));
    }
    let mut functions = vec!["main".to_owned()];
    functions.extend((0..TASKS).map(|task| format!("task{task}")));
    functions.extend(KINDS.iter().flat_map(|kind| (0..LABELS).map(move |label| format!("{kind}{label}"))));
    for name in functions {
        let function = tables.add_name(NameKind::Function, &name);
        for line in 0..LINES {
            // Functions are spread over the files, with two empty lines between them.
            let line = 1 + (function / FILES) * (LINES + 2) + line;
            let place = Place::Source { file: FileId(function % FILES), line, column: 0 };
            tables.sites.push(Site { place, function: FunctionId(function) });
        }
    }
    tables
}
