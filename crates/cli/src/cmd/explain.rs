//! `keirin explain`: what a kind of finding means, an example, how to fix it.

use super::Exit;
use crate::options::similar;
use crate::output::print;
use crate::report::rules;
use anyhow::{Result, bail};
use keirin_core::finding::Rule;

/// Explains the rule with a name, or lists the rules.
pub(crate) fn run(name: Option<&str>) -> Result<Exit> {
    let text = match name {
        None => list(),
        Some(name) => match rules::by_name(name) {
            Some(rule) => page(rule),
            None => {
                let hint = similar(name, Rule::ALL.map(Rule::name))
                    .map_or_else(String::new, |similar| format!(" Did you mean `{similar}`?"));
                bail!("there is no rule `{name}`.{hint} `keirin explain` lists all rules")
            }
        },
    };
    print(text.as_bytes())?;
    Ok(Exit::Clean)
}

fn list() -> String {
    Rule::ALL.iter().map(|rule| format!("{:<24}{}\n", rule.name(), rules::text(*rule).short)).collect()
}

fn page(rule: Rule) -> String {
    let text = rules::text(rule);
    let paragraph = |text: &str| crate::report::text::wrap(text, 96).join("\n");
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
