//! The names of the operations.

use crate::event::{AccessKind, AtomicKind, LockMode, MemoryOrder, Op};

/// The word of a line that tells the operation, without its size and operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Access(AccessKind),
    Atomic(AtomicKind, MemoryOrder),
    Fence(MemoryOrder),
    Acquire(LockMode),
    Release(LockMode),
    Fork,
    Join,
    ThreadEnd,
    Wait,
    Notify {
        all: bool,
    },
    BarrierArrive,
    BarrierLeave,
    HappensBefore,
    HappensAfter,
    Begin,
    End,
    Call,
    Return,
    Spawn,
    TaskBegin,
    TaskSuspend,
    TaskEnd,
    TaskWait,
    TaskJoin,
    TaskOrder,
    FinishBegin,
    FinishEnd,
    Alloc,
    Free,
    Branch,
    LoopEnter,
    LoopIteration,
    LoopExit,
    OtherPath(AccessKind),
    OtherPathLock {
        mode: LockMode,
        acquire: bool,
    },
    Value,
    Operand,
    Formula,
    Group,
    IgnoreBegin,
    IgnoreEnd,
    /// No operation: declares a named location.
    Location,
}

const ORDERS: [MemoryOrder; 6] = [
    MemoryOrder::Relaxed,
    MemoryOrder::Consume,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcquireRelease,
    MemoryOrder::SequentiallyConsistent,
];

fn order_suffix(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Relaxed => "_relaxed",
        MemoryOrder::Consume => "_consume",
        MemoryOrder::Acquire => "_acquire",
        MemoryOrder::Release => "_release",
        MemoryOrder::AcquireRelease => "_acq_rel",
        MemoryOrder::SequentiallyConsistent => "_seq_cst",
    }
}

impl Verb {
    /// The verb of an operation.
    pub(super) fn of(op: &Op) -> Verb {
        match *op {
            Op::Access { kind, .. } => Verb::Access(kind),
            Op::Atomic { kind, order, .. } => Verb::Atomic(kind, order),
            Op::Fence { order } => Verb::Fence(order),
            Op::Acquire { mode, .. } => Verb::Acquire(mode),
            Op::Release { mode, .. } => Verb::Release(mode),
            Op::Fork { .. } => Verb::Fork,
            Op::Join { .. } => Verb::Join,
            Op::ThreadEnd => Verb::ThreadEnd,
            Op::Wait { .. } => Verb::Wait,
            Op::Notify { all, .. } => Verb::Notify { all },
            Op::BarrierArrive { .. } => Verb::BarrierArrive,
            Op::BarrierLeave { .. } => Verb::BarrierLeave,
            Op::HappensBefore { .. } => Verb::HappensBefore,
            Op::HappensAfter { .. } => Verb::HappensAfter,
            Op::Begin { .. } => Verb::Begin,
            Op::End => Verb::End,
            Op::Call { .. } => Verb::Call,
            Op::Return => Verb::Return,
            Op::Spawn { .. } => Verb::Spawn,
            Op::TaskBegin { .. } => Verb::TaskBegin,
            Op::TaskSuspend { .. } => Verb::TaskSuspend,
            Op::TaskEnd { .. } => Verb::TaskEnd,
            Op::TaskWait => Verb::TaskWait,
            Op::TaskJoin { .. } => Verb::TaskJoin,
            Op::TaskOrder { .. } => Verb::TaskOrder,
            Op::FinishBegin => Verb::FinishBegin,
            Op::FinishEnd => Verb::FinishEnd,
            Op::Alloc { .. } => Verb::Alloc,
            Op::Free { .. } => Verb::Free,
            Op::Branch { .. } => Verb::Branch,
            Op::LoopEnter { .. } => Verb::LoopEnter,
            Op::LoopIteration { .. } => Verb::LoopIteration,
            Op::LoopExit { .. } => Verb::LoopExit,
            Op::OtherPath { kind, .. } => Verb::OtherPath(kind),
            Op::OtherPathLock { mode, acquire, .. } => Verb::OtherPathLock { mode, acquire },
            Op::Value { .. } => Verb::Value,
            Op::Operand { .. } => Verb::Operand,
            Op::Formula { .. } => Verb::Formula,
            Op::Group { .. } => Verb::Group,
            Op::IgnoreBegin => Verb::IgnoreBegin,
            Op::IgnoreEnd => Verb::IgnoreEnd,
        }
    }

    /// The verb's text before and after the place of the size.
    pub(super) fn spelling(self) -> (&'static str, &'static str) {
        use AccessKind::{Read, Write};
        use LockMode::{Exclusive, Shared};
        let whole = match self {
            Verb::Atomic(AtomicKind::Load, order) => return ("load", order_suffix(order)),
            Verb::Atomic(AtomicKind::Store, order) => return ("store", order_suffix(order)),
            Verb::Atomic(AtomicKind::ReadModifyWrite, order) => return ("rmw", order_suffix(order)),
            Verb::Fence(order) => return ("fence", order_suffix(order)),
            Verb::Access(Read) => "r",
            Verb::Access(Write) => "w",
            Verb::Acquire(Exclusive) => "acq",
            Verb::Acquire(Shared) => "acq_shared",
            Verb::Release(Exclusive) => "rel",
            Verb::Release(Shared) => "rel_shared",
            Verb::Fork => "fork",
            Verb::Join => "join",
            Verb::ThreadEnd => "thread_end",
            Verb::Wait => "wait",
            Verb::Notify { all: false } => "notify",
            Verb::Notify { all: true } => "notify_all",
            Verb::BarrierArrive => "arrive",
            Verb::BarrierLeave => "leave",
            Verb::HappensBefore => "happens_before",
            Verb::HappensAfter => "happens_after",
            Verb::Begin => "begin",
            Verb::End => "end",
            Verb::Call => "call",
            Verb::Return => "return",
            Verb::Spawn => "spawn",
            Verb::TaskBegin => "task_begin",
            Verb::TaskSuspend => "task_suspend",
            Verb::TaskEnd => "task_end",
            Verb::TaskWait => "task_wait",
            Verb::TaskJoin => "task_join",
            Verb::TaskOrder => "task_order",
            Verb::FinishBegin => "finish_begin",
            Verb::FinishEnd => "finish_end",
            Verb::Alloc => "alloc",
            Verb::Free => "free",
            Verb::Branch => "branch",
            Verb::LoopEnter => "loop_enter",
            Verb::LoopIteration => "loop_iteration",
            Verb::LoopExit => "loop_exit",
            Verb::OtherPath(Read) => "other_r",
            Verb::OtherPath(Write) => "other_w",
            Verb::OtherPathLock { acquire: true, mode: Exclusive } => "other_acq",
            Verb::OtherPathLock { acquire: true, mode: Shared } => "other_acq_shared",
            Verb::OtherPathLock { acquire: false, mode: Exclusive } => "other_rel",
            Verb::OtherPathLock { acquire: false, mode: Shared } => "other_rel_shared",
            Verb::Value => "value",
            Verb::Operand => "operand",
            Verb::Formula => "formula",
            Verb::Group => "group",
            Verb::IgnoreBegin => "ignore_begin",
            Verb::IgnoreEnd => "ignore_end",
            Verb::Location => "location",
        };
        (whole, "")
    }

    /// The verb's text without a size.
    pub(super) fn name(self) -> String {
        let (head, tail) = self.spelling();
        format!("{head}{tail}")
    }

    /// True if the verb takes a size.
    pub(super) fn has_size(self) -> bool {
        matches!(
            self,
            Verb::Access(_)
                | Verb::Atomic(..)
                | Verb::Alloc
                | Verb::Free
                | Verb::OtherPath(_)
                | Verb::Group
                | Verb::Location
        )
    }

    /// All verbs, the common ones first.
    pub(super) fn all() -> Vec<Verb> {
        use AccessKind::{Read, Write};
        use LockMode::{Exclusive, Shared};
        let mut all = vec![
            Verb::Access(Read),
            Verb::Access(Write),
            Verb::Acquire(Exclusive),
            Verb::Release(Exclusive),
            Verb::Fork,
            Verb::Join,
            Verb::Begin,
            Verb::End,
            Verb::Acquire(Shared),
            Verb::Release(Shared),
            Verb::ThreadEnd,
            Verb::Wait,
            Verb::Notify { all: false },
            Verb::Notify { all: true },
            Verb::BarrierArrive,
            Verb::BarrierLeave,
            Verb::HappensBefore,
            Verb::HappensAfter,
            Verb::Call,
            Verb::Return,
            Verb::Spawn,
            Verb::TaskBegin,
            Verb::TaskSuspend,
            Verb::TaskEnd,
            Verb::TaskWait,
            Verb::TaskJoin,
            Verb::TaskOrder,
            Verb::FinishBegin,
            Verb::FinishEnd,
            Verb::Alloc,
            Verb::Free,
            Verb::Branch,
            Verb::LoopEnter,
            Verb::LoopIteration,
            Verb::LoopExit,
            Verb::OtherPath(Read),
            Verb::OtherPath(Write),
            Verb::OtherPathLock { mode: Exclusive, acquire: true },
            Verb::OtherPathLock { mode: Exclusive, acquire: false },
            Verb::OtherPathLock { mode: Shared, acquire: true },
            Verb::OtherPathLock { mode: Shared, acquire: false },
            Verb::Value,
            Verb::Operand,
            Verb::Formula,
            Verb::Group,
            Verb::IgnoreBegin,
            Verb::IgnoreEnd,
            Verb::Location,
        ];
        for order in ORDERS {
            all.push(Verb::Atomic(AtomicKind::Load, order));
            all.push(Verb::Atomic(AtomicKind::Store, order));
            all.push(Verb::Atomic(AtomicKind::ReadModifyWrite, order));
            all.push(Verb::Fence(order));
        }
        all
    }
}

/// The known name that a wrong one is most likely meant to be.
pub(super) fn closest(wrong: &str) -> Option<String> {
    // A longer text is no slip of the finger, and comparing it would take time in proportion.
    if wrong.len() > 32 {
        return None;
    }
    let synonym = match wrong.to_ascii_lowercase().as_str() {
        "read" | "rd" => Some("r"),
        "write" | "wr" => Some("w"),
        "acquire" | "lock" => Some("acq"),
        "release" | "unlock" => Some("rel"),
        "start" => Some("fork"),
        _ => None,
    };
    if let Some(synonym) = synonym {
        return Some(synonym.to_owned());
    }
    Verb::all()
        .into_iter()
        .map(Verb::name)
        .map(|name| (distance(wrong.as_bytes(), name.as_bytes()), name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The number of bytes to insert, delete or change to come from one text to the other.
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut previous: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in to.iter().enumerate() {
            let changed = previous[column] + usize::from(!a.eq_ignore_ascii_case(b));
            current.push(changed.min(previous[column + 1] + 1).min(current[column] + 1));
        }
        previous = current;
    }
    previous[to.len()]
}
