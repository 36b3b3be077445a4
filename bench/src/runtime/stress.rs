//! Programs that strain the runtime: very many allocations, short-lived threads, many live threads, very many tasks.

use super::build::{Build, Builder, Compiler};
use super::online::Library;
use super::{directives, test_programs};
use crate::child::run_to_end;
use crate::programs::Programs;
use crate::table::{Table, mebibytes, seconds};
use anyhow::{Context, Result};

/// Runs the programs alone and watched, and tells whether the result was right and what memory they took.
pub fn table(programs: &Programs, compilers: &[Compiler]) -> Result<String> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let mut table = Table::new(&[
        "program",
        "compiler",
        "alone, CPU s",
        "watched, CPU s",
        "alone, peak MiB",
        "watched, peak MiB",
        "result",
    ]);
    for source in test_programs("stress")? {
        for &compiler in compilers {
            let builder = Builder { programs, compiler, folder: folder.path() };
            let tasks = !directives(&source, "needs")?.is_empty();
            let library = if tasks { Library::OpenMp.flags(compiler) } else { &[] };
            let flags = [&["-g", "-O1", "-pthread", "-std=gnu++20"], library].concat();
            let native = builder.build(&source, Build::Native, &flags)?;
            let watched = builder.build(&source, Build::Keirin, &flags)?;
            let alone = run_to_end(&mut std::process::Command::new(native), folder.path())?;
            let mut command = programs.bare_keirin();
            let analysis = if tasks { "ptracer" } else { "fasttrack" };
            command.args(["run", "--analysis", analysis, "--output", "report", "--"]).arg(watched);
            let cost = run_to_end(&mut command, folder.path())?;
            let expected = directives(&source, "prints")?.join("\n");
            let right = cost.output.trim_end() == expected && alone.output == cost.output;
            table.row(vec![
                source.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                compiler.name().to_owned(),
                seconds(alone.processor),
                seconds(cost.processor),
                mebibytes(alone.memory),
                mebibytes(cost.memory),
                if right { expected } else { format!("**wrong**: {}", cost.output.trim_end()) },
            ]);
        }
    }
    Ok(table.to_string())
}
