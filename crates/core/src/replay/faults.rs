//! Orders of events that cannot have happened.

use crate::clock::MAX_THREADS;
use crate::event::{BarrierId, LockId, LockMode, ThreadId};
use crate::trace::{NameKind, Tables};
use std::collections::BTreeMap;

/// What is wrong with the order of the events. Repairing one means to leave out the event, unless said otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A thread number that no run can have.
    ThreadNumber(ThreadId),
    /// A lock is acquired while another thread holds it. (Repaired by a release that is made up.)
    #[allow(missing_docs)]
    LockHeld { lock: LockId, holder: ThreadId, thread: ThreadId },
    /// A lock is released by a thread that does not hold it so.
    #[allow(missing_docs)]
    LockNotHeld { lock: LockId, mode: LockMode, thread: ThreadId },
    /// An atomic region ends that did not begin.
    EndWithoutBegin(ThreadId),
    /// A function returns that was not called.
    ReturnWithoutCall(ThreadId),
    /// Disregarding ends that did not begin.
    IgnoreEndWithoutBegin(ThreadId),
    /// A thread that was never heard of is joined.
    JoinOfUnknown(ThreadId),
    /// A thread joins itself.
    JoinOfSelf(ThreadId),
    /// A thread is joined twice.
    JoinedTwice(ThreadId),
    /// A thread is forked that has already been forked or has done something.
    ForkOfKnown(ThreadId),
    /// A thread does something after it has ended or was joined.
    EventAfterEnd(ThreadId),
    /// A thread arrives at a barrier where it is waiting already.
    #[allow(missing_docs)]
    ArrivedTwice { barrier: BarrierId, thread: ThreadId },
    /// A thread leaves a barrier at which it did not arrive.
    #[allow(missing_docs)]
    LeaveWithoutArrive { barrier: BarrierId, thread: ThreadId },
}

impl Fault {
    /// The kind of fault, for counts.
    fn kind(&self) -> &'static str {
        match self {
            Fault::ThreadNumber(_) => "thread number out of range",
            Fault::LockHeld { .. } => "acquire of a lock that another thread holds",
            Fault::LockNotHeld { .. } => "release of a lock that is not held",
            Fault::EndWithoutBegin(_) => "end without begin",
            Fault::ReturnWithoutCall(_) => "return without call",
            Fault::IgnoreEndWithoutBegin(_) => "ignore_end without ignore_begin",
            Fault::JoinOfUnknown(_) => "join of an unknown thread",
            Fault::JoinOfSelf(_) => "join of the thread itself",
            Fault::JoinedTwice(_) => "second join of a thread",
            Fault::ForkOfKnown(_) => "fork of a thread that has started",
            Fault::EventAfterEnd(_) => "event of a finished thread",
            Fault::ArrivedTwice { .. } => "second arrival at a barrier",
            Fault::LeaveWithoutArrive { .. } => "leave of a barrier without arrival",
        }
    }
}

impl Fault {
    /// The fault in words.
    pub fn message(&self, tables: &Tables) -> String {
        let thread = |thread: &ThreadId| tables.thread_name(*thread);
        let named = |kind: NameKind, noun: &str, id: u32| match tables.name(kind, id) {
            Some(name) => format!("{noun} `{name}`"),
            None => format!("{noun} {id}"),
        };
        let lock = |lock: &LockId| named(NameKind::Lock, "lock", lock.0);
        let barrier = |barrier: &BarrierId| named(NameKind::Barrier, "barrier", barrier.0);
        match self {
            Fault::ThreadNumber(id) => {
                format!(
                    "thread number {} is out of range: threads are numbered from 0 to {}",
                    id.0,
                    MAX_THREADS - 1
                )
            }
            Fault::LockHeld { lock: id, holder, thread: acting } => {
                format!("{} acquires {} while {} holds it", thread(acting), lock(id), thread(holder))
            }
            Fault::LockNotHeld { lock: id, mode, thread: acting } => {
                let how = match mode {
                    LockMode::Exclusive => "",
                    LockMode::Shared => " in shared mode",
                };
                format!("{} releases {} but does not hold it{how}", thread(acting), lock(id))
            }
            Fault::EndWithoutBegin(acting) => {
                format!("{} ends an atomic region but none is open", thread(acting))
            }
            Fault::ReturnWithoutCall(acting) => {
                format!("{} returns from a function that it did not call", thread(acting))
            }
            Fault::IgnoreEndWithoutBegin(acting) => {
                format!("{} has ignore_end without ignore_begin", thread(acting))
            }
            Fault::JoinOfUnknown(child) => {
                format!("{} is joined but was neither forked nor seen before", thread(child))
            }
            Fault::JoinOfSelf(acting) => format!("{} joins itself", thread(acting)),
            Fault::JoinedTwice(child) => format!("{} is joined a second time", thread(child)),
            Fault::ForkOfKnown(child) => format!("{} is forked but has already started", thread(child)),
            Fault::EventAfterEnd(acting) => format!("{} goes on although it has ended", thread(acting)),
            Fault::ArrivedTwice { barrier: id, thread: acting } => {
                format!("{} arrives at {} where it is waiting already", thread(acting), barrier(id))
            }
            Fault::LeaveWithoutArrive { barrier: id, thread: acting } => {
                format!("{} leaves {} without having arrived", thread(acting), barrier(id))
            }
        }
    }
}

/// How many faults of each kind were repaired.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Repairs(BTreeMap<&'static str, u64>);

impl Repairs {
    pub(super) fn count(&mut self, fault: &Fault) {
        *self.0.entry(fault.kind()).or_default() += 1;
    }

    /// The kinds with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    /// True if nothing had to be repaired.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
