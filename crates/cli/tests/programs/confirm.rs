//! `keirin confirm` on findings of the programs: how many the programs show themselves, within ten tries each.
//!
//! The first finding of each program is taken. In the short mode these are a few programs; `./test --long` takes all twenty.
//! `cargo test -p keirin-cli --test programs confirm -- --nocapture` prints the table.

use super::build::{self, Compiler, KEIRIN, Program};
use super::run;
use super::{number, options};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Races and torn regions of programs with threads, OpenMP and oneTBB, of which no order of the steps is forced that makes
/// them impossible to show.
const PROGRAMS: [&str; 20] = [
    "race/counter.c",
    "atomicity/set_add.cpp",
    "tasks/openmp/race/ptracer_figure_1.cpp",
    "tasks/openmp/atomicity/cgo_figure_11.c",
    "race/after_the_lock.c",
    "race/two_locks.c",
    "race/heap_object.cpp",
    "race/copy_of_a_range.c",
    "race/write_under_shared_lock.cpp",
    "atomicity/account_transfer.cpp",
    "atomicity/nested_blocks.cpp",
    "atomicity/three_threads.cpp",
    "tasks/openmp/race/depend_in_and_write.c",
    "tasks/openmp/race/barrier_missing.c",
    "tasks/openmp/atomicity/parent_tears_its_task.c",
    "tasks/openmp/atomicity/transfer_in_sections.cpp",
    "tasks/tbb/race/arena_enqueue.cpp",
    "tasks/tbb/race/different_mutexes.cpp",
    "tasks/tbb/race/parallel_for_sum.cpp",
    "tasks/tbb/atomicity/read_write_write.cpp",
];

/// So many of them are taken in the short mode.
const SHORT: usize = 4;

#[test]
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn findings_are_confirmed() {
    let programs = if number("KEIRIN_PROGRAM_RUNS", 1) > 1 { &PROGRAMS[..] } else { &PROGRAMS[..SHORT] };
    let mut table = String::from("| program | finding | outcome | try |\n|---|---|---|---|\n");
    let mut confirmed = 0;
    for name in programs {
        let source = build::sources(&Path::new(name).parent().expect("a folder").to_string_lossy());
        let source = source.into_iter().find(|source| build::name(source) == Path::new(name));
        let source = source.unwrap_or_else(|| panic!("there is no {name}"));
        let program = build::program(&source, Compiler::Gcc).expect(name).expect("gcc can build it");
        let result = confirm(&program);
        let text = |key: &str| result[key].as_str().unwrap_or("").replace('|', "/");
        let attempt = result["try"].as_u64().map_or(String::new(), |attempt| attempt.to_string());
        let _ = writeln!(table, "| {name} | {} | {} | {attempt} |", text("title"), text("outcome"));
        confirmed += usize::from(result["outcome"] == "confirmed");
    }
    println!("{table}\n{confirmed} of {} are confirmed within ten tries", programs.len());
    // A machine that does not get to run two threads at once for seconds may miss one.
    assert!(confirmed + programs.len() / 10 >= programs.len(), "{table}");
}

/// What has come of the first finding of a program.
fn confirm(program: &Program) -> serde_json::Value {
    let folder = run::scratch();
    let mut command = Command::new(KEIRIN);
    command.args(["confirm", "1", "--tries", "10", "--format", "json", "--output", "outcome.json"]);
    if program.directives.needs.is_some() {
        command.args(["--analysis", run::TASK_ANALYSES]).env("OMP_NUM_THREADS", "2");
    }
    command.args(options(program)).arg("--").arg(&program.executable).args(&program.arguments);
    let output =
        command.env_remove("KEIRIN_OPTIONS").current_dir(folder.path()).stdin(Stdio::null()).output();
    let said = format!("{:?}", output.expect("keirin can be run"));
    let outcome = std::fs::read_to_string(folder.path().join("outcome.json"));
    let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}: {said}", program.executable.display()));
    let outcome: serde_json::Value = serde_json::from_str(&outcome).expect("it is JSON");
    outcome["results"][0].clone()
}
