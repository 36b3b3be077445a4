//! The programs, what is written down in their sources, and what the paper says of them.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A bug of Table 2, with the paper's figures about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bug {
    /// Its name in the paper.
    pub(super) name: &'static str,
    /// The program that has it.
    pub(super) program: &'static str,
    /// Whether AVIO finds it (Table 5).
    pub(super) avio: bool,
    /// False alarms of software, of an unbounded buffer and of signatures (Table 6).
    pub(super) alarms: [f64; 3],
    /// More time and more bytes in hardware, per cent, and the slowdown of software (Table 7).
    pub(super) overhead: [f64; 3],
}

/// The bugs in the order of the paper.
pub(super) const BUGS: [Bug; 8] = [
    bug("Apache#1", "apache_1", true, [1.8, 2.0, 2.0], [0.1, 1.3, 80.4]),
    bug("Apache#2", "apache_2", true, [2.6, 10.4, 14.4], [0.1, 1.0, 74.1]),
    bug("Mozilla#1", "mozilla_1", false, [0.4, 1.8, 1.8], [0.1, 5.5, 14.6]),
    bug("Mozilla#2", "mozilla_2", false, [0.0, 3.0, 6.0], [0.5, 6.3, 2.1]),
    bug("Mozilla#3", "mozilla_3", false, [0.0, 0.0, 0.0], [0.1, 2.7, 1.9]),
    bug("MySql#1", "mysql_1", true, [0.6, 12.2, 15.0], [0.1, 4.2, 15.9]),
    bug("MySql#2", "mysql_2", false, [0.8, 7.6, 9.6], [0.1, 1.5, 13.9]),
    bug("MySql#3", "mysql_3", false, [0.2, 17.2, 18.0], [0.3, 3.8, 2.8]),
];

const fn bug(
    name: &'static str,
    program: &'static str,
    avio: bool,
    alarms: [f64; 3],
    overhead: [f64; 3],
) -> Bug {
    Bug { name, program, avio, alarms, overhead }
}

/// A program whose regions are known (Table 8).
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Its name in the paper.
    pub(super) name: &'static str,
    /// The program.
    pub(super) program: &'static str,
    /// Per cent of them that the paper infers, with all information, without critical sections, without loops, without
    /// both.
    pub(super) correct: [f64; 4],
}

/// The programs in the order of the paper.
pub(super) const KNOWN: [Known; 3] = [
    Known { name: "LinkedList", program: "linked_list", correct: [100.0, 58.8, 94.1, 52.9] },
    Known { name: "ProdCons", program: "producer_consumer", correct: [100.0, 100.0, 75.0, 75.0] },
    Known { name: "FFT", program: "fft", correct: [100.0, 78.6, 100.0, 78.6] },
];

/// The source of a program in one of the two folders.
pub(super) fn source(folder: &str, program: &str) -> PathBuf {
    let folder =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs/atomtracker")).join(folder);
    folder.join(program).with_extension("c")
}

fn read(source: &Path) -> Result<String> {
    std::fs::read_to_string(source).with_context(|| format!("cannot read {}", source.display()))
}

/// The lines of a source that a bug is about.
pub(super) fn bug_lines(source: &Path) -> Result<BTreeSet<u32>> {
    let lines: BTreeSet<u32> = (1..)
        .zip(read(source)?.lines())
        .filter(|(_, text)| text.contains("// (bug)"))
        .map(|(line, _)| line)
        .collect();
    if lines.is_empty() {
        bail!("no line of {} is marked with `// (bug)`", source.display());
    }
    Ok(lines)
}

/// A region that is meant to be atomic, by the lines of its first and its last access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TrueRegion {
    pub(super) name: String,
    pub(super) enter: u32,
    pub(super) exit: u32,
    /// Its thread does nothing more after it.
    pub(super) thread_end: bool,
}

/// The regions that are written down in a source.
pub(super) fn true_regions(source: &Path) -> Result<Vec<TrueRegion>> {
    marked(&read(source)?).with_context(|| source.display().to_string())
}

fn marked(text: &str) -> Result<Vec<TrueRegion>> {
    let mut marks: BTreeMap<(&str, &str), (u32, bool)> = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        for mark in text.split("// ").skip(1) {
            let mut words = mark.split_whitespace();
            let (Some(kind @ ("enter" | "exit")), Some(name)) = (words.next(), words.next()) else {
                continue;
            };
            if name.contains('`') {
                // A comment that explains the marks quotes them.
                continue;
            }
            let thread_end = mark.contains("(thread end)");
            if marks.insert((name, kind), (line, thread_end)).is_some() {
                bail!("line {line}: a second `{kind} {name}`");
            }
        }
    }
    let entered = marks.iter().filter(|((_, kind), _)| *kind == "enter");
    let region = |(&(name, _), &(enter, _)): (&(&str, &str), &(u32, bool))| {
        let exit = marks.get(&(name, "exit")).with_context(|| format!("`enter {name}` has no exit"))?;
        Ok(TrueRegion { name: name.to_owned(), enter, exit: exit.0, thread_end: exit.1 })
    };
    entered.map(region).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_say_what_the_paper_counts() {
        for (known, count) in KNOWN.iter().zip([17, 4, 14]) {
            let regions = true_regions(&source("regions", known.program)).expect("marks that match");
            assert_eq!(regions.len(), count, "{}", known.program);
            assert!(regions.iter().all(|region| region.enter <= region.exit), "{regions:?}");
        }
        for bug in BUGS {
            assert!(bug_lines(&source("bugs", bug.program)).expect("marks").len() >= 2, "{}", bug.program);
        }
    }

    #[test]
    fn marks_must_match() {
        let text = "// `// enter NAME`\nx; // enter a\ny; // exit a // enter b\nz; // exit b (thread end)";
        let two = marked(text).expect("two regions");
        let lines: Vec<_> = two.iter().map(|region| (region.enter, region.exit, region.thread_end)).collect();
        assert_eq!(lines, [(2, 3, false), (3, 4, true)]);
        assert!(marked("x; // enter a").is_err() && marked("x; // enter a\n// enter a").is_err());
    }
}
