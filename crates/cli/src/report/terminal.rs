//! The report for people at a terminal: at most about one screen for each finding, and one line at the end.

use super::frames;
use super::model::{
    Ancestor, Descent, Finding, Frame, Level, Lineage, Proof, Report, Snippet, Step, spawned_recursively,
};
use super::text::{columns, counted, cut, list, printable, quoted, wrap};
use annotate_snippets::{AnnotationKind, Group, Origin, Renderer};
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

/// Width of the output where it is not known: not a terminal.
pub(crate) const DEFAULT_WIDTH: usize = 100;

/// Steps listed for one finding.
const MOST_STEPS: usize = 12;

/// Tasks listed on the way down to one operation; of a longer way the middle is left out.
const MOST_TASKS: usize = 6;

/// Calls listed for one step.
const MOST_CALLS: usize = 8;

/// Characters of one paragraph; a very long name must not push the rest off the screen.
const LONGEST_PARAGRAPH: usize = 500;

/// A column of the picture is not drawn narrower than this; with more threads there is no picture.
const NARROWEST_LANE: usize = 14;

/// A column of the picture need not be wider than this.
const WIDEST_LANE: usize = 34;

/// What the user said about colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ColorChoice {
    /// Colours if the output is a terminal and `NO_COLOR` is not set.
    #[default]
    Auto,
    /// Colours in any case.
    Always,
    /// No colours.
    Never,
}

impl ColorChoice {
    /// Whether to use colours. `no_color` is the value of the environment variable of that name; by its convention an
    /// empty one counts as absent.
    pub(crate) fn enabled(self, is_terminal: bool, no_color: Option<&std::ffi::OsStr>) -> bool {
        match self {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && no_color.is_none_or(|value| value.is_empty()),
        }
    }
}

/// How to lay the report out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Use colours.
    pub(crate) color: bool,
    /// Columns of the terminal.
    pub(crate) width: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { color: false, width: DEFAULT_WIDTH }
    }
}

/// Writes the report.
pub(crate) fn write(report: &Report, layout: Layout, out: &mut impl Write) -> io::Result<()> {
    // Narrower than this nothing useful fits, and wider lines are hard to read.
    let width = layout.width.clamp(40, 160);
    let page = Page { color: layout.color, width, by: report.summary.analyses.len() > 1 };
    for finding in report.reported() {
        page.finding(finding, out)?;
        writeln!(out)?;
    }
    for note in &report.summary.notes {
        let lines = wrap(&printable(note), page.width.saturating_sub(6));
        for (index, line) in lines.iter().enumerate() {
            let head = if index == 0 { page.paint(NOTE, "note: ") } else { "      ".to_owned() };
            writeln!(out, "{head}{line}")?;
        }
    }
    let style = if report.has_findings() { ERROR } else { GOOD };
    writeln!(out, "{}", page.paint(style, &printable(&report.summary.line)))
}

const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
const GOOD: Style = AnsiColor::BrightGreen.on_default().bold();
const NOTE: Style = AnsiColor::BrightCyan.on_default().bold();
const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Colours of the threads, so that the eye can follow one through the picture and the list.
const THREADS: [Style; 6] = [
    AnsiColor::Cyan.on_default(),
    AnsiColor::Yellow.on_default(),
    AnsiColor::Magenta.on_default(),
    AnsiColor::Green.on_default(),
    AnsiColor::Blue.on_default(),
    AnsiColor::Red.on_default(),
];

fn thread_style(thread: usize) -> Style {
    THREADS[thread % THREADS.len()]
}

struct Page {
    color: bool,
    width: usize,
    /// Say which analysis found what.
    by: bool,
}

impl Page {
    fn paint(&self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    fn finding(&self, finding: &Finding, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.head(finding))?;
        writeln!(out)?;
        let seen =
            if finding.count == 1 { String::new() } else { format!(", {}", counted(finding.count, "time")) };
        self.paragraph("", &format!("{} ({}{seen})", finding.reason, finding.verdict_text), out)?;
        writeln!(out)?;
        let drawn = self.picture(finding, out)?;
        if drawn {
            writeln!(out)?;
        }
        for step in finding.steps.iter().take(MOST_STEPS) {
            self.step(finding, step, drawn, out)?;
        }
        if finding.steps.len() > MOST_STEPS {
            let more = counted((finding.steps.len() - MOST_STEPS) as u64, "more step");
            self.paragraph("", &format!("… and {more}, in the JSON output"), out)?;
        }
        if let Some(lineage) = &finding.lineage {
            self.lineage(lineage, out)?;
        }
        self.schedule(finding, out)?;
        for note in &finding.notes {
            self.paragraph("", note, out)?;
        }
        let by = if self.by { format!(", found by {}", list(&finding.analyses)) } else { String::new() };
        writeln!(out, "  {}", self.paint(FAINT, &format!("fingerprint {}{by}", finding.fingerprint)))
    }

    /// Who goes on when in the schedule, if branches go by what is read in it: the order of the accesses alone does not tell why
    /// they can be reached.
    fn schedule(&self, finding: &Finding, out: &mut impl Write) -> io::Result<()> {
        let Some(schedule) = finding.schedule.as_ref().filter(|_| finding.proof == Some(Proof::Branches))
        else {
            return Ok(());
        };
        self.paragraph("", "A schedule that shows it:", out)?;
        for segment in &schedule.segments {
            let shown = segment.steps.iter().filter_map(|number| finding.witness.get(number.checked_sub(1)?));
            let steps: Vec<String> = shown
                .map(|step| match step.place() {
                    Some(place) => format!("{} at {}", step.operation.text, place.text),
                    None => step.operation.text.clone(),
                })
                .collect();
            let who = finding.threads.get(segment.thread).map_or("?", |thread| &thread.name);
            if !steps.is_empty() {
                self.paragraph("  ", &format!("{who} {}", steps.join(", ")), out)?;
            }
        }
        Ok(())
    }

    /// The title and the source text, in the manner of the Rust compiler.
    fn head(&self, finding: &Finding) -> String {
        let level = match finding.level {
            Level::Error => annotate_snippets::Level::ERROR,
            Level::Warning => annotate_snippets::Level::WARNING,
            Level::Note => annotate_snippets::Level::NOTE,
        };
        let title = printable(&finding.title);
        let mut group = Group::with_title(level.primary_title(title).id(finding.rule));
        for snippet in &finding.snippets {
            group = group.element(self.snippet(snippet));
        }
        if finding.snippets.is_empty()
            && let Some(place) = &finding.primary.place
        {
            let path = place.file.as_ref().unwrap_or(&place.text);
            let mut origin = Origin::path(printable(path));
            if let Some(line) = place.line {
                origin = origin.line(line as usize);
            }
            if let Some(column) = place.column {
                origin = origin.char_column(column as usize);
            }
            group = group.element(origin);
        }
        let renderer = if self.color { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(self.width).render(&[group])
    }

    fn snippet<'a>(
        &self,
        snippet: &'a Snippet,
    ) -> annotate_snippets::Snippet<'a, annotate_snippets::Annotation<'a>> {
        let marks = snippet.marks.iter().map(|mark| {
            let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            kind.span(mark.span.clone()).label(cut(&printable(&mark.label), self.width / 2).into_owned())
        });
        annotate_snippets::Snippet::source(snippet.text.as_str())
            .path(printable(&snippet.file))
            .line_start(snippet.first_line)
            .fold(false)
            .annotations(marks)
    }

    /// One column for each thread, one row for each step, time downwards. False if there is no room for it.
    fn picture(&self, finding: &Finding, out: &mut impl Write) -> io::Result<bool> {
        // Those that only the schedule has are not drawn.
        let drawn = finding.steps.iter().map(|step| step.thread);
        let drawn = drawn.chain(finding.transactions.iter().map(|transaction| transaction.thread));
        let lanes = drawn.max().map_or(0, |last| (last + 1).min(finding.threads.len()));
        let lane = (self.width.saturating_sub(8) / lanes.max(1)).min(WIDEST_LANE);
        if lanes < 2 || lane < NARROWEST_LANE || finding.steps.is_empty() {
            return Ok(false);
        }
        let heads = finding
            .threads
            .iter()
            .take(lanes)
            .enumerate()
            .map(|(index, thread)| self.cell(&printable(&thread.name), lane, thread_style(index).bold()));
        writeln!(out, "  {:<5} {}", "", heads.collect::<String>().trim_end())?;
        let mut open: Vec<Option<usize>> = vec![None; lanes];
        for step in finding.steps.iter().take(MOST_STEPS) {
            let transaction = step.transaction.and_then(|index| finding.transactions.get(index));
            let block = transaction.and_then(|transaction| transaction.region.as_deref());
            if let (Some(transaction), Some(block)) = (transaction, block)
                && transaction.steps.first() == Some(&step.number)
            {
                let style = if transaction.blamed { ERROR } else { STRONG };
                let blame =
                    if transaction.blamed { format!(" ({})", transaction.blame) } else { String::new() };
                let room = lane.saturating_sub(4 + columns(&blame));
                let title = format!("┌ {}{blame}", cut(&printable(block), room));
                self.row("", step.thread, (&title, style), &open, lane, out)?;
                open[step.thread] = transaction.steps.last().copied();
            }
            let bar = if block.is_some() { "│" } else { "•" };
            let text = format!("{bar} {}", printable(&step.operation.short));
            self.row(
                &format!("({})", step.number),
                step.thread,
                (&text, thread_style(step.thread)),
                &open,
                lane,
                out,
            )?;
            if open[step.thread] == Some(step.number) {
                open[step.thread] = None;
            }
        }
        Ok(true)
    }

    /// One row of the picture: a text in the column of one thread, and a bar where another is inside its block.
    fn row(
        &self,
        number: &str,
        thread: usize,
        (text, style): (&str, Style),
        open: &[Option<usize>],
        lane: usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let cells = open.iter().enumerate().map(|(index, block)| match block {
            _ if index == thread => self.cell(text, lane, style),
            Some(_) => self.cell("│", lane, thread_style(index)),
            None => self.cell("", lane, FAINT),
        });
        writeln!(out, "  {number:<5} {}", cells.collect::<String>().trim_end())
    }

    /// A text cut and filled up to the width of a column.
    fn cell(&self, text: &str, lane: usize, style: Style) -> String {
        let text = cut(text, lane.saturating_sub(2));
        let rest = " ".repeat(lane.saturating_sub(columns(&text)));
        format!("{}{rest}", self.paint(style, &text))
    }

    /// One step: where and under which calls; also who did what, unless the picture has told it.
    fn step(&self, finding: &Finding, step: &Step, drawn: bool, out: &mut impl Write) -> io::Result<()> {
        let mut text = String::new();
        if !drawn {
            let thread = finding.threads.get(step.thread).map_or("?", |thread| &thread.name);
            text = format!("{thread} {} ", step.operation.text);
        }
        text.push_str("at ");
        text.push_str(step.place().map_or("an unknown place", |place| &place.text));
        let own = frames::telling(&step.stack).unwrap_or(0);
        let (inner, outer) = step.stack.split_at(own);
        let calls = told_calls(outer);
        if !calls.is_empty() {
            text.push_str(&format!(" in {}", calls.join(" ← ")));
        }
        // By what means a lock is taken or released need not be told.
        let locking = step.operation.target.as_ref().is_some_and(|target| target.kind == "lock");
        let called = inner.iter().rev().find(|frame| !frames::is_plumbing(frame));
        if let Some(function) = called.and_then(|frame| frame.function.as_deref())
            && !locking
        {
            text.push_str(&format!(", calling {}", frames::short(function)));
        }
        if let Some(position) = &step.position {
            text.push_str(&format!(" (trace {position})"));
        }
        self.lines(&format!("({}) ", step.number), &printable(&text), out)
    }

    /// From which task all others descend, and for each side the spawns that lead to it.
    fn lineage(&self, lineage: &Lineage, out: &mut impl Write) -> io::Result<()> {
        let common = lineage.common.told();
        self.paragraph("", &format!("Who descends from whom: all of it happens under {common}."), out)?;
        for side in lineage.sides.iter().take(MOST_STEPS) {
            let numbers: Vec<String> = side.steps.iter().map(|number| format!("({number})")).collect();
            let head = format!("  {} ", numbers.join(" "));
            let blank = " ".repeat(columns(&head));
            if side.path.is_empty() {
                self.paragraph(&head, &format!("by {} itself", lineage.common.short), out)?;
            }
            let path = side.folded();
            let left_out = path.len().saturating_sub(MOST_TASKS);
            for (depth, part) in path.iter().enumerate() {
                if left_out > 0 && depth == MOST_TASKS / 2 {
                    let more = counted(left_out as u64, "more task");
                    self.paragraph(&blank, &format!("… {more} …"), out)?;
                }
                if left_out > 0 && (MOST_TASKS / 2..MOST_TASKS / 2 + left_out).contains(&depth) {
                    continue;
                }
                // The number stands where the way down starts.
                let head = if depth == 0 { &head } else { &blank };
                let verb = if depth + 1 == path.len() { "by" } else { "under" };
                let task = match part {
                    Descent::One(task) => task,
                    Descent::Many(tasks) => {
                        self.paragraph(head, &format!("{verb} {}", told_recursion(tasks)), out)?;
                        continue;
                    }
                };
                self.paragraph(head, &format!("{verb} {}", task.told()), out)?;
                if let Some(line) = &task.line {
                    let number = task.spawned.as_ref().and_then(|frame| frame.place.as_ref()?.line);
                    let number = number.map_or_else(String::new, |number| number.to_string());
                    let room = self.width.saturating_sub(2 + columns(&blank) + columns(&number) + 7);
                    let line = format!("{number} | {}", cut(&printable(line), room));
                    writeln!(out, "  {blank}    {}", self.paint(FAINT, &line))?;
                }
            }
        }
        Ok(())
    }

    /// A text with an indentation of two and a head that the lines after the first are indented by.
    fn paragraph(&self, head: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
        self.lines(head, &cut(&printable(text), LONGEST_PARAGRAPH), out)
    }

    fn lines(&self, head: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
        let indent = 2 + columns(head);
        let lines = wrap(text, self.width.saturating_sub(indent));
        for (index, line) in lines.iter().enumerate() {
            let head = if index == 0 { self.paint(STRONG, head) } else { " ".repeat(columns(head)) };
            writeln!(out, "  {head}{line}")?;
        }
        Ok(())
    }
}

/// Tasks of a recursion in words: how many, and where they were spawned.
fn told_recursion(tasks: &[Ancestor]) -> String {
    let (places, function) = spawned_recursively(tasks);
    let at = if places.is_empty() { String::new() } else { format!(" at {}", list(&places)) };
    let within = function.map_or_else(String::new, |function| format!(" in {}", quoted(function)));
    format!("{}, one below the other, spawned{at}{within}", counted(tasks.len() as u64, "task"))
}

/// The functions of a stack, the innermost first, without what libraries do on the way.
fn told_calls(stack: &[Frame]) -> Vec<String> {
    let name = |frame: &Frame| frame.function.as_deref().map(frames::short);
    let shown = stack.iter().filter(|frame| !frames::is_plumbing(frame));
    let mut calls: Vec<String> = shown.filter_map(name).collect();
    if calls.is_empty() {
        calls.extend(stack.first().and_then(name));
    }
    if calls.len() > MOST_CALLS + 1 {
        let more = calls.len() - MOST_CALLS;
        calls.truncate(MOST_CALLS);
        calls.push(format!("… {more} more"));
    }
    calls
}
