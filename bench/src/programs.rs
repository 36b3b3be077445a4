//! The programs that are measured: `keirin`, and this one again for the bare readers and the structures of tasks.

use crate::readers::Reader;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the programs are.
#[derive(Clone, Debug)]
pub struct Programs {
    keirin: PathBuf,
    bench: PathBuf,
}

impl Programs {
    /// The programs beside a given `keirin-bench`. `keirin` is built if it is missing or older than its sources.
    pub fn beside(bench: &Path) -> Result<Self> {
        let folder = bench.parent().context("keirin-bench is in no folder")?;
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            Some("debug") => "dev",
            Some(name) => name,
            None => bail!("{}: no target folder of cargo", folder.display()),
        };
        // Cargo knows best what is stale, and does nothing if nothing is.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--package", "keirin-cli", "--bin", "keirin", "--profile", profile])
            .arg("--manifest-path")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
            .arg("--target-dir")
            .arg(folder.parent().unwrap_or(folder))
            .status()
            .context("cannot start cargo")?;
        if !status.success() {
            bail!("keirin cannot be built");
        }
        let keirin = folder.join("keirin").with_extension(std::env::consts::EXE_EXTENSION);
        Ok(Self { keirin, bench: bench.to_owned() })
    }

    /// A command line of `keirin`.
    pub fn keirin(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.keirin);
        command.args(arguments).args(["--progress", "never"]);
        command
    }

    /// `keirin` without any arguments, for commands that have no progress to show.
    pub fn bare_keirin(&self) -> Command {
        let mut command = Command::new(&self.keirin);
        command.env_remove("KEIRIN_OPTIONS");
        command
    }

    /// A bare reader, as a program of its own.
    pub fn reader(&self, reader: Reader, trace: &Path) -> Command {
        let mut command = Command::new(&self.bench);
        command.args(["read", reader.name()]).arg(trace);
        command
    }

    /// A structure of tasks that is measured, as a program of its own.
    pub fn structure(&self, shape: &str, contestant: &str, shrink: u32) -> Command {
        let mut command = Command::new(&self.bench);
        command.args(["build-structure", shape, contestant, &shrink.to_string()]);
        command
    }

    /// A run of many tasks that is made and analysed, as a program of its own.
    pub fn many_tasks(&self, shape: &str, analysis: &str, tasks: u64) -> Command {
        let mut command = Command::new(&self.bench);
        command.args(["run-many-tasks", shape, analysis, &tasks.to_string()]);
        command
    }
}
