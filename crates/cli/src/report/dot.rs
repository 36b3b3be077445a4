//! The error graph of each finding, for Graphviz, in the manner of the Velodrome paper: a box for each transaction with
//! its operations, an edge for each conflict with the operation that made it, the closing edge dashed, and the blamed
//! box outlined twice.

use super::model::{Finding, Report};
use super::text::{cut, printable};
use std::io::{self, Write};

/// Longer texts would make boxes that no screen can show.
const LONGEST_TEXT: usize = 80;

/// Writes one graph with a cluster for each finding.
pub(crate) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "digraph keirin {{")?;
    writeln!(out, "  graph [fontname=\"sans-serif\", labeljust=\"l\", ranksep=0.8];")?;
    writeln!(out, "  node [fontname=\"sans-serif\", shape=box, margin=\"0.2,0.1\"];")?;
    writeln!(out, "  edge [fontname=\"sans-serif\"];")?;
    for (index, finding) in report.reported().enumerate() {
        cluster(index, finding, out)?;
    }
    writeln!(out, "}}")
}

fn cluster(index: usize, finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  subgraph cluster_{index} {{")?;
    let title = [format!("{}: {}", finding.rule, finding.title), finding.fingerprint.clone()];
    writeln!(out, "    label={};", label(&title))?;
    for (number, transaction) in finding.transactions.iter().enumerate() {
        let thread = finding.threads.get(transaction.thread).map_or("?", |thread| &thread.name);
        let mut lines = vec![match &transaction.region {
            Some(region) => format!("{thread}: in {region}"),
            None => format!("{thread}: outside any block"),
        }];
        let steps = transaction.steps.iter().filter_map(|step| finding.steps.get(step.checked_sub(1)?));
        lines.extend(steps.map(|step| format!("({}) {}", step.number, step.operation.short)));
        let outline = if transaction.blamed { ", peripheries=2, penwidth=2" } else { "" };
        writeln!(out, "    f{index}_t{number} [label={}{outline}];", label(&lines))?;
    }
    for edge in &finding.edges {
        let text = match edge.to_step {
            Some(step) => format!("({step}) {}", edge.label),
            None => edge.label.clone(),
        };
        let style = if edge.closing { ", style=dashed" } else { "" };
        writeln!(
            out,
            "    f{index}_t{} -> f{index}_t{} [label={}{style}];",
            edge.from,
            edge.to,
            label(&[text])
        )?;
    }
    writeln!(out, "  }}")
}

/// A quoted label of left-aligned lines. In a label Graphviz reads backslashes and the entities of HTML, so both are
/// escaped as well as the quotes.
fn label(lines: &[String]) -> String {
    let mut text = String::from("\"");
    for line in lines {
        for character in cut(&printable(line), LONGEST_TEXT).chars() {
            match character {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '&' => text.push_str("&amp;"),
                other => text.push(other),
            }
        }
        // A single line is centred on its box or edge; several read better from the left.
        if lines.len() > 1 {
            text.push_str("\\l");
        }
    }
    text.push('"');
    text
}
