//! Every output of every hand-made finding, pinned; and held against what others say the formats are.

use super::model::{Doubt, Level, Status};
use super::resolve::merge;
use super::terminal::{ColorChoice, Layout};
use super::*;
use keirin_core::finding::Rule;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn scenarios() -> Vec<(&'static str, Vec<Finding>)> {
    vec![
        ("set_add", vec![support::set_add()]),
        ("three", vec![support::three()]),
        ("blameless", vec![support::blameless()]),
        ("counter", vec![support::counter()]),
        ("hostile", vec![support::hostile()]),
        ("nameless", vec![support::nameless()]),
        ("flag_race", vec![support::flag_race()]),
        ("overlap_race", vec![support::overlap_race()]),
        ("lost_stack", vec![support::lost_stack()]),
        ("hits_locking", vec![support::hits_locking()]),
        ("total_locking", vec![support::total_locking()]),
        ("set_add_suspected", vec![support::set_add_suspected()]),
        ("racy_block", vec![support::racy_block()]),
        ("lazy_block", vec![support::lazy_block()]),
        ("task_race", vec![support::task_race()]),
        ("apparent_race", vec![support::apparent_race()]),
        ("unexamined_race", vec![support::unexamined_race()]),
        ("torn_transfer", vec![support::torn_transfer()]),
        ("torn_step", vec![support::torn_step()]),
        ("torn_function", vec![support::torn_function()]),
        ("lock_gap", vec![support::lock_gap()]),
        ("fib_race", vec![support::fib_race()]),
        ("open_gap", vec![support::open_gap()]),
        ("torn_sale", vec![support::torn_sale()]),
        ("tasks", tasks()),
        ("mixed", mixed()),
        ("statuses", statuses()),
        ("clean", Vec::new()),
    ]
}

fn statuses() -> Vec<Finding> {
    let mut findings = vec![support::blameless(), support::set_add(), support::three()];
    findings[0].status = Status::InBaseline;
    findings[1].status = Status::Suppressed { reason: "the set is only a cache".to_owned() };
    findings
}

/// All that is said about tasks, in the wrong order.
fn tasks() -> Vec<Finding> {
    let mut findings = vec![support::apparent_race(), support::unexamined_race(), support::lock_gap()];
    findings.extend([support::torn_step(), support::torn_transfer(), support::task_race()]);
    arrange(&mut findings);
    findings
}

/// What several analyses have to say together, in the wrong order.
fn mixed() -> Vec<Finding> {
    let mut findings = vec![support::racy_block(), support::set_add_suspected(), support::set_add()];
    findings.extend([support::lost_stack(), support::hits_locking(), support::flag_race()]);
    arrange(&mut findings);
    findings
}

fn report(name: &str, findings: Vec<Finding>) -> Report {
    let clean = findings.is_empty();
    let mut report = Report::new(
        findings,
        Watched {
            inputs: vec!["traces/set add.std".to_owned()],
            analyses: analyses(name).iter().map(|&name| name.to_owned()).collect(),
            events: 1_234_567,
            threads: 2,
            notes: if clean {
                vec!["the trace ends in the middle of an event".to_owned()]
            } else {
                Vec::new()
            },
            hidden: if name == "statuses" { 4 } else { 0 },
            baseline: name == "statuses",
            tasks: 0,
            live: None,
            next_when_clean: Some("keirin explain".to_owned()),
        },
    );
    // The snapshots must survive a release.
    report.tool.version = "1.2.3".to_owned();
    report
}

fn analyses(name: &str) -> &'static [&'static str] {
    match name {
        "flag_race" | "overlap_race" | "lost_stack" => &["fasttrack"],
        "hits_locking" | "total_locking" => &["eraser"],
        "set_add_suspected" | "racy_block" | "lazy_block" => &["atomizer"],
        "task_race" | "apparent_race" | "unexamined_race" | "fib_race" => &["ptracer"],
        "torn_transfer" | "torn_step" | "torn_function" | "lock_gap" | "open_gap" | "torn_sale" => {
            &["task-atomicity"]
        }
        "tasks" => &["ptracer", "task-atomicity"],
        "mixed" => &["velodrome (published)", "fasttrack", "eraser", "atomizer"],
        _ => &["velodrome"],
    }
}

type Write = fn(&Report, &mut Vec<u8>) -> std::io::Result<()>;

fn text(write: Write, report: &Report) -> String {
    let mut bytes = Vec::new();
    write(report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn snapshots(output: &str, write: Write) {
    for (name, findings) in scenarios() {
        insta::assert_snapshot!(format!("{output}_{name}"), text(write, &report(name, findings)));
    }
}

fn plain(report: &Report, out: &mut Vec<u8>) -> std::io::Result<()> {
    terminal::write(report, Layout::default(), out)
}

#[test]
fn terminal() {
    snapshots("terminal", plain);
}

#[test]
fn terminal_in_colour() {
    snapshots("colour", |report, out| terminal::write(report, Layout { color: true, width: 100 }, out));
}

#[test]
fn terminal_narrow() {
    snapshots("narrow", |report, out| terminal::write(report, Layout { color: false, width: 1 }, out));
}

#[test]
fn json() {
    snapshots("json", json::write);
}

#[test]
fn sarif() {
    snapshots("sarif", sarif::write);
}

#[test]
fn dot() {
    snapshots("dot", dot::write);
}

#[test]
fn a_finding_fits_on_one_screen() {
    for finding in support::all() {
        let lines = text(plain, &report("", vec![finding])).lines().count();
        assert!(lines <= 50, "{lines} lines");
    }
}

#[test]
fn the_terminal_gets_no_control_characters_from_a_trace() {
    let shown = text(plain, &report("hostile", vec![support::hostile()]));
    let bad: Vec<char> =
        shown.chars().filter(|&character| character != '\n' && text::is_dangerous(character)).collect();
    assert_eq!(bad, []);
}

#[test]
fn json_follows_its_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/report.schema.json")).unwrap();
    jsonschema::meta::validate(&schema).expect("the schema is a JSON Schema");
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, findings) in scenarios() {
        let output = text(json::write, &report(name, findings));
        let value: serde_json::Value = serde_json::from_str(&output).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0], "{name}");
    }
    assert!(!validator.is_valid(&serde_json::json!({"schema": "keirin-report/1"})));
}

#[test]
fn sarif_follows_the_published_schema_and_a_public_crate_reads_it() {
    let schema = published_schema::sarif();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, findings) in scenarios() {
        let count = findings.len();
        let output = text(sarif::write, &report(name, findings));
        let value: serde_json::Value = serde_json::from_str(&output).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0], "{name}");
        let parsed: serde_sarif::sarif::Sarif = serde_json::from_str(&output).unwrap();
        let results = parsed.runs[0].results.as_ref().unwrap();
        assert_eq!(results.len(), count, "{name}");
        for result in results {
            let rule = result.rule_id.as_deref().and_then(rules::by_name);
            let index = result.rule_index.map(|index| Rule::ALL[index as usize]);
            assert!(rule.is_some() && rule == index, "{name}: {rule:?}");
            for flow in result.code_flows.iter().flatten() {
                let steps = flow.thread_flows.iter().flat_map(|flow| &flow.locations);
                let mut order: Vec<i64> = steps.filter_map(|step| step.execution_order).collect();
                order.sort_unstable();
                assert_eq!(order, (1..=order.len() as i64).collect::<Vec<_>>(), "{name}");
            }
        }
    }
    assert!(!validator.is_valid(&serde_json::json!({"version": "2.1.0"})));
}

#[test]
fn graphviz_draws_every_graph() {
    for (name, findings) in scenarios() {
        let output = text(dot::write, &report(name, findings));
        let mut child = Command::new("dot")
            .arg("-Tsvg")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("this test needs Graphviz: install the package `graphviz`, which has the program `dot`");
        child.stdin.take().unwrap().write_all(output.as_bytes()).unwrap();
        let drawn = child.wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&drawn.stderr);
        assert!(drawn.status.success(), "{name}: {complaint}");
        let svg = String::from_utf8(drawn.stdout).unwrap();
        assert!(svg.contains("</svg>"), "{name}");
        if name == "set_add" {
            assert!(svg.contains("T1: in Set.add") && svg.contains("stroke-dasharray"), "{svg}");
        }
        if name == "flag_race" {
            assert!(svg.contains("unordered") && svg.contains("consumer: (2) read ready"), "{svg}");
        }
        if name == "racy_block" {
            assert!(svg.contains("commits the block") && svg.contains("another thread, perhaps"), "{svg}");
        }
        if name == "task_race" {
            assert!(svg.contains("task left") && svg.contains("spawned at src/sort.cpp:8:9"), "{svg}");
            assert!(svg.contains("(1) write pivots") && svg.contains("unordered"), "{svg}");
        }
        if name == "fib_race" {
            assert!(svg.contains("4 tasks, one below the other") && svg.contains("task 2"), "{svg}");
        }
        if name == "torn_transfer" {
            assert!(svg.contains("(2) write balance") && svg.contains(">then<"), "{svg}");
        }
        if name == "hostile" {
            let shown = "in &lt;/script&gt;&lt;b&gt;&amp;amp; {0} &quot;q&quot; \\l |x|";
            assert!(svg.contains(shown), "the name is shown as it is: {svg}");
        }
    }
}

#[test]
fn findings_with_equal_fingerprints_and_places_are_merged_into_the_first() {
    let findings = support::sighted_twice();
    let counts: Vec<u64> = findings.iter().map(|finding| finding.count).collect();
    assert_eq!(counts, [2, 7]);
    assert_eq!(findings[0].fingerprint, findings[1].fingerprint);
    assert_eq!(findings[0].steps[0].position.as_deref(), Some("line 10"));
}

#[test]
fn races_at_different_lines_are_told_apart_and_those_of_one_statement_are_one() {
    let race = |lines: [u32; 2], kinds: [&'static str; 2]| {
        let mut race = support::flag_race();
        for ((step, line), kind) in race.steps.iter_mut().zip(lines).zip(kinds) {
            step.operation.kind = kind;
            let place = step.stack[0].place.as_mut().unwrap();
            (place.line, place.column) = (Some(line), Some(kind.len() as u32));
            place.text = format!("somewhere:{line}:{}", kind.len());
        }
        race
    };
    let found = [
        race([4, 9], ["write", "read"]),
        race([9, 4], ["write", "write"]),
        race([4, 10], ["write", "read"]),
        race([4, 9], ["read", "write"]),
    ];
    assert!(found.iter().all(|finding| finding.fingerprint == found[0].fingerprint));
    let once = found[0].count;
    let merged = merge(found, u64::saturating_add);
    let told: Vec<_> = merged.iter().map(|race| (race.steps[1].operation.kind, race.count)).collect();
    assert_eq!(told, [("write", 3 * once), ("read", once)]);
}

#[test]
fn fingerprints_ignore_lines_and_threads() {
    let fingerprints: std::collections::BTreeSet<_> =
        support::all().into_iter().map(|finding| finding.fingerprint).collect();
    assert_eq!(fingerprints.len(), support::all().len());
    let one = support::set_add();
    let mut other = support::set_add();
    for step in &mut other.steps {
        step.thread = 1 - step.thread;
        step.position = None;
        for place in step.stack.iter_mut().filter_map(|frame| frame.place.as_mut()) {
            place.line = Some(1);
            place.text = "moved".to_owned();
        }
    }
    let identity = fingerprint::Identity {
        rule: other.rule,
        transactions: &other.transactions,
        blocks: &other.refuted,
        variable: None,
        steps: other.steps.iter().collect(),
        any_order: false,
        any_kind: false,
    };
    assert_eq!(identity.fingerprint(), one.fingerprint);
    // Pinned: a change would silently void every baseline and needs a new version of the recipe.
    insta::assert_snapshot!(one.fingerprint);
}

#[test]
fn the_cap_hides_only_reported_findings_of_the_same_site() {
    let mut findings = vec![support::set_add(); 5];
    findings.extend([support::three(), support::nameless(), support::nameless()]);
    findings[0].status = Status::InBaseline;
    assert_eq!(cap_per_site(&mut findings, 2), 2);
    let titles: Vec<&str> = findings.iter().map(|finding| finding.title.as_str()).collect();
    assert_eq!(titles.len(), 6, "{titles:?}");
    assert_eq!(cap_per_site(&mut findings, 0), 5);
    assert_eq!(findings.len(), 1);
}

#[test]
fn only_reported_findings_count_for_the_exit_code() {
    let mut findings = statuses();
    assert!(report("", findings.clone()).has_findings());
    findings.pop();
    assert!(!report("", findings).has_findings());
}

#[test]
fn colour_is_for_terminals_unless_the_user_says_otherwise() {
    let set = Some(std::ffi::OsStr::new("1"));
    let empty = Some(std::ffi::OsStr::new(""));
    assert!(ColorChoice::Auto.enabled(true, None) && ColorChoice::Auto.enabled(true, empty));
    assert!(!ColorChoice::Auto.enabled(true, set) && !ColorChoice::Auto.enabled(false, None));
    assert!(ColorChoice::Always.enabled(false, set) && !ColorChoice::Never.enabled(true, None));
}

#[test]
fn the_surest_come_first_and_races_before_violations() {
    let order: Vec<_> = mixed().iter().map(|finding| (finding.verdict, finding.rule)).collect();
    use super::model::Verdict::*;
    let expected = [
        (Observed, "data-race"),
        (Observed, "atomicity-violation"),
        (OtherSchedule, "data-race"),
        (Suspected, "inconsistent-locking"),
        (Suspected, "irreducible-block"),
        (Suspected, "irreducible-block"),
    ];
    assert_eq!(order, expected);
}

#[test]
fn what_no_schedule_shows_is_told_last_and_does_not_count_for_the_exit_code() {
    let findings = tasks();
    assert_eq!(findings.last().unwrap().doubt, Some(Doubt::LocksForbid));
    assert_eq!(findings.last().unwrap().level, Level::Note);
    let report = |findings| report("", findings);
    assert!(report(findings.clone()).has_findings());
    let only = report(vec![support::apparent_race()]);
    assert!(!only.has_findings());
    assert_eq!((only.summary.counts.reported, only.summary.counts.apparent), (1, 1));
}

#[test]
fn of_equal_findings_the_surest_stays_and_analyses_of_one_run_do_not_add_up() {
    let (mut sure, mut unsure) = (support::task_race(), support::unexamined_race());
    (sure.count, unsure.count) = (2, 3);
    unsure.fingerprint = sure.fingerprint.clone();
    unsure.steps = sure.steps.clone();
    let merged = merge([unsure.clone(), sure.clone()], u64::max);
    assert_eq!(merged.len(), 1);
    assert_eq!((merged[0].verdict, merged[0].count), (sure.verdict, 3));
    assert_eq!(merge([sure, unsure], u64::saturating_add)[0].count, 5);
}

#[test]
fn a_gap_is_folded_into_the_torn_block_with_the_same_accesses() {
    let findings = arranged(&[support::lock_gap(), support::torn_transfer()]);
    let by = findings[0].fingerprint.clone();
    assert_eq!(findings[1].status, Status::Confirmed { by });
    let line = report("", findings).summary.line;
    assert!(line.contains("1 finding (1 covered by a torn block)"), "{line}");
    let mut other = support::torn_transfer();
    other.steps[0].position = None;
    let is_folded = |other: &Finding| {
        let findings = arranged(&[support::lock_gap(), other.clone()]);
        findings.iter().any(|finding| matches!(finding.status, Status::Confirmed { .. }))
    };
    assert!(is_folded(&other), "another instance of the same accesses");
    other.steps[0].stack.clear();
    assert!(!is_folded(&other), "an access at another place");
}

fn arranged(findings: &[Finding]) -> Vec<Finding> {
    let mut findings = findings.to_vec();
    arrange(&mut findings);
    findings
}

#[test]
fn a_suspicion_about_a_refuted_block_is_folded_into_the_observation() {
    let findings = arranged(&[support::set_add_suspected(), support::set_add()]);
    let by = findings[0].fingerprint.clone();
    assert_eq!(findings[1].status, Status::Confirmed { by });
    assert_eq!(findings[0].confirms[0].fingerprint, findings[1].fingerprint);
    assert!(findings[0].notes.last().unwrap().contains("irreducible-block"), "{:?}", findings[0].notes);
    let report = report("", findings);
    assert_eq!((report.summary.counts.reported, report.summary.counts.confirmed), (1, 1));
}

#[test]
fn a_suspicion_about_another_block_or_with_a_suppressed_observation_stays() {
    let mut inner = support::set_add();
    inner.refuted.remove(0);
    let mut suppressed = support::set_add();
    suppressed.status = Status::Suppressed { reason: "known".to_owned() };
    for surer in [inner, suppressed, support::three(), support::flag_race()] {
        let findings = arranged(&[support::set_add_suspected(), surer]);
        assert_eq!(findings[1].status, Status::Reported);
    }
}

#[test]
fn a_race_confirms_the_suspicion_about_its_location() {
    let mut race = support::flag_race();
    assert_eq!(arranged(&[support::hits_locking(), race.clone()])[1].status, Status::Reported);
    race.location = support::hits_locking().location;
    assert!(matches!(arranged(&[support::hits_locking(), race.clone()])[1].status, Status::Confirmed { .. }));
    // Without a name the same address must be accessed at the same place.
    race.location.as_mut().unwrap().named = false;
    assert_eq!(arranged(&[support::hits_locking(), race.clone()])[1].status, Status::Reported);
    race.steps = support::hits_locking().steps;
    assert!(matches!(arranged(&[support::hits_locking(), race])[1].status, Status::Confirmed { .. }));
}

#[test]
fn suspected_findings_do_not_sound_like_proofs() {
    let suspected =
        support::all().into_iter().filter(|finding| finding.verdict == super::model::Verdict::Suspected);
    for finding in suspected {
        let apparent = finding.doubt == Some(Doubt::LocksForbid);
        let end = if apparent { "the locks seem to forbid it" } else { "not observed" };
        assert!(finding.verdict_text.ends_with(end), "{}", finding.verdict_text);
        let text = format!("{} {}", finding.title, finding.reason);
        assert!(["may ", "perhaps ", "possible "].iter().any(|word| text.contains(word)), "{text}");
        let line = report("", vec![finding]).summary.line;
        let start = if apparent { "keirin: 1 apparent finding" } else { "keirin: 1 suspected finding" };
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn fingerprints_of_races_and_locking_ignore_what_chance_decides() {
    let race = support::flag_race();
    let mut identity = fingerprint::Identity {
        rule: race.rule,
        transactions: &[],
        blocks: &[],
        variable: race.location.as_ref().map(|location| &*location.name),
        steps: race.steps.iter().rev().collect(),
        any_order: true,
        any_kind: true,
    };
    assert_eq!(identity.fingerprint(), race.fingerprint);
    identity.any_kind = false;
    let locking = support::hits_locking();
    identity.rule = locking.rule;
    identity.variable = Some("hits");
    identity.steps.clear();
    assert_eq!(identity.fingerprint(), locking.fingerprint);
}

#[test]
fn what_is_proved_without_a_schedule_counts_and_says_how_to_get_one() {
    for finding in [support::fib_race(), support::torn_sale()] {
        assert_eq!((finding.verdict, finding.doubt), (Verdict::OtherSchedule, None));
        assert_eq!(finding.level, Level::Warning);
        assert!(finding.schedule.is_none() && finding.witness.is_empty());
        let note = finding.notes.last().unwrap();
        assert!(note.contains("another schedule of the same run"), "{note}");
        assert!(note.contains("keirin run --examine -- ./"), "{note}");
        assert!(report("", vec![finding]).has_findings());
    }
}

#[test]
fn tasks_of_a_running_program_are_told_by_their_places_and_not_by_chance() {
    let race = support::fib_race();
    let names: Vec<&str> = race.threads.iter().map(|thread| &*thread.name).collect();
    assert_eq!(names, ["task 1 (fib.c:7)", "task 2 (fib.c:7)"]);
    assert!(race.steps.iter().all(|step| step.position.is_none()));
    let shown = text(plain, &report("fib_race", vec![race]));
    for chance in ["90210", "4711", "worker", "created", "trace "] {
        assert!(!shown.contains(chance), "{chance}: {shown}");
    }
}

#[test]
fn the_summary_of_a_run_with_tasks_tells_how_much_was_covered() {
    let line = |tasks, steps| {
        let live = Live { accesses: 120_331, locks: Some(2), steps, processes: 1 };
        let analyses = vec!["ptracer".to_owned()];
        let watched = Watched { analyses, threads: 4, tasks, live: Some(live), ..Watched::default() };
        let report = Report::new(Vec::new(), watched);
        let json: serde_json::Value = serde_json::from_str(&text(json::write, &report)).unwrap();
        assert_eq!(json["summary"]["tasks"].as_u64(), Some(tasks).filter(|&tasks| tasks > 0));
        assert_eq!(json["summary"]["steps"].as_u64(), Some(steps).filter(|&steps| steps > 0));
        assert_eq!(json["summary"]["accesses"], 120_331);
        report.summary.line
    };
    let end = "with 2 locks (120,331 accesses checked in full) by ptracer";
    assert_eq!(
        line(1024, 4310),
        format!("keirin: no findings in a run of 1,024 tasks (4,310 steps) on 4 threads {end}")
    );
    assert_eq!(line(1, 0), format!("keirin: no findings in a run of 1 task on 4 threads {end}"));
    assert_eq!(line(0, 0), format!("keirin: no findings in a run of 4 threads {end}"));
}
