//! Cuts the source text around the operations of a finding out of its files.

use super::model::{Finding, Mark, Place, Snippet};
use super::text::{is_dangerous, quoted};
use crate::sources::Sources;
use std::ops::Range;

/// Lines shown before and after a marked one.
const CONTEXT: usize = 1;

/// Marked lines up to this far apart share a snippet.
const NEAR: usize = 4;

/// Snippets of one finding; more would not fit on a screen.
const MOST_SNIPPETS: usize = 4;

/// Marks of one finding, for the same reason.
const MOST_MARKS: usize = 10;

/// A file with a longer line near a mark was not written for people and is not shown.
const LONGEST_LINE: usize = 1000;

/// A mark whose place in the text is not worked out yet.
struct Wanted {
    file: String,
    line: usize,
    column: usize,
    label: String,
    primary: bool,
}

/// The snippets of a finding, those of the blamed transaction first.
pub(crate) fn snippets(finding: &Finding, sources: &Sources) -> Vec<Snippet> {
    let mut wanted = wanted(finding);
    wanted.truncate(MOST_MARKS);
    let mut files: Vec<&str> = Vec::new();
    let primary_first = wanted.iter().filter(|mark| mark.primary).chain(wanted.iter());
    for mark in primary_first {
        if !files.contains(&mark.file.as_str()) {
            files.push(&mark.file);
        }
    }
    let mut snippets = Vec::new();
    for file in files {
        let Some(text) = sources.text(file) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        let mut marks: Vec<&Wanted> = wanted.iter().filter(|mark| mark.file == file).collect();
        // Stable, so that marks on one line stay in the order of the interleaving.
        marks.sort_by_key(|mark| mark.line);
        for window in marks.chunk_by(|one, next| next.line - one.line <= NEAR) {
            snippets.extend(snippet(file, &lines, window));
        }
    }
    snippets.sort_by_key(|snippet| !snippet.marks.iter().any(|mark| mark.primary));
    snippets.truncate(MOST_SNIPPETS);
    snippets
}

fn wanted(finding: &Finding) -> Vec<Wanted> {
    let mark = |place: Option<&Place>, label: String, primary: bool| {
        let place = place?;
        Some(Wanted {
            file: place.file.clone()?,
            line: place.line? as usize,
            column: place.column.unwrap_or(0) as usize,
            label,
            primary,
        })
    };
    let blocks = finding.refuted.iter().filter_map(|block| {
        mark(block.begin.place.as_ref(), format!("block {} begins", quoted(&block.region)), true)
    });
    let steps = finding.steps.iter().filter_map(|step| {
        let thread = finding.threads.get(step.thread).map_or("?", |thread| &thread.name);
        let owner = step.transaction.and_then(|index| finding.transactions.get(index));
        // Where there are no transactions both sides matter alike.
        let primary = owner.map_or(finding.transactions.is_empty(), |transaction| transaction.blamed);
        mark(step.place(), format!("({}) {thread} {}", step.number, step.operation.text), primary)
    });
    blocks.chain(steps).collect()
}

/// One snippet with all marks of a window of lines; none if the file has no such lines (it was edited meanwhile).
fn snippet(file: &str, lines: &[&str], window: &[&Wanted]) -> Option<Snippet> {
    let first = window.first()?.line.checked_sub(1)?.saturating_sub(CONTEXT);
    let end = (window.last()?.line + CONTEXT).min(lines.len());
    let shown = lines.get(first..end)?;
    if shown.iter().any(|line| line.len() > LONGEST_LINE) {
        return None;
    }
    let mut text = String::new();
    let mut starts = Vec::new();
    for line in shown {
        starts.push(text.len());
        // The text may come from anywhere too; a placeholder keeps the columns right.
        text.extend(line.chars().map(|character| match character {
            '\t' => '\t',
            other if is_dangerous(other) => '\u{fffd}',
            other => other,
        }));
        text.push('\n');
    }
    let marks = window.iter().filter_map(|mark| {
        let index = mark.line - 1 - first;
        let start = *starts.get(index)?;
        let stop = starts.get(index + 1).map_or(text.len(), |next| *next) - 1;
        let within = span(&text[start..stop], mark.column);
        let span = start + within.start..start + within.end;
        Some(Mark { span, label: mark.label.clone(), primary: mark.primary })
    });
    let marks: Vec<_> = marks.collect();
    (!marks.is_empty()).then(|| Snippet { file: file.to_owned(), first_line: first + 1, text, marks })
}

/// The bytes of a line to mark: the word at the column, or, without a column, all but the indentation.
fn span(line: &str, column: usize) -> Range<usize> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    // Columns of debug information count bytes; one that falls inside a character is as good as none.
    let at = column.checked_sub(1).filter(|&at| at < line.len() && line.is_char_boundary(at));
    match at {
        Some(at) => {
            let rest = &line[at..];
            let word: usize =
                rest.chars().take_while(|&character| is_word(character)).map(char::len_utf8).sum();
            let one = rest.chars().next().map_or(0, char::len_utf8);
            at..at + word.max(one)
        }
        None => {
            let indentation = line.len() - line.trim_start().len();
            indentation..line.trim_end().len().max(indentation)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_marks_a_word_and_no_column_the_line() {
        assert_eq!(span("  lock(&m);", 3), 2..6);
        assert_eq!(span("  lock(&m);", 7), 6..7);
        assert_eq!(span("  lock(&m);", 0), 2..11);
        assert_eq!(span("  lock(&m);", 99), 2..11);
        assert_eq!(span("  é", 4), 2..4, "within a character");
        assert_eq!(span("", 1), 0..0);
        assert_eq!(span("   ", 0), 3..3);
    }
}
