//! `keirin check`: runs analyses on traces and reports what they find.

use super::Exit;
use crate::baseline::{Baseline, absent_note};
use crate::input::{self, Input};
use crate::options::{Algorithm, ColorChoice, Format, Options};
use crate::output::{Output, tolerate_closed};
use crate::progress::{Progress, Unit};
use crate::report::resolve::{Names, merge, resolve};
use crate::report::{Finding, Report, Watched, arrange, cap_per_site, dot, json, sarif, terminal};
use crate::sources::Sources;
use crate::suppress::{Suppressions, suggestion, today};
use anyhow::{Context, Result, bail};
use keirin_core::analysis::velodrome::Velodrome;
use keirin_core::analysis::velodrome::graph::{Graph, GraphOptions};
use keirin_core::analysis::velodrome::reach::Reach;
use keirin_core::analysis::{Analysis, Statistic};
use keirin_core::replay::{Outcome, ReplayOptions, replay};
use keirin_core::trace::TraceError;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files that the user wrote for keirin are short; whatever is larger is something else.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Checks the traces with the given names.
pub(crate) fn run(names: &[PathBuf], options: &Options) -> Result<Exit> {
    input::check_names(names)?;
    let filters = Filters::load(options)?;
    Output::check(options.output.as_deref())?;
    Output::check(options.write_baseline.as_deref())?;
    let folder = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&folder, &options.source_root);
    let mut watched = Watched::default();
    let mut findings = Vec::new();
    let mut failures = Vec::new();
    for name in names {
        let checked = input::open(name, options.lenient)
            .and_then(|input| check_one(input, options, &sources, &mut watched));
        match checked {
            Ok(found) => findings.extend(found),
            Err(error) => failures.push(error),
        }
    }
    let exit = if failures.len() < names.len() {
        let mut options = options.clone();
        if !failures.is_empty()
            && let Some(path) = options.write_baseline.take()
        {
            let path = path.display();
            crate::complain(&format!("{path} is not written: it would lack the findings of what failed"));
        }
        finish(merge(findings), watched, &options, &filters)?
    } else {
        Exit::Clean
    };
    for failure in &failures {
        crate::complain(&format!("{failure:#}"));
    }
    Ok(if failures.is_empty() { exit } else { Exit::Failed })
}

/// Runs the analyses on one trace and adds to what was watched.
pub(crate) fn check_one(
    mut input: Input,
    options: &Options,
    sources: &Sources,
    watched: &mut Watched,
) -> Result<Vec<Finding>> {
    let mut progress = Progress::new(options.progress, "checking", input.bytes, Unit::Bytes);
    let (outcome, statistics) =
        analyse(&mut input, options, &mut |bytes| progress.at(bytes)).with_context(|| input.name.clone())?;
    drop(progress);

    if outcome.counts.events == 0 {
        // That nothing was found in nothing must not look like success.
        let empty = anyhow::Error::from(TraceError::Empty);
        return Err(match input.source.loss() {
            Some(loss) => empty.context(loss.to_string()),
            None => empty,
        }
        .context(input.name));
    }
    watched.inputs.push(input.name.clone());
    let published = if options.algorithm == Algorithm::Published { " (published)" } else { "" };
    watched.analyses = options.analysis.0.iter().map(|name| format!("{}{published}", name.text())).collect();
    watched.events += outcome.counts.events;
    watched.threads += outcome.counts.threads;
    watched.notes.extend(notes(&input, &outcome));
    if options.stats {
        let counts = &outcome.counts;
        crate::tell(&format!(
            "{}: {} events, {} accesses, {} threads, {} locks",
            input.name, counts.events, counts.accesses, counts.threads, counts.locks
        ));
        for Statistic { name, value } in statistics {
            crate::tell(&format!("{}: velodrome: {name}: {value}", input.name));
        }
    }
    let names =
        Names { tables: input.source.tables(), stacks: &outcome.stacks, unit: input.source.unit(), sources };
    Ok(resolve(&outcome.findings, names))
}

/// Chooses the analysis; from here on everything is compiled for it.
fn analyse(
    input: &mut Input,
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<(Outcome, Vec<Statistic>)> {
    match options.algorithm {
        Algorithm::Keirin => drive(input, &Velodrome::new(Reach::default()), options, progress),
        Algorithm::Published => {
            let graph = GraphOptions { merge: !options.no_merge, collect: !options.no_gc };
            drive(input, &Velodrome::new(Graph::new(graph)), options, progress)
        }
    }
}

fn drive<A: Analysis>(
    input: &mut Input,
    analysis: &A,
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<(Outcome, Vec<Statistic>)> {
    let replay_options = ReplayOptions { lenient: options.lenient };
    let outcome = replay(&mut *input.source, analysis, replay_options, progress)?;
    Ok((outcome, analysis.statistics()))
}

/// What the reader of the report should know about the trace.
fn notes(input: &Input, outcome: &Outcome) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(loss) = input.source.loss() {
        notes.push(format!("{}: {loss}", input.name));
    }
    for (kind, count) in outcome.repairs.iter() {
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        notes.push(format!("{}: repaired: {kind}, {times}", input.name));
    }
    if outcome.counts.unused > 0 {
        notes.push(format!(
            "{}: {} events of tasks, branches, loops or groups were not used; velodrome looks at threads",
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
        let mut out = Output::open(Some(path))?;
        out.write_all(Baseline::of(&findings).to_text().as_bytes())?;
        out.finish()?;
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
