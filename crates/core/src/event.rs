//! What a program did: one [`Event`] for each operation that an analysis may want to see.
//!
//! The set of operations is complete from the start (threads, tasks, atomics, branches, loops, annotations), so that
//! the trace formats need not break when an analysis comes that uses one of them. An event holds ids only; the names
//! behind the ids are in [`crate::trace::Tables`].

/// Defines a newtype id with a `NONE` value, so that an absent id costs no space.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// No such thing: the id is absent.
            pub const NONE: Self = Self(u32::MAX);

            /// The id as an index into a table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// True unless this is [`Self::NONE`].
            #[inline]
            pub fn is_some(self) -> bool {
                self.0 != u32::MAX
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::NONE
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                if self.is_some() {
                    write!(f, concat!(stringify!($name), "({})"), self.0)
                } else {
                    f.write_str(concat!(stringify!($name), "(none)"))
                }
            }
        }
    };
}

id!(
    /// A thread. Dense: the first thread of a trace is 0, the next new one 1, and so on.
    ThreadId
);
id!(
    /// A place in the program: a line of source, or an instruction of a module.
    SiteId
);
id!(
    /// A call stack, interned by the driver; the sites of the calls that were open.
    StackId
);
id!(
    /// A lock of any kind. One lock object keeps one id from its creation to its destruction.
    LockId
);
id!(
    /// A condition variable.
    ConditionId
);
id!(
    /// A barrier that several threads wait at together.
    BarrierId
);
id!(
    /// The label of an atomic region: which block of the program it is, not which instance.
    RegionId
);
id!(
    /// A function of the program.
    FunctionId
);
id!(
    /// A task instance of a task-parallel program.
    TaskId
);
id!(
    /// A set of locations that must be seen together.
    GroupId
);
id!(
    /// A loop of the program: which loop it is, not which execution.
    LoopId
);
id!(
    /// What a program computes from what it has read, as a [formula](crate::diagnose::Formula): its text is a name.
    FormulaId
);

impl RegionId {
    /// Regions with this bit are calls of a function; the other bits are its number.
    const FUNCTION: u32 = 1 << 31;

    /// The region that is a call of a function.
    pub fn of_function(function: FunctionId) -> Self {
        Self(Self::FUNCTION | function.0)
    }

    /// Regions with this bit, and without the one of functions, are critical sections; the other bits are the site where
    /// the first lock is acquired.
    const SITE: u32 = 1 << 30;

    /// The region from the acquire of a lock, at a site, by a thread that holds none, until it holds none again.
    pub fn of_critical_section(site: SiteId) -> Self {
        // A site that is not known, or has an impossible number, is the last one of all.
        Self(Self::SITE | site.0.min(Self::SITE - 1))
    }

    /// The site at which this region begins, if it is a critical section.
    pub fn critical_section(self) -> Option<SiteId> {
        let is_one = self.is_some() && self.0 & (Self::FUNCTION | Self::SITE) == Self::SITE;
        let site = self.0 & !Self::SITE;
        is_one.then_some(if site == Self::SITE - 1 { SiteId::NONE } else { SiteId(site) })
    }

    /// The function whose calls are this region, if it is such a one.
    pub fn function(self) -> Option<FunctionId> {
        (self.is_some() && self.0 & Self::FUNCTION != 0).then_some(FunctionId(self.0 & !Self::FUNCTION))
    }
}

/// An address of the program's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Addr(pub u64);

impl std::fmt::Debug for Addr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Addr({:#x})", self.0)
    }
}

/// Whether an access reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum AccessKind {
    /// The access leaves memory as it is.
    #[default]
    Read,
    /// The access changes memory.
    Write,
}

/// What an atomic operation does to its location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum AtomicKind {
    /// Reads. A compare-and-exchange that failed is a load with its failure order.
    Load,
    /// Writes without reading.
    Store,
    /// Reads and writes in one step: exchange, fetch-and-add, a compare-and-exchange that succeeded.
    ReadModifyWrite,
}

impl AtomicKind {
    /// How this operation conflicts: as a read or as a write.
    #[inline]
    pub fn access_kind(self) -> AccessKind {
        match self {
            AtomicKind::Load => AccessKind::Read,
            AtomicKind::Store | AtomicKind::ReadModifyWrite => AccessKind::Write,
        }
    }
}

/// The memory order of an atomic operation or a fence, as in C11.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // the names are those of the C and C++ standards
pub enum MemoryOrder {
    Relaxed,
    Consume,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

impl MemoryOrder {
    /// True if an operation with this order may take over what a release published.
    pub fn acquires(self) -> bool {
        !matches!(self, MemoryOrder::Relaxed | MemoryOrder::Release)
    }

    /// True if an operation with this order may publish what came before it.
    pub fn releases(self) -> bool {
        matches!(
            self,
            MemoryOrder::Release | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent
        )
    }
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LockMode {
    /// By one holder alone (a mutex, or a reader/writer lock held for writing).
    Exclusive,
    /// Together with other shared holders (a reader/writer lock held for reading).
    Shared,
}

/// One thing that a program can do.
///
/// Ranges of more than `u32::MAX` bytes are told in several events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A plain access of `size` bytes at `addr`.
    Access {
        /// Read or write.
        kind: AccessKind,
        /// Number of bytes, at least one.
        size: u32,
        /// First byte.
        addr: Addr,
    },
    /// An atomic operation.
    Atomic {
        /// Load, store or both.
        kind: AtomicKind,
        /// Its memory order.
        order: MemoryOrder,
        /// Number of bytes: 1, 2, 4, 8 or 16.
        size: u8,
        /// First byte.
        addr: Addr,
    },
    /// A memory fence.
    Fence {
        /// Its memory order.
        order: MemoryOrder,
    },
    /// A lock was acquired (the operation has succeeded; a failed try tells nothing).
    Acquire {
        /// Which lock.
        lock: LockId,
        /// In which mode.
        mode: LockMode,
    },
    /// A lock is about to be released.
    Release {
        /// Which lock.
        lock: LockId,
        /// The mode in which it was held.
        mode: LockMode,
    },
    /// The acting thread starts another thread.
    Fork {
        /// The new thread.
        child: ThreadId,
    },
    /// The acting thread has waited for the end of another thread.
    Join {
        /// The finished thread.
        child: ThreadId,
    },
    /// The acting thread has done its last operation.
    ThreadEnd,
    /// A wait for a condition was ended by a notification. (The lock that goes with the condition is told by its own
    /// release and acquire; a wait that timed out tells nothing else.)
    Wait {
        /// Which condition.
        condition: ConditionId,
    },
    /// A condition is signalled.
    Notify {
        /// Which condition.
        condition: ConditionId,
        /// To all waiters, not just one.
        all: bool,
    },
    /// The acting thread arrives at a barrier.
    BarrierArrive {
        /// Which barrier.
        barrier: BarrierId,
    },
    /// The acting thread goes on from a barrier.
    BarrierLeave {
        /// Which barrier.
        barrier: BarrierId,
    },
    /// An annotation: what this thread did so far comes before whatever follows a `HappensAfter` of the same token.
    HappensBefore {
        /// What the two sides agreed on; often an address.
        token: u64,
    },
    /// The other side of [`Op::HappensBefore`].
    HappensAfter {
        /// What the two sides agreed on.
        token: u64,
    },
    /// An atomic region begins. Regions nest.
    Begin {
        /// Its label.
        region: RegionId,
    },
    /// The innermost open atomic region ends.
    End,
    /// A function is entered; the event's site is the place of the call.
    Call {
        /// The function.
        function: FunctionId,
    },
    /// The innermost open function returns.
    Return,
    /// The current task creates a child task.
    Spawn {
        /// The new task.
        task: TaskId,
    },
    /// The acting thread starts, or resumes, a task. What it ran before is suspended until the task ends or is
    /// suspended itself.
    TaskBegin {
        /// The task that runs now.
        task: TaskId,
    },
    /// The acting thread leaves a task that is not finished.
    TaskSuspend {
        /// The task that is left.
        task: TaskId,
    },
    /// A task is finished.
    TaskEnd {
        /// The finished task.
        task: TaskId,
    },
    /// The current task has waited for all children that it spawned so far.
    TaskWait,
    /// The current task has waited for one task, wherever that was spawned (a future).
    TaskJoin {
        /// The finished task.
        task: TaskId,
    },
    /// One task comes before another by something other than the tree: a dependence.
    TaskOrder {
        /// The task that must be finished,
        before: TaskId,
        /// before this one may start.
        after: TaskId,
    },
    /// A scope opens in the current task that waits, at its end, for all tasks spawned within, and their descendants.
    FinishBegin,
    /// The innermost finish scope of the current task has ended.
    FinishEnd,
    /// Memory is handed out.
    Alloc {
        /// Number of bytes.
        size: u32,
        /// First byte.
        addr: Addr,
    },
    /// Memory is given back; what was known about it is void.
    Free {
        /// Number of bytes.
        size: u32,
        /// First byte.
        addr: Addr,
    },
    /// A conditional branch, at the event's site.
    Branch {
        /// Whether the condition was true.
        taken: bool,
    },
    /// A loop is entered.
    LoopEnter {
        /// Which loop.
        loop_id: LoopId,
    },
    /// An iteration of the loop begins.
    LoopIteration {
        /// Which loop.
        loop_id: LoopId,
    },
    /// A loop is left.
    LoopExit {
        /// Which loop.
        loop_id: LoopId,
    },
    /// An access that the branch not taken would have done.
    OtherPath {
        /// Read or write.
        kind: AccessKind,
        /// Number of bytes.
        size: u32,
        /// First byte.
        addr: Addr,
    },
    /// A lock that the branch not taken would have acquired (`acquire`) or released.
    OtherPathLock {
        /// Which lock.
        lock: LockId,
        /// In which mode.
        mode: LockMode,
        /// Acquired, not released.
        acquire: bool,
    },
    /// The value that the thread's last access read or wrote, or that its last [`Op::OtherPath`] would write (diagnosis runs
    /// only).
    Value {
        /// Its bits, zero-extended.
        bits: u64,
    },
    /// Something that the task has read goes into the next [`Op::Formula`]: as `$1` the first time, then as `$2` and so on.
    Operand {
        /// Which read of the task: the last one whose value was told is 1, the one before it 2.
        back: u32,
    },
    /// What the thread's last access has written, or the condition of its last branch, was computed by this formula from the
    /// operands told before.
    Formula {
        /// The formula; none if it is not known.
        formula: FormulaId,
    },
    /// A location is declared to belong to a group that must be seen together.
    Group {
        /// Number of bytes.
        size: u16,
        /// The group.
        group: GroupId,
        /// First byte.
        addr: Addr,
    },
    /// From here on the thread's accesses are to be disregarded.
    IgnoreBegin,
    /// The end of what [`Op::IgnoreBegin`] began.
    IgnoreEnd,
}

/// One operation of one thread at one place of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who did it.
    pub thread: ThreadId,
    /// Where in the program.
    pub site: SiteId,
    /// What was done.
    pub op: Op,
}

// Events are copied through every stage; a third cache line's worth is what the replay loop was measured with.
const _: () = assert!(size_of::<Op>() == 16);
const _: () = assert!(size_of::<Event>() == 24);
