//! Flags, variables and files that keirin cannot follow: exit code 2 and one message.

use crate::support::{Failures, SET_ADD, Sandbox};
use std::os::unix::ffi::OsStrExt;

#[test]
fn suppression_files_that_are_wrong() {
    let sandbox = Sandbox::new();
    sandbox.folder("folder");
    sandbox.write("huge", vec![b'#'; 17 << 20]);
    sandbox.write("noise", [0xFF, 0xFE, 0x00, 0x01]);
    let files = [
        ("pattern", "[[suppress]]\nregion = 'a\\'\nreason = \"x\"\n"),
        ("empty-pattern", "[[suppress]]\nregion = \"\"\nreason = \"x\"\n"),
        ("reason", "\n[[suppress]]\nregion = \"a\"\n"),
        ("key", "\n[[suppress]]\nregoin = \"a\"\nreason = \"x\"\n"),
        ("table", "[[supress]]\nregion = \"a\"\nreason = \"x\"\n"),
        ("everything", "[[suppress]]\nreason = \"x\"\n"),
        ("rule", "[[suppress]]\nregion = \"a\"\nrule = \"data-rice\"\nreason = \"x\"\n"),
        ("date", "[[suppress]]\nregion = \"a\"\nreason = \"x\"\nexpires = \"soon\"\n"),
        ("type", "[[suppress]]\nregion = 3\nreason = \"x\"\n"),
        ("syntax", "# fine\n[[suppress\n"),
    ];
    let mut failures = Failures::default();
    for (name, text) in files {
        sandbox.write(name, text);
    }
    let others = ["missing", "folder", "huge", "noise", "/dev/zero"];
    for name in files.iter().map(|file| file.0).chain(others) {
        let run = sandbox.keirin_bounded(&format!("check {SET_ADD} --suppressions {name}")).exits(2);
        failures.add(&sandbox, name, &run);
    }
    insta::assert_snapshot!(failures.text());
}

#[test]
fn baselines_that_are_wrong() {
    let sandbox = Sandbox::new();
    sandbox.folder("folder");
    sandbox.write("huge", vec![b' '; 17 << 20]);
    sandbox.write("noise", [0xFF, 0xFE, 0x00, 0x01]);
    sandbox.write("empty", "");
    sandbox.write("text", "hello\n");
    sandbox.write("future", "{\"schema\": \"keirin-baseline/9\"}\n");
    sandbox.write("other", "{\"schema\": \"keirin-report/1\"}\n");
    sandbox.write("deep", "[".repeat(1 << 20));
    let mut failures = Failures::default();
    for name in
        ["empty", "text", "future", "other", "deep", "noise", "huge", "folder", "missing", "/dev/zero"]
    {
        let run = sandbox.keirin_bounded(&format!("check {SET_ADD} --baseline {name}")).exits(2);
        failures.add(&sandbox, name, &run);
    }
    insta::assert_snapshot!(failures.text());
}

#[test]
fn configurations_that_are_wrong() {
    let sandbox = Sandbox::new();
    let mut failures = Failures::default();
    let texts = [
        "\n\nmax-per-sight = 3\n",
        "unrelated = 1\n",
        "lenient = true\nformat = \"xml\"\n",
        "max-per-site = -1\n",
        "max-per-site = \"many\"\n",
        "max-per-site = [1, 2]\n",
        "lenient = \"perhaps\"\n",
        "lenient = 2020-01-01\n",
        "baseline = \"\"\n",
        "# fine\nformat = \n",
        "[check]\nformat = \"json\"\n",
        "lenient = true\nlenient = true\n",
    ];
    for text in texts {
        sandbox.write("keirin.toml", text);
        // Also for options of other commands: a mistake should be noticed before it matters.
        let run = sandbox.keirin(&format!("stats {SET_ADD}")).exits(2);
        failures.add(&sandbox, &format!("{text:?}"), &run);
    }
    sandbox.write("keirin.toml", [0xFF, 0xFE]);
    failures.add(&sandbox, "not UTF-8", &sandbox.keirin("demo").exits(2));
    sandbox.write("keirin.toml", vec![b'#'; 2 << 20]);
    failures.add(&sandbox, "huge", &sandbox.keirin("demo").exits(2));
    std::fs::remove_file(sandbox.path("keirin.toml")).unwrap();
    std::os::unix::fs::symlink("nowhere", sandbox.path("keirin.toml")).unwrap();
    failures.add(&sandbox, "a link to nowhere", &sandbox.keirin("demo").exits(2));
    std::fs::remove_file(sandbox.path("keirin.toml")).unwrap();
    sandbox.folder("keirin.toml");
    failures.add(&sandbox, "a folder", &sandbox.keirin("demo").exits(2));
    insta::assert_snapshot!(failures.text());
}

#[test]
fn variables_that_are_wrong() {
    let sandbox = Sandbox::new();
    let mut failures = Failures::default();
    let texts = [
        "lenent",
        "max-per-site",
        "baseline",
        "max-per-site=",
        "max-per-site=x",
        "max-per-site=99999999999999999999",
        "format=xml",
        "output=",
        "format='json",
        "=",
        "--lenient",
    ];
    for text in texts {
        let run = sandbox.keirin_with(&format!("check {SET_ADD}"), &[("KEIRIN_OPTIONS", text)]).exits(2);
        failures.add(&sandbox, text, &run);
    }
    insta::assert_snapshot!(failures.text());
    let mut command = sandbox.command(crate::support::KEIRIN);
    command.arg("demo").env("KEIRIN_OPTIONS", std::ffi::OsStr::from_bytes(b"\xFF"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "keirin: error: KEIRIN_OPTIONS is not valid UTF-8\n");
}

#[test]
fn flags_that_are_wrong() {
    let sandbox = Sandbox::new();
    let mut failures = Failures::default();
    let flags = [
        "--analysis nonsense",
        "--algorithm nonsense",
        "--format xml",
        "--color sometimes",
        "--progress perhaps",
        "--max-per-site -1",
        "--max-per-site many",
        "--max-per-site 99999999999999999999",
        "--no-merge",
    ];
    for flag in flags {
        failures.add(&sandbox, flag, &sandbox.keirin(&format!("check {SET_ADD} {flag}")).exits(2));
    }
    insta::assert_snapshot!(failures.text());
    for (arguments, told) in [
        ("check t --frmat json", "a similar argument exists: '--format'"),
        ("chekc t", "a similar subcommand exists: 'check'"),
        ("check t --lenient=maybe", "unexpected value 'maybe'"),
        ("check t --format", "a value is required"),
        ("demo --baseline x", "unexpected argument '--baseline'"),
        ("convert a b", "unexpected argument 'b'"),
        ("completions cobol", "invalid value 'cobol'"),
        ("", "Usage: keirin <COMMAND>"),
    ] {
        let run = sandbox.keirin(arguments).exits(2);
        assert!(run.err.contains(told) && run.out.is_empty(), "{arguments}: {run:?}");
    }
}

#[test]
fn nonsense_numbers_for_the_generator() {
    let sandbox = Sandbox::new();
    let mut failures = Failures::default();
    let flags = [
        "--threads 0",
        "--threads 99999999",
        "--threads 5000000000",
        "--locks 0",
        "--variables 0",
        "--region-length 0",
        "--family mutual --threads 60000 --variables 3",
        "--family mutual --region-length 4000000000",
        "--events x",
        "--events -5",
        "--events 1e6",
        "--violations 2",
        "--violations -1",
        "--violations nan",
        "--seed -1",
        "--family nonsense",
        "--tasks 5",
        "--depth 5",
        "--discipline nested",
        "--family task-loop --depth 5",
        "--family task-loop --tasks 0",
        "--family task-loop --tasks 3000",
        "--family task-loop --tasks 5000000000",
        "--family task-tree --tasks 5",
        "--family task-tree --depth 0",
        "--family task-tree --depth 15",
        "--family task-tree --depth 30",
        "--family task-tree --discipline chaos",
        "--family task-tree --discipline any-order --locks 1",
        "--family task-nested --variables 5",
        "--family task-nested --locks 0",
        "--family task-nested --threads 0",
        "--to xml",
    ];
    for flag in flags {
        failures.add(&sandbox, flag, &sandbox.keirin(&format!("gen {flag} -o made")).exits(2));
    }
    insta::assert_snapshot!(failures.text());
    assert!(!sandbox.path("made").exists());
}
