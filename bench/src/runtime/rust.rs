//! What it costs to watch Rust programs, beside the real thread sanitizer, and what both tell of programs without races.

use super::ratios::{Column, Measured, tables as tables_of_ratios};
use crate::child::{Cost, run_to_end, run_with_findings};
use crate::programs::Programs;
use crate::table::{Table, goal};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often everything is run; the best counts.
    pub rounds: u32,
    /// Per cent of the usual work of each kernel.
    pub share: u32,
    /// Threads of each program.
    pub threads: u32,
    /// The kernels, all if none are named.
    pub kernels: Vec<String>,
}

/// A way to build and run programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// As they are.
    Alone,
    /// `cargo keirin`.
    Default,
    /// `cargo keirin --races`.
    Races,
    /// The compiler's own sanitizer, with Rust's library as it is.
    Sanitizer,
}

const WAYS: [Way; 4] = [Way::Alone, Way::Default, Way::Races, Way::Sanitizer];

/// Its reports take minutes where there are thousands: the time is that of a run without them, and they are counted in a run of so many per
/// cent of the work, without names.
const TIMED: &str = "report_bugs=0";
const COUNTED: &str = "exitcode=0:symbolize=0";
const COUNTED_SHARE: u32 = 2;

/// What the real sanitizer needs, without building Rust's library again.
const SANITIZER: &str = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer";

/// Builds and runs kernels and programs without races in all ways.
pub fn tables(programs: &Programs, settings: &Settings, mut print: impl FnMut(&str)) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kernels = Project::build(programs, settings, &root.join("rust"))?;
    let mut measured = Vec::new();
    let mut reports = Table::new(&["kernel", "`cargo keirin`", "`--races`", "ThreadSanitizer"]);
    let names = kernels.names(|_| true)?;
    for name in names.iter().filter(|name| settings.kernels.is_empty() || settings.kernels.contains(name)) {
        let mut told = [0; WAYS.len()];
        measured.push(Measured::interleaved(name, settings.rounds, WAYS.len(), |way| {
            let (cost, findings) = kernels.run(name, WAYS[way], TIMED, settings.share)?;
            told[way] += findings;
            Ok(Cost { processor: processor(&cost.output)?, ..cost })
        })?);
        for _ in 0..settings.rounds {
            told[3] += kernels.run(name, Way::Sanitizer, COUNTED, settings.share.min(COUNTED_SHARE))?.1;
        }
        reports.row(row(name, told));
    }
    if measured.is_empty() {
        bail!("there is no such kernel: {}", names.join(", "));
    }
    let column = |title: &str, way| Column { title: title.to_owned(), way, alone: 0 };
    let columns =
        [column("`cargo keirin`", 1), column("`cargo keirin --races`", 2), column("ThreadSanitizer", 3)];
    let [time, _] = tables_of_ratios("kernel", &columns, &measured);
    print(&format!("### Processor time\n\n{time}\n"));
    let below = measured.iter().all(|kernel| kernel.slowdown(&columns[1]) < kernel.slowdown(&columns[2]));
    print(&format!("{}\n\n", goal("`--races` below the sanitizer on every kernel", below)));
    let runs = settings.rounds;
    print(&format!(
        "### Reports on kernels without races, in {runs} runs of each (ThreadSanitizer: of {COUNTED_SHARE} % \
         of the work)\n\n{reports}\n"
    ));

    let clean = Project::build(programs, settings, &root.join("../tests/programs/rust/races"))?;
    let mut reports = Table::new(&["program", "`cargo keirin`", "`--races`", "ThreadSanitizer"]);
    let mut sums = [0; WAYS.len()];
    for name in clean.names(|text| !text.contains("// expect: "))? {
        let mut told = [0; WAYS.len()];
        for (way, told) in WAYS.into_iter().zip(&mut told).skip(1) {
            for _ in 0..runs {
                *told += clean.run(&name, way, COUNTED, settings.share)?.1;
            }
        }
        sums.iter_mut().zip(told).for_each(|(sum, told)| *sum += told);
        reports.row(row(&name, told));
    }
    reports.row(row("all", sums));
    print(&format!("### Reports on programs without races, in {runs} runs of each\n\n{reports}\n"));
    print(&format!("{}\n", goal("no report of `--races`", sums[2] == 0)));
    Ok(())
}

fn row(name: &str, told: [usize; WAYS.len()]) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(told[1..].iter().map(usize::to_string)).collect()
}

/// What a kernel says of its own time: the start of the program and the work of cargo are not in it.
fn processor(output: &str) -> Result<Duration> {
    let figure = output.lines().find_map(|line| line.strip_prefix("nanoseconds "));
    let nanoseconds = figure.and_then(|figure| figure.parse().ok());
    nanoseconds.map(Duration::from_nanos).context("the kernel tells no time")
}

/// A copy of a package, built in all ways.
struct Project<'a> {
    programs: &'a Programs,
    settings: &'a Settings,
    folder: tempfile::TempDir,
    /// The kind of machine.
    host: String,
}

impl<'a> Project<'a> {
    fn build(programs: &'a Programs, settings: &'a Settings, source: &Path) -> Result<Self> {
        let folder = tempfile::tempdir().context("no temporary folder")?;
        copy(source, &folder.path().join("package"))?;
        let about = run_to_end(Command::new("rustc").arg("-vV"), folder.path())?.output;
        let host =
            about.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc tells no host")?;
        let project = Project { programs, settings, host: host.to_owned(), folder };
        for way in WAYS {
            let mut command = project.cargo(way, &["build", "--bins"]);
            run_to_end(&mut command, project.folder.path())?;
        }
        Ok(project)
    }

    /// The programs whose text is as wanted.
    fn names(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.folder.path().join("package/src/bin"))? {
            let path = entry?.path();
            if is_wanted(&std::fs::read_to_string(&path)?) {
                names.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn report(&self) -> PathBuf {
        self.folder.path().join("report")
    }

    /// A command of cargo, in a way.
    fn cargo(&self, way: Way, words: &[&str]) -> Command {
        let target = self.folder.path().join(format!("{way:?}"));
        let mut command = match way {
            Way::Alone | Way::Sanitizer => Command::new("cargo"),
            Way::Default | Way::Races => self.programs.bare_keirin(),
        };
        if matches!(way, Way::Default | Way::Races) {
            command.args(["cargo", "--format", "json", "--output"]).arg(self.report());
            command.args((way == Way::Races).then_some("--races"));
        }
        command.args(words).arg("--release").arg("--target-dir").arg(target);
        command.arg("--manifest-path").arg(self.folder.path().join("package/Cargo.toml"));
        if way == Way::Sanitizer {
            command.args(["--target", &self.host]);
            command.env("RUSTFLAGS", SANITIZER).env("RUSTC_BOOTSTRAP", "1");
        }
        command
    }

    /// Runs a program with options of the real sanitizer; what it cost, and how much is told of it.
    fn run(&self, name: &str, way: Way, sanitizer: &str, share: u32) -> Result<(Cost, usize)> {
        let folder = self.folder.path().join(format!("{way:?}"));
        let mut command = match way {
            Way::Alone => Command::new(folder.join("release").join(name)),
            Way::Sanitizer => Command::new(folder.join(&self.host).join("release").join(name)),
            Way::Default | Way::Races => {
                let mut command = self.cargo(way, &["run", "--bin", name]);
                command.arg("--");
                command
            }
        };
        command.arg(share.to_string()).env("THREADS", self.settings.threads.to_string());
        command.env("TSAN_OPTIONS", sanitizer);
        let cost = run_with_findings(&mut command, self.folder.path(), u64::MAX)?;
        let told = match way {
            Way::Alone => 0,
            Way::Sanitizer => cost.messages.matches("WARNING: ThreadSanitizer").count(),
            Way::Default | Way::Races => {
                let report: Value = serde_json::from_slice(&std::fs::read(self.report())?)?;
                let findings = report["findings"].as_array().context("the report has no findings")?;
                findings.iter().filter(|finding| finding["status"]["kind"] == "reported").count()
            }
        };
        Ok((cost, told))
    }
}

/// Copies a folder, without what was built in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "target" {
            copy(&path, &to.join(name))?;
        } else if path.is_file() {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_tells_its_time() {
        let time = processor("result 7\nnanoseconds 1500000\n").expect("there is one");
        assert_eq!(time, Duration::from_micros(1500));
        assert!(processor("result 7\n").is_err());
    }

    #[test]
    fn a_package_is_copied_without_what_was_built() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        for folder in ["src/bin", "target/release"] {
            std::fs::create_dir_all(from.join(folder)).expect("a folder");
        }
        std::fs::write(from.join("src/bin/a.rs"), "fn main() {}").expect("a file");
        copy(&from, &to).expect("it can be copied");
        assert!(to.join("src/bin/a.rs").exists() && !to.join("target").exists());
    }
}
