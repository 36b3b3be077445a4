//! Adversarial scheduling: how often a defect is found with it and without it.

use super::build::{Build, Builder, Compiler};
use super::{directives, test_programs};
use crate::child::run_with_findings;
use crate::programs::Programs;
use crate::table::Table;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often each program is run, with and without.
    pub runs: u32,
    /// The compiler of the programs.
    pub compiler: Compiler,
}

/// The options that are compared; without any, the system's scheduler decides alone.
const POLICIES: [Option<&str>; 4] =
    [None, Some("--adversarial=all"), Some("--adversarial=writes"), Some("--adversarial=spare-one")];

/// Runs all programs with a removed lock, in turn with and without adversarial scheduling.
pub fn table(programs: &Programs, settings: &Settings) -> Result<String> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let builder = Builder { programs, compiler: settings.compiler, folder: folder.path() };
    let heads = ["program", "alone", "`all`", "`writes`", "`spare-one`"];
    let mut table = Table::new(&heads);
    let mut sums = [0; POLICIES.len()];
    let sources = test_programs("adversarial")?;
    for source in &sources {
        let std = if source.extension().is_some_and(|extension| extension == "cpp") {
            "-std=gnu++20"
        } else {
            "-std=gnu17"
        };
        let program = builder.build(source, Build::Keirin, &["-g", "-O1", "-pthread", std])?;
        let expected = directives(source, "expect")?;
        let options = directives(source, "run")?.join(" ");
        let mut found = [0; POLICIES.len()];
        for _ in 0..settings.runs {
            for (policy, found) in POLICIES.iter().zip(&mut found) {
                let mut command = programs.bare_keirin();
                command.args(["run", "--format", "json", "--output", "report"]);
                command.args(options.split_whitespace()).args(*policy).arg("--").arg(&program);
                run_with_findings(&mut command, folder.path(), 0)?;
                *found += u32::from(is_found(&folder.path().join("report"), &expected)?);
            }
        }
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let shares = found.map(|found| share(found, settings.runs));
        table.row([name].into_iter().chain(shares).collect());
        for (sum, found) in sums.iter_mut().zip(found) {
            *sum += found;
        }
    }
    let runs = settings.runs * u32::try_from(sources.len()).unwrap_or(u32::MAX);
    let shares = sums.map(|sum| share(sum, runs));
    table.row(["all".to_owned()].into_iter().chain(shares).collect());
    Ok(format!("{} runs of each, built with {}.\n\n{table}\n", settings.runs, settings.compiler.name()))
}

fn share(found: u32, runs: u32) -> String {
    format!("{:.0} %", 100.0 * f64::from(found) / f64::from(runs.max(1)))
}

/// Whether a report says, as observed, what the program expects.
fn is_found(report: &Path, expected: &[String]) -> Result<bool> {
    let report = std::fs::read(report).context("keirin has written no report")?;
    let report: Value = serde_json::from_slice(&report).context("the report is no JSON")?;
    let findings = report["findings"].as_array().context("the report has no findings")?;
    let told = |finding: &Value| -> Vec<String> {
        let rule = finding["rule"].as_str().unwrap_or_default();
        let refuted = finding["refuted"].as_array().into_iter().flatten();
        refuted.filter_map(|block| block["region"].as_str()).map(|label| format!("{rule} {label}")).collect()
    };
    let observed = findings.iter().filter(|finding| finding["verdict"] == "observed");
    let observed: Vec<String> = observed.flat_map(told).collect();
    Ok(expected.iter().all(|expected| observed.contains(expected)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_observed_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("report");
        let expected = ["atomicity-violation Set::add".to_owned()];
        for (verdict, found) in [("observed", true), ("suspected", false)] {
            let text = format!(
                r#"{{"findings": [{{"rule": "atomicity-violation", "verdict": "{verdict}", "refuted": [{{"region": "Set::add"}}]}}]}}"#
            );
            std::fs::write(&path, text).expect("can write");
            assert_eq!(is_found(&path, &expected).expect("a report"), found);
        }
        std::fs::write(&path, r#"{"findings": []}"#).expect("can write");
        assert!(!is_found(&path, &expected).expect("a report"));
        assert_eq!(share(1, 3), "33 %");
    }
}
