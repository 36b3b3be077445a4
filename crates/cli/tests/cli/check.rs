//! `demo` and `check` on good traces.

use crate::support::{CLEAN, SET_ADD, Sandbox, THREE, traces};
use serde_json::Value;

#[test]
fn demo_shows_the_violation_with_blame_and_succeeds() {
    let sandbox = Sandbox::new();
    let run = sandbox.keirin_with("demo", &[("KEIRIN_CXX", "g++")]).exits(0);
    assert_eq!(run.err, "");
    // How many accesses there are is a matter of the C++ library.
    let (before, rest) = run.out.rsplit_once(" lock (").unwrap();
    let rest = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    insta::assert_snapshot!(format!("{before} lock (N{rest}"));
}

#[test]
fn demo_without_a_compiler_shows_a_recorded_run() {
    let sandbox = Sandbox::new();
    let run = sandbox.keirin_with("demo", &[("KEIRIN_CXX", "none")]).exits(0);
    assert!(run.message().ends_with("; this is a recorded run of it"), "{run:?}");
    insta::assert_snapshot!(run.out);
}

#[test]
fn demo_has_all_formats() {
    let sandbox = Sandbox::new();
    let json = sandbox.keirin("demo --format json").exits(0);
    assert_eq!(json.json()["findings"][0]["title"], "`Set::add` is not atomic");
    assert_eq!(json.message().split(" in ").next(), Some("keirin: 1 finding"));
    let sarif = sandbox.keirin("demo --format sarif").exits(0);
    assert_eq!(sarif.json()["version"], "2.1.0");
    assert!(sandbox.keirin("demo --format dot").exits(0).out.starts_with("digraph"));
    let terminal = sandbox.keirin("demo --format terminal").exits(0);
    assert!(terminal.out.contains("`Set::add` is not atomic"), "{terminal:?}");
}

#[test]
fn colour_is_as_asked() {
    let sandbox = Sandbox::new();
    let check = |more: &str| sandbox.keirin(&format!("check {SET_ADD} {more}")).out;
    let plain = check("");
    assert!(!plain.contains('\u{1b}'), "standard output is no terminal");
    let coloured = check("--color always");
    assert!(coloured.contains('\u{1b}'));
    assert_eq!(check("--color never"), plain);
    let without =
        |more: &str| sandbox.keirin_with(&format!("check {SET_ADD} {more}"), &[("NO_COLOR", "1")]).out;
    assert_eq!(without(""), plain);
    // Who writes the flag has the last word.
    assert_eq!(without("--color always"), coloured);
}

#[test]
fn every_trace_of_the_repository_does_as_its_comments_say() {
    let sandbox = Sandbox::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(traces()).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = text.lines().filter_map(|line| line.strip_prefix("# expect velodrome: "));
        let found = expected.clone().any(|line| line.starts_with("line "));
        assert!(expected.count() > 0, "{}: what is expected?", path.display());
        sandbox.keirin(&format!("check {}", path.display())).exits(if found { 66 } else { 0 });
        seen += 1;
    }
    assert!(seen > 20, "only {seen} traces");
}

#[test]
fn the_exit_code_tells_what_happened() {
    let sandbox = Sandbox::new();
    sandbox.keirin(&format!("check {CLEAN}")).exits(0);
    sandbox.keirin(&format!("check {SET_ADD}")).exits(66);
    sandbox.keirin("check").exits(2);
    sandbox.keirin("check missing.std").exits(3);
}

#[test]
fn several_traces_make_one_report_and_a_bad_one_does_not_stop_the_others() {
    let sandbox = Sandbox::new();
    let run = sandbox.keirin(&format!("check {SET_ADD} {THREE} {CLEAN} --format json")).exits(66);
    assert_eq!(run.json()["findings"].as_array().unwrap().len(), 2);
    assert_eq!(run.json()["summary"]["inputs"].as_array().unwrap().len(), 3);

    sandbox.write("empty", "");
    let run = sandbox.keirin(&format!("check {SET_ADD} missing empty {THREE}")).exits(3);
    assert!(run.out.contains("keirin: 2 findings in"), "{run:?}");
    assert_eq!(
        run.err,
        "keirin: error: missing: cannot be opened: No such file or directory (os error 2)\n\
         keirin: error: empty: the trace is empty\n"
    );
}

#[test]
fn the_same_finding_in_two_traces_is_told_once() {
    let sandbox = Sandbox::new();
    let run = sandbox.keirin(&format!("check {SET_ADD} {SET_ADD} --format json")).exits(66);
    assert_eq!(run.json()["findings"].as_array().unwrap().len(), 1);
    assert_eq!(run.json()["findings"][0]["count"], 2);
}

#[test]
fn standard_input_is_read_in_both_formats() {
    let sandbox = Sandbox::new();
    sandbox.keirin(&format!("convert {SET_ADD} -o set.ktrace")).exits(0);
    let text = sandbox.keirin_reading("check - --format json", &sandbox.read(SET_ADD)).exits(66);
    let native = sandbox.keirin_reading("check - --format json", &sandbox.read("set.ktrace")).exits(66);
    assert_eq!(text.json()["summary"]["inputs"][0], "standard input");
    assert_eq!(without_positions(text.json()), without_positions(native.json()));
    let twice = sandbox.keirin_reading("check - -", &sandbox.read(SET_ADD)).exits(2);
    assert!(twice.message().contains("standard input (`-`) can be read only once"), "{twice:?}");
    sandbox.keirin_reading("stats - -", &sandbox.read(SET_ADD)).exits(2);
}

#[test]
fn native_and_text_give_the_same_findings_whatever_the_name() {
    let sandbox = Sandbox::new();
    for entry in std::fs::read_dir(traces()).unwrap() {
        let path = entry.unwrap().path();
        let path = path.display();
        // The name lies: the content is native.
        sandbox.keirin(&format!("convert {path} --to ktrace -o x.std")).exits(0);
        let text = sandbox.keirin(&format!("check {path} --format json"));
        let native = sandbox.keirin("check x.std --format json").exits(text.code);
        assert_eq!(without_positions(text.json()), without_positions(native.json()), "{path}");
    }
}

#[test]
fn all_algorithms_agree_on_the_traces_of_the_repository() {
    let sandbox = Sandbox::new();
    for name in [SET_ADD, THREE, CLEAN] {
        let ours = sandbox.keirin(&format!("check {name}"));
        for more in ["", " --no-merge", " --no-gc", " --no-merge --no-gc"] {
            sandbox.keirin(&format!("check {name} --algorithm published{more}")).exits(ours.code);
        }
    }
}

/// A report without what depends on the form of the trace.
fn without_positions(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.remove("position");
                members.remove("inputs");
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

#[test]
fn progress_in_a_log_does_not_disturb_the_report() {
    let sandbox = Sandbox::new();
    sandbox.keirin("gen --events 50000 --violations 0.01 -o t.std").exits(0);
    let plain = sandbox.keirin("check t.std --format json").exits(66);
    let run = sandbox.keirin("check t.std --format json --progress always").exits(66);
    assert_eq!(run.out, plain.out);
    assert!(run.err.starts_with("keirin: checking: "), "{}", run.err);
    assert!(run.err.ends_with(&plain.err), "{}", run.err);
    assert_eq!(sandbox.keirin("check t.std --format json --progress never").err, plain.err);

    let plain = sandbox.keirin("convert t.std").exits(0);
    let run = sandbox.keirin("convert t.std --progress always").exits(0);
    assert_eq!(run.out, plain.out);
    assert!(run.err.starts_with("keirin: converting: "), "{}", run.err);
}
