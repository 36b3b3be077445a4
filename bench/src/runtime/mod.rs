//! What it costs to watch programs: kernels with threads, against the same kernels alone and with the compilers' own
//! ThreadSanitizer.

pub mod adversarial;
pub mod branches;
pub(crate) mod build;
pub mod online;
mod ratios;
pub mod rust;
pub mod stress;

pub use build::Compiler;

use crate::child::run_to_end;
use crate::programs::Programs;
use crate::table::{self, Table};
use anyhow::{Context, Result, bail};
use build::{Build, Builder};
use ratios::{Column, Measured, mean};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the kernels are.
const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs");
/// A trace of all that a kernel does would fill the disk: so many per cent of the work are recorded, and compared with as
/// much work of the kernel alone.
const RECORDED: f64 = 0.1;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often everything is run.
    pub rounds: u32,
    /// Per cent of the usual work of each kernel.
    pub share: f64,
    /// Threads of each kernel.
    pub threads: u32,
    /// Names of kernels; all if there are none.
    pub kernels: Vec<String>,
    /// Compilers, with which everything is built.
    pub compilers: Vec<Compiler>,
}

/// A way to run a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Native,
    Races,
    Empty,
    Sanitizer,
    NativeInPart,
    Recorded,
}

impl Way {
    const ALL: [Self; 6] =
        [Self::Native, Self::Races, Self::Empty, Self::Sanitizer, Self::NativeInPart, Self::Recorded];

    fn build(self) -> Build {
        match self {
            Self::Native | Self::NativeInPart => Build::Native,
            Self::Races | Self::Empty | Self::Recorded => Build::Keirin,
            Self::Sanitizer => Build::Sanitizer,
        }
    }

    fn share(self, settings: &Settings) -> f64 {
        match self {
            Self::NativeInPart | Self::Recorded => settings.share * RECORDED,
            _ => settings.share,
        }
    }

    fn number(self) -> usize {
        Self::ALL.iter().position(|&other| other == self).expect("all ways are measured")
    }

    /// The column of this way, as a multiple of the same work alone.
    fn column(self, compiler: Compiler) -> Column {
        let title = match self {
            Self::Native | Self::NativeInPart => "alone".to_owned(),
            Self::Races => "races".to_owned(),
            Self::Empty => "`empty`".to_owned(),
            Self::Recorded => "`record`".to_owned(),
            Self::Sanitizer => format!("{} TSan", compiler.name()),
        };
        let alone = if self == Self::Recorded { Self::NativeInPart } else { Self::Native };
        Column { title, way: self.number(), alone: alone.number() }
    }

    /// The command that runs a program this way; what keirin writes goes to the working folder.
    fn command(self, programs: &Programs, program: &Path) -> Command {
        let watch = |arguments: &[&str]| {
            let mut command = programs.bare_keirin();
            command.args(arguments).arg("--").arg(program);
            command
        };
        match self {
            Self::Native | Self::NativeInPart => Command::new(program),
            Self::Races => watch(&["run", "--analysis", "fasttrack", "--output", "report"]),
            Self::Empty => watch(&["run", "--analysis", "empty", "--output", "report"]),
            Self::Recorded => watch(&["record", "--output", "run.ktrace"]),
            Self::Sanitizer => sanitized(program),
        }
    }
}

/// The command that runs a program with a sanitizer. Where the system chooses addresses at random, the sanitizers refuse some
/// of them, or start again.
fn sanitized(program: &Path) -> Command {
    let mut command = Command::new("setarch");
    command.arg("-R").arg(program).env_remove("TSAN_OPTIONS");
    command
}

/// The names of all kernels.
pub fn kernels() -> Result<Vec<String>> {
    names(KERNELS)
}

/// The names of the C++ programs in a folder.
fn names(folder: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("no programs in {folder}"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cpp")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Those of all programs that were chosen; all if none was.
fn choose<'a>(all: &'a [String], chosen: &'a [String]) -> Result<&'a [String]> {
    if let Some(unknown) = chosen.iter().find(|name| !all.contains(name)) {
        bail!("there is no `{unknown}`, but {}", all.join(", "));
    }
    Ok(if chosen.is_empty() { all } else { chosen })
}

/// Measures all kernels with all compilers; each table is handed out as soon as it is there.
pub fn tables(programs: &Programs, settings: &Settings, mut print: impl FnMut(&str)) -> Result<()> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let all = kernels()?;
    let chosen = choose(&all, &settings.kernels)?;
    let mut slowdowns = Vec::new();
    for &compiler in &settings.compilers {
        let builder = Builder { programs, compiler, folder: folder.path() };
        let mut measured = Vec::new();
        for kernel in chosen {
            measured.push(measure(&builder, settings, kernel)?);
        }
        print(&tables_of(compiler, &measured));
        slowdowns.push((
            compiler,
            [Way::Races, Way::Sanitizer]
                .map(|way| mean(&measured, Measured::slowdown, &way.column(compiler))),
        ));
    }
    print(&goals(&slowdowns));
    Ok(())
}

/// Builds a kernel in all ways and runs them in turn.
fn measure(builder: &Builder<'_>, settings: &Settings, kernel: &str) -> Result<Measured> {
    let source = Path::new(KERNELS).join(kernel).with_extension("cpp");
    let flags = ["-O2", "-g", "-std=c++20", "-pthread", "-Wno-tsan", "-Wno-unknown-warning-option"];
    let executables: Vec<PathBuf> =
        Way::ALL.iter().map(|way| builder.build(&source, way.build(), &flags)).collect::<Result<_>>()?;
    let measured = Measured::interleaved(kernel, settings.rounds, Way::ALL.len(), |number| {
        let way = Way::ALL[number];
        let mut command = way.command(builder.programs, &executables[number]);
        command.arg(settings.threads.to_string()).arg(way.share(settings).to_string());
        let cost = run_to_end(&mut command, builder.folder);
        // A trace is large.
        let _ = std::fs::remove_file(builder.folder.join("run.ktrace"));
        cost
    })?;
    for (way, alone) in [
        (Way::Races, Way::Native),
        (Way::Empty, Way::Native),
        (Way::Sanitizer, Way::Native),
        (Way::Recorded, Way::NativeInPart),
    ] {
        let [result, expected] = [way, alone].map(|way| &measured.costs[way.number()].output);
        if result != expected {
            bail!("{kernel} printed {result:?} as {way:?}, and {expected:?} alone");
        }
    }
    Ok(measured)
}

fn tables_of(compiler: Compiler, measured: &[Measured]) -> String {
    let columns = [Way::Races, Way::Empty, Way::Recorded, Way::Sanitizer].map(|way| way.column(compiler));
    let [time, memory] = ratios::tables("kernel", &columns, measured);
    let name = compiler.name();
    format!("### Time, built with {name}\n\n{time}\n### Peak memory, built with {name}\n\n{memory}\n")
}

/// The goal: race detection costs no more than clang's sanitizer, whichever compiler built the program.
fn goals(slowdowns: &[(Compiler, [f64; 2])]) -> String {
    let Some((_, [_, limit])) = slowdowns.iter().find(|(compiler, _)| *compiler == Compiler::Clang) else {
        return String::new();
    };
    let mut table = Table::new(&["built with", "races, geometric mean", "clang's TSan", "goal"]);
    for (compiler, [races, _]) in slowdowns {
        let met = table::goal("≤ clang's TSan", races <= limit);
        table.row(vec![compiler.name().to_owned(), format!("{races:.2} ×"), format!("{limit:.2} ×"), met]);
    }
    table.to_string()
}

/// The values that a program expects to be found or printed, told in its comments.
fn directives(source: &Path, name: &str) -> Result<Vec<String>> {
    let text =
        std::fs::read_to_string(source).with_context(|| format!("cannot read {}", source.display()))?;
    let start = format!("// {name}: ");
    Ok(text.lines().filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect())
}

/// The programs of a folder of `tests/programs`.
fn test_programs(folder: &str) -> Result<Vec<PathBuf>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs")).join(folder);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "cpp"));
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::ratios::tests::measured;
    use super::*;

    #[test]
    fn ratios_are_to_the_same_work_alone() {
        let one = measured(&[100, 500, 200, 800, 10, 40]);
        let ways = [Way::Races, Way::Sanitizer, Way::Recorded];
        let slowdowns = ways.map(|way| one.slowdown(&way.column(Compiler::Gcc)).round());
        assert_eq!(slowdowns, [5.0, 8.0, 4.0]);
    }

    #[test]
    fn only_programs_that_exist_are_chosen() {
        let all = ["sort".to_owned(), "text".to_owned()];
        assert_eq!(choose(&all, &[]).expect("all of them"), all);
        assert_eq!(choose(&all, &all[1..]).expect("one of them"), &all[1..]);
        assert!(choose(&all[..1], &all).is_err());
    }

    #[test]
    fn the_goal_is_judged_against_clang() {
        let slowdowns = [(Compiler::Gcc, [7.0, 9.0]), (Compiler::Clang, [5.0, 6.0])];
        let table = goals(&slowdowns);
        assert!(table.contains("| gcc | 7.00 × | 6.00 × | ≤ clang's TSan: **missed** |"), "{table}");
        assert!(table.contains("| clang-19 | 5.00 × | 6.00 × | ≤ clang's TSan: met |"), "{table}");
        assert_eq!(goals(&slowdowns[..1]), "");
    }

    #[test]
    fn there_are_kernels_and_programs() {
        assert!(kernels().expect("the folder is there").len() >= 8);
        assert_eq!(test_programs("adversarial").expect("the folder is there").len(), 6);
        assert_eq!(test_programs("stress").expect("the folder is there").len(), 5);
    }
}
