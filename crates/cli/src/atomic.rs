//! What is meant to be atomic: rules from the command line, from `keirin.toml` and from files.

use crate::input::read_small;
use crate::options::Options;
use crate::symbols::{CodeFrame, Symbols};
use anyhow::{Result, anyhow};
use keirin_core::event::RegionId;
use keirin_core::finding::{Doubt, Evidence, RawFinding, Verdict, Whole};
use keirin_core::select::{AtomicRule, Block, IgnoreRule, Selection};
use keirin_core::trace::{NameKind, Place, Tables};
use regex::Regex;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A list of rules is short; whatever is larger is something else.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The rule for all functions but `main` and thread entry points.
const FUNCTIONS: &str = "functions";

/// The rule for critical sections.
const CRITICAL_SECTIONS: &str = "critical-sections";

/// One rule.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// What matches is atomic, or is not.
    Matching { atomic: bool, pattern: Regex },
    /// All functions but `main` and entry points are atomic.
    Functions,
    /// What is done while at least one lock is held is atomic.
    CriticalSections,
}

impl Rule {
    /// Reads a rule as users write it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == FUNCTIONS {
            return Ok(Rule::Functions);
        }
        if text == CRITICAL_SECTIONS {
            return Ok(Rule::CriticalSections);
        }
        let (atomic, expression) = if let Some(rest) = text.strip_prefix('+') {
            (true, rest)
        } else if let Some(rest) = text.strip_prefix('-') {
            (false, rest)
        } else {
            return Err(format!(
                "`{text}` is no rule: write `+REGEX`, `-REGEX`, `{FUNCTIONS}` or `{CRITICAL_SECTIONS}`"
            ));
        };
        Ok(Rule::Matching { atomic, pattern: pattern(expression)? })
    }
}

/// Reads a regular expression; what is wrong with it is told in one line.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let message = error.to_string();
        // The message is a drawing of several lines; the last one has the words.
        let words = message.lines().last().unwrap_or_default();
        let words = words.trim().trim_start_matches("error: ").trim_end_matches('.');
        format!("the pattern `{text}` is wrong: {words}")
    })
}

/// What is looked at, as the options and the files that they name say.
#[derive(Clone, Debug)]
pub(crate) struct Looking {
    rules: Vec<Rule>,
    ignored: Vec<Regex>,
    skip_thread_local: bool,
    skip_read_only: bool,
    symbols: Rc<Symbols>,
}

impl Looking {
    /// Reads the files of rules.
    pub(crate) fn load(options: &Options) -> Result<Self> {
        let mut rules = Vec::new();
        for path in &options.atomic_file {
            let text = read_small(path, "the file of atomic blocks", MAX_FILE_BYTES)?;
            for (index, line) in text.lines().enumerate() {
                let line = line.trim();
                if !line.is_empty() && !line.starts_with('#') {
                    let rule = Rule::parse(line)
                        .map_err(|message| anyhow!("{}:{}: {message}", path.display(), index + 1))?;
                    rules.push(rule);
                }
            }
        }
        rules.extend(options.atomic.iter().cloned());
        Ok(Self {
            rules,
            ignored: options.ignore.clone(),
            skip_thread_local: options.skip_thread_local,
            skip_read_only: options.skip_read_only,
            symbols: Rc::new(Symbols::new()),
        })
    }

    /// What names the instructions of programs.
    pub(crate) fn symbols(&self) -> &Rc<Symbols> {
        &self.symbols
    }

    /// Whether critical sections are meant to be atomic.
    pub(crate) fn critical_sections(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule, Rule::CriticalSections))
    }

    /// The rules in their order.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The same, for one reading of a trace.
    pub(crate) fn selection(&self) -> Selection {
        let symbols = self.symbols.clone();
        Selection {
            atomic: (!self.rules.is_empty()).then(|| atomic_rule(self.rules.clone())),
            critical_sections: self.critical_sections(),
            function_names: Some(Box::new(move |function, tables| {
                symbols.function_name(tables, function).map(|name| Box::from(&*name))
            })),
            ignored: (!self.ignored.is_empty())
                .then(|| ignore_rule(self.ignored.clone(), self.symbols.clone())),
            thread_local: self.skip_thread_local,
            read_only: self.skip_read_only,
        }
    }
}

/// Labels are atomic and functions are not, unless a rule says otherwise; the last one that matches decides.
pub(crate) fn atomic_rule(rules: Vec<Rule>) -> AtomicRule {
    Box::new(move |block| {
        let (name, is_function, inner) = match block {
            Block::Label(name) => (name, false, false),
            Block::Function { name, entry } => (name, true, !entry && name != "main"),
        };
        let decided = rules.iter().rev().find_map(|rule| match rule {
            Rule::Matching { atomic, pattern } => pattern.is_match(name).then_some(*atomic),
            Rule::Functions => is_function.then_some(inner),
            Rule::CriticalSections => None,
        });
        decided.unwrap_or(!is_function)
    })
}

fn ignore_rule(patterns: Vec<Regex>, symbols: Rc<Symbols>) -> IgnoreRule {
    Box::new(move |site, tables| {
        let Some(site) = tables.site(site) else { return false };
        if let Place::Code { module, offset } = site.place {
            let frames = symbols.frames(tables, module, offset);
            let names = |frame: &CodeFrame| {
                let file = frame.source.as_ref().map(|(file, ..)| file.clone());
                frame.function.clone().into_iter().chain(file).collect::<Vec<_>>()
            };
            let mut names = frames.iter().flat_map(names);
            return names.any(|name| patterns.iter().any(|pattern| pattern.is_match(&name)));
        }
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
pub(crate) struct Blocks {
    refuted: BTreeMap<String, bool>,
    incomplete: bool,
}

impl Blocks {
    /// Adds what one run showed.
    pub(crate) fn add(&mut self, seen: &[RegionId], findings: &[RawFinding], tables: &Tables) {
        // A critical section cannot be named in a rule.
        for region in seen.iter().filter(|region| region.critical_section().is_none()) {
            self.refuted.entry(tables.region_name(*region)).or_default();
        }
        for finding in findings {
            // What no schedule shows refutes nothing.
            if finding.verdict == Verdict::Suspected(Doubt::LocksForbid) {
                continue;
            }
            let refuted: Vec<RegionId> = match &finding.evidence {
                Evidence::Cycle(cycle) => cycle.refuted.iter().map(|block| block.region).collect(),
                Evidence::Reduction(reduction) => reduction.blocks.iter().map(|block| block.region).collect(),
                Evidence::Torn(torn) => match torn.whole {
                    Whole::Block(region) => vec![region],
                    Whole::Step | Whole::Holds(_) => continue,
                },
                Evidence::Race(_) | Evidence::Locking(_) => continue,
            };
            for region in refuted.into_iter().filter(|region| region.critical_section().is_none()) {
                self.refuted.insert(tables.region_name(region), true);
            }
        }
    }

    /// Not all findings were kept, so a block that seems good may have been refuted.
    pub(crate) fn note_incomplete(&mut self) {
        self.incomplete = true;
    }

    /// True if it is not known of all blocks whether they were refuted.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// The blocks that were not refuted, as a file for `--atomic-file`.
    pub(crate) fn specification(&self) -> String {
        let mut text = String::from(
            "# Blocks that no run has refuted so far. Written by keirin check --write-atomic-spec.\n\
             # Check them with keirin check --atomic-file.\n-.*\n",
        );
        for (name, refuted) in &self.refuted {
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
        atomic_rule(rules.iter().map(|text| Rule::parse(text).unwrap()).collect())
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
        let error = |text| Rule::parse(text).unwrap_err();
        assert_eq!(
            error("add"),
            "`add` is no rule: write `+REGEX`, `-REGEX`, `functions` or `critical-sections`"
        );
        assert_eq!(error(""), "`` is no rule: write `+REGEX`, `-REGEX`, `functions` or `critical-sections`");
        assert_eq!(error("+("), "the pattern `(` is wrong: unclosed group");
        assert!(
            error("+(a{1000}){1000}").starts_with("the pattern `(a{1000}){1000}` is wrong: Compiled regex")
        );
    }

    #[test]
    fn a_specification_names_what_was_not_refuted() {
        let mut blocks = Blocks::default();
        blocks.refuted.insert("Set.add".to_owned(), true);
        blocks.refuted.insert("get(x)".to_owned(), false);
        let text = blocks.specification();
        assert!(text.ends_with("-.*\n# refuted: Set\\.add\n+^get\\(x\\)$\n"), "{text}");
    }
}
