//! The ways in which a program ends.

use crate::support::{built, program, start, watch, watching};

#[test]
fn a_status_is_passed_on_unless_there_are_findings() {
    let ends = program("ends.c");
    watch(&ends, &["clean"]).ended(0, "clean\n").says("no findings");
    watch(&ends, &["clean", "3"]).ended(3, "clean\n").own_status(3);
    watch(&ends, &["clean", "66"]).ended(66, "clean\n").says("no findings").own_status(66);
    watch(&ends, &["return", "3"]).raced("raced\nhandler\n").own_status(3);
    watch(&ends, &["return"]).raced("raced\nhandler\n").never_says("exited with");
}

#[test]
fn crashes_lose_nothing_that_was_found() {
    for compiler in ["gcc", "clang-19"] {
        let ends = built("ends.c", compiler, &[]);
        for (how, signal) in [
            ("segv", "11 (SIGSEGV)"),
            ("abort", "6 (SIGABRT)"),
            ("assert", "6 (SIGABRT)"),
            ("kill", "9 (SIGKILL)"),
            ("term", "15 (SIGTERM)"),
        ] {
            watch(&ends, &[how]).raced("raced\n").says(&format!("the program was ended by signal {signal}"));
        }
        watch(&ends, &["assert"]).says("Assertion `argc == 1' failed");
    }
}

#[test]
fn a_crash_without_findings_has_its_own_status() {
    let ends = program("ends.c");
    let folder = crate::support::folder();
    let suppressions = folder.path().join("suppressions.toml");
    std::fs::write(&suppressions, "[[suppress]]\nvariable = \"shared\"\nreason = \"a test\"\n").unwrap();
    let options = ["--suppressions", suppressions.to_str().unwrap()];
    let run = start(watching(&options, &ends, &["segv"])).finish();
    run.ended(128 + 11, "raced\n").says("no findings");
}

#[test]
fn every_way_to_exit_is_seen() {
    for compiler in ["gcc", "clang-19"] {
        let ends = built("ends.c", compiler, &[]);
        for how in ["_exit", "_Exit"] {
            watch(&ends, &[how]).raced("raced\n").own_status(7).never_says("did not tell its end");
        }
        for how in ["quick_exit", "thread", "detached"] {
            watch(&ends, &[how]).raced("raced\nhandler\n").own_status(7).never_says("did not tell its end");
        }
        let run = watch(&ends, &["pthread_exit"]);
        run.raced("raced\nlast\nhandler\n").never_says("did not tell its end");
    }
}
