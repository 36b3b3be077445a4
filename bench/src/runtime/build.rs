//! Builds programs: alone, with a sanitizer, and with keirin.

use crate::programs::Programs;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler of C and C++.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compiler {
    /// gcc.
    Gcc,
    /// clang 19.
    Clang,
}

impl Compiler {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Gcc, Self::Clang];

    /// The program that compiles C, which is also the name of the compiler.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang-19",
        }
    }

    /// The compiler with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compiler| compiler.name() == name)
    }

    fn cxx(self) -> &'static str {
        match self {
            Self::Gcc => "g++",
            Self::Clang => "clang++-19",
        }
    }
}

/// What is built into a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Build {
    Native,
    Keirin,
    /// With keirin and the records of other sides of branches.
    Branches,
    /// With keirin, without what tells nothing new.
    Lean,
    Sanitizer,
}

/// Builds programs into a folder.
pub(crate) struct Builder<'a> {
    pub(crate) programs: &'a Programs,
    pub(crate) compiler: Compiler,
    pub(crate) folder: &'a Path,
}

impl Builder<'_> {
    /// Builds a program, unless that was done.
    pub(crate) fn build(&self, source: &Path, build: Build, flags: &[&str]) -> Result<PathBuf> {
        let name = source.file_stem().and_then(|name| name.to_str()).context("a source without a name")?;
        let target = self.folder.join(format!("{name}-{}-{build:?}", self.compiler.name()));
        if target.exists() {
            return Ok(target);
        }
        let cpp = source.extension().is_some_and(|extension| extension == "cpp");
        let compiler = if cpp { self.compiler.cxx() } else { self.compiler.name() };
        let mut command = match build {
            Build::Native | Build::Sanitizer => Command::new(compiler),
            Build::Keirin | Build::Branches | Build::Lean => {
                let mut command = self.programs.bare_keirin();
                command.arg(if cpp { "c++" } else { "cc" });
                if build == Build::Branches {
                    command.arg("--branches");
                }
                if build == Build::Lean {
                    command.arg("--lean");
                }
                command.env("KEIRIN_CC", self.compiler.name()).env("KEIRIN_CXX", self.compiler.cxx());
                command
            }
        };
        if build == Build::Sanitizer {
            command.arg("-fsanitize=thread");
        }
        // Libraries are looked through for what was missing before them.
        command.arg(source).args(flags).arg("-o").arg(&target);
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        if !output.status.success() {
            bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(target)
    }
}
