//! The words that are passed to cargo, as far as they matter to us.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Subcommands that run programs.
const RUNNING: [&str; 6] = ["run", "r", "test", "t", "bench", "nextest"];

/// The arguments of cargo.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    words: Vec<OsString>,
    target_folder: Option<PathBuf>,
    manifest: Option<PathBuf>,
    has_target: bool,
    runs_programs: bool,
}

impl Arguments {
    /// Looks at the words up to `--`; what follows is for the program.
    pub(super) fn of(words: &[OsString]) -> Self {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let (own, others) = words.split_at(end);
        let runs = command(own).is_some_and(|command| RUNNING.iter().any(|name| command == *name));
        let mut arguments = Arguments { runs_programs: runs, ..Arguments::default() };
        let mut own = own.iter();
        while let Some(word) = own.next() {
            if let Some(folder) = value(word, "--target-dir", &mut own) {
                // Ours is below it; cargo is told by its environment, which a flag would win over.
                arguments.target_folder = folder.map(PathBuf::from);
                continue;
            }
            let mut rest = own.clone();
            if let Some(manifest) = value(word, "--manifest-path", &mut rest) {
                arguments.manifest = manifest.map(PathBuf::from);
            }
            arguments.has_target |= value(word, "--target", &mut rest).is_some();
            arguments.runs_programs &= word != "--no-run" && word != "--list";
            arguments.words.push(word.clone());
        }
        arguments.words.extend_from_slice(others);
        arguments
    }

    /// What cargo gets.
    pub(super) fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The folder for what is built, if the user names one.
    pub(super) fn target_folder(&self) -> Option<&PathBuf> {
        self.target_folder.as_ref()
    }

    /// The manifest, if the user names one.
    pub(super) fn manifest(&self) -> Option<&PathBuf> {
        self.manifest.as_ref()
    }

    /// True if the user says what kind of machine to build for.
    pub(super) fn has_target(&self) -> bool {
        self.has_target
    }

    /// True if programs shall run, and not only be built.
    pub(super) fn runs_programs(&self) -> bool {
        self.runs_programs
    }
}

/// The subcommand: the first word that is neither a flag, nor the value of one that may stand before it, nor a toolchain.
fn command(words: &[OsString]) -> Option<&OsString> {
    const WITH_VALUE: [&str; 6] = ["--color", "--config", "-Z", "-C", "--manifest-path", "--target-dir"];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.iter().any(|flag| word == flag) {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") && !word.as_encoded_bytes().starts_with(b"+") {
            return Some(word);
        }
    }
    None
}

/// The value of a flag, if the word is that flag: `--flag value` or `--flag=value`. Some(None): the value is missing.
fn value<'a>(
    word: &OsStr,
    flag: &str,
    rest: &mut impl Iterator<Item = &'a OsString>,
) -> Option<Option<OsString>> {
    if word == flag {
        return Some(rest.next().cloned());
    }
    let text = word.to_str()?;
    let value = text.strip_prefix(flag)?.strip_prefix('=')?;
    Some(Some(value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Arguments {
        Arguments::of(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn what_matters_is_found_and_the_rest_is_passed_on() {
        let arguments = of("test --release --manifest-path a/Cargo.toml --lib -- --target x --target-dir y");
        assert_eq!(arguments.manifest(), Some(&PathBuf::from("a/Cargo.toml")));
        assert_eq!((arguments.has_target(), arguments.target_folder()), (false, None));
        assert_eq!(
            arguments.words().join(OsStr::new(" ")),
            "test --release --manifest-path a/Cargo.toml --lib -- --target x --target-dir y"
        );
        for line in ["build --target x", "build --target=x"] {
            assert!(of(line).has_target(), "{line}");
        }
    }

    #[test]
    fn the_folder_of_the_user_is_not_passed_on() {
        for line in ["run --target-dir /t -p a", "run --target-dir=/t -p a"] {
            let arguments = of(line);
            assert_eq!(arguments.target_folder(), Some(&PathBuf::from("/t")), "{line}");
            assert_eq!(arguments.words().join(OsStr::new(" ")), "run -p a");
        }
        assert_eq!(of("run --target-dir").target_folder(), None);
    }

    #[test]
    fn what_runs_is_told_from_what_is_only_built() {
        for (line, runs) in [
            ("run", true),
            ("+nightly t", true),
            ("nextest run", true),
            ("build", false),
            ("test --no-run", false),
            ("build -- run", false),
            ("build --bin bench", false),
            ("--config run build", false),
            ("-v --color never test --bin run", true),
        ] {
            assert_eq!(of(line).runs_programs(), runs, "{line}");
        }
    }
}
