//! What of a run is looked at: which blocks are meant to be atomic, and which accesses are left out.
//!
//! A [`Select`] stands between a source and the driver and is a source itself, so the analyses know nothing of it. It
//! drops the ends of regions that are not meant to be atomic, makes regions of calls, and drops accesses. It costs
//! nothing when it is not used.
//!
//! The filters on data lose accesses that an analysis may need, so they are off unless asked for:
//!
//! | filter | drops | loses |
//! |---|---|---|
//! | thread-local | accesses by the only thread that has accessed the location so far | conflicts with what the first thread did before others came |
//! | read-only | reads of a location that has not been written since a second thread came | conflicts of such reads with a later write |
//! | places | accesses at sites that a pattern names | whatever they take part in |

use crate::event::{AccessKind, Event, FunctionId, Op, RegionId, SiteId, ThreadId};
use crate::shadow::Shadow;
use crate::trace::{Batch, Loss, PositionUnit, Source, Tables, TraceError};

/// A block that may be meant to be atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block<'a> {
    /// A region that the program marked.
    Label(&'a str),
    /// A call of a function.
    Function {
        /// Its name.
        name: &'a str,
        /// The thread was in no other function: it is an entry point.
        entry: bool,
    },
}

/// Whether a block is meant to be atomic.
pub type AtomicRule = Box<dyn Fn(Block<'_>) -> bool>;

/// Whether the accesses at a site are left out.
pub type IgnoreRule = Box<dyn Fn(SiteId, &Tables) -> bool>;

/// Names a function that the tables do not name.
pub type NameRule = Box<dyn Fn(FunctionId, &Tables) -> Option<Box<str>>>;

/// What is looked at.
#[derive(Default)]
pub struct Selection {
    /// Which blocks are atomic; without a rule all labels are, and no function.
    pub atomic: Option<AtomicRule>,
    /// What names functions that have no name in the trace; without it they are not atomic.
    pub function_names: Option<NameRule>,
    /// What a thread does from the first lock on that it takes until it holds none is atomic.
    pub critical_sections: bool,
    /// Which sites are left out.
    pub ignored: Option<IgnoreRule>,
    /// Leave out accesses by a location's only thread so far.
    pub thread_local: bool,
    /// Leave out reads of what is not written any more.
    pub read_only: bool,
}

impl Selection {
    /// True if everything is looked at as it comes.
    pub fn is_everything(&self) -> bool {
        self.atomic.is_none()
            && !self.critical_sections
            && self.ignored.is_none()
            && !self.thread_local
            && !self.read_only
    }
}

impl std::fmt::Debug for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selection")
            .field("atomic", &self.atomic.is_some())
            .field("critical_sections", &self.critical_sections)
            .field("ignored", &self.ignored.is_some())
            .field("thread_local", &self.thread_local)
            .field("read_only", &self.read_only)
            .finish()
    }
}

/// How much was left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// Events of the source, left out or not. Those that were made up do not count.
    pub events: u64,
    /// Accesses of thread-local data.
    pub thread_local: u64,
    /// Reads of read-only data.
    pub read_only: u64,
    /// Accesses at ignored places.
    pub ignored: u64,
    /// Begins of regions that are not meant to be atomic.
    pub regions: u64,
    /// Calls that were made regions.
    pub functions: u64,
}

/// A source that passes on what is looked at.
#[derive(Debug)]
pub struct Select<'a> {
    inner: &'a mut dyn Source,
    selection: Selection,
    left_out: LeftOut,
    buffer: Batch,
    threads: Vec<Thread>,
    labels: Vec<Option<bool>>,
    /// For each function: as an entry point, and else.
    functions: Vec<[Option<bool>; 2]>,
    sites: Vec<Option<bool>>,
    sharing: Shadow<Sharing>,
}

#[derive(Debug, Default)]
struct Thread {
    /// For each open region whether it was passed on.
    regions: Vec<bool>,
    /// For each open call whether it was made a region.
    calls: Vec<bool>,
    /// How many locks are held; one that is held twice counts twice.
    held: u32,
}

/// Who has accessed a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Sharing {
    #[default]
    Nobody,
    One(ThreadId),
    /// Several, and nobody has written since.
    Several,
    /// Several, and somebody has written since.
    Modified,
}

impl std::fmt::Debug for dyn Source + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a source")
    }
}

impl<'a> Select<'a> {
    /// A source of what the selection leaves.
    pub fn new(inner: &'a mut dyn Source, selection: Selection) -> Self {
        Self {
            inner,
            selection,
            left_out: LeftOut::default(),
            buffer: Batch::new(),
            threads: Vec::new(),
            labels: Vec::new(),
            functions: Vec::new(),
            sites: Vec::new(),
            sharing: Shadow::new(),
        }
    }

    /// How much was left out so far.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    fn pass(&mut self, position: u64, event: Event, batch: &mut Batch) {
        let index = event.thread.index();
        if index >= crate::clock::MAX_THREADS as usize {
            // The driver has the words for it.
            batch.push(position, event);
            return;
        }
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        match event.op {
            Op::Begin { region } => {
                let atomic = self.is_atomic_label(region);
                self.threads[index].regions.push(atomic);
                if atomic {
                    batch.push(position, event);
                } else {
                    self.left_out.regions += 1;
                }
            }
            // An end without a begin is passed on, for the driver to complain.
            Op::End => {
                if self.threads[index].regions.pop().unwrap_or(true) {
                    batch.push(position, event);
                }
            }
            Op::Call { function } => {
                batch.push(position, event);
                let atomic = self.is_atomic_function(function, self.threads[index].calls.is_empty());
                self.threads[index].calls.push(atomic);
                if atomic {
                    self.left_out.functions += 1;
                    let op = Op::Begin { region: RegionId::of_function(function) };
                    batch.push(position, Event { op, ..event });
                }
            }
            Op::Return => {
                if self.threads[index].calls.pop() == Some(true) {
                    batch.push(position, Event { op: Op::End, ..event });
                }
                batch.push(position, event);
            }
            Op::Access { kind, size, addr } => {
                if !self.leaves_out(&event, kind, addr, size) {
                    batch.push(position, event);
                }
            }
            Op::Acquire { .. } if self.selection.critical_sections => {
                let held = &mut self.threads[index].held;
                *held += 1;
                if *held == 1 {
                    let op = Op::Begin { region: RegionId::of_critical_section(event.site) };
                    batch.push(position, Event { op, ..event });
                }
                batch.push(position, event);
            }
            Op::Release { .. } if self.selection.critical_sections => {
                batch.push(position, event);
                let held = &mut self.threads[index].held;
                // A release without an acquire is for the driver to complain about.
                if *held == 1 {
                    batch.push(position, Event { op: Op::End, ..event });
                }
                *held = held.saturating_sub(1);
            }
            Op::Alloc { size, addr } | Op::Free { size, addr } => {
                self.sharing.forget(addr, size);
                batch.push(position, event);
            }
            _ => batch.push(position, event),
        }
    }

    fn leaves_out(&mut self, event: &Event, kind: AccessKind, addr: crate::event::Addr, size: u32) -> bool {
        if self.is_ignored(event.site) {
            self.left_out.ignored += 1;
            return true;
        }
        if !self.selection.thread_local && !self.selection.read_only {
            return false;
        }
        // An access is left out only if all its bytes say so.
        let (mut local, mut unmodified) = (true, true);
        self.sharing.touch(addr, size, |sharing, _, _| {
            *sharing = match (*sharing, kind) {
                (Sharing::Nobody, _) => Sharing::One(event.thread),
                (Sharing::One(thread), _) if thread == event.thread => *sharing,
                (Sharing::One(_) | Sharing::Several, AccessKind::Read) => Sharing::Several,
                _ => Sharing::Modified,
            };
            local &= matches!(*sharing, Sharing::One(_));
            unmodified &= *sharing == Sharing::Several;
        });
        if local && self.selection.thread_local {
            self.left_out.thread_local += 1;
            return true;
        }
        if unmodified && self.selection.read_only {
            self.left_out.read_only += 1;
            return true;
        }
        false
    }

    fn is_atomic_label(&mut self, region: RegionId) -> bool {
        let Some(rule) = &self.selection.atomic else { return true };
        let name = self.inner.tables().region_name(region);
        remember(&mut self.labels, region.index(), || rule(Block::Label(&name)))
    }

    fn is_atomic_function(&mut self, function: FunctionId, entry: bool) -> bool {
        let Some(rule) = &self.selection.atomic else { return false };
        let tables = self.inner.tables();
        let name = |function| match tables.function_name(function) {
            Some(name) => Some(Box::from(name)),
            None => self.selection.function_names.as_ref().and_then(|names| names(function, tables)),
        };
        let work_out =
            || name(function).is_some_and(|name: Box<str>| rule(Block::Function { name: &name, entry }));
        let index = function.index();
        if index >= MOST_REMEMBERED {
            return work_out();
        }
        if self.functions.len() <= index {
            self.functions.resize(index + 1, [None; 2]);
        }
        *self.functions[index][usize::from(entry)].get_or_insert_with(work_out)
    }

    fn is_ignored(&mut self, site: SiteId) -> bool {
        let Some(rule) = &self.selection.ignored else { return false };
        if !site.is_some() {
            return false;
        }
        let tables = self.inner.tables();
        remember(&mut self.sites, site.index(), || rule(site, tables))
    }
}

/// Ids from outside may be large; answers for such ones are worked out each time.
const MOST_REMEMBERED: usize = 1 << 22;

fn remember(answers: &mut Vec<Option<bool>>, index: usize, work_out: impl FnOnce() -> bool) -> bool {
    if index >= MOST_REMEMBERED {
        return work_out();
    }
    if answers.len() <= index {
        answers.resize(index + 1, None);
    }
    *answers[index].get_or_insert_with(work_out)
}

impl Source for Select<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        let more = self.inner.fill(&mut buffer);
        self.left_out.events += buffer.iter().count() as u64;
        for (position, event) in buffer.iter() {
            self.pass(position, *event, batch);
        }
        self.buffer = buffer;
        more
    }

    fn tables(&self) -> &Tables {
        self.inner.tables()
    }

    fn unit(&self) -> PositionUnit {
        self.inner.unit()
    }

    fn consumed(&self) -> u64 {
        self.inner.consumed()
    }

    fn loss(&self) -> Option<&Loss> {
        self.inner.loss()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::std_format;

    /// The lines that a selection leaves, written as text.
    fn selected(text: &str, selection: Selection) -> (Vec<String>, LeftOut) {
        use crate::trace::Sink;
        let mut reader = std_format::Reader::new(text.as_bytes());
        let mut select = Select::new(&mut reader, selection);
        let mut batch = Batch::new();
        let mut writer = std_format::Writer::new(Vec::new());
        loop {
            let more = select.fill(&mut batch).unwrap();
            let mut tables = select.tables().clone();
            // Regions that are functions have no label of their own to be written with.
            let mut plain = Batch::new();
            for (position, event) in batch.iter() {
                let op = match event.op {
                    Op::Begin { region } if region.function().is_some() => {
                        let name = tables.region_name(region);
                        Op::Begin { region: RegionId(tables.add_name(crate::trace::NameKind::Region, &name)) }
                    }
                    op => op,
                };
                plain.push(position, Event { op, ..*event });
            }
            writer.write(&plain, &tables).unwrap();
            if !more {
                writer.finish(&tables).unwrap();
                break;
            }
        }
        let left_out = select.left_out();
        let text = String::from_utf8(writer.into_inner()).unwrap();
        (text.lines().map(|line| line.trim_end_matches('|').to_owned()).collect(), left_out)
    }

    #[test]
    fn regions_that_are_not_meant_to_be_atomic_disappear_with_their_ends() {
        let text = "T|begin(a)|\nT|begin(b)|\nT|r(x)|\nT|end|\nT|w(x)|\nT|end|\n";
        let atomic: AtomicRule = Box::new(|block| block == Block::Label("b"));
        let (lines, left_out) = selected(text, Selection { atomic: Some(atomic), ..Selection::default() });
        assert_eq!(lines, ["T|begin(b)", "T|r(x)", "T|end()", "T|w(x)"]);
        assert_eq!(left_out.regions, 1);
    }

    #[test]
    fn calls_become_regions_but_entry_points_do_not() {
        let text = "T|call(main)|\nT|call(f)|\nT|r(x)|\nT|return|\nT|return|\n";
        let atomic: AtomicRule = Box::new(|block| matches!(block, Block::Function { entry: false, .. }));
        let (lines, left_out) = selected(text, Selection { atomic: Some(atomic), ..Selection::default() });
        assert_eq!(
            lines,
            ["T|call(main)", "T|call(f)", "T|begin(f)", "T|r(x)", "T|end()", "T|return", "T|return"]
        );
        assert_eq!((left_out.functions, left_out.events), (1, 5));
    }

    #[test]
    fn from_the_first_lock_to_the_last_is_a_region() {
        let text = "T|acq(a)|\nT|acq(b)|\nT|rel(a)|\nT|w(x)|\nT|rel(b)|\nT|w(x)|\n";
        let mut reader = std_format::Reader::new(text.as_bytes());
        let selection = Selection { critical_sections: true, ..Selection::default() };
        let mut select = Select::new(&mut reader, selection);
        let mut batch = Batch::new();
        select.fill(&mut batch).unwrap();
        let ops: Vec<Op> = batch.events().iter().map(|event| event.op).collect();
        let section = RegionId::of_critical_section(batch.events()[0].site);
        assert_eq!((ops.len(), ops[0], ops[6]), (8, Op::Begin { region: section }, Op::End));
        assert_eq!(section.critical_section(), Some(batch.events()[1].site));
        assert_eq!(RegionId(5).critical_section(), None);
        assert_eq!(RegionId::of_critical_section(SiteId::NONE).critical_section(), Some(SiteId::NONE));
        assert_eq!(RegionId::of_function(FunctionId(5)).critical_section(), None);
    }

    #[test]
    fn data_of_one_thread_is_left_out_until_another_comes() {
        let text = "A|w(x)|\nA|r(x)|\nB|r(x)|\nA|r(x)|\nA|w(x)|\n";
        let (lines, left_out) = selected(text, Selection { thread_local: true, ..Selection::default() });
        assert_eq!(lines, ["B|r(x)", "A|r(x)", "A|w(x)"]);
        assert_eq!(left_out.thread_local, 2);
    }

    #[test]
    fn reads_are_left_out_until_shared_data_is_written() {
        let text = "A|w(x)|\nB|r(x)|\nA|r(x)|\nA|w(x)|\nB|r(x)|\n";
        let (lines, left_out) = selected(text, Selection { read_only: true, ..Selection::default() });
        assert_eq!(lines, ["A|w(x)", "A|w(x)", "B|r(x)"]);
        assert_eq!(left_out.read_only, 2);
    }

    #[test]
    fn accesses_at_ignored_places_are_left_out() {
        let ignored: IgnoreRule = Box::new(|site, _| site == SiteId(0));
        let (lines, left_out) =
            selected("A|w(x)|1\nB|r(x)|2\n", Selection { ignored: Some(ignored), ..Selection::default() });
        assert_eq!(lines, ["B|r(x)|2"]);
        assert_eq!(left_out.ignored, 1);
    }
}
