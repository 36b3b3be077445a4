//! `keirin-bench`: see the README beside it.

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use keirin_bench::programs::Programs;
use keirin_bench::readers::Reader;
use keirin_bench::runtime::online::{self, Library, Mode};
use keirin_bench::runtime::{self, Compiler, adversarial, branches, rust, stress};
use keirin_bench::shapes::Shape;
use keirin_bench::structure::{self, Contestant};
use keirin_bench::{analyses, atomtracker, diagnose, many_tasks, oracle, tasks, traces, transactions};
use keirin_core::generate::Family;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

fn main() -> Result<()> {
    let matches = command_line().get_matches();
    match matches.subcommand() {
        Some(("read", arguments)) => read(arguments),
        Some(("traces", arguments)) => {
            let settings = traces::Settings {
                events: *arguments.get_one("events").expect("has a default"),
                rounds: *arguments.get_one("rounds").expect("has a default"),
                limit: limit(arguments),
                families: families(arguments, &traces::DEFAULT_FAMILIES),
            };
            traces::tables(&programs()?, &settings, print)
        }
        Some(("analyses", arguments)) => {
            let settings = analyses::Settings {
                events: *arguments.get_one("events").expect("has a default"),
                rounds: *arguments.get_one("rounds").expect("has a default"),
                limit: limit(arguments),
                families: families(arguments, &analyses::DEFAULT_FAMILIES),
            };
            analyses::tables(&programs()?, &settings, print)
        }
        Some(("transactions", arguments)) => {
            let settings = transactions::Settings {
                events: *arguments.get_one("events").expect("has a default"),
                limit: limit(arguments),
                families: families(arguments, &Family::THREADS),
            };
            print(&transactions::table(&programs()?, &settings)?);
            Ok(())
        }
        Some(("structure", arguments)) => {
            let settings = structure::Settings {
                rounds: *arguments.get_one("rounds").expect("has a default"),
                shrink: *arguments.get_one("shrink").expect("has a default"),
            };
            structure::tables(&programs()?, &settings, print)
        }
        Some(("build-structure", arguments)) => build_structure(arguments),
        Some(("oracle", arguments)) => {
            let settings = oracle::Settings {
                programs: *arguments.get_one("programs").expect("has a default"),
                disciplines: all_of(arguments, "disciplines"),
            };
            print(&oracle::tables(&settings)?);
            Ok(())
        }
        Some(("diagnose", arguments)) => {
            let seconds = *arguments.get_one("seconds").expect("has a default");
            let settings = diagnose::Settings { limit: Duration::from_secs(seconds) };
            print(&diagnose::table(&settings).to_string());
            Ok(())
        }
        Some(("tasks", arguments)) => {
            let settings = tasks::Settings {
                events: *arguments.get_one("events").expect("has a default"),
                rounds: *arguments.get_one("rounds").expect("has a default"),
                limit: limit(arguments),
                families: families(arguments, &Family::TASKS),
            };
            if let Some(family) = settings.families.iter().find(|family| !family.has_tasks()) {
                bail!("`{family}` has no tasks");
            }
            tasks::tables(&programs()?, &settings, print)
        }
        Some(("many-tasks", arguments)) => {
            let settings =
                many_tasks::Settings { tasks: *arguments.get_one("tasks").expect("has a default") };
            many_tasks::tables(&programs()?, &settings, print)
        }
        Some(("run-many-tasks", arguments)) => run_many_tasks(arguments),
        Some(("runtime", arguments)) => {
            let settings = runtime::Settings {
                rounds: *arguments.get_one("rounds").expect("has a default"),
                share: f64::from(*arguments.get_one::<u32>("share").expect("has a default")),
                threads: *arguments.get_one("threads").expect("has a default"),
                kernels: all_of(arguments, "kernels"),
                compilers: compilers(arguments),
            };
            runtime::tables(&programs()?, &settings, print)
        }
        Some(("rust", arguments)) => {
            let settings = rust::Settings {
                rounds: *arguments.get_one("rounds").expect("has a default"),
                share: *arguments.get_one("share").expect("has a default"),
                threads: *arguments.get_one("threads").expect("has a default"),
                kernels: all_of(arguments, "kernels"),
            };
            rust::tables(&programs()?, &settings, print)
        }
        Some(("branches", arguments)) => {
            let settings = branches::Settings {
                rounds: *arguments.get_one("rounds").expect("has a default"),
                share: *arguments.get_one("share").expect("has a default"),
                threads: *arguments.get_one("threads").expect("has a default"),
                applications: all_of(arguments, "applications"),
                libraries: libraries(arguments),
            };
            branches::tables(&programs()?, &settings, print)
        }
        Some(("tasks-online", arguments)) => {
            let settings = online::Settings {
                rounds: *arguments.get_one("rounds").expect("has a default"),
                share: *arguments.get_one("share").expect("has a default"),
                threads: all_of(arguments, "threads"),
                applications: all_of(arguments, "applications"),
                compilers: compilers(arguments),
                libraries: libraries(arguments),
                modes: match arguments.get_many::<Mode>("mode") {
                    Some(modes) => modes.cloned().collect(),
                    None => Mode::usual(),
                },
                lean: arguments.get_flag("lean"),
                plots: arguments.get_one("plots").cloned(),
            };
            online::tables(&programs()?, &settings, print)
        }
        Some(("atomtracker", arguments)) => {
            let settings = atomtracker::Settings {
                runs: *arguments.get_one("runs").expect("has a default"),
                stop_after: *arguments.get_one("stop-after").expect("has a default"),
                further: *arguments.get_one("further").expect("has a default"),
                rounds: *arguments.get_one("rounds").expect("has a default"),
                work: *arguments.get_one("work").expect("has a default"),
                events: *arguments.get_one("events").expect("has a default"),
                compiler: compilers(arguments)[0],
                plots: arguments.get_one("plots").cloned(),
            };
            atomtracker::tables(&programs()?, &settings, print)
        }
        Some(("adversarial", arguments)) => {
            let runs = *arguments.get_one("runs").expect("has a default");
            for compiler in compilers(arguments) {
                print(&adversarial::table(&programs()?, &adversarial::Settings { runs, compiler })?);
            }
            Ok(())
        }
        Some(("stress", arguments)) => {
            print(&stress::table(&programs()?, &compilers(arguments))?);
            Ok(())
        }
        _ => bail!("no such command"),
    }
}

fn command_line() -> Command {
    let events = |default: &'static str| {
        let help = "Number of events of each trace, about";
        Arg::new("events")
            .long("events")
            .value_name("N")
            .default_value(default)
            .value_parser(events_from)
            .help(help)
    };
    let limit = Arg::new("limit")
        .long("limit")
        .value_name("SECONDS")
        .default_value("30")
        .value_parser(value_parser!(u64).range(1..))
        .help("Kill a run of the published algorithm after so long");
    let families = Arg::new("families")
        .value_name("FAMILY")
        .num_args(0..)
        .value_parser(|name: &str| name.parse::<Family>())
        .help("Families of traces: see `keirin gen --help`");
    let rounds = Arg::new("rounds")
        .long("rounds")
        .value_name("N")
        .default_value("5")
        .value_parser(value_parser!(u32).range(1..))
        .help("How often everything is run; the best counts");
    let shrink = Arg::new("shrink")
        .value_parser(value_parser!(u32).range(1..=1000))
        .help("Make the runs so many times smaller");
    let compiler = Arg::new("compiler")
        .long("compiler")
        .value_name("NAME")
        .action(ArgAction::Append)
        .value_parser(PossibleValuesParser::new(Compiler::ALL.map(Compiler::name)))
        .help("Compiler of the programs; both unless told otherwise");
    let library = Arg::new("library")
        .long("library")
        .value_name("NAME")
        .action(ArgAction::Append)
        .value_parser(PossibleValuesParser::new(Library::ALL.map(Library::name)))
        .help("Library for the tasks; both unless told otherwise");
    let plots = Arg::new("plots")
        .long("plots")
        .value_name("FOLDER")
        .value_parser(value_parser!(PathBuf))
        .help("Write the tables as plots (SVG) as well");
    let counted = |name: &'static str, default: &'static str, most: i64| {
        let parser = value_parser!(u32).range(1..=most);
        Arg::new(name).long(name).value_name("N").default_value(default).value_parser(parser)
    };
    Command::new("keirin-bench")
        .about("Measures keirin; prints tables in Markdown")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("traces")
                .about("How fast traces are read and checked, and the memory that takes")
                .args([events("10_000_000"), rounds.clone(), limit.clone(), families.clone()]),
        )
        .subcommand(
            Command::new("analyses")
                .about("How fast each analysis is, alone and with others in one pass, and how right it is")
                .args([events("10_000_000"), rounds.clone(), limit.clone(), families.clone()]),
        )
        .subcommand(
            Command::new("transactions")
                .about("How many transactions are stored, as in Table 1 of the Velodrome paper")
                .args([events("1_000_000"), limit.clone(), families.clone()]),
        )
        .subcommand(
            Command::new("oracle")
                .about(
                    "How exact the analyses of tasks are, on small programs of which all schedules are tried",
                )
                .arg(number("programs", "20_000").help("Random programs of each discipline"))
                .arg(
                    Arg::new("disciplines")
                        .value_name("DISCIPLINE")
                        .num_args(0..)
                        .value_parser(PossibleValuesParser::new(oracle::names()))
                        .help("What the programs do with locks, and how their tasks wait for each other"),
                ),
        )
        .subcommand(
            Command::new("diagnose")
                .about("How long it takes to decide whether a branch can go the other way")
                .arg(number("seconds", "60").help("Time limit for one question")),
        )
        .subcommand(
            Command::new("tasks").about("How fast the analyses of tasks are, and what they remember").args([
                events("17_300_000"),
                rounds.clone(),
                limit,
                families,
            ]),
        )
        .subcommand(
            Command::new("many-tasks")
                .about("Whether memory grows with the number of tasks")
                .arg(number("tasks", "100_000_000").help("Tasks of the longest runs, about")),
        )
        .subcommand(
            Command::new("run-many-tasks")
                .hide(true)
                .about("Makes a run of many tasks and analyses it; prints figures")
                .arg(Arg::new("shape").required(true))
                .arg(Arg::new("analysis").required(true))
                .arg(Arg::new("tasks").required(true).value_parser(number_from)),
        )
        .subcommand(
            Command::new("runtime")
                .about("What it costs to watch programs with threads, beside the compilers' sanitizers")
                .args([
                    rounds.clone(),
                    compiler.clone(),
                    counted("threads", "2", 64).help("Threads of each kernel"),
                    counted("share", "100", 1000).help("Per cent of the usual work of each kernel"),
                    Arg::new("kernels").value_name("KERNEL").num_args(0..).help("Kernels; all by default"),
                ]),
        )
        .subcommand(
            Command::new("rust")
                .about("What it costs to watch Rust programs, and false reports, beside the real thread sanitizer")
                .args([
                    rounds.clone(),
                    counted("threads", "2", 64).help("Threads of each program"),
                    counted("share", "100", 1000).help("Per cent of the usual work of each kernel"),
                    Arg::new("kernels").value_name("KERNEL").num_args(0..).help("Kernels; all by default"),
                ]),
        )
        .subcommand(
            Command::new("branches")
                .about("Accesses of other sides of branches in programs with tasks, and what it costs to check them as well")
                .args([
                    rounds.clone(),
                    library.clone(),
                    counted("threads", "2", 64).help("Threads of each application"),
                    counted("share", "100", 1000).help("Per cent of the usual work of each application"),
                    Arg::new("applications")
                        .value_name("APPLICATION")
                        .num_args(0..)
                        .help("Applications; all by default"),
                ]),
        )
        .subcommand(
            Command::new("tasks-online")
                .about("What it costs to watch programs with tasks, beside the compilers' sanitizers")
                .args([
                    rounds.clone(),
                    compiler.clone(),
                    library.clone(),
                    Arg::new("mode")
                        .long("mode")
                        .value_name("NAME[=OPTIONS]")
                        .action(ArgAction::Append)
                        .value_parser(Mode::parse)
                        .help("How keirin watches: a name, or a new name and options of `keirin run`"),
                    counted("threads", "2", 64)
                        .action(ArgAction::Append)
                        .help("Threads of each application; may be given several times"),
                    counted("share", "100", 1000).help("Per cent of the usual work of each application"),
                    Arg::new("lean")
                        .long("lean")
                        .action(ArgAction::SetTrue)
                        .help("Builds what keirin watches with --lean, which clang can only"),
                    plots.clone(),
                    Arg::new("applications")
                        .value_name("APPLICATION")
                        .num_args(0..)
                        .help("Applications; all by default"),
                ]),
        )
        .subcommand(
            Command::new("atomtracker")
                .about("Regions that are inferred, bugs found by them, false alarms and costs, as in the AtomTracker paper")
                .args([
                    rounds.clone(),
                    compiler.clone(),
                    counted("runs", "40", 10_000).help("Good runs of each program to learn from, at most"),
                    counted("stop-after", "5", 10_000).help("Runs without anything new after which learning stops"),
                    counted("further", "5", 10_000).help("Further good runs, to look at for false alarms"),
                    counted("work", "5000", 1_000_000).help("Times the usual requests of a program that are timed"),
                    number("events", "10_000_000").help("Events of the traces on which inference is timed"),
                    plots.clone(),
                ]),
        )
        .subcommand(
            Command::new("adversarial")
                .about("How often a defect is found with and without adversarial scheduling")
                .args([counted("runs", "50", 10_000).help("Runs of each program"), compiler.clone()]),
        )
        .subcommand(
            Command::new("stress")
                .about("Programs that strain the runtime: whether they are right, and their peak memory")
                .arg(compiler),
        )
        .subcommand(
            Command::new("structure")
                .about("What the structures of runs with tasks cost to build and to ask")
                .args([rounds, shrink.clone().long("shrink").value_name("N").default_value("1")]),
        )
        .subcommand(
            Command::new("build-structure")
                .hide(true)
                .about("Builds one structure and asks it; prints figures")
                .arg(Arg::new("shape").required(true))
                .arg(Arg::new("contestant").required(true))
                .arg(shrink.required(true)),
        )
        .subcommand(
            Command::new("read")
                .hide(true)
                .about("Reads a trace and does nothing with it; prints the number of events and a checksum")
                .arg(Arg::new("reader").required(true))
                .arg(Arg::new("trace").required(true).value_parser(value_parser!(PathBuf))),
        )
}

/// An option with a positive number.
fn number(name: &'static str, default: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("N").default_value(default).value_parser(number_from)
}

fn number_from(text: &str) -> Result<u64, String> {
    let number: u64 = text.replace('_', "").parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    match number {
        0 => Err("nothing would be done".to_owned()),
        // Numbers of tasks have 32 bits.
        _ if number > 1_000_000_000 => Err("that is too much".to_owned()),
        _ => Ok(number),
    }
}

/// A number of events of which a tenth is still a trace.
fn events_from(text: &str) -> Result<u64, String> {
    let number: u64 = text.replace('_', "").parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    if number < 100 { Err("less than 100 events are no trace".to_owned()) } else { Ok(number) }
}

fn limit(arguments: &ArgMatches) -> Duration {
    Duration::from_secs(*arguments.get_one("limit").expect("has a default"))
}

fn families(arguments: &ArgMatches, default: &[Family]) -> Vec<Family> {
    match arguments.get_many::<Family>("families") {
        Some(families) => families.copied().collect(),
        None => default.to_vec(),
    }
}

/// All values of an argument.
fn all_of<T: Clone + Send + Sync + 'static>(arguments: &ArgMatches, name: &str) -> Vec<T> {
    arguments.get_many(name).map(|values| values.cloned().collect()).unwrap_or_default()
}

fn compilers(arguments: &ArgMatches) -> Vec<Compiler> {
    match arguments.get_many::<String>("compiler") {
        Some(names) => names.filter_map(|name| Compiler::from_name(name)).collect(),
        None => Compiler::ALL.to_vec(),
    }
}

fn libraries(arguments: &ArgMatches) -> Vec<Library> {
    match arguments.get_many::<String>("library") {
        Some(names) => names.filter_map(|name| Library::from_name(name)).collect(),
        None => Library::ALL.to_vec(),
    }
}

fn programs() -> Result<Programs> {
    let programs = Programs::beside(&std::env::current_exe().context("where am I?")?)?;
    if cfg!(debug_assertions) {
        eprintln!("keirin-bench: not optimised, so that the times mean nothing: run with --release");
    }
    Ok(programs)
}

fn read(arguments: &ArgMatches) -> Result<()> {
    let name: &String = arguments.get_one("reader").expect("is required");
    let trace: &PathBuf = arguments.get_one("trace").expect("is required");
    let Some(reader) = Reader::from_name(name) else { bail!("`{name}` is no reader") };
    let contents = reader.read(trace)?;
    print(&format!("{} {}\n", contents.events, contents.checksum));
    Ok(())
}

fn build_structure(arguments: &ArgMatches) -> Result<()> {
    let shape: &String = arguments.get_one("shape").expect("is required");
    let contestant: &String = arguments.get_one("contestant").expect("is required");
    let Some(shape) = Shape::from_name(shape) else { bail!("`{shape}` is no shape") };
    let Some(contestant) = Contestant::from_name(contestant) else { bail!("`{contestant}` is no structure") };
    let shrink = *arguments.get_one("shrink").expect("is required");
    print(&contestant.measure(shape, shrink).line());
    Ok(())
}

fn run_many_tasks(arguments: &ArgMatches) -> Result<()> {
    let shape: &String = arguments.get_one("shape").expect("is required");
    let analysis: &String = arguments.get_one("analysis").expect("is required");
    let Some(shape) = many_tasks::Shape::from_name(shape) else { bail!("`{shape}` is no shape") };
    let tasks = *arguments.get_one("tasks").expect("is required");
    print(&many_tasks::measure(shape, analysis, tasks)?.line());
    Ok(())
}

/// Prints at once, so that a long run shows where it is. Whoever closed the output does not want it.
fn print(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}
