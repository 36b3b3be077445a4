//! `keirin check`: runs analyses on traces and reports what they find.

use super::Exit;
use crate::atomic::{Blocks, Looking};
use crate::baseline::{Baseline, absent_note};
use crate::input::{self, Input};
use crate::options::{Algorithm, AnalysisName, Check, ColorChoice, Format, Options};
use crate::output::{Output, tolerate_closed};
use crate::report::resolve::{Names, merge, resolve};
use crate::report::{Finding, Report, Watched, arrange, cap_per_site, dot, json, sarif, terminal};
use crate::running::run_all;
use crate::sources::Sources;
use crate::suppress::{Suppressions, suggestion, today};
use crate::witnesses;
use anyhow::{Context, Result, bail};
use keirin_core::finding::Findings;
use keirin_core::trace::TraceError;
use std::borrow::Cow;
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
    check_task_options(options)?;
    if let Some(folder) = &options.witnesses {
        witnesses::prepare(folder)?;
    }
    Output::check(options.output.as_deref())?;
    Output::check(options.write_baseline.as_deref())?;
    let folder = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&folder, &options.source_root);
    let mut watched = Watched::default();
    let mut findings = Vec::new();
    let mut failures = Vec::new();
    let mut blocks = Blocks::default();
    let rereads = |name: &AnalysisName| *name == AnalysisName::Aerodrome || name.is_of_tasks();
    let rereads = options.analysis.0.iter().any(rereads);
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
    use AnalysisName::{Aerodrome, Atomizer, TaskAtomicity, Velodrome};
    let judges = [Velodrome, Aerodrome, Atomizer, TaskAtomicity];
    if options.write_atomic_spec.is_some() && !options.analysis.0.iter().any(|name| judges.contains(name)) {
        bail!(
            "--write-atomic-spec needs an analysis that can refute blocks: velodrome, aerodrome, atomizer or \
             task-atomicity; \
             without one all blocks would count as good"
        );
    }
    Output::check(options.write_atomic_spec.as_deref())
}

/// Refuses options that would have no effect, or not the one that was meant.
pub(crate) fn check_task_options(options: &Options) -> Result<()> {
    let names = &options.analysis.0;
    let default = Options::default();
    if !names.iter().any(|name| name.is_of_tasks()) {
        let given = [
            (options.structure != default.structure, "structure"),
            (options.access_cache, "access-cache"),
            (options.verdict_cache.is_some(), "verdict-cache"),
            (options.no_witness, "no-witness"),
            (options.diagnose, "diagnose"),
        ];
        if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
            bail!(
                "--{option} belongs to the analyses of tasks: add --analysis spd3, ptracer, all-sets or \
                 task-atomicity"
            );
        }
    }
    if options.diagnose && options.no_witness {
        bail!("--diagnose looks for schedules and --no-witness leaves that out: give one of them");
    }
    if options.check != default.check {
        if !names.contains(&AnalysisName::TaskAtomicity) {
            bail!("--check says what task-atomicity looks at: add --analysis task-atomicity");
        }
        if options.algorithm == Algorithm::Published && options.check.0 != [Check::Steps] {
            bail!("the published task-atomicity knows no regions but steps: --check steps, or nothing");
        }
    }
    let rules = !options.atomic.is_empty() || !options.atomic_file.is_empty();
    if options.check.0.contains(&Check::Functions) && !rules {
        bail!("--check functions needs to know which: add --atomic functions, or --atomic +REGEX");
    }
    Ok(())
}

/// The names of the analyses, each with whose algorithm it is if not ours.
pub(crate) fn name_analyses(options: &Options) -> Vec<String> {
    let name = |name: &AnalysisName| {
        let published = options.algorithm == Algorithm::Published && name.has_published();
        format!("{}{}", name.text(), if published { " (published)" } else { "" })
    };
    options.analysis.0.iter().map(name).collect()
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
    let ran = run_all(&mut input, options, looking)?;
    let Some(outcome) = ran.longest() else { bail!("there is no analysis to run") };
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
    watched.analyses = name_analyses(options);
    watched.events += events;
    watched.threads += outcome.counts.threads;
    watched.tasks += ran.tasks();
    watched.notes.extend(ran.notes(&input));
    if options.stats {
        ran.tell_statistics(&input.name);
    }
    let mut findings = Vec::new();
    for outcome in ran.outcomes() {
        if outcome.dropped > 0 {
            blocks.note_incomplete();
            watched.notes.push(format!(
                "{}: there are more than {} different findings; {} sightings of further ones were not kept",
                input.name,
                Findings::MOST,
                outcome.dropped
            ));
        }
        let mut tables = Cow::Borrowed(input.source.tables());
        let symbols = looking.symbols();
        // Only a recorded program has modules, from which more names can be had.
        if !tables.modules.is_empty() {
            symbols.name_all(tables.to_mut(), &outcome.findings, &outcome.regions);
        }
        blocks.add(&outcome.regions, &outcome.findings, &tables);
        let names = Names {
            trace: &input.name,
            tables: &tables,
            stacks: &outcome.stacks,
            unit: input.source.unit(),
            sources,
            symbols,
        };
        findings.extend(resolve(&outcome.findings, names));
    }
    watched.notes.extend(looking.symbols().take_notes());
    Ok(merge(findings, u64::max))
}

/// What keeps findings out of the report.
#[derive(Default)]
pub(crate) struct Filters {
    suppressions: Vec<Suppressions>,
    baseline: Option<Baseline>,
}

impl Filters {
    /// Reads the files that the options name.
    pub(crate) fn load(options: &Options) -> Result<Self> {
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

    /// The baseline alone; an empty one if there is none.
    pub(crate) fn into_baseline(self) -> Baseline {
        self.baseline.unwrap_or_default()
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
    findings: Vec<Finding>,
    watched: Watched,
    options: &Options,
    filters: &Filters,
) -> Result<Exit> {
    finish_to(findings, watched, options, filters, || Output::open(options.output.as_deref()))
}

/// Applies the filters and writes the report to an output, which is opened when there is something to write.
pub(crate) fn finish_to(
    mut findings: Vec<Finding>,
    mut watched: Watched,
    options: &Options,
    filters: &Filters,
    open: impl FnOnce() -> Result<Output>,
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
    if let Some(folder) = &options.witnesses {
        witnesses::write(folder, &findings)?;
    }
    arrange(&mut findings);
    if options.max_per_site > 0 {
        watched.hidden = cap_per_site(&mut findings, options.max_per_site as usize);
    }
    let report = Report::new(findings, watched);

    let mut out = open()?;
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
