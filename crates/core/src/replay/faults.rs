//! Orders of events that cannot have happened.

use crate::clock::MAX_THREADS;
use crate::event::{BarrierId, LockId, LockMode, TaskId, ThreadId};
use crate::tasks::Actor;
use crate::trace::{NameKind, Tables};
use std::collections::BTreeMap;

/// What is wrong with the order of the events. Repairing one means to leave out the event, unless said otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A thread number that no run can have.
    ThreadNumber(ThreadId),
    /// A lock is acquired while another one holds it. (Repaired by a release that is made up.)
    #[allow(missing_docs)]
    LockHeld { lock: LockId, holder: Actor, acting: Actor },
    /// A lock is released by one that does not hold it so.
    #[allow(missing_docs)]
    LockNotHeld { lock: LockId, mode: LockMode, acting: Actor },
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
    /// A task is spawned that has already been spawned.
    SpawnOfKnown(TaskId),
    /// A task does something that was never spawned.
    UnknownTask(TaskId),
    /// A task is started by a thread while another one runs it.
    TaskIsRunning(TaskId),
    /// A task is started that has ended.
    TaskHasEnded(TaskId),
    /// A task is started before a task on which it depends has ended.
    StartTooEarly(TaskId),
    /// A task is suspended or ended by a thread that does not run it.
    #[allow(missing_docs)]
    NotRunningHere { task: TaskId, thread: ThreadId },
    /// Tasks are put in order when the later one has started.
    #[allow(missing_docs)]
    OrderTooLate { before: TaskId, after: TaskId },
    /// A wait is over although a task that was waited for has not ended.
    #[allow(missing_docs)]
    WaitTooEarly { waiting: Actor, running: Actor },
    /// A task waits for itself.
    JoinOfItself(Actor),
    /// A finish scope ends that did not begin.
    FinishEndWithoutBegin(Actor),
    /// A finish scope ends although tasks that were spawned within have not ended.
    FinishTooEarly(Actor),
}

impl Fault {
    /// The kind of fault, for counts.
    pub fn kind(&self) -> &'static str {
        match self {
            Fault::ThreadNumber(_) => "thread number out of range",
            Fault::LockHeld { .. } => "acquire of a lock that is held",
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
            Fault::SpawnOfKnown(_) => "second spawn of a task",
            Fault::UnknownTask(_) => "event of a task that was not spawned",
            Fault::TaskIsRunning(_) => "start of a task that is running",
            Fault::TaskHasEnded(_) => "start of a task that has ended",
            Fault::StartTooEarly(_) => "start of a task before one on which it depends has ended",
            Fault::NotRunningHere { .. } => "end or suspension of a task by a thread that does not run it",
            Fault::OrderTooLate { .. } => "dependence of a task that has started",
            Fault::WaitTooEarly { .. } => "end of a wait for a task that has not ended",
            Fault::JoinOfItself(_) => "wait of a task for itself",
            Fault::FinishEndWithoutBegin(_) => "finish_end without finish_begin",
            Fault::FinishTooEarly(_) => "end of a finish scope with tasks that have not ended",
        }
    }
}

impl Fault {
    /// The fault in words.
    pub fn message(&self, tables: &Tables) -> String {
        let thread = |thread: &ThreadId| tables.thread_name(*thread);
        let task = |task: &TaskId| named(tables, NameKind::Task, "task", task.0);
        let actor = |actor: &Actor| match actor {
            Actor::Thread(id) => thread(id),
            Actor::Task(id) => task(id),
        };
        let lock = |lock: &LockId| named(tables, NameKind::Lock, "lock", lock.0);
        let barrier = |barrier: &BarrierId| named(tables, NameKind::Barrier, "barrier", barrier.0);
        match self {
            Fault::ThreadNumber(id) => {
                format!(
                    "thread number {} is out of range: threads are numbered from 0 to {}",
                    id.0,
                    MAX_THREADS - 1
                )
            }
            Fault::LockHeld { lock: id, holder, acting } => {
                format!("{} acquires {} while {} holds it", actor(acting), lock(id), actor(holder))
            }
            Fault::LockNotHeld { lock: id, mode, acting } => {
                let how = match mode {
                    LockMode::Exclusive => "",
                    LockMode::Shared => " in shared mode",
                };
                format!("{} releases {} but does not hold it{how}", actor(acting), lock(id))
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
            Fault::SpawnOfKnown(id) => format!("{} is spawned a second time", task(id)),
            Fault::UnknownTask(id) => format!("{} was not spawned, or has been waited for", task(id)),
            Fault::TaskIsRunning(id) => format!("{} is started but is running already", task(id)),
            Fault::TaskHasEnded(id) => format!("{} is started but has ended", task(id)),
            Fault::StartTooEarly(id) => {
                format!("{} is started before a task on which it depends has ended", task(id))
            }
            Fault::NotRunningHere { task: id, thread: acting } => {
                format!("{} is not what {} runs", task(id), thread(acting))
            }
            Fault::OrderTooLate { before, after } => {
                format!("{} is to come after {} but has started", task(after), task(before))
            }
            Fault::WaitTooEarly { waiting, running } => {
                format!("{} has waited for {} which has not ended", actor(waiting), actor(running))
            }
            Fault::JoinOfItself(acting) => format!("{} waits for itself", actor(acting)),
            Fault::FinishEndWithoutBegin(acting) => {
                format!("{} ends a finish scope but none is open", actor(acting))
            }
            Fault::FinishTooEarly(acting) => {
                format!("{} ends a finish scope although tasks within have not ended", actor(acting))
            }
        }
    }
}

fn named(tables: &Tables, kind: NameKind, noun: &str, id: u32) -> String {
    match tables.name(kind, id) {
        Some(name) => format!("{noun} `{name}`"),
        None => format!("{noun} {id}"),
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
