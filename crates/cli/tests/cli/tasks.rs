//! Analyses of tasks: from small traces to reports, witness files and what `explain` makes of them.

use crate::support::{Run, Sandbox};
use std::path::PathBuf;

/// Two tasks that write without a lock; one thread ran both.
pub(crate) const RACE: &str = "\
T0|spawn(left)|main@sort.cpp:8:5
T0|spawn(right)|main@sort.cpp:9:5
T0|task_begin(left)|
T0|w(pivots)|partition@sort.cpp:3:5
T0|task_end(left)|
T0|task_begin(right)|
T0|w(pivots)|partition@sort.cpp:3:5
T0|task_end(right)|
T0|task_wait|main@sort.cpp:10:5
T0|r(pivots)|main@sort.cpp:11:5
";

const SORT: &str = "\
int pivots;
void partition() {
    pivots++;
}
int main() {
    task_group group;

    group.run(partition);
    group.run(partition);
    group.wait();
    return pivots;
}
";

/// A marked block with two holds of a lock, and another task that writes under the same lock.
pub(crate) const TORN: &str = "\
T0|spawn(withdraw)|close@account.cpp:8:11
T0|spawn(reset)|close@account.cpp:9:11
T0|task_begin(withdraw)|
T0|begin(Account::transfer)|transfer@account.cpp:2:5
T0|acq(account)|transfer@account.cpp:3:21
T0|r(balance)|transfer@account.cpp:3:21
T0|rel(account)|transfer@account.cpp:3:30
T0|acq(account)|transfer@account.cpp:4:9
T0|w(balance)|transfer@account.cpp:4:9
T0|rel(account)|transfer@account.cpp:4:30
T0|end|transfer@account.cpp:5:5
T0|task_end(withdraw)|
T0|task_begin(reset)|
T0|acq(account)|close@account.cpp:9:20
T0|w(balance)|close@account.cpp:9:20
T0|rel(account)|close@account.cpp:9:30
T0|task_end(reset)|
T0|task_wait|close@account.cpp:10:5
";

/// Two writes without a common lock that cannot be at the same time: the locks would have to deadlock.
pub(crate) const APPARENT: &str = "\
T0|spawn(1)|main@a.c:1
T0|spawn(2)|main@a.c:2
T0|task_begin(1)|
T0|acq(l)|f@a.c:11
T0|acq(m)|f@a.c:12
T0|rel(m)|f@a.c:13
T0|w(x)|f@a.c:14
T0|rel(l)|f@a.c:15
T0|task_end(1)|
T0|task_begin(2)|
T0|acq(m)|g@a.c:21
T0|acq(l)|g@a.c:22
T0|rel(l)|g@a.c:23
T0|w(x)|g@a.c:24
T0|rel(m)|g@a.c:25
T0|task_end(2)|
T0|task_wait|main@a.c:3
";

/// Order beside the tree that comes late: what was dropped before is needed for it.
const LATE_ORDER: &str = "\
T0|fork(T1)|a.c:1
T0|fork(T2)|a.c:2
T0|fork(T3)|a.c:3
T1|r(x)|a.c:11
T2|r(x)|a.c:21
T3|r(x)|a.c:31
T3|happens_before(7)|a.c:32
T0|happens_after(7)|a.c:4
T0|w(x)|a.c:5
";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let files =
        [("race.std", RACE), ("torn.std", TORN), ("apparent.std", APPARENT), ("late.std", LATE_ORDER)];
    for (name, text) in files.into_iter().chain([("sort.cpp", SORT)]) {
        sandbox.write(name, text);
    }
    sandbox
}

fn rules(run: &Run) -> Vec<(String, String)> {
    let report = run.json();
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    findings.map(|finding| (text(&finding["rule"]), text(&finding["verdict"]))).collect()
}

#[test]
fn a_race_of_tasks_is_shown_by_a_schedule() {
    let sandbox = sandbox();
    insta::assert_snapshot!(sandbox.keirin("check race.std --analysis ptracer").exits(66).out);
    for analysis in ["spd3", "ptracer", "all-sets", "ptracer,spd3,all-sets,fasttrack,velodrome"] {
        for structure in ["ranks", "labels", "tree"] {
            let arguments =
                ["check", "race.std", "--format", "json", "--analysis", analysis, "--structure", structure];
            let run = sandbox.keirin(&arguments.join(" ")).exits(66);
            assert_eq!(rules(&run), [("data-race".to_owned(), "other-schedule".to_owned())], "{analysis}");
            assert_eq!(run.json()["findings"][0]["count"], 1, "analyses of one run do not add up");
        }
    }
}

#[test]
fn a_torn_block_and_a_gap_are_told_with_what_makes_them_whole() {
    let sandbox = sandbox();
    let check = |more: &[&str]| {
        let mut arguments = vec!["check", "torn.std", "--analysis", "task-atomicity"];
        arguments.extend(more);
        sandbox.keirin(&arguments.join(" "))
    };
    insta::assert_snapshot!(check(&[]).exits(66).out);
    let wholes = |more: &[&str]| -> Vec<String> {
        let report = check(&[&["--format", "json"], more].concat()).json();
        let findings = report["findings"].as_array().unwrap().iter();
        findings.map(|finding| finding["whole"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(wholes(&["--check", "annotated"]), ["block"]);
    assert_eq!(wholes(&["--check", "gaps"]), ["gap"]);
    assert_eq!(wholes(&["--check", "steps"]), ["step"]);
    assert_eq!(wholes(&["--algorithm", "published"]), ["step"]);
    assert_eq!(wholes(&["--check", "annotated", "--atomic", "-Account"]), [""; 0]);
    let spec = check(&["--check", "annotated", "--write-atomic-spec", "spec.rules"]).exits(66);
    assert!(sandbox.text("spec.rules").contains("# refuted: Account::transfer"), "{spec:?}");
}

#[test]
fn what_no_schedule_shows_does_not_fail_a_build() {
    let sandbox = sandbox();
    let run = sandbox.keirin("check apparent.std --analysis ptracer").exits(0);
    assert!(run.out.contains("apparent only: no schedule of this run shows it"), "{run:?}");
    assert!(run.out.contains("keirin: 1 apparent finding in"), "{run:?}");
    let run = sandbox.keirin("check apparent.std --analysis ptracer --no-witness").exits(66);
    assert!(run.out.contains("no schedule was looked for"), "{run:?}");
    assert!(run.out.contains("--no-witness"), "{run:?}");
}

#[test]
fn an_analysis_that_ignores_locks_is_corrected_by_the_examination() {
    let sandbox = sandbox();
    let locked: String = RACE
        .lines()
        .flat_map(|line| match line.contains("|w(") {
            true => vec!["T0|acq(m)|", line, "T0|rel(m)|"],
            false => vec![line],
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    sandbox.write("locked.std", locked);
    let out = sandbox.keirin("check locked.std --analysis spd3").exits(0).out;
    assert!(out.contains("1 apparent finding did not stand up to the examination"), "{out}");
    sandbox.keirin("check locked.std --analysis spd3 --no-witness").exits(66);
    assert!(!sandbox.keirin("check locked.std --analysis ptracer").exits(0).out.contains("note"));
}

#[test]
fn order_beside_the_tree_that_comes_late_is_looked_at_again() {
    let sandbox = sandbox();
    let run = sandbox.keirin("check late.std --analysis ptracer --format json").exits(66);
    let report = run.json();
    let places: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|finding| {
            let steps = finding["steps"].as_array().unwrap().iter();
            steps
                .map(|step| step["stack"][0]["place"]["text"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(places.contains(&"a.c:5".to_owned()) && !places.contains(&"a.c:31".to_owned()), "{places:?}");
}

#[test]
fn standard_input_is_kept_for_the_search() {
    let sandbox = sandbox();
    let run = sandbox.keirin_reading("check - --analysis ptracer", RACE.as_bytes()).exits(66);
    assert!(run.out.contains("a schedule that shows it was found"), "{run:?}");
}

#[test]
fn thread_analyses_point_to_those_of_tasks() {
    let sandbox = sandbox();
    let out = sandbox.keirin("check race.std").exits(0).out;
    assert!(out.contains("7 events of tasks") && out.contains("--analysis ptracer"), "{out}");
    let out = sandbox.keirin("check race.std --analysis velodrome,ptracer").exits(66).out;
    assert!(!out.contains("were not used"), "{out}");
}

#[test]
fn figures_are_told() {
    let sandbox = sandbox();
    let run = sandbox.keirin("check race.std --analysis ptracer --stats").exits(66);
    for figure in ["ptracer: tasks: 2", "ptracer: different questions: 1", "ptracer: locations: 1"] {
        assert!(run.err.contains(figure), "{figure}: {run:?}");
    }
}

/// The witness files in a folder.
fn witnesses(sandbox: &Sandbox, folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(sandbox.path(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_schedule_is_written_and_explained() {
    let sandbox = sandbox();
    let arguments = "check race.std --analysis ptracer --witnesses deep/schedules";
    let run = sandbox.keirin(arguments).exits(66);
    assert!(
        run.err.contains("1 schedule in deep/schedules; show one: keirin explain deep/schedules/v1-"),
        "{run:?}"
    );
    let files = witnesses(&sandbox, "deep/schedules");
    let [file] = &files[..] else { panic!("{files:?}") };
    let name = file.file_stem().unwrap().to_str().unwrap();
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!((written["version"].as_u64(), written["fingerprint"].as_str()), (Some(1), Some(name)));
    assert_eq!(written["trace"], "race.std");
    let explained = sandbox.keirin(&format!("explain {}", file.display())).exits(0).out;
    insta::assert_snapshot!(explained);
    for start in [name, &name[..6], &name[3..8]] {
        let again = sandbox.keirin(&format!("explain {start} --witnesses deep/schedules")).exits(0).out;
        assert_eq!(again, explained, "{start}");
    }
}

#[test]
fn locks_are_told_after_each_step() {
    let sandbox = sandbox();
    let arguments = "check torn.std --analysis task-atomicity --witnesses w";
    sandbox.keirin(arguments).exits(66);
    let files = witnesses(&sandbox, "w");
    assert_eq!(files.len(), 2);
    let explained = sandbox.keirin(&format!("explain {}", files[0].display())).exits(0).out;
    insta::assert_snapshot!(explained);
    let run = sandbox.keirin("explain v1- --witnesses w").exits(2);
    assert!(run.message().contains("2 witnesses in w have a fingerprint that starts with `v1-`"), "{run:?}");
}

#[test]
fn bad_witnesses_are_told() {
    let sandbox = sandbox();
    sandbox.folder("w");
    sandbox.write("text.json", "no JSON at all");
    sandbox.write("other.json", "{\"a\": 1}");
    sandbox.write("new.json", "{\"version\": 2}");
    sandbox.write("half.json", "{\"version\": 1, \"trace\": \"a\"}");
    let thread = "{\"version\":1,\"trace\":\"\",\"rule\":\"\",\"fingerprint\":\"\",\"title\":\"\",\"reason\":\"\",\
                  \"unit\":\"line\",\"threads\":[],\"as_observed_until\":0,\"segments\":[{\"thread\":0,\"first\":1,\
                  \"last\":1,\"operations\":1,\"steps\":[]}]}";
    sandbox.write("thread.json", thread);
    let cases = [
        vec!["text.json"],
        vec!["other.json"],
        vec!["new.json"],
        vec!["half.json"],
        vec!["thread.json"],
        vec!["missing.json"],
        vec!["data-rice"],
        vec!["v1-0123"],
        vec!["v1-0123", "--witnesses", "w"],
        vec!["v1-0123", "--witnesses", "nowhere"],
    ];
    let mut messages = String::new();
    for case in cases {
        let mut arguments = vec!["explain"];
        arguments.extend(case);
        messages += sandbox.keirin(&arguments.join(" ")).exits(2).message();
        messages.push('\n');
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn options_that_do_not_fit_together_are_refused() {
    let sandbox = sandbox();
    let cases = [
        vec!["--check", "steps"],
        vec!["--structure", "tree"],
        vec!["--access-cache"],
        vec!["--verdict-cache", "on"],
        vec!["--no-witness"],
        vec!["--analysis", "task-atomicity", "--check", "functions"],
        vec!["--analysis", "task-atomicity", "--check", "all"],
        vec!["--analysis", "task-atomicity", "--check", "gaps", "--algorithm", "published"],
        vec!["--analysis", "ptracer", "--structure", "bush"],
        vec!["--analysis", "ptracer", "--verdict-cache", "maybe"],
        vec!["--analysis", "ptracer", "--write-atomic-spec", "spec"],
    ];
    let mut messages = String::new();
    for case in cases {
        let mut arguments = vec!["check", "race.std"];
        arguments.extend(case);
        messages += sandbox.keirin(&arguments.join(" ")).exits(2).message();
        messages.push('\n');
    }
    insta::assert_snapshot!(messages);
}
