//! Runs the analyses over one trace: once, and again where a first pass asks for it.
//!
//! - AeroDrome says that there is a violation; Velodrome says what.
//! - Order beside the tree of tasks may come when an analysis of tasks has already dropped what it would need then.
//! - What an analysis of tasks finds is apparent; whether a schedule shows it is looked into afterwards, for the memory in
//!   question only.

use crate::analyses::{checkers, examination};
use crate::atomic::Looking;
use crate::input::Input;
use crate::options::{AnalysisName, Options};
use crate::progress::{Progress, Unit};
use crate::report::text::counted;
use crate::smt;
use crate::symbols::Variables;
use anyhow::{Context, Result};
use keirin_core::analysis::Statistic;
use keirin_core::analysis::tasks::Flagged;
use keirin_core::diagnose::Formula;
use keirin_core::replay::{Checker, Outcome, ReplayOptions, replay_passes};
use keirin_core::select::{LeftOut, Select};
use keirin_core::trace::{NameKind, Tables};
use keirin_core::witness::{Diagnosis, Examination, Initial};
use std::time::Duration;

/// What the analyses said about one trace.
pub(crate) struct Ran {
    /// Those of threads.
    threads: Vec<Outcome>,
    /// Those of tasks, as they stand after the examination.
    tasks: Vec<Outcome>,
    statistics: Vec<Statistic>,
    /// Something was left out or made up on the way from the trace to the analyses.
    pub(crate) selected: bool,
    pub(crate) left_out: LeftOut,
    /// Stretches of memory that were too many to be examined.
    not_examined: u64,
    /// Findings of which the examination left none.
    not_confirmed: usize,
    /// Claims that were dropped because no schedule shows them with the values that branches need.
    infeasible: u64,
    /// Formulas of the trace that cannot be read.
    unreadable: usize,
}

/// One reading of the trace.
struct Reading {
    outcomes: Vec<Outcome>,
    statistics: Vec<Statistic>,
    selected: bool,
    left_out: LeftOut,
    wants_blame: bool,
}

/// Runs all analyses that the options name.
pub(crate) fn run_all(input: &mut Input, options: &Options, looking: &Looking) -> Result<Ran> {
    let names = &options.analysis.0;
    let lenient = options.lenient;
    let reading = Runner { options, looking, keep_all: false };
    let first = reading.read(input, &checkers(names, options), "checking")?;
    let Reading { outcomes, mut statistics, selected, mut left_out, wants_blame } = first;
    let of_tasks: Vec<AnalysisName> = names.iter().copied().filter(|name| name.is_of_tasks()).collect();
    // The checkers of tasks come last.
    let mut threads = outcomes;
    let mut tasks = threads.split_off(threads.len().saturating_sub(of_tasks.len()));
    if wants_blame && !names.contains(&AnalysisName::Velodrome) {
        input.rewind(lenient)?;
        let again = reading.read(input, &checkers(&[AnalysisName::Velodrome], options), "blaming")?;
        threads.extend(again.outcomes);
        statistics.extend(again.statistics);
        // AeroDrome may have stopped early; Velodrome has seen everything.
        left_out = again.left_out;
    }
    let mut keep_all = false;
    if tasks.iter().any(|outcome| outcome.needs_all) {
        input.rewind(lenient)?;
        keep_all = true;
        let exactly = Runner { keep_all, ..reading };
        tasks = exactly.read(input, &checkers(&of_tasks, options), "checking again")?.outcomes;
    }
    statistics.extend(tasks.iter_mut().flat_map(|outcome| std::mem::take(&mut outcome.statistics)));
    let (mut not_examined, mut not_confirmed, mut infeasible, mut unreadable) = (0, 0, 0, 0);
    let has_something = |outcome: &Outcome| {
        !outcome.findings.is_empty() || (options.diagnose && !outcome.flagged.ranges().is_empty())
    };
    if !options.no_witness && tasks.iter().any(has_something) {
        let mut flagged = Flagged::default();
        tasks.iter_mut().for_each(|outcome| flagged.append(std::mem::take(&mut outcome.flagged)));
        not_examined = flagged.dropped();
        let examining = Runner { keep_all, ..reading };
        let diagnosis = options.diagnose.then(|| diagnosis(input.source.tables(), options));
        if let Some(diagnosis) = &diagnosis {
            unreadable = diagnosis.formulas.iter().filter(|formula| formula.is_none()).count();
        }
        input.rewind(lenient)?;
        let examined = examining.read(input, &[examination(&flagged, options, diagnosis)], "examining")?;
        let dropped = |figure: &&Statistic| figure.name == Examination::INFEASIBLE;
        infeasible = examined.statistics.iter().filter(dropped).map(|figure| figure.value).sum();
        statistics.extend(examined.statistics);
        let apparent: usize = tasks.iter().map(|outcome| outcome.findings.len()).sum();
        if examined.outcomes.iter().all(|outcome| outcome.findings.is_empty()) {
            not_confirmed = apparent;
        }
        for outcome in &mut tasks {
            outcome.findings.clear();
        }
        tasks.extend(examined.outcomes);
    }
    Ok(Ran {
        threads,
        tasks,
        statistics,
        selected,
        left_out,
        not_examined,
        not_confirmed,
        infeasible,
        unreadable,
    })
}

/// What is needed to look at values and branches.
fn diagnosis(tables: &Tables, options: &Options) -> Diagnosis {
    let formulas = tables.names(NameKind::Formula).iter().map(|text| Formula::parse(text).ok()).collect();
    let time = Duration::from_secs(options.diagnose_seconds);
    // What a file of today says of a program of yesterday is wrong.
    let initial = Variables::of(tables).map(|variables| {
        let known: Box<Initial> = Box::new(move |addr, size| variables.value(addr, size));
        known
    });
    Diagnosis { formulas, ask: smt::solver(time), initial, time }
}

/// How a trace is read.
#[derive(Clone, Copy)]
struct Runner<'a> {
    options: &'a Options,
    looking: &'a Looking,
    keep_all: bool,
}

impl Runner<'_> {
    /// Runs checkers over the trace, in one pass.
    fn read(self, input: &mut Input, checkers: &[Box<dyn Checker>], doing: &'static str) -> Result<Reading> {
        let mut progress = Progress::new(self.options.progress, doing, input.bytes, Unit::Bytes);
        let replay_options = ReplayOptions { lenient: self.options.lenient, keep_all: self.keep_all };
        let mut passes: Vec<_> = checkers.iter().map(|checker| checker.start(replay_options)).collect();
        let selection = self.looking.selection();
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
        Ok(Reading {
            outcomes: passes.into_iter().map(|pass| pass.finish()).collect(),
            statistics: checkers.iter().flat_map(|checker| checker.statistics()).collect(),
            wants_blame: checkers.iter().any(|checker| checker.wants_blame()),
            selected,
            left_out,
        })
    }
}

impl Ran {
    /// All outcomes, those of threads first.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.threads.iter().chain(&self.tasks)
    }

    /// That of an analysis that has seen most of the trace.
    pub(crate) fn longest(&self) -> Option<&Outcome> {
        self.outcomes().max_by_key(|outcome| outcome.counts.events)
    }

    /// How many tasks were told, if an analysis looks at them.
    pub(crate) fn tasks(&self) -> u64 {
        self.tasks.iter().map(|outcome| outcome.counts.tasks).max().unwrap_or(0)
    }

    /// Tells figures about the work, on standard error.
    pub(crate) fn tell_statistics(&self, name: &str) {
        if let Some(Outcome { counts, .. }) = self.longest() {
            crate::tell(&format!(
                "{name}: {} events, {} accesses, {} threads, {} locks, {} re-entrant lock operations",
                counts.events, counts.accesses, counts.threads, counts.locks, counts.reentrant
            ));
        }
        for Statistic { analysis, name: what, value } in &self.statistics {
            crate::tell(&format!("{name}: {analysis}: {what}: {value}"));
        }
    }

    /// What the reader of the report should know about the trace.
    pub(crate) fn notes(&self, input: &Input) -> Vec<String> {
        let mut notes = Vec::new();
        let filtered = [
            (self.left_out.thread_local, "accesses of data of one thread so far"),
            (self.left_out.read_only, "reads of data that is not written any more"),
            (self.left_out.ignored, "accesses at ignored places"),
        ];
        for (count, what) in filtered.iter().filter(|(count, _)| *count > 0) {
            notes.push(format!("{}: left out {count} {what}; findings may be missing", input.name));
        }
        if let Some(loss) = input.source.loss() {
            notes.push(format!("{}: {loss}", input.name));
        }
        let Some(outcome) = self.longest() else { return notes };
        for (kind, count) in outcome.repairs.iter() {
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            notes.push(format!("{}: repaired: {kind}, {times}", input.name));
        }
        if self.tasks.is_empty() && outcome.counts.unused > 0 {
            let advice = if outcome.counts.tasks > 0 {
                "; for other schedules of its tasks add --analysis ptracer"
            } else {
                ""
            };
            notes.push(format!(
                "{}: {} events of tasks, branches, loops or groups were not used; the analyses look at threads{advice}",
                input.name, outcome.counts.unused
            ));
        }
        if self.not_confirmed > 0 {
            notes.push(format!(
                "{}: {} did not stand up to the examination, which looks at locks too; --no-witness shows what it was",
                input.name,
                counted(self.not_confirmed as u64, "apparent finding")
            ));
        }
        if self.infeasible > 0 {
            notes.push(format!(
                "{}: {} dropped: no schedule shows it with the values that branches need",
                input.name,
                counted(self.infeasible, "possible finding")
            ));
        }
        if self.unreadable > 0 {
            notes.push(format!(
                "{}: {} cannot be read, and nothing is known about what they compute",
                input.name,
                counted(self.unreadable as u64, "formula of the trace")
            ));
        }
        if self.not_examined > 0 {
            notes.push(format!(
                "{}: {} stretches of memory were too many to be examined; findings about them are missing",
                input.name, self.not_examined
            ));
        }
        notes
    }
}
