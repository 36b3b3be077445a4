//! Rust programs with what must be found in them (`tests/programs/rust`, and with `--races` its folder `races`), and a crate as a user
//! has it (`tests/projects/cargo`), under `cargo keirin`.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod crates;
mod support;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use support::{Project, folder_of_tests};

/// A finding that must be there.
#[derive(Clone, Debug)]
struct Expected {
    rule: String,
    /// The marks of its lines.
    marks: BTreeSet<String>,
    /// What the memory is called, if that is of interest.
    name: Option<String>,
}

impl Expected {
    /// `RULE (A) (B) of NAME`
    fn parse(text: &str) -> Self {
        let (text, name) =
            text.split_once(" of ").map_or((text, None), |(text, name)| (text, Some(name.to_owned())));
        let mut words = text.split(' ').map(str::to_owned);
        Expected { rule: words.next().unwrap(), marks: words.collect(), name }
    }
}

/// What the comments of a program say.
struct Program {
    name: String,
    expected: Vec<Expected>,
    /// The lines that end in each mark.
    marks: BTreeMap<String, BTreeSet<u64>>,
}

impl Program {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let expected = text.lines().filter_map(|line| line.strip_prefix("// expect: "));
        let mut marks: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some((_, mark)) = line.rsplit_once(" // (") {
                marks.entry(format!("({mark}")).or_default().insert(number);
            }
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        Program { name, expected: expected.map(Expected::parse).collect(), marks }
    }

    /// What differs between a report and what is expected.
    fn differences(&self, report: &Value) -> Vec<String> {
        let mut missing = self.expected.clone();
        let mut differences = Vec::new();
        let findings = report["findings"].as_array().unwrap().iter();
        for finding in findings.filter(|finding| finding["status"]["kind"] == "reported") {
            let lines = support::lines(finding, &self.name);
            let fits = |expected: &Expected| {
                let marked = |mark: &String| &self.marks[mark];
                let allowed: BTreeSet<u64> = expected.marks.iter().flat_map(marked).copied().collect();
                finding["rule"] == *expected.rule
                    && lines.is_subset(&allowed)
                    && expected.marks.iter().all(|mark| !marked(mark).is_disjoint(&lines))
                    && expected.name.as_ref().is_none_or(|name| finding["location"]["name"] == **name)
            };
            match missing.iter().position(fits) {
                Some(index) => drop(missing.remove(index)),
                None => differences
                    .push(format!("{}: {} in lines {lines:?} is not expected", self.name, finding["title"])),
            }
        }
        differences.extend(missing.iter().map(|expected| format!("{}: {expected:?} is missing", self.name)));
        differences
    }
}

/// The variables that say on how many threads the tasks of rayon and of tokio run.
const RAYON_THREADS: &str = "RAYON_NUM_THREADS";
const TOKIO_THREADS: &str = "TOKIO_WORKER_THREADS";

/// Programs that are built and run the same way.
struct Programs {
    /// Where they are, below those of all.
    folder: &'static str,
    /// What keirin is told.
    options: &'static [&'static str],
    /// What cargo is told.
    profile: &'static [&'static str],
    /// How many threads they use, each in turn; the programs that say so themselves get any number.
    threads: Vec<usize>,
}

impl Programs {
    /// Runs each program some times.
    fn check(&self) {
        let wanted = std::env::var("KEIRIN_PROGRAMS").unwrap_or_default();
        let Programs { folder, options, profile, threads } = self;
        let name = [folder, &*profile.concat()].concat().replace('/', "-");
        let project = Project::new(&folder_of_tests().join("programs").join(folder), &name);
        let built = project.cargo_keirin(options, &[&["build", "--bins"], *profile].concat());
        assert_eq!(built.code, 0, "{built:?}");
        let mut differences = Vec::new();
        for path in support::files(&project.path().join("src/bin")) {
            let program = Program::read(&path);
            if !program.name.contains(&wanted) {
                continue;
            }
            for threads in threads {
                let project = project.with("THREADS", threads).with(RAYON_THREADS, threads);
                let project = project.with(TOKIO_THREADS, threads);
                let (run, report) =
                    project.report(options, &[&["run", "--bin", &program.name], *profile].concat());
                let code = if program.expected.is_empty() { 0 } else { 66 };
                if run.code != code {
                    differences.push(format!("{}: exit code {}", program.name, run.code));
                }
                differences.extend(program.differences(&report));
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}

/// How often each program runs, if the environment says so.
fn runs() -> Option<usize> {
    std::env::var("KEIRIN_PROGRAM_RUNS").ok().map(|runs| runs.parse().unwrap())
}

fn programs(profile: &'static [&'static str]) -> Programs {
    let threads = std::env::var("KEIRIN_PROGRAM_THREADS").unwrap_or("1,4,2".to_owned());
    let threads: Vec<usize> = threads.split(',').map(|threads| threads.parse().unwrap()).collect();
    let threads = threads.into_iter().cycle().take(runs().unwrap_or(2)).collect();
    Programs { folder: "rust", options: &[], profile, threads }
}

/// On 1, 2 and 4 threads in turn, as far as there are runs.
fn programs_with_races(profile: &'static [&'static str]) -> Programs {
    let threads = [2, 4, 1].into_iter().cycle().take(runs().unwrap_or(1)).collect();
    Programs { folder: "rust/races", options: &["--races"], profile, threads }
}

#[test]
fn programs_without_optimization() {
    programs(&[]).check();
}

#[test]
fn programs_with_optimization() {
    programs(&["--release"]).check();
}

#[test]
fn programs_with_races_are_told_apart() {
    programs_with_races(&[]).check();
    if runs().is_some() {
        programs_with_races(&["--release"]).check();
    }
}
