//! What the processes of a program have handed over.

use crate::report::Finding;
use crate::report::resolve::{Names, resolve};
use crate::sources::Sources;
use crate::symbols::Symbols;
use anyhow::{Context, Result};
use keirin_core::finding::{Doubt, Verdict};
use keirin_core::handover::{End, Figure, Handover, read};
use keirin_core::replay::Counts;
use keirin_core::trace::PositionUnit;
use std::path::Path;

/// How the names of the files begin; the process id and a number follow.
pub(super) const PREFIX: &str = "findings";

/// The figures of an analysis of tasks: how many steps tasks had in all.
pub(super) const STEPS: (&str, &str) = ("tasks", "steps");

/// Whether every schedule can go on to its end: how many orders of locks, or waits under locks, could block each other.
const BLOCKING: (&str, &str) = ("tasks", "locks that could block each other");

/// What to say if some schedules may not go on to their end.
const UNDECIDED: &str = "some orders of locks, or waits while locks are held, could block each other: whether a schedule shows the \
                         suspected findings is not decided; keirin run --examine decides it";

/// What to say if the end of a process was not seen.
const UNFINISHED: &str = "whether a schedule shows the suspected findings is known only at the end of a process; keirin run --examine \
                          decides it";

/// All processes that were watched, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) processes: Vec<Handover>,
    /// What the reader should know.
    pub(crate) notes: Vec<String>,
}

/// Reads all that is in the folder.
pub(crate) fn collect(folder: &Path) -> Result<Collected> {
    let context = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let name = entry.with_context(context)?.file_name();
        let name = name.to_string_lossy().into_owned();
        if let Some(numbers) = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('.')) {
            let numbers: Vec<u64> = numbers.split('.').map(|number| number.parse().unwrap_or(0)).collect();
            files.push((numbers, name));
        }
    }
    files.sort();
    let mut collected = Collected::default();
    for (_, name) in files {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        match read(&bytes) {
            Ok(handover) => collected.add(handover),
            Err(error) => collected.notes.push(format!("a process told nothing: {error}")),
        }
    }
    Ok(collected)
}

/// A figure of a process, if it told one.
fn figure(handover: &Handover, (analysis, name): (&str, &str)) -> Option<u64> {
    let wanted = |figure: &&Figure| &*figure.analysis == analysis && &*figure.name == name;
    handover.statistics.iter().find(wanted).map(|figure| figure.value)
}

/// Decides what becomes of findings about tasks for which nobody has looked for a schedule. If nothing in the run could block
/// anything else, every schedule that keeps the order of the tasks and excludes by locks goes on to its end, and one shows
/// the finding. Else they stay suspected; what to say of that is returned.
fn judge(handover: &mut Handover) -> Option<&'static str> {
    let blocking = figure(handover, BLOCKING);
    let mut open = handover
        .findings
        .iter_mut()
        .filter(|finding| finding.verdict == Verdict::Suspected(Doubt::NotExamined))
        .peekable();
    open.peek()?;
    let ended = matches!(handover.end, Some(End::Exit(_) | End::Exec));
    match blocking.filter(|_| ended) {
        Some(0) => {
            open.for_each(|finding| finding.verdict = Verdict::OtherSchedule { witness: None });
            None
        }
        Some(_) => Some(UNDECIDED),
        None => Some(UNFINISHED),
    }
}

impl Collected {
    fn add(&mut self, mut handover: Handover) {
        let who = format!("process {} ({})", handover.pid, handover.program);
        let undecided = judge(&mut handover);
        for note in &handover.notes {
            // Every process says the same of what they have in common.
            let note = note.to_string();
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        if let Some(loss) = &handover.loss {
            self.notes.push(format!("{who}: of what was handed over {loss}"));
        }
        match handover.end {
            Some(End::Exit(_) | End::Exec) => {}
            Some(End::Signal(signal)) => self.notes.push(format!("{who} was ended by signal {signal}")),
            Some(End::Stopped) => self.notes.push(format!("{who} was not watched to its end")),
            None => {
                self.notes.push(format!("{who} did not tell its end: it was killed, or is still running"))
            }
        }
        if let Some(note) = undecided
            && !self.notes.iter().any(|known| known == note)
        {
            self.notes.push(note.to_owned());
        }
        self.processes.push(handover);
    }

    /// A figure of all processes together. 0 if none told it.
    pub(super) fn figure(&self, wanted: (&str, &str)) -> u64 {
        let told = self.processes.iter().filter_map(|handover| figure(handover, wanted));
        told.fold(0, u64::saturating_add)
    }

    /// The findings of all processes, with names. Those that are the same are not yet one. The program is told as a word of
    /// a command.
    pub(super) fn findings(&self, program: &str, sources: &Sources, symbols: &Symbols) -> Vec<Finding> {
        let mut findings = Vec::new();
        for handover in &self.processes {
            let mut tables = handover.tables.clone();
            symbols.name_all(&mut tables, &handover.findings, &[]);
            let names = Names {
                trace: program,
                tables: &tables,
                stacks: &handover.stacks,
                unit: PositionUnit::Nothing,
                sources,
                symbols,
            };
            findings.extend(resolve(&handover.findings, names));
        }
        findings
    }

    /// How much was watched in all processes.
    pub(crate) fn counts(&self) -> Counts {
        self.processes.iter().fold(Counts::default(), |sum, handover| {
            let counts = handover.counts;
            Counts {
                events: sum.events.saturating_add(counts.events),
                accesses: sum.accesses.saturating_add(counts.accesses),
                threads: sum.threads.saturating_add(counts.threads),
                locks: sum.locks.saturating_add(counts.locks),
                reentrant: sum.reentrant.saturating_add(counts.reentrant),
                tasks: sum.tasks.saturating_add(counts.tasks),
                unused: sum.unused.saturating_add(counts.unused),
            }
        })
    }

    /// Tells figures about the work, on standard error.
    pub(super) fn tell_statistics(&self) {
        for handover in &self.processes {
            let who = format!("process {} ({})", handover.pid, handover.program);
            let Counts { events, accesses, threads, locks, reentrant, tasks, .. } = handover.counts;
            crate::tell(&format!(
                "{who}: {events} events, {accesses} accesses, {threads} threads, {tasks} tasks, {locks} locks, {reentrant} \
                 re-entrant lock operations"
            ));
            for figure in &handover.statistics {
                crate::tell(&format!("{who}: {}: {}: {}", figure.analysis, figure.name, figure.value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keirin_core::analysis::Statistic;
    use keirin_core::event::Addr;
    use keirin_core::finding::{Evidence, Race, RawFinding, Rule};
    use keirin_core::handover::Writer;

    fn finding(verdict: Verdict) -> RawFinding {
        let evidence = Evidence::Race(Race { addr: Addr(0x1000), size: 8 });
        RawFinding { rule: Rule::DataRace, verdict, steps: Vec::new(), evidence, lineage: None, count: 1 }
    }

    /// What a process writes: two findings, how many locks could block each other, how it ended.
    fn handover(pid: u32, blocking: Option<u64>, end: Option<End>) -> Vec<u8> {
        let mut writer = Writer::new(pid, "/bin/fib");
        writer.finding(0, &finding(Verdict::Suspected(Doubt::NotExamined))).unwrap();
        writer.finding(1, &finding(Verdict::Suspected(Doubt::Heuristic))).unwrap();
        let statistic = |(analysis, name), value| Statistic { analysis, name, value };
        let mut statistics = vec![statistic(STEPS, 10)];
        statistics.extend(blocking.map(|value| statistic(BLOCKING, value)));
        writer.counts(&Counts { tasks: 3, ..Counts::default() });
        writer.statistics(&statistics);
        if let Some(end) = end {
            writer.end(end);
        }
        writer.bytes().to_vec()
    }

    fn collected(processes: &[Vec<u8>]) -> Collected {
        let folder = tempfile::tempdir().unwrap();
        for (number, bytes) in processes.iter().enumerate() {
            std::fs::write(folder.path().join(format!("{PREFIX}.{number}.0")), bytes).unwrap();
        }
        collect(folder.path()).unwrap()
    }

    fn verdicts(collected: &Collected) -> Vec<Vec<Verdict>> {
        let verdicts = |handover: &Handover| -> Vec<Verdict> {
            handover.findings.iter().map(|finding| finding.verdict.clone()).collect()
        };
        collected.processes.iter().map(verdicts).collect()
    }

    #[test]
    fn where_nothing_could_block_some_schedule_shows_what_was_found_about_tasks() {
        let proved = [Verdict::OtherSchedule { witness: None }, Verdict::Suspected(Doubt::Heuristic)];
        for end in [End::Exit(1), End::Exec] {
            let collected = collected(&[handover(7, Some(0), Some(end))]);
            assert_eq!(verdicts(&collected), [proved.clone()]);
            assert_eq!(collected.notes, [""; 0]);
        }
    }

    #[test]
    fn where_locks_could_block_each_other_it_stays_suspected_and_the_report_says_so() {
        let open = [Verdict::Suspected(Doubt::NotExamined), Verdict::Suspected(Doubt::Heuristic)];
        let blocked = handover(7, Some(2), Some(End::Exit(0)));
        let collected = collected(&[blocked.clone(), blocked]);
        assert_eq!(verdicts(&collected), [open.clone(), open]);
        assert_eq!(collected.notes, [UNDECIDED]);
    }

    #[test]
    fn of_a_process_whose_end_is_not_known_nothing_is_proved() {
        let open = [Verdict::Suspected(Doubt::NotExamined), Verdict::Suspected(Doubt::Heuristic)];
        let killed =
            [(None, None), (Some(0), None), (Some(0), Some(End::Stopped)), (None, Some(End::Signal(11)))];
        for (blocking, end) in killed {
            let collected = collected(&[handover(7, blocking, end)]);
            assert_eq!(verdicts(&collected), [open.clone()], "{blocking:?} {end:?}");
            assert!(collected.notes.iter().any(|note| note == UNFINISHED), "{:?}", collected.notes);
        }
    }

    #[test]
    fn tasks_and_steps_of_all_processes_are_counted() {
        let process = |pid| handover(pid, Some(0), Some(End::Exit(0)));
        let collected = collected(&[process(7), process(8)]);
        assert_eq!((collected.counts().tasks, collected.figure(STEPS)), (6, 20));
        assert_eq!(collected.figure(("tasks", "nothing of the kind")), 0);
    }
}
