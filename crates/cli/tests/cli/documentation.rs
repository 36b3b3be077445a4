//! The examples of the documentation do what the pages say.

use crate::support::{SET_ADD, Sandbox, THREE, traces};

const PAGE: &str = include_str!("../../../../docs/command-line.md");

/// The example that stands behind a comment with its name.
fn example(name: &str) -> &'static str {
    let rest = PAGE.split_once(&format!("<!-- {name} -->\n\n```")).expect("the page has the example").1;
    let (_, example) = rest.split_once('\n').expect("the example has lines");
    example.split_once("```").expect("the example ends").0
}

#[test]
fn the_example_rules_say_what_is_atomic() {
    let sandbox = Sandbox::new();
    sandbox.write("atomic.rules", example("atomic.rules"));
    // One thread lets go of its lock within a function, and another one comes between.
    let trace = |function: &str| {
        let step =
            |thread: &str| format!("{thread}|acq(l)|\n{thread}|r(x)|\n{thread}|w(x)|\n{thread}|rel(l)|\n");
        let (first, second) = (step("T1"), step("T2"));
        format!("T1|call(main)|\nT1|call({function})|\n{first}{second}{first}T1|return|\nT1|return|\n")
    };
    for (function, code) in
        [("withdraw", 66), ("deposit", 0), ("deposit_all", 66), ("worker", 0), ("main", 0)]
    {
        sandbox.write("trace.std", trace(function));
        sandbox.keirin("check trace.std --atomic-file atomic.rules").exits(code);
    }
}

#[test]
fn the_example_of_a_filter_hides_a_finding() {
    let sandbox = Sandbox::new();
    sandbox.write("hidden.std", example("hidden.std"));
    sandbox.keirin("check hidden.std").exits(66);
    let run = sandbox.keirin("check hidden.std --skip-thread-local").exits(0);
    assert!(run.out.contains("findings may be missing"), "{}", run.out);
}

#[test]
fn the_examples_of_the_analyses_are_the_traces_that_they_name() {
    let pages = [
        include_str!("../../../../docs/analyses/velodrome.md"),
        include_str!("../../../../docs/analyses/aerodrome.md"),
    ];
    let trace = std::fs::read_to_string(traces().join(SET_ADD)).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    for page in pages {
        let mut seen = 0;
        for line in page.lines().filter(|line| line.starts_with("    ")) {
            let mut words = line.split_whitespace();
            let (number, operation) = (words.next().unwrap(), words.next().unwrap());
            assert_eq!(lines[number.parse::<usize>().unwrap() - 1], operation, "{line}");
            seen += 1;
        }
        assert_eq!(seen, 12, "from the begin of the first block to the violation");
        assert!(page.contains("`testdata/traces/set_add.std`"));
    }
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
