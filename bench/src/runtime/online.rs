//! What it costs to watch programs with tasks: applications in OpenMP and oneTBB, against the same applications alone and with
//! ThreadSanitizer.

use super::build::{Build, Builder, Compiler};
use super::ratios::{self, Column, Measured, Ratio, mean, times};
use super::{choose, names, sanitized};
use crate::child::{run_to_end, run_with_findings};
use crate::programs::Programs;
use crate::statistics::Statistics;
use crate::table::{Table, count, goal, nothing};
use anyhow::{Context, Result, bail};
use keirin_plot::Series;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the applications are.
const APPLICATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tasks");
/// Of what a program prints this is more than enough.
const OUTPUT_BYTES: u64 = 4096;
/// Race detection should take at most so many times the time alone, on the geometric mean.
const MOST_OF_NATIVE: f64 = 3.2;
/// The atomicity checker should take at most so many times the time of the race detector.
const MOST_OF_RACES: f64 = 1.3;
/// On so many programs the race detector may be dearer than the sanitizer.
const DEARER: usize = 2;

/// A library for tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// OpenMP, of LLVM whatever the compiler.
    OpenMp,
    /// oneTBB.
    Tbb,
}

impl Library {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OpenMp, Self::Tbb];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMp => "openmp",
            Self::Tbb => "tbb",
        }
    }

    /// The library with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|library| library.name() == name)
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::OpenMp => "OpenMP",
            Self::Tbb => "oneTBB",
        }
    }

    /// How an application is built with it.
    pub(super) fn flags(self, compiler: Compiler) -> &'static [&'static str] {
        match (self, compiler) {
            // gcc would take its own library, which tells nothing about tasks.
            (Self::OpenMp, Compiler::Gcc) => &["-fopenmp", "-l:libomp.so.5"],
            (Self::OpenMp, Compiler::Clang) => &["-fopenmp"],
            (Self::Tbb, _) => &["-DUSE_TBB", "-ltbb"],
        }
    }
}

/// How keirin watches: a name for the tables, and options of `keirin run`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mode {
    name: String,
    options: Vec<String>,
}

/// The modes that have names, and whether they are measured when none is asked for.
const MODES: [(&str, &str, bool); 5] = [
    ("races", "--analysis ptracer", true),
    ("spd3", "--analysis spd3", true),
    ("atomicity", "--analysis task-atomicity", true),
    ("published-atomicity", "--analysis task-atomicity --algorithm published", true),
    ("fasttrack", "--analysis fasttrack", false),
];

impl Mode {
    /// The modes that are measured when none is asked for.
    pub fn usual() -> Vec<Self> {
        let usual = MODES.into_iter().filter(|(.., usual)| *usual);
        usual.map(|(name, options, _)| Self::new(name, options)).collect()
    }

    /// A mode by its name, or a new one as `NAME=OPTIONS`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((name, options)) = text.split_once('=') {
            return Ok(Self::new(name, options));
        }
        let known = MODES.into_iter().find(|(name, ..)| *name == text);
        known.map(|(name, options, _)| Self::new(name, options)).ok_or_else(|| {
            let names = MODES.map(|(name, ..)| name).join(", ");
            format!("there is no `{text}`, but {names}; a new one is told as NAME=OPTIONS")
        })
    }

    fn new(name: &str, options: &str) -> Self {
        let options = options.split_whitespace().map(str::to_owned).collect();
        Self { name: name.to_owned(), options }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often everything is run.
    pub rounds: u32,
    /// Per cent of the usual work of each application.
    pub share: u32,
    /// Numbers of threads; there are tables for each.
    pub threads: Vec<u32>,
    /// Names of applications; all if there are none.
    pub applications: Vec<String>,
    /// Compilers, with which everything is built.
    pub compilers: Vec<Compiler>,
    /// Libraries, with which everything is built.
    pub libraries: Vec<Library>,
    /// How keirin watches.
    pub modes: Vec<Mode>,
    /// What keirin watches is built with `--lean`.
    pub lean: bool,
    /// Where plots go, if they are wanted.
    pub plots: Option<PathBuf>,
}

/// The names of all applications.
pub fn applications() -> Result<Vec<String>> {
    names(APPLICATIONS)
}

/// Measures all applications; each table is handed out as soon as it is there.
pub fn tables(programs: &Programs, settings: &Settings, mut print: impl FnMut(&str)) -> Result<()> {
    let all = applications()?;
    let chosen = choose(&all, &settings.applications)?;
    for &library in &settings.libraries {
        for &compiler in &settings.compilers {
            let folder = tempfile::tempdir().context("no temporary folder")?;
            let builder = Builder { programs, compiler, folder: folder.path() };
            for &threads in &settings.threads {
                let contest =
                    Contest { builder: &builder, library, settings, threads, archer: archer(library)? };
                let (mut measured, mut figures) = (Vec::new(), Vec::new());
                for application in chosen {
                    measured.push(contest.measure(application)?);
                    figures.push(contest.figures(application)?);
                }
                print(&contest.tables(&measured, &figures));
                if let Some(folder) = &settings.plots {
                    contest.plot(folder, &measured)?;
                }
            }
        }
    }
    Ok(())
}

/// The tool that tells ThreadSanitizer what OpenMP does. It comes with clang.
fn archer(library: Library) -> Result<Option<PathBuf>> {
    if library != Library::OpenMp {
        return Ok(None);
    }
    let name = "libarcher.so";
    let output = Command::new(Compiler::Clang.name()).arg(format!("-print-file-name={name}")).output();
    let output = output.with_context(|| format!("cannot ask {} for {name}", Compiler::Clang.name()))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if !path.is_absolute() {
        bail!("{} has no {name}", Compiler::Clang.name());
    }
    Ok(Some(path))
}

/// Builds an application.
pub(super) fn built(
    builder: &Builder<'_>,
    library: Library,
    application: &str,
    build: Build,
) -> Result<PathBuf> {
    let source = Path::new(APPLICATIONS).join(application).with_extension("cpp");
    let flags = ["-O2", "-g", "-std=c++20", "-pthread", "-Wno-tsan", "-Wno-unknown-warning-option"];
    let flags: Vec<&str> = flags.into_iter().chain(library.flags(builder.compiler).iter().copied()).collect();
    builder.build(&source, build, &flags)
}

/// A command with the arguments of an application, and an environment in which threads that have nothing to do take no processor
/// time.
pub(super) fn finished(mut command: Command, share: u32, threads: u32) -> Command {
    command.arg(share.to_string()).arg(threads.to_string());
    command.env("OMP_WAIT_POLICY", "passive").env("KMP_BLOCKTIME", "0").env_remove("OMP_TOOL_LIBRARIES");
    command
}

/// All ways to run an application with one library, compiler and number of threads: alone, watched in each mode, and last with the
/// sanitizer.
struct Contest<'a> {
    builder: &'a Builder<'a>,
    library: Library,
    settings: &'a Settings,
    threads: u32,
    archer: Option<PathBuf>,
}

impl Contest<'_> {
    fn build(&self, application: &str, build: Build) -> Result<PathBuf> {
        built(self.builder, self.library, application, build)
    }

    fn watched_build(&self) -> Build {
        if self.settings.lean { Build::Lean } else { Build::Keirin }
    }

    fn watched(&self, mode: &Mode, more: &[&str], program: &Path) -> Command {
        let mut command = self.builder.programs.bare_keirin();
        command.arg("run").args(&mode.options).args(more).args(["--output", "report", "--"]).arg(program);
        self.finish(command)
    }

    fn sanitized(&self, program: &Path) -> Command {
        let mut command = self.finish(sanitized(program));
        // It knows nothing of the order that oneTBB makes, and what it tells of that must not be measured.
        command.env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1 report_bugs=0 exitcode=0");
        if let Some(archer) = &self.archer {
            command.env("OMP_TOOL_LIBRARIES", archer);
        }
        command
    }

    fn finish(&self, command: Command) -> Command {
        finished(command, self.settings.share, self.threads)
    }

    /// Builds an application in all ways and runs them in turn.
    fn measure(&self, application: &str) -> Result<Measured> {
        let [native, keirin, sanitizer] = [Build::Native, self.watched_build(), Build::Sanitizer]
            .map(|build| self.build(application, build));
        let (native, keirin, sanitizer) = (native?, keirin?, sanitizer?);
        let modes = &self.settings.modes;
        let ways = modes.len() + 2;
        let folder = self.builder.folder;
        let measured = Measured::interleaved(application, self.settings.rounds, ways, |way| match way {
            0 => run_to_end(&mut self.finish(Command::new(&native)), folder),
            // What is found is told in a table of its own.
            _ if way <= modes.len() => {
                run_with_findings(&mut self.watched(&modes[way - 1], &[], &keirin), folder, OUTPUT_BYTES)
            }
            _ => run_to_end(&mut self.sanitized(&sanitizer), folder),
        })?;
        let expected = &measured.costs[0].output;
        if let Some(way) = measured.costs.iter().position(|cost| cost.output != *expected) {
            let title = if way <= modes.len() { &modes[way - 1].name } else { "TSan" };
            let printed = &measured.costs[way].output;
            bail!("{application} printed {printed:?} with {title}, and {expected:?} alone");
        }
        Ok(measured)
    }

    /// What keirin counts with each mode. Counting costs time, so that it is done apart.
    fn figures(&self, application: &str) -> Result<Vec<Figures>> {
        let program = self.build(application, self.watched_build())?;
        let folder = self.builder.folder;
        let count = |mode| {
            let mut command = self.watched(mode, &["--stats", "--format", "json"], &program);
            let cost = run_with_findings(&mut command, folder, OUTPUT_BYTES)?;
            let report = std::fs::read(folder.join("report")).context("keirin has written no report")?;
            let report: Value = serde_json::from_slice(&report).context("the report is no JSON")?;
            Ok(Figures::from(&report, &Statistics(cost.messages)))
        };
        self.settings.modes.iter().map(count).collect()
    }

    fn sanitizer_title(&self) -> &'static str {
        if self.archer.is_some() { "TSan and Archer" } else { "TSan" }
    }

    fn columns(&self) -> Vec<Column> {
        let modes = self.settings.modes.iter().map(|mode| mode.name.clone());
        let titles = modes.chain([self.sanitizer_title().to_owned()]);
        titles.zip(1..).map(|(title, way)| Column { title, way, alone: 0 }).collect()
    }

    /// What was measured, for the head of a table.
    fn about(&self) -> String {
        let threads =
            if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        let lean = if self.settings.lean { " and --lean" } else { "" };
        format!("{}, built with {}{lean}, {threads}", self.library.title(), self.builder.compiler.name())
    }

    fn tables(&self, measured: &[Measured], figures: &[Vec<Figures>]) -> String {
        let about = self.about();
        let columns = self.columns();
        let [time, memory] = ratios::tables("application", &columns, measured);
        let mut text = format!("### Time: {about}\n\n{time}\n### Peak memory: {about}\n\n{memory}\n");
        for (number, mode) in self.settings.modes.iter().enumerate() {
            let mut table = Table::new(&Figures::HEADS);
            for (application, figures) in measured.iter().zip(figures) {
                table.row(figures[number].row(&application.program));
            }
            text.push_str(&format!("### What `{}` checked: {about}\n\n{table}\n", mode.name));
        }
        text.push_str(&goals(&columns, measured));
        text
    }

    /// Writes the slowdowns and the memory as two plots.
    fn plot(&self, folder: &Path, measured: &[Measured]) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let columns = self.columns();
        let mut groups: Vec<String> =
            measured.iter().map(|application| application.program.clone()).collect();
        groups.push("geometric mean".to_owned());
        let kinds: [(&str, &str, Ratio); 2] = [
            ("slowdown", "CPU time as a multiple of the program alone", Measured::slowdown),
            ("memory", "Peak memory as a multiple of the program alone", Measured::growth),
        ];
        for (kind, title, figure) in kinds {
            let series: Vec<Series> = columns
                .iter()
                .map(|column| {
                    let figures = measured.iter().map(|application| figure(application, column));
                    let figures = figures.chain([mean(measured, figure, column)]).collect();
                    Series { name: column.title.clone(), figures }
                })
                .collect();
            let [library, compiler] = [self.library.name(), self.builder.compiler.name()];
            let lean = if self.settings.lean { "-lean" } else { "" };
            let path = folder.join(format!("{kind}-{library}-{compiler}{lean}-{}.svg", self.threads));
            let svg = keirin_plot::bars(&format!("{title}: {}", self.about()), &groups, &series);
            std::fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// The columns of the papers' tables of programs, as far as keirin tells them, and how much was found.
struct Figures([Option<u64>; 6]);

impl Figures {
    const HEADS: [&'static str; 7] =
        ["application", "tasks", "steps", "locations", "accesses", "locks", "findings"];

    fn from(report: &Value, statistics: &Statistics) -> Self {
        let [.., findings] = Self::HEADS;
        let figure = |name: &str| match name {
            "accesses" | "locks" => statistics.of_run(name),
            _ if name == findings => report["summary"]["counts"]["reported"].as_u64(),
            _ => statistics.get(name),
        };
        let [_, names @ ..] = Self::HEADS;
        Self(names.map(figure))
    }

    fn row(&self, application: &str) -> Vec<String> {
        let figures = self.0.iter().map(|figure| figure.map_or_else(nothing, count));
        [application.to_owned()].into_iter().chain(figures).collect()
    }
}

/// What is asked of race detection and of atomicity checking, where both they and the sanitizer were measured.
fn goals(columns: &[Column], measured: &[Measured]) -> String {
    let find = |name: &str| columns.iter().find(|column| column.title == name);
    let (Some(races), Some(sanitizer)) = (find("races"), columns.last()) else { return String::new() };
    let average = |column| mean(measured, Measured::slowdown, column);
    let mut table = Table::new(&["figure", "measured", "goal"]);
    let mut row = |figure: &str, measured: String, text: String, met: bool| {
        table.row(vec![figure.to_owned(), measured, goal(&text, met)]);
    };
    let mean_of_races = average(races);
    let limit = format!("≤ {MOST_OF_NATIVE} ×");
    row("races, geometric mean", times(mean_of_races), limit, mean_of_races <= MOST_OF_NATIVE);
    let dearer = |program: &&Measured| program.slowdown(races) > program.slowdown(sanitizer);
    let dearer: Vec<&str> = measured.iter().filter(dearer).map(|program| program.program.as_str()).collect();
    let told = if dearer.is_empty() { "none".to_owned() } else { dearer.join(", ") };
    let limit = format!("at most {DEARER}");
    row(&format!("races dearer than {}", sanitizer.title), told, limit, dearer.len() <= DEARER);
    if let Some(atomicity) = find("atomicity") {
        let ratio = average(atomicity) / mean_of_races;
        let limit = format!("≤ {MOST_OF_RACES} ×");
        row("atomicity to races", times(ratio), limit, ratio <= MOST_OF_RACES);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::super::ratios::tests::measured;
    use super::*;

    #[test]
    fn there_are_applications() {
        assert!(applications().expect("the folder is there").len() >= 21);
    }

    #[test]
    fn modes_have_names_or_options() {
        assert_eq!(Mode::parse("races"), Ok(Mode::new("races", "--analysis ptracer")));
        let tree = Mode::parse("tree=--analysis ptracer --structure tree").expect("a new mode");
        assert_eq!((tree.name.as_str(), tree.options.len()), ("tree", 4));
        assert!(Mode::parse("raises").is_err_and(|error| error.contains("spd3")));
        assert_eq!(Mode::usual().len(), 4);
    }

    #[test]
    fn figures_are_those_that_are_told() {
        let report = serde_json::json!({"summary": {"counts": {"reported": 2}}});
        let statistics = "keirin: process 7 (a): 90 events, 80 accesses, 2 threads, 3 locks, 0 re-entrant lock operations\n\
                          keirin: process 7 (a): ptracer: tasks: 1234\n";
        let figures = Figures::from(&report, &Statistics(statistics.to_owned()));
        assert_eq!(figures.row("fib"), ["fib", "1,234", "–", "–", "80", "3", "2"]);
    }

    #[test]
    fn goals_are_judged_on_all_applications() {
        let titles = ["races", "atomicity", "TSan"].map(str::to_owned);
        let columns: Vec<Column> =
            titles.into_iter().zip(1..).map(|(title, way)| Column { title, way, alone: 0 }).collect();
        let table = goals(&columns, &[measured(&[100, 200, 300, 100]), measured(&[100, 800, 800, 900])]);
        assert!(table.contains("| races, geometric mean | 4.00 × | ≤ 3.2 ×: **missed** |"), "{table}");
        assert!(table.contains("| races dearer than TSan | kernel | at most 2: met |"), "{table}");
        assert!(table.contains("| atomicity to races | 1.22 × | ≤ 1.3 ×: met |"), "{table}");
        assert_eq!(goals(&columns[1..], &[measured(&[100, 200, 300, 100])]), "");
    }
}
