//! Copies of projects, to build in, and what `cargo keirin` says of them.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs and projects are.
pub(super) fn folder_of_tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// The files of a folder, in the order of their names.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A copy of a project. What was built in it before is still there, as it is for a user.
pub(super) struct Project {
    folder: PathBuf,
    /// Variables that its programs find.
    environment: Vec<(&'static str, String)>,
}

/// What a run did.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl Project {
    /// Copies a project to a folder of this name.
    pub(super) fn new(source: &Path, name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust").join(name);
        let _ = std::fs::remove_dir_all(folder.join("src"));
        copy(source, &folder);
        // It is elsewhere now.
        let manifest = folder.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        std::fs::write(&manifest, text.replace("../../../crates", crates.to_str().unwrap())).unwrap();
        Project { folder, environment: Vec::new() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// The same, with a variable that its programs find.
    pub(super) fn with(&self, name: &'static str, value: impl ToString) -> Self {
        let mut environment = self.environment.clone();
        environment.push((name, value.to_string()));
        Project { folder: self.folder.clone(), environment }
    }

    pub(super) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.folder.join(name), content).unwrap();
    }

    /// `cargo keirin OPTIONS WORDS`, as a user types it.
    pub(super) fn cargo_keirin(&self, options: &[&str], words: &[&str]) -> Run {
        let folder = Path::new(env!("CARGO_BIN_EXE_cargo-keirin")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("cargo");
        for (name, _) in std::env::vars_os() {
            // What the cargo that runs this test has set is not of the user.
            let text = name.to_string_lossy();
            if text.starts_with("CARGO") && text != "CARGO_HOME"
                || text.starts_with("KEIRIN")
                || text.starts_with("RUST") && text != "RUSTUP_HOME"
            {
                command.env_remove(name);
            }
        }
        command.arg("keirin").args(options).args(words).current_dir(&self.folder);
        command.env("PATH", format!("{}:{path}", folder.display()));
        command.env("KEIRIN_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command.envs(self.environment.iter().cloned());
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// The same, with the report in JSON.
    pub(super) fn report(&self, options: &[&str], words: &[&str]) -> (Run, Value) {
        let path = self.folder.join("report.json");
        let _ = std::fs::remove_file(&path);
        let run =
            self.cargo_keirin(&[options, &["--format", "json", "--output", "report.json"]].concat(), words);
        let text = std::fs::read(&path).unwrap_or_else(|error| panic!("no report: {error}; {run:?}"));
        (run, serde_json::from_slice(&text).unwrap())
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for path in files(from) {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// The lines of the steps of a finding: of each the innermost in the file of the program.
pub(super) fn lines(finding: &Value, program: &str) -> BTreeSet<u64> {
    let own = |frame: &&Value| {
        let file = frame["place"]["file"].as_str().unwrap_or_default();
        file.ends_with(&format!("{program}.rs"))
    };
    let line = |step: &Value| {
        let stack = step["stack"].as_array().cloned().unwrap_or_default();
        let frame = stack.iter().find(own).cloned();
        frame.and_then(|frame| frame["place"]["line"].as_u64()).unwrap_or(0)
    };
    finding["steps"].as_array().unwrap().iter().map(line).collect()
}
