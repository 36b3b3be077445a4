//! The command line of keirin.
//!
//! Each command is a file in `cmd`; what they share is beside it: [`options`] (one table for all sources of options),
//! [`input`] and [`output`], [`report`] with its filters [`suppress`] and [`baseline`].

mod analyses;
mod atomic;
mod baseline;
mod cmd;
mod input;
mod openmp;
mod options;
mod output;
mod process;
mod progress;
mod regions;
mod report;
mod running;
mod runtime_files;
mod smt;
mod sources;
mod suppress;
mod symbols;
mod witnesses;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use cmd::{Ending, Exit};
use keirin_core::trace::TraceError;
use options::Command as Table;
use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A panic is our own defect: it is told in one line, and the exit code says that keirin failed.
    std::panic::set_hook(Box::new(|info| {
        complain(&format!("internal error, please report it with the input: {info}"));
    }));
    let ending = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Exit::Failed.into());
    ExitCode::from(ending.code())
}

fn run() -> Ending {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some((language, words)) = cmd::compile::asked(&words) {
        return ended(cmd::compile::run(language, words).map(Ending::from));
    }
    if let Some((tool, words)) = cmd::cargo::asked(&words) {
        return ended(tool.run(words).map(Ending::from));
    }
    let matches = match command_line().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            if error.use_stderr() {
                // If even this cannot be printed there is nothing left to say it with.
                let _ = error.print();
                return Exit::Usage.into();
            }
            let exit = match output::tolerate_closed(error.print()) {
                Ok(()) => Exit::Clean,
                Err(error) => {
                    complain(&format!("cannot write standard output: {error}"));
                    Exit::Failed
                }
            };
            return exit.into();
        }
    };
    ended(dispatch(&matches))
}

/// How keirin ends after a command. What went wrong is told.
fn ended(result: anyhow::Result<Ending>) -> Ending {
    match result {
        Ok(ending) => ending,
        Err(error) if output::is_closed(&error) => Exit::Clean.into(),
        Err(error) => {
            complain(&format!("{error:#}"));
            let from_input =
                error.chain().any(|cause| cause.is::<TraceError>() || cause.is::<std::io::Error>());
            if from_input { Exit::Failed.into() } else { Exit::Usage.into() }
        }
    }
}

fn dispatch(matches: &ArgMatches) -> anyhow::Result<Ending> {
    let words = |matches: &ArgMatches| -> Vec<OsString> {
        matches.get_many::<OsString>("program").into_iter().flatten().cloned().collect()
    };
    match matches.subcommand() {
        Some(("run", matches)) => cmd::run::run(&words(matches), &options::load(Table::Run, matches)?),
        Some(("cargo", matches)) => cmd::cargo::run(&words(matches), &options::load(Table::Cargo, matches)?),
        Some(("confirm", matches)) => {
            let finding = matches.get_one::<String>("finding").map_or("", String::as_str);
            cmd::confirm::run(finding, &words(matches), &options::load(Table::Confirm, matches)?)
        }
        Some(("record", matches)) => {
            cmd::record::run(&words(matches), &options::load(Table::Record, matches)?)
        }
        _ => offline(matches).map(Ending::from),
    }
}

/// The commands that run no program.
fn offline(matches: &ArgMatches) -> anyhow::Result<Exit> {
    let paths = |matches: &ArgMatches| -> Vec<PathBuf> {
        matches.get_many::<PathBuf>("trace").into_iter().flatten().cloned().collect()
    };
    match matches.subcommand() {
        Some(("check", matches)) => cmd::check::run(&paths(matches), &options::load(Table::Check, matches)?),
        Some(("demo", matches)) => cmd::demo::run(&options::load(Table::Demo, matches)?),
        Some(("convert", matches)) => {
            let options = options::load(Table::Convert, matches)?;
            cmd::convert::run(&paths(matches)[0], &options)
        }
        Some(("gen", matches)) => cmd::generate::run(&options::load(Table::Generate, matches)?),
        Some(("stats", matches)) => cmd::stats::run(&paths(matches), &options::load(Table::Stats, matches)?),
        Some(("infer", matches)) => cmd::infer::run(&paths(matches), &options::load(Table::Infer, matches)?),
        Some(("detect", matches)) => {
            cmd::detect::run(&paths(matches), &options::load(Table::Detect, matches)?)
        }
        Some(("simulate", matches)) => {
            cmd::simulate::run(&paths(matches), &options::load(Table::Simulate, matches)?)
        }
        Some(("explain", matches)) => {
            let name = matches.get_one::<String>("rule").map(String::as_str);
            cmd::explain::run(name, || options::load(Table::Explain, matches))
        }
        Some(("doctor", matches)) => cmd::doctor::run(
            &matches.get_many::<PathBuf>("program").into_iter().flatten().cloned().collect::<Vec<_>>(),
            matches.get_flag("install-pass"),
        ),
        Some(("completions", matches)) => match matches.get_one("shell") {
            Some(shell) => cmd::completions::run(command_line(), *shell),
            None => Ok(Exit::Usage),
        },
        _ => Ok(Exit::Usage),
    }
}

/// The definition of the command line; help and completions are made from it.
fn command_line() -> Command {
    Command::new("keirin")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Finds data races and atomicity violations in C, C++ and Rust programs")
        .after_help(
            "Exit codes: 0 nothing found, 66 findings, 2 wrong usage or configuration, 3 an input could not be read, \
             an output not be written, or keirin failed.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            with_options(Command::new("run"), Table::Run)
                .about("Runs a program that was built with keirin, and reports what is wrong")
                .after_help(
                    "Exit codes: 66 findings, else that of the program (128 and the number of the signal if one ended \
                     it); 2 wrong usage, 3 the program could not be watched, or keirin failed.",
                )
                .arg(program()),
        )
        .subcommand(
            with_options(Command::new("cargo"), Table::Cargo)
                .about("Builds, runs or tests Rust programs by cargo, and reports what is wrong: cargo keirin test")
                .after_help(
                    "Options of keirin come first, then the words for cargo: cargo keirin --format json test --release. Exit \
                     codes: 66 findings, else that of cargo; 2 wrong usage, 3 keirin failed.",
                )
                .arg(
                    Arg::new("program")
                        .value_name("CARGO")
                        .help("A command of cargo and its arguments: run, test, build, bench, nextest, …")
                        .required(true)
                        .num_args(1..)
                        .trailing_var_arg(true)
                        .allow_hyphen_values(true)
                        .value_parser(value_parser!(OsString)),
                ),
        )
        .subcommand(
            with_options(Command::new("confirm"), Table::Confirm)
                .about("Runs a program again and steers it, so that it shows a finding itself")
                .after_help(
                    "Exit codes: 66 confirmed, 0 not; 2 wrong usage, 3 the program could not be watched, or keirin failed.",
                )
                .arg(
                    Arg::new("finding")
                        .value_name("FINDING")
                        .help("The start of its fingerprint, its number in the report, or `all`")
                        .required(true),
                )
                .arg(program()),
        )
        .subcommand(
            with_options(Command::new("record"), Table::Record)
                .about("Runs a program that was built with keirin, and records a trace for `keirin check`")
                .arg(program()),
        )
        .subcommand(
            with_options(Command::new("check"), Table::Check)
                .about("Checks recorded traces")
                .arg(traces("Traces to check; - is standard input")),
        )
        .subcommand(
            with_options(Command::new("demo"), Table::Demo)
                .about("Builds and runs a small program and shows the report"),
        )
        .subcommand(
            with_options(Command::new("convert"), Table::Convert)
                .about("Converts a trace to another format")
                .arg(traces("Trace to convert; - is standard input").num_args(1)),
        )
        .subcommand(
            with_options(Command::new("gen"), Table::Generate)
                .about("Makes a random trace, reproducible from its seed")
                .after_help(cmd::generate::families_help()),
        )
        .subcommand(
            with_options(Command::new("stats"), Table::Stats)
                .about("Tells what traces hold")
                .arg(traces("Traces to count; - is standard input")),
        )
        .subcommand(
            with_options(Command::new("infer"), Table::Infer)
                .about("Learns atomic regions from the traces of good runs")
                .arg(traces("Traces of good runs")),
        )
        .subcommand(
            with_options(Command::new("detect"), Table::Detect)
                .about("Checks whether learned regions are torn in recorded traces")
                .arg(traces("Traces to check; - is standard input")),
        )
        .subcommand(
            with_options(Command::new("simulate"), Table::Simulate)
                .about("Runs traces on a modelled multicore that detects torn regions in hardware")
                .arg(traces("Traces to simulate; - is standard input")),
        )
        .subcommand(
            with_options(Command::new("explain"), Table::Explain)
                .about("Explains a kind of finding, or shows the schedule of one finding step by step")
                .arg(Arg::new("rule").value_name("FINDING").help(
                    "Name of a rule; or a file of --witnesses; or, with --witnesses, the start of a fingerprint. \
                     Without it all rules are listed",
                )),
        )
        .subcommand(compiler(
            "cc",
            "Compiles and links C programs that can be watched: use it as the compiler, as in make CC=\"keirin cc\"",
        ))
        .subcommand(compiler("c++", "The same for C++: make CXX=\"keirin c++\""))
        .subcommand(
            Command::new("doctor")
                .about("Tells what is missing on this machine, or in programs, to watch them")
                .arg(flag("install-pass", "Builds the pass behind --branches, --diagnose, --loops and --lean, if it is not there"))
                .arg(
                    Arg::new("program")
                        .value_name("PROGRAM")
                        .help("Programs or libraries to look at; without them the machine is looked at")
                        .num_args(0..)
                        .value_parser(value_parser!(PathBuf))
                        .value_hint(clap::ValueHint::FilePath),
                ),
        )
        .subcommand(
            Command::new("completions").about("Prints a completion script for a shell").arg(
                Arg::new("shell").value_name("SHELL").required(true).value_parser(value_parser!(clap_complete::Shell)),
            ),
        )
}

/// A command that is a compiler. Its arguments are taken from the command line before this definition is asked.
fn compiler(name: &'static str, about: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .disable_help_flag(true)
        .arg(Arg::new("cc").long("cc").value_name("NAME").help(
            "The compiler to run, as the first argument; else that of KEIRIN_CC or KEIRIN_CXX, else the first gcc or \
             clang on PATH",
        ))
        .arg(flag("branches", "Also tells what the other sides of branches would do (clang only)"))
        .arg(flag("diagnose", "That, and values and conditions, for keirin run --diagnose (clang only)"))
        .arg(flag("loops", "Also tells loops and their iterations (clang only)"))
        .arg(flag("lean", "Leaves out accesses that tell nothing new, so that programs run faster (clang only)"))
        .arg(
            Arg::new("arguments")
                .value_name("ARGUMENTS")
                .help("What the compiler is to do; passed on as it is")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_hint(clap::ValueHint::FilePath),
        )
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(clap::ArgAction::SetTrue)
}

fn program() -> Arg {
    Arg::new("program")
        .value_name("PROGRAM")
        .help("The program and its arguments, after `--`")
        .required(true)
        .num_args(1..)
        .last(true)
        .value_parser(value_parser!(OsString))
        .value_hint(clap::ValueHint::CommandWithArguments)
}

fn traces(help: &'static str) -> Arg {
    Arg::new("trace")
        .value_name("TRACE")
        .help(help)
        .required(true)
        .num_args(1..)
        .value_parser(value_parser!(PathBuf))
        .value_hint(clap::ValueHint::FilePath)
}

/// Adds the options of the table that a command takes.
fn with_options(mut command: Command, table: Table) -> Command {
    for row in options::rows_of(table) {
        let default = match (table, row.name) {
            // It depends on the program.
            (Table::Run | Table::Cargo | Table::Confirm, "analysis") => "",
            _ => row.default,
        };
        let help = if default.is_empty() {
            row.help.to_owned()
        } else {
            format!("{} [default: {default}]", row.help)
        };
        let mut arg = Arg::new(row.name).long(row.name).help(help);
        if row.value.is_empty() {
            arg = arg.action(ArgAction::SetTrue);
        } else {
            // A negative number is always wrong, but our message says so better than clap's.
            arg = arg.value_name(row.value).action(ArgAction::Append).allow_negative_numbers(true);
            if matches!(row.value, "FILE" | "DIR") {
                arg = arg.value_hint(clap::ValueHint::AnyPath);
            }
        }
        if row.name == "atomic" {
            // `-REGEX` is a rule, not a flag.
            arg = arg.allow_hyphen_values(true);
        }
        if row.name == "adversarial" {
            arg = arg.num_args(0..=1).require_equals(true).default_missing_value("all");
        }
        if row.name == "output" {
            arg = arg.short('o');
        }
        command = command.arg(arg);
    }
    command
}

/// Tells what went wrong, on standard error.
pub(crate) fn complain(message: &str) {
    tell(&format!("error: {message}"));
}

/// Tells something on standard error. Control characters could come from a hostile input; they are not passed on.
pub(crate) fn tell(message: &str) {
    let clean = report::text::printable(message);
    // Without standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "keirin: {clean}");
}
