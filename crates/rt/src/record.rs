//! The recorder: writes all that happens into a trace, by all threads at once.
//!
//! Each thread fills blocks of its own. What orders threads is stamped at once, while the object is locked, so that the
//! order of the trace is one that has happened; plain accesses are stamped together with the next such event. Blocks are
//! written when they are full, and when some time has passed, so that a trace is of use even if the program is killed.

mod told;

use crate::files::KeptFile;
use crate::layout;
use crate::spin::Spin;
use crate::telling::{self, Names};
use crate::thread::{Entry, Thread};
use keirin_core::event::{FormulaId, FunctionId, LoopId, Op, SiteId, TaskId, ThreadId};
use keirin_core::trace::native::{SharedWriter, ThreadWriter};
use rustc_hash::FxHashMap;
use std::ffi::CString;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A block is written after this many events, before it is full: then the names that it uses are written first.
const BLOCK_EVENTS: u32 = 4000;
/// A thread that has events for so many clock ticks writes them, full block or not (about a tenth of a second).
const HOLD_BACK_TICKS: u64 = 300_000_000;

/// The trace that is being written.
pub(crate) struct Recorder {
    shared: SharedWriter<KeptFile>,
    names: Spin<RecordedNames>,
    /// There are names that were not written yet.
    new_names: AtomicBool,
    failed: AtomicBool,
    /// Held while a thread gives up what it records with, and while that of all threads is written.
    leaving: Spin<()>,
    /// Events that were written.
    events: AtomicU64,
    /// How many reads those tasks have told that no thread runs now.
    suspended: Spin<FxHashMap<TaskId, u32>>,
}

#[derive(Default)]
struct RecordedNames {
    names: Names,
    functions: FxHashMap<usize, FunctionId>,
    formulas: FxHashMap<Box<str>, FormulaId>,
    loops: FxHashMap<u64, LoopId>,
}

/// What a thread records with. The lock is nearly always free: only the end of the run takes it from elsewhere.
pub(crate) struct ThreadRecorder(Spin<Held>);

struct Held {
    writer: ThreadWriter,
    /// Events that were not written yet.
    events: u32,
    since: u64,
    functions: FxHashMap<usize, FunctionId>,
    /// The calls that are open: function and place.
    open: Vec<(FunctionId, usize)>,
    formulas: FxHashMap<Box<str>, FormulaId>,
    telling: told::Telling,
}

impl Recorder {
    /// Begins a trace.
    pub(crate) fn create(path: CString) -> io::Result<Self> {
        let file = match KeptFile::create(path.clone(), false) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The command line has removed what stood there: this is the trace of another process of the run.
                let mut name = path.into_bytes();
                name.extend(format!(".{}", std::process::id()).bytes());
                let name = CString::new(name)?;
                let told = name.to_string_lossy().into_owned();
                let file = KeptFile::create(name, true)?;
                telling::note(&format!("another process of the program is recorded in {told}"));
                file
            }
            result => result?,
        };
        Ok(Self {
            shared: SharedWriter::new(file)?,
            names: Spin::new(RecordedNames::default()),
            new_names: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            leaving: Spin::new(()),
            events: AtomicU64::new(0),
            suspended: Spin::default(),
        })
    }

    /// What a new thread records with.
    pub(crate) fn thread(&self, id: ThreadId) -> Option<Box<ThreadRecorder>> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let writer = ThreadWriter::new(id).ok()?;
        let since = layout::processor_clock();
        Some(Box::new(ThreadRecorder(Spin::new(Held {
            writer,
            events: 0,
            since,
            functions: FxHashMap::default(),
            open: Vec::new(),
            formulas: FxHashMap::default(),
            telling: told::Telling::default(),
        }))))
    }

    /// Something has happened. `orders`: it takes part in the order of threads.
    #[inline]
    pub(crate) fn event(&self, thread: &mut Thread, op: Op, pc: usize, orders: bool) {
        if thread.writer.is_none() {
            return;
        }
        let site = if pc == 0 {
            SiteId::NONE
        } else {
            thread.site(pc, |pc| {
                self.new_names.store(true, Ordering::Relaxed);
                self.names.lock().names.site(pc)
            })
        };
        let Some(recorder) = &thread.writer else { return };
        let mut held = recorder.0.lock();
        let mut result = held.writer.push(&self.shared, site, op);
        if orders {
            result = result.and_then(|()| held.writer.seal(&self.shared));
        }
        held.events += 1;
        held.telling.note(self, op);
        if op == Op::Return {
            held.open.pop();
        }
        // Who waits for others may wait for long, or be killed while it waits.
        let waits = matches!(op, Op::Join { .. } | Op::Fork { .. } | Op::Wait { .. });
        let late = waits || orders && layout::processor_clock().wrapping_sub(held.since) > HOLD_BACK_TICKS;
        if held.events >= BLOCK_EVENTS || late {
            result = result.and_then(|()| self.write_block(&mut held));
        }
        drop(held);
        if let Err(error) = result {
            thread.writer = None;
            self.give_up(&error);
        }
    }

    fn write_block(&self, held: &mut Held) -> io::Result<()> {
        if self.new_names.swap(false, Ordering::Relaxed) {
            let mut names = self.names.lock();
            names.names.new_regions();
            self.shared.write_tables(&names.names.tables)?;
        }
        held.writer.flush(&self.shared)?;
        self.events.fetch_add(u64::from(held.events), Ordering::Relaxed);
        held.events = 0;
        held.since = layout::processor_clock();
        Ok(())
    }

    #[cold]
    fn give_up(&self, error: &io::Error) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            telling::note(&format!("the trace ends early: {error}"));
        }
    }

    /// How many events were written.
    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// A function was entered.
    pub(crate) fn call(&self, thread: &mut Thread, function: usize, call: usize) {
        let Some(recorder) = &thread.writer else { return };
        let known = recorder.0.lock().functions.get(&function).copied();
        let id = known.unwrap_or_else(|| {
            let id = self.function(function);
            recorder.0.lock().functions.insert(function, id);
            id
        });
        recorder.0.lock().open.push((id, call));
        self.event(thread, Op::Call { function: id }, call, false);
    }

    /// How many calls of a thread are open.
    pub(crate) fn open_calls(&self, thread: &Thread) -> usize {
        thread.writer.as_ref().map_or(0, |recorder| recorder.0.lock().open.len())
    }

    /// The open calls from one on are written as returned, as what follows belongs to another task.
    pub(crate) fn close_calls(&self, thread: &mut Thread, from: usize) {
        let Some(recorder) = &thread.writer else { return };
        let open = recorder.0.lock().open.clone();
        for _ in from..open.len() {
            self.event(thread, Op::Return, 0, false);
        }
        if let Some(recorder) = &thread.writer {
            recorder.0.lock().open = open;
        }
    }

    /// The open calls from one on are written again, for a task that begins within them.
    pub(crate) fn reopen_calls(&self, thread: &mut Thread, from: usize) {
        let Some(recorder) = &thread.writer else { return };
        let open = recorder.0.lock().open.clone();
        for &(function, call) in open.iter().skip(from) {
            self.event(thread, Op::Call { function }, call, false);
        }
    }

    fn function(&self, function: usize) -> FunctionId {
        let mut recorded = self.names.lock();
        let recorded = &mut *recorded;
        if let Some(id) = recorded.functions.get(&function) {
            return *id;
        }
        let site = recorded.names.site(function);
        recorded.names.tables.functions.push(site);
        let id = FunctionId(recorded.names.tables.functions.len() as u32 - 1);
        recorded.functions.insert(function, id);
        self.new_names.store(true, Ordering::Relaxed);
        id
    }

    /// A thread ends. The run may end at the same time: then one of the two writes what the thread has recorded.
    pub(crate) fn end_thread(&self, thread: &mut Thread) {
        // In a child process nobody may be there to give the lock back.
        let _leaving = (!self.failed.load(Ordering::Relaxed)).then(|| self.leaving.lock());
        if let Some(recorder) = &thread.writer {
            self.write(recorder);
        }
        thread.writer = None;
    }

    /// Writes what all threads have recorded that have not ended.
    pub(crate) fn write_all(&self, threads: impl FnOnce() -> Vec<Entry>) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let _leaving = self.leaving.lock();
        for entry in threads() {
            // SAFETY: a thread that has not ended is not given back; what it records with is behind a lock, and stays as
            // long as nobody may leave. (That it gives up recording just now is possible only if writing has failed.)
            let recorder = unsafe { entry.thread.as_ref() }.and_then(|thread| thread.writer.as_ref());
            if let Some(recorder) = recorder {
                self.write(recorder);
            }
        }
    }

    fn write(&self, recorder: &ThreadRecorder) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let result = self.write_block(&mut recorder.0.lock());
        if let Err(error) = result {
            self.give_up(&error);
        }
    }

    /// In a child process: the trace is the parent's.
    pub(crate) fn abandon(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// The run is over. Threads that still run write no more.
    pub(crate) fn finish(&self) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let mut names = self.names.lock();
        names.names.new_regions();
        // Where they lie: who reads the trace finds the names of variables by that.
        names.names.all_locks();
        let result = self.shared.finish(&names.names.tables);
        drop(names);
        // Later blocks are refused; that is not worth a word.
        self.failed.store(true, Ordering::Relaxed);
        if let Err(error) = result {
            telling::note(&format!("the trace ends early: {error}"));
        }
    }
}
