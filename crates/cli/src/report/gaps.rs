//! Gaps in Rust programs that are often meant: what the source says about the read and the write.
//!
//! Whether a gap is a mistake depends on what the write is decided by, which no run shows. But two ways of writing it are known: a
//! cache that computes outside of the lock, and a write that looks again by itself. They are told after the other gaps, with a
//! note. It is a look at two lines of text: whatever else they say, the gap is told.

use super::model::{Finding, Place, Step};
use crate::sources::Sources;
use keirin_core::finding::Rule;

/// Lines that one statement may have.
const LONGEST: usize = 4;

/// A way to write a gap that may be meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pattern {
    /// The write is done by something that looks whether it is still needed.
    LooksAgain,
    /// What is not there is made, and put in.
    Cache,
}

impl Pattern {
    fn of(read: &str, write: &str) -> Option<Self> {
        let any = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
        if any(write, &[".entry(", ".get_or_insert", ".or_insert"]) {
            Some(Pattern::LooksAgain)
        } else if any(read, &[".get("]) && any(write, &[".insert(", ".put("]) {
            Some(Pattern::Cache)
        } else {
            None
        }
    }

    fn note(self, write: usize) -> String {
        match self {
            Pattern::LooksAgain => format!(
                "The write ({write}) seems to look again by itself: then it is harmless, unless something else was decided \
                 by what was read."
            ),
            Pattern::Cache => format!(
                "This may be a cache that computes twice: harmless if the write ({write}) puts in what the other one has put \
                 in, too."
            ),
        }
    }
}

/// Looks at a finding, and notes what the source says, if it is a gap.
pub(crate) fn look(finding: &mut Finding, sources: &Sources) {
    if finding.rule != Rule::LockGap.name() {
        return;
    }
    let (Some(read), Some(write)) = (finding.steps.first(), finding.steps.last()) else { return };
    let statement = |step: &Step| statement(step.place()?, sources);
    if let (Some(before), Some(after)) = (statement(read), statement(write))
        && let Some(pattern) = Pattern::of(&before, &after)
    {
        let note = pattern.note(write.number);
        finding.notes.push(note);
        finding.often_meant = true;
    }
}

/// The statement that begins in a line of a Rust source, as far as that can be told.
fn statement(place: &Place, sources: &Sources) -> Option<String> {
    let file = place.file.as_deref().filter(|file| file.ends_with(".rs"))?;
    let text = sources.text(file)?;
    let mut statement = String::new();
    for line in text.lines().skip((place.line? as usize).checked_sub(1)?).take(LONGEST) {
        statement.push_str(line.trim());
        if line.trim_end().ends_with([';', '{', '}']) {
            break;
        }
    }
    Some(statement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_meant_is_known_by_its_text() {
        for (read, write, pattern) in [
            ("if let Some(x) = map.lock().get(&key) {", "map.lock().insert(key, x);", Some(Pattern::Cache)),
            ("map.read().get(&key)", "map.write().entry(key).or_insert(x);", Some(Pattern::LooksAgain)),
            ("if !names.lock().contains_key(name) {", "names.lock().insert(name);", None),
            ("let before = *balance.lock();", "*balance.lock() = before + 1;", None),
        ] {
            assert_eq!(Pattern::of(read, write), pattern, "{read} {write}");
        }
    }

    #[test]
    fn a_statement_may_have_several_lines() {
        let mut sources = Sources::none();
        sources.embed("a.rs", "f();\nself.map\n    .write()\n    .entry(key)\n    .or_insert(1);\ng();\n");
        let place = |line: u32| Place {
            text: String::new(),
            file: Some("a.rs".to_owned()),
            line: Some(line),
            column: None,
            stable: String::new(),
        };
        assert_eq!(
            statement(&place(2), &sources).as_deref(),
            Some("self.map.write().entry(key).or_insert(1);")
        );
        assert_eq!(statement(&place(1), &sources).as_deref(), Some("f();"));
        assert_eq!(statement(&place(9), &sources).as_deref(), Some(""));
    }
}
