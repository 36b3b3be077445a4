//! A progress bar on standard error, when the work is long and a person is looking.

use crate::options::When;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const LONG: Duration = Duration::from_millis(800);

/// The progress of one piece of work.
pub(crate) struct Progress {
    started: Instant,
    total: Option<u64>,
    unit: Unit,
    label: String,
    wanted: bool,
    bar: Option<ProgressBar>,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Events,
}

impl Progress {
    /// Progress towards a total, if that is known.
    pub(crate) fn new(when: When, label: &str, total: Option<u64>, unit: Unit) -> Self {
        let wanted = match when {
            When::Auto => std::io::stderr().is_terminal(),
            When::Always => true,
            When::Never => false,
        };
        Self { started: Instant::now(), total, unit, label: label.to_owned(), wanted, bar: None }
    }

    /// So much has been done.
    pub(crate) fn at(&mut self, done: u64) {
        if !self.wanted || (self.bar.is_none() && self.started.elapsed() < LONG) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| make_bar(self.total, self.unit, &self.label));
        bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn make_bar(total: Option<u64>, unit: Unit, label: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(8));
    let template = match (total.is_some(), unit) {
        (true, Unit::Bytes) => "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
        (false, Unit::Bytes) => "{msg} {bytes} {bytes_per_sec}",
        (true, Unit::Events) => "{msg} {wide_bar} {human_pos}/{human_len} events, {eta} left",
        (false, Unit::Events) => "{msg} {human_pos} events",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(label.to_owned());
    bar
}
