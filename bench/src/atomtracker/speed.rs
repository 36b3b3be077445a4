//! How fast regions are inferred from long traces.

use super::Settings;
use crate::child::{improve, run_to_end};
use crate::programs::Programs;
use crate::table::{Table, count, goal, mebibytes, seconds};
use crate::workload::Trace;
use anyhow::Result;
use keirin_core::generate::Family;
use std::path::Path;

/// Threads of the traces.
const THREADS: u32 = 8;
/// Events a second that are the goal, with one core.
const GOAL: f64 = 2e6;

/// Infers from one trace of each family, with one core.
pub(super) fn table(programs: &Programs, folder: &Path, settings: &Settings) -> Result<String> {
    let mut table = Table::new(&["family", "processor time", "events a second", "memory"]);
    let mut slowest = f64::INFINITY;
    for family in Family::THREADS {
        let trace = Trace::generate_of_threads(programs, folder, family, settings.events, THREADS, "ktrace")?;
        let mut best = None;
        for _ in 0..settings.rounds {
            let mut infer = programs.keirin(&["infer", "--jobs", "1", "--output", "speed.toml"]);
            improve(&mut best, run_to_end(infer.arg(trace.path()), folder)?);
        }
        let Some(cost) = best else { continue };
        let speed = settings.events as f64 / cost.processor.as_secs_f64().max(0.001);
        slowest = slowest.min(speed);
        let time = seconds(cost.processor);
        table.row(vec![format!("`{family}`"), time, count(speed as u64), mebibytes(cost.memory)]);
    }
    let goal = goal("2,000,000 events a second with each family", slowest >= GOAL);
    let events = count(settings.events);
    Ok(format!("### Inference from {events} events of {THREADS} threads\n\n{table}\n{goal}\n\n"))
}
