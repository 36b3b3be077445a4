//! Suppressions and baselines.

use crate::support::{CLEAN, SET_ADD, Sandbox, THREE};

#[test]
fn a_suppression_hides_with_its_reason_and_unused_ones_are_told() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "known.toml",
        "[[suppress]]\nregion = \"Set.*\"\nreason = \"only a cache\"\n\n\
         [[suppress]]\nfunction = \"gone\"\nreason = \"was harmless\"\n",
    );
    let run = sandbox.keirin(&format!("check {SET_ADD} --suppressions known.toml")).exits(0);
    assert_eq!(run.err, "");
    insta::assert_snapshot!("suppressed", run.out);
    let run = sandbox.keirin(&format!("check {SET_ADD} --suppressions known.toml --format json")).exits(0);
    let status = &run.json()["findings"][0]["status"];
    assert_eq!(status["kind"], "suppressed");
    assert_eq!(status["reason"], "only a cache");
    // What it does not match is still reported.
    let run = sandbox.keirin(&format!("check {SET_ADD} {THREE} --suppressions known.toml")).exits(66);
    assert!(run.out.contains("1 finding (1 suppressed)"), "{}", run.out);
}

#[test]
fn an_expired_suppression_does_not_count() {
    let sandbox = Sandbox::new();
    let entry = "[[suppress]]\nregion = \"Set.*\"\nreason = \"only a cache\"\n";
    sandbox.write("old.toml", format!("{entry}expires = \"2020-02-29\"\n"));
    sandbox.write("new.toml", format!("{entry}expires = \"9999-12-31\"\n"));
    let run = sandbox.keirin(&format!("check {SET_ADD} --suppressions old.toml")).exits(66);
    assert!(run.out.contains("old.toml:1: the suppression expired after 2020-02-29"), "{}", run.out);
    sandbox.keirin(&format!("check {SET_ADD} --suppressions new.toml")).exits(0);
}

#[test]
fn suggested_suppressions_can_be_used_as_a_file() {
    let sandbox = Sandbox::new();
    let check = format!("check {SET_ADD} {THREE}");
    let plain = sandbox.keirin(&check).exits(66);
    let run = sandbox.keirin(&format!("{check} --suggest-suppressions")).exits(66);
    assert_eq!(run.out, plain.out, "the report is the same");
    sandbox.write("known.toml", &run.err);
    let run = sandbox.keirin(&format!("{check} --suppressions known.toml --suggest-suppressions")).exits(0);
    assert!(run.out.contains("no findings (2 suppressed)"), "{}", run.out);
    assert!(!run.out.contains("note:"), "nothing to remark on: {}", run.out);
    assert_eq!(run.err, "", "nothing is left to suggest");
}

#[test]
fn a_baseline_lets_only_new_findings_fail() {
    let sandbox = Sandbox::new();
    sandbox.keirin(&format!("check {SET_ADD} --write-baseline known.json")).exits(66);
    let written = sandbox.text("known.json");
    let run = sandbox.keirin(&format!("check {SET_ADD} --baseline known.json")).exits(0);
    assert_eq!(run.out, "keirin: no findings (1 in the baseline) in 16 events of 2 threads by velodrome\n");
    let run = sandbox.keirin(&format!("check {SET_ADD} {THREE} --baseline known.json")).exits(66);
    assert!(run.out.contains("keirin: 1 finding (1 in the baseline)"), "{}", run.out);
    let run = sandbox.keirin(&format!("check {CLEAN} --baseline known.json --format json")).exits(0);
    let note = run.json()["summary"]["notes"][0].as_str().unwrap().to_owned();
    assert!(note.starts_with("in the baseline but not seen in this run: `Set.add` is not atomic"), "{note}");
    // One file for both: the first run makes it, later ones keep it up to date.
    let both = "--baseline new.json --write-baseline new.json";
    sandbox.keirin(&format!("check {SET_ADD} {both}")).exits(66);
    assert_eq!(sandbox.text("new.json"), written);
    sandbox.keirin(&format!("check {SET_ADD} {both}")).exits(0);
    assert_eq!(sandbox.text("new.json"), written);
}

#[test]
fn a_baseline_is_not_made_from_half_of_the_inputs() {
    let sandbox = Sandbox::new();
    sandbox.write("known.json", "what was there");
    let run = sandbox.keirin(&format!("check {SET_ADD} missing --write-baseline known.json")).exits(3);
    assert!(run.err.contains("known.json is not written"), "{run:?}");
    assert_eq!(sandbox.text("known.json"), "what was there");
    let run = sandbox.keirin("check missing --write-baseline other.json").exits(3);
    assert!(run.message().contains("missing: cannot be opened"), "{run:?}");
    assert!(!sandbox.path("other.json").exists());
}
