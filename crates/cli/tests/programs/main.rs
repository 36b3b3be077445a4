//! The programs of `tests/programs`, built by `keirin cc` and `keirin c++` and watched by `keirin run`: every expected
//! finding and no other, in every run, with gcc and with clang (those with oneTBB with one of the two). Programs with tasks are examined as well, once.
//!
//! Each test takes one folder and one compiler and tells all failures at once. Some variables change what it does:
//!
//! - `KEIRIN_PROGRAM_RUNS`: how often each program is run (by default twice, one with tasks once; `./test --long` takes 50). If it is
//!   set, both compilers are taken for all.
//! - `KEIRIN_PROGRAMS`: only programs whose path contains this.
//! - `KEIRIN_PROGRAM_THREADS`: on how many threads programs with tasks run, such as `1,2,4`: each program on each of these
//!   numbers as often as the first variable says (by default on 2 and 4 in turn).

mod atomtracker;
mod build;
mod confirm;
mod differential;
mod directives;
mod report;
mod run;

use build::{Compiler, Program};
use directives::{Directives, Need};
use report::Finding;
use run::Outcome;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// How `keirin run` ends if it found something.
const FINDINGS: i32 = 66;

/// Before what keirin said in a run that went wrong.
const SAID: &str = "keirin said: ";

/// How many threads programs with tasks have, from run to run.
const THREADS: [&str; 2] = ["2", "4"];

#[test]
fn race_gcc() {
    test_folder("race", Compiler::Gcc);
}

#[test]
fn race_clang() {
    test_folder("race", Compiler::Clang);
}

#[test]
fn atomicity_gcc() {
    test_folder("atomicity", Compiler::Gcc);
}

#[test]
fn atomicity_clang() {
    test_folder("atomicity", Compiler::Clang);
}

#[test]
fn clean_gcc() {
    test_folder("clean", Compiler::Gcc);
}

#[test]
fn clean_clang() {
    test_folder("clean", Compiler::Clang);
}

#[test]
fn told_gcc() {
    test_folder("told", Compiler::Gcc);
}

#[test]
fn told_clang() {
    test_folder("told", Compiler::Clang);
}

#[test]
fn openmp_race_gcc() {
    test_folder("tasks/openmp/race", Compiler::Gcc);
}

#[test]
fn openmp_race_clang() {
    test_folder("tasks/openmp/race", Compiler::Clang);
}

#[test]
fn openmp_atomicity_gcc() {
    test_folder("tasks/openmp/atomicity", Compiler::Gcc);
}

#[test]
fn openmp_atomicity_clang() {
    test_folder("tasks/openmp/atomicity", Compiler::Clang);
}

#[test]
fn openmp_clean_gcc() {
    test_folder("tasks/openmp/clean", Compiler::Gcc);
}

#[test]
fn openmp_clean_clang() {
    test_folder("tasks/openmp/clean", Compiler::Clang);
}

#[test]
fn tbb_race_gcc() {
    test_folder("tasks/tbb/race", Compiler::Gcc);
}

#[test]
fn tbb_race_clang() {
    test_folder("tasks/tbb/race", Compiler::Clang);
}

#[test]
fn tbb_atomicity_gcc() {
    test_folder("tasks/tbb/atomicity", Compiler::Gcc);
}

#[test]
fn tbb_atomicity_clang() {
    test_folder("tasks/tbb/atomicity", Compiler::Clang);
}

#[test]
fn tbb_clean_gcc() {
    test_folder("tasks/tbb/clean", Compiler::Gcc);
}

#[test]
fn tbb_clean_clang() {
    test_folder("tasks/tbb/clean", Compiler::Clang);
}

#[test]
fn openmp_lean() {
    test_lean(&["tasks/openmp/race", "tasks/openmp/atomicity", "tasks/openmp/clean"]);
}

#[test]
fn tbb_lean() {
    test_lean(&["tasks/tbb/race", "tasks/tbb/atomicity", "tasks/tbb/clean"]);
}

/// An analysis of the observed order says that it does not have it; one of races, or of tasks, has all that it needs.
#[test]
fn lean_is_said_where_it_matters() {
    let sources = build::sources("tasks/openmp/race");
    let source = sources.iter().find(|path| path.ends_with("loops_overlap.c")).expect("the program");
    let program = build::program(source, Compiler::Lean).expect("it is built").expect("it is for clang");
    for (analysis, said) in [("velodrome", true), ("fasttrack", false), ("ptracer,task-atomicity", false)] {
        let mut command = Command::new(build::KEIRIN);
        command
            .env_remove("KEIRIN_OPTIONS")
            .args(["run", "--analysis", analysis, "--"])
            .arg(&program.executable);
        let output = command.output().expect("it runs");
        let report = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(report.contains("built with --lean"), said, "{analysis}: {report}");
    }
}

#[test]
fn branches_of_threads() {
    test_branches("branches/threads");
}

#[test]
fn branches_of_openmp() {
    test_branches("branches/openmp");
}

#[test]
fn branches_of_tbb() {
    test_branches("branches/tbb");
}

#[test]
fn online_equals_offline_gcc() {
    test_all(&["race", "atomicity", "clean"], Compiler::Gcc, differential::compare);
}

#[test]
fn online_equals_offline_clang() {
    test_all(&["race", "atomicity", "clean"], Compiler::Clang, differential::compare);
}

fn test_folder(folder: &str, compiler: Compiler) {
    // One with tasks is built to find in every run what any schedule shows.
    let runs = number("KEIRIN_PROGRAM_RUNS", if folder.starts_with("tasks/") { 1 } else { 2 });
    let mut tested = 0;
    test_all(&[folder], compiler, |program| {
        tested += 1;
        watch(program, tested, runs)
    });
}

/// Programs with a branch that another schedule turns: what is found is the same, whichever side was executed. One run executes one
/// side, each program another one than the one before; more runs execute both.
fn test_branches(folder: &str) {
    let runs = number("KEIRIN_PROGRAM_RUNS", 1);
    let mut tested = 0;
    test_all(&[folder], Compiler::Clang, |program| {
        let Some(analyses) = &program.directives.diagnose else {
            return Err("does not say `diagnose: ANALYSES`".to_owned());
        };
        tested += 1;
        let mut wrong = BTreeMap::new();
        for run in 1..=runs {
            let side = ["0", "1"][(tested + run) % 2];
            let result = run::diagnose(program, analyses, side).and_then(|it| compare(program, &it, false));
            note(&mut wrong, format!("run {run} of side {side}"), result);
        }
        told(wrong, runs)
    });
}

/// Programs that are built with `--lean`: the same is found. (Which of several accesses of a step are told when they are examined is not.)
fn test_lean(folders: &[&str]) {
    let runs = number("KEIRIN_PROGRAM_RUNS", 1);
    let mut tested = 0;
    test_all(folders, Compiler::Lean, |program| {
        tested += 1;
        let mut wrong = BTreeMap::new();
        for run in 1..=runs {
            let threads = THREADS[(tested + run) % THREADS.len()];
            let result = run::watch_tasks(program, threads, &options(program));
            let result = result.and_then(|outcome| compare(program, &outcome, false));
            note(&mut wrong, format!("run {run} with {threads} threads"), result);
        }
        told(wrong, runs)
    });
}

/// Builds all programs of some folders and does something with each; fails with a table of all that went wrong.
fn test_all(folders: &[&str], compiler: Compiler, mut test: impl FnMut(&Program) -> Result<(), String>) {
    let only = std::env::var("KEIRIN_PROGRAMS").unwrap_or_default();
    let mut tested = 0;
    let mut failures = Vec::new();
    for folder in folders {
        for source in build::sources(folder) {
            if !source.to_string_lossy().contains(&only) {
                continue;
            }
            tested += 1;
            if takes_turns(folder, compiler) && !has_its_turn(&source, tested, compiler) {
                continue;
            }
            let tested = build::program(&source, compiler);
            if let Err(reason) = tested.and_then(|program| program.as_ref().map_or(Ok(()), &mut test)) {
                failures.push((source, reason));
            }
        }
    }
    assert!(tested > 0 || !only.is_empty(), "there are no programs in {folders:?}");
    if failures.is_empty() {
        return;
    }
    let mut table = format!("{} of {tested} programs failed with {}:\n", failures.len(), compiler.name());
    for (source, reason) in failures {
        let _ = write!(table, "\n== {}\n", build::name(&source).display());
        for line in reason.lines() {
            let _ = writeln!(table, "   {line}");
        }
    }
    panic!("{table}");
}

/// True if one half of a folder's programs is tested with gcc and the other one with clang, unless runs are asked for: the headers of oneTBB
/// take seconds to compile.
fn takes_turns(folder: &str, compiler: Compiler) -> bool {
    (folder.starts_with("tasks/tbb/") || compiler == Compiler::Lean)
        && std::env::var_os("KEIRIN_PROGRAM_RUNS").is_none()
}

/// True if a program is tested with a compiler in the short mode. With `--lean` those with loops are, and a few others.
fn has_its_turn(source: &Path, number: usize, compiler: Compiler) -> bool {
    match compiler {
        Compiler::Gcc => number % 2 == 1,
        Compiler::Clang => number.is_multiple_of(2),
        Compiler::Lean => number.is_multiple_of(16) || build::name(source).to_string_lossy().contains("loop"),
    }
}

/// Runs a program as often as asked for and compares what was found with what it says about itself. Tells what went wrong
/// in all of the runs.
fn watch(program: &Program, number: usize, runs: usize) -> Result<(), String> {
    if program.directives.needs.is_some() {
        return watch_tasks(program, number, runs);
    }
    let options = options(program);
    let mut wrong = BTreeMap::new();
    for run in 1..=runs {
        note(
            &mut wrong,
            format!("run {run}"),
            run::watch(program, &options).and_then(|it| compare(program, &it, false)),
        );
    }
    told(wrong, runs)
}

/// The same of a program with tasks, on each number of threads that is asked for. Then it is examined.
fn watch_tasks(program: &Program, number: usize, runs: usize) -> Result<(), String> {
    let mut options = options(program);
    let asked = std::env::var("KEIRIN_PROGRAM_THREADS").ok();
    let asked: Option<Vec<&str>> = asked.as_deref().map(|list| list.split(',').collect());
    let mut wrong = BTreeMap::new();
    let mut online = None;
    for run in 1..=runs {
        // Findings do not depend on how many threads share the tasks: each program gets another number than the one before.
        let in_turn = [THREADS[(number + run) % THREADS.len()]];
        let numbers = asked.as_deref().unwrap_or(&in_turn);
        // Alone in its team a thread runs each task of OpenMP at once, as if there were none: nothing is to be found.
        let finds_nothing_alone =
            program.directives.needs == Some(Need::OpenMp) && !program.directives.expected.is_empty();
        for threads in numbers.iter().filter(|number| **number != "1" || !finds_nothing_alone) {
            let result = run::watch_tasks(program, threads, &options).and_then(|outcome| {
                compare(program, &outcome, false)?;
                online.get_or_insert(outcome);
                Ok(())
            });
            note(&mut wrong, format!("run {run} with {threads} threads"), result);
        }
    }
    let threads = THREADS[number % THREADS.len()];
    options.push("--examine");
    let result = run::watch_tasks(program, threads, &options).and_then(|examined| {
        compare(program, &examined, true)?;
        online.map_or(Ok(()), |online| differential::same_memory(&online.findings, &examined.findings))
    });
    note(&mut wrong, format!("examined with {threads} threads"), result);
    told(wrong, runs)
}

fn options(program: &Program) -> Vec<&str> {
    program.directives.options.iter().map(String::as_str).collect()
}

/// What went wrong, what keirin said the first time, and in which runs.
type Wrong = BTreeMap<String, (String, Vec<String>)>;

/// Notes in which run something went wrong.
fn note(wrong: &mut Wrong, run: String, result: Result<(), String>) {
    let Err(reason) = result else { return };
    // What keirin says has counts in it that differ from run to run.
    let (reason, said) = reason.split_once(SAID).unwrap_or((&reason, ""));
    let (_, runs) = wrong.entry(reason.to_owned()).or_insert_with(|| (said.to_owned(), Vec::new()));
    runs.push(run);
}

/// Tells what went wrong, and when.
fn told(wrong: Wrong, runs: usize) -> Result<(), String> {
    if wrong.is_empty() {
        return Ok(());
    }
    let told = wrong
        .iter()
        .map(|(reason, (said, when))| format!("{} (of {runs} runs): {reason}{SAID}{said}", when.join(", ")));
    Err(told.collect())
}

/// Compares what was found with what the program says about itself.
fn compare(program: &Program, outcome: &Outcome, examined: bool) -> Result<(), String> {
    let Directives { expected: always, examined: if_examined, .. } = &program.directives;
    let mut wrong = String::new();
    for expected in always.iter().chain(if_examined.iter().filter(|_| examined)) {
        if !outcome.findings.iter().any(|finding| expected.describes(finding)) {
            let _ = writeln!(wrong, "missing: {expected}");
        }
    }
    for finding in &outcome.findings {
        if !always.iter().chain(if_examined).any(|expected| expected.describes(finding)) {
            let _ = writeln!(wrong, "unexpected: {finding}");
        }
    }
    if outcome.output != program.directives.output {
        let _ = writeln!(wrong, "printed {:?} instead of {:?}", outcome.output, program.directives.output);
    }
    // What was found decides; else the status of the program is passed on.
    let status = if outcome.findings.is_empty() { program.directives.status } else { FINDINGS };
    if outcome.status != Some(status) {
        let _ = writeln!(wrong, "ended with {:?} instead of {status}", outcome.status);
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let _ = write!(wrong, "{SAID}{}", outcome.messages);
    Err(wrong)
}

/// A number from the environment.
fn number(variable: &str, default: usize) -> usize {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text:?}")),
        Err(_) => default,
    }
}

/// All findings of one kind of two lists that only one of them has.
fn only_in_first<'a>(first: &'a [Finding], second: &[Finding]) -> Vec<&'a Finding> {
    first.iter().filter(|finding| !second.contains(finding)).collect()
}
