//! Memory that is limited, used up or not where keirin needs it.

use crate::support::{built, program, shell, start, watch, watching};
use std::process::Command;

#[test]
fn limits_that_the_program_sets_for_itself_hold_for_it_alone() {
    let surroundings = program("surroundings.c");
    for how in ["limit-data", "limit-space"] {
        // It gets a little, not too much, and sees the limit that it has set.
        watch(&surroundings, &[how]).raced("").own_status(7);
    }
}

#[test]
fn a_request_that_fails_fails_as_usual() {
    watch(&program("surroundings.c"), &["huge"]).raced("").own_status(3);
}

#[test]
fn a_program_without_any_memory_goes_on_unwatched() {
    let run = watch(&program("surroundings.c"), &["no-memory-at-all"]);
    run.raced("no memory\n").own_status(3).says("memory was used up");
}

#[test]
fn the_memory_of_the_runtime_is_bounded() {
    let memory = program("memory.c");
    let run = start(watching(&["--memory-cap", "16M"], &memory, &["100"])).finish();
    assert_eq!(run.code, 3, "{run:#?}");
    run.says("accesses were not looked at: the memory for them (--memory-cap) is used up");
    let words: Vec<&str> = run.out.split_whitespace().collect();
    let megabytes: u64 = words[1].parse().unwrap();
    // The program has 100, the shadow 16; the rest is for everything else.
    assert!(words[0] == "right" && megabytes < 100 + 16 + 40, "{run:#?}");
}

#[test]
fn addresses_that_cannot_be_had_are_told() {
    // The usual start files are not made for such a place.
    let start_file = |name: &str| {
        let output = Command::new("gcc").arg(format!("-print-file-name={name}")).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let files = ["Scrt1.o", "crti.o", "crtbeginS.o", "crtendS.o", "crtn.o"].map(start_file);
    let place = "-Wl,--no-relax,-Ttext-segment=0x200000000000";
    let mut flags = vec!["-fPIC", "-no-pie", "-nostartfiles", place];
    flags.extend(files.iter().map(String::as_str));
    let clash = built("ends.c", "gcc", &flags);
    let run = watch(&clash, &["return", "3"]);
    run.ended(3, "raced\nhandler\n").says("addresses that keirin needs are taken").says("runs unwatched");
    run.never_says("did not tell its end");
    let low = built("ends.c", "gcc", &["-no-pie"]);
    watch(&low, &["return", "3"]).raced("raced\nhandler\n").own_status(3);
}

#[test]
fn a_runtime_that_is_told_nonsense_lets_the_program_run() {
    let ends = program("ends.c");
    let folder = crate::support::folder();
    let findings = folder.path().join("f");
    for value in [
        "nonsense".to_owned(),
        "=;=;;%%%;%zz=%".to_owned(),
        "findings=".to_owned(),
        "findings=/does/not/exist/f".to_owned(),
        format!("findings={};memory-cap=x;new-option=3;analysis=new;reexec=1", findings.display()),
        format!("findings={};record=/does/not/exist/trace;adversarial=", findings.display()),
    ] {
        let empty = crate::support::folder();
        let line = format!("cd {}; KEIRIN_RUNTIME='{value}' exec $PROGRAM return 3", empty.path().display());
        let run = shell(&ends, &line);
        assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0, "{value}");
        assert_eq!((run.code, &*run.out, &*run.said), (3, "raced\nhandler\n", "raced handler"), "{value}");
    }
}
