//! The baseline: findings that are known and wait to be fixed, so that only new ones fail a build.
//!
//! The file is JSON with the name and version of its format, the findings ordered by fingerprint; equal findings give
//! equal bytes, so that it can live in version control.

use crate::report::Finding;
use crate::report::model::{Confirmation, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

const FORMAT: &str = "keirin-baseline/";
const VERSION: u32 = 2;
/// The version of a file without confirmed findings: older readers understand it.
const WITHOUT_CONFIRMED: u32 = 1;

/// The known findings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Baseline {
    /// By fingerprint.
    entries: BTreeMap<String, Entry>,
    /// Those that a program has shown itself, by fingerprint. They need not be among the known ones.
    confirmed: BTreeMap<String, Confirmed>,
}

/// One known finding. Only the fingerprint is compared; the rest is for the people who read the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Which finding it is.
    pub(crate) fingerprint: String,
    /// The name of its rule.
    pub(crate) rule: String,
    /// What is wrong.
    pub(crate) title: String,
    /// How often it was seen when the baseline was written.
    pub(crate) count: u64,
}

/// A finding that `keirin confirm` has made a program show.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmed {
    fingerprint: String,
    rule: String,
    title: String,
    confirmation: Confirmation,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    findings: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    confirmed: Vec<Confirmed>,
}

/// The first look at a file: a later version may have changed everything but this.
#[derive(Deserialize)]
struct Header {
    schema: String,
}

/// Why a baseline cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BaselineError {
    file: String,
    problem: String,
}

impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)
    }
}

impl std::error::Error for BaselineError {}

impl Baseline {
    /// Reads a baseline; `file` is its name for messages.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, BaselineError> {
        let error = |problem: String| BaselineError { file: file.to_owned(), problem };
        let rewrite = "write a new one with --write-baseline";
        let damaged =
            |cause: serde_json::Error| error(format!("not a baseline of keirin ({cause}); {rewrite}"));
        let header: Header = serde_json::from_str(text).map_err(damaged)?;
        let version = header.schema.strip_prefix(FORMAT).and_then(|version| version.parse::<u32>().ok());
        match version {
            Some(WITHOUT_CONFIRMED | VERSION) => {}
            Some(later) if later > VERSION => {
                return Err(error(format!(
                    "version {later} of the format is newer than this keirin knows ({VERSION}); use the keirin that \
                     wrote it, or {rewrite}"
                )));
            }
            _ => {
                let schema = header.schema.escape_debug();
                return Err(error(format!(
                    "not a baseline of keirin (its schema is \"{schema}\"); {rewrite}"
                )));
            }
        }
        let document: Document = serde_json::from_str(text).map_err(damaged)?;
        let entries = document.findings.into_iter().map(|entry| (entry.fingerprint.clone(), entry));
        let confirmed = document.confirmed.into_iter().map(|entry| (entry.fingerprint.clone(), entry));
        Ok(Baseline { entries: entries.collect(), confirmed: confirmed.collect() })
    }

    /// A baseline of the findings that are not suppressed.
    pub(crate) fn of(findings: &[Finding]) -> Self {
        let wanted = findings.iter().filter(|finding| !matches!(finding.status, Status::Suppressed { .. }));
        let entry = |finding: &Finding| Entry {
            fingerprint: finding.fingerprint.clone(),
            rule: finding.rule.to_owned(),
            title: finding.title.clone(),
            count: finding.count,
        };
        let entries = wanted.map(|finding| (finding.fingerprint.clone(), entry(finding))).collect();
        let mut baseline = Baseline { entries, confirmed: BTreeMap::new() };
        for finding in findings {
            if let Some(confirmation) = &finding.confirmation {
                baseline.confirm(&finding.fingerprint, finding.rule, &finding.title, confirmation.clone());
            }
        }
        baseline
    }

    /// Notes that a program has shown a finding.
    pub(crate) fn confirm(&mut self, fingerprint: &str, rule: &str, title: &str, confirmation: Confirmation) {
        let (rule, title) = (rule.to_owned(), title.to_owned());
        let confirmed = Confirmed { fingerprint: fingerprint.to_owned(), rule, title, confirmation };
        self.confirmed.insert(fingerprint.to_owned(), confirmed);
    }

    /// The text of the file.
    pub(crate) fn to_text(&self) -> String {
        let version = if self.confirmed.is_empty() { WITHOUT_CONFIRMED } else { VERSION };
        let document = Document {
            schema: format!("{FORMAT}{version}"),
            findings: self.entries.values().cloned().collect(),
            confirmed: self.confirmed.values().cloned().collect(),
        };
        // Strings and numbers always have a JSON form, so there is nothing to fail.
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Marks the reported findings that are known, and all that were confirmed, and gives those known ones that did not occur.
    pub(crate) fn apply(&self, findings: &mut [Finding]) -> Vec<&Entry> {
        let mut absent = self.entries.clone();
        for finding in findings {
            absent.remove(&finding.fingerprint);
            if let Some(confirmed) = self.confirmed.get(&finding.fingerprint) {
                finding.notes.push(confirmed.confirmation.text());
                finding.confirmation = Some(confirmed.confirmation.clone());
            }
            if finding.status == Status::Reported && self.entries.contains_key(&finding.fingerprint) {
                finding.status = Status::InBaseline;
            }
        }
        self.entries.values().filter(|entry| absent.contains_key(&entry.fingerprint)).collect()
    }
}

/// A note for the report on a known finding that did not occur.
pub(crate) fn absent_note(entry: &Entry) -> String {
    format!(
        "in the baseline but not seen in this run: {} ({}, {})",
        entry.title, entry.rule, entry.fingerprint
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::support;

    #[test]
    fn what_is_written_is_read_and_its_bytes_do_not_depend_on_the_order() {
        let mut findings = support::all();
        let text = Baseline::of(&findings).to_text();
        findings.reverse();
        assert_eq!(Baseline::of(&findings).to_text(), text);
        assert_eq!(Baseline::parse("b.json", &text).unwrap(), Baseline::of(&findings));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn known_findings_are_marked_and_missing_ones_told() {
        let mut findings = vec![support::set_add(), support::three()];
        let baseline = Baseline::of(&[support::set_add(), support::blameless()]);
        let absent: Vec<_> = baseline.apply(&mut findings).into_iter().map(absent_note).collect();
        assert_eq!(findings[0].status, Status::InBaseline);
        assert_eq!(findings[1].status, Status::Reported);
        assert_eq!(absent.len(), 1);
        assert!(absent[0].contains("`publish` and `consume` cannot both be atomic"), "{absent:?}");
    }

    #[test]
    fn what_was_confirmed_is_kept_and_told_and_is_not_known_for_that() {
        let (add, three) = (support::set_add(), support::three());
        let mut baseline = Baseline::of(std::slice::from_ref(&three));
        assert!(baseline.to_text().contains("keirin-baseline/1"));
        let shown = Confirmation { program: "set".to_owned(), attempt: 3 };
        baseline.confirm(&add.fingerprint, add.rule, &add.title, shown.clone());
        let text = baseline.to_text();
        assert!(text.contains("keirin-baseline/2"), "{text}");
        let mut findings = vec![add, three];
        Baseline::parse("b.json", &text).unwrap().apply(&mut findings);
        assert_eq!(findings[0].status, Status::Reported);
        assert_eq!(
            findings[0].notes.last(),
            Some(&"Confirmed: `keirin confirm` made set show it, in try 3.".to_owned())
        );
        assert_eq!((&findings[0].confirmation, &findings[1].confirmation), (&Some(shown), &None));
        let again = Baseline::of(&findings).to_text();
        assert!(again.contains("\"try\": 3"), "{again}");
    }

    #[test]
    fn suppressed_findings_are_not_written_and_stay_suppressed() {
        let mut findings = vec![support::set_add()];
        let baseline = Baseline::of(&findings);
        findings[0].status = Status::Suppressed { reason: "known".to_owned() };
        assert_eq!(Baseline::of(&findings), Baseline::default());
        assert!(baseline.apply(&mut findings).is_empty());
        assert_ne!(findings[0].status, Status::InBaseline);
    }

    #[test]
    fn other_files_are_refused_with_a_remedy() {
        let bad = [
            "",
            "garbage",
            "[]",
            "{}",
            "{\"schema\": \"keirin-report/1\"}",
            "{\"schema\": \"keirin-baseline/3\", \"entries\": {}}",
            "{\"schema\": \"keirin-baseline/0\"}",
            "{\"schema\": \"keirin-baseline/99999999999\"}",
            "{\"schema\": \"keirin-baseline/1\", \"findings\": [{}]}",
        ];
        let errors: Vec<_> =
            bad.iter().map(|text| Baseline::parse("b.json", text).unwrap_err().to_string()).collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
