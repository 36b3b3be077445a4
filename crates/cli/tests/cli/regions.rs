//! `infer` and `detect`: regions that are learned, and runs that tear them.

use crate::support::{Failures, Sandbox};

/// A deposit that reads and writes the balance, twice, and somebody who looks at it in between.
const GOOD: &str = "T0|fork(T1)|main.c:1\nT0|fork(T2)|main.c:2\n\
    T1|r(balance)|deposit@bank.c:5\nT1|w(balance)|deposit@bank.c:6\n\
    T2|w(balance)|fee@bank.c:9\n\
    T1|r(balance)|deposit@bank.c:5\nT1|w(balance)|deposit@bank.c:6\n";
const QUIET: &str = "T0|fork(T1)|main.c:1\nT0|fork(T2)|main.c:2\n\
    T1|r(balance)|deposit@bank.c:5\nT1|w(balance)|deposit@bank.c:6\nT2|w(balance)|fee@bank.c:9\n";
const TORN: &str = "T0|fork(T1)|main.c:1\nT0|fork(T2)|main.c:2\n\
    T1|r(balance)|deposit@bank.c:5\nT2|w(balance)|fee@bank.c:9\nT1|w(balance)|deposit@bank.c:6\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("good.std", GOOD);
    sandbox.write("quiet.std", QUIET);
    sandbox.write("torn.std", TORN);
    sandbox
}

#[test]
fn regions_are_learned_and_their_tearing_is_told() {
    let sandbox = sandbox();
    let learned = sandbox.keirin("infer good.std quiet.std -o regions.toml").exits(0);
    insta::assert_snapshot!(learned.err);
    insta::assert_snapshot!("regions_file", sandbox.text("regions.toml"));
    for run in ["good.std", "quiet.std"] {
        sandbox.keirin(&format!("detect --regions regions.toml {run}")).exits(0);
    }
    let told = sandbox.keirin("detect --regions regions.toml torn.std").exits(66);
    insta::assert_snapshot!("torn_region", told.out);
    let json = sandbox.keirin("detect --regions regions.toml torn.std --format json").exits(66).json();
    assert_eq!(json["findings"][0]["verdict"], "observed", "{json}");
}

#[test]
fn the_regions_do_not_depend_on_the_number_of_jobs_and_can_be_gone_on_from() {
    let sandbox = sandbox();
    let one = sandbox.keirin("infer good.std quiet.std good.std --jobs 1").exits(0).out;
    assert_eq!(sandbox.keirin("infer good.std quiet.std good.std --jobs 8").exits(0).out, one);
    // For the first time there is nothing to go on from.
    sandbox.keirin("infer good.std --regions all.toml -o all.toml").exits(0);
    sandbox.keirin("infer quiet.std --regions all.toml -o all.toml").exits(0);
    sandbox.keirin("infer good.std --regions all.toml -o all.toml").exits(0);
    assert_eq!(sandbox.text("all.toml"), one);
}

#[test]
fn with_a_threshold_a_bad_run_does_no_harm() {
    let sandbox = sandbox();
    let traces = "torn.std good.std quiet.std good.std";
    sandbox.keirin(&format!("infer {traces} -o all.toml")).exits(0);
    sandbox.keirin("detect --regions all.toml torn.std").exits(0);
    sandbox.keirin(&format!("infer {traces} --threshold 2 -o most.toml")).exits(0);
    sandbox.keirin("detect --regions most.toml torn.std").exits(66);
}

#[test]
fn what_is_wrong_with_traces_or_regions_is_told() {
    let sandbox = sandbox();
    sandbox.write("nowhere.std", "T1|r(x)|\nT2|w(x)|\n");
    sandbox.write("empty.std", "");
    sandbox.write("comment.std", "# nothing\n");
    sandbox.keirin("infer good.std -o regions.toml").exits(0);
    sandbox.write("broken.toml", "version = 1\n[[region]]\nentry = \"a\"\nexits = [\n{ runs = \"1\" }]\n");
    sandbox.write("none.toml", "version = 1\n");
    let mut failures = Failures::default();
    for arguments in [
        "infer -",
        "infer no-such.std",
        "infer nowhere.std",
        "infer empty.std",
        "infer comment.std",
        "infer good.std --threshold 0",
        "infer good.std --regions broken.toml",
        "detect good.std",
        "detect good.std --regions broken.toml",
        "detect good.std --regions none.toml",
        "detect comment.std --regions regions.toml",
    ] {
        failures.add(&sandbox, arguments, &sandbox.keirin(arguments));
    }
    insta::assert_snapshot!(failures.text());
}

#[test]
fn another_program_is_noticed() {
    let sandbox = sandbox();
    sandbox.keirin("infer good.std -o regions.toml").exits(0);
    sandbox.write("other.std", "T1|r(x)|other.c:1\n");
    let run = sandbox.keirin("detect --regions regions.toml other.std").exits(0);
    assert!(run.out.contains("none of the regions was entered"), "{}", run.out);
}
