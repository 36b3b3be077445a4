//! Whatever the events are: nothing panics, nothing goes on for ever, and what is claimed is true.

use crate::support::generate::{Discipline, generate};
use crate::support::observe::{Observed, observe, op_at};
use crate::support::oracle::Oracle;
use crate::support::program::Regions;
use crate::support::random::Random;
use crate::support::{cases, seed};
use keirin_core::analysis::tasks::all_sets::AllSets;
use keirin_core::analysis::tasks::atomicity::published::Published;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::published_ptracer::PublishedPtRacer;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::analysis::tasks::{Flagged, TaskAnalysis};
use keirin_core::event::{
    AccessKind, Addr, AtomicKind, BarrierId, ConditionId, Event, FormulaId, FunctionId, GroupId, LockId,
    LockMode, LoopId, MemoryOrder, Op, RegionId, SiteId, TaskId, ThreadId,
};
use keirin_core::finding::{RawFinding, Rule, Verdict};
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Outcome, ReplayOptions};
use keirin_core::sptree::Structure;
use keirin_core::sptree::labels::Labels;
use keirin_core::sptree::ranks::Ranks;
use keirin_core::sptree::tree::Tree;
use keirin_core::witness::{Examination, Examine};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;

/// Numbers that are mostly small, so that the same things meet, and sometimes as large as can be.
fn id() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 0u32..4, 1 => select(vec![70_000, u32::MAX - 1, u32::MAX])]
}

fn thread() -> impl Strategy<Value = ThreadId> {
    // A number near the limit costs memory for all threads below it, so it is rare.
    prop_oneof![20_000 => 0u32..4, 200 => select(vec![1 << 20, u32::MAX]), 1 => Just((1 << 20) - 1)]
        .prop_map(ThreadId)
}

fn addr() -> impl Strategy<Value = Addr> {
    let end = select(vec![u64::MAX, u64::MAX - 1, u64::MAX - 7, u64::MAX - 9]);
    prop_oneof![10 => 0x1000u64..0x1010, 2 => end, 1 => 0u64..3].prop_map(Addr)
}

fn size() -> impl Strategy<Value = u32> {
    prop_oneof![8 => select(vec![1, 2, 4, 8, 16]), 1 => Just(0), 1 => Just(600)]
}

/// Of memory that is freed only what was touched costs anything.
fn any_size() -> impl Strategy<Value = u32> {
    prop_oneof![8 => size(), 1 => Just(u32::MAX)]
}

fn kind() -> impl Strategy<Value = AccessKind> {
    select(vec![AccessKind::Read, AccessKind::Write])
}

fn mode() -> impl Strategy<Value = LockMode> {
    prop_oneof![3 => Just(LockMode::Exclusive), 1 => Just(LockMode::Shared)]
}

fn order() -> impl Strategy<Value = MemoryOrder> {
    select(vec![
        MemoryOrder::Relaxed,
        MemoryOrder::Consume,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcquireRelease,
        MemoryOrder::SequentiallyConsistent,
    ])
}

fn atomic() -> impl Strategy<Value = Op> {
    let kinds = select(vec![AtomicKind::Load, AtomicKind::Store, AtomicKind::ReadModifyWrite]);
    (kinds, order(), select(vec![0u8, 1, 4, 8, 16, 255]), addr())
        .prop_map(|(kind, order, size, addr)| Op::Atomic { kind, order, size, addr })
}

fn task_construct() -> impl Strategy<Value = Op> {
    let task = || id().prop_map(TaskId);
    prop_oneof![
        4 => task().prop_map(|task| Op::Spawn { task }),
        4 => task().prop_map(|task| Op::TaskBegin { task }),
        1 => task().prop_map(|task| Op::TaskSuspend { task }),
        3 => task().prop_map(|task| Op::TaskEnd { task }),
        3 => Just(Op::TaskWait),
        2 => task().prop_map(|task| Op::TaskJoin { task }),
        2 => (task(), task()).prop_map(|(before, after)| Op::TaskOrder { before, after }),
        2 => Just(Op::FinishBegin),
        2 => Just(Op::FinishEnd),
    ]
}

fn synchronization() -> impl Strategy<Value = Op> {
    let token = || select(vec![0, 1, u64::MAX]);
    prop_oneof![
        5 => (id(), mode()).prop_map(|(lock, mode)| Op::Acquire { lock: LockId(lock), mode }),
        4 => (id(), mode()).prop_map(|(lock, mode)| Op::Release { lock: LockId(lock), mode }),
        1 => order().prop_map(|order| Op::Fence { order }),
        2 => thread().prop_map(|child| Op::Fork { child }),
        2 => thread().prop_map(|child| Op::Join { child }),
        1 => Just(Op::ThreadEnd),
        1 => id().prop_map(|condition| Op::Wait { condition: ConditionId(condition) }),
        1 => (id(), any::<bool>())
            .prop_map(|(condition, all)| Op::Notify { condition: ConditionId(condition), all }),
        1 => id().prop_map(|barrier| Op::BarrierArrive { barrier: BarrierId(barrier) }),
        1 => id().prop_map(|barrier| Op::BarrierLeave { barrier: BarrierId(barrier) }),
        1 => token().prop_map(|token| Op::HappensBefore { token }),
        1 => token().prop_map(|token| Op::HappensAfter { token }),
    ]
}

fn annotation() -> impl Strategy<Value = Op> {
    let loops = |make: fn(LoopId) -> Op| id().prop_map(move |number| make(LoopId(number)));
    prop_oneof![
        3 => id().prop_map(|region| Op::Begin { region: RegionId(region) }),
        3 => Just(Op::End),
        1 => id().prop_map(|function| Op::Call { function: FunctionId(function) }),
        1 => Just(Op::Return),
        1 => (any_size(), addr()).prop_map(|(size, addr)| Op::Alloc { size, addr }),
        1 => (any_size(), addr()).prop_map(|(size, addr)| Op::Free { size, addr }),
        1 => any::<bool>().prop_map(|taken| Op::Branch { taken }),
        1 => loops(|loop_id| Op::LoopEnter { loop_id }),
        1 => loops(|loop_id| Op::LoopIteration { loop_id }),
        1 => loops(|loop_id| Op::LoopExit { loop_id }),
        1 => (kind(), size(), addr()).prop_map(|(kind, size, addr)| Op::OtherPath { kind, size, addr }),
        1 => (id(), mode(), any::<bool>()).prop_map(|(lock, mode, acquire)| Op::OtherPathLock {
            lock: LockId(lock),
            mode,
            acquire
        }),
        1 => any::<u64>().prop_map(|bits| Op::Value { bits }),
        1 => (0..4u32).prop_map(|back| Op::Operand { back }),
        1 => id().prop_map(|formula| Op::Formula { formula: FormulaId(formula) }),
        2 => (select(vec![0u16, 1, 4, 8, u16::MAX]), id(), addr())
            .prop_map(|(size, group, addr)| Op::Group { size, group: GroupId(group), addr }),
        1 => Just(Op::IgnoreBegin),
        1 => Just(Op::IgnoreEnd),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let access = (kind(), size(), addr()).prop_map(|(kind, size, addr)| Op::Access { kind, size, addr });
    let op = prop_oneof![
        8 => access,
        2 => atomic(),
        7 => task_construct(),
        5 => synchronization(),
        3 => annotation(),
    ];
    let site = prop_oneof![5 => 0u32..20, 1 => Just(u32::MAX)].prop_map(SiteId);
    (thread(), site, op).prop_map(|(thread, site, op)| Event { thread, site, op })
}

fn lenient<A: TaskAnalysis, S: Structure>(events: &[Event], analysis: &A, keep_all: bool) -> Outcome {
    let options = ReplayOptions { lenient: true, keep_all };
    let task_options =
        TaskOptions { access_cache: !keep_all, verdict_cache: keep_all, count: keep_all, possible: keep_all };
    let mut replay = TaskReplay::<A, S>::new(analysis, "test", options, task_options);
    for (position, event) in (1..).zip(events) {
        if let Err(fault) = replay.event(position, event) {
            panic!("{fault:?} was not repaired");
        }
    }
    replay.finish()
}

/// All structures answer alike, so what an analysis tells is the same.
fn each_structure<A: TaskAnalysis>(events: &[Event], analysis: impl Fn() -> A) {
    for keep_all in [false, true] {
        let ranks = lenient::<A, Ranks>(events, &analysis(), keep_all);
        let labels = lenient::<A, Labels>(events, &analysis(), keep_all);
        let tree = lenient::<A, Tree>(events, &analysis(), keep_all);
        for other in [labels, tree] {
            assert_eq!(ranks.findings, other.findings);
            assert_eq!(ranks.flagged.ranges(), other.flagged.ranges());
        }
    }
}

/// All memory that random events touch, for all rules.
fn everything() -> Flagged {
    let mut flagged = Flagged::default();
    for rule in Rule::ALL {
        for (addr, size) in [(0, 16), (0x1000, 8), (0x1008, 5000), (0x1006, 4), (u64::MAX - 9, 20)] {
            flagged.add(Addr(addr), size, rule);
        }
    }
    flagged
}

const ALL: Examine = Examine { races: true, blocks: true, steps: true, gaps: true, groups: true };

/// Few enough that a hopeless search ends soon.
fn examination(flagged: &Flagged) -> Examination {
    Examination::with_limits(flagged, ALL, 20_000, 1_000_000)
}

proptest! {
    #![proptest_config(Config { cases: cases() as u32 / 12, ..Config::default() })]

    #[test]
    fn any_events_can_be_analyzed(events in prop::collection::vec(event(), 0..100)) {
        each_structure(&events, || Spd3);
        each_structure(&events, PtRacer::default);
        each_structure(&events, || AllSets);
        each_structure(&events, || PublishedPtRacer);
        each_structure(&events, || Published);
        for (blocks, steps, gaps) in [(true, false, true), (false, true, false), (true, true, true)] {
            each_structure(&events, || TaskAtomicity::new(Modes { blocks, steps, gaps }));
        }
    }

    #[test]
    fn any_events_can_be_examined(events in prop::collection::vec(event(), 0..100)) {
        each_structure(&events, || examination(&everything()));
    }
}

fn strict<A: TaskAnalysis>(events: &[Event], analysis: &A, keep_all: bool) -> Outcome {
    let options = ReplayOptions { keep_all, ..ReplayOptions::default() };
    let mut replay = TaskReplay::<A, Ranks>::new(analysis, "test", options, TaskOptions::default());
    for (position, event) in (1..).zip(events) {
        replay.event(position, event).unwrap_or_else(|fault| panic!("event {position}: {fault:?}"));
    }
    replay.finish()
}

/// Both passes over the beginning of a run.
fn examined<A: TaskAnalysis>(events: &[Event], analysis: &A, examine: Examine) -> Vec<RawFinding> {
    let outcome = strict(events, analysis, true);
    if outcome.flagged.ranges().is_empty() {
        return Vec::new();
    }
    strict(events, &Examination::new(&outcome.flagged, examine), true).findings
}

/// A schedule of the beginning of a run is the beginning of a schedule.
fn false_claim(findings: &[RawFinding], oracle: &Oracle<'_>, regions: Regions) -> Option<String> {
    for finding in findings.iter().filter(|finding| !matches!(finding.verdict, Verdict::Suspected(_))) {
        let mut ops: Vec<_> = finding.steps.iter().map(|step| op_at(step.moment.site)).collect();
        let is_true = match finding.rule {
            Rule::DataRace => {
                ops.sort_unstable();
                oracle.races().iter().any(|(_, first, second)| [*first, *second] == ops[..])
            }
            _ => oracle
                .violations(regions)
                .iter()
                .any(|(_, first, second, third)| [*first, *second, *third] == ops[..]),
        };
        if !is_true {
            return Some(format!("claims {finding:?}"));
        }
    }
    None
}

#[test]
fn the_beginning_of_a_run_tells_nothing_false() {
    let examine = |races, steps, blocks| Examine { races, blocks, steps, gaps: false, groups: false };
    for case in 0..cases() / 4 {
        let seed = seed(case);
        let mut random = Random::new(seed);
        let discipline = random.pick(&Discipline::ALL);
        let program = generate(discipline, &mut random);
        let Some(Observed { events, .. }) = observe(&program, seed) else { continue };
        let oracle = Oracle::new(&program);
        let events = &events[..random.below(events.len() + 1)];
        let races = examined(events, &PtRacer::default(), examine(true, false, false));
        let steps = Modes { blocks: false, steps: true, gaps: false };
        let torn = examined(events, &TaskAtomicity::new(steps), examine(false, true, false));
        let blocks = Modes { blocks: true, steps: false, gaps: false };
        let torn_blocks = examined(events, &TaskAtomicity::new(blocks), examine(false, false, true));
        let message = false_claim(&races, &oracle, Regions::Steps)
            .or_else(|| false_claim(&torn, &oracle, Regions::Steps))
            .or_else(|| false_claim(&torn_blocks, &oracle, Regions::Blocks));
        if let Some(message) = message {
            panic!("{discipline:?} {case}: {program}\n{message}\n{events:#?}");
        }
        each_structure(events, || examination(&everything()));
        // Without its beginning a run cannot have happened, mostly.
        let end = &events[random.below(events.len() + 1)..];
        each_structure(end, PtRacer::default);
        each_structure(end, || TaskAtomicity::new(Modes { blocks: true, steps: true, gaps: true }));
        each_structure(end, || examination(&everything()));
    }
}
