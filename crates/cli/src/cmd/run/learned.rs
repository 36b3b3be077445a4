//! Learned regions, looked at while a program runs: `keirin run --regions`.

use super::{Collected, Program, Settings, Shown};
use super::{collect, ending_of, launch, never_started, report, told_end};
use crate::cmd::detect::{self, Learned};
use crate::cmd::{Ending, Exit};
use crate::options::Options;
use anyhow::{Context, Result, bail};
use keirin_core::analysis::atomtracker::regions::Regions;
use std::ffi::OsString;
use std::path::Path;

/// The figure that tells how many regions were entered.
const ENTERED: (&str, &str) = (detect::NAME, "regions entered");

/// Refuses what learned regions do not go with, before the program runs.
fn check_options(options: &Options) -> Result<()> {
    if !options.analysis.0.is_empty() {
        bail!(
            "--regions is an analysis by itself: leave out --analysis, or look at a recorded trace with `keirin detect`"
        );
    }
    let others = [
        ("--atomic", !options.atomic.is_empty() || !options.atomic_file.is_empty()),
        ("--examine", options.examine),
        ("--witnesses", options.witnesses.is_some()),
        ("--record", options.record.is_some()),
        ("--adversarial", options.adversarial.is_some()),
    ];
    if let Some((name, _)) = others.iter().find(|(_, given)| *given) {
        bail!("{name} does not go with --regions");
    }
    Ok(())
}

/// Runs a program, and looks at where learned regions are torn.
pub(super) fn watch(
    program: &Program,
    words: &[OsString],
    (folder, regions): (&Path, &Path),
    shown: &Shown<'_>,
) -> Result<Ending> {
    check_options(shown.options)?;
    let regions = detect::load(regions)?;
    let learned = Learned::new(&regions);
    let mut settings = Settings::new(folder, &[detect::NAME], shown.options)?;
    let path = folder.join("regions");
    std::fs::write(&path, lines(&regions)).with_context(|| format!("cannot write {}", path.display()))?;
    settings.set("regions", path);
    settings.set("mismatches", shown.options.mismatches.to_string());
    let status = launch(program, words, settings)?;
    let mut collected = collect(folder)?;
    if collected.processes.is_empty() {
        return Ok(never_started(program, status, &collected.notes));
    }
    collected.notes.extend(told_end(status));
    name(&mut collected, &learned);
    let reported = super::Reported::of(program);
    let exit = report(&reported, &collected, &Shown { learned: Some(&learned), ..*shown })?;
    Ok(if exit == Exit::Findings { exit.into() } else { ending_of(status) })
}

/// The regions as the runtime reads them.
fn lines(regions: &Regions) -> String {
    let mut text = String::new();
    for (entry, region) in &regions.by_entry {
        text += entry;
        text += if region.outer { "\touter" } else { "\tplain" };
        for exit in region.exits.keys() {
            text += "\t";
            text += exit;
        }
        text += "\n";
    }
    text
}

/// Names the regions that findings speak of, and notes what makes it doubtful that they are those of the program.
fn name(collected: &mut Collected, learned: &Learned<'_>) {
    for process in &mut collected.processes {
        learned.name_regions(&process.findings, &mut process.tables);
        for note in learned.rebuilt(&process.tables) {
            if !collected.notes.contains(&note) {
                collected.notes.push(note);
            }
        }
    }
    if collected.figure(ENTERED) == 0 {
        collected.notes.push(
            "none of the regions was entered; were they learned from this build of the program?".to_owned(),
        );
    }
}
