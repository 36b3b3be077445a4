//! `keirin confirm`: what it takes, what comes of findings, and what is kept of it.

use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

/// Two threads count; a third place is never reached.
const COUNTER: &str = "\
#include <pthread.h>
#include <stdlib.h>
long visitors;
long nobody;
static void *count(void *unused)
{
    visitors++;
    if (getenv(\"NOBODY\"))
        nobody++;
    return unused;
}
int main(void)
{
    pthread_t doors[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&doors[i], NULL, count, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(doors[i], NULL);
    return visitors > 2;
}
";

/// The program of PTRacer's figure 1: T2 writes Y without the lock only if it has read C before T3 writes it.
const FIGURE_1: &str = "\
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int X, Y, C;
static void *t2(void *unused)
{
    usleep(20000);
    pthread_mutex_lock(&lock);
    int c = C; /* read */
    pthread_mutex_unlock(&lock);
    if (c) {
        pthread_mutex_lock(&lock);
        Y = X - 1;
        pthread_mutex_unlock(&lock);
    } else {
        Y = X; /* other side */
    }
    return unused;
}
static void *t3(void *unused)
{
    pthread_mutex_lock(&lock);
    C = 1; /* write */
    Y = X + 1; /* locked */
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, t2, NULL);
    pthread_create(&threads[1], NULL, t3, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
";

fn built(source: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("program.c", source);
    sandbox.succeeds("keirin cc -g -O1 -pthread program.c -o program");
    sandbox
}

/// Of several lines on standard error the one that tells what has come of the finding.
#[track_caller]
fn outcome(run: &Run) -> &str {
    let told =
        ["keirin: confirmed", "keirin: not reproduced", "keirin: diverged", "keirin: cannot be confirmed"];
    let line = run.err.lines().find(|line| told.iter().any(|start| line.starts_with(start)));
    line.unwrap_or_else(|| panic!("{run:?}"))
}

#[test]
fn a_race_is_confirmed_and_the_mark_is_kept() {
    let sandbox = built(COUNTER);
    sandbox.keirin("run --format json -o report.json -- ./program").exits(66);
    let run =
        sandbox.keirin("confirm 1 --report report.json --write-baseline marks.json -- ./program").exits(66);
    assert!(outcome(&run).starts_with("keirin: confirmed in try "), "{run:?}");
    assert!(run.err.contains("program.c:7") && run.err.contains("to the same bytes"), "{run:?}");
    assert_eq!(run.out, "", "it is the program's");
    // It is new all the same, and later reports tell of it.
    let run = sandbox.keirin("run --baseline marks.json --format json -- ./program").exits(66);
    let finding = &run.json()["findings"][0];
    assert_eq!(
        (&finding["status"]["kind"], &finding["confirmation"]["program"]),
        (&json!("reported"), &json!("program"))
    );
    let run = sandbox.keirin("run --baseline marks.json --write-baseline both.json -- ./program").exits(66);
    assert!(run.err.contains("Confirmed: `keirin confirm` made program show it"), "{run:?}");
    let run = sandbox.keirin("run --baseline both.json --format json -- ./program").exits(0);
    assert_eq!(run.json()["findings"][0]["confirmation"]["program"], "program");
}

#[test]
fn without_a_report_the_program_is_watched_first() {
    let sandbox = built(COUNTER);
    let run = sandbox.keirin("confirm all --format json -o outcome.json -- ./program").exits(66);
    assert!(run.err.contains("keirin: 1 of 1 finding confirmed"), "{run:?}");
    let told: Value = serde_json::from_str(&sandbox.text("outcome.json")).unwrap();
    assert_eq!(told["schema"], "keirin-confirm/1");
    let result = &told["results"][0];
    assert_eq!((&result["outcome"], &result["rule"]), (&json!("confirmed"), &json!("data-race")));
}

/// A report with one finding, whose operations are told by their lines alone, as those on other sides of branches are.
fn by_lines(sandbox: &Sandbox, steps: &[(usize, &str, &str)], before: &[(usize, &str, &str)]) {
    let run = sandbox.keirin("run --format json -- ./program");
    let code = match run.json()["findings"][0]["steps"][0]["code"].clone() {
        Value::Null => {
            let module = sandbox.path("program").canonicalize().unwrap();
            json!({"module": module, "build_id": "", "offset": 0})
        }
        code => code,
    };
    let source = sandbox.text("program.c");
    let step = |(index, &(thread, kind, mark)): (usize, &(usize, &str, &str))| {
        let line = source.lines().position(|line| line.contains(mark)).unwrap() + 1;
        let place =
            json!({"text": format!("program.c:{line}"), "file": "program.c", "line": line, "column": null});
        let target = json!({"kind": "variable", "name": mark});
        json!({
            "number": index + 1, "thread": thread, "position": format!("event {index}{mark}"), "code": code,
            "operation": {"kind": kind, "text": kind, "target": target},
            "stack": [{"function": "f", "place": place}],
        })
    };
    let all = |steps: &[(usize, &str, &str)]| steps.iter().enumerate().map(step).collect::<Vec<Value>>();
    let mut witness = all(before);
    // All of the schedule before is about one variable.
    witness.iter_mut().for_each(|step| step["operation"]["target"]["name"] = json!("C"));
    let thread = |name: &str| json!({"name": name, "task": false, "spawned": null});
    let finding = json!({
        "rule": "data-race", "status": {"kind": "reported"}, "fingerprint": "v1-1234", "title": "data race on `Y`",
        "threads": [thread("T2"), thread("T3")], "steps": all(steps), "evidence": "race", "whole": null,
        "transactions": [], "edges": [], "refuted": [], "witness": witness,
    });
    let report = json!({"schema": "keirin-report/1", "findings": [finding]});
    sandbox.write("report.json", report.to_string());
}

#[test]
fn a_race_behind_a_branch_is_confirmed_by_the_order_that_the_branch_needs() {
    let sandbox = built(FIGURE_1);
    let race = [(1, "other-path-write", "/* locked */"), (0, "other-path-write", "/* other side */")];
    let before = [(0, "other-path-read", "/* read */"), (1, "other-path-write", "/* write */")];
    by_lines(&sandbox, &race, &before);
    // T3 comes first by itself, and keeps T2 from the lock while it waits: what is learned then is used in the next try.
    let run = sandbox.keirin("confirm v1-12 --report report.json -- ./program").exits(66);
    assert!(outcome(&run).starts_with("keirin: confirmed in try "), "{run:?}");
    assert!(run.err.contains("  before T2 other-path-read at program.c:9"), "{run:?}");
}

#[test]
fn what_the_program_never_comes_to_is_told() {
    let sandbox = built(COUNTER);
    by_lines(&sandbox, &[(0, "other-path-write", "visitors++"), (1, "other-path-write", "nobody++")], &[]);
    let run = sandbox.keirin("confirm 1 --report report.json --tries 2 --patience 1 -- ./program").exits(0);
    assert!(outcome(&run).starts_with("keirin: diverged: data race on `Y` (v1-1234): in 2 tries"), "{run:?}");
    assert!(run.err.contains("(2) T3 other-path-write at program.c:9"), "{run:?}");
    assert!(!run.err.contains("(1) T2"), "{run:?}");
}

#[test]
fn what_cannot_be_is_refused_or_told() {
    let sandbox = built(COUNTER);
    for (arguments, why) in [
        ("confirm 1 --report no.json -- ./program", "no.json"),
        ("confirm 1 --format sarif -- ./program", "--format sarif"),
        ("confirm 1 --tries 0 -- ./program", "--tries 0"),
        ("confirm 1 -- ./no-such-program", "no-such-program"),
        ("confirm v1-0 -- ./program", "no finding has a fingerprint"),
        ("confirm 7 -- ./program", "there is no finding 7; there are 1"),
    ] {
        let run = sandbox.keirin(arguments);
        assert!([2, 3].contains(&run.code) && run.err.contains(why), "{arguments}: {run:?}");
    }
    sandbox.keirin("check set_add.std --format json -o trace.json").exits(66);
    let run = sandbox.keirin("confirm 1 --report trace.json -- ./program").exits(0);
    assert!(outcome(&run).contains("it does not say at which instruction"), "{run:?}");
}
