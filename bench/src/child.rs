//! Runs a child process and tells what it cost.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use wait4::{ResUse, Wait4};

/// How often a child with a time limit is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How `keirin check` ends if it found something.
const FINDINGS: i32 = 66;

/// What a child cost, and what it said.
#[derive(Clone, Debug)]
pub struct Cost {
    /// User and system time.
    pub processor: Duration,
    /// Peak of the resident memory, in bytes. Never less than this process had when it started the child, which is why
    /// the tables are made without reading a trace here.
    pub memory: u64,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub messages: String,
}

/// How a child ended.
#[derive(Clone, Debug)]
pub enum Ending {
    /// It did its work.
    Done(Cost),
    /// It was killed after the time limit.
    Killed,
}

/// Runs a command to its end, or to a limit of real time. What it prints goes through files in `folder`, so that
/// a child that prints much is not slowed down by who reads it.
pub fn run(command: &mut Command, folder: &Path, limit: Option<Duration>) -> Result<Ending> {
    let Some((status, cost)) = measure(command, folder, limit, u64::MAX)? else { return Ok(Ending::Killed) };
    ensure_success(command, status, &cost)?;
    Ok(Ending::Done(cost))
}

/// Runs a command to its end, where findings are no failure. Of its output only so many bytes at the end are kept: with
/// a long report in memory, this process would count in what its next children seem to need.
pub fn run_with_findings(command: &mut Command, folder: &Path, most: u64) -> Result<Cost> {
    match run_with_findings_until(command, folder, None, most)? {
        Ending::Done(cost) => Ok(cost),
        Ending::Killed => bail!("{command:?} was killed"),
    }
}

/// The same, to its end or to a limit of real time.
pub fn run_with_findings_until(
    command: &mut Command,
    folder: &Path,
    limit: Option<Duration>,
    most: u64,
) -> Result<Ending> {
    let Some((status, cost)) = measure(command, folder, limit, most)? else { return Ok(Ending::Killed) };
    if status.code() != Some(FINDINGS) {
        ensure_success(command, status, &cost)?;
    }
    Ok(Ending::Done(cost))
}

/// None if the limit was reached.
fn measure(
    command: &mut Command,
    folder: &Path,
    limit: Option<Duration>,
    most: u64,
) -> Result<Option<(ExitStatus, Cost)>> {
    let output = folder.join("output");
    let messages = folder.join("messages");
    command
        .stdin(Stdio::null())
        .stdout(File::create(&output)?)
        .stderr(File::create(&messages)?)
        // Settings of whoever measures must not change what is measured.
        .env_remove("KEIRIN_OPTIONS")
        .current_dir(folder);
    let Some(ResUse { status, rusage }) = wait(command, limit)? else { return Ok(None) };
    let cost = Cost {
        processor: rusage.utime + rusage.stime,
        memory: rusage.maxrss,
        output: read(&output, most)?,
        messages: read(&messages, u64::MAX)?,
    };
    Ok(Some((status, cost)))
}

/// Keeps the least time and the least memory of all rounds.
pub(crate) fn improve(best: &mut Option<Cost>, mut cost: Cost) {
    if let Some(best) = best {
        cost.processor = cost.processor.min(best.processor);
        cost.memory = cost.memory.min(best.memory);
    }
    *best = Some(cost);
}

/// Runs a command without a limit.
pub fn run_to_end(command: &mut Command, folder: &Path) -> Result<Cost> {
    match run(command, folder, None)? {
        Ending::Done(cost) => Ok(cost),
        Ending::Killed => bail!("{command:?} was killed"),
    }
}

/// None if the limit was reached.
fn wait(command: &mut Command, limit: Option<Duration>) -> Result<Option<ResUse>> {
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let Some(limit) = limit else { return Ok(Some(child.wait4()?)) };
    loop {
        if let Some(used) = child.try_wait4()? {
            return Ok(Some(used));
        }
        if started.elapsed() >= limit {
            child.kill()?;
            child.wait4()?;
            return Ok(None);
        }
        sleep(LOOK);
    }
}

/// The end of a file, up to so many bytes.
fn read(path: &Path, most: u64) -> Result<String> {
    let end = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = end().with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Most traces have no violations, so that even a finding is a failure unless it was expected.
fn ensure_success(command: &Command, status: ExitStatus, cost: &Cost) -> Result<()> {
    if !status.success() {
        bail!("{command:?} failed with {status}:\n{}{}", cost.output, cost.messages);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_measured() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cost = run_to_end(Command::new("sh").args(["-c", "echo out; echo err >&2"]), folder.path());
        let cost = cost.expect("the shell runs");
        assert_eq!((cost.output.as_str(), cost.messages.as_str()), ("out\n", "err\n"));
        assert!(cost.memory > 0);
    }

    #[test]
    fn a_child_over_its_limit_is_killed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ending = run(Command::new("sleep").arg("60"), folder.path(), Some(Duration::ZERO));
        assert!(matches!(ending, Ok(Ending::Killed)), "{ending:?}");
    }

    #[test]
    fn findings_are_a_failure_unless_expected() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let exit = |code: i32| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exit {code}")]);
            command
        };
        assert!(run_to_end(&mut exit(FINDINGS), folder.path()).is_err());
        assert!(run_with_findings(&mut exit(FINDINGS), folder.path(), 9).is_ok());
        assert!(run_with_findings(&mut exit(3), folder.path(), 9).is_err());
    }

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("sh");
        command.args(["-c", "echo long; echo end"]);
        let cost = run_with_findings(&mut command, folder.path(), 4);
        assert_eq!(cost.expect("the shell runs").output, "end\n");
    }

    #[test]
    fn the_best_of_all_rounds_counts() {
        let mut best = None;
        for (milliseconds, memory) in [(30, 200), (20, 300), (40, 100)] {
            let processor = Duration::from_millis(milliseconds);
            let cost = Cost { processor, memory, output: String::new(), messages: String::new() };
            improve(&mut best, cost);
        }
        let best = best.expect("there were rounds");
        assert_eq!((best.processor.as_millis(), best.memory), (20, 100));
    }

    #[test]
    fn a_failure_shows_what_the_child_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = run_to_end(Command::new("sh").args(["-c", "echo why >&2; exit 3"]), folder.path());
        assert!(error.is_err_and(|error| error.to_string().contains("why")));
    }
}
