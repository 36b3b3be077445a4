//! Programs with oneTBB: what is told of their tasks, and what is found in them, with each compiler and several numbers of
//! workers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const KEIRIN: &str = env!("CARGO_BIN_EXE_keirin");

/// The compilers, each with how much it is to optimize.
const CLANG: [&str; 2] = ["clang++-19", "-O1"];
const GCC: [&str; 2] = ["g++", "-O2"];

const WORKERS: [&str; 3] = ["1", "2", "4"];

/// A program that was built, and a folder to run it in.
struct Program(TempDir);

impl Program {
    fn build(source: &str, [compiler, optimize]: [&str; 2]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tbb/programs").join(source);
        let mut command = keirin(&["c++", "--cc", compiler, optimize, "-std=c++17", "-Wall", "-Werror"]);
        command.arg(source).args(["-o", "program", "-ltbb", "-ltbbmalloc"]).current_dir(folder.path());
        succeeds(command.output().unwrap());
        Self(folder)
    }

    fn trace(&self) -> PathBuf {
        self.0.path().join("run.ktrace")
    }

    fn cases(&self) -> Vec<String> {
        let said = succeeds(Command::new(self.0.path().join("program")).output().unwrap());
        said.lines().map(str::to_owned).collect()
    }

    /// Records a case.
    #[track_caller]
    fn record(&self, case: &str, workers: &str) {
        let mut command = keirin(&["record", "-o"]);
        command.arg(self.trace()).args(["--", "./program", case]);
        succeeds(command.env("WORKERS", workers).current_dir(self.0.path()).output().unwrap());
    }

    /// What was recorded, in text.
    fn text(&self) -> String {
        let text = self.0.path().join("run.std");
        succeeds(keirin(&["convert"]).arg(self.trace()).arg("-o").arg(&text).output().unwrap());
        std::fs::read_to_string(text).unwrap()
    }

    /// Whether an analysis finds something in what was recorded. That something is wrong with the trace is a failure.
    #[track_caller]
    fn finds(&self, analysis: &str, case: &str, workers: &str) -> bool {
        let mut command = keirin(&["check", "--analysis", analysis]);
        let output = command.arg(self.trace()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        match output.status.code() {
            Some(0) => false,
            Some(66) => {
                assert!(said.contains("data race"), "{case}, {workers} workers: {said}");
                true
            }
            code => panic!("{case}, {workers} workers, {analysis}: {code:?} {output:?}"),
        }
    }
}

fn keirin(words: &[&str]) -> Command {
    let mut command = Command::new(KEIRIN);
    command.args(words).env_remove("KEIRIN_OPTIONS").env_remove("KEIRIN_CXX");
    command.env("KEIRIN_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command
}

#[track_caller]
fn succeeds(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// How often each operation stands in a trace in text.
fn operations(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let operation = line.split('|').nth(1).unwrap_or_default();
        *counts.entry(operation.split('(').next().unwrap_or_default()).or_default() += 1;
    }
    counts
}

fn the_structure_is_exact(compiler: [&str; 2]) {
    let program = Program::build("structure.cpp", compiler);
    // Tasks, finish scopes, joins of single tasks, and how often a task was left and taken up again.
    let expected = BTreeMap::from([
        ("fib", (88, 88, 0, 0)),
        ("invoke", (5, 2, 0, 0)),
        ("loop", (8, 1, 0, 0)),
        ("nested", (5, 2, 0, 0)),
        ("overlapping", (2, 2, 1, 0)),
        ("cancelled", (20, 1, 0, 0)),
        ("thrown", (1, 1, 0, 1)),
    ]);
    for case in program.cases() {
        for workers in WORKERS {
            program.record(&case, workers);
            let text = program.text();
            let counts = operations(&text);
            let count = |name: &str| counts.get(name).copied().unwrap_or_default();
            let told = (count("spawn"), count("finish_begin"), count("task_join"), count("task_suspend"));
            if let Some(expected) = expected.get(case.as_str()) {
                assert_eq!(told, *expected, "{case}, {workers} workers");
            }
            assert_eq!(count("task_end"), count("spawn"), "{case}, {workers} workers");
            assert_eq!(
                count("task_begin"),
                count("spawn") + count("task_suspend"),
                "{case}, {workers} workers"
            );
            assert_eq!(count("finish_end"), count("finish_begin"), "{case}, {workers} workers");
            assert!(!program.finds("ptracer", &case, workers), "{case}, {workers} workers");
        }
    }
}

fn all_cases(source: &str, compiler: [&str; 2], racy: bool) {
    let program = Program::build(source, compiler);
    let mut wrong = Vec::new();
    // Where each program is run once, the numbers of workers take turns, and each compiler begins with another one.
    let all = std::env::var_os("KEIRIN_PROGRAM_RUNS").is_some();
    let first = usize::from(compiler == GCC);
    for (number, case) in program.cases().into_iter().enumerate() {
        let turn = WORKERS[(number + first) % WORKERS.len()];
        for workers in WORKERS.into_iter().filter(|workers| all || *workers == turn) {
            program.record(&case, workers);
            let analyses: &[&str] = if racy { &["ptracer"] } else { &["ptracer", "spd3"] };
            for analysis in analyses {
                if program.finds(analysis, &case, workers) != racy {
                    wrong.push(format!("{case}, {workers} workers, {analysis}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn clang_structure() {
    the_structure_is_exact(CLANG);
}

#[test]
fn gcc_structure() {
    the_structure_is_exact(GCC);
}

#[test]
fn clang_races_are_found() {
    all_cases("races.cpp", CLANG, true);
}

#[test]
fn gcc_races_are_found() {
    all_cases("races.cpp", GCC, true);
}

#[test]
fn clang_clean_programs_are_clean() {
    all_cases("clean.cpp", CLANG, false);
}

#[test]
fn gcc_clean_programs_are_clean() {
    all_cases("clean.cpp", GCC, false);
}

#[test]
fn clang_containers_are_clean() {
    all_cases("containers.cpp", CLANG, false);
}

#[test]
fn gcc_containers_are_clean() {
    all_cases("containers.cpp", GCC, false);
}
