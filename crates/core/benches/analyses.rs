//! How fast the analyses are, in million events a second, from the bytes of a native trace to the findings.
//!
//! `cargo bench -p keirin-core --bench analyses [-- --family few-threads] [--events 10000000] [--only fasttrack]`. The
//! analyses take turns; the best of five runs is printed, with the ratio to the analysis that does nothing. Nothing is
//! asserted.
#![allow(missing_docs, clippy::print_stdout)]

use keirin_core::analysis::Analysis;
use keirin_core::analysis::aerodrome::AeroDrome;
use keirin_core::analysis::atomizer::Atomizer;
use keirin_core::analysis::empty::Empty;
use keirin_core::analysis::eraser::Eraser;
use keirin_core::analysis::fasttrack::FastTrack;
use keirin_core::analysis::tasks::TaskAnalysis;
use keirin_core::analysis::tasks::all_sets::AllSets;
use keirin_core::analysis::tasks::atomicity::published::Published;
use keirin_core::analysis::tasks::atomicity::{Modes, TaskAtomicity};
use keirin_core::analysis::tasks::ptracer::PtRacer;
use keirin_core::analysis::tasks::spd3::Spd3;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::generate::{Family, Generator, Plan};
use keirin_core::replay::tasks::{TaskOptions, TaskReplay};
use keirin_core::replay::{Pass, ReplayOptions, replay, replay_passes};
use keirin_core::sptree::ranks::Ranks;
use keirin_core::trace::native::{Reader, Writer};
use keirin_core::trace::{Batch, Sink, Source};
use std::io::Cursor;
use std::sync::LazyLock;
use std::time::Instant;

/// Enough to see that the measurement works, for `cargo test --all-targets`.
const FEW_EVENTS: u64 = 10_000;

const RUNS: usize = 5;

/// A native trace, in memory.
fn generate(plan: &Plan) -> Vec<u8> {
    let mut generator = Generator::new(plan.clone()).expect("a sound plan");
    let mut writer = Writer::new(Vec::new()).expect("memory can be written to");
    let mut batch = Batch::new();
    loop {
        let more = generator.fill(&mut batch).expect("no input that could fail");
        writer.write(&batch, generator.tables()).expect("memory can be written to");
        if !more {
            break;
        }
    }
    writer.finish(generator.tables()).expect("memory can be written to");
    writer.into_inner()
}

/// Seconds so far: of this thread's work where the system tells them, for other programs run at the same time; else of
/// the clock on the wall.
fn seconds() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let worked = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    worked.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// Seconds for one run, and how much was seen and found.
fn run<A: Analysis + Default>(bytes: &[u8]) -> (f64, u64, usize) {
    let start = seconds();
    let mut reader = Reader::new(Cursor::new(bytes)).expect("a native trace");
    let outcome =
        replay(&mut reader, &A::default(), ReplayOptions::default(), |_| {}).expect("a sound trace");
    (seconds() - start, outcome.counts.events, outcome.findings.len())
}

/// The same for an analysis of tasks.
fn run_tasks<A: TaskAnalysis>(bytes: &[u8], analysis: A) -> (f64, u64, usize) {
    let start = seconds();
    let mut reader = Reader::new(Cursor::new(bytes)).expect("a native trace");
    let options = TaskOptions::default();
    let replay = TaskReplay::<A, Ranks>::new(&analysis, "bench", ReplayOptions::default(), options);
    let mut passes: [Box<dyn Pass>; 1] = [Box::new(replay)];
    replay_passes(&mut reader, &mut passes, |_| {}).expect("a sound trace");
    let [pass] = passes;
    let outcome = pass.finish();
    (seconds() - start, outcome.counts.events, outcome.findings.len())
}

fn run_task_atomicity(bytes: &[u8]) -> (f64, u64, usize) {
    run_tasks(bytes, TaskAtomicity::new(Modes { blocks: true, steps: true, gaps: true }))
}

fn run_marked_atomicity(bytes: &[u8]) -> (f64, u64, usize) {
    run_tasks(bytes, TaskAtomicity::new(Modes { blocks: true, steps: false, gaps: true }))
}

type Run = fn(&[u8]) -> (f64, u64, usize);

const OF_TASKS: [(&str, Run); 7] = [
    ("empty", run::<Empty>),
    ("spd3", |bytes| run_tasks(bytes, Spd3)),
    ("ptracer", |bytes| run_tasks(bytes, PtRacer::default())),
    ("all-sets", |bytes| run_tasks(bytes, AllSets)),
    ("atomicity of steps", run_task_atomicity),
    ("atomicity of blocks and gaps", run_marked_atomicity),
    ("published atomicity", |bytes| run_tasks(bytes, Published)),
];

const OF_THREADS: [(&str, Run); 6] = [
    ("empty", run::<Empty>),
    ("eraser", run::<Eraser>),
    ("atomizer", run::<Atomizer>),
    ("velodrome", run::<Velodrome>),
    ("aerodrome", run::<AeroDrome>),
    ("fasttrack", run::<FastTrack>),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1))
    };
    let measured = arguments.iter().any(|argument| argument == "--bench");
    let events = match value("--events") {
        Some(text) => text.parse().expect("a number of events"),
        None if measured => 4_000_000,
        None => FEW_EVENTS,
    };
    let families = match value("--family") {
        Some(name) => vec![name.parse().expect("a family")],
        None => Family::ALL.to_vec(),
    };
    println!("{:<18} {:<28} {:>12} {:>10} {:>9}", "family", "analysis", "M events/s", "of empty", "findings");
    for family in families {
        let bytes = generate(&Plan { events, ..Plan::new(family) });
        let analyses = if family.has_tasks() { &OF_TASKS[..] } else { &OF_THREADS[..] };
        let mut best = vec![(f64::INFINITY, 0, 0); analyses.len()];
        for _ in 0..if measured { RUNS } else { 1 } {
            for ((name, run), best) in analyses.iter().zip(&mut best) {
                if value("--only").is_none_or(|only| only == name) {
                    let result = run(&bytes);
                    if result.0 < best.0 {
                        *best = result;
                    }
                }
            }
        }
        let empty = best[0].0;
        for ((name, _), (seconds, events, findings)) in analyses.iter().zip(best) {
            if seconds.is_finite() {
                let speed = events as f64 / seconds / 1e6;
                println!("{family:<18} {name:<28} {speed:>12.1} {:>10.2} {findings:>9}", empty / seconds);
            }
        }
    }
}
