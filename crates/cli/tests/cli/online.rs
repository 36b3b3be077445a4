//! Programs with tasks that are checked while they run: what the runtime is told, and what becomes of what it hands over.

use crate::run::{Ran, Runs};
use crate::support::Sandbox;
use keirin_core::analysis::Statistic;
use keirin_core::event::{AccessKind, Addr, FunctionId, LockId, Op, SiteId, StackId, TaskId, ThreadId};
use keirin_core::finding::{
    Doubt, Evidence, Lineage, Moment, Race, RawFinding, RawStep, RawTask, Rule, Torn, Verdict, Whole,
};
use keirin_core::handover::{End, Writer};
use keirin_core::replay::Counts;
use keirin_core::stack::Stacks;
use keirin_core::tasks::Actor;
use keirin_core::trace::{FileId, Location, NameKind, Place, Site, Tables};

const SUM: &str =
    "long sum;\nvoid add(long n) {\n  sum += n;\n}\nvoid split(long n) {\n#pragma omp task\n  add(n);\n}\n";

/// A race of two tasks, and a gap that the runtime has flagged as well, with how many locks could block each other.
fn tasks(tasks: u64, blocking: u64, end: End) -> Vec<u8> {
    let mut tables = Tables::default();
    let file = FileId(tables.add_name(NameKind::File, "sum.c"));
    tables.add_name(NameKind::Thread, "main");
    tables.add_name(NameKind::Lock, "guard");
    tables.locations.insert(0x1000, Location { size: 8, name: "sum".into() });
    for (function, line) in [("add", 3), ("split", 6)] {
        let function = FunctionId(tables.add_name(NameKind::Function, function));
        tables.sites.push(Site { place: Place::Source { file, line, column: 0 }, function });
    }
    let [add, split] = [0, 1].map(SiteId);
    let step = |kind| RawStep {
        moment: Moment { position: 9, thread: ThreadId(3), site: add, stack: StackId::NONE },
        op: Op::Access { kind, size: 8, addr: Addr(0x1000) },
    };
    let task = |id| RawTask { actor: Actor::Task(id), spawned: Moment { site: split, ..Moment::default() } };
    let above = [TaskId::NONE; 3].map(task);
    let common = RawTask { actor: Actor::Thread(ThreadId(0)), spawned: Moment::default() };
    let deep = above.into_iter().chain([task(TaskId(77))]).collect();
    let race = RawFinding {
        rule: Rule::DataRace,
        verdict: Verdict::Suspected(Doubt::NotExamined),
        steps: vec![step(AccessKind::Write), step(AccessKind::Write)],
        evidence: Evidence::Race(Race { addr: Addr(0x1000), size: 8 }),
        lineage: Some(Lineage { common, paths: vec![deep, vec![task(TaskId(5))]] }),
        count: 1,
    };
    let (one, other) = (vec![task(TaskId(5))], vec![task(TaskId(6))]);
    let torn =
        Torn { addr: Addr(0x1000), size: 8, whole: Whole::Holds(LockId(0)), group: None, inside: vec![0, 2] };
    let gap = RawFinding {
        rule: Rule::LockGap,
        steps: vec![step(AccessKind::Read), step(AccessKind::Write), step(AccessKind::Write)],
        evidence: Evidence::Torn(torn),
        lineage: Some(Lineage { common, paths: vec![one.clone(), other, one] }),
        ..race.clone()
    };
    let mut writer = Writer::new(7, "sum");
    writer.update(&tables, &Stacks::new()).unwrap();
    writer.finding(0, &race).unwrap();
    writer.finding(1, &gap).unwrap();
    let counts = Counts { accesses: 120_331, threads: 4, locks: 2, tasks, ..Counts::default() };
    writer.counts(&counts);
    let figure = |name, value| Statistic { analysis: "tasks", name, value };
    writer.statistics(&[figure("steps", 4310), figure("locks that could block each other", blocking)]);
    writer.end(end);
    writer.take_bytes()
}

/// Runs a program that hands that over.
fn run(bytes: &[u8], options: &str) -> Ran {
    let sandbox = Sandbox::new();
    sandbox.write("sum.c", SUM);
    sandbox.handing_over("sum", bytes, "");
    let options = options.split(' ').filter(|word| !word.is_empty());
    let words: Vec<&str> = ["run", "--analysis", "ptracer,task-atomicity"]
        .into_iter()
        .chain(options)
        .chain(["--", "./sum"])
        .collect();
    let mut ran = sandbox.run(&words);
    ran.err = sandbox.stable(&ran.err);
    ran
}

#[test]
fn what_the_tasks_prove_is_told_without_a_schedule() {
    let ran = run(&tasks(1024, 0, End::Exit(0)), "");
    assert_eq!((ran.code, &*ran.out), (66, ""));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn what_locks_may_forbid_stays_suspected_and_counts() {
    let ran = run(&tasks(1024, 1, End::Exit(0)), "");
    assert_eq!(ran.code, 66);
    assert!(ran.err.contains("possible data race on `sum`"), "{}", ran.err);
    assert!(ran.err.contains("could block each other"), "{}", ran.err);
    assert!(ran.err.contains("keirin run --examine"), "{}", ran.err);
    let killed = run(&tasks(1024, 0, End::Signal(9)), "");
    assert_eq!(killed.code, 66);
    assert!(killed.err.contains("known only at the end of a process"), "{}", killed.err);
    assert!(!killed.err.contains("in another schedule"), "{}", killed.err);
}

#[test]
fn the_report_for_machines_has_how_much_was_covered_and_no_schedules() {
    let ran = run(&tasks(1024, 0, End::Exit(0)), "--format json");
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let summary = &report["summary"];
    assert_eq!((&summary["tasks"], &summary["steps"]), (&1024.into(), &4310.into()));
    assert_eq!(summary["accesses"], 120_331);
    for finding in report["findings"].as_array().unwrap() {
        assert_eq!(finding["verdict"], "other-schedule");
        assert_eq!(
            (&finding["doubt"], &finding["schedule"]),
            (&serde_json::Value::Null, &serde_json::Value::Null)
        );
    }
    let path = &report["findings"][0]["lineage"]["sides"][0]["path"];
    assert_eq!(path.as_array().unwrap().len(), 4);
    assert_eq!(path[0]["name"], "a task (sum.c:6)");
}

#[test]
fn the_runtime_checks_while_the_program_runs_unless_schedules_are_wanted() {
    let sandbox = Sandbox::new();
    sandbox.script("program", "printf %s \"$KEIRIN_RUNTIME\" | tr ';' '\\n' | grep -v ^findings > told");
    let told = |options: &str| {
        let words: Vec<&str> =
            ["run"].into_iter().chain(options.split(' ')).chain(["--", "./program"]).collect();
        sandbox.run(&words);
        let told = std::fs::read_to_string(sandbox.path("told")).unwrap();
        let keep = |line: &&str| !line.starts_with("record=");
        let recorded = told.contains("record=");
        (told.lines().filter(keep).collect::<Vec<_>>().join(" "), recorded)
    };
    let online = |text: &str| (text.to_owned(), false);
    assert_eq!(told("--analysis ptracer"), online("analysis=ptracer"));
    assert_eq!(told("--analysis spd3,all-sets"), online("analysis=spd3,all-sets"));
    let both = "--analysis ptracer,task-atomicity";
    let checks = online("analysis=ptracer,task-atomicity check=annotated,gaps");
    assert_eq!(told(both), checks);
    let steps = online("analysis=ptracer,task-atomicity check=steps,gaps");
    assert_eq!(told(&format!("{both} --check steps,gaps")), steps);
    let published = online("analysis=ptracer,task-atomicity algorithm=published");
    assert_eq!(told(&format!("{both} --algorithm published")), published);
    let recorded = ("analysis=empty".to_owned(), true);
    for examined in ["--examine", "--record run.ktrace", "--witnesses schedules", "--examine --no-witness"] {
        assert_eq!(told(&format!("{both} {examined}")), recorded, "{examined}");
    }
    assert_eq!(told("--analysis ptracer,fasttrack"), recorded);
    assert_eq!(told("--analysis fasttrack"), online("analysis=fasttrack"));
}
