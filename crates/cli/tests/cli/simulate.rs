//! `simulate`: the modelled hardware.

use crate::support::{Failures, Sandbox};

/// A region with two reads of `x`, and one with a write of it.
const REGIONS: &str = "version = 1\n[[run]]\nname = \"good.std\"\n\
    [[region]]\nentry = \"a.c:1\"\nat = \"read_twice a.c:1\"\nexits = [{ site = \"a.c:2\", runs = \"1\" }]\n\
    [[region]]\nentry = \"a.c:3\"\nexits = [{ site = \"a.c:3\", runs = \"1\" }]\n";
const TORN: &str = "T1|fork(T2)|a.c:9\nT1|r(x)|a.c:1\nT2|w(x)|a.c:3\nT1|r(x)|a.c:2\n";
/// The second variable is in the same line of the caches.
const SHARED: &str = "T1|fork(T2)|a.c:9\nT1|r(x)|a.c:1\nT2|w(y)|a.c:3\nT1|r(x)|a.c:2\n";
const WHOLE: &str = "T1|fork(T2)|a.c:9\nT1|r(x)|a.c:1\nT1|r(x)|a.c:2\nT2|w(x)|a.c:3\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("regions.toml", REGIONS);
    sandbox.write("torn.std", TORN);
    sandbox.write("shared.std", SHARED);
    sandbox.write("whole.std", WHOLE);
    sandbox
}

#[test]
fn violations_false_alarms_and_costs_are_told() {
    let sandbox = sandbox();
    let run = sandbox.keirin("simulate --regions regions.toml torn.std shared.std whole.std").exits(66);
    insta::assert_snapshot!(run.out);
    assert_eq!(sandbox.keirin("simulate --regions regions.toml whole.std").exits(0).err, "");
}

#[test]
fn a_simulation_is_told_in_json() {
    let sandbox = sandbox();
    let run = sandbox.keirin("simulate --regions regions.toml --format json torn.std shared.std").exits(66);
    let told = run.json();
    assert_eq!(told[0]["origins"]["in software as well"], 1, "{told}");
    assert_eq!(told[1]["origins"]["false sharing"], 1, "{told}");
    assert_eq!(told[1]["alarms"]["software"]["all"], 0, "{told}");
    assert_eq!(told[0]["list"][0]["acting"]["at"], "read_twice a.c:1", "{told}");
}

#[test]
fn the_machine_can_be_changed() {
    let sandbox = sandbox();
    // With lines of one variable there is nothing to share.
    sandbox.keirin("simulate --regions regions.toml --cache-line 8 shared.std").exits(0);
    let cycles = |options: &str| {
        let run =
            sandbox.keirin(&format!("simulate --regions regions.toml --format json {options} whole.std"));
        run.json()[0]["cycles"]["without"].as_u64().unwrap()
    };
    assert!(cycles("--memory-cycles 200") > cycles(""));
    assert!(cycles("--l1 64:1:9 --l2 64:1:50") > cycles(""));
}

#[test]
fn what_is_wrong_is_told() {
    let sandbox = sandbox();
    let mut failures = Failures::default();
    for arguments in [
        "simulate torn.std",
        "simulate --regions missing.toml torn.std",
        "simulate --regions torn.std torn.std",
        "simulate --regions regions.toml missing.std",
        "simulate --regions regions.toml --format sarif torn.std",
        "simulate --regions regions.toml --cores 0 torn.std",
        "simulate --regions regions.toml --cache-line 24 torn.std",
        "simulate --regions regions.toml --l1 32K torn.std",
        "simulate --regions regions.toml --l2 1K:1:1 torn.std",
        "simulate --regions regions.toml --signature-bits 1000 torn.std",
        "simulate --regions regions.toml --signature-hash md5 torn.std",
        "simulate --regions regions.toml --shadows 0 torn.std",
    ] {
        failures.add(&sandbox, arguments, &sandbox.keirin(arguments));
    }
    insta::assert_snapshot!(failures.text());
}
