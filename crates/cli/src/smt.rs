//! An SMT solver, if the machine has one: `z3`, asked through a pipe.

use keirin_core::witness::Ask;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The program that is asked.
const PROGRAM: &str = "z3";

/// Asks the solver, no longer than so long for each question. None if there is none on the `PATH`.
pub(crate) fn solver(time: Duration) -> Option<Box<Ask>> {
    let path = std::env::var_os("PATH")?;
    let program =
        std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|file| file.is_file())?;
    let seconds = time.as_secs().max(1);
    Some(Box::new(move |question| {
        let mut child = Command::new(&program)
            .arg("-in")
            .arg(format!("-T:{seconds}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut input = child.stdin.take()?;
        let mut output = child.stdout.take()?;
        let mut answer = String::new();
        // It reads while it answers, so that a long question and a long answer need two hands.
        let told = std::thread::scope(|scope| {
            let writer = scope.spawn(move || input.write_all(question.as_bytes()).is_ok());
            let read = output.read_to_string(&mut answer).is_ok();
            writer.join().unwrap_or(false) || read
        });
        let ended = child.wait().is_ok();
        (told && ended).then_some(answer)
    }))
}
