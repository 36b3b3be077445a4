//! `keirin demo`: builds a small program that is built in, runs it and shows what is found. Without a compiler it shows
//! a recorded run of the same program.

use super::Exit;
use super::check::{Filters, check_one, finish};
use super::compile::{self, Language};
use crate::atomic::{Blocks, Looking};
use crate::input::Input;
use crate::options::Options;
use crate::output::Output;
use crate::report::Watched;
use crate::runtime_files;
use crate::sources::Sources;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PROGRAM: &str = include_str!("../demo/set.cpp");
const TRACE: &str = include_str!("../demo/set.std");

/// Runs the demonstration. That it finds what it is meant to find is a success.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    match Built::new() {
        Ok(built) => watch(&built, options)?,
        Err(error) => {
            crate::tell(&format!(
                "note: the program of the demonstration cannot be built here: {error:#}; this is a recorded run of it"
            ));
            recorded(options)?;
        }
    }
    Ok(Exit::Clean)
}

/// The program, compiled in a folder that lives as long as this.
struct Built {
    folder: TempDir,
    program: PathBuf,
}

impl Built {
    fn new() -> Result<Self> {
        let files = runtime_files::unpack()?;
        let compiler = compile::find(Language::Cxx)?;
        let folder = tempfile::tempdir().context("there is no temporary folder")?;
        let program = folder.path().join("set");
        std::fs::write(folder.path().join("set.cpp"), PROGRAM)
            .context("the temporary folder cannot be written")?;
        // Places are told without the folder, which is gone when they are read.
        let mut here = OsString::from("-fdebug-prefix-map=");
        here.push(folder.path());
        here.push("=.");
        let words = ["-std=c++17", "-O1", "-pthread", "set.cpp", "-o"].map(OsString::from);
        let words = [&words[..], &[program.clone().into(), here]].concat();
        let output = compile::command(&words, &compiler, &files)?
            .current_dir(folder.path())
            .output()
            .with_context(|| format!("cannot run the compiler {compiler}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!(
                "{compiler} says: {}",
                said.lines().find(|line| line.contains("error")).unwrap_or("nothing")
            );
        }
        Ok(Built { folder, program })
    }

    /// Where the source is, as a folder for `--source-root`.
    fn sources(&self) -> &Path {
        self.folder.path()
    }
}

/// Runs the program and shows what is found.
fn watch(built: &Built, options: &Options) -> Result<()> {
    let mut options = options.clone();
    options.source_root.push(built.sources().to_owned());
    // The program says nothing, so standard output is free.
    super::run::watch(&[built.program.clone().into()], &options, Output::standard)?;
    Ok(())
}

/// Checks the recorded run.
fn recorded(options: &Options) -> Result<()> {
    let mut sources = Sources::none();
    sources.embed("set.cpp", PROGRAM);
    let input = Input::embedded("the embedded trace of set.cpp", TRACE);
    let mut watched = Watched::default();
    let looking = Looking::load(options)?;
    let findings = check_one(input, options, &looking, &sources, &mut watched, &mut Blocks::default())?;
    finish(findings, watched, options, &Filters::default())?;
    Ok(())
}
