//! How fast Eraser and Atomizer are, next to the empty analysis and Velodrome, in million events a second.
//!
//! `cargo bench -p keirin-core --bench lockset_analyses`. The events are in memory; the best of five runs is printed;
//! nothing is asserted.
#![allow(missing_docs, clippy::print_stdout)]

use keirin_core::analysis::Analysis;
use keirin_core::analysis::atomizer::Atomizer;
use keirin_core::analysis::empty::Empty;
use keirin_core::analysis::eraser::Eraser;
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::generate::{Family, Generator, Plan};
use keirin_core::replay::{Replay, ReplayOptions};
use keirin_core::trace::{Batch, Source};
use std::time::Instant;

const EVENTS: u64 = 4_000_000;

/// Enough to see that the bench works, for `cargo test --all-targets`.
const FEW_EVENTS: u64 = 10_000;

const ROUNDS: usize = 5;

fn generate(family: Family, events: u64) -> Vec<Batch> {
    let plan = Plan { events, ..Plan::new(family) };
    let mut generator = Generator::new(plan).expect("a sound plan");
    let mut batches = Vec::new();
    loop {
        let mut batch = Batch::new();
        let more = generator.fill(&mut batch).expect("no input that could fail");
        batches.push(batch);
        if !more {
            return batches;
        }
    }
}

/// Million events a second, and how many findings there were.
fn measure<A: Analysis>(batches: &[Batch], make: impl Fn() -> A) -> (f64, usize) {
    let count: usize = batches.iter().map(|batch| batch.events().len()).sum();
    let mut best = f64::INFINITY;
    let mut findings = 0;
    for _ in 0..ROUNDS {
        let analysis = make();
        let start = Instant::now();
        let mut replay = Replay::new(&analysis, ReplayOptions::default());
        for (position, event) in batches.iter().flat_map(Batch::iter) {
            replay.event(position, event).expect("generated runs are well-formed");
        }
        findings = replay.finish().findings.len();
        best = best.min(start.elapsed().as_secs_f64());
    }
    (count as f64 / best / 1e6, findings)
}

fn main() {
    let events = if std::env::args().any(|argument| argument == "--bench") { EVENTS } else { FEW_EVENTS };
    println!(
        "{:<18} {:>10} {:>10} {:>18} {:>18}",
        "M/s (findings)", "empty", "velodrome", "eraser", "atomizer"
    );
    for family in Family::ALL {
        let batches = generate(family, events);
        let (empty, _) = measure(&batches, || Empty);
        let (velodrome, _) = measure(&batches, || Velodrome::new(Reach::default()));
        let (eraser, eraser_findings) = measure(&batches, Eraser::new);
        let (atomizer, atomizer_findings) = measure(&batches, Atomizer::new);
        println!(
            "{family:<18} {empty:>10.1} {velodrome:>10.1} {eraser:>10.1} ({eraser_findings:>5}) {atomizer:>10.1} ({atomizer_findings:>5})"
        );
    }
}
