//! Great depths, great numbers, little room.

use crate::support::{built, program, watch};

#[test]
fn a_million_calls_deep() {
    watch(&program("stacks.c"), &["deep"]).raced("deep\n").own_status(3);
}

#[test]
fn calls_are_left_by_jumps_and_exceptions() {
    for compiler in ["gcc", "clang-19"] {
        watch(&built("stacks.c", compiler, &[]), &["jumps"]).raced("jumped\n").own_status(3);
        let run = watch(&built("callbacks.cpp", compiler, &[]), &[]);
        // The stack is as long as it is, in spite of thousands of calls that never returned.
        run.raced("caught\n").own_status(3).says("in race").never_says("in compare");
    }
}

#[test]
fn frames_of_any_size() {
    watch(&program("stacks.c"), &["sizes"]).raced("sized\n").own_status(3);
}

#[test]
fn a_small_stack_is_enough() {
    for compiler in ["gcc", "clang-19"] {
        let run = watch(&built("stacks.c", compiler, &[]), &["small"]);
        run.raced("").own_status(3).says("bytes were used");
    }
}

#[test]
fn locks_come_and_go() {
    let objects = program("objects.c");
    watch(&objects, &["mutexes"]).raced("all\n").own_status(3).says("10,000 locks");
    watch(&objects, &["unlocked-by-another"]).ended(3, "all\n").says("no findings");
}

#[test]
fn libraries_come_and_go() {
    let library = built("objects_plugin.c", "gcc", &["-shared", "-fPIC"]);
    let run = watch(&program("objects.c"), &["libraries", library.to_str().unwrap()]);
    run.raced("all\n").own_status(3);
}

#[test]
fn more_threads_than_can_be_told_apart() {
    let objects = program("objects.c");
    let run = watch(&objects, &["unjoined"]);
    run.ended(3, "").says("no findings").says("threads cannot be told from others that had ended");
    let run = watch(&objects, &["alive", "2200"]);
    run.ended(3, "all\n").says("no findings").says("threads were not watched, because there were too many");
}
