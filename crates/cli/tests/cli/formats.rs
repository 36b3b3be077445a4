//! Reports for other programs, read by other programs.

use crate::published_schema;
use crate::support::{CLEAN, SET_ADD, Sandbox, THREE};
use crate::tasks::{APPARENT, RACE, TORN};
use serde_json::Value;

/// Reports with findings of all statuses, with notes, and without anything.
const RUNS: [&str; 4] = [
    "demo",
    "check set_add.std three_transactions.std --baseline known.json",
    "check x.std",
    "check race.std torn.std apparent.std --analysis ptracer,task-atomicity",
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.keirin(&format!("check {SET_ADD} --write-baseline known.json")).exits(66);
    std::fs::copy(sandbox.path(CLEAN), sandbox.path("x.std")).unwrap();
    for (name, text) in [("race.std", RACE), ("torn.std", TORN), ("apparent.std", APPARENT)] {
        sandbox.write(name, text);
    }
    assert!(RUNS[1].contains(SET_ADD) && RUNS[1].contains(THREE));
    sandbox
}

fn assert_follows(schema: &Value, report: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(report).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn sarif_follows_the_published_schema() {
    let schema = published_schema::sarif();
    let sandbox = sandbox();
    for run in RUNS {
        assert_follows(&schema, &sandbox.keirin(&format!("{run} --format sarif")).json());
    }
}

#[test]
fn json_follows_our_schema() {
    let schema = serde_json::from_str(include_str!("../../../../docs/report.schema.json")).unwrap();
    let sandbox = sandbox();
    for run in RUNS {
        assert_follows(&schema, &sandbox.keirin(&format!("{run} --format json")).json());
    }
}

#[test]
fn graphviz_draws_the_graph() {
    let sandbox = sandbox();
    for run in RUNS {
        sandbox.keirin(&format!("{run} --format dot -o graph.dot"));
        let drawn =
            sandbox.command("dot").args(["-Tsvg", "graph.dot"]).output().expect(
                "this test needs Graphviz: install the package `graphviz`, which has the program `dot`",
            );
        assert!(drawn.status.success(), "{run}: {}", String::from_utf8_lossy(&drawn.stderr));
        let svg = String::from_utf8(drawn.stdout).unwrap();
        assert!(svg.contains("</svg>"), "{run}");
        if run == RUNS[3] {
            assert!(svg.contains("task left") && svg.contains("unordered"), "{svg}");
        }
        if run == "demo" {
            assert!(svg.contains("Set::add"), "{svg}");
        }
    }
}
