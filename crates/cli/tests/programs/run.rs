//! Runs programs under `keirin run`, with a limit of time.

use super::build::{KEIRIN, Program, unique};
use super::report::{self, Finding};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The programs take less than a second; a loaded machine may take its time.
const LIMIT: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(5);

/// What came of a run.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) findings: Vec<Finding>,
    /// Of the program and keirin together.
    pub(super) output: String,
    /// What went to standard error.
    pub(super) messages: String,
    pub(super) status: Option<i32>,
}

/// A folder for one run; removed at its end.
pub(super) fn scratch() -> tempfile::TempDir {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let prefix = format!("run-{}-", unique());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(folder).expect("a temporary folder")
}

/// Runs a program once, with some options of `keirin run`.
pub(super) fn watch(program: &Program, options: &[&str]) -> Result<Outcome, String> {
    watch_with(program, options, |_| {})
}

/// The analyses that programs with tasks are for.
pub(super) const TASK_ANALYSES: &str = "ptracer,task-atomicity";

/// Runs a program with tasks once, on so many threads, and looks at all schedules of that run.
pub(super) fn watch_tasks(program: &Program, threads: &str, options: &[&str]) -> Result<Outcome, String> {
    let options = [&["--analysis", TASK_ANALYSES], options].concat();
    watch_with(program, &options, |command| {
        let own = program.directives.environment.iter().map(|(name, value)| (name, value));
        command.env("OMP_NUM_THREADS", threads).envs(own);
    })
}

/// Runs a program once, on two threads, with a side of its branch that it is to execute if it can, and decides what it finds.
pub(super) fn diagnose(program: &Program, analyses: &str, side: &str) -> Result<Outcome, String> {
    watch_with(program, &["--diagnose", "--analysis", analyses], |command| {
        command.env("OMP_NUM_THREADS", "2").env("SIDE", side);
    })
}

fn watch_with(
    program: &Program,
    options: &[&str],
    prepare: impl FnOnce(&mut Command),
) -> Result<Outcome, String> {
    let folder = scratch();
    let mut command = Command::new(KEIRIN);
    command.args(["run", "--format", "json", "--max-per-site", "0", "--output", "report.json"]);
    command.args(options).arg("--").arg(&program.executable).args(&program.arguments);
    prepare(&mut command);
    finish(command, folder.path(), &program.files)
}

/// Runs a command of keirin that writes `report.json` into its folder.
pub(super) fn finish(mut command: Command, folder: &Path, files: &[String]) -> Result<Outcome, String> {
    let path = |name: &str| -> PathBuf { folder.join(name) };
    let create = |name: &str| File::create(path(name)).map_err(|error| format!("{name}: {error}"));
    command
        .env_remove("KEIRIN_OPTIONS")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(create("output")?)
        .stderr(create("messages")?)
        .process_group(0);
    let ended = wait(&mut command)?;
    let read = |name: &str| {
        let bytes = std::fs::read(path(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let messages = read("messages");
    let Some(status) = ended else { return Err(format!("killed after {LIMIT:?}: {messages}")) };
    let findings = report::read(&path("report.json"), files)
        .map_err(|error| format!("{error}; ended with {status}: {messages}"))?;
    Ok(Outcome { findings, output: read("output"), messages, status: status.code() })
}

/// None if it took too long.
fn wait(command: &mut Command) -> Result<Option<ExitStatus>, String> {
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        if started.elapsed() > LIMIT {
            // The program as well, which is in the same group.
            let group = format!("-{}", child.id());
            let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
            killed.map_err(|error| format!("cannot kill {group}: {error}"))?;
            child.wait().map_err(|error| error.to_string())?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}
