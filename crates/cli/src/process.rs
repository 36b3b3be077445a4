//! Runs a program in our place: it has our terminal, gets the signals that are sent to us, and its end is ours.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::signal::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FORWARDED: [i32; 9] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT];

/// The program that runs; none before and after.
type Running = Arc<Mutex<Option<Pid>>>;

/// Runs a program to its end. An error says that it could not be started.
pub(crate) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    // The program must be started first: what we do about signals is not to be inherited.
    let mut child = command.spawn()?;
    let running: Running = Arc::new(Mutex::new(Pid::from_raw(child.id().cast_signed())));
    forward_signals(running.clone());
    let pid = *lock(&running);
    if let Some(pid) = pid {
        wait_for_end(pid);
        // From here on the number may belong to somebody else.
        *lock(&running) = None;
    }
    child.wait()
}

fn lock(running: &Running) -> MutexGuard<'_, Option<Pid>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the program has ended, and leaves it to be asked for its status.
fn wait_for_end(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(error) = waitid(WaitId::Pid(pid), options) {
        if error != rustix::io::Errno::INTR {
            // Then the plain wait that follows says what is wrong.
            return;
        }
    }
}

/// Passes signals on from now on. Without that the program runs as well, so a failure is not told.
fn forward_signals(running: Running) {
    let Ok(mut signals) = SignalsInfo::<WithOrigin>::new(FORWARDED) else { return };
    std::thread::spawn(move || {
        for origin in &mut signals {
            let program = lock(&running);
            match *program {
                Some(pid) => forward(&origin, pid),
                None => {
                    // The program is gone; now it is meant for us.
                    drop(program);
                    let _ = emulate_default_handler(origin.signal);
                    continue;
                }
            }
            drop(program);
            if origin.signal == SIGTSTP {
                // We stop with the program, for the shell to notice.
                let _ = emulate_default_handler(SIGTSTP);
            }
        }
    });
}

/// What the terminal sends goes to the program without us.
fn forward(origin: &Origin, pid: Pid) {
    if matches!(origin.cause, Cause::Kernel) {
        return;
    }
    if let Some(signal) = Signal::from_named_raw(origin.signal) {
        // It may just have ended.
        let _ = kill_process(pid, signal);
    }
}
