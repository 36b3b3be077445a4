//! A crate as a user has it, and crates that something is wrong with.

use super::support::{Project, folder_of_tests};
use std::os::unix::fs::PermissionsExt;

fn example(name: &str) -> Project {
    Project::new(&folder_of_tests().join("projects/cargo"), name)
}

#[test]
fn the_tests_of_a_crate_are_watched_and_the_report_shows_both_sections() {
    let project = example("example");
    let before = std::fs::read_to_string(project.path().join("Cargo.toml")).unwrap();
    let run = project.cargo_keirin(&[], &["test"]);
    assert_eq!(run.code, 66, "{run:?}");
    assert_eq!(run.out.matches("test result: ok").count(), 3, "{run:?}");
    for part in [
        "warning[lock-gap]: `HashMap<String, u32>",
        "self.names.lock().unwrap().contains_key(name)",
        "self.names.lock().unwrap().insert(name.to_owned(), who);",
        "registry::Registry::contains ← registry::Registry::register",
        "keirin: 1 finding",
    ] {
        assert!(run.err.contains(part), "{part} is missing: {}", run.err);
    }
    let after = std::fs::read_to_string(project.path().join("Cargo.toml")).unwrap();
    assert_eq!(before, after);
    let built: Vec<String> = std::fs::read_dir(project.path().join("target"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("keirin-"))
        .collect();
    assert!(built.is_empty(), "what the user builds is not touched: {built:?}");
}

#[test]
fn a_program_without_findings_ends_as_it_would() {
    let run = example("clean").cargo_keirin(&[], &["run", "--quiet"]);
    assert_eq!((run.code, &*run.out), (0, "1 got it\n"), "{run:?}");
    assert!(run.err.starts_with("keirin: no findings"), "{run:?}");
}

#[test]
fn a_crate_that_does_not_compile_gets_the_message_of_the_compiler() {
    let project = example("broken");
    project.write("src/main.rs", "fn main() { let x: u32 = \"text\"; }\n");
    let run = project.cargo_keirin(&[], &["build"]);
    assert_eq!(run.code, 101, "{run:?}");
    assert!(run.err.contains("error[E0308]: mismatched types") && !run.err.contains("keirin: "), "{run:?}");
}

#[test]
fn a_test_that_fails_fails() {
    let project = example("failing");
    project.write("src/lib.rs", "#[test]\nfn fails() {\n    panic!(\"as it should\");\n}\n");
    project.write("src/main.rs", "fn main() {}\n");
    let run = project.cargo_keirin(&[], &["test"]);
    assert_eq!(run.code, 101, "{run:?}");
    assert!(run.out.contains("as it should") && run.err.contains("keirin: no findings"), "{run:?}");
}

#[test]
fn what_cannot_be_done_for_several_programs_is_refused() {
    let run = example("refused").cargo_keirin(&["--examine"], &["test"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("cargo keirin checks programs while they run"), "{run:?}");
}

#[test]
fn races_are_looked_for_by_one_analysis() {
    let run = example("refused").cargo_keirin(&["--races", "--analysis", "eraser"], &["test"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("--races is about data races"), "{run:?}");
}

/// A compiler whose library cannot be rewritten: there is a warning, no false report, and races of the program are found.
#[test]
fn without_the_library_its_order_is_still_known() {
    let project = Project::new(&folder_of_tests().join("programs/rust/races"), "races-without-library");
    let compiler = project.path().join("compiler");
    let text = "#!/bin/sh\n[ \"$*\" = '--print sysroot' ] && echo /nonexistent && exit\nexec rustc \"$@\"\n";
    std::fs::write(&compiler, text).unwrap();
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).unwrap();
    let project = project.with("RUSTC", compiler.display());
    for (program, code) in [("channels", 0), ("once", 0), ("locks", 0), ("relaxed_flag", 66)] {
        let run = project.cargo_keirin(&["--races"], &["run", "--bin", program]);
        assert_eq!(run.code, code, "{program}: {run:?}");
        assert!(
            run.err.contains("warning: the library of Rust") && run.err.contains("/nonexistent"),
            "{run:?}"
        );
    }
}
