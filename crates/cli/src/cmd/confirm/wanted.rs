//! The findings that are to be confirmed, as a report in JSON has them.

use crate::report::json::SCHEMA;
use crate::report::model::{Code, Frame, Thread};
use anyhow::{Result, anyhow, bail};
use serde::Deserialize;

/// What of a finding steering needs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Wanted {
    pub(super) rule: String,
    pub(super) status: Status,
    pub(super) fingerprint: String,
    pub(super) title: String,
    pub(super) threads: Vec<Thread>,
    pub(super) steps: Vec<Step>,
    pub(super) evidence: String,
    pub(super) whole: Option<String>,
    pub(super) transactions: Vec<Transaction>,
    pub(super) edges: Vec<Edge>,
    pub(super) refuted: Vec<Block>,
    pub(super) witness: Vec<Step>,
}

/// What became of it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Status {
    kind: String,
}

/// One operation.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Step {
    /// From 1.
    pub(super) number: usize,
    pub(super) thread: usize,
    pub(super) operation: Operation,
    pub(super) position: Option<String>,
    pub(super) code: Option<Code>,
    pub(super) stack: Vec<Frame>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Operation {
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) target: Option<Target>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Target {
    pub(super) name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Transaction {
    pub(super) region: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Block {
    pub(super) region: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Edge {
    pub(super) from_step: Option<usize>,
    pub(super) to_step: Option<usize>,
}

impl Wanted {
    /// Who did a step, and what, and where.
    pub(super) fn told(&self, step: &Step) -> String {
        let who = self.threads.get(step.thread).map_or("somebody", |thread| &thread.name);
        let place = step.place().map_or(String::new(), |place| format!(" at {}", place.text));
        format!("{who} {}{place}", step.operation.text)
    }
}

impl Step {
    /// The innermost place that is the user's own, as reports tell it.
    pub(super) fn place(&self) -> Option<&crate::report::model::Place> {
        let frame = crate::report::telling(&self.stack).and_then(|at| self.stack.get(at));
        frame.and_then(|frame| frame.place.as_ref())
    }

    /// True if it is what the other side of a branch would have done.
    pub(super) fn is_possible(&self) -> bool {
        self.operation.kind.starts_with("other-path-")
    }
}

/// The findings of a report; `name` is what the user calls it.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Wanted>> {
    let no_report = |why: &str| {
        anyhow!("{name} is no report of keirin: {why}; keirin run --format json -o FILE writes one")
    };
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| no_report(&format!("it is not JSON: {error}")))?;
    match value.get("schema").and_then(serde_json::Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) => {
            bail!("{name} is a report of the version {}; this keirin reads {SCHEMA}", other.escape_debug())
        }
        None => return Err(no_report("it has no schema")),
    }
    let findings = value.get("findings").cloned().unwrap_or_default();
    serde_json::from_value(findings).map_err(|error| no_report(&error.to_string()))
}

/// Those of the findings that the user means: all, one by its number, or one by the start of its fingerprint.
pub(super) fn choose(mut findings: Vec<Wanted>, meant: &str) -> Result<Vec<Wanted>> {
    let reported = |finding: &&Wanted| finding.status.kind == "reported";
    if meant == "all" {
        findings.retain(|finding| reported(&finding));
        return Ok(findings);
    }
    let listed = |found: &[&Wanted]| -> String {
        let lines = found
            .iter()
            .enumerate()
            .map(|(index, finding)| format!("\n  {}  {}  {}", index + 1, finding.fingerprint, finding.title));
        lines.collect()
    };
    let told: Vec<&Wanted> = findings.iter().filter(reported).collect();
    if let Ok(number) = meant.parse::<usize>() {
        let found = number.checked_sub(1).and_then(|index| told.get(index));
        return match found {
            Some(finding) => Ok(vec![(*finding).clone()]),
            None => bail!("there is no finding {number}; there are {}{}", told.len(), listed(&told)),
        };
    }
    let means = |finding: &&Wanted| {
        let known = finding.fingerprint.as_str();
        known.starts_with(meant) || known.split_once('-').is_some_and(|(_, digits)| digits.starts_with(meant))
    };
    let found: Vec<&Wanted> = findings.iter().filter(means).collect();
    match found[..] {
        [finding] => Ok(vec![finding.clone()]),
        [] => bail!(
            "no finding has a fingerprint that begins with `{meant}`; there are {}{}",
            told.len(),
            listed(&told)
        ),
        _ => bail!(
            "several findings have a fingerprint that begins with `{meant}`: give more of it, or a number of these{}",
            listed(&told)
        ),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::support;
    use crate::report::{Report, Watched, json};

    /// The findings as a report tells them.
    pub(in super::super) fn as_reported(findings: Vec<crate::report::Finding>) -> Vec<Wanted> {
        let mut text = Vec::new();
        json::write(&Report::new(findings, Watched::default()), &mut text).unwrap();
        read("report", &String::from_utf8(text).unwrap()).unwrap()
    }

    #[test]
    fn findings_are_meant_by_number_or_fingerprint() {
        let findings = as_reported(vec![support::set_add(), support::three()]);
        let chosen = |meant: &str| choose(findings.clone(), meant).map(|found| found[0].title.clone());
        let add = findings[0].fingerprint.clone();
        for meant in ["1", &add, &add[..9], &add[3..]] {
            assert_eq!(chosen(meant).unwrap(), findings[0].title, "{meant}");
        }
        assert_eq!(chosen("2").unwrap(), findings[1].title);
        assert_eq!(choose(findings.clone(), "all").unwrap().len(), 2);
        for (meant, why) in
            [("0", "no finding 0"), ("3", "there are 2"), ("v1-", "several"), ("v9", "no finding has")]
        {
            let error = chosen(meant).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(&add), "{error}");
        }
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for (text, why) in [
            ("garbage", "not JSON"),
            ("[]", "no schema"),
            ("{\"schema\": \"keirin-report/9\", \"findings\": []}", "keirin-report/9"),
            ("{\"schema\": \"keirin-report/1\"}", "expected a sequence"),
            ("{\"schema\": \"keirin-report/1\", \"findings\": [{}]}", "missing field"),
        ] {
            let error = read("r.json", text).unwrap_err().to_string();
            assert!(error.starts_with("r.json is ") && error.contains(why), "{error}");
        }
    }
}
