//! Small tools for text that people read: names come from traces, and a trace may hold anything.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Longest name that is put into a sentence; longer ones are cut so that a hostile name cannot bury the report.
const LONGEST_NAME: usize = 100;

/// True for characters that could move the cursor, colour the screen, end a line or reorder the text around them.
pub(crate) fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with every dangerous character spelled out, so that it is safe to print on one line.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_dangerous(character) {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// How many columns of a terminal the text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text cut to at most `most` columns, with an ellipsis if something was cut.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if columns(text) <= most {
        return Cow::Borrowed(text);
    }
    let mut taken = 0;
    let mut short = String::new();
    for character in text.chars() {
        let width = character.width().unwrap_or(0);
        if taken + width + 1 > most {
            break;
        }
        taken += width;
        short.push(character);
    }
    short.push('…');
    Cow::Owned(short)
}

/// A name for use within a sentence: in backquotes, and not too long.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", cut(name, LONGEST_NAME))
}

/// A list as English has it: `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// A count with its noun: `1 finding`, `2 findings`.
pub(crate) fn counted(count: u64, singular: &str) -> String {
    format!("{} {singular}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A number with a comma between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Breaks a text into lines of at most `width` columns, at spaces; a word that is longer is cut in pieces.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let needed = columns(word);
        if used > 0 && used + 1 + needed > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        if needed <= width {
            line.push_str(word);
            used += needed;
            continue;
        }
        for character in word.chars() {
            let step = character.width().unwrap_or(0);
            if used + step > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(character);
            used += step;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_characters_are_spelled_out_and_others_stay() {
        assert_eq!(printable("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(printable("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(printable("שלום 🦀 naïve"), "שלום 🦀 naïve");
    }

    #[test]
    fn cutting_counts_columns_not_bytes() {
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn wrapping_keeps_every_word_and_the_width() {
        let lines = wrap("one two three anextremelylongwordindeed end", 10);
        assert!(lines.iter().all(|line| columns(line) <= 10), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), "onetwothreeanextremelylongwordindeedend");
    }

    #[test]
    fn lists_and_numbers_read_as_english() {
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(counted(1, "finding"), "1 finding");
        assert_eq!(counted(1234567, "event"), "1,234,567 events");
    }
}
