//! Where options come from, and which source wins.

use crate::support::{SET_ADD, Sandbox};

/// A trace with five findings at one place of the program.
fn five_findings() -> String {
    let torn = |i: u32| {
        format!(
            "T1|begin(block {i})|a.c:1\nT1|r(x{i})|a.c:2\nT2|w(x{i})|b.c:1\nT1|w(x{i})|a.c:3\nT1|end|a.c:4\n"
        )
    };
    (0..5).map(torn).collect()
}

/// How many findings are shown, and how many hidden.
fn shown(sandbox: &Sandbox, arguments: &str, variable: Option<&str>) -> (usize, u64) {
    let variables: Vec<(&str, &str)> = variable.map(|text| ("KEIRIN_OPTIONS", text)).into_iter().collect();
    let arguments = format!("check five.std --format json {arguments}");
    let report = sandbox.keirin_with(&arguments, &variables).exits(66).json();
    let hidden = report["summary"]["counts"]["hidden"].as_u64().unwrap();
    (report["findings"].as_array().unwrap().len(), hidden)
}

#[test]
fn a_flag_wins_over_the_variable_and_that_over_the_file() {
    let sandbox = Sandbox::new();
    sandbox.write("five.std", five_findings());
    assert_eq!(shown(&sandbox, "", None), (5, 0), "the default is ten");
    sandbox.write("keirin.toml", "max-per-site = 1\n");
    assert_eq!(shown(&sandbox, "", None), (1, 4));
    assert_eq!(shown(&sandbox, "", Some("max-per-site=2")), (2, 3));
    assert_eq!(shown(&sandbox, "--max-per-site 3", Some("max-per-site=2")), (3, 2));
    assert_eq!(shown(&sandbox, "--max-per-site 3", None), (3, 2));
    assert_eq!(shown(&sandbox, "--max-per-site 0", None), (5, 0), "0 shows all");
    assert_eq!(shown(&sandbox, "--max-per-site 3 --max-per-site 4", None), (4, 1), "the last flag counts");
}

#[test]
fn hidden_findings_are_told_and_still_fail() {
    let sandbox = Sandbox::new();
    sandbox.write("five.std", five_findings());
    let run = sandbox.keirin("check five.std --max-per-site 1").exits(66);
    assert_eq!(run.out.matches("error[atomicity-violation]").count(), 1, "{}", run.out);
    assert!(run.out.contains("1 finding (4 hidden by the cap per site)"), "{}", run.out);
}

#[test]
fn the_file_is_found_in_a_parent_folder_and_its_paths_are_relative_to_it() {
    let sandbox = Sandbox::new();
    sandbox.folder("lib");
    sandbox.folder("lib/deep");
    sandbox.folder("settings");
    sandbox.write("keirin.toml", "suppressions = [\"settings/known.toml\"]\n");
    sandbox.write(
        "settings/known.toml",
        "[[suppress]]\nregion = \"Set.add\"\nreason = \"a test of the configuration\"\n",
    );
    let check = format!("\"$KEIRIN\" check \"$OLDPWD/{SET_ADD}\"");
    let run = sandbox.shell(&format!("cd lib/deep && {check}")).exits(0);
    assert!(run.out.contains("no findings (1 suppressed)"), "{run:?}");
    // The nearest file is the only one.
    sandbox.write("lib/keirin.toml", "lenient = true\n");
    sandbox.shell(&format!("cd lib/deep && {check}")).exits(66);
}

#[test]
fn lists_of_files_add_up() {
    let sandbox = Sandbox::new();
    for (name, region) in [("a", "Set.add"), ("b", "nothing b"), ("c", "nothing c")] {
        let text = format!("[[suppress]]\nregion = \"{region}\"\nreason = \"a test\"\n");
        sandbox.write(name, text);
    }
    sandbox.write("keirin.toml", "suppressions = \"a\"\n");
    let arguments = format!("check {SET_ADD} --suppressions c --format json");
    let run = sandbox.keirin_with(&arguments, &[("KEIRIN_OPTIONS", "suppressions=b")]).exits(0);
    let report = run.json();
    let notes = report["summary"]["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 2, "b and c matched nothing: {notes:?}");
}

#[test]
fn options_of_other_commands_in_the_file_do_not_matter() {
    let sandbox = Sandbox::new();
    sandbox.write("keirin.toml", "write-baseline = \"known.json\"\nfamily = \"mixed\"\nmax-per-site = 3\n");
    sandbox.keirin("demo").exits(0);
    assert!(!sandbox.path("known.json").exists(), "a demonstration has no baseline");
    sandbox.keirin(&format!("check {SET_ADD}")).exits(66);
    assert!(sandbox.path("known.json").exists());
}
