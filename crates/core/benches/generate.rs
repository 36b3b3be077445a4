//! How fast traces are generated and written as text, in nanoseconds for each event.
//!
//! `cargo bench -p keirin-core --bench generate`
#![allow(clippy::print_stdout, missing_docs)]

use keirin_core::generate::{Family, Generator, Plan};
use keirin_core::trace::{Batch, Sink, Source, std_format};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 5;

/// Nanoseconds for each event, the best of some rounds.
fn measure(plan: &Plan, mut take: impl FnMut(&Batch, &Generator)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut generator = Generator::new(plan.clone()).expect("a sound plan");
        let mut batch = Batch::new();
        let mut count = 0;
        let start = Instant::now();
        loop {
            let more = generator.fill(&mut batch).expect("no input that could fail");
            take(&batch, &generator);
            count += batch.events().len();
            if !more {
                break;
            }
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / count as f64);
    }
    best
}

fn main() {
    for family in Family::ALL {
        let plan = Plan { violations: 0.001, ..Plan::new(family) };
        let generated = measure(&plan, |batch, _| {
            black_box(batch.events());
        });
        let mut writer = std_format::Writer::new(std::io::sink());
        let written = measure(&plan, |batch, generator| {
            writer.write(batch, generator.tables()).expect("nothing that could fail");
        });
        println!(
            "{family:<18} {generated:5.1} ns/event ({:5.1} M/s), with text {written:6.1} ns/event",
            1000.0 / generated
        );
    }
}
