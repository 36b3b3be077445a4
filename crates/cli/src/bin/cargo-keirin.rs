//! What cargo runs for `cargo keirin …`: the `keirin` beside it, which does the work.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let beside = std::env::current_exe().map(|own| own.with_file_name("keirin"));
    let keirin = beside.ok().filter(|path| path.exists()).unwrap_or_else(|| "keirin".into());
    // Cargo passes its name for the command as the first argument.
    let mut words = std::env::args_os().skip(1).peekable();
    words.next_if(|word| word == "keirin");
    let error = Command::new(&keirin).arg("cargo").args(words).exec();
    eprintln!("cargo-keirin: error: cannot run {}: {error}; install keirin beside it", keirin.display());
    ExitCode::from(3)
}
