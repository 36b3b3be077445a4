//! `keirin stats`: what a trace holds.

use super::Exit;
use crate::input;
use crate::options::Options;
use crate::output::{Output, tolerate_closed};
use crate::progress::{Progress, Unit};
use crate::report::text::{is_dangerous, printable};
use anyhow::{Context, Result};
use keirin_core::event::{AccessKind, Event, LockMode, Op};
use keirin_core::trace::{Batch, Source};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Prints the figures of each trace.
pub(crate) fn run(names: &[PathBuf], options: &Options) -> Result<Exit> {
    input::check_names(names)?;
    let mut out = Output::open(options.output.as_deref())?;
    let mut exit = Exit::Clean;
    for name in names {
        match figures(name, options) {
            Ok(text) => {
                tolerate_closed(out.write_all(text.as_bytes())).context("cannot write the figures")?
            }
            Err(error) => {
                crate::complain(&format!("{error:#}"));
                exit = Exit::Failed;
            }
        }
    }
    out.finish()?;
    Ok(exit)
}

fn figures(name: &Path, options: &Options) -> Result<String> {
    let mut input = input::open(name, options.lenient, false)?;
    let mut progress = Progress::new(options.progress, "counting", input.bytes, Unit::Bytes);
    let mut figures = Figures::default();
    let mut batch = Batch::new();
    loop {
        let more = input.source.fill(&mut batch).with_context(|| input.name.clone())?;
        for event in batch.events() {
            figures.count(event);
        }
        if !more {
            break;
        }
        progress.at(input.source.consumed());
    }
    drop(progress);
    let mut text = Vec::new();
    figures.write(&input.name, &*input.source, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[derive(Default)]
struct Figures {
    kinds: BTreeMap<&'static str, u64>,
    threads: BTreeMap<u32, ThreadFigures>,
    locks: BTreeSet<u32>,
    words: HashSet<u64, rustc_hash::FxBuildHasher>,
    regions: BTreeSet<u32>,
    transactions: u64,
    deepest: u32,
    groups: BTreeSet<u32>,
    tasks: TaskFigures,
}

/// What a trace with tasks holds of them.
#[derive(Default)]
struct TaskFigures {
    spawned: u64,
    ended: u64,
    /// The most that were spawned and had not ended.
    most_live: u64,
    scopes: u64,
    open_scopes: u64,
    waits: u64,
    /// The most that lay on one thread, one suspended below the other.
    highest_stack: u32,
}

#[derive(Default)]
struct ThreadFigures {
    events: u64,
    depth: u32,
    /// Tasks that the thread has begun and neither ended nor left.
    tasks: u32,
}

impl TaskFigures {
    fn count(&mut self, op: Op, thread: &mut ThreadFigures) {
        match op {
            Op::Spawn { .. } => {
                self.spawned += 1;
                self.most_live = self.most_live.max(self.live());
            }
            Op::TaskBegin { .. } => {
                thread.tasks += 1;
                self.highest_stack = self.highest_stack.max(thread.tasks);
            }
            Op::TaskSuspend { .. } => thread.tasks = thread.tasks.saturating_sub(1),
            Op::TaskEnd { .. } => {
                thread.tasks = thread.tasks.saturating_sub(1);
                self.ended += 1;
            }
            Op::TaskWait | Op::TaskJoin { .. } => self.waits += 1,
            Op::FinishBegin => {
                self.scopes += 1;
                self.open_scopes += 1;
            }
            Op::FinishEnd => self.open_scopes = self.open_scopes.saturating_sub(1),
            _ => {}
        }
    }

    /// How many tasks are live. A trace may end tasks that it did not spawn.
    fn live(&self) -> u64 {
        self.spawned.saturating_sub(self.ended)
    }

    fn rows(&self) -> Vec<(&'static str, u64)> {
        if self.spawned + self.ended + self.scopes == 0 {
            return Vec::new();
        }
        vec![
            ("tasks", self.spawned),
            ("tasks live at once, at most", self.most_live),
            ("tasks live at the end", self.live()),
            ("tasks on one thread, at most", u64::from(self.highest_stack)),
            ("waits for tasks", self.waits),
            ("finish scopes", self.scopes),
            ("finish scopes open at the end", self.open_scopes),
        ]
    }
}

impl Figures {
    fn count(&mut self, event: &Event) {
        *self.kinds.entry(kind(event.op)).or_default() += 1;
        let thread = self.threads.entry(event.thread.0).or_default();
        thread.events += 1;
        match event.op {
            Op::Access { addr, .. } | Op::Atomic { addr, .. } => {
                self.words.insert(addr.0 / 8);
            }
            Op::Acquire { lock, .. } => {
                self.locks.insert(lock.0);
            }
            Op::Begin { region } => {
                self.regions.insert(region.0);
                self.transactions += u64::from(thread.depth == 0);
                thread.depth += 1;
                self.deepest = self.deepest.max(thread.depth);
            }
            Op::End => thread.depth = thread.depth.saturating_sub(1),
            Op::Group { group, .. } => {
                self.groups.insert(group.0);
            }
            op => self.tasks.count(op, thread),
        }
    }

    fn write(&self, name: &str, source: &dyn Source, out: &mut impl Write) -> io::Result<()> {
        let events: u64 = self.kinds.values().sum();
        writeln!(out, "{}", printable(name))?;
        let mut row = |what: &str, number: u64| writeln!(out, "  {what:<34}{number:>14}");
        row("events", events)?;
        row("threads", self.threads.len() as u64)?;
        row("locks", self.locks.len() as u64)?;
        row("words of memory accessed", self.words.len() as u64)?;
        row("labels of atomic regions", self.regions.len() as u64)?;
        row("transactions (outermost regions)", self.transactions)?;
        row("regions open at the end", self.threads.values().map(|t| u64::from(t.depth)).sum())?;
        row("deepest nesting", u64::from(self.deepest))?;
        if !self.groups.is_empty() {
            row("groups of locations", self.groups.len() as u64)?;
        }
        for (what, number) in self.tasks.rows() {
            row(what, number)?;
        }
        writeln!(out, "  by operation")?;
        for (kind, count) in &self.kinds {
            writeln!(out, "    {kind:<32}{count:>14}")?;
        }
        let mut threads: Vec<_> = self.threads.iter().collect();
        threads.sort_by_key(|(id, thread)| (std::cmp::Reverse(thread.events), **id));
        writeln!(out, "  by thread{}", if threads.len() > 10 { " (the ten with most events)" } else { "" })?;
        for (id, thread) in threads.iter().take(10) {
            let name: String = source
                .tables()
                .thread_name(keirin_core::event::ThreadId(**id))
                .chars()
                .map(|character| if is_dangerous(character) { '?' } else { character })
                .take(32)
                .collect();
            writeln!(out, "    {name:<32}{:>14}", thread.events)?;
        }
        if let Some(loss) = source.loss() {
            writeln!(out, "  {loss}")?;
        }
        Ok(())
    }
}

/// The kind of an operation, in words.
fn kind(op: Op) -> &'static str {
    match op {
        Op::Access { kind: AccessKind::Read, .. } => "read",
        Op::Access { kind: AccessKind::Write, .. } => "write",
        Op::Atomic { .. } => "atomic operation",
        Op::Fence { .. } => "fence",
        Op::Acquire { mode: LockMode::Exclusive, .. } => "acquire",
        Op::Acquire { mode: LockMode::Shared, .. } => "acquire, shared",
        Op::Release { mode: LockMode::Exclusive, .. } => "release",
        Op::Release { mode: LockMode::Shared, .. } => "release, shared",
        Op::Fork { .. } => "fork",
        Op::Join { .. } => "join",
        Op::ThreadEnd => "end of thread",
        Op::Wait { .. } | Op::Notify { .. } => "condition",
        Op::BarrierArrive { .. } | Op::BarrierLeave { .. } => "barrier",
        Op::HappensBefore { .. } | Op::HappensAfter { .. } => "happens-before annotation",
        Op::Begin { .. } => "begin of region",
        Op::End => "end of region",
        Op::Call { .. } => "call",
        Op::Return => "return",
        Op::Spawn { .. } => "spawn",
        Op::TaskBegin { .. } => "begin of task, or resumed",
        Op::TaskSuspend { .. } => "task suspended",
        Op::TaskEnd { .. } => "end of task",
        Op::TaskWait => "wait for children",
        Op::TaskJoin { .. } => "wait for one task",
        Op::TaskOrder { .. } => "order of two tasks",
        Op::FinishBegin => "begin of finish scope",
        Op::FinishEnd => "end of finish scope",
        Op::Alloc { .. } => "allocation",
        Op::Free { .. } => "deallocation",
        Op::Branch { .. } | Op::OtherPath { .. } | Op::OtherPathLock { .. } => "branch",
        Op::LoopEnter { .. } | Op::LoopIteration { .. } | Op::LoopExit { .. } => "loop",
        Op::Value { .. } | Op::Operand { .. } | Op::Formula { .. } => "value",
        Op::Group { .. } => "group",
        Op::IgnoreBegin | Op::IgnoreEnd => "ignore annotation",
    }
}
