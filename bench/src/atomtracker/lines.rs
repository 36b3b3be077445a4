//! From names of places in a program to lines of its source.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The lines of places.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    by_name: BTreeMap<String, u32>,
}

impl Lines {
    /// Asks for the lines of the places that are in a program; those of its libraries have none.
    pub(super) fn of<'a>(program: &Path, names: impl Iterator<Item = &'a str>) -> Result<Self> {
        let file = program.file_name().and_then(|name| name.to_str()).context("a program without a name")?;
        let prefix = format!("{file}+0x");
        let places: Vec<(&str, u64)> = names
            .filter_map(|name| Some((name, u64::from_str_radix(name.strip_prefix(&prefix)?, 16).ok()?)))
            .collect();
        if places.is_empty() {
            return Ok(Self::default());
        }
        let mut command = Command::new("addr2line");
        command.arg("-e").arg(program);
        // A place is where a call returns to; the line is that of the call.
        command.args(places.iter().map(|(_, offset)| format!("{:#x}", offset.saturating_sub(1))));
        let output = command.output().context("cannot start addr2line, which is one of the binutils")?;
        if !output.status.success() {
            bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let by_name = places
            .iter()
            .zip(said.lines())
            .filter_map(|((name, _), said)| Some(((*name).to_owned(), line(said)?)));
        Ok(Self { by_name: by_name.collect() })
    }

    /// The line of a place, if it is in the program.
    pub(super) fn line(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }
}

/// The line in `file.c:12 (discriminator 3)`.
fn line(said: &str) -> Option<u32> {
    let digits: String = said.rsplit_once(':')?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|&line| line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read() {
        assert_eq!(line("/src/fft.c:12"), Some(12));
        assert_eq!(line("/src/fft.c:12 (discriminator 3)"), Some(12));
        assert_eq!(line("??:0"), None);
        assert_eq!(line("??:?"), None);
    }
}
