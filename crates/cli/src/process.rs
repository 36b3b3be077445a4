//! Runs a program in our place: it has our terminal, gets the signals that are sent to us, and its end is ours.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::signal::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
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
    let running: Running = Arc::default();
    // Before the start, so that no signal ends us and leaves the program alone. What we do about a signal is not inherited,
    // except that it is ignored (`nohup`): such ones are left as they are until the program has started.
    let ignored = ignored_signals();
    let is_ignored = |signal: &i32| ignored >> (signal - 1) & 1 != 0;
    let mut starting = lock(&running);
    let signals =
        forward_signals(running.clone(), FORWARDED.into_iter().filter(|signal| !is_ignored(signal)));
    let mut child = command.spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    *starting = pid;
    drop(starting);
    if let Some(signals) = signals {
        FORWARDED.into_iter().filter(is_ignored).for_each(|signal| {
            let _ = signals.add_signal(signal);
        });
    }
    if let Some(pid) = pid {
        wait_for_end(pid);
        // From here on the number may belong to somebody else.
        *lock(&running) = None;
    }
    child.wait()
}

/// The set of signals that we were started to ignore, one bit for each.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
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
fn forward_signals(running: Running, wanted: impl Iterator<Item = i32>) -> Option<Handle> {
    let mut signals = SignalsInfo::<WithOrigin>::new(wanted).ok()?;
    let handle = signals.handle();
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
    Some(handle)
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
