//! `keirin explain`: what a kind of finding means, an example, how to fix it; or the schedule of one finding, step by step.

use super::Exit;
use crate::options::{Options, similar};
use crate::output::print;
use crate::report::model::{Frame, HeldLock, Place};
use crate::report::text::{counted, cut, list as english, printable, quoted, wrap};
use crate::report::{rules, source_line};
use crate::sources::Sources;
use crate::witnesses::{FileSegment, FileStep, WitnessFile, find};
use anyhow::{Result, bail};
use keirin_core::finding::Rule;
use std::path::Path;

/// Width of the pages.
const WIDTH: usize = 96;

/// Explains the rule with a name, or the finding of a witness file, or lists the rules. The options are asked for only if
/// they matter, so that a rule is explained whatever the configuration says.
pub(crate) fn run(name: Option<&str>, options: impl FnOnce() -> Result<Options>) -> Result<Exit> {
    let text = match name {
        None => list(),
        Some(name) => match rules::by_name(name) {
            Some(rule) => page(rule),
            None => schedule_of(name, &options()?)?,
        },
    };
    print(text.as_bytes())?;
    Ok(Exit::Clean)
}

/// The schedule in a file, or in the file of a fingerprint.
fn schedule_of(name: &str, options: &Options) -> Result<String> {
    let path = Path::new(name);
    let file = if path.is_file() || name.contains('/') || name.ends_with(".json") {
        WitnessFile::read(path)?
    } else if let Some(folder) = &options.witnesses {
        WitnessFile::read(&find(folder, name)?)?
    } else {
        let hint = similar(name, Rule::ALL.map(Rule::name));
        let hint = hint.map_or_else(String::new, |similar| format!(" Did you mean `{similar}`?"));
        let witnesses = if name.starts_with("v1-") {
            "; a fingerprint needs --witnesses and the folder that `keirin check --witnesses` has filled"
        } else {
            ""
        };
        bail!("there is no rule `{name}`.{hint} `keirin explain` lists all rules{witnesses}")
    };
    let folder = std::env::current_dir().unwrap_or_default();
    Ok(schedule(&file, &Sources::new(&folder, &options.source_root)))
}

/// The schedule as numbered steps beside the source.
fn schedule(file: &WitnessFile, sources: &Sources) -> String {
    // The file may come from anywhere, so everything in it is made safe to print.
    let paragraph = |text: &str| wrap(&printable(text), WIDTH).join("\n");
    let about = format!("{} {} in {}", file.rule, file.fingerprint, file.trace);
    let mut text =
        format!("{}\n{}\n\n{}\n\n", paragraph(&file.title), paragraph(&about), paragraph(&file.reason));
    text += "THE SCHEDULE\n\n";
    let unit = printable(&file.unit);
    text += &match file.as_observed_until {
        0 => "It differs from the observed run from the start.\n".to_owned(),
        until => format!("All up to {unit} {until} happens as observed. Then:\n"),
    };
    for segment in &file.segments {
        text += &head(file, segment, &unit);
        for step in &segment.steps {
            text += &told(step, sources);
        }
    }
    text
}

/// Who goes on, and how far.
fn head(file: &WitnessFile, segment: &FileSegment, unit: &str) -> String {
    let who = file.threads.get(segment.thread).map_or("?", |thread| &thread.name);
    let stretch = if segment.first == segment.last {
        format!("does what is in {unit} {}", segment.first)
    } else {
        format!("goes on from {unit} {} to {unit} {}", segment.first, segment.last)
    };
    let hidden = segment.operations.saturating_sub(segment.steps.len() as u64);
    let hidden = match hidden {
        0 => String::new(),
        hidden => format!(", {} not shown", counted(hidden, "operation")),
    };
    format!("\n{}\n", wrap(&printable(&format!("{who} {stretch}{hidden}")), WIDTH).join("\n"))
}

/// One step: what, where, the line of the source, and the locks held afterwards.
fn told(step: &FileStep, sources: &Sources) -> String {
    let unknown = Frame::default();
    let Frame { function, place, .. } = step.stack.first().unwrap_or(&unknown);
    let mut text = step.text.clone();
    if let Some(place) = place {
        text += &format!(" at {}", place.text);
    }
    if let Some(function) = function {
        text += &format!(" in {}", quoted(function));
    }
    if let Some(position) = &step.position {
        text += &format!(" (trace {position})");
    }
    let number = format!("{:>4}. ", step.number);
    let lines = wrap(&printable(&text), WIDTH - number.len());
    let mut told = format!("{number}{}\n", lines.join("\n      "));
    if let Some((place, line)) = place.as_ref().and_then(|place| Some((place, source_line(place, sources)?)))
    {
        told += &format!("      {} | {}\n", line_number(place), cut(&line, WIDTH - 16));
    }
    // That nothing is held is news only after a release.
    if let Some(held) = &step.held
        && (!held.is_empty() || step.kind.starts_with("release"))
    {
        told += &printable(&format!("      {}", held_after(held)));
        told.push('\n');
    }
    told
}

fn line_number(place: &Place) -> String {
    place.line.map_or_else(String::new, |line| line.to_string())
}

fn held_after(held: &[HeldLock]) -> String {
    let names: Vec<String> = held
        .iter()
        .map(|held| format!("{}{}", if held.shared { "shared " } else { "" }, quoted(&held.lock)))
        .collect();
    if names.is_empty() { "holds no lock now".to_owned() } else { format!("holds {} now", english(&names)) }
}

fn list() -> String {
    Rule::ALL.iter().map(|rule| format!("{:<24}{}\n", rule.name(), rules::text(*rule).short)).collect()
}

fn page(rule: Rule) -> String {
    let text = rules::text(rule);
    let paragraph = |text: &str| wrap(text, WIDTH).join("\n");
    format!(
        "{}: {}\n\n{}\n\nEXAMPLE\n\n{}\nHOW TO FIX IT\n\n{}\n",
        rule.name(),
        text.short,
        paragraph(text.full),
        text.example,
        paragraph(text.help)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_page() {
        insta::assert_snapshot!("list", list());
        for rule in Rule::ALL {
            insta::assert_snapshot!(rule.name(), page(rule));
        }
    }
}
