//! What kind of trace is wanted.

use std::fmt;
use std::str::FromStr;

/// A family of traces: how its threads work together.
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
}

impl Family {
    /// All families.
    pub const ALL: [Family; 6] = [
        Family::FewThreads,
        Family::ManyThreads,
        Family::OpenTransaction,
        Family::Mutual,
        Family::Unlocked,
        Family::Mixed,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Family::FewThreads => "few-threads",
            Family::ManyThreads => "many-threads",
            Family::OpenTransaction => "open-transaction",
            Family::Mutual => "mutual",
            Family::Unlocked => "unlocked",
            Family::Mixed => "mixed",
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

/// A plan that no trace can follow.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PlanError {
    /// There is no such family.
    #[error(
        "unknown family `{0}`; the families are few-threads, many-threads, open-transaction, mutual, unlocked, mixed"
    )]
    UnknownFamily(String),
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
    /// How the threads work together.
    pub family: Family,
    /// Number of events, roughly: regions are completed and threads joined.
    pub events: u64,
    /// Number of threads.
    pub threads: u32,
    /// Number of locks. Without locks ([`Family::Unlocked`], [`Family::Mutual`]) it is not used.
    pub locks: u32,
    /// Number of variables.
    pub variables: u32,
    /// Number of accesses in a region, on average.
    pub region_length: u32,
    /// The share of regions that another thread tears. (Where there is no other thread, none is torn.)
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
        };
        Plan { family, events: 1_000_000, threads, locks, variables, region_length, violations: 0.0, seed: 1 }
    }

    /// Whether a trace can follow the plan.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        // One lock and a part of the variables are the open transaction's own.
        let (least_locks, least_variables) = match self.family {
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
}
