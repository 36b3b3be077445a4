//! Compilers, and what they make.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler for C and the one of the same make for C++.
#[derive(Clone, Copy)]
pub(crate) struct Compiler {
    pub(crate) c: &'static str,
    pub(crate) cxx: &'static str,
    pub(crate) is_clang: bool,
}

/// Compilers that must be there, and one that may be.
const COMPILERS: [(Compiler, bool); 4] = [
    (Compiler { c: "gcc", cxx: "g++", is_clang: false }, true),
    (clang("clang-14", "clang++-14"), true),
    (clang("clang-16", "clang++-16"), false),
    (clang("clang-19", "clang++-19"), true),
];

const fn clang(c: &'static str, cxx: &'static str) -> Compiler {
    Compiler { c, cxx, is_clang: true }
}

/// All compilers of this machine. Fails if one is missing that must be there.
pub(crate) fn compilers() -> Vec<Compiler> {
    let mut found = Vec::new();
    for (compiler, required) in COMPILERS {
        let is_there = [compiler.c, compiler.cxx].iter().all(|name| {
            Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
        });
        assert!(is_there || !required, "{} and {} must be installed", compiler.c, compiler.cxx);
        if is_there {
            found.push(compiler);
        }
    }
    found
}

/// A folder for what tests make, named after the test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder for what is compiled");
    folder
}

/// Runs a command that must succeed. Returns what it prints.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The symbols that `nm` lists, with these options.
pub(crate) fn symbols(file: &Path, options: &[&str]) -> Vec<String> {
    run(Command::new("nm").args(options).arg(file))
        .lines()
        .filter_map(|line| line.split_whitespace().next_back())
        .map(str::to_owned)
        .collect()
}
