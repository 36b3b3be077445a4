//! `keirin check`: runs analyses on traces and reports what they find.

use super::Exit;
use crate::analyses::checkers;
use crate::atomic::{Blocks, Looking};
use crate::baseline::{Baseline, absent_note};
use crate::input::{self, Input};
use crate::options::{Algorithm, AnalysisName, ColorChoice, Format, Options};
use crate::output::{Output, tolerate_closed};
use crate::progress::{Progress, Unit};
use crate::report::resolve::{Names, merge, resolve};
use crate::report::{Finding, Report, Watched, arrange, cap_per_site, dot, json, sarif, terminal};
use crate::sources::Sources;
use crate::suppress::{Suppressions, suggestion, today};
use anyhow::{Context, Result, bail};
use keirin_core::analysis::Statistic;
use keirin_core::finding::Findings;
use keirin_core::replay::{Outcome, ReplayOptions, replay_passes};
use keirin_core::select::{LeftOut, Select};
use keirin_core::trace::TraceError;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files that the user wrote for keirin are short; whatever is larger is something else.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Checks the traces with the given names.
pub(crate) fn run(names: &[PathBuf], options: &Options) -> Result<Exit> {
    input::check_names(names)?;
    let filters = Filters::load(options)?;
    let looking = Looking::load(options)?;
    check_specification(options)?;
    Output::check(options.output.as_deref())?;
    Output::check(options.write_baseline.as_deref())?;
    let folder = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&folder, &options.source_root);
    let mut watched = Watched::default();
    let mut findings = Vec::new();
    let mut failures = Vec::new();
    let mut blocks = Blocks::default();
    let rereads = options.analysis.0.contains(&AnalysisName::Aerodrome);
    for name in names {
        let checked = input::open(name, options.lenient, rereads)
            .and_then(|input| check_one(input, options, &looking, &sources, &mut watched, &mut blocks));
        match checked {
            Ok(found) => findings.extend(found),
            Err(error) => failures.push(error),
        }
    }
    let exit = if failures.len() < names.len() {
        let mut options = options.clone();
        if failures.is_empty() {
            if let Some(path) = &options.write_atomic_spec {
                if blocks.is_incomplete() {
                    let path = path.display();
                    crate::complain(&format!("{path} is not written: not all findings were kept"));
                } else {
                    write_file(path, &blocks.specification())?;
                }
            }
        } else {
            let lacking = [
                (options.write_baseline.take(), "the findings of what failed"),
                (options.write_atomic_spec.take(), "the blocks that what failed refutes"),
            ];
            for (path, what) in lacking {
                if let Some(path) = path {
                    let path = path.display();
                    crate::complain(&format!("{path} is not written: it would lack {what}"));
                }
            }
        }
        finish(merge(findings, u64::saturating_add), watched, &options, &filters)?
    } else {
        Exit::Clean
    };
    for failure in &failures {
        crate::complain(&format!("{failure:#}"));
    }
    Ok(if failures.is_empty() { exit } else { Exit::Failed })
}

/// Refuses a specification that could not be written, or would mean nothing, before the work.
fn check_specification(options: &Options) -> Result<()> {
    use AnalysisName::{Aerodrome, Atomizer, Velodrome};
    let judges = [Velodrome, Aerodrome, Atomizer];
    if options.write_atomic_spec.is_some() && !options.analysis.0.iter().any(|name| judges.contains(name)) {
        bail!(
            "--write-atomic-spec needs an analysis that can refute blocks: velodrome, aerodrome or atomizer; \
             without one all blocks would count as good"
        );
    }
    Output::check(options.write_atomic_spec.as_deref())
}

/// Runs the analyses on one trace and adds to what was watched.
pub(crate) fn check_one(
    mut input: Input,
    options: &Options,
    looking: &Looking,
    sources: &Sources,
    watched: &mut Watched,
    blocks: &mut Blocks,
) -> Result<Vec<Finding>> {
    let names = &options.analysis.0;
    let mut ran = run_analyses(&mut input, names, options, looking)?;
    if ran.wants_blame && !names.contains(&AnalysisName::Velodrome) {
        // AeroDrome says that there is something; Velodrome says what.
        input.rewind(options.lenient)?;
        let again = run_analyses(&mut input, &[AnalysisName::Velodrome], options, looking)?;
        ran.outcomes.extend(again.outcomes);
        ran.statistics.extend(again.statistics);
        // AeroDrome may have stopped early; Velodrome has seen everything.
        ran.left_out = again.left_out;
    }
    let Some(outcome) = ran.outcomes.iter().max_by_key(|outcome| outcome.counts.events) else {
        bail!("there is no analysis to run")
    };
    // Begins and ends of functions are made up, and accesses left out; the reader wants to know how long the run was.
    let events = if ran.selected { ran.left_out.events } else { outcome.counts.events };
    if events == 0 {
        // That nothing was found in nothing must not look like success.
        let empty = anyhow::Error::from(TraceError::Empty);
        return Err(match input.source.loss() {
            Some(loss) => empty.context(loss.to_string()),
            None => empty,
        }
        .context(input.name));
    }
    watched.inputs.push(input.name.clone());
    let published = |name: &AnalysisName| {
        let published = options.algorithm == Algorithm::Published && *name == AnalysisName::Velodrome;
        if published { " (published)" } else { "" }
    };
    watched.analyses =
        options.analysis.0.iter().map(|name| format!("{}{}", name.text(), published(name))).collect();
    watched.events += events;
    watched.threads += outcome.counts.threads;
    watched.notes.extend(notes(&input, outcome, ran.left_out));
    if options.stats {
        tell_statistics(&input.name, outcome, &ran.statistics);
    }
    let mut findings = Vec::new();
    for outcome in &ran.outcomes {
        if outcome.dropped > 0 {
            blocks.note_incomplete();
            watched.notes.push(format!(
                "{}: there are more than {} different findings; {} sightings of further ones were not kept",
                input.name,
                Findings::MOST,
                outcome.dropped
            ));
        }
        let tables = input.source.tables();
        blocks.add(&outcome.regions, &outcome.findings, tables);
        let names =
            Names { trace: &input.name, tables, stacks: &outcome.stacks, unit: input.source.unit(), sources };
        findings.extend(resolve(&outcome.findings, names));
    }
    Ok(merge(findings, u64::max))
}

/// What the analyses said about one trace.
struct Ran {
    outcomes: Vec<Outcome>,
    statistics: Vec<Statistic>,
    /// Something was left out or made up on the way from the trace to the analyses.
    selected: bool,
    left_out: LeftOut,
    wants_blame: bool,
}

/// Runs analyses over the trace, in one pass.
fn run_analyses(
    input: &mut Input,
    names: &[AnalysisName],
    options: &Options,
    looking: &Looking,
) -> Result<Ran> {
    let mut progress = Progress::new(options.progress, "checking", input.bytes, Unit::Bytes);
    let checkers = checkers(names, options);
    let replay_options = ReplayOptions { lenient: options.lenient, ..ReplayOptions::default() };
    let mut passes: Vec<_> = checkers.iter().map(|checker| checker.start(replay_options)).collect();
    let selection = looking.selection();
    let mut left_out = LeftOut::default();
    let selected = !selection.is_everything();
    let replayed = if selected {
        let mut select = Select::new(&mut *input.source, selection);
        let replayed = replay_passes(&mut select, &mut passes, |consumed| progress.at(consumed));
        left_out = select.left_out();
        replayed
    } else {
        replay_passes(&mut *input.source, &mut passes, |consumed| progress.at(consumed))
    };
    replayed.with_context(|| input.name.clone())?;
    Ok(Ran {
        outcomes: passes.into_iter().map(|pass| pass.finish()).collect(),
        statistics: checkers.iter().flat_map(|checker| checker.statistics()).collect(),
        wants_blame: checkers.iter().any(|checker| checker.wants_blame()),
        selected,
        left_out,
    })
}

fn tell_statistics(name: &str, outcome: &Outcome, statistics: &[Statistic]) {
    let counts = &outcome.counts;
    crate::tell(&format!(
        "{name}: {} events, {} accesses, {} threads, {} locks, {} re-entrant lock operations",
        counts.events, counts.accesses, counts.threads, counts.locks, counts.reentrant
    ));
    for Statistic { analysis, name: what, value } in statistics {
        crate::tell(&format!("{name}: {analysis}: {what}: {value}"));
    }
}

/// What the reader of the report should know about the trace.
fn notes(input: &Input, outcome: &Outcome, left_out: LeftOut) -> Vec<String> {
    let mut notes = Vec::new();
    let filtered = [
        (left_out.thread_local, "accesses of data of one thread so far"),
        (left_out.read_only, "reads of data that is not written any more"),
        (left_out.ignored, "accesses at ignored places"),
    ];
    for (count, what) in filtered.iter().filter(|(count, _)| *count > 0) {
        notes.push(format!("{}: left out {count} {what}; findings may be missing", input.name));
    }
    if let Some(loss) = input.source.loss() {
        notes.push(format!("{}: {loss}", input.name));
    }
    for (kind, count) in outcome.repairs.iter() {
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        notes.push(format!("{}: repaired: {kind}, {times}", input.name));
    }
    if outcome.counts.unused > 0 {
        notes.push(format!(
            "{}: {} events of tasks, branches, loops or groups were not used; the analyses look at threads",
            input.name, outcome.counts.unused
        ));
    }
    notes
}

/// What keeps findings out of the report.
#[derive(Default)]
pub(crate) struct Filters {
    suppressions: Vec<Suppressions>,
    baseline: Option<Baseline>,
}

impl Filters {
    fn load(options: &Options) -> Result<Self> {
        if options.algorithm == Algorithm::Keirin && (options.no_merge || options.no_gc) {
            bail!("--no-merge and --no-gc belong to the published algorithm: add --algorithm published");
        }
        let mut suppressions = Vec::new();
        for path in &options.suppressions {
            suppressions.push(Suppressions::parse(
                &path.display().to_string(),
                &read(path, "the suppression file")?,
            )?);
        }
        let baseline = match &options.baseline {
            // A baseline that is about to be written for the first time is empty.
            Some(path) if options.write_baseline.as_ref() == Some(path) && !path.exists() => None,
            Some(path) => Some(Baseline::parse(&path.display().to_string(), &read(path, "the baseline")?)?),
            None => None,
        };
        Ok(Self { suppressions, baseline })
    }
}

fn read(path: &Path, kind: &str) -> Result<String> {
    input::read_small(path, kind, MAX_FILE_BYTES)
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    let mut out = Output::open(Some(path))?;
    out.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    out.finish()
}

/// Applies the filters and writes the report.
pub(crate) fn finish(
    mut findings: Vec<Finding>,
    mut watched: Watched,
    options: &Options,
    filters: &Filters,
) -> Result<Exit> {
    let today = today();
    for suppressions in &filters.suppressions {
        watched.notes.extend(suppressions.apply(&mut findings, &today));
    }
    if let Some(baseline) = &filters.baseline {
        watched.baseline = true;
        watched.notes.extend(baseline.apply(&mut findings).into_iter().map(absent_note));
    }
    if let Some(path) = &options.write_baseline {
        write_file(path, &Baseline::of(&findings).to_text())?;
    }
    arrange(&mut findings);
    if options.max_per_site > 0 {
        watched.hidden = cap_per_site(&mut findings, options.max_per_site as usize);
    }
    let report = Report::new(findings, watched);

    let mut out = Output::open(options.output.as_deref())?;
    let written = match options.format {
        Format::Terminal => terminal::write(&report, layout(&out, options), &mut out),
        Format::Json => json::write(&report, &mut out),
        Format::Sarif => sarif::write(&report, &mut out),
        Format::Dot => dot::write(&report, &mut out),
    };
    tolerate_closed(written).context("cannot write the report")?;
    out.finish()?;
    if options.suggest_suppressions {
        let entries: Vec<String> = report.reported().map(suggestion).collect();
        tolerate_closed(std::io::stderr().write_all(entries.join("\n").as_bytes()))
            .context("cannot write the suggestions")?;
    }
    if options.output.is_some() || options.format != Format::Terminal {
        // The line that cannot be missed, wherever the report went.
        crate::tell(report.summary.line.trim_start_matches("keirin: "));
    }
    Ok(if report.has_findings() { Exit::Findings } else { Exit::Clean })
}

fn layout(out: &Output, options: &Options) -> terminal::Layout {
    let no_color = std::env::var_os("NO_COLOR");
    let color = match options.color {
        ColorChoice::Auto => terminal::ColorChoice::Auto,
        ColorChoice::Always => terminal::ColorChoice::Always,
        ColorChoice::Never => terminal::ColorChoice::Never,
    };
    let default = terminal::Layout::default();
    let columns = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal_width = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = if out.is_terminal() {
        terminal_width().or_else(columns).unwrap_or(default.width)
    } else {
        default.width
    };
    terminal::Layout { color: color.enabled(out.is_terminal(), no_color.as_deref()), width }
}
