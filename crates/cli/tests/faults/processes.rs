//! Forks and other programs.

use crate::support::{program, watch};

#[test]
fn a_child_of_one_thread_is_watched() {
    let processes = program("processes.c");
    let run = watch(&processes, &["fork"]);
    run.raced("child\n").own_status(5).says("in 2 processes").never_says("did not tell its end");
    let run = watch(&processes, &["fork-both"]);
    run.raced("child\n").own_status(5).says("in 2 processes").never_says("did not tell its end");
    watch(&processes, &["many"]).raced("").says("in 21 processes").never_says("did not tell its end");
}

#[test]
fn a_child_of_several_threads_is_not_watched_and_that_is_told() {
    let processes = program("processes.c");
    let run = watch(&processes, &["fork-of-many"]);
    run.raced("child\n").own_status(5).says("forked from one with several threads; it is not watched");
    run.never_says("did not tell its end");
}

#[test]
fn another_program_that_is_instrumented_is_watched() {
    let processes = program("processes.c");
    let path = processes.to_str().unwrap();
    for (how, count) in
        [("fork-and-exec", 3), ("fork-of-many-and-exec", 3), ("vfork", 3), ("exec", 2), ("spawn", 2)]
    {
        let run = watch(&processes, &[how, path]);
        run.raced("child\n").own_status(5).says(&format!("in {count} processes"));
        run.never_says("did not tell its end");
    }
}

#[test]
fn another_program_that_is_not_instrumented_just_runs() {
    let processes = program("processes.c");
    watch(&processes, &["exec-of-a-stranger"]).raced("").never_says("exited with").never_says("did not tell");
    watch(&processes, &["spawn-of-a-stranger"]).raced("").never_says("exited with");
    watch(&processes, &["system"]).raced("shell\n").own_status(3);
}

#[test]
fn a_program_that_cannot_become_another_one_goes_on() {
    watch(&program("processes.c"), &["failed-exec"]).raced("not found\n").never_says("did not tell its end");
}
