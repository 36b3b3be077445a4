//! What the processes of a program have handed over.

use crate::cmd::detect::Learned;
use crate::report::Finding;
use crate::report::resolve::{Names, resolve};
use crate::sources::Sources;
use crate::symbols::Symbols;
use anyhow::{Context, Result};
use keirin_core::handover::{End, Figure, Handover, read};
use keirin_core::replay::Counts;
use keirin_core::trace::PositionUnit;
use std::path::Path;

/// How the names of the files begin; the process id and a number follow.
pub(super) const PREFIX: &str = "findings";

/// The figures of an analysis of tasks: how many steps tasks had in all.
pub(super) const STEPS: (&str, &str) = ("tasks", "steps");

/// The figures of the compiler's pass: whether it tells what other sides of branches would do, and values.
pub(super) const OTHER_SIDES: (&str, &str) = ("pass", "tells other sides of branches");
pub(super) const VALUES: (&str, &str) = ("pass", "tells values");

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
pub(super) fn figure(handover: &Handover, (analysis, name): (&str, &str)) -> Option<u64> {
    let wanted = |figure: &&Figure| &*figure.analysis == analysis && &*figure.name == name;
    handover.statistics.iter().find(wanted).map(|figure| figure.value)
}

impl Collected {
    fn add(&mut self, handover: Handover) {
        let who = format!("process {} ({})", handover.pid, handover.program);
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
        self.processes.push(handover);
    }

    /// A figure of all processes together. 0 if none told it.
    pub(super) fn figure(&self, wanted: (&str, &str)) -> u64 {
        let told = self.processes.iter().filter_map(|handover| figure(handover, wanted));
        told.fold(0, u64::saturating_add)
    }

    /// The findings of all processes, with names. Those that are the same are not yet one. The program is told as a word of
    /// a command; that of each process, if none is given.
    pub(super) fn findings(
        &self,
        program: Option<&str>,
        sources: &Sources,
        symbols: &Symbols,
        learned: Option<&Learned<'_>>,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for handover in &self.processes {
            let mut tables = handover.tables.clone();
            symbols.name_all(&mut tables, &handover.findings, &[]);
            let names = Names {
                trace: program.unwrap_or(&handover.program),
                tables: &tables,
                stacks: &handover.stacks,
                unit: PositionUnit::Nothing,
                sources,
                symbols,
            };
            let Some(learned) = learned else {
                findings.extend(resolve(&handover.findings, names));
                continue;
            };
            for raw in &handover.findings {
                let mut resolved = resolve(std::slice::from_ref(raw), names);
                resolved.iter_mut().for_each(|finding| finding.notes.extend(learned.notes(raw)));
                findings.extend(resolved);
            }
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
    use keirin_core::handover::Writer;

    #[test]
    fn tasks_and_steps_of_all_processes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        for pid in [7, 8] {
            let mut writer = Writer::new(pid, "/bin/fib");
            writer.counts(&Counts { tasks: 3, ..Counts::default() });
            writer.statistics(&[Statistic { analysis: STEPS.0, name: STEPS.1, value: 10 }]);
            writer.end(End::Exit(0));
            std::fs::write(folder.path().join(format!("{PREFIX}.{pid}.0")), writer.bytes()).unwrap();
        }
        let collected = collect(folder.path()).unwrap();
        assert_eq!((collected.counts().tasks, collected.figure(STEPS)), (6, 20));
        assert_eq!(collected.figure(("tasks", "nothing of the kind")), 0);
    }
}
