//! A folder to work in and a way to run keirin there.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) const KEIRIN: &str = env!("CARGO_BIN_EXE_keirin");

/// A trace with one finding, and a trace with another one.
pub(crate) const SET_ADD: &str = "set_add.std";
pub(crate) const THREE: &str = "three_transactions.std";
/// A trace without findings.
pub(crate) const CLEAN: &str = "reentrant_lock.std";

/// Memory for runs on hostile input, in kibibytes: far more than keirin needs, far less than such input would take.
const MEMORY_LIMIT: u64 = 300 * 1024;

/// Where the traces of the repository are.
pub(crate) fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces")
}

/// What a run did.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    fn of(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let run = Run {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        };
        assert!([0, 2, 3, 66].contains(&run.code), "an exit code that is not documented: {run:?}");
        assert!(!run.err.contains("internal error") && !run.err.contains("panicked"), "{run:?}");
        run
    }

    /// The run, after its exit code was looked at.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// The only line on standard error.
    #[track_caller]
    pub(crate) fn message(&self) -> &str {
        assert_eq!(self.err.lines().count(), 1, "one message: {self:?}");
        self.err.trim_end()
    }

    /// The report, in JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A folder of its own for a test, with copies of the traces that most tests need.
pub(crate) struct Sandbox(TempDir);

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox(tempfile::tempdir().unwrap());
        for name in [SET_ADD, THREE, CLEAN] {
            std::fs::copy(traces().join(name), sandbox.path(name)).unwrap();
        }
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub(crate) fn folder(&self, name: &str) {
        std::fs::create_dir(self.path(name)).unwrap();
    }

    /// The names of all files, hidden ones too.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A command in the folder, without what the environment of the tests may say.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        for variable in
            ["KEIRIN_OPTIONS", "KEIRIN_CC", "KEIRIN_CXX", "NO_COLOR", "COLUMNS", "CLICOLOR", "CLICOLOR_FORCE"]
        {
            command.env_remove(variable);
        }
        // All tests share one: they are many compilers at the same time.
        command.env("KEIRIN_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command
    }

    /// Runs keirin with arguments that have no blanks.
    #[track_caller]
    pub(crate) fn keirin(&self, arguments: &str) -> Run {
        self.keirin_with(arguments, &[])
    }

    /// Runs keirin with variables.
    #[track_caller]
    pub(crate) fn keirin_with(&self, arguments: &str, variables: &[(&str, &str)]) -> Run {
        let mut command = self.command(KEIRIN);
        command.args(arguments.split_whitespace()).envs(variables.iter().copied());
        Run::of(command.output().unwrap())
    }

    /// Runs keirin with so little memory that it cannot hold what it should not.
    #[track_caller]
    pub(crate) fn keirin_bounded(&self, arguments: &str) -> Run {
        self.shell(&format!("ulimit -v {MEMORY_LIMIT} && exec \"$KEIRIN\" {arguments}"))
    }

    /// Runs a script of the shell, which finds keirin in `$KEIRIN`.
    #[track_caller]
    pub(crate) fn shell(&self, script: &str) -> Run {
        Run::of(self.command("sh").args(["-c", script]).env("KEIRIN", KEIRIN).output().unwrap())
    }

    /// Runs keirin with something on standard input.
    #[track_caller]
    pub(crate) fn keirin_reading(&self, arguments: &str, input: &[u8]) -> Run {
        let mut command = self.command(KEIRIN);
        command.args(arguments.split_whitespace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Keirin may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input);
        Run::of(child.wait_with_output().unwrap())
    }

    /// Runs a script of the shell that is to succeed, and returns all that it says. `keirin` is on its path, and what
    /// compilers say in English.
    #[track_caller]
    pub(crate) fn succeeds(&self, script: &str) -> String {
        let (success, said) = self.script(script);
        assert!(success, "{script}\n{said}");
        said
    }

    /// The same for a script that is to fail.
    #[track_caller]
    pub(crate) fn fails(&self, script: &str) -> String {
        let (success, said) = self.script(script);
        assert!(!success, "{script}\n{said}");
        said
    }

    fn script(&self, script: &str) -> (bool, String) {
        let folder = Path::new(KEIRIN).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let output = self
            .command("bash")
            .args(["-c", &format!("exec 2>&1; set -e -o pipefail; {script}")])
            .env("PATH", format!("{}:{path}", folder.display()))
            .env("KEIRIN", KEIRIN)
            .env("LC_ALL", "C")
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A text without what differs from run to run and from release to release.
    pub(crate) fn stable(&self, text: &str) -> String {
        text.replace(&self.0.path().display().to_string(), "[DIR]")
            .replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
    }
}

/// Several runs that should fail, each with its exit code and message, for one snapshot.
#[derive(Default)]
pub(crate) struct Failures(String);

impl Failures {
    #[track_caller]
    pub(crate) fn add(&mut self, sandbox: &Sandbox, what: &str, run: &Run) {
        assert!(run.code == 2 || run.code == 3, "{what}: {run:?}");
        assert_eq!(run.out, "", "{what}");
        self.0 += &format!("{what}\n  exit {}: {}\n", run.code, sandbox.stable(run.message()));
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}
