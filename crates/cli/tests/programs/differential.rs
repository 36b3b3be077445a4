//! The same run seen twice: what is found while the program runs, and what is found later in the trace of that run. Of
//! programs with tasks two runs, which must agree on the memory.

use super::build::{KEIRIN, Program};
use super::only_in_first;
use super::report::Finding;
use super::run;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

const ANALYSES: &str = "fasttrack,velodrome";

/// Compares the findings of a run with those of its trace.
pub(super) fn compare(program: &Program) -> Result<(), String> {
    let folder = run::scratch();
    let trace = folder.path().join("run.ktrace");
    let trace_name = trace.to_string_lossy();
    let atomic = atomic_options(&program.directives.options);
    let record = ["--analysis", ANALYSES, "--exact-order", "--record", &trace_name];
    let online = run::watch(program, &[&atomic, record.as_slice()].concat())?.findings;

    let offline_folder = run::scratch();
    let mut command = Command::new(KEIRIN);
    command.args(["check", "--format", "json", "--max-per-site", "0", "--output", "report.json"]);
    command.args(atomic).args(["--analysis", ANALYSES, &trace_name]);
    let offline = run::finish(command, offline_folder.path(), &program.files)?.findings;

    let [online, offline] = [online, offline]
        .map(|findings| findings.into_iter().map(Finding::without_location).collect::<Vec<_>>());
    let mut wrong = String::new();
    for finding in only_in_first(&online, &offline) {
        let _ = writeln!(wrong, "only in the run: {finding}");
    }
    for finding in only_in_first(&offline, &online) {
        let _ = writeln!(wrong, "only in the trace: {finding}");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Compares a run of a program with tasks with another one that was examined: the same rules are broken, the same blocks
/// refuted, and for each rule the same variables are told. Places may differ: while the program runs an access is passed
/// over that repeats what its step did before.
pub(super) fn same_memory(online: &[Finding], examined: &[Finding]) -> Result<(), String> {
    let [online, examined] = [online, examined].map(told);
    let mut wrong = String::new();
    for memory in online.difference(&examined) {
        let _ = writeln!(wrong, "only told while the program ran: {memory}");
    }
    for memory in examined.difference(&online) {
        let _ = writeln!(wrong, "only told if examined: {memory}");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn told(findings: &[Finding]) -> BTreeSet<String> {
    let all = findings.iter().flat_map(|finding| {
        let rule = &finding.rule;
        // The name of a function has its parameters or not, depending on where it is from.
        let name = |block: &String| block.split('(').next().unwrap_or_default().to_owned();
        let blocks =
            finding.refuted.iter().map(move |block| format!("{rule} of the block `{}`", name(block)));
        let memory = finding.memory().into_iter().map(move |name| format!("{rule} of the variable `{name}`"));
        blocks.chain(memory).chain([rule.clone()])
    });
    all.collect()
}

/// The options that say what is meant to be atomic.
fn atomic_options(options: &[String]) -> Vec<&str> {
    let pairs = options.iter().zip(options.iter().skip(1));
    let atomic = pairs.filter(|(option, _)| *option == "--atomic");
    atomic.flat_map(|(option, rule)| [option.as_str(), rule.as_str()]).collect()
}
