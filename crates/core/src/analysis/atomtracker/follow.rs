//! Learned regions in a run: a source that adds their beginnings and ends.
//!
//! It stands between a source and a driver, like [`crate::select`], and is a source itself. A region begins right before
//! the access at its entry and ends right after the one at its exit; both have the position of the access. Its label is
//! the [`Mark`](super::regions::Mark) of the entry. Blocks that the program itself marks are left out. So whatever looks at
//! atomic blocks can look at learned ones.

use super::regions::{Crossing, Inside, MarkedSites, Marks};
use crate::event::{Event, Op, RegionId, ThreadId};
use crate::trace::{Batch, Loss, PositionUnit, Source, Tables, TraceError};

/// A source with the beginnings and ends of learned regions.
#[derive(Debug)]
pub struct Follow<'a> {
    inner: &'a mut dyn Source,
    marks: &'a Marks,
    limit: u32,
    sites: MarkedSites,
    threads: Vec<Thread>,
    buffer: Batch,
    followed: Followed,
}

#[derive(Clone, Default, Debug)]
struct Thread {
    inside: Inside,
    /// Accesses are to be disregarded: inference has not seen them either.
    ignoring: u32,
}

/// How much was followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Followed {
    /// Events of the source.
    pub events: u64,
    /// Regions that were entered.
    pub entered: u64,
    /// Regions that were given up after too many exits of others.
    pub given_up: u64,
}

impl<'a> Follow<'a> {
    /// Follows a source by the marks of regions. A region is given up after `limit` exits of other ones.
    pub fn new(inner: &'a mut dyn Source, marks: &'a Marks, limit: u32) -> Self {
        Self {
            inner,
            marks,
            limit,
            sites: MarkedSites::default(),
            threads: Vec::new(),
            buffer: Batch::new(),
            followed: Followed::default(),
        }
    }

    /// How much was followed so far.
    pub fn followed(&self) -> Followed {
        self.followed
    }

    fn pass(&mut self, position: u64, event: Event, batch: &mut Batch) {
        match event.op {
            Op::Access { .. } | Op::Atomic { .. } => self.access(position, event, batch),
            Op::IgnoreBegin | Op::IgnoreEnd => {
                if let Some(thread) = self.thread(event.thread) {
                    thread.ignoring = match event.op {
                        Op::IgnoreBegin => thread.ignoring + 1,
                        _ => thread.ignoring.saturating_sub(1),
                    };
                }
                batch.push(position, event);
            }
            Op::Begin { .. } | Op::End => {}
            Op::ThreadEnd => {
                self.leave_all(position, event, event.thread, batch);
                batch.push(position, event);
            }
            Op::Join { child } => {
                self.leave_all(position, event, child, batch);
                batch.push(position, event);
            }
            _ => batch.push(position, event),
        }
    }

    #[inline]
    fn access(&mut self, position: u64, event: Event, batch: &mut Batch) {
        let mark = self.sites.mark(self.marks, self.inner.tables(), event.site);
        let is_plain = matches!(event.op, Op::Access { .. });
        let marked = mark.is_some().then(|| self.thread(event.thread)).flatten();
        if marked.is_none_or(|thread| is_plain && thread.ignoring > 0) {
            batch.push(position, event);
            return;
        }
        let inside = &mut self.threads[event.thread.index()].inside;
        if let Crossing::Entered { .. } = inside.before(self.marks, mark)
            && let Some(open) = inside.innermost()
        {
            self.followed.entered += 1;
            batch.push(position, Event { op: Op::Begin { region: RegionId(open.entry.0) }, ..event });
        }
        batch.push(position, event);
        let crossing = inside.after(self.marks, mark, self.limit);
        if crossing == Crossing::GivenUp {
            self.followed.given_up += 1;
        }
        if matches!(crossing, Crossing::Left | Crossing::GivenUp) {
            batch.push(position, Event { op: Op::End, ..event });
        }
    }

    fn thread(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        let index = thread.index();
        if index >= crate::clock::MAX_THREADS as usize {
            // The driver has the words for it.
            return None;
        }
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Thread::default());
        }
        self.threads.get_mut(index)
    }

    /// A thread is over, and with it its regions.
    fn leave_all(&mut self, position: u64, event: Event, thread: ThreadId, batch: &mut Batch) {
        let Some(over) = self.threads.get_mut(thread.index()) else { return };
        let inside = std::mem::take(&mut over.inside);
        for _ in [inside.innermost(), inside.around()].into_iter().flatten() {
            batch.push(position, Event { op: Op::End, thread, ..event });
        }
    }
}

impl Source for Follow<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        let more = self.inner.fill(&mut buffer);
        self.followed.events += buffer.events().len() as u64;
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
