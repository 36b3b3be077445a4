//! What the machine has.

use super::Findings;
use crate::cmd::compile::{self, Compiler, Language, Make};
use crate::runtime_files::{self, RuntimeFiles};
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::Command;

/// Compilers that are worth naming when they are there.
const KNOWN: [&str; 16] = [
    "gcc",
    "g++",
    "gcc-12",
    "gcc-13",
    "gcc-14",
    "clang",
    "clang++",
    "clang-14",
    "clang-15",
    "clang-16",
    "clang-17",
    "clang-18",
    "clang-19",
    "clang++-14",
    "clang++-16",
    "clang++-19",
];

const TRIAL: &str = "static int count; int main(void) { return count; }\n";

pub(super) fn examine(install_pass: bool, findings: &mut Findings) {
    match runtime_files::unpack() {
        Ok(files) => {
            findings.good(format!("runtime unpacked to {}", files.folder().display()));
            findings.good(format!(
                "programs that were linked against libtsan.so.2 use it with LD_LIBRARY_PATH={}",
                files.aliases().display()
            ));
            compilers(&files, findings);
            pass(&files, install_pass, findings);
        }
        Err(error) => findings.problem(format!("{error:#}")),
    }
    match compile::look_up(OsStr::new("ld")) {
        Some(path) => findings.good(format!("linker {}", path.display())),
        None => findings.problem("there is no linker `ld` on PATH (Debian: apt install binutils)"),
    }
    address_space(findings);
    randomization(findings);
}

fn compilers(files: &RuntimeFiles, findings: &mut Findings) {
    for (language, command, ending) in [(Language::C, "cc", "c"), (Language::Cxx, "c++", "cpp")] {
        let compiler = match compile::find(language) {
            Ok(compiler) => compiler,
            Err(error) => {
                findings.problem(format!("keirin {command}: {error:#}"));
                continue;
            }
        };
        match attempt(&compiler, ending, files) {
            Ok(make) if make.is_tried() => {
                findings.good(format!("keirin {command} uses {compiler} ({make}); a program was built and run"));
            }
            Ok(make) => findings.note(format!(
                "keirin {command} uses {compiler} ({make}); a program was built and run, but keirin is tested with gcc 12 \
                 and clang 14 to 19"
            )),
            Err(error) => findings.problem(format!("keirin {command} cannot use {compiler}: {error:#}")),
        }
    }
    let mut others = Vec::new();
    for name in KNOWN {
        if let Ok(compiler) = compile::named(OsStr::new(name))
            && let Ok(make @ (Make::Gcc(_) | Make::Clang(_))) = compiler.make(files.folder().parent())
        {
            others.push(format!("{name} ({make})"));
        }
    }
    if !others.is_empty() {
        findings.good(format!("for --cc, KEIRIN_CC and KEIRIN_CXX there are {}", others.join(", ")));
    }
}

/// The pass, which only some programs need: without it nothing is wrong, unless it was asked for.
fn pass(files: &RuntimeFiles, install: bool, findings: &mut Findings) {
    match compile::pass_state(files, install) {
        Ok(state) => findings.good(state),
        Err(error) if install => findings.problem(format!("{error:#}")),
        Err(error) => findings.note(format!("no --branches, --diagnose, --loops and --lean: {error:#}")),
    }
}

/// Builds a program and runs it.
fn attempt(compiler: &Compiler, ending: &str, files: &RuntimeFiles) -> Result<Make> {
    let folder = tempfile::tempdir().context("there is no temporary folder")?;
    let source = folder.path().join(format!("trial.{ending}"));
    let program = folder.path().join("trial");
    fs::write(&source, TRIAL).context("the temporary folder cannot be written")?;
    let words: Vec<OsString> = vec![source.into(), "-o".into(), program.clone().into()];
    let make = compiler.make(files.folder().parent())?;
    let output = compile::command(&words, compiler, files)?.output().context("it cannot be run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().find(|line| line.contains("error") || line.contains("cannot find"));
        let line = line.or(said.lines().next()).unwrap_or("it says nothing").to_owned();
        bail!("{line} (Debian: apt install gcc g++ libc6-dev)");
    }
    let status = Command::new(&program).status().context("what it builds cannot be run")?;
    if !status.success() {
        bail!("what it builds ends with {status}");
    }
    Ok(make)
}

/// The runtime maps a large part of the address space, most of which is never used.
fn address_space(findings: &mut Findings) {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let soft =
        limits.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next());
    match soft {
        Some("unlimited") => findings.good("the address space is not limited"),
        Some(bytes) => findings.problem(format!(
            "the address space is limited to {bytes} bytes, and the runtime reserves terabytes of it: ulimit -v unlimited"
        )),
        None => findings.note("the limit of the address space cannot be read from /proc/self/limits"),
    }
}

fn randomization(findings: &mut Findings) {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let level = read("/proc/sys/kernel/randomize_va_space");
    let bits = read("/proc/sys/vm/mmap_rnd_bits");
    if level.as_deref() == Some("0") {
        findings.good("addresses are not randomized");
        return;
    }
    let bits = bits.map_or_else(String::new, |bits| format!(", {bits} bits"));
    // The runtime starts a program again without randomization if its memory is where the runtime's should be.
    match Command::new("setarch").args([std::env::consts::ARCH, "-R", "true"]).output() {
        Ok(output) if output.status.success() => findings.good(format!(
            "addresses are randomized{bits}; where they clash with the runtime's, a program can be started again without"
        )),
        Ok(_) => findings.note(format!(
            "addresses are randomized{bits}, and a program may not switch that off here, as in many containers: in the \
             rare case of a clash it cannot be watched (docker run --security-opt seccomp=unconfined)"
        )),
        Err(_) => findings.note(format!(
            "addresses are randomized{bits}; whether a program may switch that off was not tried (Debian: apt install \
             util-linux)"
        )),
    }
}
