//! Where results go, and what happens if they cannot.

use crate::support::{CLEAN, Failures, SET_ADD, Sandbox};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};

#[test]
fn a_report_goes_to_a_file_and_the_summary_is_still_told() {
    let sandbox = Sandbox::new();
    let shown = sandbox.keirin(&format!("check {SET_ADD}")).exits(66).out;
    let run = sandbox.keirin(&format!("check {SET_ADD} -o report.txt")).exits(66);
    assert_eq!(run.out, "");
    assert_eq!(sandbox.text("report.txt"), shown);
    assert!(run.message().starts_with("keirin: 1 finding in 16 events"), "{run:?}");
    let mode = std::fs::metadata(sandbox.path("report.txt")).unwrap().permissions().mode();
    assert_ne!(mode & 0o040, 0, "others of the group may read it, as the umask usually says: {mode:o}");
    let run = sandbox.keirin(&format!("check {SET_ADD} -o -")).exits(66);
    assert_eq!(run.out, shown, "- is standard output");
    assert!(!sandbox.path("-").exists());
}

#[test]
fn an_output_that_cannot_be_written_is_told_and_nothing_is_left() {
    let sandbox = Sandbox::new();
    sandbox.folder("folder");
    std::os::unix::fs::symlink("circle", sandbox.path("circle")).unwrap();
    let before = sandbox.files();
    let mut failures = Failures::default();
    for output in ["no/such/folder", "folder", "set_add.std/x", "circle"] {
        for command in ["check set_add.std", "demo", "convert set_add.std", "gen", "stats set_add.std"] {
            let run = sandbox.keirin(&format!("{command} -o {output}")).exits(3);
            if command.starts_with("check") {
                failures.add(&sandbox, &format!("{command} -o {output}"), &run);
            }
            assert!(run.message().contains("cannot write"), "{run:?}");
        }
    }
    for baseline in ["no/such/folder", "folder"] {
        let run = sandbox.keirin(&format!("check {SET_ADD} --write-baseline {baseline}")).exits(3);
        failures.add(&sandbox, &format!("--write-baseline {baseline}"), &run);
    }
    insta::assert_snapshot!(failures.text());
    assert_eq!(sandbox.files(), before);
}

#[test]
fn an_empty_name_is_a_mistake() {
    let sandbox = Sandbox::new();
    let run = sandbox.shell(&format!("exec \"$KEIRIN\" check {SET_ADD} -o ''")).exits(2);
    assert_eq!(run.message(), "keirin: error: --output: the name is empty");
}

#[test]
fn a_failed_check_keeps_the_old_report() {
    let sandbox = Sandbox::new();
    sandbox.write("report", "what was there");
    let before = sandbox.files();
    sandbox.keirin("check missing -o report").exits(3);
    assert_eq!(sandbox.text("report"), "what was there");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let sandbox = Sandbox::new();
    sandbox.folder("folder");
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, sandbox.path(name)).unwrap();
    link("folder/report", "first");
    link("first", "second");
    for _ in 0..2 {
        sandbox.keirin(&format!("check {CLEAN} -o second")).exits(0);
        assert!(sandbox.text("folder/report").contains("no findings"));
        for name in ["first", "second"] {
            assert!(std::fs::symlink_metadata(sandbox.path(name)).unwrap().is_symlink(), "{name}");
        }
    }
}

#[test]
fn a_pipe_is_written_to_and_stays_a_pipe() {
    let sandbox = Sandbox::new();
    let script = format!(
        "mkfifo pipe; cat pipe > got & \"$KEIRIN\" check {SET_ADD} -o pipe; code=$?; wait; exit $code"
    );
    sandbox.shell(&script).exits(66);
    assert_eq!(sandbox.text("got"), sandbox.keirin(&format!("check {SET_ADD}")).out);
    assert!(std::fs::symlink_metadata(sandbox.path("pipe")).unwrap().file_type().is_fifo());
}

#[test]
fn a_terminal_or_pipe_behind_a_device_name_is_written_to() {
    let sandbox = Sandbox::new();
    // The links in /proc belong to the process alone: unlike those in /dev, no mistake of ours can replace them.
    let run = sandbox.shell(&format!("\"$KEIRIN\" check {SET_ADD} -o /proc/self/fd/1 | cat")).exits(0);
    assert_eq!(run.out, sandbox.keirin(&format!("check {SET_ADD}")).out);
}

#[test]
fn a_full_disk_is_told() {
    let sandbox = Sandbox::new();
    let commands = [
        "check set_add.std",
        "check set_add.std --format json",
        "check set_add.std --format sarif",
        "check set_add.std --format dot",
        "demo",
        "convert set_add.std",
        "convert set_add.std --to ktrace",
        "gen",
        "stats set_add.std",
        "explain",
        "completions bash",
        "--help",
        "--version",
    ];
    for command in commands {
        let run = sandbox.shell(&format!("exec \"$KEIRIN\" {command} > /dev/full")).exits(3);
        let message = run.message();
        assert!(message.starts_with("keirin: error: "), "{command}: {run:?}");
        assert!(message.contains("cannot write") && message.contains("No space left on device"), "{run:?}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let sandbox = Sandbox::new();
    sandbox.keirin("gen --events 20000 --violations 0.1 -o torn.std").exits(0);
    let commands = [
        ("check torn.std", 66),
        ("check torn.std --format json", 66),
        ("demo", 0),
        ("convert torn.std", 0),
        ("convert torn.std --to ktrace", 0),
        // So many events that it would not end if it went on writing for nobody.
        ("gen --events 1_000_000_000_000", 0),
        ("stats set_add.std", 0),
        ("explain", 0),
        ("completions bash", 0),
        ("--help", 0),
    ];
    for (command, code) in commands {
        let script = format!(
            "{{ \"$KEIRIN\" {command}; echo $? > code; }} | head -c 1 > /dev/null; cat code; rm code"
        );
        let run = sandbox.shell(&script).exits(0);
        assert_eq!(run.out.trim(), code.to_string(), "{command}: {run:?}");
        assert!(!run.err.contains("error"), "{command}: {run:?}");
    }
}

#[test]
fn closed_standard_streams_are_no_crash() {
    let sandbox = Sandbox::new();
    sandbox.shell(&format!("exec \"$KEIRIN\" check {SET_ADD} >&-")).exits(66);
    sandbox.shell(&format!("exec \"$KEIRIN\" check {SET_ADD} 2>&-")).exits(66);
    sandbox.shell("exec \"$KEIRIN\" check missing 2>&-").exits(3);
    sandbox.shell("exec \"$KEIRIN\" check missing 2>/dev/full").exits(3);
    sandbox.shell("exec \"$KEIRIN\" check - <&-").exits(3);
}
