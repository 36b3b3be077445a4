//! Help, versions, explanations and completions.

use crate::support::Sandbox;

#[test]
fn help_of_all_commands() {
    let sandbox = Sandbox::new();
    let mut pages = String::new();
    let commands = [
        "",
        "run",
        "confirm",
        "record",
        "check",
        "demo",
        "convert",
        "gen",
        "stats",
        "infer",
        "detect",
        "simulate",
        "explain",
        "doctor",
        "completions",
    ];
    for command in commands {
        let run = sandbox.keirin(&format!("{command} --help")).exits(0);
        assert_eq!(run.err, "");
        pages += &format!("$ keirin {command} --help\n{}\n", run.out);
        if !command.is_empty() {
            assert_eq!(sandbox.keirin(&format!("help {command}")).exits(0).out, run.out);
        }
    }
    insta::assert_snapshot!(sandbox.stable(&pages));
}

#[test]
fn version() {
    let sandbox = Sandbox::new();
    for flag in ["--version", "-V"] {
        assert_eq!(sandbox.stable(&sandbox.keirin(flag).exits(0).out), "keirin [VERSION]\n");
    }
}

#[test]
fn rules_are_explained() {
    let sandbox = Sandbox::new();
    let list = sandbox.keirin("explain").exits(0).out;
    let rules: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(rules.contains(&"atomicity-violation"), "{list}");
    for rule in rules {
        let page = sandbox.keirin(&format!("explain {rule}")).exits(0).out;
        for heading in [rule, "\nEXAMPLE\n", "\nHOW TO FIX IT\n"] {
            assert!(page.contains(heading), "{page}");
        }
    }
    insta::assert_snapshot!("explain", sandbox.keirin("explain atomicity-violation").out);
}

#[test]
fn an_unknown_rule_gets_a_suggestion() {
    let sandbox = Sandbox::new();
    for typed in ["atomicity", "atomicty-violation", "Atomicity-Violation"] {
        let run = sandbox.keirin(&format!("explain {typed}")).exits(2);
        assert_eq!(
            run.message(),
            format!(
                "keirin: error: there is no rule `{typed}`. Did you mean `atomicity-violation`? `keirin explain` \
                 lists all rules"
            )
        );
    }
    let run = sandbox.keirin("explain x").exits(2);
    assert_eq!(run.message(), "keirin: error: there is no rule `x`. `keirin explain` lists all rules");
}

#[test]
fn completions_know_the_commands_and_options() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let run = sandbox.keirin(&format!("completions {shell}")).exits(0);
        assert_eq!(run.err, "");
        for word in ["check", "explain", "max-per-site"] {
            assert!(run.out.contains(word), "{shell}: {word}");
        }
    }
    // The one shell that can be relied on reads its script without complaint.
    let run = sandbox.shell("\"$KEIRIN\" completions bash > script && bash -n script").exits(0);
    assert_eq!(run.err, "");
}
