//! What an analysis tells: ids only, to be resolved, filtered and printed by others.

use crate::event::{Addr, GroupId, LockId, LockMode, Op, RegionId, SiteId, StackId, ThreadId};
use crate::tasks::Actor;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// When and where an operation was done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Moment {
    /// Position in the trace, as the source counts it (offline), or in the thread (online). From 1; 0 is "never".
    pub position: u64,
    /// Who did it.
    pub thread: ThreadId,
    /// Where in the program.
    pub site: SiteId,
    /// Under which calls.
    pub stack: StackId,
}

/// What kind of finding it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// The observed transactions cannot be put into any serial order.
    AtomicityViolation,
    /// Two conflicting accesses are not ordered by anything.
    DataRace,
    /// No lock was held at all accesses of a location.
    InconsistentLocking,
    /// The operations of an atomic block cannot be moved together by what is known about its locks.
    IrreducibleBlock,
    /// What was read under a lock is written under a later hold of the same lock, and another may write in between.
    LockGap,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 5] = [
        Rule::AtomicityViolation,
        Rule::DataRace,
        Rule::InconsistentLocking,
        Rule::IrreducibleBlock,
        Rule::LockGap,
    ];

    /// The stable name that reports, suppressions and `keirin explain` use.
    pub fn name(self) -> &'static str {
        match self {
            Rule::AtomicityViolation => "atomicity-violation",
            Rule::DataRace => "data-race",
            Rule::InconsistentLocking => "inconsistent-locking",
            Rule::IrreducibleBlock => "irreducible-block",
            Rule::LockGap => "lock-gap",
        }
    }
}

/// How sure a finding is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It happened in the run that was watched.
    Observed,
    /// Another schedule of the same run shows it.
    OtherSchedule {
        /// The schedule, which has been checked. None if the structure of the tasks and the locks prove that some schedule
        /// shows it, and none was worked out.
        witness: Option<Box<Witness>>,
    },
    /// It may be so.
    Suspected(Doubt),
}

/// Why a finding is no more than suspected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Doubt {
    /// The analysis is a heuristic.
    Heuristic,
    /// No schedule was looked for that would show it.
    NotExamined,
    /// There is no schedule that shows it: the locks forbid it.
    LocksForbid,
    /// The search for a schedule was given up.
    SearchGivenUp,
    /// It depends on values, or on the condition of a branch, that were not told.
    ValuesUnknown,
    /// It depends on more values than can be gone through, and there is no SMT solver to ask.
    NeedsSolver,
    /// It needs an access that the other side of a branch would do, and nobody has asked whether the branch can go there.
    OtherSide,
}

/// What a schedule keeps of the observed run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Proof {
    /// Its operations; nobody has looked at what they read.
    #[default]
    Operations,
    /// Its branches, by their conditions and the values that are read; except those that must go the other way for a possible
    /// access.
    Branches,
    /// All values that are read.
    Values,
}

/// A schedule of the same operations that shows a finding.
///
/// The run goes as observed up to a position; from then on the segments follow each other. It need not go to the end of
/// the program: what comes after the finding does not matter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// All events up to this position happen as observed. 0 if the schedule differs from the start.
    pub as_observed_until: u64,
    /// What happens then.
    pub segments: Vec<Segment>,
    /// What it keeps of the observed run.
    pub proof: Proof,
}

/// Consecutive operations of one task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Whose operations.
    pub actor: Actor,
    /// The position, in the trace, of the first one.
    pub first: u64,
    /// The position of the last one. In between are all other operations of the same task that have such positions.
    pub last: u64,
    /// How many operations that are.
    pub operations: u64,
    /// Those that a reader wants to see: what the finding is about, locks and task constructs; and, if values were looked at, other
    /// accesses that come in another order than in the observed run.
    pub shown: Vec<RawStep>,
}

/// A task that takes part in a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawTask {
    /// Who it is. The number of a task that did a step tells it from the others of the finding; of those above it, which
    /// are known by where they were spawned, it may be [`TaskId::NONE`](crate::event::TaskId::NONE).
    pub actor: Actor,
    /// Where it was spawned; position 0 if it never was, or if the run has no positions.
    pub spawned: Moment,
}

/// How the tasks of a finding descend from each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lineage {
    /// The nearest task from which all others descend.
    pub common: RawTask,
    /// For each step of the finding the tasks from below the common one down to that which did it. Empty if the common
    /// one did it itself.
    pub paths: Vec<Vec<RawTask>>,
}

/// One operation that takes part in a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawStep {
    /// When and where.
    pub moment: Moment,
    /// What was done.
    pub op: Op,
}

/// A transaction on a cycle: an outermost atomic region instance, or a single operation outside any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawTransaction {
    /// Whose transaction it is.
    pub thread: ThreadId,
    /// The label of the outermost region; `NONE` for an operation outside any region.
    pub region: RegionId,
    /// Which of the finding's steps belong to it, in program order.
    pub steps: Vec<usize>,
}

/// A conflict between two steps that puts one transaction before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawEdge {
    /// Index of the earlier step.
    pub from: usize,
    /// Index of the later step.
    pub to: usize,
}

/// An instance of an atomic block that a finding speaks against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refuted {
    /// The label of the block.
    pub region: RegionId,
    /// Where the block began.
    pub begin: Moment,
}

/// Why transactions cannot be serialized: each comes before the next, and the last before the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The transactions in the order of the cycle. The first one did the operation that closed it.
    pub transactions: Vec<RawTransaction>,
    /// One edge from each transaction to the next, the last one back to the first: the edge that closed the cycle.
    /// (Two transactions of one thread that follow each other are joined by program order and need no edge.)
    pub edges: Vec<RawEdge>,
    /// True if the first transaction is to blame: there is no equivalent run in which it is not interrupted.
    pub blamed: bool,
    /// The blocks of the blamed transaction, outermost first, that hold both ends of the cycle.
    pub refuted: Vec<Refuted>,
}

/// Two accesses that nothing orders. The finding's steps are the two, the earlier one first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// First byte that both touch.
    pub addr: Addr,
    /// Number of bytes that both touch.
    pub size: u32,
}

impl Race {
    /// The bytes that two accesses share. A size of 0 is not known: then the bytes are those of the other access.
    pub fn between(earlier: Op, later: Op) -> Self {
        let ((first, size), (other_first, other_size)) = (accessed(earlier), accessed(later));
        match (size, other_size) {
            (0, _) => return Self { addr: other_first, size: other_size.max(1) },
            (_, 0) => return Self { addr: first, size },
            _ => {}
        }
        let last = |addr: Addr, size: u32| addr.0.saturating_add(u64::from(size) - 1);
        let addr = first.max(other_first);
        let end = last(first, size).min(last(other_first, other_size));
        Self { addr, size: u32::try_from(end.saturating_sub(addr.0) + 1).unwrap_or(u32::MAX) }
    }
}

/// The bytes of an access of either kind.
#[inline]
pub(crate) fn accessed(op: Op) -> (Addr, u32) {
    match op {
        Op::Access { size, addr, .. } | Op::OtherPath { size, addr, .. } => (addr, size),
        Op::Atomic { size, addr, .. } => (addr, u32::from(size)),
        _ => (Addr(0), 0),
    }
}

/// A location that is not protected by one lock. The finding's steps are an earlier access, if one is remembered, and the
/// access that left no common lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locking {
    /// First byte of the location.
    pub addr: Addr,
    /// Its number of bytes.
    pub size: u32,
    /// For each step the locks that its thread held.
    pub held: Vec<Vec<(LockId, LockMode)>>,
}

/// A block whose operations cannot be moved together: after the operation that commits it, it does one that may have to
/// wait for others or may be interrupted. The finding's steps hold both, and more around them if it helps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// The open blocks that hold both operations, outermost first.
    pub blocks: Vec<Refuted>,
    /// Index of the step that committed the block.
    pub commit: usize,
    /// Index of the step that broke it.
    pub broken: usize,
}

/// What was to be whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Whole {
    /// A block that is marked, or a function that was named.
    Block(RegionId),
    /// What a task does between two task constructs.
    Step,
    /// Two holds of a lock by one step, the first reading what the second writes.
    Holds(LockId),
}

/// A region into which an operation of another task fits that conflicts with what comes before it and after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Torn {
    /// First byte that the conflict is about.
    pub addr: Addr,
    /// Its number of bytes.
    pub size: u32,
    /// What was to be whole.
    pub whole: Whole,
    /// The group of locations that must be seen together, if it is about one.
    pub group: Option<GroupId>,
    /// Which of the finding's steps belong to the region. The steps are in the order of the interleaving that shows it:
    /// the region's first access, those of the other task, the region's second access.
    pub inside: Vec<usize>,
}

/// What supports a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// A cycle of transactions.
    Cycle(Cycle),
    /// Two unordered accesses.
    Race(Race),
    /// Locks that do not match.
    Locking(Locking),
    /// A block that is not reducible.
    Reduction(Reduction),
    /// A region that is interrupted.
    Torn(Torn),
}

/// A finding as the analysis tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawFinding {
    /// What kind.
    pub rule: Rule,
    /// How sure.
    pub verdict: Verdict,
    /// The operations, in the order of the interleaving.
    pub steps: Vec<RawStep>,
    /// What supports it.
    pub evidence: Evidence,
    /// How the tasks that did the steps descend from each other, if tasks did them.
    pub lineage: Option<Lineage>,
    /// How often it was seen.
    pub count: u64,
}

/// Collects the findings of one run: each distinct one once, with a count.
#[derive(Debug, Default)]
pub struct Findings {
    /// For each finding its place in the list and when it was last seen.
    index: FxHashMap<FindingKey, (usize, Moment)>,
    list: Vec<RawFinding>,
    dropped: u64,
}

/// What makes two findings the same within one run: the rule and the places, not the threads or the addresses. Only where
/// the trace does not tell the places, the memory or the lock stands in for them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FindingKey {
    rule: Rule,
    regions: Vec<RegionId>,
    sites: Vec<SiteId>,
    object: Option<(bool, u64)>,
}

impl FindingKey {
    /// The key of a finding: the regions that are blamed or take part, and the sites of the operations that matter, in a
    /// fixed order. `op` is the operation at which it was noticed.
    pub fn new(rule: Rule, regions: Vec<RegionId>, sites: Vec<SiteId>, op: Op) -> Self {
        let places_known = sites.iter().all(|site| site.is_some());
        let object = match op {
            Op::Access { addr, .. } | Op::Atomic { addr, .. } if !places_known => Some((true, addr.0)),
            Op::Acquire { lock, .. } | Op::Release { lock, .. } if !places_known => {
                Some((false, u64::from(lock.0)))
            }
            _ => None,
        };
        Self { rule, regions, sites, object }
    }
}

impl Findings {
    /// How many distinct findings are kept. Nobody reads so many; a program without any locking would fill the memory.
    pub const MOST: usize = 20_000;

    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one more sighting of a finding, at the operation of `moment`; `make` is called only if it is new. An
    /// operation that touches several cells may tell the same finding several times; it counts once.
    pub fn add(&mut self, key: FindingKey, moment: Moment, make: impl FnOnce() -> RawFinding) {
        match self.index.get_mut(&key) {
            Some((at, last)) => {
                if *last != moment {
                    self.list[*at].count += 1;
                    *last = moment;
                }
            }
            None if self.list.len() >= Self::MOST => self.dropped += 1,
            None => {
                self.index.insert(key, (self.list.len(), moment));
                self.list.push(make());
            }
        }
    }

    /// Adds what another part of the same run has found, in its order: another thread, or the same one later. Counts are
    /// added, as the sightings of two parts are different ones.
    pub fn merge(&mut self, other: Findings) {
        let mut keys: Vec<(FindingKey, (usize, Moment))> = other.index.into_iter().collect();
        keys.sort_unstable_by_key(|(_, (at, _))| *at);
        for ((key, (_, last)), finding) in keys.into_iter().zip(other.list) {
            match self.index.get(&key) {
                Some((at, _)) => self.list[*at].count += finding.count,
                None if self.list.len() >= Self::MOST => self.dropped += finding.count,
                None => {
                    self.index.insert(key, (self.list.len(), last));
                    self.list.push(finding);
                }
            }
        }
        self.dropped += other.dropped;
    }

    /// How many sightings of further findings were not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The findings in the order in which they were first seen. The list only grows: whether there is something new is told
    /// by its length.
    pub fn list(&self) -> &[RawFinding] {
        &self.list
    }

    /// Gives the findings away.
    pub fn into_list(self) -> Vec<RawFinding> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(findings: &mut Findings, site: u32, position: u64) {
        let key = FindingKey::new(Rule::DataRace, Vec::new(), vec![SiteId(site)], Op::End);
        let moment = Moment { position, ..Moment::default() };
        findings.add(key, moment, || RawFinding {
            rule: Rule::DataRace,
            verdict: Verdict::Observed,
            steps: Vec::new(),
            evidence: Evidence::Race(Race { addr: Addr(0), size: 1 }),
            lineage: None,
            count: 1,
        });
    }

    #[test]
    fn a_finding_counts_once_for_each_operation() {
        let mut findings = Findings::new();
        for position in [1, 1, 2, 3] {
            add(&mut findings, 0, position);
        }
        add(&mut findings, 1, 3);
        assert_eq!(findings.list().iter().map(|finding| finding.count).collect::<Vec<_>>(), [3, 1]);
    }

    #[test]
    fn the_findings_of_threads_become_one_list() {
        let mut all = Findings::new();
        let mut other = Findings::new();
        add(&mut all, 1, 1);
        for (site, position) in [(7, 2), (1, 3), (1, 4), (0, 5)] {
            add(&mut other, site, position);
        }
        all.merge(other);
        add(&mut all, 7, 6);
        let told = |findings: &Findings| -> Vec<u64> {
            findings.list().iter().map(|finding| finding.count).collect()
        };
        assert_eq!(told(&all), [3, 2, 1]);
        let sites: Vec<SiteId> = (0..3)
            .map(|place| all.index.iter().find(|(_, (at, _))| *at == place).unwrap().0.sites[0])
            .collect();
        assert_eq!(sites, [SiteId(1), SiteId(7), SiteId(0)]);

        let mut full = Findings::new();
        for site in 0..Findings::MOST as u32 + 2 {
            add(&mut full, site + 1, u64::from(site) + 1);
        }
        full.merge(all);
        assert_eq!((full.list().len(), full.dropped()), (Findings::MOST, 3));
        assert_eq!((full.list()[0].count, full.list()[6].count), (4, 3));
    }

    #[test]
    fn where_places_are_unknown_the_memory_tells_findings_apart() {
        let key = |site, addr| {
            let op = Op::Access { kind: crate::event::AccessKind::Read, size: 8, addr: Addr(addr) };
            FindingKey::new(Rule::DataRace, Vec::new(), vec![site], op)
        };
        assert_eq!(key(SiteId(1), 8), key(SiteId(1), 16));
        assert_eq!(key(SiteId::NONE, 8), key(SiteId::NONE, 8));
        assert_ne!(key(SiteId::NONE, 8), key(SiteId::NONE, 16));
    }

    #[test]
    fn a_race_is_about_the_bytes_that_both_touch() {
        let access =
            |addr, size| Op::Access { kind: crate::event::AccessKind::Write, size, addr: Addr(addr) };
        let between = |earlier, later| {
            let race = Race::between(earlier, later);
            (race.addr.0, race.size)
        };
        assert_eq!(between(access(0x1003, 100), access(0x1010, 4)), (0x1010, 4));
        assert_eq!(between(access(0x1010, 4), access(0x1012, 8)), (0x1012, 2));
        assert_eq!(between(access(u64::MAX - 3, 8), access(u64::MAX, 1)), (u64::MAX, 1));
        assert_eq!(between(access(0x1012, 0), access(0x1010, 4)), (0x1010, 4), "the size is not known");
        assert_eq!(between(access(0x1010, 4), access(0x1012, 0)), (0x1010, 4));
        assert_eq!(between(access(0x1010, 0), access(0x1012, 0)), (0x1012, 1));
    }

    #[test]
    fn no_more_than_a_bound_are_kept() {
        let mut findings = Findings::new();
        for site in 0..Findings::MOST as u32 + 5 {
            add(&mut findings, site, u64::from(site) + 1);
        }
        add(&mut findings, 0, u64::MAX);
        assert_eq!(findings.list().len(), Findings::MOST);
        assert_eq!(findings.dropped(), 5);
        assert_eq!(findings.list()[0].count, 2);
    }
}
