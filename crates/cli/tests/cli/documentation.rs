//! The examples of docs/command-line.md do what the page says.

use crate::support::{SET_ADD, Sandbox, THREE};

const PAGE: &str = include_str!("../../../../docs/command-line.md");

/// The example that stands behind a comment with its name.
fn example(name: &str) -> &'static str {
    let rest = PAGE.split_once(&format!("<!-- {name} -->\n\n```toml\n")).expect("the page has the example").1;
    rest.split_once("```").expect("the example ends").0
}

#[test]
fn the_example_configuration_works_with_the_example_suppressions() {
    let sandbox = Sandbox::new();
    sandbox.folder("ci");
    sandbox.folder("src");
    sandbox.keirin(&format!("check {THREE} --write-baseline ci/baseline.json")).exits(66);
    for name in ["keirin.toml", "ci/suppressions.toml"] {
        sandbox.write(name, example(name));
    }
    let run = sandbox.keirin(&format!("check {SET_ADD} {THREE}")).exits(0);
    assert!(run.out.contains("1 suppressed") && run.out.contains("1 in the baseline"), "{}", run.out);
    assert!(run.out.contains("suppressions.toml:7: the suppression matched nothing"), "{}", run.out);
}

#[test]
fn the_commands_of_the_page_exist() {
    let sandbox = Sandbox::new();
    let commands = PAGE.lines().filter_map(|line| line.strip_prefix("    keirin "));
    let mut seen = 0;
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().take_while(|word| *word != "#").collect();
        sandbox.keirin(&format!("{} --help", words[0])).exits(0);
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            let help = sandbox.keirin(&format!("{} --help", words[0])).out;
            assert!(help.contains(flag), "{command}");
        }
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn the_page_has_the_exit_codes_of_the_help() {
    let sandbox = Sandbox::new();
    let help = sandbox.keirin("--help").exits(0).out;
    let codes = help.split_once("Exit codes: ").expect("the help has exit codes").1;
    let numbers = codes.split_whitespace().filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let listed: Vec<&str> = numbers.collect();
    assert_eq!(listed, ["0", "66", "2", "3"]);
    for code in listed {
        assert!(PAGE.contains(&format!("\n| {code} | ")), "{code}");
    }
}
