//! What kind of trace is wanted.

use std::fmt;
use std::str::FromStr;

/// A family of traces: how its threads or tasks work together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// A few threads with short regions under locks.
    FewThreads,
    /// Many threads, locks and variables.
    ManyThreads,
    /// The first thread is inside one atomic region all the time, and the others see what it writes.
    OpenTransaction,
    /// Pairs of threads with long regions at the same time, which read much that is common.
    Mutual,
    /// Regions and single accesses without any lock.
    Unlocked,
    /// A bit of all: a tree of forks, nested regions, re-entrant and shared locks, atomics.
    Mixed,
    /// Phases of sibling tasks, each with its own slice of the data.
    TaskLoop,
    /// Fork-join recursion: two halves, a wait, and a step that combines them.
    TaskTree,
    /// Finish scopes, spawns and waits nested at random.
    TaskNested,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 9] = [
        Family::FewThreads,
        Family::ManyThreads,
        Family::OpenTransaction,
        Family::Mutual,
        Family::Unlocked,
        Family::Mixed,
        Family::TaskLoop,
        Family::TaskTree,
        Family::TaskNested,
    ];
    /// The families of threads.
    pub const THREADS: [Family; 6] = [
        Family::FewThreads,
        Family::ManyThreads,
        Family::OpenTransaction,
        Family::Mutual,
        Family::Unlocked,
        Family::Mixed,
    ];
    /// The families of tasks.
    pub const TASKS: [Family; 3] = [Family::TaskLoop, Family::TaskTree, Family::TaskNested];

    /// True if its traces have tasks.
    pub fn has_tasks(self) -> bool {
        Family::TASKS.contains(&self)
    }

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Family::FewThreads => "few-threads",
            Family::ManyThreads => "many-threads",
            Family::OpenTransaction => "open-transaction",
            Family::Mutual => "mutual",
            Family::Unlocked => "unlocked",
            Family::Mixed => "mixed",
            Family::TaskLoop => "task-loop",
            Family::TaskTree => "task-tree",
            Family::TaskNested => "task-nested",
        }
    }

    /// What is special about it, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Family::FewThreads => "a few threads with short regions under locks",
            Family::ManyThreads => "many threads, locks and variables",
            Family::OpenTransaction => "one region stays open throughout, and the others see what it writes",
            Family::Mutual => "pairs of threads with long regions that read much that is common",
            Family::Unlocked => "regions and single accesses without any lock",
            Family::Mixed => "a tree of forks, nested regions, re-entrant and shared locks, atomics",
            Family::TaskLoop => "phases of sibling tasks, each with a slice of its own",
            Family::TaskTree => "fork-join recursion: two halves, a wait, a step that combines",
            Family::TaskNested => "finish scopes, spawns and waits nested at random",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Family {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        Family::ALL
            .into_iter()
            .find(|family| family.name() == name)
            .ok_or_else(|| PlanError::UnknownFamily(name.to_owned()))
    }
}

/// How the tasks of a trace take locks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Discipline {
    /// There are no locks, and nothing that is shared is written.
    None,
    /// In the order of their numbers, given back in the reverse order.
    Nested,
    /// In the order of their numbers; each is given back once the next one is held.
    HandOverHand,
    /// Taken and given back in any order.
    AnyOrder,
    /// Nested, and now and then a task is spawned while they are held.
    AcrossSpawns,
    /// Nested, and those that only guard what is read are often shared.
    ReaderWriter,
    /// Nested, and taken again while they are held.
    Recursive,
}

impl Discipline {
    /// All disciplines.
    pub const ALL: [Discipline; 7] = [
        Discipline::None,
        Discipline::Nested,
        Discipline::HandOverHand,
        Discipline::AnyOrder,
        Discipline::AcrossSpawns,
        Discipline::ReaderWriter,
        Discipline::Recursive,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Discipline::None => "none",
            Discipline::Nested => "nested",
            Discipline::HandOverHand => "hand-over-hand",
            Discipline::AnyOrder => "any-order",
            Discipline::AcrossSpawns => "across-spawns",
            Discipline::ReaderWriter => "reader-writer",
            Discipline::Recursive => "recursive",
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Discipline {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        Discipline::ALL
            .into_iter()
            .find(|discipline| discipline.name() == name)
            .ok_or_else(|| PlanError::UnknownDiscipline(name.to_owned()))
    }
}

/// The names of all families.
fn family_names() -> String {
    Family::ALL.map(Family::name).join(", ")
}

/// The names of all disciplines.
fn discipline_names() -> String {
    Discipline::ALL.map(Discipline::name).join(", ")
}

/// A plan that no trace can follow.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PlanError {
    /// There is no such family.
    #[error("unknown family `{0}`; the families are {names}", names = family_names())]
    UnknownFamily(String),
    /// There is no such discipline.
    #[error("unknown discipline `{0}`; the disciplines are {names}", names = discipline_names())]
    UnknownDiscipline(String),
    /// The family has nothing that the number or the choice could be about.
    #[error("{what} cannot be chosen for the family `{family}`")]
    NotForFamily {
        /// Which number or choice.
        what: &'static str,
        /// The family.
        family: Family,
    },
    /// A number is out of its range.
    #[error("{what} must be from {least} to {most}, not {found}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// The least value.
        least: u32,
        /// The greatest value.
        most: u32,
        /// What the plan says.
        found: u32,
    },
    /// The share of torn regions is no share.
    #[error("the share of violations must be from 0 to 1, not {0}")]
    Violations(f64),
}

/// What a trace should be like.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// How the threads or tasks work together.
    pub family: Family,
    /// Number of events, roughly: regions are completed and threads joined.
    pub events: u64,
    /// Number of threads; those of a family of tasks run the tasks.
    pub threads: u32,
    /// Number of locks. Without locks ([`Family::Unlocked`], [`Family::Mutual`], [`Discipline::None`]) it is not used.
    pub locks: u32,
    /// Number of variables.
    pub variables: u32,
    /// Number of accesses in a region, or in a step of a task, on average.
    pub region_length: u32,
    /// Number of tasks of a phase ([`Family::TaskLoop`]), or of a round ([`Family::TaskNested`]); else none.
    pub tasks: Option<u32>,
    /// How deep tasks are nested ([`Family::TaskTree`], [`Family::TaskNested`]); else none.
    pub depth: Option<u32>,
    /// How tasks take locks; none for the families of threads.
    pub discipline: Option<Discipline>,
    /// The share of regions that another thread tears. (Where there is no other thread, none is torn.) For families
    /// of tasks the share of tasks that come with a race or a torn region.
    pub violations: f64,
    /// The same plan with the same seed gives the same trace.
    pub seed: u64,
}

impl Plan {
    /// The usual plan of a family: a million events without a violation.
    pub fn new(family: Family) -> Self {
        let (threads, locks, variables, region_length) = match family {
            Family::FewThreads => (4, 16, 1024, 6),
            Family::ManyThreads => (64, 1024, 100_000, 6),
            Family::OpenTransaction => (8, 64, 8192, 8),
            Family::Mutual => (2, 1, 20_000, 20_000),
            Family::Unlocked => (8, 1, 4096, 8),
            Family::Mixed => (12, 32, 4096, 10),
            Family::TaskLoop | Family::TaskTree | Family::TaskNested => (4, 16, 4096, 8),
        };
        let (tasks, depth) = match family {
            Family::TaskLoop => (Some(256), None),
            Family::TaskTree => (None, Some(8)),
            Family::TaskNested => (Some(256), Some(6)),
            _ => (None, None),
        };
        let discipline = family.has_tasks().then_some(Discipline::Nested);
        Plan {
            family,
            events: 1_000_000,
            threads,
            locks,
            variables,
            region_length,
            tasks,
            depth,
            discipline,
            violations: 0.0,
            seed: 1,
        }
    }

    /// Whether a trace can follow the plan.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        self.check_tasks()?;
        // One lock and a part of the variables are the open transaction's own.
        let (least_locks, least_variables) = match self.family {
            // Five of eight variables, but for a few, are divided among the tasks that may run in parallel.
            Family::TaskLoop => (self.least_locks(), self.tasks.unwrap_or(1).saturating_mul(2).max(32)),
            Family::TaskTree => (self.least_locks(), (2 << self.depth.unwrap_or(1)).max(32)),
            Family::TaskNested => (self.least_locks(), 32),
            Family::OpenTransaction => (2, 4),
            Family::Mutual => (0, self.threads.saturating_mul(4)),
            Family::Unlocked => (0, 1),
            _ => (1, 1),
        };
        let ranges = [
            ("the number of threads", 1, 1 << 16, self.threads),
            ("the number of locks", least_locks, 1 << 24, self.locks),
            ("the number of variables", least_variables, 1 << 24, self.variables),
            ("the length of regions", 1, 1 << 30, self.region_length),
        ];
        for (what, least, most, found) in ranges {
            if !(least..=most).contains(&found) {
                return Err(PlanError::OutOfRange { what, least, most, found });
            }
        }
        if !(0.0..=1.0).contains(&self.violations) {
            return Err(PlanError::Violations(self.violations));
        }
        Ok(())
    }

    /// Whether what the plan says about tasks fits the family.
    fn check_tasks(&self) -> Result<(), PlanError> {
        let family = self.family;
        let usual = Plan::new(family);
        let chosen = [
            ("the number of tasks", self.tasks.is_some(), usual.tasks.is_some()),
            ("the depth", self.depth.is_some(), usual.depth.is_some()),
            ("the locking discipline", self.discipline.is_some(), usual.discipline.is_some()),
        ];
        for (what, is_chosen, can_be) in chosen {
            if is_chosen && !can_be {
                return Err(PlanError::NotForFamily { what, family });
            }
        }
        // A tree has a slice of the variables for each leaf; a task on top of another one takes room on a worker.
        let deepest = if family == Family::TaskTree { 22 } else { 64 };
        let ranges = [("the number of tasks", 1 << 22, self.tasks), ("the depth", deepest, self.depth)];
        for (what, most, found) in ranges {
            if let Some(found) = found.filter(|found| !(1..=most).contains(found)) {
                return Err(PlanError::OutOfRange { what, least: 1, most, found });
            }
        }
        Ok(())
    }

    /// How many locks the discipline needs to be seen at all.
    fn least_locks(&self) -> u32 {
        match self.discipline {
            Some(Discipline::None) => 0,
            Some(Discipline::HandOverHand | Discipline::AnyOrder) => 2,
            _ => 1,
        }
    }
}
