//! Operations in words.

use super::model::{Operation, Target};
use super::text::quoted;
use crate::symbols::parse_address;
use keirin_core::event::{AccessKind, Addr, AtomicKind, LockId, LockMode, Op};
use keirin_core::trace::{NameKind, Tables};

/// The kind of operation, the verb of the past and the noun.
type Words = (&'static str, &'static str, &'static str);

/// Puts an operation into words.
pub(crate) fn describe(op: Op, tables: &Tables) -> Operation {
    let ((kind, past, noun), target) = words(op, tables);
    let (text, short) = match &target {
        // A number alone would be taken for something else.
        Some(target) if target.name.starts_with('#') && !target.named => {
            (format!("{past} {}", phrase(target)), format!("{noun} {}", phrase(target)))
        }
        Some(target) => (format!("{past} {}", phrase(target)), format!("{noun} {}", target.name)),
        None => (past.to_owned(), noun.to_owned()),
    };
    Operation { kind, target, text, short, past, noun }
}

/// What an operation touches, for a sentence. Variables are what most operations are about and need no noun.
pub(crate) fn phrase(target: &Target) -> String {
    match target.kind {
        "variable" => quoted(&target.name),
        "thread" if !target.named => target.name.clone(),
        kind if !target.named && target.name.starts_with('#') => format!("{kind} {}", &target.name[1..]),
        kind => format!("{kind} {}", quoted(&target.name)),
    }
}

fn words(op: Op, tables: &Tables) -> (Words, Option<Target>) {
    let variable = |addr| Some(variable(addr, tables));
    let named = |kind, word, id| Some(named(kind, word, id, tables));
    let lock = |id: LockId| Some(lock(id, tables));
    let task = |id: keirin_core::event::TaskId| named(NameKind::Task, "task", id.0);
    match op {
        Op::Access { kind, addr, .. } => (access(kind), variable(addr)),
        Op::Atomic { kind: AtomicKind::Load, addr, .. } => {
            (("atomic-load", "atomically read", "atomic read"), variable(addr))
        }
        Op::Atomic { kind: AtomicKind::Store, addr, .. } => {
            (("atomic-store", "atomically wrote", "atomic write"), variable(addr))
        }
        Op::Atomic { kind: AtomicKind::ReadModifyWrite, addr, .. } => {
            (("atomic-update", "atomically updated", "atomic update"), variable(addr))
        }
        Op::Fence { .. } => (("fence", "passed a fence", "fence"), None),
        Op::Acquire { lock: id, mode: LockMode::Exclusive } => (("acquire", "acquired", "acquire"), lock(id)),
        Op::Acquire { lock: id, mode: LockMode::Shared } => {
            (("acquire-shared", "acquired, for sharing,", "shared acquire"), lock(id))
        }
        Op::Release { lock: id, mode: LockMode::Exclusive } => (("release", "released", "release"), lock(id)),
        Op::Release { lock: id, mode: LockMode::Shared } => {
            (("release-shared", "released, after sharing,", "shared release"), lock(id))
        }
        Op::Fork { child } => (("fork", "started", "start"), named(NameKind::Thread, "thread", child.0)),
        Op::Join { child } => (("join", "waited for", "join"), named(NameKind::Thread, "thread", child.0)),
        Op::ThreadEnd => (("thread-end", "ended", "end of thread"), None),
        Op::Wait { condition } => {
            (("wait", "was woken by", "wait"), named(NameKind::Condition, "condition", condition.0))
        }
        Op::Notify { condition, .. } => {
            (("notify", "notified", "notify"), named(NameKind::Condition, "condition", condition.0))
        }
        Op::BarrierArrive { barrier } => {
            (("barrier-arrive", "arrived at", "arrive"), named(NameKind::Barrier, "barrier", barrier.0))
        }
        Op::BarrierLeave { barrier } => {
            (("barrier-leave", "left", "leave"), named(NameKind::Barrier, "barrier", barrier.0))
        }
        Op::HappensBefore { token } => {
            (("happens-before", "announced", "announcement"), Some(unnamed("token", format!("{token:#x}"))))
        }
        Op::HappensAfter { token } => {
            (("happens-after", "took note of", "observation"), Some(unnamed("token", format!("{token:#x}"))))
        }
        Op::Begin { region } => (("begin", "began", "begin"), named(NameKind::Region, "block", region.0)),
        Op::End => (("end", "ended its block", "end of block"), None),
        Op::Call { function } => {
            (("call", "called", "call"), named(NameKind::Function, "function", function.0))
        }
        Op::Return => (("return", "returned", "return"), None),
        Op::Spawn { task: id } => (("spawn", "spawned", "spawn"), task(id)),
        Op::TaskBegin { task: id } => (("task-begin", "ran", "run"), task(id)),
        Op::TaskSuspend { task: id } => (("task-suspend", "suspended", "suspend"), task(id)),
        Op::TaskEnd { task: id } => (("task-end", "finished", "finish"), task(id)),
        Op::TaskWait => (("task-wait", "waited for its tasks", "wait for tasks"), None),
        Op::TaskJoin { task: id } => (("task-join", "waited for", "join"), task(id)),
        Op::TaskOrder { after, .. } => {
            (("task-order", "ordered something before", "order before"), task(after))
        }
        Op::FinishBegin => (("finish-begin", "opened a finish scope", "begin of finish"), None),
        Op::FinishEnd => (("finish-end", "ended a finish scope", "end of finish"), None),
        Op::Alloc { addr, .. } => (("allocate", "allocated", "allocate"), variable(addr)),
        Op::Free { addr, .. } => (("free", "freed", "free"), variable(addr)),
        Op::Branch { .. } => (("branch", "branched", "branch"), None),
        Op::LoopEnter { loop_id } => {
            (("loop-enter", "entered", "enter"), named(NameKind::Loop, "loop", loop_id.0))
        }
        Op::LoopIteration { loop_id } => {
            (("loop-iteration", "went round", "iterate"), named(NameKind::Loop, "loop", loop_id.0))
        }
        Op::LoopExit { loop_id } => {
            (("loop-exit", "left", "leave"), named(NameKind::Loop, "loop", loop_id.0))
        }
        Op::OtherPath { kind: AccessKind::Read, addr, .. } => {
            (("other-path-read", "would, on the other branch, have read", "possible read"), variable(addr))
        }
        Op::OtherPath { kind: AccessKind::Write, addr, .. } => (
            ("other-path-write", "would, on the other branch, have written", "possible write"),
            variable(addr),
        ),
        Op::OtherPathLock { lock: id, acquire: true, .. } => (
            ("other-path-acquire", "would, on the other branch, have acquired", "possible acquire"),
            lock(id),
        ),
        Op::OtherPathLock { lock: id, acquire: false, .. } => (
            ("other-path-release", "would, on the other branch, have released", "possible release"),
            lock(id),
        ),
        Op::Value { bits } => (("value", "saw", "value"), Some(unnamed("value", format!("{bits:#x}")))),
        Op::Operand { back } => {
            (("operand", "used", "operand"), Some(unnamed("read", format!("number {back} from the last"))))
        }
        Op::Formula { formula } => {
            (("formula", "computed", "formula"), named(NameKind::Formula, "formula", formula.0))
        }
        Op::Group { group, .. } => {
            (("group", "declared", "declare"), named(NameKind::Group, "group", group.0))
        }
        Op::IgnoreBegin => (("ignore-begin", "asked to be ignored", "begin of ignored part"), None),
        Op::IgnoreEnd => (("ignore-end", "asked to be watched again", "end of ignored part"), None),
    }
}

fn access(kind: AccessKind) -> Words {
    match kind {
        AccessKind::Read => ("read", "read", "read"),
        AccessKind::Write => ("write", "wrote", "write"),
    }
}

/// The memory at an address.
pub(super) fn variable(addr: Addr, tables: &Tables) -> Target {
    match tables.location(addr) {
        Some((location, 0)) => Target { kind: "variable", name: location.name.to_string(), named: true },
        Some((location, offset)) => {
            Target { kind: "variable", name: format!("{}+{offset}", location.name), named: true }
        }
        None => match tables.block(addr) {
            // Where the heap lies is a matter of chance; the notes say whose block it is.
            Some((_, offset)) => unnamed("variable", format!("heap block+{offset}")),
            None => unnamed("variable", format!("{:#x}", addr.0)),
        },
    }
}

/// A lock. One of a program that was watched is known by its address, which tells nobody anything.
pub(super) fn lock(id: LockId, tables: &Tables) -> Target {
    let address = if tables.modules.is_empty() {
        None
    } else {
        tables.name(NameKind::Lock, id.0).and_then(parse_address)
    };
    let Some(address) = address else { return named(NameKind::Lock, "lock", id.0, tables) };
    let memory = variable(Addr(address), tables);
    let known = memory.named || tables.block(Addr(address)).is_some();
    if known { Target { kind: "lock", ..memory } } else { unnamed("lock", format!("#{}", id.0)) }
}

pub(super) fn named(kind: NameKind, word: &'static str, id: u32, tables: &Tables) -> Target {
    match tables.name(kind, id) {
        Some(name) => Target { kind: word, name: name.to_owned(), named: true },
        // The word is part of a made-up thread name, which stands without a noun elsewhere.
        None if kind == NameKind::Thread => unnamed(word, format!("thread {id}")),
        None => unnamed(word, format!("#{id}")),
    }
}

fn unnamed(kind: &'static str, name: String) -> Target {
    Target { kind, name, named: false }
}
