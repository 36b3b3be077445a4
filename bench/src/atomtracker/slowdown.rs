//! What detection in software costs: while the program runs if `keirin run` can do so, else by recording it and looking at the
//! trace.

use super::{FLAGS, Settings};
use crate::child::{Cost, run_to_end, run_with_findings};
use crate::programs::Programs;
use crate::runtime::build::{Build, Builder};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many times less work is recorded than the program does alone: a trace of all of it would be long.
const RECORDED_LESS: u32 = 20;

/// Times as multiples of the program alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Slowdown {
    /// Detection while the program runs.
    pub(super) online: Option<f64>,
    /// Recording, and detection in the trace.
    pub(super) offline: f64,
}

/// Whether programs can be looked at while they run.
fn can_run(programs: &Programs) -> Result<bool> {
    let output = programs.bare_keirin().args(["run", "--help"]).output().context("cannot start keirin")?;
    Ok(String::from_utf8_lossy(&output.stdout).contains("--regions"))
}

/// Measures a program with regions that were learned from some traces.
pub(super) fn measure(
    builder: &Builder<'_>,
    source: &Path,
    watched: &Path,
    traces: &[PathBuf],
    settings: &Settings,
) -> Result<Slowdown> {
    let native = builder.build(source, Build::Native, &FLAGS)?;
    let (programs, folder) = (builder.programs, builder.folder);
    let regions = folder.join("regions.toml");
    let mut infer = programs.keirin(&["infer", "--stop-after", "0"]);
    run_to_end(infer.arg("--output").arg(&regions).args(traces), folder)?;
    let online = can_run(programs)?;
    let less = (settings.work / RECORDED_LESS).max(1);
    let requests = |command: &mut Command, work: u32| {
        command.args(["1", "work", &work.to_string()]);
    };
    // How threads happen to meet makes a run several times as long as another: the middle one counts, not the best.
    let mut costs: [Vec<f64>; 4] = [const { Vec::new() }; 4];
    let mut add = |way: usize, cost: Cost| costs[way].push(cost.processor.as_secs_f64());
    for _ in 0..settings.rounds {
        let mut alone = Command::new(&native);
        requests(&mut alone, settings.work);
        add(0, run_to_end(&mut alone, folder)?);
        let mut record = programs.bare_keirin();
        record.args(["record", "--exact-order", "--output", "work.ktrace", "--"]).arg(watched);
        requests(&mut record, less);
        add(1, run_to_end(&mut record, folder)?);
        let mut detect = programs.keirin(&["detect", "--output", "report"]);
        detect.arg("--regions").arg(&regions).arg("work.ktrace");
        add(2, run_with_findings(&mut detect, folder, 0)?);
        if online {
            let mut run = programs.bare_keirin();
            run.args(["run", "--output", "report", "--regions"]).arg(&regions).arg("--").arg(watched);
            requests(&mut run, settings.work);
            add(3, run_with_findings(&mut run, folder, 0)?);
        }
    }
    let _ = std::fs::remove_file(folder.join("work.ktrace"));
    let mut seconds = |way: usize| {
        let list = &mut costs[way];
        list.sort_unstable_by(f64::total_cmp);
        list.get(list.len() / 2).copied()
    };
    let alone = seconds(0).unwrap_or(0.0).max(0.001);
    let offline = [1, 2].iter().filter_map(|&way| seconds(way)).sum::<f64>();
    Ok(Slowdown {
        online: seconds(3).map(|online| online / alone),
        offline: offline / f64::from(less) * f64::from(settings.work) / alone,
    })
}
