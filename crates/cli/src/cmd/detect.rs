//! `keirin detect`: are learned regions torn in these runs?

use super::Exit;
use super::check::{Filters, finish};
use crate::input::{self, Input};
use crate::options::Options;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::regions::{self, list_runs};
use crate::report::resolve::{Names, merge, resolve};
use crate::report::text::{cut, quoted};
use crate::report::{Finding, Watched};
use crate::sources::Sources;
use crate::symbols::Symbols;
use anyhow::{Context, Result, bail};
use keirin_core::analysis::atomtracker::detect::Detector;
use keirin_core::analysis::atomtracker::follow::Follow;
use keirin_core::analysis::atomtracker::regions::{Mark, Marks, Regions};
use keirin_core::event::RegionId;
use keirin_core::finding::{Evidence, Findings, RawFinding};
use keirin_core::replay::{Checker, ReplayOptions, replay_passes};
use keirin_core::trace::{NameKind, Tables, TraceError};
use std::path::{Path, PathBuf};

/// What the analysis is called.
pub(crate) const NAME: &str = "atomtracker";
/// Training runs that a note names.
const MOST_RUNS: usize = 8;

/// Looks for torn regions in traces.
pub(crate) fn run(names: &[PathBuf], options: &Options) -> Result<Exit> {
    input::check_names(names)?;
    let Some(path) = &options.regions else {
        bail!("--regions says which regions to look at: name a file that `keirin infer` has written");
    };
    let regions = load(path)?;
    let filters = Filters::load(options)?;
    Output::check(options.output.as_deref())?;
    Output::check(options.write_baseline.as_deref())?;
    let learned = Learned::new(&regions);
    let folder = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&folder, &options.source_root);
    let mut watched = Watched { analyses: vec![NAME.to_owned()], ..Watched::default() };
    let mut findings = Vec::new();
    let mut failures = Vec::new();
    for name in names {
        let found = input::open(name, options.lenient, false)
            .and_then(|input| detect_one(input, &learned, options, &sources, &mut watched));
        match found {
            Ok(found) => findings.extend(found),
            Err(error) => failures.push(error),
        }
    }
    let mut exit = Exit::Clean;
    if failures.len() < names.len() {
        exit = finish(merge(findings, u64::saturating_add), watched, options, &filters)?;
    }
    for failure in &failures {
        crate::complain(&format!("{failure:#}"));
    }
    Ok(if failures.is_empty() { exit } else { Exit::Failed })
}

/// The regions of a file, of which there must be some.
pub(crate) fn load(path: &Path) -> Result<Regions> {
    let regions = regions::load(path)?;
    if regions.by_entry.is_empty() {
        bail!("{}: there are no regions in it, so that nothing could be found", path.display());
    }
    Ok(regions)
}

fn detect_one(
    mut input: Input,
    learned: &Learned<'_>,
    options: &Options,
    sources: &Sources,
    watched: &mut Watched,
) -> Result<Vec<Finding>> {
    let mut progress = Progress::new(options.progress, "checking", input.bytes, Unit::Bytes);
    let limit = u32::try_from(options.mismatches).unwrap_or(u32::MAX);
    let detector = Detector::new();
    let replay_options = ReplayOptions { lenient: options.lenient, ..ReplayOptions::default() };
    let mut passes = [detector.start(replay_options)];
    let mut follow = Follow::new(&mut *input.source, &learned.marks, limit);
    replay_passes(&mut follow, &mut passes, |consumed| progress.at(consumed))
        .with_context(|| input.name.clone())?;
    drop(progress);
    let followed = follow.followed();
    let [pass] = passes;
    let outcome = pass.finish();
    if followed.events == 0 {
        return Err(anyhow::Error::from(TraceError::Empty).context(input.name));
    }
    let name = &input.name;
    watched.inputs.push(name.clone());
    watched.events += followed.events;
    watched.threads += outcome.counts.threads;
    let notes = &mut watched.notes;
    if followed.entered == 0 {
        notes.push(format!(
            "{name}: none of the regions was entered; is it a run of the program that they were learned from?"
        ));
    }
    if followed.given_up > 0 {
        notes.push(format!(
            "{name}: {} regions were given up after {limit} exits of others; --mismatches changes that",
            followed.given_up
        ));
    }
    if outcome.dropped > 0 {
        notes.push(format!(
            "{name}: there are more than {} different findings; {} sightings of further ones were not kept",
            Findings::MOST,
            outcome.dropped
        ));
    }
    notes.extend(input.source.loss().map(|loss| format!("{name}: {loss}")));
    for (kind, count) in outcome.repairs.iter() {
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        notes.push(format!("{name}: repaired: {kind}, {times}"));
    }
    if options.stats {
        for statistic in detector.statistics() {
            crate::tell(&format!("{name}: {NAME}: {}: {}", statistic.name, statistic.value));
        }
    }
    let mut tables = input.source.tables().clone();
    notes.extend(learned.rebuilt(&tables));
    learned.name_regions(&outcome.findings, &mut tables);
    let symbols = Symbols::new();
    symbols.name_all(&mut tables, &outcome.findings, &[]);
    let names = Names {
        trace: name,
        tables: &tables,
        stacks: &outcome.stacks,
        unit: input.source.unit(),
        sources,
        symbols: &symbols,
    };
    let mut findings = Vec::new();
    for raw in &outcome.findings {
        let mut resolved = resolve(std::slice::from_ref(raw), names);
        for finding in &mut resolved {
            finding.notes.extend(learned.notes(raw));
        }
        findings.extend(resolved);
    }
    watched.notes.extend(symbols.take_notes());
    Ok(merge(findings, u64::saturating_add))
}

/// What was learned, and what to say of it.
#[derive(Debug)]
pub(crate) struct Learned<'a> {
    regions: &'a Regions,
    pub(crate) marks: Marks,
}

impl<'a> Learned<'a> {
    pub(crate) fn new(regions: &'a Regions) -> Self {
        Self { regions, marks: Marks::new(regions) }
    }

    /// The entry of a region that a finding speaks of.
    fn entry(&self, region: RegionId) -> Option<&str> {
        let is_learned = region.is_some() && region.index() < self.marks.len();
        is_learned.then(|| self.marks.name(Mark(region.0)))
    }

    /// The function that a region is entered in, or else its entry. A name without lines outlives edits.
    fn label(&self, entry: &str) -> String {
        let place = self.regions.places.get(entry).and_then(|place| place.rsplit_once(' '));
        let function = place.or_else(|| entry.split_once('@')).map(|(function, _)| function);
        format!("region of {}", function.filter(|name| !name.is_empty()).unwrap_or(entry))
    }

    /// Names the regions that findings speak of.
    pub(crate) fn name_regions(&self, findings: &[RawFinding], tables: &mut Tables) {
        for region in findings.iter().flat_map(regions_of) {
            if let Some(entry) = self.entry(region) {
                tables.set_name(NameKind::Region, region.0, &self.label(entry));
            }
        }
    }

    /// Which runs have shown the regions of a finding, and from where to where they go.
    pub(crate) fn notes(&self, finding: &RawFinding) -> Vec<String> {
        let mut entries: Vec<&str> =
            regions_of(finding).iter().filter_map(|&region| self.entry(region)).collect();
        entries.dedup();
        entries.iter().filter_map(|entry| self.note(entry)).collect()
    }

    fn note(&self, entry: &str) -> Option<String> {
        let region = self.regions.by_entry.get(entry)?;
        let place = |site: &str| {
            let place = self.regions.places.get(site).map_or(site, |place| place);
            cut(place, 80).into_owned()
        };
        let mut exits: Vec<String> = region.exits.keys().map(|exit| place(exit)).collect();
        if !region.thread_end.is_empty() {
            exits.push("the end of the thread".to_owned());
        }
        exits.dedup();
        let support = region.support();
        let all = self.regions.runs.len();
        let name = |run: &u32| self.regions.runs.get(*run as usize).map(|run| &*run.name);
        let mut runs: Vec<&str> = support.iter().filter_map(name).take(MOST_RUNS).collect();
        if support.len() > MOST_RUNS {
            runs.push("…");
        }
        Some(format!(
            "The {} goes from {} to {}. It was whole in {} of {all} training runs ({}): {}.",
            quoted(&self.label(entry)),
            place(entry),
            exits.join(" or "),
            support.len(),
            list_runs(&support),
            runs.join(", ")
        ))
    }

    /// Modules of a run that are not those that were learned from.
    pub(crate) fn rebuilt(&self, tables: &Tables) -> Vec<String> {
        let mut notes = Vec::new();
        for module in &tables.modules {
            let name = module.path.rsplit('/').next().unwrap_or(&module.path);
            let build_id: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut known = self.regions.modules.iter().filter(|known| &*known.name == name).peekable();
            if known.peek().is_some() && known.all(|known| *known.build_id != *build_id) {
                notes.push(format!(
                    "{name} was built again since the regions were learned, so that its places mean others; learn anew"
                ));
            }
        }
        notes
    }
}

/// The regions of a finding, in its order.
fn regions_of(finding: &RawFinding) -> Vec<RegionId> {
    match &finding.evidence {
        Evidence::Cycle(cycle) => cycle.transactions.iter().map(|transaction| transaction.region).collect(),
        _ => Vec::new(),
    }
}
