//! Each finding as a graph for Graphviz; what is in the boxes is decided in [`super::evidence`].

use super::model::{Finding, GraphBox, Line, Outline, Report};
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
    for (number, GraphBox { lines, outline }) in finding.graph.boxes.iter().enumerate() {
        let outline = match outline {
            Outline::Plain => "",
            Outline::Double => ", peripheries=2, penwidth=2",
            Outline::Dashed => ", style=dashed",
        };
        writeln!(out, "    f{index}_t{number} [label={}{outline}];", label(lines))?;
    }
    for edge in &finding.graph.edges {
        let style = match edge.line {
            Line::Arrow => "",
            Line::DashedArrow => ", style=dashed",
            Line::Dashed => ", style=dashed, dir=none",
            // It must not pull the leaves of the tree apart.
            Line::Then => ", style=dashed, constraint=false",
        };
        let text = label(std::slice::from_ref(&edge.label));
        if edge.line == Line::Dashed {
            // Neither comes first, so they stand side by side.
            writeln!(out, "    {{ rank=same; f{index}_t{}; f{index}_t{} }}", edge.from, edge.to)?;
        }
        writeln!(out, "    f{index}_t{} -> f{index}_t{} [label={text}{style}];", edge.from, edge.to)?;
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
