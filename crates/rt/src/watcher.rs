//! What can happen in a program, as `watch` passes it on to the driver of the run.

use crate::record::Recorder;
use crate::thread::Thread;
use crate::watch::SideStep;
use keirin_core::analysis::Statistic;
use keirin_core::analysis::tasks::LastUse;
use keirin_core::event::{AccessKind, AtomicKind, LockMode, MemoryOrder, Op, RegionId, TaskId, ThreadId};

/// How far below its first frame a task is thought to use the stack, where that is not known.
const STACK_REACH: usize = 16 << 10;

/// When what the other sides of branches would do is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherSides {
    Never,
    /// Once [`crate::watch::order_decides`] was called.
    OnceOrderDecides,
    Always,
}

/// What `watch` passes on; one for each kind of run.
pub(crate) trait Watcher: Sync {
    /// False if plain accesses are nothing to it.
    fn minds_accesses(&self) -> bool;
    /// False if locks, and whatever else orders threads but their creation and their end, are nothing to it.
    fn minds_synchronization(&self) -> bool {
        true
    }
    /// A thread that nobody announced, or the first one.
    fn attach(&self) -> *mut Thread;
    fn access(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize);
    fn atomic(
        &self,
        thread: &mut Thread,
        addr: usize,
        size: usize,
        pc: usize,
        perform: &mut dyn FnMut() -> (AtomicKind, MemoryOrder),
    );
    fn fence(&self, thread: &mut Thread, order: MemoryOrder, pc: usize);
    /// When it is something to it what the other sides of branches would do.
    fn minds_other_sides(&self) -> OtherSides {
        OtherSides::Never
    }
    /// True if it is something to it when, and how often, a step does what it has done already.
    fn minds_repetitions(&self) -> bool {
        false
    }
    /// An access that the side would do that the thread's last branch did not take.
    fn other_access(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize) {
        let _ = (thread, kind, addr, size, pc);
    }
    /// A lock that this side would acquire or release.
    fn other_lock(&self, thread: &mut Thread, lock: usize, mode: LockMode, acquire: bool, pc: usize) {
        let _ = (thread, lock, mode, acquire, pc);
    }
    /// The other side of a branch as a whole. True if all of it tells nothing new.
    fn other_side(&self, thread: &mut Thread, side: &[SideStep], at: &[usize]) -> bool {
        let _ = (thread, side, at);
        false
    }
    /// No more is known of this side.
    fn other_end(&self, thread: &mut Thread) {
        let _ = thread;
    }
    fn atomic_awaited(&self, thread: &mut Thread, kind: AccessKind, addr: usize, size: usize, pc: usize);
    fn lock_awaited(&self, thread: &mut Thread, pc: usize);
    fn lock_acquired(&self, thread: &mut Thread, lock: usize, mode: LockMode, pc: usize);
    fn lock_released(&self, thread: &mut Thread, lock: usize, pc: usize);
    /// It is held in another way, without having been let go. To most that is another hold of it.
    fn lock_changed(&self, thread: &mut Thread, lock: usize, mode: LockMode, pc: usize) {
        self.lock_released(thread, lock, pc);
        self.lock_acquired(thread, lock, mode, pc);
    }
    /// What is kept of the last read of an object under locks, by the task that the thread runs.
    fn last_read(&self, thread: &mut Thread, object: usize) -> Option<LastUse> {
        let _ = (thread, object);
        None
    }
    /// Keeps this instead. False if it cannot: then what has left it must be told again.
    fn set_last_read(&self, thread: &mut Thread, object: usize, read: Option<LastUse>) -> bool {
        let _ = (thread, object, read);
        false
    }
    fn object_forgotten(&self, object: usize);
    fn condition_waited(&self, thread: &mut Thread, condition: usize, pc: usize);
    fn condition_notified(&self, thread: &mut Thread, condition: usize, all: bool, pc: usize);
    fn barrier_arrived(&self, thread: &mut Thread, barrier: usize, pc: usize);
    fn barrier_left(&self, thread: &mut Thread, barrier: usize, pc: usize);
    fn happens_before(&self, thread: &mut Thread, token: usize, pc: usize);
    fn happens_after(&self, thread: &mut Thread, token: usize, pc: usize);
    /// True if another `happens_after` would tell the thread nothing, and change nothing.
    fn has_learned(&self, _: &mut Thread, _: usize) -> bool {
        false
    }
    fn forked(&self, thread: &mut Thread, pc: usize) -> Option<ThreadId>;
    fn started(&self, thread: *mut Thread, stack: (usize, usize));
    fn ended(&self, thread: &mut Thread);
    fn joined(&self, thread: &mut Thread, child: ThreadId, pc: usize);
    fn allocated(&self, thread: &mut Thread, addr: usize, size: usize, pc: usize);
    fn forgotten(&self, thread: Option<&mut Thread>, addr: usize, size: usize);
    /// What lies on the stack of the calling thread below an address, or around a place below it, is of no use any more.
    fn stack_left(&self, thread: &mut Thread, place: usize, top: usize) {
        let (lowest, _) = thread.leave_stack(top);
        let below = place.saturating_sub(STACK_REACH).min(lowest);
        self.forgotten(Some(thread), below, top.saturating_sub(below));
    }
    /// A region that the program marks is recorded; others are found in the trace again by the rules that made them.
    fn region_begin(&self, thread: &mut Thread, region: RegionId, pc: usize, marked: bool);
    fn region_end(&self, thread: &mut Thread, pc: usize);
    /// A learned region begins right before the thread's next access, which is at `pc`.
    fn learned_begin(&self, thread: &mut Thread, region: RegionId, pc: usize) {
        self.region_begin(thread, region, pc, false);
    }
    /// A learned region ends right after the thread's last access.
    fn learned_end(&self, thread: &mut Thread) {
        self.region_end(thread, 0);
    }
    fn function_entered(&self, thread: &mut Thread, function: usize, call: usize);
    fn function_left(&self, thread: &mut Thread);
    /// Tasks: `op` is one of `Spawn`, `TaskBegin`, `TaskSuspend`, `TaskEnd`, `TaskWait`, `TaskJoin`, `TaskOrder`, `FinishBegin`
    /// and `FinishEnd`.
    fn structure(&self, thread: &mut Thread, op: Op, pc: usize);
    /// A task, or the one that the thread runs, does nothing until tasks below it have ended; or it goes on.
    fn task_waits(&self, thread: &mut Thread, task: Option<TaskId>, waits: bool) {
        let _ = (thread, task, waits);
    }
    fn grouped(&self, thread: &mut Thread, members: &[(usize, usize)]);
    /// Writes what was recorded so far.
    fn flush(&self);
    /// The run is over; what is left is told.
    fn finish(&self, thread: Option<&mut Thread>);
    /// The thread that an actor was at a time.
    fn thread_of(&self, actor: ThreadId, time: u64) -> ThreadId;
    /// Threads that could not be told apart.
    fn confused_threads(&self) -> u64;
    /// How many tasks there were.
    fn tasks(&self) -> u64 {
        0
    }
    /// Figures about the work done.
    fn statistics(&self) -> Vec<Statistic> {
        Vec::new()
    }
    /// The recorder, if there is one.
    fn recorder(&self) -> Option<&Recorder>;
}
