//! Traces that cannot be written, or not to their end.

use crate::support::{FINDINGS, Run, folder, keirin_in, privileged, program, shell, start};
use std::path::Path;
use std::process::Command;

const CHECK: [&str; 4] = ["check", "--analysis", "fasttrack", "run.ktrace"];

#[track_caller]
fn record(folder: &Path, program: &Path, arguments: &[&str]) -> Run {
    let program = program.to_str().unwrap();
    keirin_in(folder, &[&["record", "-o", "run.ktrace", "--", program][..], arguments].concat())
}

/// The one race is found in the trace.
#[track_caller]
fn check(folder: &Path) -> Run {
    let run = keirin_in(folder, &CHECK);
    assert_eq!(run.code, FINDINGS, "{run:#?}");
    run.says("data race");
    assert_eq!(run.said.matches("error[").count(), 1, "{run:#?}");
    run
}

#[test]
fn a_trace_shows_what_the_run_shows() {
    let ends = program("ends.c");
    for (how, code, out) in
        [("return", 0, "raced\nhandler\n"), ("_exit", 7, "raced\n"), ("thread", 7, "raced\nhandler\n")]
    {
        let folder = folder();
        record(folder.path(), &ends, &[how]).ended(code, out);
        check(folder.path()).never_says("incomplete");
    }
}

#[test]
fn a_trace_is_of_use_after_a_crash() {
    let ends = program("ends.c");
    for (how, code) in [("kill", 137), ("segv", 139), ("abort", 134)] {
        let folder = folder();
        record(folder.path(), &ends, &[how]).ended(code, "raced\n").says("ended by signal");
        check(folder.path()).says("the trace is incomplete");
    }
}

#[test]
fn a_trace_is_of_use_after_keirin_was_killed() {
    let folder = folder();
    let mut command = Command::new(crate::support::KEIRIN);
    command.args(["record", "-o", "run.ktrace", "--"]).arg(program("ends.c")).arg("wait");
    command.current_dir(folder.path());
    let running = start(command);
    running.await_output("raced\n");
    // Both at the same time, as by the kernel when there is no memory.
    let group = format!("-{}", running.pid());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
    assert_eq!(running.finish().code, 137);
    check(folder.path()).says("the trace is incomplete");
}

#[test]
fn several_processes_do_not_write_into_one_trace() {
    let processes = program("processes.c");
    let path = processes.to_str().unwrap();
    for how in ["fork-both", "fork-and-exec", "spawn", "exec"] {
        let folder = folder();
        record(folder.path(), &processes, &[how, path]).ended(5, "child\n");
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), if how == "fork-both" { 1 } else { 2 }, "{how}: {names:?}");
        let mut races = 0;
        for name in &names {
            let run = keirin_in(folder.path(), &["check", "--analysis", "fasttrack", name]);
            assert!(run.code == 0 || run.code == FINDINGS, "{how}: {name}: {run:#?}");
            races += usize::from(run.code == FINDINGS);
        }
        assert_eq!(races, if how == "spawn" || how == "exec" { 2 } else { 1 }, "{how}");
    }
}

#[test]
fn what_cannot_be_written_is_told_before_the_program_runs() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("run.ktrace")).unwrap();
    let run = record(folder.path(), &program("ends.c"), &["clean"]);
    run.ended(3, "").says("it is a directory");
    let run = shell(&program("ends.c"), "$KEIRIN record -o /does/not/exist/x -- $PROGRAM clean");
    run.ended(3, "").says("there is no folder");
    let run = shell(&program("ends.c"), "$KEIRIN record -o /proc/x.ktrace -- $PROGRAM clean");
    // That is known only when it is tried.
    run.ended(3, "clean\n").says("cannot be written").says("the run is not recorded");
}

#[test]
fn a_limit_of_files_ends_the_trace_and_not_the_program() {
    let folder = folder();
    let run = shell(
        &program("memory.c"),
        &format!(
            "cd {}; (ulimit -f 16; exec $KEIRIN record -o run.ktrace -- $PROGRAM 3) | cat; exit ${{PIPESTATUS[0]}}",
            folder.path().display()
        ),
    );
    assert!(run.code == 3 && run.out.starts_with("right "), "{run:#?}");
    run.says("the trace ends early").own_status(3);
    let run = keirin_in(folder.path(), &CHECK);
    assert_eq!(run.code, 0, "{run:#?}");
    run.says("the trace is incomplete");
}

#[test]
fn a_file_system_without_room_ends_the_trace_and_not_the_program() {
    let folder = folder();
    // The mount is gone with its namespace.
    let line = format!(
        "cd {}; mkdir small; {} sh -c 'mount -t tmpfs -o size=32k none small || exit 77; \
         exec $KEIRIN record -o small/run.ktrace -- $PROGRAM 3'",
        folder.path().display(),
        privileged().join(" "),
    );
    let run = shell(&program("memory.c"), &line);
    assert!(run.code == 3 && run.out.starts_with("right "), "{run:#?}");
    run.says("the trace ends early: No space left").own_status(3);
}
