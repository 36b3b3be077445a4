//! OpenMP programs: what they tell of their tasks, with several compilers and teams of several sizes, again and again.
//!
//! The programs are in `tests/programs/tasks/openmp-structure`. Comments at the top of each say what must come out:
//!
//! - `finds:` the variables with data races in some schedule, or `nothing`;
//! - `spawns: A + B threads`, `finishes:`, `waits:`, `joins:`, `orders:` how often these are in the trace;
//! - `gcc: one phase less`: gcc drops the barrier at the end of `single` where the region ends as well;
//! - `variable: NAME=VALUE` for the environment, `compilers:` if not all can compile it.

use crate::support::{Run, Sandbox};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const COMPILERS: [&str; 2] = ["clang-19", "gcc"];
const TEAMS: [u64; 2] = [2, 4];

/// How often each program runs with each team; `./test --long` does so more often.
fn runs() -> usize {
    let number = std::env::var("KEIRIN_PROGRAM_RUNS").ok().and_then(|number| number.parse().ok());
    number.unwrap_or(1)
}

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/tasks/openmp-structure");
    let mut programs: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.sort();
    programs
}

/// The directives of a program.
struct Expected(String);

impl Expected {
    fn get(&self, key: &str) -> Option<&str> {
        let start = format!("// {key}: ");
        self.0.lines().find_map(|line| line.strip_prefix(&start))
    }

    /// How often something is in the trace of a run with so many threads.
    fn number(&self, key: &str, compiler: &str, threads: u64) -> Option<u64> {
        let text = self.get(key)?.trim_end_matches(" threads");
        let (fixed, each) = text.split_once(" + ").unwrap_or((text, "0"));
        let number = fixed.parse::<u64>().unwrap() + threads * each.parse::<u64>().unwrap();
        let one_less = compiler == "gcc" && self.get("gcc").is_some();
        Some(match key {
            "spawns" if one_less => number - threads,
            "finishes" if one_less => number - 1,
            _ => number,
        })
    }

    fn finds(&self) -> BTreeSet<String> {
        let names = self.get("finds").expect("a program says what is found in it");
        if names == "nothing" { BTreeSet::new() } else { names.split(", ").map(str::to_owned).collect() }
    }
}

/// The variables with findings.
fn found(run: &Run) -> BTreeSet<String> {
    let variables = run.out.lines().filter_map(|line| line.split_once("data race on `"));
    // A part of a variable is the variable.
    let end = |name: &str| name.find(['`', '+', '[']).unwrap_or(name.len());
    variables
        .filter(|(start, _)| start.ends_with("[data-race]: "))
        .map(|(_, name)| name[..end(name)].to_owned())
        .collect()
}

fn check(sandbox: &Sandbox, expected: &Expected, program: &Path, compiler: &str, threads: u64) {
    let what = format!("{}, {compiler}, {threads} threads", program.display());
    let run = sandbox.keirin("check --analysis ptracer run.ktrace");
    assert_eq!(found(&run), expected.finds(), "{what}\n{}{}", run.out, run.err);
    let text = sandbox.keirin("convert --to std run.ktrace").exits(0).out;
    let count = |op: &str| text.lines().filter(|line| line.contains(op)).count() as u64;
    assert_eq!(count("|finish_begin|"), count("|finish_end|"), "{what}");
    assert_eq!(count("|spawn("), count("|task_end("), "{what}");
    for (key, op) in [
        ("spawns", "|spawn("),
        ("finishes", "|finish_begin|"),
        ("waits", "|task_wait|"),
        ("joins", "|task_join("),
        ("orders", "|task_order("),
    ] {
        if let Some(number) = expected.number(key, compiler, threads) {
            assert_eq!(count(op), number, "{what}: {key}");
        }
    }
}

#[track_caller]
fn run_all(compiler: &str) {
    for program in programs() {
        let expected = Expected(std::fs::read_to_string(&program).unwrap());
        if expected.get("compilers").is_some_and(|names| !names.split(", ").any(|name| name == compiler)) {
            continue;
        }
        let sandbox = Sandbox::new();
        let file = program.display();
        sandbox.succeeds(&format!("keirin cc --cc {compiler} -O1 -fopenmp -w -o program {file}"));
        for threads in TEAMS {
            for _ in 0..runs() {
                let variable = expected.get("variable").unwrap_or("NOTHING=").split_once('=').unwrap();
                let number = threads.to_string();
                let variables = [variable, ("OMP_NUM_THREADS", &number)];
                sandbox.keirin_with("record -o run.ktrace -- ./program", &variables).exits(0);
                check(&sandbox, &expected, &program, compiler, threads);
            }
        }
    }
}

#[test]
fn programs_compiled_by_clang() {
    run_all(COMPILERS[0]);
}

#[test]
fn programs_compiled_by_gcc() {
    run_all(COMPILERS[1]);
}

const TASKS: &str = "int x;\nint main(void) {\n#pragma omp parallel\n#pragma omp single\n{\n#pragma omp task\nx = 1;\n\
                     #pragma omp task\nx = 2;\n}\nreturn 0; }\n";

#[test]
fn one_thread_is_told() {
    for compiler in COMPILERS {
        let sandbox = Sandbox::new();
        sandbox.write("tasks.c", TASKS);
        sandbox.succeeds(&format!("keirin cc --cc {compiler} -fopenmp -o tasks tasks.c"));
        let run =
            sandbox.keirin_with("record -o run.ktrace -- ./tasks", &[("OMP_NUM_THREADS", "1")]).exits(0);
        assert!(run.err.contains("note: OMP_NUM_THREADS=1: with one thread"), "{compiler}: {run:?}");
        let run =
            sandbox.keirin_with("record -o run.ktrace -- ./tasks", &[("OMP_NUM_THREADS", "2")]).exits(0);
        assert!(!run.err.contains("note"), "{compiler}: {run:?}");
    }
}

#[test]
fn what_gcc_has_linked_runs_on_the_other_runtime() {
    let sandbox = Sandbox::new();
    sandbox.write("tasks.c", TASKS);
    sandbox.succeeds(
        "keirin cc --cc gcc -g -fopenmp -c tasks.c && gcc -fopenmp -fsanitize=thread -o tasks tasks.o",
    );
    assert!(sandbox.succeeds("readelf -d tasks").contains("libgomp.so.1"));
    sandbox.keirin_with("record -o run.ktrace -- ./tasks", &[("OMP_NUM_THREADS", "2")]).exits(0);
    let run = sandbox.keirin("check --analysis ptracer run.ktrace").exits(66);
    assert_eq!(found(&run), BTreeSet::from(["x".to_owned()]), "{run:?}");
}

#[test]
fn steps_of_a_build_may_be_apart() {
    let sandbox = Sandbox::new();
    sandbox.write("tasks.c", TASKS);
    let said = sandbox.succeeds(
        "keirin cc --cc gcc -fopenmp -c tasks.c && keirin cc --cc gcc -o by_flag tasks.o -fopenmp && \
         keirin cc --cc gcc -o by_name tasks.o -lgomp && for file in by_flag by_name; do readelf -d $file; ./$file; done",
    );
    assert_eq!(said.matches("libomp.so.5").count(), 2, "{said}");
    assert!(!said.contains("libgomp"), "{said}");
}

#[test]
fn a_program_with_tasks_that_is_examined_is_recorded_and_checked_after_its_end() {
    let sandbox = Sandbox::new();
    sandbox.write("tasks.c", TASKS.replace("return 0;", "return x == 0;"));
    sandbox.folder("tmp");
    sandbox.succeeds("keirin cc --cc gcc -g -fopenmp -o tasks tasks.c");
    let folder = sandbox.path("tmp").display().to_string();
    let variables = [("OMP_NUM_THREADS", "2"), ("TMPDIR", folder.as_str())];
    let run = sandbox.keirin_with("run --examine -- ./tasks", &variables).exits(66);
    assert!(run.err.contains("data race on `x`") && run.err.contains(" by ptracer"), "{run:?}");
    assert!(run.out.is_empty(), "{run:?}");
    assert_eq!(std::fs::read_dir(sandbox.path("tmp")).unwrap().count(), 0);
    // What is asked for is kept; what the program returns is passed on if nothing is found.
    let run = sandbox.keirin_with("run --record run.ktrace --analysis spd3 -- ./tasks", &variables).exits(66);
    assert!(run.err.contains("next: keirin check run.ktrace"), "{run:?}");
    sandbox.keirin("check --analysis ptracer run.ktrace").exits(66);
    sandbox.write("serial.c", "int main(void) { return 3; }\n");
    sandbox.succeeds("keirin cc --cc gcc -g -fopenmp -o serial serial.c");
    let run = sandbox.keirin_with("run --examine -- ./serial", &variables).exits(3);
    assert!(run.err.contains("nothing was recorded") && run.err.contains("no findings"), "{run:?}");
    assert!(run.err.contains("the run had no tasks"), "{run:?}");
}
