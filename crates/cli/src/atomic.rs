//! What is meant to be atomic: rules from the command line, from `keirin.toml` and from files.

use crate::input::read_small;
use crate::options::Options;
use anyhow::{Context, Result, bail};
use keirin_core::event::RegionId;
use keirin_core::finding::{Evidence, RawFinding};
use keirin_core::select::{AtomicRule, Block, IgnoreRule, Selection};
use keirin_core::trace::{NameKind, Place, Tables};
use regex::Regex;
use std::collections::BTreeMap;

/// A list of rules is short; whatever is larger is something else.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The rule for all functions but `main` and thread entry points.
const FUNCTIONS: &str = "functions";

/// One rule.
#[derive(Clone, Debug)]
enum Rule {
    /// What matches is atomic, or is not.
    Matching { atomic: bool, pattern: Regex },
    /// All functions but `main` and entry points are atomic.
    Functions,
}

fn parse_rule(text: &str) -> Result<Rule> {
    if text == FUNCTIONS {
        return Ok(Rule::Functions);
    }
    let atomic = match text.chars().next() {
        Some('+') => true,
        Some('-') => false,
        _ => bail!("`{text}` is no rule: write `+REGEX`, `-REGEX` or `{FUNCTIONS}`"),
    };
    let pattern = Regex::new(&text[1..]).with_context(|| format!("the pattern of `{text}` is wrong"))?;
    Ok(Rule::Matching { atomic, pattern })
}

/// What the options say is to be looked at.
pub(crate) fn selection(options: &Options) -> Result<Selection> {
    let mut rules = Vec::new();
    for path in &options.atomic_file {
        let text = read_small(path, "the file of atomic blocks", MAX_FILE_BYTES)?;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                let rule = parse_rule(line).with_context(|| format!("{}:{}", path.display(), index + 1))?;
                rules.push(rule);
            }
        }
    }
    for text in &options.atomic {
        rules.push(parse_rule(text).context("--atomic")?);
    }
    let mut ignored = Vec::new();
    for text in &options.ignore {
        ignored.push(Regex::new(text).with_context(|| format!("--ignore: the pattern `{text}` is wrong"))?);
    }
    Ok(Selection {
        atomic: (!rules.is_empty()).then(|| atomic_rule(rules)),
        ignored: (!ignored.is_empty()).then(|| ignore_rule(ignored)),
        thread_local: options.skip_thread_local,
        read_only: options.skip_read_only,
    })
}

/// Labels are atomic and functions are not, unless a rule says otherwise; the last one that matches decides.
fn atomic_rule(rules: Vec<Rule>) -> AtomicRule {
    Box::new(move |block| {
        let (name, is_function, inner) = match block {
            Block::Label(name) => (name, false, false),
            Block::Function { name, entry } => (name, true, !entry && name != "main"),
        };
        let decided = rules.iter().rev().find_map(|rule| match rule {
            Rule::Matching { atomic, pattern } => pattern.is_match(name).then_some(*atomic),
            Rule::Functions => is_function.then_some(inner),
        });
        decided.unwrap_or(!is_function)
    })
}

fn ignore_rule(patterns: Vec<Regex>) -> IgnoreRule {
    Box::new(move |site, tables| {
        let Some(site) = tables.site(site) else { return false };
        let function = tables.function_name(site.function);
        let file = match site.place {
            Place::Source { file, .. } => tables.name(NameKind::File, file.0),
            _ => None,
        };
        let mut names = function.into_iter().chain(file);
        names.any(|name| patterns.iter().any(|pattern| pattern.is_match(name)))
    })
}

/// The blocks that were seen, and whether a finding speaks against them.
#[derive(Debug, Default)]
pub(crate) struct Blocks(BTreeMap<String, bool>);

impl Blocks {
    /// Adds what one run showed.
    pub(crate) fn add(&mut self, seen: &[RegionId], findings: &[RawFinding], tables: &Tables) {
        for region in seen {
            self.0.entry(tables.region_name(*region)).or_default();
        }
        for finding in findings {
            let refuted = match &finding.evidence {
                Evidence::Cycle(cycle) => &cycle.refuted,
                Evidence::Reduction(reduction) => &reduction.blocks,
                Evidence::Race(_) | Evidence::Locking(_) => continue,
            };
            for block in refuted {
                self.0.insert(tables.region_name(block.region), true);
            }
        }
    }

    /// The blocks that were not refuted, as a file for `--atomic-file`.
    pub(crate) fn specification(&self) -> String {
        let mut text = String::from(
            "# Blocks that no run has refuted so far. Written by keirin check --write-atomic-spec.\n\
             # Check them with keirin check --atomic-file.\n-.*\n",
        );
        for (name, refuted) in &self.0 {
            let pattern = regex::escape(name).replace('\n', "\\n");
            if *refuted {
                text += &format!("# refuted: {pattern}\n");
            } else {
                text += &format!("+^{pattern}$\n");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(rules: &[&str]) -> AtomicRule {
        atomic_rule(rules.iter().map(|text| parse_rule(text).unwrap()).collect())
    }

    #[test]
    fn the_last_rule_that_matches_decides() {
        let rule = rule(&["-.*", "+^Set", "-remove$"]);
        assert!(rule(Block::Label("Set.add")));
        assert!(!rule(Block::Label("Set.remove")));
        assert!(!rule(Block::Label("Vector.add")));
        assert!(rule(Block::Function { name: "Set.add", entry: false }));
        assert!(!rule(Block::Function { name: "Vector.add", entry: false }));
    }

    #[test]
    fn without_a_match_labels_are_atomic_and_functions_are_not() {
        let rule = rule(&["+^f$"]);
        assert!(rule(Block::Label("anything")));
        assert!(rule(Block::Function { name: "f", entry: true }));
        assert!(!rule(Block::Function { name: "g", entry: false }));
    }

    #[test]
    fn all_functions_but_main_and_entry_points() {
        let rule = rule(&["functions", "-^log"]);
        assert!(rule(Block::Function { name: "work", entry: false }));
        assert!(!rule(Block::Function { name: "work", entry: true }));
        assert!(!rule(Block::Function { name: "main", entry: false }));
        assert!(!rule(Block::Function { name: "log_line", entry: false }));
    }

    #[test]
    fn wrong_rules_are_told() {
        assert_eq!(
            parse_rule("add").unwrap_err().to_string(),
            "`add` is no rule: write `+REGEX`, `-REGEX` or `functions`"
        );
        assert!(format!("{:#}", parse_rule("+(").unwrap_err()).contains("the pattern of `+(` is wrong"));
    }

    #[test]
    fn a_specification_names_what_was_not_refuted() {
        let mut blocks = Blocks::default();
        blocks.0.insert("Set.add".to_owned(), true);
        blocks.0.insert("get(x)".to_owned(), false);
        let text = blocks.specification();
        assert!(text.ends_with("-.*\n# refuted: Set\\.add\n+^get\\(x\\)$\n"), "{text}");
    }
}
