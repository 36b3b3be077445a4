//! Tables in Markdown, and how figures are written in them.

use std::fmt;
use std::time::Duration;

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(heads: &[&str]) -> Self {
        Self { heads: heads.iter().map(|&head| head.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row with as many fields as the table has heads.
    pub fn row(&mut self, fields: Vec<String>) {
        debug_assert_eq!(fields.len(), self.heads.len());
        self.rows.push(fields);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| {} |", self.heads.join(" | "))?;
        writeln!(f, "|{}", "---|".repeat(self.heads.len()))?;
        for row in &self.rows {
            writeln!(f, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}

/// A field that does not apply.
pub fn nothing() -> String {
    String::from("–")
}

/// A large number, in groups of three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes as mebibytes.
pub fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// Seconds.
pub fn seconds(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64())
}

/// Whether a goal was met.
pub fn goal(text: &str, met: bool) -> String {
    format!("{text}: {}", if met { "met" } else { "**missed**" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(10_000_000), "10,000,000");
        assert_eq!(mebibytes(3 << 19), "1.5");
        assert_eq!(seconds(Duration::from_millis(1234)), "1.23");
    }

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new(&["a", "b"]);
        table.row(vec!["1".to_owned(), nothing()]);
        assert_eq!(table.to_string(), "| a | b |\n|---|---|\n| 1 | – |\n");
    }
}
