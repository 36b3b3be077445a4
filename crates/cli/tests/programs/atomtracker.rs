//! Learned regions, from recorded runs to a run that is watched: for each program of `atomtracker/bugs` good runs are recorded and
//! learned from, and the bug, which the program then makes happen, must be told while it runs. Nothing may be told of the runs
//! that were learned from.

use super::FINDINGS;
use super::build::{self, KEIRIN};
use std::path::Path;
use std::process::{Command, Output};

/// So many runs are recorded; those that went wrong are left out.
const TRAINING_RUNS: u32 = 10;

#[test]
fn a_bug_is_told_online_after_learning_from_good_runs() {
    let sources = build::sources("atomtracker/bugs");
    assert_eq!(sources.len(), 8, "the bugs of the paper");
    let failures: Vec<String> = sources
        .iter()
        .filter_map(|source| test(source).err().map(|why| format!("{}: {why}", source.display())))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn test(source: &Path) -> Result<(), String> {
    let folder = super::run::scratch();
    let keirin = |words: &[&str]| -> Result<Output, String> {
        Command::new(KEIRIN)
            .args(words)
            .current_dir(folder.path())
            .output()
            .map_err(|error| format!("cannot be started: {error}"))
    };
    let source = source.to_string_lossy();
    let built = keirin(&["cc", "-O1", "-g", "-pthread", "-o", "program", &source])?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    let mut traces = Vec::new();
    for seed in 1..=TRAINING_RUNS {
        let (seed, trace) = (seed.to_string(), format!("{seed}.ktrace"));
        let run = keirin(&["record", "--exact-order", "-o", &trace, "--", "./program", &seed])?;
        if run.status.success() {
            traces.push(trace);
        }
    }
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let learned = keirin(&[&["infer", "-o", "regions.toml"], &traces[..]].concat())?;
    if !learned.status.success() {
        return Err(String::from_utf8_lossy(&learned.stderr).into_owned());
    }
    let again = keirin(&[&["detect", "--regions", "regions.toml"], &traces[..]].concat())?;
    if !again.status.success() {
        return Err(format!("told of a training run: {}", String::from_utf8_lossy(&again.stdout)));
    }
    let torn = keirin(&["run", "--regions", "regions.toml", "--", "./program", "1", "tear"])?;
    let said = String::from_utf8_lossy(&torn.stderr);
    if torn.status.code() != Some(FINDINGS) || !said.contains("atomicity-violation") {
        return Err(format!("the bug was not told after {} good runs: {said}", traces.len()));
    }
    Ok(())
}
