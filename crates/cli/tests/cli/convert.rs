//! `convert`, `gen` and `stats`.

use crate::support::{SET_ADD, Sandbox};

const FAMILIES: [&str; 6] =
    ["few-threads", "many-threads", "open-transaction", "mutual", "unlocked", "mixed"];
const TASK_FAMILIES: [&str; 3] = ["task-loop", "task-tree", "task-nested"];

/// FNV-1a, good enough to see that bytes have changed.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn text_survives_the_way_through_the_native_format() {
    let sandbox = Sandbox::new();
    for family in FAMILIES.into_iter().chain(TASK_FAMILIES) {
        let plan = format!("gen --family {family} --events 5000 --violations 0.05 --seed 7");
        let text = sandbox.keirin(&plan).exits(0).out;
        sandbox.write("a.std", &text);
        sandbox.keirin("convert a.std -o b.ktrace").exits(0);
        assert!(sandbox.read("b.ktrace").starts_with(b"\x89KTRC"), "the name chooses the format");
        assert_eq!(sandbox.keirin("convert b.ktrace").exits(0).out, text, "{family}");
        sandbox.keirin("convert b.ktrace --to std -o c.ktrace").exits(0);
        assert_eq!(sandbox.text("c.ktrace"), text, "{family}: the flag wins over the name");
        // Through standard input and output, too.
        let script = format!("\"$KEIRIN\" {plan} --to ktrace | \"$KEIRIN\" convert - --to std");
        assert_eq!(sandbox.shell(&script).exits(0).out, text, "{family}");
    }
}

#[test]
fn a_file_can_be_converted_in_place() {
    let sandbox = Sandbox::new();
    sandbox.keirin(&format!("convert {SET_ADD} -o once.std")).exits(0);
    let text = sandbox.text("once.std");
    sandbox.write("same.std", &text);
    sandbox.keirin("convert same.std --to ktrace -o same.std").exits(0);
    assert!(sandbox.read("same.std").starts_with(b"\x89KTRC"));
    sandbox.keirin("convert same.std --to std -o same.std").exits(0);
    assert_eq!(sandbox.text("same.std"), text);
}

#[test]
fn a_failed_conversion_leaves_nothing_and_keeps_what_was_there() {
    let sandbox = Sandbox::new();
    // Good for long enough that something has been written before the bad line.
    let text = "T1|r(x)|a:1\n".repeat(200_000) + "T1|zap(x)|a:1\n";
    sandbox.write("bad.std", text);
    sandbox.write("old", "what was there");
    let before = sandbox.files();
    for format in ["std", "ktrace"] {
        sandbox.keirin(&format!("convert bad.std --to {format} -o new")).exits(3);
        sandbox.keirin(&format!("convert bad.std --to {format} -o old")).exits(3);
    }
    assert_eq!(sandbox.files(), before);
    assert_eq!(sandbox.text("old"), "what was there");
}

#[test]
fn generated_traces_are_reproducible() {
    let sandbox = Sandbox::new();
    let mut digests = String::new();
    for family in FAMILIES.into_iter().chain(TASK_FAMILIES) {
        for format in ["std", "ktrace"] {
            let plan =
                format!("gen --family {family} --events 3000 --violations 0.1 --seed 42 --to {format}");
            sandbox.keirin(&format!("{plan} -o a")).exits(0);
            sandbox.keirin(&format!("{plan} -o b")).exits(0);
            assert_eq!(sandbox.read("a"), sandbox.read("b"), "{plan}");
            digests += &format!("{family} {format}: {:016x}\n", digest(&sandbox.read("a")));
        }
        let other = format!("gen --family {family} --events 3000 --violations 0.1 --seed 43 -o c");
        sandbox.keirin(&other).exits(0);
        assert_ne!(sandbox.keirin("convert b").exits(0).out, sandbox.text("c"), "the seed has no effect");
    }
    // Pinned: published measurements name a family and a seed.
    insta::assert_snapshot!(digests);
}

#[test]
fn generated_traces_have_findings_as_asked() {
    let sandbox = Sandbox::new();
    for family in FAMILIES {
        let plan = format!("gen --family {family} --events 20000");
        sandbox.keirin(&format!("{plan} -o clean")).exits(0);
        sandbox.keirin("check clean").exits(0);
        sandbox.keirin(&format!("{plan} --region-length 20 --violations 0.5 -o torn")).exits(0);
        sandbox.keirin("check torn").exits(66);
    }
}

#[test]
fn stats_tell_what_a_trace_holds() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("stats", sandbox.keirin(&format!("stats {SET_ADD}")).exits(0).out);
    sandbox.keirin("gen --family mixed --events 5000 -o mixed.ktrace").exits(0);
    insta::assert_snapshot!("stats_mixed", sandbox.keirin("stats mixed.ktrace").exits(0).out);
    sandbox.keirin("gen --family task-nested --events 5000 -o tasks.ktrace").exits(0);
    insta::assert_snapshot!("stats_tasks", sandbox.keirin("stats tasks.ktrace").exits(0).out);
    let run = sandbox.keirin(&format!("stats missing {SET_ADD} -o figures")).exits(3);
    assert!(run.message().contains("missing: cannot be opened"), "{run:?}");
    assert_eq!(sandbox.text("figures"), sandbox.keirin(&format!("stats {SET_ADD}")).out);
}

#[test]
fn task_programs_are_made_as_asked() {
    let sandbox = Sandbox::new();
    let figure = |out: &str, what: &str| -> u64 {
        let row = out.lines().find_map(|line| line.trim().strip_prefix(what));
        row.and_then(|rest| rest.trim().parse().ok()).unwrap_or_else(|| panic!("no {what} in {out}"))
    };
    let disciplines =
        ["none", "nested", "hand-over-hand", "any-order", "across-spawns", "reader-writer", "recursive"];
    for family in TASK_FAMILIES {
        for discipline in disciplines {
            let plan = format!("gen --family {family} --discipline {discipline} --events 20000 --threads 3");
            sandbox.keirin(&format!("{plan} --locks 5 --variables 1024 --region-length 4 -o made")).exits(0);
            let out = sandbox.keirin("stats made").exits(0).out;
            assert_eq!(figure(&out, "threads"), 3);
            assert_eq!(figure(&out, "locks"), if discipline == "none" { 0 } else { 5 });
            assert!(figure(&out, "spawn") > 500 && figure(&out, "tasks live at the end") == 0, "{out}");
            // The driver of the analyses of threads takes the order as one that can have happened.
            sandbox.keirin("check made --analysis empty").exits(0);
        }
        let plan = format!("gen --family {family} --events 5000");
        assert!(!sandbox.keirin(&plan).exits(0).out.contains("begin(torn"));
        let planted = sandbox.keirin(&format!("{plan} --violations 0.2")).exits(0).out;
        for told in ["begin(torn", "|w(racy", "|racy", "|intruder"] {
            assert!(planted.contains(told), "{family}: no {told}");
        }
    }
    let tree = sandbox.keirin("gen --family task-tree --depth 1 --events 0").exits(0).out;
    assert!(!tree.contains("spawn"), "a trace that has come to its end begins nothing: {tree}");
    sandbox.keirin("gen --family task-loop --tasks 7 --events 3000 -o made").exits(0);
    let out = sandbox.keirin("stats made").exits(0).out;
    assert!(figure(&out, "tasks live at once, at most") <= 7, "{out}");
}
