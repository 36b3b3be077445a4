//! The suppression file: findings that somebody looked at and found harmless, each with the reason.
//!
//! ```toml
//! [[suppress]]
//! rule = "atomicity-violation"      # optional
//! region = "Cache::*"               # at least one of region, function, file, variable and fingerprint
//! reason = "statistics may be off by one; nobody relies on them"
//! expires = "2027-01-31"            # optional: last day on which the entry counts
//! ```
//!
//! An entry matches if all of its keys do. `function` and `file` look at every frame of every step's stack, and both
//! must match the same frame if both are given; `region` looks at the blocks of all transactions, and `variable` at the
//! location that a race is about and whatever the steps touch, locks too. In a pattern `*` stands for any text, `/` and `::` included, `?` for one
//! character, and `\` takes the next character as it is.

use crate::input::line_of;
use crate::report::Finding;
use crate::report::model::{Frame, Status};
use keirin_core::finding::Rule;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};
use toml::Spanned;

/// From how many findings on an entry that matches all of them is called too broad.
const BROAD_FROM: usize = 3;

/// All entries of a suppression file.
#[derive(Debug, Default)]
pub(crate) struct Suppressions {
    file: String,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    line: usize,
    rule: Option<String>,
    function: Option<Pattern>,
    path: Option<Pattern>,
    region: Option<Pattern>,
    variable: Option<Pattern>,
    fingerprint: Option<String>,
    reason: String,
    expires: Option<String>,
}

/// The file as it is written, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    suppress: Vec<Spanned<RawEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    rule: Option<Spanned<String>>,
    function: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
    region: Option<Spanned<String>>,
    variable: Option<Spanned<String>>,
    fingerprint: Option<Spanned<String>>,
    reason: Option<Spanned<String>>,
    expires: Option<Spanned<String>>,
}

/// What is wrong with a suppression file, where, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SuppressError {
    file: String,
    line: usize,
    problem: String,
}

impl fmt::Display for SuppressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.problem)
    }
}

impl std::error::Error for SuppressError {}

impl Suppressions {
    /// Reads a suppression file; `file` is its name for messages.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, SuppressError> {
        let error = |at: usize, problem: String| SuppressError {
            file: file.to_owned(),
            line: line_of(text, at),
            problem,
        };
        let raw: RawFile = toml::from_str(text)
            .map_err(|cause| error(cause.span().map_or(0, |span| span.start), cause.message().to_owned()))?;
        let mut entries = Vec::new();
        for entry in raw.suppress {
            let at = entry.span().start;
            let entry = check(entry.into_inner(), at).map_err(|(at, problem)| error(at, problem))?;
            entries.push(Entry { line: line_of(text, at), ..entry });
        }
        Ok(Suppressions { file: file.to_owned(), entries })
    }

    /// Marks the findings that an entry matches, and gives notes for the report: on entries that matched nothing, that
    /// are too broad, or that have expired. `today` is a date as in the file; see [`today`].
    pub(crate) fn apply(&self, findings: &mut [Finding], today: &str) -> Vec<String> {
        let mut notes = Vec::new();
        for entry in &self.entries {
            let place = format!("{}:{}", self.file, entry.line);
            if let Some(expires) = entry.expires.as_deref().filter(|&expires| expires < today) {
                notes.push(format!("{place}: the suppression expired after {expires} and was not used"));
                continue;
            }
            let mut matched = 0;
            for finding in findings.iter_mut().filter(|finding| entry.matches(finding)) {
                matched += 1;
                // The first entry that matches gives the reason; later ones still count as used.
                if finding.status == Status::Reported {
                    finding.status = Status::Suppressed { reason: entry.reason.clone() };
                }
            }
            if matched == 0 {
                notes.push(format!("{place}: the suppression matched nothing; remove it if that stays so"));
            } else if entry.matches_anything() {
                notes.push(format!("{place}: the suppression is too broad: its patterns match anything"));
            } else if matched == findings.len() && matched >= BROAD_FROM && differ(findings) {
                notes.push(format!(
                    "{place}: the suppression is too broad: it matched all {matched} findings"
                ));
            }
        }
        notes
    }
}

/// The entry that would suppress a finding and nothing else.
pub(crate) fn suggestion(finding: &Finding) -> String {
    // A comment ends at the end of the line, and TOML forbids control characters in it.
    let title: String =
        finding.title.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    format!(
        "# {title}\n[[suppress]]\nrule = \"{}\"\nfingerprint = \"{}\"\nreason = \"say here why this is harmless\"\n",
        finding.rule, finding.fingerprint
    )
}

/// The date of today, in UTC, as `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs());
    let (year, month, day) = date(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date that is so many days after 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length || year >= 9999 {
            break;
        }
        days -= length;
        year += 1;
    }
    let mut month = 1;
    while month < 12 && days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    (year, month, days.min(30) + 1)
}

fn is_leap(year: u64) -> bool {
    (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// True if the findings are not all at one place: only then does matching them all say something.
fn differ(findings: &[Finding]) -> bool {
    findings.iter().map(|finding| format!("{:?}", finding.primary)).collect::<BTreeSet<_>>().len() > 1
}

/// Turns a raw entry into a checked one, or says what is wrong and at which byte.
fn check(raw: RawEntry, at: usize) -> Result<Entry, (usize, String)> {
    let pattern = |key: &str, value: Option<Spanned<String>>| match value {
        None => Ok(None),
        Some(value) => match Pattern::parse(value.get_ref()) {
            Ok(pattern) => Ok(Some(pattern)),
            Err(problem) => Err((value.span().start, format!("bad pattern for {key}: {problem}"))),
        },
    };
    let keys = [&raw.function, &raw.file, &raw.region, &raw.variable, &raw.fingerprint];
    if keys.iter().all(|key| key.is_none()) {
        let problem = "the entry would suppress everything; give it at least one of function, file, region, variable \
                       or fingerprint";
        return Err((at, problem.to_owned()));
    }
    let reason = match &raw.reason {
        Some(reason) if !reason.get_ref().trim().is_empty() => reason.get_ref().trim().to_owned(),
        Some(empty) => {
            return Err((
                empty.span().start,
                "the reason is empty; say why the finding is harmless".to_owned(),
            ));
        }
        None => {
            let problem = "the entry has no reason; add reason = \"…\" and say why the finding is harmless";
            return Err((at, problem.to_owned()));
        }
    };
    let known = |name: &str| Rule::ALL.iter().any(|rule| rule.name() == name);
    if let Some(rule) = raw.rule.as_ref().filter(|rule| !known(rule.get_ref())) {
        let names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        let problem = format!("there is no rule {:?}; the rules are: {}", rule.get_ref(), names.join(", "));
        return Err((rule.span().start, problem));
    }
    if let Some(date) = raw.expires.as_ref().filter(|date| !is_date(date.get_ref())) {
        let problem = format!("{:?} is not a date; write it as \"YYYY-MM-DD\"", date.get_ref());
        return Err((date.span().start, problem));
    }
    Ok(Entry {
        line: 0,
        rule: raw.rule.map(Spanned::into_inner),
        function: pattern("function", raw.function)?,
        path: pattern("file", raw.file)?,
        region: pattern("region", raw.region)?,
        variable: pattern("variable", raw.variable)?,
        fingerprint: raw.fingerprint.map(Spanned::into_inner),
        reason,
        expires: raw.expires.map(Spanned::into_inner),
    })
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = parts[..] else { return false };
    if !(digits(year, 4) && digits(month, 2) && digits(day, 2)) {
        return false;
    }
    let number = |part: &str| part.parse::<u64>().unwrap_or(0);
    let (year, month, day) = (number(year), number(month), number(day));
    (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day)
}

impl Entry {
    fn matches(&self, finding: &Finding) -> bool {
        self.rule.as_ref().is_none_or(|rule| rule == finding.rule)
            && self.fingerprint.as_ref().is_none_or(|fingerprint| *fingerprint == finding.fingerprint)
            && self.matches_frame(finding)
            && self.region.as_ref().is_none_or(|pattern| {
                let regions =
                    finding.transactions.iter().filter_map(|transaction| transaction.region.as_ref());
                let refuted = finding.refuted.iter().map(|block| &block.region);
                regions.chain(refuted).any(|region| pattern.matches(region))
            })
            && self.variable.as_ref().is_none_or(|pattern| {
                let targets = finding.steps.iter().filter_map(|step| step.operation.target.as_ref());
                let location = finding.location.as_ref().map(|location| &location.name);
                targets.map(|target| &target.name).chain(location).any(|name| pattern.matches(name))
            })
    }

    fn matches_frame(&self, finding: &Finding) -> bool {
        if self.function.is_none() && self.path.is_none() {
            return true;
        }
        let has = |pattern: &Option<Pattern>, text: Option<&str>| match (pattern, text) {
            (None, _) => true,
            (Some(pattern), Some(text)) => pattern.matches(text),
            (Some(_), None) => false,
        };
        let file = |frame: &Frame| frame.place.as_ref().and_then(|place| place.file.clone());
        finding.steps.iter().flat_map(|step| &step.stack).any(|frame| {
            has(&self.function, frame.function.as_deref()) && has(&self.path, file(frame).as_deref())
        })
    }

    /// True if no key narrows the entry down.
    fn matches_anything(&self) -> bool {
        let patterns = [&self.function, &self.path, &self.region, &self.variable];
        self.fingerprint.is_none()
            && patterns.iter().all(|pattern| pattern.as_ref().is_none_or(Pattern::is_any))
    }
}

/// A pattern with wildcards.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Pattern(Vec<Part>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Any,
    One,
    Exactly(char),
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty and would match nothing; leave the key out".to_owned());
        }
        let mut parts = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            parts.push(match character {
                // Neighbouring stars mean the same as one.
                '*' if parts.last() == Some(&Part::Any) => continue,
                '*' => Part::Any,
                '?' => Part::One,
                '\\' => match characters.next() {
                    Some(escaped) => Part::Exactly(escaped),
                    None => {
                        return Err("it ends in a backslash; write \\\\ for a backslash itself".to_owned());
                    }
                },
                other => Part::Exactly(other),
            });
        }
        Ok(Pattern(parts))
    }

    fn is_any(&self) -> bool {
        !self.0.iter().any(|part| matches!(part, Part::Exactly(_)))
    }

    /// Matches the whole text. On a mismatch only the last star has to be tried again, one character further on, so
    /// the time is bounded by the product of the lengths.
    fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut part, mut at) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while at < text.len() {
            match self.0.get(part) {
                Some(Part::Any) => {
                    retry = Some((part + 1, at));
                    part += 1;
                    continue;
                }
                Some(Part::One) => {}
                Some(Part::Exactly(character)) if *character == text[at] => {}
                _ => match retry {
                    Some((after_star, from)) => {
                        retry = Some((after_star, from + 1));
                        part = after_star;
                        at = from + 1;
                        continue;
                    }
                    None => return false,
                },
            }
            part += 1;
            at += 1;
        }
        self.0[part..].iter().all(|rest| *rest == Part::Any)
    }
}

#[cfg(test)]
mod tests;
