//! The user's Rust compiler, and the `std` of ours that it compiles.

use crate::runtime_files::RuntimeFiles;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first release that our `std` can be compiled by, and the last that it was tried with.
const KNOWN: (u32, u32) = (85, 95);

/// What newer releases have and older ones have not: the condition for the compiler, and the release.
const SINCE: [(&str, u32); 2] = [("keirin_once_wait", 86), ("keirin_rwlock_downgrade", 92)];

/// A Rust compiler.
#[derive(Debug)]
pub(super) struct Toolchain {
    compiler: OsString,
    /// What it says of itself.
    version: Version,
}

/// What `rustc -vV` tells.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Version {
    release: String,
    minor: u32,
    host: String,
    commit: String,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let release = field("release: ")?;
        let minor = release.strip_prefix("1.")?.split('.').next()?.parse().ok()?;
        let commit = field("commit-hash: ").filter(|commit| commit.chars().all(|c| c.is_ascii_hexdigit()));
        let commit = commit.unwrap_or_else(|| release.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        Some(Version { minor, host: field("host: ")?, commit: commit.chars().take(9).collect(), release })
    }
}

impl Toolchain {
    /// The compiler that cargo will call here.
    pub(super) fn find() -> Result<Self> {
        let compiler = std::env::var_os("RUSTC").filter(|name| !name.is_empty());
        let compiler = compiler.unwrap_or_else(|| "rustc".into());
        let output = Command::new(&compiler).arg("-vV").output();
        let output = output.with_context(|| format!("cannot run {}", compiler.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match Version::parse(&text) {
            Some(version) => Ok(Toolchain { compiler, version }),
            None => bail!("{} -vV does not tell which release of Rust it is", compiler.display()),
        }
    }

    /// The kind of machine that it runs on.
    pub(super) fn host(&self) -> &str {
        &self.version.host
    }

    /// Another one for each release.
    pub(super) fn digest(&self) -> &str {
        &self.version.commit
    }

    /// The compiler, to be called for something of ours. The flags of the user are for the user's code.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.compiler);
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }

    /// What people call it.
    pub(super) fn release(&self) -> &str {
        &self.version.release
    }

    /// The documentation tool that belongs to it.
    pub(super) fn documentation_tool(&self) -> PathBuf {
        let compiler = Path::new(&self.compiler);
        let name = if compiler.components().count() > 1 {
            compiler.with_file_name("rustdoc")
        } else {
            "rustdoc".into()
        };
        std::env::var_os("RUSTDOC").filter(|name| !name.is_empty()).map_or(name, PathBuf::from)
    }

    /// The folder with our `std`, compiled; for programs that tell their accesses it is another one. None: it cannot be compiled by this
    /// release, and the user was told.
    pub(super) fn facade(&self, files: &RuntimeFiles, accesses: bool) -> Result<Option<PathBuf>> {
        let Version { release, minor, commit, .. } = &self.version;
        if *minor < KNOWN.0 {
            crate::tell(&format!(
                "warning: Rust {release} is older than 1.{}: locks are not watched, and nothing will be found",
                KNOWN.0
            ));
            return Ok(None);
        }
        let kind = if accesses { "-accesses" } else { "" };
        let folder = files.folder().join(format!("std-{commit}{kind}"));
        let library = folder.join("libstd.rlib");
        if !library.exists() {
            std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            if !self.compile(files, &folder, &library, accesses)? {
                crate::tell(&format!(
                    "warning: the std of keirin cannot be compiled by Rust {release}, which is not known yet (1.{} to 1.{} \
                     are): locks are not watched, and nothing will be found",
                    KNOWN.0, KNOWN.1
                ));
                return Ok(None);
            }
        }
        if *minor > KNOWN.1 {
            crate::tell(&format!(
                "note: Rust {release} is newer than this keirin (1.{}): what is new in its locks and threads is not watched",
                KNOWN.1
            ));
        }
        Ok(Some(folder))
    }

    /// Compiles our `std`. False: the compiler refuses it. Several may do it at the same time.
    fn compile(&self, files: &RuntimeFiles, folder: &Path, library: &Path, accesses: bool) -> Result<bool> {
        let place = tempfile::Builder::new().prefix(".compiling-").tempdir_in(folder)?;
        let built = place.path().join("libstd.rlib");
        let source = files.facades().join("std");
        let mut command = self.command();
        command.args(["--crate-name", "std", "--crate-type", "rlib", "--edition", "2024"]);
        command.args(["-Cmetadata=keirin", "-Copt-level=3", "-Cdebuginfo=1", "-Cforce-frame-pointers=yes"]);
        command.args(["--cap-lints", "allow", "--target", self.host()]);
        command.arg(join("--remap-path-prefix=", &source, "=/keirin/std"));
        for (condition, _) in SINCE.iter().filter(|(_, since)| self.version.minor >= *since) {
            command.args(["--cfg", condition]);
        }
        if accesses {
            command.args(["--cfg", "keirin_accesses"]);
        }
        command.arg("-o").arg(&built).arg(source.join("lib.rs"));
        let output = command.output().with_context(|| format!("cannot run {}", self.compiler.display()))?;
        if !output.status.success() {
            return Ok(false);
        }
        std::fs::rename(&built, library).with_context(|| format!("cannot write {}", library.display()))?;
        Ok(true)
    }
}

fn join(before: &str, path: &Path, after: &str) -> OsString {
    let mut word = OsString::from(before);
    word.push(path);
    word.push(after);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_understood() {
        let text = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\ncommit-hash: 59807616e1fa2540724bfbac14d7976d7e4a3860\n\
                    commit-date: 2026-04-14\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
        let version = Version::parse(text).unwrap();
        assert_eq!(
            (version.minor, &*version.commit, &*version.host),
            (95, "59807616e", "x86_64-unknown-linux-gnu")
        );
        let nightly = text
            .replace("release: 1.95.0", "release: 1.97.0-nightly")
            .replace("hash: 59807616e1", "hash: unknown");
        let version = Version::parse(&nightly).unwrap();
        assert_eq!((version.minor, &*version.commit), (97, "1_97_0_ni"));
        assert_eq!(Version::parse("something else"), None);
    }
}
