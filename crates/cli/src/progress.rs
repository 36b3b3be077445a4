//! Progress on standard error: a bar when the work is long and a person is looking, and lines in a log if asked for.

use crate::options::When;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const LONG: Duration = Duration::from_millis(800);
/// A log gets a line no more often than this.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// The progress of one piece of work.
pub(crate) struct Progress {
    started: Instant,
    total: Option<u64>,
    unit: Unit,
    label: String,
    look: Look,
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Nothing,
    Bar,
    /// A bar is drawn over itself again and again, which only a terminal can show.
    Lines,
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
        let look = match when {
            When::Auto | When::Always if std::io::stderr().is_terminal() => Look::Bar,
            When::Always => Look::Lines,
            When::Auto | When::Never => Look::Nothing,
        };
        let label = label.to_owned();
        Self { started: Instant::now(), total, unit, label, look, bar: None, last_line: None }
    }

    /// So much has been done.
    pub(crate) fn at(&mut self, done: u64) {
        match self.look {
            Look::Nothing => {}
            Look::Bar => self.draw(done),
            Look::Lines => self.print(done),
        }
    }

    fn draw(&mut self, done: u64) {
        if self.bar.is_none() && self.started.elapsed() < LONG {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| make_bar(self.total, self.unit, &self.label));
        bar.set_position(done);
    }

    fn print(&mut self, done: u64) {
        if self.last_line.is_some_and(|last| last.elapsed() < BETWEEN_LINES) {
            return;
        }
        self.last_line = Some(Instant::now());
        let unit = match self.unit {
            Unit::Bytes => "bytes",
            Unit::Events => "events",
        };
        let of = self.total.map_or_else(String::new, |total| format!(" of {total}"));
        crate::tell(&format!("{}: {done}{of} {unit}", self.label));
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
