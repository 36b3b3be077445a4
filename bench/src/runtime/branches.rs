//! What it costs to tell what the other sides of branches would do: applications with tasks, checked for races with and without these
//! records, as in PTRacer's table 1 and figure 9.

use super::build::{Build, Builder, Compiler};
use super::choose;
use super::online::{Library, applications, built, finished};
use super::ratios::{Column, Measured, mean, times};
use crate::child::{run_to_end, run_with_findings};
use crate::programs::Programs;
use crate::statistics::Statistics;
use crate::table::{Table, count, goal, nothing};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Of what a program prints this is more than enough.
const OUTPUT_BYTES: u64 = 4096;
/// Checking with records should take at most so many times the time without.
const MOST: f64 = 1.1;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often everything is run.
    pub rounds: u32,
    /// Per cent of the usual work of each application.
    pub share: u32,
    /// Threads of each application.
    pub threads: u32,
    /// Names of applications; all if there are none.
    pub applications: Vec<String>,
    /// Libraries, with which everything is built.
    pub libraries: Vec<Library>,
}

/// The ways to run an application: alone, checked, and checked with records.
const WAYS: [Build; 3] = [Build::Native, Build::Keirin, Build::Branches];

/// What keirin counts in an application with records.
struct Figures([Option<u64>; 4]);

impl Figures {
    /// The last three are names of figures.
    const HEADS: [&'static str; 4] =
        ["accesses", "accesses of other branches", "branches followed", "branches not followed"];

    fn from(statistics: &Statistics) -> Self {
        let [accesses, others @ ..] = Self::HEADS;
        let [first, second, third] = others.map(|name| statistics.get(name));
        Self([statistics.of_run(accesses), first, second, third])
    }
}

/// Measures all applications; each table is handed out as soon as it is there.
pub fn tables(programs: &Programs, settings: &Settings, mut print: impl FnMut(&str)) -> Result<()> {
    let all = applications()?;
    let chosen = choose(&all, &settings.applications)?;
    for &library in &settings.libraries {
        let folder = tempfile::tempdir().context("no temporary folder")?;
        // The pass is one of clang.
        let builder = Builder { programs, compiler: Compiler::Clang, folder: folder.path() };
        let mut measured = Vec::new();
        let mut figures = Vec::new();
        for application in chosen {
            let (costs, counted) = measure(&builder, library, settings, application)?;
            measured.push(costs);
            figures.push(counted);
        }
        print(&format!(
            "### {}, {} threads\n\n{}",
            library.title(),
            settings.threads,
            table(&measured, &figures)
        ));
    }
    Ok(())
}

/// Runs an application in all ways, and counts.
fn measure(
    builder: &Builder<'_>,
    library: Library,
    settings: &Settings,
    application: &str,
) -> Result<(Measured, Figures)> {
    let mut ready = Vec::new();
    for build in WAYS {
        ready.push(built(builder, library, application, build)?);
    }
    let folder = builder.folder;
    let watched = |program: &Path, more: &[&str]| {
        let mut command = builder.programs.bare_keirin();
        command
            .args(["run", "--analysis", "ptracer"])
            .args(more)
            .args(["--output", "report", "--"])
            .arg(program);
        finished(command, settings.share, settings.threads)
    };
    let measured = Measured::interleaved(application, settings.rounds, WAYS.len(), |way| match WAYS[way] {
        Build::Native => {
            let command = Command::new(&ready[way]);
            run_to_end(&mut finished(command, settings.share, settings.threads), folder)
        }
        _ => run_with_findings(&mut watched(&ready[way], &[]), folder, OUTPUT_BYTES),
    })?;
    let expected = &measured.costs[0].output;
    if let Some(way) = measured.costs.iter().position(|cost| cost.output != *expected) {
        bail!(
            "{application} printed {:?} in the build {:?}, and {expected:?} alone",
            measured.costs[way].output,
            WAYS[way]
        );
    }
    // Counting costs time, so that it is done apart.
    let counted = run_with_findings(&mut watched(&ready[2], &["--stats"]), folder, OUTPUT_BYTES)?;
    Ok((measured, Figures::from(&Statistics(counted.messages))))
}

fn table(measured: &[Measured], figures: &[Figures]) -> String {
    let column = |title: &str, way, alone| Column { title: title.to_owned(), way, alone };
    let columns =
        [column("without records", 1, 0), column("with records", 2, 0), column("with to without", 2, 1)];
    let heads = ["application"].into_iter().chain(Figures::HEADS);
    let heads: Vec<&str> = heads.chain(columns.iter().map(|column| column.title.as_str())).collect();
    let mut table = Table::new(&heads);
    for (application, figures) in measured.iter().zip(figures) {
        let counts = figures.0.iter().map(|figure| figure.map_or_else(nothing, count));
        let ratios = columns.iter().map(|column| times(application.slowdown(column)));
        table.row([application.program.clone()].into_iter().chain(counts).chain(ratios).collect());
    }
    let means = columns.each_ref().map(|column| mean(measured, Measured::slowdown, column));
    let none = figures.first().into_iter().flat_map(|figures| figures.0.iter().map(|_| nothing()));
    let row = ["geometric mean".to_owned()].into_iter().chain(none).chain(means.map(times));
    table.row(row.collect());
    let mut goals = Table::new(&["figure", "measured", "goal"]);
    let [.., ratio] = means;
    goals.row(vec![
        "with to without records, geometric mean".to_owned(),
        times(ratio),
        goal(&format!("≤ {MOST} ×"), ratio <= MOST),
    ]);
    format!("{table}\n{goals}\n")
}

#[cfg(test)]
mod tests {
    use super::super::ratios::tests::measured;
    use super::*;

    #[test]
    fn the_table_compares_both_builds_and_judges() {
        let statistics = "keirin: process 7 (a): 90 events, 80 accesses, 2 threads, 3 locks, 0 re-entrant lock operations\n\
                          keirin: process 7 (a): tasks: accesses of other branches: 5\n\
                          keirin: process 7 (a): pass: branches followed: 4\n";
        let figures = || Figures::from(&Statistics(statistics.to_owned()));
        let text = table(&[measured(&[100, 200, 210]), measured(&[100, 400, 420])], &[figures(), figures()]);
        assert!(text.contains("| kernel | 80 | 5 | 4 | – | 2.00 × | 2.10 × | 1.05 × |"), "{text}");
        assert!(text.contains("| geometric mean | – | – | – | – | 2.83 × | 2.97 × | 1.05 × |"), "{text}");
        assert!(
            text.contains("| with to without records, geometric mean | 1.05 × | ≤ 1.1 ×: met |"),
            "{text}"
        );
    }
}
