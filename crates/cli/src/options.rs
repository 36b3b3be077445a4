//! The options of keirin: one table, from which the flags of the command line, the `KEIRIN_OPTIONS` variable, the
//! `keirin.toml` file and the reference page are made.
//!
//! A value comes from the last of: the default, `keirin.toml`, `KEIRIN_OPTIONS`, the command line. Lists of files are
//! added up instead.

mod sources;
mod values;

pub(crate) use sources::load;
pub(crate) use values::{
    Adversary, Algorithm, Analyses, AnalysisName, Cache, Check, Checks, ColorChoice, Format, Size,
    StructureName, Switch, TraceFormat, When,
};

use crate::atomic::Rule;
use keirin_core::analysis::atomtracker::hardware::signature::Hash;
use keirin_core::generate::{Discipline, Family};
use regex::Regex;
use std::path::PathBuf;
use values::Setting;

/// The default of `--analysis` for a program that runs: it finds most for the time that it takes.
pub(crate) const ANALYSIS_OF_RUN: AnalysisName = AnalysisName::FastTrack;

/// The commands that take options from the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    Check,
    Demo,
    Convert,
    Generate,
    Stats,
    Explain,
    Run,
    /// Takes all that `Run` takes.
    Cargo,
    /// Takes all that `Run` takes.
    Confirm,
    Record,
    Simulate,
    Infer,
    Detect,
}

impl Command {
    /// True if an option that some commands take is one of this command's.
    fn is_among(self, commands: &[Command]) -> bool {
        let runs = matches!(self, Command::Cargo | Command::Confirm);
        commands.contains(&self) || runs && commands.contains(&Command::Run)
    }
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// What the value is, as the help shows it; empty for a switch.
    pub(crate) value: &'static str,
    pub(crate) default: &'static str,
    pub(crate) commands: &'static [Command],
    pub(crate) help: &'static str,
}

macro_rules! options {
    ($($name:literal $field:ident: $type:ty = $default:literal, $value:literal, [$($command:ident)+], $help:literal;)+) => {
        /// All options with their values.
        #[derive(Clone, Debug)]
        pub(crate) struct Options {
            $(pub(crate) $field: $type,)+
        }

        /// The table.
        pub(crate) const ROWS: &[Row] = &[
            $(Row {
                name: $name,
                value: $value,
                default: $default,
                commands: &[$(Command::$command),+],
                help: $help,
            },)+
        ];

        impl Options {
            /// Sets an option from text. Ok(false): there is no such option.
            pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<bool, String> {
                match name {
                    $($name => self.$field.assign(text).map(|()| true),)+
                    _ => Ok(false),
                }
            }
        }

        impl Options {
            /// Puts options that a command does not take back to their defaults: a configuration is for all commands,
            /// and a demonstration must not write the project's baseline.
            pub(crate) fn keep_only(&mut self, command: Command) {
                let default = Self::default();
                $(if !command.is_among(&[$(Command::$command),+]) {
                    self.$field = default.$field;
                })+
            }
        }

        impl Default for Options {
            fn default() -> Self {
                let mut options = Self { $($field: Setting::unset(),)+ };
                for row in ROWS.iter().filter(|row| !row.default.is_empty()) {
                    let set = options.set(row.name, row.default);
                    debug_assert_eq!(set, Ok(true), "default of --{}", row.name);
                }
                options
            }
        }
    };
}

options! {
    "analysis" analysis: Analyses = "velodrome", "NAMES", [Check Run],
        "Analyses to run in one pass, separated by commas: velodrome, aerodrome, fasttrack, eraser, atomizer, empty; for every schedule of a run with tasks: spd3, ptracer, all-sets, task-atomicity. The default of `keirin run` is fasttrack, or ptracer for a program with OpenMP or oneTBB; of `cargo keirin` task-atomicity, or fasttrack with --races";
    "algorithm" algorithm: Algorithm = "keirin", "NAME", [Check Run],
        "`keirin` for our own algorithms, `published` for those of the papers, to compare; of a program that runs only those of ptracer and task-atomicity";
    "check" check: Checks = "annotated,gaps", "LIST", [Check Run],
        "task-atomicity: what must be whole, separated by commas: `annotated` (the blocks that the program marks, as changed by --atomic, and what a step does to members of groups), `functions` (those that --atomic names), `steps` (all that a task does between two task constructs), `gaps` (what is read under a lock and written under a later hold of it)";
    "structure" structure: StructureName = "ranks", "NAME", [Check],
        "Analyses of tasks: how to tell what may run in parallel, `ranks`, `labels` or `tree`, to compare";
    "access-cache" access_cache: bool = "", "", [Check],
        "Analyses of tasks: remember what a step has accessed, as the papers do; on a recorded trace it does not pay";
    "verdict-cache" verdict_cache: Option<Switch> = "", "WHEN", [Check],
        "Analyses of tasks: remember how steps stand to each other, `on` or `off`; by default on for --structure tree";
    "examine" examine: bool = "", "", [Run],
        "Analyses of tasks: record the run and check it after its end, for all pairs of places and with a schedule that shows each finding; else it is checked while it runs. --record and --witnesses do so as well";
    "no-witness" no_witness: bool = "", "", [Check Run],
        "Analyses of tasks: do not look for schedules that show the findings, which then stay suspected";
    "diagnose" diagnose: bool = "", "", [Check Run],
        "Analyses of tasks: look at the values and the branches that the trace tells, or a program that was built with `keirin cc --diagnose`, as well, and at what the other sides of branches would have done. A finding is told only if a schedule shows it with the values that its branches need";
    "diagnose-seconds" diagnose_seconds: u64 = "10", "N", [Check Run],
        "How long --diagnose looks for a schedule for one finding at most";
    "witnesses" witnesses: Option<PathBuf> = "", "DIR", [Check Explain Run],
        "Folder for the schedules that show findings, one file each; `keirin explain` reads them";
    "no-merge" no_merge: bool = "", "", [Check],
        "Published Velodrome: give every operation outside regions a node of its own";
    "no-gc" no_gc: bool = "", "", [Check],
        "Published Velodrome: keep nodes that can no longer be on a cycle";
    "atomic" atomic: Vec<Rule> = "", "RULE", [Check Run],
        "What is meant to be atomic: `+REGEX` or `-REGEX` on labels and function names, `functions` for all functions but main and thread entry points, or `critical-sections` for what is done from the first lock on that a thread takes until it holds none; the last rule that matches decides; may be given several times";
    "atomic-file" atomic_file: Vec<PathBuf> = "", "FILE", [Check Run],
        "Rules as for --atomic from a file, one a line; they come before those of --atomic";
    "write-atomic-spec" write_atomic_spec: Option<PathBuf> = "", "FILE", [Check],
        "Write the blocks that were not refuted as a file for --atomic-file";
    "ignore" ignore: Vec<Regex> = "", "REGEX", [Check],
        "Leave out accesses in functions or files that match; may be given several times";
    "skip-thread-local" skip_thread_local: bool = "", "", [Check],
        "Leave out accesses by the only thread that has accessed the data so far; may hide findings";
    "skip-read-only" skip_read_only: bool = "", "", [Check],
        "Leave out reads of data that is not written any more; may hide findings";
    "lenient" lenient: bool = "", "", [Check Convert Stats Simulate Infer Detect],
        "Go on after events that cannot have happened and blocks that are damaged, and count them";
    "format" format: Format = "terminal", "FORMAT", [Check Demo Run Simulate Detect],
        "Report as `terminal`, `json`, `sarif` or `dot`; a simulation as one of the first two";
    "output" output: Option<PathBuf> = "", "FILE", [Check Demo Convert Generate Stats Run Record Simulate Infer Detect],
        "Write to a file instead of standard output; for `record`, the trace";
    "color" color: ColorChoice = "auto", "WHEN", [Check Demo Run Detect],
        "Colour: `auto`, `always` or `never`; NO_COLOR is honoured by `auto`";
    "max-per-site" max_per_site: u64 = "10", "N", [Check Run Detect],
        "Show at most this many findings for one place in the program; 0 shows all";
    "suppressions" suppressions: Vec<PathBuf> = "", "FILE", [Check Run Detect],
        "Do not report what this file suppresses, with reasons; may be given several times";
    "baseline" baseline: Option<PathBuf> = "", "FILE", [Check Run Detect],
        "Report only what is not in this baseline";
    "write-baseline" write_baseline: Option<PathBuf> = "", "FILE", [Check Run Detect],
        "Write the findings as a baseline for later runs";
    "suggest-suppressions" suggest_suppressions: bool = "", "", [Check Run Detect],
        "Print an entry for the suppression file after each finding that is reported";
    "source-root" source_root: Vec<PathBuf> = "", "DIR", [Check Explain Run Detect],
        "Look for source files here as well; may be given several times";
    "stats" stats: bool = "", "", [Check Run Detect],
        "Print figures about the work of the analyses";
    "record" record: Option<PathBuf> = "", "FILE", [Run],
        "Record a trace as well, for `keirin check`";
    "exact-order" exact_order: bool = "", "", [Run Record],
        "Keep the order of racing accesses in the trace exactly; slower";
    "adversarial" adversarial: Option<Adversary> = "", "POLICY", [Run],
        "Make threads wait where another could come in between, so that rare schedules become likely: `all` operations, `writes` only, or `spare-one` (one thread never waits)";
    "adversarial-pause" adversarial_pause: Option<u64> = "", "MS", [Run],
        "How long such a thread waits at most, in milliseconds";
    "memory-cap" memory_cap: Option<Size> = "", "SIZE", [Run Record],
        "How much shadow memory the runtime may take inside of the program, as 500M or 4G; memory that the program touches later is not looked at, and that is told";
    "library-locks" library_locks: bool = "", "", [Run Record],
        "Let locks that libraries use inside of themselves, and were not built to be watched, order threads as well";
    "races" races: bool = "", "", [Cargo],
        "Look for data races, which unsafe code can have: the program is built with its memory accesses told, which are watched instead of what locks guard";
    "report" report: Option<PathBuf> = "", "FILE", [Confirm],
        "The finding is one of this report, which `keirin run` or `check` has written with --format json; else the program is run and watched first";
    "tries" tries: u64 = "10", "N", [Confirm],
        "Run the program so often at most";
    "patience" patience: u64 = "200", "MS", [Confirm],
        "How long a thread is made to wait for another at most, in milliseconds; later tries take longer";
    "progress" progress: When = "auto", "WHEN", [Check Convert Generate Stats Simulate Infer Detect],
        "Show progress on standard error: `auto` (on a terminal), `always` or `never`";
    "to" to: Option<TraceFormat> = "", "FORMAT", [Convert Generate],
        "Format to write: `std` (text) or `ktrace` (native); by default what the name of the output says, else `std`";
    "family" family: Family = "few-threads", "NAME", [Generate],
        "Kind of trace: see `keirin gen --help`";
    "events" events: u64 = "100000", "N", [Generate],
        "Number of events, about";
    "threads" threads: Option<u64> = "", "N", [Generate],
        "Number of threads; they run the tasks, if there are any";
    "locks" locks: Option<u64> = "", "N", [Generate],
        "Number of locks";
    "variables" variables: Option<u64> = "", "N", [Generate],
        "Number of variables";
    "region-length" region_length: Option<u64> = "", "N", [Generate],
        "Accesses in one atomic region, or in one step of a task, about";
    "tasks" tasks: Option<u64> = "", "N", [Generate],
        "Tasks of a phase (family `task-loop`) or of a round (`task-nested`)";
    "depth" depth: Option<u64> = "", "N", [Generate],
        "How deep tasks are nested (families `task-tree` and `task-nested`)";
    "discipline" discipline: Option<Discipline> = "", "NAME", [Generate],
        "How tasks take locks: `none`, `nested`, `hand-over-hand`, `any-order`, `across-spawns`, `reader-writer` or `recursive`";
    "violations" violations: f64 = "0", "SHARE", [Generate],
        "Share of the atomic regions that another thread tears, or of the tasks with a race or a torn region, from 0 to 1";
    "seed" seed: u64 = "1", "N", [Generate],
        "Seed of the random choices: the same seed gives the same bytes";
    "regions" regions: Option<PathBuf> = "", "FILE", [Run Simulate Infer Detect],
        "Regions that `keirin infer` has learned; `infer` itself goes on from them";
    "threshold" threshold: u64 = "1", "N", [Infer],
        "Keep only regions that this many runs show, if bad runs may be among them; from 2 on each run is looked at by itself";
    "stop-after" stop_after: u64 = "5", "N", [Infer],
        "Stop after so many runs that show nothing new; 0 uses all";
    "plot" plot: Option<PathBuf> = "", "FILE", [Infer],
        "Draw how many regions were known after each run (SVG)";
    "jobs" jobs: Option<u64> = "", "N", [Infer],
        "How many traces to read at the same time; by default as many as there are processors. The result does not depend on it";
    "no-critical-sections" no_critical_sections: bool = "", "", [Infer],
        "Split critical sections like anything else";
    "no-loops" no_loops: bool = "", "", [Infer],
        "Do not look at loops";
    "count-synchronization" count_synchronization: bool = "", "", [Infer],
        "Let operations on locks conflict with each other, as accesses do";
    "no-nested" no_nested: bool = "", "", [Infer],
        "Do not look for regions around others";
    "mismatches" mismatches: u64 = "1000", "N", [Run Simulate Detect],
        "A region is given up after so many exits of other regions";
    "cores" cores: u64 = "4", "N", [Simulate],
        "Cores of the modelled machine; threads beyond that share them";
    "cache-line" cache_line: u64 = "64", "BYTES", [Simulate],
        "Bytes of a cache line";
    "l1" l1: Cache = "32K:4:2", "SIZE:WAYS:CYCLES", [Simulate],
        "The first level of each core's caches";
    "l2" l2: Cache = "512K:8:12", "SIZE:WAYS:CYCLES", [Simulate],
        "The second level of each core's caches, which holds all of the first";
    "memory-cycles" memory_cycles: u64 = "80", "N", [Simulate],
        "Cycles until memory has answered";
    "bus-bytes" bus_bytes: u64 = "128", "N", [Simulate],
        "Bytes that the bus transfers in a cycle";
    "signature-bits" signature_bits: u64 = "2048", "N", [Simulate],
        "Bits of a physical signature";
    "signature-parts" signature_parts: u64 = "4", "N", [Simulate],
        "Physical signatures of a logical one";
    "signature-hash" signature_hash: Hash = "permuted", "NAME", [Simulate],
        "How an address becomes bits of a signature: `permuted`, `parity` or `multiplied`";
    "shadows" shadows: u64 = "1", "N", [Simulate],
        "Shadow signatures of a thread, for regions that have ended and are still compared";
}

/// The option names that a command takes.
pub(crate) fn rows_of(command: Command) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| command.is_among(row.commands))
}

/// The known name that looks most like an unknown one.
pub(crate) fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(longer) = known.iter().find(|other| name.len() > 2 && other.starts_with(name)) {
        return Some(longer);
    }
    let best = known.into_iter().map(|other| (distance(name, other), other)).min()?;
    (best.0 <= 1 + name.len() / 4).then_some(best.1)
}

/// The number of characters to insert, remove or replace to make one text from another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(command: Command) -> &'static str {
        match command {
            Command::Check => "check",
            Command::Demo => "demo",
            Command::Convert => "convert",
            Command::Generate => "gen",
            Command::Stats => "stats",
            Command::Explain => "explain",
            Command::Run => "run",
            Command::Cargo => "cargo",
            Command::Confirm => "confirm",
            Command::Record => "record",
            Command::Simulate => "simulate",
            Command::Infer => "infer",
            Command::Detect => "detect",
        }
    }

    /// The reference page, `docs/options.md`.
    fn reference_page() -> String {
        let mut page = String::from(
            "# Options\n\n\
             This page is made from the table in `crates/cli/src/options.rs`; a test keeps it true.\n\n\
             An option can be given as a flag (`--name value`), in the `KEIRIN_OPTIONS` variable \
             (`KEIRIN_OPTIONS=\"lenient max-per-site=3\"`, separated by blanks) or in `keirin.toml` \
             (`max-per-site = 3`), in the current folder or one above it. The flag wins over the variable, the variable \
             over the file. Lists of files add up. `cargo keirin` (`cargo`) and `confirm` take what `run` takes, too.\n\n\
             | option | value | default | commands | meaning |\n|---|---|---|---|---|\n",
        );
        for row in ROWS {
            let commands: Vec<&str> = row.commands.iter().map(|command| name(*command)).collect();
            let value = if row.value.is_empty() { "" } else { row.value };
            let default = match (row.default, row.value) {
                ("", "") => "off".to_owned(),
                ("", _) => String::new(),
                (default, _) => format!("`{default}`"),
            };
            page += &format!(
                "| `--{}` | {value} | {default} | {} | {} |\n",
                row.name,
                commands.join(", "),
                row.help
            );
        }
        page
    }

    #[test]
    fn names_are_unique_and_settable() {
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
        assert_eq!(Options::default().set("no-such-option", "1"), Ok(false));
    }

    #[test]
    fn similar_names_are_suggested() {
        assert_eq!(similar("lenent", ["lenient", "format"]), Some("lenient"));
        assert_eq!(similar("unrelated-thing", ["lenient", "format"]), None);
    }

    #[test]
    fn the_reference_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md");
        if std::env::var_os("KEIRIN_UPDATE").is_some() {
            std::fs::write(path, reference_page()).expect("docs/options.md can be written");
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(page == reference_page(), "docs/options.md is stale: run the tests with KEIRIN_UPDATE=1");
    }
}
