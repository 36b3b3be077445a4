//! The table `transactions`: how much of the order of transactions is stored. The first columns are those of the paper's
//! Table 1 (nodes of the published algorithm, without and with merging, always with collection of garbage); the last ones
//! tell the same of our own algorithm, which stores no finished transaction.

use crate::child::{Ending, run};
use crate::programs::Programs;
use crate::table::{Table, count};
use crate::workload::Trace;
use anyhow::{Context, Result};
use keirin_core::generate::Family;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of events of each trace, about.
    pub events: u64,
    /// After so long a run is killed.
    pub limit: Duration,
    /// The families of traces.
    pub families: Vec<Family>,
}

/// The figures of `keirin check --stats`, by name; None if the run was killed.
type Statistics = Option<HashMap<String, u64>>;

/// Counts on all families.
pub fn table(programs: &Programs, settings: &Settings) -> Result<String> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut table = Table::new(&[
        "family",
        "transactions",
        "published: nodes, no merging",
        "with merging",
        "alive at once, no merging",
        "with merging",
        "keirin: open at once",
        "orders kept at once",
    ]);
    for &family in &settings.families {
        let mut row = vec![format!("`{family}`")];
        row.extend(figures(programs, folder.path(), family, settings.events, settings.limit)?);
        table.row(row);
    }
    Ok(table.to_string())
}

/// The figures of one family: transactions; nodes of the published algorithm, allocated and most alive, each without and
/// with merging; what our own algorithm stores.
pub(crate) fn figures(
    programs: &Programs,
    folder: &Path,
    family: Family,
    events: u64,
    limit: Duration,
) -> Result<Vec<String>> {
    let trace = Trace::generate(programs, folder, family, events, "ktrace")?;
    let check = |options: &[&str]| {
        statistics(programs, folder, &trace, options, limit)
            .with_context(|| format!("{family}: check {}", options.join(" ")))
    };
    let own = check(&[])?;
    let merged = check(&["--algorithm", "published"])?;
    let plain = check(&["--algorithm", "published", "--no-merge"])?;
    let fields = [
        (&own, "transactions"),
        (&plain, "nodes allocated"),
        (&merged, "nodes allocated"),
        (&plain, "nodes alive at once, at most"),
        (&merged, "nodes alive at once, at most"),
        (&own, "transactions open at once, at most"),
        (&own, "orders remembered at once, at most"),
    ];
    fields.into_iter().map(|(statistics, name)| figure(statistics, name, limit)).collect()
}

fn figure(statistics: &Statistics, name: &str, limit: Duration) -> Result<String> {
    let Some(statistics) = statistics else { return Ok(format!("> {} s", limit.as_secs_f64())) };
    let value = statistics.get(name).with_context(|| format!("keirin does not tell `{name}`"))?;
    Ok(count(*value))
}

fn statistics(
    programs: &Programs,
    folder: &Path,
    trace: &Trace,
    options: &[&str],
    limit: Duration,
) -> Result<Statistics> {
    let mut command = programs.keirin(&["check", "--analysis", "velodrome", "--stats"]);
    command.args(options).arg(trace.path());
    Ok(match run(&mut command, folder, Some(limit))? {
        Ending::Done(cost) => Some(parse(&cost.messages)),
        Ending::Killed => None,
    })
}

/// Takes the lines `…: velodrome: NAME: NUMBER`.
fn parse(messages: &str) -> HashMap<String, u64> {
    messages
        .lines()
        .filter_map(|line| line.split_once(": velodrome: ")?.1.rsplit_once(": "))
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_found_among_other_lines() {
        let messages = "keirin: a.ktrace: 9 events, 2 accesses, 1 threads, 0 locks\n\
                        keirin: a.ktrace: velodrome: nodes alive at once, at most: 13\n\
                        keirin: a.ktrace: velodrome: operations merged: 7\n";
        let parsed = parse(messages);
        assert_eq!(parsed.len(), 2);
        assert_eq!(parsed["nodes alive at once, at most"], 13);
        assert_eq!(parsed["operations merged"], 7);
    }
}
