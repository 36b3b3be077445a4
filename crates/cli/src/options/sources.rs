//! Where options come from: the file, the variable, the command line.

use super::{Analyses, Command, Options, ROWS, rows_of, similar};
use crate::input::read_small;
use anyhow::{Result, anyhow, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The name of the file.
const FILE_NAME: &str = "keirin.toml";
/// A configuration is short; whatever is larger is something else.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The options of one run, from all sources.
pub(crate) fn load(command: Command, matches: &ArgMatches) -> Result<Options> {
    let mut options = Options::default();
    if matches!(command, Command::Run | Command::Cargo | Command::Confirm) {
        // What suits the program.
        options.analysis = Analyses(Vec::new());
    }
    let folder = std::env::current_dir().unwrap_or_default();
    // Whatever has the name counts: a link that leads nowhere must be told, not passed over.
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    if let Some(path) = folder.ancestors().map(|folder| folder.join(FILE_NAME)).find(exists) {
        from_file(&mut options, &path)?;
    }
    if let Some(text) = std::env::var_os("KEIRIN_OPTIONS") {
        let text = text.into_string().map_err(|_| anyhow!("KEIRIN_OPTIONS is not valid UTF-8"))?;
        from_variable(&mut options, &text)?;
    }
    options.keep_only(command);
    for row in rows_of(command) {
        if matches.value_source(row.name) != Some(ValueSource::CommandLine) {
            continue;
        }
        if row.value.is_empty() {
            options.set(row.name, "true").map_err(|message| anyhow!("--{}: {message}", row.name))?;
            continue;
        }
        for value in matches.get_many::<String>(row.name).into_iter().flatten() {
            options.set(row.name, value).map_err(|message| anyhow!("--{}: {message}", row.name))?;
        }
    }
    Ok(options)
}

/// What to say about an option that does not exist.
fn unknown(name: &str) -> String {
    match similar(name, ROWS.iter().map(|row| row.name)) {
        Some(similar) => format!("there is no option `{name}`; did you mean `{similar}`?"),
        None => format!("there is no option `{name}`; docs/options.md lists all"),
    }
}

fn from_file(options: &mut Options, path: &Path) -> Result<()> {
    let text = read_small(path, "the configuration", MAX_FILE_BYTES)?;
    set_from_toml(options, &text, path.parent().unwrap_or(Path::new("")))
        .map_err(|(line, message)| anyhow!("{}:{line}: {message}", path.display()))
}

/// Sets the options of a configuration; an error has its line. Paths are relative to the file's folder.
fn set_from_toml(options: &mut Options, text: &str, folder: &Path) -> Result<(), (usize, String)> {
    let line_of =
        |byte: usize| 1 + text.as_bytes()[..byte.min(text.len())].iter().filter(|b| **b == b'\n').count();
    let table = DeTable::parse(text)
        .map_err(|error| (error.span().map_or(1, |span| line_of(span.start)), error.message().to_owned()))?;
    for (key, value) in table.get_ref() {
        let line = line_of(key.span().start);
        let name: &str = key.get_ref();
        let row = ROWS.iter().find(|row| row.name == name).ok_or_else(|| (line, unknown(name)))?;
        let is_path = matches!(row.value, "FILE" | "DIR");
        for text in texts(value.get_ref()).ok_or_else(|| {
            (line, format!("`{name}` must be a text, a number, true or false, or a list of texts"))
        })? {
            let text = if is_path && !text.is_empty() {
                folder.join(&text).to_string_lossy().into_owned()
            } else {
                text
            };
            options.set(name, &text).map_err(|message| (line, format!("`{name}`: {message}")))?;
        }
    }
    Ok(())
}

fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    Some(match value {
        DeValue::String(text) => vec![text.to_string()],
        DeValue::Integer(number) => vec![number.to_string()],
        DeValue::Float(number) => vec![number.to_string()],
        DeValue::Boolean(value) => vec![value.to_string()],
        DeValue::Array(values) => {
            let mut all = Vec::new();
            for value in values {
                match value.get_ref() {
                    DeValue::String(text) => all.push(text.to_string()),
                    _ => return None,
                }
            }
            all
        }
        _ => return None,
    })
}

/// Sets the options of the variable: `name=value` or `name`, separated by blanks; quotes keep blanks together.
fn from_variable(options: &mut Options, text: &str) -> Result<()> {
    for word in words(text).map_err(|message| anyhow!("KEIRIN_OPTIONS: {message}"))? {
        let (name, value) = match word.split_once('=') {
            Some(pair) => pair,
            None => match ROWS.iter().find(|row| row.name == word && !row.value.is_empty()) {
                Some(row) => bail!("KEIRIN_OPTIONS: `{word}` needs a value: {word}={}", row.value),
                None => (&*word, "true"),
            },
        };
        match options.set(name, value) {
            Ok(true) => {}
            Ok(false) => bail!("KEIRIN_OPTIONS: {}", unknown(name)),
            Err(message) => bail!("KEIRIN_OPTIONS: `{name}`: {message}"),
        }
    }
    Ok(())
}

fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a {open} is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_takes_switches_values_and_quotes() {
        let mut options = Options::default();
        from_variable(&mut options, "  lenient max-per-site=3 baseline='a b.json'").unwrap();
        assert!(options.lenient);
        assert_eq!(options.max_per_site, 3);
        assert_eq!(options.baseline, Some(PathBuf::from("a b.json")));
        let error = |text| from_variable(&mut Options::default(), text).unwrap_err().to_string();
        assert_eq!(error("lenent"), "KEIRIN_OPTIONS: there is no option `lenent`; did you mean `lenient`?");
        assert_eq!(error("format='x"), "KEIRIN_OPTIONS: a ' is not closed");
        assert_eq!(
            error("format=xml"),
            "KEIRIN_OPTIONS: `format`: `xml` is none of terminal, json, sarif, dot"
        );
    }

    #[test]
    fn the_file_takes_all_types_and_tells_the_line_of_an_error() {
        let mut options = Options::default();
        let text =
            "lenient = true\nmax-per-site = 3\nsuppressions = [\"a.toml\", \"b.toml\"]\nviolations = 0.5\n";
        set_from_toml(&mut options, text, Path::new("/project")).unwrap();
        assert!(options.lenient);
        assert_eq!(options.max_per_site, 3);
        assert_eq!(options.violations, 0.5);
        let expected = vec![PathBuf::from("/project/a.toml"), PathBuf::from("/project/b.toml")];
        assert_eq!(options.suppressions, expected);

        let error = |text| set_from_toml(&mut Options::default(), text, Path::new("")).unwrap_err();
        let (line, message) = error("\n\nmax-per-sight = 3\n");
        assert_eq!(
            (line, &*message),
            (3, "there is no option `max-per-sight`; did you mean `max-per-site`?")
        );
        assert_eq!(error("lenient = \"perhaps\"").1, "`lenient`: `perhaps` is neither `true` nor `false`");
        assert_eq!(error("lenient = {}").0, 1);
        assert_eq!(error("a = 1\nb = [").0, 2);
    }
}
