//! The detector against the definition: on the figures of the paper, and on random runs.

use super::detect::{self, Detector};
use super::follow::Follow;
use super::infer::tests::{Texts, cases, run, trace};
use super::infer::{Settings, infer};
use super::regions::{Marks, Regions};
use crate::analysis::{Analysis, Part};
use crate::event::{AccessKind, Addr, Op, RegionId, SiteId, ThreadId};
use crate::finding::{Evidence, Findings, Moment, RawFinding, RawStep, Verdict};
use crate::replay::{Outcome, ReplayOptions, replay};
use crate::trace::{Batch, Source, std_format};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;

fn findings_of(text: &str) -> Vec<RawFinding> {
    let mut source = std_format::Reader::new(text.as_bytes());
    replay(&mut source, &Detector::new(), ReplayOptions::default(), |_| {}).unwrap().findings
}

/// The sites of the steps of each finding.
fn told(lines: &str) -> Vec<Vec<String>> {
    let text = trace(lines);
    let mut source = std_format::Reader::new(text.as_bytes());
    let outcome = replay(&mut source, &Detector::new(), ReplayOptions::default(), |_| {}).unwrap();
    let site = |site| super::regions::site_name(source.tables(), site).unwrap_or_default();
    let steps = |finding: &RawFinding| finding.steps.iter().map(|step| site(step.moment.site)).collect();
    outcome.findings.iter().map(steps).collect()
}

/// Figure 6, with its last access as a read or as a write.
fn figure_6(last: &str) -> String {
    format!(
        "P1 b1 begin A1
         P2 b2 begin A2
         P1 I1 w x
         P2 J1 r x
         P1 I2 r x
         P1 I3 r y
         P2 J2 w y
         P1 I4 {last} x
         P1 e1 end
         P2 e2 end"
    )
}

#[test]
fn figure_6a_one_before_the_other() {
    assert!(told(&figure_6("r")).is_empty());
}

#[test]
fn figure_6b_neither_before_the_other() {
    assert_eq!(told(&figure_6("w")), [["I1", "J1", "I4"]]);
}

#[test]
fn figure_8_a_region_that_is_done_is_kept() {
    let lines = "P1 b1 begin A1
         P2 b2 begin A2
         P1 I1 r x
         P2 J1 w y
         P1 I2 r y
         P1 e1 end
         P2 J2 w x
         P2 e2 end";
    assert_eq!(told(lines), [["I1", "J1", "I2", "J2"]]);
}

#[test]
fn an_access_outside_of_all_regions_tears_one() {
    let lines = "P1 b1 begin A1
         P1 I1 r x
         P2 J1 w x
         P1 I2 w x
         P1 e1 end";
    assert_eq!(told(lines), [["I1", "J1", "I2"]]);
}

/// Threads that enter regions, touch few cells and leave, all at once: what they share must come out whole.
#[test]
fn many_threads_at_once_leave_nothing_behind() {
    const THREADS: u32 = 4;
    const REGIONS: u64 = 4000;
    let detector = Detector::shared();
    let cells: [Mutex<detect::Cell>; 3] = std::array::from_fn(|_| Mutex::default());
    let step = |thread: u32, position: u64, op: Op| {
        let moment = Moment { position, thread: ThreadId(thread), site: SiteId(thread), ..Moment::default() };
        RawStep { moment, op }
    };
    let run = |number: u32| {
        let (mut thread, mut findings) = (detect::Thread::default(), Findings::new());
        let mut random = u64::from(number) + 1;
        for round in 1..=REGIONS {
            let region = RegionId(number);
            detector.begin(
                &step(number, 10 * round, Op::Begin { region }),
                &mut thread,
                region,
                &mut findings,
            );
            for access in 1..4 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let kind = if random >> 63 == 0 { AccessKind::Read } else { AccessKind::Write };
                let which = (random >> 40) as usize % cells.len();
                let addr = Addr(0x100 + 8 * which as u64);
                let at = step(number, 10 * round + access, Op::Access { kind, size: 8, addr });
                let part = Part { kind, addr, size: 8, whole: true };
                detector.access(&at, &mut thread, &mut cells[which].lock().unwrap(), part, &mut findings);
            }
            detector.end(&step(number, 10 * round + 9, Op::End), &mut thread, &mut findings);
        }
        thread
    };
    let mut ended: Vec<detect::Thread> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || run(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for child in &mut ended {
        let at = step(9, 1, Op::Join { child: ThreadId(0) });
        detector.join(&at, &mut detect::Thread::default(), child, &mut Findings::new());
    }
    let entered = detector.statistics().into_iter().find(|statistic| statistic.name == "regions entered");
    assert_eq!(entered.map(|entered| entered.value), Some(u64::from(THREADS) * REGIONS));
    assert!(detector.is_idle(), "{detector:?}");
}

#[test]
fn many_regions_come_in_between_an_idle_one() {
    let mut lines = String::from("P1 b1 begin A1\nP1 I1 r x\n");
    for _ in 0..2 * super::detect::MOST_KEPT {
        lines += "P2 b2 begin A2\nP2 J1 w x\nP2 J2 w y\nP2 e2 end\n";
    }
    lines += "P1 I2 r y\nP1 e1 end\n";
    assert_eq!(told(&lines), [["I1", "J1", "J2", "I2"]]);
}

/// An access of a run, with the region that it is in.
struct Placed {
    thread: ThreadId,
    region: usize,
    bytes: std::ops::Range<u64>,
    writes: bool,
}

/// The accesses by position. The innermost open region counts; outside of all, an access is one by itself.
fn placed(text: &str) -> BTreeMap<u64, Placed> {
    let mut source = std_format::Reader::new(text.as_bytes());
    let mut batch = Batch::new();
    let mut open: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    let mut list = BTreeMap::new();
    while {
        let more = source.fill(&mut batch).unwrap();
        for (position, event) in batch.iter() {
            let stack = open.entry(event.thread).or_default();
            match event.op {
                Op::Begin { .. } => stack.push(position as usize),
                Op::End => {
                    stack.pop();
                }
                Op::Access { kind, size, addr } => {
                    let placed = Placed {
                        thread: event.thread,
                        region: stack.last().copied().unwrap_or(position as usize),
                        bytes: addr.0..addr.0 + u64::from(size),
                        writes: kind == AccessKind::Write,
                    };
                    list.insert(position, placed);
                }
                _ => {}
            }
        }
        more
    } {}
    list
}

/// All pairs of regions of which each must come before the other, by the definition.
fn torn(list: &BTreeMap<u64, Placed>) -> BTreeSet<(usize, usize)> {
    let mut before = BTreeSet::new();
    for (at, later) in list {
        for (_, earlier) in list.range(..at) {
            let meet = earlier.bytes.start.max(later.bytes.start) < earlier.bytes.end.min(later.bytes.end);
            if earlier.thread != later.thread && meet && (earlier.writes || later.writes) {
                before.insert((earlier.region, later.region));
            }
        }
    }
    let both = |&&(one, other): &&(usize, usize)| one < other && before.contains(&(other, one));
    before.iter().filter(both).copied().collect()
}

/// A run of three threads with regions, nested at times, and accesses of parts of variables. Each line is a site.
fn blocks() -> impl Strategy<Value = String> {
    prop::collection::vec((0..3u32, 0..12u32, 0..4u32), 1..60).prop_map(|steps| {
        let mut depth = [0; 3];
        let mut text = String::new();
        for (line, (thread, choice, what)) in steps.into_iter().enumerate() {
            let t = thread as usize;
            let op = match choice {
                0 | 1 if depth[t] < 2 => {
                    depth[t] += 1;
                    "begin(b)".to_owned()
                }
                2 if depth[t] > 0 => {
                    depth[t] -= 1;
                    "end".to_owned()
                }
                _ => {
                    let kind = if choice % 2 == 0 { "r" } else { "w" };
                    let place = ["4(x+0)", "4(x+4)", "8(x+0)", "8(y+0)"][what as usize];
                    format!("{kind}{place}")
                }
            };
            let _ = writeln!(text, "T{t}|{op}|l{line}");
        }
        text
    })
}

fn found(findings: &[RawFinding], list: &BTreeMap<u64, Placed>) -> BTreeSet<(usize, usize)> {
    let mut pairs = BTreeSet::new();
    for finding in findings {
        let Evidence::Cycle(cycle) = &finding.evidence else { panic!("no cycle") };
        let region = |index: usize| {
            let steps = &cycle.transactions[index].steps;
            list[&finding.steps[steps[0]].moment.position].region
        };
        let (one, other) = (region(0), region(1));
        pairs.insert((one.min(other), one.max(other)));
    }
    pairs
}

fn follow(regions: &Regions, text: &str) -> Outcome {
    let marks = Marks::new(regions);
    let mut source = std_format::Reader::new(text.as_bytes());
    let mut source = Follow::new(&mut source, &marks, u32::MAX);
    replay(&mut source, &Detector::new(), ReplayOptions::default(), |_| {}).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn exactly_the_pairs_that_are_torn_are_found(text in blocks()) {
        let list = placed(&text);
        let findings = findings_of(&text);
        prop_assert_eq!(found(&findings, &list), torn(&list), "{}", text);
        prop_assert!(findings.iter().all(|finding| finding.verdict == Verdict::Observed));
    }

    #[test]
    fn nothing_is_found_in_the_runs_that_were_learned_from(
        runs in prop::collection::vec(run(true), 1..4),
    ) {
        let texts = Texts(runs.clone());
        let learned = infer(&texts, runs.len(), &Regions::default(), &Settings::default(), |_| {}).unwrap();
        for text in &runs {
            prop_assert!(follow(&learned.regions, text).findings.is_empty(), "{}", text);
        }
    }
}

#[test]
fn a_run_that_tears_a_learned_region_is_told() {
    let good = trace("T1 a r x\nT1 b w x\nT2 c w x\nT1 d r x\nT2 e w x\nT1 f w y");
    let bad = trace("T1 a r x\nT2 c w x\nT1 b w x");
    let texts = Texts(vec![good]);
    let learned = infer(&texts, 1, &Regions::default(), &Settings::default(), |_| {}).unwrap();
    let outcome = follow(&learned.regions, &bad);
    assert_eq!(outcome.findings.len(), 1);
    let Evidence::Cycle(cycle) = &outcome.findings[0].evidence else { panic!("no cycle") };
    assert!(cycle.blamed);
    let marks = Marks::new(&learned.regions);
    assert_eq!(marks.name(super::regions::Mark(cycle.refuted[0].region.0)), "a");
}

#[test]
fn what_the_program_disregards_enters_no_region() {
    let good = trace("T1 a r x\nT1 b w x\nT2 c w x\nT1 d r x\nT2 e w x\nT1 f w y");
    let learned = infer(&Texts(vec![good]), 1, &Regions::default(), &Settings::default(), |_| {}).unwrap();
    let bad = "T1 - ignore_begin\nT1 a r x\nT1 - ignore_end\nT2 c w x\nT1 b w x";
    let bad = trace(bad).replace("|-", "|");
    assert!(follow(&learned.regions, &bad).findings.is_empty());
}
