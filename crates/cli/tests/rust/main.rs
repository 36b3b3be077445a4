//! Rust programs with what must be found in them (`tests/programs/rust`), and a crate as a user has it (`tests/projects/cargo`),
//! under `cargo keirin`.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod crates;
mod support;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use support::{Project, folder_of_tests};

/// What the comments of a program say.
struct Program {
    name: String,
    /// For each expected finding its rule and the marks of its lines.
    expected: Vec<(String, BTreeSet<String>)>,
    /// The lines that end in each mark.
    marks: BTreeMap<String, BTreeSet<u64>>,
}

impl Program {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let expected = text.lines().filter_map(|line| line.strip_prefix("// expect: "));
        let expected = expected.map(|words| {
            let mut words = words.split(' ').map(str::to_owned);
            (words.next().unwrap(), words.collect())
        });
        let mut marks: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some((_, mark)) = line.rsplit_once(" // (") {
                marks.entry(format!("({mark}")).or_default().insert(number);
            }
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        Program { name, expected: expected.collect(), marks }
    }

    /// What differs between a report and what is expected.
    fn differences(&self, report: &Value) -> Vec<String> {
        let mut missing = self.expected.clone();
        let mut differences = Vec::new();
        for finding in report["findings"].as_array().unwrap() {
            let lines = support::lines(finding, &self.name);
            let fits = |(rule, marks): &(String, BTreeSet<String>)| {
                let allowed: BTreeSet<u64> =
                    marks.iter().flat_map(|mark| &self.marks[mark]).copied().collect();
                let met = |mark: &String| !self.marks[mark].is_disjoint(&lines);
                finding["rule"] == **rule && lines.is_subset(&allowed) && marks.iter().all(met)
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

/// Runs each program some times, as a debug or a release build.
fn check(profile: &[&str]) {
    let wanted = std::env::var("KEIRIN_PROGRAMS").unwrap_or_default();
    let runs: usize = std::env::var("KEIRIN_PROGRAM_RUNS").map_or(2, |runs| runs.parse().unwrap());
    let project =
        Project::new(&folder_of_tests().join("programs/rust"), &format!("programs{}", profile.concat()));
    let built = project.cargo_keirin(&[], &[&["build", "--bins"], profile].concat());
    assert_eq!(built.code, 0, "{built:?}");
    let mut differences = Vec::new();
    for path in support::files(&project.path().join("src/bin")) {
        let program = Program::read(&path);
        if !program.name.contains(&wanted) {
            continue;
        }
        for _ in 0..runs {
            let (run, report) = project.report(&[&["run", "--bin", &program.name], profile].concat());
            let code = if program.expected.is_empty() { 0 } else { 66 };
            if run.code != code {
                differences.push(format!("{}: exit code {}", program.name, run.code));
            }
            differences.extend(program.differences(&report));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn programs_without_optimization() {
    check(&[]);
}

#[test]
fn programs_with_optimization() {
    check(&["--release"]);
}
