//! What is meant to be atomic, and what is left out.

use crate::support::{CLEAN, Failures, SET_ADD, Sandbox, THREE, traces};

/// A program with calls and without labels: `deposit` lets go of its lock between looking and writing, `audit` does not.
const BANK: &str = "\
T1|call(main)|main.c:1
T1|fork(T2)|main.c:2
T1|call(deposit)|main.c:3
T1|acq(l)|bank.c:1
T1|r(balance)|bank.c:2
T1|rel(l)|bank.c:3
T2|call(worker)|main.c:9
T2|call(deposit)|main.c:10
T2|acq(l)|bank.c:1
T2|r(balance)|bank.c:2
T2|rel(l)|bank.c:3
T2|acq(l)|bank.c:4
T2|w(balance)|bank.c:5
T2|rel(l)|bank.c:6
T2|return|
T2|return|
T1|acq(l)|bank.c:4
T1|w(balance)|bank.c:5
T1|rel(l)|bank.c:6
T1|return|
T1|call(audit)|main.c:4
T1|acq(l)|audit.c:1
T1|r(balance)|audit.c:2
T1|rel(l)|audit.c:3
T1|return|
T1|return|
";

/// The value of `x` is set up and read before the second thread writes it, within one block.
const READ_THEN_WRITTEN: &str = "\
T0|w(x)|
T1|begin(look_twice)|
T1|r(x)|
T2|w(x)|
T1|r(x)|
T1|end|
";

fn bank() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("bank.std", BANK);
    sandbox
}

#[test]
fn functions_are_atomic_only_if_a_rule_says_so() {
    let sandbox = bank();
    sandbox.keirin("check bank.std").exits(0);
    for rules in ["functions", "+^deposit$", "-. --atomic +dep", "-deposit --atomic functions"] {
        let run = sandbox.keirin(&format!("check bank.std --atomic {rules}")).exits(66);
        assert!(run.out.contains("`deposit` is not atomic"), "{rules}: {}", run.out);
        assert!(run.out.contains("keirin: 1 finding in 26 events"), "{rules}: {}", run.out);
        let aerodrome = sandbox.keirin(&format!("check bank.std --atomic {rules} --analysis aerodrome"));
        assert_eq!(aerodrome.exits(66).out.replace("aerodrome", "velodrome"), run.out);
    }
    // `main` is interrupted as well, but is named only if a rule says so.
    let run = sandbox.keirin("check bank.std --atomic +^main$").exits(66);
    assert!(run.out.contains("`main` is not atomic"), "{}", run.out);
    sandbox.keirin("check bank.std --atomic +audit").exits(0);
    sandbox.keirin("check bank.std --atomic functions --atomic -^deposit$").exits(0);
}

#[test]
fn a_rule_that_starts_like_a_flag_is_a_rule() {
    let sandbox = Sandbox::new();
    sandbox.keirin(&format!("check {SET_ADD} --atomic -Set")).exits(0);
    sandbox.keirin(&format!("check {SET_ADD} --atomic=-Set")).exits(0);
    sandbox.keirin(&format!("check --atomic -o {SET_ADD} --atomic -other")).exits(66);
    sandbox.keirin(&format!("check {SET_ADD} --atomic -Set --atomic +add")).exits(66);
}

#[test]
fn rules_come_from_files_configuration_and_flags_in_this_order() {
    let sandbox = bank();
    sandbox.write("rules", "# what we promise\n\n  functions  \n-^deposit$\r\n");
    sandbox.keirin("check bank.std --atomic-file rules").exits(0);
    sandbox.keirin("check bank.std --atomic-file rules --atomic +deposit").exits(66);
    sandbox.write("more", "+deposit\n");
    sandbox.keirin("check bank.std --atomic-file rules --atomic-file more").exits(66);
    sandbox.keirin("check bank.std --atomic-file more --atomic-file rules").exits(0);
    sandbox.write("keirin.toml", "atomic = [\"functions\", \"-^audit\"]\n");
    sandbox.keirin("check bank.std").exits(66);
    sandbox.keirin("check bank.std --atomic -deposit").exits(0);
    sandbox.keirin_with("check bank.std", &[("KEIRIN_OPTIONS", "atomic=-deposit")]).exits(0);
    sandbox.write("keirin.toml", "atomic-file = \"rules\"\natomic = \"+deposit\"\n");
    sandbox.keirin("check bank.std").exits(66);
    // Without rules of its own, a demonstration is as it was.
    assert_eq!(sandbox.keirin("demo").exits(0).out, Sandbox::new().keirin("demo").out);
}

#[test]
fn wrong_rules_and_patterns_are_told_before_anything_is_read() {
    let sandbox = Sandbox::new();
    let mut failures = Failures::default();
    sandbox.folder("folder");
    sandbox.write("noise", [0xFF, 0xFE, 0x00, 0x01]);
    sandbox.write("word", "# fine\n+fine\n\nSet.add\n");
    sandbox.write("pattern", "functions\n+(\n");
    // The traces are not there: it is the rules that are told.
    for arguments in [
        "--atomic Set",
        "--atomic=",
        "--atomic +[",
        "--atomic -*",
        "--atomic +(a{1000}){1000}",
        "--atomic-file word",
        "--atomic-file pattern",
        "--atomic-file folder",
        "--atomic-file missing",
        "--atomic-file noise",
        "--ignore (",
        "--ignore fine --ignore [z-a]",
    ] {
        let run = sandbox.keirin(&format!("check gone.std gone_too.std {arguments}")).exits(2);
        failures.add(&sandbox, arguments, &run);
    }
    for text in
        ["\natomic = \"Set\"\n", "lenient = true\natomic = [\"functions\", \"+(\"]\n", "ignore = \"(\"\n"]
    {
        sandbox.write("keirin.toml", text);
        let run = sandbox.keirin("check gone.std").exits(2);
        failures.add(&sandbox, text, &run);
    }
    insta::assert_snapshot!("wrong_rules", failures.text());
}

#[test]
fn a_specification_leaves_out_what_was_refuted() {
    let sandbox = bank();
    let run = sandbox.keirin("check bank.std --atomic functions --write-atomic-spec spec").exits(66);
    assert_eq!(run.out, sandbox.keirin("check bank.std --atomic functions").out);
    let spec = sandbox.text("spec");
    assert!(spec.ends_with("\n-.*\n+^audit$\n# refuted: deposit\n"), "{spec}");
    sandbox.keirin("check bank.std --atomic-file spec").exits(0);
    // It is the specification that made it clean.
    sandbox.keirin("check bank.std --atomic-file spec --atomic +deposit").exits(66);

    // The same with labels, of several traces, and by each analysis that can refute.
    let inputs = format!("{SET_ADD} {CLEAN} {THREE}");
    for analysis in ["velodrome", "aerodrome", "velodrome,atomizer,fasttrack"] {
        let check = format!("check {inputs} --analysis {analysis}");
        sandbox.keirin(&format!("{check} --write-atomic-spec spec")).exits(66);
        let spec = sandbox.text("spec");
        assert!(spec.contains("\n# refuted: Set\\.add\n") && spec.contains("\n# refuted: outer\n"), "{spec}");
        assert!(spec.contains("\n+^inner$\n") && spec.contains("\n+^C'$\n"), "{spec}");
        sandbox.keirin(&format!("check {inputs} --atomic-file spec")).exits(0);
        // Nothing is refuted any more, so it stays as it is, without the remarks.
        sandbox.keirin(&format!("check {inputs} --atomic-file spec --write-atomic-spec again")).exits(0);
        let rules = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        assert_eq!(rules(&sandbox.text("again")), rules(&spec));
    }
}

#[test]
fn a_specification_that_cannot_be_written_is_told_before_the_work() {
    let sandbox = Sandbox::new();
    sandbox.folder("folder");
    let before = sandbox.files();
    for path in ["folder", "no/such/folder/spec"] {
        let run = sandbox.keirin(&format!("check {SET_ADD} --write-atomic-spec {path}")).exits(3);
        assert!(run.message().starts_with(&format!("keirin: error: cannot write {path}: ")), "{run:?}");
        assert_eq!(run.out, "", "nothing was checked");
    }
    let run =
        sandbox.keirin(&format!("check {SET_ADD} --analysis eraser,empty --write-atomic-spec spec")).exits(2);
    assert!(run.message().contains("needs an analysis that can refute blocks"), "{run:?}");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn a_specification_is_not_made_from_half_of_the_inputs() {
    let sandbox = Sandbox::new();
    sandbox.write("spec", "what was there");
    sandbox.write("broken.std", "T1|begin(a)|\nT1|rel(l)|\n");
    let before = sandbox.files();
    for other in ["missing.std", "broken.std"] {
        let run = sandbox.keirin(&format!("check {SET_ADD} {other} --write-atomic-spec spec")).exits(3);
        assert!(run.err.contains("spec is not written: it would lack the blocks"), "{run:?}");
        assert!(run.out.contains("`Set.add` is not atomic"), "{run:?}");
        sandbox.keirin(&format!("check {other} --write-atomic-spec spec")).exits(3);
    }
    assert_eq!(sandbox.text("spec"), "what was there");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn accesses_in_ignored_files_and_functions_are_left_out_and_counted() {
    let sandbox = bank();
    let check = "check bank.std --atomic functions --analysis velodrome,fasttrack,eraser,atomizer";
    sandbox.keirin(check).exits(66);
    let run = sandbox.keirin(&format!("{check} --ignore ^bank\\.c$ --format json"));
    let notes = run.json()["summary"]["notes"].to_string();
    assert!(
        notes.contains("bank.std: left out 4 accesses at ignored places; findings may be missing"),
        "{notes}"
    );
    let run = sandbox.keirin(&format!("{check} --ignore ^bank --ignore audit"));
    assert!(run.out.contains("left out 5 accesses at ignored places"), "{}", run.out);
    // What matches nothing changes nothing.
    assert_eq!(sandbox.keirin(&format!("{check} --ignore nowhere")).out, sandbox.keirin(check).out);
    // A race at an ignored place is not told.
    sandbox.write("race.std", "T1|w(x)|counter.c:1\nT2|w(x)|counter.c:2\n");
    sandbox.keirin("check race.std --analysis fasttrack").exits(66);
    // That nothing is left does not make the trace an empty one.
    let run = sandbox.keirin("check race.std --analysis fasttrack --ignore counter").exits(0);
    assert!(
        run.out.contains("left out 2 accesses at ignored places; findings may be missing"),
        "{}",
        run.out
    );
}

#[test]
fn accesses_in_ignored_functions_are_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write("named.std", "T1|w(x)|count@a.c:1\nT2|w(x)|count@a.c:2\nT2|r(y)|main@a.c:3\n");
    sandbox.keirin("convert named.std -o named.ktrace").exits(0);
    for trace in ["named.std", "named.ktrace"] {
        let check = format!("check {trace} --analysis fasttrack");
        sandbox.keirin(&check).exits(66);
        sandbox.keirin(&format!("{check} --ignore main")).exits(66);
        let run = sandbox.keirin(&format!("{check} --ignore ^count$")).exits(0);
        assert!(run.out.contains("left out 2 accesses at ignored places"), "{}", run.out);
        assert!(run.out.contains("no findings in 3 events"), "{}", run.out);
    }
}

#[test]
fn filters_on_data_are_told_and_may_hide_findings() {
    let sandbox = Sandbox::new();
    std::fs::copy(traces().join("late_knowledge.std"), sandbox.path("late.std")).unwrap();
    sandbox.write("reread.std", READ_THEN_WRITTEN);
    for (trace, filter, other, note) in [
        (
            "late.std",
            "--skip-thread-local",
            "--skip-read-only",
            "left out 1 accesses of data of one thread so far",
        ),
        (
            "reread.std",
            "--skip-read-only",
            "--lenient",
            "left out 1 reads of data that is not written any more",
        ),
    ] {
        for analysis in ["velodrome", "aerodrome"] {
            sandbox.keirin(&format!("check {trace} --analysis {analysis}")).exits(66);
            sandbox.keirin(&format!("check {trace} --analysis {analysis} {other}")).exits(66);
            let run = sandbox.keirin(&format!("check {trace} --analysis {analysis} {filter}")).exits(0);
            assert!(run.out.contains(&format!("{trace}: {note}; findings may be missing")), "{}", run.out);
        }
    }
    // What was found in spite of a filter is told with the same note, whatever analysis stopped early.
    for analysis in ["velodrome", "aerodrome"] {
        let run =
            sandbox.keirin(&format!("check {SET_ADD} --skip-thread-local --analysis {analysis}")).exits(66);
        assert!(run.out.contains("left out 1 accesses of data of one thread so far"), "{}", run.out);
    }
}

#[test]
fn what_a_specification_leaves_is_clean_on_generated_traces() {
    let sandbox = Sandbox::new();
    sandbox.keirin("gen --family mixed --violations 0.05 --events 20000 -o t.ktrace").exits(0);
    for analysis in ["velodrome", "aerodrome", "velodrome,atomizer"] {
        let check = format!("check t.ktrace --analysis {analysis}");
        sandbox.keirin(&format!("{check} --write-atomic-spec spec")).exits(66);
        let spec = sandbox.text("spec");
        assert!(spec.contains("\n+^") && spec.contains("\n# refuted: "), "{spec}");
        sandbox.keirin(&format!("{check} --atomic-file spec")).exits(0);
    }
}

/// The two cases that docs/command-line.md excepts.
#[test]
fn what_a_specification_leaves_may_not_be_clean() {
    let sandbox = Sandbox::new();
    // Nobody is to blame, so nothing is refuted.
    std::fs::copy(traces().join("both_self_serializable.std"), sandbox.path("both.std")).unwrap();
    sandbox.keirin("check both.std --write-atomic-spec spec").exits(66);
    sandbox.keirin("check both.std --atomic-file spec").exits(66);
    // The second thread starts with a function that the first one calls; a name in a file means both.
    sandbox.write(
        "entry.std",
        "T1|call(main)|\nT1|fork(T2)|\nT1|call(work)|\nT1|r(a)|\nT1|return|\nT2|call(work)|\nT2|r(x)|\nT1|w(x)|\n\
         T2|w(x)|\nT2|return|\nT1|return|\n",
    );
    sandbox.keirin("check entry.std --atomic functions --write-atomic-spec spec").exits(0);
    sandbox.keirin("check entry.std --atomic-file spec").exits(66);
}
