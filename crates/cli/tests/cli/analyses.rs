//! `--analysis`: each analysis alone, and several in one pass.

use crate::support::{CLEAN, Run, SET_ADD, Sandbox, THREE, traces};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const ALL: [&str; 6] = ["velodrome", "aerodrome", "fasttrack", "eraser", "atomizer", "empty"];

/// Traces on which the analyses differ.
const TELLING: [&str; 8] = [
    "set_add.std",
    "set_add_serial.std",
    "three_transactions.std",
    "both_self_serializable.std",
    "late_knowledge.std",
    "hand_over_by_flag.std",
    "nested_blocks.std",
    "two_locks_alternate.std",
];

fn all_traces() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(traces()).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 20, "{paths:?}");
    paths
}

/// A JSON report of everything that some analyses find.
#[track_caller]
fn check(sandbox: &Sandbox, trace: &str, analyses: &str) -> Run {
    sandbox.keirin(&format!("check {trace} --analysis {analyses} --format json --max-per-site 0"))
}

/// The fingerprints of the findings of a report, whatever their status, with their counts.
#[track_caller]
fn findings(run: &Run) -> BTreeMap<String, u64> {
    assert!(run.code == 0 || run.code == 66, "{run:?}");
    let report = run.json();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            (finding["fingerprint"].as_str().unwrap().to_owned(), finding["count"].as_u64().unwrap())
        })
        .collect()
}

/// A run of several analyses finds what they find alone. What it says of a suspicion may differ: it is confirmed if a
/// surer analysis found the same.
#[track_caller]
fn is_union_of_singles(sandbox: &Sandbox, trace: &str, combinations: &[&str]) -> usize {
    let alone: BTreeMap<&str, BTreeMap<String, u64>> =
        ALL.iter().map(|name| (*name, findings(&check(sandbox, trace, name)))).collect();
    assert!(alone["empty"].is_empty());
    for combination in combinations {
        let run = check(sandbox, trace, combination);
        let mut expected = BTreeMap::new();
        for name in combination.split(',') {
            expected.extend(alone[name].clone());
        }
        assert_eq!(findings(&run), expected, "{trace}: {combination}");
        assert_eq!(run.code, if expected.is_empty() { 0 } else { 66 }, "{trace}: {combination}");
        for finding in run.json()["findings"].as_array().unwrap() {
            let status = &finding["status"];
            match status["kind"].as_str().unwrap() {
                "reported" => {}
                "confirmed" => {
                    assert_eq!(finding["verdict"], "suspected", "{trace}: {finding}");
                    assert!(expected.contains_key(status["by"].as_str().unwrap()), "{trace}: {finding}");
                }
                other => panic!("{trace}: {combination}: {other}"),
            }
        }
    }
    alone.values().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>().len()
}

#[test]
fn several_analyses_find_what_each_finds_alone() {
    let sandbox = Sandbox::new();
    let combinations = [
        "velodrome,fasttrack,eraser",
        "aerodrome,eraser",
        "fasttrack,eraser,atomizer",
        "aerodrome,atomizer,fasttrack",
        "velodrome,empty",
        "velodrome,aerodrome,fasttrack,eraser,atomizer,empty",
    ];
    for name in TELLING {
        is_union_of_singles(&sandbox, &traces().join(name).display().to_string(), &combinations);
    }
}

#[test]
fn every_pair_finds_what_both_find_alone() {
    let sandbox = Sandbox::new();
    let mut pairs = Vec::new();
    for (index, first) in ALL.iter().enumerate() {
        pairs.extend(ALL[index + 1..].iter().map(|second| format!("{second},{first}")));
    }
    let pairs: Vec<&str> = pairs.iter().map(String::as_str).collect();
    for name in ["late_knowledge.std", "set_add.std"] {
        is_union_of_singles(&sandbox, &traces().join(name).display().to_string(), &pairs);
    }
}

#[test]
fn several_analyses_find_what_each_finds_alone_on_generated_traces() {
    let sandbox = Sandbox::new();
    for seed in [1, 2] {
        let made = format!("gen --family mixed --violations 0.05 --events 20000 --seed {seed} -o t.ktrace");
        sandbox.keirin(&made).exits(0);
        let combinations =
            ["velodrome,fasttrack,eraser", "velodrome,aerodrome,fasttrack,eraser,atomizer,empty"];
        let found = is_union_of_singles(&sandbox, "t.ktrace", &combinations);
        assert!(found > 2, "the trace has too little to find: {found}");
    }
}

#[test]
fn neither_order_nor_repetition_of_names_matters() {
    let sandbox = Sandbox::new();
    for trace in [SET_ADD, "late.std"] {
        std::fs::copy(traces().join("late_knowledge.std"), sandbox.path("late.std")).unwrap();
        let expected = findings(&check(&sandbox, trace, "velodrome,fasttrack,eraser"));
        for names in [
            "eraser,fasttrack,velodrome",
            "fasttrack,velodrome,eraser",
            "eraser,eraser,velodrome,fasttrack,velodrome,eraser",
        ] {
            assert_eq!(findings(&check(&sandbox, trace, names)), expected, "{trace}: {names}");
        }
    }
    // Each is named once, in the order given.
    let run = sandbox.keirin(&format!("check {CLEAN} --analysis eraser,velodrome,eraser")).exits(0);
    assert!(run.out.contains(" by eraser and velodrome\n"), "{}", run.out);
    // The last flag counts.
    let run = sandbox.keirin(&format!("check {CLEAN} --analysis eraser --analysis fasttrack")).exits(0);
    assert!(run.out.contains(" by fasttrack\n"), "{}", run.out);
}

#[test]
fn names_that_do_not_exist_are_refused() {
    let sandbox = Sandbox::new();
    for (names, wrong) in [("velodrom", "velodrom"), ("velodrome,", ""), ("eraser,Velodrome", "Velodrome")] {
        let run = sandbox.keirin(&format!("check {SET_ADD} --analysis {names}")).exits(2);
        let expected = format!(
            "keirin: error: --analysis: `{wrong}` is none of velodrome, aerodrome, fasttrack, eraser, \
             atomizer, empty, spd3, ptracer, all-sets, task-atomicity"
        );
        assert_eq!(run.message(), expected);
    }
}

#[test]
fn the_comments_of_the_traces_hold_for_each_analysis_alone_and_for_all_at_once() {
    let sandbox = Sandbox::new();
    for path in all_traces() {
        let text = std::fs::read_to_string(&path).unwrap();
        let trace = path.display().to_string();
        let mut any = false;
        for name in ["velodrome", "fasttrack", "eraser", "atomizer"] {
            let start = format!("# expect {name}: line ");
            let found = text.lines().any(|line| line.starts_with(&start));
            any |= found;
            check(&sandbox, &trace, name).exits(if found { 66 } else { 0 });
        }
        check(&sandbox, &trace, &ALL.join(",")).exits(if any { 66 } else { 0 });
        let nothing = check(&sandbox, &trace, "empty").exits(0);
        assert!(findings(&nothing).is_empty());
    }
}

/// What a report says, without the names of the analyses and of the input.
fn told(run: &Run) -> serde_json::Value {
    let mut report = run.json();
    let summary = report["summary"].as_object_mut().unwrap();
    for key in ["analyses", "line", "inputs"] {
        assert!(summary.remove(key).is_some(), "{key}: {summary:?}");
    }
    for finding in report["findings"].as_array_mut().unwrap() {
        assert!(finding.as_object_mut().unwrap().remove("analyses").is_some());
    }
    report
}

#[test]
fn aerodrome_tells_the_same_as_velodrome() {
    let sandbox = Sandbox::new();
    for path in all_traces() {
        let trace = path.display().to_string();
        let velodrome = check(&sandbox, &trace, "velodrome");
        let aerodrome = check(&sandbox, &trace, "aerodrome").exits(velodrome.code);
        // AeroDrome stops at the violation; the report is about the whole run all the same.
        assert_eq!(told(&aerodrome), told(&velodrome), "{trace}");
        let with = check(&sandbox, &trace, "velodrome,eraser");
        assert_eq!(told(&check(&sandbox, &trace, "aerodrome,eraser")), told(&with), "{trace}");
    }
}

#[test]
fn aerodrome_tells_the_same_as_velodrome_from_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.keirin("gen --family mixed --violations 0.05 --events 3000 -o made.std").exits(0);
    for name in [SET_ADD, THREE, CLEAN, "made.std"] {
        sandbox.keirin(&format!("convert {name} -o native.ktrace")).exits(0);
        for input in [sandbox.read(name), sandbox.read("native.ktrace")] {
            let run = |analysis: &str| {
                sandbox.keirin_reading(&format!("check - --format json --analysis {analysis}"), &input)
            };
            let velodrome = run("velodrome");
            assert_eq!(told(&run("aerodrome")), told(&velodrome), "{name}");
            assert_eq!(run("aerodrome").code, velodrome.code, "{name}");
            assert_eq!(told(&run("aerodrome,fasttrack")), told(&run("velodrome,fasttrack")), "{name}");
        }
    }
}

#[test]
fn the_published_algorithm_runs_with_others() {
    let sandbox = Sandbox::new();
    for name in TELLING {
        let trace = traces().join(name).display().to_string();
        for more in ["", " --no-merge", " --no-gc"] {
            let run =
                check(&sandbox, &trace, &format!("eraser,velodrome,fasttrack --algorithm published{more}"));
            let alone = check(&sandbox, &trace, &format!("velodrome --algorithm published{more}"));
            let mut expected = findings(&alone);
            expected.extend(findings(&check(&sandbox, &trace, "fasttrack,eraser")));
            assert_eq!(findings(&run), expected, "{name}{more}");
            let analyses = run.json()["summary"]["analyses"].clone();
            assert_eq!(analyses, serde_json::json!(["eraser", "velodrome (published)", "fasttrack"]));
        }
        // Without Velodrome there is nothing published, but AeroDrome asks Velodrome.
        let run = check(&sandbox, &trace, "aerodrome --algorithm published");
        assert_eq!(findings(&run), findings(&check(&sandbox, &trace, "velodrome --algorithm published")));
    }
    let run = sandbox.keirin(&format!("check {SET_ADD} --analysis eraser,velodrome --no-gc")).exits(2);
    assert!(run.message().contains("add --algorithm published"), "{run:?}");
}

#[test]
fn figures_are_told_for_each_analysis() {
    let sandbox = Sandbox::new();
    let figures = |analyses: &str| {
        let run = sandbox.keirin(&format!("check {SET_ADD} --stats --analysis {analyses}"));
        assert!(run.code == 0 || run.code == 66, "{run:?}");
        let mut lines: Vec<String> = run.err.lines().map(str::to_owned).collect();
        let general =
            "keirin: set_add.std: 16 events, 4 accesses, 2 threads, 1 locks, 0 re-entrant lock operations";
        assert_eq!(lines.remove(0), general, "{analyses}");
        lines
    };
    for (name, what) in [
        ("velodrome", "transactions: 2"),
        ("aerodrome", "transactions: "),
        ("eraser", "nodes of locksets: "),
        ("atomizer", "nodes of locksets: "),
    ] {
        let start = format!("keirin: set_add.std: {name}: {what}");
        assert!(figures(name).iter().any(|line| line.starts_with(&start)), "{:?}", figures(name));
        assert!(figures(&ALL.join(",")).iter().any(|line| line.starts_with(&start)), "{start}");
    }
    // These have nothing to tell beyond what all tell.
    for name in ["fasttrack", "empty"] {
        assert_eq!(figures(name), Vec::<String>::new(), "{name}");
    }
    // What AeroDrome has Velodrome explain is work, too.
    assert!(figures("aerodrome").iter().any(|line| line.contains(": velodrome: ")));
    let clean = sandbox.keirin(&format!("check {CLEAN} --stats --analysis aerodrome")).exits(0);
    assert!(!clean.err.contains(": velodrome: "), "{}", clean.err);
}
